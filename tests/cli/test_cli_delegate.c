/* test_cli_delegate.c - `whorl delegate`: lines, results as JSON, mistakes, and what it leaves behind. The command adds up the counters
 * itself, and fails if there is not as much in them as calls were made: each good end says that no call was lost or made twice.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/cli.h"
#include "tests/harness.h"
#include "tests/sanitizer.h"

static struct cli_dir dir;
static struct cli cli;

static void setup(void)
{
	cli_dir_make(&dir);
}

static void teardown(void)
{
	cli_free(&cli);
	cli_dir_remove(&dir);
}

/* The next line is one of that way, in figures that can be. Returns how many operations in a second. */
static double line_of(const char **at, const char *way)
{
	double ops, latency;
	char name[16], end;

	ck_assert_int_eq(sscanf(*at, "%15s %lf %lf%c", name, &ops, &latency, &end), 4);
	ck_assert_int_eq(end, '\n');
	ck_assert_str_eq(name, way);
	ck_assert_double_gt(ops, 0);
	ck_assert_double_ge(latency, 0);
	*at = strchr(*at, '\n') + 1;
	return ops;
}

/* ---- measurements ------------------------------------------------------------------------------------------------------------ */

static const char *const all[] = {"mutex", "spin", "combine", "atomic", "trust", "async"};

/* By threads, and by --workers, which makes a difference where there are trustees; more threads than processors, few objects that are not alike:
 * all ways meet each other. */
START_TEST(each_way_counts_right)
{
	static const char *const workers[] = {"trust", "async"};
	const char *const *ways = _i == 1 ? workers : all;
	size_t count = _i == 1 ? sizeof workers / sizeof workers[0] : sizeof all / sizeof all[0];
	const char *json = cli_path(&dir, "out.json"), *at;
	char *text;

	CLI_RUN(&cli, &dir, "delegate", "fetch-add", "--threads", "4", "--objects", "3", "--zipf", "1", "--ways",
		_i == 1 ? "trust,async" : "mutex,spin,combine,atomic,trust,async", "--runs", "2", "--json", json,
		_i == 1 ? "--workers" : NULL);
	ck_assert_msg(cli.status == 0, "%d: %s", cli.status, cli.err);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "whorl: "), 0);
	at = cli.out;
	for (int run = 0; run < 2; run++)
		for (size_t w = 0; w < count; w++)
			(void)line_of(&at, ways[w]);
	ck_assert_str_eq(at, "");
	text = cli_read(json);
	ck_assert_ptr_nonnull(text);
	for (size_t w = 0; w < count; w++)
		ck_assert_uint_eq(CLI_LINES_WITH(text, "\"way\": ", ways[w]), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"ops_per_s\": "), 3 * count);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"p99_9\": "), 2 * count);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"threads\": 4"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"zipf\": 1.0"), 1);
	free(text);
}
END_TEST

/* One object: that each thread gets values that grow is looked at, too. */
START_TEST(one_object_has_one_order)
{
	const char *at;

	CLI_RUN(&cli, &dir, "delegate", "fetch-add", "--threads", "3", "--ways", "trust,combine,async",
		_i == 1 ? "--workers" : NULL);
	ck_assert_msg(cli.status == 0, "%d: %s", cli.status, cli.err);
	at = cli.out;
	(void)line_of(&at, "trust");
	(void)line_of(&at, "combine");
	(void)line_of(&at, "async");
}
END_TEST

/* No more is done than is offered, but for what chance adds to 5000 calls. */
START_TEST(a_load_is_kept)
{
	const char *at;

	CLI_RUN(&cli, &dir, "delegate", "fetch-add", "--load", "10000", "--ways", "mutex,trust,async");
	ck_assert_msg(cli.status == 0, "%d: %s", cli.status, cli.err);
	at = cli.out;
	ck_assert_double_lt(line_of(&at, "mutex"), 11000);
	ck_assert_double_lt(line_of(&at, "trust"), 11000);
	ck_assert_double_lt(line_of(&at, "async"), 11000);
}
END_TEST

START_TEST(busy_neighbours_leave_with_it)
{
	pid_t pids[64];

	CLI_RUN(&cli, &dir, "delegate", "fetch-add", "--busy", "--ways", "atomic");
	ck_assert_msg(cli.status == 0, "%d: %s", cli.status, cli.err);
	ck_assert_uint_eq(cli_processes(&cli), 0);
	ck_assert_uint_eq(cli_children(&cli, pids, 64), 0);
}
END_TEST

static bool has_begun(void *ctx)
{
	pid_t pids[64];

	(void)ctx;
	return cli_children(&cli, pids, 64) > 0;
}

START_TEST(a_signal_ends_it)
{
	static const char *const arguments[] = {"delegate", "fetch-add", "--busy", "--runs", "1000", NULL};

	cli_start(&cli, &dir, arguments);
	cli_await(&cli, has_begun, NULL, "there are busy neighbours");
	kill(cli.pid, SIGINT);
	cli_wait(&cli);
	ck_assert_int_eq(cli.status, 130);
	ck_assert_uint_eq(cli_processes(&cli), 0);
}
END_TEST

/* Calls to another node come back as they were, in batches, of which each is one write. */
START_TEST(an_echo_comes_back)
{
	static const char *const transports[] = {"shm", "tcp", "sim"};
	static const char *const seconds[] = {"0.9", "0.9", "0.1"}; /* virtual ones take longer */
	const char *json = cli_path(&dir, "echo.json");
	double rate, latency, batch, writes, bytes, gathered, each;
	char *text;

	CLI_RUN(&cli, &dir, "delegate", "echo", "--transport", transports[_i], "--nodes", "3", "--fibers", "4",
		"--outstanding", "4", "--bytes", "40", "--seconds", seconds[_i], "--json", json);
	ck_assert_msg(cli.status == 0, "%d: %s", cli.status, cli.err);
	/* A sanitizer speaks of contexts; and a node that gets no processor for so long says that it hears too few. */
	ck_assert_msg(WITH_SANITIZER || cli.err[0] == '\0' || CLI_LINES_WITH(cli.err, "are heard to go on") > 0, "%s",
		      cli.err);
	ck_assert_int_eq(sscanf(cli.out,
				"bytes 40 calls_per_s %lf latency_us %lf calls_per_batch %lf writes_per_call %lf "
				"bytes_per_call %lf gathered %lf per_call %lf",
				&rate, &latency, &batch, &writes, &bytes, &gathered, &each),
			 7);
	ck_assert(rate > 0 && latency > 0 && batch >= 1 && gathered > 0 && each > 0);
	ck_assert(writes > 0 && writes < 2.5 && bytes > 80);
	text = cli_read(json);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"transport\": \"", transports[_i]), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"gathered\": "), 1);
	free(text);
}
END_TEST

/* ---- what is wrong ----------------------------------------------------------------------------------------------------------- */

#define WRONG 16

START_TEST(what_is_wrong_is_said)
{
	static const struct {
		const char *arguments[5], *words;
	} cases[WRONG] = {
		{{"delegate"}, "which COMMAND? fetch-add"},
		{{"delegate", "fetch"}, "there is no command \"fetch\", expected fetch-add"},
		{{"delegate", "fetch-add", "echo"}, "\"echo\" is one word too many"},
		{{"delegate", "fetch-add", "--threads", "0"}, "--threads is \"0\", expected a number from 1 to 256"},
		{{"delegate", "fetch-add", "--threads", "two"}, "--threads is \"two\", expected a number from 1 to 256"},
		{{"delegate", "fetch-add", "--objects", "1000001"},
		 "--objects is \"1000001\", expected a number from 1 to"},
		{{"delegate", "fetch-add", "--runs", "-1"}, "--runs is \"-1\", expected a number from 1 to 1000"},
		{{"delegate", "fetch-add", "--zipf", "nan"}, "--zipf is \"nan\", expected a number from 0 to 10"},
		{{"delegate", "fetch-add", "--load", "1e10"}, "--load is \"1e10\", expected a number from 0 to 1e+09"},
		{{"delegate", "fetch-add", "--ways", "mutex,lock"}, "--ways has \"lock\", expected some of mutex, spin"},
		{{"delegate", "fetch-add", "--ways", "mutex,"}, "--ways has \"\", expected some of mutex, spin"},
		{{"delegate", "fetch-add", "--ways", "spin,spin"}, "--ways has \"spin\" twice"},
		{{"delegate", "fetch-add", "--nonsense"}, "unrecognized option"},
		{{"delegate", "echo", "--transport", "udp"}, "--transport is \"udp\", expected shm, tcp, verbs or sim"},
		{{"delegate", "echo", "--nodes", "1"}, "--nodes is \"1\", expected a number from 2 to 64"},
		{{"delegate", "echo", "again"}, "\"again\" is one word too many"},
	};

	cli_run(&cli, &dir, cases[_i].arguments);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_msg(strstr(cli.err, cases[_i].words) != NULL, "\"%s\" is not in: %s", cases[_i].words, cli.err);
	ck_assert_str_eq(cli.out, "");
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_a_failure)
{
	CLI_RUN(&cli, &dir, "delegate", "fetch-add", "--ways", "atomic", "--json", cli_path(&dir, "no/where.json"));
	ck_assert_int_eq(cli.status, 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "no/where.json: No such file or directory"), 1);
}
END_TEST

START_TEST(help_names_all_ways)
{
	CLI_RUN(&cli, &dir, "delegate", "--help");
	ck_assert_int_eq(cli.status, 0);
	for (size_t w = 0; w < sizeof all / sizeof all[0]; w++)
		ck_assert_uint_ge(CLI_LINES_WITH(cli.out, all[w]), 1);
	ck_assert_uint_ge(CLI_LINES_WITH(cli.out, "  mcs "), 1);
	ck_assert_str_eq(cli.err, "");
}
END_TEST

/* With it or, where it is not built in, with a word of that. */
START_TEST(mcs_runs_or_says_why_not)
{
	CLI_RUN(&cli, &dir, "delegate", "fetch-add", "--ways", "mcs");
	if (cli.status == 0) {
		const char *at = cli.out;

		(void)line_of(&at, "mcs");
		return;
	}
	ck_assert_int_eq(cli.status, 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "the way mcs is not built in: ", "libck-dev"), 1);
	ck_assert_str_eq(cli.out, "");
}
END_TEST

static Suite *delegate_suite(void)
{
	Suite *suite = suite_create("delegate");
	TCase *measures = tcase_create("measures"), *wrong = tcase_create("wrong");

	tcase_add_checked_fixture(measures, setup, teardown);
	tcase_set_timeout(measures, 120);
	tcase_add_loop_test(measures, each_way_counts_right, 0, 2);
	tcase_add_loop_test(measures, one_object_has_one_order, 0, 2);
	tcase_add_loop_test(measures, an_echo_comes_back, 0, 3);
	tcase_add_test(measures, a_load_is_kept);
	tcase_add_test(measures, busy_neighbours_leave_with_it);
	tcase_add_test(measures, a_signal_ends_it);
	tcase_add_test(measures, mcs_runs_or_says_why_not);
	suite_add_tcase(suite, measures);
	tcase_add_checked_fixture(wrong, setup, teardown);
	tcase_set_timeout(wrong, 120);
	tcase_add_loop_test(wrong, what_is_wrong_is_said, 0, WRONG);
	tcase_add_test(wrong, a_file_that_cannot_be_written_is_a_failure);
	tcase_add_test(wrong, help_names_all_ways);
	suite_add_tcase(suite, wrong);
	return suite;
}

int main(void)
{
	return test_main(delegate_suite());
}
