/* log.c - opening, writing and closing a log. See log.h.
 *
 * One batch at a time is written behind the end, and counts when it is synced (`pending`): what the log knows of itself is always what
 * is on the disk.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/crc32c.h"
#include "base/text.h"
#include "persistence/log_int.h"

#define SEGMENT_BYTES_MAX (UINT64_C(1) << 40)

#define ZEROS_BYTES 65536        /* behind a batch of at most */
#define ZEROS_BEHIND_BYTES 16384 /* that */
#define BEGIN_BYTES (WH_LOG_BEGIN_BYTES + (size_t)WH_LOG_SENDERS_MAX * WH_LOG_SENDER_BYTES)

/* ---- opening ---------------------------------------------------------------------------------------------------------- */

static bool is_name(const char name[WH_LOG_NAME_BYTES])
{
	return memchr(name, '\0', WH_LOG_NAME_BYTES) != NULL;
}

static enum whorl_result check_config(const struct wh_log_config *config, struct wh_error *err)
{
	if (!is_name(config->owner.group_name) || !is_name(config->owner.subgroup) || config->fresh == 0)
		return wh_error_set(err, WHORL_INVALID, "a log needs names, and an identity that is not 0");
	if (config->segment_bytes > SEGMENT_BYTES_MAX)
		return wh_error_set(err, WHORL_INVALID, "segments of a log are too large");
	if (config->batch_bytes == 0 || config->batch_bytes > WH_LOG_BATCH_BYTES_MAX / 2 ||
	    config->batch_messages == 0 ||
	    config->batch_messages > WH_LOG_BATCH_BYTES_MAX / 2 / WH_LOG_ENTRY_BYTES - WH_LOG_SENDERS_MAX)
		return wh_error_set(err, WHORL_INVALID, "batches of a log are too large, or have nothing");
	return WHORL_OK;
}

/* A batch with the largest table, or a BEGIN. */
static size_t table_room(const struct wh_log *log)
{
	size_t entries = (size_t)log->batch_messages * WH_LOG_ENTRY_BYTES;

	return WH_LOG_HEAD_BYTES + (entries > BEGIN_BYTES ? entries : BEGIN_BYTES);
}

static enum whorl_result create(struct wh_log **out, struct wh_directory *directory, const struct wh_log_config *config,
				struct wh_error *err)
{
	struct wh_log *log = calloc(1, sizeof(*log));
	uint64_t largest;

	*out = log;
	if (log == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a log");
	log->directory = directory;
	log->owner = config->owner;
	log->batch_bytes = config->batch_bytes;
	log->batch_messages = config->batch_messages;
	log->read_only = config->read_only;
	log->asking = config->asking;
	largest = wh_log_round(table_room(log) + log->batch_bytes, WH_LOG_BLOCK_BYTES);
	log->segment_bytes = wh_log_round(config->segment_bytes, WH_LOG_BLOCK_BYTES);
	if (log->segment_bytes < WH_LOG_BLOCK_BYTES + 2 * largest)
		log->segment_bytes = WH_LOG_BLOCK_BYTES + 2 * largest;
	wh_log_files(log->files, config->owner.subgroup, config->owner.shard);
	log->image = config->image != NULL ? config->image : &log->own;
	return WHORL_OK;
}

static enum whorl_result begin_anew(struct wh_log *log, uint64_t identity, struct wh_error *err)
{
	uint64_t bytes;
	enum whorl_result result = wh_log_segments_reserve(log, err);

	log->identity = identity;
	if (result == WHORL_OK)
		result = wh_log_segment_make(log, 0, &log->file, &bytes, err);
	if (result == WHORL_OK)
		log->segments[log->segment_count++] = wh_log_segment_here(log, 0, bytes);
	return result;
}

static enum whorl_result open_scanned(struct wh_log *log, const struct wh_log_config *config,
				      struct wh_log_found *found, struct wh_error *err)
{
	enum whorl_result result = wh_log_scan(log, config, found, err);

	log->verdict = found->verdict;
	if (result != WHORL_OK || log->read_only || found->verdict == WH_LOG_ROT)
		return result;
	result = wh_log_mend(log, err);
	if (result == WHORL_OK && found->verdict == WH_LOG_BLANK)
		result = begin_anew(log, config->fresh, err);
	return result;
}

static enum whorl_result open_log(struct wh_log **out, struct wh_directory *directory,
				  const struct wh_log_config *config, const char *files, struct wh_log_found *found,
				  struct wh_error *err)
{
	struct wh_error unread;
	struct wh_log *log;
	enum whorl_result result;

	*out = NULL;
	*found = (struct wh_log_found){.verdict = WH_LOG_BLANK};
	if (err == NULL)
		err = &unread;
	result = create(&log, directory, config, err);
	if (result == WHORL_OK && files != NULL)
		snprintf(log->files, sizeof(log->files), "%s", files);
	if (result == WHORL_OK)
		result = open_scanned(log, files == NULL ? config : NULL, found, err);
	if (result == WHORL_OK && found->verdict != WH_LOG_ROT)
		found->end = wh_log_end(log);
	if (result == WHORL_OK && files != NULL && found->verdict == WH_LOG_BLANK && log->identity == 0 &&
	    log->segment_count == 0 && found->file[0] == '\0')
		result = wh_error_set(err, WHORL_NOT_FOUND, "there is no log %s", files);
	if (result != WHORL_OK) {
		wh_log_close(log);
		return wh_error_prefix(err, "log of %.63s, shard %" PRIu32, config->owner.subgroup,
				       config->owner.shard);
	}
	log->asking = NULL;
	*out = log;
	return WHORL_OK;
}

enum whorl_result wh_log_open(struct wh_log **out, struct wh_directory *directory, const struct wh_log_config *config,
			      struct wh_log_found *found, struct wh_error *err)
{
	enum whorl_result result = check_config(config, err);

	*out = NULL;
	*found = (struct wh_log_found){.verdict = WH_LOG_BLANK};
	return result == WHORL_OK ? open_log(out, directory, config, NULL, found, err) : result;
}

enum whorl_result wh_log_open_files(struct wh_log **out, struct wh_directory *directory, const char *files,
				    struct wh_log_found *found, struct wh_error *err)
{
	struct wh_log_config config = {.read_only = true, .batch_bytes = 1, .batch_messages = 1};

	return open_log(out, directory, &config, files, found, err);
}

void wh_log_close(struct wh_log *log)
{
	if (log == NULL)
		return;
	wh_log_check_end(log);
	if (log->file != NULL)
		log->file->ops->close(log->file);
	if (log->next != NULL)
		log->next->ops->close(log->next);
	for (uint32_t i = 0; i < log->view_count; i++)
		free(log->views[i].senders);
	free(log->pending_senders);
	free(log->views);
	free(log->segments);
	wh_log_image_free(&log->own);
	free(log);
}

/* ---- what there is ---------------------------------------------------------------------------------------------------- */

const struct wh_log_owner *wh_log_owner(const struct wh_log *log)
{
	return &log->owner;
}

const struct wh_log_view *wh_log_views(const struct wh_log *log, uint32_t *count)
{
	*count = log->view_count;
	return log->views;
}

struct wh_log_point wh_log_end(const struct wh_log *log)
{
	const struct wh_log_view *last = log->view_count > 0 ? &log->views[log->view_count - 1] : NULL;
	const struct wh_log_point *mark = &log->mark.position.point;

	if (log->has_mark && (last == NULL || wh_log_compare(last->number, last->end, mark->number, mark->place) < 0))
		return *mark;
	return last != NULL ? (struct wh_log_point){last->key, last->number, last->end} : (struct wh_log_point){0};
}

void wh_log_statistics(const struct wh_log *log, struct wh_log_statistics *out)
{
	*out = (struct wh_log_statistics){
		.segments = log->segment_count + (log->next != NULL),
		.bytes = log->next_bytes,
		.batches = log->batch,
		.first = log->segment_count > 0 ? log->segments[0].first : 0,
		.checkpoint_bytes = log->checkpoint_bytes,
		.syncs = log->syncs,
		.prepared = log->next != NULL,
		.failed = log->failed,
	};
	for (uint32_t i = 0; i < log->segment_count; i++) {
		out->bytes += log->segments[i].bytes;
		out->used += log->segments[i].used;
	}
}

/* ---- batches ---------------------------------------------------------------------------------------------------------- */

enum whorl_result wh_log_image_reserve(struct wh_log_image *image, uint32_t messages, size_t bytes,
				       struct wh_error *err)
{
	size_t table = (size_t)messages * WH_LOG_ENTRY_BYTES;
	size_t room = wh_log_round(WH_LOG_HEAD_BYTES + table + bytes, WH_LOG_BLOCK_BYTES) + ZEROS_BYTES;
	unsigned char *grown;

	if (image->room >= room)
		return WHORL_OK;
	grown = aligned_alloc(WH_DISK_BLOCK, room);
	if (grown == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a batch of a log");
	free(image->bytes);
	image->bytes = grown;
	image->room = room;
	return WHORL_OK;
}

void wh_log_image_free(struct wh_log_image *image)
{
	free(image->bytes);
	*image = (struct wh_log_image){0};
}

static size_t pad_of(uint64_t bytes, uint64_t to)
{
	return (size_t)(wh_log_round(bytes, to) - bytes);
}

/* Its data, and zeros to a multiple of 16, at `out`; summed while they are in the processor's caches. Returns what is behind them. */
static unsigned char *lay_record(unsigned char *out, const struct wh_log_record *record, uint32_t *sum)
{
	unsigned char *begin = out;

	for (uint32_t k = 0; k < record->part_count; k++) {
		memcpy(out, record->parts[k].iov_base, record->parts[k].iov_len);
		out += record->parts[k].iov_len;
	}
	memset(out, 0, pad_of(record->bytes, WH_LOG_ALIGN));
	out += pad_of(record->bytes, WH_LOG_ALIGN);
	*sum = wh_crc32c(*sum, begin, (size_t)(out - begin));
	return out;
}

/* Head and table, then the data, then zeros to the end of the last block. The table lies there already. */
static void lay_batch(struct wh_log *log, struct wh_log_batch_head *head, size_t table_bytes,
		      const struct wh_log_record *records, uint32_t count)
{
	unsigned char *out = log->image->bytes + WH_LOG_HEAD_BYTES;
	uint32_t sum = wh_crc32c(0, out, table_bytes);

	out += table_bytes;
	for (uint32_t i = 0; i < count; i++)
		out = lay_record(out, &records[i], &sum);
	memset(out, 0, pad_of(WH_LOG_HEAD_BYTES + (uint64_t)head->body_bytes, WH_LOG_BLOCK_BYTES));
	head->body_sum = sum;
	wh_log_batch_encode(log->image->bytes, head);
	log->pending_head = *head;
	log->laid = true;
}

/* A small batch brings zeros along, for those behind it: where the disk has bytes already, of a file that had its room, the file system has
 * nothing to note beside them, and a sync is one write of the disk. A large one would only be larger. */
static size_t add_zeros(const struct wh_log *log, size_t batch_bytes)
{
	const struct wh_log_segment *present = &log->segments[log->segment_count - 1];
	uint64_t end = present->used + batch_bytes, more = present->bytes - end;

	if (batch_bytes > ZEROS_BEHIND_BYTES || end <= log->zeroed_to || log->image->room < batch_bytes + ZEROS_BYTES)
		return 0;
	more = more < ZEROS_BYTES ? more : ZEROS_BYTES;
	memset(log->image->bytes + batch_bytes, 0, (size_t)more);
	return (size_t)more;
}

/* What is laid. */
static enum whorl_result write_batch(struct wh_log *log, struct wh_error *err)
{
	uint64_t bytes = wh_log_batch_bytes(&log->pending_head), at;
	enum whorl_result result = wh_log_make_room(log, bytes, err);
	size_t zeros_behind;

	if (result != WHORL_OK)
		return result;
	at = log->segments[log->segment_count - 1].used;
	zeros_behind = add_zeros(log, bytes);
	result = wh_file_write_blocks(log->file, at, log->image->bytes, bytes + zeros_behind, err);
	if (result != WHORL_OK)
		log->remains = true;
	else if (zeros_behind > 0)
		log->zeroed_to = at + bytes + zeros_behind;
	result = wh_log_judge(log, result, err);
	log->pending = result == WHORL_OK;
	log->laid = result == WHORL_AGAIN;
	return result;
}

static enum whorl_result why_not_put(const struct wh_log *log, struct wh_error *err)
{
	enum whorl_result result = wh_log_why_not_written(log, err);

	if (result == WHORL_OK && log->pending)
		return wh_error_set(err, WHORL_INVALID, "the batch before is not synced");
	return result;
}

enum whorl_result wh_log_begin_view(struct wh_log *log, const struct wh_log_begin *begin, struct wh_error *err)
{
	struct wh_log_batch_head head = {.log = log->identity,
					 .number = log->batch,
					 .chain = log->chain,
					 .kind = WH_LOG_KIND_BEGIN,
					 .key = begin->key,
					 .view = begin->number,
					 .count = begin->sender_count};
	struct wh_log_sender *senders;
	enum whorl_result result = why_not_put(log, err);
	const char *why;

	if (result != WHORL_OK)
		return result;
	why = begin->sender_count > WH_LOG_SENDERS_MAX ? "there are too many senders" : wh_log_why_not_next(log, &head);
	if (why != NULL)
		return wh_error_set(err, WHORL_INVALID, "%s", why);
	senders = calloc(begin->sender_count + 1, sizeof(*senders));
	if (senders == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for the senders of a view");
	if (begin->sender_count > 0)
		memcpy(senders, begin->senders, begin->sender_count * sizeof(*senders));
	result = wh_log_views_reserve(log, err);
	if (result == WHORL_OK)
		result = wh_log_image_reserve(log->image, 0, BEGIN_BYTES, err);
	if (result == WHORL_OK) {
		head.body_bytes = (uint32_t)wh_log_begin_encode(log->image->bytes + WH_LOG_HEAD_BYTES, begin);
		lay_batch(log, &head, head.body_bytes, NULL, 0);
		result = write_batch(log, err);
		log->laid = false;
	}
	if (result != WHORL_OK) {
		free(senders);
		return result;
	}
	log->pending_begin = *begin;
	log->pending_begin.senders = senders;
	log->pending_senders = senders;
	return WHORL_OK;
}

/* The records of a batch, and how many bytes of data they make. NULL, or what is wrong. */
static const char *check_records(const struct wh_log *log, const struct wh_log_batch *batch, uint64_t *data)
{
	const struct wh_log_view *view = log->view_count > 0 ? &log->views[log->view_count - 1] : NULL;
	uint64_t least = batch->first;

	*data = 0;
	if (batch->next < batch->first || batch->frontier > batch->first || batch->count > log->batch_messages)
		return "the batch is out of its bounds";
	for (uint32_t i = 0; i < batch->count; i++) {
		const struct wh_log_record *record = &batch->records[i];
		uint64_t bytes = 0;

		for (uint32_t k = 0; k < record->part_count; k++)
			bytes += record->parts[k].iov_len;
		if (record->place < least || record->place >= batch->next || bytes != record->bytes || view == NULL ||
		    record->sender >= view->sender_count)
			return "a message has a wrong place, sender or length";
		least = record->place + 1;
		*data += wh_log_round(bytes, WH_LOG_ALIGN);
	}
	return *data <= log->batch_bytes ? NULL : "the batch is too large";
}

enum whorl_result wh_log_lay(struct wh_log *log, const struct wh_log_batch *batch, struct wh_error *err)
{
	const struct wh_log_view *view = log->view_count > 0 ? &log->views[log->view_count - 1] : NULL;
	struct wh_log_batch_head head = {.log = log->identity,
					 .number = log->batch,
					 .chain = log->chain,
					 .kind = WH_LOG_KIND_MESSAGES,
					 .key = view != NULL ? view->key : 0,
					 .view = view != NULL ? view->number : 0,
					 .first = batch->first,
					 .next = batch->next,
					 .frontier = batch->frontier,
					 .count = batch->count};
	size_t table = (size_t)batch->count * WH_LOG_ENTRY_BYTES;
	enum whorl_result result = why_not_put(log, err);
	const char *why;
	uint64_t data;

	if (result != WHORL_OK)
		return result;
	why = check_records(log, batch, &data);
	if (why == NULL)
		why = wh_log_why_not_next(log, &head);
	if (why != NULL)
		return wh_error_set(err, WHORL_INVALID, "%s", why);
	result = wh_log_image_reserve(log->image, batch->count, data, err);
	if (result != WHORL_OK)
		return result;
	head.body_bytes = (uint32_t)(table + data);
	for (uint32_t i = 0; i < batch->count; i++)
		wh_log_entry_encode(log->image->bytes + WH_LOG_HEAD_BYTES + (size_t)i * WH_LOG_ENTRY_BYTES,
				    &batch->records[i]);
	lay_batch(log, &head, table, batch->records, batch->count);
	return WHORL_OK;
}

enum whorl_result wh_log_write(struct wh_log *log, struct wh_error *err)
{
	enum whorl_result result = why_not_put(log, err);

	if (result == WHORL_OK && !log->laid)
		return wh_error_set(err, WHORL_INVALID, "no batch is laid");
	return result == WHORL_OK ? write_batch(log, err) : result;
}

enum whorl_result wh_log_append(struct wh_log *log, const struct wh_log_batch *batch, struct wh_error *err)
{
	enum whorl_result result = wh_log_lay(log, batch, err);

	if (result != WHORL_OK)
		return result;
	result = wh_log_write(log, err);
	log->laid = false;
	return result;
}

enum whorl_result wh_log_sync(struct wh_log *log, struct wh_error *err)
{
	enum whorl_result result = wh_log_why_not_written(log, err);

	if (result != WHORL_OK || !log->pending)
		return result;
	result = log->file->ops->sync(log->file, err);
	if (result != WHORL_OK) {
		wh_log_fail(log, err); /* whatever it was */
		return WHORL_DISK;
	}
	log->pending = false;
	log->remains = false; /* this batch was written over them, or is not where they are */
	log->syncs++;
	log->segments[log->segment_count - 1].used += wh_log_batch_bytes(&log->pending_head);
	wh_log_take_batch(log, &log->pending_head, &log->pending_begin, log->pending_senders);
	log->pending_senders = NULL;
	return WHORL_OK;
}

/* ---- caps ------------------------------------------------------------------------------------------------------------- */

bool wh_log_is_capped(const struct wh_log *log)
{
	return log->verdict == WH_LOG_ROT || log->capped || log->batch == 0 || log->view_count == 0 ||
	       !log->views[log->view_count - 1].begun;
}

enum whorl_result wh_log_cap(struct wh_log *log, uint64_t frontier, struct wh_error *err)
{
	const struct wh_log_view *view;
	struct wh_log_batch cap;
	enum whorl_result result = why_not_put(log, err);

	if (result != WHORL_OK || wh_log_is_capped(log))
		return result;
	view = &log->views[log->view_count - 1];
	if (frontier < view->frontier)
		frontier = view->frontier;
	cap = (struct wh_log_batch){
		.first = view->end, .next = view->end, .frontier = frontier < view->end ? frontier : view->end};
	result = wh_log_append(log, &cap, err);
	return result == WHORL_OK ? wh_log_sync(log, err) : result;
}
