/* test_sim_lives.c - nodes of the simulator that end and come back: what their peers hear of it, and that nothing is carried
 * from one life to another. The lab checks the order of all news (check_order). */
#include "tests/support/sim_lab.h"
#include "transport/dice.h"

/* ---- coming back --------------------------------------------------------------------------------------------------------- */

/* Once it has come back at once, once when all know of its end. */
TEST_LOOP(a_node_that_comes_back_is_met_again, 0, MANNERS)
{
	enum manner manner = (enum manner)(_i % MANNERS);
	uint64_t seed = test_seed(10);

	for (uint64_t n = 0; n < 50; n++) {
		struct wh_sim_options options = wild(50 * seed + n);
		struct lab *lab;

		options.notice_max_ns = n % 2 == 0 ? 0 : 20000;
		options.ring_max_ns = n % 3 == 0 ? 0 : 20000;
		lab = sim_lab_make(options);
		end_life(lab, 0, manner);
		if (n % 4 == 0) {
			run(lab, LONG_NS);
			assert_ends(lab, 1, 0, manner == CRASHES, manner == LEAVES);
		}
		begin_life(lab, 0);
		run(lab, LONG_NS);
		assert_all_met(lab);
		for (uint32_t at = 1; at < NODES; at++) {
			ck_assert_uint_eq(lab->meetings[at][0], 2);
			assert_ends(lab, at, 0, manner != LEAVES, manner == LEAVES);
		}
		assert_ends(lab, 1, 2, 0, 0);
		ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
		ck_assert(!wh_sim_traffic(lab->sim, 1, 0).gone && wh_sim_traffic(lab->sim, 1, 0).met);
		end(lab);
	}
}

/* The end that is under way comes late. Where the new life calls, the peer asks the old connection, of which the host knows no more:
 * so the end is hastened; over a connection that is broken nothing can be asked, and the end is waited for. */
TEST_LOOP(an_end_is_waited_for_or_hastened, 0, 2)
{
	uint64_t late = 0, seed = test_seed(11);

	for (uint64_t n = 0; n < 60; n++) {
		struct wh_sim_options options = plain(60 * seed + n);
		struct lab *lab;

		options.notice_max_ns = WH_NS_PER_S;
		lab = sim_lab_make(options);
		if (_i == 1)
			wh_sim_break(lab->sim, 0, 1);
		end_life(lab, 0, _i == 0 ? CRASHES : VANISHES);
		begin_life(lab, 0);
		run(lab, 10 * WH_NS_PER_MS);
		ck_assert_uint_ge(lab->down[1][0], have_met(lab, 1, 0)); /* they may be meeting */
		ck_assert(have_met(lab, 1, 0) || _i == 1);
		late += lab->down[1][0] == 0;
		run(lab, LONG_NS);
		assert_all_met(lab);
		assert_ends(lab, 1, 0, 1, 0);
		end(lab);
	}
	ck_assert(_i == 0 ? late == 0 : late > 10);
}

/* A node that leaves is never hastened, however late its last words. */
TEST_LOOP(leaving_is_kept_by_the_next_life, 0, 10)
{
	struct lab *lab = sim_lab_make(plain(test_seed(12) + (uint64_t)_i));

	wh_sim_link_set(lab->sim, 0, 1, &(struct wh_sim_link_cost){SLOW_NS, SLOW_NS, 0});
	for (uint64_t k = 1; k <= 20; k++)
		post_page(lab, 0, k);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_OK);
	end_life(lab, 0, LEAVES);
	wh_sim_link_set(lab->sim, 0, 1, &(struct wh_sim_link_cost){0, 0, 0});
	begin_life(lab, 0);
	while (lab->left[1][0] == 0)
		run(lab, 1000);
	ck_assert_uint_eq(word(lab, 1, 0), 20);
	ck_assert_uint_eq(lab->messages[1], 1);
	run(lab, LONG_NS);
	assert_all_met(lab);
	assert_ends(lab, 1, 0, 0, 1);
	end(lab);
}

TEST(a_silent_end_is_told_by_the_next_life)
{
	struct lab *lab = sim_lab_make(plain(test_seed(13)));

	end_life(lab, 0, VANISHES);
	run(lab, LONG_NS);
	assert_ends(lab, 1, 0, 0, 0);
	wh_sim_cut_off(lab->sim, 1, 0);
	begin_life(lab, 0);
	run(lab, LONG_NS);
	assert_ends(lab, 1, 0, 0, 0);
	assert_ends(lab, 2, 0, 1, 0);
	ck_assert(!have_met(lab, 1, 0) && have_met(lab, 2, 0));
	ck_assert_uint_gt(wh_sim_under_way(lab->sim), 0);
	wh_sim_heal(lab->sim, 1, 0);
	run(lab, LONG_NS);
	assert_ends(lab, 1, 0, 1, 0);
	assert_all_met(lab);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

TEST_LOOP(a_broken_connection_is_between_two_lives, 0, 6)
{
	struct lab *lab = sim_lab_make(wild(test_seed(14) + (uint64_t)_i));

	wh_sim_break(lab->sim, 0, 1);
	if (_i % 2 == 0)
		run(lab, LONG_NS);
	end_life(lab, 0, (enum manner)(_i % MANNERS));
	begin_life(lab, 0);
	run(lab, LONG_NS);
	assert_all_met(lab);
	assert_ends(lab, 1, 0, 1, 0);
	ck_assert(!wh_sim_traffic(lab->sim, 0, 1).broken);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_OK);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->messages[1], 1);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

/* Nodes come and go as they like, with all that may be under way. What is met in the end is what is there. */
TEST_LOOP(lives_that_come_and_go, 0, 20)
{
	struct wh_sim_options options = wild(test_seed(100) + (uint64_t)_i);
	struct wh_dice dice = wh_dice_split(options.seed, 9);
	struct lab *lab;

	options.notice_max_ns = wh_dice_one_in(&dice, 2) ? 0 : 50000;
	options.ring_max_ns = wh_dice_one_in(&dice, 2) ? 0 : 50000;
	lab = make_empty(options);
	for (int round = 0; round < 300; round++) {
		uint32_t id = (uint32_t)wh_dice_below(&dice, NODES), other = (id + 1) % NODES;

		if (lab->node[id] == NULL)
			begin_life(lab, id);
		else if (wh_dice_one_in(&dice, 6))
			end_life(lab, id, (enum manner)wh_dice_below(&dice, MANNERS));
		else if (wh_dice_one_in(&dice, 8))
			wh_sim_break(lab->sim, id, other);
		else if (wh_dice_one_in(&dice, 4))
			wh_sim_cut_off(lab->sim, id, other);
		else
			lab->node[id]->ops->control_send(lab->node[id], other, "12345678", 8);
		if (wh_dice_one_in(&dice, 2))
			wh_sim_heal(lab->sim, (uint32_t)wh_dice_below(&dice, NODES),
				    (uint32_t)wh_dice_below(&dice, NODES));
		run(lab, wh_dice_below(&dice, 10000));
	}
	for (uint32_t i = 0; i < NODES * NODES; i++)
		wh_sim_heal(lab->sim, i / NODES, i % NODES);
	run(lab, LONG_NS);
	for (uint32_t id = 0; id < NODES; id++) { /* what is broken is over */
		if (lab->node[id] != NULL)
			end_life(lab, id, VANISHES);
		begin_life(lab, id);
	}
	run(lab, LONG_NS);
	assert_all_met(lab);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	lab->in_order = true; /* the messages hold no numbers */
	end(lab);
}

/* ---- nothing of one life is another's ------------------------------------------------------------------------------------ */

TEST_LOOP(messages_end_with_the_life, 0, 6)
{
	struct lab *lab = sim_lab_make(plain(test_seed(20) + (uint64_t)_i));
	enum manner manner = (enum manner)(_i % MANNERS);

	slow(lab, 0, 1);
	slow(lab, 1, 0);
	for (uint64_t k = 1; k <= 3; k++) {
		ck_assert_int_eq(send_number(lab, 0, 1, k), WHORL_OK);
		ck_assert_int_eq(send_number(lab, 1, 0, k), WHORL_OK);
	}
	wh_sim_link_set(lab->sim, 1, 0, &(struct wh_sim_link_cost){0, 0, 0}); /* news might overtake them */
	end_life(lab, 1, manner);
	begin_life(lab, 1);
	run(lab, LONG_NS);
	assert_all_met(lab);
	ck_assert_uint_eq(lab->messages[1], 0);
	ck_assert_uint_le(lab->messages[0], 3);
	if (manner == LEAVES)
		ck_assert_uint_eq(lab->messages[0], 3);
	for (uint64_t k = 1; k <= 100; k++) { /* its queue is another, and empty */
		if (k % 50 == 0)
			run(lab, LONG_NS);
		ck_assert_int_eq(send_number(lab, 0, 1, k), WHORL_OK);
	}
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->messages[1], 100);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

/* What is sent before the news of another life have been taken is not for that one. */
TEST(a_life_that_is_not_known_is_sent_nothing)
{
	static struct wh_transport_event event;
	struct lab *lab = sim_lab_make(plain(test_seed(30)));
	struct wh_transport *node = lab->node[0];
	struct wh_stream *stream;

	end_life(lab, 1, CRASHES);
	begin_life(lab, 1);
	look_without_taking(lab);
	ck_assert(wh_sim_traffic(lab->sim, 0, 1).met);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_MEMBER_GONE);
	ck_assert_int_eq(node->ops->stream_open(node, 1, 0, &stream), WHORL_MEMBER_GONE);
	ck_assert(node->ops->next_event(node, &event));
	ck_assert_int_eq(event.kind, WH_EVENT_PEER_DOWN);
	ck_assert_uint_eq(event.incarnation, lab->incarnation[1] - 1);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_MEMBER_GONE);
	ck_assert(node->ops->next_event(node, &event));
	ck_assert_int_eq(event.kind, WH_EVENT_PEER_MET);
	ck_assert_uint_eq(event.incarnation, lab->incarnation[1]);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_OK);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->messages[1], 1);
	end(lab);
}

/* That the first has been met is taken when the second is there already. */
TEST(a_meeting_that_is_taken_late_is_with_the_life_that_was_met)
{
	static struct wh_transport_event event;
	struct lab *lab = make_strangers(plain(test_seed(34)));
	struct wh_transport *node = lab->node[0];

	look_without_taking(lab);
	end_life(lab, 1, VANISHES);
	begin_life(lab, 1);
	while (node->ops->next_event(node, &event))
		take_event(lab, 0, &event);
	ck_assert_uint_eq(lab->met[0][1], lab->incarnation[1] - 1);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_OK);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->messages[1], 0);
	assert_all_met(lab);
	end(lab);
}

/* An image with a row of one incarnation is none of another's, though it has the same key. */
TEST(images_are_of_incarnations)
{
	struct lab *lab = sim_lab_make(plain(test_seed(31)));
	struct wh_image *before[NODES], *after[NODES];

	before[0] = open_image(lab, 0, 2);
	before[2] = open_image(lab, 2, 2);
	end_life(lab, 1, CRASHES);
	begin_life(lab, 1);
	run(lab, LONG_NS);
	before[1] = open_image(lab, 1, 2);
	run(lab, LONG_NS);
	for (uint32_t i = 0; i < NODES; i++)
		ck_assert(!before[i]->ready);
	for (uint32_t i = 0; i < NODES; i++)
		after[i] = open_image(lab, i, 3);
	run(lab, LONG_NS);
	for (uint32_t i = 0; i < NODES; i++)
		ck_assert(after[i]->ready && !before[i]->ready);
	lab->image[0] = after[0];
	lab->image[1] = after[1];
	post_word(lab, 1, 5);
	run(lab, LONG_NS);
	ck_assert_uint_eq(word(lab, 0, 1), 5);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

/* The row of the old life, and that it has seen mine, are on their way when another takes its place. They may be cut off with it. */
TEST(confirmations_end_with_the_life)
{
	struct wh_image *image[NODES];
	uint32_t cut_off = 0;

	for (uint64_t n = 0; n < 20; n++) {
		struct lab *lab = sim_lab_make(plain(20 * test_seed(32) + n));
		bool was_ready;

		slow(lab, 1, 0);
		for (uint32_t i = 0; i < NODES; i++)
			image[i] = open_image(lab, i, 2);
		run(lab, SLOW_NS / 2);
		ck_assert(!image[0]->ready && image[2]->ready);
		end_life(lab, 1, VANISHES);
		begin_life(lab, 1);
		while (lab->down[0][1] == 0)
			run(lab, 100);
		was_ready = image[0]->ready;
		run(lab, LONG_NS);
		ck_assert_uint_eq(lab->meetings[0][1], 2);
		ck_assert(image[0]->ready == was_ready);
		cut_off += !was_ready;
		end(lab);
	}
	ck_assert_uint_gt(cut_off, 2);
}

/* The one that crashed is destroyed when another is there already. */
TEST(two_lives_at_once)
{
	struct lab *lab = sim_lab_make(wild(test_seed(33)));
	struct wh_transport *old = lab->node[0];

	wh_sim_crash(lab->sim, 0);
	begin_life(lab, 0);
	run(lab, LONG_NS);
	assert_all_met(lab);
	ck_assert_int_eq(old->ops->control_send(old, 1, "12345678", 8), WHORL_MEMBER_GONE);
	ck_assert_uint_eq(old->ops->service(old), 0);
	old->ops->wake(old);
	old->ops->leave(old);
	old->ops->destroy(old, false);
	run(lab, LONG_NS);
	assert_ends(lab, 1, 0, 1, 0);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_OK);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->messages[1], 1);
	end(lab);
}

/* ---- the digest ---------------------------------------------------------------------------------------------------------- */

static uint64_t digest_of(uint64_t seed, int lives)
{
	struct lab *lab = sim_lab_make(wild(seed));
	uint64_t digest;

	for (int k = 0; k < lives; k++) {
		end_life(lab, (uint32_t)k % NODES, (enum manner)(k / 2 % MANNERS));
		begin_life(lab, (uint32_t)k % NODES);
		run(lab, 3000);
	}
	run(lab, LONG_NS);
	digest = wh_sim_digest(lab->sim);
	end(lab);
	return digest;
}

TEST(the_same_seed_is_the_same_lives)
{
	uint64_t seed = test_seed(60), digest = digest_of(seed, 20);

	ck_assert_uint_eq(digest, digest_of(seed, 20));
	ck_assert_uint_ne(digest, digest_of(seed + 1, 20));
	ck_assert_uint_ne(digest, digest_of(seed, 19));
}

TEST_SUITE("lives in the simulator")
