/* test_kv_resp.c - the parser of examples/kv: commands that come in pieces, and what is no command. */
#include <stdlib.h>
#include <string.h>

#include "resp/resp.h"
#include "tests/harness.h"

static const struct kv_limits usual = {1 << 20, 16 << 20, KV_ARGUMENTS_MAX};

/* All commands as "[3:GET][1:a]\n", and at last "error", if there is one. */
static void parse_into(struct kv_bytes *shown, struct kv_parser *parser, const char *data, size_t bytes,
		       enum kv_parsed *last)
{
	while ((*last = kv_parse(parser, &usual, &data, &bytes)) == KV_PARSED_COMMAND) {
		for (uint32_t i = 0; i < parser->count; i++) {
			ck_assert_int_eq(parser->arguments[i].data[parser->arguments[i].bytes], '\0');
			kv_bytes_print(shown, "[%zu:", parser->arguments[i].bytes);
			kv_bytes_add(shown, parser->arguments[i].data, parser->arguments[i].bytes);
			kv_bytes_text(shown, "]");
		}
		kv_bytes_text(shown, "\n");
	}
	ck_assert(*last == KV_PARSED_ERROR || bytes == 0);
}

/* In pieces of `piece` bytes, each in memory of its own, so that a sanitizer sees what reads beyond it. */
static void show_pieces(struct kv_bytes *shown, const char *data, size_t bytes, size_t first, size_t piece)
{
	struct kv_parser parser = {0};
	enum kv_parsed last = KV_PARSED_MORE;

	for (size_t at = 0, count = first; at < bytes && last != KV_PARSED_ERROR; at += count, count = piece) {
		char *copy;

		count = count < bytes - at ? count : bytes - at;
		if (count == 0)
			continue;
		copy = malloc(count);
		ck_assert_ptr_nonnull(copy);
		memcpy(copy, data + at, count);
		parse_into(shown, &parser, copy, count, &last);
		free(copy);
	}
	if (last == KV_PARSED_ERROR) {
		const char *nothing = "";
		size_t none = 0;

		kv_bytes_print(shown, "error: %s", parser.error);
		ck_assert_int_eq(kv_parse(&parser, &usual, &nothing, &none), KV_PARSED_ERROR); /* for good */
	}
	kv_bytes_add(shown, "", 1);
	kv_parser_free(&parser);
}

struct text {
	const char *in, *out;
};

static const struct text texts[] = {
	{"*1\r\n$4\r\nPING\r\n", "[4:PING]\n"},
	{"*3\r\n$3\r\nSET\r\n$1\r\na\r\n$0\r\n\r\n*2\r\n$3\r\nGET\r\n$1\r\na\r\n", "[3:SET][1:a][0:]\n[3:GET][1:a]\n"},
	{"PING\r\n", "[4:PING]\n"},
	{"PING\n", "[4:PING]\n"},
	{"\r\n\r\n  \r\nPING\r\n", "[4:PING]\n"},
	{"*0\r\n*-1\r\nPING\r\n", "[4:PING]\n"},
	{"  set  a\tb \r\n*1\r\n$4\r\nPING\r\nget a\r\n", "[3:set][1:a][1:b]\n[4:PING]\n[3:get][1:a]\n"},
	{"set a \"x y\\n\\x41\\\"\" 'it\\'s \\n' \"\"\r\n", "[3:set][1:a][6:x y\nA\"][7:it's \\n][0:]\n"},
	{"*2\r\n$4\r\nECHO\r\n$4\r\n\r\n\r\n\r\n", "[4:ECHO][4:\r\n\r\n]\n"},
	/* what is wrong */
	{"set a \"b\r\n", "error: Protocol error: unbalanced quotes in request"},
	{"set a \"b\"c\r\n", "error: Protocol error: unbalanced quotes in request"},
	{"PING\r\n*x\r\n", "[4:PING]\nerror: Protocol error: invalid multibulk length"},
	{"*1000000000\r\n", "error: Protocol error: invalid multibulk length"},
	{"*1048577\r\n", "error: Protocol error: invalid multibulk length"},
	{"*99999999999999999999\r\n", "error: Protocol error: invalid multibulk length"},
	{"*\r\n", "error: Protocol error: invalid multibulk length"},
	{"*+1\r\n", "error: Protocol error: invalid multibulk length"},
	{"*11111111111111111111111111111111111111111111\r\n", "error: Protocol error: too big mbulk count string"},
	{"*1\r\n:1\r\n", "error: Protocol error: expected '$', got ':'"},
	{"*1\r\n\r\n", "error: Protocol error: expected '$', got ' '"},
	{"*1\r\n$x\r\n", "error: Protocol error: invalid bulk length"},
	{"*1\r\n$-1\r\n", "error: Protocol error: invalid bulk length"},
	{"*1\r\n$536870912\r\n", "error: Protocol error: invalid bulk length"},
	{"*1\r\n$1048577\r\n", "error: Protocol error: invalid bulk length"},
	{"*1\r\n$11111111111111111111111111111111111111111\r\n", "error: Protocol error: too big bulk count string"},
};

TEST_LOOP(splits_do_not_matter, 0, sizeof(texts) / sizeof(texts[0]))
{
	const struct text *text = &texts[_i];
	size_t bytes = strlen(text->in);

	for (size_t first = 0; first <= bytes; first++)
		for (size_t piece = 1; piece <= bytes; piece += piece < 4 ? 1 : bytes) {
			struct kv_bytes shown = {0};

			show_pieces(&shown, text->in, bytes, first, piece);
			ck_assert_str_eq(shown.data, text->out);
			kv_bytes_clear(&shown, 0);
		}
}

/* Lengths that are allowed, and of which nothing comes, take no memory. */
TEST(memory_follows_what_comes)
{
	static const char many[] = "*1048576\r\n$1048576\r\nabc";
	struct kv_parser parser = {0};
	const char *data = many;
	size_t bytes = sizeof(many) - 1;

	ck_assert_int_eq(kv_parse(&parser, &usual, &data, &bytes), KV_PARSED_MORE);
	ck_assert_uint_lt(kv_parser_memory(&parser), 1024);
	ck_assert(!kv_parser_empty(&parser));
	kv_parser_free(&parser);
	ck_assert(kv_parser_empty(&parser));
}

TEST(inline_commands_have_an_end)
{
	struct kv_parser parser = {0};
	char line[1024];
	enum kv_parsed parsed = KV_PARSED_MORE;
	size_t given = 0;

	memset(line, 'x', sizeof(line));
	while (parsed == KV_PARSED_MORE && given < 2 * KV_INLINE_MAX) {
		const char *data = line;
		size_t bytes = sizeof(line);

		parsed = kv_parse(&parser, &usual, &data, &bytes);
		given += sizeof(line);
	}
	ck_assert_int_eq(parsed, KV_PARSED_ERROR);
	ck_assert_str_eq(parser.error, "Protocol error: too big inline request");
	ck_assert_uint_le(given, KV_INLINE_MAX + 2 * sizeof(line));
	kv_parser_free(&parser);
}

/* All arguments of a command together. */
TEST(commands_have_an_end)
{
	const struct kv_limits limits = {100, 150, 1000};
	struct kv_parser parser = {0};
	char text[256];
	const char *data = text;
	size_t bytes = (size_t)snprintf(text, sizeof(text), "*2\r\n$100\r\n%0100d\r\n$100\r\n", 1);

	ck_assert_int_eq(kv_parse(&parser, &limits, &data, &bytes), KV_PARSED_ERROR);
	ck_assert_str_eq(parser.error, "Protocol error: too big command");
	kv_parser_free(&parser);
}

/* As many arguments as there may be; and then what was taken for them is given back. */
TEST(many_arguments)
{
	struct kv_parser parser = {0};
	struct kv_bytes text = {0};
	const char *data;
	size_t bytes;

	kv_bytes_print(&text, "*%d\r\n", KV_ARGUMENTS_MAX);
	for (int i = 0; i < KV_ARGUMENTS_MAX; i++)
		kv_bytes_add(&text, "$1\r\nx\r\n", 7);
	kv_bytes_text(&text, "PING\r\n");
	data = text.data;
	bytes = text.used;
	ck_assert_int_eq(kv_parse(&parser, &usual, &data, &bytes), KV_PARSED_COMMAND);
	ck_assert_uint_eq(parser.count, KV_ARGUMENTS_MAX);
	ck_assert_int_eq(kv_parse(&parser, &usual, &data, &bytes), KV_PARSED_COMMAND);
	ck_assert_uint_eq(parser.count, 1);
	ck_assert_uint_lt(kv_parser_memory(&parser), 8192);
	kv_parser_free(&parser);
	kv_bytes_clear(&text, 0);
}

TEST(numbers)
{
	static const struct {
		const char *text;
		bool good;
		int64_t value;
	} of[] = {{"0", true, 0},
		  {"-1", true, -1},
		  {"9223372036854775807", true, INT64_MAX},
		  {"-9223372036854775808", true, INT64_MIN},
		  {"9223372036854775808", false, 0},
		  {"-9223372036854775809", false, 0},
		  {"01", false, 0},
		  {"-0", false, 0},
		  {"+1", false, 0},
		  {" 1", false, 0},
		  {"1 ", false, 0},
		  {"", false, 0},
		  {"-", false, 0}};

	for (size_t i = 0; i < sizeof(of) / sizeof(of[0]); i++) {
		int64_t value = 0;
		struct kv_bytes reply = {0};

		ck_assert_msg(kv_integer((struct kv_slice){of[i].text, strlen(of[i].text)}, &value) == of[i].good, "%s",
			      of[i].text);
		if (!of[i].good)
			continue;
		ck_assert_int_eq(value, of[i].value);
		kv_reply_integer(&reply, value);
		ck_assert_uint_eq(reply.used, strlen(of[i].text) + 3);
		ck_assert(memcmp(reply.data + 1, of[i].text, strlen(of[i].text)) == 0);
		kv_bytes_clear(&reply, 0);
	}
}

/* A client's words cannot make lines of an error. */
TEST(errors_are_one_line)
{
	struct kv_bytes reply = {0};

	kv_reply_error(&reply, "ERR '%s'", "a\r\n+OK");
	kv_bytes_add(&reply, "", 1);
	ck_assert_str_eq(reply.data, "-ERR 'a  +OK'\r\n");
	kv_bytes_clear(&reply, 0);
}

TEST_SUITE("kv_resp")

int main(void)
{
	return test_main(suite());
}
