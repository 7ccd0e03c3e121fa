/* recovery.c - how long a group stands still when one of its processes is killed, stage by stage.
 *
 *     whorl-recovery [-n NODES] [-r REPETITIONS] [-v VICTIM] [-t dedicated|caller]
 *
 * Each repetition starts a group of its own on shared memory, in which all send as fast as they can, and kills a member:
 * node 0, who leads the change of view when it lives, or whom -v names. All survivors of all repetitions count. The logs of
 * each group are compared as well.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/processes/cluster.h"
#include "tests/processes/member.h"

enum {
	NOTICED = WHORL_STAGES, /* from the signal to the first suspicion */
	WHOLE,                  /* from the signal to the first message of the new view */
	ROWS
};

static const char *const stages[ROWS] = {
	[NOTICED] = "noticed",
	[WHORL_STAGE_WEDGED] = "wedged",
	[WHORL_STAGE_PROPOSED] = "proposed",
	[WHORL_STAGE_ACKNOWLEDGED] = "acknowledged",
	[WHORL_STAGE_DECIDED] = "decided",
	[WHORL_STAGE_AGREED] = "agreed",
	[WHORL_STAGE_INSTALLED] = "installed",
	[WHORL_STAGE_DELIVERED] = "delivered",
	[WHOLE] = "from the kill",
};

/* Upper ends in microseconds; the last has none. */
static const unsigned buckets[] = {10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000};

#define BUCKETS (sizeof(buckets) / sizeof(buckets[0]) + 1)

struct figures {
	size_t count, room;
	uint64_t *since[ROWS]; /* ns since the first suspicion, when the stage was reached; NOTICED, WHOLE: see above */
	uint64_t *takes[ROWS]; /* ns since the stage before */
};

static bool make_figures(struct figures *f, size_t room)
{
	*f = (struct figures){.room = room};
	for (int row = 0; row < ROWS; row++) {
		f->since[row] = calloc(room, sizeof(uint64_t));
		f->takes[row] = calloc(room, sizeof(uint64_t));
		if (f->since[row] == NULL || f->takes[row] == NULL)
			return false;
	}
	return true;
}

static void take(struct figures *f, const struct state *state, uint64_t killed_ns)
{
	uint64_t whole = state->first_ns - killed_ns, change = state->change_ns[WHORL_STAGE_DELIVERED], before = 0;
	size_t at = f->count++;

	for (int stage = 0; stage < WHORL_STAGES; stage++) {
		uint64_t since = state->change_ns[stage];

		f->since[stage][at] = since;
		f->takes[stage][at] = since > before ? since - before : 0;
		before = since > before ? since : before;
	}
	f->since[WHOLE][at] = f->takes[WHOLE][at] = whole;
	f->since[NOTICED][at] = f->takes[NOTICED][at] = whole > change ? whole - change : 0;
}

static bool knows_stages(const struct cluster *c, uint32_t id)
{
	return c->board->state[id].stages_known > 0;
}

static void repeat(const struct cluster_options *options, uint32_t victim, struct figures *f)
{
	struct cluster c;

	cluster_start(&c, options);
	cluster_warm_up(&c);
	cluster_kill(&c, victim);
	UNTIL(&c, cluster_all(&c, knows_stages));
	for (uint32_t id = 0; id < options->nodes; id++)
		if (id != victim)
			take(f, &c.board->state[id], c.harmed_ns);
	cluster_end(&c, true);
}

/* ---- the table -------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	uint64_t one = *(const uint64_t *)a, other = *(const uint64_t *)b;

	return one < other ? -1 : one > other;
}

static double percentile(const uint64_t *sorted, size_t count, unsigned percent)
{
	return (double)sorted[(count - 1) * percent / 100] / 1000;
}

static void print_row(struct figures *f, int row)
{
	size_t histogram[BUCKETS] = {0};
	uint64_t *since = f->since[row], *takes = f->takes[row];

	qsort(since, f->count, sizeof(since[0]), compare);
	qsort(takes, f->count, sizeof(takes[0]), compare);
	for (size_t i = 0; i < f->count; i++) {
		size_t bucket = 0;

		while (bucket < BUCKETS - 1 && takes[i] >= buckets[bucket] * UINT64_C(1000))
			bucket++;
		histogram[bucket]++;
	}
	printf("%-14s %8.0f %8.0f %8.0f   %8.0f %8.0f %8.0f  ", stages[row], percentile(since, f->count, 50),
	       percentile(since, f->count, 90), percentile(since, f->count, 100), percentile(takes, f->count, 50),
	       percentile(takes, f->count, 90), percentile(takes, f->count, 100));
	for (size_t bucket = 0; bucket < BUCKETS; bucket++)
		printf(" %5zu", histogram[bucket]);
	printf("\n");
}

static void print_table(struct figures *f)
{
	printf("%-14s %26s   %26s   %s\n%-14s %8s %8s %8s   %8s %8s %8s  ", "microseconds", "since the suspicion",
	       "since the stage before", "how many took less than ... since the stage before", "stage", "median", "p90",
	       "max", "median", "p90", "max");
	for (size_t bucket = 0; bucket < BUCKETS - 1; bucket++)
		printf(" %5u", buckets[bucket]);
	printf("  more\n");
	print_row(f, NOTICED);
	for (int stage = 0; stage < WHORL_STAGES; stage++)
		print_row(f, stage);
	print_row(f, WHOLE);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: whorl-recovery [-n NODES (3 to %d)] [-r REPETITIONS] [-v VICTIM] [-t dedicated|caller]\n",
		(int)MEMBERS_MAX);
	return 2;
}

int main(int argc, char **argv)
{
	struct cluster_options options = {.nodes = 4, .timeout_ms = 20000, .thread = "dedicated"};
	unsigned repetitions = 20, victim = 0;
	struct figures figures;
	int option;

	if (member_wanted(argc, argv))
		return member_main(argv);
	while ((option = getopt(argc, argv, "n:r:v:t:")) != -1) {
		if (option == 'n')
			options.nodes = (uint32_t)atoi(optarg);
		else if (option == 'r')
			repetitions = (unsigned)atoi(optarg);
		else if (option == 'v')
			victim = (unsigned)atoi(optarg);
		else if (option == 't' && (strcmp(optarg, "dedicated") == 0 || strcmp(optarg, "caller") == 0))
			options.thread = optarg;
		else
			return usage();
	}
	if (optind != argc || options.nodes < 3 || options.nodes > MEMBERS_MAX || victim >= options.nodes ||
	    repetitions < 1 || repetitions > 100000)
		return usage();
	if (!make_figures(&figures, (size_t)repetitions * options.nodes))
		return EXIT_FAILURE;
	for (options.seed = 1; options.seed <= repetitions; options.seed++)
		repeat(&options, victim, &figures);
	printf("%u nodes, node %u killed, %u times, thread = %s\n\n", options.nodes, victim, repetitions,
	       options.thread);
	print_table(&figures);
	for (int row = 0; row < ROWS; row++) {
		free(figures.since[row]);
		free(figures.takes[row]);
	}
	return EXIT_SUCCESS;
}
