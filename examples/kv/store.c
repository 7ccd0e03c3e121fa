/* examples/kv/store.c - keys, values, the clock: store.h. */
#include <stdlib.h>
#include <string.h>

#include "examples/kv/store_int.h"

#define TIDY_PARTS 16 /* at a time */
#define ROOM_KEPT 4   /* a value that needs less than this part of its room gets another */

/* ---- the hash, and the digest -----------------------------------------------------------------------------------------*/

static uint64_t mix(uint64_t h)
{
	h ^= h >> 33;
	h *= 0xff51afd7ed558ccdULL;
	h ^= h >> 33;
	h *= 0xc4ceb9fe1a85ec53ULL;
	return h ^ h >> 33;
}

/* Eight bytes at a time: a value may be long. */
static uint64_t hash_bytes(const void *data, size_t bytes, uint64_t seed)
{
	const unsigned char *at = data;
	uint64_t h = mix(seed + bytes), word;

	for (; bytes >= sizeof(word); bytes -= sizeof(word), at += sizeof(word)) {
		memcpy(&word, at, sizeof(word));
		h = (h ^ word) * 0x9e3779b97f4a7c15ULL;
		h ^= h >> 32;
	}
	word = 0;
	if (bytes > 0)
		memcpy(&word, at, bytes);
	return mix(h ^ word);
}

static uint64_t entry_digest(const struct kv_entry *entry)
{
	uint64_t of_key = hash_bytes(entry->key, entry->key_bytes, 1);

	return hash_bytes(entry->value, entry->value_bytes, of_key + mix(entry->expires_ms));
}

static uint64_t entry_used(const struct kv_entry *entry)
{
	return (uint64_t)KV_ENTRY_BYTES + entry->key_bytes + entry->value_bytes;
}

/* ---- tables -------------------------------------------------------------------------------------------------------------*/

struct kv_table *kv_table_new(void)
{
	struct kv_table *table = calloc(1, sizeof(*table));

	if (table == NULL || pthread_mutex_init(&table->lock, NULL) != 0)
		return free(table), NULL;
	atomic_store(&table->users, 1);
	return table;
}

void kv_part_free(struct kv_table *table, uint32_t part)
{
	struct kv_entry *entry = table->parts[part], *next;

	HASH_CLEAR(hh, table->parts[part]);
	for (; entry != NULL; entry = next) {
		next = entry->hh.next;
		free(entry->value);
		free(entry);
	}
}

void kv_table_drop(struct kv_table *table)
{
	if (table == NULL || atomic_fetch_sub(&table->users, 1) > 1)
		return;
	for (uint32_t part = 0; part < KV_PARTS; part++)
		kv_part_free(table, part);
	pthread_mutex_destroy(&table->lock);
	free(table);
}

/* Before a part changes, and after it. */
static bool lock_part(struct kv_table *table, uint32_t part)
{
	if (atomic_load(&table->snapshots_out) == 0)
		return false;
	pthread_mutex_lock(&table->lock);
	kv_snapshots_keep(table, part);
	return true;
}

static void unlock_part(struct kv_table *table, bool locked)
{
	if (locked)
		pthread_mutex_unlock(&table->lock);
}

/* ---- the heap of what expires -----------------------------------------------------------------------------------------*/

static void heap_set(struct kv_store *store, size_t at, struct kv_entry *entry)
{
	store->due[at] = entry;
	entry->due = at + 1;
}

/* Moves the entry that stands at `at` to where it belongs. */
static void heap_settle(struct kv_store *store, size_t at)
{
	struct kv_entry *entry = store->due[at];

	while (at > 0 && store->due[(at - 1) / 2]->expires_ms > entry->expires_ms) {
		heap_set(store, at, store->due[(at - 1) / 2]);
		at = (at - 1) / 2;
	}
	for (;;) {
		size_t child = 2 * at + 1;

		if (child + 1 < store->due_count && store->due[child + 1]->expires_ms < store->due[child]->expires_ms)
			child++;
		if (child >= store->due_count || store->due[child]->expires_ms >= entry->expires_ms)
			break;
		heap_set(store, at, store->due[child]);
		at = child;
	}
	heap_set(store, at, entry);
}

static void heap_remove(struct kv_store *store, struct kv_entry *entry)
{
	size_t at = entry->due - 1;

	if (entry->due == 0)
		return;
	entry->due = 0;
	store->due_count--;
	if (at < store->due_count) {
		heap_set(store, at, store->due[store->due_count]);
		heap_settle(store, at);
	}
}

static bool heap_reserve(struct kv_store *store)
{
	size_t room = store->due_room > 0 ? 2 * store->due_room : 64;
	struct kv_entry **due;

	if (store->due_count < store->due_room)
		return true;
	due = realloc(store->due, room * sizeof(struct kv_entry *));
	if (due == NULL)
		return false;
	store->due = due;
	store->due_room = room;
	return true;
}

/* There is room for it: heap_reserve. */
static void set_expiry(struct kv_store *store, struct kv_entry *entry, uint64_t expires_ms)
{
	entry->expires_ms = expires_ms;
	if (expires_ms == 0) {
		heap_remove(store, entry);
		return;
	}
	if (entry->due == 0)
		heap_set(store, store->due_count++, entry);
	heap_settle(store, entry->due - 1);
}

/* ---- entries --------------------------------------------------------------------------------------------------------------*/

static uint64_t hash_of(struct kv_slice key)
{
	return hash_bytes(key.data, key.bytes, 0);
}

/* By the upper bits; the tables go by the lower. */
static uint32_t part_of(uint64_t hash)
{
	return (uint32_t)(hash / (UINT64_MAX / KV_PARTS + 1));
}

static struct kv_entry *find_entry(const struct kv_store *store, struct kv_slice key, uint64_t hash)
{
	struct kv_entry *entry;

	HASH_FIND_BYHASHVALUE(hh, store->table->parts[part_of(hash)], key.data, key.bytes, (unsigned)hash, entry);
	return entry;
}

/* An entry counts, or no more. */
static void count_entry(struct kv_store *store, struct kv_entry *entry)
{
	entry->digest = entry_digest(entry);
	store->sum += entry->digest;
	store->used += entry_used(entry);
	store->keys++;
}

static void discount_entry(struct kv_store *store, const struct kv_entry *entry)
{
	store->sum -= entry->digest;
	store->used -= entry_used(entry);
	store->keys--;
}

/* A new entry, without a value. */
static struct kv_entry *add_entry(struct kv_table *table, struct kv_slice key, uint64_t hash)
{
	struct kv_entry *entry = malloc(sizeof(*entry) + key.bytes);

	if (entry == NULL)
		return NULL;
	memset(entry, 0, sizeof(*entry));
	entry->key_bytes = (uint32_t)key.bytes;
	memcpy(entry->key, key.data, key.bytes);
	HASH_ADD_KEYPTR_BYHASHVALUE(hh, table->parts[part_of(hash)], entry->key, key.bytes, (unsigned)hash, entry);
	if (entry->hh.tbl == NULL)
		return free(entry), NULL;
	return entry;
}

static void delete_entry(struct kv_store *store, struct kv_entry *entry, uint32_t part)
{
	discount_entry(store, entry);
	heap_remove(store, entry);
	HASH_DELETE(hh, store->table->parts[part], entry);
	free(entry->value);
	free(entry);
}

/* Room for a value of `bytes`: that of the entry, or new memory. NULL: memory is out. */
static char *value_room(const struct kv_entry *entry, size_t bytes, size_t *room, bool grows)
{
	if (bytes > 0 && bytes <= entry->value_room && bytes >= entry->value_room / ROOM_KEPT) {
		*room = entry->value_room;
		return entry->value;
	}
	*room = grows ? 2 * bytes : bytes;
	return malloc(*room > 0 ? *room : 1);
}

/* ---- what store.h promises ------------------------------------------------------------------------------------------------*/

struct kv_store *kv_store_new(void)
{
	struct kv_store *store = calloc(1, sizeof(*store));

	if (store == NULL || (store->table = kv_table_new()) == NULL)
		return free(store), NULL;
	return store;
}

void kv_store_free(struct kv_store *store)
{
	if (store == NULL)
		return;
	kv_table_drop(store->table);
	while (store->graves != NULL) {
		struct kv_table *grave = store->graves;

		store->graves = grave->next_grave;
		kv_table_drop(grave);
	}
	free(store->due);
	free(store);
}

void kv_store_get_figures(const struct kv_store *store, struct kv_store_figures *out)
{
	*out = (struct kv_store_figures){
		.keys = store->keys,
		.expiring = store->due_count,
		.used = store->used,
		.digest = mix(store->sum + mix(store->clock_ms)),
		.calls = store->calls,
		.clock_ms = store->clock_ms,
		.view = store->view,
		.sequence = store->sequence,
		.snapshots = atomic_load(&store->table->snapshots_out),
	};
}

void kv_store_begin_call(struct kv_store *store, uint64_t view, uint64_t sequence)
{
	store->calls++;
	store->view = view;
	store->sequence = sequence;
}

bool kv_store_get(const struct kv_store *store, struct kv_slice key, struct kv_value *value)
{
	const struct kv_entry *entry = find_entry(store, key, hash_of(key));

	if (entry != NULL)
		*value = (struct kv_value){entry->value, entry->value_bytes, entry->expires_ms};
	return entry != NULL;
}

/* The part is locked, if it must be. */
static bool put_entry(struct kv_store *store, struct kv_slice key, uint64_t hash, struct kv_slice data,
		      struct kv_slice more, uint64_t expires_ms)
{
	struct kv_entry *entry = find_entry(store, key, hash);
	size_t bytes = data.bytes + more.bytes, room;
	bool is_new = entry == NULL;
	char *value;

	if (bytes > UINT32_MAX / 2 || key.bytes > UINT32_MAX || !heap_reserve(store) ||
	    (is_new && (entry = add_entry(store->table, key, hash)) == NULL))
		return false;
	value = value_room(entry, bytes, &room, more.bytes > 0);
	if (value == NULL) {
		if (is_new) {
			HASH_DELETE(hh, store->table->parts[part_of(hash)], entry);
			free(entry);
		}
		return false;
	}
	if (!is_new)
		discount_entry(store, entry);
	if (data.bytes > 0)
		memmove(value, data.data, data.bytes);
	if (more.bytes > 0)
		memcpy(value + data.bytes, more.data, more.bytes);
	if (value != entry->value)
		free(entry->value);
	entry->value = value;
	entry->value_bytes = (uint32_t)bytes;
	entry->value_room = (uint32_t)room;
	set_expiry(store, entry, expires_ms);
	count_entry(store, entry);
	return true;
}

bool kv_store_put(struct kv_store *store, struct kv_slice key, struct kv_slice data, struct kv_slice more,
		  uint64_t expires_ms)
{
	uint64_t hash = hash_of(key);
	bool locked = lock_part(store->table, part_of(hash));
	bool done = put_entry(store, key, hash, data, more, expires_ms);

	unlock_part(store->table, locked);
	return done;
}

bool kv_store_remove(struct kv_store *store, struct kv_slice key)
{
	uint64_t hash = hash_of(key);
	struct kv_entry *entry = find_entry(store, key, hash);
	bool locked;

	if (entry == NULL)
		return false;
	locked = lock_part(store->table, part_of(hash));
	delete_entry(store, entry, part_of(hash));
	unlock_part(store->table, locked);
	return true;
}

bool kv_store_expire(struct kv_store *store, struct kv_slice key, uint64_t expires_ms, bool *failed)
{
	uint64_t hash = hash_of(key);
	struct kv_entry *entry = find_entry(store, key, hash);
	bool locked;

	*failed = entry != NULL && !heap_reserve(store);
	if (entry == NULL || *failed)
		return false;
	locked = lock_part(store->table, part_of(hash));
	discount_entry(store, entry);
	set_expiry(store, entry, expires_ms);
	count_entry(store, entry);
	unlock_part(store->table, locked);
	return true;
}

bool kv_store_clear(struct kv_store *store)
{
	struct kv_table *table = kv_table_new();

	if (table == NULL)
		return false;
	store->table->next_grave = store->graves;
	store->graves = store->table;
	store->table = table;
	store->due_count = 0;
	store->keys = store->used = store->sum = 0;
	return true;
}

bool kv_store_tidy(struct kv_store *store)
{
	struct kv_table *grave = store->graves;

	if (grave == NULL)
		return false;
	if (atomic_load(&grave->snapshots_out) == 0) /* and none will be taken */
		for (uint32_t i = 0; i < TIDY_PARTS && grave->tidied < KV_PARTS; i++)
			kv_part_free(grave, grave->tidied++);
	if (grave->tidied == KV_PARTS) {
		store->graves = grave->next_grave;
		kv_table_drop(grave);
	}
	return store->graves != NULL;
}

void kv_store_advance(struct kv_store *store, uint64_t by_ms)
{
	store->clock_ms += by_ms;
	/* The clock is behind by up to a tick when a key is told how long to live. */
	while (store->due_count > 0 && store->due[0]->expires_ms + KV_TICK_MS <= store->clock_ms)
		kv_store_remove(store, (struct kv_slice){store->due[0]->key, store->due[0]->key_bytes});
}

void kv_store_visit(const struct kv_store *store, uint32_t part, kv_visit_fn *visit, void *ctx)
{
	for (const struct kv_entry *entry = store->table->parts[part]; entry != NULL; entry = entry->hh.next)
		visit((struct kv_slice){entry->key, entry->key_bytes}, ctx);
}
