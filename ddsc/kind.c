/* kind.c - see kind.h. */
#include "ddsc/kind.h"

#include <stdlib.h>
#include <string.h>

/* ---- whorl's type ----------------------------------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 32) * UINT64_C(0xd6e8feb86659fd93);
	return value ^ value >> 32;
}

static uint64_t hash_bytes(uint64_t hash, const unsigned char *bytes, size_t count)
{
	for (size_t i = 0; i < count; i++)
		hash = mix((hash ^ bytes[i]) * UINT64_C(0x100000001b3));
	return hash;
}

/* Of what processes must agree on for bytes to mean the same. idlc describes a type by hashes of all that it says (XTypes); where it was told not to,
 * by what is known of its samples. */
static uint64_t hash_of(const struct wh_ddsc_shape *shape, const struct wh_ddsc_descriptor *descriptor)
{
	const uint64_t facts[] = {descriptor->bytes, descriptor->align,    descriptor->op_count, descriptor->key_count,
				  shape->is_final,   shape->key_bytes_max, shape->bytes_max};
	uint64_t hash = hash_bytes(1, (const unsigned char *)facts, sizeof(facts));

	if (descriptor->information.bytes != NULL)
		hash = hash_bytes(hash, descriptor->information.bytes, descriptor->information.count);
	return hash != 0 ? hash : 1;
}

/* Members of the key that are texts: whorl looks at their ends. What they are called is of no account. */
static void set_texts(struct wh_ddsc_kind *kind, const struct wh_ddsc_shape *shape)
{
	static const char *const names[] = {"key.a", "key.b", "key.c", "key.d", "key.e", "key.f", "key.g", "key.h"};

	for (uint32_t i = 0; i < shape->key_count && kind->whorl.field_count < sizeof(names) / sizeof(*names); i++) {
		struct whorl_dds_field *field = &kind->texts[kind->whorl.field_count];

		if (!shape->keys[i].is_text)
			continue;
		*field = (struct whorl_dds_field){.size = sizeof(*field),
						  .kind = WHORL_DDS_FIELD_CHAR,
						  .offset = shape->keys[i].offset,
						  .count = shape->keys[i].bytes,
						  .flags = WHORL_DDS_FIELD_IS_KEY,
						  .name = names[kind->whorl.field_count]};
		kind->whorl.field_count++;
	}
	kind->whorl.fields = kind->whorl.field_count > 0 ? kind->texts : NULL;
}

/* A struct with its key where it lies. */
static bool set_plain(struct wh_ddsc_kind *kind, const struct wh_ddsc_shape *shape)
{
	kind->whorl.bytes = shape->bytes;
	kind->whorl.align = shape->align;
	if (shape->key_count == 0)
		return true;
	kind->keys = calloc(shape->key_count, sizeof(*kind->keys));
	kind->texts = calloc(shape->key_count, sizeof(*kind->texts));
	if (kind->keys == NULL || kind->texts == NULL)
		return false;
	for (uint32_t i = 0; i < shape->key_count; i++)
		kind->keys[i] = (struct whorl_dds_key){shape->keys[i].offset, shape->keys[i].bytes};
	kind->whorl.keys = kind->keys;
	kind->whorl.key_count = shape->key_count;
	set_texts(kind, shape);
	return true;
}

/* Bytes behind a head. */
static bool set_bytes(struct wh_ddsc_kind *kind, const struct wh_ddsc_shape *shape)
{
	size_t most = whorl_dds_bytes_type()->bytes_max;

	if (shape->key_bytes_max > 0)
		kind->head_bytes = shape->key_bytes_max <= WH_DDSC_HEAD_BYTES_MAX ? (shape->key_bytes_max + 3) / 4 * 4
										  : WH_DDSC_HEAD_BYTES_MAX;
	kind->whorl.flags = WHORL_DDS_TYPE_BYTES;
	kind->whorl.align = 8;
	kind->whorl.bytes = (uint32_t)kind->head_bytes;
	kind->whorl.bytes_max =
		(uint32_t)(shape->bytes_max < most - kind->head_bytes ? shape->bytes_max + kind->head_bytes : most);
	if (kind->head_bytes == 0)
		return true;
	kind->keys = calloc(1, sizeof(*kind->keys));
	if (kind->keys == NULL)
		return false;
	kind->keys[0].bytes = (uint32_t)kind->head_bytes;
	kind->whorl.keys = kind->keys;
	kind->whorl.key_count = 1;
	return true;
}

static struct wh_ddsc_kind *new_kind(void)
{
	struct wh_ddsc_kind *kind = calloc(1, sizeof(*kind));

	if (kind != NULL)
		wh_store_relaxed(&kind->refs, 1);
	return kind;
}

whorl_dds_return wh_ddsc_kind_new(struct wh_ddsc_kind **out, const struct wh_ddsc_descriptor *descriptor,
				  struct wh_error *err)
{
	struct wh_ddsc_kind *kind = new_kind();
	const struct wh_ddsc_shape *shape;
	whorl_dds_return result;

	*out = NULL;
	if (kind == NULL)
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	result = wh_ddsc_type_create(&kind->type, descriptor, err);
	if (result != WHORL_DDS_RETCODE_OK) {
		wh_ddsc_kind_let_go(kind);
		return result;
	}
	shape = wh_ddsc_type_shape(kind->type);
	kind->is_plain = shape->is_plain;
	kind->sample_bytes = shape->bytes;
	kind->whorl.size = sizeof(kind->whorl);
	kind->whorl.name = shape->name;
	kind->whorl.hash = kind->is_plain ? 0 : hash_of(shape, descriptor);
	if (!(kind->is_plain ? set_plain(kind, shape) : set_bytes(kind, shape))) {
		wh_ddsc_kind_let_go(kind);
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	}
	*out = kind;
	return result;
}

struct wh_ddsc_kind *wh_ddsc_kind_found(const struct whorl_dds_type *type)
{
	struct wh_ddsc_kind *kind = new_kind();

	if (kind == NULL)
		return NULL;
	kind->is_plain = true;
	kind->sample_bytes = type->bytes;
	kind->whorl.hash = type->hash;
	return kind;
}

struct wh_ddsc_kind *wh_ddsc_kind_builtin(uint32_t topic)
{
	struct wh_ddsc_kind *kind = new_kind();

	if (kind != NULL)
		kind->builtin = topic;
	return kind;
}

struct wh_ddsc_kind *wh_ddsc_kind_hold(struct wh_ddsc_kind *kind)
{
	if (kind != NULL)
		(void)wh_fetch_add(&kind->refs, 1);
	return kind;
}

void wh_ddsc_kind_let_go(struct wh_ddsc_kind *kind)
{
	if (kind == NULL || wh_fetch_add(&kind->refs, UINT64_MAX) != 1)
		return;
	wh_ddsc_type_free(kind->type);
	free(kind->keys);
	free(kind->texts);
	free(kind);
}

/* ---- samples ---------------------------------------------------------------------------------------------------------------- */

bool wh_ddsc_kind_head(const struct wh_ddsc_kind *kind, const void *sample, unsigned char *head)
{
	size_t bytes;

	if (kind->head_bytes == 0)
		return true;
	bytes = wh_ddsc_key_encode(kind->type, WH_DDSC_XCDR2, sample, head, kind->head_bytes);
	if (bytes > kind->head_bytes)
		return false;
	memset(head + bytes, 0, kind->head_bytes - bytes);
	return true;
}

size_t wh_ddsc_kind_bytes(const struct wh_ddsc_kind *kind, const void *sample, struct wh_error *err)
{
	size_t bytes;

	if (kind->is_plain)
		return kind->sample_bytes;
	bytes = wh_ddsc_encoded_bytes(kind->type, WH_DDSC_XCDR2, sample, err);
	return bytes < SIZE_MAX - kind->head_bytes ? bytes + kind->head_bytes : SIZE_MAX;
}

size_t wh_ddsc_kind_pack(const struct wh_ddsc_kind *kind, const void *sample, unsigned char *to, size_t room)
{
	size_t bytes;

	if (!wh_ddsc_kind_head(kind, sample, to))
		return SIZE_MAX;
	bytes = wh_ddsc_encode(kind->type, WH_DDSC_XCDR2, sample, to + kind->head_bytes, room - kind->head_bytes);
	return bytes != SIZE_MAX ? kind->head_bytes + bytes : SIZE_MAX;
}

bool wh_ddsc_kind_unpack(const struct wh_ddsc_kind *kind, const void *data, size_t bytes, bool valid, void *sample)
{
	const unsigned char *from = data;

	if (kind->is_plain) {
		memcpy(sample, data, kind->sample_bytes);
		return true;
	}
	if (bytes < kind->head_bytes)
		return false;
	if (valid)
		return wh_ddsc_decode(kind->type, WH_DDSC_XCDR2, false, from + kind->head_bytes,
				      bytes - kind->head_bytes, sample, NULL);
	wh_ddsc_sample_clear(kind->type, sample);
	return kind->head_bytes == 0 ||
	       wh_ddsc_key_decode(kind->type, WH_DDSC_XCDR2, false, from, kind->head_bytes, sample, NULL);
}

void wh_ddsc_kind_clear(const struct wh_ddsc_kind *kind, void *sample)
{
	if (kind->type != NULL)
		wh_ddsc_sample_clear(kind->type, sample);
	else
		memset(sample, 0, kind->sample_bytes);
}
