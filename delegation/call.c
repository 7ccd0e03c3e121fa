/* call.c - calls, as the program makes them. */
#include "delegation/link.h"
#include "delegation/shard.h"

#include <stdlib.h>

#define TURN_CALLS 64 /* a fiber that only makes calls which need no wait lets others run after so many */

/* ---- to what -------------------------------------------------------------------------------------------------------------- */

enum whorl_result wh_trustee_at(const whorl_work *work, uint32_t node, uint32_t worker, struct wh_party **out)
{
	if (__builtin_expect(node != work->node && node != WHORL_NODE_HERE, 0))
		return WHORL_UNSUPPORTED;
	if (__builtin_expect(worker >= work->workers, 0))
		return WHORL_NOT_FOUND;
	*out = work->parties[worker];
	return WHORL_OK;
}

enum whorl_result wh_trustee_of(const whorl_work *work, const struct whorl_trust *trust, struct wh_party **out)
{
	if (__builtin_expect(trust->node == work->node, 1)) {
		if (__builtin_expect(work->net != NULL && trust->room[0] != work->net->endpoint.incarnation, 0))
			return WHORL_GONE; /* of a life of this node that has ended */
		return wh_trustee_at(work, trust->node, trust->worker, out);
	}
	return wh_is_far(work, trust->node) ? wh_far_of(work, trust, out) : WHORL_UNSUPPORTED;
}

struct call {                          /* what is known of one before it is made */
	struct wh_party *me, *trustee; /* no trustee: a property of a shard */
	const struct wh_known *known;
	uint32_t number;
};

static enum whorl_result check_call(const char *name, const struct whorl_trust *trust,
				    const struct whorl_function *function, const void *data, size_t bytes)
{
	if (trust == NULL || wh_work_of(trust) == NULL)
		return wh_refuse(name, "no trust");
	if (function == NULL)
		return wh_refuse(name, "no function");
	if (data == NULL && bytes > 0)
		return wh_refuse(name, "no arguments");
	if (bytes > WHORL_CALL_BYTES_MAX)
		return wh_refuse(name, "the arguments are longer than WHORL_CALL_BYTES_MAX");
	return WHORL_OK;
}

static enum whorl_result prepare(struct call *call, const struct whorl_trust *trust,
				 const struct whorl_function *function)
{
	whorl_work *work = wh_work_of(trust);

	call->me = wh_party_here(work);
	if (__builtin_expect(call->me == NULL, 0))
		return WHORL_MEMORY;
	call->number = wh_number_of(call->me, function);
	if (__builtin_expect(call->number == UINT32_MAX, 0))
		return WHORL_NOT_FOUND;
	call->known = &work->table.known[call->number];
	call->trustee = NULL;
	return __builtin_expect(wh_is_of_shard(trust), 0) ? WHORL_OK : wh_trustee_of(work, trust, &call->trustee);
}

void wh_take_turns(struct wh_party *me)
{
	if (++me->turn < TURN_CALLS)
		return;
	me->turn = 0;
	if (wh_in_fiber(me))
		wh_tasks_yield(&me->worker->tasks);
}

/* ---- what this thread runs itself ------------------------------------------------------------------------------------------------ */

/* A call that could run at once; false: it has to be sent. [the trustee's thread, or one that has borrowed it] */
static bool run_here(const struct call *call, uint32_t name, const void *args, size_t bytes, struct wh_wait *wait)
{
	struct wh_party *trustee = call->trustee;
	const struct wh_known *known = call->known;
	struct wh_property *property = wh_property_find(&trustee->properties, name);

	if (__builtin_expect(property == NULL || !wh_property_is_open(property) || property->type_number != known->type,
			     0))
		return false;
	trustee->in_function = true;
	if ((known->function->flags & WHORL_TAKES_BYTES) == 0 && wait->result != NULL) {
		known->function->run(property->object, args, wait->result);
		wait->status = WHORL_OK;
	} else {
		wh_bytes_clear(&trustee->direct);
		wait->status = wh_run(known, property->object, args, bytes, &trustee->direct);
		wait->bytes = wh_bytes_left(&trustee->direct);
		if (wait->result != NULL && wait->status == WHORL_OK && wait->bytes > 0)
			memcpy(wait->result, trustee->direct.data, wait->bytes < wait->room ? wait->bytes : wait->room);
	}
	trustee->in_function = false;
	wh_count(&trustee->stats.calls, 1);
	return true;
}

/* Nothing of this thread is on the way to that trustee, which this call could overtake. */
static bool way_is_free(struct wh_party *me, const struct wh_party *trustee)
{
	struct wh_channel *channel = trustee->number < me->out_count ? me->out[trustee->number] : NULL;

	if (channel == NULL)
		return true;
	if (wh_in_flight(channel))
		wh_collect(me);
	return !wh_in_flight(channel) && channel->pending_records == 0;
}

static bool run_lent(const struct call *call, uint32_t name, const void *args, size_t bytes, struct wh_wait *wait)
{
	struct wh_here before;
	bool run;

	if ((call->known->function->flags & WHORL_BLOCKS) != 0 || !way_is_free(call->me, call->trustee) ||
	    !wh_borrow(call->trustee, &before))
		return false;
	run = run_here(call, name, args, bytes, wait);
	if (run)
		wh_count(&call->trustee->stats.lent_calls, 1);
	wh_serve_lent(call->trustee, NULL); /* what others have sent meanwhile */
	wh_give_back(call->trustee, before);
	return run;
}

static bool run_at_once(const struct call *call, uint32_t name, const void *args, size_t bytes, struct wh_wait *wait)
{
	struct wh_channel *own;

	if (call->trustee != call->me)
		return run_lent(call, name, args, bytes, wait);
	own = call->me->number < call->me->out_count ? call->me->out[call->me->number] : NULL;
	if ((own != NULL && own->pending_records > 0) || !run_here(call, name, args, bytes, wait))
		return false;
	wh_take_turns(call->me);
	return true;
}

/* ---- calls that wait ------------------------------------------------------------------------------------------------------------- */

static struct wh_ticket ticket_of(enum wh_ticket_kind kind, const struct wh_known *known)
{
	bool any = (known->function->flags & WHORL_TAKES_BYTES) != 0;

	return (struct wh_ticket){.kind = kind, .result_bytes = any ? UINT32_MAX : known->result_bytes};
}

static enum whorl_result give_up(struct wh_channel *channel, uint64_t number, uint64_t undo)
{
	struct wh_ticket *ticket = wh_ticket_of(channel, number);
	bool taken_back = wh_take_back(channel, number);

	if (ticket != NULL) {
		ticket->kind = undo != 0 && !taken_back ? WH_TICKET_UNDO : WH_TICKET_NONE;
		ticket->a = channel;
		ticket->b = (void *)(uintptr_t)undo;
	}
	return taken_back ? WHORL_TIMEOUT : WHORL_IN_DOUBT;
}

static enum whorl_result send_and_wait(struct wh_party *me, struct wh_party *trustee, const struct wh_request *request,
				       struct wh_ticket ticket, uint64_t undo, int timeout_ms)
{
	struct wh_channel *channel = wh_channel_to(me, trustee);
	struct wh_wait *wait = ticket.a;
	enum whorl_result result;
	uint64_t number;

	if (channel == NULL)
		return WHORL_MEMORY;
	result = wh_issue(channel, request, ticket, &number);
	free(wait->owned);
	wait->owned = NULL;
	if (result != WHORL_OK)
		return result;
	if (wh_wait_for(me, wait, timeout_ms))
		return wait->status;
	return give_up(channel, number, undo);
}

enum whorl_result wh_call(struct wh_party *me, struct wh_party *trustee, const struct wh_request *request,
			  struct wh_wait *wait, uint64_t undo, int timeout_ms)
{
	const struct wh_ticket ticket = {.kind = WH_TICKET_WAIT, .result_bytes = UINT32_MAX, .a = wait};

	if (timeout_ms == 0)
		return WHORL_TIMEOUT;
	return send_and_wait(me, trustee, request, ticket, undo, timeout_ms);
}

static enum whorl_result apply(const struct call *call, const struct wh_request *request, struct wh_wait *wait,
			       int timeout_ms)
{
	struct wh_ticket ticket;

	if (__builtin_expect(wh_is_delegated(call->me), 0))
		return WHORL_WOULD_DEADLOCK;
	if (request->flags == 0 && run_at_once(call, request->property, request->data, request->bytes, wait))
		return wait->status;
	if (timeout_ms == 0)
		return WHORL_TIMEOUT;
	ticket = ticket_of(WH_TICKET_WAIT, call->known);
	ticket.a = wait;
	return send_and_wait(call->me, call->trustee, request, ticket, 0, timeout_ms);
}

static struct wh_shard_wish wish_of(const char *name, const struct whorl_trust *trust, const struct call *call,
				    const struct wh_request *request)
{
	return (struct wh_shard_wish){.name = name,
				      .trust = trust,
				      .me = call->me,
				      .function = call->number,
				      .launched = (request->flags & WH_RECORD_LAUNCH) != 0,
				      .data = request->data,
				      .bytes = request->bytes};
}

static enum whorl_result apply_at_shard(const char *name, const struct whorl_trust *trust, const struct call *call,
					const struct wh_request *request, struct wh_wait *wait, int timeout_ms)
{
	const struct wh_shard_wish wish = wish_of(name, trust, call, request);

	return wh_shard_apply(&wish, wait, timeout_ms);
}

static enum whorl_result apply_fixed(const char *name, const struct whorl_trust *trust,
				     const struct whorl_function *function, uint16_t flags, const void *args,
				     void *result, int timeout_ms)
{
	size_t bytes = function == NULL ? 0 : (size_t)function->argument_bytes;
	enum whorl_result checked = check_call(name, trust, function, args, bytes);
	struct wh_wait wait = {.result = result};
	struct wh_request request = {.flags = flags, .data = args, .bytes = bytes};
	struct call call;

	if (__builtin_expect(checked != WHORL_OK, 0))
		return checked;
	if (__builtin_expect(timeout_ms < 0 || (function->flags & WHORL_TAKES_BYTES) != 0, 0))
		return wh_refuse(name, timeout_ms < 0 ? "the time-out is negative" : "a function of bytes");
	checked = prepare(&call, trust, function);
	if (checked == WHORL_OK)
		checked = wh_check_arguments(call.me->work, function, args, bytes);
	if (__builtin_expect(checked != WHORL_OK, 0))
		return checked;
	wait.room = call.known->result_bytes;
	if (__builtin_expect(call.trustee == NULL, 0))
		return apply_at_shard(name, trust, &call, &request, &wait, timeout_ms);
	request.function = (uint16_t)call.number;
	request.property = trust->property;
	return apply(&call, &request, &wait, timeout_ms);
}

enum whorl_result whorl_apply_function(const struct whorl_trust *trust, const struct whorl_function *function,
				       const void *args, void *result, int timeout_ms)
{
	return apply_fixed("whorl_apply_function", trust, function, 0, args, result, timeout_ms);
}

enum whorl_result whorl_launch_function(const struct whorl_trust *trust, const struct whorl_function *function,
					const void *args, void *result, int timeout_ms)
{
	return apply_fixed("whorl_launch_function", trust, function, WH_RECORD_LAUNCH, args, result, timeout_ms);
}

enum whorl_result whorl_apply_bytes_function(const struct whorl_trust *trust, const struct whorl_function *function,
					     const void *data, size_t bytes, void *answer, size_t *answer_bytes,
					     int timeout_ms)
{
	enum whorl_result result = check_call("whorl_apply_bytes_function", trust, function, data, bytes);
	struct wh_wait wait = {.result = answer, .room = answer_bytes == NULL ? 0 : *answer_bytes};
	struct wh_request request = {.data = data, .bytes = bytes};
	struct call call;

	if (result != WHORL_OK)
		return result;
	if (timeout_ms < 0 || (function->flags & WHORL_TAKES_BYTES) == 0)
		return wh_refuse("whorl_apply_bytes_function",
				 timeout_ms < 0 ? "the time-out is negative" : "not a function of bytes");
	result = prepare(&call, trust, function);
	if (result == WHORL_OK)
		result = wh_check_arguments(call.me->work, function, data, bytes);
	if (result != WHORL_OK)
		return result;
	request.function = (uint16_t)call.number;
	request.property = trust->property;
	result = call.trustee == NULL
			 ? apply_at_shard("whorl_apply_bytes_function", trust, &call, &request, &wait, timeout_ms)
			 : apply(&call, &request, &wait, timeout_ms);
	if (result == WHORL_OK && answer_bytes != NULL)
		*answer_bytes = wait.bytes;
	return result == WHORL_OK && answer != NULL && wait.bytes > wait.room ? WHORL_TOO_SMALL : result;
}

/* ---- calls that do not wait ------------------------------------------------------------------------------------------------------ */

static enum whorl_result send_then(const struct call *call, const struct wh_request *request, whorl_then_fn *then,
				   void *ctx)
{
	struct wh_ticket ticket = ticket_of(then != NULL ? WH_TICKET_THEN : WH_TICKET_NONE, call->known);
	struct wh_channel *channel = wh_channel_to(call->me, call->trustee);
	enum whorl_result result;

	if (channel == NULL)
		return WHORL_MEMORY;
	ticket.then = then;
	ticket.b = ctx;
	call->me->thens_open += then != NULL;
	result = wh_issue_with(channel, request, &ticket, NULL);
	if (result != WHORL_OK)
		call->me->thens_open -= then != NULL;
	else
		wh_take_turns(call->me);
	return result;
}

struct then {
	whorl_then_fn *fn;
	void *ctx;
};

static enum whorl_result apply_then(const char *name, const struct whorl_trust *trust,
				    const struct whorl_function *function, uint16_t flags, const void *data,
				    size_t bytes, struct then then)
{
	enum whorl_result result = check_call(name, trust, function, data, bytes);
	struct wh_request request = {.flags = flags, .data = data, .bytes = bytes};
	struct call call;

	if (__builtin_expect(result != WHORL_OK, 0))
		return result;
	result = prepare(&call, trust, function);
	if (result == WHORL_OK)
		result = wh_check_arguments(call.me->work, function, data, bytes);
	if (__builtin_expect(result != WHORL_OK, 0))
		return result;
	if (__builtin_expect(call.trustee == NULL, 0)) {
		const struct wh_shard_wish wish = wish_of(name, trust, &call, &request);

		return wh_shard_apply_then(&wish, then.fn, then.ctx);
	}
	request.function = (uint16_t)call.number;
	request.property = trust->property;
	return send_then(&call, &request, then.fn, then.ctx);
}

enum whorl_result whorl_apply_then_function(const struct whorl_trust *trust, const struct whorl_function *function,
					    const void *args, whorl_then_fn *then, void *ctx)
{
	size_t bytes = function == NULL ? 0 : (size_t)function->argument_bytes;

	if (function != NULL && (function->flags & WHORL_TAKES_BYTES) != 0)
		return wh_refuse("whorl_apply_then_function", "a function of bytes");
	return apply_then("whorl_apply_then_function", trust, function, 0, args, bytes, (struct then){then, ctx});
}

enum whorl_result whorl_launch_then_function(const struct whorl_trust *trust, const struct whorl_function *function,
					     const void *args, whorl_then_fn *then, void *ctx)
{
	size_t bytes = function == NULL ? 0 : (size_t)function->argument_bytes;

	if (function != NULL && (function->flags & WHORL_TAKES_BYTES) != 0)
		return wh_refuse("whorl_launch_then_function", "a function of bytes");
	return apply_then("whorl_launch_then_function", trust, function, WH_RECORD_LAUNCH, args, bytes,
			  (struct then){then, ctx});
}

enum whorl_result whorl_apply_bytes_then_function(const struct whorl_trust *trust,
						  const struct whorl_function *function, const void *data, size_t bytes,
						  whorl_then_fn *then, void *ctx)
{
	if (function != NULL && (function->flags & WHORL_TAKES_BYTES) == 0)
		return wh_refuse("whorl_apply_bytes_then_function", "not a function of bytes");
	return apply_then("whorl_apply_bytes_then_function", trust, function, 0, data, bytes, (struct then){then, ctx});
}

/* ---- those that have ended -------------------------------------------------------------------------------------------------------- */

static void add_poller(struct wh_party *me, struct wh_wait *wait)
{
	wait->next_poller = me->pollers;
	me->pollers = wait;
}

static enum whorl_result poll_in_fiber(struct wh_party *me, int timeout_ms)
{
	struct wh_wait wait = {0};
	struct wh_wait **link;

	if (timeout_ms == 0) {
		uint64_t before = me->thens;

		wh_tasks_yield(&me->worker->tasks);
		return me->thens != before ? WHORL_OK : WHORL_TIMEOUT;
	}
	add_poller(me, &wait);
	if (wh_wait_for(me, &wait, timeout_ms))
		return WHORL_OK;
	for (link = &me->pollers; *link != NULL; link = &(*link)->next_poller)
		if (*link == &wait) {
			*link = wait.next_poller;
			break;
		}
	return WHORL_TIMEOUT;
}

static enum whorl_result look_until(struct wh_party *me, int timeout_ms)
{
	uint64_t before = me->thens, deadline = 0;

	for (;;) {
		size_t work = wh_look(me);

		if (me->thens != before)
			return WHORL_OK;
		if (timeout_ms == 0)
			return WHORL_TIMEOUT;
		if (work > 0) {
			wh_backoff_renew(&me->backoff);
			continue;
		}
		if (deadline == 0)
			deadline = wh_env_now(me->work->env) + (uint64_t)timeout_ms * WH_NS_PER_MS;
		else if (wh_env_now(me->work->env) >= deadline)
			return WHORL_TIMEOUT;
		wh_rest(me, deadline);
	}
}

/* It may not come again: what it has sent meanwhile does not wait for it. */
static enum whorl_result poll_plainly(struct wh_party *me, int timeout_ms)
{
	enum whorl_result result = look_until(me, timeout_ms);

	wh_wake_trustees(me, false);
	return result;
}

enum whorl_result whorl_poll(whorl_work *work, int timeout_ms)
{
	struct wh_party *me;

	if (work == NULL || timeout_ms < 0)
		return WH_REFUSE(work == NULL ? "no work" : "the time-out is negative");
	me = wh_party_here(work);
	if (me == NULL)
		return WHORL_MEMORY;
	if (wh_is_delegated(me))
		return WHORL_WOULD_DEADLOCK;
	if (me->thens_open == 0) {
		if (me->worker == NULL) /* what is pending is sent all the same */
			(void)poll_plainly(me, 0);
		return WHORL_NOT_FOUND;
	}
	return me->worker != NULL ? poll_in_fiber(me, timeout_ms) : poll_plainly(me, timeout_ms);
}
