/* caps.c - a log to which nothing more is written for a while gets its cap (persistence/log.h). */
#include "group/logs/logs_int.h"

/* So long after its last batch a log gets its cap: longer than from one message to the next where each is waited for. */
#define CAP_AFTER_NS (50 * WH_NS_PER_MS)

static bool needs_cap(const struct wh_shard_log *log)
{
	return log->log != NULL && !wh_log_is_capped(log->log);
}

/* False: the disk has failed. A disk without room is asked again later, and nothing waits for it. */
static bool cap_log(struct wh_logs *logs, struct wh_shard_log *log)
{
	uint64_t frontier;
	struct wh_error err;
	enum whorl_result result;

	pthread_mutex_lock(&logs->lock);
	frontier = log->source != NULL ? wh_load_relaxed(&log->source->persist.stable) : 0;
	pthread_mutex_unlock(&logs->lock);
	wh_logs_ask_disk(logs);
	result = wh_log_cap(log->log, frontier, &err);
	log->written_ns = wh_env_now(logs->config.env);
	wh_log_count(log);
	if (result != WHORL_AGAIN)
		return wh_logs_settle(logs, result, &err);
	wh_store_relaxed(&logs->busy_ns, 0);
	return true;
}

bool wh_logs_cap_all(struct wh_logs *logs)
{
	for (struct wh_shard_log *log = wh_log_first_shard(logs); log != NULL; log = log->next)
		if (needs_cap(log) && !cap_log(logs, log))
			return false;
	return true;
}

/* Of a log of which nothing else is to be done. Returns when it is to be looked at again; UINT64_MAX: it has its cap. */
static uint64_t cap_idle(struct wh_logs *logs, struct wh_shard_log *log)
{
	uint64_t idle_ns = wh_env_now(logs->config.env) - log->written_ns;

	if (!needs_cap(log))
		return UINT64_MAX;
	if (idle_ns < CAP_AFTER_NS)
		return CAP_AFTER_NS - idle_ns;
	return cap_log(logs, log) && needs_cap(log) ? CAP_AFTER_NS : UINT64_MAX;
}

uint64_t wh_logs_cap_idle(struct wh_logs *logs)
{
	uint64_t least_ns = UINT64_MAX;

	if (logs->batch.log != NULL || wh_load_relaxed(&logs->full_ns) != 0) /* that comes first */
		return least_ns;
	for (struct wh_shard_log *log = wh_log_first_shard(logs); log != NULL && wh_load_relaxed(&logs->failed) == 0;
	     log = log->next) {
		uint64_t in_ns = cap_idle(logs, log);

		least_ns = in_ns < least_ns ? in_ns : least_ns;
	}
	return least_ns;
}
