/* wire.c - what is believed of what a peer sends: nothing that does not have the size of its kind. */
#include "transport/verbs/wire.h"
#include "base/text.h"

#include <string.h>

static const struct {
	uint32_t least, most; /* bytes */
} kinds[WH_VERBS_KINDS] = {
	[WH_VERBS_CREDIT] = {sizeof(struct wh_verbs_head), sizeof(struct wh_verbs_head)},
	[WH_VERBS_OFFER] = {sizeof(struct wh_verbs_offer), WH_VERBS_MESSAGE_MAX},
	[WH_VERBS_MAPPED] = {sizeof(struct wh_verbs_about), sizeof(struct wh_verbs_about)},
	[WH_VERBS_SHUT] = {sizeof(struct wh_verbs_about), sizeof(struct wh_verbs_about)},
	[WH_VERBS_CONTROL] = {sizeof(struct wh_verbs_head), sizeof(struct wh_verbs_control)},
	[WH_VERBS_REFUSED] = {sizeof(struct wh_verbs_refused), sizeof(struct wh_verbs_refused)},
	[WH_VERBS_GOODBYE] = {sizeof(struct wh_verbs_head), sizeof(struct wh_verbs_head)},
	[WH_VERBS_STREAM_OPEN] = {sizeof(struct wh_verbs_stream_message), sizeof(struct wh_verbs_stream_message)},
	[WH_VERBS_STREAM_DATA] = {sizeof(struct wh_verbs_stream_message) + 1, WH_VERBS_MESSAGE_MAX},
	[WH_VERBS_STREAM_END] = {sizeof(struct wh_verbs_stream_message), sizeof(struct wh_verbs_stream_message)},
	[WH_VERBS_STREAM_TAKEN] = {sizeof(struct wh_verbs_stream_message), sizeof(struct wh_verbs_stream_message)},
	[WH_VERBS_STREAM_SHUT] = {sizeof(struct wh_verbs_stream_message), sizeof(struct wh_verbs_stream_message)},
	[WH_VERBS_LANE] = {sizeof(struct wh_verbs_region_message), sizeof(struct wh_verbs_region_message)},
	[WH_VERBS_GRANT] = {sizeof(struct wh_verbs_region_message), sizeof(struct wh_verbs_region_message)},
	[WH_VERBS_WITHDRAWN] = {sizeof(struct wh_verbs_region_message), sizeof(struct wh_verbs_region_message)},
	[WH_VERBS_RELEASED] = {sizeof(struct wh_verbs_region_message), sizeof(struct wh_verbs_region_message)},
	[WH_VERBS_IMMEDIATES] = {sizeof(struct wh_verbs_region_message), sizeof(struct wh_verbs_region_message)},
};

bool wh_verbs_message_is_sound(union wh_verbs_message *message, size_t bytes)
{
	const struct wh_verbs_head *head = &message->head;

	if (bytes < sizeof(*head) || head->bytes != bytes || head->kind == 0 || head->kind >= WH_VERBS_KINDS)
		return false;
	if (bytes < kinds[head->kind].least || bytes > kinds[head->kind].most)
		return false;
	if (head->kind == WH_VERBS_OFFER &&
	    (message->offer.part_count > WH_VERBS_PARTS_MAX ||
	     bytes != sizeof(message->offer) + message->offer.part_count * sizeof(message->offer.parts[0])))
		return false;
	if (head->kind == WH_VERBS_REFUSED)
		wh_text_tame(message->refused.reason, sizeof(message->refused.reason));
	return true;
}

bool wh_verbs_parts_are_sound(const struct wh_verbs_offer *offer, uint64_t row_bytes)
{
	uint64_t end = 0;

	for (uint32_t i = 0; i < offer->part_count; i++) {
		const struct wh_row_part *part = &offer->parts[i];

		if (part->offset < end || part->offset > row_bytes || part->bytes == 0 ||
		    part->bytes > row_bytes - part->offset)
			return false;
		end = part->offset + part->bytes;
	}
	return end <= UINT64_MAX - offer->base;
}

bool wh_verbs_read_hello(const void *bytes, size_t count, struct wh_verbs_hello *out)
{
	if (count < sizeof(*out))
		return false;
	memcpy(out, bytes, sizeof(*out));
	return out->magic == WH_VERBS_MAGIC && out->incarnation != 0;
}

bool wh_verbs_read_refusal(const void *bytes, size_t count, struct wh_verbs_refusal *out)
{
	if (count < sizeof(*out))
		return false;
	memcpy(out, bytes, sizeof(*out));
	wh_text_tame(out->reason, sizeof(out->reason));
	return out->hello.magic == WH_VERBS_MAGIC && out->hello.incarnation != 0 &&
	       (out->verdict == WH_VERBS_NOT_NOW || out->verdict == WH_VERBS_NEVER);
}

/* FNV-1a: against mistakes, not against forgers. */
uint64_t wh_verbs_group_digest(const char *group)
{
	uint64_t digest = UINT64_C(0xcbf29ce484222325);

	for (; *group != '\0'; group++)
		digest = (digest ^ (unsigned char)*group) * UINT64_C(0x100000001b3);
	return digest;
}
