/* trips.c - what a message takes from node 0 to node 1 and back when nothing else goes on, see limit.h.
 *
 * A trip is timed from before the message is filled until it has come back; the other fills an answer of the same size.
 * On shm the message lies in a slot, with a word on a line of its own behind it, and who sleeps is woken by an eventfd,
 * as the transport wakes; on tcp it goes through a connection, and who sleeps does so in recv; on verbs it is written into
 * the other's memory, and the word behind it (verbs_trip.c).
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/env.h"
#include "tools/limit/limit_int.h"
#include "tools/limit/meet.h"
#include "tools/limit/payload.h"
#include "tools/limit/verbs_trip.h"

#define SAMPLES 16384 /* the first so many trips are kept; then the next take their places */
#define SLEEP_MS 20   /* then it looks whether it goes on */
#define LEAST_MS 20   /* that a measurement takes, */
#define MOST_MS 2000  /* and where nobody gets to run */

struct line {
	_Alignas(WH_CACHE_LINE) wh_word word;
};

/* Behind the beginning of the shared memory. */
struct area {
	struct line heads[2]; /* the number of the last message of each node */
	struct wh_limit_verbs_cards cards;
	wh_word count; /* [node 0] trips so far */
	wh_word samples[SAMPLES];
	_Alignas(WH_CACHE_LINE) char slots[]; /* [2] */
};

struct trips {
	struct wh_limit_run run;
	struct wh_limit_meeting meeting; /* tcp */
	enum wh_limit_kind kind;
	bool sleeps;
	uint32_t bytes;
	size_t slot, wire; /* a message in memory, and what is sent of it */
	struct area *area;
	int bells[2]; /* shm */
};

/* One of the two. */
struct end {
	struct trips *trips;
	uint32_t node;
	int socket; /* tcp */
	struct wh_limit_verbs_end verbs;
	char *out, *in;      /* where the message is filled, and where the other's comes */
	const wh_word *head; /* shm, verbs: the number of the last that has come */
	uint64_t sent, got;  /* messages */
	bool yields;
	int number; /* the errno value of what went wrong */
};

static bool goes_on(const struct end *end)
{
	return end->number == 0 && wh_phase_get(&end->trips->run.shared->phase) == WH_LIMIT_RUN;
}

static void note_failure(struct end *end, const char *failure)
{
	if (failure != NULL && end->number == 0)
		end->number = errno > 0 && errno < 126 ? errno : EIO;
}

static void send_message(struct end *end)
{
	struct trips *trips = end->trips;
	uint64_t one = 1;

	wh_payload_fill(end->out, trips->bytes, wh_payload_seed(0, end->node, ++end->sent));
	if (trips->kind == WH_LIMIT_VERBS) {
		note_failure(end, wh_limit_verbs_end_write(&end->verbs, end->sent));
		return;
	}
	if (trips->kind == WH_LIMIT_TCP) {
		if (send(end->socket, end->out, trips->wire, MSG_NOSIGNAL) != (ssize_t)trips->wire)
			end->number = EPIPE;
		return;
	}
	wh_store_release(&trips->area->heads[end->node].word, end->sent); /* partner: has_come */
	if (trips->sleeps && write(trips->bells[1 - end->node], &one, sizeof one) != sizeof one)
		end->number = errno;
}

static bool has_come(struct end *end)
{
	return wh_load_acquire(end->head) > end->got; /* partner: send_message, or the device for it */
}

static void sleep_for_message(struct end *end)
{
	struct pollfd bell = {.fd = end->trips->bells[end->node], .events = POLLIN};
	uint64_t rings;

	if (end->trips->kind == WH_LIMIT_VERBS) {
		note_failure(end, wh_limit_link_listen(&end->verbs.link));
		if (end->number == 0 && !has_come(end))
			note_failure(end, wh_limit_link_sleep(&end->verbs.link, SLEEP_MS));
	} else if (poll(&bell, 1, SLEEP_MS) > 0 && read(bell.fd, &rings, sizeof rings) < 0 && errno != EAGAIN) {
		end->number = errno;
	}
}

static bool receive_in_memory(struct end *end)
{
	unsigned empty = 0;

	while (!has_come(end)) {
		if (!goes_on(end))
			return false;
		if (end->trips->sleeps) {
			sleep_for_message(end);
		} else if (!end->yields || ++empty < WH_LIMIT_EMPTY_PASSES) {
			wh_cpu_relax();
		} else {
			sched_yield();
		}
	}
	return true;
}

static bool receive_from_socket(struct end *end)
{
	struct trips *trips = end->trips;
	size_t came = 0;
	unsigned empty = 0;

	while (came < trips->wire) {
		ssize_t bytes = recv(end->socket, end->in + came, trips->wire - came, trips->sleeps ? 0 : MSG_DONTWAIT);

		if (bytes > 0) {
			came += (size_t)bytes;
			continue;
		}
		if (bytes == 0 || errno != EAGAIN)
			end->number = bytes == 0 ? ECONNRESET : errno;
		if (!goes_on(end))
			return false;
		if (end->yields && ++empty >= WH_LIMIT_EMPTY_PASSES)
			sched_yield();
	}
	return true;
}

static bool receive_message(struct end *end)
{
	bool came = end->trips->kind == WH_LIMIT_TCP ? receive_from_socket(end) : receive_in_memory(end);

	end->got += came;
	return came;
}

/* Node 0 begins, and takes the time. */
static void travel(struct end *end)
{
	struct area *area = end->trips->area;

	while (goes_on(end)) {
		uint64_t start = wh_env_now(wh_env_system()), count = wh_load_relaxed(&area->count);

		send_message(end);
		if (end->number != 0 || !receive_message(end))
			return;
		wh_store_relaxed(&area->samples[count % SAMPLES], wh_env_now(wh_env_system()) - start);
		wh_store_release(&area->count, count + 1); /* partner: median */
	}
}

static void answer(struct end *end)
{
	while (goes_on(end) && receive_message(end))
		send_message(end);
}

/* Two that poll get a processor each, and need not yield. False: there is only one. */
static bool pin(uint32_t node)
{
	cpu_set_t allowed, one;
	uint32_t left = node;

	if (sched_getaffinity(0, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) < 2)
		return false;
	for (size_t cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed) || left-- > 0)
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
	}
	return false;
}

static void run_end(struct end *end)
{
	struct timeval patience = {.tv_usec = SLEEP_MS * 1000};

	/* Soft-RoCE moves bytes by threads of the kernel, which need a turn. */
	end->yields = !end->trips->sleeps && (!pin(end->node) || end->trips->kind == WH_LIMIT_VERBS);
	if (end->socket >= 0) {
		setsockopt(end->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		memset(end->in, 0, end->trips->slot);
	}
	wh_limit_ready(end->trips->run.shared);
	if (end->node == 0)
		travel(end);
	else
		answer(end);
}

static void meet_by_verbs(struct end *end)
{
	const struct wh_limit_plan *plan = end->trips->run.plan;
	const char *address = plan->addresses != NULL ? plan->addresses[end->node] : NULL;

	note_failure(end, wh_limit_verbs_end_open(&end->verbs, end->node, address, end->trips->wire, end->trips->sleeps,
						  &end->trips->area->cards, &end->trips->run.shared->phase));
	end->out = end->verbs.out;
	end->in = end->verbs.in;
	end->head = end->verbs.head_in;
}

static int run_node(void *ctx, uint32_t node)
{
	struct trips *trips = ctx;
	int sockets[2] = {-1, -1};
	struct end end = {.trips = trips,
			  .node = node,
			  .socket = -1,
			  .out = trips->area->slots + node * trips->slot,
			  .in = trips->area->slots + (1 - node) * trips->slot,
			  .head = &trips->area->heads[1 - node].word};

	if (trips->kind == WH_LIMIT_TCP) {
		end.in = malloc(trips->slot); /* the other's slot is where it fills */
		end.number = end.in == NULL ? ENOMEM : wh_limit_meet(&trips->meeting, node, sockets);
		end.socket = sockets[1 - node];
	}
	if (trips->kind == WH_LIMIT_VERBS)
		meet_by_verbs(&end);
	if (end.number == 0)
		run_end(&end);
	wh_limit_verbs_end_close(&end.verbs);
	if (trips->kind == WH_LIMIT_TCP) {
		wh_limit_part(&trips->meeting, sockets);
		free(end.in);
	}
	/* The other may have seen the end first, and closed its socket. */
	return wh_phase_get(&trips->run.shared->phase) == WH_LIMIT_STOP ? 0 : end.number;
}

/* ---- the parent --------------------------------------------------------------------------------------------------*/

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

/* Of the trips from number `first` on, in microseconds; 0: there were none, or no memory. */
static double median(const struct area *area, uint64_t first)
{
	uint64_t count = wh_load_acquire(&area->count), kept; /* partner: travel */
	uint64_t *sorted = calloc(SAMPLES, sizeof *sorted);
	double us = 0;

	if (sorted == NULL || count <= first)
		goto out_free;
	kept = count - first < SAMPLES ? count - first : SAMPLES;
	for (uint64_t i = 0; i < kept; i++)
		sorted[i] = wh_load_relaxed(&area->samples[(count - 1 - i) % SAMPLES]);
	qsort(sorted, kept, sizeof *sorted, by_value);
	us = (double)sorted[kept / 2] / 1e3;
out_free:
	free(sorted);
	return us;
}

static enum whorl_result open_ways(struct trips *trips, struct wh_error *err)
{
	if (trips->kind == WH_LIMIT_TCP)
		return wh_limit_meeting_open(&trips->meeting, 2, err);
	if (trips->kind == WH_LIMIT_VERBS)
		return WHORL_OK;
	for (size_t i = 0; i < 2; i++) {
		trips->bells[i] = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
		if (trips->bells[i] < 0)
			return wh_error_system(err, errno, "limit: eventfd");
	}
	return WHORL_OK;
}

static void close_ways(struct trips *trips)
{
	wh_limit_meeting_close(&trips->meeting);
	for (size_t i = 0; i < 2; i++)
		if (trips->bells[i] >= 0)
			close(trips->bells[i]);
}

static enum whorl_result measure(struct trips *trips, struct wh_watch *watch, double *us, struct wh_error *err)
{
	uint32_t fifth = trips->run.plan->measure_ms / 5, ms = fifth > LEAST_MS ? fifth : LEAST_MS;
	enum whorl_result result = wh_limit_start(&trips->run, watch, 2, 2, run_node, trips, err);
	uint64_t first;

	if (result == WHORL_OK)
		result = wh_limit_pass(&trips->run, ms / 2, err); /* warm up */
	if (result != WHORL_OK)
		return result;
	first = wh_load_acquire(&trips->area->count);
	for (uint32_t past = 0; result == WHORL_OK && past < MOST_MS; past += ms) {
		result = wh_limit_pass(&trips->run, ms, err);
		if (wh_load_acquire(&trips->area->count) > first)
			break;
	}
	*us = median(trips->area, first);
	return result;
}

enum whorl_result wh_limit_trips(const struct wh_limit_plan *plan, struct wh_watch *watch, struct wh_limit_result *out,
				 struct wh_error *err)
{
	size_t slot = wh_limit_round_up(wh_limit_slot(plan->rings[0].bytes), WH_CACHE_LINE);
	size_t offset = wh_limit_round_up(wh_limit_shared_bytes(0), WH_CACHE_LINE);
	size_t bytes = wh_limit_round_up(offset + sizeof(struct area) + 2 * slot, WH_HUGE_PAGE);
	enum whorl_result result = WHORL_OK;

	for (int way = WH_LIMIT_POLLING; way <= WH_LIMIT_SLEEPING && result == WHORL_OK; way++) {
		struct trips trips = {.kind = plan->kind,
				      .sleeps = way == WH_LIMIT_SLEEPING,
				      .bytes = plan->rings[0].bytes,
				      .slot = slot,
				      .wire = wh_limit_slot(plan->rings[0].bytes),
				      .bells = {-1, -1}};

		result = open_ways(&trips, err);
		if (result == WHORL_OK)
			result = wh_limit_open(&trips.run, plan, bytes, 0, err);
		if (result == WHORL_OK) {
			trips.area = (struct area *)((char *)trips.run.shared + offset);
			result = measure(&trips, watch, &out->round_trip_us[way], err);
		}
		result = wh_limit_close(&trips.run, result, err);
		close_ways(&trips);
	}
	return result;
}
