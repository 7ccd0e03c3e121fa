/* test_group_config.c - what a configuration says about a group: the options of this module's tables, and their mistakes. */
#include <string.h>

#include "group/config.h"
#include "tests/harness.h"

static const struct wh_option_table *const tables[] = {&wh_group_table, &wh_subgroup_table, &wh_engine_table};
#define TABLES (sizeof(tables) / sizeof(tables[0]))

static struct wh_conf *load(const char *text)
{
	struct wh_conf *conf = wh_conf_new(tables, TABLES);

	ck_assert_ptr_nonnull(conf);
	ck_assert_msg(wh_conf_load_text(conf, "x.ini", text) == WHORL_OK, "%s", wh_conf_mistakes(conf));
	return conf;
}

static void bind(const char *text, struct wh_node_config *config)
{
	struct wh_conf *conf = load(text);

	ck_assert_msg(wh_node_config_bind(config, conf, 0) == WHORL_OK, "%s", wh_conf_mistakes(conf));
	wh_conf_free(conf);
}

START_TEST(tables_are_right)
{
	struct wh_error err;

	for (size_t i = 0; i < TABLES; i++)
		ck_assert_msg(wh_option_table_check(tables[i], &err) == WHORL_OK, "%s", err.text);
}
END_TEST

START_TEST(defaults)
{
	struct wh_node_config config;

	bind("[subgroup s]\n", &config);
	ck_assert_int_eq(wh_node_config_tie_breaker(&config), -1);
	ck_assert_str_eq(config.subgroups[0].options.members, "all");
	ck_assert_str_eq(config.subgroups[0].options.senders, "all");
	ck_assert_int_eq(config.subgroups[0].options.shards, 1);
	ck_assert_int_eq(config.subgroups[0].options.members_min, 1);
	ck_assert_int_eq(config.subgroups[0].options.mode, WH_SUBGROUP_ORDERED);
	ck_assert_int_eq(config.engine.thread, WH_THREAD_DEDICATED);
	ck_assert_int_eq(config.engine.huge_pages, WH_HUGE_OFF);
	wh_node_config_free(&config);
}
END_TEST

/* The words of a choice stand in the order of its enum. */
START_TEST(choices_have_names)
{
	static const struct {
		const char *mode, *thread, *huge_pages;
		int mode_is, thread_is, huge_pages_is;
	} choices[] = {
		{"unordered", "dedicated", "off", WH_SUBGROUP_UNORDERED, WH_THREAD_DEDICATED, WH_HUGE_OFF},
		{"ordered", "caller", "try", WH_SUBGROUP_ORDERED, WH_THREAD_CALLER, WH_HUGE_TRY},
		{"ordered", "caller", "require", WH_SUBGROUP_ORDERED, WH_THREAD_CALLER, WH_HUGE_REQUIRE},
	};

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		struct wh_node_config config;
		char text[256];

		snprintf(text, sizeof(text), "[subgroup s]\nmode = %s\n[engine]\nthread = %s\nhuge_pages = %s\n",
			 choices[i].mode, choices[i].thread, choices[i].huge_pages);
		bind(text, &config);
		ck_assert_int_eq(config.subgroups[0].options.mode, choices[i].mode_is);
		ck_assert_int_eq(config.engine.thread, choices[i].thread_is);
		ck_assert_int_eq(config.engine.huge_pages, choices[i].huge_pages_is);
		wh_node_config_free(&config);
	}
}
END_TEST

START_TEST(a_tie_breaker_is_a_node)
{
	static const struct {
		const char *text;
		int id;
	} good[] = {{"none", -1}, {"0", 0}, {"3", 3}, {"03", 3}};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct wh_node_config config;
		char text[128];

		snprintf(text, sizeof(text), "[group]\nnodes = 4\ntie_breaker = %s\n[subgroup s]\n", good[i].text);
		bind(text, &config);
		ck_assert_int_eq(wh_node_config_tie_breaker(&config), good[i].id);
		wh_node_config_free(&config);
	}
}
END_TEST

START_TEST(a_layout_is_handed_on)
{
	struct wh_node_config config;
	struct wh_subgroup_text texts[3];

	bind("[group]\nnodes = 4\n[subgroup a]\nshards = 2\nmembers_min = 2\nsenders = one\n[subgroup b]\nmembers = 1,2\n"
	     "[subgroup c]\nmembers = function\nshards = 64\nsenders = says nothing\n",
	     &config);
	wh_node_config_layout(&config, texts);
	ck_assert_str_eq(texts[0].name, "a");
	ck_assert_str_eq(texts[0].members, "all");
	ck_assert_str_eq(texts[0].senders, "one");
	ck_assert_uint_eq(texts[0].shards, 2);
	ck_assert_uint_eq(texts[0].members_min, 2);
	ck_assert_str_eq(texts[1].members, "1,2");
	ck_assert_uint_eq(texts[1].shards, 1);
	ck_assert_str_eq(texts[2].members, "function");
	ck_assert_uint_eq(texts[2].shards, 64);
	wh_node_config_free(&config);
}
END_TEST

static const struct {
	const char *group, *subgroup, *mistake;
} bad[] = {
	{"tie_breaker = 4", "", "x.ini:3: group.tie_breaker: is \"4\", expected none, or a node id from 0 to 3"},
	{"tie_breaker = -1", "", "x.ini:3: group.tie_breaker: is \"-1\", expected none, or a node id from 0 to 3"},
	{"tie_breaker = 1,2", "", "x.ini:3: group.tie_breaker: is \"1,2\", expected none, or a node id from 0 to 3"},
	{"tie_breaker = 99999999999", "",
	 "x.ini:3: group.tie_breaker: is \"99999999999\", expected none, or a node id from 0 to 3"},
	{"tie_breaker = one", "", "x.ini:3: group.tie_breaker: is \"one\", expected none, or a node id from 0 to 3"},
	{"", "shards = 5", "x.ini:5: subgroup s.shards: asks for 5 shards, expected at most 4, one for each member"},
	{"", "members = 0,1\nshards = 3",
	 "x.ini:6: subgroup s.shards: asks for 3 shards, expected at most 2, one for each member"},
	{"", "members = 0,7\nshards = 3", "x.ini:5: subgroup s.members: names node 7, expected ids from 0 to 3"},
	{"", "members = functional",
	 "x.ini:5: subgroup s.members: is \"functional\", expected all, function, or node ids as in 0,1,2"},
};

START_TEST(mistakes_of_the_whole)
{
	struct wh_node_config config;
	struct wh_conf *conf;
	char text[256];

	snprintf(text, sizeof(text), "[group]\nnodes = 4\n%s\n[subgroup s]\n%s\n", bad[_i].group, bad[_i].subgroup);
	conf = load(text);
	ck_assert_int_eq(wh_node_config_bind(&config, conf, 0), WHORL_CONFIG);
	ck_assert_str_eq(wh_conf_mistakes(conf), bad[_i].mistake);
	wh_conf_free(conf);
}
END_TEST

START_TEST(ranges)
{
	static const char *const keys[] = {"shards = 0", "shards = 65", "members_min = 0", "members_min = 257"};

	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++) {
		struct wh_conf *conf = wh_conf_new(tables, TABLES);
		char text[128];

		snprintf(text, sizeof(text), "[subgroup s]\n%s\n", keys[i]);
		ck_assert_int_eq(wh_conf_load_text(conf, "x.ini", text), WHORL_CONFIG);
		ck_assert_ptr_nonnull(strstr(wh_conf_mistakes(conf), "expected a number from 1 to "));
		wh_conf_free(conf);
	}
}
END_TEST

static Suite *suite(void)
{
	Suite *all = suite_create("group_config");
	TCase *cases = tcase_create("group_config");

	tcase_add_test(cases, tables_are_right);
	tcase_add_test(cases, defaults);
	tcase_add_test(cases, choices_have_names);
	tcase_add_test(cases, a_tie_breaker_is_a_node);
	tcase_add_test(cases, a_layout_is_handed_on);
	tcase_add_loop_test(cases, mistakes_of_the_whole, 0, sizeof(bad) / sizeof(bad[0]));
	tcase_add_test(cases, ranges);
	suite_add_tcase(all, cases);
	return all;
}

int main(void)
{
	return test_main(suite());
}
