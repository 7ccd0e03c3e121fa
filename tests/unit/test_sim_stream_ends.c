/* test_sim_stream_ends.c - what becomes of the simulator's streams at the end of a node, of the world. */
#include "tests/support/sim_pair.h"

/* ---- the end of a node --------------------------------------------------------------------------------------------------- */

/* What its writer's node had written when it crashed: nothing of it comes, or some, or all; then, in time, the end. */
TEST(the_writer_crashes)
{
	uint64_t none = 0, some = 0, all = 0, ended = 0, lost = 0, seed = test_seed(20);

	for (uint64_t n = 0; n < 200; n++) {
		struct wh_sim_options options = wild(200 * seed + n);
		struct pair pair;
		uint64_t before;

		options.notice_max_ns = 2000 * SLOW_NS;
		pair = make_pair(options);
		fill(&pair);
		if (n % 2 == 0)
			close_writer(&pair);
		run(pair.lab, n % 4 < 2 ? 100 * (n % 50) : LONG_NS);
		wh_sim_crash(pair.lab->sim, 0);
		if (pair.writer != NULL)
			ck_assert(!write_some(&pair, 1) && pair.refused);
		run(pair.lab, SLOW_NS);
		if (n % 4 < 2)
			drain(&pair);
		ended += pair.closed && pair.lab->down[1][0] == 0;
		ck_assert(!pair.closed || pair.lab->down[1][0] > 0 || (n % 2 == 0 && pair.read == pair.written));
		run(pair.lab, LONG_NS);
		ck_assert_uint_eq(pair.lab->down[1][0], 1);
		before = pair.read;
		drain(&pair);
		ck_assert(pair.closed);
		lost += n % 4 >= 2 && pair.read == before;
		none += n % 4 < 2 && pair.read == 0;
		some += pair.read > 0 && pair.read < pair.written;
		all += pair.read == pair.written;
		end_pair(&pair);
	}
	ck_assert_uint_gt(none, 0);
	ck_assert_uint_gt(some, 10);
	ck_assert_uint_gt(all, 10);
	ck_assert_uint_gt(ended, 0);
	ck_assert_uint_gt(lost, 20);
	ck_assert_uint_lt(lost, 90);
}

TEST_LOOP(the_writer_vanishes, 0, 5)
{
	struct pair pair = make_pair(wild(test_seed(21) + (uint64_t)_i));

	fill(&pair);
	wh_sim_vanish(pair.lab->sim, 0);
	if (_i % 2 == 0)
		close_writer(&pair); /* which the dead do in vain */
	run(pair.lab, LONG_NS);
	drain(&pair);
	ck_assert(!pair.closed);
	destroy(pair.lab, 0);
	begin_life(pair.lab, 0);
	run(pair.lab, LONG_NS);
	drain(&pair);
	ck_assert(pair.closed);
	end_pair(&pair);
}

/* All that was written is read, and the news of its leaving come behind that. */
TEST_LOOP(the_writer_leaves, 0, 10)
{
	struct pair pair = make_pair(wild(test_seed(22) + (uint64_t)_i));
	bool closes = _i % 2 == 0;

	fill(&pair);
	if (closes)
		close_writer(&pair);
	leave_in_order(pair.lab, 0);
	if (!closes)
		ck_assert(!write_some(&pair, 1) && pair.refused);
	while (pair.lab->left[1][0] == 0)
		run(pair.lab, 100);
	drain(&pair);
	ck_assert(pair.closed);
	ck_assert_uint_eq(pair.read, pair.written);
	end_pair(&pair);
}

TEST(what_is_written_before_leaving_is_read)
{
	struct pair pair = {.lab = sim_lab_make(plain(test_seed(23)))};

	slow(pair.lab, 0, 1);
	pair.writer = open_stream(pair.lab, 0, 1);
	write_some(&pair, MOST);
	close_writer(&pair);
	wh_sim_link_set(pair.lab->sim, 0, 1, &(struct wh_sim_link_cost){0, 0, 0});
	leave_in_order(pair.lab, 0);
	run(pair.lab, LONG_NS);
	pair.reader = pair.lab->stream[1];
	ck_assert_ptr_nonnull(pair.reader);
	ck_assert_uint_eq(pair.lab->left[1][0], 1);
	drain(&pair);
	ck_assert_uint_eq(pair.read, pair.written);
	end_pair(&pair);
}

TEST_LOOP(the_reader_ends, 0, 9)
{
	struct wh_sim_options options = wild(test_seed(24) + (uint64_t)_i);
	struct pair pair;

	options.notice_max_ns = SLOW_NS;
	pair = make_pair(options);
	write_some(&pair, 1);
	run(pair.lab, LONG_NS);
	if (_i % 3 == 0)
		wh_sim_crash(pair.lab->sim, 1);
	else if (_i % 3 == 1)
		wh_sim_vanish(pair.lab->sim, 1);
	else
		leave_in_order(pair.lab, 1);
	ck_assert(!read_some(&pair, 1) && pair.closed);
	fill(&pair);
	ck_assert(!pair.refused);
	run(pair.lab, LONG_NS);
	ck_assert(!write_some(&pair, 1));
	ck_assert_int_eq(pair.refused, _i % 3 != 1);
	if (_i % 2 == 0)
		close_reader(&pair); /* which the dead do in vain */
	run(pair.lab, LONG_NS);
	ck_assert(!write_some(&pair, 1));
	ck_assert_int_eq(pair.refused, _i % 3 != 1);
	close_writer(&pair);
	run(pair.lab, LONG_NS);
	ck_assert_uint_eq(wh_sim_under_way(pair.lab->sim), 0); /* no node waits for what the dead have not closed */
	end_pair(&pair);
}

/* The writer has met another reader since. */
TEST(the_writer_of_an_old_stream_ends)
{
	struct pair pair = make_pair(wild(test_seed(27)));

	wh_sim_vanish(pair.lab->sim, 1);
	destroy(pair.lab, 1);
	begin_life(pair.lab, 1);
	run(pair.lab, LONG_NS);
	ck_assert_uint_gt(wh_sim_under_way(pair.lab->sim), 0);
	wh_sim_crash(pair.lab->sim, 0);
	run(pair.lab, LONG_NS);
	ck_assert_uint_eq(wh_sim_under_way(pair.lab->sim), 0);
	end_pair(&pair);
}

/* What no node reads holds no news up. */
TEST_LOOP(the_writer_leaves_behind_its_reader, 0, 2)
{
	struct pair pair = make_pair(wild(test_seed(28)));

	fill(&pair);
	if (_i == 0)
		close_reader(&pair);
	leave_in_order(pair.lab, 0);
	if (_i == 1)
		close_reader(&pair);
	run(pair.lab, LONG_NS);
	ck_assert_uint_eq(pair.lab->left[1][0], 1);
	end_pair(&pair);
}

/* News of the stream are overtaken by nothing, and of a crash by everything: then there is none. */
TEST_LOOP(a_stream_and_the_end_of_its_writer, 0, 2)
{
	struct pair pair = {.lab = sim_lab_make(plain(test_seed(29)))};

	slow(pair.lab, 0, 1);
	pair.writer = open_stream(pair.lab, 0, 1);
	wh_sim_link_set(pair.lab->sim, 0, 1, &(struct wh_sim_link_cost){0, 0, 0});
	if (_i == 0)
		leave_in_order(pair.lab, 0);
	else
		wh_sim_break(pair.lab->sim, 0, 1);
	run(pair.lab, LONG_NS);
	pair.reader = pair.lab->stream[1];
	ck_assert_int_eq(pair.reader != NULL, _i == 0);
	ck_assert(!write_some(&pair, 1) && pair.refused);
	end_pair(&pair);
}

/* The end that was found stays, though bytes were under way. */
TEST(no_bytes_come_behind_the_end)
{
	uint64_t seed = test_seed(31);

	for (uint64_t n = 0; n < 20; n++) {
		struct pair pair = make_pair(plain(20 * seed + n));

		slow(pair.lab, 0, 1);
		fill(&pair);
		wh_sim_link_set(pair.lab->sim, 0, 1, &(struct wh_sim_link_cost){0, 0, 0});
		wh_sim_crash(pair.lab->sim, 0);
		run(pair.lab, SLOW_NS / 2);
		ck_assert(!read_some(&pair, MOST) && pair.closed);
		run(pair.lab, LONG_NS);
		ck_assert(!read_some(&pair, MOST) && pair.closed);
		end_pair(&pair);
	}
}

/* It comes to a node that ends before it has taken it; the next life is not given it. */
TEST_LOOP(nobody_takes_it, 0, 6)
{
	struct lab *lab = sim_lab_make(plain(test_seed(25) + (uint64_t)_i));
	struct pair pair = {.lab = lab, .writer = NULL};
	struct wh_stream *other;

	if (_i % 2 == 0)
		slow(lab, 0, 1);
	pair.writer = open_stream(lab, 0, 1);
	while (_i % 2 != 0 && wh_sim_step(lab->sim, wh_sim_now(lab->sim) + SLOW_NS))
		lab->node[1]->ops->service(lab->node[1]);
	write_some(&pair, MOST);
	other = open_stream(lab, 2, 0); /* to one that lives, but does not look */
	if (_i % 3 == 0)
		leave_in_order(lab, 1);
	else
		destroy(lab, 1);
	begin_life(lab, 1);
	run(lab, LONG_NS);
	ck_assert_ptr_null(lab->stream[1]);
	ck_assert(!write_some(&pair, 1) && pair.refused);
	close_writer(&pair);
	other->ops->close(other);
	lab->stream[0]->ops->close(lab->stream[0]);
	ck_assert_uint_eq(wh_sim_under_way(lab->sim), 0);
	other = open_stream(lab, 2, 0);
	other->ops->close(other);
	end(lab); /* with one under way */
}

TEST_LOOP(streams_outlive_transports_and_worlds, 0, 60)
{
	struct pair pair = make_pair(wild(test_seed(26) + (uint64_t)_i));

	write_some(&pair, MOST);
	if (_i % 2 == 0)
		leave_in_order(pair.lab, 0);
	if (_i % 3 == 0)
		run(pair.lab, LONG_NS);
	if (_i % 4 == 0)
		close_writer(&pair);
	if (_i % 5 == 0)
		close_reader(&pair);
	end(pair.lab);
	if (pair.writer != NULL) {
		ck_assert(!write_some(&pair, 1) && pair.refused);
		close_writer(&pair);
	}
	if (pair.reader != NULL) {
		ck_assert(!read_some(&pair, 1) && pair.closed);
		close_reader(&pair);
	}
}

TEST_SUITE("ends of streams in the simulator")
