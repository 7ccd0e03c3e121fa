/* index.c - see index.h. */
#include "dds/base/index.h"

#include <stdlib.h>

static bool grow(struct wh_dds_index *index)
{
	size_t slot_count = index->slot_count > 0 ? 2 * index->slot_count : 16;
	struct wh_dds_link **slots = calloc(slot_count, sizeof(*slots));

	if (slots == NULL)
		return false;
	for (size_t i = 0; i < index->slot_count; i++) {
		struct wh_dds_link *link = index->slots[i], *next;

		for (; link != NULL; link = next) {
			struct wh_dds_link **slot = &slots[link->number & (slot_count - 1)];

			next = link->next;
			link->next = *slot;
			*slot = link;
		}
	}
	free(index->slots);
	index->slots = slots;
	index->slot_count = slot_count;
	return true;
}

bool wh_dds_index_reserve(struct wh_dds_index *index)
{
	return index->slot_count > 0 || grow(index);
}

bool wh_dds_index_add(struct wh_dds_index *index, struct wh_dds_link *link, uint64_t number)
{
	struct wh_dds_link **slot;

	if (index->count >= index->slot_count && !grow(index) && index->slot_count == 0)
		return false;
	slot = &index->slots[number & (index->slot_count - 1)];
	link->number = number;
	link->next = *slot;
	*slot = link;
	index->count++;
	return true;
}

void wh_dds_index_remove(struct wh_dds_index *index, struct wh_dds_link *link)
{
	struct wh_dds_link **at = &index->slots[link->number & (index->slot_count - 1)];

	while (*at != link)
		at = &(*at)->next;
	*at = link->next;
	index->count--;
}

void wh_dds_index_free(struct wh_dds_index *index)
{
	free(index->slots);
	*index = (struct wh_dds_index){.slots = NULL};
}
