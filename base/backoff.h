/* backoff.h - waiting by looking again and again: a pause, now and then a yield, and at last the advice to sleep.
 *
 * The first yield comes after a few looks, less than a microsecond: when there are more threads than cores, a thread that polls
 * longer holds up those that it waits for. A yield that comes back at once has found no other thread that wants the core; then
 * more looks are taken before the next one, since it costs a system call. When a yield has let another thread run, the few
 * looks are enough again. Yields are no measure of time (beside a busy thread one takes its whole turn), so the advice to
 * sleep goes by the clock.
 *
 * Yields that take longer than threads that yield themselves keep a core have met a thread that computes. Each gives that thread a
 * whole turn, while a thread woken from a sleep soon runs. What is lost to them is added up, and forgotten with time. When it is
 * much, the advice is to sleep without any, for some time in which such yields would have been dear (docs/decisions/0031). They need not come
 * in a row: a thread that has just lost a turn, or has slept, is owed time, and for as long yields come back at once.
 */
#ifndef WH_BASE_BACKOFF_H
#define WH_BASE_BACKOFF_H

#include <stdbool.h>
#include <stdint.h>

#include "base/env.h"

struct wh_backoff {        /* all zero at first, but `dear` */
	bool dear;         /* [const] a look costs a system call, as a yield does: there are few between two yields */
	uint32_t looks;    /* without success, since the last yield */
	uint32_t enough;   /* looks before the next yield; 0: the fewest */
	bool spent;        /* the advice to sleep has been given since the last success */
	uint64_t since_ns; /* of the first yield without success; 0: none yet */
	uint64_t yields;   /* of a lifetime */
	/* What has been learnt of the machine, and may be taken over from another backoff. */
	uint64_t lost_ns;          /* to long yields, as of */
	uint64_t lost_at_ns;       /* then */
	uint64_t crowded_until_ns; /* until then they are taken for dear without trying */
};

/* A look was in vain: pauses or yields. False: that has gone on for `yield_ns`, or yields are dear now, so sleep, and begin
 * anew after it. A caller that does not sleep says UINT64_MAX, and is never advised to. */
bool wh_backoff_wait(struct wh_backoff *backoff, const struct wh_env *env, uint64_t yield_ns);

/* The next wait yields, unless yields are dear. */
bool wh_backoff_is_to_yield(const struct wh_backoff *backoff);

/* A look found something. */
static inline void wh_backoff_renew(struct wh_backoff *backoff)
{
	backoff->looks = 0;
	backoff->spent = false;
	backoff->since_ns = 0;
}

#endif
