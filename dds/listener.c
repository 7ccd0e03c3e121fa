/* listener.c - see listener.h. */
#include "dds/listener.h"

static bool is_one(uint32_t status)
{
	return wh_dds_status_name(status) != NULL;
}

void wh_dds_listener_set(struct wh_dds_listener *listener, uint32_t status, wh_dds_listener_fn *function, void *arg)
{
	int i;

	if (!is_one(status))
		return;
	i = __builtin_ctz(status);
	listener->asks |= status;
	listener->of[i].function = function;
	listener->of[i].arg = arg;
}

wh_dds_listener_fn *wh_dds_listener_get(const struct wh_dds_listener *listener, uint32_t status)
{
	return is_one(status) && (listener->asks & status) != 0 ? listener->of[__builtin_ctz(status)].function : NULL;
}

void wh_dds_listener_merge(struct wh_dds_listener *listener, const struct wh_dds_listener *from)
{
	for (uint32_t left = from->asks & ~listener->asks; left != 0; left &= left - 1) {
		int i = __builtin_ctz(left);

		listener->of[i] = from->of[i];
	}
	listener->asks |= from->asks;
}

/* ---- which one ------------------------------------------------------------------------------------------------------------ */

static uint32_t asked_by(const struct wh_dds_listener *listener)
{
	return listener != NULL ? listener->asks : 0;
}

static const struct wh_dds_listener *nearest(const struct wh_dds_listeners *listeners, uint32_t status)
{
	if (asked_by(listeners->own) & status)
		return listeners->own;
	if (asked_by(listeners->group) & status)
		return listeners->group;
	return asked_by(listeners->participant) & status ? listeners->participant : NULL;
}

/* Of those that have changed, what goes to some listener. New data of a reader does not, if its subscriber hears of it. */
static uint32_t heard(const struct wh_dds_listeners *listeners, uint32_t changed)
{
	uint32_t above = asked_by(listeners->group) | asked_by(listeners->participant);

	if (above & WHORL_DDS_DATA_ON_READERS_STATUS)
		changed &= ~(uint32_t)WHORL_DDS_DATA_AVAILABLE_STATUS;
	return changed & (asked_by(listeners->own) | above);
}

bool wh_dds_listeners_ask(const struct wh_dds_listeners *listeners, uint32_t status)
{
	return heard(listeners, status) != 0;
}

bool wh_dds_listeners_next(const struct wh_dds_listeners *listeners, struct wh_dds_statuses *statuses,
			   struct wh_dds_call *call)
{
	uint32_t left = heard(listeners, statuses->changed);

	for (; left != 0; left &= left - 1) {
		uint32_t status = left & -left;
		const struct wh_dds_listener *listener = nearest(listeners, status);
		int i = __builtin_ctz(status);

		*call = (struct wh_dds_call){.status = status,
					     .function = listener->of[i].function,
					     .arg = listener->of[i].arg,
					     .entity = listeners->entity,
					     .value = wh_dds_status_take(statuses, status)};
		if (call->function != NULL)
			return true;
	}
	return false;
}

/* ---- calling -------------------------------------------------------------------------------------------------------------- */

#define CALL(type, value) ((type *)call->function)(call->entity, (value), call->arg)

void wh_dds_call_make(const struct wh_dds_call *call)
{
	const union wh_dds_status *value = &call->value;

	switch (call->status) {
	case WHORL_DDS_DATA_AVAILABLE_STATUS:
	case WHORL_DDS_DATA_ON_READERS_STATUS:
		((whorl_dds_on_data_fn *)call->function)(call->entity, call->arg);
		break;
	case WHORL_DDS_INCONSISTENT_TOPIC_STATUS:
		CALL(whorl_dds_on_inconsistent_topic_fn, &value->inconsistent_topic);
		break;
	case WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS:
	case WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS:
		CALL(whorl_dds_on_deadline_missed_fn, &value->deadline_missed);
		break;
	case WHORL_DDS_OFFERED_INCOMPATIBLE_QOS_STATUS:
	case WHORL_DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS:
		CALL(whorl_dds_on_incompatible_qos_fn, &value->incompatible_qos);
		break;
	case WHORL_DDS_SAMPLE_LOST_STATUS:
		CALL(whorl_dds_on_sample_lost_fn, &value->sample_lost);
		break;
	case WHORL_DDS_SAMPLE_REJECTED_STATUS:
		CALL(whorl_dds_on_sample_rejected_fn, &value->sample_rejected);
		break;
	case WHORL_DDS_LIVELINESS_LOST_STATUS:
		CALL(whorl_dds_on_liveliness_lost_fn, &value->liveliness_lost);
		break;
	case WHORL_DDS_LIVELINESS_CHANGED_STATUS:
		CALL(whorl_dds_on_liveliness_changed_fn, &value->liveliness_changed);
		break;
	default: /* a match */
		CALL(whorl_dds_on_matched_fn, &value->matched);
		break;
	}
}
