/* thread.c - see thread.h. */
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/clock.h"

static const int own_faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

static int pin_to_cpu(pthread_attr_t *attr, int cpu)
{
	cpu_set_t set;

	if (cpu >= CPU_SETSIZE)
		return EINVAL;
	CPU_ZERO(&set);
	CPU_SET((size_t)cpu, &set);
	return pthread_attr_setaffinity_np(attr, sizeof(set), &set);
}

struct start {
	void *(*fn)(void *);
	void *arg;
	char name[WH_THREAD_NAME_BYTES];
};

/* A thread names itself: another could only do so by a file in /proc, and what the kernel keeps of that is dear to take down when a process with
 * many threads ends. Nor does it inherit its name, as a thread that a sanitizer starts meanwhile would have it too. */
static void *run(void *argument)
{
	struct start start = *(struct start *)argument;

	free(argument);
	(void)prctl(PR_SET_NAME, start.name); /* for people only */
	return start.fn(start.arg);
}

/* A thread inherits the mask of the one that creates it: so nothing can be delivered to it before it blocks. */
static int create_masked(pthread_t *thread, const pthread_attr_t *attr, struct start *start)
{
	sigset_t blocked, before;
	int failed;

	sigfillset(&blocked);
	for (size_t i = 0; i < sizeof(own_faults) / sizeof(own_faults[0]); i++)
		sigdelset(&blocked, own_faults[i]);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	failed = pthread_create(thread, attr, run, start);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return failed;
}

static int create(pthread_t *thread, int cpu, struct start *start)
{
	pthread_attr_t attr;
	int failed = pthread_attr_init(&attr);

	if (failed != 0)
		return failed;
	if (cpu >= 0)
		failed = pin_to_cpu(&attr, cpu);
	if (failed == 0)
		failed = create_masked(thread, &attr, start);
	pthread_attr_destroy(&attr);
	return failed;
}

enum whorl_result wh_thread_create(pthread_t *thread, const char *name, int cpu, void *(*fn)(void *), void *arg,
				   struct wh_error *err)
{
	struct start *start = malloc(sizeof(*start));
	int failed;

	if (start == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for thread \"%s\"", name);
	*start = (struct start){.fn = fn, .arg = arg};
	snprintf(start->name, sizeof(start->name), "%s", name);
	failed = create(thread, cpu, start);
	if (failed == 0)
		return WHORL_OK;
	free(start);
	return cpu >= 0 ? wh_error_system(err, failed, "thread \"%s\" on CPU %d", name, cpu)
			: wh_error_system(err, failed, "thread \"%s\"", name);
}

static wh_word numbers; /* that threads of this process have taken */
_Thread_local uint64_t wh_thread_own_number;

uint64_t wh_thread_take_number(void)
{
	return wh_thread_own_number = wh_fetch_add(&numbers, 1) + 1;
}

static void run_anywhere(void)
{
	cpu_set_t set;

	if (sched_getaffinity(getpid(), sizeof(set), &set) == 0)
		(void)sched_setaffinity(0, sizeof(set), &set);
}

/* Linux keeps a nice value for each thread, and PRIO_PROCESS with the number of a thread means that one alone. Ten steps are a
 * share of a tenth: each is a factor of 1.25. */
void wh_thread_stand_back(void)
{
	const struct sched_param none = {0};
	id_t me = (id_t)gettid();

	run_anywhere();
	(void)pthread_setschedparam(pthread_self(), SCHED_BATCH, &none);
	(void)setpriority(PRIO_PROCESS, me, getpriority(PRIO_PROCESS, me) + 10); /* beyond 19 it is 19 */
}

bool wh_thread_stand_back_or_take_turns(void)
{
	int policy = sched_getscheduler(0);

	if (policy != SCHED_RR && policy != SCHED_FIFO) {
		wh_thread_stand_back();
		return false;
	}
	run_anywhere();
	return true;
}

void wh_thread_condition_init(pthread_cond_t *condition)
{
	pthread_condattr_t monotonic;

	pthread_condattr_init(&monotonic);
	pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
	pthread_cond_init(condition, &monotonic);
	pthread_condattr_destroy(&monotonic);
}

struct timespec wh_deadline_after(uint64_t timeout_ns)
{
	uint64_t now = wh_clock_ns();
	uint64_t at = timeout_ns < INT64_MAX - now ? now + timeout_ns : INT64_MAX;

	return (struct timespec){.tv_sec = (time_t)(at / WH_NS_PER_S), .tv_nsec = (long)(at % WH_NS_PER_S)};
}

struct timespec wh_deadline(int timeout_ms)
{
	return wh_deadline_after((uint64_t)timeout_ms * WH_NS_PER_MS);
}
