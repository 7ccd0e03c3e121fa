/* backlog.c - see backlog.h. */
#include "state/backlog.h"

#include <stdlib.h>
#include <string.h>

#include "base/pieces.h"

#define ALIGN 16
#define ALIGNED(bytes) (((bytes) + (ALIGN - 1)) & ~(size_t)(ALIGN - 1))

struct record {
	_Alignas(ALIGN) struct whorl_message message; /* its data stands behind it */
};

struct wh_backlog_block {
	struct wh_backlog_block *next;
	size_t bytes;      /* of `records` */
	size_t begin, end; /* what of it is kept */
	_Alignas(ALIGN) unsigned char records[];
};

static size_t record_bytes(const struct whorl_message *message)
{
	return sizeof(struct record) + ALIGNED(message->bytes);
}

static struct record *record_at(struct wh_backlog_block *block, size_t offset)
{
	return (struct record *)(void *)(block->records + offset);
}

static enum whorl_result add_block(struct wh_backlog *backlog, size_t needed)
{
	size_t bytes = sizeof(struct wh_backlog_block) + needed;
	struct wh_backlog_block *block;

	if (bytes < WH_BACKLOG_BLOCK)
		bytes = WH_BACKLOG_BLOCK;
	if (bytes > backlog->max - backlog->allocated)
		return WHORL_MEMORY;
	block = malloc(bytes);
	if (block == NULL)
		return WHORL_SYSTEM;
	block->next = NULL;
	block->bytes = bytes - sizeof(*block);
	block->begin = block->end = 0;
	if (backlog->last != NULL)
		backlog->last->next = block;
	else
		backlog->first = block;
	backlog->last = block;
	backlog->allocated += bytes;
	return WHORL_OK;
}

enum whorl_result wh_backlog_append(struct wh_backlog *backlog, const struct whorl_message *message)
{
	size_t needed = record_bytes(message);
	struct wh_backlog_block *block = backlog->last;
	struct record *record;

	if (block == NULL || block->bytes - block->end < needed) {
		enum whorl_result result = add_block(backlog, needed);

		if (result != WHORL_OK)
			return result;
		block = backlog->last;
	}
	record = record_at(block, block->end);
	record->message = *message;
	record->message.data = record + 1;
	record->message.parts = 1;
	record->message.pieces = NULL;
	if (message->pieces != NULL)
		(void)wh_pieces_copy(message->pieces, 0, record + 1, message->bytes);
	else if (message->bytes > 0)
		memcpy(record + 1, message->data, message->bytes);
	block->end += needed;
	backlog->messages++;
	return WHORL_OK;
}

size_t wh_backlog_oldest(const struct wh_backlog *backlog, struct whorl_message *out, size_t most)
{
	struct wh_backlog_block *block = backlog->first;
	size_t count = 0;

	if (block == NULL)
		return 0;
	for (size_t offset = block->begin; count < most && offset < block->end; count++) {
		out[count] = record_at(block, offset)->message;
		offset += record_bytes(&out[count]);
	}
	return count;
}

const struct whorl_message *wh_backlog_walk(const struct wh_backlog *backlog, struct wh_backlog_place *place)
{
	const struct record *record;

	if (!place->walks) {
		place->walks = true;
		place->block = backlog->first;
		place->offset = place->block != NULL ? place->block->begin : 0;
	}
	if (place->block == NULL)
		return NULL;
	record = (const struct record *)(const void *)(place->block->records + place->offset);
	place->offset += record_bytes(&record->message);
	if (place->offset == place->block->end) {
		place->block = place->block->next;
		place->offset = place->block != NULL ? place->block->begin : 0;
	}
	return &record->message;
}

static void free_first(struct wh_backlog *backlog)
{
	struct wh_backlog_block *block = backlog->first;

	backlog->first = block->next;
	if (backlog->first == NULL)
		backlog->last = NULL;
	backlog->allocated -= sizeof(*block) + block->bytes;
	free(block);
}

void wh_backlog_drop(struct wh_backlog *backlog, size_t count)
{
	struct wh_backlog_block *block = backlog->first;

	if (count == 0)
		return;
	backlog->messages -= count;
	while (count-- > 0)
		block->begin += record_bytes(&record_at(block, block->begin)->message);
	if (block->begin == block->end)
		free_first(backlog);
}

void wh_backlog_clear(struct wh_backlog *backlog)
{
	while (backlog->first != NULL)
		free_first(backlog);
	backlog->messages = 0;
}
