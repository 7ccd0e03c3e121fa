/* batches.c - what was received goes to disk, a batch at a time (logs.h). */
#include "group/logs/logs_int.h"

#include "base/counter.h"

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

bool wh_logs_write_batch(struct wh_logs *logs)
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
	wh_log_count(batch->log);
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
size_t wh_log_fill(struct wh_logs *logs, struct wh_shard_log *log)
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
		return wh_logs_write_batch(logs);
	logs->batch.log = NULL;
	if (is_filled)
		wh_logs_fail(logs, &err);
	return 0;
}
