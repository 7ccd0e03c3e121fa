/* dormant_host.c - see dormant_host.h. */
#include "tests/sim/dormant_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "sim/inspect.h"
#include "tests/sim/host.h"

#define STEPS_MAX 20000000

struct dormant_process {
	struct dormant_world *world;
	struct dormant_process *next;
	struct dormant_program program;
	struct wh_dice dice;
	uint32_t id;
	whorl_node *node; /* NULL: not yet, or no more */
	struct host_thread loop;
	uint64_t stalled_until_ns;
	uint64_t power_in; /* operations of its disk; 0: none */
	bool dead, closing, ended;
	int close_ms;
	enum whorl_result close_result;
};

struct dormant_world {
	struct host host;
	struct dormant_world_options options;
	struct dormant_process *processes;
	struct dormant_process **at; /* by id: the life that is there */
};

/* ---- passes -------------------------------------------------------------------------------------------------------------------- */

static bool is_there(const struct dormant_process *process)
{
	return process->node != NULL && !process->dead && !process->closing;
}

static bool loop_is_there(const void *ctx)
{
	return is_there(ctx);
}

static uint64_t loop_stalled(const void *ctx)
{
	const struct dormant_process *process = ctx;

	return process->stalled_until_ns;
}

static uint64_t loop_next(const void *ctx)
{
	const struct dormant_process *process = ctx;

	return wh_inspect_next_ns(process->node);
}

static size_t make_pass(void *ctx, bool last_look)
{
	struct dormant_process *process = ctx;
	struct wh_sim *sim = process->world->host.sim;
	size_t work;

	wh_sim_begin_pass(sim);
	work = last_look ? whorl_arm(process->node) : whorl_step(process->node);
	wh_sim_end_pass(sim);
	if (is_there(process))
		process->program.passed(process->program.ctx);
	return work;
}

static const struct host_passes passes = {
	.is_there = loop_is_there, .stalled_until_ns = loop_stalled, .next_ns = loop_next, .make = make_pass};

static void note_rung(void *ctx, uint32_t node)
{
	struct dormant_world *world = ctx;

	host_rung(world->at[node] != NULL ? &world->at[node]->loop : NULL);
}

/* ---- beginning ------------------------------------------------------------------------------------------------------------------ */

static bool open_node(struct dormant_process *process)
{
	struct dormant_world *world = process->world;
	struct wh_error err;
	char text[1024];

	snprintf(
		text, sizeof(text),
		"[group]\nname = dormant\ntransport = sim\nnodes = %u\nnodes_max = %u\nlog_dir = " DORMANT_LOG_DIR
		"\nfailure_timeout_ms = 50\nstart_timeout_ms = 100\ndisk_timeout_ms = 500\ncut_max_ms = 1000\n[engine]\nthread = caller\n%s",
		(unsigned)world->options.founders, (unsigned)world->options.ids, world->options.subgroups);
	if (host_open_node(&world->host, process->id, text, false, world->options.batch_bytes, &process->node, &err) !=
	    WHORL_OK) {
		if (!(world->options.one_host && err.code == WHORL_DISK)) /* another speaks for its disk now */
			host_fail(&world->host, err.text);
		return false;
	}
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
	process->dice = host_dice(&world->host);
	process->loop = (struct host_thread){.host = &world->host,
					     .passes = &passes,
					     .dice = &process->dice,
					     .id = id,
					     .ctx = process,
					     .pace_ns = host_pace(&process->dice)};
	process->next = world->processes;
	world->processes = process;
	world->at[id] = process;
	if (!open_node(process)) {
		process->ended = true;
		return NULL;
	}
	host_turn_soon(&process->loop);
	return process;
}

/* ---- ending --------------------------------------------------------------------------------------------------------------------- */

static void close_now(void *ctx, uint64_t argument);

static void close_at(struct dormant_process *process, uint64_t when_ns)
{
	wh_sim_at(process->world->host.sim, when_ns, close_now, process, 0);
}

/* Others go on meanwhile. */
static void close_now(void *ctx, uint64_t argument)
{
	struct dormant_process *process = ctx;
	struct dormant_world *world = process->world;

	(void)argument;
	if (process->ended)
		return;
	if (world->host.closing) {
		close_at(process, host_now(&world->host) + 100 * WH_NS_PER_US);
		return;
	}
	process->closing = true;
	process->close_result =
		host_close_node(&world->host, process->id, process->node, process->dead, process->close_ms);
	process->node = NULL;
	process->ended = true;
}

/* What is left of it is closed, later. */
static void die(struct dormant_process *process)
{
	if (process->dead || process->ended)
		return;
	process->dead = true;
	if (!process->closing)
		close_at(process, wh_sim_now(process->world->host.sim) + wh_dice_below(&process->dice, WH_NS_PER_MS));
}

void dormant_kill(struct dormant_process *process)
{
	if (process->dead || process->ended)
		return;
	die(process);
	wh_sim_crash(process->world->host.sim, process->id);
}

void dormant_cut_power(struct dormant_world *world, uint32_t id)
{
	for (uint32_t i = 0; i < world->options.ids; i++)
		if (world->at[i] != NULL && (i == id || world->options.one_host))
			die(world->at[i]);
	wh_sim_power_loss(world->host.sim, id);
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
	close_at(process, wh_sim_now(process->world->host.sim));
}

void dormant_stall(struct dormant_process *process, uint64_t ns)
{
	process->stalled_until_ns = wh_sim_now(process->world->host.sim) + ns;
}

void dormant_cut(struct dormant_world *world, uint32_t one, uint32_t other, uint64_t ns)
{
	(void)host_cut(&world->host, one, other, ns);
}

void dormant_replace_disk(struct dormant_world *world, uint32_t id)
{
	wh_sim_exit(world->host.sim, id);
	wh_sim_disk_blank(wh_sim_disk_of(world->host.sim, id));
}

void dormant_nap(struct dormant_process *process, uint64_t ns)
{
	const struct wh_env *env = wh_sim_env(process->world->host.sim, process->id);

	env->nap(env->ctx, ns);
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

struct dormant_world *dormant_world_new(const struct dormant_world_options *options)
{
	const struct host_options of = {.seed = options->seed,
					.steps_max = STEPS_MAX,
					.ids = options->ids,
					.one_host = options->one_host,
					.log_dir = DORMANT_LOG_DIR,
					.cost = options->cost,
					.verbose = options->verbose,
					.level = WH_LOG_DEBUG};
	struct dormant_world *world = calloc(1, sizeof(*world));

	if (world == NULL)
		return NULL;
	world->options = *options;
	world->at = calloc(options->ids, sizeof(*world->at));
	if (world->at == NULL ||
	    !host_open(&world->host, &of,
		       (struct wh_sim_options){.rung = note_rung, .operating = note_operating, .ctx = world})) {
		dormant_world_free(world);
		return NULL;
	}
	return world;
}

void dormant_world_free(struct dormant_world *world)
{
	host_close(&world->host);
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
	return host_step(&world->host, until_ns);
}

void dormant_after(struct dormant_world *world, uint64_t ns, wh_sim_fn *fn, void *ctx, uint64_t argument)
{
	wh_sim_at(world->host.sim, wh_sim_now(world->host.sim) + ns, fn, ctx, argument);
}

uint64_t dormant_now(const struct dormant_world *world)
{
	return wh_sim_now(world->host.sim);
}

uint64_t dormant_digest(const struct dormant_world *world)
{
	return wh_sim_digest(world->host.sim);
}

struct wh_sim_disk *dormant_disk(const struct dormant_world *world, uint32_t id)
{
	return wh_sim_disk_of(world->host.sim, id);
}

const char *dormant_broken(const struct dormant_world *world)
{
	return host_broken(&world->host);
}
