/* own.c - see own.h. */
#include "ddsc/own.h"

#include <stdlib.h>
#include <string.h>

static void free_property(struct wh_ddsc_property *property)
{
	free(property->name);
	free(property->value);
	free(property);
}

void wh_ddsc_own_free(struct wh_ddsc_own *own)
{
	for (struct wh_ddsc_property *next; own->properties != NULL; own->properties = next) {
		next = own->properties->next;
		free_property(own->properties);
	}
	free(own->representations);
	free(own->entity_name);
	*own = (struct wh_ddsc_own){0};
}

/* ---- properties ------------------------------------------------------------------------------------------------------------- */

struct wh_ddsc_property **wh_ddsc_own_property(struct wh_ddsc_own *own, const char *name, bool is_binary)
{
	struct wh_ddsc_property **at = &own->properties;

	while (*at != NULL && ((*at)->is_binary != is_binary || strcmp((*at)->name, name) != 0))
		at = &(*at)->next;
	return at;
}

void wh_ddsc_own_unset_property(struct wh_ddsc_own *own, const char *name, bool is_binary)
{
	struct wh_ddsc_property **at = wh_ddsc_own_property(own, name, is_binary), *property = *at;

	if (property == NULL)
		return;
	*at = property->next;
	free_property(property);
}

/* Behind the others, in the order in which they were set first. */
bool wh_ddsc_own_set_property(struct wh_ddsc_own *own, const char *name, bool is_binary, const void *value,
			      size_t bytes)
{
	struct wh_ddsc_property **at = wh_ddsc_own_property(own, name, is_binary), *property = *at;
	unsigned char *copy = malloc(bytes + 1); /* never of 0 bytes */

	if (copy == NULL)
		return false;
	if (bytes > 0)
		memcpy(copy, value, bytes);
	if (property == NULL) {
		property = calloc(1, sizeof(*property));
		if (property != NULL)
			property->name = strdup(name);
		if (property == NULL || property->name == NULL) {
			free(property);
			free(copy);
			return false;
		}
		property->is_binary = is_binary;
		*at = property;
	}
	free(property->value);
	property->value = copy;
	property->bytes = bytes;
	return true;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------------ */

static bool merge_representations(struct wh_ddsc_own *to, const struct wh_ddsc_own *from)
{
	size_t bytes = from->representation_count * sizeof(*from->representations);

	if (to->has_representation || !from->has_representation)
		return true;
	if (bytes > 0) {
		to->representations = malloc(bytes);
		if (to->representations == NULL)
			return false;
		memcpy(to->representations, from->representations, bytes);
	}
	to->representation_count = from->representation_count;
	to->has_representation = true;
	return true;
}

bool wh_ddsc_own_merge(struct wh_ddsc_own *to, const struct wh_ddsc_own *from)
{
	if (!to->has_type_consistency && from->has_type_consistency) {
		to->has_type_consistency = true;
		to->type_consistency = from->type_consistency;
	}
	if (to->entity_name == NULL && from->entity_name != NULL) {
		to->entity_name = strdup(from->entity_name);
		if (to->entity_name == NULL)
			return false;
	}
	for (const struct wh_ddsc_property *it = from->properties; it != NULL; it = it->next)
		if (*wh_ddsc_own_property(to, it->name, it->is_binary) == NULL &&
		    !wh_ddsc_own_set_property(to, it->name, it->is_binary, it->value, it->bytes))
			return false;
	return merge_representations(to, from);
}

static bool same_representations(const struct wh_ddsc_own *one, const struct wh_ddsc_own *other)
{
	return one->has_representation == other->has_representation &&
	       one->representation_count == other->representation_count &&
	       (one->representation_count == 0 ||
		memcmp(one->representations, other->representations,
		       one->representation_count * sizeof(*one->representations)) == 0);
}

static bool same_consistency(const struct wh_ddsc_own *one, const struct wh_ddsc_own *other)
{
	return one->has_type_consistency == other->has_type_consistency &&
	       one->type_consistency.kind == other->type_consistency.kind &&
	       one->type_consistency.ignore_sequence_bounds == other->type_consistency.ignore_sequence_bounds &&
	       one->type_consistency.ignore_string_bounds == other->type_consistency.ignore_string_bounds &&
	       one->type_consistency.ignore_member_names == other->type_consistency.ignore_member_names &&
	       one->type_consistency.prevent_type_widening == other->type_consistency.prevent_type_widening &&
	       one->type_consistency.force_type_validation == other->type_consistency.force_type_validation;
}

/* Has `other` all properties of `one`, with the same values? */
static bool has_properties(const struct wh_ddsc_own *one, struct wh_ddsc_own *other)
{
	for (const struct wh_ddsc_property *it = one->properties; it != NULL; it = it->next) {
		const struct wh_ddsc_property *same = *wh_ddsc_own_property(other, it->name, it->is_binary);

		if (same == NULL || same->bytes != it->bytes || memcmp(same->value, it->value, it->bytes) != 0)
			return false;
	}
	return true;
}

bool wh_ddsc_own_equal(const struct wh_ddsc_own *one, const struct wh_ddsc_own *other)
{
	struct wh_ddsc_own first = *one, second = *other; /* looked at alone */

	if ((one->entity_name == NULL) != (other->entity_name == NULL) ||
	    (one->entity_name != NULL && strcmp(one->entity_name, other->entity_name) != 0))
		return false;
	return same_consistency(one, other) && same_representations(one, other) && has_properties(one, &second) &&
	       has_properties(other, &first);
}
