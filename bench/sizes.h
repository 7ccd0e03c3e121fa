/* sizes.h - how large the messages of each subgroup of a benchmark are, and how many are claimed at a time: bench/sizes.c. */
#ifndef WH_BENCH_SIZES_H
#define WH_BENCH_SIZES_H

#include "bench/bench.h"

/* Of those of the subgroup that the file calls so. */
int64_t wh_bench_bytes_of(const struct wh_bench_plan *plan, const char *name);
/* How many a sender claims at a time there. */
int64_t wh_bench_batch_of(const struct wh_bench_plan *plan, const char *name);

/* Where the file does not say how large messages are they fit into all slots; and then, where a subgroup does not say how large its
 * slots are, they fit what is sent: in the bound configuration, before there are copies of a subgroup. */
void wh_bench_fit_bytes(struct wh_bench_plan *plan);
void wh_bench_fit_slots(struct wh_bench_plan *plan);
/* Notes which do not fit, and sizes of subgroups that there are none of. */
void wh_bench_size_mistakes(const struct wh_bench_plan *plan);
/* Notes which batches can never be claimed, or not be committed. */
void wh_bench_batch_mistakes(const struct wh_bench_plan *plan);

/* Of a plan that is made. Are the messages that are sent of several sizes? */
bool wh_bench_is_mixed(const struct wh_bench_plan *plan);
/* Of all that are delivered. */
double wh_bench_mean_bytes(const struct wh_bench_plan *plan);

#endif
