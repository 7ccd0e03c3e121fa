/* test_loop.c - the loop: passes, arming and sleeping, times asked for, a thread of its own.
 * Labels: threads
 */
#include "tests/unit/fake.h"

#include <signal.h>

#include "predicates/loop.h"

#define PATIENCE_S 20

/* A transport that notes what it is asked for, one letter each; and sleeps on a condition. */
struct bell {
	struct wh_transport base;
	char calls[128];
	size_t call_count;
	size_t service_work;
	uint64_t wait_ns;     /* of the last wait */
	bool blocks;          /* wait really does */
	struct wh_gate *lent; /* in wait the loop can be borrowed; NULL: nobody tries */
	pthread_mutex_t lock;
	pthread_cond_t rung;
	bool ringing, waiting;
	uint64_t waits;
};

static struct bell *bell_of(struct wh_transport *transport)
{
	return (struct bell *)transport;
}

static void note(struct bell *bell, char call)
{
	if (bell->call_count + 1 < sizeof(bell->calls))
		bell->calls[bell->call_count++] = call;
}

static void bell_arm(struct wh_transport *transport)
{
	note(bell_of(transport), 'A');
}

static void bell_disarm(struct wh_transport *transport)
{
	note(bell_of(transport), 'D');
}

static size_t bell_service(struct wh_transport *transport)
{
	struct bell *bell = bell_of(transport);
	size_t work = bell->service_work;

	note(bell, 'S');
	bell->service_work = 0;
	return work;
}

static void bell_wait(struct wh_transport *transport, uint64_t timeout_ns)
{
	struct bell *bell = bell_of(transport);

	note(bell, 'W');
	bell->wait_ns = timeout_ns;
	if (bell->lent != NULL) {
		note(bell, wh_gate_borrow(bell->lent) ? 'B' : '-');
		wh_gate_give_back(bell->lent);
	}
	if (!bell->blocks)
		return;
	pthread_mutex_lock(&bell->lock);
	bell->waiting = true;
	bell->waits++;
	pthread_cond_broadcast(&bell->rung);
	while (!bell->ringing)
		pthread_cond_wait(&bell->rung, &bell->lock);
	bell->ringing = bell->waiting = false;
	pthread_mutex_unlock(&bell->lock);
}

static void bell_wake(struct wh_transport *transport)
{
	struct bell *bell = bell_of(transport);

	pthread_mutex_lock(&bell->lock);
	bell->ringing = true;
	pthread_cond_broadcast(&bell->rung);
	pthread_mutex_unlock(&bell->lock);
}

static const struct wh_transport_ops bell_ops = {.name = "bell",
						 .lends = true,
						 .service = bell_service,
						 .arm = bell_arm,
						 .disarm = bell_disarm,
						 .wait = bell_wait,
						 .wake = bell_wake};

struct fixture {
	struct fake_env env;
	struct bell bell;
	struct wh_gate *gate;
	struct wh_loop loop;
	char order[64]; /* of predicates called */
	size_t work;    /* that the next call finds */
	uint64_t at_ns; /* that the predicates ask for; 0: nothing */
	bool armed_in_pass, parked_in_pass;
};

static void wake(void *ctx)
{
	struct fixture *f = ctx;

	bell_wake(&f->bell.base);
}

static struct fixture *make(enum wh_idle idle)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct wh_error err;

	ck_assert_ptr_nonnull(f);
	fake_env_init(&f->env);
	f->bell.base.ops = &bell_ops;
	pthread_mutex_init(&f->bell.lock, NULL);
	pthread_cond_init(&f->bell.rung, NULL);
	ck_assert_int_eq(wh_gate_create(&f->gate, wake, f, &err), WHORL_OK);
	wh_loop_init(&f->loop, &f->env.diag, &f->bell.base, f->gate, idle);
	f->loop.serviced_ns = f->env.now_ns;
	return f;
}

static void discard(struct fixture *f)
{
	wh_loop_close(&f->loop);
	wh_gate_free(f->gate);
	pthread_cond_destroy(&f->bell.rung);
	pthread_mutex_destroy(&f->bell.lock);
	free(f);
}

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

static void add(struct fixture *f, wh_predicate *fn)
{
	struct wh_error err;

	ck_assert_int_eq(wh_loop_add(&f->loop, fn, f, &err), WHORL_OK);
}

/* ---- passes ------------------------------------------------------------------------------------------------------------ */

START_TEST(a_pass_calls_all_in_order)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

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
	discard(f);
}
END_TEST

START_TEST(many_predicates)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

	for (int i = 0; i < 60; i++)
		add(f, first);
	wh_loop_step(&f->loop);
	ck_assert_uint_eq(strlen(f->order), 60);
	discard(f);
}
END_TEST

START_TEST(a_predicate_may_add_another)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

	add(f, adds_second);
	wh_loop_step(&f->loop);
	ck_assert_str_eq(f->order, "a2");
	discard(f);
}
END_TEST

/* The clock is read when nothing was done, and now and then when much is. */
START_TEST(the_clock_is_read_now_and_then)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);
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
	discard(f);
}
END_TEST

START_TEST(a_busy_loop_serves_its_transport)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

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
	discard(f);
}
END_TEST

/* ---- sleeping ----------------------------------------------------------------------------------------------------------- */

START_TEST(the_last_look_comes_after_arming)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

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
	discard(f);
}
END_TEST

START_TEST(a_look_that_finds_something_disarms)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

	add(f, first);
	f->work = 2;
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 2);
	ck_assert_str_eq(f->bell.calls, "ASD");
	ck_assert_uint_eq(wh_gate_state(f->gate), WH_GATE_OPEN);
	f->bell.service_work = 1;
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 1);
	ck_assert_str_eq(f->bell.calls, "ASDASD");
	discard(f);
}
END_TEST

START_TEST(sleep_ends_awake_and_served)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

	add(f, first);
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 0);
	f->env.now_ns += 77;
	wh_loop_sleep(&f->loop, 500);
	ck_assert_uint_eq(f->bell.wait_ns, 500);
	ck_assert_str_eq(f->bell.calls, "ASWDS");
	ck_assert_uint_eq(wh_gate_state(f->gate), WH_GATE_OPEN);
	ck_assert_uint_eq(f->loop.now_ns, f->env.now_ns);
	ck_assert_uint_eq(wh_load_relaxed(&f->loop.stats.sleeps), 1);
	discard(f);
}
END_TEST

START_TEST(sleep_ends_by_the_time_asked_for)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

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
	wh_loop_step(&f->loop); /* nobody asks any more */
	wh_loop_sleep(&f->loop, UINT64_MAX);
	ck_assert_uint_ge(f->bell.wait_ns, WH_NS_PER_MS);
	ck_assert_uint_le(f->bell.wait_ns, 10 * WH_NS_PER_S); /* no wait without a time-out */
	discard(f);
}
END_TEST

START_TEST(a_loop_is_lent_while_it_sleeps)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

	f->bell.lent = f->gate;
	ck_assert(!wh_gate_borrow(f->gate));
	ck_assert_uint_eq(wh_loop_arm(&f->loop), 0);
	ck_assert(!wh_gate_borrow(f->gate)); /* it may still look */
	f->bell.call_count = 0;
	wh_loop_sleep(&f->loop, WH_NS_PER_MS);
	ck_assert_mem_eq(f->bell.calls, "WBDS", 4);
	ck_assert(!wh_gate_borrow(f->gate));
	discard(f);
}
END_TEST

START_TEST(the_earliest_time_counts)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);

	wh_loop_at(&f->loop, 50);
	wh_loop_at(&f->loop, 40);
	wh_loop_at(&f->loop, 60);
	ck_assert_uint_eq(f->loop.next_ns, 40);
	discard(f);
}
END_TEST

/* ---- a thread of its own -------------------------------------------------------------------------------------------------- */

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

START_TEST(a_thread_sleeps_wakes_and_ends)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);
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
	discard(f);
}
END_TEST

static size_t while_borrowed(void *ctx)
{
	struct caller *caller = ctx;

	wh_fetch_add(&caller->calls, wh_load_acquire(&caller->work)); /* work: somebody has borrowed the loop */
	return 0;
}

/* Rung while it is borrowed, it makes no pass before it has been given back. */
START_TEST(a_loop_that_is_borrowed_stands_still)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);
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
	discard(f);
}
END_TEST

/* With idle = yield and spin it never sleeps, and can be stopped all the same. */
START_TEST(a_thread_that_never_sleeps)
{
	struct fixture *f = make(_i == 0 ? WH_IDLE_YIELD : WH_IDLE_SPIN);
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
	discard(f);
}
END_TEST

START_TEST(a_processor_that_is_not_there)
{
	struct fixture *f = make(WH_IDLE_ADAPTIVE);
	struct wh_error err;

	ck_assert_int_eq(wh_loop_start(&f->loop, "test-loop", 100000, &err), WHORL_SYSTEM);
	wh_loop_stop(&f->loop);
	discard(f);
}
END_TEST

static Suite *suite(void)
{
	Suite *all = suite_create("loop");
	TCase *cases = tcase_create("loop"), *threads = tcase_create("threads");

	tcase_add_test(cases, a_pass_calls_all_in_order);
	tcase_add_test(cases, many_predicates);
	tcase_add_test(cases, a_predicate_may_add_another);
	tcase_add_test(cases, the_clock_is_read_now_and_then);
	tcase_add_test(cases, a_busy_loop_serves_its_transport);
	tcase_add_test(cases, the_last_look_comes_after_arming);
	tcase_add_test(cases, a_look_that_finds_something_disarms);
	tcase_add_test(cases, sleep_ends_awake_and_served);
	tcase_add_test(cases, sleep_ends_by_the_time_asked_for);
	tcase_add_test(cases, a_loop_is_lent_while_it_sleeps);
	tcase_add_test(cases, the_earliest_time_counts);
	suite_add_tcase(all, cases);
	tcase_set_timeout(threads, 60);
	tcase_add_test(threads, a_thread_sleeps_wakes_and_ends);
	tcase_add_test(threads, a_loop_that_is_borrowed_stands_still);
	tcase_add_loop_test(threads, a_thread_that_never_sleeps, 0, 2);
	tcase_add_test(threads, a_processor_that_is_not_there);
	suite_add_tcase(all, threads);
	return all;
}

int main(void)
{
	return test_main(suite());
}
