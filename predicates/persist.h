/* persist.h - what passes between the multicast of a durable shard, on the loop, and what writes its messages to disk, on a thread of its
 * own (docs/decisions/0058).
 *
 *     loop -> writer    how far messages lie in the rings: a slot that was taken in stays as it is until all have delivered it, which they
 *                       do when it is on every member's disk
 *     writer -> loop    how far they are on this disk
 *
 * A walk reads the messages in their order, as delivery does: round by round, in each the senders by their ranks, each from the first of its
 * messages in this view on. What it reads another process may write meanwhile, if that breaks the rules: each header is read once, and is
 * held against the rules before it is believed.
 *
 * Threads: each function says of which it is.
 */
#ifndef WH_PREDICATES_PERSIST_H
#define WH_PREDICATES_PERSIST_H

#include "base/atomics.h"
#include "base/error.h"
#include "smc/slots.h"

struct wh_persist_sender {
	wh_word row;       /* where its slots lie: a pointer */
	wh_word first;     /* the number of its first message in this view; UINT64_MAX: it has none yet */
	wh_word announced; /* its messages below have been taken in, and perhaps more */
};

struct wh_persist {
	struct wh_persist_sender *senders; /* [loop writes, before `received`] */
	uint32_t sender_count;             /* [const] */
	wh_word received;                  /* all sequence numbers below lie in the rings. [loop] */
	wh_word stable; /* all sequence numbers below are on the disks of all members, as far as is known here. [loop] */
	bool stops;     /* nothing more of it counts: its node leaves. [loop] */
	wh_word broken;    /* 1 + the rank of the sender with messages that make no sense; 0: none. [writer] */
	wh_word persisted; /* all sequence numbers below are on this disk; <= received. [writer] */
	void (*wake)(
		void *ctx); /* [const] `received` has grown. The loop, or a thread that has borrowed it; costs little */
	void *ctx;          /* [const] */
};

/* WHORL_OK, WHORL_MEMORY. `wake` and `ctx` are the caller's to set. */
WH_MUST_CHECK enum whorl_result wh_persist_init(struct wh_persist *persist, uint32_t senders, struct wh_error *err);
/* No thread uses it any more. */
void wh_persist_close(struct wh_persist *persist);

/* The writer's: all below is on disk. */
static inline void wh_persist_say(struct wh_persist *persist, uint64_t sequence)
{
	/* Release: that it was synced. Partner: wh_persist_tell, which tells the others. */
	wh_store_release(&persist->persisted, sequence);
}

/* ---- a walk: the writer's ------------------------------------------------------------------------------------------- */

struct wh_walked {               /* a message */
	uint32_t sender;         /* its sender rank */
	uint32_t slots;          /* numbers that it takes */
	uint64_t sequence;       /* its place in the order */
	uint64_t index;          /* its number among those of its sender */
	uint64_t bytes;          /* of it, */
	struct wh_pieces pieces; /* which lie here, until all have delivered it */
};

struct wh_walk_sender {
	uint64_t next; /* UINT64_MAX: not known yet */
	uint32_t next_slot;
	bool looked; /* `ahead` is the header of the next slot */
	struct wh_slot_header ahead;
};

struct wh_walk { /* the fields up to `senders` are set by the caller, the rest is 0 */
	const struct wh_persist *from;
	const struct wh_slots *slots; /* by sender rank */
	uint32_t parts_most, message_bytes;
	struct wh_walk_sender *senders; /* by sender rank; made by wh_walk_begin */
	uint64_t sequence, round;       /* the next */
	uint32_t rank;
};

enum wh_walk_step { WH_WALK_END, WH_WALK_MESSAGE, WH_WALK_BROKEN };

/* WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_walk_begin(struct wh_walk *walk, struct wh_error *err);
void wh_walk_close(struct wh_walk *walk);

/* The next message with a sequence number below `limit`, which is at most what `received` was when it was read, by an acquire. WH_WALK_END:
 * there is none, and `sequence` is `limit`. WH_WALK_BROKEN: the rings of the sender `rank` hold what no member can have said. */
enum wh_walk_step wh_walk_next(struct wh_walk *walk, uint64_t limit, struct wh_walked *out);

#endif
