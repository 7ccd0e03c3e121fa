/* test_cli_simulated.c - `whorl bench` with transport = sim: the paper's machine in virtual time. */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "tests/cli/cli.h"
#include "tests/cli/results.h"
#include "tests/harness.h"

static struct cli_dir dir;

static const char file[] = "[group]\n"
			   "nodes = 4\n"
			   "transport = sim\n"
			   "[subgroup all]\n"
			   "window = 20\n"
			   "[bench]\n"
			   "messages = 100\n"
			   "bytes = 10240\n"
			   "runs = 1\n";

static void setup(void)
{
	cli_dir_make(&dir);
}

static void teardown(void)
{
	cli_dir_remove(&dir);
}

/* All it writes as JSON with these settings, to be freed. */
static char *json_of(const char *set, const char *other)
{
	struct cli cli;
	char *out;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "sim.ini", file), "--quiet", "--json", "-", "--set", set, "--set",
		other);
	ck_assert_msg(cli.status == 0, "status %d: %s", cli.status, cli.err);
	out = strdup(cli.out);
	cli_free(&cli);
	return out;
}

static json_t *line_of(const char *set, const char *other)
{
	char *text = json_of(set, other);
	json_t *lines = results_parse(text), *line = json_incref(json_array_get(lines, 0));

	json_decref(lines);
	free(text);
	return line;
}

static double number_at(json_t *line, const char *path)
{
	return json_number_value(results_at(line, path));
}

TEST_CASE("bench in virtual time", .timeout_s = TEST_UNTIMED, .setup = setup,
	  .teardown = teardown); /* a command that hangs is killed by cli_wait */

TEST(the_same_seed_is_the_same_byte_for_byte)
{
	char *one = json_of("bench.runs=2", "sim.seed=7"), *same = json_of("bench.runs=2", "sim.seed=7");
	char *other = json_of("bench.runs=2", "sim.seed=70");

	ck_assert_str_eq(one, same);
	ck_assert_str_ne(one, other);
	free(one);
	free(same);
	free(other);
}

TEST(results_are_marked_and_stand_beside_the_link)
{
	json_t *line = line_of("nic.link_mb_per_s=5000", "sim.seed=1");
	double share = 4.0 / 3; /* a node need not be sent what is its own */

	ck_assert_str_eq(json_string_value(results_at(line, "transport")), "sim");
	ck_assert(json_is_true(results_at(line, "simulated")));
	ck_assert_str_eq(json_string_value(results_at(line, "limit.name")), "sim-link");
	ck_assert_double_eq(number_at(line, "limit.bytes_per_s"), 5e9);
	ck_assert_double_gt(number_at(line, "fraction_of_limit"), 0.1);
	ck_assert_double_le(number_at(line, "fraction_of_limit"), share);
	ck_assert_int_eq(json_integer_value(results_at(line, "delivered")), 4 * 4 * 100);
	ck_assert_double_ge(number_at(line, "latency_us.p50"), 3.46); /* there, and the news of it back */
	ck_assert_double_gt(number_at(line, "post_seconds"), 0);
	ck_assert_double_lt(number_at(line, "sender_wait_fraction"), 1);
	json_decref(line);
}

/* What the paper is about: batches, and fewer writes. */
TEST(batching_pays)
{
	json_t *with = line_of("engine.thread=dedicated", "bench.messages=200");
	json_t *without = line_of("engine.send_batching=off", "engine.receive_batching=off");

	ck_assert_double_gt(number_at(with, "bytes_per_s"), 1.5 * number_at(without, "bytes_per_s"));
	ck_assert_double_lt(number_at(with, "writes_posted") / 200, number_at(without, "writes_posted") / 100);
	json_decref(with);
	json_decref(without);
}

TEST(costs_are_those_of_the_file)
{
	json_t *cheap = line_of("nic.post_ns=0", "nic.write_ns=0"),
	       *dear = line_of("nic.post_ns=100000", "nic.write_ns=0");

	ck_assert_double_gt(number_at(dear, "seconds"), 4 * number_at(cheap, "seconds"));
	json_decref(cheap);
	json_decref(dear);
}

/* How long a run takes with these settings. */
static double seconds_with(const char *set, const char *other)
{
	json_t *line = line_of(set, other);
	double seconds = number_at(line, "seconds");

	json_decref(line);
	return seconds;
}

TEST(the_papers_processor_is_slower)
{
	double library = seconds_with("cpu.preset=library", "sim.seed=1"),
	       paper = seconds_with("cpu.preset=paper", "sim.seed=1");

	ck_assert_double_gt(paper, 1.5 * library);
	/* What is given stays as it is given. */
	ck_assert_double_lt(seconds_with("cpu.preset=paper", "cpu.trigger_ns=0"), 0.8 * paper);
	ck_assert_double_lt(seconds_with("cpu.preset=paper", "cpu.send_ns=25"), paper);
	ck_assert_double_lt(seconds_with("cpu.preset=paper", "cpu.lock=off"), 0.8 * paper);
}

TEST(each_cost_of_card_and_processor_counts)
{
	double before = seconds_with("sim.seed=1", "bench.messages=100");

	ck_assert_double_gt(seconds_with("cpu.trigger_ns=20000", "bench.messages=100"), 1.5 * before);
	ck_assert_double_gt(seconds_with("cpu.miss_ns=5000", "bench.messages=100"), 1.5 * before);
	ck_assert_double_gt(seconds_with("nic.memory_mb_per_s=5000", "bench.messages=100"), 3 * before);
	ck_assert_double_gt(seconds_with("nic.queue_pairs=1", "nic.queue_pair_ns=2000"), 1.5 * before);
	ck_assert_double_ge(seconds_with("nic.port_bytes=2k", "bench.messages=100"), before);
}

/* A copy goes through the memory twice. */
TEST(copies_move_memory)
{
	double fast = seconds_with("bench.copies=both", "cpu.copy_mb_per_s=100000"),
	       slow = seconds_with("bench.copies=both", "nic.memory_mb_per_s=10000");

	ck_assert_double_gt(slow, 2 * fast);
	ck_assert_double_gt(slow, 1.2 * seconds_with("bench.copies=none", "nic.memory_mb_per_s=10000"));
}

/* Small messages in large slots: a slot's header and message to each peer, and words, however large the slots are. */
TEST(only_what_is_used_is_pushed)
{
	json_t *line = line_of("bench.bytes=128", "subgroup all.message_bytes=64k");
	double slots = 4.0 * 100 * 3, pushed = number_at(line, "bytes_pushed");

	ck_assert_double_ge(pushed, slots * (128 + 16));
	ck_assert_double_lt(pushed, slots * 1024);
	json_decref(line);
}

/* One processor for loop and sending; delays; a subgroup more: as with other transports. */
TEST(other_ways_to_run)
{
	json_t *caller = line_of("engine.thread=caller", "sim.seed=2");
	json_t *delayed = line_of("bench.sender_delay_us=20", "bench.delayed_senders=one");

	ck_assert_int_eq(json_integer_value(results_at(caller, "delivered")), 4 * 4 * 100);
	ck_assert_int_eq(json_integer_value(results_at(delayed, "delivered")), 4 * 4 * 100);
	ck_assert_int_gt(json_integer_value(results_at(delayed, "nulls")), 0);
	json_decref(caller);
	json_decref(delayed);
}

/* docs/planning.md: a window in three delays, and a message after two. */
TEST(sites_far_apart_are_as_the_page_says)
{
	struct cli cli;
	json_t *lines, *line;

	CLI_RUN(&cli, &dir, "bench", WHORL_SOURCE "/conf/planning/03-distance.ini", "--quiet", "--json", "-", "--set",
		"nic.latency_ns=5m", "--set", "subgroup all.window=100", "--set", "bench.messages_total=3k");
	ck_assert_msg(cli.status == 0, "status %d: %s", cli.status, cli.err);
	lines = results_parse(cli.out);
	line = json_array_get(lines, 0);
	ck_assert_double_ge(number_at(line, "latency_us.p50"), 10000);
	ck_assert_double_le(number_at(line, "latency_us.p50"), 12000);
	ck_assert_double_le(number_at(line, "messages_per_s"), 1.2 * 3 * 100 / 0.015);
	ck_assert_double_ge(number_at(line, "messages_per_s"), 0.8 * 3 * 100 / 0.015);
	json_decref(lines);
	cli_free(&cli);
}

TEST(what_cannot_be_simulated_is_said)
{
	struct cli cli;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "sim.ini", file), "--set", "bench.idle_seconds=1");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "bench.idle_seconds"), 1);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "bench", cli_path(&dir, "sim.ini"), "--node", "1");
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "--node"), 1);
	cli_free(&cli);
}

TEST_SUITE("cli simulated")

int main(void)
{
	return test_main(suite());
}
