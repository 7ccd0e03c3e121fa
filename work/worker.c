/* worker.c - see worker.h. */
#include "work/worker.h"

#include <stdio.h>

#include "base/thread.h"

static void wake(void *ctx)
{
	struct wh_worker *worker = ctx;
	struct wh_transport *transport = worker->lane != NULL ? worker->lane : &worker->bell.base;

	transport->ops->wake(transport);
}

static size_t run_tasks(void *ctx)
{
	struct wh_worker *worker = ctx;

	return wh_tasks_run(&worker->tasks);
}

static enum whorl_result add_predicates(struct wh_worker *worker, const struct wh_worker_plan *plan,
					struct wh_error *err)
{
	enum whorl_result result = wh_loop_add(&worker->loop, plan->look, plan->ctx, err);

	if (result == WHORL_OK)
		result = wh_loop_add(&worker->loop, run_tasks, worker, err);
	if (result == WHORL_OK)
		result = wh_loop_add(&worker->loop, plan->send, plan->ctx, err);
	return result;
}

enum whorl_result wh_worker_init(struct wh_worker *worker, const struct wh_worker_plan *plan, struct wh_error *err)
{
	enum whorl_result result;

	worker->number = plan->number;
	worker->lane = plan->lane;
	wh_diag_init(&worker->diag, plan->env, plan->number);
	wh_bell_init(&worker->bell);
	wh_tasks_init(&worker->tasks, plan->stack_bytes);
	result = wh_gate_create(&worker->gate, wake, worker, err);
	if (result != WHORL_OK)
		return result;
	wh_loop_init(&worker->loop, &worker->diag, worker->lane != NULL ? worker->lane : &worker->bell.base,
		     worker->gate, WH_IDLE_ADAPTIVE);
	worker->loop.lends = true; /* the thread that borrows it touches no lane (delegation/link.h) */
	result = add_predicates(worker, plan, err);
	if (result != WHORL_OK)
		wh_worker_close(worker);
	return result;
}

enum whorl_result wh_worker_start(struct wh_worker *worker, struct wh_error *err)
{
	char name[WH_THREAD_NAME_BYTES];

	snprintf(name, sizeof(name), "whorl-work-%u", (unsigned)worker->number % 10000);
	return wh_loop_start(&worker->loop, name, -1, err);
}

bool wh_worker_stop(struct wh_worker *worker, uint64_t timeout_ns)
{
	return wh_loop_stop_within(&worker->loop, timeout_ns);
}

void wh_worker_close(struct wh_worker *worker)
{
	wh_tasks_close(&worker->tasks);
	wh_loop_close(&worker->loop);
	wh_gate_free(worker->gate);
	worker->gate = NULL;
}
