/* test_state_await.c - the newcomer: which stream it takes, and what comes of it. Which members it asks: test_state_asked.c. */
#include "tests/unit/state_newcomer.h"

/* ---- streams -------------------------------------------------------------------------------------------------------- */

TEST_CASE("streams");

TEST_LOOP(a_state_goes_from_one_to_the_other, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = newcomer(lab), *giver = &lab->parties[1];
	const struct wh_state_stats *stats = wh_state_statistics(party->state);

	lab->capacity = _i < 2 ? 3 : 1 << 20;
	giver->view = VIEW;
	giver->shard = SHARD;
	giver->program.bytes = 30000;
	wh_state_give(giver->state, 0);
	state_lab_step(lab);
	state_lab_step(lab);
	if (_i < 2) {
		ck_assert_uint_eq(word_of(&stats->takes), 1);
		ck_assert_uint_eq(word_of(&stats->from), 1);
		ck_assert_int_eq(party->restored, 0);
	}
	LAB_UNTIL(lab, party->restored > 0);
	lab_steps(lab, 3);
	check_restored(&party->program, 30000);
	ck_assert_uint_eq(word_of(&party->program.begins), 1);
	ck_assert_uint_eq(word_of(&party->program.ends), 1);
	ck_assert_uint_eq(word_of(&giver->program.released), 1);
	ck_assert_uint_eq(word_of(&stats->takes), 0);
	ck_assert_uint_eq(word_of(&stats->taken), 30000);
	ck_assert_uint_eq(word_of(&wh_state_statistics(giver->state)->given), 30000);
	ck_assert_uint_eq(party->asked_count, 0);
	ck_assert(!wh_state_keeps(party->state));
	ck_assert_uint_ge(word_of(&party->wakes), 1);
	ck_assert_int_eq(party->restored, 1);
	ck_assert_uint_eq(wh_state_step(party->state), 0);
	ck_assert_ptr_nonnull(strstr(party->log, "takes the state of orders from node 1\n"));
	ck_assert_ptr_nonnull(strstr(party->log, "has taken the state of orders from node 1: 30.0 kB in "));
	state_lab_free(lab);
}

TEST_LOOP(a_job_on_the_loop_does_not_wait, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);
	uint64_t wakes;

	pipe->blocks = true;
	lab_steps(lab, 5);
	wakes = word_of(&party->wakes);
	ck_assert_uint_gt(wakes, 0);
	ck_assert_uint_eq(state_lab_step(lab), 0);
	lab_steps(lab, 3);
	ck_assert_uint_eq(word_of(&party->wakes), wakes);
	pipe_put(pipe, 0, 10);
	lab_steps(lab, 2);
	ck_assert_uint_eq(word_of(&party->wakes), wakes + 1);
	ck_assert_uint_eq(word_of(&pipe->waits), 0);
	pipe_end(pipe);
	state_lab_free(lab);
}

/* As much as is in a buffer: others have their turn. */
TEST(a_job_on_the_loop_does_a_little)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);
	size_t before = 0;

	for (size_t at = 0; at < 600000; at += 200000)
		pipe_put(pipe, at, 200000);
	pipe_put(pipe, 0, 0);
	for (; party->restored == 0; before = party->program.restored_bytes) {
		state_lab_step(lab);
		ck_assert_uint_le(party->program.restored_bytes - before, WH_STATE_PIECE);
	}
	check_restored(&party->program, 600000);
	pipe_end(pipe);
	state_lab_free(lab);
}

TEST_LOOP(an_empty_state, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab), *giver = &lab->parties[1];

	giver->view = VIEW;
	giver->shard = SHARD;
	wh_state_give(giver->state, 0);
	LAB_UNTIL(lab, party->restored > 0);
	ck_assert_uint_eq(word_of(&party->program.begins), 1);
	ck_assert_uint_eq(word_of(&party->program.ends), 1);
	ck_assert_uint_eq(party->program.restored_bytes, 0);
	state_lab_free(lab);
}

TEST_LOOP(a_stream_that_is_cut_off_costs_its_giver, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);

	pipe_put(pipe, 0, 1000);
	lab_steps(lab, 3);
	ck_assert_uint_eq(word_of(&party->program.begins), 1);
	if (_i < 2)
		pipe_put(pipe, 1000, 0x30); /* in the middle of a piece, or between two */
	pipe_end(pipe);
	lab_steps(lab, 4);
	check_asked(party, 1, 2); /* not 1 again: it had its turn */
	ck_assert_int_eq(party->restored, 0);
	ck_assert(wh_state_keeps(party->state));
	ck_assert_ptr_nonnull(
		strstr(party->log, "does not take the state of orders from node 1 any more: it ended too early"));
	pipe = state_lab_open(party, 2, party);
	pipe_put(pipe, 0, 500);
	pipe_put(pipe, 0, 0);
	lab_steps(lab, 4);
	ck_assert_uint_eq(word_of(&party->program.begins), 2);
	check_restored(&party->program, 500);
	ck_assert_int_eq(party->restored, 1);
	ck_assert(pipe->in_closed);
	pipe_end(pipe);
	state_lab_free(lab);
}

/* Nothing of a stream that makes no sense reaches the program. */
TEST_LOOP(a_hostile_stream_costs_its_giver, 0, 8)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = newcomer(lab), as = {.view = VIEW, .shard = SHARD};
	struct pipe *pipe;

	if (_i / 2 == 0)
		as.shard++;
	else if (_i / 2 == 1)
		party_sends(&as, 256, 1);
	else if (_i / 2 == 2)
		as.position = (struct wh_position){.count = 2, .of = {{.id = 1, .next = 1}, {.id = 1, .next = 2}}};
	pipe = state_lab_open(party, 1, &as);
	if (_i / 2 == 3)
		pipe_write(&pipe->out, "\377\377\377\177", 4); /* a piece of 2 GB */
	lab_steps(lab, 4);
	ck_assert(pipe->in_closed);
	ck_assert_uint_eq(word_of(&party->program.begins), _i / 2 == 3);
	check_asked(party, 1, 2);
	pipe_end(pipe);
	state_lab_free(lab);
}

TEST_LOOP(a_stream_of_a_view_that_is_over_costs_nobody, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab), as = {.view = VIEW - 1, .shard = SHARD};
	struct pipe *pipe = state_lab_open(party, 1, &as);

	pipe_put(pipe, 0, 0);
	lab_steps(lab, 4);
	ck_assert(pipe->in_closed);
	pipe_end(pipe);
	ck_assert_uint_eq(word_of(&party->program.begins), 0);
	ck_assert_uint_eq(party->asked_count, 0); /* the right one may still come */
	wait_ns(lab, LAB_PATIENCE_NS);
	check_asked(party, 1, 1);
	pipe = state_lab_open(party, 1, party);
	pipe_put(pipe, 0, 0);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	pipe_end(pipe);
	state_lab_free(lab);
}

TEST_LOOP(a_stream_that_stalls_is_given_up, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);

	for (int i = 0; i < 4; i++) { /* slow is not dead */
		wait_ns(lab, LAB_STALL_NS - WH_NS_PER_S);
		ck_assert_uint_eq(party->asked_count, 0);
		pipe_put(pipe, 0, 1);
		lab_steps(lab, 2);
	}
	wait_ns(lab, LAB_STALL_NS - WH_NS_PER_S);
	ck_assert_uint_eq(party->asked_count, 0);
	wait_ns(lab, 2 * WH_NS_PER_S);
	check_asked(party, 1, 2);
	ck_assert(pipe->in_closed);
	pipe_end(pipe);
	state_lab_free(lab);
}

TEST_LOOP(a_stream_may_be_early, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = &lab->parties[0], as = {.view = VIEW, .shard = SHARD}, stale = {.view = VIEW - 2};
	struct pipe *older = state_lab_open(party, 2, &stale), *pipe = state_lab_open(party, 1, &as);

	ck_assert(older->in_closed); /* the later one is as good, or better */
	pipe_end(older);
	pipe_put(pipe, 0, 0);
	lab_steps(lab, 3);
	ck_assert(!pipe->in_closed);
	if (_i < 2) {
		party->view = VIEW;
		wh_state_leave(party->state); /* another shard, that it was in before */
		wh_state_await(party->state, 1, VIEW, SHARD);
		lab_steps(lab, 4);
		ck_assert_int_eq(party->restored, 1);
	} else { /* no newcomer wanted it */
		wait_ns(lab, LAB_PATIENCE_NS + WH_NS_PER_MS);
		ck_assert_int_eq(party->restored, 0);
		ck_assert_uint_eq(wh_state_step(party->state), 0);
	}
	ck_assert(pipe->in_closed);
	ck_assert_uint_eq(word_of(&party->program.begins), _i < 2);
	pipe_end(pipe);
	state_lab_free(lab);
}

/* While one is read another has a while to be needed. */
TEST_LOOP(a_second_stream, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = newcomer(lab);
	struct pipe *first = state_lab_open(party, 1, party), *second;

	pipe_put(first, 0, 10);
	lab_steps(lab, 3);
	second = state_lab_open(party, 2, party);
	pipe_put(second, 0, 20);
	pipe_put(second, 0, 0);
	lab_steps(lab, 3);
	ck_assert(!second->in_closed);
	if (_i < 2) {
		pipe_end(first);
		lab_steps(lab, 4);
		check_restored(&party->program, 20);
		ck_assert_uint_eq(party->asked_count, 0);
	} else {
		wait_ns(lab, LAB_PATIENCE_NS + WH_NS_PER_MS);
		ck_assert(second->in_closed);
		pipe_put(first, 0, 0);
		pipe_end(first);
		lab_steps(lab, 4);
		check_restored(&party->program, 10);
	}
	ck_assert_int_eq(party->restored, 1);
	pipe_end(second);
	state_lab_free(lab);
}

/* ---- the program, and others ---------------------------------------------------------------------------------------- */

TEST_CASE("others");

TEST_LOOP(a_program_that_cannot_restore, 0, 6)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);

	party->program.refuses = _i / 2; /* each of the steps */
	pipe_put(pipe, 0, 10);
	pipe_put(pipe, 0, 0);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->failed, 1);
	ck_assert_int_eq(party->failed_code, WHORL_SYSTEM);
	ck_assert_str_eq(party->failed_text, "the program could not restore it");
	ck_assert_int_eq(party->restored, 0);
	ck_assert(pipe->in_closed);
	party_message(party, 1, 1);
	ck_assert_uint_eq(party->upcalled_count, 0);
	ck_assert_uint_eq(word_of(&wh_state_statistics(party->state)->kept), 0);
	wh_state_await(party->state, 1, VIEW + 1, SHARD); /* for good */
	lab_steps(lab, 4);
	ck_assert(wh_state_keeps(party->state));
	ck_assert_int_eq(party->failed, 1);
	pipe_end(pipe);
	state_lab_free(lab);
}

/* As long as the one that is to give to it may, it is about to have it, though no stream is there yet. */
TEST_LOOP(a_node_that_waits_in_vain_itself_declines, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = newcomer(lab);

	wh_state_give(party->state, 2);
	lab_steps(lab, 2);
	ck_assert_uint_eq(party->declined_count, 0);
	if (_i < 2)
		wh_state_declined(party->state, 1);
	else
		lab_advance(lab, LAB_PATIENCE_NS);
	lab_steps(lab, 4);
	ck_assert_uint_eq(party->declined_count, 1);
	ck_assert_uint_eq(party->declined[0], 2);
	ck_assert_uint_eq(word_of(&party->program.snapshots), 0);
	state_lab_free(lab);
}

/* A newcomer that asks one to which a state is just coming waits for it; and gets what was restored, as much as was. */
TEST_LOOP(a_node_that_is_about_to_have_the_state_gives_it_then, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = newcomer(lab), *next = &lab->parties[2], as = {.view = VIEW, .shard = SHARD};
	struct pipe *pipe;

	party_sends(&as, 1, 100);
	party_sends(&as, 9, 50);
	party_sends(party, 1, 60); /* what it has delivered itself is less, and it knows nothing of 9 */
	party_sends(party, 4, 8);
	pipe = state_lab_open(party, 1, &as);
	lab_steps(lab, 3);
	wh_state_give(party->state, 2);
	lab_steps(lab, 3);
	ck_assert_uint_eq(party->declined_count, 0);
	if (_i < 2) {
		pipe_put(pipe, 0, 0);
		next->view = VIEW;
		next->shard = SHARD;
		wh_state_await(next->state, 0, VIEW, SHARD);
		LAB_UNTIL(lab, next->restored > 0);
		for (uint64_t index = 99; index <= 100; index++)
			party_message(next, 1, index);
		for (uint64_t index = 49; index <= 50; index++)
			party_message(next, 9, index);
		for (uint64_t index = 7; index <= 8; index++)
			party_message(next, 4, index);
		ck_assert_uint_eq(next->upcalled_count, 3);
		check_upcalled(next, 0, 1, 100);
		check_upcalled(next, 1, 9, 50);
		check_upcalled(next, 2, 4, 8);
	} else {
		pipe_end(pipe);
		pipe = NULL;
		lab_steps(lab, 4);
		ck_assert_uint_eq(party->declined_count, 1); /* it is not */
	}
	if (pipe != NULL)
		pipe_end(pipe);
	state_lab_free(lab);
}

TEST_LOOP(a_node_that_leaves_the_shard_is_not_restored, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);

	party_message(party, 1, 1);
	ck_assert_uint_gt(word_of(&wh_state_statistics(party->state)->kept), 0);
	lab_steps(lab, 3);
	wh_state_leave(party->state);
	ck_assert(!wh_state_keeps(party->state));
	ck_assert_uint_eq(word_of(&wh_state_statistics(party->state)->kept), 0);
	pipe_put(pipe, 0, 0);
	wait_ns(lab, 10 * WH_NS_PER_S);
	ck_assert_int_eq(party->restored, 0);
	ck_assert_int_eq(party->failed, 0);
	ck_assert_uint_eq(party->upcalled_count, 0);
	ck_assert_uint_eq(party->asked_count, 0);
	ck_assert(pipe->in_closed);
	pipe_end(pipe);
	/* And comes again: */
	party->view = VIEW + 2;
	wh_state_await(party->state, 1, VIEW + 2, SHARD);
	pipe = state_lab_open(party, 1, party);
	pipe_put(pipe, 0, 5);
	pipe_put(pipe, 0, 0);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	check_restored(&party->program, 5);
	pipe_end(pipe);
	state_lab_free(lab);
}

/* From one shard to another of the same subgroup. */
TEST_LOOP(a_node_that_awaits_another_state_forgets_the_first, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *first = state_lab_open(party, 1, party), *second;

	pipe_put(first, 0, 10);
	party_message(party, 9, 1);
	lab_steps(lab, 3);
	party->view++;
	party->shard++;
	wh_state_await(party->state, 2, VIEW + 1, SHARD + 1);
	party_message(party, 9, 2);
	pipe_put(first, 0, 0);
	lab_steps(lab, 4);
	ck_assert(first->in_closed);
	ck_assert_int_eq(party->restored, 0);
	second = state_lab_open(party, 2, party);
	pipe_put(second, 0, 20);
	pipe_put(second, 0, 0);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	check_restored(&party->program, 20);
	ck_assert_uint_eq(party->upcalled_count, 1);
	check_upcalled(party, 0, 9, 2);
	pipe_end(first);
	pipe_end(second);
	state_lab_free(lab);
}

/* No node has been in the shard, and this node in none: there is nothing to forget. */
TEST_LOOP(a_node_that_begins_in_its_first_shard_is_not_asked_to_forget, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = &lab->parties[0];

	wh_state_begin(party->state, VIEW, SHARD);
	ck_assert(!wh_state_keeps(party->state));
	ck_assert(!wh_state_restores(party->state));
	lab_steps(lab, 4);
	ck_assert_uint_eq(word_of(&party->program.begins), 0);
	ck_assert_int_eq(party->restored, 0);
	state_lab_free(lab);
}

/* It has a state of another shard, or awaits one, or is in none meanwhile. */
TEST_LOOP(a_node_that_moves_into_a_fresh_shard_restores_the_empty_state, 0, 6)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = &lab->parties[0];

	if (_i < 2)
		wh_state_begin(party->state, VIEW, SHARD);
	else
		newcomer(lab);
	if (_i >= 4)
		wh_state_leave(party->state);
	party->view = VIEW + 1;
	wh_state_begin(party->state, VIEW + 1, SHARD + 1);
	ck_assert(wh_state_keeps(party->state));
	ck_assert(wh_state_restores(party->state));
	ck_assert(wh_state_is_busy(party->state));
	party_message(party, 9, 1);
	wh_state_give(party->state, 2); /* the node that asks has it then */
	ck_assert_uint_eq(party->upcalled_count, 0);
	LAB_UNTIL(lab, party->restored > 0);
	ck_assert_uint_eq(word_of(&party->program.begins), 1);
	ck_assert_uint_eq(word_of(&party->program.ends), 1);
	ck_assert_uint_eq(party->program.restored_bytes, 0);
	ck_assert_uint_eq(party->upcalled_count, 1);
	check_upcalled(party, 0, 9, 1);
	ck_assert(!wh_state_keeps(party->state));
	lab_steps(lab, 3);
	ck_assert_uint_eq(word_of(&party->program.snapshots), 1);
	ck_assert_uint_eq(party->declined_count, 0);
	ck_assert_uint_eq(party->asked_count, 0);
	ck_assert_int_eq(party->failed, 0);
	state_lab_free(lab);
}

/* The stream of the first shard has no part in it any more. */
TEST_LOOP(what_is_restored_of_the_shard_before_ends_first, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *pipe = state_lab_open(party, 1, party);

	pipe_put(pipe, 0, 10);
	lab_steps(lab, 3);
	wh_state_begin(party->state, VIEW + 1, SHARD + 1);
	pipe_put(pipe, 0, 0);
	LAB_UNTIL(lab, party->restored > 0);
	ck_assert(pipe->in_closed);
	ck_assert_uint_eq(word_of(&party->program.begins), 2);
	ck_assert_uint_eq(word_of(&party->program.ends), 1);
	ck_assert_uint_eq(party->program.restored_bytes, 0);
	pipe_end(pipe);
	state_lab_free(lab);
}

TEST_LOOP(a_program_that_cannot_forget, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = &lab->parties[0];

	party->program.refuses = _i / 2 == 0 ? WHORL_RESTORE_BEGIN : WHORL_RESTORE_END;
	wh_state_begin(party->state, VIEW, SHARD);
	wh_state_begin(party->state, VIEW + 1, SHARD + 1);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->failed, 1);
	ck_assert_int_eq(party->failed_code, WHORL_SYSTEM);
	ck_assert_uint_eq(word_of(&party->program.ends), _i / 2);
	state_lab_free(lab);
}

TEST_LOOP(stop_closes_what_it_has, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = newcomer(lab);
	struct pipe *first = state_lab_open(party, 1, party), *second, *third;

	lab_steps(lab, 3);
	second = state_lab_open(party, 2, party);
	wh_state_stop(party->state);
	lab_run_jobs(lab);
	ck_assert(first->in_closed);
	ck_assert(second->in_closed);
	third = state_lab_open(party, 3, party);
	ck_assert(third->in_closed);
	party_message(party, 1, 1);
	lab_steps(lab, 3);
	ck_assert_uint_eq(party->upcalled_count, 0);
	ck_assert_uint_eq(word_of(&party->jobs), 0);
	ck_assert_int_eq(party->failed, 0);
	pipe_end(first);
	pipe_end(second);
	pipe_end(third);
	ck_assert_uint_eq(word_of(&wh_state_statistics(party->state)->kept), 0);
	state_lab_free(lab);
}

/* One with nothing under way. Nothing is upcalled without a state. */
TEST(after_stop_there_is_nothing_more)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = &lab->parties[1];
	struct pipe *pipe;

	wh_state_stop(party->state);
	pipe = state_lab_open(party, 3, party);
	ck_assert(pipe->in_closed);
	pipe_end(pipe);
	wh_state_await(party->state, 2, VIEW, SHARD);
	party_message(party, 1, 1);
	ck_assert(wh_state_keeps(party->state));
	ck_assert_uint_eq(party->upcalled_count, 0);
	ck_assert_uint_eq(word_of(&wh_state_statistics(party->state)->kept), 0);
	wait_ns(lab, 10 * WH_NS_PER_S);
	ck_assert_uint_eq(party->asked_count, 0);
	state_lab_free(lab);
}

TEST_SUITE("state_await")
