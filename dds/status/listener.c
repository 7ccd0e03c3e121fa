/* listener.c - see listener.h. */
#include "dds/status/listener.h"

#include <stdlib.h>

#include "dds/base/text.h"

/* ---- the object ----------------------------------------------------------------------------------------------------------- */

whorl_dds_listener *whorl_dds_create_listener(void *arg)
{
	struct whorl_dds_listener *listener = calloc(1, sizeof(*listener));

	if (listener != NULL)
		listener->arg = arg;
	return listener;
}

void whorl_dds_delete_listener(whorl_dds_listener *listener)
{
	free(listener);
}

whorl_dds_return whorl_dds_reset_listener(whorl_dds_listener *listener)
{
	if (listener == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no listener");
	*listener = (struct whorl_dds_listener){.arg = listener->arg};
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return whorl_dds_copy_listener(whorl_dds_listener *to, const whorl_dds_listener *from)
{
	if (to == NULL || from == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no listener");
	*to = *from;
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return whorl_dds_merge_listener(whorl_dds_listener *to, const whorl_dds_listener *from)
{
	if (to == NULL || from == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no listener");
	for (uint32_t left = from->asks & ~to->asks; left != 0; left &= left - 1) {
		int i = __builtin_ctz(left);

		to->of[i] = from->of[i];
	}
	to->asks |= from->asks;
	if (to->in_place == NULL) {
		to->in_place = from->in_place;
		to->in_place_arg = from->in_place_arg;
	}
	return WHORL_DDS_RETCODE_OK;
}

void wh_dds_listener_set(struct whorl_dds_listener *listener, uint32_t status, wh_dds_listener_fn *function)
{
	int i = __builtin_ctz(status);

	listener->asks = function != NULL ? listener->asks | status : listener->asks & ~status;
	listener->of[i].function = function;
	listener->of[i].arg = listener->arg;
}

#define SETTER(name, type, status)                                                                                     \
	whorl_dds_return whorl_dds_lset_##name(whorl_dds_listener *listener, type *function)                           \
	{                                                                                                              \
		if (listener == NULL)                                                                                  \
			return WH_DDS_SAY(BAD_PARAMETER, "no listener");                                               \
		wh_dds_listener_set(listener, WHORL_DDS_##status##_STATUS, (wh_dds_listener_fn *)function);            \
		return WHORL_DDS_RETCODE_OK;                                                                           \
	}

SETTER(inconsistent_topic, whorl_dds_on_inconsistent_topic_fn, INCONSISTENT_TOPIC)
SETTER(offered_deadline_missed, whorl_dds_on_deadline_missed_fn, OFFERED_DEADLINE_MISSED)
SETTER(requested_deadline_missed, whorl_dds_on_deadline_missed_fn, REQUESTED_DEADLINE_MISSED)
SETTER(offered_incompatible_qos, whorl_dds_on_incompatible_qos_fn, OFFERED_INCOMPATIBLE_QOS)
SETTER(requested_incompatible_qos, whorl_dds_on_incompatible_qos_fn, REQUESTED_INCOMPATIBLE_QOS)
SETTER(sample_lost, whorl_dds_on_sample_lost_fn, SAMPLE_LOST)
SETTER(sample_rejected, whorl_dds_on_sample_rejected_fn, SAMPLE_REJECTED)
SETTER(data_on_readers, whorl_dds_on_data_fn, DATA_ON_READERS)
SETTER(data_available, whorl_dds_on_data_fn, DATA_AVAILABLE)
SETTER(liveliness_lost, whorl_dds_on_liveliness_lost_fn, LIVELINESS_LOST)
SETTER(liveliness_changed, whorl_dds_on_liveliness_changed_fn, LIVELINESS_CHANGED)
SETTER(publication_matched, whorl_dds_on_matched_fn, PUBLICATION_MATCHED)
SETTER(subscription_matched, whorl_dds_on_matched_fn, SUBSCRIPTION_MATCHED)

whorl_dds_return whorl_dds_lset_in_place(whorl_dds_listener *listener, whorl_dds_in_place_fn *function)
{
	if (listener == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no listener");
	listener->in_place = function;
	listener->in_place_arg = listener->arg;
	return WHORL_DDS_RETCODE_OK;
}

/* ---- which one ------------------------------------------------------------------------------------------------------------ */

static uint32_t asked_by(const struct whorl_dds_listener *listener)
{
	return listener != NULL ? listener->asks : 0;
}

static const struct whorl_dds_listener *nearest(const struct wh_dds_listeners *listeners, uint32_t status)
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

bool wh_dds_listeners_next(const struct wh_dds_listeners *listeners, struct wh_dds_statuses *statuses,
			   struct wh_dds_call *call)
{
	uint32_t left = heard(listeners, statuses->changed), status = left & -left;
	const struct whorl_dds_listener *listener;
	int i;

	if (status == 0)
		return false;
	listener = nearest(listeners, status);
	i = __builtin_ctz(status);
	*call = (struct wh_dds_call){.status = status,
				     .function = listener->of[i].function,
				     .arg = listener->of[i].arg,
				     .entity = listeners->entity,
				     .value = wh_dds_status_take(statuses, status)};
	return true;
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
