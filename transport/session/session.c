/* session.c - the table of a session: its beginning and its end, events, service, control messages, leaving. See session.h. */
#include "transport/session/session_int.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- connections -------------------------------------------------------------------------------------------------- */

bool wh_session_add_conn(struct wh_session *s, struct wh_conn *c, uint32_t node)
{
	for (uint32_t slot = 0; slot < s->slot_count; slot++) {
		if (s->slots[slot] != NULL)
			continue;
		s->slots[slot] = c;
		c->slot = slot;
		c->node = node;
		return true;
	}
	return false;
}

void wh_session_drop_conn(struct wh_session *s, struct wh_conn *c)
{
	s->slots[c->slot] = NULL;
}

void wh_session_close_conn(struct wh_session *s, struct wh_conn *c)
{
	wh_session_drop_conn(s, c);
	s->wire_ops->close(c, s->forked);
}

struct wh_conn *wh_session_conn(const struct wh_session *s, uint32_t slot)
{
	return slot < s->slot_count ? s->slots[slot] : NULL;
}

uint32_t wh_session_slots(const struct wh_session *s)
{
	return s->slot_count;
}

void wh_message_close_fds(struct wh_message *m)
{
	for (size_t i = 0; i < WH_MESSAGE_FDS; i++) {
		if (m->fds[i] >= 0)
			close(m->fds[i]);
		m->fds[i] = -1;
	}
}

/* ---- what the wire tells ------------------------------------------------------------------------------------------ */

static size_t hear_peer(struct wh_session *s, struct wh_peer *peer)
{
	bool dry;

	if (!peer->conn->greeted && (wh_session_is_full(s) || !wh_session_greet_peer(s, peer)))
		return 1;
	return wh_session_read(s, peer, &dry);
}

size_t wh_session_on_ready(struct wh_session *s, uint32_t slot)
{
	struct wh_conn *c = wh_session_conn(s, slot);

	if (c == NULL)
		return 0;
	return c->node == WH_NO_NODE ? wh_session_hear_stranger(s, c) : hear_peer(s, &s->peers[c->node]);
}

/* What no connection tells of: a step that is to be tried again. */
static bool wants_service(const struct wh_session *s)
{
	bool wants = s->redial.searching || s->held_count > 0 || s->event_queue.in != s->event_queue.out;

	wants = wants || wh_session_lanes_want(s);
	for (const struct wh_session_image *image = s->images; image != NULL && !wants; image = image->next)
		wants = !image->settled;
	for (uint32_t node = 0; node < s->nodes && !wants; node++)
		wants = s->peers[node].doomed != NULL;
	return wants;
}

bool wh_session_on_timer(struct wh_session *s)
{
	uint64_t now = wh_env_now(s->env);

	if (s->left)
		return false;
	if (s->rests_until_ns != 0 && now >= s->rests_until_ns) {
		s->rests_until_ns = 0;
		s->wire_ops->rest(s->wire, false);
	} else if (s->rests_until_ns != 0) {
		wh_session_alarm(s, s->rests_until_ns - now);
	}
	wh_session_door_tick(s, now);
	wh_session_call_absent(s, now);
	return wants_service(s);
}

/* ---- what a transport does with it -------------------------------------------------------------------------------- */

static void give_up_doomed(struct wh_session *s)
{
	for (uint32_t node = 0; node < s->nodes; node++)
		if (s->peers[node].doomed != NULL && !wh_session_is_full(s))
			wh_session_lose(s, &s->peers[node], s->peers[node].doomed);
}

size_t wh_session_service(struct wh_session *s)
{
	size_t done;

	give_up_doomed(s);
	wh_session_look_at_held(s);
	done = wh_session_look_at_lanes(s) + wh_session_advance_images(s);
	if (s->redial.searching)
		wh_redial_search(&s->redial);
	return done;
}

/* What is sent is meant for the life that the user of the transport knows of. */
static void note_known(struct wh_session *s, const struct wh_transport_event *event)
{
	if (event->kind == WH_EVENT_PEER_MET)
		s->peers[event->node].known = event->incarnation;
	else if (event->kind == WH_EVENT_PEER_LEFT || event->kind == WH_EVENT_PEER_DOWN ||
		 event->kind == WH_EVENT_REFUSED)
		s->peers[event->node].known = 0;
}

bool wh_session_knows(const struct wh_session *s, uint32_t node)
{
	const struct wh_peer *peer = &s->peers[node];

	return peer->state == WH_PEER_MET && peer->known == peer->incarnation && !s->left;
}

bool wh_session_next_event(struct wh_session *s, struct wh_transport_event *out)
{
	if (wh_event_queue_next(&s->event_queue, out)) {
		note_known(s, out);
		return true;
	}
	for (struct wh_session_image *image = s->images; image != NULL && !s->left; image = image->next)
		if (image->base.ready && !image->announced) {
			image->announced = true;
			wh_event_queue_image(&s->event_queue, &image->base, out);
			return true;
		}
	return false;
}

bool wh_session_is_full(const struct wh_session *s)
{
	return wh_event_queue_is_full(&s->event_queue);
}

struct wh_event_queue *wh_session_events(struct wh_session *s)
{
	return &s->event_queue;
}

struct wh_peer *wh_session_peer(struct wh_session *s, uint32_t node)
{
	return &s->peers[node];
}

void wh_session_doom(struct wh_session *s, uint32_t node, const char *how)
{
	if (s->peers[node].doomed == NULL)
		s->peers[node].doomed = how;
}

bool wh_session_searching(const struct wh_session *s)
{
	return s->redial.searching && !s->left;
}

/* ---- control messages and streams --------------------------------------------------------------------------------- */

enum wh_wire_result wh_session_send(struct wh_session *s, uint32_t node, const unsigned char *message, size_t bytes,
				    const int *fds, size_t fd_count, enum wh_wire_room room)
{
	struct wh_peer *peer = &s->peers[node];

	if (peer->state != WH_PEER_MET)
		return WH_WIRE_ENDED;
	return s->wire_ops->send(peer->conn, message, bytes, fds, fd_count, room);
}

enum whorl_result wh_session_control_send(struct wh_session *s, uint32_t node, const void *bytes, size_t count)
{
	unsigned char message[WH_HEAD_BYTES + WH_CONTROL_MAX];

	if (node >= s->nodes || node == s->node || count > WH_CONTROL_MAX)
		return WHORL_INVALID;
	if (!wh_session_knows(s, node))
		return WHORL_MEMBER_GONE;
	switch (wh_session_send(s, node, message, wh_message_put_control(message, bytes, count), NULL, 0,
				WH_WIRE_USER)) {
	case WH_WIRE_DONE:
		return WHORL_OK;
	case WH_WIRE_LATER:
		return WHORL_AGAIN;
	default:
		return WHORL_MEMBER_GONE;
	}
}

enum whorl_result wh_session_stream_open(struct wh_session *s, uint32_t node, uint64_t tag, struct wh_stream **out)
{
	const struct wh_peer *peer = &s->peers[node < s->nodes ? node : s->node];
	const struct wh_opening opening = {.version = s->version,
					   .node = s->node,
					   .incarnation = s->incarnation,
					   .to = peer->incarnation,
					   .tag = tag};

	*out = NULL;
	if (node >= s->nodes || node == s->node)
		return WHORL_INVALID;
	if (!wh_session_knows(s, node))
		return WHORL_MEMBER_GONE;
	return s->wire_ops->stream_open(peer->conn, &opening, out);
}

/* ---- the beginning and the end ------------------------------------------------------------------------------------- */

static void alarm_in(void *ctx, uint64_t in_ns)
{
	wh_session_alarm(ctx, in_ns);
}

static void init_peers(struct wh_session *s)
{
	for (uint32_t node = 0; node < s->nodes; node++) {
		s->peers[node] = (struct wh_peer){
			.node = node,
			.state = node == s->node ? WH_PEER_SELF : WH_PEER_ABSENT,
		};
		for (size_t i = 0; i < WH_SESSION_OFFERS; i++)
			s->peers[node].offers[i].fd = -1;
	}
}

enum whorl_result wh_session_check(const struct wh_transport_config *config, struct wh_error *err)
{
	if (strlen(config->group) >= WH_MESSAGE_GROUP_BYTES)
		return wh_error_set(err, WHORL_INVALID, "the name of group %s has more than %d bytes", config->group,
				    WH_MESSAGE_GROUP_BYTES - 1);
	if (config->incarnation == 0)
		return wh_error_set(err, WHORL_INVALID, "node %" PRIu32 " has no incarnation", config->node);
	return WHORL_OK;
}

enum whorl_result wh_session_new(const struct wh_session_setup *setup, struct wh_session **out, struct wh_error *err)
{
	const struct wh_transport_config *config = setup->config;
	struct wh_session *s;

	*out = NULL;
	s = calloc(1, sizeof(*s) + config->nodes * sizeof(s->peers[0]));
	if (s == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " peers", config->nodes);
	s->env = config->env;
	s->wire_ops = setup->wire_ops;
	s->wire = setup->wire;
	s->plane_ops = setup->plane_ops;
	s->transport = setup->transport;
	memcpy(s->group, config->group, strlen(config->group) + 1);
	s->node = config->node;
	s->nodes = config->nodes;
	s->version = setup->version;
	s->incarnation = config->incarnation;
	s->lane = setup->lane;
	s->places = WH_SESSION_STRANGERS + 2 * s->nodes;
	s->slot_count = s->places + s->nodes;
	wh_redial_init(&s->redial, config, alarm_in, s);
	wh_event_queue_init(&s->event_queue, config, setup->name, s->events, WH_SESSION_EVENTS,
			    WH_SESSION_EVENTS_AT_ONCE);
	init_peers(s);
	s->slots = calloc(s->slot_count, sizeof(struct wh_conn *));
	if (s->slots == NULL) {
		free(s);
		return wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " connections", config->nodes);
	}
	if (setup->lanes != NULL)
		s->lanes = wh_lanes_hold(setup->lanes);
	*out = s;
	return WHORL_OK;
}

/* A lane does not search: it follows its node. */
void wh_session_begin(struct wh_session *s)
{
	if (s->lane == 0)
		wh_redial_begin(&s->redial);
}

static void close_strangers(struct wh_session *s)
{
	for (uint32_t slot = 0; slot < s->slot_count; slot++)
		if (s->slots[slot] != NULL && s->slots[slot]->node == WH_NO_NODE)
			wh_session_close_conn(s, s->slots[slot]);
}

void wh_session_leave(struct wh_session *s)
{
	s->left = true;
	wh_event_queue_drop(&s->event_queue);
	close_strangers(s);
	for (uint32_t node = 0; node < s->nodes; node++) {
		struct wh_peer *peer = &s->peers[node];

		if (peer->state == WH_PEER_CALLED)
			wh_session_end_connection(s, peer, WH_PEER_ABSENT);
		if (peer->state == WH_PEER_MET ||
		    peer->state == WH_PEER_ANSWERED) /* one that is answered may have met me */
			s->wire_ops->leave(peer->conn);
	}
}

bool wh_session_has_left(const struct wh_session *s)
{
	return s->left;
}

void wh_session_complaints(const struct wh_session *s, uint64_t out[WH_COMPLAINTS])
{
	for (uint32_t kind = 0; kind < WH_COMPLAINTS; kind++)
		out[kind] = wh_load_relaxed(&s->event_queue.complaints[kind]);
}

void wh_session_free(struct wh_session *s, bool forked)
{
	if (s == NULL)
		return;
	s->forked = forked;
	wh_event_queue_drop(&s->event_queue);
	close_strangers(s);
	for (uint32_t node = 0; node < s->nodes; node++)
		wh_session_end_connection(s, &s->peers[node], WH_PEER_ABSENT);
	wh_session_end_lanes(s);
	free(s->slots);
	free(s);
}
