/* empty_state.h - the functions of a state of no bytes, for tests of what is around it. */
#ifndef WH_TESTS_UNIT_EMPTY_STATE_H
#define WH_TESTS_UNIT_EMPTY_STATE_H

#include <whorl/whorl.h>

static inline void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	(void)position;
	return ctx;
}

static inline ptrdiff_t read_snapshot(void *snapshot, void *bytes, size_t count, void *ctx)
{
	(void)snapshot;
	(void)bytes;
	(void)count;
	(void)ctx;
	return 0;
}

static inline void release_snapshot(void *snapshot, void *ctx)
{
	(void)snapshot;
	(void)ctx;
}

#endif
