/* test_kv_commands.c - the commands of examples/kv that read and write: as redis 7 answers them, and the same at every replica. */
#include <string.h>

#include "examples/kv/commands.h"
#include "examples/kv/slots.h"
#include "tests/harness.h"

#define VALUE_MAX 32
#define REPLY_MAX 4096

static const struct kv_limits limits = {1 << 20, 16 << 20, KV_ARGUMENTS_MAX};

struct replica {
	struct kv_store *store;
	struct kv_bytes call, reply;
	uint64_t maxmemory;
};

/* Encodes the commands of inline text; those that are none are answered at once. Returns how many were encoded. */
static uint32_t encode(struct replica *r, const char *text)
{
	struct kv_parser parser = {0};
	size_t bytes = strlen(text);
	uint32_t count = 0;

	kv_bytes_clear(&r->call, 0);
	kv_bytes_clear(&r->reply, 0);
	kv_encode_begin(&r->call, r->maxmemory, VALUE_MAX);
	while (kv_parse(&parser, &limits, &text, &bytes) == KV_PARSED_COMMAND) {
		enum kv_id id;

		if (!kv_check_command(parser.arguments, parser.count, &id, &r->reply))
			continue;
		kv_encode_command(&r->call, id, parser.arguments, parser.count);
		count++;
	}
	kv_parser_free(&parser);
	return count;
}

static const char *run(struct replica *r, const char *text)
{
	char line[1024];

	snprintf(line, sizeof(line), "%s\n", text);
	if (encode(r, line) > 0)
		ck_assert(kv_execute(r->store, r->call.data, r->call.used, REPLY_MAX, &r->reply));
	kv_bytes_add(&r->reply, "", 1);
	return r->reply.data;
}

static void end(struct replica *r)
{
	kv_store_free(r->store);
	kv_bytes_clear(&r->call, 0);
	kv_bytes_clear(&r->reply, 0);
}

static const char *const conversations[][2] = {
	{"get a", "$-1\r\n"},
	{"set a 1", "+OK\r\n"},
	{"GET a", "$1\r\n1\r\n"},
	{"set a 2 nx", "$-1\r\n"},
	{"set b 2 xx", "$-1\r\n"},
	{"set a 2 xx", "+OK\r\n"},
	{"set a 3 get", "$1\r\n2\r\n"},
	{"set n 3 nx get", "$-1\r\n"},
	{"del n", ":1\r\n"},
	{"set a 3 nx xx", "-ERR syntax error\r\n"},
	{"set a 3 bad", "-ERR syntax error\r\n"},
	{"set a 3 ex", "-ERR syntax error\r\n"},
	{"set a 3 ex 1 px 1", "-ERR syntax error\r\n"},
	{"set a 3 ex x", "-ERR value is not an integer or out of range\r\n"},
	{"set a 3 ex 0", "-ERR invalid expire time in 'set' command\r\n"},
	{"set a 3 ex 9223372036854775807", "-ERR invalid expire time in 'set' command\r\n"},
	{"incr a", ":4\r\n"},
	{"decr a", ":3\r\n"},
	{"incrby a 10", ":13\r\n"},
	{"decrby a 3", ":10\r\n"},
	{"incrby a 9223372036854775807", "-ERR increment or decrement would overflow\r\n"},
	{"decrby a -9223372036854775808", "-ERR decrement would overflow\r\n"},
	{"incrby a 1.5", "-ERR value is not an integer or out of range\r\n"},
	{"set s text", "+OK\r\n"},
	{"incr s", "-ERR value is not an integer or out of range\r\n"},
	{"append s more", ":8\r\n"},
	{"append t new", ":3\r\n"},
	{"append s 0123456789012345678901234567890",
	 "-ERR string exceeds maximum allowed size (proto-max-bulk-len)\r\n"},
	{"strlen s", ":8\r\n"},
	{"strlen missing", ":0\r\n"},
	{"type s", "+string\r\n"},
	{"type missing", "+none\r\n"},
	{"exists s s missing", ":2\r\n"},
	{"mget s missing a", "*3\r\n$8\r\ntextmore\r\n$-1\r\n$2\r\n10\r\n"},
	{"mset x 1 y 2 x 3", "+OK\r\n"},
	{"mset x 1 y", "-ERR wrong number of arguments for 'mset' command\r\n"},
	{"get x", "$1\r\n3\r\n"},
	{"del x y missing", ":2\r\n"},
	{"unlink t", ":1\r\n"},
	{"dbsize", ":2\r\n"},
	/* time */
	{"ttl a", ":-1\r\n"},
	{"ttl missing", ":-2\r\n"},
	{"expire a 100", ":1\r\n"},
	{"expire missing 100", ":0\r\n"},
	{"ttl a", ":100\r\n"},
	{"pttl a", ":100000\r\n"},
	{"incr a", ":11\r\n"},
	{"append a 1", ":3\r\n"},
	{"ttl a", ":100\r\n"},
	{"set a 5 keepttl", "+OK\r\n"},
	{"ttl a", ":100\r\n"},
	{"expire a 50 gt", ":0\r\n"},
	{"expire a 50 nx", ":0\r\n"},
	{"expire a 50 xx lt", ":1\r\n"},
	{"ttl a", ":50\r\n"},
	{"expire a 50 nx xx", "-ERR NX and XX, GT or LT options at the same time are not compatible\r\n"},
	{"expire a 50 gt lt", "-ERR GT and LT options at the same time are not compatible\r\n"},
	{"expire a 50 zz", "-ERR Unsupported option zz\r\n"},
	{"expire a x", "-ERR value is not an integer or out of range\r\n"},
	{"expire a 9223372036854775807", "-ERR invalid expire time in 'expire' command\r\n"},
	{"pexpire a 9223372036854775807", "-ERR invalid expire time in 'pexpire' command\r\n"},
	{"persist a", ":1\r\n"},
	{"persist a", ":0\r\n"},
	{"set a 5 px 100", "+OK\r\n"},
	{"set a 6", "+OK\r\n"},
	{"pttl a", ":-1\r\n"},
	{"expire a -1", ":1\r\n"},
	{"get a", "$-1\r\n"},
	/* what is wrong with the words */
	{"get", "-ERR wrong number of arguments for 'get' command\r\n"},
	{"GeT a b", "-ERR wrong number of arguments for 'get' command\r\n"},
	{"lpush a b", "-ERR unknown command 'lpush', with args beginning with: 'a' 'b' \r\n"},
	{"scan x", "-ERR invalid cursor\r\n"},
	{"scan 99999", "-ERR invalid cursor\r\n"},
	{"scan 0 count 0", "-ERR syntax error\r\n"},
	{"scan 0 match", "-ERR syntax error\r\n"},
	{"scan 0 match s*", "*2\r\n$1\r\n0\r\n*1\r\n$1\r\ns\r\n"},
	{"scan 0 match z*", "*2\r\n$1\r\n0\r\n*0\r\n"},
	{"scan 0 type list", "*2\r\n$1\r\n0\r\n*0\r\n"},
	{"flushall now", "-ERR syntax error\r\n"},
	{"flushall async", "+OK\r\n"},
	{"dbsize", ":0\r\n"},
};

TEST(answers_are_those_of_redis)
{
	struct replica r = {.store = kv_store_new()};

	for (size_t i = 0; i < sizeof(conversations) / sizeof(conversations[0]); i++) {
		const char *reply = run(&r, conversations[i][0]);

		ck_assert_msg(strcmp(reply, conversations[i][1]) == 0, "%s: %s instead of %s", conversations[i][0],
			      reply, conversations[i][1]);
	}
	end(&r);
}

TEST(time_is_a_call)
{
	struct replica r = {.store = kv_store_new()};

	ck_assert_str_eq(run(&r, "set a 1 px 1000"), "+OK\r\n");
	kv_bytes_clear(&r.call, 0);
	kv_encode_tick(&r.call, 400);
	kv_bytes_clear(&r.reply, 0);
	for (int i = 0; i < 2; i++)
		ck_assert(kv_execute(r.store, r.call.data, r.call.used, REPLY_MAX, &r.reply));
	ck_assert_uint_eq(r.reply.used, 0);
	ck_assert_str_eq(run(&r, "pttl a"), ":200\r\n");
	kv_bytes_clear(&r.call, 0);
	kv_encode_tick(&r.call, 250);
	ck_assert(kv_execute(r.store, r.call.data, r.call.used, REPLY_MAX, &r.reply));
	ck_assert_str_eq(run(&r, "pttl a"), ":0\r\n"); /* it may be told to have gone late, not early */
	kv_bytes_clear(&r.call, 0);
	kv_encode_tick(&r.call, KV_TICK_MS);
	ck_assert(kv_execute(r.store, r.call.data, r.call.used, REPLY_MAX, &r.reply));
	ck_assert_str_eq(run(&r, "pttl a"), ":-2\r\n");
	end(&r);
}

/* The limit that counts is that of the call. */
TEST(memory_is_counted_in_the_state)
{
	struct replica r = {.store = kv_store_new(), .maxmemory = 2 * KV_ENTRY_BYTES};
	const char *oom = "-OOM command not allowed when used memory > 'maxmemory'.\r\n";

	ck_assert_str_eq(run(&r, "set a 1"), "+OK\r\n");
	ck_assert_str_eq(run(&r, "set b 1"), "+OK\r\n");
	ck_assert_str_eq(run(&r, "set c 1"), oom);
	ck_assert_str_eq(run(&r, "append a 1"), oom);
	ck_assert_str_eq(run(&r, "get a"), "$1\r\n1\r\n");
	ck_assert_str_eq(run(&r, "expire a 10"), ":1\r\n");
	ck_assert_str_eq(run(&r, "del a"), ":1\r\n");
	ck_assert_str_eq(run(&r, "set c 1"), "+OK\r\n");
	r.maxmemory = 0;
	ck_assert_str_eq(run(&r, "set d 1"), "+OK\r\n");
	end(&r);
}

TEST(exec_is_one_reply)
{
	struct replica r = {.store = kv_store_new()};
	struct kv_bytes call = {0};
	struct kv_slice set[] = {{"set", 3}, {"a", 1}, {"1", 1}}, incr[] = {{"incr", 4}, {"a", 1}};

	kv_encode_begin(&call, 0, VALUE_MAX);
	kv_encode_exec(&call, 2);
	kv_encode_command(&call, KV_SET, set, 3);
	kv_encode_command(&call, KV_INCR, incr, 2);
	ck_assert(kv_execute(r.store, call.data, call.used, REPLY_MAX, &r.reply));
	kv_bytes_add(&r.reply, "", 1);
	ck_assert_str_eq(r.reply.data, "*2\r\n+OK\r\n:2\r\n");
	kv_bytes_clear(&call, 0);
	end(&r);
}

/* A reply that would be too large is an error, and what follows is answered. */
TEST(replies_have_an_end)
{
	struct replica r = {.store = kv_store_new()};
	struct kv_bytes text = {0};

	ck_assert_str_eq(run(&r, "set a 01234567890123456789"), "+OK\r\n");
	kv_bytes_text(&text, "mget");
	for (int i = 0; i < 400; i++)
		kv_bytes_text(&text, " a");
	kv_bytes_text(&text, "\nstrlen a\n");
	kv_bytes_add(&text, "", 1);
	ck_assert_uint_eq(encode(&r, text.data), 2);
	ck_assert(kv_execute(r.store, r.call.data, r.call.used, REPLY_MAX, &r.reply));
	kv_bytes_add(&r.reply, "", 1);
	ck_assert_str_eq(r.reply.data, "-ERR the reply is larger than 4096 bytes ([kv] reply_max)\r\n:20\r\n");
	kv_bytes_clear(&text, 0);
	end(&r);
}

/* Bytes that are no call are refused, wherever they end. */
TEST(calls_that_are_cut)
{
	struct replica r = {.store = kv_store_new()};
	size_t whole = 0;

	ck_assert_uint_eq(encode(&r, "mset a 1 b 2\n"), 1);
	for (size_t bytes = 0; bytes < r.call.used; bytes++)
		whole += kv_execute(r.store, r.call.data, bytes, REPLY_MAX, &r.reply);
	ck_assert_uint_eq(whole, 1); /* the head alone: no commands */
	ck_assert_uint_eq(r.reply.used, 0);
	end(&r);
}

static bool matches(const char *pattern, const char *text)
{
	return kv_matches((struct kv_slice){pattern, strlen(pattern)}, (struct kv_slice){text, strlen(text)}, false);
}

TEST(patterns)
{
	char stars[101], text[5001];

	ck_assert(matches("*", "") && matches("", "") && matches("a*c", "abbbc") && matches("a?c", "abc"));
	ck_assert(matches("h[ae]llo", "hallo") && !matches("h[ae]llo", "hillo") && matches("h[^e]llo", "hallo"));
	ck_assert(matches("[a-c]", "b") && !matches("[a-c]", "d") && matches("\\*", "*") && !matches("\\*", "a"));
	ck_assert(!matches("a", "ab") && !matches("ab", "a") && !matches("?", "") && matches("[", "x") == false);
	for (int i = 0; i < 100; i++)
		stars[i] = i % 2 == 0 ? '*' : 'a';
	stars[100] = '\0';
	memset(text, 'a', sizeof(text));
	text[sizeof(text) - 1] = '\0';
	text[sizeof(text) - 2] = 'b';
	ck_assert(!matches(stars, text)); /* and not in exponential time */
}

TEST(slots)
{
	ck_assert_uint_eq(kv_slot((struct kv_slice){"123456789", 9}), 0x31c3);
	ck_assert_uint_eq(kv_slot((struct kv_slice){"foo", 3}), 12182);
	ck_assert_uint_eq(kv_slot((struct kv_slice){"a{foo}b{x}", 10}), 12182);
	ck_assert_uint_ne(kv_slot((struct kv_slice){"{}foo", 5}), 12182);
	ck_assert_uint_eq(kv_slot((struct kv_slice){"", 0}), 0);
	for (uint32_t count = 1; count <= 64; count++)
		for (uint32_t part = 0; part < count; part++) {
			ck_assert_uint_eq(kv_part_of_slot(kv_first_slot(part, count), count), part);
			ck_assert_uint_eq(kv_part_of_slot(kv_first_slot(part + 1, count) - 1, count), part);
		}
}

TEST_SUITE("kv_commands")

int main(void)
{
	return test_main(suite());
}
