/* checkers.c - what must hold of the multicast in a view after each pass; deliveries.c has what must hold at each upcall.
 *
 *     stability   what is delivered has been received by every member, or by every one that is not suspected
 *     held        what is counted as received lies whole and final in the member's own copy. In ordered mode with
 *                 receive batching a wrong order of slots and guard would not show without it: delivery waits for
 *                 the sender's own received_num, which travels behind its slots
 *     window      no more claims than the window beyond the least that a member has delivered: so no slot is used
 *                 again before that
 *     bound       nulls never go beyond the round after the highest that has a slot
 *     rounds      a message has a round of its own, larger than those before, which all its slots have, and only finished claims have
 *                 slots
 *     whole       of a message in several slots all are counted, or none: as sent, as received, as delivered, as free
 *     counters    grow, stand in their relations (I1 to I5 of predicates/multicast_int.h), and are what was published
 *     wedged      a wedged member says nothing more in that view
 *     switches    one thing at a time where batching is off
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "predicates/multicast.h"
#include "sim/check_int.h"
#include "sim/payload.h"
#include "sst/columns.h"

static const struct wh_engine_options *engine_of(const struct shard_member *member)
{
	return &member->actor->play->plan->config.engine;
}

/* Its state there. False: it is not there any more, or not yet. */
bool wh_check_look(const struct shard_member *member, struct wh_inspect_member *out)
{
	if (!member->entered || member->gone || !member->shard->active || member->actor->node == NULL ||
	    !wh_inspect_member(member->actor->node, member->shard->index, out))
		return false;
	out->announced += member->base;
	out->sent += member->base;
	out->freed += member->base;
	out->limit += member->base;
	return true;
}

/* What its sender has sent before this stay, in numbers of its stream. */
static uint64_t base_of(const struct shard *shard, uint32_t s)
{
	return wh_check_member_of(shard, s)->base;
}

/* Where the messages of a sender begin cannot be known before it is in this view. */
struct wh_inspect_sender wh_check_sender(const struct shard_member *member, uint32_t s)
{
	struct wh_inspect_sender sender = wh_inspect_sender(member->actor->node, member->shard->index, s);
	const struct part *part = &member->shard->parts[s];
	uint64_t base = base_of(member->shard, s);

	if (sender.next != WH_UNKNOWN) {
		sender.announced += base;
		sender.next += base;
		sender.said_next += base;
		sender.told += base;
	}
	if (part->begun && sender.covered == 0)
		sender.announced = sender.next = sender.told = sender.said_next = part->first;
	return sender;
}

/* ---- senders ----------------------------------------------------------------------------------------------------------- */

struct shard_member *wh_check_member_of(const struct shard *shard, uint32_t s)
{
	return wh_shard_member(shard, shard->parts[s].stream->app->actor);
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
	part->with_slots += at == 0 || round > part->rounds[at - 1];
	part->sent++;
}

/* Does a message begin with that number, as far as there are any? */
static bool is_whole(const struct stream *stream, uint64_t number)
{
	return number >= stream->claimed || stream->messages[number].state != MESSAGE_PART;
}

/* Are these the bytes of a part of it, from byte `from` on? */
static bool holds_part(const struct wh_payload_id *id, const unsigned char *payload, uint64_t from, uint32_t bytes)
{
	unsigned char *whole;
	bool good;

	if (bytes == id->bytes)
		return wh_payload_check(payload, id) == id->bytes;
	whole = wh_plan_alloc(id->bytes + 1, 1);
	wh_payload_fill(whole, id);
	good = memcmp(whole + from, payload, bytes) == 0;
	free(whole);
	return good;
}

/* The slot `number` of sender `s`, as this node has it: is it what its sender made it? */
static void check_slot(const struct shard_member *member, uint32_t s, uint64_t number, const char *where)
{
	const struct part *part = &member->shard->parts[s];
	const struct stream *stream = part->stream;
	const struct message *message = &stream->messages[number - stream->messages[number].part];
	uint32_t k = stream->messages[number].part, more = k == 0 ? message->slots - 1 : 0;
	struct wh_payload_id id = wh_stream_payload(stream, number - k);
	bool aborted = message->state != MESSAGE_COMMITTED;
	uint64_t from = k * stream->slot_bytes, rest = message->bytes > from ? message->bytes - from : 0;
	uint32_t bytes = (uint32_t)(rest < stream->slot_bytes ? rest : stream->slot_bytes);
	const unsigned char *payload;
	struct wh_slot_header header = wh_inspect_slot(member->actor->node, member->shard->index, s,
						       number - base_of(member->shard, s), &payload);

	REQUIRE(member, header.round == round_of(part, number) && header.aborted == aborted && header.more == more,
		"held",
		"message %" PRIu64 " of node %u: %s the header has round %" PRIu64
		", aborted %u and more %u, expected %" PRIu64 ", %d and %u",
		number, id.sender, where, header.round, header.aborted, header.more, round_of(part, number), aborted,
		more);
	if (aborted)
		return;
	REQUIRE(member, header.bytes == bytes, "held",
		"message %" PRIu64 " of node %u: %s the header says %u bytes, expected %u", number, id.sender, where,
		header.bytes, bytes);
	REQUIRE(member, holds_part(&id, payload, from, bytes), "held",
		"message %" PRIu64 " of node %u: %s the payload is not what was committed", number, id.sender, where);
}

static void check_one_sent(struct shard_member *member, struct part *part, const struct wh_inspect_member *now)
{
	const struct message *message = &part->stream->messages[part->sent];
	uint64_t number = part->sent, round;
	const unsigned char *payload;

	round = wh_inspect_slot(member->actor->node, member->shard->index, (uint32_t)member->me, number - member->base,
				&payload)
			.round;
	REQUIRE(member, message->state != MESSAGE_NONE && message->state != MESSAGE_OPEN, "rounds",
		"sends claim %" PRIu64 ", which is open", number);
	REQUIRE(member,
		round >= member->covered && round < now->covered &&
			(number == part->first || (message->state == MESSAGE_PART ? round == round_of(part, number - 1)
										  : round > round_of(part, number - 1))),
		"rounds", "message %" PRIu64 " has round %" PRIu64 ", of %" PRIu64 " to %" PRIu64, number, round,
		member->covered, now->covered);
	note_round(part, round);
	if (round >= member->shard->rounds)
		member->shard->rounds = round + 1;
	check_slot(member, (uint32_t)member->me, number, "at its sender");
}

/* Takes in what a sender has sent since: from here on the rounds of these messages are the truth. */
static void check_sent(struct shard_member *member, const struct wh_inspect_member *now)
{
	struct part *part = &member->shard->parts[member->me];

	if (!part->begun || part->sent == now->announced)
		return;
	REQUIRE(member, now->announced == now->sent && now->sent <= part->stream->claimed && now->sent >= part->sent,
		"rounds", "announces %" PRIu64 " slots, has sent %" PRIu64 " of %" PRIu64 " claims", now->announced,
		now->sent, part->stream->claimed);
	REQUIRE(member, is_whole(part->stream, now->announced), "whole", "announces a part of message %" PRIu64,
		now->announced - part->stream->messages[now->announced].part);
	REQUIRE(member,
		now->announced - part->sent <= part->stream->messages[part->sent].slots ||
			engine_of(member)->send_batching || member->actor->leaving,
		"switches", "sends %" PRIu64 " messages in a pass without send batching", now->announced - part->sent);
	while (part->sent < now->announced && !has_failed(member))
		check_one_sent(member, part, now);
	member->actor->play->useful_step = member->actor->play->steps;
}

/* The same for a sender when the end of its pass is not seen: it leaves, or is in an upcall in the middle of it. */
void wh_check_catch_up(struct shard_member *member)
{
	struct wh_inspect_member now;

	if (member != NULL && member->me >= 0 && wh_check_look(member, &now))
		check_sent(member, &now);
}

/* The least that any member has done with the slots of this sender. A member that has gone on does not need them any more;
 * one that is not here yet has all before the first. */
static uint64_t least_done(const struct shard *shard, uint32_t s)
{
	const struct part *part = &shard->parts[s];
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < shard->member_count; i++) {
		const struct shard_member *member = &shard->members[i];
		uint64_t done = member->taken[s].done;

		if (member->gone)
			continue;
		if (member->actor->leaving && member->actor->node != NULL && member->entered) /* its passes go unseen */
			done = wh_check_sender(member, s).next;
		if (done < part->first)
			done = part->first;
		if (done < least)
			least = done;
	}
	return least;
}

static void check_window(const struct shard_member *member, const struct wh_inspect_member *now)
{
	uint64_t least = least_done(member->shard, (uint32_t)member->me);

	REQUIRE(member, now->freed <= least && now->limit <= least + now->window, "window",
		"allows claims below %" PRIu64 ", window %u, and a member has delivered no more than %" PRIu64
		" of its messages",
		now->limit, now->window, least);
	REQUIRE(member, is_whole(member->app->stream, now->freed), "whole",
		"a part of a message is free, below %" PRIu64, now->freed);
}

void wh_check_claim(const struct stream *stream, uint64_t number)
{
	const struct actor *actor = stream->app->actor;
	const struct shard_member *member = stream->app->member;
	uint32_t window = (uint32_t)actor->play->subgroups[stream->app->g].options->window;
	uint64_t least = stream->base;

	if (actor->play->extinct)
		return;
	if (member != NULL && member->me >= 0)
		least = least_done(member->shard, (uint32_t)member->me);
	if (stream->messages[number].claim.number + stream->base != number)
		wh_play_fail(actor->play, "window: %s, g%u: claim %" PRIu64 " says that it is %" PRIu64, actor->name,
			     stream->app->g, number, stream->messages[number].claim.number + stream->base);
	else if (number + stream->messages[number].slots > least + window)
		wh_play_fail(actor->play,
			     "window: %s, g%u: claim %" PRIu64
			     " is made, window %u, and a member has delivered no more than %" PRIu64,
			     actor->name, stream->app->g, number, window, least);
}

/* ---- members ----------------------------------------------------------------------------------------------------------- */

static void check_held_from(const struct shard_member *member, uint32_t s, uint64_t from, uint64_t to)
{
	for (; from < to && from < member->shard->parts[s].sent && !has_failed(member); from++)
		check_slot(member, s, from, "in its own copy");
}

/* What a sender has given out in this view. */
static uint64_t covered_by(const struct shard_member *sender)
{
	struct wh_inspect_member now;

	if (wh_check_look(sender, &now))
		return now.covered;
	return sender->gone ? UINT64_MAX : 0; /* gone: its last pass may have covered more than we saw */
}

/* What is counted as received has been sent: rounds, and the messages that are in them. */
static void check_given(const struct shard_member *member, uint32_t s, const struct wh_inspect_sender *sender)
{
	const struct part *part = &member->shard->parts[s];
	uint64_t covered = covered_by(wh_check_member_of(member->shard, s));

	REQUIRE(member, sender->covered <= covered && sender->announced <= part->sent, "held",
		"of sender %u counts %" PRIu64 " rounds and messages up to %" PRIu64
		" as received, it has given out %" PRIu64 " and %" PRIu64,
		s, sender->covered, sender->announced, covered, part->sent);
	REQUIRE(member, sender->announced == part->sent || round_of(part, sender->announced) >= sender->covered, "held",
		"counts round %" PRIu64 " of sender %u as received, and not its message %" PRIu64,
		round_of(part, sender->announced), s, sender->announced);
	REQUIRE(member, sender->announced == part->first || round_of(part, sender->announced - 1) < sender->covered,
		"held", "counts message %" PRIu64 " of sender %u as received, and not its round", sender->announced - 1,
		s);
}

static uint32_t most_slots(const struct shard_member *member)
{
	return wh_subgroup_parts_most(member->actor->play->subgroups[member->shard->g].options);
}

/* What this member has taken in of one sender. */
static void check_taken(struct shard_member *member, uint32_t s, const struct wh_inspect_member *now)
{
	struct wh_inspect_sender sender = wh_check_sender(member, s);
	struct part *part = &member->shard->parts[s];
	struct taken *taken = &member->taken[s], before = *taken;
	struct shard_member *from = wh_check_member_of(member->shard, s);

	if (sender.covered == taken->covered && sender.next == taken->done && sender.announced == taken->announced)
		return;
	if (!part->begun) {
		REQUIRE(member, sender.covered == 0, "held",
			"has %" PRIu64 " rounds of sender %u, which is not here yet", sender.covered, s);
		return;
	}
	REQUIRE(member,
		sender.covered >= taken->covered && sender.announced >= taken->announced && sender.next >= taken->done,
		"counters", "what is taken in of sender %u shrinks", s);
	REQUIRE(member,
		sender.announced - part->first <= sender.covered * most_slots(member) &&
			sender.next <= sender.announced && sender.announced <= sender.next + now->window,
		"counters", "of sender %u: next %" PRIu64 ", announced %" PRIu64 ", covered %" PRIu64 ", window %u", s,
		sender.next, sender.announced, sender.covered, now->window);
	REQUIRE(member, is_whole(part->stream, sender.next) && is_whole(part->stream, sender.announced), "whole",
		"of sender %u has a part of a message: next %" PRIu64 ", announced %" PRIu64, s, sender.next,
		sender.announced);
	*taken = (struct taken){sender.covered, sender.announced, sender.next};
	if (from->actor->leaving)
		wh_check_catch_up(from);
	if (has_closed(from) && sender.announced > part->sent)
		return;
	check_given(member, s, &sender);
	check_held_from(member, s, before.announced > sender.next ? before.announced : sender.next, sender.announced);
}

static void check_receive_switch(const struct shard_member *member)
{
	uint64_t rounds = 0;

	if (engine_of(member)->receive_batching)
		return;
	for (uint32_t s = 0; s < member->shard->part_count; s++)
		rounds += wh_check_sender(member, s).covered - member->taken[s].covered;
	REQUIRE(member, rounds <= 1, "switches", "takes in %" PRIu64 " rounds in a pass without receive batching",
		rounds);
}

static void check_deliver_switch(const struct shard_member *member)
{
	uint64_t most = member->shard->ordered ? 1 : member->shard->part_count;

	if (engine_of(member)->delivery_batching || wh_inspect_wedged(member->actor->node))
		return;
	REQUIRE(member, member->in_pass <= most, "switches",
		"delivers %" PRIu64 " messages in a pass without delivery batching", member->in_pass);
}

/* What others can see is what it holds. */
static void check_published(const struct shard_member *member, const struct wh_inspect_member *now)
{
	REQUIRE(member,
		member->me < 0 || now->covered == 0 ||
			now->said.guard == wh_guard_make(now->covered, now->announced - member->base),
		"counters", "its guard is not what it covers and announces: %" PRIu64 ", %" PRIu64, now->covered,
		now->announced);
	if (member->shard->ordered) {
		REQUIRE(member, now->durable || now->said.received_num == now->received_num, "counters",
			"it has received %" PRIu64 " and does not say so", now->received_num);
		REQUIRE(member, now->said.persisted_num == now->persisted_num, "counters",
			"it has %" PRIu64 " on disk and does not say so", now->persisted_num);
		REQUIRE(member, now->said.delivered_num == now->delivered_num, "counters",
			"it has delivered %" PRIu64 " and does not say so", now->delivered_num);
		return;
	}
	for (uint32_t s = 0; s < member->shard->part_count; s++) {
		struct wh_inspect_sender sender = wh_check_sender(member, s);

		REQUIRE(member, sender.said_next == sender.next, "counters",
			"it has delivered %" PRIu64 " of sender %u and does not say so", sender.next, s);
	}
}

/* Each other member has received what it has delivered, or is suspected, or has left. A member that goes along with the decision of
 * a quorum, and hears none itself, knows that and does not say it. */
static void check_stable(const struct shard_member *member, const struct wh_inspect_member *now)
{
	const struct shard *shard = member->shard;
	uint64_t suspects = wh_inspect_suspects(member->actor->node) | wh_inspect_left(member->actor->node);

	for (uint32_t i = 0; i < shard->member_count; i++) {
		const struct shard_member *other = &shard->members[i];
		struct wh_inspect_member there = {.received_num = 0};

		if (other->gone || (suspects >> other->actor->id & 1) != 0)
			continue;
		wh_check_look(other, &there);
		REQUIRE(member, now->delivered_num <= there.received_num, "stability",
			"has delivered %" PRIu64 ", node %u has received %" PRIu64, now->delivered_num,
			other->actor->id, there.received_num);
	}
}

static void check_ordered(const struct shard_member *member, const struct wh_inspect_member *now)
{
	const struct shard *shard = member->shard;
	uint64_t least = UINT64_MAX, slots = 0;

	if (member->me >= 0)
		slots = shard->parts[member->me].with_slots;
	REQUIRE(member, now->covered <= shard->rounds + 1 && (now->covered == slots || engine_of(member)->null_sends),
		"bound",
		"covers %" PRIu64 " rounds, %" PRIu64 " with slots; the highest of all with a slot is %" PRIu64,
		now->covered, slots, shard->rounds - 1);
	for (uint32_t s = 0; s < shard->part_count; s++) {
		uint64_t missing = wh_check_sender(member, s).covered * shard->part_count + s;

		if (missing < least)
			least = missing;
	}
	REQUIRE(member, now->received_num == least, "counters",
		"received_num is %" PRIu64 ", the first that is missing is %" PRIu64, now->received_num, least);
}

/* Deaf and mute: what a wedged member has said in this view is its last. Only deliveries up to the cut go on. */
static void check_wedged(struct shard_member *member, const struct wh_inspect_member *now)
{
	if (!member->wedged) {
		member->wedged = true;
		member->last_said = now->said;
	}
	REQUIRE(member, memcmp(&member->last_said, &now->said, sizeof(now->said)) == 0, "wedged",
		"says on that it has received %" PRIu64 " and delivered %" PRIu64, now->said.received_num,
		now->said.delivered_num);
}

static void check_member(struct shard_member *member)
{
	struct wh_inspect_member now;

	if (!wh_check_look(member, &now))
		return;
	REQUIRE(member, !now.broken, "rounds", "finds a member %s", "broken");
	REQUIRE(member,
		now.covered >= member->covered && now.received_num >= member->received_num &&
			now.delivered_num >= member->delivered_num,
		"counters", "a counter %s", "falls");
	if (member->me >= 0)
		check_sent(member, &now);
	check_receive_switch(member);
	check_deliver_switch(member);
	for (uint32_t s = 0; s < member->shard->part_count && !has_failed(member); s++)
		check_taken(member, s, &now);
	if (now.delivered_num != member->delivered_num && member->shard->ordered)
		check_stable(member, &now);
	member->covered = now.covered;
	member->received_num = now.received_num;
	member->delivered_num = now.delivered_num;
	if (has_failed(member))
		return;
	if (wh_inspect_wedged(member->actor->node)) {
		check_wedged(member, &now);
		return;
	}
	check_published(member, &now);
	if (member->shard->ordered)
		check_ordered(member, &now);
	if (member->me >= 0)
		check_window(member, &now);
}

/* ---- nodes ------------------------------------------------------------------------------------------------------------- */

void wh_check_pass(struct actor *actor)
{
	struct play *play = actor->play;

	if (play->closing || play->extinct)
		return;
	wh_play_enter_view(actor, NULL);
	wh_check_node(actor);
	wh_kept_pass(actor);
	wh_check_stays(actor);
	for (uint32_t g = 0; g < play->subgroup_count && !wh_play_failed(play); g++)
		if (!actor->removed) {
			if (actor->apps[g].member != NULL)
				check_member(actor->apps[g].member);
			wh_check_frontiers(&actor->apps[g]);
			wh_check_calls(&actor->apps[g]);
		}
}

/* Up to which the member, in an upcall or not, is done with that sender's slots, as others may know by now. What it is at work on is not settled:
 * neither the count of the sender of that message, nor, in ordered mode, any other, but for what it has told within that delivery. */
static uint64_t settled(const struct shard_member *member, uint32_t s)
{
	struct wh_inspect_sender sender = wh_check_sender(member, s);
	uint64_t done = member->taken[s].done;

	if (!member->in_upcall || (!member->shard->ordered && s != member->upcall_sender))
		return sender.next;
	return member->shard->ordered && sender.told > done ? sender.told : done;
}

/* The rest of its pass may be far away, and others see by then what has left this node already. */
void wh_check_settle(struct actor *actor)
{
	struct play *play = actor->play;

	for (uint32_t g = 0; g < play->subgroup_count && !wh_play_failed(play); g++) {
		struct shard_member *member = actor->apps[g].member;
		struct wh_inspect_member now;

		if (member == NULL || !wh_check_look(member, &now))
			continue;
		wh_check_catch_up(member);
		for (uint32_t s = 0; s < member->shard->part_count; s++)
			member->taken[s].done = settled(member, s);
	}
}

/* What it sent before is the truth for the nodes that have it. No node was to see the rest of its pass. */
void wh_check_died(struct actor *actor)
{
	const struct wh_view *view = wh_inspect_view(actor->node);

	if (actor->view == NULL || (view != NULL && view->number == actor->view->number))
		wh_check_settle(actor);
	else
		wh_play_forsake_view(actor);
}

void wh_check_held(struct play *play)
{
	for (uint32_t i = 0; i < play->lives; i++)
		for (uint32_t g = 0; g < play->subgroup_count; g++) {
			struct shard_member *member = play->actors[i].apps[g].member;
			struct wh_inspect_member now;

			if (!wh_actor_runs(&play->actors[i]) || member == NULL || !wh_check_look(member, &now))
				continue;
			for (uint32_t s = 0; s < member->shard->part_count && !wh_play_failed(play); s++) {
				struct wh_inspect_sender sender = wh_check_sender(member, s);

				if (member->shard->parts[s].begun)
					check_held_from(member, s, sender.next, sender.announced);
			}
		}
}
