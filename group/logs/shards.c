/* shards.c - the list of a node's logs, one of each shard, and their files (logs.h). */
#include "group/logs/logs_int.h"

#include <stdio.h>
#include <stdlib.h>

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

bool wh_logs_make_room(struct wh_logs *logs, const struct wh_log_source_config *config)
{
	struct wh_log_filling *batch = &logs->batch;

	if (batch->records == NULL)
		batch->records = calloc(batch->records_most, sizeof(*batch->records));
	return batch->records != NULL && make_part_room(batch, config) &&
	       wh_log_image_reserve(&batch->image, batch->records_most, batch_data(logs, config), NULL) == WHORL_OK;
}

enum whorl_result wh_log_open_shard(struct wh_logs *logs, struct wh_shard_log *log, uint64_t group,
				    const struct wh_log_source_config *of, const struct wh_log_point *known,
				    struct wh_log_found *found, struct wh_error *err)
{
	uint64_t segment = of->log_bytes / 8 < SEGMENT_BYTES ? of->log_bytes / 8 : SEGMENT_BYTES;
	uint64_t least = logs->config.batch_bytes > 0 ? 0 : SEGMENT_BYTES_LEAST; /* else as small as batches allow */
	const struct wh_log_asking asking = {wh_logs_ask_again, logs};
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

void wh_log_count(struct wh_shard_log *log)
{
	struct wh_log_statistics now;

	wh_log_statistics(log->log, &now);
	wh_store_relaxed(&log->figures.segments, now.segments);
	wh_store_relaxed(&log->figures.bytes, now.bytes);
	wh_store_relaxed(&log->figures.used, now.used);
	wh_store_relaxed(&log->figures.batches, now.batches);
	wh_store_relaxed(&log->figures.syncs, now.syncs);
}
