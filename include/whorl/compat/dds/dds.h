/* dds.h - Cyclone DDS's C API, as whorl has it: docs/cyclone.md. */
#ifndef WHORL_COMPAT_DDS_H
#define WHORL_COMPAT_DDS_H

#include <dds/ddsc/dds_basic_types.h>
#include <dds/ddsc/dds_public_alloc.h>
#include <dds/ddsc/dds_public_error.h>
#include <dds/ddsc/dds_public_impl.h>
#include <dds/ddsc/dds_public_listener.h>
#include <dds/ddsc/dds_public_qos.h>
#include <dds/ddsc/dds_public_status.h>
#include <dds/ddsrt/log.h>
#include <dds/ddsrt/retcode.h>
#include <dds/ddsrt/time.h>
#include <dds/export.h>
#include <dds/features.h>

#ifdef __cplusplus
extern "C" {
#endif

/* In place of a topic of the program's. */
#define DDS_BUILTIN_TOPIC_DCPSPARTICIPANT ((dds_entity_t)(DDS_MIN_PSEUDO_HANDLE + 1))
#define DDS_BUILTIN_TOPIC_DCPSTOPIC ((dds_entity_t)(DDS_MIN_PSEUDO_HANDLE + 2))
#define DDS_BUILTIN_TOPIC_DCPSPUBLICATION ((dds_entity_t)(DDS_MIN_PSEUDO_HANDLE + 3))
#define DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION ((dds_entity_t)(DDS_MIN_PSEUDO_HANDLE + 4))
#define DDS_DATA_ALLOCATOR_ALLOC_ON_HEAP ((dds_entity_t)(DDS_MIN_PSEUDO_HANDLE + 257))

typedef enum dds_status_id {
	DDS_INCONSISTENT_TOPIC_STATUS_ID,
	DDS_OFFERED_DEADLINE_MISSED_STATUS_ID,
	DDS_REQUESTED_DEADLINE_MISSED_STATUS_ID,
	DDS_OFFERED_INCOMPATIBLE_QOS_STATUS_ID,
	DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS_ID,
	DDS_SAMPLE_LOST_STATUS_ID,
	DDS_SAMPLE_REJECTED_STATUS_ID,
	DDS_DATA_ON_READERS_STATUS_ID,
	DDS_DATA_AVAILABLE_STATUS_ID,
	DDS_LIVELINESS_LOST_STATUS_ID,
	DDS_LIVELINESS_CHANGED_STATUS_ID,
	DDS_PUBLICATION_MATCHED_STATUS_ID,
	DDS_SUBSCRIPTION_MATCHED_STATUS_ID,
} dds_status_id_t;
#define DDS_STATUS_ID_MAX (DDS_SUBSCRIPTION_MATCHED_STATUS_ID)

#define DDS_INCONSISTENT_TOPIC_STATUS (1u << DDS_INCONSISTENT_TOPIC_STATUS_ID)
#define DDS_OFFERED_DEADLINE_MISSED_STATUS (1u << DDS_OFFERED_DEADLINE_MISSED_STATUS_ID)
#define DDS_REQUESTED_DEADLINE_MISSED_STATUS (1u << DDS_REQUESTED_DEADLINE_MISSED_STATUS_ID)
#define DDS_OFFERED_INCOMPATIBLE_QOS_STATUS (1u << DDS_OFFERED_INCOMPATIBLE_QOS_STATUS_ID)
#define DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS (1u << DDS_REQUESTED_INCOMPATIBLE_QOS_STATUS_ID)
#define DDS_SAMPLE_LOST_STATUS (1u << DDS_SAMPLE_LOST_STATUS_ID)
#define DDS_SAMPLE_REJECTED_STATUS (1u << DDS_SAMPLE_REJECTED_STATUS_ID)
#define DDS_DATA_ON_READERS_STATUS (1u << DDS_DATA_ON_READERS_STATUS_ID)
#define DDS_DATA_AVAILABLE_STATUS (1u << DDS_DATA_AVAILABLE_STATUS_ID)
#define DDS_LIVELINESS_LOST_STATUS (1u << DDS_LIVELINESS_LOST_STATUS_ID)
#define DDS_LIVELINESS_CHANGED_STATUS (1u << DDS_LIVELINESS_CHANGED_STATUS_ID)
#define DDS_PUBLICATION_MATCHED_STATUS (1u << DDS_PUBLICATION_MATCHED_STATUS_ID)
#define DDS_SUBSCRIPTION_MATCHED_STATUS (1u << DDS_SUBSCRIPTION_MATCHED_STATUS_ID)

typedef enum dds_sample_state {
	DDS_SST_READ = DDS_READ_SAMPLE_STATE,
	DDS_SST_NOT_READ = DDS_NOT_READ_SAMPLE_STATE,
} dds_sample_state_t;

typedef enum dds_view_state { DDS_VST_NEW = DDS_NEW_VIEW_STATE, DDS_VST_OLD = DDS_NOT_NEW_VIEW_STATE } dds_view_state_t;

typedef enum dds_instance_state {
	DDS_IST_ALIVE = DDS_ALIVE_INSTANCE_STATE,
	DDS_IST_NOT_ALIVE_DISPOSED = DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE,
	DDS_IST_NOT_ALIVE_NO_WRITERS = DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE,
} dds_instance_state_t;

typedef struct dds_sample_info {
	dds_sample_state_t sample_state;
	dds_view_state_t view_state;
	dds_instance_state_t instance_state;
	bool valid_data; /* false: only the key of the sample means something */
	dds_time_t source_timestamp;
	dds_instance_handle_t instance_handle;
	dds_instance_handle_t publication_handle;
	uint32_t disposed_generation_count;
	uint32_t no_writers_generation_count;
	uint32_t sample_rank;
	uint32_t generation_rank;
	uint32_t absolute_generation_rank;
} dds_sample_info_t;

/* ---- samples of the built-in topics ---- */

typedef struct dds_builtintopic_guid {
	uint8_t v[16];
} dds_builtintopic_guid_t;
typedef struct dds_builtintopic_guid dds_guid_t;

typedef struct dds_builtintopic_participant {
	dds_guid_t key;
	dds_qos_t *qos;
} dds_builtintopic_participant_t;

typedef struct dds_builtintopic_topic_key {
	unsigned char d[16];
} dds_builtintopic_topic_key_t;

typedef struct dds_builtintopic_topic {
	dds_builtintopic_topic_key_t key;
	char *topic_name;
	char *type_name;
	dds_qos_t *qos;
} dds_builtintopic_topic_t;

typedef struct dds_builtintopic_endpoint {
	dds_guid_t key;
	dds_guid_t participant_key;
	dds_instance_handle_t participant_instance_handle;
	char *topic_name;
	char *type_name;
	dds_qos_t *qos;
} dds_builtintopic_endpoint_t;

/* ---- entities ---- */

/* DDS_DOMAIN_DEFAULT is what WHORL_DDS_DOMAIN of the environment says, and else 0. */
DDS_EXPORT dds_entity_t dds_create_participant(const dds_domainid_t domain, const dds_qos_t *qos,
					       const dds_listener_t *listener);
DDS_EXPORT dds_entity_t dds_create_topic(dds_entity_t participant, const dds_topic_descriptor_t *descriptor,
					 const char *name, const dds_qos_t *qos, const dds_listener_t *listener);
DDS_EXPORT dds_entity_t dds_create_publisher(dds_entity_t participant, const dds_qos_t *qos,
					     const dds_listener_t *listener);
DDS_EXPORT dds_entity_t dds_create_subscriber(dds_entity_t participant, const dds_qos_t *qos,
					      const dds_listener_t *listener);
DDS_EXPORT dds_entity_t dds_create_writer(dds_entity_t participant_or_publisher, dds_entity_t topic,
					  const dds_qos_t *qos, const dds_listener_t *listener);
DDS_EXPORT dds_entity_t dds_create_reader(dds_entity_t participant_or_subscriber, dds_entity_t topic,
					  const dds_qos_t *qos, const dds_listener_t *listener);
DDS_EXPORT dds_return_t dds_enable(dds_entity_t entity);
DDS_EXPORT dds_return_t dds_delete(dds_entity_t entity);

DDS_EXPORT dds_entity_t dds_get_parent(dds_entity_t entity);
DDS_EXPORT dds_entity_t dds_get_participant(dds_entity_t entity);
DDS_EXPORT dds_entity_t dds_get_publisher(dds_entity_t writer);
DDS_EXPORT dds_entity_t dds_get_subscriber(dds_entity_t reader_or_condition);
DDS_EXPORT dds_entity_t dds_get_datareader(dds_entity_t condition);
DDS_EXPORT dds_entity_t dds_get_topic(dds_entity_t entity);
DDS_EXPORT dds_return_t dds_get_children(dds_entity_t entity, dds_entity_t *children, size_t count);
DDS_EXPORT dds_return_t dds_lookup_participant(dds_domainid_t domain, dds_entity_t *participants, size_t count);
DDS_EXPORT dds_return_t dds_get_domainid(dds_entity_t entity, dds_domainid_t *domain);
DDS_EXPORT dds_return_t dds_get_name(dds_entity_t topic, char *name, size_t bytes);
DDS_EXPORT dds_return_t dds_get_type_name(dds_entity_t topic, char *name, size_t bytes);
DDS_EXPORT dds_return_t dds_get_instance_handle(dds_entity_t entity, dds_instance_handle_t *handle);
DDS_EXPORT dds_return_t dds_get_guid(dds_entity_t entity, dds_guid_t *guid);

DDS_EXPORT dds_return_t dds_get_qos(dds_entity_t entity, dds_qos_t *qos);
DDS_EXPORT dds_return_t dds_set_qos(dds_entity_t entity, const dds_qos_t *qos);
DDS_EXPORT dds_return_t dds_get_listener(dds_entity_t entity, dds_listener_t *listener);
DDS_EXPORT dds_return_t dds_set_listener(dds_entity_t entity, const dds_listener_t *listener);

DDS_EXPORT dds_return_t dds_read_status(dds_entity_t entity, uint32_t *status, uint32_t mask);
DDS_EXPORT dds_return_t dds_take_status(dds_entity_t entity, uint32_t *status, uint32_t mask);
DDS_EXPORT dds_return_t dds_get_status_changes(dds_entity_t entity, uint32_t *status);
DDS_EXPORT dds_return_t dds_get_status_mask(dds_entity_t entity, uint32_t *mask);
DDS_EXPORT dds_return_t dds_set_status_mask(dds_entity_t entity, uint32_t mask);
DDS_DEPRECATED_EXPORT dds_return_t dds_get_enabled_status(dds_entity_t entity, uint32_t *mask);
DDS_DEPRECATED_EXPORT dds_return_t dds_set_enabled_status(dds_entity_t entity, uint32_t mask);

/* A topic that others have registered; its type must be one that this process has created a topic of, or one without pointers. The type's information
 * is not looked at. */
typedef struct ddsi_typeinfo dds_typeinfo_t;
DDS_EXPORT dds_entity_t dds_find_topic(dds_find_scope_t scope, dds_entity_t participant, const char *name,
				       const dds_typeinfo_t *information, dds_duration_t timeout);
DDS_DEPRECATED_EXPORT dds_entity_t dds_find_topic_scoped(dds_find_scope_t scope, dds_entity_t participant,
							 const char *name, dds_duration_t timeout);

/* ---- filters: of readers that are created with the topic from then on ---- */

typedef bool (*dds_topic_filter_sample_fn)(const void *sample);
typedef bool (*dds_topic_filter_sample_arg_fn)(const void *sample, void *arg);
typedef bool (*dds_topic_filter_sampleinfo_arg_fn)(const dds_sample_info_t *info, void *arg);
typedef bool (*dds_topic_filter_sample_sampleinfo_arg_fn)(const void *sample, const dds_sample_info_t *info, void *arg);
typedef dds_topic_filter_sample_fn dds_topic_filter_fn;
typedef dds_topic_filter_sample_arg_fn dds_topic_filter_arg_fn;

enum dds_topic_filter_mode {
	DDS_TOPIC_FILTER_NONE,
	DDS_TOPIC_FILTER_SAMPLE,
	DDS_TOPIC_FILTER_SAMPLE_ARG,
	DDS_TOPIC_FILTER_SAMPLEINFO_ARG,        /* UNSUPPORTED */
	DDS_TOPIC_FILTER_SAMPLE_SAMPLEINFO_ARG, /* UNSUPPORTED */
};

union dds_topic_filter_function_union {
	dds_topic_filter_sample_fn sample;
	dds_topic_filter_sample_arg_fn sample_arg;
	dds_topic_filter_sampleinfo_arg_fn sampleinfo_arg;
	dds_topic_filter_sample_sampleinfo_arg_fn sample_sampleinfo_arg;
};

struct dds_topic_filter {
	enum dds_topic_filter_mode mode;
	union dds_topic_filter_function_union f;
	void *arg;
};

DDS_EXPORT dds_return_t dds_set_topic_filter_and_arg(dds_entity_t topic, dds_topic_filter_arg_fn filter, void *arg);
DDS_EXPORT dds_return_t dds_set_topic_filter_extended(dds_entity_t topic, const struct dds_topic_filter *filter);
DDS_EXPORT dds_return_t dds_get_topic_filter_and_arg(dds_entity_t topic, dds_topic_filter_arg_fn *filter, void **arg);
DDS_EXPORT dds_return_t dds_get_topic_filter_extended(dds_entity_t topic, struct dds_topic_filter *filter);
DDS_DEPRECATED_EXPORT void dds_set_topic_filter(dds_entity_t topic, dds_topic_filter_fn filter);
DDS_DEPRECATED_EXPORT void dds_topic_set_filter(dds_entity_t topic, dds_topic_filter_fn filter);
DDS_DEPRECATED_EXPORT dds_topic_filter_fn dds_get_topic_filter(dds_entity_t topic);
DDS_DEPRECATED_EXPORT dds_topic_filter_fn dds_topic_get_filter(dds_entity_t topic);

/* ---- writing ---- */

DDS_EXPORT dds_return_t dds_write(dds_entity_t writer, const void *data);
DDS_EXPORT dds_return_t dds_write_ts(dds_entity_t writer, const void *data, dds_time_t timestamp);
DDS_EXPORT void dds_write_flush(dds_entity_t writer); /* nothing is held back */
DDS_EXPORT dds_return_t dds_writedispose(dds_entity_t writer, const void *data);
DDS_EXPORT dds_return_t dds_writedispose_ts(dds_entity_t writer, const void *data, dds_time_t timestamp);
DDS_EXPORT dds_return_t dds_dispose(dds_entity_t writer, const void *data);
DDS_EXPORT dds_return_t dds_dispose_ts(dds_entity_t writer, const void *data, dds_time_t timestamp);
DDS_EXPORT dds_return_t dds_dispose_ih(dds_entity_t writer, dds_instance_handle_t handle);
DDS_EXPORT dds_return_t dds_dispose_ih_ts(dds_entity_t writer, dds_instance_handle_t handle, dds_time_t timestamp);
DDS_EXPORT dds_return_t dds_register_instance(dds_entity_t writer, dds_instance_handle_t *handle, const void *data);
DDS_EXPORT dds_return_t dds_unregister_instance(dds_entity_t writer, const void *data);
DDS_EXPORT dds_return_t dds_unregister_instance_ts(dds_entity_t writer, const void *data, dds_time_t timestamp);
DDS_EXPORT dds_return_t dds_unregister_instance_ih(dds_entity_t writer, dds_instance_handle_t handle);
DDS_EXPORT dds_return_t dds_unregister_instance_ih_ts(dds_entity_t writer, dds_instance_handle_t handle,
						      dds_time_t timestamp);
DDS_EXPORT dds_instance_handle_t dds_lookup_instance(dds_entity_t entity, const void *data);
DDS_DEPRECATED_EXPORT dds_instance_handle_t dds_instance_lookup(dds_entity_t entity, const void *data);
DDS_EXPORT dds_return_t dds_instance_get_key(dds_entity_t entity, dds_instance_handle_t instance, void *data);
DDS_EXPORT dds_return_t dds_wait_for_acks(dds_entity_t publisher_or_writer, dds_duration_t timeout);
DDS_EXPORT dds_return_t dds_suspend(dds_entity_t publisher);
DDS_EXPORT dds_return_t dds_resume(dds_entity_t publisher);
DDS_EXPORT dds_return_t dds_begin_coherent(dds_entity_t entity);
DDS_EXPORT dds_return_t dds_end_coherent(dds_entity_t entity);
DDS_EXPORT dds_return_t dds_assert_liveliness(dds_entity_t entity);

/* ---- reading: `buffers[0]` is NULL: samples are lent, until dds_return_loan ---- */

DDS_EXPORT dds_return_t dds_read(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
				 size_t count, uint32_t max_samples);
DDS_EXPORT dds_return_t dds_read_wl(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
				    uint32_t max_samples);
DDS_EXPORT dds_return_t dds_read_mask(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
				      size_t count, uint32_t max_samples, uint32_t mask);
DDS_EXPORT dds_return_t dds_read_mask_wl(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
					 uint32_t max_samples, uint32_t mask);
DDS_EXPORT dds_return_t dds_read_instance(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
					  size_t count, uint32_t max_samples, dds_instance_handle_t instance);
DDS_EXPORT dds_return_t dds_read_instance_wl(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
					     uint32_t max_samples, dds_instance_handle_t instance);
DDS_EXPORT dds_return_t dds_read_instance_mask(dds_entity_t reader_or_condition, void **buffers,
					       dds_sample_info_t *infos, size_t count, uint32_t max_samples,
					       dds_instance_handle_t instance, uint32_t mask);
DDS_EXPORT dds_return_t dds_read_instance_mask_wl(dds_entity_t reader_or_condition, void **buffers,
						  dds_sample_info_t *infos, uint32_t max_samples,
						  dds_instance_handle_t instance, uint32_t mask);
DDS_EXPORT dds_return_t dds_read_next(dds_entity_t reader, void **buffer, dds_sample_info_t *info);
DDS_EXPORT dds_return_t dds_read_next_wl(dds_entity_t reader, void **buffer, dds_sample_info_t *info);
DDS_EXPORT dds_return_t dds_take(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
				 size_t count, uint32_t max_samples);
DDS_EXPORT dds_return_t dds_take_wl(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
				    uint32_t max_samples);
DDS_EXPORT dds_return_t dds_take_mask(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
				      size_t count, uint32_t max_samples, uint32_t mask);
DDS_EXPORT dds_return_t dds_take_mask_wl(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
					 uint32_t max_samples, uint32_t mask);
DDS_EXPORT dds_return_t dds_take_instance(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
					  size_t count, uint32_t max_samples, dds_instance_handle_t instance);
DDS_EXPORT dds_return_t dds_take_instance_wl(dds_entity_t reader_or_condition, void **buffers, dds_sample_info_t *infos,
					     uint32_t max_samples, dds_instance_handle_t instance);
DDS_EXPORT dds_return_t dds_take_instance_mask(dds_entity_t reader_or_condition, void **buffers,
					       dds_sample_info_t *infos, size_t count, uint32_t max_samples,
					       dds_instance_handle_t instance, uint32_t mask);
DDS_EXPORT dds_return_t dds_take_instance_mask_wl(dds_entity_t reader_or_condition, void **buffers,
						  dds_sample_info_t *infos, uint32_t max_samples,
						  dds_instance_handle_t instance, uint32_t mask);
DDS_EXPORT dds_return_t dds_take_next(dds_entity_t reader, void **buffer, dds_sample_info_t *info);
DDS_EXPORT dds_return_t dds_take_next_wl(dds_entity_t reader, void **buffer, dds_sample_info_t *info);
DDS_EXPORT dds_return_t dds_return_loan(dds_entity_t entity, void **buffers, int32_t count);
DDS_EXPORT dds_return_t dds_reader_wait_for_historical_data(dds_entity_t reader, dds_duration_t timeout);
DDS_EXPORT dds_return_t dds_notify_readers(dds_entity_t subscriber);

/* ---- conditions and waitsets ---- */

typedef bool (*dds_querycondition_filter_fn)(const void *sample);
DDS_EXPORT dds_entity_t dds_create_readcondition(dds_entity_t reader, uint32_t mask);
DDS_EXPORT dds_entity_t dds_create_querycondition(dds_entity_t reader, uint32_t mask,
						  dds_querycondition_filter_fn filter);
DDS_EXPORT dds_return_t dds_get_mask(dds_entity_t condition, uint32_t *mask);
DDS_EXPORT dds_entity_t dds_create_guardcondition(dds_entity_t parent);
DDS_EXPORT dds_return_t dds_set_guardcondition(dds_entity_t condition, bool triggered);
DDS_EXPORT dds_return_t dds_read_guardcondition(dds_entity_t condition, bool *triggered);
DDS_EXPORT dds_return_t dds_take_guardcondition(dds_entity_t condition, bool *triggered);
DDS_EXPORT dds_return_t dds_triggered(dds_entity_t entity);

typedef intptr_t dds_attach_t;
DDS_EXPORT dds_entity_t dds_create_waitset(dds_entity_t participant);
DDS_EXPORT dds_return_t dds_waitset_get_entities(dds_entity_t waitset, dds_entity_t *entities, size_t count);
DDS_EXPORT dds_return_t dds_waitset_attach(dds_entity_t waitset, dds_entity_t entity, dds_attach_t cookie);
DDS_EXPORT dds_return_t dds_waitset_detach(dds_entity_t waitset, dds_entity_t entity);
DDS_EXPORT dds_return_t dds_waitset_set_trigger(dds_entity_t waitset, bool triggered);
DDS_EXPORT dds_return_t dds_waitset_wait(dds_entity_t waitset, dds_attach_t *cookies, size_t count,
					 dds_duration_t timeout);
DDS_EXPORT dds_return_t dds_waitset_wait_until(dds_entity_t waitset, dds_attach_t *cookies, size_t count,
					       dds_time_t until);

/* ---- what there is in the domain ---- */

DDS_EXPORT dds_return_t dds_get_matched_subscriptions(dds_entity_t writer, dds_instance_handle_t *readers,
						      size_t count);
DDS_EXPORT dds_return_t dds_get_matched_publications(dds_entity_t reader, dds_instance_handle_t *writers, size_t count);
/* To be freed by dds_builtintopic_free_endpoint. NULL: it does not match. */
DDS_EXPORT dds_builtintopic_endpoint_t *dds_get_matched_subscription_data(dds_entity_t writer,
									  dds_instance_handle_t reader);
DDS_EXPORT dds_builtintopic_endpoint_t *dds_get_matched_publication_data(dds_entity_t reader,
									 dds_instance_handle_t writer);
DDS_EXPORT void dds_builtintopic_free_endpoint(dds_builtintopic_endpoint_t *endpoint);
DDS_EXPORT void dds_builtintopic_free_topic(dds_builtintopic_topic_t *topic);
DDS_EXPORT void dds_builtintopic_free_participant(dds_builtintopic_participant_t *participant);

/* UNSUPPORTED: a domain has no configuration of its own here (docs/cyclone.md). */
DDS_EXPORT dds_entity_t dds_create_domain(const dds_domainid_t domain, const char *configuration);

#ifdef __cplusplus
}
#endif

#endif
