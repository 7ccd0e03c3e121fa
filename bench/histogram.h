/* histogram.h - a histogram of times with a bounded relative error and a fixed size.
 *
 * Up to 64 each value has a bucket; above, each power of two is cut into 32, so a value is known to 1/32, and its
 * bucket's middle to 1.6 %. No allocation, one writer.
 */
#ifndef WH_BENCH_HISTOGRAM_H
#define WH_BENCH_HISTOGRAM_H

#include <stdint.h>

#define WH_HISTOGRAM_BITS 5 /* each power of two is cut into 2^5 */
#define WH_HISTOGRAM_TOP 42 /* values of 2^42 (an hour, in nanoseconds) and more count as the greatest */
#define WH_HISTOGRAM_BUCKETS ((WH_HISTOGRAM_TOP - WH_HISTOGRAM_BITS + 1) << WH_HISTOGRAM_BITS)

struct wh_histogram {
	uint64_t count, greatest;
	uint64_t bucket[WH_HISTOGRAM_BUCKETS];
};

static inline void wh_histogram_add(struct wh_histogram *histogram, uint64_t value)
{
	const uint64_t limit = (UINT64_C(1) << WH_HISTOGRAM_TOP) - 1;
	uint64_t at = value < limit ? value : limit;
	/* how far to shift so that WH_HISTOGRAM_BITS + 1 bits are left */
	unsigned shift =
		at >> (WH_HISTOGRAM_BITS + 1) == 0 ? 0 : 63u - WH_HISTOGRAM_BITS - (unsigned)__builtin_clzll(at);

	histogram->bucket[((uint64_t)shift << WH_HISTOGRAM_BITS) + (at >> shift)]++;
	histogram->count++;
	if (value > histogram->greatest)
		histogram->greatest = value;
}

/* Adds `from` to `into`. */
void wh_histogram_merge(struct wh_histogram *into, const struct wh_histogram *from);

/* The value that `share` (0 to 1) of the values do not exceed; 0 if there are none. */
double wh_histogram_quantile(const struct wh_histogram *histogram, double share);

#endif
