/* checkers.c - what must hold of the multicast after each pass, at each upcall, and when nothing happens any more.
 *
 *     order       all members deliver the same sequence: what one has delivered is a prefix of what the foremost has
 *     fifo        of each sender every committed message, once, in the order of its claims; no aborted one
 *     payload     the bytes delivered are those committed, until the upcall returns
 *     stability   what is delivered has been received by every member
 *     held        what is counted as received lies whole and final in the member's own copy. In ordered mode with
 *                 receive batching a wrong order of slots and guard would not show without it: delivery waits for
 *                 the sender's own received_num, which travels behind its slots
 *     window      no more claims than the window beyond the least that a member has delivered: so no slot is used
 *                 again before that
 *     bound       nulls never go beyond the round after the highest that has a slot
 *     rounds      a slot has a round of its own, larger than those before, and only finished claims have slots
 *     counters    grow, stand in their relations (I1 to I5 of predicates/multicast_int.h), and are what was published
 *     switches    one thing at a time where batching is off
 *     progress    when nothing happens any more all is delivered; a held claim holds up its own sender alone
 *
 * The truth is what the applications did (streams.c), and what senders' own rows say once their pass is over.
 */
#include "tests/sim/play.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "group/node_int.h"
#include "predicates/multicast_int.h"
#include "tests/sim/payload.h"

#define FAIL(seat, property, format, ...)                                                                              \
	play_fail((seat)->circle->play, property ": node %u, g%u: " format, (seat)->actor->id, (seat)->circle->index,  \
		  __VA_ARGS__)

/* A failed check returns: one breach is enough, and it may lead to any number of others. */
#define REQUIRE(seat, condition, property, ...)                                                                        \
	do {                                                                                                           \
		if (!(condition)) {                                                                                    \
			FAIL(seat, property, __VA_ARGS__);                                                             \
			return;                                                                                        \
		}                                                                                                      \
	} while (0)

static const struct wh_multicast *mc_of(const struct seat *seat)
{
	return seat->subgroup->mc;
}

static const struct whorl_node *node_of(const struct seat *seat)
{
	return seat->actor->node;
}

static struct payload_id id_of(const struct stream *stream, uint64_t number)
{
	return (struct payload_id){.subgroup = stream->seat->circle->index,
				   .sender = stream->rank,
				   .index = number,
				   .bytes = stream->messages[number].bytes};
}

static const struct wh_engine_options *engine_of(const struct seat *seat)
{
	return &seat->circle->play->plan->config.engine;
}

/* ---- senders ----------------------------------------------------------------------------------------------------------- */

/* The slot of message `number` in this row: is it what its sender made it? */
static void check_slot(const struct seat *seat, const struct stream *stream, uint64_t number, const unsigned char *row,
		       const char *where)
{
	const struct message *message = &stream->messages[number];
	const struct wh_slots *slots = &stream->seat->subgroup->ring->slots;
	uint32_t slot = (uint32_t)(number % slots->window);
	struct wh_slot_header header = wh_slot_read(slots, row, slot);
	struct payload_id id = id_of(stream, number);
	bool aborted = message->state == MESSAGE_ABORTED;

	REQUIRE(seat, header.round == message->round && header.aborted == aborted, "held",
		"message %" PRIu64 " of sender %u: %s the header has round %" PRIu64
		" and aborted %u, expected %" PRIu64 " and %d",
		number, stream->rank, where, header.round, header.aborted, message->round, aborted);
	if (aborted)
		return;
	REQUIRE(seat, header.bytes == message->bytes, "held",
		"message %" PRIu64 " of sender %u: %s the header says %u bytes, expected %u", number, stream->rank,
		where, header.bytes, message->bytes);
	REQUIRE(seat, payload_check(row + wh_slot_payload(slots, slot), &id) == id.bytes, "held",
		"message %" PRIu64 " of sender %u: %s the payload is not what was committed", number, stream->rank,
		where);
}

/* Takes in what a sender has sent since: from here on the rounds of these messages are the truth. */
static void check_sent(struct seat *seat)
{
	const struct wh_multicast *mc = mc_of(seat);
	struct stream *stream = seat->stream;
	const struct wh_ring *ring = seat->subgroup->ring;

	REQUIRE(seat, mc->announced == ring->sent && ring->sent <= stream->claimed, "rounds",
		"announces %" PRIu64 " slots, has sent %" PRIu64 " of %" PRIu64 " claims", mc->announced, ring->sent,
		stream->claimed);
	REQUIRE(seat, mc->announced - stream->sent <= 1 || engine_of(seat)->send_batching || seat->actor->leaving,
		"switches", "sends %" PRIu64 " messages in a pass without send batching", mc->announced - stream->sent);
	for (; stream->sent < mc->announced; stream->sent++) {
		struct message *message = &stream->messages[stream->sent];
		uint32_t slot = (uint32_t)(stream->sent % ring->slots.window);
		uint64_t round = wh_slot_read(&ring->slots, ring->row, slot).round;

		REQUIRE(seat, message->state == MESSAGE_COMMITTED || message->state == MESSAGE_ABORTED, "rounds",
			"sends claim %" PRIu64 ", which is open", stream->sent);
		REQUIRE(seat,
			round >= seat->covered && round < mc->covered &&
				(stream->sent == 0 || round > message[-1].round),
			"rounds", "message %" PRIu64 " has round %" PRIu64 ", of %" PRIu64 " to %" PRIu64, stream->sent,
			round, seat->covered, mc->covered);
		message->round = round;
		if (round >= seat->circle->rounds)
			seat->circle->rounds = round + 1;
		check_slot(seat, stream, stream->sent, ring->row, "at its sender");
	}
	seat->circle->play->useful_step = seat->circle->play->steps;
}

/* The least that any member has done with the slots of this sender. */
static uint64_t least_done(const struct stream *stream)
{
	const struct circle *circle = stream->seat->circle;
	uint64_t least = UINT64_MAX;

	for (uint32_t i = 0; i < circle->seat_count; i++) {
		const struct seat *seat = &circle->seats[i];
		uint64_t done = seat->taken[stream->rank].done;

		if (seat->actor->leaving) /* nobody looks at its passes */
			done = mc_of(seat)->senders[stream->rank].next;
		if (done < least)
			least = done;
	}
	return least;
}

static void check_window(const struct seat *seat)
{
	const struct wh_ring *ring = seat->subgroup->ring;
	uint64_t least = least_done(seat->stream), limit = wh_load_relaxed(&ring->limit);

	REQUIRE(seat, ring->freed <= least && limit <= least + ring->slots.window, "window",
		"allows claims below %" PRIu64 ", window %u, and a member has delivered no more than %" PRIu64
		" of its messages",
		limit, ring->slots.window, least);
}

void check_claim(struct stream *stream, uint64_t number)
{
	const struct seat *seat = stream->seat;
	const struct message *message = &stream->messages[number];
	uint64_t least = least_done(stream);

	REQUIRE(seat, message->claim.number == number, "window", "claim %" PRIu64 " says that it is %" PRIu64, number,
		message->claim.number);
	REQUIRE(seat, number < least + seat->subgroup->window, "window",
		"claim %" PRIu64 " is made, window %u, and a member has delivered no more than %" PRIu64, number,
		seat->subgroup->window, least);
}

/* ---- members ----------------------------------------------------------------------------------------------------------- */

static void check_held_from(const struct seat *seat, const struct stream *stream, uint64_t from, uint64_t to)
{
	const unsigned char *row = node_of(seat)->image->row[stream->seat->actor->id];

	for (; from < to && !play_failed(seat->circle->play); from++)
		check_slot(seat, stream, from, row, "in its own copy");
}

/* What this member has taken in of one sender. */
static void check_taken(struct seat *seat, uint32_t s)
{
	const struct wh_multicast *mc = mc_of(seat);
	const struct wh_sender *sender = &mc->senders[s];
	const struct stream *stream = &seat->circle->streams[s];
	struct taken *taken = &seat->taken[s];

	if (stream->seat->actor->leaving && stream->sent != mc_of(stream->seat)->announced)
		check_sent(stream->seat);
	REQUIRE(seat,
		sender->covered >= taken->covered && sender->announced >= taken->announced &&
			sender->next >= taken->done,
		"counters", "what is taken in of sender %u shrinks", s);
	REQUIRE(seat,
		sender->announced <= sender->covered && sender->next <= sender->announced &&
			sender->announced <= sender->next + seat->subgroup->window,
		"counters", "of sender %u: next %" PRIu64 ", announced %" PRIu64 ", covered %" PRIu64 ", window %u", s,
		sender->next, sender->announced, sender->covered, seat->subgroup->window);
	REQUIRE(seat, sender->covered <= mc_of(stream->seat)->covered && sender->announced <= stream->sent, "held",
		"of sender %u counts %" PRIu64 " rounds and %" PRIu64 " slots as received, it has given out %" PRIu64
		" and %" PRIu64,
		s, sender->covered, sender->announced, mc_of(stream->seat)->covered, stream->sent);
	REQUIRE(seat, sender->announced == stream->sent || stream->messages[sender->announced].round >= sender->covered,
		"held", "counts round %" PRIu64 " of sender %u as received, and not its message %" PRIu64,
		stream->messages[sender->announced].round, s, sender->announced);
	REQUIRE(seat, sender->announced == 0 || stream->messages[sender->announced - 1].round < sender->covered, "held",
		"counts message %" PRIu64 " of sender %u as received, and not its round", sender->announced - 1, s);
	check_held_from(seat, stream, taken->announced > sender->next ? taken->announced : sender->next,
			sender->announced);
	taken->covered = sender->covered;
	taken->announced = sender->announced;
	taken->done = sender->next;
}

static void check_receive_switch(const struct seat *seat)
{
	const struct wh_multicast *mc = mc_of(seat);
	uint64_t rounds = 0;

	for (uint32_t s = 0; s < seat->circle->stream_count; s++)
		rounds += mc->senders[s].covered - seat->taken[s].covered;
	REQUIRE(seat, rounds <= 1 || engine_of(seat)->receive_batching, "switches",
		"takes in %" PRIu64 " rounds in a pass without receive batching", rounds);
}

static void check_deliver_switch(const struct seat *seat)
{
	uint64_t most = seat->circle->ordered ? 1 : seat->circle->stream_count;

	REQUIRE(seat, seat->in_pass <= most || engine_of(seat)->delivery_batching, "switches",
		"delivers %" PRIu64 " messages in a pass without delivery batching", seat->in_pass);
}

static uint64_t own_word(const struct seat *seat, uint32_t offset)
{
	return wh_load_relaxed((const wh_word *)(const void *)(node_of(seat)->image->own + offset));
}

/* What others can see is what it holds. */
static void check_published(const struct seat *seat)
{
	const struct wh_multicast *mc = mc_of(seat);
	const struct wh_subgroup_columns *columns = &mc->config.columns;

	REQUIRE(seat, own_word(seat, columns->guard.offset) == wh_guard_make(mc->covered, mc->announced), "counters",
		"its guard is not what it covers and announces: %" PRIu64 ", %" PRIu64, mc->covered, mc->announced);
	if (seat->circle->ordered) {
		REQUIRE(seat, own_word(seat, columns->received_num.offset) == mc->received_num, "counters",
			"it has received %" PRIu64 " and does not say so", mc->received_num);
		REQUIRE(seat, own_word(seat, columns->delivered_num.offset) == mc->delivered_num, "counters",
			"it has delivered %" PRIu64 " and does not say so", mc->delivered_num);
		return;
	}
	for (uint32_t s = 0; s < seat->circle->stream_count; s++)
		REQUIRE(seat, own_word(seat, columns->delivered_of.offset + 8 * s) == mc->senders[s].next, "counters",
			"it has delivered %" PRIu64 " of sender %u and does not say so", mc->senders[s].next, s);
}

static void check_ordered(const struct seat *seat)
{
	const struct wh_multicast *mc = mc_of(seat);
	const struct circle *circle = seat->circle;
	uint64_t least = UINT64_MAX;

	REQUIRE(seat,
		mc->covered <= circle->rounds + 1 && (mc->covered == mc->announced || engine_of(seat)->null_sends),
		"bound",
		"covers %" PRIu64 " rounds, %" PRIu64 " with slots; the highest of all with a slot is %" PRIu64,
		mc->covered, mc->announced, circle->rounds - 1);
	for (uint32_t s = 0; s < circle->stream_count; s++)
		if (mc->senders[s].covered * circle->stream_count + s < least)
			least = mc->senders[s].covered * circle->stream_count + s;
	REQUIRE(seat, mc->received_num == least, "counters",
		"received_num is %" PRIu64 ", the first that is missing is %" PRIu64, mc->received_num, least);
	for (uint32_t i = 0; i < circle->seat_count; i++) {
		const struct seat *other = &circle->seats[i];
		uint64_t received = other->subgroup != NULL ? mc_of(other)->received_num : 0;

		REQUIRE(seat, mc->delivered_num <= received, "stability",
			"has delivered %" PRIu64 ", node %u has received %" PRIu64, mc->delivered_num, other->actor->id,
			received);
	}
}

static void check_seat(struct seat *seat)
{
	struct play *play = seat->circle->play;
	const struct wh_multicast *mc = mc_of(seat);

	REQUIRE(seat, !mc->broken, "rounds", "finds a member %s", "broken");
	REQUIRE(seat,
		mc->covered >= seat->covered && mc->received_num >= seat->received_num &&
			mc->delivered_num >= seat->delivered_num,
		"counters", "a counter %s", "falls");
	if (seat->stream != NULL && seat->stream->sent != mc->announced)
		check_sent(seat);
	check_receive_switch(seat);
	check_deliver_switch(seat);
	for (uint32_t s = 0; s < seat->circle->stream_count && !play_failed(play); s++)
		if (memcmp(&mc->senders[s].covered, &seat->taken[s].covered, sizeof(uint64_t)) != 0 ||
		    mc->senders[s].next != seat->taken[s].done)
			check_taken(seat, s);
	seat->covered = mc->covered;
	seat->received_num = mc->received_num;
	seat->delivered_num = mc->delivered_num;
	if (play_failed(play))
		return;
	check_published(seat);
	if (seat->circle->ordered)
		check_ordered(seat);
	if (seat->stream != NULL)
		check_window(seat);
}

static void check_node(const struct actor *actor)
{
	struct play *play = actor->play;
	struct wh_sim_counts counts = wh_sim_counts(play->sim, actor->id);
	char text[256];

	if (wh_sim_verdict(play->sim) != NULL)
		play_fail(play, "%s", wh_sim_verdict(play->sim));
	if (!play->plan->config.engine.deferred_push && counts.batch_max > 1)
		play_fail(play, "switches: node %u posts %llu pushes at once without deferred pushes", actor->id,
			  (unsigned long long)counts.batch_max);
	if (play->crashed < 0 && whorl_error(actor->node, text, sizeof(text)) != WHORL_OK)
		play_fail(play, "failure: node %u: %s", actor->id, text);
}

void check_pass(struct actor *actor)
{
	if (actor->play->closing)
		return;
	check_node(actor);
	for (uint32_t i = 0; i < actor->seat_count && !play_failed(actor->play) && actor->node->ready; i++)
		check_seat(actor->seats[i]);
}

/* The rest of its pass may be far away, and others see by then what has left this node already. What the seat in the
 * upcall is at work on is not settled: neither the sender's count in whose messages the upcall is, nor, in ordered mode,
 * any other. */
void check_settle(struct actor *actor)
{
	for (uint32_t i = 0; i < actor->seat_count && !play_failed(actor->play); i++) {
		struct seat *seat = actor->seats[i];

		if (seat->stream != NULL && seat->stream->sent != mc_of(seat)->announced)
			check_sent(seat);
		for (uint32_t s = 0; s < seat->circle->stream_count; s++)
			if (!seat->in_upcall || (!seat->circle->ordered && s != seat->upcall_sender))
				seat->taken[s].done = mc_of(seat)->senders[s].next;
	}
}

/* ---- upcalls ----------------------------------------------------------------------------------------------------------- */

static int64_t sender_rank(const struct circle *circle, uint32_t node)
{
	for (uint32_t s = 0; s < circle->stream_count; s++)
		if (circle->streams[s].seat->actor->id == node)
			return s;
	return -1;
}

void check_payload(const struct seat *seat, const struct whorl_message *message)
{
	int64_t s = sender_rank(seat->circle, message->sender);
	struct payload_id id;
	size_t good;

	if (s < 0 || play_failed(seat->circle->play))
		return;
	id = id_of(&seat->circle->streams[s], message->index);
	good = payload_check(message->data, &id);
	REQUIRE(seat, good == id.bytes, "payload",
		"message %" PRIu64 " of sender %u: byte %zu of %zu is not what was committed", message->index,
		(uint32_t)s, good, id.bytes);
}

static void check_fifo(struct seat *seat, const struct whorl_message *message, uint32_t s)
{
	const struct stream *stream = &seat->circle->streams[s];
	uint64_t expected = seat->taken[s].index;

	while (expected < stream->claimed && stream->messages[expected].state == MESSAGE_ABORTED)
		expected++;
	REQUIRE(seat, message->index == expected, "fifo",
		"of sender %u delivers message %" PRIu64 ", expected %" PRIu64, s, message->index, expected);
	REQUIRE(seat, expected < stream->claimed && stream->messages[expected].state == MESSAGE_COMMITTED, "fifo",
		"of sender %u delivers message %" PRIu64 ", which is not committed", s, message->index);
	REQUIRE(seat, message->bytes == stream->messages[expected].bytes, "payload",
		"message %" PRIu64 " of sender %u has %zu bytes, expected %u", expected, s, message->bytes,
		stream->messages[expected].bytes);
	REQUIRE(seat, (uintptr_t)message->data % 16 == 0, "payload", "message %" PRIu64 " of sender %u is not aligned",
		expected, s);
	seat->taken[s].index = expected + 1;
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
	const struct stream *stream = &circle->streams[s];
	const struct entry entry = {s, message->index, message->sequence}, *first;
	uint64_t delivered = own_word(seat, mc_of(seat)->config.columns.delivered_num.offset);

	REQUIRE(seat,
		message->index < stream->sent &&
			message->sequence == stream->messages[message->index].round * circle->stream_count + s,
		"order", "message %" PRIu64 " of sender %u is delivered as number %" PRIu64, message->index, s,
		message->sequence);
	REQUIRE(seat, message->sequence >= seat->next_sequence, "order",
		"number %" PRIu64 " comes after number %" PRIu64, message->sequence, seat->next_sequence - 1);
	REQUIRE(seat, delivered <= message->sequence, "window",
		"tells others that it has delivered number %" PRIu64 " before its upcall has returned",
		message->sequence);
	seat->next_sequence = message->sequence + 1;
	if (seat->deliveries == circle->order_count)
		extend_order(circle, entry);
	first = &circle->order[seat->deliveries];
	REQUIRE(seat, first->sender == s && first->index == message->index && first->sequence == message->sequence,
		"order",
		"delivers message %" PRIu64 " of sender %u, where others have message %" PRIu64 " of sender %u",
		message->index, s, first->index, first->sender);
}

void check_upcall(struct seat *seat, const struct whorl_message *message)
{
	struct play *play = seat->circle->play;
	int64_t s = sender_rank(seat->circle, message->sender);
	struct seat *sender;

	REQUIRE(seat, s >= 0 && message->subgroup == seat->subgroup, "order", "node %u is no sender", message->sender);
	seat->upcall_sender = (uint32_t)s;
	sender = seat->circle->streams[s].seat;
	if (sender->stream->sent != mc_of(sender)->announced)
		check_sent(sender); /* it is me, and this is the pass in which I send it; nulls may make that possible */
	check_fifo(seat, message, (uint32_t)s);
	if (play_failed(play))
		return;
	check_payload(seat, message);
	if (seat->circle->ordered)
		check_order(seat, message, (uint32_t)s);
	else
		REQUIRE(seat, message->sequence == message->index, "order", "message %" PRIu64 " has number %" PRIu64,
			message->index, message->sequence);
	seat->deliveries++;
	seat->in_pass++;
	play->useful_step = play->steps;
	wh_sim_note(play->sim, (uint64_t)seat->actor->id << 32 | (uint32_t)s);
	wh_sim_note(play->sim, message->index);
}

/* ---- the end ----------------------------------------------------------------------------------------------------------- */

/* How many of a stream's messages must be delivered by now: those before its first open claim. */
static uint64_t finished_prefix(const struct stream *stream)
{
	uint64_t number = 0;

	while (number < stream->claimed && stream->messages[number].state != MESSAGE_OPEN)
		number++;
	return number;
}

static void check_delivered(const struct seat *seat)
{
	for (uint32_t s = 0; s < seat->circle->stream_count; s++) {
		uint64_t expected = finished_prefix(&seat->circle->streams[s]);
		uint64_t next = mc_of(seat)->senders[s].next;

		REQUIRE(seat, next == expected, "progress",
			"is done with %" PRIu64 " messages of sender %u, expected %" PRIu64, next, s, expected);
	}
	REQUIRE(seat, !seat->circle->ordered || seat->deliveries == seat->circle->order_count, "progress",
		"has delivered %" PRIu64 " of %" PRIu64 " messages", seat->deliveries, seat->circle->order_count);
}

/* Nobody has anything left to do but those behind a held claim. */
static void check_stream(const struct stream *stream)
{
	uint64_t finished = finished_prefix(stream);
	bool held = stream->held < stream->claimed && stream->messages[stream->held].state == MESSAGE_OPEN;

	REQUIRE(stream->seat, held || stream->claimed == stream->quota, "progress",
		"has claimed %" PRIu64 " of %" PRIu64 ", and waits for the window", stream->claimed, stream->quota);
	REQUIRE(stream->seat, finished == (held ? stream->held : stream->quota) && stream->sent == finished, "progress",
		"has sent %" PRIu64 " of %" PRIu64 " finished claims", stream->sent, finished);
}

static void check_circle(const struct circle *circle)
{
	const struct play *play = circle->play;

	if (!plan_progresses(play->plan, circle->index))
		return;
	for (uint32_t s = 0; s < circle->stream_count && !play_failed(play); s++)
		check_stream(&circle->streams[s]);
	for (uint32_t i = 0; i < circle->seat_count && !play_failed(play); i++)
		check_delivered(&circle->seats[i]);
}

void check_quiet(struct play *play)
{
	for (uint32_t g = 0; g < play->plan->config.subgroup_count && !play_failed(play); g++)
		check_circle(&play->circles[g]);
}

void check_left(const struct actor *actor)
{
	for (uint32_t g = 0; g < actor->seat_count; g++) {
		const struct seat *seat = actor->seats[g];

		for (uint32_t i = 0; seat->stream != NULL && i < seat->circle->seat_count; i++) {
			const struct seat *other = &seat->circle->seats[i];
			uint64_t done = other != seat ? mc_of(other)->senders[seat->stream->rank].next : UINT64_MAX;

			REQUIRE(other, done >= seat->stream->claimed, "close",
				"has delivered %" PRIu64 " of the %" PRIu64
				" messages of node %u, which has drained and left",
				done, seat->stream->claimed, actor->id);
		}
	}
}

void check_held(struct play *play)
{
	for (uint32_t g = 0; g < play->plan->config.subgroup_count; g++) {
		struct circle *circle = &play->circles[g];

		for (uint32_t i = 0; i < circle->seat_count; i++)
			for (uint32_t s = 0; s < circle->stream_count && !play_failed(play); s++)
				check_held_from(&circle->seats[i], &circle->streams[s],
						mc_of(&circle->seats[i])->senders[s].next,
						mc_of(&circle->seats[i])->senders[s].announced);
	}
}
