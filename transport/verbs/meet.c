/* meet.c - how the nodes of a group find each other: librdmacm.
 *
 * Each node listens at its address, so an address can be had once. A newcomer listens first and then calls all others,
 * each once: of two nodes at least the one that comes later reaches the other. What a caller is goes with the request, so
 * that no caller gets buffers or a queue pair that does not belong here: it is told why, and costs nothing more.
 *
 * Nothing here waits: librdmacm says by events how far it is. A call of mine that takes too long is given up by a time-out of my
 * own; an answer of mine never is, as the node that has it may count me as met (verbs_int.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "transport/verbs/verbs_int.h"

#define REDIAL_SELDOM_NS (2 * WH_NS_PER_S) /* a node that is not there is called so often, in case it cannot call me */
#define CONNECT_MAX_NS (5 * WH_NS_PER_S)   /* a call that leads nowhere */
#define RESOLVE_MS 1000
#define BACKLOG 64
#define EVENTS_AT_ONCE 16

void wh_verbs_meet(struct wh_verbs *t, struct wh_verbs_peer *peer)
{
	peer->state = WH_VERBS_MET;
	wh_dial_met(&t->redial, &peer->redial);
	peer->link->deadline_ns = 0;
	wh_event_queue_tell(&t->event_queue, WH_EVENT_PEER_MET, peer->node, peer->incarnation,
			    "node %" PRIu32 " is here", peer->node);
}

/* ---- the caller's side -------------------------------------------------------------------------------------------- */

void wh_verbs_give_up(struct wh_verbs *t, struct wh_verbs_peer *peer, bool is_there)
{
	peer->link->ended = true;
	wh_verbs_end_connection(t, peer, WH_VERBS_ABSENT);
	if (is_there)
		wh_dial_soon(&t->redial, &peer->redial);
	else
		wh_dial_seldom(&t->redial, &peer->redial);
}

static void call(struct wh_verbs *t, struct wh_verbs_peer *peer)
{
	struct sockaddr_storage from = t->peers[t->node].address;
	struct wh_verbs_link *link = wh_verbs_link_new(t, peer, true);

	if (link == NULL) {
		wh_dial_soon(&t->redial, &peer->redial);
		return;
	}
	/* Any port, but my address: librdmacm would choose the device by the route otherwise. */
	if (from.ss_family == AF_INET6)
		((struct sockaddr_in6 *)&from)->sin6_port = 0;
	else
		((struct sockaddr_in *)&from)->sin_port = 0;
	peer->link = link;
	peer->state = WH_VERBS_GREETING;
	link->deadline_ns = link->begun_ns + CONNECT_MAX_NS;
	wh_dial_timer(&t->redial, CONNECT_MAX_NS);
	if (rdma_create_id(t->cm, &link->id, link, RDMA_PS_TCP) != 0 ||
	    rdma_resolve_addr(link->id, (struct sockaddr *)&from, (struct sockaddr *)&peer->address, RESOLVE_MS) != 0) {
		wh_event_queue_complain(&t->event_queue, "cannot call node %" PRIu32 ": %s", peer->node,
					strerror(errno));
		wh_verbs_give_up(t, peer, false);
	}
}

void wh_verbs_set_timeout(const struct wh_verbs *t, struct rdma_cm_id *id)
{
	uint8_t timeout = t->timeout;

	(void)rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, sizeof(timeout));
}

static void connect_link(struct wh_verbs *t, struct wh_verbs_peer *peer)
{
	struct wh_verbs_hello hello = wh_verbs_my_hello(t);
	struct rdma_conn_param wanted = {.private_data = &hello,
					 .private_data_len = sizeof(hello),
					 .retry_count = WH_VERBS_RETRIES,
					 .rnr_retry_count = WH_VERBS_RNR_RETRIES};

	if (!wh_verbs_link_prepare(t, peer->link)) {
		wh_event_queue_complain(&t->event_queue, "cannot call node %" PRIu32 ": %s", peer->node,
					peer->link->how);
		wh_verbs_give_up(t, peer, true);
		return;
	}
	wh_verbs_set_timeout(t, peer->link->id);
	if (rdma_connect(peer->link->id, &wanted) == 0)
		return;
	wh_event_queue_complain(&t->event_queue, "cannot call node %" PRIu32 ": %s", peer->node, strerror(errno));
	wh_verbs_give_up(t, peer, true);
}

/* It has accepted. */
static void on_answer(struct wh_verbs *t, struct wh_verbs_peer *peer, const void *bytes, size_t count)
{
	char reason[WH_VERBS_REFUSAL_BYTES];
	struct wh_verbs_hello hello;

	if (!wh_verbs_read_hello(bytes, count, &hello)) {
		wh_event_queue_complain(&t->event_queue, "what answers where node %" PRIu32 " should is no node",
					peer->node);
		wh_verbs_give_up(t, peer, false);
		return;
	}
	if (wh_known_incarnations_has(&peer->ended,
				      hello.incarnation)) { /* it is there yet, but has nothing to say to me any more */
		wh_verbs_end_connection(t, peer, WH_VERBS_REJECTED);
		return;
	}
	peer->incarnation = hello.incarnation;
	if (wh_verbs_is_foreign(t, &hello, reason))
		wh_verbs_refuse(t, peer, "%s", reason);
	else if (hello.node != peer->node)
		wh_verbs_refuse(t, peer, "node %" PRIu32 " answers where node %" PRIu32 " should", hello.node,
				peer->node);
	else
		wh_verbs_meet(t, peer);
}

static void on_refusal(struct wh_verbs *t, struct wh_verbs_peer *peer, const void *bytes, size_t count)
{
	struct wh_verbs_refusal refusal;

	if (!wh_verbs_read_refusal(bytes, count, &refusal)) { /* no node listens there */
		wh_verbs_give_up(t, peer, false);
		return;
	}
	peer->link->ended = true;
	if (refusal.verdict == WH_VERBS_NEVER)
		wh_verbs_be_refused(t, peer, refusal.hello.incarnation, refusal.reason);
	else
		wh_verbs_give_up(t, peer, true);
}

static void connect_absent(struct wh_verbs *t, uint64_t now)
{
	uint64_t next = UINT64_MAX;
	uint32_t again = 0;

	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_verbs_peer *peer = &t->peers[node];

		if (peer->state == WH_VERBS_ABSENT && wh_dial_is_due(&peer->redial, now, &again))
			call(t, peer);
		if (peer->state == WH_VERBS_ABSENT && peer->redial.at_ns < next)
			next = peer->redial.at_ns;
	}
	wh_dial_tried(&t->redial, now, next);
}

static bool is_late(const struct wh_verbs_peer *peer, uint64_t now)
{
	return peer->state == WH_VERBS_GREETING && peer->link->deadline_ns <= now;
}

/* What is late may have come while it was this node that was long away. False: not all of it could be heard. */
static bool look_again(struct wh_verbs *t)
{
	for (uint32_t k = 0; k < t->nodes && wh_verbs_meet_events(t) == EVENTS_AT_ONCE; k++)
		;
	return !wh_event_queue_is_full(&t->event_queue);
}

/* Calls of which nothing has come. */
static void drop_late(struct wh_verbs *t, uint64_t now)
{
	bool late = false;

	for (uint32_t node = 0; node < t->nodes; node++)
		late = late || is_late(&t->peers[node], now);
	if (late && !look_again(t)) {
		wh_dial_timer(&t->redial, WH_NS_PER_MS);
		return;
	}
	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_verbs_peer *peer = &t->peers[node];

		if (is_late(peer, now))
			wh_verbs_give_up(t, peer, false);
		else if (peer->state == WH_VERBS_GREETING)
			wh_dial_timer(&t->redial, peer->link->deadline_ns - now);
	}
}

void wh_verbs_meet_tick(struct wh_verbs *t)
{
	uint64_t now = wh_dial_tick(&t->redial);

	if (t->left)
		return;
	wh_verbs_query_tick(t, now);
	drop_late(t, now);
	connect_absent(t, now);
}

bool wh_verbs_searching(struct wh_transport *transport)
{
	const struct wh_verbs *t = wh_verbs_of(transport);

	return t->redial.searching && !t->left;
}

/* ---- what librdmacm says ------------------------------------------------------------------------------------------ */

struct news {
	enum rdma_cm_event_type kind;
	struct rdma_cm_id *id;
	int status;
	size_t bytes;
	unsigned char data[256]; /* its private data is never longer: 56 to 224 bytes */
};

static void end_link(struct wh_verbs *t, struct wh_verbs_link *link, const struct news *news)
{
	struct wh_verbs_peer *peer = link->peer;

	if (peer != NULL && peer->state == WH_VERBS_GREETING) {
		if (news->kind == RDMA_CM_EVENT_REJECTED)
			on_refusal(t, peer, news->data, news->bytes);
		else
			wh_verbs_give_up(t, peer, false);
	} else if (peer != NULL && peer->state == WH_VERBS_ANSWERED && news->kind != RDMA_CM_EVENT_DISCONNECTED) {
		wh_verbs_give_up(t, peer, true);
	} else {
		link->ended = true; /* it is heard out first: verbs/peer.c */
	}
}

static void advance_link(struct wh_verbs *t, struct wh_verbs_link *link, const struct news *news)
{
	struct wh_verbs_peer *peer = link->peer;

	switch (news->kind) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (peer != NULL && rdma_resolve_route(link->id, RESOLVE_MS) != 0)
			wh_verbs_give_up(t, peer, false);
		return;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		if (peer != NULL)
			connect_link(t, peer);
		return;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (peer != NULL && peer->state == WH_VERBS_GREETING)
			on_answer(t, peer, news->data, news->bytes);
		else if (peer != NULL && peer->state == WH_VERBS_ANSWERED)
			wh_verbs_meet(t, peer);
		return;
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		end_link(t, link, news);
		return;
	default: /* ADDR_CHANGE, TIMEWAIT_EXIT */
		return;
	}
}

static bool take_news(struct wh_verbs *t, struct news *news)
{
	struct rdma_cm_event *event;

	if (rdma_get_cm_event(t->cm, &event) != 0)
		return false;
	news->kind = event->event;
	news->id = event->id;
	news->status = event->status;
	news->bytes = event->param.conn.private_data_len;
	if (event->param.conn.private_data == NULL)
		news->bytes = 0;
	if (news->bytes > sizeof(news->data))
		news->bytes = sizeof(news->data);
	if (news->bytes > 0)
		memcpy(news->data, event->param.conn.private_data, news->bytes);
	(void)rdma_ack_cm_event(event);
	return true;
}

size_t wh_verbs_meet_events(struct wh_verbs *t)
{
	struct news news;
	size_t done = 0;

	while (done < EVENTS_AT_ONCE && !wh_event_queue_is_full(&t->event_queue) && take_news(t, &news)) {
		done++;
		if (news.kind == RDMA_CM_EVENT_CONNECT_REQUEST)
			wh_verbs_on_connect(t, news.id, news.data, news.bytes);
		else if (news.id != t->listener && news.id->context != NULL)
			advance_link(t, news.id->context, &news);
		else if (news.kind == RDMA_CM_EVENT_DEVICE_REMOVAL)
			wh_event_queue_complain(&t->event_queue, "the RDMA device is gone");
	}
	return done;
}

/* ---- open --------------------------------------------------------------------------------------------------------- */

static enum whorl_result explain_bind(const char *address, int error, struct wh_error *err)
{
	if (error == EADDRINUSE)
		return wh_error_set(err, WHORL_REFUSED, "address %s is taken: is this node running already?", address);
	if (error == ENODEV || error == EADDRNOTAVAIL)
		return wh_error_set(err, WHORL_UNSUPPORTED,
				    "address %s belongs to no RDMA device of this host (`rdma link` lists them); "
				    "./run softroce shows how to have one",
				    address);
	return wh_error_system(err, error, "cannot listen at %s", address);
}

static enum whorl_result listen_at(struct wh_verbs *t, const char *address, struct wh_error *err)
{
	struct sockaddr *at = (struct sockaddr *)&t->peers[t->node].address;

	t->cm = rdma_create_event_channel();
	if (t->cm == NULL)
		return wh_error_set(
			err, WHORL_UNSUPPORTED,
			"no RDMA device on this host: %s (/dev/infiniband/rdma_cm). group.transport = verbs needs "
			"one, in hardware or Soft-RoCE; ./run softroce tries it in a virtual machine",
			strerror(errno));
	if (fcntl(t->cm->fd, F_SETFL, O_NONBLOCK) != 0 || fcntl(t->cm->fd, F_SETFD, FD_CLOEXEC) != 0)
		return wh_error_system(err, errno, "fcntl");
	if (rdma_create_id(t->cm, &t->listener, NULL, RDMA_PS_TCP) != 0)
		return wh_error_system(err, errno, "rdma_create_id");
	if (rdma_bind_addr(t->listener, at) != 0)
		return explain_bind(address, errno, err);
	if (t->listener->verbs == NULL)
		return explain_bind(address, ENODEV, err);
	return WHORL_OK;
}

enum whorl_result wh_verbs_meet_open(struct wh_verbs *t, const struct wh_transport_config *config, struct wh_error *err)
{
	const char *address = NULL;
	char mine[WH_VERBS_ADDRESS_BYTES];
	enum whorl_result result = WHORL_OK;

	for (uint32_t node = 0; node < t->nodes && result == WHORL_OK; node++) {
		const char *given = config->addresses != NULL ? config->addresses[node] : NULL;
		char text[WH_VERBS_ADDRESS_BYTES];
		socklen_t bytes;

		if (given == NULL)
			result = wh_verbs_address_default(config->group, node, text, err);
		if (result == WHORL_OK)
			result = wh_verbs_find_address(given != NULL ? given : text, &t->peers[node].address, &bytes,
						       err);
		if (node == t->node && result == WHORL_OK)
			address = given != NULL ? given : strcpy(mine, text);
	}
	if (result == WHORL_OK)
		result = listen_at(t, address, err);
	if (result == WHORL_OK)
		result = wh_verbs_device_open(&t->device, t->listener->verbs, t->nodes, err);
	if (result != WHORL_OK)
		return result;
	if (rdma_listen(t->listener, BACKLOG) != 0)
		return explain_bind(address, errno, err);
	if (!wh_verbs_watch(t, t->cm->fd, WH_VERBS_MEETING, 0, EPOLLIN) ||
	    !wh_verbs_watch(t, t->device.channel->fd, WH_VERBS_COMPLETION, 0, EPOLLIN))
		return wh_error_system(err, errno, "epoll_ctl");
	result = wh_verbs_query_open(t, (struct sockaddr *)&t->peers[t->node].address,
				     sizeof(t->peers[t->node].address), err);
	wh_dial_begin(&t->redial, REDIAL_SELDOM_NS);
	return result;
}

void wh_verbs_meet_close(struct wh_verbs *t)
{
	if (t->listener != NULL)
		rdma_destroy_id(t->listener);
	t->listener = NULL;
}
