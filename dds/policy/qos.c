/* qos.c - objects of policies: what programs set, one policy at a time. The ranges are the table's. */
#include "dds/policy/qos.h"

#include <stdlib.h>
#include <string.h>

#include "dds/base/text.h"
#include "dds/policy/policy_int.h"

/* ---- the object ------------------------------------------------------------------------------------------------------------ */

whorl_dds_qos *whorl_dds_create_qos(void)
{
	struct whorl_dds_qos *qos = malloc(sizeof(*qos));

	if (qos != NULL)
		wh_dds_policies_init(&qos->policies, WH_DDS_KINDS);
	return qos;
}

void whorl_dds_delete_qos(whorl_dds_qos *qos)
{
	if (qos != NULL)
		wh_dds_policies_free(&qos->policies);
	free(qos);
}

whorl_dds_return whorl_dds_reset_qos(whorl_dds_qos *qos)
{
	if (qos == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no object");
	wh_dds_policies_free(&qos->policies);
	wh_dds_policies_init(&qos->policies, WH_DDS_KINDS);
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return whorl_dds_copy_qos(whorl_dds_qos *to, const whorl_dds_qos *from)
{
	struct wh_dds_policies copy;

	if (to == NULL || from == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no object");
	if (wh_dds_policies_copy(&copy, &from->policies) != WHORL_DDS_RETCODE_OK)
		return WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	wh_dds_policies_free(&to->policies);
	to->policies = copy;
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return whorl_dds_merge_qos(whorl_dds_qos *to, const whorl_dds_qos *from)
{
	struct wh_dds_policies merged;

	if (to == NULL || from == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no object");
	if (wh_dds_policies_copy(&merged, &to->policies) != WHORL_DDS_RETCODE_OK)
		return WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	if (wh_dds_policies_merge(&merged, WH_DDS_KINDS, &from->policies, WH_DDS_KINDS) != WHORL_DDS_RETCODE_OK) {
		wh_dds_policies_free(&merged);
		return WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	}
	wh_dds_policies_free(&to->policies);
	to->policies = merged;
	return WHORL_DDS_RETCODE_OK;
}

bool whorl_dds_qos_equal(const whorl_dds_qos *one, const whorl_dds_qos *other)
{
	return one != NULL && other != NULL && one->policies.set == other->policies.set &&
	       one->policies.lacks == other->policies.lacks &&
	       wh_dds_policies_equal(&one->policies, &other->policies, NULL);
}

whorl_dds_return whorl_dds_qos_parse(whorl_dds_qos *qos, const char *text)
{
	struct wh_error err;
	whorl_dds_return result;

	if (qos == NULL || text == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no object, or no text");
	wh_error_clear(&err);
	result = wh_dds_policies_parse(&qos->policies, text, &err);
	return result == WHORL_DDS_RETCODE_OK ? result : wh_dds_say(__func__, result, "%s", err.text);
}

whorl_dds_return whorl_dds_qos_text(const whorl_dds_qos *qos, char *text, size_t bytes)
{
	size_t length = 0, cut;
	char *whole = NULL;
	FILE *out;

	if (qos == NULL || (text == NULL && bytes > 0))
		return WH_DDS_SAY(BAD_PARAMETER, "no object, or no text");
	out = open_memstream(&whole, &length);
	if (out == NULL)
		return WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	wh_dds_policies_print(out, &qos->policies, qos->policies.set);
	if (fclose(out) != 0) {
		free(whole);
		return WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	}
	cut = length < bytes ? length : bytes - (bytes > 0);
	if (bytes > 0) {
		memcpy(text, whole, cut);
		text[cut] = '\0';
	}
	free(whole);
	return (whorl_dds_return)length;
}

/* ---- setting --------------------------------------------------------------------------------------------------------------- */

static const struct wh_dds_field *fields_of(enum whorl_dds_policy_id id)
{
	const struct wh_dds_field *field = wh_dds_fields;

	while (field->policy != id)
		field++;
	return field;
}

/* The fields of the policy, in the order of the table. All are in range, or none is set. */
static whorl_dds_return set_numbers(whorl_dds_qos *qos, const char *function, enum whorl_dds_policy_id id,
				    const int64_t *values, size_t count)
{
	const struct wh_dds_field *fields = fields_of(id);
	char expected[128];

	if (qos == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "no object");
	for (size_t i = 0; i < count; i++) {
		if (wh_dds_field_allows(&fields[i], values[i]))
			continue;
		wh_dds_field_expected(&fields[i], expected, sizeof(expected));
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "%s: %s is out of its range, expected %s",
				  wh_dds_policy_name(id), fields[i].key, expected);
	}
	for (size_t i = 0; i < count; i++) {
		wh_dds_field_store(&qos->policies, &fields[i], values[i]);
		wh_dds_field_is_set(&qos->policies, &fields[i]);
	}
	return WHORL_DDS_RETCODE_OK;
}

#define SET(id, ...)                                                                                                   \
	set_numbers(qos, __func__, WHORL_DDS_POLICY_##id, (const int64_t[]){__VA_ARGS__},                              \
		    sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t))

static whorl_dds_return set_bytes(whorl_dds_qos *qos, const char *function, enum whorl_dds_policy_id id,
				  const void *value, size_t bytes)
{
	const struct wh_dds_field *field = fields_of(id);

	if (qos == NULL || (value == NULL && bytes > 0))
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "no object, or no bytes");
	if (!wh_dds_field_allows_bytes(field, value, bytes))
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "%s: more than %d bytes",
				  wh_dds_policy_name(id), WH_DDS_DATA_BYTES);
	if (!wh_dds_field_replace(&qos->policies, field, value, bytes))
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	qos->policies.set |= UINT64_C(1) << id;
	return WHORL_DDS_RETCODE_OK;
}

whorl_dds_return whorl_dds_qset_userdata(whorl_dds_qos *qos, const void *value, size_t bytes)
{
	return set_bytes(qos, __func__, WHORL_DDS_POLICY_USER_DATA, value, bytes);
}

whorl_dds_return whorl_dds_qset_topicdata(whorl_dds_qos *qos, const void *value, size_t bytes)
{
	return set_bytes(qos, __func__, WHORL_DDS_POLICY_TOPIC_DATA, value, bytes);
}

whorl_dds_return whorl_dds_qset_groupdata(whorl_dds_qos *qos, const void *value, size_t bytes)
{
	return set_bytes(qos, __func__, WHORL_DDS_POLICY_GROUP_DATA, value, bytes);
}

whorl_dds_return whorl_dds_qset_durability(whorl_dds_qos *qos, enum whorl_dds_durability_kind kind)
{
	return SET(DURABILITY, kind);
}

/* As the table has it: 0 is KEEP_ALL. */
static int64_t keep(enum whorl_dds_history_kind kind, int32_t depth)
{
	if (kind == WHORL_DDS_HISTORY_KEEP_ALL)
		return 0;
	return kind == WHORL_DDS_HISTORY_KEEP_LAST && depth >= 1 ? depth : -1;
}

whorl_dds_return whorl_dds_qset_history(whorl_dds_qos *qos, enum whorl_dds_history_kind kind, int32_t depth)
{
	return SET(HISTORY, keep(kind, depth));
}

whorl_dds_return whorl_dds_qset_resource_limits(whorl_dds_qos *qos, int32_t max_samples, int32_t max_instances,
						int32_t max_samples_per_instance)
{
	return SET(RESOURCE_LIMITS, max_samples, max_instances, max_samples_per_instance);
}

whorl_dds_return whorl_dds_qset_presentation(whorl_dds_qos *qos, enum whorl_dds_presentation_scope scope, bool coherent,
					     bool ordered)
{
	return SET(PRESENTATION, scope, coherent, ordered);
}

whorl_dds_return whorl_dds_qset_lifespan(whorl_dds_qos *qos, whorl_dds_duration lifespan)
{
	return SET(LIFESPAN, lifespan);
}

whorl_dds_return whorl_dds_qset_deadline(whorl_dds_qos *qos, whorl_dds_duration period)
{
	return SET(DEADLINE, period);
}

whorl_dds_return whorl_dds_qset_latency_budget(whorl_dds_qos *qos, whorl_dds_duration duration)
{
	return SET(LATENCY_BUDGET, duration);
}

whorl_dds_return whorl_dds_qset_ownership(whorl_dds_qos *qos, enum whorl_dds_ownership_kind kind)
{
	return SET(OWNERSHIP, kind);
}

whorl_dds_return whorl_dds_qset_ownership_strength(whorl_dds_qos *qos, int32_t value)
{
	return SET(OWNERSHIP_STRENGTH, value);
}

whorl_dds_return whorl_dds_qset_liveliness(whorl_dds_qos *qos, enum whorl_dds_liveliness_kind kind,
					   whorl_dds_duration lease)
{
	return SET(LIVELINESS, kind, lease);
}

whorl_dds_return whorl_dds_qset_time_based_filter(whorl_dds_qos *qos, whorl_dds_duration separation)
{
	return SET(TIME_BASED_FILTER, separation);
}

whorl_dds_return whorl_dds_qset_reliability(whorl_dds_qos *qos, enum whorl_dds_reliability_kind kind,
					    whorl_dds_duration max_blocking_time)
{
	return SET(RELIABILITY, kind, max_blocking_time);
}

whorl_dds_return whorl_dds_qset_transport_priority(whorl_dds_qos *qos, int32_t value)
{
	return SET(TRANSPORT_PRIORITY, value);
}

whorl_dds_return whorl_dds_qset_destination_order(whorl_dds_qos *qos, enum whorl_dds_destination_order_kind kind)
{
	return SET(DESTINATION_ORDER, kind);
}

whorl_dds_return whorl_dds_qset_writer_data_lifecycle(whorl_dds_qos *qos, bool autodispose)
{
	return SET(WRITER_DATA_LIFECYCLE, autodispose);
}

whorl_dds_return whorl_dds_qset_reader_data_lifecycle(whorl_dds_qos *qos, whorl_dds_duration no_writers,
						      whorl_dds_duration disposed)
{
	return SET(READER_DATA_LIFECYCLE, no_writers, disposed);
}

whorl_dds_return whorl_dds_qset_durability_service(whorl_dds_qos *qos, whorl_dds_duration cleanup,
						   enum whorl_dds_history_kind kind, int32_t depth, int32_t max_samples,
						   int32_t max_instances, int32_t max_samples_per_instance)
{
	return SET(DURABILITY_SERVICE, keep(kind, depth), max_samples, max_instances, max_samples_per_instance,
		   cleanup);
}

whorl_dds_return whorl_dds_qset_entity_factory(whorl_dds_qos *qos, bool autoenable)
{
	return SET(ENTITY_FACTORY, autoenable);
}

whorl_dds_return whorl_dds_qset_consistency(whorl_dds_qos *qos, enum whorl_dds_consistency_kind kind)
{
	return SET(CONSISTENCY, kind);
}

whorl_dds_return whorl_dds_qset_ignore_local(whorl_dds_qos *qos, enum whorl_dds_ignore_local_kind kind)
{
	return SET(IGNORE_LOCAL, kind);
}

/* One name that is empty is written as none. */
whorl_dds_return whorl_dds_qset_partition(whorl_dds_qos *qos, uint32_t count, const char *const *names)
{
	char bytes[WH_DDS_PARTITION_BYTES];
	size_t used = 0;

	if (qos == NULL || (names == NULL && count > 0))
		return WH_DDS_SAY(BAD_PARAMETER, "no object, or no names");
	for (uint32_t i = 0; i < count; i++) {
		size_t length = names[i] != NULL ? strlen(names[i]) + 1 : 0;

		if (length == 0 || used + length > sizeof(bytes))
			return WH_DDS_SAY(BAD_PARAMETER, "partition: %s",
					  length == 0 ? "a name is NULL" : "more than 2047 bytes");
		memcpy(bytes + used, names[i], length);
		used += length;
	}
	return set_bytes(qos, __func__, WHORL_DDS_POLICY_PARTITION, bytes, used == 1 ? 0 : used);
}

/* ---- getting ----------------------------------------------------------------------------------------------------------------- */

/* What a reader has by default, where nothing is set: as it was made. */
#define GET(name, ID, parameters, ...)                                                                                 \
	bool whorl_dds_qget_##name parameters                                                                          \
	{                                                                                                              \
		if (qos == NULL)                                                                                       \
			return false;                                                                                  \
		__VA_ARGS__                                                                                            \
		return wh_dds_policies_has(&qos->policies, WHORL_DDS_POLICY_##ID);                                     \
	}
#define GIVE(pointer, value)                                                                                           \
	if ((pointer) != NULL)                                                                                         \
		*(pointer) = qos->policies.value;
#define GIVE_DEPTH(pointer, where)                                                                                     \
	if ((pointer) != NULL)                                                                                         \
		*(pointer) = qos->policies.where.kind == WHORL_DDS_HISTORY_KEEP_ALL ? 1 : qos->policies.where.depth;

GET(durability, DURABILITY, (const whorl_dds_qos *qos, enum whorl_dds_durability_kind *kind), GIVE(kind, durability))
GET(history, HISTORY, (const whorl_dds_qos *qos, enum whorl_dds_history_kind *kind, int32_t *depth),
    GIVE(kind, history.kind) GIVE_DEPTH(depth, history))
GET(resource_limits, RESOURCE_LIMITS,
    (const whorl_dds_qos *qos, int32_t *max_samples, int32_t *max_instances, int32_t *max_samples_per_instance),
    GIVE(max_samples, limits.samples) GIVE(max_instances, limits.instances)
	    GIVE(max_samples_per_instance, limits.samples_per_instance))
GET(presentation, PRESENTATION,
    (const whorl_dds_qos *qos, enum whorl_dds_presentation_scope *scope, bool *coherent, bool *ordered),
    GIVE(scope, presentation.scope) GIVE(coherent, presentation.coherent) GIVE(ordered, presentation.ordered))
GET(lifespan, LIFESPAN, (const whorl_dds_qos *qos, whorl_dds_duration *lifespan), GIVE(lifespan, lifespan_ns))
GET(deadline, DEADLINE, (const whorl_dds_qos *qos, whorl_dds_duration *period), GIVE(period, deadline_ns))
GET(latency_budget, LATENCY_BUDGET, (const whorl_dds_qos *qos, whorl_dds_duration *duration),
    GIVE(duration, latency_budget_ns))
GET(ownership, OWNERSHIP, (const whorl_dds_qos *qos, enum whorl_dds_ownership_kind *kind), GIVE(kind, ownership))
GET(ownership_strength, OWNERSHIP_STRENGTH, (const whorl_dds_qos *qos, int32_t *value), GIVE(value, strength))
GET(liveliness, LIVELINESS, (const whorl_dds_qos *qos, enum whorl_dds_liveliness_kind *kind, whorl_dds_duration *lease),
    GIVE(kind, liveliness.kind) GIVE(lease, liveliness.lease_ns))
GET(time_based_filter, TIME_BASED_FILTER, (const whorl_dds_qos *qos, whorl_dds_duration *separation),
    GIVE(separation, separation_ns))
GET(reliability, RELIABILITY,
    (const whorl_dds_qos *qos, enum whorl_dds_reliability_kind *kind, whorl_dds_duration *max_blocking_time),
    GIVE(kind, reliability.kind) GIVE(max_blocking_time, reliability.max_blocking_ns))
GET(transport_priority, TRANSPORT_PRIORITY, (const whorl_dds_qos *qos, int32_t *value), GIVE(value, priority))
GET(destination_order, DESTINATION_ORDER, (const whorl_dds_qos *qos, enum whorl_dds_destination_order_kind *kind),
    GIVE(kind, destination_order))
GET(writer_data_lifecycle, WRITER_DATA_LIFECYCLE, (const whorl_dds_qos *qos, bool *autodispose),
    GIVE(autodispose, autodispose))
GET(reader_data_lifecycle, READER_DATA_LIFECYCLE,
    (const whorl_dds_qos *qos, whorl_dds_duration *no_writers, whorl_dds_duration *disposed),
    GIVE(no_writers, purge.no_writers_ns) GIVE(disposed, purge.disposed_ns))
GET(durability_service, DURABILITY_SERVICE,
    (const whorl_dds_qos *qos, whorl_dds_duration *cleanup, enum whorl_dds_history_kind *kind, int32_t *depth,
     int32_t *max_samples, int32_t *max_instances, int32_t *max_samples_per_instance),
    GIVE(cleanup, service.cleanup_ns) GIVE(kind, service.history.kind) GIVE_DEPTH(depth, service.history)
	    GIVE(max_samples, service.limits.samples) GIVE(max_instances, service.limits.instances)
		    GIVE(max_samples_per_instance, service.limits.samples_per_instance))
GET(entity_factory, ENTITY_FACTORY, (const whorl_dds_qos *qos, bool *autoenable), GIVE(autoenable, autoenable))
GET(consistency, CONSISTENCY, (const whorl_dds_qos *qos, enum whorl_dds_consistency_kind *kind),
    GIVE(kind, consistency))
GET(ignore_local, IGNORE_LOCAL, (const whorl_dds_qos *qos, enum whorl_dds_ignore_local_kind *kind),
    GIVE(kind, ignore_local))
GET(userdata, USER_DATA, (const whorl_dds_qos *qos, const void **value, size_t *bytes),
    GIVE(value, user_data.bytes) GIVE(bytes, user_data.count))
GET(topicdata, TOPIC_DATA, (const whorl_dds_qos *qos, const void **value, size_t *bytes),
    GIVE(value, topic_data.bytes) GIVE(bytes, topic_data.count))
GET(groupdata, GROUP_DATA, (const whorl_dds_qos *qos, const void **value, size_t *bytes),
    GIVE(value, group_data.bytes) GIVE(bytes, group_data.count))

const char *whorl_dds_qget_partition(const whorl_dds_qos *qos, uint32_t index)
{
	const char *name = qos != NULL ? wh_dds_partition_next(&qos->policies, NULL) : NULL;

	while (name != NULL && index-- > 0)
		name = wh_dds_partition_next(&qos->policies, name);
	return name;
}
