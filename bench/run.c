/* run.c - one run of a benchmark, as the command sees it: shared memory, a crew of nodes, and the watch over them.
 *
 * Whatever goes wrong ends the run at once and in the same way: it is said, the nodes are told to stop, those that do
 * not are killed, and nothing is left behind.
 */
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/env.h"
#include "bench/bench.h"
#include "command/scratch.h"

#define LOOK_MS 100   /* between two looks at the nodes when no bell rings */
#define OPEN_S 60     /* to open; the nodes give up earlier */
#define CALM_MS 200   /* between the last message and the idle time */
#define LEAVE_MS 3000 /* to leave by themselves */
#define BLAME_MS 5000 /* for a process to be gone that others have noticed to be dying, however busy the machine is */
#define NOTICE_EXTRA_MS 500 /* beyond the failure time-out, for the others to notice that a node has died */

static uint64_t now_ns(void)
{
	return wh_env_now(wh_env_system());
}

/* ---- shared memory ----------------------------------------------------------------------------------------------------*/

static size_t round_up(size_t bytes)
{
	return (bytes + WH_CACHE_LINE - 1) / WH_CACHE_LINE * WH_CACHE_LINE;
}

static size_t pages_offset(void)
{
	return round_up(sizeof(struct wh_bench_shared));
}

static size_t parts_offset(const struct wh_bench_plan *plan)
{
	return pages_offset() + plan->nodes * sizeof(struct wh_bench_node_page);
}

static size_t stamps_offset(const struct wh_bench_plan *plan)
{
	return parts_offset(plan) + (size_t)plan->nodes * plan->subgroup_count * sizeof(struct wh_bench_part);
}

size_t wh_bench_memory_bytes(const struct wh_bench_plan *plan)
{
	return stamps_offset(plan) + plan->stamp_words * sizeof(wh_word);
}

bool wh_bench_memory_open(struct wh_bench_memory *memory, const struct wh_bench_plan *plan)
{
	char *base;

	memory->bytes = wh_bench_memory_bytes(plan);
	memory->memory = base = wh_shared_alloc(memory->bytes, false);
	if (base == NULL)
		return false;
	memory->shared = (struct wh_bench_shared *)base;
	memory->pages = (struct wh_bench_node_page *)(base + pages_offset());
	memory->parts = (struct wh_bench_part *)(base + parts_offset(plan));
	memory->stamps = (wh_word *)(base + stamps_offset(plan));
	return true;
}

/* ---- what has gone wrong ---------------------------------------------------------------------------------------------*/

static bool has_failed(const struct wh_bench_run *run, uint32_t id)
{
	return wh_load_acquire(&run->memory.pages[id].failed) != 0; /* partner: wh_bench_node_fail */
}

static uint32_t count_failed(const struct wh_bench_run *run)
{
	uint32_t count = 0;

	for (uint32_t id = 0; id < run->plan->nodes; id++) /* those that are not here never have */
		count += has_failed(run, id);
	return count;
}

static void say_ended(const struct wh_bench_run *run, uint32_t worker, int status)
{
	uint32_t id = run->plan->here_first + worker;

	if (WIFSIGNALED(status))
		wh_say("node %u (pid %d) was killed by signal %d (%s)", id, (int)wh_crew_pid(&run->crew, worker),
		       WTERMSIG(status), strsignal(WTERMSIG(status)));
	else if (!has_failed(run, id)) /* else it has said why itself */
		wh_say("node %u (pid %d) has ended with status %d", id, (int)wh_crew_pid(&run->crew, worker),
		       WEXITSTATUS(status));
}

/* Says each failure once, with all nodes that have it. since_ns: when the cause was seen, 0: it is not known. */
static void say_failures(const struct wh_bench_run *run, uint64_t since_ns)
{
	const struct wh_bench_node_page *pages = run->memory.pages;

	for (uint32_t id = 0; id < run->plan->nodes; id++) {
		char who[128] = "";
		size_t used = 0;
		uint32_t count = 0;
		bool said = !has_failed(run, id);

		for (uint32_t other = 0; !said && other < id; other++)
			said = has_failed(run, other) && strcmp(pages[other].failure, pages[id].failure) == 0;
		if (said)
			continue;
		for (uint32_t other = id; other < run->plan->nodes && used < sizeof who; other++)
			if (has_failed(run, other) && strcmp(pages[other].failure, pages[id].failure) == 0)
				used += (size_t)snprintf(who + used, sizeof who - used, "%s%u", count++ > 0 ? ", " : "",
							 other);
		if (since_ns != 0 && pages[id].failure_ns > since_ns)
			wh_say("node%s %s, %.1f ms later: %s", count > 1 ? "s" : "", who,
			       (double)(pages[id].failure_ns - since_ns) / 1e6, pages[id].failure);
		else
			wh_say("node%s %s: %s", count > 1 ? "s" : "", who, pages[id].failure);
	}
}

/* Says which node waits for which, from what the nodes noted when they were told to stop. */
static void say_stuck(const struct wh_bench_run *run)
{
	const struct wh_bench_plan *plan = run->plan;

	for (uint32_t id = 0; id < plan->nodes; id++)
		for (uint32_t g = 0; g < plan->subgroup_count; g++) {
			const struct wh_bench_subgroup *subgroup = &plan->subgroups[g];
			const struct wh_bench_part *part = wh_bench_part(&run->memory, plan, id, g);
			const struct whorl_subgroup_stats *stats = &part->stats;
			char open_claim[64] = "";

			if (!wh_bench_is_here(plan, id) ||
			    wh_rank_find(subgroup->members, subgroup->member_count, id) < 0)
				continue;
			if (wh_load_acquire(&run->memory.pages[id].reached) <= BENCH_CLOSE) {
				wh_say("node %u does not answer", id);
				break;
			}
			if (stats->open_claim != 0)
				snprintf(open_claim, sizeof open_claim, ", claim %" PRIu64 " open",
					 stats->open_claim - 1);
			wh_say("node %u, %s: delivered %" PRIu64 " of %" PRIu64 ", sent %" PRIu64 " of %" PRIu64
			       " claimed%s; received up to %" PRIu64 ", delivered up to %" PRIu64
			       "; slowest is node %u, %" PRIu64 " behind",
			       id, subgroup->name, wh_load_relaxed(&part->counted), subgroup->expected, stats->sent,
			       stats->claimed, open_claim, stats->received_num, stats->delivered_num,
			       stats->slowest_member, stats->slowest_behind);
		}
}

/* Says which nodes have ended. Returns how many have. */
static uint32_t reap_nodes(struct wh_bench_run *run)
{
	uint32_t worker, count = 0;
	int status;

	while (wh_crew_reap(&run->crew, &worker, &status)) {
		say_ended(run, worker, status);
		count++;
	}
	return count;
}

/* A node has ended, which has been said: what the others notice of it. */
static void say_noticed(struct wh_bench_run *run)
{
	int64_t patience_ms = run->plan->config.group.failure_timeout_ms + NOTICE_EXTRA_MS;
	uint64_t since = now_ns(), deadline = since + (uint64_t)patience_ms * WH_NS_PER_MS;

	while (now_ns() < deadline && run->watch->interrupted == 0 && count_failed(run) < run->crew.running) {
		wh_watch_wait(run->watch, 10);
		reap_nodes(run);
	}
	say_failures(run, since);
}

/* A node has failed, and may have noticed sooner than we that another has ended: a killed process leaves its mark before the kernel takes it apart.
 * Else the others say what they have to say until nothing new has come for a while. */
static void say_failed(struct wh_bench_run *run)
{
	uint32_t failed = 0;
	uint64_t until = 0;

	do {
		if (reap_nodes(run) > 0) {
			say_noticed(run);
			return;
		}
		if (count_failed(run) > failed) {
			failed = count_failed(run);
			until = now_ns() + (failed < run->crew.running ? BLAME_MS : LOOK_MS) * WH_NS_PER_MS;
		}
		wh_watch_wait(run->watch, 10);
	} while (now_ns() < until);
	say_failures(run, 0);
}

/* ---- the watch ---------------------------------------------------------------------------------------------------------*/

static uint64_t count_delivered(const struct wh_bench_run *run)
{
	size_t parts = (size_t)run->plan->nodes * run->plan->subgroup_count;
	uint64_t sum = 0;

	for (size_t p = 0; p < parts; p++)
		sum += wh_load_relaxed(&run->memory.parts[p].counted) + wh_load_relaxed(&run->memory.parts[p].extra);
	return sum;
}

static bool have_all_reached(const struct wh_bench_run *run, enum wh_bench_phase phase)
{
	for (uint32_t id = 0; id < run->plan->nodes; id++)
		if (wh_bench_is_here(run->plan, id) &&
		    wh_load_acquire(&run->memory.pages[id].reached) <= (uint64_t)phase) /* partner: node_reached */
			return false;
	return true;
}

enum verdict { GO_ON, INTERRUPTED, BROKEN, STUCK };

/* Looks after the nodes until all have reached `phase` (at least for `least_ms`), or something is wrong, which is said. */
static enum verdict await_phase(struct wh_bench_run *run, enum wh_bench_phase phase, int64_t least_ms)
{
	const struct wh_bench_options *options = &run->plan->options;
	uint64_t patience_ns = (uint64_t)options->give_up_s * WH_NS_PER_S;
	uint64_t began = now_ns(), progress_ns = began, last = count_delivered(run);
	uint32_t worker;
	int status;

	if (options->delayed_senders != BENCH_NONE)
		patience_ns += (uint64_t)options->sender_delay_us * WH_NS_PER_US;
	if (phase == BENCH_OPEN && patience_ns < OPEN_S * WH_NS_PER_S)
		patience_ns = OPEN_S * WH_NS_PER_S;
	for (;;) {
		uint64_t now = now_ns(), sum = count_delivered(run);
		bool waited = now - began >= (uint64_t)least_ms * WH_NS_PER_MS;

		if (wh_crew_reap(&run->crew, &worker, &status)) {
			say_ended(run, worker, status);
			say_noticed(run);
			return BROKEN;
		}
		if (count_failed(run) > 0) {
			say_failed(run);
			return BROKEN;
		}
		if (run->watch->interrupted != 0)
			return INTERRUPTED;
		if (waited && have_all_reached(run, phase))
			return GO_ON;
		if (sum != last || !waited) {
			last = sum;
			progress_ns = now;
		} else if (now - progress_ns > patience_ns) {
			wh_say("nothing has been delivered anywhere for %" PRIu64 " s: the run is given up",
			       patience_ns / WH_NS_PER_S);
			return STUCK;
		}
		wh_bench_progress(run);
		wh_watch_wait(run->watch, LOOK_MS);
	}
}

/* The phases one after the other. */
static enum verdict run_phases(struct wh_bench_run *run)
{
	struct wh_bench_shared *shared = run->memory.shared;
	const struct {
		enum wh_bench_phase phase;
		int64_t least_ms;
	} idle[] = {{BENCH_CALM, CALM_MS},
		    {BENCH_IDLE, run->plan->options.idle_seconds * 1000},
		    {BENCH_NOTE, 0},
		    {BENCH_LAST, 0}};
	enum verdict verdict = await_phase(run, BENCH_OPEN, 0);

	if (verdict != GO_ON)
		return verdict;
	shared->start_ns = now_ns();
	wh_phase_set(&shared->phase, BENCH_RUN);
	verdict = await_phase(run, BENCH_RUN, 0);
	if (run->plan->options.idle_seconds == 0)
		return verdict;
	for (size_t i = 0; verdict == GO_ON && i < sizeof idle / sizeof idle[0]; i++) {
		wh_phase_set(&shared->phase, idle[i].phase);
		verdict = await_phase(run, idle[i].phase, idle[i].least_ms);
	}
	return verdict;
}

/* Waits for the nodes to leave. True: all did, as they should. */
static bool close_crew(struct wh_bench_run *run, bool good)
{
	uint64_t deadline = now_ns() + LEAVE_MS * WH_NS_PER_MS;
	bool was_good = good; /* what goes wrong from here on has not been said */
	uint32_t worker;
	int status;

	while (run->crew.running > 0 && now_ns() < deadline) {
		if (!wh_crew_reap(&run->crew, &worker, &status)) {
			wh_watch_wait(run->watch, LOOK_MS);
			continue;
		}
		if (good && (!WIFEXITED(status) || WEXITSTATUS(status) != 0)) {
			say_ended(run, worker, status);
			good = false;
		}
	}
	if (run->crew.running > 0) {
		wh_say("%u nodes do not leave; they are killed", run->crew.running);
		good = false;
	}
	if (!wh_crew_end(&run->crew, 0)) {
		wh_say("a node's thread does not end");
		wh_scratch_close(run->scratch);
		_exit(WH_EXIT_FAILED); /* it uses memory that would be freed */
	}
	if (was_good && count_failed(run) > 0) {
		say_failures(run, 0);
		good = false;
	}
	return good;
}

enum whorl_result wh_bench_run_make(struct wh_bench_run *run)
{
	struct wh_error err;
	enum verdict verdict;
	bool good;

	if (!wh_bench_memory_open(&run->memory, run->plan)) {
		wh_say("no memory for %zu bytes of figures", wh_bench_memory_bytes(run->plan));
		return WHORL_MEMORY;
	}
	pthread_mutex_init(&run->conf_lock, NULL);
	if (wh_crew_start(&run->crew, run->watch, run->plan->here_count, run->plan->options.processes, wh_bench_node,
			  run, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		return err.code;
	}
	verdict = run_phases(run);
	wh_progress("");
	if (verdict == INTERRUPTED)
		wh_bench_print_partial(run->table, run);
	wh_phase_set(&run->memory.shared->phase, verdict == GO_ON ? BENCH_CLOSE : BENCH_STOP);
	good = close_crew(run, verdict == GO_ON);
	if (verdict == STUCK)
		say_stuck(run);
	if (verdict == INTERRUPTED)
		return WHORL_AGAIN;
	return good ? WHORL_OK : WHORL_MEMBER_GONE;
}

void wh_bench_run_free(struct wh_bench_run *run)
{
	wh_shared_free(run->memory.memory, run->memory.bytes);
	run->memory = (struct wh_bench_memory){0};
}
