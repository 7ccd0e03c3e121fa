/* cases_stream.c - T10: streams of bytes from one node to another. */
#include <string.h>

#include "tests/conformance/suite.h"

#define CHUNK 70000
#define MUCH (UINT64_C(64) << 20) /* more than any transport keeps under way */

/* What takes a moment where time is real takes long where little fits in a stream and each byte is an event. */
static uint64_t a_lot(uint64_t bytes)
{
	return wh_world.threads && !is_dear() ? bytes : bytes / 20;
}

struct flow { /* one stream, and how far it is */
	struct wh_stream *writer, *reader;
	uint64_t seed, written, read;
};

static unsigned char byte_at(uint64_t seed, uint64_t at)
{
	return (unsigned char)((seed + at) * UINT64_C(0x9e3779b97f4a7c15) >> 56);
}

static enum whorl_result open_to(struct group *g, uint32_t from, uint32_t to, uint64_t tag, struct wh_stream **out)
{
	return g->at[from].transport->ops->stream_open(g->at[from].transport, to, tag, out);
}

static void meet(struct group *g)
{
	for (uint32_t id = 0; id < g->nodes; id++)
		UNTIL(g, g->at[id].met == g->nodes - 1);
}

static void pass_some(struct group *g)
{
	for (int k = 0; k < 50; k++)
		group_pass(g);
}

/* The one with that tag, which has come; the caller closes it. */
static struct wh_stream *take(struct group *g, uint32_t at, uint32_t from, uint64_t tag)
{
	for (uint32_t i = 0; i < g->at[at].stream_count; i++) {
		struct taken_stream *taken = &g->at[at].streams[i];
		struct wh_stream *stream = taken->stream;

		if (stream == NULL || taken->tag != tag || taken->node != from)
			continue;
		taken->stream = NULL;
		return stream;
	}
	return NULL;
}

static void begin(struct group *g, struct flow *flow, uint32_t from, uint32_t to, uint64_t tag)
{
	*flow = (struct flow){.seed = tag};
	UNTIL(g, open_to(g, from, to, tag, &flow->writer) == WHORL_OK);
	UNTIL(g, (flow->reader = take(g, to, from, tag)) != NULL);
}

/* Returns what write does. */
static ptrdiff_t write_some(struct flow *flow, size_t count)
{
	unsigned char bytes[CHUNK];
	ptrdiff_t done;

	for (size_t i = 0; i < count; i++)
		bytes[i] = byte_at(flow->seed, flow->written + i);
	done = flow->writer->ops->write(flow->writer, bytes, count);
	ck_assert_int_le(done, (ptrdiff_t)count);
	if (done > 0)
		flow->written += (uint64_t)done;
	return done;
}

static ptrdiff_t read_some(struct flow *flow, size_t count)
{
	unsigned char bytes[CHUNK];
	ptrdiff_t done = flow->reader->ops->read(flow->reader, bytes, count), good = 0;

	ck_assert_int_le(done, (ptrdiff_t)count);
	while (good < done && bytes[good] == byte_at(flow->seed, flow->read + (uint64_t)good))
		good++;
	ck_assert_int_ge(good, done); /* once: each assertion is a system call */
	if (done > 0)
		flow->read += (uint64_t)done;
	return done;
}

static void close_flow(struct flow *flow)
{
	if (flow->writer != NULL)
		flow->writer->ops->close(flow->writer);
	if (flow->reader != NULL)
		flow->reader->ops->close(flow->reader);
}

static void read_all(struct group *g, struct flow *flow)
{
	while (flow->read < flow->written)
		UNTIL(g, read_some(flow, CHUNK) > 0);
}

/* ---- bytes -------------------------------------------------------------------------------------------------------- */

START_TEST(t10_a_stream_is_whole_and_in_order)
{
	struct group *g = group_make(2, test_seed(1));
	uint64_t random = g->seed, bytes = a_lot(3u << 20);
	struct flow flow;

	meet(g);
	begin(g, &flow, (uint32_t)_i, 1 - (uint32_t)_i, 77);
	ck_assert_int_eq(read_some(&flow, 100), 0);
	while (flow.read < bytes) {
		if (flow.written < bytes && write_some(&flow, 1 + next_random(&random) % CHUNK) > 0)
			continue;
		if (read_some(&flow, 1 + next_random(&random) % CHUNK) == 0)
			group_pass(g);
	}
	flow.writer->ops->close(flow.writer);
	flow.writer = NULL;
	read_all(g, &flow);
	UNTIL(g, read_some(&flow, 1) == -1);
	ck_assert_int_eq(read_some(&flow, 1), -1); /* for good */
	close_flow(&flow);
	group_free(g);
}
END_TEST

#define FLOWS 12

/* Of all nodes to all, in turns; none waits for another. */
START_TEST(t10_many_streams_at_once)
{
	struct group *g = group_make(4, test_seed(2));
	uint64_t random = g->seed, least = 0, bytes = a_lot(200000);
	struct flow flows[FLOWS];

	meet(g);
	for (uint32_t i = 0; i < FLOWS; i++)
		begin(g, &flows[i], i % 4, (i + 1 + i / 4) % 4, 100 + i);
	while (least < bytes) {
		struct flow *flow = &flows[1 + next_random(&random) % (FLOWS - 1)]; /* the first is not read */

		(void)write_some(flow, 1 + next_random(&random) % 5000);
		(void)write_some(&flows[0], 1000);
		if (read_some(flow, 1 + next_random(&random) % 10000) == 0)
			group_pass(g);
		least = flows[1].read;
		for (uint32_t i = 2; i < FLOWS; i++)
			least = flows[i].read < least ? flows[i].read : least;
	}
	for (uint32_t i = 0; i < FLOWS; i++) {
		read_all(g, &flows[i]);
		close_flow(&flows[i]);
	}
	group_free(g);
}
END_TEST

/* The other side does not read, then it does. */
START_TEST(t10_a_full_stream_takes_nothing)
{
	struct group *g = group_make(2, test_seed(3));
	struct flow flow;
	int idle = 0;

	meet(g);
	begin(g, &flow, 0, 1, 1);
	while (idle < 50) { /* what is under way arrives, and makes room */
		ptrdiff_t done = write_some(&flow, CHUNK);

		ck_assert_int_ge(done, 0);
		ck_assert_uint_lt(flow.written, MUCH);
		if (done > 0)
			continue;
		group_pass(g);
		idle++;
	}
	ck_assert_uint_gt(flow.written, 0);
	read_all(g, &flow);
	UNTIL(g, write_some(&flow, CHUNK) > 0);
	read_all(g, &flow);
	close_flow(&flow);
	group_free(g);
}
END_TEST

/* As messages do, and up to a bound as they. */
START_TEST(t10_streams_wait_to_be_taken)
{
	enum whorl_result result = WHORL_OK;
	struct wh_stream *streams[STREAMS_MAX];
	struct group *g = group_make(2, test_seed(4));
	uint32_t count = 0;

	meet(g);
	g->at[1].paused = true;
	while (count < STREAMS_MAX && result == WHORL_OK) {
		result = open_to(g, 0, 1, count, &streams[count]);
		count += result == WHORL_OK;
	}
	ck_assert(result == WHORL_OK || result == WHORL_AGAIN);
	ck_assert_uint_gt(count, 0);
	pass_some(g);
	g->at[1].paused = false;
	UNTIL(g, g->at[1].stream_count == count);
	for (uint32_t i = 0; i < count; i++) {
		struct flow flow = {.writer = streams[i], .reader = take(g, 1, 0, i), .seed = i};

		ck_assert_ptr_nonnull(flow.reader);
		UNTIL(g, write_some(&flow, 100) > 0);
		read_all(g, &flow);
		close_flow(&flow);
	}
	group_free(g);
}
END_TEST

/* ---- the end ------------------------------------------------------------------------------------------------------ */

START_TEST(t10_what_was_written_before_the_end_is_read)
{
	struct group *g = group_make(2, test_seed(5));
	struct flow flow;

	meet(g);
	begin(g, &flow, 0, 1, 9);
	for (int k = 0; k < 50; k++) { /* as much of it as there is room for */
		ck_assert_int_ge(write_some(&flow, 1000), 0);
		group_pass(g);
	}
	ck_assert_uint_gt(flow.written, 0);
	flow.writer->ops->close(flow.writer);
	flow.writer = NULL;
	read_all(g, &flow);
	UNTIL(g, read_some(&flow, 10) == -1);
	close_flow(&flow);
	group_free(g);
}
END_TEST

/* It is taken when its writer has written and closed already. */
START_TEST(t10_a_stream_that_ends_before_it_is_taken)
{
	struct group *g = group_make(2, test_seed(6));
	struct flow flow = {.seed = 4};

	meet(g);
	g->at[1].paused = true;
	ck_assert_int_eq(open_to(g, 0, 1, 4, &flow.writer), WHORL_OK);
	if (_i == 1)
		UNTIL(g, write_some(&flow, 500) > 0);
	flow.writer->ops->close(flow.writer);
	flow.writer = NULL;
	g->at[1].paused = false;
	UNTIL(g, (flow.reader = take(g, 1, 0, 4)) != NULL);
	read_all(g, &flow);
	UNTIL(g, read_some(&flow, 10) == -1);
	close_flow(&flow);
	group_free(g);
}
END_TEST

START_TEST(t10_a_reader_that_closes_ends_the_writer)
{
	struct group *g = group_make(2, test_seed(7));
	struct flow flow;

	meet(g);
	begin(g, &flow, 0, 1, 9);
	UNTIL(g, write_some(&flow, 5000) > 0);
	flow.reader->ops->close(flow.reader);
	flow.reader = NULL;
	UNTIL(g, write_some(&flow, 10) == -1);
	ck_assert_int_eq(write_some(&flow, 10), -1);
	close_flow(&flow);
	group_free(g);
}
END_TEST

START_TEST(t10_death_of_the_writer)
{
	struct group *g = group_make(3, test_seed(8));
	struct flow flow, other;

	meet(g);
	begin(g, &flow, 0, 1, 9);
	begin(g, &other, 2, 1, 9);
	UNTIL(g, write_some(&flow, 5000) > 0);
	group_kill(g, 0);
	flow.writer->ops->close(flow.writer); /* as its process does */
	flow.writer = NULL;
	while (read_some(&flow, 100) >= 0) /* some of it, or all; and then the end */
		group_pass(g);
	UNTIL(g, write_some(&other, 100) > 0);
	read_all(g, &other);
	close_flow(&flow);
	close_flow(&other);
	group_free(g);
}
END_TEST

START_TEST(t10_death_of_the_reader)
{
	struct group *g = group_make(2, test_seed(9));
	struct flow flow;

	meet(g);
	if (_i == 0) {
		begin(g, &flow, 0, 1, 9);
		UNTIL(g, write_some(&flow, 5000) > 0);
		group_kill(g, 1);
		flow.reader->ops->close(flow.reader);
	} else { /* before it has taken it */
		flow = (struct flow){.seed = 9};
		ck_assert_int_eq(open_to(g, 0, 1, 9, &flow.writer), WHORL_OK);
		group_kill(g, 1);
	}
	flow.reader = NULL;
	UNTIL(g, write_some(&flow, CHUNK) == -1);
	close_flow(&flow);
	group_free(g);
}
END_TEST

/* The event is not taken: it goes with the transport, and the writer sees the end. */
START_TEST(t10_a_stream_that_nobody_takes)
{
	struct group *g = group_make(2, test_seed(10));
	struct flow flow = {.seed = 1};

	meet(g);
	g->at[1].paused = true;
	ck_assert_int_eq(open_to(g, 0, 1, 1, &flow.writer), WHORL_OK);
	for (int k = 0; k < 50; k++) {
		g->at[1].transport->ops->service(g->at[1].transport);
		group_pass(g);
	}
	group_close(g, 1);
	UNTIL(g, write_some(&flow, CHUNK) == -1);
	close_flow(&flow);
	group_free(g);
}
END_TEST

START_TEST(t10_no_stream_to_a_node_that_has_not_been_met)
{
	struct group *g = group_make(2, test_seed(11));
	struct wh_stream *stream;

	ck_assert_int_eq(open_to(g, 0, 1, 1, &stream), WHORL_MEMBER_GONE);
	meet(g);
	group_close(g, 1);
	UNTIL(g, g->at[0].left == 1);
	ck_assert_int_eq(open_to(g, 0, 1, 1, &stream), WHORL_MEMBER_GONE);
	group_free(g);
}
END_TEST

/* The functions of a stream work without its transport, though it may have ended. */
START_TEST(t10_a_stream_may_outlive_its_transport)
{
	struct group *g = group_make(2, test_seed(12));
	struct flow flow;

	meet(g);
	begin(g, &flow, 0, 1, 9);
	UNTIL(g, write_some(&flow, 5000) > 0);
	group_close(g, 1);
	group_close(g, 0);
	for (int k = 0; k < 100 && read_some(&flow, 100) >= 0; k++)
		group_pass(g);
	(void)write_some(&flow, 10);
	close_flow(&flow);
	group_free(g);
}
END_TEST

TCase *cases_stream(void)
{
	TCase *cases = tcase_create("stream");

	tcase_set_timeout(cases, 120);
	tcase_add_loop_test(cases, t10_a_stream_is_whole_and_in_order, 0, 2);
	tcase_add_test(cases, t10_many_streams_at_once);
	tcase_add_test(cases, t10_a_full_stream_takes_nothing);
	tcase_add_test(cases, t10_streams_wait_to_be_taken);
	tcase_add_test(cases, t10_what_was_written_before_the_end_is_read);
	tcase_add_loop_test(cases, t10_a_stream_that_ends_before_it_is_taken, 0, 2);
	tcase_add_test(cases, t10_a_reader_that_closes_ends_the_writer);
	tcase_add_test(cases, t10_death_of_the_writer);
	tcase_add_loop_test(cases, t10_death_of_the_reader, 0, 2);
	tcase_add_test(cases, t10_a_stream_that_nobody_takes);
	tcase_add_test(cases, t10_no_stream_to_a_node_that_has_not_been_met);
	tcase_add_test(cases, t10_a_stream_may_outlive_its_transport);
	return cases;
}
