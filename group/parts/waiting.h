/* waiting.h - where threads of a program wait for a node's loop, and what they ask of it: all under one lock.
 *
 * The node has it as const, so that the lock is taken, and what is under it written, by these functions alone. They take it as const and
 * write all the same: it is part of a node, which is not.
 *
 * What is under the lock elsewhere is const there too: where a subgroup stands (struct wh_subgroup_told) and the list of subgroups
 * (list.h). What writes that asks for a `struct wh_held`, which only a thread between wh_waiting_enter and wh_waiting_leave has. The loop
 * writes most of it, and reads without the lock what it alone writes.
 *
 * Threads: any. The lock is held for a few stores, and while a line is logged or workers are shown; nothing else is waited for under it. In
 * a child of fork() none of this is called: a thread that only the parent has may hold the lock.
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

void wh_waiting_init(const struct wh_node_waiting *waiting);
/* Its descriptors are closed; unless `forked`, the lock goes too. */
void wh_waiting_close(const struct wh_node_waiting *waiting, bool forked);

/* ---- the lock, for what is not of this part alone */

struct wh_held { /* this thread has the lock */
	struct wh_node_waiting *waiting;
};

struct wh_held wh_waiting_enter(const struct wh_node_waiting *waiting);
void wh_waiting_leave(struct wh_held held);
/* Threads that wait look again, when the lock is free. */
void wh_waiting_tell(struct wh_held held);
/* The node is ready, and stays so. */
void wh_waiting_note_ready(struct wh_held held);
/* No stay begins any more. */
void wh_waiting_note_closes(struct wh_held held);
/* What the node's own way into its group has come to, as whorl_progress says it. */
const char *wh_waiting_says(struct wh_held held);

/* ---- what a program is told */

/* A line goes to the program's log, or to the world's. Threads: any. */
void wh_waiting_log(const struct wh_node_waiting *waiting, const struct wh_env *world, enum wh_log_level level,
		    const char *line);
void wh_waiting_set_log(const struct wh_node_waiting *waiting, whorl_log_fn *fn, void *ctx);

bool wh_waiting_is_ready(const struct wh_node_waiting *waiting);
/* The way into the group has come to this. Longer texts are cut off. */
void wh_waiting_note_progress(const struct wh_node_waiting *waiting, const char *text);
/* Why the node has failed, or what it lacks for now, and its text, if `text` is not NULL. WHORL_OK: neither. */
enum whorl_result wh_waiting_error(const struct wh_node_waiting *waiting, char *text, size_t bytes);

/* The node has failed, for good: the gate says so before any thread can know of it otherwise, and threads that wait look again. False: it had
 * before, and that reason stays. */
bool wh_waiting_fail(const struct wh_node_waiting *waiting, struct wh_gate *gate, enum whorl_result code,
		     const char *text);
/* It has no quorum for now, and why; or has one again. The gate says so. */
void wh_waiting_lose_quorum(const struct wh_node_waiting *waiting, struct wh_gate *gate, const char *text);
void wh_waiting_regain_quorum(const struct wh_node_waiting *waiting, struct wh_gate *gate);

/* ---- workers */

/* From now on these workers are shown, unless others are already. */
void wh_waiting_show(const struct wh_node_waiting *waiting, const struct wh_shown *shown);
/* Those of `ctx` are not any more, and when this returns nobody is in `show`. */
void wh_waiting_hide(const struct wh_node_waiting *waiting, const void *ctx);
/* All that are shown, as they are now: *out is to be freed, and NULL if there are none. False: no memory. */
WH_MUST_CHECK bool wh_waiting_workers(const struct wh_node_waiting *waiting, struct whorl_status_worker **out,
				      uint32_t *count);

/* ---- whorl_close */

/* What it waits for, as the loop has found it. */
void wh_waiting_drain(const struct wh_node_waiting *waiting, bool drained, bool may_leave);
/* That, for the thread that closes; *failed: as wh_waiting_error. */
bool wh_waiting_may_leave(const struct wh_node_waiting *waiting, bool *drained, enum whorl_result *failed);
/* Sleeps until something is told, for timeout_ms at most, unless the node may leave. */
void wh_waiting_nap(const struct wh_node_waiting *waiting, int timeout_ms);

/* ---- whorl_fd */

/* It is made when it is first asked for, of the transport's descriptor and a timer that goes off once, at once. -1: it could not be. */
int wh_waiting_fd(const struct wh_node_waiting *waiting, int transport_fd);
/* Its timer goes off at next_ns, if that is before it would or it has gone off (UINT64_MAX: it is stopped then). A time that is put off
 * leaves it as it is: one pass too many, instead of a system call each time. */
void wh_waiting_set_timer(const struct wh_node_waiting *waiting, uint64_t now_ns, uint64_t next_ns);

/* ---- waiting */

/* With the lock: WHORL_TIMEOUT: not yet. */
typedef enum whorl_result wh_look_fn(const void *ctx);
/* What `look` says now, or why the node has failed, as it will not get anywhere. */
enum whorl_result wh_waiting_look(const struct wh_node_waiting *waiting, wh_look_fn *look, const void *ctx);
/* The same, waiting for that at most timeout_ms, 0 too. What changes it says so by wh_waiting_tell. */
enum whorl_result wh_waiting_await(const struct wh_node_waiting *waiting, int timeout_ms, wh_look_fn *look,
				   const void *ctx);

#endif
