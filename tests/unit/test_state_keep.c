/* test_state_keep.c - what is delivered while a state is on its way: each message once, in its place, or in the state. */
#include "tests/support/state_lab.h"

#define VIEW 7

/* Party 0, waiting for a state that will say (1: 10, 2: 0, 3: 5). */
static struct party *newcomer(struct lab *lab)
{
	struct party *party = &lab->parties[0];

	party->view = VIEW;
	party->giver_count = 1;
	party->givers[0] = 1;
	wh_state_await(party->state, 1, VIEW, 0);
	return party;
}

static void come(struct party *party, uint64_t view)
{
	struct party as = {.view = view};
	struct pipe *pipe;

	party_sends(&as, 1, 10);
	party_sends(&as, 2, 0);
	party_sends(&as, 3, 5);
	as.position.sequence = 33;
	pipe = state_lab_open(party, 1, &as);
	pipe_put(pipe, 0, 0);
	pipe_end(pipe);
}

static struct party *unordered(struct lab *lab)
{
	lab->parties[0].hooks.ordered = false;
	party_anew(&lab->parties[0]);
	return newcomer(lab);
}

/* The header of what it gives now. */
static void check_given(struct lab *lab, struct party *party, uint64_t view, const struct wh_position *position)
{
	unsigned char bytes[WH_STATE_HEADER_BYTES];
	const unsigned char *from = bytes;
	struct wh_state_parser parser;
	struct pipe *pipe;
	ptrdiff_t count;

	wh_state_give(party->state, 2);
	lab_run_jobs(lab);
	pipe = lab->pipes[--lab->pipe_count];
	count = pipe_read(&pipe->in, bytes, sizeof(bytes));
	wh_state_parser_init(&parser, party->hooks.subgroup, 0, 0);
	ck_assert_int_eq(wh_state_parse(&parser, &from, bytes + count), WH_PART_HEADER);
	ck_assert_uint_eq(parser.header.view, view);
	ck_assert_uint_eq(parser.header.position.sequence, position->sequence);
	ck_assert_uint_eq(parser.header.position.count, position->count);
	ck_assert_uint_eq(party->program.position.view, view); /* as its program was told */
	ck_assert_uint_eq(party->program.position.sequence, position->sequence);
	ck_assert_uint_eq(party->program.position.sender_count, position->count);
	for (uint32_t i = 0; i < position->count; i++) {
		ck_assert_uint_eq(parser.header.position.of[i].id, position->of[i].id);
		ck_assert_uint_eq(parser.header.position.of[i].next, position->of[i].next);
		ck_assert_uint_eq(party->program.next_of[position->of[i].id], position->of[i].next);
	}
	pipe->in.ops->close(&pipe->in);
}

/* Until the state is restored; what was kept is still kept, as upcalls take longer than a pass allows. */
static void restore_only(struct lab *lab, struct party *party)
{
	party->upcall_takes_ns = 2 * party->hooks.upcall_ns;
	while (word_of(&party->program.ends) == 0)
		state_lab_step(lab);
}

TEST_LOOP(what_is_in_the_state_is_dropped_and_the_rest_comes_in_order, 0, 2)
{
	struct lab *lab = lab_create(_i == 0 ? LAB_AT_ONCE : LAB_LATER);
	struct party *party = newcomer(lab);
	size_t at = 0;

	ck_assert(wh_state_keeps(party->state));
	for (uint64_t i = 0; i < 20; i++)
		for (uint32_t sender = 1; sender <= 4; sender++)
			party_message(party, sender, i);
	ck_assert_uint_eq(party->upcalled_count, 0);
	come(party, VIEW);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	for (uint64_t i = 0; i < 20; i++)
		for (uint32_t sender = 1; sender <= 4; sender++)
			if ((sender != 1 || i >= 10) && (sender != 3 || i >= 5))
				check_upcalled(party, at++, sender, i);
	ck_assert_uint_eq(party->upcalled_count, at);
	ck_assert_uint_eq(party->upcalled_before_restored, at);
	ck_assert(!wh_state_keeps(party->state));
	ck_assert_uint_eq(word_of(&wh_state_statistics(party->state)->kept), 0);
	party_message(party, 1, 20);
	check_upcalled(party, at, 1, 20);
	state_lab_free(lab);
}

/* What the position says, and has not come yet, is dropped when it comes, although nothing is kept any more. */
TEST_LOOP(the_position_may_be_ahead, 0, 3)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab);

	party_message(party, 1, 7);
	come(party, VIEW);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	ck_assert_uint_eq(party->upcalled_count, 0);
	ck_assert(wh_state_keeps(party->state));
	ck_assert_uint_eq(word_of(&wh_state_statistics(party->state)->kept), 0);
	party_message(party, 1, 8);
	party_message(party, 2, 0);
	party_message(party, 4, 3);
	party_message(party, 3, 4); /* the last that is in it */
	ck_assert(wh_state_keeps(party->state));
	if (_i == 0) {
		party_message(party, 1, 9);
	} else if (_i == 1) {
		party_message(party, 1, 12); /* 9 to 11 are no messages: claims that were given back */
	} else {
		party->view = VIEW + 1;
		party_message(party, 5, 1); /* in this view nothing comes that is below */
	}
	ck_assert(!wh_state_keeps(party->state));
	party_message(party, 1, 13);
	check_upcalled(party, 0, 2, 0);
	check_upcalled(party, 1, 4, 3);
	if (_i == 1)
		check_upcalled(party, 2, 1, 12);
	else if (_i == 2)
		check_upcalled(party, 2, 5, 1);
	check_upcalled(party, _i == 0 ? 2 : 3, 1, 13);
	ck_assert_uint_eq(party->upcalled_count, _i == 0 ? 3 : 4);
	state_lab_free(lab);
}

/* Unordered, what the newcomer has not delivered may come again in a later view; and it says so to the node to which it gives. */
TEST(unordered_a_view_says_nothing)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = unordered(lab);

	come(party, VIEW);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	party->view++;
	party_message(party, 1, 7);
	party_sends(party, 1, 8);
	party_sends(party, 3, 9);
	party_sends(party, 4, 2);
	check_given(lab, party, VIEW + 1,
		    &(struct wh_position){.count = 3,
					  .of = {{.id = 1, .next = 10}, {.id = 3, .next = 9}, {.id = 4, .next = 2}}});
	party_message(party, 1, 8);
	party_message(party, 1, 9);
	party_message(party, 1, 10);
	ck_assert_uint_eq(party->upcalled_count, 1);
	check_upcalled(party, 0, 1, 10);
	ck_assert(wh_state_keeps(party->state));
	party_message(party, 3, 4);
	ck_assert(!wh_state_keeps(party->state));
	state_lab_free(lab);
}

/* A node that has a state of a later view than its own gives one of that view. */
TEST_LOOP(a_state_of_a_later_view_is_given_on, 0, 2)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = _i == 0 ? newcomer(lab) : unordered(lab);

	party_sends(party, 1, 3);
	party_sends(party, 4, 9); /* no sender there */
	come(party, VIEW + 2);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	check_given(lab, party, VIEW + 2,
		    &(struct wh_position){.count = 3,
					  .of = {{.id = 1, .next = 10}, {.id = 2, .next = 0}, {.id = 3, .next = 5}},
					  .sequence = 33});
	state_lab_free(lab);
}

/* A sender that has been away begins anew: its numbers are compared with those of the same life alone. */
TEST_LOOP(unordered_a_sender_comes_back, 0, 2)
{
	static const uint32_t back[] = {1, 3};
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = unordered(lab);

	party_message(party, 1, 9); /* of the earlier life, in the state, and not */
	party_message(party, 1, 10);
	party_message(party, 4, 0);
	party->view = VIEW + 2;
	wh_state_begin_view(party->state, VIEW + 2, back, 2);
	party_message(party, 1, 0); /* of the later one */
	come(party, VIEW + 2 * (uint64_t)_i);
	lab_steps(lab, 4);
	party_message(party, 3, 1);
	if (_i == 0) { /* the position is of the earlier life */
		check_upcalled(party, 0, 1, 10);
		check_upcalled(party, 1, 4, 0);
		check_upcalled(party, 2, 1, 0);
		check_upcalled(party, 3, 3, 1);
		ck_assert_uint_eq(party->upcalled_count, 4);
		ck_assert(!wh_state_keeps(party->state));
		party_sends(party, 1, 1); /* nor has it to do with what is given */
		check_given(lab, party, VIEW + 2, &(struct wh_position){.count = 1, .of = {{.id = 1, .next = 1}}});
	} else { /* of the later one: all of the earlier is in the state, as is what it does not name */
		ck_assert_uint_eq(party->upcalled_count, 0);
		party_message(party, 1, 10);
		party_message(party, 3, 5);
		ck_assert_uint_eq(party->upcalled_count, 2);
		ck_assert(!wh_state_keeps(party->state));
	}
	state_lab_free(lab);
}

/* Ordered, the view tells, whichever sender has come back since. */
TEST_LOOP(a_sender_comes_back, 0, 2)
{
	static const uint32_t back[] = {1};
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab);

	party_message(party, 1, 9);
	party_message(party, 1, 10);
	party_message(party, 3, 5);
	party_message(party, 1, 11);
	party->view = VIEW + 2;
	wh_state_begin_view(party->state, VIEW + 2, back, 1);
	party_message(party, 1, 0);
	come(party, VIEW + 2 * (uint64_t)_i);
	lab_steps(lab, 4);
	if (_i == 0) {
		ck_assert_uint_eq(party->upcalled_count, 4);
		check_upcalled(party, 0, 1, 10);
		check_upcalled(party, 1, 3, 5);
		check_upcalled(party, 2, 1, 11);
		check_upcalled(party, 3, 1, 0);
		ck_assert(!wh_state_keeps(party->state));
	} else {
		ck_assert_uint_eq(party->upcalled_count, 0);
		ck_assert(wh_state_keeps(party->state));
	}
	state_lab_free(lab);
}

/* A batch, of which some are in the state: the others are upcalled in runs, where they lie. */
TEST(a_batch_is_upcalled_in_runs)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab);
	_Alignas(16) uint64_t texts[8][2];
	struct whorl_message batch[8];
	static const uint32_t senders[] = {1, 2, 4, 1, 1, 4, 4, 3};

	come(party, VIEW);
	lab_steps(lab, 4);
	for (uint64_t i = 0; i < 8; i++)
		batch[i] = lab_message(senders[i], i, VIEW, texts[i]);
	wh_state_keep(party->state, batch, 8);
	ck_assert_uint_eq(party->longest_run, 3);
	check_upcalled(party, 0, 2, 1);
	check_upcalled(party, 1, 4, 2);
	check_upcalled(party, 2, 4, 5);
	check_upcalled(party, 3, 4, 6);
	check_upcalled(party, 4, 3, 7);
	ck_assert_uint_eq(party->upcalled_count, 5);
	ck_assert_ptr_eq(party->upcalled[0].data, texts[1]);
	state_lab_free(lab);
}

TEST(it_catches_up_a_little_in_each_pass)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab);
	size_t next = 0;

	for (uint64_t i = 0; i < 1000; i++)
		party_message(party, 4, i);
	come(party, VIEW);
	restore_only(lab, party);
	for (size_t before = party->upcalled_count; party->restored == 0; before = party->upcalled_count) {
		ck_assert(wh_state_keeps(party->state));
		party_message(party, 4, 1000 + next); /* goes behind all that is kept */
		next++;
		ck_assert_uint_le(party->upcalled_count - before, 64); /* as long as it is kept, one adds no more */
		before = party->upcalled_count;
		state_lab_step(lab);
		ck_assert_uint_le(party->upcalled_count - before, 64);
		ck_assert_uint_lt(next, 100);
	}
	ck_assert_uint_gt(next, 5);
	ck_assert_uint_eq(party->longest_run, 64);
	ck_assert_uint_eq(party->upcalled_count, 1000 + next);
	ck_assert_uint_eq(party->upcalled_before_restored, 1000 + next);
	for (uint64_t i = 0; i < 1000 + next; i++)
		check_upcalled(party, i, 4, i);
	state_lab_free(lab);
}

/* A node that asks meanwhile gets it as soon as this one has all. */
TEST(a_node_that_catches_up_gives_later)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab);

	for (uint64_t i = 0; i < 300; i++)
		party_message(party, 4, i);
	come(party, VIEW);
	restore_only(lab, party);
	ck_assert_int_eq(party->restored, 0);
	wh_state_give(party->state, 2);
	while (party->restored == 0) {
		ck_assert_uint_eq(word_of(&party->program.snapshots), 0);
		state_lab_step(lab);
	}
	lab_steps(lab, 2);
	ck_assert_uint_eq(party->declined_count, 0);
	ck_assert_uint_eq(word_of(&party->program.snapshots), 1);
	state_lab_free(lab);
}

TEST(a_pass_upcalls_as_long_as_it_may)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab);
	uint64_t began;

	for (uint64_t i = 0; i < 1000; i++)
		party_message(party, 4, i);
	come(party, VIEW);
	restore_only(lab, party);
	party->upcall_takes_ns = party->hooks.upcall_ns / 4;
	began = party->upcalled_count;
	wh_state_step(party->state);
	ck_assert_uint_eq(party->upcalled_count - began, 4 * 64); /* the loop's clock went on with them */
	state_lab_free(lab);
}

/* However fast it comes: a delivery upcalls as much as it adds, if passes come rarely. */
TEST(it_catches_up_with_senders_that_do_not_wait)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab);
	_Alignas(16) uint64_t texts[64][2];
	struct whorl_message batch[64];
	uint64_t next = 0;
	int passes = 0;

	for (; next < 300; next++)
		party_message(party, 4, next);
	come(party, VIEW);
	restore_only(lab, party);
	for (; party->restored == 0; passes++) {
		for (int k = 0; k < 3; k++) {
			for (uint64_t i = 0; i < 64; i++, next++)
				batch[i] = lab_message(4, next, VIEW, texts[i]);
			wh_state_keep(party->state, batch, 64);
		}
		ck_assert_int_lt(passes, 10);
		state_lab_step(lab);
	}
	for (uint64_t i = 0; i < next; i++)
		check_upcalled(party, i, 4, i);
	state_lab_free(lab);
}

TEST(what_is_kept_back_is_bounded)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = &lab->parties[0];
	const struct wh_state_stats *stats;

	party->hooks.backlog_max = 2 * WH_BACKLOG_BLOCK;
	party_anew(party);
	newcomer(lab);
	stats = wh_state_statistics(party->state);
	for (uint64_t i = 0; party->failed == 0; i++) {
		ck_assert_uint_lt(i, 100000);
		ck_assert_uint_le(word_of(&stats->kept), 2 * WH_BACKLOG_BLOCK);
		party_message(party, 4, i);
	}
	ck_assert_int_eq(party->failed_code, WHORL_MEMORY);
	ck_assert_ptr_nonnull(strstr(party->failed_text, "backlog_max (524288 bytes)"));
	ck_assert_uint_eq(word_of(&stats->kept), 0);
	party_message(party, 4, 100000);
	come(party, VIEW);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->failed, 1);
	ck_assert_int_eq(party->restored, 0);
	ck_assert_uint_eq(party->upcalled_count, 0);
	state_lab_free(lab);
}

/* Also of a later view, of one that was given to in a later view than its own. */
TEST(a_position_of_a_later_view)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab);

	party_message(party, 1, 3);
	come(party, VIEW + 2);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	for (uint64_t i = 0; i < 2; i++) {
		party_message(party, 1, 4 + i);
		party->view++;
	}
	party_message(party, 1, 9);
	party_message(party, 1, 10);
	ck_assert_uint_eq(party->upcalled_count, 1);
	check_upcalled(party, 0, 1, 10);
	ck_assert(wh_state_keeps(party->state)); /* sender 3 has 4 still to come */
	party->view++;
	party_message(party, 3, 6);
	ck_assert(!wh_state_keeps(party->state));
	ck_assert_uint_eq(party->upcalled_count, 2);
	state_lab_free(lab);
}

/* All of the views before it is in the state, although none of its senders has sent anything in it. */
TEST(a_position_at_the_beginning_of_a_later_view)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = newcomer(lab), as = {.view = VIEW + 1};
	struct pipe *pipe;

	party_sends(&as, 2, 0);
	pipe = state_lab_open(party, 1, &as);
	pipe_put(pipe, 0, 0);
	pipe_end(pipe);
	party_message(party, 1, 3);
	lab_steps(lab, 4);
	ck_assert_int_eq(party->restored, 1);
	party_message(party, 1, 4);
	ck_assert_uint_eq(party->upcalled_count, 0);
	party->view++;
	party_message(party, 2, 0);
	ck_assert_uint_eq(party->upcalled_count, 1);
	ck_assert(!wh_state_keeps(party->state));
	state_lab_free(lab);
}

TEST_SUITE("state_keep")
