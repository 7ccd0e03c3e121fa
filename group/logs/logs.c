/* logs.c - see logs.h: what the loop hands over, and the beginning and the end of it all. */
#include "group/logs/logs_int.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/thread.h"
#include "group/logs/directories.h"
#include "membership/view.h"

#define LOG_BYTES_UNKNOWN (UINT64_C(1) << 30) /* of a log that is read before its subgroup says more */

/* ---- handing over ------------------------------------------------------------------------------------------------------- */

void wh_log_order_free(struct wh_log_order *order)
{
	wh_standing_free(&order->standing);
	free(order->bytes);
	free(order->senders);
	free(order);
}

void wh_logs_wake_job(const struct wh_logs *logs)
{
	if (!logs->ended)
		logs->config.env->background_wake(logs->config.env->ctx, logs->job);
}

/* With a copy of these bytes. NULL: no memory. */
static struct wh_log_order *new_order(enum wh_log_order_kind kind, const void *bytes, size_t count)
{
	struct wh_log_order *order = calloc(1, sizeof(*order));

	if (order == NULL)
		return NULL;
	order->kind = kind;
	order->count = count;
	if (count == 0)
		return order;
	order->bytes = malloc(count);
	if (order->bytes == NULL) {
		free(order);
		return NULL;
	}
	memcpy(order->bytes, bytes, count);
	return order;
}

/* Its name may lie in the node's configuration, in a view, or in a standing. */
static void set_shard(struct wh_log_order *order, const struct wh_log_source_config *config)
{
	order->config = *config;
	snprintf(order->name, sizeof(order->name), "%s", config->name);
	order->config.name = order->name;
}

static uint64_t hand_over(struct wh_logs *logs, struct wh_log_order *order)
{
	uint64_t ticket;

	pthread_mutex_lock(&logs->lock);
	ticket = order->ticket = ++logs->tickets;
	order->next = NULL;
	*logs->last = order;
	logs->last = &order->next;
	pthread_mutex_unlock(&logs->lock);
	wh_logs_wake_job(logs);
	return ticket;
}

const struct wh_standing *wh_logs_standing(const struct wh_logs *logs)
{
	return &logs->standing;
}

uint64_t wh_logs_write_standing(struct wh_logs *logs, const struct wh_standing *standing)
{
	struct wh_log_order *order = new_order(ORDER_STANDING, NULL, 0);
	struct wh_standing mine;

	if (order == NULL || wh_standing_copy(&order->standing, standing) != WHORL_OK ||
	    wh_standing_copy(&mine, standing) != WHORL_OK) {
		if (order != NULL)
			wh_log_order_free(order);
		return 0;
	}
	wh_standing_free(&logs->standing);
	logs->standing = mine;
	for (const struct wh_kept_view *view = logs->views; view != NULL && order->keep_count < WH_VIEWS_KEPT;
	     view = view->next)
		order->keep[order->keep_count++] = view->key;
	logs->standing_ticket = hand_over(logs, order);
	return logs->standing_ticket;
}

bool wh_logs_has_standing(const struct wh_logs *logs)
{
	return wh_logs_has_done(logs, logs->standing_ticket);
}

/* A view is one that the standing names, or one that it may name soon. */
static void forget_views(struct wh_logs *logs)
{
	uint32_t unnamed = 0;

	for (struct wh_kept_view **at = &logs->views; *at != NULL;) {
		struct wh_kept_view *view = *at;

		if (view->key == logs->standing.base || view->key == logs->standing.next || unnamed++ < 2) {
			at = &view->next;
			continue;
		}
		*at = view->next;
		free(view);
	}
}

static bool keep_view(struct wh_logs *logs, uint64_t key, const void *bytes, size_t count)
{
	struct wh_kept_view *view = malloc(sizeof(*view) + count);

	if (view == NULL)
		return false;
	*view = (struct wh_kept_view){.next = logs->views, .key = key, .count = count};
	memcpy(view->bytes, bytes, count);
	logs->views = view;
	forget_views(logs);
	return true;
}

bool wh_logs_view(const struct wh_logs *logs, uint64_t key, const unsigned char **bytes, size_t *count)
{
	for (const struct wh_kept_view *view = logs->views; view != NULL; view = view->next)
		if (view->key == key) {
			*bytes = view->bytes;
			*count = view->count;
			return true;
		}
	return false;
}

uint64_t wh_logs_view_ticket(const struct wh_logs *logs, uint64_t key, const void *bytes, size_t count)
{
	for (const struct wh_kept_view *view = logs->views; view != NULL; view = view->next)
		if (view->key == key && view->count == count && memcmp(view->bytes, bytes, count) == 0)
			return view->ticket;
	return 0;
}

bool wh_logs_has_disk(const struct wh_logs *logs, uint32_t node)
{
	return logs->has_disk != NULL && logs->has_disk[node];
}

uint64_t wh_logs_write_view(struct wh_logs *logs, uint64_t key, const void *bytes, size_t count)
{
	struct wh_log_order *order = keep_view(logs, key, bytes, count) ? new_order(ORDER_VIEW, bytes, count) : NULL;

	if (order == NULL)
		return 0;
	order->key = key;
	return logs->views->ticket = hand_over(logs, order);
}

bool wh_logs_has_done(const struct wh_logs *logs, uint64_t ticket)
{
	/* Acquire: that it is on disk. Partner: do_orders. */
	return wh_load_acquire(&logs->done) >= ticket;
}

/* ---- checkpoints ---------------------------------------------------------------------------------------------------------- */

#define WAITING_MAX ((size_t)16 << 20)
#define LOOK_MS 100

bool wh_logs_has_failed(const struct wh_logs *logs)
{
	return wh_load_relaxed(&logs->failed) != 0;
}

static bool goes_on(const struct wh_logs *logs)
{
	return !wh_logs_has_failed(logs) && wh_load_relaxed(&logs->stopped) == 0;
}

/* Where all is one thread nothing is waited for: others go on only when this returns. */
static bool wait_for_room(struct wh_logs *logs)
{
	bool may_wait = logs->config.env->nap == NULL;

	pthread_mutex_lock(&logs->lock);
	while (may_wait && logs->waiting > WAITING_MAX && goes_on(logs)) {
		struct timespec until = wh_deadline(LOOK_MS);

		pthread_cond_timedwait(&logs->fewer, &logs->lock, &until);
	}
	pthread_mutex_unlock(&logs->lock);
	return goes_on(logs);
}

uint64_t wh_logs_new_checkpoint(struct wh_logs *logs)
{
	return wh_fetch_add(&logs->checkpoints, 1) + 1;
}

uint64_t wh_logs_checkpoint(struct wh_logs *logs, uint64_t subgroup, uint32_t shard, uint64_t checkpoint,
			    enum wh_checkpoint_step step, const void *bytes, size_t count)
{
	struct wh_log_order *order;

	if (!wait_for_room(logs))
		return 0;
	order = new_order(ORDER_CHECKPOINT, bytes, count);
	if (order == NULL)
		return 0;
	order->step = step;
	order->checkpoint = checkpoint;
	order->config.subgroup = subgroup;
	order->config.shard = shard;
	pthread_mutex_lock(&logs->lock);
	logs->waiting += count;
	pthread_mutex_unlock(&logs->lock);
	return hand_over(logs, order);
}

bool wh_logs_forget_checkpoints(struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);
	struct wh_log_order *order;

	if (log == NULL) /* there was none, and none is on its way */
		return true;
	order = new_order(ORDER_FORGET, NULL, 0);
	if (order == NULL)
		return false;
	order->checkpoint = wh_load_relaxed(&logs->checkpoints) + 1;
	order->config.subgroup = subgroup;
	order->config.shard = shard;
	log->forgot = hand_over(logs, order);
	return true;
}

bool wh_logs_has_checkpoint(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	const struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);

	/* Acquire: that it is on disk. Partner: finish_checkpoint. */
	return log != NULL && wh_logs_has_done(logs, log->forgot) && wh_load_acquire(&log->figures.since) > 0;
}

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

/* ---- what was found -------------------------------------------------------------------------------------------------------- */

/* NULL: that view has not begun there, or long ago. */
static const struct wh_log_place *find_end(const struct wh_shard_log *log, uint64_t key)
{
	for (int i = WH_LOG_ENDS - 1; i >= 0 && key != 0; i--)
		if (log->ends[i].key == key)
			return &log->ends[i];
	return NULL;
}

/* The log has what its standing says of the view before its base, which has the number `base`; or a checkpoint behind that. */
static bool reaches_base(const struct wh_shard_log *log, const struct wh_shard_standing *shard, uint64_t base)
{
	const struct wh_log_place *before = find_end(log, shard->before);

	if (log->state_view > base || shard->before == 0)
		return true;
	return before != NULL ? before->place >= shard->begins : shard->begins == 0;
}

bool wh_logs_found(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard, struct wh_log_is *out)
{
	const struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);
	const struct wh_shard_standing *standing = wh_standing_shard(&logs->standing, subgroup, shard);
	const struct wh_log_place *base;

	*out = (struct wh_log_is){.whole = false};
	if (standing == NULL)
		return false;
	if (log == NULL) { /* of a first view that has not begun: it has all that there is, nothing */
		out->whole = standing->whole;
		return true;
	}
	if (!wh_logs_has_done(logs, log->copying)) {
		out->rot = true;
		out->why = "it is being copied";
		return true;
	}
	out->rot = log->found.verdict == WH_LOG_ROT || !reaches_base(log, standing, logs->standing.number);
	out->why = log->found.why;
	out->whole = standing->whole && !out->rot;
	base = find_end(log, logs->standing.base);
	out->has_base = !out->rot && base != NULL;
	out->place = out->has_base ? base->place : 0;
	out->frontier = out->has_base ? log->frontiers[base - log->ends] : 0;
	return true;
}

bool wh_logs_describe(const struct wh_logs *logs, const struct wh_shard_standing *shard,
		      struct wh_log_source_config *out)
{
	if (wh_shard_is_of_file(shard))
		return logs->config.describe(logs->config.describe_ctx, shard->subgroup, out);
	out->name = shard->name;
	out->parts_most = 1;
	out->message_bytes = (uint32_t)shard->largest;
	out->log_bytes = LOG_BYTES_UNKNOWN;
	return true;
}

bool wh_logs_found_dormant(const struct wh_logs *logs, uint64_t birth, struct wh_log_is *out)
{
	const struct wh_dormant_log *dormant = wh_standing_dormant(&logs->standing, birth);
	const struct wh_shard_log *log = wh_log_find_shard(logs, birth, 0);
	const struct wh_log_place *end;

	*out = (struct wh_log_is){.whole = false};
	if (dormant == NULL || (log == NULL && dormant->shard.begins != 0))
		return false;
	if (log == NULL) { /* no view of it has begun here: it has all that there is, nothing */
		out->whole = dormant->shard.whole && dormant->cut == UINT64_MAX;
		return true;
	}
	end = find_end(log, dormant->key);
	out->rot = log->found.verdict == WH_LOG_ROT || !reaches_base(log, &dormant->shard, dormant->number);
	out->why = log->found.why;
	out->has_base = !out->rot && end != NULL;
	out->place = out->has_base ? end->place : 0;
	out->frontier = out->has_base ? log->frontiers[end - log->ends] : 0;
	if (dormant->cut != UINT64_MAX && out->place < dormant->cut)
		out->rot = true; /* it had it */
	else if (dormant->cut != UINT64_MAX)
		out->place = dormant->cut;
	out->whole = dormant->shard.whole && !out->rot;
	return true;
}

bool wh_logs_fall_asleep(struct wh_logs *logs, const struct wh_dormant_log *dormant)
{
	struct wh_log_source_config config = {.subgroup = dormant->shard.subgroup};
	struct wh_shard_log *log =
		wh_logs_describe(logs, &dormant->shard, &config) ? wh_log_add_shard(logs, &config) : NULL;

	if (log == NULL)
		return false;
	log->found.verdict = WH_LOG_WHOLE;
	log->state_view = dormant->number + 1; /* whatever lies before: this life has written behind it */
	for (int i = 0; i < WH_LOG_ENDS; i++) {
		log->ends[i] = (struct wh_log_place){0, 0, 0};
		log->frontiers[i] = 0;
	}
	log->ends[WH_LOG_ENDS - 1] = (struct wh_log_place){dormant->key, dormant->number, dormant->cut};
	return true;
}

/* A beginning that was not on disk when the power went says which view it follows: that which its standing has, where the log ends. */
bool wh_logs_mark_dormant(struct wh_logs *logs, const struct wh_dormant_log *dormant)
{
	struct wh_log_source_config config = {
		.subgroup = dormant->shard.subgroup, .view = dormant->number, .key = dormant->key};
	const struct wh_shard_log *log = wh_log_find_shard(logs, dormant->shard.subgroup, 0);
	const struct wh_log_place *before = log != NULL ? find_end(log, dormant->shard.before) : NULL;
	struct wh_log_entry_at at = {.cut = dormant->shard.begins, .follows = before != NULL ? before->number : 0};

	return wh_logs_describe(logs, &dormant->shard, &config) && wh_logs_mark(logs, &config, &at);
}

bool wh_logs_drop_log(struct wh_logs *logs, const struct wh_shard_standing *shard)
{
	const struct wh_log_source_config config = {
		.name = shard->name, .subgroup = shard->subgroup, .shard = shard->shard};
	struct wh_log_order *order = new_order(ORDER_DROP, NULL, 0);

	if (order == NULL)
		return false;
	set_shard(order, &config);
	(void)hand_over(logs, order);
	return true;
}

bool wh_logs_copy(struct wh_logs *logs, const struct wh_shard_standing *shard, uint32_t from)
{
	struct wh_log_source_config config = {.subgroup = shard->subgroup, .shard = shard->shard};
	struct wh_log_order *order;
	struct wh_shard_log *log;
	char path[4096];

	snprintf(path, sizeof(path), "%s/%u", logs->config.path, from);
	log = wh_logs_describe(logs, shard, &config) ? wh_log_add_shard(logs, &config) : NULL;
	order = log != NULL ? new_order(ORDER_COPY, path, strlen(path) + 1) : NULL;
	if (order == NULL)
		return false;
	set_shard(order, &config);
	order->fresh = true;
	log->copying = hand_over(logs, order);
	return true;
}

bool wh_logs_copies(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	const struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);

	return log != NULL && !wh_logs_has_done(logs, log->copying);
}

void wh_log_note_ends(struct wh_shard_log *log)
{
	uint32_t count;
	const struct wh_log_view *views = wh_log_views(log->log, &count);
	struct wh_log_position position;

	log->state_view = wh_log_position(log->log, &position) ? position.point.number + 1 : 0;
	for (uint32_t i = 0; i < WH_LOG_ENDS && i < count; i++) {
		log->ends[WH_LOG_ENDS - 1 - i] = (struct wh_log_place){
			views[count - 1 - i].key, views[count - 1 - i].number, views[count - 1 - i].end};
		log->frontiers[WH_LOG_ENDS - 1 - i] = views[count - 1 - i].frontier;
	}
}

/* What is beyond the cut of the view before is void. */
static void note_mark(struct wh_shard_log *log, const struct wh_log_begin *begin)
{
	struct wh_log_place *last = &log->ends[WH_LOG_ENDS - 1];

	if (last->place > begin->cut)
		last->place = begin->cut;
	memmove(log->ends, log->ends + 1, (WH_LOG_ENDS - 1) * sizeof(*last));
	memmove(log->frontiers, log->frontiers + 1, (WH_LOG_ENDS - 1) * sizeof(*log->frontiers));
	log->frontiers[WH_LOG_ENDS - 1] = 0;
	*last = (struct wh_log_place){begin->key, begin->number, 0};
}

/* ---- sources: the loop's side ------------------------------------------------------------------------------------------- */

static void wake_job(void *ctx)
{
	wh_logs_wake_job(ctx);
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
		source->senders[s] = (struct wh_log_sender){config->sender_ids[s], config->sender_incarnations[s]};
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
			    const struct wh_log_begin *begin, bool fresh)
{
	struct wh_log_order *order = new_order(ORDER_SOURCE, NULL, 0);

	if (order == NULL)
		return false;
	order->senders = calloc(begin->sender_count + 1, sizeof(*senders));
	if (order->senders == NULL) {
		wh_log_order_free(order);
		return false;
	}
	for (uint32_t s = 0; s < begin->sender_count; s++)
		order->senders[s] = senders[s];
	order->source = source;
	set_shard(order, config);
	order->begin = *begin;
	order->begin.senders = order->senders;
	order->fresh = fresh;
	(void)hand_over(logs, order);
	return true;
}

bool wh_log_source_begin(struct wh_log_source *source, const struct wh_log_entry_at *at)
{
	const struct wh_log_source_config *config = &source->config;

	return hand_over_begin(source->logs, source, config, source->senders,
			       &(struct wh_log_begin){.key = config->key,
						      .number = config->view,
						      .cut = at->cut,
						      .follows = at->follows,
						      .sender_count = config->sender_count},
			       at->fresh);
}

bool wh_logs_mark(struct wh_logs *logs, const struct wh_log_source_config *config, const struct wh_log_entry_at *at)
{
	const struct wh_log_begin begin = {
		.key = config->key, .number = config->view, .cut = at->cut, .follows = at->follows};
	struct wh_shard_log *log = wh_log_add_shard(logs, config);

	if (log != NULL && find_end(log, config->key) != NULL) /* before the node ended, which had no time to say more */
		return true;
	if (log == NULL || !hand_over_begin(logs, NULL, config, NULL, &begin, at->fresh))
		return false;
	note_mark(log, &begin);
	return true;
}

void wh_log_source_free(struct wh_log_source *source)
{
	struct wh_logs *logs;

	if (source == NULL)
		return;
	logs = source->logs;
	pthread_mutex_lock(&logs->lock);
	for (struct wh_log_order *order = logs->first; order != NULL; order = order->next)
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

/* ---- open, look, close ---------------------------------------------------------------------------------------------------- */

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
	if (!keep_view(logs, key, bytes, count))
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

void wh_logs_free(struct wh_logs *logs)
{
	wh_replays_free(logs); /* they read what lies in the logs */
	for (struct wh_log_order *order = logs->first, *next; order != NULL; order = next) {
		next = order->next;
		wh_log_order_free(order);
	}
	for (struct wh_shard_log *log = wh_log_first_shard(logs), *next; log != NULL; log = next) {
		next = log->next;
		wh_checkpoint_drop(log->checkpoint);
		wh_log_close(log->log);
		free(log);
	}
	for (struct wh_kept_view *view = logs->views, *next; view != NULL; view = next) {
		next = view->next;
		free(view);
	}
	free(logs->has_disk);
	wh_standing_close(&logs->file);
	wh_standing_free(&logs->standing);
	if (logs->directory != NULL)
		logs->directory->ops->close(logs->directory);
	free(logs->batch.records);
	free(logs->batch.parts);
	wh_log_image_free(&logs->batch.image);
	pthread_cond_destroy(&logs->fewer);
	pthread_mutex_destroy(&logs->bell);
	pthread_mutex_destroy(&logs->lock);
	free(logs);
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
