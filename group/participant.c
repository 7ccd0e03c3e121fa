/* participant.c - what membership/ decides, done at this node: its one participant (membership/participant.h), for the change of a view and for the
 * way into one. How a view begins is in install.c.
 */
#include <inttypes.h>

#include "base/text.h"
#include "group/durable.h"
#include "group/node_int.h"

/* ---- the next view, or the first, is prepared --------------------------------------------------------------------------- */

static void fail_to_open(whorl_node *node, uint64_t number, enum whorl_result result, const char *why)
{
	if (node->epochs.current == NULL)
		wh_node_fail(node, WH_LOG_ERROR, result, "view %" PRIu64 " cannot be entered: %s", number, why);
	else if (node->epochs.current->change.wedged)
		wh_node_fail(node, WH_LOG_ERROR, result, "view %" PRIu64 " cannot be installed: %s", number, why);
	else /* no node has to come in */
		wh_log(&node->diag, WH_LOG_WARNING, "view %" PRIu64 " cannot be prepared here: %s", number, why);
}

static const struct wh_view *open_view(void *ctx, const struct wh_next *next, struct wh_view *view, uint64_t key)
{
	whorl_node *node = ctx;
	uint64_t number = view != NULL ? view->number : node->epochs.current->view->number + 1;
	enum whorl_result result = WHORL_OK;
	struct wh_error err;

	if (view == NULL)
		result = wh_view_next(&view, node->epochs.current->view, next, &node->fixed.layout_config, &err);
	if (result == WHORL_OK)
		result = wh_epoch_create(&node->epochs.proposed, node, view, key, &err);
	if (result != WHORL_OK) {
		fail_to_open(node, number, result, err.text);
		return NULL;
	}
	if (node->epochs.current == NULL)
		wh_node_advance(node, WHORL_ENTRY_INVITED);
	return node->epochs.proposed->view;
}

/* The record of a group that this node was counted in must be on disk before any node counts on it (0032). */
static bool record_group(whorl_node *node, uint64_t group)
{
	if (!node->entry.join.records || wh_record_has(&node->entry.record, group)) {
		node->entry.join.record = node->entry.join.records ? group : 0;
		return true;
	}
	if (node->entry.record.group != 0 && node->entry.record.writing == 0 && !node->entry.record.failed)
		wh_log(&node->diag, node->epochs.proposed->view->number == 0 ? WH_LOG_WARNING : WH_LOG_ERROR,
		       "this node was in group %016" PRIx64 ", and now comes into another of its name, %016" PRIx64,
		       node->entry.record.group, group);
	if (!wh_record_write(&node->entry.record, group))
		wh_node_fail(node, WH_LOG_ERROR, WHORL_SYSTEM, "%s", node->entry.record.error.text);
	wh_loop_at(&node->loop, node->loop.now_ns + WH_NS_PER_MS);
	return false;
}

/* No node waits for a member that is suspected meanwhile, or that a node which comes in has missed. */
static bool is_missed(const whorl_node *node, uint32_t rank)
{
	const struct wh_epoch *epoch = node->epochs.current;
	int before;

	if (epoch == NULL)
		return wh_join_misses(&node->entry.join, rank);
	before = wh_view_rank(epoch->view, node->epochs.proposed->view->ids[rank]);
	return before >= 0 && !wh_change_trusts(&epoch->change, (uint32_t)before);
}

static bool is_memory_ready(const whorl_node *node)
{
	const struct wh_transport_ops *ops = node->fixed.transport->ops;
	const struct wh_epoch *proposed = node->epochs.proposed;

	if (proposed->image->ready && node->epochs.current != NULL)
		return true;
	for (uint32_t rank = 0; rank < proposed->view->members; rank++)
		if (is_missed(node, rank))
			ops->freeze(proposed->image, rank);
	if (!proposed->image->ready)
		ops->service(node->fixed.transport);
	return proposed->image->ready;
}

static bool is_open(void *ctx)
{
	whorl_node *node = ctx;
	struct wh_epoch *proposed = node->epochs.proposed;
	bool ready = is_memory_ready(node);

	if (node->epochs.current != NULL)
		return wh_durable_is_prepared(proposed) && ready;
	if (!ready || !record_group(node, proposed->view->group) || !wh_durable_has_entered(node))
		return false;
	wh_node_advance(node, WHORL_ENTRY_THERE);
	wh_heartbeat_arrive(&proposed->heartbeat);
	return true;
}

/* Some member has begun it: it beats more than once, or it is not new and beats at all. In a first view, also: all are there,
 * or lost, or late; and those that are there are a majority. Where all must form it, all have said that they are there. Behind a
 * restart, also: all have agreed, and are there or lost, and those that are there are enough. */
static bool has_begun(void *ctx, bool late)
{
	const whorl_node *node = ctx;
	const struct wh_epoch *proposed = node->epochs.proposed;
	const struct wh_view *view = proposed->view;
	uint32_t there = 1, said = 1, awaited = 0, lost = 0;

	if (wh_epoch_is_beaten(proposed))
		return true;
	for (uint32_t rank = 0; rank < view->members; rank++) {
		enum wh_beat beat = wh_heartbeat_of(&proposed->heartbeat, rank);

		said += rank != proposed->rank && beat != WH_BEAT_NONE;
		if (rank == proposed->rank)
			continue;
		if (wh_roster_lost(&node->entry.roster, view->ids[rank], view->incarnations[rank],
				   proposed->image->key)) {
			lost++;
			continue;
		}
		there += beat == WH_BEAT_THERE;
		awaited += beat == WH_BEAT_NONE;
	}
	if (view->number != 0)
		return wh_is_first_view(proposed->image->key) && there + lost == view->members &&
		       wh_restart_may_begin(&node->entry.restart, proposed->image->key) &&
		       wh_restart_is_enough(&node->entry.join, view, proposed->image->key);
	if (2 * there <= view->voters)
		return false;
	return node->entry.join.rule == WH_FORM_ALL ? said == view->members : awaited == 0 || late;
}

static void discard_view(void *ctx, uint64_t key)
{
	whorl_node *node = ctx;
	struct wh_epoch *proposed = node->epochs.proposed;

	node->epochs.proposed = NULL; /* first: a fork may come in between, and its child frees what it finds */
	wh_epoch_free(proposed, true);
	if (key != 0)
		node->fixed.transport->ops->past(node->fixed.transport, key);
}

static void begin_view(void *ctx)
{
	whorl_node *node = ctx;

	if (node->epochs.current == NULL)
		wh_node_come_in(node);
	else
		wh_epoch_install(node);
}

/* ---- the view that ends --------------------------------------------------------------------------------------------- */

static void wedge_epoch(void *ctx)
{
	whorl_node *node = ctx;
	struct wh_epoch *epoch = node->epochs.current;

	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		if (epoch->shard_members[i].mc != NULL)
			wh_multicast_wedge(epoch->shard_members[i].mc, epoch->heartbeat.peers);
		if (epoch->shard_members[i].placed)
			wh_ring_wedge(epoch->shard_members[i].subgroup->ring);
	}
	wh_hot_share_all(&epoch->hot);
	node->epochs.change_began_ns = epoch->change.began_ns;
	for (int stage = 0; stage < WHORL_STAGES; stage++)
		wh_store_relaxed(&node->epochs.change_ns[stage], 0);
	node->epochs.awaits_delivery = false;
}

static bool keep_decision(void *ctx, uint64_t key, uint64_t ballot, const uint64_t *cuts)
{
	const whorl_node *node = ctx;

	return wh_durable_keep(node->epochs.current, key, ballot, cuts);
}

static size_t deliver_to_cuts(void *ctx, const uint64_t *cuts, bool *done)
{
	whorl_node *node = ctx;
	const struct wh_epoch *epoch = node->epochs.current;
	size_t work = 0;

	/* Members that are done hear me in the next view already. */
	wh_heartbeat_beat(&node->epochs.proposed->heartbeat);
	*done = true;
	for (uint32_t i = 0; i < epoch->shard_member_count && *done; i++)
		if (epoch->shard_members[i].mc != NULL)
			work += wh_multicast_deliver_to(epoch->shard_members[i].mc,
							cuts[wh_epoch_index(epoch, &epoch->shard_members[i])], done);
	return work;
}

/* ---- what a node is told -------------------------------------------------------------------------------------------- */

/* What was sent and not delivered here: whether the others deliver it is not known here any more. */
static void count_doubts(struct wh_epoch *epoch)
{
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		const struct wh_shard_member *member = &epoch->shard_members[i];

		if (member->mc != NULL && member->placed)
			wh_store_relaxed(&member->subgroup->figures.in_doubt, wh_multicast_undelivered(member->mc));
	}
}

static void fail_as_removed(struct wh_epoch *epoch, uint32_t by)
{
	count_doubts(epoch);
	wh_node_fail(epoch->node, WH_LOG_WARNING, WHORL_REMOVED,
		     "the others have removed this node from view %" PRIu64 ": node %u says so", epoch->view->number,
		     epoch->view->ids[by]);
}

/* Those that are lost, and those that others have lost. */
static void list_lost(const struct wh_epoch *epoch, char *ids, size_t bytes)
{
	const struct wh_suspicion *s = &epoch->change.suspicion;

	ids[0] = '\0';
	for (uint32_t rank = 0; rank < epoch->view->members; rank++)
		if (s->wanted[rank] != WH_TRUSTED)
			wh_text_add_id(ids, bytes, ", ", epoch->view->ids[rank]);
}

static void fail_as_cut_off(struct wh_epoch *epoch)
{
	char ids[128];

	list_lost(epoch, ids, sizeof(ids));
	count_doubts(epoch);
	wh_node_fail(epoch->node, WH_LOG_WARNING, WHORL_CUT_OFF,
		     "too many of the %u members of view %" PRIu64
		     " are lost for good, so this node never hears a quorum of it again; lost: %s",
		     epoch->view->members, epoch->view->number, ids);
}

static void log_suspected(const struct wh_epoch *epoch, uint32_t rank, const char *why)
{
	wh_log(&epoch->node->diag, WH_LOG_INFO, "node %u is suspected in view %" PRIu64 ": %s", epoch->view->ids[rank],
	       epoch->view->number, why);
}

static void be_told(void *ctx, const struct wh_fact *fact)
{
	whorl_node *node = ctx;

	switch (fact->kind) {
	case WH_FACT_SUSPECTED:
		log_suspected(node->epochs.current, fact->rank, fact->why);
		break;
	case WH_FACT_BROKEN:
		wh_epoch_suspect_broken(node->epochs.current, fact->rank, fact->why);
		break;
	case WH_FACT_HEARD:
		wh_node_regain_quorum(node);
		break;
	case WH_FACT_UNHEARD:
		wh_node_lose_quorum(node);
		break;
	case WH_FACT_REMOVED:
		fail_as_removed(node->epochs.current, fact->rank);
		break;
	case WH_FACT_CUT_OFF:
		fail_as_cut_off(node->epochs.current);
		break;
	case WH_FACT_REFUSED:
		wh_node_fail(node, WH_LOG_WARNING, WHORL_REFUSED, "%s", fact->why);
		break;
	}
}

const struct wh_participant wh_node_participant = {
	.open = open_view,
	.is_open = is_open,
	.has_begun = has_begun,
	.discard = discard_view,
	.begin = begin_view,
	.wedge = wedge_epoch,
	.keep = keep_decision,
	.deliver = deliver_to_cuts,
	.told = be_told,
};
