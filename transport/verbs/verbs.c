/* verbs.c - the RDMA transport: its table, a pass, and service. verbs_int.h says what is where. */
#include "transport/verbs/verbs.h"

#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "transport/verbs/verbs_int.h"

#define LINGER_NS (300 * WH_NS_PER_MS) /* what is under way at the end has so long to arrive */

struct wh_verbs_figures wh_verbs_figures(const struct wh_transport *transport)
{
	const struct wh_verbs *t = (const struct wh_verbs *)transport;

	return (struct wh_verbs_figures){.writes = wh_load_relaxed(&t->writes),
					 .doorbells = wh_load_relaxed(&t->doorbells),
					 .rings = wh_load_relaxed(&t->rings)};
}

static uint64_t writes(const struct wh_transport *transport)
{
	return wh_verbs_figures(transport).writes;
}

/* ---- a pass ------------------------------------------------------------------------------------------------------- *
 * A pass pushes messages, how far they go, what was received and what was delivered, each by itself. Together they are one
 * chain for each peer: one doorbell, which is a system call on some devices, and one ring. Completions are taken when room
 * gets scarce, and by service(). */

static size_t take(struct wh_transport *transport)
{
	wh_verbs_of(transport)->gathers = true;
	return 0;
}

static void flush(struct wh_transport *transport)
{
	struct wh_verbs *t = wh_verbs_of(transport);

	t->gathers = false;
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		wh_verbs_flush_pass(t, image);
}

/* ---- service ------------------------------------------------------------------------------------------------------ */

size_t wh_verbs_dispatch(struct wh_verbs *t, const struct epoll_event *event)
{
	switch (wh_poll_source(event)) {
	case WH_POLL_DOORBELL:
		return 0;
	case WH_POLL_TIMER:
		wh_poll_timer_is_out(&t->poll);
		if (!wh_session_has_left(t->base.session)) {
			wh_tcp_wire_tick(t->wire);
			wh_verbs_links_tick(t);
		}
		(void)wh_session_on_timer(t->base.session);
		return 0; /* what there is to be done wh_verbs_advance finds */
	case WH_VERBS_MEETING:
		return wh_verbs_links_listen(t);
	case WH_VERBS_COMPLETION:
		if (!t->armed) /* else it is to end wait() */
			wh_verbs_drain_channel(t);
		return 0;
	default:
		return wh_tcp_wire_dispatch(t->wire, event);
	}
}

size_t wh_verbs_advance(struct wh_verbs *t)
{
	bool searches = wh_session_searching(t->base.session);
	size_t done = wh_session_service(t->base.session);

	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		done += wh_verbs_image_advance(t, image);
	(void)wh_verbs_images_reap(t);
	if (t->accounts > 0)
		done += wh_verbs_remote_advance(t);
	return done + (searches != wh_session_searching(t->base.session));
}

static size_t service(struct wh_transport *transport)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	struct epoll_event events[WH_POLL_AT_ONCE];
	size_t done = wh_tcp_wire_take_held(t->wire);
	int n = wh_poll_look(&t->poll, events);

	for (int i = 0; i < n; i++)
		done += wh_verbs_dispatch(t, &events[i]);
	done += wh_verbs_poll_in(t);
	if (t->rung && t->armed)
		wh_verbs_wake(transport);
	t->rung = false;
	return done + wh_verbs_advance(t);
}

/* ---- sleeping ---------------------------------------------------------------------------------------------------- */

static int fd(struct wh_transport *transport)
{
	return wh_verbs_of(transport)->poll.epoll;
}

/* ---- what it adds to the session ---------------------------------------------------------------------------------- */

static void hello(struct wh_transport *transport, struct wh_conn *c, struct wh_own *own)
{
	(void)transport, (void)c;
	wh_verbs_put_hello(own->bytes);
	own->count = WH_VERBS_HELLO_BYTES;
}

static bool welcome(struct wh_transport *transport, uint32_t node, struct wh_conn *c, struct wh_message *m,
		    const unsigned char *own, size_t bytes, char reason[WH_MESSAGE_REASON_BYTES])
{
	(void)transport, (void)node, (void)c, (void)m;
	if (wh_verbs_take_hello(own, bytes))
		return true;
	snprintf(reason, WH_MESSAGE_REASON_BYTES, "its host has another byte order");
	return false;
}

static void ended(struct wh_transport *transport, uint32_t node)
{
	struct wh_verbs *t = wh_verbs_of(transport);

	wh_verbs_images_lose(t, wh_session_peer(t->base.session, node));
	wh_verbs_account_end(t, node);
	wh_verbs_link_close(t, &t->peers[node].link);
}

static bool on_message(struct wh_transport *transport, uint32_t node, struct wh_message *m)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	const struct wh_peer *peer = wh_session_peer(t->base.session, node);
	struct wh_verbs_message message;

	if (!wh_verbs_take_message(&message, &m->head, m->body))
		return false;
	if (message.kind == WH_VERBS_TOKEN)
		return wh_verbs_link_on_token(t, node, &message);
	if (!wh_verbs_link_heard(t, node)) /* it says so before it can; or it is lost, and only its leaving is heard */
		return t->peers[node].link.state == WH_VERBS_BROKEN;
	if (message.kind == WH_VERBS_SHUT) {
		wh_verbs_image_shut(t, peer, message.number);
		return true;
	}
	return wh_verbs_remote_on_message(t, peer, &message);
}

const struct wh_plane_ops wh_verbs_plane_ops = {
	.hello = hello,
	.welcome = welcome,
	.met = wh_verbs_link_met,
	.ended = ended,
	.on_message = on_message,
	.offer = wh_verbs_image_offer,
	.map = wh_verbs_image_map,
};

/* ---- the end ------------------------------------------------------------------------------------------------------ */

/* All that was posted has arrived. */
static bool is_quiet(struct wh_verbs *t)
{
	bool quiet = true;

	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		for (uint32_t rank = 0; rank < image->base.base.members; rank++) {
			(void)wh_verbs_out_advance(t, image, &image->rows[rank]);
			quiet = wh_verbs_out_is_drained(t, &image->rows[rank].out) && quiet;
		}
	return quiet;
}

/* The device works on by itself; here is only looked how far it is. */
static void linger(struct wh_verbs *t)
{
	uint64_t end = wh_env_now(t->env) + LINGER_NS;

	wh_verbs_flush_all(t);
	while (!is_quiet(t) && wh_env_now(t->env) < end) {
		(void)poll(NULL, 0, 1);
		(void)wh_verbs_poll_in(t);
	}
}

/* What I have pushed goes another way than what I say: peers see it before they hear that I go. */
void wh_verbs_leave(struct wh_transport *transport)
{
	struct wh_verbs *t = wh_verbs_of(transport);

	if (wh_session_has_left(t->base.session))
		return;
	linger(t);
	wh_tcp_wire_deafen(t->wire);
	wh_verbs_links_deafen(t);
	wh_session_leave(t->base.session);
}

static void free_images(struct wh_verbs *t)
{
	while (t->images != NULL) {
		struct wh_verbs_image *image = t->images;

		t->images = image->next;
		if (!image->closed)
			wh_session_image_close(&image->base);
		wh_verbs_image_free(t, image, t->forked);
	}
}

/* The device and all that belongs to it are the parent's: it is not even told. What librdmacm remembers stays. */
static void let_go(struct wh_verbs *t)
{
	if (t->device.channel != NULL)
		close(t->device.channel->fd);
	if (t->cm != NULL)
		close(t->cm->fd);
}

/* In order: nothing writes to memory when it goes. */
static void finish(struct wh_verbs *t, bool forked)
{
	t->forked = forked;
	wh_verbs_links_deafen(t);
	free_images(t);
	wh_session_free(t->base.session, forked);
	wh_lanes_let_go(t->lanes, forked);
	wh_tcp_wire_close(t->wire, forked);
	wh_verbs_remote_free(t, forked);
	wh_verbs_accounts_free(t, forked);
	if (forked)
		let_go(t);
	wh_verbs_device_close(&t->device, forked);
	if (t->cm != NULL && !forked)
		rdma_destroy_event_channel(t->cm);
	wh_poll_close(&t->poll);
	free(t);
}

static void destroy(struct wh_transport *transport, bool forked)
{
	struct wh_verbs *t = wh_verbs_of(transport);

	if (!forked) {
		linger(t);
		if (wh_session_has_left(t->base.session))
			wh_tcp_wire_linger(t->wire);
	}
	finish(t, forked);
}

void wh_verbs_abort(struct wh_transport *transport)
{
	finish(wh_verbs_of(transport), false);
}

/* ---- create ------------------------------------------------------------------------------------------------------- */

static enum whorl_result lane_open(struct wh_transport *transport, uint32_t lane, struct wh_transport **out,
				   struct wh_error *err);

static const struct wh_transport_ops verbs_ops = {
	.name = "verbs",
	.gap_bytes = 1024, /* a request more */
	.image_open = wh_verbs_image_open,
	.image_close = wh_verbs_image_close,
	.past = wh_session_table_past,
	.post = wh_verbs_post,
	.freeze = wh_verbs_freeze,
	.take = take,
	.flush = flush,
	.service = service,
	.next_event = wh_session_table_next_event,
	.arm = wh_verbs_arm,
	.disarm = wh_verbs_disarm,
	.wait = wh_verbs_wait,
	.wake = wh_verbs_wake,
	.fd = fd,
	.control_send = wh_session_table_control_send,
	.stream_open = wh_session_table_stream_open,
	.searching = wh_session_table_searching,
	.answer = wh_session_table_answer,
	.complaints = wh_session_table_complaints,
	.writes = writes,
	.leave = wh_verbs_leave,
	.lane_open = lane_open,
	.lanes_part = wh_session_table_lanes_part,
	.destroy = destroy,
	.remote = &wh_verbs_remote_ops,
};

static const struct wh_transport_ops lane_ops = {
	.name = "verbs",
	.remote = &wh_verbs_remote_ops,
	.take = take,
	.flush = flush,
	.service = service,
	.next_event = wh_session_table_next_event,
	.arm = wh_verbs_arm,
	.disarm = wh_verbs_disarm,
	.wait = wh_verbs_wait,
	.wake = wh_verbs_wake,
	.fd = fd,
	.complaints = wh_session_table_complaints,
	.leave = wh_verbs_leave,
	.destroy = destroy,
};

/* Addresses of my own choice, where there are none: `text` is of `nodes`, and `list` points to it. */
static enum whorl_result choose_addresses(const struct wh_transport_config *config,
					  char (*text)[WH_VERBS_ADDRESS_BYTES], const char **list, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	for (uint32_t node = 0; node < config->nodes && result == WHORL_OK; node++) {
		list[node] = config->addresses != NULL ? config->addresses[node] : NULL;
		if (list[node] != NULL && list[node][0] != '\0')
			continue;
		result = wh_verbs_address_default(config->group, node, text[node], err);
		list[node] = text[node];
	}
	return result;
}

/* Without key or TLS any address will do: all that reach it are trusted. */
static enum whorl_result open_wire(struct wh_verbs *t, const struct wh_transport_config *config, struct wh_error *err)
{
	const struct wh_tcp_wire_use use = {
		.version = WH_VERBS_VERSION, .is_lane = t->lane != 0, .trusts_network = true};
	char(*text)[WH_VERBS_ADDRESS_BYTES] = calloc(t->nodes, sizeof(*text));
	const char **list = calloc(t->nodes, sizeof(*list));
	struct wh_transport_config own = *config;
	enum whorl_result result = WHORL_MEMORY;

	if (text == NULL || list == NULL)
		wh_error_set(err, result, "no memory for %" PRIu32 " addresses", t->nodes);
	else
		result = choose_addresses(config, text, list, err);
	own.addresses = list;
	if (result == WHORL_OK)
		result = wh_tcp_wire_open(&own, &use, &t->poll, &t->wire, err);
	if (result == WHORL_OK)
		(void)wh_tcp_wire_address(t->wire, t->node, &t->address);
	free(list);
	free(text);
	return result;
}

static enum whorl_result open_session(struct wh_verbs *t, const struct wh_transport_config *config,
				      struct wh_error *err)
{
	const struct wh_session_setup setup = {.config = config,
					       .lanes = t->lanes,
					       .lane = t->lane,
					       .name = "verbs",
					       .version = WH_VERBS_VERSION,
					       .wire_ops = &wh_tcp_wire_ops,
					       .wire = (struct wh_wire *)t->wire,
					       .plane_ops = &wh_verbs_plane_ops,
					       .transport = &t->base.base};
	enum whorl_result result = wh_session_new(&setup, &t->base.session, err);

	if (result != WHORL_OK)
		return result;
	wh_tcp_wire_attach(t->wire, t->base.session);
	return WHORL_OK;
}

/* My address is had before anything else is done with it: that is how a second node of this id, or one elsewhere, is told. */
static enum whorl_result open_all(struct wh_verbs *t, const struct wh_transport_config *config, struct wh_error *err)
{
	enum whorl_result result = wh_poll_open(&t->poll, t->env, err);

	if (result == WHORL_OK && t->lanes == NULL)
		result = wh_error_set(err, WHORL_MEMORY, "no memory for lanes");
	if (result == WHORL_OK)
		result = open_wire(t, config, err);
	if (result == WHORL_OK)
		result = wh_verbs_links_open(t, err);
	if (result == WHORL_OK && t->lane == 0)
		result = wh_tcp_wire_listen(t->wire, err);
	if (result == WHORL_OK)
		result = open_session(t, config, err);
	if (result == WHORL_OK)
		result = wh_verbs_links_begin(t, err);
	if (result == WHORL_OK && t->lane == 0)
		wh_session_begin(t->base.session);
	else if (result == WHORL_OK)
		result = wh_session_open_lane(t->base.session, err);
	return result;
}

/* NULL: no memory. */
static struct wh_verbs *make(const struct wh_transport_config *config, uint32_t lane, struct wh_error *err)
{
	struct wh_verbs *t = calloc(1, sizeof(*t) + config->nodes * sizeof(t->peers[0]));

	if (t == NULL) {
		wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " peers", config->nodes);
		return NULL;
	}
	t->base.base.ops = lane == 0 ? &verbs_ops : &lane_ops;
	t->env = config->env;
	t->node = config->node;
	t->nodes = config->nodes;
	t->incarnation = config->incarnation;
	t->lane = lane;
	t->timeout = wh_verbs_timeout(config->failure_ns > 0 ? config->failure_ns : WH_NS_PER_S);
	t->poll = WH_POLL_NONE;
	for (uint32_t node = 0; node < t->nodes; node++)
		t->peers[node].link.node = node;
	return t;
}

static enum whorl_result open_or_finish(struct wh_verbs *t, const struct wh_transport_config *config,
					struct wh_transport **out, struct wh_error *err)
{
	enum whorl_result result = open_all(t, config, err);

	if (result == WHORL_OK)
		*out = &t->base.base;
	else
		finish(t, false);
	return result;
}

static enum whorl_result lane_open(struct wh_transport *transport, uint32_t lane, struct wh_transport **out,
				   struct wh_error *err)
{
	const struct wh_verbs *node = wh_verbs_of(transport);
	enum whorl_result result = wh_lanes_check(lane, err);
	struct wh_tcp_wire_copy *copy;
	struct wh_verbs *t;

	*out = NULL;
	if (result != WHORL_OK)
		return result;
	copy = wh_tcp_wire_copy(node->wire);
	t = copy != NULL ? make(&copy->config, lane, err) : NULL;
	if (t == NULL) {
		free(copy);
		return wh_error_set(err, WHORL_MEMORY, "no memory for lane %" PRIu32, lane);
	}
	t->timeout = node->timeout;
	t->lanes = wh_lanes_hold(node->lanes);
	result = open_or_finish(t, &copy->config, out, err);
	free(copy);
	return result;
}

enum whorl_result wh_verbs_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				  struct wh_error *err)
{
	enum whorl_result result = wh_session_check(config, err);
	struct wh_verbs *t;

	(void)ctx;
	*out = NULL;
	if (result != WHORL_OK)
		return result;
	if (config->huge_pages == WH_HUGE_REQUIRE)
		return wh_error_set(err, WHORL_CONFIG, "verbs has no huge pages: they cannot be required");
	t = make(config, 0, err);
	if (t == NULL)
		return WHORL_MEMORY;
	t->lanes = wh_lanes_new(&t->base.base, t->nodes);
	return open_or_finish(t, config, out, err);
}
