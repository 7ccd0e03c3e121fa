/* test_loop.c - the loop: passes, arming and sleeping, times asked for. test_loop_thread.c has one with a thread of its own. */
#include "tests/support/bell.h"

static size_t called(struct fixture *f, const char *name)
{
	size_t work = f->work;

	if (strlen(f->order) + 1 < sizeof(f->order))
		strcat(f->order, name);
	f->armed_in_pass = strchr(f->bell.calls, 'A') != NULL;
	f->parked_in_pass = (wh_gate_state(f->gate) & WH_GATE_PARKED) != 0;
	if (f->at_ns != 0)
		wh_loop_at(&f->loop, f->at_ns);
	f->work = 0;
	return work;
}

static size_t first(void *ctx)
{
	return called(ctx, "1");
}

static size_t second(void *ctx)
{
	return 10 * called(ctx, "2");
}

static size_t adds_second(void *ctx)
{
	struct fixture *f = ctx;
	struct wh_error err;

	if (f->loop.count == 1)
		ck_assert_int_eq(wh_loop_add(&f->loop, second, f, &err), WHORL_OK);
	return called(f, "a");
}

/* ---- passes ------------------------------------------------------------------------------------------------------------ */

TEST(a_pass_calls_all_in_order)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	ck_assert_uint_eq(wh_loop_step(&f->loop), 0);
	add(f, first);
	add(f, second);
	f->work = 3;
	ck_assert_uint_eq(wh_loop_step(&f->loop), 3);
	ck_assert_uint_eq(wh_loop_step(&f->loop), 0);
	ck_assert_str_eq(f->order, "1212");
	ck_assert_uint_eq(wh_load_relaxed(&f->loop.stats.steps), 3);
	ck_assert_uint_eq(wh_load_relaxed(&f->loop.stats.idle_steps), 2);
	ck_assert_uint_eq(f->env.diag.step, 3);
	bell_discard(f);
}

TEST(a_pass_with_work_begins_the_waiting_anew)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	add(f, first);
	while (f->loop.backoff.since_ns == 0)
		ck_assert(wh_loop_idle(f->loop.idle, &f->loop.backoff, f->loop.diag->env));
	wh_loop_step(&f->loop);
	ck_assert_uint_ne(f->loop.backoff.since_ns, 0);
	f->work = 1;
	wh_loop_step(&f->loop);
	ck_assert_uint_eq(f->loop.backoff.since_ns, 0);
	bell_discard(f);
}

/* Yields that take 10 us of the 100 that it has; some looks before the first, as none has told yet what it costs. */
TEST(it_lingers_for_its_time)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);
	uint64_t steps;

	f->env.advance_ns = 5 * WH_NS_PER_US; /* each look at the clock: two of a yield, one of a pass */
	add(f, first);
	ck_assert_uint_eq(wh_loop_linger(&f->loop, UINT64_MAX), 0);
	steps = wh_load_relaxed(&f->loop.stats.steps);
	ck_assert_uint_gt(steps, 8);
	ck_assert_uint_le(steps, 40);
	ck_assert_uint_ge(wh_load_relaxed(&f->loop.stats.yields), 1);
	ck_assert(f->loop.backoff.spent);
	ck_assert_str_eq(f->bell.calls, ""); /* it neither arms nor sleeps */
	bell_discard(f);
}

TEST(it_lingers_once_for_each_time_that_there_was_work)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);
	uint64_t steps;

	f->env.advance_ns = 5 * WH_NS_PER_US;
	add(f, first);
	while (wh_loop_idle(f->loop.idle, &f->loop.backoff, f->loop.diag->env)) /* whorl_yield, as long as it says so */
		;
	ck_assert_uint_eq(wh_loop_linger(&f->loop, UINT64_MAX), 0);
	ck_assert_uint_eq(wh_load_relaxed(&f->loop.stats.steps), 1);
	f->work = 3;
	ck_assert_uint_eq(wh_loop_linger(&f->loop, UINT64_MAX), 3);
	ck_assert_uint_eq(wh_load_relaxed(&f->loop.stats.steps), 2);
	ck_assert_uint_eq(wh_loop_linger(&f->loop, UINT64_MAX), 0);
	steps = wh_load_relaxed(&f->loop.stats.steps);
	ck_assert_uint_gt(steps, 8);
	ck_assert_uint_eq(wh_loop_linger(&f->loop, UINT64_MAX), 0);
	ck_assert_uint_eq(wh_load_relaxed(&f->loop.stats.steps), steps + 1);
	bell_discard(f);
}

/* idle = adaptive until then; yield, spin: they have no other end. */
TEST_LOOP(it_lingers_until_a_deadline, 0, 3)
{
	static const enum wh_idle idle[] = {WH_IDLE_ADAPTIVE, WH_IDLE_YIELD, WH_IDLE_SPIN};
	struct fixture *f = bell_make(idle[_i]);
	uint64_t before = f->loop.now_ns, deadline = before + (_i == 0 ? 30 : 3000) * WH_NS_PER_US;

	f->env.advance_ns = WH_NS_PER_US;
	ck_assert_uint_eq(wh_loop_linger(&f->loop, deadline), 0);
	ck_assert_uint_ge(f->loop.now_ns, deadline);
	ck_assert_uint_lt(f->loop.now_ns, deadline + 10 * WH_NS_PER_US);
	ck_assert(!f->loop.backoff.spent);
	bell_discard(f);
}

TEST(many_predicates)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	for (int i = 0; i < 60; i++)
		add(f, first);
	wh_loop_step(&f->loop);
	ck_assert_uint_eq(strlen(f->order), 60);
	bell_discard(f);
}

TEST(a_predicate_may_add_another)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	add(f, adds_second);
	wh_loop_step(&f->loop);
	ck_assert_str_eq(f->order, "a2");
	bell_discard(f);
}

/* The clock is read when nothing was done, and now and then when much is. */
TEST(the_clock_is_read_now_and_then)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);
	uint64_t before = f->loop.now_ns;

	add(f, first);
	f->env.now_ns += 100;
	f->work = 1;
	wh_loop_step(&f->loop);
	ck_assert_uint_eq(f->loop.now_ns, before);
	wh_loop_step(&f->loop);
	ck_assert_uint_eq(f->loop.now_ns, before + 100);
	f->env.now_ns += 100;
	for (int i = 0; i < WH_CLOCK_PASSES; i++) {
		f->work = 1;
		wh_loop_step(&f->loop);
	}
	ck_assert_uint_eq(f->loop.now_ns, before + 200);
	bell_discard(f);
}

TEST(a_busy_loop_serves_its_transport)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	for (int i = 0; i < 100; i++)
		wh_loop_step(&f->loop);
	ck_assert_str_eq(f->bell.calls, "");
	f->env.now_ns += WH_SERVICE_NS;
	wh_loop_step(&f->loop); /* learns the time */
	f->bell.service_work = 5;
	ck_assert_uint_eq(wh_loop_step(&f->loop), 5);
	ck_assert_str_eq(f->bell.calls, "S");
	wh_loop_step(&f->loop);
	ck_assert_str_eq(f->bell.calls, "S");
	bell_discard(f);
}

/* ---- sleeping ----------------------------------------------------------------------------------------------------------- */

TEST(the_last_look_comes_after_arming)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	add(f, first);
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 0);
	ck_assert_str_eq(f->order, "1");
	ck_assert(f->armed_in_pass);
	ck_assert(f->parked_in_pass);
	ck_assert_str_eq(f->bell.calls, "AS");
	ck_assert(wh_gate_state(f->gate) & WH_GATE_PARKED);
	wh_loop_disarm(&f->loop);
	ck_assert_str_eq(f->bell.calls, "ASD");
	ck_assert_uint_eq(wh_gate_state(f->gate), WH_GATE_OPEN);
	bell_discard(f);
}

static void parks(void *ctx)
{
	struct fixture *f = ctx;

	ck_assert((wh_gate_state(f->gate) & WH_GATE_PARKED) == 0);
	strcat(f->order, "p");
}

static size_t looks(void *ctx)
{
	struct fixture *f = ctx;

	strcat(f->order, f->loop.looks_last ? "L" : "l");
	return 0;
}

/* What is done before parking is in order with the look behind it. */
TEST(before_it_parks_it_says_so)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	add(f, looks);
	wh_loop_on_park(&f->loop, parks, f);
	wh_loop_step(&f->loop);
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 0);
	ck_assert(f->loop.sure);
	wh_loop_sleep(&f->loop, 500);
	wh_loop_step(&f->loop);
	ck_assert_str_eq(f->order, "lpLl");
	bell_discard(f);
}

TEST(a_look_that_finds_something_disarms)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	add(f, first);
	f->work = 2;
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 2);
	ck_assert_str_eq(f->bell.calls, "ASD");
	ck_assert_uint_eq(wh_gate_state(f->gate), WH_GATE_OPEN);
	f->bell.service_work = 1;
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 1);
	ck_assert_str_eq(f->bell.calls, "ASDASD");
	bell_discard(f);
}

TEST(sleep_ends_awake_and_served)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	add(f, first);
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 0);
	f->env.now_ns += 77;
	wh_loop_sleep(&f->loop, 500);
	ck_assert_uint_eq(f->bell.wait_ns, 500);
	ck_assert_str_eq(f->bell.calls, "ASWDS");
	ck_assert_uint_eq(wh_gate_state(f->gate), WH_GATE_OPEN);
	ck_assert_uint_eq(f->loop.now_ns, f->env.now_ns);
	ck_assert_uint_eq(wh_load_relaxed(&f->loop.stats.sleeps), 1);
	bell_discard(f);
}

TEST(sleep_ends_by_the_time_asked_for)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	add(f, first);
	add(f, second);
	f->at_ns = f->env.now_ns + 300;
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 0);
	wh_loop_sleep(&f->loop, 500);
	ck_assert_uint_eq(f->bell.wait_ns, 300);
	wh_loop_sleep(&f->loop, 200);
	ck_assert_uint_eq(f->bell.wait_ns, 200);
	f->env.now_ns += 1000;
	wh_loop_sleep(&f->loop, 500);
	ck_assert_uint_eq(f->bell.wait_ns, 0); /* it is late already */
	f->at_ns = 0;
	wh_loop_step(&f->loop); /* there is no request any more */
	wh_loop_sleep(&f->loop, UINT64_MAX);
	ck_assert_uint_ge(f->bell.wait_ns, WH_NS_PER_MS);
	ck_assert_uint_le(f->bell.wait_ns, 10 * WH_NS_PER_S); /* no wait without a time-out */
	bell_discard(f);
}

TEST(a_loop_is_lent_while_it_sleeps)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	f->bell.lent = f->gate;
	ck_assert(!wh_gate_borrow(f->gate));
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 0);
	ck_assert(!wh_gate_borrow(f->gate)); /* it may still look */
	f->bell.call_count = 0;
	wh_loop_sleep(&f->loop, WH_NS_PER_MS);
	ck_assert_mem_eq(f->bell.calls, "WBDS", 4);
	ck_assert(!wh_gate_borrow(f->gate));
	bell_discard(f);
}

TEST(the_earliest_time_counts)
{
	struct fixture *f = bell_make(WH_IDLE_ADAPTIVE);

	wh_loop_at(&f->loop, 50);
	wh_loop_at(&f->loop, 40);
	wh_loop_at(&f->loop, 60);
	ck_assert_uint_eq(f->loop.next_ns, 40);
	bell_discard(f);
}

TEST_SUITE("loop")
