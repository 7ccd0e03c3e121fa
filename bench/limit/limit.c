/* limit.c - see limit.h: what all measurements do alike. */
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/env.h"
#include "bench/limit/limit_int.h"
#include "bench/limit/meet.h"

#define READY_MS (2 * WH_LIMIT_MEET_MS + 1000) /* to start the workers, let them meet, and touch the memory */
#define WARM_MS 60                             /* before each measurement */
#define PART_MS (WH_LIMIT_MEET_MS + 1000) /* for nodes elsewhere, which may have begun later, to have measured too */

uint32_t wh_limit_threads(const struct wh_limit_plan *plan)
{
	uint32_t count = wh_limit_here(plan);

	for (uint32_t node = 0; node < plan->nodes && !plan->caller; node++) {
		bool writes = false;

		if (plan->apart && node != plan->here)
			continue;

		for (size_t r = 0; r < plan->ring_count; r++)
			writes |= plan->rings[r].writer == node;
		count += writes;
	}
	return count;
}

bool wh_limit_is_mixed(const struct wh_limit_plan *plan)
{
	for (size_t r = 1; r < plan->ring_count; r++)
		if (plan->rings[r].bytes != plan->rings[0].bytes)
			return true;
	return false;
}

void wh_limit_ready(struct wh_limit_shared *shared)
{
	wh_fetch_add(&shared->ready, 1);
	while (wh_phase_get(&shared->phase) == WH_LIMIT_START)
		wh_phase_wait(&shared->phase, WH_LIMIT_START, 1000);
}

enum whorl_result wh_limit_open(struct wh_limit_run *run, const struct wh_limit_plan *plan, size_t bytes,
				uint32_t counts, struct wh_error *err)
{
	*run = (struct wh_limit_run){.plan = plan, .bytes = bytes};
	run->shared = wh_shared_alloc(bytes, plan->huge);
	if (run->shared == NULL)
		return wh_error_set(err, WHORL_MEMORY, "limit: no memory for %zu bytes", bytes);
	run->shared->count_count = counts;
	return WHORL_OK;
}

/* Sleeps for `ms`, or until `*word` is as great as `least`; 0: it is not looked at. */
static enum whorl_result await_workers(struct wh_limit_run *run, uint32_t ms, wh_word *word, uint64_t least,
				       struct wh_error *err)
{
	const struct wh_env *env = wh_env_system();
	struct wh_watch *watch = run->crew.watch;
	uint64_t deadline = wh_env_now(env) + ms * WH_NS_PER_MS;
	uint32_t worker;
	int status;

	for (;;) {
		uint64_t now = wh_env_now(env);

		if (least > 0 && wh_load_acquire(word) >= least) /* partner: wh_limit_ready; sockets.c: part_together */
			return WHORL_OK;
		if (now >= deadline)
			return least == 0 ? WHORL_OK
					  : wh_error_set(err, WHORL_TIMEOUT, "limit: not ready in %u ms", ms);
		wh_watch_wait(watch, least > 0 ? 1 : (int)((deadline - now) / WH_NS_PER_MS) + 1);
		if (watch->interrupted != 0)
			return WHORL_AGAIN;
		if (wh_crew_reap(&run->crew, &worker, &status)) /* they end with errno values */
			return wh_error_set(err, WHORL_MEMBER_GONE, "limit: worker %u ended: %s", worker,
					    WIFEXITED(status) ? strerror(WEXITSTATUS(status))
							      : strsignal(WTERMSIG(status)));
	}
}

enum whorl_result wh_limit_start(struct wh_limit_run *run, struct wh_watch *watch, uint32_t nodes, uint32_t threads,
				 wh_crew_fn *fn, void *ctx, struct wh_error *err)
{
	enum whorl_result result = wh_crew_start(&run->crew, watch, nodes, run->plan->processes, fn, ctx, err);

	if (result == WHORL_OK)
		result = await_workers(run, READY_MS, &run->shared->ready, threads, err);
	if (result == WHORL_OK)
		wh_phase_set(&run->shared->phase, WH_LIMIT_RUN);
	return result;
}

enum whorl_result wh_limit_pass(struct wh_limit_run *run, uint32_t ms, struct wh_error *err)
{
	return await_workers(run, ms, NULL, 0, err);
}

/* Until all nodes elsewhere have measured, so that each measures among all. That one is missing now is no failure any more. */
static enum whorl_result await_others(struct wh_limit_run *run)
{
	struct wh_error none;

	wh_phase_set(&run->shared->phase, WH_LIMIT_OTHERS);
	return await_workers(run, PART_MS, &run->shared->parted, 1, &none) == WHORL_AGAIN ? WHORL_AGAIN : WHORL_OK;
}

static void sample_counts(const struct wh_limit_run *run, uint64_t *ns, uint64_t *messages, uint64_t *bytes)
{
	*messages = *bytes = 0;
	*ns = wh_env_now(wh_env_system());
	for (uint32_t n = 0; n < run->shared->count_count; n++) {
		*messages += wh_load_relaxed(&run->shared->counts[n].messages);
		*bytes += wh_load_relaxed(&run->shared->counts[n].bytes);
	}
}

enum whorl_result wh_limit_rate(struct wh_limit_run *run, struct wh_limit_rate *rate, struct wh_error *err)
{
	uint64_t t0, t1, messages0, messages1, bytes0, bytes1;
	enum whorl_result result = wh_limit_pass(run, WARM_MS, err);

	if (result != WHORL_OK)
		return result;
	sample_counts(run, &t0, &messages0, &bytes0);
	result = wh_limit_pass(run, run->plan->measure_ms, err);
	if (result != WHORL_OK)
		return result;
	sample_counts(run, &t1, &messages1, &bytes1);
	double node_seconds = (double)(t1 - t0) / 1e9 * wh_limit_here(run->plan);

	rate->messages_per_s = (double)(messages1 - messages0) / node_seconds;
	rate->bytes_per_s = (double)(bytes1 - bytes0) / node_seconds;
	return run->plan->apart ? await_others(run) : WHORL_OK;
}

enum whorl_result wh_limit_close(struct wh_limit_run *run, enum whorl_result result, struct wh_error *err)
{
	if (run->shared == NULL)
		return result;
	wh_phase_set(&run->shared->phase, WH_LIMIT_STOP);
	if (!wh_crew_end(&run->crew, 2000))
		return wh_error_set(err, WHORL_TIMEOUT, "limit: a thread does not end"); /* it still uses the memory */
	wh_shared_free(run->shared, run->bytes);
	run->shared = NULL;
	return result;
}

uint64_t wh_limit_memory(const struct wh_limit_plan *plan)
{
	static uint64_t (*const memory[])(const struct wh_limit_plan *) = {
		[WH_LIMIT_SHM] = wh_limit_rings_memory,
		[WH_LIMIT_TCP] = wh_limit_sockets_memory,
		[WH_LIMIT_VERBS] = wh_limit_verbs_memory,
		[WH_LIMIT_DISK] = wh_limit_disk_memory,
	};

	return memory[plan->kind](plan);
}

static int by_value(const void *one, const void *other)
{
	uint64_t a = *(const uint64_t *)one, b = *(const uint64_t *)other;

	return (a > b) - (a < b);
}

double wh_limit_median_us(uint64_t *ns, size_t count)
{
	if (count == 0)
		return 0;
	qsort(ns, count, sizeof(*ns), by_value);
	return (double)ns[count / 2] / 1e3;
}

enum whorl_result wh_limit_measure(const struct wh_limit_plan *plan, struct wh_watch *watch,
				   struct wh_limit_result *result, struct wh_error *err)
{
	static enum whorl_result (*const programs[])(const struct wh_limit_plan *, struct wh_watch *,
						     struct wh_limit_result *, struct wh_error *) = {
		[WH_LIMIT_SHM] = wh_limit_rings,
		[WH_LIMIT_TCP] = wh_limit_sockets,
		[WH_LIMIT_VERBS] = wh_limit_verbs,
		[WH_LIMIT_DISK] = wh_limit_disk,
	};
	enum whorl_result outcome;

	*result = (struct wh_limit_result){0};
	outcome = programs[plan->kind](plan, watch, result, err);
	if (outcome == WHORL_OK && plan->nodes > 1 && plan->kind != WH_LIMIT_DISK)
		outcome = wh_limit_trips(plan, watch, result, err);
	if (outcome == WHORL_OK && plan->nodes > 1)
		outcome = wh_limit_pattern(plan, watch, result, err);
	return outcome;
}
