/* move.c - properties that move from one trustee to another, also while they are in use.
 *
 * The trustee that had it stays in between: handles that were made there are counted there, and calls that come with them are sent on, in
 * order, as the calls of one client. To the new trustee it is one holder among others, with one handle, which it gives back when its own
 * last is gone. So each handle has one way to the property, on which nothing overtakes anything, and counting stays right.
 */
#include "delegation/delegation_int.h"

#include <stdlib.h>

/* The handle goes as it came, with the wish as it was. */
static enum whorl_result ask_to_adopt(struct wh_party *me, struct wh_property *property, struct wh_later *later,
				      const struct wh_move_args *args)
{
	struct wh_channel *channel = wh_channel_to(me, me->work->parties[args->worker]);
	const struct wh_adopt_args adopt = {.object = (uint64_t)(uintptr_t)property->object,
					    .type = (uint64_t)(uintptr_t)property->type,
					    .ids = {wh_fresh_id(me), args->id},
					    .type_number = property->type_number};
	const struct wh_request request = {.function = WH_ADOPT, .data = &adopt, .bytes = sizeof(adopt)};
	const struct wh_ticket ticket = {.kind = WH_TICKET_ADOPT, .result_bytes = sizeof(uint32_t), .a = later};

	later->mine = adopt.ids[0];
	return channel == NULL ? WHORL_MEMORY : wh_issue(channel, &request, ticket, NULL);
}

uint32_t wh_move(struct wh_party *me, struct wh_origin origin, const struct wh_record *record, const void *data,
		 size_t bytes, struct wh_bytes *out)
{
	struct wh_property *property = wh_property_find(&me->properties, record->property);
	struct wh_move_args args;
	struct wh_later *later;
	enum whorl_result result;

	if (origin.channel->carrier != NULL)
		return WHORL_UNSUPPORTED;
	if (bytes != sizeof(args))
		return WHORL_INVALID;
	memcpy(&args, data, sizeof(args));
	if (args.worker >= me->work->workers || args.id == 0)
		return WHORL_NOT_FOUND;
	if (args.worker == me->number) {
		const struct wh_place place = {0, me->number, record->property};

		return wh_bytes_append(out, &place, sizeof(place)) ? WHORL_OK : WHORL_MEMORY;
	}
	later = wh_later_new(me, origin, record, data, bytes);
	if (later == NULL)
		return WHORL_MEMORY;
	property->state = WH_PROPERTY_MOVING;
	result = ask_to_adopt(me, property, later, &args);
	if (result == WHORL_OK)
		return WH_DEFERRED;
	property->state = WH_PROPERTY_LIVE;
	wh_later_free(later);
	return (uint32_t)result;
}

uint32_t wh_adopt(struct wh_party *me, struct wh_origin origin, const void *data, size_t bytes, struct wh_bytes *out)
{
	struct wh_adopt_args args;
	uint32_t name;

	if (bytes != sizeof(args) || origin.channel->carrier != NULL || me->worker == NULL)
		return WHORL_INVALID;
	memcpy(&args, data, sizeof(args));
	name = wh_property_new(me, (void *)(uintptr_t)args.object, (const struct whorl_type *)(uintptr_t)args.type,
			       args.type_number, args.ids[0], WH_HOLDER_HERE);
	if (name == 0)
		return WHORL_MEMORY;
	wh_toggle(me, name, args.ids[1], WH_HOLDER_HERE);
	return wh_bytes_append(out, &name, sizeof(name)) ? WHORL_OK : WHORL_IN_DOUBT;
}

/* The new trustee has it, or has not. */
void wh_moved(struct wh_later *later, enum whorl_result status, const void *data, size_t bytes)
{
	struct wh_party *me = later->trustee;
	uint32_t name = later->record.property;
	struct wh_property *property = wh_property_find(&me->properties, name);
	struct wh_place place;
	struct wh_move_args args;

	memcpy(&args, later->args, sizeof(args));
	place = (struct wh_place){args.id, args.worker, 0};
	property->state = WH_PROPERTY_LIVE;
	if (status == WHORL_OK && bytes >= sizeof(place.property)) {
		memcpy(&place.property, data, sizeof(place.property));
		property->state = WH_PROPERTY_SENT_ON;
		property->to_worker = args.worker;
		property->to_property = place.property;
		property->to_handle = later->mine;
		property->object = NULL;
		wh_store_relaxed(&me->stats.properties, wh_load_relaxed(&me->stats.properties) - 1);
		wh_complete(me, later->origin, WHORL_OK, &place, sizeof(place));
	} else {
		wh_complete(me, later->origin, status == WHORL_OK ? WHORL_IN_DOUBT : status, NULL, 0);
	}
	wh_later_free(later);
	wh_later_run(me, name);
}

uint32_t wh_send_on(struct wh_party *me, const struct wh_property *property, struct wh_origin origin,
		    const struct wh_record *record, const void *args, size_t bytes)
{
	struct wh_channel *channel = wh_channel_to(me, me->work->parties[property->to_worker]);
	const struct wh_request request = {.function = record->function,
					   .flags = record->bytes & WH_RECORD_LAUNCH,
					   .property = property->to_property,
					   .data = args,
					   .bytes = bytes};
	struct wh_ticket ticket = {
		.kind = WH_TICKET_FORWARD, .a = origin.channel, .b = (void *)(uintptr_t)origin.number};
	enum whorl_result result;

	if (record->function < me->work->table.count)
		ticket.result_bytes = me->work->table.known[record->function].result_bytes;
	result = channel == NULL ? WHORL_MEMORY : wh_issue(channel, &request, ticket, NULL);
	if (result != WHORL_OK)
		return (uint32_t)result;
	wh_count(&me->stats.deferred, 1);
	return WH_DEFERRED;
}
