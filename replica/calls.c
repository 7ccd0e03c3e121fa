/* calls.c - calls are applied, at all members, and answered, at the caller's; calls are made. */
#include <stdlib.h>
#include <string.h>

#include "base/rcu.h"
#include "group/refuse.h"
#include "replica/replica_int.h"

bool wh_calls_init(struct wh_replica *replica)
{
	struct wh_calls *calls = &replica->calls;
	uint64_t large = wh_layer_large_bytes(replica->subgroup);

	calls->window = wh_layer_window(replica->subgroup);
	calls->incarnation = wh_layer_incarnation(replica->subgroup);
	calls->pending = calloc(calls->window, sizeof(*calls->pending));
	calls->whole = large > 0 ? aligned_alloc(16, (large + 15) / 16 * 16) : NULL;
	for (size_t i = 0; i < WH_CALL_RUN; i++) {
		calls->run[i].size = sizeof(calls->run[i]);
		calls->answers[i].replica = replica;
	}
	return calls->pending != NULL && (large == 0 || calls->whole != NULL);
}

void wh_calls_close(struct wh_replica *replica)
{
	free(replica->calls.pending);
	free(replica->calls.arena);
	free(replica->calls.whole);
}

static struct wh_pending *pending_of(const struct wh_calls *calls, uint64_t index)
{
	return &calls->pending[index % calls->window];
}

#define ENDS UINT64_MAX

/* Only one takes it: the loop when it is applied or gone, the end of the node, or its caller, if it was refused after all. `into`: 0,
 * or ENDS while what it says is read. */
static bool take_pending(struct wh_pending *pending, uint64_t number, uint64_t into)
{
	return wh_compare_swap(&pending->number, &number, into);
}

/* Its outcome is told, unless it is told, or its caller takes it back, meanwhile. */
static void end_pending(struct wh_pending *pending, uint64_t number, const struct wh_outcome *outcome)
{
	whorl_done_fn *done;
	void *ctx;

	if (!take_pending(pending, number, ENDS))
		return;
	done = pending->done;
	ctx = pending->ctx;
	/* Release: it has been read. Partner: arm. */
	wh_store_release(&pending->number, 0);
	wh_replica_tell(done, ctx, outcome);
}

/* 0: there is none, or it is not meant. */
static uint64_t number_of(const struct wh_pending *pending, bool missed)
{
	return missed && !pending->missed ? 0 : wh_load_acquire(&pending->number);
}

/* The least number of an entry; UINT64_MAX: there is none. */
static uint64_t least_number(const struct wh_calls *calls, bool missed)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < calls->window; i++) {
		uint64_t number = number_of(&calls->pending[i], missed);

		least = number != 0 && number < least ? number : least;
	}
	return least;
}

/* Of all entries, or of those that are missed, in the order of their indexes. While a newcomer restores they may be more than a window
 * apart, as those between were never taken: a window of them at a time. What threads leave behind meanwhile may come later. */
static void end_all(const struct wh_calls *calls, bool missed, const struct wh_outcome *outcome)
{
	uint64_t first, before = 0;

	for (; (first = least_number(calls, missed)) != UINT64_MAX && first > before;
	     before = first + calls->window - 1)
		for (uint32_t i = 0; i < calls->window; i++) {
			struct wh_pending *pending = pending_of(calls, first - 1 + i);

			if (number_of(pending, missed) != first + i)
				continue;
			pending->missed = false;
			end_pending(pending, first + i, outcome);
		}
}

/* Before anything is told of later ones. */
static void tell_missed(struct wh_calls *calls)
{
	static const struct wh_outcome missed = {
		.result = WHORL_IN_DOUBT,
		.text = "it was not applied here: the state that this node was given has it, or this node has left the shard"};

	if (__builtin_expect(calls->missed == 0, 1))
		return;
	calls->missed = 0;
	end_all(calls, true, &missed);
}

/* ---- applying ------------------------------------------------------------------------------------------------------------- */

/* The entry of a call of mine. They are delivered in the order of their indexes. */
static struct wh_pending *pending_of_next(struct wh_calls *calls, uint64_t index)
{
	uint64_t slot = calls->seen_slot + (index - calls->seen);

	if (__builtin_expect(slot >= calls->window, 0))
		slot = slot - calls->window < calls->window ? slot - calls->window : index % calls->window;
	calls->seen = index;
	calls->seen_slot = (uint32_t)slot;
	return &calls->pending[slot];
}

/* Is it a call of this life of this node of which some thread wants the outcome? */
static struct wh_pending *find_awaited(struct wh_calls *calls, const struct whorl_message *message)
{
	struct wh_pending *pending;

	if (message->incarnation != calls->incarnation)
		return NULL;
	pending = pending_of_next(calls, message->index);
	/* Acquire: what the caller left. Partner: arm. */
	return wh_load_acquire(&pending->number) == message->index + 1 ? pending : NULL;
}

/* In one piece; NULL: it is not. */
static const void *whole_of(struct wh_calls *calls, const struct whorl_message *message)
{
	if (message->parts == 1)
		return message->data;
	(void)whorl_message_copy(message, 0, calls->whole, message->bytes);
	return calls->whole;
}

/* Call `n` of the run. */
static void show_call(struct wh_replica *replica, size_t n, const struct whorl_message *message, bool replayed)
{
	struct whorl_call *call = &replica->calls.run[n];
	struct wh_answer *answer = &replica->calls.answers[n];
	struct wh_pending *pending = find_awaited(&replica->calls, message);

	call->data = message->bytes > 0 ? whole_of(&replica->calls, message) : NULL;
	call->bytes = message->bytes;
	call->view = message->view;
	call->sequence = message->sequence;
	call->index = message->index;
	call->incarnation = message->incarnation;
	call->caller = message->sender;
	call->awaited = pending != NULL;
	call->replayed = replayed;
	call->place = NULL;
	answer->pending = pending;
	if (pending == NULL)
		return;
	call->place = answer;
	answer->state = WH_ANSWER_NONE;
	answer->bytes = 0;
	answer->view = message->view;
	answer->sequence = message->sequence;
}

/* Of the messages from `from` on; a call in parts ends a run, since there is one place for it. Returns how many. */
static size_t show_run(struct wh_replica *replica, const struct whorl_message *messages, size_t count)
{
	bool replayed = wh_layer_reads_log(replica->subgroup);
	size_t n = 0;

	while (n < count && n < WH_CALL_RUN) {
		show_call(replica, n, &messages[n], replayed);
		if (messages[n++].parts > 1)
			break;
	}
	return n;
}

static void tell_answer(struct wh_calls *calls, const struct wh_answer *answer)
{
	struct wh_pending *pending = answer->pending;
	whorl_done_fn *done = pending->done;
	void *ctx = pending->ctx;

	/* Release: it has been read. Partner: arm. */
	wh_store_release(&pending->number, 0);
	if (answer->state != WH_ANSWER_DEFERRED)
		wh_replica_tell(done, ctx,
				&(struct wh_outcome){.result = WHORL_OK,
						     .answer = answer->bytes > 0 ? calls->arena + answer->from : NULL,
						     .bytes = answer->bytes,
						     .view = answer->view,
						     .sequence = answer->sequence});
}

#define ARENA_KEPT (1 << 20)

static void clear_arena(struct wh_calls *calls)
{
	calls->arena_bytes = 0;
	if (calls->arena_room <= ARENA_KEPT)
		return;
	free(calls->arena);
	calls->arena = NULL;
	calls->arena_room = 0;
}

/* Those of this run are in doubt, deferred or not: wh_calls_end tells. */
static void fail_run(struct wh_replica *replica, size_t count)
{
	const struct wh_answer *answers = replica->calls.answers;

	for (size_t i = 0; i < count; i++)
		if (answers[i].pending != NULL && answers[i].state == WH_ANSWER_DEFERRED)
			wh_later_cancel(&replica->later, answers[i].ticket);
	wh_layer_fail(replica->subgroup, WHORL_SYSTEM, "the program could not apply a call");
}

/* How many the program takes: all, or WH_CALLS_FAILED; a layer above may take fewer. */
static size_t take_run(struct wh_replica *replica, size_t count)
{
	struct wh_calls *calls = &replica->calls;
	size_t taken;

	calls->applies = true;
	if (replica->apply != NULL)
		taken = replica->apply(calls->run, count, replica->apply_ctx) ? count : WH_CALLS_FAILED;
	else
		taken = replica->plan.take(calls->run, count, replica->plan.ctx);
	calls->applies = false;
	return taken;
}

/* What is not taken is shown again, and its callers wait on. */
static size_t apply_run(struct wh_replica *replica, size_t count)
{
	struct wh_calls *calls = &replica->calls;
	size_t taken = take_run(replica, count);

	if (taken == WH_CALLS_FAILED) {
		fail_run(replica, count);
		return taken;
	}
	for (size_t i = 0; i < taken; i++)
		if (calls->answers[i].pending != NULL)
			tell_answer(calls, &calls->answers[i]);
	clear_arena(calls);
	return taken;
}

void wh_calls_missed(void *layer, const struct whorl_message *message)
{
	struct wh_replica *replica = layer;
	struct wh_pending *pending = find_awaited(&replica->calls, message);

	if (pending == NULL)
		return;
	pending->missed = true;
	replica->calls.missed++;
	wh_layer_ask(replica->subgroup);
}

void wh_calls_step(struct wh_replica *replica)
{
	tell_missed(&replica->calls);
}

size_t wh_calls_deliver(void *layer, const struct whorl_message *messages, size_t count)
{
	struct wh_replica *replica = layer;

	tell_missed(&replica->calls);
	for (size_t done = 0; done < count;) {
		size_t run = show_run(replica, messages + done, count - done);
		size_t taken = apply_run(replica, run);

		if (taken == WH_CALLS_FAILED)
			break;
		done += taken;
		if (taken < run)
			return done;
	}
	return count;
}

/* ---- answers -------------------------------------------------------------------------------------------------------------- */

static enum whorl_result may_answer(const char *function, const struct whorl_call *call)
{
	const struct wh_answer *answer = call->place;

	if (!answer->replica->calls.applies)
		return wh_refuse(function, "the call is not one of an `apply` that runs");
	if (answer->state != WH_ANSWER_NONE)
		return wh_refuse(function, "the call is answered or deferred already");
	return WHORL_OK;
}

static bool make_room(struct wh_calls *calls, size_t bytes)
{
	size_t room = calls->arena_room > 0 ? calls->arena_room : 4096;
	unsigned char *arena;

	if (bytes <= calls->arena_room - calls->arena_bytes)
		return true;
	while (room - calls->arena_bytes < bytes && room <= SIZE_MAX / 2)
		room *= 2;
	arena = room - calls->arena_bytes < bytes ? NULL : realloc(calls->arena, room);
	if (arena == NULL)
		return false;
	calls->arena = arena;
	calls->arena_room = room;
	return true;
}

enum whorl_result whorl_answer(const struct whorl_call *call, const void *data, size_t bytes)
{
	struct wh_answer *answer;
	struct wh_calls *calls;
	enum whorl_result result;

	if (call == NULL || (data == NULL && bytes > 0))
		return WH_REFUSE(call == NULL ? "no call" : "no data");
	if (call->place == NULL)
		return WHORL_OK;
	result = may_answer(__func__, call);
	if (result != WHORL_OK)
		return result;
	answer = call->place;
	calls = &answer->replica->calls;
	if (!make_room(calls, bytes))
		return WHORL_MEMORY;
	answer->state = WH_ANSWER_GIVEN;
	answer->from = calls->arena_bytes;
	answer->bytes = bytes;
	if (bytes > 0)
		memcpy(calls->arena + calls->arena_bytes, data, bytes);
	calls->arena_bytes += bytes;
	return WHORL_OK;
}

uint64_t whorl_defer(const struct whorl_call *call)
{
	struct wh_answer *answer;
	uint64_t ticket;

	if (call == NULL)
		return WH_REFUSE("no call"), 0;
	if (call->place == NULL || may_answer(__func__, call) != WHORL_OK)
		return 0;
	answer = call->place;
	ticket = wh_later_add(&answer->replica->later, answer->pending->done, answer->pending->ctx, answer->view,
			      answer->sequence);
	if (ticket == 0)
		return 0;
	answer->state = WH_ANSWER_DEFERRED;
	answer->ticket = ticket;
	return ticket;
}

void *wh_replica_left(const struct whorl_call *call, whorl_done_fn *done)
{
	const struct wh_answer *answer = call->place;

	return answer != NULL && answer->pending->done == done ? answer->pending->ctx : NULL;
}

/* ---- making calls --------------------------------------------------------------------------------------------------------- */

/* False: the entry is taken, by a call that is delivered and not applied yet. Any thread that has the claim. */
static bool arm(struct wh_pending *pending, uint64_t index, whorl_done_fn *done, void *ctx)
{
	/* Acquire: the loop has read what the last caller left. Partner: tell_answer. */
	if (wh_load_acquire(&pending->number) != 0)
		return false;
	pending->done = done;
	pending->ctx = ctx;
	wh_store_release(&pending->number, index + 1); /* partner: find_awaited */
	return true;
}

static bool is_accepted(enum whorl_result result)
{
	return result == WHORL_OK || result == WHORL_PENDING;
}

/* It was refused. But if the end of the node, or of this node's place in the shard, has taken what the caller left, its outcome is
 * told, and it counts as accepted. */
static enum whorl_result take_back(struct wh_pending *pending, uint64_t index, enum whorl_result result)
{
	return take_pending(pending, index + 1, 0) ? result : WHORL_OK;
}

/* In the RCU lock whorl_close waits for, before it ends what is pending. */
static enum whorl_result commit_pending(struct wh_replica *replica, struct whorl_claim *claim, size_t bytes,
					whorl_done_fn *done, void *ctx)
{
	struct wh_pending *pending = &replica->calls.pending[claim->slot]; /* which is its index modulo window */
	uint64_t index = claim->number;
	enum whorl_result result;

	/* A later call may have the entry, as its claim has the slot. */
	if (wh_layer_has_dropped(replica->subgroup, claim))
		return whorl_commit(claim, bytes);
	if (!arm(pending, index, done, ctx))
		return WHORL_AGAIN;
	/* Either the loop that drops the claim sees what was left, or the commit sees that it is dropped. */
	wh_layer_fence(replica->subgroup);
	result = whorl_commit(claim, bytes);
	return is_accepted(result) ? result : take_back(pending, index, result);
}

enum whorl_result wh_calls_commit(struct wh_replica *replica, struct whorl_claim *claim, size_t bytes,
				  whorl_done_fn *done, void *ctx)
{
	enum whorl_result result = WHORL_CLOSED;
	bool closed;

	if (done == NULL)
		return whorl_commit(claim, bytes);
	wh_rcu_read_lock();
	closed = wh_layer_state(replica->subgroup) == WHORL_CLOSED;
	if (!closed)
		result = commit_pending(replica, claim, bytes, done, ctx);
	wh_rcu_read_unlock();
	return closed ? whorl_commit(claim, bytes) : result; /* which may free the replica */
}

void wh_calls_fill(const struct whorl_claim *claim, const void *data)
{
	const unsigned char *from = data;
	size_t bytes;
	void *part;

	for (uint32_t i = 0; whorl_claim_part(claim, i, &part, &bytes) == WHORL_OK && bytes > 0; i++) {
		memcpy(part, from, bytes);
		from += bytes;
	}
}

enum whorl_result wh_calls_refused(const struct wh_replica *replica, enum whorl_result result)
{
	if (result == WHORL_NOT_SENDER && wh_layer_membership(replica->subgroup) == WHORL_NOT_FOUND)
		return WHORL_NOT_FOUND;
	return result;
}

#define NO_CALLS "the subgroup has no whorl_on_calls"

enum whorl_result whorl_call(whorl_subgroup *subgroup, const void *data, size_t bytes, whorl_done_fn *done, void *ctx)
{
	struct wh_replica *replica = subgroup != NULL ? wh_replica_of(subgroup) : NULL;
	struct whorl_claim claim;
	enum whorl_result result;

	if (replica == NULL || (data == NULL && bytes > 0))
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : replica == NULL ? NO_CALLS : "no data");
	result = whorl_claim_large(subgroup, bytes, 0, &claim);
	if (result != WHORL_OK)
		return wh_calls_refused(replica, result);
	wh_calls_fill(&claim, data);
	result = wh_calls_commit(replica, &claim, bytes, done, ctx);
	if (result == WHORL_AGAIN)
		(void)whorl_abort(&claim);
	return result;
}

static enum whorl_result may_commit(const char *function, const struct whorl_claim *claim, size_t bytes,
				    struct wh_replica **replica)
{
	if (claim == NULL || claim->stream == NULL)
		return wh_refuse(function, claim == NULL ? "no claim" : "the claim is finished already");
	*replica = wh_replica_of(wh_layer_claimed(claim));
	if (*replica == NULL)
		return wh_refuse(function, NO_CALLS);
	if (bytes > claim->bytes)
		return wh_refuse(function, "more than was claimed; the claim is still open");
	return wh_layer_state((*replica)->subgroup) == WHORL_FORKED ? WHORL_FORKED : WHORL_OK;
}

enum whorl_result whorl_call_commit(struct whorl_claim *claim, size_t bytes, whorl_done_fn *done, void *ctx)
{
	struct wh_replica *replica = NULL;
	enum whorl_result result = may_commit(__func__, claim, bytes, &replica);

	return result == WHORL_OK ? wh_calls_commit(replica, claim, bytes, done, ctx) : result;
}

/* ---- the end ---------------------------------------------------------------------------------------------------------------- */

void wh_calls_gone(void *layer, uint64_t first, uint64_t end)
{
	static const struct wh_outcome gone = {.result = WHORL_NOT_SENDER,
					       .text = "the layout has taken this node out of the shard"};
	struct wh_replica *replica = layer;

	tell_missed(&replica->calls);
	for (uint64_t index = first; index < end; index++) {
		struct wh_pending *pending = pending_of(&replica->calls, index);

		if (wh_load_acquire(&pending->number) == index + 1)
			end_pending(pending, index + 1, &gone);
	}
}

void wh_calls_end(struct wh_replica *replica, const char *text)
{
	const struct wh_outcome doubt = {.result = WHORL_IN_DOUBT, .text = text};

	end_all(&replica->calls, false, &doubt);
}
