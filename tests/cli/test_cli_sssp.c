/* test_cli_sssp.c - `whorl delegate sssp`: distances that are compared with those of one program, in processes and in simulation; figures; mistakes;
 * and nodes that are killed.
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

static void must_be_checked(void)
{
	ck_assert_msg(cli.status == 0, "%d: %s", cli.status, cli.err);
	ck_assert_msg(WITH_SANITIZER || cli.err[0] == '\0', "%s", cli.err); /* which speaks of contexts */
	ck_assert_msg(strstr(cli.out, " checked ") != NULL, "%s", cli.out);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "scale "), 1);
	ck_assert_uint_eq(cli_processes(&cli), 0);
}

/* ---- what is right ----------------------------------------------------------------------------------------------------------- */

#define SHAPES 10

START_TEST(distances_are_those_of_one_program)
{
	static const struct {
		const char *nodes, *workers, *scale, *degree, *seed, *transport;
	} shapes[SHAPES] = {
		{"1", "1", "10", "16", "1", "shm"}, {"2", "1", "10", "16", "2", "shm"},
		{"3", "1", "9", "8", "3", "shm"},   {"2", "2", "10", "4", "4", "shm"},
		{"2", "1", "10", "16", "5", "tcp"}, {"3", "2", "8", "2", "6", "tcp"},
		{"2", "1", "1", "1", "7", "shm"},   {"3", "1", "1", "3", "8", "shm"}, /* a part without vertices */
		{"3", "1", "6", "1", "9", "shm"},   {"1", "3", "7", "30", "10", "shm"},
	};

	CLI_RUN(&cli, &dir, "delegate", "sssp", "--nodes", shapes[_i].nodes, "--workers", shapes[_i].workers, "--scale",
		shapes[_i].scale, "--degree", shapes[_i].degree, "--seed", shapes[_i].seed, "--transport",
		shapes[_i].transport, "--runs", "4", "--check");
	must_be_checked();
}
END_TEST

START_TEST(and_in_simulation)
{
	static const char *const nodes[] = {"1", "2", "4"};

	CLI_RUN(&cli, &dir, "delegate", "sssp", "--nodes", nodes[_i], "--workers", _i == 1 ? "2" : "1", "--scale", "8",
		"--transport", "sim", "--runs", "2", "--check");
	must_be_checked();
}
END_TEST

/* In simulation the same run gives the same figures. */
START_TEST(simulated_time_is_the_same_twice)
{
	char *before;

	CLI_RUN(&cli, &dir, "delegate", "sssp", "--nodes", "3", "--scale", "8", "--transport", "sim", "--runs", "2");
	ck_assert_int_eq(cli.status, 0);
	before = strdup(cli.out);
	ck_assert_ptr_nonnull(before);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "delegate", "sssp", "--nodes", "3", "--scale", "8", "--transport", "sim", "--runs", "2");
	ck_assert_str_eq(cli.out, before);
	free(before);
}
END_TEST

static char *number_behind(const char *text, const char *key)
{
	const char *at = strstr(text, key);
	size_t length;

	ck_assert_msg(at != NULL, "%s is not in: %s", key, text);
	at += strlen(key);
	length = strspn(at, "0123456789");
	return strndup(at, length);
}

/* The graph, and what comes of it, is the same whatever the number of nodes. */
START_TEST(json_says_the_same_of_any_number_of_nodes)
{
	static const char *const nodes[] = {"1", "2", "3"};
	char *sums[3], *edges[3];

	for (int i = 0; i < 3; i++) {
		const char *json = cli_path(&dir, "sssp.json");
		char *text;

		CLI_RUN(&cli, &dir, "delegate", "sssp", "--nodes", nodes[i], "--scale", "9", "--seed", "5", "--runs",
			"1", "--check", "--json", json);
		must_be_checked();
		cli_free(&cli);
		text = cli_read(json);
		ck_assert_ptr_nonnull(text);
		sums[i] = number_behind(text, "\"distance_sum\": ");
		edges[i] = number_behind(text, "\"edges\": ");
		ck_assert_uint_eq(CLI_LINES_WITH(text, "\"checked\": true"), 1);
		ck_assert_uint_eq(CLI_LINES_WITH(text, "\"nodes\": ", nodes[i]), 1);
		ck_assert_uint_eq(CLI_LINES_WITH(text, "\"root\": "), 1);
		ck_assert_uint_ge(CLI_LINES_WITH(text, "\"sequential_teps\": "), 1);
		free(text);
	}
	ck_assert_int_gt(atoi(edges[0]), 4000); /* of 8192: most are where the root is */
	ck_assert_int_le(atoi(edges[0]), 8192);
	for (int i = 0; i < 3; i++) {
		ck_assert_str_eq(sums[i], sums[0]);
		ck_assert_str_eq(edges[i], edges[0]);
	}
	for (int i = 0; i < 3; i++) {
		free(sums[i]);
		free(edges[i]);
	}
}
END_TEST

/* Of 64 vertices and as many edges some have none: whatever vertex is the root, it ends, and reaches itself. */
START_TEST(any_vertex_can_be_the_root)
{
	int alone = 0;

	for (int root = 0; root < 64; root += 5) {
		const char *json = cli_path(&dir, "root.json");
		char number[8], *text, *reached;

		snprintf(number, sizeof(number), "%d", root);
		CLI_RUN(&cli, &dir, "delegate", "sssp", "--scale", "6", "--degree", "1", "--runs", "1", "--root",
			number, "--check", "--json", json);
		must_be_checked();
		cli_free(&cli);
		text = cli_read(json);
		reached = number_behind(text, "\"reached\": ");
		ck_assert_int_ge(atoi(reached), 1);
		alone += atoi(reached) == 1;
		free(reached);
		free(text);
	}
	ck_assert_int_gt(alone, 0);
}
END_TEST

/* ---- what is wrong ----------------------------------------------------------------------------------------------------------- */

#define WRONG 15

START_TEST(what_is_wrong_is_said)
{
	static const struct {
		const char *arguments[5], *words;
	} cases[WRONG] = {
		{{"--nodes", "0"}, "--nodes is \"0\", expected a number from 1 to 64"},
		{{"--nodes", "65"}, "--nodes is \"65\", expected a number from 1 to 64"},
		{{"--workers", "17"}, "--workers is \"17\", expected a number from 1 to 16"},
		{{"--scale", "0"}, "--scale is \"0\", expected a number from 1 to 30"},
		{{"--scale", "31"}, "--scale is \"31\", expected a number from 1 to 30"},
		{{"--scale", "1e3"}, "--scale is \"1e3\", expected a number from 1 to 30"},
		{{"--degree", "0"}, "--degree is \"0\", expected a number from 1 to 1024"},
		{{"--runs", "1001"}, "--runs is \"1001\", expected a number from 1 to 1000"},
		{{"--seed", "-1"}, "--seed is \"-1\", expected a number from 0"},
		{{"--seed", "99999999999999999999"}, "--seed is \"99999999999999999999\", expected a number"},
		{{"--scale", "4", "--root", "16"}, "--root is 16, and a graph of scale 4 has the vertices 0 to 15"},
		{{"--arc-ns", "x"}, "--arc-ns is \"x\", expected a number from 0 to 1000000"},
		{{"--transport", "udp"}, "--transport is \"udp\", expected shm, tcp, verbs or sim"},
		{{"--nonsense"}, "unrecognized option"},
		{{"again"}, "\"again\" is one word too many"},
	};
	const char *arguments[8] = {"delegate", "sssp"};

	for (int i = 0; i < 5; i++)
		arguments[i + 2] = cases[_i].arguments[i];
	cli_run(&cli, &dir, arguments);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_msg(strstr(cli.err, cases[_i].words) != NULL, "\"%s\" is not in: %s", cases[_i].words, cli.err);
	ck_assert_str_eq(cli.out, "");
}
END_TEST

START_TEST(what_does_not_fit_is_said)
{
	CLI_RUN(&cli, &dir, "delegate", "sssp", "--scale", "30", "--degree", "1024");
	ck_assert_int_eq(cli.status, 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "a graph of scale 30 with 1024 edges for each vertex takes 176",
					 " GB here, and "),
			  1);
	ck_assert_str_eq(cli.out, "");
}
END_TEST

START_TEST(a_file_that_cannot_be_written_is_a_failure)
{
	CLI_RUN(&cli, &dir, "delegate", "sssp", "--scale", "4", "--runs", "1", "--json",
		cli_path(&dir, "no/where.json"));
	ck_assert_int_eq(cli.status, 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "no/where.json: No such file or directory"), 1);
}
END_TEST

START_TEST(help_says_what_is_printed)
{
	CLI_RUN(&cli, &dir, "delegate", "sssp", "--help");
	ck_assert_int_eq(cli.status, 0);
	ck_assert_uint_ge(CLI_LINES_WITH(cli.out, "whorl delegate sssp"), 1);
	ck_assert_uint_ge(CLI_LINES_WITH(cli.out, "teps"), 1);
	ck_assert_uint_ge(CLI_LINES_WITH(cli.out, "--check"), 1);
	ck_assert_str_eq(cli.err, "");
}
END_TEST

/* ---- ends that come early ---------------------------------------------------------------------------------------------------- */

static const char *const long_one[] = {"delegate", "sssp", "--nodes", "3",    "--scale", "14",
				       "--degree", "16",   "--runs",  "1000", NULL};

static bool has_nodes(void *ctx)
{
	pid_t pids[8];

	(void)ctx;
	return cli_children(&cli, pids, 8) == 3;
}

/* All of them have used a tenth of a second of a processor: what goes before runs takes less. */
static bool has_worked(void *ctx)
{
	pid_t pids[8];
	size_t count = cli_children(&cli, pids, 8);

	(void)ctx;
	for (size_t i = 0; i < count; i++) {
		unsigned long user = 0;
		char path[64];
		FILE *file;

		snprintf(path, sizeof(path), "/proc/%d/stat", (int)pids[i]);
		file = fopen(path, "re");
		if (file == NULL)
			return false;
		if (fscanf(file, "%*d (%*[^)]) %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu", &user) != 1)
			user = 0;
		fclose(file);
		if (user < 10)
			return false;
	}
	return count == 3;
}

/* Whatever the others notice, and say, first: it does not hang. */
START_TEST(a_node_that_is_killed_is_a_failure)
{
	pid_t pids[8];
	size_t count;

	cli_start(&cli, &dir, long_one);
	cli_await(&cli, _i < 3 ? has_worked : has_nodes, NULL, "there are nodes"); /* amid a run, or while they meet */
	count = cli_children(&cli, pids, 8);
	ck_assert_uint_eq(count, 3);
	kill(pids[_i % 3], SIGKILL);
	cli_wait(&cli);
	ck_assert_msg(cli.status == 1, "%d: %s", cli.status, cli.err);
	ck_assert_msg(CLI_LINES_WITH(cli.err, "whorl: sssp: node ", "was killed by signal 9") == 1 ||
			      CLI_LINES_WITH(cli.err, "whorl: sssp: node ", "is not reached any more") == 1 ||
			      CLI_LINES_WITH(cli.err, "parts cannot go on") == 1,
		      "%s", cli.err);
	ck_assert_str_eq(cli.out, "");
	ck_assert_uint_eq(cli_processes(&cli), 0);
}
END_TEST

START_TEST(a_signal_ends_it)
{
	cli_start(&cli, &dir, long_one);
	cli_await(&cli, has_nodes, NULL, "there are nodes");
	kill(cli.pid, SIGINT);
	cli_wait(&cli);
	ck_assert_int_eq(cli.status, 130);
	ck_assert_uint_eq(cli_processes(&cli), 0);
}
END_TEST

static Suite *sssp_suite(void)
{
	Suite *suite = suite_create("sssp");
	TCase *right = tcase_create("right"), *wrong = tcase_create("wrong"), *ends = tcase_create("ends");

	tcase_add_checked_fixture(right, setup, teardown);
	tcase_set_timeout(right, 120);
	tcase_add_loop_test(right, distances_are_those_of_one_program, 0, SHAPES);
	tcase_add_loop_test(right, and_in_simulation, 0, 3);
	tcase_add_test(right, simulated_time_is_the_same_twice);
	tcase_add_test(right, json_says_the_same_of_any_number_of_nodes);
	tcase_add_test(right, any_vertex_can_be_the_root);
	suite_add_tcase(suite, right);
	tcase_add_checked_fixture(wrong, setup, teardown);
	tcase_set_timeout(wrong, 120);
	tcase_add_loop_test(wrong, what_is_wrong_is_said, 0, WRONG);
	tcase_add_test(wrong, what_does_not_fit_is_said);
	tcase_add_test(wrong, a_file_that_cannot_be_written_is_a_failure);
	tcase_add_test(wrong, help_says_what_is_printed);
	suite_add_tcase(suite, wrong);
	tcase_add_checked_fixture(ends, setup, teardown);
	tcase_set_timeout(ends, 120);
	tcase_add_loop_test(ends, a_node_that_is_killed_is_a_failure, 0, 6);
	tcase_add_test(ends, a_signal_ends_it);
	suite_add_tcase(suite, ends);
	return suite;
}

int main(void)
{
	return test_main(sssp_suite());
}
