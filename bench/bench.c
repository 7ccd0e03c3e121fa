/* bench.c - `whorl bench`: the command line, and one variant after the other.
 *
 * Around each run the limit is measured; the one between two runs counts for both.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/sections.h"
#include "command/scratch.h"

struct arguments {
	const char *file, *json, *csv, *plot, *deliveries;
	const char **sets; /* [set_count] */
	size_t set_count;
	int node; /* the only one that is run here; -1: all are */
	bool quiet;
};

enum { KEY_SET = 's', KEY_QUIET = 'q', KEY_NODE = 'n', KEY_JSON = 256, KEY_CSV, KEY_PLOT, KEY_DELIVERIES };

static const struct argp_option options[] = {
	{"set", KEY_SET, "SECTION.KEY=VALUE", 0, "Use this value instead of the file's; may be given again", 0},
	{"json", KEY_JSON, "FILE", 0, "Write one JSON object per run and line; - is standard output", 0},
	{"csv", KEY_CSV, "FILE", 0, "Write one row per run; - is standard output", 0},
	{"plot", KEY_PLOT, "FILE.svg", 0, "Draw the results, as the file's [figure] says; needs gnuplot", 0},
	{"deliveries", KEY_DELIVERIES, "DIR", 0,
	 "One run of each variant, not timed, in which each node writes what it delivers to DIR/node-N.txt: subgroup, "
	 "sender, index, bytes and CRC-32C of a message per line. With several variants: DIR/variant-V/node-N.txt",
	 0},
	{"node", KEY_NODE, "ID", 0,
	 "Run only this node, once; other commands, on other hosts, run the others. Where SLURM, Open MPI or a PMI has started "
	 "as many commands as there are nodes, each runs the node of its rank by itself",
	 0},
	{"quiet", KEY_QUIET, NULL, 0, "No progress line", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Run the group of an ini file, measure it, and prove that all its members have delivered the same.\v"
	"The keys of the file are described by `whorl config --describe`. A value may be a list (bytes = 128, 10240): "
	"each combination is one variant. Subgroups may have sizes and batches of their own, by sections [bench NAME].\n"
	"\n"
	"With batch = N a sender claims N messages at a time, all or none, fills all and commits them together; the limit on shared memory "
	"publishes as many at a time.\n"
	"\n"
	"Rates are application data delivered per second, the mean over the nodes. The limit is what the same machine "
	"does around the same time without a protocol. Latency is the time from the claim of a message, before it is "
	"filled, to the upcall at each node: the nodes run on one host, share its CLOCK_MONOTONIC, and pass the time of "
	"the claim through a page of their own. With --node it is that of the node's own messages, to its own upcall.\n"
	"\n"
	"Exit status: 0 good, 1 the run failed, 2 the command line or the file, 3 the machine lacks something, 130 "
	"interrupted.";

static bool read_number(const char *text, int *out)
{
	char *end;
	long value = strtol(text, &end, 10);

	if (end == text || *end != '\0' || value < 0 || value >= WH_NODES_MAX)
		return false;
	*out = (int)value;
	return true;
}

/* The rank among commands that were started together, as many as there are nodes; -1: this one was started alone, or among others. */
static int rank_of_launcher(uint32_t nodes)
{
	static const char *const sizes[] = {"SLURM_STEP_NUM_TASKS", "PMI_SIZE", "OMPI_COMM_WORLD_SIZE"};

	for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
		const char *size = getenv(sizes[i]);
		int number;

		if (size != NULL && (!read_number(size, &number) || number != (int)nodes))
			return -1;
	}
	return wh_command_rank(nodes);
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;

	switch (key) {
	case KEY_SET:
		arguments->sets[arguments->set_count++] = argument;
		return 0;
	case KEY_JSON:
		arguments->json = argument;
		return 0;
	case KEY_CSV:
		arguments->csv = argument;
		return 0;
	case KEY_PLOT:
		arguments->plot = argument;
		return 0;
	case KEY_DELIVERIES:
		arguments->deliveries = argument;
		return 0;
	case KEY_QUIET:
		arguments->quiet = true;
		return 0;
	case KEY_NODE:
		if (!read_number(argument, &arguments->node))
			argp_error(state, "--node is \"%s\", expected the id of a node", argument);
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->file != NULL)
			argp_error(state, "one file at a time, not also \"%s\"", argument);
		arguments->file = argument;
		return 0;
	case ARGP_KEY_END:
		if (arguments->file == NULL)
			argp_error(state, "which FILE?");
		if (arguments->json != NULL && arguments->csv != NULL && strcmp(arguments->json, arguments->csv) == 0)
			argp_error(state, "--json and --csv cannot both be \"%s\"", arguments->json);
		if (arguments->plot != NULL && arguments->deliveries != NULL)
			argp_error(state, "--plot draws what is timed, and with --deliveries nothing is");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {options, parse_option, "FILE", doc, NULL, NULL, NULL};

/* ---- running ---------------------------------------------------------------------------------------------------------*/

struct bench {
	struct arguments *arguments;
	struct wh_conf *conf;
	struct wh_watch watch;
	struct wh_bench_files *files;
	struct wh_bench_plot *plot;
	FILE *table; /* where the table goes */
	bool has_head;
	struct wh_bench_verdict verdict;
};

static enum whorl_result measure_limit(struct bench *bench, const struct wh_bench_plan *plan,
				       const struct wh_limit_plan *limit_plan, struct wh_limit_result *out)
{
	struct wh_error err = {0};
	enum whorl_result result;

	if (wh_bench_is_simulated(plan)) {
		wh_bench_sim_limit(plan, out);
		return WHORL_OK;
	}
	if (!bench->arguments->quiet)
		wh_progress("the limit of the machine");
	result = wh_limit_measure(limit_plan, &bench->watch, out, &err);
	wh_progress("");
	if (result != WHORL_OK && result != WHORL_AGAIN)
		wh_say("%s", err.text);
	return result;
}

/* Behind the run: before it no node knows whether the others are there. Where one of them has none, or ends early, there is a
 * result without a limit. */
static enum whorl_result limit_apart(struct bench *bench, const struct wh_bench_plan *plan,
				     const struct wh_limit_plan *limit_plan, struct wh_bench_result *out)
{
	struct wh_limit_result after;
	enum whorl_result result = measure_limit(bench, plan, limit_plan, &after);

	if (result == WHORL_OK)
		wh_bench_result_limit(out, NULL, &after);
	return result == WHORL_AGAIN ? WHORL_AGAIN : WHORL_OK;
}

static enum whorl_result limit_after(struct bench *bench, const struct wh_bench_plan *plan,
				     const struct wh_limit_plan *limit_plan, struct wh_limit_result *limit,
				     struct wh_bench_result *out)
{
	struct wh_limit_result before = *limit;
	enum whorl_result result = measure_limit(bench, plan, limit_plan, limit);

	if (result == WHORL_OK || result == WHORL_AGAIN)
		wh_bench_result_limit(out, &before, result == WHORL_OK ? limit : &before);
	return result;
}

static enum whorl_result make_run(struct wh_bench_run *run, struct wh_bench_plan *plan)
{
	struct wh_scratch scratch;
	enum whorl_result result = wh_bench_plan_logs(plan, &scratch);

	if (result != WHORL_OK)
		return result;
	run->scratch = &scratch;
	result = wh_bench_is_simulated(plan) ? wh_bench_sim_make(run) : wh_bench_run_make(run);
	run->scratch = NULL;
	if (!wh_scratch_close(&scratch) && result == WHORL_OK)
		result = WHORL_SYSTEM;
	return result;
}

/* One run between two limits; `limit` is the one before, and becomes the one after. *measured: there is a result, also
 * if the limit after it was interrupted: then the one before counts for both. */
static enum whorl_result run_once(struct bench *bench, struct wh_bench_plan *plan,
				  const struct wh_limit_plan *limit_plan, uint32_t number,
				  struct wh_limit_result *limit, struct wh_bench_result *out, bool *measured)
{
	struct wh_bench_run run = {.plan = plan,
				   .watch = &bench->watch,
				   .number = number,
				   .variants = wh_conf_variants(bench->conf),
				   .quiet = bench->arguments->quiet,
				   .table = bench->table};
	enum whorl_result result = make_run(&run, plan), added;

	*measured = false;
	if (result == WHORL_OK && !wh_bench_result_make(out, &run)) {
		bench->verdict.differ = true;
		result = WHORL_INVALID;
	}
	if (result != WHORL_OK)
		goto out_free;
	bench->verdict.runs++;
	bench->verdict.apart |= !wh_bench_is_whole(plan);
	for (uint32_t g = 0; g < plan->subgroup_count; g++)
		bench->verdict.unordered |= !plan->subgroups[g].ordered;
	if (limit_plan != NULL)
		result = limit_plan->apart ? limit_apart(bench, plan, limit_plan, out)
					   : limit_after(bench, plan, limit_plan, limit, out);
	if (result == WHORL_OK || result == WHORL_AGAIN) {
		added = wh_bench_files_add(bench->files, bench->arguments->file, &run, out);
		*measured = added == WHORL_OK;
		result = added == WHORL_OK ? result : added;
	}
out_free:
	wh_bench_run_free(&run);
	return result;
}

/* WHORL_OK; WHORL_SYSTEM: it could not be written, which has been said. */
static enum whorl_result print_variant(struct bench *bench, const struct wh_bench_plan *plan,
				       const struct wh_bench_result *results, size_t count)
{
	if (count == 0)
		return WHORL_OK;
	if (!bench->has_head)
		wh_bench_print_head(bench->table, bench->arguments->file, plan);
	bench->has_head = true;
	wh_bench_print_row(bench->table, plan, results, count);
	return wh_flush_file(bench->table, WH_STDOUT) || bench->table != stdout ? WHORL_OK : WHORL_SYSTEM;
}

static enum whorl_result run_variant(struct bench *bench, struct wh_bench_plan *plan)
{
	size_t runs = plan->deliveries != NULL ? 1 : (size_t)plan->options.runs, done = 0;
	struct wh_bench_result *results = calloc(runs, sizeof *results);
	struct wh_limit_plan limit_plan = {0};
	struct wh_limit_result limit = {0};
	bool limited = plan->options.limit && plan->deliveries == NULL;
	enum whorl_result result = WHORL_MEMORY, printed;

	if (results == NULL)
		goto out_free;
	result = wh_bench_limit_plan_make(plan, &limit_plan);
	if (result == WHORL_OK && limited && !limit_plan.apart)
		result = measure_limit(bench, plan, &limit_plan, &limit);
	while (result == WHORL_OK && done < runs) {
		bool measured;

		result = run_once(bench, plan, limited ? &limit_plan : NULL, (uint32_t)done + 1, &limit, &results[done],
				  &measured);
		done += measured;
	}
	printed = print_variant(bench, plan, results, done);
	result = result == WHORL_OK ? printed : result;
	if (result == WHORL_AGAIN)
		wh_say("interrupted after %zu of %zu runs%s%s", done, runs, plan->text[0] != '\0' ? " with " : "",
		       plan->text);
out_free:
	wh_bench_limit_plan_free(&limit_plan);
	free(results);
	return result;
}

/* The directory of the variant's deliveries, made if it is not there. NULL: said why. */
static const char *make_directory(const struct bench *bench, size_t variant, char *buf, size_t bytes)
{
	const char *top = bench->arguments->deliveries;
	bool one = wh_conf_variants(bench->conf) == 1;
	int length = one ? snprintf(buf, bytes, "%s", top) : snprintf(buf, bytes, "%s/variant-%zu", top, variant);

	if (length >= (int)bytes)
		errno = ENAMETOOLONG;
	else if ((one || mkdir(top, 0777) == 0 || errno == EEXIST) && (mkdir(buf, 0777) == 0 || errno == EEXIST))
		return buf;
	wh_say("%s: %s", buf, strerror(errno));
	return NULL;
}

/* Two commands at a time must not meet each other's nodes: the group's name gets the command's number; unless certificates say the
 * name. */
static void set_own_name(struct wh_conf *conf)
{
	struct wh_group_options group;
	char text[WH_OPTION_TEXT_BYTES + 32];

	wh_conf_bind(conf, 0, &wh_group_table, NULL, &group);
	if (strcmp(group.tls_certificate_file, "none") != 0)
		return;
	snprintf(text, sizeof text, "group.name=%.*s.%d", WH_NAME_BYTES - 16, group.name, (int)getpid());
	wh_conf_set(conf, text);
}

#define LATE_MS 20000 /* a host may be slow, and commands on several hosts do not start at once */

/* A benchmark is of all its nodes, so the group does not begin with more than half of them. */
static void await_all(struct wh_conf *conf)
{
	struct wh_group_options group;
	char text[64];

	wh_conf_bind(conf, 0, &wh_group_table, NULL, &group);
	snprintf(text, sizeof text, "group.start_timeout_ms=%d", LATE_MS);
	if (group.start_timeout_ms < LATE_MS)
		wh_conf_set(conf, text);
}

/* Only one node is run here: then the name is the file's, which the other commands have as well. False: said why not. */
static bool set_one(struct bench *bench)
{
	struct wh_group_options group;
	int *node = &bench->arguments->node;

	wh_conf_bind(bench->conf, 0, &wh_group_table, NULL, &group);
	if (*node < 0)
		*node = rank_of_launcher((uint32_t)group.nodes);
	if (*node < 0)
		return true;
	if (*node >= group.nodes || wh_conf_variants(bench->conf) > 1) {
		wh_say("%s: node %d: expected an id from 0 to %" PRId64 ", and one value for each key",
		       bench->arguments->file, *node, group.nodes - 1);
		return false;
	}
	return true;
}

/* The plan of a variant as it is run here. Otherwise it has been said why there is none. */
static enum whorl_result plan_variant(const struct bench *bench, size_t variant, struct wh_bench_plan *plan,
				      char *directory, size_t bytes)
{
	const struct arguments *arguments = bench->arguments;
	struct wh_error err;
	enum whorl_result result = wh_bench_plan_make(plan, bench->conf, variant, &err);

	if (result != WHORL_OK) {
		wh_say("%s: %s", arguments->file, err.text);
		return result;
	}
	result = wh_bench_plan_can_run(plan, &err);
	if (result == WHORL_OK && arguments->node >= 0 && wh_bench_is_simulated(plan))
		result = wh_error_set(&err, WHORL_CONFIG,
				      "group.transport = sim: all nodes are simulated by one command, without --node");
	if (result != WHORL_OK)
		wh_say("%s: %s", arguments->file, err.text);
	else if (arguments->node >= 0)
		wh_bench_plan_one(plan, (uint32_t)arguments->node);
	if (result == WHORL_OK && arguments->deliveries != NULL) {
		plan->deliveries = make_directory(bench, variant, directory, bytes);
		result = plan->deliveries != NULL ? WHORL_OK : WHORL_CONFIG;
	}
	if (result != WHORL_OK)
		wh_bench_plan_free(plan);
	return result;
}

static enum wh_exit run_all(struct bench *bench)
{
	enum whorl_result result = WHORL_OK;
	char directory[4096];

	if (!set_one(bench))
		return WH_EXIT_USAGE;
	await_all(bench->conf);
	if (bench->arguments->node < 0)
		set_own_name(bench->conf);
	for (size_t variant = 0; variant < wh_conf_variants(bench->conf) && result == WHORL_OK; variant++) {
		struct wh_bench_plan plan;

		result = plan_variant(bench, variant, &plan, directory, sizeof directory);
		if (result != WHORL_OK)
			break;
		result = run_variant(bench, &plan);
		wh_bench_plan_free(&plan);
	}
	if (result != WHORL_CONFIG) /* else nothing was to be run */
		wh_bench_print_verdict(bench->table, &bench->verdict);
	return bench->watch.interrupted != 0 ? WH_EXIT_INTERRUPTED : wh_exit_of(result);
}

static bool is_stdout(const char *path)
{
	return path != NULL && strcmp(path, "-") == 0;
}

static enum wh_exit open_and_run(struct bench *bench)
{
	const struct arguments *arguments = bench->arguments;
	struct wh_error err;
	enum wh_exit status;

	status = wh_bench_plot_open(&bench->plot, bench->conf, arguments->file, arguments->sets, arguments->set_count,
				    arguments->plot);
	if (status != WH_EXIT_GOOD)
		return status;
	if (wh_bench_files_open(&bench->files, arguments->json, arguments->csv, bench->plot) != WHORL_OK)
		return WH_EXIT_USAGE;
	bench->table = is_stdout(arguments->json) || is_stdout(arguments->csv) ? stderr : stdout;
	if (wh_watch_open(&bench->watch, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		wh_bench_files_close(bench->files);
		return WH_EXIT_MACHINE;
	}
	status = run_all(bench);
	wh_watch_close(&bench->watch);
	if (!wh_bench_files_close(bench->files) && status == WH_EXIT_GOOD)
		status = WH_EXIT_FAILED;
	return status;
}

int wh_bench_main(int argc, char **argv)
{
	struct arguments arguments = {.node = -1, .sets = calloc((size_t)argc + 1, sizeof *arguments.sets)};
	struct bench bench = {.arguments = &arguments, .conf = wh_sections_conf()};
	enum wh_exit status = WH_EXIT_MACHINE;

	if (arguments.sets == NULL || bench.conf == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		goto out_free;
	}
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	wh_conf_load_file(bench.conf, arguments.file); /* mistakes stay in the conf; wh_bench_check tells all of them */
	for (size_t i = 0; i < arguments.set_count; i++)
		wh_conf_set(bench.conf, arguments.sets[i]);
	status = wh_bench_check(bench.conf, arguments.file);
	if (status == WH_EXIT_GOOD)
		status = wh_bench_check_disk(bench.conf, arguments.file);
	if (status == WH_EXIT_GOOD)
		status = open_and_run(&bench);
	if (!wh_bench_plot_close(bench.plot) && status == WH_EXIT_GOOD)
		status = WH_EXIT_FAILED;
out_free:
	wh_conf_free(bench.conf);
	free(arguments.sets);
	return status;
}
