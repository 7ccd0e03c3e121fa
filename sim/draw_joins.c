/* draw_joins.c - schedules from a seed: nodes that come later, come back, and rest. See schedule.h.
 *
 * Nodes that come at one time, or while a view changes, or come back before their death was noticed, are what joining is hard
 * with; so is a node that dies half-way, on either side.
 */
#include "sim/flavours.h"
#include "sim/schedule.h"
#include "transport/dice.h"

struct draw {
	struct wh_dice dice;
	const struct wh_schedule_limits *limits;
	struct wh_schedule *schedule;
	uint64_t coming; /* nodes that join or return */
	uint64_t at_us;  /* when one of them does */
};

/* NULL: there is no room, or the limits do not want that. */
static struct wh_fault *add_fault(struct draw *draw, enum wh_fault_kind kind, uint32_t node)
{
	struct wh_fault *fault;

	if ((draw->limits->kinds >> kind & 1) == 0 || draw->schedule->count == WH_FAULTS_MAX)
		return NULL;
	fault = &draw->schedule->faults[draw->schedule->count++];
	*fault = (struct wh_fault){.kind = kind, .node = node};
	return fault;
}

static bool one_in(struct draw *draw, uint64_t n)
{
	return wh_dice_one_in(&draw->dice, n);
}

static uint64_t draw_below(struct draw *draw, uint64_t n)
{
	return wh_dice_below(&draw->dice, n > 0 ? n : 1);
}

/* ---- nodes that come later ------------------------------------------------------------------------------------------------- */

static void draw_join(struct draw *draw, uint32_t node, uint64_t at_us)
{
	struct wh_fault *fault = add_fault(draw, WH_FAULT_JOIN, node);

	if (fault == NULL)
		return;
	fault->at = at_us;
	draw->coming |= UINT64_C(1) << node;
	draw->at_us = at_us;
}

/* Some of the configured nodes, so that the others are more than half. */
static uint64_t draw_absent(struct draw *draw)
{
	uint64_t absent = 0;
	uint32_t most = draw->limits->founder >= 0 ? draw->limits->nodes - 1 : (draw->limits->nodes - 1) / 2;

	if (most == 0 || !one_in(draw, 3))
		return 0;
	for (uint64_t i = 1 + draw_below(draw, most); i > 0; i--)
		absent |= UINT64_C(1) << draw_below(draw, draw->limits->nodes);
	if (draw->limits->founder >= 0)
		absent &= ~(UINT64_C(1) << draw->limits->founder);
	return absent;
}

/* All at once, or each at a time of its own. */
static void draw_arrivals(struct draw *draw)
{
	uint64_t coming = draw_absent(draw), span_us = 2 * draw->limits->span_us;
	uint64_t at_us = draw_below(draw, span_us);
	bool at_once = one_in(draw, 3);

	for (uint32_t node = draw->limits->nodes; node < draw->limits->ids; node++)
		if (!one_in(draw, 5))
			coming |= UINT64_C(1) << node;
	for (uint32_t node = 0; node < draw->limits->ids; node++)
		if ((coming >> node & 1) != 0)
			draw_join(draw, node, at_once ? at_us : draw_below(draw, span_us));
}

/* ---- nodes that come back -------------------------------------------------------------------------------------------------- */

/* Before any node has noticed that it was gone, while the view changes, or long after. */
static uint64_t draw_absence(struct draw *draw)
{
	uint64_t timeout_us = draw->limits->failure_timeout_us;

	switch (draw_below(draw, 4)) {
	case 0:
		return draw_below(draw, timeout_us / 20);
	case 1:
		return draw_below(draw, timeout_us / 2);
	case 2:
		return timeout_us / 2 + draw_below(draw, 2 * timeout_us);
	default:
		return draw_below(draw, 8 * timeout_us);
	}
}

static void draw_return(struct draw *draw, uint32_t node, uint64_t gone_us)
{
	struct wh_fault *fault = add_fault(draw, WH_FAULT_RETURN, node);

	if (fault == NULL)
		return;
	fault->at = gone_us + draw_absence(draw);
	draw->coming |= UINT64_C(1) << node;
	draw->at_us = fault->at;
}

/* Of the nodes that go for good, half come back, some of them more than once; and a node may be killed just to be restarted. */
static void draw_returns(struct draw *draw)
{
	const struct wh_flavour *flavour = draw->limits->flavour;
	uint64_t last_us = 0, stays = flavour != NULL && wh_flavour_has(flavour, WH_HABIT_RETURNS) ? 6 : 2;

	for (uint32_t i = 0, count = draw->schedule->count; i < count; i++) {
		const struct wh_fault fault = draw->schedule->faults[i];

		if (fault.moment == WH_MOMENT_TIME && fault.at > last_us)
			last_us = fault.at;
		if ((fault.kind != WH_FAULT_CRASH && fault.kind != WH_FAULT_LEAVE) || one_in(draw, stays))
			continue;
		do
			draw_return(draw, fault.node, fault.moment == WH_MOMENT_TIME ? fault.at : last_us);
		while (one_in(draw, 5));
	}
	if (one_in(draw, 8))
		draw_return(draw, (uint32_t)draw_below(draw, draw->limits->ids),
			    draw_below(draw, 2 * draw->limits->span_us));
}

/* ---- what goes wrong with it ----------------------------------------------------------------------------------------------- */

static uint32_t draw_newcomer(struct draw *draw)
{
	uint32_t node = (uint32_t)draw_below(draw, draw->limits->ids);

	while ((draw->coming >> node & 1) == 0)
		node = (node + 1) % draw->limits->ids;
	return node;
}

/* A node that comes ends or stands still at a step of it. */
static void trouble_comer(struct draw *draw, enum wh_fault_kind kind)
{
	struct wh_fault *fault = add_fault(draw, kind, draw_newcomer(draw));

	if (fault == NULL)
		return;
	fault->moment = one_in(draw, 4)
				? WH_MOMENT_RESTORE
				: (enum wh_moment)(WH_MOMENT_MET +
						   (int)draw_below(draw, WH_MOMENT_RESTORED - WH_MOMENT_MET + 1));
	fault->at = 1;
	fault->after = one_in(draw, 2);
	fault->silently = kind == WH_FAULT_CRASH && one_in(draw, 2);
	if (kind == WH_FAULT_STALL)
		fault->for_us = draw_below(draw, 5 * draw->limits->failure_timeout_us) + 1;
	else if (one_in(draw, 3))
		draw_return(draw, fault->node, draw->at_us);
}

/* One of the nodes that let it in does: the leader at a step of the change, or the one that gives the state. */
static void trouble_others(struct draw *draw)
{
	struct wh_fault *fault = add_fault(draw, one_in(draw, 3) ? WH_FAULT_STALL : WH_FAULT_CRASH,
					   one_in(draw, 3) ? (uint32_t)draw_below(draw, draw->limits->ids) : 0);

	if (fault == NULL)
		return;
	fault->moment = one_in(draw, 3)
				? WH_MOMENT_GIVE
				: (enum wh_moment)(WH_MOMENT_WEDGE +
						   (int)draw_below(draw, WH_MOMENT_INSTALL - WH_MOMENT_WEDGE + 1));
	fault->at = one_in(draw, 4) ? 2 : 1;
	fault->after = one_in(draw, 2);
	if (fault->kind == WH_FAULT_STALL)
		fault->for_us = draw_below(draw, 3 * draw->limits->failure_timeout_us) + 1;
	else
		fault->silently = one_in(draw, 2);
}

/* It is cut off from one, some or all, one way or both. */
static void cut_comer(struct draw *draw)
{
	uint32_t node = draw_newcomer(draw);
	uint64_t all = ((UINT64_C(1) << draw->limits->ids) - 1) & ~(UINT64_C(1) << node), others = all;
	struct wh_fault *fault;

	if (one_in(draw, 3))
		others = wh_dice_roll(&draw->dice) & all;
	else if (one_in(draw, 2))
		others = UINT64_C(1) << draw_below(draw, draw->limits->nodes) & all;
	fault = others != 0 ? add_fault(draw, WH_FAULT_CUT, 0) : NULL;
	if (fault == NULL)
		return;
	fault->from = UINT64_C(1) << node;
	fault->to = others;
	if (one_in(draw, 3)) {
		fault->from = others;
		fault->to = UINT64_C(1) << node;
	}
	fault->both = one_in(draw, 2);
	fault->at = draw->at_us + draw_below(draw, draw->limits->failure_timeout_us / 4);
	fault->for_us = draw_below(draw, 4 * draw->limits->failure_timeout_us) + 1;
}

static void draw_trouble(struct draw *draw)
{
	if (draw->coming == 0)
		return;
	if (one_in(draw, 5))
		trouble_comer(draw, WH_FAULT_CRASH);
	if (one_in(draw, 8))
		trouble_comer(draw, WH_FAULT_STALL);
	if (one_in(draw, 5))
		trouble_others(draw);
	if (one_in(draw, 8))
		cut_comer(draw);
}

static void draw_rests(struct draw *draw)
{
	for (uint32_t i = 0; i < 3 && one_in(draw, 3); i++) {
		struct wh_fault *fault = add_fault(draw, WH_FAULT_REST, (uint32_t)draw_below(draw, draw->limits->ids));

		if (fault == NULL)
			return;
		fault->at = draw_below(draw, 2 * draw->limits->span_us);
		fault->for_us = 1 + draw_below(draw, 4 * draw->limits->failure_timeout_us);
	}
}

void wh_schedule_draw_joins(struct wh_schedule *schedule, uint64_t seed, const struct wh_schedule_limits *limits)
{
	struct draw draw = {.dice = wh_dice_split(seed, 401), .limits = limits, .schedule = schedule};

	if ((limits->kinds >> WH_FAULT_JOIN & 1) != 0)
		draw_arrivals(&draw);
	draw_returns(&draw);
	draw_trouble(&draw);
	draw_rests(&draw);
}
