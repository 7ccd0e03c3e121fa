/* pattern.c - what one message of an ordered multicast takes where no other is on its way, without any protocol, see limit.h.
 *
 * Node 0 sends a message to all others, once in a millisecond; each of them sends an acknowledgement to all; a node has it when it has the message
 * and the acknowledgements of all. The time from before the message is filled until then is taken at each node. These are the
 * writes and the waits that stability costs whichever protocol there is: one trip there and one back, among processes that
 * share the processors. Nodes that poll yield where there are fewer processors than nodes.
 *
 * Where a thread of its own sends in the run (`paced`), it is measured again with such a thread: at node 0 it sleeps until the time of the next
 * message, takes a processor from a node that polls, sends, and sleeps again; node 0's other thread waits for the acknowledgements.
 *
 * On shm the message lies in a slot, with a word on a line of its own behind it; an acknowledgement is such a word; and a node that sleeps is
 * woken by an eventfd. On tcp both go through a connection for each pair, and a node that sleeps does so in poll.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/env.h"
#include "bench/limit/limit_int.h"
#include "bench/limit/meet.h"
#include "bench/limit/payload.h"

#define NODES_MAX 16
#define SAMPLES 4096
#define PACE_NS WH_NS_PER_MS
#define SLEEP_MS 20  /* then it looks whether it goes on */
#define LEAST_MS 50  /* that a measurement takes, */
#define MOST_MS 2000 /* and where no node gets to run */
#define WORD 8u      /* bytes of an acknowledgement */
#define NUMBER 100   /* of the meetings: others are those of trips */

struct log {                                  /* [its node writes] */
	_Alignas(WH_CACHE_LINE) wh_word head; /* shm: the last message that it has sent, or acknowledged */
	_Alignas(WH_CACHE_LINE) wh_word count;
	wh_word samples[SAMPLES];
};

/* Behind the beginning of the shared memory. */
struct area {
	_Alignas(WH_CACHE_LINE) wh_word start_ns; /* of the message that is on its way [node 0] */
	struct log logs[NODES_MAX];
	_Alignas(WH_CACHE_LINE) char slot[]; /* shm: the message */
};

struct pattern {
	struct wh_limit_run run;
	struct wh_limit_meeting meeting; /* tcp */
	bool tcp, sleeps, yields;
	bool sends_apart; /* node 0 has a thread that sends */
	uint32_t nodes, bytes;
	size_t wire;
	struct area *area;
	int bells[NODES_MAX]; /* shm */
};

struct end { /* one node, or the thread of node 0 that sends */
	struct pattern *pattern;
	uint32_t node;
	int *sockets;              /* tcp: by node; -1: none */
	char *buffer;              /* tcp: what comes and goes */
	uint64_t bytes[NODES_MAX]; /* tcp: that have come of each */
	unsigned empty;            /* looks in a row that have found nothing */
	bool left;                 /* another has */
	wh_word over;              /* its node has ended [the node's thread] */
	int number;                /* the errno value of what went wrong */
};

static bool goes_on(const struct end *end)
{
	return end->number == 0 && !end->left && wh_load_relaxed(&end->over) == 0 &&
	       wh_phase_get(&end->pattern->run.shared->phase) == WH_LIMIT_RUN;
}

/* How many messages or acknowledgements have come of it. */
static uint64_t come_of(struct end *end, uint32_t node)
{
	const struct pattern *pattern = end->pattern;
	ssize_t got;

	if (!pattern->tcp)
		return wh_load_acquire(&pattern->area->logs[node].head); /* partner: say */
	while ((got = recv(end->sockets[node], end->buffer, pattern->wire, MSG_DONTWAIT)) > 0)
		end->bytes[node] += (uint64_t)got;
	end->left = end->left || got == 0 || (errno != EAGAIN && errno != EINTR);
	return end->bytes[node] / (node == 0 ? pattern->wire : WORD);
}

static bool has_come(struct end *end, uint32_t first, uint32_t behind, uint64_t round)
{
	for (uint32_t node = first; node < behind; node++)
		if (node != end->node && come_of(end, node) < round)
			return false;
	return true;
}

static void sleep_a_while(struct end *end)
{
	struct pattern *pattern = end->pattern;
	struct pollfd fds[NODES_MAX];
	uint64_t rings;
	nfds_t count = 0;

	if (!pattern->tcp)
		fds[count++] = (struct pollfd){.fd = pattern->bells[end->node], .events = POLLIN};
	for (uint32_t node = 0; pattern->tcp && node < pattern->nodes; node++)
		if (node != end->node)
			fds[count++] = (struct pollfd){.fd = end->sockets[node], .events = POLLIN};
	if (poll(fds, count, SLEEP_MS) > 0 && !pattern->tcp &&
	    read(pattern->bells[end->node], &rings, sizeof(rings)) < 0 && errno != EAGAIN)
		end->number = errno;
}

static bool await(struct end *end, uint32_t first, uint32_t behind, uint64_t round)
{
	while (!has_come(end, first, behind, round)) {
		if (!goes_on(end))
			return false;
		if (end->pattern->sleeps)
			sleep_a_while(end);
		else if (end->pattern->yields && ++end->empty % WH_LIMIT_EMPTY_PASSES == 0)
			sched_yield();
		else
			wh_cpu_relax();
	}
	return true;
}

/* To all others: the message, or that it has come. */
static void say(struct end *end, uint64_t round, size_t bytes)
{
	struct pattern *pattern = end->pattern;
	const uint64_t one = 1;

	if (!pattern->tcp)
		wh_store_release(&pattern->area->logs[end->node].head, round); /* the slot before; partner: come_of */
	for (uint32_t node = 0; node < pattern->nodes && end->number == 0; node++) {
		if (node == end->node)
			continue;
		if (pattern->tcp)
			end->left |= send(end->sockets[node], end->buffer, bytes, MSG_NOSIGNAL) != (ssize_t)bytes;
		else if (pattern->sleeps && write(pattern->bells[node], &one, sizeof(one)) != sizeof(one))
			end->number = errno;
	}
}

/* At node 0, until it is time for the next. */
static void await_pace(struct end *end, uint64_t at_ns)
{
	const struct timespec at = {.tv_sec = (time_t)(at_ns / WH_NS_PER_S), .tv_nsec = (long)(at_ns % WH_NS_PER_S)};
	bool sleeps = end->pattern->sleeps || end->pattern->sends_apart;

	if (sleeps)
		(void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL);
	while (!sleeps && goes_on(end) && wh_env_now(wh_env_system()) < at_ns)
		if (end->pattern->yields)
			sched_yield();
		else
			wh_cpu_relax();
}

/* When it is time, and node 0 has all of the one before. */
static void begin_round(struct end *end, uint64_t round, uint64_t *at_ns)
{
	struct pattern *pattern = end->pattern;
	const wh_word *count = &pattern->area->logs[0].count;
	uint64_t now;

	do {
		*at_ns += PACE_NS;
		await_pace(end, *at_ns);
	} while (wh_load_acquire(count) < round - 1 && goes_on(end)); /* partner: run_rounds */
	now = wh_env_now(wh_env_system());
	*at_ns = now > *at_ns + PACE_NS ? now : *at_ns;
	wh_store_relaxed(&pattern->area->start_ns, now); /* what is said next is behind it */
	wh_payload_fill(pattern->tcp ? end->buffer : pattern->area->slot, pattern->bytes, wh_payload_seed(0, 0, round));
	say(end, round, pattern->wire);
}

static void run_rounds(struct end *end)
{
	struct pattern *pattern = end->pattern;
	struct log *log = &pattern->area->logs[end->node];
	uint64_t at_ns = wh_env_now(wh_env_system());

	for (uint64_t round = 1; goes_on(end); round++) {
		uint64_t count = wh_load_relaxed(&log->count), start;

		if (end->node > 0) {
			if (!await(end, 0, 1, round))
				return;
			say(end, round, WORD);
		} else if (!pattern->sends_apart) {
			begin_round(end, round, &at_ns);
		}
		/* No other round begins before all have acknowledged this one, nor before node 0 has counted it. */
		start = wh_load_relaxed(&pattern->area->start_ns);
		if (!await(end, 0, pattern->nodes, round))
			return;
		if (end->node == 0)
			start = wh_load_relaxed(&pattern->area->start_ns);
		wh_store_relaxed(&log->samples[count % SAMPLES], wh_env_now(wh_env_system()) - start);
		wh_store_release(&log->count, count + 1); /* partners: the median, begin_round */
	}
}

static void *send_rounds(void *context)
{
	struct end *end = context;
	uint64_t at_ns = wh_env_now(wh_env_system());

	for (uint64_t round = 1; goes_on(end); round++)
		begin_round(end, round, &at_ns);
	return NULL;
}

/* Node 0 with a thread that sends. */
static void run_two_threads(struct end *end)
{
	struct end sender = {.pattern = end->pattern,
			     .node = end->node,
			     .sockets = end->sockets,
			     .buffer = calloc(1, end->pattern->wire)};
	pthread_t thread;

	end->number = sender.buffer == NULL ? ENOMEM : pthread_create(&thread, NULL, send_rounds, &sender);
	if (end->number == 0) {
		run_rounds(end);
		wh_store_relaxed(&sender.over, 1);
		pthread_join(thread, NULL);
		end->number = end->number != 0 ? end->number : sender.number;
	}
	free(sender.buffer);
}

static int run_node(void *ctx, uint32_t node)
{
	struct pattern *pattern = ctx;
	struct wh_phase *phase = &pattern->run.shared->phase;
	struct end end = {.pattern = pattern, .node = node};

	end.sockets = calloc(pattern->nodes, sizeof(*end.sockets));
	end.buffer = calloc(1, pattern->wire);
	if (end.sockets == NULL || end.buffer == NULL)
		end.number = ENOMEM;
	else if (pattern->tcp)
		end.number = wh_limit_meet(&pattern->meeting, node, WH_LIMIT_EVERYBODY, end.sockets);
	if (end.number == 0) {
		wh_limit_ready(pattern->run.shared);
		if (node == 0 && pattern->sends_apart)
			run_two_threads(&end);
		else
			run_rounds(&end);
	}
	while (end.number == 0 && wh_phase_get(phase) == WH_LIMIT_RUN)
		wh_phase_wait(phase, WH_LIMIT_RUN, SLEEP_MS);
	if (pattern->tcp && end.sockets != NULL)
		wh_limit_part(&pattern->meeting, end.sockets);
	free(end.sockets);
	free(end.buffer);
	return wh_phase_get(phase) == WH_LIMIT_STOP ? 0 : end.number;
}

/* ---- the parent -------------------------------------------------------------------------------------------------- */

/* Of what all nodes have noted from `first` on, in microseconds; 0: nothing, or no memory. */
static double median_us(const struct pattern *pattern, const uint64_t *first)
{
	uint64_t *sorted = calloc((size_t)pattern->nodes * SAMPLES, sizeof(*sorted)), kept = 0;
	double us;

	for (uint32_t node = 0; sorted != NULL && node < pattern->nodes; node++) {
		const struct log *log = &pattern->area->logs[node];
		uint64_t count = wh_load_acquire(&log->count); /* partner: run_rounds */

		for (uint64_t i = count > SAMPLES ? count - SAMPLES : 0; i < count; i++)
			if (i >= first[node])
				sorted[kept++] = wh_load_relaxed(&log->samples[i % SAMPLES]);
	}
	us = wh_limit_median_us(sorted, kept);
	free(sorted);
	return us;
}

static void note_counts(const struct pattern *pattern, uint64_t *counts)
{
	for (uint32_t node = 0; node < pattern->nodes; node++)
		counts[node] = wh_load_acquire(&pattern->area->logs[node].count);
}

static enum whorl_result measure(struct pattern *pattern, struct wh_watch *watch, double *us, struct wh_error *err)
{
	uint32_t fifth = pattern->run.plan->measure_ms / 5, ms = fifth > LEAST_MS ? fifth : LEAST_MS;
	uint64_t first[NODES_MAX], now[NODES_MAX];
	enum whorl_result result =
		wh_limit_start(&pattern->run, watch, pattern->nodes, pattern->nodes, run_node, pattern, err);

	if (result == WHORL_OK)
		result = wh_limit_pass(&pattern->run, ms / 2, err); /* warm up */
	note_counts(pattern, first);
	for (uint32_t past = 0; result == WHORL_OK && past < MOST_MS; past += ms) {
		result = wh_limit_pass(&pattern->run, ms, err);
		note_counts(pattern, now);
		if (now[0] > first[0] + 1)
			break;
	}
	*us = median_us(pattern, first);
	return result;
}

static enum whorl_result open_ways(struct pattern *pattern, const struct wh_limit_plan *plan, struct wh_error *err)
{
	if (pattern->tcp)
		return wh_limit_meeting_open(&pattern->meeting, plan, plan->nodes,
					     NUMBER + pattern->sleeps + 2 * pattern->sends_apart, err);
	for (uint32_t node = 0; node < pattern->nodes; node++) {
		pattern->bells[node] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (pattern->bells[node] < 0)
			return wh_error_system(err, errno, "limit: eventfd");
	}
	return WHORL_OK;
}

static void close_ways(struct pattern *pattern)
{
	wh_limit_meeting_close(&pattern->meeting);
	for (uint32_t node = 0; node < NODES_MAX; node++)
		if (pattern->bells[node] >= 0)
			close(pattern->bells[node]);
}

static bool has_fewer_processors(uint32_t nodes)
{
	cpu_set_t allowed;

	return sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || (uint32_t)CPU_COUNT(&allowed) <= nodes;
}

static enum whorl_result measure_way(const struct wh_limit_plan *plan, struct wh_watch *watch, enum wh_limit_trip way,
				     bool sends_apart, double *us, struct wh_error *err)
{
	size_t offset = wh_limit_round_up(wh_limit_shared_bytes(0), WH_CACHE_LINE);
	size_t wire = wh_limit_slot(plan->rings[0].bytes);
	struct pattern pattern = {.tcp = plan->kind == WH_LIMIT_TCP,
				  .sleeps = way == WH_LIMIT_SLEEPING,
				  .sends_apart = sends_apart,
				  .yields = has_fewer_processors(plan->nodes),
				  .nodes = plan->nodes,
				  .bytes = plan->rings[0].bytes,
				  .wire = wire};
	enum whorl_result result;

	for (uint32_t node = 0; node < NODES_MAX; node++)
		pattern.bells[node] = -1;
	result = open_ways(&pattern, plan, err);
	if (result == WHORL_OK)
		result = wh_limit_open(&pattern.run, plan,
				       wh_limit_round_up(offset + sizeof(struct area) + wire, WH_HUGE_PAGE), 0, err);
	if (result == WHORL_OK) {
		pattern.area = (struct area *)((char *)pattern.run.shared + offset);
		result = measure(&pattern, watch, us, err);
	}
	result = wh_limit_close(&pattern.run, result, err);
	close_ways(&pattern);
	return result;
}

enum whorl_result wh_limit_pattern(const struct wh_limit_plan *plan, struct wh_watch *watch,
				   struct wh_limit_result *out, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	if (plan->apart || plan->nodes > NODES_MAX || (plan->kind != WH_LIMIT_TCP && plan->kind != WH_LIMIT_SHM))
		return WHORL_OK;
	for (uint32_t way = WH_LIMIT_POLLING; way <= WH_LIMIT_SLEEPING && result == WHORL_OK; way++) {
		result = measure_way(plan, watch, (enum wh_limit_trip)way, false, &out->pattern_us[way], err);
		if (result == WHORL_OK && plan->paced && !plan->caller)
			result = measure_way(plan, watch, (enum wh_limit_trip)way, true, &out->sent_apart_us[way], err);
	}
	return result;
}
