/* bytes.c - policies as bytes.
 *
 * For each that is set, in the order of their numbers: its number, a byte, and its fields in the order of the table; a byte 0 at the
 * end. Numbers are little-endian: words and flags take one byte, durations eight, others four. Data is two bytes of length, and itself.
 * A word that was not set, though its policy was, is 255: it is the default of the entity, whatever that is.
 */
#include "dds/policy/policy_int.h"

#define LACKING 255

static unsigned width_of(const struct wh_dds_field *field)
{
	switch (field->kind) {
	case WH_DDS_WORD:
	case WH_DDS_FLAG:
		return 1;
	case WH_DDS_DURATION:
		return 8;
	case WH_DDS_DATA:
	case WH_DDS_NAMES:
		return 2; /* the length */
	default:
		return 4;
	}
}

/* ---- writing ------------------------------------------------------------------------------------------------------------ */

static void put_field(struct wh_dds_out *out, const struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	const struct wh_dds_octets *octets = wh_dds_field_bytes(policies, field);

	if (wh_dds_field_is_lacking(policies, field)) {
		wh_dds_put_number(out, LACKING, width_of(field));
		return;
	}
	if (!wh_dds_field_has_bytes(field)) {
		wh_dds_put_number(out, (uint64_t)wh_dds_field_load(policies, field), width_of(field));
		return;
	}
	if (!wh_dds_field_allows_bytes(field, octets->bytes, octets->count))
		out->failed = true;
	wh_dds_put_number(out, octets->count, width_of(field));
	wh_dds_put(out, octets->bytes, octets->count);
}

void wh_dds_put_policies(struct wh_dds_out *out, const struct wh_dds_policies *policies)
{
	enum whorl_dds_policy_id last = WHORL_DDS_POLICY_INVALID;

	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		if (!wh_dds_policies_has(policies, field->policy))
			continue;
		if (field->policy != last)
			wh_dds_put_number(out, field->policy, 1);
		last = field->policy;
		put_field(out, policies, field);
	}
	wh_dds_put_number(out, 0, 1);
}

/* ---- reading ------------------------------------------------------------------------------------------------------------ */

static void take_octets(struct wh_dds_in *in, struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	size_t count = (size_t)wh_dds_take(in, width_of(field));
	const unsigned char *at = wh_dds_take_bytes(in, count);

	in->ok = in->ok && wh_dds_field_allows_bytes(field, at, count);
	if (in->ok && !wh_dds_field_replace(policies, field, at, count))
		wh_dds_starve(in);
}

static void take_number(struct wh_dds_in *in, struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	uint64_t number = wh_dds_take(in, width_of(field));
	int64_t value = width_of(field) == 4 ? (int32_t)(uint32_t)number : (int64_t)number;

	if (number == LACKING && field->kind == WH_DDS_WORD && field->writers != field->fallback) {
		policies->lacks |= wh_dds_field_bit(field);
		return;
	}
	in->ok = in->ok && wh_dds_field_allows(field, value);
	if (in->ok)
		wh_dds_field_store(policies, field, value);
}

static void take_policy(struct wh_dds_in *in, struct wh_dds_policies *policies, enum whorl_dds_policy_id id)
{
	for (size_t i = 0; in->ok && i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		if (field->policy != id)
			continue;
		if (wh_dds_field_has_bytes(field))
			take_octets(in, policies, field);
		else
			take_number(in, policies, field);
	}
	policies->set |= UINT64_C(1) << id;
}

bool wh_dds_take_policies(struct wh_dds_in *in, struct wh_dds_policies *policies, enum wh_dds_kind kind)
{
	wh_dds_policies_init(policies, kind);
	for (uint64_t last = 0, id; in->ok && (id = wh_dds_take(in, 1)) != 0; last = id) {
		if (id > last && id < 64 && wh_dds_policy_row((enum whorl_dds_policy_id)id) != NULL)
			take_policy(in, policies, (enum whorl_dds_policy_id)id);
		else
			in->ok = false;
	}
	if (!in->ok)
		wh_dds_policies_free(policies);
	return in->ok;
}
