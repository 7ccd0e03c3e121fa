/* draw.c - schedules from a seed: what goes wrong. draw_joins.c: nodes that come, and come back. See schedule.h.
 *
 * Faults that meet are what breaks protocols: the later ones of a schedule come close behind the first, at steps of the
 * change of view that it causes, or a failure time-out later.
 */
#include "sim/flavours.h"
#include "sim/schedule.h"
#include "transport/dice.h"

#define HARMS ((1u << WH_FAULT_JOIN) - 1) /* the kinds that break something */

struct draw {
	struct wh_dice dice;
	const struct wh_schedule_limits *limits;
	const struct wh_flavour *flavour;
	uint64_t harmed; /* nodes that will not come back */
	uint64_t last_us;
};

static uint32_t draw_node(struct draw *draw)
{
	uint64_t one = wh_dice_below(&draw->dice, draw->limits->ids);

	return (uint32_t)(wh_flavour_has(draw->flavour, WH_HABIT_LOW_RANKS) ? wh_dice_below(&draw->dice, one + 1)
									    : one);
}

static bool may_draw(const struct draw *draw, enum wh_fault_kind kind)
{
	return (draw->limits->kinds >> kind & 1) != 0;
}

/* Neither empty nor all. */
static uint64_t draw_part(struct draw *draw)
{
	uint64_t all = (UINT64_C(1) << draw->limits->ids) - 1, set = 0;

	if (wh_dice_one_in(&draw->dice, 2))
		return UINT64_C(1) << draw_node(draw);
	while (set == 0 || set == all)
		set = wh_dice_roll(&draw->dice) & all;
	return set;
}

static uint64_t draw_duration(struct draw *draw)
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
	fault->after = wh_flavour_has(draw->flavour, WH_HABIT_STEPS) && wh_dice_one_in(&draw->dice, 2);
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
	} else if (first || wh_dice_one_in(&draw->dice, wh_flavour_has(draw->flavour, WH_HABIT_STEPS) ? 6 : 3)) {
		draw_time(draw, fault, first);
	} else {
		draw_step(draw, fault);
	}
}

static enum wh_fault_kind draw_weighted(struct draw *draw, const uint8_t *weights)
{
	uint64_t sum = 0, at;
	int kind = 0;

	for (int k = 0; k < WH_FAULT_JOIN; k++)
		sum += weights[k];
	at = wh_dice_below(&draw->dice, sum);
	while (at >= weights[kind])
		at -= weights[kind++];
	return (enum wh_fault_kind)kind;
}

/* What comes behind the first is mostly what can come at a step. */
static enum wh_fault_kind draw_kind(struct draw *draw, bool first)
{
	uint32_t kinds = draw->limits->kinds, steps = kinds & (1u << WH_FAULT_CRASH | 1u << WH_FAULT_STALL);
	enum wh_fault_kind kind;

	if (!first && steps != 0 && !wh_flavour_has(draw->flavour, WH_HABIT_SINGLE_LINKS) &&
	    wh_dice_one_in(&draw->dice, 2))
		kinds = steps;
	do
		kind = draw_weighted(draw, draw->flavour->kinds);
	while ((kinds >> kind & 1) == 0);
	return kind;
}

/* Which node does this step? Leaders, those of the lowest ranks that are left, propose and decide; the others echo. */
static uint32_t draw_doer(struct draw *draw, enum wh_moment moment)
{
	bool leads = moment == WH_MOMENT_PROPOSE || moment == WH_MOMENT_DECIDE;
	uint32_t leader = 0;

	while (leader + 1 < draw->limits->nodes && (draw->harmed >> leader & 1) != 0)
		leader++;
	if (leads && !wh_dice_one_in(&draw->dice, 4))
		return leader;
	if (moment == WH_MOMENT_ECHO && leader + 1 < draw->limits->nodes)
		return (uint32_t)wh_dice_between(&draw->dice, leader + 1, draw->limits->nodes - 1);
	return draw_node(draw);
}

/* One more node goes for good: a majority is to be left in most runs; or one node, if it can go on. */
static uint32_t draw_victim(struct draw *draw, enum wh_moment moment)
{
	uint32_t at = draw_doer(draw, moment);
	uint32_t gone = (uint32_t)__builtin_popcountll(draw->harmed);
	uint32_t most = draw->limits->proofs ? gone + 1 : 2 * (gone + 1);

	if (most >= draw->limits->nodes && !wh_dice_one_in(&draw->dice, 4))
		while (draw->harmed != 0 && (draw->harmed >> at & 1) == 0)
			at = (at + 1) % draw->limits->ids;
	draw->harmed |= UINT64_C(1) << at;
	return at;
}

/* What one node says is then known to some and not to others. */
static void narrow_links(struct draw *draw, struct wh_fault *fault)
{
	if (!wh_flavour_has(draw->flavour, WH_HABIT_SINGLE_LINKS) || wh_dice_one_in(&draw->dice, 6))
		return;
	fault->from = UINT64_C(1) << draw_node(draw);
	do
		fault->to = UINT64_C(1) << wh_dice_below(&draw->dice, draw->limits->ids);
	while (fault->to == fault->from);
	fault->both = fault->both && wh_dice_one_in(&draw->dice, 2);
}

static void draw_one(struct draw *draw, struct wh_fault *fault, bool first)
{
	*fault = (struct wh_fault){.kind = draw_kind(draw, first)};
	switch (fault->kind) {
	case WH_FAULT_CRASH:
		draw_moment(draw, fault, first);
		fault->node = draw_victim(draw, fault->moment);
		fault->silently = wh_dice_one_in(&draw->dice, 2);
		return;
	case WH_FAULT_STALL:
		draw_moment(draw, fault, first);
		fault->node = draw_doer(draw, fault->moment);
		fault->for_us = draw_duration(draw);
		return;
	case WH_FAULT_LEAVE:
		fault->node = draw_victim(draw, WH_MOMENT_TIME);
		break;
	case WH_FAULT_CUT:
	case WH_FAULT_BREAK:
		fault->from = draw_part(draw);
		fault->to = ((UINT64_C(1) << draw->limits->ids) - 1) & ~fault->from;
		if (wh_dice_one_in(&draw->dice, 3))
			fault->to &= ~fault->to + 1; /* one of them alone */
		fault->both = fault->kind == WH_FAULT_CUT && wh_dice_one_in(&draw->dice, 2);
		fault->for_us = fault->kind == WH_FAULT_CUT ? draw_duration(draw) : 0;
		narrow_links(draw, fault);
		break;
	default:
		fault->from = UINT64_C(1) << draw_node(draw);
		fault->to = ((UINT64_C(1) << draw->limits->ids) - 1) & ~fault->from;
		fault->factor = (uint32_t)wh_dice_between(&draw->dice, 2, draw->flavour->slow_max);
		fault->for_us = draw_duration(draw);
		narrow_links(draw, fault);
		break;
	}
	draw_time(draw, fault, first);
}

/* A cut parts two sides, and those that both sides hear stand still: neither side has a quorum, and either has one when they
 * go on. What they then know of the one side and of the other, and when, is what two groups could come of. */
static void draw_between_two(struct draw *draw, struct wh_schedule *schedule, uint32_t most)
{
	uint64_t all = (UINT64_C(1) << draw->limits->nodes) - 1, rest, from, timeout = draw->limits->failure_timeout_us;
	uint64_t middle = UINT64_C(1) << wh_dice_below(&draw->dice, draw->limits->nodes);

	if (draw->limits->nodes > 4 && wh_dice_one_in(&draw->dice, 2))
		middle |= UINT64_C(1) << wh_dice_below(&draw->dice, draw->limits->nodes);
	rest = all & ~middle;
	do
		from = wh_dice_roll(&draw->dice) & rest;
	while (from == 0 || from == rest);
	draw->last_us = wh_dice_below(&draw->dice, draw->limits->span_us + 1);
	schedule->faults[schedule->count++] = (struct wh_fault){.kind = WH_FAULT_CUT,
								.from = from,
								.to = rest & ~from,
								.both = !wh_dice_one_in(&draw->dice, 8),
								.for_us = timeout + draw_duration(draw),
								.at = draw->last_us};
	for (uint32_t i = 0; i < draw->limits->nodes && schedule->count < most; i++)
		if ((middle >> i & 1) != 0 && may_draw(draw, WH_FAULT_STALL))
			schedule->faults[schedule->count++] =
				(struct wh_fault){.kind = WH_FAULT_STALL,
						  .node = i,
						  .for_us = timeout / 4 + draw_duration(draw),
						  .at = draw->last_us + wh_dice_below(&draw->dice, timeout / 4)};
}

/* One ends, and the leader does when it has decided what follows: some have its word, others never get it, and all are told of its
 * end, one after the other. */
static void draw_takeover(struct draw *draw, struct wh_schedule *schedule)
{
	struct wh_fault *first = &schedule->faults[schedule->count++], *second = &schedule->faults[schedule->count++];
	uint32_t victim = (uint32_t)wh_dice_between(&draw->dice, 1, draw->limits->nodes - 1);

	*first = (struct wh_fault){.kind = WH_FAULT_CRASH, .node = victim, .silently = wh_dice_one_in(&draw->dice, 8)};
	first->at = draw->last_us = wh_dice_below(&draw->dice, draw->limits->span_us / 4 + 1); /* while much is sent */
	*second = (struct wh_fault){.kind = WH_FAULT_CRASH,
				    .silently = wh_dice_one_in(&draw->dice, 8),
				    .moment = WH_MOMENT_DECIDE,
				    .at = 1,
				    .after = true};
	if (wh_dice_one_in(&draw->dice, 8))
		draw_step(draw, second);
	draw->harmed |= UINT64_C(1) << victim | 1;
}

/* That of the run, if it has something that may go wrong. */
static const struct wh_flavour *flavour_of(const struct wh_schedule_limits *limits)
{
	for (int kind = 0; kind < WH_FAULT_JOIN && limits->flavour != NULL; kind++)
		if (limits->flavour->kinds[kind] > 0 && (limits->kinds >> kind & 1) != 0)
			return limits->flavour;
	return wh_flavour_of(WH_FLAVOUR_MIXED, 0);
}

static uint32_t draw_count(struct draw *draw)
{
	uint32_t most = draw->limits->faults, least = draw->flavour->faults_min, count;

	if (most > draw->flavour->faults_max)
		most = draw->flavour->faults_max;
	if (least > most)
		least = most;
	count = (uint32_t)wh_dice_between(&draw->dice, least, most);
	return wh_dice_one_in(&draw->dice, 4) ? least : count;
}

static void draw_faults(struct draw *draw, struct wh_schedule *schedule, uint64_t seed)
{
	if ((draw->limits->kinds & HARMS) != 0 && draw->limits->nodes > 1 && !wh_dice_one_in(&draw->dice, 16)) {
		uint32_t count = draw_count(draw);

		if (draw->flavour->opening == WH_OPENING_BETWEEN_TWO && may_draw(draw, WH_FAULT_CUT) &&
		    draw->limits->nodes > 2)
			draw_between_two(draw, schedule, count);
		if (draw->flavour->opening == WH_OPENING_TAKEOVER && may_draw(draw, WH_FAULT_CRASH) && count > 1)
			draw_takeover(draw, schedule);
		while (schedule->count < count) {
			draw_one(draw, &schedule->faults[schedule->count], schedule->count == 0);
			schedule->count++;
		}
	}
	wh_schedule_draw_joins(schedule, seed, draw->limits);
}

void wh_schedule_draw(struct wh_schedule *schedule, uint64_t seed, const struct wh_schedule_limits *limits)
{
	struct draw draw = {.dice = wh_dice_split(seed, 400), .limits = limits, .flavour = flavour_of(limits)};

	schedule->count = 0;
	if (limits->faults > 0)
		draw_faults(&draw, schedule, seed);
	if (limits->disks)
		wh_schedule_draw_disks(schedule, seed, limits);
	if (limits->names > 0)
		wh_schedule_draw_wishes(schedule, seed, limits);
}
