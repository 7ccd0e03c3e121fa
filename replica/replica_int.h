/* replica_int.h - the state machine of a subgroup at one member: calls and reads. include/whorl/replica.h has the contract.
 *
 *     calls.c   calls are applied, and answered; calls are made
 *     later.c   answers that come later, and their tickets
 *     reads.c   reads: a question to a quorum, then what was received by then is applied (docs/decisions/0048)
 *     wait.c    threads that wait for an answer or a read
 *
 * A call is a message of its caller's stream, so its index finds what the caller left for the answer: `pending` has an entry for each
 * slot of the window. A message of this node has its slot until all members have delivered it, this one too, so an entry is free again
 * when its slot is; but for a newcomer, which delivers without applying while it restores: then a call finds the entry taken, and comes
 * too early.
 *
 * Threads: [loop] the loop; in whorl_close, when there is none any more, the thread that closes.
 */
#ifndef WH_REPLICA_REPLICA_INT_H
#define WH_REPLICA_REPLICA_INT_H

#include <pthread.h>

#include <whorl/replica.h>

#include "group/layer.h"
#include "replica/serve.h"

#define WH_CALL_RUN 64 /* calls of one `apply`, at most */

struct wh_pending { /* what the caller of one message left */
	wh_word number; /* its index + 1; 0: the entry is free; ENDS: it is being told. Each that would end it takes it by an exchange */
	bool missed; /* [loop] it was delivered, and is never applied here */
	whorl_done_fn *done;
	void *ctx;
};

enum wh_answer_state { WH_ANSWER_NONE, WH_ANSWER_GIVEN, WH_ANSWER_DEFERRED };

struct wh_answer { /* of an awaited call of the `apply` that runs */
	struct wh_replica *replica;
	struct wh_pending *pending;
	enum wh_answer_state state;
	uint64_t ticket;    /* of one that is deferred */
	size_t from, bytes; /* in the arena */
	uint64_t view, sequence;
};

struct wh_calls {
	uint32_t window;                       /* [const] */
	uint64_t incarnation;                  /* [const] of this node */
	uint64_t seen;                         /* [loop] index of my call that was delivered last... */
	uint32_t seen_slot;                    /* [loop] ...modulo window: a division less for the next */
	struct wh_pending *pending;            /* by index modulo window */
	struct whorl_call run[WH_CALL_RUN];    /* [loop] */
	struct wh_answer answers[WH_CALL_RUN]; /* [loop] of the awaited of these */
	bool applies;                          /* [loop] */
	uint32_t missed;                       /* [loop] entries that are */
	unsigned char *arena;                  /* [loop] the answers of this `apply` */
	size_t arena_bytes, arena_room;
	void *whole; /* [loop] a call that came in parts; NULL: there are none such */
};

enum wh_ticket_state { WH_TICKET_FREE, WH_TICKET_OPEN, WH_TICKET_ANSWERED };

struct wh_ticket {
	enum wh_ticket_state state;
	uint32_t generation;
	uint32_t next; /* of the free, or of the answered; UINT32_MAX: none */
	whorl_done_fn *done;
	void *ctx;
	uint64_t view, sequence;
	void *answer;
	size_t bytes;
};

struct wh_later {
	pthread_mutex_t lock;
	struct wh_ticket *tickets; /* [lock] */
	uint32_t count, room, free;
	uint32_t first, last; /* of those that are answered, in the order of the answers */
};

struct wh_read {
	whorl_read_fn *read;
	void *ctx;
	bool local;
	uint32_t shard;
	struct wh_layer_place place; /* when a quorum has confirmed it: what is to be applied first */
};

struct wh_read_list {
	struct wh_read *reads;
	size_t count, room;
};

struct wh_reads {
	pthread_mutex_t lock;
	struct wh_read_list come;  /* [lock] by other threads */
	struct wh_read_list taken; /* [loop] those of the last look */
	/* [loop] A queue: from `made` on a quorum has confirmed them, from `confirmed` on the question is under way, from `asked` on
	 * they wait for one, till `end`. Positions modulo `room`, a power of two. */
	struct wh_read *queue;
	uint64_t made, confirmed, asked, end, room;
	uint64_t question;           /* that is under way, if some are asked */
	struct wh_layer_place noted; /* when it was raised */
};

struct wh_waiter {       /* a thread in whorl_call_wait or whorl_read_wait */
	wh_word settled; /* 1: what follows is final */
	pthread_mutex_t lock;
	pthread_cond_t condition;
	bool abandoned; /* [lock] the thread has gone */
	enum whorl_result result;
	void *answer;
	size_t room, bytes;
	whorl_read_fn *read;
	void *read_ctx;
	struct wh_replica *replica;
	struct wh_waiter *next_free, *next;
};

struct wh_waiters {
	pthread_mutex_t lock;
	struct wh_waiter *all, *free; /* [lock] none is freed before the replica is */
};

struct wh_replica {
	whorl_subgroup *subgroup;
	whorl_apply_fn *apply; /* NULL: the plan's `take` */
	void *apply_ctx;
	struct wh_replica_plan plan; /* of a layer above; all NULL: none */
	struct wh_calls calls;
	struct wh_later later;
	struct wh_reads reads;
	struct wh_waiters waiters;
};

/* The replica of a subgroup; NULL: it has no whorl_on_calls. */
struct wh_replica *wh_replica_of(const whorl_subgroup *subgroup);

/* An outcome, to the program. */
struct wh_outcome {
	enum whorl_result result;
	const void *answer;
	size_t bytes;
	uint64_t view, sequence;
	const char *text;
};
void wh_replica_tell(whorl_done_fn *done, void *ctx, const struct wh_outcome *outcome);

/* ---- calls.c */

WH_MUST_CHECK bool wh_calls_init(struct wh_replica *replica);
void wh_calls_close(struct wh_replica *replica);
size_t wh_calls_deliver(void *replica, const struct whorl_message *messages, size_t count);
void wh_calls_missed(void *replica, const struct whorl_message *message);
void wh_calls_step(struct wh_replica *replica);
void wh_calls_gone(void *replica, uint64_t first, uint64_t end);
void wh_calls_end(struct wh_replica *replica, const char *text);

/* A claim, filled; WHORL_AGAIN: the claim is open still, and its entry taken. */
enum whorl_result wh_calls_commit(struct wh_replica *replica, struct whorl_claim *claim, size_t bytes,
				  whorl_done_fn *done, void *ctx);
void wh_calls_fill(const struct whorl_claim *claim, const void *data);
/* What a claim says, in the words of a call. */
enum whorl_result wh_calls_refused(const struct wh_replica *replica, enum whorl_result result);

/* ---- later.c */

void wh_later_init(struct wh_later *later);
void wh_later_close(struct wh_later *later);
/* A ticket for the answer to a call that is applied; 0: no memory. */
uint64_t wh_later_add(struct wh_later *later, whorl_done_fn *done, void *ctx, uint64_t view, uint64_t sequence);
/* The call of that ticket has not been applied after all: nothing is told of it here, answered or not. */
void wh_later_cancel(struct wh_later *later, uint64_t ticket);
size_t wh_later_step(struct wh_later *later);
void wh_later_end(struct wh_later *later, const char *text);

/* ---- reads.c */

void wh_reads_init(struct wh_reads *reads);
void wh_reads_close(struct wh_reads *reads);
size_t wh_reads_step(struct wh_replica *replica);
/* Linearizable reads that have come from other threads wait for a question. Makes no upcalls. */
void wh_reads_gather(struct wh_replica *replica);
void wh_reads_asked(struct wh_replica *replica, uint64_t view, uint64_t question);
void wh_reads_end(struct wh_replica *replica, enum whorl_result why);

/* ---- wait.c */

void wh_waiters_init(struct wh_waiters *waiters);
void wh_waiters_close(struct wh_waiters *waiters);
void wh_waiters_wake(struct wh_waiters *waiters);

#endif
