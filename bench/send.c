/* send.c - what the sending threads of a node of a benchmark do.
 *
 * With a dedicated loop each sending thread claims, fills and commits as fast as it can, in all its subgroups in turn;
 * when every window is full it looks again a few times and then sleeps until the library says that there is room. With
 * thread = caller the node's one thread sends a burst between two passes of the loop, and waits for nothing here.
 *
 * It claims a batch at a time, all of it or nothing, which may be of one message; the last one is of those that are left.
 */
#include "bench/node.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench/limit/limit.h"
#include "bench/limit/payload.h"

#define LOOKS 4                  /* at full windows, before the library's own backoff */
#define SLEEP_MS 100             /* then it looks whether the run goes on */
#define SLEEP_SHORT_MS 1         /* where another window may be the first to have room */
#define BURST_BYTES (256 * 1024) /* that one thread fills between two passes, on shm */

enum outcome { SENT, FULL, NOTHING, FAILED };

/* How long until a delayed stream may send again: at most `most_ns`. */
static uint64_t until_due(const struct wh_bench_sender *sender, uint64_t most_ns)
{
	uint64_t now = wh_bench_time(sender->node), due = now + most_ns;

	for (uint32_t s = 0; s < sender->stream_count; s++)
		if (sender->streams[s].due_ns != 0 && sender->streams[s].due_ns < due)
			due = sender->streams[s].due_ns;
	return due > now ? due - now : 0;
}

/* Has this stream still something to send? In a run by total that is not for it alone to say. */
static bool is_live(const struct wh_bench_stream *stream)
{
	if (stream->subgroup->by_total)
		return wh_load_acquire(&stream->part->done_ns) == 0; /* partner: finish_part() in bench/deliver.c */
	return stream->left > 0;
}

/* On the loop. */
static void check_answer(const struct whorl_outcome *outcome, void *ctx)
{
	struct wh_bench_node *node = ctx;

	if ((outcome->result != WHORL_OK || outcome->bytes != sizeof(uint64_t)) && !wh_bench_is_over(node))
		wh_bench_node_fail(node, "a call has no answer: %s", outcome->text);
}

static void make_call(struct wh_bench_sender *sender, struct whorl_claim *claim)
{
	enum whorl_result result = whorl_call_commit(claim, claim->bytes, check_answer, sender->node);

	if (result != WHORL_OK && !wh_bench_is_over(sender->node))
		wh_bench_node_fail(sender->node, "call: %s", whorl_result_text(result));
}

/* How many are claimed next. */
static inline uint32_t next_count(const struct wh_bench_stream *stream)
{
	uint32_t batch = stream->subgroup->batch;

	return stream->subgroup->by_total || stream->left >= batch ? batch : (uint32_t)stream->left;
}

static inline enum whorl_result claim_some(const struct wh_bench_stream *stream, struct whorl_claim *claims,
					   uint32_t count)
{
	if (count == 1)
		return whorl_claim(stream->handle, stream->subgroup->bytes, claims);
	return whorl_claim_many(stream->handle, stream->subgroup->bytes, count, claims);
}

/* The time of messages begins now. */
static inline void stamp_claims(const struct wh_bench_sender *sender, const struct wh_bench_stream *stream,
				const struct whorl_claim *claims, uint32_t count)
{
	const struct wh_bench_node *node = sender->node;
	uint64_t now = 0;

	for (uint32_t i = 0; i < count; i++) {
		uint64_t number = claims[i].number;

		if (!wh_bench_timed(node->plan, stream->subgroup, number))
			continue;
		now = now == 0 ? wh_bench_time(node) : now;
		wh_store_relaxed(wh_bench_stamp(node->memory, stream->subgroup, stream->rank, number),
				 now); /* the commit releases it with the message */
	}
}

static inline void fill_claim(const struct wh_bench_sender *sender, const struct wh_bench_stream *stream,
			      const struct whorl_claim *claim)
{
	const struct wh_bench_node *node = sender->node;
	uint64_t seed = wh_payload_seed(stream->number, node->id, claim->number);

	wh_payload_fill(sender->outside != NULL ? sender->outside : claim->data, claim->bytes, seed);
	if (sender->outside != NULL)
		memcpy(claim->data, sender->outside, claim->bytes);
	if (__builtin_expect(node->world != NULL, 0))
		node->world->filled(node->world->ctx, sender->outside != NULL ? claim->bytes : 0);
}

/* Fills and commits the claims that have been made. */
WH_HINT_INLINE void send_claimed(struct wh_bench_sender *sender, struct wh_bench_stream *stream,
				 struct whorl_claim *claims, uint32_t count)
{
	const struct wh_bench_node *node = sender->node;

	stamp_claims(sender, stream, claims, count);
	for (uint32_t i = 0; i < count; i++)
		fill_claim(sender, stream, &claims[i]);
	if (node->plan->options.upcall == BENCH_UPCALL_CALL)
		make_call(sender, claims);
	else if (count == 1)
		whorl_commit(claims, claims->bytes);
	else
		whorl_commit_many(claims, count, NULL);
	if (!stream->subgroup->by_total)
		stream->left -= count;
	stream->next = claims[count - 1].number + 1;
	if (stream->delayed)
		stream->due_ns = wh_bench_time(node) + (uint64_t)node->plan->options.sender_delay_us * WH_NS_PER_US;
}

static void fail_claim(struct wh_bench_sender *sender, const struct wh_bench_stream *stream, enum whorl_result result)
{
	char text[256] = "";

	if (wh_bench_is_over(sender->node))
		return;
	whorl_error(sender->node->node, text, sizeof text);
	wh_bench_node_fail(sender->node, "subgroup %s: claim: %s", stream->subgroup->name,
			   text[0] != '\0' ? text : whorl_result_text(result));
}

/* The window was full from wait_since_ns on; now it is not. */
static inline void end_wait(struct wh_bench_sender *sender)
{
	if (__builtin_expect(sender->wait_since_ns != 0, 0)) {
		sender->wait_ns += wh_bench_time(sender->node) - sender->wait_since_ns;
		sender->wait_since_ns = 0;
	}
}

WH_HINT_INLINE enum outcome send_in(struct wh_bench_sender *sender, struct wh_bench_stream *stream,
				    struct whorl_claim *claims, uint32_t count)
{
	enum whorl_result result;

	if (stream->due_ns != 0 && wh_bench_time(sender->node) < stream->due_ns)
		return NOTHING;
	result = claim_some(stream, claims, count);
	if (result == WHORL_AGAIN)
		return FULL;
	if (result != WHORL_OK) {
		fail_claim(sender, stream, result);
		return FAILED;
	}
	end_wait(sender);
	send_claimed(sender, stream, claims, count);
	return SENT;
}

/* One message at a time is what is mostly measured: it has code of its own, in which nothing is left of batches. */
static inline enum outcome send_some(struct wh_bench_sender *sender, struct wh_bench_stream *stream, uint32_t count)
{
	struct whorl_claim claim;

	return count == 1 ? send_in(sender, stream, &claim, 1) : send_in(sender, stream, sender->claims, count);
}

/* ---- a dedicated loop ------------------------------------------------------------------------------------------------*/

static bool is_running(const struct wh_bench_sender *sender)
{
	return wh_phase_get(&sender->node->shared->phase) == BENCH_RUN;
}

/* Waits for room for `count`, and claims them; WHORL_AGAIN, WHORL_TIMEOUT: not yet. */
static enum whorl_result claim_waiting(struct wh_bench_sender *sender, const struct wh_bench_stream *stream,
				       uint32_t count, int timeout_ms)
{
	uint64_t window = stream->subgroup->window, past, last;
	enum whorl_result result;

	if (count == 1)
		return whorl_claim_wait(stream->handle, stream->subgroup->bytes, timeout_ms, sender->claims);
	/* Before the claim: if that finds no room then this message is on its way, though it may be another thread's. */
	past = whorl_frontier_get(stream->handle, WHORL_DELIVERED_BY_ALL);
	result = claim_some(stream, sender->claims, count);
	if (result != WHORL_AGAIN)
		return result;
	/* Where no other thread sends there is room when this one is past: see whorl_claim_many. */
	last = stream->next + count > window ? stream->next + count - window - 1 : 0;
	result = whorl_frontier_wait(stream->handle, WHORL_DELIVERED_BY_ALL, last > past ? last : past, timeout_ms);
	return result == WHORL_OK ? claim_some(stream, sender->claims, count) : result;
}

/* Sleeps until `stream` has room, and sends. False: the node has failed. */
static bool send_waiting(struct wh_bench_sender *sender, struct wh_bench_stream *stream)
{
	int timeout_ms = sender->stream_count > 1 ? SLEEP_SHORT_MS : SLEEP_MS;
	uint32_t count = next_count(stream);
	enum whorl_result result = claim_waiting(sender, stream, count, timeout_ms);

	if (result == WHORL_TIMEOUT || result == WHORL_AGAIN)
		return true;
	if (result != WHORL_OK) {
		fail_claim(sender, stream, result);
		return false;
	}
	end_wait(sender);
	send_claimed(sender, stream, sender->claims, count);
	return true;
}

/* A batch in each stream, if it can be. */
struct turn {
	uint32_t live, sent, full;
	struct wh_bench_stream *full_one; /* a stream with a full window */
	bool failed;
};

static inline struct turn take_turn(struct wh_bench_sender *sender)
{
	struct turn turn = {0};

	for (uint32_t s = 0; s < sender->stream_count; s++) {
		struct wh_bench_stream *stream = &sender->streams[s];

		if (!is_live(stream))
			continue;
		turn.live++;
		switch (send_some(sender, stream, next_count(stream))) {
		case SENT:
			turn.sent++;
			break;
		case FULL:
			turn.full++;
			turn.full_one = stream;
			break;
		case NOTHING:
			break;
		case FAILED:
			turn.failed = true;
			return turn;
		}
	}
	return turn;
}

/* A delayed stream waits busily, as the paper's do, but it yields: the paper's nodes have cores to spare, and here the
 * delay of one would otherwise be that of every thread on its core. */
static void wait_for_time(const struct wh_bench_sender *sender, struct wh_backoff *backoff)
{
	struct timespec pause = {0};

	if (!sender->node->plan->options.sender_sleeps) {
		wh_backoff_wait(backoff, wh_env_system(), UINT64_MAX);
		return;
	}
	pause.tv_nsec = (long)until_due(sender, SLEEP_MS * WH_NS_PER_MS);
	nanosleep(&pause, NULL);
}

void wh_bench_send_all(struct wh_bench_sender *sender)
{
	struct wh_backoff backoff = {0};
	unsigned looks = 0;

	while (is_running(sender)) {
		struct turn turn = take_turn(sender);

		if (turn.failed || turn.live == 0)
			break;
		if (turn.sent > 0) {
			looks = 0;
			continue;
		}
		if (turn.full > 0 && sender->wait_since_ns == 0)
			sender->wait_since_ns = wh_bench_time(sender->node);
		if (turn.full < turn.live) {
			wait_for_time(sender, &backoff);
			continue;
		}
		if (++looks < LOOKS) {
			wh_cpu_relax();
			continue;
		}
		if (!send_waiting(sender, turn.full_one))
			break;
		looks = 0;
	}
	end_wait(sender);
}

enum wh_bench_turn wh_bench_send_turn(struct wh_bench_sender *sender)
{
	struct turn turn = {0};

	if (is_running(sender))
		turn = take_turn(sender);
	if (turn.failed || turn.live == 0) {
		end_wait(sender);
		return BENCH_TURN_OVER;
	}
	if (turn.sent > 0)
		return BENCH_TURN_SENT;
	if (turn.full == 0)
		return BENCH_TURN_LATER;
	if (sender->wait_since_ns == 0)
		sender->wait_since_ns = wh_bench_time(sender->node);
	return BENCH_TURN_FULL;
}

uint64_t wh_bench_send_due(const struct wh_bench_sender *sender)
{
	return wh_bench_time(sender->node) + until_due(sender, WH_NS_PER_S);
}

static void *sender_thread(void *argument)
{
	struct wh_bench_sender *sender = argument;
	struct wh_phase *phase = &sender->node->shared->phase;

	while (wh_phase_get(phase) == BENCH_OPEN)
		wh_phase_wait(phase, BENCH_OPEN, SLEEP_MS);
	wh_bench_send_all(sender);
	return NULL;
}

/* ---- thread = caller ----------------------------------------------------------------------------------------------*/

/* On shm a pass costs half a microsecond, which six messages of 10 KB feel; the limit, which has none, gains nothing by more of them
 * (docs/benchmark.md). Elsewhere the nodes do as the limit does. */
static uint32_t burst_of(const struct wh_bench_node *node, const struct wh_bench_subgroup *subgroup)
{
	if (node->plan->config.group.transport != WH_TRANSPORT_SHM)
		return wh_limit_burst(subgroup->window, subgroup->bytes);
	return wh_limit_burst_within(subgroup->window, subgroup->bytes, BURST_BYTES);
}

static size_t send_burst(struct wh_bench_sender *sender, struct wh_bench_stream *stream)
{
	size_t most = burst_of(sender->node, stream->subgroup), sent = 0;

	while (sent < most && is_live(stream)) {
		uint32_t count = next_count(stream);
		enum outcome outcome = send_some(sender, stream, count);

		if (outcome == FULL && sent == 0 && sender->wait_since_ns == 0)
			sender->wait_since_ns = wh_bench_time(sender->node);
		if (outcome != SENT)
			break;
		sent += count;
	}
	return sent;
}

size_t wh_bench_send_some(struct wh_bench_sender *sender)
{
	size_t sent = 0;

	for (uint32_t s = 0; s < sender->stream_count; s++)
		sent += send_burst(sender, &sender->streams[s]);
	return sent;
}

int wh_bench_send_may_sleep(const struct wh_bench_node *node, int most_ms)
{
	bool waits = false;

	if (node->sender_count == 0)
		return most_ms;
	for (uint32_t s = 0; s < node->senders[0].stream_count; s++)
		waits |= node->senders[0].streams[s].delayed && is_live(&node->senders[0].streams[s]);
	if (!waits)
		return most_ms;
	if (!node->plan->options.sender_sleeps)
		return 0;
	return (int)((until_due(&node->senders[0], (uint64_t)most_ms * WH_NS_PER_MS) + WH_NS_PER_MS - 1) / WH_NS_PER_MS);
}

/* ---- the message after the idle time ----------------------------------------------------------------------------------*/

void wh_bench_send_last(struct wh_bench_node *node)
{
	const struct wh_bench_subgroup *subgroup = &node->plan->subgroups[0];
	struct wh_bench_stream *stream = node->sender_count > 0 ? &node->senders[0].streams[0] : NULL;
	enum whorl_result result;

	if (subgroup->senders[subgroup->sender_count - 1] != node->id)
		return;
	/* It was an active sender, and its first stream is that of the first subgroup. */
	stream->left = 1;
	wh_store_relaxed(&node->shared->last_ns, wh_bench_now());
	result = claim_some(stream, node->senders[0].claims, 1);
	if (result != WHORL_OK) {
		fail_claim(&node->senders[0], stream, result);
		return;
	}
	send_claimed(&node->senders[0], stream, node->senders[0].claims, 1);
}

/* ---- opening and closing ----------------------------------------------------------------------------------------------*/

/* This node's rank among the senders of subgroup `g` that send; -1: it does not. */
static int active_rank(const struct wh_bench_node *node, uint32_t g)
{
	const struct wh_bench_subgroup *subgroup = &node->plan->subgroups[g];

	for (uint32_t rank = subgroup->active_first; rank < subgroup->sender_count; rank++)
		if (subgroup->senders[rank] == node->id)
			return (int)rank;
	return -1;
}

static uint32_t greatest_batch(const struct wh_bench_plan *plan)
{
	uint32_t most = 1;

	for (uint32_t g = 0; g < plan->subgroup_count; g++)
		most = plan->subgroups[g].batch > most ? plan->subgroups[g].batch : most;
	return most;
}

static void open_streams(struct wh_bench_sender *sender, uint32_t thread)
{
	struct wh_bench_node *node = sender->node;
	const struct wh_bench_options *options = &node->plan->options;
	uint64_t messages = (uint64_t)options->messages, threads = (uint64_t)options->senders_per_node;

	for (uint32_t g = 0; g < node->plan->subgroup_count; g++) {
		const struct wh_bench_subgroup *subgroup = &node->plan->subgroups[g];
		int rank = active_rank(node, g);

		if (rank < 0)
			continue;
		sender->streams[sender->stream_count++] = (struct wh_bench_stream){
			.handle = whorl_subgroup_find(node->node, subgroup->name),
			.subgroup = subgroup,
			.part = wh_bench_part(node->memory, node->plan, node->id, g),
			.number = g,
			.rank = (uint32_t)rank,
			.left = messages / threads + (thread < messages % threads ? 1 : 0),
			.delayed = (uint32_t)rank - subgroup->active_first < subgroup->delayed_count,
		};
	}
}

enum whorl_result wh_bench_send_open(struct wh_bench_node *node)
{
	uint32_t count = (uint32_t)node->plan->options.senders_per_node;
	bool sends = false;

	for (uint32_t g = 0; g < node->plan->subgroup_count; g++)
		sends |= active_rank(node, g) >= 0;
	if (!sends)
		return WHORL_OK;
	node->senders = calloc(count, sizeof *node->senders);
	if (node->senders == NULL)
		goto out_memory;
	for (; node->sender_count < count; node->sender_count++) {
		struct wh_bench_sender *sender = &node->senders[node->sender_count];

		sender->node = node;
		sender->streams = calloc(node->plan->subgroup_count, sizeof *sender->streams);
		sender->claims = calloc(greatest_batch(node->plan), sizeof *sender->claims);
		if (sender->streams == NULL || sender->claims == NULL ||
		    !wh_bench_outside(node->plan, BENCH_COPIES_SEND, &sender->outside))
			goto out_memory;
		open_streams(sender, node->sender_count);
	}
	return WHORL_OK;
out_memory:
	wh_bench_node_fail(node, "no memory for %u senders", count);
	return WHORL_MEMORY;
}

enum whorl_result wh_bench_send_start(struct wh_bench_node *node)
{
	for (uint32_t s = 1; s < node->sender_count; s++) {
		int number = pthread_create(&node->senders[s].thread, NULL, sender_thread, &node->senders[s]);

		if (number != 0) {
			wh_bench_node_fail(node, "no thread for sender %u", s);
			return WHORL_SYSTEM;
		}
		node->sender_threads++;
	}
	return WHORL_OK;
}

void wh_bench_send_join(struct wh_bench_node *node)
{
	for (uint32_t s = 1; s <= node->sender_threads; s++)
		pthread_join(node->senders[s].thread, NULL);
	node->sender_threads = 0;
	wh_bench_send_count(node);
}

void wh_bench_send_count(struct wh_bench_node *node)
{
	for (uint32_t s = 0; s < node->sender_count; s++)
		wh_fetch_add(&node->page->wait_ns, node->senders[s].wait_ns);
}

void wh_bench_send_close(struct wh_bench_node *node)
{
	for (uint32_t s = 0; s < node->sender_count; s++) {
		free(node->senders[s].streams);
		free(node->senders[s].claims);
		free(node->senders[s].outside);
	}
	free(node->senders);
	node->senders = NULL;
	node->sender_count = 0;
}
