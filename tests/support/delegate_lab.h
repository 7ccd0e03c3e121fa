/* delegate_lab.h - what the tests of delegation share: some types of properties, and functions for them. */
#ifndef WH_TESTS_SUPPORT_DELEGATE_LAB_H
#define WH_TESTS_SUPPORT_DELEGATE_LAB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include <whorl/delegate.h>

#include "tests/support/await.h"

#define PATIENCE_MS (patience_ms())

/* It is asked for a million times: as it was at first. */
int patience_ms(void);

/* ---- a counter ----------------------------------------------------------------------------------------------------------------- */

struct counter {
	uint64_t n;
};

struct add {
	uint64_t by;
};
extern atomic_int counters_dropped;
extern const struct whorl_type counter_type;
WHORL_FUNCTION_DECLARED(counter_add, struct counter, struct add, uint64_t);
WHORL_FUNCTION_DECLARED(counter_get, struct counter, struct whorl_none, uint64_t);

/* ---- some text ------------------------------------------------------------------------------------------------------------------ */

struct text {
	size_t bytes;
	unsigned char data[4096];
};
extern const struct whorl_type text_type;

/* Gives back what it gets, twice. */
extern const struct whorl_function text_twice;
extern const struct whorl_function text_same;

/* One that is not registered where the list is made by hand, and the same with a wrong type. */
struct other {
	uint64_t a, b;
};
extern const struct whorl_type other_type;
WHORL_FUNCTION_DECLARED(other_sum, struct other, struct whorl_none, uint64_t);

/* ------------------------------------------------------------------------------------------------------------------------------- */

whorl_work *open_work(uint32_t workers);
struct whorl_place at(uint32_t worker);
struct whorl_trust entrust_counter(whorl_work *work, uint32_t worker, uint64_t n);
uint64_t value_of(const struct whorl_trust *trust);
void close_work(whorl_work *work);
struct whorl_worker_stats worker_stats_of(const whorl_work *work, uint32_t worker);

#endif
