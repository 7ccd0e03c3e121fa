/* peer.c - what becomes of a connection between two nodes: messages of the peer, and its end.
 *
 * A connection's end is how death is noticed: the kernel of a process that was killed says so, and that of a host that has
 * vanished does not acknowledge any more. The heartbeat of the group is quicker than the latter.
 */
#include "transport/session/session_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

/* ---- the end of a connection -------------------------------------------------------------------------------------- */

/* Rows that are mapped stay, they belong to images. */
void wh_session_end_connection(struct wh_session *s, struct wh_peer *peer, enum wh_peer_state state)
{
	struct wh_conn *c = peer->conn;

	if (peer->state == WH_PEER_SELF)
		return;
	if (s->lanes != NULL && s->lane == 0 && peer->state == WH_PEER_MET && !s->forked)
		wh_lanes_ended(s->lanes, peer->node, peer->incarnation, peer->left);
	if (peer->state == WH_PEER_MET || state == WH_PEER_REJECTED)
		wh_known_incarnations_add(&peer->ended, peer->incarnation);
	wh_session_drop_offers(s, peer);
	if (s->plane_ops->ended != NULL)
		s->plane_ops->ended(s->transport, peer->node);
	peer->incarnation = 0;
	peer->state = state;
	if (state == WH_PEER_REJECTED && !s->forked)
		wh_redial_seldom(&s->redial, &peer->redial); /* another may be in its place by then */
	peer->doomed = NULL;
	peer->conn = NULL;
	if (c != NULL)
		wh_session_close_conn(s, c);
}

void wh_session_refuse(struct wh_session *s, struct wh_peer *peer, enum wh_complaint kind, const char *format, ...)
{
	struct wh_refused refused = {.incarnation = s->incarnation};
	unsigned char message[WH_REFUSED_MAX];
	struct iovec part = {.iov_base = message};
	va_list args;

	va_start(args, format);
	vsnprintf(refused.reason, sizeof(refused.reason), format, args);
	va_end(args);
	part.iov_len = wh_message_put_refused(message, s->version, &refused);
	(void)wh_event_queue_count(&s->event_queue, kind);
	if (peer->conn != NULL)
		(void)s->wire_ops->finish(peer->conn, &part, 1); /* if it does not get there: the next call tells it */
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation))
		wh_event_queue_tell(&s->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused node %" PRIu32 " (%s): %s", peer->node, peer->text, refused.reason);
	wh_session_end_connection(s, peer, WH_PEER_REJECTED);
}

/* It says so again if it is called again, or when our calls have crossed. */
static void be_refused(struct wh_session *s, struct wh_peer *peer, const struct wh_refused *refused)
{
	(void)wh_event_queue_count(&s->event_queue, WH_COMPLAINT_REFUSED);
	if (peer->state != WH_PEER_MET)
		peer->incarnation = refused->incarnation;
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation))
		wh_event_queue_tell(&s->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused by node %" PRIu32 " (%s): %s", peer->node, peer->text, refused->reason);
	wh_session_end_connection(s, peer, WH_PEER_REJECTED);
}

void wh_session_lose(struct wh_session *s, struct wh_peer *peer, const char *how)
{
	bool met = peer->state == WH_PEER_MET, left = peer->left;
	uint64_t incarnation = peer->incarnation;

	wh_session_end_connection(s, peer, WH_PEER_ABSENT);
	if (s->left)
		return; /* peers hang up because I did */
	if (!met) {     /* called, and not answered */
		wh_redial_soon(&s->redial, &peer->redial);
		return;
	}
	wh_redial_seldom(&s->redial, &peer->redial);
	if (left)
		wh_event_queue_tell(&s->event_queue, WH_EVENT_PEER_LEFT, peer->node, incarnation,
				    "node %" PRIu32 " (%s) has left", peer->node, peer->text);
	else
		wh_event_queue_tell(&s->event_queue, WH_EVENT_PEER_DOWN, peer->node, incarnation,
				    "node %" PRIu32 " (%s) %s", peer->node, peer->text, how);
}

/* ---- a peer speaks ------------------------------------------------------------------------------------------------ */

void wh_session_hold(const struct wh_session *s, const struct wh_peer *peer)
{
	bool is_there = peer->pinged_ns == 0 || peer->ponged_ns >= peer->pinged_ns;

	if (s->wire_ops->hold != NULL)
		s->wire_ops->hold(peer->conn, s->holds && is_there);
}

bool wh_session_say_plain(struct wh_session *s, struct wh_peer *peer, uint8_t kind, uint64_t number)
{
	unsigned char message[WH_HEAD_BYTES];

	return s->wire_ops->send(peer->conn, message, wh_message_put_plain(message, kind, number), NULL, 0,
				 WH_WIRE_OWN) == WH_WIRE_DONE;
}

/* It opens a stream over its own connection. False: what it has sent is no end of one. */
static bool on_stream(struct wh_session *s, const struct wh_peer *peer, struct wh_message *m)
{
	struct wh_transport_event *event;
	struct wh_opening opening;
	struct wh_stream *stream;

	if (!wh_message_take_opening(&opening, s->version, &m->head, m->body) || opening.version != s->version ||
	    opening.node != peer->node || opening.incarnation != peer->incarnation || opening.to != s->incarnation)
		return false;
	switch (s->wire_ops->stream_take(peer->conn, m, &stream)) {
	case WH_WIRE_DONE:
		break;
	case WH_WIRE_LATER:
		wh_event_queue_complain(&s->event_queue, WH_COMPLAINT_STARVED,
					"no memory for a stream of node %" PRIu32, peer->node);
		return true;
	default:
		return false;
	}
	event = wh_event_queue_event(&s->event_queue, WH_EVENT_STREAM, peer->node, peer->incarnation, "", 0);
	event->stream = stream;
	event->tag = opening.tag;
	return true;
}

/* A lane is for what its transport has of regions, and for nothing of a group. */
static bool has_place(const struct wh_session *s, uint8_t kind)
{
	return s->lane == 0 || kind == WH_MESSAGE_LEAVE || kind == WH_MESSAGE_PING || kind == WH_MESSAGE_PONG ||
	       (kind >= WH_MESSAGE_OWN && kind != WH_MESSAGE_LANES);
}

/* What each kind of message means from a peer that has been met. False: it has no place there. */
static bool on_met(struct wh_session *s, struct wh_peer *peer, struct wh_message *m)
{
	switch (m->head.kind) {
	case WH_MESSAGE_OFFER:
		return wh_session_on_offer(s, peer, m);
	case WH_MESSAGE_MAPPED:
		wh_session_on_mapped(s, peer, m->head.number);
		return true;
	case WH_MESSAGE_CONTROL:
		wh_event_queue_event(&s->event_queue, WH_EVENT_CONTROL, peer->node, peer->incarnation, m->body,
				     m->head.bytes);
		return true;
	case WH_MESSAGE_LEAVE:
		peer->left = true;
		wh_session_lose(s, peer, "has left");
		return true;
	case WH_MESSAGE_PING:
		(void)wh_session_say_plain(s, peer, WH_MESSAGE_PONG, 0);
		return true;
	case WH_MESSAGE_PONG:
		peer->ponged_ns = wh_env_now(s->env);
		wh_session_hold(s, peer);
		return true;
	case WH_MESSAGE_STREAM:
		return on_stream(s, peer, m);
	case WH_MESSAGE_LANES:
		if (s->lanes != NULL)
			wh_lanes_of_peer(s->lanes, peer->node, peer->incarnation, m->head.number);
		return true;
	default:
		return m->head.kind >= WH_MESSAGE_OWN && s->plane_ops->on_message != NULL &&
		       s->plane_ops->on_message(s->transport, peer->node, m);
	}
}

static void lose_garbled(struct wh_session *s, struct wh_peer *peer, const char *how)
{
	(void)wh_event_queue_count(&s->event_queue, WH_COMPLAINT_GARBLED);
	wh_session_lose(s, peer, how);
}

static void on_message(struct wh_session *s, struct wh_peer *peer, struct wh_message *m)
{
	struct wh_refused refused;
	struct wh_hello hello;

	if (s->left)
		return; /* it is only taken off the connection, so that my last words can be heard */
	if (m->head.kind == WH_MESSAGE_REFUSED && wh_message_take_refused(&refused, &m->head, m->body))
		be_refused(s, peer, &refused);
	else if (peer->state == WH_PEER_CALLED && m->head.kind == WH_MESSAGE_HELLO &&
		 wh_message_take_hello(&hello, s->version, &m->head, m->body))
		wh_session_on_answer(s, peer, &hello, m);
	else if (peer->state == WH_PEER_ANSWERED && m->head.kind == WH_MESSAGE_TAKEN)
		wh_session_meet(s, peer);
	else if (peer->state != WH_PEER_MET || !has_place(s, m->head.kind) || !on_met(s, peer, m))
		lose_garbled(s, peer, "has broken the protocol: its message does not belong here");
}

/* True: there is a message, and it has been heard. */
static bool hear(struct wh_session *s, struct wh_peer *peer, size_t *done, bool *dry)
{
	struct wh_message m = {.fds = {-1, -1}};
	bool room = !wh_session_is_full(s);
	enum wh_wire_result result = s->wire_ops->receive(peer->conn, room ? &m : NULL);

	if (result == WH_WIRE_DONE) {
		*done += m.head.kind != WH_MESSAGE_PING;
		on_message(s, peer, &m);
		wh_message_close_fds(&m);
		return true;
	}
	if (result == WH_WIRE_LATER || !room) {
		*dry = room && !peer->conn->more;
		return false;
	}
	peer->left = peer->left || result == WH_WIRE_LEFT;
	*dry = true;
	if (result == WH_WIRE_BROKEN)
		lose_garbled(s, peer, "has broken the protocol: what it sends makes no sense");
	else if (result == WH_WIRE_CHANGED)
		lose_garbled(s, peer, "is not heard any more: what it sent was changed on its way, as TLS says");
	else
		wh_session_lose(s, peer, "has died, or closed its connection");
	return false;
}

size_t wh_session_read(struct wh_session *s, struct wh_peer *peer, bool *dry)
{
	enum wh_peer_state state = peer->state;
	struct wh_conn *c = peer->conn;
	size_t done = 0;

	*dry = false;
	c->reads = 0;
	while (hear(s, peer, &done, dry) && peer->conn == c)
		;
	return done + (peer->state != state);
}

static bool is_here(const struct wh_peer *peer, uint64_t incarnation)
{
	return peer->state == WH_PEER_MET && peer->incarnation == incarnation;
}

bool wh_session_prove_dead(struct wh_session *s, uint32_t node, uint64_t incarnation)
{
	struct wh_peer *peer = &s->peers[node];
	bool dry;

	if (s->left)
		return true;
	if (is_here(peer, incarnation)) {
		(void)wh_session_read(s, peer, &dry);
		if (is_here(peer, incarnation) && dry && !wh_session_is_full(s))
			wh_session_lose(s, peer, "has died");
	}
	if (is_here(peer, incarnation) || wh_session_is_full(s))
		return false;
	wh_event_queue_tell(&s->event_queue, WH_EVENT_PEER_DEAD, node, incarnation,
			    "the process of node %" PRIu32 " has ended", node);
	return true;
}
