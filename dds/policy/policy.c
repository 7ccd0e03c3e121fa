/* policy.c - defaults, merging, checks and matches of policies, as their table says. */
#include "dds/policy/policy.h"

#include <stdlib.h>
#include <string.h>

#include "dds/policy/policy_int.h"

#define BIT(id) (UINT64_C(1) << (id))

void wh_dds_policies_init(struct wh_dds_policies *policies, enum wh_dds_kind kind)
{
	memset(policies, 0, sizeof(*policies)); /* the bytes between fields, too */
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		if (!wh_dds_field_has_bytes(field))
			wh_dds_field_store(policies, field, kind == WH_DDS_WRITER ? field->writers : field->fallback);
	}
}

void wh_dds_policies_free(struct wh_dds_policies *policies)
{
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		if (wh_dds_field_has_bytes(&wh_dds_fields[i])) {
			struct wh_dds_octets *octets = wh_dds_field_octets(policies, &wh_dds_fields[i]);

			free(octets->bytes);
			*octets = (struct wh_dds_octets){NULL, 0};
		}
	}
}

/* One field's value. False: memory is out. */
static bool copy_field(struct wh_dds_policies *to, const struct wh_dds_policies *from, const struct wh_dds_field *field)
{
	if (wh_dds_field_has_bytes(field)) {
		const struct wh_dds_octets *octets = wh_dds_field_bytes(from, field);

		return wh_dds_field_replace(to, field, octets->bytes, octets->count);
	}
	memcpy((char *)to + field->offset, (const char *)from + field->offset, wh_dds_field_size(field));
	return true;
}

void wh_dds_field_is_set(struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT && !wh_dds_policies_has(policies, field->policy); i++)
		if (wh_dds_fields[i].policy == field->policy && wh_dds_fields[i].writers != wh_dds_fields[i].fallback)
			policies->lacks |= wh_dds_field_bit(&wh_dds_fields[i]);
	policies->set |= BIT(field->policy);
	policies->lacks &= ~wh_dds_field_bit(field);
}

/* Those of the mask, but for fields that `from` lacks: there `to` has what it had, or its default. False: memory is out; those that were copied are set. */
static bool copy_policies(struct wh_dds_policies *to, const struct wh_dds_policies *from, uint64_t mask)
{
	const uint64_t had = to->set;

	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		if ((mask & BIT(field->policy)) == 0)
			continue;
		if (wh_dds_field_is_lacking(from, field)) {
			to->lacks |= (had & BIT(field->policy)) == 0 ? wh_dds_field_bit(field) : 0;
		} else {
			if (!copy_field(to, from, field))
				return false;
			to->lacks &= ~wh_dds_field_bit(field);
		}
		to->set |= BIT(field->policy);
	}
	return true;
}

/* Fields of which `to` has set the policy, and not them. */
static bool fill_in(struct wh_dds_policies *to, const struct wh_dds_policies *from, uint64_t mask)
{
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		if ((mask & from->set & BIT(field->policy)) == 0 || !wh_dds_field_is_lacking(to, field) ||
		    wh_dds_field_is_lacking(from, field))
			continue;
		if (!copy_field(to, from, field))
			return false;
		to->lacks &= ~wh_dds_field_bit(field);
	}
	return true;
}

whorl_dds_return wh_dds_policies_copy(struct wh_dds_policies *to, const struct wh_dds_policies *from)
{
	wh_dds_policies_init(to, WH_DDS_KINDS);
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++)
		if (!copy_field(to, from, &wh_dds_fields[i])) {
			wh_dds_policies_free(to);
			return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
		}
	to->set = from->set;
	to->lacks = from->lacks;
	return WHORL_DDS_RETCODE_OK;
}

/* Of what is set in policies of an entity of kind `of`, what says something of one of `kind`, as bits. */
static uint64_t concerns(enum wh_dds_kind kind, enum wh_dds_kind of)
{
	uint64_t mask = wh_dds_policies_of(kind);

	if (of != WH_DDS_KINDS && (kind == WH_DDS_WRITER || kind == WH_DDS_READER))
		for (size_t i = 0; i < WH_DDS_POLICY_COUNT; i++)
			if (wh_dds_policy_rows[i].reaches)
				mask |= BIT(wh_dds_policy_rows[i].id);
	return mask & wh_dds_policies_of(of);
}

whorl_dds_return wh_dds_policies_merge(struct wh_dds_policies *to, enum wh_dds_kind kind,
				       const struct wh_dds_policies *from, enum wh_dds_kind of)
{
	const uint64_t mask = concerns(kind, of);
	bool merged = fill_in(to, from, mask) && copy_policies(to, from, from->set & ~to->set & mask);

	return merged ? WHORL_DDS_RETCODE_OK : WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
}

static bool same_field(const struct wh_dds_policies *one, const struct wh_dds_policies *other,
		       const struct wh_dds_field *field)
{
	const struct wh_dds_octets *a = wh_dds_field_bytes(one, field), *b = wh_dds_field_bytes(other, field);

	if (!wh_dds_field_has_bytes(field))
		return wh_dds_field_load(one, field) == wh_dds_field_load(other, field);
	return a->count == b->count && (a->count == 0 || memcmp(a->bytes, b->bytes, a->count) == 0);
}

bool wh_dds_policies_equal(const struct wh_dds_policies *one, const struct wh_dds_policies *other, uint64_t *differ)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++)
		if (!same_field(one, other, &wh_dds_fields[i]))
			mask |= BIT(wh_dds_fields[i].policy);
	if (differ != NULL)
		*differ = mask;
	return mask == 0;
}

/* The first policy, by number, of a mask that is not 0. */
static enum whorl_dds_policy_id first_of(uint64_t mask)
{
	return (enum whorl_dds_policy_id)__builtin_ctzll(mask);
}

/* Policies of which a field that `wanted` has is another. */
static uint64_t differing(const struct wh_dds_policies *now, const struct wh_dds_policies *wanted)
{
	uint64_t mask = 0;

	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++)
		if (!wh_dds_field_is_lacking(wanted, &wh_dds_fields[i]) && !same_field(now, wanted, &wh_dds_fields[i]))
			mask |= BIT(wh_dds_fields[i].policy);
	return mask;
}

whorl_dds_return wh_dds_policies_change(struct wh_dds_policies *now, enum wh_dds_kind kind,
					const struct wh_dds_policies *wanted, enum whorl_dds_policy_id *which,
					struct wh_error *err)
{
	uint64_t mask = wanted->set & wh_dds_policies_of(kind), fixed;
	struct wh_dds_policies then;
	whorl_dds_return result;

	fixed = differing(now, wanted) & mask;
	for (size_t i = 0; i < WH_DDS_POLICY_COUNT; i++)
		if (wh_dds_policy_rows[i].later)
			fixed &= ~BIT(wh_dds_policy_rows[i].id);
	if (fixed != 0)
		return wh_dds_refuse(&(struct wh_dds_blame){which, err}, WHORL_DDS_RETCODE_IMMUTABLE_POLICY,
				     first_of(fixed), "is fixed when the entity is created");
	if (wh_dds_policies_copy(&then, now) != WHORL_DDS_RETCODE_OK)
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	result = copy_policies(&then, wanted, mask) ? wh_dds_policies_check(&then, kind, which, err)
						    : WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	if (result != WHORL_DDS_RETCODE_OK) {
		wh_dds_policies_free(&then);
		return result;
	}
	wh_dds_policies_free(now);
	*now = then;
	return WHORL_DDS_RETCODE_OK;
}

static bool offer_meets(const struct wh_dds_field *field, int64_t offered, int64_t requested)
{
	switch (field->rule) {
	case WH_DDS_MORE:
		return offered >= requested;
	case WH_DDS_LESS:
		return offered <= requested;
	case WH_DDS_ALIKE:
		return offered == requested;
	default:
		return true;
	}
}

enum whorl_dds_policy_id wh_dds_policies_match(const struct wh_dds_policies *offered,
					       const struct wh_dds_policies *requested)
{
	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		if (!offer_meets(field, wh_dds_field_load(offered, field), wh_dds_field_load(requested, field)))
			return field->policy;
	}
	return WHORL_DDS_POLICY_INVALID;
}
