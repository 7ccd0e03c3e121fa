/* test_store.c - `whorl delegate kv` within one process: where keys are, what a shard does, that replies leave in order, and what a client may not.
 *
 * Each client has keys of its own, so what it is answered follows from what it has asked, in order; a model says it. Keys that all count
 * in are added up at the end.
 */
#include <check.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/harness.h"
#include "tests/kv/resp.h"
#include "tests/patience.h"
#include "tools/delegate_kv.h"

#define SECOND UINT64_C(1000000000)
#define THREADS 2
#define CLIENTS 4

static uint64_t dice;

static uint64_t draw(uint64_t below) /* splitmix64 */
{
	uint64_t z = dice += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
	return (z ^ z >> 31) % below;
}

/* ---- where keys are --------------------------------------------------------------------------------------------------------------- */

START_TEST(each_shard_has_an_equal_range)
{
	static const uint32_t counts[] = {1, 2, 3, 7, 64, 100, 65536};

	for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
		uint32_t count = counts[c];

		ck_assert_uint_eq(wh_kv_shard_of(0, count), 0);
		ck_assert_uint_eq(wh_kv_shard_of(UINT64_MAX, count), count - 1);
		for (uint32_t shard = 1; shard < count; shard++) { /* where it begins */
			uint64_t from = (((uint64_t)shard << 32) + count - 1) / count;

			ck_assert_uint_eq(wh_kv_shard_of(from << 32, count), shard);
			ck_assert_uint_eq(wh_kv_shard_of((from << 32) - 1, count), shard - 1);
		}
	}
}
END_TEST

START_TEST(keys_are_spread_by_the_seed)
{
	static const uint64_t one[2] = {1, 2}, other[2] = {1, 3};
	uint32_t of[64] = {0}, moved = 0;
	char key[32];

	for (int i = 0; i < 64000; i++) {
		size_t bytes = (size_t)sprintf(key, "key:%012d", i);
		uint32_t shard = wh_kv_shard_of(wh_kv_hash(one, key, bytes), 64);

		of[shard]++;
		moved += shard != wh_kv_shard_of(wh_kv_hash(other, key, bytes), 64);
	}
	for (int s = 0; s < 64; s++)
		ck_assert_uint_lt(of[s] - 800, 400); /* six times what chance does is 190 */
	ck_assert_uint_gt(moved, 62000);
	ck_assert_uint_ne(wh_kv_hash(one, "abcdefgh", 8), wh_kv_hash(one, "abcdefg", 7));
	ck_assert_uint_ne(wh_kv_hash(one, "\0", 1), wh_kv_hash(one, "", 0));
}
END_TEST

/* ---- a shard ------------------------------------------------------------------------------------------------------------------------ */

#define KEYS 300

struct model { /* of a key */
	char *value;
	size_t bytes;
};

static struct wh_kv_request request(enum wh_kv_op op, int key, char text[16])
{
	size_t bytes = (size_t)sprintf(text, "k%d", key);

	/* few hashes: lists are long, and keys of one hash meet */
	return (struct wh_kv_request){.op = op, .hash = (uint64_t)key % 50, .key = {text, bytes}};
}

static void set_one(struct wh_kv_table *table, struct model *model, int key, size_t bytes)
{
	char text[16], *value = malloc(bytes + 1);
	struct wh_kv_request r = request(WH_KV_SET, key, text);

	memset(value, (int)draw(256), bytes);
	r.value = (struct wh_kv_slice){value, bytes};
	ck_assert_int_eq(wh_kv_table_run(table, &r).kind, WH_KV_DONE);
	free(model->value);
	model->value = value;
	model->bytes = bytes;
}

static void get_one(struct wh_kv_table *table, const struct model *model, int key)
{
	char text[16];
	const struct wh_kv_request r = request(WH_KV_GET, key, text), e = request(WH_KV_EXISTS, key, text);
	struct wh_kv_answer answer = wh_kv_table_run(table, &r);

	ck_assert_int_eq(answer.kind, model->value == NULL ? WH_KV_NIL : WH_KV_VALUE);
	if (model->value != NULL) {
		ck_assert_uint_eq(answer.value.bytes, model->bytes);
		ck_assert_int_eq(memcmp(answer.value.data, model->value, model->bytes), 0);
	}
	answer = wh_kv_table_run(table, &e);
	ck_assert_int_eq(answer.number, model->value != NULL);
}

static void remove_one(struct wh_kv_table *table, struct model *model, int key)
{
	char text[16];
	const struct wh_kv_request r = request(WH_KV_DEL, key, text);

	ck_assert_int_eq(wh_kv_table_run(table, &r).number, model->value != NULL);
	free(model->value);
	*model = (struct model){0};
}

static void compare_counts(const struct wh_kv_table *table, const struct model *models)
{
	uint64_t keys = 0, bytes = 0;
	char text[16];

	for (int k = 0; k < KEYS; k++)
		if (models[k].value != NULL) {
			keys++;
			bytes += models[k].bytes + (size_t)sprintf(text, "k%d", k);
		}
	ck_assert_uint_eq(table->keys, keys);
	ck_assert_uint_eq(table->bytes, bytes);
}

START_TEST(a_shard_does_what_it_is_asked)
{
	const struct wh_kv_request clear = {.op = WH_KV_CLEAR}, count = {.op = WH_KV_COUNT};
	struct model models[KEYS] = {{0}};
	struct wh_kv_table table = {0};

	dice = test_seed(1);
	for (int turn = 0; turn < 20000; turn++) {
		int key = (int)draw(KEYS), what = (int)draw(10);

		if (what < 5)
			set_one(&table, &models[key], key, draw(8) == 0 ? draw(5000) : draw(40));
		else if (what < 8)
			get_one(&table, &models[key], key);
		else
			remove_one(&table, &models[key], key);
		if (turn % 1000 == 0)
			compare_counts(&table, models);
	}
	compare_counts(&table, models);
	ck_assert_int_eq(wh_kv_table_run(&table, &count).number, (int64_t)table.keys);
	ck_assert_int_eq(wh_kv_table_run(&table, &clear).kind, WH_KV_DONE);
	ck_assert_int_eq(wh_kv_table_run(&table, &count).number, 0);
	for (int k = 0; k < KEYS; k++)
		free(models[k].value);
}
END_TEST

START_TEST(numbers_are_added_to)
{
	static const struct {
		const char *value; /* before; NULL: none */
		int64_t by;
		enum wh_kv_kind kind;
		int64_t number;
	} cases[] = {
		{NULL, 1, WH_KV_NUMBER, 1},
		{NULL, INT64_MIN, WH_KV_NUMBER, INT64_MIN},
		{"41", 1, WH_KV_NUMBER, 42},
		{"9223372036854775806", 1, WH_KV_NUMBER, INT64_MAX},
		{"9223372036854775807", 1, WH_KV_OVERFLOW, 0},
		{"-9223372036854775807", -1, WH_KV_NUMBER, INT64_MIN},
		{"-9223372036854775808", -1, WH_KV_OVERFLOW, 0},
		{"-2", INT64_MIN, WH_KV_OVERFLOW, 0},
		{"abc", 1, WH_KV_NO_NUMBER, 0},
		{"", 1, WH_KV_NO_NUMBER, 0},
		{"1 ", 1, WH_KV_NO_NUMBER, 0},
	};
	char text[16], expected[32];

	for (size_t c = 0; c < sizeof(cases) / sizeof(cases[0]); c++) {
		struct wh_kv_request set = request(WH_KV_SET, 1, text), add = request(WH_KV_ADD, 1, text),
				     get = request(WH_KV_GET, 1, text);
		struct wh_kv_table table = {0};
		struct wh_kv_answer answer;

		add.by = cases[c].by;
		if (cases[c].value != NULL) {
			set.value = (struct wh_kv_slice){cases[c].value, strlen(cases[c].value)};
			(void)wh_kv_table_run(&table, &set);
		}
		answer = wh_kv_table_run(&table, &add);
		ck_assert_int_eq(answer.kind, cases[c].kind);
		ck_assert_int_eq(answer.number, cases[c].number);
		snprintf(expected, sizeof(expected), "%lld", (long long)cases[c].number);
		answer = wh_kv_table_run(&table, &get);
		if (cases[c].kind == WH_KV_NUMBER) {
			ck_assert_uint_eq(answer.value.bytes, strlen(expected));
			ck_assert_int_eq(memcmp(answer.value.data, expected, strlen(expected)), 0);
		} else {
			ck_assert_uint_eq(answer.value.bytes, strlen(cases[c].value));
		}
		wh_kv_table_free(&table);
	}
}
END_TEST

/* ---- a node -------------------------------------------------------------------------------------------------------------------------- */

struct lab {
	struct wh_kv_options options;
	struct wh_kv_store store;
	struct wh_kv_thread threads[THREADS];
	whorl_work *work;
	wh_word memory, clients_open;
	uint32_t turn;
};

static struct lab lab;

static void open_lab(enum wh_kv_backend backend, uint32_t patience_ms)
{
	const struct whorl_work_options options = {.size = sizeof(options), .workers = 2, WHORL_FUNCTIONS_LINKED};

	lab.options = (struct wh_kv_options){.nodes = 1,
					     .threads = THREADS,
					     .workers = 2,
					     .shards = 16,
					     .clients = 100,
					     .patience_ms = patience_ms,
					     .backend = backend,
					     .transport = "shm"};
	if (backend == WH_KV_TRUST)
		ck_assert_int_eq(whorl_work_open(NULL, &options, &lab.work), WHORL_OK);
	ck_assert(wh_kv_store_open(&lab.store, &lab.options, 0, lab.work));
	for (uint32_t i = 0; i < THREADS; i++) {
		struct wh_kv_thread *thread = &lab.threads[i];

		*thread = (struct wh_kv_thread){
			.store = &lab.store, .number = i, .memory = &lab.memory, .clients_open = &lab.clients_open};
		ck_assert(wh_kv_thread_open(thread));
		ck_assert_int_eq(pthread_create(&thread->id, NULL, wh_kv_serve, thread), 0);
	}
}

static void close_lab(void)
{
	for (uint32_t i = 0; i < THREADS; i++)
		wh_store_relaxed(&lab.threads[i].stop, 1);
	for (uint32_t i = 0; i < THREADS; i++)
		pthread_join(lab.threads[i].id, NULL);
	if (lab.work != NULL)
		ck_assert_int_eq(whorl_work_close(lab.work, 10000), WHORL_OK);
	for (uint32_t i = 0; i < THREADS; i++)
		wh_kv_thread_close(&lab.threads[i]);
	wh_kv_store_free(&lab.store);
	ck_assert_uint_eq(wh_load_relaxed(&lab.clients_open), 0);
	ck_assert_uint_eq(wh_load_relaxed(&lab.memory), 0);
}

static uint64_t deadline(void)
{
	return resp_now_ns() + (uint64_t)test_patience(20000) * 1000000;
}

static void join_lab(struct resp *client)
{
	int sockets[2];

	ck_assert_int_eq(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, sockets), 0);
	*client = (struct resp){.fd = sockets[0], .until_ns = deadline()};
	wh_fetch_add(&lab.clients_open, 1);
	ck_assert_int_eq(write(lab.threads[lab.turn++ % THREADS].pipe[1], &sockets[1], sizeof(int)), sizeof(int));
}

static void expect(struct resp *client, enum resp_kind kind, const char *text)
{
	struct resp_reply reply;

	ck_assert(resp_take(client, &reply));
	ck_assert_msg(reply.kind == kind, "kind %d and not %d: %s", (int)reply.kind, (int)kind,
		      reply.text == NULL ? "" : reply.text);
	if (kind == RESP_NUMBER || kind == RESP_ARRAY)
		ck_assert_int_eq(reply.number, strtoll(text, NULL, 10));
	else if (kind == RESP_BULK || kind == RESP_STATUS)
		ck_assert_str_eq(reply.text, text);
	else if (kind == RESP_ERROR)
		ck_assert_msg(strstr(reply.text, text) != NULL, "%s", reply.text);
}

/* ---- the order of replies ------------------------------------------------------------------------------------------------------------- */

#define OWN 40       /* keys of a client */
#define PIPELINE 300 /* more than may be under way */

struct expected {
	enum resp_kind kind;
	char text[24];
};

struct asker {
	struct resp client;
	int number;
	char values[OWN][24]; /* "": none */
	struct expected expected[PIPELINE * 4];
	size_t count;
};

static void expects(struct asker *a, enum resp_kind kind, const char *text)
{
	struct expected *next = &a->expected[a->count++];

	next->kind = kind;
	memcpy(next->text, text, strlen(text) + 1);
}

static void expects_value(struct asker *a, int key)
{
	expects(a, a->values[key][0] == '\0' ? RESP_NIL : RESP_BULK, a->values[key]);
}

static void ask_one(struct asker *a)
{
	int key = (int)draw(OWN), other = (int)draw(OWN), c = a->number;
	char text[24];

	switch (draw(7)) {
	case 0:
		snprintf(a->values[key], sizeof(a->values[0]), "%u", (unsigned)draw(100000));
		resp_put(&a->client, "SET c%d:%d %s", c, key, a->values[key]);
		expects(a, RESP_STATUS, "OK");
		return;
	case 1:
		resp_put(&a->client, "INCRBY c%d:%d 7", c, key);
		snprintf(a->values[key], sizeof(a->values[0]), "%ld", strtol(a->values[key], NULL, 10) + 7);
		expects(a, RESP_NUMBER, a->values[key]);
		return;
	case 2:
		resp_put(&a->client, "MGET c%d:%d nobody c%d:%d", c, key, c, other);
		expects(a, RESP_ARRAY, "3");
		expects_value(a, key);
		expects(a, RESP_NIL, "");
		expects_value(a, other);
		return;
	case 3:
		resp_put(&a->client, "DEL c%d:%d", c, key);
		expects(a, RESP_NUMBER, a->values[key][0] == '\0' ? "0" : "1");
		a->values[key][0] = '\0';
		return;
	case 4:
		snprintf(text, sizeof(text), "word%u", (unsigned)draw(1000));
		resp_put(&a->client, "ECHO %s", text);
		expects(a, RESP_BULK, text);
		return;
	default:
		resp_put(&a->client, "GET c%d:%d", c, key);
		expects_value(a, key);
	}
}

/* All clients at once, and keys that all count in. */
START_TEST(replies_come_in_the_order_of_commands)
{
	static struct asker askers[CLIENTS];
	struct resp one;
	int counted = 0;

	dice = test_seed(2) + (uint64_t)_i;
	open_lab((enum wh_kv_backend)_i, 20000);
	for (int c = 0; c < CLIENTS; c++) {
		askers[c].number = c;
		join_lab(&askers[c].client);
	}
	for (int round = 0; round < 20; round++) {
		for (int c = 0; c < CLIENTS; c++) {
			askers[c].count = 0;
			for (uint64_t i = draw(PIPELINE); i > 0; i--)
				ask_one(&askers[c]);
			for (int i = 0; i < 3; i++)
				resp_put(&askers[c].client, "INCR all%d", i);
			counted++;
			askers[c].client.until_ns = deadline();
			ck_assert(resp_send(&askers[c].client));
		}
		for (int c = 0; c < CLIENTS; c++) {
			struct resp_reply reply;

			for (size_t i = 0; i < askers[c].count; i++)
				expect(&askers[c].client, askers[c].expected[i].kind, askers[c].expected[i].text);
			for (int i = 0; i < 3; i++)
				ck_assert(resp_take(&askers[c].client, &reply) && reply.kind == RESP_NUMBER);
		}
	}
	join_lab(&one);
	for (int i = 0; i < 3; i++) {
		char sum[16];

		snprintf(sum, sizeof(sum), "%d", counted);
		resp_put(&one, "GET all%d", i);
		ck_assert(resp_send(&one));
		expect(&one, RESP_BULK, sum);
	}
	resp_free(&one);
	for (int c = 0; c < CLIENTS; c++)
		resp_free(&askers[c].client);
	close_lab();
}
END_TEST

/* ---- commands --------------------------------------------------------------------------------------------------------------------------- */

static void ask(struct resp *client, enum resp_kind kind, const char *text, const char *command)
{
	resp_put(client, "%s", command);
	ck_assert(resp_send(client));
	expect(client, kind, text);
}

START_TEST(commands_answer_as_those_of_redis)
{
	struct resp c;

	open_lab((enum wh_kv_backend)_i, 20000);
	join_lab(&c);
	ask(&c, RESP_STATUS, "PONG", "ping");
	ask(&c, RESP_BULK, "x", "PING x");
	ask(&c, RESP_STATUS, "OK", "MSET a 1 b two c 3");
	ask(&c, RESP_NUMBER, "3", "DBSIZE");
	ask(&c, RESP_NUMBER, "4", "EXISTS a a b c q");
	ask(&c, RESP_NUMBER, "2", "DEL a c q");
	ask(&c, RESP_NIL, "", "GET a");
	ask(&c, RESP_BULK, "two", "GET b");
	ask(&c, RESP_ERROR, "not an integer", "INCR b");
	ask(&c, RESP_NUMBER, "-5", "DECRBY n 5");
	ask(&c, RESP_NUMBER, "-6", "DECR n");
	ask(&c, RESP_ERROR, "not an integer", "DECRBY n -9223372036854775808");
	ask(&c, RESP_ERROR, "not an integer", "INCRBY n x");
	ask(&c, RESP_ERROR, "wrong number", "GET");
	ask(&c, RESP_ERROR, "wrong number", "GET a b");
	ask(&c, RESP_ERROR, "wrong number", "MSET a 1 b");
	ask(&c, RESP_ERROR, "no options", "SET a 1 NX");
	ask(&c, RESP_ERROR, "unknown command 'nonsense'", "nonsense a b");
	ask(&c, RESP_STATUS, "OK", "SELECT 0");
	ask(&c, RESP_ERROR, "out of range", "SELECT 1");
	ask(&c, RESP_ARRAY, "2", "CONFIG GET save");
	expect(&c, RESP_BULK, "save");
	expect(&c, RESP_BULK, "");
	ask(&c, RESP_ERROR, "CONFIG GET", "CONFIG SET a b");
	ask(&c, RESP_ARRAY, "0", "COMMAND DOCS");
	ask(&c, RESP_STATUS, "OK", "FLUSHALL");
	ask(&c, RESP_NUMBER, "0", "DBSIZE");
	ask(&c, RESP_STATUS, "OK", "QUIT");
	ck_assert(!resp_take(&c, &(struct resp_reply){0}));
	resp_free(&c);
	close_lab();
}
END_TEST

/* ---- limits ------------------------------------------------------------------------------------------------------------------------------ */

static void put_bytes(struct resp *c, const char *head, size_t bytes)
{
	char *all = malloc(strlen(head) + bytes + 3);
	size_t at = (size_t)sprintf(all, "%s", head);

	memset(all + at, 'v', bytes);
	memcpy(all + at + bytes, "\r\n", 2);
	free(c->out);
	c->out = all;
	c->out_bytes = c->out_room = at + bytes + 2;
	ck_assert(resp_send(c));
}

static void set_large(struct resp *c, const char *key)
{
	char head[64];

	snprintf(head, sizeof(head), "*3\r\n$3\r\nSET\r\n$%zu\r\n%s\r\n$1048576\r\n", strlen(key), key);
	put_bytes(c, head, WH_KV_WORD_MAX);
	expect(c, RESP_STATUS, "OK");
}

START_TEST(values_have_up_to_a_megabyte)
{
	struct resp_reply reply;
	struct resp c;

	open_lab((enum wh_kv_backend)_i, 20000);
	join_lab(&c);
	set_large(&c, "a");
	resp_put(&c, "GET a");
	ck_assert(resp_send(&c) && resp_take(&c, &reply));
	ck_assert_uint_eq(reply.bytes, WH_KV_WORD_MAX);
	for (size_t i = 0; i < reply.bytes; i++)
		ck_assert(reply.text[i] == 'v');
	resp_put(&c, "SET b 1");
	resp_put(&c, "GET b");
	resp_send(&c);
	put_bytes(&c, "*3\r\n$3\r\nSET\r\n$1\r\nb\r\n$1048577\r\n", 10); /* too long: what was before is answered */
	expect(&c, RESP_STATUS, "OK");
	expect(&c, RESP_BULK, "1");
	expect(&c, RESP_ERROR, "Protocol error");
	ck_assert(!resp_take(&c, &reply));
	resp_free(&c);
	close_lab();
	ck_assert_uint_eq(lab.threads[0].counts.refused, 1);
}
END_TEST

START_TEST(a_reply_has_a_limit)
{
	char command[256] = "MGET", key[8];
	struct resp c;

	open_lab((enum wh_kv_backend)_i, 20000);
	join_lab(&c);
	for (int i = 0; i < 16; i++) {
		sprintf(key, "k%d", i);
		set_large(&c, key);
		strcat(strcat(command, " "), key);
	}
	resp_put(&c, "%s", command);
	ck_assert(resp_send(&c));
	expect(&c, RESP_ARRAY, "16");
	for (int i = 0; i < 16; i++)
		ck_assert(resp_take(&c, &(struct resp_reply){0}));
	ask(&c, RESP_STATUS, "OK", "SET k x");
	strcat(command, " k");
	ask(&c, RESP_ERROR, "larger than 16777216", command);
	ask(&c, RESP_BULK, "x", "GET k");
	resp_free(&c);
	close_lab();
}
END_TEST

/* It asks for 400 MB and takes nothing: so many commands as may be under way are answered, in memory that doubles as it grows. Others are served meanwhile; it is closed. */
START_TEST(a_client_that_never_reads_is_closed)
{
	struct resp deaf, other;
	uint64_t most = 0;

	open_lab((enum wh_kv_backend)_i, 2000);
	join_lab(&deaf);
	set_large(&deaf, "a");
	for (int i = 0; i < 400; i++)
		resp_put(&deaf, "GET a");
	ck_assert(resp_send(&deaf));
	join_lab(&other);
	other.until_ns = deadline();
	while (wh_load_relaxed(&lab.clients_open) == 2) {
		uint64_t memory = wh_load_relaxed(&lab.memory);

		ck_assert_uint_lt(resp_now_ns(), other.until_ns);
		most = memory > most ? memory : most;
		ask(&other, RESP_STATUS, "PONG", "PING");
	}
	ck_assert_uint_lt(most, UINT64_C(136) << 20);
	resp_free(&deaf);
	resp_free(&other);
	close_lab();
	ck_assert_uint_eq(lab.threads[0].counts.refused + lab.threads[1].counts.refused, 1);
	ck_assert_uint_le(lab.threads[0].counts.gets + lab.threads[1].counts.gets, WH_KV_SLOTS + 1);
}
END_TEST

/* Any bytes: they are answered, or the client is closed, and others are served. */
START_TEST(nonsense_hurts_nobody)
{
	static const char *const pieces[] = {"*3\r\n",
					     "$3\r\n",
					     "SET\r\n",
					     "GET a\r\n",
					     "*-1\r\n",
					     "$-1\r\n",
					     "\r\n",
					     "*1000000\r\n",
					     "$99999999999\r\n",
					     "\"",
					     "*2\r\n$3\r\nGET\r\n$1\r\na\r\n",
					     "MGET a b\r\n",
					     "\n",
					     "$0\r\n\r\n"};
	struct resp other, c;
	char byte;

	dice = test_seed(3);
	open_lab((enum wh_kv_backend)_i, 20000);
	join_lab(&other);
	for (int round = 0; round < 300; round++) {
		join_lab(&c);
		for (uint64_t i = draw(12); i > 0; i--) {
			const char *piece = pieces[draw(sizeof(pieces) / sizeof(pieces[0]))];

			byte = (char)draw(256);
			(void)!send(c.fd, draw(6) == 0 ? &byte : piece, draw(6) == 0 ? 1 : strlen(piece), MSG_NOSIGNAL);
		}
		if (draw(2) == 0)
			ask(&other, RESP_NUMBER, "0", "EXISTS q");
		resp_free(&c);
	}
	ask(&other, RESP_STATUS, "PONG", "PING");
	resp_free(&other);
	close_lab();
}
END_TEST

extern const struct whorl_function kv_gate_read, kv_gate_write;

/* What a gate is sent by another program that has the same functions. */
START_TEST(a_gate_refuses_what_is_no_request)
{
	unsigned char data[64], answer[64];

	dice = test_seed(4);
	open_lab(WH_KV_TRUST, 20000);
	for (int i = 0; i < 2000; i++) {
		size_t bytes = draw(sizeof(data)), answer_bytes = sizeof(answer);
		enum whorl_result result;

		for (size_t b = 0; b < bytes; b++)
			data[b] = (unsigned char)draw(256);
		if (bytes >= 12) { /* a request that there is, with a key that is longer than what comes */
			data[8] = (unsigned char)(bytes - 11);
			data[9] = data[10] = 0;
			data[11] = (unsigned char)draw(2 * WH_KV_OPS);
		}
		result = whorl_apply_bytes_function(&lab.store.trusts[0], draw(2) == 0 ? &kv_gate_read : &kv_gate_write,
						    data, bytes, answer, &answer_bytes, 10000);
		ck_assert_int_eq(result, WHORL_OK);
		ck_assert_uint_eq(answer_bytes, 1);
		ck_assert_uint_eq(answer[0], WH_KV_FAILED);
	}
	close_lab();
}
END_TEST

Suite *suite(void)
{
	Suite *suite = suite_create("store");
	TCase *tcase = tcase_create("keys");

	tcase_add_test(tcase, each_shard_has_an_equal_range);
	tcase_add_test(tcase, keys_are_spread_by_the_seed);
	tcase_add_test(tcase, a_shard_does_what_it_is_asked);
	tcase_add_test(tcase, numbers_are_added_to);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("replies");
	tcase_add_loop_test(tcase, replies_come_in_the_order_of_commands, 0, WH_KV_BACKENDS);
	tcase_add_loop_test(tcase, commands_answer_as_those_of_redis, 0, WH_KV_BACKENDS);
	suite_add_tcase(suite, tcase);
	tcase = tcase_create("limits");
	tcase_add_loop_test(tcase, values_have_up_to_a_megabyte, 0, WH_KV_BACKENDS);
	tcase_add_loop_test(tcase, a_reply_has_a_limit, 0, WH_KV_BACKENDS);
	tcase_add_loop_test(tcase, a_client_that_never_reads_is_closed, 0, WH_KV_BACKENDS);
	tcase_add_loop_test(tcase, nonsense_hurts_nobody, 0, WH_KV_BACKENDS);
	tcase_add_test(tcase, a_gate_refuses_what_is_no_request);
	suite_add_tcase(suite, tcase);
	return suite;
}

int main(void)
{
	return test_main(suite());
}
