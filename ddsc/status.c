/* status.c - see status.h. */
#include "ddsc/status.h"

/* ---- bits: the program's follow each other, whorl's are OMG's ---------------------------------------------------------------- */

static const uint32_t bits_of_whorl[] = {
	[DDS_INCONSISTENT_TOPIC_STATUS_ID] = WHORL_DDS_INCONSISTENT_TOPIC_STATUS,
	[DDS_OFFERED_DEADLINE_MISSED_STATUS_ID] = WHORL_DDS_OFFERED_DEADLINE_MISSED_STATUS,
	[DDS_REQUESTED_DEADLINE_MISSED_STATUS_ID] = WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS,
	[DDS_OFFERED_INCOMPATIBLE_QOS_STATUS_ID] = WHORL_DDS_OFFERED_INCOMPATIBLE_QOS_STATUS,
	[DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS_ID] = WHORL_DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS,
	[DDS_SAMPLE_LOST_STATUS_ID] = WHORL_DDS_SAMPLE_LOST_STATUS,
	[DDS_SAMPLE_REJECTED_STATUS_ID] = WHORL_DDS_SAMPLE_REJECTED_STATUS,
	[DDS_DATA_ON_READERS_STATUS_ID] = WHORL_DDS_DATA_ON_READERS_STATUS,
	[DDS_DATA_AVAILABLE_STATUS_ID] = WHORL_DDS_DATA_AVAILABLE_STATUS,
	[DDS_LIVELINESS_LOST_STATUS_ID] = WHORL_DDS_LIVELINESS_LOST_STATUS,
	[DDS_LIVELINESS_CHANGED_STATUS_ID] = WHORL_DDS_LIVELINESS_CHANGED_STATUS,
	[DDS_PUBLICATION_MATCHED_STATUS_ID] = WHORL_DDS_PUBLICATION_MATCHED_STATUS,
	[DDS_SUBSCRIPTION_MATCHED_STATUS_ID] = WHORL_DDS_SUBSCRIPTION_MATCHED_STATUS,
};

uint32_t wh_ddsc_bits(uint32_t whorl)
{
	uint32_t bits = 0;

	for (uint32_t i = 0; i <= DDS_STATUS_ID_MAX; i++)
		if ((whorl & bits_of_whorl[i]) != 0)
			bits |= UINT32_C(1) << i;
	return bits;
}

bool wh_ddsc_bits_whorl(uint32_t bits, uint32_t *whorl)
{
	*whorl = 0;
	for (uint32_t i = 0; i <= DDS_STATUS_ID_MAX; i++)
		if ((bits >> i & 1) != 0)
			*whorl |= bits_of_whorl[i];
	return bits >> DDS_STATUS_ID_MAX <= 1;
}

/* ---- structs ---------------------------------------------------------------------------------------------------------------- */

void wh_ddsc_status_inconsistent_topic(dds_inconsistent_topic_status_t *to,
				       const struct wh_ddsc_whorl_inconsistent_topic *from)
{
	*to = (dds_inconsistent_topic_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
	};
}

void wh_ddsc_status_liveliness_lost(dds_liveliness_lost_status_t *to, const struct wh_ddsc_whorl_liveliness_lost *from)
{
	*to = (dds_liveliness_lost_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
	};
}

void wh_ddsc_status_offered_deadline_missed(dds_offered_deadline_missed_status_t *to,
					    const struct wh_ddsc_whorl_offered_deadline_missed *from)
{
	*to = (dds_offered_deadline_missed_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
		.last_instance_handle = from->last_instance_handle,
	};
}

void wh_ddsc_status_offered_incompatible_qos(dds_offered_incompatible_qos_status_t *to,
					     const struct wh_ddsc_whorl_offered_incompatible_qos *from)
{
	*to = (dds_offered_incompatible_qos_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
		.last_policy_id = (uint32_t)from->last_policy_id,
	};
}

void wh_ddsc_status_publication_matched(dds_publication_matched_status_t *to,
					const struct wh_ddsc_whorl_publication_matched *from)
{
	*to = (dds_publication_matched_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
		.current_count = from->current_count,
		.current_count_change = from->current_count_change,
		.last_subscription_handle = from->last_handle,
	};
}

void wh_ddsc_status_sample_lost(dds_sample_lost_status_t *to, const struct wh_ddsc_whorl_sample_lost *from)
{
	*to = (dds_sample_lost_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
	};
}

void wh_ddsc_status_sample_rejected(dds_sample_rejected_status_t *to, const struct wh_ddsc_whorl_sample_rejected *from)
{
	*to = (dds_sample_rejected_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
		.last_reason = (dds_sample_rejected_status_kind)from->last_reason,
		.last_instance_handle = from->last_instance_handle,
	};
}

void wh_ddsc_status_liveliness_changed(dds_liveliness_changed_status_t *to,
				       const struct wh_ddsc_whorl_liveliness_changed *from)
{
	*to = (dds_liveliness_changed_status_t){
		.alive_count = from->alive_count,
		.not_alive_count = from->not_alive_count,
		.alive_count_change = from->alive_count_change,
		.not_alive_count_change = from->not_alive_count_change,
		.last_publication_handle = from->last_publication_handle,
	};
}

void wh_ddsc_status_requested_deadline_missed(dds_requested_deadline_missed_status_t *to,
					      const struct wh_ddsc_whorl_requested_deadline_missed *from)
{
	*to = (dds_requested_deadline_missed_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
		.last_instance_handle = from->last_instance_handle,
	};
}

void wh_ddsc_status_requested_incompatible_qos(dds_requested_incompatible_qos_status_t *to,
					       const struct wh_ddsc_whorl_requested_incompatible_qos *from)
{
	*to = (dds_requested_incompatible_qos_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
		.last_policy_id = (uint32_t)from->last_policy_id,
	};
}

void wh_ddsc_status_subscription_matched(dds_subscription_matched_status_t *to,
					 const struct wh_ddsc_whorl_subscription_matched *from)
{
	*to = (dds_subscription_matched_status_t){
		.total_count = from->total_count,
		.total_count_change = from->total_count_change,
		.current_count = from->current_count,
		.current_count_change = from->current_count_change,
		.last_publication_handle = from->last_handle,
	};
}

/* ---- of an entity ------------------------------------------------------------------------------------------------------------ */

#define GET(name, ID)                                                                                                  \
	dds_return_t dds_get_##name##_status(dds_entity_t entity, dds_##name##_status_t *status)                       \
	{                                                                                                              \
		struct wh_ddsc_whorl_##name found;                                                                     \
		dds_return_t result = whorl_dds_take_status(entity, WHORL_DDS_##ID##_STATUS, &found, sizeof(found));   \
                                                                                                                       \
		if (result == DDS_RETCODE_OK && status != NULL)                                                        \
			wh_ddsc_status_##name(status, &found);                                                         \
		return result;                                                                                         \
	}

GET(inconsistent_topic, INCONSISTENT_TOPIC)
GET(liveliness_lost, LIVELINESS_LOST)
GET(offered_deadline_missed, OFFERED_DEADLINE_MISSED)
GET(offered_incompatible_qos, OFFERED_INCOMPATIBLE_QOS)
GET(publication_matched, PUBLICATION_MATCHED)
GET(sample_lost, SAMPLE_LOST)
GET(sample_rejected, SAMPLE_REJECTED)
GET(liveliness_changed, LIVELINESS_CHANGED)
GET(requested_deadline_missed, REQUESTED_DEADLINE_MISSED)
GET(requested_incompatible_qos, REQUESTED_INCOMPATIBLE_QOS)
GET(subscription_matched, SUBSCRIPTION_MATCHED)

dds_return_t dds_get_status_changes(dds_entity_t entity, uint32_t *status)
{
	dds_return_t result;

	if (status == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no memory for the statuses");
	result = whorl_dds_get_status_changes(entity);
	if (result < 0)
		return result;
	*status = wh_ddsc_bits((uint32_t)result);
	return DDS_RETCODE_OK;
}

/* Those of `mask` that have changed; 0: all. */
static dds_return_t changes(const char *function, dds_entity_t entity, uint32_t *status, uint32_t mask)
{
	uint32_t whorl;
	dds_return_t result;

	if (status == NULL || !wh_ddsc_bits_whorl(mask, &whorl))
		return whorl_dds_refuse(function, DDS_RETCODE_BAD_PARAMETER,
					"no memory for the statuses, or no such status");
	result = dds_get_status_changes(entity, status);
	if (result == DDS_RETCODE_OK && mask != 0)
		*status &= mask;
	return result;
}

dds_return_t dds_read_status(dds_entity_t entity, uint32_t *status, uint32_t mask)
{
	return changes(__func__, entity, status, mask);
}

/* DATA_AVAILABLE and DATA_ON_READERS end when samples are read, and not before. */
dds_return_t dds_take_status(dds_entity_t entity, uint32_t *status, uint32_t mask)
{
	dds_return_t result = changes(__func__, entity, status, mask);
	uint64_t any[8];

	for (uint32_t i = 0; result == DDS_RETCODE_OK && i <= DDS_STATUS_ID_MAX; i++)
		if ((*status >> i & 1) != 0 && i != DDS_DATA_AVAILABLE_STATUS_ID && i != DDS_DATA_ON_READERS_STATUS_ID)
			result = whorl_dds_take_status(entity, bits_of_whorl[i], any, sizeof(any));
	return result;
}

dds_return_t dds_get_status_mask(dds_entity_t entity, uint32_t *mask)
{
	uint32_t whorl;
	dds_return_t result;

	if (mask == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no memory for the mask");
	result = whorl_dds_get_status_mask(entity, &whorl);
	if (result == DDS_RETCODE_OK)
		*mask = wh_ddsc_bits(whorl);
	return result;
}

dds_return_t dds_set_status_mask(dds_entity_t entity, uint32_t mask)
{
	uint32_t whorl;

	if (!wh_ddsc_bits_whorl(mask, &whorl))
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "there is no such status");
	return whorl_dds_set_status_mask(entity, whorl);
}

dds_return_t dds_get_enabled_status(dds_entity_t entity, uint32_t *mask)
{
	return dds_get_status_mask(entity, mask);
}

dds_return_t dds_set_enabled_status(dds_entity_t entity, uint32_t mask)
{
	return dds_set_status_mask(entity, mask);
}
