/* test_sim_transport.c - what only the simulator's transport has: what things cost, late rings, the digest. Its faults are
 * in test_sim_faults.c, its lives in test_sim_lives.c, its streams in test_sim_streams.c, what it shares with other
 * transports in tests/conformance/. */
#include "tests/support/sim_lab.h"
#include "transport/dice.h"

/* An idle link takes up to so long before it shows what has come; and nothing else, where nothing costs anything. */
#define GAP_NS 100

/* ---- costs ------------------------------------------------------------------------------------------------------------- */

/* The word changes at that time after `start_ns`, and not before. */
static void assert_arrives(struct lab *lab, uint32_t at, uint32_t of, uint64_t value, uint64_t start_ns,
			   uint64_t after_ns)
{
	run_until(lab, start_ns + after_ns - 1);
	ck_assert_uint_lt(word(lab, at, of), value);
	run_until(lab, start_ns + after_ns);
	ck_assert_uint_eq(word(lab, at, of), value);
}

TEST(a_link_has_a_latency)
{
	struct lab *lab = sim_lab_make(plain(test_seed(1)));
	uint64_t start = wh_sim_now(lab->sim);

	wh_sim_link_set(lab->sim, 0, 1, &(struct wh_sim_link_cost){1000, 1000, 0});
	wh_sim_link_set(lab->sim, 0, 2, &(struct wh_sim_link_cost){5000, 0, 0}); /* no more than the least: the least */
	post_word(lab, 0, 1);
	assert_arrives(lab, 1, 0, 1, start, 1000);
	assert_arrives(lab, 2, 0, 1, start, 5000);
	start = wh_sim_now(lab->sim);
	post_word(lab, 1, 2);
	run_until(lab, start + GAP_NS);
	ck_assert_uint_eq(word(lab, 0, 1), 2); /* the way back is another link */
	end(lab);
}

TEST(a_link_has_a_bandwidth)
{
	struct lab *lab = sim_lab_make(plain(test_seed(2)));
	uint64_t start = wh_sim_now(lab->sim);

	wh_sim_link_set(lab->sim, 0, 1, &(struct wh_sim_link_cost){100, 100, WH_NS_PER_S});
	post_page(lab, 0, 1);
	post_page(lab, 0, 2);
	run_until(lab, start + 4 * GAP_NS); /* four pushes */
	ck_assert_uint_eq(word(lab, 2, 0), 2);
	ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 1).pushes, 4);
	ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 2).pushes, 0);
	assert_arrives(lab, 1, 0, 1, start, 4096 + 8 + 100);
	assert_arrives(lab, 1, 0, 2, start, 2 * (4096 + 8) + 100);
	start = wh_sim_now(lab->sim);
	post_word(lab, 0, 3);
	assert_arrives(lab, 1, 0, 3, start, 8 + 100); /* an idle link has saved nothing up, and owes nothing */
	end(lab);
}

TEST(a_card_sends_to_all)
{
	struct lab *lab = sim_lab_make(plain(test_seed(3)));
	uint64_t start = wh_sim_now(lab->sim);

	wh_sim_node_set(lab->sim, 0, &(struct wh_sim_node_cost){.bytes_per_s = WH_NS_PER_S});
	post_page(lab, 0, 1);
	assert_arrives(lab, 1, 0, 1, start, 2 * 4096 + 8);
	assert_arrives(lab, 2, 0, 1, start, 2 * 4096 + 16);
	ck_assert_uint_le(wh_sim_busy_until(lab->sim, 0), start); /* that is not the node's time */
	end(lab);
}

TEST(posting_takes_the_node_time)
{
	struct wh_sim_options options = plain(test_seed(4));
	struct lab *lab;
	uint64_t start;

	options.node_cost = (struct wh_sim_node_cost){.post_ns = 100, .push_ns = 10};
	lab = sim_lab_make(options);
	start = wh_sim_now(lab->sim);
	post_word(lab, 0, 1);
	post_word(lab, 0, 2); /* in the same pass: the times add up */
	ck_assert_uint_eq(wh_sim_busy_until(lab->sim, 0), start + 2 * 120);
	ck_assert_uint_le(wh_sim_busy_until(lab->sim, 1), start);
	assert_arrives(lab, 1, 0, 1, start, 110);
	assert_arrives(lab, 2, 0, 1, start, 120);
	assert_arrives(lab, 1, 0, 2, start, 230);
	assert_arrives(lab, 2, 0, 2, start, 240);
	wh_sim_node_set(lab->sim, 0, &(struct wh_sim_node_cost){0});
	post_word(lab, 0, 3);
	ck_assert_uint_le(wh_sim_busy_until(lab->sim, 0), wh_sim_now(lab->sim));
	end(lab);
}

/* ---- words beside each other ---------------------------------------------------------------------------------------------- */

static uint64_t next_word(const struct lab *lab)
{
	return wh_load_acquire((const wh_word *)(const void *)(lab->image[1]->control[0] + WORD + sizeof(wh_word)));
}

/* Words that stand beside each other are seen in either order, if pushes may be joined; all others in the order of pushes. */
static void assert_orders(bool joins, bool beside)
{
	struct wh_sim_options options = plain(test_seed(11));
	uint64_t orders[2] = {0};
	struct lab *lab;

	options.joins = joins;
	options.pieces = 2;
	lab = sim_lab_make(options);
	for (uint64_t k = 1; k <= 120; k += 2) {
		struct wh_push pushes[] = {push_word(0, k), push_word(0, k + 1)};

		pushes[1].offset += sizeof(wh_word);
		pushes[1].may_reorder = beside;
		post(lab, 0, pushes, 2);
		while (word(lab, 1, 0) < k && next_word(lab) < k)
			ck_assert(wh_sim_step(lab->sim, UINT64_MAX));
		if (word(lab, 1, 0) < k || next_word(lab) < k)
			orders[next_word(lab) > k]++;
		run(lab, LONG_NS);
		ck_assert_uint_eq(word(lab, 1, 0), k);
		ck_assert_uint_eq(next_word(lab), k + 1);
	}
	ck_assert_uint_gt(orders[0], 5);
	if (joins && beside)
		ck_assert_uint_gt(orders[1], 5);
	else
		ck_assert_uint_eq(orders[1], 0);
	end(lab);
}

TEST(words_beside_come_in_any_order)
{
	assert_orders(true, true);
	assert_orders(true, false);
	assert_orders(false, true);
}

/* ---- rings ------------------------------------------------------------------------------------------------------------- */

#define RING_NS (100 * WH_NS_PER_US)

TEST(rings_are_late)
{
	struct wh_sim_options options = plain(test_seed(9));
	uint64_t late = 0;
	struct lab *lab;

	options.ring_max_ns = RING_NS;
	lab = sim_lab_make(options);
	lab->node[1]->ops->wait(lab->node[1], 0); /* old rings are used up */
	for (uint64_t k = 1; k <= 50; k++) {
		uint64_t start = wh_sim_now(lab->sim);

		lab->node[1]->ops->arm(lab->node[1]);
		post_word(lab, 0, k);
		while (word(lab, 1, 0) < k)
			ck_assert(wh_sim_step(lab->sim, UINT64_MAX));
		late += !wh_sim_rung(lab->sim, 1);
		lab->node[1]->ops->wait(lab->node[1], LONG_NS);
		ck_assert_uint_le(wh_sim_now(lab->sim), start + RING_NS + GAP_NS);
	}
	ck_assert_uint_gt(late, 40);
	ck_assert_uint_eq(wh_sim_counts(lab->sim, 0).rings, 50);
	lab->node[1]->ops->wake(lab->node[1]);
	ck_assert(!wh_sim_rung(lab->sim, 1));
	lab->node[1]->ops->wake(lab->node[1]);
	run(lab, RING_NS);
	ck_assert(wh_sim_rung(lab->sim, 1));
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

TEST(rings_for_messages_are_late)
{
	struct wh_sim_options options = plain(test_seed(13));
	uint64_t late = 0;
	struct lab *lab;

	options.ring_max_ns = RING_NS;
	lab = sim_lab_make(options);
	lab->node[1]->ops->wait(lab->node[1], 0);
	for (uint64_t k = 1; k <= 50; k++) {
		uint64_t start = wh_sim_now(lab->sim);

		ck_assert_int_eq(send_number(lab, 0, 1, k), WHORL_OK);
		while (wh_sim_traffic(lab->sim, 0, 1).messages > 0)
			ck_assert(wh_sim_step(lab->sim, UINT64_MAX));
		late += !wh_sim_rung(lab->sim, 1);
		lab->node[1]->ops->wait(lab->node[1], LONG_NS);
		ck_assert_uint_le(wh_sim_now(lab->sim), start + RING_NS + GAP_NS);
		ck_assert(wh_sim_rung(lab->sim, 1)); /* until it is seen to */
		service_all(lab);
		ck_assert(!wh_sim_rung(lab->sim, 1));
		ck_assert_uint_eq(lab->messages[1], k);
	}
	ck_assert_uint_gt(late, 40);
	end(lab);
}

/* It arms, looks, and sleeps as a loop does, between pushes, messages and rings that come when they like. If it has seen
 * less than there is it does not sleep for long. */
TEST_LOOP(late_rings_are_never_lost, 0, 20)
{
	struct wh_sim_options options = wild(test_seed(70) + (uint64_t)_i);
	struct wh_dice dice = wh_dice_split(options.seed, 8);
	uint64_t posted = 0, sent = 0;
	struct lab *lab;

	options.ring_max_ns = RING_NS;
	lab = sim_lab_make(options);
	for (int round = 0; round < 300; round++) {
		uint64_t until, seen = 0, inbox;

		for (int moment = 0; moment < 3; moment++) {
			if (wh_dice_one_in(&dice, 3))
				post_word(lab, 0, ++posted);
			if (wh_dice_one_in(&dice, 8) && send_number(lab, 0, 1, sent + 1) == WHORL_OK)
				sent++;
			if (moment == 0)
				lab->node[1]->ops->arm(lab->node[1]);
			if (moment == 1)
				seen = word(lab, 1, 0);
			for (uint64_t steps = wh_dice_below(&dice, 4); steps > 0; steps--)
				if (!wh_sim_step(lab->sim, wh_sim_now(lab->sim) + 1000))
					break;
		}
		inbox = sent - lab->messages[1];
		until = wh_sim_now(lab->sim) + LONG_NS;
		if (seen < posted || inbox > 0) {
			lab->node[1]->ops->wait(lab->node[1], LONG_NS);
			ck_assert_uint_lt(wh_sim_now(lab->sim), until);
		}
		lab->node[1]->ops->disarm(lab->node[1]);
		if (wh_dice_one_in(&dice, 2))
			service_all(lab);
	}
	run(lab, LONG_NS);
	ck_assert_uint_eq(word(lab, 1, 0), posted);
	ck_assert_uint_eq(lab->messages[1], sent);
	end(lab);
}

/* Whatever it has posted that can be seen has rung, though it crashed in the middle of a batch. */
TEST_LOOP(the_words_of_the_dead_ring, 0, 2)
{
	uint64_t seen = 0, seed = test_seed((uint64_t)_i);

	for (uint64_t n = 0; n < 100; n++) {
		struct wh_sim_options options = wild(100 * seed + n);
		struct wh_push pushes[10];
		struct lab *lab;

		options.ring_max_ns = n % 2 == 0 ? RING_NS : 0;
		lab = sim_lab_make(options);
		lab->silently = true;
		lab->crash_push = _i == 0 ? n % 10 : UINT64_MAX;
		lab->node[1]->ops->wait(lab->node[1], 0); /* old rings are used up */
		lab->node[1]->ops->arm(lab->node[1]);
		for (uint64_t k = 0; k < 10; k++)
			pushes[k] = push_word(0, k + 1);
		post(lab, 0, pushes, 10);
		for (uint64_t k = 0; k < n % 10; k++)
			wh_sim_step(lab->sim, UINT64_MAX);
		wh_sim_vanish(lab->sim, 0);
		run(lab, LONG_NS);
		ck_assert(word(lab, 1, 0) == 0 || wh_sim_rung(lab->sim, 1));
		seen += word(lab, 1, 0) > 0;
		end(lab);
	}
	ck_assert_uint_gt(seen, 20);
}

/* ---- the digest -------------------------------------------------------------------------------------------------------- */

enum { CUT = 1, CRASH = 2, RINGS = 4, COSTS = 8, ALL = 15 };

static uint64_t digest_of(uint64_t seed, unsigned what)
{
	struct wh_sim_options options = wild(seed);
	struct lab *lab;
	uint64_t digest;

	options.ring_max_ns = what & RINGS ? RING_NS : 0;
	options.notice_max_ns = RING_NS;
	if (what & COSTS)
		options.node_cost = (struct wh_sim_node_cost){10, 10, WH_NS_PER_S};
	lab = sim_lab_make(options);
	for (uint64_t k = 1; k <= 100; k++) {
		lab->node[1]->ops->arm(lab->node[1]);
		post_page(lab, k % NODES, k);
		if (what & CUT && k == 30)
			wh_sim_cut_off(lab->sim, 2, 1);
		if (what & CUT && k == 60)
			wh_sim_heal(lab->sim, 2, 1);
		if (what & CRASH && k == 80)
			wh_sim_crash(lab->sim, 0);
		run(lab, 1000);
	}
	run(lab, LONG_NS);
	digest = wh_sim_digest(lab->sim);
	end(lab);
	return digest;
}

TEST(the_same_seed_is_the_same_run)
{
	uint64_t seed = test_seed(11), digest = digest_of(seed, ALL);

	ck_assert_uint_eq(digest, digest_of(seed, ALL));
	ck_assert_uint_ne(digest, digest_of(seed + 1, ALL));
	for (unsigned what = 1; what < ALL; what <<= 1)
		ck_assert_uint_ne(digest, digest_of(seed, ALL - what));
}

TEST_SUITE("the simulator's transport")
