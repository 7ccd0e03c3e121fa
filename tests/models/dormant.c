/* dormant.c - durable subgroups made at run time, of which no member may be left: what is tried. dormant.h says what the model is, and
 * what must hold.
 *
 * The rules must hold in all states of a small world. Then they are taken out, one at a time, and each time what must not be has to be
 * found.
 */
#include "dormant.h"

#define LONG(n) .nodes = (n), .messages = 3, .views = 14, .crashes = 6, .powers = 2
#define SMALL(n, m, v, c) .nodes = (n), .messages = (m), .views = (v), .crashes = (c)
#define DROPS .drops = true, .calm = true
#define WITHOUT(rule) .mutation = (rule)

static const struct trial trials[] = {
	{"two nodes", EVERY, NULL, WORLD(SMALL(2, 1, 6, 2), .leaves = true)},
	{"two nodes, more crashes", EVERY, NULL, WORLD(SMALL(2, 1, 7, 3))},
	{"two nodes, the power goes", EVERY, NULL, WORLD(SMALL(2, 1, 5, 2), .leaves = true, .powers = 1)},
	{"two nodes, a disk is lost, a program begins anew", EVERY, NULL,
	 WORLD(SMALL(2, 1, 7, 2), .anew = 1, .lost = 1)},
	{"three nodes", EVERY, NULL, WORLD(SMALL(3, 1, 5, 2))},
	{"three nodes, the power goes", CUT_OFF, NULL, WORLD(SMALL(3, 1, 6, 2), .leaves = true, .powers = 1)},
	{"three nodes, a log rots", CUT_OFF, NULL, WORLD(SMALL(3, 2, 6, 2), .rot = 1)},
	{"those without a whole log go out", CUT_OFF, NULL, WORLD(SMALL(3, 2, 6, 3), DROPS)},
	{"random: the power goes twice", RANDOM, NULL, WORLD(LONG(3), .leaves = true)},
	{"random: a disk is lost, a program begins anew", RANDOM, NULL,
	 WORLD(LONG(3), .leaves = true, .lost = 1, .anew = 1)},
	{"random: a log rots", RANDOM, NULL, WORLD(LONG(3), .leaves = true, .rot = 1)},
	{"random: those without a whole log go out", RANDOM, NULL, WORLD(LONG(3), .leaves = true, DROPS)},
	/* Each rule taken out. */
	{"an old log counts though its member has entered since", CUT_OFF, LOST,
	 WORLD(SMALL(3, 2, 7, 3), .rot = 1, WITHOUT(ENTERED_COUNTS))},
	{"a view is decided before that before it is on disk", CUT_OFF, STUCK,
	 WORLD(SMALL(2, 1, 6, 3), WITHOUT(BEGUN_LATE))},
	{"a founder that has begun nothing is mute", CUT_OFF, STUCK, WORLD(SMALL(3, 1, 6, 2), WITHOUT(FOUNDER_IS_MUTE))},
	{"... or speaks with a blank disk", CUT_OFF, LOST, WORLD(SMALL(3, 1, 6, 2), .lost = 1, WITHOUT(BLANK_FOUNDER))},
	{"all logs that count come back", CUT_OFF, OTHERWISE, WORLD(SMALL(3, 2, 6, 3), WITHOUT(ALL_COME_BACK))},
	{"the cut is the most", CUT_OFF, LOST, WORLD(SMALL(3, 1, 5, 2), WITHOUT(CUT_IS_MOST))},
	{"a log counts that is not whole", CUT_OFF, OTHERWISE, WORLD(SMALL(3, 1, 6, 2), WITHOUT(WHOLE_UNASKED))},
	{"... of another birth", CUT_OFF, STUCK, WORLD(SMALL(2, 1, 7, 3), .anew = 1, WITHOUT(BIRTH_UNASKED))},
	{"... of a node that was no last member", CUT_OFF, LOST, WORLD(SMALL(3, 1, 6, 2), WITHOUT(ANYBODY_COUNTS))},
	{"frontiers are not read", CUT_OFF, LOST, WORLD(SMALL(2, 1, 5, 2), .rot = 1, WITHOUT(FRONTIER_UNREAD))},
	{"where no holding counts it begins with nothing", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 5, 2), WITHOUT(BEGINS_EMPTY))},
	{"a member leaves before another's log is whole", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 1, 6, 1), .leaves = true, WITHOUT(LEAVER_GOES))},
	{"a view without a whole log", CUT_OFF, STUCK, WORLD(SMALL(3, 1, 6, 2), WITHOUT(NONE_IS_WHOLE))},
	{"... is waited for, and only those start that are down", CUT_OFF, STUCK,
	 WORLD(SMALL(2, 1, 6, 2), .calm = true)},
	{"those that go out deliver what is below the cut", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 6, 2), DROPS, WITHOUT(DROPPED_DELIVER))},
	{"an entry goes when its node comes in", CUT_OFF, STUCK, WORLD(SMALL(3, 1, 6, 2), WITHOUT(NEWCOMER_FORGETS))},
	{"some leave in the view that leaves out another", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 6, 2), .leaves = true, WITHOUT(FAILURES_SERVE))},
	/* What no rule rests on. */
	{"random: an entry stays when others go on", RANDOM, NULL,
	 WORLD(LONG(3), .leaves = true, WITHOUT(STALE_IS_KEPT))},
	{"random: a holding says not the cut", RANDOM, NULL, WORLD(LONG(3), .leaves = true, WITHOUT(CUT_UNKNOWN))},
};

int main(int argc, char **argv)
{
	static const char *const notes[] = {"returns", NULL};
	static const struct model model = {
		.what = "dormant: durable subgroups made at run time, of which no member may be left",
		.state_bytes = sizeof(struct state),
		.notes = notes,
		.counts = ALL_RIGHT,
		.most = 40000000,
		.cut_off = 60000,
		.runs = 5000,
		.to_find = 4,
		.gait = {.length = 120, .stretch = 12, .weights = {1, 8, 64, 256}},
		.begin = begin_world,
		.steps = steps_from,
		.take = take,
		.tidy = tidy,
		.judge = look_back,
		.print_step = print_step,
		.print_state = print_state,
		.print_more = print_back,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
