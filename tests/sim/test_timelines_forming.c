/* test_timelines_forming.c - when a group may be formed, and that there are never two (docs/decisions/0032), told as stories. */
#include "tests/sim/timeline.h"

#define CHANGE_MS 400 /* a failure is noticed, and the view changes */
#define START_MS 100
#define JOIN_MS 1000 /* a cut has healed, and newcomers come in */

static struct group group_of(uint32_t nodes, uint32_t ids)
{
	return (struct group){
		.nodes = nodes, .ids = ids, .start_timeout_ms = START_MS, .messages = 40, .restarts_form = true};
}

static bool has_a_view(const struct timeline *t, const char *nodes)
{
	for (uint32_t node = 0; node < t->play->nodes; node++)
		if ((set_of(nodes) >> node & 1) != 0 && view_of(t, node) != NULL)
			return true;
	return false;
}

static void expect_words(const struct timeline *t, uint32_t node, const char *words)
{
	char text[256];

	whorl_progress(t->play->at[node]->node, text, sizeof(text));
	ck_assert_msg(strstr(text, words) != NULL, "seed %" PRIu64 ": node %u says \"%s\", expected \"%s\"", t->seed,
		      node, text, words);
}

/* Until then the run has gone on, and after that it has ended, because another group was formed and the first was over. */
static void expect_another_group(struct timeline *t, uint64_t from_ms, uint64_t by_ms)
{
	until(t, from_ms);
	ck_assert_msg(!t->play->extinct, "seed %" PRIu64 ": there is another group too early", t->seed);
	until(t, by_ms);
	ck_assert_msg(t->play->extinct, "seed %" PRIu64 ": no other group was formed", t->seed);
}

/* ---- on a network, without a disk ------------------------------------------------------------------------------------------ */

TEST_CASE("forming", .timeout_s = 120);

/* Three of five fail in turn, the other two go on. A cut parts these from the three, which are started again: a majority of the
 * configured nodes. They wait, and join when the cut has healed. */
TEST_LOOP(a_majority_that_comes_back_behind_a_cut_waits, 0, 2)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(5, 5);

		group.disks = _i == 1; /* then they know that they have been in a group */
		begin_group(t, &group, "crash 4 at 30 ms", "crash 3 at 430 ms", "crash 2 at 830 ms",
			    "cut 0,1 and 2,3,4 for 2500 ms at 1300 ms", "return 2 at 1400 ms", "return 3 at 1410 ms",
			    "return 4 at 1420 ms");
		expect_view(t, 830 + CHANGE_MS, 3, "0,1");
		until(t, 3700);
		ck_assert(!has_a_view(t, "2,3,4"));
		expect_words(t, 3, _i == 1 ? "so it takes all of them" : "missing: 0 1");
		expect_view(t, 3800 + JOIN_MS, ANY, "0,1,2,3,4");
		end(t);
	}
}

/* It stands still, invited, for longer than the other keeps its promise. Then it begins the view alone, and says that it hears no
 * quorum; the other could form a group only with it. A shorter time harms none. */
TEST_LOOP(a_promise_is_kept_for_four_time_outs, 0, 2)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(2, 2);
		bool kept = _i == 0;

		group.early = true;
		begin_group(t, &group,
			    kept ? "stall 1 for 390 ms after invited 1" : "stall 1 for 410 ms after invited 1");
		until(t, 2000);
		ck_assert(has_a_view(t, "1"));
		ck_assert(has_a_view(t, "0") == kept);
		if (!kept)
			expect_no_quorum(t, 2000, "1");
		end(t);
	}
}

/* All configured nodes fail in turn: the two that have joined could go on, were it not that the three may form a group. */
TEST(a_view_has_a_configured_node)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(3, 5);

		begin_group(t, &group, "join 3 at 10 ms", "join 4 at 10 ms", "crash 2 at 1030 ms", "crash 1 at 1430 ms",
			    "crash 0 at 1830 ms", "cut 3,4 and 0,1,2 for 2000 ms at 2400 ms", "return 0 at 2500 ms",
			    "return 1 at 2510 ms", "return 2 at 2520 ms");
		expect_view(t, 1430 + CHANGE_MS, ANY, "0,3,4");
		expect_no_quorum(t, 1830 + CHANGE_MS, "3,4");
		expect_another_group(t, 2519, 2520 + JOIN_MS);
		end(t);
	}
}

/* With no time-out: the last may come long after the others. */
TEST(all_configured_nodes_form_a_group)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(4, 4);

		begin_group(t, &group, "join 1 at 30 ms", "join 3 at 3000 ms");
		until(t, 2999);
		ck_assert_ptr_null(t->play->views);
		expect_words(t, 0, "missing: 3");
		expect_view(t, 3000 + JOIN_MS, 0, "0,1,2,3");
		end(t);
	}
}

/* One of them ends while the others form the group: they wait for its next life. */
TEST_LOOP(one_that_ends_meanwhile_is_waited_for, 0, 2)
{
	static const enum wh_moment moments[] = {WH_MOMENT_INVITED, WH_MOMENT_THERE};

	FOREACH_SEED(t)
	{
		struct group group = group_of(4, 4);
		char crash[64];

		group.early = true;
		snprintf(crash, sizeof(crash), "crash 2 at %s 1", wh_moment_word(moments[_i]));
		begin_group(t, &group, crash, "return 2 at 2000 ms");
		until(t, 1999);
		ck_assert(_i == 1 || t->play->views == NULL);
		if (_i == 0)
			expect_view(t, 2000 + 10 * START_MS + JOIN_MS, ANY, "0,1,2,3");
		else /* it may have begun the view, alone, before it ended: then theirs is another group */
			until(t, 2000 + 10 * START_MS + JOIN_MS);
		ck_assert(t->play->extinct || has_a_view(t, "0"));
		end(t);
	}
}

/* All end and are started again: there is nobody left that the new group could be a second one to. */
TEST_LOOP(after_the_end_of_all_there_is_another_group, 0, 3)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(3, 3);

		group.disks = _i == 1;
		group.one_host = _i == 2;
		begin_group(t, &group, "crash 0 at 30 ms", "crash 1 at 30 ms", "crash 2 at 30 ms", "return 0 at 500 ms",
			    "return 1 at 510 ms", "return 2 at 1520 ms");
		if (_i < 2)
			expect_another_group(t, 1519, 1520 + JOIN_MS);
		else
			expect_another_group(t, 509, 510 + 2 * START_MS + JOIN_MS); /* two are enough */
		end(t);
	}
}

/* ---- with a record on each node's disk ------------------------------------------------------------------------------------- */

/* They begin without one, and two of them fail and come back behind a cut with the one that has never been in: it knows of no group. */
TEST(a_record_tells_which_nodes_have_been_in_a_group)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(4, 4);

		group.disks = true;
		group.early = true;
		begin_group(t, &group, "join 3 at 2600 ms", "cut 0 and 1,2,3 for 3000 ms at 2500 ms",
			    "crash 2 at 1500 ms", "crash 1 at 2000 ms", "return 1 at 2600 ms", "return 2 at 2610 ms");
		expect_view(t, 2 * START_MS + CHANGE_MS, ANY, "0,1,2");
		until(t, 5400);
		ck_assert(!has_a_view(t, "3"));
		end(t);
	}
}

/* A majority may form it, but those that were invited are waited for: one that stands still for longer than the failure time-out, and not
 * for the start time-out, is in the first view, and not suspected in it. */
TEST(a_node_that_was_invited_is_waited_for)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(5, 5);

		group.disks = true;
		group.early = true;
		group.start_timeout_ms = 400;
		begin_group(t, &group, "stall 4 for 150 ms at invited 1");
		expect_view(t, 400, 0, "0,1,2,3,4");
		until(t, 1000);
		ck_assert_uint_eq(view_of(t, 4)->number, 0);
		end(t);
	}
}

/* The founder founds once in its life. */
TEST(a_founder_comes_back_behind_a_cut)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(3, 3);

		group.founder = "0";
		begin_group(t, &group, "crash 0 at 1030 ms", "cut 0 and 1,2 for 2000 ms at 1500 ms",
			    "return 0 at 1600 ms");
		expect_view(t, 1030 + CHANGE_MS, ANY, "1,2");
		until(t, 3400);
		ck_assert(!has_a_view(t, "0"));
		expect_words(t, 0, "it has founded group");
		expect_view(t, 3500 + JOIN_MS, ANY, "0,1,2");
		end(t);
	}
}

/* ---- on one host ------------------------------------------------------------------------------------------------------------ */

/* Three of five are killed in turn, the two that go on stand still, and the three are started again: a majority. They see that two
 * names are held, and wait for as long as it takes. */
TEST(on_one_host_those_that_stand_still_are_waited_for)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(5, 5);

		group.one_host = true;
		begin_group(t, &group, "crash 4 at 30 ms", "crash 3 at 430 ms", "crash 2 at 830 ms",
			    "stall 0 for 3000 ms at 1400 ms", "stall 1 for 3000 ms at 1400 ms", "return 2 at 1500 ms",
			    "return 3 at 1510 ms", "return 4 at 1520 ms");
		expect_view(t, 830 + CHANGE_MS, 3, "0,1");
		until(t, 4300);
		ck_assert(!has_a_view(t, "2,3,4"));
		expect_words(t, 2, "waits for node 0, pid 1, which is there and silent");
		expect_view(t, 4400 + JOIN_MS, ANY, "0,1,2,3,4");
		end(t);
	}
}

/* A name above the configured ones may be a member as well. */
TEST(on_one_host_a_joined_node_is_waited_for_too)
{
	FOREACH_SEED(t)
	{
		struct group group = group_of(3, 4);

		group.one_host = true;
		begin_group(t, &group, "join 3 at 10 ms", "crash 2 at 1030 ms", "crash 1 at 1430 ms",
			    "leave 0 at 1830 ms", "stall 3 for 3000 ms at 2400 ms", "return 0 at 2500 ms",
			    "return 1 at 2510 ms", "return 2 at 2520 ms");
		expect_view(t, 1830 + CHANGE_MS, ANY,
			    "3"); /* no configured node is left, and here there need be none */
		until(t, 5300);
		ck_assert(!has_a_view(t, "0,1,2"));
		expect_words(t, 1, "waits for node 3, pid 4");
		expect_view(t, 5400 + 2 * JOIN_MS, ANY, "0,1,2,3");
		end(t);
	}
}

TEST_SUITE("forming")

int main(void)
{
	return test_main(suite());
}
