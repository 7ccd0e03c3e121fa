/* examples/kv/store.h - the state that all replicas agree on: keys with values, some of which expire, and a clock.
 *
 * Whatever is in it follows from the calls alone. Time is a number in the state, which calls move on (kv_store_advance).
 * How much is used is counted by a rule of its own, and not asked of the allocator, so that all replicas count the same. The digest is a
 * sum over all keys, kept as they change: replicas that have applied the same calls show the same.
 *
 * The keys are shared out by their hash among a fixed number of parts, each a hash table of its own (uthash). That bounds three things to a
 * part: how long one call is held up by a table that grows; what SCAN returns at once (its cursor is the number of a part, good
 * at every replica, however tables grow); and what a write has to copy while a snapshot is out.
 *
 * A snapshot is the store as it was when it was taken, read by another thread while calls go on: before a part changes that
 * an unread snapshot needs, it is written down for it. Then a lock is taken, which the reader holds for one part at most. Without a
 * snapshot there is none. Everything but kv_snapshot_read and kv_snapshot_release belongs to one thread.
 */
#ifndef KV_STORE_H
#define KV_STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "resp/resp.h"

#define KV_PARTS 4096
#define KV_ENTRY_BYTES 128 /* what a key counts for, beside its own bytes and its value's */
#define KV_TICK_MS 100     /* the clock moves by about so much at a time; no key goes earlier than it was told to */

struct kv_store;
struct kv_snapshot;

struct kv_store_figures {
	uint64_t keys, expiring; /* keys; those of them that expire */
	uint64_t used;           /* bytes, by the rule */
	uint64_t digest;         /* of all keys, values and when they expire, and of the clock */
	uint64_t calls;          /* that have made it */
	uint64_t clock_ms;
	uint64_t view,
		sequence;   /* of the last call, or of the snapshot that it was restored from; no part of the digest */
	uint32_t snapshots; /* that are out */
};

struct kv_store *kv_store_new(void); /* NULL when memory is out */
void kv_store_free(struct kv_store *store);

void kv_store_get_figures(const struct kv_store *store, struct kv_store_figures *out);

/* A call is being applied: it is counted, with its place in the order. */
void kv_store_begin_call(struct kv_store *store, uint64_t view, uint64_t sequence);

struct kv_value {
	const char *data; /* until the store changes */
	size_t bytes;
	uint64_t expires_ms; /* by the state's clock; 0: never */
};

/* False: there is no such key. */
bool kv_store_get(const struct kv_store *store, struct kv_slice key, struct kv_value *value);

/* Puts `data`, and `more` behind it, in place of what is there; they may be the value that is there. False: memory is out. */
bool kv_store_put(struct kv_store *store, struct kv_slice key, struct kv_slice data, struct kv_slice more,
		  uint64_t expires_ms);

/* True: it was there. */
bool kv_store_remove(struct kv_store *store, struct kv_slice key);

/* True: it was there, and expires then; 0: never. *failed: memory is out. */
bool kv_store_expire(struct kv_store *store, struct kv_slice key, uint64_t expires_ms, bool *failed);

/* All keys go. What they held is freed bit by bit, by kv_store_tidy. False: memory is out, and nothing has changed. */
bool kv_store_clear(struct kv_store *store);

/* The clock moves on, and what has expired goes. */
void kv_store_advance(struct kv_store *store, uint64_t by_ms);

/* Frees a little of what nobody needs any more. True: there is more. */
bool kv_store_tidy(struct kv_store *store);

/* Calls `visit` for each key of a part. */
typedef void kv_visit_fn(struct kv_slice key, void *ctx);
void kv_store_visit(const struct kv_store *store, uint32_t part, kv_visit_fn *visit, void *ctx);

/* ---- snapshots ------------------------------------------------------------------------------------------------------------*/

/* NULL: memory is out. `view` and `sequence` say where it stands in the order. */
struct kv_snapshot *kv_snapshot_take(struct kv_store *store, uint64_t view, uint64_t sequence);

/* The next of its bytes; 0: that was all, -1: memory is out. Any thread, one at a time. */
ptrdiff_t kv_snapshot_read(struct kv_snapshot *snapshot, void *bytes, size_t count);
void kv_snapshot_release(struct kv_snapshot *snapshot);

/* The other way: bytes of a snapshot, cut anywhere, become a store. */
struct kv_restore;
struct kv_restore *kv_restore_new(void); /* NULL: memory is out */
bool kv_restore_bytes(struct kv_restore *restore, const void *bytes,
		      size_t count); /* false: they are none of a snapshot, or memory is out */
/* The store, if it is whole and has the digest that it should have, else NULL. `restore` is freed in any case. No bytes: an empty store. */
struct kv_store *kv_restore_end(struct kv_restore *restore);

#endif
