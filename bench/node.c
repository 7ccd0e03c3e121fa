/* node.c - the life of one node of a benchmark: a process, or a thread of the command.
 *
 * Its main thread follows the phases that the parent sets (bench.h). With a dedicated loop it is also the first sending
 * thread, and sleeps when it has nothing to send; with thread = caller it runs the loop as well.
 */
#include "bench/node.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

#define READY_MS 20000 /* for all nodes to meet */
#define READY_SLICE_MS 100
#define CLOSE_MS 1000    /* everything has been delivered everywhere by then */
#define LOOK_MS 50       /* how often a sleeping main thread looks for errors, */
#define LOOK_IDLE_MS 500 /* while idleness is measured, */
#define LOOK_LAST_MS 1   /* and while one message is under way */

#define LOOK_PASSES 64 /* empty passes between two looks for errors */

enum idle { IDLE_ADAPTIVE, IDLE_YIELD, IDLE_SPIN }; /* as `[engine] idle` lists them */

struct idleness {
	unsigned passes;           /* without work */
	struct wh_backoff backoff; /* where it may not sleep; else it waits as the library's own loop does */
};

void wh_bench_node_fail(struct wh_bench_node *node, const char *format, ...)
{
	struct wh_bench_node_page *page = node->page;
	va_list args;

	if (wh_exchange(&page->failing, 1) != 0)
		return;
	va_start(args, format);
	vsnprintf(page->failure, sizeof page->failure, format, args);
	va_end(args);
	page->failure_ns = wh_bench_now();
	wh_store_release(&page->failed, 1); /* partner: the parent */
	wh_watch_ring(node->watch);
}

void wh_bench_node_reached(struct wh_bench_node *node, enum wh_bench_phase phase)
{
	wh_store_release(&node->page->reached, (uint64_t)phase + 1); /* partner: the parent */
	wh_watch_ring(node->watch);
}

static bool has_failed(const struct wh_bench_node *node)
{
	return wh_load_relaxed(&node->page->failing) != 0;
}

/* True: the library says that the node cannot go on. */
static bool look_for_errors(struct wh_bench_node *node)
{
	char text[256] = "";
	enum whorl_result result = whorl_error(node->node, text, sizeof text);

	if (result == WHORL_OK || wh_bench_is_over(node))
		return false;
	wh_bench_node_fail(node, "%s", text[0] != '\0' ? text : whorl_result_text(result));
	return true;
}

/* The nodes that are not in the view, as text. Returns how many. */
static uint32_t name_missing(const struct whorl_view *view, uint32_t nodes, char *text, size_t bytes)
{
	uint32_t count = 0;

	for (uint32_t id = 0; id < nodes; id++) {
		uint32_t rank = 0;

		while (rank < view->member_count && view->members[rank] != id)
			rank++;
		if (rank < view->member_count)
			continue;
		wh_text_add_id(text, bytes, ", ", id);
		count++;
	}
	return count;
}

/* A view begins, on the loop. All nodes are needed: if one is missing it has gone, or has never come. At the end, when all
 * leave, that is as it should be. */
static void on_view(const struct whorl_view *view, void *ctx)
{
	struct wh_bench_node *node = ctx;
	const struct wh_group_options *group = &node->plan->config.group;
	char ids[128] = "";
	uint32_t missing;

	wh_bench_deliver_view(node);
	if (wh_bench_is_over(node))
		return;
	if (!wh_bench_is_whole(node->plan)) /* nodes that have everything leave; a node that waits in vain gives up */
		return;
	missing = name_missing(view, node->plan->nodes, ids, sizeof ids);
	if (missing == 0)
		return;
	if (view->number == 0)
		wh_bench_node_fail(
			node, "the group has begun without node%s %s: not there within a start_timeout_ms of %" PRId64,
			missing > 1 ? "s" : "", ids, group->start_timeout_ms);
	else
		wh_bench_node_fail(node,
				   "view %" PRIu64 " is without node%s %s: dead, gone, or not heard for %" PRId64 " ms",
				   view->number, missing > 1 ? "s" : "", ids, group->failure_timeout_ms);
}

/* ---- following the phases ---------------------------------------------------------------------------------------------*/

/* One pass of the loop and what comes between two. */
static void pass_of_caller(struct wh_bench_node *node, enum wh_bench_phase phase, struct idleness *idleness)
{
	enum idle idle = (enum idle)node->plan->config.engine.idle;
	size_t work = 0;
	int sleep_ms = 0; /* it may not */

	if (phase == BENCH_RUN && node->sender_count > 0)
		work = wh_bench_send_some(&node->senders[0]);
	work += whorl_step(node->node);
	if (work > 0) {
		wh_backoff_renew(&idleness->backoff);
		return;
	}
	if (++idleness->passes % LOOK_PASSES == 0 && look_for_errors(node))
		return;
	if (idle == IDLE_ADAPTIVE && phase != BENCH_OPEN) {
		sleep_ms = phase == BENCH_IDLE ? LOOK_IDLE_MS : phase == BENCH_LAST ? LOOK_LAST_MS : LOOK_MS;
		sleep_ms = wh_bench_send_may_sleep(node, sleep_ms);
	}
	if (idle == IDLE_ADAPTIVE && sleep_ms == 0) {
		wh_backoff_wait(&idleness->backoff, wh_env_system(), UINT64_MAX);
		return;
	}
	if (whorl_yield(node->node))
		return;
	whorl_wait(node->node, sleep_ms);
	look_for_errors(node);
}

static void sleep_of_dedicated(struct wh_bench_node *node, enum wh_bench_phase phase)
{
	int timeout_ms = phase == BENCH_IDLE ? LOOK_IDLE_MS : phase == BENCH_LAST ? LOOK_LAST_MS : LOOK_MS;

	wh_phase_wait(&node->shared->phase, phase, timeout_ms);
	look_for_errors(node);
}

/* True: the message behind the idle time has been delivered here, or is none of ours. */
static bool has_last(const struct wh_bench_node *node)
{
	const struct wh_bench_subgroup *subgroup = &node->plan->subgroups[0];
	const struct wh_bench_part *part = wh_bench_part(node->memory, node->plan, node->id, 0);

	return wh_rank_find(subgroup->members, subgroup->member_count, node->id) < 0 ||
	       wh_load_acquire(&part->extra) > 0; /* partner: take_extra */
}

/* Until the parent says stop. If a node that has failed left at once, the others would hear that, and not why; and they may
 * still need its loop to agree on what it has noticed already. */
static void await_stop(struct wh_bench_node *node, enum wh_bench_phase phase)
{
	if (wh_bench_is_caller(node->plan))
		whorl_wait(node->node, LOOK_MS);
	else
		wh_phase_wait(&node->shared->phase, phase, LOOK_IDLE_MS);
}

/* Until the phase is another one. */
static enum wh_bench_phase follow_phase(struct wh_bench_node *node, enum wh_bench_phase phase)
{
	struct idleness idleness = {0};
	bool reached = false;

	while (wh_phase_get(&node->shared->phase) == phase) {
		if (has_failed(node)) {
			await_stop(node, phase);
			continue;
		}
		if (phase == BENCH_LAST && !reached && has_last(node)) {
			reached = true;
			wh_bench_node_reached(node, phase);
		}
		if (wh_bench_is_caller(node->plan))
			pass_of_caller(node, phase, &idleness);
		else
			sleep_of_dedicated(node, phase);
	}
	return (enum wh_bench_phase)wh_phase_get(&node->shared->phase);
}

/* What is to be done once, when a phase begins. */
static void enter_phase(struct wh_bench_node *node, enum wh_bench_phase phase, struct wh_bench_baseline *baseline)
{
	switch (phase) {
	case BENCH_OPEN:
		wh_bench_baseline_take(node, baseline);
		wh_bench_node_reached(node, phase);
		break;
	case BENCH_RUN:
		wh_bench_baseline_take(node, baseline);
		if (wh_load_relaxed(&node->page->parts_left) == 0 && wh_load_relaxed(&node->page->reached) <= BENCH_RUN)
			wh_bench_node_reached(node, phase); /* a member of nothing */
		if (node->sender_count > 0 && !wh_bench_is_caller(node->plan))
			wh_bench_send_all(&node->senders[0]);
		break;
	case BENCH_CALM:
		wh_bench_note_run(node, baseline);
		wh_bench_node_reached(node, phase);
		break;
	case BENCH_IDLE:
		wh_bench_baseline_take_at_rest(node, baseline);
		wh_bench_node_reached(node, phase);
		break;
	case BENCH_NOTE:
		wh_bench_note_idle(node, baseline);
		wh_bench_node_reached(node, phase);
		break;
	case BENCH_LAST:
		wh_bench_send_last(node);
		break;
	case BENCH_CLOSE:
	case BENCH_STOP:
		if (node->page->idle_ns == 0)
			wh_bench_note_run(node, baseline);
		break;
	}
}

/* ---- opening and leaving -----------------------------------------------------------------------------------------------*/

void wh_bench_node_log(enum whorl_log_level level, const char *line, void *ctx)
{
	struct wh_bench_node *node = ctx;
	char own[32];

	/* Why a node cannot go on it says as its failure; an error is whorl's own, with what it did before. */
	if (level == WHORL_LOG_ERROR)
		wh_say("%s", line);
	if (level != WHORL_LOG_WARNING || node == NULL || wh_exchange(&node->complaining, 1) != 0)
		return;
	snprintf(own, sizeof own, "node %u: ", node->id); /* which will be said of it anyway */
	if (strncmp(line, own, strlen(own)) == 0)
		line += strlen(own);
	snprintf(node->complaint, sizeof node->complaint, "%s", line);
	wh_store_release(&node->complained, 1); /* partner: fail_to_meet */
}

/* The nodes of one process share the conf, which is for one thread at a time. */
static enum whorl_result open_node(struct wh_bench_node *node, struct wh_bench_run *run)
{
	struct whorl_open_options options = {.size = sizeof options, .log = wh_bench_node_log, .log_ctx = node};
	enum whorl_result result = WHORL_MEMORY;
	whorl_config *config;

	pthread_mutex_lock(&run->conf_lock);
	config = wh_config_borrow(node->plan->conf, &node->plan->config);
	if (config != NULL)
		result = whorl_open(config, node->id, &options, &node->node);
	if (result != WHORL_OK)
		wh_bench_node_fail(node, "open: %s",
				   config != NULL && whorl_config_error(config)[0] != '\0' ? whorl_config_error(config)
											   : whorl_result_text(result));
	whorl_config_free(config);
	pthread_mutex_unlock(&run->conf_lock);
	return result;
}

/* An effect; its cause is the first that the library has complained of, if there is anything. */
static void fail_to_meet(struct wh_bench_node *node)
{
	bool complained = wh_load_acquire(&node->complained) != 0; /* partner: wh_bench_node_log */
	char progress[256] = "";

	whorl_progress(node->node, progress, sizeof progress);
	if (complained)
		wh_bench_node_fail(node, "%s; so the nodes have not met in %d s", node->complaint, READY_MS / 1000);
	else
		wh_bench_node_fail(node, "the nodes have not met in %d s: it %s", READY_MS / 1000, progress);
}

static enum whorl_result meet_others(struct wh_bench_node *node)
{
	enum whorl_result result = WHORL_TIMEOUT;
	char text[256] = "";

	for (int ms = 0; ms < READY_MS && result == WHORL_TIMEOUT; ms += READY_SLICE_MS) {
		if (wh_phase_get(&node->shared->phase) != BENCH_OPEN)
			return WHORL_CLOSED;
		result = whorl_ready(node->node, READY_SLICE_MS);
	}
	if (result == WHORL_TIMEOUT) {
		fail_to_meet(node);
	} else if (result != WHORL_OK) {
		whorl_error(node->node, text, sizeof text);
		wh_bench_node_fail(node, "%s", text[0] != '\0' ? text : whorl_result_text(result));
	}
	return result;
}

static enum whorl_result open_all(struct wh_bench_node *node, struct wh_bench_run *run)
{
	enum whorl_result result = open_node(node, run);

	if (result == WHORL_OK)
		result = wh_bench_deliver_open(node);
	if (result == WHORL_OK)
		result = wh_bench_send_open(node);
	if (result != WHORL_OK)
		return result;
	whorl_on_view(node->node, on_view, node); /* it has not been started: that is accepted */
	result = whorl_start(node->node);
	if (result != WHORL_OK) {
		wh_bench_node_fail(node, "start: %s", whorl_result_text(result));
		return result;
	}
	result = meet_others(node);
	return result == WHORL_OK ? wh_bench_send_start(node) : result;
}

/* In a run by total messages may be left that no node waits for, and without nulls they cannot even be delivered. */
static int close_timeout(const struct wh_bench_node *node, enum wh_bench_phase phase)
{
	for (uint32_t g = 0; g < node->plan->subgroup_count; g++)
		if (node->plan->subgroups[g].by_total)
			return 0;
	return phase == BENCH_CLOSE ? CLOSE_MS : 0;
}

int wh_bench_node(void *ctx, uint32_t worker)
{
	struct wh_bench_run *run = ctx;
	uint32_t id = run->plan->here_first + worker;
	struct wh_bench_node node = {
		.plan = run->plan,
		.memory = &run->memory,
		.watch = run->watch,
		.shared = run->memory.shared,
		.page = &run->memory.pages[id],
		.id = id,
	};
	struct wh_bench_baseline baseline = {.parts = NULL};
	enum wh_bench_phase phase = BENCH_OPEN;
	bool opened = false;

	if (!wh_bench_baseline_open(&baseline, run->plan))
		wh_bench_node_fail(&node, "no memory for %u subgroups", run->plan->subgroup_count);
	else
		opened = open_all(&node, run) == WHORL_OK;
	if (opened)
		for (; phase < BENCH_CLOSE; phase = follow_phase(&node, phase))
			enter_phase(&node, phase, &baseline);
	else
		while ((phase = wh_phase_get(&node.shared->phase)) < BENCH_CLOSE)
			wh_phase_wait(&node.shared->phase, phase, LOOK_IDLE_MS);
	wh_bench_send_join(&node);
	if (opened)
		enter_phase(&node, phase, &baseline);
	if (node.node != NULL)
		whorl_close(node.node, close_timeout(&node, phase));
	wh_bench_deliver_close(&node);
	wh_bench_send_close(&node);
	wh_bench_baseline_close(&baseline);
	wh_bench_node_reached(&node, BENCH_CLOSE);
	return has_failed(&node) ? WH_EXIT_FAILED : WH_EXIT_GOOD;
}
