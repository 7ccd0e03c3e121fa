/* draw_wishes.c - schedules from a seed: which nodes enter and leave dynamic subgroups. See schedule.h.
 *
 * Several wishes at about the same time are served by one view; one that comes while a view changes waits for the next; and the leader
 * that has one, or has proposed what serves it, is what dies.
 */
#include "sim/schedule.h"
#include "transport/dice.h"

#define TOGETHER_US 3000 /* more than a leader waits for others (docs/decisions/0046) */

struct draw {
	struct wh_dice dice;
	const struct wh_schedule_limits *limits;
	struct wh_schedule *schedule;
	uint32_t most; /* as many as this */
};

static bool one_in(struct draw *draw, uint64_t n)
{
	return wh_dice_one_in(&draw->dice, n);
}

static uint64_t draw_below(struct draw *draw, uint64_t n)
{
	return wh_dice_below(&draw->dice, n > 0 ? n : 1);
}

static struct wh_fault *add_fault(struct draw *draw, enum wh_fault_kind kind, uint32_t node)
{
	struct wh_fault *fault;

	if (draw->schedule->count >= draw->most)
		return NULL;
	fault = &draw->schedule->faults[draw->schedule->count++];
	*fault = (struct wh_fault){.kind = kind, .node = node};
	return fault;
}

/* Some more often than others: so nodes meet there. */
static uint32_t draw_name(struct draw *draw)
{
	return (uint32_t)draw_below(draw, 1 + draw_below(draw, draw->limits->names));
}

/* Mostly it enters: there is nothing to leave before. */
static void draw_wish(struct draw *draw, uint32_t node, uint64_t at_us)
{
	static const enum wh_fault_kind kinds[] = {WH_FAULT_ENTER, WH_FAULT_ENTER, WH_FAULT_ENTER,
						   WH_FAULT_EXIT,  WH_FAULT_EXIT,  WH_FAULT_RELEASE};
	struct wh_fault *fault = add_fault(draw, kinds[draw_below(draw, 6)], node);

	if (fault == NULL)
		return;
	fault->name = draw_name(draw);
	fault->otherwise = fault->kind == WH_FAULT_ENTER && one_in(draw, 12);
	fault->at = at_us;
	if (!one_in(draw, 10))
		return;
	fault->moment = one_in(draw, 3)
				? WH_MOMENT_UPCALL
				: (enum wh_moment)(WH_MOMENT_WEDGE +
						   (int)draw_below(draw, WH_MOMENT_BEGUN - WH_MOMENT_WEDGE + 1));
	fault->after = fault->moment != WH_MOMENT_UPCALL;
	fault->at = 1 + draw_below(draw, fault->after ? 3 : 20);
}

/* Some at about the same time. Some of these are said by nodes that have not joined yet. */
static void draw_some(struct draw *draw)
{
	uint64_t span_us = 2 * draw->limits->span_us, at_us = one_in(draw, 4) ? 0 : draw_below(draw, span_us);
	uint32_t count = one_in(draw, 2) ? 1 : 2 + (uint32_t)draw_below(draw, 4);

	for (uint32_t i = 0; i < count; i++)
		draw_wish(draw, (uint32_t)draw_below(draw, draw->limits->ids),
			  at_us == 0 && one_in(draw, 2) ? 0 : at_us + draw_below(draw, TOGETHER_US));
}

/* The same name by one node, again and again: what it leaves may go on without it, or be gone. */
static void draw_rounds(struct draw *draw)
{
	uint32_t node = (uint32_t)draw_below(draw, draw->limits->ids);
	uint32_t name = draw_name(draw);
	uint64_t at_us = draw_below(draw, draw->limits->span_us);

	for (uint32_t i = 2 + (uint32_t)draw_below(draw, 2); i > 0; i--) {
		struct wh_fault *enters = add_fault(draw, WH_FAULT_ENTER, node), *ends;

		ends = add_fault(draw, one_in(draw, 3) ? WH_FAULT_RELEASE : WH_FAULT_EXIT, node);
		if (enters == NULL || ends == NULL)
			return;
		enters->name = ends->name = name;
		enters->at = at_us;
		ends->at = at_us + draw_below(draw, one_in(draw, 3) ? TOGETHER_US : 8 * TOGETHER_US);
		at_us = ends->at + draw_below(draw, one_in(draw, 2) ? TOGETHER_US : 8 * TOGETHER_US);
	}
}

/* The leader ends, or stands still, when it may have a wish, or at a step of the change that serves it. */
static void trouble_leader(struct draw *draw)
{
	const struct wh_schedule *schedule = draw->schedule;
	uint64_t which = draw_below(draw, schedule->count), at_us = schedule->faults[which].at;
	bool at_time = wh_fault_is_wish(&schedule->faults[which]) && schedule->faults[which].moment == WH_MOMENT_TIME;
	struct wh_fault *fault =
		add_fault(draw, one_in(draw, 3) ? WH_FAULT_STALL : WH_FAULT_CRASH, one_in(draw, 4) ? 1 : 0);

	if (fault == NULL)
		return;
	fault->silently = fault->kind == WH_FAULT_CRASH && one_in(draw, 2);
	if (fault->kind == WH_FAULT_STALL)
		fault->for_us = 1 + draw_below(draw, 3 * draw->limits->failure_timeout_us);
	fault->at = at_us + draw_below(draw, one_in(draw, 2) ? TOGETHER_US : 8 * TOGETHER_US);
	if (at_time && one_in(draw, 2))
		return;
	fault->moment =
		(enum wh_moment)(WH_MOMENT_PROPOSE + (int)draw_below(draw, WH_MOMENT_INSTALL - WH_MOMENT_PROPOSE + 1));
	fault->after = one_in(draw, 2);
	fault->at = 1 + draw_below(draw, 3);
}

void wh_schedule_draw_wishes(struct wh_schedule *schedule, uint64_t seed, const struct wh_schedule_limits *limits)
{
	struct draw draw = {.dice = wh_dice_split(seed, 402), .limits = limits, .schedule = schedule};
	uint32_t wanted = 4 + (uint32_t)draw_below(&draw, WH_WISHES_DRAWN_MAX - 6);

	if (limits->names == 0 || limits->ids == 0)
		return;
	draw.most = schedule->count + wanted;
	while (schedule->count < draw.most)
		if (one_in(&draw, 8))
			draw_rounds(&draw);
		else
			draw_some(&draw);
	draw.most += 2;
	if (limits->faults > 0 && limits->nodes > 2 && one_in(&draw, 2) &&
	    (limits->kinds & 1u << WH_FAULT_CRASH) != 0 && (limits->kinds & 1u << WH_FAULT_STALL) != 0)
		trouble_leader(&draw);
}
