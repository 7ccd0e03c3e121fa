/* condition.h - conditions, which hold or do not, and waitsets, in which threads wait for them.
 *
 * When a condition holds is said from outside: a read or query condition by the states of the samples in a cache, a status condition by
 * the statuses of an entity, a guard condition by the program. To say so costs nothing while it stays as it is. When it changes, the
 * condition goes from one list of its waitsets to another: a thread that comes to wait looks only at those that hold, however many are
 * attached; threads that wait are woken, and the descriptor of a waitset is readable exactly as long as one holds.
 *
 * Threads: all that may meet (waitsets and the conditions that are attached to them) share one lock, `struct wh_dds_signals`, which is held
 * for moments and is the last one taken. The condition of a cache is said under the lock of its reader.
 */
#ifndef WH_DDS_CONDITION_H
#define WH_DDS_CONDITION_H

#include <pthread.h>

#include "base/atomics.h"
#include "base/backoff.h"
#include "dds/cache/cache.h"

struct wh_dds_signals {
	pthread_mutex_t lock;
};

void wh_dds_signals_init(struct wh_dds_signals *signals);
void wh_dds_signals_free(struct wh_dds_signals *signals);

struct wh_dds_attachment;

/* ---- conditions ---------------------------------------------------------------------------------------------------------- */

struct wh_dds_condition {
	struct wh_dds_signals *signals;        /* [const] */
	wh_word holds;                         /* [lock writes] */
	struct wh_dds_attachment *attachments; /* [lock] */
	bool closed;                           /* [lock] it was deleted: nothing is attached any more */
	whorl_dds_entity entity;               /* [const] its handle; of a status condition that of its entity */
};

/* It does not hold. */
void wh_dds_condition_init(struct wh_dds_condition *condition, struct wh_dds_signals *signals, whorl_dds_entity entity);
/* Detaches it everywhere. Threads that wait for others go on. */
void wh_dds_condition_close(struct wh_dds_condition *condition);

/* It holds, or not. Any thread; what is said at the same time comes in any order. */
void wh_dds_condition_say(struct wh_dds_condition *condition, bool holds);

static inline bool wh_dds_condition_holds(const struct wh_dds_condition *condition)
{
	return wh_load_acquire(&condition->holds) != 0; /* partner: wh_dds_condition_say */
}

/* Of a guard: what it was, and it holds no more. */
bool wh_dds_condition_take(struct wh_dds_condition *condition);

/* A read condition, or with a query a query condition. It hangs at its reader, by `next`, under the reader's lock. It is closed under that, too, and
 * selects nothing then: either of the two locks is enough to look whether it is. */
struct wh_dds_read_condition {
	struct wh_dds_condition condition;
	uint32_t mask;
	struct wh_dds_query *query; /* NULL */
	struct wh_dds_read_condition *next;
};

/* Something has come to the cache, was read, or taken: which of these conditions hold now? The reader's lock is held. */
void wh_dds_read_conditions_look(struct wh_dds_read_condition *first, const struct wh_dds_cache *cache);

struct wh_dds_status_condition {
	struct wh_dds_condition condition;
	uint32_t enabled; /* statuses that it asks for, as bits */
};

/* The statuses have changed, or were looked at; or it asks for others now. The entity's lock is held. */
void wh_dds_status_condition_look(struct wh_dds_status_condition *condition, const struct wh_dds_statuses *statuses);

/* ---- waitsets ------------------------------------------------------------------------------------------------------------ */

struct wh_dds_attachments {
	struct wh_dds_attachment *first, *last;
};

struct wh_dds_waitset {
	struct wh_dds_signals *signals;         /* [const] */
	struct wh_dds_attachments ready, quiet; /* [lock] those that hold, the first one first, and the others */
	size_t ready_count;                     /* [lock] */
	bool triggered;                         /* [lock] the waitset itself is */
	uint32_t waiters;                       /* [lock] threads in it */
	bool closed;                            /* [lock] */
	struct wh_backoff backoff;              /* [lock] what the last wait has learnt */
	pthread_cond_t changed;                 /* one holds, it is closed, or a waiter has gone */
	int descriptor;                         /* [lock] -1: nobody has asked for it */
};

void wh_dds_waitset_init(struct wh_dds_waitset *waitset, struct wh_dds_signals *signals);
/* Threads that wait leave, and nothing is attached any more; those that call it later get ALREADY_DELETED. */
void wh_dds_waitset_close(struct wh_dds_waitset *waitset);
/* No thread calls it any more: it was closed, or never used. */
void wh_dds_waitset_free(struct wh_dds_waitset *waitset);

/* WHORL_DDS_RETCODE_OK; PRECONDITION_NOT_MET: it is attached already; ALREADY_DELETED: one of the two was closed; BAD_PARAMETER: the two can
 * never meet; OUT_OF_RESOURCES. */
WH_MUST_CHECK whorl_dds_return wh_dds_waitset_attach(struct wh_dds_waitset *waitset, struct wh_dds_condition *condition,
						     intptr_t cookie);
/* WHORL_DDS_RETCODE_OK; PRECONDITION_NOT_MET: it is not attached. */
whorl_dds_return wh_dds_waitset_detach(struct wh_dds_waitset *waitset, struct wh_dds_condition *condition);

/* Waits until a condition holds, at most to this time of CLOCK_MONOTONIC (0: looks; WH_DDS_NEVER: for as long as it takes). Returns how
 * many hold, and the cookies of the first `room` of them, those first that have held longest; 0: none, and the time is over, or
 * the waitset itself is triggered.
 * WHORL_DDS_RETCODE_ALREADY_DELETED: it is being closed. */
whorl_dds_return wh_dds_waitset_wait(struct wh_dds_waitset *waitset, intptr_t *cookies, size_t room, uint64_t until_ns);

/* Triggers the waitset itself, or ends that. */
void wh_dds_waitset_trigger(struct wh_dds_waitset *waitset, bool triggered);
/* By wh_dds_waitset_trigger. Conditions that hold do not count. */
bool wh_dds_waitset_is_triggered(struct wh_dds_waitset *waitset);

/* Writes at most `room` of the entities that are attached; returns how many are. */
size_t wh_dds_waitset_list(struct wh_dds_waitset *waitset, whorl_dds_entity *entities, size_t room);

/* A descriptor that can be read, by poll() and the like, as long as a condition holds, or the waitset is triggered itself; never to be read from. It is the waitset's.
 * WHORL_DDS_RETCODE_OUT_OF_RESOURCES: the system has none. */
int wh_dds_waitset_descriptor(struct wh_dds_waitset *waitset);

/* For what the conditions of a waitset call. With the lock. */
void wh_dds_attachment_say(struct wh_dds_attachment *attachment, bool holds);
void wh_dds_attachment_free(struct wh_dds_attachment *attachment);
struct wh_dds_attachment *wh_dds_attachment_next(const struct wh_dds_attachment *attachment); /* of its condition */

#endif
