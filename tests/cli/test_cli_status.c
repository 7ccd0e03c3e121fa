/* test_cli_status.c - `whorl status`: what it sees of groups that form, lose members, wait; and its exit status. */
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/cli/nodes.h"
#include "tests/cli/results.h"
#include "tests/harness.h"
#include "tools/status.h"

static struct nodes nodes;
static struct cli status;
static const char *asked; /* the group's name, or its file */

static void setup(void)
{
	/* On shared memory a death has a proof, so only a node that stands still would wait for it; and that one is to be seen. */
	nodes_open(&nodes, "failure_timeout_ms = 60000",
		   "[subgroup pair]\nmembers = 1,2\nsenders = one\nmode = unordered\n");
	asked = nodes.name;
}

static void teardown(void)
{
	cli_free(&status);
	nodes_close(&nodes);
}

static void start_three(void)
{
	for (int id = 0; id < 3; id++)
		NODES_START(&nodes, id, "--rate", "100");
	for (int id = 0; id < 3; id++)
		nodes_await(&nodes, id, "ready after");
}

static void ask(const char *const *more)
{
	const char *all[16] = {"status", asked, "--timeout",
			       "10000"}; /* a busy node answers late; of two the last counts */
	size_t count = 4;

	while (*more != NULL)
		all[count++] = *more++;
	cli_free(&status);
	cli_run(&status, &nodes.dir, all);
}
#define ASK(...) ask((const char *const[]){__VA_ARGS__, NULL})

static size_t shows(const char *words)
{
	return CLI_LINES_WITH(status.out, words);
}

/* Asks again and again until it ends like that and shows this. */
struct expected {
	int exit;
	const char *words;
};

static bool is_seen(void *ctx)
{
	const struct expected *expected = ctx;

	ASK(NULL);
	return status.status == expected->exit && shows(expected->words) > 0;
}

static void tell_seen(void *ctx)
{
	(void)ctx;
	printf("the last that `whorl status` has said, with status %d:\n%s%s", status.status, status.out, status.err);
}

/* Of a figure that stands in no line by itself: what must be so is told by `holds`, which asks. */
static void await_answer(bool (*holds)(void *ctx), const char *what)
{
	cli_await_telling(NULL, holds, tell_seen, NULL, what);
}

static void await_status(int exit_status, const char *words)
{
	struct expected expected = {exit_status, words};

	cli_await_telling(NULL, is_seen, tell_seen, &expected, words);
}

/* ---- what there is ----------------------------------------------------------------------------------------------- */

TEST_CASE("status", .timeout_s = 25, .setup = setup, .teardown = teardown);

TEST(nobody)
{
	ASK(NULL);
	CLI_ENDED(&status, 3);
	ck_assert_str_eq(status.out, "");
	ck_assert_uint_eq(CLI_LINES_WITH(status.err, "no node of", nodes.name), 1);
	ASK("--node", "3");
	CLI_ENDED(&status, 3);
	ck_assert_uint_eq(CLI_LINES_WITH(status.err, "no node 3 of", nodes.name), 1);
	ASK("--json");
	CLI_ENDED(&status, 3);
	ck_assert_str_eq(status.out, "");
}

TEST(a_group_in_order)
{
	start_three();
	await_status(0, "view 0, members 0 1 2, leader 0, a quorum is 2");
	ck_assert_uint_eq(shows("wrong:"), 0);
	ck_assert_uint_eq(shows("  member  "), 3);
	ck_assert_uint_eq(shows("orders: ordered, window 20, messages up to 4096 bytes, 1024 in a slot"), 1);
	ck_assert_uint_eq(shows("pair: unordered"), 1);
	ck_assert_uint_eq(shows("as node 1 sees it"), 1); /* the leader is not in it */
	ck_assert_str_eq(status.err, "");
	cli_free(&status);
	CLI_RUN(&status, &nodes.dir, "status", nodes.ini); /* the name from the file */
	CLI_ENDED(&status, 0);
	ck_assert_uint_eq(shows("members 0 1 2"), 1);
}

TEST(one_node)
{
	start_three();
	ASK("--node", "1");
	CLI_ENDED(&status, 0);
	ck_assert_uint_eq(shows("incarnation"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "came in: met ", " ms"), 1);
	ck_assert_uint_eq(shows("last change of view: -"), 1); /* there was none */
	ck_assert_uint_eq(shows("loop:"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "   1  member"), 1);
	ASK("--node", "1", "--json");
	ck_assert_uint_eq(shows(""), 1);
}

/* ---- logs, disks and restarts -------------------------------------------------------------------------------------- */

/* The same three, and `orders` is durable; on tcp, where of three nodes one is no quorum. What they wait for each other, when they begin and
 * when they come back. */
static void make_durable(int start_ms)
{
	char ini[1024], logs[512];

	snprintf(logs, sizeof logs, "%s", cli_path(&nodes.dir, "logs"));
	ck_assert(mkdir(logs, 0777) == 0 || errno == EEXIST);
	snprintf(ini, sizeof ini,
		 "[group]\nname = %s\nnodes = 3\ntransport = tcp\nlog_dir = %s\ndisk_timeout_ms = 60000\n"
		 "failure_timeout_ms = %d\nstart_timeout_ms = %d\n"
		 "[subgroup orders]\nmode = durable\nwindow = 20\nmessage_bytes = 1k\n",
		 nodes.name, logs, (int)test_patience(5000), start_ms);
	cli_write(&nodes.dir, "group.ini", ini);
	asked = nodes.ini;
}

static void remove_logs(void)
{
	char command[600];

	snprintf(command, sizeof command, "rm -rf '%s'", cli_path(&nodes.dir, "logs"));
	ck_assert_int_eq(system(command), 0);
}

/* A node is ready before its log has a byte. */
static bool all_have_written(void *ctx)
{
	(void)ctx;
	ASK(NULL);
	return status.status == 0 && CLI_LINES_WITH(status.out, "  yes  ", " MB ", " ms ") == 3;
}

static bool all_say_what_is_written(void *ctx)
{
	(void)ctx;
	ASK("--json");
	return status.status == 0 && CLI_LINES_WITH(status.out, "\"written_messages\":") == 3 &&
	       shows("\"written_messages\":0,") == 0 && shows("\"persisted_by_all\":0,") == 0;
}

TEST(logs_and_a_restart)
{
	make_durable(60000);
	start_three();
	await_status(0, "orders: durable, window 20, messages up to 1024 bytes");
	await_answer(all_have_written, "a log of some size at each node");
	ck_assert_msg(CLI_LINES_WITH(status.out, " log  whole ", "on disk to", "on all to", "a sync has") == 1, "%s",
		      status.out);
	await_answer(all_say_what_is_written, "what each node has written");
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "\"mode\":\"durable\"", "\"persisted_by_all\":",
					 "\"written_messages\":", "\"disk\":{\"busy_ms\":", "\"restart\":null"),
			  3);
	for (int id = 0; id < 3; id++) /* none makes a view without another */
		nodes_stop(&nodes, id);
	for (int id = 0; id < 3; id++)
		nodes_end(&nodes, id, SIGKILL);
	make_durable(1000); /* two of them will do */
	NODES_START(&nodes, 1, "--run", "none");
	await_status(1, "a restart from logs, by node 1: asks; of the members of view 0 missing: 0, 2");
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "wrong: the group is restarted from its logs",
					 "view 0 have not come back with their disks: node 0, 2"),
			  1);
	ASK("--json");
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "\"restart\":{\"step\":\"asks\",\"coordinator\":1,\"view\":0,"
						     "\"missing\":[{\"node\":0,\"address\":\"\"},{\"node\":2,"),
			  1);
	NODES_START(&nodes, 0, "--run", "none");
	await_status(0, "members 0 1");
	ck_assert_uint_eq(shows("restart"), 0);
	remove_logs();
}

/* ---- the workers of delegation ----------------------------------------------------------------------------------- */

static struct whorl_node_stats node_stats = {.size = sizeof node_stats};
static struct whorl_status_worker now_workers[] = {
	{.open_ns = 4000,
	 .calls = 700,
	 .lent_calls = 200,
	 .batches = 40,
	 .batch_calls = 500,
	 .functions_ns = 2000,
	 .looking_ns = 1000},
	{.open_ns = 4000, .looking_ns = 5000, .properties = 31, .fibers = 17},
};
static struct whorl_status_worker then_workers[] = {{.open_ns = 3000, .functions_ns = 1900, .looking_ns = 250}};
static struct whorl_status now_status = {.id = 1, .stats = &node_stats, .worker_count = 2, .workers = now_workers};
static struct whorl_status then_status = {.id = 1, .stats = &node_stats, .worker_count = 1, .workers = then_workers};

static void report_of(struct wh_report *report, struct whorl_status *of)
{
	*report = (struct wh_report){.only = -1};
	for (uint32_t id = 0; id < WH_NODES_MAX; id++)
		report->nodes[id].result = WHORL_NOT_FOUND;
	report->nodes[of->id].result = WHORL_OK;
	report->nodes[of->id].status = of;
}

/* What is printed of node 1 as it is now; it is to be freed. */
static char *print_now(bool json, bool watches)
{
	static struct wh_report now, before;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	report_of(&now, &now_status);
	report_of(&before, &then_status);
	if (json)
		wh_report_print_json(out, &now);
	else
		wh_report_print(out, &now, watches ? &before : NULL);
	fclose(out);
	return text;
}

#define PRINTS(json, watches, ...)                                                                                     \
	do {                                                                                                           \
		char *text_ = print_now(json, watches);                                                                \
		ck_assert_msg(CLI_LINES_WITH(text_, __VA_ARGS__) == 1, "%s", text_);                                   \
		free(text_);                                                                                           \
	} while (0)

static char *print_status(bool json, struct whorl_status *of)
{
	static struct wh_report report;
	char *text = NULL;
	size_t bytes;
	FILE *out = open_memstream(&text, &bytes);

	report_of(&report, of);
	if (of->member_count > 0)
		report.speaker = of;
	if (json)
		wh_report_print_json(out, &report);
	else
		wh_report_print(out, &report, NULL);
	fclose(out);
	return text;
}

static void collect_line(void *ctx, const char *line)
{
	char *text = ctx;

	snprintf(text + strlen(text), 1024 - strlen(text), "%s\n", line);
}

#define SHOWS(text, ...) ck_assert_msg(CLI_LINES_WITH(text, __VA_ARGS__) == 1, "%s", text)

/* What is wrong with it is in `wrong`. */
static void judge_status(struct whorl_status *of, char wrong[1024])
{
	static struct wh_report report;

	report_of(&report, of);
	if (of->member_count > 0)
		report.speaker = of;
	wrong[0] = '\0';
	wh_report_judge(&report, collect_line, wrong);
}

static bool all_have_relayed(void *ctx)
{
	(void)ctx;
	ASK("--json");
	return CLI_LINES_WITH(status.out, "\"relay_bytes\":8", "\"relayed\":", "\"relayed_bytes\":") == 3 &&
	       shows("\"relayed\":0,") == 0;
}

/* The same three, and members relay: each but the last in a chain has passed something on, and of three senders each has a chain. */
TEST(relays)
{
	char ini[1024];

	snprintf(ini, sizeof ini,
		 "[group]\nname = %s\nnodes = 3\ntransport = tcp\nfailure_timeout_ms = %d\nstart_timeout_ms = 60000\n"
		 "[subgroup orders]\nwindow = 20\nmessage_bytes = 1k\nrelay_bytes = 8\n",
		 nodes.name, (int)test_patience(5000));
	cli_write(&nodes.dir, "group.ini", ini);
	asked = nodes.ini;
	start_three();
	await_status(0, "orders: ordered, window 20, messages up to 1024 bytes, relayed from 8 on");
	ck_assert_msg(CLI_LINES_WITH(status.out, "relay  ", "slots", "of bytes") == 1, "%s", status.out);
	ck_assert_msg(shows("B          -") == 3, "%s", status.out);
	await_answer(all_have_relayed, "all have relayed something");
	for (int id = 0; id < 3; id++)
		nodes_end(&nodes, id, SIGKILL);
}

TEST(a_restart_names_who_is_missing)
{
	struct whorl_status_missing missing[] = {{.id = 0, .address = "hosta:7000"}, {.id = 3, .address = ""}};
	struct whorl_status of = {.id = 1,
				  .stats = &node_stats,
				  .restart = WHORL_RESTART_ASKS,
				  .coordinator = 1,
				  .restart_view = 7,
				  .missing_count = 2,
				  .missing = missing};
	char wrong[1024], *text = print_status(false, &of);

	SHOWS(text, "a restart from logs, by node 1: asks; of the members of view 7 missing: 0 (hosta:7000), 3");
	free(text);
	text = print_status(true, &of);
	SHOWS(text, "\"missing\":[{\"node\":0,\"address\":\"hosta:7000\"},{\"node\":3,\"address\":\"\"}]");
	free(text);
	judge_status(&of, wrong);
	SHOWS(wrong, "members of view 7 have not come back with their disks: node 0 (hosta:7000), 3");
}

/* A disk that tries again is wrong, and so is one that does not answer for a quarter of its time-out. */
TEST(disks_that_are_waited_for)
{
	struct whorl_status_place places[] = {{.id = 1, .received_num = 20, .delivered_num = 20, .persisted_num = 20},
					      {.id = 2, .received_num = 30, .delivered_num = 20, .persisted_num = 30}};
	struct whorl_status_member members[] = {{.id = 1}, {.id = 2}};
	struct whorl_subgroup_stats stats = {.delivered = 20};
	struct whorl_log_stats log = {.persisted = 20,
				      .persisted_by_all = 19,
				      .segments = 2,
				      .bytes = 3 << 20,
				      .syncs = 5,
				      .longest_sync_ns = 1500000,
				      .written_batches = 4,
				      .written_messages = 10,
				      .written_bytes = 4000};
	struct whorl_status_shard shard = {.name = "orders",
					   .ordered = true,
					   .durable = true,
					   .members = 2,
					   .senders = 2,
					   .window = 8,
					   .message_bytes = 64,
					   .stats = &stats,
					   .place_count = 2,
					   .places = places,
					   .log = &log};
	struct whorl_status of = {.id = 1,
				  .stats = &node_stats,
				  .standing = WHORL_IS_MEMBER,
				  .ready = true,
				  .quorum = true,
				  .member_count = 2,
				  .members = members,
				  .shard_count = 1,
				  .shards = &shard,
				  .disk_full_ms = 300,
				  .disk_timeout_ms = 5000};
	char wrong[1024], *text = print_status(false, &of);

	SHOWS(text, "  its disk is full, for 300 ms");
	SHOWS(text, "   1 ", "  all wait for its disk");
	SHOWS(text, "   1  not yet ", "2.5 ", "1.500 ms");
	free(text);
	judge_status(&of, wrong);
	SHOWS(wrong, "the disk of node 1 has been full for 300 ms: it tries again, and leaves after 5000 ms");
	of.disk_full_ms = 0;
	of.disk_busy_ms = 1249;
	judge_status(&of, wrong);
	ck_assert_uint_eq(CLI_LINES_WITH(wrong, "disk"), 0);
	of.disk_busy_ms = 1250;
	judge_status(&of, wrong);
	SHOWS(wrong, "the disk of node 1 has not answered for 1250 ms");
	text = print_status(true, &of);
	SHOWS(text, "\"disk\":{\"busy_ms\":1250,\"full_ms\":0,\"timeout_ms\":5000}", "\"written_messages\":10",
	      "\"whole\":false", "\"persisted_num\":20");
	free(text);
}

TEST(workers)
{
	PRINTS(false, false,
	       "node  worker        calls         lent    batch  functions    looking properties   fibers");
	PRINTS(false, false,
	       "   1       0          700          200     12.5     50.0 %     25.0 %          0        0");
	PRINTS(false, false,
	       "   1       1            0            0        -      0.0 %    100.0 %         31       17");
	/* With --watch shares are of the time since the report before; what was not there then is taken whole. */
	PRINTS(false, true,
	       "   1       0          700          200     12.5     10.0 %     75.0 %          0        0");
	PRINTS(false, true,
	       "   1       1            0            0        -      0.0 %    100.0 %         31       17");
	PRINTS(true, false,
	       "\"workers\":[{\"worker\":0,\"open_ns\":4000,\"calls\":700,\"lent_calls\":200,\"batches\":40,"
	       "\"batch_calls\":500,\"largest_batch\":0,\"deferred\":0,\"refused\":0,\"functions_ns\":2000,"
	       "\"looking_ns\":1000,\"properties\":0,\"fibers\":0,\"fibers_started\":0,\"passes\":0,\"sleeps\":0},"
	       "{\"worker\":1,");
}

TEST(no_workers)
{
	start_three();
	await_status(0, "members 0 1 2");
	ck_assert_uint_eq(shows("delegation"), 0);
	ck_assert_uint_eq(shows("worker"), 0);
	ASK("--json");
	ck_assert_uint_eq(shows("\"workers\":[]"), 3);
}

/* ---- what happens ------------------------------------------------------------------------------------------------ */

TEST(one_is_killed_and_comes_back)
{
	start_three();
	ck_assert_int_eq(nodes_end(&nodes, 0, SIGKILL), 128 + SIGKILL);
	await_status(0, "members 1 2, leader 1, a quorum is 2");
	ASK("--node", "1");
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "last change of view:", "installed ", " ms"), 1);
	NODES_START(&nodes, 0, "--rate", "100");
	await_status(0, "members 1 2 0, leader 1, a quorum is 2");
	nodes_await(&nodes, 0, "ready after");
	ck_assert_int_eq(nodes_end(&nodes, 0, SIGTERM), 0);
	await_status(0, "members 1 2, leader 1");
}

/* In the time that is given to the one that will not; on a busy machine not at once. */
static bool only_two_answer(void *ctx)
{
	(void)ctx;
	ASK("--timeout", "200");
	return shows("  member  ") == 2;
}

TEST(one_stands_still)
{
	start_three();
	nodes_stop(&nodes, 2);
	await_answer(only_two_answer, "two nodes that answer, and one that does not");
	CLI_ENDED(&status, 1);
	CLI_WROTE(&status, out, 1, "   2  silent");
	CLI_WROTE(&status, out, 1, "wrong: node 2 is there and does not answer");
	CLI_WROTE(&status, out, 1, "members 0 1 2");
	ASK("--timeout", "200", "--json");
	CLI_ENDED(&status, 1);
	CLI_WROTE(&status, out, 1, "\"node\":2,\"answer\":\"silent\"");
	ck_assert_uint_eq(CLI_LINES_WITH(status.err, "node 2 is there"), 1);
	nodes_signal(&nodes, 2, SIGCONT);
	await_status(0, "members 0 1 2");
}

/* Both stand still before either ends: of two that are killed one after the other the second may live, on a busy machine, until
 * it has made a view with the survivor, and then the first is no member of it. On a network, where the survivor cannot know that
 * they are dead. */
TEST(a_minority)
{
	char ini[512];

	snprintf(ini, sizeof ini,
		 "[group]\nname = %s\nnodes = 3\nstart_timeout_ms = 60000\ntransport = tcp\nfailure_timeout_ms = %d\n"
		 "[subgroup orders]\n",
		 nodes.name, (int)test_patience(3000));
	cli_write(&nodes.dir, "group.ini", ini);
	asked = nodes.ini;
	start_three();
	nodes_stop(&nodes, 0);
	nodes_stop(&nodes, 1);
	nodes_signal(&nodes, 0, SIGKILL);
	nodes_signal(&nodes, 1, SIGKILL);
	await_status(1, "wrong: node 2 hears no quorum");
	await_status(1, "   0  gone"); /* the killed die soon, not at once */
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "wrong: node 0 is a member of view 0, and is not running"), 1);
	ck_assert_uint_eq(shows("which is not heard"), 1);
}

TEST(no_view)
{
	NODES_START(&nodes, 1, "--run", "none");
	await_status(1, "   1  forming");
	ck_assert_uint_eq(shows("wrong: there is no view: nobody is a member"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "   1  forming", "missing: 0 2"), 1);
	ASK("--json");
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "\"standing\":\"forming\"", "\"view\":null"), 1);
}

/* ---- nodes that cannot be asked ---------------------------------------------------------------------------------- */

/* A listener with a full queue answers no call, as a host that is down: nothing says that a node is there. */
TEST(a_host_that_is_not_reached)
{
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof here;
	int listener = socket(AF_INET, SOCK_STREAM, 0), callers[8];
	char address[32];

	ck_assert_int_eq(bind(listener, (const struct sockaddr *)&here, bytes), 0);
	ck_assert_int_eq(listen(listener, 0), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&here, &bytes), 0);
	for (int i = 0; i < 8; i++) {
		callers[i] = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
		(void)!connect(callers[i], (const struct sockaddr *)&here, bytes);
	}
	snprintf(address, sizeof address, "127.0.0.1:%d", ntohs(here.sin_port));
	CLI_RUN(&status, &nodes.dir, "status", address, "--timeout=300");
	CLI_ENDED(&status, 1);
	ck_assert_msg(shows("   0  unreached") == 1, "%s", status.out);
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "wrong: ", address, "cannot be reached"), 1);
	ck_assert_uint_eq(shows("is there"), 0);
	ck_assert_uint_eq(shows("nobody is a member"), 0); /* that is unknown */
	cli_free(&status);
	CLI_RUN(&status, &nodes.dir, "status", address, "--timeout=300", "--json");
	ck_assert_uint_eq(shows("\"answer\":\"unreached\""), 1);
	for (int i = 0; i < 8; i++)
		close(callers[i]);
	close(listener);
}

/* It is connected to, and says nothing: its kernel does that much. */
TEST_LOOP(a_group_on_a_network_is_asked_at_the_addresses_of_its_file, 0, 2)
{
	static const char *const transports[] = {"tcp", "verbs"};
	struct sockaddr_in here = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof here;
	int listener = socket(AF_INET, SOCK_STREAM, 0);
	char ini[256];

	ck_assert_int_eq(bind(listener, (const struct sockaddr *)&here, bytes), 0);
	ck_assert_int_eq(listen(listener, 8), 0);
	ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&here, &bytes), 0);
	snprintf(ini, sizeof ini,
		 "[group]\nname = %s\nnodes = 1\ntransport = %s\n[node 0]\naddress = 127.0.0.1:%d\n[subgroup orders]\n",
		 nodes.name, transports[_i], ntohs(here.sin_port));
	cli_write(&nodes.dir, "group.ini", ini);
	CLI_RUN(&status, &nodes.dir, "status", nodes.ini, "--timeout=300");
	CLI_ENDED(&status, 1);
	ck_assert_msg(shows("   0  silent") == 1, "%s", status.out);
	close(listener);
}

TEST(a_group_with_a_key)
{
	char ini[768], key[512];

	snprintf(key, sizeof key, "%s", cli_write(&nodes.dir, "key", "sixteen bytes of a key"));
	ck_assert_int_eq(chmod(key, 0600), 0);
	snprintf(ini, sizeof ini, "[group]\nname = %s\nnodes = 1\ntransport = tcp\nkey_file = %s\n[subgroup orders]\n",
		 nodes.name, key);
	cli_write(&nodes.dir, "group.ini", ini);
	NODES_START(&nodes, 0, "--run", "none");
	nodes_await(&nodes, 0, "ready after");
	ASK(NULL);
	CLI_ENDED(&status, 1);
	ck_assert_msg(shows("   0  refused") == 1, "%s", status.out);
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "wrong: ", "has a cluster key (key_file), a query has none"), 1);
	ck_assert_uint_eq(CLI_LINES_WITH(status.out, "wrong: ", "ask with its file"), 1);
	ck_assert_uint_eq(shows("nobody is a member"), 0); /* that is unknown */
	cli_free(&status);
	CLI_RUN(&status, &nodes.dir, "status", nodes.ini);
	CLI_ENDED(&status, 0);
	ck_assert_uint_eq(shows("   0  member"), 1);
	ck_assert_msg(CLI_LINES_WITH(status.out, "complaints of node 0: unproven ") == 1, "%s", status.out);
	ck_assert_uint_eq(shows("wrong:"), 0); /* it has turned away what it should */
	ck_assert_uint_eq(shows("starved"), 0);
}

/* Callers that say nothing are counted: in a line of its own, and in JSON. */
TEST(a_crowd_at_the_door)
{
	struct sockaddr_in there = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t bytes = sizeof there;
	int port = socket(AF_INET, SOCK_STREAM, 0), callers[3];
	json_t *answers;
	char ini[512];

	ck_assert_int_eq(bind(port, (const struct sockaddr *)&there, bytes), 0);
	ck_assert_int_eq(getsockname(port, (struct sockaddr *)&there, &bytes), 0);
	close(port);
	snprintf(ini, sizeof ini,
		 "[group]\nname = %s\nnodes = 1\ntransport = tcp\n[node 0]\naddress = 127.0.0.1:%d\n[subgroup orders]\n",
		 nodes.name, ntohs(there.sin_port));
	cli_write(&nodes.dir, "group.ini", ini);
	NODES_START(&nodes, 0, "--run", "none");
	nodes_await(&nodes, 0, "ready after");
	CLI_RUN(&status, &nodes.dir, "status", nodes.ini);
	CLI_ENDED(&status, 0);
	ck_assert_uint_eq(shows("complaints"), 0);
	for (int i = 0; i < 3; i++) {
		char word;

		callers[i] = socket(AF_INET, SOCK_STREAM, 0);
		ck_assert_int_eq(connect(callers[i], (const struct sockaddr *)&there, bytes), 0);
		if (i == 2)
			ck_assert_int_eq(send(callers[i], "GET / HTTP/1.0\r\n", 16, MSG_NOSIGNAL), 16);
		ck_assert_int_le(recv(callers[i], &word, 1, 0), 0); /* it is hung up */
		close(callers[i]);
	}
	cli_free(&status);
	CLI_RUN(&status, &nodes.dir, "status", nodes.ini);
	CLI_ENDED(&status, 0);
	ck_assert_msg(CLI_LINES_WITH(status.out, "complaints of node 0: garbled 1, silent 2") == 1, "%s", status.out);
	cli_free(&status);
	CLI_RUN(&status, &nodes.dir, "status", nodes.ini, "--json");
	answers = results_parse(status.out);
	ck_assert_int_eq(json_integer_value(results_at(json_array_get(answers, 0), "stats.complaints.silent")), 2);
	ck_assert_int_eq(json_integer_value(results_at(json_array_get(answers, 0), "stats.complaints.crowded")), 0);
	json_decref(answers);
}

/* ---- JSON -------------------------------------------------------------------------------------------------------- */

/* Every key that docs/operations.md lists, of one node. */
TEST(json)
{
	static const char *const keys[] = {"time_ms",
					   "group",
					   "node",
					   "answer",
					   "text",
					   "version",
					   "pid",
					   "incarnation",
					   "standing",
					   "ready",
					   "progress",
					   "error",
					   "failure_timeout_ms",
					   "view.number",
					   "view.members.2.node",
					   "view.members.2.incarnation",
					   "view.members.2.heard_ms",
					   "view.members.2.suspicion",
					   "view.members.2.overdue",
					   "view.leader",
					   "view.tie_breaker",
					   "view.voters",
					   "view.quorum",
					   "view.change",
					   "view.change_ms",
					   "shards.1.subgroup",
					   "shards.1.shard",
					   "shards.1.shards",
					   "shards.1.mode",
					   "shards.1.member",
					   "shards.1.active",
					   "shards.1.lost",
					   "shards.1.members",
					   "shards.1.senders",
					   "shards.1.resting",
					   "shards.1.window",
					   "shards.1.message_bytes",
					   "shards.1.places",
					   "shards.0.places.1.node",
					   "shards.0.places.1.sends",
					   "shards.0.places.1.rests",
					   "shards.0.places.1.received_num",
					   "shards.0.places.1.delivered_num",
					   "shards.0.stats.claimed",
					   "shards.0.stats.sent",
					   "shards.0.stats.aborted",
					   "shards.0.stats.resent",
					   "shards.0.stats.dropped",
					   "shards.0.stats.in_doubt",
					   "shards.0.stats.open_claim",
					   "shards.0.stats.delivered",
					   "shards.0.stats.delivered_bytes",
					   "shards.0.stats.nulls",
					   "shards.0.stats.received_num",
					   "shards.0.stats.delivered_num",
					   "shards.0.stats.window_full",
					   "shards.0.stats.window_wait_ns",
					   "shards.0.stats.upcall_longest_ns",
					   "shards.0.stats.slowest_member",
					   "shards.0.stats.slowest_behind",
					   "shards.0.stats.send.batches",
					   "shards.0.stats.receive.events",
					   "shards.0.stats.deliver.mean",
					   "shards_left_off",
					   "stats.steps",
					   "stats.idle_steps",
					   "stats.yields",
					   "stats.sleeps",
					   "stats.pushes",
					   "stats.writes",
					   "stats.bytes_pushed",
					   "stats.posts",
					   "stats.post_ns",
					   "stats.heartbeats",
					   "stats.memory_bytes",
					   "stats.views",
					   "stats.state_given",
					   "stats.state_taken",
					   "stats.state_kept",
					   "stats.gives",
					   "stats.takes",
					   "stats.complaints.unproven",
					   "stats.complaints.foreign",
					   "stats.complaints.garbled",
					   "stats.complaints.silent",
					   "stats.complaints.crowded",
					   "stats.complaints.refused",
					   "stats.complaints.unreached",
					   "stats.complaints.starved",
					   "stats.change_ns.wedged",
					   "stats.change_ns.delivered",
					   "stats.entry_ns.met",
					   "stats.entry_ns.restored"};
	json_t *answers, *answer;

	start_three();
	ASK("--json");
	CLI_ENDED(&status, 0);
	answers = results_parse(status.out);
	ck_assert_uint_eq(json_array_size(answers), 3);
	answer = json_array_get(answers, 0);
	for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++)
		results_at(answer, keys[i]);
	for (size_t id = 0; id < 3; id++) {
		answer = json_array_get(answers, id);
		ck_assert_int_eq(json_integer_value(results_at(answer, "node")), (json_int_t)id);
		ck_assert_str_eq(json_string_value(results_at(answer, "group")), nodes.name);
		ck_assert_str_eq(json_string_value(results_at(answer, "answer")), "ok");
		ck_assert_int_eq(json_integer_value(results_at(answer, "pid")), nodes.of[id].cli.pid);
		ck_assert_int_eq(json_integer_value(results_at(answer, "view.leader")), 0);
		ck_assert(json_is_null(results_at(answer, "view.tie_breaker")));
		ck_assert_int_eq(json_boolean_value(results_at(answer, "shards.1.member")), id > 0);
		ck_assert_uint_eq(json_array_size(results_at(answer, "shards.1.places")), id > 0 ? 2 : 0);
		/* Of its own incarnation all say the same. */
		ck_assert_str_eq(json_string_value(results_at(answer, "view.members.1.incarnation")),
				 json_string_value(results_at(json_array_get(answers, 1), "incarnation")));
	}
	json_decref(answers);
}

/* ---- again and again --------------------------------------------------------------------------------------------- */

struct rounds {
	struct cli *cli;
	const char *words;
	size_t count;
};

static bool have_come(void *ctx)
{
	const struct rounds *rounds = ctx;
	char *text = cli_read(rounds->cli->out_path);
	bool enough = text != NULL && CLI_LINES_WITH(text, rounds->words) >= rounds->count;

	free(text);
	return enough;
}

/* Of three senders' messages node 0 delivers about 300 a second. On a busy machine not in each round: nothing in one, and all that has
 * waited in the next. */
static bool has_likely_round(const char *text)
{
	unsigned long rate;

	for (const char *at = text; (at = strstr(at, "   0  yes")) != NULL; at++)
		if (sscanf(at, "%*u yes %*u %*u %lu", &rate) == 1 && rate > 30 && rate < 3000)
			return true;
	return false;
}

static bool have_delivered(void *ctx)
{
	const struct rounds *rounds = ctx;
	char *text = cli_read(rounds->cli->out_path);
	bool enough = text != NULL && has_likely_round(text);

	free(text);
	return enough && have_come(ctx);
}

TEST(watched)
{
	struct rounds rounds = {&status, "members 0 1 2", 3};

	start_three();
	cli_start(&status, &nodes.dir, (const char *const[]){"status", nodes.name, "--watch=0.2", NULL});
	cli_await(&status, have_delivered, &rounds, "three rounds, and in one of them 30 to 3000 messages a second");
	kill(status.pid, SIGINT);
	cli_wait(&status);
	CLI_ENDED(&status, 130);
}

TEST(watched_as_json)
{
	struct rounds rounds = {&status, "\"node\":1", 3};
	json_t *answers;

	start_three();
	cli_start(&status, &nodes.dir, (const char *const[]){"status", nodes.name, "--watch=0.2", "--json", NULL});
	cli_await(&status, have_come, &rounds, "three rounds");
	kill(status.pid, SIGTERM);
	cli_wait(&status);
	CLI_ENDED(&status, 130);
	answers = results_parse(status.out);
	ck_assert_uint_eq(json_array_size(answers) % 3, 0);
	json_decref(answers);
}

TEST(usage)
{
	static const char *const wrong[][5] = {
		{"status"},
		{"status", "a", "b"},
		{"status", "a", "--node=256"},
		{"status", "a", "--node=x"},
		{"status", "a", "--watch=0"},
		{"status", "a", "--timeout=0"},
		{"status", "a", "--nonsense"},
	};
	static const char *const files[] = {"/nowhere/a.ini", "a b", "bad.ini"};

	cli_write(&nodes.dir, "bad.ini", "[group]\nnodes = none\n");
	for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
		cli_run(&status, &nodes.dir, wrong[i]);
		CLI_ENDED(&status, 2);
		ck_assert_str_eq(status.out, "");
		ck_assert_uint_ge(CLI_LINES_WITH(status.err, "--help"), 1);
		cli_free(&status);
	}
	for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
		CLI_RUN(&status, &nodes.dir, "status", i == 2 ? cli_path(&nodes.dir, files[i]) : files[i]);
		CLI_ENDED(&status, 2);
		ck_assert_str_eq(status.out, "");
		ck_assert_uint_eq(CLI_LINES_WITH(status.err, files[i]), 1);
		cli_free(&status);
	}
}

TEST_SUITE("cli_status")

int main(void)
{
	return test_main(suite());
}
