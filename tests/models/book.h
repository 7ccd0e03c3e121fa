/* book.h - states that have been seen. They are numbered in the order in which they came, and have no holes that are not set: they are
 * compared as bytes.
 */
#ifndef WH_TESTS_MODELS_BOOK_H
#define WH_TESTS_MODELS_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct book {
	size_t state_bytes; /* set by the owner, all else 0, or ... */
	size_t same_bytes;  /* ... so many of them, the first ones, tell a state apart; 0: all do */
	size_t tail_bytes;  /* ... and so many are kept behind each that are not its own */
	unsigned char *states;
	uint32_t *table; /* 1 + number of a state */
	uint32_t count, room, table_size;
};

/* False: it was there. *number: which one it is, unless that is NULL. An end of memory ends the program. */
bool book_add(struct book *b, const void *state, const void *tail, uint32_t *number);
bool book_has(const struct book *b, const void *state);
void book_close(struct book *b);

/* What so many states take. */
static inline size_t bytes_of(const struct book *b, uint32_t count)
{
	return count * (((b->state_bytes + 3) & ~(size_t)3) + b->tail_bytes);
}

/* The state with that number, and its tail: until the next is added. */
static inline const void *book_state(const struct book *b, uint32_t number)
{
	return b->states + bytes_of(b, number);
}

static inline const void *book_tail(const struct book *b, uint32_t number)
{
	return b->states + bytes_of(b, number + 1) - b->tail_bytes;
}

uint64_t hash_bytes(const void *bytes, size_t count);

#endif
