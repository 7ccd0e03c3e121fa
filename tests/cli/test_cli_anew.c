/* test_cli_anew.c - `whorl log DIR --begin-anew`: of three nodes with durable logs two disks are lost, and the third goes on alone; and what it
 * says and refuses.
 */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/cli/nodes.h"
#include "tests/harness.h"

static struct nodes nodes;
static struct cli cli;
static char logs[512];

static void setup(void)
{
	char ini[1024];

	nodes_open(&nodes, "", "");
	snprintf(logs, sizeof logs, "%s", cli_path(&nodes.dir, "logs"));
	ck_assert_int_eq(mkdir(logs, 0777), 0);
	/* On tcp one of three is no quorum, dead or not. */
	snprintf(ini, sizeof ini,
		 "[group]\nname = %s\nnodes = 3\ntransport = tcp\nlog_dir = %s\ndisk_timeout_ms = 60000\n"
		 "failure_timeout_ms = %d\n[subgroup orders]\nmode = durable\nwindow = 20\nmessage_bytes = 1k\n",
		 nodes.name, logs, (int)test_patience(5000));
	cli_write(&nodes.dir, "group.ini", ini);
}

static void remove_logs(const char *below)
{
	char command[600];

	snprintf(command, sizeof command, "rm -rf '%s%s'", logs, below);
	ck_assert_int_eq(system(command), 0);
}

static void teardown(void)
{
	cli_free(&cli);
	nodes_close(&nodes); /* before what they write is gone */
	remove_logs("");
}

/* All at once: none makes a view without another. */
static void kill_all(void)
{
	for (int id = 0; id < 3; id++)
		nodes_stop(&nodes, id);
	for (int id = 0; id < 3; id++)
		nodes_end(&nodes, id, SIGKILL);
}

static void start_three(void)
{
	for (int id = 0; id < 3; id++)
		NODES_START(&nodes, id, "--rate", "100", "--every", "10");
	for (int id = 0; id < 3; id++)
		nodes_await(&nodes, id, "ready after");
	nodes_await(&nodes, 1, "orders: 50 messages");
}

static char *node_directory(int id)
{
	static char path[600];

	snprintf(path, sizeof path, "%s/%d", logs, id);
	return path;
}

static void begin_anew(int id, int expected)
{
	cli_free(&cli);
	CLI_RUN(&cli, &nodes.dir, "log", node_directory(id), "--begin-anew");
	ck_assert_msg(cli.status == expected, "%d: %s%s", cli.status, cli.out, cli.err);
}

/* The last line that says what the sum was. */
static void last_sum(int id, char out[256])
{
	char *text = nodes_output(&nodes, id), *line;

	out[0] = '\0';
	for (line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n"))
		if (strstr(line, "orders: ") != NULL && strstr(line, " digest ") != NULL)
			snprintf(out, 256, "%s", strstr(line, "orders: "));
	free(text);
	ck_assert_str_ne(out, "");
}

struct expected {
	const char *words;
};

static bool is_seen(void *ctx)
{
	const struct expected *expected = ctx;

	cli_free(&cli);
	CLI_RUN(&cli, &nodes.dir, "status", nodes.ini);
	return CLI_LINES_WITH(cli.out, expected->words) > 0;
}

static void await_status(const char *words)
{
	struct expected expected = {words};

	cli_await_telling(NULL, is_seen, NULL, &expected, words);
}

TEST_CASE("anew", .timeout_s = 300, .setup = setup, .teardown = teardown);

TEST(one_of_three_goes_on_alone)
{
	char sum[256], identity[32];
	const char *says;

	start_three();
	kill_all();
	last_sum(1, sum);
	begin_anew(1, 0);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "  may be lost: views after view 0"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "  may be lost: messages of log orders.0 beyond place "), 1);
	says = strstr(cli.out, "begun anew: ");
	ck_assert_ptr_nonnull(says);
	snprintf(identity, sizeof identity, "%.16s", strstr(says, "identity ") + strlen("identity "));
	remove_logs("/0");
	remove_logs("/2");
	NODES_START(&nodes, 1, "--run", "counter", "--rate", "100", "--every", "10");
	nodes_await(&nodes, 1, "ready after");
	nodes_await(&nodes, 1, sum); /* the same messages in the same order */
	await_status("members 1,");
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, identity), 1);
	for (int id = 0; id < 3; id += 2)
		NODES_START(&nodes, id, "--rate", "100", "--every", "10");
	await_status("members 1 ");
	for (int id = 0; id < 3; id += 2)
		nodes_await(&nodes, id, "ready after");
	/* And it is a group as any other. */
	await_status(", a quorum is 2");
	kill_all();
	for (int id = 0; id < 3; id++)
		NODES_START(&nodes, id, "--rate", "100", "--every", "10");
	for (int id = 0; id < 3; id++)
		nodes_await(&nodes, id, "ready after");
	await_status(identity);
}

TEST(it_is_refused)
{
	start_three();
	begin_anew(1, 1); /* it runs */
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "not begun anew: another process (pid "), 1);
	ck_assert_str_eq(cli.out, "");
	kill_all();
	cli_free(&cli);
	CLI_RUN(&cli, &nodes.dir, "log", logs, "--begin-anew");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "it is not the directory of one node"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &nodes.dir, "log", logs); /* nothing has changed */
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "begun anew"), 0);
	cli_free(&cli);
	CLI_RUN(&cli, &nodes.dir, "log", node_directory(2), "--begin-anew", "--json");
	ck_assert_int_eq(cli.status, 0);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "may be lost: "), 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "\"begun_anew\":true", "\"made_for\":"), 1);
}

TEST_SUITE("cli_anew")

int main(void)
{
	return test_main(suite());
}
