/* cases_doorbell.c - T6: no push is slept through, and no node pays for waking one that is awake. */
#include <poll.h>
#include <pthread.h>
#include <sched.h>

#include "tests/conformance/suite.h"

#define LONG_NS (10 * WH_NS_PER_S)
#define SHORT_NS (30 * WH_NS_PER_MS)
#define ALARMS_NS (5 * WH_NS_PER_S / 4) /* longer than any alarm that setting up sets */

static void arm(const struct group *g, uint32_t id)
{
	g->at[id].transport->ops->arm(g->at[id].transport);
}

static void disarm(const struct group *g, uint32_t id)
{
	g->at[id].transport->ops->disarm(g->at[id].transport);
}

static bool sleep_at(struct group *g, uint32_t id, uint64_t timeout_ns)
{
	return wh_world.wait(g->world, id, timeout_ns);
}

/* What setting up has left to do is done, so nothing but pushes ends a wait. Of a call that has crossed another a handshake may be left,
 * which a thread that stands back does. Alarms may be left as well: they end none. */
static struct group *settled_group(uint32_t nodes, uint64_t seed)
{
	struct group *g = group_make(nodes, seed);
	uint64_t quiet_ns = wh_world.threads ? test_patience(3 * SHORT_NS) : 3 * SHORT_NS;

	group_open(g, 1);
	for (uint32_t id = 0; id < nodes; id++)
		for (int k = 0; k < PATIENCE && sleep_at(g, id, quiet_ns); k++)
			group_pass(g);
	return g;
}

START_TEST(t6_a_push_ends_the_wait)
{
	struct group *g = settled_group(3, test_seed(1));

	for (uint64_t k = 1; k <= 20; k++) {
		uint32_t from = k % 2 == 0 ? 0 : 2;

		arm(g, 1);
		ck_assert_uint_lt(column(g, 1, 1, from, 64), k);
		post_word(g, from, 1, 64, k);
		ck_assert(sleep_at(g, 1, LONG_NS));
		UNTIL(g, column(g, 1, 1, from, 64) == k);
	}
	arm(g, 1);
	ck_assert(!sleep_at(g, 1, SHORT_NS));
	group_free(g);
}
END_TEST

START_TEST(t6_only_the_addressed_wake)
{
	struct group *g = settled_group(3, test_seed(2));
	struct wh_push push = push_word(g, 0, 64, 1);
	const uint32_t to = 2;

	push.to = &to;
	push.to_count = 1;
	arm(g, 1);
	arm(g, 2);
	post(g, 0, 1, &push, 1);
	ck_assert(sleep_at(g, 2, LONG_NS));
	ck_assert(!sleep_at(g, 1, SHORT_NS));
	group_free(g);
}
END_TEST

START_TEST(t6_quiet_pushes_do_not_ring)
{
	struct group *g = settled_group(2, test_seed(3));
	struct wh_push push = push_word(g, 0, 64, 1);
	uint64_t rings = wh_world.rings != NULL ? wh_world.rings(g->world, 0) : 0;

	push.no_wake = true;
	arm(g, 1);
	post(g, 0, 1, &push, 1);
	ck_assert(!sleep_at(g, 1, SHORT_NS));
	UNTIL(g, column(g, 1, 1, 0, 64) == 1);
	if (wh_world.rings != NULL)
		ck_assert_uint_eq(wh_world.rings(g->world, 0), rings);
	group_free(g);
}
END_TEST

static void post_in_a_pass(struct group *g, uint32_t id, const struct wh_push *push)
{
	struct wh_transport *transport = g->at[id].transport;

	if (transport->ops->take != NULL)
		(void)transport->ops->take(transport);
	post(g, id, 1, push, push->to_count > 0);
	if (transport->ops->flush != NULL)
		transport->ops->flush(transport);
}

/* A patient push may be kept, but not by a node that goes to sleep, and it wakes like others. */
START_TEST(t6_patient_pushes_leave_before_a_sleep)
{
	struct group *g = settled_group(2, test_seed(9));
	struct wh_push push = push_word(g, 0, 64, 1);

	push.may_delay = true;
	arm(g, 1);
	post_in_a_pass(g, 0, &push);
	arm(g, 0);
	ck_assert(sleep_at(g, 1, LONG_NS));
	UNTIL(g, column(g, 1, 1, 0, 64) == 1);
	disarm(g, 0);
	group_free(g);
}
END_TEST

/* Nor for long by a node that makes passes; and what is posted later does not come before it. */
START_TEST(t6_patient_pushes_are_not_overtaken)
{
	struct group *g = settled_group(2, test_seed(10));
	struct wh_push first = push_word(g, 0, 64, 1), second = push_word(g, 0, 72, 1), third = push_word(g, 0, 64, 2);
	const struct wh_push nothing = {.to_count = 0};

	first.may_delay = third.may_delay = true;
	post_in_a_pass(g, 0, &first);
	post_in_a_pass(g, 0, &second);
	UNTIL(g, column(g, 1, 1, 0, 72) == 1);
	ck_assert_uint_eq(column(g, 1, 1, 0, 64), 1);
	post_in_a_pass(g, 0, &third);
	for (int k = 0; k < PATIENCE && column(g, 1, 1, 0, 64) != 2; k++) {
		post_in_a_pass(g, 0, &nothing);
		group_pass(g);
	}
	ck_assert_uint_eq(column(g, 1, 1, 0, 64), 2);
	group_free(g);
}
END_TEST

/* In one batch with a loud push to another. */
START_TEST(t6_quiet_among_loud)
{
	struct group *g = settled_group(3, test_seed(8));
	const uint32_t one = 1, two = 2;
	struct wh_push pushes[] = {push_word(g, 0, 64, 1), push_word(g, 0, 72, 1)};

	pushes[0].no_wake = true;
	pushes[0].to = &one;
	pushes[1].to = &two;
	pushes[0].to_count = pushes[1].to_count = 1;
	arm(g, 1);
	arm(g, 2);
	post(g, 0, 1, pushes, 2);
	ck_assert(sleep_at(g, 2, LONG_NS));
	ck_assert(!sleep_at(g, 1, SHORT_NS));
	group_free(g);
}
END_TEST

START_TEST(t6_a_loop_that_is_awake_costs_nothing)
{
	struct group *g = settled_group(3, test_seed(4));
	uint64_t rings = wh_world.rings(g->world, 0);

	for (uint64_t k = 1; k <= 1000; k++)
		post_word(g, 0, 1, 64, k);
	arm(g, 1);
	disarm(g, 1);
	for (uint64_t k = 1001; k <= 2000; k++)
		post_word(g, 0, 1, 64, k);
	ck_assert_uint_eq(wh_world.rings(g->world, 0), rings);
	arm(g, 1);
	post_word(g, 0, 1, 64, 2001);
	ck_assert_uint_gt(wh_world.rings(g->world, 0), rings);
	group_free(g);
}
END_TEST

/* Alarms that were set for what has been done since, as for an answer that came, find nothing to do. */
START_TEST(t6_time_alone_does_not_ring)
{
	struct group *g = settled_group(2, test_seed(11));

	arm(g, 0);
	arm(g, 1);
	ck_assert(!sleep_at(g, 0, ALARMS_NS));
	ck_assert(!sleep_at(g, 1, SHORT_NS)); /* its own have come as well */
	group_free(g);
}
END_TEST

static bool is_readable(const struct group *g, uint32_t id, int timeout_ms)
{
	struct pollfd p = {.fd = g->at[id].transport->ops->fd(g->at[id].transport), .events = POLLIN};

	return poll(&p, 1, timeout_ms) == 1;
}

START_TEST(t6_the_descriptor_says_what_wait_would)
{
	struct group *g = settled_group(2, test_seed(5));

	if (g->at[1].transport->ops->fd(g->at[1].transport) >= 0) {
		arm(g, 1);
		ck_assert(!is_readable(g, 1, 0));
		post_word(g, 0, 1, 64, 1);
		ck_assert(is_readable(g, 1, 10000));
		ck_assert(is_readable(g, 1, 0)); /* until wait has seen to it */
		ck_assert(sleep_at(g, 1, LONG_NS));
		ck_assert(!is_readable(g, 1, 0));
	}
	group_free(g);
}
END_TEST

/* ---- wake --------------------------------------------------------------------------------------------------------- */

START_TEST(t6_wake_is_sticky)
{
	struct group *g = settled_group(2, test_seed(6));
	struct wh_transport *me = g->at[1].transport;

	me->ops->wake(me);
	arm(g, 1);
	ck_assert(sleep_at(g, 1, LONG_NS));
	arm(g, 1);
	ck_assert(!sleep_at(g, 1, SHORT_NS)); /* and then it has been used */
	arm(g, 1);
	me->ops->wake(me);
	ck_assert(sleep_at(g, 1, LONG_NS));
	group_free(g);
}
END_TEST

static void *waker_thread(void *ctx)
{
	struct wh_transport *transport = ctx;
	uint64_t until_ns = wh_env_now(wh_env_system()) + WH_NS_PER_MS / 2;

	do
		sched_yield(); /* likely asleep by then; either must do */
	while (wh_env_now(wh_env_system()) < until_ns);
	transport->ops->wake(transport);
	return NULL;
}

START_TEST(t6_wake_from_another_thread)
{
	struct group *g = settled_group(2, test_seed(7));

	for (int k = 0; k < 50; k++) {
		pthread_t waker;

		ck_assert_int_eq(pthread_create(&waker, NULL, waker_thread, g->at[1].transport), 0);
		arm(g, 1);
		ck_assert(sleep_at(g, 1, LONG_NS));
		pthread_join(waker, NULL);
	}
	group_free(g);
}
END_TEST

struct lent {
	struct group *g;
	wh_word waits; /* from now on it is in wait: a borrower may post */
};

static void *lending_thread(void *ctx)
{
	struct lent *lent = ctx;

	arm(lent->g, 1);
	wh_store_release(&lent->waits, 1); /* partner: the test below */
	(void)sleep_at(lent->g, 1, LONG_NS);
	return NULL;
}

/* While a loop waits others post for it, where the transport says that a helper may post. */
START_TEST(t6_a_loop_that_waits_may_be_posted_for)
{
	struct group *g = settled_group(2, test_seed(10));
	struct wh_transport *lender = g->at[1].transport, *other = g->at[0].transport;
	uint64_t posted = 0;

	for (int k = 0; k < 50 && lender->ops->helper_may_post; k++) {
		struct lent lent = {.g = g};
		pthread_t loop;

		ck_assert_int_eq(pthread_create(&loop, NULL, lending_thread, &lent), 0);
		while (wh_load_acquire(&lent.waits) == 0)
			sched_yield();
		for (int i = 0; i < 50; i++)
			post_word(g, 1, 1, 64, ++posted);
		while (column(g, 0, 1, 1, 64) < posted)
			other->ops->service(other);
		lender->ops->wake(lender);
		pthread_join(loop, NULL);
	}
	ck_assert_uint_eq(column(g, 0, 1, 1, 64), posted);
	group_free(g);
}
END_TEST

struct lock { /* in place of a gate; for it to be seen whether a wait touches what it has lent */
	struct group *g;
	pthread_mutex_t mutex;
	wh_word waits; /* it has been lent */
};

static void lend_lock(void *ctx)
{
	struct lock *lock = ctx;

	wh_store_release(&lock->waits, 1); /* partner: the test below */
	pthread_mutex_unlock(&lock->mutex);
}

static void take_lock_back(void *ctx)
{
	pthread_mutex_lock(&((struct lock *)ctx)->mutex);
}

static void *wait_lending_thread(void *ctx)
{
	struct lock *lock = ctx;
	struct wh_transport *transport = lock->g->at[1].transport;

	pthread_mutex_lock(&lock->mutex);
	arm(lock->g, 1);
	transport->ops->wait_lending(transport, LONG_NS, &(struct wh_lending){lend_lock, take_lock_back, lock});
	pthread_mutex_unlock(&lock->mutex);
	return NULL;
}

/* The same where it may only while the thread sleeps. What comes from the other meanwhile is taken in between two sleeps. */
START_TEST(t6_a_loop_that_sleeps_may_be_posted_for)
{
	struct group *g = settled_group(2, test_seed(11));
	struct wh_transport *lender = g->at[1].transport, *other = g->at[0].transport;
	struct wh_push quiet = push_word(g, 0, 64, 1);
	uint64_t posted = 0;

	quiet.no_wake = true;
	for (int k = 0; k < 50 && lender->ops->wait_lending != NULL; k++) {
		struct lock lock = {.g = g, .mutex = PTHREAD_MUTEX_INITIALIZER};
		pthread_t loop;

		ck_assert_int_eq(pthread_create(&loop, NULL, wait_lending_thread, &lock), 0);
		while (wh_load_acquire(&lock.waits) == 0)
			sched_yield();
		for (int i = 0; i < 50; i++) {
			pthread_mutex_lock(&lock.mutex);
			post_word(g, 1, 1, 64, ++posted);
			pthread_mutex_unlock(&lock.mutex);
			if (i % 8 == 0)
				post(g, 0, 1, &quiet, 1);
		}
		while (column(g, 0, 1, 1, 64) < posted)
			other->ops->service(other);
		lender->ops->wake(lender);
		pthread_join(loop, NULL);
	}
	ck_assert_uint_eq(column(g, 0, 1, 1, 64), posted);
	group_free(g);
}
END_TEST

/* ---- no push is slept through ------------------------------------------------------------------------------------- */

/* Pushes fall before arming, between arming and the look, and after the look. */
START_TEST(t6_no_push_is_slept_through)
{
	struct group *g = settled_group(3, test_seed(50 + (uint64_t)_i));
	uint64_t random = g->seed, pushed[3] = {0}, seen[3] = {0};

	for (int round = 0; round < 300; round++) {
		bool unseen = false;

		for (int moment = 0; moment < 3; moment++) {
			for (uint32_t from = 0; from < 3; from += 2)
				if (next_random(&random) % 4 == 0)
					post_word(g, from, 1, 64, ++pushed[from]);
			if (moment == 0)
				arm(g, 1);
			for (uint32_t from = 0; from < 3 && moment == 1; from += 2)
				seen[from] = column(g, 1, 1, from, 64);
		}
		for (uint32_t from = 0; from < 3; from += 2)
			unseen = unseen || seen[from] < pushed[from];
		if (unseen)
			ck_assert(sleep_at(g, 1, LONG_NS));
		else
			disarm(g, 1);
		if (next_random(&random) % 4 == 0)
			group_pass(g);
	}
	for (uint32_t from = 0; from < 3; from += 2)
		UNTIL(g, column(g, 1, 1, from, 64) == pushed[from]);
	group_free(g);
}
END_TEST

/* ---- the hammer --------------------------------------------------------------------------------------------------- */

#define ROUNDS times(20000)
#define PUSHED 64
#define ANSWER(from) (128 + 64 * (uint64_t)(from)) /* of node 1: what it has seen of that pusher */

struct hammer {
	struct group *g;
	uint32_t pushers;
	wh_word stop; /* a thread has found something wrong */
	uint64_t sleeps, finds;
	bool lost;
};

struct pusher {
	struct hammer *hammer;
	uint32_t me;
	uint64_t random;
};

/* The sleeper on a processor of its own if there is one: two that take turns never race. */
static void pin(int which)
{
	cpu_set_t allowed, one;

	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return;
	CPU_ZERO(&one);
	for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; cpu++)
		if (CPU_ISSET(cpu, &allowed) && which-- == 0)
			CPU_SET(cpu, &one);
	if (CPU_COUNT(&one) == 1)
		(void)sched_setaffinity(0, sizeof(one), &one);
}

/* A moment, most often a short one: so the push of the one meets the arming and the look of the other again and again. */
static void dawdle(uint64_t *random)
{
	for (uint64_t n = next_random(random) % (UINT64_C(1) << next_random(random) % 12); n > 0; n--)
		wh_fence_compiler(); /* some cycles */
}

/* Pushes some time after the last push was seen. */
static void *pusher_thread(void *ctx)
{
	struct pusher *p = ctx;
	struct hammer *h = p->hammer;
	struct wh_transport *transport = h->g->at[p->me].transport;

	pin(1);
	for (uint64_t k = 1; k <= ROUNDS && wh_load_relaxed(&h->stop) == 0; k++) {
		dawdle(&p->random);
		post_word(h->g, p->me, 1, PUSHED, k);
		for (int n = 0; column(h->g, p->me, 1, 1, ANSWER(p->me)) < k && wh_load_relaxed(&h->stop) == 0; n++) {
			if (n < 256)
				continue;
			transport->ops->service(transport);
			sched_yield();
		}
	}
	return NULL;
}

/* Takes in what is new, and answers. */
static bool look(struct hammer *h, uint64_t seen[3])
{
	bool found = false;

	for (uint32_t from = 0; from < 3; from += 2) {
		uint64_t k = column(h->g, 1, 1, from, PUSHED);

		if (k == seen[from])
			continue;
		seen[from] = k;
		post_word(h->g, 1, 1, ANSWER(from), k);
		found = true;
	}
	return found;
}

static void *sleeper_thread(void *ctx)
{
	struct hammer *h = ctx;
	struct wh_transport *transport = h->g->at[1].transport;
	uint64_t seen[3] = {0}, random = h->g->seed + 2;

	pin(0);
	while (seen[0] < ROUNDS || (h->pushers == 2 && seen[2] < ROUNDS)) {
		if (look(h, seen))
			continue;
		dawdle(&random);
		transport->ops->arm(transport);
		if (look(h, seen)) {
			h->finds++;
			transport->ops->disarm(transport);
			continue;
		}
		h->sleeps++;
		if (!wh_world.wait(h->g->world, 1, LONG_NS) && look(h, seen)) { /* it was there, and no ring came */
			h->lost = true;
			wh_store_relaxed(&h->stop, 1);
			return NULL;
		}
		transport->ops->service(transport);
	}
	return NULL;
}

/* With one pusher a ring that is lost stays lost; with two the other one's may hide it, but they meet. */
START_TEST(t6_hammer)
{
	struct hammer h = {.g = settled_group(3, test_seed(90 + (uint64_t)_i)), .pushers = 1 + (uint32_t)_i};
	struct pusher pushers[] = {{&h, 0, h.g->seed}, {&h, 2, h.g->seed + 1}};
	pthread_t sleeper, threads[2];

	ck_assert_int_eq(pthread_create(&sleeper, NULL, sleeper_thread, &h), 0);
	for (uint32_t i = 0; i < h.pushers; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, pusher_thread, &pushers[i]), 0);
	for (uint32_t i = 0; i < h.pushers; i++)
		pthread_join(threads[i], NULL);
	pthread_join(sleeper, NULL);
	ck_assert_msg(!h.lost, "slept through a push");
	ck_assert_uint_gt(h.sleeps, 0);
	printf("%llu sleeps, %llu times something was found after arming\n", (unsigned long long)h.sleeps,
	       (unsigned long long)h.finds);
	group_free(h.g);
}
END_TEST

TCase *cases_doorbell(void)
{
	TCase *cases = tcase_create("doorbell");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, t6_a_push_ends_the_wait);
	tcase_add_test(cases, t6_only_the_addressed_wake);
	tcase_add_test(cases, t6_quiet_pushes_do_not_ring);
	tcase_add_test(cases, t6_quiet_among_loud);
	tcase_add_test(cases, t6_patient_pushes_leave_before_a_sleep);
	tcase_add_test(cases, t6_patient_pushes_are_not_overtaken);
	tcase_add_test(cases, t6_the_descriptor_says_what_wait_would);
	tcase_add_test(cases, t6_wake_is_sticky);
	tcase_add_test(cases, t6_time_alone_does_not_ring);
	tcase_add_loop_test(cases, t6_no_push_is_slept_through, 0, seeds(5));
	if (wh_world.rings != NULL)
		tcase_add_test(cases, t6_a_loop_that_is_awake_costs_nothing);
	if (wh_world.threads) {
		tcase_add_test(cases, t6_wake_from_another_thread);
		tcase_add_test(cases, t6_a_loop_that_waits_may_be_posted_for);
		tcase_add_test(cases, t6_a_loop_that_sleeps_may_be_posted_for);
		tcase_add_loop_test(cases, t6_hammer, 0, 2);
	}
	return cases;
}
