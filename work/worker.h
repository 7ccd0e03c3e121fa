/* worker.h - a thread that runs a loop of its own, on a lane of a node or on a bare doorbell, and fibers in it.
 *
 * A pass (wh_loop_step) looks for what others want and for answers, gives each fiber that is ready a turn, and sends what has come
 * together. What the first and the last of these do is the user's: delegation/. A worker without work sleeps, and is lent meanwhile
 * (base/gate.h): all that is marked [worker] may then be touched by a thread that has borrowed it, but for its fibers, which run
 * on the worker's own thread alone.
 *
 * Nothing of a group's loop runs here, and nothing of this on a group's loop.
 */
#ifndef WH_WORK_WORKER_H
#define WH_WORK_WORKER_H

#include "base/check.h"
#include "predicates/loop.h"
#include "work/bell.h"
#include "work/tasks.h"

struct wh_worker {
	struct wh_diag diag;
	struct wh_bell bell;
	struct wh_transport *lane; /* [const] NULL: none */
	struct wh_gate *gate;
	struct wh_loop loop;
	struct wh_tasks tasks; /* [worker, on its own thread] */
	uint32_t number;       /* [const] */
};

struct wh_worker_plan {
	const struct wh_env *env;
	uint32_t number;
	size_t stack_bytes; /* of a fiber */
	wh_predicate *look; /* each pass, before the fibers */
	wh_predicate *send; /* and behind them */
	void *ctx;          /* of both */
	/* It runs on this lane, which outlives it; NULL: on a bare doorbell. */
	struct wh_transport *lane;
};

/* No thread runs it yet: wh_worker_start makes one, or the caller makes passes: wh_loop_step. WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_worker_init(struct wh_worker *worker, const struct wh_worker_plan *plan,
					       struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_worker_start(struct wh_worker *worker, struct wh_error *err);
/* Its thread ends with the pass that it makes. False: that takes longer than so long; ask again. */
WH_MUST_CHECK bool wh_worker_stop(struct wh_worker *worker, uint64_t timeout_ns);
/* Of one that no thread runs. */
void wh_worker_close(struct wh_worker *worker);

#endif
