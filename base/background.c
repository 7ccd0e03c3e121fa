/* background.c - see background.h.
 *
 * One word says what is wanted and whether the thread sleeps, so a wake while it is at work is one instruction. The lock is for going to
 * sleep, and for the end: where a call never returns the job belongs to its thread from the time-out on.
 */
#include "base/background.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/env.h"
#include "base/thread.h"

#define TASK_WANTED UINT64_C(1) /* there may be something to do since the last call began */
#define TASK_SLEEPS UINT64_C(2)
#define TASK_ENDING UINT64_C(4) /* no call begins any more */

struct wh_background {
	bool (*work)(void *argument); /* [const], as what follows */
	void *argument;
	pthread_t thread;
	pid_t process;            /* the one that has the thread */
	wh_word state;            /* TASK_* [any thread] */
	bool again;               /* [its thread] it sleeps no longer than until then, */
	struct timespec again_at; /* by the monotonic clock */
	pthread_mutex_t lock;
	pthread_cond_t changed; /* the state, or what follows */
	bool ended;             /* [lock] the thread makes no call any more */
	bool orphaned;          /* [lock] nothing waits for that: the thread frees this */
};

static void free_task(struct wh_background *task)
{
	pthread_cond_destroy(&task->changed);
	pthread_mutex_destroy(&task->lock);
	free(task);
}

/* Something has changed, or may have. False: its time has come. */
static bool wait_for_change(struct wh_background *task)
{
	if (task->again)
		return pthread_cond_timedwait(&task->changed, &task->lock, &task->again_at) != ETIMEDOUT;
	pthread_cond_wait(&task->changed, &task->lock);
	return true;
}

/* Pairs with the fetch_or of a wake: either that sees TASK_SLEEPS and takes the lock, or this sees TASK_WANTED. */
static void sleep_until_wanted(struct wh_background *task)
{
	pthread_mutex_lock(&task->lock);
	wh_fetch_or(&task->state, TASK_SLEEPS);
	while ((wh_load_acquire(&task->state) & (TASK_WANTED | TASK_ENDING)) == 0 && wait_for_change(task))
		continue;
	wh_fetch_and(&task->state, ~TASK_SLEEPS);
	pthread_mutex_unlock(&task->lock);
}

/* What was written before a wake is seen by the call that begins after the mark is taken here. */
static bool begins_call(struct wh_background *task)
{
	task->again = false;
	return (wh_fetch_and(&task->state, ~TASK_WANTED) & TASK_ENDING) == 0;
}

static void *run_task(void *ctx)
{
	struct wh_background *task = ctx;
	bool orphaned;

	while (begins_call(task))
		if (!task->work(task->argument))
			sleep_until_wanted(task);
	pthread_mutex_lock(&task->lock);
	task->ended = true;
	orphaned = task->orphaned;
	pthread_cond_signal(&task->changed);
	pthread_mutex_unlock(&task->lock);
	if (orphaned)
		free_task(task);
	return NULL;
}

enum whorl_result wh_background_begin(struct wh_background **out, const char *name, bool (*work)(void *argument),
				      void *argument, struct wh_error *err)
{
	struct wh_background *task = calloc(1, sizeof(*task));
	enum whorl_result result;

	*out = task;
	if (task == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for the thread \"%s\"", name);
	task->work = work;
	task->argument = argument;
	task->process = getpid();
	pthread_mutex_init(&task->lock, NULL);
	wh_thread_condition_init(&task->changed);
	result = wh_thread_create(&task->thread, name, -1, run_task, task, err);
	if (result != WHORL_OK) {
		*out = NULL;
		free_task(task);
	}
	return result;
}

/* In a child that was forked there is no thread, and the lock may be held by one that only the parent has. */
static bool is_forked(const struct wh_background *task)
{
	return task->process != getpid();
}

static void set_and_wake(struct wh_background *task, uint64_t mark)
{
	if ((wh_fetch_or(&task->state, mark) & TASK_SLEEPS) == 0 || is_forked(task))
		return;
	/* With the lock, so that it waits; signalled without, so that it need not wait for the lock as well. */
	pthread_mutex_lock(&task->lock);
	pthread_mutex_unlock(&task->lock);
	pthread_cond_signal(&task->changed);
}

void wh_background_wake(struct wh_background *task)
{
	set_and_wake(task, TASK_WANTED);
}

void wh_background_again(struct wh_background *task, uint64_t ns)
{
	task->again = true;
	task->again_at = wh_deadline_after(ns);
}

bool wh_background_end(struct wh_background *task, uint64_t timeout_ns)
{
	const struct timespec deadline = wh_deadline_after(timeout_ns);
	pthread_t thread = task->thread;
	bool ended;

	if (is_forked(task)) {
		free(task);
		return true;
	}
	set_and_wake(task, TASK_ENDING);
	pthread_mutex_lock(&task->lock);
	while (!task->ended && pthread_cond_timedwait(&task->changed, &task->lock, &deadline) != ETIMEDOUT)
		continue;
	ended = task->ended;
	task->orphaned = !ended;
	pthread_mutex_unlock(&task->lock); /* of an orphan nothing is touched from here on */
	if (!ended) {
		(void)pthread_detach(thread);
		return false;
	}
	(void)pthread_join(thread, NULL);
	free_task(task);
	return true;
}
