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
static struct stream *sender_of(const struct place *place, const struct whorl_message *message)
{
	const struct seat *seat = place->seat;
	int s;

	if (seat == NULL || seat->circle->scene->number != message->view)
		seat = wh_scene_seat(place, message->view);
	s = seat != NULL ? wh_circle_sender(seat->circle, message->sender) : -1;
	return s >= 0 ? seat->circle->parts[s].stream : NULL;
}

void wh_check_payload(const struct place *place, const struct whorl_message *message)
{
	const struct stream *stream = sender_of(place, message);
	struct wh_payload_id id;
	size_t good;

	if (stream == NULL || message->index >= stream->claimed || wh_play_failed(place->actor->play))
		return;
	id = wh_stream_payload(stream, message->index);
	good = wh_payload_check(message->data, &id);
	if (good != id.bytes)
		wh_play_fail(place->actor->play,
			     "payload: %s, g%u: message %" PRIu64
			     " of node %u: byte %zu of %zu is not what was committed",
			     place->actor->name, place->g, message->index, message->sender, good, id.bytes);
}

static void check_message(struct seat *seat, const struct whorl_message *message, uint32_t s)
{
	const struct stream *stream = seat->circle->parts[s].stream;
	const struct message *truth = message->index < stream->claimed ? &stream->messages[message->index] : NULL;
	uint64_t *next = &seat->place->next[seat->circle->parts[s].stream->place->actor->life];

	REQUIRE(seat, truth != NULL && truth->state == MESSAGE_COMMITTED, "fifo",
		"of node %u delivers message %" PRIu64 ", which is not committed", message->sender, message->index);
	REQUIRE(seat, message->index >= *next, "fifo", "of node %u delivers message %" PRIu64 ", expected %" PRIu64,
		message->sender, message->index, *next);
	REQUIRE(seat, message->bytes == truth->bytes, "payload",
		"message %" PRIu64 " of node %u has %zu bytes, expected %u", message->index, message->sender,
		message->bytes, truth->bytes);
	REQUIRE(seat, (uintptr_t)message->data % 16 == 0, "payload", "message %" PRIu64 " of node %u is not aligned",
		message->index, message->sender);
	*next = message->index + 1;
	if (stream == seat->place->stream)
		seat->place->own = message->index + 1;
}

static void extend_order(struct circle *circle, struct entry entry)
{
	if (circle->order_count == circle->order_capacity) {
		circle->order_capacity = circle->order_capacity ? 2 * circle->order_capacity : 64;
		circle->order = realloc(circle->order, circle->order_capacity * sizeof(*circle->order));
		if (circle->order == NULL)
			abort();
	}
	circle->order[circle->order_count++] = entry;
}

static void check_order(struct seat *seat, const struct whorl_message *message, uint32_t s)
{
	struct circle *circle = seat->circle;
	const struct part *part = &circle->parts[s];
	const struct entry entry = {s, message->index, message->sequence}, *first;
	struct wh_inspect_seat now;

	REQUIRE(seat,
		(has_closed(wh_check_seat_of(circle, s)) && message->index >= part->sent) ||
			(message->index >= part->first && message->index < part->sent &&
			 message->sequence == round_of(part, message->index) * circle->part_count + s),
		"order", "message %" PRIu64 " of node %u is delivered as number %" PRIu64, message->index,
		message->sender, message->sequence);
	REQUIRE(seat, message->sequence >= seat->next_sequence, "order",
		"number %" PRIu64 " comes after number %" PRIu64, message->sequence, seat->next_sequence - 1);
	REQUIRE(seat, seat->place->behind || !wh_check_look(seat, &now) || now.said.delivered_num <= message->sequence,
		"window", "tells others that it has delivered number %" PRIu64 " before its upcall has returned",
		message->sequence);
	seat->next_sequence = message->sequence + 1;
	if (seat->deliveries == circle->order_count)
		extend_order(circle, entry);
	first = &circle->order[seat->deliveries];
	REQUIRE(seat, first->s == s && first->index == message->index && first->sequence == message->sequence, "order",
		"delivers message %" PRIu64 " of sender %u, where others have message %" PRIu64 " of sender %u",
		message->index, s, first->index, first->s);
}

static void tell_history(struct place *place, const struct whorl_message *message)
{
	struct play *play = place->actor->play;
	struct wh_payload_id id = wh_stream_payload(sender_of(place, message), message->index);

	wh_place_add(place, wh_payload_seed(&id));
	if (!wh_history_deliver(play->history, place->actor->life,
				&(struct wh_history_delivery){.subgroup = place->g,
							      .sender = message->sender,
							      .view = message->view,
							      .index = message->index,
							      .sequence = message->sequence,
							      .digest = wh_payload_seed(&id)}))
		wh_play_fail(play, "%s", wh_history_broken(play->history));
}

static void check_in_view(struct seat *seat, const struct whorl_message *message)
{
	struct circle *circle = seat->circle;
	int s = wh_circle_sender(circle, message->sender);

	REQUIRE(seat, s >= 0 && message->subgroup == seat->place->subgroup, "order", "node %u is no sender",
		message->sender);
	REQUIRE(seat, message->view == circle->scene->number, "order",
		"message %" PRIu64 " of node %u is delivered in view %" PRIu64, message->index, message->sender,
		message->view);
	REQUIRE(seat, message->incarnation == circle->parts[s].stream->place->actor->incarnation, "incarnation",
		"message %" PRIu64 " of node %u comes as one of another life", message->index, message->sender);
	seat->upcall_sender = (uint32_t)s;
	/* The sender is this member, in the pass in which it sends the message; nulls may make that possible. Or it leaves. */
	wh_check_catch_up(wh_check_seat_of(circle, (uint32_t)s));
	check_message(seat, message, (uint32_t)s);
	if (has_failed(seat))
		return;
	wh_check_payload(seat->place, message);
	if (circle->ordered)
		check_order(seat, message, (uint32_t)s);
	else
		REQUIRE(seat, message->sequence == message->index, "order", "message %" PRIu64 " has number %" PRIu64,
			message->index, message->sequence);
	seat->deliveries++;
	seat->in_pass += !seat->place->behind;
}

void wh_check_upcall(struct place *place, const struct whorl_message *message)
{
	struct play *play = place->actor->play;

	struct seat *seat;

	wh_tell(place->actor, TOLD_DELIVER, place->g, message->index, message->sender, message->view);
	wh_scene_enter(place->actor, NULL);
	seat = place->behind ? wh_scene_seat(place, message->view) : place->seat;
	if (seat == NULL || place->seat == NULL) {
		wh_play_fail(play, "order: %s, g%u: message %" PRIu64 " of node %u comes outside of any view",
			     place->actor->name, place->g, message->index, message->sender);
		return;
	}
	if (place->actor->removed || place->awaits) {
		wh_play_fail(play, "%s: %s, g%u: delivers message %" PRIu64 " of node %u, and %s",
			     place->awaits ? "state" : "removed", place->actor->name, place->g, message->index,
			     message->sender, place->awaits ? "has no state yet" : "knows that it was removed");
		return;
	}
	check_in_view(seat, message);
	if (!wh_play_failed(play))
		tell_history(place, message);
	place->deliveries++;
	play->useful_step = play->steps;
	wh_sim_note(play->sim, (uint64_t)place->actor->id << 32 | message->sender);
	wh_sim_note(play->sim, message->index);
}
