/* status.h - the statuses of one entity: what has happened to it, how often, and how often since the program looked.
 *
 * A status has *changed* from the event to when it is looked at; a status condition holds while one of those that it asks for has
 * changed (DCPS 1.4, 2.2.4.1). DATA_AVAILABLE and DATA_ON_READERS have no counts.
 *
 * Threads: the caller holds the entity's lock.
 */
#ifndef WH_DDS_STATUS_H
#define WH_DDS_STATUS_H

#include "base/error.h"
#include "dds/policy/policy.h"

union wh_dds_status { /* which one, its bit says */
	struct whorl_dds_inconsistent_topic_status inconsistent_topic;
	struct whorl_dds_deadline_missed_status deadline_missed;
	struct whorl_dds_incompatible_qos_status incompatible_qos;
	struct whorl_dds_sample_lost_status sample_lost;
	struct whorl_dds_sample_rejected_status sample_rejected;
	struct whorl_dds_liveliness_lost_status liveliness_lost;
	struct whorl_dds_liveliness_changed_status liveliness_changed;
	struct whorl_dds_matched_status matched;
};

#define WH_DDS_STATUS_BITS 15

struct wh_dds_statuses {
	uint32_t changed;
	union wh_dds_status of[WH_DDS_STATUS_BITS]; /* by the number of its bit */
};

/* All that an entity of this kind has. */
uint32_t wh_dds_statuses_of(enum wh_dds_kind kind);

/* ---- what happens -------------------------------------------------------------------------------------------------------- */

void wh_dds_status_inconsistent_topic(struct wh_dds_statuses *statuses);
void wh_dds_status_deadline_missed(struct wh_dds_statuses *statuses, uint32_t status,
				   whorl_dds_instance_handle instance, uint32_t times);
void wh_dds_status_incompatible(struct wh_dds_statuses *statuses, uint32_t status, enum whorl_dds_policy_id policy);
void wh_dds_status_lost(struct wh_dds_statuses *statuses, uint32_t samples);
void wh_dds_status_rejected(struct wh_dds_statuses *statuses, enum whorl_dds_rejected_kind reason,
			    whorl_dds_instance_handle instance);
void wh_dds_status_liveliness_lost(struct wh_dds_statuses *statuses);
/* Of a writer: alive and not alive grow by these, -1 to 1. */
void wh_dds_status_liveliness_changed(struct wh_dds_statuses *statuses, int32_t alive, int32_t not_alive,
				      whorl_dds_instance_handle writer);
/* A match (1) or the end of one (-1). */
void wh_dds_status_matched(struct wh_dds_statuses *statuses, uint32_t status, int32_t change,
			   whorl_dds_instance_handle other);

static inline void wh_dds_status_data(struct wh_dds_statuses *statuses, uint32_t status)
{
	statuses->changed |= status;
}

/* ---- looking ------------------------------------------------------------------------------------------------------------- */

/* What a status is, and from now on it has not changed. */
union wh_dds_status wh_dds_status_take(struct wh_dds_statuses *statuses, uint32_t status);
/* What it is; nothing else. */
union wh_dds_status wh_dds_status_look(const struct wh_dds_statuses *statuses, uint32_t status);
/* How many bytes of the union a status has; 0: it has none, or is no one status. */
size_t wh_dds_status_bytes(uint32_t status);
/* "sample lost"; NULL if there is no such status. */
const char *wh_dds_status_name(uint32_t status);

#endif
