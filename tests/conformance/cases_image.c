/* cases_image.c - T8 and T9: images of different views are different memory, and what is frozen stays as it is. */
#include <pthread.h>
#include <string.h>

#include "tests/conformance/suite.h"

/* ---- T8 ----------------------------------------------------------------------------------------------------------- */

START_TEST(t8_images_are_disjoint)
{
	struct group *g = group_make(3, test_seed(1));

	group_open(g, 1);
	group_open(g, 2);
	for (uint64_t k = 1; k <= 100; k++) {
		post_word(g, 0, 1, 64, k);
		post_word(g, 0, 2, 64, 1000 + k);
	}
	for (uint32_t at = 0; at < 3; at++) {
		UNTIL(g, column(g, at, 1, 0, 64) == 100);
		UNTIL(g, column(g, at, 2, 0, 64) == 1100);
		ck_assert_uint_eq(g->at[at].ready, 2);
	}
	memset(g->at[1].image[1]->own + RING_0, 3, 100);
	ck_assert_int_eq(g->at[1].image[2]->own[RING_0], 0);
	group_free(g);
}
END_TEST

START_TEST(t8_closing_one_leaves_the_other)
{
	struct group *g = group_make(3, test_seed(2));

	group_open(g, 1);
	group_open(g, 2);
	post_word(g, 0, 1, 64, 1); /* may be under way still when the images close */
	group_close_image(g, 1, 1);
	post_word(g, 0, 1, 64, 2);
	post_word(g, 0, 2, 64, 7);
	UNTIL(g, column(g, 1, 2, 0, 64) == 7 && column(g, 2, 2, 0, 64) == 7);
	UNTIL(g, column(g, 2, 1, 0, 64) == 2); /* a node that has not closed still sees it */
	group_close_image(g, 0, 1);
	group_close_image(g, 2, 1);
	group_open(g, 3);
	post_word(g, 2, 3, 64, 8);
	post_word(g, 2, 2, 72, 9);
	UNTIL(g, column(g, 0, 3, 2, 64) == 8 && column(g, 0, 2, 2, 72) == 9);
	ck_assert_uint_eq(column(g, 0, 3, 0, 64), 0);
	ck_assert_uint_eq(column(g, 0, 2, 2, 64), 0);
	group_free(g);
}
END_TEST

/* Ready means that all nodes are; and nodes open views when they like. */
START_TEST(t8_views_open_in_any_order)
{
	struct group *g = group_make(3, test_seed(3));

	ck_assert_int_eq(group_open_at(g, 0, 1, 1), WHORL_OK);
	ck_assert_int_eq(group_open_at(g, 0, 2, 1), WHORL_OK);
	ck_assert_int_eq(group_open_at(g, 1, 2, 1), WHORL_OK);
	for (int k = 0; k < 100; k++)
		group_pass(g);
	ck_assert(!g->at[0].image[1]->ready && !g->at[0].image[2]->ready && !g->at[1].image[2]->ready);
	ck_assert_ptr_null(g->at[0].image[1]->control);
	ck_assert_int_eq(group_open_at(g, 2, 2, 1), WHORL_OK);
	for (uint32_t id = 0; id < 3; id++)
		UNTIL(g, g->at[id].image[2]->ready);
	ck_assert(!g->at[0].image[1]->ready);
	ck_assert_int_eq(group_open_at(g, 1, 1, 1), WHORL_OK);
	ck_assert_int_eq(group_open_at(g, 2, 1, 1), WHORL_OK);
	for (uint32_t id = 0; id < 3; id++) {
		UNTIL(g, g->at[id].image[1]->ready);
		UNTIL(g, g->at[id].ready == 2);
	}
	post_word(g, 1, 1, 64, 4);
	UNTIL(g, column(g, 0, 1, 1, 64) == 4 && column(g, 2, 1, 1, 64) == 4);
	group_free(g);
}
END_TEST

/* What the first to be ready pushes is there for the last. */
START_TEST(t8_early_pushes_are_not_lost)
{
	struct group *g = group_make(3, test_seed(4));

	for (uint32_t id = 0; id < 3; id++)
		ck_assert_int_eq(group_open_at(g, id, 1, 1), WHORL_OK);
	for (uint32_t done = 0, passes = 0; done != 7; passes++) {
		ck_assert_uint_lt(passes, PATIENCE);
		for (uint32_t id = 0; id < 3; id++)
			if (g->at[id].image[1]->ready && (done & 1u << id) == 0) {
				post_word(g, id, 1, 64, 10 + id);
				done |= 1u << id;
			}
		group_pass(g);
	}
	for (uint32_t at = 0; at < 3; at++)
		for (uint32_t of = 0; of < 3; of++)
			UNTIL(g, column(g, at, 1, of, 64) == 10 + of);
	group_free(g);
}
END_TEST

START_TEST(t8_other_layouts_are_refused_on_both_sides)
{
	struct group *g = group_make(2, test_seed(5));

	ck_assert_int_eq(group_open_at(g, 0, 1, 1), WHORL_OK);
	ck_assert_int_eq(group_open_at(g, 1, 1, 2), WHORL_OK);
	for (uint32_t id = 0; id < 2; id++) {
		UNTIL(g, g->at[id].refused == 1);
		ck_assert_ptr_nonnull(strstr(g->at[id].text, id == 0 ? "node 1" : "node 0"));
	}
	for (int k = 0; k < 50; k++)
		group_pass(g);
	for (uint32_t id = 0; id < 2; id++) {
		ck_assert_uint_eq(g->at[id].refused, 1);
		ck_assert_uint_eq(g->at[id].down + g->at[id].left + g->at[id].ready, 0);
		ck_assert(!g->at[id].image[1]->ready);
	}
	group_free(g);
}
END_TEST

/* ---- T9 ----------------------------------------------------------------------------------------------------------- */

static void freeze(const struct group *g, uint32_t at, uint32_t rank)
{
	struct wh_image *image = g->at[at].image[1];

	image->ops->freeze(image, rank);
}

START_TEST(t9_a_frozen_column_does_not_change)
{
	struct group *g = group_make(3, test_seed(6));
	unsigned char before[CONTROL_BYTES];
	uint64_t last;

	group_open(g, 1);
	memset(g->at[1].image[1]->own + RING_0, 5, 64);
	for (uint64_t k = 1; k <= 50; k++) {
		struct wh_push pushes[] = {push_bytes(g, 1, RING_0, 64), push_word(g, 1, 64, k)};

		post(g, 1, 1, pushes, 2);
		group_pass(g);
	}
	UNTIL(g, column(g, 0, 1, 1, 64) > 0);
	last = column(g, 0, 1, 1, 64);
	post_word(g, 1, 1, 64, 51);
	freeze(g, 0, 1);
	memcpy(before, g->at[0].image[1]->control[1], CONTROL_BYTES);
	ck_assert_uint_ge(column(g, 0, 1, 1, 64), last); /* what was accepted is not taken back */
	for (uint64_t k = 52; k <= 200; k++) {
		for (uint64_t offset = 64; offset < CONTROL_BYTES; offset += 512)
			post_word(g, 1, 1, offset, k);
		group_pass(g);
		ck_assert_mem_eq(g->at[0].image[1]->control[1], before, CONTROL_BYTES);
	}
	UNTIL(g, column(g, 2, 1, 1, 64) == 200); /* others go on with it */
	ck_assert_mem_eq(g->at[0].image[1]->control[1], before, CONTROL_BYTES);
	ck_assert_int_eq(g->at[0].image[1]->row[1][RING_0 + 63], 5);
	freeze(g, 0, 1); /* again */
	ck_assert_mem_eq(g->at[0].image[1]->control[1], before, CONTROL_BYTES);
	post_word(g, 0, 1, 64, 1);
	UNTIL(g, column(g, 2, 1, 0, 64) == 1);
	group_kill(g, 1);
	UNTIL(g, g->at[0].down == 1);
	ck_assert_mem_eq(g->at[0].image[1]->control[1], before, CONTROL_BYTES);
	group_free(g);
}
END_TEST

/* A node that this one has not frozen, and that has not frozen this one, notices nothing. */
START_TEST(t9_the_frozen_are_not_rung)
{
	struct group *g = group_make(3, test_seed(7));
	uint64_t rings;

	group_open(g, 1);
	freeze(g, 0, 1);
	g->at[1].transport->ops->arm(g->at[1].transport);
	rings = wh_world.rings(g->world, 0);
	post_word(g, 0, 1, 64, 1);
	ck_assert_uint_eq(wh_world.rings(g->world, 0), rings);
	UNTIL(g, column(g, 2, 1, 0, 64) == 1);
	group_free(g);
}
END_TEST

struct writer {
	struct group *g;
	wh_word stop;
};

static void *writer_thread(void *ctx)
{
	struct writer *w = ctx;

	for (uint64_t k = 1; wh_load_relaxed(&w->stop) == 0; k++) {
		struct wh_push pushes[] = {push_word(w->g, 1, 4096, k), push_word(w->g, 1, 64, k)};

		post(w->g, 1, 1, pushes, 2);
	}
	return NULL;
}

/* Frozen in the middle of a torrent: the copy holds still, and what lies before another in the columns, and is pushed
 * after it, is not newer than it. */
START_TEST(t9_frozen_while_it_writes)
{
	struct writer w = {.g = group_make(2, test_seed(8))};
	pthread_t thread;
	uint64_t guard, guarded;

	group_open(w.g, 1);
	ck_assert_int_eq(pthread_create(&thread, NULL, writer_thread, &w), 0);
	while (column(w.g, 0, 1, 1, 64) < 1000)
		w.g->at[0].transport->ops->service(
			w.g->at[0].transport); /* a node that must take in what comes does it here */
	freeze(w.g, 0, 1);
	guard = column(w.g, 0, 1, 1, 64);
	guarded = column(w.g, 0, 1, 1, 4096);
	ck_assert_uint_ge(guarded, guard);
	for (int k = 0; k < 1000; k++) {
		ck_assert_uint_eq(column(w.g, 0, 1, 1, 64), guard);
		ck_assert_uint_eq(column(w.g, 0, 1, 1, 4096), guarded);
	}
	wh_store_relaxed(&w.stop, 1);
	pthread_join(thread, NULL);
	ck_assert_uint_eq(column(w.g, 0, 1, 1, 64), guard);
	group_free(w.g);
}
END_TEST

TCase *cases_image(void)
{
	TCase *cases = tcase_create("image");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, t8_images_are_disjoint);
	tcase_add_test(cases, t8_closing_one_leaves_the_other);
	tcase_add_test(cases, t8_views_open_in_any_order);
	tcase_add_test(cases, t8_early_pushes_are_not_lost);
	tcase_add_test(cases, t8_other_layouts_are_refused_on_both_sides);
	tcase_add_test(cases, t9_a_frozen_column_does_not_change);
	if (wh_world.rings != NULL)
		tcase_add_test(cases, t9_the_frozen_are_not_rung);
	if (wh_world.threads)
		tcase_add_loop_test(cases, t9_frozen_while_it_writes, 0, is_dear() ? 2 : 20);
	return cases;
}
