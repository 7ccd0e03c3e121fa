#include "tests/support/empty_state.h"

void *take_snapshot(const struct whorl_position *position, void *ctx)
{
	(void)position;
	return ctx;
}

ptrdiff_t read_snapshot(void *snapshot, void *bytes, size_t count, void *ctx)
{
	(void)snapshot;
	(void)bytes;
	(void)count;
	(void)ctx;
	return 0;
}

void release_snapshot(void *snapshot, void *ctx)
{
	(void)snapshot;
	(void)ctx;
}
