/* install.c - how a view begins at a node. What comes before is in participant.c.
 *
 * The application's threads see one view or the other: rings are closed to claims at the wedge, and opened again when the
 * new view has been published (docs/decisions/0014).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "base/rcu.h"
#include "base/text.h"
#include "group/durable.h"
#include "group/node_int.h"

/* ---- the next view begins --------------------------------------------------------------------------------------------- */

struct job { /* off the loop: waits until no application thread looks at what was current */
	whorl_node *node;
	struct wh_epoch *over;
};

static void pass_grace(void *argument)
{
	struct job job = *(struct job *)argument;

	free(argument);
	wh_rcu_synchronize();
	wh_store_release(&job.over->grace, 1); /* partner: retire_epoch, in epoch.c */
	wh_fetch_add(&job.node->uses.jobs, UINT64_MAX);
}

static void await_grace(whorl_node *node, struct wh_epoch *over)
{
	struct job *job = malloc(sizeof(*job));

	if (job == NULL) { /* rather wait here than never free it */
		wh_rcu_synchronize();
		wh_store_release(&over->grace, 1);
		return;
	}
	*job = (struct job){node, over};
	wh_fetch_add(&node->uses.jobs, 1);
	node->fixed.env.submit(node->fixed.env.ctx, pass_grace, job);
}

/* My ring in the new view, in which message `first` is the first that may have to be sent. */
static void move_ring(whorl_subgroup *subgroup, struct wh_shard_member *member, uint64_t first)
{
	if (member == NULL || (member->mc != NULL && !member->sends)) {
		uint64_t dropped = wh_ring_drop(subgroup->ring, first);

		subgroup->gone_from = first;
		subgroup->gone_count = dropped;
		wh_store_relaxed(&subgroup->figures.dropped, wh_load_relaxed(&subgroup->figures.dropped) + dropped);
	} else if (member->mc == NULL) {
		wh_ring_rest(subgroup->ring, first, member->ends);
	} else {
		wh_ring_enter(subgroup->ring, &member->place, first, member->ends);
		member->placed = true;
	}
}

/* What was delivered to this node before it came in says nothing of what is in the state that it begins with: that may have less of
 * a sender, and the empty one has nothing, and then the rest comes again. */
static void forget_delivered(whorl_subgroup *subgroup)
{
	for (uint32_t id = 0; id < wh_node_config_nodes_max(&subgroup->node->fixed.config); id++)
		subgroup->had[id] = WH_UNKNOWN;
}

/* A node that enters a dynamic subgroup begins at 0, as in another life: of a stay before nothing comes any more, as it has rested. */
static void forget_stays(whorl_subgroup *subgroup, const struct wh_view *view, const struct wh_shard_member *member)
{
	for (uint32_t i = 0; member != NULL && i < member->layout->entered_count; i++)
		subgroup->had[view->ids[member->layout->entered[i]]] = 0;
}

static void move_subgroup(struct wh_epoch *epoch, struct wh_epoch *before, whorl_subgroup *subgroup)
{
	struct wh_shard_member *member = wh_epoch_shard_member(epoch, subgroup);
	struct wh_shard_member *old = before != NULL ? wh_epoch_shard_member(before, subgroup) : NULL;
	uint64_t first = 0;

	if (subgroup->ring != NULL) {
		/* All that come here from the view before have begun that one: they have acknowledged this one in it. */
		wh_ring_release(subgroup->ring);
		first = wh_ring_settled(subgroup->ring);
	}
	if (old != NULL && old->mc != NULL) {
		uint64_t end = wh_multicast_end(old->mc, before->change.left_out);

		if (old->sends)
			first = end;
	}
	if (member != NULL && wh_node_begins(subgroup, member, epoch->rank))
		forget_delivered(subgroup);
	/* Another life, or the first: its messages begin at 0, and none has been delivered here. */
	for (uint32_t i = 0; i < epoch->view->joined_count; i++)
		subgroup->had[epoch->view->joined[i]] = 0;
	if (wh_node_is_dynamic(subgroup))
		forget_stays(subgroup, epoch->view, member);
	if (subgroup->ring != NULL)
		move_ring(subgroup, member, first);
	if (subgroup->ring != NULL && old == NULL) /* no other node has had anything of it to deliver */
		wh_ring_release(subgroup->ring);
	if (member == NULL || wh_rank_find(member->layout->entered, member->layout->entered_count, epoch->rank) >= 0)
		wh_node_forget_refused(subgroup);
	if (member != NULL && member->mc != NULL) {
		wh_multicast_begin(member->mc, first);
		wh_node_hold(subgroup, member);
	}
}

static void inherit_from(struct wh_epoch *epoch, const struct wh_epoch *before)
{
	bool heard[WH_NODES_MAX];

	for (uint32_t rank = 0; rank < epoch->view->members; rank++) {
		int was = wh_view_rank_of(before->view, epoch->view->ids[rank], epoch->view->incarnations[rank]);

		heard[rank] = was < 0 || wh_heartbeat_hears(&before->heartbeat, (uint32_t)was);
		if (was >= 0)
			wh_change_inherit(&epoch->change, rank, &before->change, (uint32_t)was);
	}
	wh_heartbeat_begin(&epoch->heartbeat, heard);
}

void wh_epoch_suspect_lost(struct wh_epoch *epoch)
{
	const struct wh_roster *roster = &epoch->node->entry.roster;
	const struct wh_view *view = epoch->view;

	for (uint32_t rank = 0; rank < view->members; rank++)
		if (rank != epoch->rank && wh_roster_has_died(roster, view->ids[rank], view->incarnations[rank]))
			wh_change_suspect(&epoch->change, rank, WH_DEAD, "its process has ended");
		else if (rank != epoch->rank && epoch->change.suspicion.known[rank] == WH_TRUSTED &&
			 wh_roster_lost(roster, view->ids[rank], view->incarnations[rank], epoch->image->key))
			wh_change_suspect(&epoch->change, rank, WH_FAILED, "it is gone, or has dropped this view");
}

/* Those that the group goes on without may be there still, and reachable: not for those that have met on lanes. */
static void part_lanes(const struct wh_epoch *epoch, const struct wh_epoch *before)
{
	struct wh_transport *transport = epoch->node->fixed.transport;
	const struct wh_view *view = before->view;

	for (uint32_t rank = 0; rank < view->members && transport->ops->lanes_part != NULL; rank++)
		if (wh_view_rank_of(epoch->view, view->ids[rank], view->incarnations[rank]) < 0)
			transport->ops->lanes_part(transport, view->ids[rank], view->incarnations[rank]);
}

static void log_view(whorl_node *node, const struct wh_view *view)
{
	char ids[256] = "";

	for (uint32_t rank = 0; rank < view->members; rank++)
		wh_text_add_id(ids, sizeof(ids), " ", view->ids[rank]);
	wh_log(&node->diag, WH_LOG_INFO, "view %" PRIu64 " of group %016" PRIx64 ": nodes %s", view->number,
	       view->group, ids);
}

void wh_epoch_begin(struct wh_epoch *epoch)
{
	whorl_node *node = epoch->node;
	struct wh_epoch *before = node->epochs.current;
	whorl_subgroup *subgroup;

	if (before != NULL)
		inherit_from(epoch, before);
	else
		wh_heartbeat_begin(&epoch->heartbeat, NULL);
	wh_epoch_suspect_lost(epoch);
	epoch->older = before;
	wh_rcu_publish(node->epochs.current, epoch);
	wh_node_begin_stays(epoch);
	wh_serving_begin(node->entry.serving, epoch->view);
	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->told.stage != WH_STAGE_ENTERING)
			move_subgroup(epoch, before, subgroup);
	wh_durable_begin(epoch, before);
	epoch->holds = before != NULL;
	wh_pushes_post(&epoch->pushes);
	wh_node_transfer(node, epoch);
	if (before != NULL) {
		part_lanes(epoch, before);
		await_grace(node, before);
		if (before->change.suspicion.unheard_told) /* the new view begins as one that hears its members */
			wh_node_regain_quorum(node);
	}
	node->fixed.transport->ops->past(node->fixed.transport, epoch->image->key);
	node->entry.requests.patience_ns = epoch->heartbeat.timeout_ns;
	wh_join_requests_settle(&node->entry.requests, epoch->view);
	wh_node_introduce(node);
	node->rests.open = wh_node_all_places(node);
	wh_count(&node->epochs.begun, 1);
	wh_event(&node->diag, "view", epoch->view->number, epoch->view->members, 0);
	log_view(node, epoch->view);
	if (before == NULL)
		wh_node_advance(node, WHORL_ENTRY_BEGUN);
	wh_node_tell_view(node);
	wh_node_tell_gone(node);
	wh_node_give(epoch);
	wh_node_state_restored(node);
}

void wh_epoch_install(whorl_node *node)
{
	struct wh_epoch *epoch = node->epochs.current, *next = node->epochs.proposed;

	_Static_assert((int)WH_STAGES == (int)WHORL_STAGE_INSTALLED, "the stages of a change, then what comes after");
	for (int stage = 0; stage < WH_STAGES; stage++)
		wh_store_relaxed(&node->epochs.change_ns[stage], epoch->change.stage_ns[stage]);
	node->epochs.proposed = NULL;
	wh_epoch_begin(next);
	wh_store_relaxed(&node->epochs.change_ns[WHORL_STAGE_INSTALLED],
			 wh_env_now(&node->fixed.env) - node->epochs.change_began_ns);
	node->epochs.awaits_delivery = true;
}

/* ---- a first view --------------------------------------------------------------------------------------------------- */

static void begin_epoch(whorl_node *node)
{
	struct wh_epoch *next = node->epochs.proposed;
	struct wh_error err;
	enum whorl_result result = wh_loop_add(&node->loop, wh_epoch_step, node, &err);

	if (result != WHORL_OK) {
		wh_node_fail(node, WH_LOG_ERROR, result, "%s", err.text);
		return;
	}
	node->epochs.proposed = NULL;
	wh_durable_hush(node);
	wh_epoch_begin(next);
}

void wh_node_come_in(whorl_node *node)
{
	node->entry.replays = wh_durable_begins_replay(node);
	if (!node->entry.replays)
		begin_epoch(node);
}

/* Behind a restart the view begins when the logs have been upcalled. */
size_t wh_node_replay_logs(whorl_node *node)
{
	bool done;
	size_t work = wh_durable_replay(node, &done);

	if (!done) {
		wh_loop_at(&node->loop, node->loop.now_ns + WH_NS_PER_MS);
		return work;
	}
	node->entry.replays = false;
	begin_epoch(node);
	return work + 1;
}
