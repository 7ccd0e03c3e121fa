/* shm_play.c - the nodes of a run on shared memory, and the threads that step them and send. See shm_play.h. */
#include "tests/sim/shm_play.h"

#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <whorl/whorl.h>

#include "group/node.h"
#include "sim/payload.h"
#include "tests/patience.h"
#include "transport/dice.h"
#include "transport/shm/shm.h"

#define SENDERS_MAX 3 /* threads of ours on a node */
#define HELD_MAX 4    /* claims that a thread has at once */

enum stepping { DEDICATED, TURNS, WAITING, POLLING };

struct member { /* one node in one subgroup */
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
	struct member *members;
	uint32_t member_count;
	pthread_t stepper, senders[SENDERS_MAX];
	struct sender {
		struct node *node;
		struct wh_dice dice;
	} sender[SENDERS_MAX];
	wh_word stop; /* no more steps */
};

void shm_fail(struct stage *stage, const char *format, ...)
{
	va_list arguments;

	if (wh_fetch_add(&stage->failed, 1) > 0)
		return;
	va_start(arguments, format);
	vsnprintf(stage->verdict, sizeof(stage->verdict), format, arguments);
	va_end(arguments);
}

/* The place of `node` in a set, -1 if it is not there. */
static int place_of(uint64_t set, uint32_t node)
{
	return set >> node & 1 ? __builtin_popcountll(set & ((UINT64_C(1) << node) - 1)) : -1;
}

/* ---- delivering ---------------------------------------------------------------------------------------------------------- */

static void on_message(const struct whorl_message *message, void *ctx)
{
	struct member *member = ctx;
	struct record *record = member->record;
	uint64_t at = wh_load_relaxed(&record->count);
	int rank = place_of(member->stage->plan->subgroups[member->g].senders, message->sender);
	const struct wh_payload_id id = {member->g, (uint32_t)rank, message->index, message->bytes};

	if (at == record->capacity) {
		shm_fail(member->stage, "fifo: node delivers more than was sent in g%u", member->g);
		return;
	}
	record->deliveries[at] = (struct delivery){.index = message->index,
						   .sequence = message->sequence,
						   .sender = (uint32_t)rank,
						   .bytes = (uint32_t)message->bytes,
						   .whole = wh_payload_check(message->data, &id) == message->bytes};
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

static void finish(struct member *member, struct whorl_claim *claim, struct wh_dice *dice)
{
	struct sent *sent = &member->stream->sent[claim->number];
	const struct wh_payload_id id = {member->g, member->rank, claim->number, wh_dice_below(dice, claim->bytes + 1)};
	enum whorl_result result;

	/* Not the last one: when all is delivered no abort is left for which somebody has to stay. */
	*sent = (struct sent){.bytes = (uint32_t)id.bytes,
			      .aborted = claim->number + 1 < member->stream->quota && wh_dice_one_in(dice, 10)};
	wh_payload_scribble(claim->data, claim->bytes);
	if (wh_dice_one_in(dice, 50))
		sched_yield();
	wh_payload_fill(claim->data, &id);
	result = sent->aborted ? whorl_abort(claim) : whorl_commit(claim, id.bytes);
	if (result != WHORL_OK)
		shm_fail(member->stage, "finish: claim %" PRIu64 " in g%u: %s", claim->number, member->g,
			 whorl_result_text(result));
	wh_fetch_add(&member->stream->finished, 1);
}

/* One claim, and if there is room at once, some more; finished in any order. False: there was nothing to
 * claim. */
static bool send_some(struct member *member, struct wh_dice *dice)
{
	size_t most = member->stage->plan->config.subgroups[member->g].options.message_bytes;
	uint64_t wanted = wh_dice_between(dice, 1, HELD_MAX), held = 0;
	struct whorl_claim claims[HELD_MAX];

	while (held < wanted && take_ticket(member->stream)) {
		size_t bytes = wh_dice_below(dice, most + 1);
		/* Not for long: another of my streams may be what the group waits for. Nor while I hold a
		 * claim. */
		enum whorl_result result = whorl_claim_wait(member->subgroup, bytes, held > 0 ? 0 : 2, &claims[held]);

		if (result == WHORL_OK) {
			held++;
			continue;
		}
		wh_fetch_add(&member->stream->tickets, UINT64_MAX);
		if (result != WHORL_TIMEOUT && result != WHORL_AGAIN)
			shm_fail(member->stage, "claim: g%u: %s", member->g, whorl_result_text(result));
		break;
	}
	wanted = held;
	while (held > 0) {
		uint64_t at = wh_dice_below(dice, held);

		finish(member, &claims[at], dice);
		claims[at] = claims[--held];
	}
	return wanted > 0;
}

/* All streams of a node, until each of their tickets is taken: a thread that gives one back takes it again. */
static void *send_all(void *ctx)
{
	struct sender *sender = ctx;
	struct node *node = sender->node;
	bool more = true;

	while (more && !shm_failed(node->stage)) {
		uint32_t first = (uint32_t)wh_dice_below(&sender->dice, node->member_count);

		more = false;
		for (uint32_t i = 0; i < node->member_count; i++) {
			struct member *member = &node->members[(first + i) % node->member_count];

			if (member->stream == NULL ||
			    wh_load_relaxed(&member->stream->tickets) >= member->stream->quota)
				continue;
			send_some(member, &sender->dice);
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

static void place_node_members(struct node *node)
{
	const struct wh_plan *plan = node->stage->plan;

	node->members = wh_plan_alloc(plan->config.subgroup_count, sizeof(*node->members));
	for (uint32_t g = 0; g < plan->config.subgroup_count; g++) {
		int member = place_of(plan->subgroups[g].members, node->id);
		int sender = place_of(plan->subgroups[g].senders, node->id);

		if (member < 0)
			continue;
		node->members[node->member_count++] =
			(struct member){.stage = node->stage,
					.g = g,
					.record = &node->stage->subgroups[g].records[member],
					.stream = sender < 0 ? NULL : &node->stage->subgroups[g].streams[sender],
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
	place_node_members(node);
	if (wh_node_open(&config, node->id, &world, NULL, &node->node, &err) != WHORL_OK) {
		shm_fail(node->stage, "open: node %u: %s", node->id, err.text);
		return false;
	}
	for (uint32_t i = 0; i < node->member_count; i++) {
		struct member *member = &node->members[i];

		member->subgroup = whorl_subgroup_at(node->node, i);
		if (wh_dice_one_in(dice, 2))
			whorl_on_batch(member->subgroup, on_batch, member);
		else
			whorl_on_message(member->subgroup, on_message, member);
	}
	if (whorl_start(node->node) == WHORL_OK)
		return true;
	shm_fail(node->stage, "start: node %u does not", node->id);
	return false;
}

static void start_threads(struct node *node)
{
	if (node->stepping != DEDICATED)
		pthread_create(&node->stepper, NULL, step_all, node);
	for (uint32_t i = 0; node->member_count > 0 && i < node->sender_threads; i++) {
		node->sender[i] =
			(struct sender){node, wh_dice_split(node->stage->plan->seed, 1000 + 10 * node->id + i)};
		pthread_create(&node->senders[i], NULL, send_all, &node->sender[i]);
	}
}

static void join_senders(struct node *node)
{
	for (uint32_t i = 0; node->member_count > 0 && i < node->sender_threads; i++)
		pthread_join(node->senders[i], NULL);
}

static void join_stepper(struct node *node)
{
	wh_store_release(&node->stop, 1);
	if (node->stepping != DEDICATED)
		pthread_join(node->stepper, NULL);
}

/* Has all that was and will be sent in this subgroup been delivered here? */
static bool is_complete(const struct member *member)
{
	const struct subgroup *subgroup = &member->stage->subgroups[member->g];
	uint64_t expected = 0;

	for (uint32_t s = 0; s < member->stage->plan->subgroups[member->g].sender_count; s++) {
		const struct stream *stream = &subgroup->streams[s];

		if (wh_load_acquire(&stream->finished) < stream->quota)
			return false;
		for (uint32_t i = 0; i < stream->quota; i++)
			expected += !stream->sent[i].aborted;
	}
	return wh_load_acquire(&member->record->count) >= expected;
}

static void await_complete(struct node *node, uint64_t deadline_ns)
{
	for (uint32_t i = 0; i < node->member_count; i++)
		while (!is_complete(&node->members[i]) && !shm_failed(node->stage)) {
			if (wh_env_now(wh_env_system()) > deadline_ns)
				shm_fail(
					node->stage,
					"progress: node %u has delivered %" PRIu64 " messages in g%u, and no more come",
					node->id, wh_load_relaxed(&node->members[i].record->count), node->members[i].g);
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
	if (!shm_failed(node->stage) && whorl_error(node->node, text, sizeof(text)) != WHORL_OK &&
	    strstr(text, "has left") == NULL)
		shm_fail(node->stage, "failure: node %u: %s", node->id, text);
	result = whorl_close(node->node, shm_failed(node->stage) ? 0 : (int)test_patience(PATIENCE_MS));
	if (result != WHORL_OK && !shm_failed(node->stage))
		shm_fail(node->stage, "close: node %u: %s", node->id, whorl_result_text(result));
	free(node->members);
}

/* The nodes of one process, from the beginning to the end. */
static void perform(struct stage *stage, uint32_t process)
{
	struct wh_dice dice = wh_dice_split(stage->plan->seed, 500 + process);
	uint64_t deadline_ns = wh_env_now(wh_env_system()) + test_patience(PATIENCE_MS * WH_NS_PER_MS);
	struct node *nodes = wh_plan_alloc(node_count(stage), sizeof(*nodes));
	uint32_t count = 0;

	for (uint32_t id = process; id < node_count(stage) && !shm_failed(stage); id += stage->processes) {
		nodes[count] = (struct node){.stage = stage, .id = id};
		if (open_node(&nodes[count++], &dice))
			start_threads(&nodes[count - 1]);
		else
			nodes[count - 1].sender_threads = 0;
	}
	for (uint32_t i = 0; i < count; i++)
		await_complete(&nodes[i], deadline_ns);
	/* No node misses one that leaves now. */
	while (wh_load_acquire(&stage->complete) < node_count(stage) && !shm_failed(stage))
		poll(NULL, 0, 1);
	for (uint32_t i = 0; i < count; i++)
		close_node(&nodes[i]);
	free(nodes);
}

void shm_perform(struct stage *stage)
{
	pid_t children[8];
	int status;

	fflush(NULL);
	for (uint32_t i = 1; i < stage->processes; i++) {
		children[i] = fork();
		if (children[i] < 0)
			shm_fail(stage, "fork fails");
		if (children[i] != 0)
			continue;
		perform(stage, i);
		exit(0);
	}
	perform(stage, 0);
	for (uint32_t i = 1; i < stage->processes; i++)
		if (children[i] > 0 && (waitpid(children[i], &status, 0) != children[i] || status != 0))
			shm_fail(stage, "process %u ends with status %d", i, status);
}
