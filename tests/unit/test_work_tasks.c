/* test_work_tasks.c - tasks in turn, the doorbell, and a worker with its thread.
 * Labels: threads
 */
#include <string.h>
#include <time.h>

#include "tests/harness.h"
#include "tests/patience.h"
#include "work/worker.h"

static char order[64];
static struct wh_tasks tasks;
static struct wh_task *parked;

static void note(const char *what)
{
	if (strlen(order) + strlen(what) < sizeof(order))
		strcat(order, what);
}

static void yields(void *ctx)
{
	note(ctx);
	wh_tasks_yield(&tasks);
	note(ctx);
}

static void parks(void *ctx)
{
	note(ctx);
	parked = tasks.running;
	wh_tasks_park(&tasks);
	note(ctx);
}

TEST(each_has_its_turn)
{
	wh_tasks_init(&tasks, WH_FIBER_STACK_BYTES);
	ck_assert_int_eq(wh_tasks_add(&tasks, yields, "a"), WHORL_OK);
	ck_assert_int_eq(wh_tasks_add(&tasks, parks, "b"), WHORL_OK);
	ck_assert_int_eq(wh_tasks_add(&tasks, yields, "c"), WHORL_OK);
	ck_assert_uint_eq(wh_tasks_run(&tasks), 3);
	ck_assert_str_eq(order, "abc");
	ck_assert_uint_eq(wh_tasks_run(&tasks), 2);
	ck_assert_str_eq(order, "abcac");
	ck_assert_uint_eq(wh_tasks_run(&tasks), 0);
	ck_assert_uint_eq(wh_load_relaxed(&tasks.count), 1);
	wh_tasks_wake(parked);
	ck_assert_int_eq(wh_tasks_start(&tasks, yields, "d"), WHORL_OK); /* at once, before those that are ready */
	ck_assert_str_eq(order, "abcacd");
	ck_assert_uint_eq(wh_tasks_run(&tasks), 2);
	ck_assert_str_eq(order, "abcacdbd");
	ck_assert_uint_eq(wh_load_relaxed(&tasks.count), 0);
	ck_assert_uint_eq(wh_load_relaxed(&tasks.started), 4);
	wh_tasks_close(&tasks);
}

/* Those that have ended leave their stacks; those that never end are dropped with the rest. */
TEST(stacks_are_used_again)
{
	wh_tasks_init(&tasks, WH_FIBER_STACK_BYTES);
	for (int i = 0; i < 100; i++) {
		ck_assert_int_eq(wh_tasks_add(&tasks, yields, ""), WHORL_OK);
		ck_assert_int_eq(wh_tasks_add(&tasks, yields, ""), WHORL_OK);
		while (wh_tasks_run(&tasks) > 0)
			continue;
		ck_assert_uint_eq(tasks.pooled, 2);
	}
	ck_assert_int_eq(wh_tasks_start(&tasks, parks, ""), WHORL_OK);
	ck_assert_uint_eq(tasks.pooled, 1);
	wh_tasks_close(&tasks);
}

TEST(a_ring_is_sticky)
{
	struct wh_bell bell;

	wh_bell_init(&bell);
	wh_bell_ring(&bell);
	wh_bell_ring(&bell);
	wh_bell_wait(&bell, UINT64_C(3600) * WH_NS_PER_S); /* not at all */
	wh_bell_wait(&bell, WH_NS_PER_MS);                 /* both were taken by the one */
}

static wh_word looks, wanted;

static size_t look(void *ctx)
{
	(void)ctx;
	if (wh_load_acquire(&wanted) == wh_load_relaxed(&looks))
		return 0;
	wh_store_release(&looks, wh_load_acquire(&wanted));
	return 1;
}

static size_t nothing(void *ctx)
{
	(void)ctx;
	return 0;
}

static void await_asleep(struct wh_worker *worker)
{
	uint64_t patience = test_patience(20000) * WH_NS_PER_MS, began = wh_env_now(wh_env_system());

	while ((wh_gate_state(worker->gate) & WH_GATE_PARKED) == 0 ||
	       wh_load_relaxed(&worker->gate->loan) != WH_GATE_LENT)
		ck_assert_uint_lt(wh_env_now(wh_env_system()) - began, patience);
}

/* It sleeps, is lent meanwhile, and a ring wakes it. */
TEST(a_worker_sleeps_and_wakes)
{
	static struct wh_worker worker;
	const struct wh_worker_plan plan = {
		.env = wh_env_system(), .stack_bytes = WH_FIBER_STACK_BYTES, .look = look, .send = nothing};
	uint64_t patience = test_patience(20000) * WH_NS_PER_MS, began;
	struct wh_error err;

	ck_assert_int_eq(wh_worker_init(&worker, &plan, &err), WHORL_OK);
	ck_assert_int_eq(wh_worker_start(&worker, &err), WHORL_OK);
	for (uint64_t i = 1; i <= 20; i++) {
		await_asleep(&worker);
		began = wh_env_now(wh_env_system());
		wh_store_release(&wanted, i);
		wh_gate_ring(worker.gate);
		while (wh_load_acquire(&looks) != i)
			ck_assert_uint_lt(wh_env_now(wh_env_system()) - began, patience);
	}
	await_asleep(&worker);
	while (!wh_gate_borrow(worker.gate))
		continue;
	ck_assert(!wh_worker_stop(&worker, WH_NS_PER_MS)); /* not while it is borrowed */
	wh_gate_give_back(worker.gate);
	ck_assert(wh_worker_stop(&worker, patience));
	wh_worker_close(&worker);
}

TEST_SUITE("work_tasks")
