/* sim_fault.c - what goes wrong in the simulator: nodes that crash, links that are cut off, connections that break. */
#include "transport/sim_int.h"

#include <stdio.h>

enum fault { FAULT_CRASH = 1, FAULT_VANISH, FAULT_CUT_OFF, FAULT_HEAL, FAULT_BREAK };

static void note(struct wh_sim *sim, enum fault fault, uint32_t one, uint32_t other)
{
	wh_sim_note(sim, fault);
	wh_sim_note(sim, (uint64_t)one << 32 | other);
}

/* When the end of a connection is noticed at the far end of this link. */
static uint64_t notice_time(struct sim_link *link)
{
	struct wh_sim *sim = link->sim;
	uint64_t late = sim->options.notice_max_ns;

	return sim->now_ns + wh_sim_delay(link) + (late > 0 ? wh_dice_between(&sim->dice, 0, late) : 0);
}

/* ---- crashes ----------------------------------------------------------------------------------------------------------- */

static void die(struct sim_node *node, bool silently)
{
	struct wh_sim *sim = node->sim;
	char text[64];
	int bytes = snprintf(text, sizeof(text), "node %u has died (it crashed)", node->id);

	if (node->dead)
		return;
	note(sim, silently ? FAULT_VANISH : FAULT_CRASH, node->id, 0);
	wh_sim_end_batch(node);
	node->dead = true;
	wh_sim_forget(node, NULL);
	for (uint32_t to = 0; to < sim->options.nodes && !node->left; to++) {
		struct sim_link *link = wh_sim_link(sim, node->id, to);

		wh_sim_truncate(link);
		if (!silently && wh_sim_link(sim, to, node->id)->met)
			wh_sim_send_notice(link, notice_time(link), WH_EVENT_PEER_DOWN, 0, text, (size_t)bytes);
	}
}

void wh_sim_crash(struct wh_sim *sim, uint32_t node)
{
	die(&sim->nodes[node], false);
}

void wh_sim_vanish(struct wh_sim *sim, uint32_t node)
{
	die(&sim->nodes[node], true);
}

/* ---- cuts -------------------------------------------------------------------------------------------------------------- */

void wh_sim_cut_off(struct wh_sim *sim, uint32_t from, uint32_t to)
{
	note(sim, FAULT_CUT_OFF, from, to);
	wh_sim_link(sim, from, to)->cut_off = true;
}

static void meet_after_all(struct sim_link *link)
{
	if (!link->postponed)
		return;
	link->postponed = false;
	wh_sim_meet(link);
}

void wh_sim_heal(struct wh_sim *sim, uint32_t from, uint32_t to)
{
	struct sim_link *link = wh_sim_link(sim, from, to), *back = wh_sim_link(sim, to, from);

	note(sim, FAULT_HEAL, from, to);
	link->cut_off = false;
	wh_sim_resume(link);
	wh_sim_release(link);
	if (!back->cut_off) {
		meet_after_all(link);
		meet_after_all(back);
	}
}

/* ---- broken connections ------------------------------------------------------------------------------------------------ */

/* `to` finds out by itself, whatever the state of the link. */
static void find_out(void *ctx, uint64_t argument)
{
	struct sim_link *link = ctx;
	char text[64];

	(void)argument;
	link->sim->under_way--;
	snprintf(text, sizeof(text), "node %u is down (the connection broke)", link->from);
	wh_sim_notify(&link->sim->nodes[link->to], WH_EVENT_PEER_DOWN, link->from, NULL, text);
}

static void break_link(struct sim_link *link)
{
	struct wh_sim *sim = link->sim;

	link->broken = true;
	wh_sim_truncate(link);
	if (!wh_sim_link(sim, link->to, link->from)->met)
		return;
	sim->under_way++;
	wh_sim_at(sim, notice_time(link), find_out, link, 0);
}

void wh_sim_break(struct wh_sim *sim, uint32_t one, uint32_t other)
{
	struct sim_link *link = wh_sim_link(sim, one, other), *back = wh_sim_link(sim, other, one);

	if (link->broken)
		return;
	note(sim, FAULT_BREAK, one, other);
	wh_sim_end_batch(&sim->nodes[one]);
	wh_sim_end_batch(&sim->nodes[other]);
	break_link(link);
	break_link(back);
}
