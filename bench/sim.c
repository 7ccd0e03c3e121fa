/* sim.c - one run of a benchmark in virtual time: group.transport = sim.
 *
 * The nodes are those of every benchmark (bench/send.c, bench/deliver.c), on the machine of sim/machine.h: each has a processor for its
 * loop and one for each thread that sends; with thread = caller one for both. What they note is what real nodes note, so the
 * results are made of it in the same way (bench/results.c).
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "bench/node.h"
#include "bench/sizes.h"
#include "sim/machine.h"
#include "sim/trial.h"

#define MEET_NS (30 * WH_NS_PER_S)
#define LOOK_STEPS 4096 /* things that happen between two looks at the terminal */

struct simulation {
	struct wh_bench_run *run;
	const struct wh_bench_plan *plan;
	struct wh_machine *machine;
	struct wh_bench_world world;
	struct wh_bench_node *nodes; /* [plan->nodes] */
	struct wh_bench_baseline
		*at_start; /* [plan->nodes] what the meeting of the nodes has cost is no part of the run */
	uint64_t steps;
};

/* ---- what processors do ---------------------------------------------------------------------------------------------- */

static void filled(void *ctx, size_t copied)
{
	const struct simulation *simulation = ctx;

	wh_machine_send(simulation->machine, copied);
}

static void upcalled(void *ctx, size_t messages, size_t copied)
{
	const struct simulation *simulation = ctx;

	wh_machine_upcall(simulation->machine, messages, copied);
}

static uint64_t cpu_ns(void *ctx, uint32_t id)
{
	const struct simulation *simulation = ctx;

	return wh_machine_worked_ns(simulation->machine, id);
}

static struct simulation *simulation_of(const struct wh_bench_node *node)
{
	return node->world->ctx;
}

/* thread = dedicated: a thread that sends. */
static void send_all(void *ctx)
{
	struct wh_bench_sender *sender = ctx;
	struct wh_machine *machine = simulation_of(sender->node)->machine;

	for (;;) {
		switch (wh_bench_send_turn(sender)) {
		case BENCH_TURN_SENT:
			break;
		case BENCH_TURN_FULL:
			wh_machine_await_pass(machine);
			break;
		case BENCH_TURN_LATER:
			wh_machine_sleep_until(machine, wh_bench_send_due(sender));
			break;
		case BENCH_TURN_OVER:
			return;
		}
	}
}

/* thread = caller: between two passes. */
static void send_burst(void *ctx)
{
	struct wh_bench_node *node = ctx;

	if (wh_phase_get(&node->shared->phase) == BENCH_RUN && node->sender_count > 0)
		wh_bench_send_some(&node->senders[0]);
}

/* ---- opening ------------------------------------------------------------------------------------------------------------- */

static enum whorl_result open_node(struct simulation *simulation, uint32_t id)
{
	const struct wh_bench_plan *plan = simulation->plan;
	const struct whorl_open_options options = {.size = sizeof options, .log = wh_bench_node_log};
	struct wh_bench_node *node = &simulation->nodes[id];
	enum whorl_result result;
	struct wh_error err;

	*node = (struct wh_bench_node){
		.plan = plan,
		.memory = &simulation->run->memory,
		.watch = simulation->run->watch,
		.world = &simulation->world,
		.shared = simulation->run->memory.shared,
		.page = &simulation->run->memory.pages[id],
		.id = id,
	};
	result = wh_machine_open(simulation->machine, &plan->config, id, &options, &node->node, &err);
	if (result != WHORL_OK) {
		wh_bench_node_fail(node, "open: %s", err.text);
		return result;
	}
	result = wh_bench_deliver_open(node);
	if (result == WHORL_OK)
		result = wh_bench_send_open(node);
	if (result == WHORL_OK)
		result = whorl_start(node->node);
	if (result != WHORL_OK)
		return result;
	return wh_machine_loop(simulation->machine, id, wh_bench_is_caller(plan) ? send_burst : NULL, node);
}

static enum whorl_result open_machine(struct simulation *simulation)
{
	const struct wh_bench_plan *plan = simulation->plan;
	struct wh_machine_config config = {.nodes = plan->nodes};
	struct wh_trial_options trial;
	enum whorl_result result;
	struct wh_error err;

	wh_conf_bind(plan->conf, plan->variant, &wh_nic_table, NULL, &config.nic);
	wh_cpu_bind(plan->conf, plan->variant, &config.cpu);
	wh_conf_bind(plan->conf, plan->variant, &wh_trial_table, NULL, &trial);
	config.seed = (uint64_t)trial.seed + simulation->run->number - 1;
	result = wh_machine_new(&simulation->machine, &config, &err);
	if (result != WHORL_OK) {
		wh_say("%s", err.text);
		return result;
	}
	simulation->world =
		(struct wh_bench_world){wh_machine_clock(simulation->machine), filled, upcalled, cpu_ns, simulation};
	simulation->nodes = calloc(plan->nodes, sizeof *simulation->nodes);
	simulation->at_start = calloc(plan->nodes, sizeof *simulation->at_start);
	if (simulation->nodes == NULL || simulation->at_start == NULL)
		return WHORL_MEMORY;
	for (uint32_t id = 0; id < plan->nodes && result == WHORL_OK; id++)
		result = wh_bench_baseline_open(&simulation->at_start[id], plan) ? open_node(simulation, id)
										 : WHORL_MEMORY;
	return result;
}

/* ---- running ---------------------------------------------------------------------------------------------------------------- */

static bool is_ready(const struct simulation *simulation)
{
	for (uint32_t id = 0; id < simulation->plan->nodes; id++)
		if (whorl_ready(simulation->nodes[id].node, 0) != WHORL_OK)
			return false;
	return true;
}

static bool is_done(const struct simulation *simulation)
{
	for (uint32_t id = 0; id < simulation->plan->nodes; id++) {
		const struct wh_bench_node_page *page = simulation->nodes[id].page;

		if (wh_load_relaxed(&page->reached) <= BENCH_RUN && wh_load_relaxed(&page->parts_left) > 0)
			return false;
	}
	return true;
}

/* Something is wrong with a node: it has been noted. */
static bool has_failed(struct simulation *simulation)
{
	bool failed = false;

	for (uint32_t id = 0; id < simulation->plan->nodes; id++) {
		struct wh_bench_node *node = &simulation->nodes[id];
		char text[256] = "";

		if (whorl_error(node->node, text, sizeof text) != WHORL_OK)
			wh_bench_node_fail(node, "%s", text);
		failed |= wh_load_relaxed(&node->page->failed) != 0;
	}
	if (wh_machine_verdict(simulation->machine) != NULL) {
		wh_say("%s", wh_machine_verdict(simulation->machine));
		failed = true;
	}
	return failed;
}

static void say_failures(const struct simulation *simulation)
{
	for (uint32_t id = 0; simulation->nodes != NULL && id < simulation->plan->nodes; id++)
		if (wh_load_relaxed(&simulation->run->memory.pages[id].failed) != 0)
			wh_say("node %u: %s", id, simulation->run->memory.pages[id].failure);
}

static uint64_t count_delivered(const struct simulation *simulation)
{
	size_t parts = (size_t)simulation->plan->nodes * simulation->plan->subgroup_count;
	uint64_t sum = 0;

	for (size_t p = 0; p < parts; p++)
		sum += wh_load_relaxed(&simulation->run->memory.parts[p].counted);
	return sum;
}

/* Lets things happen until `is_over`. WHORL_OK; WHORL_AGAIN: interrupted; otherwise it has been said what is wrong. */
static enum whorl_result go_on(struct simulation *simulation, bool (*is_over)(const struct simulation *simulation),
			       uint64_t patience_ns)
{
	const struct wh_env *clock = simulation->world.clock;
	uint64_t progress_ns = wh_env_now(clock), last = count_delivered(simulation);

	while (!is_over(simulation)) {
		for (unsigned i = 0; i < LOOK_STEPS && !is_over(simulation); i++)
			wh_machine_step(simulation->machine, UINT64_MAX);
		if (simulation->run->watch->interrupted != 0)
			return WHORL_AGAIN;
		if (has_failed(simulation))
			return WHORL_MEMBER_GONE;
		if (count_delivered(simulation) != last)
			progress_ns = wh_env_now(clock);
		last = count_delivered(simulation);
		if (wh_env_now(clock) - progress_ns > patience_ns) {
			wh_say("nothing has been delivered anywhere for %" PRIu64
			       " s of virtual time: the run is given up",
			       patience_ns / WH_NS_PER_S);
			return WHORL_MEMBER_GONE;
		}
		wh_bench_progress(simulation->run);
	}
	return WHORL_OK;
}

static enum whorl_result start_senders(struct simulation *simulation)
{
	enum whorl_result result = WHORL_OK;

	for (uint32_t id = 0; id < simulation->plan->nodes; id++) {
		struct wh_bench_node *node = &simulation->nodes[id];

		wh_bench_baseline_take(node, &simulation->at_start[id]);
		for (uint32_t s = 0; s < node->sender_count && result == WHORL_OK; s++)
			if (!wh_bench_is_caller(simulation->plan))
				result = wh_machine_thread(simulation->machine, id, send_all, &node->senders[s]);
	}
	return result;
}

static enum whorl_result run_all(struct simulation *simulation)
{
	struct wh_bench_shared *shared = simulation->run->memory.shared;
	const struct wh_bench_options *options = &simulation->plan->options;
	uint64_t patience_ns = (uint64_t)options->give_up_s * WH_NS_PER_S;
	enum whorl_result result = go_on(simulation, is_ready, MEET_NS);

	if (result != WHORL_OK)
		return result;
	if (options->delayed_senders != BENCH_NONE)
		patience_ns += (uint64_t)options->sender_delay_us * WH_NS_PER_US;
	shared->start_ns = wh_env_now(simulation->world.clock);
	wh_phase_set(&shared->phase, BENCH_RUN);
	result = start_senders(simulation);
	if (result == WHORL_OK)
		result = go_on(simulation, is_done, patience_ns);
	for (uint32_t id = 0; id < simulation->plan->nodes; id++) {
		wh_bench_note_run(&simulation->nodes[id], &simulation->at_start[id]);
		wh_bench_send_count(&simulation->nodes[id]);
	}
	return result;
}

/* ---- the end ------------------------------------------------------------------------------------------------------------------ */

static bool close_all(struct simulation *simulation)
{
	bool good = true;

	wh_phase_set(&simulation->run->memory.shared->phase, BENCH_CLOSE);
	if (simulation->machine != NULL)
		wh_machine_stop(simulation->machine);
	for (uint32_t id = 0; simulation->nodes != NULL && id < simulation->plan->nodes; id++) {
		struct wh_bench_node *node = &simulation->nodes[id];

		if (node->node != NULL)
			whorl_close(node->node, 0);
		if (node->plan != NULL)
			good = wh_bench_deliver_close(node) && good;
		wh_bench_send_close(node);
	}
	return good;
}

enum whorl_result wh_bench_sim_make(struct wh_bench_run *run)
{
	struct simulation simulation = {.run = run, .plan = run->plan};
	enum whorl_result result;

	if (!wh_bench_memory_open(&run->memory, run->plan)) {
		wh_say("no memory for %zu bytes of figures", wh_bench_memory_bytes(run->plan));
		return WHORL_MEMORY;
	}
	result = open_machine(&simulation);
	if (result == WHORL_OK)
		result = run_all(&simulation);
	wh_progress("");
	if (!close_all(&simulation) && result == WHORL_OK)
		result = WHORL_SYSTEM;
	if (result != WHORL_OK && result != WHORL_AGAIN)
		say_failures(&simulation);
	wh_machine_free(simulation.machine);
	free(simulation.nodes);
	for (uint32_t id = 0; simulation.at_start != NULL && id < run->plan->nodes; id++)
		wh_bench_baseline_close(&simulation.at_start[id]);
	free(simulation.at_start);
	return result;
}

/* ---- the plan and the limit ----------------------------------------------------------------------------------------------------- */

void wh_bench_sim_mistakes(const struct wh_bench_plan *plan)
{
	struct wh_group_options group;

	wh_conf_bind(plan->conf, plan->variant, &wh_group_table, NULL, &group);
	if (group.transport == WH_TRANSPORT_SIM && plan->options.idle_seconds > 0)
		wh_conf_mistake(plan->conf, "bench", NULL, "idle_seconds",
				"is %" PRId64 ", expected 0 with group.transport = sim, where idle loops poll",
				plan->options.idle_seconds);
}

void wh_bench_sim_limit(const struct wh_bench_plan *plan, struct wh_limit_result *out)
{
	struct wh_nic_options nic;

	wh_conf_bind(plan->conf, plan->variant, &wh_nic_table, NULL, &nic);
	*out = (struct wh_limit_result){.rate.bytes_per_s = (double)nic.link_mb_per_s * 1e6};
	if (wh_bench_mean_bytes(plan) > 0)
		out->rate.messages_per_s = out->rate.bytes_per_s / wh_bench_mean_bytes(plan);
}
