/* enter.c - what nodes outside of my view have to do with me: my own way into a view, the newcomers to it, what they say.
 *
 * What membership/join.h has done here is in participant.c.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/size.h"
#include "group/answer.h"
#include "group/durable.h"
#include "group/node_int.h"
#include "group/refuse.h"

/* ---- a first view, or an invitation ------------------------------------------------------------------------------ */

void wh_node_advance(whorl_node *node, int step)
{
	if (wh_load_relaxed(&node->entry.took_ns[step]) == 0)
		wh_store_relaxed(&node->entry.took_ns[step],
				 wh_env_now(&node->fixed.env) - wh_load_relaxed(&node->passes.started_ns) + 1);
}

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
static size_t replay_logs(whorl_node *node)
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

static void note_ready(struct wh_held held, const whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		struct wh_subgroup_told *told = wh_told_write(held, &subgroup->told);

		told->is_member = wh_epoch_shard_member(node->epochs.current, subgroup) != NULL;
		told->ready = told->is_member && (subgroup->state == NULL || !wh_state_restores(subgroup->state));
	}
}

void wh_node_state_restored(whorl_node *node)
{
	struct wh_held held;
	bool restores;

	if (node->epochs.current == NULL)
		return;
	restores = wh_node_restores(node);
	if (!restores)
		wh_node_advance(node, WHORL_ENTRY_RESTORED);
	held = wh_waiting_enter(&node->waiting);
	note_ready(held, node);
	if (!restores)
		wh_waiting_note_ready(held);
	wh_waiting_tell(held);
	wh_waiting_leave(held);
}

/* ---- what I am --------------------------------------------------------------------------------------------------- */

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

/* ---- what others say --------------------------------------------------------------------------------------------- */

/* A subgroup that has ended, or in which this node is no more: it asks another. */
static void decline_unknown(whorl_node *node, uint32_t from, uint64_t number)
{
	const struct wh_wire message = {.kind = WH_WIRE_NO_STATE, .subgroup = number};

	(void)wh_roster_send(&node->entry.roster, from, &message);
}

static void on_state_message(whorl_node *node, uint32_t from, const struct wh_wire *message)
{
	whorl_subgroup *subgroup = wh_node_subgroup_by_number(node, message->subgroup);

	if (subgroup == NULL && message->kind == WH_WIRE_STATE_WANTED)
		decline_unknown(node, from, message->subgroup);
	if (subgroup == NULL)
		return;
	if (message->kind == WH_WIRE_REST)
		(void)whorl_pause_sending(subgroup, message->flag);
	else if (message->kind == WH_WIRE_STATE_WANTED)
		wh_node_state_wanted(subgroup, from);
	else if (subgroup->state != NULL)
		wh_state_declined(wh_node_use_state(subgroup), from);
}

/* False: no node says that. */
static bool on_message(whorl_node *node, uint32_t from, const struct wh_wire *message)
{
	struct wh_epoch *epoch = node->epochs.current;

	switch (message->kind) {
	case WH_WIRE_INTRO:
		wh_roster_on_intro(&node->entry.roster, from, message);
		return true;
	case WH_WIRE_JOIN:
	case WH_WIRE_THERE:
		if (wh_join_requests_on_message(&node->entry.requests, from, message,
						epoch != NULL && wh_change_leads(&epoch->change)))
			epoch->change.wanted = true;
		return true;
	case WH_WIRE_VIEW:
	case WH_WIRE_WITHDRAWN:
		if (epoch == NULL)
			return wh_join_on_message(&node->entry.join, from, message);
		wh_roster_dropped(&node->entry.roster, from, message);
		wh_epoch_suspect_lost(epoch);
		return true;
	case WH_WIRE_STATE_WANTED:
	case WH_WIRE_NO_STATE:
	case WH_WIRE_REST:
		on_state_message(node, from, message);
		return true;
	case WH_WIRE_WISHES:
	case WH_WIRE_NEXT:
	case WH_WIRE_REFUSED:
		return wh_serving_on_message(node->entry.serving, from, message);
	case WH_WIRE_ASK:
	case WH_WIRE_STANDING:
	case WH_WIRE_HIGHER:
	case WH_WIRE_AGREE:
	case WH_WIRE_AGREED:
	case WH_WIRE_BEGIN:
		return epoch != NULL || wh_join_on_message(&node->entry.join, from, message);
	case WH_WIRE_KINDS:
		break;
	}
	return false;
}

static void on_control(whorl_node *node, const struct wh_transport_event *event)
{
	struct wh_wire message;

	node->entry.roster.known_nodes[event->node].heard_ns = node->loop.now_ns;
	if (wh_wire_decode(&message, event->text, event->bytes) && on_message(node, event->node, &message))
		return;
	if (node->entry.bad_messages++ == 0)
		wh_log(&node->diag, WH_LOG_WARNING, "node %u says what no node can say, and is not heard", event->node);
}

static void take_stream(whorl_node *node, const struct wh_transport_event *event)
{
	whorl_subgroup *subgroup = wh_node_subgroup_by_number(node, event->tag);

	if (subgroup != NULL && subgroup->state != NULL)
		wh_state_stream(wh_node_use_state(subgroup), event->node, event->stream);
	else
		event->stream->ops->close(event->stream);
}

void wh_node_on_event(whorl_node *node, const struct wh_transport_event *event)
{
	switch (event->kind) {
	case WH_EVENT_CONTROL:
		on_control(node, event);
		break;
	case WH_EVENT_STREAM:
		take_stream(node, event);
		break;
	case WH_EVENT_QUERY:
		wh_status_answer(node, event->text, event->bytes, event->query);
		break;
	default:
		break;
	}
}

/* ---- one pass ---------------------------------------------------------------------------------------------------- */

#define EXPLAIN_NS (10 * WH_NS_PER_MS) /* for people; it may ask the system for each id of the group */

static void explain_join(whorl_node *node)
{
	char text[sizeof(node->waiting.progress)];

	wh_join_explain(&node->entry.join, text, sizeof(text));
	wh_waiting_note_progress(&node->waiting, text);
}

static size_t seek_group(whorl_node *node)
{
	size_t work;

	if (node->entry.join.began_ns == 0)
		wh_join_begin(&node->entry.join);
	wh_durable_speak(node);
	work = wh_join_step(&node->entry.join);
	if (node->loop.now_ns - node->entry.explained_ns >= EXPLAIN_NS) {
		node->entry.explained_ns = node->loop.now_ns;
		explain_join(node);
	}
	return work;
}

size_t wh_node_enter(whorl_node *node)
{
	size_t work = 0;

	if (__builtin_expect(node->epochs.current == NULL, 0)) {
		if ((wh_gate_state(node->fixed.gate) & (WH_GATE_FAILED | WH_GATE_CLOSED)) != 0)
			wh_join_give_up(&node->entry.join);
		else if (node->entry.replays)
			work += replay_logs(node);
		else
			work += seek_group(node);
	}
	if (__builtin_expect((wh_gate_state(node->fixed.gate) & WH_GATE_FAILED) != 0, 0))
		wh_node_stop_states(node); /* no node waits for what a failed node gives */
	/* What rows show is looked at before any node is told what I am: docs/decisions/0016. */
	work += wh_join_requests_step(&node->entry.requests);
	work += wh_roster_step(&node->entry.roster);
	wh_node_step_stays(node);
	return work + wh_node_state_step(node);
}

static void explain_restore(const whorl_node *node, char *text, size_t bytes)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		const struct wh_state_stats *stats =
			subgroup->state != NULL ? wh_state_statistics(subgroup->state) : NULL;
		char taken[WH_SIZE_BYTES];

		if (stats == NULL || wh_load_relaxed(&stats->takes) == 0)
			continue;
		wh_size_text(wh_load_relaxed(&stats->taken), taken, sizeof(taken));
		snprintf(text, bytes, "restores %s: %s from node %" PRIu64, subgroup->fixed.name, taken,
			 wh_load_relaxed(&stats->from));
		return;
	}
	snprintf(text, bytes, "waits for somebody to give it the state of its subgroups");
}

void whorl_progress(const whorl_node *node, char *text, size_t bytes)
{
	struct wh_held held;

	if (bytes == 0)
		return;
	if (node == NULL || text == NULL) {
		WH_REFUSE(node == NULL ? "no node" : "no place for the text");
		if (text != NULL)
			text[0] = '\0';
		return;
	}
	if (wh_node_state(node) == WHORL_FORKED) {
		snprintf(text, bytes, "%s", wh_result_text(WHORL_FORKED));
		return;
	}
	held = wh_waiting_enter(&node->waiting);
	if (node->waiting.failure.code == WHORL_OK && !node->waiting.ready && wh_load_acquire(&node->epochs.begun) > 0)
		explain_restore(node, text, bytes);
	else
		snprintf(text, bytes, "%s", wh_waiting_says(held));
	wh_waiting_leave(held);
}
