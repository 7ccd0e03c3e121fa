/* await.h - for tests of what threads of the library do: to wait until something is there. It is looked for again
 * and again; behind the first few ms with rests between, as threads, and other tests, have better use for the processor. */
#ifndef WH_TESTS_SUPPORT_AWAIT_H
#define WH_TESTS_SUPPORT_AWAIT_H

#include <stdint.h>

#include "tests/harness.h"
#include "tests/patience.h"

#define ck_ok(call) ck_assert_int_eq((call), WHORL_OK)

uint64_t now_ms(void);

/* A rest, if the wait began a while ago. */
void await_rest(uint64_t began_ms);

/* Evaluates `step` until `condition` holds; fails after PATIENCE_MS, of which each lab has its own. */
#define await(condition, step)                                                                                         \
	do {                                                                                                           \
		uint64_t began_ms_ = now_ms();                                                                         \
		while (!(condition)) {                                                                                 \
			step;                                                                                          \
			ck_assert_msg(now_ms() - began_ms_ < (uint64_t)PATIENCE_MS, "this never came: %s",             \
				      #condition);                                                                     \
			await_rest(began_ms_);                                                                         \
		}                                                                                                      \
	} while (0)

#endif
