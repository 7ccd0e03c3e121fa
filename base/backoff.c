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
 * of them has found much to do, which is no rule: so it takes some such yields in a row. */
#define YIELD_DEAR_NS WH_NS_PER_MS
#define DEAR_IN_A_ROW 8
/* One more is tried when so many as long as the last would have fit: they cost at most one part in so many. */
#define CROWDED_TIMES 64
#define CROWDED_MOST_NS WH_NS_PER_S /* also if that one was a stop of the whole process */

/* From a yield that has ended. */
static void learn_from_yield(struct wh_backoff *backoff, uint64_t took_ns, uint64_t now)
{
	uint64_t crowded_ns = took_ns < CROWDED_MOST_NS / CROWDED_TIMES ? CROWDED_TIMES * took_ns : CROWDED_MOST_NS;

	if (took_ns < YIELD_DEAR_NS)
		backoff->dear_yields = 0;
	else if (++backoff->dear_yields >= DEAR_IN_A_ROW)
		backoff->crowded_until_ns = now + crowded_ns;
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
	if (before < backoff->crowded_until_ns && yield_ns != UINT64_MAX) {
		backoff->since_ns = 0;
		return false;
	}
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
	if (after - backoff->since_ns < yield_ns)
		return true;
	backoff->since_ns = 0;
	return false;
}
