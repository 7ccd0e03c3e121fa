/* test_cli_typing.c - what is typed at `whorl node`: lines that all print, and commands. */
#include <check.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/cli/nodes.h"
#include "tests/cli/results.h"
#include "tests/harness.h"

static struct nodes nodes;

static void setup(void)
{
	nodes_open(&nodes, "failure_timeout_ms = 1000", "");
}

static void teardown(void)
{
	nodes_close(&nodes);
}

static size_t wrote(int id, const char *words)
{
	return CLI_LINES_WITH(nodes.of[id].cli.out, words);
}

static size_t complained(int id, const char *words)
{
	return CLI_LINES_WITH(nodes.of[id].cli.err, words);
}

/* ---- echo -------------------------------------------------------------------------------------------------------- */

/* Starts one that reads what we type; returns where to type. */
static FILE *start_typing(int id, const char *const *arguments)
{
	int ends[2], before = dup(STDIN_FILENO);

	ck_assert_int_eq(pipe(ends), 0);
	ck_assert_int_ge(dup2(ends[0], STDIN_FILENO), 0);
	fcntl(ends[1], F_SETFD, FD_CLOEXEC);
	nodes_start(&nodes, id, arguments);
	dup2(before, STDIN_FILENO);
	close(before);
	close(ends[0]);
	return fdopen(ends[1], "w");
}

static FILE *start_echo(int id)
{
	return start_typing(id, (const char *const[]){"--run", "echo", NULL});
}

static void type(FILE *input, const char *text)
{
	fputs(text, input);
	fflush(input);
}

TEST_CASE("typing", .timeout_s = 25, .setup = setup, .teardown = teardown);

TEST(echo)
{
	FILE *inputs[4];
	char *text;

	for (int id = 0; id < 3; id++)
		inputs[id] = start_echo(id);
	fputs("good morning\n\n  and \033[31m more\n", inputs[1]);
	fflush(inputs[1]);
	for (int id = 0; id < 3; id++) {
		nodes_await(&nodes, id, "view 0, node 1: good morning");
		nodes_await(&nodes, id, "view 0, node 1:   and ?[31m more");
	}
	inputs[3] = start_echo(3);
	nodes_await(&nodes, 3, "before, in view 0, node 1: good morning");
	nodes_await(&nodes, 3, "before, in view 0, node 1:   and ?[31m more");
	nodes_await(&nodes, 3, "ready after");
	fputs("late, and without an end", inputs[3]);
	fclose(inputs[3]); /* its end */
	ck_assert_int_eq(nodes_wait(&nodes, 3), 0);
	ck_assert_uint_eq(wrote(3, "good morning"), 1);
	for (int id = 0; id < 3; id++)
		nodes_await(&nodes, id, "view 1, node 3: late, and without an end");
	text = nodes_output(&nodes, 0);
	ck_assert(strstr(text, "good morning") < strstr(text, "late"));
	free(text);
	type(inputs[0], "/dance\n/leave\nnever said\n");
	ck_assert_int_eq(nodes_wait(&nodes, 0), 0);
	ck_assert_uint_eq(complained(0, "commands are: rest, send"), 1);
	for (int id = 0; id < 3; id++) {
		if (id > 0)
			ck_assert_int_eq(nodes_end(&nodes, id, SIGTERM), 0);
		ck_assert_uint_eq(wrote(id, "dance") + wrote(id, "never said"), 0);
		fclose(inputs[id]);
	}
}

/* ---- commands ---------------------------------------------------------------------------------------------------- */

struct resting { /* as node 0 sees it */
	size_t node;
	bool rests;
};

static bool is_so(void *ctx)
{
	const struct resting *expected = ctx;
	char path[64];
	struct cli status;
	json_t *answer;
	bool rests;

	CLI_RUN(&status, &nodes.dir, "status", nodes.name, "--node", "0", "--json");
	answer = results_parse(status.out);
	snprintf(path, sizeof path, "0.shards.0.places.%zu.rests", expected->node);
	rests = json_boolean_value(results_at(answer, path));
	json_decref(answer);
	cli_free(&status);
	return rests == expected->rests;
}

static void await_rest(size_t node, bool rests)
{
	struct resting expected = {node, rests};

	cli_await(&nodes.of[0].cli, is_so, &expected, rests ? "it rests" : "it sends again");
}

static size_t count_told(void)
{
	char *text = nodes_output(&nodes, 1);
	size_t lines = CLI_LINES_WITH(text, "messages, value");

	free(text);
	return lines;
}

static bool tells_more(void *ctx)
{
	return count_told() > *(size_t *)ctx + 1;
}

TEST(members_rest_and_send_again)
{
	const char *const typing[] = {"--rate", "200", "--commands", NULL};
	FILE *input;
	size_t told;

	NODES_START(&nodes, 0, "--rate", "200");
	NODES_START(&nodes, 2, "--rate", "200");
	input = start_typing(1, typing);
	nodes_await(&nodes, 1, "ready after");
	type(input, "rest\n rest  2 \n\nrest 7\nrest x\n");
	nodes_await(&nodes, 1, "orders: node 1 is to rest");
	nodes_await(&nodes, 1, "orders: node 2 is asked to rest");
	nodes_await(&nodes, 1, "orders: node 7 cannot be asked to rest: ");
	nodes_await_error(&nodes, 1, "commands are: rest, send");
	await_rest(1, true);
	await_rest(2, true);
	type(input, "send\nsend 2\n");
	nodes_await(&nodes, 1, "orders: node 2 is asked to send again");
	await_rest(1, false);
	await_rest(2, false);
	fclose(input); /* that is not the end of a counter */
	told = count_told();
	cli_await(&nodes.of[1].cli, tells_more, &told, "it goes on");
	for (int id = 0; id < 3; id++)
		ck_assert_int_eq(nodes_end(&nodes, id, SIGTERM), 0);
}

TEST_SUITE("cli_typing")

int main(void)
{
	return test_main(suite());
}
