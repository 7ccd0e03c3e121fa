/* fault.c - what goes wrong in the simulator: nodes that crash, links that are cut off, connections that break. */
#include "sim/net/sim_int.h"

enum fault { FAULT_CRASH = 1, FAULT_VANISH, FAULT_CUT_OFF, FAULT_HEAL, FAULT_BREAK, FAULT_POWER, FAULT_EXIT };

static void note_fault(struct wh_sim *sim, enum fault fault, uint32_t one, uint32_t other)
{
	wh_sim_note(sim, fault);
	wh_sim_note(sim, (uint64_t)one << 32 | other);
}

/* ---- crashes ----------------------------------------------------------------------------------------------------------- */

/* Of what the sender has under way over its link. */
static void end_at(struct sim_link *link)
{
	wh_sim_streams_orphan(link, true);
	wh_sim_streams_orphan(link->back, false);
	wh_sim_remote_truncate(link->account);
	if (!link->from->left && !link->sim->options.proofs)
		wh_sim_truncate(link);
}

/* `killed`: its process has ended. */
static void die(struct sim_node *node, bool silently, bool killed)
{
	struct wh_sim *sim = node->sim;

	if (node->dead)
		return;
	note_fault(sim, silently ? FAULT_VANISH : FAULT_CRASH, node->id, 0);
	wh_sim_end_batch(node);
	wh_sim_calls_die(node, silently);
	node->dead = true;
	node->vanished = silently;
	for (uint32_t to = 0; to < sim->options.nodes; to++)
		for (struct sim_link *link = node->links[to]; link != NULL; link = wh_sim_former(link))
			end_at(link);
	if (sim->options.proofs && node->lane == 0)
		wh_sim_prove(node, killed);
}

void wh_sim_die(struct sim_node *node, bool silently)
{
	die(node, silently, false);
}

/* And with it its lanes: they are threads of the same process. */
static void die_all(struct sim_node *node, bool silently, bool killed)
{
	if (node == NULL)
		return;
	for (struct sim_node *lane = node->lanes; lane != NULL; lane = lane->next_lane)
		die(lane, silently, killed);
	die(node, silently, killed);
}

void wh_sim_crash(struct wh_sim *sim, uint32_t node)
{
	die_all(sim->hosts[node].life, false, true);
	wh_sim_process_end(&sim->hosts[node]);
}

void wh_sim_vanish(struct wh_sim *sim, uint32_t node)
{
	die_all(sim->hosts[node].life, true, false);
	wh_sim_process_end(&sim->hosts[node]);
}

void wh_sim_exit(struct wh_sim *sim, uint32_t node)
{
	note_fault(sim, FAULT_EXIT, node, 0);
	wh_sim_process_end(&sim->hosts[node]);
}

void wh_sim_power_loss(struct wh_sim *sim, uint32_t node)
{
	struct sim_host *host = &sim->hosts[node];

	note_fault(sim, FAULT_POWER, node, 0);
	for (uint32_t i = 0; i < sim->options.nodes; i++)
		if (i == node || sim->options.one_host)
			wh_sim_vanish(sim, i);
	if (host->disk != NULL)
		wh_sim_disk_crash(host->disk, &host->task_dice);
}

/* ---- cuts -------------------------------------------------------------------------------------------------------------- */

void wh_sim_cut_off(struct wh_sim *sim, uint32_t from, uint32_t to)
{
	note_fault(sim, FAULT_CUT_OFF, from, to);
	wh_sim_path(sim, from, to)->cut_off = true;
}

void wh_sim_heal(struct wh_sim *sim, uint32_t from, uint32_t to)
{
	struct sim_path *path = wh_sim_path(sim, from, to);

	note_fault(sim, FAULT_HEAL, from, to);
	path->cut_off = false;
	wh_sim_calls_release(sim, path);
	for (struct sim_link *link = path->links; link != NULL; link = link->older) {
		wh_sim_resume(link);
		wh_sim_streams_resume(link);
		wh_sim_remote_resume(link->account);
		wh_sim_remote_resume(link->back->account);
	}
}

/* ---- broken connections ------------------------------------------------------------------------------------------------ */

static void break_link(struct sim_link *link)
{
	if (!link->sim->options.proofs) /* memory is no part of it */
		wh_sim_truncate(link);
	wh_sim_streams_tear(link);
	wh_sim_remote_truncate(link->account);
	link->broken = true;
}

static bool has_met(const struct sim_link *link)
{
	return link->over || wh_sim_met(link->from, link->to->id) == link;
}

/* An incarnation is met once: if one of the two had met the other that is the end for these lives. */
void wh_sim_break(struct wh_sim *sim, uint32_t one, uint32_t other)
{
	struct sim_node *node = sim->hosts[one].life;
	struct sim_link *link = node != NULL ? node->links[other] : NULL;

	if (link == NULL || link->broken)
		return;
	note_fault(sim, FAULT_BREAK, one, other);
	wh_sim_calls_break(link);
	if (!has_met(link) && !has_met(link->back))
		return;
	wh_sim_end_batch(link->from);
	wh_sim_end_batch(link->to);
	break_link(link);
	break_link(link->back);
}
