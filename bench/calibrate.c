/* calibrate.c - `whorl calibrate`: what the library's code takes on a processor of this machine, as a section [cpu] for simulations.
 *
 * The nodes of a group in the simulated world are driven by hand: time stands still there while the clock of this machine runs. What
 * is measured is the code that runs with every transport, without posting; its data lie in the caches, and no other core
 * touches them. So the figures are the least that it costs. Of many repetitions the shortest counts.
 */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "bench/bench.h"
#include "bench/commands.h"
#include "bench/sections.h"
#include "sim/machine.h"

#define REPEAT 200
#define PASSES 200
#define BURST 1000 /* messages: the window */
#define FEW 2      /* nodes */
#define NODES_MAX 16
#define SUBGROUPS 50
#define SETTLE_NS (50 * WH_NS_PER_MS)

struct bench_of_one { /* a group of which node 0 sends */
	struct wh_conf *conf;
	struct wh_node_config config;
	struct wh_machine *machine;
	whorl_node *nodes[NODES_MAX];
	uint32_t count;
	size_t delivered;
};

static uint64_t now_ns(void)
{
	return wh_env_now(wh_env_system());
}

static void on_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct bench_of_one *bench = ctx;

	(void)messages;
	bench->delivered += count;
}

/* Every node makes passes, and time goes on, for so long. */
static void settle_nodes(struct bench_of_one *bench, uint64_t for_ns)
{
	const struct wh_env *clock = wh_machine_clock(bench->machine);
	uint64_t until = wh_env_now(clock) + for_ns;

	while (wh_env_now(clock) < until) {
		for (uint32_t id = 0; id < bench->count; id++)
			whorl_step(bench->nodes[id]);
		wh_machine_step(bench->machine, wh_env_now(clock) + 10 * WH_NS_PER_US);
	}
}

static bool bind_config(struct bench_of_one *bench, uint32_t subgroups, struct wh_machine_config *config)
{
	char set[64];

	bench->conf = wh_sections_conf();
	if (bench->conf == NULL)
		return false;
	snprintf(set, sizeof set, "group.nodes=%u", bench->count);
	wh_conf_set(bench->conf, set);
	for (uint32_t g = 0; g < subgroups; g++) {
		snprintf(set, sizeof set, "subgroup g%u.window=%d", g, BURST);
		wh_conf_set(bench->conf, set);
		snprintf(set, sizeof set, "subgroup g%u.message_bytes=64", g);
		wh_conf_set(bench->conf, set);
	}
	*config = (struct wh_machine_config){.nodes = bench->count, .seed = 1};
	if (wh_conf_check(bench->conf) != WHORL_OK || wh_node_config_bind(&bench->config, bench->conf, 0) != WHORL_OK)
		return false;
	bench->config.words_from = UINT32_MAX; /* what a subgroup costs that is looked at: all are, in each pass */
	wh_conf_bind(bench->conf, 0, &wh_nic_table, NULL, &config->nic);
	wh_conf_bind(bench->conf, 0, &wh_cpu_table, NULL, &config->cpu);
	return true;
}

static bool open_all(struct bench_of_one *bench, uint32_t subgroups)
{
	const struct whorl_open_options options = {.size = sizeof options};
	struct wh_machine_config config;
	struct wh_error err;

	if (!bind_config(bench, subgroups, &config) || wh_machine_new(&bench->machine, &config, &err) != WHORL_OK)
		return false;
	for (uint32_t id = 0; id < bench->count; id++)
		if (wh_machine_open(bench->machine, &bench->config, id, &options, &bench->nodes[id], &err) != WHORL_OK ||
		    whorl_on_batch(whorl_subgroup_at(bench->nodes[id], 0), on_batch, bench) != WHORL_OK ||
		    whorl_start(bench->nodes[id]) != WHORL_OK)
			return false;
	settle_nodes(bench, SETTLE_NS);
	return whorl_ready(bench->nodes[0], 0) == WHORL_OK;
}

static void close_all(struct bench_of_one *bench)
{
	for (uint32_t id = 0; id < bench->count; id++)
		if (bench->nodes[id] != NULL)
			whorl_close(bench->nodes[id], 0);
	wh_machine_free(bench->machine);
	wh_node_config_free(&bench->config);
	wh_conf_free(bench->conf);
}

/* Of a pass that finds nothing, in nanoseconds; negative: it cannot be measured. */
static double pass_of(uint32_t nodes, uint32_t subgroups)
{
	struct bench_of_one bench = {.count = nodes};
	double least = -1;

	bool good = open_all(&bench, subgroups);

	for (int i = 0; good && i < REPEAT; i++) {
		uint64_t began = now_ns();
		double ns;

		for (int pass = 0; pass < PASSES; pass++)
			whorl_step(bench.nodes[0]);
		ns = (double)(now_ns() - began) / PASSES;
		least = least < 0 || ns < least ? ns : least;
	}
	close_all(&bench);
	return least;
}

struct passes {
	double whole, subgroup; /* with one subgroup; what one more takes */
};

static bool measure_passes(uint32_t nodes, struct passes *out)
{
	double one = pass_of(nodes, 1), many = pass_of(nodes, SUBGROUPS);

	*out = (struct passes){one, (many - one) / (SUBGROUPS - 1)};
	return one >= 0 && many >= 0;
}

struct steps { /* of a message */
	double send, post, deliver;
};

/* One burst on its way from node 0. */
static struct steps follow_burst(struct bench_of_one *bench, uint32_t messages)
{
	whorl_subgroup *subgroup = whorl_subgroup_at(bench->nodes[0], 0);
	const struct wh_env *clock = wh_machine_clock(bench->machine);
	size_t before = bench->delivered;
	struct whorl_claim claim;
	struct steps steps = {0};
	uint64_t began = now_ns();

	for (uint32_t i = 0; i < messages && whorl_claim(subgroup, 8, &claim) == WHORL_OK; i++)
		whorl_commit(&claim, 8);
	steps.send = (double)(now_ns() - began);
	began = now_ns();
	whorl_step(bench->nodes[0]);
	steps.post = (double)(now_ns() - began);
	while (bench->delivered == before) { /* until one of the two delivers them, in one pass */
		wh_machine_step(bench->machine, wh_env_now(clock) + WH_NS_PER_US);
		for (uint32_t id = 0; id < 2 && bench->delivered == before; id++) {
			began = now_ns();
			whorl_step(bench->nodes[id]);
			steps.deliver = (double)(now_ns() - began);
		}
	}
	settle_nodes(bench, WH_NS_PER_MS);
	return steps;
}

static void keep_least(double *least, double value)
{
	if (*least == 0 || value < *least)
		*least = value;
}

static struct steps least_of(struct bench_of_one *bench, uint32_t messages)
{
	struct steps least = {0};

	for (int i = 0; i < REPEAT; i++) {
		struct steps steps = follow_burst(bench, messages);

		keep_least(&least.send, steps.send);
		keep_least(&least.post, steps.post);
		keep_least(&least.deliver, steps.deliver);
	}
	return least;
}

/* Of one message, what many cost more than one: what is the same for any number falls out. */
static bool steps_of(struct steps *out)
{
	struct bench_of_one bench = {.count = 2};
	bool good = open_all(&bench, 1);

	if (good) {
		struct steps one = least_of(&bench, 1), many = least_of(&bench, BURST);

		*out = (struct steps){(many.send - one.send) / (BURST - 1), (many.post - one.post) / (BURST - 1),
				      (many.deliver - one.deliver) / (BURST - 1)};
	}
	close_all(&bench);
	return good;
}

#define COPY_BYTES ((size_t)64 << 20) /* more than caches hold */
#define MESSAGE_BYTES 10240

/* Messages from memory to memory, in MB/s; 0: there is no memory. */
static double copy_mb_per_s(void)
{
	unsigned char *from = malloc(COPY_BYTES), *to = malloc(COPY_BYTES);
	double most = 0;

	for (int i = 0; from != NULL && to != NULL && i < 5; i++) {
		uint64_t began, ns;

		memset(from, i, COPY_BYTES);
		memset(to, 0, COPY_BYTES);
		began = now_ns();
		for (size_t at = 0; at + MESSAGE_BYTES <= COPY_BYTES; at += MESSAGE_BYTES)
			memcpy(to + at, from + at, MESSAGE_BYTES);
		ns = now_ns() - began;
		if ((double)COPY_BYTES * 1e3 / (double)ns > most && to[COPY_BYTES / 2] == i)
			most = (double)COPY_BYTES * 1e3 / (double)ns;
	}
	free(from);
	free(to);
	return most;
}

static void print_key(const char *key, double value)
{
	printf("%s = %.0f\n", key, value < 1 ? 1 : value);
}

int wh_calibrate_main(int argc, char **argv)
{
	static const struct argp argp = {
		NULL,
		NULL,
		"",
		"Measure what the library's code costs on this machine, as a section [cpu] for whorl bench with transport = sim.",
		NULL,
		NULL,
		NULL};
	struct passes few = {0}, many = {0};
	double member, subgroup;
	struct steps steps;
	char model[128];

	argp_parse(&argp, argc, argv, 0, NULL, NULL);
	if (!measure_passes(FEW, &few) || !measure_passes(NODES_MAX, &many) || !steps_of(&steps)) {
		wh_say("the nodes of a simulated group do not meet");
		return WH_EXIT_FAILED;
	}
	member = (many.subgroup - few.subgroup) / (NODES_MAX - FEW);
	subgroup = few.subgroup - FEW * member;
	printf("# %s\n# a pass that finds nothing: %.0f ns with %d nodes, %.0f ns with %d; each subgroup more: %.0f and %.0f ns\n[cpu]\n",
	       wh_bench_cpu_model(model, sizeof model), few.whole, FEW, many.whole, NODES_MAX, few.subgroup,
	       many.subgroup);
	print_key("pass_ns", few.whole - few.subgroup);
	print_key("subgroup_ns", subgroup);
	print_key("member_ns", member);
	print_key("message_ns", steps.post);
	print_key("deliver_ns", steps.deliver);
	print_key("send_ns", steps.send);
	print_key("copy_mb_per_s", copy_mb_per_s());
	return WH_EXIT_GOOD;
}
