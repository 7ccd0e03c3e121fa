/* delegate_lab.h - what the tests of delegation share: some types of properties, and functions for them. */
#ifndef WH_TESTS_UNIT_DELEGATE_LAB_H
#define WH_TESTS_UNIT_DELEGATE_LAB_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>

#include <whorl/delegate.h>

#include "tests/harness.h"
#include "tests/patience.h"

#define PATIENCE_MS (patience_ms())
#define ck_ok(call) ck_assert_int_eq((call), WHORL_OK)

/* It is asked for a million times: as it was at first. */
static inline int patience_ms(void)
{
	static atomic_int patience;
	int ms = atomic_load_explicit(&patience, memory_order_relaxed);

	if (ms == 0) {
		ms = (int)test_patience(20000);
		atomic_store_explicit(&patience, ms, memory_order_relaxed);
	}
	return ms;
}

static inline uint64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* Evaluates `step` until `condition` holds. */
#define await(condition, step)                                                                                         \
	do {                                                                                                           \
		uint64_t began_ms_ = now_ms();                                                                         \
		while (!(condition)) {                                                                                 \
			step;                                                                                          \
			ck_assert_msg(now_ms() - began_ms_ < (uint64_t)PATIENCE_MS, "this never came: %s",             \
				      #condition);                                                                     \
		}                                                                                                      \
	} while (0)

/* ---- a counter ----------------------------------------------------------------------------------------------------------------- */

struct counter {
	uint64_t n;
};

struct add {
	uint64_t by;
};

static atomic_int counters_dropped;

static inline void counter_drop(void *property)
{
	(void)property;
	atomic_fetch_add(&counters_dropped, 1);
}

static WHORL_TYPE_WITH(counter_type, struct counter, counter_drop, WHORL_TYPE_TRAVELS);

WHORL_FUNCTION(counter_add, struct counter, struct add, uint64_t, WHORL_DETERMINISTIC)
{
	property->n += args->by;
	*result = property->n;
}

WHORL_FUNCTION(counter_get, struct counter, struct whorl_none, uint64_t, WHORL_READ)
{
	*result = property->n;
}

/* ---- some text ------------------------------------------------------------------------------------------------------------------ */

struct text {
	size_t bytes;
	unsigned char data[4096];
};

static WHORL_TYPE(text_type, struct text, NULL);

/* Gives back what it gets, twice. */
WHORL_FUNCTION_OF_BYTES(text_twice, struct text, 0)
{
	if (whorl_reply_add(reply, data, bytes) != WHORL_OK || whorl_reply_add(reply, data, bytes) != WHORL_OK)
		property->bytes = SIZE_MAX;
}

WHORL_FUNCTION_OF_BYTES(text_same, struct text, 0)
{
	if (whorl_reply_add(reply, data, bytes) != WHORL_OK)
		property->bytes = SIZE_MAX;
}

/* One that is not registered where the list is made by hand, and the same with a wrong type. */
struct other {
	uint64_t a, b;
};

static WHORL_TYPE(other_type, struct other, NULL);

WHORL_FUNCTION(other_sum, struct other, struct whorl_none, uint64_t, WHORL_READ)
{
	*result = property->a + property->b;
}

/* ------------------------------------------------------------------------------------------------------------------------------- */

static inline whorl_work *open_work(uint32_t workers)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = workers, WHORL_FUNCTIONS_LINKED};
	whorl_work *work;

	ck_assert_msg(whorl_work_open(NULL, &options, &work) == WHORL_OK, "%s", whorl_invalid_text());
	return work;
}

static inline struct whorl_place at(uint32_t worker)
{
	return whorl_at_worker(WHORL_NODE_HERE, worker);
}

static inline struct whorl_trust entrust_counter(whorl_work *work, uint32_t worker, uint64_t n)
{
	struct whorl_trust trust;

	ck_ok(whorl_entrust(work, at(worker), &counter_type, &(struct counter){n}, sizeof(struct counter), &trust,
			    PATIENCE_MS));
	return trust;
}

static inline uint64_t value_of(const struct whorl_trust *trust)
{
	uint64_t n = 0;

	ck_ok(whorl_apply(trust, counter_get, NULL, &n, PATIENCE_MS));
	return n;
}

static inline void close_work(whorl_work *work)
{
	ck_ok(whorl_work_close(work, PATIENCE_MS));
}

static inline struct whorl_worker_stats stats_of(const whorl_work *work, uint32_t worker)
{
	struct whorl_worker_stats stats = {.size = sizeof(stats)};

	ck_ok(whorl_worker_statistics(work, worker, &stats));
	return stats;
}

#endif
