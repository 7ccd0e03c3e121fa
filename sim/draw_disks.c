/* draw_disks.c - schedules from a seed: what becomes of disks, and of the power. See schedule.h.
 *
 * Of the nodes that crash half lose their power, many just when their disks are told something. Disks are slow, wait, are full, fail or rot, one or
 * two of them at a time. And in one run of three the power of all goes, once or more often, and most come back.
 */
#include "sim/schedule.h"
#include "transport/dice.h"

#define ANEW_IN 5 /* of runs in which the power of all goes */

struct draw {
	struct wh_dice dice;
	const struct wh_schedule_limits *limits;
	struct wh_schedule *schedule;
};

static bool one_in(struct draw *draw, uint64_t n)
{
	return wh_dice_one_in(&draw->dice, n);
}

static uint64_t draw_below(struct draw *draw, uint64_t n)
{
	return wh_dice_below(&draw->dice, n > 0 ? n : 1);
}

/* NULL: there is no room. */
static struct wh_fault *add_fault(struct draw *draw, enum wh_fault_kind kind, uint64_t at_us)
{
	struct wh_fault *fault;

	if (draw->schedule->count == WH_FAULTS_MAX)
		return NULL;
	fault = &draw->schedule->faults[draw->schedule->count++];
	*fault = (struct wh_fault){.kind = kind, .at = at_us};
	fault->node = (uint32_t)draw_below(draw, draw->limits->ids);
	return fault;
}

static void add_return(struct draw *draw, uint32_t node, uint64_t at_us)
{
	struct wh_fault *fault = add_fault(draw, WH_FAULT_RETURN, at_us);

	if (fault == NULL)
		return;
	fault->node = node;
	fault->blank = one_in(draw, 12);
}

/* What ends and comes back anyway does so with its disk. */
static void change_ends(struct draw *draw)
{
	for (uint32_t i = 0; i < draw->schedule->count; i++) {
		struct wh_fault *fault = &draw->schedule->faults[i];

		if (fault->kind == WH_FAULT_RETURN)
			fault->blank = one_in(draw, 8);
		if (fault->kind != WH_FAULT_CRASH || one_in(draw, 2))
			continue;
		fault->powerless = true;
		fault->silently = false;
		if (!one_in(draw, 3))
			continue;
		fault->moment = one_in(draw, 2) ? WH_MOMENT_SYNC : WH_MOMENT_WRITE;
		fault->after = false;
		fault->at = 1 + draw_below(draw, 40);
	}
}

/* Short, about as long as is waited for a disk, or long. */
static uint64_t draw_wait(struct draw *draw)
{
	uint64_t timeout_us = draw->limits->failure_timeout_us;

	return 1 + draw_below(draw, one_in(draw, 2)   ? timeout_us / 2
				    : one_in(draw, 2) ? 3 * timeout_us
						      : 12 * timeout_us);
}

static void harm_disk(struct draw *draw)
{
	static const enum wh_fault_kind kinds[] = {WH_FAULT_SLOW_DISK, WH_FAULT_SLOW_DISK, WH_FAULT_HANG, WH_FAULT_HANG,
						   WH_FAULT_FAIL_SYNC, WH_FAULT_FILL,      WH_FAULT_FILL, WH_FAULT_ROT};
	uint64_t at_us = draw_below(draw, 2 * draw->limits->span_us);
	struct wh_fault *fault = add_fault(draw, kinds[draw_below(draw, sizeof(kinds) / sizeof(kinds[0]))], at_us);

	if (fault == NULL)
		return;
	if (fault->kind != WH_FAULT_FAIL_SYNC && fault->kind != WH_FAULT_ROT)
		fault->for_us = draw_wait(draw);
	if (fault->kind == WH_FAULT_HANG && one_in(draw, 3) && !draw->limits->one_host)
		fault->for_us = 0; /* (of all disks for good it would be) */
	if (fault->kind == WH_FAULT_SLOW_DISK)
		fault->factor = (uint32_t)wh_dice_between(&draw->dice, 2, one_in(draw, 2) ? 16 : 128);
	if (fault->kind == WH_FAULT_ROT || one_in(draw, 3)) /* what is wrong is found when it starts */
		add_return(draw, fault->node, at_us + draw_below(draw, 2 * draw->limits->span_us));
}

/* All lose it at once, and come back, each at its time; mostly all. */
static uint64_t cut_power(struct draw *draw, uint64_t at_us)
{
	uint64_t timeout_us = draw->limits->failure_timeout_us,
		 within_us = one_in(draw, 2) ? timeout_us / 4 : 6 * timeout_us;
	uint64_t last_us = at_us;
	bool most = one_in(draw, 3);

	(void)add_fault(draw, WH_FAULT_POWER, at_us);
	for (uint32_t node = 0; node < draw->limits->ids; node++) {
		uint64_t back_us = at_us + 1 + draw_below(draw, within_us);

		if (most && one_in(draw, 4))
			continue;
		add_return(draw, node, back_us);
		last_us = back_us > last_us ? back_us : last_us;
	}
	return last_us;
}

/* The power goes for the last time, and all that comes back is what one disk has, by an operator's word. With dice of its own. */
static void begin_anew(struct draw *draw, uint64_t seed)
{
	struct wh_schedule *schedule = draw->schedule;
	struct wh_fault *fault;
	uint64_t off_us = 0;
	uint32_t count = 0;

	draw->dice = wh_dice_split(seed, 404);
	for (uint32_t i = 0; i < schedule->count; i++)
		if (schedule->faults[i].kind == WH_FAULT_POWER && schedule->faults[i].at > off_us)
			off_us = schedule->faults[i].at;
	if (off_us == 0 || draw->limits->one_host || !one_in(draw, ANEW_IN))
		return;
	for (uint32_t i = 0; i < schedule->count; i++)
		if (schedule->faults[i].kind == WH_FAULT_POWER || schedule->faults[i].moment != WH_MOMENT_TIME ||
		    schedule->faults[i].at < off_us)
			schedule->faults[count++] = schedule->faults[i];
	schedule->count = count;
	fault = add_fault(draw, WH_FAULT_RETURN, off_us + 1 + draw_below(draw, 6 * draw->limits->failure_timeout_us));
	if (fault != NULL)
		fault->anew = true;
}

void wh_schedule_draw_disks(struct wh_schedule *schedule, uint64_t seed, const struct wh_schedule_limits *limits)
{
	struct draw draw = {.dice = wh_dice_split(seed, 403), .limits = limits, .schedule = schedule};
	uint64_t timeout_us = limits->failure_timeout_us, at_us = draw_below(&draw, 2 * limits->span_us);

	change_ends(&draw);
	for (int i = 0; i < 3 && one_in(&draw, 2); i++)
		harm_disk(&draw);
	if (!one_in(&draw, 3))
		return;
	do
		at_us = cut_power(&draw, at_us) + draw_below(&draw, one_in(&draw, 2) ? timeout_us / 2 : 8 * timeout_us);
	while (one_in(&draw, 3));
	begin_anew(&draw, seed);
}
