/* bytes.c - policies as bytes.
 *
 * For each that is set, in the order of their numbers: its number, a byte, and its fields in the order of the table; a byte 0 at the
 * end. Numbers are little-endian: words and flags take one byte, durations eight, others four. Data is two bytes of length, and itself.
 * A word that was not set, though its policy was, is 255: it is the default of the entity, whatever that is.
 */
#include <string.h>

#include "dds/policy/policy_int.h"

#define LACKING 255

struct bytes { /* what is written or read; `good` falls once it does not fit, or is refused */
	unsigned char *out;
	const unsigned char *in;
	size_t at, count;
	bool good;
};

static size_t width_of(const struct wh_dds_field *field)
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

static void put(struct bytes *bytes, uint64_t number, size_t width)
{
	bytes->good = bytes->good && bytes->count - bytes->at >= width;
	for (size_t i = 0; bytes->good && i < width; i++)
		bytes->out[bytes->at++] = (unsigned char)(number >> 8 * i);
}

static void put_field(struct bytes *bytes, const struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	const struct wh_dds_octets *octets = wh_dds_field_bytes(policies, field);

	if (wh_dds_field_is_lacking(policies, field)) {
		put(bytes, LACKING, width_of(field));
		return;
	}
	if (!wh_dds_field_has_bytes(field)) {
		put(bytes, (uint64_t)wh_dds_field_load(policies, field), width_of(field));
		return;
	}
	put(bytes, octets->count, width_of(field));
	bytes->good = bytes->good && wh_dds_field_allows_bytes(field, octets->bytes, octets->count) &&
		      bytes->count - bytes->at >= octets->count;
	if (bytes->good && octets->count > 0)
		memcpy(bytes->out + bytes->at, octets->bytes, octets->count);
	bytes->at += bytes->good ? octets->count : 0;
}

size_t wh_dds_policies_encode(const struct wh_dds_policies *policies, void *out, size_t room)
{
	struct bytes bytes = {.out = out, .count = room, .good = true};
	enum whorl_dds_policy_id last = WHORL_DDS_POLICY_INVALID;

	for (size_t i = 0; i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		if (!wh_dds_policies_has(policies, field->policy))
			continue;
		if (field->policy != last)
			put(&bytes, field->policy, 1);
		last = field->policy;
		put_field(&bytes, policies, field);
	}
	put(&bytes, 0, 1);
	return bytes.good ? bytes.at : 0;
}

/* ---- reading ------------------------------------------------------------------------------------------------------------ */

static uint64_t get(struct bytes *bytes, size_t width)
{
	uint64_t number = 0;

	bytes->good = bytes->good && bytes->count - bytes->at >= width;
	for (size_t i = 0; bytes->good && i < width; i++)
		number |= (uint64_t)bytes->in[bytes->at++] << 8 * i;
	return number;
}

/* False: memory is out. */
static bool get_octets(struct bytes *bytes, struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	size_t count = get(bytes, width_of(field));

	bytes->good = bytes->good && bytes->count - bytes->at >= count &&
		      wh_dds_field_allows_bytes(field, bytes->in + bytes->at, count);
	if (!bytes->good)
		return true;
	bytes->at += count;
	return wh_dds_field_replace(policies, field, bytes->in + bytes->at - count, count);
}

static void get_number(struct bytes *bytes, struct wh_dds_policies *policies, const struct wh_dds_field *field)
{
	uint64_t number = get(bytes, width_of(field));
	int64_t value = width_of(field) == 4 ? (int32_t)(uint32_t)number : (int64_t)number;

	if (number == LACKING && field->kind == WH_DDS_WORD && field->writers != field->fallback) {
		policies->lacks |= wh_dds_field_bit(field);
		return;
	}
	bytes->good = bytes->good && wh_dds_field_allows(field, value);
	if (bytes->good)
		wh_dds_field_store(policies, field, value);
}

/* False: memory is out. */
static bool get_policy(struct bytes *bytes, struct wh_dds_policies *policies, enum whorl_dds_policy_id id)
{
	for (size_t i = 0; bytes->good && i < WH_DDS_FIELD_COUNT; i++) {
		const struct wh_dds_field *field = &wh_dds_fields[i];

		if (field->policy != id)
			continue;
		if (!wh_dds_field_has_bytes(field))
			get_number(bytes, policies, field);
		else if (!get_octets(bytes, policies, field))
			return false;
	}
	policies->set |= UINT64_C(1) << id;
	return true;
}

size_t wh_dds_policies_decode(struct wh_dds_policies *policies, enum wh_dds_kind kind, const void *in, size_t count,
			      bool *memory)
{
	struct bytes bytes = {.in = in, .count = count, .good = true};
	bool enough = true;

	wh_dds_policies_init(policies, kind);
	for (uint64_t last = 0, id = 1; bytes.good && enough; last = id) {
		id = get(&bytes, 1);
		if (!bytes.good || id == 0)
			break;
		bytes.good = id > last && id < 64 && wh_dds_policy_row((enum whorl_dds_policy_id)id) != NULL;
		if (bytes.good)
			enough = get_policy(&bytes, policies, (enum whorl_dds_policy_id)id);
	}
	if (memory != NULL)
		*memory = !enough;
	if (bytes.good && enough)
		return bytes.at;
	wh_dds_policies_free(policies);
	return 0;
}
