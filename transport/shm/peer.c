/* peer.c - what becomes of a connection: messages of the peer, its end, and my own leaving.
 *
 * A connection's end is how death is noticed: the kernel closes what a killed process had open.
 */
#include "transport/shm/shm_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define PACKETS_AT_ONCE 8

/* ---- the end of a connection -------------------------------------------------------------------------------------- */

/* Out of epoll by name, and an end for the other side too: a forked child may hold the same socket, which would keep
 * both alive. That child itself only closes. */
void wh_shm_hang_up(struct wh_shm *t, int *socket)
{
	if (*socket < 0)
		return;
	if (!t->forked) {
		(void)epoll_ctl(t->epoll, EPOLL_CTL_DEL, *socket, NULL);
		(void)shutdown(*socket, SHUT_RDWR);
	}
	close(*socket);
	*socket = -1;
}

static void drop_offer(const struct wh_shm_peer *peer, struct wh_shm_pending *pending)
{
	if (!pending->there)
		return;
	close(pending->fd);
	wh_shm_claim_drop(&pending->offer.row, peer->pid == getpid());
	pending->there = false;
}

/* Rows that are mapped stay, they belong to images. */
void wh_shm_end_connection(struct wh_shm *t, struct wh_shm_peer *peer, enum wh_shm_peer_state state)
{
	if (peer->state == WH_SHM_MET || state == WH_SHM_REJECTED)
		wh_known_incarnations_add(&peer->ended, peer->incarnation);
	peer->incarnation = 0;
	peer->state = state;
	if (state == WH_SHM_REJECTED)
		wh_dial_sought(&t->redial, &peer->redial);
	wh_shm_hang_up(t, &peer->socket);
	if (peer->doorbell >= 0)
		close(peer->doorbell);
	peer->doorbell = -1;
	peer->status = NULL;
	wh_shm_remote_end(peer);
	wh_shm_view_unmap(&peer->view);
	for (size_t i = 0; i < WH_SHM_PENDING; i++)
		drop_offer(peer, &peer->pending[i]);
}

void wh_shm_past(struct wh_transport *transport, uint64_t key)
{
	struct wh_shm *t = wh_shm_of(transport);

	t->past_key = t->past_key < key ? key : t->past_key;
	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_shm_peer *peer = &t->peers[node];

		for (size_t i = 0; i < WH_SHM_PENDING; i++)
			if (peer->pending[i].there && !wh_shm_image_wants(t, peer, peer->pending[i].offer.key))
				drop_offer(peer, &peer->pending[i]);
	}
}

void wh_shm_refuse(struct wh_shm *t, struct wh_shm_peer *peer, const char *format, ...)
{
	char reason[WH_SHM_REASON_BYTES];
	va_list args;

	va_start(args, format);
	vsnprintf(reason, sizeof(reason), format, args);
	va_end(args);
	if (peer->socket >= 0)
		wh_shm_send_refusal(peer->socket, t->incarnation, reason);
	wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
			    "refused node %" PRIu32 " (pid %d): %s", peer->node, (int)peer->pid, reason);
	wh_shm_end_connection(t, peer, WH_SHM_REJECTED);
}

/* It says so again if it is called again, or when our calls have crossed. */
static void be_refused(struct wh_shm *t, struct wh_shm_peer *peer, const struct wh_shm_refused *refused)
{
	if (peer->state != WH_SHM_MET)
		peer->incarnation = refused->incarnation;
	if (!wh_known_incarnations_has(&peer->ended, peer->incarnation))
		wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, peer->incarnation,
				    "refused by node %" PRIu32 " (pid %d): %s", peer->node, (int)peer->pid,
				    refused->reason);
	wh_shm_end_connection(t, peer, WH_SHM_REJECTED);
}

void wh_shm_lose(struct wh_shm *t, struct wh_shm_peer *peer, const char *how)
{
	bool met = peer->state == WH_SHM_MET;
	bool left = met && wh_load_acquire(&peer->status->left) == 1;
	uint64_t incarnation = peer->incarnation;

	wh_shm_end_connection(t, peer, WH_SHM_ABSENT);
	if (t->left)
		return; /* peers hang up because I did */
	if (!met) {     /* called, and not answered */
		wh_dial_soon(&t->redial, &peer->redial);
		return;
	}
	wh_dial_seldom(&t->redial, &peer->redial);
	if (left)
		wh_event_queue_tell(&t->event_queue, WH_EVENT_PEER_LEFT, peer->node, incarnation,
				    "node %" PRIu32 " (pid %d) has left", peer->node, (int)peer->pid);
	else
		wh_event_queue_tell(&t->event_queue, WH_EVENT_PEER_DOWN, peer->node, incarnation,
				    "node %" PRIu32 " (pid %d) %s", peer->node, (int)peer->pid, how);
}

/* ---- a peer speaks ------------------------------------------------------------------------------------------------ */

static bool is_open(const struct wh_shm *t, uint64_t key)
{
	for (const struct wh_shm_image *image = t->images; image != NULL; image = image->next)
		if (image->base.key == key)
			return true;
	return false;
}

/* What is about to be mapped, then the greater key, which is likelier to be wanted yet. */
static bool outranks(const struct wh_shm *t, const struct wh_shm_pending *a, const struct wh_shm_pending *b)
{
	bool opened = is_open(t, a->offer.key);

	return opened != is_open(t, b->offer.key) ? opened : a->offer.key > b->offer.key;
}

/* Kept until my own image of that key is open and maps it (wh_shm_image_advance). The peer may be ahead, or offer what
 * will never be opened here: when there is no place left the lowest key goes, which may be the new one. */
static void keep_offer(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_shm_packet *packet)
{
	struct wh_shm_pending offered = {.there = true, .fd = packet->fds[0], .offer = packet->offer};
	struct wh_shm_pending *place = &peer->pending[0];

	packet->fds[0] = -1;
	for (size_t i = 1; i < WH_SHM_PENDING && place->there; i++)
		if (!peer->pending[i].there || outranks(t, place, &peer->pending[i]))
			place = &peer->pending[i];
	for (size_t i = 0; i < WH_SHM_PENDING; i++) /* it may be made twice */
		if (peer->pending[i].there && peer->pending[i].offer.key == offered.offer.key)
			place = &peer->pending[i];
	if (!wh_shm_image_wants(t, peer, offered.offer.key) || (place->there && outranks(t, place, &offered))) {
		drop_offer(peer, &offered);
		return;
	}
	drop_offer(peer, place);
	*place = offered;
}

/* What each kind of message means in the states in which a connection is open. */
static void on_peer(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_shm_packet *packet)
{
	bool met = peer->state == WH_SHM_MET;

	switch ((enum wh_shm_kind)packet->head.kind) {
	case WH_SHM_REFUSED:
		be_refused(t, peer, &packet->refused);
		return;
	case WH_SHM_HELLO:
		if (peer->state != WH_SHM_GREETING)
			break;
		wh_shm_on_answer(t, peer, packet);
		return;
	case WH_SHM_TAKEN:
		if (peer->state != WH_SHM_ANSWERED)
			break;
		wh_shm_meet(t, peer);
		return;
	case WH_SHM_OFFER:
		if (!met)
			break;
		keep_offer(t, peer, packet);
		return;
	case WH_SHM_MAPPED:
		if (!met)
			break;
		wh_shm_image_confirmed(t, peer, packet->mapped.key);
		return;
	case WH_SHM_CONTROL:
		if (!met)
			break;
		wh_event_queue_event(&t->event_queue, WH_EVENT_CONTROL, peer->node, peer->incarnation,
				     packet->control.bytes, packet->bytes - sizeof(packet->control.head));
		return;
	case WH_SHM_STREAM:
		if (!met || !wh_shm_stream_take(t, peer, packet))
			break;
		return;
	case WH_SHM_MAILBOX:
	case WH_SHM_GRANT:
	case WH_SHM_WITHDRAWN:
		if (!met || !wh_shm_remote_on_message(t, peer, packet))
			break;
		return;
	case WH_SHM_QUERY:
	case WH_SHM_ANSWER:
	case WH_SHM_KINDS:
		break;
	}
	wh_shm_lose(t, peer, "has broken the protocol: its message does not belong here");
}

bool wh_shm_peer_read(struct wh_shm *t, struct wh_shm_peer *peer)
{
	struct wh_shm_packet packet;

	for (int n = 0; n < PACKETS_AT_ONCE && peer->socket >= 0 && !wh_event_queue_is_full(&t->event_queue); n++) {
		switch (wh_shm_receive(peer->socket, &packet)) {
		case WH_SHM_NOTHING:
			return true;
		case WH_SHM_PACKET:
			on_peer(t, peer, &packet);
			wh_shm_packet_close(&packet);
			break;
		case WH_SHM_HUNG_UP:
			wh_shm_lose(t, peer, "has died, or closed its connection");
			return true;
		case WH_SHM_GARBAGE:
			wh_shm_lose(t, peer,
				    "has broken the protocol, or sent descriptors that this process has no room for");
			return true;
		}
	}
	return peer->socket < 0;
}

/* ---- control messages and leaving --------------------------------------------------------------------------------- */

enum whorl_result wh_shm_control_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count)
{
	struct wh_shm *t = wh_shm_of(transport);
	struct wh_shm_control control = {.head = wh_shm_head(WH_SHM_CONTROL)};
	const struct wh_shm_peer *peer;
	int error;

	if (node >= t->nodes || node == t->node || count > WH_CONTROL_MAX)
		return WHORL_INVALID;
	peer = &t->peers[node];
	if (peer->state != WH_SHM_MET)
		return WHORL_MEMBER_GONE;
	memcpy(control.bytes, bytes, count);
	error = wh_shm_send(peer->socket, &control, sizeof(control.head) + count, NULL, 0);
	if (error == 0)
		return WHORL_OK;
	return error == EPIPE || error == ECONNRESET ? WHORL_MEMBER_GONE : WHORL_AGAIN;
}

/* No message, which a full queue would not take: a word that a peer looks at when it sees the connection end. What was sent
 * before is still received. */
void wh_shm_leave(struct wh_transport *transport)
{
	struct wh_shm *t = wh_shm_of(transport);

	t->left = true;
	wh_store_release(&t->status->left, 1); /* before the end that peers see; partner: lose() */
	wh_shm_hang_up(t, &t->listener);
	for (uint32_t i = 0; i < WH_SHM_STRANGERS; i++)
		wh_shm_hang_up(t, &t->strangers[i].socket);
	for (uint32_t node = 0; node < t->nodes; node++) {
		if (t->peers[node].state == WH_SHM_GREETING || t->peers[node].state == WH_SHM_ANSWERED)
			wh_shm_end_connection(t, &t->peers[node], WH_SHM_ABSENT);
		if (t->peers[node].state == WH_SHM_MET)
			(void)shutdown(t->peers[node].socket, SHUT_WR);
	}
}

void wh_shm_close_connections(struct wh_shm *t)
{
	wh_shm_hang_up(t, &t->listener);
	for (uint32_t i = 0; i < WH_SHM_STRANGERS; i++)
		wh_shm_hang_up(t, &t->strangers[i].socket);
	for (uint32_t node = 0; node < t->nodes; node++)
		wh_shm_end_connection(t, &t->peers[node], WH_SHM_ABSENT);
}
