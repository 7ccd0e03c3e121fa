/* policies_own.c - the policies that whorl does not have. */
#include <stdlib.h>
#include <string.h>

#include "ddsc/own.h"

void dds_qset_type_consistency(dds_qos_t *qos, dds_type_consistency_kind_t kind, bool ignore_sequence_bounds,
			       bool ignore_string_bounds, bool ignore_member_names, bool prevent_type_widening,
			       bool force_type_validation)
{
	if (qos == NULL)
		return;
	if ((unsigned)kind > DDS_TYPE_CONSISTENCY_ALLOW_TYPE_COERCION) {
		qos->is_wrong = true;
		return;
	}
	qos->own.has_type_consistency = true;
	qos->own.type_consistency.kind = kind;
	qos->own.type_consistency.ignore_sequence_bounds = ignore_sequence_bounds;
	qos->own.type_consistency.ignore_string_bounds = ignore_string_bounds;
	qos->own.type_consistency.ignore_member_names = ignore_member_names;
	qos->own.type_consistency.prevent_type_widening = prevent_type_widening;
	qos->own.type_consistency.force_type_validation = force_type_validation;
}

#define GIVE(to, value)                                                                                                \
	do {                                                                                                           \
		if ((to) != NULL)                                                                                      \
			*(to) = (value);                                                                               \
	} while (0)

bool dds_qget_type_consistency(const dds_qos_t *qos, dds_type_consistency_kind_t *kind, bool *ignore_sequence_bounds,
			       bool *ignore_string_bounds, bool *ignore_member_names, bool *prevent_type_widening,
			       bool *force_type_validation)
{
	if (qos == NULL || !qos->own.has_type_consistency)
		return false;
	GIVE(kind, qos->own.type_consistency.kind);
	GIVE(ignore_sequence_bounds, qos->own.type_consistency.ignore_sequence_bounds);
	GIVE(ignore_string_bounds, qos->own.type_consistency.ignore_string_bounds);
	GIVE(ignore_member_names, qos->own.type_consistency.ignore_member_names);
	GIVE(prevent_type_widening, qos->own.type_consistency.prevent_type_widening);
	GIVE(force_type_validation, qos->own.type_consistency.force_type_validation);
	return true;
}

/* How a sample is encoded is this library's affair: what is asked for is kept, and given back. */
void dds_qset_data_representation(dds_qos_t *qos, uint32_t count, const dds_data_representation_id_t *values)
{
	dds_data_representation_id_t *copy = NULL;

	if (qos == NULL)
		return;
	if (count > 0 && values != NULL && count < 256)
		copy = malloc(count * sizeof(*copy));
	if (count > 0 && copy == NULL) {
		qos->is_wrong = true;
		return;
	}
	if (count > 0)
		memcpy(copy, values, count * sizeof(*copy));
	free(qos->own.representations);
	qos->own.representations = copy;
	qos->own.representation_count = count;
	qos->own.has_representation = true;
}

bool dds_qget_data_representation(const dds_qos_t *qos, uint32_t *count, dds_data_representation_id_t **values)
{
	dds_data_representation_id_t *copy = NULL;

	if (qos == NULL || count == NULL || !qos->own.has_representation)
		return false;
	if (values != NULL && qos->own.representation_count > 0) {
		copy = malloc(qos->own.representation_count * sizeof(*copy));
		if (copy == NULL)
			return false;
		memcpy(copy, qos->own.representations, qos->own.representation_count * sizeof(*copy));
	}
	*count = qos->own.representation_count;
	GIVE(values, copy);
	return true;
}

void dds_qset_entity_name(dds_qos_t *qos, const char *name)
{
	char *copy;

	if (qos == NULL)
		return;
	copy = name != NULL ? strdup(name) : NULL;
	if (copy == NULL) {
		qos->is_wrong = true;
		return;
	}
	free(qos->own.entity_name);
	qos->own.entity_name = copy;
}

bool dds_qget_entity_name(const dds_qos_t *qos, char **name)
{
	char *copy;

	if (qos == NULL || name == NULL || qos->own.entity_name == NULL)
		return false;
	copy = strdup(qos->own.entity_name);
	GIVE(name, copy);
	return copy != NULL;
}

/* ---- properties ------------------------------------------------------------------------------------------------------------- */

void dds_qset_prop(dds_qos_t *qos, const char *name, const char *value)
{
	if (qos != NULL && (name == NULL || value == NULL ||
			    !wh_ddsc_own_set_property(&qos->own, name, false, value, strlen(value) + 1)))
		qos->is_wrong = true;
}

void dds_qset_bprop(dds_qos_t *qos, const char *name, const void *value, const size_t bytes)
{
	if (qos != NULL && (name == NULL || (value == NULL && bytes > 0) || bytes > UINT32_MAX ||
			    !wh_ddsc_own_set_property(&qos->own, name, true, value, bytes)))
		qos->is_wrong = true;
}

void dds_qunset_prop(dds_qos_t *qos, const char *name)
{
	if (qos != NULL && name != NULL)
		wh_ddsc_own_unset_property(&qos->own, name, false);
}

void dds_qunset_bprop(dds_qos_t *qos, const char *name)
{
	if (qos != NULL && name != NULL)
		wh_ddsc_own_unset_property(&qos->own, name, true);
}

static bool give_property(const dds_qos_t *qos, const char *name, bool is_binary, void **value, size_t *bytes)
{
	const struct wh_ddsc_property *it = qos != NULL && name != NULL ? qos->own.properties : NULL;
	unsigned char *copy;

	while (it != NULL && (it->is_binary != is_binary || strcmp(it->name, name) != 0))
		it = it->next;
	if (it == NULL)
		return false;
	GIVE(bytes, it->bytes);
	if (value == NULL)
		return true;
	copy = malloc(it->bytes + 1);
	if (copy != NULL)
		memcpy(copy, it->value, it->bytes);
	*value = copy;
	return copy != NULL;
}

bool dds_qget_prop(const dds_qos_t *qos, const char *name, char **value)
{
	void *text = NULL;

	if (value == NULL || !give_property(qos, name, false, &text, NULL))
		return false;
	*value = text;
	return true;
}

bool dds_qget_bprop(const dds_qos_t *qos, const char *name, void **value, size_t *bytes)
{
	return value != NULL && bytes != NULL && give_property(qos, name, true, value, bytes);
}

static bool give_names(const dds_qos_t *qos, bool is_binary, uint32_t *count, char ***names)
{
	uint32_t found = 0, at = 0;

	if (qos == NULL || count == NULL)
		return false;
	for (const struct wh_ddsc_property *it = qos->own.properties; it != NULL; it = it->next)
		found += it->is_binary == is_binary;
	*count = found;
	if (names == NULL)
		return found > 0;
	*names = found > 0 ? calloc(found, sizeof(**names)) : NULL;
	if (*names == NULL)
		return false;
	for (const struct wh_ddsc_property *it = qos->own.properties; it != NULL; it = it->next)
		if (it->is_binary == is_binary)
			(*names)[at++] = strdup(it->name);
	return true;
}

bool dds_qget_propnames(const dds_qos_t *qos, uint32_t *count, char ***names)
{
	return give_names(qos, false, count, names);
}

bool dds_qget_bpropnames(const dds_qos_t *qos, uint32_t *count, char ***names)
{
	return give_names(qos, true, count, names);
}

/* ---- IGNORE_LOCAL ------------------------------------------------------------------------------------------------------------ */

void dds_qset_ignorelocal(dds_qos_t *qos, dds_ignorelocal_kind_t kind)
{
	if (qos != NULL &&
	    whorl_dds_qset_ignore_local(qos->whorl, (enum whorl_dds_ignore_local_kind)kind) != WHORL_DDS_RETCODE_OK)
		qos->is_wrong = true;
}

bool dds_qget_ignorelocal(const dds_qos_t *qos, dds_ignorelocal_kind_t *kind)
{
	enum whorl_dds_ignore_local_kind value;

	if (qos == NULL || !whorl_dds_qget_ignore_local(qos->whorl, &value))
		return false;
	GIVE(kind, (dds_ignorelocal_kind_t)value);
	return true;
}
