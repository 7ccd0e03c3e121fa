/* sim_random.c - random combinations of everything in the simulator, in one view, one run for each seed: sim-random, see
 * runner.h. The widest range of groups and subgroups; sim_faults.c has what goes wrong.
 *
 * Of a run that fails the property and the last events of each node are printed as well.
 */
#include <inttypes.h>

#include "sim/play.h"
#include "tests/sim/runner.h"

static bool run(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	const struct wh_plan_limits limits = {
		.nodes = 16, .rows_bytes = 48 << 20, .deliveries = 4000, .data_bytes = 8 << 20};
	struct wh_play_result result;
	struct wh_plan plan;
	bool good;

	wh_plan_make(&plan, seed, &limits);
	if (verbose) {
		printf("seed %" PRIu64 ": ", seed);
		wh_plan_print(&plan, stdout);
		fflush(stdout);
	}
	good = wh_play_all(&plan, NULL, &result, verdict, verdict_bytes, stdout);
	if (verbose)
		printf("  digest %016" PRIx64 ", %" PRIu64 " events, %" PRIu64 " deliveries, %" PRIu64
		       " nulls, %" PRIu64 " us\n",
		       result.digest, result.steps, result.deliveries, result.nulls, result.virtual_ns / 1000);
	wh_plan_free(&plan);
	return good;
}

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 100, run);
}
