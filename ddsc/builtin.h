/* builtin.h - samples of the built-in topics as the program knows them, made of whorl's. */
#ifndef WH_DDSC_BUILTIN_H
#define WH_DDSC_BUILTIN_H

#include <dds/dds.h>

#include <whorl/dds.h>

/* `topic`: WHORL_DDS_BUILTIN_TOPIC_*. */
size_t wh_ddsc_builtin_bytes(uint32_t topic);
/* Of whorl's sample; of one without data only the key. `to` is all 0, or cleared. False when memory is out. */
bool wh_ddsc_builtin_make(uint32_t topic, const void *from, bool valid, void *to);
void wh_ddsc_builtin_clear(uint32_t topic, void *sample);

/* 16 bytes that no other entity has: its handle, and zeros. */
void wh_ddsc_guid(uint8_t guid[16], dds_instance_handle_t handle);

#endif
