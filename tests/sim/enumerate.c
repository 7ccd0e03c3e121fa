/* enumerate.c - a crash at each step of a change of view, and every pair of such crashes: not drawn, but one after another.
 *
 *     sim-enumerate [--seed N] [--seeds K] [--slice I/N] [--thin K] [--keep-going]
 *     sim-enumerate --only 'FAULT; FAULT; ...' [--nodes N] [--seed N]
 *
 * A small group sends all the time, and something makes it change its view: the trigger, one of a table (a node dies,
 * leaves, is not heard). A run of it is traced: each push, of each node, from the first suspicion until all have installed
 * what comes of it, and the first pushes after that. A proposal, an acknowledgement, a decision and so on are pushes too. The
 * same seed and the same faults are the same run up to the moment of the next fault; so each push of the trace is a place
 * for a crash, just before it, and the end of each pass is one, with its pushes under way. Such a run is traced again, and a
 * second crash at each of these places behind the first gives each pair once, whichever of the two comes first.
 *
 * What a crash cuts off of what is under way is drawn from the seed: another seed, other pieces.
 *
 * --slice plays every N-th single crash, from the I-th, with all its pairs, so N slices are the whole; --thin plays only
 * every K-th pair. Each run is judged as all runs of the simulator are, and must go on wherever more than half of the members
 * are left that nothing has happened to. A run that breaks a property is printed, with what --only takes to play it again:
 * faults as `whorl sim --fault` takes them. --keep-going goes on behind it.
 *
 * Exit status: 0 all good, 1 a property is broken, 2 usage.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/play_int.h"

#define NODES_MAX 6
#define CRASHES_MAX 2
#define AFTER 3          /* pushes of each node in the new view are steps too */
#define REPORTS 3        /* so many failures are told at length */
#define TIMEOUT_MS 4     /* short, so that a run sends all the time and yet is short */
#define MESSAGES 8       /* of each stream */
#define SEND_NS 50000    /* between two of them, about */
#define PACE_MIN_NS 2000 /* of nodes: between two passes, about */
#define PACE_MAX_NS 10000

/* @ is each node, + each that comes behind it, * all but @. All come while everybody sends. */
static const struct trigger {
	const char *faults;
	uint32_t nodes, crashes; /* besides its own */
} triggers[] = {
	{"crash @ at 0.3 ms", 5, 2},
	{"crash @ silently at 0.3 ms", 5, 2},
	{"leave @ at 0.3 ms", 5, 1},
	{"leave @ at 0.3 ms", 6, 2}, /* five remain */
	{"stall @ for 8 ms at 0.3 ms", 5, 2},
	{"cut @ from * for 8 ms at 0.3 ms", 5, 2},
	{"cut @ and * for 8 ms at 0.3 ms", 5, 2},
	{"cut @ and + for 8 ms at 0.3 ms", 5, 1},
	{"cut @ from + for 8 ms at 0.3 ms", 5, 1},
	{"cut + from @ for 8 ms at 0.3 ms", 5, 1},
	{"break @ with + at 0.3 ms", 5, 1},
	{"crash @ at 0.3 ms; crash + at 0.3 ms", 5, 1},
	{"crash @ silently at 0.3 ms; crash + silently at 0.3 ms", 5, 1},
	{"crash @ at 0.3 ms; leave + at 0.3 ms", 6, 1},
	{"leave @ at 0.3 ms; crash + silently at 0.3 ms", 6, 1},
};

/* ---- a trace ----------------------------------------------------------------------------------------------------------- */

struct step { /* a push */
	uint32_t node;
	uint64_t push; /* its number, of this node */
	uint64_t when_ns;
	enum wh_moment what;
};

struct trace {
	struct step *steps;
	size_t count, capacity;
	enum wh_moment next[NODES_MAX]; /* what the node's next push will be */
	uint32_t after[NODES_MAX];      /* its pushes since all have installed */
};

/* A member of the last view has not come to it yet, or is about to leave it. */
static bool is_changing(const struct play *play)
{
	for (uint32_t i = 0; i < play->nodes; i++) {
		const struct actor *actor = &play->actors[i];

		if ((play->views->members >> i & 1) == 0 || !wh_actor_runs(actor) || actor->removed)
			continue;
		if (actor->view != play->views || wh_inspect_wedged(actor->node) ||
		    wh_inspect_suspects(actor->node) != 0)
			return true;
	}
	return false;
}

static void add_step(struct trace *trace, const struct step *step)
{
	if (trace->count == trace->capacity) {
		trace->capacity = 2 * trace->capacity + 64;
		trace->steps = realloc(trace->steps, trace->capacity * sizeof(*trace->steps));
		if (trace->steps == NULL) {
			fprintf(stderr, "no memory for a trace\n");
			exit(2);
		}
	}
	trace->steps[trace->count++] = *step;
}

/* The step that a push is is told before the push. */
static void watch(void *ctx, const struct actor *actor, enum wh_moment moment)
{
	struct trace *trace = ctx;

	if (moment != WH_MOMENT_PUSH) {
		if (moment != WH_MOMENT_UPCALL && moment <= WH_MOMENT_INSTALL)
			trace->next[actor->id] = moment;
		return;
	}
	if (is_changing(actor->play))
		memset(trace->after, 0, sizeof(trace->after));
	else
		trace->after[actor->id]++;
	if (wh_actor_runs(actor) && trace->after[actor->id] <= AFTER)
		add_step(trace, &(struct step){.node = actor->id,
					       .push = actor->play->seen[actor->id][WH_MOMENT_PUSH],
					       .when_ns = wh_sim_now(actor->play->sim),
					       .what = trace->next[actor->id]});
	trace->next[actor->id] = WH_MOMENT_PUSH;
}

/* The last push of its pass: what comes behind it comes later. */
static bool ends_pass(const struct trace *trace, size_t at)
{
	const struct step *step = &trace->steps[at];

	while (++at < trace->count && trace->steps[at].when_ns == step->when_ns)
		if (trace->steps[at].node == step->node)
			return false;
	return true;
}

static void begin_trace(struct trace *trace)
{
	trace->count = 0;
	memset(trace->after, 0, sizeof(trace->after));
	for (uint32_t i = 0; i < NODES_MAX; i++)
		trace->next[i] = WH_MOMENT_PUSH;
}

/* ---- a run ------------------------------------------------------------------------------------------------------------- */

/* Ordered among all, ordered without the first leader, and unordered. */
static void make_plan(struct wh_plan *plan, uint64_t seed, uint32_t nodes)
{
	static const char *const members[] = {"all", "1,2,3", "all"}, *const senders[] = {"all", "1,2,3", "one"};
	const uint64_t all = (UINT64_C(1) << nodes) - 1, of[] = {all, 0xe, all}, from[] = {all, 0xe, 1};
	struct wh_node_subgroup *subgroups = wh_plan_alloc(3, sizeof(*subgroups));
	struct wh_plan_subgroup *drawn = wh_plan_alloc(3, sizeof(*drawn));

	wh_plan_plain(plan, seed, nodes, 3, 16, MESSAGES);
	for (uint32_t g = 0; g < 3; g++) {
		subgroups[g] = plan->config.subgroups[0];
		drawn[g] = plan->subgroups[0];
		subgroups[g].name[1] = (char)('0' + g);
		snprintf(subgroups[g].options.members, sizeof(subgroups[g].options.members), "%s", members[g]);
		snprintf(subgroups[g].options.senders, sizeof(subgroups[g].options.senders), "%s", senders[g]);
		drawn[g].members = of[g];
		drawn[g].senders = from[g];
		drawn[g].member_count = (uint32_t)__builtin_popcountll(of[g]);
		drawn[g].sender_count = (uint32_t)__builtin_popcountll(from[g]);
	}
	drawn[2].ordered = false;
	subgroups[2].options.mode = WH_SUBGROUP_UNORDERED;
	free(plan->config.subgroups);
	free(plan->subgroups);
	plan->config.subgroups = subgroups;
	plan->subgroups = drawn;
	plan->config.subgroup_count = 3;
	plan->config.group.failure_timeout_ms = TIMEOUT_MS;
}

static struct play *new_play(const struct wh_plan *plan, const struct wh_schedule *schedule, FILE *log)
{
	struct play *play = wh_play_new(plan, schedule, log);

	for (uint32_t i = 0; i < play->nodes; i++) {
		struct actor *actor = &play->actors[i];

		actor->pace_ns = actor->pace_ns <= PACE_MIN_NS ? PACE_MIN_NS : PACE_MAX_NS;
		for (uint32_t g = 0; g < plan->config.subgroup_count; g++) {
			actor->apps[g].stream->pace_ns = SEND_NS;
			actor->apps[g].stream->burst = 1 + (i + g) % 2;
		}
	}
	return play;
}

/* More than half remain of the nodes that do not leave, whatever becomes of those to which something happens. A node that leaves
 * while it suspects another counts as failed: so it may be if there is another fault before. */
static bool must_progress(const struct wh_schedule *schedule, uint32_t nodes)
{
	uint64_t gone = 0, lost = 0;
	bool troubled = false; /* the trigger is not a leave alone */
	uint32_t left;

	for (uint32_t i = 0; i < schedule->count; i++) {
		const struct wh_fault *fault = &schedule->faults[i];

		if (fault->kind == WH_FAULT_LEAVE)
			gone |= UINT64_C(1) << fault->node;
		else if (wh_fault_is_between(fault))
			lost |= fault->from | (fault->to & (fault->to - 1) ? 0 : fault->to);
		else
			lost |= UINT64_C(1) << fault->node;
		troubled = troubled || (fault->kind != WH_FAULT_LEAVE && fault->moment == WH_MOMENT_TIME);
	}
	if (troubled) {
		lost |= gone;
		gone = 0;
	}
	left = nodes - (uint32_t)__builtin_popcountll(gone);
	return 2 * (left - (uint32_t)__builtin_popcountll(lost & ~gone)) > left;
}

struct totals {
	uint64_t runs[CRASHES_MAX + 1]; /* by crashes */
	uint64_t at[WH_MOMENT_COUNT];   /* by what the last crash came before */
	uint64_t views, stuck, failures;
};

struct enumeration {
	uint64_t seed;
	uint32_t nodes, crashes;
	struct wh_plan plan;
	struct wh_schedule schedule;
	struct trace traces[CRASHES_MAX + 1];
	uint64_t singles, slice, slices; /* that have been come to; of these every so many */
	uint64_t pairs, thin;
	bool keep_going;
	struct totals totals;
};

static void print_case(const struct enumeration *e, const char *verdict)
{
	char line[WH_FAULT_TEXT];

	printf("%s\nagain: sim-enumerate --nodes %u --seed %" PRIu64 " --only '", verdict, e->nodes, e->seed);
	for (uint32_t i = 0; i < e->schedule.count; i++)
		printf("%s%s", i > 0 ? "; " : "", wh_fault_print(&e->schedule.faults[i], line));
	printf("'\n\n");
	fflush(stdout);
}

/* `from`: the run is that of the trace before this one, up to the step with that place. */
static void check_case(struct enumeration *e, struct play *play, const struct trace *trace, size_t from)
{
	if (play->happened != (UINT64_C(1) << e->schedule.count) - 1)
		wh_play_fail(play, "enumeration: a fault has not come about");
	for (size_t at = 0; at < from; at++)
		if (at >= trace->count || trace[-1].steps[at].node != trace->steps[at].node ||
		    trace[-1].steps[at].push != trace->steps[at].push)
			wh_play_fail(play, "enumeration: the same faults are not the same run");
	if (play->survivors == 0 && must_progress(&e->schedule, e->nodes))
		wh_play_fail(play, "progress: a majority is left, and has not gone on");
}

static bool play_case(struct enumeration *e, struct trace *trace, size_t from, struct wh_play_result *result)
{
	FILE *log = e->totals.failures < REPORTS ? stdout : NULL;
	struct play *play = new_play(&e->plan, &e->schedule, log);
	char verdict[512];
	bool good;

	begin_trace(trace);
	play->watch = watch;
	play->watch_ctx = trace;
	wh_play_perform(play);
	check_case(e, play, trace, from);
	good = wh_play_end(play, result, verdict, sizeof(verdict));
	e->totals.views += result->views;
	e->totals.stuck += !result->progressed;
	if (!good) {
		e->totals.failures++;
		print_case(e, verdict);
	}
	return good;
}

/* ---- all of them ------------------------------------------------------------------------------------------------------- */

static bool explore(struct enumeration *e, uint32_t crashes, size_t from);

/* One more crash, noticed or silent, before that step or after its pass. */
static bool crash_at(struct enumeration *e, uint32_t crashes, size_t at, bool after, bool silently)
{
	const struct step *step = &e->traces[crashes].steps[at];
	uint64_t *runs = &e->totals.runs[crashes + 1], before = *runs;
	bool good;

	e->schedule.faults[e->schedule.count++] = (struct wh_fault){.kind = WH_FAULT_CRASH,
								    .node = step->node,
								    .silently = silently,
								    .moment = WH_MOMENT_PUSH,
								    .after = after,
								    .at = step->push};
	good = explore(e, crashes + 1, at + 1);
	e->totals.at[step->what] += *runs - before;
	e->schedule.count--;
	return good;
}

/* Plays what is scheduled, and then with one more crash at each step from that one. False: no more. */
static bool explore(struct enumeration *e, uint32_t crashes, size_t from)
{
	struct trace *trace = &e->traces[crashes];
	struct wh_play_result result;
	bool good;

	if ((crashes == 1 && e->singles++ % e->slices != e->slice) || (crashes == 2 && e->pairs++ % e->thin != 0))
		return true;
	e->totals.runs[crashes]++;
	good = play_case(e, trace, from, &result);
	if (!good && !e->keep_going)
		return false;
	for (size_t at = from; good && crashes < e->crashes && at < trace->count; at++)
		for (int how = 0; how < (ends_pass(trace, at) ? 4 : 2); how++)
			if (!crash_at(e, crashes, at, how >= 2, how % 2 != 0) && !e->keep_going)
				return false;
	return true;
}

static void parse_faults(struct wh_schedule *schedule, const char *text, uint32_t nodes)
{
	char copy[WH_FAULTS_MAX * WH_FAULT_TEXT], wrong[256], *rest = copy, *line;

	schedule->count = 0;
	snprintf(copy, sizeof(copy), "%s", text);
	while ((line = strsep(&rest, ";")) != NULL && schedule->count < WH_FAULTS_MAX) {
		struct wh_fault *fault = &schedule->faults[schedule->count++];

		line += strspn(line, " ");
		if (!wh_fault_parse(fault, line, wrong, sizeof(wrong)) || !wh_fault_fits(fault, nodes)) {
			fprintf(stderr, "'%s' is no fault of %u nodes: %s\n", line, nodes, wrong);
			exit(2);
		}
	}
}

static void expand(char *text, size_t bytes, const char *faults, uint32_t node, uint32_t other, uint32_t nodes)
{
	size_t at = 0;

	text[0] = '\0';
	for (; *faults != '\0'; faults++) {
		if (*faults == '@')
			at += (size_t)snprintf(text + at, bytes - at, "%u", node);
		else if (*faults == '+')
			at += (size_t)snprintf(text + at, bytes - at, "%u", other);
		else if (*faults != '*')
			at += (size_t)snprintf(text + at, bytes - at, "%c", *faults);
		else
			for (uint32_t i = 0; i < nodes; i++)
				if (i != node)
					at += (size_t)snprintf(text + at, bytes - at, "%s%u",
							       i > (node == 0) ? "," : "", i);
	}
}

/* A trigger, with these nodes. */
static bool explore_trigger(struct enumeration *e, const struct trigger *trigger, uint32_t node, uint32_t other)
{
	const struct totals before = e->totals;
	char text[256];
	bool good;

	e->nodes = trigger->nodes;
	e->crashes = trigger->crashes;
	expand(text, sizeof(text), trigger->faults, node, other, e->nodes);
	parse_faults(&e->schedule, text, e->nodes);
	make_plan(&e->plan, e->seed, e->nodes);
	good = explore(e, 0, 0);
	wh_plan_free(&e->plan);
	printf("%u nodes, %s: %zu steps, %" PRIu64 " crashes, %" PRIu64 " pairs, %" PRIu64 " broken\n", e->nodes, text,
	       e->traces[0].count, e->totals.runs[1] - before.runs[1], e->totals.runs[2] - before.runs[2],
	       e->totals.failures - before.failures);
	fflush(stdout);
	return good;
}

static bool explore_all(struct enumeration *e)
{
	for (size_t t = 0; t < sizeof(triggers) / sizeof(triggers[0]); t++) {
		bool two = strchr(triggers[t].faults, '+') != NULL;

		for (uint32_t node = 0; node < triggers[t].nodes; node++)
			for (uint32_t other = node + 1; other < (two ? triggers[t].nodes : node + 2); other++)
				if (!explore_trigger(e, &triggers[t], node, other))
					return false;
	}
	return true;
}

static void print_totals(const struct totals *totals, double seconds)
{
	uint64_t runs = totals->runs[0] + totals->runs[1] + totals->runs[2];

	for (enum wh_moment what = WH_MOMENT_PUSH; what <= WH_MOMENT_INSTALL; what++)
		printf("%-12s %" PRIu64 "\n", what == WH_MOMENT_PUSH ? "other pushes" : wh_moment_word(what),
		       totals->at[what]);
	printf("%" PRIu64 " runs: %" PRIu64 " triggers, %" PRIu64 " with a crash, %" PRIu64 " with two; %" PRIu64
	       " views, %" PRIu64 " runs without a majority in the end, %" PRIu64 " broken; %.1f s, %.0f a second\n",
	       runs, totals->runs[0], totals->runs[1], totals->runs[2], totals->views, totals->stuck, totals->failures,
	       seconds, (double)runs / seconds);
}

/* ---- the command --------------------------------------------------------------------------------------------------------- */

/* One run, and its steps. */
static bool play_only(struct enumeration *e, const char *faults)
{
	const struct trace *trace = &e->traces[0];
	struct wh_play_result result;
	bool good;

	parse_faults(&e->schedule, faults, e->nodes);
	make_plan(&e->plan, e->seed, e->nodes);
	good = play_case(e, &e->traces[0], 0, &result);
	wh_plan_free(&e->plan);
	for (size_t i = 0; i < trace->count; i++)
		printf("  node %u push %-4" PRIu64 " %s\n", trace->steps[i].node, trace->steps[i].push,
		       wh_moment_word(trace->steps[i].what));
	printf("digest %016" PRIx64 ", %" PRIu64 " events, %" PRIu64 " deliveries, %" PRIu64 " us, view %" PRIu64
	       ", %zu steps%s\n",
	       result.digest, result.steps, result.deliveries, result.virtual_ns / 1000, result.views, trace->count,
	       result.progressed ? "" : ", no majority");
	return good;
}

struct arguments {
	uint64_t seeds, nodes;
	const char *only;
};

static double now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static bool number_of(const char *text, uint64_t *out)
{
	char *end;

	if (*text < '0' || *text > '9')
		return false;
	*out = strtoull(text, &end, 10);
	return *end == '\0';
}

static bool parse_option(const char *name, const char *value, struct enumeration *e, struct arguments *arguments)
{
	if (strcmp(name, "--seed") == 0)
		return number_of(value, &e->seed);
	if (strcmp(name, "--seeds") == 0)
		return number_of(value, &arguments->seeds);
	if (strcmp(name, "--thin") == 0)
		return number_of(value, &e->thin) && e->thin > 0;
	if (strcmp(name, "--nodes") == 0)
		return number_of(value, &arguments->nodes) && arguments->nodes >= 4 && arguments->nodes <= NODES_MAX;
	if (strcmp(name, "--slice") == 0)
		return sscanf(value, "%" SCNu64 "/%" SCNu64, &e->slice, &e->slices) == 2 && e->slice < e->slices;
	arguments->only = value;
	return strcmp(name, "--only") == 0;
}

static bool parse(int argc, char **argv, struct enumeration *e, struct arguments *arguments)
{
	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--keep-going") == 0)
			e->keep_going = true;
		else if (i + 1 == argc || !parse_option(argv[i], argv[i + 1], e, arguments))
			return false;
		else
			i++;
	}
	e->nodes = (uint32_t)arguments->nodes;
	return true;
}

int main(int argc, char **argv)
{
	struct enumeration e = {.seed = 1, .slices = 1, .thin = 1};
	struct arguments arguments = {.seeds = 1, .nodes = 5};
	double began = now();
	bool good = true;

	if (!parse(argc, argv, &e, &arguments)) {
		fprintf(stderr,
			"usage: %s [--seed N] [--seeds K] [--slice I/N] [--thin K] [--keep-going]\n"
			"       %s --only 'FAULT; FAULT; ...' [--nodes N] [--seed N]\n",
			argv[0], argv[0]);
		return 2;
	}
	if (arguments.only != NULL) {
		good = play_only(&e, arguments.only);
	} else {
		for (uint64_t last = e.seed + arguments.seeds; e.seed < last && good; e.seed++)
			good = explore_all(&e);
		print_totals(&e.totals, now() - began);
	}
	for (uint32_t i = 0; i <= CRASHES_MAX; i++)
		free(e.traces[i].steps);
	return e.totals.failures == 0 ? 0 : 1;
}
