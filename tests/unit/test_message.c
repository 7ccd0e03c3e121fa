/* test_message.c - messages of a session as bytes: what is put is taken again, and nothing else is believed. */
#include <string.h>

#include "tests/harness.h"
#include "transport/session/message.h"

#define VERSION 3

static unsigned char message[WH_MESSAGE_MAX];

/* The head of what was put, which is as long as it says, with so many bytes that a transport has added. */
static struct wh_message_head head_of(size_t bytes, size_t own)
{
	struct wh_message_head head;

	ck_assert(wh_message_head_take(&head, message));
	ck_assert_uint_eq(bytes + own, WH_HEAD_BYTES + head.bytes);
	return head;
}

static const unsigned char *body(void)
{
	return message + WH_HEAD_BYTES;
}

/* The bytes are what docs/wire.md says, on whatever host. */
TEST(numbers_are_little_endian)
{
	static const unsigned char expected[] = {4, 1, 2, 1, 4, 3, 0, 0, 0x84, 1, 0, 0, 8, 7, 6, 5, 4, 3, 2, 1};
	const struct wh_message_head head = {.kind = WH_MESSAGE_OFFER,
					     .flags = 1,
					     .ranges = 0x0102,
					     .words = 0x0304,
					     .bytes = 0x0184,
					     .number = UINT64_C(0x0102030405060708)};
	const struct wh_hello hello = {VERSION, 5, 7, 0, 9, 11, "g"};
	struct wh_message_head again;

	wh_message_head_put(message, &head);
	ck_assert_mem_eq(message, expected, sizeof(expected));
	ck_assert(wh_message_head_take(&again, message));
	ck_assert(again.kind == head.kind && again.flags == 1 && again.ranges == 0x0102 && again.words == 0x0304);
	ck_assert(again.bytes == 0x0184 && again.number == head.number);
	(void)wh_message_put_hello(message, &hello, 0);
	ck_assert_mem_eq(body(), "whrl-tcp\3\0\0\0\5\0\0\0\7\0\0\0\11\0\0\0\0\0\0\0g\0", 30);
	for (unsigned count = 1; count <= 8; count++) {
		uint64_t value = UINT64_MAX >> (64 - 8 * count);

		wh_message_put_number(message, value, count);
		ck_assert_uint_eq(wh_message_take_number(message, count), value);
	}
}

TEST_LOOP(what_is_put_is_taken, 0, 3)
{
	struct wh_hello hello = {VERSION, 3, 7, 0, UINT64_MAX - 1, 12, "a group"}, hello_again;
	struct wh_opening opening = {VERSION, 3, 4, 5, UINT64_MAX}, opening_again;
	struct wh_offer offer = {UINT64_C(1) << 63, 9, 5, 4, 1 << 20}, offer_again;
	struct wh_refused refused = {77, "be\tca\x80use\xff"}, refused_again;
	struct wh_message_head head;

	head = head_of(wh_message_put_hello(message, &hello, (size_t)_i), (size_t)_i);
	ck_assert(wh_message_take_hello(&hello_again, VERSION, &head, body()));
	ck_assert(hello_again.version == VERSION && hello_again.node == 3 && hello_again.nodes == 7);
	ck_assert(hello_again.incarnation == UINT64_MAX - 1 && hello_again.call == 12);
	ck_assert_str_eq(hello_again.group, "a group");
	head = head_of(wh_message_put_opening(message, &opening), 0);
	ck_assert(wh_message_take_opening(&opening_again, VERSION, &head, body()));
	ck_assert_mem_eq(&opening, &opening_again, sizeof(opening));
	head = head_of(wh_message_put_offer(message, &offer, (size_t)_i), (size_t)_i);
	ck_assert(wh_message_take_offer(&offer_again, &head, body()));
	ck_assert_mem_eq(&offer, &offer_again, sizeof(offer));
	head = head_of(wh_message_put_refused(message, VERSION, &refused), 0);
	ck_assert(wh_message_take_refused(&refused_again, &head, body()));
	ck_assert_uint_eq(refused_again.incarnation, 77);
	ck_assert_str_eq(refused_again.reason, "be?ca?use?"); /* it goes into a log */
}

TEST(what_has_no_struct_is_taken)
{
	struct wh_message_head head;
	uint32_t version;

	head = head_of(wh_message_put_plain(message, WH_MESSAGE_MAPPED, 9), 0);
	ck_assert(head.kind == WH_MESSAGE_MAPPED && head.number == 9 && head.bytes == 0);
	head = head_of(wh_message_put_control(message, "message", 7), 0);
	ck_assert_int_eq((int)head.kind, WH_MESSAGE_CONTROL);
	ck_assert_mem_eq(body(), "message", 7);
	head = head_of(wh_message_put_query(message, VERSION, "question", 8), 0);
	ck_assert_int_eq((int)head.kind, WH_MESSAGE_QUERY);
	ck_assert(wh_message_take_query(&version, body()));
	ck_assert_uint_eq(version, VERSION);
	ck_assert_mem_eq(body() + WH_FIRST_BYTES, "question", 8);
	head = head_of(wh_message_put_answer_head(message, 6), 6);
	ck_assert_int_eq((int)head.kind, WH_MESSAGE_ANSWER);
}

/* Of every kind, every length of body: those that cannot be are refused before any node waits for so many bytes. */
TEST(bodies_have_the_size_of_their_kind)
{
	for (int kind = 0; kind < 256; kind++)
		for (uint32_t bytes = 0; bytes < 70000; bytes += bytes < 600 ? 1 : 997) {
			struct wh_message_head head = {.kind = (uint8_t)kind, .bytes = bytes}, again;

			wh_message_head_put(message, &head);
			if (!wh_message_head_take(&again, message))
				continue;
			ck_assert(kind >= WH_MESSAGE_HELLO && kind < WH_MESSAGE_KINDS);
			ck_assert(kind == WH_MESSAGE_PUSH || kind == WH_MESSAGE_ANSWER || bytes <= WH_BODY_MAX);
			ck_assert(kind != WH_MESSAGE_ANSWER || bytes <= WH_ANSWER_MAX);
			ck_assert(kind != WH_MESSAGE_PING || bytes == 0);
			ck_assert(kind != WH_MESSAGE_OFFER || bytes >= WH_OFFER_BYTES);
			ck_assert(kind != WH_MESSAGE_REFUSED || bytes >= WH_REFUSED_BYTES);
		}
}

TEST(a_rank_is_one_of_the_members)
{
	struct wh_offer offer = {.key = 1, .members = 4, .rank = 4}, again;
	struct wh_message_head head = head_of(wh_message_put_offer(message, &offer, 0), 0);

	ck_assert(!wh_message_take_offer(&again, &head, body()));
	offer.rank = 3;
	head = head_of(wh_message_put_offer(message, &offer, 0), 0);
	ck_assert(wh_message_take_offer(&again, &head, body()));
}

TEST(other_versions_show_which_node_they_are)
{
	struct wh_hello hello = {VERSION + 1, 3, 7, 0, 5, 1, "g"}, again;
	struct wh_message_head head;

	(void)wh_message_put_hello(message, &hello, 0);
	message[8] = WH_FIRST_BYTES + 16; /* its hello ends where all versions agree */
	ck_assert(wh_message_head_take(&head, message));
	ck_assert(wh_message_take_hello(&again, VERSION, &head, body()));
	ck_assert(again.version == VERSION + 1 && again.node == 3 && again.nodes == 7 && again.incarnation == 5);
	hello.version = VERSION;
	(void)wh_message_put_hello(message, &hello, 0);
	message[8]--; /* mine does not */
	ck_assert(wh_message_head_take(&head, message));
	ck_assert(!wh_message_take_hello(&again, VERSION, &head, body()));
	(void)wh_message_put_hello(message, &hello, 0);
	message[WH_HEAD_BYTES] ^= 1; /* it is no hello of whorl */
	ck_assert(wh_message_head_take(&head, message));
	ck_assert(!wh_message_take_hello(&again, VERSION, &head, body()));
	hello.incarnation = 0;
	head = head_of(wh_message_put_hello(message, &hello, 0), 0);
	ck_assert(!wh_message_take_hello(&again, VERSION, &head, body()));
}

TEST(openings_of_other_versions_say_so)
{
	struct wh_opening opening = {VERSION + 1, 3, 4, 5, 6}, again;
	struct wh_message_head head = head_of(wh_message_put_opening(message, &opening), 0);

	ck_assert(wh_message_take_opening(&again, VERSION, &head, body()));
	ck_assert(again.version == VERSION + 1 && again.tag == 0);
	opening.version = VERSION;
	(void)wh_message_put_opening(message, &opening);
	message[8]--;
	ck_assert(wh_message_head_take(&head, message));
	ck_assert(!wh_message_take_opening(&again, VERSION, &head, body()));
	message[WH_HEAD_BYTES] ^= 1;
	ck_assert(!wh_message_take_opening(&again, VERSION, &head, body()));
}

TEST(texts_from_outside_end_and_are_tame)
{
	struct wh_hello hello = {VERSION, 1, 2, 0, 3, 4, ""}, again;
	struct wh_refused refused = {.incarnation = 1}, refused_again;
	struct wh_message_head head;

	memset(hello.group, 'g', sizeof(hello.group));
	hello.group[5] = '\033';
	head = head_of(wh_message_put_hello(message, &hello, 0), 0);
	ck_assert(wh_message_take_hello(&again, VERSION, &head, body()));
	ck_assert_uint_eq(strlen(again.group), WH_MESSAGE_GROUP_BYTES - 1);
	ck_assert_int_eq(again.group[5], '?');
	memset(refused.reason, 'r', sizeof(refused.reason));
	head = head_of(wh_message_put_refused(message, VERSION, &refused), 0);
	ck_assert(wh_message_take_refused(&refused_again, &head, body()));
	ck_assert_uint_eq(strlen(refused_again.reason), WH_MESSAGE_REASON_BYTES - 1);
}

TEST_SUITE("message")
