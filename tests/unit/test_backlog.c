/* test_backlog.c - messages that are kept back: copies, in order, in bounded memory. */
#include <string.h>

#include "base/pieces.h"
#include "state/backlog.h"
#include "tests/harness.h"

#define LARGE (WH_BACKLOG_BLOCK * 3)

static unsigned char bytes[LARGE];

static struct whorl_message message(uint64_t index, size_t count)
{
	memset(bytes, (int)(index % 251), count);
	return (struct whorl_message){
		.data = bytes, .bytes = count, .sender = 3, .index = index, .view = 7, .sequence = index * 2};
}

static enum whorl_result append(struct wh_backlog *backlog, uint64_t index, size_t count)
{
	struct whorl_message m = message(index, count);

	return wh_backlog_append(backlog, &m);
}

/* The oldest is that one; it is dropped. */
static void check_next(struct wh_backlog *backlog, uint64_t index, size_t count)
{
	struct whorl_message m;

	ck_assert_uint_eq(wh_backlog_oldest(backlog, &m, 1), 1);
	ck_assert_uint_eq(m.index, index);
	ck_assert_uint_eq(m.sequence, index * 2);
	ck_assert_uint_eq(m.sender, 3);
	ck_assert_uint_eq(m.view, 7);
	ck_assert_uint_eq(m.bytes, count);
	ck_assert_uint_eq((uintptr_t)m.data % 16, 0);
	(void)message(index, count); /* the same again */
	ck_assert_mem_eq(m.data, bytes, count);
	wh_backlog_drop(backlog, 1);
}

TEST(messages_come_out_as_they_went_in)
{
	static const size_t sizes[] = {0, 1, 15, 16, 17, 1000, WH_BACKLOG_BLOCK - 200, 8, LARGE, 3, WH_BACKLOG_BLOCK};
	struct wh_backlog backlog;
	size_t count = sizeof(sizes) / sizeof(sizes[0]);

	wh_backlog_init(&backlog, UINT64_MAX);
	for (size_t i = 0; i < count * 5; i++)
		ck_assert_int_eq(append(&backlog, i, sizes[i % count]), WHORL_OK);
	ck_assert_uint_eq(backlog.messages, count * 5);
	for (size_t i = 0; i < count * 5; i++)
		check_next(&backlog, i, sizes[i % count]);
	ck_assert_uint_eq(backlog.messages, 0);
	ck_assert_uint_eq(backlog.allocated, 0);
}

/* A large message lies in pieces, and is kept in one. */
TEST(pieces_are_put_together)
{
	const struct wh_pieces pieces = wh_pieces_count((struct wh_pieces){
		.begin = bytes + 500, .wrapped = bytes, .bytes = 95, .before_wrap = 64, .piece_bytes = 32, .stride = 48});
	struct whorl_message m = {.bytes = 95, .parts = pieces.count, .indexes = 3, .pieces = &pieces}, kept;
	struct wh_backlog backlog;
	unsigned char expected[95];

	ck_assert_uint_eq(pieces.count, 3);
	for (size_t i = 0; i < 1000; i++)
		bytes[i] = (unsigned char)(i * 7);
	memcpy(expected, bytes + 500, 32);
	memcpy(expected + 32, bytes + 548, 32);
	memcpy(expected + 64, bytes, 31);
	m.data = bytes + 500;
	wh_backlog_init(&backlog, UINT64_MAX);
	ck_assert_int_eq(wh_backlog_append(&backlog, &m), WHORL_OK);
	ck_assert_uint_eq(wh_backlog_oldest(&backlog, &kept, 1), 1);
	ck_assert_uint_eq(kept.parts, 1);
	ck_assert_uint_eq(kept.indexes, 3);
	ck_assert_ptr_null(kept.pieces);
	ck_assert_mem_eq(kept.data, expected, 95);
	wh_backlog_clear(&backlog);
}

TEST(they_come_out_in_runs)
{
	struct whorl_message run[64];
	struct wh_backlog backlog;
	uint64_t next = 0, last = 0;

	wh_backlog_init(&backlog, UINT64_MAX);
	while (last < 5000)
		ck_assert_int_eq(append(&backlog, last++, 300), WHORL_OK);
	for (size_t count; (count = wh_backlog_oldest(&backlog, run, 64)) > 0;) {
		ck_assert_uint_le(count, 64);
		for (size_t i = 0; i < count; i++)
			if (run[i].index != next++)
				ck_abort_msg("message %u is out of order", (unsigned)next - 1);
		wh_backlog_drop(&backlog, count);
		if (next % 3 == 0) /* more comes meanwhile */
			ck_assert_int_eq(append(&backlog, last++, 0), WHORL_OK);
		if (next >= 5000)
			break;
	}
	ck_assert_uint_ge(next, 5000);
	ck_assert_uint_gt(last, 5000);
	ck_assert_int_eq(append(&backlog, last++, 0), WHORL_OK);
	wh_backlog_clear(&backlog);
	ck_assert_uint_eq(backlog.messages, 0);
	ck_assert_uint_eq(backlog.allocated, 0);
	ck_assert_uint_eq(wh_backlog_oldest(&backlog, run, 64), 0);
}

TEST(what_is_allocated_is_bounded)
{
	struct wh_backlog backlog;
	uint64_t kept = 0;

	wh_backlog_init(&backlog, 4 * WH_BACKLOG_BLOCK + 1);
	while (append(&backlog, kept, 1000) == WHORL_OK) {
		ck_assert_uint_le(backlog.allocated, backlog.max);
		kept++;
	}
	ck_assert_int_eq(append(&backlog, kept, 1000), WHORL_MEMORY);
	ck_assert_uint_eq(backlog.allocated, 4 * WH_BACKLOG_BLOCK);
	ck_assert_uint_ge(kept, 4 * WH_BACKLOG_BLOCK / 1100);
	for (uint64_t i = 0; i < kept; i++) /* what is there stays right; and as it goes there is room again */
		check_next(&backlog, i, 1000);
	ck_assert_int_eq(append(&backlog, kept, 1000), WHORL_OK);
	wh_backlog_clear(&backlog);
}

TEST(small_messages_take_no_more_than_they_need)
{
	struct wh_backlog backlog;

	wh_backlog_init(&backlog, UINT64_MAX);
	for (uint64_t i = 0; i < 20000; i++)
		ck_assert_int_eq(append(&backlog, i, 10), WHORL_OK);
	ck_assert_uint_le(backlog.allocated, UINT64_C(20000) * 96 + WH_BACKLOG_BLOCK);
	wh_backlog_clear(&backlog);
}

TEST(a_bound_below_a_block_keeps_nothing)
{
	struct wh_backlog backlog;

	wh_backlog_init(&backlog, WH_BACKLOG_BLOCK - 1);
	ck_assert_int_eq(append(&backlog, 0, 1), WHORL_MEMORY);
	ck_assert_uint_eq(backlog.messages, 0);
	ck_assert_uint_eq(backlog.allocated, 0);
}

TEST_SUITE("backlog")
