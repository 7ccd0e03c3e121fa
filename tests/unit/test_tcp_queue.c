/* test_tcp_queue.c - pushes that wait: what may be joined is joined, and nothing that the order (T2, T4) forbids. */
#include <string.h>

#include "tests/harness.h"
#include "transport/tcp/tcp_int.h"

static struct wh_tcp_image one, other;
static struct wh_tcp_queue q;

static void setup(void)
{
	q = (struct wh_tcp_queue){.ranges = NULL};
	one.holds = other.holds = 0;
}

static void teardown(void)
{
	wh_tcp_queue_free(&q);
	ck_assert_uint_eq(one.holds + other.holds, 0); /* images are let go of */
}

static void range(struct wh_tcp_image *image, uint64_t offset, uint64_t bytes)
{
	ck_assert(wh_tcp_queue_range(&q, image, 0, offset, bytes));
}

static void word(struct wh_tcp_image *image, uint64_t offset, uint64_t value)
{
	ck_assert(wh_tcp_queue_word(&q, image, offset, value));
}

static void expect_next(uint32_t ranges, uint32_t words)
{
	uint32_t r, w;

	wh_tcp_queue_next(&q, WH_TCP_FRAME_BYTES, &r, &w);
	ck_assert_uint_eq(r, ranges);
	ck_assert_uint_eq(w, words);
	wh_tcp_queue_left(&q, r, w);
}

TEST_CASE("queue", .setup = setup, .teardown = teardown);

/* Offsets say nothing of which row they are in. */
TEST(rows_of_others_go_in_frames_of_their_own)
{
	range(&one, 1000, 100);
	ck_assert(wh_tcp_queue_range(&q, &one, 2, 1100, 100));
	ck_assert(wh_tcp_queue_range(&q, &one, 2, 1200, 100));
	word(&one, 0, 1);
	range(&one, 1100, 50);
	ck_assert_uint_eq(q.range_count, 2);
	ck_assert_uint_eq(q.ranges[0].span.bytes, 150);
	ck_assert_uint_eq(q.ranges[1].owner, 2);
	ck_assert_uint_eq(q.ranges[1].span.bytes, 200);
	expect_next(1, 0);
	expect_next(1, 1);
}

TEST(ranges_that_touch_are_one)
{
	range(&one, 1000, 100);
	range(&one, 5000, 50); /* another ring */
	word(&one, 0, 1);
	range(&one, 1100, 100);
	range(&one, 5050, 50);
	range(&one, 1150, 20); /* it is there already */
	ck_assert_uint_eq(q.range_count, 2);
	ck_assert_uint_eq(q.ranges[0].span.offset, 1000);
	ck_assert_uint_eq(q.ranges[0].span.bytes, 200);
	ck_assert_uint_eq(q.ranges[1].span.bytes, 100);
	range(&other, 1200, 10);
	range(&one, 1300, 10);
	ck_assert_uint_eq(q.range_count, 4);
}

/* What is on its way does not grow: its length has been said. */
TEST(a_range_that_leaves_does_not_grow)
{
	range(&one, 1000, 100);
	q.fixed = 1;
	range(&one, 1100, 100);
	ck_assert_uint_eq(q.range_count, 2);
	ck_assert_uint_eq(q.ranges[0].span.bytes, 100);
}

TEST(long_ranges_are_cut)
{
	range(&one, 0, 3 * (uint64_t)WH_TCP_RANGE_MAX + 5);
	ck_assert_uint_eq(q.range_count, 4);
	ck_assert_uint_eq(q.ranges[3].span.bytes, 5);
	ck_assert_uint_eq(q.ranges[3].span.offset, 3 * (uint64_t)WH_TCP_RANGE_MAX);
}

/* An older value is left out only if no other word lies between it and the newer one. */
TEST(words_keep_their_order)
{
	word(&one, 8, 1);
	word(&one, 8, 2);
	word(&one, 16, 1);
	word(&one, 8, 3);
	word(&other, 8, 4);
	ck_assert_uint_eq(q.word_count, 4);
	ck_assert_uint_eq(q.words[0].word.value, 2);
	ck_assert_uint_eq(q.words[2].word.value, 3);
	expect_next(0, 3); /* of one image */
	word(&other, 8, 5);
	expect_next(0, 1);
	ck_assert(wh_tcp_queue_empty(&q));
}

/* A word never leaves before the ranges that were posted before it. */
TEST(words_come_with_the_last_ranges)
{
	for (uint64_t i = 0; i < WH_TCP_RANGES_MAX + 10; i++)
		range(&one, 100 * i, 50);
	word(&one, 8, 1);
	expect_next(WH_TCP_RANGES_MAX, 0);
	expect_next(10, 1);
	range(&one, 0, 10);
	range(&other, 0, 10);
	word(&one, 8, 2);
	expect_next(1, 0);
	expect_next(1, 0);
	expect_next(0, 1);
	expect_next(0, 0);
}

/* Large pushes with a word behind each: the first word leaves when its bytes have, whatever waits behind it; small ones share a word. */
TEST(a_word_does_not_wait_for_what_is_behind_it)
{
	for (uint64_t i = 0; i < 3; i++) {
		range(&one, i << 20, 64 << 10);
		word(&one, 8, i);
	}
	for (uint64_t i = 3; i < 6; i++) {
		range(&one, i << 20, 1 << 10);
		word(&one, 8, i);
	}
	ck_assert_uint_eq(q.word_count, 3);
	ck_assert_uint_eq(q.words[2].word.value, 5);
	expect_next(1, 1);
	expect_next(1, 1);
	range(&one, UINT64_C(6) << 20, 1 << 10);
	expect_next(4, 1);
	expect_next(1, 0);
	ck_assert(wh_tcp_queue_empty(&q));
}

TEST(frames_are_bounded)
{
	for (uint64_t i = 0; i < 6; i++)
		range(&one, 2 * i * WH_TCP_RANGE_MAX, WH_TCP_RANGE_MAX);
	expect_next(4, 0);
	for (uint64_t i = 0; i < WH_TCP_WORDS_MAX + 1; i++)
		word(&one, 8 * (i % 2), i);
	expect_next(2, WH_TCP_WORDS_MAX);
	expect_next(0, 1);
}

/* The bound is one for what waits, and not for what has ever been posted. */
TEST(the_queue_is_bounded)
{
	uint64_t n = 0;

	for (int round = 0; round < 3; round++) {
		for (uint64_t i = 0; i < WH_TCP_QUEUE_MAX / 2; i++, n++)
			word(&one, 8 * (n % 2), n);
		while (!wh_tcp_queue_empty(&q))
			expect_next(0, q.word_count - q.word_at < WH_TCP_WORDS_MAX ? q.word_count - q.word_at
										   : WH_TCP_WORDS_MAX);
	}
	for (n = 0; wh_tcp_queue_word(&q, &one, 8 * (n % 2), n); n++)
		ck_assert_uint_lt(n, WH_TCP_QUEUE_MAX);
	ck_assert_uint_eq(n, WH_TCP_QUEUE_MAX);
	for (n = 0; wh_tcp_queue_range(&q, &one, 0, 100 * n, 50); n++)
		ck_assert_uint_lt(n, WH_TCP_QUEUE_MAX);
	ck_assert_uint_eq(n, WH_TCP_QUEUE_MAX);
}

/* Half of it has left, over and over: the rest moves up, in order. */
TEST(the_rest_moves_up)
{
	uint64_t in = 0, out = 0;

	for (int round = 0; round < 200; round++) {
		for (int i = 0; i < 50; i++, in++)
			word(&one, 8 * (in % 2), in);
		for (int i = 0; i < 40; i++, out++) {
			ck_assert_uint_eq(q.words[q.word_at].word.value, out);
			wh_tcp_queue_left(&q, 0, 1);
		}
	}
}

TEST_SUITE("tcp_queue")
