/* checkpoint.c - the program's state beside the log. See log.h.
 *
 * A file: a header with where the state stands and what of the log is needed behind it, then pieces with a sum each, then an empty one which
 * says that this was all. It is written as NUMBER.new, synced, and called NUMBER.checkpoint: there is never half a one of that name.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/crc32c.h"
#include "persistence/log_int.h"

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

/* The last segment of which nothing before its first batch is behind the position: what is needed begins there. */
static const struct wh_log_segment *needed_from(const struct wh_log *log, const struct wh_log_point *point)
{
	uint32_t i = log->segment_count - 1;

	while (i > 0 && wh_log_compare(log->segments[i].view, log->segments[i].place, point->number, point->place) > 0)
		i--;
	return &log->segments[i];
}

static void make_mark(struct wh_log_mark *mark, const struct wh_log *log, const struct wh_log_position *position)
{
	const struct wh_log_segment *segment = needed_from(log, &position->point);
	const struct wh_log_view *view = wh_log_view_of(log, position->point.key, position->point.number);

	mark->position = *position;
	mark->segment = segment->number;
	mark->batch = segment->first;
	mark->chain = segment->chain;
	mark->written = log->batch;
	mark->begun = view != NULL && view->begun && segment->begun && segment->view == view->number;
	if (!mark->begun)
		return; /* its beginning lies behind that */
	mark->end = segment->place;
	mark->sender_count = view->sender_count;
	memcpy(mark->senders, view->senders, view->sender_count * sizeof(*mark->senders));
}

static enum whorl_result write_header(struct wh_checkpoint *checkpoint, struct wh_error *err)
{
	struct wh_log_head head = {
		.owner = checkpoint->log->owner, .log = checkpoint->identity, .number = checkpoint->number};
	unsigned char *header = malloc(WH_LOG_CHECKPOINT_HEAD_MAX);
	struct iovec part;
	enum whorl_result result;

	if (header == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a checkpoint");
	checkpoint->at = wh_log_mark_encode(header, &head, &checkpoint->mark);
	part = (struct iovec){header, (size_t)checkpoint->at};
	result = checkpoint->file->ops->truncate(checkpoint->file, 0, err);
	if (result == WHORL_OK)
		result = checkpoint->file->ops->write(checkpoint->file, 0, &part, 1, err);
	free(header);
	return result;
}

static enum whorl_result why_not(const struct wh_log *log, const struct wh_log_position *position, struct wh_error *err)
{
	const struct wh_log_point *before = &log->mark.position.point, *point = &position->point;

	if (log->failed)
		return wh_error_set(err, WHORL_DISK, "the log has failed: %s", log->failure);
	if (log->read_only || log->verdict == WH_LOG_ROT || log->checkpoint_open)
		return wh_error_set(err, WHORL_INVALID, "no checkpoint can be written now");
	if (position->count > WH_LOG_SENDERS_MAX ||
	    (log->has_mark && wh_log_compare(point->number, point->place, before->number, before->place) < 0))
		return wh_error_set(err, WHORL_INVALID, "the state is before the last checkpoint");
	return WHORL_OK;
}

enum whorl_result wh_checkpoint_begin(struct wh_checkpoint **out, struct wh_log *log,
				      const struct wh_log_position *position, struct wh_error *err)
{
	char name[WH_FILE_NAME_BYTES];
	struct wh_checkpoint *checkpoint;
	enum whorl_result result = why_not(log, position, err);

	*out = NULL;
	if (result != WHORL_OK)
		return result;
	checkpoint = calloc(1, sizeof(*checkpoint));
	if (checkpoint != NULL)
		checkpoint->piece = malloc(WH_LOG_PIECE_BYTES);
	if (checkpoint == NULL || checkpoint->piece == NULL) {
		free(checkpoint);
		return wh_error_set(err, WHORL_MEMORY, "no memory for a checkpoint");
	}
	checkpoint->log = log;
	checkpoint->identity = log->identity;
	checkpoint->number = log->checkpoint + 1;
	checkpoint->writes = true;
	make_mark(&checkpoint->mark, log, position);
	wh_log_file_name(name, log->files, WH_LOG_FILE_NEW, checkpoint->number);
	result = log->directory->ops->open(log->directory, name, true, &checkpoint->file, err);
	log->checkpoint_open = true;
	if (result == WHORL_OK)
		result = write_header(checkpoint, err);
	if (result != WHORL_OK) {
		wh_checkpoint_drop(checkpoint);
		return result;
	}
	*out = checkpoint;
	return WHORL_OK;
}

/* What the piece has so far; of nothing, the end. */
static enum whorl_result write_piece(struct wh_checkpoint *checkpoint, struct wh_error *err)
{
	struct wh_log_piece piece = {.bytes = (uint32_t)checkpoint->fill,
				     .at = checkpoint->bytes,
				     .data_sum = wh_crc32c(0, checkpoint->piece, checkpoint->fill)};
	unsigned char head[WH_LOG_PIECE_HEAD_BYTES];
	struct iovec parts[2] = {{head, sizeof(head)}, {checkpoint->piece, checkpoint->fill}};
	enum whorl_result result;

	wh_log_piece_encode(head, &piece, checkpoint->identity);
	result = checkpoint->file->ops->write(checkpoint->file, checkpoint->at, parts, 2, err);
	checkpoint->failed = result != WHORL_OK;
	checkpoint->at += sizeof(head) + checkpoint->fill;
	checkpoint->bytes += checkpoint->fill;
	checkpoint->fill = 0;
	return result;
}

static enum whorl_result why_not_more(const struct wh_checkpoint *checkpoint, struct wh_error *err)
{
	if (checkpoint->failed)
		return wh_error_set(err, WHORL_DISK, "the checkpoint has failed");
	if (!checkpoint->writes || checkpoint->synced)
		return wh_error_set(err, WHORL_INVALID, "the checkpoint is at its end");
	return WHORL_OK;
}

enum whorl_result wh_checkpoint_write(struct wh_checkpoint *checkpoint, const void *data, size_t bytes,
				      struct wh_error *err)
{
	const unsigned char *from = data;
	enum whorl_result result = why_not_more(checkpoint, err);

	while (bytes > 0 && result == WHORL_OK) {
		size_t some = WH_LOG_PIECE_BYTES - checkpoint->fill;

		if (some > bytes)
			some = bytes;
		memcpy(checkpoint->piece + checkpoint->fill, from, some);
		checkpoint->fill += some;
		from += some;
		bytes -= some;
		if (checkpoint->fill == WH_LOG_PIECE_BYTES)
			result = write_piece(checkpoint, err);
	}
	return result;
}

enum whorl_result wh_checkpoint_sync(struct wh_checkpoint *checkpoint, struct wh_error *err)
{
	enum whorl_result result = why_not_more(checkpoint, err);

	if (result == WHORL_OK && checkpoint->fill > 0)
		result = write_piece(checkpoint, err);
	if (result == WHORL_OK)
		result = write_piece(checkpoint, err);
	if (result == WHORL_OK)
		result = checkpoint->file->ops->sync(checkpoint->file, err);
	checkpoint->synced = result == WHORL_OK;
	checkpoint->failed = result != WHORL_OK;
	return result;
}

static void free_checkpoint(struct wh_checkpoint *checkpoint)
{
	if (checkpoint->file != NULL)
		checkpoint->file->ops->close(checkpoint->file);
	wh_log_reader_free(&checkpoint->reader);
	if (checkpoint->writes)
		checkpoint->log->checkpoint_open = false;
	free(checkpoint->piece);
	free(checkpoint);
}

void wh_checkpoint_drop(struct wh_checkpoint *checkpoint)
{
	char name[WH_FILE_NAME_BYTES];
	struct wh_log *log;

	if (checkpoint == NULL)
		return;
	log = checkpoint->log;
	if (checkpoint->writes && checkpoint->file != NULL && !log->failed) {
		wh_log_file_name(name, log->files, WH_LOG_FILE_NEW, checkpoint->number);
		(void)log->directory->ops->remove(log->directory, name, NULL); /* else when it is opened again */
	}
	free_checkpoint(checkpoint);
}

/* What lies wholly before the checkpoint, which is on the disk, and the one before. */
static enum whorl_result remove_before(struct wh_log *log, uint64_t checkpoint, bool had, struct wh_error *err)
{
	struct wh_directory *directory = log->directory;
	char name[WH_FILE_NAME_BYTES];
	enum whorl_result result = WHORL_OK;
	uint32_t gone = 0;

	if (had) {
		wh_log_file_name(name, log->files, WH_LOG_FILE_CHECKPOINT, checkpoint);
		result = directory->ops->remove(directory, name, err);
	}
	while (result == WHORL_OK && log->segments[gone].number < log->mark.segment) {
		wh_log_file_name(name, log->files, WH_LOG_FILE_SEGMENT, log->segments[gone].number);
		result = directory->ops->remove(directory, name, err);
		gone++;
	}
	log->segment_count -= gone;
	memmove(log->segments, log->segments + gone, log->segment_count * sizeof(*log->segments));
	return result;
}

static enum whorl_result finish(struct wh_checkpoint *checkpoint, struct wh_error *err)
{
	struct wh_log *log = checkpoint->log;
	struct wh_directory *directory = log->directory;
	char from[WH_FILE_NAME_BYTES], to[WH_FILE_NAME_BYTES];
	uint64_t before = log->checkpoint;
	bool had = log->has_mark;
	enum whorl_result result;

	wh_log_file_name(from, log->files, WH_LOG_FILE_NEW, checkpoint->number);
	wh_log_file_name(to, log->files, WH_LOG_FILE_CHECKPOINT, checkpoint->number);
	result = directory->ops->rename(directory, from, to, err);
	if (result == WHORL_OK)
		result = directory->ops->sync(directory, err);
	if (result != WHORL_OK)
		return result;
	log->checkpoint = checkpoint->number;
	log->checkpoint_bytes = checkpoint->bytes;
	wh_log_take_mark(log, &checkpoint->mark);
	return remove_before(log, before, had, err);
}

enum whorl_result wh_checkpoint_finish(struct wh_checkpoint *checkpoint, struct wh_error *err)
{
	struct wh_log *log = checkpoint->log;
	const struct wh_log_point *point = &checkpoint->mark.position.point;
	const struct wh_log_view *view = wh_log_view_of(log, point->key, point->number);
	struct wh_error unread;
	enum whorl_result result;

	if (err == NULL)
		err = &unread;
	if (!checkpoint->synced || log->cursors > 0 || view == NULL || !view->begun)
		return wh_error_set(err, WHORL_INVALID, "the checkpoint cannot count yet");
	if (log->failed) {
		result = wh_error_set(err, WHORL_DISK, "the log has failed: %s", log->failure);
	} else {
		result = finish(checkpoint, err);
		if (result != WHORL_OK) {
			wh_log_fail(log, err);
			result = WHORL_DISK;
		}
	}
	free_checkpoint(checkpoint);
	return result;
}

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

/* The header of the file that the reader has. *why: what is wrong with it. */
static enum whorl_result read_header(struct wh_log_reader *reader, struct wh_log_head *head, struct wh_log_mark *mark,
				     const char **why, struct wh_error *err)
{
	const unsigned char *header;
	enum wh_log_read read = WH_LOG_DAMAGED;
	uint32_t format = 0;
	enum whorl_result result = wh_log_reader_want(reader, 0, WH_LOG_BLOCK_BYTES, &header, err);

	*why = "its header";
	if (result == WHORL_OK && header != NULL)
		read = wh_log_head_decode(head, WH_LOG_CHECKPOINT_MAGIC, header, &format);
	if (read == WH_LOG_LATER)
		return wh_error_set(err, WHORL_CONFIG, "a checkpoint has format %" PRIu32 ", and this whorl knows %d",
				    format, WH_LOG_FORMAT);
	if (result != WHORL_OK || read == WH_LOG_DAMAGED || head->bytes > WH_LOG_CHECKPOINT_HEAD_MAX)
		return result;
	result = wh_log_reader_want(reader, 0, (size_t)head->bytes, &header, err);
	if (result == WHORL_OK && header != NULL && wh_log_mark_decode(mark, header, (size_t)head->bytes))
		*why = NULL;
	return result;
}

/* The piece at `at`, which follows on so many bytes; *data NULL: it is damaged. */
static enum whorl_result read_piece(struct wh_log_reader *reader, uint64_t at, uint64_t before, uint64_t identity,
				    struct wh_log_piece *piece, const unsigned char **data, struct wh_error *err)
{
	const unsigned char *head;
	enum whorl_result result = wh_log_reader_want(reader, at, WH_LOG_PIECE_HEAD_BYTES, &head, err);

	*data = NULL;
	if (result != WHORL_OK || head == NULL || !wh_log_piece_decode(piece, head, identity) || piece->at != before)
		return result;
	result = wh_log_reader_want(reader, at, WH_LOG_PIECE_HEAD_BYTES + (size_t)piece->bytes, &head, err);
	if (result == WHORL_OK && head != NULL &&
	    wh_crc32c(0, head + WH_LOG_PIECE_HEAD_BYTES, piece->bytes) == piece->data_sum)
		*data = head + WH_LOG_PIECE_HEAD_BYTES;
	return result;
}

static enum whorl_result check_pieces(struct wh_log_reader *reader, const struct wh_log_head *head, uint64_t *bytes,
				      const char **why, struct wh_error *err)
{
	struct wh_log_piece piece = {.bytes = 1};
	const unsigned char *data;
	uint64_t at = head->bytes;

	for (*bytes = 0; piece.bytes > 0; *bytes += piece.bytes) {
		enum whorl_result result = read_piece(reader, at, *bytes, head->log, &piece, &data, err);

		if (result == WHORL_OK && data == NULL)
			*why = "a piece of its state";
		if (result != WHORL_OK || data == NULL)
			return result;
		at += WH_LOG_PIECE_HEAD_BYTES + piece.bytes;
	}
	if (at != reader->bytes)
		*why = "its end";
	return WHORL_OK;
}

enum whorl_result wh_checkpoint_check(struct wh_log *log, uint64_t number, struct wh_log_head *head,
				      struct wh_log_mark *mark, uint64_t *bytes, const char **why, struct wh_error *err)
{
	struct wh_log_reader reader = {.asking = log->asking};
	char name[WH_FILE_NAME_BYTES];
	enum whorl_result result;

	wh_log_file_name(name, log->files, WH_LOG_FILE_CHECKPOINT, number);
	result = wh_log_reader_open(&reader, log->directory, name, err);
	if (result == WHORL_OK)
		result = read_header(&reader, head, mark, why, err);
	if (result == WHORL_OK && *why == NULL)
		result = check_pieces(&reader, head, bytes, why, err);
	wh_log_reader_free(&reader);
	return result;
}

bool wh_log_position(const struct wh_log *log, struct wh_log_position *out)
{
	if (log->has_mark)
		*out = log->mark.position;
	return log->has_mark;
}

enum whorl_result wh_checkpoint_open_file(struct wh_checkpoint **out, struct wh_log *log, struct wh_error *err)
{
	char name[WH_FILE_NAME_BYTES];
	struct wh_checkpoint *checkpoint;
	enum whorl_result result;

	*out = NULL;
	if (!log->has_mark || log->verdict == WH_LOG_ROT)
		return wh_error_set(err, WHORL_NOT_FOUND, "there is no checkpoint");
	checkpoint = calloc(1, sizeof(*checkpoint));
	if (checkpoint == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a checkpoint");
	checkpoint->log = log;
	checkpoint->identity = log->identity;
	wh_log_file_name(name, log->files, WH_LOG_FILE_CHECKPOINT, log->checkpoint);
	checkpoint->number = log->checkpoint;
	result = wh_log_reader_open(&checkpoint->reader, log->directory, name, err);
	if (result != WHORL_OK) {
		wh_checkpoint_drop(checkpoint);
		return result;
	}
	*out = checkpoint;
	return WHORL_OK;
}

enum whorl_result wh_checkpoint_read_header(struct wh_checkpoint *checkpoint, struct wh_error *err)
{
	char name[WH_FILE_NAME_BYTES];
	struct wh_log_head head;
	const char *why;
	enum whorl_result result = read_header(&checkpoint->reader, &head, &checkpoint->mark, &why, err);

	wh_log_file_name(name, checkpoint->log->files, WH_LOG_FILE_CHECKPOINT, checkpoint->number);
	if (result == WHORL_OK && why != NULL)
		result = wh_error_set(err, WHORL_DISK, "%s is damaged", name);
	if (result == WHORL_OK)
		checkpoint->at = head.bytes;
	return result;
}

enum whorl_result wh_checkpoint_open(struct wh_checkpoint **out, struct wh_log *log, struct wh_error *err)
{
	enum whorl_result result = wh_checkpoint_open_file(out, log, err);

	if (result == WHORL_OK)
		result = wh_checkpoint_read_header(*out, err);
	if (result != WHORL_OK) {
		wh_checkpoint_drop(*out);
		*out = NULL;
	}
	return result;
}

/* `fill` bytes of the piece before `at` are still to be given. */
enum whorl_result wh_checkpoint_read(struct wh_checkpoint *checkpoint, void *out, size_t bytes, size_t *got,
				     struct wh_error *err)
{
	struct wh_log_piece piece;
	const unsigned char *data;
	enum whorl_result result = WHORL_OK;

	*got = 0;
	if (checkpoint->writes)
		return wh_error_set(err, WHORL_INVALID, "this checkpoint is being written");
	while (*got < bytes && !checkpoint->ended && result == WHORL_OK) {
		size_t some = checkpoint->fill < bytes - *got ? checkpoint->fill : bytes - *got;

		if (some > 0) {
			result = wh_log_reader_want(&checkpoint->reader, checkpoint->at - checkpoint->fill, some, &data,
						    err);
			if (result == WHORL_OK && data == NULL)
				result = wh_error_set(err, WHORL_DISK, "the checkpoint has become shorter");
			if (result != WHORL_OK)
				return result;
			memcpy((unsigned char *)out + *got, data, some);
			checkpoint->fill -= some;
			*got += some;
			continue;
		}
		result = read_piece(&checkpoint->reader, checkpoint->at, checkpoint->bytes, checkpoint->identity,
				    &piece, &data, err);
		if (result == WHORL_OK && data == NULL)
			result = wh_error_set(err, WHORL_DISK, "the checkpoint is damaged behind byte %" PRIu64,
					      checkpoint->bytes);
		if (result != WHORL_OK)
			return result;
		checkpoint->ended = piece.bytes == 0;
		checkpoint->at += WH_LOG_PIECE_HEAD_BYTES + piece.bytes;
		checkpoint->bytes += piece.bytes;
		checkpoint->fill = piece.bytes;
	}
	return result;
}
