/* test_base_rcu.c - readers follow a pointer while a writer replaces and frees what it points to.
 *
 * AddressSanitizer sees a reader in freed memory. ThreadSanitizer sees that the order is known to it: without the two
 * annotations in base/rcu.h and base/rcu.c it reports the writer's free() as a race with the readers.
 * Labels: threads
 */
#include <sched.h>

#include "base/atomics.h"
#include "base/rcu.h"
#include "base/thread.h"
#include "tests/harness.h"

#define READERS 3
#define VERSIONS 3000

/* Both fields say the same while it lives. */
struct thing {
	uint64_t version, twin;
};

struct shared {
	struct thing *thing;  /* [rcu] [writer] */
	wh_word stop;         /* [writer] */
	wh_word ready;        /* [readers] how many have read */
	wh_word reads, wrong; /* [readers] */
};

static void *read_on(void *arg)
{
	struct shared *shared = arg;
	uint64_t last = 0, reads = 0;

	while (wh_load_relaxed(&shared->stop) == 0) {
		const struct thing *thing;
		uint64_t version;

		wh_rcu_read_lock();
		thing = wh_rcu_dereference(shared->thing);
		version = thing->version;
		/* Nested, as where a claim calls a find. */
		wh_rcu_read_lock();
		if (version != thing->twin || version < last)
			wh_fetch_add(&shared->wrong, 1);
		wh_rcu_read_unlock();
		if (thing->version != version)
			wh_fetch_add(&shared->wrong, 1);
		wh_rcu_read_unlock();
		last = version;
		if (reads++ == 0)
			wh_fetch_add(&shared->ready, 1);
		if (reads % 64 == 0)
			sched_yield(); /* two cores for all of them */
	}
	wh_fetch_add(&shared->reads, reads);
	return NULL;
}

static struct thing *new_thing(uint64_t version)
{
	struct thing *thing = malloc(sizeof(*thing));

	ck_assert_ptr_nonnull(thing);
	*thing = (struct thing){.version = version, .twin = version};
	return thing;
}

TEST_CASE("rcu", .timeout_s = 50);

TEST(readers_never_see_what_was_freed)
{
	struct shared shared = {.thing = new_thing(1)};
	pthread_t readers[READERS];
	struct wh_error err;

	for (size_t i = 0; i < READERS; i++)
		ck_assert_int_eq(wh_thread_create(&readers[i], "reader", -1, read_on, &shared, &err), WHORL_OK);
	while (wh_load_acquire(&shared.ready) < READERS)
		sched_yield();
	for (uint64_t version = 2; version <= VERSIONS; version++) {
		struct thing *old = shared.thing;

		wh_rcu_publish(shared.thing, new_thing(version));
		wh_rcu_synchronize();
		*old = (struct thing){.version = version, .twin = 0}; /* would be seen without sanitizers too */
		free(old);
	}
	wh_store_relaxed(&shared.stop, 1);
	for (size_t i = 0; i < READERS; i++)
		pthread_join(readers[i], NULL);
	free(shared.thing);
	ck_assert_uint_ge(wh_load_relaxed(&shared.reads), READERS);
	ck_assert_uint_eq(wh_load_relaxed(&shared.wrong), 0);
}

static void *read_once(void *arg)
{
	struct shared *shared = arg;

	wh_rcu_read_lock();
	if (wh_rcu_dereference(shared->thing)->version == 0)
		wh_fetch_add(&shared->wrong, 1);
	wh_rcu_read_unlock();
	return NULL;
}

/* Threads come, read without any registration, and go; those that are gone hold up no thread. */
TEST(threads_need_no_registration)
{
	struct shared shared = {.thing = new_thing(1)};

	for (uint64_t version = 2; version < 100; version++) {
		struct thing *old = shared.thing;
		struct wh_error err;
		pthread_t reader;

		ck_assert_int_eq(wh_thread_create(&reader, "passer-by", -1, read_once, &shared, &err), WHORL_OK);
		wh_rcu_publish(shared.thing, new_thing(version));
		wh_rcu_synchronize();
		free(old);
		pthread_join(reader, NULL);
	}
	free(shared.thing);
	ck_assert_uint_eq(wh_load_relaxed(&shared.wrong), 0);
}

TEST_SUITE("rcu")
