/* tcp.c - the tcp transport: its table, the doorbell, events, and service. tcp_int.h says what is where. */
#include "transport/tcp/tcp.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "transport/tcp/tcp_int.h"

#define EPOLL_AT_ONCE 16
#define WAIT_MAX_NS (3600 * WH_NS_PER_S)
#define KEEP_NS (10 * WH_NS_PER_US) /* so long a patient push is kept */
#define LINGER_NS (WH_NS_PER_S / 5) /* so long the last words of a leaving node may take */

/* ---- events -------------------------------------------------------------------------------------------------------- */

static bool next_event(struct wh_transport *transport, struct wh_transport_event *out)
{
	struct wh_tcp *t = wh_tcp_of(transport);

	if (wh_event_queue_next(&t->event_queue, out))
		return true;
	for (struct wh_tcp_image *image = t->images; image != NULL; image = image->next)
		if (image->base.ready && !image->announced) {
			image->announced = true;
			wh_event_queue_image(&t->event_queue, &image->base, out);
			return true;
		}
	return false;
}

/* ---- what leaves -------------------------------------------------------------------------------------------------- */

bool wh_tcp_watch(struct wh_tcp *t, int operation, int fd, uint32_t events, enum wh_tcp_source source, uint32_t index)
{
	struct epoll_event event = {.events = events, .data.u64 = (uint64_t)source << 32 | index};

	return epoll_ctl(t->epoll, operation, fd, &event) == 0;
}

/* A full socket says when it has room again, and is left alone until then. */
static void flush_link(struct wh_tcp *t, struct wh_tcp_link *link)
{
	if (link->stage != WH_TCP_OPEN || link->out.blocked)
		return;
	do {
		wh_tcp_out_flush(t, link);
	} while (!link->out.blocked && wh_tcp_remote_refill(&t->peers[link->node]));
	if (link->out.blocked == link->watches_write)
		return;
	link->watches_write = link->out.blocked;
	(void)wh_tcp_watch(t, EPOLL_CTL_MOD, link->channel.fd, EPOLLIN | (link->out.blocked ? EPOLLOUT : 0),
			   WH_TCP_FROM_PEER, link->node);
}

static void flush_links(struct wh_tcp *t, bool patient_ones)
{
	for (uint32_t node = 0; node < t->nodes && t->dirty_count > 0; node++) {
		struct wh_tcp_link *link = t->peers[node].link;

		if (link == NULL || !link->dirty || (link->patient && !patient_ones))
			continue;
		link->dirty = false;
		t->dirty_count--;
		flush_link(t, link);
	}
}

void wh_tcp_flush(struct wh_tcp *t)
{
	t->gathers = false;
	t->kept_ns = 0;
	flush_links(t, true);
}

void wh_tcp_mark(struct wh_tcp *t, struct wh_tcp_link *link, bool patient)
{
	link->patient = patient && (!link->dirty || link->patient);
	t->dirty_count += !link->dirty;
	link->dirty = true;
}

void wh_tcp_dirty(struct wh_tcp *t, struct wh_tcp_link *link)
{
	wh_tcp_mark(t, link, false);
	if (!t->gathers)
		wh_tcp_flush(t);
}

/* What is patient is kept until something else goes to that peer, but not for long. */
static void flush(struct wh_transport *transport)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	uint64_t now;

	t->gathers = false;
	flush_links(t, false);
	if (t->dirty_count == 0) {
		t->kept_ns = 0;
		return;
	}
	now = wh_env_now(t->env);
	if (t->kept_ns == 0)
		t->kept_ns = now;
	if (now - t->kept_ns >= KEEP_NS)
		wh_tcp_flush(t);
}

/* ---- what comes --------------------------------------------------------------------------------------------------- */

static size_t from_peer(struct wh_tcp *t, struct wh_tcp_peer *peer, uint32_t events)
{
	if (peer->link == NULL)
		return 0;
	if (peer->link->stage != WH_TCP_OPEN) {
		if (wh_event_queue_is_full(&t->event_queue) || !wh_tcp_link_open(t, peer))
			return 1;
		events |= EPOLLOUT | EPOLLIN; /* with TLS something may have come with the end of the handshake */
	}
	if ((events & EPOLLOUT) != 0) {
		peer->link->out.blocked = false;
		flush_link(t, peer->link);
	}
	return (events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0 ? wh_tcp_in_take(t, peer) : 0;
}

static size_t dispatch(struct wh_tcp *t, const struct epoll_event *event)
{
	uint32_t index = (uint32_t)event->data.u64;

	switch ((enum wh_tcp_source)(event->data.u64 >> 32)) {
	case WH_TCP_DOORBELL:
		return 0;
	case WH_TCP_TIMER:
		wh_tcp_meet_tick(t);
		return 1;
	case WH_TCP_LISTENER:
		wh_tcp_accept(t);
		return 1;
	case WH_TCP_FROM_STRANGER:
		return wh_tcp_accept_on_message(t, index);
	case WH_TCP_FROM_PEER:
		return from_peer(t, &t->peers[index], event->events);
	case WH_TCP_TO_STREAM:
		wh_tcp_stream_advance(t, index);
		return 1;
	}
	return 0;
}

/* Frames that waited for room for their events, of which the socket does not tell any more. */
static size_t take_held(struct wh_tcp *t)
{
	size_t done = 0;

	if (t->held_count == 0 || wh_event_queue_is_full(&t->event_queue))
		return 0;
	t->held_count = 0;
	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_tcp_peer *peer = &t->peers[node];

		if (peer->link == NULL || !peer->link->in.held)
			continue;
		if (wh_event_queue_is_full(&t->event_queue))
			t->held_count++;
		else
			done += wh_tcp_in_take(t, peer);
	}
	return done;
}

/* Streams of openers that have met me, as I know by now. */
static void look_at_strangers(struct wh_tcp *t)
{
	for (uint32_t i = 0; i < t->stranger_count; i++)
		if (t->strangers[i].held && !wh_event_queue_is_full(&t->event_queue)) {
			t->strangers[i].held = false;
			(void)wh_tcp_accept_on_message(t, i);
		}
}

static size_t turn(struct wh_tcp *t)
{
	struct epoll_event events[EPOLL_AT_ONCE];
	size_t done = take_held(t);
	int n = epoll_wait(t->epoll, events, EPOLL_AT_ONCE, 0);

	for (int i = 0; i < n; i++)
		done += dispatch(t, &events[i]);
	return done;
}

static size_t take(struct wh_transport *transport)
{
	struct wh_tcp *t = wh_tcp_of(transport);

	t->gathers = !t->left;
	return turn(t);
}

static void give_up_doomed(struct wh_tcp *t)
{
	for (uint32_t node = 0; node < t->nodes; node++)
		if (t->peers[node].doomed != NULL && !wh_event_queue_is_full(&t->event_queue))
			wh_tcp_lose(t, &t->peers[node], t->peers[node].doomed);
}

static size_t service(struct wh_transport *transport)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	size_t done = turn(t);

	give_up_doomed(t);
	look_at_strangers(t);
	for (struct wh_tcp_image *image = t->images; image != NULL; image = image->next)
		done += wh_tcp_image_advance(t, image);
	if (t->redial.searching)
		wh_redial_search(&t->redial);
	return done;
}

/* ---- the doorbell ------------------------------------------------------------------------------------------------- *
 * A push rings by arriving: whatever was not taken in before wait() is still in a socket, and ends it. Quiet pushes are
 * taken in as well, and do not. */

static void arm(struct wh_transport *transport)
{
	wh_tcp_flush(wh_tcp_of(transport));
}

static void disarm(struct wh_transport *transport)
{
	(void)transport;
}

static void wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	struct epoll_event events[EPOLL_AT_ONCE];
	uint64_t now = wh_env_now(t->env), rings;
	uint64_t deadline = now + (timeout_ns < WAIT_MAX_NS ? timeout_ns : WAIT_MAX_NS);
	size_t work = t->held_count;
	int n;

	wh_tcp_flush(t);
	do {
		n = wh_redial_wait(&t->redial, t->epoll, events, EPOLL_AT_ONCE,
				   work > 0 || now >= deadline ? 0 : deadline - now);
		for (int i = 0; i < n; i++) {
			if (events[i].data.u64 >> 32 == WH_TCP_DOORBELL)
				work += read(t->doorbell, &rings, sizeof(rings)) > 0;
			else
				work += dispatch(t, &events[i]);
		}
		now = wh_env_now(t->env);
	} while (work == 0 && n >= 0 && now < deadline && !wh_event_queue_is_full(&t->event_queue));
}

static void wake(struct wh_transport *transport)
{
	const uint64_t one = 1;

	(void)!write(wh_tcp_of(transport)->doorbell, &one, sizeof(one)); /* a full counter is readable as well */
}

static int fd(struct wh_transport *transport)
{
	return wh_tcp_of(transport)->epoll;
}

/* ---- create and destroy ------------------------------------------------------------------------------------------- */

/* The first with last words that have not left; NULL: none. */
static struct wh_tcp_link *unsaid(struct wh_tcp *t)
{
	for (uint32_t node = 0; node < t->nodes; node++) {
		struct wh_tcp_link *link = t->peers[node].link;

		if (link != NULL && !link->out.dead &&
		    (!wh_tcp_out_empty(&link->out) || wh_tcp_channel_unsent(&link->channel)))
			return link;
	}
	return NULL;
}

/* The last words, where a socket was full: for a moment, and no longer. */
static void linger(struct wh_tcp *t)
{
	uint64_t until = wh_env_now(t->env) + LINGER_NS;
	struct wh_tcp_link *link;

	while ((link = unsaid(t)) != NULL && wh_env_now(t->env) < until) {
		struct pollfd room = {.fd = link->channel.fd, .events = POLLOUT};

		(void)poll(&room, 1, 20);
		for (uint32_t node = 0; node < t->nodes; node++)
			if (t->peers[node].link != NULL)
				wh_tcp_out_flush(t, t->peers[node].link);
	}
}

static void destroy(struct wh_transport *transport, bool forked)
{
	struct wh_tcp *t = wh_tcp_of(transport);
	const int own[] = {t->redial.timer, t->doorbell, t->epoll};

	t->forked = forked;
	if (t->left && !forked)
		linger(t);
	wh_event_queue_drop(&t->event_queue);
	wh_tcp_stream_close_all(t);
	wh_tcp_close_connections(t);
	wh_tcp_remote_free(t);
	while (t->images != NULL) {
		struct wh_tcp_image *image = t->images;

		t->images = image->next;
		wh_tcp_image_free(image);
	}
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i] >= 0)
			close(own[i]);
	wh_secure_key_free(t->ground.key);
	wh_secure_tls_free(t->ground.tls);
	wh_tcp_names_free(t->lookups);
	free(t->strangers);
	free(t->names);
	free(t);
}

static enum whorl_result open_descriptors(struct wh_tcp *t, struct wh_error *err)
{
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0)
		return wh_error_system(err, errno, "epoll_create1");
	t->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->doorbell < 0)
		return wh_error_system(err, errno, "eventfd");
	if (!wh_redial_open(&t->redial))
		return wh_error_system(err, errno, "timerfd_create");
	if (!wh_tcp_watch(t, EPOLL_CTL_ADD, t->doorbell, EPOLLIN, WH_TCP_DOORBELL, 0) ||
	    !wh_tcp_watch(t, EPOLL_CTL_ADD, t->redial.timer, EPOLLIN, WH_TCP_TIMER, 0))
		return wh_error_system(err, errno, "epoll_ctl");
	return WHORL_OK;
}

/* My own must be known. That of another may come to be known later. What is wrong is the file's mistake. */
static enum whorl_result find_address(struct wh_tcp *t, struct wh_tcp_peer *peer, const char *given, char *name,
				      struct wh_error *err)
{
	enum whorl_result result;

	if (given != NULL && given[0] != '\0')
		snprintf(name, WH_TCP_ADDRESS_BYTES, "%s", given);
	else
		wh_tcp_address_default(t->group, peer->node, name);
	peer->name = name;
	result = wh_tcp_address_find(name, &peer->address, err);
	if (result == WHORL_OK && !wh_tcp_address_is_loopback(&peer->address) && t->ground.key == NULL &&
	    t->ground.tls == NULL)
		return wh_error_set(err, WHORL_CONFIG,
				    "node %" PRIu32
				    " is at %s: without a cluster key (key_file) or TLS only addresses of "
				    "this host's loopback interface are allowed, as anybody could come in",
				    peer->node, name);
	if (result == WHORL_NOT_FOUND && peer->node != t->node) {
		wh_error_clear(err);
		result = WHORL_OK;
	}
	if (result == WHORL_OK)
		return WHORL_OK;
	wh_error_prefix(err, "node %" PRIu32, peer->node);
	if (result == WHORL_NOT_FOUND || result == WHORL_INVALID)
		err->code = WHORL_CONFIG;
	return err->code;
}

static enum whorl_result find_addresses(struct wh_tcp *t, const char *const *addresses, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	t->names = calloc(t->nodes, WH_TCP_ADDRESS_BYTES);
	t->stranger_count = WH_TCP_STRANGERS + 2 * t->nodes;
	t->strangers = calloc(t->stranger_count, sizeof(*t->strangers));
	t->lookups = wh_tcp_names_new();
	if (t->names == NULL || t->strangers == NULL || t->lookups == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " addresses", t->nodes);
	for (uint32_t i = 0; i < t->stranger_count; i++)
		t->strangers[i].channel = WH_TCP_NO_CHANNEL;
	for (uint32_t node = 0; node < t->nodes && result == WHORL_OK; node++)
		result = find_address(t, &t->peers[node], addresses != NULL ? addresses[node] : NULL,
				      t->names + (size_t)node * WH_TCP_ADDRESS_BYTES, err);
	return result;
}

static const struct wh_transport_ops tcp_ops = {
	.name = "tcp",
	.capabilities = WH_REMOTE_ASCENDING | WH_REMOTE_CPU_ATOMICS,
	.remote = &wh_tcp_remote_ops,
	.poll_costs_syscall = true,
	.gap_bytes = 512, /* an entry of the table, and one of two vectors; to be copied twice */
	.image_open = wh_tcp_image_open,
	.image_close = wh_tcp_image_close,
	.past = wh_tcp_past,
	.post = wh_tcp_post,
	.freeze = wh_tcp_freeze,
	.take = take,
	.flush = flush,
	.service = service,
	.next_event = next_event,
	.arm = arm,
	.disarm = disarm,
	.wait = wait,
	.wake = wake,
	.fd = fd,
	.control_send = wh_tcp_control_send,
	.stream_open = wh_tcp_stream_open,
	.searching = wh_tcp_searching,
	.answer = wh_tcp_answer,
	.leave = wh_tcp_leave,
	.destroy = destroy,
};

static void init(struct wh_tcp *t, const struct wh_transport_config *config)
{
	t->base.ops = &tcp_ops;
	t->env = config->env;
	wh_event_queue_init(&t->event_queue, config, "tcp", t->events, WH_TCP_EVENTS, WH_TCP_EVENTS_AT_ONCE);
	memcpy(t->group, config->group, strlen(config->group) + 1);
	t->node = config->node;
	t->nodes = config->nodes;
	wh_redial_init(&t->redial, config);
	t->incarnation = config->incarnation;
	t->huge_pages = (int)config->huge_pages;
	t->ground = (struct wh_secure_ground){.key = wh_secure_key_hold(config->key),
					      .tls = wh_secure_tls_hold(config->tls),
					      .group = t->group,
					      .version = WH_TCP_VERSION,
					      .node = t->node,
					      .incarnation = t->incarnation};
	t->epoll = t->doorbell = t->listener = -1;
	for (uint32_t node = 0; node < t->nodes; node++)
		t->peers[node] = (struct wh_tcp_peer){
			.node = node,
			.state = node == t->node ? WH_TCP_SELF : WH_TCP_ABSENT,
		};
}

enum whorl_result wh_tcp_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				struct wh_error *err)
{
	enum whorl_result result;
	struct wh_tcp *t;

	(void)ctx;
	*out = NULL;
	if (strlen(config->group) >= WH_TCP_GROUP_BYTES)
		return wh_error_set(err, WHORL_INVALID, "the name of group %s has more than %d bytes", config->group,
				    WH_TCP_GROUP_BYTES - 1);
	if (config->incarnation == 0)
		return wh_error_set(err, WHORL_INVALID, "node %" PRIu32 " has no incarnation", config->node);
	t = calloc(1, sizeof(*t) + config->nodes * sizeof(t->peers[0]));
	if (t == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " peers", config->nodes);
	init(t, config);
	result = find_addresses(t, config->addresses, err);
	if (result == WHORL_OK)
		result = open_descriptors(t, err);
	if (result == WHORL_OK)
		result = wh_tcp_meet_open(t, err);
	if (result != WHORL_OK) {
		destroy(&t->base, false);
		return result;
	}
	*out = &t->base;
	return WHORL_OK;
}
