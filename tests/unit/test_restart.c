/* test_restart.c - restarts of all, step by step (restart_lab.h): which node coordinates, what is waited for, and what each disk says.
 * See test_restart_random.c for any course of things, and test_restart_find.c for what is decided.
 */
#include "tests/support/restart_lab.h"

static void run(struct world *w, uint64_t ns)
{
	for (uint64_t until = w->now_ns + ns; w->now_ns < until;)
		go_round(w);
}

/* Until that many nodes are members of one view; what members do is left out. */
static void run_until(struct world *w, uint32_t members)
{
	for (int i = 0; i < 100000; i++) {
		uint32_t count = 0;

		for (uint32_t id = 0; id < w->nodes; id++)
			count += w->node[id].view_key != 0 && w->node[id].view_key == w->now;
		if (count == members)
			return;
		go_round(w);
	}
	ck_abort_msg("they do not become members");
}

/* A group of that many, which has delivered something, and has lost its power. */
static struct world *world_of(uint32_t nodes, uint64_t seed)
{
	struct world *w = make_world(seed, nodes, 1, -1);

	for (uint32_t id = 0; id < nodes; id++)
		start_node(w, id);
	run_until(w, nodes);
	for (int i = 0; i < 4; i++)
		send_message(w, 0);
	for (int i = 0; i < 8; i++)
		for (uint32_t id = 0; id < nodes; id++)
			persist(w, id);
	ck_assert_uint_eq(w->delivered[0], 4);
	lose_power(w);
	return w;
}

static const struct known_view *now_of(struct world *w)
{
	return find_known(w, w->now);
}

#define SEEDS 10

/* ---- which come back ------------------------------------------------------------------------------------------------------- */

TEST_LOOP(all_come_back, 0, SEEDS)
{
	struct world *w = world_of(3, 1 + (uint64_t)_i);
	uint64_t first = w->now;

	for (uint32_t id = 0; id < 3; id++)
		start_node(w, id);
	run_until(w, 3);
	ck_assert_uint_ne(w->now, first);
	ck_assert_uint_eq(now_of(w)->view->number, 1);
	ck_assert_uint_eq(now_of(w)->start[0], 4);
	ck_assert_uint_eq(now_of(w)->view->members, 3);
	ck_assert_uint_eq(w->node[0].join.restart->round.phase, WH_ROUND_NONE);
	free_world(w);
}

/* One comes a little later than the others, which could do without it: but for a start time-out they do not. */
TEST_LOOP(those_that_come_late_are_waited_for, 0, SEEDS)
{
	struct world *w = world_of(3, 100 + (uint64_t)_i);

	start_node(w, 0);
	start_node(w, 1);
	run(w, START_NS / 2);
	ck_assert_uint_eq(w->restarts, 0);
	start_node(w, 2);
	run_until(w, 3);
	ck_assert_uint_eq(w->restarts, 1);
	free_world(w);
}

TEST_LOOP(a_majority_comes_back_after_a_while, 0, SEEDS)
{
	struct world *w = world_of(3, 200 + (uint64_t)_i);
	uint64_t from = w->now_ns;

	start_node(w, 1);
	start_node(w, 2);
	run_until(w, 2);
	ck_assert_uint_ge(w->now_ns, from + START_NS);
	ck_assert_uint_eq(now_of(w)->view->members, 2);
	ck_assert_int_eq(wh_view_rank(now_of(w)->view, 0), -1);
	ck_assert_uint_eq(now_of(w)->start[0], 4);
	free_world(w);
}

TEST_LOOP(a_minority_waits_and_says_for_which, 0, SEEDS)
{
	struct world *w = world_of(3, 300 + (uint64_t)_i);
	char text[512];

	start_node(w, 1);
	run(w, 20 * START_NS);
	ck_assert_uint_eq(w->restarts, 0);
	wh_join_explain(&w->node[1].join, text, sizeof(text));
	ck_assert_str_eq(text, "waits for more of the members of view 0 to come back with their disks; missing: 0 2");
	start_node(w, 0);
	run_until(w, 2);
	free_world(w);
}

/* All have left in order, so nobody has gone on; and then nobody has left any more. */
TEST_LOOP(all_have_left, 0, SEEDS)
{
	struct world *w = world_of(3, 350 + (uint64_t)_i);

	for (uint32_t id = 0; id < 3; id++) {
		w->node[id].disk.standing.left = true;
		start_node(w, id);
	}
	run_until(w, 3);
	ck_assert_uint_eq(now_of(w)->view->members, 3);
	for (uint32_t id = 0; id < 3; id++)
		ck_assert(!w->node[id].disk.standing.left);
	free_world(w);
}

/* It is given the state, whatever it thinks of its log by then. */
TEST_LOOP(who_enters_is_not_whole, 0, SEEDS)
{
	struct world *w = world_of(3, 380 + (uint64_t)_i);

	for (uint32_t id = 0; id < 3; id++)
		start_node(w, id);
	w->node[2].disk.rotten = true;
	for (int i = 0;
	     i < 100000 && (w->node[2].restart.voices[0].follows == 0 || w->node[2].restart.voices[0].report != NULL);
	     i++)
		go_round(w);
	w->node[2].disk.rotten = false;
	run_until(w, 3);
	ck_assert_uint_eq(shard_at(now_of(w), 0)->entered_count, 1);
	ck_assert(!is_whole_log(&w->node[2].disk, 0));
	free_world(w);
}

/* The power goes whenever those without a whole log have agreed, and they are a quorum. Their views must not leave the only whole log behind. */
TEST_LOOP(whole_logs_agree_first, 0, SEEDS)
{
	struct world *w = world_of(3, 390 + (uint64_t)_i);
	const struct wh_standing *disks[] = {&w->node[0].disk.standing, &w->node[1].disk.standing,
					     &w->node[2].disk.standing};
	uint64_t last = 0;

	disks[0]->shards[0].whole = disks[1]->shards[0].whole = false;
	for (int k = 0; k < 3; k++) {
		uint32_t begun = w->restarts;

		for (uint32_t id = 0; id < 3; id++)
			start_node(w, id);
		while (w->restarts == begun && (disks[0]->ballot <= last || disks[1]->ballot <= last)) {
			go_round(w);
			ck_assert_uint_ge(disks[2]->ballot, disks[0]->ballot);
			ck_assert_uint_ge(disks[2]->ballot, disks[1]->ballot);
		}
		last = disks[2]->ballot;
		lose_power(w);
	}
	for (uint32_t id = 0; id < 3; id++)
		start_node(w, id);
	run_until(w, 3);
	ck_assert_uint_eq(now_of(w)->start[0], 4);
	ck_assert(is_whole_log(&w->node[2].disk, 0));
	free_world(w);
}

/* A view was decided, of which one of its members has not heard when the power goes. Then it is asked again, when the coordinator knows of it. */
TEST_LOOP(those_that_say_nothing_of_the_newest_view_are_asked_again, 0, SEEDS)
{
	struct world *w = make_world(395 + (uint64_t)_i, 3, 1, -1);
	const bool all[NODES] = {true, true, true};

	for (uint32_t id = 0; id < 3; id++)
		start_node(w, id);
	run_until(w, 3);
	begin_change(w, all, 0);
	echo(w, 0);
	echo(w, 2);
	lose_power(w);
	for (uint32_t id = 0; id < 3; id++)
		start_node(w, id);
	run_until(w, 3);
	ck_assert_uint_eq(now_of(w)->view->number, 2);
	ck_assert_uint_eq(w->now & 0xff, 0);
	ck_assert_uint_ge(w->now, 0x300);               /* the second round */
	ck_assert_uint_eq(w->node[0].restart.known, 0); /* it may be of another group when it seeks again */
	free_world(w);
}

/* A blank disk is none, whatever its node is called. */
TEST_LOOP(a_lost_disk_is_no_vote, 0, SEEDS)
{
	struct world *w = world_of(3, 400 + (uint64_t)_i);

	wipe_disk(w, 0);
	start_node(w, 0);
	start_node(w, 1);
	run(w, 20 * START_NS);
	ck_assert_uint_eq(w->restarts + w->formed, 1);
	ck_assert_uint_eq(wh_restart_disk(&w->node[0].restart), WH_DISK_BLANK);
	start_node(w, 2);
	run_until(w, 2);
	ck_assert_int_eq(wh_view_rank(now_of(w)->view, 0), -1);
	free_world(w);
}

/* ---- which coordinates ------------------------------------------------------------------------------------------------------ */

TEST_LOOP(the_lowest_coordinates, 0, SEEDS)
{
	struct world *w = world_of(4, 500 + (uint64_t)_i);
	uint64_t promised;

	for (uint32_t id = 1; id < 4; id++)
		start_node(w, id);
	run_until(w, 3);
	promised = w->node[3].disk.standing.promised;
	ck_assert_uint_eq(promised & 0xff, 1);
	ck_assert_uint_eq(promised, now_of(w)->key);
	free_world(w);
}

/* It asks, and ends when the others have promised, or agreed. The next one asks, and finds what they have. */
TEST_LOOP(the_coordinator_ends, 0, SEEDS)
{
	struct world *w = world_of(4, 600 + (uint64_t)_i);
	uint64_t from;

	for (uint32_t id = 0; id < 4; id++)
		start_node(w, id);
	for (int i = 0; i < 100000; i++) {
		const struct wh_standing *standing = &w->node[2].disk.standing;

		if (_i % 2 == 0 ? standing->promised != 0 : standing->ballot != 0)
			break;
		go_round(w);
		ck_assert_uint_eq(w->restarts, 0);
	}
	end_node(w, 0);
	from = w->now_ns;
	run_until(w, 3);
	ck_assert_uint_eq(w->now & 0xff, 1);
	ck_assert_uint_lt(w->now_ns,
			  from + 4 * START_NS); /* no longer than a round or two take, and others that may have begun */
	free_world(w);
}

/* All have agreed, and maybe some have begun it. Then one ends, which is not its coordinator: the others are enough, and begin it without that
 * one. */
TEST_LOOP(a_member_ends_when_all_have_agreed, 0, 3 * SEEDS)
{
	struct world *w = world_of(4, 650 + (uint64_t)_i);

	for (uint32_t id = 0; id < 4; id++)
		start_node(w, id);
	while (w->restarts == 0 && (_i % 2 == 0 || w->node[0].restart.round.phase != WH_ROUND_BEGINS))
		go_round(w);
	end_node(w, 1 + (uint32_t)_i % 3);
	run_until(w, 3);
	ck_assert_uint_eq(w->restarts, 1);
	ck_assert_uint_eq(now_of(w)->view->number, 1);
	ck_assert_uint_eq(now_of(w)->view->members, 4);
	free_world(w);
}

/* Likewise, and one is not there yet; but it will be, and others may see it there before its coordinator does. */
TEST_LOOP(a_member_ends_before_another_is_there, 0, SEEDS)
{
	struct world *w = world_of(4, 670 + (uint64_t)_i);
	uint64_t ballot;

	for (uint32_t id = 0; id < 4; id++)
		start_node(w, id);
	w->node[3].opens_late = true;
	while (w->node[0].restart.round.phase != WH_ROUND_BEGINS)
		go_round(w);
	ballot = w->node[0].restart.round.ballot;
	end_node(w, 1 + (uint32_t)_i % 2);
	run(w, START_NS / 2);
	ck_assert_uint_eq(w->restarts, 0);
	ck_assert_uint_eq(w->node[0].restart.round.ballot, ballot);
	w->node[3].opens_late = false;
	run_until(w, 3);
	ck_assert_uint_eq(w->now, ballot);
	free_world(w);
}

/* They are too few for that: what was decided is taken up in another round, when one more is back. */
TEST_LOOP(too_many_end_when_all_have_agreed, 0, 3 * SEEDS)
{
	struct world *w = world_of(4, 680 + (uint64_t)_i);
	uint64_t key = 0;

	for (uint32_t id = 0; id < 4; id++)
		start_node(w, id);
	while (w->restarts == 0 && w->node[0].restart.round.phase != WH_ROUND_BEGINS)
		go_round(w);
	if (w->restarts == 0) {
		key = w->node[0].restart.round.ballot;
		end_node(w, 2);
		end_node(w, 3);
		run(w, 10 * START_NS);
		ck_assert_uint_eq(w->restarts, 0);
		start_node(w, 2);
		run_until(w, 3);
		ck_assert_uint_eq(now_of(w)->before, key);
	}
	free_world(w);
}

/* A node that is there has no ear for another that asks: what it is there for may have begun. What its own coordinator asks it promises. */
TEST_LOOP(one_that_is_there_holds_on, 0, SEEDS)
{
	struct world *w = world_of(4, 710 + (uint64_t)_i);
	const struct lab_node *node = &w->node[3];
	struct wh_wire ask = {.kind = WH_WIRE_ASK, .key = 0x12300};

	for (uint32_t id = 1; id < 4; id++)
		start_node(w, id);
	while (node->join.state != WH_JOIN_THERE) {
		go_round(w);
		ck_assert_uint_eq(w->restarts, 0);
	}
	link_nodes(w, 0, 3);
	ck_assert(wh_restart_on_message(&w->node[3].join, 0, &ask));
	ck_assert_uint_eq(node->restart.voices[0].asked, 0);
	ck_assert(wh_restart_on_message(&w->node[3].join, 1, &ask));
	ck_assert_uint_eq(node->restart.voices[0].asked, ask.key);
	free_world(w);
}

/* It is there, and does nothing: it is passed over. */
TEST_LOOP(the_coordinator_is_silent, 0, SEEDS)
{
	struct world *w = world_of(4, 700 + (uint64_t)_i);
	uint64_t from;

	for (uint32_t id = 0; id < 4; id++)
		start_node(w, id);
	for (int i = 0; i < 1000 && w->node[1].roster.known_nodes[0].disk == WH_DISK_BLANK; i++)
		go_round(w);
	w->node[0].hangs = true;
	from = w->now_ns;
	run_until(w, 3);
	ck_assert_uint_eq(w->now & 0xff, 1);
	ck_assert_uint_ge(w->now_ns, from + (WH_SILENT_TIMEOUTS - 1) * START_NS);
	free_world(w);
}

/* ---- first views ------------------------------------------------------------------------------------------------------------- */

/* The power goes when some have it and the others nothing. */
static struct world *half_formed(uint32_t there, uint64_t seed)
{
	for (;; seed += 1000) {
		struct world *w = make_world(seed, 3, 1, -1);
		uint32_t count = 0;

		for (uint32_t id = 0; id < 3; id++)
			start_node(w, id);
		for (int i = 0; i < 10000 && count < there; i++) {
			go_round(w);
			count = 0;
			for (uint32_t id = 0; id < 3; id++)
				count += !wh_standing_is_blank(&w->node[id].disk.standing);
		}
		lose_power(w);
		count = 0;
		for (uint32_t id = 0; id < 3; id++)
			count += !wh_standing_is_blank(&w->node[id].disk.standing);
		if (count == there && w->formed == 0)
			return w;
		free_world(w);
	}
}

TEST_LOOP(a_first_view_that_was_never_begun_is_formed_anew, 0, SEEDS)
{
	struct world *w = half_formed(1 + (uint32_t)_i % 2, 800 + (uint64_t)_i);

	for (uint32_t id = 0; id < 3; id++)
		start_node(w, id);
	run_until(w, 3);
	ck_assert_uint_eq(w->formed, 1);
	ck_assert_uint_eq(w->restarts, 0);
	free_world(w);
}

/* Those that have it are a majority of it, and the third does not come. */
TEST_LOOP(a_majority_of_a_first_view_may_restart_it, 0, SEEDS)
{
	struct world *w = half_formed(2, 900 + (uint64_t)_i);
	uint64_t from = w->now_ns;

	for (uint32_t id = 0; id < 3; id++)
		if (!wh_standing_is_blank(&w->node[id].disk.standing))
			start_node(w, id);
	run_until(w, 2);
	ck_assert_uint_ge(w->now_ns, from + START_NS);
	ck_assert_uint_eq(w->formed, 0);
	ck_assert_uint_eq(w->restarts, 1);
	free_world(w);
}

/* One has it, and promises: that is no standing beside which nothing may be formed. */
TEST_LOOP(a_promise_does_not_make_it_more, 0, SEEDS)
{
	struct world *w = half_formed(1, 1000 + (uint64_t)_i);
	uint32_t one = 0;

	while (wh_standing_is_blank(&w->node[one].disk.standing))
		one++;
	start_node(w, one);
	run(w, 5 * START_NS);
	ck_assert_uint_gt(w->node[one].disk.standing.promised, 0);
	ck_assert(w->node[one].disk.standing.first);
	for (uint32_t id = 0; id < 3; id++)
		if (id != one)
			start_node(w, id);
	run_until(w, 3);
	ck_assert_uint_eq(w->formed, 1);
	free_world(w);
}

/* All configured nodes are there, and one has a log: nothing is formed. */
TEST_LOOP(nothing_is_formed_beside_a_log, 0, SEEDS)
{
	struct world *w = world_of(3, 1100 + (uint64_t)_i);

	wipe_disk(w, (uint32_t)_i % 3);
	wipe_disk(w, ((uint32_t)_i + 1) % 3);
	for (uint32_t id = 0; id < 3; id++)
		start_node(w, id);
	run(w, 30 * START_NS);
	ck_assert_uint_eq(w->formed, 1);
	ck_assert_uint_eq(w->restarts, 0);
	free_world(w);
}

/* ---- what stands in the way --------------------------------------------------------------------------------------------------- */

/* A node that is told to form a group alone does not: of a durable one that would be a second. */
TEST(an_operators_word_forms_nothing)
{
	struct world *w = make_world(1200, 3, 1, -1);
	struct lab_node *node = &w->node[0];

	start_node(w, 0);
	node->join.forced = true;
	node->may_be_refused = true;
	wh_join_begin(&node->join);
	for (int i = 0; i < 10; i++)
		(void)wh_join_step(&node->join);
	ck_assert(node->is_refused);
	ck_assert_ptr_null(node->opened);
	free_world(w);
}

/* Nobody that comes into a group, or is in one, promises anything. */
TEST_LOOP(a_member_is_not_asked, 0, 2)
{
	struct world *w = world_of(3, 1300 + (uint64_t)_i);
	const struct wh_wire ask = {.kind = WH_WIRE_ASK, .key = 0x12300};

	for (uint32_t id = 0; id < 3; id++)
		start_node(w, id);
	run_until(w, 3);
	w->node[1].join.state = WH_JOIN_IN;
	ck_assert(wh_join_on_message(&w->node[1].join, 0, &ask));
	ck_assert_uint_eq(w->node[1].restart.voices[0].asked, 0);
	free_world(w);
}

/* A disk promises no less than it has. */
TEST(it_has_promised_more)
{
	struct world *w = world_of(3, 1350);
	struct lab_node *node = &w->node[1];
	struct wh_wire ask = {.kind = WH_WIRE_ASK, .key = 0x12300};

	node->disk.standing.promised = 0x12300;
	start_node(w, 0);
	start_node(w, 1);
	link_nodes(w, 0, 1);
	for (int i = 0; i < 3; i++) {
		ask.key = 0x12200 + 0x100 * (uint64_t)i;
		ck_assert(wh_restart_on_message(&node->join, 0, &ask));
		ck_assert_uint_eq(node->restart.voices[0].asked, i == 2 ? ask.key : 0);
	}
	free_world(w);
}

/* Bytes that are no report, or no agreement, in the place of one. */
TEST_LOOP(what_no_node_can_say, 0, 2)
{
	struct world *w = world_of(3, 1400 + (uint64_t)_i);
	unsigned char junk[40] = {0};
	struct wh_wire message = {.kind = WH_WIRE_AGREE, .total = sizeof(junk), .bytes = sizeof(junk), .piece = junk};
	struct lab_node *node = &w->node[2];

	for (uint32_t id = 0; id < 3; id++)
		start_node(w, id);
	for (int i = 0; i < 100000 && (node->restart.voices[0].follows == 0 || node->restart.voices[0].has_agreement);
	     i++)
		go_round(w);
	ck_assert_uint_ne(node->restart.voices[0].follows, 0);
	message.key = node->restart.voices[0].follows;
	ck_assert(wh_restart_on_message(&node->join, 1, &message)); /* not its coordinator: not even looked at */
	ck_assert(!wh_restart_on_message(&node->join, node->restart.voices[0].by, &message));
	message.kind = WH_WIRE_STANDING;
	ck_assert(wh_restart_on_message(&node->join, 0, &message)); /* it coordinates nothing */
	free_world(w);
}

TEST_SUITE("restart")
