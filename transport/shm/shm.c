/* shm.c - the shared memory transport: its table, the doorbell, events, and service. shm_int.h says what is where. */
#include "transport/shm/shm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/counter.h"
#include "transport/remote.h"
#include "transport/shm/shm_int.h"

#define EPOLL_AT_ONCE 16
#define WAIT_MAX_NS (3600 * WH_NS_PER_S)

/* ---- events --------------------------------------------------------------------------------------------------------- */

static bool next_event(struct wh_transport *transport, struct wh_transport_event *out)
{
	struct wh_shm *t = wh_shm_of(transport);

	if (wh_event_queue_next(&t->event_queue, out))
		return true;
	for (struct wh_shm_image *image = t->images; image != NULL; image = image->next)
		if (image->base.ready && !image->announced) {
			image->announced = true;
			wh_event_queue_image(&t->event_queue, &image->base, out);
			return true;
		}
	return false;
}

/* ---- the doorbell ------------------------------------------------------------------------------------------------- *
 * status->parked counts up at each arm and each disarm, and is odd in between. Pushers ring once for each odd number
 * that they see, so a ring is neither lost nor repeated (tests/models/doorbell.c). The eventfd is cleared by wait alone,
 * when it is no longer parked: whatever rang before has pushed before the look that must follow the next arm. */

static void arm(struct wh_transport *transport)
{
	struct wh_shm *t = wh_shm_of(transport);

	if ((t->parked & 1) == 1)
		return;
	wh_store_relaxed(&t->status->parked, ++t->parked);
	wh_fence_full(); /* parked, then the look. Partner: the fence in wh_shm_post */
}

static void disarm(struct wh_transport *transport)
{
	struct wh_shm *t = wh_shm_of(transport);

	if ((t->parked & 1) == 1)
		wh_store_relaxed(&t->status->parked, ++t->parked);
}

static void wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	struct wh_shm *t = wh_shm_of(transport);
	struct epoll_event events[EPOLL_AT_ONCE];
	uint64_t rings;
	int n;

	n = wh_dial_wait(&t->redial, t->epoll, events, EPOLL_AT_ONCE,
			 timeout_ns < WAIT_MAX_NS ? timeout_ns : WAIT_MAX_NS);
	disarm(transport);
	for (int i = 0; i < n; i++)
		if (events[i].data.u64 >> 32 == WH_SHM_DOORBELL)
			(void)!read(t->doorbell, &rings, sizeof(rings));
}

static void wake(struct wh_transport *transport)
{
	const uint64_t one = 1;

	(void)!write(wh_shm_of(transport)->doorbell, &one, sizeof(one)); /* a full counter is readable as well */
}

static bool prepares(struct wh_transport *transport)
{
	return wh_shm_spare_comes(wh_shm_of(transport));
}

static int fd(struct wh_transport *transport)
{
	return wh_shm_of(transport)->epoll;
}

uint64_t wh_shm_rings(const struct wh_transport *transport)
{
	return wh_load_relaxed(&((const struct wh_shm *)transport)->rings);
}

/* ---- service ------------------------------------------------------------------------------------------------------ */

bool wh_shm_watch(struct wh_shm *t, int operation, int fd, enum wh_shm_source source, uint32_t index)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)source << 32 | index};

	return epoll_ctl(t->epoll, operation, fd, &event) == 0;
}

static size_t dispatch(struct wh_shm *t, const struct epoll_event *event)
{
	uint32_t index = (uint32_t)event->data.u64;

	switch ((enum wh_shm_source)(event->data.u64 >> 32)) {
	case WH_SHM_DOORBELL:
		return 0;
	case WH_SHM_TIMER:
		wh_shm_meet_tick(t);
		wh_shm_spare_tick(t);
		return 1;
	case WH_SHM_LISTENER:
		wh_shm_meet_accept(t);
		return 1;
	case WH_SHM_STRANGER:
		wh_shm_meet_stranger(t, index);
		return 1;
	case WH_SHM_PEER:
		(void)wh_shm_peer_read(t, &t->peers[index]);
		return 1;
	}
	return 0;
}

static size_t service(struct wh_transport *transport)
{
	struct wh_shm *t = wh_shm_of(transport);
	struct epoll_event events[EPOLL_AT_ONCE];
	size_t done = 0;
	int n;

	n = epoll_wait(t->epoll, events, EPOLL_AT_ONCE, 0);
	for (int i = 0; i < n && !wh_event_queue_is_full(&t->event_queue); i++)
		done += dispatch(t, &events[i]);
	for (struct wh_shm_image *image = t->images; image != NULL; image = image->next)
		done += wh_shm_image_advance(t, image);
	if (t->regions_unsaid)
		done += wh_shm_remote_advance(t);
	if (t->redial.searching)
		wh_dial_search(&t->redial);
	return done;
}

/* ---- create and destroy ------------------------------------------------------------------------------------------- */

static void destroy(struct wh_transport *transport, bool forked)
{
	struct wh_shm *t = wh_shm_of(transport);
	const int own[] = {t->redial.timer, t->doorbell, t->epoll};

	t->forked = forked;
	wh_event_queue_drop(&t->event_queue);
	while (t->images != NULL) {
		struct wh_shm_image *image = t->images;

		t->images = image->next;
		wh_shm_image_free(image);
	}
	wh_shm_close_connections(t);
	wh_shm_remote_free(t);
	if (t->jobs != NULL)
		wh_shm_jobs_free(t->env, t->jobs);
	wh_shm_memory_free(&t->memory);
	for (size_t i = 0; i < sizeof(own) / sizeof(own[0]); i++)
		if (own[i] >= 0)
			close(own[i]);
	free(t);
}

static enum whorl_result open_descriptors(struct wh_shm *t, struct wh_error *err)
{
	t->epoll = epoll_create1(EPOLL_CLOEXEC);
	if (t->epoll < 0)
		return wh_error_system(err, errno, "epoll_create1");
	t->doorbell = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (t->doorbell < 0)
		return wh_error_system(err, errno, "eventfd");
	if (!wh_dial_open(&t->redial))
		return wh_error_system(err, errno, "timerfd_create");
	if (!wh_shm_watch(t, EPOLL_CTL_ADD, t->doorbell, WH_SHM_DOORBELL, 0) ||
	    !wh_shm_watch(t, EPOLL_CTL_ADD, t->redial.timer, WH_SHM_TIMER, 0))
		return wh_error_system(err, errno, "epoll_ctl");
	return WHORL_OK;
}

static const struct wh_transport_ops shm_ops = {
	.name = "shm",
	.capabilities = WH_REMOTE_ASCENDING | WH_REMOTE_CPU_ATOMICS,
	.remote = &wh_shm_remote_ops,
	.helper_may_post = true,
	.image_open = wh_shm_image_open,
	.prepares = prepares,
	.image_close = wh_shm_image_close,
	.past = wh_shm_past,
	.post = wh_shm_post,
	.freeze = wh_shm_freeze,
	.service = service,
	.next_event = next_event,
	.arm = arm,
	.disarm = disarm,
	.wait = wait,
	.wake = wake,
	.fd = fd,
	.control_send = wh_shm_control_send,
	.stream_open = wh_shm_stream_open,
	.searching = wh_shm_searching,
	.holder = wh_shm_holder,
	.answer = wh_shm_answer,
	.leave = wh_shm_leave,
	.destroy = destroy,
};

static void init(struct wh_shm *t, const struct wh_transport_config *config)
{
	t->base.ops = &shm_ops;
	t->env = config->env;
	wh_event_queue_init(&t->event_queue, config, "shm", t->events, WH_SHM_EVENTS, WH_SHM_EVENTS_AT_ONCE);
	memcpy(t->group, config->group, strlen(config->group) + 1);
	t->node = config->node;
	t->nodes = config->nodes;
	wh_dial_init(&t->redial, config);
	t->incarnation = config->incarnation;
	t->user = geteuid();
	t->huge_pages = (int)config->huge_pages;
	t->jobs = wh_shm_jobs_new(t->huge_pages);
	t->epoll = t->doorbell = t->listener = -1;
	t->memory.fd = -1;
	for (uint32_t i = 0; i < WH_SHM_STRANGERS; i++)
		t->strangers[i].socket = -1;
	for (uint32_t node = 0; node < t->nodes; node++)
		t->peers[node] = (struct wh_shm_peer){
			.node = node,
			.state = node == t->node ? WH_SHM_SELF : WH_SHM_ABSENT,
			.doorbell = -1,
			.socket = -1,
		};
}

enum whorl_result wh_shm_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				struct wh_error *err)
{
	const struct wh_shm_wish status = {.name = "whorl-status", .bytes = WH_SHM_STATUS_BYTES};
	enum whorl_result result;
	struct wh_shm *t;

	(void)ctx;
	*out = NULL;
	if (strlen(config->group) >= WH_SHM_GROUP_BYTES)
		return wh_error_set(err, WHORL_INVALID, "the name of group %s has more than %d bytes", config->group,
				    WH_SHM_GROUP_BYTES - 1);
	if (config->incarnation == 0)
		return wh_error_set(err, WHORL_INVALID, "node %" PRIu32 " has no incarnation", config->node);
	t = calloc(1, sizeof(*t) + config->nodes * sizeof(t->peers[0]));
	if (t == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " peers", config->nodes);
	init(t, config);
	result = open_descriptors(t, err);
	if (result == WHORL_OK && t->jobs == NULL)
		result = wh_error_set(err, WHORL_MEMORY, "no memory");
	if (result == WHORL_OK)
		result = wh_shm_memory_make(&t->memory, &status, err);
	if (result == WHORL_OK) {
		t->status = (struct wh_shm_status *)(void *)t->memory.base;
		result = wh_shm_meet_open(t, err);
	}
	if (result != WHORL_OK) {
		destroy(&t->base, false);
		return result;
	}
	*out = &t->base;
	return WHORL_OK;
}
