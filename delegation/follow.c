/* follow.c - the way to a property that has moved more than once.
 *
 * A trustee that has moved a property away sends on what comes there. If it moves again the new place does so too, and a call by an old handle
 * would go through all places where it has ever been. So a place that is left tells those of this process that send on to it. Each of
 * these asks where it is now, by the way that its calls go, behind the last of them, and gets a handle there; what comes meanwhile waits.
 * When the answer is there all calls before it have run, and those behind it go straight there, so none overtakes another.
 */
#include "delegation/link.h"

/* ---- telling --------------------------------------------------------------------------------------------------------------------- */

static void tell(struct wh_party *me, uint64_t holder, uint32_t name)
{
	const struct wh_moved_on_args args = {.worker = me->number, .property = name};
	const struct wh_request request = {
		.function = WH_MOVED_ON, .property = wh_holder_proxy(holder), .data = &args, .bytes = sizeof(args)};

	/* One that cannot be told goes on by the longer way. */
	(void)!wh_issue_one_way(me, me->work->parties[wh_holder_worker(holder)], &request);
}

void wh_follow_tell(struct wh_party *me, const struct wh_property *property, uint32_t name)
{
	const struct wh_map *handles = &property->handles;

	for (size_t i = 0; i < handles->capacity; i++)
		if (handles->pairs[i].key != 0 && wh_holder_proxy(handles->pairs[i].value) != 0)
			tell(me, handles->pairs[i].value, name);
}

/* ---- asking ---------------------------------------------------------------------------------------------------------------------- */

static enum whorl_result ask(struct wh_party *me, const struct wh_property *property, struct wh_later *later)
{
	struct wh_channel *channel = wh_channel_to(me, property->to);
	const struct wh_move_args args = {.id = later->mine,
					  .node = me->work->node,
					  .worker = WHORL_WORKER_ANY,
					  .mover = me->work->node,
					  .proxy_worker = me->number,
					  .proxy = later->record.property};
	const struct wh_request request = {
		.function = WH_MOVE, .property = property->to_property, .data = &args, .bytes = sizeof(args)};
	const struct wh_ticket ticket = {.kind = WH_TICKET_FOLLOW, .result_bytes = sizeof(struct wh_place), .a = later};

	return channel == NULL ? WHORL_MEMORY : wh_issue(channel, &request, ticket, NULL);
}

static void follow(struct wh_party *me, uint32_t name)
{
	struct wh_property *property = wh_property_find(&me->properties, name);
	const struct wh_record record = {.property = name};
	struct wh_later *later = wh_later_new(me, (struct wh_origin){0}, &record, NULL, 0);

	property->has_moved_on = false;
	if (later == NULL)
		return;
	later->mine = wh_fresh_id(me);
	property->state = WH_PROPERTY_MOVING;
	if (ask(me, property, later) == WHORL_OK)
		return;
	property->state = WH_PROPERTY_SENT_ON;
	wh_later_free(later);
}

void wh_follow_told(struct wh_party *me, uint32_t name, const struct wh_moved_on_args *args)
{
	struct wh_property *property = wh_property_find(&me->properties, name);

	if (property == NULL || property->object != NULL)
		return;
	if (property->state == WH_PROPERTY_MOVING) /* the one that it asks for may have moved on since */
		property->has_moved_on = true;
	else if (property->state == WH_PROPERTY_SENT_ON && args->worker < me->work->workers &&
		 property->to == me->work->parties[args->worker] && property->to_property == args->property)
		follow(me, name);
}

/* ---- the answer ------------------------------------------------------------------------------------------------------------------ */

uint32_t wh_follow_find(struct wh_party *me, const struct wh_move_args *args, uint32_t name, uint64_t holder,
			struct wh_bytes *out)
{
	const struct wh_place place = wh_place_at(me, name, args->id);

	if (!wh_bytes_append(out, &place, sizeof(place)))
		return WHORL_MEMORY;
	if (args->mover == me->work->node && args->proxy != 0 && args->proxy_worker < me->work->workers)
		holder = wh_holder_of_proxy(args->proxy_worker, args->proxy);
	wh_toggle(me, name, args->id, holder);
	return WHORL_OK;
}

/* Behind all that has gone there the handle at the place before goes back. */
static void take_way(struct wh_party *me, struct wh_property *property, const struct wh_place *place)
{
	struct whorl_trust there = {0};
	struct wh_party *to;

	wh_trust_put(&there, place);
	if (wh_trustee_of(me->work, &there, &to) != WHORL_OK)
		return;
	wh_property_let_go(me, property);
	property->to = to;
	property->to_property = place->property;
	property->to_handle = place->id;
}

void wh_followed(struct wh_later *later, enum whorl_result status, const void *data, size_t bytes)
{
	struct wh_party *me = later->trustee;
	uint32_t name = later->record.property;
	struct wh_property *property = wh_property_find(&me->properties, name);
	struct wh_place place;

	property->state = WH_PROPERTY_SENT_ON;
	if (status == WHORL_OK && bytes == sizeof(place)) {
		memcpy(&place, data, sizeof(place));
		if (place.id == later->mine)
			take_way(me, property, &place);
		if (property->has_moved_on)
			follow(me, name);
	}
	wh_later_free(later);
	wh_later_run(me, name);
}
