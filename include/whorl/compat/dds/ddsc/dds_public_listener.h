/* ddsc/dds_public_listener.h - functions that are called when something happens. */
#ifndef WHORL_COMPAT_DDSC_DDS_PUBLIC_LISTENER_H
#define WHORL_COMPAT_DDSC_DDS_PUBLIC_LISTENER_H

#include <dds/ddsc/dds_public_impl.h>
#include <dds/ddsc/dds_public_status.h>
#include <dds/ddsrt/retcode.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef void (*dds_on_inconsistent_topic_fn)(dds_entity_t topic, const dds_inconsistent_topic_status_t status,
					     void *arg);
typedef void (*dds_on_liveliness_lost_fn)(dds_entity_t writer, const dds_liveliness_lost_status_t status, void *arg);
typedef void (*dds_on_offered_deadline_missed_fn)(dds_entity_t writer,
						  const dds_offered_deadline_missed_status_t status, void *arg);
typedef void (*dds_on_offered_incompatible_qos_fn)(dds_entity_t writer,
						   const dds_offered_incompatible_qos_status_t status, void *arg);
typedef void (*dds_on_publication_matched_fn)(dds_entity_t writer, const dds_publication_matched_status_t status,
					      void *arg);
typedef void (*dds_on_sample_lost_fn)(dds_entity_t reader, const dds_sample_lost_status_t status, void *arg);
typedef void (*dds_on_sample_rejected_fn)(dds_entity_t reader, const dds_sample_rejected_status_t status, void *arg);
typedef void (*dds_on_liveliness_changed_fn)(dds_entity_t reader, const dds_liveliness_changed_status_t status,
					     void *arg);
typedef void (*dds_on_requested_deadline_missed_fn)(dds_entity_t reader,
						    const dds_requested_deadline_missed_status_t status, void *arg);
typedef void (*dds_on_requested_incompatible_qos_fn)(dds_entity_t reader,
						     const dds_requested_incompatible_qos_status_t status, void *arg);
typedef void (*dds_on_subscription_matched_fn)(dds_entity_t reader, const dds_subscription_matched_status_t status,
					       void *arg);
typedef void (*dds_on_data_on_readers_fn)(dds_entity_t subscriber, void *arg);
typedef void (*dds_on_data_available_fn)(dds_entity_t reader, void *arg);

#define DDS_LUNSET 0 /* no function */

struct dds_listener;
typedef struct dds_listener dds_listener_t;

DDS_EXPORT dds_listener_t *dds_create_listener(void *arg);     /* without functions. NULL when memory is out */
DDS_EXPORT void dds_delete_listener(dds_listener_t *listener); /* entities that have it go on with a copy */
DDS_EXPORT void dds_reset_listener(dds_listener_t *listener);
DDS_EXPORT void dds_copy_listener(dds_listener_t *to, const dds_listener_t *from);
DDS_EXPORT void dds_merge_listener(dds_listener_t *to,
				   const dds_listener_t *from); /* adds functions that only `from` has */

/* Each gives the listener the function for one status; NULL takes it away. */
DDS_EXPORT void dds_lset_inconsistent_topic(dds_listener_t *listener, dds_on_inconsistent_topic_fn function);
DDS_EXPORT void dds_lset_liveliness_lost(dds_listener_t *listener, dds_on_liveliness_lost_fn function);
DDS_EXPORT void dds_lset_offered_deadline_missed(dds_listener_t *listener, dds_on_offered_deadline_missed_fn function);
DDS_EXPORT void dds_lset_offered_incompatible_qos(dds_listener_t *listener,
						  dds_on_offered_incompatible_qos_fn function);
DDS_EXPORT void dds_lset_publication_matched(dds_listener_t *listener, dds_on_publication_matched_fn function);
DDS_EXPORT void dds_lset_sample_lost(dds_listener_t *listener, dds_on_sample_lost_fn function);
DDS_EXPORT void dds_lset_sample_rejected(dds_listener_t *listener, dds_on_sample_rejected_fn function);
DDS_EXPORT void dds_lset_liveliness_changed(dds_listener_t *listener, dds_on_liveliness_changed_fn function);
DDS_EXPORT void dds_lset_requested_deadline_missed(dds_listener_t *listener,
						   dds_on_requested_deadline_missed_fn function);
DDS_EXPORT void dds_lset_requested_incompatible_qos(dds_listener_t *listener,
						    dds_on_requested_incompatible_qos_fn function);
DDS_EXPORT void dds_lset_subscription_matched(dds_listener_t *listener, dds_on_subscription_matched_fn function);
DDS_EXPORT void dds_lset_data_on_readers(dds_listener_t *listener, dds_on_data_on_readers_fn function);
DDS_EXPORT void dds_lset_data_available(dds_listener_t *listener, dds_on_data_available_fn function);

/* The same with an argument of its own. `reset`: whether the status counts as looked at when the function is called. Only true is here: false is
 * UNSUPPORTED. */
DDS_EXPORT dds_return_t dds_lset_inconsistent_topic_arg(dds_listener_t *listener, dds_on_inconsistent_topic_fn function,
							void *arg, bool reset);
DDS_EXPORT dds_return_t dds_lset_liveliness_lost_arg(dds_listener_t *listener, dds_on_liveliness_lost_fn function,
						     void *arg, bool reset);
DDS_EXPORT dds_return_t dds_lset_offered_deadline_missed_arg(dds_listener_t *listener,
							     dds_on_offered_deadline_missed_fn function, void *arg,
							     bool reset);
DDS_EXPORT dds_return_t dds_lset_offered_incompatible_qos_arg(dds_listener_t *listener,
							      dds_on_offered_incompatible_qos_fn function, void *arg,
							      bool reset);
DDS_EXPORT dds_return_t dds_lset_publication_matched_arg(dds_listener_t *listener,
							 dds_on_publication_matched_fn function, void *arg, bool reset);
DDS_EXPORT dds_return_t dds_lset_sample_lost_arg(dds_listener_t *listener, dds_on_sample_lost_fn function, void *arg,
						 bool reset);
DDS_EXPORT dds_return_t dds_lset_sample_rejected_arg(dds_listener_t *listener, dds_on_sample_rejected_fn function,
						     void *arg, bool reset);
DDS_EXPORT dds_return_t dds_lset_liveliness_changed_arg(dds_listener_t *listener, dds_on_liveliness_changed_fn function,
							void *arg, bool reset);
DDS_EXPORT dds_return_t dds_lset_requested_deadline_missed_arg(dds_listener_t *listener,
							       dds_on_requested_deadline_missed_fn function, void *arg,
							       bool reset);
DDS_EXPORT dds_return_t dds_lset_requested_incompatible_qos_arg(dds_listener_t *listener,
								dds_on_requested_incompatible_qos_fn function,
								void *arg, bool reset);
DDS_EXPORT dds_return_t dds_lset_subscription_matched_arg(dds_listener_t *listener,
							  dds_on_subscription_matched_fn function, void *arg,
							  bool reset);
DDS_EXPORT dds_return_t dds_lset_data_on_readers_arg(dds_listener_t *listener, dds_on_data_on_readers_fn function,
						     void *arg, bool reset);
DDS_EXPORT dds_return_t dds_lset_data_available_arg(dds_listener_t *listener, dds_on_data_available_fn function,
						    void *arg, bool reset);

DDS_EXPORT void dds_lget_inconsistent_topic(const dds_listener_t *listener, dds_on_inconsistent_topic_fn *function);
DDS_EXPORT void dds_lget_liveliness_lost(const dds_listener_t *listener, dds_on_liveliness_lost_fn *function);
DDS_EXPORT void dds_lget_offered_deadline_missed(const dds_listener_t *listener,
						 dds_on_offered_deadline_missed_fn *function);
DDS_EXPORT void dds_lget_offered_incompatible_qos(const dds_listener_t *listener,
						  dds_on_offered_incompatible_qos_fn *function);
DDS_EXPORT void dds_lget_publication_matched(const dds_listener_t *listener, dds_on_publication_matched_fn *function);
DDS_EXPORT void dds_lget_sample_lost(const dds_listener_t *listener, dds_on_sample_lost_fn *function);
DDS_EXPORT void dds_lget_sample_rejected(const dds_listener_t *listener, dds_on_sample_rejected_fn *function);
DDS_EXPORT void dds_lget_liveliness_changed(const dds_listener_t *listener, dds_on_liveliness_changed_fn *function);
DDS_EXPORT void dds_lget_requested_deadline_missed(const dds_listener_t *listener,
						   dds_on_requested_deadline_missed_fn *function);
DDS_EXPORT void dds_lget_requested_incompatible_qos(const dds_listener_t *listener,
						    dds_on_requested_incompatible_qos_fn *function);
DDS_EXPORT void dds_lget_subscription_matched(const dds_listener_t *listener, dds_on_subscription_matched_fn *function);
DDS_EXPORT void dds_lget_data_on_readers(const dds_listener_t *listener, dds_on_data_on_readers_fn *function);
DDS_EXPORT void dds_lget_data_available(const dds_listener_t *listener, dds_on_data_available_fn *function);

DDS_EXPORT dds_return_t dds_lget_inconsistent_topic_arg(const dds_listener_t *listener,
							dds_on_inconsistent_topic_fn *function, void **arg,
							bool *reset);
DDS_EXPORT dds_return_t dds_lget_liveliness_lost_arg(const dds_listener_t *listener,
						     dds_on_liveliness_lost_fn *function, void **arg, bool *reset);
DDS_EXPORT dds_return_t dds_lget_offered_deadline_missed_arg(const dds_listener_t *listener,
							     dds_on_offered_deadline_missed_fn *function, void **arg,
							     bool *reset);
DDS_EXPORT dds_return_t dds_lget_offered_incompatible_qos_arg(const dds_listener_t *listener,
							      dds_on_offered_incompatible_qos_fn *function, void **arg,
							      bool *reset);
DDS_EXPORT dds_return_t dds_lget_publication_matched_arg(const dds_listener_t *listener,
							 dds_on_publication_matched_fn *function, void **arg,
							 bool *reset);
DDS_EXPORT dds_return_t dds_lget_sample_lost_arg(const dds_listener_t *listener, dds_on_sample_lost_fn *function,
						 void **arg, bool *reset);
DDS_EXPORT dds_return_t dds_lget_sample_rejected_arg(const dds_listener_t *listener,
						     dds_on_sample_rejected_fn *function, void **arg, bool *reset);
DDS_EXPORT dds_return_t dds_lget_liveliness_changed_arg(const dds_listener_t *listener,
							dds_on_liveliness_changed_fn *function, void **arg,
							bool *reset);
DDS_EXPORT dds_return_t dds_lget_requested_deadline_missed_arg(const dds_listener_t *listener,
							       dds_on_requested_deadline_missed_fn *function,
							       void **arg, bool *reset);
DDS_EXPORT dds_return_t dds_lget_requested_incompatible_qos_arg(const dds_listener_t *listener,
								dds_on_requested_incompatible_qos_fn *function,
								void **arg, bool *reset);
DDS_EXPORT dds_return_t dds_lget_subscription_matched_arg(const dds_listener_t *listener,
							  dds_on_subscription_matched_fn *function, void **arg,
							  bool *reset);
DDS_EXPORT dds_return_t dds_lget_data_on_readers_arg(const dds_listener_t *listener,
						     dds_on_data_on_readers_fn *function, void **arg, bool *reset);
DDS_EXPORT dds_return_t dds_lget_data_available_arg(const dds_listener_t *listener, dds_on_data_available_fn *function,
						    void **arg, bool *reset);

/* Older names. */
DDS_DEPRECATED_EXPORT dds_listener_t *dds_listener_create(void *arg);
DDS_DEPRECATED_EXPORT void dds_listener_delete(dds_listener_t *listener);
DDS_DEPRECATED_EXPORT void dds_listener_reset(dds_listener_t *listener);
DDS_DEPRECATED_EXPORT void dds_listener_copy(dds_listener_t *to, const dds_listener_t *from);
DDS_DEPRECATED_EXPORT void dds_listener_merge(dds_listener_t *to, const dds_listener_t *from);

#ifdef __cplusplus
}
#endif

#endif
