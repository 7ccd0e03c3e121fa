/* restart.c - logs that survive, and a restart of all: what is tried. restart.h says what the model is, and what must hold.
 *
 * The rules must hold in all states of few nodes, or in all that are reached first, and in random runs of more. Then they are taken
 * out, one at a time, and each time what must not be has to be found.
 */
#include "restart.h"

#include <stdio.h>

#define SMALL(n, k, m, v, r, c) .nodes = (n), .shards = (k), .messages = (m), .views = (v), .rounds = (r), .cuts = (c)
#define LONG(n, k)                                                                                                     \
	.nodes = (n), .shards = (k), .messages = 3, .views = 9, .rounds = 4, .cuts = 3, .crashes = 4, .joins = true
#define WITHOUT(rule) .mutation = (rule)

/* The numbers of a small world: nodes, shards, messages, views, rounds of restarts, how often the power goes. */
static const struct trial trials[] = {
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
	{"others agree before those that have the whole logs", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 1, 0, 4, 2, 1), .moves = true, WITHOUT(LOGS_IN_NO_TURN))},
	{"what was said before the newest view was known counts", RANDOM, LOST,
	 WORLD(SMALL(3, 1, 2, 6, 4, 0), .joins = true, .crashes = 4, .leaves = true, WITHOUT(STALE_REPORTS))},
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

static void print_world(const struct world *w)
{
	printf("%u  ", w->nodes);
}

int main(int argc, char **argv)
{
	static const char *const notes[] = {"returns", NULL};
	static const struct model model = {
		.what = "restart: logs that survive, and a restart of all",
		.state_bytes = sizeof(struct state),
		.notes = notes,
		.counts = ALL_RIGHT,
		.most = 4000000,
		.cut_off = 80000,
		.runs = 8000,
		.to_find = 4,
		.gait = {.length = 120, .stretch = 12, .weights = {1, 8, 64, 256}},
		.begin = begin_world,
		.steps = steps_from,
		.take = take,
		.judge = look_back,
		.print_world = print_world,
		.print_step = print_step,
		.print_state = print_state,
		.print_more = print_back,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
