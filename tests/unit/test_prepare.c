/* test_prepare.c - a next view that takes nodes in, or changes which members send, is prepared while the view goes on:
 * at one member, as leader and as follower; the others by hand. test_change.c has what comes when a member fails.
 */
#include "tests/support/preparing.h"

/* ---- as leader --------------------------------------------------------------------------------------------------- */

TEST(a_leader_from_a_newcomer_to_installation)
{
	struct member *m = member_make(0, 3, -1);

	receive(m, 120);
	want(m, "8");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000001 invite-1-as-7000001 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	ck_assert_uint_lt(posted_when(m, record_word(m, 1, 0)), posted_when(m, m->columns.proposed.offset));
	ck_assert(!has_wedged(m));
	say_acknowledged(m, "12", TICKET(0, 1));
	settle(m);
	expect_told(m, "");
	ck_assert(!has_wedged(m)); /* 8 is not there yet */
	arrive(m, 8, WH_ARRIVAL_THERE);
	settle(m);
	expect_told(m, "wedge ");
	arrive(m, 8, WH_ARRIVAL_GONE); /* after the wedge no member waits for it */
	say_wedged(m, "1", 100);
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	say_wedged(m, "2", 110);
	settle(m);
	expect_my_decision(m, 0x7000001, 100, 1);
	decide(m, "12", 0x7000001, 100, 0);
	settle(m);
	expect_told(m, "deliver-100-0 install ");
	for (int stage = 1; stage < WH_STAGES; stage++)
		ck_assert_uint_ge(m->change.stage_ns[stage], m->change.stage_ns[stage - 1]);
	member_free(m);
}

/* All have acknowledged, the last attempt; all newcomers are there; a quorum is heard. */
TEST_LOOP(what_a_leader_waits_for, 0, 4)
{
	struct member *m = member_that_invites(3, "89");

	say_acknowledged(m, "12", TICKET(0, 1));
	arrive(m, 8, WH_ARRIVAL_THERE);
	arrive(m, 9, WH_ARRIVAL_THERE);
	if (_i == 0)
		say_acknowledged(m, "2", TICKET(0, 0));
	else if (_i == 1)
		arrive(m, 9, WH_ARRIVAL_COMING);
	else if (_i == 2)
		m->change.suspicion.quorum = false;
	else if (_i == 3)
		m->is_open = false;
	wh_change_step(&m->change);
	ck_assert_int_eq(has_wedged(m), _i >= 3); /* what is open stays open */
	member_free(m);
}

/* Memory for a next view is being made: a node that wants in waits, and members that stand by a failure do not. */
TEST_LOOP(newcomers_wait_for_the_memory, 0, 2)
{
	struct member *m = member_make(0, 3, -1);

	m->prepares = true;
	want(m, "8");
	settle(m);
	expect_told(m, "");
	ck_assert_uint_le(m->loop.next_ns, m->loop.now_ns + WH_NS_PER_MS);
	if (_i == 1) {
		die(m, 2);
		settle(m);
		expect_told(m, "suspect-2 wedge open-without-2-as-7000001 ");
	} else {
		m->prepares = false;
		settle(m);
		expect_told(m, "open-without-with-8.80-as-7000001 invite-1-as-7000001 ");
	}
	member_free(m);
}

/* Likewise a follower: it opens nothing until its own memory is ready, unless a member has failed meanwhile. */
TEST_LOOP(a_follower_waits_for_its_memory, 0, 2)
{
	struct member *m = member_make(1, 3, -1);

	m->prepares = true;
	say_proposal(m, 0, 1, "8", "");
	settle(m);
	expect_told(m, "");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), 0);
	ck_assert_uint_le(m->loop.next_ns, m->loop.now_ns + WH_NS_PER_MS);
	if (_i == 0)
		m->prepares = false;
	else
		die(m, 2);
	settle(m);
	expect_told(m, _i == 0 ? "open-without-with-8.80-as-7000001 "
			       : "suspect-2 wedge open-without-with-8.80-as-7000001 ");
	member_free(m);
}

TEST(the_memory_of_the_leader_comes_too)
{
	struct member *m = member_make(0, 3, -1);

	m->is_open = false;
	want(m, "8");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000001 invite-1-as-7000001 "); /* they open it at the same time */
	say_acknowledged(m, "12", TICKET(0, 1));
	arrive(m, 8, WH_ARRIVAL_THERE);
	settle(m);
	ck_assert(!has_wedged(m));
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), 0);
	m->is_open = true;
	settle(m);
	ck_assert(has_wedged(m));
	member_free(m);
}

/* At most max(1, members - 1) at once. */
TEST_LOOP(newcomers_are_fewer_than_members, 0, 4)
{
	static const char *const told[] = {
		"open-without-with-6.60-as-7000001 invite-1-as-7000001 ",
		"open-without-with-6.60-as-7000001 invite-1-as-7000001 ",
		"open-without-with-6.60-with-7.70-as-7000001 invite-2-as-7000001 ",
		"open-without-with-6.60-with-7.70-with-8.80-as-7000001 invite-3-as-7000001 ",
	};
	struct member *m = member_make(0, (uint32_t)_i + 1, -1);

	want(m, "6789");
	wh_change_step(&m->change);
	wh_change_step(&m->change);
	expect_told(m, told[_i]);
	member_free(m);
}

/* They are looked for when a node has asked, once; and only by a member that hears a quorum, and leads. */
TEST_LOOP(when_newcomers_are_looked_for, 0, 3)
{
	struct member *m = member_make(_i == 2 ? 1 : 0, 3, -1);

	settle(m);
	want(m, "8");
	m->change.wanted = _i != 0;
	m->change.suspicion.quorum = _i != 1;
	wh_prepare(&m->change);
	wh_prepare(&m->change);
	expect_told(m, "");
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 0);
	member_free(m);
}

/* ---- nodes that do not come -------------------------------------------------------------------------------------- */

TEST(a_newcomer_that_has_gone_is_left_out)
{
	struct member *m = member_that_invites(3, "89");

	arrive(m, 8, WH_ARRIVAL_GONE);
	say_acknowledged(m, "12", TICKET(0, 1));
	settle(m);
	expect_told(m, "discard open-without-with-9.90-as-7000002 invite-1-as-7000002 ");
	arrive(m, 9, WH_ARRIVAL_THERE);
	settle(m);
	ck_assert(!has_wedged(m)); /* the others have acknowledged another attempt */
	say_acknowledged(m, "12", TICKET(0, 2));
	settle(m);
	expect_told(m, "wedge ");
	member_free(m);
}

/* No newcomer is left: the memory is given up, and the view goes on as if nothing had been; also for one that comes
 * later. */
TEST(a_proposal_is_withdrawn)
{
	struct member *m = member_that_invites(3, "8");

	arrive(m, 8, WH_ARRIVAL_GONE);
	want(m, "");
	settle(m);
	expect_told(m, "discard recall ");
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 2);
	ck_assert_uint_eq(mine(m, record_word(m, 2, 0)), 0);
	ck_assert(!is_renewal(m, 2));
	live(m, 20, "12");
	expect_told(m, "");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	want(m, "9");
	settle(m);
	expect_told(m, "open-without-with-9.90-as-7000003 invite-1-as-7000003 ");
	member_free(m);
}

/* A newcomer has the failure time-out, and not more. */
TEST(a_newcomer_that_is_late_is_left_out)
{
	struct member *m = member_that_invites(3, "89");

	arrive(m, 9, WH_ARRIVAL_THERE);
	live(m, 4, "12");
	settle(m);
	expect_told(m, "");
	live(m, 1, "12");
	settle(m);
	expect_told(m, "discard open-without-with-9.90-as-7000002 invite-1-as-7000002 ");
	ck_assert(!m->change.one_at_a_time);
	live(m, 5, "12");
	expect_told(m, ""); /* its time has begun anew */
	member_free(m);
}

/* All newcomers are there, and a member does not get along with them: it is given up, and they come one by one, while
 * this view lasts. */
TEST(what_does_not_come_to_pass_is_given_up)
{
	struct member *m = member_that_invites(3, "89");

	arrive(m, 8, WH_ARRIVAL_THERE);
	arrive(m, 9, WH_ARRIVAL_THERE);
	say_acknowledged(m, "1", TICKET(0, 1));
	live(m, 8, "12");
	settle(m);
	expect_told(m, "");
	want(m, "");
	live(m, 1, "12");
	settle(m);
	expect_told(m, "discard recall ");
	ck_assert_uint_eq(mine(m, record_word(m, 2, 0)), 0);
	ck_assert(!has_wedged(m));
	want(m, "89");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000003 invite-1-as-7000003 ");
	member_free(m);
}

/* What was missing comes in the very pass in which it is given up, or in which a newcomer is left out: the attempt that
 * all are ready for is not the last one any more. */
TEST_LOOP(nobody_stops_for_an_attempt_that_is_replaced, 0, 2)
{
	struct member *m = member_that_invites(3, "89");

	arrive(m, 8, WH_ARRIVAL_THERE);
	arrive(m, 9, _i == 0 ? WH_ARRIVAL_THERE : WH_ARRIVAL_COMING);
	live(m, _i == 0 ? 8 : 4, "12");
	expect_told(m, "");
	say_acknowledged(m, "12", TICKET(0, 1));
	if (_i == 0)
		m->change.wanted = false;
	beat(m, 1);
	beat(m, 2);
	member_pass_ns(m, 1);
	wh_change_step(&m->change);
	ck_assert(!has_wedged(m));
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 2);
	settle(m);
	ck_assert(!has_wedged(m));
	expect_told(m, _i == 0 ? "discard recall " : "discard open-without-with-8.80-as-7000002 invite-1-as-7000002 ");
	member_free(m);
}

/* There is no memory for it here. No member fails because a node wants in: it is given up, and tried again after a
 * while. */
TEST(a_leader_that_has_no_memory)
{
	struct member *m = member_make(0, 3, -1);

	m->cannot_open = true;
	want(m, "8");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000001 recall recall ");
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 2);
	ck_assert_uint_eq(mine(m, record_word(m, 2, 0)), 0);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), 0);
	m->cannot_open = false;
	live(m, 3, "12");
	settle(m);
	expect_told(m, "");
	live(m, 1, "12");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000003 invite-1-as-7000003 ");
	member_free(m);
}

TEST(a_follower_that_has_no_memory)
{
	struct member *m = member_make(2, 3, -1);

	m->cannot_open = true;
	say_proposal(m, 0, 1, "8", "");
	settle(m);
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000001 "); /* once */
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), 0);
	m->cannot_open = false;
	say_proposal(m, 0, 2, "", "");
	settle(m);
	expect_told(m, "");
	say_proposal(m, 0, 3, "8", "");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000003 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 3));
	member_free(m);
}

/* ---- failures first ---------------------------------------------------------------------------------------------- */

/* A node that was to come in, and whatever was wished, waits for the view after. */
TEST(a_failure_drops_newcomers)
{
	struct member *m = member_that_invites(3, "8");

	say(m, 1, m->columns.wish.offset, 1);
	say_acknowledged(m, "12", TICKET(0, 1));
	arrive(m, 8, WH_ARRIVAL_THERE);
	die(m, 2);
	settle(m);
	expect_told(m, "suspect-2 wedge recall discard open-without-2-as-7000002 ");
	ck_assert_uint_eq(mine(m, m->columns.left_out.offset + 8 * 2), 2);
	ck_assert(!is_renewal(m, 2));
	acknowledge(m, "1", 2, 0, TICKET(0, 2));
	settle(m);
	expect_my_decision(m, 0x7000002, 0, 1);
	member_free(m);
}

TEST(nobody_is_recalled_if_nobody_was_invited)
{
	struct member *m = member_make(0, 3, -1);

	want(m, "");
	settle(m);
	want(m, "8");
	die(m, 2);
	settle(m);
	expect_told(m, "suspect-2 wedge open-without-2-as-7000001 ");
	member_free(m);
}

/* ---- as follower ------------------------------------------------------------------------------------------------- */

/* No member stops before the leader does; another member may have stopped for another reason, which is known soon. */
TEST(a_follower_goes_on_until_the_leader_stops)
{
	struct member *m = member_make(2, 4, -1);

	receive(m, 100);
	m->is_open = false;
	say_proposal(m, 0, 1, "8", "");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000001 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), 0);
	m->is_open = true;
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 0);
	say_acknowledged(m, "013", TICKET(0, 1));
	say_wedged(m, "1", 100);
	settle(m);
	ck_assert(!has_wedged(m));
	expect_told(m, "");
	say_wedged(m, "0", 100);
	settle(m);
	expect_told(m, "wedge ");
	say_wedged(m, "3", 100);
	decide(m, "0", 0x7000001, 90, 0);
	settle(m);
	expect_my_decision(m, 0x7000001, 90, 1);
	decide(m, "13", 0x7000001, 90, 0);
	settle(m);
	expect_told(m, "deliver-90-0 install ");
	member_free(m);
}

TEST(a_follower_goes_from_proposal_to_proposal)
{
	struct member *m = member_make(2, 3, -1);

	say_proposal(m, 1, 1, "7", ""); /* a member that does not lead proposes nothing */
	settle(m);
	expect_told(m, "");
	say_proposal(m, 0, 1, "89", "");
	settle(m);
	expect_told(m, "open-without-with-8.80-with-9.90-as-7000001 ");
	say_proposal(m, 0, 2, "9", "");
	settle(m);
	expect_told(m, "discard open-without-with-9.90-as-7000002 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 2));
	say_proposal(m, 0, 3, "", ""); /* given up */
	settle(m);
	expect_told(m, "discard ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 2));
	ck_assert_uint_eq(m->change.ticket, 0);
	settle(m);
	expect_told(m, "");
	say_proposal(m, 0, 4, "8", "");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-7000004 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 4));
	member_free(m);
}

/* An attempt was withdrawn before this node saw it: what others have offered it for that is of no use, now and not
 * when the next view comes. */
TEST(an_attempt_that_was_missed_is_past)
{
	struct member *m = member_make(2, 3, -1);

	say_proposal(m, 0, 2, "", "");
	settle(m);
	expect_told(m, "");
	ck_assert_uint_eq(m->past, WH_FIRST_KEYS | 0x7000002);
	member_free(m);
}

TEST(the_last_attempt)
{
	struct member *m = member_make(2, 3, -1);

	say_proposal(m, 0, WH_ATTEMPTS_MAX + 1, "8", "");
	settle(m);
	expect_told(m, "");
	say_proposal(m, 0, WH_ATTEMPTS_MAX, "8", "");
	settle(m);
	expect_told(m, "open-without-with-8.80-as-700ffff ");
	member_free(m);
}

/* A transport may read a record when it leaves: the third attempt's, or some of it, comes before the number of the first. */
TEST_LOOP(a_record_that_was_written_over, 0, 2)
{
	struct member *m = member_make(2, 3, -1);

	if (_i == 0) {
		say_record(m, 0, 3, "7", "");
	} else { /* what says which node comes is the third's already */
		say_record(m, 0, 1, "8", "");
		say(m, 0, record_word(m, 3, 0), 7 + 1);
	}
	say(m, 0, m->columns.proposed.offset, 1);
	settle(m);
	expect_told(m, "");
	say_record(m, 0, 3, "7", "");
	say_proposal(m, 0, 2, "9", "");
	settle(m);
	expect_told(m, "open-without-with-9.90-as-7000002 ");
	say(m, 0, m->columns.proposed.offset, 3);
	settle(m);
	expect_told(m, "discard open-without-with-7.70-as-7000003 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 3));
	member_free(m);
}

/* What is open stays so until the next attempt can be read: it may have been decided upon. */
TEST(what_is_open_stays_while_a_record_is_awaited)
{
	struct member *m = member_make(2, 3, -1);

	say_proposal(m, 0, 1, "8", "");
	settle(m);
	forget_told(m);
	say(m, 0, m->columns.proposed.offset, 2);
	settle(m);
	expect_told(m, "");
	ck_assert_uint_eq(m->change.ticket, TICKET(0, 1));
	say_record(m, 0, 2, "9", "");
	settle(m);
	expect_told(m, "discard open-without-with-9.90-as-7000002 ");
	member_free(m);
}

/* A node that cannot be, no life, one that is a member, or twice the same. The last that can be is one. */
TEST_LOOP(newcomers_that_cannot_be, 0, 5)
{
	struct member *m = member_make(2, 3, -1);

	say_record(m, 0, 1, _i == 3 ? "88" : "8", "");
	if (_i == 0 || _i == 4)
		say(m, 0, record_word(m, 1, 0), m->change.nodes + (_i == 0));
	else if (_i == 2)
		say(m, 0, record_word(m, 1, 0), 1);
	else if (_i == 1)
		say(m, 0, record_word(m, 1, 1), 0);
	seal_record(m, 0, 1);
	say(m, 0, m->columns.proposed.offset, 1);
	wh_change_step(&m->change);
	expect_told(m, _i < 4 ? "broken-0 " : "open-without-with-31.80-as-7000001 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), _i < 4 ? 0 : TICKET(0, 1));
	member_free(m);
}

/* What the next view is made of is what the leader's record says, whatever this node reads of wishes. */
TEST(a_follower_lets_rest_the_members_that_the_leader_lets_rest)
{
	struct member *m = member_make(2, 3, -1);

	say(m, 0, m->columns.wish.offset, 1);
	say_proposal(m, 0, 1, "", "1");
	settle(m);
	expect_told(m, "open-without-rests-0.1-as-7000001 ");
	say_proposal(m, 0, 2, "", "");
	settle(m);
	expect_told(m, "discard "); /* it would change nothing */
	member_free(m);
}

/* The same members go on, with numbers from the beginning. */
TEST(a_worn_view_is_renewed)
{
	struct member *m = member_make(0, 3, -1);

	m->change.wanted = true;
	settle(m);
	expect_told(m, "");
	m->change.ids_exhausted = true;
	m->change.wanted = true;
	settle(m);
	expect_told(m, "open-without-as-7000001 invite-0-as-7000001 ");
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 1);
	member_free(m);
}

TEST(a_renewal_is_opened)
{
	struct member *m = member_make(2, 3, -1);

	say_record(m, 0, 1, "", "");
	say(m, 0, record_word(m, 1, 2 * wh_newcomers_most(&m->view)), 1);
	seal_record(m, 0, 1);
	say(m, 0, m->columns.proposed.offset, 1);
	settle(m);
	expect_told(m, "open-without-as-7000001 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	member_free(m);
}

TEST_SUITE("prepare")
