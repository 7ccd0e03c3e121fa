/* await.c - the newcomer: which nodes it asks, and which stream it takes. See state.h; docs/decisions/0016, "The state".
 *
 * The expected giver has its time; then the members that may have the state are asked one after the other, and all of them once
 * more. The stream that comes first is taken, from a node that was asked or not: one is as good as another. A stream that comes
 * early, or while another is taken, is kept for a while: it may be wanted soon.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "state/state_int.h"

static uint64_t now_ns(const struct wh_state *state)
{
	return *state->hooks.now_ns;
}

static bool is_taking(const struct wh_state *state)
{
	return state->take != NULL && state->take->use == WH_TAKE_WANTED;
}

/* A take from a giver that was removed, too, may just be at its end. */
static bool may_yet_have_it(const struct wh_state *state)
{
	return state->take != NULL && state->take->use != WH_TAKE_UNWANTED;
}

/* A stream that is on its way is a hope, too. Two cannot wait for each other so: what is expected to give was in the shard before. */
bool wh_state_has_hope(const struct wh_state *state)
{
	return state->phase == WH_STATE_CATCHES_UP || state->phase == WH_STATE_EMPTIES ||
	       (state->phase == WH_STATE_AWAITS && (may_yet_have_it(state) || state->expects));
}

static void drop_spare(struct wh_state *state)
{
	if (state->spare != NULL)
		state->spare->ops->close(state->spare);
	state->spare = NULL;
}

static void drop_backlog(struct wh_state *state)
{
	struct wh_backlog_place place = {0};
	const struct whorl_message *message;

	while (state->hooks.missed != NULL && (message = wh_backlog_walk(&state->backlog, &place)) != NULL)
		state->hooks.missed(state->hooks.ctx, message);
	wh_backlog_clear(&state->given);
	wh_backlog_clear(&state->backlog);
	state->refused = false;
	wh_store_relaxed(&state->stats.kept, 0);
}

/* What was restored, and what is kept back. */
static void forget_state(struct wh_state *state)
{
	drop_backlog(state);
	memset(state->floor, 0, sizeof(state->floor));
	memset(state->floor_has, 0, sizeof(state->floor_has));
	memset(state->behind, 0, sizeof(state->behind));
	state->behind_count = 0;
	state->filters = false;
	state->floor_view = state->floor_sequence = 0;
}

void wh_state_fail(struct wh_state *state, enum whorl_result code, const char *format, ...)
{
	char text[256];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(text, sizeof(text), format, arguments);
	va_end(arguments);
	state->phase = WH_STATE_FAILED;
	drop_backlog(state);
	wh_take_stop(state->take, WH_TAKE_UNWANTED);
	drop_spare(state);
	state->hooks.failed(state->hooks.ctx, code, text);
}

/* ---- asking --------------------------------------------------------------------------------------------------------- */

static void expect_giver(struct wh_state *state, uint32_t node, bool asks, uint64_t patience_ns)
{
	state->asked = node;
	state->asks = asks;
	state->asked_until_ns = now_ns(state) + patience_ns;
}

static void next_giver(struct wh_state *state)
{
	uint32_t ids[WH_STATE_SENDERS_MAX];
	uint32_t count = state->hooks.givers(state->hooks.ctx, ids, WH_STATE_SENDERS_MAX);

	state->expects = false;
	for (uint32_t i = 0; i < count; i++)
		if (!state->tried[ids[i]]) {
			state->tried[ids[i]] = true;
			expect_giver(state, ids[i], true, WH_STATE_PATIENCE * state->hooks.timeout_ns);
			return;
		}
	/* A node that says nothing may have it, and will answer, or leave the view. And a node that hears no quorum cannot know
	 * which nodes are left: it may have been removed itself. And I may find that I have it. */
	if (state->somebody_is_silent || !state->hooks.hears_quorum(state->hooks.ctx) || may_yet_have_it(state))
		state->round = 0;
	state->somebody_is_silent = false;
	if (++state->round == WH_STATE_ROUNDS) {
		wh_state_fail(state, WHORL_SHARD_LOST, "no node that has it is left");
		return;
	}
	memset(state->tried, 0, sizeof(state->tried));
	expect_giver(state, WH_NOBODY, false, state->hooks.timeout_ns / WH_STATE_ROUND_PART);
}

/* The node that is expected to give has said no, or is gone, or gave something that is no good. */
static void give_up(struct wh_state *state, uint32_t node)
{
	if (state->phase != WH_STATE_AWAITS)
		state->declined_early[node] = true; /* its view began first */
	if (state->phase != WH_STATE_AWAITS || state->asked != node)
		return;
	state->tried[node] = true;
	state->asked_until_ns = 0;
	state->expects = false;
}

static size_t ask_giver(struct wh_state *state)
{
	size_t work = 0;

	if (now_ns(state) >= state->asked_until_ns) {
		state->somebody_is_silent |= state->asked != WH_NOBODY && state->asked_until_ns != 0;
		next_giver(state);
		work = 1;
	}
	if (state->phase != WH_STATE_AWAITS || !state->asks || !state->hooks.ask(state->hooks.ctx, state->asked))
		return work;
	state->asks = false;
	wh_state_log(state, WH_LOG_INFO, "asks node %" PRIu32 " for the state of %s", state->asked, state->hooks.name);
	return 1;
}

void wh_state_await(struct wh_state *state, uint32_t giver, uint64_t view, uint32_t shard)
{
	state->keeps = true;
	if (state->stopped)
		state->phase = WH_STATE_FAILED;
	if (state->phase == WH_STATE_FAILED)
		return;
	wh_take_stop(state->take, WH_TAKE_UNWANTED);
	forget_state(state);
	memset(state->tried, 0, sizeof(state->tried));
	state->phase = WH_STATE_AWAITS;
	state->had = true;
	state->view = view;
	state->shard = shard;
	state->round = 0;
	expect_giver(state, giver, false, WH_STATE_PATIENCE * state->hooks.timeout_ns);
	state->expects = true;
	if (state->declined_early[giver])
		give_up(state, giver);
	memset(state->declined_early, 0, sizeof(state->declined_early));
}

void wh_state_declined(struct wh_state *state, uint32_t node)
{
	if (node < WH_STATE_SENDERS_MAX)
		give_up(state, node);
}

void wh_state_gone(struct wh_state *state, uint32_t node)
{
	if (node >= WH_STATE_SENDERS_MAX)
		return;
	wh_state_forsake(state, node);
	/* What it has written may be there, or come: a stream says itself when it is at its end. */
	give_up(state, node);
}

/* It may have left when all was written, and nobody else have the state: so the take goes on until another stream is there, or nothing comes
 * for a while. */
void wh_state_removed(struct wh_state *state, uint32_t node)
{
	if (is_taking(state) && state->take->transfer.node == node)
		wh_take_hurry(state->take);
	wh_state_gone(state, node);
}

void wh_state_leave(struct wh_state *state)
{
	if (state->phase == WH_STATE_FAILED)
		return;
	wh_take_stop(state->take, WH_TAKE_UNWANTED);
	forget_state(state);
	state->phase = WH_STATE_HAS;
	state->keeps = false;
}

/* What is under way is of another shard. While it ends nothing may be upcalled: it may be in the program's `restore`. */
void wh_state_begin(struct wh_state *state, uint64_t view, uint32_t shard)
{
	bool had = state->had;

	wh_state_leave(state);
	state->had = true;
	if (!had || state->phase == WH_STATE_FAILED)
		return;
	state->phase = state->stopped ? WH_STATE_FAILED : WH_STATE_EMPTIES;
	state->keeps = true;
	state->view = view;
	state->shard = shard;
}

void wh_state_recover(struct wh_state *state, uint64_t view, uint32_t shard)
{
	wh_state_leave(state);
	state->had = true;
	state->keeps = true;
	if (state->stopped)
		state->phase = WH_STATE_FAILED;
	if (state->phase == WH_STATE_FAILED)
		return;
	state->phase = WH_STATE_CATCHES_UP;
	state->preceded = state->hooks.precede == NULL;
	state->refused = false;
	state->filters = false;
	state->view = view;
	state->shard = shard;
}

/* ---- the streams ---------------------------------------------------------------------------------------------------- */

void wh_state_stream(struct wh_state *state, uint32_t node, struct wh_stream *stream)
{
	drop_spare(state); /* a later one is as good, or better */
	if (state->stopped || state->phase == WH_STATE_FAILED) {
		stream->ops->close(stream);
		return;
	}
	state->spare = stream;
	state->spare_from = node;
	state->spare_until_ns = now_ns(state) + WH_STATE_PATIENCE * state->hooks.timeout_ns;
}

static void begin_take(struct wh_state *state)
{
	state->take = wh_take_create(state, state->spare_from, state->spare);
	if (state->take == NULL) {
		wh_state_fail(state, WHORL_MEMORY, "no memory to take it");
		return;
	}
	state->spare = NULL;
	wh_store_relaxed(&state->stats.from, state->spare_from);
	wh_store_relaxed(&state->stats.takes, 1);
	wh_state_log(state, WH_LOG_INFO, "takes the state of %s from node %" PRIu32, state->hooks.name,
		     state->spare_from);
	wh_transfer_submit(&state->take->transfer);
}

static void begin_empty(struct wh_state *state)
{
	state->take = wh_take_create(state, WH_NOBODY, NULL);
	if (state->take == NULL) {
		wh_state_fail(state, WHORL_MEMORY, "no memory to restore the empty one");
		return;
	}
	wh_state_log(state, WH_LOG_INFO, "the state of %s is empty: shard %" PRIu32 " begins", state->hooks.name,
		     state->shard);
	wh_transfer_submit(&state->take->transfer);
}

static void was_cut(struct wh_state *state, const struct wh_transfer *transfer)
{
	char pace[WH_TRANSFER_PACE_BYTES];

	wh_transfer_pace(transfer, pace);
	wh_state_log(state, WH_LOG_WARNING, "does not take the state of %s from node %" PRIu32 " any more: %s; %s",
		     state->hooks.name, transfer->node, transfer->why, pace);
	state->somebody_is_silent |= transfer->end == WH_TRANSFER_SILENT; /* and has it */
	give_up(state, transfer->node);
}

/* A take that is over, and that was wanted to the end. */
static void end_take(struct wh_state *state, struct wh_take *take)
{
	const struct wh_transfer *transfer = &take->transfer;
	char pace[WH_TRANSFER_PACE_BYTES];

	switch (transfer->end) {
	case WH_TRANSFER_DONE:
		wh_transfer_pace(transfer, pace);
		if (transfer->node != WH_NOBODY)
			wh_state_log(state, WH_LOG_INFO, "has taken the state of %s from node %" PRIu32 ": %s",
				     state->hooks.name, transfer->node, pace);
		wh_state_catch_up(state, &take->parser.header, &take->given);
		break;
	case WH_TRANSFER_CUT:
	case WH_TRANSFER_SILENT:
		was_cut(state, transfer);
		break;
	case WH_TRANSFER_REFUSED:
		wh_state_fail(state, WHORL_SYSTEM, "%s", transfer->why);
		break;
	case WH_TRANSFER_STALE: /* left over; the right one may still come */
	case WH_TRANSFER_STOPPED:
	case WH_TRANSFER_GOES_ON:
		break;
	}
}

static size_t look_after_take(struct wh_state *state)
{
	struct wh_take *take = state->take;
	size_t work = 1;

	if (!wh_transfer_rests(&take->transfer)) {
		if (take->transfer.node != WH_NOBODY)
			wh_transfer_report(&take->transfer, "has taken from");
		return 0;
	}
	if (take->transfer.end == WH_TRANSFER_GOES_ON) {
		work = take->transfer.moved;
		wh_transfer_submit(&take->transfer);
		return work;
	}
	state->take = NULL;
	wh_store_relaxed(&state->stats.takes, 0);
	if (take->use == WH_TAKE_WANTED ||
	    (take->use == WH_TAKE_WILL_DO &&
	     (take->transfer.end == WH_TRANSFER_DONE || take->transfer.end == WH_TRANSFER_REFUSED)))
		end_take(state, take);
	wh_take_free(take);
	return work;
}

size_t wh_state_step_await(struct wh_state *state)
{
	size_t work = 0;

	if (state->take != NULL)
		work += look_after_take(state);
	if (state->phase == WH_STATE_EMPTIES && state->take == NULL) {
		begin_empty(state);
		return work + 1;
	}
	if (state->spare != NULL && state->phase == WH_STATE_AWAITS && state->take == NULL) {
		begin_take(state);
		return work + 1;
	}
	if (state->spare != NULL && state->phase == WH_STATE_AWAITS && state->take->use == WH_TAKE_WILL_DO)
		wh_take_stop(state->take, WH_TAKE_WILL_DO); /* the other is likelier to come to its end */
	/* While an unwanted one is on its way out the spare waits for its turn. */
	if (state->spare != NULL && (state->phase != WH_STATE_AWAITS || is_taking(state)) &&
	    now_ns(state) >= state->spare_until_ns)
		drop_spare(state);
	if (state->phase == WH_STATE_AWAITS && !is_taking(state) && state->spare == NULL)
		work += ask_giver(state);
	return work;
}
