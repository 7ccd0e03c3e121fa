/* waiting.h - where threads of a program wait for a node's loop, and what they ask of it: all under one lock.
 *
 * Threads: any. `lock` is held for a few stores, and while a line is logged or workers are shown; nothing else is waited for under it. In a
 * child of fork() it is not touched: a thread that only the parent has may hold it.
 */
#ifndef WH_GROUP_PARTS_WAITING_H
#define WH_GROUP_PARTS_WAITING_H

#include <pthread.h>

#include <whorl/whorl.h>

#include "base/env.h"
#include "base/error.h"
#include "base/gate.h"
#include "group/status/shown.h"

struct wh_node_waiting {
	pthread_mutex_t lock;
	pthread_cond_t changed; /* ready, failed, drained, may_leave; a stay has come to its next stage */
	bool ready;
	bool closes; /* whorl_close has closed the rings: no stay begins any more */
	bool drained,
		may_leave; /* [the loop writes, and reads without] what whorl_close waits for: all its messages, then a view
				   * that it can leave in order */
	char progress[256]; /* on its way into the group */
	struct wh_error
		failure; /* WHORL_OK: none; for good: read without the lock by a thread that has seen the gate's bit */
	struct wh_error minority; /* WHORL_NO_QUORUM, and the members that we do not hear; for now */
	whorl_log_fn *log;
	void *log_ctx;
	struct wh_shown shown; /* count 0: no workers */
	int fd;                /* epoll of the transport's descriptor and a heartbeat timer; -1 until asked for */
	int timer_fd;
	uint64_t timer_ns; /* when it goes off, or has; 0, UINT64_MAX: it is stopped */
};

void wh_waiting_init(struct wh_node_waiting *waiting);
/* Its descriptors are closed; unless `forked`, the lock goes too. */
void wh_waiting_close(struct wh_node_waiting *waiting, bool forked);

/* A line goes to the program's log, or to the world's. Threads: any. */
void wh_waiting_log(struct wh_node_waiting *waiting, const struct wh_env *world, enum wh_log_level level,
		    const char *line);
void wh_waiting_set_log(struct wh_node_waiting *waiting, whorl_log_fn *fn, void *ctx);

/* From now on these workers are shown, unless others are already. */
void wh_waiting_show(struct wh_node_waiting *waiting, const struct wh_shown *shown);
/* Those of `ctx` are not any more, and when this returns nobody is in `show`. */
void wh_waiting_hide(struct wh_node_waiting *waiting, const void *ctx);

/* The node has failed, for good: the gate says so before any thread can know of it otherwise, and threads that wait look again. False: it had
 * before, and that reason stays. */
bool wh_waiting_fail(struct wh_node_waiting *waiting, struct wh_gate *gate, enum whorl_result code, const char *text);
/* What whorl_close waits for, as the loop has found it. */
void wh_waiting_drain(struct wh_node_waiting *waiting, bool drained, bool may_leave);

/* With the lock: WHORL_TIMEOUT: not yet. */
typedef enum whorl_result wh_look_fn(const void *ctx);
/* What `look` says now, or why the node has failed, as it will not get anywhere. */
enum whorl_result wh_waiting_look(struct wh_node_waiting *waiting, wh_look_fn *look, const void *ctx);
/* The same, waiting for that at most timeout_ms, 0 too. What changes it says so on `changed`. */
enum whorl_result wh_waiting_await(struct wh_node_waiting *waiting, int timeout_ms, wh_look_fn *look, const void *ctx);

#endif
