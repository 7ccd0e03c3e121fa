/* clock.h - the machine's monotonic clock, and the units of time. The core asks its environment instead (env.h): in simulation time is another. */
#ifndef WH_BASE_CLOCK_H
#define WH_BASE_CLOCK_H

#include <stdint.h>
#include <time.h>

#define WH_NS_PER_US UINT64_C(1000)
#define WH_NS_PER_MS UINT64_C(1000000)
#define WH_NS_PER_S UINT64_C(1000000000)

static inline uint64_t wh_clock_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * WH_NS_PER_S + (uint64_t)now.tv_nsec;
}

#endif
