/* bytes.c - the buffers of a channel: bytes that have come, and bytes that are to go. */
#include "transport/secure/secure_int.h"

#include <stdlib.h>
#include <string.h>

bool wh_secure_bytes_put(struct wh_secure_bytes *b, const void *bytes, size_t count)
{
	size_t held = b->end - b->begin;

	if (count == 0)
		return true;
	if (b->room - b->end < count && b->begin >= held && b->room - held >= count) { /* so no byte is moved often */
		memmove(b->at, b->at + b->begin, held);
		b->begin = 0;
		b->end = held;
	}
	if (b->room - b->end < count) {
		size_t room = b->room == 0 ? 256 : b->room;
		unsigned char *at;

		while (room - b->end < count)
			room *= 2;
		at = realloc(b->at, room);
		if (at == NULL)
			return false;
		b->at = at;
		b->room = room;
	}
	memcpy(b->at + b->end, bytes, count);
	b->end += count;
	return true;
}

size_t wh_secure_bytes_take(struct wh_secure_bytes *b, void *out, size_t count)
{
	size_t held = b->end - b->begin;

	if (count > held)
		count = held;
	if (count > 0 && out != NULL)
		memcpy(out, b->at + b->begin, count);
	b->begin += count;
	if (b->begin == b->end)
		b->begin = b->end = 0;
	return count;
}

void wh_secure_bytes_free(struct wh_secure_bytes *b)
{
	free(b->at);
	*b = (struct wh_secure_bytes){.at = NULL};
}
