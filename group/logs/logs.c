/* logs.c - the beginning and the end of a node's logs, and what the loop sees of a disk that fails (logs.h). */
#include "group/logs/logs_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "group/logs/directories.h"
#include "membership/view.h"

#define RETRY_NS (100 * WH_NS_PER_MS)

static bool set_look_error(struct wh_error *err, const char *what, uint64_t ns)
{
	wh_error_set(err, WHORL_DISK, "its disk %s for %" PRIu64 " ms (group.disk_timeout_ms)", what,
		     ns / WH_NS_PER_MS);
	return false;
}

bool wh_logs_look(struct wh_logs *logs, uint64_t now_ns, struct wh_error *err)
{
	uint64_t busy, full;

	/* Acquire: why. Partner: wh_logs_fail. */
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
		wh_logs_wake_job(logs);
	}
	return true;
}

#define LOCK_AGAIN_NS (10 * (long)WH_NS_PER_MS)

/* Another node of this host may have it for a while (durable_others.c). */
static enum whorl_result lock_directory(const struct wh_logs *logs, int *holder, struct wh_error *err)
{
	const struct wh_env *env = logs->config.env;
	const struct timespec moment = {.tv_nsec = LOCK_AGAIN_NS};
	uint64_t until_ns = wh_env_now(env) + logs->config.patience_ns;
	enum whorl_result result;

	while ((result = logs->directory->ops->lock(logs->directory, holder, err)) == WHORL_AGAIN &&
	       wh_env_now(env) < until_ns && env->nap == NULL)
		nanosleep(&moment, NULL);
	return result;
}

static enum whorl_result open_directory(struct wh_logs *logs, struct wh_error *err)
{
	const struct wh_env *env = logs->config.env;
	struct wh_identity wanted = {.node = logs->config.node};
	enum whorl_result result;
	struct wh_error reason;
	char path[4096];
	int holder;

	snprintf(wanted.name, sizeof(wanted.name), "%s", logs->config.group);
	snprintf(path, sizeof(path), "%s/%u", logs->config.path, logs->config.node);
	result = env->disk->directory(env->disk->ctx, path, true, &logs->directory, err);
	if (result != WHORL_OK) {
		reason = *err;
		return wh_error_set(err, result == WHORL_MEMORY ? result : WHORL_DISK, "group.log_dir: %s",
				    reason.text);
	}
	result = lock_directory(logs, &holder, err);
	if (result == WHORL_AGAIN)
		return wh_error_set(err, WHORL_DISK, "group.log_dir: another process (pid %d) uses %s", holder, path);
	if (result != WHORL_OK)
		return result;
	result = wh_identity_read(logs->directory, &logs->identity, err);
	if (result == WHORL_NOT_FOUND)
		return WHORL_OK;
	return result == WHORL_OK ? wh_identity_check(&logs->identity, &wanted, err) : result;
}

/* One that is not there, or damaged, others may have. */
static enum whorl_result open_view(struct wh_logs *logs, uint64_t key, struct wh_error *err)
{
	unsigned char *bytes;
	size_t count;
	enum whorl_result result = WHORL_OK;

	if (wh_standing_is_blank(&logs->standing) ||
	    wh_standing_read_view(logs->directory, key, &bytes, &count, err) != WHORL_OK)
		return WHORL_OK;
	if (!wh_logs_keep_view(logs, key, bytes, count))
		result = wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	free(bytes);
	return result;
}

/* Of another group than this node's is what no node can go on with here: one that was begun anew, or has been before. 0: of any. */
static uint64_t group_of_others(const struct wh_logs *logs)
{
	return wh_standing_is_blank(&logs->standing) || logs->standing.first ? 0 : logs->standing.group;
}

static enum whorl_result look_at_others(struct wh_logs *logs, struct wh_error *err)
{
	const struct wh_env *env = logs->config.env;
	uint32_t ids[WH_NODES_MAX];
	size_t count =
		wh_directories_find(env->disk, logs->config.path, group_of_others(logs), logs->config.nodes, ids);

	logs->has_disk = calloc(logs->config.nodes, sizeof(*logs->has_disk));
	if (logs->has_disk == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for logs");
	for (size_t i = 0; i < count; i++)
		logs->has_disk[ids[i]] = ids[i] != logs->config.node;
	return WHORL_OK;
}

/* Its files are of the group that the directory was made for, which is another if it was begun anew. Then what is not whole counts for nothing,
 * and nothing can follow it. */
static enum whorl_result open_log(struct wh_logs *logs, struct wh_shard_log *log, const struct wh_shard_standing *shard,
				  const struct wh_log_source_config *config, const struct wh_log_point *known,
				  struct wh_error *err)
{
	uint64_t group = logs->identity.group != 0 ? logs->identity.group : logs->standing.group;
	enum whorl_result result = WHORL_OK;

	if (logs->standing.alone && !shard->whole)
		result = wh_log_discard(logs->directory, log->name, log->shard, NULL, err);
	if (result != WHORL_OK)
		return result;
	return wh_log_open_shard(logs, log, group, config, shard->before != 0 && shard->whole ? known : NULL,
				 &log->found, err);
}

/* Of the shard that the standing has in the view of that number. */
static enum whorl_result open_shard(struct wh_logs *logs, const struct wh_shard_standing *shard, uint64_t number,
				    struct wh_error *err)
{
	struct wh_log_source_config config = {.subgroup = shard->subgroup, .shard = shard->shard};
	const struct wh_log_point known = {shard->before, number - 1, shard->begins};
	enum whorl_result result;
	struct wh_shard_log *log;

	if (!wh_logs_describe(logs, shard, &config))
		return wh_error_set(err, WHORL_DISK, "there is a log of subgroup %" PRIu64 ", which is not configured",
				    shard->subgroup);
	log = wh_log_add_shard(logs, &config);
	if (log == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a log");
	result = open_log(logs, log, shard, &config, wh_shard_is_of_file(shard) ? &known : NULL, err);
	if (result != WHORL_OK)
		return result;
	wh_log_note_ends(log);
	log->is_rotten = log->found.verdict == WH_LOG_ROT;
	return WHORL_OK;
}

/* What the standing names. */
static enum whorl_result open_shards(struct wh_logs *logs, struct wh_error *err)
{
	const struct wh_standing *standing = &logs->standing;
	enum whorl_result result = WHORL_OK;

	for (uint32_t i = 0; i < standing->shard_count && result == WHORL_OK; i++)
		result = open_shard(logs, &standing->shards[i], standing->number, err);
	for (uint32_t i = 0; i < standing->dormant_count && result == WHORL_OK; i++)
		result = open_shard(logs, &standing->dormant[i].shard, standing->dormant[i].number, err);
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
	snprintf(logs->group, sizeof(logs->group), "%s", config->group);
	logs->config.group = logs->group;
	logs->batch.bytes_most = config->batch_bytes > 0 ? config->batch_bytes : BATCH_BYTES;
	logs->batch.records_most = config->batch_bytes > 0 ? config->batch_bytes / BYTES_OF_RECORD + 1 : BATCH_RECORDS;
	logs->last = &logs->first;
	pthread_mutex_init(&logs->lock, NULL);
	pthread_mutex_init(&logs->bell, NULL);
	wh_thread_condition_init(&logs->fewer);
	result = open_directory(logs, err);
	if (result == WHORL_OK)
		result = wh_standing_open(&logs->file, logs->directory, &logs->standing, &passed_over, err);
	if (result == WHORL_OK)
		result = wh_standing_mend(&logs->file, &logs->standing, err);
	if (result == WHORL_OK)
		result = open_view(logs, logs->standing.base, err);
	if (result == WHORL_OK && logs->standing.ballot != 0)
		result = open_view(logs, logs->standing.next, err);
	if (result == WHORL_OK)
		result = open_shards(logs, err);
	if (result == WHORL_OK && config->nodes > 0)
		result = look_at_others(logs, err);
	if (result == WHORL_OK)
		result = config->env->background(config->env->ctx, &logs->job, "whorl-log", wh_logs_work, logs, err);
	if (result != WHORL_OK) {
		wh_logs_close(logs, false);
		return result == WHORL_AGAIN ? (err->code = WHORL_DISK) : result; /* no room */
	}
	*out = logs;
	return WHORL_OK;
}

void wh_logs_stop(struct wh_logs *logs)
{
	if (logs == NULL)
		return;
	wh_store_relaxed(&logs->stopped, 1);
	pthread_mutex_lock(&logs->lock);
	pthread_cond_broadcast(&logs->fewer);
	pthread_mutex_unlock(&logs->lock);
}

void wh_logs_belong(struct wh_logs *logs, void (*wake)(void *ctx), void *ctx)
{
	pthread_mutex_lock(&logs->bell);
	logs->config.wake = wake;
	logs->config.ctx = ctx;
	pthread_mutex_unlock(&logs->bell);
}

void wh_logs_hush(struct wh_logs *logs)
{
	bool is_alone;

	if (logs == NULL)
		return;
	/* Where all is one thread nothing can be waited for here: what holds the bell may be of a process that was killed. */
	is_alone = logs->config.env->nap != NULL;
	if (!is_alone)
		pthread_mutex_lock(&logs->bell);
	logs->closing = true;
	if (!is_alone)
		pthread_mutex_unlock(&logs->bell);
}

void wh_logs_end(struct wh_logs *logs)
{
	const struct wh_env *env;

	if (logs == NULL || logs->job == NULL || logs->ended)
		return;
	env = logs->config.env;
	wh_logs_hush(logs);
	wh_logs_stop(logs);
	logs->ended = true;
	if (env->background_end(env->ctx, logs->job, logs->config.timeout_ns))
		logs->job = NULL;
}

/* A call that does not come back keeps all of it, and frees it if it ever does. Nothing of the node is touched any more. */
void wh_logs_close(struct wh_logs *logs, bool forked)
{
	if (logs == NULL || (forked && logs->job != NULL)) /* the job is the parent's, and may hold the locks */
		return;
	wh_logs_end(logs);
	if (logs->job == NULL || wh_exchange(&logs->call, WH_CALL_ABANDONED) == WH_CALL_NONE)
		wh_logs_free(logs);
}
