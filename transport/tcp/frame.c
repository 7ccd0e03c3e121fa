/* frame.c - see tcp/frame.h. */
#include "transport/tcp/frame.h"
#include "base/text.h"

#include <string.h>

#define NUMBER_AT 12 /* in a head */

/* ---- numbers ------------------------------------------------------------------------------------------------------ */

static void put(unsigned char *bytes, uint64_t value, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		bytes[i] = (unsigned char)(value >> 8 * i);
}

static uint64_t take(const unsigned char *bytes, unsigned count)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < count; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

/* ---- heads -------------------------------------------------------------------------------------------------------- */

void wh_tcp_head_put(unsigned char bytes[WH_TCP_HEAD_BYTES], const struct wh_tcp_head *head)
{
	bytes[0] = (unsigned char)head->kind;
	bytes[1] = head->flags;
	put(bytes + 2, head->ranges, 2);
	put(bytes + 4, head->words, 2);
	put(bytes + 6, 0, 2);
	put(bytes + 8, head->bytes, 4);
	put(bytes + NUMBER_AT, head->number, 8);
}

static bool body_fits(const struct wh_tcp_head *head)
{
	switch (head->kind) {
	case WH_TCP_HELLO:
		return head->bytes >= WH_TCP_FIRST_BYTES + 16 && head->bytes <= WH_TCP_BODY_MAX;
	case WH_TCP_STREAM:
	case WH_TCP_QUERY:
		return head->bytes >= WH_TCP_FIRST_BYTES && head->bytes <= WH_TCP_BODY_MAX;
	case WH_TCP_REFUSED:
		return head->bytes >= WH_TCP_REFUSED_BYTES && head->bytes < WH_TCP_REFUSED_BYTES + WH_TCP_REASON_BYTES;
	case WH_TCP_TAKEN:
	case WH_TCP_MAPPED:
	case WH_TCP_LEAVE:
	case WH_TCP_PING:
	case WH_TCP_PONG:
		return head->bytes == 0;
	case WH_TCP_OFFER:
		return head->bytes == WH_TCP_OFFER_BYTES;
	case WH_TCP_PUSH:
		return head->ranges <= WH_TCP_RANGES_MAX && head->words <= WH_TCP_WORDS_MAX &&
		       head->bytes >= wh_tcp_table_bytes(head->ranges, head->words);
	case WH_TCP_CONTROL:
		return head->bytes <= WH_CONTROL_MAX;
	case WH_TCP_ANSWER:
		return head->bytes <= WH_ANSWER_MAX;
	case WH_TCP_GRANT:
		return head->bytes == WH_TCP_GRANT_BYTES;
	case WH_TCP_WITHDRAWN:
	case WH_TCP_CREDIT:
		return head->bytes == 0;
	case WH_TCP_REMOTE:
		return head->bytes >= WH_TCP_REMOTE_BYTES && head->bytes <= WH_TCP_REMOTE_MAX;
	case WH_TCP_REMOTE_DONE:
		return head->bytes <= WH_REMOTE_BYTES_MAX && head->bytes % sizeof(uint64_t) == 0;
	case WH_TCP_KINDS:
		break;
	}
	return false;
}

bool wh_tcp_head_take(struct wh_tcp_head *head, const unsigned char bytes[WH_TCP_HEAD_BYTES])
{
	if (bytes[0] < WH_TCP_HELLO || bytes[0] >= WH_TCP_KINDS)
		return false;
	*head = (struct wh_tcp_head){
		.kind = (enum wh_tcp_kind)bytes[0],
		.flags = bytes[1],
		.ranges = (uint16_t)take(bytes + 2, 2),
		.words = (uint16_t)take(bytes + 4, 2),
		.bytes = (uint32_t)take(bytes + 8, 4),
		.number = take(bytes + NUMBER_AT, 8),
	};
	return body_fits(head);
}

/* ---- pushes ------------------------------------------------------------------------------------------------------- */

void wh_tcp_span_put(unsigned char bytes[WH_TCP_RANGE_BYTES], const struct wh_tcp_span *span)
{
	put(bytes, span->offset, 8);
	put(bytes + 8, span->bytes, 4);
}

void wh_tcp_word_put(unsigned char bytes[WH_TCP_WORD_BYTES], const struct wh_tcp_word *word)
{
	put(bytes, word->offset, 8);
	put(bytes + 8, word->value, 8);
}

bool wh_tcp_table_take(const struct wh_tcp_head *head, const unsigned char *table,
		       struct wh_tcp_span spans[WH_TCP_RANGES_MAX], struct wh_tcp_word words[WH_TCP_WORDS_MAX])
{
	uint64_t left = head->bytes - wh_tcp_table_bytes(head->ranges, head->words);

	for (uint32_t i = 0; i < head->ranges; i++, table += WH_TCP_RANGE_BYTES) {
		spans[i] = (struct wh_tcp_span){.offset = take(table, 8), .bytes = (uint32_t)take(table + 8, 4)};
		if (spans[i].bytes == 0 || spans[i].bytes > left || spans[i].offset > UINT64_MAX - spans[i].bytes)
			return false;
		left -= spans[i].bytes;
	}
	for (uint32_t i = 0; i < head->words; i++, table += WH_TCP_WORD_BYTES) {
		words[i] = (struct wh_tcp_word){.offset = take(table, 8), .value = take(table + 8, 8)};
		if (words[i].offset % sizeof(uint64_t) != 0 || words[i].offset > UINT64_MAX - sizeof(uint64_t))
			return false;
	}
	return left == 0;
}

/* ---- other frames ------------------------------------------------------------------------------------------------- */

/* Returns where the body begins. */
static unsigned char *begin(unsigned char *bytes, enum wh_tcp_kind kind, uint64_t number, size_t count)
{
	const struct wh_tcp_head head = {.kind = kind, .bytes = (uint32_t)count, .number = number};

	wh_tcp_head_put(bytes, &head);
	return bytes + WH_TCP_HEAD_BYTES;
}

/* The same for those that strangers send; returns what follows the version. */
static unsigned char *begin_first(unsigned char *bytes, enum wh_tcp_kind kind, uint32_t version, size_t count)
{
	unsigned char *body = begin(bytes, kind, 0, count);

	put(body, WH_TCP_MAGIC, 8);
	put(body + 8, version, 4);
	return body + WH_TCP_FIRST_BYTES;
}

static bool take_first(uint32_t *version, const unsigned char *body)
{
	*version = (uint32_t)take(body + 8, 4);
	return take(body, 8) == WH_TCP_MAGIC;
}

/* Text that has come from outside: it ends, and can be printed. */
static void take_text(char *text, size_t room, const unsigned char *bytes, size_t count)
{
	size_t n = count < room - 1 ? count : room - 1;

	memcpy(text, bytes, n);
	text[n] = '\0';
	wh_text_tame(text, room);
}

size_t wh_tcp_put_plain(unsigned char *bytes, enum wh_tcp_kind kind, uint64_t number)
{
	begin(bytes, kind, number, 0);
	return WH_TCP_HEAD_BYTES;
}

size_t wh_tcp_put_hello(unsigned char *bytes, const struct wh_tcp_hello *hello)
{
	unsigned char *at = begin_first(bytes, WH_TCP_HELLO, hello->version, WH_TCP_HELLO_BYTES);

	put(bytes + NUMBER_AT, hello->call, 8);
	put(at, hello->node, 4);
	put(at + 4, hello->nodes, 4);
	put(at + 8, hello->incarnation, 8);
	memcpy(at + 16, hello->group, WH_TCP_GROUP_BYTES);
	return WH_TCP_HEAD_BYTES + WH_TCP_HELLO_BYTES;
}

bool wh_tcp_take_hello(struct wh_tcp_hello *hello, const struct wh_tcp_head *head, const unsigned char *body)
{
	*hello = (struct wh_tcp_hello){.call = head->number};
	if (!take_first(&hello->version, body))
		return false;
	body += WH_TCP_FIRST_BYTES;
	hello->node = (uint32_t)take(body, 4);
	hello->nodes = (uint32_t)take(body + 4, 4);
	hello->incarnation = take(body + 8, 8);
	if (hello->version != WH_TCP_VERSION)
		return true;
	if (head->bytes != WH_TCP_HELLO_BYTES || hello->incarnation == 0)
		return false;
	take_text(hello->group, sizeof(hello->group), body + 16, WH_TCP_GROUP_BYTES);
	return true;
}

size_t wh_tcp_put_opening(unsigned char *bytes, const struct wh_tcp_opening *opening)
{
	unsigned char *at = begin_first(bytes, WH_TCP_STREAM, opening->version, WH_TCP_STREAM_BYTES);

	put(at, opening->node, 4);
	put(at + 4, opening->incarnation, 8);
	put(at + 12, opening->to, 8);
	put(at + 20, opening->tag, 8);
	return WH_TCP_HEAD_BYTES + WH_TCP_STREAM_BYTES;
}

bool wh_tcp_take_opening(struct wh_tcp_opening *opening, const struct wh_tcp_head *head, const unsigned char *body)
{
	*opening = (struct wh_tcp_opening){.tag = 0};
	if (!take_first(&opening->version, body))
		return false;
	if (opening->version != WH_TCP_VERSION)
		return true;
	if (head->bytes != WH_TCP_STREAM_BYTES)
		return false;
	body += WH_TCP_FIRST_BYTES;
	opening->node = (uint32_t)take(body, 4);
	opening->incarnation = take(body + 4, 8);
	opening->to = take(body + 12, 8);
	opening->tag = take(body + 20, 8);
	return true;
}

size_t wh_tcp_put_offer(unsigned char *bytes, const struct wh_tcp_offer *offer)
{
	unsigned char *at = begin(bytes, WH_TCP_OFFER, offer->key, WH_TCP_OFFER_BYTES);

	put(at, offer->layout_digest, 8);
	put(at + 8, offer->members, 4);
	put(at + 12, offer->rank, 4);
	put(at + 16, offer->row_bytes, 8);
	return WH_TCP_HEAD_BYTES + WH_TCP_OFFER_BYTES;
}

bool wh_tcp_take_offer(struct wh_tcp_offer *offer, const struct wh_tcp_head *head, const unsigned char *body)
{
	*offer = (struct wh_tcp_offer){
		.key = head->number,
		.layout_digest = take(body, 8),
		.members = (uint32_t)take(body + 8, 4),
		.rank = (uint32_t)take(body + 12, 4),
		.row_bytes = take(body + 16, 8),
	};
	return offer->rank < offer->members;
}

size_t wh_tcp_put_refused(unsigned char *bytes, const struct wh_tcp_refused *refused)
{
	size_t count = strnlen(refused->reason, WH_TCP_REASON_BYTES - 1);
	unsigned char *at = begin_first(bytes, WH_TCP_REFUSED, WH_TCP_VERSION, WH_TCP_REFUSED_BYTES + count);

	put(at, refused->incarnation, 8);
	memcpy(at + 8, refused->reason, count);
	return WH_TCP_HEAD_BYTES + WH_TCP_REFUSED_BYTES + count;
}

bool wh_tcp_take_refused(struct wh_tcp_refused *refused, const struct wh_tcp_head *head, const unsigned char *body)
{
	uint32_t version;

	if (!take_first(&version, body))
		return false;
	refused->incarnation = take(body + WH_TCP_FIRST_BYTES, 8);
	take_text(refused->reason, sizeof(refused->reason), body + WH_TCP_REFUSED_BYTES,
		  head->bytes - WH_TCP_REFUSED_BYTES);
	return true;
}

size_t wh_tcp_put_control(unsigned char *bytes, const void *message, size_t count)
{
	memcpy(begin(bytes, WH_TCP_CONTROL, 0, count), message, count);
	return WH_TCP_HEAD_BYTES + count;
}

size_t wh_tcp_put_question(unsigned char *bytes, const void *question, size_t count)
{
	memcpy(begin_first(bytes, WH_TCP_QUERY, WH_TCP_VERSION, WH_TCP_FIRST_BYTES + count), question, count);
	return WH_TCP_HEAD_BYTES + WH_TCP_FIRST_BYTES + count;
}

bool wh_tcp_take_question(uint32_t *version, const struct wh_tcp_head *head, const unsigned char *body)
{
	(void)head;
	return take_first(version, body);
}

size_t wh_tcp_put_answer_head(unsigned char *bytes, size_t count)
{
	begin(bytes, WH_TCP_ANSWER, 0, count);
	return WH_TCP_HEAD_BYTES;
}

/* ---- operations on regions ---------------------------------------------------------------------------------------- */

size_t wh_tcp_put_grant(unsigned char *bytes, uint64_t name, uint64_t region_bytes)
{
	put(begin(bytes, WH_TCP_GRANT, name, WH_TCP_GRANT_BYTES), region_bytes, 8);
	return WH_TCP_HEAD_BYTES + WH_TCP_GRANT_BYTES;
}

uint64_t wh_tcp_take_grant(const unsigned char *body)
{
	return take(body, 8);
}

static void put_words(unsigned char *bytes, const void *words, size_t count)
{
	for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
		uint64_t value;

		memcpy(&value, (const char *)words + at, sizeof(value));
		put(bytes + at, value, sizeof(value));
	}
}

void wh_tcp_take_words(void *into, const unsigned char *body, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += sizeof(uint64_t)) {
		const uint64_t value = take(body + at, sizeof(value));

		memcpy((char *)into + at, &value, sizeof(value));
	}
}

/* Of what the kind has. */
static size_t rest_of(const struct wh_remote_op *op)
{
	switch (op->kind) {
	case WH_REMOTE_READ:
		return 4;
	case WH_REMOTE_FETCH_ADD:
		return 8;
	case WH_REMOTE_COMPARE_SWAP:
		return 16;
	case WH_REMOTE_WRITE:
	case WH_REMOTE_WRITE_IMMEDIATE:
		break;
	}
	return (size_t)op->bytes;
}

size_t wh_tcp_put_remote(unsigned char *bytes, const struct wh_remote_op *op)
{
	const size_t count = WH_TCP_REMOTE_BYTES + rest_of(op);
	const struct wh_tcp_head head = {
		.kind = WH_TCP_REMOTE, .flags = (uint8_t)op->kind, .bytes = (uint32_t)count, .number = op->region};
	unsigned char *body = bytes + WH_TCP_HEAD_BYTES, *rest = body + WH_TCP_REMOTE_BYTES;

	wh_tcp_head_put(bytes, &head);
	put(body, op->offset, 8);
	put(body + 8, op->immediate, 4);
	switch (op->kind) {
	case WH_REMOTE_READ:
		put(rest, op->bytes, 4);
		break;
	case WH_REMOTE_FETCH_ADD:
		put(rest, op->add, 8);
		break;
	case WH_REMOTE_COMPARE_SWAP:
		put(rest, op->expected, 8);
		put(rest + 8, op->desired, 8);
		break;
	case WH_REMOTE_WRITE:
	case WH_REMOTE_WRITE_IMMEDIATE:
		put_words(rest, op->from, op->bytes);
		break;
	}
	return WH_TCP_HEAD_BYTES + count;
}

bool wh_tcp_take_remote(struct wh_remote_op *op, uint64_t words[WH_REMOTE_BYTES_MAX / 8],
			const struct wh_tcp_head *head, const unsigned char *body)
{
	const unsigned char *rest = body + WH_TCP_REMOTE_BYTES;

	if (head->flags > WH_REMOTE_COMPARE_SWAP)
		return false;
	*op = (struct wh_remote_op){
		.kind = (enum wh_remote_kind)head->flags,
		.region = head->number,
		.offset = take(body, 8),
		.bytes = head->bytes - WH_TCP_REMOTE_BYTES,
		.immediate = (uint32_t)take(body + 8, 4),
	};
	if (rest_of(op) != op->bytes)
		return false;
	switch (op->kind) {
	case WH_REMOTE_READ:
		op->bytes = take(rest, 4);
		op->into = words;
		return true;
	case WH_REMOTE_FETCH_ADD:
		op->add = take(rest, 8);
		return true;
	case WH_REMOTE_COMPARE_SWAP:
		op->expected = take(rest, 8);
		op->desired = take(rest + 8, 8);
		return true;
	case WH_REMOTE_WRITE:
	case WH_REMOTE_WRITE_IMMEDIATE:
		break;
	}
	if (op->bytes % sizeof(uint64_t) != 0)
		return false;
	wh_tcp_take_words(words, rest, op->bytes);
	op->from = words;
	return true;
}

size_t wh_tcp_put_done(unsigned char *bytes, enum whorl_result result, uint64_t value, const uint64_t *words,
		       size_t count)
{
	const struct wh_tcp_head head = {
		.kind = WH_TCP_REMOTE_DONE, .flags = (uint8_t)result, .bytes = (uint32_t)count, .number = value};

	wh_tcp_head_put(bytes, &head);
	put_words(bytes + WH_TCP_HEAD_BYTES, words, count);
	return WH_TCP_HEAD_BYTES + count;
}
