/* runner.c - see runner.h. */
#include "tests/sim/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct options {
	uint64_t seed, runs;
	bool verbose;
};

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

int runner_main(int argc, char **argv, uint64_t runs, runner_fn *run)
{
	struct options options = {.seed = 1, .runs = runs};
	char verdict[512];

	if (!parse(argc, argv, &options)) {
		fprintf(stderr, "usage: %s [--seed N] [--runs K] [--verbose]\n", argv[0]);
		return 2;
	}
	for (uint64_t i = 0; i < options.runs; i++) {
		uint64_t seed = options.seed + i;

		if (run(seed, options.verbose, verdict, sizeof(verdict)))
			continue;
		printf("seed %" PRIu64 ": %s\nagain: %s --seed %" PRIu64 " --runs 1\n", seed, verdict, argv[0], seed);
		return 1;
	}
	printf("%" PRIu64 " runs from seed %" PRIu64 "\n", options.runs, options.seed);
	return 0;
}
