/* scenarios.h - programs that are lists of scenarios:
 *
 *     PROGRAM --list                         their names
 *     PROGRAM [--transport NAME] SCENARIO|all [REPETITIONS]
 *
 * A transport is that of [group], or tcp-relays: on tcp, and members relay in ordered subgroups.
 *
 * WHORL_SEED=n makes other moments, payloads and threads of it; each repetition has the next one. If logs do not agree they are
 * written to the file that WHORL_LOGS names.
 */
#ifndef WH_PROCESSES_SCENARIOS_H
#define WH_PROCESSES_SCENARIOS_H

#include <stddef.h>

#include "tests/processes/cluster.h"

struct scenario {
	const char *name;
	void (*run)(struct cluster *c); /* from a group that has begun to cluster_end */
	struct cluster_options options;
	bool starts_itself; /* nobody is started before */
};

/* The transport that comes first of the arguments, which is then no more one of them; NULL: none. */
const char *scenarios_transport(int *argc, char ***argv);

int scenarios_main(int argc, char **argv, const struct scenario *scenarios, size_t count);

#endif
