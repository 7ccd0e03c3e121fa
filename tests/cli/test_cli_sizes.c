/* test_cli_sizes.c - subgroups with messages of sizes of their own: [bench NAME] bytes. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/lines.h"
#include "tests/harness.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char mixed[] = "[group]\n"
			    "nodes = 3\n"
			    "failure_timeout_ms = 20000\n"
			    "[subgroup small]\n"
			    "window = 20\n"
			    "[subgroup large]\n"
			    "members = 0,1\n"
			    "window = 10\n"
			    "[subgroup other]\n"
			    "window = 10\n"
			    "message_bytes = 1000\n"
			    "[bench]\n"
			    "messages = 300\n"
			    "bytes = 100\n"
			    "runs = 1\n"
			    "limit = off\n"
			    "[bench large]\n"
			    "bytes = 5000\n"
			    "[bench other]\n"
			    "bytes = 0\n";
static const int sizes[] = {100, 5000, 0}; /* of each subgroup */

static void run(const char *set, const char *other)
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "mixed.ini", mixed), "--json", "-", "--set", set, "--set", other);
	assert_good();
	lines = results_parse(cli.out);
}

static double number_at(json_t *line, const char *path)
{
	return json_number_value(results_at(line, path));
}

/* Of subgroup number `g`. */
static double number_of(json_t *line, int g, const char *key)
{
	char path[64];

	snprintf(path, sizeof path, "subgroups.%d.%s", g, key);
	return number_at(line, path);
}

/* The sizes are as asked for; the rates are as the sizes are, and those of all subgroups together are the run's. */
static void assert_adds_up(json_t *line, const int *bytes)
{
	double sum = 0, messages = 0, nodes = number_at(line, "nodes");

	for (int g = 0; g < 3; g++) {
		double rate = number_of(line, g, "bytes_per_s"), each = number_of(line, g, "messages_per_s");
		char path[64];

		snprintf(path, sizeof path, "subgroups.%d.members", g);
		ck_assert_int_eq((int)number_of(line, g, "bytes"), bytes[g]);
		ck_assert_double_gt(each, 0);
		ck_assert_double_eq_tol(rate, each * bytes[g], 1e-6 * rate + 1e-9);
		sum += rate * (double)json_array_size(results_at(line, path)) / nodes;
		messages += each * (double)json_array_size(results_at(line, path)) / nodes;
	}
	ck_assert_double_eq_tol(number_at(line, "bytes_per_s"), sum, 1e-6 * sum);
	ck_assert_double_eq_tol(number_at(line, "messages_per_s"), messages, 1e-6 * messages);
	ck_assert_int_eq((int)number_at(line, "bytes"), bytes[0]); /* as all that is said of the first */
}

TEST_CASE("sizes", .timeout_s = TEST_UNTIMED, .setup = setup,
	  .teardown = teardown); /* a command that hangs is killed by cli_wait */

static const char *const ways[][2] = {
	{"group.transport=shm", "bench.upcall=batch"},       {"group.transport=shm", "engine.thread=caller"},
	{"group.transport=shm", "bench.senders_per_node=2"}, {"group.transport=shm", "bench.processes=off"},
	{"group.transport=shm", "bench.copies=both"},        {"group.transport=tcp", "bench.upcall=message"},
	{"group.transport=sim", "bench.copies=both"},        {"group.transport=sim", "engine.thread=caller"},
};

TEST_LOOP(each_subgroup_has_its_size, 0, COUNT(ways))
{
	run(ways[_i][0], ways[_i][1]);
	ck_assert_uint_eq(json_array_size(lines), 1);
	assert_adds_up(json_array_get(lines, 0), sizes);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, " small: 100 B, ", " at each of 3 members"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, " large: 5000 B, ", " at each of 2 members"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, " other: 0 B, ", " 0.000 GB/s at each of 3 members"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "the limit is of the same mix"), 0); /* there is none */
}

/* What is delivered, by its records: so many of each, of that size. */
TEST(messages_have_that_size)
{
	char *text;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "mixed.ini", mixed), "--deliveries", cli_path(&dir, "out"));
	assert_good();
	text = cli_read(cli_path(&dir, "out/node-1.txt"));
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "small ", " 100 "), 3 * 300);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "large ", " 5000 "), 2 * 300);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "other ", " 0 "), 3 * 300);
	ck_assert_uint_eq(CLI_LINES_WITH(text, ""), 8 * 300);
	free(text);
}

/* Also where the file has it. */
TEST(what_is_one_size_is_not_told_apart)
{
	static const int same[] = {100, 100, 100};

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "mixed.ini", mixed), "--json", "-", "--set",
		"bench large.bytes=-1", "--set", "bench other.bytes=100", "--set", "bench.limit=on");
	assert_good();
	lines = results_parse(cli.out);
	assert_adds_up(json_array_get(lines, 0), same);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, " members"), 1); /* the verdict */
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "same mix"), 0);
}

/* A list in two sections: the key alone does not say which is meant. */
TEST(sizes_vary)
{
	static const int expected[][3] = {{10, 7, 0}, {10, 70, 0}, {20, 7, 0}, {20, 70, 0}};

	run("bench.bytes=10, 20", "bench large.bytes=7, 70");
	ck_assert_uint_eq(json_array_size(lines), COUNT(expected));
	for (size_t v = 0; v < COUNT(expected); v++)
		assert_adds_up(json_array_get(lines, v), expected[v]);
	ck_assert_str_eq(json_string_value(results_at(json_array_get(lines, 1), "variant")),
			 "bench.bytes = 10, bench large.bytes = 70");
}

/* Copies of a subgroup are as it is, also by its size. */
TEST(copies_have_the_size_of_the_first)
{
	static const int bytes[] = {77, 77, 77};

	CLI_RUN(&cli, &dir, "bench",
		cli_write(&dir, "one.ini", SMALL_GROUP("2") "[bench]\nmessages = 100\nlimit = off\n"), "--json", "-",
		"--set", "bench all.bytes=77", "--set", "bench.subgroups=3", "--set", "bench.runs=1");
	assert_good();
	lines = results_parse(cli.out);
	assert_adds_up(json_array_get(lines, 0), bytes);
}

/* Only what is sent counts. */
TEST(a_subgroup_in_which_nothing_is_sent_has_no_part)
{
	run("bench.active_subgroups=one", "bench.limit=on");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "same mix"), 0);
	ck_assert_double_eq(number_of(json_array_get(lines, 0), 1, "messages_per_s"), 0);
}

/* The message behind the silence is of the first subgroup. */
TEST(the_last_message_has_its_size)
{
	run("bench.idle_seconds=1", "group.transport=shm");
	assert_adds_up(json_array_get(lines, 0), sizes);
}

/* ---- the limit ------------------------------------------------------------------------------------------------------- */

static const char two[] = "[group]\n"
			  "nodes = 2\n"
			  "failure_timeout_ms = 20000\n"
			  "[subgroup small]\n"
			  "window = 20\n"
			  "[subgroup large]\n"
			  "window = 10\n"
			  "[bench]\n"
			  "messages = 300\n"
			  "bytes = 104\n"
			  "runs = 1\n"
			  "[bench large]\n"
			  "bytes = 50000\n";

static void assert_same_mix(json_t *line, const char *bytes, const char *messages)
{
	double mean = (104 + 50000) / 2.0, each = number_at(line, bytes) / number_at(line, messages);

	ck_assert_msg(each > 0.9 * mean && each < 1.1 * mean, "%s: %.0f bytes a message", bytes, each);
}

static const char *const limits[] = {"group.transport=shm", "group.transport=tcp", "group.transport=sim"};

/* As many of the one as of the other, however many more small ones a program could move. */
TEST_LOOP(the_limit_has_the_same_mix, 0, 2 * COUNT(limits))
{
	bool sockets = _i / 2 == 1, simulated = _i / 2 == 2;
	json_t *line;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "two.ini", two), "--json", "-", "--set", limits[_i / 2], "--set",
		_i % 2 == 0 ? "engine.thread=dedicated" : "engine.thread=caller");
	assert_good();
	lines = results_parse(cli.out);
	line = json_array_get(lines, 0);
	assert_same_mix(line, "limit.bytes_per_s", "limit.messages_per_s");
	if (sockets)
		assert_same_mix(line, "limit.best_write.bytes_per_s", "limit.best_write.messages_per_s");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "the limit is of the same mix"), simulated ? 0 : 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "a bare round trip, of 104 B: "), simulated ? 0 : 1);
}

/* On disk, too: a step has as many of each, whatever the windows are. */
TEST(the_limit_of_disks_has_the_same_mix)
{
	char set[TEST_PATH_BYTES + 32];

	snprintf(set, sizeof set, "group.log_dir=%s", dir.path);
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "two.ini", two), "--json", "-", "--set", set, "--set",
		"subgroup small.mode=durable", "--set", "subgroup large.mode=durable");
	assert_good();
	lines = results_parse(cli.out);
	assert_same_mix(json_array_get(lines, 0), "limit.bytes_per_s", "limit.messages_per_s");
}

/* Subgroups of some nodes each, so that a stream has turns that are not for its reader. */
TEST(the_limit_where_subgroups_overlap)
{
	run("group.transport=tcp", "bench.limit=on");
	ck_assert_double_gt(number_at(json_array_get(lines, 0), "limit.per_message.bytes_per_s"), 0);
	ck_assert_double_gt(number_at(json_array_get(lines, 0), "limit.best_write.bytes_per_s"), 0);
}

/* ---- mistakes -------------------------------------------------------------------------------------------------------- */

/* Each at its line, and once. */
TEST(sizes_that_cannot_be)
{
	const char *path = cli_write(&dir, "wrong.ini",
				     "[group]\n"
				     "nodes = 2\n"
				     "[subgroup small]\n"
				     "message_bytes = 64\n"
				     "[subgroup large]\n"
				     "message_bytes = 10k\n"
				     "[bench]\n"
				     "bytes = 1000\n" /* 8: more than those of small */
				     "[bench large]\n"
				     "bytes = 10241\n" /* 10: more than those of large */
				     "[bench lagre]\n" /* 11: no subgroup */
				     "bytes = 1\n");

	CLI_RUN(&cli, &dir, "bench", path);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_str_eq(cli.out, "");
	ck_assert_uint_eq(
		CLI_LINES_WITH(
			cli.err,
			"wrong.ini:8: bench.bytes: is 1000, expected at most 64, the message_bytes of subgroup small"),
		1);
	ck_assert_uint_eq(
		CLI_LINES_WITH(
			cli.err,
			"wrong.ini:10: bench large.bytes: is 10241, expected at most 10240, the message_bytes of subgroup large"),
		1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "wrong.ini:11: bench lagre: there is no such subgroup"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, ""), 3);
}

static const struct {
	const char *assignment, *line; /* --set, and what the one line must have in it */
} bad[] = {
	{"bench small.bytes=-2", "--set: bench small.bytes: is \"-2\", expected a number from -1 to 1073741824"},
	{"bench small.bytes=2g", "--set: bench small.bytes: is \"2g\", "},
	{"bench other.bytes=1001", "--set: bench other.bytes: is 1001, expected at most 1000, "},
	{"bench small.messages=5", "--set: bench small.messages: unknown key here, expected in [bench]"},
	{"bench small.window=5", "--set: bench small.window: unknown key here, expected in [subgroup NAME]"},
	{"bench none.bytes=5", "bench none: there is no such subgroup, expected the name of a section [subgroup NAME]"},
	{"bench small,large.bytes=5", "is not understood"},
	{"subgroup small.bytes=5", "--set: subgroup small.bytes: unknown key here, expected in [bench"},
};

TEST_LOOP(one_mistake, 0, COUNT(bad))
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "mixed.ini", mixed), "--set", bad[_i].assignment);
	CLI_MISTAKE(&cli, bad[_i].line);
}

/* Where neither section says it, no subgroup gets more than fits; and one that has its own size takes no part in that. */
TEST(sizes_fit_where_nothing_is_said)
{
	static const char text[] = "[group]\nnodes = 2\n"
				   "[subgroup a]\nmessage_bytes = 50\n"
				   "[subgroup b]\nmessage_bytes = 200\n"
				   "[subgroup c]\nwindow = 5\n"
				   "[bench]\nmessages = 50\nlimit = off\nruns = 1\n"
				   "[bench a]\nbytes = 30\n";
	static const int expected[] = {30, 200, 200};

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "text.ini", text), "--json", "-");
	assert_good();
	lines = results_parse(cli.out);
	assert_adds_up(json_array_get(lines, 0), expected);
}

/* What is along x may be named with its section. */
TEST(a_figure_of_sizes)
{
	char *picture;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "mixed.ini", mixed), "--plot", cli_path(&dir, "mixed.svg"),
		"--set", "figure.x=bench large.bytes", "--set", "bench large.bytes=10, 20", "--set",
		"bench.bytes=1, 2");
	assert_good();
	picture = cli_read(cli_path(&dir, "mixed.svg"));
	if (picture != NULL) { /* where there is gnuplot */
		ck_assert_ptr_nonnull(strstr(picture, "bench large.bytes"));
		ck_assert_ptr_nonnull(strstr(picture, "bench.bytes = 2")); /* a series */
	}
	free(picture);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "mixed.ini", mixed), "--set", "figure.x=bench.window");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "figure.x: is \"bench.window\", expected a key that may be a list"),
			  1);
}

TEST_SUITE("cli_sizes")

int main(void)
{
	return test_main(suite());
}
