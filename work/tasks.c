/* tasks.c - see tasks.h. */
#include "work/tasks.h"

#include <stdlib.h>

#define POOL_MOST 1024 /* a stack that is kept holds what memory it has used */

void wh_tasks_init(struct wh_tasks *tasks, size_t stack_bytes)
{
	*tasks = (struct wh_tasks){.stack_bytes = stack_bytes};
}

static void discard(struct wh_task *task)
{
	wh_fiber_free(task->fiber);
	free(task);
}

void wh_tasks_close(struct wh_tasks *tasks)
{
	struct wh_task *task;

	while ((task = tasks->alive) != NULL) {
		tasks->alive = task->older;
		discard(task);
	}
	while ((task = tasks->pool) != NULL) {
		tasks->pool = task->next;
		discard(task);
	}
	wh_store_relaxed(&tasks->count, 0);
}

/* ---- the queue --------------------------------------------------------------------------------------------------------------- */

void wh_tasks_wake(struct wh_task *task)
{
	struct wh_tasks *tasks = task->tasks;

	task->next = NULL;
	if (tasks->last == NULL)
		tasks->first = task;
	else
		tasks->last->next = task;
	tasks->last = task;
	tasks->ready++;
}

static struct wh_task *take_first(struct wh_tasks *tasks)
{
	struct wh_task *task = tasks->first;

	tasks->first = task->next;
	if (tasks->first == NULL)
		tasks->last = NULL;
	tasks->ready--;
	return task;
}

/* ---- beginning and ending ---------------------------------------------------------------------------------------------------- */

static void run_task(void *ctx)
{
	struct wh_task *task = ctx;

	task->fn(task->ctx);
}

static struct wh_task *new_task(struct wh_tasks *tasks)
{
	struct wh_task *task = calloc(1, sizeof(*task));

	if (task == NULL)
		return NULL;
	task->tasks = tasks;
	task->fiber = wh_fiber_new(run_task, task, tasks->stack_bytes);
	if (task->fiber == NULL) {
		free(task);
		return NULL;
	}
	return task;
}

static struct wh_task *make(struct wh_tasks *tasks, void (*fn)(void *ctx), void *ctx)
{
	struct wh_task *task = tasks->pool;

	if (task != NULL) {
		tasks->pool = task->next;
		tasks->pooled--;
		wh_fiber_again(task->fiber, run_task, task);
	} else if ((task = new_task(tasks)) == NULL) {
		return NULL;
	}
	task->fn = fn;
	task->ctx = ctx;
	task->newer = NULL;
	task->older = tasks->alive;
	if (task->older != NULL)
		task->older->newer = task;
	tasks->alive = task;
	wh_count(&tasks->count, 1);
	wh_count(&tasks->started, 1);
	return task;
}

static void bury(struct wh_tasks *tasks, struct wh_task *task)
{
	if (task->newer != NULL)
		task->newer->older = task->older;
	else
		tasks->alive = task->older;
	if (task->older != NULL)
		task->older->newer = task->newer;
	wh_store_relaxed(&tasks->count, wh_load_relaxed(&tasks->count) - 1);
	if (tasks->pooled == POOL_MOST) {
		discard(task);
		return;
	}
	task->next = tasks->pool;
	tasks->pool = task;
	tasks->pooled++;
}

static void resume(struct wh_tasks *tasks, struct wh_task *task)
{
	tasks->running = task;
	wh_fiber_resume(task->fiber);
	tasks->running = NULL;
	if (wh_fiber_has_ended(task->fiber))
		bury(tasks, task);
}

enum whorl_result wh_tasks_add(struct wh_tasks *tasks, void (*fn)(void *ctx), void *ctx)
{
	struct wh_task *task = make(tasks, fn, ctx);

	if (task == NULL)
		return WHORL_MEMORY;
	wh_tasks_wake(task);
	return WHORL_OK;
}

enum whorl_result wh_tasks_start(struct wh_tasks *tasks, void (*fn)(void *ctx), void *ctx)
{
	struct wh_task *task = make(tasks, fn, ctx);

	if (task == NULL)
		return WHORL_MEMORY;
	resume(tasks, task);
	return WHORL_OK;
}

size_t wh_tasks_run(struct wh_tasks *tasks)
{
	size_t count = tasks->ready; /* what becomes ready meanwhile has its turn next time */

	for (size_t i = 0; i < count; i++)
		resume(tasks, take_first(tasks));
	return count;
}

void wh_tasks_yield(struct wh_tasks *tasks)
{
	wh_tasks_wake(tasks->running);
	wh_fiber_pause(tasks->running->fiber);
}

void wh_tasks_park(struct wh_tasks *tasks)
{
	wh_fiber_pause(tasks->running->fiber);
}
