#include "tests/support/await.h"

#include <time.h>

#define BUSY_MS 2 /* most of what is waited for is there by then */
#define REST_NS 100000

uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void await_rest(uint64_t began_ms)
{
	if (now_ms() - began_ms > BUSY_MS)
		clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = REST_NS}, NULL);
}
