/* test_state_asked.c - the newcomer: which members it asks for a state, and when it gives up. */
#include "tests/unit/state_newcomer.h"

TEST(the_expected_giver_has_its_time_and_is_asked_first)
{
	struct lab *lab = lab_create(LAB_AT_ONCE);
	struct party *party = newcomer(lab);

	wait_ns(lab, LAB_PATIENCE_NS - 20 * WH_NS_PER_MS);
	ck_assert_uint_eq(party->asked_count, 0);
	wait_ns(lab, 30 * WH_NS_PER_MS);
	check_asked(party, 1, 1);
	wait_ns(lab, LAB_PATIENCE_NS - 20 * WH_NS_PER_MS);
	check_asked(party, 1, 1);
	wait_ns(lab, 30 * WH_NS_PER_MS);
	check_asked(party, 2, 2);
	wh_state_declined(party->state, 1); /* that was not asked now */
	lab_steps(lab, 3);
	check_asked(party, 2, 2);
	wh_state_declined(party->state, 2);
	lab_steps(lab, 3);
	check_asked(party, 3, 3);
	ck_assert_int_eq(party->failed, 0);
	state_lab_free(lab);
}

/* Its view begins before that of the newcomer; so does its end. */
TEST_LOOP(a_giver_that_declines_early_is_not_waited_for, 0, 3)
{
	static const uint32_t back[] = {1};
	struct lab *lab = lab_create(LAB_AT_ONCE);
	struct party *party = &lab->parties[0];

	if (_i == 0)
		wh_state_declined(party->state, 1);
	else
		wh_state_gone(party->state, 1);
	if (_i == 2) /* another life of it */
		wh_state_begin_view(party->state, VIEW - 1, back, 1);
	newcomer(lab);
	lab_steps(lab, 2);
	if (_i == 2)
		ck_assert_uint_eq(party->asked_count, 0);
	else
		check_asked(party, 1, 2);
	wh_state_leave(party->state); /* that was for once */
	wh_state_await(party->state, 1, VIEW + 2, SHARD);
	lab_steps(lab, 2);
	ck_assert_uint_eq(party->asked_count, _i < 2);
	state_lab_free(lab);
}

TEST(a_giver_that_is_gone_is_not_waited_for)
{
	struct lab *lab = lab_create(LAB_AT_ONCE);
	struct party *party = newcomer(lab);

	wh_state_gone(party->state, 1);
	party->givers[0] = 2;
	party->givers[1] = 3;
	party->giver_count = 2;
	lab_steps(lab, 2);
	check_asked(party, 1, 2);
	wh_state_gone(party->state, 2);
	lab_steps(lab, 2);
	check_asked(party, 2, 3);
	state_lab_free(lab);
}

/* A giver that is removed may be there, and not be able to go on: others are asked, and what they give is taken instead. */
TEST_LOOP(a_removed_giver_gives_until_another_does, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party), *other;

	pipe_put(pipe, 0, 30);
	lab_steps(lab, 3);
	wh_state_removed(party->state, 2); /* another */
	lab_steps(lab, 3);
	ck_assert_uint_eq(party->asked_count, 0);
	wh_state_removed(party->state, 1);
	lab_steps(lab, 4);
	ck_assert(!pipe->in_closed);
	check_asked(party, 1, 2);
	other = state_lab_open(party, 2, party);
	lab_steps(lab, 4);
	ck_assert(pipe->in_closed);
	pipe_put(other, 0, 7);
	pipe_put(other, 0, 0);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	ck_assert_uint_eq(party->program.restored_bytes, 7);
	pipe_end(pipe);
	pipe_end(other);
	state_lab_free(lab);
}

/* It has left in peace, when it had written all of it, and no other has it. */
TEST_LOOP(what_a_giver_has_written_outlasts_it, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);

	party->giver_count = 0;
	pipe_put(pipe, 0, 30);
	lab_steps(lab, 3);
	wh_state_removed(party->state, 1);
	wait_ns(lab, WH_NS_PER_S); /* longer than all are asked for */
	ck_assert_int_eq(party->failed, 0);
	pipe_put(pipe, 30, 5);
	pipe_put(pipe, 0, 0);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	check_restored(&party->program, 35);
	pipe_end(pipe);
	state_lab_free(lab);
}

/* But of one that says nothing more nothing is hoped for long. */
TEST_LOOP(a_removed_giver_that_is_silent_is_not_waited_for, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);

	party->giver_count = 0;
	pipe_put(pipe, 0, 30);
	lab_steps(lab, 3);
	wh_state_removed(party->state, 1);
	wait_ns(lab, LAB_PATIENCE_NS + 2 * WH_NS_PER_S);
	ck_assert(pipe->in_closed);
	ck_assert_int_eq(party->failed, 1);
	ck_assert_int_eq(party->failed_code, WHORL_SHARD_LOST);
	pipe_end(pipe);
	state_lab_free(lab);
}

static void giver_is_removed(struct program *program, enum whorl_restore_step step)
{
	struct party *party = (struct party *)((char *)program - offsetof(struct party, program));

	if (step == WHORL_RESTORE_END)
		wh_state_removed(party->state, 1);
}

/* The program is just being given the end of it: then it has all, and there may be no other node that has. */
TEST_LOOP(a_removed_giver_may_have_given_all, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);

	party->giver_count = 0;
	party->program.on_restore = giver_is_removed;
	pipe_put(pipe, 0, 30);
	pipe_put(pipe, 0, 0);
	wait_ns(lab, 5 * WH_NS_PER_S);
	ck_assert_int_eq(party->restored, 1);
	ck_assert_int_eq(party->failed, 0);
	ck_assert_uint_eq(word_of(&party->program.begins), 1);
	pipe_end(pipe);
	state_lab_free(lab);
}

static void giver_is_removed_and_another_asks(struct program *program, enum whorl_restore_step step)
{
	struct party *party = (struct party *)((char *)program - offsetof(struct party, program));

	if (step != WHORL_RESTORE_END)
		return;
	wh_state_removed(party->state, 1);
	wh_state_give(party->state, 2);
	wh_state_step(party->state); /* the loop goes on beside it */
	ck_assert_uint_eq(party->declined_count, 0);
}

/* And a newcomer that asks just then, perhaps for the last time, waits for the answer. */
TEST(a_node_that_may_have_been_given_all_does_not_decline)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab), *next = &lab->parties[2];
	struct pipe *pipe = state_lab_open(party, 1, party);

	next->view = VIEW;
	next->shard = SHARD;
	wh_state_await(next->state, 0, VIEW, SHARD);
	party->giver_count = 0;
	party->program.bytes = 30;
	party->program.on_restore = giver_is_removed_and_another_asks;
	pipe_put(pipe, 0, 30);
	pipe_put(pipe, 0, 0);
	LAB_UNTIL(lab, next->restored == 1);
	check_restored(&next->program, 30);
	ck_assert_int_eq(party->restored, 1);
	ck_assert_uint_eq(party->declined_count, 0);
	pipe_end(pipe);
	state_lab_free(lab);
}

/* What it has written may still come. */
TEST_LOOP(a_giver_that_is_gone_may_have_written_all, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);

	lab_steps(lab, 2);
	wh_state_gone(party->state, 1);
	lab_steps(lab, 2);
	pipe_put(pipe, 0, 30);
	pipe_put(pipe, 0, 0);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	ck_assert_uint_eq(party->asked_count, 0);
	pipe_end(pipe);
	state_lab_free(lab);
}

TEST(a_question_that_cannot_be_sent_is_sent_later)
{
	struct lab *lab = lab_create(LAB_AT_ONCE);
	struct party *party = newcomer(lab);

	party->cannot_ask = true;
	wh_state_declined(party->state, 1);
	lab_steps(lab, 5);
	ck_assert_uint_eq(party->asked_count, 0);
	party->cannot_ask = false;
	lab_steps(lab, 5);
	check_asked(party, 1, 2);
	state_lab_free(lab);
}

TEST(when_nobody_has_it_the_shard_is_lost)
{
	struct lab *lab = lab_create(LAB_AT_ONCE);
	struct party *party = newcomer(lab);

	for (uint32_t i = 0; i < 3; i++) { /* 1 was expected, and is not asked in this round */
		wh_state_declined(party->state, i + 1);
		state_lab_step(lab);
	}
	lab_steps(lab, 10);
	check_asked(party, 2, 3); /* not at once again */
	party->giver_count = 2;   /* meanwhile 3 is gone */
	ck_assert_int_eq(party->failed, 0);
	wait_ns(lab, 300 * WH_NS_PER_MS);
	for (uint32_t i = 0; i < 2; i++) {
		check_asked(party, 3 + i, i + 1);
		ck_assert_int_eq(party->failed, 0);
		wh_state_declined(party->state, i + 1);
		state_lab_step(lab);
	}
	ck_assert_int_eq(party->failed, 1);
	ck_assert_int_eq(party->failed_code, WHORL_SHARD_LOST);
	ck_assert_str_eq(party->failed_text, "no node that has it is left");
	party_message(party, 1, 1);
	wait_ns(lab, 5 * WH_NS_PER_S);
	ck_assert_uint_eq(party->asked_count, 4);
	ck_assert_int_eq(party->failed, 1);
	ck_assert_uint_eq(party->upcalled_count, 0);
	state_lab_free(lab);
}

TEST(when_there_is_nobody_the_shard_is_lost)
{
	struct lab *lab = lab_create(LAB_AT_ONCE);
	struct party *party = newcomer(lab);

	party->giver_count = 0;
	wh_state_gone(party->state, 1);
	wait_ns(lab, WH_NS_PER_S);
	ck_assert_int_eq(party->failed, 1);
	ck_assert_int_eq(party->failed_code, WHORL_SHARD_LOST);
	ck_assert_uint_eq(party->asked_count, 0);
	state_lab_free(lab);
}

/* Those that are cut off are asked until they answer, or leave the view. */
/* Cut off, it has no giver left, and may have been removed. */
TEST_LOOP(a_node_that_hears_no_quorum_does_not_take_a_state_for_lost, 0, 2)
{
	struct lab *lab = lab_create(LAB_AT_ONCE);
	struct party *party = newcomer(lab);
	uint32_t givers = party->giver_count;

	party->hears_no_quorum = true;
	party->giver_count = 0;
	wait_ns(lab, 10 * WH_NS_PER_S);
	ck_assert_int_eq(party->failed, 0);
	party->hears_no_quorum = false;
	if (_i == 0) {
		wait_ns(lab, WH_NS_PER_S);
		ck_assert_int_eq(party->failed, 1);
		ck_assert_int_eq(party->failed_code, WHORL_SHARD_LOST);
	} else {
		party->giver_count = givers;
		wait_ns(lab, 300 * WH_NS_PER_MS);
		ck_assert_uint_gt(party->asked_count, 0);
		ck_assert_int_eq(party->failed, 0);
	}
	state_lab_free(lab);
}

TEST(nobody_answers)
{
	struct lab *lab = lab_create(LAB_AT_ONCE);
	struct party *party = newcomer(lab);

	wait_ns(lab, 7 * LAB_PATIENCE_NS);
	ck_assert_uint_eq(party->asked_count, 6);
	for (uint32_t i = 0; i < 6; i++)
		ck_assert_uint_eq(party->asked[i], 1 + i % 3);
	wait_ns(lab, 4 * LAB_PATIENCE_NS);
	ck_assert_int_eq(party->failed, 0); /* a member that is silent may have it */
	state_lab_free(lab);
}

/* A stream of one that was given up on is as good as any. */
TEST_LOOP(late_is_better_than_never, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe;

	wh_state_declined(party->state, 1);
	lab_steps(lab, 2);
	check_asked(party, 1, 2);
	pipe = state_lab_open(party, 1, party);
	pipe_put(pipe, 0, 7);
	pipe_put(pipe, 0, 0);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	pipe_end(pipe);
	state_lab_free(lab);
}

/* However often a program that has it is too slow, it is not lost. */
TEST_LOOP(a_giver_that_stalls_is_asked_again, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe;

	party->giver_count = 1;
	for (size_t i = 0; i < 4; i++) {
		pipe = state_lab_open(party, 1, party);
		pipe_put(pipe, 0, 1);
		wait_ns(lab, LAB_STALL_NS + WH_NS_PER_S);
		ck_assert(pipe->in_closed);
		pipe_end(pipe);
		check_asked(party, i + 1, 1);
	}
	ck_assert_int_eq(party->failed, 0);
	state_lab_free(lab);
}

/* A long failure time-out is a long patience. */
TEST_LOOP(slow_groups_are_patient, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = &lab->parties[0];
	struct pipe *pipe;

	party->hooks.timeout_ns = LAB_STALL_NS;
	party_anew(party);
	newcomer(lab);
	pipe = state_lab_open(party, 1, party);
	wait_ns(lab, (WH_STATE_STALL - 1) * LAB_STALL_NS);
	ck_assert(!pipe->in_closed);
	wait_ns(lab, 2 * LAB_STALL_NS);
	ck_assert(pipe->in_closed);
	pipe_end(pipe);
	state_lab_free(lab);
}

TEST_SUITE("state_asked")
