/* examples/kv/slots.h - the slots of redis cluster: which of 16384 a key belongs to, and which shard a slot. */
#ifndef KV_SLOTS_H
#define KV_SLOTS_H

#include "resp/resp.h"

#define KV_SLOTS 16384

/* CRC16 (XMODEM) of the key, or of what is between its first { and the next }, if there is something: keys with the same tag are together. */
uint32_t kv_slot(struct kv_slice key);

/* Slots are shared out evenly, in runs. Part `i` of `count` begins with this slot: */
static inline uint32_t kv_first_slot(uint32_t i, uint32_t count)
{
	return (uint32_t)(((uint64_t)i * KV_SLOTS + count - 1) / count);
}

/* ...and this is the part that a slot is in. */
static inline uint32_t kv_part_of_slot(uint32_t slot, uint32_t count)
{
	return (uint32_t)((uint64_t)slot * count / KV_SLOTS);
}

#endif
