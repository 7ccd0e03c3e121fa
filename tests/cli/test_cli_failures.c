/* test_cli_failures.c - nodes that die, stop or wait for ever, impatient users: what is said, the exit status,
 * and that nothing is left behind. */
#include <check.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/cli.h"
#include "tests/cli/results.h"
#include "tests/harness.h"

#define NODES 4

static struct cli_dir dir;
static struct cli cli;
static char group[64]; /* the name of the group: what is left of it can be found */

static void setup(void)
{
	cli_dir_make(&dir);
	snprintf(group, sizeof group, "failures-%s", strrchr(dir.path, '-') + 1);
}

/* The sockets as well: the main thread of a node may be gone while another is still dying. */
static bool is_nothing_left(void *ctx)
{
	(void)ctx;
	return cli_processes(&cli) == 0 && cli_sockets(group) == 0;
}

static void teardown(void)
{
	cli_free(&cli);
	cli_dir_remove(&dir);
}

/* No process of the command, no socket of the group, and no memory file, which only a process could hold. */
static void assert_nothing_left(void)
{
	ck_assert_uint_eq(cli_processes(&cli), 0);
	ck_assert_uint_eq(cli_sockets(group), 0);
}

/* A run without end, of which node 0 records what it delivers: a record that grows shows that the run goes on. */
static void start_endless(const char *const *more)
{
	static char text[1024];
	const char *arguments[32] = {"bench", NULL, "--deliveries"};
	size_t count = 3;

	snprintf(text, sizeof text,
		 "[group]\n"
		 "name = %s\n"
		 "nodes = %d\n"
		 "failure_timeout_ms = 20000\n" /* what is dead is seen at once; a slow machine is not */
		 "[subgroup all]\n"
		 "window = 10\n"
		 "message_bytes = 10240\n"
		 "[bench]\n"
		 "messages = 1g\n"
		 "bytes = 10240\n",
		 group, NODES);
	arguments[1] = cli_write(&dir, "endless.ini", text);
	arguments[count++] = cli_path(&dir, "records");
	while (*more != NULL)
		arguments[count++] = *more++;
	cli_start(&cli, &dir, arguments);
}

static bool is_recording(void *ctx)
{
	struct stat status;

	(void)ctx;
	return stat(cli_path(&dir, "records/node-0.txt"), &status) == 0 && status.st_size > 0;
}

/* In the middle of a run; *pids are its nodes. */
static void await_middle(pid_t *pids, size_t nodes)
{
	cli_await(&cli, is_recording, NULL, "a delivery");
	if (pids != NULL)
		ck_assert_uint_eq(cli_children(&cli, pids, NODES), nodes);
}

static void assert_failed_by(const char *nodes, const char *what)
{
	ck_assert_msg(cli.status == 1, "status %d: %s", cli.status, cli.err);
	ck_assert_msg(CLI_LINES_WITH(cli.err, nodes, what) == 1, "%s", cli.err);
	assert_nothing_left();
}

static void kill_one(const char *const *more)
{
	pid_t pids[NODES];
	char word[64];

	start_endless(more);
	await_middle(pids, NODES);
	ck_assert_int_eq(kill(pids[2], SIGKILL), 0);
	cli_wait(&cli);
	snprintf(word, sizeof word, "node 2 (pid %d) was killed by signal 9 (Killed)", (int)pids[2]);
	assert_failed_by(word, "");
	assert_failed_by("nodes 0, 1, 3", "view 1 is without node 2"); /* they would have gone on */
}

TEST_CASE("failures", .timeout_s = TEST_UNTIMED, .setup = setup,
	  .teardown = teardown); /* a command that hangs is killed by cli_wait */

TEST(killed_node)
{
	kill_one((const char *const[]){NULL});
}

TEST(killed_node_of_callers)
{
	kill_one((const char *const[]){"--set", "engine.thread=caller", NULL});
}

/* Half of two is no majority: where nothing proves the death no view follows. On one host the kernel does. */
TEST_LOOP(killed_node_of_two, 0, 2)
{
	const char *transport = _i == 0 ? "group.transport=shm" : "group.transport=tcp";
	pid_t pids[NODES];

	start_endless((const char *const[]){"--set", "group.nodes=2", "--set", transport, NULL});
	await_middle(pids, 2);
	ck_assert_int_eq(kill(pids[1], SIGKILL), 0);
	cli_wait(&cli);
	assert_failed_by("node 1 (pid", "was killed by signal 9");
	assert_failed_by("node 0", _i == 0 ? "view 1 is without node 1"
					   : "too few of the 2 members of view 0 are heard to go on; missing: 1");
}

TEST(several_killed_nodes)
{
	pid_t pids[NODES];

	start_endless((const char *const[]){"--set", "engine.thread=caller", NULL});
	await_middle(pids, NODES);
	for (size_t i = 0; i < NODES; i++) /* all stand still before one is dead: none goes because of another */
		ck_assert_int_eq(kill(pids[i], SIGSTOP), 0);
	ck_assert_int_eq(kill(cli.pid, SIGSTOP), 0);
	for (size_t i = 0; i < NODES; i++)
		ck_assert_int_eq(kill(pids[i], SIGKILL), 0);
	ck_assert_int_eq(kill(cli.pid, SIGCONT), 0);
	cli_wait(&cli);
	ck_assert_int_eq(cli.status, 1);
	ck_assert_msg(CLI_LINES_WITH(cli.err, "was killed by signal 9") == NODES, "%s", cli.err);
	assert_nothing_left();
}

/* A node that lives and does nothing is noticed by the others alone. */
static void stop_one(const char *nodes, size_t count)
{
	pid_t pids[NODES];

	start_endless((const char *const[]){"--set", "group.failure_timeout_ms=1500", "--set", nodes, NULL});
	await_middle(pids, count);
	ck_assert_int_eq(kill(pids[1], SIGSTOP), 0);
	cli_wait(&cli);
}

TEST(stopped_node)
{
	stop_one("group.nodes=4", 4);
	assert_failed_by("view 1 is without node 1: dead, gone, or not heard for 1500 ms", ""); /* all say it alike */
}

TEST(stopped_node_of_two)
{
	stop_one("group.nodes=2", 2);
	assert_failed_by("node 0", "too few of the 2 members of view 0 are heard to go on; missing: 1");
}

static bool has_nodes(void *ctx)
{
	return cli_children(&cli, ctx, NODES) == NODES;
}

/* One that comes late is waited for, though a majority could begin without it long before. */
TEST(late_node)
{
	pid_t pids[NODES];

	start_endless((const char *const[]){"--set", "group.start_timeout_ms=20", "--set",
					    "group.failure_timeout_ms=20000", NULL});
	cli_await(&cli, has_nodes, pids, "nodes");
	ck_assert_int_eq(kill(pids[3], SIGSTOP), 0);
	ck_assert_int_eq(usleep(300 * 1000), 0);
	ck_assert_int_eq(kill(pids[3], SIGCONT), 0);
	await_middle(pids, NODES);
	ck_assert_int_eq(kill(cli.pid, SIGINT), 0);
	cli_wait(&cli);
	ck_assert_msg(cli.status == 130, "status %d: %s", cli.status, cli.err);
	ck_assert_msg(CLI_LINES_WITH(cli.err, "node ") == 0, "%s", cli.err);
	assert_nothing_left();
}

static bool has_grown(void *ctx)
{
	struct stat status;

	return stat(cli_path(&dir, "records/node-0.txt"), &status) == 0 && status.st_size > *(off_t *)ctx;
}

/* All of them stand still together, for longer than the time-out: nobody has failed. */
TEST(stopped_threads)
{
	struct stat status;

	start_endless(
		(const char *const[]){"--set", "bench.processes=off", "--set", "group.failure_timeout_ms=1000", NULL});
	await_middle(NULL, 0);
	ck_assert_int_eq(kill(cli.pid, SIGSTOP), 0);
	ck_assert_int_eq(usleep(1500 * 1000), 0);
	ck_assert_int_eq(stat(cli_path(&dir, "records/node-0.txt"), &status), 0);
	ck_assert_int_eq(kill(cli.pid, SIGCONT), 0);
	cli_await(&cli, has_grown, &status.st_size, "deliveries after a stop");
	ck_assert_int_eq(kill(cli.pid, SIGINT), 0);
	cli_wait(&cli);
	ck_assert_msg(cli.status == 130, "status %d: %s", cli.status, cli.err);
	ck_assert_msg(CLI_LINES_WITH(cli.err, "node ") == 0, "%s", cli.err);
	assert_nothing_left();
}

/* At the end of a run views without the members that have left may begin at the others: that is no failure. In a run by total
 * messages are still under way then. */
static void leave_in_order(const char *set)
{
	static char text[512];

	snprintf(text, sizeof text,
		 "[group]\nname = %s\nnodes = 6\nfailure_timeout_ms = 20000\n[subgroup all]\nwindow = 10\n[bench]\n"
		 "messages = 200\nruns = 5\nlimit = off\nsender_delay_us = 10\ndelayed_senders = none, half\n",
		 group);
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "leave.ini", text), "--set", set);
	ck_assert_msg(cli.status == 0 && cli.err[0] == '\0', "status %d: %s", cli.status, cli.err);
	assert_nothing_left();
}

TEST(leaving)
{
	leave_in_order("engine.thread=dedicated");
}

TEST(leaving_callers)
{
	leave_in_order("engine.thread=caller");
}

TEST(leaving_threads)
{
	leave_in_order("bench.processes=off");
}

static void interrupt(int signal_number, const char *const *more)
{
	start_endless(more);
	await_middle(NULL, 0);
	ck_assert_int_eq(kill(cli.pid, signal_number), 0);
	cli_wait(&cli);
	ck_assert_msg(cli.status == 130, "status %d: %s", cli.status, cli.err);
	ck_assert_msg(CLI_LINES_WITH(cli.out, "until it was interrupted", "messages/s") == 1, "%s", cli.out);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "interrupted after 0 of 1 runs"), 1);
	assert_nothing_left();
	cli_free(&cli);
}

TEST(interrupted)
{
	interrupt(SIGINT, (const char *const[]){NULL});
}

TEST(terminated)
{
	interrupt(SIGTERM, (const char *const[]){"--set", "engine.thread=caller", NULL});
}

TEST(interrupted_threads)
{
	interrupt(SIGINT, (const char *const[]){"--set", "bench.processes=off", NULL});
}

/* A terminal sends Ctrl-C to all processes at once. */
TEST(interrupted_by_the_terminal)
{
	start_endless((const char *const[]){NULL});
	await_middle(NULL, 0);
	ck_assert_int_eq(kill(-cli.pid, SIGINT), 0);
	cli_wait(&cli);
	ck_assert_int_eq(cli.status, 130);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "killed"), 0);
	assert_nothing_left();
}

static bool has_a_line(void *path)
{
	char *text = cli_read(path);
	bool has = text != NULL && strchr(text, '\n') != NULL;

	free(text);
	return has;
}

/* What the finished runs have measured is there. */
TEST(interrupted_between_runs)
{
	const char *json = cli_path(&dir, "out.json");
	char *text, path[512];
	json_t *lines;

	snprintf(path, sizeof path, "%s", json);
	cli_start(&cli, &dir,
		  (const char *const[]){
			  "bench",
			  cli_write(&dir, "many.ini",
				    "[group]\nfailure_timeout_ms = 20000\n[subgroup all]\nwindow = 10\n[bench]\n"
				    "messages = 1000\nruns = 1000\nlimit = off\n"),
			  "--json", path, NULL});
	cli_await(&cli, has_a_line, path, "a first run");
	ck_assert_int_eq(kill(cli.pid, SIGINT), 0);
	cli_wait(&cli);
	ck_assert_int_eq(cli.status, 130);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "interrupted after", "of 1000 runs"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "latency"), 1); /* the table of these runs */
	text = cli_read(path);
	lines = results_parse(text); /* whole lines only */
	ck_assert_uint_ge(json_array_size(lines), 1);
	json_decref(lines);
	free(text);
	assert_nothing_left();
}

static bool has_children(void *ctx)
{
	(void)ctx;
	return cli_children(&cli, NULL, 0) > 0;
}

TEST(interrupted_in_the_limit)
{
	cli_start(&cli, &dir,
		  (const char *const[]){
			  "bench", cli_write(&dir, "limit.ini", "[group]\nnodes = 2\n[subgroup all]\nwindow = 10\n"),
			  NULL});
	cli_await(&cli, has_children, NULL, "a worker of the limit"); /* it is measured first */
	ck_assert_int_eq(kill(cli.pid, SIGINT), 0);
	cli_wait(&cli);
	ck_assert_int_eq(cli.status, 130);
	assert_nothing_left();
}

/* Nobody can tell the nodes any more: the kernel does. */
TEST(killed_command)
{
	start_endless((const char *const[]){NULL});
	await_middle(NULL, 0);
	ck_assert_int_eq(kill(cli.pid, SIGKILL), 0);
	cli_wait(&cli);
	ck_assert_int_eq(cli.status, 128 + SIGKILL);
	cli_await(NULL, is_nothing_left, NULL, "the end of all nodes");
}

/* All are declared senders, one sends, and nobody sends nulls: the paper's stall, without end. */
TEST(stuck)
{
	static char text[512];

	snprintf(text, sizeof text,
		 "[group]\n"
		 "name = %s\n"
		 "nodes = 3\n"
		 "[subgroup all]\n"
		 "window = 10\n"
		 "message_bytes = 100\n"
		 "[engine]\n"
		 "null_sends = off\n"
		 "[bench]\n"
		 "messages = 100\n"
		 "bytes = 100\n"
		 "active_senders = one\n"
		 "limit = off\n"
		 "give_up_s = 1\n",
		 group);
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "stuck.ini", text));
	ck_assert_int_eq(cli.status, 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "nothing has been delivered anywhere for 1 s"), 1);
	for (int node = 0; node < 3; node++) {
		char word[32];

		snprintf(word, sizeof word, "node %d, all: ", node);
		ck_assert_msg(CLI_LINES_WITH(cli.err, word, "slowest is node") == 1, "%s", cli.err);
	}
	assert_nothing_left();
}

/* The same name at the same time: each command's nodes meet only each other. */
TEST(two_commands_at_a_time)
{
	struct cli_dir other_dir;
	struct cli other;
	static char text[512];
	const char *path;

	snprintf(
		text, sizeof text,
		"[group]\nname = %s\nnodes = 2\nfailure_timeout_ms = 20000\n[subgroup all]\nwindow = 10\n[bench]\nmessages = 2000\nlimit = off\n",
		group);
	path = cli_write(&dir, "same.ini", text);
	cli_dir_make(&other_dir);
	cli_start(&cli, &dir, (const char *const[]){"bench", path, NULL});
	cli_start(&other, &other_dir, (const char *const[]){"bench", path, NULL});
	cli_wait(&cli);
	cli_wait(&other);
	ck_assert_msg(cli.status == 0, "%s", cli.err);
	ck_assert_msg(other.status == 0, "%s", other.err);
	cli_free(&other);
	cli_dir_remove(&other_dir);
	assert_nothing_left();
}

TEST_SUITE("cli_failures")

int main(void)
{
	return test_main(suite());
}
