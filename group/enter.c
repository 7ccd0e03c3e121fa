/* enter.c - one pass over the way into a view, over newcomers, stays and states; and what other nodes say, in my view or not.
 *
 * What membership/join.h has done here is in participant.c.
 */
#include "group/answer.h"
#include "group/durable.h"
#include "group/node_int.h"

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
			work += wh_node_replay_logs(node);
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
