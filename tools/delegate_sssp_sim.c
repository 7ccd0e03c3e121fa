/* delegate_sssp_sim.c - `whorl delegate sssp --transport sim`: the nodes are on the machine that `whorl bench` simulates (sim/machine.h), all in this
 * process, and time is theirs. Each has a processor for its loop and one for each worker. Passes and writes take what [cpu] and [nic] say by default;
 * each arc that is looked at, and each relaxation that is received, takes --arc-ns.
 */
#include <inttypes.h>
#include <stdlib.h>

#include "delegation/steps.h"
#include "delegation/traffic.h"
#include "sim/machine.h"
#include "tools/delegate_sssp.h"

#define OPEN_NS (10 * WH_NS_PER_S)
#define STEP_NS (10 * WH_NS_PER_US)

struct simulation {
	struct wh_sssp *sssp;
	struct wh_machine_config config;
	struct wh_machine *machine;
	struct wh_sssp_player players[WH_SSSP_NODES];
	struct seat { /* a worker */
		struct simulation *simulation;
		struct wh_sssp_player *player;
		uint32_t worker;
	} seats[WH_SSSP_NODES][WH_SSSP_WORKERS];
};

static uint64_t now_of(const struct simulation *simulation)
{
	return wh_env_now(wh_machine_clock(simulation->machine));
}

static bool fail(const char *what, enum whorl_result result)
{
	wh_say("sssp: %s: %s (%s)", what, whorl_result_text(result), whorl_invalid_text());
	return false;
}

/* ---- processors ----------------------------------------------------------------------------------------------------------------- */

/* Passes of a worker; each takes its time when it is over. Writes are all that the node's workers have made meanwhile. */
static void run_worker(void *ctx)
{
	struct seat *seat = ctx;
	const struct simulation *simulation = seat->simulation;
	const struct wh_machine_config *config = &simulation->config;
	struct wh_sssp_player *player = seat->player;
	uint64_t written = 0, worked = 0;

	while (player->work != NULL) {
		uint64_t found = wh_work_step(player->work, seat->worker);
		uint64_t writes = wh_work_traffic(player->work).writes, work = player->worked[seat->worker];
		double ns = (double)config->cpu.pass_ns + (double)(found * (uint64_t)config->cpu.message_ns) +
			    (double)(work - worked) * simulation->sssp->arc_ns;

		if (writes > written)
			ns += (double)config->nic.post_ns +
			      (double)((writes - written) * (uint64_t)config->nic.write_ns);
		written = writes;
		worked = work;
		wh_machine_sleep_until(simulation->machine, now_of(simulation) + (uint64_t)ns);
	}
}

/* ---- opening and closing -------------------------------------------------------------------------------------------------------- */

static bool bind_config(const struct simulation *simulation, struct wh_node_config *bound)
{
	whorl_config *config = whorl_config_new();
	char text[128];
	enum whorl_result result;

	snprintf(text, sizeof(text), "[group]\nname = sssp\nnodes = %" PRIu32 "\ntransport = sim\n[subgroup all]\n",
		 simulation->sssp->nodes);
	result = config == NULL ? WHORL_MEMORY : whorl_config_load_text(config, "sssp", text);
	if (result == WHORL_OK)
		result = wh_config_bind(config, bound);
	if (result != WHORL_OK)
		wh_say("sssp: %s", config == NULL ? "no memory" : whorl_config_error(config));
	whorl_config_free(config);
	return result == WHORL_OK;
}

static bool open_node(struct simulation *simulation, const struct wh_node_config *config, uint32_t id)
{
	const struct whorl_open_options options = {.size = sizeof(options)};
	struct wh_sssp_player *player = &simulation->players[id];
	struct wh_error err;
	enum whorl_result result;

	player->sssp = simulation->sssp;
	player->clock = wh_machine_clock(simulation->machine);
	player->number = id;
	result = wh_machine_open(simulation->machine, config, id, &options, &player->node, &err);
	if (result == WHORL_OK)
		result = whorl_start(player->node);
	if (result == WHORL_OK)
		result = wh_machine_loop(simulation->machine, id, NULL, NULL);
	return result == WHORL_OK || fail("a node", result);
}

static bool goes_for(const struct simulation *simulation, uint64_t ns)
{
	uint64_t until_ns = now_of(simulation) + ns;

	while (wh_machine_step(simulation->machine, until_ns))
		if (simulation->sssp->watch.interrupted != 0)
			return false;
	if (wh_machine_verdict(simulation->machine) != NULL)
		wh_say("sssp: %s", wh_machine_verdict(simulation->machine));
	return wh_machine_verdict(simulation->machine) == NULL;
}

static bool await_members(const struct simulation *simulation)
{
	uint64_t end_ns = now_of(simulation) + OPEN_NS;
	uint32_t there = 0;

	while (there < simulation->sssp->nodes) {
		if (whorl_ready(simulation->players[there].node, 0) == WHORL_OK)
			there++;
		else if (now_of(simulation) > end_ns)
			return fail("the group", WHORL_TIMEOUT);
		else if (!goes_for(simulation, STEP_NS))
			return false;
	}
	return true;
}

/* Its workers' processors must be there before anything waits for them. */
static bool open_work(struct simulation *simulation, uint32_t id)
{
	enum whorl_result result = WHORL_OK;

	if (!wh_sssp_open_work(&simulation->players[id]))
		return false;
	for (uint32_t worker = 0; worker < simulation->sssp->workers && result == WHORL_OK; worker++) {
		struct seat *seat = &simulation->seats[id][worker];

		*seat = (struct seat){simulation, &simulation->players[id], worker};
		result = wh_machine_thread(simulation->machine, id, run_worker, seat);
	}
	return result == WHORL_OK || fail("a processor", result);
}

static bool meet(const struct simulation *simulation, struct wh_sssp_player *player)
{
	uint64_t end_ns = now_of(simulation) + OPEN_NS;
	enum whorl_result result;

	while ((result = wh_sssp_meet(player)) == WHORL_AGAIN)
		if (now_of(simulation) > end_ns)
			return fail("the nodes", WHORL_TIMEOUT);
		else if (!goes_for(simulation, STEP_NS))
			return false;
	return result == WHORL_OK;
}

static bool open_all(struct simulation *simulation)
{
	uint32_t nodes = simulation->sssp->nodes;
	struct wh_node_config config;
	bool good = bind_config(simulation, &config);

	if (!good)
		return false;
	for (uint32_t id = 0; id < nodes && good; id++)
		good = open_node(simulation, &config, id);
	wh_node_config_free(&config);
	good = good && await_members(simulation);
	for (uint32_t id = 0; id < nodes && good; id++)
		good = open_work(simulation, id);
	for (uint32_t id = 0; id < nodes && good; id++) /* these wait, and all go on meanwhile */
		good = wh_sssp_open_parts(&simulation->players[id]);
	for (uint32_t id = 0; id < nodes && good; id++)
		good = meet(simulation, &simulation->players[id]);
	return good;
}

static void close_all(struct simulation *simulation)
{
	uint32_t nodes = simulation->sssp->nodes;

	for (uint32_t id = 0; id < nodes; id++)
		wh_sssp_close(&simulation->players[id], 10);
	wh_machine_stop(simulation->machine);
	for (uint32_t id = 0; id < nodes; id++)
		if (simulation->players[id].node != NULL)
			(void)whorl_close(simulation->players[id].node, 10);
}

/* ---- runs ----------------------------------------------------------------------------------------------------------------------- */

static bool run_once(struct simulation *simulation, uint32_t run)
{
	struct wh_sssp *sssp = simulation->sssp;
	struct whorl_join join = {0};
	whorl_shared *shared = NULL;
	uint32_t good = 0;
	char text[64];
	enum whorl_result result = wh_sssp_spawn(&simulation->players[0], run, &join, &shared);

	snprintf(text, sizeof(text), "sssp: run %" PRIu32 " of %" PRIu32, run + 1, sssp->runs);
	wh_progress(text);
	while (result == WHORL_OK && (result = whorl_join(&join, &good, sizeof(good), 1)) == WHORL_TIMEOUT) {
		wh_watch_wait(&sssp->watch, 0);
		if (sssp->watch.interrupted != 0)
			wh_phase_set(&sssp->phase, WH_SSSP_END);
		result = WHORL_OK;
	}
	wh_progress("");
	whorl_shared_drop(shared);
	if (result != WHORL_OK)
		return fail("a run", result);
	return good == 1 && (!sssp->check || wh_sssp_check(sssp, run));
}

enum wh_exit wh_sssp_simulate(struct wh_sssp *sssp)
{
	struct simulation *simulation = calloc(1, sizeof(*simulation));
	struct wh_error err;
	bool good;

	if (simulation == NULL) {
		wh_say("no memory");
		return WH_EXIT_MACHINE;
	}
	simulation->sssp = sssp;
	simulation->config = (struct wh_machine_config){.nodes = sssp->nodes, .seed = 1};
	wh_option_defaults(&wh_nic_table, &simulation->config.nic);
	wh_option_defaults(&wh_cpu_table, &simulation->config.cpu);
	if (wh_machine_new(&simulation->machine, &simulation->config, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		free(simulation);
		return WH_EXIT_MACHINE;
	}
	good = open_all(simulation);
	for (uint32_t run = 0; run < sssp->runs && good; run++)
		good = run_once(simulation, run);
	close_all(simulation);
	wh_machine_free(simulation->machine);
	free(simulation);
	if (sssp->watch.interrupted != 0)
		return WH_EXIT_INTERRUPTED;
	return good ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}
