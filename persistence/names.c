/* names.c - which logs there are in a directory. See log.h. */
#include <stdlib.h>
#include <string.h>

#include "persistence/log_int.h"

struct listing {
	char (*files)[WH_LOG_FILES_BYTES];
	uint32_t count, room;
	bool no_memory;
};

static void add(void *ctx, const char *name)
{
	struct listing *listing = ctx;
	char files[WH_LOG_FILES_BYTES];
	uint64_t number;

	if (wh_log_file_read(name, files, &number) == WH_LOG_FILE_OTHER)
		return;
	for (uint32_t i = 0; i < listing->count; i++)
		if (strcmp(listing->files[i], files) == 0)
			return;
	if (listing->count == listing->room) {
		uint32_t room = listing->room > 0 ? 2 * listing->room : 16;
		char(*more)[WH_LOG_FILES_BYTES] = realloc(listing->files, room * sizeof(*more));

		listing->no_memory |= more == NULL;
		if (more == NULL)
			return;
		listing->files = more;
		listing->room = room;
	}
	memcpy(listing->files[listing->count++], files, WH_LOG_FILES_BYTES);
}

static int compare_files(const void *a, const void *b)
{
	return strcmp(a, b);
}

enum whorl_result wh_log_list(struct wh_directory *directory, void (*each)(void *ctx, const char *files), void *ctx,
			      struct wh_error *err)
{
	struct listing listing = {0};
	enum whorl_result result = directory->ops->list(directory, add, &listing, err);

	if (result == WHORL_OK && listing.no_memory)
		result = wh_error_set(err, WHORL_MEMORY, "no memory for the names of logs");
	if (listing.count > 0)
		qsort(listing.files, listing.count, sizeof(*listing.files), compare_files);
	for (uint32_t i = 0; i < listing.count && result == WHORL_OK; i++)
		each(ctx, listing.files[i]);
	free(listing.files);
	return result;
}
