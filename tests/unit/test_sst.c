/* test_sst.c - layouts, what publishing pushes and in what order, observing, lists, guards, batches of
 * pushes. */
#include "tests/support/fake.h"

#include "sst/columns.h"
#include "sst/sst.h"

static const uint32_t peer_ranks[] = {1};
static const struct wh_to peer = {peer_ranks, 1};

struct table {
	struct fake_env env;
	struct fake_image image;
	struct wh_push_stats stats;
	struct wh_pushes pushes;
	struct wh_layout layout;
	struct wh_counter_col first, second;
	struct wh_flag_col flag;
	struct wh_array_col array;
	struct wh_list_col list;
	struct wh_counter_col last;
	struct wh_sst sst;
};

#define LIST_CAPACITY 5

static struct table *make_table(bool deferred)
{
	struct table *t = aligned_alloc(64, (sizeof(*t) + 63) / 64 * 64);
	struct wh_error err;

	ck_assert_ptr_nonnull(t);
	memset(t, 0, sizeof(*t));
	fake_env_init(&t->env);
	fake_image_init(&t->image);
	wh_pushes_init(&t->pushes, &t->env.env, &t->stats, deferred);
	t->pushes.image = &t->image.base;
	t->first = wh_layout_counter(&t->layout);
	t->flag = wh_layout_flag(&t->layout);
	wh_layout_line(&t->layout);
	t->second = wh_layout_counter(&t->layout);
	t->array = wh_layout_array(&t->layout, 3);
	t->list = wh_layout_list(&t->layout, LIST_CAPACITY);
	t->last = wh_layout_counter(&t->layout);
	ck_assert_int_eq(wh_sst_init(&t->sst, &t->env.diag, &t->image.base, &t->layout, &err), WHORL_OK);
	return t;
}

static void free_table(struct table *t)
{
	wh_sst_close(&t->sst);
	free(t);
}

/* ---- layout ------------------------------------------------------------------------------------------------------------- */

TEST(columns_lie_one_after_another)
{
	struct table *t = make_table(true);

	ck_assert_uint_eq(t->first.offset, 0);
	ck_assert_uint_eq(t->flag.offset, 8);
	ck_assert_uint_eq(t->second.offset, 64);
	ck_assert_uint_eq(t->array.offset, 72);
	ck_assert_uint_eq(t->array.count, 3);
	ck_assert_uint_eq(t->list.guard, 96);
	ck_assert_uint_eq(t->list.entries, 104);
	ck_assert_uint_eq(t->list.capacity, LIST_CAPACITY);
	ck_assert_uint_eq(t->last.offset, 104 + 8 * LIST_CAPACITY);
	ck_assert_uint_eq(t->layout.bytes, t->last.offset + 8);
	free_table(t);
}

TEST(a_line_that_has_begun_is_not_skipped)
{
	struct wh_layout layout = {0};

	wh_layout_line(&layout);
	ck_assert_uint_eq(layout.bytes, 0);
	wh_layout_counter(&layout);
	wh_layout_line(&layout);
	wh_layout_line(&layout);
	ck_assert_uint_eq(layout.bytes, 64);
}

TEST(a_table_without_columns)
{
	struct table *t = make_table(true);
	struct wh_layout empty = {0};
	struct wh_sst sst;
	struct wh_error err;

	ck_assert_int_eq(wh_sst_init(&sst, &t->env.diag, &t->image.base, &empty, &err), WHORL_OK);
	wh_sst_close(&sst);
	free_table(t);
}

/* ---- counters, flags, arrays -------------------------------------------------------------------------------------------- */

TEST(a_word_appears_when_it_is_posted)
{
	struct table *t = make_table(true);

	wh_sst_publish(&t->sst, &t->pushes, t->first, 7, peer);
	ck_assert_uint_eq(wh_sst_mine(&t->sst, t->first), 7);
	ck_assert_uint_eq(wh_sst_observe(&t->sst, 0, t->first), 0);
	ck_assert_uint_eq(t->image.posts, 0);
	wh_pushes_post(&t->pushes);
	ck_assert_uint_eq(wh_sst_observe(&t->sst, 0, t->first), 7);
	ck_assert_uint_eq(t->image.count, 1);
	ck_assert_int_eq(t->image.pushes[0].kind, WH_PUSH_WORD);
	ck_assert_uint_eq(t->image.pushes[0].offset, t->first.offset);
	ck_assert_uint_eq(t->image.pushes[0].value, 7);
	ck_assert_uint_eq(t->image.pushes[0].to_count, 1);
	ck_assert_ptr_eq(t->image.pushes[0].to, peer_ranks);
	ck_assert(!t->image.pushes[0].no_wake);
	wh_pushes_post(&t->pushes);
	ck_assert_uint_eq(t->image.posts, 1); /* nothing, no post */
	free_table(t);
}

/* T4: what is posted late carries the value of its time. */
TEST(words_are_copied)
{
	struct table *t = make_table(true);

	wh_sst_publish(&t->sst, &t->pushes, t->first, 1, peer);
	wh_sst_publish(&t->sst, &t->pushes, t->second, 5, peer);
	wh_sst_publish(&t->sst, &t->pushes, t->first, 2, peer);
	wh_pushes_post(&t->pushes);
	ck_assert_uint_eq(t->image.posts, 1);
	ck_assert_uint_eq(t->image.pushes[0].value, 1);
	ck_assert_uint_eq(t->image.pushes[1].value, 5);
	ck_assert_uint_eq(t->image.pushes[2].value, 2);
	free_table(t);
}

TEST(without_deferral_each_push_is_posted_at_once)
{
	struct table *t = make_table(false);

	wh_sst_publish(&t->sst, &t->pushes, t->first, 1, peer);
	ck_assert_uint_eq(wh_sst_observe(&t->sst, 0, t->first), 1);
	wh_sst_publish(&t->sst, &t->pushes, t->second, 1, peer);
	ck_assert_uint_eq(t->image.posts, 2);
	ck_assert_uint_eq(t->image.last_batch, 1);
	free_table(t);
}

TEST(heartbeats_are_quiet)
{
	struct table *t = make_table(false);

	wh_sst_publish_no_wake(&t->sst, &t->pushes, t->first, 1, peer);
	ck_assert(t->image.pushes[0].no_wake);
	free_table(t);
}

TEST(flags_and_arrays)
{
	struct table *t = make_table(false);

	ck_assert(!wh_sst_observe_flag(&t->sst, 0, t->flag));
	wh_sst_publish_flag(&t->sst, &t->pushes, t->flag, peer);
	ck_assert(wh_sst_observe_flag(&t->sst, 0, t->flag));
	ck_assert(!wh_sst_observe_flag(&t->sst, 1, t->flag));
	for (uint32_t i = 0; i < 3; i++)
		wh_sst_publish_array(&t->sst, &t->pushes, t->array, i, 10 + i, peer);
	for (uint32_t i = 0; i < 3; i++)
		ck_assert_uint_eq(wh_sst_observe_array(&t->sst, 0, t->array, i), 10 + i);
	ck_assert_int_eq(t->env.fatal, 0);
	wh_sst_publish_array(&t->sst, &t->pushes, t->array, 3, 20, peer);
	ck_assert_int_eq(t->env.fatal, 1);
	free_table(t);
}

/* A row never takes anything back. */
TEST(a_word_that_falls_is_a_broken_invariant)
{
	struct table *t = make_table(false);

	wh_sst_publish(&t->sst, &t->pushes, t->first, 9, peer);
	wh_sst_publish(&t->sst, &t->pushes, t->first, 9, peer);
	ck_assert_int_eq(t->env.fatal, 0);
	wh_sst_publish(&t->sst, &t->pushes, t->first, 8, peer);
	ck_assert_int_eq(t->env.fatal, 1);
	ck_assert_ptr_nonnull(strstr(t->env.last_fatal, "value >= "));
	free_table(t);
}

TEST(a_peer_is_observed_in_its_row)
{
	struct table *t = make_table(false);
	uint64_t value = 42;

	memcpy(t->image.peer + t->second.offset, &value, sizeof(value));
	ck_assert_uint_eq(wh_sst_observe(&t->sst, 1, t->second), 42);
	ck_assert_uint_eq(wh_sst_observe(&t->sst, 0, t->second), 0);
	free_table(t);
}

/* ---- lists -------------------------------------------------------------------------------------------------------------- */

TEST(entries_go_before_their_guard)
{
	struct table *t = make_table(true);
	const uint64_t entries[] = {11, 12, 13};

	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, entries, 3, 0, peer), WHORL_OK);
	wh_pushes_post(&t->pushes);
	ck_assert_uint_eq(t->image.count, 2);
	ck_assert_int_eq(t->image.pushes[0].kind, WH_PUSH_BYTES);
	ck_assert_uint_eq(t->image.pushes[0].offset, t->list.entries);
	ck_assert_uint_eq(t->image.pushes[0].bytes, 24);
	ck_assert_int_eq(t->image.pushes[1].kind, WH_PUSH_WORD);
	ck_assert_uint_eq(t->image.pushes[1].offset, t->list.guard);
	ck_assert_uint_eq(t->image.pushes[1].value, 3);
	free_table(t);
}

TEST(a_list_that_wraps_is_two_ranges)
{
	struct table *t = make_table(true);
	const uint64_t entries[] = {1, 2, 3, 4};

	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, entries, 3, 0, peer), WHORL_OK);
	wh_pushes_post(&t->pushes);
	t->image.count = 0;
	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, entries, 4, 3, peer), WHORL_OK);
	wh_pushes_post(&t->pushes);
	ck_assert_uint_eq(t->image.count, 3);
	ck_assert_uint_eq(t->image.pushes[0].offset, t->list.entries + 24);
	ck_assert_uint_eq(t->image.pushes[0].bytes, 16);
	ck_assert_uint_eq(t->image.pushes[1].offset, t->list.entries);
	ck_assert_uint_eq(t->image.pushes[1].bytes, 16);
	ck_assert_uint_eq(t->image.pushes[2].value, 7);
	free_table(t);
}

TEST(a_full_list_says_again)
{
	struct table *t = make_table(false);
	const uint64_t entries[LIST_CAPACITY + 1] = {1, 2, 3, 4, 5, 6};

	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, entries, LIST_CAPACITY + 1, 0, peer), WHORL_AGAIN);
	ck_assert_uint_eq(t->image.posts, 0);
	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, entries, LIST_CAPACITY, 0, peer), WHORL_OK);
	t->image.count = 0;
	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, entries, 1, 0, peer), WHORL_AGAIN);
	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, entries, 2, 1, peer), WHORL_AGAIN);
	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, entries, 0, 0, peer), WHORL_OK);
	ck_assert_uint_eq(t->image.count, 0);
	ck_assert_uint_eq(wh_sst_observe_list(&t->sst, 0, t->list), LIST_CAPACITY);
	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, entries, 1, 1, peer), WHORL_OK);
	ck_assert_int_eq(t->env.fatal, 0);
	free_table(t);
}

TEST(consuming_what_was_never_appended_is_a_broken_invariant)
{
	struct table *t = make_table(false);
	const uint64_t entry = 1;

	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, &entry, 1, 0, peer), WHORL_OK);
	ck_assert_int_eq(wh_sst_append(&t->sst, &t->pushes, t->list, &entry, 1, 2, peer), WHORL_OK);
	ck_assert_int_eq(t->env.fatal, 1);
	free_table(t);
}

/* A reader at the other end takes entries by the guard, in batches of all sizes, many times around. */
TEST(a_reader_gets_every_entry_once)
{
	struct table *t = make_table(true);
	struct wh_image there = t->image.base;
	const unsigned char *rows[2];
	unsigned char *copy = aligned_alloc(64, FAKE_ROW);
	uint64_t state = test_seed(1), appended = 0, read = 0, entries[LIST_CAPACITY];
	struct wh_sst reader = {.diag = &t->env.diag, .image = &there};

	ck_assert_ptr_nonnull(copy);
	memset(copy, 0, FAKE_ROW);
	rows[0] = copy;
	there.control = there.row = rows;
	while (read < 1000) {
		uint32_t count;

		state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
		count = 1 + (uint32_t)(state >> 33) % LIST_CAPACITY;
		for (uint32_t i = 0; i < count; i++)
			entries[i] = 1000 + appended + i;
		if (wh_sst_append(&t->sst, &t->pushes, t->list, entries, count, read, peer) == WHORL_OK)
			appended += count;
		else
			ck_assert_uint_gt(appended + count - read, LIST_CAPACITY);
		wh_pushes_post(&t->pushes);
		fake_arrive(&t->image, copy);
		t->image.count = 0;
		ck_assert_uint_eq(wh_sst_observe_list(&reader, 0, t->list), appended);
		for (uint64_t most = (state >> 40) % 4; read < appended && most > 0; read++, most--)
			ck_assert_uint_eq(wh_sst_list_entry(&reader, 0, t->list, read), 1000 + read);
	}
	ck_assert_int_eq(t->env.fatal, 0);
	free(copy);
	free_table(t);
}

/* ---- guards of senders --------------------------------------------------------------------------------------------------- */

TEST(a_guard_counts_beyond_its_bits)
{
	const uint64_t covered_most = (UINT64_C(1) << 48) - 1;
	uint64_t taken = 0, announced = 0;

	ck_assert_uint_eq(wh_guard_covered(wh_guard_make(covered_most, 0)), covered_most);
	ck_assert_uint_eq(wh_guard_news(wh_guard_make(5, 3), 3), 0);
	for (uint64_t step = 1; announced < 300000; step = step * 7 % WH_WINDOW_MAX + 1) {
		announced += step;
		ck_assert_uint_eq(wh_guard_news(wh_guard_make(2 * announced, announced), taken), announced - taken);
		ck_assert_uint_eq(wh_guard_covered(wh_guard_make(2 * announced, announced)), 2 * announced);
		taken = announced;
	}
	ck_assert_uint_eq(wh_guard_news(wh_guard_make(9, taken + WH_WINDOW_MAX), taken), WH_WINDOW_MAX);
}

/* ---- batches ------------------------------------------------------------------------------------------------------------ */

TEST(a_batch_that_is_full_is_posted)
{
	struct table *t = make_table(true);

	for (uint64_t k = 1; k <= WH_PUSHES_MAX + 1; k++)
		wh_sst_publish(&t->sst, &t->pushes, t->first, k, peer);
	ck_assert_uint_eq(t->image.posts, 1);
	ck_assert_uint_eq(t->image.count, WH_PUSHES_MAX);
	wh_pushes_post(&t->pushes);
	ck_assert_uint_eq(t->image.count, WH_PUSHES_MAX + 1);
	for (uint64_t k = 0; k <= WH_PUSHES_MAX; k++)
		ck_assert_uint_eq(t->image.pushes[k].value, k + 1);
	free_table(t);
}

/* Alone in a view: this node still sees its own words; bytes need no push, for its row has them. */
TEST(pushes_to_nobody)
{
	struct table *t = make_table(false);

	wh_push_bytes(&t->pushes, 128, 64, NULL, 0);
	ck_assert_uint_eq(t->image.posts, 0);
	wh_push_word(&t->pushes, t->first.offset, 3, NULL, 0);
	ck_assert_uint_eq(wh_sst_observe(&t->sst, 0, t->first), 3);
	ck_assert_uint_eq(wh_load_relaxed(&t->stats.pushes), 1);
	ck_assert_uint_eq(wh_load_relaxed(&t->stats.writes), 0);
	free_table(t);
}

TEST(pushes_are_counted)
{
	struct table *t = make_table(true);
	static const uint32_t three[] = {1, 1, 1};

	wh_push_bytes(&t->pushes, 128, 64, three, 3);
	wh_push_word(&t->pushes, 0, 1, three, 3);
	wh_push_word_no_wake(&t->pushes, 8, 1, three, 3);
	wh_pushes_post(&t->pushes);
	ck_assert_uint_eq(wh_load_relaxed(&t->stats.pushes), 3);
	ck_assert_uint_eq(wh_load_relaxed(&t->stats.writes), 9);
	ck_assert_uint_eq(wh_load_relaxed(&t->stats.bytes), 3 * (64 + 8 + 8));
	ck_assert_uint_eq(wh_load_relaxed(&t->stats.posts), 1);
	free_table(t);
}

TEST_SUITE("sst")
