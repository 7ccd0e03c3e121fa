/* delegates_host.c - see delegates_host.h. */
#include "tests/sim/delegates_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fiber.h"
#include "delegation/steps.h"
#include "sim/inspect.h"
#include "tests/sim/host.h"

#define STEPS_MAX 20000000
#define CLOSE_MS 2000
#define ACT_NS (4 * WH_NS_PER_MS)

struct runner { /* the node's loop, on lane 0, or a worker */
	struct delegates_process *process;
	struct host_thread thread;
	uint64_t stalled_until_ns;
};

struct delegates_process {
	struct delegates_world *world;
	struct delegates_process *next;
	struct delegates_program program;
	struct wh_dice dice;
	uint32_t id;
	whorl_node *node;
	whorl_work *work; /* NULL: not yet, or no more */
	struct runner *runners;
	uint64_t stalled_until_ns;
	bool dead, leaves, failed, ended, ready;
	bool closing;            /* its node's passes are made by whorl_close */
	struct wh_fiber *thread; /* the plain one; NULL: not yet */
	uint64_t thread_turn;
};

struct delegates_world {
	struct host host;
	struct delegates_world_options options;
	struct delegates_process *processes;
	struct delegates_process **at;    /* by id: the life that is there */
	struct delegates_process *acting; /* its plain thread runs now */
};

/* ---- passes -------------------------------------------------------------------------------------------------------------------- */

static bool is_there(const void *ctx)
{
	const struct runner *runner = ctx;
	const struct delegates_process *process = runner->process;

	if (process->dead || process->node == NULL)
		return false;
	return runner->thread.lane == 0 ? !process->closing : process->work != NULL;
}

static uint64_t stalled_until(const void *ctx)
{
	const struct runner *runner = ctx;
	uint64_t all_ns = runner->process->stalled_until_ns;

	return all_ns > runner->stalled_until_ns ? all_ns : runner->stalled_until_ns;
}

static uint64_t next_ns(const void *ctx)
{
	const struct runner *runner = ctx;
	const struct delegates_process *process = runner->process;
	uint32_t lane = runner->thread.lane;

	return lane == 0 ? wh_inspect_next_ns(process->node) : wh_work_next_ns(process->work, lane - 1);
}

static size_t pass(struct runner *runner, bool last_look)
{
	struct delegates_process *process = runner->process;
	uint32_t worker = runner->thread.lane - 1;

	if (runner->thread.lane > 0)
		return last_look ? wh_work_sleep(process->work, worker) : wh_work_step(process->work, worker);
	return last_look ? whorl_arm(process->node) : whorl_step(process->node);
}

static void begin_work(struct delegates_process *process);

static size_t make_pass(void *ctx, bool last_look)
{
	struct runner *runner = ctx;
	struct delegates_process *process = runner->process;
	size_t work = pass(runner, last_look);

	if (runner->thread.lane > 0)
		return work;
	process->failed = process->failed || whorl_error(process->node, NULL, 0) != WHORL_OK;
	if (!process->ready && !process->failed && !process->leaves && whorl_node_count(process->node) > 0 &&
	    whorl_ready(process->node, 0) == WHORL_OK)
		begin_work(process);
	return work;
}

static const struct host_passes passes = {
	.is_there = is_there, .stalled_until_ns = stalled_until, .next_ns = next_ns, .make = make_pass};

static void note_rung(void *ctx, uint32_t node, uint32_t lane)
{
	struct delegates_world *world = ctx;
	struct delegates_process *process = world->at[node];

	host_rung(process != NULL && process->runners[lane].process != NULL ? &process->runners[lane].thread : NULL);
}

static void note_node_rung(void *ctx, uint32_t node)
{
	note_rung(ctx, node, 0);
}

/* ---- beginning ------------------------------------------------------------------------------------------------------------------ */

static void add_runner(struct delegates_process *process, uint32_t lane)
{
	struct runner *runner = &process->runners[lane];

	*runner = (struct runner){.process = process,
				  .thread = {.host = &process->world->host,
					     .passes = &passes,
					     .dice = &process->dice,
					     .id = process->id,
					     .lane = lane,
					     .ctx = runner,
					     .pace_ns = host_pace(&process->dice)}};
	host_turn_soon(&runner->thread);
}

static void go_on(void *ctx, uint64_t turn);

static void go_on_at(struct delegates_process *process, uint64_t when_ns)
{
	if (when_ns < process->stalled_until_ns)
		when_ns = process->stalled_until_ns;
	wh_sim_at(process->world->host.sim, when_ns, go_on, process, ++process->thread_turn);
}

/* One that was killed never does. */
static void go_on(void *ctx, uint64_t turn)
{
	struct delegates_process *process = ctx;
	struct delegates_world *world = process->world;
	struct delegates_process *before = world->acting;

	if (turn != process->thread_turn || process->dead)
		return;
	if (wh_sim_now(world->host.sim) < process->stalled_until_ns) {
		go_on_at(process, process->stalled_until_ns);
		return;
	}
	world->acting = process;
	wh_fiber_resume(process->thread);
	world->acting = before;
}

static void pause_for(struct delegates_process *process, uint64_t ns)
{
	go_on_at(process, wh_sim_now(process->world->host.sim) + ns);
	wh_fiber_pause(process->thread);
}

static bool note_napping(void *ctx, uint32_t node, uint64_t ns)
{
	struct delegates_world *world = ctx;

	if (world->acting == NULL || world->acting->id != node)
		return false;
	pause_for(world->acting, ns);
	return true;
}

static void run_thread(void *ctx)
{
	struct delegates_process *process = ctx;

	process->program.begin(process->program.ctx, process->work);
	while (!process->leaves) {
		pause_for(process, wh_dice_below(&process->dice, ACT_NS));
		if (!process->leaves)
			process->program.act(process->program.ctx);
	}
}

static bool has_thread(const struct delegates_process *process)
{
	return process->thread != NULL && !process->dead && !wh_fiber_has_ended(process->thread);
}

static bool open_work(struct delegates_process *process)
{
	if (whorl_work_open(process->node, &process->program.work, &process->work) != WHORL_OK) {
		host_fail(&process->world->host, whorl_invalid_text());
		return false;
	}
	for (uint32_t lane = 1; lane <= process->program.work.workers; lane++)
		add_runner(process, lane);
	return true;
}

static void begin_work(struct delegates_process *process)
{
	struct delegates_world *world = process->world;

	process->ready = true;
	if (process->work == NULL && !open_work(process))
		return;
	process->thread = wh_fiber_new(run_thread, process, WH_FIBER_STACK_BYTES);
	if (process->thread == NULL)
		host_fail(&world->host, "no memory for a thread");
	else
		go_on_at(process, wh_sim_now(world->host.sim));
}

static bool open_node(struct delegates_process *process)
{
	struct delegates_world *world = process->world;
	struct wh_error err;
	const char *lines = world->options.subgroup != NULL ? world->options.subgroup : "";
	char text[512];

	snprintf(text, sizeof(text),
		 "[group]\nname = delegates\ntransport = sim\nnodes = %u\nnodes_max = %u\nfailure_timeout_ms = 50\n"
		 "start_timeout_ms = 100\n[engine]\nthread = caller\n[subgroup all]\n%s",
		 (unsigned)world->options.founders, (unsigned)world->options.ids, lines);
	if (host_open_node(&world->host, process->id, text, process->program.joins, 0, &process->node, &err) !=
	    WHORL_OK) {
		host_fail(&world->host, err.text);
		return false;
	}
	return true;
}

/* Its node is in the world. */
static bool start(struct delegates_process *process)
{
	if (process->program.serve != NULL) {
		if (!open_work(process))
			return false;
		process->program.serve(process->program.ctx, process->work, process->node);
	}
	return whorl_start(process->node) == WHORL_OK;
}

struct delegates_process *delegates_process_new(struct delegates_world *world, uint32_t id,
						const struct delegates_program *program)
{
	struct delegates_process *process = calloc(1, sizeof(*process));

	if (process == NULL)
		return NULL;
	process->world = world;
	process->id = id;
	process->program = *program;
	process->dice = host_dice(&world->host);
	process->runners = calloc(program->work.workers + 1, sizeof(*process->runners));
	process->next = world->processes;
	world->processes = process;
	if (process->runners == NULL || !open_node(process))
		return NULL;
	world->at[id] = process;
	add_runner(process, 0);
	return start(process) ? process : NULL;
}

/* ---- ending --------------------------------------------------------------------------------------------------------------------- */

static void close_now(void *ctx, uint64_t argument);

static void close_at(struct delegates_process *process, uint64_t when_ns)
{
	wh_sim_at(process->world->host.sim, when_ns, close_now, process, 0);
}

static void close_work(struct delegates_process *process)
{
	if (process->work != NULL && whorl_work_close(process->work, process->dead ? 0 : CLOSE_MS) != WHORL_OK)
		host_fail(&process->world->host, "work does not close");
	process->work = NULL;
}

/* Others go on meanwhile. */
static void close_now(void *ctx, uint64_t argument)
{
	struct delegates_process *process = ctx;
	struct delegates_world *world = process->world;

	(void)argument;
	if (process->ended)
		return;
	if (world->host.closing || has_thread(process)) {
		close_at(process, wh_sim_now(world->host.sim) + 100 * WH_NS_PER_US);
		return;
	}
	world->host.closing = process->leaves = true; /* else it was killed */
	close_work(process);
	process->closing = true;
	world->host.closing = false;
	(void)host_close_node(&world->host, process->id, process->node, process->dead,
			      CLOSE_MS); /* what the group answers is no matter here */
	process->node = NULL;
	process->ended = true;
	if (world->at[process->id] == process)
		world->at[process->id] = NULL;
}

bool delegates_kill(struct delegates_process *process)
{
	struct delegates_world *world = process->world;

	if (process->dead || process->leaves)
		return process->dead;
	process->dead = true;
	wh_sim_crash(world->host.sim, process->id);
	close_at(process, wh_sim_now(world->host.sim) + wh_dice_below(&process->dice, 20 * WH_NS_PER_MS));
	return true;
}

void delegates_leave(struct delegates_process *process)
{
	if (process->dead || process->leaves)
		return;
	process->leaves = true;
	close_at(process, wh_sim_now(process->world->host.sim));
}

void delegates_stall(struct delegates_process *process, uint64_t ns)
{
	process->stalled_until_ns = wh_sim_now(process->world->host.sim) + ns;
}

void delegates_stall_worker(struct delegates_process *process, uint32_t worker, uint64_t ns)
{
	process->runners[worker + 1].stalled_until_ns = wh_sim_now(process->world->host.sim) + ns;
}

bool delegates_cut(struct delegates_world *world, uint32_t one, uint32_t other, uint64_t ns)
{
	return host_cut(&world->host, one, other, ns);
}

/* ---- what there is ------------------------------------------------------------------------------------------------------------- */

bool delegates_is_dead(const struct delegates_process *process)
{
	return process->dead;
}

bool delegates_leaves(const struct delegates_process *process)
{
	return process->leaves;
}

bool delegates_has_failed(const struct delegates_process *process)
{
	return process->failed;
}

bool delegates_has_ended(const struct delegates_process *process)
{
	return process->ended;
}

whorl_work *delegates_work(const struct delegates_process *process)
{
	return process->work;
}

/* ---- the world ----------------------------------------------------------------------------------------------------------------- */

struct delegates_world *delegates_world_new(const struct delegates_world_options *options)
{
	const struct host_options of = {.seed = options->seed,
					.steps_max = STEPS_MAX,
					.ids = options->ids,
					.one_host = options->one_host,
					.verbose = options->verbose,
					.level = WH_LOG_INFO};
	struct delegates_world *world = calloc(1, sizeof(*world));

	if (world == NULL)
		return NULL;
	world->options = *options;
	world->at = calloc(options->ids, sizeof(*world->at));
	if (world->at == NULL ||
	    !host_open(&world->host, &of,
		       (struct wh_sim_options){
			       .rung = note_node_rung, .lane_rung = note_rung, .napping = note_napping, .ctx = world})) {
		delegates_world_free(world);
		return NULL;
	}
	return world;
}

void delegates_world_free(struct delegates_world *world)
{
	while (world->processes != NULL) {
		struct delegates_process *process = world->processes;

		world->processes = process->next;
		if (process->thread != NULL)
			wh_fiber_free(process->thread);
		free(process->runners);
		free(process);
	}
	host_close(&world->host);
	free(world->at);
	free(world);
}

bool delegates_step(struct delegates_world *world, uint64_t until_ns)
{
	return host_step(&world->host, until_ns);
}

uint64_t delegates_now(const struct delegates_world *world)
{
	return wh_sim_now(world->host.sim);
}

uint64_t delegates_digest(const struct delegates_world *world)
{
	return wh_sim_digest(world->host.sim);
}

const char *delegates_broken(const struct delegates_world *world)
{
	return host_broken(&world->host);
}
