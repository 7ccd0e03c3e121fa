/* meet.c - that two nodes meet: what is tried of it. meet.h says what the model is, and what must hold.
 *
 * The rules must hold in all states of worlds that have so many faults. Then they are left out, one at a time, and
 * what each is there for must be found. It takes:
 *
 *     guard     a restart, and a call of either life: three steps
 *     keep      a time-out, and one call: four steps
 *     numbers   two calls of one life, and a time-out (three steps), a break (five) or a restart of the other (seven);
 *               with one call of each life it is not found
 *     redial    a life of another configuration, a restart, and a wire on which that node's calls do not get through
 *     reply     such a wire, and a break
 *     greeted   such a wire
 *
 * The first worlds have neither guard nor redial nor reply: there a late call of an ended life parts two that live.
 * The rule that of two calls that cross one counts is not needed here: without it both are hung up, and the nodes
 * call again. Calls that cross each time, for ever, are not in the model.
 *
 *     meet [-v] [soak]
 *
 * One line for each world, and below it the shortest course to each finding: A2 is node A's second life, and behind
 * the bar there are no faults any more. Exit status 0 if there is no surprise. -v has a line for each step of a
 * course; with `soak` the worlds that are too large for every day are tried too.
 */
#include "meet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 8000000 /* states of a world */

#define FOUND(finding) (1U << (finding))
#define BREAKS (FOUND(BREAK_BEFORE_TAKEN) | FOUND(BREAK_AFTER_TAKEN))
#define NOTHING_FOUND 0

#define WORLD(...)                                                                                                     \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}

enum extent { EVERY_DAY, SOAK };

static const struct scenario {
	const char *what;
	enum extent extent;
	uint32_t expected; /* findings */
	struct world world;
} scenarios[] = {
	{"without guard, redial, reply", EVERY_DAY, NOTHING_FOUND,
	 WORLD(.time_outs = 2, .calls = 3, .without = GUARD | REDIAL | REPLY)},
	{"without guard, redial, reply", EVERY_DAY, FOUND(OTHER_LIFE),
	 WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .without = GUARD | REDIAL | REPLY)},
	{"without redial, reply", EVERY_DAY, NOTHING_FOUND,
	 WORLD(.time_outs = 2, .calls = 3, .without = REDIAL | REPLY)},
	{"without redial, reply", EVERY_DAY, NOTHING_FOUND,
	 WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .without = REDIAL | REPLY)},
	{"without redial, reply", EVERY_DAY, NOTHING_FOUND, WORLD(.restarts = 2, .calls = 2, .without = REDIAL | REPLY)},
	{"without redial, reply", EVERY_DAY, BREAKS,
	 WORLD(.breaks = 1, .time_outs = 1, .calls = 2, .without = REDIAL | REPLY)},
	{"without numbers, redial, reply", EVERY_DAY, FOUND(OLDER_CALL),
	 WORLD(.time_outs = 2, .calls = 3, .without = NUMBERS | REDIAL | REPLY)},
	{"without keep, redial, reply", EVERY_DAY, FOUND(GAVE_UP),
	 WORLD(.time_outs = 2, .calls = 3, .without = KEEP | REDIAL | REPLY)},

	{"all rules", EVERY_DAY, NOTHING_FOUND, WORLD(.time_outs = 3, .restarts = 1, .calls = 3)},
	{"all rules", EVERY_DAY, NOTHING_FOUND, WORLD(.time_outs = 2, .restarts = 2, .calls = 2)},
	{"all rules", EVERY_DAY, NOTHING_FOUND, WORLD(.time_outs = 2, .restarts = 1, .restarts_of_a = 1, .calls = 2)},
	{"all rules", EVERY_DAY, NOTHING_FOUND, WORLD(.restarts = 2, .restarts_of_a = 2, .calls = 2)},
	{"all rules", EVERY_DAY, BREAKS, WORLD(.breaks = 1, .time_outs = 2, .restarts = 1, .calls = 2)},
	{"all rules", EVERY_DAY, BREAKS, WORLD(.breaks = 2, .time_outs = 1, .calls = 3)},
	{"all rules", EVERY_DAY, BREAKS, WORLD(.breaks = 1, .restarts = 1, .restarts_of_a = 1, .calls = 2)},
	{"all rules", SOAK, NOTHING_FOUND, WORLD(.time_outs = 4, .calls = 5)},
	{"all rules", SOAK, NOTHING_FOUND, WORLD(.time_outs = 2, .restarts = 2, .calls = 3)},
	{"all rules", SOAK, NOTHING_FOUND, WORLD(.time_outs = 2, .restarts = 2, .restarts_of_a = 1, .calls = 2)},
	{"all rules", SOAK, BREAKS, WORLD(.breaks = 3, .time_outs = 1, .calls = 3)},
	{"all rules", SOAK, BREAKS, WORLD(.breaks = 1, .time_outs = 1, .restarts = 2, .calls = 2)},
	{"all rules", SOAK, BREAKS, WORLD(.breaks = 1, .time_outs = 1, .restarts = 1, .restarts_of_a = 1, .calls = 2)},

	{"without numbers", EVERY_DAY, NOTHING_FOUND,
	 WORLD(.time_outs = 2, .restarts = 2, .restarts_of_a = 1, .calls = 1, .without = NUMBERS)},
	{"without numbers", EVERY_DAY, FOUND(OLDER_CALL), WORLD(.time_outs = 1, .calls = 2, .without = NUMBERS)},
	{"without numbers", EVERY_DAY, BREAKS | FOUND(OLDER_CALL), WORLD(.breaks = 1, .calls = 2, .without = NUMBERS)},
	{"without numbers", EVERY_DAY, FOUND(OLDER_CALL), WORLD(.restarts = 1, .calls = 2, .without = NUMBERS)},
	{"without keep", EVERY_DAY, FOUND(GAVE_UP), WORLD(.time_outs = 1, .calls = 1, .without = KEEP)},
	{"without guard", EVERY_DAY, FOUND(OTHER_LIFE), WORLD(.restarts = 1, .calls = 1, .without = GUARD)},
	{"without guard", EVERY_DAY, FOUND(OTHER_LIFE), WORLD(.restarts_of_a = 1, .calls = 1, .without = GUARD)},
	{"without crossed", EVERY_DAY, NOTHING_FOUND,
	 WORLD(.time_outs = 2, .restarts = 1, .calls = 2, .without = CROSSED)},
	{"without lives", EVERY_DAY, BREAKS | FOUND(MET_TWICE), WORLD(.breaks = 1, .calls = 1, .without = LIVES)},

	{"B1 is foreign: all rules", EVERY_DAY, NOTHING_FOUND,
	 WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .foreign = true)},
	{"B1 is foreign: without redial", EVERY_DAY, NOTHING_FOUND,
	 WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .foreign = true, .without = REDIAL)},
	{"B1 is foreign: without once", EVERY_DAY, FOUND(TOLD_TWICE),
	 WORLD(.calls = 1, .foreign = true, .without = ONCE)},
	{"B's calls are blocked: all rules", EVERY_DAY, NOTHING_FOUND,
	 WORLD(.time_outs = 2, .restarts = 1, .calls = 2, .blocked = true)},
	{"B's calls are blocked: all rules", EVERY_DAY, BREAKS, WORLD(.breaks = 1, .calls = 2, .blocked = true)},
	{"B's calls are blocked: without greeted", EVERY_DAY, FOUND(NEVER_MEET),
	 WORLD(.calls = 1, .blocked = true, .without = GREETED)},
	{"B's calls are blocked: without reply", EVERY_DAY, BREAKS | FOUND(NOT_TOLD),
	 WORLD(.breaks = 1, .calls = 2, .blocked = true, .without = REPLY)},
	{"B1 is foreign, B's calls are blocked: all rules", EVERY_DAY, NOTHING_FOUND,
	 WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .foreign = true, .blocked = true)},
	{"B1 is foreign, B's calls are blocked: all rules", EVERY_DAY, BREAKS,
	 WORLD(.breaks = 1, .restarts = 1, .calls = 2, .foreign = true, .blocked = true)},
	{"B1 is foreign, B's calls are blocked: without redial", EVERY_DAY, FOUND(NEVER_MEET),
	 WORLD(.restarts = 1, .calls = 2, .foreign = true, .blocked = true, .without = REDIAL)},
	{"B1 is foreign, B's calls are blocked: without redial, reply", EVERY_DAY, FOUND(NEVER_MEET),
	 WORLD(.restarts = 1, .calls = 2, .foreign = true, .blocked = true, .without = REDIAL | REPLY)},
	{"B1 is foreign, B's calls are blocked: all rules", SOAK, BREAKS,
	 WORLD(.breaks = 1, .restarts = 2, .calls = 2, .foreign = true, .blocked = true)},
};

static const char *const texts[FINDINGS] = {
	"all meet",
	"parted by a break between HELLO and TAKEN",
	"parted by a break after TAKEN",
	"parted when the node that had answered gave up",
	"parted by an older call",
	"parted by a call of another incarnation",
	"parted otherwise",
	"not parted, and never meet",
	"one is not told",
	"met twice",
	"told twice",
};

static bool is_expected(const struct scenario *sc, bool verbose)
{
	const struct world *w = &sc->world;
	uint32_t found = 0;
	struct result r;
	bool expected;

	explore(w, MOST, &r);
	printf("%-60s %6d %9d %10d+%d %5d %8u  ", sc->what, w->breaks, w->time_outs, w->restarts_of_a, w->restarts,
	       w->calls, r.states);
	for (int f = HOLDS + 1; f < FINDINGS; f++) {
		if (r.counts[f] > 0)
			printf("%s%s (%u)", found != 0 ? "; " : "", texts[f], r.counts[f]);
		found |= r.counts[f] > 0 ? FOUND(f) : 0;
	}
	expected = found == sc->expected && r.all;
	printf("%s%s%s\n", found == 0 ? texts[HOLDS] : "", r.all ? "" : ", cut off", expected ? "" : "  <-- SURPRISE");
	for (int f = HOLDS + 1; f < FINDINGS; f++) {
		if (r.counts[f] == 0)
			continue;
		printf("    %s:%s", texts[f], verbose ? "\n" : " ");
		print_course(w, &r.courses[f], verbose);
	}
	fflush(stdout);
	return expected;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	bool soak = argc > 1 + verbose && strcmp(argv[1 + verbose], "soak") == 0;
	int surprises = 0;

	printf("%-60s %6s %9s %12s %5s %8s\n", "", "breaks", "time-outs", "restarts A+B", "calls", "states");
	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (soak || scenarios[i].extent == EVERY_DAY)
			surprises += !is_expected(&scenarios[i], verbose);
	if (surprises > 0)
		printf("%d surprises\n", surprises);
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
