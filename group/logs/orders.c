/* orders.c - the job does what the loop has handed over (logs.h). */
#include "group/logs/logs_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "group/logs/state_place.h"

/* Of checkpoints, between batches: 4 MB of a state that is given; where batches are small, fewer. */
#define PARTS_MOST 16
#define FEW_PARTS 4

/* The directory is of the first group that it was made for, for good: files of its logs say so. */
static bool write_identity(struct wh_logs *logs, uint64_t group)
{
	struct wh_identity identity = {.group = logs->identity.group != 0 ? logs->identity.group : group,
				       .node = logs->config.node};
	struct wh_error err;
	enum whorl_result result;

	if (logs->identity_is_synced)
		return true;
	snprintf(identity.name, sizeof(identity.name), "%s", logs->config.group);
	wh_logs_ask_disk(logs);
	result = wh_identity_write(logs->directory, &identity, &err);
	if (!wh_logs_settle(logs, result, &err))
		return false;
	logs->identity = identity;
	logs->identity_is_synced = true;
	return true;
}

static bool write_standing(struct wh_logs *logs, const struct wh_log_order *order)
{
	const struct wh_standing *standing = &order->standing;
	struct wh_error err;
	enum whorl_result result;

	if (!write_identity(logs, standing->group) || (standing->left && !wh_logs_cap_all(logs)))
		return false;
	wh_logs_ask_disk(logs);
	result = wh_standing_write(&logs->file, standing, &err);
	if (result == WHORL_OK)
		result = wh_standing_sweep(logs->directory, standing, order->keep, order->keep_count, &err);
	return wh_logs_settle(logs, result, &err);
}

static bool write_view(struct wh_logs *logs, const struct wh_log_order *order)
{
	struct wh_error err;

	wh_logs_ask_disk(logs);
	return wh_logs_settle(
		logs, wh_standing_write_view(logs->directory, order->key, order->bytes, order->count, &err), &err);
}

/* It has entered that shard anew, as the standing on this disk says: what a damaged log has does not count, and nothing can be written behind it. */
static bool discard_rot(struct wh_logs *logs, struct wh_shard_log *log)
{
	struct wh_error err;
	const struct wh_log_asking asking = {wh_logs_ask_again, logs};
	enum whorl_result result;

	wh_logs_ask_disk(logs);
	wh_log_close(log->log);
	log->log = NULL;
	log->is_rotten = false;
	wh_store_relaxed(&log->figures.rot, 0);
	result = wh_log_discard(logs->directory, log->name, log->shard, &asking, &err);
	return wh_logs_settle(logs, result, &err);
}

static bool open_log(struct wh_logs *logs, struct wh_shard_log *log, const struct wh_log_source_config *config)
{
	struct wh_log_found found; /* nothing of it counts */
	struct wh_error err;
	enum whorl_result result;

	wh_logs_ask_disk(logs);
	result = wh_log_open_shard(logs, log, logs->identity.group, config, NULL, &found, &err);
	if (!wh_logs_settle(logs, result, &err))
		return false;
	log->is_rotten = found.verdict == WH_LOG_ROT;
	return true;
}

static void drop_checkpoint(struct wh_shard_log *log)
{
	wh_checkpoint_drop(log->checkpoint);
	log->checkpoint = NULL;
	log->checkpoint_is_synced = false;
}

/* What lies under that name goes, and each log of it is closed: no view begins in one of them any more. */
static bool drop_files(struct wh_logs *logs, const char *name, uint32_t shard)
{
	const struct wh_log_asking asking = {wh_logs_ask_again, logs};
	struct wh_error err;
	enum whorl_result result;

	for (struct wh_shard_log *log = wh_log_first_shard(logs); log != NULL; log = log->next) {
		if (log->shard != shard || strcmp(log->name, name) != 0)
			continue;
		wh_replays_drop(logs, log);
		drop_checkpoint(log);
		pthread_mutex_lock(&logs->lock);
		log->source = NULL; /* what it has of a view that is over is not needed */
		pthread_mutex_unlock(&logs->lock);
		wh_log_close(log->log);
		log->log = NULL;
		log->is_rotten = false;
		wh_store_relaxed(&log->figures.rot, 0);
	}
	wh_logs_ask_disk(logs);
	result = wh_log_discard(logs->directory, name, shard, &asking, &err);
	return wh_logs_settle(logs, result, &err);
}

/* All that the other directory has. WHORL_NOT_FOUND: it cannot be read. */
static enum whorl_result copy_files(struct wh_logs *logs, const struct wh_log_order *order, struct wh_error *err)
{
	const struct wh_disk *disk = logs->config.env->disk;
	const struct wh_log_asking asking = {wh_logs_ask_again, logs};
	struct wh_log_owner owner = {
		.group = logs->identity.group, .shard = order->config.shard, .node = logs->config.node};
	struct wh_directory *from;
	enum whorl_result result = disk->directory(disk->ctx, (const char *)order->bytes, false, &from, err);

	if (result != WHORL_OK)
		return result == WHORL_DISK ? WHORL_NOT_FOUND : result;
	snprintf(owner.group_name, sizeof(owner.group_name), "%s", logs->config.group);
	snprintf(owner.subgroup, sizeof(owner.subgroup), "%s", order->config.name);
	result = wh_log_copy(logs->directory, &owner, from, &asking, err);
	from->ops->close(from);
	return result;
}

/* What cannot be read there is none here: it counts as damaged. When it is tried again since there was no room, nothing answers in between: else
 * a disk that is full would be full since a moment ago, for ever. */
static bool copy_log(struct wh_logs *logs, struct wh_log_order *order)
{
	struct wh_shard_log *log = wh_log_find_shard(logs, order->config.subgroup, order->config.shard);
	struct wh_error err;
	enum whorl_result result;

	if (order->fresh && !drop_files(logs, order->config.name, order->config.shard))
		return false;
	order->fresh = false;
	log->found = (struct wh_log_found){.verdict = WH_LOG_ROT, .why = "it could not be copied"};
	memset(log->ends, 0, sizeof(log->ends));
	memset(log->frontiers, 0, sizeof(log->frontiers));
	wh_logs_ask_disk(logs);
	result = copy_files(logs, order, &err);
	if (result == WHORL_NOT_FOUND)
		return drop_files(logs, order->config.name, order->config.shard);
	if (result == WHORL_OK)
		result = wh_log_open_shard(logs, log, logs->identity.group, &order->config, NULL, &log->found, &err);
	if (!wh_logs_settle(logs, result, &err))
		return false;
	log->is_rotten = log->found.verdict == WH_LOG_ROT;
	wh_log_note_ends(log);
	wh_log_count(log);
	return true;
}

/* The log of a shard that this node has not been in, or not in its last view. */
static struct wh_shard_log *make_log(struct wh_logs *logs, const struct wh_log_source_config *config)
{
	struct wh_shard_log *log = wh_log_add_shard(logs, config);
	struct wh_error err;

	if (log == NULL) {
		wh_error_set(&err, WHORL_MEMORY, "no memory for a log");
		wh_logs_fail(logs, &err);
		return NULL;
	}
	if (log->log == NULL && !open_log(logs, log, config))
		return NULL;
	if (log->is_rotten && !(discard_rot(logs, log) && open_log(logs, log, config)))
		return NULL;
	return log;
}

/* A state that was given may be of a view that has not begun here: then it counts when that has (begin_source). */
static enum whorl_result finish_checkpoint(struct wh_shard_log *log, struct wh_error *err)
{
	enum whorl_result result;

	if (log->checkpoint == NULL || !log->checkpoint_is_synced)
		return WHORL_OK;
	result = wh_checkpoint_finish(log->checkpoint, err);
	if (result == WHORL_INVALID)
		return WHORL_OK;
	log->checkpoint = NULL;
	log->checkpoint_is_synced = false;
	if (result != WHORL_OK)
		return result;
	/* Release: it is on disk. Partners: wh_logs_figures, wh_logs_has_checkpoint. */
	wh_store_release(&log->figures.checkpoints, wh_load_relaxed(&log->figures.checkpoints) + 1);
	wh_store_release(&log->figures.since, wh_load_relaxed(&log->figures.since) + 1);
	return WHORL_OK;
}

/* A view begins in the log of its shard, also where it is over already: a view that is missing would be a gap. */
static bool begin_source(struct wh_logs *logs, struct wh_log_order *order)
{
	struct wh_shard_log *log;
	struct wh_error err;
	enum whorl_result result;

	if (!wh_logs_make_room(logs, &order->config)) {
		wh_error_set(&err, WHORL_MEMORY, "no memory for the log of %s", order->config.name);
		wh_logs_fail(logs, &err);
		return false;
	}
	if (order->fresh && !drop_files(logs, order->config.name, order->config.shard))
		return false;
	order->fresh = false;
	log = make_log(logs, &order->config);
	if (log == NULL)
		return false;
	wh_logs_ask_disk(logs);
	result = wh_log_begin_view(log->log, &order->begin, &err);
	if (result == WHORL_OK)
		result = wh_log_sync(log->log, &err);
	if (result == WHORL_OK)
		result = finish_checkpoint(log, &err);
	if (!wh_logs_settle(logs, result, &err))
		return false;
	log->written_ns = wh_env_now(logs->config.env);
	pthread_mutex_lock(&logs->lock);
	log->source = order->source;
	if (order->source != NULL)
		order->source->log = log;
	pthread_mutex_unlock(&logs->lock);
	return true;
}

/* ---- checkpoints ---------------------------------------------------------------------------------------------------------- */

static enum whorl_result begin_checkpoint(struct wh_shard_log *log, const struct wh_log_order *order,
					  struct wh_error *err)
{
	struct wh_log_position position;

	drop_checkpoint(log);
	if (!wh_state_place_take(order->bytes, order->count, &position))
		return wh_error_set(err, WHORL_INVALID, "a state without a place");
	log->writing = order->checkpoint;
	return wh_checkpoint_begin(&log->checkpoint, log->log, &position, err);
}

static enum whorl_result end_checkpoint(struct wh_shard_log *log, struct wh_error *err)
{
	enum whorl_result result = wh_checkpoint_sync(log->checkpoint, err);

	if (result != WHORL_OK)
		return result;
	log->checkpoint_is_synced = true;
	return finish_checkpoint(log, err);
}

static enum whorl_result take_checkpoint(struct wh_shard_log *log, const struct wh_log_order *order,
					 struct wh_error *err)
{
	if (order->checkpoint < log->oldest)
		return WHORL_OK;
	if (order->step == WH_CHECKPOINT_BEGIN)
		return begin_checkpoint(log, order, err);
	if (log->checkpoint == NULL || log->writing != order->checkpoint) /* it could not be begun, or was dropped */
		return WHORL_OK;
	if (order->step == WH_CHECKPOINT_BYTES)
		return wh_checkpoint_write(log->checkpoint, order->bytes, order->count, err);
	if (order->step == WH_CHECKPOINT_END)
		return end_checkpoint(log, err);
	drop_checkpoint(log);
	return WHORL_OK;
}

/* One that lies before the last is not needed. */
static bool do_checkpoint(struct wh_logs *logs, const struct wh_log_order *order)
{
	struct wh_shard_log *log = wh_log_find_shard(logs, order->config.subgroup, order->config.shard);
	struct wh_error err;
	enum whorl_result result;

	if (log != NULL && log->log != NULL) {
		wh_logs_ask_disk(logs);
		result = take_checkpoint(log, order, &err);
		if (!wh_logs_settle(logs, result == WHORL_INVALID ? WHORL_OK : result, &err))
			return false;
		wh_log_count(log);
	}
	pthread_mutex_lock(&logs->lock);
	logs->waiting -= order->count;
	pthread_cond_broadcast(&logs->fewer);
	pthread_mutex_unlock(&logs->lock);
	return true;
}

static void forget_checkpoints(const struct wh_logs *logs, const struct wh_log_order *order)
{
	struct wh_shard_log *log = wh_log_find_shard(logs, order->config.subgroup, order->config.shard);

	drop_checkpoint(log);
	log->oldest = order->checkpoint;
	wh_store_relaxed(&log->figures.since, 0); /* before it is done. Partner: wh_logs_has_checkpoint */
}

static bool do_order(struct wh_logs *logs, struct wh_log_order *order)
{
	switch (order->kind) {
	case ORDER_STANDING:
		return write_standing(logs, order);
	case ORDER_VIEW:
		return write_view(logs, order);
	case ORDER_SOURCE:
		return begin_source(logs, order);
	case ORDER_CHECKPOINT:
		return do_checkpoint(logs, order);
	case ORDER_FORGET:
		forget_checkpoints(logs, order);
		return true;
	case ORDER_DROP:
		return drop_files(logs, order->config.name, order->config.shard);
	case ORDER_COPY:
		return copy_log(logs, order);
	}
	return false;
}

/* Returns how many. One that cannot be done stays the first. */
size_t wh_logs_do_orders(struct wh_logs *logs)
{
	struct wh_log_order *order;
	size_t count = 0, parts = 0, parts_most = logs->config.batch_bytes > 0 ? FEW_PARTS : PARTS_MOST;

	for (;; count++) {
		pthread_mutex_lock(&logs->lock);
		order = logs->first;
		pthread_mutex_unlock(&logs->lock);
		if (order == NULL || parts == parts_most || !do_order(logs, order))
			return count;
		parts += order->kind == ORDER_CHECKPOINT;
		pthread_mutex_lock(&logs->lock);
		logs->first = order->next;
		if (logs->first == NULL)
			logs->last = &logs->first;
		pthread_mutex_unlock(&logs->lock);
		/* Release: it is on disk. Partner: wh_logs_has_done. */
		wh_store_release(&logs->done, order->ticket);
		wh_log_order_free(order);
		wh_logs_wake_loop(logs);
	}
}
