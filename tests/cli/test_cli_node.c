/* test_cli_node.c - `whorl node`: members in processes of their own that form a group, join it, die, leave. */
#include <check.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/nodes.h"
#include "tests/cli/results.h"
#include "tests/harness.h"

static struct nodes nodes;

static void setup(void)
{
	char group[64];

	snprintf(group, sizeof group, "failure_timeout_ms = %d", (int)test_patience(1000));
	nodes_open(&nodes, group, "");
}

static void teardown(void)
{
	nodes_close(&nodes);
}

static void start_three(const char *const *arguments)
{
	for (int id = 0; id < 3; id++)
		nodes_start(&nodes, id, arguments);
	for (int id = 0; id < 3; id++)
		nodes_await(&nodes, id, "ready after");
}
#define START_THREE(...) start_three((const char *const[]){__VA_ARGS__, NULL})

static size_t wrote(int id, const char *words)
{
	return CLI_LINES_WITH(nodes.of[id].cli.out, words);
}

static size_t complained(int id, const char *words)
{
	return CLI_LINES_WITH(nodes.of[id].cli.err, words);
}

/* ---- coming and going -------------------------------------------------------------------------------------------- */

TEST_CASE("node", .timeout_s = 25, .setup = setup, .teardown = teardown);

TEST(three_form_a_group_and_leave)
{
	START_THREE("--run", "none");
	for (int id = 0; id < 3; id++)
		nodes_await(&nodes, id, "view 0: members 0 1 2 | joined 0 1 2");
	ck_assert_int_eq(nodes_end(&nodes, 2, SIGTERM), 0);
	ck_assert_uint_eq(wrote(2, "left"), 1);
	ck_assert_str_eq(nodes.of[2].cli.err, "");
	for (int id = 0; id < 2; id++)
		nodes_await(&nodes, id, "view 1: members 0 1 | left 2");
	ck_assert_int_eq(nodes_end(&nodes, 0, SIGINT), 0);
	nodes_await(&nodes, 1, "view 2: members 1 | left 0");
	ck_assert_int_eq(nodes_end(&nodes, 1, SIGINT), 0);
	ck_assert_uint_eq(cli_sockets(nodes.name), 0);
}

TEST(one_is_killed_and_comes_back_and_others_join)
{
	START_THREE("--rate", "50");
	ck_assert_int_eq(nodes_end(&nodes, 1, SIGKILL), 128 + SIGKILL);
	nodes_await(&nodes, 0, "view 1: members 0 2 | left 1");
	nodes_await(&nodes, 2, "view 1: members 0 2 | left 1");
	NODES_START(&nodes, 1, "--rate", "50");
	nodes_await(&nodes, 1, "view 2: members 0 2 1 | joined 1");
	nodes_await(&nodes, 1, "ready after");
	NODES_START(&nodes, 7, "--rate", "50");
	nodes_await(&nodes, 7, "view 3: members 0 2 1 7 | joined 7");
	nodes_await(&nodes, 7, "ready after");
	for (int id = 0; id < 8; id++)
		if (nodes.of[id].runs)
			ck_assert_int_eq(nodes_end(&nodes, id, SIGTERM), 0);
}

/* ---- the counter ------------------------------------------------------------------------------------------------- */

/* The line that a node has written of that count; NULL: none. To be freed. */
static char *line_of(const char *text, unsigned long count)
{
	char words[64];
	const char *at;

	snprintf(words, sizeof words, "orders: %lu messages, ", count);
	at = strstr(text, words);
	return at != NULL ? strndup(at, strcspn(at, "\n")) : NULL;
}

/* Wherever two of them show the same count, they show the same value and digest. Returns how often they do. */
static unsigned compare(int one, int other)
{
	unsigned same = 0;

	for (unsigned long count = 50; count < 20000; count += 50) {
		char *a = line_of(nodes.of[one].cli.out, count), *b = line_of(nodes.of[other].cli.out, count);

		if (a != NULL && b != NULL) {
			ck_assert_str_eq(a, b);
			same++;
		}
		free(a);
		free(b);
	}
	return same;
}

struct beyond {
	int id;
	unsigned long count;
};

static bool is_beyond(void *ctx)
{
	const struct beyond *beyond = ctx;
	char *text = nodes_output(&nodes, beyond->id), *line = NULL;

	for (unsigned long count = beyond->count; line == NULL && count < beyond->count + 5000; count += 50)
		line = line_of(text, count);
	free(text);
	free(line);
	return line != NULL;
}

static unsigned long last_count(int id)
{
	char *text = nodes_output(&nodes, id), *line = NULL;
	unsigned long last = 0;

	for (unsigned long count = 50; count < 20000; count += 50) {
		line = line_of(text, count);
		if (line != NULL)
			last = count;
		free(line);
	}
	free(text);
	return last;
}

/* All running members show a count beyond what any of them has shown by now. */
static void await_more(void)
{
	unsigned long most = 0;

	for (int id = 0; id < NODES_MOST; id++)
		if (nodes.of[id].runs && last_count(id) > most)
			most = last_count(id);
	for (int id = 0; id < NODES_MOST; id++)
		if (nodes.of[id].runs)
			cli_await(&nodes.of[id].cli, is_beyond, &(struct beyond){id, most + 200}, "a higher count");
}

TEST(counters_agree)
{
	const char *const counter[] = {"--rate", "200", "--every", "50", NULL};

	start_three(counter);
	await_more();
	ck_assert_int_eq(nodes_end(&nodes, 0, SIGKILL), 128 + SIGKILL); /* the leader */
	await_more();
	nodes_start(&nodes, 4, counter);
	nodes_await(&nodes, 4, "ready after");
	await_more();
	nodes_start(&nodes, 0, counter);
	nodes_await(&nodes, 0, "ready after");
	await_more();
	for (int id = 0; id < 5; id++)
		if (nodes.of[id].runs)
			ck_assert_int_eq(nodes_end(&nodes, id, SIGINT), 0);
	ck_assert_uint_gt(compare(1, 2), 8);
	ck_assert_uint_gt(compare(1, 4), 4);
	ck_assert_uint_gt(compare(1, 0), 1);
	ck_assert_uint_gt(compare(0, 4), 1);
}

TEST(a_large_state)
{
	START_THREE("--state", "20m");
	NODES_START(&nodes, 3, "--state", "20m");
	nodes_await(&nodes, 3, "ready after");
	nodes_await(&nodes, 3, "state taken: 21.0 MB");
	nodes_await(&nodes, 0, "state given: 21.0 MB");
	for (int id = 0; id < 4; id++)
		ck_assert_int_eq(nodes_end(&nodes, id, SIGTERM), 0);
}

/* ---- load, JSON -------------------------------------------------------------------------------------------------- */

TEST(load_as_json)
{
	json_t *lines, *object;
	size_t views = 0, loads = 0, i;

	for (int id = 0; id < 3; id++)
		NODES_START(&nodes, id, "--run", "load", "--bytes", "512", "--seconds", "4", "--json");
	for (int id = 0; id < 3; id++)
		ck_assert_int_eq(nodes_wait(&nodes, id), 0);
	lines = results_parse(nodes.of[1].cli.out);
	json_array_foreach(lines, i, object)
	{
		const char *event = json_string_value(results_at(object, "event"));

		ck_assert_int_eq(json_integer_value(results_at(object, "node")), 1);
		views += strcmp(event, "view") == 0;
		if (strcmp(event, "load") == 0) {
			loads++;
			ck_assert_str_eq(json_string_value(results_at(object, "subgroup")), "orders");
			ck_assert(json_number_value(results_at(object, "delivered_per_s")) >= 0);
		}
	}
	ck_assert_uint_ge(views, 1);
	ck_assert_uint_ge(loads, 1);
	object = json_array_get(lines, json_array_size(lines) - 1);
	ck_assert_str_eq(json_string_value(results_at(object, "event")), "left");
	json_decref(lines);
}

/* ---- what goes wrong --------------------------------------------------------------------------------------------- */

TEST(an_id_that_is_in_use)
{
	struct cli_dir dir;
	struct cli second;

	START_THREE("--run", "none");
	cli_dir_make(&dir);
	CLI_RUN(&second, &dir, "node", nodes.ini, "--id", "1", "--run", "none");
	ck_assert_int_eq(second.status, 1);
	ck_assert_uint_ge(CLI_LINES_WITH(second.err, "node 1", "already running"), 1);
	cli_free(&second);
	cli_dir_remove(&dir);
	for (int id = 0; id < 3; id++)
		ck_assert_int_eq(nodes_end(&nodes, id, SIGTERM), 0);
	for (int id = 0; id < 3; id++)
		ck_assert_uint_eq(wrote(id, "view 1"), wrote(id, "view 1: "));
}

/* The id that the node of that slot has got. */
static int id_of(int slot)
{
	char *text;
	int id = -1;

	nodes_await(&nodes, slot, "is node ");
	text = nodes_output(&nodes, slot);
	ck_assert_int_eq(sscanf(strstr(text, "is node "), "is node %d", &id), 1);
	free(text);
	return id;
}

/* They form a group as if they had been given ids. It is told which it is, also when it leaves. */
TEST(any_id_that_is_free)
{
	struct cli_dir dir;
	struct cli one;
	unsigned seen = 0;

	START_THREE("--run", "none", "--id", "any");
	for (int slot = 0; slot < 3; slot++)
		seen |= 1U << id_of(slot);
	ck_assert_uint_eq(seen, 7); /* configured ones first */
	NODES_START(&nodes, 3, "--run", "none", "--id", "any", "--json");
	nodes_await(&nodes, 3, "\"event\":\"id\"");
	nodes_await(&nodes, 3, "\"event\":\"ready\"");
	cli_dir_make(&dir);
	CLI_RUN(&one, &dir, "node", nodes.ini, "--id", "any", "--set", "group.nodes_max=3");
	ck_assert_int_eq(one.status, 1);
	ck_assert_uint_eq(CLI_LINES_WITH(one.err, "no id is free"), 1);
	cli_free(&one);
	CLI_RUN(&one, &dir, "node", nodes.ini, "--id", "any", "--set", "group.transport=tcp");
	ck_assert_int_eq(one.status, 3);
	ck_assert_uint_eq(CLI_LINES_WITH(one.err, "an id is an address"), 1);
	cli_free(&one);
	cli_dir_remove(&dir);
	for (int slot = 3; slot >= 0; slot--)
		ck_assert_int_eq(nodes_end(&nodes, slot, SIGTERM), 0);
}

/* The first is ready alone, and the others join it. */
TEST(a_group_that_names_no_nodes)
{
	NODES_START(&nodes, 5, "--set", "group.nodes=0", "--id", "any");
	nodes_await(&nodes, 5, "view 0: members 0 | joined 0");
	nodes_await(&nodes, 5, "ready after");
	NODES_START(&nodes, 2, "--set", "group.nodes=0", "--id", "any");
	nodes_await(&nodes, 2, "ready after");
	ck_assert_int_gt(id_of(2), 0);
	ck_assert_int_eq(nodes_end(&nodes, 5, SIGTERM), 0);
	ck_assert_int_eq(nodes_end(&nodes, 2, SIGTERM), 0);
}

/* A node that srun or mpirun starts has a number already; --id comes first. */
TEST(the_number_of_a_launcher)
{
	static const char *const names[] = {"SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
	struct cli_dir dir;
	struct cli second;

	START_THREE("--run", "none");
	cli_dir_make(&dir);
	for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
		setenv(names[i], "1", 1);
		CLI_RUN(&second, &dir, "node", nodes.ini);
		ck_assert_int_eq(second.status, 1);
		ck_assert_uint_ge(CLI_LINES_WITH(second.err, "node 1", "already running"), 1);
		cli_free(&second);
		CLI_RUN(&second, &dir, "node", nodes.ini, "--id", "2");
		ck_assert_uint_ge(CLI_LINES_WITH(second.err, "node 2", "already running"), 1);
		cli_free(&second);
		setenv(names[i], "1x", 1);
		CLI_RUN(&second, &dir, "node", nodes.ini);
		ck_assert_int_eq(second.status, 2);
		cli_free(&second);
		unsetenv(names[i]);
	}
	cli_dir_remove(&dir);
	for (int id = 0; id < 3; id++)
		ck_assert_int_eq(nodes_end(&nodes, id, SIGTERM), 0);
}

/* Its file is another: it is not let in, and both sides say why, if it does not go before they have heard of it. */
TEST(another_configuration)
{
	START_THREE("--run", "none");
	NODES_START(&nodes, 3, "--run", "none", "--set", "subgroup orders.window=21");
	ck_assert_int_eq(nodes_wait(&nodes, 3), 1);
	ck_assert_uint_ge(complained(3, "[subgroup] sections differ"), 1);
	ck_assert_uint_ge(complained(3, "hold its file"), 1);
	NODES_START(&nodes, 4, "--run", "none"); /* nobody minds */
	nodes_await(&nodes, 4, "ready after");
	for (int id = 0; id < 5; id++)
		if (nodes.of[id].runs)
			ck_assert_int_eq(nodes_end(&nodes, id, SIGTERM), 0);
}

/* It stands still for longer than the failure time-out: the others go on, and it is told. */
TEST(removed)
{
	START_THREE("--rate", "50");
	nodes_signal(&nodes, 2, SIGSTOP);
	nodes_await(&nodes, 0, "view 1: members 0 1 | left 2");
	nodes_signal(&nodes, 2, SIGCONT);
	ck_assert_int_eq(nodes_wait(&nodes, 2), 1);
	ck_assert_uint_ge(complained(2, "removed"), 1);
	ck_assert_uint_ge(complained(2, "started again it joins"), 1);
	NODES_START(&nodes, 2, "--rate", "50");
	nodes_await(&nodes, 2, "view 2: members 0 1 2 | joined 2");
	nodes_await(&nodes, 2, "ready after");
	for (int id = 0; id < 3; id++)
		ck_assert_int_eq(nodes_end(&nodes, id, SIGTERM), 0);
}

/* For those that stand still; the dead are not waited for. */
TEST(a_minority_waits)
{
	START_THREE("--rate", "50");
	nodes_stop(&nodes, 1);
	nodes_stop(&nodes, 2);
	nodes_await(&nodes, 0, "no quorum: ");
	nodes_signal(&nodes, 1, SIGKILL);
	nodes_signal(&nodes, 2, SIGKILL);
	nodes_await(&nodes, 0, "view 1: members 0 | left 1 2");
	ck_assert_int_eq(nodes_wait(&nodes, 1), 128 + SIGKILL);
	ck_assert_int_eq(nodes_wait(&nodes, 2), 128 + SIGKILL);
	ck_assert_int_eq(nodes_end(&nodes, 0, SIGTERM), 0);
}

TEST(interrupted_before_it_is_a_member)
{
	NODES_START(&nodes, 1, "--run", "none");
	nodes_await(&nodes, 1, "missing: 0 2");
	ck_assert_int_eq(nodes_end(&nodes, 1, SIGINT), 130);
	NODES_START(&nodes, 1, "--run", "none", "--seconds", "0.3");
	ck_assert_int_eq(nodes_wait(&nodes, 1), 1);
	ck_assert_uint_ge(complained(1, "not come into the group"), 1);
}

struct sent { /* by node 0 */
	json_int_t sent, delivered;
	bool known;
};

/* Since it was asked first node 0 has sent something, and delivered nothing: so there is something that not all have. */
static bool has_undelivered(void *ctx)
{
	struct sent *first = ctx, now = {.known = true};
	struct cli status;
	json_t *answer;

	CLI_RUN(&status, &nodes.dir, "status", nodes.name, "--node", "0", "--json");
	answer = results_parse(status.out);
	now.sent = json_integer_value(results_at(answer, "0.shards.0.stats.sent"));
	now.delivered = json_integer_value(results_at(answer, "0.shards.0.stats.delivered"));
	json_decref(answer);
	cli_free(&status);
	if (first->known && now.delivered == first->delivered && now.sent > first->sent)
		return true;
	if (!first->known || now.delivered != first->delivered)
		*first = now;
	return false;
}

/* It waits for a member that stands still; the second signal ends that. */
TEST(interrupted_twice)
{
	struct sent sent = {.known = false};

	teardown();
	nodes_open(&nodes, "failure_timeout_ms = 20000", "");
	START_THREE("--rate", "50");
	nodes_signal(&nodes, 1, SIGSTOP);
	cli_await(&nodes.of[0].cli, has_undelivered, &sent, "a message that is not delivered");
	nodes_signal(&nodes, 0, SIGTERM);
	nodes_await(&nodes, 0, "leaves");
	nodes_signal(&nodes, 0, SIGINT);
	ck_assert_int_eq(nodes_wait(&nodes, 0), 130);
	nodes_signal(&nodes, 1, SIGCONT);
	nodes_await(&nodes, 2, "left 0");
	ck_assert_int_eq(nodes_end(&nodes, 1, SIGTERM), 0);
	ck_assert_int_eq(nodes_end(&nodes, 2, SIGTERM), 0);
}

TEST(usage)
{
	static const char *const wrong[][6] = {
		{"node"},
		{"node", "a.ini"},
		{"node", "--id", "1"},
		{"node", "a.ini", "--id", "x"},
		{"node", "a.ini", "--id", "256"},
		{"node", "a.ini", "--id", "1", "--run=dance"},
		{"node", "a.ini", "--id", "1", "--rate=-1"},
		{"node", "a.ini", "--id", "1", "--bytes=1q"},
		{"node", "a.ini", "b.ini", "--id", "1"},
	};
	static const struct {
		const char *option, *value, *word;
	} bad[] = {{"--set", "group.nodes=4,5", "list"},
		   {"--set", "group.name=a b", "group.name"},
		   {"--subgroup", "nothing", "no subgroup"},
		   {"--id", "99", "99"}};
	struct cli cli;

	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cli_run(&cli, &nodes.dir, wrong[i]);
		ck_assert_int_eq(cli.status, 2);
		ck_assert_str_eq(cli.out, "");
		ck_assert_uint_ge(CLI_LINES_WITH(cli.err, "--help"), 1);
		cli_free(&cli);
	}
	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		CLI_RUN(&cli, &nodes.dir, "node", nodes.ini, "--id", "1", bad[i].option, bad[i].value);
		ck_assert_int_eq(cli.status, 2);
		ck_assert_str_eq(cli.out, "");
		ck_assert_msg(CLI_LINES_WITH(cli.err, bad[i].word) == 1, "%s", cli.err);
		cli_free(&cli);
	}
}

TEST_SUITE("cli_node")

int main(void)
{
	return test_main(suite());
}
