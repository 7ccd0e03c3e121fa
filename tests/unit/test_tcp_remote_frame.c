/* test_tcp_remote_frame.c - operations on regions as frames of tcp: what is put is taken again, and nothing else is believed. */
#include <string.h>

#include "tests/harness.h"
#include "transport/tcp/frame.h"

static unsigned char frame[WH_HEAD_BYTES + WH_BODY_MAX];
static uint64_t words[WH_REMOTE_BYTES_MAX / 8], data[WH_REMOTE_BYTES_MAX / 8];

static struct wh_message_head head_of(size_t bytes)
{
	struct wh_message_head head;

	ck_assert(wh_tcp_head_take(&head, frame));
	ck_assert_uint_eq(bytes, WH_HEAD_BYTES + head.bytes);
	return head;
}

static struct wh_remote_op again(const struct wh_remote_op *op)
{
	struct wh_message_head head = head_of(wh_tcp_put_remote(frame, op));
	struct wh_remote_op taken;

	ck_assert(wh_tcp_take_remote(&taken, words, &head, frame + WH_HEAD_BYTES));
	ck_assert_int_eq(taken.kind, op->kind);
	ck_assert_uint_eq(taken.region, op->region);
	ck_assert_uint_eq(taken.offset, op->offset);
	return taken;
}

TEST(operations_are_put_and_taken)
{
	static const uint64_t sizes[] = {0, 8, 4088, 4096};
	struct wh_remote_op op = {.region = UINT64_MAX - 1, .offset = UINT64_C(1) << 40, .bytes = 4096}, taken;

	for (size_t i = 0; i < sizeof(data) / sizeof(data[0]); i++)
		data[i] = UINT64_C(0x0102030405060708) * (i + 1);
	op.kind = WH_REMOTE_READ;
	ck_assert_uint_eq(again(&op).bytes, 4096);
	for (size_t i = 0; i < 4; i++) {
		op.kind = i % 2 == 0 ? WH_REMOTE_WRITE_IMMEDIATE : WH_REMOTE_WRITE;
		op.bytes = sizes[i];
		op.from = data;
		op.immediate = UINT32_MAX - 1;
		memset(words, 0, sizeof(words));
		taken = again(&op);
		ck_assert_uint_eq(taken.bytes, sizes[i]);
		ck_assert_uint_eq(taken.immediate, UINT32_MAX - 1);
		ck_assert_ptr_eq(taken.from, words);
		ck_assert_mem_eq(words, data, sizes[i]);
	}
	op = (struct wh_remote_op){.kind = WH_REMOTE_FETCH_ADD, .add = UINT64_MAX - 2};
	ck_assert_uint_eq(again(&op).add, UINT64_MAX - 2);
	op = (struct wh_remote_op){.kind = WH_REMOTE_COMPARE_SWAP, .expected = 3, .desired = UINT64_MAX};
	taken = again(&op);
	ck_assert(taken.expected == 3 && taken.desired == UINT64_MAX);
}

/* Of every kind, every length of body: what is taken has the one that its kind says, in whole words. */
TEST(other_lengths_are_no_operations)
{
	for (int kind = 0; kind < 256; kind++)
		for (uint32_t bytes = 0; bytes <= WH_TCP_REMOTE_MAX + 1; bytes += bytes < 64 || bytes > 4096 ? 1 : 61) {
			struct wh_message_head head = {
				.kind = WH_TCP_REMOTE, .flags = (uint8_t)kind, .bytes = bytes, .number = 1};
			uint32_t rest = bytes - WH_TCP_REMOTE_BYTES;
			struct wh_remote_op op;
			bool fits, taken;

			wh_message_head_put(frame, &head);
			taken = wh_tcp_head_take(&head, frame) &&
				wh_tcp_take_remote(&op, words, &head, frame + WH_HEAD_BYTES);
			fits = bytes >= WH_TCP_REMOTE_BYTES && bytes <= WH_TCP_REMOTE_MAX &&
			       ((kind == WH_REMOTE_READ && rest == 4) || (kind == WH_REMOTE_FETCH_ADD && rest == 8) ||
				(kind == WH_REMOTE_COMPARE_SWAP && rest == 16) ||
				((kind == WH_REMOTE_WRITE || kind == WH_REMOTE_WRITE_IMMEDIATE) && rest % 8 == 0));
			ck_assert_int_eq(taken, fits);
		}
}

TEST(the_rest_is_put_and_taken)
{
	struct wh_message_head head;

	head = head_of(wh_tcp_put_grant(frame, 9, UINT64_C(1) << 33));
	ck_assert_int_eq((int)head.kind, WH_TCP_GRANT);
	ck_assert_uint_eq(head.number, 9);
	ck_assert_uint_eq(wh_tcp_take_grant(frame + WH_HEAD_BYTES), UINT64_C(1) << 33);
	for (size_t i = 0; i < 512; i++)
		data[i] = UINT64_C(0x0102030405060708) + i;
	head = head_of(wh_tcp_put_done(frame, WHORL_NOT_FOUND, UINT64_MAX, data, 4096));
	ck_assert_int_eq((int)head.kind, WH_TCP_REMOTE_DONE);
	ck_assert_int_eq(head.flags, WHORL_NOT_FOUND);
	ck_assert_uint_eq(head.number, UINT64_MAX);
	wh_tcp_take_words(words, frame + WH_HEAD_BYTES, 4096);
	ck_assert_mem_eq(words, data, 4096);
	ck_assert_mem_eq(frame + WH_HEAD_BYTES, "\x08\x07\x06\x05\x04\x03\x02\x01\x09", 9); /* on whatever host */
}

TEST_SUITE("tcp_remote_frame")
