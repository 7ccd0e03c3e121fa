/* figures.c - what a node's logs tell of themselves (logs.h). */
#include "group/logs/logs_int.h"

bool wh_logs_figures(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard, struct wh_log_figures *out)
{
	const struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);

	if (log == NULL)
		return false;
	*out = (struct wh_log_figures){
		.bytes = wh_load_relaxed(&log->figures.bytes),
		.used = wh_load_relaxed(&log->figures.used),
		.segments = wh_load_relaxed(&log->figures.segments),
		.batches = wh_load_relaxed(&log->figures.batches),
		.syncs = wh_load_relaxed(&log->figures.syncs),
		.longest_sync_ns = wh_load_relaxed(&log->figures.longest_sync_ns),
		/* Acquire: that the last is on disk. Partner: finish_checkpoint. */
		.checkpoints = wh_load_acquire(&log->figures.checkpoints),
		.written_batches = wh_load_relaxed(&log->figures.written_batches),
		.written_messages = wh_load_relaxed(&log->figures.written_messages),
		.written_bytes = wh_load_relaxed(&log->figures.written_bytes),
		.checks = wh_load_relaxed(&log->figures.checks),
		.rot = wh_load_relaxed(&log->figures.rot) != 0,
	};
	return true;
}

void wh_logs_delays(const struct wh_logs *logs, uint64_t now_ns, uint64_t *busy_ns, uint64_t *full_ns)
{
	uint64_t busy = wh_load_relaxed(&logs->busy_ns), full = wh_load_relaxed(&logs->full_ns);

	*busy_ns = busy != 0 && now_ns > busy ? now_ns - busy : 0;
	*full_ns = full != 0 && now_ns > full ? now_ns - full : 0;
}

uint64_t wh_logs_used(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	const struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);

	return log != NULL ? wh_load_relaxed(&log->figures.used) : 0;
}
