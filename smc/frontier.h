/* frontier.h - what has become of my messages: up to which of them all members have received, and up to which all have delivered.
 *
 * Two numbers of a ring, which only grow: messages below are past. The loop moves them (smc/ring.c, predicates/deliver.c); any
 * thread reads them, or is told when one has come beyond an index: a thread that waits in a call, or the program's descriptor.
 *
 * Where no thread is to be told a move costs the loop a store and a load. A thread that is to be told stores the least index that is
 * wanted, makes a barrier on all threads of the process, and looks once more; the loop moves, holds back the compiler, and looks what is
 * wanted (as in base/gate.h). One of the two sees the other. Only then there is a lock, which is held for some instructions.
 */
#ifndef WH_SMC_FRONTIER_H
#define WH_SMC_FRONTIER_H

#include <pthread.h>
#include <time.h>

#include "base/gate.h"

enum wh_frontier { WH_RECEIVED_BY_ALL, WH_DELIVERED_BY_ALL, WH_FRONTIERS };

struct wh_frontier_wait { /* a thread that waits in a call; on its stack */
	struct wh_frontier_wait *next;
	enum wh_frontier which;
	uint64_t index;
	bool told; /* [lock] then it is in no list */
	bool sure; /* the loop will tell */
	pthread_cond_t changed;
};

struct wh_frontier_arms { /* of the program's descriptor: all are told when the least of them is past */
	uint64_t count, least;
};

struct wh_frontiers {
	wh_word past[WH_FRONTIERS];   /* [loop writes, anyone reads] messages below are past */
	wh_word wanted[WH_FRONTIERS]; /* [lock; the loop reads without] the least index to tell of; UINT64_MAX: none */
	struct wh_gate *gate;         /* [const] */
	bool stands;                  /* [loop] the node has failed: nothing moves any more */
	pthread_mutex_t lock;
	struct wh_frontier_wait *waits;             /* [lock] */
	struct wh_frontier_arms arms[WH_FRONTIERS]; /* [lock] */
	int fd; /* [lock] an eventfd that counts: one for each arm that has been told; -1 until asked for */
};

void wh_frontiers_init(struct wh_frontiers *frontiers, struct wh_gate *gate);
void wh_frontiers_close(struct wh_frontiers *frontiers);

/* ---- the loop ------------------------------------------------------------------------------------------------------ */

/* Tells of what has come to pass. Any thread. */
void wh_frontiers_tell(struct wh_frontiers *frontiers);

/* All messages below `to` are past. */
static inline void wh_frontier_move(struct wh_frontiers *frontiers, enum wh_frontier which, uint64_t to)
{
	if (to <= wh_load_relaxed(&frontiers->past[which]) || __builtin_expect(frontiers->stands, 0))
		return;
	/* Release: what my own upcalls have done with these messages. Partner: wh_frontier_past. */
	wh_store_release(&frontiers->past[which], to);
	wh_gate_fence(frontiers->gate); /* what is past, then what is wanted. Partner: wh_gate_barrier, in frontier.c */
	if (__builtin_expect(to > wh_load_relaxed(&frontiers->wanted[which]), 0))
		wh_frontiers_tell(frontiers);
}

/* Now and then: of what was missed. */
static inline void wh_frontiers_survey(struct wh_frontiers *frontiers)
{
	for (int which = 0; which < WH_FRONTIERS; which++)
		if (wh_load_relaxed(&frontiers->past[which]) > wh_load_relaxed(&frontiers->wanted[which]))
			wh_frontiers_tell(frontiers);
}

/* From now on nothing moves. Threads that wait are told by wh_frontiers_wake. */
static inline void wh_frontiers_stop(struct wh_frontiers *frontiers)
{
	frontiers->stands = true;
}

/* ---- any thread ---------------------------------------------------------------------------------------------------- */

static inline uint64_t wh_frontier_past(const struct wh_frontiers *frontiers, enum wh_frontier which)
{
	return wh_load_acquire(&frontiers->past[which]); /* partner: wh_frontier_move */
}

/* All that wait look again, and all arms are told: the node has failed, or is closed. */
void wh_frontiers_wake(struct wh_frontiers *frontiers);

/* Waits to be told that `index` is past, or of anything else, until `deadline` (CLOCK_MONOTONIC). Between the two the caller looks
 * at whatever else it would be woken for. False: it is past already, and nothing was entered. */
WH_MUST_CHECK bool wh_frontier_enlist(struct wh_frontiers *frontiers, struct wh_frontier_wait *wait,
				      enum wh_frontier which, uint64_t index);
void wh_frontier_sleep(struct wh_frontiers *frontiers, struct wh_frontier_wait *wait, const struct timespec *deadline);
void wh_frontier_delist(struct wh_frontiers *frontiers, struct wh_frontier_wait *wait);

/* The descriptor; -1: there is none to be had. */
int wh_frontiers_fd(struct wh_frontiers *frontiers);
/* One more is to be told, by the descriptor. False: there is none to be had. */
WH_MUST_CHECK bool wh_frontier_arm(struct wh_frontiers *frontiers, enum wh_frontier which, uint64_t index);
/* Takes one arm back. False: all have been told, so the descriptor is readable. */
WH_MUST_CHECK bool wh_frontier_disarm(struct wh_frontiers *frontiers, enum wh_frontier which);

#endif
