/* patience.h - how long a test waits before it gives up, on a machine that may be busy with other things.
 *
 * A limit is written for a machine that does nothing else. Where more want to run than there are processors each gets a part of
 * one, and all takes as many times longer; so all limits are stretched by one factor, the load for each processor. It is asked for
 * anew each time: what is waited for may have begun on a quiet machine. tests/patience.sh is the same for scripts.
 *
 * Beyond WH_PATIENCE_MOST times nothing is waited for: then the machine is no place for tests; CTest's own limits
 * (tests/CMakeLists.txt) lie behind that.
 *
 *     WHORL_PATIENCE=n   the factor, instead of what is measured; of a test that is to fail it may be less than 1
 */
#ifndef WH_TESTS_PATIENCE_H
#define WH_TESTS_PATIENCE_H

#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sysinfo.h>

#define WH_PATIENCE_LEAST 0.1
#define WH_PATIENCE_MOST 5

/* At least 1, unless it is given. Works without /proc, in a chroot too. */
static inline double test_slowness(void)
{
	const char *given = getenv("WHORL_PATIENCE");
	struct sysinfo info = {0};
	cpu_set_t set;
	double factor, least = given != NULL ? WH_PATIENCE_LEAST : 1;

	CPU_ZERO(&set);
	if (given != NULL)
		factor = strtod(given, NULL);
	else if (sysinfo(&info) == 0 && sched_getaffinity(0, sizeof(set), &set) == 0 && CPU_COUNT(&set) > 0)
		factor = (double)info.loads[0] / (1 << SI_LOAD_SHIFT) / CPU_COUNT(&set);
	else
		factor = WH_PATIENCE_MOST;
	return factor < least ? least : factor > WH_PATIENCE_MOST ? WH_PATIENCE_MOST : factor;
}

/* So much longer than on a quiet machine, in whatever unit. */
static inline uint64_t test_patience(uint64_t quiet)
{
	return (uint64_t)((double)quiet * test_slowness());
}

#endif
