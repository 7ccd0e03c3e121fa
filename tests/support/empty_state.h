/* empty_state.h - the functions of a state of no bytes, for tests of what is around it. */
#ifndef WH_TESTS_SUPPORT_EMPTY_STATE_H
#define WH_TESTS_SUPPORT_EMPTY_STATE_H

#include <whorl/whorl.h>

void *take_snapshot(const struct whorl_position *position, void *ctx);
ptrdiff_t read_snapshot(void *snapshot, void *bytes, size_t count, void *ctx);
void release_snapshot(void *snapshot, void *ctx);

#endif
