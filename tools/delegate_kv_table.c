/* delegate_kv_table.c - the keys of a shard: a table of lists. It doubles as it fills. See delegate_kv.h.
 *
 * A key and its value lie in one piece of memory; a value that is not longer than the room there is written over. Nothing here is shared:
 * a thread that runs a request has the table alone, or among others that only read.
 */
#include <stdlib.h>
#include <string.h>

#include "tools/delegate_kv.h"

#define FIRST_HEADS 64

struct wh_kv_entry {
	struct wh_kv_entry *next;
	uint64_t hash;
	uint32_t key_bytes, value_bytes, value_room;
	char data[]; /* the key, then the value */
};

/* ---- SipHash-1-3 ------------------------------------------------------------------------------------------------------------ */

static inline uint64_t turn(uint64_t x, int by)
{
	return x << by | x >> (64 - by);
}

static inline void sip_round(uint64_t v[4])
{
	v[0] += v[1], v[1] = turn(v[1], 13) ^ v[0], v[0] = turn(v[0], 32);
	v[2] += v[3], v[3] = turn(v[3], 16) ^ v[2];
	v[0] += v[3], v[3] = turn(v[3], 21) ^ v[0];
	v[2] += v[1], v[1] = turn(v[1], 17) ^ v[2], v[2] = turn(v[2], 32);
}

uint64_t wh_kv_hash(const uint64_t seed[2], const void *data, size_t bytes)
{
	uint64_t v[4] = {seed[0] ^ UINT64_C(0x736f6d6570736575), seed[1] ^ UINT64_C(0x646f72616e646f6d),
			 seed[0] ^ UINT64_C(0x6c7967656e657261), seed[1] ^ UINT64_C(0x7465646279746573)};
	const unsigned char *at = data;
	uint64_t word, last = (uint64_t)bytes << 56;

	for (size_t left = bytes; left >= 8; left -= 8, at += 8) {
		memcpy(&word, at, 8);
		v[3] ^= word;
		sip_round(v);
		v[0] ^= word;
	}
	for (size_t i = 0; i < bytes % 8; i++)
		last |= (uint64_t)at[i] << (8 * i);
	v[3] ^= last;
	sip_round(v);
	v[0] ^= last;
	v[2] ^= 0xff;
	for (int i = 0; i < 3; i++)
		sip_round(v);
	return v[0] ^ v[1] ^ v[2] ^ v[3];
}

/* ---- entries ------------------------------------------------------------------------------------------------------------------ */

/* Where a pointer to the entry stands; the end of its list: there is none. NULL: the table has no lists. */
static struct wh_kv_entry **find(const struct wh_kv_table *table, const struct wh_kv_request *r)
{
	struct wh_kv_entry **at;

	if (table->heads == NULL)
		return NULL;
	for (at = &table->heads[r->hash & table->mask]; *at != NULL; at = &(*at)->next)
		if ((*at)->hash == r->hash && (*at)->key_bytes == r->key.bytes &&
		    memcmp((*at)->data, r->key.data, r->key.bytes) == 0)
			break;
	return at;
}

static struct wh_kv_entry *find_entry(const struct wh_kv_table *table, const struct wh_kv_request *r)
{
	struct wh_kv_entry **at = find(table, r);

	return at == NULL ? NULL : *at;
}

/* Twice as many lists as before. Without memory for them they become longer. */
static void grow(struct wh_kv_table *table)
{
	uint64_t heads = table->heads == NULL ? FIRST_HEADS : 2 * (table->mask + 1);
	struct wh_kv_entry **grown = calloc(heads, sizeof(*grown)), *entry, *next;

	if (grown == NULL)
		return;
	for (uint64_t i = 0; table->heads != NULL && i <= table->mask; i++)
		for (entry = table->heads[i]; entry != NULL; entry = next) {
			next = entry->next;
			entry->next = grown[entry->hash & (heads - 1)];
			grown[entry->hash & (heads - 1)] = entry;
		}
	free(table->heads);
	table->heads = grown;
	table->mask = heads - 1;
}

static void write_value(struct wh_kv_table *table, struct wh_kv_entry *entry, struct wh_kv_slice value)
{
	if (value.bytes > 0)
		memcpy(entry->data + entry->key_bytes, value.data, value.bytes);
	table->bytes += value.bytes;
	entry->value_bytes = (uint32_t)value.bytes;
}

/* Room that is far too large is given back. */
static bool fits(const struct wh_kv_entry *entry, size_t bytes)
{
	return bytes <= entry->value_room && bytes + 64 >= entry->value_room / 4;
}

static bool put(struct wh_kv_table *table, const struct wh_kv_request *r, struct wh_kv_slice value)
{
	struct wh_kv_entry **at, *entry, *old;
	size_t room = (value.bytes + 15) / 16 * 16;

	if (table->heads == NULL || table->keys > table->mask)
		grow(table);
	at = find(table, r);
	if (at == NULL)
		return false;
	old = *at;
	if (old != NULL && fits(old, value.bytes)) {
		table->bytes -= old->value_bytes;
		write_value(table, old, value);
		return true;
	}
	entry = malloc(sizeof(*entry) + r->key.bytes + room);
	if (entry == NULL)
		return false;
	*entry = (struct wh_kv_entry){old == NULL ? NULL : old->next, r->hash, (uint32_t)r->key.bytes, 0,
				      (uint32_t)room};
	memcpy(entry->data, r->key.data, r->key.bytes);
	*at = entry;
	if (old != NULL) {
		table->bytes -= old->value_bytes;
	} else {
		table->bytes += r->key.bytes;
		table->keys++;
	}
	write_value(table, entry, value);
	free(old);
	return true;
}

static bool remove_entry(struct wh_kv_table *table, const struct wh_kv_request *r)
{
	struct wh_kv_entry **at = find(table, r), *entry = at == NULL ? NULL : *at;

	if (entry == NULL)
		return false;
	*at = entry->next;
	table->keys--;
	table->bytes -= entry->key_bytes + entry->value_bytes;
	free(entry);
	return true;
}

/* ---- requests ------------------------------------------------------------------------------------------------------------------ */

static size_t write_number(char text[24], int64_t value)
{
	uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
	char *at = text + 24;

	do
		*--at = (char)('0' + rest % 10);
	while ((rest /= 10) > 0);
	if (value < 0)
		*--at = '-';
	memmove(text, at, (size_t)(text + 24 - at));
	return (size_t)(text + 24 - at);
}

static struct wh_kv_answer add(struct wh_kv_table *table, const struct wh_kv_request *r)
{
	const struct wh_kv_entry *entry = find_entry(table, r);
	int64_t value = 0;
	char text[24];
	size_t bytes;

	if (entry != NULL && !kv_integer((struct kv_slice){entry->data + entry->key_bytes, entry->value_bytes}, &value))
		return (struct wh_kv_answer){.kind = WH_KV_NO_NUMBER};
	if (r->by > 0 ? value > INT64_MAX - r->by : value < INT64_MIN - r->by)
		return (struct wh_kv_answer){.kind = WH_KV_OVERFLOW};
	value += r->by;
	bytes = write_number(text, value);
	if (!put(table, r, (struct wh_kv_slice){text, bytes}))
		return (struct wh_kv_answer){.kind = WH_KV_NO_MEMORY};
	return (struct wh_kv_answer){.kind = WH_KV_NUMBER, .number = value};
}

static struct wh_kv_answer number(uint64_t count)
{
	return (struct wh_kv_answer){.kind = WH_KV_NUMBER, .number = (int64_t)count};
}

static struct wh_kv_answer get(const struct wh_kv_table *table, const struct wh_kv_request *r)
{
	const struct wh_kv_entry *entry = find_entry(table, r);

	if (entry == NULL)
		return (struct wh_kv_answer){.kind = WH_KV_NIL};
	return (struct wh_kv_answer){.kind = WH_KV_VALUE,
				     .value = {entry->data + entry->key_bytes, entry->value_bytes}};
}

struct wh_kv_answer wh_kv_table_run(struct wh_kv_table *table, const struct wh_kv_request *request)
{
	switch (request->op) {
	case WH_KV_GET:
		return get(table, request);
	case WH_KV_EXISTS:
		return number(find_entry(table, request) != NULL);
	case WH_KV_COUNT:
		return number(table->keys);
	case WH_KV_SET:
		return (struct wh_kv_answer){.kind = put(table, request, request->value) ? WH_KV_DONE
											 : WH_KV_NO_MEMORY};
	case WH_KV_DEL:
		return number(remove_entry(table, request));
	case WH_KV_ADD:
		return add(table, request);
	case WH_KV_CLEAR:
		wh_kv_table_free(table);
		return (struct wh_kv_answer){.kind = WH_KV_DONE};
	default:
		return (struct wh_kv_answer){.kind = WH_KV_FAILED};
	}
}

void wh_kv_table_free(struct wh_kv_table *table)
{
	struct wh_kv_entry *entry, *next;

	for (uint64_t i = 0; table->heads != NULL && i <= table->mask; i++)
		for (entry = table->heads[i]; entry != NULL; entry = next) {
			next = entry->next;
			free(entry);
		}
	free(table->heads);
	*table = (struct wh_kv_table){0};
}
