/* test_frontier.c - two numbers that grow, threads that wait for them, and a descriptor that tells. A test plays the loop.
 * Labels: threads
 */
#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "smc/frontier.h"
#include "tests/patience.h"
#include "tests/support/fake.h"

#define PATIENCE_MS ((int)test_patience(20000))

struct bench {
	struct wh_gate *gate;
	struct wh_frontiers frontiers;
};

static void wake_nothing(void *ctx)
{
	(void)ctx;
}

static struct bench *make(void)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct wh_error err;

	ck_assert_ptr_nonnull(b);
	ck_assert_int_eq(wh_gate_create(&b->gate, wake_nothing, b, &err), WHORL_OK);
	wh_frontiers_init(&b->frontiers, b->gate);
	return b;
}

static void discard(struct bench *b)
{
	wh_frontiers_close(&b->frontiers);
	wh_gate_free(b->gate);
	free(b);
}

static struct timespec in_ms(int ms)
{
	struct timespec at;

	clock_gettime(CLOCK_MONOTONIC, &at);
	at.tv_sec += ms / 1000;
	at.tv_nsec += (long)(ms % 1000) * 1000000;
	if (at.tv_nsec >= 1000000000) {
		at.tv_nsec -= 1000000000;
		at.tv_sec++;
	}
	return at;
}

/* How many arms it tells of. */
static unsigned told(struct bench *b)
{
	unsigned count = 0;
	uint64_t one;

	while (read(wh_frontiers_fd(&b->frontiers), &one, sizeof(one)) == (ssize_t)sizeof(one)) {
		ck_assert_uint_eq(one, 1);
		count++;
	}
	return count;
}

TEST_CASE("frontiers", .timeout_s = 60);

TEST(they_only_grow)
{
	struct bench *b = make();

	ck_assert_uint_eq(wh_frontier_past(&b->frontiers, WH_RECEIVED_BY_ALL), 0);
	wh_frontier_move(&b->frontiers, WH_RECEIVED_BY_ALL, 7);
	wh_frontier_move(&b->frontiers, WH_RECEIVED_BY_ALL, 5);
	wh_frontier_move(&b->frontiers, WH_DELIVERED_BY_ALL, 3);
	ck_assert_uint_eq(wh_frontier_past(&b->frontiers, WH_RECEIVED_BY_ALL), 7);
	ck_assert_uint_eq(wh_frontier_past(&b->frontiers, WH_DELIVERED_BY_ALL), 3);
	wh_frontiers_stop(&b->frontiers);
	wh_frontier_move(&b->frontiers, WH_RECEIVED_BY_ALL, 9);
	ck_assert_uint_eq(wh_frontier_past(&b->frontiers, WH_RECEIVED_BY_ALL), 7);
	discard(b);
}

TEST(an_arm_is_told_once)
{
	struct bench *b = make();

	ck_assert(wh_frontier_arm(&b->frontiers, WH_DELIVERED_BY_ALL, 4));
	wh_frontier_move(&b->frontiers, WH_RECEIVED_BY_ALL, 9);
	wh_frontier_move(&b->frontiers, WH_DELIVERED_BY_ALL, 4); /* those below 4, so not 4 */
	ck_assert_uint_eq(told(b), 0);
	wh_frontier_move(&b->frontiers, WH_DELIVERED_BY_ALL, 5);
	ck_assert_uint_eq(told(b), 1);
	wh_frontier_move(&b->frontiers, WH_DELIVERED_BY_ALL, 6);
	ck_assert_uint_eq(told(b), 0);
	ck_assert(!wh_frontier_disarm(&b->frontiers, WH_DELIVERED_BY_ALL));
	discard(b);
}

/* All of one kind when the least of them is past; each once. */
TEST(arms_share_the_descriptor)
{
	struct bench *b = make();

	for (uint64_t index = 10; index > 4; index--)
		ck_assert(wh_frontier_arm(&b->frontiers, WH_RECEIVED_BY_ALL, index));
	ck_assert(wh_frontier_arm(&b->frontiers, WH_DELIVERED_BY_ALL, 0));
	ck_assert(wh_frontier_disarm(&b->frontiers, WH_RECEIVED_BY_ALL));
	wh_frontier_move(&b->frontiers, WH_RECEIVED_BY_ALL, 6);
	ck_assert_uint_eq(told(b), 5);
	wh_frontier_move(&b->frontiers, WH_DELIVERED_BY_ALL, 1);
	ck_assert_uint_eq(told(b), 1);
	ck_assert(wh_frontier_arm(&b->frontiers, WH_RECEIVED_BY_ALL, 100));
	wh_frontier_move(&b->frontiers, WH_RECEIVED_BY_ALL, 50);
	ck_assert_uint_eq(told(b), 0);
	wh_frontiers_wake(&b->frontiers); /* whatever has happened */
	ck_assert_uint_eq(told(b), 1);
	discard(b);
}

/* ---- threads --------------------------------------------------------------------------------------------------------- */

struct waiter {
	struct bench *bench;
	uint64_t index;
	enum wh_frontier which;
	wh_word enters, done;
	pthread_t thread;
};

static void *wait_for_one(void *ctx)
{
	struct waiter *w = ctx;
	struct timespec deadline = in_ms(PATIENCE_MS);
	struct wh_frontier_wait wait;
	bool waits = wh_frontier_enlist(&w->bench->frontiers, &wait, w->which, w->index);

	wh_store_release(&w->enters, 1);
	if (waits) {
		wh_frontier_sleep(&w->bench->frontiers, &wait, &deadline);
		wh_frontier_delist(&w->bench->frontiers, &wait);
	}
	wh_store_release(&w->done, 1);
	return NULL;
}

static void await_word(const wh_word *word)
{
	struct timespec until = in_ms(PATIENCE_MS), now;

	while (wh_load_acquire(word) == 0) {
		sched_yield();
		clock_gettime(CLOCK_MONOTONIC, &now);
		ck_assert(now.tv_sec <= until.tv_sec);
	}
}

TEST(each_is_woken_for_its_own)
{
	struct bench *b = make();
	struct waiter w[3];

	for (unsigned i = 0; i < 3; i++) {
		w[i] = (struct waiter){.bench = b, .index = 10 * i, .which = WH_DELIVERED_BY_ALL};
		pthread_create(&w[i].thread, NULL, wait_for_one, &w[i]);
		await_word(&w[i].enters);
	}
	wh_frontier_move(&b->frontiers, WH_DELIVERED_BY_ALL, 1);
	await_word(&w[0].done);
	ck_assert_uint_eq(wh_load_relaxed(&b->frontiers.wanted[WH_DELIVERED_BY_ALL]), 10);
	poll(NULL, 0, 5);
	ck_assert_uint_eq(wh_load_acquire(&w[1].done), 0);
	wh_frontier_move(&b->frontiers, WH_DELIVERED_BY_ALL, 11);
	await_word(&w[1].done);
	poll(NULL, 0, 5);
	ck_assert_uint_eq(wh_load_acquire(&w[2].done), 0);
	wh_frontiers_wake(&b->frontiers);
	await_word(&w[2].done);
	for (unsigned i = 0; i < 3; i++)
		pthread_join(w[i].thread, NULL);
	discard(b);
}

TEST(what_is_past_is_not_waited_for)
{
	struct bench *b = make();
	struct wh_frontier_wait wait;
	struct timespec soon = in_ms(20), now;

	wh_frontier_move(&b->frontiers, WH_RECEIVED_BY_ALL, 3);
	ck_assert(!wh_frontier_enlist(&b->frontiers, &wait, WH_RECEIVED_BY_ALL, 2));
	ck_assert(wh_frontier_enlist(&b->frontiers, &wait, WH_RECEIVED_BY_ALL, 3));
	wh_frontier_sleep(&b->frontiers, &wait, &soon);
	wh_frontier_delist(&b->frontiers, &wait);
	clock_gettime(CLOCK_MONOTONIC, &now);
	ck_assert(now.tv_sec > soon.tv_sec || (now.tv_sec == soon.tv_sec && now.tv_nsec >= soon.tv_nsec));
	ck_assert_uint_eq(wh_load_relaxed(&b->frontiers.wanted[WH_RECEIVED_BY_ALL]), UINT64_MAX);
	discard(b);
}

#define INDEXES 20000
#define THREADS 3

static void *wait_for_many(void *ctx)
{
	struct waiter *w = ctx;

	for (uint64_t index = w->index; index < INDEXES; index += THREADS) {
		struct timespec deadline = in_ms((int)test_patience(2000));
		struct wh_frontier_wait wait;

		wh_store_release(&w->enters, index + 1);
		if (!wh_frontier_enlist(&w->bench->frontiers, &wait, w->which, index))
			continue;
		wh_frontier_sleep(&w->bench->frontiers, &wait, &deadline);
		wh_frontier_delist(&w->bench->frontiers, &wait);
		ck_assert(wait.told); /* no time-out */
		ck_assert_uint_gt(wh_frontier_past(&w->bench->frontiers, w->which), index);
	}
	wh_store_release(&w->done, 1);
	return NULL;
}

/* The loop moves just as threads begin to wait: none is missed. It goes on no further before they have come, as a loop that sleeps. */
TEST_LOOP(no_thread_is_missed, 0, 2)
{
	struct bench *b = make();
	struct waiter w[THREADS];

	b->gate->heavy |= _i != 0;
	for (unsigned i = 0; i < THREADS; i++) {
		w[i] = (struct waiter){.bench = b, .index = i, .which = WH_DELIVERED_BY_ALL};
		pthread_create(&w[i].thread, NULL, wait_for_many, &w[i]);
	}
	for (uint64_t to = 1; to <= INDEXES; to++) {
		const struct waiter *next = &w[(to - 1) % THREADS];

		for (unsigned spins = 0; wh_load_acquire(&next->enters) < to; spins++)
			if (spins > 100)
				sched_yield();
		wh_frontier_move(&b->frontiers, WH_DELIVERED_BY_ALL, to);
	}
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(w[i].thread, NULL);
	ck_assert_ptr_null(b->frontiers.waits);
	discard(b);
}

TEST_SUITE("smc: frontiers")
