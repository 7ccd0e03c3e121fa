/* sim_random.c - random combinations of everything in the simulator, one run for each seed: sim-random, see
 * runner.h.
 *
 * Of a run that fails the event, the property and the last events of each node are printed as well.
 */
#include <inttypes.h>

#include "tests/sim/play.h"
#include "tests/sim/runner.h"

static bool run(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	const struct plan_limits limits = {
		.nodes = 16, .rows_bytes = 48 << 20, .deliveries = 4000, .data_bytes = 8 << 20};
	struct play_result result;
	struct plan plan;
	bool good;

	plan_make(&plan, seed, &limits);
	if (verbose) {
		printf("seed %" PRIu64 ": ", seed);
		plan_print(&plan, stdout);
		fflush(stdout);
	}
	good = play_all(&plan, &result, verdict, verdict_bytes, stdout);
	if (verbose)
		printf("  digest %016" PRIx64 ", %" PRIu64 " events, %" PRIu64 " deliveries, %" PRIu64
		       " nulls, %" PRIu64 " us\n",
		       result.digest, result.steps, result.deliveries, result.nulls, result.virtual_ns / 1000);
	plan_free(&plan);
	return good;
}

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 100, run);
}
