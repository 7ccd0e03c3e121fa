/* agree.c - a topic that others have registered, and of which this process says less, is as they have it. See node.h. */
#include <string.h>

#include "dds/node.h"

/* ---- types ------------------------------------------------------------------------------------------------------------------ */

static bool is_key_text(const struct whorl_dds_field *field)
{
	return field->kind == WHORL_DDS_FIELD_CHAR && (field->flags & WHORL_DDS_FIELD_IS_KEY) != 0;
}

/* Of which nothing is described but where texts of its key end. */
static bool is_bare(const struct whorl_dds_type *type)
{
	for (uint32_t i = 0; i < type->field_count; i++)
		if (!is_key_text(&type->fields[i]))
			return false;
	return true;
}

static bool has_texts_of(const struct whorl_dds_type *type, const struct whorl_dds_type *other)
{
	for (uint32_t i = 0; i < other->field_count; i++) {
		const struct whorl_dds_field *text = &other->fields[i];
		uint32_t k = 0;

		if (!is_key_text(text))
			continue;
		while (k < type->field_count &&
		       !(is_key_text(&type->fields[k]) && type->fields[k].offset == text->offset &&
			 type->fields[k].count == text->count))
			k++;
		if (k == type->field_count)
			return false;
	}
	return true;
}

/* The same struct with the same key, and no more than one of the two describes its fields. */
static bool is_same_struct(const struct whorl_dds_type *one, const struct whorl_dds_type *other)
{
	if (one->bytes != other->bytes || one->align != other->align || one->flags != other->flags ||
	    (one->flags & WHORL_DDS_TYPE_BYTES) != 0 || one->key_count != other->key_count)
		return false;
	for (uint32_t i = 0; i < one->key_count; i++)
		if (one->keys[i].offset != other->keys[i].offset || one->keys[i].bytes != other->keys[i].bytes)
			return false;
	return (is_bare(one) || is_bare(other)) && has_texts_of(one, other) && has_texts_of(other, one);
}

static bool agree_type(struct whorl_dds_type *type, const struct wh_dds_named_topic *named)
{
	struct whorl_dds_type *theirs = NULL;
	bool is_same;

	if (type->hash == named->type_hash || named->description == NULL ||
	    wh_dds_type_decode(&theirs, named->description->bytes, named->description->count, NULL) !=
		    WHORL_DDS_RETCODE_OK)
		return false;
	is_same = is_same_struct(type, theirs);
	if (is_same)
		type->hash = named->type_hash;
	wh_dds_type_free(theirs);
	return is_same;
}

/* ---- policies --------------------------------------------------------------------------------------------------------------- */

/* One that is stored keeps all that one that is atomic promises. */
static bool agree_consistency(struct wh_dds_policies *policies, const struct wh_dds_policies *theirs)
{
	if (wh_dds_policies_has(policies, WHORL_DDS_POLICY_CONSISTENCY) ||
	    wh_dds_policies_has(policies, WHORL_DDS_POLICY_DURABILITY) ||
	    wh_dds_consistency(theirs) != WHORL_DDS_CONSISTENCY_STORED)
		return false;
	policies->consistency = WHORL_DDS_CONSISTENCY_STORED;
	policies->set |= UINT64_C(1) << WHORL_DDS_POLICY_CONSISTENCY;
	if (wh_dds_policies_has(policies, WHORL_DDS_POLICY_DURABILITY_SERVICE))
		return true;
	wh_dds_policies_kept(theirs, &policies->service.history, &policies->service.limits);
	policies->service.cleanup_ns = theirs->service.cleanup_ns;
	policies->set |= UINT64_C(1) << WHORL_DDS_POLICY_DURABILITY_SERVICE;
	return true;
}

bool wh_dds_topic_agree(struct wh_dds_node *node, struct wh_dds_topic_entity *topic, bool has_hash, char *channel)
{
	const struct wh_dds_named_topic *named;
	bool changed = false;

	pthread_mutex_lock(&node->control->lock);
	named = wh_dds_registry_find(node->control->registry, topic->name);
	if (named != NULL) {
		bool same_type = !has_hash && agree_type(topic->type, named);

		changed = agree_consistency(&topic->base.policies, &named->policies);
		if (changed)
			memcpy(channel, WH_DDS_ANY_CHANNEL, sizeof(WH_DDS_ANY_CHANNEL));
		changed = changed || same_type;
	}
	pthread_mutex_unlock(&node->control->lock);
	return changed;
}
