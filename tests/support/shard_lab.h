/* shard_lab.h - what the tests of replicated trusts share: types that may be replicated, and functions for them. */
#ifndef WH_TESTS_SUPPORT_SHARD_LAB_H
#define WH_TESTS_SUPPORT_SHARD_LAB_H

#include <whorl/delegate.h>

#include "tests/support/delegate_lab.h"

/* ---- a sum, and how often something was added ------------------------------------------------------------------------------------- */

struct sum {
	uint64_t n, adds;
};

extern const struct whorl_type sum_type;
WHORL_FUNCTION_DECLARED(sum_add, struct sum, struct add, uint64_t);
WHORL_FUNCTION_DECLARED(sum_next, struct sum, struct add, uint64_t); /* n: how many did not come in their turn */
WHORL_FUNCTION_DECLARED(sum_read, struct sum, struct whorl_none, struct sum);
WHORL_FUNCTION_DECLARED(sum_dice, struct sum, struct add, uint64_t); /* that is not deterministic */

/* Does not return while it is held: the worker lags. */
extern atomic_bool sums_are_held;

/* ---- a line of words: more than its struct ----------------------------------------------------------------------------------------- */

struct words {
	char *text;
	uint64_t bytes;
};

extern atomic_int words_alive; /* texts that are not freed yet */
extern const struct whorl_type words_type;
extern const struct whorl_function words_say, words_all; /* of bytes: adds; all of them */

/* One that its process keeps, and one that nobody lists. */
struct kept {
	uint64_t a;
};
extern const struct whorl_type kept_type;
WHORL_FUNCTION_DECLARED(kept_add, struct kept, struct add, uint64_t);

#endif
