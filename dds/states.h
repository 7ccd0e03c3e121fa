/* states.h - the states of samples, views and instances, and the statuses of entities, as the program sees them.
 * They are to stand in whorl/dds.h: names and numbers are those that programs know from elsewhere.
 */
#ifndef WH_DDS_STATES_H
#define WH_DDS_STATES_H

#include <whorl/dds.h>

enum {
	WHORL_DDS_READ_SAMPLE_STATE = 1,
	WHORL_DDS_NOT_READ_SAMPLE_STATE = 2,
	WHORL_DDS_ANY_SAMPLE_STATE = 3,
	WHORL_DDS_NEW_VIEW_STATE = 4,
	WHORL_DDS_NOT_NEW_VIEW_STATE = 8,
	WHORL_DDS_ANY_VIEW_STATE = 12,
	WHORL_DDS_ALIVE_INSTANCE_STATE = 16,
	WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE = 32,
	WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE = 64,
	WHORL_DDS_ANY_INSTANCE_STATE = 112,
	WHORL_DDS_ANY_STATE = 127,
};

struct whorl_dds_sample_info {
	uint32_t size;
	uint32_t sample_state, view_state, instance_state;
	bool valid_data;
	uint32_t writer; /* node id */
	uint32_t disposed_generation_count, no_writers_generation_count;
	uint32_t sample_rank, generation_rank, absolute_generation_rank;
	size_t bytes; /* of the sample */
	whorl_dds_time source_timestamp, reception_timestamp;
	whorl_dds_instance_handle instance_handle, publication_handle;
	uint64_t view, sequence; /* its place in the order */
	uint64_t number;         /* of this sample among its writer's */
};
typedef struct whorl_dds_sample_info whorl_dds_sample_info;

/* X(name, bit, text). OMG's bits. */
#define WHORL_DDS_STATUSES(X)                                                                                          \
	X(INCONSISTENT_TOPIC, 0, "inconsistent topic")                                                                 \
	X(OFFERED_DEADLINE_MISSED, 1, "offered deadline missed")                                                       \
	X(REQUESTED_DEADLINE_MISSED, 2, "requested deadline missed")                                                   \
	X(OFFERED_INCOMPATIBLE_QOS, 5, "offered incompatible qos")                                                     \
	X(REQUESTED_INCOMPATIBLE_QOS, 6, "requested incompatible qos")                                                 \
	X(SAMPLE_LOST, 7, "sample lost")                                                                               \
	X(SAMPLE_REJECTED, 8, "sample rejected")                                                                       \
	X(DATA_ON_READERS, 9, "data on readers")                                                                       \
	X(DATA_AVAILABLE, 10, "data available")                                                                        \
	X(LIVELINESS_LOST, 11, "liveliness lost")                                                                      \
	X(LIVELINESS_CHANGED, 12, "liveliness changed")                                                                \
	X(PUBLICATION_MATCHED, 13, "publication matched")                                                              \
	X(SUBSCRIPTION_MATCHED, 14, "subscription matched")

enum {
#define WHORL_DDS_STATUS_BIT(name, bit, text) WHORL_DDS_##name##_STATUS = 1 << (bit),
	WHORL_DDS_STATUSES(WHORL_DDS_STATUS_BIT)
#undef WHORL_DDS_STATUS_BIT
};

enum whorl_dds_rejected_kind {
	WHORL_DDS_NOT_REJECTED,
	WHORL_DDS_REJECTED_BY_INSTANCES_LIMIT,
	WHORL_DDS_REJECTED_BY_SAMPLES_LIMIT,
	WHORL_DDS_REJECTED_BY_SAMPLES_PER_INSTANCE_LIMIT,
};

/* total_count_change and the like: since the status was looked at last. */
struct whorl_dds_inconsistent_topic_status {
	uint32_t total_count;
	int32_t total_count_change;
};
struct whorl_dds_deadline_missed_status { /* offered, requested */
	uint32_t total_count;
	int32_t total_count_change;
	whorl_dds_instance_handle last_instance_handle;
};
struct whorl_dds_incompatible_qos_status { /* offered, requested */
	uint32_t total_count;
	int32_t total_count_change;
	enum whorl_dds_policy_id last_policy_id;
};
struct whorl_dds_sample_lost_status {
	uint32_t total_count;
	int32_t total_count_change;
};
struct whorl_dds_sample_rejected_status {
	uint32_t total_count;
	int32_t total_count_change;
	enum whorl_dds_rejected_kind last_reason;
	whorl_dds_instance_handle last_instance_handle;
};
struct whorl_dds_liveliness_lost_status {
	uint32_t total_count;
	int32_t total_count_change;
};
struct whorl_dds_liveliness_changed_status {
	uint32_t alive_count, not_alive_count;
	int32_t alive_count_change, not_alive_count_change;
	whorl_dds_instance_handle last_publication_handle;
};
struct whorl_dds_matched_status { /* publication: last_handle is a reader's; subscription: a writer's */
	uint32_t total_count, current_count;
	int32_t total_count_change, current_count_change;
	whorl_dds_instance_handle last_handle;
};

#endif
