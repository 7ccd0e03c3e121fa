/* test_kv_store.c - the state of examples/kv: what it counts, what expires, and snapshots that are read while it changes. */
#include <pthread.h>
#include <string.h>

#include "examples/kv/store.h"
#include "tests/harness.h"

#define MANY 20000

static const struct kv_slice none = {"", 0};

static struct kv_slice slice(const char *text)
{
	return (struct kv_slice){text, strlen(text)};
}

static struct kv_slice key_of(char buf[32], unsigned i)
{
	return (struct kv_slice){buf, (size_t)snprintf(buf, 32, "key:%u", i)};
}

static void put(struct kv_store *store, const char *key, const char *value, uint64_t expires_ms)
{
	ck_assert(kv_store_put(store, slice(key), slice(value), none, expires_ms));
}

static void put_many(struct kv_store *store, unsigned from, unsigned to, const char *value)
{
	char key[32];

	for (unsigned i = from; i < to; i++)
		ck_assert(kv_store_put(store, key_of(key, i), slice(value), none, i % 10 == 0 ? 1000 + i : 0));
}

static struct kv_store_figures figures_of(const struct kv_store *store)
{
	struct kv_store_figures figures;

	kv_store_get_figures(store, &figures);
	return figures;
}

static bool has(const struct kv_store *store, const char *key, const char *value)
{
	struct kv_value found;

	return kv_store_get(store, slice(key), &found) && found.bytes == strlen(value) &&
	       memcmp(found.data, value, found.bytes) == 0;
}

TEST(values_come_and_go)
{
	struct kv_store *store = kv_store_new();
	uint64_t empty = figures_of(store).digest;

	put(store, "a", "1", 0);
	put(store, "b", "2", 0);
	put(store, "", "", 0);
	ck_assert(has(store, "a", "1") && has(store, "b", "2") && has(store, "", ""));
	ck_assert_uint_eq(figures_of(store).keys, 3);
	ck_assert_uint_eq(figures_of(store).used, 3 * KV_ENTRY_BYTES + 4);
	put(store, "a", "longer", 0);
	ck_assert(has(store, "a", "longer"));
	ck_assert(kv_store_remove(store, slice("a")) && !kv_store_remove(store, slice("a")));
	ck_assert(kv_store_remove(store, slice("b")) && kv_store_remove(store, none));
	ck_assert_uint_eq(figures_of(store).keys, 0);
	ck_assert_uint_eq(figures_of(store).used, 0);
	ck_assert_uint_eq(figures_of(store).digest, empty);
	kv_store_free(store);
}

/* Whatever the way to a state, its digest is the same; and every difference shows. */
TEST(digest_is_of_the_state)
{
	struct kv_store *one = kv_store_new(), *other = kv_store_new();

	put_many(one, 0, 1000, "v");
	put_many(other, 500, 1500, "w");
	put_many(other, 0, 500, "v");
	put_many(other, 500, 1000, "v");
	for (unsigned i = 1000; i < 1500; i++) {
		char key[32];

		ck_assert_uint_ne(figures_of(one).digest, figures_of(other).digest);
		ck_assert(kv_store_remove(other, key_of(key, i)));
	}
	ck_assert_uint_eq(figures_of(one).digest, figures_of(other).digest);
	put(other, "key:1", "V", 0);
	ck_assert_uint_ne(figures_of(one).digest, figures_of(other).digest);
	put(other, "key:1", "v", 5);
	ck_assert_uint_ne(figures_of(one).digest, figures_of(other).digest);
	put(other, "key:1", "v", 0);
	ck_assert_uint_eq(figures_of(one).digest, figures_of(other).digest);
	kv_store_advance(other, 1);
	ck_assert_uint_ne(figures_of(one).digest, figures_of(other).digest);
	kv_store_free(one);
	kv_store_free(other);
}

/* What is appended to a value stands behind it, in whatever room. */
TEST(values_grow)
{
	struct kv_store *store = kv_store_new();
	struct kv_value value;
	char expected[2001] = "";

	put(store, "k", "", 0);
	for (int i = 0; i < 1000; i++) {
		ck_assert(kv_store_get(store, slice("k"), &value));
		ck_assert(kv_store_put(store, slice("k"), (struct kv_slice){value.data, value.bytes}, slice("ab"), 0));
		strcat(expected, "ab");
	}
	ck_assert(has(store, "k", expected));
	put(store, "k", "x", 0);
	ck_assert(has(store, "k", "x"));
	ck_assert_uint_eq(figures_of(store).used, KV_ENTRY_BYTES + 2);
	kv_store_free(store);
}

TEST(keys_expire_in_their_order)
{
	struct kv_store *store = kv_store_new();
	bool failed;

	put_many(store, 0, MANY, "v"); /* every tenth at 1000 + i */
	ck_assert_uint_eq(figures_of(store).expiring, MANY / 10);
	put(store, "never", "v", 0);
	put(store, "changed", "v", 500);
	ck_assert(kv_store_expire(store, slice("changed"), 5000, &failed) && !failed);
	put(store, "kept", "v", 500);
	ck_assert(kv_store_expire(store, slice("kept"), 0, &failed) && !failed);
	ck_assert(!kv_store_expire(store, slice("missing"), 5, &failed) && !failed);
	for (uint64_t now = 0; now < 1000 + MANY + KV_TICK_MS; now += 50) {
		uint64_t passed = now < 1000 + KV_TICK_MS ? 0 : (now - 1000 - KV_TICK_MS) / 10 + 1;

		passed += now >= 5000 + KV_TICK_MS;
		ck_assert_uint_eq(figures_of(store).keys, MANY + 3 - passed);
		kv_store_advance(store, 50);
	}
	ck_assert_uint_eq(figures_of(store).expiring, 0);
	ck_assert(has(store, "never", "v") && has(store, "kept", "v") && !has(store, "changed", "v"));
	kv_store_free(store);
}

/* ---- SCAN -----------------------------------------------------------------------------------------------------------------*/

static void see(struct kv_slice key, void *ctx)
{
	unsigned *seen = ctx, index;
	char text[32] = "";

	ck_assert_uint_lt(key.bytes, sizeof(text)); /* no NUL behind it */
	memcpy(text, key.data, key.bytes);
	ck_assert_int_eq(sscanf(text, "key:%u", &index), 1);
	ck_assert_uint_lt(index, 2 * MANY);
	seen[index]++;
}

/* What is there throughout is seen, once, though tables grow and shrink meanwhile. */
TEST(all_parts_together_are_all_keys)
{
	struct kv_store *store = kv_store_new();
	unsigned *seen = calloc(2 * MANY, sizeof(*seen));
	char key[32];

	put_many(store, 0, MANY, "v");
	for (uint32_t part = 0; part < KV_PARTS; part++) {
		if (part % 64 == 0)
			put_many(store, MANY + part * 4, MANY + part * 4 + 256, "v");
		ck_assert(kv_store_remove(store, key_of(key, part)));
		kv_store_visit(store, part, see, seen);
	}
	for (unsigned i = KV_PARTS; i < MANY; i++)
		ck_assert_uint_eq(seen[i], 1);
	free(seen);
	kv_store_free(store);
}

/* ---- snapshots --------------------------------------------------------------------------------------------------------------*/

/* Reads a snapshot in pieces of `piece` into a new store. */
static struct kv_store *copy_of(struct kv_snapshot *snapshot, size_t piece)
{
	struct kv_restore *restore = kv_restore_new();
	char bytes[8192];
	ptrdiff_t count;

	ck_assert_ptr_nonnull(restore);
	while ((count = kv_snapshot_read(snapshot, bytes, piece)) > 0)
		ck_assert(kv_restore_bytes(restore, bytes, (size_t)count));
	ck_assert_int_eq(count, 0);
	kv_snapshot_release(snapshot);
	return kv_restore_end(restore);
}

TEST(snapshot_is_as_it_was)
{
	struct kv_store *store = kv_store_new(), *copy;
	struct kv_snapshot *first, *second;
	struct kv_store_figures before, between;

	put_many(store, 0, MANY, "first");
	kv_store_advance(store, 77);
	kv_store_begin_call(store, 3, 4);
	before = figures_of(store);
	first = kv_snapshot_take(store, 3, 5);
	put_many(store, MANY / 2, MANY + 100, "second");
	between = figures_of(store);
	second = kv_snapshot_take(store, 3, 6);
	put_many(store, 0, 100, "third");
	kv_store_advance(store, 100000);
	ck_assert_uint_eq(figures_of(store).snapshots, 2);
	copy = copy_of(first, 4096);
	ck_assert_ptr_nonnull(copy);
	ck_assert_uint_eq(figures_of(copy).digest, before.digest);
	ck_assert_uint_eq(figures_of(copy).calls, 1);
	ck_assert_uint_eq(figures_of(copy).clock_ms, 77);
	ck_assert_uint_eq(figures_of(copy).used, before.used);
	ck_assert_uint_eq(figures_of(copy).expiring, before.expiring);
	ck_assert_uint_eq(figures_of(copy).sequence, 5);
	kv_store_free(copy);
	copy = copy_of(second, 4099);
	ck_assert_ptr_nonnull(copy);
	ck_assert_uint_eq(figures_of(copy).digest, between.digest);
	kv_store_advance(copy, 100000); /* both go on in the same way */
	put_many(copy, 0, 100, "third");
	put_many(store, 0, 100, "third");
	ck_assert_uint_eq(figures_of(copy).digest, figures_of(store).digest);
	ck_assert_uint_eq(figures_of(store).snapshots, 0);
	kv_store_free(copy);
	kv_store_free(store);
}

/* All keys go, and a snapshot that is out has them; and it outlives the store. */
TEST(snapshot_outlives)
{
	struct kv_store *store = kv_store_new(), *copy;
	struct kv_snapshot *snapshot;
	uint64_t digest;

	put_many(store, 0, MANY, "first");
	digest = figures_of(store).digest;
	snapshot = kv_snapshot_take(store, 0, 1);
	put_many(store, 0, 100, "second");
	ck_assert(kv_store_clear(store));
	ck_assert_uint_eq(figures_of(store).keys, 0);
	ck_assert(kv_store_tidy(store)); /* not before the snapshot has been read */
	put_many(store, 0, 100, "third");
	kv_store_free(store);
	copy = copy_of(snapshot, 5000);
	ck_assert_ptr_nonnull(copy);
	ck_assert_uint_eq(figures_of(copy).digest, digest);
	ck_assert(kv_store_clear(copy));
	while (kv_store_tidy(copy))
		;
	kv_store_free(copy);
}

static void *read_copy(void *ctx)
{
	return copy_of(ctx, 4096);
}

/* The reader is another thread, and the store changes all the time. */
TEST(snapshots_beside_writes)
{
	struct kv_store *store = kv_store_new(), *copy;

	put_many(store, 0, MANY, "first");
	for (int round = 0; round < 5; round++) {
		struct kv_snapshot *snapshot = kv_snapshot_take(store, 0, 0);
		uint64_t digest = figures_of(store).digest;
		pthread_t reader;
		void *result;
		char value[32];

		ck_assert_int_eq(pthread_create(&reader, NULL, read_copy, snapshot), 0);
		snprintf(value, sizeof(value), "round %d", round);
		put_many(store, 0, MANY + 10, value);
		if (round == 3)
			ck_assert(kv_store_clear(store));
		(void)kv_store_tidy(store);
		ck_assert_int_eq(pthread_join(reader, &result), 0);
		copy = result;
		ck_assert_ptr_nonnull(copy);
		ck_assert_uint_eq(figures_of(copy).digest, digest);
		kv_store_free(copy);
	}
	kv_store_free(store);
}

/* What is cut short, or changed on its way, is no state. */
TEST(damage_is_seen)
{
	struct kv_store *store = kv_store_new(), *copy;
	struct kv_snapshot *snapshot;
	struct kv_restore *restore;
	char bytes[8192];
	ptrdiff_t count;

	put_many(store, 0, 11, "value");
	snapshot = kv_snapshot_take(store, 0, 0);
	count = kv_snapshot_read(snapshot, bytes, sizeof(bytes));
	kv_snapshot_release(snapshot);
	for (ptrdiff_t at = 0; at < count; at++) {
		char old = bytes[at];

		restore = kv_restore_new();
		copy = kv_restore_bytes(restore, bytes, (size_t)at) ? kv_restore_end(restore)
								    : (kv_store_free(kv_restore_end(restore)), NULL);
		ck_assert(at == 0 ? copy != NULL && figures_of(copy).keys == 0 : copy == NULL);
		kv_store_free(copy);
		if (at >= 24 && at < 56)
			continue; /* calls, clock and place: no digest is over these */
		bytes[at] = (char)(old ^ 1);
		restore = kv_restore_new();
		(void)kv_restore_bytes(restore, bytes, (size_t)count);
		copy = kv_restore_end(restore);
		ck_assert_msg(copy == NULL, "byte %td of %td", at, count);
		bytes[at] = old;
	}
	kv_store_free(store);
}

TEST_SUITE("kv_store")

int main(void)
{
	return test_main(suite());
}
