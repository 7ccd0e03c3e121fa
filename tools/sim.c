/* sim.c - `whorl sim`: seed after seed in the simulator, until one breaks a property; then why, and the least that does.
 *
 * The runs are made by a process of its own, which tells the command through a shared page how far it is: a run that kills it
 * is a run that has failed like others.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/env.h"
#include "bench/sections.h"
#include "command/crew.h"
#include "sim/trial.h"
#include "tools/commands.h"

#define LOOK_MS 200

struct arguments {
	const char *file;
	const char **sets; /* [set_count] */
	size_t set_count;
	const char *seed, *runs;
	struct wh_schedule faults;
	bool has_faults, quiet, verbose, no_shrink, keep_going;
};

enum {
	KEY_SET = 's',
	KEY_QUIET = 'q',
	KEY_VERBOSE = 'v',
	KEY_SEED = 256,
	KEY_RUNS,
	KEY_FAULT,
	KEY_NO_SHRINK,
	KEY_KEEP_GOING
};

static const struct argp_option words[] = {
	{"seed", KEY_SEED, "N", 0, "The seed of the first run; the same as --set sim.seed=N", 0},
	{"runs", KEY_RUNS, "K", 0, "How many runs; the same as --set sim.runs=K", 0},
	{"fault", KEY_FAULT, "FAULT", 0,
	 "This goes wrong in each run, instead of what the file says or the seed draws; may be given again", 0},
	{"set", KEY_SET, "SECTION.KEY=VALUE", 0, "Use this value instead of the file's; may be given again", 0},
	{"no-shrink", KEY_NO_SHRINK, NULL, 0, "Do not look for the least that fails", 0},
	{"keep-going", KEY_KEEP_GOING, NULL, 0, "After a run that fails say so in a line, and go on", 0},
	{"verbose", KEY_VERBOSE, NULL, 0, "A line for each run", 0},
	{"quiet", KEY_QUIET, NULL, 0, "No progress line", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static const char doc[] =
	"Run groups of real nodes in virtual time, let things go wrong, and check after each step what must hold.\v"
	"The keys of the file are described by `whorl config --describe`: [sim], and [fault NAME] for faults of one's own. "
	"docs/simulator.md says what is simulated, what is checked, and what a FAULT is: `crash 2 at 30 ms`, "
	"`stall 1 for 80 ms at wedge 1`, `cut 0,1 from 2 for 90 ms at 20 ms`, `join 5 at 12 ms`.\n"
	"\n"
	"The last line on standard output is `trace DIGEST`: of everything that has happened, equal for equal seeds.\n"
	"\n"
	"Exit status: 0 good, 1 a property is broken, 2 the command line or the file, 3 the machine lacks something, 130 "
	"interrupted.";

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct arguments *arguments = state->input;
	char wrong[256];

	switch (key) {
	case KEY_SEED:
		arguments->seed = argument;
		return 0;
	case KEY_RUNS:
		arguments->runs = argument;
		return 0;
	case KEY_FAULT:
		if (arguments->faults.count == WH_FAULTS_MAX)
			argp_error(state, "more than %d faults", WH_FAULTS_MAX);
		else if (!wh_fault_parse(&arguments->faults.faults[arguments->faults.count++], argument, wrong,
					 sizeof wrong))
			argp_error(state, "--fault %s", wrong);
		arguments->has_faults = true;
		return 0;
	case KEY_SET:
		arguments->sets[arguments->set_count++] = argument;
		return 0;
	case KEY_NO_SHRINK:
		arguments->no_shrink = true;
		return 0;
	case KEY_KEEP_GOING:
		arguments->keep_going = true;
		return 0;
	case KEY_VERBOSE:
		arguments->verbose = true;
		return 0;
	case KEY_QUIET:
		arguments->quiet = true;
		return 0;
	case ARGP_KEY_ARG:
		if (arguments->file != NULL)
			argp_error(state, "one file at a time, not also \"%s\"", argument);
		arguments->file = argument;
		return 0;
	case ARGP_KEY_END:
		if (arguments->file == NULL)
			argp_error(state, "which FILE?");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static const struct argp argp = {words, parse_option, "FILE", doc, NULL, NULL, NULL};

/* ---- the file ---------------------------------------------------------------------------------------------------------------*/

static void read_faults(struct wh_conf *conf, uint32_t nodes, struct wh_schedule *schedule)
{
	const char *name;
	char wrong[256];

	for (size_t i = 0; (name = wh_conf_instance(conf, "fault", i)) != NULL; i++) {
		struct wh_trial_fault text;
		struct wh_fault *fault = &schedule->faults[schedule->count];

		wh_conf_bind(conf, 0, &wh_trial_fault_table, name, &text);
		if (schedule->count == WH_FAULTS_MAX) {
			wh_conf_mistake(conf, "fault", name, NULL, "is one too many, expected at most %d",
					WH_FAULTS_MAX);
			return;
		}
		if (!wh_fault_parse(fault, text.line, wrong, sizeof wrong))
			wh_conf_mistake(conf, "fault", name, "is", "%s", wrong);
		else if (!wh_fault_fits(fault, fault->kind == WH_FAULT_JOIN ? WH_PLAN_IDS_MAX : nodes))
			wh_conf_mistake(conf, "fault", name, "is",
					"names a node that the smallest group (sim.nodes_min) does not have, and that "
					"has not joined it");
		else
			schedule->count++;
		if (fault->kind == WH_FAULT_JOIN && fault->node >= nodes) /* those below may be named, too */
			nodes = fault->node + 1;
	}
}

/* What only the whole can show. */
static void find_mistakes(struct wh_conf *conf, const struct wh_trial_options *trial, struct wh_schedule *schedule)
{
	uint32_t kinds;

	if (trial->nodes_min > trial->nodes_max)
		wh_conf_mistake(conf, "sim", NULL, "nodes_min", "is %" PRId64 ", expected at most nodes_max, %" PRId64,
				trial->nodes_min, trial->nodes_max);
	if (!wh_trial_kinds(trial->fault_kinds, &kinds))
		wh_conf_mistake(conf, "sim", NULL, "fault_kinds",
				"is \"%s\", expected any of crash, stall, cut, slow, break, leave, join, "
				"return, rest",
				trial->fault_kinds);
	read_faults(conf, (uint32_t)trial->nodes_min, schedule);
}

static enum wh_exit check_conf(struct wh_conf *conf, struct wh_trial_options *trial, struct wh_schedule *schedule)
{
	schedule->count = 0;
	if (wh_conf_check(conf) == WHORL_OK && wh_conf_variants(conf) == 1) {
		wh_conf_bind(conf, 0, &wh_trial_table, NULL, trial);
		find_mistakes(conf, trial, schedule);
	}
	if (wh_conf_variants(conf) > 1)
		wh_conf_mistake(conf, "sim", NULL, NULL, "has a list, expected one value for each key");
	if (wh_conf_check(conf) == WHORL_OK)
		return WH_EXIT_GOOD;
	fprintf(stderr, "%s\n", wh_conf_mistakes(conf));
	return WH_EXIT_USAGE;
}

enum wh_exit wh_sim_check(struct wh_conf *conf)
{
	struct wh_trial_options trial;
	struct wh_schedule schedule;

	return check_conf(conf, &trial, &schedule);
}

/* ---- seed after seed --------------------------------------------------------------------------------------------------------*/

struct page { /* shared with the worker, which writes it */
	wh_word seed, done, failed;
	uint64_t digest, steps, faults, progressed;
	struct wh_verdict verdict; /* of the last run */
};

struct campaign {
	const struct arguments *arguments;
	const struct wh_trial_options *options;
	const struct wh_schedule *given; /* NULL: drawn */
	struct page *page;
	struct wh_watch watch;
	uint64_t began_ns;
	bool unwritten; /* all runs are good, and what was said of them has not gone out */
};

static void print_run(const struct wh_trial *trial, const struct wh_verdict *verdict)
{
	const struct wh_play_result *result = &verdict->result;
	char line[WH_FAULT_TEXT];

	printf("seed %" PRIu64 ": %d nodes, %u subgroups, %" PRIu64 " steps, %" PRIu64
	       " deliveries, %.1f ms, view %" PRIu64 "%s, trace %016" PRIx64 "\n",
	       trial->seed, (int)trial->plan.config.group.nodes, trial->plan.config.subgroup_count, result->steps,
	       result->deliveries, (double)result->virtual_ns / 1e6, result->views,
	       result->progressed ? "" : ", no majority in the end", result->digest);
	for (uint32_t i = 0; i < trial->schedule.count; i++)
		printf("    %s%s\n", wh_fault_print(&trial->schedule.faults[i], line),
		       (result->happened >> i & 1) != 0 ? "" : "   (has not come about)");
}

static void run_seeds(const struct campaign *campaign)
{
	struct page *page = campaign->page;

	for (int64_t i = 0; i < campaign->options->runs; i++) {
		uint64_t seed = (uint64_t)campaign->options->seed + (uint64_t)i;
		struct wh_trial trial;

		wh_store_release(&page->seed, seed);
		wh_trial_make(&trial, campaign->options, seed, campaign->given);
		wh_trial_play(&trial, NULL, &page->verdict);
		page->digest = wh_trial_mix(page->digest, &page->verdict);
		page->steps += page->verdict.result.steps;
		page->faults += (uint64_t)__builtin_popcountll(page->verdict.result.happened);
		page->progressed += page->verdict.result.progressed;
		if (campaign->arguments->verbose)
			print_run(&trial, &page->verdict);
		wh_trial_free(&trial);
		if (!page->verdict.good) {
			wh_fetch_add(&page->failed, 1);
			if (!campaign->arguments->keep_going)
				return;
			printf("seed %" PRIu64 ": %s\n", seed, page->verdict.text);
		}
		wh_store_release(&page->done, (uint64_t)i + 1);
		if (!wh_flush_file(stdout, WH_STDOUT))
			return;
	}
}

static double seconds_since(uint64_t began_ns)
{
	return (double)(wh_clock_ns() - began_ns) / 1e9;
}

static void show_progress(const struct campaign *campaign)
{
	uint64_t done = wh_load_acquire(&campaign->page->done);
	char line[160];

	if (campaign->arguments->quiet || campaign->arguments->verbose || !isatty(STDERR_FILENO))
		return;
	snprintf(line, sizeof line, "seed %" PRIu64 ": %" PRIu64 " of %" PRId64 " runs, %.0f runs/s",
		 wh_load_acquire(&campaign->page->seed), done, campaign->options->runs,
		 (double)done / seconds_since(campaign->began_ns));
	wh_progress(line);
}

/* True: all runs are good. */
static bool run_all(struct campaign *campaign)
{
	struct page *page = campaign->page;
	int status = 0;
	pid_t worker;

	fflush(NULL);
	worker = fork();
	if (worker == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		run_seeds(campaign);
		_exit(wh_flush_file(stdout, WH_STDOUT) && wh_load_relaxed(&page->failed) == 0 ? WH_EXIT_GOOD
											      : WH_EXIT_FAILED);
	}
	while (worker > 0 && waitpid(worker, &status, WNOHANG) == 0) {
		show_progress(campaign);
		wh_watch_wait(&campaign->watch, LOOK_MS);
		if (campaign->watch.interrupted != 0) {
			kill(worker, SIGKILL);
			waitpid(worker, &status, 0);
			break;
		}
	}
	if (!campaign->arguments->quiet)
		wh_progress("");
	if (worker < 0)
		snprintf(page->verdict.text, sizeof page->verdict.text, "died: no process can be had");
	else if (WIFSIGNALED(status))
		snprintf(page->verdict.text, sizeof page->verdict.text, "died: %s", strsignal(WTERMSIG(status)));
	campaign->unwritten = WIFEXITED(status) && WEXITSTATUS(status) != 0 && wh_load_relaxed(&page->failed) == 0;
	return worker > 0 && status == 0;
}

/* ---- what has failed ---------------------------------------------------------------------------------------------------------*/

static bool tell_shrinking(void *ctx, uint32_t attempts)
{
	struct campaign *campaign = ctx;
	char line[80];

	snprintf(line, sizeof line, "shrinking: %u attempts", attempts);
	if (!campaign->arguments->quiet)
		wh_progress(line);
	wh_watch_wait(&campaign->watch, 0);
	return campaign->watch.interrupted == 0;
}

#define PRINT_LIMIT(key)                                                                                               \
	if (limits->key != options->key)                                                                               \
	printf(" --set sim.%s=%" PRId64, #key, limits->key)

/* The command line of one run: with these limits, and these faults unless they are NULL. */
static void print_again(const struct campaign *campaign, uint64_t seed, const struct wh_trial_options *limits,
			const struct wh_schedule *faults)
{
	const struct wh_trial_options *options = campaign->options;
	char line[WH_FAULT_TEXT];

	printf("  whorl sim %s --seed %" PRIu64 " --runs 1", campaign->arguments->file, seed);
	for (size_t i = 0; i < campaign->arguments->set_count; i++)
		printf(" --set '%s'", campaign->arguments->sets[i]);
	PRINT_LIMIT(nodes_min);
	PRINT_LIMIT(nodes_max);
	PRINT_LIMIT(subgroups_max);
	PRINT_LIMIT(messages_max);
	PRINT_LIMIT(deliveries_max);
	if (faults != NULL && faults->count == 0)
		printf(" --set sim.faults_max=0");
	for (uint32_t i = 0; faults != NULL && i < faults->count; i++)
		printf(" --fault '%s'", wh_fault_print(&faults->faults[i], line));
	printf("\n");
}

/* The report is that of a run made anew: it is the same run. */
static void explain_failure(struct campaign *campaign, uint64_t seed)
{
	struct wh_trial trial;
	struct wh_verdict verdict;
	uint32_t attempts;
	char line[WH_FAULT_TEXT];

	printf("seed %" PRIu64 ": %s\n\n", seed, campaign->page->verdict.text);
	wh_trial_make(&trial, campaign->options, seed, campaign->given);
	wh_trial_play_apart(&trial, stdout, &verdict);
	if (verdict.good)
		printf("A second run with this seed is good: they are not the same, which is a fault of the simulator.\n");
	if (!verdict.good && !campaign->arguments->no_shrink) {
		attempts = wh_trial_shrink(&trial, &verdict, wh_trial_play_apart, tell_shrinking, campaign);
		wh_progress("");
		printf("the least that fails, found by %u attempts:\n  %s\n  %d nodes, %u subgroups, step %" PRIu64
		       "\n",
		       attempts, verdict.text, (int)trial.plan.config.group.nodes, trial.plan.config.subgroup_count,
		       verdict.result.steps);
		for (uint32_t i = 0; i < trial.schedule.count; i++)
			printf("  %s\n", wh_fault_print(&trial.schedule.faults[i], line));
		printf("\n");
	}
	printf("again:\n");
	print_again(campaign, seed, campaign->options, campaign->arguments->has_faults ? campaign->given : NULL);
	print_again(campaign, trial.seed, &trial.options, &trial.schedule);
	wh_trial_free(&trial);
}

static void print_sum(const struct campaign *campaign)
{
	const struct page *page = campaign->page;
	double seconds = seconds_since(campaign->began_ns);

	printf("%" PRIu64 " runs from seed %" PRId64 " in %.1f s, %.0f runs/s: %" PRIu64 " steps, %" PRIu64
	       " faults, %" PRIu64 " runs with a majority in the end, %" PRIu64 " failed\n",
	       wh_load_relaxed(&page->done), campaign->options->seed, seconds,
	       (double)wh_load_relaxed(&page->done) / seconds, page->steps, page->faults, page->progressed,
	       wh_load_relaxed(&page->failed));
}

/* With --keep-going there is a line for each failed run, unless one has killed the worker. */
static bool is_told(const struct campaign *campaign)
{
	return campaign->arguments->keep_going &&
	       wh_load_relaxed(&campaign->page->done) == (uint64_t)campaign->options->runs;
}

static enum wh_exit run_campaign(struct campaign *campaign)
{
	struct wh_error err;
	enum wh_exit status = WH_EXIT_GOOD;

	campaign->page = mmap(NULL, sizeof *campaign->page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (campaign->page == MAP_FAILED) {
		wh_say("%s", strerror(errno));
		return WH_EXIT_MACHINE;
	}
	if (wh_watch_open(&campaign->watch, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	campaign->began_ns = wh_clock_ns();
	if (!run_all(campaign)) {
		status = campaign->watch.interrupted != 0 ? WH_EXIT_INTERRUPTED : WH_EXIT_FAILED;
		if (status == WH_EXIT_FAILED && !campaign->unwritten && !is_told(campaign))
			explain_failure(campaign, wh_load_acquire(&campaign->page->seed));
		if (campaign->watch.interrupted != 0)
			status = WH_EXIT_INTERRUPTED;
	}
	print_sum(campaign);
	printf("trace %016" PRIx64 "\n", campaign->page->digest);
	wh_watch_close(&campaign->watch);
	munmap(campaign->page, sizeof *campaign->page);
	return status;
}

static void set_key(struct wh_conf *conf, const char *key, const char *value)
{
	char text[128];

	if (value == NULL)
		return;
	snprintf(text, sizeof text, "sim.%s=%s", key, value);
	wh_conf_set(conf, text);
}

int wh_sim_main(int argc, char **argv)
{
	struct arguments arguments = {.sets = calloc((size_t)argc + 1, sizeof *arguments.sets)};
	struct wh_conf *conf = wh_sections_conf();
	struct wh_trial_options trial;
	struct wh_schedule of_file = {.count = 0};
	struct campaign campaign = {.arguments = &arguments, .options = &trial};
	enum wh_exit status = WH_EXIT_MACHINE;

	if (arguments.sets == NULL || conf == NULL) {
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		goto out_free;
	}
	argp_parse(&argp, argc, argv, 0, NULL, &arguments);
	wh_conf_load_file(conf, arguments.file);
	for (size_t i = 0; i < arguments.set_count; i++)
		wh_conf_set(conf, arguments.sets[i]);
	set_key(conf, "seed", arguments.seed);
	set_key(conf, "runs", arguments.runs);
	status = check_conf(conf, &trial, &of_file);
	if (arguments.has_faults)
		campaign.given = &arguments.faults;
	else if (of_file.count > 0)
		campaign.given = &of_file;
	if (status == WH_EXIT_GOOD)
		status = run_campaign(&campaign);
out_free:
	wh_conf_free(conf);
	free(arguments.sets);
	return status;
}
