/* shm.c - the shared memory transport: its table, the doorbell, and service. shm_int.h says what is where. */
#include "transport/shm/shm.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/counter.h"
#include "transport/remote.h"
#include "transport/shm/shm_int.h"

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
	struct epoll_event events[WH_POLL_AT_ONCE];
	int n = wh_poll_wait(&t->poll, events, timeout_ns);

	disarm(transport);
	for (int i = 0; i < n; i++)
		if (wh_poll_source(&events[i]) == WH_POLL_DOORBELL)
			(void)wh_poll_hush(&t->poll);
}

static void wake(struct wh_transport *transport)
{
	wh_poll_wake(&wh_shm_of(transport)->poll);
}

static bool prepares(struct wh_transport *transport)
{
	return wh_shm_spare_comes(wh_shm_of(transport));
}

static int fd(struct wh_transport *transport)
{
	return wh_shm_of(transport)->poll.epoll;
}

uint64_t wh_shm_rings(const struct wh_transport *transport)
{
	return wh_load_relaxed(&((const struct wh_shm *)transport)->rings);
}

/* ---- service ------------------------------------------------------------------------------------------------------ */

static size_t on_timer(struct wh_shm *t)
{
	bool wants;

	wh_poll_timer_is_out(&t->poll);
	wants = wh_session_on_timer(t->base.session) || t->regions_unsaid;
	wh_shm_wire_tidy(&t->wire); /* what calling left */
	wh_shm_spare_tick(t);
	return wants;
}

static size_t dispatch(struct wh_shm *t, const struct epoll_event *event)
{
	switch (wh_poll_source(event)) {
	case WH_POLL_DOORBELL: /* wait clears it */
		return 0;
	case WH_POLL_TIMER:
		return on_timer(t);
	case WH_SHM_LISTENER:
		wh_session_on_caller(t->base.session);
		return 1;
	case WH_SHM_CONN:
		return wh_session_on_ready(t->base.session, wh_poll_index(event));
	case WH_SHM_PROCESS:
		return wh_shm_proof_on_ready(t, wh_poll_index(event));
	default:
		return 0;
	}
}

static size_t service(struct wh_transport *transport)
{
	struct wh_shm *t = wh_shm_of(transport);
	struct epoll_event events[WH_POLL_AT_ONCE];
	int n = wh_session_is_full(t->base.session) ? 0 : wh_poll_look(&t->poll, events);
	size_t done = 0;

	for (int i = 0; i < n && !wh_session_is_full(t->base.session); i++)
		done += dispatch(t, &events[i]);
	done += wh_session_service(t->base.session);
	wh_shm_image_look(t);
	if (t->regions_unsaid)
		done += wh_shm_remote_advance(t);
	return done;
}

/* ---- leaving ----------------------------------------------------------------------------------------------------- */

/* No message, which a full queue would not take: a word that a peer looks at when it sees the connection end. */
static void leave(struct wh_transport *transport)
{
	struct wh_shm *t = wh_shm_of(transport);

	wh_store_release(&t->status->left, 1); /* before the end that peers see; partner: receive() in shm/wire.c */
	wh_shm_wire_deafen(&t->wire, false);
	wh_session_leave(t->base.session);
}

/* ---- create and destroy ------------------------------------------------------------------------------------------- */

static void destroy(struct wh_transport *transport, bool forked)
{
	struct wh_shm *t = wh_shm_of(transport);

	wh_shm_memory_free(&t->returning.memory);
	while (t->base.session != NULL && wh_session_images(t->base.session) != NULL) {
		struct wh_session_image *image = wh_session_images(t->base.session);

		wh_session_image_close(image);
		wh_shm_image_free((struct wh_shm_image *)image);
	}
	wh_shm_wire_deafen(&t->wire, forked);
	wh_session_free(t->base.session, forked);
	wh_shm_proof_forget_all(t, forked);
	wh_lanes_let_go(t->lanes, forked);
	wh_shm_wire_tidy(&t->wire);
	wh_shm_remote_free(t);
	if (t->jobs != NULL)
		wh_shm_jobs_free(t->env, t->jobs);
	wh_shm_memory_free(&t->memory);
	wh_poll_close(&t->poll);
	free(t);
}

static bool on_message(struct wh_transport *transport, uint32_t node, struct wh_message *m)
{
	if (m->head.kind != WH_SHM_LET_GO)
		return wh_shm_remote_on_message(transport, node, m);
	if (m->head.bytes == 0)
		wh_shm_row_on_let_go(wh_shm_of(transport), node, m->head.number);
	return m->head.bytes == 0;
}

static const struct wh_plane_ops plane_ops = {
	.hello = wh_shm_status_hello,
	.welcome = wh_shm_status_welcome,
	.met = wh_shm_proof_met,
	.ended = wh_shm_status_ended,
	.on_message = on_message,
	.offer = wh_shm_image_offer,
	.map = wh_shm_image_map,
	.discard = wh_shm_status_discard,
};

static enum whorl_result lane_open(struct wh_transport *transport, uint32_t lane, struct wh_transport **out,
				   struct wh_error *err);

static const struct wh_transport_ops shm_ops = {
	.name = "shm",
	.capabilities = WH_REMOTE_ASCENDING | WH_REMOTE_CPU_ATOMICS,
	.remote = &wh_shm_remote_ops,
	.helper_may_post = true,
	.image_open = wh_shm_image_open,
	.prepares = prepares,
	.image_close = wh_shm_image_close,
	.past = wh_session_table_past,
	.post = wh_shm_post,
	.freeze = wh_shm_freeze,
	.thaw = wh_shm_thaw,
	.take = wh_shm_vouch_look,
	.vouch = wh_shm_vouch,
	.service = service,
	.next_event = wh_session_table_next_event,
	.arm = arm,
	.disarm = disarm,
	.wait = wait,
	.wake = wake,
	.fd = fd,
	.control_send = wh_session_table_control_send,
	.stream_open = wh_session_table_stream_open,
	.searching = wh_session_table_searching,
	.holder = wh_shm_holder,
	.answer = wh_session_table_answer,
	.complaints = wh_session_table_complaints,
	.leave = leave,
	.lane_open = lane_open,
	.lanes_part = wh_session_table_lanes_part,
	.destroy = destroy,
};

/* ---- lanes -------------------------------------------------------------------------------------------------------- */

/* Its regions, and no rows. */
static const struct wh_plane_ops lane_plane_ops = {
	.hello = wh_shm_status_hello,
	.welcome = wh_shm_status_welcome,
	.ended = wh_shm_status_ended,
	.on_message = wh_shm_remote_on_message,
	.discard = wh_shm_status_discard,
};

static const struct wh_transport_ops lane_ops = {
	.name = "shm",
	.capabilities = WH_REMOTE_ASCENDING | WH_REMOTE_CPU_ATOMICS,
	.remote = &wh_shm_remote_ops,
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

/* ---- create ------------------------------------------------------------------------------------------------------- */

static void init_peer(struct wh_shm_peer *peer)
{
	peer->doorbell = -1;
	for (size_t i = 0; i < WH_SHM_LIVES; i++)
		peer->lives[i].pidfd = -1;
}

static void init(struct wh_shm *t, const struct wh_transport_config *config, uint32_t lane)
{
	t->base.base.ops = lane == 0 ? &shm_ops : &lane_ops;
	t->lane = lane;
	t->env = config->env;
	t->node = config->node;
	t->nodes = config->nodes;
	t->incarnation = config->incarnation;
	t->huge_pages = (int)config->huge_pages;
	t->death_waits = config->death_waits && config->nodes > 2; /* of two the other waits for the proof */
	t->poll = WH_POLL_NONE;
	t->wire = (struct wh_shm_wire){
		.poll = &t->poll, .user = geteuid(), .listener = -1, .unused = -1, .is_lane = lane != 0};
	memcpy(t->wire.group, config->group, strlen(config->group) + 1);
	t->memory.fd = t->returning.memory.fd = -1;
	for (uint32_t node = 0; node < t->nodes; node++)
		init_peer(&t->peers[node]);
	t->jobs = wh_shm_jobs_new(t->huge_pages);
}

/* What is called by the id of this node. */
static enum whorl_result open_listener(struct wh_shm *t, const struct wh_transport_config *config, struct wh_error *err)
{
	if (config->held == NULL || *config->held < 0)
		return wh_shm_name_listen(t->wire.user, t->wire.group, t->node, &t->wire.listener, err);
	t->wire.listener = *config->held;
	*config->held = -1;
	return WHORL_OK;
}

/* All but what makes others know of it. */
static enum whorl_result open_base(struct wh_shm *t, const struct wh_transport_config *config, struct wh_error *err)
{
	const struct wh_shm_wish status = {.name = "whorl-status", .bytes = WH_SHM_STATUS_BYTES};
	const struct wh_session_setup setup = {.config = config,
					       .lanes = t->lanes,
					       .lane = t->lane,
					       .name = "shm",
					       .version = WH_SHM_VERSION,
					       .wire_ops = &wh_shm_wire_ops,
					       .wire = (struct wh_wire *)&t->wire,
					       .plane_ops = t->lane == 0 ? &plane_ops : &lane_plane_ops,
					       .transport = &t->base.base};
	enum whorl_result result = wh_poll_open(&t->poll, t->env, err);

	if (result == WHORL_OK && (t->jobs == NULL || t->lanes == NULL))
		result = wh_error_set(err, WHORL_MEMORY, "no memory");
	if (result == WHORL_OK)
		result = wh_session_new(&setup, &t->base.session, err);
	if (result == WHORL_OK)
		result = wh_shm_memory_make(&t->memory, &status, err);
	if (result != WHORL_OK)
		return result;
	t->wire.session = t->base.session;
	t->status = (struct wh_shm_status *)(void *)t->memory.base;
	wh_shm_vouch_init(t);
	return WHORL_OK;
}

static enum whorl_result open_node(struct wh_shm *t, const struct wh_transport_config *config, struct wh_error *err)
{
	enum whorl_result result = open_base(t, config, err);

	if (result == WHORL_OK)
		result = open_listener(t, config, err);
	if (result == WHORL_OK && !wh_poll_watch(&t->poll, EPOLL_CTL_ADD, t->wire.listener, EPOLLIN, WH_SHM_LISTENER, 0))
		result = wh_error_system(err, errno, "epoll_ctl");
	if (result == WHORL_OK)
		wh_session_begin(t->base.session);
	return result;
}

/* NULL: no memory. */
static struct wh_shm *make(const struct wh_transport_config *config, uint32_t lane, struct wh_error *err)
{
	struct wh_shm *t = calloc(1, sizeof(*t) + config->nodes * sizeof(t->peers[0]));

	if (t == NULL)
		wh_error_set(err, WHORL_MEMORY, "no memory for %" PRIu32 " peers", config->nodes);
	else
		init(t, config, lane);
	return t;
}

static enum whorl_result give_or_destroy(struct wh_shm *t, enum whorl_result result, struct wh_transport **out)
{
	if (result == WHORL_OK)
		*out = &t->base.base;
	else
		destroy(&t->base.base, false);
	return result;
}

static enum whorl_result lane_open(struct wh_transport *transport, uint32_t lane, struct wh_transport **out,
				   struct wh_error *err)
{
	const struct wh_shm *node = wh_shm_of(transport);
	const struct wh_transport_config config = {.env = node->env,
						   .group = node->wire.group,
						   .node = node->node,
						   .nodes = node->nodes,
						   .incarnation = node->incarnation};
	enum whorl_result result = wh_lanes_check(lane, err);
	struct wh_shm *t;

	*out = NULL;
	if (result != WHORL_OK)
		return result;
	t = make(&config, lane, err);
	if (t == NULL)
		return WHORL_MEMORY;
	t->lanes = wh_lanes_hold(node->lanes);
	result = open_base(t, &config, err);
	if (result == WHORL_OK)
		result = wh_session_open_lane(t->base.session, err);
	return give_or_destroy(t, result, out);
}

enum whorl_result wh_shm_create(const struct wh_transport_config *config, void *ctx, struct wh_transport **out,
				struct wh_error *err)
{
	enum whorl_result result = wh_session_check(config, err);
	struct wh_shm *t;

	(void)ctx;
	*out = NULL;
	if (result != WHORL_OK)
		return result;
	t = make(config, 0, err);
	if (t == NULL)
		return WHORL_MEMORY;
	t->lanes = wh_lanes_new(&t->base.base, t->nodes);
	return give_or_destroy(t, open_node(t, config, err), out);
}
