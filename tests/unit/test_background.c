/* test_background.c - jobs that last, on this machine (base/background.c).
 * Labels: threads
 */
#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/env.h"
#include "base/error.h"
#include "tests/harness.h"
#include "tests/patience.h"

static const struct wh_env *env;
static struct wh_error err;

struct counter {
	wh_word calls, more;  /* of these so many return true */
	wh_word held, inside; /* held: a call waits until it is 0 */
	wh_word given, seen;  /* by a call */
	char name[16];
};

static bool count(void *argument)
{
	struct counter *counter = argument;
	uint64_t more = wh_load_relaxed(&counter->more);

	wh_store_release(&counter->seen, wh_load_acquire(&counter->given));
	pthread_getname_np(pthread_self(), counter->name, sizeof(counter->name));
	wh_store_release(&counter->inside, 1);
	while (wh_load_acquire(&counter->held) != 0)
		sched_yield();
	if (more > 0)
		wh_store_relaxed(&counter->more, more - 1);
	wh_store_release(&counter->inside, 0);
	wh_fetch_add(&counter->calls, 1);
	return more > 0;
}

static void await(const wh_word *word, uint64_t least)
{
	uint64_t until = wh_env_now(env) + test_patience(10000) * WH_NS_PER_MS;

	while (wh_load_acquire(word) < least) {
		ck_assert_uint_lt(wh_env_now(env), until);
		sched_yield();
	}
}

static struct wh_background *begin(struct counter *counter)
{
	struct wh_background *task;

	env = wh_env_system();
	ck_assert_int_eq(env->background(env->ctx, &task, "whorl-disk", count, counter, &err), WHORL_OK);
	return task;
}

static void end(struct wh_background *task)
{
	ck_assert(env->background_end(env->ctx, task, test_patience(10000) * WH_NS_PER_MS));
}

/* Long enough for a call that should not be to be seen, where there is one. */
static void look_for_more(const struct counter *counter, uint64_t calls)
{
	for (int i = 0; i < 200; i++)
		sched_yield();
	usleep(2000);
	ck_assert_uint_eq(wh_load_acquire(&counter->calls), calls);
}

TEST(works_until_there_is_nothing_and_after_each_wake)
{
	struct counter counter = {.more = 5};
	struct wh_background *task = begin(&counter);

	await(&counter.calls, 6);
	look_for_more(&counter, 6);
	for (uint64_t i = 7; i < 100; i++) {
		env->background_wake(env->ctx, task);
		await(&counter.calls, i);
	}
	look_for_more(&counter, 99);
	end(task);
	ck_assert_uint_eq(wh_load_acquire(&counter.calls), 99);
	ck_assert_str_eq(counter.name, "whorl-disk"); /* of the last call: it may have begun before it had its name */
}

TEST(a_wake_during_a_call_leads_to_another)
{
	struct counter counter = {.held = 1};
	struct wh_background *task = begin(&counter);

	await(&counter.inside, 1);
	for (int i = 0; i < 3; i++) /* one for all of them */
		env->background_wake(env->ctx, task);
	wh_store_release(&counter.held, 0);
	await(&counter.calls, 2);
	look_for_more(&counter, 2);
	end(task);
}

struct sleeper {
	wh_word task; /* a pointer, once the test knows it */
	wh_word calls, at_ns[8];
};

/* The first three calls want another after a while, the first of them after its last word. */
static bool sleep_a_while(void *argument)
{
	struct sleeper *sleeper = argument;
	uint64_t calls = wh_load_relaxed(&sleeper->calls);
	struct wh_background *task;

	while ((task = (struct wh_background *)(uintptr_t)wh_load_acquire(&sleeper->task)) == NULL)
		sched_yield();
	wh_store_relaxed(&sleeper->at_ns[calls % 8], wh_env_now(env));
	if (calls == 0)
		env->background_again(env->ctx, task, 3600 * WH_NS_PER_S);
	if (calls < 3)
		env->background_again(env->ctx, task, 20 * WH_NS_PER_MS);
	wh_store_release(&sleeper->calls, calls + 1);
	return false;
}

TEST(a_call_comes_again_after_a_while)
{
	struct sleeper sleeper = {.calls = 0};
	struct wh_background *task;

	env = wh_env_system();
	ck_assert_int_eq(env->background(env->ctx, &task, "whorl-disk", sleep_a_while, &sleeper, &err), WHORL_OK);
	wh_store_release(&sleeper.task, (uintptr_t)task);
	await(&sleeper.calls, 4);
	for (int i = 0; i < 3; i++)
		ck_assert_uint_ge(wh_load_relaxed(&sleeper.at_ns[i + 1]) - wh_load_relaxed(&sleeper.at_ns[i]),
				  20 * WH_NS_PER_MS);
	usleep(60000);
	ck_assert_uint_eq(wh_load_acquire(&sleeper.calls), 4); /* that one wanted none */
	env->background_wake(env->ctx, task);
	await(&sleeper.calls, 5);
	end(task);
}

/* A wake does not wait for that, nor does the end. */
static bool sleep_long(void *argument)
{
	struct sleeper *sleeper = argument;
	struct wh_background *task;

	while ((task = (struct wh_background *)(uintptr_t)wh_load_acquire(&sleeper->task)) == NULL)
		sched_yield();
	env->background_again(env->ctx, task, 3600 * WH_NS_PER_S);
	wh_fetch_add(&sleeper->calls, 1);
	return false;
}

TEST(a_wake_comes_sooner)
{
	struct sleeper sleeper = {.calls = 0};
	struct wh_background *task;

	env = wh_env_system();
	ck_assert_int_eq(env->background(env->ctx, &task, "whorl-disk", sleep_long, &sleeper, &err), WHORL_OK);
	wh_store_release(&sleeper.task, (uintptr_t)task);
	for (uint64_t i = 1; i < 200; i++) {
		await(&sleeper.calls, i);
		env->background_wake(env->ctx, task);
	}
	end(task);
}

/* The job is just going to sleep, or asleep, or in a call that has looked already, as it happens. */
TEST(no_wake_is_lost)
{
	struct counter counter = {0};
	struct wh_background *task = begin(&counter);

	for (uint64_t i = 1; i <= 20000; i++) {
		wh_store_release(&counter.given, i);
		env->background_wake(env->ctx, task);
		if (i % 3 != 0)
			await(&counter.seen, i);
	}
	await(&counter.seen, 20000);
	end(task);
}

struct hand {
	struct wh_background *task;
	wh_word given, taken; /* what stands beside them is plain */
	uint64_t values[4096], sum;
};

static bool take(void *argument)
{
	struct hand *hand = argument;
	uint64_t given = wh_load_acquire(&hand->given);

	for (uint64_t i = wh_load_relaxed(&hand->taken); i < given; i++)
		hand->sum += hand->values[i];
	wh_store_release(&hand->taken, given);
	return false;
}

static void *give(void *argument)
{
	struct hand *hand = argument;

	for (uint64_t i = 0; i < 4096; i++) {
		hand->values[i] = i * i;
		wh_store_release(&hand->given, i + 1);
		env->background_wake(env->ctx, hand->task);
	}
	return NULL;
}

TEST(what_a_thread_gives_is_taken)
{
	static struct hand hand;
	pthread_t giver;
	uint64_t sum = 0;

	env = wh_env_system();
	ck_assert_int_eq(env->background(env->ctx, &hand.task, "whorl-disk", take, &hand, &err), WHORL_OK);
	ck_assert_int_eq(pthread_create(&giver, NULL, give, &hand), 0);
	await(&hand.taken, 4096);
	pthread_join(giver, NULL);
	end(hand.task);
	for (uint64_t i = 0; i < 4096; i++)
		sum += i * i;
	ck_assert_uint_eq(hand.sum, sum);
}

/* At any time of the job's: before its first call, in one, asleep, woken. */
TEST(ends_whenever_it_is)
{
	for (int i = 0; i < 500; i++) {
		struct counter counter = {.more = i % 2 ? UINT64_MAX : 0};
		struct wh_background *task = begin(&counter);
		uint64_t calls;

		if (i % 5 != 0)
			await(&counter.calls, 1);
		if (i % 3 == 0)
			env->background_wake(env->ctx, task);
		end(task);
		calls = wh_load_relaxed(&counter.calls);
		sched_yield();
		ck_assert_uint_eq(wh_load_relaxed(&counter.calls), calls);
	}
}

/* A call that does not return is left alone; when it does, none begins, and what the job had is freed (as the sanitizers see). */
TEST(a_call_that_does_not_return)
{
	static struct counter counter = {.held = 1, .more = 10};
	struct wh_background *task = begin(&counter);
	uint64_t began;

	await(&counter.inside, 1);
	env->background_wake(env->ctx, task);
	began = wh_env_now(env);
	ck_assert(!env->background_end(env->ctx, task, 30 * WH_NS_PER_MS));
	ck_assert_uint_ge(wh_env_now(env) - began, 30 * WH_NS_PER_MS);
	wh_store_release(&counter.held, 0);
	await(&counter.calls, 1);
	look_for_more(&counter, 1);
	task = begin(&counter);
	end(task);
	wh_store_release(&counter.held, 1);
	task = begin(&counter);
	await(&counter.inside, 1);
	ck_assert(!env->background_end(env->ctx, task, 0)); /* at once */
	wh_store_release(&counter.held, 0);
}

/* One that returns within the time. */
static void *let_go(void *argument)
{
	struct counter *counter = argument;

	usleep(20000);
	wh_store_release(&counter->held, 0);
	return NULL;
}

TEST(the_end_waits_for_the_call)
{
	struct counter counter = {.held = 1};
	struct wh_background *task = begin(&counter);
	pthread_t other;

	await(&counter.inside, 1);
	ck_assert_int_eq(pthread_create(&other, NULL, let_go, &counter), 0);
	ck_assert(env->background_end(env->ctx, task, UINT64_MAX)); /* for ever */
	ck_assert_uint_eq(wh_load_acquire(&counter.calls), 1);
	pthread_join(other, NULL);
}

/* The thread is not in the child, whatever it did in the parent; waking does nothing, and ending waits for nothing. */
TEST_LOOP(a_child_has_none, 0, 2)
{
	struct counter counter = {.held = (uint64_t)_i};
	struct wh_background *task = begin(&counter);
	int status;
	pid_t child;

	await(_i == 1 ? &counter.inside : &counter.calls, 1);
	look_for_more(&counter, _i == 1 ? 0 : 1);
	child = fork();
	if (child == 0) {
		env->background_wake(env->ctx, task);
		alarm(10);
		_exit(env->background_end(env->ctx, task, UINT64_MAX) ? 0 : 1);
	}
	ck_assert_int_eq(waitpid(child, &status, 0), child);
	ck_assert_int_eq(status, 0);
	wh_store_release(&counter.held, 0);
	env->background_wake(env->ctx, task);
	await(&counter.calls, 2);
	end(task);
}

TEST_SUITE("background")
