/* test_conf.c - the loader of ini files: what is good, what each mistake says, --set, variants. */
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "conf/conf.h"
#include "tests/harness.h"
#include "tests/sanitizer.h"
#include "tests/temporary.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

struct group {
	char name[WH_OPTION_TEXT_BYTES];
	int64_t nodes, timeout_ms;
	bool nulls;
};

struct subgroup {
	char members[WH_OPTION_TEXT_BYTES];
	int64_t window, bytes;
	int mode;
};

static const char *const modes[] = {"unordered", "ordered", NULL};

static const struct wh_option group_options[] = {
	{"name", WH_OPTION_TEXT, "", "demo", 0, 0, NULL, "Its name.", offsetof(struct group, name), false},
	{"nodes", WH_OPTION_INTEGER, "", "4", 1, 64, NULL, "How many.", offsetof(struct group, nodes), true},
	{"timeout_ms", WH_OPTION_INTEGER, "ms", "1000", 1, 60000, NULL, "T.", offsetof(struct group, timeout_ms), false},
	{"null_sends", WH_OPTION_SWITCH, "", "on", 0, 0, NULL, "Nulls.", offsetof(struct group, nulls), true},
};

static const struct wh_option subgroup_options[] = {
	{"members", WH_OPTION_TEXT, "", "all", 0, 0, NULL, "Who.", offsetof(struct subgroup, members), false},
	{"window", WH_OPTION_INTEGER, "", "100", 1, 32768, NULL, "W.", offsetof(struct subgroup, window), true},
	{"bytes", WH_OPTION_INTEGER, "bytes", "10k", 1, 1 << 20, NULL, "B.", offsetof(struct subgroup, bytes), true},
	{"mode", WH_OPTION_CHOICE, "", "ordered", 0, 0, modes, "How.", offsetof(struct subgroup, mode), true},
};

static const struct wh_option_table group_table = {
	"group", WH_OPTION_UNNAMED, "The group.", group_options, COUNT(group_options), sizeof(struct group),
};

static const struct wh_option_table subgroup_table = {
	"subgroup", WH_OPTION_NAMED, "A subgroup.", subgroup_options, COUNT(subgroup_options), sizeof(struct subgroup),
};

static const struct wh_option_table *const tables[] = {&group_table, &subgroup_table};

static struct wh_conf *new_conf(void)
{
	struct wh_conf *conf = wh_conf_new(tables, COUNT(tables));

	ck_assert_ptr_nonnull(conf);
	return conf;
}

/* A conf of a text without mistakes. */
static struct wh_conf *good_conf(const char *text)
{
	struct wh_conf *conf = new_conf();

	ck_assert_msg(wh_conf_load_text(conf, "a.ini", text) == WHORL_OK, "%s", wh_conf_mistakes(conf));
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_str_eq(wh_conf_mistakes(conf), "");
	return conf;
}

static struct group bound_group(const struct wh_conf *conf, size_t variant)
{
	struct group out;

	wh_conf_bind(conf, variant, &group_table, NULL, &out);
	return out;
}

static struct subgroup bound_subgroup(const struct wh_conf *conf, size_t variant, const char *name)
{
	struct subgroup out;

	wh_conf_bind(conf, variant, &subgroup_table, name, &out);
	return out;
}

/* The bytes make exactly these mistakes. */
static void check_mistakes(const char *text, const char *expected)
{
	struct wh_conf *conf = new_conf();

	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", text), WHORL_CONFIG);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_CONFIG);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_CONFIG);
	ck_assert_str_eq(wh_conf_mistakes(conf), expected);
	wh_conf_free(conf);
}

static void check_set_mistake(const char *assignment, const char *expected)
{
	struct wh_conf *conf = new_conf();

	ck_assert_int_eq(wh_conf_set(conf, assignment), WHORL_CONFIG);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_CONFIG);
	ck_assert_str_eq(wh_conf_mistakes(conf), expected);
	wh_conf_free(conf);
}

/* ---- good files -----------------------------------------------------------------------------------------------------*/

START_TEST(tables_of_this_test)
{
	struct wh_error err;

	for (size_t i = 0; i < COUNT(tables); i++)
		ck_assert_msg(wh_option_table_check(tables[i], &err) == WHORL_OK, "%s", err.text);
}
END_TEST

START_TEST(nothing_at_all_is_defaults)
{
	struct wh_conf *conf = new_conf();
	struct group group;

	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	group = bound_group(conf, 0);
	ck_assert_str_eq(group.name, "demo");
	ck_assert_int_eq(group.nodes, 4);
	ck_assert_int_eq(group.timeout_ms, 1000);
	ck_assert(group.nulls);
	ck_assert_uint_eq(wh_conf_variants(conf), 1);
	ck_assert(!wh_conf_has(conf, "group", NULL));
	ck_assert_ptr_null(wh_conf_instance(conf, "subgroup", 0));
	wh_conf_free(conf);
	wh_conf_free(good_conf(""));
	wh_conf_free(good_conf("\n"));
	wh_conf_free(good_conf("\xef\xbb\xbf"));
	wh_conf_free(NULL);
}
END_TEST

START_TEST(a_whole_file)
{
	struct wh_conf *conf = good_conf("; a comment\n"
					 "# another one\n"
					 "\n"
					 "[group]          ; of nodes\n"
					 "name = first light ; two words\n"
					 "nodes=2\n"
					 "null_sends\t=\toff\t; behind a tab\n"
					 "[subgroup orders] # as many as wanted\n"
					 "members = 0,1,2\n"
					 "window = 1k\n"
					 "bytes = 1k\n"
					 "[ subgroup   trade.log-2 ]\n"
					 "mode = unordered");
	struct group group = bound_group(conf, 0);
	struct subgroup orders = bound_subgroup(conf, 0, "orders"), trades = bound_subgroup(conf, 0, "trade.log-2");

	ck_assert_str_eq(group.name, "first light");
	ck_assert_int_eq(group.nodes, 2);
	ck_assert_int_eq(group.timeout_ms, 1000);
	ck_assert(!group.nulls);
	ck_assert_str_eq(orders.members, "0,1,2");
	ck_assert_int_eq(orders.window, 1000);
	ck_assert_int_eq(orders.bytes, 1024);
	ck_assert_int_eq(orders.mode, 1);
	ck_assert_str_eq(trades.members, "all");
	ck_assert_int_eq(trades.mode, 0);
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 0), "orders");
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 1), "trade.log-2");
	ck_assert_ptr_null(wh_conf_instance(conf, "subgroup", 2));
	ck_assert_ptr_null(wh_conf_instance(conf, "group", 0));
	ck_assert(wh_conf_has(conf, "group", NULL));
	ck_assert(wh_conf_has(conf, "subgroup", "orders"));
	ck_assert(!wh_conf_has(conf, "subgroup", "order"));
	ck_assert(!wh_conf_has(conf, "subgroup", NULL));
	wh_conf_free(conf);
}
END_TEST

START_TEST(line_ends_and_byte_order_mark)
{
	struct wh_conf *conf = good_conf("\xef\xbb\xbf[group]\r\nnodes = 7\r\n\r\n; c\r\nname = x y\r\n\t \r\n");

	ck_assert_int_eq(bound_group(conf, 0).nodes, 7);
	ck_assert_str_eq(bound_group(conf, 0).name, "x y");
	wh_conf_free(conf);
}
END_TEST

/* inih reports sections only with their first key. */
START_TEST(empty_sections_exist)
{
	struct wh_conf *conf = good_conf("[subgroup a]\n[subgroup b]\n[group]\n[subgroup c]");

	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 0), "a");
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 1), "b");
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 2), "c");
	ck_assert(wh_conf_has(conf, "group", NULL));
	ck_assert_int_eq(bound_subgroup(conf, 0, "b").window, 100);
	wh_conf_free(conf);
}
END_TEST

/* inih takes an indented line for more of the value before. */
START_TEST(indented_lines_are_lines)
{
	struct wh_conf *conf = good_conf("  [group]\n  name = x\n    nodes = 2\n\tnull_sends = off\n\t; c\n   # c\n");

	ck_assert_str_eq(bound_group(conf, 0).name, "x");
	ck_assert_int_eq(bound_group(conf, 0).nodes, 2);
	ck_assert(!bound_group(conf, 0).nulls);
	wh_conf_free(conf);
	check_mistakes("[group]\nname = x\n    y\n", "a.ini:3: group: \"y\" is not understood, expected key = value");
}
END_TEST

/* inih cuts the name of a section at 49 bytes. */
START_TEST(names_may_be_63_bytes_long)
{
	static const char name[] = "abcdefghijklmnopqrstuvwxyz.0123456789-ABCDEFGHIJKLMNOPQRSTUVWXY";
	char text[256];
	struct wh_conf *conf;

	ck_assert_uint_eq(strlen(name), 63);
	snprintf(text, sizeof(text), "[subgroup %s]\nwindow = 3\n", name);
	conf = good_conf(text);
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 0), name);
	ck_assert_int_eq(bound_subgroup(conf, 0, name).window, 3);
	wh_conf_free(conf);
	snprintf(text, sizeof(text), "[subgroup %sx]\nwindow = 3\n", name);
	check_mistakes(text, "a.ini:1: \"[subgroup abcdefghijklmnopqrstuvwxyz.0123456789-ABCDEFGHIJKL...\" is not "
			     "understood, expected [SECTION] or [SECTION NAME]");
}
END_TEST

/* A ';' begins a comment behind a blank only; there is no other way to hide one, and '#' does not. */
START_TEST(inline_comments)
{
	struct wh_conf *conf =
		good_conf("[group]\nname = a;b ;c\n[subgroup x]\nmembers = ; none\n[subgroup y]\nmembers =\n"
			  "[subgroup z]\nmembers = a#b # c = d : e \"f\"\n");

	ck_assert_str_eq(bound_group(conf, 0).name, "a;b");
	ck_assert_str_eq(bound_subgroup(conf, 0, "x").members, "");
	ck_assert_str_eq(bound_subgroup(conf, 0, "y").members, "");
	ck_assert_str_eq(bound_subgroup(conf, 0, "z").members, "a#b # c = d : e \"f\"");
	wh_conf_free(conf);
}
END_TEST

START_TEST(utf8_is_text)
{
	struct wh_conf *conf = good_conf("; gr\xc3\xbc\xc3\x9f"
					 "e \xe2\x82\xac \xf0\x9f\x8c\x80\n[group]\nname = \xc3\xa4\n");

	ck_assert_str_eq(bound_group(conf, 0).name, "\xc3\xa4");
	wh_conf_free(conf);
}
END_TEST

/* inih splits a line of 200 bytes; ours are refused before, and comments may be of any length. */
START_TEST(lines_as_long_as_inih_takes)
{
	char text[1000], value[200], expected[100];
	struct wh_conf *conf;

	memset(value, 'x', sizeof(value));
	value[191] = '\0'; /* the longest text */
	snprintf(text, sizeof(text), "[group]\n        name = %s        \nnodes = 2\n", value);
	conf = good_conf(text);
	ck_assert_str_eq(bound_group(conf, 0).name, value);
	ck_assert_int_eq(bound_group(conf, 0).nodes, 2);
	wh_conf_free(conf);

	memset(value, 'x', sizeof(value));
	value[190] = '\0';
	snprintf(text, sizeof(text), "[group]\nname = %s ;\n", value); /* 199 bytes */
	snprintf(expected, sizeof(expected), "a.ini:2: group: the line is 199 bytes long, expected at most 198");
	check_mistakes(text, expected);
}
END_TEST

START_TEST(lines_of_300_bytes)
{
	char longer[301], text[1000];
	struct wh_conf *conf;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	memcpy(longer, "nodes=", 6);
	memcpy(longer + 220, " nodes=3 ", 9); /* where inih would begin again */
	snprintf(text, sizeof(text), "[group]\n%s\nnodes = 0\n", longer);
	check_mistakes(text, "a.ini:2: group: the line is 300 bytes long, expected at most 198\n"
			     "a.ini:3: group.nodes: is \"0\", expected a number from 1 to 64");

	longer[0] = ';';
	snprintf(text, sizeof(text), "[group]\n%s\n[group] ;%s\n", longer, longer);
	check_mistakes(text, "a.ini:3: group: is given twice, first at a.ini:1");
	snprintf(text, sizeof(text), "%s\n[group] ;%s\n", longer, longer);
	conf = good_conf(text);
	ck_assert(wh_conf_has(conf, "group", NULL));
	wh_conf_free(conf);
}
END_TEST

START_TEST(ignored_sections_are_not_looked_into)
{
	struct wh_conf *conf = new_conf();
	char longer[301];
	char text[1000];
	size_t at = 0;

	memset(longer, 'x', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = '\0';
	snprintf(text, sizeof(text),
		 "[bench]\nwhat = ever\nwhat\nnodes\x01\xff\n%s\n[bench]\n[bench x]\n[group]\nnodes = 3\n", longer);
	wh_conf_ignore(conf, "bench");
	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", text), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "bench.what = ever"), WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_int_eq(bound_group(conf, 0).nodes, 3);
	ck_assert(!wh_conf_has(conf, "bench", NULL));
	ck_assert(wh_conf_passed_over(conf, "bench"));
	ck_assert(!wh_conf_passed_over(conf, "group"));
	ck_assert_str_eq(wh_conf_passed_name(conf, "bench", &at), "");
	ck_assert_str_eq(wh_conf_passed_name(conf, "bench", &at), "");
	ck_assert_str_eq(wh_conf_passed_name(conf, "bench", &at), "x");
	ck_assert_ptr_null(wh_conf_passed_name(conf, "bench", &at));
	wh_conf_mistake(conf, "bench", "x", NULL, "is wrong");
	ck_assert_str_eq(wh_conf_mistakes(conf), "a.ini:7: bench x: is wrong");
	wh_conf_free(conf);
	conf = new_conf();
	wh_conf_ignore(conf, "bench");
	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", "[group]\n"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "bench.what = ever"), WHORL_OK);
	ck_assert(!wh_conf_passed_over(conf, "bench"));
	wh_conf_free(conf);
}
END_TEST

START_TEST(others_are_not_looked_into)
{
	struct wh_conf *conf = new_conf();

	wh_conf_ignore_others(conf);
	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", "[mine x]\nwhat\n[group]\nnodes = 3\n"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "mine.what = ever"), WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_int_eq(bound_group(conf, 0).nodes, 3);
	ck_assert(wh_conf_passed_over(conf, "mine"));
	ck_assert_int_eq(wh_conf_load_text(conf, "b.ini", "[group]\nwhat = ever\n"), WHORL_CONFIG); /* a table's are */
	wh_conf_free(conf);
}
END_TEST

START_TEST(two_files_add_up)
{
	struct wh_conf *conf = new_conf();

	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", "[group]\nnodes = 2\n"), WHORL_OK);
	ck_assert_int_eq(wh_conf_load_text(conf, "b.ini", "[subgroup x]\nwindow = 7\n"), WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_int_eq(bound_group(conf, 0).nodes, 2);
	ck_assert_int_eq(bound_subgroup(conf, 0, "x").window, 7);
	ck_assert_int_eq(wh_conf_load_text(conf, "c.ini", "\n[group]\nnodes = 2\n"), WHORL_CONFIG);
	ck_assert_str_eq(wh_conf_mistakes(conf), "c.ini:2: group: is given twice, first at a.ini:1\n"
						 "c.ini:3: group.nodes: is given twice, first at a.ini:2");
	wh_conf_free(conf);
}
END_TEST

/* ---- mistakes -------------------------------------------------------------------------------------------------------*/

START_TEST(five_mistakes_give_five_messages)
{
	check_mistakes("[group]\n"
		       "nodes = many\n"
		       "timout_ms = 5\n"
		       "nonsense\n"
		       "null_sends = yes\n"
		       "\n"
		       "[subgrup orders]\n"
		       "window = 5\n",
		       "a.ini:2: group.nodes: is \"many\", expected a number from 1 to 64\n"
		       "a.ini:3: group.timout_ms: unknown key, did you mean timeout_ms?\n"
		       "a.ini:4: group: \"nonsense\" is not understood, expected key = value\n"
		       "a.ini:5: group.null_sends: is \"yes\", expected on or off\n"
		       "a.ini:7: subgrup orders: unknown section, did you mean subgroup?");
}
END_TEST

START_TEST(unknown_sections)
{
	check_mistakes("[grup]\nnodes = 0\n", "a.ini:1: grup: unknown section, did you mean group?");
	check_mistakes("[gruop]", "a.ini:1: gruop: unknown section, did you mean group?");
	check_mistakes("[Group]", "a.ini:1: Group: unknown section, did you mean group?");
	check_mistakes("[engine]\nnonsense\n",
		       "a.ini:1: engine: unknown section, expected one of group, subgroup NAME");
	check_mistakes("[g]\n", "a.ini:1: g: unknown section, expected one of group, subgroup NAME");
}
END_TEST

START_TEST(unknown_keys)
{
	check_mistakes("[group]\nnodse = 2\n", "a.ini:2: group.nodse: unknown key, did you mean nodes?");
	check_mistakes("[group]\nnode = 2\n", "a.ini:2: group.node: unknown key, did you mean nodes?");
	check_mistakes("[group]\nNodes = 2\n", "a.ini:2: group.Nodes: unknown key, did you mean nodes?");
	check_mistakes("[group]\nnull-sends = on\n",
		       "a.ini:2: group.null-sends: unknown key, did you mean null_sends?");
	check_mistakes("[group]\nnull_sned = on\n", "a.ini:2: group.null_sned: unknown key, did you mean null_sends?");
	check_mistakes("[group]\nthreads = 2\n",
		       "a.ini:2: group.threads: unknown key, expected one of name, nodes, timeout_ms, null_sends");
	check_mistakes("[group]\nwindow = 2\n", "a.ini:2: group.window: unknown key here, expected in [subgroup NAME]");
	check_mistakes("[subgroup orders]\nnodes = 2\n",
		       "a.ini:2: subgroup orders.nodes: unknown key here, expected in [group]");
}
END_TEST

START_TEST(given_twice)
{
	check_mistakes("[group]\nnodes = 2\n\nnodes = x\n", "a.ini:4: group.nodes: is given twice, first at a.ini:2");
	check_mistakes("[group]\nnodes = 2\n[group]\nnodes = 3\nname = x\n",
		       "a.ini:3: group: is given twice, first at a.ini:1\n"
		       "a.ini:4: group.nodes: is given twice, first at a.ini:2");
	check_mistakes("[subgroup a]\n[subgroup b]\n[subgroup a]\n",
		       "a.ini:3: subgroup a: is given twice, first at a.ini:1");
}
END_TEST

START_TEST(malformed_headers)
{
	static const char *const headers[] = {
		"[group",         "[]",       "[ ]",        "[group] x",           "[group]]", "[subgroup a b]",
		"[subgroup a/b]", "[gro[up]", "[group]x=1", "[subgroup \xc3\xa4]", "[a.b c]",
	};
	char text[128], expected[256];

	for (size_t i = 0; i < COUNT(headers); i++) {
		/* What stands behind it is not taken for a part of the section before. */
		snprintf(text, sizeof(text), "[group]\n%s\nnodes = 0\nnonsense\n", headers[i]);
		snprintf(expected, sizeof(expected),
			 "a.ini:2: \"%s\" is not understood, expected [SECTION] or [SECTION NAME]", headers[i]);
		check_mistakes(text, expected);
	}
	check_mistakes("[group x]\nnodes = 0\n", "a.ini:1: group x: takes no name, expected [group]");
	check_mistakes("[subgroup]\nwindow = 0\n", "a.ini:1: subgroup: needs a name, expected [subgroup NAME]");
}
END_TEST

/* [group] and [group NAME] are two sections, whichever table comes first. */
START_TEST(a_word_with_and_without_names)
{
	static const struct wh_option_table named = {
		"group", WH_OPTION_NAMED, "Of one.", subgroup_options, COUNT(subgroup_options), sizeof(struct subgroup),
	};
	const struct wh_option_table *const both[] = {_i == 0 ? &group_table : &named, _i == 0 ? &named : &group_table};
	struct wh_conf *conf = wh_conf_new(both, COUNT(both));
	struct subgroup bound;

	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", "[group]\nnodes = 2\n[group x]\nwindow = 3, 4\n"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "group y.window=5"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "group.timeout_ms=7"), WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_int_eq(bound_group(conf, 0).nodes, 2);
	ck_assert_int_eq(bound_group(conf, 0).timeout_ms, 7);
	wh_conf_bind(conf, 1, &named, "x", &bound);
	ck_assert_int_eq(bound.window, 4);
	wh_conf_bind(conf, 1, &named, "z", &bound); /* there is none: defaults */
	ck_assert_int_eq(bound.window, 100);
	ck_assert_str_eq(wh_conf_instance(conf, "group", 0), "x");
	ck_assert_str_eq(wh_conf_instance(conf, "group", 1), "y");
	ck_assert_ptr_null(wh_conf_instance(conf, "group", 2));
	ck_assert(wh_conf_may_vary(conf, "nodes") && wh_conf_may_vary(conf, "window"));
	ck_assert(wh_conf_may_vary(conf, "group.nodes") && wh_conf_may_vary(conf, "group x.window"));
	ck_assert(!wh_conf_may_vary(conf, "group.window") && !wh_conf_may_vary(conf, "group x.nodes"));
	ck_assert(!wh_conf_may_vary(conf, "group.timeout_ms") && !wh_conf_may_vary(conf, "other.nodes"));
	ck_assert(!wh_conf_may_vary(conf, ".nodes") && !wh_conf_may_vary(conf, "group x y.nodes"));
	ck_assert_int_eq(wh_conf_set(conf, "group x.nodes=2"), WHORL_CONFIG);
	ck_assert_str_eq(wh_conf_mistakes(conf), "--set: group x.nodes: unknown key here, expected in [group]");
	wh_conf_free(conf);
}
END_TEST

START_TEST(malformed_lines)
{
	static const char *const lines[] = {
		"nodes",         "nodes 2",     "nodes: 2",         "= 2",           "nodes ; = 2", "no des = 2", ":",
		"\"nodes\" = 2", "nodes:x = 2", "n\303\266des = 2", "group.nodes=2", "]",           "&"};
	char text[128], expected[256];

	for (size_t i = 0; i < COUNT(lines); i++) {
		snprintf(text, sizeof(text), "[group]\n%s\n", lines[i]);
		snprintf(expected, sizeof(expected), "a.ini:2: group: \"%s\" is not understood, expected key = value",
			 lines[i]);
		check_mistakes(text, expected);
	}
	check_mistakes("\nnodes = 2\nnonsense\n[group]\n",
		       "a.ini:2: nodes: stands before any section, expected [SECTION] above it\n"
		       "a.ini:3: \"nonsense\" is not understood, expected key = value");
	check_mistakes("[subgroup a]\nnonsense\n",
		       "a.ini:2: subgroup a: \"nonsense\" is not understood, expected key = value");
}
END_TEST

START_TEST(bytes_that_are_no_text)
{
	static const struct {
		const char *bytes, *what;
	} cases[] = {
		{"\x01", "the control character 0x01"},
		{"a\x1b[31mb", "the control character 0x1b"},
		{"a\rb", "the control character 0x0d"},
		{"a\x7f", "the control character 0x7f"},
		{"a\xc2\x9b", "the control character 0x9b"},
		{"a\xff", "the byte 0xff, which is not UTF-8"},
		{"a\x80", "the byte 0x80, which is not UTF-8"},
		{"\xc3", "the byte 0xc3, which is not UTF-8"},
		{"\xc3x", "the byte 0xc3, which is not UTF-8"},
		{"\xc0\xaf", "the byte 0xc0, which is not UTF-8"},         /* overlong */
		{"\xe0\x80\xaf", "the byte 0xe0, which is not UTF-8"},     /* overlong */
		{"\xf0\x80\x80\xaf", "the byte 0xf0, which is not UTF-8"}, /* overlong */
		{"\xed\xa0\x80", "the byte 0xed, which is not UTF-8"},     /* a surrogate */
		{"\xf4\x90\x80\x80", "the byte 0xf4, which is not UTF-8"}, /* too large */
		{"\xe2\x82", "the byte 0xe2, which is not UTF-8"},
		{"\xf8\x88\x80\x80\x80", "the byte 0xf8, which is not UTF-8"},
	};
	char text[128], expected[256];

	for (size_t i = 0; i < COUNT(cases); i++) {
		snprintf(text, sizeof(text), "[group]\nname = %s\nnodes = 2\n", cases[i].bytes);
		snprintf(expected, sizeof(expected), "a.ini:2: group: the line has %s, expected text in UTF-8",
			 cases[i].what);
		check_mistakes(text, expected);
		snprintf(text, sizeof(text), "[group]\n; %s\n", cases[i].bytes);
		check_mistakes(text, expected);
		snprintf(text, sizeof(text), "[subgroup a]\n[group] ; %s\nnodes = 0\n", cases[i].bytes);
		snprintf(expected, sizeof(expected), "a.ini:2: the line has %s, expected text in UTF-8", cases[i].what);
		check_mistakes(text, expected);
	}
}
END_TEST

START_TEST(bad_values_in_lists)
{
	check_mistakes("[group]\nnodes = 2, x, 3, 65, , 4\n",
		       "a.ini:2: group.nodes: is \"x\", expected a number from 1 to 64\n"
		       "a.ini:2: group.nodes: is \"65\", expected a number from 1 to 64\n"
		       "a.ini:2: group.nodes: is \"\", expected a number from 1 to 64");
	check_mistakes("[group]\nnodes = 2,\n", "a.ini:2: group.nodes: is \"\", expected a number from 1 to 64");
	check_mistakes("[group]\nnodes =\n", "a.ini:2: group.nodes: is \"\", expected a number from 1 to 64");
	check_mistakes("[group]\ntimeout_ms = 10, 20\n",
		       "a.ini:2: group.timeout_ms: is the list \"10, 20\", expected a single value");
	check_mistakes("[subgroup a]\nmode = ordered, durable\n",
		       "a.ini:2: subgroup a.mode: is \"durable\", expected one of unordered, ordered");
	check_mistakes("[subgroup a]\nwindow = -1\n",
		       "a.ini:2: subgroup a.window: is \"-1\", expected a number from 1 to 32768");
}
END_TEST

START_TEST(mistakes_come_in_the_order_of_the_files)
{
	struct wh_conf *conf = new_conf();

	ck_assert_int_eq(wh_conf_set(conf, "group.nodes=x"), WHORL_CONFIG);
	ck_assert_int_eq(wh_conf_load_text(conf, "z.ini", "[group]\ntimeout_ms = 10\nnodes = 2\n[subgroup a]\n"),
			 WHORL_CONFIG); /* the one before counts */
	ck_assert_int_eq(wh_conf_load_text(conf, "b.ini", "nonsense\n"), WHORL_CONFIG);
	wh_conf_mistake(conf, "subgroup", "a", "members", "name node %d, expected at most %d", 5, 3);
	wh_conf_mistake(conf, "group", NULL, "timeout_ms", "is too short");
	wh_conf_mistake(conf, "group", NULL, "nodes", "are too few");
	wh_conf_mistake(conf, "subgroup", NULL, NULL, "is missing, expected at least one");
	wh_conf_mistake(conf, "subgroup", "b", NULL, "is missing");
	wh_conf_mistake(conf, "group", NULL, "timeout_ms", "is too long");
	wh_conf_mistake(conf, NULL, NULL, NULL, "all is wrong");
	ck_assert_int_eq(wh_conf_check(conf), WHORL_CONFIG);
	ck_assert_str_eq(wh_conf_mistakes(conf), "z.ini:2: group.timeout_ms: is too short\n"
						 "z.ini:2: group.timeout_ms: is too long\n"
						 "z.ini:4: subgroup a.members: name node 5, expected at most 3\n"
						 "b.ini: subgroup: is missing, expected at least one\n"
						 "b.ini: subgroup b: is missing\n"
						 "b.ini: all is wrong\n"
						 "b.ini:1: \"nonsense\" is not understood, expected key = value\n"
						 "--set: group.nodes: is \"x\", expected a number from 1 to 64\n"
						 "--set: group.nodes: are too few");
	wh_conf_free(conf);
}
END_TEST

START_TEST(mistakes_without_any_file)
{
	struct wh_conf *conf = new_conf();

	wh_conf_mistake(conf, "group", NULL, "nodes", "are too few");
	ck_assert_int_eq(wh_conf_check(conf), WHORL_CONFIG);
	ck_assert_str_eq(wh_conf_mistakes(conf), "configuration: group.nodes: are too few");
	wh_conf_free(conf);
}
END_TEST

START_TEST(mistakes_beyond_a_thousand_are_not_shown)
{
	struct wh_conf *conf = new_conf();
	char *text = malloc(3000 * 2 + 1);
	const char *mistakes, *line;
	size_t lines = 1;

	ck_assert_ptr_nonnull(text);
	for (size_t i = 0; i < 3000; i++)
		memcpy(text + 2 * i, "x\n", 3);
	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", text), WHORL_CONFIG);
	ck_assert_int_eq(wh_conf_set(conf, "x"), WHORL_CONFIG);
	free(text);
	mistakes = wh_conf_mistakes(conf);
	for (line = strchr(mistakes, '\n'); line != NULL; line = strchr(line + 1, '\n'))
		lines++;
	ck_assert_uint_eq(lines, 1001);
	ck_assert_str_eq(strrchr(mistakes, '\n') + 1,
			 "a.ini:1001: there are more mistakes than these, which are not shown");
	wh_conf_free(conf);
}
END_TEST

START_TEST(sections_beyond_4096_are_refused)
{
	struct wh_conf *conf = new_conf();
	char *text = malloc(5000 * 20);
	size_t used = 0;

	ck_assert_ptr_nonnull(text);
	for (int i = 0; i < 4097; i++)
		used += (size_t)sprintf(text + used, "[subgroup %d]\n", i);
	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", text), WHORL_CONFIG);
	ck_assert_str_eq(wh_conf_mistakes(conf),
			 "a.ini:4097: subgroup: there are more sections than can be, expected at most 4096");
	free(text);
	wh_conf_free(conf);
}
END_TEST

/* ---- files ----------------------------------------------------------------------------------------------------------*/

static void check_unreadable(const char *path, const char *why)
{
	struct wh_conf *conf = new_conf();
	char expected[512];

	ck_assert_int_eq(wh_conf_load_file(conf, path), WHORL_CONFIG);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_CONFIG);
	snprintf(expected, sizeof(expected), "%s: cannot be read: %s", path, why);
	ck_assert_str_eq(wh_conf_mistakes(conf), expected);
	wh_conf_free(conf);
}

/* A file in a directory of its own. */
struct scratch {
	char directory[TEST_PATH_BYTES], path[TEST_PATH_BYTES + 8];
};

static struct scratch new_scratch(void)
{
	struct scratch scratch;

	ck_assert_ptr_nonnull(mkdtemp(test_temporary(scratch.directory, "test_conf")));
	snprintf(scratch.path, sizeof(scratch.path), "%s/a.ini", scratch.directory);
	return scratch;
}

static void write_scratch(const struct scratch *scratch, const char *bytes, size_t count)
{
	FILE *file = fopen(scratch->path, "w");

	ck_assert_ptr_nonnull(file);
	ck_assert_uint_eq(fwrite(bytes, 1, count, file), count);
	ck_assert_int_eq(fclose(file), 0);
}

static void remove_scratch(const struct scratch *scratch)
{
	unlink(scratch->path);
	rmdir(scratch->directory);
}

START_TEST(files_that_cannot_be_read)
{
	struct scratch scratch = new_scratch();

	check_unreadable(scratch.path, "No such file or directory");
	check_unreadable(scratch.directory, "Is a directory");
	check_unreadable("", "No such file or directory");
	remove_scratch(&scratch);
}
END_TEST

START_TEST(files_of_up_to_a_megabyte)
{
	static char bytes[1024 * 1024 + 1];
	struct scratch scratch = new_scratch();
	struct wh_conf *conf = new_conf();

	memset(bytes, '\n', sizeof(bytes));
	memcpy(bytes + sizeof(bytes) - 18, "[group]\nnodes = 9", 17);
	write_scratch(&scratch, bytes, sizeof(bytes) - 1);
	ck_assert_int_eq(wh_conf_load_file(conf, scratch.path), WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_int_eq(bound_group(conf, 0).nodes, 9);
	wh_conf_free(conf);

	write_scratch(&scratch, bytes, sizeof(bytes));
	check_unreadable(scratch.path, "it is longer than 1048576 bytes");
	remove_scratch(&scratch);
}
END_TEST

START_TEST(nul_bytes_in_a_file)
{
	static const char bytes[] = "[group]\nname = a\0b\nnodes = 3\n[gr\0oup]\nx\n\0\n";
	struct scratch scratch = new_scratch();
	struct wh_conf *conf = new_conf();
	char expected[512];

	write_scratch(&scratch, bytes, sizeof(bytes) - 1);
	ck_assert_int_eq(wh_conf_load_file(conf, scratch.path), WHORL_CONFIG);
	snprintf(expected, sizeof(expected),
		 "%s:2: group: the line has the control character 0x00, expected text in UTF-8\n"
		 "%s:4: the line has the control character 0x00, expected text in UTF-8",
		 scratch.path, scratch.path);
	ck_assert_str_eq(wh_conf_mistakes(conf), expected);
	wh_conf_free(conf);
	remove_scratch(&scratch);
}
END_TEST

START_TEST(pipes_are_read_to_their_end)
{
	struct wh_conf *conf = new_conf();
	char path[64];
	int ends[2];

	ck_assert_int_eq(pipe2(ends, O_CLOEXEC), 0);
	ck_assert_int_eq(write(ends[1], "[group]\nnodes = 9", 17), 17);
	close(ends[1]);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", ends[0]);
	ck_assert_int_eq(wh_conf_load_file(conf, path), WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_int_eq(bound_group(conf, 0).nodes, 9);
	wh_conf_free(conf);
	close(ends[0]);
}
END_TEST

/* ---- --set ----------------------------------------------------------------------------------------------------------*/

START_TEST(set_wins_before_and_after)
{
	struct wh_conf *conf = new_conf();

	ck_assert_int_eq(wh_conf_set(conf, "group.nodes=5"), WHORL_OK);
	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", "[group]\nnodes = 2\ntimeout_ms = 3\nnull_sends = on\n"),
			 WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "group.timeout_ms=7"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, " group . name = a = b;c ; d "), WHORL_OK); /* no comments here */
	ck_assert_int_eq(wh_conf_set(conf, "group.null_sends=on"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "group.null_sends=off"), WHORL_OK); /* the last one */
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_int_eq(bound_group(conf, 0).nodes, 5);
	ck_assert_int_eq(bound_group(conf, 0).timeout_ms, 7);
	ck_assert_str_eq(bound_group(conf, 0).name, "a = b;c ; d");
	ck_assert(!bound_group(conf, 0).nulls);
	wh_conf_free(conf);
}
END_TEST

START_TEST(set_makes_named_sections_behind_those_of_files)
{
	struct wh_conf *conf = new_conf();

	ck_assert_int_eq(wh_conf_set(conf, "subgroup made.window=5"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "subgroup b.window=6"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "subgroup dotted.name.window=7"), WHORL_OK);
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 0), "made");
	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", "[subgroup a]\n[subgroup b]\nbytes = 2\n[subgroup c]\n"),
			 WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 0), "a");
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 1), "b");
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 2), "c");
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 3), "made");
	ck_assert_str_eq(wh_conf_instance(conf, "subgroup", 4), "dotted.name");
	ck_assert_ptr_null(wh_conf_instance(conf, "subgroup", 5));
	ck_assert_int_eq(bound_subgroup(conf, 0, "made").window, 5);
	ck_assert_int_eq(bound_subgroup(conf, 0, "b").window, 6);
	ck_assert_int_eq(bound_subgroup(conf, 0, "b").bytes, 2);
	ck_assert_int_eq(bound_subgroup(conf, 0, "dotted.name").window, 7);
	wh_conf_free(conf);
}
END_TEST

START_TEST(set_mistakes)
{
	static const char *const malformed[] = {"",          "group",          "group.nodes",    "nodes=2",
						"=",         ".nodes=2",       "group.=2",       ".=2",
						"group .=2", "gro/up.nodes=2", "group.no des=2", "a b c.nodes=2"};
	char expected[256];

	for (size_t i = 0; i < COUNT(malformed); i++) {
		snprintf(expected, sizeof(expected), "--set: \"%s\" is not understood, expected section.key=value",
			 malformed[i]);
		check_set_mistake(malformed[i], expected);
	}
	check_set_mistake("group.nodes=x", "--set: group.nodes: is \"x\", expected a number from 1 to 64");
	check_set_mistake("group.nodes=2,x", "--set: group.nodes: is \"x\", expected a number from 1 to 64");
	check_set_mistake("group.nodse=2", "--set: group.nodse: unknown key, did you mean nodes?");
	check_set_mistake("grup.nodes=2", "--set: grup.nodes: unknown section, did you mean group?");
	check_set_mistake("subgroup.window=2", "--set: subgroup.window: needs a name, expected [subgroup NAME]");
	check_set_mistake("group x.nodes=2", "--set: group x.nodes: takes no name, expected [group]");
	check_set_mistake("subgroup orders.window=0",
			  "--set: subgroup orders.window: is \"0\", expected a number from 1 to 32768");
	check_set_mistake("group.name=a\nb", "--set: it has the control character 0x0a, expected text in UTF-8");
	check_set_mistake("group.name=\xff", "--set: it has the byte 0xff, which is not UTF-8, expected text in UTF-8");
}
END_TEST

/* ---- variants -------------------------------------------------------------------------------------------------------*/

static void check_variant_text(const struct wh_conf *conf, size_t variant, const char *expected)
{
	char buf[256];

	ck_assert_ptr_eq(wh_conf_variant_text(conf, variant, buf, sizeof(buf)), buf);
	ck_assert_str_eq(buf, expected);
}

START_TEST(one_variant_without_lists)
{
	struct wh_conf *conf = good_conf("[group]\nnodes = 3\nname = a, b\n[subgroup x]\nmembers = 0,1\n");

	ck_assert_uint_eq(wh_conf_variants(conf), 1);
	check_variant_text(conf, 0, "");
	ck_assert_str_eq(bound_group(conf, 0).name, "a, b");
	ck_assert_str_eq(bound_subgroup(conf, 0, "x").members, "0,1");
	wh_conf_free(conf);
}
END_TEST

/* The order is that of the file, not of the tables. */
START_TEST(the_last_list_varies_fastest)
{
	struct wh_conf *conf =
		good_conf("[subgroup x]\nbytes = 128, 10k\nwindow = 1 ,2,\t3\n[group]\nnull_sends = on,off\n");
	size_t variant = 0;

	ck_assert_uint_eq(wh_conf_variants(conf), 12);
	for (int bytes = 0; bytes < 2; bytes++) {
		for (int window = 1; window <= 3; window++) {
			for (int nulls = 1; nulls >= 0; nulls--, variant++) {
				struct subgroup x = bound_subgroup(conf, variant, "x");

				ck_assert_int_eq(x.bytes, bytes == 0 ? 128 : 10240);
				ck_assert_int_eq(x.window, window);
				ck_assert_int_eq(bound_group(conf, variant).nulls, nulls);
			}
		}
	}
	check_variant_text(conf, 0, "bytes = 128, window = 1, null_sends = on");
	check_variant_text(conf, 11, "bytes = 10k, window = 3, null_sends = off");
	wh_conf_free(conf);
}
END_TEST

START_TEST(variants_of_two_sections_are_told_apart)
{
	struct wh_conf *conf = good_conf("[subgroup x]\nwindow = 1,2\n[subgroup y]\nwindow = 3,4\nbytes = 5,6\n");

	ck_assert_uint_eq(wh_conf_variants(conf), 8);
	check_variant_text(conf, 5, "subgroup x.window = 2, subgroup y.window = 3, bytes = 6");
	ck_assert_int_eq(bound_subgroup(conf, 5, "x").window, 2);
	ck_assert_int_eq(bound_subgroup(conf, 5, "y").window, 3);
	ck_assert_int_eq(bound_subgroup(conf, 5, "y").bytes, 6);
	wh_conf_free(conf);
}
END_TEST

/* A list that is set takes the place of the file's key; a key that only --set has varies fastest. */
START_TEST(set_makes_lists_and_unmakes_them)
{
	struct wh_conf *conf = new_conf();

	ck_assert_int_eq(wh_conf_set(conf, "group.nodes=7,8"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "subgroup x.bytes=1,2"), WHORL_OK);
	ck_assert_int_eq(wh_conf_set(conf, "subgroup x.mode=ordered"), WHORL_OK);
	ck_assert_int_eq(
		wh_conf_load_text(conf, "a.ini", "[subgroup x]\nbytes = 3\nmode = ordered, unordered\nwindow = 1,2\n"),
		WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_uint_eq(wh_conf_variants(conf), 8);
	check_variant_text(conf, 0, "bytes = 1, window = 1, nodes = 7");
	check_variant_text(conf, 1, "bytes = 1, window = 1, nodes = 8");
	check_variant_text(conf, 2, "bytes = 1, window = 2, nodes = 7");
	check_variant_text(conf, 4, "bytes = 2, window = 1, nodes = 7");
	ck_assert_int_eq(bound_group(conf, 1).nodes, 8);
	ck_assert_int_eq(bound_subgroup(conf, 4, "x").bytes, 2);
	ck_assert_int_eq(bound_subgroup(conf, 4, "x").mode, 1);

	ck_assert_int_eq(wh_conf_set(conf, "group.nodes=9"), WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_OK);
	ck_assert_uint_eq(wh_conf_variants(conf), 4);
	ck_assert_int_eq(bound_group(conf, 3).nodes, 9);
	wh_conf_free(conf);
}
END_TEST

/* Only the check sees it. */
static void check_too_many(const char *text, const char *expected)
{
	struct wh_conf *conf = new_conf();

	ck_assert_int_eq(wh_conf_load_text(conf, "a.ini", text), WHORL_OK);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_CONFIG);
	ck_assert_int_eq(wh_conf_check(conf), WHORL_CONFIG);
	ck_assert_str_eq(wh_conf_mistakes(conf), expected);
	wh_conf_free(conf);
}

START_TEST(ten_thousand_variants_are_enough)
{
	static const char ten[] = "1,2,3,4,5,6,7,8,9,10";
	char text[512];
	struct wh_conf *conf;

	snprintf(text, sizeof(text), "[subgroup a]\nwindow = %s\nbytes = %s\n[subgroup b]\nwindow = %s\nbytes = %s\n",
		 ten, ten, ten, ten);
	conf = good_conf(text);
	ck_assert_uint_eq(wh_conf_variants(conf), 10000);
	check_variant_text(
		conf, 9999,
		"subgroup a.window = 10, subgroup a.bytes = 10, subgroup b.window = 10, subgroup b.bytes = 10");
	ck_assert_int_eq(bound_subgroup(conf, 1234, "a").window, 2);
	ck_assert_int_eq(bound_subgroup(conf, 1234, "a").bytes, 3);
	ck_assert_int_eq(bound_subgroup(conf, 1234, "b").window, 4);
	ck_assert_int_eq(bound_subgroup(conf, 1234, "b").bytes, 5);
	wh_conf_free(conf);

	strcat(text, "[group]\nnull_sends = on, off\n");
	check_too_many(text,
		       "a.ini:8: group.null_sends: the lists make more variants than can be run, expected at most "
		       "10000");
}
END_TEST

START_TEST(as_many_lists_as_there_can_be)
{
	char text[2048] = "";
	struct wh_conf *conf;

	for (int i = 0; i < 13; i++)
		sprintf(text + strlen(text), "[subgroup %c]\nwindow = 1,2\n", 'a' + i);
	conf = good_conf(text);
	ck_assert_uint_eq(wh_conf_variants(conf), 8192);
	ck_assert_int_eq(bound_subgroup(conf, 1, "m").window, 2);
	ck_assert_int_eq(bound_subgroup(conf, 4095, "a").window, 1);
	ck_assert_int_eq(bound_subgroup(conf, 4096, "a").window, 2);
	wh_conf_free(conf);
	strcat(text, "[subgroup z]\nwindow = 1,2\n");
	check_too_many(text, "a.ini:28: subgroup z.window: the lists make more variants than can be run, expected at "
			     "most 10000");
}
END_TEST

START_TEST(variant_text_is_cut)
{
	struct wh_conf *conf = good_conf("[subgroup x]\nbytes = 128, 10k\nwindow = 1 ,2\n");
	char buf[8];

	memset(buf, '?', sizeof(buf));
	wh_conf_variant_text(conf, 0, buf, 7);
	ck_assert_mem_eq(buf, "bytes \0?", 8);
	wh_conf_variant_text(conf, 0, buf, 1);
	ck_assert_mem_eq(buf, "\0ytes ", 6);
	buf[0] = 'x';
	wh_conf_variant_text(conf, 0, buf, 0);
	ck_assert_int_eq(buf[0], 'x');
	wh_conf_free(conf);
}
END_TEST

/* ---- memory ---------------------------------------------------------------------------------------------------------*/

/* The allocator of glibc with a hook: the allocation number fail_at is refused, and those behind it or not. */
#if defined(__GLIBC__) && !WITH_SANITIZER
#define CAN_FAIL 1
#endif

#ifdef CAN_FAIL
extern void *__libc_malloc(size_t bytes);
extern void *__libc_calloc(size_t count, size_t bytes);
extern void *__libc_realloc(void *old, size_t bytes);
extern void __libc_free(void *old);

#define FOR_LIBC __attribute__((visibility("default"))) /* strdup and asprintf are to find them */

static long allocations, fail_at = -1, live;
static bool fail_once;

static bool refused(void)
{
	long number = allocations;

	if (fail_at < 0)
		return false;
	allocations++;
	return fail_once ? number == fail_at : number >= fail_at;
}

FOR_LIBC void *malloc(size_t bytes)
{
	void *new = refused() ? NULL : __libc_malloc(bytes);

	live += new != NULL;
	return new;
}

FOR_LIBC void *calloc(size_t count, size_t bytes)
{
	void *new = refused() ? NULL : __libc_calloc(count, bytes);

	live += new != NULL;
	return new;
}

FOR_LIBC void *realloc(void *old, size_t bytes)
{
	void *new = refused() ? NULL : __libc_realloc(old, bytes);

	live += new != NULL &&old == NULL;
	return new;
}

FOR_LIBC void free(void *old)
{
	live -= old != NULL;
	__libc_free(old);
}

/* A life of a conf, with or without mistakes, which are copied. WHORL_MEMORY if it could not even be made. */
static enum whorl_result live_once(const char *text, char mistakes[2048])
{
	struct wh_conf *conf = wh_conf_new(tables, COUNT(tables));
	enum whorl_result result;

	if (conf == NULL)
		return WHORL_MEMORY;
	wh_conf_ignore(conf, "bench");
	wh_conf_set(conf, "subgroup made.window = 1, 2");
	wh_conf_load_text(conf, "a.ini", text);
	wh_conf_set(conf, "group.nodes = 3, 4");
	wh_conf_set(conf, "group.nodes = 1, 2");
	result = wh_conf_check(conf);
	snprintf(mistakes, 2048, "%s", wh_conf_mistakes(conf));
	if (result == WHORL_OK)
		(void)bound_subgroup(conf, 3, "made");
	wh_conf_free(conf);
	return result;
}

static void sweep(const char *text, enum whorl_result good)
{
	char expected[2048], mistakes[2048];

	ck_assert_int_eq(live_once(text, expected), good);
	for (long at = 0;; at++) {
		long before = live, used;
		enum whorl_result result;

		allocations = 0;
		fail_at = at;
		result = live_once(text, mistakes);
		used = allocations;
		fail_at = -1;
		ck_assert_int_eq(live, before);
		if (used <= at) { /* nothing was refused */
			ck_assert_int_eq(result, good);
			ck_assert_str_eq(mistakes, expected);
			ck_assert_int_gt(at, 10);
			return;
		}
		if (result == WHORL_MEMORY)
			continue;
		ck_assert_int_eq(result, WHORL_CONFIG);
		/* glibc's asprintf can do without the last of its allocations: then nothing is lost. */
		if (!fail_once || strcmp(mistakes, expected) != 0)
			ck_assert_str_eq(mistakes, "memory is out");
	}
}

START_TEST(memory_runs_out_anywhere)
{
	fail_once = _i == 1;
	sweep("[group]\nname = x\nnodes = 3\n[subgroup a]\nwindow = 1, 2\n[subgroup b]\n[bench]\nx = y\n", WHORL_OK);
	sweep("[group]\nnodes = x\nnonsense\n[subgrup a]\n[subgroup b]\nwindow = 0\n", WHORL_CONFIG);
}
END_TEST
#endif

Suite *suite(void)
{
	Suite *conf = suite_create("conf");
	TCase *good = tcase_create("good"), *bad = tcase_create("mistakes"), *files = tcase_create("files");
	TCase *set = tcase_create("set"), *variants = tcase_create("variants"), *memory = tcase_create("memory");

	tcase_add_test(good, tables_of_this_test);
	tcase_add_test(good, nothing_at_all_is_defaults);
	tcase_add_test(good, a_whole_file);
	tcase_add_test(good, line_ends_and_byte_order_mark);
	tcase_add_test(good, empty_sections_exist);
	tcase_add_test(good, indented_lines_are_lines);
	tcase_add_test(good, names_may_be_63_bytes_long);
	tcase_add_test(good, inline_comments);
	tcase_add_test(good, utf8_is_text);
	tcase_add_test(good, lines_as_long_as_inih_takes);
	tcase_add_test(good, lines_of_300_bytes);
	tcase_add_test(good, ignored_sections_are_not_looked_into);
	tcase_add_test(good, others_are_not_looked_into);
	tcase_add_test(good, two_files_add_up);
	tcase_add_test(bad, five_mistakes_give_five_messages);
	tcase_add_test(bad, unknown_sections);
	tcase_add_test(bad, unknown_keys);
	tcase_add_test(bad, given_twice);
	tcase_add_test(bad, malformed_headers);
	tcase_add_loop_test(good, a_word_with_and_without_names, 0, 2);
	tcase_add_test(bad, malformed_lines);
	tcase_add_test(bad, bytes_that_are_no_text);
	tcase_add_test(bad, bad_values_in_lists);
	tcase_add_test(bad, mistakes_come_in_the_order_of_the_files);
	tcase_add_test(bad, mistakes_without_any_file);
	tcase_add_test(bad, mistakes_beyond_a_thousand_are_not_shown);
	tcase_add_test(bad, sections_beyond_4096_are_refused);
	tcase_add_test(files, files_that_cannot_be_read);
	tcase_add_test(files, files_of_up_to_a_megabyte);
	tcase_add_test(files, nul_bytes_in_a_file);
	tcase_add_test(files, pipes_are_read_to_their_end);
	tcase_add_test(set, set_wins_before_and_after);
	tcase_add_test(set, set_makes_named_sections_behind_those_of_files);
	tcase_add_test(set, set_mistakes);
	tcase_add_test(variants, one_variant_without_lists);
	tcase_add_test(variants, the_last_list_varies_fastest);
	tcase_add_test(variants, variants_of_two_sections_are_told_apart);
	tcase_add_test(variants, set_makes_lists_and_unmakes_them);
	tcase_add_test(variants, ten_thousand_variants_are_enough);
	tcase_add_test(variants, as_many_lists_as_there_can_be);
	tcase_add_test(variants, variant_text_is_cut);
#ifdef CAN_FAIL
	tcase_add_loop_test(memory, memory_runs_out_anywhere, 0, 2);
#endif
	suite_add_tcase(conf, good);
	suite_add_tcase(conf, bad);
	suite_add_tcase(conf, files);
	suite_add_tcase(conf, set);
	suite_add_tcase(conf, variants);
	suite_add_tcase(conf, memory);
	return conf;
}
