/* ddsc/dds_basic_types.h - handles of entities. */
#ifndef WHORL_COMPAT_DDSC_DDS_BASIC_TYPES_H
#define WHORL_COMPAT_DDSC_DDS_BASIC_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef int32_t dds_entity_t; /* > 0: a handle; < 0: why there is none, a result */

#define DDS_MIN_PSEUDO_HANDLE ((dds_entity_t)0x7fff0000)
#define DDS_CYCLONEDDS_HANDLE ((dds_entity_t)(DDS_MIN_PSEUDO_HANDLE + 256))

#endif
