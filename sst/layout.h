/* layout.h - where each column lies in a row.
 *
 * A row's control part is a sequence of words; a layout is made by adding columns one after another, in the same order
 * on every node, so that the same arithmetic gives the same places everywhere. What columns whorl has is said in one
 * place, sst/columns.h.
 *
 * All words of a row have the same writer, and rows of two writers never share a cache line, because each row starts at
 * a page. wh_layout_line() keeps columns that are written at different times off each other's lines.
 */
#ifndef WH_SST_LAYOUT_H
#define WH_SST_LAYOUT_H

#include <stdint.h>

/* Columns, one type for each kind, so that a counter cannot be read as a list. Offsets are in bytes from the row's
 * start and multiples of 8. Copied by value. */
struct wh_counter_col { /* grows */
	uint32_t offset;
};
struct wh_flag_col { /* 0, later 1 */
	uint32_t offset;
};
struct wh_array_col { /* `count` counters, each of its own */
	uint32_t offset, count;
};
static inline struct wh_counter_col wh_array_at(struct wh_array_col array, uint32_t index)
{
	return (struct wh_counter_col){array.offset + index * 8};
}
struct wh_list_col { /* appended; the guard counts what was ever appended */
	uint32_t guard, entries, capacity;
};

struct wh_layout {
	uint32_t bytes; /* so far */
};

struct wh_counter_col wh_layout_counter(struct wh_layout *layout);
struct wh_flag_col wh_layout_flag(struct wh_layout *layout);
struct wh_array_col wh_layout_array(struct wh_layout *layout, uint32_t count);
struct wh_list_col wh_layout_list(struct wh_layout *layout, uint32_t capacity);
void wh_layout_line(struct wh_layout *layout); /* the next column starts a cache line */

#endif
