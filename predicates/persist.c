/* persist.c - see persist.h. */
#include "predicates/persist.h"

#include <stdlib.h>

enum whorl_result wh_persist_init(struct wh_persist *persist, uint32_t senders, struct wh_error *err)
{
	*persist = (struct wh_persist){.sender_count = senders};
	persist->senders = calloc(senders + 1, sizeof(*persist->senders));
	if (persist->senders == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u senders", senders);
	for (uint32_t s = 0; s < senders; s++)
		wh_store_relaxed(&persist->senders[s].first, UINT64_MAX);
	return WHORL_OK;
}

void wh_persist_close(struct wh_persist *persist)
{
	free(persist->senders);
	persist->senders = NULL;
}

enum whorl_result wh_walk_begin(struct wh_walk *walk, struct wh_error *err)
{
	walk->senders = calloc(walk->from->sender_count + 1, sizeof(*walk->senders));
	if (walk->senders == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u senders", walk->from->sender_count);
	for (uint32_t s = 0; s < walk->from->sender_count; s++)
		walk->senders[s].next = UINT64_MAX;
	return WHORL_OK;
}

void wh_walk_close(struct wh_walk *walk)
{
	free(walk->senders);
	walk->senders = NULL;
}

static const unsigned char *row_of(const struct wh_walk *walk)
{
	return (const unsigned char *)(uintptr_t)wh_load_relaxed(&walk->from->senders[walk->rank].row);
}

/* The header of the next slot of the sender that has its turn, once it is announced. False: it is not, so what comes next of it is of a later
 * round. Newer words than those that came with `received` do no harm: they announce more. */
static bool look_ahead(struct wh_walk *walk)
{
	struct wh_walk_sender *sender = &walk->senders[walk->rank];
	const struct wh_persist_sender *from = &walk->from->senders[walk->rank];

	if (sender->looked)
		return true;
	if (sender->next == UINT64_MAX) {
		sender->next = wh_load_relaxed(&from->first);
		sender->next_slot = (uint32_t)(sender->next % walk->slots[walk->rank].window);
	}
	if (sender->next == UINT64_MAX || sender->next >= wh_load_relaxed(&from->announced))
		return false;
	sender->ahead = wh_slot_read(&walk->slots[walk->rank], row_of(walk), sender->next_slot);
	sender->looked = true;
	return true;
}

/* The parts hold together, as in delivery (parts_hold there). */
static bool take_parts(const struct wh_walk *walk, struct wh_walked *out)
{
	const struct wh_walk_sender *sender = &walk->senders[walk->rank];
	const struct wh_slots *slots = &walk->slots[walk->rank];
	struct wh_slot_header first = sender->ahead, header = first;
	uint32_t slot = sender->next_slot;

	if (out->slots > walk->parts_most ||
	    out->slots > wh_load_relaxed(&walk->from->senders[walk->rank].announced) - sender->next)
		return false;
	for (uint32_t k = 0; k < out->slots; k++) {
		if (k > 0) {
			slot = wh_slot_next(slots, slot);
			header = wh_slot_read(slots, row_of(walk), slot);
		}
		if (header.round != first.round || header.aborted != first.aborted || (k > 0 && header.more != 0) ||
		    header.bytes > walk->message_bytes ||
		    (header.bytes > 0 && out->bytes != (uint64_t)k * walk->message_bytes))
			return false;
		out->bytes += header.bytes;
	}
	return true;
}

/* The slots of this round. *is_message: they hold one. False: they make no sense. */
static bool take_round(struct wh_walk *walk, struct wh_walked *out, bool *is_message)
{
	struct wh_walk_sender *sender = &walk->senders[walk->rank];
	const struct wh_slots *slots = &walk->slots[walk->rank];
	const unsigned char *data = row_of(walk) + wh_slot_payload(slots, sender->next_slot);

	*out = (struct wh_walked){.sender = walk->rank,
				  .slots = (uint32_t)sender->ahead.more + 1,
				  .sequence = walk->sequence,
				  .index = sender->next};
	if (!take_parts(walk, out))
		return false;
	*is_message = !sender->ahead.aborted;
	out->pieces = wh_slot_pieces(slots, sender->next_slot, data, out->bytes);
	sender->next += out->slots;
	sender->next_slot = wh_slot_behind(sender->next_slot, out->slots, slots->window);
	sender->looked = false;
	return true;
}

static void pass_place(struct wh_walk *walk)
{
	walk->sequence++;
	if (++walk->rank == walk->from->sender_count) {
		walk->rank = 0;
		walk->round++;
	}
}

enum wh_walk_step wh_walk_next(struct wh_walk *walk, uint64_t limit, struct wh_walked *out)
{
	while (walk->sequence < limit) {
		bool is_message = false;

		if (look_ahead(walk) && walk->senders[walk->rank].ahead.round <= walk->round) { /* else a null */
			if (walk->senders[walk->rank].ahead.round != walk->round || !take_round(walk, out, &is_message))
				return WH_WALK_BROKEN;
		}
		pass_place(walk);
		if (is_message)
			return WH_WALK_MESSAGE;
	}
	return WH_WALK_END;
}
