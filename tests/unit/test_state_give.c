/* test_state_give.c - the giver: snapshots, streams, which newcomers are declined; each snapshot is released once
 * (lab_free counts). */
#include "tests/support/state_lab.h"

static enum lab_jobs kinds[] = {LAB_AT_ONCE, LAB_LATER};

/* A party with the position (1: 10, 2: 20) in view 7, shard 3, and a state of 100 KB. */
static struct party *giver(struct lab *lab)
{
	struct party *party = &lab->parties[0];

	party->view = 7;
	party->shard = 3;
	party->program.bytes = 100000;
	party_sends(party, 1, 10);
	party_sends(party, 2, 20);
	return party;
}

struct reader { /* of a stream, by hand */
	struct wh_state_parser parser;
	unsigned char state[200000];
	size_t bytes;
	int headers, ends;
	bool closed;
};

/* Reads what there is. */
static void read_on(struct reader *reader, struct pipe *pipe)
{
	unsigned char bytes[1000];
	ptrdiff_t got;

	if (reader->headers == 0 && reader->parser.at == WH_AT_HEADER && reader->parser.held == 0)
		wh_state_parser_init(&reader->parser, 5, 3, 7);
	while ((got = pipe_read(&pipe->in, bytes, sizeof(bytes))) > 0) {
		const unsigned char *from = bytes;
		enum wh_state_part part;

		while ((part = wh_state_parse(&reader->parser, &from, bytes + got)) != WH_PART_NONE) {
			ck_assert_int_ne(part, WH_PART_BROKEN);
			ck_assert_int_ne(part, WH_PART_STALE);
			reader->headers += part == WH_PART_HEADER;
			reader->ends += part == WH_PART_END;
			if (part == WH_PART_BYTES) {
				memcpy(reader->state + reader->bytes, reader->parser.bytes, reader->parser.count);
				reader->bytes += reader->parser.count;
			}
		}
	}
	reader->closed = got < 0;
}

static void check_state(const struct reader *reader, size_t bytes)
{
	ck_assert_int_eq(reader->headers, 1);
	ck_assert_int_eq(reader->ends, 1);
	ck_assert_uint_eq(reader->bytes, bytes);
	for (size_t i = 0; i < bytes; i++)
		if (reader->state[i] != lab_byte(i))
			ck_abort_msg("byte %zu of the state is wrong", i);
}

static void close_in(struct lab *lab, size_t pipe)
{
	lab->pipes[pipe]->in.ops->close(&lab->pipes[pipe]->in);
}

/* The passes of the giver alone: streams are not handed over. */
static void pass(struct lab *lab, struct party *party, int count)
{
	while (count-- > 0) {
		lab_advance(lab, 1000);
		lab_run_jobs(lab);
		wh_state_step(party->state);
	}
}

TEST_LOOP(the_whole_state_is_given, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = giver(lab);
	struct reader *reader = calloc(1, sizeof(*reader));
	const struct wh_state_stats *stats = wh_state_statistics(party->state);

	lab->capacity = _i < 2 ? 7 : 1 << 20;
	party->program.chunk = 4099;
	wh_state_give(party->state, 2);
	ck_assert_uint_eq(lab->pipe_count, 1);
	ck_assert_uint_eq(lab->pipes[0]->to, 2);
	ck_assert_uint_eq(wh_load_relaxed(&stats->gives), 1);
	while (!reader->closed) {
		read_on(reader, lab->pipes[0]);
		pass(lab, party, 1);
	}
	check_state(reader, 100000);
	ck_assert_uint_eq(reader->parser.header.view, 7);
	ck_assert_uint_eq(reader->parser.header.position.count, 2);
	ck_assert_uint_eq(reader->parser.header.position.of[1].next, 20);
	pass(lab, party, 2);
	ck_assert_uint_eq(wh_load_relaxed(&stats->given), 100000);
	ck_assert_uint_eq(wh_load_relaxed(&stats->gives), 0);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.released), 1);
	ck_assert_ptr_nonnull(strstr(party->log, "gives the state of orders to node 2\n"));
	ck_assert_ptr_nonnull(strstr(party->log, "has given the state of orders to node 2: 100 kB in 0."));
	ck_assert_uint_eq(wh_state_step(party->state), 0);
	lab_advance(lab, 1);
	close_in(lab, 0);
	lab->pipe_count = 0;
	state_lab_free(lab);
	free(reader);
}

/* The loop's thread, where a job has no other. When it got further the loop is woken, and comes again at once. */
TEST_LOOP(a_job_on_the_loop_does_not_wait, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = giver(lab);
	struct pipe *pipe;
	unsigned char bytes[1000];
	uint64_t wakes;

	lab->capacity = 1000;
	wh_state_give(party->state, 2);
	pipe = lab->pipes[0];
	pipe->blocks = true;
	pass(lab, party, 2);
	wakes = wh_load_relaxed(&party->wakes);
	ck_assert_uint_gt(wakes, 0);
	pass(lab, party, 5); /* it is full */
	ck_assert_uint_eq(wh_state_step(party->state), 0);
	lab_run_jobs(lab);
	ck_assert_uint_eq(wh_load_relaxed(&party->wakes), wakes);
	ck_assert_int_eq(pipe_read(&pipe->in, bytes, sizeof(bytes)), 1000);
	pass(lab, party, 1);
	lab_run_jobs(lab);
	ck_assert_uint_eq(wh_load_relaxed(&party->wakes), wakes + 1);
	ck_assert_uint_eq(wh_state_step(party->state), 1);
	ck_assert_uint_eq(wh_load_relaxed(&pipe->waits), 0);
	state_lab_free(lab);
}

/* A piece: others have their turn. */
TEST(a_job_on_the_loop_does_a_little)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = giver(lab);
	const struct wh_state_stats *stats = wh_state_statistics(party->state);
	uint64_t before = 0;

	lab->capacity = 1 << 20;
	party->program.chunk = 1000;
	wh_state_give(party->state, 2);
	for (int passes = 0; wh_load_relaxed(&party->program.released) == 0; passes++) {
		pass(lab, party, 1);
		ck_assert_uint_le(wh_load_relaxed(&stats->given) - before, 1000);
		before = wh_load_relaxed(&stats->given);
		ck_assert_int_lt(passes, 1000);
	}
	ck_assert_uint_eq(before, 100000);
	state_lab_free(lab);
}

TEST(the_state_is_that_of_the_moment)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = giver(lab);
	struct reader *reader = calloc(1, sizeof(*reader));

	party->opens = WHORL_AGAIN; /* the stream opens later, and that is no other moment */
	wh_state_give(party->state, 2);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots), 1);
	party->position.of[0].next = 11;
	party->view = 8;
	pass(lab, party, 3);
	ck_assert_uint_eq(lab->pipe_count, 0);
	party->opens = WHORL_OK;
	for (int i = 0; i < 100; i++) {
		pass(lab, party, 1);
		read_on(reader, lab->pipes[0]);
	}
	check_state(reader, 100000);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots), 1);
	ck_assert_uint_eq(reader->parser.header.view, 7);
	ck_assert_uint_eq(reader->parser.header.position.of[0].next, 10);
	state_lab_free(lab);
	free(reader);
}

TEST_LOOP(several_are_given_to_at_once, 0, 2)
{
	struct lab *lab = lab_create(kinds[_i]);
	struct party *party = giver(lab);
	struct reader *readers = calloc(3, sizeof(*readers));

	for (uint32_t node = 1; node <= 3; node++) {
		wh_state_give(party->state, node);
		pass(lab, party, 3);
	}
	ck_assert_uint_eq(lab->pipe_count, 3);
	ck_assert_uint_eq(wh_load_relaxed(&wh_state_statistics(party->state)->gives), 3);
	ck_assert_uint_eq(party->gives, 3);
	for (int i = 0; i < 100; i++) {
		pass(lab, party, 1);
		for (int r = 0; r < 3; r++)
			read_on(&readers[r], lab->pipes[r]);
	}
	for (int r = 0; r < 3; r++)
		check_state(&readers[r], 100000);
	state_lab_free(lab);
	free(readers);
}

TEST(a_node_that_has_no_snapshot_declines)
{
	struct lab *lab = lab_create(LAB_AT_ONCE);
	struct party *party = giver(lab);

	party->program.none = true;
	wh_state_give(party->state, 1);
	ck_assert_uint_eq(party->declined_count, 1);
	ck_assert_uint_eq(party->declined[0], 1);
	party->program.none = false;
	party->no_member = true;
	party->cannot_decline = true;
	wh_state_give(party->state, 2);
	wh_state_give(party->state, 3);
	pass(lab, party, 2);
	ck_assert_uint_eq(party->declined_count, 1);
	wh_state_gone(party->state, 3); /* no node to be told */
	party->cannot_decline = false;
	pass(lab, party, 3);
	ck_assert_uint_eq(party->declined_count, 2);
	ck_assert_uint_eq(party->declined[1], 2);
	ck_assert_uint_eq(lab->pipe_count, 0);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots), 0);
	ck_assert_uint_eq(wh_state_step(party->state), 0);
	state_lab_free(lab);
}

TEST_LOOP(a_stream_that_cannot_be_opened, 0, 6)
{
	static const struct {
		enum whorl_result result;
		size_t declined;
	} cases[] = {{WHORL_MEMBER_GONE, 0}, {WHORL_SYSTEM, 1}, {WHORL_MEMORY, 1}};
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = giver(lab);

	party->opens = cases[_i / 2].result;
	wh_state_give(party->state, 2);
	pass(lab, party, 3);
	ck_assert_uint_eq(party->declined_count, cases[_i / 2].declined);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots), 1);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.released), 1);
	ck_assert_uint_eq(wh_load_relaxed(&wh_state_statistics(party->state)->gives), 0);
	ck_assert_uint_eq(party->gives, 0);
	ck_assert_uint_eq(wh_state_step(party->state), 0);
	state_lab_free(lab);
}

/* Its stream ends without an end. */
TEST_LOOP(a_program_that_cannot_read, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = giver(lab);
	struct reader *reader = calloc(1, sizeof(*reader));

	party->program.read_fails = _i < 2 ? -1 : (ptrdiff_t)WH_STATE_PIECE + 1;
	party->program.fails_at = 3000;
	party->program.chunk = 1000;
	wh_state_give(party->state, 2);
	for (int i = 0; i < 100; i++) {
		pass(lab, party, 1);
		read_on(reader, lab->pipes[0]);
	}
	ck_assert(reader->closed);
	ck_assert_uint_eq(reader->bytes, 3000);
	ck_assert_int_eq(reader->ends, 0);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.released), 1);
	ck_assert_ptr_nonnull(strstr(party->log, "does not give the state of orders to node 2 any more: the program"));
	state_lab_free(lab);
	free(reader);
}

TEST_LOOP(a_newcomer_that_goes, 0, 6)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = giver(lab);

	lab->capacity = 1000;
	if (_i >= 4)
		party->opens = WHORL_AGAIN;
	wh_state_give(party->state, 2);
	pass(lab, party, 5);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.released), 0);
	if (_i >= 2) {
		wh_state_gone(party->state, 3); /* another: that is nothing to us */
		pass(lab, party, 3);
		ck_assert_uint_eq(wh_load_relaxed(&party->program.released), 0);
		wh_state_gone(party->state, 2);
	} else {
		close_in(lab, 0); /* it has enough */
		lab->pipe_count = 0;
	}
	pass(lab, party, 3);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.released), 1);
	ck_assert_uint_eq(wh_load_relaxed(&wh_state_statistics(party->state)->gives), 0);
	ck_assert_uint_eq(wh_state_step(party->state), 0);
	state_lab_free(lab);
}

TEST(a_newcomer_that_asks_again_is_given_another_stream)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = giver(lab);

	lab->capacity = 1000;
	party->opens = WHORL_AGAIN;
	for (int i = 0; i < 3; i++)
		wh_state_give(party->state, 2);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots), 1); /* its stream is still to come */
	party->opens = WHORL_OK;
	pass(lab, party, 3);
	for (int i = 0; i < 20; i++) { /* it may have given up on those that it got, but not for ever */
		wh_state_give(party->state, 2);
		pass(lab, party, 2);
	}
	ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots), 4);
	ck_assert_uint_eq(lab->pipe_count, 4);
	wh_state_give(party->state, 3);
	ck_assert_uint_eq(lab->pipe_count, 5);
	close_in(lab, 0);
	lab->pipes[0] = lab->pipes[--lab->pipe_count];
	pass(lab, party, 3);
	wh_state_give(party->state, 2);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots), 6);
	wh_state_gone(party->state, 2); /* and is there again before all that was for it has ended */
	wh_state_give(party->state, 2);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots), 7);
	state_lab_free(lab);
}

TEST_LOOP(stop_ends_what_is_under_way, 0, 4)
{
	struct lab *lab = lab_create(kinds[_i % 2]);
	struct party *party = giver(lab);

	lab->capacity = 1000;
	party->opens = _i < 2 ? WHORL_OK : WHORL_AGAIN;
	wh_state_give(party->state, 2);
	pass(lab, party, 4);
	wh_state_give(party->state, 3);
	wh_state_stop(party->state);
	wh_state_give(party->state, 1); /* not any more */
	lab_run_jobs(lab);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.snapshots), 2);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.released), 2);
	ck_assert_uint_eq(wh_load_relaxed(&party->jobs), 0);
	for (size_t i = 0; i < lab->pipe_count; i++)
		ck_assert(lab->pipes[i]->out_closed);
	state_lab_free(lab);
}

/* In a child of fork() neither the program nor the other end is told; memory is freed (the leak checker says so). */
TEST(a_fork_only_frees)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = giver(lab), *newcomer = &lab->parties[1];
	struct pipe *pipe;

	wh_state_give(party->state, 2);
	wh_state_await(newcomer->state, 0, 0, 0);
	pipe = state_lab_open(newcomer, 0, newcomer);
	wh_state_step(newcomer->state);
	party_message(newcomer, 1, 0);
	wh_state_free(party->state, true);
	wh_state_free(newcomer->state, true);
	ck_assert_uint_eq(wh_load_relaxed(&party->program.released), 0);
	ck_assert(!lab->pipes[0]->out_closed);
	ck_assert(!pipe->in_closed);
	/* What the parent has: */
	program_release(party->program.last, &party->program);
	pipe->in.ops->close(&pipe->in);
	pipe->out.ops->close(&pipe->out);
	lab->pipes[0]->out.ops->close(&lab->pipes[0]->out);
	party->state = newcomer->state = NULL;
	lab->pipes[0]->in.ops->close(&lab->pipes[0]->in);
	for (uint32_t i = 2; i < LAB_PARTIES; i++)
		wh_state_free(lab->parties[i].state, false);
	wh_state_free(NULL, false);
	free(lab);
}

TEST(progress_is_logged_now_and_then)
{
	struct lab *lab = lab_create(LAB_LATER);
	struct party *party = giver(lab);
	unsigned char byte;
	int lines = 0;

	lab->capacity = 1000;
	party->program.chunk = 500;
	wh_state_give(party->state, 2);
	for (int i = 0; i < 25; i++) {
		for (int k = 0; k < 40; k++)
			pipe_read(&lab->pipes[0]->in, &byte, 1);
		lab_run_jobs(lab);
		wh_state_step(party->state);
		lab_advance(lab, WH_NS_PER_S);
		wh_state_step(party->state);
	}
	for (const char *at = party->log; (at = strstr(at, "has given to node 2 so far: ")) != NULL; at++)
		lines++;
	ck_assert_int_eq(lines, 2);
	state_lab_free(lab);
}

TEST_SUITE("state_give")
