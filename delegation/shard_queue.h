/* shard_queue.h - from the loop of a node, which delivers the calls of a shard, to the worker that has the shard.
 *
 * The loop only hands calls over: copies, in runs. What has a place in the order goes the same way: where a state is to be fixed, where a read
 * is to be made, where another state begins. So each of these stands between the calls that it stands between in the order, however far the worker
 * lags (tests/models/hand_over.c).
 *
 * The calls that wait are bounded: beyond that the loop takes no more, and says so in `refuses`; the worker that has made room asks for more. Either sees
 * the other's word, as each stores its own, fences, and looks.
 */
#ifndef WH_DELEGATION_SHARD_QUEUE_H
#define WH_DELEGATION_SHARD_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "base/atomics.h"

enum wh_note_kind {
	WH_NOTE_CALLS,    /* struct wh_shard_run */
	WH_NOTE_SNAPSHOT, /* struct wh_shard_mark: a state is fixed here */
	WH_NOTE_READ,     /* struct wh_shard_read: it is made here */
	WH_NOTE_RESTORED, /* struct wh_shard_restored: another state begins here */
	WH_NOTE_ENDED     /* struct wh_shard_pending: no call will come of it */
};

struct wh_note { /* the first field of each */
	struct wh_note *next;
	enum wh_note_kind kind;
};

struct wh_shard_queue {
	pthread_mutex_t lock;
	struct wh_note *first, *last;    /* [lock] */
	bool closed;                     /* [lock] nothing is taken any more */
	wh_word any;                     /* [lock writes; anyone reads] */
	uint64_t calls_most, bytes_most; /* [const] that wait, at most; but one always fits where none waits */
	uint64_t handed, handed_bytes;   /* [loop] */
	wh_word done, done_bytes;        /* [worker writes; the loop reads] */
	wh_word refuses;                 /* 1: the loop has not taken all */
};

void wh_shard_queue_init(struct wh_shard_queue *queue, uint64_t calls_most, uint64_t bytes_most);

/* [any] Behind all others. `rings` is called if none was there, with the lock: the worker may sleep. False: it is closed, and the note stays the
 * caller's. */
bool wh_shard_queue_put(struct wh_shard_queue *queue, struct wh_note *note, void (*rings)(void *ctx), void *ctx);
/* [worker] All of them, the oldest first. NULL: none. */
struct wh_note *wh_shard_queue_take(struct wh_shard_queue *queue);
/* [any] From now on none is taken. Those that were not are returned. */
struct wh_note *wh_shard_queue_close(struct wh_shard_queue *queue);

/* [loop] Of so many calls, with the lengths `bytes`, as many as there is room for: they count as handed over. Fewer: when there is room for more
 * wh_shard_queue_applied says so. */
size_t wh_shard_queue_room(struct wh_shard_queue *queue, const size_t *bytes, size_t count);
/* [worker] So many more are applied. True: the loop has refused some: it is to offer them again. */
bool wh_shard_queue_applied(struct wh_shard_queue *queue, size_t count, size_t bytes);

#endif
