/* test_timelines.c - changes of view, one after the other, with what is expected when: the failures that the protocol is
 * made for, each told as a story. */
#include "tests/sim/timeline.h"

/* A death that is noticed takes no failure time-out: the transport tells, some time (at most a time-out) later. */
#define NOTICED_MS TIMEOUT_MS
/* Nobody hears it: the last heartbeat may be a quarter old, and the look that finds it overdue another quarter late. */
#define UNHEARD_MS (TIMEOUT_MS + 2 * TIMEOUT_MS / 4)
/* A change of view takes a few messages and passes, and a pass of a slow node some milliseconds. */
#define CHANGE_MS 60

/* ---- deaths ---------------------------------------------------------------------------------------------------------------- */

TEST_CASE("timelines", .timeout_s = 60);

TEST(a_follower_dies)
{
	FOREACH_SEED(t)
	{
		begin(t, 4, "crash 2 at 30 ms");
		expect_view(t, 30 + NOTICED_MS + CHANGE_MS, 1, "0,1,3");
		end(t);
	}
}

TEST(the_leader_dies)
{
	FOREACH_SEED(t)
	{
		begin(t, 4, "crash 0 at 30 ms");
		expect_view(t, 30 + NOTICED_MS + CHANGE_MS, 1, "1,2,3");
		end(t);
	}
}

TEST(a_machine_loses_its_power)
{
	FOREACH_SEED(t)
	{
		begin(t, 3, "crash 1 silently at 30 ms");
		until(t, 30 + TIMEOUT_MS * 3 / 4);
		ck_assert_uint_eq(t->play->actors[0].view->number, 0);
		expect_view(t, 30 + UNHEARD_MS + CHANGE_MS, 1, "0,2");
		end(t);
	}
}

/* The first leader dies; the node that takes over dies just before it decides. */
TEST(the_next_leader_dies_as_well)
{
	FOREACH_SEED(t)
	{
		begin(t, 5, "crash 0 at 30 ms", "crash 1 at decide 1");
		expect_view(t, 30 + 2 * (NOTICED_MS + CHANGE_MS), 1, "2,3,4");
		end(t);
	}
}

/* It has decided, and its words may have come to some and not to others: the next leader makes the same decision, and it
 * takes one view more to be rid of it. */
TEST(the_leader_dies_with_its_decision_on_the_way)
{
	FOREACH_SEED(t)
	{
		begin(t, 5, "crash 4 at 30 ms", "crash 0 at install 1");
		expect_view(t, 30 + 2 * (NOTICED_MS + CHANGE_MS), 2, "1,2,3");
		end(t);
	}
}

/* The same, seen closely: a member that is dead in a view from its beginning is out of the next at once, not after a time-out. */
TEST(a_member_that_is_dead_when_a_view_begins_is_out_of_the_next_at_once)
{
	uint32_t times = 0;

	FOREACH_SEED(t)
	{
		uint64_t began_ns;

		begin(t, 5, "crash 4 at 30 ms", "crash 0 after decide 1");
		while (t->play->actors[1].view->number == 0)
			ck_assert(wh_play_step(t->play, t->play->met_ns + 1000 * WH_NS_PER_MS));
		began_ns = wh_sim_now(t->play->sim);
		if (t->play->actors[1].view->ids == set_of("0,1,2,3")) {
			while (t->play->actors[1].view->number == 1)
				ck_assert(wh_play_step(t->play, t->play->met_ns + 1000 * WH_NS_PER_MS));
			ck_assert_uint_lt(wh_sim_now(t->play->sim) - began_ns, TIMEOUT_MS * WH_NS_PER_MS / 2);
			times++;
		}
		end(t);
	}
	ck_assert_uint_gt(times, 0);
}

TEST(two_die_at_once)
{
	FOREACH_SEED(t)
	{
		begin(t, 5, "crash 1 at 30 ms", "crash 3 at 30 ms");
		until(t, 30 + 2 * (NOTICED_MS + CHANGE_MS));
		ck_assert_uint_eq(t->play->actors[0].view->ids, set_of("0,2,4"));
		end(t);
	}
}

/* ---- cuts ------------------------------------------------------------------------------------------------------------------ */

/* The majority goes on; the minority waits, and when the cut is healed it learns that it was removed. */
TEST(a_minority_is_cut_off)
{
	FOREACH_SEED(t)
	{
		begin(t, 5, "cut 0,1 and 2,3,4 for 300 ms at 30 ms");
		expect_view(t, 30 + UNHEARD_MS + CHANGE_MS, 1, "2,3,4");
		expect_no_quorum(t, 300, "0,1");
		expect_removed(t, 330 + CHANGE_MS, "0,1");
		end(t);
	}
}

/* Nobody may go on without the others: there is no view while they are apart. Afterwards all go on, unless somebody, the first
 * to miss another and still hearing the rest, has said so. */
TEST(two_halves)
{
	FOREACH_SEED(t)
	{
		begin(t, 4, "cut 0,1 and 2,3 for 200 ms at 30 ms");
		expect_no_quorum(t, 200, "0,1,2,3");
		until(t, 229);
		for (uint32_t node = 0; node < 4; node++)
			ck_assert_uint_eq(t->play->actors[node].view->number, 0);
		end(t);
	}
}

/* ---- cuts that are longer than connections hold -------------------------------------------------------------------------------- */

#define begin_cut(t, count, ms, ...)                                                                                   \
	begin_group(t, (&(struct group){.nodes = count, .messages = 60, .cut_max_ms = ms}), __VA_ARGS__)

static void expect_given_up(struct timeline *t, uint64_t ms, const char *nodes)
{
	by(t, ms, has_given_up, set_of(nodes), "a node waits for a quorum that it will never hear");
}

/* Node 2 loses its connections, for good, while it is cut off: nobody can tell it that the others go on. */
TEST(one_that_is_cut_off_for_good_gives_up)
{
	FOREACH_SEED(t)
	{
		begin_cut(t, 3, 200, "cut 2 and 0,1 for 600 ms at 30 ms", "break 2 with 0,1 at 150 ms");
		expect_view(t, 30 + UNHEARD_MS + CHANGE_MS, 1, "0,1");
		until(t, 220);
		ck_assert(has_no_quorum(t, 2));
		expect_given_up(t, 230 + UNHEARD_MS + CHANGE_MS, "2");
		end(t);
	}
}

/* All from each other: nobody has removed another, and none ever can go on. */
TEST(all_that_are_cut_from_each_other_give_up)
{
	FOREACH_SEED(t)
	{
		begin_cut(t, 3, 200, "cut 0 and 1,2 for 300 ms at 30 ms", "cut 1 and 2 for 300 ms at 30 ms",
			  "break 0 with 1,2 at 150 ms", "break 1 with 2 at 150 ms");
		until(t, 220);
		for (uint32_t node = 0; node < 3; node++)
			ck_assert(has_no_quorum(t, node));
		expect_given_up(t, 230 + UNHEARD_MS + CHANGE_MS, "0,1,2");
		end(t);
	}
}

/* One is dead, and one stands still for long: with that one it goes on when it wakes. */
TEST(one_that_may_hear_a_quorum_again_waits)
{
	FOREACH_SEED(t)
	{
		begin_cut(t, 3, 100, "crash 2 at 30 ms", "stall 1 for 500 ms at 31 ms");
		expect_no_quorum(t, 30 + UNHEARD_MS + NOTICED_MS, "0");
		until(t, 529);
		ck_assert(has_no_quorum(t, 0));
		expect_view(t, 531 + UNHEARD_MS + CHANGE_MS, 1, "0,1");
		end(t);
	}
}

/* The survivor of three of which two have died. */
TEST(the_last_that_is_no_quorum_gives_up)
{
	FOREACH_SEED(t)
	{
		begin_cut(t, 3, 200, "crash 1 at 30 ms", "crash 2 at 30 ms");
		until(t, 200);
		ck_assert(has_no_quorum(t, 0));
		expect_given_up(t, 230 + NOTICED_MS + CHANGE_MS, "0");
		end(t);
	}
}

/* Nobody hears node 0, which hears all: it is told. */
TEST(nobody_hears_the_leader)
{
	FOREACH_SEED(t)
	{
		begin(t, 4, "cut 0 from 1,2,3 for 300 ms at 30 ms");
		expect_view(t, 30 + UNHEARD_MS + CHANGE_MS, 1, "1,2,3");
		expect_removed(t, 30 + UNHEARD_MS + CHANGE_MS, "0");
		end(t);
	}
}

/* Node 2 hears nobody, and all hear it: it may not suspect all others. */
TEST(a_member_is_deaf)
{
	FOREACH_SEED(t)
	{
		begin(t, 4, "cut 0,1,3 from 2 for 200 ms at 30 ms");
		expect_no_quorum(t, 30 + UNHEARD_MS + CHANGE_MS, "2");
		end(t);
	}
}

/* ---- a node stands still ---------------------------------------------------------------------------------------------------- */

/* It wakes in a world that has gone on without it, although nothing is wrong with it: it learns that, and is quiet. */
TEST(a_member_that_was_stopped_returns)
{
	FOREACH_SEED(t)
	{
		uint64_t before;

		begin(t, 4, "stall 2 for 200 ms at 30 ms");
		expect_view(t, 30 + UNHEARD_MS + CHANGE_MS, 1, "0,1,3");
		before = delivered(t, 2);
		expect_removed(t, 230 + CHANGE_MS, "2");
		ck_assert_uint_le(delivered(t, 2), delivered(t, 0));
		ck_assert_uint_ge(delivered(t, 2), before);
		end(t);
	}
}

TEST(a_short_stall_changes_nothing)
{
	FOREACH_SEED(t)
	{
		begin(t, 4, "stall 0 for 20 ms at 30 ms", "stall 1 for 20 ms at 80 ms");
		until(t, 150);
		ck_assert_uint_eq(t->play->actors[3].view->number, 0);
		end(t);
	}
}

/* All stand still for longer than the time-out, as in a virtual machine that is saved: none accuses another, not even the one
 * that is the last to wake. */
TEST(all_stand_still)
{
	FOREACH_SEED(t)
	{
		begin(t, 3, "stall 0 for 200 ms at 30 ms", "stall 1 for 205 ms at 30 ms",
		      "stall 2 for 225 ms at 30 ms");
		until(t, 400);
		for (uint32_t node = 0; node < 3; node++)
			ck_assert_uint_eq(t->play->actors[node].view->number, 0);
		end(t);
	}
}

/* ---- two nodes, and the last of many ---------------------------------------------------------------------------------------- */

TEST(of_two_the_tie_breaker_goes_on)
{
	FOREACH_SEED(t)
	{
		begin_with(t, 2, "0", "crash 1 at 30 ms");
		expect_view(t, 30 + NOTICED_MS + CHANGE_MS, 1, "0");
		end(t);
	}
}

TEST(of_two_the_other_waits)
{
	FOREACH_SEED(t)
	{
		begin_with(t, 2, "0", "crash 0 at 30 ms");
		expect_no_quorum(t, 30 + NOTICED_MS + CHANGE_MS, "1");
		until(t, 500);
		ck_assert_uint_eq(t->play->actors[1].view->number, 0);
		end(t);
	}
}

/* One after the other, down to the last two: with each view the majority is counted anew. */
TEST(down_to_two)
{
	FOREACH_SEED(t)
	{
		begin(t, 5, "crash 0 at 30 ms", "crash 1 at 200 ms", "crash 2 at 400 ms", "crash 3 at 600 ms");
		expect_view(t, 200, 1, "1,2,3,4");
		expect_view(t, 400, 2, "2,3,4");
		expect_view(t, 600, 3, "3,4");
		expect_no_quorum(t, 800, "4");
		end(t);
	}
}

/* ---- order ------------------------------------------------------------------------------------------------------------------- */

/* It has said all, and all of it is delivered: a view without it, and nobody was frightened. */
TEST(a_member_leaves)
{
	FOREACH_SEED(t)
	{
		begin(t, 4, "leave 1 at 30 ms");
		expect_view(t, 200, 1, "0,2,3");
		ck_assert(t->play->actors[1].drained);
		end(t);
	}
}

TEST(one_after_the_other_leaves)
{
	FOREACH_SEED(t)
	{
		begin(t, 3, "leave 0 at 30 ms", "leave 1 at 250 ms");
		expect_view(t, 250, 1, "1,2");
		expect_view(t, 500, 2, "2");
		end(t);
	}
}

TEST_SUITE("timelines")

int main(void)
{
	return test_main(suite());
}
