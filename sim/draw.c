/* draw.c - schedules from a seed: what goes wrong. draw_joins.c: who comes, and comes back. See schedule.h.
 *
 * Faults that meet are what breaks protocols: the later ones of a schedule come close behind the first, at steps of the
 * change of view that it causes, or a failure time-out later.
 */
#include "sim/schedule.h"
#include "transport/dice.h"

#define HARMS ((1u << WH_FAULT_JOIN) - 1) /* the kinds that break something */

struct draw {
	struct wh_dice dice;
	const struct wh_schedule_limits *limits;
	uint64_t harmed; /* nodes that will not come back */
	uint64_t last_us;
};

static uint32_t node(struct draw *draw)
{
	return (uint32_t)wh_dice_below(&draw->dice, draw->limits->ids);
}

/* Neither empty nor all. */
static uint64_t part(struct draw *draw)
{
	uint64_t all = (UINT64_C(1) << draw->limits->ids) - 1, set = 0;

	if (wh_dice_one_in(&draw->dice, 2))
		return UINT64_C(1) << node(draw);
	while (set == 0 || set == all)
		set = wh_dice_roll(&draw->dice) & all;
	return set;
}

static uint64_t duration(struct draw *draw)
{
	uint64_t timeout = draw->limits->failure_timeout_us;

	switch (wh_dice_below(&draw->dice, 4)) {
	case 0:
		return wh_dice_between(&draw->dice, 1, timeout / 4);
	case 1:
		return wh_dice_between(&draw->dice, timeout / 2, timeout * 3 / 2);
	case 2:
		return wh_dice_between(&draw->dice, timeout, 2 * timeout);
	default:
		return wh_dice_between(&draw->dice, 2 * timeout, 6 * timeout);
	}
}

static void draw_time(struct draw *draw, struct wh_fault *fault, bool first)
{
	uint64_t timeout = draw->limits->failure_timeout_us;

	fault->moment = WH_MOMENT_TIME;
	if (first || wh_dice_one_in(&draw->dice, 3))
		fault->at = wh_dice_below(&draw->dice, draw->limits->span_us + 1);
	else if (wh_dice_one_in(&draw->dice, 2)) /* while the others find out */
		fault->at = draw->last_us + wh_dice_below(&draw->dice, 2 * timeout);
	else
		fault->at = draw->last_us + wh_dice_below(&draw->dice, timeout / 20 + 1);
	draw->last_us = fault->at;
}

/* A step of the change of view that the first fault causes, or any push in it. */
static void draw_step(struct draw *draw, struct wh_fault *fault)
{
	if (wh_dice_one_in(&draw->dice, 3)) {
		fault->moment = WH_MOMENT_PUSH;
		fault->at = wh_dice_between(&draw->dice, 1, 24);
		return;
	}
	fault->moment = (enum wh_moment)wh_dice_between(&draw->dice, WH_MOMENT_SUSPECT, WH_MOMENT_INSTALL);
	fault->at = wh_dice_one_in(&draw->dice, 4) ? 2 : 1;
}

static void draw_moment(struct draw *draw, struct wh_fault *fault, bool first)
{
	if (wh_dice_one_in(&draw->dice, 12)) {
		fault->moment = WH_MOMENT_UPCALL;
		fault->at = wh_dice_between(&draw->dice, 1, 20);
	} else if (first || wh_dice_one_in(&draw->dice, 3)) {
		draw_time(draw, fault, first);
	} else {
		draw_step(draw, fault);
	}
}

/* What comes behind the first is mostly what can come at a step. */
static enum wh_fault_kind draw_kind(struct draw *draw, bool first)
{
	static const enum wh_fault_kind weights[] = {
		WH_FAULT_CRASH, WH_FAULT_CRASH, WH_FAULT_CRASH, WH_FAULT_CRASH, WH_FAULT_STALL, WH_FAULT_STALL,
		WH_FAULT_CUT,   WH_FAULT_CUT,   WH_FAULT_SLOW,  WH_FAULT_BREAK, WH_FAULT_LEAVE,
	};
	uint32_t kinds = draw->limits->kinds, steps = kinds & (1u << WH_FAULT_CRASH | 1u << WH_FAULT_STALL);
	enum wh_fault_kind kind;

	if (!first && steps != 0 && wh_dice_one_in(&draw->dice, 2))
		kinds = steps;
	do
		kind = weights[wh_dice_below(&draw->dice, sizeof(weights) / sizeof(weights[0]))];
	while ((kinds >> kind & 1) == 0);
	return kind;
}

/* Who does this step? Leaders, those of the lowest ranks that are left, propose and decide; the others echo. */
static uint32_t doer(struct draw *draw, enum wh_moment moment)
{
	bool leads = moment == WH_MOMENT_PROPOSE || moment == WH_MOMENT_DECIDE;
	uint32_t leader = 0;

	while (leader + 1 < draw->limits->nodes && (draw->harmed >> leader & 1) != 0)
		leader++;
	if (leads && !wh_dice_one_in(&draw->dice, 4))
		return leader;
	if (moment == WH_MOMENT_ECHO && leader + 1 < draw->limits->nodes)
		return (uint32_t)wh_dice_between(&draw->dice, leader + 1, draw->limits->nodes - 1);
	return node(draw);
}

/* One more node goes for good: a majority is to be left in most runs. */
static uint32_t victim(struct draw *draw, enum wh_moment moment)
{
	uint32_t at = doer(draw, moment);
	uint32_t gone = (uint32_t)__builtin_popcountll(draw->harmed);

	if (2 * (gone + 1) >= draw->limits->nodes && !wh_dice_one_in(&draw->dice, 4))
		while (draw->harmed != 0 && (draw->harmed >> at & 1) == 0)
			at = (at + 1) % draw->limits->ids;
	draw->harmed |= UINT64_C(1) << at;
	return at;
}

static void draw_one(struct draw *draw, struct wh_fault *fault, bool first)
{
	*fault = (struct wh_fault){.kind = draw_kind(draw, first)};
	switch (fault->kind) {
	case WH_FAULT_CRASH:
		draw_moment(draw, fault, first);
		fault->node = victim(draw, fault->moment);
		fault->silently = wh_dice_one_in(&draw->dice, 2);
		return;
	case WH_FAULT_STALL:
		draw_moment(draw, fault, first);
		fault->node = doer(draw, fault->moment);
		fault->for_us = duration(draw);
		return;
	case WH_FAULT_LEAVE:
		fault->node = victim(draw, WH_MOMENT_TIME);
		break;
	case WH_FAULT_CUT:
	case WH_FAULT_BREAK:
		fault->from = part(draw);
		fault->to = ((UINT64_C(1) << draw->limits->ids) - 1) & ~fault->from;
		if (wh_dice_one_in(&draw->dice, 3))
			fault->to &= ~fault->to + 1; /* one of them alone */
		fault->both = fault->kind == WH_FAULT_CUT && wh_dice_one_in(&draw->dice, 2);
		fault->for_us = fault->kind == WH_FAULT_CUT ? duration(draw) : 0;
		break;
	default:
		fault->from = UINT64_C(1) << node(draw);
		fault->to = ((UINT64_C(1) << draw->limits->ids) - 1) & ~fault->from;
		fault->factor = (uint32_t)wh_dice_between(&draw->dice, 2, 100);
		fault->for_us = duration(draw);
		break;
	}
	draw_time(draw, fault, first);
}

void wh_schedule_draw(struct wh_schedule *schedule, uint64_t seed, const struct wh_schedule_limits *limits)
{
	struct draw draw = {.dice = wh_dice_split(seed, 400), .limits = limits};
	uint32_t most = limits->faults < WH_FAULTS_MAX ? limits->faults : WH_FAULTS_MAX;

	schedule->count = 0;
	if (most == 0)
		return;
	if ((limits->kinds & HARMS) != 0 && limits->nodes > 1 && !wh_dice_one_in(&draw.dice, 16)) {
		schedule->count = (uint32_t)wh_dice_between(&draw.dice, 1, most);
		if (wh_dice_one_in(&draw.dice, 4))
			schedule->count = 1;
		for (uint32_t i = 0; i < schedule->count; i++)
			draw_one(&draw, &schedule->faults[i], i == 0);
	}
	wh_schedule_draw_joins(schedule, seed, limits);
}
