/* test_change.c - the steps of a change of view at one member, as leader and as follower; the others by hand.
 * test_change_leaders.c has what comes when leaders fail, or do not lead.
 */
#include "tests/support/member.h"

/* ---- as leader ---------------------------------------------------------------------------------------------------------- */

TEST(a_leader_from_suspicion_to_installation)
{
	struct member *m = member_make(0, 5, -1);

	say(m, 4, m->received_num.offset, 3); /* less than any member has, but it is not asked */
	receive(m, 120);
	die(m, 4);
	settle(m);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	ck_assert_uint_eq(mine(m, m->columns.wedged.offset), 1);
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 1);
	ck_assert_uint_eq(mine(m, m->columns.left_out.offset + 8 * 4), 1);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	ck_assert_uint_lt(posted_when(m, m->columns.left_out.offset + 8 * 4),
			  posted_when(m, m->columns.proposed.offset));

	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	settle(m);
	expect_my_decision(m, 0x7000001, 101, 1);
	ck_assert_uint_lt(posted_when(m, m->columns.image.offset), posted_when(m, m->columns.agreed.offset));
	ck_assert_uint_lt(posted_when(m, (uint32_t)cut_offset(m, 0)), posted_when(m, m->columns.agreed.offset));
	expect_told(m, "");

	m->rounds = 3;
	decide(m, "123", 0x7000001, 101, 0);
	wh_change_step(&m->change);
	expect_told(m, "deliver-101-0 ");
	ck_assert_uint_eq(mine(m, m->columns.installed.offset), 0);
	settle(m);
	expect_told(m, "deliver-101-0 deliver-101-0 install ");
	ck_assert_uint_eq(mine(m, m->columns.installed.offset), 1);
	ck_assert_uint_eq(wh_change_step(&m->change), 0);
	for (int stage = 1; stage < WH_STAGES; stage++)
		ck_assert_uint_ge(m->change.stage_ns[stage], m->change.stage_ns[stage - 1]);
	member_free(m);
}

/* All that I trust have stopped, and acknowledged my last attempt: with anything missing there is no decision. */
TEST(a_leader_waits_for_everybody)
{
	struct member *m = member_make(0, 5, -1);

	die(m, 4);
	settle(m);
	acknowledge(m, "12", 4, 100, TICKET(0, 1));
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	say(m, 3, m->columns.acknowledged.offset, TICKET(0, 1));
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0); /* 3 has not stopped */
	say(m, 3, m->columns.wedged.offset, 1);
	say(m, 3, m->columns.acknowledged.offset, TICKET(0, 0));
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0); /* that was another attempt */
	say(m, 3, m->columns.acknowledged.offset, TICKET(0, 1));
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 1);
	decide(m, "12", 0x7000001, 0, 0);
	settle(m);
	decide(m, "3", 0x7000001, 1, 0); /* what it echoes is something else */
	settle(m);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	decide(m, "3", 0x7000001, 0, 0);
	settle(m);
	expect_told(m, "deliver-0-0 install ");
	member_free(m);
}

TEST(the_memory_of_the_next_view_comes_first)
{
	struct member *m = member_make(0, 3, -1);

	m->is_open = false;
	die(m, 1);
	settle(m);
	acknowledge(m, "2", 1, 10, TICKET(0, 1));
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), 0);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	m->is_open = true;
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 1);
	member_free(m);
}

/* Another member fails meanwhile: a new attempt, and the acknowledgements of the last one are worth nothing. */
TEST(another_failure_makes_another_attempt)
{
	struct member *m = member_make(0, 5, -1);

	die(m, 4);
	settle(m);
	acknowledge(m, "12", 4, 100, TICKET(0, 1));
	die(m, 3);
	settle(m);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 suspect-3 discard open-without-3-4-as-7000002 ");
	ck_assert_uint_eq(mine(m, m->columns.left_out.offset + 8 * 4), 1);
	ck_assert_uint_eq(mine(m, m->columns.left_out.offset + 8 * 3), 2);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 2));
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	acknowledge(m, "12", 3, 100, TICKET(0, 2));
	settle(m);
	expect_my_decision(m, 0x7000002, 0, 1); /* I have received nothing */
	decide(m, "12", 0x7000002, 0, 0);
	settle(m);
	expect_told(m, "deliver-0-0 install ");
	member_free(m);
}

/* After the decision it stays in the next view, and is suspected there; its echo is not waited for. */
TEST(a_member_that_fails_after_the_decision_goes_along)
{
	struct member *m = member_make(0, 5, -1);

	die(m, 4);
	settle(m);
	acknowledge(m, "123", 4, 100, TICKET(0, 1));
	settle(m);
	decide(m, "12", 0x7000001, 0, 0);
	settle(m);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	die(m, 3);
	settle(m);
	expect_told(m, "suspect-3 deliver-0-0 install ");
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 1);
	expect_my_decision(m, 0x7000001, 0, 1);
	member_free(m);
}

/* ---- as follower ---------------------------------------------------------------------------------------------------------- */

TEST(a_follower_from_proposal_to_installation)
{
	struct member *m = member_make(2, 5, -1);

	receive(m, 100);
	propose(m, 0, 1, 4);
	settle(m);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	ck_assert_uint_eq(mine(m, m->columns.proposed.offset), 0);
	acknowledge(m, "13", 4, 100, TICKET(0, 1));
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0); /* that is the leader's business */
	decide(m, "1", 0x7000001, 60, 0);
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0); /* as well */
	decide(m, "0", 0x7000001, 60, 0);
	settle(m);
	expect_my_decision(m, 0x7000001, 60, 1);
	expect_told(m, "");
	decide(m, "3", 0x7000001, 60, 0);
	settle(m);
	expect_told(m, "deliver-60-0 install ");
	member_free(m);
}

TEST(a_follower_goes_from_attempt_to_attempt)
{
	struct member *m = member_make(2, 5, -1);

	m->is_open = false;
	propose(m, 0, 1, 4);
	settle(m);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	say(m, 0, m->columns.left_out.offset + 8 * 3, 2); /* of the next attempt, which is not there yet */
	settle(m);
	expect_told(m, "");
	propose(m, 0, 2, 3);
	settle(m);
	expect_told(m, "suspect-3 discard open-without-3-4-as-7000002 ");
	m->is_open = true;
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 2));
	say(m, 0, m->columns.proposed.offset, 0x10001); /* more than an attempt's number can be */
	settle(m);
	expect_told(m, "");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 2));
	member_free(m);
}

/* Words of attempts may come in any order: what belongs to a later one is not taken for part of this. */
TEST(words_of_the_next_attempt_come_early)
{
	struct member *m = member_make(2, 5, -1);

	say(m, 0, m->columns.left_out.offset + 8 * 3, 2);
	propose(m, 0, 1, 4);
	settle(m);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	member_free(m);
}

TEST(only_the_leader_is_followed)
{
	struct member *m = member_make(2, 5, -1);

	receive(m, 100);
	propose(m, 1, 1, 4); /* it may have thought that 0 has failed; I do not */
	settle(m);
	expect_told(m, "suspect-4 wedge ");
	decide(m, "1", 0x7010001, 9, 1);
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	expect_told(m, "");
	propose(m, 0, 1, 4);
	settle(m);
	expect_told(m, "open-without-4-as-7000001 ");
	die(m, 0); /* now it is the leader */
	settle(m);
	expect_told(m, "suspect-0 discard open-without-4-as-7010001 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(1, 1));
	member_free(m);
}

/* A leader that proposes what cannot be, or decides what I have no part in. */
TEST_LOOP(a_broken_leader, 0, 4)
{
	struct member *m = member_make(2, 5, -1);

	receive(m, 100);
	propose(m, 0, 1, 4);
	say(m, 0, m->columns.left_out.offset + 8 * (_i == 0 ? 0 : 2), _i < 2);
	settle(m);
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), _i < 2 ? 0 : TICKET(0, 1));
	if (_i >= 2) {
		ck_assert_ptr_null(strstr(m->told, "broken"));
		decide(m, "0", _i == 2 ? 0x7000002 : 0x7000001, 9, 0);
		if (_i == 3) { /* it changes its mind */
			settle(m);
			expect_my_decision(m, 0x7000001, 9, 1);
			die(m, 0);
			settle(m);
			forget_told(m);
			decide(m, "1", 0x7000001, 10, 1);
		}
		settle(m);
		ck_assert_uint_eq(mine(m, m->columns.agreed.offset), _i == 2 ? 0 : 1);
		ck_assert_uint_eq(mine(m, (uint32_t)cut_offset(m, 0)), _i == 2 ? 0 : 9);
	}
	ck_assert_ptr_nonnull(strstr(m->told, _i == 3 ? "broken-1 " : "broken-0 "));
	ck_assert_ptr_null(strstr(m->told, "deliver"));
	member_free(m);
}

/* A decision is taken only about a view that has its memory open and acknowledged here, and about messages that are here.
 * A member that has installed it is believed as little as the leader. */
TEST_LOOP(a_decision_that_was_not_made, 0, 4)
{
	bool unopened = _i % 2 == 0, installed = _i >= 2;
	struct member *m = member_make(2, 5, -1);

	receive(m, 50);
	m->is_open = !unopened;
	propose(m, 0, 1, 4);
	settle(m);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	decide(m, "013", 0x7000001, unopened ? 50 : 51, 0);
	if (installed)
		say(m, 0, m->columns.installed.offset, 1);
	wh_change_step(&m->change);
	ck_assert_ptr_eq(strstr(m->told, "broken-0 "), m->told);
	ck_assert_ptr_null(strstr(m->told, "deliver"));
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
	member_free(m);
}

/* Nor about one by which I would have delivered too much. */
TEST_LOOP(a_decision_that_takes_back, 0, 2)
{
	struct member *m = member_make(2, 5, -1);

	receive(m, 50);
	wh_sst_publish(&m->sst, &m->pushes, m->delivered_num, 40, m->heartbeat.peers);
	wh_pushes_post(&m->pushes);
	propose(m, 0, 1, 4);
	settle(m);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	decide(m, "013", 0x7000001, 40 - (uint64_t)_i, 0);
	wh_change_step(&m->change);
	ck_assert_int_eq(strstr(m->told, "broken-0 ") == m->told, _i == 1);
	ck_assert_int_eq(mine(m, m->columns.agreed.offset) != 0, _i == 0);
	member_free(m);
}

/* ---- heed ------------------------------------------------------------------------------------------------------------------- */

static void leader_suspects_me(struct member *m)
{
	say_suspected(m, 0, 2, WH_FAILED);
}

static void somebody_suspects_3(struct member *m)
{
	say_suspected(m, 1, 3, WH_FAILED);
}

/* What others have come to suspect is looked at once more before I acknowledge. */
TEST_LOOP(suspicions_are_heeded_before_an_acknowledgement, 0, 2)
{
	struct member *m = member_make(2, 5, -1);

	propose(m, 0, 1, 4);
	m->meanwhile = _i == 0 ? leader_suspects_me : somebody_suspects_3;
	wh_change_step(&m->change);
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 ");
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), 0);
	wh_change_step(&m->change);
	if (_i == 0) {
		expect_told(m, "removed-by-0 ");
		ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), 0);
	} else {
		expect_told(m, "suspect-3 ");
		ck_assert_uint_eq(my_suspicion(m, 3), WH_FAILED);
		ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1)); /* it will propose anew */
	}
	member_free(m);
}

/* What is open here may have been decided. The leader proposes anew, but some member has dropped it: nothing is closed for its sake
 * before that can be said here. */
TEST(suspicions_are_heeded_before_memory_is_opened)
{
	struct member *m = member_make(2, 5, -1);

	propose(m, 0, 1, 4);
	settle(m);
	live(m, 5, "");
	expect_told(m, "suspect-4 wedge open-without-4-as-7000001 no-quorum ");
	say_suspected(m, 1, 0, WH_FAILED);
	propose(m, 0, 2, 3);
	settle(m);
	expect_told(m, "");
	ck_assert_uint_eq(m->change.ticket, TICKET(0, 1));
	ck_assert_uint_eq(mine(m, m->columns.acknowledged.offset), TICKET(0, 1));
	live(m, 1, "13");
	expect_told(m, "quorum suspect-0 ");
	ck_assert_uint_eq(m->change.ticket, TICKET(0, 1));
	member_free(m);
}

/* The leader decides without me; or I cannot say what its suspicions are, for I do not hear a majority. */
TEST_LOOP(suspicions_are_heeded_before_an_echo, 0, 2)
{
	struct member *m = member_make(2, 5, -1);

	receive(m, 100);
	propose(m, 0, 1, 4);
	settle(m);
	acknowledge(m, "13", 4, 100, TICKET(0, 1));
	forget_told(m);
	if (_i == 0) {
		say_suspected(m, 0, 2, WH_FAILED);
		decide(m, "013", 0x7000001, 60, 0);
		settle(m);
		expect_told(m, "removed-by-0 ");
	} else {
		live(m, 5, ""); /* no other member is heard */
		expect_told(m, "no-quorum ");
		say_suspected(m, 0, 3, WH_FAILED);
		decide(m, "01", 0x7000001, 60, 0);
		settle(m);
		expect_told(m, "");
		ck_assert_uint_eq(mine(m, m->columns.agreed.offset), 0);
		live(m, 1, "013");
		expect_told(m, "quorum suspect-3 deliver-60-0 install ");
		ck_assert_uint_eq(my_suspicion(m, 3), WH_FAILED);
	}
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), _i);
	member_free(m);
}

/* The same, for a leader: suspicions of members that acknowledge are in its decision, and suspicions of members that echo
 * are said before it installs. */
TEST_LOOP(a_leader_heeds_suspicions, 0, 2)
{
	struct member *m = member_make(0, 5, -1);

	die(m, 4);
	settle(m);
	if (_i == 1) {
		acknowledge(m, "123", 4, 100, TICKET(0, 1));
		settle(m);
	}
	forget_told(m);
	live(m, 5, "");
	expect_told(m, "no-quorum ");
	say_suspected(m, 1, 3, WH_FAILED);
	if (_i == 0)
		acknowledge(m, "123", 4, 100, TICKET(0, 1));
	else
		decide(m, "123", 0x7000001, 0, 0);
	settle(m);
	expect_told(m, "");
	ck_assert_uint_eq(mine(m, m->columns.agreed.offset), _i);
	live(m, 1, "12");
	expect_told(m, _i == 0 ? "quorum suspect-3 discard open-without-3-4-as-7000002 "
			       : "quorum suspect-3 deliver-0-0 install ");
	member_free(m);
}

TEST_SUITE("change")
