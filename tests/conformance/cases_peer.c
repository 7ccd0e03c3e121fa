/* cases_peer.c - T5 and T10: peers that die, stall or leave, and messages outside of images. */
#include <string.h>

#include "tests/conformance/suite.h"

/* ---- T5 ----------------------------------------------------------------------------------------------------------- */

START_TEST(t5_death_is_reported_once)
{
	struct group *g = group_make(4, test_seed(1));

	group_open(g, 1);
	group_kill(g, 2);
	for (uint32_t id = 0; id < 4; id++)
		if (id != 2)
			UNTIL(g, g->at[id].down_of[2] == 1);
	for (uint64_t k = 1; k <= 2000; k++) { /* to the dead as well */
		post_word(g, 0, 1, 64, k);
		post_word(g, 3, 1, 64, k);
	}
	UNTIL(g, column(g, 1, 1, 0, 64) == 2000 && column(g, 1, 1, 3, 64) == 2000);
	UNTIL(g, column(g, 0, 1, 3, 64) == 2000 && column(g, 3, 1, 0, 64) == 2000);
	for (int k = 0; k < 50; k++)
		group_pass(g);
	for (uint32_t id = 0; id < 4; id++) {
		if (id == 2)
			continue;
		ck_assert_uint_eq(g->at[id].down, 1);
		ck_assert_uint_eq(g->at[id].left + g->at[id].refused, 0);
		ck_assert_msg(strstr(g->at[id].text, "2") != NULL, "not of node 2: %s", g->at[id].text);
	}
	group_free(g);
}
END_TEST

START_TEST(t5_the_rows_of_the_dead_stay)
{
	struct group *g = group_make(2, test_seed(2));
	struct wh_push pushes[2];

	group_open(g, 1);
	memset(g->at[1].image[1]->own + RING_0, 9, 4096);
	pushes[0] = push_bytes(g, 1, RING_0, 4096);
	pushes[1] = push_word(g, 1, 64, 1);
	post(g, 1, 1, pushes, 2);
	UNTIL(g, column(g, 0, 1, 1, 64) == 1);
	group_kill(g, 1);
	UNTIL(g, g->at[0].down == 1);
	ck_assert_uint_eq(column(g, 0, 1, 1, 64), 1);
	ck_assert_int_eq(g->at[0].image[1]->row[1][RING_0 + 4095], 9);
	group_free(g);
}
END_TEST

START_TEST(t5_a_stalled_peer_stalls_nobody)
{
	struct group *g = group_make(3, test_seed(3));

	group_open(g, 1);
	g->at[2].paused = true;
	for (uint64_t k = 1; k <= 5000; k++) {
		post_word(g, 0, 1, 64, k);
		if (k % 100 == 0)
			UNTIL(g, column(g, 1, 1, 0, 64) == k);
	}
	g->at[2].paused = false;
	UNTIL(g, column(g, 2, 1, 0, 64) == 5000);
	for (uint32_t id = 0; id < 3; id++)
		ck_assert_uint_eq(g->at[id].down + g->at[id].left, 0);
	group_free(g);
}
END_TEST

START_TEST(t5_leaving_is_not_dying)
{
	struct group *g = group_make(3, test_seed(4));

	group_open(g, 1);
	post_word(g, 1, 1, 64, 5);
	UNTIL(g, column(g, 0, 1, 1, 64) == 5 && column(g, 2, 1, 1, 64) == 5);
	group_close(g, 1);
	UNTIL(g, g->at[0].left_of[1] == 1 && g->at[2].left_of[1] == 1);
	post_word(g, 0, 1, 64, 6);
	UNTIL(g, column(g, 2, 1, 0, 64) == 6);
	for (int k = 0; k < 50; k++)
		group_pass(g);
	for (uint32_t id = 0; id < 3; id += 2) {
		ck_assert_uint_eq(g->at[id].left, 1);
		ck_assert_uint_eq(g->at[id].down + g->at[id].refused, 0);
	}
	group_free(g);
}
END_TEST

/* Pushes and the word that one goes may take different ways. */
START_TEST(t5_what_was_pushed_before_leaving_is_seen_first)
{
	struct group *g = group_make(3, test_seed(11));
	struct wh_push bytes;

	group_open(g, 1);
	memset(g->at[1].image[1]->own + RING_0, 7, 4096);
	for (uint64_t k = 1; k <= 200; k++) {
		bytes = push_bytes(g, 1, RING_0, 4096);
		post(g, 1, 1, &bytes, 1);
		post_word(g, 1, 1, 64, k);
	}
	g->at[1].transport->ops->leave(g->at[1].transport); /* and goes on: only what it says tells of its end */
	for (uint32_t id = 0; id < 3; id += 2) {
		UNTIL(g, g->at[id].left_of[1] == 1);
		ck_assert_uint_eq(column(g, id, 1, 1, 64), 200);
		ck_assert_int_eq(g->at[id].image[1]->row[1][RING_0 + 4095], 7);
	}
	group_kill(g, 1);
	group_free(g);
}
END_TEST

/* ---- T10 ---------------------------------------------------------------------------------------------------------- */

static enum whorl_result send_number(struct group *g, uint32_t from, uint32_t to, uint64_t number, size_t bytes)
{
	unsigned char message[WH_CONTROL_MAX] = {0};

	memcpy(message, &number, sizeof(number));
	return g->at[from].transport->ops->control_send(g->at[from].transport, to, message, bytes);
}

static void meet(struct group *g)
{
	for (uint32_t from = 0; from < g->nodes; from++)
		for (uint32_t to = 0; to < g->nodes; to++)
			if (from != to)
				UNTIL(g, send_number(g, from, to, 0, 8) == WHORL_OK);
	for (uint32_t id = 0; id < g->nodes; id++)
		UNTIL(g, g->at[id].controls == g->nodes - 1);
}

START_TEST(t10_messages_before_any_image)
{
	struct group *g = group_make(3, test_seed(5));

	meet(g);
	for (uint64_t k = 1; k <= 100; k++)
		for (uint32_t from = 0; from < 3; from++)
			for (uint32_t to = 0; to < 3; to++)
				if (from != to)
					UNTIL(g, send_number(g, from, to, k, 8 + k * 40) == WHORL_OK);
	for (uint32_t id = 0; id < 3; id++) {
		UNTIL(g, g->at[id].controls == 2 * 101);
		ck_assert(g->at[id].controls_in_order);
	}
	group_free(g);
}
END_TEST

START_TEST(t10_messages_are_bounded)
{
	struct group *g = group_make(2, test_seed(6));

	meet(g);
	ck_assert_int_eq(send_number(g, 0, 1, 1, WH_CONTROL_MAX), WHORL_OK);
	UNTIL(g, g->at[1].controls == 2);
	ck_assert_uint_eq(g->at[1].control_bytes, WH_CONTROL_MAX);
	ck_assert_int_ne(send_number(g, 0, 1, 2, WH_CONTROL_MAX + 1), WHORL_OK);
	ck_assert_int_eq(send_number(g, 0, 1, 2, 8), WHORL_OK);
	UNTIL(g, g->at[1].controls == 3);
	ck_assert(g->at[1].controls_in_order);
	group_free(g);
}
END_TEST

START_TEST(t10_a_full_queue_says_again)
{
	struct group *g = group_make(3, test_seed(7));
	enum whorl_result result = WHORL_OK;
	uint64_t sent = 0;

	meet(g);
	g->at[1].paused = true;
	while (sent < 100000 && result == WHORL_OK) {
		result = send_number(g, 0, 1, sent + 1, 1000);
		sent += result == WHORL_OK;
	}
	ck_assert_int_eq(result, WHORL_AGAIN);
	ck_assert_uint_gt(sent, 0);
	ck_assert_int_eq(send_number(g, 0, 2, 1, 8), WHORL_OK); /* a queue for each */
	UNTIL(g, g->at[2].controls == 3);
	g->at[1].paused = false;
	UNTIL(g, g->at[1].controls == 2 + sent);
	ck_assert(g->at[1].controls_in_order);
	UNTIL(g, send_number(g, 0, 1, sent + 1, 8) == WHORL_OK);
	group_free(g);
}
END_TEST

/* Images open and work while one's queue of messages is full. */
START_TEST(t10_a_full_queue_holds_up_no_image_of_others)
{
	struct group *g = group_make(3, test_seed(8));

	group_open(g, 1);
	g->at[2].paused = true;
	for (uint64_t k = 0; k < 100000 && send_number(g, 0, 2, k, WH_CONTROL_MAX) == WHORL_OK; k++)
		;
	post_word(g, 0, 1, 64, 3);
	UNTIL(g, column(g, 1, 1, 0, 64) == 3);
	for (uint32_t id = 0; id < 3; id++)
		ck_assert_int_eq(group_open_at(g, id, 2, 1), WHORL_OK);
	for (int k = 0; k < 20; k++)
		group_pass(g);
	ck_assert(!g->at[0].image[2]->ready);
	g->at[2].paused = false;
	for (uint32_t id = 0; id < 3; id++)
		UNTIL(g, g->at[id].image[2]->ready);
	ck_assert(g->at[2].controls_in_order);
	group_free(g);
}
END_TEST

/* A loop that takes no events for a while loses none. */
START_TEST(t10_events_that_are_not_taken_wait)
{
	struct group *g = group_make(3, test_seed(10));
	struct wh_transport *transport = g->at[1].transport;
	uint64_t sent = 0;

	meet(g);
	g->at[1].paused = true;
	for (int round = 0; round < 200; round++) {
		for (int k = 0; k < 3; k++)
			sent += send_number(g, 0, 1, sent + 1, 100) == WHORL_OK;
		transport->ops->service(transport);
		group_pass(g);
	}
	group_kill(g, 2); /* and this one is not lost behind them */
	for (int round = 0; round < 100; round++) {
		transport->ops->service(transport);
		group_pass(g);
	}
	g->at[1].paused = false;
	UNTIL(g, g->at[1].controls == 2 + sent && g->at[1].down_of[2] == 1);
	ck_assert(g->at[1].controls_in_order);
	group_free(g);
}
END_TEST

START_TEST(t10_what_was_sent_before_leaving_arrives)
{
	struct group *g = group_make(2, test_seed(9));

	meet(g);
	ck_assert_int_eq(send_number(g, 0, 1, 1, 8), WHORL_OK); /* which it will not have read when it goes */
	wh_world.pass(g->world);
	for (uint64_t k = 1; k <= 20; k++)
		ck_assert_int_eq(send_number(g, 1, 0, k, 8), WHORL_OK);
	group_close(g, 1);
	UNTIL(g, g->at[0].left == 1);
	ck_assert_uint_eq(g->at[0].controls, 21);
	ck_assert(g->at[0].controls_in_order);
	ck_assert_int_eq(send_number(g, 0, 1, 2, 8), WHORL_MEMBER_GONE);
	group_free(g);
}
END_TEST

TCase *cases_peer(void)
{
	TCase *cases = tcase_create("peer");

	tcase_set_timeout(cases, 120);
	tcase_add_test(cases, t5_death_is_reported_once);
	tcase_add_test(cases, t5_the_rows_of_the_dead_stay);
	tcase_add_test(cases, t5_a_stalled_peer_stalls_nobody);
	tcase_add_test(cases, t5_leaving_is_not_dying);
	tcase_add_test(cases, t5_what_was_pushed_before_leaving_is_seen_first);
	tcase_add_test(cases, t10_messages_before_any_image);
	tcase_add_test(cases, t10_messages_are_bounded);
	tcase_add_test(cases, t10_a_full_queue_says_again);
	tcase_add_test(cases, t10_a_full_queue_holds_up_no_image_of_others);
	tcase_add_test(cases, t10_events_that_are_not_taken_wait);
	tcase_add_test(cases, t10_what_was_sent_before_leaving_arrives);
	return cases;
}
