/* message.c - see verbs/message.h. */
#include "transport/verbs/message.h"

#include <string.h>

#include "transport/verbs/verbs.h"

#define put wh_message_put_number
#define take wh_message_take_number

_Static_assert(WH_VERBS_HELLO_BYTES <= WH_OWN_HELLO_MAX, "what a hello can carry");
_Static_assert(WH_VERBS_REQUEST_BYTES <= 56, "what a connection request can carry");
_Static_assert((int)WH_VERBS_KINDS <= (int)WH_MESSAGE_KINDS, "there are so many kinds");

/* ---- what it adds to messages of the session ------------------------------------------------------------------------ */

void wh_verbs_put_hello(unsigned char own[WH_VERBS_HELLO_BYTES])
{
	const uint64_t magic = WH_VERBS_MAGIC;

	memcpy(own, &magic, sizeof(magic));
}

bool wh_verbs_take_hello(const unsigned char *own, size_t bytes)
{
	const uint64_t magic = WH_VERBS_MAGIC;

	return bytes == sizeof(magic) && memcmp(own, &magic, sizeof(magic)) == 0;
}

size_t wh_verbs_put_offer(unsigned char *own, const struct wh_verbs_offer *offer, const struct wh_row_part *parts,
			  size_t part_count)
{
	unsigned char *at = own + WH_VERBS_OFFER_BYTES;

	put(own, offer->base, 8);
	put(own + 8, offer->rkey, 4);
	put(own + 12, offer->in_qp, 4);
	put(own + 16, offer->out_qp, 4);
	put(own + 20, offer->out_psn, 4);
	for (size_t i = 0; i < part_count; i++, at += WH_VERBS_PART_BYTES) {
		put(at, parts[i].offset, 8);
		put(at + 8, parts[i].bytes, 8);
	}
	return (size_t)(at - own);
}

static bool parts_hold(const struct wh_row_part *parts, size_t count, uint64_t base, uint64_t row_bytes)
{
	uint64_t end = 0;

	for (size_t i = 0; i < count; i++) {
		if (parts[i].offset < end || parts[i].offset > row_bytes || parts[i].bytes == 0 ||
		    parts[i].bytes > row_bytes - parts[i].offset)
			return false;
		end = parts[i].offset + parts[i].bytes;
	}
	return end <= UINT64_MAX - base; /* of no part the address overflows */
}

bool wh_verbs_take_offer(struct wh_verbs_offer *offer, struct wh_row_part parts[WH_VERBS_PARTS_MAX], size_t *part_count,
			 const unsigned char *own, size_t bytes, uint64_t row_bytes)
{
	const unsigned char *at = own + WH_VERBS_OFFER_BYTES;

	if (bytes < WH_VERBS_OFFER_BYTES || bytes > WH_OWN_OFFER_MAX ||
	    (bytes - WH_VERBS_OFFER_BYTES) % WH_VERBS_PART_BYTES != 0)
		return false;
	*offer = (struct wh_verbs_offer){
		.base = take(own, 8),
		.rkey = (uint32_t)take(own + 8, 4),
		.in_qp = (uint32_t)take(own + 12, 4),
		.out_qp = (uint32_t)take(own + 16, 4),
		.out_psn = (uint32_t)take(own + 20, 4),
	};
	*part_count = (bytes - WH_VERBS_OFFER_BYTES) / WH_VERBS_PART_BYTES;
	for (size_t i = 0; i < *part_count; i++, at += WH_VERBS_PART_BYTES)
		parts[i] = (struct wh_row_part){.offset = take(at, 8), .bytes = take(at + 8, 8)};
	return offer->out_psn >> 24 == 0 && parts_hold(parts, *part_count, offer->base, row_bytes);
}

/* ---- messages of its own -------------------------------------------------------------------------------------------- */

static uint32_t body_bytes(enum wh_verbs_kind kind)
{
	switch (kind) {
	case WH_VERBS_TOKEN:
		return WH_VERBS_TOKEN_BYTES;
	case WH_VERBS_ACCOUNT:
		return 8;
	case WH_VERBS_GRANT:
		return 20;
	default:
		return 0;
	}
}

size_t wh_verbs_put_message(unsigned char bytes[WH_VERBS_MESSAGE_MAX], const struct wh_verbs_message *message)
{
	const struct wh_message_head head = {
		.kind = (uint8_t)message->kind, .bytes = body_bytes(message->kind), .number = message->number};
	unsigned char *body = bytes + WH_HEAD_BYTES;

	wh_message_head_put(bytes, &head);
	switch (message->kind) {
	case WH_VERBS_TOKEN:
		memcpy(body, message->token, WH_VERBS_TOKEN_BYTES);
		break;
	case WH_VERBS_ACCOUNT:
		put(body, message->qp, 4);
		put(body + 4, message->psn, 4);
		break;
	case WH_VERBS_GRANT:
		put(body, message->bytes, 8);
		put(body + 8, message->address, 8);
		put(body + 16, message->rkey, 4);
		break;
	default:
		break;
	}
	return WH_HEAD_BYTES + head.bytes;
}

bool wh_verbs_take_message(struct wh_verbs_message *message, const struct wh_message_head *head,
			   const unsigned char *body)
{
	if (head->kind < WH_VERBS_TOKEN || head->kind >= WH_VERBS_KINDS ||
	    head->bytes != body_bytes((enum wh_verbs_kind)head->kind))
		return false;
	*message = (struct wh_verbs_message){.kind = (enum wh_verbs_kind)head->kind, .number = head->number};
	switch (message->kind) {
	case WH_VERBS_TOKEN:
		memcpy(message->token, body, WH_VERBS_TOKEN_BYTES);
		return true;
	case WH_VERBS_ACCOUNT:
		message->qp = (uint32_t)take(body, 4);
		message->psn = (uint32_t)take(body + 4, 4);
		return message->psn >> 24 == 0;
	case WH_VERBS_GRANT:
		message->bytes = take(body, 8);
		message->address = take(body + 8, 8);
		message->rkey = (uint32_t)take(body + 16, 4);
		return message->address <= UINT64_MAX - message->bytes;
	default:
		return true;
	}
}

/* ---- a request to connect, by librdmacm ----------------------------------------------------------------------------- */

void wh_verbs_put_request(unsigned char bytes[WH_VERBS_REQUEST_BYTES], const struct wh_verbs_request *request)
{
	put(bytes, WH_VERBS_MAGIC, 8);
	put(bytes + 8, WH_VERBS_VERSION, 4);
	put(bytes + 12, request->node, 4);
	put(bytes + 16, request->incarnation, 8);
	memcpy(bytes + 24, request->token, WH_VERBS_TOKEN_BYTES);
}

bool wh_verbs_take_request(struct wh_verbs_request *request, const unsigned char *bytes, size_t count)
{
	if (count < WH_VERBS_REQUEST_BYTES || take(bytes, 8) != WH_VERBS_MAGIC ||
	    take(bytes + 8, 4) != WH_VERBS_VERSION)
		return false;
	*request = (struct wh_verbs_request){.node = (uint32_t)take(bytes + 12, 4), .incarnation = take(bytes + 16, 8)};
	memcpy(request->token, bytes + 24, WH_VERBS_TOKEN_BYTES);
	return true;
}
