/* histogram.c - see histogram.h. */
#include "bench/histogram.h"

#include <math.h>

void wh_histogram_merge(struct wh_histogram *into, const struct wh_histogram *from)
{
	into->count += from->count;
	if (from->greatest > into->greatest)
		into->greatest = from->greatest;
	for (unsigned b = 0; b < WH_HISTOGRAM_BUCKETS; b++)
		into->bucket[b] += from->bucket[b];
}

/* The middle of a bucket's values. Inverse of wh_histogram_add: bucket b is shift << BITS plus a value below 2 << BITS;
 * the value's top bit is set unless shift is 0. */
static double middle_of_bucket(unsigned b)
{
	unsigned shift = b >> (WH_HISTOGRAM_BITS + 1) == 0 ? 0 : (b >> WH_HISTOGRAM_BITS) - 1;
	uint64_t least = (uint64_t)(b - (shift << WH_HISTOGRAM_BITS)) << shift;
	uint64_t width = UINT64_C(1) << shift;

	return (double)least + (double)(width - 1) / 2;
}

double wh_histogram_quantile(const struct wh_histogram *histogram, double share)
{
	uint64_t wanted = (uint64_t)ceil(share * (double)histogram->count), seen = 0;

	if (histogram->count == 0)
		return 0;
	if (wanted >= histogram->count)
		return (double)histogram->greatest;
	for (unsigned b = 0; b < WH_HISTOGRAM_BUCKETS; b++) {
		seen += histogram->bucket[b];
		if (seen >= wanted && histogram->bucket[b] > 0)
			return fmin(middle_of_bucket(b), (double)histogram->greatest);
	}
	return (double)histogram->greatest;
}
