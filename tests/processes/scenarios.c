/* scenarios.c - see scenarios.h. */
#include "tests/processes/scenarios.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/processes/member.h"

/* A node that is merely slow must not be taken for dead: on a busy machine, and on the emulated processors that verbs are
 * tested on (tests/softroce/). */
#define SLOWER 6
#define PATIENT_MS 20000

static void play(const struct scenario *scenario, const char *transport, uint64_t seed)
{
	struct cluster_options options = scenario->options;
	static struct cluster c; /* large */
	uint64_t begin = now_ns();

	options.seed = seed;
	options.transport = transport;
	if (transport != NULL && strcmp(transport, "verbs") == 0 && options.timeout_ms < PATIENT_MS)
		options.timeout_ms *= SLOWER;
	if (options.timeout_ms < PATIENT_MS)
		options.timeout_ms = (uint32_t)test_patience(options.timeout_ms);
	/* So is one that comes back slowly: the others would drop a view that some have begun, and go on without these. */
	options.start_timeout_ms = (uint32_t)test_patience(options.start_timeout_ms);
	printf("%s, seed %" PRIu64 ": ", scenario->name, seed);
	fflush(stdout);
	if (scenario->starts_itself)
		cluster_make(&c, &options);
	else
		cluster_start(&c, &options);
	scenario->run(&c);
	printf("%.2f s", (double)(now_ns() - begin) / 1e9);
	printf(c.view_ms > 0 ? ", a new view after %.1f ms\n" : "\n", c.view_ms);
}

const char *scenarios_transport(int *argc, char ***argv)
{
	const char *transport = NULL;

	if (*argc > 2 && strcmp((*argv)[1], "--transport") == 0) {
		transport = (*argv)[2];
		(*argv)[2] = (*argv)[0];
		*argv += 2;
		*argc -= 2;
	}
	return transport;
}

int scenarios_main(int argc, char **argv, const struct scenario *scenarios, size_t count)
{
	const char *text = getenv("WHORL_SEED"), *transport = scenarios_transport(&argc, &argv);
	const char *wanted = argc > 1 ? argv[1] : "";
	uint64_t seed = text != NULL ? strtoull(text, NULL, 0) : 1;
	int repetitions = argc > 2 ? atoi(argv[2]) : 1;
	bool found = false;

	if (member_wanted(argc, argv))
		return member_main(argv);
	for (size_t i = 0; i < count; i++) {
		if (strcmp(wanted, "--list") == 0)
			found = puts(scenarios[i].name) >= 0;
		if (strcmp(wanted, "all") != 0 && strcmp(wanted, scenarios[i].name) != 0)
			continue;
		found = true;
		for (int n = 0; n < repetitions; n++)
			play(&scenarios[i], transport, seed + (uint64_t)n);
	}
	if (!found)
		fprintf(stderr, "usage: %s [--transport NAME] --list | all | SCENARIO [REPETITIONS]\n", argv[0]);
	return found ? EXIT_SUCCESS : 2;
}
