#include "tests/support/delegate_lab.h"

int patience_ms(void)
{
	static atomic_int patience;
	int ms = atomic_load_explicit(&patience, memory_order_relaxed);

	if (ms == 0) {
		ms = (int)test_patience(20000);
		atomic_store_explicit(&patience, ms, memory_order_relaxed);
	}
	return ms;
}

atomic_int counters_dropped;

static void counter_drop(void *property)
{
	(void)property;
	atomic_fetch_add(&counters_dropped, 1);
}

WHORL_TYPE_WITH(counter_type, struct counter, counter_drop, WHORL_TYPE_TRAVELS);

WHORL_FUNCTION(counter_add, struct counter, struct add, uint64_t, WHORL_DETERMINISTIC)
{
	property->n += args->by;
	*result = property->n;
}

WHORL_FUNCTION(counter_get, struct counter, struct whorl_none, uint64_t, WHORL_READ)
{
	*result = property->n;
}

WHORL_TYPE(text_type, struct text, NULL);

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

WHORL_TYPE(other_type, struct other, NULL);

WHORL_FUNCTION(other_sum, struct other, struct whorl_none, uint64_t, WHORL_READ)
{
	*result = property->a + property->b;
}

whorl_work *open_work(uint32_t workers)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = workers, WHORL_FUNCTIONS_LINKED};
	whorl_work *work;

	ck_assert_msg(whorl_work_open(NULL, &options, &work) == WHORL_OK, "%s", whorl_invalid_text());
	return work;
}

struct whorl_place at(uint32_t worker)
{
	return whorl_at_worker(WHORL_NODE_HERE, worker);
}

struct whorl_trust entrust_counter(whorl_work *work, uint32_t worker, uint64_t n)
{
	struct whorl_trust trust;

	ck_ok(whorl_entrust(work, at(worker), &counter_type, &(struct counter){n}, sizeof(struct counter), &trust,
			    PATIENCE_MS));
	return trust;
}

uint64_t value_of(const struct whorl_trust *trust)
{
	uint64_t n = 0;

	ck_ok(whorl_apply(trust, counter_get, NULL, &n, PATIENCE_MS));
	return n;
}

void close_work(whorl_work *work)
{
	ck_ok(whorl_work_close(work, PATIENCE_MS));
}

struct whorl_worker_stats worker_stats_of(const whorl_work *work, uint32_t worker)
{
	struct whorl_worker_stats stats = {.size = sizeof(stats)};

	ck_ok(whorl_worker_statistics(work, worker, &stats));
	return stats;
}
