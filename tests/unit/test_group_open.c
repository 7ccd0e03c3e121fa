/* test_group_open.c - configurations, opening, refusals, the log, statistics: what a stranger meets first.
 * Labels: threads
 */
#include <stddef.h>
#include <sys/wait.h>
#include <unistd.h>

#include <whorl/status.h>

#include "group/node_int.h"
#include "tests/support/group.h"
#include "transport/shm/shm.h"

static whorl_config *config_of(const char *text)
{
	whorl_config *config = whorl_config_new();

	ck_assert_ptr_nonnull(config);
	ck_assert_msg(whorl_config_load_text(config, "test.ini", text) == WHORL_OK, "%s", whorl_config_error(config));
	return config;
}

static void expect_text(const char *text, const char *part)
{
	ck_assert_msg(strstr(text, part) != NULL, "\"%s\" is not in \"%s\"", part, text);
}

/* ---- versions and results ---------------------------------------------------------------------------------------------- */

TEST_CASE("open", .timeout_s = 60);

TEST(versions_and_results_have_texts)
{
	char version[32];

	snprintf(version, sizeof(version), "%d.%d.%d", WHORL_VERSION_MAJOR, WHORL_VERSION_MINOR, WHORL_VERSION_PATCH);
	ck_assert_str_eq(whorl_version(), version);
	ck_assert_int_eq(WHORL_OK, 0);
	ck_assert_str_eq(whorl_result_text(WHORL_TIMEOUT), "the time allowed ran out");
	for (int result = 0; result <= WHORL_GONE; result++)
		ck_assert_str_ne(whorl_result_text((enum whorl_result)result), "unknown result");
	ck_assert_str_eq(whorl_result_text((enum whorl_result)1000), "unknown result");
}

/* ---- configurations ------------------------------------------------------------------------------------------------------ */

TEST(all_mistakes_are_told_with_their_lines)
{
	whorl_config *config = whorl_config_new();
	const char *text = "[group]\nnodes = many\ncolour = red\n[subgroup s]\nwindow = 0\nmembers = 0,7\n[garage]\n";
	whorl_node *node;

	ck_assert_str_eq(whorl_config_error(config), "");
	ck_assert_int_eq(whorl_config_load_text(config, "x.ini", text), WHORL_CONFIG);
	expect_text(whorl_config_error(config), "x.ini:2: group.nodes: ");
	expect_text(whorl_config_error(config), "x.ini:3: group.colour: ");
	expect_text(whorl_config_error(config), "x.ini:5: subgroup s.window: ");
	expect_text(whorl_config_error(config), "x.ini:7: ");
	ck_assert_int_eq(whorl_open(config, 0, NULL, &node), WHORL_CONFIG);
	ck_assert_ptr_null(node);
	whorl_config_free(config);
	whorl_config_free(NULL);
}

TEST(what_only_the_whole_shows_is_told_once)
{
	whorl_config *config = config_of("[group]\nname = a b\nnodes = 2\n[subgroup s]\nmembers = 0,2\nsenders = 1\n"
					 "[subgroup t]\nmembers = 0\nsenders = 1\n[engine]\ncpus = 1,x\n");
	char first[4096];
	whorl_node *node;

	ck_assert_int_eq(whorl_open(config, 0, NULL, &node), WHORL_CONFIG);
	snprintf(first, sizeof(first), "%s", whorl_config_error(config));
	expect_text(first, "test.ini:2: group.name: is \"a b\"");
	expect_text(first, "test.ini:5: subgroup s.members: names node 2");
	expect_text(first, "test.ini:9: subgroup t.senders: names node 1, which is not a member");
	expect_text(first, "test.ini:11: engine.cpus: ");
	ck_assert_int_eq(whorl_open(config, 1, NULL, &node), WHORL_CONFIG);
	ck_assert_str_eq(whorl_config_error(config), first);
	whorl_config_free(config);
}

/* Nodes may enter some while they run. Views change as ever. */
TEST(a_group_may_have_no_subgroup)
{
	struct whorl_status *status = NULL;
	uint64_t bytes = 0;
	struct cluster c;

	cluster_configure(&c, 3, "", "");
	ck_ok(whorl_estimate(c.config, 0, &bytes));
	ck_assert_uint_gt(bytes, 0);
	for (unsigned id = 0; id < c.count; id++)
		cluster_open_node(&c, id);
	cluster_start(&c);
	ck_assert_ptr_null(whorl_subgroup_at(c.nodes[0], 0));
	ck_assert_int_eq(whorl_shard_state(c.nodes[0], "s", 0), WHORL_NOT_FOUND);
	ck_ok(whorl_status_of(c.config, 0, PATIENCE_MS, &status, NULL, 0));
	ck_assert_uint_eq(status->member_count, 3);
	ck_assert_uint_eq(status->shard_count, 0);
	whorl_status_free(status);
	cluster_leave(&c, 0);
	cluster_await_view(&c, 1);
	ck_ok(whorl_close(c.nodes[1], PATIENCE_MS));
	c.nodes[1] = NULL;
	cluster_free(&c);
}

/* Such a subgroup has no place in a view before a node has entered it: nodes without others, or with one, are as ever. */
TEST_LOOP(what_nodes_enter_has_no_place_of_the_file, 0, 2)
{
	static const char *const rest[] = {"[subgroup w]\nmembers = wish\n",
					   "[subgroup w]\nmembers = wish\nwindow = 32768\nmessage_bytes = 1g\n"
					   "[subgroup s]\n[subgroup x]\nmembers = wish\n"};
	struct cluster c;

	cluster_open(&c, 2, "", rest[_i]);
	cluster_record(&c, "s");
	cluster_start(&c);
	ck_assert_ptr_null(whorl_subgroup_find(c.nodes[0], "w"));
	ck_assert((whorl_subgroup_at(c.nodes[0], 0) == NULL) == (_i == 0));
	ck_assert_ptr_null(whorl_subgroup_at(c.nodes[0], 1));
	ck_assert_int_eq(whorl_shard_state(c.nodes[0], "w", 0), WHORL_AGAIN);
	ck_assert_int_eq(whorl_shard_state(c.nodes[0], "w", 1), WHORL_NOT_FOUND);
	if (_i == 1) {
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "x", 1, PATIENCE_MS, NULL));
		await(all_recorded(c.records, 2, 1), cluster_step(&c));
	}
	cluster_leave(&c, 0);
	cluster_await_view(&c, 1);
	cluster_free(&c);
}

TEST(settings_win_over_the_file)
{
	struct whorl_subgroup_info info = {.size = sizeof(info)};
	struct cluster c = {.config = whorl_config_new(), .count = 1};
	char name[64], set[128];

	ck_ok(whorl_config_ignore(c.config, "bench"));
	ck_ok(whorl_config_set(c.config, "subgroup orders.window=17"));
	ck_ok(whorl_config_load_text(c.config, "t",
				     "[bench]\nfoo = bar\n[group]\nnodes = 1\n[subgroup orders]\nwindow = 3\n"));
	snprintf(set, sizeof(set), "group.name=%s", group_name(name, sizeof(name)));
	ck_ok(whorl_config_set(c.config, set));
	ck_ok(whorl_config_set(c.config, "subgroup orders.message_bytes = 2k"));
	cluster_open_node(&c, 0);
	ck_ok(whorl_subgroup_describe(subgroup_of(&c, 0, "orders"), &info));
	ck_assert_uint_eq(info.window, 17);
	ck_assert_uint_eq(info.message_bytes, 2048);
	ck_assert_str_eq(info.name, "orders");
	ck_assert_int_eq(info.condition, WHORL_SHARD_GONE); /* there is no view yet */
	ck_ok(whorl_start(c.nodes[0]));
	ck_ok(whorl_ready(c.nodes[0], PATIENCE_MS));
	ck_ok(whorl_subgroup_describe(subgroup_of(&c, 0, "orders"), &info));
	ck_assert_uint_eq(info.members, 1);
	ck_assert_uint_eq(info.senders, 1);
	ck_assert_int_eq(info.sender, 0);
	cluster_free(&c);
}

TEST(a_sweep_is_not_for_one_node)
{
	whorl_config *config = config_of("[group]\nnodes = 1\n[subgroup s]\nwindow = 10, 20\n");
	whorl_node *node;

	ck_assert_int_eq(whorl_open(config, 0, NULL, &node), WHORL_CONFIG);
	expect_text(whorl_config_error(config), "lists");
	whorl_config_free(config);
}

TEST(files_are_read)
{
	whorl_config *config = whorl_config_new();

	ck_assert_int_eq(whorl_config_load_file(config, "/nowhere/at-all.ini"), WHORL_CONFIG);
	expect_text(whorl_config_error(config), "/nowhere/at-all.ini");
	whorl_config_free(config);
}

/* ---- opening --------------------------------------------------------------------------------------------------------------- */

TEST(an_id_is_one_of_the_group)
{
	struct whorl_open_options options = {.size = 0};
	struct cluster c;
	uint64_t bytes;

	cluster_configure(&c, 2, "", "[subgroup s]\n");
	ck_assert_int_eq(whorl_open(c.config, 2, NULL, &c.nodes[0]), WHORL_INVALID);
	expect_text(whorl_config_error(c.config), "there is no node 2, expected 0 to 1");
	ck_assert_ptr_null(c.nodes[0]);
	ck_assert_int_eq(whorl_estimate(c.config, 2, &bytes), WHORL_INVALID);
	ck_assert_int_eq(whorl_open(c.config, 0, &options, &c.nodes[0]), WHORL_INVALID);
	ck_assert_ptr_null(c.nodes[0]);
	cluster_open_node(&c, 1);
	ck_assert_uint_eq(whorl_node_id(c.nodes[1]), 1);
	ck_assert_uint_eq(whorl_node_count(c.nodes[1]), 0); /* there is no view yet */
	cluster_free(&c);
}

TEST(an_id_is_there_once)
{
	struct cluster c;
	whorl_node *twin;

	cluster_open(&c, 1, "", "[subgroup s]\n");
	ck_assert_int_eq(whorl_open(c.config, 0, NULL, &twin), WHORL_REFUSED);
	expect_text(whorl_config_error(c.config), "already running");
	ck_assert_ptr_null(twin);
	ck_ok(whorl_close(c.nodes[0], 0));
	ck_ok(whorl_open(c.config, 0, NULL, &c.nodes[0])); /* and free again */
	cluster_free(&c);
}

/* An operator's word is for a configured node, and for no other than the founder. (What it does: test_form.c.) */
TEST(a_configured_node_may_be_told_to_form_a_group)
{
	const struct whorl_open_options told = {.size = sizeof(told), .form = true};
	whorl_config *config = config_of("[group]\nname = told-to-form\nnodes = 2\nnodes_max = 3\n[subgroup s]\n");
	whorl_node *node;

	ck_assert_int_eq(whorl_open(config, 2, &told, &node), WHORL_INVALID);
	expect_text(whorl_config_error(config), "node 2 cannot be told to form a group: ids below 2");
	ck_assert_int_eq(whorl_open(config, 1, &told, &node), WHORL_OK);
	ck_ok(whorl_start(node));
	ck_ok(whorl_ready(node, PATIENCE_MS)); /* alone */
	ck_assert_uint_eq(whorl_node_count(node), 1);
	ck_ok(whorl_close(node, PATIENCE_MS));
	whorl_config_free(config);
	config = config_of("[group]\nname = told-to-form\nnodes = 2\nfounder = 0\n[subgroup s]\n");
	ck_assert_int_eq(whorl_open(config, 1, &told, &node), WHORL_INVALID);
	expect_text(whorl_config_error(config), "node 1 cannot be told to form a group: node 0 is its founder");
	whorl_config_free(config);
}

/* A directory that is not there, or a record that is none, is no start without a record. */
TEST(a_record_that_cannot_be_read)
{
	char directory[] = "/tmp/whorl-open-XXXXXX", path[80], text[300];
	whorl_config *config;
	whorl_node *node;
	FILE *file;

	ck_assert_ptr_nonnull(mkdtemp(directory));
	snprintf(text, sizeof(text),
		 "[group]\nname = recorded\ntransport = tcp\nnodes = 1\nstate_dir = %s\n[subgroup s]\n", directory);
	snprintf(path, sizeof(path), "%s/recorded.0.group", directory);
	file = fopen(path, "w");
	ck_assert_ptr_nonnull(file);
	fputs("whorl record 1\n", file);
	ck_assert_int_eq(fclose(file), 0);
	config = config_of(text);
	ck_assert_int_eq(whorl_open(config, 0, NULL, &node), WHORL_CONFIG);
	expect_text(whorl_config_error(config), "recorded.0.group is no record of node 0 of group recorded");
	ck_assert_int_eq(unlink(path), 0);
	ck_ok(whorl_open(config, 0, NULL, &node));
	ck_ok(whorl_start(node));
	ck_ok(whorl_ready(node, PATIENCE_MS));
	ck_ok(whorl_close(node, PATIENCE_MS));
	ck_assert_int_eq(unlink(path), 0); /* it has been written */
	ck_assert_int_eq(rmdir(directory), 0);
	ck_assert_int_eq(whorl_open(config, 0, NULL, &node), WHORL_SYSTEM);
	expect_text(whorl_config_error(config), "No such file or directory");
	whorl_config_free(config);
}

TEST(memory_is_estimated_and_limited)
{
	struct whorl_node_stats stats = {.size = sizeof(stats)};
	struct cluster c;
	uint64_t bytes, more;

	cluster_configure(&c, 2, "memory_max = 3m\n", "[subgroup s]\nwindow = 100\nmessage_bytes = 10240\n");
	ck_ok(whorl_estimate(c.config, 0, &bytes));
	ck_assert_uint_gt(bytes, 2 * 100 * 10240); /* this view and the next */
	ck_assert_uint_lt(bytes, 2 * 100 * 10240 + 200000);
	cluster_open_node(&c, 0);
	ck_ok(whorl_node_statistics(c.nodes[0], &stats));
	ck_assert_uint_eq(stats.memory_bytes, bytes);
	ck_ok(whorl_close(c.nodes[0], 0));
	ck_ok(whorl_config_set(c.config, "subgroup s.window=300"));
	ck_assert_int_eq(whorl_open(c.config, 0, NULL, &c.nodes[0]), WHORL_MEMORY);
	expect_text(whorl_config_error(c.config), "group.memory_max");
	ck_assert_ptr_null(c.nodes[0]);
	ck_ok(whorl_estimate(c.config, 0, &more)); /* too much is an answer as well */
	ck_assert_uint_gt(more, 300 * 10240);
	cluster_free(&c);
}

TEST(transports_that_cannot_be_had)
{
	const char *transports[] = {"verbs", "sim"}, *texts[] = {"RDMA device", "sim is for the tests"};

	for (int i = 0; i < 2; i++) {
		whorl_config *config = config_of("[group]\nnodes = 1\n[subgroup s]\n");
		enum whorl_result result;
		char set[64];
		whorl_node *node;

		snprintf(set, sizeof(set), "group.transport=%s", transports[i]);
		ck_ok(whorl_config_set(config, set));
		result = whorl_open(config, 0, NULL, &node);
		if (i == 0 && result == WHORL_OK) { /* this machine has such a device */
			whorl_close(node, 0);
		} else {
			ck_assert_int_eq(result, WHORL_UNSUPPORTED);
			expect_text(whorl_config_error(config), texts[i]);
		}
		whorl_config_free(config);
	}
}

/* On one host all members read one memory (docs/decisions/0074). */
TEST(no_relays_on_shared_memory)
{
	whorl_config *config = config_of("[group]\nnodes = 1\n[subgroup a]\n[subgroup s]\nrelay_bytes = 4096\n");
	whorl_node *node;

	ck_ok(whorl_config_set(config, "group.transport=shm"));
	ck_assert_int_eq(whorl_open(config, 0, NULL, &node), WHORL_CONFIG);
	ck_assert_ptr_null(node);
	expect_text(whorl_config_error(config), ":5: subgroup s.relay_bytes: is 4096, expected 0 with transport = shm");
	whorl_config_free(config);
	config = config_of("[group]\nnodes = 1\ntransport = tcp\n[subgroup a]\n[subgroup s]\nrelay_bytes = 4096\n");
	ck_ok(whorl_open(config, 0, NULL, &node));
	ck_ok(whorl_close(node, 0));
	whorl_config_free(config);
}

/* Its configuration does not say what it has. */
TEST(no_relays_in_a_world_that_has_none)
{
	const struct wh_world world = {.env = wh_env_system(), .create = wh_shm_create, .headers_apart = true};
	struct wh_node_subgroup subgroup = {.name = "s",
					    .options = {.members = "all",
							.senders = "all",
							.window = 8,
							.message_bytes = 4096,
							.relay_bytes = 4096,
							.shards = 1,
							.members_min = 1}};
	struct wh_node_config config = {
		.group = {.nodes = 1, .failure_timeout_ms = 1000, .start_timeout_ms = 1000, .memory_max = 1 << 30},
		.engine = {.cpus = "none"},
		.subgroup_count = 1,
		.subgroups = &subgroup,
	};
	struct wh_error err;
	whorl_node *node;

	snprintf(config.group.name, sizeof(config.group.name), "open-%d", (int)getpid());
	ck_assert_int_eq(wh_node_open(&config, 0, &world, NULL, &node, &err), WHORL_UNSUPPORTED);
	ck_assert_ptr_nonnull(strstr(err.text, "subgroup s.relay_bytes is not 0, and no member relays"));
	subgroup.options.relay_bytes = 0;
	ck_assert_int_eq(wh_node_open(&config, 0, &world, NULL, &node, &err), WHORL_OK);
	ck_ok(whorl_close(node, 0));
}

TEST(a_processor_that_is_not_there)
{
	struct cluster c;
	char text[256];

	cluster_open(&c, 1, "", "[subgroup s]\n[engine]\ncpus = 1023\n");
	ck_assert_int_eq(whorl_start(c.nodes[0]), WHORL_SYSTEM);
	ck_assert_int_eq(whorl_error(c.nodes[0], text, sizeof(text)), WHORL_SYSTEM);
	expect_text(text, "CPU 1023");
	ck_assert_int_eq(whorl_start(c.nodes[0]), WHORL_INVALID);
	ck_assert_int_eq(whorl_ready(c.nodes[0], 1000), WHORL_SYSTEM);
	cluster_free(&c);
	{
		whorl_config *config = config_of("[group]\nnodes = 1\n[subgroup s]\n[engine]\ncpus = 4294967295\n");
		whorl_node *node;

		ck_assert_int_eq(whorl_open(config, 0, NULL, &node), WHORL_CONFIG);
		expect_text(whorl_config_error(config), "engine.cpus: ");
		whorl_config_free(config);
	}
}

/* Two nodes that do not mean the same group find out, both of them, and say it. */
TEST(nodes_that_differ_refuse_each_other)
{
	struct cluster c;
	char text[512];

	cluster_configure(&c, 2, "", "[subgroup s]\nwindow = 10\n");
	cluster_open_node(&c, 0);
	ck_ok(whorl_config_set(c.config, "subgroup s.window=11"));
	cluster_open_node(&c, 1);
	for (unsigned id = 0; id < 2; id++)
		ck_ok(whorl_start(c.nodes[id]));
	for (unsigned id = 0; id < 2; id++) {
		ck_assert_int_eq(whorl_ready(c.nodes[id], PATIENCE_MS), WHORL_REFUSED);
		ck_assert_int_eq(whorl_error(c.nodes[id], text, sizeof(text)), WHORL_REFUSED);
		expect_text(text, "the [subgroup] sections differ");
		ck_assert_int_eq(whorl_send(subgroup_of(&c, id, "s"), "x", 1, 0, NULL), WHORL_REFUSED);
	}
	cluster_free(&c);
}

/* ---- the log ----------------------------------------------------------------------------------------------------- */

struct lines {
	atomic_ulong count, warnings;
	char first_warning[512];
};

static void keep_line(enum whorl_log_level level, const char *line, void *ctx)
{
	struct lines *lines = ctx;

	ck_assert_ptr_null(strchr(line, '\n'));
	if (level == WHORL_LOG_WARNING) {
		if (atomic_load(&lines->warnings) == 0)
			snprintf(lines->first_warning, sizeof(lines->first_warning), "%s", line);
		atomic_fetch_add(&lines->warnings, 1);
	}
	atomic_fetch_add(&lines->count, 1);
}

TEST(the_log_goes_where_it_is_sent)
{
	struct lines lines = {.count = 0}, later = {.count = 0};
	struct whorl_open_options options = {.size = sizeof(options), .log = keep_line, .log_ctx = &lines};
	struct cluster c;
	int living[2];
	pid_t child;

	cluster_configure(&c, 2, "", "[subgroup s]\n");
	ck_assert_int_eq(pipe(living), 0);
	child = fork();
	if (child == 0) {
		whorl_node *node;
		char byte;

		close(living[1]);
		_exit(whorl_open(c.config, 1, NULL, &node) != WHORL_OK || whorl_start(node) != WHORL_OK ||
		      read(living[0], &byte, 1) != 0); /* and dies without a word */
	}
	close(living[0]);
	ck_ok(whorl_open(c.config, 0, &options, &c.nodes[0]));
	whorl_set_log(c.nodes[0], keep_line, &later);
	whorl_set_log(c.nodes[0], keep_line, &lines);
	ck_ok(whorl_start(c.nodes[0]));
	ck_ok(whorl_ready(c.nodes[0], PATIENCE_MS));
	close(living[1]);
	await(atomic_load(&lines.warnings) > 0, sched_yield());
	expect_text(lines.first_warning, "node 0: node 1 (pid ");
	ck_assert_uint_eq(later.count, 0);
	waitpid(child, NULL, 0);
	cluster_free(&c);
}

/* ---- statistics -------------------------------------------------------------------------------------------------- */

/* A program compiled with a shorter struct gets what it knows, and nothing is written behind it. */
TEST(statistics_have_the_size_that_is_asked_for)
{
	struct whorl_subgroup_info info = {.size = offsetof(struct whorl_subgroup_info, window)};
	struct whorl_node_stats stats, whole = {.size = sizeof(whole)};
	struct whorl_subgroup_stats subgroup_stats;
	struct cluster c;

	cluster_open(&c, 1, "", "[subgroup s]\n[engine]\nthread = caller\n");
	cluster_start(&c);
	memset(&stats, 0xee, sizeof(stats));
	stats.size = offsetof(struct whorl_node_stats, idle_steps);
	ck_ok(whorl_node_statistics(c.nodes[0], &stats));
	ck_assert_uint_gt(stats.steps, 0);
	ck_assert_uint_eq(stats.idle_steps, UINT64_C(0xeeeeeeeeeeeeeeee));
	stats.size = 0;
	ck_assert_int_eq(whorl_node_statistics(c.nodes[0], &stats), WHORL_INVALID);
	memset(&subgroup_stats, 0xee, sizeof(subgroup_stats));
	subgroup_stats.size = offsetof(struct whorl_subgroup_stats, sent);
	ck_ok(whorl_subgroup_statistics(subgroup_of(&c, 0, "s"), &subgroup_stats));
	ck_assert_uint_eq(subgroup_stats.claimed, 0);
	ck_assert_uint_eq(subgroup_stats.sent, UINT64_C(0xeeeeeeeeeeeeeeee));
	subgroup_stats.size = 0;
	ck_assert_int_eq(whorl_subgroup_statistics(subgroup_of(&c, 0, "s"), &subgroup_stats), WHORL_INVALID);
	info.window = 5;
	ck_ok(whorl_subgroup_describe(subgroup_of(&c, 0, "s"), &info));
	ck_assert_uint_eq(info.window, 5);
	ck_ok(whorl_node_statistics(c.nodes[0], &whole));
	ck_assert_uint_eq(whole.pushes, whole.heartbeats);
	cluster_free(&c);
}

TEST(statistics_count)
{
	struct whorl_subgroup_stats stats;
	struct whorl_node_stats node_stats = {.size = sizeof(node_stats)};
	struct cluster c;

	cluster_open(&c, 2, "failure_timeout_ms = 600000\n",
		     "[subgroup s]\nsenders = one\n[engine]\nthread = caller\n");
	cluster_record(&c, "s");
	cluster_start(&c);
	for (int i = 0; i < 3; i++)
		ck_ok(whorl_send(subgroup_of(&c, 0, "s"), "four", 4, 0, NULL));
	await(all_recorded(c.records, 2, 3), cluster_step(&c));
	for (int i = 0; i < 10; i++)
		cluster_step(&c);
	stats = stats_of(subgroup_of(&c, 0, "s"));
	ck_assert_uint_eq(stats.claimed, 3);
	ck_assert_uint_eq(stats.sent, 3);
	ck_assert_uint_eq(stats.aborted, 0);
	ck_assert_uint_eq(stats.nulls, 0);
	ck_assert_uint_eq(stats.delivered, 3);
	ck_assert_uint_eq(stats.delivered_bytes, 12);
	ck_assert_uint_eq(stats.received_num, 3);
	ck_assert_uint_eq(stats.delivered_num, 3);
	ck_assert_uint_eq(stats.send.events, 3);
	ck_assert_uint_eq(stats.send.batches, 1); /* all three were there when the loop came by */
	ck_assert_uint_eq(stats.send.histogram[1], 1);
	ck_ok(whorl_node_statistics(c.nodes[0], &node_stats));
	/* Headers, payloads, guard, received_num, delivered_num; each to one peer; and a heartbeat or two. */
	ck_assert_uint_eq(node_stats.pushes, 5 + node_stats.heartbeats);
	ck_assert_uint_eq(node_stats.writes, 5 + node_stats.heartbeats);
	cluster_free(&c);
}

TEST_SUITE("group: open")
