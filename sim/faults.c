/* faults.c - what goes wrong, when its moment comes. See schedule.h, play_int.h. */
#include <stdio.h>
#include <string.h>

#include "sim/play_int.h"

#define AGAIN_NS WH_NS_PER_MS

static const struct wh_fault *fault_at(const struct play *play, uint64_t i)
{
	return &play->schedule->faults[i];
}

/* ---- each kind -------------------------------------------------------------------------------------------------------------- */

/* Its process is about to end. False: it has. */
static bool end_life(struct actor *actor, bool silently)
{
	struct play *play = actor->play;
	/* When the power goes: what has begun to leave without disks has left nothing to come back with. */
	bool leaves = play->plan->logs && actor->leaving && actor->node != NULL && !actor->crashed;

	if (!wh_actor_runs(actor) && !leaves)
		return false;
	wh_kept_look(actor);
	if (actor->state == ACTOR_AWAKE)
		play->awake--;
	actor->state = ACTOR_GONE;
	actor->crashed = true;
	actor->vanished = silently;
	play->touched |= UINT64_C(1) << actor->life;
	if (!actor->in_pass) /* one that leaves may have begun another view by now, unseen */
		wh_check_died(actor);
	if (leaves) /* whorl_close goes on to make passes, of which nobody hears */
		wh_play_forsake_view(actor);
	if (silently)
		play->vanished_ns = wh_sim_now(play->sim);
	wh_history_crashed(play->history, actor->life);
	return true;
}

void wh_actor_crash(struct actor *actor, bool silently)
{
	struct play *play = actor->play;

	silently = silently && !play->plan->one_host; /* the kernel tells */
	if (!end_life(actor, silently))
		return;
	if (silently)
		wh_sim_vanish(play->sim, actor->id);
	else
		wh_sim_crash(play->sim, actor->id);
}

/* Of the host of that node, which on one host is that of all; UINT32_MAX: of all hosts. */
static void cut_power(struct play *play, uint32_t node)
{
	bool all = node == UINT32_MAX || play->plan->one_host;

	for (uint32_t i = 0; i < play->lives; i++)
		if (all || play->actors[i].id == node) {
			(void)end_life(&play->actors[i], true);
			if (play->actors[i].opening)
				wh_actor_stop_opening(&play->actors[i]);
		}
	for (uint32_t id = 0; id < play->nodes; id++)
		if ((all && (id == 0 || !play->plan->one_host)) || id == node)
			wh_sim_power_loss(play->sim, id);
}

static void stall_actor(struct actor *actor, const struct wh_fault *fault)
{
	uint64_t for_ns = fault->for_us * WH_NS_PER_US, until_ns = wh_sim_now(actor->play->sim) + for_ns;

	if (fault->moment == WH_MOMENT_UPCALL)
		actor->stall_ns = for_ns;
	else if (until_ns > actor->stalled_until_ns)
		actor->stalled_until_ns = until_ns;
	wh_reads_hurry(actor);
}

/* ---- disks ---- */

static struct wh_sim_disk_cost slower(const struct wh_sim_disk_cost *cost, uint32_t factor)
{
	struct wh_sim_disk_cost slow = *cost;

	slow.read_min_ns *= factor;
	slow.read_max_ns *= factor;
	slow.write_min_ns *= factor;
	slow.write_max_ns *= factor;
	slow.sync_min_ns *= factor;
	slow.sync_max_ns *= factor;
	slow.slow_ns *= factor;
	slow.bytes_per_s = slow.bytes_per_s / factor + 1;
	return slow;
}

/* On one host all have one disk; what rots is in the directory of one node. */
static bool is_of_all(const struct play *play, const struct wh_fault *fault)
{
	return play->plan->one_host && wh_fault_is_of_disk(fault) && fault->kind != WH_FAULT_ROT;
}

/* A life that comes meanwhile has it, too. */
static void make_ill(struct play *play, const struct wh_fault *fault, int by)
{
	for (uint32_t id = 0; id < play->nodes; id++)
		if (wh_fault_lasts(fault) && (id == fault->node || is_of_all(play, fault)))
			play->disks_ill[id] += (uint32_t)by;
}

static void harm_disk(struct play *play, const struct wh_fault *fault, uint64_t i)
{
	struct wh_sim_disk *disk = fault->node < play->nodes ? wh_sim_disk_of(play->sim, fault->node) : NULL;
	uint64_t for_ns = fault->for_us * WH_NS_PER_US;
	struct wh_sim_disk_cost cost = slower(&play->disk_cost, fault->factor > 0 ? fault->factor : 1);

	if (disk == NULL)
		return;
	play->disks_harmed |= is_of_all(play, fault) ? UINT64_MAX : UINT64_C(1) << fault->node;
	make_ill(play, fault, 1);
	if (fault->kind == WH_FAULT_HANG)
		cost = (struct wh_sim_disk_cost){.read_min_ns = for_ns, .write_min_ns = for_ns, .sync_min_ns = for_ns};
	if (fault->kind == WH_FAULT_HANG && for_ns == 0)
		wh_sim_disk_hang(disk, true);
	else if (fault->kind == WH_FAULT_HANG || fault->kind == WH_FAULT_SLOW_DISK)
		wh_sim_disk_cost_set(disk, &cost);
	else if (fault->kind == WH_FAULT_FAIL_SYNC)
		wh_sim_disk_fail(disk, WH_SIM_DISK_SYNC, 1);
	else if (fault->kind == WH_FAULT_FILL)
		wh_sim_disk_capacity(disk, 1);
	else
		wh_rot_disk(play, disk, fault->node, i);
}

static void mend_disk(struct play *play, const struct wh_fault *fault)
{
	struct wh_sim_disk *disk = fault->node < play->nodes ? wh_sim_disk_of(play->sim, fault->node) : NULL;

	if (disk != NULL)
		make_ill(play, fault, -1);
	if (disk != NULL && fault->kind == WH_FAULT_FILL)
		wh_sim_disk_capacity(disk, 0);
	else if (disk != NULL)
		wh_sim_disk_cost_set(disk, &play->disk_cost);
}

/* ---- links ---- */

/* Each link from one set to the other. */
static void each_link(struct play *play, const struct wh_fault *fault, bool ends,
		      void (*act)(struct play *play, uint32_t from, uint32_t to, const struct wh_fault *fault,
				  bool ends))
{
	for (uint32_t from = 0; from < play->nodes; from++)
		for (uint32_t to = 0; to < play->nodes; to++) {
			if ((fault->from >> from & 1) == 0 || (fault->to >> to & 1) == 0)
				continue;
			act(play, from, to, fault, ends);
			if (fault->both)
				act(play, to, from, fault, ends);
		}
}

/* A link may be cut more than once at a time. */
static void cut_link(struct play *play, uint32_t from, uint32_t to, const struct wh_fault *fault, bool ends)
{
	uint32_t *cuts = &play->cuts[from * play->nodes + to];

	(void)fault;
	if (ends && --*cuts == 0)
		wh_sim_heal(play->sim, from, to);
	else if (!ends && (*cuts)++ == 0)
		wh_sim_cut_off(play->sim, from, to);
}

static void slow_link(struct play *play, uint32_t from, uint32_t to, const struct wh_fault *fault, bool ends)
{
	struct wh_sim_link_cost cost = play->link;

	cost.latency_min_ns *= ends ? 1 : fault->factor;
	cost.latency_max_ns *= ends ? 1 : fault->factor;
	if (cost.latency_max_ns > play->slowest_ns)
		play->slowest_ns = cost.latency_max_ns;
	wh_sim_link_set(play->sim, from, to, &cost);
}

static void break_link(struct play *play, uint32_t from, uint32_t to, const struct wh_fault *fault, bool ends)
{
	(void)fault;
	(void)ends;
	wh_sim_break(play->sim, from, to);
}

/* ---- nodes that it touches -------------------------------------------------------------------------------------------------- */

/* Nodes with a link that is cut or slow. */
static void harm_links(struct play *play, const struct wh_fault *fault, int by)
{
	if (fault->kind != WH_FAULT_CUT && fault->kind != WH_FAULT_SLOW)
		return;
	for (uint32_t id = 0; id < play->nodes; id++)
		if ((wh_fault_touches(fault) >> id & 1) != 0) {
			play->links_harmed[id] += (uint32_t)by;
			if (by > 0 && play->at[id] != NULL)
				wh_reads_hurry(play->at[id]);
		}
}

/* Those lives that are there now. */
static void touch_lives(struct play *play, const struct wh_fault *fault)
{
	for (uint32_t id = 0; id < play->nodes; id++) {
		bool is_touched = fault->kind == WH_FAULT_POWER || is_of_all(play, fault) ||
				  (play->plan->one_host && fault->powerless) ||
				  (wh_fault_touches(fault) >> id & 1) != 0;

		if (!is_touched || play->at[id] == NULL)
			continue;
		if (wh_fault_harms(fault))
			play->touched |= UINT64_C(1) << play->at[id]->life;
		if (fault->kind == WH_FAULT_BREAK)
			play->broken |= UINT64_C(1) << play->at[id]->life;
	}
	harm_links(play, fault, 1);
}

void wh_faults_born(struct actor *actor)
{
	if (actor->play->links_harmed[actor->id] > 0 || actor->play->disks_ill[actor->id] > 0)
		actor->play->touched |= UINT64_C(1) << actor->life;
}

/* ---- when ------------------------------------------------------------------------------------------------------------------ */

static void end_fault(void *ctx, uint64_t i)
{
	struct play *play = ctx;
	const struct wh_fault *fault = fault_at(play, i);

	play->faults_due--;
	play->restless_ns = wh_sim_now(play->sim);
	harm_links(play, fault, -1);
	if (fault->kind == WH_FAULT_CUT)
		each_link(play, fault, true, cut_link);
	else if (fault->kind == WH_FAULT_SLOW)
		each_link(play, fault, true, slow_link);
	else if (wh_fault_is_of_disk(fault))
		mend_disk(play, fault);
	else if (fault->kind == WH_FAULT_REST && play->subjects[i] != NULL)
		wh_actor_rest(play->subjects[i], false);
}

static void begin_fault(struct play *play, uint64_t i);

static void begin_later(void *ctx, uint64_t i)
{
	struct play *play = ctx;

	play->faults_due--;
	begin_fault(play, i);
}

static void at_time(struct play *play, uint64_t when_ns, wh_sim_fn *fn, uint64_t i)
{
	play->faults_due++;
	wh_sim_at(play->sim, when_ns, fn, play, i);
}

/* False: not now. What is about a node that is not there comes about for no node. */
static bool carry_out_fault(struct play *play, const struct wh_fault *fault, uint64_t i)
{
	struct actor *actor = wh_fault_is_between(fault) || fault->node >= play->nodes ? NULL : play->at[fault->node];

	if (fault->kind == WH_FAULT_JOIN || fault->kind == WH_FAULT_RETURN)
		return fault->node >= play->nodes || wh_actor_return(play, fault);
	if (fault->kind == WH_FAULT_POWER) {
		cut_power(play, UINT32_MAX);
		return true;
	}
	if (wh_fault_is_of_disk(fault)) {
		harm_disk(play, fault, i);
		return true;
	}
	if (!wh_fault_is_between(fault) && actor == NULL) {
		if (fault->kind == WH_FAULT_ENTER)
			play->awaiting |= UINT64_C(1) << i;
		return true;
	}
	if (wh_fault_is_wish(fault))
		return wh_wish_carry_out(actor, fault, i);
	play->subjects[i] = actor;
	switch (fault->kind) {
	case WH_FAULT_CRASH:
		if (fault->powerless)
			cut_power(play, fault->node);
		else
			wh_actor_crash(actor, fault->silently);
		return true;
	case WH_FAULT_STALL:
		stall_actor(actor, fault);
		return true;
	case WH_FAULT_REST:
		wh_actor_rest(actor, true);
		return true;
	case WH_FAULT_CUT:
		each_link(play, fault, false, cut_link);
		return true;
	case WH_FAULT_SLOW:
		each_link(play, fault, false, slow_link);
		return true;
	case WH_FAULT_BREAK:
		each_link(play, fault, false, break_link);
		return true;
	default:
		return wh_actor_depart(actor);
	}
}

static void begin_fault(struct play *play, uint64_t i)
{
	const struct wh_fault *fault = fault_at(play, i);
	uint64_t now_ns = wh_sim_now(play->sim);

	if (play->closing || wh_play_failed(play) || (wh_fault_is_wish(fault) && (play->happened >> i & 1) != 0))
		return;
	touch_lives(play, fault);
	if (!carry_out_fault(play, fault, i)) {
		at_time(play, now_ns + AGAIN_NS, begin_later, i);
		return;
	}
	play->happened |= UINT64_C(1) << i;
	play->useful_step = play->steps;
	play->restless_ns = wh_sim_now(play->sim);
	wh_sim_note(play->sim, i);
	if (wh_fault_lasts(fault))
		at_time(play, now_ns + fault->for_us * WH_NS_PER_US, end_fault, i);
}

void wh_faults_arm(struct play *play)
{
	uint64_t now_ns = wh_sim_now(play->sim);

	play->restless_ns = now_ns;
	for (uint64_t i = 0; play->schedule != NULL && i < play->schedule->count; i++)
		if (fault_at(play, i)->moment == WH_MOMENT_TIME)
			at_time(play, now_ns + fault_at(play, i)->at * WH_NS_PER_US, begin_later, i);
}

void wh_faults_moment(struct actor *actor, enum wh_moment moment)
{
	struct play *play = actor->play;

	if (!play->met || play->calm || play->schedule == NULL || play->schedule->count == 0)
		return;
	play->seen[actor->id][moment]++;
	if (play->watch != NULL)
		play->watch(play->watch_ctx, actor, moment);
	for (uint64_t i = 0; i < play->schedule->count && !actor->crashed; i++) {
		const struct wh_fault *fault = fault_at(play, i);

		if (fault->moment != moment || fault->node != actor->id || wh_fault_is_between(fault) ||
		    fault->at != play->seen[actor->id][moment])
			continue;
		if (fault->after) /* the pass is one event */
			at_time(play, wh_sim_now(play->sim), begin_later, i);
		else
			begin_fault(play, i);
	}
}

void wh_faults_operating(void *ctx, uint32_t node, enum wh_sim_disk_op op, uint64_t number)
{
	struct play *play = ctx;
	struct actor *actor = play->at[node];

	(void)number;
	if (actor == NULL || actor->node == NULL || (!wh_actor_runs(actor) && !actor->leaving))
		return;
	if (op == WH_SIM_DISK_NAME)
		wh_kept_look(actor); /* before a file of a log goes */
	if (!wh_actor_runs(actor))
		return;
	if (op == WH_SIM_DISK_WRITE)
		wh_faults_moment(actor, WH_MOMENT_WRITE);
	else if (op == WH_SIM_DISK_SYNC || op == WH_SIM_DISK_SYNC_NAMES)
		wh_faults_moment(actor, WH_MOMENT_SYNC);
}

void wh_faults_posting(void *ctx, uint32_t node, uint64_t key, const struct wh_push *push)
{
	struct play *play = ctx;
	struct actor *actor = play->at[node];
	enum wh_moment step;

	if (!play->met || push->no_wake || actor == NULL || actor->node == NULL || !wh_play_has_faults(play))
		return;
	step = wh_inspect_step(actor->node, key, push);
	/* The passes of one that leaves go unseen, and behind the next view this one cannot be looked at. */
	if (step == WH_MOMENT_WEDGE && actor->leaving)
		wh_check_settle(actor);
	play->suspected = play->suspected || step == WH_MOMENT_SUSPECT || step == WH_MOMENT_PROPOSE;
	if (step != WH_MOMENT_TIME && play->plan->logs && !play->extinct)
		wh_kept_step(actor, step, key, push);
	if (step != WH_MOMENT_TIME)
		wh_faults_moment(actor, step);
	if (play->suspected && !actor->crashed)
		wh_faults_moment(actor, WH_MOMENT_PUSH);
}
