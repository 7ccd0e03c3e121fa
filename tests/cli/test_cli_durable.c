/* test_cli_durable.c - `whorl bench` with durable subgroups: what it says of disks, where logs lie, and that none is left. */
#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/lines.h"
#include "tests/harness.h"

#define NODES 3

static const char group[] = "[group]\n"
			    "nodes = 3\n"
			    "failure_timeout_ms = 20000\n"
			    "disk_timeout_ms = 60000\n" /* a slow machine is no failure */
			    "log_dir = logs\n"
			    "[subgroup all]\n"
			    "mode = durable\n"
			    "window = 10\n"
			    "message_bytes = 1000\n";

/* A directory for logs, and the command runs beside it. */
static void setup_logs(void)
{
	setup();
	ck_assert_int_eq(mkdir(cli_path(&dir, "logs"), 0777), 0);
	ck_assert_int_eq(chdir(dir.path), 0);
}

static void teardown_logs(void)
{
	ck_assert_int_eq(chdir("/"), 0);
	teardown();
}

/* Entries of the directory for logs. The name of the last of them stays. */
static char found[256];

static size_t count_left(void)
{
	DIR *logs = opendir(cli_path(&dir, "logs"));
	size_t count = 0;

	ck_assert_ptr_nonnull(logs);
	for (struct dirent *entry; (entry = readdir(logs)) != NULL;) {
		if (entry->d_name[0] == '.')
			continue;
		snprintf(found, sizeof found, "%s", entry->d_name);
		count++;
	}
	closedir(logs);
	return count;
}

static void run_with(const char *bench, const char *set)
{
	char text[1024];

	snprintf(text, sizeof text, "%s[bench]\nbytes = 100\n%s", group, bench);
	cli_write(&dir, "durable.ini", text);
	CLI_RUN(&cli, &dir, "bench", cli_path(&dir, "durable.ini"), "--json", cli_path(&dir, "out.json"), "--set",
		set != NULL ? set : "bench.runs=1");
}

static void parse(void)
{
	char *text = cli_read(cli_path(&dir, "out.json"));

	ck_assert_ptr_nonnull(text);
	json_decref(lines);
	lines = results_parse(text);
	free(text);
}

static double figure(size_t line, const char *path)
{
	json_t *value = results_at(json_array_get(lines, line), path);

	ck_assert_msg(json_is_number(value), "%s", path);
	return json_number_value(value);
}

static void assert_text(size_t line, const char *path, const char *expected)
{
	ck_assert_str_eq(json_string_value(results_at(json_array_get(lines, line), path)), expected);
}

/* All have written every message, in batches that were synced one by one; the first may have been the beginning of the view. On a machine that
 * does other things a log may be idle behind each, and get a cap. */
static void assert_on_disk(size_t line, double messages)
{
	double batches = figure(line, "disk.batches"), syncs = figure(line, "disk.syncs");

	ck_assert_double_ge(syncs, NODES);
	ck_assert_double_le(syncs, 2 * NODES * (messages + 2));
	ck_assert_double_ge(batches, syncs);
	ck_assert_double_eq_tol(figure(line, "disk.messages_per_sync"), NODES * messages / syncs, 0.01);
	ck_assert_double_gt(figure(line, "disk.longest_sync_us"), 0);
	assert_text(line, "disk.log_dir", "logs");
	assert_text(line, "mode", "durable");
	assert_text(line, "subgroups.0.mode", "durable");
}

TEST_CASE("cli-durable", .patience_s = 60, .setup = setup_logs, .teardown = teardown_logs);

TEST(what_is_told)
{
	run_with("messages = 200\n", "bench.runs=2");
	assert_good();
	parse();
	ck_assert_uint_eq(json_array_size(lines), 2);
	for (size_t line = 0; line < 2; line++) {
		assert_on_disk(line, NODES * 200);
		assert_text(line, "limit.name", "disk-syncs");
		ck_assert_double_gt(figure(line, "limit.before"), 0);
		ck_assert_double_gt(figure(line, "limit.after"), 0);
		ck_assert_double_gt(figure(line, "limit.written_bytes_per_s"), 0);
		ck_assert_double_gt(figure(line, "limit.sync_us.appended"), 0);
		ck_assert_double_gt(figure(line, "limit.sync_us.written"), 0);
		ck_assert_double_ge(figure(line, "limit.sync_share.0"), 1);
		ck_assert_double_le(figure(line, "limit.sync_share.1"), 8);
		ck_assert_double_gt(figure(line, "fraction_of_limit"), 0);
	}
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "on disk: ", " messages a sync, the longest of ", " syncs took "), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "the limit in a file that was written before: "), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "a bare sync of one message: "), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "the same messages in the same order, in each of 2 runs"), 1);
	ck_assert_msg(count_left() == 0, "%s", found);
}

/* One message at a time: each is a sync of its own at each node, and its latency is told in units of a bare one. */
TEST(one_at_a_time)
{
	run_with("messages = 20\nsenders = one\ndelayed_senders = all\nsender_delay_us = 50000\nsender_sleeps = on\n"
		 "limit = on\nlatency_every = 1\n",
		 NULL);
	assert_good();
	parse();
	assert_on_disk(0, 20);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "a bare sync of one message: ", "; p50 is ", " of the first"), 1);
}

/* Threads of the command, on tcp, with records of what was delivered. */
TEST(other_ways)
{
	run_with("messages = 100\nlimit = off\nprocesses = off\n", "group.transport=tcp");
	assert_good();
	parse();
	assert_on_disk(0, NODES * 100);
	ck_assert(json_is_null(results_at(json_array_get(lines, 0), "limit")));
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "bench", cli_path(&dir, "durable.ini"), "--deliveries", cli_path(&dir, "records"));
	assert_good();
	ck_assert_msg(count_left() == 0, "%s", found);
}

TEST(nothing_is_told_of_other_modes)
{
	run_with("messages = 100\nlimit = off\n", "subgroup all.mode=ordered");
	assert_good();
	parse();
	ck_assert(json_is_null(results_at(json_array_get(lines, 0), "disk")));
	assert_text(0, "mode", "ordered");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "on disk"), 0);
}

static const struct {
	const char *set, *mistake;
	int status;
} mistakes[] = {
	{"group.log_dir=none", "group.log_dir: is none, expected a directory", 2},
	{"group.log_dir=logs/more",
	 "group.log_dir is \"logs/more\", expected a directory in which others can be made: No such file or directory",
	 3},
	{"group.log_dir=durable.ini", "expected a directory in which others can be made: Not a directory", 3},
	{"group.transport=sim",
	 "subgroup all.mode: is durable, expected ordered or unordered with group.transport = sim", 2},
};

TEST_LOOP(refused, 0, sizeof mistakes / sizeof mistakes[0])
{
	run_with("messages = 100\n", mistakes[_i].set);
	ck_assert_msg(cli.status == mistakes[_i].status, "status %d: %s", cli.status, cli.err);
	ck_assert_msg(CLI_LINES_WITH(cli.err, mistakes[_i].mistake) == 1, "%s", cli.err);
	ck_assert_msg(count_left() == 0, "%s", found);
}

/* The second variant alone needs a disk: it is said before the first runs. And a file can be checked where there is none. */
TEST(refused_at_once)
{
	run_with("messages = 100\nlimit = off\n", "subgroup all.mode=ordered,durable");
	assert_good();
	cli_free(&cli);
	ck_assert_int_eq(rmdir(cli_path(&dir, "logs")), 0);
	CLI_RUN(&cli, &dir, "bench", cli_path(&dir, "durable.ini"), "--set", "subgroup all.mode=ordered,durable");
	ck_assert_msg(cli.status == 3, "status %d: %s", cli.status, cli.err);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "mode = ordered"), 0);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "config", "--check", cli_path(&dir, "durable.ini"));
	assert_good();
}

/* Where only some subgroups are, there is no limit. */
TEST(durable_beside_others)
{
	run_with("messages = 100\n", "subgroup two.mode=ordered");
	assert_good();
	parse();
	assert_text(0, "subgroups.0.mode", "durable");
	assert_text(0, "subgroups.1.mode", "ordered");
	ck_assert(json_is_null(results_at(json_array_get(lines, 0), "limit")));
}

/* ---- however it ends ---------------------------------------------------------------------------------------------------- */

static bool is_recording(void *ctx)
{
	struct stat status;

	(void)ctx;
	return stat(cli_path(&dir, "records/node-0.txt"), &status) == 0 && status.st_size > 0;
}

/* A run without end, in its middle. */
static void start_endless(void)
{
	char text[1024];

	snprintf(text, sizeof text, "%s[bench]\nbytes = 100\nmessages = 1g\n", group);
	cli_write(&dir, "endless.ini", text);
	cli_start(&cli, &dir,
		  (const char *const[]){"bench", cli_path(&dir, "endless.ini"), "--deliveries",
					cli_path(&dir, "records"), NULL});
	cli_await(&cli, is_recording, NULL, "a delivery");
	ck_assert_uint_eq(count_left(), 1);
	ck_assert_int_eq(strncmp(found, "whorl-bench-", strlen("whorl-bench-")), 0);
}

TEST_LOOP(interrupted, 0, 2)
{
	start_endless();
	ck_assert_int_eq(kill(cli.pid, _i == 0 ? SIGINT : SIGTERM), 0);
	cli_wait(&cli);
	ck_assert_msg(cli.status == 130, "status %d: %s", cli.status, cli.err);
	ck_assert_msg(count_left() == 0, "%s", found);
}

TEST(a_node_is_killed)
{
	pid_t pids[NODES];

	start_endless();
	ck_assert_uint_eq(cli_children(&cli, pids, NODES), NODES);
	ck_assert_int_eq(kill(pids[1], SIGKILL), 0);
	cli_wait(&cli);
	ck_assert_msg(cli.status == 1, "status %d: %s", cli.status, cli.err);
	ck_assert_msg(CLI_LINES_WITH(cli.err, "node 1 (pid", "was killed by signal 9") == 1, "%s", cli.err);
	ck_assert_msg(count_left() == 0, "%s", found);
}

/* The limit is being measured: its files lie there too. */
static bool is_limit_measured(void *ctx)
{
	struct stat status;
	char path[512];

	(void)ctx;
	if (count_left() == 0)
		return false;
	snprintf(path, sizeof path, "logs/%s/node-0.1", found);
	return stat(cli_path(&dir, path), &status) == 0;
}

TEST(the_limit_is_interrupted)
{
	char text[1024];

	snprintf(text, sizeof text, "%s[bench]\nbytes = 100\nmessages = 100\nruns = 1000\n", group);
	cli_write(&dir, "many.ini", text);
	cli_start(&cli, &dir, (const char *const[]){"bench", cli_path(&dir, "many.ini"), NULL});
	cli_await(&cli, is_limit_measured, NULL, "a limit");
	ck_assert_int_eq(kill(cli.pid, SIGINT), 0);
	cli_wait(&cli);
	ck_assert_msg(cli.status == 130, "status %d: %s", cli.status, cli.err);
	ck_assert_msg(count_left() == 0, "%s", found);
}

TEST_SUITE("cli-durable")

int main(void)
{
	return test_main(suite());
}
