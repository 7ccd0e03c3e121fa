/* message.c - see message.h. */
#include "transport/session/message.h"

#include <string.h>

#include "base/text.h"

#define NUMBER_AT 12 /* in a head */

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

void wh_message_put_number(unsigned char *bytes, uint64_t value, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
}

uint64_t wh_message_take_number(const unsigned char *bytes, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

#define put wh_message_put_number
#define take wh_message_take_number

/* ---- heads -------------------------------------------------------------------------------------------------------- */

void wh_message_head_put(unsigned char bytes[WH_HEAD_BYTES], const struct wh_message_head *head)
{
	bytes[0] = head->kind;
	bytes[1] = head->flags;
	put(bytes + 2, head->ranges, 2);
	put(bytes + 4, head->words, 2);
	put(bytes + 6, 0, 2);
	put(bytes + 8, head->bytes, 4);
	put(bytes + NUMBER_AT, head->number, 8);
}

static bool body_fits(const struct wh_message_head *head)
{
	switch (head->kind) {
	case WH_MESSAGE_HELLO:
		return head->bytes >= WH_FIRST_BYTES + 16 && head->bytes <= WH_BODY_MAX;
	case WH_MESSAGE_STREAM:
	case WH_MESSAGE_QUERY:
		return head->bytes >= WH_FIRST_BYTES && head->bytes <= WH_BODY_MAX;
	case WH_MESSAGE_REFUSED:
		return head->bytes >= WH_REFUSED_BYTES && head->bytes < WH_REFUSED_BYTES + WH_MESSAGE_REASON_BYTES;
	case WH_MESSAGE_TAKEN:
	case WH_MESSAGE_MAPPED:
	case WH_MESSAGE_LEAVE:
	case WH_MESSAGE_PING:
	case WH_MESSAGE_PONG:
	case WH_MESSAGE_LANES:
		return head->bytes == 0;
	case WH_MESSAGE_OFFER:
		return head->bytes >= WH_OFFER_BYTES && head->bytes <= WH_BODY_MAX;
	case WH_MESSAGE_CONTROL:
		return head->bytes <= WH_CONTROL_MAX;
	case WH_MESSAGE_ANSWER:
		return head->bytes <= WH_ANSWER_MAX;
	case WH_MESSAGE_PUSH:
		return true;
	default:
		return head->bytes <= WH_BODY_MAX;
	}
}

bool wh_message_head_take(struct wh_message_head *head, const unsigned char bytes[WH_HEAD_BYTES])
{
	if (bytes[0] < WH_MESSAGE_HELLO || bytes[0] >= WH_MESSAGE_KINDS)
		return false;
	*head = (struct wh_message_head){
		.kind = bytes[0],
		.flags = bytes[1],
		.ranges = (uint16_t)take(bytes + 2, 2),
		.words = (uint16_t)take(bytes + 4, 2),
		.bytes = (uint32_t)take(bytes + 8, 4),
		.number = take(bytes + NUMBER_AT, 8),
	};
	return body_fits(head);
}

/* ---- bodies ------------------------------------------------------------------------------------------------------- */

/* Returns where the body begins. */
static unsigned char *begin(unsigned char *bytes, uint8_t kind, uint64_t number, size_t count)
{
	const struct wh_message_head head = {.kind = kind, .bytes = (uint32_t)count, .number = number};

	wh_message_head_put(bytes, &head);
	return bytes + WH_HEAD_BYTES;
}

/* The same for those that come first; returns what follows the version. */
static unsigned char *begin_first(unsigned char *bytes, uint8_t kind, uint32_t version, size_t count)
{
	unsigned char *body = begin(bytes, kind, 0, count);

	put(body, WH_MESSAGE_MAGIC, 8);
	put(body + 8, version, 4);
	return body + WH_FIRST_BYTES;
}

static bool take_first(uint32_t *version, const unsigned char *body)
{
	*version = (uint32_t)take(body + 8, 4);
	return take(body, 8) == WH_MESSAGE_MAGIC;
}

/* Text that has come from outside: it ends, and can be printed. */
static void take_text(char *text, size_t room, const unsigned char *bytes, size_t count)
{
	size_t n = count < room - 1 ? count : room - 1;

	memcpy(text, bytes, n);
	text[n] = '\0';
	wh_text_tame(text, room);
}

size_t wh_message_put_plain(unsigned char *bytes, uint8_t kind, uint64_t number)
{
	begin(bytes, kind, number, 0);
	return WH_HEAD_BYTES;
}

size_t wh_message_put_hello(unsigned char *bytes, const struct wh_hello *hello, size_t own)
{
	unsigned char *at = begin_first(bytes, WH_MESSAGE_HELLO, hello->version, WH_HELLO_BYTES + own);

	bytes[1] = (unsigned char)hello->lane;
	put(bytes + NUMBER_AT, hello->call, 8);
	put(at, hello->node, 4);
	put(at + 4, hello->nodes, 4);
	put(at + 8, hello->incarnation, 8);
	memcpy(at + 16, hello->group, WH_MESSAGE_GROUP_BYTES);
	return WH_HEAD_BYTES + WH_HELLO_BYTES;
}

bool wh_message_take_hello(struct wh_hello *hello, uint32_t mine, const struct wh_message_head *head,
			   const unsigned char *body)
{
	*hello = (struct wh_hello){.call = head->number};
	if (!take_first(&hello->version, body))
		return false;
	body += WH_FIRST_BYTES;
	hello->node = (uint32_t)take(body, 4);
	hello->nodes = (uint32_t)take(body + 4, 4);
	hello->incarnation = take(body + 8, 8);
	if (hello->version != mine)
		return true;
	if (head->bytes < WH_HELLO_BYTES || hello->incarnation == 0 || head->flags > WH_LANES_MAX)
		return false;
	hello->lane = head->flags;
	take_text(hello->group, sizeof(hello->group), body + 16, WH_MESSAGE_GROUP_BYTES);
	return true;
}

size_t wh_message_put_opening(unsigned char *bytes, const struct wh_opening *opening)
{
	unsigned char *at = begin_first(bytes, WH_MESSAGE_STREAM, opening->version, WH_OPENING_BYTES);

	put(at, opening->node, 4);
	put(at + 4, opening->incarnation, 8);
	put(at + 12, opening->to, 8);
	put(at + 20, opening->tag, 8);
	return WH_HEAD_BYTES + WH_OPENING_BYTES;
}

bool wh_message_take_opening(struct wh_opening *opening, uint32_t mine, const struct wh_message_head *head,
			     const unsigned char *body)
{
	*opening = (struct wh_opening){.tag = 0};
	if (!take_first(&opening->version, body))
		return false;
	if (opening->version != mine)
		return true;
	if (head->bytes != WH_OPENING_BYTES)
		return false;
	body += WH_FIRST_BYTES;
	opening->node = (uint32_t)take(body, 4);
	opening->incarnation = take(body + 4, 8);
	opening->to = take(body + 12, 8);
	opening->tag = take(body + 20, 8);
	return true;
}

size_t wh_message_put_offer(unsigned char *bytes, const struct wh_offer *offer, size_t own)
{
	unsigned char *at = begin(bytes, WH_MESSAGE_OFFER, offer->key, WH_OFFER_BYTES + own);

	put(at, offer->layout_digest, 8);
	put(at + 8, offer->members, 4);
	put(at + 12, offer->rank, 4);
	put(at + 16, offer->row_bytes, 8);
	return WH_HEAD_BYTES + WH_OFFER_BYTES;
}

bool wh_message_take_offer(struct wh_offer *offer, const struct wh_message_head *head, const unsigned char *body)
{
	*offer = (struct wh_offer){
		.key = head->number,
		.layout_digest = take(body, 8),
		.members = (uint32_t)take(body + 8, 4),
		.rank = (uint32_t)take(body + 12, 4),
		.row_bytes = take(body + 16, 8),
	};
	return offer->rank < offer->members;
}

size_t wh_message_put_refused(unsigned char *bytes, uint32_t version, const struct wh_refused *refused)
{
	size_t count = strnlen(refused->reason, WH_MESSAGE_REASON_BYTES - 1);
	unsigned char *at = begin_first(bytes, WH_MESSAGE_REFUSED, version, WH_REFUSED_BYTES + count);

	put(at, refused->incarnation, 8);
	memcpy(at + 8, refused->reason, count);
	return WH_HEAD_BYTES + WH_REFUSED_BYTES + count;
}

bool wh_message_take_refused(struct wh_refused *refused, const struct wh_message_head *head, const unsigned char *body)
{
	uint32_t version;

	if (!take_first(&version, body))
		return false;
	refused->incarnation = take(body + WH_FIRST_BYTES, 8);
	take_text(refused->reason, sizeof(refused->reason), body + WH_REFUSED_BYTES, head->bytes - WH_REFUSED_BYTES);
	return true;
}

size_t wh_message_put_control(unsigned char *bytes, const void *message, size_t count)
{
	memcpy(begin(bytes, WH_MESSAGE_CONTROL, 0, count), message, count);
	return WH_HEAD_BYTES + count;
}

size_t wh_message_put_query(unsigned char *bytes, uint32_t version, const void *question, size_t count)
{
	memcpy(begin_first(bytes, WH_MESSAGE_QUERY, version, WH_FIRST_BYTES + count), question, count);
	return WH_HEAD_BYTES + WH_FIRST_BYTES + count;
}

bool wh_message_take_query(uint32_t *version, const unsigned char *body)
{
	return take_first(version, body);
}

size_t wh_message_put_answer_head(unsigned char *bytes, size_t count)
{
	begin(bytes, WH_MESSAGE_ANSWER, 0, count);
	return WH_HEAD_BYTES;
}
