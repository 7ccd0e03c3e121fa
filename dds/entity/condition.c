/* condition.c - conditions: see condition.h. */
#include "dds/entity/condition.h"

void wh_dds_signals_init(struct wh_dds_signals *signals)
{
	pthread_mutex_init(&signals->lock, NULL);
}

void wh_dds_signals_free(struct wh_dds_signals *signals)
{
	pthread_mutex_destroy(&signals->lock);
}

void wh_dds_condition_init(struct wh_dds_condition *condition, struct wh_dds_signals *signals, whorl_dds_entity entity)
{
	*condition = (struct wh_dds_condition){.signals = signals, .entity = entity};
}

void wh_dds_condition_close(struct wh_dds_condition *condition)
{
	pthread_mutex_lock(&condition->signals->lock);
	condition->closed = true;
	while (condition->attachments != NULL)
		wh_dds_attachment_free(condition->attachments);
	pthread_mutex_unlock(&condition->signals->lock);
}

/* With the lock. */
static void change(struct wh_dds_condition *condition, bool holds)
{
	struct wh_dds_attachment *at = condition->attachments;

	wh_store_release(&condition->holds, holds); /* partner: wh_dds_condition_holds */
	for (; at != NULL; at = wh_dds_attachment_next(at))
		wh_dds_attachment_say(at, holds);
}

void wh_dds_condition_say(struct wh_dds_condition *condition, bool holds)
{
	if (wh_dds_condition_holds(condition) == holds)
		return;
	pthread_mutex_lock(&condition->signals->lock);
	if (wh_dds_condition_holds(condition) != holds)
		change(condition, holds);
	pthread_mutex_unlock(&condition->signals->lock);
}

bool wh_dds_condition_take(struct wh_dds_condition *condition)
{
	bool held;

	pthread_mutex_lock(&condition->signals->lock);
	held = wh_dds_condition_holds(condition);
	if (held)
		change(condition, false);
	pthread_mutex_unlock(&condition->signals->lock);
	return held;
}

void wh_dds_read_conditions_look(struct wh_dds_read_condition *first, const struct wh_dds_cache *cache)
{
	for (; first != NULL; first = first->next)
		wh_dds_condition_say(&first->condition, first->query != NULL
								? wh_dds_query_has(first->query, first->mask)
								: wh_dds_cache_has(cache, first->mask));
}

void wh_dds_status_condition_look(struct wh_dds_status_condition *condition, const struct wh_dds_statuses *statuses)
{
	wh_dds_condition_say(&condition->condition, (statuses->changed & condition->enabled) != 0);
}
