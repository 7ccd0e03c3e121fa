/* cursor.c - what a log has, in order. See log.h.
 *
 * The log was checked when it was opened; it is checked again, because it is read again. The views and their ends are known, so it is
 * known of each message when it is met whether it is void.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "persistence/log_int.h"

struct wh_log_cursor {
	struct wh_log *log;
	struct wh_log_reader reader;
	struct wh_log_point from, until;
	bool until_end;   /* there is no other limit */
	uint64_t limit;   /* number of the batch that is not read any more */
	uint32_t segment; /* index */
	uint64_t at;      /* of the next batch in it */
	uint64_t number;  /* of that */
	uint32_t chain;
	uint64_t told;             /* views below this number have been given */
	const unsigned char *body; /* of the present batch, NULL: none */
	struct wh_log_batch_head head;
	uint32_t index; /* of the next message in it */
	size_t data_at;
	struct wh_log_message message; /* that is to be given; its view comes first */
	bool has_message, ended;
};

/* ---- opening ---------------------------------------------------------------------------------------------------------- */

static enum whorl_result place_cursor(struct wh_log_cursor *cursor, const struct wh_log_point *from,
				      const struct wh_log_point *until, struct wh_error *err)
{
	struct wh_log *log = cursor->log;
	uint32_t i = log->segment_count > 0 ? log->segment_count - 1 : 0;

	if (log->verdict == WH_LOG_ROT)
		return wh_error_set(err, WHORL_INVALID, "the log has rot");
	if ((from != NULL && wh_log_view_of(log, from->key, from->number) == NULL) ||
	    (until != NULL && wh_log_view_of(log, until->key, until->number) == NULL))
		return wh_error_set(err, WHORL_INVALID, "there is no such view in the log");
	if (from == NULL && log->has_mark)
		from = &log->mark.position.point;
	if (from != NULL)
		cursor->from = *from;
	else if (log->view_count > 0)
		cursor->from = (struct wh_log_point){log->views[0].key, log->views[0].number, 0};
	if (log->has_mark && wh_log_compare(cursor->from.number, cursor->from.place, log->mark.position.point.number,
					    log->mark.position.point.place) < 0)
		return wh_error_set(err, WHORL_INVALID, "the log does not reach back to there");
	cursor->until_end = until == NULL;
	if (until != NULL)
		cursor->until = *until;
	cursor->told = cursor->from.number;
	cursor->limit = log->batch;
	cursor->ended = log->segment_count == 0;
	if (cursor->ended)
		return WHORL_OK;
	while (i > 0 && wh_log_compare(log->segments[i].view, log->segments[i].place, cursor->from.number,
				       cursor->from.place) > 0)
		i--;
	cursor->segment = i;
	cursor->at = WH_LOG_BLOCK_BYTES;
	cursor->number = log->segments[i].first;
	cursor->chain = log->segments[i].chain;
	return WHORL_OK;
}

enum whorl_result wh_log_cursor_open(struct wh_log_cursor **out, struct wh_log *log, const struct wh_log_point *from,
				     const struct wh_log_point *until, struct wh_error *err)
{
	struct wh_log_cursor *cursor = calloc(1, sizeof(*cursor));
	enum whorl_result result;

	*out = NULL;
	if (cursor == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory to read a log");
	cursor->log = log;
	log->cursors++;
	result = place_cursor(cursor, from, until, err);
	if (result != WHORL_OK) {
		wh_log_cursor_close(cursor);
		return result;
	}
	*out = cursor;
	return WHORL_OK;
}

void wh_log_cursor_close(struct wh_log_cursor *cursor)
{
	if (cursor == NULL)
		return;
	cursor->log->cursors--;
	wh_log_reader_free(&cursor->reader);
	free(cursor);
}

/* ---- batches ---------------------------------------------------------------------------------------------------------- */

static enum whorl_result damaged(const struct wh_log_cursor *cursor, struct wh_error *err)
{
	char file[WH_FILE_NAME_BYTES];

	wh_log_file_name(file, cursor->log->files, WH_LOG_FILE_SEGMENT, cursor->log->segments[cursor->segment].number);
	return wh_error_set(err, WHORL_DISK, "%s is damaged at %" PRIu64 ", and was not when it was opened", file,
			    cursor->at);
}

/* The next batch is the present one; none: ended. */
static enum whorl_result next_batch(struct wh_log_cursor *cursor, struct wh_error *err)
{
	const struct wh_log *log = cursor->log;
	char file[WH_FILE_NAME_BYTES];
	enum whorl_result result = WHORL_OK;
	bool headed;

	cursor->body = NULL;
	cursor->ended = cursor->number >= cursor->limit;
	if (cursor->ended)
		return WHORL_OK;
	if (cursor->segment + 1 < log->segment_count && log->segments[cursor->segment + 1].first == cursor->number) {
		cursor->segment++;
		cursor->at = WH_LOG_BLOCK_BYTES;
		wh_log_reader_close(&cursor->reader);
	}
	wh_log_file_name(file, log->files, WH_LOG_FILE_SEGMENT, log->segments[cursor->segment].number);
	if (cursor->reader.file == NULL)
		result = wh_log_reader_open(&cursor->reader, log->directory, file, err);
	if (result == WHORL_OK)
		result = wh_log_reader_batch(&cursor->reader, cursor->at, log->identity, &cursor->head, &headed,
					     &cursor->body, err);
	if (result != WHORL_OK)
		return result == WHORL_MEMORY ? result : WHORL_DISK;
	if (cursor->body == NULL || cursor->head.number != cursor->number || cursor->head.chain != cursor->chain)
		return damaged(cursor, err);
	cursor->at += wh_log_batch_bytes(&cursor->head);
	cursor->number++;
	cursor->chain = cursor->head.sum;
	cursor->index = 0;
	return WHORL_OK;
}

static bool is_behind_until(const struct wh_log_cursor *cursor, uint64_t view, uint64_t place)
{
	return !cursor->until_end && wh_log_compare(view, place, cursor->until.number, cursor->until.place) >= 0;
}

/* The next message of the present batch that counts becomes the one that is to be given. */
static enum whorl_result next_message(struct wh_log_cursor *cursor, struct wh_error *err)
{
	const struct wh_log_batch_head *head = &cursor->head;
	const struct wh_log_view *view = wh_log_view_of(cursor->log, head->key, head->view);

	while (head->kind == WH_LOG_KIND_MESSAGES && cursor->index < head->count) {
		struct wh_log_message *message = &cursor->message;

		wh_log_entry_decode(message, head, cursor->body, cursor->index++, &cursor->data_at);
		if (wh_log_compare(head->view, message->place, cursor->from.number, cursor->from.place) < 0)
			continue;
		if (view == NULL || message->sender >= view->sender_count)
			return damaged(cursor, err);
		if (message->place >= view->end)
			continue; /* void */
		cursor->ended = is_behind_until(cursor, head->view, message->place);
		cursor->has_message = !cursor->ended;
		return WHORL_OK;
	}
	cursor->body = NULL;
	return WHORL_OK;
}

/* The view that is to be given before anything of view `number`, or before the end; NULL: none. */
static const struct wh_log_view *next_view(const struct wh_log_cursor *cursor, uint64_t number)
{
	const struct wh_log *log = cursor->log;
	uint32_t i = wh_log_view_from(log, cursor->told);

	return i < log->view_count && log->views[i].number <= number ? &log->views[i] : NULL;
}

/* What is ready to be given; false: nothing. */
static bool give(struct wh_log_cursor *cursor, struct wh_log_entry *out)
{
	uint64_t number = cursor->until_end ? UINT64_MAX : cursor->until.number;
	const struct wh_log_view *view;

	if (!cursor->has_message && !cursor->ended)
		return false;
	view = next_view(cursor, cursor->has_message ? cursor->head.view : number);
	*out = (struct wh_log_entry){.kind = WH_LOG_END};
	if (view != NULL) {
		out->kind = WH_LOG_VIEW;
		out->view = view;
		cursor->told = view->number + 1;
	} else if (cursor->has_message) {
		out->kind = WH_LOG_MESSAGE;
		out->view = wh_log_view_of(cursor->log, cursor->head.key, cursor->head.view);
		out->message = cursor->message;
		cursor->has_message = false;
	}
	return true;
}

enum whorl_result wh_log_cursor_next(struct wh_log_cursor *cursor, struct wh_log_entry *out, struct wh_error *err)
{
	*out = (struct wh_log_entry){.kind = WH_LOG_END};
	while (!give(cursor, out)) {
		enum whorl_result result = cursor->body != NULL ? next_message(cursor, err) : next_batch(cursor, err);

		if (result != WHORL_OK)
			return result;
	}
	return WHORL_OK;
}
