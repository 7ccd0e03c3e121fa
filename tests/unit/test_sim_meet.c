/* test_sim_meet.c - which nodes meet in the simulator, and when: nodes that come late, that do not go together, that are looked
 * for; and visitors. The lab checks the order of all news (check_order). */
#include "tests/support/sim_lab.h"

/* ---- coming late --------------------------------------------------------------------------------------------------------- */

TEST_LOOP(any_may_come_at_any_time, 0, 6)
{
	struct lab *lab = make_empty(wild(test_seed(1) + (uint64_t)_i));
	uint32_t first = (uint32_t)_i % NODES;

	begin_life(lab, first);
	run(lab, LONG_NS);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	for (uint32_t k = 1; k < NODES; k++) {
		uint32_t id = (first + k) % NODES;

		ck_assert_int_eq(send_number(lab, first, id, 1), WHORL_MEMBER_GONE);
		begin_life(lab, id);
		ck_assert_int_eq(send_number(lab, first, id, 1), WHORL_MEMBER_GONE);
		run(lab, 1); /* it calls */
		ck_assert_uint_gt(wh_sim_under_way(lab->sim), 0);
		run(lab, LONG_NS);
		ck_assert(have_met(lab, first, id) && have_met(lab, id, first));
		ck_assert(wh_sim_traffic(lab->sim, first, id).met);
		ck_assert_int_eq(send_number(lab, first, id, 1), WHORL_OK);
		ck_assert_uint_eq(lab->meetings[first][id], 1);
	}
	run(lab, LONG_NS);
	assert_all_met(lab);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

TEST(each_meets_in_its_own_time)
{
	struct wh_sim_options options = plain(test_seed(2));
	uint64_t before = 0, after = 0;
	struct lab *lab;

	options.latency_max_ns = SLOW_NS;
	for (uint64_t n = 0; n < 150; n++) {
		options.seed++;
		lab = make_strangers(options);
		while (!have_met(lab, 0, 1) && !have_met(lab, 1, 0))
			run(lab, 100);
		before += have_met(lab, 0, 1) && !have_met(lab, 1, 0);
		after += have_met(lab, 1, 0) && !have_met(lab, 0, 1);
		run(lab, LONG_NS);
		assert_all_met(lab);
		end(lab);
	}
	ck_assert_uint_gt(before, 5);
	ck_assert_uint_gt(after, 5);
}

/* Node 1, which has called, has met node 0, which waits for its last word. */
static struct lab *make_half_met(uint64_t seed)
{
	struct lab *lab = make_empty(plain(seed));

	slow(lab, 1, 0);
	begin_life(lab, 0);
	begin_life(lab, 1);
	run(lab, 5 * SLOW_NS / 2); /* the call, and the hello */
	ck_assert(have_met(lab, 1, 0) && !have_met(lab, 0, 1));
	for (uint64_t k = 1; k <= 3; k++)
		ck_assert_int_eq(send_number(lab, 1, 0, k), WHORL_OK);
	ck_assert_uint_eq(lab->messages[0], 0);
	ck_assert_uint_eq(wh_sim_traffic(lab->sim, 1, 0).messages, 3);
	return lab;
}

TEST(what_comes_before_the_meeting_waits)
{
	struct lab *lab = make_half_met(test_seed(3));

	run(lab, LONG_NS);
	ck_assert(have_met(lab, 0, 1));
	ck_assert_uint_eq(lab->messages[0], 3);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

TEST(a_node_that_leaves_before_the_meeting_is_met)
{
	struct lab *lab = make_half_met(test_seed(4));

	leave_in_order(lab, 1);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->meetings[0][1], 1);
	ck_assert_uint_eq(lab->messages[0], 3);
	ck_assert_uint_eq(lab->left[0][1], 1);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

/* The other way round: it has been met, and has met no node. */
TEST(a_node_that_leaves_before_it_has_met_is_heard)
{
	struct lab *lab = make_half_met(test_seed(16));

	leave_in_order(lab, 0);
	run(lab, LONG_NS);
	assert_ends(lab, 1, 0, 0, 1);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

TEST_LOOP(a_node_that_dies_before_the_meeting_is_not_met, 0, 4)
{
	struct lab *lab;
	uint64_t unmet = 0;

	for (uint64_t n = 0; n < 60; n++) { /* what it has said last may be cut off with it, or not */
		lab = make_half_met(60 * test_seed(5) + n);
		if (_i == 0)
			wh_sim_crash(lab->sim, 1);
		else if (_i == 1)
			wh_sim_vanish(lab->sim, 1);
		else if (_i == 2)
			wh_sim_break(lab->sim, 0, 1);
		else
			wh_sim_crash(lab->sim, 0);
		run(lab, LONG_NS);
		unmet += lab->meetings[0][1] == 0;
		ck_assert_uint_le(lab->down[0][1], lab->meetings[0][1]);
		ck_assert_uint_eq(lab->down[1][0], _i >= 2);
		ck_assert_uint_le(lab->messages[0], lab->meetings[0][1] * 3);
		ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
		end(lab);
	}
	ck_assert_uint_gt(unmet, 2);
}

/* A node that does not look is not met, and is sought for no longer than any other. */
TEST_LOOP(a_node_that_does_not_look_is_not_met, 0, 2)
{
	struct lab *lab = make_strangers(wild(test_seed(9)));
	struct wh_transport *silent = lab->node[1];

	lab->node[1] = NULL;
	run(lab, WH_NS_PER_MS);
	ck_assert(have_met(lab, 0, 2) && have_met(lab, 2, 0));
	ck_assert_uint_eq(lab->meetings[0][1] + lab->meetings[2][1], 0);
	ck_assert(lab->node[0]->ops->searching(lab->node[0]));
	ck_assert(wh_sim_rung(lab->sim, 1));
	ck_assert_uint_gt(wh_sim_under_way(lab->sim), 0);
	for (uint64_t k = 0; k < 100; k++)
		run(lab, WH_NS_PER_S / 100);
	ck_assert(!lab->node[0]->ops->searching(lab->node[0]));
	if (_i == 0)
		lab->node[1] = silent;
	else
		silent->ops->destroy(silent, false);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->meetings[0][1] + lab->meetings[2][1], _i == 0 ? 2 : 0);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

/* They know of each other already. It takes both ways. */
TEST_LOOP(a_cut_comes_before_the_meeting, 0, 2)
{
	struct lab *lab = make_empty(plain(test_seed(17)));
	uint32_t from = (uint32_t)_i, to = 1 - from;

	slow(lab, 0, 1);
	slow(lab, 1, 0);
	begin_life(lab, 0);
	begin_life(lab, 1);
	run(lab, 3 * SLOW_NS / 2);
	wh_sim_cut_off(lab->sim, from, to);
	run(lab, LONG_NS);
	ck_assert(!have_met(lab, 0, 1) && !have_met(lab, 1, 0));
	wh_sim_heal(lab->sim, from, to);
	run(lab, LONG_NS);
	ck_assert(have_met(lab, 0, 1) && have_met(lab, 1, 0));
	end(lab);
}

/* A node that comes when others are gone does not wait for them, until they come back. */
TEST(the_dead_are_not_met)
{
	struct lab *lab = sim_lab_make(wild(test_seed(18)));

	for (uint32_t id = 0; id < NODES; id++)
		end_life(lab, id, (enum manner)id);
	begin_life(lab, 0);
	run(lab, LONG_NS);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	begin_life(lab, 1);
	begin_life(lab, 2);
	run(lab, LONG_NS);
	assert_all_met(lab);
	end(lab);
}

/* ---- nodes that do not go together --------------------------------------------------------------------------------------- */

static struct lab *make_odd(uint64_t seed, const char *group, uint32_t nodes)
{
	struct wh_sim_options options = wild(seed);
	struct lab *lab;
	struct wh_transport_config config = {.group = group, .node = 0, .nodes = nodes, .incarnation = 1};
	struct wh_error err;

	options.nodes = NODES + 1;
	lab = make_empty(options);
	config.env = wh_sim_env(lab->sim, 0);
	lab->incarnation[0] = 1;
	begin_life(lab, 1);
	ck_assert_int_eq(wh_sim_create(&config, lab->sim, &lab->node[0], &err), WHORL_OK);
	begin_life(lab, 2);
	run(lab, 50 * WH_NS_PER_MS);
	for (uint32_t id = 0; id < NODES; id++)
		ck_assert(!lab->node[id]->ops->searching(lab->node[id]));
	for (uint32_t id = 1; id < NODES; id++) { /* once, however often they call */
		ck_assert_uint_eq(lab->refused[0][id], 1);
		ck_assert_uint_eq(lab->refused[id][0], 1);
	}
	run(lab, LONG_NS);
	ck_assert_int_eq(send_number(lab, 0, 1, 1), WHORL_MEMBER_GONE);
	ck_assert_int_eq(send_number(lab, 1, 0, 1), WHORL_MEMBER_GONE);
	ck_assert_uint_eq(lab->meetings[1][0] + lab->meetings[2][0] + lab->meetings[0][1] + lab->meetings[0][2], 0);
	ck_assert(have_met(lab, 1, 2) && have_met(lab, 2, 1));
	return lab;
}

TEST(another_count_of_nodes_is_refused)
{
	struct lab *lab = make_odd(test_seed(6), "lab", NODES + 1);

	destroy(lab, 0);
	run(lab, LONG_NS);
	ck_assert_uint_eq(lab->down[1][0] + lab->down[2][0], 0);
	begin_life(lab, 0); /* one that counts as they do */
	run(lab, LONG_NS);
	assert_all_met(lab);
	end(lab);
}

TEST(another_group_is_refused)
{
	end(make_odd(test_seed(7), "elsewhere", NODES));
}

TEST(ids_and_incarnations_are_had_once)
{
	struct lab *lab = sim_lab_make(plain(test_seed(8)));
	struct wh_transport_config config = {
		.env = wh_sim_env(lab->sim, 0), .group = "lab", .node = 0, .nodes = NODES, .incarnation = 7};
	struct wh_transport *none;
	struct wh_error err;

	ck_assert_int_eq(wh_sim_create(&config, lab->sim, &none, &err), WHORL_REFUSED); /* it is there */
	ck_assert_ptr_null(none);
	lab->node[0]->ops->leave(lab->node[0]);
	ck_assert_int_eq(wh_sim_create(&config, lab->sim, &none, &err), WHORL_REFUSED);
	destroy(lab, 0);
	begin_life(lab, 0);
	destroy(lab, 0);
	for (uint64_t was = lab->incarnation[0]; was > lab->incarnation[0] - 2; was--) {
		config.incarnation = was;
		ck_assert_int_eq(wh_sim_create(&config, lab->sim, &none, &err), WHORL_REFUSED);
	}
	config.incarnation = 0;
	ck_assert_int_eq(wh_sim_create(&config, lab->sim, &none, &err), WHORL_INVALID);
	begin_life(lab, 0);
	end(lab);
}

/* ---- searching ----------------------------------------------------------------------------------------------------------- */

static bool searches(struct lab *lab, uint32_t id)
{
	return lab->node[id]->ops->searching(lab->node[id]);
}

/* Until it searches no more; how long that took. */
static uint64_t search(struct lab *lab, uint32_t id)
{
	uint64_t start = wh_sim_now(lab->sim);

	while (searches(lab, id)) {
		run(lab, 10 * WH_NS_PER_US);
		ck_assert_uint_le(wh_sim_now(lab->sim), start + WH_NS_PER_S);
	}
	return wh_sim_now(lab->sim) - start;
}

TEST(a_node_that_has_searched_has_met_all_that_are_there)
{
	uint64_t seed = test_seed(40), alone = 0;

	for (uint64_t n = 0; n < 4; n++) {
		struct wh_sim_options options = wild(4 * seed + n);
		struct lab *lab;

		options.latency_max_ns = WH_NS_PER_MS / 10;
		lab = make_empty(options);
		begin_life(lab, 0);
		ck_assert_uint_le(search(lab, 0), options.latency_max_ns * 300);
		begin_life(lab, 1);
		alone += searches(lab, 0); /* not for those that come later */
		wh_sim_cut_off(lab->sim, 2, 0);
		begin_life(lab, 2);
		search(lab, 2);
		ck_assert(have_met(lab, 2, 1) &&
			  !have_met(lab, 2, 0)); /* one that is cut off may be there, for all it knows */
		search(lab, 1);
		ck_assert(have_met(lab, 1, 0));
		wh_sim_heal(lab->sim, 2, 0);
		ck_assert(!searches(lab, 0) && !searches(lab, 1) && !searches(lab, 2));
		end(lab);
	}
	ck_assert_uint_eq(alone, 0);
}

TEST(searching_ends_within_a_second)
{
	struct wh_sim_options options = plain(test_seed(42));
	struct lab *lab;

	options.latency_min_ns = options.latency_max_ns = LONG_NS;
	lab = make_strangers(options);
	ck_assert_uint_gt(search(lab, 2), WH_NS_PER_S / 2);
	end(lab);
}

TEST(the_dead_are_not_searched_for)
{
	struct lab *lab = make_empty(plain(test_seed(43)));

	slow(lab, 2, 0);
	slow(lab, 2, 1);
	begin_life(lab, 0);
	begin_life(lab, 1);
	begin_life(lab, 2);
	wh_sim_crash(lab->sim, 0);
	lab->node[1]->ops->leave(lab->node[1]);
	ck_assert_uint_lt(search(lab, 2), 3 * SLOW_NS);
	end(lab);
}

/* ---- the door ------------------------------------------------------------------------------------------------------------ */

/* Two thousand stand there when a node comes back, and as many again each millisecond; they say nothing, or half of something. */
TEST_LOOP(a_crowd_keeps_no_node_out, 0, 6)
{
	struct wh_sim_options options = wild(test_seed(60) + (uint64_t)_i);
	const unsigned char nonsense[30] = {1, 2, 3};
	uint64_t back_ns, slept;
	struct lab *lab;

	options.latency_max_ns = 50 * WH_NS_PER_US;
	lab = sim_lab_make(options);
	end_life(lab, 0, (enum manner)(_i % MANNERS));
	begin_life(lab, 0);
	back_ns = wh_sim_now(lab->sim);
	while (!(have_met(lab, 0, 1) && have_met(lab, 1, 0) && have_met(lab, 0, 2) && have_met(lab, 2, 0))) {
		for (uint32_t n = 0; n < 2000; n++)
			wh_sim_call_as_stranger(lab->sim, 1 + n % 2, nonsense, _i % 2 == 0 ? 0 : sizeof(nonsense));
		for (slept = 0; slept < WH_NS_PER_MS; slept += WH_NS_PER_MS / 10)
			run(lab, WH_NS_PER_MS / 10);
		ck_assert_uint_lt(wh_sim_now(lab->sim), back_ns + WH_NS_PER_S);
	}
	end(lab);
}

/* ---- visitors ------------------------------------------------------------------------------------------------------------ */

static void hear(void *ctx, const void *bytes, size_t count)
{
	uint64_t *heard = ctx;

	ck_assert_uint_eq(count, sizeof(*heard));
	memcpy(heard, bytes, count);
}

TEST(queries_are_answered_once)
{
	static struct wh_transport_event events[2];
	struct lab *lab = sim_lab_make(plain(test_seed(50)));
	struct wh_transport *node = lab->node[1];
	uint64_t heard[2] = {0, 0}, answer = 5;

	node->ops->wait(node, 0);
	ck_assert(wh_sim_query(lab->sim, 1, "first", 5, hear, &heard[0]));
	ck_assert(wh_sim_query(lab->sim, 1, "second", 6, hear, &heard[1]));
	ck_assert(wh_sim_rung(lab->sim, 1));
	node->ops->service(node);
	for (int k = 0; k < 2; k++) {
		ck_assert(node->ops->next_event(node, &events[k]));
		ck_assert_int_eq(events[k].kind, WH_EVENT_QUERY);
		ck_assert_uint_eq(events[k].bytes, 5 + k);
	}
	ck_assert_mem_eq(events[1].text, "second", 6);
	node->ops->answer(node, events[1].query, &answer, sizeof(answer));
	ck_assert_uint_eq(heard[1], 5);
	ck_assert_uint_eq(heard[0], 0);
	answer = 6;
	node->ops->answer(node, events[1].query, &answer, sizeof(answer)); /* it has gone */
	ck_assert(heard[1] == 5 && heard[0] == 0);
	node->ops->answer(node, events[0].query, &answer, sizeof(answer));
	ck_assert_uint_eq(heard[0], 6);
	ck_assert(wh_sim_query(lab->sim, 1, "third", 5, hear, &heard[0]));
	wh_sim_crash(lab->sim, 1);
	ck_assert(!wh_sim_query(lab->sim, 1, "fourth", 6, hear, &heard[0]));
	end(lab);
}

TEST_SUITE("meetings in the simulator")
