/* passes.h - which thread makes a node's passes, as words that any thread may look at.
 *
 * Threads: any, by atomics; nothing here waits. The token of passes is `stepper`: the thread that holds it runs the loop, and all that
 * parts/loop.h has is its own until it gives the token back.
 */
#ifndef WH_GROUP_PARTS_PASSES_H
#define WH_GROUP_PARTS_PASSES_H

#include <pthread.h>
#include <stdbool.h>

#include "base/atomics.h"

struct wh_node_passes {
	wh_word started;     /* 1: upcalls and the like are final. [whorl_start; anyone reads] */
	wh_word started_ns;  /* whorl_start; 0: not yet */
	wh_word wants_drain; /* draining, for the loop */
	wh_word stepper;     /* the thread that makes passes, 0: none. With thread = caller a try-lock for each pass */
	wh_word away;        /* with thread = caller: 1 from whorl_arm to the next whorl_step. [any] */
};

/* Does this thread have the token, that is, are we inside an upcall? */
static inline bool wh_passes_are_mine(const struct wh_node_passes *passes)
{
	return wh_load_relaxed(&passes->stepper) == (uint64_t)pthread_self();
}

/* With a thread of the loop's own: that thread has it from its first pass on. */
static inline void wh_passes_keep(struct wh_node_passes *passes)
{
	if (wh_load_relaxed(&passes->stepper) == 0)
		wh_store_relaxed(&passes->stepper, (uint64_t)pthread_self());
}

/* Takes it, if no thread has it: one thread makes passes at a time. Partner: wh_passes_give. */
static inline bool wh_passes_take(struct wh_node_passes *passes)
{
	uint64_t holder = 0;

	while (!wh_compare_swap(&passes->stepper, &holder, (uint64_t)pthread_self()))
		if (holder != 0)
			return false;
	return true;
}

static inline void wh_passes_give(struct wh_node_passes *passes)
{
	/* Release: all protocol state of this pass, for the thread that makes the next. Partner: wh_passes_take. */
	wh_store_release(&passes->stepper, 0);
}

#endif
