/* test_change_leaders.c - a change of view in which leaders fail, one after the other, or some member holds up the rest; at
 * one member, the others by hand.
 */
#include "tests/support/member.h"

/* ---- as successor ------------------------------------------------------------------------------------------------------------ */

/* The leader has failed. Until all say so, what it has said may still be on its way to some member. */
TEST(a_successor_waits_for_the_barrier)
{
	struct member *m = member_make(1, 5, -1);

	die(m, 0);
	settle(m);
	say_suspected(m, 2, 0, WH_FAILED);
	say_suspected(m, 3, 0, WH_LEFT); /* that is enough */
	settle(m);
	expect_told(m, "suspect-0 wedge ");
	say_suspected(m, 4, 0, WH_FAILED);
	settle(m);
	expect_told(m, "open-without-0-as-7010001 ");
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 1);
	acknowledge(m, "234", 0, 50, TICKET(1, 1));
	settle(m);
	expect_my_decision(m, 0x7010001, 0, 2);
	decide(m, "234", 0x7010001, 0, 1);
	settle(m);
	expect_told(m, "deliver-0-0 install ");
	member_free(m);
}

/* 4 left, 0 proposed a view without it, and may have decided it before it failed: 3 has its decision. What may be final is
 * decided again, as it was, also if 3 has left since (_i = 1). If 3 has failed it is not read: what it says was not final. */
TEST_LOOP(a_successor_adopts_what_was_decided, 0, 3)
{
	struct member *m = member_make(1, 5, 1);

	receive(m, 100);
	member_leave(m, 4);
	for (uint32_t rank = 0; rank < 4; rank++)
		if (rank != 1)
			say_suspected(m, rank, 4, WH_LEFT);
	propose(m, 0, 1, 4);
	settle(m);
	acknowledge(m, "23", 4, 100, TICKET(0, 1));
	decide(m, "3", 0x7000001, 77, 0);
	die(m, 0);
	if (_i == 0)
		say_suspected(m, 3, 0, WH_FAILED);
	else if (_i == 1)
		member_leave(m, 3);
	else
		die(m, 3);
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0); /* 2 may hear from 0 yet */
	say_suspected(m, 2, 0, WH_FAILED);
	forget_told(m);
	settle(m);
	if (_i == 2) {
		expect_told(m, "discard open-without-0-3-4-as-7010001 ");
		ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	} else {
		expect_my_decision(m, 0x7000001, 77, 2);
		ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 0);
		expect_told(m, "");
		decide(m, _i == 0 ? "23" : "2", 0x7000001, 77, 1);
		settle(m);
		expect_told(m, "deliver-77-0 install ");
	}
	member_free(m);
}

/* What others say of others is in its row before it makes a decision its own. */
TEST(a_successor_heeds_suspicions)
{
	struct member *m = member_make(1, 5, 1);

	receive(m, 100);
	member_leave(m, 4);
	for (uint32_t rank = 0; rank < 4; rank++)
		if (rank != 1)
			say_suspected(m, rank, 4, WH_LEFT);
	propose(m, 0, 1, 4);
	settle(m);
	acknowledge(m, "23", 4, 100, TICKET(0, 1));
	die(m, 0);
	settle(m);
	live(m, 5, "");
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 suspect-0 no-quorum ");
	say_suspected(m, 2, 0, WH_FAILED);
	say_suspected(m, 3, 0, WH_FAILED);
	say_suspected(m, 2, 3, WH_FAILED);
	decide(m, "2", 0x7000001, 77, 0);
	settle(m);
	expect_told(m, "");
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	live(m, 1, "2");
	expect_told(m, "quorum suspect-3 ");
	expect_my_decision(m, 0x7000001, 77, 2);
	member_free(m);
}

/* Two leaders have failed, one after the other: of two rows that of the later one counts; they say the same. */
TEST(a_follower_echoes_each_leader_in_turn)
{
	struct member *m = member_make(3, 5, 3);

	receive(m, 100);
	propose(m, 0, 1, 4);
	settle(m);
	decide(m, "0", 0x7000001, 42, 0);
	settle(m);
	expect_my_decision(m, 0x7000001, 42, 1);
	forget_told(m);
	die(m, 0);
	settle(m);
	decide(m, "1", 0x7000001, 42, 0); /* an echo is no decision of its own */
	settle(m);
	expect_my_decision(m, 0x7000001, 42, 1);
	decide(m, "1", 0x7000001, 42, 1);
	settle(m);
	expect_my_decision(m, 0x7000001, 42, 2);
	expect_told(m, "suspect-0 ");
	decide(m, "2", 0x7000001, 42, 0);
	settle(m);
	expect_told(m, ""); /* 2 is not as far */
	decide(m, "2", 0x7000001, 42, 1);
	settle(m);
	expect_told(m, "deliver-42-0 install ");
	member_free(m);
}

/* That the new leader has echoed the old one is no decision of its own: it may have to look for another one yet. */
TEST(an_echo_is_not_echoed)
{
	struct member *m = member_make(3, 5, -1);

	receive(m, 100);
	propose(m, 0, 1, 4);
	settle(m);
	decide(m, "1", 0x7000001, 42, 0);
	die(m, 0);
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	decide(m, "1", 0x7000001, 42, 1);
	settle(m);
	expect_my_decision(m, 0x7000001, 42, 2);
	member_free(m);
}

/* Another member has gone ahead: it has seen all echoes, and will say no more. */
TEST_LOOP(a_member_that_is_behind_catches_up, 0, 3)
{
	struct member *m = member_make(2, 5, -1);

	receive(m, 100);
	propose(m, 0, 1, 4);
	settle(m);
	forget_told(m);
	decide(m, "3", 0x7000001, 55, 0);
	settle(m);
	expect_told(m, "");
	say(m, 3, m->columns.installed.offset, 1);
	if (_i == 1)
		member_leave(m, 3); /* and has left: that is the next view's matter */
	else if (_i == 2)
		say_suspected(m, 1, 3, WH_FAILED); /* so is that it has failed */
	settle(m);
	expect_my_decision(m, 0x7000001, 55, 1);
	expect_told(m, "deliver-55-0 install ");
	ck_assert_uint_eq(my_suspicion(m, 3), WH_TRUSTED);
	member_free(m);
}

/* 0 has decided and 2 has echoed it; no other member is heard any more, so nothing can be said. */
static struct member *left_alone(void)
{
	struct member *m = member_make(2, 5, -1);

	receive(m, 100);
	propose(m, 0, 1, 4);
	settle(m);
	decide(m, "0", 0x7000001, 55, 0);
	settle(m);
	live(m, 5, "");
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 no-quorum ");
	return m;
}

/* A member that has installed says in its row that others have failed. Its installation is final all the same, and there is nothing
 * to be said of the others here: it is the next view's matter. */
TEST(a_member_that_hears_nobody_follows_and_says_nothing)
{
	struct member *m = left_alone();

	say_suspected(m, 3, 1, WH_FAILED);
	decide(m, "3", 0x7000001, 55, 0);
	settle(m);
	expect_told(m, "");
	say(m, 3, m->columns.installed.offset, 1);
	settle(m);
	expect_told(m, "deliver-55-0 install ");
	ck_assert_uint_eq(my_suspicion(m, 1), WH_TRUSTED);
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 1);
	member_free(m);
}

/* No member says here that it has installed. But some member beats in the next view, which is the one that was agreed to: that view
 * has begun, whatever members have said of each other before that cannot be said here (_i = 1). */
TEST_LOOP(a_member_that_hears_nobody_follows_those_that_have_begun, 0, 2)
{
	struct member *m = left_alone();

	if (_i == 1)
		say_suspected(m, 3, 1, WH_FAILED);
	live(m, 20, "");
	expect_told(m, "");
	m->others_begin = true;
	settle(m);
	expect_told(m, "deliver-55-0 install ");
	ck_assert_uint_eq(my_suspicion(m, 1), WH_TRUSTED);
	member_free(m);
}

/* Where its messages end is not known before it has agreed. */
TEST(a_view_that_has_begun_is_no_decision)
{
	struct member *m = member_make(2, 5, -1);

	receive(m, 100);
	propose(m, 0, 1, 4);
	settle(m);
	m->others_begin = true;
	live(m, 4, "013");
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	decide(m, "0", 0x7000001, 55, 0);
	settle(m);
	expect_my_decision(m, 0x7000001, 55, 1);
	expect_told(m, "deliver-55-0 install ");
	member_free(m);
}

/* ---- members that hold up the others --------------------------------------------------------------------------------------- */

/* Two time-outs for a member that does not follow, and four for a leader that does not lead: then it is suspected, though heard. */
TEST_LOOP(a_member_that_does_not_follow_is_suspected, 0, 2)
{
	struct member *m = member_make((uint32_t)_i, 5, -1);
	const char *others = _i == 0 ? "123" : "023";
	unsigned patience = _i == 0 ? 8 : 16;

	die(m, 4);
	settle(m);
	if (_i == 0)
		acknowledge(m, "12", 4, 100, TICKET(0, 1));
	live(m, 1, others); /* something has moved just now */
	forget_told(m);
	live(m, patience, others);
	expect_told(m, "");
	live(m, 2, others);
	ck_assert_ptr_eq(strstr(m->told, _i == 0 ? "suspect-3 " : "suspect-0 "), m->told);
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 2);
	member_free(m);
}

/* Without the members that do not follow there would be no majority: they may be held up themselves, and it is forgotten. */
TEST(nobody_is_suspected_if_all_lag)
{
	struct member *m = member_make(0, 5, -1);

	die(m, 4);
	settle(m);
	acknowledge(m, "1", 4, 100, TICKET(0, 1));
	live(m, 40, "123");
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 1);
	acknowledge(m, "23", 4, 100, TICKET(0, 1));
	settle(m);
	decide(m, "123", 0x7000001, 0, 0);
	settle(m);
	expect_told(m, "deliver-0-0 install ");
	member_free(m);
}

/* Not by a member that was late itself. */
TEST(a_late_loop_is_patient)
{
	struct member *m = member_make(0, 5, -1);

	die(m, 4);
	settle(m);
	acknowledge(m, "12", 4, 100, TICKET(0, 1));
	for (int i = 0; i < 20; i++) {
		live(m, 4, "123");
		member_pass_ns(m, TIMEOUT_NS);
		wh_change_step(&m->change);
	}
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 1);
	live(m, 10, "123");
	ck_assert_uint_eq(mine(m, m->columns.suspicions.offset), 2);
	member_free(m);
}

TEST_SUITE("change: leaders")
