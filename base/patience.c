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
	before = wh_env_now(env);
	sched_yield();
	after = wh_env_now(env);
	patience->yields++;
	patience->looks = 0;
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
