/* encode.c - types as bytes: what their hash is of, and what those are told that have a topic from the domain alone. */
#include "dds/type/type_int.h"

void wh_dds_type_encode(const struct whorl_dds_type *type, struct wh_dds_out *out)
{
	wh_dds_put_number(out, WH_DDS_TYPE_VERSION, 1);
	wh_dds_put_text(out, type->name);
	wh_dds_put_number(out, type->bytes, 4);
	wh_dds_put_number(out, type->align, 1);
	wh_dds_put_number(out, type->flags, 1);
	wh_dds_put_number(out, type->bytes_max, 4);
	wh_dds_put_number(out, type->hash, 8);
	wh_dds_put_number(out, type->key_count, 2);
	for (uint32_t i = 0; i < type->key_count; i++) {
		wh_dds_put_number(out, type->keys[i].offset, 4);
		wh_dds_put_number(out, type->keys[i].bytes, 4);
	}
	wh_dds_put_number(out, type->field_count, 2);
	for (uint32_t i = 0; i < type->field_count; i++) {
		const struct whorl_dds_field *field = wh_dds_field_at(type, i);

		wh_dds_put_text(out, field->name);
		wh_dds_put_number(out, field->kind, 1);
		wh_dds_put_number(out, field->flags, 1);
		wh_dds_put_number(out, field->offset, 4);
		wh_dds_put_number(out, field->count, 4);
	}
}
