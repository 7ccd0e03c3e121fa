/* table.c - see table.h. */
#include "delegation/table.h"

#include <stdlib.h>
#include <string.h>

static const char none[] = "struct whorl_none";

/* ---- what may be in it ------------------------------------------------------------------------------------------------------- */

static const char *fault_of(const struct whorl_function *f)
{
	if (f->size < sizeof(*f))
		return "its size is not that of struct whorl_function";
	if (f->name == NULL || f->name[0] == '\0' || f->property == NULL)
		return "it has no name, or no type of properties";
	if ((f->flags & ~(uint32_t)(WHORL_READ | WHORL_DETERMINISTIC | WHORL_BLOCKS | WHORL_TAKES_BYTES)) != 0)
		return "its flags are unknown";
	if ((f->flags & WHORL_TAKES_BYTES) != 0 ? f->run_bytes == NULL : f->run == NULL)
		return "it has no code";
	if (f->argument_bytes > WHORL_CALL_BYTES_MAX || f->result_bytes > WHORL_CALL_BYTES_MAX)
		return "its arguments or its result are too long";
	if (f->property_bytes == 0 && strcmp(f->property, none) != 0)
		return "its properties have no size";
	return NULL;
}

static enum whorl_result check_all(const struct whorl_function *const *functions, size_t count, struct wh_error *err)
{
	if (count > WH_FUNCTIONS_MOST)
		return wh_error_set(err, WHORL_INVALID, "%zu functions, at most %d", count, WH_FUNCTIONS_MOST);
	for (size_t i = 0; i < count; i++) {
		const char *fault = functions[i] == NULL ? "there is none" : fault_of(functions[i]);

		if (fault != NULL)
			return wh_error_set(
				err, WHORL_INVALID, "function %zu of %zu (%s): %s", i, count,
				functions[i] != NULL && functions[i]->name != NULL ? functions[i]->name : "", fault);
	}
	return WHORL_OK;
}

/* ---- numbers ----------------------------------------------------------------------------------------------------------------- */

static int by_name(const void *a, const void *b)
{
	const struct wh_known *x = a, *y = b;

	return strcmp(x->function->name, y->function->name);
}

static void fill(struct wh_table *table, const struct whorl_function *const *functions, size_t count)
{
	for (size_t i = 0; i < count; i++)
		table->known[i] = (struct wh_known){.function = functions[i],
						    .argument_bytes = (uint32_t)functions[i]->argument_bytes,
						    .result_bytes = (uint32_t)functions[i]->result_bytes};
	qsort(table->known, count, sizeof(*table->known), by_name);
	table->count = (uint32_t)count;
}

/* One function may be listed twice; two may not have one name. */
static enum whorl_result drop_doubles(struct wh_table *table, struct wh_error *err)
{
	uint32_t kept = 0;

	for (uint32_t i = 0; i < table->count; i++) {
		const struct whorl_function *f = table->known[i].function;

		if (kept > 0 && strcmp(f->name, table->known[kept - 1].function->name) == 0) {
			if (f != table->known[kept - 1].function)
				return wh_error_set(err, WHORL_INVALID, "two functions are called %s", f->name);
			continue;
		}
		table->known[kept++] = table->known[i];
	}
	table->count = kept;
	return WHORL_OK;
}

static enum whorl_result number_type(struct wh_table *table, uint32_t i, struct wh_error *err)
{
	struct wh_known *known = &table->known[i];

	if (known->function->property_bytes == 0)
		return WHORL_OK;
	for (uint32_t j = 0; j < i; j++) {
		const struct whorl_function *other = table->known[j].function;

		if (strcmp(other->property, known->function->property) != 0)
			continue;
		if (other->property_bytes != known->function->property_bytes)
			return wh_error_set(err, WHORL_INVALID, "%s has not the same size for the functions %s and %s",
					    other->property, other->name, known->function->name);
		known->type = table->known[j].type;
		return WHORL_OK;
	}
	known->type = ++table->types;
	return WHORL_OK;
}

uint32_t wh_table_type(const struct wh_table *table, const struct whorl_type *type)
{
	for (uint32_t i = 0; i < table->count; i++)
		if (strcmp(table->known[i].function->property, type->name) == 0 &&
		    table->known[i].function->property_bytes == type->bytes)
			return table->known[i].type;
	return WH_TYPE_NONE;
}

/* ---- finding ----------------------------------------------------------------------------------------------------------------- */

static uint32_t place_of(const struct wh_table *table, const struct whorl_function *function)
{
	return (uint32_t)((uint64_t)(uintptr_t)function * UINT64_C(0x9e3779b97f4a7c15) >> 32) & table->place_mask;
}

uint32_t wh_table_find(const struct wh_table *table, const struct whorl_function *function)
{
	for (uint32_t at = place_of(table, function);; at = (at + 1) & table->place_mask) {
		if (table->places[at].function == function)
			return table->places[at].number;
		if (table->places[at].function == NULL)
			return UINT32_MAX;
	}
}

static bool make_places(struct wh_table *table)
{
	uint32_t size = 4;

	while (size < 2 * table->count + 2)
		size *= 2;
	table->places = calloc(size, sizeof(*table->places));
	if (table->places == NULL)
		return false;
	table->place_mask = size - 1;
	for (uint32_t i = 0; i < table->count; i++) {
		uint32_t at = place_of(table, table->known[i].function);

		while (table->places[at].function != NULL)
			at = (at + 1) & table->place_mask;
		table->places[at].function = table->known[i].function;
		table->places[at].number = i;
	}
	return true;
}

/* ---- the digest -------------------------------------------------------------------------------------------------------------- */

/* Fowler, Noll and Vo's, 64 bits. */
void wh_digest(uint64_t *sum, const void *data, size_t bytes)
{
	const unsigned char *at = data;

	for (size_t i = 0; i < bytes; i++)
		*sum = (*sum ^ at[i]) * UINT64_C(0x100000001b3);
}

void wh_digest_number(uint64_t *sum, uint64_t number)
{
	unsigned char bytes[8];

	for (int i = 0; i < 8; i++)
		bytes[i] = (unsigned char)(number >> 8 * i);
	wh_digest(sum, bytes, sizeof(bytes));
}

void wh_digest_function(uint64_t *sum, const struct whorl_function *f)
{
	wh_digest(sum, f->name, strlen(f->name) + 1);
	wh_digest(sum, f->property, strlen(f->property) + 1);
	wh_digest_number(sum, f->property_bytes);
	wh_digest_number(sum, f->argument_bytes);
	wh_digest_number(sum, f->result_bytes);
	wh_digest_number(sum, f->flags);
}

static uint64_t digest_of(const struct wh_table *table)
{
	uint64_t sum = WH_DIGEST_BEGIN;

	for (uint32_t i = 0; i < table->count; i++)
		wh_digest_function(&sum, table->known[i].function);
	return sum;
}

/* ------------------------------------------------------------------------------------------------------------------------------ */

void wh_table_free(struct wh_table *table)
{
	free(table->known);
	free(table->places);
	*table = (struct wh_table){0};
}

enum whorl_result wh_table_make(struct wh_table *table, const struct whorl_function *const *functions, size_t count,
				struct wh_error *err)
{
	enum whorl_result result = check_all(functions, count, err);

	*table = (struct wh_table){0};
	if (result != WHORL_OK)
		return result;
	table->known = calloc(count + 1, sizeof(*table->known));
	if (table->known == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %zu functions", count);
	fill(table, functions, count);
	result = drop_doubles(table, err);
	for (uint32_t i = 0; result == WHORL_OK && i < table->count; i++)
		result = number_type(table, i, err);
	if (result == WHORL_OK && !make_places(table))
		result = wh_error_set(err, WHORL_MEMORY, "no memory for %zu functions", count);
	if (result != WHORL_OK) {
		wh_table_free(table);
		return result;
	}
	table->digest = digest_of(table);
	return WHORL_OK;
}
