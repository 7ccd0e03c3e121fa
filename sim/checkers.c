/* checkers.c - what must hold of the multicast in a view after each pass; deliveries.c has what must hold at each upcall.
 *
 *     stability   what is delivered has been received by every member, or by every one that is not suspected
 *     held        what is counted as received lies whole and final in the member's own copy. In ordered mode with
 *                 receive batching a wrong order of slots and guard would not show without it: delivery waits for
 *                 the sender's own received_num, which travels behind its slots
 *     window      no more claims than the window beyond the least that a member has delivered: so no slot is used
 *                 again before that
 *     bound       nulls never go beyond the round after the highest that has a slot
 *     rounds      a slot has a round of its own, larger than those before, and only finished claims have slots
 *     counters    grow, stand in their relations (I1 to I5 of predicates/multicast_int.h), and are what was published
 *     wedged      a wedged member says nothing more in that view
 *     switches    one thing at a time where batching is off
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/check_int.h"
#include "sim/payload.h"
#include "sst/columns.h"

static const struct wh_engine_options *engine_of(const struct seat *seat)
{
	return &seat->actor->play->plan->config.engine;
}

/* Its state there. False: it is not there any more, or not yet. */
bool wh_check_look(const struct seat *seat, struct wh_inspect_seat *out)
{
	return seat->entered && !seat->gone && seat->circle->active && seat->actor->node != NULL &&
	       wh_inspect_seat(seat->actor->node, seat->circle->shard, out);
}

/* Where the messages of a sender begin cannot be known before it is in this view. */
struct wh_inspect_sender wh_check_sender(const struct seat *seat, uint32_t s)
{
	struct wh_inspect_sender sender = wh_inspect_sender(seat->actor->node, seat->circle->shard, s);
	const struct part *part = &seat->circle->parts[s];

	if (part->begun && sender.covered == 0)
		sender.announced = sender.next = sender.said_next = part->first;
	return sender;
}

/* ---- senders ----------------------------------------------------------------------------------------------------------- */

struct seat *wh_check_seat_of(const struct circle *circle, uint32_t s)
{
	return wh_circle_seat(circle, circle->parts[s].stream->place->actor);
}

static void note_round(struct part *part, uint64_t round)
{
	uint64_t at = part->sent - part->first;

	if (at == part->capacity) {
		part->capacity = part->capacity ? 2 * part->capacity : 64;
		part->rounds = realloc(part->rounds, part->capacity * sizeof(*part->rounds));
		if (part->rounds == NULL)
			abort();
	}
	part->rounds[at] = round;
	part->sent++;
}

/* The slot of message `number` of sender `s`, as this node has it: is it what its sender made it? */
static void check_slot(const struct seat *seat, uint32_t s, uint64_t number, const char *where)
{
	const struct part *part = &seat->circle->parts[s];
	const struct message *message = &part->stream->messages[number];
	struct wh_payload_id id = wh_stream_payload(part->stream, number);
	bool aborted = message->state != MESSAGE_COMMITTED;
	const unsigned char *payload;
	struct wh_slot_header header = wh_inspect_slot(seat->actor->node, seat->circle->shard, s, number, &payload);

	REQUIRE(seat, header.round == round_of(part, number) && header.aborted == aborted, "held",
		"message %" PRIu64 " of node %u: %s the header has round %" PRIu64 " and aborted %u, expected %" PRIu64
		" and %d",
		number, id.sender, where, header.round, header.aborted, round_of(part, number), aborted);
	if (aborted)
		return;
	REQUIRE(seat, header.bytes == message->bytes, "held",
		"message %" PRIu64 " of node %u: %s the header says %u bytes, expected %u", number, id.sender, where,
		header.bytes, message->bytes);
	REQUIRE(seat, wh_payload_check(payload, &id) == id.bytes, "held",
		"message %" PRIu64 " of node %u: %s the payload is not what was committed", number, id.sender, where);
}

static void check_one_sent(struct seat *seat, struct part *part, const struct wh_inspect_seat *now)
{
	const struct message *message = &part->stream->messages[part->sent];
	uint64_t number = part->sent, round;
	const unsigned char *payload;

	round = wh_inspect_slot(seat->actor->node, seat->circle->shard, (uint32_t)seat->me, number, &payload).round;
	REQUIRE(seat, message->state != MESSAGE_NONE && message->state != MESSAGE_OPEN, "rounds",
		"sends claim %" PRIu64 ", which is open", number);
	REQUIRE(seat,
		round >= seat->covered && round < now->covered &&
			(number == part->first || round > round_of(part, number - 1)),
		"rounds", "message %" PRIu64 " has round %" PRIu64 ", of %" PRIu64 " to %" PRIu64, number, round,
		seat->covered, now->covered);
	note_round(part, round);
	if (round >= seat->circle->rounds)
		seat->circle->rounds = round + 1;
	check_slot(seat, (uint32_t)seat->me, number, "at its sender");
}

/* Takes in what a sender has sent since: from here on the rounds of these messages are the truth. */
static void check_sent(struct seat *seat, const struct wh_inspect_seat *now)
{
	struct part *part = &seat->circle->parts[seat->me];

	if (!part->begun || part->sent == now->announced)
		return;
	REQUIRE(seat, now->announced == now->sent && now->sent <= part->stream->claimed && now->sent >= part->sent,
		"rounds", "announces %" PRIu64 " slots, has sent %" PRIu64 " of %" PRIu64 " claims", now->announced,
		now->sent, part->stream->claimed);
	REQUIRE(seat, now->announced - part->sent <= 1 || engine_of(seat)->send_batching || seat->actor->leaving,
		"switches", "sends %" PRIu64 " messages in a pass without send batching", now->announced - part->sent);
	while (part->sent < now->announced && !has_failed(seat))
		check_one_sent(seat, part, now);
	seat->actor->play->useful_step = seat->actor->play->steps;
}

/* The same for a sender when the end of its pass is not seen: it leaves, or is in an upcall in the middle of it. */
void wh_check_catch_up(struct seat *seat)
{
	struct wh_inspect_seat now;

	if (seat != NULL && seat->me >= 0 && wh_check_look(seat, &now))
		check_sent(seat, &now);
}

/* The least that any member has done with the slots of this sender. A member that has gone on does not need them any more;
 * one that is not here yet has all before the first. */
static uint64_t least_done(const struct circle *circle, uint32_t s)
{
	const struct part *part = &circle->parts[s];
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < circle->seat_count; i++) {
		const struct seat *seat = &circle->seats[i];
		uint64_t done = seat->taken[s].done;

		if (seat->gone)
			continue;
		if (seat->actor->leaving && seat->actor->node != NULL && seat->entered) /* its passes go unseen */
			done = wh_check_sender(seat, s).next;
		if (done < part->first)
			done = part->first;
		if (done < least)
			least = done;
	}
	return least;
}

static void check_window(const struct seat *seat, const struct wh_inspect_seat *now)
{
	uint64_t least = least_done(seat->circle, (uint32_t)seat->me);

	REQUIRE(seat, now->freed <= least && now->limit <= least + now->window, "window",
		"allows claims below %" PRIu64 ", window %u, and a member has delivered no more than %" PRIu64
		" of its messages",
		now->limit, now->window, least);
}

void wh_check_claim(const struct stream *stream, uint64_t number)
{
	const struct actor *actor = stream->place->actor;
	const struct seat *seat = stream->place->seat;
	uint32_t window = (uint32_t)actor->play->plan->config.subgroups[stream->place->g].options.window;
	uint64_t least = 0;

	if (seat != NULL && seat->me >= 0)
		least = least_done(seat->circle, (uint32_t)seat->me);
	if (stream->messages[number].claim.number != number)
		wh_play_fail(actor->play, "window: %s, g%u: claim %" PRIu64 " says that it is %" PRIu64, actor->name,
			     stream->place->g, number, stream->messages[number].claim.number);
	else if (number >= least + window)
		wh_play_fail(actor->play,
			     "window: %s, g%u: claim %" PRIu64
			     " is made, window %u, and a member has delivered no more than %" PRIu64,
			     actor->name, stream->place->g, number, window, least);
}

/* ---- members ----------------------------------------------------------------------------------------------------------- */

static void check_held_from(const struct seat *seat, uint32_t s, uint64_t from, uint64_t to)
{
	for (; from < to && from < seat->circle->parts[s].sent && !has_failed(seat); from++)
		check_slot(seat, s, from, "in its own copy");
}

/* What a sender has given out in this view. */
static uint64_t covered_by(const struct seat *sender)
{
	struct wh_inspect_seat now;

	if (wh_check_look(sender, &now))
		return now.covered;
	return sender->gone ? UINT64_MAX : 0; /* gone: its last pass may have covered more than we saw */
}

/* What is counted as received has been sent: rounds, and the messages that are in them. */
static void check_given(const struct seat *seat, uint32_t s, const struct wh_inspect_sender *sender)
{
	const struct part *part = &seat->circle->parts[s];
	uint64_t covered = covered_by(wh_check_seat_of(seat->circle, s));

	REQUIRE(seat, sender->covered <= covered && sender->announced <= part->sent, "held",
		"of sender %u counts %" PRIu64 " rounds and messages up to %" PRIu64
		" as received, it has given out %" PRIu64 " and %" PRIu64,
		s, sender->covered, sender->announced, covered, part->sent);
	REQUIRE(seat, sender->announced == part->sent || round_of(part, sender->announced) >= sender->covered, "held",
		"counts round %" PRIu64 " of sender %u as received, and not its message %" PRIu64,
		round_of(part, sender->announced), s, sender->announced);
	REQUIRE(seat, sender->announced == part->first || round_of(part, sender->announced - 1) < sender->covered,
		"held", "counts message %" PRIu64 " of sender %u as received, and not its round", sender->announced - 1,
		s);
}

/* What this member has taken in of one sender. */
static void check_taken(struct seat *seat, uint32_t s, const struct wh_inspect_seat *now)
{
	struct wh_inspect_sender sender = wh_check_sender(seat, s);
	struct part *part = &seat->circle->parts[s];
	struct taken *taken = &seat->taken[s], before = *taken;
	struct seat *from = wh_check_seat_of(seat->circle, s);

	if (sender.covered == taken->covered && sender.next == taken->done && sender.announced == taken->announced)
		return;
	if (!part->begun) {
		REQUIRE(seat, sender.covered == 0, "held", "has %" PRIu64 " rounds of sender %u, which is not here yet",
			sender.covered, s);
		return;
	}
	REQUIRE(seat,
		sender.covered >= taken->covered && sender.announced >= taken->announced && sender.next >= taken->done,
		"counters", "what is taken in of sender %u shrinks", s);
	REQUIRE(seat,
		sender.announced - part->first <= sender.covered && sender.next <= sender.announced &&
			sender.announced <= sender.next + now->window,
		"counters", "of sender %u: next %" PRIu64 ", announced %" PRIu64 ", covered %" PRIu64 ", window %u", s,
		sender.next, sender.announced, sender.covered, now->window);
	*taken = (struct taken){sender.covered, sender.announced, sender.next};
	if (from->actor->leaving)
		wh_check_catch_up(from);
	if (has_closed(from) && sender.announced > part->sent)
		return;
	check_given(seat, s, &sender);
	check_held_from(seat, s, before.announced > sender.next ? before.announced : sender.next, sender.announced);
}

static void check_receive_switch(const struct seat *seat)
{
	uint64_t rounds = 0;

	if (engine_of(seat)->receive_batching)
		return;
	for (uint32_t s = 0; s < seat->circle->part_count; s++)
		rounds += wh_check_sender(seat, s).covered - seat->taken[s].covered;
	REQUIRE(seat, rounds <= 1, "switches", "takes in %" PRIu64 " rounds in a pass without receive batching",
		rounds);
}

static void check_deliver_switch(const struct seat *seat)
{
	uint64_t most = seat->circle->ordered ? 1 : seat->circle->part_count;

	if (engine_of(seat)->delivery_batching || wh_inspect_wedged(seat->actor->node))
		return;
	REQUIRE(seat, seat->in_pass <= most, "switches",
		"delivers %" PRIu64 " messages in a pass without delivery batching", seat->in_pass);
}

/* What others can see is what it holds. */
static void check_published(const struct seat *seat, const struct wh_inspect_seat *now)
{
	REQUIRE(seat,
		seat->me < 0 || now->covered == 0 || now->said.guard == wh_guard_make(now->covered, now->announced),
		"counters", "its guard is not what it covers and announces: %" PRIu64 ", %" PRIu64, now->covered,
		now->announced);
	if (seat->circle->ordered) {
		REQUIRE(seat, now->said.received_num == now->received_num, "counters",
			"it has received %" PRIu64 " and does not say so", now->received_num);
		REQUIRE(seat, now->said.delivered_num == now->delivered_num, "counters",
			"it has delivered %" PRIu64 " and does not say so", now->delivered_num);
		return;
	}
	for (uint32_t s = 0; s < seat->circle->part_count; s++) {
		struct wh_inspect_sender sender = wh_check_sender(seat, s);

		REQUIRE(seat, sender.said_next == sender.next, "counters",
			"it has delivered %" PRIu64 " of sender %u and does not say so", sender.next, s);
	}
}

/* Each other member has received what it has delivered, or is suspected, or has left. A member that goes along with the decision of
 * a quorum, and hears none itself, knows that and does not say it. */
static void check_stable(const struct seat *seat, const struct wh_inspect_seat *now)
{
	const struct circle *circle = seat->circle;
	uint64_t suspects = wh_inspect_suspects(seat->actor->node) | wh_inspect_left(seat->actor->node);

	for (uint32_t i = 0; i < circle->seat_count; i++) {
		const struct seat *other = &circle->seats[i];
		struct wh_inspect_seat there = {.received_num = 0};

		if (other->gone || (suspects >> other->actor->id & 1) != 0)
			continue;
		wh_check_look(other, &there);
		REQUIRE(seat, now->delivered_num <= there.received_num, "stability",
			"has delivered %" PRIu64 ", node %u has received %" PRIu64, now->delivered_num,
			other->actor->id, there.received_num);
	}
}

static void check_ordered(const struct seat *seat, const struct wh_inspect_seat *now)
{
	const struct circle *circle = seat->circle;
	uint64_t least = UINT64_MAX, slots = 0;

	if (seat->me >= 0)
		slots = now->announced - circle->parts[seat->me].first;
	REQUIRE(seat, now->covered <= circle->rounds + 1 && (now->covered == slots || engine_of(seat)->null_sends),
		"bound",
		"covers %" PRIu64 " rounds, %" PRIu64 " with slots; the highest of all with a slot is %" PRIu64,
		now->covered, slots, circle->rounds - 1);
	for (uint32_t s = 0; s < circle->part_count; s++) {
		uint64_t missing = wh_check_sender(seat, s).covered * circle->part_count + s;

		if (missing < least)
			least = missing;
	}
	REQUIRE(seat, now->received_num == least, "counters",
		"received_num is %" PRIu64 ", the first that is missing is %" PRIu64, now->received_num, least);
}

/* Deaf and mute: what a wedged member has said in this view is its last. Only deliveries up to the cut go on. */
static void check_wedged(struct seat *seat, const struct wh_inspect_seat *now)
{
	if (!seat->wedged) {
		seat->wedged = true;
		seat->last_said = now->said;
	}
	REQUIRE(seat, memcmp(&seat->last_said, &now->said, sizeof(now->said)) == 0, "wedged",
		"says on that it has received %" PRIu64 " and delivered %" PRIu64, now->said.received_num,
		now->said.delivered_num);
}

static void check_seat(struct seat *seat)
{
	struct wh_inspect_seat now;

	if (!wh_check_look(seat, &now))
		return;
	REQUIRE(seat, !now.broken, "rounds", "finds a member %s", "broken");
	REQUIRE(seat,
		now.covered >= seat->covered && now.received_num >= seat->received_num &&
			now.delivered_num >= seat->delivered_num,
		"counters", "a counter %s", "falls");
	if (seat->me >= 0)
		check_sent(seat, &now);
	check_receive_switch(seat);
	check_deliver_switch(seat);
	for (uint32_t s = 0; s < seat->circle->part_count && !has_failed(seat); s++)
		check_taken(seat, s, &now);
	if (now.delivered_num != seat->delivered_num && seat->circle->ordered)
		check_stable(seat, &now);
	seat->covered = now.covered;
	seat->received_num = now.received_num;
	seat->delivered_num = now.delivered_num;
	if (has_failed(seat))
		return;
	if (wh_inspect_wedged(seat->actor->node)) {
		check_wedged(seat, &now);
		return;
	}
	check_published(seat, &now);
	if (seat->circle->ordered)
		check_ordered(seat, &now);
	if (seat->me >= 0)
		check_window(seat, &now);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------- */

void wh_check_pass(struct actor *actor)
{
	struct play *play = actor->play;

	if (play->closing || play->extinct)
		return;
	wh_scene_enter(actor, NULL);
	wh_check_node(actor);
	for (uint32_t g = 0; g < play->plan->config.subgroup_count && !wh_play_failed(play); g++)
		if (actor->places[g].seat != NULL && !actor->removed)
			check_seat(actor->places[g].seat);
}

/* The rest of its pass may be far away, and others see by then what has left this node already. What the seat in the
 * upcall is at work on is not settled: neither the count of the sender of that message, nor, in ordered mode,
 * any other. */
void wh_check_settle(struct actor *actor)
{
	struct play *play = actor->play;

	for (uint32_t g = 0; g < play->plan->config.subgroup_count && !wh_play_failed(play); g++) {
		struct seat *seat = actor->places[g].seat;
		struct wh_inspect_seat now;

		if (seat == NULL || !wh_check_look(seat, &now))
			continue;
		wh_check_catch_up(seat);
		for (uint32_t s = 0; s < seat->circle->part_count; s++)
			if (!seat->in_upcall || (!seat->circle->ordered && s != seat->upcall_sender))
				seat->taken[s].done = wh_check_sender(seat, s).next;
	}
}

/* What it sent before is the truth for the nodes that have it. No node was to see the rest of its pass. */
void wh_check_died(struct actor *actor)
{
	const struct wh_view *view = wh_inspect_view(actor->node);

	if (actor->scene == NULL || (view != NULL && view->number == actor->scene->number))
		wh_check_settle(actor);
	else
		wh_scene_forsake(actor);
}

void wh_check_held(struct play *play)
{
	for (uint32_t i = 0; i < play->lives; i++)
		for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++) {
			struct seat *seat = play->actors[i].places[g].seat;
			struct wh_inspect_seat now;

			if (!wh_actor_runs(&play->actors[i]) || seat == NULL || !wh_check_look(seat, &now))
				continue;
			for (uint32_t s = 0; s < seat->circle->part_count && !wh_play_failed(play); s++) {
				struct wh_inspect_sender sender = wh_check_sender(seat, s);

				if (seat->circle->parts[s].begun)
					check_held_from(seat, s, sender.next, sender.announced);
			}
		}
}
