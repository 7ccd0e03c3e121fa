/* host.c - the system's host, and what waits on either: see host.h. */
#include "dds/base/host.h"

#include <time.h>

#include "base/backoff.h"
#include "base/env.h"
#include "base/thread.h"

#define LOCK_NS (30 * WH_NS_PER_US) /* before a thread sleeps */

/* ---- the system ---------------------------------------------------------------------------------------------------------------- */

static uint64_t system_clock(void *ctx)
{
	(void)ctx;
	return wh_env_now(wh_env_system());
}

static uint64_t system_real(void *ctx)
{
	struct timespec now;

	(void)ctx;
	clock_gettime(CLOCK_REALTIME, &now);
	return (uint64_t)now.tv_sec * WH_NS_PER_S + (uint64_t)now.tv_nsec;
}

static uint64_t system_thread(void *ctx)
{
	(void)ctx;
	return (uint64_t)pthread_self();
}

static uint64_t system_process(void *ctx)
{
	(void)ctx;
	return 0;
}

static void system_wait(void *ctx, pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct timespec until = {.tv_sec = (time_t)(until_ns / WH_NS_PER_S),
				       .tv_nsec = (long)(until_ns % WH_NS_PER_S)};

	(void)ctx;
	(void)pthread_cond_timedwait(condition, lock, &until);
}

static void system_pause(void *ctx)
{
	const struct timespec moment = {.tv_nsec = 200000};

	(void)ctx;
	nanosleep(&moment, NULL);
}

static bool system_start(void *ctx, struct wh_dds_thread *thread, void *(*fn)(void *), void *argument)
{
	(void)ctx;
	return wh_thread_create(&thread->system, "whorl-dds", -1, fn, argument, NULL) == WHORL_OK;
}

static void system_join(void *ctx, struct wh_dds_thread *thread)
{
	(void)ctx;
	pthread_join(thread->system, NULL);
}

static void system_detach(void *ctx, struct wh_dds_thread *thread)
{
	(void)ctx;
	pthread_detach(thread->system);
}

static enum whorl_result system_open(void *ctx, whorl_config *config, uint32_t id, whorl_node **node)
{
	(void)ctx;
	return whorl_open(config, id, NULL, node);
}

static enum whorl_result system_close(void *ctx, whorl_node *node, int timeout_ms)
{
	(void)ctx;
	return whorl_close(node, timeout_ms);
}

static const struct wh_dds_host system_host = {.clock_ns = system_clock,
					       .real_ns = system_real,
					       .thread = system_thread,
					       .process = system_process,
					       .wait = system_wait,
					       .pause = system_pause,
					       .start = system_start,
					       .join = system_join,
					       .detach = system_detach,
					       .open = system_open,
					       .close = system_close};

static const struct wh_dds_host *simulated; /* NULL: the system's. Set before there are threads */

const struct wh_dds_host *wh_dds_host(void)
{
	return simulated != NULL ? simulated : &system_host;
}

void wh_dds_host_set(const struct wh_dds_host *host)
{
	simulated = host;
}

/* ---- on either ----------------------------------------------------------------------------------------------------------------- */

uint64_t wh_dds_clock(void)
{
	const struct wh_dds_host *host = wh_dds_host();

	return host->clock_ns(host->ctx);
}

uint64_t wh_dds_this_thread(void)
{
	const struct wh_dds_host *host = wh_dds_host();

	return host->thread(host->ctx);
}

bool wh_dds_wait(pthread_cond_t *condition, pthread_mutex_t *lock, uint64_t until_ns)
{
	const struct wh_dds_host *host = wh_dds_host();
	uint64_t now = host->clock_ns(host->ctx);

	if (until_ns <= now)
		return false;
	if (until_ns - now > WH_NS_PER_S) /* the one that waits looks again: no wait is without an end */
		until_ns = now + WH_NS_PER_S;
	host->wait(host->ctx, condition, lock, until_ns);
	return true;
}

void wh_dds_lock_soon(pthread_mutex_t *lock)
{
	struct wh_backoff backoff = {.dear = false};
	bool goes_on = !wh_dds_host()->simulated;

	while (pthread_mutex_trylock(lock) != 0) {
		if (!goes_on) {
			pthread_mutex_lock(lock);
			return;
		}
		goes_on = wh_backoff_wait(&backoff, wh_env_system(), LOCK_NS);
	}
}

int wh_dds_given_ms(int timeout_ms)
{
	return wh_dds_host()->simulated ? 0 : timeout_ms;
}

void wh_dds_rest(void)
{
	const struct wh_dds_host *host = wh_dds_host();

	if (host->simulated)
		host->pause(host->ctx);
}

/* In a simulation the call was given no time: it is made again as long as there is some. */
static bool goes_on(enum whorl_result result, uint64_t until_ns)
{
	if (!wh_dds_is_for_now(result) || !wh_dds_host()->simulated || wh_dds_clock() >= until_ns)
		return false;
	wh_dds_rest();
	return true;
}

static uint64_t end_of(int timeout_ms)
{
	return wh_dds_clock() + (uint64_t)timeout_ms * WH_NS_PER_MS;
}

enum whorl_result wh_dds_node_ready(whorl_node *node, int timeout_ms)
{
	uint64_t until = end_of(timeout_ms);
	enum whorl_result result;

	do
		result = whorl_ready(node, wh_dds_given_ms(timeout_ms));
	while (goes_on(result, until));
	return result;
}

/* It was left, and not yet for good: then there is no handle. */
enum whorl_result wh_dds_subgroup_enter(whorl_node *node, const char *name,
					const struct whorl_subgroup_options *options, int timeout_ms,
					whorl_subgroup **out)
{
	uint64_t until = end_of(timeout_ms);
	enum whorl_result result;

	do
		result = whorl_subgroup_enter(node, name, options, wh_dds_given_ms(timeout_ms), out);
	while (*out == NULL && goes_on(result, until));
	return result;
}

enum whorl_result wh_dds_subgroup_ready(whorl_subgroup *subgroup, int timeout_ms)
{
	uint64_t until = end_of(timeout_ms);
	enum whorl_result result;

	do
		result = whorl_subgroup_ready(subgroup, wh_dds_given_ms(timeout_ms));
	while (goes_on(result, until));
	return result;
}

enum whorl_result wh_dds_subgroup_leave(whorl_subgroup *subgroup, int timeout_ms)
{
	uint64_t until = end_of(timeout_ms);
	enum whorl_result result;

	do
		result = whorl_subgroup_leave(subgroup, wh_dds_given_ms(timeout_ms));
	while (goes_on(result, until));
	return result;
}

enum whorl_result wh_dds_frontier_wait(whorl_subgroup *subgroup, enum whorl_frontier which, uint64_t index,
				       int timeout_ms)
{
	uint64_t until = end_of(timeout_ms);
	enum whorl_result result;

	do
		result = whorl_frontier_wait(subgroup, which, index, wh_dds_given_ms(timeout_ms));
	while (goes_on(result, until));
	return result;
}
