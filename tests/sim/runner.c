/* runner.c - see runner.h. */
#include "tests/sim/runner.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define QUIET_S 30 /* as long as that nothing need be told, where no terminal is */

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

/* ---- how far it is -------------------------------------------------------------------------------------------------------------- */

struct progress {
	bool terminal; /* one line, written anew each second; else a line now and then */
	time_t told;
};

static time_t seconds(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

static void tell(struct progress *progress, const struct options *options, uint64_t done)
{
	time_t now = seconds();

	if (options->verbose || now - progress->told < (progress->terminal ? 1 : QUIET_S))
		return;
	progress->told = now;
	fprintf(stderr, "%s%" PRIu64 " of %" PRIu64 " runs%s", progress->terminal ? "\r" : "", done, options->runs,
		progress->terminal ? "" : "\n");
}

static void tell_no_more(const struct progress *progress)
{
	if (progress->terminal)
		fputs("\r\033[K", stderr);
}

int runner_main(int argc, char **argv, uint64_t runs, runner_fn *run)
{
	struct options options = {.seed = 1, .runs = runs};
	struct progress progress = {.terminal = isatty(STDERR_FILENO) == 1, .told = seconds()};
	char verdict[512];

	if (!parse(argc, argv, &options)) {
		fprintf(stderr, "usage: %s [--seed N] [--runs K] [--verbose]\n", argv[0]);
		return 2;
	}
	for (uint64_t i = 0; i < options.runs; i++) {
		uint64_t seed = options.seed + i;

		tell(&progress, &options, i);
		if (run(seed, options.verbose, verdict, sizeof(verdict)))
			continue;
		tell_no_more(&progress);
		printf("seed %" PRIu64 ": %s\nagain: %s --seed %" PRIu64 " --runs 1\n", seed, verdict, argv[0], seed);
		return 1;
	}
	tell_no_more(&progress);
	printf("%" PRIu64 " runs from seed %" PRIu64 "\n", options.runs, options.seed);
	return 0;
}
