/* job.c - the job of a node's logs: orders first, then those that read, then batches of what was received; the rest in its pauses (logs.h). */
#include "group/logs/logs_int.h"

/* What is done beside all else. */
static void do_idle(struct wh_logs *logs, bool busy)
{
	uint64_t caps_ns = busy ? UINT64_MAX : wh_logs_cap_idle(logs), check_ns = UINT64_MAX, in_ns;

	if (wh_load_relaxed(&logs->failed) == 0)
		check_ns = wh_logs_check(logs, busy);
	in_ns = caps_ns < check_ns ? caps_ns : check_ns;
	if (in_ns != UINT64_MAX)
		logs->config.env->background_again(logs->config.env->ctx, logs->job, in_ns);
}

static bool do_some(struct wh_logs *logs)
{
	size_t count;

	if (wh_load_relaxed(&logs->failed) != 0 || (logs->batch.log != NULL && !wh_logs_write_batch(logs)))
		return false;
	count = wh_logs_do_orders(logs) + wh_logs_replay(logs);
	for (struct wh_shard_log *log = wh_log_first_shard(logs); log != NULL && wh_load_relaxed(&logs->failed) == 0;
	     log = log->next)
		if (logs->batch.log == NULL)
			count += wh_log_fill(logs, log);
	return count > 0 && wh_load_relaxed(&logs->failed) == 0;
}

bool wh_logs_work(void *argument)
{
	struct wh_logs *logs = argument;
	bool has_more;

	wh_store_relaxed(&logs->call, WH_CALL_GOES_ON); /* no call begins when it is abandoned */
	has_more = do_some(logs);
	if (wh_load_relaxed(&logs->failed) == 0)
		do_idle(logs, has_more);
	if (wh_exchange(&logs->call, WH_CALL_NONE) != WH_CALL_ABANDONED)
		return has_more;
	wh_logs_free(logs);
	return false;
}
