/* test_cli_sim.c - `whorl sim`: the same seeds are the same runs, what it says of mistakes, how it ends. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/cli.h"
#include "tests/harness.h"

static struct cli_dir dir;
static struct cli cli;

static const char small[] = "[sim]\n"
			    "seed = 5\n"
			    "runs = 10\n"
			    "nodes_max = 5\n"
			    "messages_max = 20\n";

static void setup(void)
{
	cli_dir_make(&dir);
}

static void teardown(void)
{
	cli_free(&cli);
	cli_dir_remove(&dir);
}

/* The last line is `trace` and 16 hexadecimal digits, which go to `digest`. */
static void take_digest(char digest[17])
{
	size_t length = strlen(cli.out);
	const char *line;

	ck_assert_msg(cli.status == 0, "%s%s", cli.out, cli.err);
	ck_assert_str_eq(cli.err, "");
	ck_assert_uint_ge(length, 23);
	line = cli.out + length - 23;
	ck_assert(line == cli.out || line[-1] == '\n');
	ck_assert_uint_eq(strncmp(line, "trace ", 6), 0);
	ck_assert_uint_eq(strspn(line + 6, "0123456789abcdef"), 16);
	ck_assert_str_eq(line + 22, "\n");
	memcpy(digest, line + 6, 16);
	digest[16] = '\0';
	cli_free(&cli);
}

TEST_CASE("cli sim", .timeout_s = 60, .setup = setup, .teardown = teardown);

TEST(the_same_seeds_have_the_same_digest)
{
	const char *file = cli_write(&dir, "small.ini", small);
	char of_file[17], again[17], other[17], verbose[17];

	CLI_RUN(&cli, &dir, "sim", file);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "10 runs from seed 5", "0 failed"), 1);
	take_digest(of_file);
	CLI_RUN(&cli, &dir, "sim", file, "--seed", "5", "--runs", "10", "--set", "sim.nodes_max=5");
	take_digest(again);
	ck_assert_str_eq(again, of_file);
	CLI_RUN(&cli, &dir, "sim", file, "--verbose");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "seed ", "nodes", "trace "), 10);
	take_digest(verbose);
	ck_assert_str_eq(verbose, of_file);
	CLI_RUN(&cli, &dir, "sim", file, "--seed", "6");
	take_digest(other);
	ck_assert_str_ne(other, of_file);
}

/* Faults of the file, and others instead of them. */
TEST(faults_can_be_written)
{
	const char *file = cli_write(&dir, "faults.ini",
				     "[sim]\nruns = 3\n[fault first]\nis = crash 0 at 30 ms\n[fault then]\n"
				     "is = stall 1 for 0.5 ms at decide 1\n");
	char digest[17];

	CLI_RUN(&cli, &dir, "sim", file, "-v");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "    crash 0 at 30 ms"), 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "    stall 1 for 0.5 ms at decide 1"), 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, ", view "), 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, ", view 0,"), 0); /* each has lost a member */
	take_digest(digest);
	CLI_RUN(&cli, &dir, "sim", file, "-v", "--fault", "leave 2 at 1 ms");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "    leave 2 at 1 ms"), 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "crash"), 0);
	take_digest(digest);
}

TEST(mistakes_are_told)
{
	const char *file = cli_write(&dir, "wrong.ini",
				     "[sim]\nnodes_min = 5\nnodes_max = 4\nfault_kinds = crash, flood\n[fault one]\n"
				     "is = crash 7 at 30 ms\n[fault two]\nis = crash 1 at noon\n");

	CLI_RUN(&cli, &dir, "sim", file);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_str_eq(cli.out, "");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "wrong.ini:2: sim.nodes_min:", "nodes_max"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "wrong.ini:4: sim.fault_kinds:", "flood", "leave"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "wrong.ini:6: fault one.is:", "nodes_min"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "wrong.ini:8: fault two.is:", "a time, as in 20 ms"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "config", "--check", file);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "wrong.ini:4: sim.fault_kinds:"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "config", "--check", WHORL_SOURCE "/conf/sim.ini");
	ck_assert_int_eq(cli.status, 0);
}

TEST(usage)
{
	const char *file = cli_write(&dir, "small.ini", small);

	CLI_RUN(&cli, &dir, "sim");
	ck_assert_int_eq(cli.status, 2);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "sim", file, "--fault", "crash");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "--fault", "expected a node"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "sim", file, "--seed", "many");
	ck_assert_int_eq(cli.status, 2);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "sim", cli_path(&dir, "nowhere.ini"));
	ck_assert_int_eq(cli.status, 2);
}

/* No process stays behind. */
TEST(it_can_be_interrupted)
{
	const char *const arguments[] = {"sim", cli_write(&dir, "small.ini", small), "--runs", "1000000", NULL};
	pid_t worker;

	cli_start(&cli, &dir, arguments);
	while (cli_children(&cli, &worker, 1) == 0)
		ck_assert_int_eq(kill(cli.pid, 0), 0);
	kill(cli.pid, SIGINT);
	cli_wait(&cli);
	ck_assert_int_eq(cli.status, 130);
	ck_assert_uint_eq(cli_processes(&cli), 0);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "trace "), 1);
}

TEST_SUITE("cli sim")

int main(void)
{
	return test_main(suite());
}
