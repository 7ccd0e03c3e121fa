/* examples/kv/snapshot.c - the store as it was, for a newcomer, and back: store.h. */
#include <stdlib.h>
#include <string.h>

#include "examples/kv/store_int.h"

void kv_part_write(const struct kv_table *table, uint32_t part, struct kv_bytes *into)
{
	for (const struct kv_entry *entry = table->parts[part]; entry != NULL; entry = entry->hh.next) {
		struct kv_entry_head head = {entry->key_bytes, entry->value_bytes, entry->expires_ms};

		kv_bytes_add(into, &head, sizeof(head));
		kv_bytes_add(into, entry->key, entry->key_bytes);
		kv_bytes_add(into, entry->value, entry->value_bytes);
	}
}

void kv_snapshots_keep(struct kv_table *table, uint32_t part)
{
	for (struct kv_snapshot *snapshot = table->snapshots; snapshot != NULL; snapshot = snapshot->next)
		if (snapshot->part <= part && !snapshot->copied[part]) {
			kv_part_write(table, part, &snapshot->copies[part]);
			snapshot->failed = snapshot->failed || snapshot->copies[part].failed;
			snapshot->copied[part] = true;
		}
}

struct kv_snapshot *kv_snapshot_take(struct kv_store *store, uint64_t view, uint64_t sequence)
{
	struct kv_snapshot_head head = {.keys = store->keys,
					.sum = store->sum,
					.calls = store->calls,
					.clock_ms = store->clock_ms,
					.view = view,
					.sequence = sequence};
	struct kv_snapshot *snapshot = calloc(1, sizeof(*snapshot));

	if (snapshot == NULL)
		return NULL;
	memcpy(head.magic, KV_SNAPSHOT_MAGIC, sizeof(head.magic));
	kv_bytes_add(&snapshot->ready, &head, sizeof(head));
	if (snapshot->ready.failed)
		return free(snapshot), NULL;
	snapshot->table = store->table;
	atomic_fetch_add(&store->table->users, 1);
	pthread_mutex_lock(&store->table->lock);
	snapshot->next = store->table->snapshots;
	store->table->snapshots = snapshot;
	atomic_fetch_add(&store->table->snapshots_out, 1);
	pthread_mutex_unlock(&store->table->lock);
	return snapshot;
}

/* Takes the next part into `ready`: as it was kept, or as it is. */
static void read_part(struct kv_snapshot *snapshot)
{
	uint32_t part = snapshot->part;

	kv_bytes_clear(&snapshot->ready, SIZE_MAX);
	snapshot->ready_at = 0;
	pthread_mutex_lock(&snapshot->table->lock);
	if (snapshot->copied[part]) {
		free(snapshot->ready.data);
		snapshot->ready = snapshot->copies[part];
		snapshot->copies[part] = (struct kv_bytes){0};
	} else {
		kv_part_write(snapshot->table, part, &snapshot->ready);
	}
	snapshot->failed = snapshot->failed || snapshot->ready.failed;
	snapshot->part++;
	pthread_mutex_unlock(&snapshot->table->lock);
}

ptrdiff_t kv_snapshot_read(struct kv_snapshot *snapshot, void *bytes, size_t count)
{
	size_t done = 0;

	while (done < count) {
		size_t some = snapshot->ready.used - snapshot->ready_at;

		if (some == 0) {
			if (snapshot->part == KV_PARTS)
				break;
			read_part(snapshot);
			continue;
		}
		some = some < count - done ? some : count - done;
		memcpy((char *)bytes + done, snapshot->ready.data + snapshot->ready_at, some);
		snapshot->ready_at += some;
		done += some;
	}
	pthread_mutex_lock(&snapshot->table->lock); /* the store writes `failed` as well */
	if (snapshot->failed)
		done = SIZE_MAX;
	pthread_mutex_unlock(&snapshot->table->lock);
	return (ptrdiff_t)done;
}

void kv_snapshot_release(struct kv_snapshot *snapshot)
{
	struct kv_table *table = snapshot->table;

	pthread_mutex_lock(&table->lock);
	for (struct kv_snapshot **at = &table->snapshots; *at != NULL; at = &(*at)->next)
		if (*at == snapshot) {
			*at = snapshot->next;
			break;
		}
	atomic_fetch_sub(&table->snapshots_out, 1);
	pthread_mutex_unlock(&table->lock);
	for (uint32_t part = 0; part < KV_PARTS; part++)
		free(snapshot->copies[part].data);
	free(snapshot->ready.data);
	free(snapshot);
	kv_table_drop(table);
}

/* ---- back -----------------------------------------------------------------------------------------------------------------*/

struct kv_restore {
	struct kv_store *store;
	struct kv_snapshot_head head;
	struct kv_bytes rest; /* what is no whole entry yet */
	bool begun, wrong;
};

struct kv_restore *kv_restore_new(void)
{
	struct kv_restore *restore = calloc(1, sizeof(*restore));

	if (restore == NULL || (restore->store = kv_store_new()) == NULL)
		return free(restore), NULL;
	return restore;
}

/* Takes in the head, or an entry, if it is whole. Returns how many bytes that was; 0: it is not; SIZE_MAX: something is wrong. */
static size_t take_one(struct kv_restore *restore, const char *data, size_t bytes)
{
	struct kv_entry_head head;
	size_t whole;

	if (!restore->begun) {
		if (bytes < sizeof(restore->head))
			return 0;
		memcpy(&restore->head, data, sizeof(restore->head));
		restore->begun = true;
		return memcmp(restore->head.magic, KV_SNAPSHOT_MAGIC, 8) == 0 ? sizeof(restore->head) : SIZE_MAX;
	}
	if (bytes < sizeof(head))
		return 0;
	memcpy(&head, data, sizeof(head));
	whole = sizeof(head) + (size_t)head.key_bytes + head.value_bytes;
	if (bytes < whole)
		return 0;
	data += sizeof(head);
	return kv_store_put(restore->store, (struct kv_slice){data, head.key_bytes},
			    (struct kv_slice){data + head.key_bytes, head.value_bytes}, (struct kv_slice){NULL, 0},
			    head.expires_ms)
		       ? whole
		       : SIZE_MAX;
}

bool kv_restore_bytes(struct kv_restore *restore, const void *bytes, size_t count)
{
	size_t at = 0, one = 0;

	kv_bytes_add(&restore->rest, bytes, count);
	restore->wrong = restore->wrong || restore->rest.failed;
	while (!restore->wrong && (one = take_one(restore, restore->rest.data + at, restore->rest.used - at)) > 0) {
		restore->wrong = one == SIZE_MAX;
		at += restore->wrong ? 0 : one;
	}
	kv_bytes_drop(&restore->rest, at);
	return !restore->wrong;
}

struct kv_store *kv_restore_end(struct kv_restore *restore)
{
	struct kv_store *store = restore->store;
	bool whole = !restore->begun || (store->keys == restore->head.keys && store->sum == restore->head.sum);

	if (restore->wrong || restore->rest.used > 0 || !whole) {
		kv_store_free(store);
		store = NULL;
	} else if (restore->begun) {
		store->calls = restore->head.calls;
		store->clock_ms = restore->head.clock_ms;
		store->view = restore->head.view;
		store->sequence = restore->head.sequence;
	}
	free(restore->rest.data);
	free(restore);
	return store;
}
