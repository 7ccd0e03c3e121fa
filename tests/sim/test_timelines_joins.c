/* test_timelines_joins.c - groups that begin, grow and shrink, each told as a story with what is expected when. */
#include "tests/sim/timeline.h"

/* A death that is noticed takes no failure time-out: the transport tells, some time (at most a time-out) later. */
#define NOTICED_MS TIMEOUT_MS
/* Nobody hears it: the last heartbeat may be a quarter old, and the look that finds it overdue another quarter late. */
#define UNHEARD_MS (TIMEOUT_MS + 2 * TIMEOUT_MS / 4)
/* A change of view takes a few messages and passes, and a pass of a slow node some milliseconds. */
#define CHANGE_MS 60
/* A newcomer meets the others first, and a leader looks for newcomers with each heartbeat. */
#define JOIN_MS (CHANGE_MS + TIMEOUT_MS + ASK_AGAIN_MS)
#define ASK_AGAIN_MS 100 /* if the node it asks is not the leader any more */
#define RESTORE_MS 200
/* A leader waits for a newcomer as long as for a member. */
#define GIVEN_UP_MS (UNHEARD_MS + CHANGE_MS)

static const enum wh_moment entry_moments[] = {WH_MOMENT_MET,   WH_MOMENT_INVITED, WH_MOMENT_THERE,
					       WH_MOMENT_BEGUN, WH_MOMENT_RESTORE, WH_MOMENT_RESTORED};
#define ENTRY_MOMENTS (sizeof(entry_moments) / sizeof(entry_moments[0]))

/* ---- first views ----------------------------------------------------------------------------------------------------------- */

/* Started at any time within a while, they form one group. */
START_TEST(eight_that_start_together_form_one_group)
{
	FOREACH_SEED(t)
	{
		begin_group(
			t, (&(struct group){.nodes = 8, .messages = 10, .spread_ns = 30 * WH_NS_PER_MS, .early = true}),
			NULL);
		expect_view(t, 30 + JOIN_MS, 0, "0,1,2,3,4,5,6,7");
		end(t);
	}
}
END_TEST

/* The nodes that are there wait for the others, but not for ever. */
START_TEST(more_than_half_begin_without_the_others)
{
	FOREACH_SEED(t)
	{
		begin_group(t,
			    (&(struct group){.nodes = 5,
					     .ids = 5,
					     .start_timeout_ms = 200,
					     .messages = 60,
					     .disks = true,
					     .early = true}),
			    "join 1 at 500 ms", "join 4 at 500 ms");
		until(t, 199);
		ck_assert_ptr_null(t->play->views);
		expect_view(t, 200 + JOIN_MS, 0, "0,2,3");
		expect_view(t, 500 + 2 * JOIN_MS, ANY, "0,1,2,3,4");
		expect_state(t, 500 + 2 * JOIN_MS + RESTORE_MS, "1,4");
		end(t);
	}
}
END_TEST

/* Long after they have started, and so looked around: a node that waits says so at once to a node that it meets, and is invited in
 * the same pass. The invitation must not overtake what the other says of itself: it would be for no node, until the time-out. */
START_TEST(a_node_that_comes_late_is_not_late_for_the_first_view)
{
	FOREACH_SEED(t)
	{
		begin_group(t,
			    (&(struct group){
				    .nodes = 2, .ids = 2, .start_timeout_ms = 1000, .messages = 20, .early = true}),
			    "join 0 at 3000 ms");
		until(t, 2999);
		ck_assert_ptr_null(t->play->views);
		expect_view(t, 3000 + JOIN_MS, 0, "0,1");
		end(t);
	}
}
END_TEST

/* Two of four are no strict majority, whichever node breaks ties. */
START_TEST(half_of_them_do_not)
{
	FOREACH_SEED(t)
	{
		begin_group(t,
			    (&(struct group){.nodes = 4,
					     .ids = 4,
					     .tie_breaker = "0",
					     .start_timeout_ms = 50,
					     .messages = 60,
					     .disks = true,
					     .early = true}),
			    "join 1 at 400 ms", "join 3 at 800 ms");
		until(t, 399);
		ck_assert_ptr_null(t->play->views);
		expect_view(t, 400 + JOIN_MS, ANY, "0,1,2");
		expect_view(t, 800 + JOIN_MS, ANY, "0,1,2,3");
		end(t);
	}
}
END_TEST

START_TEST(a_node_that_dies_while_the_group_forms_is_not_waited_for)
{
	FOREACH_SEED(t)
	{
		begin_group(t,
			    (&(struct group){.nodes = 4,
					     .ids = 4,
					     .start_timeout_ms = 50,
					     .messages = 20,
					     .disks = true,
					     .early = true}),
			    "crash 2 silently at 0 ms");
		expect_view(t, 50 + 2 * GIVEN_UP_MS, ANY, "0,1,3");
		end(t);
	}
}
END_TEST

/* It is alone at first; a view takes in at most one of one, one of two, two of three, and so on. */
START_TEST(a_founder_and_seven_others)
{
	FOREACH_SEED(t)
	{
		begin_group(t, (&(struct group){.nodes = 8, .ids = 8, .founder = "3", .messages = 10, .early = true}),
			    NULL);
		expect_view(t, 5 * JOIN_MS, ANY, "0,1,2,3,4,5,6,7");
		ck_assert_uint_ge(t->play->views->number, 4);
		expect_state(t, 5 * JOIN_MS + RESTORE_MS, "0,1,2,3,4,5,6,7");
		end(t);
	}
}
END_TEST

/* ---- a node comes ---------------------------------------------------------------------------------------------------------- */

/* At once: it asks the leader as soon as it knows which node that is. */
START_TEST(a_node_joins_an_idle_group)
{
	FOREACH_SEED(t)
	{
		begin_group(t, (&(struct group){.nodes = 4, .ids = 5, .messages = 0}), "join 4 at 30 ms");
		expect_view(t, 30 + CHANGE_MS, 1, "0,1,2,3,4");
		expect_state(t, 30 + CHANGE_MS + RESTORE_MS, "4");
		end(t);
	}
}
END_TEST

START_TEST(a_node_joins_a_busy_group)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 4, 5, "join 4 at 60 ms");
		expect_view(t, 60 + JOIN_MS, 1, "0,1,2,3,4");
		expect_state(t, 60 + JOIN_MS + RESTORE_MS, "4");
		end(t);
	}
}
END_TEST

/* The first member that it meets may be any: the leader is not the lowest id any more. */
START_TEST(a_node_that_joins_asks_whichever_member_leads)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 4, 5, "crash 0 at 30 ms", "slow 1 to 4 by 20 for 30 ms at 199 ms", "join 4 at 200 ms");
		expect_view(t, 200 + 2 * JOIN_MS, 2, "1,2,3,4");
		end(t);
	}
}
END_TEST

START_TEST(two_join_at_once)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 3, 5, "join 3 at 30 ms", "join 4 at 30 ms");
		expect_view(t, 30 + 2 * JOIN_MS, ANY, "0,1,2,3,4");
		ck_assert_uint_le(t->play->views->number, 2);
		expect_state(t, 30 + 2 * JOIN_MS + RESTORE_MS, "3,4");
		end(t);
	}
}
END_TEST

/* With one of the members: nobody takes it in as long as that lasts, and nobody is the worse for it. */
START_TEST(it_is_cut_off_from_one)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 4, 5, "cut 4 and 2 for 200 ms at 29 ms", "join 4 at 30 ms");
		until(t, 228);
		ck_assert_uint_eq(t->play->at[0]->view->number, 0);
		expect_view(t, 229 + GIVEN_UP_MS + 2 * JOIN_MS, ANY, "0,1,2,3,4");
		end(t);
	}
}
END_TEST

/* Before it is a member the others go on sending while it stands still. */
START_TEST(a_node_that_stands_still_while_it_joins_holds_up_nobody)
{
	static const char *const stalls[] = {"stall 4 for 150 ms at met 1", "stall 4 for 150 ms at invited 1"};

	for (size_t i = 0; i < 2; i++)
		FOREACH_SEED(t)
		{
			begin_growing(t, 4, 5, "join 4 at 30 ms", stalls[i]);
			for (uint32_t node = 0; node < 4; node++)
				t->play->at[node]->apps[0].stream->pace_ns = 4 * WH_NS_PER_MS;
			until(t, 20);
			expect_flow(t, 180, 0, 35);
			expect_view(t, 180 + GIVEN_UP_MS + 2 * JOIN_MS, ANY, "0,1,2,3,4");
			end(t);
		}
}
END_TEST

/* At whatever step: the group goes on without it. */
START_TEST(a_newcomer_dies)
{
	for (size_t i = 0; i < 4 * ENTRY_MOMENTS; i++)
		FOREACH_SEED(t)
		{
			char crash[64];

			snprintf(crash, sizeof(crash), "crash 4%s %s %s 1", i % 2 ? " silently" : "",
				 i % 4 > 1 ? "after" : "at", wh_moment_word(entry_moments[i / 4]));
			begin_growing(t, 4, 5, "join 4 at 30 ms", crash);
			until(t, 30 + JOIN_MS + RESTORE_MS + GIVEN_UP_MS + 2 * CHANGE_MS);
			for (uint32_t node = 0; node < 4; node++)
				ck_assert_uint_eq(view_of(t, node)->ids, set_of("0,1,2,3"));
			end(t);
		}
}
END_TEST

/* ---- letting it in --------------------------------------------------------------------------------------------------------- */

/* At whatever step of letting it in: the next leader goes on, or begins anew. */
START_TEST(the_leader_dies_while_somebody_comes)
{
	static const char *const crashes[] = {
		"crash 0 at propose 1",   "crash 0 after propose 1",        "crash 0 at acknowledge 1",
		"crash 0 at wedge 1",     "crash 0 silently after wedge 1", "crash 0 at decide 1",
		"crash 0 after decide 1", "crash 0 at install 1",           "crash 0 silently after install 1",
	};

	for (size_t i = 0; i < sizeof(crashes) / sizeof(crashes[0]); i++)
		FOREACH_SEED(t)
		{
			begin_growing(t, 4, 5, "join 4 at 30 ms", crashes[i]);
			expect_view(t, 30 + JOIN_MS + UNHEARD_MS + 2 * CHANGE_MS + 2 * JOIN_MS, ANY, "1,2,3,4");
			end(t);
		}
}
END_TEST

/* The next one gives the state; if that dies too, the one after it. */
START_TEST(the_next_member_gives_the_state_when_the_giver_dies)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 5, 6, "join 5 at 30 ms", "crash 0 after give 1", "crash 1 at give 1");
		expect_view(t, 30 + JOIN_MS + 2 * (NOTICED_MS + CHANGE_MS) + RESTORE_MS, ANY, "2,3,4,5");
		expect_state(t, 3000, "5");
		end(t);
	}
}
END_TEST

static bool has_begun(const struct timeline *t, uint32_t node)
{
	return view_of(t, node) != NULL;
}

/* In some of the seeds it is asked before its own view begins, of which it hears last. It answers when that has begun: the newcomer
 * would ask again only when two time-outs are over. */
START_TEST(the_node_that_is_asked_for_the_state_hears_of_the_view_last)
{
	FOREACH_SEED(t)
	{
		uint64_t begun_ms;

		begin_growing(t, 4, 5, "join 4 at 30 ms", "slow 0,2,3 to 1 by 1500 for 300 ms at 29 ms",
			      "crash 0 at give 1");
		by(t, 400, has_begun, set_of("4"), "a newcomer is not in the group yet");
		begun_ms = (wh_sim_now(t->play->sim) - t->play->met_ns) / WH_NS_PER_MS;
		expect_state(t, begun_ms + NOTICED_MS + 35, "4");
		end(t);
	}
}
END_TEST

/* Failures come first: the newcomer comes in the view after. */
START_TEST(somebody_dies_while_somebody_comes)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 5, 6, "join 5 at 30 ms", "crash 3 at acknowledge 1");
		expect_view(t, 30 + JOIN_MS + NOTICED_MS + 2 * CHANGE_MS + JOIN_MS, ANY, "0,1,2,4,5");
		end(t);
	}
}
END_TEST

/* Node 1 has agreed to the next view, does not hear that 2 has, and hears of neither again; alone it is no quorum here. But 3,
 * which came in with them, has begun that view: so it was decided, and there they are enough. */
START_TEST(members_that_went_ahead_die_and_a_newcomer_shows_that_the_view_has_begun)
{
	FOREACH_SEED(t)
	{
		begin_group(t, (&(struct group){.nodes = 3, .ids = 4, .tie_breaker = "1", .messages = 20}),
			    "slow 2 to 1 by 2500 for 300 ms at 29 ms", "join 3 at 30 ms",
			    "crash 2 silently after echo 1", "crash 0 silently at install 1");
		expect_view(t, 30 + JOIN_MS + 2 * (UNHEARD_MS + CHANGE_MS), 2, "1,3");
		end(t);
	}
}
END_TEST

/* The same, and 0 has said that 2 has failed. Node 1 stood still meanwhile: it hears no quorum with which it could say so too. In a
 * seed or two nobody has shown node 3 that the view has begun: then nobody knows, and nobody may go on. */
START_TEST(a_member_that_can_say_nothing_follows_a_newcomer)
{
	unsigned came_in = 0;

	FOREACH_SEED(t)
	{
		begin_group(t, (&(struct group){.nodes = 3, .ids = 4, .tie_breaker = "1", .messages = 20}),
			    "join 3 at 30 ms", "crash 2 at echo 1", "stall 1 for 150 ms after echo 1",
			    "crash 0 silently at install 1");
		until(t, 30 + JOIN_MS);
		if (view_of(t, 3) != NULL) {
			came_in++;
			expect_view(t, 30 + JOIN_MS + 150 + 2 * (UNHEARD_MS + CHANGE_MS), 2, "1,3");
		}
		end(t);
	}
	ck_assert_uint_ge(came_in, SEEDS - 2);
}
END_TEST

/* ---- a node comes back ----------------------------------------------------------------------------------------------------- */

static void expect_lives(const struct timeline *t, uint32_t node, const char *name)
{
	ck_assert_str_eq(t->play->at[node]->name, name);
}

/* The old life goes, then the new one comes in. */
START_TEST(a_node_is_restarted)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 4, 4, "crash 2 at 30 ms", "return 2 at 200 ms");
		expect_view(t, 30 + NOTICED_MS + CHANGE_MS, 1, "0,1,3");
		expect_view(t, 200 + JOIN_MS, 2, "0,1,2,3");
		expect_lives(t, 2, "node 2 (life 2)");
		expect_state(t, 200 + JOIN_MS + RESTORE_MS, "2");
		end(t);
	}
}
END_TEST

/* Nobody has noticed that it was gone when it is there again. */
START_TEST(it_is_back_before_its_death_is_noticed)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 4, 4, "crash 2 silently at 30 ms", "return 2 at 30.5 ms");
		expect_view(t, 30 + UNHEARD_MS + CHANGE_MS + 2 * JOIN_MS, 2, "0,1,2,3");
		expect_lives(t, 2, "node 2 (life 2)");
		end(t);
	}
}
END_TEST

START_TEST(it_is_restarted_again_and_again)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 4, 4, "return 0 at 30 ms", "return 0 at 60 ms", "return 0 at 80 ms",
			      "return 0 at 81 ms");
		until(t, 82);
		expect_view(t, 81 + UNHEARD_MS + CHANGE_MS + 3 * JOIN_MS, ANY, "0,1,2,3");
		expect_lives(t, 0, "node 0 (life 5)");
		end(t);
	}
}
END_TEST

START_TEST(a_node_that_left_in_order_comes_back)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 3, 3, "leave 1 at 30 ms", "return 1 at 300 ms");
		expect_view(t, 300, 1, "0,2");
		expect_view(t, 300 + JOIN_MS, 2, "0,1,2");
		expect_state(t, 300 + JOIN_MS + RESTORE_MS, "1");
		end(t);
	}
}
END_TEST

/* Without more than half of the last view nobody is let in: what it decided could be forgotten. */
START_TEST(a_minority_lets_nobody_in)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 3, 3, "crash 0 at 30 ms", "crash 1 at 30 ms", "return 0 at 60 ms",
			      "return 1 at 60 ms");
		until(t, 1000);
		ck_assert_uint_eq(t->play->at[2]->view->number, 0);
		ck_assert_ptr_null(view_of(t, 0));
		ck_assert_ptr_null(view_of(t, 1));
		end(t);
	}
}
END_TEST

/* ---- a node rests ---------------------------------------------------------------------------------------------------------- */

static bool rests(const struct timeline *t, uint32_t node)
{
	return wh_shard_sender(&view_of(t, node)->shards[0], 1) < 0;
}

static bool sends(const struct timeline *t, uint32_t node)
{
	return !rests(t, node);
}

/* A view without it as a sender, and one with it. */
START_TEST(a_sender_rests_and_comes_back)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 3, 4, "rest 1 for 150 ms at 30 ms");
		by(t, 30 + JOIN_MS, rests, set_of("0,1,2"), "a sender does not rest yet");
		until(t, 179);
		ck_assert(rests(t, 0));
		by(t, 180 + JOIN_MS, sends, set_of("0,1,2"), "a sender is not back yet");
		ck_assert_uint_eq(t->play->views->number, 2);
		end(t);
	}
}
END_TEST

/* The same, because another member has asked it to. */
START_TEST(a_sender_is_asked_to_rest)
{
	FOREACH_SEED(t)
	{
		begin_growing(t, 3, 4, NULL);
		until(t, 30);
		ck_assert_int_eq(whorl_request_pause(t->play->at[2]->apps[0].subgroup, 1, true), WHORL_OK);
		by(t, 30 + JOIN_MS, rests, set_of("0,1,2"), "a sender does not rest yet");
		until(t, 250);
		ck_assert_int_eq(whorl_request_pause(t->play->at[2]->apps[0].subgroup, 1, false), WHORL_OK);
		by(t, 250 + JOIN_MS, sends, set_of("0,1,2"), "a sender is not back yet");
		ck_assert_int_eq(whorl_request_pause(t->play->at[2]->apps[0].subgroup, 3, true), WHORL_NOT_FOUND);
		end(t);
	}
}
END_TEST

Suite *suite(void)
{
	Suite *all = suite_create("joins");
	TCase *cases = tcase_create("joins"), *following = tcase_create("following");

	tcase_set_timeout(cases, 60);
	tcase_set_timeout(following, 60);
	tcase_add_test(cases, eight_that_start_together_form_one_group);
	tcase_add_test(cases, more_than_half_begin_without_the_others);
	tcase_add_test(cases, a_node_that_comes_late_is_not_late_for_the_first_view);
	tcase_add_test(cases, half_of_them_do_not);
	tcase_add_test(cases, a_node_that_dies_while_the_group_forms_is_not_waited_for);
	tcase_add_test(cases, a_founder_and_seven_others);
	tcase_add_test(cases, a_node_joins_an_idle_group);
	tcase_add_test(cases, a_node_joins_a_busy_group);
	tcase_add_test(cases, a_node_that_joins_asks_whichever_member_leads);
	tcase_add_test(cases, two_join_at_once);
	tcase_add_test(cases, it_is_cut_off_from_one);
	tcase_add_test(cases, a_node_that_stands_still_while_it_joins_holds_up_nobody);
	tcase_add_test(cases, a_newcomer_dies);
	tcase_add_test(cases, the_leader_dies_while_somebody_comes);
	tcase_add_test(cases, the_next_member_gives_the_state_when_the_giver_dies);
	tcase_add_test(following, the_node_that_is_asked_for_the_state_hears_of_the_view_last);
	tcase_add_test(cases, somebody_dies_while_somebody_comes);
	tcase_add_test(cases, members_that_went_ahead_die_and_a_newcomer_shows_that_the_view_has_begun);
	tcase_add_test(following, a_member_that_can_say_nothing_follows_a_newcomer);
	tcase_add_test(cases, a_node_is_restarted);
	tcase_add_test(cases, it_is_back_before_its_death_is_noticed);
	tcase_add_test(cases, it_is_restarted_again_and_again);
	tcase_add_test(cases, a_node_that_left_in_order_comes_back);
	tcase_add_test(cases, a_minority_lets_nobody_in);
	tcase_add_test(cases, a_sender_rests_and_comes_back);
	tcase_add_test(cases, a_sender_is_asked_to_rest);
	suite_add_tcase(all, cases);
	suite_add_tcase(all, following);
	return all;
}

int main(void)
{
	return test_main(suite());
}
