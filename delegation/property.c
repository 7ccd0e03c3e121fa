/* property.c - where properties are: places that never move, and names that tell those apart that have had the same place. */
#include "delegation/delegation_int.h"

#include <stdlib.h>

#define GENERATIONS (1u << WH_GENERATION_BITS)
#define OBJECT_ALIGN 64 /* two properties share no line */

void *wh_object_new(size_t bytes, const void *init)
{
	size_t room = (bytes + OBJECT_ALIGN - 1) / OBJECT_ALIGN * OBJECT_ALIGN;
	void *object = aligned_alloc(OBJECT_ALIGN, room == 0 ? OBJECT_ALIGN : room);

	if (object != NULL && init == NULL)
		memset(object, 0, bytes);
	else if (object != NULL)
		memcpy(object, init, bytes);
	return object;
}

static struct wh_property *at(struct wh_properties *all, uint32_t index)
{
	return &all->chunks[index / WH_PROPERTY_CHUNK][index % WH_PROPERTY_CHUNK];
}

/* The place that has been free longest: so it takes many properties until a name comes again. */
static uint32_t take_place(struct wh_properties *all)
{
	uint32_t index = all->first_free;
	struct wh_property **chunk;

	if (index != UINT32_MAX) {
		all->first_free = at(all, index)->next_free;
		if (all->first_free == UINT32_MAX)
			all->last_free = UINT32_MAX;
		return index;
	}
	if (all->count == WH_PROPERTY_CHUNK * WH_PROPERTY_CHUNKS)
		return UINT32_MAX;
	chunk = &all->chunks[all->count / WH_PROPERTY_CHUNK];
	if (*chunk == NULL)
		*chunk = calloc(WH_PROPERTY_CHUNK, sizeof(**chunk));
	return *chunk == NULL ? UINT32_MAX : all->count++;
}

static void free_place(struct wh_properties *all, uint32_t index)
{
	struct wh_property *property = at(all, index);
	uint16_t generation = property->generation;

	wh_map_free(&property->handles);
	*property = (struct wh_property){.generation = generation, .next_free = UINT32_MAX};
	if (all->last_free == UINT32_MAX)
		all->first_free = index;
	else
		at(all, all->last_free)->next_free = index;
	all->last_free = index;
}

uint32_t wh_property_new(struct wh_party *me, void *object, const struct whorl_type *type, uint32_t type_number,
			 uint64_t id, uint64_t holder)
{
	struct wh_properties *all = &me->properties;
	uint32_t index = take_place(all);
	struct wh_property *property;
	uint16_t generation;

	if (index == UINT32_MAX)
		return 0;
	property = at(all, index);
	generation = (uint16_t)(property->generation % (GENERATIONS - 1) + 1); /* never 0: no name is 0 */
	*property = (struct wh_property){.generation = generation};
	if (!wh_map_put(&property->handles, id, holder)) {
		free_place(all, index);
		return 0;
	}
	property->object = object;
	property->type = type;
	property->type_number = type_number;
	property->state = WH_PROPERTY_LIVE;
	wh_count(&me->stats.properties, 1);
	return index << WH_GENERATION_BITS | generation;
}

static void drop_object(struct wh_party *me, struct wh_property *property)
{
	if (property->type->drop != NULL && !property->arriving) {
		me->in_function = true;
		property->type->drop(property->object);
		me->in_function = false;
	}
	free(property->object);
	wh_store_relaxed(&me->stats.properties, wh_load_relaxed(&me->stats.properties) - 1);
}

/* Behind all that was sent on. */
void wh_property_let_go(struct wh_party *me, const struct wh_property *property)
{
	const struct wh_request toggle = {WH_TOGGLE, 0, property->to_property, &property->to_handle,
					  sizeof(property->to_handle)};
	enum whorl_result result = wh_issue_one_way(me, property->to, &toggle);

	if (result == WHORL_MEMORY || result == WHORL_AGAIN) /* else that node has ended, or this work has */
		wh_log(&me->worker->diag, WH_LOG_WARNING, "no memory: a property that has moved is never dropped");
}

void wh_property_settle(struct wh_party *me, uint32_t name)
{
	struct wh_property *property = wh_property_find(&me->properties, name);

	if (property == NULL || !property->doomed || property->latched || property->first != NULL)
		return;
	if (property->state == WH_PROPERTY_LIVE)
		drop_object(me, property);
	else if (property->state == WH_PROPERTY_SENT_ON)
		wh_property_let_go(me, property);
	else
		return; /* it is being moved: wh_moved comes back to this */
	free_place(&me->properties, name >> WH_GENERATION_BITS);
}

static void forget(struct wh_map *handles, uint32_t holder)
{
	for (size_t i = 0; i < handles->capacity;) {
		const struct wh_map_pair *pair = &handles->pairs[i];

		if (pair->key == 0 || pair->value != holder || !wh_map_take(handles, pair->key, NULL))
			i++; /* else another may have taken the place */
	}
}

void wh_properties_forget(struct wh_party *me, uint32_t holder)
{
	struct wh_properties *all = &me->properties;

	for (uint32_t i = 0; i < all->count; i++) {
		struct wh_property *property = at(all, i);

		if (property->state == WH_PROPERTY_FREE)
			continue;
		forget(&property->handles, holder);
		property->doomed = property->handles.count == 0;
		if (property->doomed)
			wh_property_settle(me, i << WH_GENERATION_BITS | property->generation);
	}
}

void wh_properties_close(struct wh_party *me)
{
	struct wh_properties *all = &me->properties;
	struct wh_later *later;

	for (uint32_t i = 0; i < all->count; i++) {
		struct wh_property *property = at(all, i);

		while ((later = property->first) != NULL) {
			property->first = later->next;
			wh_later_free(later);
		}
		if (property->object != NULL)
			drop_object(me, property);
		wh_map_free(&property->handles);
	}
	for (uint32_t i = 0; i < WH_PROPERTY_CHUNKS; i++)
		free(all->chunks[i]);
	memset(all, 0, sizeof(*all));
}
