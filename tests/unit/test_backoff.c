/* test_backoff.c - waiting by looking again: when it yields, and when it says that sleeping is better. */
#include "base/backoff.h"
#include "tests/harness.h"

#define LONG_NS (100 * WH_NS_PER_US)

/* A clock that a yield moves on: a caller that asks for the time has come from one, or is about to make one. */
struct world {
	struct wh_env env;
	uint64_t now_ns, yield_takes_ns;
	bool in_yield;
};

static uint64_t now_ns(void *ctx)
{
	struct world *w = ctx;

	if (w->in_yield)
		w->now_ns += w->yield_takes_ns;
	w->in_yield = !w->in_yield;
	return w->now_ns;
}

static void begin(struct world *w, uint64_t yield_takes_ns)
{
	*w = (struct world){.now_ns = WH_NS_PER_S, .yield_takes_ns = yield_takes_ns};
	w->env = (struct wh_env){.ctx = w, .now_ns = now_ns};
}

/* Waits until the advice is to sleep; how many yields that took. */
static uint64_t wait_until_sleep(struct world *w, struct wh_backoff *backoff)
{
	uint64_t before = backoff->yields;

	while (wh_backoff_wait(backoff, &w->env, LONG_NS))
		ck_assert_uint_lt(backoff->yields - before, 1000);
	w->in_yield = false; /* an advice without a yield has asked for the time only once */
	return backoff->yields - before;
}

TEST(beside_threads_that_yield_it_yields_for_its_time)
{
	struct wh_backoff backoff = {0};
	struct world w;

	begin(&w, 10 * WH_NS_PER_US);
	for (int round = 0; round < 20; round++)
		ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 10);
}

/* As in backoff.c: of a long yield so much counts, and so much is much. */
#define LOST_BY_ONE_NS (2 * WH_NS_PER_MS)
#define TURNS 4

static void lose_turns(struct world *w, struct wh_backoff *backoff)
{
	for (int turn = 0; turn < TURNS; turn++)
		ck_assert_uint_eq(wait_until_sleep(w, backoff), 1);
}

/* Some turns are lost, and then none for 64 times as long as one, and then one of that. */
TEST(beside_a_thread_that_computes_it_sleeps_at_once)
{
	struct wh_backoff backoff = {0};
	struct world w;

	begin(&w, LOST_BY_ONE_NS);
	lose_turns(&w, &backoff);
	ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 1); /* meanwhile a part was forgotten */
	for (int round = 0; round < 127; round++) {
		w.now_ns += WH_NS_PER_MS;
		ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 0);
	}
	w.now_ns += WH_NS_PER_MS;
	ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 1);
	ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 0);
}

/* It is owed time, and its yields come back at once, between those that lose a turn. */
TEST(long_yields_need_not_come_in_a_row)
{
	struct wh_backoff backoff = {0};
	unsigned waits = 0;
	struct world w;

	begin(&w, 10 * WH_NS_PER_US);
	do {
		ck_assert_uint_lt(waits, 2 * TURNS + 4);
		w.yield_takes_ns = waits % 2 == 0 ? LOST_BY_ONE_NS : 10 * WH_NS_PER_US;
	} while (wait_until_sleep(&w, &backoff) > 0 && ++waits > 0);
	ck_assert_uint_gt(waits, TURNS);
}

/* Such as one that has found much to do. */
TEST(a_long_turn_now_and_then_is_no_rule)
{
	struct wh_backoff backoff = {0};
	struct world w;

	begin(&w, 0);
	for (int round = 0; round < 400; round++) {
		bool is_long = round % 4 == 0;

		w.now_ns += 6 * WH_NS_PER_MS; /* it has work */
		w.yield_takes_ns = is_long ? LOST_BY_ONE_NS : 10 * WH_NS_PER_US;
		ck_assert_uint_eq(wait_until_sleep(&w, &backoff), is_long ? 1 : 10);
	}
}

/* Beside a thread that computes it has learnt to sleep; behind the time of that its first yields are short. */
static void learn_and_doubt(struct world *w, struct wh_backoff *backoff)
{
	begin(w, LOST_BY_ONE_NS);
	while (wait_until_sleep(w, backoff) > 0)
		;
	w->now_ns += 128 * WH_NS_PER_MS;
	w->yield_takes_ns = 10 * WH_NS_PER_US;
	ck_assert_uint_eq(wait_until_sleep(w, backoff), 10);
}

TEST(it_yields_again_when_the_computing_thread_has_gone)
{
	struct wh_backoff backoff = {0};
	struct world w;

	learn_and_doubt(&w, &backoff);
	ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 10);
}

/* The first yield behind the time in which it slept was short. That it is owed time is no proof that the other thread has gone. */
TEST(one_short_yield_is_no_proof)
{
	struct wh_backoff backoff = {0};
	struct world w;

	learn_and_doubt(&w, &backoff);
	w.yield_takes_ns = LOST_BY_ONE_NS;
	for (int turn = 0; turn < TURNS - 1; turn++)
		ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 1);
	ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 0);
}

/* A process that is stopped in a yield and goes on has not learnt of it, and of several such not for ever. */
TEST(a_stop_counts_for_a_second)
{
	struct wh_backoff backoff = {0};
	struct world w;

	begin(&w, 3600 * WH_NS_PER_S);
	ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 1);
	ck_assert_uint_eq(backoff.crowded_until_ns, 0);
	begin(&w, LOST_BY_ONE_NS);
	backoff = (struct wh_backoff){0};
	lose_turns(&w, &backoff);
	w.yield_takes_ns = 3600 * WH_NS_PER_S;
	backoff.lost_at_ns += w.yield_takes_ns; /* as if no time had gone by */
	ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 1);
	ck_assert_uint_eq(backoff.crowded_until_ns, w.now_ns + WH_NS_PER_S);
	w.now_ns += WH_NS_PER_S - 1;
	ck_assert_uint_eq(wait_until_sleep(&w, &backoff), 0);
}

TEST(a_thread_that_never_sleeps_always_yields)
{
	struct wh_backoff backoff = {0};
	struct world w;

	begin(&w, 2 * WH_NS_PER_MS);
	for (int look = 0; look < 8 * 100; look++)
		ck_assert(wh_backoff_wait(&backoff, &w.env, UINT64_MAX));
	ck_assert_uint_eq(backoff.yields, 100);
}

TEST_SUITE("backoff")
