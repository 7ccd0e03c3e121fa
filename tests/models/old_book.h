/* old_book.h - the states that a search has seen. An entry begins with its state, by which it is found; entries are numbered in the order in
 * which they came, and have no holes that are not set: they are compared as bytes.
 */
#ifndef WH_TESTS_MODELS_OLD_BOOK_H
#define WH_TESTS_MODELS_OLD_BOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct book {
	size_t state_bytes, entry_bytes; /* set by the owner, all else 0 */
	unsigned char *entries;
	uint32_t *table; /* 1 + number of an entry */
	uint32_t count, room, table_size;
};

/* False: one with its state was there. An end of memory ends the program. */
bool book_add(struct book *b, const void *entry);
bool book_has(const struct book *b, const void *state);
/* The number of the entry with that state, which is there. */
uint32_t book_find(const struct book *b, const void *state);
void book_close(struct book *b);

#endif
