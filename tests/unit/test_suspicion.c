/* test_suspicion.c - which members suspect which, when it is said, and when nothing is: one member, the others by hand. */
#include "tests/support/member.h"

static bool is_steady(const struct member *m)
{
	return m->change.suspicion.count == 0 && !m->change.removed;
}

/* No member is suspected, nothing was said. */
static void expect_nothing(struct member *m)
{
	expect_told(m, "");
	ck_assert_uint_eq(m->posted_count, 0);
	ck_assert_uint_eq(m->change.suspicion.count, 0);
	ck_assert(is_steady(m));
}

TEST(silence_is_suspected_after_the_time_out)
{
	struct member *m = member_make(0, 3, -1);

	live(m, 4, "1");
	expect_nothing(m);
	live(m, 1, "1");
	ck_assert_uint_eq(my_suspicion(m, 2), WH_FAILED);
	ck_assert_uint_eq(my_suspicion(m, 1), WH_TRUSTED);
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 1);
	ck_assert(!wh_change_trusts(&m->change, 2));
	ck_assert(!is_steady(m));
	ck_assert(is_frozen(m, 2));
	ck_assert(!is_frozen(m, 1));
	beat(m, 2); /* too late */
	live(m, 4, "12");
	ck_assert(!wh_change_trusts(&m->change, 2));
	member_free(m);
}

TEST(the_transport_says_which_member_is_gone)
{
	struct member *m = member_make(1, 3, -1);

	wh_change_suspect(&m->change, 0, WH_FAILED, "its connection has ended");
	expect_nothing(m);
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 0), WH_FAILED);
	ck_assert(is_frozen(m, 0));
	ck_assert_ptr_nonnull(strstr(m->told, "suspect-0 wedge "));
	/* The list before its count. */
	ck_assert_uint_gt(posted_when(m, m->columns.suspicions.offset), 0);
	ck_assert_uint_le(posted_when(m, m->columns.suspected.offset), posted_when(m, m->columns.suspicions.offset));
	m->posted_count = 0;
	wh_change_suspect(&m->change, 0, WH_FAILED, "again");
	wh_change_suspect(&m->change, 0, WH_LEFT, "and again");
	forget_told(m);
	wh_change_step(&m->change);
	ck_assert_ptr_null(strstr(m->told, "suspect"));
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 1);
	member_free(m);
}

/* ---- quorum ----------------------------------------------------------------------------------------------------------------- */

/* Of five only one is heard: this node may be the one that is cut off. Nothing is said before a majority is there. */
TEST(a_minority_suspects_nobody)
{
	struct member *m = member_make(0, 5, -1);

	live(m, 40, "1");
	expect_told(m, "no-quorum ");
	ck_assert_uint_eq(m->posted_count, 0);
	live(m, 4, "1");
	expect_nothing(m);
	live(m, 1, "13"); /* others may be just behind: they have the whole time-out again */
	expect_told(m, "quorum ");
	live(m, 3, "13");
	expect_nothing(m);
	live(m, 3, "13");
	ck_assert_uint_eq(my_suspicion(m, 2), WH_FAILED);
	ck_assert_uint_eq(my_suspicion(m, 3), WH_TRUSTED);
	ck_assert_uint_eq(my_suspicion(m, 4), WH_FAILED);
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 2);
	member_free(m);
}

/* It is heard, and says that it hears no member: nothing will come of it, and all would wait for it. Unless it is needed. */
TEST_LOOP(a_deaf_member_is_suspected, 0, 2)
{
	struct member *m = member_make(0, _i == 0 ? 3 : 2, -1);

	for (int quarter = 0; quarter < 12; quarter++) {
		beat_deaf(m, 1);
		live(m, 1, _i == 0 ? "2" : "");
		if (quarter < 4)
			ck_assert_uint_eq(my_suspicion(m, 1), WH_TRUSTED);
	}
	ck_assert_uint_eq(my_suspicion(m, 1), _i == 0 ? WH_FAILED : WH_TRUSTED);
	ck_assert_ptr_null(strstr(m->told, "no-quorum"));
	member_free(m);
}

/* It told so while it could not hear us, and then it can. */
TEST(a_member_that_hears_again_is_not_deaf)
{
	struct member *m = member_make(0, 3, -1);

	for (int quarter = 0; quarter < 24; quarter++) {
		if (quarter % 4 == 3)
			beat(m, 1);
		else
			beat_deaf(m, 1);
		live(m, 1, "2");
	}
	expect_nothing(m);
	member_free(m);
}

/* All were only slow, or cut off for a while: a member that is heard again is not overdue, and none has said anything. */
TEST(a_member_that_is_heard_again_is_not_suspected)
{
	struct member *m = member_make(2, 5, -1);

	live(m, 20, "");
	expect_told(m, "no-quorum ");
	live(m, 1, "0134");
	expect_told(m, "quorum ");
	live(m, 20, "0134");
	expect_nothing(m);
	member_free(m);
}

/* What the transport has said is not forgotten. */
TEST(what_is_known_is_said_later)
{
	struct member *m = member_make(0, 3, -1);

	live(m, 20, "");
	expect_told(m, "no-quorum ");
	wh_change_suspect(&m->change, 2, WH_FAILED, "its connection has ended");
	live(m, 4, "");
	expect_nothing(m);
	live(m, 1, "12"); /* 2 beats as well: what is known counts */
	ck_assert_uint_eq(my_suspicion(m, 1), WH_TRUSTED);
	ck_assert_uint_eq(my_suspicion(m, 2), WH_FAILED);
	ck_assert_ptr_eq(strstr(m->told, "quorum suspect-2 "), m->told);
	member_free(m);
}

/* This node was stopped for long. The others may be as well as ever: none is blamed, and none counts as heard before it is. */
TEST(a_late_loop_suspects_nobody)
{
	struct member *m = member_make(0, 5, -1);

	live(m, 8, "1234");
	member_pass_ns(m, 50 * TIMEOUT_NS);
	wh_change_step(&m->change);
	live(m, 3, "");
	expect_nothing(m);
	wh_change_suspect(&m->change, 4, WH_FAILED, "its connection has ended");
	wh_change_step(&m->change);
	expect_told(m, "no-quorum "); /* to say it of: 1 to 3 have not been heard since */
	ck_assert_uint_eq(m->posted_count, 0);
	live(m, 1, "12");
	ck_assert_uint_eq(my_suspicion(m, 4), WH_FAILED);
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 1);
	member_free(m);
}

TEST(exactly_half_needs_the_tie_breaker)
{
	static const struct {
		uint32_t me, members;
		int tie_breaker;
		const char *heard;
		bool says;
	} cases[] = {{0, 2, -1, "", false}, {0, 2, 0, "", true},    {1, 2, 0, "", false},
		     {1, 2, 1, "", true},   {0, 4, 1, "1", true},   {0, 4, 1, "2", false},
		     {0, 4, 0, "3", true},  {0, 4, -1, "3", false}, {0, 4, 3, "12", true}};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct member *m = member_make(cases[i].me, cases[i].members, cases[i].tie_breaker);

		live(m, 5, cases[i].heard);
		ck_assert_msg((m->change.suspicion.count > 0) == cases[i].says, "case %zu", i);
		ck_assert_int_eq(strstr(m->told, "no-quorum ") == NULL, cases[i].says);
		member_free(m);
	}
}

/* ---- what others say --------------------------------------------------------------------------------------------------------- */

TEST(what_others_say_is_said_too)
{
	struct member *m = member_make(0, 5, -1);

	wh_change_step(&m->change);
	expect_nothing(m);
	say_suspected(m, 1, 3, WH_FAILED);
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 3), WH_FAILED);
	ck_assert(is_frozen(m, 3));
	say_suspected(m, 2, 4, 77); /* more than there is */
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 4), WH_FAILED);
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 2);
	member_free(m);
}

/* A suspect may say what it likes, of this node too, later or at the same time. */
TEST(rows_of_suspects_are_not_read)
{
	struct member *m = member_make(0, 5, -1);

	wh_change_suspect(&m->change, 3, WH_FAILED, "its connection has ended");
	say_suspected(m, 3, 0, WH_FAILED);
	say_suspected(m, 3, 1, WH_FAILED);
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 3), WH_FAILED);
	say_suspected(m, 3, 2, WH_FAILED);
	settle(m);
	live(m, 8, "1234");
	ck_assert_uint_eq(my_suspicion(m, 1), WH_TRUSTED);
	ck_assert_uint_eq(my_suspicion(m, 2), WH_TRUSTED);
	ck_assert(!m->change.removed);
	member_free(m);
}

/* Of two that accuse each other one stays: the one that fewer accuse (_i: which other says something), else the older one. */
TEST_LOOP(accusations_against_each_other, 0, 2)
{
	struct member *m = member_make(0, 5, -1);

	say_suspected(m, 1, 3, WH_FAILED);
	say_suspected(m, 3, 1, WH_FAILED);
	if (_i == 1)
		say_suspected(m, 2, 1, WH_FAILED);
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 3), _i == 1 ? WH_TRUSTED : WH_FAILED);
	ck_assert_uint_eq(my_suspicion(m, 1), _i == 1 ? WH_FAILED : WH_TRUSTED);
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 1);
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 1);
	member_free(m);
}

/* Others suspect this node: nothing more is said, done or asked for, ever. */
TEST_LOOP(a_removed_member_is_silent, 0, 2)
{
	struct member *m = member_make(2, 3, -1);
	size_t posts;

	say_suspected(m, 1, 2, _i == 0 ? WH_FAILED : WH_LEFT);
	say_suspected(m, 1, 0, WH_FAILED);
	wh_change_suspect(&m->change, 0, WH_FAILED, "its connection has ended");
	ck_assert_uint_gt(wh_change_step(&m->change), 0);
	expect_told(m, "removed-by-1 ");
	ck_assert(m->change.removed);
	ck_assert(!is_steady(m));
	ck_assert_uint_eq(m->posted_count, 0);
	posts = m->posts;
	live(m, 20, "01");
	ck_assert_uint_eq(wh_change_step(&m->change), 0);
	ck_assert_uint_eq(m->posts, posts); /* no heartbeat either */
	expect_told(m, "");
	member_free(m);
}

/* ---- leaving in order ---------------------------------------------------------------------------------------------------- */

/* Its row stays readable, and it is not counted: the last one goes on alone. */
TEST(a_member_that_left_is_not_counted)
{
	struct member *m = member_make(3, 4, -1);

	for (uint32_t rank = 0; rank < 3; rank++) {
		wh_change_suspect(&m->change, rank, WH_LEFT, "it has left");
		wh_change_step(&m->change);
		ck_assert_uint_eq(my_suspicion(m, rank), WH_LEFT);
		ck_assert(!is_frozen(m, rank));
		ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), rank + 1);
	}
	ck_assert_ptr_null(strstr(m->told, "no-quorum"));
	member_free(m);
}

/* Every member hears that from its transport, behind the last words; not from others. */
TEST(that_somebody_left_is_not_taken_from_others)
{
	struct member *m = member_make(0, 3, -1);

	say_suspected(m, 1, 2, WH_LEFT);
	settle(m);
	ck_assert_uint_eq(my_suspicion(m, 2), WH_TRUSTED);
	expect_nothing(m);
	wh_change_suspect(&m->change, 2, WH_LEFT, "it has left");
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 2), WH_LEFT);
	member_free(m);
}

/* A member has left, and another may think that it failed: the transport here knows better, and its row is final here. */
TEST(a_member_that_left_has_not_failed_for_others)
{
	struct member *m = member_make(0, 3, -1);

	wh_change_suspect(&m->change, 2, WH_LEFT, "it has left");
	wh_change_step(&m->change);
	say_suspected(m, 1, 2, WH_FAILED);
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 2), WH_LEFT);
	ck_assert(!is_frozen(m, 2));
	member_free(m);
}

/* A member that suspects others and leaves cannot be asked about it: it has failed. */
TEST_LOOP(a_member_that_leaves_with_suspicions_has_failed, 0, 2)
{
	struct member *m = member_make(0, 4, -1);

	say(m, 2, m->columns.suspected.offset + 8 * 1, _i == 0 ? WH_FAILED : WH_LEFT);
	wh_change_suspect(&m->change, 2, WH_LEFT, "it has left");
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 2), _i == 0 ? WH_FAILED : WH_LEFT);
	ck_assert_int_eq(is_frozen(m, 2), _i == 0);
	member_free(m);
}

/* ---- from view to view ------------------------------------------------------------------------------------------------------ */

TEST(what_was_known_is_known_in_the_next_view)
{
	struct member *before = member_make(0, 5, -1), *m = member_make(0, 4, -1);

	live(before, 5, "13");                                                        /* 2 and 4 are suspected, */
	wh_change_suspect(&before->change, 3, WH_FAILED, "its connection has ended"); /* and 3 will be */
	for (uint32_t rank = 0; rank < 4; rank++) /* 4 is left out, 2 and 3 not yet */
		wh_change_inherit(&m->change, rank, &before->change, rank);
	expect_nothing(m);
	wh_heartbeat_begin(&m->heartbeat, NULL);
	wh_change_step(&m->change);
	expect_told(m, "no-quorum "); /* 0 and 1 of four */
	member_free(m);
	member_free(before);

	before = member_make(0, 4, -1);
	m = member_make(0, 3, -1);
	wh_change_suspect(&before->change, 2, WH_LEFT, "it has left");
	wh_change_suspect(&before->change, 3, WH_FAILED, "its connection has ended");
	wh_change_step(&before->change);
	for (uint32_t rank = 0; rank < 3; rank++)
		wh_change_inherit(&m->change, rank, &before->change, rank);
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 1), WH_TRUSTED);
	ck_assert_uint_eq(my_suspicion(m, 2), WH_LEFT);
	ck_assert(!is_frozen(m, 2));
	member_free(m);
	member_free(before);
}

/* Two have gone ahead and leave in the next view; here they are heard of in this one, in which they have suspected a member. That
 * is over: in the next view two of two are a quorum. Unless they suspect a member there, or were suspected here. */
TEST_LOOP(a_member_that_has_gone_ahead_and_left_has_left, 0, 3)
{
	struct member *before = member_make(0, 5, -1), *m = member_make(0, 4, -1);

	wh_change_suspect(&before->change, 4, WH_FAILED, "its connection has ended");
	for (uint32_t rank = _i == 2 ? 3 : 2; rank < 4; rank++) {
		say(before, rank, before->columns.suspected.offset + 8 * 4, WH_FAILED);
		if (_i != 2)
			say(before, rank, before->columns.installed.offset, 1);
		wh_change_suspect(&before->change, rank, WH_LEFT, "it has left");
	}
	wh_change_step(&before->change);
	if (_i == 1)
		say(m, 3, m->columns.suspected.offset + 8 * 1, WH_FAILED);
	for (uint32_t rank = 0; rank < 4; rank++)
		wh_change_inherit(&m->change, rank, &before->change, rank);
	wh_heartbeat_begin(&m->heartbeat, NULL);
	wh_change_step(&m->change);
	ck_assert_uint_eq(my_suspicion(m, 1), WH_TRUSTED);
	if (_i == 0) {
		ck_assert_uint_eq(my_suspicion(m, 2), WH_LEFT);
		ck_assert_uint_eq(my_suspicion(m, 3), WH_LEFT);
	} else {
		ck_assert_uint_ne(my_suspicion(m, 3), WH_LEFT);
	}
	member_free(m);
	member_free(before);
}

TEST_SUITE("suspicion")
