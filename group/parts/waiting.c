/* waiting.c - see waiting.h. */
#include "group/parts/waiting.h"

#include <unistd.h>

#include "base/thread.h"

void wh_waiting_init(struct wh_node_waiting *waiting)
{
	waiting->fd = waiting->timer_fd = -1;
	pthread_mutex_init(&waiting->lock, NULL);
	wh_thread_condition_init(&waiting->changed);
}

void wh_waiting_close(struct wh_node_waiting *waiting, bool forked)
{
	if (waiting->fd >= 0)
		close(waiting->fd);
	if (waiting->timer_fd >= 0)
		close(waiting->timer_fd);
	if (forked) /* threads that only the parent has may be inside, and this would wait for them */
		return;
	pthread_cond_destroy(&waiting->changed);
	pthread_mutex_destroy(&waiting->lock);
}

void wh_waiting_log(struct wh_node_waiting *waiting, const struct wh_env *world, enum wh_log_level level,
		    const char *line)
{
	pthread_mutex_lock(&waiting->lock);
	if (waiting->log != NULL)
		waiting->log((enum whorl_log_level)level, line, waiting->log_ctx);
	else
		world->log(world->ctx, level, line);
	pthread_mutex_unlock(&waiting->lock);
}

void wh_waiting_set_log(struct wh_node_waiting *waiting, whorl_log_fn *fn, void *ctx)
{
	pthread_mutex_lock(&waiting->lock);
	waiting->log = fn;
	waiting->log_ctx = ctx;
	pthread_mutex_unlock(&waiting->lock);
}

void wh_waiting_show(struct wh_node_waiting *waiting, const struct wh_shown *shown)
{
	pthread_mutex_lock(&waiting->lock);
	if (waiting->shown.count == 0)
		waiting->shown = *shown;
	pthread_mutex_unlock(&waiting->lock);
}

void wh_waiting_hide(struct wh_node_waiting *waiting, const void *ctx)
{
	pthread_mutex_lock(&waiting->lock);
	if (waiting->shown.ctx == ctx)
		waiting->shown = (struct wh_shown){0};
	pthread_mutex_unlock(&waiting->lock);
}

bool wh_waiting_fail(struct wh_node_waiting *waiting, struct wh_gate *gate, enum whorl_result code, const char *text)
{
	bool first;

	pthread_mutex_lock(&waiting->lock);
	first = waiting->failure.code == WHORL_OK;
	if (first)
		wh_error_set(&waiting->failure, code, "%s", text);
	wh_fetch_or(&gate->state, WH_GATE_FAILED); /* before any thread can know of it otherwise */
	pthread_cond_broadcast(&waiting->changed);
	pthread_mutex_unlock(&waiting->lock);
	return first;
}

void wh_waiting_drain(struct wh_node_waiting *waiting, bool drained, bool may_leave)
{
	pthread_mutex_lock(&waiting->lock);
	waiting->drained = drained;
	waiting->may_leave = may_leave;
	pthread_cond_broadcast(&waiting->changed);
	pthread_mutex_unlock(&waiting->lock);
}

/* With the lock. A node that has failed will not get anywhere. */
static enum whorl_result look_at(const struct wh_node_waiting *waiting, wh_look_fn *look, const void *ctx)
{
	return waiting->failure.code != WHORL_OK ? waiting->failure.code : look(ctx);
}

enum whorl_result wh_waiting_look(struct wh_node_waiting *waiting, wh_look_fn *look, const void *ctx)
{
	enum whorl_result result;

	pthread_mutex_lock(&waiting->lock);
	result = look_at(waiting, look, ctx);
	pthread_mutex_unlock(&waiting->lock);
	return result;
}

enum whorl_result wh_waiting_await(struct wh_node_waiting *waiting, int timeout_ms, wh_look_fn *look, const void *ctx)
{
	struct timespec deadline = wh_deadline(timeout_ms);
	enum whorl_result result;
	int timed_out = 0;

	pthread_mutex_lock(&waiting->lock);
	while ((result = look_at(waiting, look, ctx)) == WHORL_TIMEOUT && timed_out == 0)
		timed_out = pthread_cond_timedwait(&waiting->changed, &waiting->lock, &deadline);
	pthread_mutex_unlock(&waiting->lock);
	return result;
}
