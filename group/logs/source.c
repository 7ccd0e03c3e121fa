/* source.c - what a view receives is a source of its shard's log: the loop's side (logs.h). */
#include "group/logs/logs_int.h"

#include <stdlib.h>
#include <string.h>

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
	struct wh_log_order *order = wh_log_order_new(ORDER_SOURCE, NULL, 0);

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
	wh_log_order_of(order, config);
	order->begin = *begin;
	order->begin.senders = order->senders;
	order->fresh = fresh;
	(void)wh_logs_hand_over(logs, order);
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

bool wh_logs_mark(struct wh_logs *logs, const struct wh_log_source_config *config, const struct wh_log_entry_at *at)
{
	const struct wh_log_begin begin = {
		.key = config->key, .number = config->view, .cut = at->cut, .follows = at->follows};
	struct wh_shard_log *log = wh_log_add_shard(logs, config);

	if (log != NULL &&
	    wh_log_find_end(log, config->key) != NULL) /* before the node ended, which had no time to say more */
		return true;
	if (log == NULL || !hand_over_begin(logs, NULL, config, NULL, &begin, at->fresh))
		return false;
	note_mark(log, &begin);
	return true;
}

/* A beginning that was not on disk when the power went says which view it follows: that which its standing has, where the log ends. */
bool wh_logs_mark_dormant(struct wh_logs *logs, const struct wh_dormant_log *dormant)
{
	struct wh_log_source_config config = {
		.subgroup = dormant->shard.subgroup, .view = dormant->number, .key = dormant->key};
	const struct wh_shard_log *log = wh_log_find_shard(logs, dormant->shard.subgroup, 0);
	const struct wh_log_place *before = log != NULL ? wh_log_find_end(log, dormant->shard.before) : NULL;
	struct wh_log_entry_at at = {.cut = dormant->shard.begins, .follows = before != NULL ? before->number : 0};

	return wh_logs_describe(logs, &dormant->shard, &config) && wh_logs_mark(logs, &config, &at);
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
