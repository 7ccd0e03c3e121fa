/* job.c - what writes a node's logs: orders, then batches of what was received (logs.h). */
#include "group/logs/logs_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "group/logs/state_place.h"

/* ---- the job: what fails -------------------------------------------------------------------------------------------------- */

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

/* For good: what was not synced then may never be. */
static void fail_job(struct wh_logs *logs, const struct wh_error *err)
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
		fail_job(logs, err);
	else if (wh_load_relaxed(&logs->full_ns) == 0)
		wh_store_relaxed(&logs->full_ns, wh_env_now(logs->config.env));
	return false;
}

/* ---- the job: caps -------------------------------------------------------------------------------------------------------- */

/* So long after its last batch a log gets its cap: longer than from one message to the next where each is waited for. */
#define CAP_AFTER_NS (50 * WH_NS_PER_MS)

static void count_log(struct wh_shard_log *log)
{
	struct wh_log_statistics now;

	wh_log_statistics(log->log, &now);
	wh_store_relaxed(&log->figures.segments, now.segments);
	wh_store_relaxed(&log->figures.bytes, now.bytes);
	wh_store_relaxed(&log->figures.used, now.used);
	wh_store_relaxed(&log->figures.batches, now.batches);
	wh_store_relaxed(&log->figures.syncs, now.syncs);
}

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
	count_log(log);
	if (result != WHORL_AGAIN)
		return wh_logs_settle(logs, result, &err);
	wh_store_relaxed(&logs->busy_ns, 0);
	return true;
}

static bool cap_all(struct wh_logs *logs)
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

/* Returns when they are to be looked at again; UINT64_MAX: all have theirs. */
static uint64_t cap_idle_logs(struct wh_logs *logs)
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

/* What is done beside all else. */
static void do_idle(struct wh_logs *logs, bool busy)
{
	uint64_t caps_ns = busy ? UINT64_MAX : cap_idle_logs(logs), check_ns = UINT64_MAX, in_ns;

	if (wh_load_relaxed(&logs->failed) == 0)
		check_ns = wh_logs_check(logs, busy);
	in_ns = caps_ns < check_ns ? caps_ns : check_ns;
	if (in_ns != UINT64_MAX)
		logs->config.env->background_again(logs->config.env->ctx, logs->job, in_ns);
}

/* ---- the job: orders ------------------------------------------------------------------------------------------------------ */

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

	if (!write_identity(logs, standing->group) || (standing->left && !cap_all(logs)))
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

struct wh_shard_log *wh_log_first_shard(const struct wh_logs *logs)
{
	/* Acquire: what it is. Partner: wh_log_add_shard. */
	return (struct wh_shard_log *)(uintptr_t)wh_load_acquire(&logs->shards);
}

struct wh_shard_log *wh_log_find_shard(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	struct wh_shard_log *log = wh_log_first_shard(logs);

	while (log != NULL && (log->subgroup != subgroup || log->shard != shard))
		log = log->next;
	return log;
}

#define SEGMENT_BYTES (UINT64_C(64) << 20)
#define SEGMENT_BYTES_LEAST (UINT64_C(4) << 20)

static uint64_t largest_message(const struct wh_log_source_config *config)
{
	return (uint64_t)config->parts_most *
	       config->message_bytes; /* WH_LOG_MESSAGE_MAX, and less than another slot */
}

/* Data of a batch: its messages up to bytes_most, and one more, each filled up to a multiple of 16. */
static size_t batch_data(const struct wh_logs *logs, const struct wh_log_source_config *config)
{
	uint64_t largest = largest_message(config);

	return logs->batch.bytes_most + (largest + 15) / 16 * 16 + (size_t)16 * logs->batch.records_most;
}

/* Most messages are one part; of those that are large one is taken as the last, whatever parts it has. */
static bool make_part_room(struct wh_log_filling *batch, const struct wh_log_source_config *config)
{
	uint32_t room = batch->records_most + 2 * config->parts_most;
	struct iovec *parts = batch->part_room < room ? realloc(batch->parts, room * sizeof(*parts)) : batch->parts;

	if (parts == NULL)
		return false;
	batch->part_room = batch->part_room < room ? room : batch->part_room;
	batch->parts = parts;
	return true;
}

/* There is room for a batch of this source. */
static bool make_room(struct wh_logs *logs, const struct wh_log_source_config *config)
{
	struct wh_log_filling *batch = &logs->batch;

	if (batch->records == NULL)
		batch->records = calloc(batch->records_most, sizeof(*batch->records));
	return batch->records != NULL && make_part_room(batch, config) &&
	       wh_log_image_reserve(&batch->image, batch->records_most, batch_data(logs, config), NULL) == WHORL_OK;
}

/* Of a log that is opened before there is a job nobody waits so. */
static void ask_again(void *ctx)
{
	struct wh_logs *logs = ctx;

	if (wh_load_relaxed(&logs->busy_ns) != 0)
		wh_logs_ask_disk(logs);
}

enum whorl_result wh_log_open_shard(struct wh_logs *logs, struct wh_shard_log *log, uint64_t group,
				    const struct wh_log_source_config *of, const struct wh_log_point *known,
				    struct wh_log_found *found, struct wh_error *err)
{
	uint64_t segment = of->log_bytes / 8 < SEGMENT_BYTES ? of->log_bytes / 8 : SEGMENT_BYTES;
	uint64_t least = logs->config.batch_bytes > 0 ? 0 : SEGMENT_BYTES_LEAST; /* else as small as batches allow */
	const struct wh_log_asking asking = {ask_again, logs};
	struct wh_log_config config = {
		.owner = {.group = group, .shard = log->shard, .node = logs->config.node},
		.fresh = logs->config.env->random_u64(logs->config.env->ctx) | 1,
		.segment_bytes = segment < least ? least : segment,
		.batch_bytes = (uint32_t)batch_data(logs, of),
		.batch_messages = logs->batch.records_most,
		.image = &logs->batch.image,
		.known = known,
		.asking = &asking,
	};

	snprintf(config.owner.group_name, sizeof(config.owner.group_name), "%s", logs->config.group);
	snprintf(config.owner.subgroup, sizeof(config.owner.subgroup), "%s", log->name);
	return wh_log_open(&log->log, logs->directory, &config, found, err);
}

struct wh_shard_log *wh_log_add_shard(struct wh_logs *logs, const struct wh_log_source_config *of)
{
	struct wh_shard_log *log = calloc(1, sizeof(*log)), *other;

	if (log == NULL)
		return NULL;
	snprintf(log->name, sizeof(log->name), "%s", of->name);
	log->subgroup = of->subgroup;
	log->shard = of->shard;
	pthread_mutex_lock(&logs->lock);
	other = wh_log_find_shard(logs, of->subgroup, of->shard);
	log->next = wh_log_first_shard(logs);
	if (other == NULL) /* release: what it is. Partner: wh_log_first_shard */
		wh_store_release(&logs->shards, (uint64_t)(uintptr_t)log);
	pthread_mutex_unlock(&logs->lock);
	if (other != NULL)
		free(log);
	return other != NULL ? other : log;
}

/* It has entered that shard anew, as the standing on this disk says: what a damaged log has does not count, and nothing can be written behind it. */
static bool discard_rot(struct wh_logs *logs, struct wh_shard_log *log)
{
	struct wh_error err;
	const struct wh_log_asking asking = {ask_again, logs};
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
	const struct wh_log_asking asking = {ask_again, logs};
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
	const struct wh_log_asking asking = {ask_again, logs};
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
	count_log(log);
	return true;
}

/* The log of a shard that this node has not been in, or not in its last view. */
static struct wh_shard_log *make_log(struct wh_logs *logs, const struct wh_log_source_config *config)
{
	struct wh_shard_log *log = wh_log_add_shard(logs, config);
	struct wh_error err;

	if (log == NULL) {
		wh_error_set(&err, WHORL_MEMORY, "no memory for a log");
		fail_job(logs, &err);
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

	if (!make_room(logs, &order->config)) {
		wh_error_set(&err, WHORL_MEMORY, "no memory for the log of %s", order->config.name);
		fail_job(logs, &err);
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

/* ---- the job: checkpoints ------------------------------------------------------------------------------------------------- */

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
		count_log(log);
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

/* Of checkpoints, between batches: 4 MB of a state that is given; where batches are small, fewer. */
#define PARTS_MOST 16
#define FEW_PARTS 4

/* Returns how many. One that cannot be done stays the first. */
static size_t do_orders(struct wh_logs *logs)
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

/* ---- the job: batches ----------------------------------------------------------------------------------------------------- */

static void take_message(struct wh_log_filling *batch, const struct wh_walked *message)
{
	struct iovec *parts = &batch->parts[batch->part_count];
	uint32_t count = message->bytes > 0 ? message->pieces.count : 0;
	size_t at;

	for (uint32_t k = 0; k < count; k++)
		parts[k].iov_base = (void *)wh_pieces_at(&message->pieces, k, &at, &parts[k].iov_len);
	batch->records[batch->batch.count++] = (struct wh_log_record){.place = message->sequence,
								      .index = message->index,
								      .sender = message->sender,
								      .slots = message->slots,
								      .bytes = (uint32_t)message->bytes,
								      .part_count = count,
								      .parts = parts};
	batch->part_count += count;
	batch->used += message->bytes;
}

/* One more message fits, whatever it is. */
static bool has_room(const struct wh_log_filling *batch, const struct wh_log_source *source)
{
	return batch->batch.count < batch->records_most && batch->used < batch->bytes_most &&
	       batch->part_count + 2 * source->config.parts_most <= batch->part_room;
}

/* With the lock: what the source has received since, as much as goes into a batch. False: nothing. */
static bool fill_batch(struct wh_log_filling *batch, struct wh_shard_log *log)
{
	struct wh_log_source *source = log->source;
	struct wh_walked message;
	uint64_t limit, stable;
	enum wh_walk_step step = WH_WALK_MESSAGE;

	if (source == NULL || wh_load_relaxed(&source->persist.broken) != 0)
		return false;
	/* Acquire: what lies in the rings below. Partner: wh_persist_received. */
	limit = wh_load_acquire(&source->persist.received);
	if (limit <= source->walk.sequence)
		return false;
	stable = wh_load_relaxed(&source->persist.stable);
	batch->log = log;
	batch->source = source;
	batch->used = batch->part_count = 0;
	batch->batch = (struct wh_log_batch){.first = source->walk.sequence, .records = batch->records};
	while (has_room(batch, source) && (step = wh_walk_next(&source->walk, limit, &message)) == WH_WALK_MESSAGE)
		take_message(batch, &message);
	if (step == WH_WALK_BROKEN)
		wh_store_relaxed(&source->persist.broken, 1 + source->walk.rank);
	batch->batch.next = source->walk.sequence;
	batch->batch.frontier = stable < batch->batch.first ? stable : batch->batch.first;
	return batch->batch.next > batch->batch.first;
}

/* It was synced. */
static void count_batch(const struct wh_log_filling *batch)
{
	wh_word *words[] = {&batch->log->figures.written_batches, &batch->log->figures.written_messages,
			    &batch->log->figures.written_bytes};
	uint64_t more[] = {1, batch->batch.count, 0};

	for (uint32_t i = 0; i < batch->batch.count; i++)
		more[2] += batch->records[i].bytes;
	for (size_t i = 0; i < sizeof(more) / sizeof(more[0]); i++)
		wh_store_relaxed(words[i], wh_load_relaxed(words[i]) + more[i]);
}

/* It is on disk: the loop is told, if the view is still that. */
static void tell_persisted(struct wh_logs *logs)
{
	struct wh_log_filling *batch = &logs->batch;

	pthread_mutex_lock(&logs->lock);
	if (batch->log->source == batch->source)
		wh_persist_say(&batch->source->persist, batch->batch.next);
	pthread_mutex_unlock(&logs->lock);
	wh_logs_wake_loop(logs);
}

/* The batch that was filled goes to disk. False: not yet. What is of a view that is over is dropped: beyond the cut all is void. */
static bool write_batch(struct wh_logs *logs)
{
	struct wh_log_filling *batch = &logs->batch;
	struct wh_error err;
	enum whorl_result result;
	bool is_over;

	pthread_mutex_lock(&logs->lock);
	is_over = batch->log->source != batch->source;
	pthread_mutex_unlock(&logs->lock);
	if (is_over) {
		batch->log = NULL;
		return true;
	}
	wh_logs_ask_disk(logs);
	result = wh_log_write(batch->log->log, &err);
	if (result == WHORL_OK)
		result = wh_log_sync(batch->log->log, &err);
	wh_count_max(&batch->log->figures.longest_sync_ns,
		     wh_env_now(logs->config.env) - wh_load_relaxed(&logs->busy_ns));
	count_log(batch->log);
	if (!wh_logs_settle(logs, result, &err))
		return false;
	count_batch(batch);
	batch->log->written_ns = wh_env_now(logs->config.env);
	tell_persisted(logs);
	wh_logs_ask_disk(logs);
	result = wh_log_prepare(batch->log->log, &err);
	if (result == WHORL_AGAIN) /* it is met again where the room is needed */
		result = WHORL_OK;
	batch->log = NULL;
	return wh_logs_settle(logs, result, &err);
}

/* A batch lies in memory: nothing of the view is needed any more, which may be freed meanwhile. */
static size_t write_log(struct wh_logs *logs, struct wh_shard_log *log)
{
	struct wh_error err;
	enum whorl_result result = WHORL_OK;
	bool is_filled;

	pthread_mutex_lock(&logs->lock);
	is_filled = fill_batch(&logs->batch, log);
	if (is_filled)
		result = wh_log_lay(log->log, &logs->batch.batch, &err);
	pthread_mutex_unlock(&logs->lock);
	if (is_filled && result == WHORL_OK)
		return write_batch(logs);
	logs->batch.log = NULL;
	if (is_filled)
		fail_job(logs, &err);
	return 0;
}

static bool do_some(struct wh_logs *logs)
{
	size_t count;

	if (wh_load_relaxed(&logs->failed) != 0 || (logs->batch.log != NULL && !write_batch(logs)))
		return false;
	count = do_orders(logs) + wh_logs_replay(logs);
	for (struct wh_shard_log *log = wh_log_first_shard(logs); log != NULL && wh_load_relaxed(&logs->failed) == 0;
	     log = log->next)
		if (logs->batch.log == NULL)
			count += write_log(logs, log);
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
