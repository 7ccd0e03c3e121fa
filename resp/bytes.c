/* resp/bytes.c - bytes that grow at their end: bytes.h. */
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "resp/bytes.h"

#define FIRST_ROOM 64

char *kv_bytes_reserve(struct kv_bytes *bytes, size_t more)
{
	size_t room = bytes->room > 0 ? bytes->room : FIRST_ROOM;
	char *data;

	if (bytes->failed)
		return NULL;
	if (bytes->data != NULL && more <= bytes->room - bytes->used)
		return bytes->data + bytes->used;
	while (room - bytes->used < more && room <= SIZE_MAX / 2)
		room *= 2;
	data = room - bytes->used < more ? NULL : realloc(bytes->data, room);
	if (data == NULL)
		return bytes->failed = true, NULL;
	bytes->data = data;
	bytes->room = room;
	return data + bytes->used;
}

void kv_bytes_add(struct kv_bytes *bytes, const void *data, size_t count)
{
	char *to = count > 0 ? kv_bytes_reserve(bytes, count) : NULL;

	if (to != NULL) {
		memcpy(to, data, count);
		bytes->used += count;
	}
}

void kv_bytes_text(struct kv_bytes *bytes, const char *text)
{
	kv_bytes_add(bytes, text, strlen(text));
}

void kv_bytes_print(struct kv_bytes *bytes, const char *format, ...)
{
	va_list args;
	char *to;
	int count;

	va_start(args, format);
	count = vsnprintf(NULL, 0, format, args);
	va_end(args);
	to = count < 0 ? NULL : kv_bytes_reserve(bytes, (size_t)count + 1);
	if (to == NULL)
		return;
	va_start(args, format);
	(void)vsnprintf(to, (size_t)count + 1, format, args);
	va_end(args);
	bytes->used += (size_t)count;
}

void kv_bytes_drop(struct kv_bytes *bytes, size_t count)
{
	if (count > 0)
		memmove(bytes->data, bytes->data + count, bytes->used - count);
	bytes->used -= count;
}

void kv_bytes_clear(struct kv_bytes *bytes, size_t keep)
{
	bytes->used = 0;
	bytes->failed = false;
	if (bytes->room > keep) {
		free(bytes->data);
		*bytes = (struct kv_bytes){0};
	}
}
