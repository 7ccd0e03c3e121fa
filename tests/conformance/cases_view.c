/* cases_view.c - T8 and T9 as views follow one another: images that are proposed, dropped and replaced while another is
 * in use, and members that no node waits for any more. */
#include <string.h>

#include "tests/conformance/suite.h"

#define SOME_PASSES 200

/* The view in use has slot 1 and the key 1; what may come next has slot 2 or 3, and a key that names the leader of the attempt. */
#define KEY(view, leader, attempt) ((uint64_t)(view) << 32 | (leader) << 8 | (attempt))

static const struct members both = {KEY(2, 0, 1), 2, {0, 1}};
static const struct members three = {KEY(2, 0, 2), 3, {0, 1, 2}};

static void open_at(struct group *g, uint32_t id, uint64_t slot, const struct members *members)
{
	ck_assert_int_eq(group_open_members(g, id, slot, members, members->key), WHORL_OK);
	ck_assert_uint_eq(g->at[id].image[slot]->key, members->key);
	ck_assert_uint_eq(g->at[id].image[slot]->members, members->count);
}

static void freeze(const struct group *g, uint32_t at, uint64_t slot, uint32_t rank)
{
	g->at[at].image[slot]->ops->freeze(g->at[at].image[slot], rank);
}

static void pass_some(struct group *g)
{
	for (int k = 0; k < SOME_PASSES; k++)
		group_pass(g);
}

/* A word to all others of that image, in which `from` may have any rank. */
static void post_among(struct group *g, uint32_t from, uint64_t slot, uint64_t offset, uint64_t value)
{
	const struct wh_image *image = g->at[from].image[slot];
	struct wh_push push = push_word(g, image->my_rank, offset, value);

	push.to_count = image->members - 1; /* the first so many ranks but its own */
	post(g, from, slot, &push, 1);
}

static void assert_zeros(const struct group *g, uint32_t at, uint64_t slot, uint32_t rank)
{
	static const unsigned char zeros[CONTROL_BYTES];

	ck_assert_mem_eq(g->at[at].image[slot]->control[rank], zeros, CONTROL_BYTES);
}

/* ---- freeze before ready -------------------------------------------------------------------------------------------- */

/* Node 2 does not open the image; each other waits for it until it freezes it itself. */
START_TEST(t9_the_frozen_are_not_waited_for)
{
	struct group *g = group_make(3, test_seed(1));

	open_at(g, 0, 2, &three);
	open_at(g, 1, 2, &three);
	pass_some(g);
	ck_assert(!g->at[0].image[2]->ready && !g->at[1].image[2]->ready);
	freeze(g, 0, 2, 2);
	freeze(g, 0, 2, 2); /* again */
	UNTIL(g, g->at[0].ready == 1);
	ck_assert(g->at[0].image[2]->ready && !g->at[1].image[2]->ready);
	assert_zeros(g, 0, 2, 2);
	post_among(g, 0, 2, 64, 7); /* to those that are not ready, and to the frozen */
	pass_some(g);
	ck_assert(!g->at[1].image[2]->ready);
	freeze(g, 1, 2, 2);
	UNTIL(g, g->at[1].ready == 1);
	UNTIL(g, column(g, 1, 2, 0, 64) == 7);
	post_among(g, 1, 2, 64, 8);
	UNTIL(g, column(g, 0, 2, 1, 64) == 8);
	open_at(g, 2, 2, &three); /* after all */
	pass_some(g);
	assert_zeros(g, 0, 2, 2);
	assert_zeros(g, 1, 2, 2);
	ck_assert_uint_eq(g->at[0].ready + g->at[1].ready, 2);
	group_free(g);
}
END_TEST

/* Its row has been exchanged when it is frozen, or it comes later, and it writes: nothing of it is ever seen. */
START_TEST(t9_frozen_before_ready_reads_as_zeros)
{
	const struct members four = {KEY(2, 0, 1), 4, {0, 1, 2, 3}};
	struct group *g = group_make(4, test_seed(2));
	bool early = _i == 0;

	open_at(g, 0, 2, &four);
	if (early)
		freeze(g, 0, 2, 2);
	open_at(g, 1, 2, &four);
	open_at(g, 2, 2, &four);
	pass_some(g);
	if (!early)
		freeze(g, 0, 2, 2);
	for (uint32_t id = 0; id < 3; id++)
		freeze(g, id, 2, 3);
	UNTIL(g, g->at[0].ready == 1 && g->at[1].ready == 1);
	for (uint64_t k = 1; k <= 100; k++) {
		for (uint64_t offset = 0; offset < CONTROL_BYTES && g->at[2].image[2]->ready; offset += 512)
			post_among(g, 2, 2, offset, k);
		post_among(g, 1, 2, 64, k);
		group_pass(g);
		assert_zeros(g, 0, 2, 2);
	}
	UNTIL(g, column(g, 0, 2, 1, 64) == 100);
	if (g->at[2].image[2]->ready) /* it need not be: node 0 has nothing to do with it */
		UNTIL(g, column(g, 1, 2, 2, 512) == 100);
	pass_some(g);
	assert_zeros(g, 0, 2, 2);
	assert_zeros(g, 0, 2, 3);
	group_free(g);
}
END_TEST

/* It is ready and has pushed, when it is frozen by a node that is not. */
START_TEST(t9_frozen_with_words_that_came_early)
{
	struct group *g = group_make(3, test_seed(12));

	open_at(g, 0, 2, &three);
	open_at(g, 1, 2, &three);
	freeze(g, 1, 2, 2);
	UNTIL(g, g->at[1].ready == 1);
	post_among(g, 1, 2, 64, 7);
	pass_some(g);
	ck_assert(!g->at[0].image[2]->ready);
	freeze(g, 0, 2, 1);
	freeze(g, 0, 2, 2);
	UNTIL(g, g->at[0].ready == 1);
	assert_zeros(g, 0, 2, 1);
	post_among(g, 1, 2, 72, 8);
	pass_some(g);
	assert_zeros(g, 0, 2, 1);
	group_free(g);
}
END_TEST

START_TEST(t9_all_others_frozen)
{
	struct group *g = group_make(3, test_seed(3));

	open_at(g, 1, 2, &three);
	freeze(g, 1, 2, 0);
	pass_some(g);
	ck_assert(!g->at[1].image[2]->ready);
	freeze(g, 1, 2, 2);
	UNTIL(g, g->at[1].ready == 1);
	assert_zeros(g, 1, 2, 0);
	assert_zeros(g, 1, 2, 2);
	post_among(g, 1, 2, 64, 1);
	ck_assert_uint_eq(column(g, 1, 2, 1, 64), 1);
	group_free(g);
}
END_TEST

/* What is frozen in one image is not in another. */
START_TEST(t9_a_freeze_belongs_to_one_image)
{
	struct group *g = group_make(3, test_seed(4));

	group_open(g, 1);
	for (uint32_t id = 0; id < 3; id++)
		open_at(g, id, 2, &three);
	freeze(g, 0, 1, 2);
	for (uint32_t id = 0; id < 3; id++)
		UNTIL(g, g->at[id].image[2]->ready);
	post_among(g, 2, 1, 64, 1);
	post_among(g, 2, 2, 64, 2);
	post_among(g, 0, 2, 64, 3);
	UNTIL(g, column(g, 0, 2, 2, 64) == 2 && column(g, 2, 2, 0, 64) == 3 && column(g, 1, 1, 2, 64) == 1);
	assert_zeros(g, 0, 1, 2);
	group_free(g);
}
END_TEST

/* Slots, then the guard, then the freeze: the last words to a suspect. */
START_TEST(t9_what_was_posted_before_the_freeze_arrives)
{
	struct group *g = group_make(3, test_seed(5));
	uint64_t value;

	group_open(g, 1);
	for (uint64_t k = 1; k <= 20; k++) {
		value = k;
		memcpy(g->at[0].image[1]->own + RING_0 + (k - 1) * 64, &value, sizeof(value));
		post(g, 0, 1, (struct wh_push[]){push_bytes(g, 0, RING_0 + (k - 1) * 64, 64), push_word(g, 0, 64, k)},
		     2);
	}
	freeze(g, 0, 1, 1);
	UNTIL(g, column(g, 1, 1, 0, 64) == 20 && column(g, 2, 1, 0, 64) == 20);
	for (uint64_t k = 1; k <= 20; k++) {
		memcpy(&value, g->at[1].image[1]->row[0] + RING_0 + (k - 1) * 64, sizeof(value));
		ck_assert_uint_eq(value, k);
	}
	post_among(g, 0, 1, 64, 21);
	UNTIL(g, column(g, 2, 1, 0, 64) == 21);
	group_free(g);
}
END_TEST

/* ---- members that are gone -------------------------------------------------------------------------------------------- */

START_TEST(t8_the_gone_are_waited_for_until_frozen)
{
	struct group *g = group_make(3, test_seed(6));

	group_open(g, 1);
	if (_i == 0)
		group_kill(g, 2);
	else
		group_close(g, 2);
	if (_i == 0)
		UNTIL(g, g->at[0].down == 1 && g->at[1].down == 1);
	else
		UNTIL(g, g->at[0].left == 1 && g->at[1].left == 1);
	open_at(g, 0, 2, &three);
	open_at(g, 1, 2, &three);
	pass_some(g);
	ck_assert(!g->at[0].image[2]->ready && !g->at[1].image[2]->ready);
	freeze(g, 0, 2, 2);
	freeze(g, 1, 2, 2);
	UNTIL(g, g->at[0].image[2]->ready && g->at[1].image[2]->ready);
	post_among(g, 0, 2, 64, 3);
	post_among(g, 1, 1, 64, 4);
	UNTIL(g, column(g, 1, 2, 0, 64) == 3 && column(g, 0, 1, 1, 64) == 4);
	assert_zeros(g, 0, 2, 2);
	ck_assert_uint_eq(g->at[0].down + g->at[0].left, 1); /* and nothing is reported twice */
	group_free(g);
}
END_TEST

/* It dies while the image opens. */
START_TEST(t8_death_of_a_member_that_is_waited_for)
{
	struct group *g = group_make(3, test_seed(20) + (uint64_t)_i);

	group_open(g, 1);
	for (uint32_t id = 0; id < 3; id++)
		open_at(g, id, 2, &three);
	for (int k = 0; k < _i; k++)
		group_pass(g);
	group_kill(g, 2);
	for (uint32_t id = 0; id < 2; id++) {
		UNTIL(g, g->at[id].down == 1);
		freeze(g, id, 2, 2);
		UNTIL(g, g->at[id].image[2]->ready);
	}
	post_among(g, 0, 2, 64, 3);
	post_among(g, 1, 2, 64, 4);
	UNTIL(g, column(g, 1, 2, 0, 64) == 3 && column(g, 0, 2, 1, 64) == 4);
	ck_assert_uint_eq(g->at[0].ready, 2); /* of two images, once each */
	ck_assert_uint_eq(g->at[1].ready, 2);
	group_free(g);
}
END_TEST

/* ---- candidates ------------------------------------------------------------------------------------------------------- */

/* A proposal of three of which one hangs, then one of two of them, while the image of all is in use. */
START_TEST(t8_candidates_in_turn)
{
	const struct members last = {KEY(2, 1, 1), 2, {2, 1}};
	struct group *g = group_make(3, test_seed(7));

	group_open(g, 1);
	open_at(g, 0, 2, &three);
	open_at(g, 1, 2, &three);
	post_among(g, 0, 1, 64, 1);
	UNTIL(g, column(g, 2, 1, 0, 64) == 1);
	group_close_image(g, 0, 2);
	group_close_image(g, 1, 2);
	open_at(g, 1, 2, &both); /* that key is the lower one: only to be another counts */
	open_at(g, 0, 2, &both);
	UNTIL(g, g->at[0].image[2]->ready && g->at[1].image[2]->ready);
	post_among(g, 1, 2, 64, 2);
	post_among(g, 1, 1, 64, 3);
	UNTIL(g, column(g, 0, 2, 1, 64) == 2 && column(g, 0, 1, 1, 64) == 3 && column(g, 2, 1, 1, 64) == 3);
	open_at(g, 2, 2, &three); /* it wakes up, and finds no other node */
	pass_some(g);
	ck_assert(!g->at[2].image[2]->ready);
	open_at(g, 1, 3, &last);
	open_at(g, 2, 3, &last);
	UNTIL(g, g->at[1].image[3]->ready && g->at[2].image[3]->ready);
	group_close_image(g, 2, 2);
	post_among(g, 2, 3, 64, 5);
	UNTIL(g, column(g, 1, 3, 0, 64) == 5);
	assert_zeros(g, 0, 2, 0);
	for (uint32_t id = 0; id < 3; id++)
		ck_assert_uint_eq(g->at[id].down + g->at[id].left + g->at[id].refused, 0);
	group_free(g);
}
END_TEST

/* One closes it before all have opened it; the others get over that by freezing it. */
START_TEST(t8_a_candidate_that_one_has_closed)
{
	struct group *g = group_make(3, test_seed(8));

	group_open(g, 1);
	open_at(g, 0, 2, &three);
	open_at(g, 1, 2, &three);
	if (_i == 1)
		pass_some(g);
	group_close_image(g, 0, 2);
	open_at(g, 2, 2, &three);
	pass_some(g);
	ck_assert(!g->at[2].image[2]->ready);
	for (uint32_t id = 1; id < 3; id++) {
		freeze(g, id, 2, 0);
		UNTIL(g, g->at[id].image[2]->ready);
	}
	assert_zeros(g, 2, 2, 0);
	post_among(g, 1, 2, 64, 1);
	post_among(g, 2, 2, 64, 2);
	UNTIL(g, column(g, 2, 2, 1, 64) == 1 && column(g, 1, 2, 2, 64) == 2);
	post_among(g, 0, 1, 64, 3);
	UNTIL(g, column(g, 1, 1, 0, 64) == 3 && column(g, 2, 1, 0, 64) == 3);
	group_free(g);
}
END_TEST

/* A node that was invited into a group that is no more has closed greater keys than those of the next one, and others have offered
 * it more of them, or the lower one before it opens that one: none of that is in the way. */
START_TEST(t8_a_lower_key_than_one_before)
{
	const struct members greater = {KEY(9, 0, 1), 2, {0, 1}};
	struct members other = {KEY(9, 1, 0), 2, {0, 1}};
	struct group *g = group_make(3, test_seed(12));
	uint32_t first = _i % 2; /* of the two opens the lower one first */

	open_at(g, 0, 3, &greater);
	if (_i / 2 == 1)
		open_at(g, 1, 3, &greater);
	pass_some(g);
	if (_i / 2 != 2) /* else it stays open, in vain */
		group_close_image(g, 0, 3);
	for (int k = 0; k < 10 && _i / 2 == 3; k++) { /* offers without number that are not taken up */
		other.key++;
		open_at(g, 1, 4, &other);
		pass_some(g);
		group_close_image(g, 1, 4);
	}
	open_at(g, first, 2, &both);
	pass_some(g);
	open_at(g, 1 - first, 2, &both);
	UNTIL(g, g->at[0].image[2]->ready && g->at[1].image[2]->ready);
	post_among(g, 0, 2, 64, 1);
	post_among(g, 1, 2, 64, 2);
	UNTIL(g, column(g, 1, 2, 0, 64) == 1 && column(g, 0, 2, 1, 64) == 2);
	for (uint32_t id = 0; id < 3; id++)
		ck_assert_uint_eq(g->at[id].down + g->at[id].left + g->at[id].refused, 0);
	group_free(g);
}
END_TEST

/* One closes it when it is ready everywhere. */
START_TEST(t8_closed_by_one_and_used_by_others)
{
	struct group *g = group_make(3, test_seed(9));

	for (uint32_t id = 0; id < 3; id++)
		open_at(g, id, 2, &three);
	for (uint32_t id = 0; id < 3; id++)
		UNTIL(g, g->at[id].image[2]->ready);
	post_among(g, 0, 2, 64, 1); /* goes on its way, though it closes */
	group_close_image(g, 0, 2);
	for (uint64_t k = 1; k <= 50; k++) {
		post_among(g, 1, 2, 64, k);
		group_pass(g);
	}
	UNTIL(g, column(g, 2, 2, 1, 64) == 50);
	UNTIL(g, column(g, 1, 2, 0, 64) == 1 && column(g, 2, 2, 0, 64) == 1);
	ck_assert_uint_eq(g->at[1].down + g->at[2].down + g->at[1].left + g->at[2].left, 0);
	group_free(g);
}
END_TEST

/* Images of other members in other ranks, with pushes to the same places; they close with pushes under way. */
START_TEST(t8_keys_keep_pushes_apart)
{
	struct group *g = group_make(3, test_seed(10));
	const struct members turned = {KEY(3, 2, 1), 3, {2, 0, 1}}, next = {KEY(3, 2, 2), 3, {1, 2, 0}};

	group_open(g, 1);
	for (uint32_t id = 0; id < 3; id++)
		open_at(g, id, 2, &turned);
	for (uint32_t id = 0; id < 3; id++)
		UNTIL(g, g->at[id].image[2]->ready);
	for (uint64_t k = 1; k <= 50; k++)
		for (uint32_t from = 0; from < 3; from++) {
			post_among(g, from, 1, 64, 1000 * from + k);
			post_among(g, from, 2, 64, 1000 * from + 500 + k);
		}
	for (uint32_t at = 0; at < 3; at++)
		for (uint32_t rank = 0; rank < 3; rank++) {
			UNTIL(g, column(g, at, 1, rank, 64) == 1000 * rank + 50);
			UNTIL(g, column(g, at, 2, rank, 64) == 1000 * turned.ids[rank] + 550);
		}
	for (uint64_t k = 1; k <= 50; k++)
		post_among(g, 0, 2, 64 + 8 * k, k);
	for (uint32_t id = 0; id < 3; id++)
		group_close_image(g, id, 2);
	for (uint32_t id = 0; id < 3; id++)
		open_at(g, id, 3, &next);
	for (uint32_t id = 0; id < 3; id++)
		UNTIL(g, g->at[id].image[3]->ready);
	pass_some(g);
	for (uint32_t at = 0; at < 3; at++)
		for (uint32_t rank = 0; rank < 3; rank++)
			assert_zeros(g, at, 3, rank);
	ck_assert_uint_eq(column(g, 1, 1, 0, 64), 50);
	group_free(g);
}
END_TEST

/* Attempts without number: each is opened by some, closed by them in any order, and by some before others open it. */
START_TEST(t8_many_attempts)
{
	struct group *g = group_make(3, test_seed(11));
	uint64_t random = g->seed;
	struct members attempt = three;
	uint64_t attempts = is_dear() ? 15 : 60;

	group_open(g, 1);
	for (uint64_t k = 1; k <= attempts; k++) {
		attempt.key = KEY(2, 1, k);
		for (int step = 0; step < 8; step++) {
			uint32_t id = (uint32_t)(next_random(&random) % 3);

			if (g->at[id].image[2] == NULL)
				open_at(g, id, 2, &attempt);
			else if (next_random(&random) % 2 == 0)
				freeze(g, id, 2, (id + 1) % 3);
			else if (next_random(&random) % 4 == 0)
				break;
			group_pass(g);
		}
		for (uint32_t id = 0; id < 3; id++)
			if (g->at[id].image[2] != NULL)
				group_close_image(g, id, 2);
		post_among(g, 0, 1, 64, k);
	}
	attempt.key = KEY(2, 2, 1);
	for (uint32_t id = 0; id < 3; id++)
		open_at(g, id, 2, &attempt);
	for (uint32_t id = 0; id < 3; id++)
		UNTIL(g, g->at[id].image[2]->ready);
	post_among(g, 2, 2, 64, 9);
	UNTIL(g, column(g, 0, 2, 2, 64) == 9 && column(g, 1, 2, 2, 64) == 9 && column(g, 1, 1, 0, 64) == attempts);
	for (uint32_t id = 0; id < 3; id++)
		ck_assert_uint_eq(g->at[id].down + g->at[id].left + g->at[id].refused, 0);
	group_free(g);
}
END_TEST

TCase *cases_view(void)
{
	TCase *cases = tcase_create("view");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, t9_the_frozen_are_not_waited_for);
	tcase_add_loop_test(cases, t9_frozen_before_ready_reads_as_zeros, 0, 2);
	tcase_add_test(cases, t9_frozen_with_words_that_came_early);
	tcase_add_test(cases, t9_all_others_frozen);
	tcase_add_test(cases, t9_a_freeze_belongs_to_one_image);
	tcase_add_test(cases, t9_what_was_posted_before_the_freeze_arrives);
	tcase_add_loop_test(cases, t8_the_gone_are_waited_for_until_frozen, 0, 2);
	tcase_add_loop_test(cases, t8_death_of_a_member_that_is_waited_for, 0, 6);
	tcase_add_test(cases, t8_candidates_in_turn);
	tcase_add_loop_test(cases, t8_a_candidate_that_one_has_closed, 0, 2);
	tcase_add_loop_test(cases, t8_a_lower_key_than_one_before, 0, 8);
	tcase_add_test(cases, t8_closed_by_one_and_used_by_others);
	tcase_add_test(cases, t8_keys_keep_pushes_apart);
	tcase_add_test(cases, t8_many_attempts);
	return cases;
}
