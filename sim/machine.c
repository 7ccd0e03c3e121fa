/* machine.c - see machine.h. */
#include "sim/machine.h"

#include <stdlib.h>

#include "base/fiber.h"
#include "group/node.h"
#include "sim/net/sim.h"
#include "transport/dice.h"

#define MB 1000000
#define GAP_BYTES 1024 /* as on verbs: a write more */
#define WAKE_NS 5000   /* from a wake of a thread until it goes on */

struct processor {
	struct processor *next;
	struct wh_machine *machine;
	struct wh_fiber *fiber;
	uint32_t id; /* of its node */
	wh_machine_fn *fn;
	void *ctx;
	bool awaits_pass, sleeps;
	struct processor *next_waiter; /* for the same lock */
};

struct lock {                     /* of a node, with [cpu] lock: the first that comes has it first */
	struct processor *holder; /* NULL: it is free */
	struct processor *waiters, **tail;
};

struct machine_node {
	whorl_node *node;
	struct wh_looks looks; /* until now */
	uint64_t worked_ns;
	uint64_t delivered; /* in the pass that is under way */
	bool deferred;      /* [const] engine.deferred_push */
	bool ends_trigger;  /* what is being posted is the last of it: a counter */
	bool let_go;        /* of the lock, in the pass that is under way */
	struct lock lock;
};

struct wh_machine {
	struct wh_machine_config config;
	struct wh_sim *sim;
	struct wh_env clock;
	struct wh_dice dice;
	struct processor *processors;
	struct processor *current; /* NULL: no processor runs now */
	bool stopping;
	struct machine_node nodes[];
};

/* ---- time ------------------------------------------------------------------------------------------------------------- */

static uint64_t clock_now(void *ctx)
{
	const struct wh_machine *machine = ctx;

	return wh_sim_now(machine->sim);
}

const struct wh_env *wh_machine_clock(const struct wh_machine *machine)
{
	return &machine->clock;
}

static void go_on(void *ctx, uint64_t argument)
{
	struct processor *processor = ctx;
	struct wh_machine *machine = processor->machine;

	(void)argument;
	machine->current = processor;
	wh_fiber_resume(processor->fiber);
	machine->current = NULL;
}

static void pause_until(struct wh_machine *machine, uint64_t when_ns)
{
	struct processor *processor = machine->current;

	wh_sim_at(machine->sim, when_ns, go_on, processor, 0);
	wh_fiber_pause(processor->fiber);
}

static uint64_t with_jitter(struct wh_machine *machine, uint64_t ns)
{
	uint64_t spread = ns * (uint64_t)machine->config.cpu.jitter / 100;

	return spread > 0 ? ns - spread + wh_dice_below(&machine->dice, 2 * spread + 1) : ns;
}

/* This processor is busy for so long. `useful`: with what has to be done. */
static void spend_time(struct wh_machine *machine, uint64_t ns, bool useful)
{
	if (machine->current == NULL || ns == 0)
		return;
	ns = with_jitter(machine, ns);
	if (useful)
		machine->nodes[machine->current->id].worked_ns += ns;
	pause_until(machine, wh_sim_now(machine->sim) + ns);
}

void wh_machine_sleep_until(struct wh_machine *machine, uint64_t when_ns)
{
	struct processor *processor = machine->current;

	if (processor == NULL)
		return;
	processor->sleeps = true;
	pause_until(machine, when_ns);
	processor->sleeps = false;
}

/* ---- the lock of a node ---------------------------------------------------------------------------------------------------- */

static void take_lock(struct wh_machine *machine)
{
	struct processor *processor = machine->current;
	struct lock *lock;

	if (processor == NULL || !machine->config.cpu.lock)
		return;
	lock = &machine->nodes[processor->id].lock;
	if (lock->holder == NULL) {
		lock->holder = processor;
		return;
	}
	processor->next_waiter = NULL;
	*lock->tail = processor;
	lock->tail = &processor->next_waiter;
	wh_fiber_pause(processor->fiber); /* until it is handed over */
}

/* The first that waits has it from now on. Returns whether this processor had it. */
static bool release_lock(struct wh_machine *machine)
{
	struct processor *processor = machine->current, *heir;
	struct lock *lock;

	if (processor == NULL || machine->nodes[processor->id].lock.holder != processor)
		return false;
	lock = &machine->nodes[processor->id].lock;
	lock->holder = heir = lock->waiters;
	if (heir == NULL)
		return true;
	lock->waiters = heir->next_waiter;
	if (lock->waiters == NULL)
		lock->tail = &lock->waiters;
	wh_sim_at(machine->sim, wh_sim_now(machine->sim), go_on, heir, 0);
	return true;
}

static bool holds_lock(const struct wh_machine *machine)
{
	return machine->current != NULL && machine->nodes[machine->current->id].lock.holder == machine->current;
}

/* ---- what takes time ----------------------------------------------------------------------------------------------------- */

/* Processors that wait for the loop of that node look now. */
static void wake_processors(struct wh_machine *machine, uint32_t id)
{
	for (struct processor *processor = machine->processors; processor != NULL; processor = processor->next) {
		if (processor->id != id || !processor->awaits_pass)
			continue;
		processor->awaits_pass = false;
		wh_sim_at(machine->sim, wh_sim_now(machine->sim), go_on, processor, 0);
	}
}

void wh_machine_await_pass(struct wh_machine *machine)
{
	if (machine->current == NULL)
		return;
	machine->current->awaits_pass = true;
	wh_fiber_pause(machine->current->fiber);
}

/* Of what a trigger posts a counter is the last: that of what was sent, received or delivered. */
static void note_posting(void *ctx, uint32_t id, uint64_t key, const struct wh_push *push)
{
	struct wh_machine *machine = ctx;

	(void)key;
	machine->nodes[id].ends_trigger = push->kind == WH_PUSH_WORD;
}

/* The trigger is over. */
static bool let_go(struct wh_machine *machine, struct machine_node *node)
{
	if (!node->ends_trigger || !release_lock(machine))
		return false;
	node->let_go = true;
	return true;
}

/* post() returns when the node is not busy with it any more. A trigger that posts in its middle keeps the lock meanwhile, and a thread that
 * waits has it when the trigger is over; one that posts at its end has let it go before. */
static void note_posted(void *ctx, uint32_t id)
{
	struct wh_machine *machine = ctx;
	struct machine_node *node = &machine->nodes[id];
	uint64_t now_ns = wh_sim_now(machine->sim), until_ns = wh_sim_busy_until(machine->sim, id);
	bool gone;

	if (machine->current == NULL || machine->current->id != id || until_ns <= now_ns)
		return;
	node->worked_ns += until_ns - now_ns;
	gone = node->deferred && let_go(machine, node);
	wake_processors(machine, id);
	pause_until(machine, until_ns);
	if (gone || let_go(machine, node))
		take_lock(machine);
}

/* Read and written: it goes through the memory twice. */
static uint64_t copying_ns(struct wh_machine *machine, size_t bytes)
{
	uint64_t now_ns = wh_sim_now(machine->sim), moved_ns = now_ns;
	uint64_t ns = (uint64_t)bytes * WH_NS_PER_S / ((uint64_t)machine->config.cpu.copy_mb_per_s * MB);

	if (machine->current != NULL && bytes > 0)
		moved_ns = wh_sim_memory_move(machine->sim, machine->current->id, 2 * (uint64_t)bytes);
	return moved_ns > now_ns + ns ? moved_ns - now_ns : ns;
}

void wh_machine_send(struct wh_machine *machine, size_t copied)
{
	uint64_t send_ns = (uint64_t)machine->config.cpu.send_ns, copy_ns = copying_ns(machine, copied);

	if (!machine->config.cpu.lock || holds_lock(machine)) { /* one processor does both */
		spend_time(machine, send_ns + copy_ns, true);
		return;
	}
	spend_time(machine, copy_ns, true);
	take_lock(machine);
	spend_time(machine, send_ns, true);
	release_lock(machine);
}

void wh_machine_upcall(struct wh_machine *machine, size_t messages, size_t copied)
{
	const struct wh_cpu_options *cpu = &machine->config.cpu;
	uint64_t each_ns =
		(uint64_t)(cpu->deliver_ns + cpu->miss_ns); /* a slot begins with a line that another wrote */

	spend_time(machine, (uint64_t)cpu->upcall_ns + messages * each_ns + copying_ns(machine, copied), true);
	if (machine->current != NULL)
		machine->nodes[machine->current->id].delivered += messages;
}

/* ---- processors ---------------------------------------------------------------------------------------------------------- */

static void run_processor(void *ctx)
{
	struct processor *processor = ctx;

	processor->fn(processor->ctx);
}

static struct processor *add_processor(struct wh_machine *machine, uint32_t id, wh_machine_fn *fn, void *ctx)
{
	struct processor *processor = calloc(1, sizeof(*processor));

	if (processor == NULL)
		return NULL;
	*processor =
		(struct processor){.next = machine->processors, .machine = machine, .id = id, .fn = fn, .ctx = ctx};
	processor->fiber = wh_fiber_new(run_processor, processor, WH_FIBER_STACK_BYTES);
	if (processor->fiber == NULL) {
		free(processor);
		return NULL;
	}
	machine->processors = processor;
	wh_sim_at(machine->sim, wh_sim_now(machine->sim) + wh_dice_below(&machine->dice, WH_NS_PER_US), go_on,
		  processor, 0);
	return processor;
}

enum whorl_result wh_machine_thread(struct wh_machine *machine, uint32_t id, wh_machine_fn *fn, void *ctx)
{
	return add_processor(machine, id, fn, ctx) != NULL ? WHORL_OK : WHORL_MEMORY;
}

struct loop {
	struct wh_machine *machine;
	uint32_t id;
	wh_machine_fn *before;
	void *ctx;
};

/* Of the pass that is over: the predicates of each subgroup that it stepped look once at the row of each member, and where they found something
 * triggers ran; then there are the words that say in which subgroups something moves, and lines that cards have written. */
static uint64_t look_ns(const struct wh_machine *machine, uint32_t id, struct machine_node *node)
{
	const struct wh_cpu_options *cpu = &machine->config.cpu;
	struct wh_looks before = node->looks;
	uint64_t subgroup_ns = (uint64_t)cpu->subgroup_ns + machine->config.nodes * (uint64_t)cpu->member_ns;

	node->looks = wh_node_looks(node->node);
	return (uint64_t)cpu->pass_ns + (node->looks.steps - before.steps) * subgroup_ns +
	       (node->looks.found - before.found) * (uint64_t)cpu->trigger_ns +
	       (node->looks.words - before.words) * (uint64_t)cpu->member_ns +
	       wh_sim_lines_read(machine->sim, id) * (uint64_t)cpu->miss_ns;
}

/* Time for what was looked at and found is taken when the pass is over; for posting and upcalls, where they are. */
static void make_passes(void *ctx)
{
	struct loop loop = *(struct loop *)ctx;
	struct wh_machine *machine = loop.machine;
	struct machine_node *node = &machine->nodes[loop.id];

	free(ctx);
	while (!machine->stopping) {
		size_t work, others;

		if (loop.before != NULL)
			loop.before(loop.ctx);
		if (!holds_lock(machine))
			take_lock(machine);
		node->let_go = false;
		node->delivered = 0;
		work = whorl_step(node->node);
		others = work > node->delivered ? work - node->delivered : 0;
		spend_time(machine, look_ns(machine, loop.id, node) + others * (uint64_t)machine->config.cpu.message_ns,
			   work > 0);
		if (!node->let_go || machine->stopping) /* what a pass ends with is of the trigger that comes next */
			release_lock(machine);
		wake_processors(machine, loop.id);
	}
}

enum whorl_result wh_machine_loop(struct wh_machine *machine, uint32_t id, wh_machine_fn *before, void *ctx)
{
	struct loop *loop = malloc(sizeof(*loop));

	if (loop == NULL)
		return WHORL_MEMORY;
	*loop = (struct loop){machine, id, before, ctx};
	if (add_processor(machine, id, make_passes, loop) != NULL)
		return WHORL_OK;
	free(loop);
	return WHORL_MEMORY;
}

static bool all_rest(const struct wh_machine *machine)
{
	for (const struct processor *processor = machine->processors; processor != NULL; processor = processor->next)
		if (!wh_fiber_has_ended(processor->fiber) && !processor->awaits_pass && !processor->sleeps)
			return false;
	return true;
}

void wh_machine_stop(struct wh_machine *machine)
{
	machine->stopping = true;
	while (!all_rest(machine) && wh_sim_step(machine->sim, UINT64_MAX))
		;
}

bool wh_machine_step(struct wh_machine *machine, uint64_t until_ns)
{
	return wh_sim_step(machine->sim, until_ns);
}

const char *wh_machine_verdict(const struct wh_machine *machine)
{
	return wh_sim_verdict(machine->sim);
}

uint64_t wh_machine_worked_ns(const struct wh_machine *machine, uint32_t id)
{
	return machine->nodes[id].worked_ns;
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------------ */

enum whorl_result wh_machine_open(struct wh_machine *machine, const struct wh_node_config *config, uint32_t id,
				  const struct whorl_open_options *options, whorl_node **node, struct wh_error *err)
{
	const struct wh_world world = {
		.env = wh_sim_env(machine->sim, id), .create = wh_sim_create, .create_ctx = machine->sim};
	struct wh_node_config own = *config; /* is copied by the node */
	enum whorl_result result;

	own.engine.thread = WH_THREAD_CALLER;
	result = wh_node_open(&own, id, &world, options, node, err);
	if (result != WHORL_OK)
		return result;
	machine->nodes[id].node = *node;
	machine->nodes[id].deferred = config->engine.deferred_push;
	return WHORL_OK;
}

/* ---- the beginning and the end ---------------------------------------------------------------------------------------------- */

static void log_line(void *ctx, uint32_t node, enum wh_log_level level, const char *line)
{
	const struct wh_machine *machine = ctx;

	if (machine->config.log != NULL)
		machine->config.log(machine->config.log_ctx, node, level, line);
}

static struct wh_sim_options sim_options(struct wh_machine *machine)
{
	const struct wh_nic_options *nic = &machine->config.nic;

	return (struct wh_sim_options){
		.nodes = machine->config.nodes,
		.seed = machine->config.seed,
		.latency_min_ns = (uint64_t)nic->latency_ns,
		.latency_max_ns = (uint64_t)nic->latency_ns,
		.node_cost = {.post_ns = (uint64_t)nic->post_ns, .push_ns = (uint64_t)nic->write_ns},
		.card = {.bytes_per_s = (uint64_t)nic->link_mb_per_s * MB,
			 .latency_ns = (uint64_t)nic->latency_ns,
			 .latency_4k_ns = (uint64_t)nic->latency_4k_ns,
			 .inline_bytes = (uint64_t)nic->inline_bytes,
			 .write_ns = (uint64_t)nic->card_ns,
			 .turn_bytes = (uint64_t)nic->turn_bytes,
			 .memory_bytes_per_s = (uint64_t)nic->memory_mb_per_s * MB,
			 .queue_pairs = (uint64_t)nic->queue_pairs,
			 .queue_pair_ns = (uint64_t)nic->queue_pair_ns,
			 .port_bytes = (uint64_t)nic->port_bytes},
		.pieces = 1,
		.gap_bytes = GAP_BYTES,
		.disks = machine->config.disks,
		.disk = {.cost = machine->config.disk},
		.wake_ns = WAKE_NS,
		.log = log_line,
		.posting = note_posting,
		.posted = note_posted,
		.ctx = machine,
	};
}

static bool mount_disks(struct wh_machine *machine)
{
	for (uint32_t i = 0; machine->config.disks && i < machine->config.nodes; i++)
		if (!wh_sim_disk_mount(wh_sim_disk_of(machine->sim, i), "disk"))
			return false;
	return true;
}

enum whorl_result wh_machine_new(struct wh_machine **out, const struct wh_machine_config *config, struct wh_error *err)
{
	struct wh_machine *machine = calloc(1, sizeof(*machine) + config->nodes * sizeof(machine->nodes[0]));
	struct wh_sim_options options;
	enum whorl_result result;

	*out = NULL;
	if (machine == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a machine");
	machine->config = *config;
	machine->dice = wh_dice_split(config->seed, 1000);
	machine->clock = (struct wh_env){.ctx = machine, .now_ns = clock_now};
	for (uint32_t id = 0; id < config->nodes; id++)
		machine->nodes[id].lock.tail = &machine->nodes[id].lock.waiters;
	options = sim_options(machine);
	result = wh_sim_new(&machine->sim, &options, err);
	if (result == WHORL_OK && !mount_disks(machine))
		result = wh_error_set(err, WHORL_MEMORY, "no memory for disks");
	if (result != WHORL_OK) {
		wh_sim_free(machine->sim);
		free(machine);
		return result;
	}
	*out = machine;
	return WHORL_OK;
}

void wh_machine_free(struct wh_machine *machine)
{
	if (machine == NULL)
		return;
	while (machine->processors != NULL) {
		struct processor *processor = machine->processors;

		machine->processors = processor->next;
		wh_fiber_free(processor->fiber);
		free(processor);
	}
	wh_sim_free(machine->sim);
	free(machine);
}
