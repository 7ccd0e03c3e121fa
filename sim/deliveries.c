/* deliveries.c - what must hold at each upcall.
 *
 *     order       all members deliver the same sequence: what one has delivered is a prefix of what the foremost has
 *     fifo        of each sender committed messages, once, in the order of its claims; no aborted one
 *     payload     the bytes delivered are those committed, until the upcall returns
 *     window      others are told of a delivery when its upcall has returned
 *     removed     a node that knows that it was removed delivers nothing more
 *
 * What applications see across views is history.c's matter, which is told of each delivery here.
 */
#include <stdlib.h>

#include "sim/check_int.h"
#include "sim/payload.h"

/* The stream of whichever life its sender is in that view. */
static struct stream *sender_of(const struct app *app, const struct whorl_message *message)
{
	const struct shard_member *member = app->member;
	int s;

	if (member == NULL || member->shard->view->number != message->view)
		member = wh_app_member_in(app, message->view);
	s = member != NULL ? wh_shard_sender(member->shard, message->sender) : -1;
	return s >= 0 ? member->shard->parts[s].stream : wh_app_stream_in(app, message->view, message->sender);
}

/* As wh_payload_check, through the parts in which it lies, which must be all of it, and as one copy. */
static size_t check_parts(const struct whorl_message *message, const struct wh_payload_id *id)
{
	unsigned char *whole;
	size_t good = 0, at = 0, bytes;
	const void *part;

	if (message->parts == 1)
		return message->bytes == id->bytes ? wh_payload_check(message->data, id) : 0;
	whole = wh_plan_alloc(message->bytes + 1, 1);
	if (whorl_message_copy(message, 0, whole, message->bytes + 1) == message->bytes && message->bytes == id->bytes)
		good = wh_payload_check(whole, id);
	for (uint32_t k = 0; whorl_message_part(message, k, &part, &bytes) == WHORL_OK; at += bytes, k++)
		if (at + bytes > message->bytes || memcmp(whole + at, part, bytes) != 0 || (uintptr_t)part % 16 != 0)
			good = 0;
	free(whole);
	return at == message->bytes ? good : 0;
}

void wh_check_payload(const struct app *app, const struct whorl_message *message)
{
	const struct stream *stream = sender_of(app, message);
	struct wh_payload_id id;
	size_t good;

	if (stream == NULL || message->index >= stream->claimed || wh_play_failed(app->actor->play))
		return;
	id = wh_stream_payload(stream, message->index);
	good = check_parts(message, &id);
	if (good != id.bytes)
		wh_play_fail(app->actor->play,
			     "payload: %s, g%u: message %" PRIu64
			     " of node %u: byte %zu of %zu is not what was committed",
			     app->actor->name, app->g, message->index, message->sender, good, id.bytes);
}

static void check_message(struct shard_member *member, const struct whorl_message *message, uint32_t s)
{
	const struct stream *stream = member->shard->parts[s].stream;
	const struct message *truth = message->index < stream->claimed ? &stream->messages[message->index] : NULL;
	uint64_t *next = &member->app->next[member->shard->parts[s].stream->app->actor->life];

	REQUIRE(member, truth != NULL && truth->state == MESSAGE_COMMITTED, "fifo",
		"of node %u delivers message %" PRIu64 ", which is not committed", message->sender, message->index);
	REQUIRE(member, message->index >= *next, "fifo", "of node %u delivers message %" PRIu64 ", expected %" PRIu64,
		message->sender, message->index, *next);
	REQUIRE(member, message->bytes == truth->bytes, "payload",
		"message %" PRIu64 " of node %u has %zu bytes, expected %u", message->index, message->sender,
		message->bytes, truth->bytes);
	REQUIRE(member, (uintptr_t)message->data % 16 == 0, "payload", "message %" PRIu64 " of node %u is not aligned",
		message->index, message->sender);
	REQUIRE(member, message->indexes == truth->slots, "whole",
		"message %" PRIu64 " of node %u has %u indexes, expected %u", message->index, message->sender,
		message->indexes, truth->slots);
	*next = message->index + message->indexes;
	if (stream == member->app->stream)
		member->app->own = message->index + message->indexes;
}

static void extend_order(struct shard *shard, struct entry entry)
{
	if (shard->order_count == shard->order_capacity) {
		shard->order_capacity = shard->order_capacity ? 2 * shard->order_capacity : 64;
		shard->order = realloc(shard->order, shard->order_capacity * sizeof(*shard->order));
		if (shard->order == NULL)
			abort();
	}
	shard->order[shard->order_count++] = entry;
}

static void check_order(struct shard_member *member, const struct whorl_message *message, uint32_t s)
{
	struct shard *shard = member->shard;
	const struct part *part = &shard->parts[s];
	const struct entry entry = {s, message->index, message->sequence}, *first;
	struct wh_inspect_member now;

	REQUIRE(member,
		(has_closed(wh_check_member_of(shard, s)) && message->index >= part->sent) ||
			(message->index >= part->first && message->index < part->sent &&
			 message->sequence == round_of(part, message->index) * shard->part_count + s),
		"order", "message %" PRIu64 " of node %u is delivered as number %" PRIu64, message->index,
		message->sender, message->sequence);
	REQUIRE(member, message->sequence >= member->next_sequence, "order",
		"number %" PRIu64 " comes after number %" PRIu64, message->sequence, member->next_sequence - 1);
	REQUIRE(member,
		member->app->behind || !wh_check_look(member, &now) || now.said.delivered_num <= message->sequence,
		"window", "tells others that it has delivered number %" PRIu64 " before its upcall has returned",
		message->sequence);
	member->next_sequence = message->sequence + 1;
	if (member->deliveries == shard->order_count)
		extend_order(shard, entry);
	first = &shard->order[member->deliveries];
	REQUIRE(member, first->s == s && first->index == message->index && first->sequence == message->sequence,
		"order",
		"delivers message %" PRIu64 " of sender %u, where others have message %" PRIu64 " of sender %u",
		message->index, s, first->index, first->s);
}

static void tell_history(struct app *app, const struct whorl_message *message)
{
	struct play *play = app->actor->play;
	struct wh_payload_id id = wh_stream_payload(sender_of(app, message), message->index);

	wh_app_add(app, wh_payload_seed(&id));
	if (!wh_history_deliver(play->history, app->actor->life,
				&(struct wh_history_delivery){.subgroup = app->g,
							      .sender = message->sender,
							      .view = message->view,
							      .index = message->index,
							      .sequence = message->sequence,
							      .digest = wh_payload_seed(&id)}))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
}

/* It came with a state: its giver had refused it in a view in which this node was not. Which it must be the history knows. */
static void check_given(struct app *app, const struct whorl_message *message)
{
	const struct stream *stream = sender_of(app, message);
	struct play *play = app->actor->play;

	if (stream == NULL || message->index >= stream->claimed ||
	    stream->messages[message->index].state != MESSAGE_COMMITTED) {
		wh_play_fail(play, "fifo: %s, g%u: a message %" PRIu64 " of node %u came with its state, and is none",
			     app->actor->name, app->g, message->index, message->sender);
		return;
	}
	app->next[stream->app->actor->life] = message->index + 1;
	wh_check_payload(app, message);
}

static void check_in_view(struct shard_member *member, const struct whorl_message *message)
{
	struct shard *shard = member->shard;
	int s = wh_shard_sender(shard, message->sender);

	REQUIRE(member, s >= 0 && (message->subgroup == member->app->subgroup || member->app->subgroup == NULL),
		"order", "node %u is no sender", message->sender);
	REQUIRE(member, message->view == shard->view->number, "order",
		"message %" PRIu64 " of node %u is delivered in view %" PRIu64, message->index, message->sender,
		message->view);
	REQUIRE(member, message->incarnation == shard->parts[s].stream->app->actor->incarnation, "incarnation",
		"message %" PRIu64 " of node %u comes as one of another life", message->index, message->sender);
	member->upcall_sender = (uint32_t)s;
	/* The sender is this member, in the pass in which it sends the message; nulls may make that possible. Or it leaves. */
	wh_check_catch_up(wh_check_member_of(shard, (uint32_t)s));
	check_message(member, message, (uint32_t)s);
	if (has_failed(member))
		return;
	wh_check_payload(member->app, message);
	if (shard->ordered)
		check_order(member, message, (uint32_t)s);
	else
		REQUIRE(member, message->sequence == message->index, "order", "message %" PRIu64 " has number %" PRIu64,
			message->index, message->sequence);
	if (!has_failed(member) && member->app->actor->play->subgroups[shard->g].plan->durable &&
	    member == member->app->member)
		wh_kept_check(member, member->deliveries, message);
	member->deliveries++;
	member->in_pass += !member->app->behind;
}

/* It came out of the log of this node, before the view that restarts the group. In which order the history knows. */
static void check_replayed(struct app *app, uint32_t shard, const struct whorl_message *message)
{
	const struct stream *stream = sender_of(app, message);
	struct play *play = app->actor->play;

	if (stream == NULL || stream->app->actor->incarnation != message->incarnation) {
		wh_play_fail(play, "restart: %s, g%u: message %" PRIu64 " of node %u in its log is of another life",
			     app->actor->name, app->g, message->index, message->sender);
		return;
	}
	if (!app->replays && !wh_app_replays(app, shard, 0))
		return;
	check_given(app, message);
	if (!wh_play_failed(play))
		tell_history(app, message);
	app->deliveries++;
	play->useful_step = play->steps;
}

void wh_check_upcall(struct app *app, const struct whorl_message *message)
{
	struct play *play = app->actor->play;
	struct shard_member *member;
	uint32_t shard;

	wh_tell(app->actor, TOLD_DELIVER, app->g, message->index, message->sender, message->view);
	wh_play_enter_view(app->actor, NULL);
	if (app->actor->view == NULL && wh_inspect_replays(app->actor->node, app->g, &shard)) {
		check_replayed(app, shard, message);
		return;
	}
	if (app->awaits && wh_app_is_log(app) && !wh_app_takes_log(app))
		return;
	member = app->behind ? wh_app_member_in(app, message->view) : app->member;
	if (app->behind && app->member != NULL && (play->plan->refusals || wh_app_is_log(app)) &&
	    message->view < app->since) {
		check_given(app, message);
		if (!wh_play_failed(play))
			tell_history(app, message);
		app->deliveries++;
		play->useful_step = play->steps;
		return;
	}
	if (member == NULL || app->member == NULL) {
		wh_play_fail(play, "order: %s, g%u: message %" PRIu64 " of node %u comes outside of any view",
			     app->actor->name, app->g, message->index, message->sender);
		return;
	}
	if (app->actor->removed || app->awaits) {
		wh_play_fail(play, "%s: %s, g%u: delivers message %" PRIu64 " of node %u, and %s",
			     app->awaits ? "state" : "removed", app->actor->name, app->g, message->index,
			     message->sender, app->awaits ? "has no state yet" : "knows that it was removed");
		return;
	}
	check_in_view(member, message);
	if (!wh_play_failed(play))
		tell_history(app, message);
	app->deliveries++;
	play->useful_step = play->steps;
	wh_sim_note(play->sim, (uint64_t)app->actor->id << 32 | message->sender);
	wh_sim_note(play->sim, message->index);
}
