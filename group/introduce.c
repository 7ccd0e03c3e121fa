/* introduce.c - what a member says of itself to nodes that are not in its view, and asks of its leader. */
#include "group/node_int.h"

void wh_node_introduce(whorl_node *node)
{
	const struct wh_epoch *epoch = node->epochs.current;
	struct wh_wire intro = {.standing = WH_SEEKING};

	if (epoch == NULL)
		return; /* a node that comes in says it itself: membership/join.c */
	if ((wh_gate_state(node->fixed.gate) & WH_GATE_FAILED) == 0)
		intro = (struct wh_wire){.standing = WH_MEMBER_OF,
					 .flag = epoch->change.suspicion.quorum,
					 .view = epoch->view->number,
					 .group = epoch->view->group,
					 .leader = epoch->view->ids[wh_change_leader_of(&epoch->change)],
					 .key = epoch->image->key};
	wh_roster_introduce(&node->entry.roster, &intro, epoch->view);
}

/* As a node that comes in does: if it is lost, the leader looks with its next heartbeat. */
void wh_node_ask_leader(whorl_node *node)
{
	const struct wh_epoch *epoch = node->epochs.current;
	uint32_t leader = wh_change_leader_of(&epoch->change);
	const struct wh_wire join = {.kind = WH_WIRE_JOIN,
				     .incarnation = node->fixed.incarnation,
				     .group_digest = node->entry.roster.group_digest,
				     .subgroups_digest = node->entry.roster.subgroups_digest};

	if (leader != epoch->rank)
		(void)wh_roster_send(&node->entry.roster, epoch->view->ids[leader], &join);
}
