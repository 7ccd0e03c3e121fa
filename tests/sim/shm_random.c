/* shm_random.c - the same random combinations on shared memory, with real threads and processes: shm-random, see runner.h.
 *
 * The nodes of a run live in one process or in several. Some have a thread of their own, others are stepped by one of
 * ours: turn by turn, by whorl_wait, or by poll on whorl_fd. On each node a few threads share all its streams; they
 * claim several slots at a time, and commit or abort them in any order. Each node records what it delivers in memory
 * that all processes see. When all is delivered everywhere the records are checked:
 *
 *     order     all members of an ordered subgroup have delivered the same sequence
 *     fifo      of each sender every committed message, once, in the order of its claims
 *     payload   as it was committed, looked at in the upcall
 */
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <whorl/whorl.h>

#include "base/atomics.h"
#include "group/node.h"
#include "tests/sim/payload.h"
#include "tests/sim/plan.h"
#include "tests/sim/runner.h"
#include "transport/dice.h"
#include "transport/shm.h"

#define PATIENCE_MS 60000
#define SENDERS_MAX 3 /* threads of ours on a node */
#define HELD_MAX 4    /* claims that a thread has at once */

struct sent { /* a message, as its sender made it */
	uint32_t bytes;
	bool aborted;
};

struct stream { /* what one sender sends in one subgroup; shared */
	uint32_t quota;
	wh_word tickets; /* claims that somebody is about to make, or has made */
	wh_word finished;
	struct sent *sent; /* by number */
};

struct delivery {
	uint64_t index, sequence;
	uint32_t sender, bytes; /* sender: rank, UINT32_MAX: none */
	bool whole;
};

struct record { /* what one member delivers in one subgroup; shared, written by its loop */
	wh_word count;
	uint64_t capacity;
	struct delivery *deliveries;
};

struct circle {                 /* one subgroup; shared */
	struct stream *streams; /* by sender rank */
	struct record *records; /* by place among the members */
};

struct stage { /* shared by all processes of a run */
	const struct plan *plan;
	struct circle *circles;
	uint32_t processes;
	wh_word complete; /* nodes that have delivered everything */
	wh_word failed;
	char verdict[512];     /* of the first to fail */
	unsigned char *memory; /* all of the above */
	size_t used, bytes;
};

enum stepping { DEDICATED, TURNS, WAITING, POLLING };

struct seat { /* one node in one subgroup */
	struct stage *stage;
	uint32_t g;
	whorl_subgroup *subgroup;
	struct record *record;
	struct stream *stream; /* NULL: no sender */
	uint32_t rank;         /* among the senders */
};

struct node { /* of this process */
	struct stage *stage;
	uint32_t id, sender_threads;
	enum stepping stepping;
	whorl_node *node;
	struct seat *seats;
	uint32_t seat_count;
	pthread_t stepper, senders[SENDERS_MAX];
	struct sender {
		struct node *node;
		struct wh_dice dice;
	} sender[SENDERS_MAX];
	wh_word stop; /* no more steps */
};

static void fail(struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void fail(struct stage *stage, const char *format, ...)
{
	va_list arguments;

	if (wh_fetch_add(&stage->failed, 1) > 0)
		return;
	va_start(arguments, format);
	vsnprintf(stage->verdict, sizeof(stage->verdict), format, arguments);
	va_end(arguments);
}

static bool failed(const struct stage *stage)
{
	return wh_load_acquire(&stage->failed) > 0;
}

static uint32_t node_count(const struct stage *stage)
{
	return (uint32_t)stage->plan->config.group.nodes;
}

/* The place of `node` in a set, -1 if it is not there. */
static int place_of(uint64_t set, uint32_t node)
{
	return set >> node & 1 ? __builtin_popcountll(set & ((UINT64_C(1) << node) - 1)) : -1;
}

/* ---- delivering ---------------------------------------------------------------------------------------------------------- */

static void on_message(const struct whorl_message *message, void *ctx)
{
	struct seat *seat = ctx;
	struct record *record = seat->record;
	uint64_t at = wh_load_relaxed(&record->count);
	int rank = place_of(seat->stage->plan->subgroups[seat->g].senders, message->sender);
	const struct payload_id id = {seat->g, (uint32_t)rank, message->index, message->bytes};

	if (at == record->capacity) {
		fail(seat->stage, "fifo: node delivers more than was sent in g%u", seat->g);
		return;
	}
	record->deliveries[at] = (struct delivery){.index = message->index,
						   .sequence = message->sequence,
						   .sender = (uint32_t)rank,
						   .bytes = (uint32_t)message->bytes,
						   .whole = payload_check(message->data, &id) == message->bytes};
	wh_store_release(&record->count, at + 1);
}

static void on_batch(const struct whorl_message *messages, size_t count, void *ctx)
{
	for (size_t i = 0; i < count; i++)
		on_message(&messages[i], ctx);
}

/* ---- sending ------------------------------------------------------------------------------------------------------------- */

static bool take_ticket(struct stream *stream)
{
	uint64_t taken = wh_load_relaxed(&stream->tickets);

	while (taken < stream->quota)
		if (wh_compare_swap(&stream->tickets, &taken, taken + 1))
			return true;
	return false;
}

static void finish(struct seat *seat, struct whorl_claim *claim, struct wh_dice *dice)
{
	struct sent *sent = &seat->stream->sent[claim->number];
	const struct payload_id id = {seat->g, seat->rank, claim->number, wh_dice_below(dice, claim->bytes + 1)};
	enum whorl_result result;

	/* Not the last one: when all is delivered no abort is left for which somebody has to stay. */
	*sent = (struct sent){.bytes = (uint32_t)id.bytes,
			      .aborted = claim->number + 1 < seat->stream->quota && wh_dice_one_in(dice, 10)};
	payload_scribble(claim->data, claim->bytes);
	if (wh_dice_one_in(dice, 50))
		sched_yield();
	payload_fill(claim->data, &id);
	result = sent->aborted ? whorl_abort(claim) : whorl_commit(claim, id.bytes);
	if (result != WHORL_OK)
		fail(seat->stage, "finish: claim %" PRIu64 " in g%u: %s", claim->number, seat->g,
		     whorl_result_text(result));
	wh_fetch_add(&seat->stream->finished, 1);
}

/* One claim, and if there is room at once, some more; finished in any order. False: there was nothing to claim. */
static bool send_some(struct seat *seat, struct wh_dice *dice)
{
	size_t most = seat->stage->plan->config.subgroups[seat->g].options.message_bytes;
	uint64_t wanted = wh_dice_between(dice, 1, HELD_MAX), held = 0;
	struct whorl_claim claims[HELD_MAX];

	while (held < wanted && take_ticket(seat->stream)) {
		size_t bytes = wh_dice_below(dice, most + 1);
		/* Not for long: another of my streams may be what the group waits for. Nor while I hold a claim. */
		enum whorl_result result = whorl_claim_wait(seat->subgroup, bytes, held > 0 ? 0 : 2, &claims[held]);

		if (result == WHORL_OK) {
			held++;
			continue;
		}
		wh_fetch_add(&seat->stream->tickets, UINT64_MAX);
		if (result != WHORL_TIMEOUT && result != WHORL_AGAIN)
			fail(seat->stage, "claim: g%u: %s", seat->g, whorl_result_text(result));
		break;
	}
	wanted = held;
	while (held > 0) {
		uint64_t at = wh_dice_below(dice, held);

		finish(seat, &claims[at], dice);
		claims[at] = claims[--held];
	}
	return wanted > 0;
}

/* All streams of a node, until each of their tickets is taken: who gives one back takes it again. */
static void *send_all(void *ctx)
{
	struct sender *sender = ctx;
	struct node *node = sender->node;
	bool more = true;

	while (more && !failed(node->stage)) {
		uint32_t first = (uint32_t)wh_dice_below(&sender->dice, node->seat_count);

		more = false;
		for (uint32_t i = 0; i < node->seat_count; i++) {
			struct seat *seat = &node->seats[(first + i) % node->seat_count];

			if (seat->stream == NULL || wh_load_relaxed(&seat->stream->tickets) >= seat->stream->quota)
				continue;
			send_some(seat, &sender->dice);
			more = true;
		}
	}
	return NULL;
}

/* ---- stepping ------------------------------------------------------------------------------------------------------------ */

static void poll_once(struct node *node)
{
	struct pollfd ready = {.fd = whorl_fd(node->node), .events = POLLIN};

	if (whorl_step(node->node) == 0 && whorl_arm(node->node) == 0)
		poll(&ready, 1, 20);
}

static void *step_all(void *ctx)
{
	struct node *node = ctx;

	while (wh_load_acquire(&node->stop) == 0) {
		if (node->stepping == POLLING)
			poll_once(node);
		else if (node->stepping == WAITING)
			(void)!whorl_wait(node->node, 20);
		else if (whorl_step(node->node) == 0)
			sched_yield();
	}
	return NULL;
}

/* ---- a node ---------------------------------------------------------------------------------------------------------------- */

static void seat_node(struct node *node)
{
	const struct plan *plan = node->stage->plan;

	node->seats = plan_alloc(plan->config.subgroup_count, sizeof(*node->seats));
	for (uint32_t g = 0; g < plan->config.subgroup_count; g++) {
		int member = place_of(plan->subgroups[g].members, node->id);
		int sender = place_of(plan->subgroups[g].senders, node->id);

		if (member < 0)
			continue;
		node->seats[node->seat_count++] =
			(struct seat){.stage = node->stage,
				      .g = g,
				      .record = &node->stage->circles[g].records[member],
				      .stream = sender < 0 ? NULL : &node->stage->circles[g].streams[sender],
				      .rank = (uint32_t)sender};
	}
}

static bool open_node(struct node *node, struct wh_dice *dice)
{
	const struct wh_world world = {
		.env = wh_env_system(), .create = wh_shm_create, .headers_apart = node->stage->plan->headers_apart};
	struct wh_node_config config = node->stage->plan->config;
	struct wh_error err;

	node->stepping = (enum stepping)wh_dice_below(dice, 4);
	node->sender_threads = (uint32_t)wh_dice_between(dice, 1, SENDERS_MAX);
	config.engine.thread = node->stepping != DEDICATED;
	seat_node(node);
	if (wh_node_open(&config, node->id, &world, NULL, &node->node, &err) != WHORL_OK) {
		fail(node->stage, "open: node %u: %s", node->id, err.text);
		return false;
	}
	for (uint32_t i = 0; i < node->seat_count; i++) {
		struct seat *seat = &node->seats[i];

		seat->subgroup = whorl_subgroup_at(node->node, i);
		if (wh_dice_one_in(dice, 2))
			whorl_on_batch(seat->subgroup, on_batch, seat);
		else
			whorl_on_message(seat->subgroup, on_message, seat);
	}
	if (whorl_start(node->node) == WHORL_OK)
		return true;
	fail(node->stage, "start: node %u does not", node->id);
	return false;
}

static void start_threads(struct node *node)
{
	if (node->stepping != DEDICATED)
		pthread_create(&node->stepper, NULL, step_all, node);
	for (uint32_t i = 0; node->seat_count > 0 && i < node->sender_threads; i++) {
		node->sender[i] =
			(struct sender){node, wh_dice_split(node->stage->plan->seed, 1000 + 10 * node->id + i)};
		pthread_create(&node->senders[i], NULL, send_all, &node->sender[i]);
	}
}

static void join_senders(struct node *node)
{
	for (uint32_t i = 0; node->seat_count > 0 && i < node->sender_threads; i++)
		pthread_join(node->senders[i], NULL);
}

static void join_stepper(struct node *node)
{
	wh_store_release(&node->stop, 1);
	if (node->stepping != DEDICATED)
		pthread_join(node->stepper, NULL);
}

/* Has all that was and will be sent in this subgroup been delivered here? */
static bool is_complete(const struct seat *seat)
{
	const struct circle *circle = &seat->stage->circles[seat->g];
	uint64_t expected = 0;

	for (uint32_t s = 0; s < seat->stage->plan->subgroups[seat->g].sender_count; s++) {
		const struct stream *stream = &circle->streams[s];

		if (wh_load_acquire(&stream->finished) < stream->quota)
			return false;
		for (uint32_t i = 0; i < stream->quota; i++)
			expected += !stream->sent[i].aborted;
	}
	return wh_load_acquire(&seat->record->count) >= expected;
}

static void await_complete(struct node *node, uint64_t deadline_ns)
{
	for (uint32_t i = 0; i < node->seat_count; i++)
		while (!is_complete(&node->seats[i]) && !failed(node->stage)) {
			if (wh_env_now(wh_env_system()) > deadline_ns)
				fail(node->stage,
				     "progress: node %u has delivered %" PRIu64 " messages in g%u, and no more come",
				     node->id, wh_load_relaxed(&node->seats[i].record->count), node->seats[i].g);
			poll(NULL, 0, 1);
		}
	wh_fetch_add(&node->stage->complete, 1);
}

/* ---- a process -------------------------------------------------------------------------------------------------------------- */

static void close_node(struct node *node)
{
	char text[256];
	enum whorl_result result;

	if (node->node == NULL)
		return;
	join_senders(node);
	join_stepper(node);
	if (!failed(node->stage) && whorl_error(node->node, text, sizeof(text)) != WHORL_OK &&
	    strstr(text, "has left") == NULL)
		fail(node->stage, "failure: node %u: %s", node->id, text);
	result = whorl_close(node->node, failed(node->stage) ? 0 : PATIENCE_MS);
	if (result != WHORL_OK && !failed(node->stage))
		fail(node->stage, "close: node %u: %s", node->id, whorl_result_text(result));
	free(node->seats);
}

/* The nodes of one process, from the beginning to the end. */
static void perform(struct stage *stage, uint32_t process)
{
	struct wh_dice dice = wh_dice_split(stage->plan->seed, 500 + process);
	uint64_t deadline_ns = wh_env_now(wh_env_system()) + PATIENCE_MS * WH_NS_PER_MS;
	struct node *nodes = plan_alloc(node_count(stage), sizeof(*nodes));
	uint32_t count = 0;

	for (uint32_t id = process; id < node_count(stage) && !failed(stage); id += stage->processes) {
		nodes[count] = (struct node){.stage = stage, .id = id};
		if (open_node(&nodes[count++], &dice))
			start_threads(&nodes[count - 1]);
		else
			nodes[count - 1].sender_threads = 0;
	}
	for (uint32_t i = 0; i < count; i++)
		await_complete(&nodes[i], deadline_ns);
	/* Who leaves now is missed by nobody. */
	while (wh_load_acquire(&stage->complete) < node_count(stage) && !failed(stage))
		poll(NULL, 0, 1);
	for (uint32_t i = 0; i < count; i++)
		close_node(&nodes[i]);
	free(nodes);
}

static void perform_in_processes(struct stage *stage)
{
	pid_t children[8];
	int status;

	fflush(NULL);
	for (uint32_t i = 1; i < stage->processes; i++) {
		children[i] = fork();
		if (children[i] < 0)
			fail(stage, "fork fails");
		if (children[i] != 0)
			continue;
		perform(stage, i);
		exit(0);
	}
	perform(stage, 0);
	for (uint32_t i = 1; i < stage->processes; i++)
		if (children[i] > 0 && (waitpid(children[i], &status, 0) != children[i] || status != 0))
			fail(stage, "process %u ends with status %d", i, status);
}

/* ---- the records ---------------------------------------------------------------------------------------------------------- */

/* Of each sender the committed messages, in order and whole; and as many as there are. */
static void check_fifo(struct stage *stage, uint32_t g, uint32_t member)
{
	const struct circle *circle = &stage->circles[g];
	const struct record *record = &circle->records[member];
	uint32_t senders = stage->plan->subgroups[g].sender_count;
	uint64_t *next = plan_alloc(senders, sizeof(*next));

	for (uint64_t k = 0; k < record->count && !failed(stage); k++) {
		const struct delivery *d = &record->deliveries[k];
		const struct stream *stream = d->sender < senders ? &circle->streams[d->sender] : NULL;

		while (stream != NULL && next[d->sender] < stream->quota && stream->sent[next[d->sender]].aborted)
			next[d->sender]++;
		if (stream == NULL || d->index != next[d->sender] || d->index >= stream->quota)
			fail(stage,
			     "fifo: member %u of g%u delivers message %" PRIu64 " of sender %u as number %" PRIu64,
			     member, g, d->index, d->sender, k);
		else if (!d->whole || d->bytes != stream->sent[d->index].bytes)
			fail(stage, "payload: member %u of g%u: message %" PRIu64 " of sender %u", member, g, d->index,
			     d->sender);
		else
			next[d->sender]++;
	}
	for (uint32_t s = 0; s < senders && !failed(stage); s++)
		while (next[s] < circle->streams[s].quota)
			if (!circle->streams[s].sent[next[s]++].aborted)
				fail(stage, "fifo: member %u of g%u lacks messages of sender %u", member, g, s);
	free(next);
}

static void check_order(struct stage *stage, uint32_t g, uint32_t member)
{
	const struct record *record = &stage->circles[g].records[member], *first = &stage->circles[g].records[0];

	for (uint64_t k = 0; k < record->count && !failed(stage); k++) {
		const struct delivery *d = &record->deliveries[k];

		if (k > 0 && d->sequence <= d[-1].sequence)
			fail(stage, "order: member %u of g%u delivers number %" PRIu64 " after %" PRIu64, member, g,
			     d->sequence, d[-1].sequence);
		if (d->sequence != first->deliveries[k].sequence || d->sender != first->deliveries[k].sender)
			fail(stage, "order: members %u and 0 of g%u differ in their delivery %" PRIu64, member, g, k);
	}
}

static void check_records(struct stage *stage)
{
	for (uint32_t g = 0; g < stage->plan->config.subgroup_count; g++)
		for (uint32_t m = 0; m < stage->plan->subgroups[g].member_count && !failed(stage); m++) {
			check_fifo(stage, g, m);
			if (stage->plan->subgroups[g].ordered)
				check_order(stage, g, m);
		}
}

/* ---- a run ---------------------------------------------------------------------------------------------------------------- */

static void *share(struct stage *stage, size_t count, size_t bytes)
{
	void *memory = stage->memory + stage->used;

	stage->used += (count * bytes + 63) / 64 * 64;
	if (stage->used > stage->bytes) {
		fprintf(stderr, "no memory for a run\n");
		exit(2);
	}
	return memory;
}

static void make_circle(struct stage *stage, uint32_t g, struct wh_dice *dice)
{
	const struct plan_subgroup *subgroup = &stage->plan->subgroups[g];
	struct circle *circle = &stage->circles[g];
	uint64_t capacity = 0;

	circle->streams = share(stage, subgroup->sender_count, sizeof(*circle->streams));
	circle->records = share(stage, subgroup->member_count, sizeof(*circle->records));
	for (uint32_t s = 0; s < subgroup->sender_count; s++) {
		struct stream *stream = &circle->streams[s];

		stream->quota =
			subgroup->even ? subgroup->messages : (uint32_t)wh_dice_below(dice, subgroup->messages + 1);
		stream->sent = share(stage, stream->quota, sizeof(*stream->sent));
		capacity += stream->quota;
	}
	for (uint32_t m = 0; m < subgroup->member_count; m++) {
		circle->records[m].capacity = capacity;
		circle->records[m].deliveries = share(stage, capacity, sizeof(struct delivery));
	}
}

static struct stage *make_stage(const struct plan *plan, struct wh_dice *dice)
{
	const size_t bytes = 256 << 20;
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	struct stage *stage = memory;

	if (memory == MAP_FAILED) {
		perror("mmap");
		exit(2);
	}
	*stage =
		(struct stage){.plan = plan, .memory = memory, .used = (sizeof(*stage) + 63) / 64 * 64, .bytes = bytes};
	stage->processes = 1;
#if !WH_TSAN /* it sees nothing across processes */
	if (!wh_dice_one_in(dice, 2))
		stage->processes = (uint32_t)wh_dice_between(dice, 1, node_count(stage) < 4 ? node_count(stage) : 4);
#endif
	stage->circles = share(stage, plan->config.subgroup_count, sizeof(*stage->circles));
	for (uint32_t g = 0; g < plan->config.subgroup_count; g++)
		make_circle(stage, g, dice);
	return stage;
}

static bool run(uint64_t seed, bool verbose, char *verdict, size_t verdict_bytes)
{
#if WH_TSAN
	const struct plan_limits limits = {
		.nodes = 5, .rows_bytes = 8 << 20, .deliveries = 1500, .data_bytes = 1 << 20, .all_progress = true};
#else
	const struct plan_limits limits = {
		.nodes = 16, .rows_bytes = 64 << 20, .deliveries = 20000, .data_bytes = 32 << 20, .all_progress = true};
#endif
	struct wh_dice dice = wh_dice_split(seed, 300);
	struct stage *stage;
	struct plan plan;
	bool good;

	plan_make(&plan, seed, &limits);
	plan.config.group.transport = WH_TRANSPORT_SHM;
	plan.config.group.failure_timeout_ms = PATIENCE_MS;
	snprintf(plan.config.group.name, sizeof(plan.config.group.name), "shm-random-%d-%" PRIu64, (int)getpid(), seed);
	stage = make_stage(&plan, &dice);
	if (verbose) {
		printf("seed %" PRIu64 ", %u processes: ", seed, stage->processes);
		plan_print(&plan, stdout);
		fflush(stdout);
	}
	perform_in_processes(stage);
	if (!failed(stage))
		check_records(stage);
	good = !failed(stage);
	if (!good) {
		snprintf(verdict, verdict_bytes, "%s", stage->verdict);
		printf("%u processes: ", stage->processes);
		plan_print(&plan, stdout);
	}
	munmap(stage->memory, stage->bytes);
	plan_free(&plan);
	return good;
}

int main(int argc, char **argv)
{
	return runner_main(argc, argv, 30, run);
}
