/* examples/kv/slots.c - slots of keys: slots.h. */
#include <string.h>

#include "examples/kv/slots.h"

static uint32_t crc16(const char *data, size_t bytes)
{
	uint32_t crc = 0;

	for (size_t i = 0; i < bytes; i++) {
		crc ^= (uint32_t)(unsigned char)data[i] << 8;
		for (int bit = 0; bit < 8; bit++)
			crc = crc & 0x8000 ? crc << 1 ^ 0x1021 : crc << 1;
	}
	return crc & 0xffff;
}

uint32_t kv_slot(struct kv_slice key)
{
	const char *open = key.bytes > 0 ? memchr(key.data, '{', key.bytes) : NULL;
	size_t behind = open != NULL ? key.bytes - (size_t)(open - key.data) - 1 : 0;
	const char *close = behind > 0 ? memchr(open + 1, '}', behind) : NULL;

	if (close != NULL && close > open + 1)
		return crc16(open + 1, (size_t)(close - open) - 1) % KV_SLOTS;
	return crc16(key.data, key.bytes) % KV_SLOTS;
}
