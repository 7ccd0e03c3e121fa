/* waiting.c - see waiting.h. */
#include "group/parts/waiting.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/thread.h"

/* It is const in its node to keep others from it. The node is not. */
static struct wh_node_waiting *own(const struct wh_node_waiting *waiting)
{
	return (struct wh_node_waiting *)waiting;
}

void wh_waiting_init(const struct wh_node_waiting *waiting)
{
	own(waiting)->fd = own(waiting)->timer_fd = -1;
	pthread_mutex_init(&own(waiting)->lock, NULL);
	wh_thread_condition_init(&own(waiting)->changed);
}

void wh_waiting_close(const struct wh_node_waiting *waiting, bool forked)
{
	if (waiting->fd >= 0)
		close(waiting->fd);
	if (waiting->timer_fd >= 0)
		close(waiting->timer_fd);
	if (forked) /* threads that only the parent has may be inside, and this would wait for them */
		return;
	pthread_cond_destroy(&own(waiting)->changed);
	pthread_mutex_destroy(&own(waiting)->lock);
}

/* ---- the lock ------------------------------------------------------------------------------------------------------------- */

struct wh_held wh_waiting_enter(const struct wh_node_waiting *waiting)
{
	pthread_mutex_lock(&own(waiting)->lock);
	return (struct wh_held){own(waiting)};
}

void wh_waiting_leave(struct wh_held held)
{
	pthread_mutex_unlock(&held.waiting->lock);
}

void wh_waiting_tell(struct wh_held held)
{
	pthread_cond_broadcast(&held.waiting->changed);
}

void wh_waiting_note_ready(struct wh_held held)
{
	held.waiting->ready = true;
}

void wh_waiting_note_closes(struct wh_held held)
{
	held.waiting->closes = true;
}

const char *wh_waiting_says(struct wh_held held)
{
	return held.waiting->failure.code != WHORL_OK ? held.waiting->failure.text
	       : held.waiting->ready                  ? "is a member"
						      : held.waiting->progress;
}

/* ---- what a program is told ------------------------------------------------------------------------------------------------- */

void wh_waiting_log(const struct wh_node_waiting *waiting, const struct wh_env *world, enum wh_log_level level,
		    const char *line)
{
	struct wh_held held = wh_waiting_enter(waiting);

	if (waiting->log != NULL)
		waiting->log((enum whorl_log_level)level, line, waiting->log_ctx);
	else
		world->log(world->ctx, level, line);
	wh_waiting_leave(held);
}

void wh_waiting_set_log(const struct wh_node_waiting *waiting, whorl_log_fn *fn, void *ctx)
{
	struct wh_held held = wh_waiting_enter(waiting);

	held.waiting->log = fn;
	held.waiting->log_ctx = ctx;
	wh_waiting_leave(held);
}

bool wh_waiting_is_ready(const struct wh_node_waiting *waiting)
{
	struct wh_held held = wh_waiting_enter(waiting);
	bool ready = waiting->ready;

	wh_waiting_leave(held);
	return ready;
}

void wh_waiting_note_progress(const struct wh_node_waiting *waiting, const char *text)
{
	struct wh_held held = wh_waiting_enter(waiting);

	snprintf(held.waiting->progress, sizeof(held.waiting->progress), "%s", text);
	wh_waiting_leave(held);
}

/* With the lock. */
static const struct wh_error *error_of(const struct wh_node_waiting *waiting)
{
	return waiting->failure.code != WHORL_OK ? &waiting->failure : &waiting->minority;
}

enum whorl_result wh_waiting_error(const struct wh_node_waiting *waiting, char *text, size_t bytes)
{
	struct wh_held held = wh_waiting_enter(waiting);
	const struct wh_error *error = error_of(waiting);
	enum whorl_result result = error->code;

	if (text != NULL && bytes > 0) {
		strncpy(text, error->text, bytes - 1);
		text[bytes - 1] = '\0';
	}
	wh_waiting_leave(held);
	return result;
}

bool wh_waiting_fail(const struct wh_node_waiting *waiting, struct wh_gate *gate, enum whorl_result code,
		     const char *text)
{
	struct wh_held held = wh_waiting_enter(waiting);
	bool first = waiting->failure.code == WHORL_OK;

	if (first)
		wh_error_set(&held.waiting->failure, code, "%s", text);
	wh_fetch_or(&gate->state, WH_GATE_FAILED); /* before any thread can know of it otherwise */
	wh_waiting_tell(held);
	wh_waiting_leave(held);
	return first;
}

void wh_waiting_lose_quorum(const struct wh_node_waiting *waiting, struct wh_gate *gate, const char *text)
{
	struct wh_held held = wh_waiting_enter(waiting);

	wh_error_set(&held.waiting->minority, WHORL_NO_QUORUM, "%s", text);
	wh_fetch_or(&gate->state, WH_GATE_MINORITY);
	wh_waiting_tell(held);
	wh_waiting_leave(held);
}

void wh_waiting_regain_quorum(const struct wh_node_waiting *waiting, struct wh_gate *gate)
{
	struct wh_held held = wh_waiting_enter(waiting);

	wh_error_clear(&held.waiting->minority);
	wh_fetch_and(&gate->state, ~(uint64_t)WH_GATE_MINORITY);
	wh_waiting_leave(held);
}

/* ---- workers ---------------------------------------------------------------------------------------------------------------- */

void wh_waiting_show(const struct wh_node_waiting *waiting, const struct wh_shown *shown)
{
	struct wh_held held = wh_waiting_enter(waiting);

	if (waiting->shown.count == 0)
		held.waiting->shown = *shown;
	wh_waiting_leave(held);
}

void wh_waiting_hide(const struct wh_node_waiting *waiting, const void *ctx)
{
	struct wh_held held = wh_waiting_enter(waiting);

	if (waiting->shown.ctx == ctx)
		held.waiting->shown = (struct wh_shown){0};
	wh_waiting_leave(held);
}

bool wh_waiting_workers(const struct wh_node_waiting *waiting, struct whorl_status_worker **out, uint32_t *count)
{
	struct wh_held held = wh_waiting_enter(waiting);
	const struct wh_shown *shown = &waiting->shown;
	struct whorl_status_worker *workers = shown->count > 0 ? calloc(shown->count, sizeof(*workers)) : NULL;
	bool enough = workers != NULL || shown->count == 0;

	*out = workers;
	*count = workers != NULL ? shown->count : 0;
	for (uint32_t i = 0; i < *count; i++) {
		workers[i].size = sizeof(workers[i]);
		shown->show(shown->ctx, i, &workers[i]);
	}
	wh_waiting_leave(held);
	return enough;
}

/* ---- whorl_close ------------------------------------------------------------------------------------------------------------ */

void wh_waiting_drain(const struct wh_node_waiting *waiting, bool drained, bool may_leave)
{
	struct wh_held held = wh_waiting_enter(waiting);

	held.waiting->drained = drained;
	held.waiting->may_leave = may_leave;
	wh_waiting_tell(held);
	wh_waiting_leave(held);
}

bool wh_waiting_may_leave(const struct wh_node_waiting *waiting, bool *drained, enum whorl_result *failed)
{
	struct wh_held held = wh_waiting_enter(waiting);
	bool may = waiting->may_leave;

	*drained = waiting->drained;
	*failed = error_of(waiting)->code;
	wh_waiting_leave(held);
	return may;
}

void wh_waiting_nap(const struct wh_node_waiting *waiting, int timeout_ms)
{
	struct timespec deadline = wh_deadline(timeout_ms);
	struct wh_held held = wh_waiting_enter(waiting);

	if (!waiting->may_leave)
		pthread_cond_timedwait(&held.waiting->changed, &held.waiting->lock, &deadline);
	wh_waiting_leave(held);
}

/* ---- whorl_fd --------------------------------------------------------------------------------------------------------------- */

/* The loop may be armed already, for a time that the timer was not told: so it goes off once. */
static int make_fd(struct wh_node_waiting *waiting, int transport_fd)
{
	const struct itimerspec now = {.it_value = {.tv_nsec = 1}};
	struct epoll_event readable = {.events = EPOLLIN};
	int fd = epoll_create1(EPOLL_CLOEXEC);

	waiting->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (fd >= 0 && waiting->timer_fd >= 0 && epoll_ctl(fd, EPOLL_CTL_ADD, transport_fd, &readable) == 0 &&
	    epoll_ctl(fd, EPOLL_CTL_ADD, waiting->timer_fd, &readable) == 0 &&
	    timerfd_settime(waiting->timer_fd, 0, &now, NULL) == 0)
		return fd;
	if (waiting->timer_fd >= 0)
		close(waiting->timer_fd);
	waiting->timer_fd = -1;
	if (fd >= 0)
		close(fd);
	return -1;
}

int wh_waiting_fd(const struct wh_node_waiting *waiting, int transport_fd)
{
	struct wh_held held = wh_waiting_enter(waiting);
	int fd;

	if (waiting->fd < 0)
		held.waiting->fd = make_fd(held.waiting, transport_fd);
	fd = waiting->fd;
	wh_waiting_leave(held);
	return fd;
}

void wh_waiting_set_timer(const struct wh_node_waiting *waiting, uint64_t now_ns, uint64_t next_ns)
{
	struct itimerspec when = {{0, 0}, {0, 0}};
	struct wh_held held;

	if (next_ns != UINT64_MAX) {
		when.it_value.tv_sec = (time_t)(next_ns / WH_NS_PER_S);
		when.it_value.tv_nsec = (long)(next_ns % WH_NS_PER_S) + (next_ns == 0);
	}
	held = wh_waiting_enter(waiting);
	if (waiting->timer_fd >= 0 && (waiting->timer_ns <= now_ns || next_ns < waiting->timer_ns) &&
	    timerfd_settime(waiting->timer_fd, TFD_TIMER_ABSTIME, &when, NULL) == 0)
		held.waiting->timer_ns = next_ns;
	wh_waiting_leave(held);
}

/* ---- waiting ---------------------------------------------------------------------------------------------------------------- */

/* With the lock. A node that has failed will not get anywhere. */
static enum whorl_result look_at(const struct wh_node_waiting *waiting, wh_look_fn *look, const void *ctx)
{
	return waiting->failure.code != WHORL_OK ? waiting->failure.code : look(ctx);
}

enum whorl_result wh_waiting_look(const struct wh_node_waiting *waiting, wh_look_fn *look, const void *ctx)
{
	struct wh_held held = wh_waiting_enter(waiting);
	enum whorl_result result = look_at(waiting, look, ctx);

	wh_waiting_leave(held);
	return result;
}

enum whorl_result wh_waiting_await(const struct wh_node_waiting *waiting, int timeout_ms, wh_look_fn *look,
				   const void *ctx)
{
	struct timespec deadline = wh_deadline(timeout_ms);
	struct wh_held held = wh_waiting_enter(waiting);
	enum whorl_result result;
	int timed_out = 0;

	while ((result = look_at(waiting, look, ctx)) == WHORL_TIMEOUT && timed_out == 0)
		timed_out = pthread_cond_timedwait(&held.waiting->changed, &held.waiting->lock, &deadline);
	wh_waiting_leave(held);
	return result;
}
