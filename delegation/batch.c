/* batch.c - see batch.h. */
#include "delegation/batch.h"

#include <stdlib.h>

#define LEAST_BYTES 2048
#define KEPT_BYTES ((size_t)256 * 1024) /* more than that is given back when it is empty */

bool wh_batch_is_whole_in(const struct wh_slot *slot, int more)
{
	const unsigned char *args;
	struct wh_record record;
	struct wh_reader reader;

	if (!wh_reader_in(&reader, slot, more))
		return false;
	for (unsigned i = 0; i < slot->count; i++)
		if (!wh_read_record(&reader, &record, &args))
			return false;
	return reader.at == reader.end;
}

static bool make_room(struct wh_bytes *bytes, size_t count)
{
	size_t left = wh_bytes_left(bytes), capacity = bytes->capacity == 0 ? LEAST_BYTES : bytes->capacity;
	unsigned char *grown;

	if (bytes->data != NULL &&
	    left + count <= bytes->capacity / 2) { /* so each byte is moved once at most for each that is added */
		memmove(bytes->data, bytes->data + bytes->begin, left);
	} else {
		while (capacity < left + count)
			capacity *= 2;
		capacity = capacity == bytes->capacity ? 2 * capacity : capacity;
		grown = malloc(capacity);
		if (grown == NULL)
			return false;
		if (left > 0)
			memcpy(grown, bytes->data + bytes->begin, left);
		free(bytes->data);
		bytes->data = grown;
		bytes->capacity = capacity;
	}
	bytes->begin = 0;
	bytes->end = left;
	return true;
}

unsigned char *wh_bytes_add(struct wh_bytes *bytes, size_t count)
{
	unsigned char *room;

	if (bytes->begin == bytes->end) {
		wh_bytes_clear(bytes);
		if (bytes->capacity > KEPT_BYTES && count < KEPT_BYTES)
			wh_bytes_free(bytes);
	}
	if ((bytes->data == NULL || count > bytes->capacity - bytes->end) && !make_room(bytes, count))
		return NULL;
	room = bytes->data + bytes->end;
	bytes->end += count;
	return room;
}

bool wh_bytes_append(struct wh_bytes *bytes, const void *data, size_t count)
{
	size_t padded = wh_padded(count);
	unsigned char *room = wh_bytes_add(bytes, padded);

	if (room == NULL)
		return false;
	if (count > 0)
		memcpy(room, data, count);
	memset(room + count, 0, padded - count);
	return true;
}

void wh_bytes_free(struct wh_bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct wh_bytes){0};
}
