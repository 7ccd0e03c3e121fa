/* layout.c - see layout.h. */
#include "sst/layout.h"

#include "base/atomics.h"

static uint32_t take_words(struct wh_layout *layout, uint32_t words)
{
	uint32_t offset = layout->bytes;

	layout->bytes += words * (uint32_t)sizeof(wh_word);
	return offset;
}

struct wh_counter_col wh_layout_counter(struct wh_layout *layout)
{
	return (struct wh_counter_col){take_words(layout, 1)};
}

struct wh_flag_col wh_layout_flag(struct wh_layout *layout)
{
	return (struct wh_flag_col){take_words(layout, 1)};
}

struct wh_array_col wh_layout_array(struct wh_layout *layout, uint32_t count)
{
	return (struct wh_array_col){take_words(layout, count), count};
}

struct wh_list_col wh_layout_list(struct wh_layout *layout, uint32_t capacity)
{
	uint32_t guard = take_words(layout, 1);

	return (struct wh_list_col){guard, take_words(layout, capacity), capacity};
}

void wh_layout_line(struct wh_layout *layout)
{
	layout->bytes = (layout->bytes + WH_CACHE_LINE - 1) / WH_CACHE_LINE * WH_CACHE_LINE;
}
