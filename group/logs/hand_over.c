/* hand_over.c - what the loop hands over to the job: orders, in the order in which they are done (logs.h). */
#include "group/logs/logs_int.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"

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

struct wh_log_order *wh_log_order_new(enum wh_log_order_kind kind, const void *bytes, size_t count)
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

void wh_log_order_of(struct wh_log_order *order, const struct wh_log_source_config *config)
{
	order->config = *config;
	snprintf(order->name, sizeof(order->name), "%s", config->name);
	order->config.name = order->name;
}

uint64_t wh_logs_hand_over(struct wh_logs *logs, struct wh_log_order *order)
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
	struct wh_log_order *order = wh_log_order_new(ORDER_STANDING, NULL, 0);
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
	logs->standing_ticket = wh_logs_hand_over(logs, order);
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

bool wh_logs_keep_view(struct wh_logs *logs, uint64_t key, const void *bytes, size_t count)
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

uint64_t wh_logs_write_view(struct wh_logs *logs, uint64_t key, const void *bytes, size_t count)
{
	struct wh_log_order *order =
		wh_logs_keep_view(logs, key, bytes, count) ? wh_log_order_new(ORDER_VIEW, bytes, count) : NULL;

	if (order == NULL)
		return 0;
	order->key = key;
	return logs->views->ticket = wh_logs_hand_over(logs, order);
}

bool wh_logs_has_done(const struct wh_logs *logs, uint64_t ticket)
{
	/* Acquire: that it is on disk. Partner: wh_logs_do_orders. */
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
	order = wh_log_order_new(ORDER_CHECKPOINT, bytes, count);
	if (order == NULL)
		return 0;
	order->step = step;
	order->checkpoint = checkpoint;
	order->config.subgroup = subgroup;
	order->config.shard = shard;
	pthread_mutex_lock(&logs->lock);
	logs->waiting += count;
	pthread_mutex_unlock(&logs->lock);
	return wh_logs_hand_over(logs, order);
}

bool wh_logs_forget_checkpoints(struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);
	struct wh_log_order *order;

	if (log == NULL) /* there was none, and none is on its way */
		return true;
	order = wh_log_order_new(ORDER_FORGET, NULL, 0);
	if (order == NULL)
		return false;
	order->checkpoint = wh_load_relaxed(&logs->checkpoints) + 1;
	order->config.subgroup = subgroup;
	order->config.shard = shard;
	log->forgot = wh_logs_hand_over(logs, order);
	return true;
}

bool wh_logs_has_checkpoint(const struct wh_logs *logs, uint64_t subgroup, uint32_t shard)
{
	const struct wh_shard_log *log = wh_log_find_shard(logs, subgroup, shard);

	/* Acquire: that it is on disk. Partner: finish_checkpoint. */
	return log != NULL && wh_logs_has_done(logs, log->forgot) && wh_load_acquire(&log->figures.since) > 0;
}
