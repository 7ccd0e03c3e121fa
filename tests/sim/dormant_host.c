/* dormant_host.c - see dormant_host.h. */
#include "tests/sim/dormant_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "group/node.h"
#include "sim/inspect.h"

#define STEPS_MAX 20000000

struct dormant_process {
	struct dormant_world *world;
	struct dormant_process *next;
	struct dormant_program program;
	struct wh_dice dice;
	const struct wh_env *env;
	uint32_t id;
	whorl_node *node; /* NULL: not yet, or no more */
	uint64_t pace_ns, turn, stalled_until_ns;
	uint64_t power_in; /* operations of its disk; 0: none */
	uint32_t idle;
	bool asleep, dead, closing, ended;
	int close_ms;
	enum whorl_result close_result;
};

struct dormant_world {
	struct dormant_world_options options;
	struct wh_sim *sim;
	struct wh_dice dice;
	struct dormant_process *processes;
	struct dormant_process **at; /* by id: the life that is there */
	uint64_t steps, numbers;
	bool closing; /* one at a time */
	char broken[256];
};

static void fail(struct dormant_world *world, const char *what)
{
	if (world->broken[0] == '\0')
		snprintf(world->broken, sizeof(world->broken), "%.255s", what);
}

/* ---- passes -------------------------------------------------------------------------------------------------------------------- */

static void take_turn(void *ctx, uint64_t turn);

static void turn_at(struct dormant_process *process, uint64_t when_ns)
{
	wh_sim_at(process->world->sim, when_ns, take_turn, process, ++process->turn);
}

static void turn_soon(struct dormant_process *process)
{
	uint64_t pause_ns = wh_dice_below(&process->dice, 2 * process->pace_ns);

	if (wh_dice_one_in(&process->dice, 32))
		pause_ns *= 20;
	turn_at(process, wh_sim_now(process->world->sim) + pause_ns);
}

static void sleep_now(struct dormant_process *process)
{
	struct wh_sim *sim = process->world->sim;
	uint64_t next_ns = wh_inspect_next_ns(process->node), node_now_ns = wh_env_now(process->env);

	process->asleep = true;
	process->turn++;
	if (wh_sim_rung(sim, process->id)) {
		process->asleep = false;
		turn_soon(process);
	} else if (next_ns != UINT64_MAX) {
		turn_at(process, wh_sim_now(sim) + (next_ns > node_now_ns ? next_ns - node_now_ns : 0));
	}
}

static bool is_there(const struct dormant_process *process)
{
	return process->node != NULL && !process->dead && !process->closing;
}

static void make_pass(struct dormant_process *process, bool last_look)
{
	struct wh_sim *sim = process->world->sim;
	size_t work;

	wh_sim_begin_pass(sim);
	work = last_look ? whorl_arm(process->node) : whorl_step(process->node);
	wh_sim_end_pass(sim);
	process->idle = work > 0 ? 0 : process->idle + 1;
	if (!is_there(process))
		return;
	process->program.passed(process->program.ctx);
	if (last_look && work == 0)
		sleep_now(process);
	else
		turn_soon(process);
}

static void take_turn(void *ctx, uint64_t turn)
{
	struct dormant_process *process = ctx;

	if (turn != process->turn || !is_there(process))
		return;
	if (process->asleep)
		process->idle = 0;
	process->asleep = false;
	if (wh_sim_now(process->world->sim) < process->stalled_until_ns)
		turn_at(process, process->stalled_until_ns);
	else
		make_pass(process, process->idle > 0 && wh_dice_one_in(&process->dice, 2));
}

static void note_rung(void *ctx, uint32_t node)
{
	struct dormant_world *world = ctx;
	struct dormant_process *process = world->at[node];

	if (process == NULL || !process->asleep || !is_there(process))
		return;
	process->asleep = false;
	process->idle = 0;
	turn_soon(process);
}

/* ---- beginning ------------------------------------------------------------------------------------------------------------------ */

static const uint64_t paces_ns[] = {1000, 10000, 100000};

static bool bind(const struct dormant_world *world, whorl_config *config, struct wh_node_config *bound)
{
	char text[1024];

	snprintf(
		text, sizeof(text),
		"[group]\nname = dormant\ntransport = sim\nnodes = %u\nnodes_max = %u\nlog_dir = " DORMANT_LOG_DIR
		"\nfailure_timeout_ms = 50\nstart_timeout_ms = 100\ndisk_timeout_ms = 500\ncut_max_ms = 1000\n[engine]\nthread = caller\n%s",
		(unsigned)world->options.founders, (unsigned)world->options.ids, world->options.subgroups);
	if (config == NULL || whorl_config_load_text(config, "dormant", text) != WHORL_OK ||
	    wh_config_bind(config, bound) != WHORL_OK)
		return false;
	bound->batch_bytes = world->options.batch_bytes;
	return true;
}

static bool open_node(struct dormant_process *process)
{
	struct dormant_world *world = process->world;
	const struct wh_world of = {.env = process->env,
				    .create = wh_sim_create,
				    .create_ctx = world->sim,
				    .one_host = world->options.one_host};
	const struct whorl_open_options options = {.size = sizeof(options)};
	whorl_config *config = whorl_config_new();
	struct wh_node_config bound;
	struct wh_error err = {0};
	bool good = bind(world, config, &bound);

	if (good) {
		good = wh_node_open(&bound, process->id, &of, &options, &process->node, &err) == WHORL_OK;
		wh_node_config_free(&bound);
	}
	if (!good && !(world->options.one_host && err.code == WHORL_DISK)) /* another speaks for its disk now */
		fail(world, config == NULL ? "no memory" : err.text[0] != '\0' ? err.text : whorl_config_error(config));
	whorl_config_free(config);
	if (!good)
		return false;
	process->program.opened(process->program.ctx, process->node);
	return whorl_start(process->node) == WHORL_OK;
}

struct dormant_process *dormant_process_new(struct dormant_world *world, uint32_t id,
					    const struct dormant_program *program)
{
	struct dormant_process *process = calloc(1, sizeof(*process));

	if (process == NULL)
		return NULL;
	process->world = world;
	process->id = id;
	process->program = *program;
	process->dice = wh_dice_split(world->options.seed, 1000 + ++world->numbers);
	process->pace_ns = paces_ns[wh_dice_below(&process->dice, 3)];
	process->env = wh_sim_env(world->sim, id);
	process->next = world->processes;
	world->processes = process;
	world->at[id] = process;
	if (!open_node(process)) {
		process->ended = true;
		return NULL;
	}
	turn_soon(process);
	return process;
}

/* ---- ending --------------------------------------------------------------------------------------------------------------------- */

static void close_now(void *ctx, uint64_t argument);

static void close_at(struct dormant_process *process, uint64_t when_ns)
{
	wh_sim_at(process->world->sim, when_ns, close_now, process, 0);
}

/* Others go on meanwhile. */
static void close_now(void *ctx, uint64_t argument)
{
	struct dormant_process *process = ctx;
	struct dormant_world *world = process->world;

	(void)argument;
	if (process->ended)
		return;
	if (world->closing) {
		close_at(process, wh_sim_now(world->sim) + 100 * WH_NS_PER_US);
		return;
	}
	world->closing = process->closing = true;
	while (process->dead && wh_inspect_jobs(process->node) > 0 && wh_sim_step(world->sim, UINT64_MAX))
		continue;
	process->close_result = whorl_close(process->node, process->dead ? 0 : process->close_ms);
	process->node = NULL;
	if (!process->dead)
		wh_sim_exit(world->sim, process->id);
	process->ended = true;
	world->closing = false;
}

/* What is left of it is closed, later. */
static void die(struct dormant_process *process)
{
	if (process->dead || process->ended)
		return;
	process->dead = true;
	process->turn++;
	if (!process->closing)
		close_at(process, wh_sim_now(process->world->sim) + wh_dice_below(&process->dice, WH_NS_PER_MS));
}

void dormant_kill(struct dormant_process *process)
{
	if (process->dead || process->ended)
		return;
	die(process);
	wh_sim_crash(process->world->sim, process->id);
}

void dormant_cut_power(struct dormant_world *world, uint32_t id)
{
	for (uint32_t i = 0; i < world->options.ids; i++)
		if (world->at[i] != NULL && (i == id || world->options.one_host))
			die(world->at[i]);
	wh_sim_power_loss(world->sim, id);
}

void dormant_cut_power_at(struct dormant_process *process, uint64_t operations)
{
	process->power_in = operations;
}

static void note_operating(void *ctx, uint32_t node, enum wh_sim_disk_op op, uint64_t number)
{
	struct dormant_world *world = ctx;
	struct dormant_process *process = world->at[node];

	(void)number;
	if (process == NULL || !is_there(process) || process->power_in == 0 || op == WH_SIM_DISK_READ)
		return;
	if (--process->power_in == 0)
		dormant_cut_power(world, node);
}

void dormant_close(struct dormant_process *process, int timeout_ms)
{
	if (process->dead || process->closing || process->ended || process->close_ms > 0)
		return;
	process->close_ms = timeout_ms;
	close_at(process, wh_sim_now(process->world->sim));
}

void dormant_stall(struct dormant_process *process, uint64_t ns)
{
	process->stalled_until_ns = wh_sim_now(process->world->sim) + ns;
}

static void heal(void *ctx, uint64_t pair)
{
	struct dormant_world *world = ctx;

	wh_sim_heal(world->sim, (uint32_t)(pair >> 32), (uint32_t)pair);
	wh_sim_heal(world->sim, (uint32_t)pair, (uint32_t)(pair >> 32));
}

void dormant_cut(struct dormant_world *world, uint32_t one, uint32_t other, uint64_t ns)
{
	if (world->options.one_host || one == other)
		return;
	wh_sim_cut_off(world->sim, one, other);
	wh_sim_cut_off(world->sim, other, one);
	wh_sim_at(world->sim, wh_sim_now(world->sim) + ns, heal, world, (uint64_t)one << 32 | other);
}

void dormant_replace_disk(struct dormant_world *world, uint32_t id)
{
	wh_sim_exit(world->sim, id);
	wh_sim_disk_blank(wh_sim_disk_of(world->sim, id));
}

void dormant_nap(struct dormant_process *process, uint64_t ns)
{
	process->env->nap(process->env->ctx, ns);
}

/* ---- what there is ------------------------------------------------------------------------------------------------------------- */

whorl_node *dormant_node(const struct dormant_process *process)
{
	return is_there(process) && process->close_ms == 0 ? process->node : NULL;
}

whorl_node *dormant_node_until_closed(const struct dormant_process *process)
{
	return process->dead ? NULL : process->node;
}

bool dormant_is_dead(const struct dormant_process *process)
{
	return process->dead;
}

bool dormant_has_ended(const struct dormant_process *process)
{
	return process->ended;
}

enum whorl_result dormant_close_result(const struct dormant_process *process)
{
	return process->close_result;
}

/* ---- the world ----------------------------------------------------------------------------------------------------------------- */

static void log_line(void *ctx, uint32_t node, enum wh_log_level level, const char *line)
{
	const struct dormant_world *world = ctx;

	if (world->options.verbose && level <= WH_LOG_DEBUG)
		printf("%12.6f node %u: %s\n", (double)wh_sim_now(world->sim) / 1e9, (unsigned)node, line);
}

static bool make_net(struct dormant_world *world)
{
	static const uint64_t latencies_ns[] = {1000, 20000, 200000};
	struct wh_sim_options options = {.nodes = world->options.ids,
					 .seed = world->options.seed,
					 .latency_min_ns = 100,
					 .one_host = world->options.one_host,
					 .proofs = world->options.one_host,
					 .disks = true,
					 .disk = {.cost = world->options.cost},
					 .log = log_line,
					 .rung = note_rung,
					 .operating = note_operating,
					 .ctx = world};
	struct wh_error err;

	options.latency_max_ns = latencies_ns[wh_dice_below(&world->dice, 3)];
	options.pieces = (uint32_t)wh_dice_between(&world->dice, 1, WH_SIM_PIECES_MAX / 2);
	options.ring_max_ns = wh_dice_one_in(&world->dice, 2) ? 0 : WH_NS_PER_MS;
	options.notice_max_ns = world->options.one_host || wh_dice_one_in(&world->dice, 2) ? 0 : 50 * WH_NS_PER_MS;
	options.proof_max_ns = 150 * WH_NS_PER_MS;
	if (wh_sim_new(&world->sim, &options, &err) != WHORL_OK)
		return false;
	for (uint32_t id = 0; id < world->options.ids; id++)
		if (!wh_sim_disk_mount(wh_sim_disk_of(world->sim, id), DORMANT_LOG_DIR))
			return false;
	return true;
}

struct dormant_world *dormant_world_new(const struct dormant_world_options *options)
{
	struct dormant_world *world = calloc(1, sizeof(*world));

	if (world == NULL)
		return NULL;
	world->options = *options;
	world->dice = wh_dice_split(options->seed, 999);
	world->at = calloc(options->ids, sizeof(*world->at));
	if (world->at == NULL || !make_net(world)) {
		wh_sim_free(world->sim);
		free(world->at);
		free(world);
		return NULL;
	}
	return world;
}

void dormant_world_free(struct dormant_world *world)
{
	wh_sim_free(world->sim);
	while (world->processes != NULL) {
		struct dormant_process *process = world->processes;

		world->processes = process->next;
		free(process);
	}
	free(world->at);
	free(world);
}

bool dormant_step(struct dormant_world *world, uint64_t until_ns)
{
	if (dormant_broken(world) != NULL || !wh_sim_step(world->sim, until_ns))
		return false;
	if (++world->steps > STEPS_MAX)
		fail(world, "there is no end of it");
	return true;
}

void dormant_after(struct dormant_world *world, uint64_t ns, wh_sim_fn *fn, void *ctx, uint64_t argument)
{
	wh_sim_at(world->sim, wh_sim_now(world->sim) + ns, fn, ctx, argument);
}

uint64_t dormant_now(const struct dormant_world *world)
{
	return wh_sim_now(world->sim);
}

uint64_t dormant_digest(const struct dormant_world *world)
{
	return wh_sim_digest(world->sim);
}

struct wh_sim_disk *dormant_disk(const struct dormant_world *world, uint32_t id)
{
	return wh_sim_disk_of(world->sim, id);
}

const char *dormant_broken(const struct dormant_world *world)
{
	return world->broken[0] != '\0' ? world->broken : wh_sim_verdict(world->sim);
}
