/* test_cli_plot.c - the keys that the files in conf/figures vary, pictures, and the page of all results. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "tests/cli/lines.h"
#include "tests/harness.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const char small[] = SMALL_GROUP("2") "[bench]\n"
					     "messages = 300\n"
					     "bytes = 100\n"
					     "runs = 1\n"
					     "limit = off\n";

static json_t *line_at(size_t variant)
{
	return json_array_get(lines, variant);
}

static json_int_t integer_at(size_t variant, const char *path)
{
	return json_integer_value(results_at(line_at(variant), path));
}

static const char *string_at(size_t variant, const char *path)
{
	return json_string_value(results_at(line_at(variant), path));
}

/* Runs the small file with one more setting; there must be so many variants. */
static void run(const char *setting, const char *also, size_t variants)
{
	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--json", "-", "--set", setting, "--set",
		also);
	assert_good();
	lines = results_parse(cli.out);
	ck_assert_uint_eq(json_array_size(lines), variants);
}

/* ---- keys ------------------------------------------------------------------------------------------------------------*/

TEST_CASE("plot", .timeout_s = TEST_UNTIMED, .setup = setup,
	  .teardown = teardown); /* a command that hangs is killed by cli_wait */

/* Each has those before it. */
TEST(optimisations_come_one_by_one)
{
	static const char *const switches[] = {"delivery_batching", "receive_batching", "send_batching", "null_sends",
					       "deferred_push"};

	run("bench.optimisations=baseline, delivery, receive, send, nulls, deferred, engine", "bench.messages=50", 7);
	for (size_t variant = 0; variant < 6; variant++)
		for (size_t s = 0; s < COUNT(switches); s++) {
			char path[64];

			snprintf(path, sizeof path, "switches.%s", switches[s]);
			ck_assert_msg(json_is_true(results_at(line_at(variant), path)) == (s < variant),
				      "%s of variant %zu", path, variant);
		}
	/* Without batching each message is pushed, received and delivered by itself. */
	ck_assert_double_eq(json_real_value(results_at(line_at(0), "batch.send.mean")), 1);
	ck_assert(
		json_is_true(results_at(line_at(6), "switches.deferred_push"))); /* as [engine] says, and its default */
}

TEST(senders_are_some)
{
	run("bench.senders=subgroup, one, half, all", "group.nodes=3", 4);
	ck_assert_int_eq(integer_at(0, "senders"), 3);
	ck_assert_int_eq(integer_at(1, "senders"), 1);
	ck_assert_int_eq(integer_at(2, "senders"), 2);
	ck_assert_int_eq(integer_at(3, "senders"), 3);
	ck_assert_int_eq(integer_at(1, "delivered"), 3 * 300);
}

/* Of four subgroups half carry messages; the others have the same members, and deliver nothing. */
TEST(subgroups_are_copied)
{
	static const char *const names[] = {"all", "all-2", "all-3", "all-4"};

	run("bench.subgroups=4", "bench.active_subgroups=half", 1);
	ck_assert_uint_eq(json_array_size(results_at(line_at(0), "subgroups")), 4);
	for (size_t g = 0; g < 4; g++) {
		char path[64];

		snprintf(path, sizeof path, "subgroups.%zu.name", g);
		ck_assert_str_eq(string_at(0, path), names[g]);
		snprintf(path, sizeof path, "subgroups.%zu.senders", g);
		ck_assert_int_eq(integer_at(0, path), 2);
		snprintf(path, sizeof path, "subgroups.%zu.messages_per_s", g);
		ck_assert_int_eq(json_real_value(results_at(line_at(0), path)) > 0, g < 2);
		snprintf(path, sizeof path, "subgroups.%zu.window", g);
		ck_assert_int_eq(integer_at(0, path), 10);
	}
	ck_assert_int_eq(integer_at(0, "delivered"), 2 * 2 * 2 * 300); /* nodes, active subgroups, senders */
}

TEST(a_total_is_shared_out)
{
	run("bench.messages_total=1200", "bench.senders=one, all", 2);
	ck_assert_int_eq(integer_at(0, "messages"), 1200);
	ck_assert_int_eq(integer_at(1, "messages"), 600);
	ck_assert_int_eq(integer_at(0, "delivered"), 2 * 1200);
	ck_assert_int_eq(integer_at(1, "delivered"), 2 * 1200);
}

/* What is sent and read is the same, wherever it is copied: one sender's messages have one digest. */
TEST(copies_change_nothing)
{
	run("bench.copies=none, send, delivery, both", "bench.senders=one", 4);
	for (size_t variant = 0; variant < 4; variant++)
		ck_assert_str_eq(string_at(variant, "order_digest.0"), string_at(0, "order_digest.0"));
	ck_assert_str_eq(string_at(0, "copies"), "none");
	ck_assert_str_eq(string_at(3, "copies"), "both");
}

static const struct {
	const char *text, *complaint;
} bad[] = {
	{"[bench]\noptimisations = send\n[engine]\nnull_sends = on\n[subgroup a]\n", "engine.null_sends"},
	{"[bench]\nsubgroups = 2\n[subgroup a]\n[subgroup b]\n", "expected 1 where the file has several subgroups"},
	{"[bench]\nactive_subgroups = none\n[subgroup a]\n", "bench.active_subgroups: is none"},
	{"[group]\nnodes = 2\n", "there is no subgroup"}, /* a node runs without */
	{"[subgroup a]\nmembers = wish\n[subgroup b]\n", "subgroup a.members: is wish, and whorl bench enters none"},
	{"[figure]\nx = colour\n[subgroup a]\n", "figure.x: is \"colour\""},
	{"[figure]\npanels = runs\n[subgroup a]\n", "figure.panels: is \"runs\""}, /* which cannot be a list */
	{"[figure]\ny = latency speed\n[subgroup a]\n", "figure.y: has \"speed\""},
};

TEST_LOOP(mistakes, 0, COUNT(bad))
{
	CLI_RUN(&cli, &dir, "config", "--check", cli_write(&dir, "bad.ini", bad[_i].text));
	ck_assert_int_eq(cli.status, 2);
	ck_assert_msg(CLI_LINES_WITH(cli.err, "bad.ini:", bad[_i].complaint) == 1, "%s", cli.err);
}

/* ---- pictures --------------------------------------------------------------------------------------------------------*/

static size_t count_of(const char *text, const char *part)
{
	size_t count = 0;

	for (; (text = strstr(text, part)) != NULL; text += strlen(part))
		count++;
	return count;
}

/* What varies has its place: along x, as a series, as a panel. */
TEST(a_picture_has_what_varies)
{
	const char *path = cli_path(&dir, "it's.svg");
	char *svg;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--quiet", "--plot", path, "--set",
		"bench.bytes=10, 20, 30", "--set", "group.nodes=2, 3", "--set", "engine.null_sends=on, off", "--set",
		"figure.x=bytes", "--set", "figure.panels=nodes", "--set", "figure.title=a < b & 'c'", "--set",
		"figure.y=throughput writes", "--set", "bench.runs=2");
	assert_good();
	svg = cli_read(path);
	ck_assert_ptr_nonnull(svg);
	ck_assert_uint_eq(count_of(svg, ">a &lt; b &amp; 'c'<"), 1);
	ck_assert_uint_eq(count_of(svg, ">bytes<"), 4); /* two measures, two panels */
	ck_assert_uint_eq(count_of(svg, ">nodes = 2<"), 2);
	ck_assert_uint_eq(count_of(svg, ">nodes = 3<"), 2);
	ck_assert_uint_eq(count_of(svg, ">null_sends = on<"), 4);
	ck_assert_uint_eq(count_of(svg, ">null_sends = off<"), 4);
	ck_assert_uint_eq(count_of(svg, ">writes posted per message<"), 2);
	free(svg);
}

TEST(histograms_and_limits)
{
	const char *path = cli_path(&dir, "out.svg");
	char *svg;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--quiet", "--plot", path, "--set",
		"figure.y=batches quantiles throughput", "--set", "bench.limit=on");
	assert_good();
	svg = cli_read(path);
	ck_assert_ptr_nonnull(svg);
	ck_assert_uint_eq(count_of(svg, ">deliver<"), 1);
	ck_assert_uint_eq(count_of(svg, ">99.9 %<"), 1);
	ck_assert_uint_eq(count_of(svg, ">dashed: the limit<"), 1);
	free(svg);
}

/* In virtual time nothing is drawn but what follows from the seed. */
static char *picture_of(const char *name, const char *seed)
{
	const char *path = cli_path(&dir, name);
	char *svg;

	CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--quiet", "--plot", path, "--set",
		"group.transport=sim", "--set", seed, "--set", "bench.runs=2", "--set",
		"bench.optimisations=baseline, deferred", "--set", "group.nodes=2, 3", "--set", "figure.x=nodes",
		"--set", "figure.y=throughput latency");
	assert_good();
	cli_free(&cli);
	svg = cli_read(path);
	ck_assert_ptr_nonnull(svg);
	return svg;
}

TEST(the_same_seed_is_the_same_picture)
{
	char *one = picture_of("one.svg", "sim.seed=7"), *same = picture_of("same.svg", "sim.seed=7"),
	     *other = picture_of("other.svg", "sim.seed=70");

	ck_assert_uint_gt(count_of(one, "<path"), 0);
	ck_assert_str_eq(one, same);
	ck_assert_str_ne(one, other);
	free(one);
	free(same);
	free(other);
}

/* Before anything is measured. */
TEST(what_cannot_be_drawn_is_said_first)
{
	const char *file = cli_write(&dir, "small.ini", small);
	char *path = strdup(getenv("PATH"));

	CLI_RUN(&cli, &dir, "bench", file, "--plot", cli_path(&dir, "no/where.svg"));
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "no/where.svg"), 1);
	ck_assert_str_eq(cli.out, "");
	cli_free(&cli);
	setenv("PATH", dir.path, 1);
	CLI_RUN(&cli, &dir, "bench", file, "--plot", cli_path(&dir, "out.svg"));
	setenv("PATH", path, 1);
	ck_assert_int_eq(cli.status, 3);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "gnuplot-nox"), 1);
	ck_assert_str_eq(cli.out, "");
	free(path);
}

/* ---- the page ----------------------------------------------------------------------------------------------------------*/

/* All of it is there, once, and nothing of it is more than text. tests/cli/report.sh asks a validator. */
TEST(a_page_of_two_files)
{
	static const char *const titles[] = {"figure.title=</h2><script>x</script>", "figure.title=the other"};
	const char *folder = cli_path(&dir, "results");
	char *page;

	ck_assert_int_eq(mkdir(folder, 0777), 0);
	for (size_t i = 0; i < 2; i++) {
		char path[512];

		snprintf(path, sizeof path, "%s/%zu.json", folder, i);
		CLI_RUN(&cli, &dir, "bench", cli_write(&dir, "small.ini", small), "--quiet", "--json", path, "--set",
			titles[i], "--set", "bench.bytes=10, 20", "--set", "bench.runs=3");
		assert_good();
		cli_free(&cli);
	}
	CLI_RUN(&cli, &dir, "report", folder, "-o", "-");
	assert_good();
	page = cli.out;
	ck_assert_uint_eq(count_of(page, "<h2 "), 2);
	ck_assert_uint_eq(count_of(page, "<svg "), 2);
	ck_assert_uint_eq(count_of(page, "<script"), 0);
	ck_assert_uint_ge(count_of(page, "&lt;script&gt;"), 2);
	ck_assert_uint_eq(count_of(page, "<td>bytes = 10</td>"), 2);
	ck_assert_uint_eq(count_of(page, " to "),
			  2 * 2 * 3 + 1); /* three figures of each variant have a spread; and the introduction */
	ck_assert_uint_eq(count_of(page, "--set bench.bytes=10, 20"), 0);
	ck_assert_uint_eq(count_of(page, "--set &#39;bench.bytes=10, 20&#39;"), 2); /* as a shell takes it */
	ck_assert_uint_eq(count_of(page, "http"), 2 * 2);                           /* the namespaces of the pictures */
}

/* Also where its axis would be logarithmic: of nothing gnuplot draws that once and not again. */
TEST(what_was_not_measured_is_drawn_empty)
{
	cli_write(&dir, "a.json", "{\"variant\": \"\", \"figure\": {\"y\": \"latency latency\"}}\n");
	CLI_RUN(&cli, &dir, "report", dir.path, "-o", "-");
	assert_good();
	ck_assert_uint_eq(count_of(cli.out, "nothing was measured"), 2);
}

TEST(what_is_no_result_is_named)
{
	CLI_RUN(&cli, &dir, "report", cli_path(&dir, "nowhere"));
	ck_assert_int_eq(cli.status, 2);
	cli_free(&cli);
	CLI_RUN(&cli, &dir, "report", dir.path);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "no results"), 1);
	cli_free(&cli);
	cli_write(&dir, "a.json", "{\"variant\": \"\"}\n{\"variant\"");
	CLI_RUN(&cli, &dir, "report", dir.path);
	ck_assert_int_eq(cli.status, 2);
	ck_assert_uint_eq(CLI_LINES_WITH(cli.err, "a.json:2:", "expected a result"), 1);
}

TEST_SUITE("cli_plot")

int main(void)
{
	return test_main(suite());
}
