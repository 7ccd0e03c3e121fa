/* log_int.h - the inside of a log: what has been read of it, or written, and is on the disk. */
#ifndef WH_PERSISTENCE_LOG_INT_H
#define WH_PERSISTENCE_LOG_INT_H

#include "persistence/format_int.h"

#define WH_LOG_READ_BYTES 1048576 /* at once */

static inline void wh_log_ask(const struct wh_log_asking *asking)
{
	if (asking != NULL)
		asking->asks(asking->ctx);
}

/* Reads a file in large pieces, each byte once if it is read forwards. */
struct wh_log_reader {
	struct wh_file *file;
	const struct wh_log_asking *asking;
	uint64_t bytes; /* of the file */
	unsigned char *buffer;
	size_t room;
	uint64_t start; /* of what the buffer has, in the file */
	size_t have;
	uint64_t limit; /* nothing from there on is read before it is wanted; 0: as much as there is room for */
};

struct wh_log_segment {
	uint64_t number;
	uint64_t bytes;       /* of the file */
	uint64_t used;        /* up to there lie batches, and the header before them */
	uint64_t first;       /* number of its first batch, or of the one that will be */
	uint32_t chain;       /* sum of the batch before that */
	uint64_t view, place; /* where the log ended then: view number, next place */
	bool begun;           /* and that view had begun before */
};

struct wh_log {
	struct wh_directory *directory;
	struct wh_log_owner owner;
	char files[WH_LOG_FILES_BYTES];
	uint64_t identity; /* 0: not known yet */
	uint64_t segment_bytes;
	uint32_t batch_bytes, batch_messages;
	bool read_only;
	enum wh_log_verdict verdict;
	bool failed;
	char failure[256];
	const struct wh_log_asking *asking; /* NULL once it is open */

	struct wh_log_segment *segments; /* the last is the present one */
	uint32_t segment_count, segment_room;
	struct wh_file *file; /* of the present one; NULL: read only, or rot */
	struct wh_file *next; /* of the one that is prepared; NULL: none */
	uint64_t next_bytes;  /* of it */
	uint64_t zeroed_to;   /* of the present one: behind what is used, the disk has zeros up to there */
	bool leaves;          /* the present one is damaged: the next batch goes to another */
	bool remains;         /* behind the end lies what was written in vain: it may look like a batch */
	uint64_t last_at,
		wipe_to; /* when it was opened: where the last batch begins in its segment, and where remains end */

	/* On the disk. */
	uint64_t batch; /* number of the next one */
	uint32_t chain;
	bool capped; /* the last batch is a cap */
	struct wh_log_view *views;
	uint32_t view_count, view_room;
	bool has_mark;
	struct wh_log_mark mark;
	uint64_t checkpoint; /* its number; of the next if there is none */
	uint64_t checkpoint_bytes;
	bool checkpoint_open; /* one is being written */

	/* Laid in the image, and not written; then written, and not synced. */
	bool laid, pending;
	struct wh_log_batch_head pending_head;
	struct wh_log_begin pending_begin;
	struct wh_log_sender *pending_senders; /* becomes the view's */
	uint64_t syncs;

	struct wh_log_image own, *image; /* the second is the first, or the caller's */
	uint32_t cursors;
	struct wh_log_pass *pass; /* of wh_log_check; NULL: none is on its way */
};

struct wh_checkpoint {
	struct wh_log *log;
	struct wh_directory *directory;
	uint64_t identity; /* of the log */
	uint64_t number;
	struct wh_file *file;
	struct wh_log_mark mark;
	bool writes, synced, failed, ended;
	uint64_t at;          /* of the next piece, in the file */
	uint64_t bytes;       /* of the state before that */
	unsigned char *piece; /* data of the one that is being filled */
	size_t fill;          /* bytes in it, or that are left of the one that is being read */
	struct wh_log_reader reader;
};

/* ---- reader.c */

/* Has `file`, and closes it. */
enum whorl_result wh_log_reader_open(struct wh_log_reader *reader, struct wh_directory *directory, const char *name,
				     struct wh_error *err);
/* Closes the file; the buffer stays for the next. */
void wh_log_reader_close(struct wh_log_reader *reader);
void wh_log_reader_free(struct wh_log_reader *reader);
/* *out is where `bytes` from `at` on lie; NULL if the file ends before. It is aligned as in the file, if all that is wanted begins with blocks. */
enum whorl_result wh_log_reader_want(struct wh_log_reader *reader, uint64_t at, size_t bytes, const unsigned char **out,
				     struct wh_error *err);
/* A batch of that log at that place: *body is NULL if there is none, or it is damaged; then *headed says whether its head can be read. */
enum whorl_result wh_log_reader_batch(struct wh_log_reader *reader, uint64_t at, uint64_t identity,
				      struct wh_log_batch_head *head, bool *headed, const unsigned char **body,
				      struct wh_error *err);

/* ---- check.c */

void wh_log_check_end(struct wh_log *log);

/* ---- order.c */

/* May a batch with this head be the next one? NULL, or why not. `cut` is a BEGIN's. */
const char *wh_log_why_not_next(const struct wh_log *log, const struct wh_log_batch_head *head);
/* Room for one more view: WHORL_MEMORY. */
enum whorl_result wh_log_views_reserve(struct wh_log *log, struct wh_error *err);
/* It is the next one, and on the disk. Of a BEGIN the senders become the log's; there is room for it. */
void wh_log_take_batch(struct wh_log *log, const struct wh_log_batch_head *head, const struct wh_log_begin *begin,
		       struct wh_log_sender *senders);
/* The mark counts: what lies before it is forgotten. There is room for one more view. */
void wh_log_take_mark(struct wh_log *log, const struct wh_log_mark *mark);
/* The index of the first view of that number or a higher one. */
uint32_t wh_log_view_from(const struct wh_log *log, uint64_t number);
const struct wh_log_view *wh_log_view_of(const struct wh_log *log, uint64_t key, uint64_t number);
/* A segment that begins where the log ends. */
struct wh_log_segment wh_log_segment_here(const struct wh_log *log, uint64_t number, uint64_t bytes);
/* Before: < 0. Views by their numbers. */
int wh_log_compare(uint64_t view_a, uint64_t place_a, uint64_t view_b, uint64_t place_b);

/* ---- recover.c */

/* Reads all files; without a `config` of whatever owner they say. Sets what is found; mends nothing. */
enum whorl_result wh_log_scan(struct wh_log *log, const struct wh_log_config *config, struct wh_log_found *found,
			      struct wh_error *err);
/* Cuts off what is torn, writes the end again, and removes what is of no use. Not of a log with rot. */
enum whorl_result wh_log_mend(struct wh_log *log, struct wh_error *err);

/* ---- segment.c */

void wh_log_fail(struct wh_log *log, const struct wh_error *err);
/* What the disk said of what was written: a failure is for good. */
enum whorl_result wh_log_judge(struct wh_log *log, enum whorl_result result, const struct wh_error *err);
enum whorl_result wh_log_why_not_written(const struct wh_log *log, struct wh_error *err);
enum whorl_result wh_log_segments_reserve(struct wh_log *log, struct wh_error *err);
/* Writes the header of a segment. */
enum whorl_result wh_log_segment_head(struct wh_log *log, struct wh_file *file, uint64_t number, uint64_t bytes,
				      struct wh_error *err);
/* Makes the file of segment `number`, with its header, on the disk with its name. WHORL_AGAIN: no room, nothing is left of it. */
enum whorl_result wh_log_segment_make(struct wh_log *log, uint64_t number, struct wh_file **out, uint64_t *bytes,
				      struct wh_error *err);

/* The present segment has room for so many bytes more, or it is another one now. */
enum whorl_result wh_log_make_room(struct wh_log *log, uint64_t bytes, struct wh_error *err);
/* The present segment is damaged: another becomes the present one, now or with the next batch, so that a checkpoint can take its place; or, if it is
 * empty, what it begins with is written again. */
void wh_log_leave_segment(struct wh_log *log);

/* ---- checkpoint.c */

/* Reads and checks all of checkpoint `number`. *whole false: damaged, `why` says how. WHORL_CONFIG: of a later format. */
enum whorl_result wh_checkpoint_check(struct wh_log *log, uint64_t number, struct wh_log_head *head,
				      struct wh_log_mark *mark, uint64_t *bytes, const char **why,
				      struct wh_error *err);
/* wh_checkpoint_open in two: nothing of the file has been read when it is open. A header that is damaged is WHORL_DISK; what is open stays so. */
enum whorl_result wh_checkpoint_open_file(struct wh_checkpoint **out, struct wh_log *log, struct wh_error *err);
enum whorl_result wh_checkpoint_read_header(struct wh_checkpoint *checkpoint, struct wh_error *err);

#endif
