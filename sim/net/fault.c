/* fault.c - what goes wrong in the simulator: nodes that crash, links that are cut off, connections that break. */
#include "sim/net/sim_int.h"

#include <stdio.h>

enum fault { FAULT_CRASH = 1, FAULT_VANISH, FAULT_CUT_OFF, FAULT_HEAL, FAULT_BREAK };

static void note_fault(struct wh_sim *sim, enum fault fault, uint32_t one, uint32_t other)
{
	wh_sim_note(sim, fault);
	wh_sim_note(sim, (uint64_t)one << 32 | other);
}

uint64_t wh_sim_notice_time(struct sim_link *link)
{
	struct wh_sim *sim = link->sim;
	uint64_t late = sim->options.notice_max_ns;

	return sim->now_ns + wh_sim_notice_delay(link) + (late > 0 ? wh_dice_between(&sim->dice, 0, late) : 0);
}

/* ---- crashes ----------------------------------------------------------------------------------------------------------- */

/* The end of the sender, at the other end of its link. */
static void end_at(struct sim_link *link, bool silently)
{
	const struct sim_node *node = link->from;
	char text[64];
	int bytes = snprintf(text, sizeof(text), "node %u has died (it crashed)", node->id);

	wh_sim_answer_knock(link->back);
	wh_sim_streams_orphan(link, true);
	wh_sim_streams_orphan(link->back, false);
	wh_sim_remote_truncate(link->lane);
	if (node->left)
		return;
	wh_sim_truncate(link);
	if (silently || !link->back->met || link->back->over)
		return;
	link->back->ending = true;
	wh_sim_send_notice(link, wh_sim_notice_time(link), WH_EVENT_PEER_DOWN, 0, text, (size_t)bytes);
}

void wh_sim_die(struct sim_node *node, bool silently)
{
	struct wh_sim *sim = node->sim;

	if (node->dead)
		return;
	note_fault(sim, silently ? FAULT_VANISH : FAULT_CRASH, node->id, 0);
	wh_sim_end_batch(node);
	node->dead = true;
	wh_sim_forget(node, NULL);
	for (uint32_t to = 0; to < sim->options.nodes; to++)
		for (struct sim_link *link = node->links[to]; link != NULL; link = wh_sim_former(link))
			end_at(link, silently);
}

void wh_sim_crash(struct wh_sim *sim, uint32_t node)
{
	if (sim->hosts[node].life != NULL)
		wh_sim_die(sim->hosts[node].life, false);
}

void wh_sim_vanish(struct wh_sim *sim, uint32_t node)
{
	if (sim->hosts[node].life != NULL)
		wh_sim_die(sim->hosts[node].life, true);
}

/* ---- cuts -------------------------------------------------------------------------------------------------------------- */

void wh_sim_cut_off(struct wh_sim *sim, uint32_t from, uint32_t to)
{
	note_fault(sim, FAULT_CUT_OFF, from, to);
	wh_sim_wire(sim, from, to)->cut_off = true;
}

void wh_sim_heal(struct wh_sim *sim, uint32_t from, uint32_t to)
{
	struct sim_wire *wire = wh_sim_wire(sim, from, to);

	note_fault(sim, FAULT_HEAL, from, to);
	wire->cut_off = false;
	for (struct sim_link *link = wire->links; link != NULL; link = link->older) {
		wh_sim_resume(link);
		wh_sim_release(link);
		wh_sim_streams_resume(link);
		wh_sim_remote_resume(link->lane);
		wh_sim_remote_resume(link->back->lane);
		wh_sim_meet_after_all(link);
		wh_sim_meet_after_all(link->back);
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
	snprintf(text, sizeof(text), "node %u is down (the connection broke)", link->from->id);
	wh_sim_tell(link, WH_EVENT_PEER_DOWN, text);
}

static void break_link(struct sim_link *link)
{
	struct wh_sim *sim = link->sim;

	link->broken = true;
	wh_sim_truncate(link);
	wh_sim_streams_tear(link);
	wh_sim_remote_truncate(link->lane);
	if (!link->back->met || link->back->over)
		return;
	link->back->ending = true;
	sim->under_way++;
	wh_sim_at(sim, wh_sim_notice_time(link), find_out, link, 0);
}

void wh_sim_break(struct wh_sim *sim, uint32_t one, uint32_t other)
{
	struct sim_node *node = sim->hosts[one].life;
	struct sim_link *link = node != NULL ? node->links[other] : NULL;

	if (link == NULL || link->broken)
		return;
	note_fault(sim, FAULT_BREAK, one, other);
	wh_sim_end_batch(link->from);
	wh_sim_end_batch(link->to);
	break_link(link);
	break_link(link->back);
}
