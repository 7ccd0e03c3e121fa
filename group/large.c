/* large.c - where the parts of large messages lie: of claims, and of messages that are upcalled (docs/decisions/0045). */
#include "group/node_int.h"
#include "group/refuse.h"

enum whorl_result whorl_claim_part(const struct whorl_claim *claim, uint32_t part, void **data, size_t *bytes)
{
	const whorl_subgroup *subgroup;
	struct wh_pieces pieces;
	const unsigned char *begin;
	size_t at;

	if (claim == NULL || claim->stream == NULL)
		return WH_REFUSE(claim == NULL ? "no claim" : "the claim is finished already");
	if (data == NULL || bytes == NULL)
		return WH_REFUSE("no place for the part");
	subgroup = claim->stream;
	pieces = wh_slot_pieces(&subgroup->fixed.slots, claim->slot, claim->data, claim->bytes);
	if (part >= pieces.count)
		return WHORL_NOT_FOUND;
	begin = wh_pieces_at(&pieces, part, &at, bytes);
	/* It lies in the claim's own ring, where all may be written that was claimed. */
	*data = (unsigned char *)claim->data + (begin - pieces.begin);
	return WHORL_OK;
}

enum whorl_result whorl_message_part(const struct whorl_message *message, uint32_t part, const void **data,
				     size_t *bytes)
{
	size_t at;

	if (message == NULL || data == NULL || bytes == NULL)
		return WH_REFUSE(message == NULL ? "no message" : "no place for the part");
	if (part >= message->parts)
		return WHORL_NOT_FOUND;
	if (message->pieces == NULL) {
		*data = message->data;
		*bytes = message->bytes;
	} else {
		*data = wh_pieces_at(message->pieces, part, &at, bytes);
	}
	return WHORL_OK;
}

size_t whorl_message_copy(const struct whorl_message *message, size_t from, void *into, size_t most)
{
	if (message == NULL || (into == NULL && most > 0))
		return WH_REFUSE(message == NULL ? "no message" : "no place for the bytes"), 0;
	if (message->pieces != NULL)
		return wh_pieces_copy(message->pieces, from, into, most);
	if (from >= message->bytes)
		return 0;
	if (most > message->bytes - from)
		most = message->bytes - from;
	if (most > 0)
		memcpy(into, (const unsigned char *)message->data + from, most);
	return most;
}
