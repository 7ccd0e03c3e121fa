/* shard_trust.c - properties of shards, as programs use them: what is wanted goes to the worker of the shard, as a call to any trustee
 * does. See shard.h. */
#include "delegation/shard.h"

#include <stdlib.h>

#include "group/layer.h"

_Static_assert(sizeof(((struct whorl_work *)0)->shards) == WH_SHARDS_MOST * sizeof(struct wh_shard *), "as many");
_Static_assert(sizeof(struct wh_shard_args) % 8 == 0, "the message behind it is aligned as it is");

/* ---- which shard ------------------------------------------------------------------------------------------------------------------ */

static struct wh_shard *shard_by_key(const whorl_work *work, uint32_t key)
{
	for (uint64_t i = wh_load_acquire(&work->shard_count); i > 0; i--) /* partner: whorl_work_serve */
		if (work->shards[i - 1]->key == key)
			return work->shards[i - 1];
	return NULL;
}

static struct wh_shard *shard_of(const whorl_work *work, const whorl_subgroup *subgroup)
{
	for (uint64_t i = wh_load_acquire(&work->shard_count); i > 0; i--)
		if (work->shards[i - 1]->subgroup == subgroup)
			return work->shards[i - 1];
	return NULL;
}

/* ---- sending -------------------------------------------------------------------------------------------------------------------- */

struct wanted {
	const char *name;
	struct wh_party *me;
	struct wh_shard *shard;
	uint64_t reads;
	struct wh_shard_call call;
};

/* To be freed. NULL: no memory. */
static unsigned char *encode(const struct wanted *wanted, uint64_t deadline_ns, size_t *bytes)
{
	const struct wh_shard_args args = {(uint64_t)(uintptr_t)wanted->shard, wanted->reads, deadline_ns};
	const struct wh_shard_call *call = &wanted->call;
	unsigned char *data;
	size_t at;

	*bytes = sizeof(args) + wh_shard_call_bytes(call);
	data = malloc(*bytes);
	if (data == NULL)
		return NULL;
	memcpy(data, &args, sizeof(args));
	at = sizeof(args) + wh_shard_call_put(data + sizeof(args), call);
	if (call->bytes > 0)
		memcpy(data + at, call->args, call->bytes);
	return data;
}

static enum whorl_result check_length(const char *name, const struct wh_shard *shard, const struct wh_shard_call *call)
{
	if (wh_shard_call_bytes(call) > wh_layer_most_bytes(shard->subgroup))
		return wh_refuse(name, "the call is longer than message_bytes and large_bytes of the subgroup");
	return WHORL_OK;
}

#define EARLIER_NS (5 * WH_NS_PER_MS) /* but not by more than a quarter */

/* Earlier than the caller's own: so it is told that the call was not sent, rather than that it may have been. */
static uint64_t deadline_of(const struct wh_shard *shard, int timeout_ms)
{
	uint64_t timeout_ns = (uint64_t)timeout_ms * WH_NS_PER_MS;

	return wh_env_now(shard->env) + timeout_ns - (timeout_ns / 4 < EARLIER_NS ? timeout_ns / 4 : EARLIER_NS);
}

static enum whorl_result call_shard(const struct wanted *wanted, struct wh_wait *wait, int timeout_ms)
{
	struct wh_request request = {.function = WH_SHARD_CALL};
	enum whorl_result result = check_length(wanted->name, wanted->shard, &wanted->call);
	unsigned char *data;

	if (result != WHORL_OK)
		return result;
	if (wh_is_delegated(wanted->me))
		return WHORL_WOULD_DEADLOCK;
	if (timeout_ms == 0)
		return WHORL_TIMEOUT;
	data = encode(wanted, deadline_of(wanted->shard, timeout_ms), &request.bytes);
	if (data == NULL)
		return WHORL_MEMORY;
	request.data = wait->owned = data;
	result = wh_call(wanted->me, wanted->shard->party, &request, wait, 0, timeout_ms);
	free(wait->owned);
	return result;
}

static enum whorl_result call_shard_then(const struct wanted *wanted, whorl_then_fn *then, void *ctx)
{
	struct wh_ticket ticket = {.kind = then != NULL ? WH_TICKET_THEN : WH_TICKET_NONE, .result_bytes = UINT32_MAX};
	struct wh_channel *channel = wh_channel_to(wanted->me, wanted->shard->party);
	struct wh_request request = {.function = WH_SHARD_CALL};
	enum whorl_result result = check_length(wanted->name, wanted->shard, &wanted->call);
	unsigned char *data;

	if (result != WHORL_OK)
		return result;
	data = channel == NULL ? NULL : encode(wanted, UINT64_MAX, &request.bytes);
	if (data == NULL)
		return WHORL_MEMORY;
	request.data = data;
	ticket.then = then;
	ticket.b = ctx;
	wanted->me->thens_open += then != NULL;
	result = wh_issue_with(channel, &request, &ticket, NULL);
	free(data);
	if (result != WHORL_OK)
		wanted->me->thens_open -= then != NULL;
	else
		wh_take_turns(wanted->me);
	return result;
}

/* ---- functions ------------------------------------------------------------------------------------------------------------------- */

static const char *fault_of(const struct wh_shard_wish *wish, const struct wh_shard *shard,
			    const struct whorl_function *function)
{
	if (wish->launched)
		return "a function that waits cannot run on the members of a shard";
	if (shard->kinds.numbers[wish->function] == UINT32_MAX)
		return (function->flags & WHORL_DETERMINISTIC) == 0
			       ? "the function is not WHORL_DETERMINISTIC: the members of a shard run it"
			       : "a function without a property";
	return NULL;
}

static enum whorl_result prepare(const struct wh_shard_wish *wish, struct wanted *wanted)
{
	const whorl_work *work = wish->me->work;
	const struct whorl_function *function = work->table.known[wish->function].function;
	struct wh_shard *shard = shard_by_key(work, wish->trust->worker);
	const char *fault = shard == NULL ? NULL : fault_of(wish, shard, function);

	if (shard == NULL)
		return WHORL_UNSUPPORTED;
	if (fault != NULL)
		return wh_refuse(wish->name, fault);
	*wanted = (struct wanted){.name = wish->name, .me = wish->me, .shard = shard};
	wanted->reads = (function->flags & WHORL_READ) != 0 ? wish->trust->room[1] : WHORL_READS_ORDERED;
	wanted->call.kind = WH_SHARD_APPLY;
	wanted->call.digest = shard->kinds.digest;
	wanted->call.property = wish->trust->id;
	wanted->call.function = shard->kinds.numbers[wish->function];
	wanted->call.args = wish->data;
	wanted->call.bytes = wish->bytes;
	return WHORL_OK;
}

enum whorl_result wh_shard_apply(const struct wh_shard_wish *wish, struct wh_wait *wait, int timeout_ms)
{
	struct wanted wanted;
	enum whorl_result result = prepare(wish, &wanted);

	return result == WHORL_OK ? call_shard(&wanted, wait, timeout_ms) : result;
}

enum whorl_result wh_shard_apply_then(const struct wh_shard_wish *wish, whorl_then_fn *then, void *ctx)
{
	struct wanted wanted;
	enum whorl_result result = prepare(wish, &wanted);

	return result == WHORL_OK ? call_shard_then(&wanted, then, ctx) : result;
}

/* ---- properties ------------------------------------------------------------------------------------------------------------------ */

static const char *fault_of_named(const struct wh_shard *shard, const char *name, const struct whorl_type *type,
				  const void *init, size_t bytes)
{
	const char *fault = wh_shard_type_fault(&shard->kinds, type);

	if (fault != NULL)
		return fault;
	if (strlen(name) == 0 || strlen(name) > WHORL_TRUST_NAME_MAX)
		return "the name is empty or longer than WHORL_TRUST_NAME_MAX";
	if (init != NULL && bytes != type->bytes)
		return "`bytes` is not the size of the type";
	if (init != NULL && type->size >= sizeof(*type) && type->load != NULL)
		return "a type with `load` begins empty: `init` is NULL";
	return NULL;
}

static enum whorl_result make(struct wanted *wanted, const void *init, size_t bytes, uint64_t *id, int timeout_ms)
{
	struct wh_wait wait = {.result = id, .room = sizeof(*id)};
	enum whorl_result result;

	wanted->call.kind = WH_SHARD_MAKE;
	wanted->call.digest = wanted->shard->kinds.digest;
	wanted->call.args = init;
	wanted->call.bytes = init == NULL ? 0 : bytes;
	result = call_shard(wanted, &wait, timeout_ms);
	if (result == WHORL_INVALID && wait.status == WHORL_INVALID)
		return wh_refuse(wanted->name, "there is a property of that name and another type");
	return result == WHORL_OK && (wait.bytes != sizeof(*id) || *id == 0) ? WHORL_IN_DOUBT : result;
}

enum whorl_result wh_shard_entrust(const struct wh_shard_named *named, struct whorl_trust *trust, int timeout_ms)
{
	struct wanted wanted = {.name = named->function, .me = named->me};
	const char *fault;
	enum whorl_result result;
	uint64_t id = 0;

	wanted.shard = shard_of(named->me->work, named->subgroup);
	if (wanted.shard == NULL)
		return WHORL_UNSUPPORTED;
	fault = fault_of_named(wanted.shard, named->name, named->type, named->init, named->bytes);
	if (fault != NULL)
		return wh_refuse(named->function, fault);
	memcpy(wanted.call.name, named->name, strlen(named->name) + 1);
	memcpy(wanted.call.type, named->type->name, strlen(named->type->name) + 1);
	result = make(&wanted, named->init, named->bytes, &id, timeout_ms);
	if (result != WHORL_OK)
		return result;
	*trust = (struct whorl_trust){.work = named->me->work,
				      .id = id,
				      .node = WH_NODE_SHARD,
				      .worker = wanted.shard->key,
				      .owner = named->me->number + 1};
	return WHORL_OK;
}

enum whorl_result whorl_entrust_named(whorl_work *work, struct whorl_place place, const char *name,
				      const struct whorl_type *type, const void *init, size_t bytes,
				      struct whorl_trust *trust, int timeout_ms)
{
	struct wh_shard_named named = {
		.function = __func__, .subgroup = place.shard, .name = name, .type = type, .init = init, .bytes = bytes};

	if (work == NULL || name == NULL || type == NULL || trust == NULL || timeout_ms < 0)
		return WH_REFUSE(work == NULL    ? "no work"
				 : name == NULL  ? "no name"
				 : type == NULL  ? "no type"
				 : trust == NULL ? "no trust"
						 : "the time-out is negative");
	*trust = (struct whorl_trust){0};
	if (place.shard == NULL)
		return WHORL_UNSUPPORTED;
	named.me = wh_party_here(work);
	return named.me == NULL ? WHORL_MEMORY : wh_shard_entrust(&named, trust, timeout_ms);
}

enum whorl_result whorl_trust_end(const struct whorl_trust *trust, int timeout_ms)
{
	whorl_work *work = trust == NULL ? NULL : wh_work_of(trust);
	struct wanted wanted = {.name = __func__};
	struct wh_wait wait = {0};

	if (work == NULL || timeout_ms < 0 || !wh_is_of_shard(trust))
		return WH_REFUSE(work == NULL     ? "no trust"
				 : timeout_ms < 0 ? "the time-out is negative"
						  : "the property is of no shard");
	wanted.me = wh_party_here(work);
	wanted.shard = shard_by_key(work, trust->worker);
	if (wanted.me == NULL || wanted.shard == NULL)
		return wanted.me == NULL ? WHORL_MEMORY : WHORL_UNSUPPORTED;
	wanted.call.kind = WH_SHARD_END;
	wanted.call.digest = wanted.shard->kinds.digest;
	wanted.call.property = trust->id;
	return call_shard(&wanted, &wait, timeout_ms);
}

enum whorl_result whorl_trust_reads(struct whorl_trust *trust, enum whorl_trust_reads reads)
{
	if (trust == NULL || trust->id == 0 || !wh_is_of_shard(trust))
		return WH_REFUSE(trust == NULL || trust->id == 0 ? "no trust" : "the property is of no shard");
	if (reads != WHORL_READS_ORDERED && reads != WHORL_READS_LOCAL && reads != WHORL_READS_LINEARIZABLE)
		return WH_REFUSE("no such way to read");
	trust->room[1] = reads;
	return WHORL_OK;
}
