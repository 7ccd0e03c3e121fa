/* type_int.h - what the files of type.h share. */
#ifndef WH_DDS_TYPE_INT_H
#define WH_DDS_TYPE_INT_H

#include "dds/type/type.h"

#define WH_DDS_TYPE_VERSION 1 /* of types as bytes */

/* Bytes of one element of a field; 0: there is no such kind. */
uint32_t wh_dds_kind_bytes(uint32_t kind);

static inline const struct whorl_dds_field *wh_dds_field_at(const struct whorl_dds_type *type, uint32_t i)
{
	return WHORL_AT(whorl_dds_field, type->fields, i);
}

#endif
