/* test_cli_usage.c - what the command says of itself and of mistakes, and the exit status that goes with it. */
#include <check.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/bench.h"
#include "bench/sections.h"
#include "tests/cli/cli.h"
#include "tests/harness.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

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

static const char good[] = "[group]\n"
			   "nodes = 2\n"
			   "[subgroup all]\n"
			   "window = 10\n"
			   "message_bytes = 128\n"
			   "[bench]\n"
			   "messages = 10\n"
			   "bytes = 128\n"
			   "runs = 1\n"
			   "limit = off\n";

/* Usage errors: 2, a word on stderr, nothing on stdout. */
static void assert_usage(void)
{
	ck_assert_int_eq(cli.status, 2);
	ck_assert_str_eq(cli.out, "");
	ck_assert_uint_ge(CLI_LINES_WITH(cli.err, "--help"), 1);
	cli_free(&cli);
}

TEST_CASE("usage", .timeout_s = TEST_UNTIMED, .setup = setup,
	  .teardown = teardown); /* a command that hangs is killed by cli_wait */

TEST(version_and_help)
{
	static const char *const helps[][3] = {{"--help"}, {"bench", "--help"}, {"config", "--help"},
					       {"help"},   {"help", "status"},  {"log", "--help"}};

	CLI_RUN(&cli, &dir, "--version");
	ck_assert_int_eq(cli.status, 0);
	ck_assert_str_eq(cli.out, "whorl 0.1.0\n");
	cli_free(&cli);
	for (size_t i = 0; i < COUNT(helps); i++) {
		cli_run(&cli, &dir, helps[i]);
		ck_assert_int_eq(cli.status, 0);
		ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "Usage:", "whorl"), 1);
		ck_assert_str_eq(cli.err, "");
		cli_free(&cli);
	}
}

/* Without an argument, and with `help`; a command that is not in the list is not there. */
TEST(commands_are_listed)
{
	static const char *const commands[] = {"  bench FILE ", "  calibrate ", "  config ",
					       "  delegate ",   "  log DIR ",   "  node FILE ",
					       "  report DIR ", "  sim FILE ",  "  status NAME "};

	for (int helps = 0; helps < 2; helps++) {
		cli_run(&cli, &dir, (const char *const[]){helps ? "help" : NULL, NULL});
		ck_assert_int_eq(cli.status, helps ? 0 : 2);
		for (size_t c = 0; c < COUNT(commands); c++)
			ck_assert_uint_eq(CLI_LINES_WITH(helps ? cli.out : cli.err, commands[c]), 1);
		cli_free(&cli);
	}
	CLI_RUN(&cli, &dir, "help", "dance");
	assert_usage();
}

TEST(usage_errors)
{
	static const char *const wrong[][5] = {
		{NULL},
		{"--nonsense"},
		{"dance"},
		{"bench"},
		{"bench", "--nonsense", "a.ini"},
		{"bench", "a.ini", "b.ini"},
		{"bench", "a.ini", "--set"},
		{"bench", "a.ini", "--json=-", "--csv=-"},
		{"config"},
		{"config", "--check"},
		{"config", "a.ini"},
		{"log"},
		{"log", "a", "b"},
		{"log", "--begin-anew"},
	};

	for (size_t i = 0; i < COUNT(wrong); i++) {
		cli_run(&cli, &dir, wrong[i]);
		assert_usage();
	}
}

TEST(five_mistakes)
{
	const char *path = cli_write(&dir, "five.ini",
				     "[group]\n"
				     "nodes = 4\n"
				     "colour = red\n" /* 3: no such key */
				     "[subgroup orders]\n"
				     "members = 0,1,9\n" /* 5: no such node */
				     "window = 99999\n"  /* 6: out of its range */
				     "[engine]\n"
				     "idle = lazy\n" /* 8: no such choice */
				     "[subgroup small]\n"
				     "message_bytes = 10k\n"
				     "[bench]\n"
				     "bytes = 20480\n"); /* 12: more than message_bytes */
	static const char *const commands[] = {"bench", "config"};

	for (size_t c = 0; c < COUNT(commands); c++) {
		cli_run(&cli, &dir,
			c == 0 ? (const char *const[]){"bench", path, NULL}
			       : (const char *const[]){"config", "--check", path, NULL});
		ck_assert_int_eq(cli.status, 2);
		ck_assert_str_eq(cli.out, "");
		ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "five.ini:3: group.colour: "), 1);
		ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "five.ini:5: subgroup orders.members: "), 1);
		ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "five.ini:6: subgroup orders.window: "), 1);
		ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "five.ini:8: engine.idle: "), 1);
		ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "five.ini:12: bench.bytes: "), 1);
		ck_assert_uint_eq(CLI_LINES_WITH(cli.err, ""), 5);
		ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "expected"), 5);
		cli_free(&cli);
	}
}

/* A mistaken count of nodes makes no list of nodes look wrong as well. */
TEST(a_mistake_does_not_breed)
{
	const char *path = cli_write(&dir, "one.ini", "[group]\nnodes = four\n[subgroup all]\nmembers = 0,1,2,3\n");

	CLI_RUN(&cli, &dir, "bench", path);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, ""), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "one.ini:2: group.nodes: ", "four"), 1);
}

static const struct {
	const char *assignment, *line; /* --set, and what the one line must have in it */
} bad[] = {
	{"group.nodes=0", "group.nodes: "},
	{"group.nodes=257", "group.nodes: "},
	{"group.nodes=2,", "group.nodes: "},
	{"group.transport=pigeon", "group.transport: "},
	{"group.name=", "group.name: "},
	{"group.name=a b", "group.name: "},
	{"group.failure_timeout_ms=1", "group.failure_timeout_ms: "},
	{"group.memory_max=12", "group.memory_max: "},
	{"subgroup all.window=0", "subgroup all.window: "},
	{"subgroup all.window=32769", "subgroup all.window: "},
	{"subgroup all.window=-1", "subgroup all.window: "},
	{"subgroup all.window=1e3", "subgroup all.window: "},
	{"subgroup all.message_bytes=0", "subgroup all.message_bytes: "},
	{"subgroup all.message_bytes=2g", "subgroup all.message_bytes: "},
	{"subgroup all.message_bytes=99999999999999999999", "subgroup all.message_bytes: "},
	{"subgroup all.message_bytes=64", "bench.bytes: "},
	{"subgroup all.members=", "subgroup all.members: "},
	{"subgroup all.members=0,2", "subgroup all.members: "},
	{"subgroup all.members=0,0", "subgroup all.members: "},
	{"subgroup all.members=some", "subgroup all.members: "},
	{"subgroup all.senders=5", "subgroup all.senders: "},
	{"subgroup all.mode=perfect", "subgroup all.mode: "},
	{"subgroup all.mode=perfect", "subgroup all.mode: is \"perfect\", expected one of unordered, ordered, durable"},
	{"subgroup all.mode=durable", "group.log_dir: is none, expected a directory"},
	{"engine.thread=green", "engine.thread: "},
	{"engine.null_sends=maybe", "engine.null_sends: "},
	{"engine.cpus=first", "engine.cpus: "},
	{"bench.messages=0", "bench.messages: "},
	{"bench.bytes=-1", "bench.bytes: "},
	{"bench.runs=0", "bench.runs: "},
	{"bench.runs=1,2", "bench.runs: "},
	{"bench.active_senders=none", "bench.active_senders: "},
	{"bench.colour=red", "bench.colour: "},
	{"weather.rain=1", "weather.rain: "},
	{"bench.messages", "bench.messages"},
	{"nonsense", "nonsense"},
};

TEST_LOOP(one_mistake, 0, COUNT(bad))
{
	const char *path = cli_write(&dir, "good.ini", good);

	CLI_RUN(&cli, &dir, "bench", path, "--set", bad[_i].assignment);
	ck_assert_msg(cli.status == 2, "--set %s: status %d: %s", bad[_i].assignment, cli.status, cli.err);
	ck_assert_str_eq(cli.out, "");
	ck_assert_msg(CLI_LINES_WITH(cli.err, "--set", bad[_i].line) == 1 ||
			      CLI_LINES_WITH(cli.err, "good.ini", bad[_i].line) == 1,
		      "--set %s: %s", bad[_i].assignment, cli.err);
}

TEST(several_sets_and_mistakes)
{
	const char *path = cli_write(&dir, "good.ini", good);

	CLI_RUN(&cli, &dir, "bench", path, "--set", "group.nodes=0", "--set", "engine.idle=lazy", "--set",
		"bench.senders_per_node=2", "--set", "engine.thread=caller");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "group.nodes: "), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "engine.idle: "), 1);
}

TEST(combinations_that_do_not_go)
{
	const char *path = cli_write(&dir, "good.ini", good);

	CLI_RUN(&cli, &dir, "bench", path, "--set", "bench.senders_per_node=2", "--set", "engine.thread=caller");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "bench.senders_per_node: ", "caller"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "bench", path, "--set", "bench.idle_seconds=1", "--set", "bench.sender_delay_us=1", "--set",
		"bench.delayed_senders=one");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "bench.idle_seconds: "), 1);
	cli_free(&cli);
	/* the second variant is the bad one: nothing runs before that is said */
	CLI_RUN(&cli, &dir, "bench", path, "--set", "bench.bytes=128,256");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "bench.bytes: ", "256"), 1);
	ck_assert_str_eq(cli.out, "");
}

TEST(files_that_are_not_there)
{
	const char *path = cli_write(&dir, "good.ini", good);

	CLI_RUN(&cli, &dir, "bench", cli_path(&dir, "missing.ini"));
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "missing.ini: cannot be read", "No such file"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, ""), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "bench", dir.path);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "cannot be read"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "bench", path, "--json", cli_path(&dir, "no/such/directory.json"));
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "directory.json", "No such file"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "bench", path, "--deliveries", cli_path(&dir, "no/such/directory"));
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "no/such/directory", "No such file"), 1);
}

TEST(no_subgroup)
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "bare.ini", "[group]\nnodes = 2\n"));
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "bare.ini", "subgroup"), 1);
}

/* More than the file allows is the file's fault; more than there is, the machine's. */
TEST(too_little_memory)
{
	const char *path = cli_write(&dir, "good.ini", good);

	CLI_RUN(&cli, &dir, "bench", path, "--set", "subgroup all.message_bytes=1g");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "group.memory_max: ", "needs"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "bench", path, "--set", "subgroup all.message_bytes=1g", "--set", "subgroup all.window=400",
		"--set", "group.memory_max=1024g");
	ck_assert_int_eq(cli.status, 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "GiB", "available"), 1);
	ck_assert_str_eq(cli.out, "");
}

TEST(what_a_transport_lacks_is_named)
{
	const char *path = cli_write(&dir, "good.ini", good);

	CLI_RUN(&cli, &dir, "bench", path, "--set", "group.transport=verbs");
	ck_assert_int_eq(cli.status, 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "group.transport"), 1);
}

/* Keys of the same name and default in all sections. */
static size_t alike(const struct wh_option *option)
{
	size_t count = 0;

	for (size_t t = 0; t < wh_section_count; t++)
		for (size_t i = 0; i < wh_sections[t]->count; i++)
			count += strcmp(wh_sections[t]->options[i].key, option->key) == 0 &&
				 strcmp(wh_sections[t]->options[i].fallback, option->fallback) == 0;
	return count;
}

TEST(description_has_every_key)
{
	char *markdown;

	CLI_RUN(&cli, &dir, "config", "--describe", "--markdown");
	ck_assert_int_eq(cli.status, 0);
	markdown = strdup(cli.out);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "config", "--describe");
	ck_assert_int_eq(cli.status, 0);
	for (size_t t = 0; t < wh_section_count; t++)
		for (size_t i = 0; i < wh_sections[t]->count; i++) {
			const struct wh_option *option = &wh_sections[t]->options[i];
			char line[128];

			snprintf(line, sizeof line, "  %s = %s", option->key, option->fallback);
			ck_assert_msg(CLI_LINES_WITH(cli.out, line) == alike(option), "%s", line);
			snprintf(line, sizeof line, "| `%s` | `%s` |", option->key, option->fallback);
			ck_assert_msg(CLI_LINES_WITH(markdown, line) == alike(option), "%s", line);
			ck_assert_uint_gt(strlen(option->meaning), 0);
		}
	free(markdown);
}

TEST(documentation_is_up_to_date)
{
	char *text = cli_read(WHORL_SOURCE "/docs/configuration.md");

	CLI_RUN(&cli, &dir, "config", "--markdown");
	ck_assert_int_eq(cli.status, 0);
	ck_assert_ptr_nonnull(text);
	ck_assert_msg(strcmp(text, cli.out) == 0, "run: build/whorl config --markdown > docs/configuration.md");
	free(text);
}

TEST(sample_has_no_mistakes)
{
	const char *path;

	CLI_RUN(&cli, &dir, "config", "--sample");
	ck_assert_int_eq(cli.status, 0);
	path = cli_write(&dir, "sample.ini", cli.out);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "config", "--check", path);
	ck_assert_msg(cli.status == 0, "%s", cli.err);
}

TEST(our_files_have_no_mistakes)
{
	glob_t files;

	ck_assert_int_eq(glob(WHORL_SOURCE "/conf/*.ini", 0, NULL, &files), 0);
	ck_assert_int_eq(glob(WHORL_SOURCE "/conf/figures/*.ini", GLOB_APPEND, NULL, &files), 0);
	ck_assert_int_eq(glob(WHORL_SOURCE "/conf/planning/*.ini", GLOB_APPEND, NULL, &files), 0);
	ck_assert_uint_ge(files.gl_pathc, 2);
	for (size_t i = 0; i < files.gl_pathc; i++) {
		CLI_RUN(&cli, &dir, "config", "--check", files.gl_pathv[i]);
		ck_assert_msg(cli.status == 0, "%s", cli.err);
		cli_free(&cli);
	}
	globfree(&files);
}

TEST_SUITE("cli_usage")

int main(void)
{
	return test_main(suite());
}
