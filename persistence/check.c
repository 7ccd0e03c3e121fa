/* check.c - a log is read again while it is in use, a run at a time. See wh_log_check.
 *
 * All that it knows of the place where it stands is checked against the log before each run: segments go with a checkpoint. What lies behind
 * that place may have been written since, so no run uses bytes that another has read; and none reads what the next one will. What is not what was
 * written the first time is read once more, from the disk, before it is called rot. What says nothing of the disk is none: no memory, or
 * a file that is there and cannot be opened. Then the pass ends, and another is begun later.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "persistence/log_int.h"

struct wh_log_pass {
	uint64_t mark;               /* number of the checkpoint that the log had when it began; 0: none */
	struct wh_checkpoint *state; /* it is being read */
	bool doubts_state;           /* for the second time: it could not be the first */
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

/* Of what was read: WHORL_OK, and *good says whether it is what was written; a disk that cannot read it has lost it. Else nothing is known. */
static enum whorl_result judge_read(enum whorl_result result, bool is_written, bool *good)
{
	*good = result == WHORL_OK && is_written;
	return result == WHORL_MEMORY ? result : WHORL_OK;
}

/* Of a file that was opened: the same; a file that is gone is lost. */
static enum whorl_result judge_open(enum whorl_result result, bool *good)
{
	*good = result == WHORL_OK;
	return result == WHORL_NOT_FOUND ? WHORL_OK : result;
}

/* From the disk, what lies from there on. */
static void forget_behind(const struct wh_log_reader *reader, uint64_t at)
{
	if (at < reader->bytes)
		wh_file_forget(reader->file, at, reader->bytes - at);
}

/* What the reader has of it stays from run to run: a checkpoint does not change. */
static enum whorl_result read_state(struct wh_log *log, size_t bytes, bool *good, struct wh_error *err)
{
	struct wh_log_pass *pass = log->pass;
	enum whorl_result result = WHORL_OK;
	size_t got = 1;

	*good = true;
	if (pass->state == NULL) {
		result = judge_open(wh_checkpoint_open_file(&pass->state, log, err), good);
		if (result != WHORL_OK || !*good)
			return result;
		forget_behind(&pass->state->reader, 0);
		result = wh_checkpoint_read_header(pass->state, err);
	} else {
		forget_behind(&pass->state->reader, pass->state->at);
	}
	for (size_t done = 0; result == WHORL_OK && done < bytes && got > 0; done += got)
		result = wh_checkpoint_read(pass->state, pass->piece, WH_LOG_PIECE_BYTES, &got, err);
	pass->has_state = result == WHORL_OK && got == 0;
	return judge_read(result, true, good);
}

/* Some of the state. *is: MORE, or ROT; has_state: it is done. */
static enum whorl_result check_state(struct wh_log *log, size_t bytes, enum wh_log_checked *is,
				     struct wh_log_found *found, struct wh_error *err)
{
	struct wh_log_pass *pass = log->pass;
	bool good;
	enum whorl_result result = read_state(log, bytes, &good, err);

	if (result != WHORL_OK)
		return result;
	if (!good && pass->doubts_state) {
		*is = WH_LOG_CHECK_ROT;
		say_rot(log, WH_LOG_FILE_CHECKPOINT, log->checkpoint, pass->state != NULL ? pass->state->at : 0, found);
	}
	pass->doubts_state |= !good;
	if (!good || pass->has_state) {
		wh_checkpoint_drop(pass->state);
		pass->state = NULL;
	}
	return WHORL_OK;
}

/* A run of so many bytes begins at the next batch. */
static void begin_run(struct wh_log_pass *pass, size_t bytes)
{
	pass->reader.have = 0;
	pass->reader.limit = pass->at + bytes;
	forget_behind(&pass->reader, pass->at);
}

/* The pass stands in that segment, a run has begun, and *good: its first block is what it was. */
static enum whorl_result open_segment(struct wh_log *log, const struct wh_log_segment *segment, size_t bytes,
				      bool *good, struct wh_error *err)
{
	struct wh_log_pass *pass = log->pass;
	char name[WH_FILE_NAME_BYTES];
	const unsigned char *block;
	struct wh_log_head head;
	enum whorl_result result;
	uint32_t format;

	wh_log_reader_close(&pass->reader);
	pass->at = 0;
	pass->segment = segment->number;
	pass->number = segment->first;
	pass->chain = segment->chain;
	wh_log_file_name(name, log->files, WH_LOG_FILE_SEGMENT, segment->number);
	result = judge_open(wh_log_reader_open(&pass->reader, log->directory, name, err), good);
	if (result != WHORL_OK || !*good)
		return result;
	begin_run(pass, bytes);
	result = wh_log_reader_want(&pass->reader, 0, WH_LOG_BLOCK_BYTES, &block, err);
	result = judge_read(result,
			    result == WHORL_OK && block != NULL &&
				    wh_log_head_decode(&head, WH_LOG_SEGMENT_MAGIC, block, &format) == WH_LOG_READ &&
				    head.log == log->identity && head.number == segment->number,
			    good);
	if (*good)
		pass->at = WH_LOG_BLOCK_BYTES;
	return result;
}

/* *good: the batch there is the next one, and is passed. */
static enum whorl_result pass_batch(const struct wh_log *log, bool *good, struct wh_error *err)
{
	struct wh_log_pass *pass = log->pass;
	struct wh_log_batch_head head;
	const unsigned char *body;
	bool headed;
	enum whorl_result result =
		wh_log_reader_batch(&pass->reader, pass->at, log->identity, &head, &headed, &body, err);

	result = judge_read(result, body != NULL && head.number == pass->number && head.chain == pass->chain, good);
	if (result != WHORL_OK || !*good)
		return result;
	pass->at += wh_log_batch_bytes(&head);
	pass->number++;
	pass->chain = head.sum;
	return result;
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

/* The pass is in that segment, and a run begins; *good false: that is damaged. */
static enum whorl_result enter_segment(struct wh_log *log, const struct wh_log_segment *segment, size_t bytes,
				       bool *good, struct wh_error *err)
{
	struct wh_log_pass *pass = log->pass;
	enum whorl_result result;

	*good = true;
	if (pass->reader.file != NULL && segment->number == pass->segment) {
		begin_run(pass, bytes);
		return WHORL_OK;
	}
	result = open_segment(log, segment, bytes, good, err);
	return result == WHORL_OK && !*good ? open_segment(log, segment, bytes, good, err) : result;
}

static enum whorl_result check_segments(struct wh_log *log, size_t bytes, enum wh_log_checked *is,
					struct wh_log_found *found, struct wh_error *err)
{
	struct wh_log_pass *pass = log->pass;
	const struct wh_log_segment *segment = find_segment(log);
	enum whorl_result result;
	uint64_t until;
	bool good;

	if (segment == NULL) {
		*is = WH_LOG_CHECK_DONE;
		return WHORL_OK;
	}
	result = enter_segment(log, segment, bytes, &good, err);
	for (until = pass->reader.limit;
	     result == WHORL_OK && good && pass->at < until && find_segment(log) == segment;) {
		result = pass_batch(log, &good, err);
		if (result == WHORL_OK && !good) {
			begin_run(pass, bytes);
			result = pass_batch(log, &good, err);
		}
	}
	if (result != WHORL_OK || good)
		return result;
	*is = WH_LOG_CHECK_ROT;
	say_rot(log, WH_LOG_FILE_SEGMENT, segment->number, pass->at, found);
	if (segment == &log->segments[log->segment_count - 1])
		wh_log_leave_segment(log);
	return WHORL_OK;
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
		result = check_segments(log, bytes, is, found, err);
	else
		result = check_state(log, bytes, is, found, err);
	if (result != WHORL_OK || *is != WH_LOG_CHECK_MORE)
		wh_log_check_end(log);
	return result;
}
