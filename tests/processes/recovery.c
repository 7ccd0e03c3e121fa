/* recovery.c - how long a group stands still when one of its processes is killed, stage by stage.
 *
 *     whorl-recovery [-n NODES] [-r REPETITIONS] [-v VICTIM] [-t dedicated|caller] [-m MB]
 *
 * Each repetition starts a group of its own on shared memory, in which all send as fast as they can, and kills a member:
 * node 0, which leads the change of view when it lives, or the one that -v names. With -m each member has so much memory more, which
 * the kernel takes apart before it closes connections. All survivors of all repetitions count. The
 * logs of each group are compared as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/processes/cluster.h"
#include "tests/processes/figures.h"
#include "tests/processes/member.h"

static struct figures noticed = {.name = "noticed"}, whole = {.name = "from the kill"};
static struct figures stages[WHORL_STAGES] = {
	[WHORL_STAGE_WEDGED] = {.name = "wedged"},
	[WHORL_STAGE_PROPOSED] = {.name = "proposed"},
	[WHORL_STAGE_ACKNOWLEDGED] = {.name = "acknowledged"},
	[WHORL_STAGE_DECIDED] = {.name = "decided"},
	[WHORL_STAGE_AGREED] = {.name = "agreed"},
	[WHORL_STAGE_INSTALLED] = {.name = "installed"},
	[WHORL_STAGE_DELIVERED] = {.name = "delivered"},
};

static bool take(const struct state *state, uint64_t killed_ns)
{
	uint64_t all = state->first_ns - killed_ns, change = state->change_ns[WHORL_STAGE_DELIVERED];
	uint64_t until = all > change ? all - change : 0; /* the first suspicion */

	return figures_note(&noticed, until, until) && figures_note_way(stages, WHORL_STAGES, state->change_ns) &&
	       figures_note(&whole, all, all);
}

static bool knows_stages(const struct cluster *c, uint32_t life)
{
	return c->board->state[life].stages_known > 0;
}

static bool repeat(const struct cluster_options *options, uint32_t victim)
{
	static struct cluster c; /* large */
	bool taken = true;

	cluster_start(&c, options);
	cluster_warm_up(&c);
	cluster_kill(&c, victim);
	UNTIL(&c, cluster_all(&c, knows_stages));
	for (uint32_t id = 0; id < options->nodes; id++)
		taken = taken && (id == victim || take(&c.board->state[id], c.harmed_ns));
	cluster_end(&c, true);
	return taken;
}

static int usage(void)
{
	fprintf(stderr,
		"usage: whorl-recovery [-n NODES (3 to %d)] [-r REPETITIONS] [-v VICTIM] [-t dedicated|caller] "
		"[-m MB] [-w: engine.death_waits]\n",
		(int)MEMBERS_MAX);
	return 2;
}

int main(int argc, char **argv)
{
	struct cluster_options options = {.nodes = 4, .timeout_ms = 20000, .thread = "dedicated"};
	unsigned repetitions = 20, victim = 0;
	bool good = true;
	int option;

	if (member_wanted(argc, argv))
		return member_main(argv);
	while ((option = getopt(argc, argv, "n:r:v:t:m:w")) != -1) {
		if (option == 'n')
			options.nodes = (uint32_t)atoi(optarg);
		else if (option == 'r')
			repetitions = (unsigned)atoi(optarg);
		else if (option == 'v')
			victim = (unsigned)atoi(optarg);
		else if (option == 'm')
			options.ballast_bytes = strtoull(optarg, NULL, 10) << 20;
		else if (option == 'w')
			options.death_waits = true;
		else if (option == 't' && (strcmp(optarg, "dedicated") == 0 || strcmp(optarg, "caller") == 0))
			options.thread = optarg;
		else
			return usage();
	}
	if (optind != argc || options.nodes < 3 || options.nodes > MEMBERS_MAX || victim >= options.nodes ||
	    repetitions < 1 || repetitions > 100000)
		return usage();
	for (options.seed = 1; options.seed <= repetitions && good; options.seed++)
		good = repeat(&options, victim);
	printf("%u nodes, node %u killed, %u times, thread = %s\n\n", options.nodes, victim, repetitions,
	       options.thread);
	figures_print_head("since the suspicion");
	figures_print(&noticed);
	for (int stage = 0; stage < WHORL_STAGES; stage++) {
		figures_print(&stages[stage]);
		figures_free(&stages[stage]);
	}
	figures_print(&whole);
	figures_free(&noticed);
	figures_free(&whole);
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
