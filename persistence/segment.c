/* segment.c - the files that a log consists of. See log_int.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/text.h"
#include "persistence/log_int.h"

void wh_log_fail(struct wh_log *log, const struct wh_error *err)
{
	log->failed = true;
	log->failure[0] = '\0';
	if (err != NULL)
		wh_text_add(log->failure, sizeof(log->failure), "%s", err->text);
}

enum whorl_result wh_log_segments_reserve(struct wh_log *log, struct wh_error *err)
{
	uint32_t room = log->segment_room > 0 ? 2 * log->segment_room : 8;
	struct wh_log_segment *segments;

	if (log->segment_count < log->segment_room)
		return WHORL_OK;
	segments = realloc(log->segments, room * sizeof(*segments));
	if (segments == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for the segments of a log");
	log->segments = segments;
	log->segment_room = room;
	return WHORL_OK;
}

enum whorl_result wh_log_segment_head(struct wh_log *log, struct wh_file *file, uint64_t number, uint64_t bytes,
				      struct wh_error *err)
{
	unsigned char block[WH_LOG_BLOCK_BYTES];
	struct wh_log_head head = {.owner = log->owner, .log = log->identity, .number = number, .bytes = bytes};
	struct iovec part = {block, sizeof(block)};

	wh_log_head_encode(block, WH_LOG_SEGMENT_MAGIC, &head);
	return file->ops->write(file, 0, &part, 1, err);
}

/* The file has what a segment begins with, and room for the rest; all of it is on the disk, then its name is. */
static enum whorl_result fill_segment(struct wh_log *log, struct wh_file *file, uint64_t number, struct wh_error *err)
{
	enum whorl_result result = file->ops->truncate(file, 0, err); /* remains of one that was not finished */

	if (result == WHORL_OK)
		result = file->ops->allocate(file, log->segment_bytes, err);
	if (result == WHORL_OK)
		result = wh_log_segment_head(log, file, number, log->segment_bytes, err);
	if (result == WHORL_OK)
		result = file->ops->sync(file, err);
	if (result == WHORL_OK)
		result = log->directory->ops->sync(log->directory, err);
	return result;
}

enum whorl_result wh_log_segment_make(struct wh_log *log, uint64_t number, struct wh_file **out, uint64_t *bytes,
				      struct wh_error *err)
{
	const struct wh_directory_ops *ops = log->directory->ops;
	char name[WH_FILE_NAME_BYTES];
	struct wh_file *file;
	enum whorl_result result;

	*out = NULL;
	wh_log_file_name(name, log->files, WH_LOG_FILE_SEGMENT, number);
	result = ops->open(log->directory, name, true, &file, err);
	if (result != WHORL_OK)
		return result;
	result = fill_segment(log, file, number, err);
	if (result == WHORL_OK) {
		*out = file;
		*bytes = log->segment_bytes;
		return WHORL_OK;
	}
	file->ops->close(file);
	if (result == WHORL_AGAIN && ops->remove(log->directory, name, err) != WHORL_OK) /* its room is for others */
		return WHORL_DISK;
	return result;
}
