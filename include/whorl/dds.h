/* whorl/dds.h - publish and subscribe: DDS topics on subgroups. */
#ifndef WHORL_DDS_H
#define WHORL_DDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <whorl/whorl.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ---- names, numbers and results --------------------------------------------------------------------------------------- */

typedef int32_t whorl_dds_entity;   /* > 0: a handle; < 0: why there is none, a result */
typedef int32_t whorl_dds_return;   /* 0, a count, or < 0: one of WHORL_DDS_RETCODES */
typedef int64_t whorl_dds_time;     /* nanoseconds since 1970 */
typedef int64_t whorl_dds_duration; /* nanoseconds */
typedef uint64_t whorl_dds_instance_handle;

#define WHORL_DDS_INFINITY INT64_MAX /* of a duration: for ever; of a time: never */
#define WHORL_DDS_UNLIMITED (-1)     /* of a resource limit */

/* The list: X(the constant without WHORL_DDS_RETCODE_, its value, its text). The numbers are OMG's. */
#define WHORL_DDS_RETCODES(X)                                                                                          \
	X(OK, 0, "done")                                                                                               \
	X(ERROR, -1, "the operating system or the group refused")                                                      \
	X(UNSUPPORTED, -2, "this is not implemented")                                                                  \
	X(BAD_PARAMETER, -3, "an argument is out of its range, or no entity of the kind")                              \
	X(PRECONDITION_NOT_MET, -4, "not in this state")                                                               \
	X(OUT_OF_RESOURCES, -5, "memory or a limit is out")                                                            \
	X(NOT_ENABLED, -6, "the entity is not enabled")                                                                \
	X(IMMUTABLE_POLICY, -7, "this policy cannot be changed any more")                                              \
	X(INCONSISTENT_POLICY, -8, "policies contradict each other")                                                   \
	X(ALREADY_DELETED, -9, "the entity has been deleted")                                                          \
	X(TIMEOUT, -10, "the time allowed ran out")                                                                    \
	X(NO_DATA, -11, "there is nothing")                                                                            \
	X(ILLEGAL_OPERATION, -12, "not with an entity of this kind, or not here")

enum {
#define WHORL_DDS_RETCODE(name, value, text) WHORL_DDS_RETCODE_##name = (value),
	WHORL_DDS_RETCODES(WHORL_DDS_RETCODE)
#undef WHORL_DDS_RETCODE
};

/* ---- policies ------------------------------------------------------------------------------------------------------------ */

/* The numbers are OMG's; CONSISTENCY is whorl's own. */
enum whorl_dds_policy_id {
	WHORL_DDS_POLICY_INVALID = 0,
	WHORL_DDS_POLICY_USER_DATA = 1,
	WHORL_DDS_POLICY_DURABILITY = 2,
	WHORL_DDS_POLICY_PRESENTATION = 3,
	WHORL_DDS_POLICY_DEADLINE = 4,
	WHORL_DDS_POLICY_LATENCY_BUDGET = 5,
	WHORL_DDS_POLICY_OWNERSHIP = 6,
	WHORL_DDS_POLICY_OWNERSHIP_STRENGTH = 7,
	WHORL_DDS_POLICY_LIVELINESS = 8,
	WHORL_DDS_POLICY_TIME_BASED_FILTER = 9,
	WHORL_DDS_POLICY_PARTITION = 10,
	WHORL_DDS_POLICY_RELIABILITY = 11,
	WHORL_DDS_POLICY_DESTINATION_ORDER = 12,
	WHORL_DDS_POLICY_HISTORY = 13,
	WHORL_DDS_POLICY_RESOURCE_LIMITS = 14,
	WHORL_DDS_POLICY_ENTITY_FACTORY = 15,
	WHORL_DDS_POLICY_WRITER_DATA_LIFECYCLE = 16,
	WHORL_DDS_POLICY_READER_DATA_LIFECYCLE = 17,
	WHORL_DDS_POLICY_TOPIC_DATA = 18,
	WHORL_DDS_POLICY_GROUP_DATA = 19,
	WHORL_DDS_POLICY_TRANSPORT_PRIORITY = 20,
	WHORL_DDS_POLICY_LIFESPAN = 21,
	WHORL_DDS_POLICY_DURABILITY_SERVICE = 22,
	WHORL_DDS_POLICY_CONSISTENCY = 32,
};

/* Where one offers and another requests, more is a larger number. */
enum whorl_dds_durability_kind {
	WHORL_DDS_DURABILITY_VOLATILE,
	WHORL_DDS_DURABILITY_TRANSIENT_LOCAL,
	WHORL_DDS_DURABILITY_TRANSIENT,
	WHORL_DDS_DURABILITY_PERSISTENT,
};
enum whorl_dds_history_kind { WHORL_DDS_HISTORY_KEEP_LAST, WHORL_DDS_HISTORY_KEEP_ALL };
enum whorl_dds_ownership_kind { WHORL_DDS_OWNERSHIP_SHARED, WHORL_DDS_OWNERSHIP_EXCLUSIVE };
enum whorl_dds_liveliness_kind {
	WHORL_DDS_LIVELINESS_AUTOMATIC,
	WHORL_DDS_LIVELINESS_MANUAL_BY_PARTICIPANT,
	WHORL_DDS_LIVELINESS_MANUAL_BY_TOPIC,
};
enum whorl_dds_reliability_kind { WHORL_DDS_RELIABILITY_BEST_EFFORT, WHORL_DDS_RELIABILITY_RELIABLE };
enum whorl_dds_destination_order_kind {
	WHORL_DDS_DESTINATION_ORDER_BY_RECEPTION_TIMESTAMP,
	WHORL_DDS_DESTINATION_ORDER_BY_SOURCE_TIMESTAMP,
};
enum whorl_dds_presentation_scope {
	WHORL_DDS_PRESENTATION_INSTANCE,
	WHORL_DDS_PRESENTATION_TOPIC,
	WHORL_DDS_PRESENTATION_GROUP,
};
enum whorl_dds_consistency_kind {
	WHORL_DDS_CONSISTENCY_UNORDERED,
	WHORL_DDS_CONSISTENCY_ATOMIC,
	WHORL_DDS_CONSISTENCY_STORED,
	WHORL_DDS_CONSISTENCY_LOGGED,
};

#ifdef __cplusplus
}
#endif

#endif
