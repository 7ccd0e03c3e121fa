/* delegates_host.c - see delegates_host.h. */
#include "tests/sim/delegates_host.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/fiber.h"
#include "delegation/steps.h"
#include "group/node.h"
#include "sim/inspect.h"
#include "sim/net/sim.h"

#define STEPS_MAX 20000000
#define CLOSE_MS 2000
#define ACT_NS (4 * WH_NS_PER_MS)

struct runner { /* a thread of the library: the node's, or a worker's */
	struct delegates_process *process;
	uint32_t lane; /* 0: the node */
	uint64_t pace_ns, turn, stalled_until_ns;
	uint32_t idle;
	bool asleep;
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
	bool dead, leaves, failed, ended;
	bool closing;            /* its node's passes are made by whorl_close */
	struct wh_fiber *thread; /* the plain one; NULL: not yet */
	uint64_t thread_turn;
};

struct delegates_world {
	struct delegates_world_options options;
	struct wh_sim *sim;
	struct wh_dice dice;
	struct delegates_process *processes;
	struct delegates_process **at; /* by id: the life that is there */
	uint64_t steps, numbers;
	struct delegates_process *acting; /* its plain thread runs now */
	bool closing;                     /* one at a time */
	char broken[256];
};

static void fail(struct delegates_world *world, const char *what)
{
	if (world->broken[0] == '\0')
		snprintf(world->broken, sizeof(world->broken), "%.255s", what);
}

/* ---- passes -------------------------------------------------------------------------------------------------------------------- */

static void take_turn(void *ctx, uint64_t turn);

static bool is_there(const struct runner *runner)
{
	const struct delegates_process *process = runner->process;

	if (process->dead || process->node == NULL)
		return false;
	return runner->lane == 0 ? !process->closing : process->work != NULL;
}

static void turn_at(struct runner *runner, uint64_t when_ns)
{
	wh_sim_at(runner->process->world->sim, when_ns, take_turn, runner, ++runner->turn);
}

static void turn_soon(struct runner *runner)
{
	struct delegates_process *process = runner->process;
	uint64_t pause_ns = wh_dice_below(&process->dice, 2 * runner->pace_ns);

	if (wh_dice_one_in(&process->dice, 32))
		pause_ns *= 20;
	turn_at(runner, wh_sim_now(process->world->sim) + pause_ns);
}

static uint64_t next_ns(const struct runner *runner)
{
	const struct delegates_process *process = runner->process;

	return runner->lane == 0 ? wh_inspect_next_ns(process->node) : wh_work_next_ns(process->work, runner->lane - 1);
}

static void sleep_now(struct runner *runner)
{
	struct delegates_process *process = runner->process;
	struct wh_sim *sim = process->world->sim;
	uint64_t due_ns = next_ns(runner), its_now_ns = wh_env_now(wh_sim_env(sim, process->id));

	runner->asleep = true;
	runner->turn++;
	if (wh_sim_lane_rung(sim, process->id, runner->lane)) {
		runner->asleep = false;
		turn_soon(runner);
	} else if (due_ns != UINT64_MAX) {
		turn_at(runner, wh_sim_now(sim) + (due_ns > its_now_ns ? due_ns - its_now_ns : 0));
	}
}

static size_t pass(struct runner *runner, bool last_look)
{
	struct delegates_process *process = runner->process;
	uint32_t worker = runner->lane - 1;

	if (runner->lane > 0)
		return last_look ? wh_work_sleep(process->work, worker) : wh_work_step(process->work, worker);
	return last_look ? whorl_arm(process->node) : whorl_step(process->node);
}

static void begin_work(struct delegates_process *process);

static void make_pass(struct runner *runner, bool last_look)
{
	struct delegates_process *process = runner->process;
	size_t work = pass(runner, last_look);

	runner->idle = work > 0 ? 0 : runner->idle + 1;
	if (runner->lane == 0) {
		process->failed = process->failed || whorl_error(process->node, NULL, 0) != WHORL_OK;
		if (process->runners[1].process == NULL && !process->failed && !process->leaves &&
		    whorl_node_count(process->node) > 0 && whorl_ready(process->node, 0) == WHORL_OK)
			begin_work(process);
	}
	if (last_look && work == 0)
		sleep_now(runner);
	else
		turn_soon(runner);
}

static void take_turn(void *ctx, uint64_t turn)
{
	struct runner *runner = ctx;
	struct delegates_process *process = runner->process;
	uint64_t stalled_ns = process->stalled_until_ns > runner->stalled_until_ns ? process->stalled_until_ns
										   : runner->stalled_until_ns;

	if (turn != runner->turn || !is_there(runner))
		return;
	if (runner->asleep)
		runner->idle = 0;
	runner->asleep = false;
	if (wh_sim_now(process->world->sim) < stalled_ns)
		turn_at(runner, stalled_ns);
	else
		make_pass(runner, runner->idle > 0 && wh_dice_one_in(&process->dice, 2));
}

static void note_rung(void *ctx, uint32_t node, uint32_t lane)
{
	struct delegates_world *world = ctx;
	struct delegates_process *process = world->at[node];
	struct runner *runner = process == NULL ? NULL : &process->runners[lane];

	if (runner == NULL || !runner->asleep || !is_there(runner))
		return;
	runner->asleep = false;
	runner->idle = 0;
	turn_soon(runner);
}

static void note_node_rung(void *ctx, uint32_t node)
{
	note_rung(ctx, node, 0);
}

/* ---- beginning ------------------------------------------------------------------------------------------------------------------ */

static const uint64_t paces_ns[] = {1000, 10000, 100000};

static void add_runner(struct delegates_process *process, uint32_t lane)
{
	struct runner *runner = &process->runners[lane];

	*runner = (struct runner){
		.process = process, .lane = lane, .pace_ns = paces_ns[wh_dice_below(&process->dice, 3)]};
	turn_soon(runner);
}

static void go_on(void *ctx, uint64_t turn);

static void go_on_at(struct delegates_process *process, uint64_t when_ns)
{
	if (when_ns < process->stalled_until_ns)
		when_ns = process->stalled_until_ns;
	wh_sim_at(process->world->sim, when_ns, go_on, process, ++process->thread_turn);
}

/* One that was killed never does. */
static void go_on(void *ctx, uint64_t turn)
{
	struct delegates_process *process = ctx;
	struct delegates_world *world = process->world;
	struct delegates_process *before = world->acting;

	if (turn != process->thread_turn || process->dead)
		return;
	if (wh_sim_now(world->sim) < process->stalled_until_ns) {
		go_on_at(process, process->stalled_until_ns);
		return;
	}
	world->acting = process;
	wh_fiber_resume(process->thread);
	world->acting = before;
}

static void pause_for(struct delegates_process *process, uint64_t ns)
{
	go_on_at(process, wh_sim_now(process->world->sim) + ns);
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

static void begin_work(struct delegates_process *process)
{
	struct delegates_world *world = process->world;

	if (whorl_work_open(process->node, &process->program.work, &process->work) != WHORL_OK) {
		fail(world, whorl_invalid_text());
		return;
	}
	for (uint32_t lane = 1; lane <= process->program.work.workers; lane++)
		add_runner(process, lane);
	process->thread = wh_fiber_new(run_thread, process, WH_FIBER_STACK_BYTES);
	if (process->thread == NULL)
		fail(world, "no memory for a thread");
	else
		go_on_at(process, wh_sim_now(world->sim));
}

static bool open_node(struct delegates_process *process)
{
	struct delegates_world *world = process->world;
	const struct wh_world of = {.env = wh_sim_env(world->sim, process->id),
				    .create = wh_sim_create,
				    .create_ctx = world->sim,
				    .one_host = world->options.one_host};
	const struct whorl_open_options options = {.size = sizeof(options)};
	whorl_config *config = whorl_config_new();
	struct wh_node_config bound;
	struct wh_error err = {0};
	char text[512];
	bool good;

	snprintf(text, sizeof(text),
		 "[group]\nname = delegates\ntransport = sim\nnodes = %u\nnodes_max = %u\nfailure_timeout_ms = 50\n"
		 "start_timeout_ms = 100\n[engine]\nthread = caller\n[subgroup all]\n",
		 (unsigned)world->options.founders, (unsigned)world->options.ids);
	good = config != NULL && whorl_config_load_text(config, "delegates", text) == WHORL_OK &&
	       wh_config_bind(config, &bound) == WHORL_OK;
	if (good) {
		bound.group.start = process->program.joins ? WH_START_JOIN : WH_START_AUTO;
		good = wh_node_open(&bound, process->id, &of, &options, &process->node, &err) == WHORL_OK;
		wh_node_config_free(&bound);
	}
	if (!good)
		fail(world, config == NULL ? "no memory" : err.text[0] != '\0' ? err.text : whorl_config_error(config));
	whorl_config_free(config);
	return good && whorl_start(process->node) == WHORL_OK;
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
	process->dice = wh_dice_split(world->options.seed, 1000 + ++world->numbers);
	process->runners = calloc(program->work.workers + 1, sizeof(*process->runners));
	process->next = world->processes;
	world->processes = process;
	if (process->runners == NULL || !open_node(process))
		return NULL;
	world->at[id] = process;
	add_runner(process, 0);
	return process;
}

/* ---- ending --------------------------------------------------------------------------------------------------------------------- */

static void close_now(void *ctx, uint64_t argument);

static void close_at(struct delegates_process *process, uint64_t when_ns)
{
	wh_sim_at(process->world->sim, when_ns, close_now, process, 0);
}

static void close_work(struct delegates_process *process)
{
	if (process->work != NULL && whorl_work_close(process->work, process->dead ? 0 : CLOSE_MS) != WHORL_OK)
		fail(process->world, "work does not close");
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
	if (world->closing || has_thread(process)) {
		close_at(process, wh_sim_now(world->sim) + 100 * WH_NS_PER_US);
		return;
	}
	world->closing = process->leaves = true; /* else it was killed */
	close_work(process);
	process->closing = true;
	while (process->dead && wh_inspect_jobs(process->node) > 0 && wh_sim_step(world->sim, UINT64_MAX))
		continue;
	(void)whorl_close(process->node, process->dead ? 0 : CLOSE_MS); /* what the group answers is no matter here */
	process->node = NULL;
	process->ended = true;
	if (world->at[process->id] == process)
		world->at[process->id] = NULL;
	world->closing = false;
}

bool delegates_kill(struct delegates_process *process)
{
	struct delegates_world *world = process->world;

	if (process->dead || process->leaves)
		return process->dead;
	process->dead = true;
	wh_sim_crash(world->sim, process->id);
	close_at(process, wh_sim_now(world->sim) + wh_dice_below(&process->dice, 20 * WH_NS_PER_MS));
	return true;
}

void delegates_leave(struct delegates_process *process)
{
	if (process->dead || process->leaves)
		return;
	process->leaves = true;
	close_at(process, wh_sim_now(process->world->sim));
}

void delegates_stall(struct delegates_process *process, uint64_t ns)
{
	process->stalled_until_ns = wh_sim_now(process->world->sim) + ns;
}

void delegates_stall_worker(struct delegates_process *process, uint32_t worker, uint64_t ns)
{
	process->runners[worker + 1].stalled_until_ns = wh_sim_now(process->world->sim) + ns;
}

static void heal(void *ctx, uint64_t pair)
{
	struct delegates_world *world = ctx;

	wh_sim_heal(world->sim, (uint32_t)(pair >> 32), (uint32_t)pair);
	wh_sim_heal(world->sim, (uint32_t)pair, (uint32_t)(pair >> 32));
}

bool delegates_cut(struct delegates_world *world, uint32_t one, uint32_t other, uint64_t ns)
{
	if (world->options.one_host || one == other)
		return false;
	wh_sim_cut_off(world->sim, one, other);
	wh_sim_cut_off(world->sim, other, one);
	wh_sim_at(world->sim, wh_sim_now(world->sim) + ns, heal, world, (uint64_t)one << 32 | other);
	return true;
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

static void log_line(void *ctx, uint32_t node, enum wh_log_level level, const char *line)
{
	const struct delegates_world *world = ctx;

	if (world->options.verbose && level <= WH_LOG_INFO)
		printf("%12.6f node %u: %s\n", (double)wh_sim_now(world->sim) / 1e9, (unsigned)node, line);
}

static bool make_net(struct delegates_world *world)
{
	static const uint64_t latencies_ns[] = {1000, 20000, 200000};
	struct wh_sim_options options = {.nodes = world->options.ids,
					 .seed = world->options.seed,
					 .latency_min_ns = 100,
					 .one_host = world->options.one_host,
					 .proofs = world->options.one_host,
					 .log = log_line,
					 .rung = note_node_rung,
					 .lane_rung = note_rung,
					 .napping = note_napping,
					 .ctx = world};
	struct wh_error err;

	options.latency_max_ns = latencies_ns[wh_dice_below(&world->dice, 3)];
	options.pieces = (uint32_t)wh_dice_between(&world->dice, 1, WH_SIM_PIECES_MAX / 2);
	options.ring_max_ns = wh_dice_one_in(&world->dice, 2) ? 0 : WH_NS_PER_MS;
	options.notice_max_ns = world->options.one_host || wh_dice_one_in(&world->dice, 2) ? 0 : 50 * WH_NS_PER_MS;
	options.proof_max_ns = 150 * WH_NS_PER_MS;
	return wh_sim_new(&world->sim, &options, &err) == WHORL_OK;
}

struct delegates_world *delegates_world_new(const struct delegates_world_options *options)
{
	struct delegates_world *world = calloc(1, sizeof(*world));

	if (world == NULL)
		return NULL;
	world->options = *options;
	world->dice = wh_dice_split(options->seed, 999);
	world->at = calloc(options->ids, sizeof(*world->at));
	if (world->at == NULL || !make_net(world)) {
		free(world->at);
		free(world);
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
	wh_sim_free(world->sim);
	free(world->at);
	free(world);
}

bool delegates_step(struct delegates_world *world, uint64_t until_ns)
{
	if (delegates_broken(world) != NULL || !wh_sim_step(world->sim, until_ns))
		return false;
	if (++world->steps > STEPS_MAX)
		fail(world, "there is no end of it");
	return true;
}

uint64_t delegates_now(const struct delegates_world *world)
{
	return wh_sim_now(world->sim);
}

uint64_t delegates_digest(const struct delegates_world *world)
{
	return wh_sim_digest(world->sim);
}

const char *delegates_broken(const struct delegates_world *world)
{
	return world->broken[0] != '\0' ? world->broken : wh_sim_verdict(world->sim);
}
