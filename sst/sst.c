/* sst.c - see sst.h. */
#include "sst/sst.h"

#include <stdlib.h>

enum whorl_result wh_sst_init(struct wh_sst *sst, struct wh_diag *diag, struct wh_image *image,
			      const struct wh_layout *layout, struct wh_error *err)
{
	uint32_t words = layout->bytes / 8;

	*sst = (struct wh_sst){.diag = diag, .image = image, .words = words};
	sst->mine = calloc(words ? words : 1, sizeof(*sst->mine));
	if (sst->mine == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u words of the state table", words);
	return WHORL_OK;
}

void wh_sst_close(struct wh_sst *sst)
{
	free(sst->mine);
	sst->mine = NULL;
}

/* Every shared value only grows within a view: a row never takes anything back. */
static void raise_word(struct wh_sst *sst, uint32_t offset, uint64_t value)
{
	WH_CHECK(sst->diag, value >= sst->mine[offset / 8]);
	sst->mine[offset / 8] = value;
}

void wh_sst_publish(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_counter_col col, uint64_t value,
		    struct wh_to to)
{
	raise_word(sst, col.offset, value);
	wh_push_word(pushes, col.offset, value, to.ranks, to.count);
}

void wh_sst_publish_no_wake(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_counter_col col, uint64_t value,
			    struct wh_to to)
{
	raise_word(sst, col.offset, value);
	wh_push_word_no_wake(pushes, col.offset, value, to.ranks, to.count);
}

void wh_sst_publish_advised(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_counter_col col, uint64_t value,
			    unsigned advice, struct wh_to to)
{
	raise_word(sst, col.offset, value);
	wh_push_word_advised(pushes, col.offset, value, advice, to.ranks, to.count);
}

void wh_sst_publish_flag(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_flag_col col, struct wh_to to)
{
	raise_word(sst, col.offset, 1);
	wh_push_word(pushes, col.offset, 1, to.ranks, to.count);
}

void wh_sst_publish_array(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_array_col col, uint32_t index,
			  uint64_t value, struct wh_to to)
{
	uint32_t offset = col.offset + index * 8;

	WH_CHECK(sst->diag, index < col.count);
	raise_word(sst, offset, value);
	wh_push_word(pushes, offset, value, to.ranks, to.count);
}

enum whorl_result wh_sst_append(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_list_col col,
				const uint64_t *entries, uint32_t count, uint64_t consumed, struct wh_to to)
{
	uint64_t first = sst->mine[col.guard / 8];
	uint32_t start = (uint32_t)(first % col.capacity);
	uint32_t before_wrap = count < col.capacity - start ? count : col.capacity - start;

	WH_CHECK(sst->diag, consumed <= first);
	if (count == 0)
		return WHORL_OK;
	if (first + count - consumed > col.capacity)
		return WHORL_AGAIN;
	for (uint32_t i = 0; i < count; i++) {
		uint32_t offset = col.entries + (uint32_t)((first + i) % col.capacity) * 8;

		/* Relaxed: no node reads an entry before a guard that is posted later with release: the list's, or another. */
		wh_store_relaxed((wh_word *)(void *)(sst->image->own + offset), entries[i]);
		sst->mine[offset / 8] = entries[i];
	}
	wh_push_bytes(pushes, col.entries + start * 8, before_wrap * 8, to.ranks, to.count);
	if (before_wrap < count)
		wh_push_bytes(pushes, col.entries, (count - before_wrap) * 8, to.ranks, to.count);
	raise_word(sst, col.guard, first + count);
	wh_push_word(pushes, col.guard, first + count, to.ranks, to.count);
	return WHORL_OK;
}
