/* directories.c - see directories.h. */
#include "group/logs/directories.h"

#include <stdbool.h>
#include <stdio.h>

#include "membership/view.h"
#include "persistence/standing.h"

/* All that it has of its shards counts. */
static bool is_whole(const struct wh_standing *standing)
{
	for (uint32_t i = 0; i < standing->shard_count; i++)
		if (!standing->shards[i].whole)
			return false;
	return true;
}

/* The newest view first. Of disks that stand on one view a disk that has agreed to the next comes first, as that may have begun, and a disk that
 * has left in order is not in it. Of what is the same in this a disk of which all logs count is first. */
static uint64_t worth_of(const struct wh_standing *standing)
{
	bool has_agreed = standing->ballot > 0;

	if (standing->alone)
		return UINT64_MAX;
	return 8 * standing->number + 4 * has_agreed + 2 * !standing->left + is_whole(standing) + 1;
}

/* Has it a standing? *worth: how much it is worth to begin with. */
static bool read_directory(const struct wh_disk *disk, const char *path, uint64_t group, uint32_t node, uint64_t *worth)
{
	struct wh_standing_file file = {.directory = NULL};
	struct wh_directory *directory;
	struct wh_standing standing;
	struct wh_error err;
	char name[4096];
	bool checks, has;

	*worth = 0;
	snprintf(name, sizeof(name), "%s/%u", path, node);
	if (disk->directory(disk->ctx, name, false, &directory, &err) != WHORL_OK)
		return false;
	checks = wh_standing_open(&file, directory, &standing, NULL, &err) == WHORL_OK;
	has = !checks ||
	      (!wh_standing_is_blank(&standing) && !standing.first && (group == 0 || standing.group == group));
	if (checks)
		*worth = worth_of(&standing);
	wh_standing_free(&standing);
	wh_standing_close(&file);
	directory->ops->close(directory);
	return has;
}

size_t wh_directories_find(const struct wh_disk *disk, const char *path, uint64_t group, uint32_t nodes, uint32_t *ids)
{
	uint64_t worths[WH_NODES_MAX], worth;
	size_t count = 0, at;

	for (uint32_t node = 0; node < nodes; node++) {
		if (!read_directory(disk, path, group, node, &worth))
			continue;
		for (at = count++; at > 0 && worths[at - 1] < worth; at--) {
			worths[at] = worths[at - 1];
			ids[at] = ids[at - 1];
		}
		worths[at] = worth;
		ids[at] = node;
	}
	return count;
}
