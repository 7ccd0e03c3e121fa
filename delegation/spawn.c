/* spawn.c - fibers that the program starts: functions that are launched without a property. */
#include "delegation/link.h"

#include <stdlib.h>

static enum whorl_result place_of(whorl_work *work, struct whorl_place place, struct wh_party **out)
{
	uint32_t first = work->dedicated < work->workers ? work->dedicated : 0;
	struct wh_far_place far = {.for_fiber = true, .turn = &work->next_fiber};

	if (place.shard != NULL)
		return WHORL_UNSUPPORTED;
	if (place.node == WHORL_NODE_ANY) {
		if (place.worker != WHORL_WORKER_ANY)
			return WHORL_NOT_FOUND;
		place = wh_far_any(work, true, &work->next_fiber);
	}
	far.node = place.node;
	far.worker = place.worker;
	if (wh_is_far(work, place.node))
		return wh_far_at(work, &far, out);
	if (place.worker == WHORL_WORKER_ANY)
		place.worker = first + (uint32_t)(wh_fetch_add(&work->next_fiber, 1) % (work->workers - first));
	return wh_trustee_at(work, place.node, place.worker, out);
}

static const char *fault_of(const whorl_work *work, const struct whorl_function *function, const void *args)
{
	if (work == NULL)
		return "no work";
	if (function == NULL)
		return "no function";
	if ((function->flags & WHORL_TAKES_BYTES) != 0)
		return "a function of bytes";
	if (function->property_bytes != 0)
		return "a function of a property: whorl_launch";
	return args == NULL && function->argument_bytes > 0 ? "no arguments" : NULL;
}

static struct wh_joined *new_joined(struct wh_party *me, const struct whorl_function *function)
{
	struct wh_joined *joined = malloc(sizeof(*joined) + function->result_bytes);

	if (joined != NULL)
		*joined = (struct wh_joined){.party = me, .result_bytes = (uint32_t)function->result_bytes};
	return joined;
}

/* A plain thread may never call again, and while a batch of its own is under way nobody else can send for it. So what it spawns then does not
 * wait for the slot. */
static bool goes_by_mail(struct wh_party *me, struct wh_channel *channel)
{
	if (me->worker != NULL || wh_is_delegated(me) || !wh_in_flight(channel))
		return false;
	wh_collect(me);
	return wh_in_flight(channel);
}

static enum whorl_result spawn(struct wh_party *me, struct wh_party *at, const struct whorl_function *function,
			       const void *args, struct whorl_join *join)
{
	uint32_t number = wh_number_of(me, function);
	const struct wh_request request = {(uint16_t)number, WH_RECORD_LAUNCH, 0, args, function->argument_bytes};
	struct wh_ticket ticket = {.result_bytes = (uint32_t)function->result_bytes};
	struct wh_channel *channel = wh_channel_to(me, at);
	struct wh_joined *joined = NULL;
	enum whorl_result result;

	if (number == UINT32_MAX)
		return WHORL_NOT_FOUND;
	if (join != NULL) {
		joined = new_joined(me, function);
		ticket.kind = WH_TICKET_JOIN;
		ticket.a = joined;
	}
	if (channel == NULL || (join != NULL && joined == NULL))
		result = WHORL_MEMORY;
	else if (goes_by_mail(me, channel))
		result = wh_mail(channel, &request, &ticket);
	else
		result = wh_issue(channel, &request, ticket, NULL);
	if (result != WHORL_OK)
		free(joined);
	else if (join != NULL)
		*join = (struct whorl_join){me->work, joined};
	return result;
}

enum whorl_result whorl_spawn_function(whorl_work *work, struct whorl_place place,
				       const struct whorl_function *function, const void *args, struct whorl_join *join)
{
	const char *fault = fault_of(work, function, args);
	struct wh_party *me, *at;
	enum whorl_result result;

	if (join != NULL)
		*join = (struct whorl_join){0};
	if (fault != NULL)
		return wh_refuse("whorl_spawn_function", fault);
	me = wh_party_here(work);
	if (me == NULL)
		return WHORL_MEMORY;
	result = place_of(work, place, &at);
	if (result == WHORL_OK)
		result = wh_check_arguments(work, function, args, function->argument_bytes);
	return result == WHORL_OK ? spawn(me, at, function, args, join) : result;
}

enum whorl_result whorl_place_choose(whorl_work *work, struct whorl_place *place)
{
	enum whorl_result result;
	struct wh_party *at;
	struct wh_place there;

	if (work == NULL || place == NULL)
		return WH_REFUSE(work == NULL ? "no work" : "no place");
	result = place_of(work, *place, &at);
	if (result != WHORL_OK)
		return result;
	there = wh_place_at(at, 0, 0);
	*place = whorl_at_worker(there.node, there.worker);
	return WHORL_OK;
}

static enum whorl_result finish(struct whorl_join *join, struct wh_joined *joined, void *result)
{
	enum whorl_result status = joined->status;

	if (status == WHORL_OK && result != NULL && joined->result_bytes > 0)
		memcpy(result, joined->result, joined->result_bytes);
	free(joined);
	*join = (struct whorl_join){0};
	return status;
}

enum whorl_result whorl_join(struct whorl_join *join, void *result, size_t bytes, int timeout_ms)
{
	struct wh_wait wait = {0};
	struct wh_joined *joined;
	struct wh_party *me;

	if (join == NULL || join->work == NULL || join->call == NULL || timeout_ms < 0)
		return WH_REFUSE(join != NULL && join->call != NULL ? "the time-out is negative" : "nothing to join");
	me = wh_party_here(join->work);
	if (me == NULL)
		return WHORL_MEMORY;
	joined = join->call;
	if (joined->party != me)
		return WH_REFUSE("another thread has spawned it");
	if (result != NULL && bytes != joined->result_bytes)
		return WH_REFUSE("`bytes` is not the size of its result");
	if (wh_is_delegated(me))
		return WHORL_WOULD_DEADLOCK;
	if (!joined->done && timeout_ms > 0) {
		joined->wait = &wait;
		if (!wh_wait_for(me, &wait, timeout_ms))
			joined->wait = NULL;
	}
	return joined->done ? finish(join, joined, result) : WHORL_TIMEOUT;
}

void whorl_fiber_yield(void)
{
	const struct wh_here *here = wh_here();

	if (here->work != NULL && here->party->worker != NULL && wh_in_fiber(here->party))
		wh_tasks_yield(&here->party->worker->tasks);
}
