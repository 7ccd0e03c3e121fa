/* test_state_wire.c - the stream of a state: what was written is read, however it is cut, and nothing else is believed. */
#include <string.h>

#include "state/wire.h"
#include "tests/harness.h"

#define SUBGROUP 5
#define SHARD 2
#define VIEW 9

static size_t put_stream(unsigned char *out, const struct wh_state_header *header, const char *piece)
{
	size_t at = wh_state_put_header(out, header);

	wh_state_put_length(out + at, (uint32_t)strlen(piece));
	at += WH_STATE_LENGTH_BYTES;
	memcpy(out + at, piece, strlen(piece));
	at += strlen(piece);
	wh_state_put_length(out + at, 0);
	return at + WH_STATE_LENGTH_BYTES;
}

static struct wh_state_header full_header(void)
{
	struct wh_state_header header = {
		SUBGROUP, SHARD, VIEW, {.count = WH_STATE_SENDERS_MAX, .sequence = 4711}, false};

	for (uint32_t i = 0; i < WH_STATE_SENDERS_MAX; i++)
		header.position.of[i] =
			(struct wh_position_of){.id = 255 - i, .next = UINT64_C(0x0123456789abcd00) + i};
	return header;
}

/* All in portions of `portion` bytes. */
static void check_portions(const unsigned char *bytes, size_t count, size_t portion)
{
	struct wh_state_parser parser;
	char read[64] = "";
	int headers = 0, ends = 0;

	wh_state_parser_init(&parser, SUBGROUP, SHARD, VIEW - 1);
	for (size_t at = 0; at < count; at += portion) {
		const unsigned char *from = bytes + at, *end = at + portion < count ? from + portion : bytes + count;
		enum wh_state_part part;

		while ((part = wh_state_parse(&parser, &from, end)) != WH_PART_NONE) {
			if (part == WH_PART_BROKEN)
				ck_abort_msg("%s", parser.wrong);
			headers += part == WH_PART_HEADER;
			ends += part == WH_PART_END;
			if (part == WH_PART_BYTES)
				strncat(read, (const char *)parser.bytes, parser.count);
		}
		if (from != end)
			ck_abort_msg("some bytes are left");
	}
	ck_assert_int_eq(headers, 1);
	ck_assert_int_eq(ends, 1);
	ck_assert_str_eq(read, "what the messages have made");
	ck_assert_uint_eq(parser.header.view, VIEW);
	ck_assert_uint_eq(parser.header.position.sequence, 4711);
	ck_assert_uint_eq(parser.header.position.count, WH_STATE_SENDERS_MAX);
	for (uint32_t i = 0; i < WH_STATE_SENDERS_MAX; i++) {
		const struct wh_position_of *of = &parser.header.position.of[i];

		if (of->id != 255 - i || of->next != UINT64_C(0x0123456789abcd00) + i)
			ck_abort_msg("sender %u is wrong", (unsigned)i);
	}
}

TEST(what_is_written_is_read_however_it_is_cut)
{
	struct wh_state_header header = full_header();
	unsigned char bytes[WH_STATE_HEADER_BYTES + 64];
	size_t count = put_stream(bytes, &header, "what the messages have made");

	for (size_t portion = 1; portion <= count; portion += portion < 60 ? 1 : 307)
		check_portions(bytes, count, portion);
	check_portions(bytes, count, count);
}

TEST(the_bytes_are_little_endian)
{
	static const unsigned char expected[] = {
		5,    0,    0,    0,    2, 0, 0, 0, 9,    0, 0, 0, 0,    0,    0,    0,    0x88, 0x77, 0x66, 0x55,
		0x44, 0x33, 0x22, 0x11, 1, 0, 0, 0, 0xfe, 0, 0, 0, 0x01, 0x00, 0xcd, 0xab, 0x89, 0x67, 0x45, 0x23};
	struct wh_state_header header = {
		SUBGROUP, SHARD, VIEW, {.count = 1, .sequence = UINT64_C(0x1122334455667788)}, false};
	unsigned char bytes[WH_STATE_HEADER_BYTES];

	header.position.of[0] = (struct wh_position_of){.id = 254, .next = UINT64_C(0x23456789abcd0001)};
	ck_assert_uint_eq(wh_state_put_header(bytes, &header), sizeof(expected));
	ck_assert_mem_eq(bytes, expected, sizeof(expected));
}

/* What becomes of a stream with one word of it changed. */
static enum wh_state_part parse_with(size_t offset, uint32_t value, const char **wrong)
{
	struct wh_state_header header = full_header();
	unsigned char bytes[WH_STATE_HEADER_BYTES + 64];
	const unsigned char *from = bytes, *end;
	struct wh_state_parser parser;
	enum wh_state_part part, last = WH_PART_NONE;

	end = bytes + put_stream(bytes, &header, "x");
	wh_state_put_length(bytes + offset, value);
	wh_state_parser_init(&parser, SUBGROUP, SHARD, VIEW);
	while ((part = wh_state_parse(&parser, &from, end)) != WH_PART_NONE) {
		ck_assert_int_ne(last, WH_PART_BROKEN); /* nothing comes behind it */
		ck_assert_int_ne(last, WH_PART_STALE);
		last = part;
	}
	*wrong = parser.wrong;
	return last;
}

TEST(nothing_is_believed)
{
	static const struct {
		size_t offset;
		uint32_t value;
		const char *wrong;
	} cases[] = {
		{0, SUBGROUP + 1, "it is of another subgroup"},
		{4, SHARD + 1, "it is of another shard"},
		{24, 257, "its position has too many senders"},
		{24, UINT32_MAX, "its position has too many senders"},
		{28, 256, "its position has a sender that cannot be"},
		{28, UINT32_MAX, "its position has a sender that cannot be"},
		{28 + 12 * 255, 255, "its position has a sender twice"},
		{28 + 12 * 256, WH_STATE_PIECE + 1, "a piece is too long"},
		{28 + 12 * 256, UINT32_MAX, "a piece is too long"},
	};
	const char *wrong;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		ck_assert_int_eq(parse_with(cases[i].offset, cases[i].value, &wrong), WH_PART_BROKEN);
		ck_assert_str_eq(wrong, cases[i].wrong);
	}
	ck_assert_int_eq(parse_with(8, VIEW - 1, &wrong), WH_PART_STALE);
	ck_assert_int_eq(parse_with(8, VIEW + 1, &wrong), WH_PART_END);
	ck_assert_int_eq(parse_with(24, 256, &wrong), WH_PART_END);
}

TEST(a_position_may_be_empty)
{
	struct wh_state_header header = {SUBGROUP, SHARD, VIEW, {.count = 0}, false};
	unsigned char bytes[WH_STATE_HEADER_BYTES + 64];
	const unsigned char *from = bytes, *end = bytes + put_stream(bytes, &header, "");
	struct wh_state_parser parser;

	wh_state_parser_init(&parser, SUBGROUP, SHARD, 0);
	ck_assert_int_eq(wh_state_parse(&parser, &from, end), WH_PART_HEADER);
	ck_assert_uint_eq(parser.header.position.count, 0);
	ck_assert_int_eq(wh_state_parse(&parser, &from, end), WH_PART_END);
	ck_assert_int_eq(wh_state_parse(&parser, &from, end), WH_PART_NONE);
}

/* What the giver's program has refused travels behind the state: a large message with all its indexes (docs/decisions/0045). */
TEST(messages_behind_a_state_are_whole)
{
	const struct whorl_message was = {.sender = 7,
					  .bytes = (size_t)5 << 32,
					  .index = UINT64_C(0x0123456789abcdef),
					  .indexes = 300,
					  .view = 9,
					  .sequence = 4711,
					  .incarnation = UINT64_C(0xfedcba9876543210)};
	unsigned char bytes[WH_STATE_MESSAGE_BYTES];
	struct whorl_message read, none = was;

	wh_state_put_message(bytes, &was);
	ck_assert(wh_state_get_message(bytes, &read));
	ck_assert_uint_eq(read.sender, was.sender);
	ck_assert_uint_eq(read.bytes, was.bytes);
	ck_assert_uint_eq(read.index, was.index);
	ck_assert_uint_eq(read.indexes, was.indexes);
	ck_assert_uint_eq(read.parts, 1);
	ck_assert_uint_eq(read.view, was.view);
	ck_assert_uint_eq(read.sequence, was.sequence);
	ck_assert_uint_eq(read.incarnation, was.incarnation);
	none.indexes = 0;
	wh_state_put_message(bytes, &none);
	ck_assert(!wh_state_get_message(bytes, &read));
	none.indexes = 1;
	none.sender = WH_STATE_SENDERS_MAX;
	wh_state_put_message(bytes, &none);
	ck_assert(!wh_state_get_message(bytes, &read));
}

TEST_SUITE("state_wire")
