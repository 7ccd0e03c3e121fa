/* type.c - types: checking, copying, keys. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dds/type/type_int.h"

#define SAYS(err, ...) (wh_error_set((err), WHORL_INVALID, __VA_ARGS__), WHORL_DDS_RETCODE_BAD_PARAMETER)

uint32_t wh_dds_kind_bytes(uint32_t kind)
{
	switch (kind) {
	case WHORL_DDS_FIELD_BOOL:
	case WHORL_DDS_FIELD_CHAR:
	case WHORL_DDS_FIELD_INT8:
	case WHORL_DDS_FIELD_UINT8:
		return 1;
	case WHORL_DDS_FIELD_INT16:
	case WHORL_DDS_FIELD_UINT16:
		return 2;
	case WHORL_DDS_FIELD_INT32:
	case WHORL_DDS_FIELD_UINT32:
	case WHORL_DDS_FIELD_FLOAT:
		return 4;
	case WHORL_DDS_FIELD_INT64:
	case WHORL_DDS_FIELD_UINT64:
	case WHORL_DDS_FIELD_DOUBLE:
		return 8;
	default:
		return 0;
	}
}

/* ---- hashes --------------------------------------------------------------------------------------------------------------- */

/* The finalizer of splitmix64. */
static uint64_t mix(uint64_t value)
{
	value = (value ^ value >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	value = (value ^ value >> 27) * UINT64_C(0x94d049bb133111eb);
	return value ^ value >> 31;
}

/* 128 bits of so many bytes. */
static void hash_bytes(const void *bytes, size_t count, unsigned char hash[WH_DDS_HASH_BYTES])
{
	uint64_t halves[2] = {mix(count), mix(~(uint64_t)count)}; /* two chains, which no word moves alike */

	for (size_t at = 0; at < count; at += 8) {
		uint64_t word = 0;

		memcpy(&word, (const char *)bytes + at, count - at < 8 ? count - at : 8);
		halves[0] = mix(halves[0] ^ word);
		halves[1] = mix(halves[1] + word * UINT64_C(0x9e3779b97f4a7c15));
	}
	memcpy(hash, halves, WH_DDS_HASH_BYTES);
}

/* Of all that must agree, when the program gives no hash: of the type as bytes, without its name. */
static bool make_hash(struct whorl_dds_type *type)
{
	struct wh_dds_out out = {.bytes = NULL};
	unsigned char hash[WH_DDS_HASH_BYTES];
	struct whorl_dds_type nameless = *type;
	bool made;

	nameless.name = "";
	wh_dds_type_encode(&nameless, &out);
	made = !out.failed;
	if (made) {
		hash_bytes(out.bytes, out.count, hash);
		memcpy(&type->hash, hash, sizeof(type->hash));
		type->hash += type->hash == 0;
	}
	wh_dds_out_free(&out);
	return made;
}

/* ---- checking --------------------------------------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
	size_t length = 0;

	if (name == NULL || (*name >= '0' && *name <= '9') || *name == '.')
		return false;
	for (; length < WHORL_DDS_NAME_BYTES && name[length] != '\0'; length++)
		if (strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.", name[length]) == NULL)
			return false;
	return length > 0 && length < WHORL_DDS_NAME_BYTES;
}

static whorl_dds_return check_field(const struct whorl_dds_type *type, uint32_t i, struct wh_error *err)
{
	const struct whorl_dds_field *field = wh_dds_field_at(type, i);
	uint64_t bytes = (uint64_t)field->count * wh_dds_kind_bytes(field->kind);

	if (field->size < sizeof(*field))
		return SAYS(err, "field %" PRIu32 ": its size is not set", i);
	if (!is_name(field->name))
		return SAYS(err, "field %" PRIu32 ": its name must be letters, digits, _ and .", i);
	if (field->kind == WHORL_DDS_FIELD_POINTER)
		return SAYS(err, "field %s is a pointer, or no number, text or array of numbers", field->name);
	if (wh_dds_kind_bytes(field->kind) == 0)
		return SAYS(err, "field %s: there is no kind %" PRIu32, field->name, field->kind);
	if (field->count == 0 || bytes > type->bytes || field->offset > type->bytes - bytes)
		return SAYS(err, "field %s does not lie in the %" PRIu32 " bytes of the type", field->name,
			    type->bytes);
	if ((field->flags & ~(uint32_t)WHORL_DDS_FIELD_IS_KEY) != 0 || field->unused != 0)
		return SAYS(err, "field %s has unknown flags", field->name);
	if ((type->flags & WHORL_DDS_TYPE_BYTES) != 0 && strcmp(field->name, "bytes") == 0)
		return SAYS(err, "field bytes: what is behind the head is called so");
	for (uint32_t k = 0; k < i; k++)
		if (strcmp(field->name, wh_dds_field_at(type, k)->name) == 0)
			return SAYS(err, "two fields are called %s", field->name);
	return WHORL_DDS_RETCODE_OK;
}

/* Of how many parts the key is. */
static uint32_t count_keys(const struct whorl_dds_type *type)
{
	uint32_t keys = 0;

	for (uint32_t i = 0; i < type->field_count; i++)
		keys += (wh_dds_field_at(type, i)->flags & WHORL_DDS_FIELD_IS_KEY) != 0;
	return type->key_count > 0 ? type->key_count : keys;
}

/* The parts that are listed, or those that the fields are. */
static whorl_dds_return check_keys(const struct whorl_dds_type *type, struct wh_error *err)
{
	uint64_t bytes = 0;
	uint32_t parts = count_keys(type);

	for (uint32_t i = 0; i < type->key_count; i++) {
		const struct whorl_dds_key *key = &type->keys[i];

		if (key->bytes == 0 || key->bytes > type->bytes || key->offset > type->bytes - key->bytes)
			return SAYS(err,
				    "part %" PRIu32 " of the key does not lie in the %" PRIu32 " bytes of the type", i,
				    type->bytes);
		bytes += key->bytes;
	}
	for (uint32_t i = 0; i < type->field_count && type->key_count == 0; i++) {
		const struct whorl_dds_field *field = wh_dds_field_at(type, i);

		if ((field->flags & WHORL_DDS_FIELD_IS_KEY) != 0)
			bytes += (uint64_t)field->count * wh_dds_kind_bytes(field->kind);
	}
	if (parts > WH_DDS_KEYS_MAX || bytes > WH_DDS_KEY_BYTES_MAX)
		return SAYS(err, "a key has at most %d parts and %d bytes, here %" PRIu32 " and %" PRIu64,
			    WH_DDS_KEYS_MAX, WH_DDS_KEY_BYTES_MAX, parts, bytes);
	return WHORL_DDS_RETCODE_OK;
}

static whorl_dds_return check_lists(const struct whorl_dds_type *type, struct wh_error *err)
{
	if (type->field_count > WH_DDS_FIELDS_MAX || (type->field_count > 0 && type->fields == NULL))
		return SAYS(err, "there may be %d fields, here are %" PRIu32, WH_DDS_FIELDS_MAX, type->field_count);
	if (type->key_count > WH_DDS_KEYS_MAX || (type->key_count > 0 && type->keys == NULL))
		return SAYS(err, "a key may have %d parts, here are %" PRIu32, WH_DDS_KEYS_MAX, type->key_count);
	for (uint32_t i = 0; i < type->field_count; i++) {
		whorl_dds_return result = check_field(type, i, err);

		if (result != WHORL_DDS_RETCODE_OK)
			return result;
	}
	return check_keys(type, err);
}

static whorl_dds_return check(const struct whorl_dds_type *type, struct wh_error *err)
{
	bool open = (type->flags & WHORL_DDS_TYPE_BYTES) != 0;

	if (type->size < sizeof(*type))
		return SAYS(err, "the size of the type is not set");
	if (type->name == NULL || strlen(type->name) >= WHORL_DDS_NAME_BYTES)
		return SAYS(err, "a type has a name of less than %d bytes", WHORL_DDS_NAME_BYTES);
	for (const char *at = type->name; *at != '\0'; at++)
		if (*at < ' ' || *at > '~')
			return SAYS(err, "the name of a type is printable ASCII");
	if ((type->flags & ~(uint32_t)WHORL_DDS_TYPE_BYTES) != 0)
		return SAYS(err, "the type has unknown flags");
	if (type->align == 0 || type->align > 64 || (type->align & (type->align - 1)) != 0)
		return SAYS(err, "the alignment is a power of two up to 64, here %" PRIu32, type->align);
	if (type->bytes > WH_DDS_SAMPLE_BYTES_MAX || (!open && (type->bytes == 0 || type->bytes % type->align != 0)))
		return SAYS(err, "a sample has 1 to %u bytes, a multiple of its alignment, here %" PRIu32,
			    WH_DDS_SAMPLE_BYTES_MAX, type->bytes);
	if (open ? type->bytes_max < type->bytes || type->bytes_max > WH_DDS_SAMPLE_BYTES_MAX : type->bytes_max != 0)
		return SAYS(err, "bytes_max is for WHORL_DDS_TYPE_BYTES, and no less than bytes there, here %" PRIu32,
			    type->bytes_max);
	return check_lists(type, err);
}

/* ---- copying ---------------------------------------------------------------------------------------------------------------- */

/* The key's parts, in the order of the list, or of the fields. */
static void fill_keys(struct whorl_dds_key *keys, const struct whorl_dds_type *type)
{
	uint32_t count = 0;

	if (type->key_count > 0)
		memcpy(keys, type->keys, type->key_count * sizeof(*keys));
	for (uint32_t i = 0; i < type->field_count && type->key_count == 0; i++) {
		const struct whorl_dds_field *field = wh_dds_field_at(type, i);

		if ((field->flags & WHORL_DDS_FIELD_IS_KEY) != 0)
			keys[count++] =
				(struct whorl_dds_key){field->offset, field->count * wh_dds_kind_bytes(field->kind)};
	}
}

static char *put_name(char **at, const char *name)
{
	char *put = *at;

	*at += strlen(name) + 1;
	return strcpy(put, name);
}

whorl_dds_return wh_dds_type_new(struct whorl_dds_type **out, const struct whorl_dds_type *type, struct wh_error *err)
{
	struct copy { /* the type, then keys, fields, names */
		struct whorl_dds_type type;
		struct whorl_dds_field fields[];
	} * copy;
	whorl_dds_return result = check(type, err);
	uint32_t keys;
	size_t names = 1;
	char *at;

	*out = NULL;
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	keys = count_keys(type);
	names += strlen(type->name);
	for (uint32_t i = 0; i < type->field_count; i++)
		names += strlen(wh_dds_field_at(type, i)->name) + 1;
	copy = calloc(1,
		      sizeof(*copy) + type->field_count * sizeof(*copy->fields) + keys * sizeof(*type->keys) + names);
	if (copy == NULL)
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	copy->type = (struct whorl_dds_type){.size = sizeof(*type),
					     .bytes = type->bytes,
					     .align = type->align,
					     .flags = type->flags,
					     .bytes_max = type->bytes_max,
					     .field_count = type->field_count,
					     .key_count = keys,
					     .hash = type->hash};
	at = (char *)&copy->fields[type->field_count];
	copy->type.keys = keys > 0 ? (struct whorl_dds_key *)(void *)at : NULL;
	copy->type.fields = type->field_count > 0 ? copy->fields : NULL;
	fill_keys((struct whorl_dds_key *)(void *)at, type);
	at += keys * sizeof(*type->keys);
	copy->type.name = put_name(&at, type->name);
	for (uint32_t i = 0; i < type->field_count; i++) {
		copy->fields[i] = *wh_dds_field_at(type, i);
		copy->fields[i].size = sizeof(*copy->fields);
		copy->fields[i].name = put_name(&at, wh_dds_field_at(type, i)->name);
	}
	if (type->hash == 0 && !make_hash(&copy->type)) {
		free(copy);
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	}
	*out = &copy->type;
	return WHORL_DDS_RETCODE_OK;
}

void wh_dds_type_free(struct whorl_dds_type *type)
{
	free(type);
}

/* ---- keys ------------------------------------------------------------------------------------------------------------------------- */

bool wh_dds_type_fits(const struct whorl_dds_type *type, size_t bytes)
{
	if ((type->flags & WHORL_DDS_TYPE_BYTES) == 0)
		return bytes == type->bytes;
	return bytes >= type->bytes && bytes <= type->bytes_max;
}

size_t wh_dds_type_key_bytes(const struct whorl_dds_type *type)
{
	size_t bytes = 0;

	for (uint32_t i = 0; i < type->key_count; i++)
		bytes += type->keys[i].bytes;
	return bytes;
}

/* Is this part of the key a text? Then its end is looked at. */
static bool is_text(const struct whorl_dds_type *type, const struct whorl_dds_key *key)
{
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct whorl_dds_field *field = wh_dds_field_at(type, i);

		if (field->offset == key->offset && field->count == key->bytes && field->kind == WHORL_DDS_FIELD_CHAR)
			return true;
	}
	return false;
}

void wh_dds_type_key(const struct whorl_dds_type *type, const void *sample, void *key)
{
	char *to = key;

	for (uint32_t i = 0; i < type->key_count; i++) {
		const struct whorl_dds_key *part = &type->keys[i];
		const char *from = (const char *)sample + part->offset;
		size_t bytes = is_text(type, part) ? strnlen(from, part->bytes) : part->bytes;

		memcpy(to, from, bytes);
		memset(to + bytes, 0, part->bytes - bytes);
		to += part->bytes;
	}
}

void wh_dds_type_key_hash(const struct whorl_dds_type *type, const void *sample, unsigned char hash[WH_DDS_HASH_BYTES])
{
	size_t bytes = wh_dds_type_key_bytes(type);
	unsigned char key[WH_DDS_KEY_BYTES_MAX];

	memset(hash, 0, WH_DDS_HASH_BYTES);
	if (bytes <= WH_DDS_HASH_BYTES) {
		wh_dds_type_key(type, sample, hash);
	} else {
		wh_dds_type_key(type, sample, key);
		hash_bytes(key, bytes, hash);
	}
}

void wh_dds_type_from_key(const struct whorl_dds_type *type, const void *key, void *sample)
{
	const char *from = key;

	memset(sample, 0, type->bytes);
	for (uint32_t i = 0; i < type->key_count; i++) {
		memcpy((char *)sample + type->keys[i].offset, from, type->keys[i].bytes);
		from += type->keys[i].bytes;
	}
}

void wh_dds_type_copy_key(const struct whorl_dds_type *type, const void *from, void *sample)
{
	unsigned char key[WH_DDS_KEY_BYTES_MAX];

	wh_dds_type_key(type, from, key);
	wh_dds_type_from_key(type, key, sample);
}
