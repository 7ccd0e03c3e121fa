/* take.c - the newcomer's job: it takes a stream apart, and hands the state to the program; or, of a shard that begins with
 * nothing, the empty state, of which no stream comes. See state.h. */
#include <stdlib.h>
#include <string.h>

#include "base/counter.h"
#include "state/state_int.h"

#define BUFFER_BYTES WH_STATE_PIECE

static void end_as_cut(struct wh_take *take, const char *why)
{
	take->transfer.end = WH_TRANSFER_CUT;
	take->transfer.why = why;
}

/* Nothing more of what is not wanted any more: a node in another shard by now is soon upcalled for that one's messages. */
static void restore_part(struct wh_take *take, enum whorl_restore_step step, const void *bytes, size_t count)
{
	const struct whorl_state *functions = &take->transfer.state->functions;

	if (wh_transfer_is_to_stop(&take->transfer)) {
		take->transfer.end = WH_TRANSFER_STOPPED;
		return;
	}
	if (!functions->restore(step, bytes, count, functions->ctx)) {
		take->transfer.end = WH_TRANSFER_REFUSED;
		take->transfer.why = "the program could not restore it";
		return;
	}
	wh_count(&take->transfer.bytes, count);
	wh_count(&take->transfer.state->stats.taken, count); /* there is one such job at a time */
	if (step == WHORL_RESTORE_END)
		take->transfer.end = WH_TRANSFER_DONE;
}

/* ---- messages that come behind the state (0044) ---- */

/* So many bytes of the message that is coming are known to be. 0: it is not allowed to be so long. */
static size_t message_needs(const struct wh_take *take)
{
	struct whorl_message message;

	if (take->message_held < WH_STATE_MESSAGE_BYTES)
		return WH_STATE_MESSAGE_BYTES;
	if (!wh_state_get_message(take->message, &message) || message.bytes > take->given.max)
		return 0;
	return WH_STATE_MESSAGE_BYTES + message.bytes;
}

static bool make_room(struct wh_take *take, size_t bytes)
{
	unsigned char *larger;

	if (bytes <= take->message_room)
		return true;
	larger = realloc(take->message, bytes);
	if (larger == NULL)
		return false;
	take->message = larger;
	take->message_room = bytes;
	return true;
}

/* The message is whole. */
static bool append_message(struct wh_take *take)
{
	struct whorl_message message;

	(void)wh_state_get_message(take->message, &message);
	message.data = take->message + WH_STATE_MESSAGE_BYTES;
	message.subgroup = take->transfer.state->hooks.message_of;
	take->message_held = 0;
	return wh_backlog_append(&take->given, &message) == WHORL_OK;
}

static void take_messages(struct wh_take *take, const unsigned char *from, size_t count)
{
	while (take->transfer.end == WH_TRANSFER_GOES_ON) {
		size_t needs = message_needs(take), missing = needs - take->message_held;

		if (needs == 0 || !make_room(take, needs)) {
			end_as_cut(take, needs == 0 ? "a message behind it cannot be" : "no memory for a message");
			return;
		}
		if (missing == 0) {
			if (!append_message(take))
				end_as_cut(take, "the messages behind it are more than backlog_max");
			continue;
		}
		if (count == 0)
			return;
		missing = missing < count ? missing : count;
		memcpy(take->message + take->message_held, from, missing);
		take->message_held += missing;
		from += missing;
		count -= missing;
	}
}

static void end_messages(struct wh_take *take)
{
	if (take->message_held > 0)
		end_as_cut(take, "the last message behind it is not whole");
	else
		restore_part(take, WHORL_RESTORE_END, NULL, 0);
}

/* Hands on what has come. */
static void hand_on_bytes(struct wh_take *take, size_t count)
{
	const unsigned char *from = take->transfer.buffer, *end = from + count;

	while (take->transfer.end == WH_TRANSFER_GOES_ON) {
		switch (wh_state_parse(&take->parser, &from, end)) {
		case WH_PART_NONE:
			return;
		case WH_PART_HEADER:
			restore_part(take, WHORL_RESTORE_BEGIN, NULL, 0);
			break;
		case WH_PART_BYTES:
			restore_part(take, WHORL_RESTORE_BYTES, take->parser.bytes, take->parser.count);
			break;
		case WH_PART_REFUSED:
			take_messages(take, take->parser.bytes, take->parser.count);
			break;
		case WH_PART_END:
			end_messages(take);
			break;
		case WH_PART_STALE:
			take->transfer.end = WH_TRANSFER_STALE;
			break;
		case WH_PART_BROKEN:
			end_as_cut(take, take->parser.wrong);
			break;
		}
	}
}

/* A giver that is gone, or removed, is known to be so. */
static uint64_t patience_ns(const struct wh_take *take)
{
	uint64_t timeout_ns = take->transfer.state->hooks.timeout_ns;
	uint64_t ns = WH_STATE_STALL * timeout_ns;

	if (wh_load_relaxed(&take->hurried) != 0)
		return WH_STATE_PATIENCE * timeout_ns;
	return ns > WH_STATE_STALL_NS ? ns : WH_STATE_STALL_NS;
}

/* Nothing has come. Returns whether it makes sense to go on now. */
static bool wait_for_more(struct wh_take *take, bool may_wait)
{
	struct wh_stream *stream = take->transfer.stream;
	uint64_t now = wh_env_now(take->transfer.state->hooks.env);

	if (take->silent_ns == 0)
		take->silent_ns = now;
	if (now - take->silent_ns >= patience_ns(take)) {
		take->transfer.end = WH_TRANSFER_SILENT;
		take->transfer.why = "nothing has come for a long time";
		return false;
	}
	return may_wait && stream->ops->wait(stream, false, WH_STATE_WAIT_NS);
}

/* Returns whether it makes sense to go on now. */
static bool read_some(struct wh_take *take, bool may_wait)
{
	struct wh_stream *stream = take->transfer.stream;
	ptrdiff_t got = stream->ops->read(stream, take->transfer.buffer, BUFFER_BYTES);

	if (got == 0)
		return wait_for_more(take, may_wait);
	if (got < 0) {
		end_as_cut(take, "it ended too early");
		return false;
	}
	take->transfer.moved = true;
	take->silent_ns = 0;
	hand_on_bytes(take, (size_t)got);
	if (may_wait)
		(void)wh_transfer_gives_way(&take->transfer);
	return may_wait;
}

static void read_stream(struct wh_transfer *transfer, bool may_wait)
{
	struct wh_take *take = (struct wh_take *)transfer;
	bool goes_on = true;

	while (transfer->end == WH_TRANSFER_GOES_ON && goes_on) {
		if (wh_transfer_is_to_stop(transfer))
			transfer->end = WH_TRANSFER_STOPPED;
		else
			goes_on = read_some(take, may_wait);
	}
	if (transfer->end != WH_TRANSFER_GOES_ON)
		wh_take_finish(take);
}

/* The program forgets what it has of another shard. */
static void restore_nothing(struct wh_transfer *transfer, bool may_wait)
{
	struct wh_take *take = (struct wh_take *)transfer;

	(void)may_wait;
	restore_part(take, WHORL_RESTORE_BEGIN, NULL, 0);
	if (transfer->end == WH_TRANSFER_GOES_ON)
		restore_part(take, WHORL_RESTORE_END, NULL, 0);
}

void wh_take_finish(struct wh_take *take)
{
	if (take->transfer.end == WH_TRANSFER_GOES_ON)
		take->transfer.end = WH_TRANSFER_STOPPED;
	if (take->transfer.stream != NULL)
		take->transfer.stream->ops->close(take->transfer.stream);
	take->transfer.stream = NULL;
}

struct wh_take *wh_take_create(struct wh_state *state, uint32_t node, struct wh_stream *stream)
{
	struct wh_take *take = wh_transfer_create(state, sizeof(*take), BUFFER_BYTES, node,
						  stream != NULL ? read_stream : restore_nothing);

	if (take == NULL)
		return NULL;
	take->transfer.stream = stream;
	take->use = WH_TAKE_WANTED;
	wh_backlog_init(&take->given, state->hooks.backlog_max);
	wh_state_parser_init(&take->parser, (uint32_t)state->hooks.subgroup, state->shard, state->view);
	return take;
}

void wh_take_free(struct wh_take *take)
{
	wh_backlog_clear(&take->given);
	free(take->message);
	wh_transfer_free(&take->transfer);
}

void wh_take_hurry(struct wh_take *take)
{
	take->use = WH_TAKE_WILL_DO;
	wh_store_relaxed(&take->hurried, 1);
}

void wh_take_stop(struct wh_take *take, enum wh_take_use use)
{
	if (take == NULL)
		return;
	take->use = use;
	wh_transfer_stop(&take->transfer);
}
