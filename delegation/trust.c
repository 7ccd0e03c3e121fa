/* trust.c - handles: they come, are cloned, go to other threads, and go.
 *
 * Each has an id of its own. To come and to go it *toggles* its id in the set of its property, by a message that nobody waits for. The
 * messages of one thread arrive in the order in which they were sent; those of several in any. A property with an empty set has no handle:
 * this is so because a handle never goes from one thread to another with its id. The thread that sends it toggles a fresh id, and then
 * its own, one behind the other, so at no time is there only the toggle of another thread, which may come first (tests/models).
 */
#include "delegation/link.h"
#include "delegation/shard.h"

#include <stdlib.h>

static enum whorl_result check_owned(const char *function, const struct whorl_trust *trust, struct wh_party **me)
{
	if (trust == NULL || wh_work_of(trust) == NULL || trust->id == 0)
		return wh_refuse(function, "no trust");
	*me = wh_party_here(wh_work_of(trust));
	if (*me == NULL)
		return WHORL_MEMORY;
	if (trust->owner != 0 && trust->owner != (*me)->number + 1)
		return wh_refuse(function, "the trust belongs to another thread: whorl_trust_send");
	return WHORL_OK;
}

static enum whorl_result toggle(struct wh_party *me, struct wh_party *trustee, uint32_t property, uint64_t id)
{
	const struct wh_request request = {
		.function = WH_TOGGLE, .property = property, .data = &id, .bytes = sizeof(id)};
	struct wh_channel *channel = wh_channel_to(me, trustee);

	if (channel == NULL)
		return WHORL_MEMORY;
	if (channel->trustee == me && channel->pending_records == 0 && wh_in_fiber(me)) { /* nothing of it runs now */
		wh_toggle(me, property, id, WH_HOLDER_HERE);
		return WHORL_OK;
	}
	return wh_issue(channel, &request, (struct wh_ticket){0}, NULL);
}

/* Of a node that has ended the handles have ended with it. */
static enum whorl_result toggle_of(struct wh_party *me, const struct whorl_trust *trust, uint64_t id)
{
	struct wh_party *trustee;
	enum whorl_result result = wh_trustee_of(me->work, trust, &trustee);

	return result == WHORL_OK ? toggle(me, trustee, trust->property, id) : result;
}

enum whorl_result wh_make_handle(struct wh_party *me, struct wh_party *trustee, uint32_t property, uint64_t id,
				 uint32_t node)
{
	const struct wh_toggle_args args = {.id = id, .node = node};

	return wh_issue_one_way(
		me, trustee,
		&(struct wh_request){.function = WH_TOGGLE, .property = property, .data = &args, .bytes = sizeof(args)});
}

/* One that comes into being for another node. */
static enum whorl_result toggle_for(struct wh_party *me, const struct whorl_trust *trust, uint64_t id, uint32_t node)
{
	struct wh_party *trustee;
	enum whorl_result result = wh_trustee_of(me->work, trust, &trustee);

	return result == WHORL_OK ? wh_make_handle(me, trustee, trust->property, id, node) : result;
}

/* ---- places ---------------------------------------------------------------------------------------------------------------------- */

static enum whorl_result place_of(whorl_work *work, struct whorl_place place, struct wh_party **out)
{
	uint32_t count = work->dedicated > 0 ? work->dedicated : work->workers;

	if (place.shard != NULL)
		return WHORL_UNSUPPORTED;
	if (wh_is_far(work, place.node))
		return WHORL_AGAIN; /* wh_far_await */
	if (place.worker == WHORL_WORKER_ANY)
		place.worker = (uint32_t)(wh_fetch_add(&work->next_property, 1) % count);
	return wh_trustee_at(work, place.node, place.worker, out);
}

struct wh_place wh_place_at(const struct wh_party *trustee, uint32_t property, uint64_t id)
{
	const struct wh_link *link = trustee->link;
	const whorl_work *work = trustee->work;
	struct wh_place place = {.id = id, .node = work->node, .worker = trustee->number, .property = property};

	if (link != NULL) {
		place.node = link->far->node;
		place.worker = link->me->number;
		place.incarnation = link->far->incarnation;
	} else if (work->net != NULL) {
		place.incarnation = work->net->endpoint.incarnation;
	}
	return place;
}

/* ---- entrusting ------------------------------------------------------------------------------------------------------------------ */

struct entrusted {
	const struct whorl_type *type;
	const void *init;
	uint32_t type_number;
	uint64_t id;
};

/* The trustee's own thread, or one that has borrowed it: 0: no memory. */
static uint32_t entrust_here(struct wh_party *trustee, const struct entrusted *entrusted)
{
	void *object = wh_object_new(entrusted->type->bytes, entrusted->init);
	uint32_t name = object == NULL ? 0
				       : wh_property_new(trustee, object, entrusted->type, entrusted->type_number,
							 entrusted->id, WH_HOLDER_HERE);

	if (name == 0)
		free(object);
	return name;
}

static enum whorl_result entrust_there(struct wh_party *me, struct wh_party *trustee, const struct entrusted *entrusted,
				       uint32_t *name, int timeout_ms)
{
	const struct wh_entrust_args args = {.id = entrusted->id,
					     .type = trustee->link != NULL ? 0 : (uint64_t)(uintptr_t)entrusted->type,
					     .type_number = entrusted->type_number};
	size_t bytes = sizeof(args) + (entrusted->init == NULL ? 0 : entrusted->type->bytes);
	struct wh_wait wait = {.result = name, .room = sizeof(*name)};
	struct wh_request request = {.function = WH_ENTRUST, .bytes = bytes};
	unsigned char *data = malloc(bytes);
	enum whorl_result result;

	if (data == NULL)
		return WHORL_MEMORY;
	memcpy(data, &args, sizeof(args));
	if (entrusted->init != NULL)
		memcpy(data + sizeof(args), entrusted->init, entrusted->type->bytes);
	request.data = wait.owned = data;
	result = wh_call(me, trustee, &request, &wait, entrusted->id, timeout_ms);
	free(wait.owned);
	return result == WHORL_OK && (wait.bytes < sizeof(*name) || *name == 0) ? WHORL_IN_DOUBT : result;
}

static enum whorl_result entrust_at(struct wh_party *me, struct wh_party *trustee, const struct entrusted *entrusted,
				    uint32_t *name, int timeout_ms)
{
	struct wh_here before;

	if (trustee == me) {
		*name = entrust_here(me, entrusted);
		return *name != 0 ? WHORL_OK : WHORL_MEMORY;
	}
	if (wh_is_delegated(me))
		return WHORL_WOULD_DEADLOCK;
	if (!wh_borrow(trustee, &before))
		return entrust_there(me, trustee, entrusted, name, timeout_ms);
	*name = entrust_here(trustee, entrusted);
	wh_give_back(trustee, before);
	return *name != 0 ? WHORL_OK : WHORL_MEMORY;
}

/* Of another node: what is left of the time is for the call. */
static enum whorl_result trustee_for(struct wh_party *me, struct whorl_place place, struct wh_party **out,
				     int *timeout_ms)
{
	whorl_work *work = me->work;
	struct wh_far_place far = {.turn = &work->next_property};
	uint64_t began = wh_env_now(work->env), passed_ms;
	enum whorl_result result;

	if (place.node == WHORL_NODE_ANY && place.shard == NULL) {
		if (place.worker != WHORL_WORKER_ANY)
			return WHORL_NOT_FOUND;
		place = wh_far_any(work, false, &work->next_property);
	}
	result = place_of(work, place, out);
	if (result != WHORL_AGAIN)
		return result;
	far.node = place.node;
	far.worker = place.worker;
	result = wh_far_await(me, &far, *timeout_ms, out);
	passed_ms = (wh_env_now(work->env) - began) / WH_NS_PER_MS;
	*timeout_ms = passed_ms < (uint64_t)*timeout_ms ? *timeout_ms - (int)passed_ms : *timeout_ms > 0;
	return result;
}

static const char *fault_of(const struct whorl_type *type, const void *init, size_t bytes, uint32_t type_number)
{
	if (type->size < WH_TYPE_LEAST || type->name == NULL)
		return "its type is no struct whorl_type";
	if (type->bytes == 0 || type->bytes > WHORL_CALL_BYTES_MAX)
		return "a type of no bytes, or of more than WHORL_CALL_BYTES_MAX";
	if (init != NULL && bytes != type->bytes)
		return "`bytes` is not the size of the type";
	if (type_number == WH_TYPE_NONE)
		return "no function that is registered is for this type";
	return NULL;
}

enum whorl_result whorl_entrust(whorl_work *work, struct whorl_place place, const struct whorl_type *type,
				const void *init, size_t bytes, struct whorl_trust *trust, int timeout_ms)
{
	struct entrusted entrusted = {.type = type, .init = init};
	struct wh_party *me, *trustee;
	enum whorl_result result;
	struct wh_place there;
	const char *fault;
	uint32_t name = 0;

	if (work == NULL || type == NULL || trust == NULL || timeout_ms < 0)
		return WH_REFUSE(work == NULL    ? "no work"
				 : type == NULL  ? "no type"
				 : trust == NULL ? "no trust"
						 : "the time-out is negative");
	*trust = (struct whorl_trust){0};
	entrusted.type_number = type->name == NULL ? WH_TYPE_NONE : wh_table_type(&work->table, type);
	fault = fault_of(type, init, bytes, entrusted.type_number);
	if (fault != NULL)
		return WH_REFUSE(fault);
	me = wh_party_here(work);
	if (me == NULL)
		return WHORL_MEMORY;
	if (place.shard != NULL) {
		const struct wh_shard_named named = {__func__, me, place.shard, type->name, type, init, bytes};

		return wh_shard_entrust(&named, trust, timeout_ms);
	}
	result = trustee_for(me, place, &trustee, &timeout_ms);
	if (result != WHORL_OK)
		return result;
	entrusted.id = wh_fresh_id(me);
	result = entrust_at(me, trustee, &entrusted, &name, timeout_ms);
	if (result != WHORL_OK)
		return result;
	there = wh_place_at(trustee, name, entrusted.id);
	*trust = (struct whorl_trust){.work = work, .owner = me->number + 1};
	wh_trust_put(trust, &there);
	return WHORL_OK;
}

/* ---- handles --------------------------------------------------------------------------------------------------------------------- */

enum whorl_result whorl_trust_clone(struct whorl_trust *trust, struct whorl_trust *other)
{
	struct wh_party *me = NULL;
	enum whorl_result result;
	uint64_t id;

	if (other == NULL)
		return WH_REFUSE("nowhere to put it");
	result = check_owned(__func__, trust, &me);
	if (result != WHORL_OK)
		return result;
	id = wh_is_of_shard(trust) ? trust->id : wh_fresh_id(me); /* those of a shard are not counted */
	result = wh_is_of_shard(trust) ? WHORL_OK : toggle_of(me, trust, id);
	if (result != WHORL_OK)
		return result;
	*other = *trust;
	other->work = me->work;
	other->id = id;
	other->owner = me->number + 1;
	return WHORL_OK;
}

/* To another node: there the work is the one of the thread that uses it. */
static enum whorl_result check_receiver(const whorl_work *work, struct whorl_place place)
{
	struct wh_party *receiver;

	if (place.shard != NULL)
		return WHORL_UNSUPPORTED;
	if (wh_is_far(work, place.node))
		return place.node < work->net->endpoint.nodes ? WHORL_OK : WHORL_NOT_FOUND;
	if (place.node != work->node && place.node != WHORL_NODE_HERE)
		return WHORL_UNSUPPORTED;
	return place.worker == WHORL_WORKER_ANY ? WHORL_OK : wh_trustee_at(work, place.node, place.worker, &receiver);
}

static void give_away(const struct wh_party *me, struct whorl_trust *trust, struct whorl_place place, bool far)
{
	trust->work = far ? NULL : me->work;
	trust->owner = place.worker == WHORL_WORKER_ANY ? 0 : place.worker + 1;
}

enum whorl_result whorl_trust_send(struct whorl_trust *trust, struct whorl_place place)
{
	struct wh_party *me = NULL;
	enum whorl_result result = check_owned(__func__, trust, &me);
	bool far;
	uint64_t id;

	if (result == WHORL_OK)
		result = check_receiver(me->work, place);
	if (result != WHORL_OK)
		return result;
	far = wh_is_far(me->work, place.node);
	if (wh_is_of_shard(trust)) {
		give_away(me, trust, place, far);
		return WHORL_OK;
	}
	id = wh_fresh_id(me);
	result = far ? toggle_for(me, trust, id, place.node) : toggle_of(me, trust, id);
	if (result != WHORL_OK)
		return result;
	result = toggle_of(me, trust, trust->id);
	if (result != WHORL_OK) { /* it stays as it is */
		(void)!toggle_of(me, trust, id);
		return result;
	}
	trust->id = id;
	give_away(me, trust, place, far);
	return WHORL_OK;
}

enum whorl_result whorl_trust_drop(struct whorl_trust *trust)
{
	struct wh_party *me = NULL;
	enum whorl_result result = check_owned(__func__, trust, &me);

	if (result == WHORL_OK && !wh_is_of_shard(trust))
		result = toggle_of(me, trust, trust->id);
	if (result == WHORL_GONE) /* with its node, and so has the handle */
		result = WHORL_OK;
	if (result == WHORL_OK)
		*trust = (struct whorl_trust){0};
	return result;
}

/* ---- moving ---------------------------------------------------------------------------------------------------------------------- */

/* The handle that was made at the new place, in place of the old one, which goes the way that it always went. */
static void take_place(struct wh_party *me, struct whorl_trust *trust, const struct wh_place *place)
{
	const struct whorl_trust before = *trust;

	if (place->id == 0)
		return;
	wh_trust_put(trust, place);
	trust->work = me->work;
	trust->owner = me->number + 1;
	(void)!toggle_of(me, &before, before.id); /* without memory the old trustee sends on for ever */
}

/* The trustee that has it may not have met that of the new place yet. */
static enum whorl_result ask_to_move(struct wh_party *me, const struct whorl_trust *trust,
				     const struct wh_move_args *args, struct wh_place *there, int timeout_ms)
{
	const struct wh_env *env = me->work->env;
	const struct wh_request request = {
		.function = WH_MOVE, .property = trust->property, .data = args, .bytes = sizeof(*args)};
	uint64_t now = wh_env_now(env), deadline = now + (uint64_t)timeout_ms * WH_NS_PER_MS;
	struct wh_party *trustee;
	enum whorl_result result;

	for (;;) {
		struct wh_wait wait = {.result = there, .room = sizeof(*there)};

		result = wh_trustee_of(me->work, trust, &trustee);
		if (result == WHORL_OK)
			result = wh_call(me, trustee, &request, &wait, args->id,
					 (int)((deadline - now + WH_NS_PER_MS - 1) / WH_NS_PER_MS));
		now = wh_env_now(env);
		if (result != WHORL_AGAIN)
			return result == WHORL_OK && wait.bytes != sizeof(*there) ? WHORL_IN_DOUBT : result;
		if (now >= deadline)
			return WHORL_TIMEOUT;
		wh_far_pause(me);
	}
}

static enum whorl_result move(struct wh_party *me, struct whorl_trust *trust, struct whorl_place place, int timeout_ms)
{
	struct wh_move_args args = {.id = wh_fresh_id(me), .mover = me->work->node};
	struct wh_party *destination;
	enum whorl_result result;
	struct wh_place there;

	result = trustee_for(me, place, &destination, &timeout_ms);
	if (result != WHORL_OK)
		return result;
	there = wh_place_at(destination, 0, 0);
	args.node = there.node;
	args.worker = there.worker;
	result = ask_to_move(me, trust, &args, &there, timeout_ms);
	if (result == WHORL_OK)
		take_place(me, trust, &there);
	if (result == WHORL_UNSUPPORTED && me->work->net != NULL)
		(void)wh_refuse("whorl_trust_move",
				"the property is not of bytes alone, and stays in its process: its type has a drop or "
				"says WHORL_TYPE_STAYS, or there is an address in it");
	return result;
}

enum whorl_result whorl_trust_move(struct whorl_trust *trust, struct whorl_place place, int timeout_ms)
{
	struct wh_party *me = NULL;
	enum whorl_result result = check_owned(__func__, trust, &me);

	if (result != WHORL_OK)
		return result;
	if (timeout_ms < 0)
		return WH_REFUSE("the time-out is negative");
	if (wh_is_of_shard(trust))
		return WHORL_UNSUPPORTED;
	return wh_is_delegated(me) ? WHORL_WOULD_DEADLOCK : move(me, trust, place, timeout_ms);
}
