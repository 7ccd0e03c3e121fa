/* restart.c - logs that survive, and a restart of all: what is tried. restart.h says what the model is, and what must hold.
 *
 * The rules must hold in all states of few nodes, or in all that are reached first, and in random runs of more. Then they are taken
 * out, one at a time, and each time what must not be has to be found.
 *
 *     restart [-v] [times [words]]
 *
 * One line for each; exit status 0 if there is no surprise. -v adds the way to each finding; with `times` the searches that are cut
 * off look at so many times as many states; with `words` only what has these in its line is tried.
 */
#include "restart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATES 80000 /* of a search that is cut off */
#define RUNS 8000
#define MOST 4000000 /* of one that has to see all */

enum extent {
	EVERY,   /* state */
	CUT_OFF, /* there are more than anybody waits for */
	RANDOM,  /* runs */
};

#define WORLD(...)                                                                                                     \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}

#define SMALL(n, k, m, v, r, c) .nodes = (n), .shards = (k), .messages = (m), .views = (v), .rounds = (r), .cuts = (c)
#define LONG(n, k)                                                                                                     \
	.nodes = (n), .shards = (k), .messages = 3, .views = 9, .rounds = 4, .cuts = 3, .crashes = 4, .joins = true
#define WITHOUT(rule) .mutation = (rule)

/* The numbers of a small world: nodes, shards, messages, views, rounds of restarts, how often the power goes. */
static const struct scenario {
	const char *what;
	enum extent extent;
	const char *expected; /* NULL: it holds */
	struct world world;
} scenarios[] = {
	{"the power goes once, one crashes", EVERY, NULL, WORLD(SMALL(3, 1, 1, 3, 1, 1), .crashes = 1)},
	{"the power goes, and again during the restart", CUT_OFF, NULL, WORLD(SMALL(3, 1, 1, 3, 2, 2))},
	{"two rounds, one crashes, a disk is lost", CUT_OFF, NULL,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), .crashes = 1, .lost = 1)},
	{"... a log rots", CUT_OFF, NULL, WORLD(SMALL(3, 1, 1, 3, 2, 1), .crashes = 1, .rot = 1)},
	{"... a tie-breaker", CUT_OFF, NULL, WORLD(SMALL(3, 1, 1, 3, 2, 1), .crashes = 1, .tie_breaker = true)},
	{"newcomers", CUT_OFF, NULL, WORLD(SMALL(3, 1, 1, 4, 1, 1), .crashes = 1, .joins = true, .tie_breaker = true)},
	{"some leave in order", CUT_OFF, NULL, WORLD(SMALL(3, 1, 1, 3, 1, 1), .crashes = 1, .leaves = true)},
	{"the group is formed", EVERY, NULL, WORLD(SMALL(3, 1, 1, 2, 1, 1), .groups = 2)},
	{"a member leaves its shard, and comes back", CUT_OFF, NULL,
	 WORLD(SMALL(3, 1, 1, 4, 1, 1), .joins = true, .moves = true)},
	{"one host", CUT_OFF, NULL, WORLD(SMALL(3, 1, 1, 3, 2, 1), .crashes = 3, .one_host = true, .absent = true)},
	{"the power goes", CUT_OFF, NULL, WORLD(SMALL(4, 1, 1, 3, 1, 1))},
	{"two shards, a log rots", CUT_OFF, NULL, WORLD(SMALL(4, 2, 1, 3, 1, 1), .rot = 1)},
	{"random: all of it", RANDOM, NULL, WORLD(LONG(4, 1), .leaves = true, .lost = 1)},
	{"random: a tie-breaker", RANDOM, NULL, WORLD(LONG(4, 1), .leaves = true, .rot = 1, .tie_breaker = true)},
	{"random: from the beginning", RANDOM, NULL, WORLD(LONG(3, 1), .leaves = true, .groups = 3)},
	{"random: two shards", RANDOM, NULL, WORLD(LONG(4, 2), .rot = 1)},
	{"random: members leave their shards", RANDOM, NULL, WORLD(LONG(4, 1), .rot = 1, .moves = true)},
	{"random: one host", RANDOM, NULL, WORLD(LONG(4, 1), .one_host = true)},
	/* Each rule taken out. */
	{"the frontier before the sync", CUT_OFF, LOST, WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(FRONTIER_BEFORE_SYNC))},
	{"an echo before the record is on disk", CUT_OFF, FORK,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(ECHO_BEFORE_RECORD))},
	{"the cut is made of what has been received", CUT_OFF, OTHERWISE,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(CUT_OF_RECEIVED))},
	{"... and is on disk before a member agrees", CUT_OFF, OTHERWISE,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(CUT_IS_AWAITED))},
	{"what is synced behind the wedge counts", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(WEDGED_COUNTS))},
	{"a start syncs not what it finds", CUT_OFF, OTHERWISE,
	 WORLD(SMALL(2, 1, 1, 2, 1, 0), .crashes = 3, WITHOUT(START_SYNCS_NOT))},
	{"the identity of the group is not synced", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 1, 2, 1, 1), .groups = 2, WITHOUT(IDENTITY_UNSYNCED))},
	{"a group is formed beside logs", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 1, 2, 1, 1), .groups = 2, WITHOUT(FORMS_BESIDE_LOGS))},
	{"blank disks form a group as a majority", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 1, 1, 2, 1, 1), .groups = 2, WITHOUT(BLANK_MAJORITY_FORMS))},
	{"a first view not begun forbids to form", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 1, 1, 2, 1, 1), .groups = 2, WITHOUT(FIRST_IS_A_LOG))},
	{"a blank disk votes", CUT_OFF, FORK, WORLD(SMALL(3, 1, 1, 3, 2, 1), .lost = 1, WITHOUT(BLANK_VOTES))},
	{"no majority is needed", CUT_OFF, FORK, WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(NO_MAJORITY))},
	{"no whole log is needed of some shard", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 2, 1, 2, 1, 1), .rot = 1, WITHOUT(SHARDS_FORGOTTEN))},
	{"a stale view is taken", CUT_OFF, FORK, WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(STALE_VIEW))},
	{"a view that one has agreed to is taken as begun", CUT_OFF, FORK,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), .tie_breaker = true, WITHOUT(AGREED_IS_BEGUN))},
	{"an agreement is not taken up", CUT_OFF, FORK, WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(AGREED_IS_NOTHING))},
	{"a round is agreed to after a later one was answered", CUT_OFF, FORK,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(NO_PROMISE))},
	{"a promise is not on disk", CUT_OFF, FORK,
	 WORLD(SMALL(3, 1, 0, 1, 3, 1), .crashes = 2, WITHOUT(PROMISE_FORGOTTEN))},
	{"a member begins when it has agreed itself", CUT_OFF, FORK,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(BEGINS_ALONE))},
	{"those that begin are too few", CUT_OFF, ALONE,
	 WORLD(SMALL(3, 1, 0, 3, 2, 1), .crashes = 1, WITHOUT(BEGINS_TOO_FEW))},
	{"what may have begun is given up for another round", CUT_OFF, ALONE,
	 WORLD(SMALL(3, 1, 0, 3, 2, 1), WITHOUT(GIVEN_UP_LATE))},
	{"the longest log, which not all have", CUT_OFF, OTHERWISE,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), WITHOUT(LONGEST_LOG))},
	{"what lies beyond a cut counts", CUT_OFF, OTHERWISE, WORLD(SMALL(3, 1, 2, 3, 1, 1), WITHOUT(VOID_COUNTS))},
	{"a newcomer's log counts early", CUT_OFF, OTHERWISE,
	 WORLD(SMALL(3, 1, 1, 4, 1, 1), .crashes = 1, .joins = true, .tie_breaker = true, WITHOUT(NEWCOMER_COUNTS))},
	{"rot is cut off", CUT_OFF, LOST, WORLD(SMALL(3, 1, 1, 3, 2, 1), .rot = 1, WITHOUT(ROT_IS_CUT))},
	{"a newcomer is there before that is on disk", CUT_OFF, OTHERWISE,
	 WORLD(SMALL(3, 1, 1, 4, 1, 1), .crashes = 1, .joins = true, .tie_breaker = true, WITHOUT(THERE_UNWRITTEN))},
	{"a view without a whole log", CUT_OFF, STUCK,
	 WORLD(SMALL(2, 1, 1, 4, 1, 0), .crashes = 2, .joins = true, .one_host = true, WITHOUT(NONE_IS_WHOLE))},
	{"... by its layout", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 1, 1, 4, 1, 0), .crashes = 1, .joins = true, .moves = true, WITHOUT(LAYOUT_UNREAD))},
	{"a layout takes a log out behind a restart", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 1, 1, 4, 2, 1), .joins = true, .moves = true, WITHOUT(RESTART_ASKS))},
	{"a log counts that has nothing of a view between", RANDOM, OTHERWISE,
	 WORLD(LONG(4, 2), .moves = true, WITHOUT(SHORT_COUNTS))},
	{"a node that left counts", CUT_OFF, FORK,
	 WORLD(SMALL(3, 1, 0, 3, 2, 1), .leaves = true, .tie_breaker = true, WITHOUT(LEFT_VOTES))},
	{"... not even in views before", CUT_OFF, FORK,
	 WORLD(SMALL(4, 1, 0, 3, 1, 1), .leaves = true, .tie_breaker = true, WITHOUT(LEFT_BEFORE))},
	{"it leaves, and its disk does not say so", CUT_OFF, FORK,
	 WORLD(SMALL(3, 1, 0, 3, 2, 1), .leaves = true, .tie_breaker = true, WITHOUT(LEAVES_UNMARKED))},
	{"it leaves though it has agreed to what follows", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 1, 3, 1, 1), .leaves = true, WITHOUT(LEAVES_WEDGED))},
	{"all left, so nobody is a member", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), .leaves = true, WITHOUT(ALL_LEFT_IS_NONE))},
	{"those that left stay out, though all are heard", RANDOM, STUCK,
	 WORLD(LONG(3, 1), .leaves = true, .groups = 3, WITHOUT(LEFT_STAY_OUT))},
	{"a log that is spoken for is not written", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), .crashes = 3, .one_host = true, .absent = true, WITHOUT(SPEAKS_UNWRITTEN))},
	{"not all logs of the host are read", CUT_OFF, FORK,
	 WORLD(SMALL(3, 1, 1, 3, 2, 1), .crashes = 3, .one_host = true, WITHOUT(DIRECTORIES_UNREAD))},
};

static bool is_expected(const struct scenario *sc, uint32_t times, bool verbose)
{
	const struct world *w = &sc->world;
	uint32_t limit = (sc->extent == CUT_OFF ? STATES : RUNS) * times;
	struct finding found =
		sc->extent == RANDOM
			? wander(w, limit, verbose)
			: explore(w, sc->extent == EVERY ? MOST : limit * (sc->expected != NULL ? 4 : 1), verbose);
	bool expected = found.wrong == sc->expected ||
			(found.wrong != NULL && sc->expected != NULL && strcmp(found.wrong, sc->expected) == 0);

	if (sc->extent == EVERY && !found.all && sc->expected == NULL)
		expected = false;
	printf("%u  %-52s %8u %s, %6u returns%s: %s%s\n", w->nodes, sc->what, found.looked,
	       sc->extent == RANDOM ? "runs" : "states", found.returns,
	       found.all || found.wrong != NULL || sc->extent == RANDOM ? "" : ", cut off",
	       found.wrong != NULL ? found.wrong : "holds", expected ? "" : "  <-- SURPRISE");
	fflush(stdout);
	return expected;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	long times = argc > 1 + verbose ? strtol(argv[1 + verbose], NULL, 10) : 1;
	const char *words = argc > 2 + verbose ? argv[2 + verbose] : NULL;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (words == NULL || strstr(scenarios[i].what, words) != NULL)
			surprises += !is_expected(&scenarios[i], times > 0 ? (uint32_t)times : 1, verbose);
	if (surprises > 0)
		printf("%d surprises\n", surprises);
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
