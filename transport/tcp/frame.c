/* frame.c - see tcp/frame.h. */
#include "transport/tcp/frame.h"

#include <endian.h>
#include <string.h>

#define put wh_message_put_number
#define take wh_message_take_number

/* ---- heads -------------------------------------------------------------------------------------------------------- */

static bool body_fits(const struct wh_message_head *head)
{
	switch (head->kind) {
	case WH_MESSAGE_PUSH:
		return head->ranges <= WH_TCP_RANGES_MAX && head->words <= WH_TCP_WORDS_MAX &&
		       (head->ranges > 0 || !wh_tcp_is_relayed(head)) && head->bytes >= wh_tcp_table_bytes(head);
	case WH_TCP_GRANT:
		return head->bytes == WH_TCP_GRANT_BYTES;
	case WH_TCP_WITHDRAWN:
	case WH_TCP_CREDIT:
		return head->bytes == 0;
	case WH_TCP_REMOTE:
		return head->bytes >= WH_TCP_REMOTE_BYTES && head->bytes <= WH_TCP_REMOTE_MAX;
	case WH_TCP_REMOTE_DONE:
		return head->bytes <= WH_REMOTE_BYTES_MAX && head->bytes % sizeof(uint64_t) == 0;
	default:
		return head->kind < WH_TCP_KINDS || head->kind == WH_MESSAGE_LANES;
	}
}

bool wh_tcp_head_take(struct wh_message_head *head, const unsigned char bytes[WH_HEAD_BYTES])
{
	return wh_message_head_take(head, bytes) && body_fits(head);
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

void wh_tcp_owner_put(unsigned char bytes[WH_TCP_OWNER_BYTES], uint32_t rank)
{
	put(bytes, rank, WH_TCP_OWNER_BYTES);
}

uint32_t wh_tcp_owner_take(const unsigned char *table)
{
	return (uint32_t)take(table, WH_TCP_OWNER_BYTES);
}

bool wh_tcp_table_take(const struct wh_message_head *head, const unsigned char *table,
		       struct wh_tcp_span spans[WH_TCP_RANGES_MAX], struct wh_tcp_word words[WH_TCP_WORDS_MAX])
{
	uint64_t left = head->bytes - wh_tcp_table_bytes(head);

	table += wh_tcp_is_relayed(head) ? WH_TCP_OWNER_BYTES : 0;
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

/* ---- operations on regions ---------------------------------------------------------------------------------------- */

size_t wh_tcp_put_grant(unsigned char *bytes, uint64_t name, uint64_t region_bytes)
{
	const struct wh_message_head head = {.kind = WH_TCP_GRANT, .bytes = WH_TCP_GRANT_BYTES, .number = name};

	wh_message_head_put(bytes, &head);
	put(bytes + WH_HEAD_BYTES, region_bytes, 8);
	return WH_HEAD_BYTES + WH_TCP_GRANT_BYTES;
}

uint64_t wh_tcp_take_grant(const unsigned char *body)
{
	return take(body, 8);
}

/* Word by word, and not byte by byte: 512 of them are half of what an operation costs. Where hosts and frames have one order this is a
 * copy. */
static void copy_words(void *to, const void *from, size_t count)
{
	for (size_t at = 0; at < count; at += sizeof(uint64_t)) {
		uint64_t value;

		memcpy(&value, (const char *)from + at, sizeof(value));
		value = htole64(value); /* and back: it is the same */
		memcpy((char *)to + at, &value, sizeof(value));
	}
}

void wh_tcp_take_words(void *into, const unsigned char *body, size_t bytes)
{
	copy_words(into, body, bytes);
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
	const struct wh_message_head head = {
		.kind = WH_TCP_REMOTE, .flags = (uint8_t)op->kind, .bytes = (uint32_t)count, .number = op->region};
	unsigned char *body = bytes + WH_HEAD_BYTES, *rest = body + WH_TCP_REMOTE_BYTES;

	wh_message_head_put(bytes, &head);
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
		copy_words(rest, op->from, op->bytes);
		break;
	}
	return WH_HEAD_BYTES + count;
}

bool wh_tcp_take_remote(struct wh_remote_op *op, uint64_t words[WH_REMOTE_BYTES_MAX / 8],
			const struct wh_message_head *head, const unsigned char *body)
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
	const struct wh_message_head head = {
		.kind = WH_TCP_REMOTE_DONE, .flags = (uint8_t)result, .bytes = (uint32_t)count, .number = value};

	wh_message_head_put(bytes, &head);
	copy_words(bytes + WH_HEAD_BYTES, words, count);
	return WH_HEAD_BYTES + count;
}
