/* test_group_config.c - what a configuration says about a group: the options of this module's tables, and their mistakes. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group/config/config.h"
#include "membership/wire.h"
#include "tests/harness.h"
#include "tests/temporary.h"

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

TEST(tables_are_right)
{
	struct wh_error err;

	for (size_t i = 0; i < TABLES; i++)
		ck_assert_msg(wh_option_table_check(tables[i], &err) == WHORL_OK, "%s", err.text);
}

TEST(defaults)
{
	struct wh_node_config config;

	bind("[subgroup s]\n", &config);
	ck_assert_int_eq(wh_node_config_tie_breaker(&config), -1);
	ck_assert_int_eq(wh_node_config_founder(&config), -1);
	ck_assert_uint_eq(wh_node_config_nodes_max(&config), 2);
	ck_assert_int_eq(config.group.start, WH_START_AUTO);
	ck_assert_int_eq(config.group.start_timeout_ms, 1000);
	ck_assert_int_eq(config.group.backlog_max, 1 << 30);
	ck_assert_str_eq(config.subgroups[0].options.members, "all");
	ck_assert_str_eq(config.subgroups[0].options.senders, "all");
	ck_assert_int_eq(config.subgroups[0].options.shards, 1);
	ck_assert_int_eq(config.subgroups[0].options.members_min, 1);
	ck_assert_int_eq(config.subgroups[0].options.mode, WH_SUBGROUP_ORDERED);
	ck_assert_int_eq(config.engine.thread, WH_THREAD_DEDICATED);
	ck_assert_int_eq(config.engine.huge_pages, WH_HUGE_OFF);
	wh_node_config_free(&config);
}

/* The words of a choice stand in the order of its enum. */
TEST(choices_have_names)
{
	static const struct {
		const char *mode, *thread, *huge_pages, *start;
		int mode_is, thread_is, huge_pages_is, start_is;
	} choices[] = {
		{"unordered", "dedicated", "off", "auto", WH_SUBGROUP_UNORDERED, WH_THREAD_DEDICATED, WH_HUGE_OFF,
		 WH_START_AUTO},
		{"ordered", "caller", "try", "join", WH_SUBGROUP_ORDERED, WH_THREAD_CALLER, WH_HUGE_TRY, WH_START_JOIN},
		{"ordered", "caller", "require", "join", WH_SUBGROUP_ORDERED, WH_THREAD_CALLER, WH_HUGE_REQUIRE,
		 WH_START_JOIN},
	};

	for (size_t i = 0; i < sizeof(choices) / sizeof(choices[0]); i++) {
		struct wh_node_config config;
		char text[256];

		snprintf(text, sizeof(text),
			 "[group]\nstart = %s\n[subgroup s]\nmode = %s\n[engine]\nthread = %s\nhuge_pages = %s\n",
			 choices[i].start, choices[i].mode, choices[i].thread, choices[i].huge_pages);
		bind(text, &config);
		ck_assert_int_eq(config.subgroups[0].options.mode, choices[i].mode_is);
		ck_assert_int_eq(config.engine.thread, choices[i].thread_is);
		ck_assert_int_eq(config.engine.huge_pages, choices[i].huge_pages_is);
		ck_assert_int_eq(config.group.start, choices[i].start_is);
		wh_node_config_free(&config);
	}
}

TEST(some_are_named_by_their_ids)
{
	static const struct {
		const char *text;
		int nodes_max, id;
	} good[] = {{"none", 4, -1}, {"0", 4, 0}, {"3", 4, 3}, {"03", 4, 3}, {"4", 5, 4}, {"255", 256, 255}};

	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
		struct wh_node_config config;
		char text[128];

		snprintf(text, sizeof(text), "[group]\nnodes = 4\nnodes_max=%d\ntie_breaker = %s\n[subgroup s]\n",
			 good[i].nodes_max, good[i].text);
		bind(text, &config);
		ck_assert_int_eq(wh_node_config_tie_breaker(&config), good[i].id);
		ck_assert_int_eq(wh_node_config_founder(&config), -1);
		wh_node_config_free(&config);
		snprintf(text, sizeof(text), "[group]\nnodes = 4\nnodes_max=%d\nfounder = %s\n[subgroup s]\n",
			 good[i].nodes_max, good[i].text);
		bind(text, &config);
		ck_assert_int_eq(wh_node_config_founder(&config), good[i].id);
		ck_assert_int_eq(wh_node_config_tie_breaker(&config), -1);
		wh_node_config_free(&config);
	}
}

/* As many as are configured, or more: lists and shards may be of nodes that are not there yet. */
TEST(there_may_be_more_nodes_than_configured)
{
	struct wh_node_config config;

	bind("[group]\nnodes = 3\nnodes_max = 3\n[subgroup s]\nshards = 3\n", &config);
	ck_assert_uint_eq(wh_node_config_nodes_max(&config), 3);
	wh_node_config_free(&config);
	bind("[group]\nnodes = 1\nnodes_max = 256\n[subgroup s]\nmembers = 2,255\nsenders = 255\n"
	     "[subgroup t]\nshards = 64\n",
	     &config);
	ck_assert_uint_eq(wh_node_config_nodes_max(&config), 256);
	wh_node_config_free(&config);
}

TEST(a_layout_is_handed_on)
{
	struct wh_node_config config;
	struct wh_subgroup_text texts[4];

	bind("[group]\nnodes = 4\n[subgroup a]\nshards = 2\nmembers_min = 2\nsenders = one\n[subgroup b]\nmembers = 1,2\n"
	     "[subgroup c]\nmembers = function\nshards = 64\nsenders = says nothing\n"
	     "[subgroup d]\nmembers = wish\n",
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
	ck_assert(wh_subgroup_is_wished(&texts[3]) && !wh_subgroup_is_wished(&texts[2]));
	ck_assert_uint_eq(wh_subgroup_shards(&texts[3]), 0);
	wh_node_config_free(&config);
}

static const struct {
	const char *text;
	int group, subgroups; /* those with the same number have the same digest */
} agreed[] = {
	{"[group]\nnodes = 4\n[subgroup s]\n", 0, 0},
	/* Said or not, each node's own, or written otherwise. */
	{"[group]\nnodes = 4\nnodes_max = 4\nfounder = none\nfailure_timeout_ms = 1000\n[subgroup s]\nwindow = 100\n",
	 0, 0},
	{"[group]\nnodes = 4\nname = n\nstart = join\nstart_timeout_ms = 50\nbacklog_max = 1m\nstate_share = 9\n"
	 "memory_max = 2g\n"
	 "[subgroup s]\nmessage_bytes = 10k\n[engine]\nnull_sends = off\n",
	 0, 0},
	{"[group]\nnodes = 5\n[subgroup s]\n", 1, 0},
	{"[group]\nnodes = 4\nnodes_max = 5\n[subgroup s]\n", 2, 0},
	{"[group]\nnodes = 4\nfounder = 0\n[subgroup s]\n", 3, 0},
	{"[group]\nnodes = 4\ntie_breaker = 0\n[subgroup s]\n", 4, 0},
	{"[group]\nnodes = 4\nfailure_timeout_ms = 1001\n[subgroup s]\n", 5, 0},
	{"[group]\nnodes = 4\nfounder = 1\n[subgroup s]\n", 6, 0},
	{"[group]\nnodes = 0\nnodes_max = 4\n[subgroup s]\n", 18, 0},
	{"[group]\nnodes = 0\nnodes_max = 4\nfounder = 1\n[subgroup s]\n", 19, 0},
	{"[group]\nnodes = 4\ntransport = tcp\nstate_dir = /var/a\n[subgroup s]\n", 17, 0},
	{"[group]\nnodes = 4\ntransport = tcp\nstate_dir = /var/b\n[subgroup s]\n", 17, 0},
	/* Durable, on one host: one directory, however it is called. */
	{"[group]\nnodes = 4\nlog_dir = /var\n[subgroup s]\nmode = durable\n", 21, 21},
	{"[group]\nnodes = 4\nlog_dir = /usr/../var/\n[subgroup s]\nmode = durable\n", 21, 21},
	{"[group]\nnodes = 4\nlog_dir = /usr\n[subgroup s]\nmode = durable\n", 22, 21},
	{"[group]\nnodes = 4\nlog_dir = /missing\n[subgroup s]\nmode = durable\n", 23, 21},
	{"[group]\nnodes = 4\nlog_dir = /usr\n[subgroup s]\n", 22, 0},
	{"[group]\nnodes = 4\ntransport = tcp\nlog_dir = /usr\n[subgroup s]\nmode = durable\n", 24, 21},
	{"[group]\nnodes = 4\n[subgroup t]\n", 0, 7},
	{"[group]\nnodes = 4\n[subgroup s]\nmembers = 0,1\n", 0, 8},
	{"[group]\nnodes = 4\n[subgroup s]\nmembers = 0 , 1\n", 0, 8},
	{"[group]\nnodes = 4\n[subgroup s]\nsenders = 0,1\n", 0, 9},
	{"[group]\nnodes = 4\n[subgroup s]\nshards = 2\n", 0, 10},
	{"[group]\nnodes = 4\n[subgroup s]\nmembers_min = 2\n", 0, 11},
	{"[group]\nnodes = 4\n[subgroup s]\nmode = unordered\n", 0, 12},
	{"[group]\nnodes = 4\n[subgroup s]\nwindow = 99\n", 0, 13},
	{"[group]\nnodes = 4\n[subgroup s]\nmessage_bytes = 1\n", 0, 14},
	{"[group]\nnodes = 4\n[subgroup s]\n[subgroup t]\n", 0, 15},
	{"[group]\nnodes = 4\n[subgroup s]\nrelay_bytes = 0\n", 0, 0},
	{"[group]\nnodes = 4\ntransport = tcp\n[subgroup s]\nrelay_bytes = 4096\n", 0, 25},
	{"[group]\nnodes = 4\ntransport = tcp\n[subgroup s]\nrelay_bytes = 4097\n", 0, 26},
	{"[group]\nnodes = 4\n[subgroup s]\nlarge_bytes = 4096\n", 0, 27},
	{"[group]\nnodes = 4\n[subgroup t]\n[subgroup s]\n", 0, 16},
};

TEST(digests_tell_what_must_agree)
{
	enum { MANY = sizeof(agreed) / sizeof(agreed[0]) };
	uint64_t group[MANY], subgroups[MANY];

	for (size_t i = 0; i < MANY; i++) {
		struct wh_node_config config;

		bind(agreed[i].text, &config);
		group[i] = wh_node_config_group_digest(&config);
		subgroups[i] = wh_node_config_subgroups_digest(&config, false);
		ck_assert_uint_ne(subgroups[i], wh_node_config_subgroups_digest(&config, true));
		wh_node_config_free(&config);
		for (size_t j = 0; j <= i; j++) {
			ck_assert_msg((group[i] == group[j]) == (agreed[i].group == agreed[j].group), "%zu %zu", i, j);
			ck_assert_msg((subgroups[i] == subgroups[j]) == (agreed[i].subgroups == agreed[j].subgroups),
				      "%zu %zu", i, j);
		}
	}
}

static const struct {
	const char *group, *subgroup, *mistake;
} bad[] = {
	{"tie_breaker = 4", "", "x.ini:3: group.tie_breaker: is \"4\", expected none, or a node id from 0 to 3"},
	{"tie_breaker = -1", "", "x.ini:3: group.tie_breaker: is \"-1\", expected none, or a node id from 0 to 3"},
	{"tie_breaker = 1,2", "", "x.ini:3: group.tie_breaker: is \"1,2\", expected none, or a node id from 0 to 3"},
	{"tie_breaker = 99999999999", "",
	 "x.ini:3: group.tie_breaker: is \"99999999999\", expected none, or a node id from 0 to 3"},
	{"tie_breaker = one", "", "x.ini:3: group.tie_breaker: is \"one\", expected none, or a node id from 0 to 3"},
	{"founder = 4", "", "x.ini:3: group.founder: is \"4\", expected none, or a node id from 0 to 3"},
	{"founder =", "", "x.ini:3: group.founder: is \"\", expected none, or a node id from 0 to 3"},
	{"nodes_max = 3", "", "x.ini:3: group.nodes_max: is 3, expected 0, or 4 (nodes) to 256"},
	{"transport = tcp\nfounder = 1", "",
	 "x.ini:4: group.founder: is 1, and on a network a founder needs state_dir, which keeps it from founding a second group"},
	{"state_dir = /var", "",
	 "x.ini:3: group.state_dir: is \"/var\", expected none: on shm the names that processes hold are enough"},
	{"nodes_max = 5\nfounder = 5", "", "x.ini:4: group.founder: is \"5\", expected none, or a node id from 0 to 4"},
	{"nodes_max = 5", "members = 5", "x.ini:5: subgroup s.members: names node 5, expected ids from 0 to 4"},
	{"nodes_max = 5", "members = 1,4\nsenders = 2",
	 "x.ini:6: subgroup s.senders: names node 2, which is not a member"},
	{"nodes_max = 5", "shards = 6",
	 "x.ini:5: subgroup s.shards: asks for 6 shards, expected at most 5, one for each member"},
	{"", "shards = 5", "x.ini:5: subgroup s.shards: asks for 5 shards, expected at most 4, one for each member"},
	{"", "members = 0,1\nshards = 3",
	 "x.ini:6: subgroup s.shards: asks for 3 shards, expected at most 2, one for each member"},
	{"", "members = 0,7\nshards = 3", "x.ini:5: subgroup s.members: names node 7, expected ids from 0 to 3"},
	{"", "members = functional",
	 "x.ini:5: subgroup s.members: is \"functional\", expected all, function, wish, or node ids as in 0,1,2"},
	{"", "members = wish\nsenders = half",
	 "x.ini:6: subgroup s.senders: is \"half\", expected all: with members = wish each node says whether it sends"},
	{"", "members = wish\nshards = 2",
	 "x.ini:6: subgroup s.shards: asks for 2 shards, expected 1, as members = wish"},
	{"", "members = wish\nmembers_min = 2",
	 "x.ini:6: subgroup s.members_min: is 2, expected 1: with members = wish it begins with the first that enters"},
	{"log_dir = /var\ntransport = tcp\nstate_dir = /var\nfounder = 1", "mode = durable",
	 "x.ini:6: group.founder: is 1, expected none: on a network a group with a log_dir is formed by all of its nodes"},
	{"log_dir = /var", "mode = durable\nwindow = 4096\nlarge_bytes = 1073741824\nmessage_bytes = 1048576",
	 "x.ini:7: subgroup s.large_bytes: is 1073741824, expected at most 536870912 in a durable subgroup"},
	{"", "mode = unordered\nrelay_bytes = 1",
	 "x.ini:6: subgroup s.relay_bytes: is 1, expected 0 in an unordered subgroup"},
	{"", "members = wish\nrelay_bytes = 1", "x.ini:6: subgroup s.relay_bytes: is 1, expected 0 with members = wish"},
	{"", "message_bytes = 16\nrelay_bytes = 17",
	 "x.ini:6: subgroup s.relay_bytes: is 17, expected at most 16 (message_bytes): that much is in a slot"},
	{"", "relay_bytes = 1",
	 "x.ini:5: subgroup s.relay_bytes: is 1, expected 0 with transport = shm: there no member relays"},
	{"transport = verbs", "relay_bytes = 1",
	 "x.ini:5: subgroup s.relay_bytes: is 1, expected 0 with transport = verbs: there no member relays"},
};

TEST_LOOP(mistakes_of_the_whole, 0, sizeof(bad) / sizeof(bad[0]))
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

/* Then the first process is the founder, as node 0, unless the file says which node is. */
TEST(a_group_may_name_no_nodes)
{
	struct wh_node_config config;

	bind("[group]\nnodes = 0\nnodes_max = 7\n[subgroup s]\nmembers = 0,6\n", &config);
	ck_assert(wh_node_config_names_none(&config));
	ck_assert_uint_eq(wh_node_config_nodes_max(&config), 7);
	ck_assert_int_eq(wh_node_config_founder(&config), 0);
	wh_node_config_free(&config);
	bind("[group]\nnodes = 0\nnodes_max = 7\nfounder = 3\n[subgroup s]\n", &config);
	ck_assert(!wh_node_config_names_none(&config));
	ck_assert_int_eq(wh_node_config_founder(&config), 3);
	wh_node_config_free(&config);
	bind("[group]\nnodes = 1\nnodes_max = 7\n[subgroup s]\n", &config);
	ck_assert(!wh_node_config_names_none(&config));
	wh_node_config_free(&config);
}

/* On shm alone, and then it has to say how many there may be. */
TEST(what_may_form_has_to_be_named)
{
	static const struct {
		const char *lines, *mistake;
	} wrong[] = {
		{"",
		 "x.ini:2: group.nodes: is 0, so nodes_max has to say how many nodes there may be, expected 1 to 256"},
		{"nodes_max = 2\ntransport = tcp",
		 "x.ini:2: group.nodes: is 0, expected 1 to 256: only on shm the first process may form a group"},
		{"nodes_max = 2\ntransport = verbs\nstate_dir = /var",
		 "x.ini:2: group.nodes: is 0, expected 1 to 256: only on shm the first process may form a group"},
		{"transport = sim",
		 "x.ini:2: group.nodes: is 0, expected 1 to 256: only on shm the first process may form a group"},
	};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		struct wh_node_config config;
		struct wh_conf *conf;
		char text[256];

		snprintf(text, sizeof(text), "[group]\nnodes = 0\n%s\n[subgroup s]\n", wrong[i].lines);
		conf = load(text);
		ck_assert_int_eq(wh_node_config_bind(&config, conf, 0), WHORL_CONFIG);
		ck_assert_str_eq(wh_conf_mistakes(conf), wrong[i].mistake);
		wh_conf_free(conf);
	}
}

TEST(ranges)
{
	static const struct {
		const char *section, *key, *expected;
	} odd[] = {
		{"subgroup s", "shards = 0", "expected a number from 1 to 64"},
		{"subgroup s", "shards = 65", "expected a number from 1 to 64"},
		{"subgroup s", "members_min = 0", "expected a number from 1 to 256"},
		{"subgroup s", "members_min = 257", "expected a number from 1 to 256"},
		{"group", "nodes = -1", "expected a number from 0 to 256"},
		{"group", "nodes_max = -1", "expected a number from 0 to 256"},
		{"group", "nodes_max = 257", "expected a number from 0 to 256"},
		{"group", "start_timeout_ms = 9", "expected a number from 10 to 600000"},
		{"group", "start_timeout_ms = 600001", "expected a number from 10 to 600000"},
		{"group", "backlog_max = 1k", "expected a number from "},
		{"group", "start = form", "expected one of auto, join"},
	};

	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		struct wh_conf *conf = wh_conf_new(tables, TABLES);
		char text[128];

		snprintf(text, sizeof(text), "[%s]\n%s\n", odd[i].section, odd[i].key);
		ck_assert_int_eq(wh_conf_load_text(conf, "x.ini", text), WHORL_CONFIG);
		ck_assert_msg(strstr(wh_conf_mistakes(conf), odd[i].expected) != NULL, "%s", wh_conf_mistakes(conf));
		wh_conf_free(conf);
	}
}

TEST(there_are_not_too_many_subgroups)
{
	size_t bytes = 32 * (WH_SUBGROUPS_MAX + 1), length = 0;
	char *text = malloc(bytes);
	struct wh_conf *conf;

	/* What fits in a view (membership/wire.h) is held by what conf takes. */
	ck_assert_ptr_nonnull(text);
	for (uint32_t i = 0; i <= WH_SUBGROUPS_MAX; i++)
		length += (size_t)snprintf(text + length, bytes - length, "[subgroup s%u]\n", i);
	conf = wh_conf_new(tables, TABLES);
	ck_assert_ptr_nonnull(conf);
	ck_assert_int_eq(wh_conf_load_text(conf, "x.ini", text), WHORL_CONFIG);
	ck_assert_msg(strstr(wh_conf_mistakes(conf), "there are more sections than can be, expected at most 4096") !=
			      NULL,
		      "%s", wh_conf_mistakes(conf));
	wh_conf_free(conf);
	free(text);
}

/* ---- what a launcher says --------------------------------------------------------------------------------------------*/

/* NULL: not there. The text of the mistake, "" if it is none. */
static const char *launched(const char *file, const char *number, enum whorl_result expected, uint32_t *id)
{
	static char text[512];
	whorl_config *config = whorl_config_new();

	ck_assert_int_eq(file == NULL ? unsetenv("WHORL_CONFIG") : setenv("WHORL_CONFIG", file, 1), 0);
	ck_assert_int_eq(number == NULL ? unsetenv("WHORL_ID") : setenv("WHORL_ID", number, 1), 0);
	ck_assert_int_eq(whorl_config_ignore(config, "mine"), WHORL_OK);
	*id = 4711;
	ck_assert_int_eq(whorl_launched(config, id), expected);
	snprintf(text, sizeof(text), "%s", whorl_config_error(config));
	whorl_config_free(config);
	return text;
}

TEST(a_program_is_launched)
{
	static const char *const odd[] = {NULL, "", "x", "-1", " 1", "1 ", "1x", "256", "99999999999999999999", "Any"};
	char path[TEST_PATH_BYTES];
	int fd = mkstemp(test_temporary(path, "launched"));
	const char text[] = "[group]\nname = launched\n[mine]\nkey = 1\n[subgroup s]\n", *mistake;
	uint32_t id;

	ck_assert_int_ge(fd, 0);
	ck_assert_int_eq(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	ck_assert_int_eq(close(fd), 0);
	ck_assert_str_eq(launched(NULL, NULL, WHORL_NOT_FOUND, &id), "");
	ck_assert_uint_eq(id, 4711);
	ck_assert_str_eq(launched(path, "0", WHORL_OK, &id), "");
	ck_assert_uint_eq(id, 0);
	ck_assert_str_eq(launched(path, "255", WHORL_OK, &id), "");
	ck_assert_uint_eq(id, 255);
	ck_assert_str_eq(launched(path, "any", WHORL_OK, &id), "");
	ck_assert_uint_eq(id, WHORL_ANY_ID);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++) {
		mistake = launched(path, odd[i], WHORL_CONFIG, &id);
		ck_assert_msg(strstr(mistake, "expected the id of a node, or any") != NULL, "%s", mistake);
		ck_assert_uint_eq(id, 4711);
	}
	ck_assert_str_eq(launched(NULL, "1", WHORL_CONFIG, &id), "WHORL_ID is there, and no WHORL_CONFIG");
	ck_assert_str_eq(launched("", "1", WHORL_CONFIG, &id), "WHORL_ID is there, and no WHORL_CONFIG");
	ck_assert_int_eq(unlink(path), 0);
	mistake = launched(path, "1", WHORL_CONFIG, &id);
	ck_assert_msg(strstr(mistake, path) != NULL, "%s", mistake);
	ck_assert_uint_eq(id, 4711);
}

TEST_SUITE("group_config")
