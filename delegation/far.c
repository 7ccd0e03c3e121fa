/* far.c - the lives of other nodes, and the lanes to them. See link.h. */
#include "delegation/link.h"

#include <stdlib.h>

#include "delegation/traffic.h"

#define MEMBERS_MAX 256       /* of a group: [group] nodes_max */
#define AWAIT_NS WH_NS_PER_MS /* so often a thread looks whether a node has been met */

/* ---- lives --------------------------------------------------------------------------------------------------------------------- */

static struct wh_far *find(const struct wh_net *net, uint32_t node, uint64_t incarnation)
{
	for (uint64_t i = wh_load_acquire(&net->far_count); i > 0; i--) { /* partner: add */
		struct wh_far *far = net->far[i - 1];

		if (far->node == node && (incarnation == 0 || far->incarnation == incarnation))
			return far;
	}
	return NULL;
}

/* False: no memory. What was made is kept: it may be used for the next. */
static bool make_proxies(whorl_work *work, struct wh_far *far)
{
	for (uint32_t k = 0; k < work->workers; k++) {
		struct wh_party *proxy = wh_party_make_proxy(work);

		if (proxy == NULL)
			return false;
		wh_link_begin(&far->links[k], far, work->parties[k], proxy);
	}
	return true;
}

static struct wh_far *add(whorl_work *work, uint32_t node, uint64_t incarnation)
{
	struct wh_net *net = work->net;
	uint64_t count = wh_load_relaxed(&net->far_count);
	struct wh_far *far = NULL;

	if (count < WH_FAR_MOST)
		far = calloc(1, sizeof(*far) + work->workers * sizeof(far->links[0]));
	if (far == NULL)
		return NULL;
	far->node = node;
	far->incarnation = incarnation;
	far->holder = WH_HOLDER_HERE + 1 + (uint32_t)count;
	net->far[count] = far;
	if (!make_proxies(work, far)) {
		free(far);
		return NULL;
	}
	wh_store_release(&net->far_count, count + 1); /* partner: find */
	return far;
}

/* Of the first lane that meets it. */
static struct wh_far *find_or_add(struct wh_party *me, uint32_t node, uint64_t incarnation)
{
	whorl_work *work = me->work;
	struct wh_far *far = find(work->net, node, incarnation);

	if (far != NULL)
		return far;
	pthread_mutex_lock(&work->net->lock);
	far = find(work->net, node, incarnation);
	if (far == NULL)
		far = add(work, node, incarnation);
	pthread_mutex_unlock(&work->net->lock);
	if (far == NULL)
		wh_log(&me->worker->diag, WH_LOG_WARNING,
		       "node %u cannot be called: no memory, or it has ended and come again too often", (unsigned)node);
	return far;
}

/* ---- what lanes say ------------------------------------------------------------------------------------------------------------ */

static struct wh_link *link_to(const struct wh_party *me, uint32_t node, uint64_t incarnation)
{
	struct wh_far *far = find(me->work->net, node, incarnation);

	return far == NULL ? NULL : &far->links[me->number];
}

/* A lane that has not met a life is not told of its end. What waits for its link to come up would wait for ever. */
static void tell_others(struct wh_party *me, struct wh_far *far)
{
	const whorl_work *work = me->work;

	if (wh_load_relaxed(&far->ended) != 0)
		return;
	wh_store_release(&far->ended, 1); /* partner: wh_link_look */
	for (uint32_t k = 0; k < work->workers; k++)
		if (work->parties[k] != me)
			wh_gate_ring(work->parties[k]->gate);
}

static void take_event(struct wh_party *me, const struct wh_transport_event *event)
{
	struct wh_far *far;
	struct wh_link *link;

	if (event->kind == WH_EVENT_PEER_MET) {
		far = find_or_add(me, event->node, event->incarnation);
		if (far != NULL)
			wh_link_met(&far->links[me->number]);
		return;
	}
	link = link_to(me, event->node, event->incarnation);
	if (link != NULL && event->incarnation != 0 &&
	    (event->kind == WH_EVENT_PEER_LEFT || event->kind == WH_EVENT_PEER_DOWN ||
	     event->kind == WH_EVENT_REFUSED)) {
		wh_link_end(link);
		tell_others(me, link->far);
	}
}

/* Of one that has ended meanwhile nothing counts. */
static void take_remote(struct wh_party *me, const struct wh_remote_event *event)
{
	struct wh_link *link = link_to(me, event->node, event->incarnation);

	if (link == NULL || wh_load_relaxed(&link->state) == WH_LINK_GONE)
		return;
	if (event->kind == WH_REMOTE_GRANTED)
		wh_link_granted(link, event->region, event->bytes);
	else if (event->kind == WH_REMOTE_WITHDRAWN && event->region == link->theirs)
		wh_link_end(link); /* it does not speak with this one any more */
	else if (event->kind == WH_REMOTE_DONE && event->result != WHORL_OK)
		wh_link_end(link);
}

size_t wh_net_look(struct wh_party *me)
{
	struct wh_net *net = me->work->net;
	struct wh_lane *lane = net->lanes[me->number];
	const struct wh_transport_ops *ops = lane->transport->ops;
	struct wh_remote_event event;
	size_t work = 0;

	for (; ops->next_event(lane->transport, &lane->event); work++)
		take_event(me, &lane->event);
	while (ops->remote->next(lane->transport, &event)) {
		take_remote(me, &event);
		work += event.kind != WH_REMOTE_DONE;
	}
	for (uint64_t i = wh_load_acquire(&net->far_count); i > 0; i--)
		work += wh_link_look(&net->far[i - 1]->links[me->number]);
	return work;
}

/* ---- places -------------------------------------------------------------------------------------------------------------------- */

/* How a link stands to those that want to call: NEW has not been met, and may be. */
static enum whorl_result standing_of(const struct wh_link *link)
{
	switch (wh_load_acquire(&link->state)) { /* partner: judge, wh_link_end */
	case WH_LINK_UP:
		return WHORL_OK;
	case WH_LINK_REFUSED:
		return WHORL_REFUSED;
	case WH_LINK_GONE:
		return WHORL_GONE;
	default:
		return WHORL_AGAIN;
	}
}

/* The workers, of `count`, that fibers or properties go to. */
struct range {
	uint32_t first, behind;
};

static struct range range_of(uint32_t count, uint32_t dedicated, bool for_fiber)
{
	struct range range = {0, count};

	if (for_fiber && dedicated < count)
		range.first = dedicated;
	else if (!for_fiber && dedicated > 0 && dedicated < count)
		range.behind = dedicated;
	return range;
}

static struct range range_there(const whorl_work *work, const struct wh_far *far, bool for_fiber)
{
	uint32_t there = (uint32_t)wh_load_acquire(&far->workers); /* partner: judge */

	return range_of(there < work->workers ? there : work->workers, (uint32_t)wh_load_relaxed(&far->dedicated),
			for_fiber);
}

static uint32_t choose(const whorl_work *work, const struct wh_far *far, const struct wh_far_place *place)
{
	struct range range = range_there(work, far, place->for_fiber);

	if (place->worker != WHORL_WORKER_ANY || range.behind == 0)
		return place->worker == WHORL_WORKER_ANY ? 0 : place->worker;
	return range.first + (uint32_t)(wh_fetch_add(place->turn, 1) % (range.behind - range.first));
}

/* How many workers of that life can be called; if they are more than `turn`, *worker is the one of that number. */
static uint64_t count_up(const whorl_work *work, const struct wh_far *far, bool for_fiber, uint64_t turn,
			 uint32_t *worker)
{
	struct range range = range_there(work, far, for_fiber);
	uint64_t count = 0;

	if (wh_load_acquire(&far->ended) != 0) /* partner: tell_others */
		return 0;
	for (uint32_t k = range.first; k < range.behind; k++)
		if (standing_of(&far->links[k]) == WHORL_OK && count++ == turn)
			*worker = k;
	return count;
}

/* A life may end, or another come, between the two looks: then it is a worker here. */
struct whorl_place wh_far_any(const whorl_work *work, bool for_fiber, wh_word *turn)
{
	struct range here = range_of(work->workers, work->dedicated, for_fiber);
	const struct wh_net *net = work->net;
	uint64_t lives = net == NULL ? 0 : wh_load_acquire(&net->far_count); /* partner: add */
	uint64_t count = here.behind - here.first, at;
	uint32_t worker = 0;

	for (uint64_t i = 0; i < lives; i++)
		count += count_up(work, net->far[i], for_fiber, UINT64_MAX, &worker);
	at = wh_fetch_add(turn, 1) % count;
	for (uint64_t i = 0; i < lives; i++) {
		uint64_t up = count_up(work, net->far[i], for_fiber, at, &worker);

		if (at < up)
			return whorl_at_worker(net->far[i]->node, worker);
		at -= up;
	}
	return whorl_at_worker(WHORL_NODE_HERE, here.first + (uint32_t)(at % (here.behind - here.first)));
}

enum whorl_result wh_far_at(const whorl_work *work, const struct wh_far_place *place, struct wh_party **out)
{
	const struct wh_far *far;
	enum whorl_result standing;
	uint32_t worker;

	if (place->node >= work->net->endpoint.nodes ||
	    (place->worker != WHORL_WORKER_ANY && place->worker >= work->workers))
		return WHORL_NOT_FOUND;
	far = find(work->net, place->node, 0);
	/* Of one that has ended another life may come, with other workers. Partner: tell_others. */
	if (far == NULL || wh_load_acquire(&far->ended) != 0)
		return WHORL_AGAIN;
	worker = choose(work, far, place);
	if (wh_load_acquire(&far->workers) != 0 && worker >= wh_load_relaxed(&far->workers))
		return WHORL_NOT_FOUND;
	standing = standing_of(&far->links[worker]);
	*out = far->links[worker].proxy;
	return standing == WHORL_GONE ? WHORL_AGAIN : standing; /* another life of it may come */
}

void wh_far_pause(struct wh_party *me)
{
	struct wh_wait wait = {0};

	if (me->worker != NULL)
		(void)!wh_wait_for(me, &wait, 1); /* nothing ends it but its time */
	else
		wh_nap(me->work, AWAIT_NS);
}

enum whorl_result wh_far_await(struct wh_party *me, const struct wh_far_place *place, int timeout_ms,
			       struct wh_party **out)
{
	const struct wh_env *env = me->work->env;
	uint64_t deadline = wh_env_now(env) + (uint64_t)timeout_ms * WH_NS_PER_MS;
	enum whorl_result result;

	while ((result = wh_far_at(me->work, place, out)) == WHORL_AGAIN) {
		if (wh_is_delegated(me))
			return WHORL_WOULD_DEADLOCK;
		if (wh_env_now(env) >= deadline)
			return WHORL_TIMEOUT;
		wh_far_pause(me);
	}
	return result;
}

/* Whether all that go between this node and that member are up. */
static enum whorl_result is_met(const whorl_work *work, uint32_t node)
{
	const struct wh_far *far = find(work->net, node, 0);
	enum whorl_result result = WHORL_AGAIN;
	uint64_t workers = 0;

	if (far != NULL && wh_load_acquire(&far->ended) == 0) /* partner: tell_others */
		workers = wh_load_acquire(&far->workers);     /* partner: judge */
	for (uint32_t k = 0; k < workers && k < work->workers; k++) {
		result = standing_of(&far->links[k]);
		if (result != WHORL_OK)
			break;
	}
	return result == WHORL_GONE ? WHORL_AGAIN : result; /* another life of it may come */
}

static enum whorl_result are_met(const whorl_work *work)
{
	uint32_t ids[MEMBERS_MAX], count = MEMBERS_MAX;
	enum whorl_result result = whorl_view_members(work->host, NULL, ids, &count);

	for (uint32_t i = 0; i < count && result == WHORL_OK; i++)
		if (ids[i] != work->node)
			result = is_met(work, ids[i]);
	return result;
}

enum whorl_result whorl_work_ready(whorl_work *work, int timeout_ms)
{
	enum whorl_result result;
	uint64_t deadline;
	struct wh_party *me;

	if (work == NULL || timeout_ms < 0)
		return WH_REFUSE(work == NULL ? "no work" : "the time-out is negative");
	if (work->net == NULL || work->host == NULL)
		return WHORL_OK;
	me = wh_party_here(work);
	if (me == NULL)
		return WHORL_MEMORY;
	deadline = wh_env_now(work->env) + (uint64_t)timeout_ms * WH_NS_PER_MS;
	while ((result = are_met(work)) == WHORL_AGAIN) {
		if (wh_is_delegated(me) && timeout_ms > 0)
			return WHORL_WOULD_DEADLOCK;
		if (wh_env_now(work->env) >= deadline)
			return WHORL_TIMEOUT;
		wh_far_pause(me);
	}
	return result;
}

enum whorl_result wh_far_of(const whorl_work *work, const struct whorl_trust *trust, struct wh_party **out)
{
	const struct wh_far *far;
	enum whorl_result standing;

	if (trust->node >= work->net->endpoint.nodes || trust->worker >= work->workers)
		return WHORL_NOT_FOUND;
	far = trust->room[0] == 0 ? NULL : find(work->net, trust->node, trust->room[0]);
	if (far == NULL) /* a life that has not been met here, or not yet */
		return find(work->net, trust->node, 0) == NULL ? WHORL_AGAIN : WHORL_GONE;
	standing = standing_of(&far->links[trust->worker]);
	*out = far->links[trust->worker].proxy;
	return standing == WHORL_AGAIN ? WHORL_OK : standing; /* it waits until the link is up */
}

uint32_t wh_far_holder(const whorl_work *work, uint32_t node, uint32_t sender)
{
	const struct wh_far *far;

	if (node == work->node)
		return WH_HOLDER_HERE;
	far = find(work->net, node, 0);
	return far == NULL ? sender : far->holder;
}

/* ---- opening and closing ------------------------------------------------------------------------------------------------------- */

static enum whorl_result list_types(whorl_work *work, const struct whorl_work_options *options)
{
	struct wh_net *net = work->net;

	net->types = calloc(work->table.types + 1, sizeof(struct whorl_type *));
	if (net->types == NULL)
		return WHORL_MEMORY;
	for (size_t i = 0; i < options->type_count; i++) {
		const struct whorl_type *type = options->types[i];
		uint32_t number = type == NULL || type->name == NULL ? WH_TYPE_NONE : wh_table_type(&work->table, type);

		if (number != WH_TYPE_NONE && type->size >= WH_TYPE_LEAST && type->bytes > 0 &&
		    type->bytes <= WHORL_CALL_BYTES_MAX)
			net->types[number] = type;
	}
	return WHORL_OK;
}

static enum whorl_result open_lanes(whorl_work *work, struct wh_error *err)
{
	struct wh_net *net = work->net;
	struct wh_transport *transport = net->endpoint.transport;
	enum whorl_result result = WHORL_OK;

	for (uint32_t k = 0; k < work->workers && result == WHORL_OK; k++) {
		net->lanes[k] = calloc(1, sizeof(*net->lanes[k]));
		if (net->lanes[k] == NULL)
			return wh_error_set(err, WHORL_MEMORY, "no memory for a lane");
		result = transport->ops->lane_open(transport, k + 1, &net->lanes[k]->transport, err);
	}
	return result;
}

enum whorl_result wh_net_open(whorl_work *work, const struct wh_endpoint *endpoint,
			      const struct whorl_work_options *options, struct wh_error *err)
{
	enum whorl_result result;

	if (endpoint->transport->ops->lane_open == NULL) /* none of this transport: this process alone */
		return WHORL_OK;
	if (work->workers > WH_LANES_MAX)
		return wh_error_set(err, WHORL_INVALID, "%u workers, of a node at most %u", (unsigned)work->workers,
				    WH_LANES_MAX);
	work->net = calloc(1, sizeof(*work->net) + work->workers * sizeof(struct wh_lane *));
	if (work->net == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for lanes");
	pthread_mutex_init(&work->net->lock, NULL);
	work->net->endpoint = *endpoint;
	work->id_key = work->env->random_u64(work->env->ctx);
	result = list_types(work, options);
	return result == WHORL_OK ? open_lanes(work, err) : result;
}

struct wh_transport *wh_net_lane(const whorl_work *work, uint32_t worker)
{
	return work->net == NULL ? NULL : work->net->lanes[worker]->transport;
}

void wh_net_leave(whorl_work *work)
{
	if (work->net == NULL)
		return;
	for (uint32_t k = 0; k < work->workers; k++)
		work->net->lanes[k]->transport->ops->leave(work->net->lanes[k]->transport);
}

static void free_lane(struct wh_lane *lane)
{
	if (lane != NULL && lane->transport != NULL)
		lane->transport->ops->destroy(lane->transport, false);
	free(lane);
}

void wh_net_free(whorl_work *work)
{
	struct wh_net *net = work->net;

	if (net == NULL)
		return;
	for (uint64_t i = 0; i < wh_load_relaxed(&net->far_count); i++)
		free(net->far[i]);
	for (uint32_t k = 0; k < work->workers; k++)
		free_lane(net->lanes[k]);
	free(net->types);
	pthread_mutex_destroy(&net->lock);
	free(net);
	work->net = NULL;
}

struct wh_traffic wh_work_traffic(const whorl_work *work)
{
	struct wh_traffic traffic = {0};

	for (uint32_t k = 0; work->net != NULL && k < work->workers; k++) {
		traffic.writes += wh_load_relaxed(&work->net->lanes[k]->writes);
		traffic.bytes += wh_load_relaxed(&work->net->lanes[k]->bytes);
	}
	return traffic;
}
