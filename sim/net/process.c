/* process.c - what a node's process has of the simulated world: clock, dice, log, jobs and files. See sim.h.
 *
 * A host has one process after the other. Whatever a node holds of its process stays usable when that has ended, and does nothing then: a
 * dead node is closed like others.
 *
 * Jobs that may wait for a disk are tasks, each a fiber. A task waits by pausing, and an event lets it go on; each such event has a number, and
 * only the last counts.
 */
#include "sim/net/sim_int.h"

#include <stdlib.h>

#include "base/fiber.h"

#define TASK_STACK_BYTES                                                                                               \
	(4 * WH_FIBER_STACK_BYTES) /* what the state of an application comes to is read and written in jobs */
#define SOON_NS (20 * WH_NS_PER_US)
#define LOOK_MIN_NS WH_NS_PER_US /* how often the end of a task looks for it */
#define LOOK_MAX_NS WH_NS_PER_MS

struct sim_process {
	struct sim_process *former;
	struct sim_host *host;
	struct wh_env env;
	struct wh_sim_disk_user *user; /* NULL: there is no disk */
	struct sim_task *tasks;
	bool ended;
};

struct sim_task {
	struct sim_task *next; /* of the process; it is kept until the world ends */
	struct sim_process *process;
	struct wh_fiber *fiber;       /* NULL: its stack is not needed any more */
	bool (*work)(void *argument); /* of a lasting job */
	void (*run)(void *argument);  /* of another; NULL: that is over, and the task can have the next */
	void *argument;
	uint64_t turn; /* number of the event that lets it go on */
	bool in_call;  /* that has begun and not returned */
	bool running;  /* on some stack, now */
	bool wanted, more, scheduled, ending, orphaned;
	uint64_t again_ns; /* of a lasting job: the next call comes so long after this one, if it is not woken; 0: only then */
};

/* ---- tasks ------------------------------------------------------------------------------------------------------------------------ */

static void take_turn(void *ctx, uint64_t turn);

static void go_on_at(struct sim_task *task, uint64_t when_ns)
{
	wh_sim_at(task->process->host->sim, when_ns, take_turn, task, ++task->turn);
}

static uint64_t draw_wake_ns(struct sim_host *host)
{
	const struct wh_sim_options *options = &host->sim->options;

	if (options->wake_ns > 0)
		return options->wake_ns;
	return wh_dice_below(&host->task_dice, wh_dice_one_in(&host->task_dice, 16) ? WH_NS_PER_MS : SOON_NS);
}

/* A lasting job has its next call. */
static void call_soon(struct sim_task *task)
{
	task->scheduled = true;
	go_on_at(task, task->process->host->sim->now_ns + draw_wake_ns(task->process->host));
}

static void make_call(void *ctx)
{
	struct sim_task *task = ctx;

	if (task->work != NULL)
		task->more = task->work(task->argument);
	else
		task->run(task->argument);
}

static void has_returned(struct sim_task *task)
{
	task->in_call = false;
	if (task->work == NULL) {
		task->run = NULL;
	} else if (task->ending || task->process->ended) {
		wh_fiber_free(task->fiber);
		task->fiber = NULL;
	} else if (task->more || task->wanted) {
		call_soon(task);
	} else if (task->again_ns > 0) {
		go_on_at(task, task->process->host->sim->now_ns + task->again_ns);
	}
}

/* Until it waits, or the call returns. From any stack but its own. */
static void go_on(struct sim_task *task)
{
	struct sim_host *host = task->process->host;
	const struct wh_sim_options *options = &host->sim->options;
	struct sim_task *before = host->sim->task;

	host->sim->task = task;
	task->running = true;
	if (options->working != NULL)
		options->working(options->ctx, host->id, true);
	wh_fiber_resume(task->fiber);
	if (options->working != NULL)
		options->working(options->ctx, host->id, false);
	task->running = false;
	host->sim->task = before;
	if (wh_fiber_has_ended(task->fiber))
		has_returned(task);
}

static void begin_call(struct sim_task *task)
{
	task->scheduled = task->wanted = task->more = false;
	task->again_ns = 0;
	task->in_call = true;
	if (wh_fiber_has_ended(task->fiber))
		wh_fiber_again(task->fiber, make_call, task);
	go_on(task);
}

static void take_turn(void *ctx, uint64_t turn)
{
	struct sim_task *task = ctx;
	bool stands = task->work != NULL && task->process->ended;

	if (turn != task->turn || stands)
		return;
	if (task->in_call)
		go_on(task);
	else if (!task->ending)
		begin_call(task);
}

/* In the task: others go on for so long, or until what ends it lets it go on. */
static void wait_in_task(struct sim_task *task, uint64_t ns)
{
	if (ns == WH_SIM_FOR_EVER)
		task->turn++;
	else
		go_on_at(task, task->process->host->sim->now_ns + ns);
	wh_fiber_pause(task->fiber);
}

static struct sim_task *running_task(const struct sim_process *process)
{
	struct sim_task *task = process->host->sim->task;

	return task != NULL && task->process == process ? task : NULL;
}

static struct sim_task *add_task(struct sim_process *process)
{
	struct sim_task *task = calloc(1, sizeof(*task));

	if (task == NULL)
		return NULL;
	task->fiber = wh_fiber_new(make_call, task, TASK_STACK_BYTES);
	if (task->fiber == NULL) {
		free(task);
		return NULL;
	}
	task->process = process;
	task->next = process->tasks;
	process->tasks = task;
	return task;
}

/* ---- jobs ------------------------------------------------------------------------------------------------------------------------- */

struct job {
	struct sim_host *host;
	void (*run)(void *argument);
	void *argument;
};

static void run_job(void *ctx, uint64_t argument)
{
	struct job job = *(struct job *)ctx;
	const struct wh_sim_options *options = &job.host->sim->options;

	(void)argument;
	free(ctx);
	if (options->working != NULL)
		options->working(options->ctx, job.host->id, true);
	job.run(job.argument);
	if (options->working != NULL)
		options->working(options->ctx, job.host->id, false);
}

bool wh_sim_drop_job(const struct sim_event *event)
{
	if (event->fn == run_job)
		free(event->ctx);
	return event->fn == run_job || event->fn == take_turn;
}

static struct sim_task *task_for_job(struct sim_process *process)
{
	for (struct sim_task *task = process->tasks; task != NULL; task = task->next)
		if (task->work == NULL && task->run == NULL)
			return task;
	return add_task(process);
}

static bool add_job(struct sim_process *process, void (*run)(void *argument), void *argument, uint64_t when_ns)
{
	struct sim_host *host = process->host;
	struct sim_task *task;
	struct job *job;

	if (process->user == NULL) { /* it waits for nothing */
		job = malloc(sizeof(*job));
		if (job == NULL)
			return false;
		*job = (struct job){host, run, argument};
		wh_sim_at(host->sim, when_ns, run_job, job, 0);
		return true;
	}
	task = task_for_job(process);
	if (task == NULL)
		return false;
	task->run = run;
	task->argument = argument;
	go_on_at(task, when_ns);
	return true;
}

/* As if another thread had found the time for it. */
static void submit_job(void *ctx, void (*run)(void *argument), void *argument)
{
	struct sim_process *process = ctx;
	struct sim_host *host = process->host;
	uint64_t when_ns = host->sim->now_ns + wh_dice_below(&host->dice, WH_NS_PER_MS);

	if (!add_job(process, run, argument, when_ns))
		wh_sim_condemn(host->sim, host->id, "no memory for a job");
}

/* ---- the environment ---------------------------------------------------------------------------------------------------------------- */

static uint64_t now_ns(void *ctx)
{
	const struct sim_process *process = ctx;

	return process->host->sim->now_ns + process->host->clock_offset_ns;
}

static uint64_t random_u64(void *ctx)
{
	struct sim_process *process = ctx;

	return wh_dice_roll(&process->host->dice);
}

static void log_line(void *ctx, enum wh_log_level level, const char *line)
{
	const struct sim_process *process = ctx;
	const struct wh_sim_options *options = &process->host->sim->options;

	if (options->log != NULL)
		options->log(options->ctx, process->host->id, level, line);
}

static void condemn_host(void *ctx, const char *what)
{
	const struct sim_process *process = ctx;

	wh_sim_condemn(process->host->sim, process->host->id, "%s", what);
}

static void let_time_pass(void *ctx, uint64_t ns)
{
	struct sim_process *process = ctx;
	struct wh_sim *sim = process->host->sim;
	const struct wh_sim_options *options = &sim->options;
	struct sim_task *task = running_task(process);
	uint64_t until_ns = sim->now_ns + ns;

	if (task != NULL) {
		if (!process->ended)
			wait_in_task(task, ns);
		return;
	}
	if (options->napping != NULL && options->napping(options->ctx, process->host->id, ns))
		return;
	while (wh_sim_step(sim, until_ns))
		continue;
}

/* ---- lasting jobs --------------------------------------------------------------------------------------------------------------------- */

static struct wh_background *background_of(struct sim_task *task)
{
	return (struct wh_background *)task;
}

static struct sim_task *task_of(struct wh_background *background)
{
	return (struct sim_task *)background;
}

static enum whorl_result begin_background(void *ctx, struct wh_background **out, const char *name,
					  bool (*work)(void *argument), void *argument, struct wh_error *err)
{
	struct sim_process *process = ctx;
	struct sim_task *task = add_task(process);

	*out = NULL;
	if (task == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for the thread \"%s\"", name);
	task->work = work;
	task->argument = argument;
	call_soon(task);
	*out = background_of(task);
	return WHORL_OK;
}

static void wake_background(void *ctx, struct wh_background *background)
{
	struct sim_task *task = task_of(background);

	(void)ctx;
	task->wanted = true;
	if (!task->in_call && !task->scheduled && !task->ending && !task->process->ended)
		call_soon(task);
}

static void call_again(void *ctx, struct wh_background *background, uint64_t ns)
{
	(void)ctx;
	task_of(background)->again_ns = ns > 0 ? ns : 1;
}

/* Time passes until the call has returned, or until then. */
static void await_return(struct sim_task *task, uint64_t until_ns)
{
	struct sim_process *process = task->process;
	const struct wh_sim *sim = process->host->sim;

	for (uint64_t look_ns = LOOK_MIN_NS; task->in_call && !process->ended && sim->now_ns < until_ns;
	     look_ns = 2 * look_ns < LOOK_MAX_NS ? 2 * look_ns : LOOK_MAX_NS)
		let_time_pass(process, look_ns < until_ns - sim->now_ns ? look_ns : until_ns - sim->now_ns);
}

/* What a process that has ended has under way: nothing of it reaches the disk, and it does not wait. */
static void unwind(struct sim_task *task)
{
	while (task->in_call && !task->running)
		go_on(task);
}

static bool end_background(void *ctx, struct wh_background *background, uint64_t timeout_ns)
{
	struct sim_task *task = task_of(background);
	uint64_t now = task->process->host->sim->now_ns;

	(void)ctx;
	task->ending = true;
	await_return(task, timeout_ns < UINT64_MAX - now ? now + timeout_ns : UINT64_MAX);
	if (task->process->ended)
		unwind(task);
	if (task->in_call) {
		task->orphaned = true;
		return false;
	}
	wh_fiber_free(task->fiber);
	task->fiber = NULL;
	task->scheduled = false;
	return true;
}

/* ---- files ------------------------------------------------------------------------------------------------------------------------- */

/* A lasting job stands still if its process has ended in this. */
static void stand_if_ended(struct sim_process *process)
{
	struct sim_task *task = running_task(process);

	if (process->ended && task != NULL && task->work != NULL)
		wait_in_task(task, WH_SIM_FOR_EVER);
}

static void operates(void *ctx, enum wh_sim_disk_op op, uint64_t number)
{
	struct sim_process *process = ctx;
	struct wh_sim *sim = process->host->sim;

	wh_sim_note(sim, (uint64_t)op << 56 | number);
	if (sim->options.operating != NULL)
		sim->options.operating(sim->options.ctx, process->host->id, op, number);
	stand_if_ended(process);
}

static void pass(void *ctx, uint64_t ns)
{
	struct sim_process *process = ctx;
	struct sim_task *task = running_task(process);

	if (task != NULL)
		wait_in_task(task, ns);
}

/* ---- processes -------------------------------------------------------------------------------------------------------------------------- */

static void init_env(struct sim_process *process)
{
	process->env = (struct wh_env){
		.ctx = process,
		.now_ns = now_ns,
		.random_u64 = random_u64,
		.log = log_line,
		.fatal = condemn_host,
		.submit = submit_job,
		.background = begin_background,
		.background_wake = wake_background,
		.background_again = call_again,
		.background_end = end_background,
		.disk = process->user != NULL ? wh_sim_disk_table(process->user) : NULL,
		.nap = let_time_pass,
	};
}

bool wh_sim_process_begin(struct sim_host *host)
{
	struct sim_process *process = calloc(1, sizeof(*process));
	const struct wh_sim_disk_hooks hooks = {operates, pass, process};

	if (process == NULL)
		return false;
	process->host = host;
	if (host->disk != NULL) {
		process->user = wh_sim_disk_begin(host->disk, ++host->sim->process_count, &hooks);
		if (process->user == NULL) {
			free(process);
			return false;
		}
	}
	init_env(process);
	process->former = host->process;
	host->process = process;
	return true;
}

void wh_sim_process_end(struct sim_host *host)
{
	struct sim_process *process = host->process;

	if (process->ended)
		return;
	process->ended = true;
	if (process->user != NULL)
		wh_sim_disk_end(process->user);
	for (struct sim_task *task = process->tasks; task != NULL; task = task->next)
		if (task->work == NULL && task->in_call && !task->running)
			go_on_at(task, host->sim->now_ns);
}

const struct wh_env *wh_sim_env(struct wh_sim *sim, uint32_t node)
{
	struct sim_host *host = &sim->hosts[node];

	if (host->process->ended && !wh_sim_process_begin(host))
		wh_sim_condemn(sim, node, "no memory for a process");
	return &host->process->env;
}

bool wh_sim_jobs_run(const struct wh_sim *sim)
{
	for (uint32_t id = 0; id < sim->options.nodes; id++) {
		const struct sim_process *process = sim->hosts[id].process;

		for (const struct sim_task *task = process->tasks; task != NULL && !process->ended; task = task->next)
			if (task->in_call || task->scheduled || task->run != NULL)
				return true;
	}
	return false;
}

void wh_sim_hold(struct wh_sim *sim, uint32_t node, bool holds)
{
	sim->hosts[node].held = holds;
}

struct wh_sim_disk *wh_sim_disk_of(const struct wh_sim *sim, uint32_t node)
{
	return sim->hosts[node].disk;
}

/* What nothing waits for any more frees what it has. Jobs that did not begin do so now. */
static void finish_tasks(const struct sim_process *process)
{
	for (struct sim_task *task = process->tasks; task != NULL; task = task->next) {
		if (task->work == NULL && task->run != NULL && !task->in_call)
			begin_call(task);
		if (task->orphaned || task->work == NULL)
			unwind(task);
	}
}

static void free_task(struct sim_task *task)
{
	wh_fiber_free(task->fiber);
	free(task);
}

void wh_sim_processes_free(struct sim_host *host)
{
	if (host->process != NULL)
		wh_sim_process_end(host);
	while (host->process != NULL) {
		struct sim_process *process = host->process;

		finish_tasks(process);
		while (process->tasks != NULL) {
			struct sim_task *task = process->tasks;

			process->tasks = task->next;
			free_task(task);
		}
		host->process = process->former;
		free(process);
	}
}
