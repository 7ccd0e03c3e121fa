/* shard_table.c - see shard_table.h. */
#include "delegation/shard_table.h"

#include <stdio.h>
#include <stdlib.h>

#include "delegation/delegation_int.h"

/* ---- what may be replicated ------------------------------------------------------------------------------------------------------ */

static bool is_saved(const struct whorl_type *type)
{
	return type->size >= sizeof(*type) && type->save != NULL && type->load != NULL;
}

static const char *fault_of(const struct whorl_type *type)
{
	if (type->size < WH_TYPE_LEAST || type->name == NULL)
		return "its type is no struct whorl_type";
	if (strlen(type->name) == 0 || strlen(type->name) >= WH_SHARD_NAME_ROOM)
		return "the name of its type is empty or longer than 255 bytes";
	if (type->bytes == 0 || type->bytes > WHORL_CALL_BYTES_MAX)
		return "a type of no bytes, or of more than WHORL_CALL_BYTES_MAX";
	if (is_saved(type) || wh_type_travels(type))
		return NULL;
	return "its bytes are not all that there is of it, and its type has no save and load";
}

const char *wh_shard_type_fault(const struct wh_shard_kinds *kinds, const struct whorl_type *type)
{
	const char *fault = fault_of(type);
	uint32_t number = fault == NULL ? wh_table_type(kinds->table, type) : WH_TYPE_NONE;

	if (fault != NULL)
		return fault;
	if (number == WH_TYPE_NONE)
		return "no function that is registered is for this type";
	return kinds->types[number] == NULL ? "its type is not in the `types` of the work" : NULL;
}

static void list_types(struct wh_shard_kinds *kinds, const struct whorl_type *const *types, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint32_t number = types[i] == NULL || fault_of(types[i]) != NULL
					  ? WH_TYPE_NONE
					  : wh_table_type(kinds->table, types[i]);

		if (number != WH_TYPE_NONE)
			kinds->types[number] = types[i];
	}
}

static void list_functions(struct wh_shard_kinds *kinds)
{
	for (uint32_t i = 0; i < kinds->table->count; i++) {
		const struct wh_known *known = &kinds->table->known[i];
		bool may = (known->function->flags & WHORL_DETERMINISTIC) != 0 && known->type != WH_TYPE_NONE;

		kinds->numbers[i] = may ? kinds->function_count : UINT32_MAX;
		if (!may)
			continue;
		kinds->functions[kinds->function_count++] = i;
		wh_digest_function(&kinds->digest, known->function);
	}
}

static void digest_types(struct wh_shard_kinds *kinds)
{
	for (uint32_t i = 1; i <= kinds->table->types; i++) {
		const struct whorl_type *type = kinds->types[i];

		if (type == NULL)
			continue;
		wh_digest(&kinds->digest, type->name, strlen(type->name) + 1);
		wh_digest_number(&kinds->digest, type->bytes);
		wh_digest_number(&kinds->digest, type->size >= WH_TYPE_FLAGS ? type->flags : 0);
		wh_digest_number(&kinds->digest, is_saved(type));
	}
	kinds->digest += kinds->digest == 0;
}

enum whorl_result wh_shard_kinds_make(struct wh_shard_kinds *kinds, const struct wh_table *table,
				      const struct whorl_type *const *types, size_t count)
{
	*kinds = (struct wh_shard_kinds){.table = table, .digest = WH_DIGEST_BEGIN};
	kinds->functions = calloc(table->count + 1, sizeof(*kinds->functions));
	kinds->numbers = calloc(table->count + 1, sizeof(*kinds->numbers));
	kinds->types = calloc(table->types + 1, sizeof(struct whorl_type *));
	if (kinds->functions == NULL || kinds->numbers == NULL || kinds->types == NULL) {
		wh_shard_kinds_free(kinds);
		return WHORL_MEMORY;
	}
	list_types(kinds, types, count);
	list_functions(kinds);
	digest_types(kinds);
	return WHORL_OK;
}

void wh_shard_kinds_free(struct wh_shard_kinds *kinds)
{
	free(kinds->functions);
	free(kinds->numbers);
	free(kinds->types);
	*kinds = (struct wh_shard_kinds){0};
}

/* Of that name; NULL: this program knows none that may be replicated. */
static const struct whorl_type *type_of(const struct wh_shard_kinds *kinds, const char *name, uint32_t *number)
{
	for (*number = 1; *number <= kinds->table->types; ++*number)
		if (kinds->types[*number] != NULL && strcmp(kinds->types[*number]->name, name) == 0)
			return kinds->types[*number];
	return NULL;
}

/* ---- properties by id and by name ------------------------------------------------------------------------------------------------ */

static uint64_t hash_of(const char *name)
{
	uint64_t hash = WH_DIGEST_BEGIN;

	wh_digest(&hash, name, strlen(name));
	return hash == 0 ? 1 : hash;
}

struct wh_shard_property *wh_shard_find(const struct wh_shard_table *table, uint64_t id)
{
	const uint64_t *found = id == 0 ? NULL : wh_map_find(&table->by_id, id);

	return found == NULL ? NULL : (struct wh_shard_property *)(uintptr_t)*found;
}

static struct wh_shard_property *find_name(const struct wh_shard_table *table, const char *name)
{
	const uint64_t *found = wh_map_find(&table->by_name, hash_of(name));
	struct wh_shard_property *property = found == NULL ? NULL : (struct wh_shard_property *)(uintptr_t)*found;

	while (property != NULL && strcmp(property->name, name) != 0)
		property = property->next;
	return property;
}

static void free_property(struct wh_shard_property *property)
{
	if (property->object != NULL && property->type->drop != NULL)
		property->type->drop(property->object);
	free(property->object);
	free(property);
}

static bool grow(struct wh_shard_table *table)
{
	size_t room = table->room == 0 ? 16 : 2 * table->room;
	struct wh_shard_property **all;

	if (table->count < table->room)
		return true;
	all = realloc(table->all, room * sizeof(struct wh_shard_property *));
	if (all == NULL)
		return false;
	table->all = all;
	table->room = room;
	return true;
}

/* False: no memory, and nothing is changed. */
static bool insert(struct wh_shard_table *table, struct wh_shard_property *property)
{
	uint64_t hash = hash_of(property->name), *first;

	if (!grow(table) || !wh_map_put(&table->by_id, property->id, (uint64_t)(uintptr_t)property))
		return false;
	first = wh_map_find(&table->by_name, hash);
	if (first != NULL) {
		property->next = (struct wh_shard_property *)(uintptr_t)*first;
		*first = (uint64_t)(uintptr_t)property;
	} else if (!wh_map_put(&table->by_name, hash, (uint64_t)(uintptr_t)property)) {
		(void)wh_map_take(&table->by_id, property->id, NULL);
		return false;
	}
	property->at = table->count;
	table->all[table->count++] = property;
	return true;
}

static void forget_name(struct wh_shard_table *table, const struct wh_shard_property *property)
{
	uint64_t hash = hash_of(property->name), *first = wh_map_find(&table->by_name, hash);
	struct wh_shard_property *before = (struct wh_shard_property *)(uintptr_t)*first;

	if (before == property && property->next == NULL) {
		(void)wh_map_take(&table->by_name, hash, NULL);
		return;
	}
	if (before == property) {
		*first = (uint64_t)(uintptr_t)property->next;
		return;
	}
	while (before->next != property)
		before = before->next;
	before->next = property->next;
}

/* The last takes its place: alike at all members. */
static void remove_property(struct wh_shard_table *table, struct wh_shard_property *property)
{
	(void)wh_map_take(&table->by_id, property->id, NULL);
	forget_name(table, property);
	table->all[property->at] = table->all[--table->count];
	table->all[property->at]->at = property->at;
	free_property(property);
}

void wh_shard_table_free(struct wh_shard_table *table)
{
	const struct wh_shard_kinds *kinds = table->kinds;

	for (size_t i = 0; i < table->count; i++)
		free_property(table->all[i]);
	free(table->all);
	wh_map_free(&table->by_id);
	wh_map_free(&table->by_name);
	*table = (struct wh_shard_table){.kinds = kinds};
}

/* NULL: no memory. It is in no table yet. */
static struct wh_shard_property *new_property(const struct wh_shard_kinds *kinds, uint32_t type_number,
					      const char *name, uint64_t id, const void *init)
{
	struct wh_shard_property *property = malloc(sizeof(*property) + strlen(name) + 1);

	if (property == NULL)
		return NULL;
	*property = (struct wh_shard_property){.id = id, .type = kinds->types[type_number], .type_number = type_number};
	memcpy(property->name, name, strlen(name) + 1);
	property->object = wh_object_new(property->type->bytes, init);
	if (property->object != NULL)
		return property;
	free(property);
	return NULL;
}

/* ---- calls ---------------------------------------------------------------------------------------------------------------------- */

/* WHORL_OK: its id is added to `out`. */
static uint32_t make(struct wh_shard_table *table, const struct wh_shard_call *call, uint64_t id, struct wh_bytes *out)
{
	struct wh_shard_property *property = find_name(table, call->name);
	uint32_t number;
	const struct whorl_type *type = type_of(table->kinds, call->type, &number);

	if (type == NULL || (call->args != NULL && (call->bytes != type->bytes || is_saved(type))))
		return WHORL_INVALID;
	if (property != NULL && property->type != type)
		return WHORL_INVALID;
	if (property == NULL) {
		if (wh_shard_find(table, id) != NULL) /* ids are drawn from 64 bits */
			return WHORL_INVALID;
		property = new_property(table->kinds, number, call->name, id, call->args);
		if (property == NULL)
			return WHORL_MEMORY;
		if (!insert(table, property)) {
			free_property(property);
			return WHORL_MEMORY;
		}
	}
	return wh_bytes_append(out, &property->id, sizeof(property->id)) ? WHORL_OK : WHORL_MEMORY;
}

static uint32_t run(const struct wh_shard_table *table, uint64_t id, uint32_t function, const void *args, size_t bytes,
		    struct wh_bytes *out)
{
	const struct wh_known *known = &table->kinds->table->known[table->kinds->functions[function]];
	const struct wh_shard_property *property = wh_shard_find(table, id);
	bool any = (known->function->flags & WHORL_TAKES_BYTES) != 0;
	size_t begins = out->end;
	enum whorl_result result;

	if (property == NULL)
		return WHORL_GONE;
	if (property->type_number != known->type || (!any && bytes != known->argument_bytes) ||
	    bytes > WHORL_CALL_BYTES_MAX)
		return WHORL_INVALID;
	result = wh_run(known, property->object, args, bytes, out);
	if (result == WHORL_OK && !any)
		out->end = begins + known->result_bytes; /* without what it was padded with */
	return result;
}

static bool is_read(const struct wh_shard_kinds *kinds, uint32_t function)
{
	return (kinds->table->known[kinds->functions[function]].function->flags & WHORL_READ) != 0;
}

static uint32_t apply(const struct wh_shard_table *table, const struct wh_shard_call *call, bool wanted,
		      struct wh_bytes *out)
{
	if (call->function >= table->kinds->function_count)
		return WHORL_INVALID;
	if (!wanted && is_read(table->kinds, call->function))
		return WHORL_OK;
	return run(table, call->property, call->function, call->args, call->bytes, out);
}

uint32_t wh_shard_table_apply(struct wh_shard_table *table, const struct wh_shard_call *call, uint64_t id, bool wanted,
			      struct wh_bytes *out)
{
	struct wh_shard_property *property;

	if (table->digest == 0)
		table->digest = call->digest;
	if (table->digest != table->kinds->digest)
		return WH_SHARD_ODD;
	if (call->digest != table->digest)
		return WHORL_REFUSED;
	switch (call->kind) {
	case WH_SHARD_MAKE:
		return make(table, call, id, out);
	case WH_SHARD_APPLY:
		return apply(table, call, wanted, out);
	case WH_SHARD_END:
		property = wh_shard_find(table, call->property);
		if (property == NULL)
			return WHORL_GONE;
		remove_property(table, property);
		return WHORL_OK;
	case WH_SHARD_KINDS:
		break;
	}
	return WHORL_INVALID;
}

uint32_t wh_shard_table_read(const struct wh_shard_table *table, uint64_t property, uint32_t function, const void *args,
			     size_t bytes, struct wh_bytes *out)
{
	if (function >= table->kinds->function_count || !is_read(table->kinds, function))
		return WHORL_INVALID;
	return run(table, property, function, args, bytes, out);
}

/* ---- images --------------------------------------------------------------------------------------------------------------------- */

static bool save_object(const struct wh_shard_property *property, struct wh_bytes *out)
{
	whorl_reply into = {.out = out, .most = SIZE_MAX};

	if (is_saved(property->type))
		return property->type->save(property->object, &into) && !into.failed;
	return whorl_reply_add(&into, property->object, property->type->bytes) == WHORL_OK;
}

/* What stands before the data is known when that is saved: its place is kept free. */
static bool save_one(const struct wh_shard_property *property, struct wh_bytes *out)
{
	struct wh_image_item item = {.id = property->id};
	unsigned char head[WH_IMAGE_ITEM_BYTES_MAX];
	size_t bytes, begins = wh_bytes_left(out), behind;

	snprintf(item.name, sizeof(item.name), "%s", property->name);
	snprintf(item.type, sizeof(item.type), "%s", property->type->name);
	bytes = wh_image_put_item(head, &item);
	if (wh_bytes_add(out, bytes) == NULL)
		return false;
	behind = wh_bytes_left(out);
	if (!save_object(property, out))
		return false;
	item.bytes = wh_bytes_left(out) - behind;
	(void)wh_image_put_item(head, &item);
	memcpy(out->data + out->begin + begins, head, bytes);
	return true;
}

bool wh_shard_table_save(const struct wh_shard_table *table, struct wh_bytes *out)
{
	unsigned char *head = wh_bytes_add(out, WH_IMAGE_HEAD_BYTES);

	if (head == NULL)
		return false;
	wh_image_put_head(head, table->digest, table->count);
	for (size_t i = 0; i < table->count; i++)
		if (!save_one(table->all[i], out))
			return false;
	return true;
}

static enum wh_shard_loaded load_one(struct wh_shard_table *table, const struct wh_image_item *item)
{
	struct wh_shard_property *property;
	const struct whorl_type *type;
	uint32_t number;
	bool loaded;

	type = type_of(table->kinds, item->type, &number);
	if (type == NULL || (!is_saved(type) && item->bytes != type->bytes) || wh_shard_find(table, item->id) != NULL ||
	    find_name(table, item->name) != NULL)
		return WH_LOADED_DAMAGED;
	property = new_property(table->kinds, number, item->name, item->id, is_saved(type) ? NULL : item->data);
	if (property == NULL)
		return WH_LOADED_NOT;
	loaded = !is_saved(type) || type->load(property->object, item->data, item->bytes);
	if (loaded && insert(table, property))
		return WH_LOADED;
	free_property(property);
	return WH_LOADED_NOT;
}

enum wh_shard_loaded wh_shard_table_load(struct wh_shard_table *table, const void *image, size_t bytes)
{
	enum wh_shard_loaded loaded = WH_LOADED;
	struct wh_image_reader reader;
	struct wh_image_item item;

	if (!wh_image_begin(&reader, image, bytes))
		return WH_LOADED_DAMAGED;
	if (reader.digest != 0 && reader.digest != table->kinds->digest)
		return WH_LOADED_ODD;
	table->digest = reader.digest;
	while (reader.count > 0 && loaded == WH_LOADED)
		loaded = wh_image_next(&reader, &item) ? load_one(table, &item) : WH_LOADED_DAMAGED;
	return loaded;
}
