/* test_base_thread.c - how threads are started, and the barrier on all of them.
 * Labels: threads
 */
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/barrier.h"
#include "base/thread.h"
#include "tests/harness.h"

struct seen {
	sigset_t mask;
	cpu_set_t cpus;
};

static void *look_around(void *arg)
{
	struct seen *seen = arg;

	pthread_sigmask(SIG_SETMASK, NULL, &seen->mask);
	sched_getaffinity(0, sizeof(seen->cpus), &seen->cpus);
	return arg;
}

static bool is_own_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL || number == SIGTRAP ||
	       number == SIGSYS;
}

TEST_CASE("create");

TEST(thread_blocks_signals_and_the_creator_does_not)
{
	struct seen seen;
	struct wh_error err;
	pthread_t thread;
	sigset_t before, after;
	void *result;

	sigemptyset(&before);
	sigaddset(&before, SIGUSR2);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	ck_assert_int_eq(wh_thread_create(&thread, "looker", -1, look_around, &seen, &err), WHORL_OK);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	ck_assert_ptr_eq(result, &seen);
	for (int number = 1; number < 32; number++) { /* 32 and 33 are glibc's own */
		ck_assert_int_eq(sigismember(&after, number), number == SIGUSR2);
		if (number != SIGKILL && number != SIGSTOP)
			ck_assert_int_eq(sigismember(&seen.mask, number), !is_own_fault(number));
	}
	for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
		ck_assert_int_eq(sigismember(&seen.mask, number), 1);
}

#define NAME_ROOM 64

/* Into arg. */
static void *note_name(void *arg)
{
	pthread_getname_np(pthread_self(), arg, NAME_ROOM);
	return NULL;
}

/* And the one that creates it has its own still. */
TEST(thread_has_its_name)
{
	static const char *const names[][2] = {
		{"whorl-loop-3", "whorl-loop-3"},
		{"fifteen-letters", "fifteen-letters"},
		{"sixteen--letters", "sixteen--letter"},
	};

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char name[NAME_ROOM] = "", before[NAME_ROOM], after[NAME_ROOM];
		struct wh_error err;
		pthread_t thread;

		ck_assert_int_eq(pthread_getname_np(pthread_self(), before, sizeof(before)), 0);
		ck_assert_int_eq(wh_thread_create(&thread, names[i][0], -1, note_name, name, &err), WHORL_OK);
		pthread_join(thread, NULL);
		ck_assert_int_eq(pthread_getname_np(pthread_self(), after, sizeof(after)), 0);
		ck_assert_str_eq(name, names[i][1]);
		ck_assert_str_eq(after, before);
	}
}

TEST(thread_is_pinned)
{
	cpu_set_t allowed;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(allowed), &allowed), 0);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		struct seen seen;
		struct wh_error err;
		pthread_t thread;

		if (!CPU_ISSET((size_t)cpu, &allowed))
			continue;
		ck_assert_int_eq(wh_thread_create(&thread, "pinned", cpu, look_around, &seen, &err), WHORL_OK);
		pthread_join(thread, NULL);
		ck_assert_int_eq(CPU_COUNT(&seen.cpus), 1);
		ck_assert(CPU_ISSET((size_t)cpu, &seen.cpus));
	}
}

struct modest {
	cpu_set_t cpus;
	int nice, policy;
	bool real_time, turns; /* of take_turns alone */
};

static void look_at_place(struct modest *modest)
{
	sched_getaffinity(0, sizeof(modest->cpus), &modest->cpus);
	modest->nice = getpriority(PRIO_PROCESS, (id_t)gettid());
	modest->policy = sched_getscheduler(0);
}

static void *stand_back(void *arg)
{
	struct modest *modest = arg;

	wh_thread_stand_back();
	look_at_place(modest);
	return NULL;
}

/* What `fn` has seen in a thread that was bound to the first of those that this one may run on. */
static struct modest on_one_cpu(void *(*fn)(void *), cpu_set_t *allowed)
{
	struct modest modest;
	struct wh_error err;
	pthread_t thread;
	int cpu = 0;

	ck_assert_int_eq(sched_getaffinity(0, sizeof(*allowed), allowed), 0);
	while (!CPU_ISSET((size_t)cpu, allowed))
		cpu++;
	ck_assert_int_eq(wh_thread_create(&thread, "modest", cpu, fn, &modest, &err), WHORL_OK);
	pthread_join(thread, NULL);
	return modest;
}

/* The thread alone: neither the one that made it, nor the process. */
TEST(a_thread_that_stands_back_leaves_its_place_to_others)
{
	int nice = getpriority(PRIO_PROCESS, (id_t)gettid()), policy = sched_getscheduler(0);
	struct modest modest;
	cpu_set_t allowed;

	modest = on_one_cpu(stand_back, &allowed);
	ck_assert(CPU_EQUAL(&modest.cpus, &allowed));
	ck_assert_int_eq(modest.nice, nice + 10 < 19 ? nice + 10 : 19);
	ck_assert_int_eq(modest.policy, SCHED_BATCH);
	ck_assert_int_eq(getpriority(PRIO_PROCESS, (id_t)gettid()), nice);
	ck_assert_int_eq(sched_getscheduler(0), policy);
}

static void *take_turns(void *arg)
{
	struct modest *modest = arg;
	const struct sched_param first = {.sched_priority = 1};

	modest->real_time = pthread_setschedparam(pthread_self(), SCHED_FIFO, &first) == 0;
	modest->turns = wh_thread_stand_back_or_take_turns();
	look_at_place(modest);
	return NULL;
}

/* A real-time thread stays one, where this process may have any: else it stands back, as others do. */
TEST(a_real_time_thread_takes_turns)
{
	int nice = getpriority(PRIO_PROCESS, (id_t)gettid()), stood_back = nice + 10 < 19 ? nice + 10 : 19;
	struct modest modest;
	cpu_set_t allowed;

	modest = on_one_cpu(take_turns, &allowed);
	ck_assert(modest.turns == modest.real_time);
	ck_assert(CPU_EQUAL(&modest.cpus, &allowed));
	ck_assert_int_eq(modest.policy, modest.real_time ? SCHED_FIFO : SCHED_BATCH);
	ck_assert_int_eq(modest.nice, modest.real_time ? nice : stood_back);
}

TEST(no_such_cpu_is_said)
{
	struct wh_error err;
	pthread_t thread;

	ck_assert_int_eq(wh_thread_create(&thread, "lost", 1023, look_around, NULL, &err), WHORL_SYSTEM);
	ck_assert_str_eq(err.text, "thread \"lost\" on CPU 1023: Invalid argument");
	ck_assert_int_eq(wh_thread_create(&thread, "lost", 100000, look_around, NULL, &err), WHORL_SYSTEM);
	ck_assert_str_eq(err.text, "thread \"lost\" on CPU 100000: Invalid argument");
}

/* Two threads each store a word and load the other's. The light side holds back the compiler alone; the heavy side
 * makes the barrier. Without it, or with the compiler's fence there too, both see nothing within some thousand rounds. */
#define ROUNDS 20000

/* Each on a line of its own: a load then hits while the store before it still waits for its line. */
struct padded {
	_Alignas(2 * WH_CACHE_LINE) wh_word word;
};

struct pair {
	struct padded light, heavy;         /* [the side of that name] what it stores */
	struct padded light_saw, heavy_saw; /* [the side of that name] what it loaded */
	struct padded round, light_done;    /* [heavy side], [light side] */
};

static void wait_until(const wh_word *word, uint64_t value)
{
	for (unsigned spins = 0; wh_load_acquire(word) != value; spins++) {
		if (spins < 100)
			wh_cpu_relax();
		else
			sched_yield();
	}
}

/* The two sides must meet within the time that a store takes to leave its core: every round tries another delay. */
static void delay(uint64_t round)
{
	wh_word spins = round % 128;

	while (wh_load_relaxed(&spins) > 0)
		wh_store_relaxed(&spins, wh_load_relaxed(&spins) - 1);
}

static void *light_side(void *arg)
{
	struct pair *pair = arg;

	for (uint64_t round = 1; round <= ROUNDS; round++) {
		wait_until(&pair->round.word, round);
		wh_store_relaxed(&pair->light.word, round);
		wh_fence_compiler();
		wh_store_relaxed(&pair->light_saw.word, wh_load_relaxed(&pair->heavy.word));
		wh_store_release(&pair->light_done.word, round);
	}
	return NULL;
}

TEST_CASE("barrier", .timeout_s = 30);

TEST(one_side_of_the_barrier_sees_the_other)
{
	static struct pair pair;
	struct wh_error err;
	pthread_t thread;

	if (!wh_barrier_register()) {
		printf("this kernel has no membarrier: nothing to test\n");
		return;
	}
	ck_assert(wh_barrier_register());
	ck_assert_int_eq(wh_thread_create(&thread, "light", -1, light_side, &pair, &err), WHORL_OK);
	for (uint64_t round = 1; round <= ROUNDS; round++) {
		bool passed;

		wh_store_release(&pair.round.word, round);
		delay(round);
		wh_store_relaxed(&pair.heavy.word, round);
		passed = wh_barrier_all_threads();
		wh_store_relaxed(&pair.heavy_saw.word, wh_load_relaxed(&pair.light.word));
		wait_until(&pair.light_done.word, round);
		ck_assert(passed);
		ck_assert(wh_load_relaxed(&pair.heavy_saw.word) == round ||
			  wh_load_relaxed(&pair.light_saw.word) == round);
	}
	pthread_join(thread, NULL);
}

TEST_SUITE("thread")
