/* sim_random.c - random combinations of everything in the simulator, one run for each seed: see runner.h.
 *
 *     sim-random     one view: the widest range of groups and subgroups
 *     sim-faults     views that follow one another: a few nodes, and what goes wrong with them (FAULTS)
 *
 * Of a run that fails the property, the faults and the last events of each node are printed as well.
 */
#include <inttypes.h>

#include "sim/play.h"
#include "tests/sim/runner.h"

static bool run(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	struct wh_schedule schedule = {.count = 0};
	struct wh_play_result result;
	struct wh_plan plan;
	bool good;

#ifdef FAULTS
	const struct wh_plan_limits limits = {.nodes_min = 3,
					      .nodes = 7,
					      .subgroups = 4,
					      .rows_bytes = 2 << 20,
					      .deliveries = 1500,
					      .data_bytes = 1 << 20,
					      .failure_timeout_ms = WH_PLAN_SHORT_TIMEOUT_MS,
					      .shards = true};

	wh_plan_make(&plan, seed, &limits);
	wh_schedule_draw(&schedule, seed,
			 &(struct wh_schedule_limits){.nodes = (uint32_t)plan.config.group.nodes,
						      .faults = 3,
						      .kinds = UINT32_MAX,
						      .span_us = 2000 * WH_PLAN_SHORT_TIMEOUT_MS,
						      .failure_timeout_us = 1000 * WH_PLAN_SHORT_TIMEOUT_MS});
#else
	const struct wh_plan_limits limits = {
		.nodes = 16, .rows_bytes = 48 << 20, .deliveries = 4000, .data_bytes = 8 << 20};

	wh_plan_make(&plan, seed, &limits);
#endif
	if (verbose) {
		char line[WH_FAULT_TEXT];

		printf("seed %" PRIu64 ": ", seed);
		wh_plan_print(&plan, stdout);
		for (uint32_t i = 0; i < schedule.count; i++)
			printf("  %s\n", wh_fault_print(&schedule.faults[i], line));
		fflush(stdout);
	}
	good = wh_play_all(&plan, &schedule, &result, verdict, verdict_bytes, stdout);
	if (verbose)
		printf("  digest %016" PRIx64 ", %" PRIu64 " events, %" PRIu64 " deliveries, %" PRIu64
		       " nulls, %" PRIu64 " us, view %" PRIu64 "%s\n",
		       result.digest, result.steps, result.deliveries, result.nulls, result.virtual_ns / 1000,
		       result.views, result.progressed ? "" : ", no progress");
	wh_plan_free(&plan);
	return good;
}

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 100, run);
}
