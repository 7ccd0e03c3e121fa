/* tcp.c - the tcp transport: its table, the doorbell, and service. tcp_int.h says what is where. */
#include "transport/tcp/tcp.h"

#include <inttypes.h>
#include <stdlib.h>

#include "transport/tcp/tcp_int.h"

#define WAIT_MAX_NS (3600 * WH_NS_PER_S)

/* ---- a pass ------------------------------------------------------------------------------------------------------- */

static size_t dispatch(struct wh_tcp *t, const struct epoll_event *event)
{
	switch (wh_poll_source(event)) {
	case WH_POLL_DOORBELL:
		return 0;
	case WH_POLL_TIMER:
		wh_poll_timer_is_out(&t->poll);
		if (!wh_session_has_left(t->base.session))
			wh_tcp_wire_tick(t->wire);
		return wh_session_on_timer(t->base.session);
	default:
		return wh_tcp_wire_dispatch(t->wire, event);
	}
}

static size_t turn(struct wh_tcp *t)
{
	struct epoll_event events[WH_POLL_AT_ONCE];
	size_t done = wh_tcp_wire_take_held(t->wire);
	int n = wh_poll_look(&t->poll, events);

	for (int i = 0; i < n; i++)
		done += dispatch(t, &events[i]);
	return done;
}

/* What is said to peers while much is taken in, as that their operations are done, leaves together. In a pass, with all else of it. */
static bool begin_gathering(struct wh_tcp *t)
{
	bool gathers = t->wire->gathers;

	t->wire->gathers = !wh_session_has_left(t->base.session);
	return gathers;
}

static void end_gathering(struct wh_tcp *t, bool gathers)
{
	if (!gathers)
		wh_tcp_wire_flush_pass(t->wire);
}

static size_t take(struct wh_transport *transport)
{
	struct wh_tcp *t = wh_tcp_of(transport);

	t->wire->gathers = !wh_session_has_left(t->base.session);
	return turn(t);
}

static void flush(struct wh_transport *transport)
{
	wh_tcp_wire_flush_pass(wh_tcp_of(transport)->wire);
}

static size_t service(struct wh_transport *transport)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	bool gathers = begin_gathering(t);
	size_t done = turn(t);

	done += wh_session_service(t->base.session);
	end_gathering(t, gathers);
	return done;
}

/* ---- the doorbell ------------------------------------------------------------------------------------------------- *
 * A push rings by arriving: whatever was not taken in before wait() is still in a socket, and ends it. Quiet pushes are
 * taken in as well, and do not. */

static void arm(struct wh_transport *transport)
{
	wh_tcp_wire_flush(wh_tcp_of(transport)->wire);
}

static void disarm(struct wh_transport *transport)
{
	(void)transport;
}

/* What is said to peers has left. While the thread sleeps it touches nothing but the poll's descriptors, so another that has borrowed
 * the loop may post: it writes to the sockets itself, and what does not fit is watched for by this thread's poll. */
static int sleep_on_poll(struct wh_tcp *t, struct epoll_event *events, uint64_t ns, const struct wh_lending *lending)
{
	bool lends = lending != NULL && ns > 0;
	int n;

	if (lends)
		lending->lend(lending->loop);
	n = wh_poll_wait(&t->poll, events, ns);
	if (lends)
		lending->take_back(lending->loop);
	return n;
}

static void wait_lending(struct wh_transport *transport, uint64_t timeout_ns, const struct wh_lending *lending)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	struct epoll_event events[WH_POLL_AT_ONCE];
	uint64_t now = wh_env_now(t->env);
	uint64_t deadline = now + (timeout_ns < WAIT_MAX_NS ? timeout_ns : WAIT_MAX_NS);
	size_t work = t->wire->held_count;
	bool gathers;
	int n;

	wh_tcp_wire_flush(t->wire);
	do {
		n = sleep_on_poll(t, events, work > 0 || now >= deadline ? 0 : deadline - now, lending);
		gathers = begin_gathering(t);
		for (int i = 0; i < n; i++) {
			if (wh_poll_source(&events[i]) == WH_POLL_DOORBELL)
				work += wh_poll_hush(&t->poll);
			else
				work += dispatch(t, &events[i]);
		}
		end_gathering(t, gathers);
		now = wh_env_now(t->env);
	} while (work == 0 && n >= 0 && now < deadline && !wh_session_is_full(t->base.session));
}

static void wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	wait_lending(transport, timeout_ns, NULL);
}

static void wake(struct wh_transport *transport)
{
	wh_poll_wake(&wh_tcp_of(transport)->poll);
}

static int fd(struct wh_transport *transport)
{
	return wh_tcp_of(transport)->poll.epoll;
}

/* ---- leaving ----------------------------------------------------------------------------------------------------- */

/* The last frame to each; whatever was posted before it goes first, as far as the socket takes it now (destroy waits a
 * little for the rest). */
static void leave(struct wh_transport *transport)
{
	struct wh_tcp *t = wh_tcp_of(transport);

	t->wire->gathers = false;
	wh_tcp_wire_deafen(t->wire);
	wh_session_leave(t->base.session);
}

/* ---- create and destroy ------------------------------------------------------------------------------------------- */

static const struct wh_plane_ops plane_ops = {
	.ended = wh_tcp_remote_end,
	.on_message = wh_tcp_remote_on_message,
	.map = wh_tcp_image_map,
};

static void destroy(struct wh_transport *transport, bool forked)
{
	struct wh_tcp *t = wh_tcp_of(transport);

	if (t->base.session != NULL && wh_session_has_left(t->base.session) && !forked)
		wh_tcp_wire_linger(t->wire);
	while (t->base.session != NULL && wh_session_images(t->base.session) != NULL)
		wh_tcp_image_close(&wh_session_images(t->base.session)->base);
	wh_session_free(t->base.session, forked);
	wh_lanes_let_go(t->lanes, forked);
	wh_tcp_wire_close(t->wire, forked);
	wh_tcp_remote_free(t);
	wh_poll_close(&t->poll);
	free(t);
}

/* Of a lane: its regions, and no rows. */
static const struct wh_plane_ops lane_plane_ops = {.ended = wh_tcp_remote_end, .on_message = wh_tcp_remote_on_message};

static enum whorl_result lane_open(struct wh_transport *transport, uint32_t lane, struct wh_transport **out,
				   struct wh_error *err);

static const struct wh_transport_ops tcp_ops = {
	.name = "tcp",
	.capabilities = WH_REMOTE_ASCENDING | WH_REMOTE_CPU_ATOMICS,
	.remote = &wh_tcp_remote_ops,
	.relays = true,
	.poll_costs_syscall = true,
	.gap_bytes = 512, /* an entry of the table, and one of two vectors; to be copied twice */
	.image_open = wh_tcp_image_open,
	.image_close = wh_tcp_image_close,
	.past = wh_session_table_past,
	.post = wh_tcp_post,
	.freeze = wh_tcp_freeze,
	.take = take,
	.flush = flush,
	.service = service,
	.next_event = wh_session_table_next_event,
	.arm = arm,
	.disarm = disarm,
	.wait = wait,
	.wait_lending = wait_lending,
	.wake = wake,
	.fd = fd,
	.control_send = wh_session_table_control_send,
	.stream_open = wh_session_table_stream_open,
	.searching = wh_session_table_searching,
	.answer = wh_session_table_answer,
	.complaints = wh_session_table_complaints,
	.leave = leave,
	.lane_open = lane_open,
	.lanes_part = wh_session_table_lanes_part,
	.destroy = destroy,
};

static const struct wh_transport_ops lane_ops = {
	.name = "tcp",
	.capabilities = WH_REMOTE_ASCENDING | WH_REMOTE_CPU_ATOMICS,
	.remote = &wh_tcp_remote_ops,
	.poll_costs_syscall = true,
	.take = take,
	.flush = flush,
	.service = service,
	.next_event = wh_session_table_next_event,
	.arm = arm,
	.disarm = disarm,
	.wait = wait,
	.wake = wake,
	.fd = fd,
	.complaints = wh_session_table_complaints,
	.leave = leave,
	.destroy = destroy,
};

static enum whorl_result open_session(struct wh_tcp *t, const struct wh_transport_config *config, struct wh_error *err)
{
	const struct wh_session_setup setup = {.config = config,
					       .lanes = t->lanes,
					       .lane = t->lane,
					       .name = "tcp",
					       .version = WH_TCP_VERSION,
					       .wire_ops = &wh_tcp_wire_ops,
					       .wire = (struct wh_wire *)t->wire,
					       .plane_ops = t->lane == 0 ? &plane_ops : &lane_plane_ops,
					       .transport = &t->base.base};
	enum whorl_result result = wh_session_new(&setup, &t->base.session, err);

	if (result != WHORL_OK)
		return result;
	t->wire->transport = &t->base.base;
	t->wire->refill = wh_tcp_remote_refill;
	wh_tcp_wire_attach(t->wire, t->base.session);
	return WHORL_OK;
}

/* The address is had before anything else is done with it. */
static enum whorl_result open_all(struct wh_tcp *t, const struct wh_transport_config *config, struct wh_error *err)
{
	const struct wh_tcp_wire_use use = {.version = WH_TCP_VERSION, .pushes = true, .is_lane = t->lane != 0};
	enum whorl_result result = wh_poll_open(&t->poll, t->env, err);

	if (result == WHORL_OK && t->lanes == NULL)
		result = wh_error_set(err, WHORL_MEMORY, "no memory for lanes");
	if (result == WHORL_OK)
		result = wh_tcp_wire_open(config, &use, &t->poll, &t->wire, err);
	if (result == WHORL_OK && t->lane == 0)
		result = wh_tcp_wire_listen(t->wire, err);
	if (result == WHORL_OK)
		result = open_session(t, config, err);
	if (result == WHORL_OK && t->lane == 0)
		wh_session_begin(t->base.session);
	else if (result == WHORL_OK)
		result = wh_session_open_lane(t->base.session, err);
	return result;
}

/* NULL: no memory. */
static struct wh_tcp *make(const struct wh_transport_config *config, uint32_t lane, struct wh_error *err)
{
	struct wh_tcp *t = calloc(1, sizeof(*t) + config->nodes * sizeof(t->remotes[0]));

	if (t == NULL) {
		wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " peers", config->nodes);
		return NULL;
	}
	t->base.base.ops = lane == 0 ? &tcp_ops : &lane_ops;
	t->env = config->env;
	t->node = config->node;
	t->nodes = config->nodes;
	t->incarnation = config->incarnation;
	t->lane = lane;
	t->huge_pages = (int)config->huge_pages;
	t->poll = WH_POLL_NONE;
	return t;
}

/* `lanes` becomes its own. */
static enum whorl_result create(const struct wh_transport_config *config, uint32_t lane, struct wh_lanes *lanes,
				struct wh_transport **out, struct wh_error *err)
{
	struct wh_tcp *t = make(config, lane, err);
	enum whorl_result result;

	if (t == NULL) {
		wh_lanes_let_go(lanes, false);
		return WHORL_MEMORY;
	}
	t->lanes = lane == 0 ? wh_lanes_new(&t->base.base, t->nodes) : lanes;
	result = open_all(t, config, err);
	if (result == WHORL_OK)
		*out = &t->base.base;
	else
		destroy(&t->base.base, false);
	return result;
}

static enum whorl_result lane_open(struct wh_transport *transport, uint32_t lane, struct wh_transport **out,
				   struct wh_error *err)
{
	const struct wh_tcp *node = wh_tcp_of(transport);
	enum whorl_result result = wh_lanes_check(lane, err);
	struct wh_tcp_wire_copy *copy;

	*out = NULL;
	if (result != WHORL_OK)
		return result;
	copy = wh_tcp_wire_copy(node->wire);
	if (copy == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for lane %" PRIu32, lane);
	result = create(&copy->config, lane, wh_lanes_hold(node->lanes), out, err);
	free(copy);
	return result;
}

enum whorl_result wh_tcp_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				struct wh_error *err)
{
	enum whorl_result result = wh_session_check(config, err);

	(void)ctx;
	*out = NULL;
	return result == WHORL_OK ? create(config, 0, NULL, out, err) : result;
}
