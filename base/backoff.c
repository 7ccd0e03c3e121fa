/* backoff.c - see backoff.h. */
#include "base/backoff.h"

#include <sched.h>

#include "base/atomics.h"

#define LOOKS_FEWEST 8
#define LOOKS_MOST 256
#define DEAR_LOOKS_FEWEST 1
#define DEAR_LOOKS_MOST 8
/* A yield to no other thread is one system call, a third of this; two switches of threads take longer. */
#define YIELD_TAKEN_NS 1500
/* A thread that computes keeps its core for a millisecond or more. Threads that look and yield are back in microseconds, unless one
 * of them has found much to do, which is no rule: so it takes some such yields, in little time. */
#define YIELD_DEAR_NS WH_NS_PER_MS
#define LOST_BY_ONE_NS (2 * WH_NS_PER_MS) /* no yield counts for more: it may have been a stop of the whole process */
#define LOST_MUCH_NS (8 * WH_NS_PER_MS)
#define LOST_PART 8 /* less than such a part of the time is never much */
/* One more is tried when so many as long as the last would have fit: they cost at most one part in so many. */
#define CROWDED_TIMES 64
#define CROWDED_MOST_NS WH_NS_PER_S /* also if that one was a stop of the whole process */

/* A yield was short. The first one after such a time may only have been owed, so the next long ones tell. */
static void doubt_the_crowd(struct wh_backoff *backoff)
{
	if (backoff->crowded_until_ns == 0)
		return;
	backoff->crowded_until_ns = 0;
	backoff->lost_ns /= 2;
}

/* From a yield that has ended. What other threads have learnt of later times is possible, where it is shared. */
static void learn_from_yield(struct wh_backoff *backoff, uint64_t took_ns, uint64_t now)
{
	uint64_t crowded_ns = took_ns < CROWDED_MOST_NS / CROWDED_TIMES ? CROWDED_TIMES * took_ns : CROWDED_MOST_NS;
	uint64_t forgotten = now > backoff->lost_at_ns ? (now - backoff->lost_at_ns) / LOST_PART : 0;

	if (took_ns < YIELD_DEAR_NS) {
		doubt_the_crowd(backoff);
		return;
	}
	backoff->lost_ns = backoff->lost_ns > forgotten ? backoff->lost_ns - forgotten : 0;
	backoff->lost_ns += took_ns < LOST_BY_ONE_NS ? took_ns : LOST_BY_ONE_NS;
	backoff->lost_at_ns = now;
	if (backoff->lost_ns < LOST_MUCH_NS)
		return;
	backoff->lost_ns = LOST_MUCH_NS;
	backoff->lost_at_ns = backoff->crowded_until_ns =
		now + crowded_ns; /* until then no time is lost, and none forgotten */
}

static bool advise_sleep(struct wh_backoff *backoff)
{
	backoff->since_ns = 0;
	backoff->spent = true;
	return false;
}

static uint32_t fewest_looks(const struct wh_backoff *backoff)
{
	return backoff->dear ? DEAR_LOOKS_FEWEST : LOOKS_FEWEST;
}

bool wh_backoff_is_to_yield(const struct wh_backoff *backoff)
{
	return backoff->looks + 1 >= (backoff->enough > 0 ? backoff->enough : fewest_looks(backoff));
}

bool wh_backoff_wait(struct wh_backoff *backoff, const struct wh_env *env, uint64_t yield_ns)
{
	uint32_t fewest = fewest_looks(backoff);
	uint32_t most = backoff->dear ? DEAR_LOOKS_MOST : LOOKS_MOST;
	uint64_t before, after;

	if (backoff->enough == 0)
		backoff->enough = fewest;
	if (++backoff->looks < backoff->enough) {
		wh_cpu_relax();
		return true;
	}
	backoff->looks = 0;
	before = wh_env_now(env);
	if (before < backoff->crowded_until_ns && yield_ns != UINT64_MAX)
		return advise_sleep(backoff);
	sched_yield();
	after = wh_env_now(env);
	backoff->yields++;
	learn_from_yield(backoff, after - before, after);
	if (after - before >= YIELD_TAKEN_NS)
		backoff->enough = fewest;
	else if (backoff->enough < most)
		backoff->enough *= 2;
	if (backoff->since_ns == 0)
		backoff->since_ns = before;
	return after - backoff->since_ns < yield_ns || advise_sleep(backoff);
}
