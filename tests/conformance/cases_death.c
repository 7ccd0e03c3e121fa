/* cases_death.c - T12 as far as it can be seen where all nodes are in one process: nothing is proven of these, and columns can be read
 * again. Where processes are killed it is in shm_deaths.c. */
#include <string.h>

#include "tests/conformance/suite.h"

#define SOME_PASSES 100

static void pass_some(struct group *g)
{
	for (int k = 0; k < SOME_PASSES; k++)
		group_pass(g);
}

static void freeze(const struct group *g, uint32_t at, uint64_t view, uint32_t rank)
{
	g->at[at].image[view]->ops->freeze(g->at[at].image[view], rank);
}

static bool thaw(const struct group *g, uint32_t at, uint64_t view, uint32_t rank)
{
	return g->at[at].image[view]->ops->thaw(g->at[at].image[view], rank);
}

static void all_are_here(struct group *g)
{
	for (uint32_t id = 0; id < g->nodes; id++)
		UNTIL(g, g->at[id].met == g->nodes - 1);
}

START_TEST(t12_no_proof_no_thaw)
{
	struct group *g = group_make(2, test_seed(1));

	ck_assert(wh_world.proofs == (g->at[0].transport->ops->thaw != NULL));
	group_free(g);
}
END_TEST

/* Nodes that share a process with me end, one way or the other, and it goes on. */
START_TEST(t12_nothing_is_proven_of_ones_own_process)
{
	struct group *g;

	if (wh_world.apart)
		return;
	g = group_make(3, test_seed(2));
	group_open(g, 1);
	group_kill(g, 1);
	group_close(g, 2);
	UNTIL(g, g->at[0].down_of[1] == 1 && g->at[0].left_of[2] == 1);
	pass_some(g);
	ck_assert_uint_eq(g->at[0].dead, 0);
	group_free(g);
}
END_TEST

/* Last words: what was pushed behind the freezing. */
START_TEST(t12_thawed_columns_are_the_row)
{
	struct group *g;

	if (!wh_world.proofs)
		return;
	g = group_make(3, test_seed(3));
	group_open(g, 1);
	post_word(g, 1, 1, 64, 1);
	UNTIL(g, column(g, 0, 1, 1, 64) == 1);
	freeze(g, 0, 1, 1);
	post_word(g, 1, 1, 64, 2);
	UNTIL(g, column(g, 2, 1, 1, 64) == 2);
	ck_assert_uint_eq(column(g, 0, 1, 1, 64), 1);
	group_kill(g, 1);
	UNTIL(g, g->at[0].down == 1);
	ck_assert(thaw(g, 0, 1, 1));
	ck_assert_uint_eq(column(g, 0, 1, 1, 64), 2);
	freeze(g, 0, 1, 1); /* that is for ever */
	ck_assert(thaw(g, 0, 1, 1));
	ck_assert_uint_eq(column(g, 0, 1, 1, 64), 2);
	post_word(g, 0, 1, 64, 5); /* to the thawed as well: as to any that is frozen */
	UNTIL(g, column(g, 2, 1, 0, 64) == 5);
	group_free(g);
}
END_TEST

/* My own row, and one that was never offered. */
START_TEST(t12_no_thaw_without_a_row)
{
	struct group *g;

	if (!wh_world.proofs)
		return;
	g = group_make(2, test_seed(4));
	all_are_here(g);
	ck_assert_int_eq(group_open_at(g, 0, 1, 1), WHORL_OK);
	group_kill(g, 1);
	UNTIL(g, g->at[0].down == 1);
	ck_assert(!thaw(g, 0, 1, 1));
	ck_assert(!thaw(g, 0, 1, 0));
	pass_some(g);
	ck_assert(!g->at[0].image[1]->ready); /* it waits for the other still, */
	freeze(g, 0, 1, 1);
	UNTIL(g, g->at[0].ready == 1);
	ck_assert(!thaw(g, 0, 1, 1));
	ck_assert_uint_eq(column(g, 0, 1, 1, 64), 0);
	group_free(g);
}
END_TEST

/* Node 1 was ready, and pushed, where node 0 is not: node 2 has not opened the image. It ends, frozen or not. */
START_TEST(t12_thawed_before_ready)
{
	struct group *g;
	struct wh_push bytes;

	if (!wh_world.proofs)
		return;
	g = group_make(3, test_seed(5));
	ck_assert_int_eq(group_open_at(g, 0, 1, 1), WHORL_OK);
	ck_assert_int_eq(group_open_at(g, 1, 1, 1), WHORL_OK);
	freeze(g, 1, 1, 2);
	UNTIL(g, g->at[1].ready == 1);
	memset(g->at[1].image[1]->own + RING_0, 7, 4096);
	bytes = push_bytes(g, 1, RING_0, 4096);
	post(g, 1, 1, &bytes, 1);
	post_word(g, 1, 1, 64, 9);
	pass_some(g);
	if (_i == 1)
		freeze(g, 0, 1, 1);
	group_kill(g, 1);
	UNTIL(g, g->at[0].down == 1);
	ck_assert(thaw(g, 0, 1, 1));
	pass_some(g);
	ck_assert(!g->at[0].image[1]->ready);
	freeze(g, 0, 1, 2);
	UNTIL(g, g->at[0].ready == 1);
	ck_assert_uint_eq(column(g, 0, 1, 1, 64), 9);
	ck_assert_int_eq(g->at[0].image[1]->row[1][RING_0 + 4095], 7);
	ck_assert_ptr_null(g->at[0].image[1]->row[2]);
	group_free(g);
}
END_TEST

/* Its row has come, and it ends before it has mine. */
START_TEST(t12_the_thawed_are_not_waited_for)
{
	struct group *g;

	if (!wh_world.proofs)
		return;
	g = group_make(2, test_seed(6));
	all_are_here(g);
	ck_assert_int_eq(group_open_at(g, 1, 1, 1), WHORL_OK);
	g->at[1].paused = true;
	ck_assert_int_eq(group_open_at(g, 0, 1, 1), WHORL_OK);
	pass_some(g);
	group_kill(g, 1);
	UNTIL(g, g->at[0].down == 1);
	pass_some(g);
	ck_assert(!g->at[0].image[1]->ready);
	ck_assert(thaw(g, 0, 1, 1));
	UNTIL(g, g->at[0].ready == 1);
	ck_assert_uint_eq(column(g, 0, 1, 1, 64), 0);
	group_free(g);
}
END_TEST

TCase *cases_death(void)
{
	TCase *cases = tcase_create("death");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, t12_no_proof_no_thaw);
	tcase_add_test(cases, t12_nothing_is_proven_of_ones_own_process);
	tcase_add_test(cases, t12_thawed_columns_are_the_row);
	tcase_add_test(cases, t12_no_thaw_without_a_row);
	tcase_add_loop_test(cases, t12_thawed_before_ready, 0, 2);
	tcase_add_test(cases, t12_the_thawed_are_not_waited_for);
	return cases;
}
