/* test_sim_streams.c - streams of the simulator: what comes through, and when. What becomes of them at the end of a node is in
 * test_sim_stream_ends.c. */
#include "tests/support/sim_pair.h"
#include "transport/dice.h"

#define ENOUGH 100000

/* ---- what comes through -------------------------------------------------------------------------------------------------- */

TEST_LOOP(all_bytes_come_in_order, 0, 20)
{
	struct pair pair = make_pair(wild(test_seed(1) + (uint64_t)_i));
	struct wh_dice dice = wh_dice_split((uint64_t)_i, 5);

	ck_assert_uint_eq(wh_sim_traffic(pair.lab->sim, 0, 1).streams, 1);
	ck_assert_uint_gt(wh_sim_under_way(pair.lab->sim), 0);
	while (pair.written < 5000) {
		if (wh_dice_one_in(&dice, 2))
			write_some(&pair, wh_dice_below(&dice, MOST));
		if (wh_dice_one_in(&dice, 2))
			read_some(&pair, wh_dice_below(&dice, MOST));
		ck_assert(!pair.closed && !pair.refused);
		run(pair.lab, wh_dice_below(&dice, 20000));
	}
	close_writer(&pair);
	ck_assert_uint_gt(wh_sim_under_way(pair.lab->sim), 0);
	ck_assert_uint_eq(wh_sim_traffic(pair.lab->sim, 0, 1).streams, 1);
	while (!pair.closed) {
		run(pair.lab, 1000);
		drain(&pair);
	}
	ck_assert_uint_eq(pair.read, pair.written);
	read_some(&pair, 1);
	ck_assert(pair.closed); /* for good */
	close_reader(&pair);
	ck_assert_uint_eq(wh_sim_traffic(pair.lab->sim, 0, 1).streams, 0);
	end_pair(&pair);
}

/* Half of a call's bytes may be taken, and half of those that are there be given; another number fits each time. */
TEST(it_holds_a_few_bytes)
{
	uint64_t seed = test_seed(2), least = MOST, most = 0, parts = 0, halves = 0;

	for (uint64_t n = 0; n < 50; n++) {
		struct pair pair = make_pair(wild(50 * seed + n));

		write_some(&pair, MOST);
		parts += write_some(&pair, MOST);
		fill(&pair);
		ck_assert_uint_le(pair.written, MOST);
		least = pair.written < least ? pair.written : least;
		most = pair.written > most ? pair.written : most;
		run(pair.lab, LONG_NS);
		ck_assert(!write_some(&pair, MOST) && !pair.refused);
		ck_assert(read_some(&pair, MOST));
		halves += pair.read < pair.written;
		ck_assert(write_some(&pair, MOST));
		ck_assert(!write_some(&pair, 0) && !pair.refused);
		ck_assert(!read_some(&pair, 0) && !pair.closed);
		ck_assert(!pair.writer->ops->wait(pair.writer, true, LONG_NS));
		ck_assert(!pair.reader->ops->wait(pair.reader, false, LONG_NS));
		end_pair(&pair);
	}
	ck_assert_uint_lt(least, 200);
	ck_assert_uint_gt(most, 1000);
	ck_assert_uint_gt(parts, 10);
	ck_assert_uint_gt(halves, 10);
}

TEST(bytes_take_their_time_and_come_in_pieces)
{
	uint64_t seed = test_seed(3), pieces = 0;

	for (uint64_t n = 0; n < 20; n++) {
		struct pair pair = make_pair(plain(20 * seed + n));
		uint64_t start, between;

		slow(pair.lab, 0, 1);
		start = wh_sim_now(pair.lab->sim);
		write_some(&pair, 5);
		run_until(pair.lab, start + SLOW_NS / 2);
		between = pair.written;
		fill(&pair); /* later: it does not come along */
		run_until(pair.lab, start + SLOW_NS - 1);
		ck_assert(!read_some(&pair, 1));
		run_until(pair.lab, start + SLOW_NS + SLOW_NS / 4);
		drain(&pair);
		ck_assert(pair.read > 0 && pair.read <= between);
		run_until(pair.lab, start + 2 * SLOW_NS + SLOW_NS / 4);
		drain(&pair);
		pieces += pair.read < pair.written;
		while (pair.read < pair.written) {
			run(pair.lab, SLOW_NS);
			drain(&pair);
		}
		end_pair(&pair);
	}
	ck_assert_uint_gt(pieces, 3);
}

TEST(ends_are_one_way)
{
	struct pair pair = make_pair(plain(test_seed(4)));
	char byte = 0;

	ck_assert_int_eq(pair.writer->ops->read(pair.writer, &byte, 1), -1);
	ck_assert_int_eq(pair.reader->ops->write(pair.reader, &byte, 1), -1);
	end_pair(&pair);
}

/* The writer hears that there is no reader any more. */
TEST(the_reader_closes_it)
{
	struct pair pair = make_pair(plain(test_seed(5)));

	slow(pair.lab, 1, 0);
	fill(&pair);
	close_reader(&pair);
	run(pair.lab, SLOW_NS - 1);
	ck_assert(!write_some(&pair, 1) && !pair.refused);
	wh_sim_cut_off(pair.lab->sim, 1, 0);
	run(pair.lab, 1);
	ck_assert(!write_some(&pair, 1) && !pair.refused);
	wh_sim_heal(pair.lab->sim, 1, 0);
	ck_assert(!write_some(&pair, 1) && pair.refused);
	end_pair(&pair);
}

TEST(there_are_so_many_streams)
{
	struct lab *lab = sim_lab_make(wild(test_seed(6)));
	struct wh_stream *streams[1000], *one;
	uint32_t count = 0;

	while (lab->node[0]->ops->stream_open(lab->node[0], 1, TAG, &streams[count]) == WHORL_OK) {
		run(lab, LONG_NS);
		lab->stream[1]->ops->close(lab->stream[1]);
		ck_assert_uint_lt(++count, 1000);
	}
	ck_assert_uint_eq(wh_sim_traffic(lab->sim, 0, 1).streams, count);
	ck_assert_int_eq(lab->node[0]->ops->stream_open(lab->node[0], 1, TAG, &one), WHORL_AGAIN);
	ck_assert_ptr_null(one);
	ck_assert_int_eq(lab->node[0]->ops->stream_open(lab->node[0], 0, TAG, &one), WHORL_INVALID);
	ck_assert_int_eq(lab->node[0]->ops->stream_open(lab->node[0], NODES, TAG, &one), WHORL_INVALID);
	one = open_stream(lab, 0, 2); /* to each */
	one->ops->close(one);
	streams[0]->ops->close(streams[0]);
	streams[0] = open_stream(lab, 0, 1);
	for (uint32_t k = 0; k < count; k++)
		streams[k]->ops->close(streams[k]);
	run(lab, LONG_NS);
	lab->stream[1]->ops->close(lab->stream[1]);
	lab->stream[2]->ops->close(lab->stream[2]);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	end(lab);
}

/* ---- cuts ---------------------------------------------------------------------------------------------------------------- */

TEST_LOOP(a_cut_holds_bytes_up, 0, 10)
{
	struct pair pair = make_pair(wild(test_seed(10) + (uint64_t)_i));

	if (_i % 2 == 0)
		wh_sim_cut_off(pair.lab->sim, 0, 1);
	fill(&pair); /* all of it leaves at once, or none does */
	if (_i % 2 != 0)
		wh_sim_cut_off(pair.lab->sim, 0, 1);
	close_writer(&pair);
	run(pair.lab, LONG_NS);
	ck_assert(!read_some(&pair, MOST) && !pair.closed);
	wh_sim_heal(pair.lab->sim, 0, 1);
	run(pair.lab, LONG_NS);
	drain(&pair);
	ck_assert_uint_eq(pair.read, pair.written);
	ck_assert(pair.closed);
	end_pair(&pair);
}

/* That there is room again has to come back. */
TEST(a_cut_the_other_way_holds_the_writer_up)
{
	struct pair pair = make_pair(wild(test_seed(11)));
	uint64_t written;

	wh_sim_cut_off(pair.lab->sim, 1, 0);
	fill(&pair);
	written = pair.written;
	run(pair.lab, LONG_NS);
	drain(&pair);
	ck_assert_uint_eq(pair.read, written);
	ck_assert(!write_some(&pair, 1) && !pair.refused);
	wh_sim_heal(pair.lab->sim, 1, 0);
	ck_assert(write_some(&pair, 1));
	end_pair(&pair);
}

TEST(a_stream_over_a_broken_connection)
{
	uint64_t seed = test_seed(12), some = 0;

	for (uint64_t n = 0; n < 200; n++) {
		struct wh_sim_options options = wild(200 * seed + n);
		struct pair pair;

		options.notice_max_ns = SLOW_NS;
		pair = make_pair(options);
		fill(&pair);
		run(pair.lab, 200 * (n % 50));
		wh_sim_break(pair.lab->sim, 0, 1);
		ck_assert(!write_some(&pair, MOST) && !pair.refused);
		run(pair.lab, LONG_NS);
		ck_assert(!write_some(&pair, MOST) && pair.refused);
		drain(&pair);
		ck_assert(pair.closed);
		some += pair.read > 0 && pair.read < pair.written;
		end_pair(&pair);
	}
	ck_assert_uint_gt(some, 5);
}

/* ---- jobs ---------------------------------------------------------------------------------------------------------------- */

struct job {
	struct pair *pair;
	bool (*move)(struct pair *pair, size_t most);
	const struct wh_env *env;
	uint64_t *until; /* the count that ends it */
};

static void work(void *argument)
{
	struct job *job = argument;

	job->move(job->pair, MOST);
	if (*job->until < ENOUGH)
		job->env->submit(job->env->ctx, work, job);
}

TEST(jobs_move_it)
{
	struct pair pair = make_pair(wild(test_seed(30)));
	struct job writes = {&pair, write_some, wh_sim_env(pair.lab->sim, 0), &pair.written};
	struct job reads = {&pair, read_some, wh_sim_env(pair.lab->sim, 1), &pair.read};

	work(&writes);
	work(&reads);
	run(pair.lab, 1000 * LONG_NS);
	ck_assert_uint_ge(pair.written, ENOUGH);
	ck_assert_uint_ge(pair.read, ENOUGH);
	close_writer(&pair);
	close_reader(&pair);
	writes.env->submit(writes.env->ctx, work, &writes); /* it never comes to that */
	end(pair.lab);
}

/* ---- the digest ---------------------------------------------------------------------------------------------------------- */

static uint64_t digest_of(uint64_t seed, uint64_t bytes)
{
	struct pair pair = make_pair(wild(seed));
	uint64_t digest;

	while (pair.read < bytes) {
		if (pair.written < bytes)
			write_some(&pair, 1 + (bytes - pair.written) % MOST);
		read_some(&pair, MOST);
		run(pair.lab, 500);
	}
	digest = wh_sim_digest(pair.lab->sim);
	end_pair(&pair);
	return digest;
}

TEST(the_same_seed_is_the_same_stream)
{
	uint64_t seed = test_seed(40), digest = digest_of(seed, 10000);

	ck_assert_uint_eq(digest, digest_of(seed, 10000));
	ck_assert_uint_ne(digest, digest_of(seed + 1, 10000));
	ck_assert_uint_ne(digest, digest_of(seed, 9999));
}

TEST_SUITE("streams in the simulator")
