/* test_cli_batches.c - senders of a benchmark that claim, fill and commit many messages at a time: [bench] batch.
 *
 * Where a batch is the whole window the next one waits until all of it is delivered, and what is committed together leaves together: so what
 * the senders' loops find is known, however long it takes. Some of it runs in this process, for what is taken out of it (tests/mutants).
 */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/commands.h"
#include "bench/limit/limit.h"
#include "tests/cli/lines.h"
#include "tests/cli/records.h"
#include "tests/harness.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Two batches of 10 and one of 5 from each sender. */
static const char plain[] = SMALL_GROUP("2") "[bench]\n"
					     "messages = 25\n"
					     "bytes = 100\n"
					     "runs = 1\n"
					     "limit = off\n"
					     "batch = 10\n";

/* The command in this process: its status, and what it has delivered and written. */
static int run_here(const char *first, const char *second)
{
	char *written = strdup(cli_path(&dir, "lines.json")), *text;
	const char *const words[] = {"whorl bench",
				     cli_write(&dir, "plain.ini", plain),
				     "--quiet",
				     "--json",
				     written,
				     "--deliveries",
				     cli_path(&dir, "records"),
				     "--set",
				     first,
				     "--set",
				     second,
				     NULL};
	char *sorted[COUNT(words)]; /* by the command, as it likes */
	int status;

	memcpy(sorted, words, sizeof words);
	status = wh_bench_main(COUNT(words) - 1, sorted);
	text = cli_read(written);
	if (status == 0)
		lines = results_parse(text);
	free(text);
	free(written);
	return status;
}

/* How often the loops have found so many messages to send: 2 to the power of `bin`, or up to twice as many. */
static int found(json_t *line, int bin)
{
	char path[64];

	snprintf(path, sizeof path, "batch.send.histogram.%d", bin);
	return (int)json_integer_value(results_at(line, path));
}

/* All are sent, with what belongs in them, and a batch at a time. */
static void leaves_together(const char *first, const char *second)
{
	struct records_subgroup subgroup = {.name = "all",
					    .members = {0, 1},
					    .member_count = 2,
					    .senders = {0, 1},
					    .sender_count = 2,
					    .ordered = true,
					    .bytes = 100,
					    .total = 50};
	char digest[32];
	json_t *line;

	ck_assert_int_eq(run_here(first, second), 0);
	line = json_array_get(lines, 0);
	snprintf(digest, sizeof digest, "%016" PRIx64, records_check(cli_path(&dir, "records"), &subgroup));
	ck_assert_str_eq(json_string_value(results_at(line, "order_digest.0")), digest);
	ck_assert_int_eq((int)json_integer_value(results_at(line, "claim_batch")), 10);
	for (int bin = 0; bin < 20; bin++) /* at two nodes: of 4 to 7, of 8 to 15 */
		ck_assert_int_eq(found(line, bin), bin == 2 ? 2 : bin == 3 ? 4 : 0);
}

static const char *const threads[] = {"engine.thread=dedicated", "engine.thread=caller"};

/* By themselves, for what is taken out. */
TEST_CASE("simulated", .timeout_s = TEST_UNTIMED, .setup = setup, .teardown = teardown);

TEST_LOOP(what_is_claimed_together_leaves_together, 0, COUNT(threads))
{
	leaves_together("group.transport=sim", threads[_i]);
}

TEST_CASE("batches", .timeout_s = TEST_UNTIMED, .setup = setup,
	  .teardown = teardown); /* a command that hangs is killed by cli_wait */

TEST_LOOP(also_on_shm, 0, COUNT(threads))
{
	leaves_together("group.transport=shm", threads[_i]);
}

static const struct {
	const char *first, *second;
	int delivered; /* at three nodes */
} others[] = {
	{"bench.batch=1", "engine.thread=dedicated", 3 * 3 * 2000},
	{"bench.batch=7", "engine.thread=dedicated", 3 * 3 * 2000},
	{"bench.batch=7", "engine.thread=caller", 3 * 3 * 2000},
	{"bench.batch=7", "group.transport=tcp", 3 * 3 * 2000},
	{"bench.batch=10", "bench.senders_per_node=3", 3 * 3 * 2000},
	{"bench.batch=4", "subgroup all.sending_threads=one", 3 * 3 * 2000},
	{"bench.batch=3", "bench.copies=both", 3 * 3 * 2000},
	{"bench.batch=3", "bench.upcall=message", 3 * 3 * 2000},
	{"bench.batch=3", "subgroup all.mode=unordered", 3 * 3 * 2000},
	{"bench.batch=10", "bench.latency_every=1", 3 * 3 * 2000},
	{"bench.batch=10", "bench.active_senders=one", 3 * 2000},
	{"bench.batch=10", "bench.idle_seconds=1", 3 * 3 * 2000},
};

TEST_LOOP(ways_to_send, 0, COUNT(others))
{
	const char *path = cli_write(&dir, "three.ini",
				     SMALL_GROUP("3") "[bench]\nmessages = 2000\nbytes = 100\nruns = 1\nlimit = off\n");

	CLI_RUN(&cli, &dir, "bench", path, "--json", "-", "--set", others[_i].first, "--set", others[_i].second);
	assert_good();
	lines = results_parse(cli.out);
	ck_assert_int_eq((int)json_integer_value(results_at(json_array_get(lines, 0), "delivered")),
			 others[_i].delivered);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "have delivered the same"), 1);
}

/* A delay is one of each batch; the run ends by what is delivered, whichever node sent it. */
TEST(a_delayed_sender_sends_batches)
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "plain.ini", plain), "--json", "-", "--set",
		"bench.sender_delay_us=20", "--set", "bench.delayed_senders=one", "--set", "bench.messages=2000");
	assert_good();
	lines = results_parse(cli.out);
	ck_assert_int_eq((int)json_integer_value(results_at(json_array_get(lines, 0), "delivered")), 2 * 2 * 2000);
}

/* ---- of each subgroup, and of variants ------------------------------------------------------------------------------- */

static const char mixed[] = "[group]\n"
			    "nodes = 2\n"
			    "failure_timeout_ms = 20000\n"
			    "[subgroup small]\n"
			    "window = 20\n"
			    "[subgroup large]\n"
			    "window = 10\n"
			    "[bench]\n"
			    "messages = 300\n"
			    "bytes = 100\n"
			    "runs = 1\n"
			    "batch = 3\n"
			    "limit = off\n"
			    "[bench small]\n"
			    "batch = 20\n";

static void assert_batches(size_t at, int small, int large)
{
	json_t *line = json_array_get(lines, at);

	ck_assert_int_eq((int)json_integer_value(results_at(line, "claim_batch")), small);
	ck_assert_int_eq((int)json_integer_value(results_at(line, "subgroups.0.claim_batch")), small);
	ck_assert_int_eq((int)json_integer_value(results_at(line, "subgroups.1.claim_batch")), large);
}

TEST(each_subgroup_has_its_batch)
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "mixed.ini", mixed), "--json", "-", "--set", "bench.batch=1, 10",
		"--set", "bench small.batch=0, 20");
	assert_good();
	lines = results_parse(cli.out);
	ck_assert_uint_eq(json_array_size(lines), 4);
	assert_batches(0, 1, 1);
	assert_batches(1, 20, 1);
	assert_batches(2, 10, 10);
	assert_batches(3, 20, 10);
	ck_assert_str_eq(json_string_value(results_at(json_array_get(lines, 1), "variant")),
			 "bench.batch = 1, bench small.batch = 20");
}

/* ---- mistakes -------------------------------------------------------------------------------------------------------- */

/* Each at its line, and once. */
TEST(batches_that_cannot_be)
{
	const char *path = cli_write(&dir, "wrong.ini",
				     "[group]\n"
				     "nodes = 2\n"
				     "[subgroup small]\n"
				     "window = 20\n"
				     "[subgroup large]\n"
				     "window = 10\n"
				     "[bench]\n"
				     "batch = 11\n" /* 8: more than the window of large */
				     "[bench small]\n"
				     "batch = 21\n"); /* 10: more than that of small */

	CLI_RUN(&cli, &dir, "bench", path);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_str_eq(cli.out, "");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "wrong.ini:8: bench.batch: is 11, expected at most 10, the window of "
						  "subgroup large"),
			  1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "wrong.ini:10: bench small.batch: is 21, expected at most 20, the "
						  "window of subgroup small"),
			  1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, ""), 2);
}

static const struct {
	const char *assignment, *line; /* --set, and what the one line must have in it */
} bad[] = {
	{"bench.batch=0", "--set: bench.batch: is \"0\", expected a number from 1 to 32768"},
	{"bench.batch=many", "--set: bench.batch: is \"many\", "},
	{"bench.batch=1, 11", "--set: bench.batch: is 11, expected at most 10, the window of subgroup large"},
	{"bench small.batch=-1", "--set: bench small.batch: is \"-1\", expected a number from 0 to 32768"},
	{"bench large.batch=11", "--set: bench large.batch: is 11, expected at most 10, the window of subgroup large"},
	{"subgroup large.window=2", "mixed.ini:12: bench.batch: is 3, expected at most 2, the window of subgroup large"},
	{"subgroup large.window=0", "--set: subgroup large.window: is \"0\", "},
};

TEST_LOOP(one_mistake, 0, COUNT(bad))
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "mixed.ini", mixed), "--set", bad[_i].assignment);
	CLI_MISTAKE(&cli, bad[_i].line);
}

TEST(calls_are_committed_one_by_one)
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "mixed.ini", mixed), "--set", "bench.upcall=call");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "mixed.ini:12: bench.batch: is 3, expected 1 with upcall = call"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "mixed.ini:15: bench small.batch: is 20, expected 1 with upcall = "
						  "call"),
			  1);
}

/* ---- the limit ------------------------------------------------------------------------------------------------------- */

/* On a machine that is busy nothing may move in 20 ms: then longer. */
static struct wh_limit_result measure(struct wh_limit_ring *rings, size_t count, bool caller)
{
	struct wh_limit_plan plan = {.kind = WH_LIMIT_SHM,
				     .nodes = 2,
				     .rings = rings,
				     .ring_count = count,
				     .caller = caller,
				     .measure_ms = 20};
	struct wh_limit_result result;
	struct wh_watch watch;
	struct wh_error err;

	ck_assert_int_eq(wh_watch_open(&watch, &err), WHORL_OK);
	do
		ck_assert_msg(wh_limit_measure(&plan, &watch, &result, &err) == WHORL_OK, "%s", err.text);
	while ((result.rate.messages_per_s <= 0 || result.prefetched_bytes_per_s <= 0) && (plan.measure_ms *= 8) < 2000);
	wh_watch_close(&watch);
	ck_assert_double_gt(result.rate.messages_per_s, 0);
	return result;
}

/* It publishes what the benchmark commits, and nothing else is the best way; up to the whole window. */
TEST_LOOP(limit_of_batches, 0, 6)
{
	static const uint32_t batches[] = {2, 7, 10};
	const uint32_t both[] = {0, 1};
	struct wh_limit_ring rings[] = {{0, both, 2, 10, 100, batches[_i / 2]}, {1, both, 2, 10, 100, batches[_i / 2]}};
	struct wh_limit_result result = measure(rings, COUNT(rings), _i % 2 == 0);

	ck_assert_uint_eq(result.publish_every, batches[_i / 2]);
	ck_assert_double_eq_tol(result.rate.bytes_per_s, 100 * result.rate.messages_per_s,
				result.rate.bytes_per_s * 1e-3);
	ck_assert_double_gt(result.prefetched_bytes_per_s, 0);
}

/* Where some rings have a batch and others have none the best way is still looked for. */
TEST_LOOP(limit_of_some_batches, 0, 2)
{
	const uint32_t both[] = {0, 1};
	struct wh_limit_ring rings[] = {{0, both, 2, 10, 100, 7}, {1, both, 2, 10, 100, 1}};
	struct wh_limit_result result = measure(rings, COUNT(rings), _i == 0);

	ck_assert(result.publish_every == 1 || result.publish_every == 8 || result.publish_every == 64);
}

/* The command measures that one. */
TEST(the_limit_of_a_run_has_its_batch)
{
	json_t *line;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "plain.ini", plain), "--json", "-", "--set", "bench.limit=on");
	assert_good();
	lines = results_parse(cli.out);
	line = json_array_get(lines, 0);
	ck_assert_int_eq((int)json_integer_value(results_at(line, "limit.publish_every.0")), 10);
	ck_assert_int_eq((int)json_integer_value(results_at(line, "limit.publish_every.1")), 10);
}

TEST_SUITE("cli_batches")

int main(void)
{
	return test_main(suite());
}
