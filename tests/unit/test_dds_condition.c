/* test_dds_condition.c - conditions and waitsets: what holds is found, threads are woken, descriptors can be read while something holds.
 * Labels: threads
 */
#include <poll.h>
#include <pthread.h>
#include <time.h>

#include "base/env.h"
#include "dds/entity/condition.h"
#include "tests/patience.h"
#include "tests/support/cache_lab.h"

#define PATIENCE_MS 10000

static uint64_t in_ms(uint64_t ms)
{
	return wh_env_now(wh_env_system()) + ms * WH_NS_PER_MS;
}

static uint64_t patience(void)
{
	return in_ms(test_patience(PATIENCE_MS));
}

static whorl_dds_return look(struct wh_dds_waitset *waitset, intptr_t *cookies, size_t room)
{
	return wh_dds_waitset_wait(waitset, cookies, room, 0);
}

static bool is_readable(int descriptor)
{
	struct pollfd it = {.fd = descriptor, .events = POLLIN};

	return poll(&it, 1, 0) == 1;
}

TEST_CASE("alone");

TEST(those_that_hold_are_found)
{
	struct wh_dds_signals signals, others;
	struct wh_dds_waitset waitset, foreign;
	struct wh_dds_condition guards[3];
	intptr_t cookies[3];
	whorl_dds_entity entities[2];

	wh_dds_signals_init(&signals);
	wh_dds_signals_init(&others);
	wh_dds_waitset_init(&waitset, &signals);
	wh_dds_waitset_init(&foreign, &others);
	for (int i = 0; i < 3; i++) {
		wh_dds_condition_init(&guards[i], &signals, 50 + i);
		if (i == 1)
			wh_dds_condition_say(&guards[i], true);
		ck_assert_int_eq(wh_dds_waitset_attach(&waitset, &guards[i], 100 + i), WHORL_DDS_RETCODE_OK);
	}
	ck_assert_int_eq(wh_dds_waitset_attach(&waitset, &guards[0], 7), WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	ck_assert_int_eq(wh_dds_waitset_attach(&foreign, &guards[0], 7), WHORL_DDS_RETCODE_BAD_PARAMETER);
	ck_assert_int_eq(look(&waitset, cookies, 3), 1);
	ck_assert_int_eq(cookies[0], 101);
	ck_assert_uint_eq(wh_dds_waitset_list(&waitset, entities, 2), 3);
	ck_assert_int_eq(entities[0] + entities[1], 51 + 50);
	wh_dds_condition_say(&guards[0], true);
	ck_assert_int_eq(look(&waitset, cookies, 1), 2); /* more than there is room for */
	ck_assert_int_eq(cookies[0], 101);
	ck_assert_int_eq(look(&waitset, NULL, 0), 2);
	ck_assert(wh_dds_condition_take(&guards[1]));
	ck_assert(!wh_dds_condition_take(&guards[1]));
	ck_assert_int_eq(look(&waitset, cookies, 3), 1);
	ck_assert_int_eq(cookies[0], 100);
	ck_assert_int_eq(wh_dds_waitset_detach(&waitset, &guards[0]), WHORL_DDS_RETCODE_OK);
	ck_assert_int_eq(wh_dds_waitset_detach(&waitset, &guards[0]), WHORL_DDS_RETCODE_PRECONDITION_NOT_MET);
	ck_assert_int_eq(look(&waitset, cookies, 3), 0);
	wh_dds_condition_say(&guards[2], true);
	wh_dds_condition_close(&guards[2]); /* it goes from the waitset as well */
	ck_assert_int_eq(look(&waitset, cookies, 3), 0);
	wh_dds_waitset_close(&waitset);
	wh_dds_waitset_free(&waitset);
	wh_dds_waitset_close(&foreign);
	wh_dds_waitset_free(&foreign);
	wh_dds_condition_say(&guards[1], true); /* a waitset that is gone is not touched */
	wh_dds_signals_free(&signals);
	wh_dds_signals_free(&others);
}

/* By a thread that has held one of the two since before. */
TEST(what_was_closed_takes_part_no_more)
{
	struct wh_dds_condition guard, other;
	struct wh_dds_waitset waitset;
	struct wh_dds_signals signals;

	wh_dds_signals_init(&signals);
	wh_dds_waitset_init(&waitset, &signals);
	wh_dds_condition_init(&guard, &signals, 1);
	wh_dds_condition_init(&other, &signals, 2);
	wh_dds_condition_close(&guard);
	ck_assert_int_eq(wh_dds_waitset_attach(&waitset, &guard, 1), WHORL_DDS_RETCODE_ALREADY_DELETED);
	wh_dds_waitset_close(&waitset);
	ck_assert_int_eq(wh_dds_waitset_attach(&waitset, &other, 1), WHORL_DDS_RETCODE_ALREADY_DELETED);
	ck_assert_int_eq(wh_dds_waitset_wait(&waitset, NULL, 0, in_ms(60000)), WHORL_DDS_RETCODE_ALREADY_DELETED);
	ck_assert_int_eq(wh_dds_waitset_descriptor(&waitset), WHORL_DDS_RETCODE_ALREADY_DELETED);
	wh_dds_condition_say(&other, true);
	wh_dds_condition_close(&other);
	wh_dds_waitset_free(&waitset);
	wh_dds_signals_free(&signals);
}

TEST(a_wait_ends_in_time)
{
	struct wh_dds_signals signals;
	struct wh_dds_waitset waitset;
	uint64_t until = in_ms(20);

	wh_dds_signals_init(&signals);
	wh_dds_waitset_init(&waitset, &signals);
	ck_assert_int_eq(wh_dds_waitset_wait(&waitset, NULL, 0, until), 0);
	ck_assert_uint_ge(in_ms(0), until);
	wh_dds_waitset_close(&waitset);
	wh_dds_waitset_free(&waitset);
	wh_dds_signals_free(&signals);
}

TEST(a_descriptor_is_readable_while_one_holds)
{
	struct wh_dds_signals signals;
	struct wh_dds_waitset waitset;
	struct wh_dds_condition guards[2];
	int descriptor;

	wh_dds_signals_init(&signals);
	wh_dds_waitset_init(&waitset, &signals);
	for (int i = 0; i < 2; i++) {
		wh_dds_condition_init(&guards[i], &signals, 50 + i);
		ck_assert_int_eq(wh_dds_waitset_attach(&waitset, &guards[i], i), WHORL_DDS_RETCODE_OK);
	}
	wh_dds_condition_say(&guards[0], true);
	descriptor = wh_dds_waitset_descriptor(&waitset);
	ck_assert_int_ge(descriptor, 0);
	ck_assert_int_eq(wh_dds_waitset_descriptor(&waitset), descriptor);
	ck_assert(is_readable(descriptor));
	wh_dds_condition_say(&guards[1], true);
	wh_dds_condition_say(&guards[0], false);
	ck_assert(is_readable(descriptor));
	ck_assert_int_eq(look(&waitset, NULL, 0), 1); /* to look changes nothing */
	ck_assert(is_readable(descriptor));
	wh_dds_condition_say(&guards[1], false);
	ck_assert(!is_readable(descriptor));
	wh_dds_condition_say(&guards[1], true);
	ck_assert(is_readable(descriptor));
	ck_assert(!wh_dds_waitset_is_triggered(&waitset)); /* what is attached does not trigger the waitset itself */
	wh_dds_waitset_trigger(&waitset, true);
	wh_dds_condition_close(&guards[1]);
	ck_assert(is_readable(descriptor));
	ck_assert(wh_dds_waitset_is_triggered(&waitset));
	ck_assert_int_eq(wh_dds_waitset_wait(&waitset, NULL, 0, patience()), 0); /* at once */
	wh_dds_waitset_trigger(&waitset, false);
	ck_assert(!wh_dds_waitset_is_triggered(&waitset));
	ck_assert(!is_readable(descriptor));
	wh_dds_condition_close(&guards[0]);
	wh_dds_waitset_close(&waitset);
	wh_dds_waitset_free(&waitset);
	wh_dds_signals_free(&signals);
}

/* ---- threads -------------------------------------------------------------------------------------------------------------- */

struct waiter {
	struct wh_dds_waitset *waitset;
	whorl_dds_return result;
	intptr_t cookie;
};

static void *wait_once(void *argument)
{
	struct waiter *waiter = argument;

	waiter->result = wh_dds_waitset_wait(waiter->waitset, &waiter->cookie, 1, patience());
	return NULL;
}

static void await_waiters(struct wh_dds_waitset *waitset, uint32_t count)
{
	uint64_t until = patience();
	uint32_t there = 0;

	while (there < count && in_ms(0) < until) {
		pthread_mutex_lock(&waitset->signals->lock);
		there = waitset->waiters;
		pthread_mutex_unlock(&waitset->signals->lock);
	}
	ck_assert_uint_eq(there, count);
}

TEST_CASE("threads");

TEST(threads_are_woken)
{
	struct wh_dds_signals signals;
	struct wh_dds_waitset waitset;
	struct wh_dds_condition guard;
	struct waiter waiters[2] = {{.waitset = &waitset}, {.waitset = &waitset}};
	pthread_t threads[2];

	wh_dds_signals_init(&signals);
	wh_dds_waitset_init(&waitset, &signals);
	wh_dds_condition_init(&guard, &signals, 1);
	ck_assert_int_eq(wh_dds_waitset_attach(&waitset, &guard, 5), WHORL_DDS_RETCODE_OK);
	for (int i = 0; i < 2; i++)
		ck_assert_int_eq(pthread_create(&threads[i], NULL, wait_once, &waiters[i]), 0);
	await_waiters(&waitset, 2);
	wh_dds_condition_say(&guard, true);
	for (int i = 0; i < 2; i++) {
		pthread_join(threads[i], NULL);
		ck_assert_int_eq(waiters[i].result, 1);
		ck_assert_int_eq(waiters[i].cookie, 5);
	}
	wh_dds_condition_close(&guard);
	wh_dds_waitset_close(&waitset);
	wh_dds_waitset_free(&waitset);
	wh_dds_signals_free(&signals);
}

TEST(a_waitset_is_triggered_itself)
{
	struct wh_dds_signals signals;
	struct wh_dds_waitset waitset;
	struct waiter waiter = {.waitset = &waitset, .result = 7};
	pthread_t thread;

	wh_dds_signals_init(&signals);
	wh_dds_waitset_init(&waitset, &signals);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_once, &waiter), 0);
	await_waiters(&waitset, 1);
	wh_dds_waitset_trigger(&waitset, true);
	pthread_join(thread, NULL);
	ck_assert_int_eq(waiter.result, 0);
	wh_dds_waitset_close(&waitset);
	wh_dds_waitset_free(&waitset);
	wh_dds_signals_free(&signals);
}

TEST(threads_leave_a_waitset_that_is_closed)
{
	struct wh_dds_signals signals;
	struct wh_dds_waitset waitset;
	struct waiter waiter = {.waitset = &waitset};
	pthread_t thread;

	wh_dds_signals_init(&signals);
	wh_dds_waitset_init(&waitset, &signals);
	ck_assert_int_eq(pthread_create(&thread, NULL, wait_once, &waiter), 0);
	await_waiters(&waitset, 1);
	wh_dds_waitset_close(&waitset);
	wh_dds_waitset_free(&waitset);
	pthread_join(thread, NULL);
	ck_assert_int_eq(waiter.result, WHORL_DDS_RETCODE_ALREADY_DELETED);
	wh_dds_signals_free(&signals);
}

#define ROUNDS 2000

/* Two threads hand a token over and back, each by a guard of its own: none is missed. */
struct table {
	struct wh_dds_signals signals;
	struct wh_dds_waitset waitsets[2];
	struct wh_dds_condition guards[2];
};

static void hand_over(struct table *table, int me)
{
	intptr_t cookie;

	for (int i = 0; i < ROUNDS; i++) {
		ck_assert_int_eq(wh_dds_waitset_wait(&table->waitsets[me], &cookie, 1, patience()), 1);
		ck_assert(wh_dds_condition_take(&table->guards[me]));
		wh_dds_condition_say(&table->guards[1 - me], true);
	}
}

static void *hand_back(void *argument)
{
	hand_over(argument, 1);
	return NULL;
}

TEST(no_wake_is_missed)
{
	struct table table;
	pthread_t thread;

	wh_dds_signals_init(&table.signals);
	for (int i = 0; i < 2; i++) {
		wh_dds_waitset_init(&table.waitsets[i], &table.signals);
		wh_dds_condition_init(&table.guards[i], &table.signals, i);
		ck_assert_int_eq(wh_dds_waitset_attach(&table.waitsets[i], &table.guards[i], 0), WHORL_DDS_RETCODE_OK);
	}
	ck_assert_int_eq(pthread_create(&thread, NULL, hand_back, &table), 0);
	wh_dds_condition_say(&table.guards[0], true);
	hand_over(&table, 0);
	pthread_join(thread, NULL);
	for (int i = 0; i < 2; i++) {
		wh_dds_condition_close(&table.guards[i]);
		wh_dds_waitset_close(&table.waitsets[i]);
		wh_dds_waitset_free(&table.waitsets[i]);
	}
	wh_dds_signals_free(&table.signals);
}

/* ---- of readers and entities ---------------------------------------------------------------------------------------------- */

static bool is_seven(const void *data, size_t bytes, void *ctx)
{
	(void)ctx;
	return bytes == sizeof(int) && *(const int *)data == 7;
}

TEST_CASE("of");

TEST(read_conditions_follow_the_cache)
{
	struct lab lab;
	struct wh_dds_signals signals;
	struct wh_dds_read_condition unread = {.mask = LAB_ANY & ~(uint32_t)WHORL_DDS_READ_SAMPLE_STATE, .next = NULL};
	struct wh_dds_read_condition disposed = {
		.mask = LAB_ANY &
			~(uint32_t)(WHORL_DDS_ALIVE_INSTANCE_STATE | WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE)};
	struct wh_dds_read_condition seven = {.mask = unread.mask};

	lab_init(&lab);
	cache_lab_open(&lab);
	wh_dds_signals_init(&signals);
	wh_dds_condition_init(&unread.condition, &signals, 1);
	wh_dds_condition_init(&disposed.condition, &signals, 1);
	wh_dds_condition_init(&seven.condition, &signals, 1);
	seven.query = wh_dds_query_create(lab.cache, is_seven, NULL);
	unread.next = &disposed;
	disposed.next = &seven;
	cache_lab_write(&lab, 1, 6);
	wh_dds_read_conditions_look(&unread, lab.cache);
	ck_assert(wh_dds_condition_holds(&unread.condition));
	ck_assert(!wh_dds_condition_holds(&disposed.condition));
	ck_assert(!wh_dds_condition_holds(&seven.condition));
	lab_read(&lab, LAB_ANY);
	wh_dds_read_conditions_look(&unread, lab.cache);
	ck_assert(!wh_dds_condition_holds(&unread.condition));
	cache_lab_write(&lab, 1, 7);
	lab_dispose(&lab, 1);
	wh_dds_read_conditions_look(&unread, lab.cache);
	ck_assert(wh_dds_condition_holds(&unread.condition));
	ck_assert(wh_dds_condition_holds(&disposed.condition));
	ck_assert(wh_dds_condition_holds(&seven.condition));
	lab_take(&lab, LAB_ANY);
	wh_dds_read_conditions_look(&unread, lab.cache);
	ck_assert(!wh_dds_condition_holds(&unread.condition));
	ck_assert(!wh_dds_condition_holds(&disposed.condition));
	ck_assert(!wh_dds_condition_holds(&seven.condition));
	wh_dds_signals_free(&signals);
	cache_lab_close(&lab);
}

#define SAMPLES 20000
#define MOST 100 /* in the reader at once */

/* A reader with its lock: one thread delivers, another waits and takes. */
struct desk {
	pthread_mutex_t lock;
	struct lab lab;
	struct wh_dds_read_condition any;
	struct wh_dds_signals signals;
	struct wh_dds_waitset waitset;
};

static enum wh_dds_put_result deliver(struct desk *desk, struct wh_dds_copy *copy)
{
	const struct wh_dds_arrival arrival = {.copy = copy, .does = WH_DDS_DOES_DATA, .expires_ns = WH_DDS_NEVER};
	enum wh_dds_put_result result;

	pthread_mutex_lock(&desk->lock);
	result = wh_dds_cache_put(desk->lab.cache, &arrival, 1);
	wh_dds_read_conditions_look(&desk->any, desk->lab.cache);
	pthread_mutex_unlock(&desk->lock);
	return result;
}

static void *deliver_all(void *argument)
{
	struct desk *desk = argument;
	uint64_t until = patience();

	for (uint64_t i = 1; i <= SAMPLES; i++) {
		struct wh_dds_copy *copy = wh_dds_copy_take(desk->lab.pool, sizeof(i));
		enum wh_dds_put_result result;

		copy->facts = (struct wh_dds_facts){.instance = 1 + i % 3, .sequence = i};
		memcpy(copy->data, &i, sizeof(i));
		do
			result = deliver(desk, copy);
		while (result == WH_DDS_PUT_FULL && in_ms(0) < until);
		ck_assert_int_eq(result, WH_DDS_PUT_KEPT);
	}
	return NULL;
}

/* Returns how many. */
static int take_some(struct desk *desk, uint64_t expected)
{
	static const struct wh_dds_select take = {.take = true, .info_bytes = sizeof(whorl_dds_sample_info)};
	struct lab *lab = &desk->lab;

	pthread_mutex_lock(&desk->lock);
	lab->count = wh_dds_cache_read(lab->cache, &take, lab->lent, lab->infos, LAB_ROOM);
	wh_dds_read_conditions_look(&desk->any, lab->cache);
	pthread_mutex_unlock(&desk->lock);
	ck_assert_int_gt(lab->count, 0); /* it would not have been woken */
	for (int i = 0; i < lab->count; i++)
		if (*(uint64_t *)lab->lent[i] != expected + (uint64_t)i ||
		    lab->infos[i].sequence != expected + (uint64_t)i)
			ck_abort_msg("a sample that is not the next one");
	pthread_mutex_lock(&desk->lock);
	ck_assert_int_eq(wh_dds_cache_return(lab->cache, lab->lent, (size_t)lab->count), WHORL_DDS_RETCODE_OK);
	pthread_mutex_unlock(&desk->lock);
	return lab->count;
}

TEST(samples_reach_a_thread_that_waits)
{
	struct desk desk = {.any = {.mask = LAB_ANY}};
	pthread_t thread;
	uint64_t expected = 1;

	lab_init(&desk.lab);
	desk.lab.policies.presentation.scope = WHORL_DDS_PRESENTATION_TOPIC;
	desk.lab.policies.presentation.ordered = true;
	lab_limit(&desk.lab, MOST, WHORL_DDS_UNLIMITED, WHORL_DDS_UNLIMITED);
	cache_lab_open(&desk.lab);
	pthread_mutex_init(&desk.lock, NULL);
	wh_dds_signals_init(&desk.signals);
	wh_dds_waitset_init(&desk.waitset, &desk.signals);
	wh_dds_condition_init(&desk.any.condition, &desk.signals, 1);
	ck_assert_int_eq(wh_dds_waitset_attach(&desk.waitset, &desk.any.condition, 0), WHORL_DDS_RETCODE_OK);
	ck_assert_int_eq(pthread_create(&thread, NULL, deliver_all, &desk), 0);
	while (expected <= SAMPLES) {
		ck_assert_int_eq(wh_dds_waitset_wait(&desk.waitset, NULL, 0, patience()), 1);
		expected += (uint64_t)take_some(&desk, expected);
	}
	pthread_join(thread, NULL);
	ck_assert_uint_le(wh_dds_pool_count(desk.lab.pool).made, MOST + 1);
	wh_dds_waitset_close(&desk.waitset);
	wh_dds_waitset_free(&desk.waitset);
	wh_dds_condition_close(&desk.any.condition);
	wh_dds_signals_free(&desk.signals);
	pthread_mutex_destroy(&desk.lock);
	cache_lab_close(&desk.lab);
}

TEST(status_conditions_follow_the_statuses)
{
	struct wh_dds_statuses statuses = {.changed = 0};
	struct wh_dds_status_condition condition = {.enabled = WHORL_DDS_SAMPLE_LOST_STATUS};
	struct wh_dds_signals signals;

	wh_dds_signals_init(&signals);
	wh_dds_condition_init(&condition.condition, &signals, 1);
	wh_dds_status_rejected(&statuses, WHORL_DDS_REJECTED_BY_SAMPLES_LIMIT, 1);
	wh_dds_status_condition_look(&condition, &statuses);
	ck_assert(!wh_dds_condition_holds(&condition.condition));
	wh_dds_status_lost(&statuses, 1);
	wh_dds_status_condition_look(&condition, &statuses);
	ck_assert(wh_dds_condition_holds(&condition.condition));
	wh_dds_status_take(&statuses, WHORL_DDS_SAMPLE_LOST_STATUS);
	wh_dds_status_condition_look(&condition, &statuses);
	ck_assert(!wh_dds_condition_holds(&condition.condition));
	condition.enabled = WHORL_DDS_SAMPLE_REJECTED_STATUS;
	wh_dds_status_condition_look(&condition, &statuses);
	ck_assert(wh_dds_condition_holds(&condition.condition));
	wh_dds_signals_free(&signals);
}

TEST_SUITE("dds_condition")
