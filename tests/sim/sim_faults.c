/* sim_faults.c - what `whorl sim` tries unless it is told otherwise, one run for each seed: sim-faults, see runner.h. The same
 * seeds are the same runs: `whorl sim conf/sim.ini --seed N --runs 1` says more of one that fails, and shrinks it.
 */
#include <inttypes.h>

#include "sim/trial.h"
#include "tests/sim/runner.h"

static bool run(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
	struct wh_trial_options options;
	struct wh_verdict result;
	struct wh_trial trial;
	char line[WH_FAULT_TEXT];

	wh_option_defaults(&wh_trial_table, &options);
	wh_trial_make(&trial, &options, seed, NULL);
	if (verbose) {
		printf("seed %" PRIu64 ": ", seed);
		wh_plan_print(&trial.plan, stdout);
		for (uint32_t i = 0; i < trial.schedule.count; i++)
			printf("  %s\n", wh_fault_print(&trial.schedule.faults[i], line));
		fflush(stdout);
	}
	wh_trial_play(&trial, stdout, &result);
	snprintf(verdict, verdict_bytes, "%s", result.text);
	wh_trial_free(&trial);
	return result.good;
}

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 100, run);
}
