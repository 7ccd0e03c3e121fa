/* test_sim_faults.c - what goes wrong in the simulator: cuts, broken connections, crashes of several kinds. */
#include "tests/support/sim_lab.h"
#include "transport/dice.h"

/* ---- cuts -------------------------------------------------------------------------------------------------------------- */

TEST_LOOP(a_cut_holds_up_one_way, 0, 10)
{
	struct lab *lab = sim_lab_make(wild(test_seed(10) + (uint64_t)_i));
	uint64_t sent = 0;

	for (uint64_t k = 1; k <= 40; k++) {
		if (k == 10)
			wh_sim_cut_off(lab->sim, 0, 1);
		post_word(lab, 0, k);
		post_word(lab, 1, k);
		sent += send_number(lab, 0, 1, sent + 1) == WHORL_OK;
		run(lab, 1000);
	}
	run(lab, LONG_NS);
	ck_assert_uint_lt(word(lab, 1, 0), 40);
	ck_assert_uint_eq(word(lab, 2, 0), 40);
	ck_assert_uint_eq(word(lab, 0, 1), 40);
	ck_assert_uint_lt(lab->messages[1], sent);
	ck_assert(wh_sim_traffic(lab->sim, 0, 1).cut_off && !wh_sim_traffic(lab->sim, 1, 0).cut_off);
	ck_assert_uint_gt(wh_sim_traffic(lab->sim, 0, 1).pushes, 0);
	ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 1).messages, sent - lab->messages[1]);
	wh_sim_heal(lab->sim, 0, 1);
	sent += send_number(lab, 0, 1, sent + 1) == WHORL_OK; /* after those that were held up */
	for (uint64_t last = 0; last < 40; run(lab, 100)) {
		ck_assert_uint_ge(word(lab, 1, 0), last);
		last = word(lab, 1, 0);
	}
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->messages[1], sent);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

/* Cut and healed at any time, as often as it likes: all comes, in order. */
TEST_LOOP(cuts_that_come_and_go, 0, 10)
{
	struct lab *lab = sim_lab_make(wild(test_seed(30) + (uint64_t)_i));
	struct wh_dice dice = wh_dice_split((uint64_t)_i, 7);
	uint64_t sent = 0, seen = 0;

	for (uint64_t k = 1; k <= 200; k++) {
		if (wh_dice_one_in(&dice, 3))
			wh_sim_cut_off(lab->sim, 0, 1);
		if (wh_dice_one_in(&dice, 3))
			wh_sim_heal(lab->sim, 0, 1);
		sent += send_number(lab, 0, 1, sent + 1) == WHORL_OK;
		post_page(lab, 0, k);
		run(lab, wh_dice_below(&dice, 3000));
		ck_assert_uint_ge(word(lab, 1, 0), seen);
		seen = word(lab, 1, 0);
	}
	leave_in_order(lab, 0);
	run(lab, 1000);
	wh_sim_heal(lab->sim, 0, 1);
	run(lab, LONG_NS);
	ck_assert_uint_eq(word(lab, 1, 0), 200);
	ck_assert_uint_eq(lab->messages[1], sent);
	ck_assert_uint_eq(lab->left[1][0], 1);
	ck_assert_uint_eq(lab->image[1]->row[0][2 * WH_ROW_ALIGN - 1], 200);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

TEST(news_of_a_death_are_held_up)
{
	struct lab *lab = sim_lab_make(wild(test_seed(5)));

	wh_sim_cut_off(lab->sim, 0, 1);
	wh_sim_crash(lab->sim, 0);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->down[1][0], 0);
	ck_assert_uint_eq(lab->down[2][0], 1);
	wh_sim_heal(lab->sim, 0, 1);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->down[1][0], 1);
	ck_assert_uint_eq(lab->down[2][0], 1);
	end(lab);
}

TEST(a_node_that_is_cut_off_meets_later)
{
	struct lab *lab = make_strangers(wild(test_seed(6)));

	wh_sim_cut_off(lab->sim, 2, 0); /* one way is enough to keep them apart */
	for (uint32_t i = 0; i < NODES; i++)
		lab->image[i] = open_image(lab, i, 1);
	run(lab, LONG_NS);
	ck_assert(!lab->image[0]->ready && lab->image[1]->ready && !lab->image[2]->ready);
	ck_assert_int_eq(send_number(lab, 0, 2, 1), WHORL_MEMBER_GONE);
	ck_assert_uint_gt(wh_sim_under_way(lab->sim), 0);
	wh_sim_heal(lab->sim, 2, 0);
	run(lab, LONG_NS);
	ck_assert(lab->image[0]->ready && lab->image[2]->ready);
	ck_assert_int_eq(send_number(lab, 0, 2, 1), WHORL_OK);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->messages[2], 1);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

TEST_LOOP(a_broken_connection_ends_for_both, 0, 10)
{
	struct lab *lab = sim_lab_make(wild(test_seed(50) + (uint64_t)_i));
	struct wh_image *next[NODES];
	uint64_t seen;

	for (uint64_t k = 1; k <= 30; k++)
		post_word(lab, 0, k);
	run(lab, 2000);
	wh_sim_break(lab->sim, 1, 0);
	wh_sim_break(lab->sim, 0, 1); /* again */
	post_word(lab, 0, 31);        /* it does not know yet */
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->down[0][1], 1);
	ck_assert_uint_eq(lab->down[1][0], 1);
	ck_assert_uint_eq(lab->down[2][0] + lab->down[2][1], 0);
	ck_assert(wh_sim_traffic(lab->sim, 0, 1).broken && wh_sim_traffic(lab->sim, 1, 0).broken);
	ck_assert(wh_sim_traffic(lab->sim, 0, 1).gone && !wh_sim_traffic(lab->sim, 0, 2).gone);
	seen = word(lab, 1, 0);
	ck_assert_uint_le(seen, 30);
	post_word(lab, 0, 32);
	run(lab, LONG_NS);
	ck_assert_uint_eq(word(lab, 1, 0), seen);
	ck_assert_uint_eq(word(lab, 2, 0), 32);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_MEMBER_GONE);
	for (uint32_t i = 0; i < NODES; i++)
		next[i] = open_image(lab, i, 2);
	run(lab, LONG_NS);
	ck_assert(!next[0]->ready && !next[1]->ready && next[2]->ready);
	next[0]->ops->freeze(next[0], 1);
	run(lab, LONG_NS);
	ck_assert(next[0]->ready && !next[1]->ready);
	wh_sim_crash(lab->sim, 0);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->down[1][0], 1); /* once is enough */
	ck_assert_uint_eq(lab->down[2][0], 1);
	end(lab);
}

/* What is pushed before any node has noticed does not come either. */
TEST(pushes_over_a_broken_connection)
{
	struct wh_sim_options options = plain(test_seed(13));
	struct lab *lab;

	options.notice_max_ns = WH_NS_PER_S;
	lab = sim_lab_make(options);
	wh_sim_break(lab->sim, 0, 1);
	post_word(lab, 0, 1);
	ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 1).pushes, 0);
	run(lab, WH_NS_PER_US);
	ck_assert_uint_eq(lab->down[1][0] + lab->down[0][1], 0);
	ck_assert_uint_eq(word(lab, 1, 0), 0);
	ck_assert_uint_eq(word(lab, 2, 0), 1);
	end(lab);
}

/* Of the words that are under way none is seen behind the news; to a node that is known to be gone none are sent. */
TEST(nothing_comes_behind_the_news)
{
	uint64_t missed = 0, seed = test_seed(14);

	for (uint64_t n = 0; n < 30; n++) {
		struct lab *lab = sim_lab_make(plain(30 * seed + n));

		wh_sim_link_set(lab->sim, 0, 1, &(struct wh_sim_link_cost){WH_NS_PER_MS, WH_NS_PER_MS, 0});
		post_word(lab, 0, 1);
		wh_sim_link_set(lab->sim, 0, 1, &(struct wh_sim_link_cost){0, 0, 0});
		wh_sim_crash(lab->sim, 0);
		missed += wh_sim_traffic(lab->sim, 0, 1).pushes;
		run(lab, LONG_NS);
		ck_assert_uint_eq(lab->down[1][0], 1);
		ck_assert_uint_eq(word(lab, 1, 0), 0);
		post_word(lab, 1, 1);
		ck_assert_uint_eq(wh_sim_traffic(lab->sim, 1, 0).pushes, 0);
		end(lab);
	}
	ck_assert_uint_gt(missed, 5);
}

/* That it leaves does not come through either. */
TEST_LOOP(leaving_over_a_broken_connection, 0, 5)
{
	struct wh_sim_options options = wild(test_seed(12) + (uint64_t)_i);
	struct lab *lab;

	options.notice_max_ns = WH_NS_PER_MS; /* there would be time for it */
	lab = sim_lab_make(options);
	wh_sim_break(lab->sim, 0, 1);
	leave_in_order(lab, 0);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->left[1][0], 0);
	ck_assert_uint_eq(lab->down[1][0], 1);
	ck_assert_uint_eq(lab->left[2][0], 1);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

/* ---- crashes ----------------------------------------------------------------------------------------------------------- */

/* Pages and words of node 0, of which it has posted `count` when it ends. What arrives is a prefix of them. */
static uint64_t assert_prefix(struct lab *lab, uint32_t at, uint64_t count)
{
	uint64_t seen = word(lab, at, 0);

	ck_assert_uint_le(seen, count);
	for (uint64_t k = 1; k <= seen; k++)
		ck_assert_uint_eq(lab->image[at]->row[0][WH_ROW_ALIGN + k], k);
	return seen;
}

static void post_numbered(struct lab *lab, uint64_t count)
{
	for (uint64_t k = 1; k <= count; k++) {
		const struct wh_push pushes[] = {{.kind = WH_PUSH_BYTES,
						  .to_count = NODES - 1,
						  .to = others[0],
						  .offset = WH_ROW_ALIGN + k,
						  .bytes = 1},
						 push_word(0, k)};

		lab->image[0]->own[WH_ROW_ALIGN + k] = (unsigned char)k;
		post(lab, 0, pushes, 2);
	}
}

TEST_LOOP(a_silent_crash_is_told_to_nobody, 0, 2)
{
	uint64_t none = 0, all = 0, some = 0, seed = test_seed((uint64_t)_i);

	for (uint64_t k = 0; k < 200; k++) {
		struct lab *lab = sim_lab_make(wild(200 * seed + k));

		post_numbered(lab, 5);
		run(lab, 100 * k);
		if (_i == 0)
			wh_sim_vanish(lab->sim, 0);
		else
			wh_sim_crash(lab->sim, 0);
		post_numbered(lab, 10); /* which the dead do in vain */
		run(lab, LONG_NS);
		for (uint32_t at = 1; at < NODES; at++) {
			uint64_t seen = assert_prefix(lab, at, 5);

			ck_assert_uint_eq(lab->down[at][0], _i == 0 ? 0 : 1);
			none += seen == 0;
			all += seen == 5;
			some += seen > 0 && seen < 5;
		}
		ck_assert_int_eq(send_number(lab, 1, 0, 1), _i == 0 ? WHORL_OK : WHORL_MEMBER_GONE);
		run(lab, LONG_NS);
		ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
		end(lab);
	}
	ck_assert_uint_gt(none, 0);
	ck_assert_uint_gt(some, 0);
	ck_assert_uint_gt(all, 0);
}

TEST(each_notices_a_death_in_its_own_time)
{
	struct wh_sim_options options = plain(test_seed(7));
	struct lab *lab;
	uint64_t start;

	options.notice_max_ns = WH_NS_PER_MS;
	lab = sim_lab_make(options);
	start = wh_sim_now(lab->sim);
	wh_sim_crash(lab->sim, 0);
	run(lab, LONG_NS);
	for (uint32_t at = 1; at < NODES; at++) {
		ck_assert_uint_eq(lab->down[at][0], 1);
		ck_assert_uint_le(lab->heard_ns[at], start + WH_NS_PER_MS);
	}
	ck_assert_uint_ne(lab->heard_ns[1], lab->heard_ns[2]);
	end(lab);
}

/* The hook lets it crash before push number _i, of two posts with six pushes each. */
TEST_LOOP(a_crash_in_the_middle_of_a_post, 0, 14)
{
	uint64_t seed = test_seed((uint64_t)_i);

	for (uint64_t n = 0; n < 20; n++) {
		struct lab *lab = sim_lab_make(wild(20 * seed + n));
		uint64_t k = 0;

		lab->crash_push = (uint64_t)_i;
		lab->silently = n % 2 == 0;
		for (int batch = 0; batch < 2; batch++) {
			struct wh_push pushes[6];

			for (int i = 0; i < 6; i++)
				pushes[i] = push_word(0, ++k);
			post(lab, 0, pushes, 6);
		}
		ck_assert_uint_eq(wh_sim_counts(lab->sim, 0).loud, _i < 12 ? _i : 12);
		ck_assert_uint_eq(lab->hooked, _i < 12 ? _i + 1 : 12);
		run(lab, LONG_NS);
		for (uint32_t at = 1; at < NODES; at++) {
			ck_assert_uint_le(word(lab, at, 0), _i);
			ck_assert_uint_eq(lab->down[at][0], lab->silently || _i >= 12 ? 0 : 1);
		}
		ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
		end(lab);
	}
}

/* Its last words come first, whatever happens to it then, and however late. */
TEST_LOOP(leaving_is_kept, 0, 2)
{
	uint64_t seed = test_seed((uint64_t)_i);

	for (uint64_t n = 0; n < 50; n++) {
		struct lab *lab = sim_lab_make(wild(50 * seed + n));

		for (uint64_t k = 1; k <= 20; k++)
			post_page(lab, 0, k);
		ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_OK);
		if (n % 3 == 0)
			wh_sim_cut_off(lab->sim, 0, 2);
		lab->node[0]->ops->leave(lab->node[0]);
		if (_i == 0)
			wh_sim_crash(lab->sim, 0);
		else
			wh_sim_vanish(lab->sim, 0);
		for (int k = 0; lab->left[1][0] == 0 && k < 100000; k++)
			run(lab, 1000);
		ck_assert_uint_eq(word(lab, 1, 0), 20);
		ck_assert_uint_eq(lab->messages[1], 1);
		ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 1).pushes, 0);
		if (n % 3 == 0) {
			run(lab, LONG_NS);
			ck_assert_uint_eq(lab->left[2][0], 0);
			wh_sim_heal(lab->sim, 0, 2);
		}
		for (int k = 0; lab->left[2][0] == 0 && k < 100000; k++)
			run(lab, 1000);
		ck_assert_uint_eq(word(lab, 2, 0), 20);
		run(lab, LONG_NS);
		ck_assert_uint_eq(lab->down[1][0] + lab->down[2][0], 0);
		ck_assert_uint_eq(lab->left[1][0] + lab->left[2][0], 2);
		end(lab);
	}
}

/* A node that was killed in the middle of its pass goes on to its end, and no node notices. */
TEST(the_dead_open_nothing)
{
	struct lab *lab = sim_lab_make(wild(test_seed(8)));
	struct wh_image *next[NODES];

	next[1] = open_image(lab, 1, 2);
	next[2] = open_image(lab, 2, 2);
	wh_sim_vanish(lab->sim, 0);
	next[0] = open_image(lab, 0, 2);
	next[0]->ops->freeze(next[0], 1);
	next[0]->ops->freeze(next[0], 2);
	lab->node[0]->ops->wake(lab->node[0]);
	run(lab, LONG_NS);
	ck_assert(!next[0]->ready && !next[1]->ready && !next[2]->ready);
	next[0]->ops->image_close(next[0]);
	next[1]->ops->freeze(next[1], 0);
	next[2]->ops->freeze(next[2], 0);
	run(lab, LONG_NS);
	ck_assert(next[1]->ready && next[2]->ready);
	ck_assert_ptr_null(next[1]->row[0]);
	end(lab);
}

TEST_SUITE("faults of the simulator's transport")
