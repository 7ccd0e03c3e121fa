/* trips.c - what a message takes from one node to another and back when nothing else goes on, see limit.h.
 *
 * A trip is timed from before the message is filled until it has come back; the other fills an answer of the same size.
 * Nodes that are apart all meet each other, two and two; that is a tournament, in which pairs do not wait for each other.
 * On shm the message lies in a slot, with a word on a line of its own behind it, and a node that sleeps is woken by an
 * eventfd, as the transport wakes; on tcp it goes through a connection, and a node that sleeps does so in recv; on verbs it is
 * written into the other's memory, and the word behind it (verbs_trip.c).
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
#include "bench/limit/limit_int.h"
#include "bench/limit/meet.h"
#include "bench/limit/payload.h"
#include "bench/limit/verbs_trip.h"

#define SAMPLES 16384 /* the first so many trips are kept; then the next take their places */
#define SLEEP_MS 20   /* then it looks whether it goes on */
#define LEAST_MS 20   /* that a measurement takes, */
#define MOST_MS 2000  /* and where no node gets to run */

struct line {
	_Alignas(WH_CACHE_LINE) wh_word word;
};

/* The trips of one of the two. [it writes] */
struct log {
	_Alignas(WH_CACHE_LINE) wh_word count; /* so far */
	wh_word samples[SAMPLES];
};

/* Behind the beginning of the shared memory. */
struct area {
	struct line heads[2]; /* the number of the last message of each */
	struct wh_limit_verbs_cards cards;
	struct log logs[2];
	_Alignas(WH_CACHE_LINE) char slots[]; /* [2] */
};

struct trips {
	struct wh_limit_run run;
	struct wh_limit_meeting meeting; /* tcp */
	uint32_t nodes[2];               /* the two that exchange messages: the one that begins, and the other */
	uint32_t here;                   /* the first of the two that is a worker of this command */
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
	uint32_t side; /* 0: it begins; 1 */
	int socket;    /* tcp */
	struct wh_limit_verbs_end verbs;
	char *out, *in;      /* where the message is filled, and where the other's comes */
	const wh_word *head; /* shm, verbs: the number of the last that has come */
	uint64_t sent, got;  /* messages */
	bool yields;
	bool left;  /* the other has; its clock is not mine */
	int number; /* the errno value of what went wrong */
};

static bool goes_on(const struct end *end)
{
	return end->number == 0 && !end->left && wh_phase_get(&end->trips->run.shared->phase) == WH_LIMIT_RUN;
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

	wh_payload_fill(end->out, trips->bytes, wh_payload_seed(0, end->side, ++end->sent));
	if (trips->kind == WH_LIMIT_VERBS) {
		note_failure(end, wh_limit_verbs_end_write(&end->verbs, end->sent));
		return;
	}
	if (trips->kind == WH_LIMIT_TCP) {
		end->left = send(end->socket, end->out, trips->wire, MSG_NOSIGNAL) != (ssize_t)trips->wire;
		return;
	}
	wh_store_release(&trips->area->heads[end->side].word, end->sent); /* partner: has_come */
	if (trips->sleeps && write(trips->bells[1 - end->side], &one, sizeof one) != sizeof one)
		end->number = errno;
}

static bool has_come(struct end *end)
{
	return wh_load_acquire(end->head) > end->got; /* partner: send_message, or the device for it */
}

static void sleep_for_message(struct end *end)
{
	struct pollfd bell = {.fd = end->trips->bells[end->side], .events = POLLIN};
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
		end->left = bytes == 0 || errno != EAGAIN;
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

/* Both take the time: what is an answer to one is a message to the other. */
static void time_trips(struct end *end)
{
	struct log *log = &end->trips->area->logs[end->side];

	if (end->side == 1 && !receive_message(end))
		return;
	while (goes_on(end)) {
		uint64_t start = wh_env_now(wh_env_system()), count = wh_load_relaxed(&log->count);

		send_message(end);
		if (!goes_on(end) || !receive_message(end))
			return;
		wh_store_relaxed(&log->samples[count % SAMPLES], wh_env_now(wh_env_system()) - start);
		wh_store_release(&log->count, count + 1); /* partner: median_us */
	}
}

/* Two that poll get a processor each, and need not yield. False: there is only one. */
static bool pin_side(uint32_t side)
{
	cpu_set_t allowed, one;
	uint32_t left = side;

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
	struct wh_phase *phase = &end->trips->run.shared->phase;
	struct timeval patience = {.tv_usec = SLEEP_MS * 1000};

	/* Soft-RoCE moves bytes by threads of the kernel, which need a turn. */
	end->yields = !end->trips->sleeps && (!pin_side(end->side) || end->trips->kind == WH_LIMIT_VERBS);
	if (end->socket >= 0) {
		setsockopt(end->socket, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
		memset(end->in, 0, end->trips->slot);
	}
	wh_limit_ready(end->trips->run.shared);
	time_trips(end);
	while (end->left && wh_phase_get(phase) == WH_LIMIT_RUN)
		wh_phase_wait(phase, WH_LIMIT_RUN, SLEEP_MS);
}

static void meet_by_verbs(struct end *end)
{
	const struct wh_limit_plan *plan = end->trips->run.plan;
	const char *address = plan->addresses != NULL ? plan->addresses[end->side] : NULL;

	note_failure(end, wh_limit_verbs_end_open(&end->verbs, end->side, address, end->trips->wire, end->trips->sleeps,
						  &end->trips->area->cards, &end->trips->run.shared->phase));
	end->out = end->verbs.out;
	end->in = end->verbs.in;
	end->head = end->verbs.head_in;
}

/* Connects with the other. */
static int meet_other(struct end *end, int *sockets)
{
	const struct trips *trips = end->trips;
	uint32_t other = trips->nodes[1 - end->side];
	int number = wh_limit_meet(&trips->meeting, trips->nodes[end->side], other, sockets);

	end->socket = sockets[other];
	return number == 0 ? wh_limit_together(&trips->meeting, sockets) : number;
}

static int run_node(void *ctx, uint32_t worker)
{
	struct trips *trips = ctx;
	uint32_t side = trips->here + worker;
	int *sockets = NULL;
	struct end end = {.trips = trips,
			  .side = side,
			  .socket = -1,
			  .out = trips->area->slots + side * trips->slot,
			  .in = trips->area->slots + (1 - side) * trips->slot,
			  .head = &trips->area->heads[1 - side].word};

	if (trips->kind == WH_LIMIT_TCP) {
		end.in = malloc(trips->slot); /* the other's slot is where it fills */
		sockets = calloc(trips->meeting.nodes, sizeof *sockets);
		end.number = end.in == NULL || sockets == NULL ? ENOMEM : meet_other(&end, sockets);
	}
	if (trips->kind == WH_LIMIT_VERBS)
		meet_by_verbs(&end);
	if (end.number == 0)
		run_end(&end);
	if (trips->kind == WH_LIMIT_VERBS)
		wh_limit_verbs_end_close(&end.verbs);
	if (sockets != NULL)
		wh_limit_part(&trips->meeting, sockets);
	if (trips->kind == WH_LIMIT_TCP)
		free(end.in);
	free(sockets);
	/* On verbs the other may have seen the end first, and closed its queue pair. */
	return wh_phase_get(&trips->run.shared->phase) == WH_LIMIT_STOP ? 0 : end.number;
}

/* ---- the parent --------------------------------------------------------------------------------------------------*/

/* Of the trips from number `first` on, or of all if there were none, in microseconds; 0: there were none at all, or no memory. */
static double median_us(const struct log *log, uint64_t first)
{
	uint64_t count = wh_load_acquire(&log->count), kept; /* partner: time_trips */
	uint64_t *sorted = calloc(SAMPLES, sizeof *sorted);
	double us = 0;

	if (count <= first)
		first = 0; /* the other was warm earlier, and has left */
	if (sorted == NULL || count == 0)
		goto out_free;
	kept = count - first < SAMPLES ? count - first : SAMPLES;
	for (uint64_t i = 0; i < kept; i++)
		sorted[i] = wh_load_relaxed(&log->samples[(count - 1 - i) % SAMPLES]);
	us = wh_limit_median_us(sorted, kept);
out_free:
	free(sorted);
	return us;
}

static enum whorl_result open_ways(struct trips *trips, const struct wh_limit_plan *plan, uint32_t number,
				   struct wh_error *err)
{
	if (trips->kind == WH_LIMIT_TCP)
		return wh_limit_meeting_open(&trips->meeting, plan, plan->nodes, number, err);
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

static enum whorl_result measure_median(struct trips *trips, struct wh_watch *watch, double *us, struct wh_error *err)
{
	const struct wh_limit_plan *plan = trips->run.plan;
	uint32_t fifth = plan->measure_ms / 5, ms = fifth > LEAST_MS ? fifth : LEAST_MS, count = plan->apart ? 1 : 2;
	enum whorl_result result = wh_limit_start(&trips->run, watch, count, count, run_node, trips, err);
	const struct log *log = &trips->area->logs[trips->here];
	uint64_t first;

	if (result == WHORL_OK)
		result = wh_limit_pass(&trips->run, ms / 2, err); /* warm up */
	if (result != WHORL_OK)
		return result;
	first = wh_load_acquire(&log->count);
	/* Not one trip alone: by its second one the other, which may be apart and measures by its own clock, has one too. */
	for (uint32_t past = 0; result == WHORL_OK && past < MOST_MS; past += ms) {
		result = wh_limit_pass(&trips->run, ms, err);
		if (wh_load_acquire(&log->count) > first + 1)
			break;
	}
	*us = median_us(log, first);
	return result;
}

/* Between two nodes, of which one or both are here. `number` tells these trips from others. */
static enum whorl_result measure_pair(const struct wh_limit_plan *plan, struct wh_watch *watch, uint32_t first,
				      uint32_t second, uint32_t number, double us[2], struct wh_error *err)
{
	size_t slot = wh_limit_round_up(wh_limit_slot(plan->rings[0].bytes), WH_CACHE_LINE);
	size_t offset = wh_limit_round_up(wh_limit_shared_bytes(0), WH_CACHE_LINE);
	size_t bytes = wh_limit_round_up(offset + sizeof(struct area) + 2 * slot, WH_HUGE_PAGE);
	enum whorl_result result = WHORL_OK;

	for (uint32_t way = WH_LIMIT_POLLING; way <= WH_LIMIT_SLEEPING && result == WHORL_OK; way++) {
		struct trips trips = {.kind = plan->kind,
				      .nodes = {first, second},
				      .here = plan->apart && plan->here == second,
				      .sleeps = way == WH_LIMIT_SLEEPING,
				      .bytes = plan->rings[0].bytes,
				      .slot = slot,
				      .wire = wh_limit_slot(plan->rings[0].bytes),
				      .bells = {-1, -1}};

		result = open_ways(&trips, plan, 2 * number + way, err);
		if (result == WHORL_OK)
			result = wh_limit_open(&trips.run, plan, bytes, 0, err);
		if (result == WHORL_OK) {
			trips.area = (struct area *)((char *)trips.run.shared + offset);
			result = measure_median(&trips, watch, &us[way], err);
		}
		result = wh_limit_close(&trips.run, result, err);
		close_ways(&trips);
	}
	return result;
}

/* The node that `node` meets in a round of a tournament of `count` players, an even number: one stays where it is, and the others
 * walk around it. In count - 1 rounds each meets each. */
static uint32_t opponent_of(uint32_t node, uint32_t round, uint32_t count)
{
	uint32_t walkers = count - 1, other = (round + walkers - node % walkers) % walkers;

	if (node == walkers)
		return round * (count / 2) % walkers; /* the walker that would meet itself: twice it is `round` */
	return other == node ? walkers : other;
}

static enum whorl_result measure_all(const struct wh_limit_plan *plan, struct wh_watch *watch,
				     struct wh_limit_result *out, struct wh_error *err)
{
	uint32_t count = plan->nodes + plan->nodes % 2, here = plan->here;
	enum whorl_result result = WHORL_OK;

	for (uint32_t round = 0; round < count - 1 && result == WHORL_OK; round++) {
		uint32_t other = opponent_of(here, round, count);
		double *us;

		if (other >= plan->nodes) /* their number is odd: this one rests */
			continue;
		us = out->peers[other].us;
		result = measure_pair(plan, watch, here < other ? here : other, here < other ? other : here, round + 1,
				      us, err);
		for (size_t way = 0; way < 2; way++)
			if (us[way] > out->round_trip_us[way])
				out->round_trip_us[way] = us[way];
	}
	return result;
}

enum whorl_result wh_limit_trips(const struct wh_limit_plan *plan, struct wh_watch *watch, struct wh_limit_result *out,
				 struct wh_error *err)
{
	return plan->apart ? measure_all(plan, watch, out, err)
			   : measure_pair(plan, watch, 0, 1, 1, out->round_trip_us, err);
}
