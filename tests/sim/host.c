/* host.c - see host.h. */
#include "tests/sim/host.h"

#include <stdio.h>

#include "sim/inspect.h"

/* ---- the world ------------------------------------------------------------------------------------------------------------------- */

static void log_line(void *ctx, uint32_t node, enum wh_log_level level, const char *line)
{
	const struct host *host = ctx; /* the first field of the world */

	if (host->options.verbose && level <= host->options.level)
		printf("%12.6f node %u: %s\n", (double)wh_sim_now(host->sim) / 1e9, (unsigned)node, line);
}

bool host_open(struct host *host, const struct host_options *options, struct wh_sim_options net)
{
	static const uint64_t latencies_ns[] = {1000, 20000, 200000};
	struct wh_error err;

	*host = (struct host){.options = *options, .dice = wh_dice_split(options->seed, 999)};
	net.nodes = options->ids;
	net.seed = options->seed;
	net.one_host = net.proofs = options->one_host;
	net.disks = options->log_dir != NULL;
	net.disk.cost = options->cost;
	net.log = log_line;
	net.latency_min_ns = 100;
	net.latency_max_ns = latencies_ns[wh_dice_below(&host->dice, 3)];
	net.pieces = (uint32_t)wh_dice_between(&host->dice, 1, WH_SIM_PIECES_MAX / 2);
	net.ring_max_ns = wh_dice_one_in(&host->dice, 2) ? 0 : WH_NS_PER_MS;
	net.notice_max_ns = options->one_host || wh_dice_one_in(&host->dice, 2) ? 0 : 50 * WH_NS_PER_MS;
	net.proof_max_ns = 150 * WH_NS_PER_MS;
	if (wh_sim_new(&host->sim, &net, &err) != WHORL_OK)
		return false;
	for (uint32_t id = 0; id < options->ids && options->log_dir != NULL; id++)
		if (!wh_sim_disk_mount(wh_sim_disk_of(host->sim, id), options->log_dir))
			return false;
	return true;
}

void host_close(struct host *host)
{
	wh_sim_free(host->sim);
}

void host_fail(struct host *host, const char *what)
{
	if (host->broken[0] == '\0')
		snprintf(host->broken, sizeof(host->broken), "%.255s", what);
}

const char *host_broken(const struct host *host)
{
	return host->broken[0] != '\0' ? host->broken : wh_sim_verdict(host->sim);
}

bool host_step(struct host *host, uint64_t until_ns)
{
	if (host_broken(host) != NULL || !wh_sim_step(host->sim, until_ns))
		return false;
	if (++host->steps > host->options.steps_max)
		host_fail(host, "there is no end of it");
	return true;
}

uint64_t host_now(const struct host *host)
{
	return wh_sim_now(host->sim);
}

static void heal(void *ctx, uint64_t pair)
{
	const struct host *host = ctx;

	wh_sim_heal(host->sim, (uint32_t)(pair >> 32), (uint32_t)pair);
	wh_sim_heal(host->sim, (uint32_t)pair, (uint32_t)(pair >> 32));
}

bool host_cut(struct host *host, uint32_t one, uint32_t other, uint64_t ns)
{
	if (host->options.one_host || one == other)
		return false;
	wh_sim_cut_off(host->sim, one, other);
	wh_sim_cut_off(host->sim, other, one);
	wh_sim_at(host->sim, host_now(host) + ns, heal, host, (uint64_t)one << 32 | other);
	return true;
}

struct wh_dice host_dice(struct host *host)
{
	return wh_dice_split(host->options.seed, 1000 + ++host->numbers);
}

/* ---- nodes ----------------------------------------------------------------------------------------------------------------------- */

struct wh_world host_world(const struct host *host, uint32_t id)
{
	return (struct wh_world){.env = wh_sim_env(host->sim, id),
				 .create = wh_sim_create,
				 .create_ctx = host->sim,
				 .one_host = host->options.one_host};
}

enum whorl_result host_open_node(struct host *host, uint32_t id, const char *text, bool joins, uint32_t batch_bytes,
				 whorl_node **out, struct wh_error *err)
{
	const struct wh_world world = host_world(host, id);
	const struct whorl_open_options options = {.size = sizeof(options)};
	whorl_config *config = whorl_config_new();
	struct wh_node_config bound;
	enum whorl_result result = WHORL_MEMORY;

	*err = (struct wh_error){.code = WHORL_OK};
	if (config != NULL)
		result = whorl_config_load_text(config, "host", text);
	if (result == WHORL_OK)
		result = wh_config_bind(config, &bound);
	if (result != WHORL_OK) {
		result = wh_error_set(err, result, "%s", config == NULL ? "no memory" : whorl_config_error(config));
		whorl_config_free(config);
		return result;
	}
	whorl_config_free(config);
	bound.batch_bytes = batch_bytes;
	bound.group.start = joins ? WH_START_JOIN : WH_START_AUTO;
	result = wh_node_open(&bound, id, &world, &options, out, err);
	wh_node_config_free(&bound);
	return result;
}

enum whorl_result host_close_node(struct host *host, uint32_t id, whorl_node *node, bool dead, int timeout_ms)
{
	enum whorl_result result;

	host->closing = true;
	while (dead && wh_inspect_jobs(node) > 0 && wh_sim_step(host->sim, UINT64_MAX))
		continue;
	result = whorl_close(node, dead ? 0 : timeout_ms);
	if (host->options.log_dir != NULL && !dead)
		wh_sim_exit(host->sim, id);
	host->closing = false;
	return result;
}

/* ---- passes ---------------------------------------------------------------------------------------------------------------------- */

uint64_t host_pace(struct wh_dice *dice)
{
	static const uint64_t paces_ns[] = {1000, 10000, 100000};

	return paces_ns[wh_dice_below(dice, 3)];
}

static void take_turn(void *ctx, uint64_t turn);

static void turn_at(struct host_thread *thread, uint64_t when_ns)
{
	wh_sim_at(thread->host->sim, when_ns, take_turn, thread, ++thread->turn);
}

void host_turn_soon(struct host_thread *thread)
{
	uint64_t pause_ns = wh_dice_below(thread->dice, 2 * thread->pace_ns);

	if (wh_dice_one_in(thread->dice, 32))
		pause_ns *= 20;
	turn_at(thread, host_now(thread->host) + pause_ns);
}

static void sleep_now(struct host_thread *thread)
{
	struct wh_sim *sim = thread->host->sim;
	uint64_t due_ns = thread->passes->next_ns(thread->ctx), its_now_ns = wh_env_now(wh_sim_env(sim, thread->id));

	thread->asleep = true;
	thread->turn++;
	if (wh_sim_lane_rung(sim, thread->id, thread->lane)) {
		thread->asleep = false;
		host_turn_soon(thread);
	} else if (due_ns != UINT64_MAX) {
		turn_at(thread, wh_sim_now(sim) + (due_ns > its_now_ns ? due_ns - its_now_ns : 0));
	}
}

static void make_pass(struct host_thread *thread, bool last_look)
{
	size_t work = thread->passes->make(thread->ctx, last_look);

	thread->idle = work > 0 ? 0 : thread->idle + 1;
	if (!thread->passes->is_there(thread->ctx))
		return;
	if (last_look && work == 0)
		sleep_now(thread);
	else
		host_turn_soon(thread);
}

static void take_turn(void *ctx, uint64_t turn)
{
	struct host_thread *thread = ctx;
	uint64_t stalled_ns;

	if (turn != thread->turn || !thread->passes->is_there(thread->ctx))
		return;
	if (thread->asleep)
		thread->idle = 0;
	thread->asleep = false;
	stalled_ns = thread->passes->stalled_until_ns(thread->ctx);
	if (host_now(thread->host) < stalled_ns)
		turn_at(thread, stalled_ns);
	else
		make_pass(thread, thread->idle > 0 && wh_dice_one_in(thread->dice, 2));
}

void host_rung(struct host_thread *thread)
{
	if (thread == NULL || !thread->asleep || !thread->passes->is_there(thread->ctx))
		return;
	thread->asleep = false;
	thread->idle = 0;
	host_turn_soon(thread);
}
