/* check.c - a log is read again while it is in use, a run at a time. See wh_log_check.
 *
 * All that it knows of the place where it stands is checked against the log before each run: segments go with a checkpoint. What lies behind
 * that place may have been written since, so no run uses bytes that another has read. What cannot be read the first time is read once more.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "persistence/log_int.h"

struct wh_log_pass {
	uint64_t mark;               /* number of the checkpoint that the log had when it began; 0: none */
	struct wh_checkpoint *state; /* it is being read */
	bool has_state;              /* it has been */
	struct wh_log_reader reader; /* of the present segment; no file: none yet */
	uint64_t segment;            /* its number */
	uint64_t at, number;         /* of the next batch */
	uint32_t chain;
	unsigned char *piece;
};

static uint64_t mark_of(const struct wh_log *log)
{
	return log->has_mark ? log->checkpoint : 0;
}

void wh_log_check_end(struct wh_log *log)
{
	struct wh_log_pass *pass = log->pass;

	log->pass = NULL;
	if (pass == NULL)
		return;
	wh_checkpoint_drop(pass->state);
	wh_log_reader_free(&pass->reader);
	free(pass->piece);
	free(pass);
}

static enum whorl_result begin_pass(struct wh_log *log, struct wh_error *err)
{
	struct wh_log_pass *pass = calloc(1, sizeof(*pass));

	log->pass = pass;
	if (pass != NULL)
		pass->piece = malloc(WH_LOG_PIECE_BYTES);
	if (pass == NULL || pass->piece == NULL) {
		wh_log_check_end(log);
		return wh_error_set(err, WHORL_MEMORY, "no memory to check a log");
	}
	pass->mark = mark_of(log);
	pass->has_state = !log->has_mark;
	return WHORL_OK;
}

static void say_rot(const struct wh_log *log, enum wh_log_file_kind kind, uint64_t number, uint64_t at,
		    struct wh_log_found *found)
{
	*found = (struct wh_log_found){.verdict = WH_LOG_ROT, .offset = at};
	wh_log_file_name(found->file, log->files, kind, number);
	snprintf(found->why, sizeof(found->why), "%s at %" PRIu64 " is damaged, and was not when it was written",
		 kind == WH_LOG_FILE_CHECKPOINT ? "the checkpoint" : "what lies", at);
}

/* Some of the state. *is: MORE, or ROT; has_state: it is done. */
static enum whorl_result check_state(struct wh_log *log, size_t bytes, enum wh_log_checked *is,
				     struct wh_log_found *found, struct wh_error *err)
{
	struct wh_log_pass *pass = log->pass;
	enum whorl_result result = WHORL_OK;
	size_t got = 1;

	if (pass->state == NULL)
		result = wh_checkpoint_open(&pass->state, log, err);
	if (result == WHORL_OK)
		wh_file_forget(pass->state->reader.file, pass->state->at, bytes + WH_LOG_READ_BYTES);
	for (size_t done = 0; result == WHORL_OK && done < bytes && got > 0; done += got)
		result = wh_checkpoint_read(pass->state, pass->piece, WH_LOG_PIECE_BYTES, &got, err);
	if (result == WHORL_MEMORY)
		return result;
	if (result != WHORL_OK) {
		*is = WH_LOG_CHECK_ROT;
		say_rot(log, WH_LOG_FILE_CHECKPOINT, log->checkpoint, pass->state != NULL ? pass->state->at : 0, found);
	} else if (got == 0) {
		wh_checkpoint_drop(pass->state);
		pass->state = NULL;
		pass->has_state = true;
	}
	return WHORL_OK;
}

/* From the disk, what lies from the next batch on. */
static void forget_ahead(struct wh_log_pass *pass, size_t bytes)
{
	pass->reader.have = 0;
	wh_file_forget(pass->reader.file, pass->at, bytes + WH_LOG_READ_BYTES);
}

/* The pass stands in that segment, and its first block is what it was. False: it is not, or cannot be read. */
static bool open_segment(struct wh_log *log, const struct wh_log_segment *segment)
{
	struct wh_log_pass *pass = log->pass;
	char name[WH_FILE_NAME_BYTES];
	const unsigned char *block;
	struct wh_log_head head;
	struct wh_error err;
	uint32_t format;

	wh_log_reader_close(&pass->reader);
	pass->at = 0;
	pass->segment = segment->number;
	pass->number = segment->first;
	pass->chain = segment->chain;
	wh_log_file_name(name, log->files, WH_LOG_FILE_SEGMENT, segment->number);
	if (wh_log_reader_open(&pass->reader, log->directory, name, &err) != WHORL_OK)
		return false;
	forget_ahead(pass, 0);
	if (wh_log_reader_want(&pass->reader, 0, WH_LOG_BLOCK_BYTES, &block, &err) != WHORL_OK || block == NULL)
		return false;
	pass->at = WH_LOG_BLOCK_BYTES;
	return wh_log_head_decode(&head, WH_LOG_SEGMENT_MAGIC, block, &format) == WH_LOG_READ &&
	       head.log == log->identity && head.number == segment->number;
}

/* The batch there is the next one, and is passed. False: it is not, or cannot be read. */
static bool pass_batch(const struct wh_log *log)
{
	struct wh_log_pass *pass = log->pass;
	struct wh_log_batch_head head;
	const unsigned char *body;
	struct wh_error err;
	bool headed;

	if (wh_log_reader_batch(&pass->reader, pass->at, log->identity, &head, &headed, &body, &err) != WHORL_OK ||
	    body == NULL || head.number != pass->number || head.chain != pass->chain)
		return false;
	pass->at += wh_log_batch_bytes(&head);
	pass->number++;
	pass->chain = head.sum;
	return true;
}

/* That which the pass is in; if all of that is read, or it is gone, the one behind it. NULL: all are done. */
static const struct wh_log_segment *find_segment(const struct wh_log *log)
{
	const struct wh_log_pass *pass = log->pass;

	for (uint32_t i = 0; i < log->segment_count; i++) {
		uint64_t end = i + 1 < log->segment_count ? log->segments[i + 1].first : log->batch;

		if (pass->reader.file == NULL || log->segments[i].number > pass->segment ||
		    (log->segments[i].number == pass->segment && pass->number < end))
			return &log->segments[i];
	}
	return NULL;
}

static void check_segments(struct wh_log *log, size_t bytes, enum wh_log_checked *is, struct wh_log_found *found)
{
	struct wh_log_pass *pass = log->pass;
	const struct wh_log_segment *segment = find_segment(log);
	uint64_t until = 0;
	bool good = true;

	if (segment == NULL) {
		*is = WH_LOG_CHECK_DONE;
		return;
	}
	if (pass->reader.file == NULL || segment->number != pass->segment)
		good = open_segment(log, segment) || open_segment(log, segment);
	else
		forget_ahead(pass, bytes);
	for (until = pass->at + bytes; good && pass->at < until && find_segment(log) == segment;) {
		good = pass_batch(log);
		if (!good) {
			forget_ahead(pass, bytes);
			good = pass_batch(log);
		}
	}
	if (good)
		return;
	*is = WH_LOG_CHECK_ROT;
	say_rot(log, WH_LOG_FILE_SEGMENT, segment->number, pass->at, found);
}

enum whorl_result wh_log_check(struct wh_log *log, size_t bytes, enum wh_log_checked *is, struct wh_log_found *found,
			       struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	*is = WH_LOG_CHECK_MORE;
	if (log->verdict == WH_LOG_ROT)
		return wh_error_set(err, WHORL_INVALID, "the log has rot");
	if (log->pass != NULL && log->pass->mark != mark_of(log))
		wh_log_check_end(log); /* another lies before it now */
	if (log->pass == NULL)
		result = begin_pass(log, err);
	if (result != WHORL_OK)
		return result;
	if (log->pass->has_state)
		check_segments(log, bytes, is, found);
	else
		result = check_state(log, bytes, is, found, err);
	if (result != WHORL_OK || *is != WH_LOG_CHECK_MORE)
		wh_log_check_end(log);
	return result;
}
