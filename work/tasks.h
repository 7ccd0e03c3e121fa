/* tasks.h - the fibers of one thread, in turn.
 *
 * A task is a function on a fiber (base/fiber.h). Those that are ready run in the order in which they became so, each until it yields,
 * parks or ends. All of this belongs to one thread: what other threads want of it goes through the slots of delegation/.
 */
#ifndef WH_WORK_TASKS_H
#define WH_WORK_TASKS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/counter.h"
#include "base/error.h"
#include "base/fiber.h"

struct wh_task {
	struct wh_fiber *fiber;
	struct wh_tasks *tasks;
	void (*fn)(void *ctx);
	void *ctx;
	struct wh_task *next;          /* in the queue, or in the pool */
	struct wh_task *older, *newer; /* of those that have not ended */
};

struct wh_tasks {
	size_t stack_bytes;           /* [const] */
	struct wh_task *running;      /* NULL: the thread's own stack */
	struct wh_task *first, *last; /* ready */
	size_t ready;
	struct wh_task *alive; /* the newest */
	struct wh_task *pool;  /* have ended: a stack that is mapped costs nothing to begin on */
	size_t pooled;
	wh_word count;   /* that have not ended; any thread may read it */
	wh_word started; /* of a lifetime */
};

void wh_tasks_init(struct wh_tasks *tasks, size_t stack_bytes);
/* Those that have not ended never go on. */
void wh_tasks_close(struct wh_tasks *tasks);

/* Ready from now on. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_tasks_add(struct wh_tasks *tasks, void (*fn)(void *ctx), void *ctx);
/* Runs at once until it yields, parks or ends. Not in a task. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_tasks_start(struct wh_tasks *tasks, void (*fn)(void *ctx), void *ctx);
/* Runs those that are ready now, each once. Not in a task. Returns how many. */
size_t wh_tasks_run(struct wh_tasks *tasks);

/* In a task: the others that are ready first. */
void wh_tasks_yield(struct wh_tasks *tasks);
/* In a task: until it is woken. */
void wh_tasks_park(struct wh_tasks *tasks);
/* One that is parked. */
void wh_tasks_wake(struct wh_task *task);

#endif
