/* directories.c - see directories.h. */
#include "group/directories.h"

#include <stdbool.h>
#include <stdio.h>

#include "membership/view.h"
#include "persistence/standing.h"

/* Has it a standing, and of which view? */
static bool read_directory(const struct wh_disk *disk, const char *path, uint32_t node, uint64_t *view)
{
	struct wh_standing_file file = {.directory = NULL};
	struct wh_directory *directory;
	struct wh_standing standing;
	struct wh_error err;
	char name[4096];
	bool is_whole, has;

	*view = 0;
	snprintf(name, sizeof(name), "%s/%u", path, node);
	if (disk->directory(disk->ctx, name, false, &directory, &err) != WHORL_OK)
		return false;
	is_whole = wh_standing_open(&file, directory, &standing, NULL, &err) == WHORL_OK;
	has = !is_whole || (!wh_standing_is_blank(&standing) && !standing.first);
	if (is_whole)
		*view = standing.number + 1;
	wh_standing_free(&standing);
	wh_standing_close(&file);
	directory->ops->close(directory);
	return has;
}

size_t wh_directories_find(const struct wh_disk *disk, const char *path, uint32_t nodes, uint32_t *ids)
{
	uint64_t views[WH_NODES_MAX], view;
	size_t count = 0, at;

	for (uint32_t node = 0; node < nodes; node++) {
		if (!read_directory(disk, path, node, &view))
			continue;
		for (at = count++; at > 0 && views[at - 1] < view; at--) {
			views[at] = views[at - 1];
			ids[at] = ids[at - 1];
		}
		views[at] = view;
		ids[at] = node;
	}
	return count;
}
