/* verbs.c - the RDMA transport: its table, the doorbell, events, and service. verbs_int.h says what is where. */
#include "transport/verbs/verbs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "transport/verbs/verbs_int.h"

#define EPOLL_AT_ONCE 16
#define LINGER_NS (300 * WH_NS_PER_MS) /* what is under way at the end has so long to arrive */

/* ---- events --------------------------------------------------------------------------------------------------------- */

static bool next_event(struct wh_transport *transport, struct wh_transport_event *out)
{
	struct wh_verbs *t = wh_verbs_of(transport);

	if (wh_event_queue_next(&t->event_queue, out))
		return true;
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		if (image->base.ready && !image->announced && !image->closed) {
			image->announced = true;
			wh_event_queue_image(&t->event_queue, &image->base, out);
			return true;
		}
	return false;
}

static int fd(struct wh_transport *transport)
{
	return wh_verbs_of(transport)->epoll;
}

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

bool wh_verbs_watch(struct wh_verbs *t, int fd, enum wh_verbs_source source, uint32_t index, uint32_t events)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)source << 32 | index};

	if (epoll_ctl(t->epoll, EPOLL_CTL_ADD, fd, &event) == 0)
		return true;
	return errno == EEXIST && epoll_ctl(t->epoll, EPOLL_CTL_MOD, fd, &event) == 0;
}

static size_t dispatch(struct wh_verbs *t, const struct epoll_event *event)
{
	uint32_t index = (uint32_t)event->data.u64;

	switch ((enum wh_verbs_source)(event->data.u64 >> 32)) {
	case WH_VERBS_DOORBELL:
		return 0;
	case WH_VERBS_TIMER:
		wh_verbs_meet_tick(t);
		return 1;
	case WH_VERBS_MEETING:
		return wh_verbs_meet_events(t);
	case WH_VERBS_COMPLETION:
		if (t->armed) /* it is to end wait() */
			return 0;
		wh_verbs_drain_channel(t);
		return 0;
	case WH_VERBS_LISTENER:
		wh_verbs_query_accept(t);
		return 1;
	case WH_VERBS_STRANGER:
		wh_verbs_query_on_message(t, index);
		return 1;
	}
	return 0;
}

/* What librdmacm says of a connection's end comes first, then what has come through it before, then its end. */
static size_t service(struct wh_transport *transport)
{
	struct wh_verbs *t = wh_verbs_of(transport);
	struct epoll_event events[EPOLL_AT_ONCE];
	size_t done = 0;
	int n;

	n = epoll_wait(t->epoll, events, EPOLL_AT_ONCE, 0);
	for (int i = 0; i < n && !wh_event_queue_is_full(&t->event_queue); i++)
		done += dispatch(t, &events[i]);
	done += wh_verbs_poll_in(t);
	if (t->rung && t->armed)
		wh_verbs_wake(transport);
	t->rung = false;
	done += wh_verbs_peers_advance(t);
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		done += wh_verbs_image_advance(t, image);
	(void)wh_verbs_images_reap(t);
	done += wh_verbs_streams_advance(t);
	if (t->lanes > 0)
		done += wh_verbs_remote_advance(t);
	done += wh_verbs_links_advance(t);
	if (t->redial.searching)
		wh_dial_search(&t->redial);
	return done;
}

/* ---- create and destroy ------------------------------------------------------------------------------------------- */

/* All that was posted and sent has arrived. */
static bool is_quiet(struct wh_verbs *t)
{
	bool quiet = wh_verbs_streams_are_sent(t);

	for (const struct wh_verbs_link *link = t->links; link != NULL; link = link->next)
		quiet = quiet && (link->ended || wh_verbs_link_is_idle(link));
	for (struct wh_verbs_image *image = t->images; image != NULL; image = image->next)
		for (uint32_t rank = 0; rank < image->base.members; rank++) {
			(void)wh_verbs_out_advance(t, image, &image->rows[rank]);
			quiet = wh_verbs_out_is_drained(t, &image->rows[rank].out) && quiet;
		}
	return quiet;
}

/* The device works on by itself; here is only looked how far it is. */
static void linger(struct wh_verbs *t)
{
	uint64_t end = wh_env_now(t->env) + LINGER_NS;
	struct epoll_event event;

	while (!is_quiet(t) && wh_env_now(t->env) < end) {
		(void)epoll_wait(t->epoll, &event, 1, 1);
		(void)wh_verbs_poll_in(t);
	}
}

/* What is a peer's and the device's, in order: nothing writes to memory when it goes. */
static void close_all(struct wh_verbs *t)
{
	wh_verbs_query_close(t);
	wh_verbs_meet_close(t);
	for (uint32_t node = 0; node < t->nodes; node++)
		if (t->peers[node].link != NULL) {
			t->peers[node].link->ended = true;
			wh_verbs_end_connection(t, &t->peers[node], WH_VERBS_ABSENT);
		}
	while (t->links != NULL)
		wh_verbs_link_free(t, t->links);
	wh_verbs_streams_end(t, NULL);
	while (t->images != NULL) {
		struct wh_verbs_image *image = t->images;

		t->images = image->next;
		wh_verbs_image_free(t, image, false);
	}
	wh_verbs_remote_free(t, false);
	wh_verbs_lanes_free(t, false);
	wh_verbs_device_close(&t->device, false);
	if (t->cm != NULL)
		rdma_destroy_event_channel(t->cm);
}

/* The device and all that belongs to it are the parent's: it is not even told. What librdmacm remembers stays. */
static void let_go(struct wh_verbs *t)
{
	wh_verbs_query_close(t);
	wh_verbs_streams_end(t, NULL);
	while (t->images != NULL) {
		struct wh_verbs_image *image = t->images;

		t->images = image->next;
		wh_verbs_image_free(t, image, true);
	}
	while (t->links != NULL) {
		struct wh_verbs_link *link = t->links;

		t->links = link->next;
		wh_verbs_memory_free(&link->memory);
		free(link);
	}
	wh_verbs_remote_free(t, true);
	wh_verbs_lanes_free(t, true);
	if (t->device.channel != NULL)
		close(t->device.channel->fd);
	if (t->cm != NULL)
		close(t->cm->fd);
}

static void finish(struct wh_verbs *t, bool forked)
{
	const int own[] = {t->redial.timer, t->doorbell, t->epoll};

	t->forked = forked;
	wh_event_queue_drop(&t->event_queue);
	if (forked)
		let_go(t);
	else
		close_all(t);
	for (uint32_t node = 0; node < t->nodes; node++)
		for (size_t i = 0; i < WH_VERBS_PENDING; i++)
			free(t->peers[node].pending[i]);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i] >= 0)
			close(own[i]);
	free(t);
}

static void destroy(struct wh_transport *transport, bool forked)
{
	struct wh_verbs *t = wh_verbs_of(transport);

	if (!forked && t->device.in != NULL) {
		wh_verbs_flush_all(t);
		linger(t);
	}
	finish(t, forked);
}

void wh_verbs_abort(struct wh_transport *transport)
{
	finish(wh_verbs_of(transport), false);
}

static enum whorl_result open_descriptors(struct wh_verbs *t, struct wh_error *err)
{
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0)
		return wh_error_system(err, errno, "epoll_create1");
	t->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->doorbell < 0)
		return wh_error_system(err, errno, "eventfd");
	if (!wh_dial_open(&t->redial))
		return wh_error_system(err, errno, "timerfd_create");
	if (!wh_verbs_watch(t, t->doorbell, WH_VERBS_DOORBELL, 0, EPOLLIN) ||
	    !wh_verbs_watch(t, t->redial.timer, WH_VERBS_TIMER, 0, EPOLLIN))
		return wh_error_system(err, errno, "epoll_ctl");
	return WHORL_OK;
}

static const struct wh_transport_ops verbs_ops = {
	.name = "verbs",
	.gap_bytes = 1024, /* a request more */
	.image_open = wh_verbs_image_open,
	.image_close = wh_verbs_image_close,
	.past = wh_verbs_past,
	.post = wh_verbs_post,
	.freeze = wh_verbs_freeze,
	.take = take,
	.flush = flush,
	.service = service,
	.next_event = next_event,
	.arm = wh_verbs_arm,
	.disarm = wh_verbs_disarm,
	.wait = wh_verbs_wait,
	.wake = wh_verbs_wake,
	.fd = fd,
	.control_send = wh_verbs_control_send,
	.stream_open = wh_verbs_stream_open,
	.searching = wh_verbs_searching,
	.answer = wh_verbs_answer,
	.writes = writes,
	.leave = wh_verbs_leave,
	.destroy = destroy,
	.remote = &wh_verbs_remote_ops,
};

static void init(struct wh_verbs *t, const struct wh_transport_config *config)
{
	t->base.ops = &verbs_ops;
	t->env = config->env;
	wh_event_queue_init(&t->event_queue, config, "verbs", t->events, WH_VERBS_EVENTS, WH_VERBS_EVENTS_AT_ONCE);
	memcpy(t->group, config->group, strlen(config->group) + 1);
	t->node = config->node;
	t->nodes = config->nodes;
	wh_dial_init(&t->redial, config);
	t->timeout = wh_verbs_timeout(config->failure_ns > 0 ? config->failure_ns : WH_NS_PER_S);
	t->incarnation = config->incarnation;
	t->epoll = t->doorbell = t->query_listener = -1;
	for (uint32_t i = 0; i < WH_VERBS_STRANGERS; i++)
		t->strangers[i].socket = -1;
	for (uint32_t node = 0; node < t->nodes; node++)
		t->peers[node] = (struct wh_verbs_peer){
			.node = node,
			.state = node == t->node ? WH_VERBS_SELF : WH_VERBS_ABSENT,
		};
}

enum whorl_result wh_verbs_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				  struct wh_error *err)
{
	enum whorl_result result;
	struct wh_verbs *t;

	(void)ctx;
	*out = NULL;
	if (strlen(config->group) >= WH_VERBS_GROUP_BYTES)
		return wh_error_set(err, WHORL_INVALID, "the name of group %s has more than %d bytes", config->group,
				    WH_VERBS_GROUP_BYTES - 1);
	if (config->incarnation == 0)
		return wh_error_set(err, WHORL_INVALID, "node %" PRIu32 " has no incarnation", config->node);
	if (config->huge_pages == WH_HUGE_REQUIRE)
		return wh_error_set(err, WHORL_CONFIG, "verbs has no huge pages: they cannot be required");
	t = calloc(1, sizeof(*t) + config->nodes * sizeof(t->peers[0]));
	if (t == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " peers", config->nodes);
	init(t, config);
	result = open_descriptors(t, err);
	if (result == WHORL_OK)
		result = wh_verbs_meet_open(t, config, err);
	if (result != WHORL_OK) {
		finish(t, false);
		return result;
	}
	*out = &t->base;
	return WHORL_OK;
}
