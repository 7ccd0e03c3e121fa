/* log.h - the log of one shard of a durable subgroup, at one node: every message that it has received, in order, on disk (docs/log.md,
 * docs/decisions/0058).
 *
 *     wh_log_open        reads and checks all of it, cuts a torn end off, writes what lies at the very end again; or says that there is rot
 *     wh_log_begin_view  a view begins: its senders, and how much of the view before counts
 *     wh_log_append      messages of that view, up to a place: a batch is written
 *     wh_log_sync        it is on the disk: only now it counts, and only now the next can be written
 *     wh_log_cap         an empty batch behind the last one, when nothing more comes for now
 *     wh_log_prepare     room for what comes, ahead of time
 *     wh_log_cursor_*    all of it again, from the checkpoint on
 *     wh_checkpoint_*    the program's state takes the place of what lies before it
 *
 * A batch is written when the one before is on the disk, and not before. So what is damaged in front of a batch that can be read, or below
 * what is known to be on the disk, was whole once: that is *rot*, the log does not count any more, and nothing of it is changed. Only the last
 * batch can be *torn*: written, and not on the disk when the power went. Nobody has counted on it, and it is cut off. So that the last batch
 * that counts is not the last one for long a *cap* is put behind it, which says nothing: what is damaged below a cap is rot, and a cap that
 * is damaged is no loss.
 *
 * Places are sequence numbers of a view's order, from 0 in each view. Those without a message are nulls; they are not stored.
 *
 * Results, beside those that are said at a function: WHORL_DISK: the disk has failed. The log has failed with it for good: it never writes
 * and never syncs again, because a sync that failed may succeed the next time without the bytes; all calls but reading and closing say
 * WHORL_DISK from then on. WHORL_MEMORY: nothing was changed.
 *
 * Threads: one at a time for each log and all that is made of it, if nothing else is said. Each function may block for as long as the disk
 * takes. Memory: what writes a batch and wh_log_sync allocate nothing, if there is room in the image, and wh_log_prepare was
 * called in time.
 */
#ifndef WH_PERSISTENCE_LOG_H
#define WH_PERSISTENCE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/disk.h"
#include "base/error.h"

#define WH_LOG_FORMAT 1
#define WH_LOG_NAME_BYTES 64              /* of a group's, a subgroup's name, with the NUL */
#define WH_LOG_BLOCK_BYTES 4096           /* batches begin at multiples of it */
#define WH_LOG_BATCH_BYTES_MAX (1u << 30) /* of a batch */
#define WH_LOG_SENDERS_MAX 256
#define WH_LOG_FILES_BYTES 80 /* what the names of a log's files begin with, with the NUL */

struct iovec;
struct wh_log;
struct wh_log_cursor;
struct wh_checkpoint;

/* Of which shard, at which node, a log is. */
struct wh_log_owner {
	uint64_t group;                     /* identity */
	char group_name[WH_LOG_NAME_BYTES]; /* for people */
	char subgroup[WH_LOG_NAME_BYTES];   /* its name */
	uint32_t shard;
	uint32_t node; /* id */
};

/* A place in the order of the group: everything of that view below it. */
struct wh_log_point {
	uint64_t key;    /* of the view's image */
	uint64_t number; /* of the view */
	uint64_t place;
};

/* A batch, as it is to lie on the disk. Zeroed: without memory. Several logs may use one, as long as each batch that is laid is written, or
 * given up, before the next is laid. */
struct wh_log_image {
	unsigned char *bytes; /* at a multiple of a block */
	size_t room;
};

/* Told each time that the disk is asked for something, in a call that asks it again and again: how long such a call takes depends on how much lies
 * there, and says nothing of the disk. NULL, in the place of one: nothing is told. */
struct wh_log_asking {
	void (*asks)(void *ctx);
	void *ctx;
};

struct wh_log_config {
	struct wh_log_owner owner;
	uint64_t fresh;         /* the identity of a log that is made anew: a random number, not 0 */
	uint64_t segment_bytes; /* of a file; it is made larger if two batches would not fit */
	uint32_t batch_bytes; /* data of a batch at most, each message counted as a multiple of 16; the caller splits */
	uint32_t batch_messages; /* messages of a batch at most */
	/* Known to be on this disk, from elsewhere: what is damaged below it is rot. NULL: nothing is known. */
	const struct wh_log_point *known;
	bool read_only;                     /* nothing is written, mended or removed; nothing can be appended */
	struct wh_log_image *image;         /* for its batches, until it is closed. NULL: it has one of its own */
	const struct wh_log_asking *asking; /* while it is opened */
};

struct wh_log_sender {
	uint32_t id; /* node */
	uint64_t incarnation;
};

/* A view, as it begins. */
struct wh_log_begin {
	uint64_t key;
	uint64_t number; /* grows */
	/* Of the view before, number - 1: what the log has of it at this place or beyond is void. Each view that was decided has to begin
	 * here, also one that nobody was in: where a number is missing, or less than that lies here, there is a gap. */
	uint64_t cut;
	/* Of a subgroup that was dormant: the number of the view that it follows, to which `cut` belongs. 0: the one before by number. */
	uint64_t follows;
	uint32_t sender_count;
	const struct wh_log_sender *senders; /* by sender rank */
};

/* A view of which something lies in the log. */
struct wh_log_view {
	uint64_t key, number;
	uint64_t end;      /* what lies here ends before this place, the cut counted */
	uint64_t void_end; /* and with what is void here: >= end */
	uint64_t frontier; /* below it all members have it on disk, as its batches say */
	bool gap; /* between the view before, or what lies here of it, and this one there was more, which is not here */
	bool begun; /* its beginning is known, here or from the checkpoint. False: what is left of it lies before the checkpoint */
	uint32_t sender_count;
	struct wh_log_sender *senders; /* the log's */
};

enum wh_log_verdict {
	WH_LOG_BLANK, /* there was nothing */
	WH_LOG_WHOLE,
	WH_LOG_TORN, /* whole, and behind it were remains of what was never on the disk; they are cut off if it is not read only */
	WH_LOG_ROT, /* something is damaged or missing that was there once */
};

struct wh_log_found {
	enum wh_log_verdict verdict;
	char file[WH_FILE_NAME_BYTES]; /* torn, rot: where, "" if a file is missing */
	uint64_t offset;               /* in it */
	char why[256];                 /* for people */
	/* Where it ends: the last view and the next place of it. {0, 0, 0} if no view has begun. Not of a log with rot. */
	struct wh_log_point end;
};

/* Opens, or makes, the log in `directory`, which is open, and locked if it is written to, until the log is closed. *found is always set if
 * the result is WHORL_OK. With rot the log can be looked at, and no more; see wh_log_discard. A log that is blank and not read only is made,
 * and its first file is on the disk.
 * WHORL_CONFIG: it is of another group, node, subgroup or shard, or of a later format. WHORL_AGAIN: there is no room on the disk for what
 * has to be written. WHORL_DISK: no log is made. */
WH_MUST_CHECK enum whorl_result wh_log_open(struct wh_log **out, struct wh_directory *directory,
					    const struct wh_log_config *config, struct wh_log_found *found,
					    struct wh_error *err);
/* Read only, whatever log it is, by what the names of its files begin with (wh_log_list). WHORL_NOT_FOUND: there is none. */
WH_MUST_CHECK enum whorl_result wh_log_open_files(struct wh_log **out, struct wh_directory *directory,
						  const char *files, struct wh_log_found *found, struct wh_error *err);
/* Writes nothing, and frees. What is not synced may be lost. NULL is fine. */
void wh_log_close(struct wh_log *log);

/* Removes all files of that log, whatever is in them; at each moment of it the log is blank, rot, or what it was. It may be open nowhere. */
WH_MUST_CHECK enum whorl_result wh_log_discard(struct wh_directory *directory, const char *subgroup, uint32_t shard,
					       const struct wh_log_asking *asking, struct wh_error *err);

/* Makes a log of `owner` in `to`, in the place of what is there, which is all that the one of the same subgroup and shard in `from` is, whatever
 * node and group that is of; it is on the disk when this returns WHORL_OK. Neither may be open but to be read, nor be changed; where
 * the other one is all the same, what was copied may lack what was there, or be rot. What is there
 * when it does not come to its end is blank, rot, or less than there should be: it must not count, and can be discarded. WHORL_NOT_FOUND: what
 * lies in `from` cannot be read, or is none. WHORL_AGAIN: no room. */
WH_MUST_CHECK enum whorl_result wh_log_copy(struct wh_directory *to, const struct wh_log_owner *owner,
					    struct wh_directory *from, const struct wh_log_asking *asking,
					    struct wh_error *err);

/* What the names of the files of that log begin with. Returns out. */
char *wh_log_files(char out[WH_LOG_FILES_BYTES], const char *subgroup, uint32_t shard);
/* Calls `each` with that of each log in the directory, once. */
WH_MUST_CHECK enum whorl_result wh_log_list(struct wh_directory *directory, void (*each)(void *ctx, const char *files),
					    void *ctx, struct wh_error *err);

/* As its files say; of a log with rot as far as it could be read. */
const struct wh_log_owner *wh_log_owner(const struct wh_log *log);
/* The views that it has, the oldest first. Until the next call that is not const. */
const struct wh_log_view *wh_log_views(const struct wh_log *log, uint32_t *count);
/* On the disk: where the last view of it ends; or where the checkpoint stands, if that is beyond (a state that was given). The next batch
 * begins at the last view's `end` all the same. */
struct wh_log_point wh_log_end(const struct wh_log *log);

struct wh_log_statistics {
	uint64_t segments;         /* files, the one that is prepared too */
	uint64_t bytes;            /* of these */
	uint64_t used;             /* of these: batches, without what fills them up */
	uint64_t batches;          /* ever: the number of the next one */
	uint64_t first;            /* number of the first one that is still here */
	uint64_t checkpoint_bytes; /* of the program's state; 0: there is none */
	uint64_t syncs;            /* of batches, since it was opened */
	bool prepared;             /* the next segment is there */
	bool failed;
};
void wh_log_statistics(const struct wh_log *log, struct wh_log_statistics *out);

/* ---- writing ---------------------------------------------------------------------------------------------------------- */

/* A message. */
struct wh_log_record {
	uint64_t place;
	uint64_t index;  /* its number among its sender's messages */
	uint32_t sender; /* rank */
	uint32_t slots;  /* indexes that it takes */
	uint32_t bytes;
	uint32_t part_count;
	const struct iovec *parts; /* its data; it has to stay until wh_log_lay has returned */
};

/* All of the present view from `first` to before `next`. */
struct wh_log_batch {
	uint64_t first; /* where the view ends so far: wh_log_view.end */
	uint64_t next;
	uint64_t frontier; /* the least persisted_num that is known, of this view: below it all members have it on disk. At most `first` */
	const struct wh_log_record *records; /* places grow */
	uint32_t count;
};

/* Room for a batch of so many messages, and bytes of data (each message a multiple of 16). WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_log_image_reserve(struct wh_log_image *image, uint32_t messages, size_t bytes,
						     struct wh_error *err);
void wh_log_image_free(struct wh_log_image *image);

/* Both write a batch, which is to be synced next. WHORL_AGAIN: no room on the disk; nothing was changed, and it can be tried again, with
 * the same or another batch, at any time. WHORL_INVALID: the batch before is not synced, the arguments contradict themselves or what
 * lies in the log, or the log is read only or has rot. */
WH_MUST_CHECK enum whorl_result wh_log_begin_view(struct wh_log *log, const struct wh_log_begin *begin,
						  struct wh_error *err);
/* The second in two steps: the batch is laid in memory, and asks nothing of the disk; then it is written, and may be again after WHORL_AGAIN.
 * What is laid and not written is given up by a batch of whatever kind that is laid or written instead. */
WH_MUST_CHECK enum whorl_result wh_log_lay(struct wh_log *log, const struct wh_log_batch *batch, struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_log_write(struct wh_log *log, struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_log_append(struct wh_log *log, const struct wh_log_batch *batch,
					      struct wh_error *err);
/* The last batch is on the disk. Does nothing if it is already. */
WH_MUST_CHECK enum whorl_result wh_log_sync(struct wh_log *log, struct wh_error *err);
/* Puts a cap behind the last batch, and syncs it; does nothing if the last batch is one, or no view goes on. `frontier`: as in struct
 * wh_log_batch; what is too large for it is made smaller. Results as of the two before; after WHORL_AGAIN there is no cap. */
WH_MUST_CHECK enum whorl_result wh_log_cap(struct wh_log *log, uint64_t frontier, struct wh_error *err);
/* False: a cap can be put behind the last batch, and there is none. Of a log with rot true. */
bool wh_log_is_capped(const struct wh_log *log);
/* Makes the next segment, once the present one is half full; cheap if nothing is to be done. To be called behind each sync, when others
 * need not wait; where it was not, wh_log_append does it. WHORL_AGAIN: no room. */
WH_MUST_CHECK enum whorl_result wh_log_prepare(struct wh_log *log, struct wh_error *err);

/* ---- reading ---------------------------------------------------------------------------------------------------------- */

enum wh_log_entry_kind { WH_LOG_END, WH_LOG_VIEW, WH_LOG_MESSAGE };

struct wh_log_entry {
	enum wh_log_entry_kind kind;
	const struct wh_log_view
		*view; /* that begins, or is gone on with behind the checkpoint; or that the message is of */
	struct wh_log_message {
		uint64_t place, index;
		uint32_t sender; /* rank, < view->sender_count */
		uint32_t slots;
		uint32_t bytes;
		const void *data; /* 16-byte aligned; until the next call with this cursor */
	} message;
};

/* From behind `from` (NULL: the checkpoint if there is one, else the beginning) to before `until` (NULL: the end), in order, what is on the
 * disk and not void. Of each view that has something here, also of an empty one, its beginning first. Both points have to be of
 * views of the log; `from` not before the checkpoint. It takes 1 MB of memory, or as much as the largest batch. While a cursor is open
 * no checkpoint may be finished; appending is fine, what comes behind is not read.
 * WHORL_INVALID: there is rot, or such a view is not here. */
WH_MUST_CHECK enum whorl_result wh_log_cursor_open(struct wh_log_cursor **out, struct wh_log *log,
						   const struct wh_log_point *from, const struct wh_log_point *until,
						   struct wh_error *err);
/* WHORL_DISK: what lies there has changed since it was opened, or cannot be read. The log has not failed, but it does not count. */
WH_MUST_CHECK enum whorl_result wh_log_cursor_next(struct wh_log_cursor *cursor, struct wh_log_entry *out,
						   struct wh_error *err);
void wh_log_cursor_close(struct wh_log_cursor *cursor); /* NULL is fine */

/* ---- reading it again while it is in use ------------------------------------------------------------------------------- */

enum wh_log_checked { WH_LOG_CHECK_MORE, WH_LOG_CHECK_DONE, WH_LOG_CHECK_ROT };

/* Reads more of what is on the disk, about so many bytes and a batch at least; from the disk, as far as the system can forget what it has of it: the
 * checkpoint, then each segment. DONE: that was the last, and nothing is damaged. ROT: *found says where and why. Behind both the next call
 * begins again; so it does behind a new checkpoint. What was written stays as it is, and the log goes on: in another segment if the present one is
 * damaged, so that a checkpoint can take its place. WHORL_INVALID: it had rot when it was opened.
 * WHORL_MEMORY, or WHORL_DISK: a file that is there could not be opened, as for want of descriptors: nothing is known, and the next call begins
 * again. */
WH_MUST_CHECK enum whorl_result wh_log_check(struct wh_log *log, size_t bytes, enum wh_log_checked *is,
					     struct wh_log_found *found, struct wh_error *err);

/* ---- checkpoints ------------------------------------------------------------------------------------------------------ */

/* Where a state stands (state/state.h). */
struct wh_log_position {
	struct wh_log_point point; /* all below it is in the state; nothing else of that view, and nothing of later ones */
	uint32_t count;
	struct wh_log_next {
		uint32_t id;          /* of a sender: node */
		uint64_t next;        /* number of its first message that is not in the state */
		uint64_t incarnation; /* 0: not known */
	} of[WH_LOG_SENDERS_MAX];
};

/* Begins to write one, beside the log; one at a time. Of a state that the log leads to, or of one that was given by another node, which may
 * be ahead of all that lies here; not one before the last checkpoint (WHORL_INVALID). WHORL_AGAIN: no room. */
WH_MUST_CHECK enum whorl_result wh_checkpoint_begin(struct wh_checkpoint **out, struct wh_log *log,
						    const struct wh_log_position *position, struct wh_error *err);
/* So much more of the state; and: all of it is on the disk. Both on any thread, one at a time, while the log is used on another. The log
 * has not failed if they do. WHORL_AGAIN: no room. What has failed is to be dropped. */
WH_MUST_CHECK enum whorl_result wh_checkpoint_write(struct wh_checkpoint *checkpoint, const void *data, size_t bytes,
						    struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_checkpoint_sync(struct wh_checkpoint *checkpoint, struct wh_error *err);
/* It counts, and it is freed. What lies wholly before it is removed, segment by segment, and the checkpoint before. WHORL_INVALID: it is
 * not synced, or its view has not begun in the log, or there is a cursor: nothing was done, and it is not freed; after any other result it is. */
WH_MUST_CHECK enum whorl_result wh_checkpoint_finish(struct wh_checkpoint *checkpoint, struct wh_error *err);
void wh_checkpoint_drop(struct wh_checkpoint *checkpoint); /* removes it, and frees. NULL is fine */

/* Of the checkpoint that counts. False: there is none. */
bool wh_log_position(const struct wh_log *log, struct wh_log_position *out);
/* Reads it, from its beginning; wh_checkpoint_read gives at most `bytes`, and *got = 0 at its end, or WHORL_DISK if it is damaged: what was
 * given before is not to be used then. It can be read on any thread, one at a time, and is freed by wh_checkpoint_drop. WHORL_NOT_FOUND. */
WH_MUST_CHECK enum whorl_result wh_checkpoint_open(struct wh_checkpoint **out, struct wh_log *log,
						   struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_checkpoint_read(struct wh_checkpoint *checkpoint, void *out, size_t bytes,
						   size_t *got, struct wh_error *err);

#endif
