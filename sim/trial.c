/* trial.c - see trial.h; shrink.c makes them smaller. */
#include "sim/trial.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "sim/flavours.h"
#include "transport/dice.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define APART_SECONDS 120 /* of processor time that a run takes at most */
#define BETWEEN (1u << WH_FAULT_CUT | 1u << WH_FAULT_SLOW | 1u << WH_FAULT_BREAK)
#define COMING (1u << WH_FAULT_JOIN | 1u << WH_FAULT_RETURN)

#define TRIAL(field) offsetof(struct wh_trial_options, field)
static const struct wh_option trial_options[] = {
	{"seed", WH_OPTION_INTEGER, "", "1", 0, INT64_MAX, NULL,
	 "Of the first run; each run that follows has the next. The same seed is the same run.", TRIAL(seed), false},
	{"runs", WH_OPTION_INTEGER, "", "1000", 1, INT64_C(1000000000), NULL, "How many, until one breaks a property.",
	 TRIAL(runs), false},
	{"flavour", WH_OPTION_CHOICE, "", "any", 0, 0, wh_flavour_names,
	 "What there is most of in a run; any: drawn from its seed.", TRIAL(flavour), false},
	{"nodes_min", WH_OPTION_INTEGER, "", "2", 1, 16, NULL, "The smallest group.", TRIAL(nodes_min), false},
	{"nodes_max", WH_OPTION_INTEGER, "", "9", 1, 16, NULL, "The largest.", TRIAL(nodes_max), false},
	{"subgroups_max", WH_OPTION_INTEGER, "", "4", 1, 50, NULL,
	 "Subgroups, overlapping anyhow, at most; some have shards.", TRIAL(subgroups_max), false},
	{"messages_max", WH_OPTION_INTEGER, "messages", "100", 1, 1000000, NULL,
	 "What a sender sends in a subgroup at most.", TRIAL(messages_max), false},
	{"deliveries_max", WH_OPTION_INTEGER, "messages", "1500", 1, 100000000, NULL, "Of all members together, about.",
	 TRIAL(deliveries_max), false},
	{"faults_max", WH_OPTION_INTEGER, "", "8", 0, WH_FAULTS_MAX, NULL,
	 "Faults of a run, at most, but for nodes that join, return or rest. 0: nothing goes wrong, and everything else is tried more widely.",
	 TRIAL(faults_max), false},
	{"fault_kinds", WH_OPTION_TEXT, "", "crash, stall, cut, slow, break, leave, join, return, rest", 0, 0, NULL,
	 "What may go wrong, and whether nodes may come and rest: any of these words.", TRIAL(fault_kinds), false},
	{"forming", WH_OPTION_CHOICE, "", "any", 0, 0, wh_plan_formings,
	 "When a group may be formed: all: by all configured nodes together; host: all are on one host; disk: each keeps a record; any: "
	 "drawn from the seed.",
	 TRIAL(forming), false},
	{"proofs", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "All nodes are on one host, and its kernel proves that processes have ended (docs/decisions/0039).",
	 TRIAL(proofs), false},
	{"words", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "Words and bits say in which subgroups something moves, however few there are, and silent ones are soon left out "
	 "(docs/decisions/0041).",
	 TRIAL(words), false},
	{"large", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "In most subgroups some messages are larger than a slot, and come in parts (docs/decisions/0045).",
	 TRIAL(large), false},
	{"relays", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "In most ordered subgroups of the file members relay slots that hold enough (docs/decisions/0074); not with proofs.",
	 TRIAL(relays), false},
	{"refusals", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "Half of the applications refuse messages at random, and take them later (docs/decisions/0044).",
	 TRIAL(refusals), false},
	{"wishes", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "Nodes enter and leave two to four subgroups that the file does not have (docs/decisions/0046).",
	 TRIAL(wishes), false},
	{"calls", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "In most ordered subgroups of the file all messages are calls, and states are read (docs/decisions/0048).",
	 TRIAL(calls), false},
	{"disks", WH_OPTION_SWITCH, "", "off", 0, 0, NULL,
	 "Most ordered subgroups of the file are durable, and disks fail, and lose what was not synced (docs/decisions/0058).",
	 TRIAL(disks), false},
	{"failure_timeout_ms", WH_OPTION_INTEGER, "ms", "40", 20, 10000, NULL,
	 "Of the group; virtual time, as all times here.", TRIAL(failure_timeout_ms), false},
	{"cut_max_ms", WH_OPTION_INTEGER, "ms", "0", 0, 600000, NULL,
	 "A member that has heard no quorum for so long, and never can again, gives up (docs/decisions/0051); 0: it waits for ever.",
	 TRIAL(cut_max_ms), false},
	{"latency_max_us", WH_OPTION_INTEGER, "us", "20", 1, 2000, NULL,
	 "Of a push, a message or a notice that no fault has slowed down.", TRIAL(latency_max_us), false},
};
const struct wh_option_table wh_trial_table = {
	"sim",
	WH_OPTION_UNNAMED,
	"What `whorl sim` tries: runs of real nodes in virtual time, each drawn from its "
	"seed within these limits.",
	trial_options,
	COUNT(trial_options),
	sizeof(struct wh_trial_options)};

static const struct wh_option fault_options[] = {
	{"is", WH_OPTION_TEXT, "", "crash 1 at 30 ms", 0, 0, NULL,
	 "A sentence such as `stall 1 for 80 ms at wedge 1`, `cut 0,1 from 2 for 90 ms at 20 ms`; "
	 "docs/simulator.md has all of them.",
	 offsetof(struct wh_trial_fault, line), false},
};
const struct wh_option_table wh_trial_fault_table = {
	"fault",
	WH_OPTION_NAMED,
	"A fault of each run of `whorl sim`, instead of those drawn from the seed; as many as wanted.",
	fault_options,
	COUNT(fault_options),
	sizeof(struct wh_trial_fault)};

bool wh_trial_kinds(const char *words, uint32_t *kinds)
{
	*kinds = 0;
	for (words += strspn(words, " ,"); *words != '\0'; words += strspn(words, " ,")) {
		size_t bytes = strcspn(words, " ,");
		int kind = 0;

		while (kind < WH_FAULT_ENTER && (strlen(wh_fault_word((enum wh_fault_kind)kind)) != bytes ||
						 strncmp(wh_fault_word((enum wh_fault_kind)kind), words, bytes) != 0))
			kind++;
		if (kind == WH_FAULT_ENTER) /* wishes have a key of their own */
			return false;
		*kinds |= 1u << kind;
		words += bytes;
	}
	return true;
}

/* ---- one of them ----------------------------------------------------------------------------------------------------------- */

static uint32_t clamp_nodes(uint32_t nodes, const struct wh_trial_options *options)
{
	int64_t least = options->nodes_min, most = options->nodes_max;

	return (uint32_t)(nodes > most ? most : nodes < least ? least : nodes);
}

/* On one host nothing is cut off or slow; that a connection ends and both processes go on is seen where ends are told from deaths. */
static uint32_t kinds_on(const struct wh_plan *plan, uint32_t kinds)
{
	uint32_t between = plan->proofs ? BETWEEN & ~(1u << WH_FAULT_BREAK) : plan->one_host ? BETWEEN : 0;

	return kinds & ~between;
}

void wh_trial_make(struct wh_trial *trial, const struct wh_trial_options *options, uint64_t seed,
		   const struct wh_schedule *given)
{
	const struct wh_flavour *flavour = wh_flavour_of(options->flavour, seed);
	uint64_t timeout_us = (uint64_t)options->failure_timeout_ms * 1000;
	uint32_t kinds = 0;
	bool may_return;
	struct wh_plan_limits limits = {
		.nodes_min = clamp_nodes(flavour->nodes_min, options),
		.nodes = clamp_nodes(flavour->nodes_max, options),
		.subgroups = (uint32_t)options->subgroups_max,
		.messages = (uint32_t)options->messages_max,
		.window = flavour->window_max,
		.rows_bytes = 2 << 20,
		.deliveries = (uint64_t)options->deliveries_max,
		.data_bytes = 1 << 20,
		.failure_timeout_ms = options->failure_timeout_ms,
		.latency_max_ns = (uint64_t)options->latency_max_us * 1000,
		.shards = true,
	};

	*trial = (struct wh_trial){.options = *options, .seed = seed};
	if (!wh_trial_kinds(options->fault_kinds, &kinds))
		kinds = 0;
	may_return = (kinds >> WH_FAULT_RETURN & 1) != 0; /* from the end of all, in any flavour */
	if (!wh_flavour_has(flavour, WH_HABIT_JOINS))
		kinds &= ~COMING;
	limits.joins = (kinds & COMING) != 0 || (wh_schedule_kinds(given) & COMING) != 0;
	limits.forming = (enum wh_plan_forming)options->forming;
	limits.proofs = options->proofs;
	limits.words = options->words;
	limits.large = options->large;
	limits.relays = options->relays;
	limits.refusals = options->refusals;
	limits.wishes = options->wishes;
	limits.calls = options->calls;
	limits.disks = options->disks;
	limits.network = (wh_schedule_kinds(given) & BETWEEN) != 0;
	limits.ids = 64 - (uint32_t)__builtin_clzll(wh_schedule_absent(given) | 1);
	wh_plan_make(&trial->plan, seed, &limits);
	trial->plan.flavour = flavour->name;
	trial->plan.config.group.cut_max_ms = options->cut_max_ms;
	if (given != NULL) {
		trial->schedule = *given;
	} else {
		const struct wh_schedule_limits faults = {.flavour = flavour,
							  .nodes = (uint32_t)trial->plan.config.group.nodes,
							  .ids = wh_node_config_nodes_max(&trial->plan.config),
							  .founder = wh_node_config_founder(&trial->plan.config),
							  .faults = (uint32_t)options->faults_max,
							  .kinds = kinds_on(&trial->plan, kinds),
							  .proofs = trial->plan.proofs,
							  .one_host = trial->plan.one_host,
							  .names = trial->plan.name_count,
							  .disks = trial->plan.logs && options->faults_max > 0 &&
								   may_return,
							  .span_us = 2 * timeout_us,
							  .failure_timeout_us = timeout_us};

		wh_schedule_draw(&trial->schedule, seed, &faults);
	}
}

void wh_trial_free(struct wh_trial *trial)
{
	wh_plan_free(&trial->plan);
}

void wh_trial_play(const struct wh_trial *trial, FILE *log, struct wh_verdict *out)
{
	out->good = wh_play_all(&trial->plan, &trial->schedule, &out->result, out->text, sizeof(out->text), log);
}

void wh_trial_play_apart(const struct wh_trial *trial, FILE *log, struct wh_verdict *out)
{
	struct wh_verdict *shared =
		mmap(NULL, sizeof(*shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t child;

	*out = (struct wh_verdict){.text = "apart: no process can be had"};
	if (shared == MAP_FAILED)
		return;
	fflush(NULL);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		alarm(APART_SECONDS);
		wh_trial_play(trial, log, shared);
		fflush(NULL);
		_exit(0);
	}
	if (child > 0 && waitpid(child, &status, 0) == child) {
		*out = *shared;
		if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
			snprintf(out->text, sizeof(out->text), "end: there is none for %d s", APART_SECONDS);
		else if (WIFSIGNALED(status))
			snprintf(out->text, sizeof(out->text), "died: %s", strsignal(WTERMSIG(status)));
		out->good = out->good && status == 0;
	}
	munmap(shared, sizeof(*shared));
}

uint64_t wh_trial_mix(uint64_t digest, const struct wh_verdict *verdict)
{
	return wh_mix(digest ^ verdict->result.digest) + UINT64_C(0x9e3779b97f4a7c15);
}
