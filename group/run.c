/* run.c - the loop of a node: its start, and the watch over its transport. */
#include "group/durable.h"
#include "group/node_int.h"
#include "group/refuse.h"

#include <stdio.h>

#include "base/rcu.h"

#define SURVEY_NS (10 * WH_NS_PER_MS)

/* ---- the watch ------------------------------------------------------------------------------------------------------ */

/* The end of a node that was met: a suspicion like others if it is a member. */
static void lose_node(whorl_node *node, const struct wh_transport_event *event)
{
	bool left = event->kind == WH_EVENT_PEER_LEFT;
	int rank = -1;

	if (event->incarnation == 0 || node->entry.roster.known_nodes[event->node].incarnation != event->incarnation)
		return; /* it had not been met */
	wh_roster_gone(&node->entry.roster, event->node);
	wh_serving_gone(node->entry.serving, event->node);
	if (node->epochs.current != NULL)
		rank = wh_view_rank_of(node->epochs.current->view, event->node, event->incarnation);
	if (rank >= 0 && !left)
		wh_log(&node->diag, WH_LOG_WARNING, "%s", event->text);
	if (rank >= 0)
		wh_change_suspect(&node->epochs.current->change, (uint32_t)rank, left ? WH_LEFT : WH_FAILED,
				  left ? "it has left" : "its connection has ended");
	wh_node_state_gone(node, event->node);
}

/* There is proof that the process of that node has ended (0039). Its end as a node was told before, and its next life may have been met
 * since: so it is looked up by its incarnation. */
static void note_death(whorl_node *node, const struct wh_transport_event *event)
{
	int rank = -1;

	wh_roster_died(&node->entry.roster, event->node, event->incarnation);
	if (node->epochs.current != NULL)
		rank = wh_view_rank_of(node->epochs.current->view, event->node, event->incarnation);
	if (rank >= 0)
		wh_change_suspect(&node->epochs.current->change, (uint32_t)rank, WH_DEAD, "its process has ended");
}

/* A node, of which we are told that it does not go with us: it is not a member, or will not be for long. */
static void part_from_node(whorl_node *node, const struct wh_transport_event *event)
{
	lose_node(node, event);
	if (node->epochs.current == NULL)
		wh_join_refused(&node->entry.join, event->node, event->text);
}

static void handle_event(whorl_node *node, const struct wh_transport_event *event)
{
	switch (event->kind) {
	case WH_EVENT_IMAGE_READY:
		break; /* looked at where it is waited for */
	case WH_EVENT_PEER_MET:
		wh_node_advance(node, WHORL_ENTRY_MET);
		wh_roster_met(&node->entry.roster, event->node, event->incarnation);
		break;
	case WH_EVENT_PEER_LEFT:
	case WH_EVENT_PEER_DOWN:
		lose_node(node, event);
		break;
	case WH_EVENT_REFUSED:
		part_from_node(node, event);
		break;
	case WH_EVENT_PEER_DEAD:
		note_death(node, event);
		break;
	case WH_EVENT_CONTROL:
	case WH_EVENT_STREAM:
	case WH_EVENT_QUERY:
		wh_node_on_event(node, event);
		break;
	}
}

/* Everything of mine is delivered by all, and everything that I received is delivered here. */
static bool is_drained(whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; node->epochs.current != NULL && (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		struct wh_shard_member *member = wh_epoch_shard_member(node->epochs.current, subgroup);

		if (subgroup->offer.backlog.messages > 0)
			return false;
		if (member != NULL && member->mc != NULL) {
			if (!wh_multicast_drained(member->mc))
				return false;
		} else if (subgroup->ring != NULL &&
			   wh_ring_settled(subgroup->ring) != wh_ring_claimed(subgroup->ring)) {
			return false; /* it waits for a view in which the shard is active */
		}
	}
	return true;
}

/* The others can go on as without a node that has left in order. A node that has promised to go on in a view begins it first, if
 * it ever does. */
static bool may_leave_now(whorl_node *node)
{
	if (wh_node_has_failed(node))
		return true;
	if (node->epochs.current == NULL)
		return node->entry.join.state != WH_JOIN_THERE;
	return wh_epoch_may_leave(node->epochs.current) && wh_durable_leave(node);
}

/* From the pass in which it may leave a node says nothing more: what its row says then is what the others read. */
static void watch_drain(whorl_node *node)
{
	/* Once its disk says that it has left nothing more of others is delivered here. */
	bool drained = node->disk.left_ticket != 0 || is_drained(node), may_leave = drained && may_leave_now(node);

	if (drained == node->waiting.drained && !may_leave)
		return;
	wh_store_relaxed(&node->passes.wants_drain, !may_leave);
	wh_waiting_drain(&node->waiting, drained, may_leave);
}

/* A member that wants to rest, or is to end, says so in its row when all that it has claimed is delivered; one that sends again, at
 * once. What is not settled is looked at again soon, and all in each new view. */
static void watch_roles(whorl_node *node)
{
	/* Acquire: what was asked. Partner: whorl_pause_sending and whorl_request_pause. */
	bool asked = wh_load_acquire(&node->rests.asked) != 0 && wh_exchange(&node->rests.asked, 0) != 0;
	struct wh_places open = asked ? wh_node_all_places(node) : node->rests.open;
	whorl_subgroup *subgroup;

	if (node->epochs.current == NULL || !wh_places_any(&open) || wh_node_has_failed(node))
		return;
	node->rests.open = (struct wh_places){0, 0};
	for (uint32_t at = open.from; at < open.to && (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		bool settled = true;
		uint64_t rests = wh_load_relaxed(&subgroup->words.rests), asks = wh_load_relaxed(&subgroup->words.asks);
		const struct wh_wire rest = {
			.kind = WH_WIRE_REST, .subgroup = wh_node_number_of(subgroup), .flag = (asks & 2) != 0};

		if (rests != WH_RESTS_UNASKED)
			settled &= wh_epoch_rest(node->epochs.current, subgroup, rests == WH_RESTS);
		settled &= wh_epoch_end(node->epochs.current, subgroup);
		if (asks != 0 && wh_roster_send(&node->entry.roster, (uint32_t)(asks >> 2), &rest))
			wh_store_release(&subgroup->words.asks, 0);
		else
			settled &= asks == 0;
		if (!settled)
			wh_places_add(&node->rests.open, subgroup->fixed.index);
	}
	if (wh_places_any(&node->rests.open))
		wh_loop_at(&node->loop, node->loop.now_ns + WH_NS_PER_MS);
}

static void survey_disks(const struct wh_shard_member *member)
{
	uint32_t id;
	uint64_t behind = wh_multicast_slowest_disk(member->mc, &id);

	wh_store_relaxed(&member->subgroup->figures.disk_slowest, id);
	wh_store_relaxed(&member->subgroup->figures.disk_behind, behind);
}

/* Numbers last for months at the least (docs/protocol.md). Those of rounds begin anew in each view; those of claims do not. */
static void survey_shard(whorl_node *node, const struct wh_shard_member *member)
{
	const whorl_subgroup *subgroup = member->subgroup;

	if (member->mc == NULL)
		return;
	wh_multicast_survey(member->mc);
	if (member->source != NULL)
		survey_disks(member);
	if (subgroup->ring != NULL) /* where a thread may have been missed (base/barrier.h) */
		wh_frontiers_survey(&subgroup->ring->frontiers);
	node->epochs.current->change.ids_exhausted =
		node->epochs.current->change.ids_exhausted || wh_multicast_ids_exhausted(member->mc);
	if (subgroup->ring != NULL && wh_ring_ids_exhausted(subgroup->ring))
		wh_node_fail(node, WH_LOG_ERROR, WHORL_SYSTEM,
			     "node %u has sent as many messages in %s as one life has numbers for: start it again",
			     node->fixed.id, subgroup->fixed.name);
}

struct wh_looks wh_node_looks(const whorl_node *node)
{
	return node->epochs.looks;
}

size_t wh_node_watch(void *ctx)
{
	whorl_node *node = ctx;
	uint64_t now = node->loop.now_ns;
	size_t work = 0;

	if (!node->fixed.caller)
		wh_passes_keep(&node->passes);
	if (node->waiting.may_leave)
		return 0;
	while (node->fixed.transport->ops->next_event(node->fixed.transport, node->watch.event)) {
		handle_event(node, node->watch.event);
		work++;
	}
	node->entry.roster.quiet = work == 0;
	work += wh_node_enter(node);
	watch_roles(node);
	if (wh_load_relaxed(&node->passes.wants_drain) != 0)
		watch_drain(node);
	if (node->disk.logs != NULL)
		wh_durable_look(node);
	if (now - node->watch.surveyed_ns < SURVEY_NS)
		return work;
	node->watch.surveyed_ns = now;
	wh_node_introduce(node);
	for (uint32_t i = 0; node->epochs.current != NULL && i < node->epochs.current->shard_member_count; i++)
		survey_shard(node, &node->epochs.current->shard_members[i]);
	return work;
}

/* The processor that the loop's thread slept on wakes, and then that thread, long after its peers could have had what was
 * committed, or the question of a read. So these go out first, from here; what may upcall is the loop's. */
void wh_node_wake(void *ctx)
{
	whorl_node *node = ctx;

	if (wh_gate_borrow(node->fixed.gate)) {
		wh_epoch_send(node);
		wh_node_ask_for_layers(node);
		wh_gate_give_back(node->fixed.gate);
	}
	node->fixed.transport->ops->wake(node->fixed.transport);
}

/* ---- start, ready ----------------------------------------------------------------------------------------------------- */

enum whorl_result whorl_start(whorl_node *node)
{
	enum whorl_result result;
	struct wh_error err;
	char name[16];

	if (node == NULL)
		return WH_REFUSE("no node");
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_load_relaxed(&node->passes.started) == 0 && wh_node_open_log_states(node, &err) != WHORL_OK)
		return WHORL_MEMORY;
	if (wh_load_relaxed(&node->passes.started_ns) == 0)
		wh_store_relaxed(&node->passes.started_ns, wh_env_now(&node->fixed.env));
	/* Release: the upcalls that were set before, for the thread that makes passes. Partner: may_step. */
	result = wh_exchange(&node->passes.started, 1) != 0 ? WH_REFUSE("the node is started already") : WHORL_OK;
	if (result != WHORL_OK || node->fixed.caller)
		return result;
	snprintf(name, sizeof(name), "whorl-%u", node->fixed.id);
	result = wh_loop_start(&node->loop, name, wh_node_config_cpu(&node->fixed.config, node->fixed.id), &err);
	if (result != WHORL_OK)
		wh_node_fail(node, WH_LOG_ERROR, result, "%s", err.text); /* all that is left is to close it */
	return result;
}

static enum whorl_result is_ready(const void *ctx)
{
	const whorl_node *node = ctx;

	return node->waiting.ready ? WHORL_OK : WHORL_TIMEOUT;
}

enum whorl_result whorl_ready(whorl_node *node, int timeout_ms)
{
	if (node == NULL)
		return WH_REFUSE("no node");
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (timeout_ms < 0)
		return WH_REFUSE("a time-out below 0");
	if (timeout_ms > 0 && wh_node_in_upcall(node))
		return WHORL_WOULD_DEADLOCK;
	return wh_node_await(node, timeout_ms, is_ready, node);
}
