/* perform.c - what one call does at its trustee. */
#include "delegation/link.h"
#include "delegation/shard.h"

#include <stdlib.h>

/* ---- functions ----------------------------------------------------------------------------------------------------------------- */

enum whorl_result whorl_reply_add(whorl_reply *reply, const void *data, size_t bytes)
{
	unsigned char *room;

	if (reply == NULL || (data == NULL && bytes > 0))
		return WH_REFUSE(reply == NULL ? "no reply" : "no data");
	if (bytes > (reply->most == 0 ? WHORL_CALL_BYTES_MAX : reply->most) - reply->bytes) {
		reply->failed = true;
		return WHORL_TOO_SMALL;
	}
	room = wh_bytes_add(reply->out, bytes);
	if (room == NULL) {
		reply->failed = true;
		return WHORL_MEMORY;
	}
	if (bytes > 0)
		memcpy(room, data, bytes);
	reply->bytes += bytes;
	return WHORL_OK;
}

enum whorl_result wh_run(const struct wh_known *known, void *object, const void *args, size_t bytes,
			 struct wh_bytes *out)
{
	const struct whorl_function *function = known->function;
	whorl_reply reply = {.out = out};
	void *result;

	if ((function->flags & WHORL_TAKES_BYTES) != 0) {
		function->run_bytes(object, args, bytes, &reply);
		return WHORL_OK;
	}
	result = wh_bytes_add(out, wh_padded(known->result_bytes));
	if (result == NULL)
		return WHORL_MEMORY;
	function->run(object, args, result);
	return WHORL_OK;
}

static enum whorl_result run_delegated(struct wh_party *me, const struct wh_known *known, void *object,
				       const void *args, size_t bytes, struct wh_bytes *out)
{
	enum whorl_result result;

	me->in_function = true;
	result = wh_run(known, object, args, bytes, out);
	me->in_function = false;
	return result;
}

/* ---- the library's own ---------------------------------------------------------------------------------------------------------- */

/* The holder of the handles that come by that channel. */
static uint32_t holder_of(const struct wh_channel *channel)
{
	return channel->carrier == NULL ? WH_HOLDER_HERE : wh_link_of(channel)->far->holder;
}

/* What comes from another process knows no address here, but the number of a type that the program has listed. */
static const struct whorl_type *type_of(const struct wh_party *me, const struct wh_channel *channel,
					const struct wh_entrust_args *args)
{
	if (args->type_number == WH_TYPE_NONE || args->type_number > me->work->table.types)
		return NULL;
	if (channel->carrier != NULL)
		return me->work->net->types[args->type_number];
	return (const struct whorl_type *)(uintptr_t)args->type;
}

/* A new property; with `moved` one that was elsewhere, and is still until that node says that it is here. */
static uint32_t entrust(struct wh_party *me, const struct wh_origin *origin, const void *data, size_t bytes,
			struct wh_bytes *out, bool moved)
{
	struct wh_entrust_args args;
	const struct whorl_type *type;
	uint32_t name;
	void *object;

	if (bytes < sizeof(args) || me->worker == NULL)
		return WHORL_INVALID;
	memcpy(&args, data, sizeof(args));
	type = type_of(me, origin->channel, &args);
	if (type == NULL)
		return WHORL_NOT_FOUND;
	bytes -= sizeof(args);
	if (args.id == 0 || (bytes != type->bytes && (bytes != 0 || moved)))
		return WHORL_INVALID;
	if (moved && !wh_type_travels(type))
		return WHORL_UNSUPPORTED;
	object = wh_object_new(type->bytes, bytes == 0 ? NULL : (const unsigned char *)data + sizeof(args));
	name = object == NULL
		       ? 0
		       : wh_property_new(me, object, type, args.type_number, args.id, holder_of(origin->channel));
	if (name == 0 || !wh_bytes_append(out, &name, sizeof(name))) {
		if (name == 0)
			free(object);
		else
			wh_toggle(me, name, args.id, WH_HOLDER_HERE);
		return WHORL_MEMORY;
	}
	wh_property_find(&me->properties, name)->arriving = moved;
	return WHORL_OK;
}

void wh_toggle(struct wh_party *me, uint32_t name, uint64_t id, uint64_t holder)
{
	struct wh_property *property = wh_property_find(&me->properties, name);

	if (property == NULL || id == 0)
		return;
	property->arriving = false;
	/* It comes if it is not there, and goes if it is: in whichever order the two reach the trustee, all is well. */
	if (!wh_map_take(&property->handles, id, NULL) && !wh_map_put(&property->handles, id, holder))
		wh_log(&me->worker->diag, WH_LOG_WARNING, "no memory for a handle: a property is never dropped");
	property->doomed = property->handles.count == 0;
	if (property->doomed)
		wh_property_settle(me, name);
}

static void assemble(struct wh_channel *channel, const struct wh_record *record, const void *args, size_t bytes)
{
	unsigned char *room;

	/* A call of which parts are missing has not the size that its function wants, or one of bytes that is not what was said: dropped. */
	if (record->property > WHORL_CALL_BYTES_MAX + 4096 || channel->assembly.end + bytes > record->property)
		return;
	room = wh_bytes_add(&channel->assembly, bytes);
	if (room != NULL)
		memcpy(room, args, bytes);
}

static void toggle(struct wh_party *me, const struct wh_channel *channel, uint32_t name, const void *data, size_t bytes)
{
	struct wh_toggle_args args;
	uint32_t holder = holder_of(channel);

	if (bytes != sizeof(args) && bytes != sizeof(args.id))
		return;
	memcpy(&args, data, bytes);
	if (bytes == sizeof(args) && me->work->net != NULL)
		holder = wh_far_holder(me->work, args.node, holder);
	wh_toggle(me, name, args.id, holder);
}

static void complete(struct wh_party *me, const struct wh_channel *channel, const void *args, size_t bytes)
{
	struct wh_complete_args complete;

	if (bytes < sizeof(complete))
		return;
	memcpy(&complete, args, sizeof(complete));
	bytes -= sizeof(complete);
	if (channel->carrier != NULL)
		complete.called = channel->client->number;
	if (complete.answer.bytes == bytes && complete.called < me->out_count && me->out[complete.called] != NULL)
		wh_completed(me->out[complete.called], complete.number, (enum whorl_result)complete.answer.status,
			     (const unsigned char *)args + sizeof(complete), bytes);
}

static void moved_on(struct wh_party *me, const struct wh_channel *channel, uint32_t name, const void *data,
		     size_t bytes)
{
	struct wh_moved_on_args args;

	if (bytes != sizeof(args) || channel->carrier != NULL)
		return;
	memcpy(&args, data, sizeof(args));
	wh_follow_told(me, name, &args);
}

void wh_perform_one_way(struct wh_party *me, struct wh_channel *channel, const struct wh_record *record,
			const void *args, size_t bytes)
{
	if (record->function == WH_PART)
		assemble(channel, record, args, bytes);
	else if (channel->relay != NULL)
		wh_relay_one_way(me, channel, record, args, bytes);
	else if (record->function == WH_TOGGLE)
		toggle(me, channel, record->property, args, bytes);
	else if (record->function == WH_COMPLETE)
		complete(me, channel, args, bytes);
	else if (record->function == WH_MOVED_ON)
		moved_on(me, channel, record->property, args, bytes);
}

/* ---- any of them ---------------------------------------------------------------------------------------------------------------- */

static uint32_t wait_for_property(struct wh_party *me, struct wh_property *property, struct wh_origin origin,
				  const struct wh_record *record, const void *args, size_t bytes)
{
	struct wh_later *later = wh_later_new(me, origin, record, args, bytes);

	if (later == NULL)
		return WHORL_MEMORY;
	wh_later_append(property, later);
	wh_count(&me->stats.deferred, 1);
	return WH_DEFERRED;
}

static uint32_t launch(struct wh_party *me, struct wh_origin origin, const struct wh_record *record, const void *args,
		       size_t bytes, struct wh_bytes *out)
{
	struct wh_later *later = me->worker == NULL ? NULL : wh_later_new(me, origin, record, args, bytes);

	return later == NULL ? WHORL_MEMORY : wh_launch(me, later, out);
}

static uint32_t perform_function(struct wh_party *me, struct wh_origin origin, const struct wh_record *record,
				 const void *args, size_t bytes, struct wh_bytes *out, bool waited)
{
	const struct wh_known *known = &me->work->table.known[record->function];
	bool launched = (record->bytes & WH_RECORD_LAUNCH) != 0;
	struct wh_property *property;

	if ((known->function->flags & WHORL_TAKES_BYTES) == 0 && bytes != known->argument_bytes)
		return WHORL_INVALID;
	if (record->property == 0 && launched && known->type == WH_TYPE_NONE)
		return launch(me, origin, record, args, bytes, out);
	property = wh_property_find(&me->properties, record->property);
	if (property == NULL)
		return WHORL_GONE;
	if (property->state == WH_PROPERTY_SENT_ON)
		return wh_send_on(me, property, origin, record, args, bytes);
	if (property->type_number != known->type)
		return WHORL_INVALID;
	if (!waited && !wh_property_is_open(property))
		return wait_for_property(me, property, origin, record, args, bytes);
	if (launched)
		return launch(me, origin, record, args, bytes, out);
	return run_delegated(me, known, property->object, args, bytes, out);
}

static bool is_question(const void *data, size_t bytes)
{
	struct wh_move_args args;

	if (bytes != sizeof(args))
		return false;
	memcpy(&args, data, sizeof(args));
	return args.worker == WHORL_WORKER_ANY;
}

static uint32_t where_it_is(struct wh_party *me, const struct wh_origin *origin, uint32_t name, const void *data,
			    struct wh_bytes *out)
{
	uint32_t holder = holder_of(origin->channel);
	struct wh_move_args args;

	memcpy(&args, data, sizeof(args));
	if (args.id == 0)
		return WHORL_INVALID;
	if (me->work->net != NULL)
		holder = wh_far_holder(me->work, args.mover, holder);
	return wh_follow_find(me, &args, name, holder, out);
}

static uint32_t perform_move(struct wh_party *me, struct wh_origin origin, const struct wh_record *record,
			     const void *args, size_t bytes, struct wh_bytes *out, bool waited)
{
	struct wh_property *property = wh_property_find(&me->properties, record->property);

	if (property == NULL)
		return WHORL_GONE;
	if (property->state == WH_PROPERTY_SENT_ON)
		return wh_send_on(me, property, origin, record, args, bytes);
	if (!waited && !wh_property_is_open(property))
		return wait_for_property(me, property, origin, record, args, bytes);
	return is_question(args, bytes) ? where_it_is(me, &origin, record->property, args, out)
					: wh_move(me, origin, record, args, bytes, out);
}

uint32_t wh_perform(struct wh_party *me, struct wh_origin origin, const struct wh_record *record, const void *args,
		    size_t bytes, struct wh_bytes *out, bool waited)
{
	if (origin.channel->relay != NULL)
		return wh_relay(me, origin, record, args, bytes);
	switch (record->function) {
	case WH_ENTRUST:
		return entrust(me, &origin, args, bytes, out, false);
	case WH_MOVE:
		return perform_move(me, origin, record, args, bytes, out, waited);
	case WH_ADOPT:
		return origin.channel->carrier != NULL ? entrust(me, &origin, args, bytes, out, true)
						       : wh_adopt(me, origin, args, bytes, out);
	case WH_NOTHING:
		return WHORL_OK;
	case WH_SHARD_CALL:
		return wh_shard_request(me, origin, args, bytes, out);
	default:
		if (record->function >= me->work->table.count)
			return WHORL_NOT_FOUND;
		return perform_function(me, origin, record, args, bytes, out, waited);
	}
}
