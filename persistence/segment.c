/* segment.c - the files that a log consists of. See log_int.h. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/text.h"
#include "persistence/log_int.h"

static const unsigned char zeros[WH_LOG_BLOCK_BYTES];

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

enum whorl_result wh_log_judge(struct wh_log *log, enum whorl_result result, const struct wh_error *err)
{
	if (result == WHORL_OK || result == WHORL_AGAIN || result == WHORL_MEMORY)
		return result;
	wh_log_fail(log, err);
	return WHORL_DISK;
}

enum whorl_result wh_log_why_not_written(const struct wh_log *log, struct wh_error *err)
{
	if (log->failed)
		return wh_error_set(err, WHORL_DISK, "the log has failed: %s", log->failure);
	if (log->read_only || log->verdict == WH_LOG_ROT)
		return wh_error_set(err, WHORL_INVALID, "the log is not open for writing");
	return WHORL_OK;
}

static enum whorl_result make_next(struct wh_log *log, struct wh_error *err)
{
	enum whorl_result result = wh_log_segments_reserve(log, err);
	const struct wh_log_segment *present;

	if (result != WHORL_OK || log->next != NULL)
		return result;
	present = &log->segments[log->segment_count - 1];
	return wh_log_judge(log, wh_log_segment_make(log, present->number + 1, &log->next, &log->next_bytes, err), err);
}

enum whorl_result wh_log_prepare(struct wh_log *log, struct wh_error *err)
{
	const struct wh_log_segment *present;
	enum whorl_result result = wh_log_why_not_written(log, err);

	if (result != WHORL_OK)
		return result;
	present = &log->segments[log->segment_count - 1];
	if (log->next != NULL || present->used < present->bytes / 2)
		return WHORL_OK;
	return make_next(log, err);
}

/* What was written there in vain must not be read as the batch that is written elsewhere now. */
static enum whorl_result wipe_end(struct wh_log *log, const struct wh_log_segment *present, struct wh_error *err)
{
	struct iovec part = {(void *)zeros, sizeof(zeros)};
	enum whorl_result result;

	if (!log->remains || present->used + sizeof(zeros) > present->bytes)
		return WHORL_OK;
	result = log->file->ops->write(log->file, present->used, &part, 1, err);
	return result == WHORL_OK ? log->file->ops->sync(log->file, err) : result;
}

enum whorl_result wh_log_make_room(struct wh_log *log, uint64_t bytes, struct wh_error *err)
{
	const struct wh_log_segment *present = &log->segments[log->segment_count - 1];
	enum whorl_result result;

	if (!log->leaves && present->used + bytes <= present->bytes)
		return WHORL_OK;
	result = make_next(log, err);
	if (result != WHORL_OK)
		return result;
	present = &log->segments[log->segment_count - 1];
	result = wh_log_judge(log, wipe_end(log, present, err), err);
	if (result != WHORL_OK)
		return result;
	log->leaves = false;
	log->remains = false;
	log->segments[log->segment_count] = wh_log_segment_here(log, present->number + 1, log->next_bytes);
	log->segment_count++;
	log->zeroed_to = 0;
	log->file->ops->close(log->file);
	log->file = log->next;
	log->next = NULL;
	log->next_bytes = 0;
	return WHORL_OK;
}

/* All that an empty one has is known. */
static enum whorl_result write_head_again(struct wh_log *log, const struct wh_log_segment *present,
					  struct wh_error *err)
{
	enum whorl_result result = wh_log_segment_head(log, log->file, present->number, present->bytes, err);

	return result == WHORL_OK ? log->file->ops->sync(log->file, err) : result;
}

/* Of two segments at the end one has batches, always: an empty one stays, and is made good. What is written and not synced lies in this one; and if
 * there is no room for another, the next batch asks again. */
void wh_log_leave_segment(struct wh_log *log)
{
	const struct wh_log_segment *present = &log->segments[log->segment_count - 1];
	struct wh_error err;

	if (wh_log_why_not_written(log, &err) != WHORL_OK)
		return;
	if (present->used == WH_LOG_BLOCK_BYTES) {
		(void)wh_log_judge(log, write_head_again(log, present, &err), &err);
		return;
	}
	log->leaves = true;
	if (!log->pending)
		(void)wh_log_make_room(log, 0, &err);
}
