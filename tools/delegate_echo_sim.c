/* delegate_echo_sim.c - `whorl delegate echo --transport sim`: the nodes are on the machine that `whorl bench` simulates (sim/machine.h), all
 * in this process, and time is theirs. Each has a processor for its loop, one for its worker, and one that makes the bare writes. What
 * takes time is what [cpu] and [nic] say, with their defaults; a one-sided write takes the latency of the card, whatever its size.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "delegation/steps.h"
#include "sim/machine.h"
#include "tools/delegate.h"
#include "tools/delegate_echo.h"

#define OPEN_NS (10 * WH_NS_PER_S)
#define STEP_NS (10 * WH_NS_PER_US)

struct simulation {
	struct wh_echo *echo;
	struct wh_machine_config config;
	struct wh_machine *machine;
	int turn; /* which of the bare ones, or WH_ECHO_TRUST: none */
	struct seat {
		struct simulation *simulation;
		struct wh_echo_player player;
		uint64_t asked;
		struct whorl_join *joins;
		whorl_shared *shared;
	} seats[WH_BARE_NODES];
};

static uint64_t now_of(const struct simulation *simulation)
{
	return wh_env_now(wh_machine_clock(simulation->machine));
}

static bool fail(const char *what, enum whorl_result result)
{
	wh_say("echo: %s: %s (%s)", what, whorl_result_text(result), whorl_invalid_text());
	return false;
}

/* ---- processors ----------------------------------------------------------------------------------------------------------------- */

/* A pass is over, which has found so much and written so often. */
static void spend(const struct simulation *simulation, uint64_t found, uint64_t writes)
{
	const struct wh_machine_config *config = &simulation->config;
	uint64_t ns = (uint64_t)config->cpu.pass_ns + found * (uint64_t)config->cpu.message_ns;

	if (writes > 0)
		ns += (uint64_t)config->nic.post_ns + writes * (uint64_t)config->nic.write_ns;
	wh_machine_sleep_until(simulation->machine, now_of(simulation) + ns);
}

static void run_worker(void *ctx)
{
	struct seat *seat = ctx;
	struct wh_echo_player *player = &seat->player;
	uint64_t before = 0;

	while (player->work != NULL) {
		size_t found = wh_work_step(player->work, 0);
		uint64_t writes = wh_work_traffic(player->work).writes;

		spend(seat->simulation, found, writes - before);
		before = writes;
	}
}

static uint64_t all_due(const struct wh_bare *bare)
{
	uint64_t due = 0;

	for (uint32_t node = 0; node < bare->nodes; node++)
		due += bare->due[node];
	return due;
}

/* It never sleeps: that would be time for all. */
static void run_bare(void *ctx)
{
	struct seat *seat = ctx;
	const struct simulation *simulation = seat->simulation;
	struct wh_bare *bare = &seat->player.bare;

	while (bare->lane != NULL) {
		uint64_t bytes = wh_echo_bare_bytes(simulation->echo, simulation->turn), answered = bare->answered, due;

		if (simulation->turn != WH_ECHO_TRUST)
			wh_echo_bare_ask(&seat->player, bytes, simulation->turn, &seat->asked);
		due = all_due(bare);
		bare->idle = UINT32_MAX; /* so it takes events in each pass */
		wh_bare_step(bare, bytes);
		answered = bare->answered - answered;
		if (bare->node == 0)
			due += answered;
		spend(simulation, answered, due > all_due(bare) ? due - all_due(bare) : 0);
	}
}

/* ---- opening and closing -------------------------------------------------------------------------------------------------------- */

static bool bind_config(const struct simulation *simulation, struct wh_node_config *bound)
{
	whorl_config *config = whorl_config_new();
	char text[128];
	enum whorl_result result;

	snprintf(text, sizeof(text), "[group]\nname = echo\nnodes = %" PRIu32 "\ntransport = sim\n[subgroup all]\n",
		 simulation->echo->nodes);
	result = config == NULL ? WHORL_MEMORY : whorl_config_load_text(config, "echo", text);
	if (result == WHORL_OK)
		result = wh_config_bind(config, bound);
	if (result != WHORL_OK)
		wh_say("echo: %s", config == NULL ? "no memory" : whorl_config_error(config));
	whorl_config_free(config);
	return result == WHORL_OK;
}

static bool open_node(struct simulation *simulation, const struct wh_node_config *config, uint32_t id)
{
	const struct whorl_open_options options = {.size = sizeof(options)};
	struct wh_echo_player *player = &simulation->seats[id].player;
	struct wh_error err;
	enum whorl_result result;

	simulation->seats[id].simulation = simulation;
	player->echo = simulation->echo;
	player->part = &simulation->echo->parts[id];
	player->clock = wh_machine_clock(simulation->machine);
	player->number = id;
	player->data = calloc(1, simulation->echo->bytes);
	simulation->seats[id].joins = calloc(simulation->echo->fibers, sizeof(struct whorl_join));
	if (player->data == NULL || simulation->seats[id].joins == NULL)
		return fail("a node", WHORL_MEMORY);
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
		if (simulation->echo->watch.interrupted != 0)
			return false;
	if (wh_machine_verdict(simulation->machine) != NULL)
		wh_say("echo: %s", wh_machine_verdict(simulation->machine));
	return wh_machine_verdict(simulation->machine) == NULL;
}

static bool await_members(const struct simulation *simulation)
{
	uint64_t end_ns = now_of(simulation) + OPEN_NS;
	uint32_t there = 0;

	while (there < simulation->echo->nodes) {
		if (whorl_ready(simulation->seats[there].player.node, 0) == WHORL_OK)
			there++;
		else if (now_of(simulation) > end_ns)
			return fail("the group", WHORL_TIMEOUT);
		else if (!goes_for(simulation, STEP_NS))
			return false;
	}
	return true;
}

static bool open_work(struct simulation *simulation, uint32_t id)
{
	struct seat *seat = &simulation->seats[id];
	enum whorl_result result;

	if (!wh_echo_open_work(&seat->player))
		return false;
	result = wh_machine_thread(simulation->machine, id, run_worker, seat);
	if (result == WHORL_OK)
		result = wh_machine_thread(simulation->machine, id, run_bare, seat);
	return result == WHORL_OK || fail("a processor", result);
}

static bool open_all(struct simulation *simulation)
{
	struct wh_node_config config;
	bool good = bind_config(simulation, &config);

	if (!good)
		return false;
	for (uint32_t id = 0; id < simulation->echo->nodes && good; id++)
		good = open_node(simulation, &config, id);
	wh_node_config_free(&config);
	good = good && await_members(simulation);
	for (uint32_t id = 0; id < simulation->echo->nodes && good; id++)
		good = open_work(simulation, id);
	for (uint32_t id = 0; id < simulation->echo->nodes && good; id++) /* waits, and all go on meanwhile */
		good = wh_echo_entrust(&simulation->seats[id].player);
	return good;
}

static void close_all(struct simulation *simulation)
{
	uint32_t nodes = simulation->echo->nodes;

	for (uint32_t id = 0; id < nodes; id++) {
		struct wh_echo_player *player = &simulation->seats[id].player;

		wh_bare_close(&player->bare);
		if (player->work != NULL)
			(void)whorl_work_close(player->work, 10);
		player->work = NULL;
	}
	wh_machine_stop(simulation->machine);
	for (uint32_t id = 0; id < nodes; id++) {
		if (simulation->seats[id].player.node != NULL)
			(void)whorl_close(simulation->seats[id].player.node, 10);
		free(simulation->seats[id].player.data);
		free(simulation->seats[id].joins);
	}
}

/* ---- turns ---------------------------------------------------------------------------------------------------------------------- */

static bool join_all(const struct simulation *simulation, struct seat *seat)
{
	uint64_t end_ns = now_of(simulation) + OPEN_NS, wrong = 0, n = 0;

	for (uint32_t i = 0; i < simulation->echo->fibers; i++) {
		enum whorl_result result;

		while ((result = whorl_join(&seat->joins[i], &n, sizeof(n), 1)) == WHORL_TIMEOUT)
			if (now_of(simulation) > end_ns || simulation->echo->watch.interrupted != 0)
				break;
		if (result != WHORL_OK)
			return fail("its fibers", result);
		wrong += n;
	}
	whorl_shared_drop(seat->shared);
	if (wrong > 0)
		wh_say("echo: node %" PRIu32 ": %" PRIu64 " calls have not come back as they were", seat->player.number,
		       wrong);
	return wrong == 0;
}

static bool call_for(struct simulation *simulation, int round, uint64_t turn_ns)
{
	struct wh_echo_player *owner = &simulation->seats[0].player;
	struct whorl_worker_stats before = {.size = sizeof(before)};
	struct wh_traffic traffic = wh_work_traffic(owner->work);
	uint32_t nodes = simulation->echo->nodes;
	enum whorl_result result = whorl_worker_statistics(owner->work, 0, &before);
	uint64_t done[WH_BARE_NODES] = {0};
	bool good;

	for (uint32_t id = 1; id < nodes && result == WHORL_OK; id++) {
		struct seat *seat = &simulation->seats[id];

		done[id] = seat->player.done;
		result = wh_echo_spawn(&seat->player, seat->joins, &seat->shared);
	}
	if (result != WHORL_OK)
		return fail("its fibers", result);
	good = goes_for(simulation, turn_ns);
	for (uint32_t id = 1; id < nodes; id++) {
		struct wh_echo_player *player = &simulation->seats[id].player;

		player->part->rate[WH_ECHO_TRUST][round] = (double)(player->done - done[id]) * 1e9 / (double)turn_ns;
		player->stop = true;
	}
	for (uint32_t id = 1; id < nodes && good; id++)
		good = join_all(simulation, &simulation->seats[id]);
	wh_echo_note_batches(owner, round, &before, &traffic);
	for (uint32_t id = 0; id < nodes; id++) {
		struct wh_echo_player *player = &simulation->seats[id].player;

		player->part->calls = player->done;
		player->part->traffic = wh_work_traffic(player->work);
	}
	return good;
}

static bool write_for(struct simulation *simulation, int turn, int round, uint64_t turn_ns)
{
	uint64_t before[WH_BARE_NODES] = {0};
	bool good;

	for (uint32_t id = 0; id < simulation->echo->nodes; id++) {
		struct seat *seat = &simulation->seats[id];

		before[id] = seat->asked = seat->player.bare.answered;
	}
	simulation->turn = turn;
	good = goes_for(simulation, turn_ns);
	simulation->turn = WH_ECHO_TRUST;
	for (uint32_t id = 1; id < simulation->echo->nodes; id++) {
		struct wh_echo_player *player = &simulation->seats[id].player;

		player->part->rate[turn][round] = (double)(player->bare.answered - before[id]) * 1e9 / (double)turn_ns;
		player->bare.due[0] = 0;
	}
	return good && goes_for(simulation, WH_NS_PER_MS); /* what is under way */
}

enum wh_exit wh_echo_simulate(struct wh_echo *echo)
{
	struct simulation *simulation = calloc(1, sizeof(*simulation));
	uint64_t turn_ns = (uint64_t)(echo->seconds * 1e9 / (WH_ECHO_ROUNDS * WH_ECHO_TURNS));
	struct wh_error err;
	bool good;

	if (simulation == NULL) {
		wh_say("no memory");
		return WH_EXIT_MACHINE;
	}
	simulation->echo = echo;
	simulation->config = (struct wh_machine_config){.nodes = echo->nodes, .seed = 1};
	wh_option_defaults(&wh_nic_table, &simulation->config.nic);
	wh_option_defaults(&wh_cpu_table, &simulation->config.cpu);
	if (wh_machine_new(&simulation->machine, &simulation->config, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		free(simulation);
		return WH_EXIT_MACHINE;
	}
	good = open_all(simulation);
	for (int i = 0; i < WH_ECHO_ROUNDS * WH_ECHO_TURNS && good; i++) {
		int turn = i % WH_ECHO_TURNS, round = i / WH_ECHO_TURNS;

		good = turn == WH_ECHO_TRUST ? call_for(simulation, round, turn_ns)
					     : write_for(simulation, turn, round, turn_ns);
	}
	close_all(simulation);
	wh_machine_free(simulation->machine);
	free(simulation);
	if (echo->watch.interrupted != 0)
		return WH_EXIT_INTERRUPTED;
	return good ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}
