/* keep.c - the newcomer: messages that are kept back, and upcalled once the state is restored. See state.h.
 *
 * The position is in a view, and says of each of its senders which messages are in the state: they are dropped, and so is what was
 * delivered here in views before it. It may be ahead of what has been delivered here, so some of these may come when nothing is
 * kept back any more, and messages are looked at until every sender has come up to it, or there is one of a later view.
 *
 * The program may refuse (0044): what it does not take stays, and is upcalled again from there when it asks.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "state/state_int.h"

bool wh_state_keeps(const struct wh_state *state)
{
	return state->keeps;
}

bool wh_state_restores(const struct wh_state *state)
{
	return state->phase != WH_STATE_HAS;
}

/* ---- what is in the state ------------------------------------------------------------------------------------------- */

/* Unordered, members deliver a sender's messages in whichever view they come, so numbers tell, but only within one life of the
 * sender: a later one begins anew. 0: the message and what was restored are of the same life; below: the message is of an earlier
 * one; above: of a later one. */
static int life_of(const struct wh_state *state, const struct whorl_message *message)
{
	const uint64_t *began = state->life_began[message->sender];
	int life = 0;

	for (int i = 0; i < WH_STATE_LIVES; i++)
		life += (message->view >= began[i]) - (state->floor_view >= began[i]);
	return life;
}

/* Ordered: what was delivered in views before that of the position is in the state, and nothing of later ones is. Unordered: what
 * senders that the position does not name had sent before is in the state, or no node has it any more; so is all of earlier
 * lives. */
static bool is_in_state(const struct wh_state *state, const struct whorl_message *message)
{
	bool is_older = message->view < state->floor_view;
	int life = life_of(state, message);

	if (state->hooks.ordered && message->view != state->floor_view)
		return is_older;
	if (life != 0)
		return life < 0;
	return (is_older && !state->floor_has[message->sender]) || message->index < state->floor[message->sender];
}

/* No message has to be looked at any more once all senders have come up to what is in the state, or cannot. */
static void come_up(struct wh_state *state, const struct whorl_message *message)
{
	uint32_t sender = message->sender;

	if (message->view < state->floor_view)
		return;
	if (state->behind[sender] && (message->index + message->indexes >= state->floor[sender] ||
				      (!state->hooks.ordered && life_of(state, message) > 0))) {
		state->behind[sender] = false;
		state->behind_count--;
	}
	if (state->behind_count == 0 || (state->hooks.ordered && message->view > state->floor_view))
		state->filters = false;
}

/* Upcalls those from number *done up to `end`, and counts those that were taken as done. False: not all were. */
static bool upcall_run(struct wh_state *state, const struct whorl_message *messages, size_t *done, size_t end)
{
	size_t from = *done;

	if (end > from)
		*done += state->hooks.upcall(state->hooks.ctx, messages + from, end - from);
	for (size_t i = from; i < *done && state->filters; i++)
		come_up(state, &messages[i]);
	return *done == end;
}

/* Upcalls those that are not in the state, in runs as long as can be. Returns how many are done with: taken, or in the state. What is
 * refused comes again, so a message has come up when it is done with, and not before. */
static size_t upcall_messages(struct wh_state *state, const struct whorl_message *messages, size_t count)
{
	size_t done = 0;

	for (size_t i = 0; i < count && state->filters; i++) {
		if (!is_in_state(state, &messages[i]))
			continue;
		if (!upcall_run(state, messages, &done, i))
			return done;
		come_up(state, &messages[i]);
		if (state->hooks.missed != NULL)
			state->hooks.missed(state->hooks.ctx, &messages[i]);
		done = i + 1;
	}
	(void)upcall_run(state, messages, &done, count);
	return done;
}

bool wh_state_has_message(struct wh_state *state, const struct whorl_message *message)
{
	bool has;

	if (!state->filters)
		return false;
	has = is_in_state(state, message);
	come_up(state, message);
	state->keeps = state->filters;
	return has;
}

void wh_state_begin_view(struct wh_state *state, uint64_t view, const uint32_t *joined, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		uint64_t *began = state->life_began[joined[i]];

		memmove(began + 1, began, (WH_STATE_LIVES - 1) * sizeof(*began));
		began[0] = view;
		state->declined_early[joined[i]] = false;
	}
}

static void raise_one(const struct wh_state *state, struct wh_position_of *of)
{
	if (of->next < state->floor[of->id] && state->life_began[of->id][0] <= state->floor_view)
		of->next = state->floor[of->id];
}

/* What I have restored may be ahead of what has been delivered here; unordered, for as long as I have not come up to it. */
void wh_state_raise_position(const struct wh_state *state, struct wh_position *position, uint64_t *view)
{
	bool named[WH_STATE_SENDERS_MAX] = {false}, is_later = *view > state->floor_view;

	if (*view < state->floor_view)
		position->count = 0; /* of another set of senders */
	if (*view < state->floor_view || (!is_later && position->sequence < state->floor_sequence))
		position->sequence = state->floor_sequence;
	for (uint32_t i = 0; i < position->count; i++) {
		named[position->of[i].id] = true;
		raise_one(state, &position->of[i]);
	}
	if (is_later)
		return;
	*view = state->floor_view;
	for (uint32_t id = 0; id < WH_STATE_SENDERS_MAX; id++)
		if (!named[id] && state->floor_has[id])
			position->of[position->count++] = (struct wh_position_of){.id = id, .next = state->floor[id]};
}

/* ---- what is kept back ---------------------------------------------------------------------------------------------- */

static void note_kept(struct wh_state *state)
{
	wh_store_relaxed(&state->stats.kept, state->backlog.allocated + state->given.allocated);
}

void wh_state_keep_back(struct wh_state *state, const struct whorl_message *messages, size_t count)
{
	enum whorl_result result = WHORL_OK;

	if (state->phase == WH_STATE_FAILED)
		return;
	for (size_t i = 0; i < count && result == WHORL_OK; i++)
		result = wh_backlog_append(&state->backlog, &messages[i]);
	note_kept(state);
	if (result == WHORL_MEMORY)
		wh_state_fail(state, WHORL_MEMORY,
			      "what is kept back until it is restored outgrew backlog_max (%" PRIu64 " bytes)",
			      state->hooks.backlog_max);
	else if (result != WHORL_OK)
		wh_state_fail(state, WHORL_MEMORY, "no memory to keep back more than %" PRIu64 " bytes",
			      state->backlog.allocated);
}

/* What came with the state was of views before, and is not in it: nothing is looked for there. */
static size_t upcall_oldest(struct wh_state *state)
{
	struct whorl_message run[WH_STATE_RUN];
	bool given = state->given.messages > 0;
	struct wh_backlog *from = given ? &state->given : &state->backlog;
	size_t count = wh_backlog_oldest(from, run, WH_STATE_RUN);
	size_t done = given ? state->hooks.upcall(state->hooks.ctx, run, count) : upcall_messages(state, run, count);

	state->refused = done < count;
	wh_backlog_drop(from, done);
	note_kept(state);
	return done;
}

static bool has_kept(const struct wh_state *state)
{
	return state->given.messages > 0 || state->backlog.messages > 0;
}

void wh_state_offer_again(struct wh_state *state)
{
	state->refused = false;
}

/* While it catches up, a delivery upcalls about as much as it adds: so it does catch up, however fast others send, since they wait
 * for this node's deliveries. */
size_t wh_state_keep(struct wh_state *state, const struct whorl_message *messages, size_t count)
{
	size_t done;

	if (state->phase == WH_STATE_FAILED)
		return count;
	if (state->phase == WH_STATE_HAS) {
		done = upcall_messages(state, messages, count);
		state->keeps = state->filters;
		return done;
	}
	if (state->refused)
		return 0; /* the rings hold: so what is kept does not grow */
	wh_state_keep_back(state, messages, count);
	if (state->phase == WH_STATE_CATCHES_UP && state->preceded)
		upcall_oldest(state);
	return count;
}

void wh_state_catch_up(struct wh_state *state, const struct wh_state_header *header, struct wh_backlog *given)
{
	wh_backlog_clear(&state->given);
	state->given = *given;
	wh_backlog_init(given, given->max);
	state->refused = false;
	state->preceded = state->hooks.precede == NULL;
	for (uint32_t i = 0; i < header->position.count; i++) {
		const struct wh_position_of *of = &header->position.of[i];

		state->floor[of->id] = of->next;
		state->floor_has[of->id] = true;
		state->behind[of->id] = of->next > 0;
		state->behind_count += of->next > 0;
	}
	state->floor_view = header->view;
	state->floor_sequence = header->position.sequence;
	state->filters = state->behind_count > 0 || header->view > state->view;
	state->phase = WH_STATE_CATCHES_UP;
}

size_t wh_state_step_catch_up(struct wh_state *state)
{
	uint64_t until_ns = *state->hooks.now_ns + state->hooks.upcall_ns;
	size_t work = 0;

	if (!state->preceded)
		state->preceded = state->hooks.precede(state->hooks.ctx, &work);
	if (!state->preceded || state->phase != WH_STATE_CATCHES_UP)
		return work;
	do {
		work += upcall_oldest(state);
		*state->hooks.now_ns = wh_env_now(state->hooks.env);
	} while (has_kept(state) && !state->refused && *state->hooks.now_ns < until_ns);
	if (has_kept(state))
		return work;
	state->phase = WH_STATE_HAS;
	state->keeps = state->filters;
	state->hooks.restored(state->hooks.ctx);
	return work + 1;
}
