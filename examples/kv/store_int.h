/* examples/kv/store_int.h - how the store lies in memory: for store.c and snapshot.c. */
#ifndef KV_STORE_INT_H
#define KV_STORE_INT_H

#include <pthread.h>
#include <stdatomic.h>

#include "examples/kv/store.h"

/* uthash: a table begins small, since there are thousands; when memory is out an entry is not added, and we look. */
#define HASH_INITIAL_NUM_BUCKETS 8U
#define HASH_INITIAL_NUM_BUCKETS_LOG2 3U
#define HASH_NONFATAL_OOM 1
#include <uthash.h>

struct kv_entry {
	UT_hash_handle hh;
	uint64_t digest; /* of this entry, as it counts in the store's */
	uint64_t expires_ms;
	size_t due; /* 1 + where it stands in `due`; 0: it never expires */
	char *value;
	uint32_t key_bytes, value_bytes, value_room;
	char key[];
};

/* The keys. Shared by the store and the snapshots of it; the last of them frees it. */
struct kv_table {
	atomic_uint users;
	atomic_uint snapshots_out;
	pthread_mutex_t
		lock; /* held by the store while it changes a part, and by a reader while it reads one, if a snapshot is out */
	struct kv_snapshot *snapshots;
	struct kv_table *next_grave; /* the store's: tables that are to be freed */
	uint32_t tidied;             /* parts of it that are free by now */
	struct kv_entry *parts[KV_PARTS];
};

struct kv_store {
	struct kv_table *table, *graves;
	struct kv_entry **due; /* a heap: the first expires first */
	size_t due_count, due_room;
	uint64_t keys, used, sum, calls, clock_ms, view, sequence;
};

struct kv_snapshot {
	struct kv_table *table;
	struct kv_snapshot *next;
	struct kv_bytes ready; /* written down, and not read: from ready_at on */
	size_t ready_at;
	uint32_t part; /* the next to be read */
	bool failed;   /* memory was out */
	bool copied[KV_PARTS];
	struct kv_bytes copies[KV_PARTS]; /* of parts that have changed since */
};

/* What a snapshot begins with; entries follow: key_bytes, value_bytes, expires_ms, the key, the value. Numbers as the machine has them. */
struct kv_snapshot_head {
	char magic[8];
	uint64_t keys, sum, calls, clock_ms, view, sequence;
};

struct kv_entry_head {
	uint32_t key_bytes, value_bytes;
	uint64_t expires_ms;
};

#define KV_SNAPSHOT_MAGIC "whorlkv1"

struct kv_table *kv_table_new(void);
void kv_table_drop(struct kv_table *table);               /* a user has done with it */
void kv_part_free(struct kv_table *table, uint32_t part); /* all its entries */
void kv_part_write(const struct kv_table *table, uint32_t part, struct kv_bytes *into);
void kv_snapshots_keep(struct kv_table *table, uint32_t part); /* with the lock: the part is about to change */

#endif
