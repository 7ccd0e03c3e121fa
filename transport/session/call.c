/* call.c - how the nodes of a group find each other: the caller's side. door.c is the called side, redial.c when to call.
 *
 * A newcomer listens first and then calls all others: of two nodes at least the one that comes later reaches the other at
 * once. A node that does not answer is called again: soon, and later each time, if it may just be starting or ending, or is out
 * of reach; seldom if no process listens there, for it will call me when it comes.
 */
#include "transport/session/session_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- hello -------------------------------------------------------------------------------------------------------- */

bool wh_session_say_hello(struct wh_session *s, struct wh_peer *peer)
{
	unsigned char message[WH_HEAD_BYTES + WH_HELLO_BYTES + WH_OWN_HELLO_MAX];
	struct wh_own own = {
		.bytes = message + WH_HEAD_BYTES + WH_HELLO_BYTES, .room = WH_OWN_HELLO_MAX, .fds = {-1, -1}};
	struct wh_hello hello = {
		.version = s->version, .node = s->node, .nodes = s->nodes, .incarnation = s->incarnation};
	size_t bytes, fds = 0;

	hello.lane = s->lane;
	if (peer->conn->called)
		hello.call = ++s->calls;
	memcpy(hello.group, s->group, sizeof(hello.group));
	if (s->plane_ops->hello != NULL)
		s->plane_ops->hello(s->transport, peer->conn, &own);
	while (fds < WH_MESSAGE_FDS && own.fds[fds] >= 0)
		fds++;
	bytes = wh_message_put_hello(message, &hello, own.count) + own.count;
	return s->wire_ops->send(peer->conn, message, bytes, own.fds, fds, WH_WIRE_OWN) == WH_WIRE_DONE;
}

bool wh_session_is_foreign(const struct wh_session *s, const struct wh_hello *hello,
			   char reason[WH_MESSAGE_REASON_BYTES])
{
	if (hello->version != s->version)
		snprintf(reason, WH_MESSAGE_REASON_BYTES,
			 "node %" PRIu32 " speaks version %" PRIu32 " of the protocol, node %" PRIu32
			 " version %" PRIu32,
			 hello->node, hello->version, s->node, s->version);
	else if (strcmp(hello->group, s->group) != 0)
		snprintf(reason, WH_MESSAGE_REASON_BYTES,
			 "node %" PRIu32 " is of group %s, node %" PRIu32 " of group %s", hello->node, hello->group,
			 s->node, s->group);
	else if (hello->nodes != s->nodes)
		snprintf(reason, WH_MESSAGE_REASON_BYTES,
			 "node %" PRIu32 " is of a group of %" PRIu32 " nodes, node %" PRIu32 " of one of %" PRIu32,
			 hello->node, hello->nodes, s->node, s->nodes);
	else
		return false;
	return true;
}

void wh_session_discard_hello(struct wh_session *s, const struct wh_conn *c, const struct wh_message *m)
{
	if (s->plane_ops->discard != NULL && m->head.bytes > WH_HELLO_BYTES)
		s->plane_ops->discard(s->transport, c, WH_MESSAGE_HELLO, m->body + WH_HELLO_BYTES,
				      m->head.bytes - WH_HELLO_BYTES);
}

bool wh_session_welcome(struct wh_session *s, struct wh_peer *peer, struct wh_message *m)
{
	const unsigned char *own = m->body + WH_HELLO_BYTES;
	char reason[WH_MESSAGE_REASON_BYTES] = "its hello is longer than it should be";
	size_t bytes = m->head.bytes - WH_HELLO_BYTES;
	bool fits = s->plane_ops->welcome == NULL
			    ? bytes == 0
			    : s->plane_ops->welcome(s->transport, peer->node, peer->conn, m, own, bytes, reason);

	if (!fits)
		wh_session_refuse(s, peer, WH_COMPLAINT_FOREIGN, "node %" PRIu32 ": %s", peer->node, reason);
	return fits;
}

void wh_session_meet(struct wh_session *s, struct wh_peer *peer)
{
	peer->state = WH_PEER_MET;
	peer->left = peer->refusal_told = false;
	peer->pinged_ns = peer->ponged_ns = 0;
	wh_session_hold(s, peer);
	wh_redial_met(&s->redial, &peer->redial);
	if (s->plane_ops->met != NULL)
		s->plane_ops->met(s->transport, peer->node);
	if (s->lanes != NULL && s->lane == 0)
		wh_lanes_met(s->lanes, peer->node, peer->incarnation);
	peer->lanes_told = 0;
	s->lanes_unsaid = true;
	wh_event_queue_tell(&s->event_queue, WH_EVENT_PEER_MET, peer->node, peer->incarnation,
			    "node %" PRIu32 " (%s) is here", peer->node, peer->text);
}

/* True, and why, if the node that has answered my call is not the one that I have called, or cannot be met. */
static bool is_unfit(const struct wh_session *s, const struct wh_peer *peer, const struct wh_hello *hello,
		     enum wh_complaint *kind, char reason[WH_MESSAGE_REASON_BYTES])
{
	*kind = WH_COMPLAINT_FOREIGN;
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation)) { /* it may not know */
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "node %" PRIu32 " is gone for good", peer->node);
		return true;
	}
	if (wh_session_is_foreign(s, hello, reason))
		return true;
	if (hello->lane != s->lane) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES, "node %" PRIu32 " answers as lane %" PRIu32 ", not %" PRIu32,
			 hello->node, hello->lane, s->lane);
		return true;
	}
	if (hello->node != peer->node) {
		snprintf(reason, WH_MESSAGE_REASON_BYTES,
			 "node %" PRIu32 " answers at %s, where node %" PRIu32 " should", hello->node, peer->text,
			 peer->node);
		return true;
	}
	*kind = WH_COMPLAINT_UNPROVEN;
	return s->wire_ops->admits != NULL && !s->wire_ops->admits(peer->conn, hello->node, hello->incarnation, reason);
}

void wh_session_on_answer(struct wh_session *s, struct wh_peer *peer, const struct wh_hello *hello,
			  struct wh_message *m)
{
	char reason[WH_MESSAGE_REASON_BYTES];
	enum wh_complaint kind;

	if (s->lane != 0 && peer->here != hello->incarnation) { /* it ends just now for the node, or begins */
		wh_session_discard_hello(s, peer->conn, m);
		wh_session_lose(s, peer, "is another life");
		return;
	}
	peer->incarnation = hello->incarnation;
	if (is_unfit(s, peer, hello, &kind, reason)) {
		wh_session_discard_hello(s, peer->conn, m);
		wh_session_refuse(s, peer, kind, "%s", reason);
		return;
	}
	if (!wh_session_welcome(s, peer, m))
		return;
	if (wh_session_say_plain(s, peer, WH_MESSAGE_TAKEN, 0))
		wh_session_meet(s, peer);
	else
		wh_session_lose(s, peer, "has hung up");
}

/* ---- calling ------------------------------------------------------------------------------------------------------ */

/* The answer, or each word before it, may take so long from now on. */
static void wait_anew(struct wh_session *s, struct wh_peer *peer)
{
	uint64_t answer_ns = s->wire_ops->answer_ns;

	peer->redial.at_ns = answer_ns == 0 ? UINT64_MAX : wh_env_now(s->env) + answer_ns;
	if (answer_ns != 0)
		wh_session_alarm(s, answer_ns);
}

static void look_up(struct wh_session *s, const struct wh_peer *peer)
{
	if (s->wire_ops->look_up != NULL)
		s->wire_ops->look_up(s->wire, peer->node);
}

/* Nothing has come of a call before anything was proven. Nothing says that it was the peer that refused, or was refused, and not
 * another in its place or on the way: so it is called again, seldom, and not taken for met and gone. */
static void not_reached(struct wh_session *s, struct wh_peer *peer, enum wh_wire_result why, const char *reason)
{
	/* Where there was no connection another user's process has the peer's place. */
	enum wh_complaint fault = peer->conn != NULL ? peer->conn->fault : WH_COMPLAINT_UNPROVEN;

	wh_session_end_connection(s, peer, WH_PEER_ABSENT);
	switch (why) {
	case WH_WIRE_NOBODY:
		look_up(s, peer);
		wh_redial_seldom(&s->redial, &peer->redial);
		return;
	case WH_WIRE_REFUSED:
		(void)wh_event_queue_count(&s->event_queue, fault);
		wh_redial_seldom(&s->redial, &peer->redial);
		if (!peer->refusal_told) /* where there was no connection, nor ever was one, there is no text */
			wh_event_queue_tell(&s->event_queue, WH_EVENT_REFUSED, peer->node, 0,
					    "node %" PRIu32 "%s%s%s cannot be met: %s", peer->node,
					    peer->text[0] != '\0' ? " (" : "", peer->text,
					    peer->text[0] != '\0' ? ")" : "", reason);
		peer->refusal_told = true;
		return;
	case WH_WIRE_BROKEN:
		look_up(s, peer);
		if (reason[0] != '\0')
			wh_event_queue_complain(&s->event_queue, WH_COMPLAINT_UNREACHED,
						"cannot call node %" PRIu32 ": %s", peer->node, reason);
		break;
	default: /* it has hung up, or nothing can be made for it */
		break;
	}
	wh_redial_soon(&s->redial, &peer->redial);
}

/* The wire has worked on what the other end had said since `working_ns`: that was no time of its own. */
static void wait_on(struct wh_session *s, struct wh_peer *peer, uint64_t working_ns)
{
	uint64_t now = wh_env_now(s->env), worked_ns = now - working_ns;

	if (peer->redial.at_ns == UINT64_MAX)
		return;
	peer->redial.at_ns += worked_ns;
	wh_session_alarm(s, peer->redial.at_ns > now ? peer->redial.at_ns - now : 0);
}

bool wh_session_greet_peer(struct wh_session *s, struct wh_peer *peer)
{
	char reason[WH_MESSAGE_REASON_BYTES] = "";
	struct wh_conn *c = peer->conn;
	uint64_t working_ns = c->working_ns;
	uint32_t words = c->words;
	enum wh_wire_result result;

	if (c->greeted)
		return true;
	result = s->wire_ops->greet(c, reason);
	if (result == WH_WIRE_DONE || c->words != words)
		wait_anew(s, peer);
	else if (working_ns != 0 && c->working_ns == 0)
		wait_on(s, peer, working_ns);
	memcpy(peer->text, c->text, sizeof(peer->text));
	if (result == WH_WIRE_DONE)
		c->greeted = true;
	else if (result != WH_WIRE_LATER)
		not_reached(s, peer, result, reason);
	return result == WH_WIRE_DONE;
}

static void call(struct wh_session *s, struct wh_peer *peer)
{
	char reason[WH_MESSAGE_REASON_BYTES] = "";
	struct wh_conn *c = NULL;
	enum wh_wire_result result = s->wire_ops->connect(s->wire, peer->node, &c, reason);

	if (result != WH_WIRE_DONE) {
		not_reached(s, peer, result, reason);
		return;
	}
	c->called = true;
	memcpy(peer->text, c->text, sizeof(peer->text));
	if (!wh_session_add_conn(s, c, peer->node)) {
		s->wire_ops->close(c, false);
		not_reached(s, peer, WH_WIRE_LATER, "");
		return;
	}
	peer->conn = c;
	peer->state = WH_PEER_CALLED;
	wait_anew(s, peer);
	if (!s->wire_ops->watch(c, true) ||
	    !wh_session_say_hello(s, peer)) { /* leaves when it is connected; there is room */
		not_reached(s, peer, WH_WIRE_LATER, "");
		return;
	}
	/* Where that is at once the call counts at once: else of two that cross each would be hung up by the node that made it. */
	(void)wh_session_greet_peer(s, peer);
}

/* Its answer, or a word before that. What my wire works on has come. */
static bool is_waited_for(const struct wh_peer *peer)
{
	return peer->state == WH_PEER_CALLED && peer->conn->working_ns == 0;
}

static bool is_late(const struct wh_peer *peer, uint64_t now)
{
	return is_waited_for(peer) && peer->redial.at_ns <= now;
}

/* An answer that is late may have come while it was this node that was long away. */
static void look_again(struct wh_session *s, struct wh_peer *peer)
{
	if (!wh_session_is_full(s))
		(void)wh_session_on_ready(s, peer->conn->slot);
}

static bool is_away(const struct wh_peer *peer)
{
	return peer->state == WH_PEER_ABSENT || peer->state == WH_PEER_REJECTED;
}

static bool is_called(const struct wh_session *s, const struct wh_peer *peer)
{
	return is_away(peer) && wh_session_may_call(s, peer);
}

void wh_session_call_absent(struct wh_session *s, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	uint32_t again = 0;

	for (uint32_t node = 0; node < s->nodes; node++) {
		struct wh_peer *peer = &s->peers[node];

		if (is_late(peer, now))
			look_again(s, peer);
		if (is_late(peer, now) && !wh_session_is_full(s)) {
			(void)wh_event_queue_count(&s->event_queue, WH_COMPLAINT_UNREACHED);
			look_up(s, peer);
			wh_session_lose(s, peer, "does not answer");
		} else if (is_called(s, peer) && !wh_session_is_full(s) &&
			   wh_redial_is_due(&peer->redial, now, &again)) {
			call(s, peer);
		}
		if ((is_called(s, peer) || is_waited_for(peer)) && peer->redial.at_ns < next)
			next = peer->redial.at_ns;
	}
	wh_redial_tried(&s->redial, now, next);
}
