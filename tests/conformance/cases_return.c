/* cases_return.c - T10 and T8 as nodes come, go, and come back as other incarnations; and which are looked for at the start. */
#include <string.h>

#include "tests/conformance/suite.h"

#define SOME_PASSES 200

static void pass_some(struct group *g)
{
	for (int k = 0; k < SOME_PASSES; k++)
		group_pass(g);
}

static bool has_met(const struct group *g, uint32_t at, uint32_t id)
{
	return g->at[at].here[id] == wh_world.incarnation(g->world, id);
}

static enum whorl_result send_number(struct group *g, uint32_t from, uint32_t to, uint64_t number)
{
	return g->at[from].transport->ops->control_send(g->at[from].transport, to, &number, sizeof(number));
}

static void end(struct group *g, uint32_t id, bool in_order)
{
	if (in_order)
		group_close(g, id);
	else
		group_kill(g, id);
}

/* ---- meeting ------------------------------------------------------------------------------------------------------ */

START_TEST(t10_all_meet_once)
{
	struct group *g = group_make(4, test_seed(1));

	for (uint32_t at = 0; at < 4; at++)
		UNTIL(g, g->at[at].met == 3);
	pass_some(g);
	for (uint32_t at = 0; at < 4; at++) {
		ck_assert_uint_eq(g->at[at].met, 3);
		ck_assert_uint_eq(g->at[at].left + g->at[at].down + g->at[at].refused, 0);
		for (uint32_t id = 0; id < 4; id++)
			ck_assert(id == at || has_met(g, at, id));
	}
	group_free(g);
}
END_TEST

/* Both ways: the node that is there already has the lower id, or the higher. */
START_TEST(t10_a_node_that_comes_later_is_met)
{
	struct group *g = group_make(3, test_seed(2));
	uint32_t late = _i == 0 ? 2 : 0;

	group_kill(g, late);
	for (uint32_t at = 0; at < 3; at++)
		UNTIL(g, at == late || g->at[at].met >= 1);
	pass_some(g);
	group_restart(g, late);
	for (uint32_t at = 0; at < 3; at++)
		UNTIL(g, at == late ? g->at[at].met == 2 : has_met(g, at, late));
	group_free(g);
}
END_TEST

START_TEST(t10_nothing_is_sent_to_a_node_that_has_not_been_met)
{
	struct group *g = group_make(2, test_seed(3));
	uint64_t random = g->seed;

	ck_assert_int_eq(send_number(g, 0, 1, 0), WHORL_MEMBER_GONE);
	UNTIL(g, has_met(g, 0, 1) && has_met(g, 1, 0));
	for (uint64_t turn = 0; turn < 10; turn++) {
		ck_assert_int_eq(send_number(g, 0, 1, 0), WHORL_OK);
		UNTIL(g, g->at[1].controls == 1);
		end(g, 1, next_random(&random) % 2 == 0);
		UNTIL(g, g->at[0].here[1] == 0);
		ck_assert_int_eq(send_number(g, 0, 1, 0), WHORL_MEMBER_GONE);
		group_restart(g, 1);
		ck_assert_int_eq(send_number(g, 1, 0, 0), WHORL_MEMBER_GONE);
		UNTIL(g, has_met(g, 0, 1) && has_met(g, 1, 0));
	}
	ck_assert_uint_eq(g->at[0].met, 11);
	group_free(g);
}
END_TEST

/* ---- coming back -------------------------------------------------------------------------------------------------- */

/* At once, before the others can have noticed; each end is told before the next meeting (group_pass looks). */
START_TEST(t10_a_node_comes_back_at_once)
{
	struct group *g = group_make(3, test_seed(4) + (uint64_t)_i);
	uint64_t random = g->seed;

	for (uint32_t turn = 1; turn <= 20; turn++) {
		uint32_t id = (uint32_t)(next_random(&random) % 3);

		for (uint64_t k = next_random(&random) % 8; k > 0; k--)
			group_pass(g);
		end(g, id, next_random(&random) % 2 == 0);
		group_restart(g, id);
	}
	for (uint32_t at = 0; at < 3; at++)
		for (uint32_t id = 0; id < 3; id++)
			UNTIL(g, id == at || has_met(g, at, id));
	pass_some(g);
	for (uint32_t at = 0; at < 3; at++) {
		ck_assert_uint_eq(g->at[at].met, g->at[at].left + g->at[at].down + 2);
		ck_assert_uint_eq(g->at[at].refused, 0);
	}
	group_free(g);
}
END_TEST

/* What the first said before it left is heard, though the second knocks already. */
START_TEST(t10_the_end_of_one_comes_before_the_next)
{
	struct group *g = group_make(2, test_seed(5));

	UNTIL(g, has_met(g, 0, 1) && has_met(g, 1, 0));
	g->at[0].paused = true;
	for (uint64_t k = 0; k < 5; k++)
		ck_assert_int_eq(send_number(g, 1, 0, k), WHORL_OK);
	group_close(g, 1);
	group_restart(g, 1);
	pass_some(g);
	g->at[0].paused = false;
	UNTIL(g, has_met(g, 0, 1) && has_met(g, 1, 0));
	ck_assert_uint_eq(g->at[0].controls, 5);
	ck_assert_uint_eq(g->at[0].left, 1);
	for (uint64_t k = 5; k < 10; k++)
		UNTIL(g, send_number(g, 1, 0, k) == WHORL_OK);
	UNTIL(g, g->at[0].controls == 10);
	ck_assert(g->at[0].controls_in_order);
	group_free(g);
}
END_TEST

/* ---- images ------------------------------------------------------------------------------------------------------- */

static const struct members all = {2, 3, {0, 1, 2}};

START_TEST(t8_old_images_are_not_disturbed)
{
	struct group *g = group_make(3, test_seed(6));

	group_open(g, 1);
	post_word(g, 2, 1, 64, 7);
	UNTIL(g, column(g, 0, 1, 2, 64) == 7 && column(g, 1, 1, 2, 64) == 7);
	end(g, 2, _i == 0);
	group_restart(g, 2);
	UNTIL(g, has_met(g, 0, 2) && has_met(g, 1, 2) && g->at[2].met == 2);
	post_word(g, 0, 1, 64, 1); /* to the dead as well */
	UNTIL(g, column(g, 1, 1, 0, 64) == 1);
	for (uint32_t id = 0; id < 3; id++)
		ck_assert_int_eq(group_open_members(g, id, 2, &all, 1), WHORL_OK);
	for (uint32_t id = 0; id < 3; id++)
		UNTIL(g, g->at[id].image[2]->ready);
	for (uint64_t k = 1; k <= 50; k++) {
		post_word(g, 2, 2, 64, 1000 + k);
		post_word(g, 0, 1, 72, k);
		group_pass(g);
	}
	UNTIL(g, column(g, 0, 2, 2, 64) == 1050 && column(g, 1, 2, 2, 64) == 1050 && column(g, 1, 1, 0, 72) == 50);
	ck_assert_uint_eq(column(g, 0, 1, 2, 64), 7);
	ck_assert_uint_eq(column(g, 1, 1, 2, 64), 7);
	ck_assert_uint_eq(column(g, 2, 2, 0, 72), 0);
	group_close_image(g, 0, 1);
	post_word(g, 0, 2, 80, 5);
	UNTIL(g, column(g, 2, 2, 0, 80) == 5);
	group_free(g);
}
END_TEST

/* Nodes 0 and 1 mean the first incarnation of 2, which never opened it; the second, which does, is no member of it. */
START_TEST(t8_an_image_belongs_to_incarnations)
{
	struct group *g = group_make(3, test_seed(7));
	uint64_t first = wh_world.incarnation(g->world, 2);

	UNTIL(g, g->at[0].met == 2 && g->at[1].met == 2);
	g->meant[2] = first;
	if (_i == 0) /* before it comes, or after */
		for (uint32_t id = 0; id < 2; id++)
			ck_assert_int_eq(group_open_members(g, id, 2, &all, 1), WHORL_OK);
	group_kill(g, 2);
	group_restart(g, 2);
	UNTIL(g, has_met(g, 0, 2) && has_met(g, 1, 2) && g->at[2].met == 2);
	for (uint32_t id = 0; id < 2 && _i == 1; id++)
		ck_assert_int_eq(group_open_members(g, id, 2, &all, 1), WHORL_OK);
	g->meant[2] = 0;
	ck_assert_int_eq(group_open_members(g, 2, 2, &all, 1), WHORL_OK);
	pass_some(g);
	for (uint32_t id = 0; id < 3; id++) {
		ck_assert(!g->at[id].image[2]->ready);
		ck_assert_uint_eq(g->at[id].refused, 0);
	}
	for (uint32_t id = 0; id < 2; id++) {
		g->at[id].image[2]->ops->freeze(g->at[id].image[2], 2);
		UNTIL(g, g->at[id].image[2]->ready);
	}
	post_word(g, 0, 2, 64, 3);
	UNTIL(g, column(g, 1, 2, 0, 64) == 3);
	ck_assert_uint_eq(column(g, 1, 2, 2, 64), 0);
	group_close_image(g, 2, 2);
	group_free(g);
}
END_TEST

/* A node that has gone and come back does not hear what is posted in the old image, and is not woken by it. */
START_TEST(t6_the_next_incarnation_is_not_rung_for_the_last)
{
	struct group *g = group_make(2, test_seed(8));
	uint64_t rings;

	group_open(g, 1);
	group_kill(g, 1);
	group_restart(g, 1);
	UNTIL(g, has_met(g, 0, 1) && has_met(g, 1, 0));
	g->at[1].transport->ops->arm(g->at[1].transport);
	rings = wh_world.rings(g->world, 0);
	post_word(g, 0, 1, 64, 1);
	ck_assert_uint_eq(wh_world.rings(g->world, 0), rings);
	group_free(g);
}
END_TEST

/* ---- searching ---------------------------------------------------------------------------------------------------- */

static bool searching(const struct group *g, uint32_t id)
{
	return g->at[id].transport->ops->searching(g->at[id].transport);
}

/* It ends when all nodes that are there have been met, whichever are not. */
START_TEST(t10_all_nodes_that_are_there_are_found)
{
	struct group *g = group_make(4, test_seed(9));

	for (uint32_t id = 0; id < (uint32_t)_i; id++)
		group_kill(g, id);
	for (uint32_t id = (uint32_t)_i; id < 4; id++)
		ck_assert(searching(g, id));
	for (uint32_t id = (uint32_t)_i; id < 4; id++) {
		UNTIL(g, !searching(g, id));
		ck_assert_uint_eq(g->at[id].met, 3 - (uint32_t)_i);
	}
	group_free(g);
}
END_TEST

START_TEST(t10_the_silent_do_not_hold_up_the_search)
{
	struct group *g = group_make(3, test_seed(10));

	g->at[1].paused = true;
	UNTIL(g, !searching(g, 0) && !searching(g, 2));
	ck_assert_uint_eq(g->at[0].met, 1);
	g->at[1].paused = false;
	UNTIL(g, g->at[0].met == 2 && g->at[1].met == 2 && g->at[2].met == 2);
	group_free(g);
}
END_TEST

TCase *cases_return(void)
{
	TCase *cases = tcase_create("return");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, t10_all_meet_once);
	tcase_add_loop_test(cases, t10_a_node_that_comes_later_is_met, 0, 2);
	tcase_add_test(cases, t10_nothing_is_sent_to_a_node_that_has_not_been_met);
	tcase_add_loop_test(cases, t10_a_node_comes_back_at_once, 0, seeds(5));
	tcase_add_test(cases, t10_the_end_of_one_comes_before_the_next);
	tcase_add_loop_test(cases, t8_old_images_are_not_disturbed, 0, 2);
	tcase_add_loop_test(cases, t8_an_image_belongs_to_incarnations, 0, 2);
	if (wh_world.rings != NULL)
		tcase_add_test(cases, t6_the_next_incarnation_is_not_rung_for_the_last);
	tcase_add_loop_test(cases, t10_all_nodes_that_are_there_are_found, 0, 4);
	tcase_add_test(cases, t10_the_silent_do_not_hold_up_the_search);
	return cases;
}
