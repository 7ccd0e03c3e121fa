/* test_cli_results.c - what a run writes: the keys of the JSON lines, CSV, the table, sweeps. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "bench/bench.h"
#include "tests/cli/lines.h"
#include "tests/harness.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char small[] = SMALL_GROUP("2") "[bench]\n"
					     "messages = 500\n"
					     "bytes = 100\n"
					     "runs = 2\n"
					     "limit = off\n";

/* Every key of the stable interface, and what it is. */
static const struct {
	const char *path;
	json_type type;
} keys[] = {
	{"transport", JSON_STRING},
	{"nodes", JSON_INTEGER},
	{"senders", JSON_INTEGER},
	{"window", JSON_INTEGER},
	{"bytes", JSON_INTEGER},
	{"claim_batch", JSON_INTEGER},
	{"messages", JSON_INTEGER},
	{"thread", JSON_STRING},
	{"seconds", JSON_REAL},
	{"messages_per_s", JSON_REAL},
	{"bytes_per_s", JSON_REAL},
	{"latency_us.p50", JSON_REAL},
	{"latency_us.p90", JSON_REAL},
	{"latency_us.p99", JSON_REAL},
	{"latency_us.p999", JSON_REAL},
	{"latency_us.max", JSON_REAL},
	{"latency_timing", JSON_STRING},
	{"order_digest", JSON_ARRAY},
	{"order_digest.1", JSON_STRING},
	{"nulls", JSON_INTEGER},
	{"pushes", JSON_INTEGER},
	{"writes_posted", JSON_INTEGER},
	{"post_seconds", JSON_REAL},
	{"sender_wait_fraction", JSON_REAL},
	{"batch.send.mean", JSON_REAL},
	{"batch.send.histogram", JSON_ARRAY},
	{"batch.receive.mean", JSON_REAL},
	{"batch.receive.histogram", JSON_ARRAY},
	{"batch.deliver.mean", JSON_REAL},
	{"batch.deliver.histogram", JSON_ARRAY},
	{"limit.name", JSON_STRING},
	{"limit.bytes_per_s", JSON_REAL},
	{"limit.messages_per_s", JSON_REAL},
	{"limit.before", JSON_REAL},
	{"limit.after", JSON_REAL},
	{"limit.round_trip_us.polling", JSON_REAL},
	{"limit.round_trip_us.sleeping", JSON_REAL},
	{"limit.pattern_us.polling", JSON_REAL},
	{"limit.pattern_us.sleeping", JSON_REAL},
	{"fraction_of_limit", JSON_REAL},
	{"subgroups.0.name", JSON_STRING},
	{"subgroups.0.messages_per_s", JSON_REAL},
	{"subgroups.0.bytes_per_s", JSON_REAL},
	{"subgroups.0.order_digest.1", JSON_STRING},
	{"run", JSON_INTEGER},
	{"variant", JSON_STRING},
	{"file", JSON_STRING},
	{"version", JSON_STRING},
	{"timed", JSON_TRUE},
	{"machine.cpus", JSON_INTEGER},
	{"machine.model", JSON_STRING},
	{"machine.kernel", JSON_STRING},
};

TEST_CASE("results", .timeout_s = TEST_UNTIMED, .setup = setup,
	  .teardown = teardown); /* a command that hangs is killed by cli_wait */

TEST(json_has_its_keys)
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", "-", "--set", "bench.limit=on");
	assert_good();
	lines = results_parse(cli.out); /* nothing but JSON goes there */
	ck_assert_uint_eq(json_array_size(lines), 2);
	ck_assert_uint_ge(CLI_LINES_WITH(cli.err, "messages/s"), 1);
	for (size_t run = 0; run < 2; run++) {
		json_t *line = json_array_get(lines, run);

		for (size_t k = 0; k < COUNT(keys); k++)
			ck_assert_msg(json_typeof(results_at(line, keys[k].path)) == keys[k].type, "%s", keys[k].path);
		ck_assert_int_eq(json_integer_value(results_at(line, "run")), (json_int_t)run + 1);
		ck_assert_uint_eq(json_array_size(results_at(line, "order_digest")), 2);
	}
}

/* Figures that follow from each other, and from what was asked for. */
TEST(figures_agree)
{
	json_t *line;
	double seconds, messages_per_s;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", "-", "--set", "bench.limit=on",
		"--set", "bench.runs=1", "--set", "bench.messages=20000");
	assert_good();
	lines = results_parse(cli.out);
	line = json_array_get(lines, 0);
	seconds = json_real_value(results_at(line, "seconds"));
	messages_per_s = json_real_value(results_at(line, "messages_per_s"));
	ck_assert_double_gt(seconds, 0);
	ck_assert_double_eq_tol(messages_per_s * seconds, 2 * 20000, 1);
	ck_assert_double_eq_tol(json_real_value(results_at(line, "bytes_per_s")), messages_per_s * 100,
				messages_per_s / 1e3);
	ck_assert_int_eq(json_integer_value(results_at(line, "delivered")), 2 * 2 * 20000);
	ck_assert_double_eq_tol(
		(json_real_value(results_at(line, "limit.before")) + json_real_value(results_at(line, "limit.after"))) /
			2,
		json_real_value(results_at(line, "limit.bytes_per_s")), 1);
	ck_assert_double_eq_tol(json_real_value(results_at(line, "bytes_per_s")) /
					json_real_value(results_at(line, "limit.bytes_per_s")),
				json_real_value(results_at(line, "fraction_of_limit")), 1e-6);
	ck_assert_double_le(json_real_value(results_at(line, "latency_us.p50")),
			    json_real_value(results_at(line, "latency_us.p99")));
	ck_assert_double_le(json_real_value(results_at(line, "latency_us.p99")),
			    json_real_value(results_at(line, "latency_us.max")));
	ck_assert_double_le(json_real_value(results_at(line, "sender_wait_fraction")), 1);
	ck_assert_str_eq(json_string_value(results_at(line, "order_digest.0")),
			 json_string_value(results_at(line, "order_digest.1")));
	ck_assert_str_eq(json_string_value(results_at(line, "order_digest.0")),
			 json_string_value(results_at(line, "subgroups.0.order_digest.0")));
}

/* On tcp the limit has two figures, and the common keys are those of the first. */
TEST(limits_of_tcp)
{
	static const char *const figures[] = {"bytes_per_s", "messages_per_s", "before", "after"};
	static const char *const limits[] = {"per_message", "best_write"};
	json_t *line;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", "-", "--set", "group.transport=tcp",
		"--set", "bench.limit=on", "--set", "bench.runs=1");
	assert_good();
	lines = results_parse(cli.out);
	line = json_array_get(lines, 0);
	ck_assert_str_eq(json_string_value(results_at(line, "transport")), "tcp");
	ck_assert_str_eq(json_string_value(results_at(line, "limit.name")), "tcp-sockets");
	for (size_t f = 0; f < COUNT(figures); f++) {
		char path[64], first[64];

		snprintf(path, sizeof path, "limit.%s", figures[f]);
		snprintf(first, sizeof first, "limit.per_message.%s", figures[f]);
		ck_assert_double_eq(json_real_value(results_at(line, path)), json_real_value(results_at(line, first)));
	}
	for (size_t l = 0; l < COUNT(limits); l++) {
		char path[64];
		double limit;

		snprintf(path, sizeof path, "limit.%s.bytes_per_s", limits[l]);
		limit = json_real_value(results_at(line, path));
		ck_assert_double_gt(limit, 0);
		snprintf(path, sizeof path, "limit.%s.fraction", limits[l]);
		ck_assert_double_eq_tol(json_real_value(results_at(line, path)),
					json_real_value(results_at(line, "bytes_per_s")) / limit, 1e-6);
	}
	ck_assert_double_eq(json_real_value(results_at(line, "limit.per_message.fraction")),
			    json_real_value(results_at(line, "fraction_of_limit")));
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "writes of 64 KB"), 1);
}

/* The pattern is measured again with a thread that sends, where the run has one that sleeps in between. */
TEST(pattern_of_a_sending_thread)
{
	static const char *const kinds[] = {"polling", "sleeping"};
	json_t *line;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", "-", "--set", "bench.limit=on",
		"--set", "bench.runs=1", "--set", "bench.messages=20", "--set", "bench.sender_sleeps=on", "--set",
		"engine.thread=dedicated,caller");
	assert_good();
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "the same, sent by a thread that sleeps"), 1);
	lines = results_parse(cli.out);
	ck_assert_uint_eq(json_array_size(lines), 2);
	line = json_array_get(lines, 0);
	for (size_t k = 0; k < COUNT(kinds); k++) {
		char path[64];

		snprintf(path, sizeof path, "limit.pattern_sent_apart_us.%s", kinds[k]);
		ck_assert_double_gt(json_real_value(results_at(line, path)), 0);
	}
	line = json_array_get(lines, 1);
	ck_assert_double_gt(json_real_value(results_at(line, "limit.pattern_us.polling")), 0);
	ck_assert(json_is_null(results_at(line, "limit.pattern_sent_apart_us")));
}

/* Every combination, the last list in the file varies fastest; runs of one variant stand together. */
TEST(sweep)
{
	static const struct {
		int window, bytes;
	} expected[] = {{5, 1}, {5, 1000}, {10, 1}, {10, 1000}};

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", "-", "--set",
		"subgroup all.window=5, 10", "--set", "bench.bytes=1, 1000");
	assert_good();
	lines = results_parse(cli.out);
	ck_assert_uint_eq(json_array_size(lines), 2 * COUNT(expected));
	for (size_t i = 0; i < json_array_size(lines); i++) {
		json_t *line = json_array_get(lines, i);

		ck_assert_int_eq(json_integer_value(results_at(line, "window")), expected[i / 2].window);
		ck_assert_int_eq(json_integer_value(results_at(line, "bytes")), expected[i / 2].bytes);
		ck_assert_int_eq(json_integer_value(results_at(line, "run")), (json_int_t)(i % 2) + 1);
	}
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "window = 5, bytes = 1000"), 1);
}

static size_t count_cells(const char *line)
{
	size_t count = 1;
	bool quoted = false;

	for (; *line != '\0' && *line != '\n'; line++) {
		quoted ^= *line == '"';
		count += *line == ',' && !quoted;
	}
	return count;
}

TEST(csv)
{
	const char *path = cli_path(&dir, "out.csv");
	char *text, *line;
	size_t rows = 0, cells;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--csv", path, "--set", "bench.bytes=1,2");
	assert_good();
	ck_assert_uint_ge(CLI_LINES_WITH(cli.out, "messages/s"), 1); /* the table */
	text = cli_read(path);
	ck_assert_ptr_nonnull(text);
	ck_assert_ptr_eq(strstr(text, "version,"), text);
	ck_assert_uint_eq(CLI_LINES_WITH(text, ",messages_per_s,", ",latency_us.p99,", ",batch.send.mean,"), 1);
	cells = count_cells(text);
	for (line = text; line != NULL && *line != '\0'; line = strchr(line, '\n') + 1, rows++)
		ck_assert_uint_eq(count_cells(line), cells);
	ck_assert_uint_eq(rows, 1 + 2 * 2);
	free(text);
}

TEST(table_of_a_quiet_run)
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--quiet", "--set", "bench.bytes=1,2");
	assert_good();
	ck_assert_str_eq(cli.err, "");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "whorl 0.1.0"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "messages/s", "GB/s", "latency"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "bytes = 1 "), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "bytes = 2 "), 1);
}

/* ---- what it is worth ------------------------------------------------------------------------------------------------ */

TEST(verdict_and_warnings)
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", cli_path(&dir, "out.json"), "--set",
		"bench.messages=10", "--set", "bench.bytes=1,2");
	assert_good();
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "verdict: all members of each subgroup have delivered the same "
						  "messages in the same order, in each of 4 runs"),
			  1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "warning: run 1 took ", "too short"), 2); /* once for each variant */
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "bench", cli_path(&dir, "small.ini"), "--json=-", "--set", "bench.messages=10", "--set",
		"subgroup all.mode=unordered");
	assert_good();
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "verdict: all members", "each sender's in order"), 1);
	lines = results_parse(cli.out);
	ck_assert_str_eq(json_string_value(results_at(json_array_get(lines, 0), "doubts.0")), "short");
}

static const struct {
	struct wh_bench_verdict verdict;
	const char *words;
} verdicts[] = {
	{{.runs = 0}, "verdict: none"},
	{{.runs = 1}, "in 1 run\n"},
	{{.runs = 7}, "in each of 7 runs\n"},
	{{.runs = 2, .apart = true}, "is to be seen from the order_digest"},
	{{.runs = 3, .differ = true}, "verdict: NOT ALL MEMBERS HAVE DELIVERED THE SAME"},
};

TEST_LOOP(verdict_in_words, 0, sizeof verdicts / sizeof verdicts[0])
{
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	wh_bench_print_verdict(out, &verdicts[_i].verdict);
	ck_assert_int_eq(fclose(out), 0);
	ck_assert_msg(strstr(text, verdicts[_i].words) != NULL, "%s", text);
	free(text);
}

#define DOUBT(name) (1u << BENCH_DOUBT_##name)

static const struct {
	double seconds, fraction, before, after; /* of the limit; 0: there is none */
	uint32_t doubts;
} worth[] = {
	{1, 0, 0, 0, 0},
	{1, 0.9, 1e9, 1.9e9, 0},
	{1, 1.9, 1e9, 1e9, 0},
	{1, 251, 1e9, 1e9, DOUBT(LIMIT)},
	{0.01, 0.9, 1e9, 1e9, DOUBT(SHORT)},
	{1, 0.9, 1e9, 2.1e9, DOUBT(UNSTEADY)},
	{1, 0.9, 2.1e9, 1e9, DOUBT(UNSTEADY)},
	{0.001, 251, 1e6, 1e9, DOUBT(SHORT) | DOUBT(LIMIT) | DOUBT(UNSTEADY)},
};

TEST_LOOP(doubts, 0, sizeof worth / sizeof worth[0])
{
	const struct wh_bench_plan plan = {.config.group.transport = WH_TRANSPORT_SHM};
	bool limited = worth[_i].before > 0;
	const struct wh_bench_result result = {.seconds = worth[_i].seconds,
					       .limited = limited,
					       .limited_before = limited,
					       .fraction_of_limit = worth[_i].fraction,
					       .before.rate.bytes_per_s = worth[_i].before,
					       .after.rate.bytes_per_s = worth[_i].after};

	ck_assert_uint_eq(wh_bench_doubts(&plan, &result), worth[_i].doubts);
}

TEST(what_was_not_measured_is_null)
{
	json_t *line;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", "-", "--set",
		"bench.latency_every=0", "--deliveries", cli_path(&dir, "records"));
	assert_good();
	lines = results_parse(cli.out);
	ck_assert_uint_eq(json_array_size(lines), 1); /* runs that are not timed are not repeated */
	line = json_array_get(lines, 0);
	ck_assert(json_is_false(results_at(line, "timed")));
	ck_assert(json_is_null(results_at(line, "messages_per_s")));
	ck_assert(json_is_null(results_at(line, "latency_us")));
	ck_assert(json_is_null(results_at(line, "limit")));
	ck_assert(json_is_null(results_at(line, "fraction_of_limit")));
	ck_assert(json_is_null(results_at(line, "idle")));
	ck_assert(json_is_string(results_at(line, "order_digest.0")));
}

TEST(idle_group)
{
	json_t *line;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", "-", "--set",
		"bench.idle_seconds=1", "--set", "bench.runs=1", "--set", "group.failure_timeout_ms=2000", "--set",
		"engine.thread=dedicated,caller");
	assert_good();
	lines = results_parse(cli.out);
	ck_assert_uint_eq(json_array_size(lines), 2);
	for (size_t i = 0; i < 2; i++) {
		line = json_array_get(lines, i);
		ck_assert_int_eq(json_integer_value(results_at(line, "idle.pushes")), 0); /* nothing but heartbeats */
		ck_assert_int_gt(json_integer_value(results_at(line, "idle.heartbeats")), 0);
		ck_assert_double_ge(json_real_value(results_at(line, "idle.seconds")), 1);
		ck_assert_double_gt(json_real_value(results_at(line, "idle.next_message_us")), 0);
	}
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "idle for"), 2);
}

TEST(full_disk)
{
	if (access("/dev/full", W_OK) != 0)
		return;
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", "/dev/full");
	ck_assert_int_eq(cli.status, 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "/dev/full", "No space"), 1);
}

TEST_SUITE("cli_results")

int main(void)
{
	return test_main(suite());
}
