/* patience.c - see patience.h. */
#include "base/patience.h"

#include <sched.h>

#include "base/atomics.h"

#define LOOKS_FEWEST 8
#define LOOKS_MOST 256
#define DEAR_LOOKS_FEWEST 1
#define DEAR_LOOKS_MOST 8
/* A yield to nobody is one system call, a third of this; two switches of threads take longer. */
#define YIELD_TAKEN_NS 1500
/* A thread that computes is left its core for a millisecond or more. Those who look and yield are back in microseconds, unless one of
 * them has found much to do, which is no rule: so it takes some such yields in a row. */
#define YIELD_DEAR_NS WH_NS_PER_MS
#define DEAR_IN_A_ROW 8
/* One more is tried when so many as long as the last would have fit: they cost at most one part in so many. */
#define CROWDED_TIMES 64
#define CROWDED_MOST_NS WH_NS_PER_S /* also if that one was a stop of the whole process */

/* From a yield that has ended. */
static void learn(struct wh_patience *patience, uint64_t took_ns, uint64_t now)
{
	uint64_t crowded_ns = took_ns < CROWDED_MOST_NS / CROWDED_TIMES ? CROWDED_TIMES * took_ns : CROWDED_MOST_NS;

	if (took_ns < YIELD_DEAR_NS)
		patience->dear_yields = 0;
	else if (++patience->dear_yields >= DEAR_IN_A_ROW)
		patience->crowded_until_ns = now + crowded_ns;
}

bool wh_patience_wait(struct wh_patience *patience, const struct wh_env *env, uint64_t yield_ns)
{
	uint32_t fewest = patience->dear ? DEAR_LOOKS_FEWEST : LOOKS_FEWEST;
	uint32_t most = patience->dear ? DEAR_LOOKS_MOST : LOOKS_MOST;
	uint64_t before, after;

	if (patience->enough == 0)
		patience->enough = fewest;
	if (++patience->looks < patience->enough) {
		wh_cpu_relax();
		return true;
	}
	patience->looks = 0;
	before = wh_env_now(env);
	if (before < patience->crowded_until_ns && yield_ns != UINT64_MAX) {
		patience->since_ns = 0;
		return false;
	}
	sched_yield();
	after = wh_env_now(env);
	patience->yields++;
	learn(patience, after - before, after);
	if (after - before >= YIELD_TAKEN_NS)
		patience->enough = fewest;
	else if (patience->enough < most)
		patience->enough *= 2;
	if (patience->since_ns == 0)
		patience->since_ns = before;
	if (after - patience->since_ns < yield_ns)
		return true;
	patience->since_ns = 0;
	return false;
}
