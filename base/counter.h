/* counter.h - figures that one thread writes and any thread may read while it does.
 *
 * A counter is raised with a relaxed load and store, not an atomic add: it has one writer.
 */
#ifndef WH_BASE_COUNTER_H
#define WH_BASE_COUNTER_H

#include "base/atomics.h"

static inline void wh_count(wh_word *counter, uint64_t n)
{
	wh_store_relaxed(counter, wh_load_relaxed(counter) + n);
}

static inline void wh_count_max(wh_word *counter, uint64_t value)
{
	if (value > wh_load_relaxed(counter))
		wh_store_relaxed(counter, value);
}

/* Batch sizes: bucket 0 counts batches of one, bucket b those of 2^b .. 2^(b+1)-1. */
#define WH_BATCH_BUCKETS 20

struct wh_batch_counter {
	wh_word batches;
	wh_word events;
	wh_word bucket[WH_BATCH_BUCKETS];
};

static inline void wh_count_batch(struct wh_batch_counter *counter, uint64_t size)
{
	unsigned bucket = 63u - (unsigned)__builtin_clzll(size | 1);

	wh_count(&counter->batches, 1);
	wh_count(&counter->events, size);
	wh_count(&counter->bucket[bucket < WH_BATCH_BUCKETS ? bucket : WH_BATCH_BUCKETS - 1], 1);
}

#endif
