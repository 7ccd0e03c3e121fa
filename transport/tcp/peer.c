/* peer.c - what becomes of a connection between two nodes: messages of the peer, its end, and my own leaving.
 *
 * A connection's end is how death is noticed: the kernel of a process that was killed says so, and that of a host that has
 * vanished does not acknowledge any more (tcp/channel.c). The heartbeat of the group is quicker than the latter.
 */
#include "transport/tcp/tcp_int.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>

/* ---- a connection's beginning and end ------------------------------------------------------------------------------ */

struct wh_tcp_link *wh_tcp_link_new(const struct wh_tcp_channel *channel, uint32_t node)
{
	struct wh_tcp_link *link = calloc(1, sizeof(*link));

	if (link == NULL)
		return NULL;
	link->in.bytes = malloc(WH_TCP_IN_BYTES);
	link->out.messages = malloc(WH_TCP_MESSAGES_BYTES + WH_TCP_RESERVE_BYTES);
	link->out.table = malloc(WH_TCP_HEAD_BYTES + WH_TCP_TABLE_MAX);
	if (link->in.bytes == NULL || link->out.messages == NULL || link->out.table == NULL) {
		free(link->in.bytes);
		free(link->out.messages);
		free(link->out.table);
		free(link);
		return NULL;
	}
	link->channel = *channel;
	link->node = node;
	return link;
}

static void free_link(struct wh_tcp *t, struct wh_tcp_link *link)
{
	if (link == NULL)
		return;
	t->dirty_count -= link->dirty;
	wh_tcp_hang_up(t, &link->channel);
	wh_tcp_queue_free(&link->out.queue);
	free(link->in.bytes);
	free(link->out.messages);
	free(link->out.table);
	free(link);
}

void wh_tcp_hang_up(struct wh_tcp *t, struct wh_tcp_channel *channel)
{
	if (channel->fd >= 0 && !t->forked)
		(void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, channel->fd, NULL);
	wh_tcp_channel_close(channel, t->forked);
}

/* Rows that have a place here keep it, they belong to images. */
void wh_tcp_end_connection(struct wh_tcp *t, struct wh_tcp_peer *peer, enum wh_tcp_peer_state state)
{
	if (peer->state == WH_TCP_MET || state == WH_TCP_REJECTED)
		wh_known_incarnations_add(&peer->ended, peer->incarnation);
	peer->incarnation = 0;
	peer->state = state;
	if (state == WH_TCP_REJECTED)
		wh_redial_seldom(&t->redial, &peer->redial); /* another may be in its place by then */
	peer->doomed = NULL;
	wh_tcp_remote_end(peer);
	free_link(t, peer->link);
	peer->link = NULL;
	for (size_t i = 0; i < WH_TCP_OFFERS; i++)
		peer->offers[i].members = 0;
}

void wh_tcp_refuse(struct wh_tcp *t, struct wh_tcp_peer *peer, const char *format, ...)
{
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_TCP_REFUSED_BYTES + WH_TCP_REASON_BYTES];
	struct wh_tcp_refused refused = {.incarnation = t->incarnation};
	char whence[64] = "nowhere";
	va_list args;

	va_start(args, format);
	vsnprintf(refused.reason, sizeof(refused.reason), format, args);
	va_end(args);
	if (peer->link != NULL) {
		(void)wh_tcp_channel_whence(&peer->link->channel, whence, sizeof(whence));
		if (wh_tcp_out_message(peer->link, frame, wh_tcp_put_refused(frame, &refused), true))
			wh_tcp_out_flush(t, peer->link);
	}
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation))
		wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused node %" PRIu32 " (%s): %s", peer->node, whence, refused.reason);
	wh_tcp_end_connection(t, peer, WH_TCP_REJECTED);
}

/* It says so again if it is called again, or when our calls have crossed. */
static void be_refused(struct wh_tcp *t, struct wh_tcp_peer *peer, const struct wh_tcp_refused *refused)
{
	if (peer->state != WH_TCP_MET)
		peer->incarnation = refused->incarnation;
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation))
		wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused by node %" PRIu32 " (%s): %s", peer->node, peer->name, refused->reason);
	wh_tcp_end_connection(t, peer, WH_TCP_REJECTED);
}

void wh_tcp_lose(struct wh_tcp *t, struct wh_tcp_peer *peer, const char *how)
{
	bool met = peer->state == WH_TCP_MET, left = peer->link != NULL && peer->link->left;
	uint64_t incarnation = peer->incarnation;

	wh_tcp_end_connection(t, peer, WH_TCP_ABSENT);
	if (t->left)
		return; /* peers hang up because I did */
	if (!met) {     /* called, and not answered */
		wh_redial_soon(&t->redial, &peer->redial);
		return;
	}
	wh_redial_seldom(&t->redial, &peer->redial);
	if (left)
		wh_event_queue_tell(&t->event_queue, WH_EVENT_PEER_LEFT, peer->node, incarnation,
				    "node %" PRIu32 " (%s) has left", peer->node, peer->name);
	else
		wh_event_queue_tell(&t->event_queue, WH_EVENT_PEER_DOWN, peer->node, incarnation,
				    "node %" PRIu32 " (%s) %s", peer->node, peer->name, how);
}

/* ---- a peer speaks ------------------------------------------------------------------------------------------------ */

void wh_tcp_past(struct wh_transport *transport, uint64_t key)
{
	struct wh_tcp *t = wh_tcp_of(transport);

	t->past_key = t->past_key < key ? key : t->past_key;
	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_tcp_peer *peer = &t->peers[node];

		for (size_t i = 0; i < WH_TCP_OFFERS; i++)
			if (peer->offers[i].members > 0 && !wh_tcp_image_wants(t, peer, peer->offers[i].key))
				peer->offers[i].members = 0;
	}
}

/* What is about to be used, then the greater key, which is likelier to be wanted yet. */
static bool outranks(const struct wh_tcp *t, const struct wh_tcp_offer *a, const struct wh_tcp_offer *b)
{
	bool opened = wh_tcp_image_is_open(t, a->key);

	return opened != wh_tcp_image_is_open(t, b->key) ? opened : a->key > b->key;
}

/* Kept until my own image of that key is open (wh_tcp_image_advance). The peer may be ahead, or offer what will never be opened
 * here: when there is no place left the lowest key goes, which may be the new one. */
static void keep_offer(struct wh_tcp *t, struct wh_tcp_peer *peer, const struct wh_tcp_offer *offer)
{
	struct wh_tcp_offer *place = &peer->offers[0];

	for (size_t i = 1; i < WH_TCP_OFFERS && place->members > 0; i++)
		if (peer->offers[i].members == 0 || outranks(t, place, &peer->offers[i]))
			place = &peer->offers[i];
	for (size_t i = 0; i < WH_TCP_OFFERS; i++) /* it may be made twice */
		if (peer->offers[i].members > 0 && peer->offers[i].key == offer->key)
			place = &peer->offers[i];
	if (wh_tcp_image_wants(t, peer, offer->key) && (place->members == 0 || !outranks(t, place, offer)))
		*place = *offer;
}

static void answer_ping(struct wh_tcp *t, struct wh_tcp_peer *peer)
{
	unsigned char frame[WH_TCP_HEAD_BYTES];

	if (wh_tcp_out_message(peer->link, frame, wh_tcp_put_plain(frame, WH_TCP_PONG, 0), true))
		wh_tcp_dirty(t, peer->link);
}

/* What each kind of frame means from a peer that has been met. False: it has no place there. */
static bool on_met(struct wh_tcp *t, struct wh_tcp_peer *peer, const struct wh_tcp_head *head,
		   const unsigned char *body)
{
	struct wh_tcp_offer offer;

	switch (head->kind) {
	case WH_TCP_OFFER:
		if (!wh_tcp_take_offer(&offer, head, body))
			return false;
		keep_offer(t, peer, &offer);
		return true;
	case WH_TCP_MAPPED:
		wh_tcp_image_confirmed(t, peer, head->number);
		return true;
	case WH_TCP_CONTROL:
		wh_event_queue_event(&t->event_queue, WH_EVENT_CONTROL, peer->node, peer->incarnation, body,
				     head->bytes);
		return true;
	case WH_TCP_LEAVE:
		peer->link->left = true;
		wh_tcp_lose(t, peer, "has left");
		return true;
	case WH_TCP_PING:
		answer_ping(t, peer);
		return true;
	case WH_TCP_PONG:
		peer->ponged_ns = wh_env_now(t->env);
		return true;
	default:
		return wh_tcp_remote_on_message(t, peer, head, body);
	}
}

void wh_tcp_on_message(struct wh_tcp *t, struct wh_tcp_peer *peer, const struct wh_tcp_head *head,
		       const unsigned char *body)
{
	struct wh_tcp_refused refused;
	struct wh_tcp_hello hello;

	if (head->kind == WH_TCP_REFUSED && wh_tcp_take_refused(&refused, head, body))
		be_refused(t, peer, &refused);
	else if (peer->state == WH_TCP_GREETING && head->kind == WH_TCP_HELLO && wh_tcp_take_hello(&hello, head, body))
		wh_tcp_on_answer(t, peer, &hello);
	else if (peer->state == WH_TCP_ANSWERED && head->kind == WH_TCP_TAKEN)
		wh_tcp_meet(t, peer);
	else if (peer->state != WH_TCP_MET || !on_met(t, peer, head, body))
		wh_tcp_lose(t, peer, "has broken the protocol: its message does not belong here");
}

/* ---- control messages and leaving --------------------------------------------------------------------------------- */

enum whorl_result wh_tcp_control_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_CONTROL_MAX];
	struct wh_tcp_peer *peer;

	if (node >= t->nodes || node == t->node || count > WH_CONTROL_MAX)
		return WHORL_INVALID;
	peer = &t->peers[node];
	if (peer->state != WH_TCP_MET || peer->link->out.dead)
		return WHORL_MEMBER_GONE;
	if (!wh_tcp_out_message(peer->link, frame, wh_tcp_put_control(frame, bytes, count), false))
		return WHORL_AGAIN;
	wh_tcp_dirty(t, peer->link);
	return WHORL_OK;
}

/* The last frame to each; whatever was posted before it goes first, as far as the socket takes it now (destroy waits a
 * little for the rest). */
void wh_tcp_leave(struct wh_transport *transport)
{
	struct wh_tcp *t = wh_tcp_of(transport);

	t->left = true;
	t->gathers = false;
	wh_tcp_accept_close(t);
	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_tcp_peer *peer = &t->peers[node];

		if (peer->state == WH_TCP_GREETING || peer->state == WH_TCP_ANSWERED)
			wh_tcp_end_connection(t, peer, WH_TCP_ABSENT);
		if (peer->state != WH_TCP_MET)
			continue;
		peer->link->out.leaving = true;
		wh_tcp_out_flush(t, peer->link);
	}
}

void wh_tcp_close_connections(struct wh_tcp *t)
{
	wh_tcp_accept_close(t);
	for (uint32_t node = 0; node < t->nodes; node++)
		wh_tcp_end_connection(t, &t->peers[node], WH_TCP_ABSENT);
}
