/* flavours.h - kinds of runs. A run that has a little of everything seldom has enough of anything: so each has a flavour first,
 * and its plan and its schedule are drawn as the flavour wants them, within the limits that are given.
 */
#ifndef WH_SIM_FLAVOURS_H
#define WH_SIM_FLAVOURS_H

#include "sim/schedule.h"

enum wh_flavours {
	WH_FLAVOUR_ANY, /* one of the others, drawn from the seed */
	WH_FLAVOUR_MIXED,
	WH_FLAVOUR_FIRST = WH_FLAVOUR_MIXED,
	WH_FLAVOUR_LINKS,
	WH_FLAVOUR_SLEEPERS,
	WH_FLAVOUR_LEADERS,
	WH_FLAVOUR_TAKEOVERS,
	WH_FLAVOUR_SPLITS,
	WH_FLAVOUR_LEAVES,
	WH_FLAVOUR_JOINS,
	WH_FLAVOUR_RESTARTS,
	WH_FLAVOUR_COUNT
};

/* What a schedule begins with. */
enum wh_opening {
	WH_OPENING_NONE,
	WH_OPENING_TAKEOVER,    /* one node ends, and then the leader, with its decision under way */
	WH_OPENING_BETWEEN_TWO, /* a cut parts two sides, and the nodes that hear both stand still */
};

enum wh_habit {
	WH_HABIT_JOINS = 1 << 0,        /* nodes come later, come back, and have states restored */
	WH_HABIT_RETURNS = 1 << 1,      /* nearly all that go come back, not half of them */
	WH_HABIT_SINGLE_LINKS = 1 << 2, /* a cut is mostly of one link, one way */
	WH_HABIT_LOW_RANKS = 1 << 3,    /* what goes wrong does so with the nodes that lead */
	WH_HABIT_STEPS = 1 << 4,        /* it comes at steps of a change and in the middle of them, seldom at times */
};

struct wh_flavour {
	const char *name;
	uint32_t weight;                 /* where any will do */
	uint32_t nodes_min, nodes_max;   /* configured */
	uint32_t faults_min, faults_max; /* but for those that follow from others, as returns */
	uint8_t kinds[WH_FAULT_JOIN]; /* how often each kind of harm is drawn: crash, stall, cut, slow, break, leave */
	uint32_t slow_max;            /* by how much a link is slower, at most */
	uint32_t window_max;
	enum wh_opening opening;
	uint32_t habits; /* bits of enum wh_habit */
};

extern const char *const wh_flavour_names[WH_FLAVOUR_COUNT + 1]; /* NULL at the end */

/* `flavour` is one of enum wh_flavours. */
const struct wh_flavour *wh_flavour_of(int flavour, uint64_t seed);

static inline bool wh_flavour_has(const struct wh_flavour *flavour, enum wh_habit habit)
{
	return (flavour->habits & (uint32_t)habit) != 0;
}

#endif
