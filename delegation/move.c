/* move.c - properties that move from one trustee to another, also while they are in use.
 *
 * The trustee that had it stays in between: handles that were made there are counted there, and calls that come with them are sent on, in
 * order, as the calls of one client. To the new trustee it is one holder among others, with one handle, which it gives back when its own
 * last is gone. So each handle has one way to the property, on which nothing overtakes anything, and counting stays right.
 *
 * Within a process the address of the object goes from one to the other. To another node its bytes go, as if it were entrusted there; until
 * the answer is there the property is where it was. If the answer never comes, as that node has ended for this one, it stays; what that one has
 * is a copy that nobody has a name of, with a single handle, which ends with the link.
 */
#include "delegation/link.h"

#include <stdlib.h>

/* ---- what may go ---------------------------------------------------------------------------------------------------------------- */

bool wh_type_travels(const struct whorl_type *type)
{
	uint32_t flags = type->size >= WH_TYPE_FLAGS ? type->flags : 0;

	return (flags & WHORL_TYPE_STAYS) == 0 && (type->drop == NULL || (flags & WHORL_TYPE_TRAVELS) != 0);
}

static bool may_travel(struct wh_party *me, const struct wh_property *property)
{
	bool may = wh_type_travels(property->type);
#ifndef NDEBUG
	size_t at;

	may = may && !wh_find_pointer(me->work, property->object, property->type->bytes, &at);
#endif
	(void)me;
	return may;
}

static enum whorl_result find_destination(const whorl_work *work, const struct wh_move_args *args,
					  struct wh_party **out)
{
	const struct wh_far_place far = {.node = args->node, .worker = args->worker};

	return wh_is_far(work, args->node) ? wh_far_at(work, &far, out)
					   : wh_trustee_at(work, args->node, args->worker, out);
}

/* ---- going ---------------------------------------------------------------------------------------------------------------------- */

static enum whorl_result ask(struct wh_party *me, struct wh_later *later, const struct wh_request *request)
{
	struct wh_channel *channel = wh_channel_to(me, later->to);
	const struct wh_ticket ticket = {.kind = WH_TICKET_ADOPT, .result_bytes = WH_NAME_BYTES, .a = later};

	return channel == NULL ? WHORL_MEMORY : wh_issue(channel, request, ticket, NULL);
}

static enum whorl_result ask_here(struct wh_party *me, const struct wh_property *property, struct wh_later *later)
{
	const struct wh_adopt_args adopt = {.object = (uint64_t)(uintptr_t)property->object,
					    .type = (uint64_t)(uintptr_t)property->type,
					    .id = later->mine,
					    .type_number = property->type_number,
					    .name = later->record.property};

	return ask(me, later, &(struct wh_request){.function = WH_ADOPT, .data = &adopt, .bytes = sizeof(adopt)});
}

static enum whorl_result ask_there(struct wh_party *me, const struct wh_property *property, struct wh_later *later)
{
	const struct wh_entrust_args head = {.id = later->mine, .type_number = property->type_number};
	struct wh_request request = {.function = WH_ADOPT, .bytes = sizeof(head) + property->type->bytes};
	unsigned char *data = malloc(request.bytes);
	enum whorl_result result;

	if (data == NULL)
		return WHORL_MEMORY;
	memcpy(data, &head, sizeof(head));
	memcpy(data + sizeof(head), property->object, property->type->bytes);
	request.data = data;
	result = ask(me, later, &request);
	free(data);
	return result;
}

uint32_t wh_move(struct wh_party *me, struct wh_origin origin, const struct wh_record *record, const void *data,
		 size_t bytes, struct wh_bytes *out)
{
	struct wh_property *property = wh_property_find(&me->properties, record->property);
	const struct wh_place already = {0};
	struct wh_move_args args;
	struct wh_later *later;
	struct wh_party *to;
	enum whorl_result result;

	if (bytes != sizeof(args))
		return WHORL_INVALID;
	memcpy(&args, data, sizeof(args));
	if (args.id == 0)
		return WHORL_INVALID;
	result = find_destination(me->work, &args, &to);
	if (result != WHORL_OK)
		return (uint32_t)result;
	if (to == me)
		return wh_bytes_append(out, &already, sizeof(already)) ? WHORL_OK : WHORL_MEMORY;
	if (to->link != NULL && !may_travel(me, property))
		return WHORL_UNSUPPORTED;
	later = wh_later_new(me, origin, record, data, bytes);
	if (later == NULL)
		return WHORL_MEMORY;
	later->to = to;
	later->mine = wh_fresh_id(me);
	property->state = WH_PROPERTY_MOVING;
	result = to->link != NULL ? ask_there(me, property, later) : ask_here(me, property, later);
	if (result == WHORL_OK)
		return WH_DEFERRED;
	property->state = WH_PROPERTY_LIVE;
	wh_later_free(later);
	return (uint32_t)result;
}

/* ---- coming --------------------------------------------------------------------------------------------------------------------- */

uint32_t wh_adopt(struct wh_party *me, struct wh_origin origin, const void *data, size_t bytes, struct wh_bytes *out)
{
	struct wh_adopt_args args;
	uint32_t name;

	if (bytes != sizeof(args) || origin.channel->carrier != NULL || me->worker == NULL)
		return WHORL_INVALID;
	memcpy(&args, data, sizeof(args));
	name = wh_property_new(me, (void *)(uintptr_t)args.object, (const struct whorl_type *)(uintptr_t)args.type,
			       args.type_number, args.id,
			       wh_holder_of_proxy(origin.channel->client->number, args.name));
	if (name == 0)
		return WHORL_MEMORY;
	return wh_bytes_append(out, &name, sizeof(name)) ? WHORL_OK : WHORL_IN_DOUBT;
}

/* ---- what has become of it ------------------------------------------------------------------------------------------------------- */

static void is_there(struct wh_party *me, struct wh_property *property, struct wh_later *later, uint32_t name)
{
	struct wh_move_args args;
	struct wh_place place;
	enum whorl_result given;

	memcpy(&args, later->args, sizeof(args));
	if (later->to->link != NULL)
		free(property->object); /* its bytes are there: it is not dropped */
	property->state = WH_PROPERTY_SENT_ON;
	property->to = later->to;
	property->to_property = name;
	property->to_handle = later->mine;
	property->object = NULL;
	wh_store_relaxed(&me->stats.properties, wh_load_relaxed(&me->stats.properties) - 1);
	wh_follow_tell(me, property, later->record.property);
	/* The mover's handle, behind the trustee's own. */
	given = wh_make_handle(me, property->to, name, args.id, args.mover);
	place = wh_place_at(property->to, name, args.id);
	if (given == WHORL_OK)
		wh_complete(me, later->origin, WHORL_OK, &place, sizeof(place));
	else /* the mover has none there, and that which it has is good */
		wh_complete(me, later->origin, WHORL_IN_DOUBT, NULL, 0);
}

/* The new trustee has it, or has not. */
void wh_moved(struct wh_later *later, enum whorl_result status, const void *data, size_t bytes)
{
	struct wh_party *me = later->trustee;
	uint32_t name = later->record.property, there = 0;
	struct wh_property *property = wh_property_find(&me->properties, name);

	if (status == WHORL_OK && bytes >= sizeof(there))
		memcpy(&there, data, sizeof(there));
	if (there != 0) {
		is_there(me, property, later, there);
	} else {
		property->state = WH_PROPERTY_LIVE;
		if (later->to->link != NULL && (status == WHORL_OK || status == WHORL_IN_DOUBT || status == WHORL_GONE))
			status = WHORL_MEMBER_GONE;
		wh_complete(me, later->origin, status == WHORL_OK ? WHORL_IN_DOUBT : status, NULL, 0);
	}
	wh_later_free(later);
	wh_later_run(me, name);
}

uint32_t wh_send_on(struct wh_party *me, const struct wh_property *property, struct wh_origin origin,
		    const struct wh_record *record, const void *args, size_t bytes)
{
	struct wh_channel *channel = wh_channel_to(me, property->to);
	const struct wh_request request = {.function = record->function,
					   .flags = record->bytes & WH_RECORD_LAUNCH,
					   .property = property->to_property,
					   .data = args,
					   .bytes = bytes};
	struct wh_ticket ticket = {.kind = WH_TICKET_FORWARD,
				   .result_bytes = UINT32_MAX,
				   .a = origin.channel,
				   .b = (void *)(uintptr_t)origin.number};
	enum whorl_result result;

	if (record->function < me->work->table.count)
		ticket.result_bytes = wh_result_bytes(&me->work->table.known[record->function]);
	result = channel == NULL ? WHORL_MEMORY : wh_issue(channel, &request, ticket, NULL);
	if (result != WHORL_OK)
		return (uint32_t)result;
	wh_count(&me->stats.deferred, 1);
	return WH_DEFERRED;
}
