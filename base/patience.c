/* patience.c - see patience.h. */
#include "base/patience.h"

#include <sched.h>

#include "base/atomics.h"

#define LOOKS_FEWEST 8
#define LOOKS_MOST 256
/* A yield to nobody is one system call, a third of this; two switches of threads take longer. */
#define YIELD_TAKEN_NS 1500

bool wh_patience_wait(struct wh_patience *patience, const struct wh_env *env, uint64_t yield_ns)
{
	uint64_t before, after;

	if (patience->enough == 0)
		patience->enough = LOOKS_FEWEST;
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
		patience->enough = LOOKS_FEWEST;
	else if (patience->enough < LOOKS_MOST)
		patience->enough *= 2;
	if (patience->since_ns == 0)
		patience->since_ns = before;
	if (after - patience->since_ns < yield_ns)
		return true;
	patience->since_ns = 0;
	return false;
}
