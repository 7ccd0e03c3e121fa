/* topics_host.c - see topics_host.h. */
#include "tests/sim/topics_host.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/fiber.h"
#include "sim/inspect.h"
#include "sim/rots.h"
#include "tests/sim/host.h"

#define LATER_NS UINT64_C(1000000000000000) /* how far ahead the clock of a process is that was killed */
#define LOOK_NS (4 * WH_NS_PER_MS)          /* a thread that waits looks so often at least */
#define STEPS_MAX 30000000
#define LOG_DIR "/logs"

struct thread {
	struct topics_process *process;
	struct thread *next;
	struct wh_fiber *fiber;
	void (*fn)(void *ctx);
	void *(*thread_fn)(void *argument);
	void *ctx;
	uint64_t turn; /* the event that lets it go on */
	uint64_t due_ns;
	bool waits; /* it may be woken before that */
	bool ended;
};

struct topics_process {
	struct topics_world *world;
	struct topics_process *next;
	uint32_t id;
	uint64_t number;
	bool joins, dead, closing, failed;
	whorl_node *node; /* NULL: not yet, or no more */
	struct thread *threads;
	struct wh_dice dice;
	struct host_thread loop;
	uint64_t stalled_until_ns;
	uint64_t looks; /* at the clock since it was killed: each takes a millisecond, so that what it still waits for ends */
	/* of the close that is asked for */
	struct thread *closer;
	int close_ms;
	enum whorl_result close_result;
};

struct topics_world {
	struct host host;
	struct topics_world_options options;
	struct topics_process *processes;
	struct topics_process *current; /* its code runs */
	struct thread *thread;          /* NULL: its loop */
	struct topics_process *before_job;
	struct thread *thread_before_job;
	struct topics_process **at; /* by id: the life that is there */
	struct wh_dds_host dds;
	int file;
	char file_name[32];
};

/* ---- turns --------------------------------------------------------------------------------------------------------------------- */

static void go_on(void *ctx, uint64_t turn);

static void go_on_at(struct thread *thread, uint64_t when_ns)
{
	struct topics_process *process = thread->process;

	if (when_ns < process->stalled_until_ns && !process->dead)
		when_ns = process->stalled_until_ns;
	thread->due_ns = when_ns;
	wh_sim_at(process->world->host.sim, when_ns, go_on, thread, ++thread->turn);
}

static void go_on(void *ctx, uint64_t turn)
{
	struct thread *thread = ctx;
	struct topics_process *process = thread->process;
	struct topics_world *world = process->world;
	struct topics_process *current = world->current;
	struct thread *other = world->thread;

	if (turn != thread->turn || thread->ended)
		return;
	if (wh_sim_now(world->host.sim) < process->stalled_until_ns && !process->dead) {
		go_on_at(thread, process->stalled_until_ns);
		return;
	}
	thread->waits = false;
	world->current = process;
	world->thread = thread;
	wh_fiber_resume(thread->fiber);
	world->current = current;
	world->thread = other;
	thread->ended = wh_fiber_has_ended(thread->fiber);
}

/* In a thread: others go on. */
static void pause_until(struct topics_world *world, uint64_t when_ns, bool waits)
{
	struct thread *thread = world->thread;

	if (thread->process->dead && when_ns > wh_sim_now(world->host.sim) + WH_NS_PER_US)
		when_ns = wh_sim_now(world->host.sim) + WH_NS_PER_US;
	thread->waits = waits;
	go_on_at(thread, when_ns);
	wh_fiber_pause(thread->fiber);
}

/* Something has happened at its node: its threads look. */
static void wake_threads(struct topics_process *process)
{
	uint64_t now_ns = wh_sim_now(process->world->host.sim);

	for (struct thread *thread = process->threads; thread != NULL; thread = thread->next) {
		uint64_t when_ns = now_ns + wh_dice_below(&process->dice, 2 * process->loop.pace_ns + 1);

		if (thread->waits && !thread->ended && when_ns < thread->due_ns)
			go_on_at(thread, when_ns);
	}
}

void topics_sleep(struct topics_world *world, uint64_t ns)
{
	pause_until(world, wh_sim_now(world->host.sim) + ns, false);
}

/* ---- passes -------------------------------------------------------------------------------------------------------------------- */

static bool is_there(const void *ctx)
{
	const struct topics_process *process = ctx;

	return !process->dead && !process->closing && process->node != NULL;
}

static uint64_t stalled_until(const void *ctx)
{
	const struct topics_process *process = ctx;

	return process->stalled_until_ns;
}

static uint64_t next_ns(const void *ctx)
{
	const struct topics_process *process = ctx;

	return wh_inspect_next_ns(process->node);
}

static size_t make_pass(void *ctx, bool last_look)
{
	struct topics_process *process = ctx;
	struct topics_world *world = process->world;
	struct topics_process *current = world->current;
	struct thread *thread = world->thread;
	size_t work;

	world->current = process;
	world->thread = NULL;
	wh_sim_begin_pass(world->host.sim);
	work = last_look ? whorl_arm(process->node) : whorl_step(process->node);
	wh_sim_end_pass(world->host.sim);
	world->current = current;
	world->thread = thread;
	process->failed = process->failed || whorl_error(process->node, NULL, 0) != WHORL_OK;
	if (work > 0)
		wake_threads(process);
	return work;
}

static const struct host_passes passes = {
	.is_there = is_there, .stalled_until_ns = stalled_until, .next_ns = next_ns, .make = make_pass};

static void note_rung(void *ctx, uint32_t node)
{
	struct topics_world *world = ctx;

	host_rung(world->at[node] != NULL ? &world->at[node]->loop : NULL);
}

/* A job of the node's: it is the process's code, and looks at its clock. Jobs do not wait, so none comes within another. */
static void note_working(void *ctx, uint32_t node, bool begins)
{
	struct topics_world *world = ctx;

	if (begins) {
		world->before_job = world->current;
		world->thread_before_job = world->thread;
	}
	world->current = begins ? world->at[node] : world->before_job;
	world->thread = begins ? NULL : world->thread_before_job;
}

/* ---- the host ------------------------------------------------------------------------------------------------------------------ */

static uint64_t dds_clock(void *ctx)
{
	const struct topics_world *world = ctx;
	struct topics_process *process = world->current;
	uint64_t now_ns;

	if (process == NULL)
		return wh_sim_now(world->host.sim);
	now_ns = wh_env_now(wh_sim_env(world->host.sim, process->id));
	return process->dead ? now_ns + LATER_NS + ++process->looks * WH_NS_PER_MS : now_ns;
}

static uint64_t dds_real(void *ctx)
{
	const struct topics_world *world = ctx;

	return TOPICS_REAL_NS + wh_sim_now(world->host.sim);
}

static uint64_t dds_thread(void *ctx)
{
	const struct topics_world *world = ctx;

	return world->thread != NULL ? (uint64_t)(uintptr_t)world->thread : (uint64_t)(uintptr_t)world->current;
}

static uint64_t dds_process(void *ctx)
{
	const struct topics_world *world = ctx;

	return world->current != NULL ? world->current->number : 0;
}

static void dds_wait(void *ctx, pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
	struct topics_world *world = ctx;
	uint64_t now_ns = dds_clock(world), left_ns = until_ns > now_ns ? until_ns - now_ns : 0;
	uint64_t look_ns = 1 + wh_dice_below(&world->host.dice, LOOK_NS);

	(void)condition;
	if (world->thread == NULL) {
		host_fail(&world->host, "a loop waits");
		return;
	}
	pthread_mutex_unlock(lock);
	pause_until(world, wh_sim_now(world->host.sim) + (left_ns < look_ns ? left_ns : look_ns), true);
	pthread_mutex_lock(lock);
}

static void dds_pause(void *ctx)
{
	struct topics_world *world = ctx;
	uint64_t most_ns = wh_dice_one_in(&world->host.dice, 2) ? 10 * WH_NS_PER_US : WH_NS_PER_MS;

	if (world->thread != NULL)
		pause_until(world, wh_sim_now(world->host.sim) + wh_dice_below(&world->host.dice, most_ns), true);
}

static void run_thread(void *ctx)
{
	struct thread *thread = ctx;

	if (thread->thread_fn != NULL)
		(void)thread->thread_fn(thread->ctx);
	else
		thread->fn(thread->ctx);
}

static struct thread *new_thread(struct topics_process *process)
{
	struct thread *thread = calloc(1, sizeof(*thread));

	if (thread == NULL)
		return NULL;
	thread->process = process;
	thread->fiber = wh_fiber_new(run_thread, thread, WH_FIBER_STACK_BYTES);
	if (thread->fiber == NULL) {
		free(thread);
		return NULL;
	}
	thread->next = process->threads;
	process->threads = thread;
	go_on_at(thread,
		 wh_sim_now(process->world->host.sim) + wh_dice_below(&process->dice, process->loop.pace_ns + 1));
	return thread;
}

static bool dds_start(void *ctx, struct wh_dds_thread *out, void *(*fn)(void *), void *argument)
{
	struct topics_world *world = ctx;
	struct thread *thread = new_thread(world->current);

	if (thread == NULL)
		return false;
	thread->thread_fn = fn;
	thread->ctx = argument;
	out->simulated = thread;
	return true;
}

static void dds_join(void *ctx, struct wh_dds_thread *out)
{
	struct thread *thread = out->simulated;

	while (!thread->ended)
		dds_pause(ctx);
}

static void dds_detach(void *ctx, struct wh_dds_thread *thread)
{
	(void)ctx;
	(void)thread;
}

static enum whorl_result dds_open(void *ctx, whorl_config *config, uint32_t id, whorl_node **node)
{
	struct topics_world *world = ctx;
	struct topics_process *process = world->current;
	const struct wh_world of = host_world(&world->host, process->id);
	const struct whorl_open_options options = {.size = sizeof(options)};
	struct wh_node_config bound;
	struct wh_error err;
	enum whorl_result result = wh_config_bind(config, &bound);

	(void)id;
	*node = NULL;
	if (process->dead && world->options.disks) /* or what is dead would be a process of that id again */
		return WHORL_SYSTEM;
	if (result == WHORL_OK) {
		process->closing = process->failed = false;
		bound.batch_bytes = world->options.batch_bytes;
		bound.log_bytes = world->options.log_bytes;
		bound.check_ns = world->options.check_ns;
		bound.engine.thread = WH_THREAD_CALLER; /* the simulator is all threads */
		bound.group.start = process->joins && !world->options.disks ? WH_START_JOIN : WH_START_AUTO;
		result = wh_node_open(&bound, process->id, &of, &options, node, &err);
		wh_node_config_free(&bound);
	} else {
		host_fail(&world->host, whorl_config_error(config));
	}
	if (result != WHORL_OK)
		return result;
	process->node = *node;
	world->at[process->id] = process;
	host_turn_soon(&process->loop);
	return WHORL_OK;
}

/* Outside of threads: events come meanwhile, and let threads go on. One at a time. */
static void close_now(void *ctx, uint64_t argument)
{
	struct topics_process *process = ctx, *current;
	struct topics_world *world = process->world;

	(void)argument;
	if (world->host.closing) {
		wh_sim_at(world->host.sim, host_now(&world->host) + 100 * WH_NS_PER_US, close_now, process, 0);
		return;
	}
	current = world->current;
	world->current = process;
	process->close_result =
		host_close_node(&world->host, process->id, process->node, process->dead, process->close_ms);
	world->current = current;
	process->node = NULL;
	process->joins = true; /* if it comes again */
	if (world->at[process->id] == process)
		world->at[process->id] = NULL;
	go_on_at(process->closer, wh_sim_now(world->host.sim));
}

static enum whorl_result dds_close(void *ctx, whorl_node *node, int timeout_ms)
{
	struct topics_world *world = ctx;
	struct topics_process *process = world->current;

	(void)node;
	process->closer = world->thread;
	process->close_ms = timeout_ms;
	process->closing = true;
	wh_sim_at(world->host.sim, wh_sim_now(world->host.sim), close_now, process, 0);
	wh_fiber_pause(world->thread->fiber);
	process->closer = NULL;
	return process->close_result;
}

/* ---- processes ----------------------------------------------------------------------------------------------------------------- */

struct topics_process *topics_process_new(struct topics_world *world, uint32_t id, bool joins, void (*fn)(void *ctx),
					  void *ctx)
{
	struct topics_process *process = calloc(1, sizeof(*process));
	struct thread *thread;

	if (process == NULL)
		return NULL;
	process->world = world;
	process->id = id;
	process->joins = joins;
	process->dice = host_dice(&world->host);
	process->number = world->host.numbers;
	process->loop = (struct host_thread){.host = &world->host,
					     .passes = &passes,
					     .dice = &process->dice,
					     .id = id,
					     .ctx = process,
					     .pace_ns = host_pace(&process->dice)};
	process->next = world->processes;
	world->processes = process;
	thread = new_thread(process);
	if (thread == NULL)
		return NULL;
	thread->fn = fn;
	thread->ctx = ctx;
	return process;
}

/* Others are in a later view, without it; it need not know. */
static bool was_removed(const struct topics_process *process)
{
	const struct topics_world *world = process->world;
	const struct wh_view *own = process->node != NULL ? wh_inspect_view(process->node) : NULL;
	bool removed = false;

	for (uint32_t id = 0; own != NULL && id < world->options.ids && !removed; id++) {
		const struct topics_process *other = world->at[id];
		const struct wh_view *view =
			other != NULL && !other->dead && other->node != NULL ? wh_inspect_view(other->node) : NULL;

		removed = view != NULL && view->group == own->group && view->number > own->number;
		for (uint32_t rank = 0; removed && rank < view->members; rank++)
			removed = view->incarnations[rank] != wh_inspect_incarnation(process->node);
	}
	return removed;
}

bool topics_kill(struct topics_process *process)
{
	struct topics_world *world = process->world;

	if (process->dead || process->closing)
		return process->dead;
	process->failed = process->failed || was_removed(process);
	process->dead = true;
	if (process->node != NULL)
		wh_sim_crash(world->host.sim, process->id);
	for (struct thread *thread = process->threads; thread != NULL; thread = thread->next)
		if (!thread->ended)
			go_on_at(thread, wh_sim_now(world->host.sim));
	return true;
}

void topics_cut_power(struct topics_world *world, uint32_t id)
{
	for (struct topics_process *process = world->processes; process != NULL; process = process->next) {
		if (process->dead || topics_has_ended(process) || (process->id != id && !world->options.one_host))
			continue;
		process->dead = true;
		for (struct thread *thread = process->threads; thread != NULL; thread = thread->next)
			if (!thread->ended && thread != process->closer)
				go_on_at(thread, wh_sim_now(world->host.sim));
	}
	wh_sim_power_loss(world->host.sim, id);
}

const whorl_node *topics_node(const struct topics_world *world, uint32_t id)
{
	const struct topics_process *process = world->at[id];

	return process != NULL && !process->dead && !process->closing ? process->node : NULL;
}

void topics_lose_disk(struct topics_world *world, uint32_t id)
{
	wh_sim_disk_blank(wh_sim_disk_of(world->host.sim, id));
}

bool topics_rot(struct topics_world *world, uint32_t id, struct wh_dice *dice)
{
	char path[32];

	snprintf(path, sizeof(path), LOG_DIR "/%u", id);
	return wh_rot_directory(wh_sim_disk_of(world->host.sim, id), path, dice);
}

bool topics_cut(struct topics_world *world, uint32_t one, uint32_t other, uint64_t ns)
{
	return host_cut(&world->host, one, other, ns);
}

void topics_stall(struct topics_process *process, uint64_t ns)
{
	process->stalled_until_ns = wh_sim_now(process->world->host.sim) + ns;
}

uint64_t topics_birth(const struct topics_process *process, const char *subgroup)
{
	const struct wh_view *view = process->node != NULL ? wh_inspect_view(process->node) : NULL;

	for (uint32_t i = 0; view != NULL && i < view->dynamic_count; i++)
		if (strcmp(wh_view_dynamic(view)[i].name, subgroup) == 0)
			return wh_birth_view(wh_view_dynamic(view)[i].birth);
	return 0;
}

bool topics_is_dead(const struct topics_process *process)
{
	return process->dead;
}

bool topics_has_failed(const struct topics_process *process)
{
	return process->failed;
}

bool topics_has_ended(const struct topics_process *process)
{
	for (const struct thread *thread = process->threads; thread != NULL; thread = thread->next)
		if (!thread->ended)
			return false;
	return true;
}

/* ---- the world ----------------------------------------------------------------------------------------------------------------- */

static const struct wh_dds_host dds = {.simulated = true,
				       .clock_ns = dds_clock,
				       .real_ns = dds_real,
				       .thread = dds_thread,
				       .process = dds_process,
				       .wait = dds_wait,
				       .pause = dds_pause,
				       .start = dds_start,
				       .join = dds_join,
				       .detach = dds_detach,
				       .open = dds_open,
				       .close = dds_close};

/* In memory: what participants read has a name, and is gone with the process. */
static bool make_file(struct topics_world *world)
{
	world->file = memfd_create("topics", MFD_CLOEXEC);
	snprintf(world->file_name, sizeof(world->file_name), "/proc/self/fd/%d", world->file);
	return world->file >= 0 &&
	       dprintf(world->file,
		       "[group]\nname = topics\ntransport = sim\nnodes = %u\nnodes_max = %u\n"
		       "failure_timeout_ms = 50\nstart_timeout_ms = 100\n%s%s",
		       (unsigned)world->options.founders, (unsigned)world->options.ids,
		       world->options.disks ? "log_dir = " LOG_DIR "\ndisk_timeout_ms = 500\ncut_max_ms = 1000\n" : "",
		       world->options.topics) > 0;
}

struct topics_world *topics_world_new(const struct topics_world_options *options)
{
	const struct host_options of = {.seed = options->seed,
					.steps_max = STEPS_MAX,
					.ids = options->ids,
					.one_host = options->one_host,
					.log_dir = options->disks ? LOG_DIR : NULL,
					.cost = options->cost,
					.verbose = options->verbose,
					.level = WH_LOG_INFO};
	struct topics_world *world = calloc(1, sizeof(*world));

	if (world == NULL)
		return NULL;
	world->options = *options;
	world->at = calloc(options->ids, sizeof(*world->at));
	world->file = -1;
	if (world->at == NULL || !make_file(world) ||
	    !host_open(&world->host, &of,
		       (struct wh_sim_options){.rung = note_rung, .working = note_working, .ctx = world})) {
		topics_world_free(world);
		return NULL;
	}
	world->dds = dds;
	world->dds.ctx = world;
	wh_dds_host_set(&world->dds);
	return world;
}

void topics_world_free(struct topics_world *world)
{
	wh_dds_host_set(NULL);
	while (world->processes != NULL) {
		struct topics_process *process = world->processes;

		while (process->threads != NULL) {
			struct thread *thread = process->threads;

			process->threads = thread->next;
			wh_fiber_free(thread->fiber);
			free(thread);
		}
		world->processes = process->next;
		free(process);
	}
	host_close(&world->host);
	if (world->file >= 0)
		close(world->file);
	free(world->at);
	free(world);
}

bool topics_step(struct topics_world *world, uint64_t until_ns)
{
	return host_step(&world->host, until_ns);
}

uint64_t topics_now(const struct topics_world *world)
{
	return wh_sim_now(world->host.sim);
}

const char *topics_file(const struct topics_world *world)
{
	return world->file_name;
}

const char *topics_broken(const struct topics_world *world)
{
	return host_broken(&world->host);
}
