/* proof.c - proofs of death in the simulator (T12): rows are memory of one host, and its kernel says which processes have ended. */
#include "sim/net/sim_int.h"

#define LOOK_NS (100 * WH_NS_PER_US)
#define BLIND_IN 10 /* one in so many has no descriptor of the other's process */

bool wh_sim_has_landed(const struct sim_node *node)
{
	for (uint32_t to = 0; to < node->sim->options.nodes; to++)
		for (const struct sim_link *link = node->links[to]; link != NULL; link = wh_sim_former(link))
			if (link->head != NULL && !link->to->dead)
				return false;
	return true;
}

/* To `from`, of `to`, when all can see all that `to` has written, and `from` has been told that the connection has ended. */
static void let_proof_come(void *ctx, uint64_t argument)
{
	struct sim_link *link = ctx;
	struct sim_node *node = link->from;

	(void)argument;
	if (!node->dead && (!link->over || !wh_sim_has_landed(link->to))) {
		wh_sim_at(link->sim, link->sim->now_ns + LOOK_NS, let_proof_come, link, 0);
		return;
	}
	link->sim->under_way--;
	if (node->dead)
		return;
	link->proved = true;
	*node->proofs_tail = link;
	node->proofs_tail = &link->next_proof;
	wh_sim_ring(node);
}

/* It comes at once, some time later, or never. */
static void prove_to(struct sim_link *link)
{
	struct wh_sim *sim = link->sim;
	uint64_t most = wh_dice_one_in(&sim->dice, 2) ? sim->options.proof_max_ns : WH_NS_PER_MS;

	if (wh_dice_one_in(&sim->dice, BLIND_IN))
		return;
	sim->under_way++;
	wh_sim_at(sim, sim->now_ns + wh_dice_below(&sim->dice, most + 1), let_proof_come, link, 0);
}

/* Then it holds a descriptor of the other's process. */
static bool has_met(const struct sim_link *link)
{
	return !link->from->dead && (link->over || wh_sim_met(link->from, link->to->id) == link);
}

void wh_sim_prove(struct sim_node *node, bool killed)
{
	struct wh_sim *sim = node->sim;

	if (!killed && (!node->left || wh_dice_one_in(&sim->dice, 2))) /* the process goes on */
		return;
	for (uint32_t id = 0; id < sim->options.nodes; id++)
		for (struct sim_link *link = node->links[id]; link != NULL; link = wh_sim_former(link))
			if (has_met(link->back))
				prove_to(link->back);
}

bool wh_sim_next_proof(struct sim_node *node, struct wh_transport_event *out)
{
	struct sim_link *link = node->proofs;

	if (link == NULL || node->dead)
		return false;
	node->proofs = link->next_proof;
	if (node->proofs == NULL)
		node->proofs_tail = &node->proofs;
	out->kind = WH_EVENT_PEER_DEAD;
	out->node = link->to->id;
	out->incarnation = link->to->incarnation;
	out->bytes = 0;
	out->text[0] = '\0';
	return true;
}

bool wh_sim_has_proof(const struct wh_sim *sim, uint32_t peer, uint64_t peer_incarnation, uint32_t node,
		      uint64_t incarnation)
{
	const struct sim_node *life = sim->hosts[peer].life;
	const struct sim_link *link;

	while (life != NULL && life->incarnation != peer_incarnation)
		life = life->former;
	link = life != NULL ? wh_sim_link_to(life, node, incarnation) : NULL;
	return link != NULL && link->proved;
}
