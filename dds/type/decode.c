/* decode.c - types from bytes, for those that have a topic from the domain alone. */
#include <stdlib.h>
#include <string.h>

#include "dds/type/type_int.h"

struct scratch { /* a type while it is read */
	struct whorl_dds_type type;
	struct whorl_dds_key keys[WH_DDS_KEYS_MAX];
	struct whorl_dds_field fields[WH_DDS_FIELDS_MAX];
	char names[WH_DDS_FIELDS_MAX + 1][WHORL_DDS_NAME_BYTES];
};

/* A text of less than WHORL_DDS_NAME_BYTES, without zeros; it may be empty. */
static const char *take_name(struct wh_dds_in *in, char *name)
{
	size_t length = wh_dds_take_within(in, 2, 0, WHORL_DDS_NAME_BYTES - 1);
	const unsigned char *bytes = wh_dds_take_bytes(in, length);

	if (bytes != NULL && memchr(bytes, 0, length) != NULL)
		in->ok = false;
	if (bytes == NULL || !in->ok)
		length = 0;
	if (length > 0)
		memcpy(name, bytes, length);
	name[length] = '\0';
	return name;
}

static void take_fields(struct wh_dds_in *in, struct scratch *scratch)
{
	struct whorl_dds_type *type = &scratch->type;

	type->key_count = (uint32_t)wh_dds_take_within(in, 2, 0, WH_DDS_KEYS_MAX);
	for (uint32_t i = 0; in->ok && i < type->key_count; i++) {
		scratch->keys[i].offset = (uint32_t)wh_dds_take(in, 4);
		scratch->keys[i].bytes = (uint32_t)wh_dds_take(in, 4);
	}
	type->field_count = (uint32_t)wh_dds_take_within(in, 2, 0, WH_DDS_FIELDS_MAX);
	for (uint32_t i = 0; in->ok && i < type->field_count; i++) {
		struct whorl_dds_field *field = &scratch->fields[i];

		field->size = sizeof(*field);
		field->name = take_name(in, scratch->names[i + 1]);
		field->kind = (uint32_t)wh_dds_take(in, 1);
		field->flags = (uint32_t)wh_dds_take(in, 1);
		field->offset = (uint32_t)wh_dds_take(in, 4);
		field->count = (uint32_t)wh_dds_take(in, 4);
	}
}

static whorl_dds_return decode(struct scratch *scratch, struct whorl_dds_type **out, struct wh_dds_in *in,
			       struct wh_error *err)
{
	struct whorl_dds_type *type = &scratch->type;

	type->size = sizeof(*type);
	wh_dds_take_within(in, 1, WH_DDS_TYPE_VERSION, WH_DDS_TYPE_VERSION);
	type->name = take_name(in, scratch->names[0]);
	type->bytes = (uint32_t)wh_dds_take(in, 4);
	type->align = (uint32_t)wh_dds_take(in, 1);
	type->flags = (uint32_t)wh_dds_take(in, 1);
	type->bytes_max = (uint32_t)wh_dds_take(in, 4);
	type->hash = wh_dds_take(in, 8);
	take_fields(in, scratch);
	type->keys = scratch->keys;
	type->fields = scratch->fields;
	if (wh_dds_in_end(in) == WHORL_OK)
		return wh_dds_type_new(out, type, err);
	wh_error_set(err, WHORL_INVALID, "these bytes are no type");
	return WHORL_DDS_RETCODE_BAD_PARAMETER;
}

whorl_dds_return wh_dds_type_decode(struct whorl_dds_type **out, const void *bytes, size_t count, struct wh_error *err)
{
	struct scratch *scratch = calloc(1, sizeof(*scratch));
	struct wh_dds_in in = {.at = bytes, .left = count, .ok = true};
	whorl_dds_return result;

	*out = NULL;
	if (scratch == NULL)
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	result = decode(scratch, out, &in, err);
	free(scratch);
	return result;
}
