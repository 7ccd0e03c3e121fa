/* entry.c - how long a node takes to come into a group, stage by stage.
 *
 *     whorl-entry [-n NODES] [-r REPETITIONS] [-t dedicated|caller] [-b] [-j FILE]
 *
 * Each repetition starts a group of its own on shared memory, which says nothing when the newcomer's process starts, or (-b) all of
 * which send as fast as they can. The newcomer measures its stages from whorl_start, the members those of the change of view from
 * the wedge. -j writes it all to a file as JSON. The logs of each group are compared as well.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/processes/cluster.h"
#include "tests/processes/figures.h"
#include "tests/processes/member.h"

/* From the fork to whorl_start, to whorl_ready. */
static struct figures process = {.name = "process"}, whole = {.name = "from the fork"};
static struct figures entries[WHORL_ENTRIES] = {
	[WHORL_ENTRY_MET] = {.name = "met"},           [WHORL_ENTRY_INVITED] = {.name = "invited"},
	[WHORL_ENTRY_THERE] = {.name = "there"},       [WHORL_ENTRY_BEGUN] = {.name = "begun"},
	[WHORL_ENTRY_RESTORED] = {.name = "restored"},
};
static struct figures stages[WHORL_STAGES] = {
	[WHORL_STAGE_WEDGED] = {.name = "wedged"},
	[WHORL_STAGE_PROPOSED] = {.name = "proposed"},
	[WHORL_STAGE_ACKNOWLEDGED] = {.name = "acknowledged"},
	[WHORL_STAGE_DECIDED] = {.name = "decided"},
	[WHORL_STAGE_AGREED] = {.name = "agreed"},
	[WHORL_STAGE_INSTALLED] = {.name = "installed"},
	[WHORL_STAGE_DELIVERED] = {.name = "delivered"},
};

static bool knows_stages(const struct cluster *c, uint32_t life)
{
	return life == c->options.nodes || c->board->state[life].stages_known > 0;
}

static bool is_silent(const struct cluster *c, uint32_t life)
{
	const struct state *state = c->board->state;

	for (uint32_t g = 0; g < GROUPS; g++)
		for (uint32_t s = 0; s < c->lives; s++)
			if (state[life].delivered[g][s] != state[s].committed[g])
				return false;
	return true;
}

/* In silence all say something when they are ready, the newcomer too, and then nothing more. */
static bool repeat(const struct cluster_options *options, bool busy)
{
	static struct cluster c; /* large */
	const struct state *state;
	uint64_t begin;
	bool noted;

	cluster_make(&c, options);
	c.board->nap_us = busy ? 0 : UINT32_MAX;
	for (uint32_t id = 0; id < options->nodes; id++)
		cluster_add(&c, id, NULL);
	UNTIL(&c, cluster_all(&c, cluster_is_ready));
	if (busy)
		cluster_warm_up(&c);
	else
		UNTIL(&c, cluster_all(&c, is_silent));
	begin = now_ns();
	state = &c.board->state[cluster_add(&c, options->nodes, NULL)];
	UNTIL(&c, cluster_all(&c, cluster_is_ready));
	noted = figures_note(&process, state->start_ns - begin, state->start_ns - begin) &&
		figures_note_way(entries, WHORL_ENTRIES, state->entry_ns) &&
		figures_note(&whole, state->ready_ns - begin, state->ready_ns - begin);
	UNTIL(&c, cluster_all(&c, knows_stages));
	for (uint32_t id = 0; id < options->nodes; id++)
		noted = noted && figures_note_way(stages, WHORL_STAGES, c.board->state[id].change_ns);
	cluster_end(&c, true);
	return noted;
}

static void print(void)
{
	printf("the newcomer\n\n");
	figures_print_head("since whorl_start");
	figures_print(&process);
	for (int entry = 0; entry < WHORL_ENTRIES; entry++)
		figures_print(&entries[entry]);
	figures_print(&whole);
	printf("\nthe members\n\n");
	figures_print_head("since the wedge");
	for (int stage = 0; stage < WHORL_STAGES; stage++)
		figures_print(&stages[stage]);
}

static void write_list(FILE *out, struct figures *list, size_t count)
{
	fprintf(out, "[");
	for (size_t i = 0; i < count; i++) {
		fprintf(out, i > 0 ? ",\n  " : "\n  ");
		figures_write(&list[i], out);
	}
	fprintf(out, "]");
}

static bool write_all(const char *path, const struct cluster_options *options, unsigned repetitions, bool busy)
{
	FILE *out = fopen(path, "w");
	bool written;

	if (out == NULL) {
		perror(path);
		return false;
	}
	fprintf(out, "{\"version\": \"%s\", \"nodes\": %u, \"repetitions\": %u, \"thread\": \"%s\", \"busy\": %s,\n",
		whorl_version(), options->nodes, repetitions, options->thread, busy ? "true" : "false");
	fprintf(out, "\"buckets_us\": [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000],\n\"process\": ");
	figures_write(&process, out);
	fprintf(out, ",\n\"whole\": ");
	figures_write(&whole, out);
	fprintf(out, ",\n\"newcomer\": ");
	write_list(out, entries, WHORL_ENTRIES);
	fprintf(out, ",\n\"members\": ");
	write_list(out, stages, WHORL_STAGES);
	fprintf(out, "}\n");
	written = ferror(out) == 0;
	return fclose(out) == 0 && written;
}

static void forget(void)
{
	figures_free(&process);
	figures_free(&whole);
	for (int entry = 0; entry < WHORL_ENTRIES; entry++)
		figures_free(&entries[entry]);
	for (int stage = 0; stage < WHORL_STAGES; stage++)
		figures_free(&stages[stage]);
}

static int usage(void)
{
	fprintf(stderr,
		"usage: whorl-entry [-n NODES (1 to %d)] [-r REPETITIONS] [-t dedicated|caller] [-b] [-j FILE]\n",
		MEMBERS_MAX - 1);
	return 2;
}

int main(int argc, char **argv)
{
	struct cluster_options options = {.nodes = 4, .timeout_ms = 20000, .thread = "dedicated"};
	unsigned repetitions = 20;
	const char *json = NULL;
	bool busy = false, good = true;
	int option;

	if (member_wanted(argc, argv))
		return member_main(argv);
	while ((option = getopt(argc, argv, "n:r:t:bj:")) != -1) {
		if (option == 'n')
			options.nodes = (uint32_t)atoi(optarg);
		else if (option == 'r')
			repetitions = (unsigned)atoi(optarg);
		else if (option == 't' && (strcmp(optarg, "dedicated") == 0 || strcmp(optarg, "caller") == 0))
			options.thread = optarg;
		else if (option == 'b')
			busy = true;
		else if (option == 'j')
			json = optarg;
		else
			return usage();
	}
	if (optind != argc || options.nodes < 1 || options.nodes >= MEMBERS_MAX || repetitions < 1 ||
	    repetitions > 100000)
		return usage();
	options.nodes_max = options.nodes + 1;
	for (options.seed = 1; options.seed <= repetitions && good; options.seed++)
		good = repeat(&options, busy);
	printf("%u members, a node joins, %u times, thread = %s, %s\n\n", options.nodes, repetitions, options.thread,
	       busy ? "busy" : "idle");
	print();
	good = good && (json == NULL || write_all(json, &options, repetitions, busy));
	forget();
	return good ? EXIT_SUCCESS : EXIT_FAILURE;
}
