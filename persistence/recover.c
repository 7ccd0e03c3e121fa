/* recover.c - what is there when a log is opened. See log.h for the rule, docs/log.md for why it holds.
 *
 * All batches are read, from the checkpoint's or the first on, as far as each follows on the one before. Behind that there must be nothing that
 * was written later: the head of a batch of a higher number says that all before it was on the disk once, and is rot now. Else what
 * follows is the remains of one batch, of which nobody knows.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/text.h"
#include "persistence/log_int.h"

/* ---- names ------------------------------------------------------------------------------------------------------------ */

struct numbers {
	uint64_t *of;
	uint32_t count, room;
};

struct names {
	const char *files;
	struct numbers by_kind[WH_LOG_FILE_NEW + 1];
	bool no_memory;
};

static void add_name(void *ctx, const char *name)
{
	struct names *names = ctx;
	char files[WH_LOG_FILES_BYTES];
	struct numbers *numbers;
	uint64_t number, *more;
	enum wh_log_file_kind kind = wh_log_file_read(name, files, &number);

	if (kind == WH_LOG_FILE_OTHER || strcmp(files, names->files) != 0)
		return;
	numbers = &names->by_kind[kind];
	if (numbers->count == numbers->room) {
		uint32_t room = numbers->room > 0 ? 2 * numbers->room : 16;

		more = realloc(numbers->of, room * sizeof(*more));
		if (more == NULL) {
			names->no_memory = true;
			return;
		}
		numbers->of = more;
		numbers->room = room;
	}
	numbers->of[numbers->count++] = number;
}

static int compare_numbers(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void free_names(struct names *names)
{
	for (int kind = 0; kind <= WH_LOG_FILE_NEW; kind++)
		free(names->by_kind[kind].of);
}

/* Sorted. They are to be freed, whatever the result. */
static enum whorl_result read_names(struct names *names, struct wh_directory *directory, const char *files,
				    struct wh_error *err)
{
	enum whorl_result result;

	*names = (struct names){.files = files};
	result = directory->ops->list(directory, add_name, names, err);
	if (result == WHORL_OK && names->no_memory)
		result = wh_error_set(err, WHORL_MEMORY, "no memory for the names of files");
	for (int kind = 0; kind <= WH_LOG_FILE_NEW; kind++)
		if (names->by_kind[kind].count > 0)
			qsort(names->by_kind[kind].of, names->by_kind[kind].count, sizeof(uint64_t), compare_numbers);
	return result;
}

/* ---- what is found ---------------------------------------------------------------------------------------------------- */

struct scan {
	struct wh_log *log;
	const struct wh_log_config *config; /* NULL: any log */
	struct wh_log_found *found;
	struct wh_error *err;
	struct wh_log_reader reader;
	uint64_t last; /* number of the last segment that is there */
	bool headless; /* the segment behind the present one has no header that can be read */
};

static void note(struct scan *scan, enum wh_log_verdict verdict, const char *file, uint64_t offset, const char *format,
		 ...) WH_PRINTF(5, 6);

/* The first thing that is found counts, but rot before all. */
static void note(struct scan *scan, enum wh_log_verdict verdict, const char *file, uint64_t offset, const char *format,
		 ...)
{
	struct wh_log_found *found = scan->found;
	va_list arguments;

	if (verdict <= found->verdict)
		return;
	*found = (struct wh_log_found){.verdict = verdict, .offset = offset};
	snprintf(found->file, sizeof(found->file), "%s", file);
	va_start(arguments, format);
	wh_text_vadd(found->why, sizeof(found->why), format, arguments);
	va_end(arguments);
}

static bool is_rot(const struct scan *scan)
{
	return scan->found->verdict == WH_LOG_ROT;
}

static enum whorl_result check_owner(const struct scan *scan, const char *file, const struct wh_log_owner *found)
{
	const struct wh_log_owner *wanted = &scan->config->owner;

	if (found->group != wanted->group)
		return wh_error_set(scan->err, WHORL_CONFIG,
				    "%s is of another group: of %.63s, identity %016" PRIx64
				    ", and not of %.63s, identity %016" PRIx64,
				    file, found->group_name, found->group, wanted->group_name, wanted->group);
	if (found->node != wanted->node)
		return wh_error_set(scan->err, WHORL_CONFIG, "%s is of node %" PRIu32 ", and not of node %" PRIu32,
				    file, found->node, wanted->node);
	if (strcmp(found->subgroup, wanted->subgroup) != 0 || found->shard != wanted->shard)
		return wh_error_set(scan->err, WHORL_CONFIG, "%s is of subgroup %.63s, shard %" PRIu32, file,
				    found->subgroup, found->shard);
	return WHORL_OK;
}

/* A header that can be read. A checkpoint may have been renamed (renew_checkpoint). */
static enum whorl_result take_head(struct scan *scan, const char *file, const struct wh_log_head *head, uint64_t number,
				   bool is_segment)
{
	struct wh_log *log = scan->log;
	enum whorl_result result = scan->config != NULL ? check_owner(scan, file, &head->owner) : WHORL_OK;

	if (result != WHORL_OK)
		return result;
	if (log->identity == 0) {
		log->identity = head->log;
		log->owner = head->owner;
	}
	if (head->log != log->identity || head->number > number || (is_segment && head->number != number))
		note(scan, WH_LOG_ROT, file, 0, "this is another file of another log");
	return WHORL_OK;
}

/* ---- checkpoints ------------------------------------------------------------------------------------------------------ */

static enum whorl_result take_mark(struct scan *scan, const struct wh_log_mark *mark)
{
	struct wh_log *log = scan->log;
	enum whorl_result result = wh_log_views_reserve(log, scan->err);
	struct wh_log_view view = {.key = mark->position.point.key,
				   .number = mark->position.point.number,
				   .end = mark->end,
				   .void_end = mark->end,
				   .begun = mark->begun,
				   .sender_count = mark->sender_count};

	if (result != WHORL_OK)
		return result;
	view.senders = calloc(mark->sender_count + 1, sizeof(*view.senders));
	if (view.senders == NULL)
		return wh_error_set(scan->err, WHORL_MEMORY, "no memory for the senders of a view");
	if (mark->sender_count > 0)
		memcpy(view.senders, mark->senders, mark->sender_count * sizeof(*view.senders));
	log->views[log->view_count++] = view;
	log->batch = mark->batch;
	log->chain = mark->chain;
	wh_log_take_mark(log, mark);
	return WHORL_OK;
}

/* The last one counts. One that is older is there if a node ended while it removed it. */
static enum whorl_result scan_checkpoint(struct scan *scan, const struct numbers *checkpoints)
{
	struct wh_log *log = scan->log;
	char file[WH_FILE_NAME_BYTES];
	struct wh_log_mark *mark;
	struct wh_log_head head;
	const char *why = NULL;
	enum whorl_result result;

	if (checkpoints->count == 0)
		return WHORL_OK;
	log->checkpoint = checkpoints->of[checkpoints->count - 1];
	wh_log_file_name(file, log->files, WH_LOG_FILE_CHECKPOINT, log->checkpoint);
	mark = malloc(sizeof(*mark));
	if (mark == NULL)
		return wh_error_set(scan->err, WHORL_MEMORY, "no memory for a checkpoint");
	result = wh_checkpoint_check(log, log->checkpoint, &head, mark, &log->checkpoint_bytes, &why, scan->err);
	if (result == WHORL_OK && why != NULL)
		note(scan, WH_LOG_ROT, file, 0, "the checkpoint is damaged: %s", why);
	else if (result == WHORL_OK)
		result = take_head(scan, file, &head, log->checkpoint, false);
	if (result == WHORL_OK && !is_rot(scan))
		result = take_mark(scan, mark);
	free(mark);
	return result;
}

/* ---- batches ---------------------------------------------------------------------------------------------------------- */

static bool ranks_fit(const struct wh_log *log, const struct wh_log_batch_head *head, const unsigned char *body)
{
	const struct wh_log_view *view = wh_log_view_of(log, head->key, head->view);
	struct wh_log_message message;
	size_t at = 0;

	for (uint32_t i = 0; view != NULL && i < head->count; i++) {
		wh_log_entry_decode(&message, head, body, i, &at);
		if (message.sender >= view->sender_count)
			return false;
	}
	return true;
}

static enum whorl_result take_batch(struct scan *scan, const struct wh_log_batch_head *head, const unsigned char *body)
{
	struct wh_log_sender *senders = NULL;
	struct wh_log_begin begin = {0};
	enum whorl_result result = wh_log_views_reserve(scan->log, scan->err);

	if (result != WHORL_OK)
		return result;
	if (head->kind == WH_LOG_KIND_BEGIN) {
		senders = calloc(head->count + 1, sizeof(*senders));
		if (senders == NULL)
			return wh_error_set(scan->err, WHORL_MEMORY, "no memory for the senders of a view");
		wh_log_begin_decode(&begin, senders, head, body);
	}
	wh_log_take_batch(scan->log, head, &begin, senders);
	return WHORL_OK;
}

/* All that follow in the segment that is being read, which is the last in the list. */
static enum whorl_result scan_batches(struct scan *scan, const char *file)
{
	struct wh_log *log = scan->log;
	struct wh_log_segment *segment = &log->segments[log->segment_count - 1];
	struct wh_log_batch_head head;
	const unsigned char *body;
	const char *why;
	bool headed;

	for (;;) {
		enum whorl_result result = wh_log_reader_batch(&scan->reader, segment->used, log->identity, &head,
							       &headed, &body, scan->err);

		if (result != WHORL_OK || !headed || head.number != log->batch)
			return result;
		if (head.chain != log->chain) {
			note(scan, WH_LOG_ROT, file, segment->used, "batch %" PRIu64 " is not the one that followed",
			     head.number);
			return WHORL_OK;
		}
		if (body == NULL || segment->used + wh_log_batch_bytes(&head) > segment->bytes)
			return WHORL_OK;
		why = wh_log_why_not_next(log, &head);
		if (why == NULL && head.kind == WH_LOG_KIND_MESSAGES && !ranks_fit(log, &head, body))
			why = "a message has no sender";
		if (why != NULL) {
			note(scan, WH_LOG_ROT, file, segment->used, "batch %" PRIu64 ": %s", head.number, why);
			return WHORL_OK;
		}
		result = take_batch(scan, &head, body);
		if (result != WHORL_OK)
			return result;
		log->last_at = segment->used;
		segment->used += wh_log_batch_bytes(&head);
	}
}

static bool is_zero(const unsigned char *block)
{
	return block[0] == 0 && memcmp(block, block + 1, WH_LOG_BLOCK_BYTES - 1) == 0;
}

/* Behind the end nothing may be left of what was written after it. `torn_at`: where the next batch may lie, torn. */
static enum whorl_result scan_rest(struct scan *scan, const char *file, uint64_t from, uint64_t torn_at, bool wipes)
{
	struct wh_log *log = scan->log;
	const unsigned char *block;

	for (uint64_t at = from;; at += WH_LOG_BLOCK_BYTES) {
		enum whorl_result result = wh_log_reader_want(&scan->reader, at, WH_LOG_BLOCK_BYTES, &block, scan->err);
		struct wh_log_batch_head head;

		if (result != WHORL_OK || block == NULL)
			return result;
		if (is_zero(block))
			continue;
		if (wh_log_batch_decode(&head, block) && (head.log == log->identity || log->identity == 0) &&
		    (head.number > log->batch || (head.number == log->batch && at != torn_at))) {
			note(scan, WH_LOG_ROT, file, at,
			     "batch %" PRIu64 " was written when %" PRIu64 " was on the disk, which cannot be read",
			     head.number, log->batch);
			return WHORL_OK;
		}
		note(scan, WH_LOG_TORN, file, at, "there are remains of what was not finished");
		if (wipes)
			log->wipe_to = at + WH_LOG_BLOCK_BYTES;
	}
}

/* ---- segments --------------------------------------------------------------------------------------------------------- */

/* Opens it, and reads its header. *fits: that can be read. */
static enum whorl_result open_segment(struct scan *scan, uint64_t number, char file[WH_FILE_NAME_BYTES], bool *fits)
{
	const unsigned char *block = NULL;
	struct wh_log_head head;
	enum wh_log_read read;
	enum whorl_result result;
	uint32_t format;

	*fits = false;
	wh_log_file_name(file, scan->log->files, WH_LOG_FILE_SEGMENT, number);
	result = wh_log_reader_open(&scan->reader, scan->log->directory, file, scan->err);
	if (result == WHORL_OK)
		result = wh_log_reader_want(&scan->reader, 0, WH_LOG_BLOCK_BYTES, &block, scan->err);
	if (result != WHORL_OK || block == NULL)
		return result;
	read = wh_log_head_decode(&head, WH_LOG_SEGMENT_MAGIC, block, &format);
	if (read == WH_LOG_LATER)
		return wh_error_set(scan->err, WHORL_CONFIG, "%s has format %" PRIu32 ", and this whorl knows %d", file,
				    format, WH_LOG_FORMAT);
	*fits = read == WH_LOG_READ;
	return *fits ? take_head(scan, file, &head, number, true) : WHORL_OK;
}

static enum whorl_result add_segment(struct scan *scan, uint64_t number)
{
	struct wh_log *log = scan->log;
	enum whorl_result result = wh_log_segments_reserve(log, scan->err);

	if (result == WHORL_OK)
		log->segments[log->segment_count++] =
			wh_log_segment_here(log, number, scan->reader.bytes / WH_LOG_BLOCK_BYTES * WH_LOG_BLOCK_BYTES);
	return result;
}

/* The segments from `first` on, as far as batches follow on each other. *present: the index of the last that has any. */
static enum whorl_result scan_segments(struct scan *scan, uint64_t first, uint32_t *present)
{
	struct wh_log *log = scan->log;
	char file[WH_FILE_NAME_BYTES];
	bool fits;

	*present = 0;
	for (uint64_t number = first; number <= scan->last && !is_rot(scan); number++) {
		enum whorl_result result = open_segment(scan, number, file, &fits);

		if (result == WHORL_OK && !is_rot(scan) && !fits)
			break;
		if (result == WHORL_OK && !is_rot(scan))
			result = add_segment(scan, number);
		if (result == WHORL_OK && !is_rot(scan))
			result = scan_batches(scan, file);
		wh_log_reader_close(&scan->reader);
		if (result != WHORL_OK)
			return result;
		if (log->segment_count > 0 && log->segments[log->segment_count - 1].used > WH_LOG_BLOCK_BYTES)
			*present = log->segment_count - 1;
	}
	wh_log_reader_close(&scan->reader);
	return WHORL_OK;
}

/* Behind the end: the rest of that segment, and one that was prepared. */
static enum whorl_result scan_behind(struct scan *scan, uint64_t first, uint32_t present)
{
	const struct wh_log *log = scan->log;
	uint64_t used = log->segment_count > 0 ? log->segments[present].used : 0;
	char file[WH_FILE_NAME_BYTES];
	bool fits;

	for (uint64_t number = first + present; number <= scan->last && !is_rot(scan); number++) {
		bool is_present = number == first + present && log->segment_count > 0;
		enum whorl_result result = open_segment(scan, number, file, &fits);
		uint64_t from = is_present ? used : fits ? WH_LOG_BLOCK_BYTES : 0;

		if (result == WHORL_OK && !is_rot(scan))
			result = scan_rest(scan, file, from, fits ? from : UINT64_MAX, is_present);
		wh_log_reader_close(&scan->reader);
		if (result != WHORL_OK)
			return result;
	}
	return WHORL_OK;
}

/* ---- all of it -------------------------------------------------------------------------------------------------------- */

/* Files are missing between those that are there, or there is a later one than can have been made. */
static void check_files(struct scan *scan, uint64_t first, const struct numbers *segments)
{
	uint64_t expected = first;
	char file[WH_FILE_NAME_BYTES];

	for (uint32_t i = 0; i < segments->count; i++) {
		if (segments->of[i] < first)
			continue; /* of before the checkpoint */
		if (segments->of[i] != expected)
			break;
		scan->last = expected++;
	}
	wh_log_file_name(file, scan->log->files, WH_LOG_FILE_SEGMENT, expected);
	if (expected == first)
		note(scan, WH_LOG_ROT, "", 0, "%s, where the log begins, is missing", file);
	else if (segments->of[segments->count - 1] != scan->last)
		note(scan, WH_LOG_ROT, "", 0, "%s is missing", file);
}

/* A segment is made when the one before has batches: so no two of them are empty at the end. */
static void check_end(struct scan *scan, uint64_t first, uint32_t present)
{
	const struct wh_log *log = scan->log;
	uint64_t behind = scan->last - (first + present);
	bool empty = log->segment_count == 0 || log->segments[present].used == WH_LOG_BLOCK_BYTES;
	char file[WH_FILE_NAME_BYTES];

	wh_log_file_name(file, log->files, WH_LOG_FILE_SEGMENT, first + present);
	if (behind > 1 || (behind == 1 && empty) || (log->segment_count == 0 && log->has_mark))
		note(scan, WH_LOG_ROT, file, 0, "nothing can be read of what was in it");
	if (log->has_mark && log->batch < log->mark.written)
		note(scan, WH_LOG_ROT, file, log->segment_count > 0 ? log->segments[present].used : 0,
		     "batches up to %" PRIu64 " were on the disk, says the checkpoint; %" PRIu64 " cannot be read",
		     log->mark.written, log->batch);
	if (log->has_mark && !log->views[0].begun)
		note(scan, WH_LOG_ROT, file, 0, "the beginning of the checkpoint's view is missing");
}

static void check_known(struct scan *scan)
{
	const struct wh_log *log = scan->log;
	const struct wh_log_point *known = scan->config != NULL ? scan->config->known : NULL;
	const struct wh_log_view *view;

	if (known == NULL || known->place == 0 || is_rot(scan))
		return;
	if (log->has_mark && wh_log_compare(log->mark.position.point.number, log->mark.position.point.place,
					    known->number, known->place) >= 0)
		return;
	view = wh_log_view_of(log, known->key, known->number);
	if (view == NULL || view->void_end < known->place)
		note(scan, WH_LOG_ROT, "", 0,
		     "view %" PRIu64 " was here up to place %" PRIu64 ", and is up to %" PRIu64 " now", known->number,
		     known->place, view != NULL ? view->void_end : 0);
}

static enum whorl_result scan_all(struct scan *scan, const struct names *names)
{
	struct wh_log *log = scan->log;
	const struct numbers *segments = &names->by_kind[WH_LOG_FILE_SEGMENT];
	uint32_t present = 0;
	enum whorl_result result = scan_checkpoint(scan, &names->by_kind[WH_LOG_FILE_CHECKPOINT]);
	uint64_t first = log->has_mark ? log->mark.segment : 0;

	if (result != WHORL_OK || is_rot(scan))
		return result;
	if (segments->count == 0 && !log->has_mark) {
		check_known(scan);
		return WHORL_OK;
	}
	check_files(scan, first, segments);
	if (is_rot(scan))
		return WHORL_OK;
	result = scan_segments(scan, first, &present);
	if (result == WHORL_OK)
		result = scan_behind(scan, first, present);
	if (result != WHORL_OK || is_rot(scan))
		return result;
	check_end(scan, first, present);
	check_known(scan);
	if (is_rot(scan))
		return WHORL_OK;
	if (log->batch == 0 && !log->has_mark) { /* of the first file not even the name needs to be on the disk */
		log->segment_count = 0;
		scan->found->verdict = WH_LOG_BLANK;
		return WHORL_OK;
	}
	log->segment_count = present + 1;
	note(scan, WH_LOG_WHOLE, "", 0, "%s", "");
	return WHORL_OK;
}

enum whorl_result wh_log_scan(struct wh_log *log, const struct wh_log_config *config, struct wh_log_found *found,
			      struct wh_error *err)
{
	struct scan scan = {.log = log, .config = config, .found = found, .err = err, .reader = {.asking = log->asking}};
	struct names names;
	enum whorl_result result = read_names(&names, log->directory, log->files, err);

	if (result == WHORL_OK)
		result = scan_all(&scan, &names);
	wh_log_reader_free(&scan.reader);
	free_names(&names);
	return result;
}

/* ---- mending ---------------------------------------------------------------------------------------------------------- */

/* What is useless: it lies before the checkpoint, was prepared, or was never finished. */
static enum whorl_result remove_useless(struct wh_log *log, struct wh_error *err)
{
	struct names names;
	enum whorl_result result = read_names(&names, log->directory, log->files, err);
	uint64_t first = log->segment_count > 0 ? log->segments[0].number : 0;

	for (int kind = WH_LOG_FILE_SEGMENT; kind <= WH_LOG_FILE_NEW; kind++)
		for (uint32_t i = 0; i < names.by_kind[kind].count && result == WHORL_OK; i++) {
			uint64_t number = names.by_kind[kind].of[i];
			char file[WH_FILE_NAME_BYTES];

			if ((kind == WH_LOG_FILE_SEGMENT && number >= first && number - first < log->segment_count) ||
			    (kind == WH_LOG_FILE_CHECKPOINT && log->has_mark && number == log->checkpoint))
				continue;
			wh_log_file_name(file, log->files, (enum wh_log_file_kind)kind, number);
			wh_log_ask(log->asking);
			result = log->directory->ops->remove(log->directory, file, err);
		}
	free_names(&names);
	wh_log_ask(log->asking);
	return result == WHORL_OK ? log->directory->ops->sync(log->directory, err) : result;
}

/* The same bytes once more, or zeros. */
static enum whorl_result write_again(struct wh_log *log, uint64_t from, uint64_t to, bool zeros, struct wh_error *err)
{
	unsigned char *buffer = from < to ? calloc(1, WH_LOG_READ_BYTES) : NULL;
	enum whorl_result result = WHORL_OK;

	if (from < to && buffer == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory to write the end of a log again");
	while (from < to && result == WHORL_OK) {
		size_t bytes = to - from < WH_LOG_READ_BYTES ? (size_t)(to - from) : WH_LOG_READ_BYTES, got = bytes;
		struct iovec part = {buffer, bytes};

		if (!zeros)
			result = log->file->ops->read(log->file, from, buffer, bytes, &got, err);
		if (result == WHORL_OK && got != bytes)
			result = wh_error_set(err, WHORL_DISK, "the last segment has become shorter");
		if (result == WHORL_OK)
			result = log->file->ops->write(log->file, from, &part, 1, err);
		from += bytes;
	}
	free(buffer);
	return result;
}

/* What lies at the very end may be in memory only: a node that was killed has left it there, or a sync has failed. */
static enum whorl_result mend_end(struct wh_log *log, struct wh_error *err)
{
	struct wh_log_segment *present = &log->segments[log->segment_count - 1];
	enum whorl_result result;

	if (present->used == WH_LOG_BLOCK_BYTES)
		result = wh_log_segment_head(log, log->file, present->number, present->bytes, err);
	else
		result = write_again(log, log->last_at, present->used, false, err);
	if (result == WHORL_OK)
		result = write_again(log, present->used, log->wipe_to, true, err);
	if (result == WHORL_OK)
		result = log->file->ops->sync(log->file, err);
	if (result == WHORL_OK)
		result = log->directory->ops->sync(log->directory, err);
	return result;
}

/* A sync of the directory may have failed when it was made: its name is there, and on no disk. It is given another. */
static enum whorl_result renew_checkpoint(struct wh_log *log, struct wh_error *err)
{
	char from[WH_FILE_NAME_BYTES], to[WH_FILE_NAME_BYTES];
	enum whorl_result result;

	wh_log_file_name(from, log->files, WH_LOG_FILE_CHECKPOINT, log->checkpoint);
	wh_log_file_name(to, log->files, WH_LOG_FILE_CHECKPOINT, log->checkpoint + 1);
	result = log->directory->ops->rename(log->directory, from, to, err);
	if (result == WHORL_OK)
		log->checkpoint++;
	return result;
}

enum whorl_result wh_log_mend(struct wh_log *log, struct wh_error *err)
{
	char file[WH_FILE_NAME_BYTES];
	enum whorl_result result = log->has_mark ? renew_checkpoint(log, err) : WHORL_OK;

	if (result == WHORL_OK && log->segment_count > 0) {
		wh_log_file_name(file, log->files, WH_LOG_FILE_SEGMENT, log->segments[log->segment_count - 1].number);
		result = log->directory->ops->open(log->directory, file, false, &log->file, err);
		wh_log_ask(log->asking);
		if (result == WHORL_OK)
			result = mend_end(log, err);
	}
	return result == WHORL_OK ? remove_useless(log, err) : result;
}

/* ---- all files of a log ----------------------------------------------------------------------------------------------- */

static enum whorl_result remove_kind(struct wh_directory *directory, const struct names *names,
				     enum wh_log_file_kind kind, const struct wh_log_asking *asking,
				     struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;
	char file[WH_FILE_NAME_BYTES];

	for (uint32_t i = 0; i < names->by_kind[kind].count && result == WHORL_OK; i++) {
		wh_log_file_name(file, names->files, kind, names->by_kind[kind].of[i]);
		wh_log_ask(asking);
		result = directory->ops->remove(directory, file, err);
		if (result == WHORL_OK) /* the oldest first: without it the rest is rot */
			result = directory->ops->sync(directory, err);
	}
	return result;
}

enum whorl_result wh_log_discard(struct wh_directory *directory, const char *subgroup, uint32_t shard,
				 const struct wh_log_asking *asking, struct wh_error *err)
{
	char files[WH_LOG_FILES_BYTES];
	struct names names;
	enum whorl_result result = read_names(&names, directory, wh_log_files(files, subgroup, shard), err);

	if (result == WHORL_OK)
		result = remove_kind(directory, &names, WH_LOG_FILE_SEGMENT, asking, err);
	if (result == WHORL_OK)
		result = remove_kind(directory, &names, WH_LOG_FILE_CHECKPOINT, asking, err);
	if (result == WHORL_OK)
		result = remove_kind(directory, &names, WH_LOG_FILE_NEW, asking, err);
	free_names(&names);
	return result == WHORL_OK ? directory->ops->sync(directory, err) : result;
}
