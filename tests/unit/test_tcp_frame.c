/* test_tcp_frame.c - pushes as bytes, and heads of frames: what is put is taken again, and nothing else is believed. Messages of the
 * session: test_message.c; operations on regions: test_tcp_remote_frame.c. */
#include <string.h>

#include "tests/harness.h"
#include "transport/tcp/frame.h"

static unsigned char frame[WH_HEAD_BYTES + WH_BODY_MAX];

/* The bytes on the wire are what docs/wire.md says, on whatever host. */
TEST(numbers_are_little_endian)
{
	static const unsigned char expected[] = {6, 1, 2, 1, 4, 3, 0, 0, 0x84, 0x41, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
	const struct wh_message_head head = {.kind = WH_MESSAGE_PUSH,
					     .flags = WH_TCP_LOUD,
					     .ranges = 0x0102,
					     .words = 0x0304,
					     .bytes = 0x4184,
					     .number = UINT64_C(0x0102030405060708)};
	unsigned char bytes[WH_TCP_WORD_BYTES];

	wh_message_head_put(frame, &head);
	ck_assert_mem_eq(frame, expected, sizeof(expected));
	wh_tcp_word_put(bytes, &(struct wh_tcp_word){0x10, 0x0203});
	ck_assert_mem_eq(bytes, "\x10\0\0\0\0\0\0\0\x03\x02\0\0\0\0\0", sizeof(bytes));
	wh_tcp_span_put(bytes, &(struct wh_tcp_span){0x10, 0x0203});
	ck_assert_mem_eq(bytes, "\x10\0\0\0\0\0\0\0\x03\x02\0", WH_TCP_RANGE_BYTES);
}

/* Of every kind, every length of body: those that cannot be are refused before any node waits for so many bytes. */
TEST(bodies_have_the_size_of_their_kind)
{
	for (int kind = 0; kind < 256; kind++)
		for (uint32_t bytes = 0; bytes < 70000; bytes += bytes < 600 ? 1 : 997) {
			struct wh_message_head head = {.kind = (enum wh_tcp_kind)kind, .bytes = bytes}, again;

			wh_message_head_put(frame, &head);
			if (!wh_tcp_head_take(&again, frame))
				continue;
			ck_assert((kind >= WH_MESSAGE_HELLO && kind < WH_TCP_KINDS) || kind == WH_MESSAGE_LANES);
			ck_assert(kind == WH_MESSAGE_PUSH || kind == WH_MESSAGE_ANSWER || bytes <= WH_BODY_MAX);
		}
}

static struct wh_tcp_span spans[WH_TCP_RANGES_MAX];
static struct wh_tcp_word words[WH_TCP_WORDS_MAX];

/* The table of a push of one range and one word, and `more` bytes behind it. */
static bool takes(struct wh_tcp_span span, struct wh_tcp_word word, uint32_t more)
{
	struct wh_message_head head = {.kind = WH_MESSAGE_PUSH, .ranges = 1, .words = 1};

	head.bytes = (uint32_t)wh_tcp_table_bytes(&head) + more;
	wh_tcp_span_put(frame, &span);
	wh_tcp_word_put(frame + WH_TCP_RANGE_BYTES, &word);
	return wh_tcp_table_take(&head, frame, spans, words);
}

/* The rank of the row that is relayed stands before the table, and there is something of it. */
TEST(what_is_relayed_names_its_row)
{
	struct wh_message_head head = {.kind = WH_MESSAGE_PUSH, .flags = WH_TCP_RELAYED, .ranges = 1, .words = 1},
			       again;
	unsigned char bytes[WH_HEAD_BYTES];

	wh_tcp_owner_put(frame, 0x01020304);
	ck_assert_mem_eq(frame, "\4\3\2\1", WH_TCP_OWNER_BYTES);
	wh_tcp_span_put(frame + WH_TCP_OWNER_BYTES, &(struct wh_tcp_span){100, 50});
	wh_tcp_word_put(frame + WH_TCP_OWNER_BYTES + WH_TCP_RANGE_BYTES, &(struct wh_tcp_word){16, 3});
	head.bytes = WH_TCP_OWNER_BYTES + WH_TCP_RANGE_BYTES + WH_TCP_WORD_BYTES + 50;
	ck_assert(wh_tcp_table_take(&head, frame, spans, words));
	ck_assert_uint_eq(wh_tcp_owner_take(frame), 0x01020304);
	ck_assert(spans[0].offset == 100 && spans[0].bytes == 50 && words[0].offset == 16 && words[0].value == 3);
	wh_message_head_put(bytes, &head);
	ck_assert(wh_tcp_head_take(&again, bytes));
	head.ranges = 0;
	wh_message_head_put(bytes, &head);
	ck_assert(!wh_tcp_head_take(&again, bytes));
	head.ranges = 1;
	head.bytes = WH_TCP_RANGE_BYTES + WH_TCP_WORD_BYTES; /* too short for its rank */
	wh_message_head_put(bytes, &head);
	ck_assert(!wh_tcp_head_take(&again, bytes));
}

/* Its ranges have all the bytes that follow, and no more; nothing in it wraps around. */
TEST(tables_are_believed_nothing)
{
	const struct wh_tcp_word word = {.offset = 16, .value = 3};

	ck_assert(takes((struct wh_tcp_span){100, 50}, word, 50));
	ck_assert(spans[0].offset == 100 && spans[0].bytes == 50 && words[0].offset == 16 && words[0].value == 3);
	ck_assert(!takes((struct wh_tcp_span){100, 50}, word, 49));
	ck_assert(!takes((struct wh_tcp_span){100, 50}, word, 51));
	ck_assert(!takes((struct wh_tcp_span){100, 0}, word, 0));
	ck_assert(takes((struct wh_tcp_span){UINT64_MAX - 50, 50}, word, 50));
	ck_assert(!takes((struct wh_tcp_span){UINT64_MAX - 49, 50}, word, 50));
	ck_assert(!takes((struct wh_tcp_span){100, 50}, (struct wh_tcp_word){.offset = 20}, 50));
	ck_assert(!takes((struct wh_tcp_span){100, 50}, (struct wh_tcp_word){.offset = UINT64_MAX - 7}, 50));
	ck_assert(takes((struct wh_tcp_span){100, 50}, (struct wh_tcp_word){.offset = UINT64_MAX - 15}, 50));
}

TEST_SUITE("tcp_frame")
