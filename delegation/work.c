/* work.c - opening and closing; figures. */
#include "delegation/link.h"
#include "delegation/shard.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

#define CLOSE_PATIENCE_NS (100 * WH_NS_PER_MS) /* for a worker's thread, beyond the program's own */
#define CLOSE_NAP_NS (WH_NS_PER_MS / 2)

/* ---- opening -------------------------------------------------------------------------------------------------------------------- */

static const char *fault_of(const struct whorl_work_options *options)
{
	if (options->size < sizeof(*options))
		return "the options have no size";
	if (options->workers > WHORL_WORKERS_MAX)
		return "more workers than WHORL_WORKERS_MAX";
	if (options->dedicated > (options->workers == 0 ? 1 : options->workers))
		return "more dedicated workers than workers";
	if (options->functions == NULL && options->function_count > 0)
		return "no functions";
	if (options->types == NULL && options->type_count > 0)
		return "no types";
	if (options->stack_bytes != 0 && (options->stack_bytes < 16384 || options->stack_bytes > SIZE_MAX / 4))
		return "stacks of less than 16 KiB, or of more than there is";
	return NULL;
}

static void free_work(whorl_work *work)
{
	for (uint32_t i = 0; i < work->party_count; i++)
		wh_party_free(work->parties[i]);
	if (work->has_key)
		pthread_key_delete(work->key);
	wh_net_free(work);
	free(work->types);
	pthread_mutex_destroy(&work->lock);
	wh_table_free(&work->table);
	free(work);
}

static enum whorl_result start_workers(whorl_work *work, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;
	uint32_t started = 0;

	while (started < work->workers && result == WHORL_OK) {
		result = wh_worker_start(work->parties[started]->worker, err);
		started += result == WHORL_OK;
	}
	for (uint32_t i = 0; result != WHORL_OK && i < started; i++)
		while (!wh_worker_stop(work->parties[i]->worker, WH_NS_PER_S)) /* it has nothing to do */
			continue;
	return result;
}

static enum whorl_result copy_types(whorl_work *work, const struct whorl_work_options *options)
{
	work->types = calloc(options->type_count + 1, sizeof(struct whorl_type *));
	if (work->types == NULL)
		return WHORL_MEMORY;
	for (size_t i = 0; i < options->type_count; i++)
		work->types[i] = options->types[i];
	work->type_count = options->type_count;
	return WHORL_OK;
}

static enum whorl_result fill(whorl_work *work, const struct whorl_work_options *options,
			      const struct wh_endpoint *endpoint, struct wh_error *err)
{
	size_t stack_bytes = options->stack_bytes == 0 ? WH_FIBER_STACK_BYTES : options->stack_bytes;
	enum whorl_result result = wh_table_make(&work->table, options->functions, options->function_count, err);

	if (result != WHORL_OK)
		return result;
	result = copy_types(work, options);
	if (result != WHORL_OK)
		return wh_error_set(err, result, "no memory for types");
	if (pthread_key_create(&work->key, wh_parties_end) != 0)
		return wh_error_set(err, WHORL_SYSTEM, "no key for the program's threads: too many are in use");
	work->has_key = true;
	work->workers = options->workers == 0 ? 1 : options->workers;
	work->dedicated = options->dedicated;
	if (endpoint != NULL)
		result = wh_net_open(work, endpoint, options, err);
	for (uint32_t i = 0; result == WHORL_OK && i < work->workers; i++)
		result = wh_party_make_worker(work, i, stack_bytes, err);
	if (result == WHORL_OK && work->threads)
		result = start_workers(work, err);
	return result;
}

static uint32_t processors(void)
{
	cpu_set_t set;

	return sched_getaffinity(0, sizeof(set), &set) == 0 ? (uint32_t)CPU_COUNT(&set) : 1;
}

enum whorl_result wh_work_make_on(const struct whorl_work_options *options, const struct wh_work_plan *plan,
				  whorl_work **out, struct wh_error *err)
{
	whorl_work *work = calloc(1, sizeof(*work));
	enum whorl_result result;

	if (work == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for workers");
	work->env = plan->env;
	work->node = plan->node;
	work->threads = plan->threads;
	work->processors = processors();
	work->opened_ns = wh_env_now(work->env);
	work->serial = work->env->random_u64(work->env->ctx) | 1;
	pthread_mutex_init(&work->lock, NULL);
	result = fill(work, options, plan->endpoint, err);
	if (result != WHORL_OK) {
		free_work(work);
		return result;
	}
	*out = work;
	return WHORL_OK;
}

enum whorl_result wh_work_make(const struct whorl_work_options *options, const struct wh_env *env, uint32_t node,
			       bool threads, whorl_work **out, struct wh_error *err)
{
	const struct wh_work_plan plan = {.env = env, .node = node, .threads = threads};

	return wh_work_make_on(options, &plan, out, err);
}

/* ---- passes by the caller ---------------------------------------------------------------------------------------------------------- */

size_t wh_work_step(whorl_work *work, uint32_t worker)
{
	struct wh_party *party = work->parties[worker];
	struct wh_loop *loop = &party->worker->loop;

	if (loop->armed) { /* it has slept until now */
		WH_CHECK(loop->diag, wh_gate_take_back(party->gate));
		wh_loop_sleep(loop, 0);
	}
	return wh_loop_step(loop);
}

size_t wh_work_sleep(whorl_work *work, uint32_t worker)
{
	struct wh_party *party = work->parties[worker];
	size_t done = wh_loop_arm(&party->worker->loop);

	if (done == 0)
		wh_gate_lend(party->gate);
	return done;
}

uint64_t wh_work_next_ns(const whorl_work *work, uint32_t worker)
{
	return work->parties[worker]->worker->loop.next_ns;
}

/* ---- visitors ---------------------------------------------------------------------------------------------------------------------- */

_Static_assert(WH_SHOWN_MAX >= WHORL_WORKERS_MAX, "all workers can be shown");

/* A visitor of the node is shown the statistics of a worker: what struct wh_shown calls, on the node's loop. */
static void show_worker(const void *ctx, uint32_t worker, struct whorl_status_worker *out)
{
	const whorl_work *work = ctx;
	struct whorl_worker_stats stats = {.size = sizeof(stats)};

	if (whorl_worker_statistics(work, worker, &stats) != WHORL_OK)
		return;
	*out = (struct whorl_status_worker){.size = sizeof(*out),
					    .open_ns = wh_env_now(work->env) - work->opened_ns,
					    .calls = stats.calls,
					    .lent_calls = stats.lent_calls,
					    .batches = stats.batches,
					    .batch_calls = stats.batch_calls,
					    .largest_batch = stats.largest_batch,
					    .deferred = stats.deferred,
					    .refused = stats.refused,
					    .functions_ns = stats.functions_ns,
					    .looking_ns = stats.looking_ns,
					    .properties = stats.properties,
					    .fibers = stats.fibers,
					    .fibers_started = stats.fibers_started,
					    .passes = stats.passes,
					    .sleeps = stats.sleeps};
}

enum whorl_result whorl_work_open(whorl_node *node, const struct whorl_work_options *options, whorl_work **work)
{
	struct wh_work_plan plan = {.env = wh_env_system(), .node = WHORL_NODE_HERE, .threads = true};
	struct wh_endpoint endpoint;
	struct wh_error err = {0};
	enum whorl_result result;
	const char *fault;

	if (work != NULL)
		*work = NULL;
	if (options == NULL || work == NULL)
		return WH_REFUSE(options == NULL ? "no options" : "nowhere to put it");
	fault = fault_of(options);
	if (fault != NULL)
		return WH_REFUSE(fault);
	if (node != NULL) {
		endpoint = wh_node_endpoint(node);
		plan.node = endpoint.node;
		plan.env = endpoint.env;
		plan.threads = plan.env->nap == NULL;
		plan.endpoint = &endpoint;
	}
	result = wh_work_make_on(options, &plan, work, &err);
	if (result == WHORL_OK && node != NULL) {
		(*work)->host = node;
		wh_node_show_workers(node, &(struct wh_shown){(*work)->workers, show_worker, *work});
	}
	return result == WHORL_INVALID ? WH_REFUSE(err.text) : result;
}

uint64_t whorl_work_digest(const whorl_work *work)
{
	if (work == NULL) {
		WH_REFUSE("no work");
		return 0;
	}
	return work->table.digest;
}

whorl_work *whorl_work_here(struct whorl_place *place)
{
	const struct wh_here *here = wh_here();

	if (here->work == NULL || here->party->worker == NULL)
		return NULL;
	if (place != NULL)
		*place = whorl_at_worker(here->work->node, here->party->number);
	return here->work;
}

/* ---- closing --------------------------------------------------------------------------------------------------------------------- */

/* As far as can be seen from here: it may be wrong, and then some calls end in doubt that would have ended well. */
static bool is_quiet(const whorl_work *work)
{
	for (uint32_t i = 0; i < work->workers; i++) {
		const struct wh_party *party = work->parties[i];

		if (wh_load_relaxed(&party->unsettled) != 0 || wh_load_relaxed(&party->worker->tasks.count) != 0)
			return false;
	}
	return true;
}

static void let_end(whorl_work *work, struct wh_party *me, uint64_t deadline)
{
	int quiet = 0;

	while (quiet < 2 && wh_env_now(work->env) < deadline) {
		if (me != NULL && (me->thens_open > 0 || me->active_count > 0)) {
			if (wh_look(me) == 0)
				wh_rest(me, wh_env_now(work->env) + CLOSE_NAP_NS);
			quiet = 0;
			continue;
		}
		quiet = is_quiet(work) ? quiet + 1 : 0;
		wh_nap(work, CLOSE_NAP_NS);
	}
}

static bool stop_workers(whorl_work *work, uint64_t deadline)
{
	bool stopped = true;

	for (uint32_t i = 0; i < work->workers; i++) {
		uint64_t now = wh_env_now(work->env);

		if (!wh_worker_stop(work->parties[i]->worker, (now < deadline ? deadline - now : 0) + CLOSE_PATIENCE_NS))
			stopped = false;
	}
	return stopped;
}

/* As its worker, in delegated context: it drops properties. */
static void leave_shard(struct wh_shard *shard)
{
	struct wh_party *party = shard->party;
	struct wh_here before = wh_enter(party);

	party->in_function = true;
	wh_shard_leave(shard);
	party->in_function = false;
	wh_leave(before);
}

/* No other thread runs any more. What has been answered is taken, so of a property that moves it is known where it is; what is left ends, with
 * each party as itself; then the properties go. */
static void end_all(whorl_work *work)
{
	for (uint32_t i = 0; i < work->party_count; i++) {
		struct wh_here before = wh_enter(work->parties[i]);

		wh_collect(work->parties[i]);
		wh_leave(before);
	}
	for (uint32_t i = 0; i < work->party_count; i++) {
		struct wh_here before = wh_enter(work->parties[i]);

		wh_end_calls(work->parties[i], WHORL_IN_DOUBT, WHORL_CLOSED);
		wh_leave(before);
	}
	for (uint32_t i = 0; i < work->workers; i++) {
		struct wh_here before = wh_enter(work->parties[i]);

		wh_properties_close(work->parties[i]);
		wh_leave(before);
	}
	for (uint64_t i = 0; i < wh_load_relaxed(&work->shard_count); i++)
		leave_shard(work->shards[i]);
}

enum whorl_result whorl_work_close(whorl_work *work, int timeout_ms)
{
	uint64_t deadline;
	struct wh_party *me;
	const char *fault = work == NULL ? "no work" : timeout_ms < 0 ? "the time-out is negative" : NULL;

	if (fault != NULL)
		return WH_REFUSE(fault);
	if (wh_here()->work == work && (wh_here()->party->worker != NULL || wh_is_delegated(wh_here()->party)))
		return WHORL_WOULD_DEADLOCK;
	deadline = wh_env_now(work->env) + (uint64_t)timeout_ms * WH_NS_PER_MS;
	if (wh_load_relaxed(&work->state) ==
	    WH_WORK_OPEN) { /* else the workers have been told to stop, and serve no more */
		wh_store_relaxed(&work->state, WH_WORK_CLOSING);
		me = pthread_getspecific(work->key);
		if (me != NULL)
			wh_enter(me);
		let_end(work, me, deadline);
	}
	wh_store_relaxed(&work->state, WH_WORK_CLOSED); /* a worker that sees it late only makes one more call */
	if (!stop_workers(work, deadline))
		return WHORL_TIMEOUT;
	if (work->host != NULL)
		wh_node_hide_workers(work->host, work);
	end_all(work);
	wh_net_leave(work);
	if (wh_here()->work == work)
		wh_leave((struct wh_here){0});
	pthread_setspecific(work->key, NULL);
	free_work(work);
	return WHORL_OK;
}

/* ---- figures --------------------------------------------------------------------------------------------------------------------- */

enum whorl_result whorl_worker_statistics(const whorl_work *work, uint32_t worker, struct whorl_worker_stats *stats)
{
	struct whorl_worker_stats all = {0};
	const struct wh_party *party;
	const struct wh_party_stats *from;

	if (work == NULL || stats == NULL || stats->size < sizeof(stats->size))
		return WH_REFUSE(work == NULL    ? "no work"
				 : stats == NULL ? "no statistics"
						 : "the statistics have no size");
	if (worker >= work->workers)
		return WHORL_NOT_FOUND;
	party = work->parties[worker];
	from = &party->stats;
	all = (struct whorl_worker_stats){.size = stats->size < sizeof(all) ? stats->size : sizeof(all),
					  .calls = wh_load_relaxed(&from->calls),
					  .lent_calls = wh_load_relaxed(&from->lent_calls),
					  .batches = wh_load_relaxed(&from->batches),
					  .batch_calls = wh_load_relaxed(&from->batch_calls),
					  .largest_batch = wh_load_relaxed(&from->largest_batch),
					  .deferred = wh_load_relaxed(&from->deferred),
					  .refused = wh_load_relaxed(&from->refused),
					  .functions_ns = wh_load_relaxed(&from->functions_ns),
					  .looking_ns = wh_load_relaxed(&from->looking_ns),
					  .properties = wh_load_relaxed(&from->properties),
					  .fibers = wh_load_relaxed(&party->worker->tasks.count),
					  .fibers_started = wh_load_relaxed(&party->worker->tasks.started),
					  .passes = wh_load_relaxed(&party->worker->loop.stats.steps),
					  .sleeps = wh_load_relaxed(&party->worker->loop.stats.sleeps)};
	memcpy(stats, &all, all.size);
	return WHORL_OK;
}
