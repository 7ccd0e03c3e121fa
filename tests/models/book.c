/* book.c - see book.h. */
#include "book.h"

#include <stdlib.h>
#include <string.h>

uint64_t hash_bytes(const void *bytes, size_t count)
{
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15), word;

	for (; count >= sizeof(word); count -= sizeof(word), bytes = (const unsigned char *)bytes + sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	if (count == 0)
		return h;
	word = 0;
	memcpy(&word, bytes, count);
	h = (h ^ word) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 32;
}

static size_t same_bytes(const struct book *b)
{
	return b->same_bytes != 0 ? b->same_bytes : b->state_bytes;
}

static uint32_t *find_place(const struct book *b, const void *state)
{
	size_t bytes = same_bytes(b);
	uint32_t at = (uint32_t)hash_bytes(state, bytes) & (b->table_size - 1);

	while (b->table[at] != 0 && memcmp(book_state(b, b->table[at] - 1), state, bytes) != 0)
		at = (at + 1) & (b->table_size - 1);
	return &b->table[at];
}

static void grow_book(struct book *b)
{
	b->room = b->room != 0 ? 2 * b->room : 256;
	b->table_size = 2 * b->room;
	free(b->table);
	b->states = realloc(b->states, bytes_of(b, b->room));
	b->table = calloc(b->table_size, sizeof(*b->table));
	if (b->states == NULL || b->table == NULL)
		abort();
	for (uint32_t i = 0; i < b->count; i++)
		*find_place(b, book_state(b, i)) = i + 1;
}

bool book_has(const struct book *b, const void *state)
{
	return b->count > 0 && *find_place(b, state) != 0;
}

bool book_add(struct book *b, const void *state, const void *tail, uint32_t *number)
{
	uint32_t *place;
	bool is_new;

	if (b->count == b->room)
		grow_book(b);
	place = find_place(b, state);
	is_new = *place == 0;
	if (is_new) {
		memcpy(b->states + bytes_of(b, b->count), state, b->state_bytes);
		if (b->tail_bytes > 0)
			memcpy(b->states + bytes_of(b, b->count + 1) - b->tail_bytes, tail, b->tail_bytes);
		*place = ++b->count;
	}
	if (number != NULL)
		*number = *place - 1;
	return is_new;
}

void book_close(struct book *b)
{
	free(b->states);
	free(b->table);
	b->states = NULL;
	b->table = NULL;
	b->count = b->room = b->table_size = 0;
}
