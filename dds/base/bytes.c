/* bytes.c - see bytes.h. */
#include "dds/base/bytes.h"

#include <stdlib.h>
#include <string.h>

struct wh_dds_block *wh_dds_block_new(const void *bytes, uint32_t count)
{
	struct wh_dds_block *block = aligned_alloc(16, (sizeof(*block) + count + 15) & ~(size_t)15);

	if (block == NULL)
		return NULL;
	wh_store_relaxed(&block->holders, 1);
	block->count = count;
	if (count > 0)
		memcpy(block->bytes, bytes, count);
	return block;
}

struct wh_dds_block *wh_dds_block_hold(struct wh_dds_block *block)
{
	if (block != NULL)
		wh_fetch_add(&block->holders, 1);
	return block;
}

/* Release: what a holder has read is read before another frees it. Partner: the acquire of the last one, in the same function. */
void wh_dds_block_drop(struct wh_dds_block *block)
{
	if (block != NULL && wh_fetch_add(&block->holders, UINT64_MAX) == 1)
		free(block);
}

void *wh_dds_list_room(void *list, uint32_t count, uint32_t *room, size_t each)
{
	uint32_t more = *room > 0 ? 2 * *room : 4;

	if (count < *room)
		return list;
	list = realloc(list, more * each);
	if (list != NULL)
		*room = more;
	return list;
}

static bool make_room(struct wh_dds_out *out, size_t more)
{
	size_t room = out->room > 0 ? out->room : 256;
	unsigned char *bytes;

	if (out->failed)
		return false;
	if (more <= out->room - out->count)
		return true;
	while (room - out->count < more)
		room *= 2;
	bytes = realloc(out->bytes, room);
	if (bytes == NULL) {
		out->failed = true;
		return false;
	}
	out->bytes = bytes;
	out->room = room;
	return true;
}

void wh_dds_put(struct wh_dds_out *out, const void *bytes, size_t count)
{
	if (count == 0 || !make_room(out, count))
		return;
	memcpy(out->bytes + out->count, bytes, count);
	out->count += count;
}

void wh_dds_put_number(struct wh_dds_out *out, uint64_t value, unsigned bytes)
{
	unsigned char number[8];

	for (unsigned i = 0; i < bytes; i++)
		number[i] = (unsigned char)(value >> 8 * i);
	wh_dds_put(out, number, bytes);
}

void wh_dds_put_text(struct wh_dds_out *out, const char *text)
{
	size_t length = strlen(text);

	wh_dds_put_number(out, length, 2);
	wh_dds_put(out, text, length);
}

void wh_dds_put_block(struct wh_dds_out *out, struct wh_dds_block *block)
{
	struct wh_dds_inset *insets;

	wh_dds_put_number(out, block != NULL ? block->count : 0, 4);
	if (block == NULL || block->count == 0 || out->failed)
		return;
	insets = wh_dds_list_room(out->insets, out->inset_count, &out->inset_room, sizeof(*insets));
	if (insets == NULL) {
		out->failed = true;
		return;
	}
	out->insets = insets;
	out->insets[out->inset_count++] = (struct wh_dds_inset){out->count, wh_dds_block_hold(block)};
	out->inset_bytes += block->count;
}

size_t wh_dds_out_bytes(const struct wh_dds_out *out)
{
	return out->count + out->inset_bytes;
}

/* The piece that lies at the cursor, which moves to its end or by `room`. */
static size_t next_piece(const struct wh_dds_out *out, struct wh_dds_cursor *cursor, size_t room,
			 const unsigned char **piece)
{
	const struct wh_dds_inset *inset = cursor->inset < out->inset_count ? &out->insets[cursor->inset] : NULL;
	size_t count;

	if (inset != NULL && inset->at == cursor->at) {
		*piece = inset->block->bytes + cursor->in_block;
		count = inset->block->count - cursor->in_block;
		if (count > room) {
			cursor->in_block += room;
			return room;
		}
		cursor->inset++;
		cursor->in_block = 0;
		return count;
	}
	*piece = out->bytes + cursor->at;
	count = (inset != NULL ? inset->at : out->count) - cursor->at;
	count = count < room ? count : room;
	cursor->at += count;
	return count;
}

size_t wh_dds_out_read(const struct wh_dds_out *out, struct wh_dds_cursor *cursor, void *to, size_t room)
{
	size_t done = 0;

	while (done < room) {
		const unsigned char *piece;
		size_t count = next_piece(out, cursor, room - done, &piece);

		if (count == 0)
			break;
		memcpy((unsigned char *)to + done, piece, count);
		done += count;
	}
	return done;
}

uint64_t wh_dds_out_digest(const struct wh_dds_out *out)
{
	struct wh_dds_cursor cursor = {0, 0, 0};
	uint64_t digest = UINT64_C(0xcbf29ce484222325); /* FNV-1a */
	const unsigned char *piece;
	size_t count;

	while ((count = next_piece(out, &cursor, SIZE_MAX, &piece)) > 0)
		for (size_t i = 0; i < count; i++)
			digest = (digest ^ piece[i]) * UINT64_C(0x100000001b3);
	return digest;
}

void wh_dds_out_free(struct wh_dds_out *out)
{
	for (uint32_t i = 0; i < out->inset_count; i++)
		wh_dds_block_drop(out->insets[i].block);
	free(out->insets);
	free(out->bytes);
	*out = (struct wh_dds_out){.bytes = NULL};
}

const unsigned char *wh_dds_take_bytes(struct wh_dds_in *in, size_t count)
{
	const unsigned char *at = in->at;

	if (in->left < count || !in->ok) {
		in->ok = false;
		in->left = 0;
		return NULL;
	}
	in->at += count;
	in->left -= count;
	return at;
}

uint64_t wh_dds_take(struct wh_dds_in *in, unsigned bytes)
{
	const unsigned char *at = wh_dds_take_bytes(in, bytes);
	uint64_t value = 0;

	for (unsigned i = 0; at != NULL && i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

uint64_t wh_dds_take_within(struct wh_dds_in *in, unsigned bytes, uint64_t least, uint64_t most)
{
	uint64_t value = wh_dds_take(in, bytes);

	if (value >= least && value <= most)
		return value;
	in->ok = false;
	return least;
}

char *wh_dds_take_text(struct wh_dds_in *in, size_t most)
{
	size_t length = (size_t)wh_dds_take_within(in, 2, 1, most);
	const unsigned char *at = wh_dds_take_bytes(in, length);
	char *text;

	if (at == NULL || memchr(at, 0, length) != NULL) {
		in->ok = false;
		return NULL;
	}
	text = malloc(length + 1);
	if (text == NULL) {
		wh_dds_starve(in);
		return NULL;
	}
	memcpy(text, at, length);
	text[length] = '\0';
	return text;
}

struct wh_dds_block *wh_dds_take_block(struct wh_dds_in *in, uint32_t most)
{
	uint32_t count = (uint32_t)wh_dds_take_within(in, 4, 0, most);
	const unsigned char *at = wh_dds_take_bytes(in, count);
	struct wh_dds_block *block;

	if (at == NULL || count == 0)
		return NULL;
	block = wh_dds_block_new(at, count);
	if (block == NULL)
		wh_dds_starve(in);
	return block;
}

void *wh_dds_take_room(struct wh_dds_in *in, size_t bytes)
{
	void *room = in->ok ? calloc(1, bytes > 0 ? bytes : 1) : NULL;

	if (room == NULL && in->ok)
		wh_dds_starve(in);
	return room;
}

enum whorl_result wh_dds_in_end(const struct wh_dds_in *in)
{
	if (in->starved)
		return WHORL_MEMORY;
	return in->ok && in->left == 0 ? WHORL_OK : WHORL_INVALID;
}
