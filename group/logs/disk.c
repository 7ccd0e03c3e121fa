/* disk.c - the job asks the disk, and judges what it answers (logs.h). */
#include "group/logs/logs_int.h"

void wh_logs_wake_loop(struct wh_logs *logs)
{
	pthread_mutex_lock(&logs->bell);
	if (!logs->closing && logs->config.wake != NULL)
		logs->config.wake(logs->config.ctx);
	pthread_mutex_unlock(&logs->bell);
}

void wh_logs_ask_disk(struct wh_logs *logs)
{
	wh_store_relaxed(&logs->busy_ns, wh_env_now(logs->config.env));
}

void wh_logs_fail(struct wh_logs *logs, const struct wh_error *err)
{
	logs->failure = *err;
	/* Release: the text. Partner: wh_logs_look. */
	wh_store_release(&logs->failed, 1);
	wh_logs_wake_loop(logs);
}

bool wh_logs_settle(struct wh_logs *logs, enum whorl_result result, const struct wh_error *err)
{
	wh_store_relaxed(&logs->busy_ns, 0);
	if (result == WHORL_OK) {
		if (wh_load_relaxed(&logs->full_ns) != 0)
			wh_store_relaxed(&logs->full_ns, 0);
		return true;
	}
	if (result != WHORL_AGAIN)
		wh_logs_fail(logs, err);
	else if (wh_load_relaxed(&logs->full_ns) == 0)
		wh_store_relaxed(&logs->full_ns, wh_env_now(logs->config.env));
	return false;
}

void wh_logs_ask_again(void *ctx)
{
	struct wh_logs *logs = ctx;

	if (wh_load_relaxed(&logs->busy_ns) != 0)
		wh_logs_ask_disk(logs);
}
