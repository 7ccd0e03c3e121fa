/* sim_random.c - random combinations of everything in the simulator, one run for each seed.
 *
 *     sim-random [--seed N] [--runs K] [--verbose]
 *
 * Runs seeds N to N+K-1; N is also taken from WHORL_SEED. The first run that breaks a property ends it: the seed, the
 * event, the property, the last events of each node and the command that plays it again are printed. Exit status: 0 all
 * good, 1 a property is broken, 2 usage.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tests/sim/play.h"

struct options {
	uint64_t seed, runs;
	bool verbose;
};

static int usage(void)
{
	fprintf(stderr, "usage: sim-random [--seed N] [--runs K] [--verbose]\n");
	return 2;
}

static bool number_of(const char *text, uint64_t *out)
{
	char *end;

	if (text == NULL || *text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &end, 0);
	return *end == '\0';
}

static bool parse(int argc, char **argv, struct options *options)
{
	const char *seed = getenv("WHORL_SEED");

	if (seed != NULL && !number_of(seed, &options->seed))
		return false;
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--verbose") == 0)
			options->verbose = true;
		else if (strcmp(argv[i], "--seed") == 0 && number_of(argv[i + 1], &options->seed))
			i++;
		else if (strcmp(argv[i], "--runs") == 0 && number_of(argv[i + 1], &options->runs))
			i++;
		else
			return false;
	}
	return true;
}

int main(int argc, char **argv)
{
	const struct plan_limits limits = {
		.nodes = 16, .rows_bytes = 48 << 20, .deliveries = 4000, .data_bytes = 8 << 20};
	struct options options = {.seed = 1, .runs = 100};
	struct play_result result, sum = {0};
	char verdict[512];

	if (!parse(argc, argv, &options))
		return usage();
	for (uint64_t seed = options.seed; seed < options.seed + options.runs; seed++) {
		struct plan plan;
		bool good;

		plan_make(&plan, seed, &limits);
		if (options.verbose) {
			printf("seed %" PRIu64 ": ", seed);
			plan_print(&plan, stdout);
			fflush(stdout);
		}
		good = play_all(&plan, &result, verdict, sizeof(verdict), stdout);
		plan_free(&plan);
		if (!good) {
			printf("seed %" PRIu64 ": %s\nagain: %s --seed %" PRIu64 " --runs 1\n", seed, verdict, argv[0],
			       seed);
			return 1;
		}
		if (options.verbose)
			printf("  digest %016" PRIx64 ", %" PRIu64 " events, %" PRIu64 " deliveries, %" PRIu64
			       " nulls, %" PRIu64 " us\n",
			       result.digest, result.steps, result.deliveries, result.nulls, result.virtual_ns / 1000);
		sum.steps += result.steps;
		sum.deliveries += result.deliveries;
		sum.nulls += result.nulls;
	}
	printf("%" PRIu64 " runs from seed %" PRIu64 ": %" PRIu64 " events, %" PRIu64 " deliveries, %" PRIu64
	       " nulls\n",
	       options.runs, options.seed, sum.steps, sum.deliveries, sum.nulls);
	return 0;
}
