/* shard.h - shards that a work serves: properties that all members have (docs/decisions/0062).
 *
 *     shard_trust.c    the caller's side: it sends what it wants to the worker of the shard, as to any trustee
 *     shard_worker.c   the worker: it makes an ordered call of that, applies what the loop hands over, and answers
 *     shard.c          the loop's side, and threads that give and restore the state
 *     shard_queue.c    from there to the worker
 *     shard_table.c    the properties, and what calls make of them
 *     shard_wire.c     calls and images, as bytes
 *
 * A call that was made here is answered when the worker of this node applies it: what the loop tells is only that it never will be.
 *
 * What is freed when: a shard is used by its work and by its subgroup, and goes with the second of them. What waits for a call (struct wh_shard_pending) is
 * used by the worker and by the loop, likewise.
 */
#ifndef WH_DELEGATION_SHARD_H
#define WH_DELEGATION_SHARD_H

#include <whorl/replica.h>

#include "delegation/delegation_int.h"
#include "delegation/shard_queue.h"
#include "delegation/shard_table.h"

#define WH_SHARDS_MOST 64              /* of a work */
#define WH_NODE_SHARD (UINT32_MAX - 1) /* in the handles of a shard's properties, as `node` */
#define WH_SHARD_CALLS_WAIT 4096       /* that the worker has not come to, at most */
#define WH_SHARD_BYTES_WAIT (16u << 20)
#define WH_SHARD_UNSENT (32u << 20) /* bytes of calls that wait for the window, at most */

struct wh_shard_pending {    /* a call that was made here */
	struct wh_note note; /* WH_NOTE_ENDED */
	struct wh_shard *shard;
	struct wh_origin origin;
	struct wh_shard_pending *older, *newer; /* [worker] */
	enum whorl_result result;               /* of WH_NOTE_ENDED */
	wh_word uses;                           /* the worker, and the loop, which tells its outcome */
};

struct wh_shard_unsent { /* [worker] a call that waits for the window */
	struct wh_shard_unsent *next;
	struct wh_origin origin;
	uint64_t deadline_ns; /* then it is not sent any more; UINT64_MAX: never */
	size_t bytes;
	_Alignas(16) unsigned char message[];
};

struct wh_shard_run { /* calls, as they were delivered */
	struct wh_note note;
	size_t count, bytes; /* bytes: as wh_shard_queue_room counted them */
	_Alignas(16) unsigned char records[];
};

struct wh_shard_record { /* before the bytes of each of them */
	uint64_t id;
	struct wh_shard_pending *pending; /* NULL: nobody waits for it here */
	uint64_t bytes, unused;
};

struct wh_shard_image { /* of a state: what a job reads */
	wh_word uses;   /* the job, and the queue */
	wh_word state;  /* enum wh_image_state */
	struct wh_bytes bytes;
};

enum wh_image_state { WH_IMAGE_WAITS, WH_IMAGE_READY, WH_IMAGE_FAILED };

struct wh_shard_mark {
	struct wh_note note;
	struct wh_shard_image *image;
};

struct wh_shard_read {
	struct wh_note note;
	struct wh_shard *shard;
	struct wh_origin origin;
	enum whorl_result result; /* whether it may be made */
	size_t bytes;
	_Alignas(16) unsigned char message[];
};

struct wh_shard_restored {
	struct wh_note note;
	struct wh_shard_table table;
};

struct wh_shard {
	/* [const] */
	struct wh_shard *next; /* of its worker's */
	whorl_subgroup *subgroup;
	struct wh_party *party; /* the worker; not after its work was closed */
	const struct wh_env *env;
	uint32_t key; /* of its name, in handles */
	struct wh_table functions;
	struct wh_shard_kinds kinds;
	wh_word uses;
	struct wh_shard_queue queue;
	wh_word failure;       /* [worker] enum wh_shard_failure */
	struct wh_bytes given; /* [the job that restores] */
	/* [worker] */
	struct wh_note *taken; /* of the queue, and not come to yet */
	struct wh_shard_table table;
	struct wh_shard_pending *pending;     /* the newest */
	struct wh_shard_unsent *first, *last; /* in the order in which they are to be sent */
	size_t unsent_bytes;
	uint64_t deadline_ns; /* the earliest of them, or earlier */
	struct wh_bytes answer;
};

enum wh_shard_failure { WH_SHARD_GOOD, WH_SHARD_IS_ODD, WH_SHARD_NO_MEMORY };

/* What a thread wants of a shard: WH_SHARD_CALL of that, and a message (shard_wire.h) behind it. */
struct wh_shard_args {
	uint64_t shard;       /* address */
	uint64_t reads;       /* enum whorl_trust_reads: of a function that reads */
	uint64_t deadline_ns; /* as in struct wh_shard_unsent */
};

/* ---- shard.c */

/* Its work is closed. [no thread of the work runs any more] */
void wh_shard_leave(struct wh_shard *shard);
void wh_shard_drop(struct wh_shard *shard); /* one that uses it does no more */
void wh_shard_pending_drop(struct wh_shard_pending *pending);
void wh_shard_image_drop(struct wh_shard_image *image);
/* The outcome of a call of struct wh_shard_pending: whorl_done_fn. */
void wh_shard_told(const struct whorl_outcome *outcome, void *ctx);
/* Behind all that was handed over; or, when the work is closed, it is freed. */
void wh_shard_put(struct wh_shard *shard, struct wh_note *note);
/* Any note that nobody comes to. */
void wh_shard_note_free(struct wh_note *note);

/* ---- shard_worker.c [worker] */

/* As wh_perform: WH_SHARD_CALL. */
uint32_t wh_shard_request(struct wh_party *me, struct wh_origin origin, const void *data, size_t bytes,
			  struct wh_bytes *out);
/* Applies what was handed over, sends what could not be sent. Returns how much was done. */
size_t wh_shards_look(struct wh_party *me);

/* ---- shard_trust.c */

static inline bool wh_is_of_shard(const struct whorl_trust *trust)
{
	return trust->node == WH_NODE_SHARD;
}

struct wh_shard_wish {    /* what a thread wants, before it is sent */
	const char *name; /* of the program's function, for whorl_invalid_text */
	const struct whorl_trust *trust;
	struct wh_party *me;
	uint32_t function; /* number in the table */
	bool launched;
	const void *data;
	size_t bytes;
};
enum whorl_result wh_shard_apply(const struct wh_shard_wish *wish, struct wh_wait *wait, int timeout_ms);
enum whorl_result wh_shard_apply_then(const struct wh_shard_wish *wish, whorl_then_fn *then, void *ctx);

struct wh_shard_named {       /* a property that is to be found or made */
	const char *function; /* the program's, for whorl_invalid_text */
	struct wh_party *me;
	whorl_subgroup *subgroup;
	const char *name;
	const struct whorl_type *type;
	const void *init;
	size_t bytes;
};
/* As whorl_entrust_named. `trust` is all zero, and is only written if it is there. */
enum whorl_result wh_shard_entrust(const struct wh_shard_named *named, struct whorl_trust *trust, int timeout_ms);

#endif
