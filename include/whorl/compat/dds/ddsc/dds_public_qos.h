/* ddsc/dds_public_qos.h - objects of policies. */
#ifndef WHORL_COMPAT_DDSC_DDS_PUBLIC_QOS_H
#define WHORL_COMPAT_DDSC_DDS_PUBLIC_QOS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <dds/ddsc/dds_public_qosdefs.h>
#include <dds/ddsrt/retcode.h>
#include <dds/ddsrt/time.h>

#define DDS_HAS_PROPERTY_LIST_QOS 1

#ifdef __cplusplus
extern "C" {
#endif

DDS_EXPORT dds_qos_t *dds_create_qos(void); /* nothing is set. NULL when memory is out */
DDS_EXPORT void dds_delete_qos(dds_qos_t *qos);
DDS_EXPORT void dds_reset_qos(dds_qos_t *qos);
DDS_EXPORT dds_return_t dds_copy_qos(dds_qos_t *to, const dds_qos_t *from);
DDS_EXPORT void dds_merge_qos(dds_qos_t *to, const dds_qos_t *from); /* adds what only `from` has set */
DDS_EXPORT bool dds_qos_equal(const dds_qos_t *one, const dds_qos_t *other);

/* Each sets one policy; a value that is out of its range sets nothing. */
DDS_EXPORT void dds_qset_userdata(dds_qos_t *qos, const void *value, size_t bytes);
DDS_EXPORT void dds_qset_topicdata(dds_qos_t *qos, const void *value, size_t bytes);
DDS_EXPORT void dds_qset_groupdata(dds_qos_t *qos, const void *value, size_t bytes);
DDS_EXPORT void dds_qset_durability(dds_qos_t *qos, dds_durability_kind_t kind);
DDS_EXPORT void dds_qset_history(dds_qos_t *qos, dds_history_kind_t kind, int32_t depth);
DDS_EXPORT void dds_qset_resource_limits(dds_qos_t *qos, int32_t max_samples, int32_t max_instances,
					 int32_t max_samples_per_instance);
DDS_EXPORT void dds_qset_presentation(dds_qos_t *qos, dds_presentation_access_scope_kind_t scope, bool coherent,
				      bool ordered);
DDS_EXPORT void dds_qset_lifespan(dds_qos_t *qos, dds_duration_t lifespan);
DDS_EXPORT void dds_qset_deadline(dds_qos_t *qos, dds_duration_t period);
DDS_EXPORT void dds_qset_latency_budget(dds_qos_t *qos, dds_duration_t duration);
DDS_EXPORT void dds_qset_ownership(dds_qos_t *qos, dds_ownership_kind_t kind);
DDS_EXPORT void dds_qset_ownership_strength(dds_qos_t *qos, int32_t value);
DDS_EXPORT void dds_qset_liveliness(dds_qos_t *qos, dds_liveliness_kind_t kind, dds_duration_t lease);
DDS_EXPORT void dds_qset_time_based_filter(dds_qos_t *qos, dds_duration_t separation);
DDS_EXPORT void dds_qset_reliability(dds_qos_t *qos, dds_reliability_kind_t kind, dds_duration_t max_blocking_time);
DDS_EXPORT void dds_qset_transport_priority(dds_qos_t *qos, int32_t value);
DDS_EXPORT void dds_qset_destination_order(dds_qos_t *qos, dds_destination_order_kind_t kind);
DDS_EXPORT void dds_qset_writer_data_lifecycle(dds_qos_t *qos, bool autodispose);
DDS_EXPORT void dds_qset_reader_data_lifecycle(dds_qos_t *qos, dds_duration_t no_writers, dds_duration_t disposed);
DDS_EXPORT void dds_qset_durability_service(dds_qos_t *qos, dds_duration_t cleanup, dds_history_kind_t kind,
					    int32_t depth, int32_t max_samples, int32_t max_instances,
					    int32_t max_samples_per_instance);
DDS_EXPORT void dds_qset_ignorelocal(dds_qos_t *qos, dds_ignorelocal_kind_t kind);
DDS_EXPORT void dds_qset_type_consistency(dds_qos_t *qos, dds_type_consistency_kind_t kind, bool ignore_sequence_bounds,
					  bool ignore_string_bounds, bool ignore_member_names,
					  bool prevent_type_widening, bool force_type_validation);
DDS_EXPORT void dds_qset_partition(dds_qos_t *qos, uint32_t count, const char **names);
DDS_EXPORT void dds_qset_partition1(dds_qos_t *qos, const char *name); /* NULL: none */
DDS_EXPORT void dds_qset_entity_name(dds_qos_t *qos, const char *name);
DDS_EXPORT void dds_qset_data_representation(dds_qos_t *qos, uint32_t count,
					     const dds_data_representation_id_t *values);
DDS_EXPORT void dds_qset_prop(dds_qos_t *qos, const char *name, const char *value);
DDS_EXPORT void dds_qunset_prop(dds_qos_t *qos, const char *name);
DDS_EXPORT void dds_qset_bprop(dds_qos_t *qos, const char *name, const void *value, const size_t bytes);
DDS_EXPORT void dds_qunset_bprop(dds_qos_t *qos, const char *name);

/* Each says whether the policy is set, and then gives its value; what is not wanted may be NULL. Texts, bytes and lists that these give are the
 * program's, to be freed by dds_free, each name of a list, too. */
DDS_EXPORT bool dds_qget_userdata(const dds_qos_t *qos, void **value, size_t *bytes);
DDS_EXPORT bool dds_qget_topicdata(const dds_qos_t *qos, void **value, size_t *bytes);
DDS_EXPORT bool dds_qget_groupdata(const dds_qos_t *qos, void **value, size_t *bytes);
DDS_EXPORT bool dds_qget_durability(const dds_qos_t *qos, dds_durability_kind_t *kind);
DDS_EXPORT bool dds_qget_history(const dds_qos_t *qos, dds_history_kind_t *kind, int32_t *depth);
DDS_EXPORT bool dds_qget_resource_limits(const dds_qos_t *qos, int32_t *max_samples, int32_t *max_instances,
					 int32_t *max_samples_per_instance);
DDS_EXPORT bool dds_qget_presentation(const dds_qos_t *qos, dds_presentation_access_scope_kind_t *scope, bool *coherent,
				      bool *ordered);
DDS_EXPORT bool dds_qget_lifespan(const dds_qos_t *qos, dds_duration_t *lifespan);
DDS_EXPORT bool dds_qget_deadline(const dds_qos_t *qos, dds_duration_t *period);
DDS_EXPORT bool dds_qget_latency_budget(const dds_qos_t *qos, dds_duration_t *duration);
DDS_EXPORT bool dds_qget_ownership(const dds_qos_t *qos, dds_ownership_kind_t *kind);
DDS_EXPORT bool dds_qget_ownership_strength(const dds_qos_t *qos, int32_t *value);
DDS_EXPORT bool dds_qget_liveliness(const dds_qos_t *qos, dds_liveliness_kind_t *kind, dds_duration_t *lease);
DDS_EXPORT bool dds_qget_time_based_filter(const dds_qos_t *qos, dds_duration_t *separation);
DDS_EXPORT bool dds_qget_reliability(const dds_qos_t *qos, dds_reliability_kind_t *kind,
				     dds_duration_t *max_blocking_time);
DDS_EXPORT bool dds_qget_transport_priority(const dds_qos_t *qos, int32_t *value);
DDS_EXPORT bool dds_qget_destination_order(const dds_qos_t *qos, dds_destination_order_kind_t *kind);
DDS_EXPORT bool dds_qget_writer_data_lifecycle(const dds_qos_t *qos, bool *autodispose);
DDS_EXPORT bool dds_qget_reader_data_lifecycle(const dds_qos_t *qos, dds_duration_t *no_writers,
					       dds_duration_t *disposed);
DDS_EXPORT bool dds_qget_durability_service(const dds_qos_t *qos, dds_duration_t *cleanup, dds_history_kind_t *kind,
					    int32_t *depth, int32_t *max_samples, int32_t *max_instances,
					    int32_t *max_samples_per_instance);
DDS_EXPORT bool dds_qget_ignorelocal(const dds_qos_t *qos, dds_ignorelocal_kind_t *kind);
DDS_EXPORT bool dds_qget_type_consistency(const dds_qos_t *qos, dds_type_consistency_kind_t *kind,
					  bool *ignore_sequence_bounds, bool *ignore_string_bounds,
					  bool *ignore_member_names, bool *prevent_type_widening,
					  bool *force_type_validation);
DDS_EXPORT bool dds_qget_partition(const dds_qos_t *qos, uint32_t *count, char ***names);
DDS_EXPORT bool dds_qget_entity_name(const dds_qos_t *qos, char **name);
DDS_EXPORT bool dds_qget_data_representation(const dds_qos_t *qos, uint32_t *count,
					     dds_data_representation_id_t **values);
DDS_EXPORT bool dds_qget_propnames(const dds_qos_t *qos, uint32_t *count, char ***names);
DDS_EXPORT bool dds_qget_prop(const dds_qos_t *qos, const char *name, char **value);
DDS_EXPORT bool dds_qget_bpropnames(const dds_qos_t *qos, uint32_t *count, char ***names);
DDS_EXPORT bool dds_qget_bprop(const dds_qos_t *qos, const char *name, void **value, size_t *bytes);

/* Older names. */
DDS_DEPRECATED_EXPORT dds_qos_t *dds_qos_create(void);
DDS_DEPRECATED_EXPORT void dds_qos_delete(dds_qos_t *qos);
DDS_DEPRECATED_EXPORT void dds_qos_reset(dds_qos_t *qos);
DDS_DEPRECATED_EXPORT dds_return_t dds_qos_copy(dds_qos_t *to, const dds_qos_t *from);
DDS_DEPRECATED_EXPORT void dds_qos_merge(dds_qos_t *to, const dds_qos_t *from);

#ifdef __cplusplus
}
#endif

#endif
