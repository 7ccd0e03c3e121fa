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
 * A2 is node A's second life.
 */
#include "meet.h"

#include <stdio.h>

#define BREAKS PARTED_BEFORE_TAKEN AND PARTED_AFTER_TAKEN

static const struct trial trials[] = {
	{"without guard, redial, reply", EVERY, NULL,
	 WORLD(.time_outs = 2, .calls = 3, .without = GUARD | REDIAL | REPLY)},
	{"without guard, redial, reply", EVERY, PARTED_BY_OTHER_LIFE,
	 WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .without = GUARD | REDIAL | REPLY)},
	{"without redial, reply", EVERY, NULL, WORLD(.time_outs = 2, .calls = 3, .without = REDIAL | REPLY)},
	{"without redial, reply", EVERY, NULL,
	 WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .without = REDIAL | REPLY)},
	{"without redial, reply", EVERY, NULL, WORLD(.restarts = 2, .calls = 2, .without = REDIAL | REPLY)},
	{"without redial, reply", EVERY, BREAKS,
	 WORLD(.breaks = 1, .time_outs = 1, .calls = 2, .without = REDIAL | REPLY)},
	{"without numbers, redial, reply", EVERY, PARTED_BY_OLDER_CALL,
	 WORLD(.time_outs = 2, .calls = 3, .without = NUMBERS | REDIAL | REPLY)},
	{"without keep, redial, reply", EVERY, PARTED_BY_GIVING_UP,
	 WORLD(.time_outs = 2, .calls = 3, .without = KEEP | REDIAL | REPLY)},

	{"all rules", EVERY, NULL, WORLD(.time_outs = 3, .restarts = 1, .calls = 3)},
	{"all rules", EVERY, NULL, WORLD(.time_outs = 2, .restarts = 2, .calls = 2)},
	{"all rules", EVERY, NULL, WORLD(.time_outs = 2, .restarts = 1, .restarts_of_a = 1, .calls = 2)},
	{"all rules", EVERY, NULL, WORLD(.restarts = 2, .restarts_of_a = 2, .calls = 2)},
	{"all rules", EVERY, BREAKS, WORLD(.breaks = 1, .time_outs = 2, .restarts = 1, .calls = 2)},
	{"all rules", EVERY, BREAKS, WORLD(.breaks = 2, .time_outs = 1, .calls = 3)},
	{"all rules", EVERY, BREAKS, WORLD(.breaks = 1, .restarts = 1, .restarts_of_a = 1, .calls = 2)},
	{"all rules", LARGE, NULL, WORLD(.time_outs = 4, .calls = 5)},
	{"all rules", LARGE, NULL, WORLD(.time_outs = 2, .restarts = 2, .calls = 3)},
	{"all rules", LARGE, NULL, WORLD(.time_outs = 2, .restarts = 2, .restarts_of_a = 1, .calls = 2)},
	{"all rules", LARGE, BREAKS, WORLD(.breaks = 3, .time_outs = 1, .calls = 3)},
	{"all rules", LARGE, BREAKS, WORLD(.breaks = 1, .time_outs = 1, .restarts = 2, .calls = 2)},
	{"all rules", LARGE, BREAKS, WORLD(.breaks = 1, .time_outs = 1, .restarts = 1, .restarts_of_a = 1, .calls = 2)},

	{"without numbers", EVERY, NULL,
	 WORLD(.time_outs = 2, .restarts = 2, .restarts_of_a = 1, .calls = 1, .without = NUMBERS)},
	{"without numbers", EVERY, PARTED_BY_OLDER_CALL, WORLD(.time_outs = 1, .calls = 2, .without = NUMBERS)},
	{"without numbers", EVERY, BREAKS AND PARTED_BY_OLDER_CALL, WORLD(.breaks = 1, .calls = 2, .without = NUMBERS)},
	{"without numbers", EVERY, PARTED_BY_OLDER_CALL, WORLD(.restarts = 1, .calls = 2, .without = NUMBERS)},
	{"without keep", EVERY, PARTED_BY_GIVING_UP, WORLD(.time_outs = 1, .calls = 1, .without = KEEP)},
	{"without guard", EVERY, PARTED_BY_OTHER_LIFE, WORLD(.restarts = 1, .calls = 1, .without = GUARD)},
	{"without guard", EVERY, PARTED_BY_OTHER_LIFE, WORLD(.restarts_of_a = 1, .calls = 1, .without = GUARD)},
	{"without crossed", EVERY, NULL, WORLD(.time_outs = 2, .restarts = 1, .calls = 2, .without = CROSSED)},
	{"without lives", EVERY, BREAKS AND TWICE_MET, WORLD(.breaks = 1, .calls = 1, .without = LIVES)},

	{"B1 is foreign: all rules", EVERY, NULL, WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .foreign = true)},
	{"B1 is foreign: without redial", EVERY, NULL,
	 WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .foreign = true, .without = REDIAL)},
	{"B1 is foreign: without once", EVERY, "told twice", WORLD(.calls = 1, .foreign = true, .without = ONCE)},
	{"B's calls are blocked: all rules", EVERY, NULL,
	 WORLD(.time_outs = 2, .restarts = 1, .calls = 2, .blocked = true)},
	{"B's calls are blocked: all rules", EVERY, BREAKS, WORLD(.breaks = 1, .calls = 2, .blocked = true)},
	{"B's calls are blocked: without greeted", EVERY, APART, WORLD(.calls = 1, .blocked = true, .without = GREETED)},
	{"B's calls are blocked: without reply", EVERY, BREAKS AND UNTOLD,
	 WORLD(.breaks = 1, .calls = 2, .blocked = true, .without = REPLY)},
	{"B1 is foreign, B's calls are blocked: all rules", EVERY, NULL,
	 WORLD(.time_outs = 1, .restarts = 1, .calls = 2, .foreign = true, .blocked = true)},
	{"B1 is foreign, B's calls are blocked: all rules", EVERY, BREAKS,
	 WORLD(.breaks = 1, .restarts = 1, .calls = 2, .foreign = true, .blocked = true)},
	{"B1 is foreign, B's calls are blocked: without redial", EVERY, APART,
	 WORLD(.restarts = 1, .calls = 2, .foreign = true, .blocked = true, .without = REDIAL)},
	{"B1 is foreign, B's calls are blocked: without redial, reply", EVERY, APART,
	 WORLD(.restarts = 1, .calls = 2, .foreign = true, .blocked = true, .without = REDIAL | REPLY)},
	{"B1 is foreign, B's calls are blocked: all rules", LARGE, BREAKS,
	 WORLD(.breaks = 1, .restarts = 2, .calls = 2, .foreign = true, .blocked = true)},
};

static void print_world(const struct world *w)
{
	printf("breaks %d, time-outs %d, restarts %d+%d, calls %d  ", w->breaks, w->time_outs, w->restarts_of_a,
	       w->restarts, w->calls);
}

int main(int argc, char **argv)
{
	static const struct model model = {
		.what = "meet: how two nodes meet, whatever becomes of their connections",
		.state_bytes = sizeof(struct state),
		.same_bytes = offsetof(struct state, torn),
		.notes = findings,
		.most = 8000000,
		.begin = begin,
		.steps = steps_from,
		.take = take,
		.judge = look,
		.conclude = conclude,
		.print_world = print_world,
		.print_step = print_step,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
