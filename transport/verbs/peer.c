/* peer.c - what becomes of a connection: messages of the peer, its end, and my own leaving.
 *
 * The end of a process ends its connections, which librdmacm tells at once. A host that vanishes is noticed by the first
 * message or write that is not acknowledged; one that is stopped is not noticed here at all: heartbeats decide.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "transport/verbs/verbs_int.h"

/* ---- the end of a connection -------------------------------------------------------------------------------------- */

void wh_verbs_end_connection(struct wh_verbs *t, struct wh_verbs_peer *peer, enum wh_verbs_peer_state state)
{
	if (peer->state == WH_VERBS_MET || state == WH_VERBS_REJECTED)
		wh_known_incarnations_add(&peer->ended, peer->incarnation);
	wh_verbs_images_lose(t, peer);
	peer->incarnation = 0;
	peer->rival = 0;
	peer->state = state;
	if (state == WH_VERBS_REJECTED)
		wh_dial_sought(&t->redial, &peer->redial);
	wh_verbs_lane_end(peer);
	if (peer->link != NULL) {
		wh_verbs_streams_end(t, peer->link);
		wh_verbs_link_release(t, peer->link);
	}
	peer->link = NULL;
	for (size_t i = 0; i < WH_VERBS_PENDING; i++) {
		free(peer->pending[i]);
		peer->pending[i] = NULL;
	}
}

void wh_verbs_refuse(struct wh_verbs *t, struct wh_verbs_peer *peer, const char *format, ...)
{
	struct wh_verbs_refused refused = {.head.kind = WH_VERBS_REFUSED};
	va_list args;

	va_start(args, format);
	vsnprintf(refused.reason, sizeof(refused.reason), format, args);
	va_end(args);
	if (peer->link != NULL)
		(void)wh_verbs_link_send(t, peer->link, WH_VERBS_FOR_LAST, &refused.head, sizeof(refused), NULL, 0);
	wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
			    "refused node %" PRIu32 ": %s", peer->node, refused.reason);
	wh_verbs_end_connection(t, peer, WH_VERBS_REJECTED);
}

/* It says so again if it is called again, or when our calls have crossed. */
void wh_verbs_be_refused(struct wh_verbs *t, struct wh_verbs_peer *peer, uint64_t incarnation, const char *reason)
{
	if (peer->state != WH_VERBS_MET)
		peer->incarnation = incarnation;
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation))
		wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused by node %" PRIu32 ": %s", peer->node, reason);
	wh_verbs_end_connection(t, peer, WH_VERBS_REJECTED);
}

void wh_verbs_lose(struct wh_verbs *t, struct wh_verbs_peer *peer, const char *how)
{
	bool met = peer->state == WH_VERBS_MET, left = met && peer->link->left;
	uint64_t incarnation = peer->incarnation;

	if (peer->link != NULL && !left)
		peer->link->ended = true; /* it does not linger */
	wh_verbs_end_connection(t, peer, WH_VERBS_ABSENT);
	if (t->left)
		return; /* peers hang up because I did */
	if (!met) {     /* called, and not answered */
		wh_dial_soon(&t->redial, &peer->redial);
		return;
	}
	wh_dial_seldom(&t->redial, &peer->redial);
	if (left)
		wh_event_queue_tell(&t->event_queue, WH_EVENT_PEER_LEFT, peer->node, incarnation,
				    "node %" PRIu32 " has left", peer->node);
	else
		wh_event_queue_tell(&t->event_queue, WH_EVENT_PEER_DOWN, peer->node, incarnation, "node %" PRIu32 " %s",
				    peer->node, how);
}

/* ---- offers ------------------------------------------------------------------------------------------------------- */

void wh_verbs_past(struct wh_transport *transport, uint64_t key)
{
	struct wh_verbs *t = wh_verbs_of(transport);

	t->past_key = t->past_key < key ? key : t->past_key;
	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_verbs_peer *peer = &t->peers[node];

		for (size_t i = 0; i < WH_VERBS_PENDING; i++)
			if (peer->pending[i] != NULL && !wh_verbs_image_wants(t, peer, peer->pending[i]->key)) {
				free(peer->pending[i]);
				peer->pending[i] = NULL;
			}
	}
}

static bool is_open(const struct wh_verbs *t, uint64_t key)
{
	for (const struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		if (image->base.key == key && !image->closed)
			return true;
	return false;
}

/* What is about to be mapped, then the greater key, which is likelier to be wanted yet. */
static bool outranks(const struct wh_verbs *t, uint64_t a, uint64_t b)
{
	bool opened = is_open(t, a);

	return opened != is_open(t, b) ? opened : a > b;
}

/* Kept until my own image of that key is open and takes it (wh_verbs_image_advance). The peer may be ahead, or offer what
 * will never be opened here: when there is no place left the lowest key goes, which may be the new one. */
static void keep_offer(struct wh_verbs *t, struct wh_verbs_peer *peer, const struct wh_verbs_offer *offer)
{
	struct wh_verbs_offer **place = &peer->pending[0], *kept;

	for (size_t i = 1; i < WH_VERBS_PENDING && *place != NULL; i++)
		if (peer->pending[i] == NULL || outranks(t, (*place)->key, peer->pending[i]->key))
			place = &peer->pending[i];
	for (size_t i = 0; i < WH_VERBS_PENDING; i++) /* it may be made twice */
		if (peer->pending[i] != NULL && peer->pending[i]->key == offer->key)
			place = &peer->pending[i];
	if (!wh_verbs_image_wants(t, peer, offer->key) || (*place != NULL && outranks(t, (*place)->key, offer->key)))
		return;
	kept = malloc(offer->head.bytes);
	if (kept == NULL) {
		wh_event_queue_complain(&t->event_queue, "no memory for an offer of node %" PRIu32, peer->node);
		return;
	}
	memcpy(kept, offer, offer->head.bytes);
	free(*place);
	*place = kept;
}

/* ---- a peer speaks ------------------------------------------------------------------------------------------------ */

/* False: it does not belong here. */
static bool on_message(struct wh_verbs *t, struct wh_verbs_peer *peer, union wh_verbs_message *message)
{
	switch ((enum wh_verbs_kind)message->head.kind) {
	case WH_VERBS_CREDIT:
		return true;
	case WH_VERBS_OFFER:
		keep_offer(t, peer, &message->offer);
		return true;
	case WH_VERBS_MAPPED:
		wh_verbs_image_confirmed(t, peer, message->about.key);
		return true;
	case WH_VERBS_SHUT:
		wh_verbs_image_shut(t, peer, message->about.key);
		return true;
	case WH_VERBS_CONTROL:
		wh_event_queue_event(&t->event_queue, WH_EVENT_CONTROL, peer->node, peer->incarnation,
				     message->control.bytes, message->head.bytes - sizeof(message->head));
		return true;
	case WH_VERBS_GOODBYE:
		peer->link->left = true;
		peer->link->ended = true;
		return true;
	case WH_VERBS_STREAM_OPEN:
	case WH_VERBS_STREAM_DATA:
	case WH_VERBS_STREAM_END:
	case WH_VERBS_STREAM_TAKEN:
	case WH_VERBS_STREAM_SHUT:
		return wh_verbs_stream_on_message(t, peer, &message->stream);
	case WH_VERBS_LANE:
	case WH_VERBS_GRANT:
	case WH_VERBS_WITHDRAWN:
	case WH_VERBS_RELEASED:
	case WH_VERBS_IMMEDIATES:
		return wh_verbs_remote_on_message(t, peer, &message->region);
	case WH_VERBS_REFUSED:
	case WH_VERBS_KINDS:
		break;
	}
	return false;
}

/* Returns how many messages it has heard. The peer may have ended by then. */
static size_t on_peer(struct wh_verbs *t, struct wh_verbs_peer *peer)
{
	union wh_verbs_message *message;
	size_t heard = 0, bytes;

	while (peer->link != NULL && !wh_event_queue_is_full(&t->event_queue) &&
	       (message = wh_verbs_link_peek(peer->link, &bytes)) != NULL) {
		heard++;
		if (peer->state == WH_VERBS_ANSWERED) /* it would not speak if it did not know */
			wh_verbs_meet(t, peer);
		if (!wh_verbs_message_is_sound(message, bytes)) {
			wh_verbs_lose(t, peer, "has broken the protocol: its message is none");
		} else if (message->head.kind == WH_VERBS_REFUSED) {
			peer->link->ended = true;
			wh_verbs_be_refused(t, peer, peer->incarnation, message->refused.reason);
		} else if (!on_message(t, peer, message)) {
			wh_verbs_lose(t, peer, "has broken the protocol: its message does not belong here");
		} else {
			wh_verbs_link_drop(t, peer->link);
		}
	}
	return heard;
}

size_t wh_verbs_peers_advance(struct wh_verbs *t)
{
	size_t done = 0;

	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_verbs_peer *peer = &t->peers[node];
		size_t bytes;

		if (peer->link == NULL || (peer->state != WH_VERBS_MET && peer->state != WH_VERBS_ANSWERED))
			continue;
		done += on_peer(t, peer);
		if (peer->link != NULL && peer->link->ended && wh_verbs_link_peek(peer->link, &bytes) == NULL &&
		    !wh_event_queue_is_full(&t->event_queue)) {
			wh_verbs_lose(t, peer,
				      peer->link->how[0] != '\0' ? peer->link->how
								 : "has died, or closed its connection");
			done++;
		}
	}
	return done;
}

/* ---- control messages and leaving --------------------------------------------------------------------------------- */

enum whorl_result wh_verbs_control_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	struct wh_verbs_head head = {.kind = WH_VERBS_CONTROL};
	const struct wh_verbs_peer *peer;

	if (node >= t->nodes || node == t->node || count > WH_CONTROL_MAX)
		return WHORL_INVALID;
	peer = &t->peers[node];
	if (peer->state != WH_VERBS_MET || t->left)
		return WHORL_MEMBER_GONE;
	return wh_verbs_link_send(t, peer->link, WH_VERBS_FOR_USERS, &head, sizeof(head), bytes, count) ? WHORL_OK
													: WHORL_AGAIN;
}

/* For the last message there is always a place. */
void wh_verbs_leave(struct wh_transport *transport)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	struct wh_verbs_head goodbye = {.kind = WH_VERBS_GOODBYE};

	if (t->left)
		return;
	t->left = true;
	wh_verbs_meet_close(t);
	wh_verbs_query_close(t);
	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_verbs_peer *peer = &t->peers[node];

		if (peer->state == WH_VERBS_GREETING || peer->state == WH_VERBS_ANSWERED)
			wh_verbs_end_connection(t, peer, WH_VERBS_ABSENT);
		if (peer->state == WH_VERBS_MET)
			(void)wh_verbs_link_send(t, peer->link, WH_VERBS_FOR_LAST, &goodbye, sizeof(goodbye), NULL, 0);
	}
}
