/* policies.c - the policies that whorl has: one function of its for each, with the same numbers. */
#include <stdlib.h>
#include <string.h>

#include "ddsc/own.h"

/* A value that was refused is remembered, as there is no answer here to say it in. */
#define SET(name, ...)                                                                                                 \
	do {                                                                                                           \
		if (qos != NULL && whorl_dds_qset_##name(qos->whorl, __VA_ARGS__) != WHORL_DDS_RETCODE_OK)             \
			qos->is_wrong = true;                                                                          \
	} while (0)

void dds_qset_durability(dds_qos_t *qos, dds_durability_kind_t kind)
{
	SET(durability, (enum whorl_dds_durability_kind)kind);
}

void dds_qset_history(dds_qos_t *qos, dds_history_kind_t kind, int32_t depth)
{
	SET(history, (enum whorl_dds_history_kind)kind, depth);
}

void dds_qset_resource_limits(dds_qos_t *qos, int32_t max_samples, int32_t max_instances,
			      int32_t max_samples_per_instance)
{
	SET(resource_limits, max_samples, max_instances, max_samples_per_instance);
}

void dds_qset_presentation(dds_qos_t *qos, dds_presentation_access_scope_kind_t scope, bool coherent, bool ordered)
{
	SET(presentation, (enum whorl_dds_presentation_scope)scope, coherent, ordered);
}

void dds_qset_lifespan(dds_qos_t *qos, dds_duration_t lifespan)
{
	SET(lifespan, lifespan);
}

void dds_qset_deadline(dds_qos_t *qos, dds_duration_t period)
{
	SET(deadline, period);
}

void dds_qset_latency_budget(dds_qos_t *qos, dds_duration_t duration)
{
	SET(latency_budget, duration);
}

void dds_qset_ownership(dds_qos_t *qos, dds_ownership_kind_t kind)
{
	SET(ownership, (enum whorl_dds_ownership_kind)kind);
}

void dds_qset_ownership_strength(dds_qos_t *qos, int32_t value)
{
	SET(ownership_strength, value);
}

void dds_qset_liveliness(dds_qos_t *qos, dds_liveliness_kind_t kind, dds_duration_t lease)
{
	SET(liveliness, (enum whorl_dds_liveliness_kind)kind, lease);
}

void dds_qset_time_based_filter(dds_qos_t *qos, dds_duration_t separation)
{
	SET(time_based_filter, separation);
}

void dds_qset_reliability(dds_qos_t *qos, dds_reliability_kind_t kind, dds_duration_t max_blocking_time)
{
	SET(reliability, (enum whorl_dds_reliability_kind)kind, max_blocking_time);
}

void dds_qset_transport_priority(dds_qos_t *qos, int32_t value)
{
	SET(transport_priority, value);
}

void dds_qset_destination_order(dds_qos_t *qos, dds_destination_order_kind_t kind)
{
	SET(destination_order, (enum whorl_dds_destination_order_kind)kind);
}

void dds_qset_writer_data_lifecycle(dds_qos_t *qos, bool autodispose)
{
	SET(writer_data_lifecycle, autodispose);
}

void dds_qset_reader_data_lifecycle(dds_qos_t *qos, dds_duration_t no_writers, dds_duration_t disposed)
{
	SET(reader_data_lifecycle, no_writers, disposed);
}

void dds_qset_durability_service(dds_qos_t *qos, dds_duration_t cleanup, dds_history_kind_t kind, int32_t depth,
				 int32_t max_samples, int32_t max_instances, int32_t max_samples_per_instance)
{
	SET(durability_service, cleanup, (enum whorl_dds_history_kind)kind, depth, max_samples, max_instances,
	    max_samples_per_instance);
}

bool dds_qget_durability(const dds_qos_t *qos, dds_durability_kind_t *kind)
{
	enum whorl_dds_durability_kind value;

	if (qos == NULL || !whorl_dds_qget_durability(qos->whorl, &value))
		return false;
	if (kind != NULL)
		*kind = (dds_durability_kind_t)value;
	return true;
}

bool dds_qget_history(const dds_qos_t *qos, dds_history_kind_t *kind, int32_t *depth)
{
	enum whorl_dds_history_kind value;

	if (qos == NULL || !whorl_dds_qget_history(qos->whorl, &value, depth))
		return false;
	if (kind != NULL)
		*kind = (dds_history_kind_t)value;
	return true;
}

bool dds_qget_resource_limits(const dds_qos_t *qos, int32_t *max_samples, int32_t *max_instances,
			      int32_t *max_samples_per_instance)
{
	return qos != NULL &&
	       whorl_dds_qget_resource_limits(qos->whorl, max_samples, max_instances, max_samples_per_instance);
}

bool dds_qget_presentation(const dds_qos_t *qos, dds_presentation_access_scope_kind_t *scope, bool *coherent,
			   bool *ordered)
{
	enum whorl_dds_presentation_scope value;

	if (qos == NULL || !whorl_dds_qget_presentation(qos->whorl, &value, coherent, ordered))
		return false;
	if (scope != NULL)
		*scope = (dds_presentation_access_scope_kind_t)value;
	return true;
}

bool dds_qget_lifespan(const dds_qos_t *qos, dds_duration_t *lifespan)
{
	return qos != NULL && whorl_dds_qget_lifespan(qos->whorl, lifespan);
}

bool dds_qget_deadline(const dds_qos_t *qos, dds_duration_t *period)
{
	return qos != NULL && whorl_dds_qget_deadline(qos->whorl, period);
}

bool dds_qget_latency_budget(const dds_qos_t *qos, dds_duration_t *duration)
{
	return qos != NULL && whorl_dds_qget_latency_budget(qos->whorl, duration);
}

bool dds_qget_ownership(const dds_qos_t *qos, dds_ownership_kind_t *kind)
{
	enum whorl_dds_ownership_kind value;

	if (qos == NULL || !whorl_dds_qget_ownership(qos->whorl, &value))
		return false;
	if (kind != NULL)
		*kind = (dds_ownership_kind_t)value;
	return true;
}

bool dds_qget_ownership_strength(const dds_qos_t *qos, int32_t *value)
{
	return qos != NULL && whorl_dds_qget_ownership_strength(qos->whorl, value);
}

bool dds_qget_liveliness(const dds_qos_t *qos, dds_liveliness_kind_t *kind, dds_duration_t *lease)
{
	enum whorl_dds_liveliness_kind value;

	if (qos == NULL || !whorl_dds_qget_liveliness(qos->whorl, &value, lease))
		return false;
	if (kind != NULL)
		*kind = (dds_liveliness_kind_t)value;
	return true;
}

bool dds_qget_time_based_filter(const dds_qos_t *qos, dds_duration_t *separation)
{
	return qos != NULL && whorl_dds_qget_time_based_filter(qos->whorl, separation);
}

bool dds_qget_reliability(const dds_qos_t *qos, dds_reliability_kind_t *kind, dds_duration_t *max_blocking_time)
{
	enum whorl_dds_reliability_kind value;

	if (qos == NULL || !whorl_dds_qget_reliability(qos->whorl, &value, max_blocking_time))
		return false;
	if (kind != NULL)
		*kind = (dds_reliability_kind_t)value;
	return true;
}

bool dds_qget_transport_priority(const dds_qos_t *qos, int32_t *value)
{
	return qos != NULL && whorl_dds_qget_transport_priority(qos->whorl, value);
}

bool dds_qget_destination_order(const dds_qos_t *qos, dds_destination_order_kind_t *kind)
{
	enum whorl_dds_destination_order_kind value;

	if (qos == NULL || !whorl_dds_qget_destination_order(qos->whorl, &value))
		return false;
	if (kind != NULL)
		*kind = (dds_destination_order_kind_t)value;
	return true;
}

bool dds_qget_writer_data_lifecycle(const dds_qos_t *qos, bool *autodispose)
{
	return qos != NULL && whorl_dds_qget_writer_data_lifecycle(qos->whorl, autodispose);
}

bool dds_qget_reader_data_lifecycle(const dds_qos_t *qos, dds_duration_t *no_writers, dds_duration_t *disposed)
{
	return qos != NULL && whorl_dds_qget_reader_data_lifecycle(qos->whorl, no_writers, disposed);
}

bool dds_qget_durability_service(const dds_qos_t *qos, dds_duration_t *cleanup, dds_history_kind_t *kind,
				 int32_t *depth, int32_t *max_samples, int32_t *max_instances,
				 int32_t *max_samples_per_instance)
{
	enum whorl_dds_history_kind value;

	if (qos == NULL || !whorl_dds_qget_durability_service(qos->whorl, cleanup, &value, depth, max_samples,
							      max_instances, max_samples_per_instance))
		return false;
	if (kind != NULL)
		*kind = (dds_history_kind_t)value;
	return true;
}

/* ---- bytes and names: what is given out is a copy, which the program frees ---- */

void dds_qset_userdata(dds_qos_t *qos, const void *value, size_t bytes)
{
	SET(userdata, value, bytes);
}

void dds_qset_topicdata(dds_qos_t *qos, const void *value, size_t bytes)
{
	SET(topicdata, value, bytes);
}

void dds_qset_groupdata(dds_qos_t *qos, const void *value, size_t bytes)
{
	SET(groupdata, value, bytes);
}

static bool give(const void *from, size_t count, void **value, size_t *bytes)
{
	char *copy = NULL;

	if (value != NULL && count > 0) {
		copy = malloc(count + 1); /* a zero behind it, for programs that take it for a text */
		if (copy == NULL)
			return false;
		memcpy(copy, from, count);
		copy[count] = '\0';
	}
	if (value != NULL)
		*value = copy;
	if (bytes != NULL)
		*bytes = count;
	return true;
}

bool dds_qget_userdata(const dds_qos_t *qos, void **value, size_t *bytes)
{
	const void *from = NULL;
	size_t count = 0;

	return qos != NULL && whorl_dds_qget_userdata(qos->whorl, &from, &count) && give(from, count, value, bytes);
}

bool dds_qget_topicdata(const dds_qos_t *qos, void **value, size_t *bytes)
{
	const void *from = NULL;
	size_t count = 0;

	return qos != NULL && whorl_dds_qget_topicdata(qos->whorl, &from, &count) && give(from, count, value, bytes);
}

bool dds_qget_groupdata(const dds_qos_t *qos, void **value, size_t *bytes)
{
	const void *from = NULL;
	size_t count = 0;

	return qos != NULL && whorl_dds_qget_groupdata(qos->whorl, &from, &count) && give(from, count, value, bytes);
}

void dds_qset_partition(dds_qos_t *qos, uint32_t count, const char **names)
{
	SET(partition, count, names);
}

void dds_qset_partition1(dds_qos_t *qos, const char *name)
{
	const char *names[] = {name};

	SET(partition, name != NULL, names);
}

static bool give_names(const whorl_dds_qos *qos, uint32_t count, char ***names)
{
	*names = calloc(count, sizeof(**names));
	if (*names == NULL)
		return false;
	for (uint32_t i = 0; i < count; i++) {
		(*names)[i] = strdup(whorl_dds_qget_partition(qos, i));
		if ((*names)[i] != NULL)
			continue;
		while (i-- > 0)
			free((*names)[i]);
		free((void *)*names);
		*names = NULL;
		return false;
	}
	return true;
}

/* One name that is empty is what there is without any. */
bool dds_qget_partition(const dds_qos_t *qos, uint32_t *count, char ***names)
{
	uint32_t found = 0;

	if (qos == NULL || count == NULL)
		return false;
	while (whorl_dds_qget_partition(qos->whorl, found) != NULL)
		found++;
	if (found == 1 && *whorl_dds_qget_partition(qos->whorl, 0) == '\0')
		return false;
	if (names != NULL && !give_names(qos->whorl, found, names))
		return false;
	*count = found;
	return true;
}
