/* index.h - finds what hangs in a table by a number of 64 bits that is spread well, or by what it is made of.
 *
 * What is found has a wh_dds_link as its first member. Several may have the same number: the one that looks goes on to the next
 * (wh_dds_index_next). The table grows as it is filled; its order means nothing.
 */
#ifndef WH_DDS_INDEX_H
#define WH_DDS_INDEX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct wh_dds_link {
	struct wh_dds_link *next;
	uint64_t number;
};

struct wh_dds_index { /* all zero: empty */
	struct wh_dds_link **slots;
	size_t slot_count; /* a power of two */
	size_t count;
};

/* A table, if there is none: it has room for any number. False: no memory. */
bool wh_dds_index_reserve(struct wh_dds_index *index);
/* False: there is no table, and no memory for one; it does not hang there. */
bool wh_dds_index_add(struct wh_dds_index *index, struct wh_dds_link *link, uint64_t number);
void wh_dds_index_remove(struct wh_dds_index *index, struct wh_dds_link *link);
void wh_dds_index_free(struct wh_dds_index *index); /* not what hangs in it */

static inline struct wh_dds_link *wh_dds_index_next(struct wh_dds_link *link, uint64_t number)
{
	while (link != NULL && link->number != number)
		link = link->next;
	return link;
}

/* The first with this number; NULL if there is none. */
static inline struct wh_dds_link *wh_dds_index_find(const struct wh_dds_index *index, uint64_t number)
{
	return index->slot_count == 0 ? NULL
				      : wh_dds_index_next(index->slots[number & (index->slot_count - 1)], number);
}

/* Spreads what was counted, or is small. */
static inline uint64_t wh_dds_spread(uint64_t value)
{
	value ^= value >> 33;
	value *= UINT64_C(0xff51afd7ed558ccd);
	value ^= value >> 33;
	value *= UINT64_C(0xc4ceb9fe1a85ec53);
	return value ^ value >> 33;
}

#endif
