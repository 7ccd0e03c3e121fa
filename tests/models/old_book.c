/* old_book.c - see old_book.h. */
#include "old_book.h"

#include <stdlib.h>
#include <string.h>

static uint64_t hash_state(const struct book *b, const unsigned char *bytes)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15), word;

	for (size_t at = 0; at < b->state_bytes; at += sizeof(word)) {
		word = 0;
		memcpy(&word, bytes + at, b->state_bytes - at < sizeof(word) ? b->state_bytes - at : sizeof(word));
		h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h;
}

static uint32_t *find_place(const struct book *b, const void *state)
{
	uint32_t at = (uint32_t)hash_state(b, state) & (b->table_size - 1);

	while (b->table[at] != 0 && memcmp(b->entries + (b->table[at] - 1) * b->entry_bytes, state, b->state_bytes) != 0)
		at = (at + 1) & (b->table_size - 1);
	return &b->table[at];
}

static void grow_book(struct book *b)
{
	b->room = b->room != 0 ? 2 * b->room : 256;
	b->table_size = 2 * b->room;
	free(b->table);
	b->entries = realloc(b->entries, b->room * b->entry_bytes);
	b->table = calloc(b->table_size, sizeof(*b->table));
	if (b->entries == NULL || b->table == NULL)
		abort();
	for (uint32_t i = 0; i < b->count; i++)
		*find_place(b, b->entries + i * b->entry_bytes) = i + 1;
}

bool book_has(const struct book *b, const void *state)
{
	return b->count > 0 && *find_place(b, state) != 0;
}

uint32_t book_find(const struct book *b, const void *state)
{
	return *find_place(b, state) - 1;
}

bool book_add(struct book *b, const void *entry)
{
	uint32_t *place;

	if (b->count == b->room)
		grow_book(b);
	place = find_place(b, entry);
	if (*place != 0)
		return false;
	memcpy(b->entries + b->count * b->entry_bytes, entry, b->entry_bytes);
	*place = ++b->count;
	return true;
}

void book_close(struct book *b)
{
	free(b->entries);
	free(b->table);
	*b = (struct book){.state_bytes = b->state_bytes, .entry_bytes = b->entry_bytes};
}
