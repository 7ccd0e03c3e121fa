/* logs.c - see logs.h. */
#include "group/logs.h"

#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>

#include "base/counter.h"
#include "persistence/identity.h"
#include "persistence/log.h"

#define BATCH_BYTES ((size_t)4 << 20) /* of messages in one, at most, but for one that is larger */
#define BATCH_RECORDS 4096
#define CLOSE_NS (100 * WH_NS_PER_MS) /* so much longer than a disk may take a close waits */

struct shard_log { /* of one shard of a subgroup that this node is or was in */
	struct shard_log *next; /* [job; with the lock] */
	uint64_t subgroup;
	uint32_t shard;
	char name[64];
	struct wh_log *log;           /* [job] */
	struct wh_log_source *source; /* [lock] that of the current view */
	struct wh_log_found found;    /* [const after open] */
	struct wh_log_figures figures;
};

struct wh_log_source {
	struct wh_logs *logs;
	struct wh_log_source_config config;
	struct wh_log_sender *senders;
	struct wh_persist persist;
	struct wh_walk walk;   /* [job, with the lock] */
	struct shard_log *log; /* NULL before it has begun. [lock] */
};

enum order_kind { ORDER_STANDING, ORDER_VIEW, ORDER_SOURCE };

struct order {
	struct order *next;
	enum order_kind kind;
	uint64_t ticket;
	struct wh_standing standing;
	uint64_t key;
	unsigned char *bytes;
	size_t count;
	struct wh_log_source *source;        /* NULL: it was freed meanwhile. [lock] */
	struct wh_log_source_config config;  /* of the source, but for its arrays */
	struct wh_log_begin begin;           /* likewise */
	struct wh_log_sender *senders;       /* of `begin` */
};

struct wh_logs {
	struct wh_logs_config config;
	struct wh_directory *directory;
	struct wh_background *job;
	struct wh_standing standing; /* [loop] */
	uint64_t tickets;            /* [loop] handed out */
	wh_word done;                /* the last ticket that is on disk. [job] */
	wh_word busy_ns;             /* since when the disk is asked for something; 0: it is not. [job] */
	wh_word failed;              /* 1: `failure` says why. [job] */
	struct wh_error failure;     /* [job, before failed] */
	wh_word full_ns;             /* since when there is no room; 0: there is. [job] */
	uint64_t retried_ns;         /* [loop] */
	pthread_mutex_t lock;        /* never held while the disk is asked for something */
	struct order *first, **last; /* [lock] */
	struct shard_log *shards;    /* [job changes it, with the lock] */
	/* [job] */
	struct wh_standing_file file;
	struct wh_identity identity; /* group 0: none is on disk */
	bool closing;                /* [lock] the node waits no more: nothing of it is touched */
	struct batch {
		struct shard_log *log; /* NULL: it is empty */
		struct wh_log_source *source; /* a name only: it may be gone */
		struct wh_log_batch batch;
		struct wh_log_record *records;
		struct iovec *parts;
		unsigned char *bytes;
		size_t room, used;
	} batch;
};

/* ---- handing over ------------------------------------------------------------------------------------------------------- */

static void free_order(struct order *order)
{
	wh_standing_free(&order->standing);
	free(order->bytes);
	free(order->senders);
	free(order);
}

static uint64_t hand_over(struct wh_logs *logs, struct order *order)
{
	order->ticket = ++logs->tickets;
	pthread_mutex_lock(&logs->lock);
	order->next = NULL;
	*logs->last = order;
	logs->last = &order->next;
	pthread_mutex_unlock(&logs->lock);
	logs->config.env->background_wake(logs->config.env->ctx, logs->job);
	return logs->tickets;
}

const struct wh_standing *wh_logs_standing(const struct wh_logs *logs)
{
	return &logs->standing;
}

uint64_t wh_logs_write_standing(struct wh_logs *logs, const struct wh_standing *standing)
{
	struct order *order = calloc(1, sizeof(*order));
	struct wh_standing mine;

	if (order == NULL || wh_standing_copy(&order->standing, standing) != WHORL_OK ||
	    wh_standing_copy(&mine, standing) != WHORL_OK) {
		if (order != NULL)
			free_order(order);
		return 0;
	}
	wh_standing_free(&logs->standing);
	logs->standing = mine;
	order->kind = ORDER_STANDING;
	return hand_over(logs, order);
}

uint64_t wh_logs_write_view(struct wh_logs *logs, uint64_t key, const void *bytes, size_t count)
{
	struct order *order = calloc(1, sizeof(*order));

	if (order != NULL)
		order->bytes = malloc(count);
	if (order == NULL || order->bytes == NULL) {
		free(order);
		return 0;
	}
	memcpy(order->bytes, bytes, count);
	order->kind = ORDER_VIEW;
	order->key = key;
	order->count = count;
	return hand_over(logs, order);
}

bool wh_logs_has_done(const struct wh_logs *logs, uint64_t ticket)
{
	/* Acquire: that it is on disk. Partner: do_orders. */
	return wh_load_acquire(&logs->done) >= ticket;
}

/* ---- sources: the loop's side ------------------------------------------------------------------------------------------- */

static void wake_job(void *ctx)
{
	const struct wh_logs *logs = ctx;

	logs->config.env->background_wake(logs->config.env->ctx, logs->job);
}

enum whorl_result wh_log_source_create(struct wh_log_source **out, struct wh_logs *logs,
				       const struct wh_log_source_config *config, struct wh_error *err)
{
	struct wh_log_source *source = calloc(1, sizeof(*source));
	enum whorl_result result;

	if (source == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a log");
	source->logs = logs;
	source->config = *config;
	source->senders = calloc(config->sender_count + 1, sizeof(*source->senders));
	result = source->senders == NULL ? wh_error_set(err, WHORL_MEMORY, "no memory for a log")
					 : wh_persist_init(&source->persist, config->sender_count, err);
	source->persist.wake = wake_job;
	source->persist.ctx = logs;
	source->walk = (struct wh_walk){.from = &source->persist,
					.slots = config->slots,
					.parts_most = config->parts_most,
					.message_bytes = config->message_bytes};
	if (result == WHORL_OK)
		result = wh_walk_begin(&source->walk, err);
	for (uint32_t s = 0; result == WHORL_OK && s < config->sender_count; s++)
		source->senders[s] =
			(struct wh_log_sender){config->sender_ids[s], config->sender_incarnations[s]};
	if (result != WHORL_OK) {
		wh_log_source_free(source);
		return result;
	}
	*out = source;
	return WHORL_OK;
}

struct wh_persist *wh_log_source_persist(struct wh_log_source *source)
{
	return &source->persist;
}

static bool hand_over_begin(struct wh_logs *logs, struct wh_log_source *source,
			    const struct wh_log_source_config *config, const struct wh_log_sender *senders,
			    const struct wh_log_begin *begin)
{
	struct order *order = calloc(1, sizeof(*order));

	if (order != NULL)
		order->senders = calloc(begin->sender_count + 1, sizeof(*senders));
	if (order == NULL || order->senders == NULL) {
		free(order);
		return false;
	}
	if (begin->sender_count > 0)
		memcpy(order->senders, senders, begin->sender_count * sizeof(*senders));
	order->kind = ORDER_SOURCE;
	order->source = source;
	order->config = *config;
	order->begin = *begin;
	order->begin.senders = order->senders;
	(void)hand_over(logs, order);
	return true;
}

bool wh_log_source_begin(struct wh_log_source *source, uint64_t cut)
{
	const struct wh_log_source_config *config = &source->config;

	return hand_over_begin(source->logs, source, config, source->senders,
			       &(struct wh_log_begin){.key = config->key,
						      .number = config->view,
						      .cut = cut,
						      .sender_count = config->sender_count});
}

void wh_log_source_free(struct wh_log_source *source)
{
	struct wh_logs *logs;

	if (source == NULL)
		return;
	logs = source->logs;
	pthread_mutex_lock(&logs->lock);
	for (struct order *order = logs->first; order != NULL; order = order->next)
		if (order->source == source)
			order->source = NULL;
	if (source->log != NULL && source->log->source == source)
		source->log->source = NULL;
	pthread_mutex_unlock(&logs->lock);
	wh_walk_close(&source->walk);
	wh_persist_close(&source->persist);
	free(source->senders);
	free(source);
}

/* ---- the job: what fails -------------------------------------------------------------------------------------------------- */

static void ask_disk(struct wh_logs *logs)
{
	wh_store_relaxed(&logs->busy_ns, wh_env_now(logs->config.env));
}

static uint64_t disk_has_answered(struct wh_logs *logs)
{
	uint64_t began = wh_load_relaxed(&logs->busy_ns);

	wh_store_relaxed(&logs->busy_ns, 0);
	return wh_env_now(logs->config.env) - began;
}

/* For good: what was not synced then may never be. */
static void fail_job(struct wh_logs *logs, const struct wh_error *err)
{
	logs->failure = *err;
	/* Release: the text. Partner: wh_logs_look. */
	wh_store_release(&logs->failed, 1);
	logs->config.wake(logs->config.ctx);
}

/* True: it is done. False: there is no room on the disk, and it is to be tried again; or the disk has failed. */
static bool settle(struct wh_logs *logs, enum whorl_result result, const struct wh_error *err)
{
	(void)disk_has_answered(logs);
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

/* ---- the job: orders ------------------------------------------------------------------------------------------------------ */

static bool write_identity(struct wh_logs *logs, uint64_t group)
{
	struct wh_identity identity = {.group = group, .node = logs->config.node};
	struct wh_error err;
	enum whorl_result result;

	if (logs->identity.group == group)
		return true;
	snprintf(identity.name, sizeof(identity.name), "%s", logs->config.group);
	ask_disk(logs);
	result = wh_identity_write(logs->directory, &identity, &err);
	if (!settle(logs, result, &err))
		return false;
	logs->identity = identity;
	return true;
}

static bool write_standing(struct wh_logs *logs, const struct wh_standing *standing)
{
	struct wh_error err;
	enum whorl_result result;

	if (!write_identity(logs, standing->group))
		return false;
	ask_disk(logs);
	result = wh_standing_write(&logs->file, standing, &err);
	if (result == WHORL_OK)
		result = wh_standing_sweep(logs->directory, standing, NULL, 0, &err);
	return settle(logs, result, &err);
}

static bool write_view(struct wh_logs *logs, const struct order *order)
{
	struct wh_error err;

	ask_disk(logs);
	return settle(logs,
		      wh_standing_write_view(logs->directory, order->key, order->bytes, order->count, &err), &err);
}

static struct shard_log *find_log(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	struct shard_log *log = logs->shards;

	while (log != NULL && (log->subgroup != subgroup || log->shard != shard))
		log = log->next;
	return log;
}

#define SEGMENT_BYTES (UINT64_C(64) << 20)
#define SEGMENT_BYTES_LEAST (UINT64_C(4) << 20)

static uint32_t largest_message(const struct wh_log_source_config *config)
{
	return (uint32_t)((uint64_t)config->parts_most * config->message_bytes);
}

/* A batch of this source has room: its messages up to BATCH_BYTES, and one more. */
static bool make_room(struct wh_logs *logs, const struct wh_log_source_config *config)
{
	size_t room = BATCH_BYTES + largest_message(config);
	unsigned char *bytes;

	if (logs->batch.records == NULL)
		logs->batch.records = calloc(BATCH_RECORDS, sizeof(*logs->batch.records));
	if (logs->batch.parts == NULL)
		logs->batch.parts = calloc(BATCH_RECORDS, sizeof(*logs->batch.parts));
	if (logs->batch.records == NULL || logs->batch.parts == NULL)
		return false;
	if (logs->batch.room >= room)
		return true;
	bytes = realloc(logs->batch.bytes, room);
	if (bytes == NULL)
		return false;
	logs->batch.bytes = bytes;
	logs->batch.room = room;
	return true;
}

static enum whorl_result open_files(struct wh_logs *logs, struct shard_log *log, uint64_t group,
				    const struct wh_log_source_config *of, struct wh_error *err)
{
	uint64_t segment = of->log_bytes / 8 < SEGMENT_BYTES ? of->log_bytes / 8 : SEGMENT_BYTES;
	uint32_t largest = largest_message(of);
	struct wh_log_config config = {
		.owner = {.group = group, .shard = log->shard, .node = logs->config.node},
		.fresh = logs->config.env->random_u64(logs->config.env->ctx) | 1,
		.segment_bytes = segment < SEGMENT_BYTES_LEAST ? SEGMENT_BYTES_LEAST : segment,
		.batch_bytes = (uint32_t)(BATCH_BYTES + (largest + 15) / 16 * 16 + 16 * BATCH_RECORDS),
		.batch_messages = BATCH_RECORDS,
	};

	snprintf(config.owner.group_name, sizeof(config.owner.group_name), "%s", logs->config.group);
	snprintf(config.owner.subgroup, sizeof(config.owner.subgroup), "%s", log->name);
	return wh_log_open(&log->log, logs->directory, &config, &log->found, err);
}

static struct shard_log *new_log(struct wh_logs *logs, const struct wh_log_source_config *of)
{
	struct shard_log *log = calloc(1, sizeof(*log));

	if (log == NULL)
		return NULL;
	snprintf(log->name, sizeof(log->name), "%s", of->name);
	log->subgroup = of->subgroup;
	log->shard = of->shard;
	pthread_mutex_lock(&logs->lock);
	log->next = logs->shards;
	logs->shards = log;
	pthread_mutex_unlock(&logs->lock);
	return log;
}

/* The log of a shard that this node has not been in. */
static struct shard_log *make_log(struct wh_logs *logs, const struct wh_log_source_config *config)
{
	struct shard_log *log = find_log(logs, config->subgroup, config->shard);
	struct wh_error err;

	if (log == NULL)
		log = new_log(logs, config);
	if (log == NULL) {
		wh_error_set(&err, WHORL_MEMORY, "no memory for a log");
		fail_job(logs, &err);
		return NULL;
	}
	if (log->log != NULL)
		return log;
	ask_disk(logs);
	return settle(logs,
		      open_files(logs, log, logs->identity.group, config, &err),
		      &err)
		       ? log
		       : NULL;
}

/* A view begins in the log of its shard, also where it is over already: a view that is missing would be a gap. */
static bool begin_source(struct wh_logs *logs, struct order *order)
{
	struct shard_log *log;
	struct wh_error err;
	enum whorl_result result;

	if (!make_room(logs, &order->config)) {
		wh_error_set(&err, WHORL_MEMORY, "no memory for the log of %s", order->config.name);
		fail_job(logs, &err);
		return false;
	}
	log = make_log(logs, &order->config);
	if (log == NULL)
		return false;
	ask_disk(logs);
	result = wh_log_begin_view(log->log, &order->begin, &err);
	if (result == WHORL_OK)
		result = wh_log_sync(log->log, &err);
	if (!settle(logs, result, &err))
		return false;
	pthread_mutex_lock(&logs->lock);
	log->source = order->source;
	if (order->source != NULL)
		order->source->log = log;
	pthread_mutex_unlock(&logs->lock);
	return true;
}

static bool do_order(struct wh_logs *logs, struct order *order)
{
	switch (order->kind) {
	case ORDER_STANDING:
		return write_standing(logs, &order->standing);
	case ORDER_VIEW:
		return write_view(logs, order);
	case ORDER_SOURCE:
		return begin_source(logs, order);
	}
	return false;
}

/* Returns how many. One that cannot be done stays the first. */
static size_t do_orders(struct wh_logs *logs)
{
	struct order *order;
	size_t count = 0;

	for (;; count++) {
		pthread_mutex_lock(&logs->lock);
		order = logs->first;
		pthread_mutex_unlock(&logs->lock);
		if (order == NULL || !do_order(logs, order))
			return count;
		pthread_mutex_lock(&logs->lock);
		logs->first = order->next;
		if (logs->first == NULL)
			logs->last = &logs->first;
		pthread_mutex_unlock(&logs->lock);
		/* Release: it is on disk. Partner: wh_logs_has_done. */
		wh_store_release(&logs->done, order->ticket);
		free_order(order);
		logs->config.wake(logs->config.ctx);
	}
}

/* ---- the job: batches ----------------------------------------------------------------------------------------------------- */

static void copy_message(struct batch *batch, const struct wh_walked *message)
{
	struct iovec *part = &batch->parts[batch->batch.count];

	*part = (struct iovec){batch->bytes + batch->used, message->bytes};
	(void)wh_pieces_copy(&message->pieces, 0, part->iov_base, message->bytes);
	batch->records[batch->batch.count++] = (struct wh_log_record){.place = message->sequence,
								      .index = message->index,
								      .sender = message->sender,
								      .slots = message->slots,
								      .bytes = (uint32_t)message->bytes,
								      .part_count = 1,
								      .parts = part};
	batch->used += message->bytes;
}

/* With the lock: what the source has received since, as much as goes into a batch. False: nothing. */
static bool fill_batch(struct batch *batch, struct shard_log *log)
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
	batch->used = 0;
	batch->batch = (struct wh_log_batch){.first = source->walk.sequence, .records = batch->records};
	while (batch->batch.count < BATCH_RECORDS && batch->used < BATCH_BYTES &&
	       (step = wh_walk_next(&source->walk, limit, &message)) == WH_WALK_MESSAGE)
		copy_message(batch, &message);
	if (step == WH_WALK_BROKEN)
		wh_store_relaxed(&source->persist.broken, 1 + source->walk.rank);
	batch->batch.next = source->walk.sequence;
	batch->batch.frontier = stable < batch->batch.first ? stable : batch->batch.first;
	return batch->batch.next > batch->batch.first;
}

static void count_sync(struct shard_log *log, uint64_t ns)
{
	struct wh_log_statistics now;

	wh_log_statistics(log->log, &now);
	wh_count_max(&log->figures.longest_sync_ns, ns);
	wh_store_relaxed(&log->figures.segments, now.segments);
	wh_store_relaxed(&log->figures.bytes, now.bytes);
	wh_store_relaxed(&log->figures.batches, now.batches);
	wh_store_relaxed(&log->figures.syncs, now.syncs);
}

/* It is on disk: the loop is told, if the view is still that. */
static void tell_persisted(struct wh_logs *logs)
{
	struct batch *batch = &logs->batch;

	pthread_mutex_lock(&logs->lock);
	if (batch->log->source == batch->source)
		wh_persist_say(&batch->source->persist, batch->batch.next);
	pthread_mutex_unlock(&logs->lock);
	wh_store_relaxed(&batch->log->figures.persisted, batch->batch.next);
	logs->config.wake(logs->config.ctx);
}

/* The batch that was filled goes to disk. False: not yet. What is of a view that is over is dropped: beyond the cut all is void. */
static bool write_batch(struct wh_logs *logs)
{
	struct batch *batch = &logs->batch;
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
	ask_disk(logs);
	result = wh_log_append(batch->log->log, &batch->batch, &err);
	if (result == WHORL_OK)
		result = wh_log_sync(batch->log->log, &err);
	count_sync(batch->log, wh_env_now(logs->config.env) - wh_load_relaxed(&logs->busy_ns));
	if (!settle(logs, result, &err))
		return false;
	tell_persisted(logs);
	ask_disk(logs);
	result = wh_log_prepare(batch->log->log, &err);
	if (result == WHORL_AGAIN) /* it is met again where the room is needed */
		result = WHORL_OK;
	batch->log = NULL;
	return settle(logs, result, &err);
}

static size_t write_log(struct wh_logs *logs, struct shard_log *log)
{
	bool is_filled;

	pthread_mutex_lock(&logs->lock);
	is_filled = fill_batch(&logs->batch, log);
	pthread_mutex_unlock(&logs->lock);
	if (!is_filled)
		logs->batch.log = NULL;
	return is_filled && write_batch(logs);
}

static bool work(void *argument)
{
	struct wh_logs *logs = argument;
	size_t count;

	if (wh_load_relaxed(&logs->failed) != 0 || (logs->batch.log != NULL && !write_batch(logs)))
		return false;
	count = do_orders(logs);
	for (struct shard_log *log = logs->shards; log != NULL && wh_load_relaxed(&logs->failed) == 0; log = log->next)
		if (logs->batch.log == NULL)
			count += write_log(logs, log);
	return count > 0 && wh_load_relaxed(&logs->failed) == 0;
}

/* ---- open, look, close ---------------------------------------------------------------------------------------------------- */

#define RETRY_NS (100 * WH_NS_PER_MS)

static bool set_look_error(struct wh_error *err, const char *what, uint64_t ns)
{
	wh_error_set(err, WHORL_DISK, "its disk %s for %" PRIu64 " ms (group.disk_timeout_ms)", what, ns / WH_NS_PER_MS);
	return false;
}

bool wh_logs_look(struct wh_logs *logs, uint64_t now_ns, struct wh_error *err)
{
	uint64_t busy, full;

	/* Acquire: why. Partner: fail_job. */
	if (wh_load_acquire(&logs->failed) != 0) {
		*err = logs->failure;
		return false;
	}
	busy = wh_load_relaxed(&logs->busy_ns);
	full = wh_load_relaxed(&logs->full_ns);
	if (busy != 0 && now_ns > busy && now_ns - busy > logs->config.timeout_ns)
		return set_look_error(err, "does not answer", now_ns - busy);
	if (full == 0)
		return true;
	if (now_ns > full && now_ns - full > logs->config.timeout_ns)
		return set_look_error(err, "is full", now_ns - full);
	if (now_ns - logs->retried_ns >= RETRY_NS) {
		logs->retried_ns = now_ns;
		wake_job(logs);
	}
	return true;
}

static enum whorl_result open_directory(struct wh_logs *logs, struct wh_error *err)
{
	const struct wh_env *env = logs->config.env;
	struct wh_identity wanted = {.node = logs->config.node};
	enum whorl_result result;
	char path[4096];
	int holder;

	snprintf(wanted.name, sizeof(wanted.name), "%s", logs->config.group);
	snprintf(path, sizeof(path), "%s/%u", logs->config.path, logs->config.node);
	result = env->disk->directory(env->disk->ctx, path, true, &logs->directory, err);
	if (result == WHORL_NOT_FOUND)
		return wh_error_set(err, WHORL_DISK, "group.log_dir: there is no directory %s", logs->config.path);
	if (result == WHORL_OK)
		result = logs->directory->ops->lock(logs->directory, &holder, err);
	if (result == WHORL_AGAIN)
		return wh_error_set(err, WHORL_DISK, "group.log_dir: another process (pid %d) uses %s", holder, path);
	if (result != WHORL_OK)
		return result;
	result = wh_identity_read(logs->directory, &logs->identity, err);
	if (result == WHORL_NOT_FOUND)
		return WHORL_OK;
	return result == WHORL_OK ? wh_identity_check(&logs->identity, &wanted, err) : result;
}

/* What the standing names. */
static enum whorl_result open_shards(struct wh_logs *logs, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	for (uint32_t i = 0; i < logs->standing.shard_count && result == WHORL_OK; i++) {
		const struct wh_shard_standing *shard = &logs->standing.shards[i];
		struct wh_log_source_config config = {.subgroup = shard->subgroup, .shard = shard->shard};
		bool is_there = logs->config.describe(logs->config.ctx, shard->subgroup, &config);
		struct shard_log *log = is_there ? new_log(logs, &config) : NULL;

		if (!is_there)
			result = wh_error_set(err, WHORL_DISK, "there is a log of subgroup %" PRIu64 ", which is not configured",
					      shard->subgroup);
		else if (log == NULL)
			result = wh_error_set(err, WHORL_MEMORY, "no memory for a log");
		else
			result = open_files(logs, log, logs->standing.group, &config, err);
	}
	return result;
}

enum whorl_result wh_logs_open(struct wh_logs **out, const struct wh_logs_config *config, struct wh_error *err)
{
	struct wh_logs *logs;
	bool passed_over;
	enum whorl_result result;

	if (config->env->disk == NULL || config->env->background == NULL)
		return wh_error_set(err, WHORL_UNSUPPORTED, "a subgroup is durable, and there are no files here");
	logs = calloc(1, sizeof(*logs));
	if (logs == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for logs");
	logs->config = *config;
	logs->last = &logs->first;
	pthread_mutex_init(&logs->lock, NULL);
	result = open_directory(logs, err);
	if (result == WHORL_OK)
		result = wh_standing_open(&logs->file, logs->directory, &logs->standing, &passed_over, err);
	if (result == WHORL_OK)
		result = open_shards(logs, err);
	if (result == WHORL_OK)
		result = config->env->background(config->env->ctx, &logs->job, "whorl-log", work, logs, err);
	if (result != WHORL_OK) {
		wh_logs_close(logs, false);
		return result;
	}
	*out = logs;
	return WHORL_OK;
}

static void free_logs(struct wh_logs *logs)
{
	for (struct order *order = logs->first, *next; order != NULL; order = next) {
		next = order->next;
		free_order(order);
	}
	for (struct shard_log *log = logs->shards, *next; log != NULL; log = next) {
		next = log->next;
		wh_log_close(log->log);
		free(log);
	}
	wh_standing_close(&logs->file);
	wh_standing_free(&logs->standing);
	if (logs->directory != NULL)
		logs->directory->ops->close(logs->directory);
	free(logs->batch.records);
	free(logs->batch.parts);
	free(logs->batch.bytes);
	pthread_mutex_destroy(&logs->lock);
	free(logs);
}

/* A call that does not come back keeps all of it: the disk may answer some time. */
void wh_logs_close(struct wh_logs *logs, bool forked)
{
	const struct wh_env *env;

	if (logs == NULL)
		return;
	env = logs->config.env;
	if (logs->job != NULL && (forked || !env->background_end(env->ctx, logs->job, logs->config.timeout_ns)))
		return;
	free_logs(logs);
}
