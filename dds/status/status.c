/* status.c - see status.h. */
#include "dds/status/status.h"

uint32_t wh_dds_statuses_of(enum wh_dds_kind kind)
{
	switch (kind) {
	case WH_DDS_TOPIC:
		return WHORL_DDS_INCONSISTENT_TOPIC_STATUS;
	case WH_DDS_SUBSCRIBER:
		return WHORL_DDS_DATA_ON_READERS_STATUS;
	case WH_DDS_WRITER:
		return WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS | WHORL_DDS_OFFERED_INCOMPATIBLE_QOS_STATUS |
		       WHORL_DDS_LIVELINESS_LOST_STATUS | WHORL_DDS_PUBLICATION_MATCHED_STATUS;
	case WH_DDS_READER:
		return WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS | WHORL_DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS |
		       WHORL_DDS_SAMPLE_LOST_STATUS | WHORL_DDS_SAMPLE_REJECTED_STATUS |
		       WHORL_DDS_DATA_AVAILABLE_STATUS | WHORL_DDS_LIVELINESS_CHANGED_STATUS |
		       WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS;
	default:
		return 0;
	}
}

static union wh_dds_status *changes(struct wh_dds_statuses *statuses, uint32_t status)
{
	statuses->changed |= status;
	return &statuses->of[__builtin_ctz(status)];
}

/* ---- what happens -------------------------------------------------------------------------------------------------------- */

void wh_dds_status_inconsistent_topic(struct wh_dds_statuses *statuses)
{
	struct whorl_dds_inconsistent_topic_status *it =
		&changes(statuses, WHORL_DDS_INCONSISTENT_TOPIC_STATUS)->inconsistent_topic;

	it->total_count++;
	it->total_count_change++;
}

void wh_dds_status_deadline_missed(struct wh_dds_statuses *statuses, uint32_t status,
				   whorl_dds_instance_handle instance, uint32_t times)
{
	struct whorl_dds_deadline_missed_status *it = &changes(statuses, status)->deadline_missed;

	it->total_count += times;
	it->total_count_change += (int32_t)times;
	it->last_instance_handle = instance;
}

void wh_dds_status_incompatible(struct wh_dds_statuses *statuses, uint32_t status, enum whorl_dds_policy_id policy)
{
	struct whorl_dds_incompatible_qos_status *it = &changes(statuses, status)->incompatible_qos;

	it->total_count++;
	it->total_count_change++;
	it->last_policy_id = policy;
}

void wh_dds_status_lost(struct wh_dds_statuses *statuses, uint32_t samples)
{
	struct whorl_dds_sample_lost_status *it = &changes(statuses, WHORL_DDS_SAMPLE_LOST_STATUS)->sample_lost;

	it->total_count += samples;
	it->total_count_change += (int32_t)samples;
}

void wh_dds_status_rejected(struct wh_dds_statuses *statuses, enum whorl_dds_rejected_kind reason,
			    whorl_dds_instance_handle instance)
{
	struct whorl_dds_sample_rejected_status *it =
		&changes(statuses, WHORL_DDS_SAMPLE_REJECTED_STATUS)->sample_rejected;

	it->total_count++;
	it->total_count_change++;
	it->last_reason = reason;
	it->last_instance_handle = instance;
}

void wh_dds_status_liveliness_lost(struct wh_dds_statuses *statuses)
{
	struct whorl_dds_liveliness_lost_status *it =
		&changes(statuses, WHORL_DDS_LIVELINESS_LOST_STATUS)->liveliness_lost;

	it->total_count++;
	it->total_count_change++;
}

void wh_dds_status_liveliness_changed(struct wh_dds_statuses *statuses, int32_t alive, int32_t not_alive,
				      whorl_dds_instance_handle writer)
{
	struct whorl_dds_liveliness_changed_status *it =
		&changes(statuses, WHORL_DDS_LIVELINESS_CHANGED_STATUS)->liveliness_changed;

	it->alive_count += (uint32_t)alive;
	it->alive_count_change += alive;
	it->not_alive_count += (uint32_t)not_alive;
	it->not_alive_count_change += not_alive;
	it->last_publication_handle = writer;
}

void wh_dds_status_matched(struct wh_dds_statuses *statuses, uint32_t status, int32_t change,
			   whorl_dds_instance_handle other)
{
	struct whorl_dds_matched_status *it = &changes(statuses, status)->matched;

	if (change > 0) {
		it->total_count += (uint32_t)change;
		it->total_count_change += change;
	}
	it->current_count += (uint32_t)change;
	it->current_count_change += change;
	it->last_handle = other;
}

/* ---- looking ------------------------------------------------------------------------------------------------------------- */

static bool is_one(uint32_t status)
{
	return wh_dds_status_name(status) != NULL;
}

union wh_dds_status wh_dds_status_look(const struct wh_dds_statuses *statuses, uint32_t status)
{
	return is_one(status) ? statuses->of[__builtin_ctz(status)]
			      : (union wh_dds_status){.inconsistent_topic = {.total_count = 0}};
}

union wh_dds_status wh_dds_status_take(struct wh_dds_statuses *statuses, uint32_t status)
{
	union wh_dds_status taken = wh_dds_status_look(statuses, status), *it;

	if (!is_one(status))
		return taken;
	it = &statuses->of[__builtin_ctz(status)];
	statuses->changed &= ~status;
	if (status == WHORL_DDS_LIVELINESS_CHANGED_STATUS) {
		it->liveliness_changed.alive_count_change = it->liveliness_changed.not_alive_count_change = 0;
	} else if (status == WHORL_DDS_PUBLICATION_MATCHED_STATUS || status == WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS) {
		it->matched.total_count_change = it->matched.current_count_change = 0;
	} else {
		it->inconsistent_topic.total_count_change = 0; /* all others begin alike */
	}
	return taken;
}

size_t wh_dds_status_bytes(uint32_t status)
{
	switch (status) {
	case WHORL_DDS_INCONSISTENT_TOPIC_STATUS:
		return sizeof(struct whorl_dds_inconsistent_topic_status);
	case WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS:
	case WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS:
		return sizeof(struct whorl_dds_deadline_missed_status);
	case WHORL_DDS_OFFERED_INCOMPATIBLE_QOS_STATUS:
	case WHORL_DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS:
		return sizeof(struct whorl_dds_incompatible_qos_status);
	case WHORL_DDS_SAMPLE_LOST_STATUS:
		return sizeof(struct whorl_dds_sample_lost_status);
	case WHORL_DDS_SAMPLE_REJECTED_STATUS:
		return sizeof(struct whorl_dds_sample_rejected_status);
	case WHORL_DDS_LIVELINESS_LOST_STATUS:
		return sizeof(struct whorl_dds_liveliness_lost_status);
	case WHORL_DDS_LIVELINESS_CHANGED_STATUS:
		return sizeof(struct whorl_dds_liveliness_changed_status);
	case WHORL_DDS_PUBLICATION_MATCHED_STATUS:
	case WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS:
		return sizeof(struct whorl_dds_matched_status);
	default:
		return 0;
	}
}

const char *wh_dds_status_name(uint32_t status)
{
	switch (status) {
#define NAME(name, bit, text)                                                                                          \
	case WHORL_DDS_##name##_STATUS:                                                                                \
		return text;
		WHORL_DDS_STATUSES(NAME)
#undef NAME
	default:
		return NULL;
	}
}
