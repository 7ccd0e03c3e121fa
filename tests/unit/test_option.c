/* test_option.c - option tables: parsing, mistakes, defaults, what is expected. */
#include <limits.h>
#include <string.h>

#include "base/option.h"
#include "tests/harness.h"

struct sample {
	int64_t window, bytes, offset, any;
	bool nulls;
	int transport;
	char members[WH_OPTION_TEXT_BYTES];
};

static const char *const transports[] = {"shm", "tcp", "verbs", "sim", NULL};

static const struct wh_option sample_options[] = {
	{
		.key = "window",
		.kind = WH_OPTION_INTEGER,
		.unit = "",
		.fallback = "100",
		.least = 1,
		.most = 32768,
		.meaning = "Messages in flight.",
		.offset = offsetof(struct sample, window),
		.sweep = true,
	},
	{
		.key = "bytes",
		.kind = WH_OPTION_INTEGER,
		.unit = "bytes",
		.fallback = "10k",
		.least = 0,
		.most = INT64_MAX,
		.meaning = "Bytes of a message.",
		.offset = offsetof(struct sample, bytes),
	},
	{
		.key = "offset",
		.kind = WH_OPTION_INTEGER,
		.unit = "ms",
		.fallback = "-5",
		.least = -10,
		.most = 10000,
		.meaning = "May be negative.",
		.offset = offsetof(struct sample, offset),
	},
	{
		.key = "any",
		.kind = WH_OPTION_INTEGER,
		.unit = "",
		.fallback = "0",
		.least = INT64_MIN,
		.most = INT64_MAX,
		.meaning = "All there are.",
		.offset = offsetof(struct sample, any),
	},
	{
		.key = "nulls",
		.kind = WH_OPTION_SWITCH,
		.unit = "",
		.fallback = "on",
		.meaning = "Nulls.",
		.offset = offsetof(struct sample, nulls),
	},
	{
		.key = "transport",
		.kind = WH_OPTION_CHOICE,
		.unit = "",
		.fallback = "tcp",
		.choices = transports,
		.meaning = "How.",
		.offset = offsetof(struct sample, transport),
	},
	{
		.key = "members",
		.kind = WH_OPTION_TEXT,
		.unit = "",
		.fallback = "all",
		.meaning = "Who.",
		.offset = offsetof(struct sample, members),
	},
};

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct wh_option_table sample_table = {
	.section = "sample",
	.meaning = "A sample.",
	.options = sample_options,
	.count = COUNT(sample_options),
	.bytes = sizeof(struct sample),
};

static const struct wh_option *option(const char *key)
{
	const struct wh_option *found = wh_option_find(&sample_table, key);

	ck_assert_ptr_nonnull(found);
	return found;
}

static int64_t parse_integer(const char *key, const char *text)
{
	struct wh_error err;
	struct sample out;
	int64_t number;

	memset(&out, 0x5a, sizeof(out));
	ck_assert_msg(wh_option_parse(option(key), text, &out, &err) == WHORL_OK, "%s = %s: %s", key, text, err.text);
	memcpy(&number, (const char *)&out + option(key)->offset, sizeof(number));
	return number;
}

/* The value is refused with this text, and nothing of the struct has changed. */
static void check_refused(const char *key, const char *text, const char *expected)
{
	struct sample out, before;
	struct wh_error err;

	memset(&out, 0x5a, sizeof(out));
	memcpy(&before, &out, sizeof(out)); /* padding too */
	ck_assert_int_eq(wh_option_parse(option(key), text, &out, &err), WHORL_CONFIG);
	ck_assert_int_eq(err.code, WHORL_CONFIG);
	ck_assert_str_eq(err.text, expected);
	ck_assert_mem_eq(&out, &before, sizeof(out));
	ck_assert_int_eq(wh_option_parse(option(key), text, &out, NULL), WHORL_CONFIG);
}

TEST_CASE("parse");

TEST(integers)
{
	ck_assert_int_eq(parse_integer("window", "1"), 1);
	ck_assert_int_eq(parse_integer("window", "32768"), 32768);
	ck_assert_int_eq(parse_integer("window", "0007"), 7);
	ck_assert_int_eq(parse_integer("offset", "-10"), -10);
	ck_assert_int_eq(parse_integer("offset", "-0"), 0);
	ck_assert_int_eq(parse_integer("any", "9223372036854775807"), INT64_MAX);
	ck_assert_int_eq(parse_integer("any", "-9223372036854775808"), INT64_MIN);
}

TEST(suffixes_count_in_1024_for_bytes_only)
{
	ck_assert_int_eq(parse_integer("bytes", "1k"), 1024);
	ck_assert_int_eq(parse_integer("bytes", "3K"), 3072);
	ck_assert_int_eq(parse_integer("bytes", "2m"), 2 * 1024 * 1024);
	ck_assert_int_eq(parse_integer("bytes", "2M"), 2 * 1024 * 1024);
	ck_assert_int_eq(parse_integer("bytes", "1g"), 1024 * 1024 * 1024);
	ck_assert_int_eq(parse_integer("bytes", "1G"), 1024 * 1024 * 1024);
	ck_assert_int_eq(parse_integer("window", "32k"), 32000);
	ck_assert_int_eq(parse_integer("offset", "10k"), 10000);
	ck_assert_int_eq(parse_integer("any", "-7m"), -7000000);
	ck_assert_int_eq(parse_integer("any", "9g"), INT64_C(9000000000));
	ck_assert_int_eq(parse_integer("bytes", "8589934591g"), INT64_C(8589934591) << 30);
}

TEST(integers_that_are_none)
{
	static const char *const texts[] = {"",   "abc", "1.5", "0x10", "1e3", "+1",      "--1",
					    "-",  "k",   "1kk", "1kb",  "1t",  "1 k",     " 1",
					    "1 ", "1,2", "1-",  "NULL", "1_0", "\xc2\xb2"};
	char expected[128];

	for (size_t i = 0; i < COUNT(texts); i++) {
		snprintf(expected, sizeof(expected), "is \"%s\", expected a number from 1 to 32768", texts[i]);
		check_refused("window", texts[i], expected);
	}
}

TEST(integers_out_of_range)
{
	static const char *const texts[] = {"0",
					    "-5",
					    "32769",
					    "33k",
					    "9223372036854775808",
					    "18446744073709551617", /* 1, if it wrapped */
					    "-18446744073709551615",
					    "99999999999999999999999999",
					    "36893488147419103233k"};
	char expected[128];

	for (size_t i = 0; i < COUNT(texts); i++) {
		snprintf(expected, sizeof(expected), "is \"%s\", expected a number from 1 to 32768", texts[i]);
		check_refused("window", texts[i], expected);
	}
	check_refused("any", "9223372036854775808",
		      "is \"9223372036854775808\", expected a number from -9223372036854775808 to 9223372036854775807");
	check_refused("any", "-9223372036854775809",
		      "is \"-9223372036854775809\", expected a number from -9223372036854775808 to 9223372036854775807");
	check_refused("bytes", "8589934592g", "is \"8589934592g\", expected a number from 0 to 9223372036854775807");
	check_refused("bytes", "17179869184g", /* 0, if it wrapped */
		      "is \"17179869184g\", expected a number from 0 to 9223372036854775807");
	check_refused("offset", "-11", "is \"-11\", expected a number from -10 to 10000");
}

TEST(switches)
{
	static const char *const refused[] = {"yes", "ON", "1", "true", "", "o", "onn", " on"};
	struct wh_error err;
	struct sample out = {.nulls = false};
	char expected[64];

	ck_assert_int_eq(wh_option_parse(option("nulls"), "on", &out, &err), WHORL_OK);
	ck_assert(out.nulls);
	ck_assert_int_eq(wh_option_parse(option("nulls"), "off", &out, &err), WHORL_OK);
	ck_assert(!out.nulls);
	for (size_t i = 0; i < COUNT(refused); i++) {
		snprintf(expected, sizeof(expected), "is \"%s\", expected on or off", refused[i]);
		check_refused("nulls", refused[i], expected);
	}
}

TEST(choices)
{
	struct wh_error err;
	struct sample out;

	for (int i = 0; transports[i] != NULL; i++) {
		ck_assert_int_eq(wh_option_parse(option("transport"), transports[i], &out, &err), WHORL_OK);
		ck_assert_int_eq(out.transport, i);
	}
	check_refused("transport", "shmem", "is \"shmem\", expected one of shm, tcp, verbs, sim");
	check_refused("transport", "sh", "is \"sh\", expected one of shm, tcp, verbs, sim");
	check_refused("transport", "SHM", "is \"SHM\", expected one of shm, tcp, verbs, sim");
	check_refused("transport", "", "is \"\", expected one of shm, tcp, verbs, sim");
}

TEST(texts)
{
	char longest[WH_OPTION_TEXT_BYTES + 1];
	struct wh_error err;
	struct sample out;

	memset(&out, 0x5a, sizeof(out));
	ck_assert_int_eq(wh_option_parse(option("members"), "0,1,2", &out, &err), WHORL_OK);
	ck_assert_str_eq(out.members, "0,1,2");
	for (size_t i = 5; i < sizeof(out.members); i++)
		ck_assert_int_eq(out.members[i], 0);
	ck_assert_int_eq(wh_option_parse(option("members"), "", &out, &err), WHORL_OK);
	ck_assert_str_eq(out.members, "");

	memset(longest, 'x', sizeof(longest));
	longest[WH_OPTION_TEXT_BYTES - 1] = '\0';
	ck_assert_int_eq(wh_option_parse(option("members"), longest, &out, &err), WHORL_OK);
	ck_assert_str_eq(out.members, longest);
	longest[WH_OPTION_TEXT_BYTES - 1] = 'x';
	longest[WH_OPTION_TEXT_BYTES] = '\0';
	check_refused("members", longest, "is 192 bytes long, expected at most 191");
}

TEST(long_mistakes_are_quoted_in_part)
{
	char text[300], expected[200];

	memset(text, '7', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	snprintf(expected, sizeof(expected), "is \"%.60s...\", expected a number from 1 to 32768", text);
	check_refused("window", text, expected);
}

static void check_expected(const char *key, const char *expected)
{
	char buf[128];

	ck_assert_ptr_eq(wh_option_expected(option(key), buf, sizeof(buf)), buf);
	ck_assert_str_eq(buf, expected);
}

TEST_CASE("table");

TEST(what_is_expected)
{
	char small[8];

	check_expected("window", "1 to 32768");
	check_expected("offset", "-10 to 10000");
	check_expected("nulls", "on | off");
	check_expected("transport", "one of shm, tcp, verbs, sim");
	check_expected("members", "text of at most 191 bytes");

	memset(small, 'x', sizeof(small));
	wh_option_expected(option("transport"), small, 5);
	ck_assert_mem_eq(small, "o...\0xxx", 8);
	wh_option_expected(option("transport"), small, 1);
	ck_assert_mem_eq(small, "\0...", 4);
	small[0] = 'y';
	wh_option_expected(option("transport"), small, 0);
	ck_assert_int_eq(small[0], 'y');
}

TEST(defaults)
{
	struct sample out, again;

	memset(&out, 0x5a, sizeof(out));
	memset(&again, 0xa5, sizeof(again));
	wh_option_defaults(&sample_table, &out);
	wh_option_defaults(&sample_table, &again);
	ck_assert_mem_eq(&out, &again, sizeof(out)); /* padding too */
	ck_assert_int_eq(out.window, 100);
	ck_assert_int_eq(out.bytes, 10240);
	ck_assert_int_eq(out.offset, -5);
	ck_assert_int_eq(out.any, 0);
	ck_assert(out.nulls);
	ck_assert_int_eq(out.transport, 1);
	ck_assert_str_eq(out.members, "all");
}

TEST(finding)
{
	ck_assert_ptr_eq(wh_option_find(&sample_table, "bytes"), &sample_options[1]);
	ck_assert_ptr_null(wh_option_find(&sample_table, "byte"));
	ck_assert_ptr_null(wh_option_find(&sample_table, ""));
	ck_assert_ptr_null(wh_option_find(&sample_table, "Bytes"));
}

/* ---- the check of tables --------------------------------------------------------------------------------------------*/

static struct wh_option broken[2];

static const struct wh_option_table broken_table = {
	.section = "sample",
	.meaning = "A broken one.",
	.options = broken,
	.count = 2,
	.bytes = sizeof(struct sample),
};

static void check_broken(const char *expected)
{
	struct wh_error err;

	ck_assert_int_ne(wh_option_table_check(&broken_table, &err), WHORL_OK);
	ck_assert_str_eq(err.text, expected);
	ck_assert_int_ne(wh_option_table_check(&broken_table, NULL), WHORL_OK);
	broken[0] = *option("window");
	broken[1] = *option("transport");
}

TEST(tables_are_checked)
{
	struct wh_error err;

	ck_assert_int_eq(wh_option_table_check(&sample_table, &err), WHORL_OK);
	broken[0] = *option("window");
	broken[1] = *option("transport");
	ck_assert_int_eq(wh_option_table_check(&broken_table, &err), WHORL_OK);

	broken[0].fallback = "0";
	check_broken("sample.window: is \"0\", expected a number from 1 to 32768");
	broken[0].unit = NULL;
	check_broken("sample.window: unit, fallback or meaning is missing");
	broken[1] = broken[0];
	check_broken("sample.window: the key is there twice");
	broken[1].offset = sizeof(struct sample) - sizeof(int) + 1;
	check_broken("sample.transport: the value lies outside of the struct");
	broken[1].offset = SIZE_MAX;
	check_broken("sample.transport: the value lies outside of the struct");
	broken[1].choices = NULL;
	check_broken("sample.transport: there is nothing to choose from");
	broken[1] = *option("members");
	broken[1].sweep = true;
	check_broken("sample.members: a text cannot be a list: its commas are its own");
}

TEST_SUITE("option")
