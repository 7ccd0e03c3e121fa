/* test_store_nodes.c - `whorl delegate kv` as a whole: nodes that are processes, what it says and leaves behind, mistakes, and a node that is killed. */
#include <arpa/inet.h>
#include <check.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/cli/cli.h"
#include "tests/harness.h"
#include "tests/kv/resp.h"

static const char *const backends[] = {"trust", "mutex", "rwlock"};

static struct cli_dir dir;
static struct cli cli;
static uint16_t ports[2];

static void setup(void)
{
	cli_dir_make(&dir);
}

static void teardown(void)
{
	cli_free(&cli);
	cli_dir_remove(&dir);
}

static bool is_ready(void *ctx)
{
	char *text = cli_read(cli.out_path), *at;
	unsigned port;
	uint32_t count = 0;
	bool ready;

	(void)ctx;
	if (text == NULL)
		return false;
	ready = strstr(text, "ready\n") != NULL;
	for (at = text; ready && (at = strstr(at, " port ")) != NULL && sscanf(at, " port %u", &port) == 1; at++)
		ports[count++ % 2] = (uint16_t)port;
	free(text);
	return ready;
}

static void start(const char *const *arguments)
{
	cli_start(&cli, &dir, arguments);
	cli_await(&cli, is_ready, NULL, "it is ready");
}

#define START(...) start((const char *const[]){"delegate", "kv", "--listen", "0", __VA_ARGS__, NULL})

static void end(int status)
{
	kill(cli.pid, SIGTERM);
	cli_wait(&cli);
	ck_assert_msg(cli.status == status, "%d: %s%s", cli.status, cli.out, cli.err);
	ck_assert_uint_eq(cli_processes(&cli), 0);
}

static uint64_t deadline(void)
{
	return resp_now_ns() + (uint64_t)test_patience(20000) * 1000000;
}

static void meet(struct resp *client, uint32_t node)
{
	ck_assert(resp_open(client, "127.0.0.1", ports[node], deadline()));
}

/* ---- pipelines over two nodes -------------------------------------------------------------------------------------------------------- */

#define COMMANDS 200
#define ROUNDS 15
#define ASKERS 3

struct asker {
	uint32_t number;
	pthread_t thread;
	const char *wrong;
};

static bool takes(struct resp *client, enum resp_kind kind, int64_t number)
{
	struct resp_reply reply;

	if (!resp_take(client, &reply) || reply.kind != kind)
		return false;
	return kind == RESP_BULK ? strtoll(reply.text, NULL, 10) == number
				 : kind != RESP_NUMBER || reply.number == number;
}

/* Each of its keys is set, read and counted on in one pipeline, whichever node has it; and all count in the same few. */
static bool ask_round(struct resp *client, uint32_t number, int round)
{
	int first = round * 1000;

	resp_set_end(client, deadline());
	for (int i = 0; i < COMMANDS / 4; i++) {
		resp_put(client, "SET %u:%d %d", number, i, first + i);
		resp_put(client, "GET %u:%d", number, i);
		resp_put(client, "INCR %u:%d", number, i);
		resp_put(client, "MGET %u:%d %u:%d", number, i, number, i / 2);
	}
	for (int i = 0; i < 8; i++)
		resp_put(client, "INCR all:%d", i);
	if (!resp_send(client))
		return false;
	for (int i = 0; i < COMMANDS / 4; i++)
		if (!takes(client, RESP_STATUS, 0) || !takes(client, RESP_BULK, first + i) ||
		    !takes(client, RESP_NUMBER, first + i + 1) || !takes(client, RESP_ARRAY, 2) ||
		    !takes(client, RESP_BULK, first + i + 1) || !takes(client, RESP_BULK, first + i / 2 + 1))
			return false;
	for (int i = 0; i < 8; i++) {
		struct resp_reply reply;

		if (!resp_take(client, &reply) || reply.kind != RESP_NUMBER)
			return false;
	}
	return true;
}

static void *be_asker(void *argument)
{
	struct asker *asker = argument;
	struct resp client = {.fd = -1};

	if (!resp_open(&client, "127.0.0.1", ports[asker->number % 2], deadline()))
		asker->wrong = "no connection";
	for (int round = 0; asker->wrong == NULL && round < ROUNDS; round++)
		if (!ask_round(&client, asker->number, round))
			asker->wrong = "another reply than expected, or none";
	resp_free(&client);
	return NULL;
}

START_TEST(pipelines_are_in_order_over_two_nodes)
{
	const char *json = cli_path(&dir, "out.json"), *transport = _i < 3 ? "shm" : "tcp";
	struct asker askers[ASKERS] = {{0}};
	struct resp client = {.fd = -1};
	struct resp_reply reply;
	char *text;

	START("--nodes", "2", "--backend", backends[_i % 3], "--transport", transport, "--json", json);
	for (uint32_t a = 0; a < ASKERS; a++) {
		askers[a].number = a;
		ck_assert_int_eq(pthread_create(&askers[a].thread, NULL, be_asker, &askers[a]), 0);
	}
	for (uint32_t a = 0; a < ASKERS; a++)
		pthread_join(askers[a].thread, NULL);
	for (uint32_t a = 0; a < ASKERS; a++)
		ck_assert_msg(askers[a].wrong == NULL, "asker %u: %s", a, askers[a].wrong);
	for (uint32_t node = 0; node < 2; node++) { /* from both sides the same */
		meet(&client, node);
		for (int i = 0; i < 8; i++)
			ck_assert(resp_ask(&client, &reply, "GET all:%d", i) && reply.kind == RESP_BULK &&
				  strtol(reply.text, NULL, 10) == ASKERS * ROUNDS);
		ck_assert(resp_ask(&client, &reply, "DBSIZE") && reply.number == 8 + ASKERS * COMMANDS / 4);
		resp_free(&client);
	}
	end(0);
	text = cli_read(json);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"backend\": ", backends[_i % 3]), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"commands\": "), 2);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"errors\": 0"), 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "node 0 commands "), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "node 1 commands "), 1);
	free(text);
}
END_TEST

/* Values that go in parts, from a client of one node to the other. */
START_TEST(large_values_cross_nodes)
{
	struct resp client = {.fd = -1};
	struct resp_reply reply;
	size_t bytes = 1000000;
	char *value = malloc(bytes + 64);

	START("--nodes", "2", "--backend", backends[_i % 3], "--transport", _i < 3 ? "shm" : "tcp");
	for (int k = 0; k < 8; k++) {
		size_t head = (size_t)sprintf(value, "*3\r\n$3\r\nSET\r\n$2\r\nk%d\r\n$%zu\r\n", k, bytes);

		meet(&client, (uint32_t)k % 2);
		memset(value + head, 'a' + k, bytes);
		memcpy(value + head + bytes, "\r\n", 2);
		free(client.out);
		client.out = value;
		client.out_bytes = client.out_room = head + bytes + 2;
		value = malloc(bytes + 64);
		ck_assert(resp_send(&client) && resp_take(&client, &reply) && reply.kind == RESP_STATUS);
		resp_free(&client);
		meet(&client, (uint32_t)(k + 1) % 2);
		ck_assert(resp_ask(&client, &reply, "GET k%d", k) && reply.kind == RESP_BULK);
		ck_assert_uint_eq(reply.bytes, bytes);
		for (size_t i = 0; i < bytes; i++)
			ck_assert(reply.text[i] == 'a' + k);
		resp_free(&client);
	}
	free(value);
	end(0);
}
END_TEST

/* ---- ends ------------------------------------------------------------------------------------------------------------------------------ */

#define KEYS 100

/* How many of the keys are answered; the others are errors that say so. */
static int count_good(struct resp *client, const bool *before, bool *good)
{
	struct resp_reply reply;
	int count = 0;

	resp_set_end(client, deadline());
	for (int k = 0; k < KEYS; k++) {
		ck_assert(resp_ask(client, &reply, "GET k%d", k));
		good[k] = reply.kind == RESP_BULK;
		ck_assert_msg(good[k] || (reply.kind == RESP_ERROR && strncmp(reply.text, "CLUSTERDOWN", 11) == 0),
			      "%s", reply.text);
		ck_assert(before == NULL || good[k] == before[k]);
		count += good[k];
	}
	return count;
}

START_TEST(a_killed_node_takes_its_keys_and_no_others)
{
	struct resp client = {.fd = -1};
	struct resp_reply reply;
	bool good[KEYS], again[KEYS];
	pid_t nodes[4];
	int count;

	START("--nodes", "2", "--backend", backends[_i % 3], "--transport", _i < 3 ? "shm" : "tcp");
	ck_assert_uint_eq(cli_children(&cli, nodes, 4), 2);
	meet(&client, 0);
	for (int k = 0; k < KEYS; k++)
		ck_assert(resp_ask(&client, &reply, "SET k%d %d", k, k) && reply.kind == RESP_STATUS);
	kill(nodes[0] > nodes[1] ? nodes[0] : nodes[1], SIGKILL); /* the second */
	count = count_good(&client, NULL, good);
	while (count == KEYS) /* it has not been noticed yet */
		count = count_good(&client, NULL, good);
	count = count_good(&client, NULL, good);
	ck_assert_int_gt(count, KEYS / 5);
	ck_assert_int_lt(count, KEYS - KEYS / 5);
	for (int k = 0; k < KEYS; k++) /* writes too */
		ck_assert(resp_ask(&client, &reply, "SET k%d x", k) && (reply.kind == RESP_STATUS) == good[k]);
	ck_assert_int_eq(count_good(&client, good, again), count);
	ck_assert(resp_ask(&client, &reply, "MGET k0 k1 k2 k3 k4 k5 k6 k7 k8 k9 k10 k11 k12 k13 k14") &&
		  reply.kind == RESP_ERROR);
	resp_free(&client);
	end(1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "node 1 was killed by signal 9: its keys are gone"), 1);
}
END_TEST

START_TEST(it_ends_when_it_is_to)
{
	CLI_RUN(&cli, &dir, "delegate", "kv", "--listen", "0", "--seconds", "0.2", "--backend", backends[_i],
		"--shards", "1", "--threads", "1");
	ck_assert_msg(cli.status == 0, "%d: %s", cli.status, cli.err);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "node 0 serves 127.0.0.1 port "), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "node 0 commands 0 errors 0 clients 0 keys 0"), 1);
	ck_assert_str_eq(cli.err, "");
	ck_assert_uint_eq(cli_processes(&cli), 0);
}
END_TEST

START_TEST(no_more_clients_than_it_may_have)
{
	struct resp first = {.fd = -1}, second = {.fd = -1};
	struct resp_reply reply;

	START("--clients", "1");
	meet(&first, 0);
	ck_assert(resp_ask(&first, &reply, "PING") && reply.kind == RESP_STATUS);
	meet(&second, 0);
	ck_assert(resp_take(&second, &reply) && reply.kind == RESP_ERROR);
	ck_assert_str_eq(reply.text, "ERR max number of clients reached");
	ck_assert(!resp_take(&second, &reply));
	resp_close(&first);
	do {
		resp_close(&second);
		meet(&second, 0);
	} while (!resp_ask(&second, &reply, "PING") || reply.kind != RESP_STATUS);
	resp_free(&first);
	resp_free(&second);
	end(0);
}
END_TEST

/* ---- the load ---------------------------------------------------------------------------------------------------------------------------- */

START_TEST(a_load_is_measured)
{
	const char *json = cli_path(&dir, "load.json");
	struct cli load = {0};
	struct cli_dir other;
	double rate, p50, p99, errors;
	char to[32], *text;

	cli_dir_make(&other);
	START("--backend", backends[_i]);
	snprintf(to, sizeof(to), "127.0.0.1:%u", (unsigned)ports[0]);
	CLI_RUN(&load, &other, "delegate", "kv", "--load", to, "--zipf", "1", "--writes", "10", "--keys", "1000",
		"--connections", "3", "--pipeline", "50", "--bytes", "100", "--seconds", "0.3", "--json", json);
	ck_assert_msg(load.status == 0, "%d: %s", load.status, load.err);
	ck_assert_int_eq(sscanf(load.out, "ops_per_s %lf p50_us %lf p99_us %lf errors %lf", &rate, &p50, &p99, &errors),
			 4);
	ck_assert_double_gt(rate, 0);
	ck_assert_double_ge(p99, p50);
	ck_assert_double_eq(errors, 0);
	text = cli_read(json);
	ck_assert_ptr_nonnull(text);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"ops_per_s\": "), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(text, "\"errors\": 0"), 1);
	free(text);
	cli_free(&load);
	cli_dir_remove(&other);
	end(0);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.out, "keys 1000 "), 1);
}
END_TEST

/* ---- mistakes ---------------------------------------------------------------------------------------------------------------------------- */

static const struct {
	const char *words[6], *said;
} mistakes[] = {
	{{"--nodes", "2"}, "where is it to serve? --listen PORT; or --load HOST:PORT"},
	{{"--listen", "70000"}, "--listen is \"70000\", expected a number from 0 to 65535"},
	{{"--listen", "1.5"}, "--listen is \"1.5\", expected a whole number"},
	{{"--listen", "65535", "--nodes", "2"}, "there are no ports for 2 nodes from there on"},
	{{"--listen", "0", "--nodes", "17"}, "--nodes is \"17\", expected a number from 1 to 16"},
	{{"--listen", "0", "--backend", "spin"}, "--backend is \"spin\", expected trust, mutex or rwlock"},
	{{"--listen", "0", "--transport", "udp"}, "--transport is \"udp\", expected shm or tcp"},
	{{"--listen", "0", "--shards", "0"}, "--shards is \"0\", expected a number from 1 to 4096"},
	{{"--listen", "0", "--threads", "65"}, "--threads is \"65\", expected a number from 1 to 64"},
	{{"--listen", "0", "--workers", "x"}, "--workers is \"x\", expected a number from 1 to 64"},
	{{"--listen", "0", "--patience", "99"}, "--patience is \"99\", expected a number from 100 to 3600000"},
	{{"--listen", "0", "--zipf", "1"}, "--zipf is for clients: --load HOST:PORT"},
	{{"--load", "127.0.0.1:1", "--shards", "1"}, "--shards is for a server, --load for clients"},
	{{"--load", "127.0.0.1:1", "--listen", "0"}, "--listen is for a server, --load for clients"},
	{{"--load", "here:1"}, "--load is \"here:1\", expected HOST:PORT"},
	{{"--load", "127.0.0.1"}, "--load is \"127.0.0.1\", expected HOST:PORT"},
	{{"--listen", "0", "word"}, "\"word\" is one word too many"},
};

START_TEST(mistakes_are_said)
{
	const char *arguments[10] = {"delegate", "kv"};

	for (int w = 0; w < 6; w++)
		arguments[2 + w] = mistakes[_i].words[w];
	cli_run(&cli, &dir, arguments);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_msg(CLI_LINES_WITH(cli.err, mistakes[_i].said) == 1, "%s", cli.err);
	ck_assert_str_eq(cli.out, "");
}
END_TEST

START_TEST(a_port_that_is_taken_is_said)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t length = sizeof(at);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	char port[8], said[64];

	ck_assert(bind(fd, (struct sockaddr *)&at, sizeof(at)) == 0 && listen(fd, 1) == 0 &&
		  getsockname(fd, (struct sockaddr *)&at, &length) == 0);
	snprintf(port, sizeof(port), "%u", (unsigned)ntohs(at.sin_port));
	snprintf(said, sizeof(said), "127.0.0.1 port %s: Address already in use", port);
	CLI_RUN(&cli, &dir, "delegate", "kv", "--listen", port);
	ck_assert_int_eq(cli.status, 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, said), 1);
	close(fd);
	cli_free(&cli);
	snprintf(said, sizeof(said), "127.0.0.1:%s", port);
	CLI_RUN(&cli, &dir, "delegate", "kv", "--load", said, "--seconds", "0.1");
	ck_assert_int_eq(cli.status, 1);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "Connection refused"), 1);
}
END_TEST

Suite *suite(void)
{
	Suite *suite = suite_create("store-nodes");
	TCase *tcase = tcase_create("nodes");

	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, pipelines_are_in_order_over_two_nodes, 0, 6);
	tcase_add_loop_test(tcase, large_values_cross_nodes, 0, 6);
	tcase_add_loop_test(tcase, a_killed_node_takes_its_keys_and_no_others, 0, 6);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("command");
	tcase_add_checked_fixture(tcase, setup, teardown);
	tcase_add_loop_test(tcase, it_ends_when_it_is_to, 0, 3);
	tcase_add_test(tcase, no_more_clients_than_it_may_have);
	tcase_add_loop_test(tcase, a_load_is_measured, 0, 3);
	tcase_add_loop_test(tcase, mistakes_are_said, 0, (int)(sizeof(mistakes) / sizeof(mistakes[0])));
	tcase_add_test(tcase, a_port_that_is_taken_is_said);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
