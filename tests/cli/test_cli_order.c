/* test_cli_order.c - every member delivers the same, in all the ways in which a group can be run: checked from the
 * recorded deliveries; their content is filled in anew, and their digest must be the one that the run has printed. */
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/lines.h"
#include "tests/cli/records.h"
#include "tests/harness.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* Holds the records of subgroup number `at` in the results against the records of its members. */
static void check_subgroup(const char *directory, json_t *line, uint32_t at, const struct records_subgroup *subgroup)
{
	char path[64], digest[32];
	json_t *digests;

	snprintf(digest, sizeof digest, "%016" PRIx64, records_check(directory, subgroup));
	snprintf(path, sizeof path, "subgroups.%u.name", at);
	ck_assert_str_eq(json_string_value(results_at(line, path)), subgroup->name);
	snprintf(path, sizeof path, "subgroups.%u.order_digest", at);
	digests = results_at(line, path);
	ck_assert_uint_eq(json_array_size(digests), subgroup->member_count);
	for (size_t m = 0; m < json_array_size(digests); m++)
		ck_assert_str_eq(json_string_value(json_array_get(digests, m)), digest);
}

/* One subgroup of all nodes, all senders. */
static struct records_subgroup everybody(uint32_t nodes, size_t bytes, uint64_t messages)
{
	struct records_subgroup subgroup = {.name = "all",
					    .member_count = nodes,
					    .sender_count = nodes,
					    .ordered = true,
					    .bytes = bytes,
					    .total = nodes * messages};

	for (uint32_t id = 0; id < nodes; id++)
		subgroup.members[id] = subgroup.senders[id] = id;
	return subgroup;
}

static const char plain[] = SMALL_GROUP("3") "[bench]\n"
					     "messages = 2000\n"
					     "bytes = 100\n";

static const struct {
	const char *sets[4];
	uint32_t nodes;
	size_t bytes;
	bool unordered;
} ways[] = {
	{{NULL}, 3, 100, false},
	{{"engine.thread=caller"}, 3, 100, false},
	{{"bench.processes=off"}, 3, 100, false},
	{{"bench.processes=off", "engine.thread=caller"}, 3, 100, false},
	{{"bench.upcall=message"}, 3, 100, false},
	{{"bench.senders_per_node=3"}, 3, 100, false},
	{{"engine.idle=yield"}, 3, 100, false},
	{{"subgroup all.mode=unordered"}, 3, 100, true},
	{{"subgroup all.mode=unordered", "bench.upcall=message", "engine.thread=caller"}, 3, 100, true},
	{{"bench.bytes=0"}, 3, 0, false},
	{{"bench.bytes=1"}, 3, 1, false},
	{{"bench.bytes=1000", "subgroup all.window=1"}, 3, 1000, false},
	{{"subgroup all.window=1000"}, 3, 100, false},
	{{"group.nodes=1"}, 1, 100, false},
	{{"group.nodes=2", "subgroup all.message_bytes=64k", "bench.bytes=64k"}, 2, 65536, false},
	{{"group.nodes=8"}, 8, 100, false},
	{{"engine.send_batching=off", "engine.deferred_push=off"}, 3, 100, false},
	{{"engine.receive_batching=off", "engine.delivery_batching=off", "engine.null_sends=off"}, 3, 100, false},
};

TEST_CASE("order", .timeout_s = TEST_UNTIMED, .setup = setup,
	  .teardown = teardown); /* a command that hangs is killed by cli_wait */

TEST_LOOP(way, 0, COUNT(ways))
{
	const char *arguments[32] = {
		"bench", cli_write(&dir, "plain.ini", plain), "--json", "-", "--deliveries", cli_path(&dir, "records")};
	struct records_subgroup subgroup = everybody(ways[_i].nodes, ways[_i].bytes, 2000);
	size_t count = 6;

	for (size_t s = 0; s < COUNT(ways[_i].sets) && ways[_i].sets[s] != NULL; s++) {
		arguments[count++] = "--set";
		arguments[count++] = ways[_i].sets[s];
	}
	cli_run(&cli, &dir, arguments);
	assert_good();
	lines = results_parse(cli.out);
	ck_assert_uint_eq(json_array_size(lines), 1);
	subgroup.ordered = !ways[_i].unordered;
	check_subgroup(cli_path(&dir, "records"), json_array_get(lines, 0), 0, &subgroup);
}

static const char overlapping[] = "[group]\n"
				  "nodes = 4\n"
				  "failure_timeout_ms = 20000\n"
				  "[subgroup left]\n"
				  "members = 0,1,2\n"
				  "senders = 0,2\n"
				  "window = 10\n"
				  "[subgroup right]\n"
				  "members = 1,2,3\n"
				  "senders = all\n"
				  "window = 3\n"
				  "[subgroup loose]\n"
				  "members = 0,3\n"
				  "senders = all\n"
				  "mode = unordered\n"
				  "window = 20\n"
				  "[bench]\n"
				  "messages = 1000\n"
				  "bytes = 200, 300\n"; /* two variants: each has a directory of its own */

static const char *const threads[] = {"engine.thread=dedicated", "engine.thread=caller"};

TEST_LOOP(overlapping_subgroups, 0, COUNT(threads))
{
	struct records_subgroup left = {"left", 0, {0, 1, 2}, 3, {0, 2}, 2, true, 0, 2000};
	struct records_subgroup right = {"right", 1, {1, 2, 3}, 3, {1, 2, 3}, 3, true, 0, 3000};
	struct records_subgroup loose = {"loose", 2, {0, 3}, 2, {0, 3}, 2, false, 0, 2000};

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "overlapping.ini", overlapping), "--json", "-", "--deliveries",
		cli_path(&dir, "records"), "--set", threads[_i]);
	assert_good();
	lines = results_parse(cli.out);
	ck_assert_uint_eq(json_array_size(lines), 2);
	for (size_t variant = 0; variant < 2; variant++) {
		const char *directory = cli_path(&dir, variant == 0 ? "records/variant-0" : "records/variant-1");
		json_t *line = json_array_get(lines, variant);

		left.bytes = right.bytes = loose.bytes = variant == 0 ? 200 : 300;
		check_subgroup(directory, line, 0, &left);
		check_subgroup(directory, line, 1, &right);
		check_subgroup(directory, line, 2, &loose);
	}
}

/* Delayed senders: the run is over, and digested, with the first messages x senders, whichever nodes sent them. */
TEST_LOOP(by_total, 0, COUNT(threads))
{
	struct records_subgroup subgroup = everybody(3, 100, 2000);

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "plain.ini", plain), "--json", "-", "--deliveries",
		cli_path(&dir, "records"), "--set", "bench.sender_delay_us=20", "--set", "bench.delayed_senders=one",
		"--set", threads[_i]);
	assert_good();
	lines = results_parse(cli.out);
	check_subgroup(cli_path(&dir, "records"), json_array_get(lines, 0), 0, &subgroup);
	ck_assert_int_eq(json_integer_value(results_at(json_array_get(lines, 0), "delivered")), 3 * 3 * 2000);
}

/* Declared senders that send nothing hold nobody up. */
TEST_LOOP(one_of_all_senders, 0, COUNT(threads))
{
	struct records_subgroup subgroup = everybody(3, 100, 2000);

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "plain.ini", plain), "--json", "-", "--deliveries",
		cli_path(&dir, "records"), "--set", "bench.active_senders=one", "--set", threads[_i]);
	assert_good();
	lines = results_parse(cli.out);
	subgroup.total = 2000;
	check_subgroup(cli_path(&dir, "records"), json_array_get(lines, 0), 0, &subgroup);
	ck_assert_int_gt(json_integer_value(results_at(json_array_get(lines, 0), "nulls")), 0);
}

TEST_SUITE("cli_order")

int main(void)
{
	return test_main(suite());
}
