/* link.c - the connection with each peer by librdmacm: it finds the path between the two devices, which all queue pairs take. It has
 * a small queue pair of its own, by which nothing goes; its end is the peer's.
 *
 * Any program on the RDMA network can ask to be connected. Which node it is nothing says there; so two nodes meet by their session
 * first, and the one of the lower id gives the other a token, by which it knows it again. A request without that of a peer that is
 * met, and expected, is turned away and gets nothing made for it. A token is used once: it can be read in the request.
 *
 * Nothing here waits: librdmacm says by events how far it is.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>

#include "transport/verbs/verbs_int.h"

#define TRIES 8
#define TRY_NS (2 * WH_NS_PER_S)       /* a try that leads nowhere */
#define AGAIN_NS (20 * WH_NS_PER_MS)   /* the pause after the first, then twice as long each time, */
#define AGAIN_MAX_NS (WH_NS_PER_S / 2) /* until that */
#define RESOLVE_MS 1000
#define BACKLOG 64
#define EVENTS_AT_ONCE 16
#define SAY_AGAIN_NS (2 * WH_NS_PER_MS)
/* When the connection has ended, the peer's last words may still be on their way by the other one; and that it has died is said by
 * the end of the other as well. */
#define LAST_WORDS_NS (300 * WH_NS_PER_MS)

static struct wh_verbs_link *link_of(struct wh_verbs *t, uint32_t node)
{
	return &t->peers[node].link;
}

bool wh_verbs_say(struct wh_verbs *t, uint32_t node, const struct wh_verbs_message *message)
{
	unsigned char bytes[WH_VERBS_MESSAGE_MAX];
	enum wh_wire_result result = wh_session_send(t->base.session, node, bytes, wh_verbs_put_message(bytes, message),
						     NULL, 0, WH_WIRE_OWN);

	if (result == WH_WIRE_LATER)
		wh_poll_alarm(&t->poll, SAY_AGAIN_NS);
	return result == WH_WIRE_DONE;
}

/* ---- its beginning and its end ------------------------------------------------------------------------------------- */

static void drop_id(struct wh_verbs_link *link)
{
	if (link->id == NULL)
		return;
	if (link->id->qp != NULL)
		rdma_destroy_qp(link->id);
	rdma_destroy_id(link->id);
	link->id = NULL;
}

static void tell_token(struct wh_verbs *t, struct wh_verbs_link *link)
{
	struct wh_verbs_message message = {.kind = WH_VERBS_TOKEN};

	if (t->lane != 0) /* the port of the address is the node's own */
		message.number = ntohs(rdma_get_src_port(t->listener));

	memcpy(message.token, link->token, sizeof(link->token));
	link->told = wh_verbs_say(t, link->node, &message);
}

void wh_verbs_link_met(struct wh_transport *transport, uint32_t node)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	struct wh_verbs_link *link = link_of(t, node);

	if (t->node > node)
		return; /* it gives me one */
	if (getrandom(link->token, sizeof(link->token), 0) != (ssize_t)sizeof(link->token)) {
		wh_session_doom(t->base.session, node, "cannot be connected to: there are no random numbers");
		return;
	}
	link->state = WH_VERBS_EXPECTED;
	tell_token(t, link);
}

/* In a forked child nothing is said to the device. */
void wh_verbs_link_close(struct wh_verbs *t, struct wh_verbs_link *link)
{
	if (!t->forked)
		drop_id(link);
	*link = (struct wh_verbs_link){.node = link->node};
}

bool wh_verbs_link_is_open(const struct wh_verbs *t, uint32_t node)
{
	return t->peers[node].link.state == WH_VERBS_OPEN;
}

bool wh_verbs_link_heard(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_link *link = link_of(t, node);

	if (link->state == WH_VERBS_ANSWERED)
		link->state = WH_VERBS_OPEN; /* it would not speak if it did not know */
	return link->state == WH_VERBS_OPEN;
}

void wh_verbs_link_broke(struct wh_verbs *t, uint32_t node)
{
	struct wh_verbs_link *link = link_of(t, node);

	if (link->state != WH_VERBS_OPEN)
		return;
	link->state = WH_VERBS_BROKEN;
	link->at_ns = wh_env_now(t->env) + LAST_WORDS_NS;
	wh_poll_alarm(&t->poll, LAST_WORDS_NS);
}

/* Its queue pair, when its device is known. */
static bool prepare(struct wh_verbs *t, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr wanted = {
		.send_cq = t->device.in,
		.recv_cq = t->device.in,
		.qp_type = IBV_QPT_RC,
		.cap = {.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1},
	};

	if (id->verbs != t->device.context) { /* it is reached by another */
		errno = ENODEV;
		return false;
	}
	return rdma_create_qp(id, t->device.pd, &wanted) == 0;
}

/* ---- the node of the higher id ------------------------------------------------------------------------------------- */

static void fail_try(struct wh_verbs *t, struct wh_verbs_link *link, const char *why)
{
	uint64_t in_ns = AGAIN_NS << (link->tries - 1);

	wh_event_queue_complain(wh_session_events(t->base.session), WH_COMPLAINT_UNREACHED,
				"cannot connect to node %" PRIu32 ": %s", link->node, why);
	drop_id(link);
	if (link->tries == TRIES) {
		link->state = WH_VERBS_BROKEN;
		link->at_ns = UINT64_MAX;
		wh_session_doom(t->base.session, link->node, "cannot be connected to by RDMA");
		return;
	}
	in_ns = in_ns < AGAIN_MAX_NS ? in_ns : AGAIN_MAX_NS;
	link->state = WH_VERBS_RESTS;
	link->at_ns = wh_env_now(t->env) + in_ns;
	wh_poll_alarm(&t->poll, in_ns);
}

static void set_port(struct sockaddr_storage *address, uint16_t port)
{
	if (address->ss_family == AF_INET6)
		((struct sockaddr_in6 *)address)->sin6_port = htons(port);
	else
		((struct sockaddr_in *)address)->sin_port = htons(port);
}

static void call(struct wh_verbs *t, struct wh_verbs_link *link)
{
	struct sockaddr_storage from = t->address, to;

	/* Any port, but my address: librdmacm would choose the device by the route otherwise. */
	set_port(&from, 0);
	link->tries++;
	link->state = WH_VERBS_CALLS;
	link->at_ns = wh_env_now(t->env) + TRY_NS;
	wh_poll_alarm(&t->poll, TRY_NS);
	if (!wh_tcp_wire_address(t->wire, link->node, &to)) {
		wh_tcp_wire_ops.look_up((struct wh_wire *)t->wire, link->node);
		fail_try(t, link, "its address is not known");
		return;
	}
	if (link->port != 0)
		set_port(&to, link->port);
	if (rdma_create_id(t->cm, &link->id, link, RDMA_PS_TCP) != 0 ||
	    rdma_resolve_addr(link->id, (struct sockaddr *)&from, (struct sockaddr *)&to, RESOLVE_MS) != 0)
		fail_try(t, link, strerror(errno));
}

/* A lane says at which port it is; a node is where its address says. */
bool wh_verbs_link_on_token(struct wh_verbs *t, uint32_t node, const struct wh_verbs_message *message)
{
	struct wh_verbs_link *link = link_of(t, node);

	if (t->node < node || link->state != WH_VERBS_APART || message->number > UINT16_MAX ||
	    (t->lane != 0) != (message->number != 0))
		return false;
	memcpy(link->token, message->token, sizeof(link->token));
	link->port = (uint16_t)message->number;
	call(t, link);
	return true;
}

static void connect_link(struct wh_verbs *t, struct wh_verbs_link *link)
{
	struct wh_verbs_request request = {.node = t->node, .incarnation = t->incarnation};
	unsigned char bytes[WH_VERBS_REQUEST_BYTES];
	struct rdma_conn_param wanted = {.private_data = bytes,
					 .private_data_len = sizeof(bytes),
					 .retry_count = WH_VERBS_RETRIES,
					 .rnr_retry_count = WH_VERBS_RNR_RETRIES};

	memcpy(request.token, link->token, sizeof(link->token));
	wh_verbs_put_request(bytes, &request);
	if (!prepare(t, link->id) || rdma_connect(link->id, &wanted) != 0)
		fail_try(t, link, strerror(errno));
}

/* ---- the node of the lower id -------------------------------------------------------------------------------------- */

static bool is_token(const unsigned char *a, const unsigned char *b)
{
	unsigned char difference = 0;

	for (size_t i = 0; i < WH_VERBS_TOKEN_BYTES; i++) /* as long for all */
		difference |= a[i] ^ b[i];
	return difference == 0;
}

/* Whether that is a peer which I have met, and which has not connected. One of which the connection has ended may have given it up
 * when I had just taken it for made. */
static bool is_expected(const struct wh_verbs *t, const struct wh_verbs_request *request)
{
	const struct wh_verbs_link *link;
	const struct wh_peer *peer;

	if (request->node >= t->nodes || request->node <= t->node)
		return false;
	peer = wh_session_peer(t->base.session, request->node);
	link = &t->peers[request->node].link;
	return peer->state == WH_PEER_MET && peer->incarnation == request->incarnation &&
	       (link->state == WH_VERBS_EXPECTED || link->state == WH_VERBS_ANSWERED ||
		link->state == WH_VERBS_BROKEN) &&
	       is_token(link->token, request->token);
}

static void answer(struct wh_verbs *t, struct wh_verbs_link *link, struct rdma_cm_id *id)
{
	struct rdma_conn_param given = {.retry_count = WH_VERBS_RETRIES, .rnr_retry_count = WH_VERBS_RNR_RETRIES};

	drop_id(link); /* of a try that it has given up */
	id->context = link;
	link->id = id;
	link->state = WH_VERBS_ANSWERED;
	if (prepare(t, id) && rdma_accept(id, &given) == 0)
		return;
	if (errno != EINVAL) /* it has given up meanwhile */
		wh_event_queue_complain(wh_session_events(t->base.session), WH_COMPLAINT_UNREACHED,
					"cannot answer node %" PRIu32 ": %s", link->node, strerror(errno));
	drop_id(link);
	link->state = WH_VERBS_EXPECTED;
}

static void on_request(struct wh_verbs *t, struct rdma_cm_id *id, const unsigned char *bytes, size_t count)
{
	struct wh_verbs_request request;

	if (wh_verbs_take_request(&request, bytes, count) && is_expected(t, &request)) {
		answer(t, link_of(t, request.node), id);
		return;
	}
	(void)rdma_reject(id, NULL, 0);
	rdma_destroy_id(id);
	wh_event_queue_complain(wh_session_events(t->base.session), WH_COMPLAINT_UNPROVEN,
				"turned away a program that wants to be connected: it is no node that has been met");
}

/* ---- what librdmacm says ------------------------------------------------------------------------------------------ */

struct news {
	enum rdma_cm_event_type kind;
	struct rdma_cm_id *id;
	size_t bytes;
	unsigned char data[256]; /* its private data is never longer: 56 to 224 bytes */
};

static void end_link(struct wh_verbs *t, struct wh_verbs_link *link, const struct news *news)
{
	switch (link->state) {
	case WH_VERBS_CALLS:
		fail_try(t, link, rdma_event_str(news->kind));
		return;
	case WH_VERBS_ANSWERED:
		drop_id(link);
		link->state = WH_VERBS_EXPECTED;
		return;
	default:
		wh_verbs_link_broke(t, link->node);
		return;
	}
}

static void advance_link(struct wh_verbs *t, struct wh_verbs_link *link, const struct news *news)
{
	switch (news->kind) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		if (rdma_resolve_route(link->id, RESOLVE_MS) != 0)
			fail_try(t, link, strerror(errno));
		return;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		connect_link(t, link);
		return;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (link->state == WH_VERBS_CALLS || link->state == WH_VERBS_ANSWERED)
			link->state = WH_VERBS_OPEN;
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

size_t wh_verbs_links_listen(struct wh_verbs *t)
{
	struct news news;
	size_t done = 0;

	while (done < EVENTS_AT_ONCE && take_news(t, &news)) {
		done++;
		if (news.kind == RDMA_CM_EVENT_CONNECT_REQUEST)
			on_request(t, news.id, news.data, news.bytes);
		else if (news.id != t->listener && news.id->context != NULL)
			advance_link(t, news.id->context, &news);
		else if (news.kind == RDMA_CM_EVENT_DEVICE_REMOVAL)
			wh_event_queue_complain(wh_session_events(t->base.session), WH_COMPLAINT_STARVED,
						"the RDMA device is gone");
	}
	return done;
}

/* ---- time ---------------------------------------------------------------------------------------------------------- */

static bool is_timed(const struct wh_verbs_link *link)
{
	return link->state == WH_VERBS_CALLS || link->state == WH_VERBS_RESTS || link->state == WH_VERBS_BROKEN;
}

static bool is_late(const struct wh_verbs_link *link, uint64_t now)
{
	return is_timed(link) && link->at_ns <= now;
}

/* What is late may have come while it was this node that was long away. */
static void look_again(struct wh_verbs *t)
{
	for (uint32_t k = 0; k < t->nodes && wh_verbs_links_listen(t) == EVENTS_AT_ONCE; k++)
		;
}

static void tick_link(struct wh_verbs *t, struct wh_verbs_link *link, uint64_t now)
{
	if (is_late(link, now) && link->state == WH_VERBS_CALLS)
		look_again(t);
	if (is_late(link, now))
		switch (link->state) {
		case WH_VERBS_CALLS:
			fail_try(t, link, "it does not answer");
			break;
		case WH_VERBS_RESTS:
			call(t, link);
			break;
		default:
			link->at_ns = UINT64_MAX;
			wh_session_doom(t->base.session, link->node, "has died, or closed its connection by RDMA");
			break;
		}
	else if (link->state == WH_VERBS_EXPECTED && !link->told)
		tell_token(t, link);
	else if (is_timed(link) && link->at_ns != UINT64_MAX)
		wh_poll_alarm(&t->poll, link->at_ns - now);
}

void wh_verbs_links_tick(struct wh_verbs *t)
{
	uint64_t now = wh_env_now(t->env);

	for (uint32_t node = 0; node < t->nodes; node++)
		tick_link(t, link_of(t, node), now);
}

/* ---- open --------------------------------------------------------------------------------------------------------- */

static enum whorl_result explain_bind(const struct wh_verbs *t, int error, struct wh_error *err)
{
	const char *address = wh_tcp_wire_name(t->wire, t->node);

	if (error == EADDRINUSE)
		return wh_error_set(err, WHORL_REFUSED, "address %s is taken: is this node running already?", address);
	if (error == ENODEV || error == EADDRNOTAVAIL)
		return wh_error_set(err, WHORL_UNSUPPORTED,
				    "address %s belongs to no RDMA device of this host (`rdma link` lists them); "
				    "./run softroce shows how to have one",
				    address);
	return wh_error_system(err, error, "cannot listen at %s", address);
}

enum whorl_result wh_verbs_links_open(struct wh_verbs *t, struct wh_error *err)
{
	struct sockaddr_storage at = t->address;

	if (t->lane != 0)
		set_port(&at, 0);
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
	if (rdma_bind_addr(t->listener, (struct sockaddr *)&at) != 0)
		return explain_bind(t, errno, err);
	if (t->listener->verbs == NULL)
		return explain_bind(t, ENODEV, err);
	return wh_verbs_device_open(&t->device, t->listener->verbs, t->nodes, err);
}

enum whorl_result wh_verbs_links_begin(struct wh_verbs *t, struct wh_error *err)
{
	if (rdma_listen(t->listener, BACKLOG) != 0)
		return explain_bind(t, errno, err);
	if (!wh_poll_watch(&t->poll, EPOLL_CTL_ADD, t->cm->fd, EPOLLIN, WH_VERBS_MEETING, 0) ||
	    !wh_poll_watch(&t->poll, EPOLL_CTL_ADD, t->device.channel->fd, EPOLLIN, WH_VERBS_COMPLETION, 0))
		return wh_error_system(err, errno, "epoll_ctl");
	return WHORL_OK;
}

void wh_verbs_links_deafen(struct wh_verbs *t)
{
	if (t->listener != NULL && !t->forked)
		rdma_destroy_id(t->listener);
	t->listener = NULL;
}
