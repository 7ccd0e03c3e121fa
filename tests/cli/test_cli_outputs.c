/* test_cli_outputs.c - a disk that is full, and too few descriptors: a reader of what the command wrote must not take a part for
 * the whole, and is told the first cause. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/cli/lines.h"
#include "tests/harness.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define NO_SPACE "could not be written: No space left on device"

static const char small[] = SMALL_GROUP("2") "[bench]\n"
					     "messages = 300\n"
					     "bytes = 100\n"
					     "runs = 2\n"
					     "limit = off\n"
					     "[sim]\n"
					     "runs = 3\n";

/* What stands for files of the test. */
enum { INI = 1, ONE, RESULTS, DELIVERIES, ARGUMENTS = 9 };
#define INI_ "\1"
#define ONE_ "\2"
#define RESULTS_ "\3"
#define DELIVERIES_ "\4"

static void run(const char *const *words, bool full)
{
	const char *arguments[ARGUMENTS] = {NULL};

	for (size_t i = 0; words[i] != NULL; i++) {
		char number = words[i][0];

		arguments[i] = number == INI          ? cli_path(&dir, "small.ini")
			       : number == ONE        ? cli_path(&dir, "one.ini")
			       : number == RESULTS    ? cli_path(&dir, "results")
			       : number == DELIVERIES ? cli_path(&dir, "deliveries")
						      : words[i];
	}
	unlink(cli_path(&dir, "stdout"));
	if (full)
		ck_assert_int_eq(symlink("/dev/full", cli_path(&dir, "stdout")), 0);
	cli_run(&cli, &dir, arguments);
}

static void make_files(void)
{
	char one[256], group[64];

	snprintf(group, sizeof group, "outputs-%d", (int)getpid());
	cli_write(&dir, "small.ini", small);
	snprintf(one, sizeof one, "[group]\nname = %s\nnodes = 1\n[subgroup all]\n", group);
	cli_write(&dir, "one.ini", one);
	ck_assert_int_eq(mkdir(cli_path(&dir, "results"), 0777), 0);
	ck_assert_int_eq(mkdir(cli_path(&dir, "deliveries"), 0777), 0);
	ck_assert_int_eq(symlink("/dev/full", cli_path(&dir, "deliveries/node-1.txt")), 0);
	run((const char *const[]){"bench", INI_, "--json", cli_path(&dir, "results/a.json"), NULL}, false);
	assert_good();
	cli_free(&cli);
}

/* ---- standard output ---------------------------------------------------------------------------------------------------- */

static const char *const to_stdout[][ARGUMENTS] = {
	{"--help"},
	{"--version"},
	{"help"},
	{"bench", "--help"},
	{"bench", INI_},
	{"bench", INI_, "--json=-"},
	{"bench", INI_, "--csv=-"},
	{"bench", INI_, "--set", "group.transport=sim"},
	{"calibrate"},
	{"config", "--describe"},
	{"config", "--markdown"},
	{"config", "--sample"},
	{"config", "--check", INI_},
	{"node", ONE_, "--id=0", "--run=none", "--seconds=0.5"},
	{"node", ONE_, "--id=0", "--json", "--seconds=0.5"},
	{"report", RESULTS_, "-o", "-"},
	{"sim", INI_},
	{"sim", INI_, "--verbose"},
};

TEST_CASE("outputs", .timeout_s = TEST_UNTIMED, .setup = setup,
	  .teardown = teardown); /* a command that hangs is killed by cli_wait */

TEST_LOOP(standard_output_is_full, 0, COUNT(to_stdout))
{
	make_files();
	run(to_stdout[_i], true);
	ck_assert_msg(cli.status == 1, "%s %s: status %d: %s", to_stdout[_i][0], to_stdout[_i][1], cli.status, cli.err);
	ck_assert_msg(CLI_LINES_WITH(cli.err, NO_SPACE) >= 1, "%s %s: %s", to_stdout[_i][0], to_stdout[_i][1], cli.err);
	cli_free(&cli);
	run(to_stdout[_i], false); /* and that alone was wrong */
	assert_good();
}

static bool is_ready(void *ctx)
{
	const struct cli *node = ctx;
	char *text = cli_read(node->out_path);
	bool ready = text != NULL && CLI_LINES_WITH(text, "ready after") > 0;

	free(text);
	return ready;
}

TEST(status_of_a_group)
{
	static const char *const asked[][ARGUMENTS] = {
		{"status", ONE_}, {"status", ONE_, "--json"}, {"status", ONE_, "--watch"}};
	struct cli_dir other;
	struct cli node;

	make_files();
	cli_dir_make(&other);
	cli_start(&node, &other,
		  (const char *const[]){"node", cli_path(&dir, "one.ini"), "--id=0", "--run=none", "--seconds=100",
					NULL});
	cli_await(&node, is_ready, &node, "a node");
	for (size_t i = 0; i < COUNT(asked); i++) {
		run(asked[i], true);
		ck_assert_msg(cli.status == 1, "%s: status %d: %s", asked[i][2], cli.status, cli.err);
		ck_assert_uint_eq(CLI_LINES_WITH(cli.err, NO_SPACE), 1);
		cli_free(&cli);
	}
	kill(node.pid, SIGKILL);
	cli_wait(&node);
	cli_free(&node);
	cli_dir_remove(&other);
}

/* Nothing that is opened takes its place. */
TEST(standard_output_is_closed)
{
	char command[1024], *text;
	int status;

	make_files();
	snprintf(command, sizeof command, "%s bench %s >&- 2>%s", WHORL_COMMAND, cli_path(&dir, "small.ini"),
		 cli_path(&dir, "stderr"));
	status = system(command);
	ck_assert(WIFEXITED(status));
	ck_assert_int_eq(WEXITSTATUS(status), 1);
	text = cli_read(cli_path(&dir, "stderr"));
	ck_assert_msg(CLI_LINES_WITH(text, "standard output: it could not be written: Bad file descriptor") >= 1, "%s",
		      text);
	free(text);
}

/* ---- files ---------------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *words[ARGUMENTS], *name;
} to_file[] = {
	{{"bench", INI_, "--json=/dev/full"}, "/dev/full"},
	{{"bench", INI_, "--csv=/dev/full"}, "/dev/full"},
	{{"bench", INI_, "--plot=/dev/full"}, "/dev/full"},
	{{"bench", INI_, "--deliveries", DELIVERIES_}, "deliveries/node-1.txt"},
	{{"bench", INI_, "--deliveries", DELIVERIES_, "--set", "bench.processes=off"}, "deliveries/node-1.txt"},
	{{"bench", INI_, "--deliveries", DELIVERIES_, "--set", "group.transport=sim"}, "deliveries/node-1.txt"},
	{{"report", RESULTS_, "-o", "/dev/full"}, "/dev/full"},
};

TEST_LOOP(a_file_is_full, 0, COUNT(to_file))
{
	make_files();
	run(to_file[_i].words, false);
	ck_assert_msg(cli.status == 1, "%s: status %d: %s", to_file[_i].words[2], cli.status, cli.err);
	ck_assert_msg(CLI_LINES_WITH(cli.err, to_file[_i].name, NO_SPACE) == 1, "%s: %s", to_file[_i].words[2],
		      cli.err);
}

/* More than its buffer holds: seen while it runs, and then the run ends. */
TEST(deliveries_of_a_long_run)
{
	make_files();
	run((const char *const[]){"bench", INI_, "--deliveries", DELIVERIES_, "--set", "bench.messages=200k", NULL},
	    false);
	ck_assert_int_eq(cli.status, 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "deliveries/node-1.txt", NO_SPACE), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "verdict: none"), 1);
}

/* ---- descriptors ------------------------------------------------------------------------------------------------------------ */

/* Four nodes need more than each may have: not that they have not met is said first, but why. */
TEST(too_few_descriptors)
{
	struct rlimit limit;

	make_files();
	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	limit.rlim_cur = 17; /* with fewer a node cannot even be opened, and says so */
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	run((const char *const[]){"bench", INI_, "--set", "group.nodes=4", NULL}, false);
	ck_assert_int_eq(cli.status, 1);
	/* The first that lacks one is a pidfd or a socket, or one that a peer sends: it depends on which of the others it meets first. */
	ck_assert_msg(CLI_LINES_WITH(cli.err, "Too many open files; ", "; so the nodes have not met") >= 1 ||
			      CLI_LINES_WITH(cli.err, "sends more descriptors than this process has room for",
					     "; so the nodes have not met") >= 1,
		      "%s", cli.err);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "verdict: none"), 1);
}

TEST_SUITE("cli_outputs")

int main(void)
{
	return test_main(suite());
}
