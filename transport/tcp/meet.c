/* meet.c - how the nodes of a group find each other: the caller's side. tcp/accept.c is the called side, redial.c when to call.
 *
 * A newcomer listens first and then calls all others: of two nodes at least the one that comes later reaches the other at
 * once. A node that does not answer is called again: soon, and later each time, if it may just be starting or ending, or is out
 * of reach; seldom if no process listens there, for it will call me when it comes. Names that are not known yet are looked up again
 * off the loop.
 */
#include "transport/tcp/tcp_int.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#define REDIAL_SELDOM_NS WH_NS_PER_S /* a node that is not there is called so often */
#define LISTENER_RESTS_NS (50 * WH_NS_PER_MS)

/* ---- hello -------------------------------------------------------------------------------------------------------- */

bool wh_tcp_say_hello(struct wh_tcp *t, struct wh_tcp_peer *peer)
{
	struct wh_tcp_hello hello = {
		.version = WH_TCP_VERSION, .node = t->node, .nodes = t->nodes, .incarnation = t->incarnation};
	unsigned char frame[WH_TCP_HEAD_BYTES + WH_TCP_HELLO_BYTES];

	if (peer->link->channel.called)
		hello.call = ++t->calls;
	memcpy(hello.group, t->group, sizeof(hello.group));
	return wh_tcp_out_message(peer->link, frame, wh_tcp_put_hello(frame, &hello), true);
}

bool wh_tcp_is_foreign(const struct wh_tcp *t, const struct wh_tcp_hello *hello, char reason[WH_TCP_REASON_BYTES])
{
	if (hello->version != WH_TCP_VERSION)
		snprintf(reason, WH_TCP_REASON_BYTES,
			 "node %" PRIu32 " speaks version %" PRIu32 " of the protocol, node %" PRIu32 " version %d",
			 hello->node, hello->version, t->node, WH_TCP_VERSION);
	else if (strcmp(hello->group, t->group) != 0)
		snprintf(reason, WH_TCP_REASON_BYTES, "node %" PRIu32 " is of group %s, node %" PRIu32 " of group %s",
			 hello->node, hello->group, t->node, t->group);
	else if (hello->nodes != t->nodes)
		snprintf(reason, WH_TCP_REASON_BYTES,
			 "node %" PRIu32 " is of a group of %" PRIu32 " nodes, node %" PRIu32 " of one of %" PRIu32,
			 hello->node, hello->nodes, t->node, t->nodes);
	else
		return false;
	return true;
}

void wh_tcp_meet(struct wh_tcp *t, struct wh_tcp_peer *peer)
{
	char whence[64];

	peer->state = WH_TCP_MET;
	wh_redial_met(&t->redial, &peer->redial);
	peer->unproven_told = false;
	peer->pinged_ns = peer->ponged_ns = 0;
	wh_event_queue_tell(&t->event_queue, WH_EVENT_PEER_MET, peer->node, peer->incarnation,
			    "node %" PRIu32 " (%s) is here", peer->node,
			    wh_tcp_channel_whence(&peer->link->channel, whence, sizeof(whence)));
}

void wh_tcp_on_answer(struct wh_tcp *t, struct wh_tcp_peer *peer, const struct wh_tcp_hello *hello)
{
	unsigned char frame[WH_TCP_HEAD_BYTES];
	char reason[WH_TCP_REASON_BYTES];

	peer->incarnation = hello->incarnation;
	if (wh_known_incarnations_has(&peer->ended, hello->incarnation)) {
		wh_tcp_refuse(t, peer, "node %" PRIu32 " is gone for good", peer->node); /* it may not know */
	} else if (wh_tcp_is_foreign(t, hello, reason)) {
		wh_tcp_refuse(t, peer, "%s", reason);
	} else if (hello->node != peer->node) {
		wh_tcp_refuse(t, peer, "node %" PRIu32 " answers at %s, where node %" PRIu32 " should", hello->node,
			      peer->name, peer->node);
	} else if (!wh_tcp_channel_may_be(&peer->link->channel, hello->node, hello->incarnation, reason)) {
		wh_tcp_refuse(t, peer, "%s", reason);
	} else if (wh_tcp_out_message(peer->link, frame, wh_tcp_put_plain(frame, WH_TCP_TAKEN, 0), true)) {
		wh_tcp_dirty(t, peer->link);
		wh_tcp_meet(t, peer);
	}
}

/* ---- calling ------------------------------------------------------------------------------------------------------ */

/* A node may be there, or none is. */
static void not_reached(struct wh_tcp *t, struct wh_tcp_peer *peer, int error)
{
	wh_tcp_names_ask(t, peer);
	if (error == ECONNREFUSED) {
		wh_redial_seldom(&t->redial, &peer->redial);
		return;
	}
	if (error != ECONNRESET) /* it was just ending */
		wh_event_queue_complain(&t->event_queue, "cannot call node %" PRIu32 " at %s: %s", peer->node,
					peer->name, strerror(error));
	wh_redial_soon(&t->redial, &peer->redial);
}

static void call(struct wh_tcp *t, struct wh_tcp_peer *peer)
{
	struct wh_tcp_channel channel;
	int error;

	if (peer->address.bytes == 0) {
		wh_tcp_names_ask(t, peer);
		wh_redial_seldom(&t->redial, &peer->redial);
		return;
	}
	error = wh_tcp_channel_connect(&channel, &peer->address, &t->ground, peer->node);
	if (error != 0) {
		not_reached(t, peer, error);
		return;
	}
	peer->link = wh_tcp_link_new(&channel, peer->node);
	if (peer->link == NULL ||
	    !wh_tcp_watch(t, EPOLL_CTL_ADD, channel.fd, EPOLLIN | EPOLLOUT, WH_TCP_FROM_PEER, peer->node)) {
		if (peer->link == NULL)
			wh_tcp_channel_close(&channel, false);
		wh_tcp_end_connection(t, peer, WH_TCP_ABSENT);
		wh_redial_soon(&t->redial, &peer->redial);
		return;
	}
	peer->state = WH_TCP_GREETING;
	peer->link->watches_write = true;
	peer->redial.at_ns = wh_env_now(t->env) + WH_TCP_CONNECT_NS;
	wh_redial_timer(&t->redial, WH_TCP_CONNECT_NS);
	(void)wh_tcp_say_hello(t, peer); /* leaves when it is connected; there is room */
}

/* It has hung up, or one has refused the other before anything was proven. Nothing says that this was the peer, and not another in
 * its place or on the way: so it is called again, seldom, and not taken for met and gone. */
static void not_proven(struct wh_tcp *t, struct wh_tcp_peer *peer)
{
	char reason[WH_SECURE_REASON_BYTES];

	snprintf(reason, sizeof(reason), "%s", wh_tcp_channel_reason(&peer->link->channel));
	if (reason[0] == '\0') {
		wh_tcp_lose(t, peer, "has hung up");
		return;
	}
	wh_tcp_end_connection(t, peer, WH_TCP_ABSENT);
	wh_redial_seldom(&t->redial, &peer->redial);
	if (!peer->unproven_told)
		wh_event_queue_tell(&t->event_queue, WH_EVENT_REFUSED, peer->node, 0,
				    "node %" PRIu32 " (%s) cannot be met: %s", peer->node, peer->name, reason);
	peer->unproven_told = true;
}

/* It has said something that I waited for, and now I wait for the next. */
static void wait_anew(struct wh_tcp *t, struct wh_tcp_peer *peer)
{
	peer->redial.at_ns = wh_env_now(t->env) + WH_TCP_CONNECT_NS;
}

bool wh_tcp_link_open(struct wh_tcp *t, struct wh_tcp_peer *peer)
{
	struct wh_tcp_link *link = peer->link;
	unsigned turns = link->channel.turns;
	bool writes = false;

	if (link->stage == WH_TCP_CONNECTING) {
		enum wh_tcp_io io = wh_tcp_channel_connected(&link->channel);
		int error = errno;

		if (io == WH_TCP_LATER)
			return false;
		if (io != WH_TCP_DONE) {
			wh_tcp_end_connection(t, peer, WH_TCP_ABSENT);
			not_reached(t, peer, error);
			return false;
		}
		link->stage = WH_TCP_SHAKING;
		wait_anew(t, peer);
	}
	if (link->stage == WH_TCP_SHAKING) {
		enum wh_tcp_io io = wh_tcp_channel_shake(&link->channel, &writes);

		if (io == WH_TCP_DONE || link->channel.turns != turns)
			wait_anew(t, peer);
		if (io == WH_TCP_LATER) {
			link->watches_write = writes;
			(void)wh_tcp_watch(t, EPOLL_CTL_MOD, link->channel.fd, EPOLLIN | (writes ? EPOLLOUT : 0),
					   WH_TCP_FROM_PEER, peer->node);
			return false;
		}
		if (io != WH_TCP_DONE) {
			not_proven(t, peer);
			return false;
		}
		link->stage = WH_TCP_OPEN;
	}
	return true;
}

/* An answer that is late may have come while it was this node that was long away. */
static void look_again(struct wh_tcp *t, struct wh_tcp_peer *peer)
{
	if (wh_event_queue_is_full(&t->event_queue) || (peer->link->stage != WH_TCP_OPEN && !wh_tcp_link_open(t, peer)))
		return;
	wh_tcp_dirty(t, peer->link);
	(void)wh_tcp_in_take(t, peer);
}

static bool is_late(const struct wh_tcp_peer *peer, uint64_t now)
{
	return peer->state == WH_TCP_GREETING && peer->redial.at_ns <= now;
}

static bool is_away(const struct wh_tcp_peer *peer)
{
	return peer->state == WH_TCP_ABSENT || peer->state == WH_TCP_REJECTED;
}

static void connect_absent(struct wh_tcp *t, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	uint32_t again = 0;

	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_tcp_peer *peer = &t->peers[node];

		if (is_late(peer, now))
			look_again(t, peer);
		if (is_late(peer, now)) {
			wh_tcp_names_ask(t, peer);
			wh_tcp_lose(t, peer, "does not answer");
		} else if (is_away(peer) && !wh_event_queue_is_full(&t->event_queue) &&
			   wh_redial_is_due(&peer->redial, now, &again))
			call(t, peer);
		if ((is_away(peer) || peer->state == WH_TCP_GREETING) && peer->redial.at_ns < next)
			next = peer->redial.at_ns;
	}
	wh_redial_tried(&t->redial, now, next);
}

void wh_tcp_meet_tick(struct wh_tcp *t)
{
	uint64_t now = wh_redial_tick(&t->redial);

	if (t->left)
		return;
	if (t->listener_rests)
		t->listener_rests = !wh_tcp_watch(t, EPOLL_CTL_MOD, t->listener, EPOLLIN, WH_TCP_LISTENER, 0);
	if (t->listener_rests)
		wh_redial_timer(&t->redial, LISTENER_RESTS_NS);
	wh_tcp_names_tick(t);
	wh_tcp_accept_tick(t, now);
	wh_tcp_stream_tick(t, now);
	connect_absent(t, now);
}

/* ---- searching ---------------------------------------------------------------------------------------------------- */

bool wh_tcp_searching(struct wh_transport *transport)
{
	const struct wh_tcp *t = wh_tcp_of(transport);

	return t->redial.searching && !t->left;
}

/* ---- open --------------------------------------------------------------------------------------------------------- */

enum whorl_result wh_tcp_meet_open(struct wh_tcp *t, struct wh_error *err)
{
	const struct wh_tcp_peer *me = &t->peers[t->node];
	const int on = 1;

	t->listener = socket(me->address.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	if (t->listener < 0)
		return wh_error_system(err, errno, "socket");
	(void)setsockopt(t->listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)); /* after a life that ended just now */
	if (bind(t->listener, (const struct sockaddr *)&me->address.at, me->address.bytes) != 0 ||
	    listen(t->listener, SOMAXCONN) != 0) {
		if (errno == EADDRINUSE)
			return wh_error_set(err, WHORL_REFUSED,
					    "node %" PRIu32 " of group %s is already running, or something else at %s",
					    t->node, t->group, me->name);
		return wh_error_system(err, errno, "listen at %s, the address of node %" PRIu32, me->name, t->node);
	}
	if (!wh_tcp_watch(t, EPOLL_CTL_ADD, t->listener, EPOLLIN, WH_TCP_LISTENER, 0))
		return wh_error_system(err, errno, "epoll_ctl");
	wh_redial_begin(&t->redial, REDIAL_SELDOM_NS);
	return WHORL_OK;
}
