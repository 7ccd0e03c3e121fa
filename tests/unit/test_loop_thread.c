/* test_loop_thread.c - the loop with a thread of its own: it sleeps, is woken and borrowed, and ends.
 * Labels: threads
 */
#include "tests/support/bell.h"

#include <signal.h>

#define PATIENCE_S 20

struct caller {
	wh_word calls, signals, work;
};

static size_t from_thread(void *ctx)
{
	struct caller *caller = ctx;
	sigset_t blocked;

	if (wh_load_relaxed(&caller->calls) == 0) {
		pthread_sigmask(SIG_BLOCK, NULL, &blocked);
		wh_store_relaxed(&caller->signals,
				 sigismember(&blocked, SIGTERM) == 1 && sigismember(&blocked, SIGUSR1) == 1);
	}
	wh_fetch_add(&caller->calls, 1);
	return wh_exchange(&caller->work, 0);
}

static void await_sleep(struct bell *bell, uint64_t waits)
{
	struct timespec deadline;
	int result = 0;

	clock_gettime(CLOCK_REALTIME, &deadline);
	deadline.tv_sec += PATIENCE_S;
	pthread_mutex_lock(&bell->lock);
	while ((!bell->waiting || bell->waits < waits) && result == 0)
		result = pthread_cond_timedwait(&bell->rung, &bell->lock, &deadline);
	pthread_mutex_unlock(&bell->lock);
	ck_assert_int_eq(result, 0);
}

TEST_CASE("loop thread", .timeout_s = 60);

TEST(a_thread_sleeps_wakes_and_ends)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);
	struct caller caller = {0};
	struct wh_error err;
	uint64_t calls;

	f->bell.blocks = true;
	f->env.advance_ns = WH_NS_PER_US; /* its clock is read by its thread alone */
	ck_assert_int_eq(wh_loop_add(&f->loop, from_thread, &caller, &err), WHORL_OK);
	ck_assert_int_eq(wh_loop_start(&f->loop, "test-loop", -1, &err), WHORL_OK);
	await_sleep(&f->bell, 1);
	ck_assert_uint_eq(wh_load_relaxed(&caller.signals), 1);
	calls = wh_load_relaxed(&caller.calls);
	wh_store_release(&caller.work, 1);
	wh_gate_ring(f->gate); /* what a commit does */
	await_sleep(&f->bell, 2);
	ck_assert_uint_gt(wh_load_relaxed(&caller.calls), calls);
	ck_assert_uint_eq(wh_load_relaxed(&caller.work), 0);
	wh_loop_stop(&f->loop); /* asleep as it is */
	calls = wh_load_relaxed(&caller.calls);
	wh_loop_stop(&f->loop);
	ck_assert_uint_eq(wh_load_relaxed(&caller.calls), calls);
	bell_discard(f);
}

/* Which thread vouches now, and whether another took that back. */
struct vouching {
	wh_word thread, at_call, times;
};

static struct vouching vouching;

static void note_vouch(struct wh_transport *transport, bool on)
{
	(void)transport;
	wh_fetch_add(&vouching.times, 1);
	wh_store_release(&vouching.thread, on ? (uint64_t)pthread_self() : 0);
}

static size_t look_who_vouches(void *ctx)
{
	(void)ctx;
	wh_store_release(&vouching.at_call, wh_load_relaxed(&vouching.thread) == (uint64_t)pthread_self());
	return 0;
}

TEST(the_thread_vouches_as_long_as_it_makes_passes)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);
	struct wh_transport_ops ops = *f->bell.base.ops;
	struct wh_error err;

	ops.vouch = note_vouch;
	f->bell.base.ops = &ops;
	f->bell.blocks = true;
	f->env.advance_ns = WH_NS_PER_US;
	ck_assert_int_eq(wh_loop_add(&f->loop, look_who_vouches, NULL, &err), WHORL_OK);
	ck_assert_uint_eq(wh_loop_step(&f->loop), 0); /* a pass by itself is nobody's */
	ck_assert_uint_eq(wh_load_relaxed(&vouching.times), 0);
	ck_assert_int_eq(wh_loop_start(&f->loop, "test-loop", -1, &err), WHORL_OK);
	await_sleep(&f->bell, 1);
	ck_assert_uint_eq(wh_load_acquire(&vouching.at_call), 1);
	wh_loop_stop(&f->loop);
	ck_assert_uint_eq(wh_load_acquire(&vouching.thread), 0);
	ck_assert_uint_eq(wh_load_relaxed(&vouching.times), 2);
	bell_discard(f);
}

static size_t while_borrowed(void *ctx)
{
	struct caller *caller = ctx;

	wh_fetch_add(&caller->calls, wh_load_acquire(&caller->work)); /* work: a thread has borrowed the loop */
	return 0;
}

/* Rung while it is borrowed, it makes no pass before it has been given back. */
TEST(a_loop_that_is_borrowed_stands_still)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);
	struct caller caller = {0};
	struct wh_error err;

	f->bell.blocks = true;
	f->env.advance_ns = WH_NS_PER_US;
	ck_assert_int_eq(wh_loop_add(&f->loop, while_borrowed, &caller, &err), WHORL_OK);
	ck_assert_int_eq(wh_loop_start(&f->loop, "test-loop", -1, &err), WHORL_OK);
	for (uint64_t waits = 1; waits <= 3; waits++) {
		await_sleep(&f->bell, waits);
		while (!wh_gate_borrow(f->gate))
			;
		wh_store_release(&caller.work, 1);
		bell_wake(&f->bell.base);
		for (int i = 0; i < 100; i++)
			sched_yield();
		wh_store_release(&caller.work, 0);
		wh_gate_give_back(f->gate);
	}
	wh_loop_stop(&f->loop);
	ck_assert_uint_eq(wh_load_relaxed(&caller.calls), 0);
	bell_discard(f);
}

/* A processor that it yields may be given to a thread that waits for it: that thread has the loop meanwhile, and no pass is made. */
TEST_LOOP(a_loop_that_yields_is_lent, 0, 2)
{
	struct fixture *f = bell_make(_i == 0 ? WH_IDLE_YIELD : WH_IDLE_SPIN);
	struct caller caller = {0};
	struct wh_error err;

	f->env.advance_ns = WH_NS_PER_US;
	ck_assert_int_eq(wh_loop_add(&f->loop, while_borrowed, &caller, &err), WHORL_OK);
	ck_assert_int_eq(wh_loop_start(&f->loop, "test-loop", -1, &err), WHORL_OK);
	for (int times = 0; times < 100; times++) {
		if (_i == 1) { /* that one keeps its processor */
			ck_assert(!wh_gate_is_lent(f->gate));
			ck_assert(!wh_gate_borrow(f->gate));
			sched_yield();
			continue;
		}
		while (!wh_gate_borrow(f->gate))
			sched_yield();
		wh_store_release(&caller.work, 1);
		for (int i = 0; i < 10; i++)
			sched_yield();
		wh_store_release(&caller.work, 0);
		wh_gate_give_back(f->gate);
	}
	wh_loop_stop(&f->loop);
	ck_assert(!wh_gate_is_lent(f->gate));
	ck_assert_uint_eq(wh_load_relaxed(&caller.calls), 0);
	bell_discard(f);
}

/* With idle = yield and spin it never sleeps, and can be stopped all the same. */
TEST_LOOP(a_thread_that_never_sleeps, 0, 2)
{
	struct fixture *f = bell_make(_i == 0 ? WH_IDLE_YIELD : WH_IDLE_SPIN);
	struct caller caller = {0};
	struct wh_error err;

	f->env.advance_ns = WH_NS_PER_MS;
	ck_assert_int_eq(wh_loop_add(&f->loop, from_thread, &caller, &err), WHORL_OK);
	ck_assert_int_eq(wh_loop_start(&f->loop, "test-loop", -1, &err), WHORL_OK);
	while (wh_load_relaxed(&caller.calls) < 1000)
		sched_yield();
	wh_loop_stop(&f->loop);
	ck_assert_uint_eq(f->bell.waits, 0);
	ck_assert_ptr_null(strchr(f->bell.calls, 'A'));
	bell_discard(f);
}

TEST(a_processor_that_is_not_there)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);
	struct wh_error err;

	ck_assert_int_eq(wh_loop_start(&f->loop, "test-loop", 100000, &err), WHORL_SYSTEM);
	wh_loop_stop(&f->loop);
	bell_discard(f);
}

TEST_SUITE("loop thread")
