/* give.c - the giver: a snapshot on the loop, then a job that reads it and writes the stream. See state.h.
 *
 * Each snapshot is released once: by its job, when it is over; or in wh_state_stop or wh_state_free, if no job has it then.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/counter.h"
#include "state/state_int.h"

#define PAUSE_MAX_NS (100 * WH_NS_PER_MS)

_Static_assert(WH_STATE_HEADER_BYTES <= WH_STATE_PIECE, "the header fits in the buffer");

/* ---- the job -------------------------------------------------------------------------------------------------------- */

static void finish_give(struct wh_give *give)
{
	const struct whorl_state *functions = &give->transfer.state->functions;

	if (give->transfer.stream != NULL)
		give->transfer.stream->ops->close(give->transfer.stream);
	give->transfer.stream = NULL;
	if (give->snapshot != NULL)
		functions->release(give->snapshot, functions->ctx);
	give->snapshot = NULL;
}

static void free_give(struct wh_give *give)
{
	free(give->rest);
	wh_transfer_free(&give->transfer);
}

static void put_piece(struct wh_give *give, size_t bytes)
{
	wh_state_put_length(give->transfer.buffer, (uint32_t)bytes);
	give->payload = bytes;
	give->at = 0;
	give->have = WH_STATE_LENGTH_BYTES + bytes;
}

/* Of the messages that follow. */
static void take_piece_of_rest(struct wh_give *give)
{
	size_t bytes = give->rest_bytes - give->rest_at;

	if (bytes > WH_STATE_PIECE)
		bytes = WH_STATE_PIECE;
	memcpy(give->transfer.buffer + WH_STATE_LENGTH_BYTES, give->rest + give->rest_at, bytes);
	give->rest_at += bytes;
	put_piece(give, bytes);
	if (bytes > 0)
		return;
	free(give->rest); /* the end of them is written next, and then there is nothing more */
	give->rest = NULL;
}

/* The next piece, with its length before it. */
static void read_piece(struct wh_give *give)
{
	const struct whorl_state *functions = &give->transfer.state->functions;
	ptrdiff_t got;

	if (give->all_read && give->rest != NULL) {
		take_piece_of_rest(give);
		return;
	}
	if (give->all_read) {
		give->transfer.end = WH_TRANSFER_DONE;
		return;
	}
	got = functions->read(give->snapshot, give->transfer.buffer + WH_STATE_LENGTH_BYTES, WH_STATE_PIECE,
			      functions->ctx);
	if (got == WH_STATE_READ_AGAIN) {
		give->reads_later = true;
		return;
	}
	if (got < 0 || got > WH_STATE_PIECE) {
		give->transfer.end = WH_TRANSFER_REFUSED;
		give->transfer.why =
			got < 0 ? "the program could not read it" : "the program read more than there is room for";
		return;
	}
	put_piece(give, (size_t)got);
	give->all_read = got == 0;
}

/* Until there may be more to read. That is no work, for which it would have to pause. */
static void wait_to_read(struct wh_give *give)
{
	const struct wh_env *env = give->transfer.state->hooks.env;
	const struct timespec moment = {.tv_nsec = (long)WH_NS_PER_MS};
	uint64_t began_ns = wh_env_now(env);

	nanosleep(&moment, NULL);
	if (give->since_ns != 0)
		give->since_ns += wh_env_now(env) - began_ns;
}

/* Returns whether it makes sense to go on now. */
static bool read_or_wait(struct wh_give *give, bool may_wait)
{
	give->reads_later = false;
	read_piece(give);
	if (give->reads_later && may_wait)
		wait_to_read(give);
	return !give->reads_later || may_wait;
}

/* Relaxed: of a pass that ends just now one of the words may be seen and the other not, which is a pause too many or too few. */
static uint64_t busy_passes(const struct wh_state_hooks *hooks)
{
	uint64_t idle = wh_load_relaxed(hooks->idle_steps);

	return wh_load_relaxed(hooks->steps) - idle;
}

/* Has the loop had anything to do since the last piece? Where nothing is said nobody needs the time. */
static bool is_group_busy(struct wh_give *give)
{
	uint64_t before = give->busy;

	give->busy = busy_passes(&give->transfer.state->hooks);
	return give->busy != before;
}

/* The group needs the processors. In proportion to what the last piece took, whatever that was spent on. */
static void pause_for_others(struct wh_give *give)
{
	const struct wh_state_hooks *hooks = &give->transfer.state->hooks;
	bool busy = is_group_busy(give);
	uint64_t took_ns = give->since_ns == 0 || !busy ? 0 : wh_env_now(hooks->env) - give->since_ns;
	uint64_t pause_ns = took_ns * (100 - hooks->share) / hooks->share;
	struct timespec pause = {.tv_nsec = (long)(pause_ns < PAUSE_MAX_NS ? pause_ns : PAUSE_MAX_NS)};

	if (pause_ns > 0)
		nanosleep(&pause, NULL);
	give->since_ns = wh_env_now(hooks->env);
}

/* Returns whether it makes sense to go on now. */
static bool write_some(struct wh_give *give, bool may_wait)
{
	struct wh_stream *stream = give->transfer.stream;
	ptrdiff_t written = stream->ops->write(stream, give->transfer.buffer + give->at, give->have - give->at);

	if (written < 0) {
		give->transfer.end = WH_TRANSFER_CUT;
		give->transfer.why = "it does not take it any more";
		return false;
	}
	if (written == 0)
		return may_wait && stream->ops->wait(stream, true, WH_STATE_WAIT_NS);
	give->transfer.moved = true;
	give->at += (size_t)written;
	if (give->at < give->have)
		return true;
	wh_count(&give->transfer.bytes, give->payload);
	wh_fetch_add(&give->transfer.state->stats.given, give->payload); /* several jobs do */
	if (may_wait && wh_transfer_gives_way(&give->transfer))
		pause_for_others(give);
	return may_wait;
}

static void write_stream(struct wh_transfer *transfer, bool may_wait)
{
	struct wh_give *give = (struct wh_give *)transfer;
	bool goes_on = true;

	while (transfer->end == WH_TRANSFER_GOES_ON && goes_on) {
		if (wh_transfer_is_to_stop(transfer))
			transfer->end = WH_TRANSFER_STOPPED;
		else if (give->at == give->have)
			goes_on = read_or_wait(give, may_wait);
		else
			goes_on = write_some(give, may_wait);
	}
	if (transfer->end != WH_TRANSFER_GOES_ON)
		finish_give(give);
}

/* ---- the loop ------------------------------------------------------------------------------------------------------- */

static void answer_later(struct wh_state *state, uint32_t node, enum wh_answer answer)
{
	state->answers_due += (answer != WH_ANSWER_NONE) - (state->answers[node] != WH_ANSWER_NONE);
	state->answers[node] = (unsigned char)answer;
}

static void decline_to_give(struct wh_state *state, uint32_t node)
{
	answer_later(state, node, state->hooks.decline(state->hooks.ctx, node) ? WH_ANSWER_NONE : WH_ANSWER_DECLINE);
}

/* The program makes it of what stands here. */
static void *ask_for_snapshot(const struct wh_state *state, const struct wh_state_header *header)
{
	const struct whorl_state *functions = &state->functions;
	struct whorl_position_of senders[WH_STATE_SENDERS_MAX];
	struct whorl_position shown = {.size = sizeof(shown),
				       .view = header->view,
				       .sequence = header->position.sequence,
				       .senders = senders,
				       .sender_count = header->position.count,
				       .shard = header->shard};

	for (uint32_t i = 0; i < shown.sender_count; i++) {
		const struct wh_position_of *of = &header->position.of[i];

		senders[i] = (struct whorl_position_of){
			.size = sizeof(senders[i]), .id = of->id, .incarnation = of->incarnation, .next = of->next};
	}
	/* cppcheck-suppress returnDanglingLifetime ; what the program returns is its own */
	return functions->snapshot(&shown, functions->ctx);
}

/* What the program has not taken: as it stands here, since the program goes on taking. False: no memory. */
static bool copy_refused(struct wh_give *give)
{
	const struct wh_state_hooks *hooks = &give->transfer.state->hooks;
	const struct wh_backlog *refused = hooks->refused(hooks->ctx);
	struct wh_backlog_place place = {.walks = false}, again = {.walks = false};
	const struct whorl_message *message;
	unsigned char *at;

	if (refused->messages == 0)
		return true;
	while ((message = wh_backlog_walk(refused, &place)) != NULL)
		give->rest_bytes += WH_STATE_MESSAGE_BYTES + message->bytes;
	at = give->rest = malloc(give->rest_bytes);
	if (at == NULL)
		return false;
	while ((message = wh_backlog_walk(refused, &again)) != NULL) {
		wh_state_put_message(at, message);
		if (message->bytes > 0)
			memcpy(at + WH_STATE_MESSAGE_BYTES, message->data, message->bytes);
		at += WH_STATE_MESSAGE_BYTES + message->bytes;
	}
	return true;
}

/* What is given stands behind its position in the buffer. False: there is no snapshot, or nothing to take one of. */
static bool take_snapshot(struct wh_give *give)
{
	struct wh_state *state = give->transfer.state;
	struct wh_state_header header = {.subgroup = (uint32_t)state->hooks.subgroup};

	if (!state->hooks.position(state->hooks.ctx, &header.position, &header.view, &header.shard))
		return false;
	if (!copy_refused(give))
		return false;
	header.has_messages = give->rest != NULL;
	wh_state_raise_position(state, &header.position, &header.view);
	give->have = wh_state_put_header(give->transfer.buffer, &header);
	give->snapshot = ask_for_snapshot(state, &header);
	return give->snapshot != NULL;
}

void *wh_state_fix(struct wh_state *state)
{
	struct wh_state_header header = {.subgroup = (uint32_t)state->hooks.subgroup};

	if (!state->hooks.position(state->hooks.ctx, &header.position, &header.view, &header.shard))
		return NULL;
	wh_state_raise_position(state, &header.position, &header.view);
	return ask_for_snapshot(state, &header);
}

/* Opens the stream, if that can be done yet, and lets a job begin; or end, if it never can. */
static size_t open_stream(struct wh_give *give)
{
	struct wh_state *state = give->transfer.state;
	struct wh_transport *transport = state->hooks.transport;
	enum whorl_result result = WHORL_MEMBER_GONE;

	if (!wh_transfer_is_to_stop(&give->transfer))
		result = transport->ops->stream_open(transport, give->transfer.node, state->hooks.subgroup,
						     &give->transfer.stream);
	if (result == WHORL_AGAIN)
		return 0;
	if (result == WHORL_OK) {
		give->opened = true;
		wh_count(&state->stats.gives, 1);
		(*state->hooks.gives)++;
		wh_state_log(state, WH_LOG_INFO, "gives the state of %s to node %" PRIu32, state->hooks.name,
			     give->transfer.node);
	} else {
		give->transfer.stream = NULL;
		give->transfer.why = wh_result_text(result);
		give->transfer.end = WH_TRANSFER_CUT;
		if (result == WHORL_SYSTEM || result == WHORL_MEMORY)
			decline_to_give(state, give->transfer.node);
	}
	wh_transfer_submit(&give->transfer);
	return 1;
}

static void give_now(struct wh_state *state, uint32_t node)
{
	struct wh_give *give =
		wh_transfer_create(state, sizeof(*give), WH_STATE_LENGTH_BYTES + WH_STATE_PIECE, node, write_stream);

	if (give == NULL || !take_snapshot(give)) {
		if (give != NULL)
			free_give(give);
		wh_state_log(state, WH_LOG_INFO, "has no state of %s for node %" PRIu32, state->hooks.name, node);
		decline_to_give(state, node);
		return;
	}
	answer_later(state, node, WH_ANSWER_NONE);
	give->next = state->gives;
	state->gives = give;
	open_stream(give);
}

/* A give that has not opened its stream yet is as good as a new one. */
static bool is_served(const struct wh_state *state, uint32_t node)
{
	uint32_t gives = 0;

	for (const struct wh_give *give = state->gives; give != NULL; give = give->next) {
		if (give->transfer.node != node || wh_transfer_is_to_stop(&give->transfer))
			continue;
		if (!give->opened)
			return true;
		gives++;
	}
	return gives >= WH_STATE_GIVES_MAX;
}

void wh_state_give(struct wh_state *state, uint32_t node)
{
	if (state->stopped || node >= WH_STATE_SENDERS_MAX || is_served(state, node))
		return;
	if (state->phase == WH_STATE_HAS && state->hooks.may_give(state->hooks.ctx, node))
		give_now(state, node);
	else
		answer_later(state, node, WH_ANSWER_GIVE);
}

void wh_state_forsake(struct wh_state *state, uint32_t node)
{
	answer_later(state, node, WH_ANSWER_NONE);
	for (struct wh_give *give = state->gives; give != NULL; give = give->next)
		if (give->transfer.node == node)
			wh_transfer_stop(&give->transfer);
}

static size_t answer_requests(struct wh_state *state)
{
	size_t work = 0;

	for (uint32_t node = 0; node < WH_STATE_SENDERS_MAX && state->answers_due > 0; node++) {
		enum wh_answer due = (enum wh_answer)state->answers[node];

		if (due == WH_ANSWER_GIVE && state->phase == WH_STATE_HAS) {
			if (state->hooks.may_give(state->hooks.ctx, node))
				give_now(state, node);
		} else if (due == WH_ANSWER_DECLINE || (due == WH_ANSWER_GIVE && !wh_state_has_hope(state)))
			decline_to_give(state, node);
		work += state->answers[node] != due;
	}
	return work;
}

static void log_end(const struct wh_give *give)
{
	const struct wh_transfer *transfer = &give->transfer;
	const struct wh_state *state = transfer->state;
	char pace[WH_TRANSFER_PACE_BYTES];

	wh_transfer_pace(transfer, pace);
	if (transfer->end == WH_TRANSFER_DONE)
		wh_state_log(state, WH_LOG_INFO, "has given the state of %s to node %" PRIu32 ": %s", state->hooks.name,
			     transfer->node, pace);
	else
		wh_state_log(state, transfer->end == WH_TRANSFER_REFUSED ? WH_LOG_WARNING : WH_LOG_INFO,
			     "does not give the state of %s to node %" PRIu32 " any more: %s; %s", state->hooks.name,
			     transfer->node, transfer->why != NULL ? transfer->why : "stopped", pace);
}

/* Returns whether it is over, and to be freed. */
static bool look_after(struct wh_give *give, size_t *work)
{
	struct wh_state *state = give->transfer.state;

	if (!wh_transfer_rests(&give->transfer)) {
		wh_transfer_report(&give->transfer, "has given to");
		return false;
	}
	if (give->transfer.end == WH_TRANSFER_GOES_ON) {
		if (!give->opened) {
			*work += open_stream(give);
			return false;
		}
		*work += give->transfer.moved;
		wh_transfer_submit(&give->transfer);
		return false;
	}
	log_end(give);
	if (give->opened) {
		wh_store_relaxed(&state->stats.gives, wh_load_relaxed(&state->stats.gives) - 1);
		(*state->hooks.gives)--;
	}
	(*work)++;
	return true;
}

size_t wh_state_step_gives(struct wh_state *state)
{
	size_t work = state->answers_due > 0 && !state->stopped ? answer_requests(state) : 0;

	for (struct wh_give **link = &state->gives; *link != NULL;) {
		struct wh_give *give = *link, *next = give->next;

		if (!look_after(give, &work)) {
			link = &give->next;
			continue;
		}
		*link = next; /* first: a fork may come in between, and its child frees what it finds */
		free_give(give);
	}
	return work;
}

void wh_state_stop_gives(struct wh_state *state)
{
	for (struct wh_give *give = state->gives; give != NULL; give = give->next) {
		wh_transfer_stop(&give->transfer);
		if (!wh_transfer_rests(&give->transfer) || give->transfer.end != WH_TRANSFER_GOES_ON)
			continue;
		give->transfer.end = WH_TRANSFER_STOPPED;
		finish_give(give);
	}
}

void wh_state_free_gives(struct wh_state *state, bool forked)
{
	while (state->gives != NULL) {
		struct wh_give *give = state->gives;

		state->gives = give->next;
		if (!forked)
			finish_give(give);
		free_give(give);
	}
}
