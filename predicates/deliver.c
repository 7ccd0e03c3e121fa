/* deliver.c - the delivery predicate: every member has received the next message (Spindle §II-D, §III-A, §III-D).
 *
 * Stability before delivery: up to the least received_num over all members (in a durable shard persisted_num), each cell read once. Messages are upcalled
 * in the order of their sequence numbers, in place in their senders' rings; a round without a slot is a null and is
 * passed over. delivered_num is pushed after the upcalls have returned, since from then on the slots may be written
 * again.
 *
 * The program may take fewer than it is offered (0044). Then the delivery ends at the first message that it has not taken: what was
 * looked at behind that goes back to its senders' rings, and is looked at again when it is resumed. Below a cut it is copied instead.
 */
#include "predicates/multicast_int.h"

/* What all members have received; in a durable shard, what all have on disk. */
static uint64_t least_stable(const struct wh_multicast *mc)
{
	const struct wh_multicast_config *c = &mc->config;
	struct wh_counter_col column = c->persist != NULL ? c->columns.persisted_num : c->columns.received_num;
	uint64_t least = c->persist != NULL ? mc->persisted_num : mc->received_num;

	for (uint32_t i = 0; i < mc->peers.count && least > mc->delivered_num; i++) {
		uint64_t stable = wh_sst_observe(c->sst, mc->peers.ranks[i], column);

		if (stable < least)
			least = stable;
	}
	return least;
}

/* Of the messages collected only so many were taken. */
static void end_run(struct wh_multicast *mc, size_t taken)
{
	mc->failed = taken > mc->run;
	mc->refused = mc->refused || !mc->failed;
	if (!mc->failed && mc->cuts) {
		mc->failed = !mc->config.keep(mc->config.handle, mc->batch + taken, mc->run - taken);
	} else if (!mc->failed) {
		mc->rest_from = (uint32_t)taken;
		mc->rest_to = mc->run;
	}
	mc->halts = mc->failed || !mc->cuts;
}

/* The places of large messages are for small ones again, of which only some is written anew. */
static void forget_parts(struct wh_multicast *mc)
{
	for (uint32_t i = 0; i < mc->run; i++) {
		mc->batch[i].parts = mc->batch[i].indexes = 1;
		mc->batch[i].pieces = NULL;
	}
	mc->run_has_parts = false;
}

/* Upcalls the messages collected, timed as one. */
static void flush_run(struct wh_multicast *mc)
{
	uint64_t now;
	size_t taken;

	if (mc->run == 0)
		return;
	taken = mc->config.deliver(mc->config.handle, mc->batch, mc->run);
	if (__builtin_expect(taken != mc->run, 0))
		end_run(mc, taken);
	now = wh_env_now(mc->config.diag->env);
	wh_count_max(&mc->config.stats->upcall_longest_ns, now - mc->run_start_ns);
	mc->run_start_ns = *mc->config.now_ns = now;
	if (__builtin_expect(mc->run_has_parts, 0))
		forget_parts(mc);
	mc->run = 0;
}

static void count_delivered(struct wh_multicast *mc, size_t messages)
{
	if (messages == 0)
		return;
	wh_count(&mc->config.stats->delivered, messages);
	wh_count(&mc->config.stats->delivered_bytes, mc->run_bytes);
	wh_count_batch(&mc->config.stats->deliver, messages);
	mc->run_bytes = 0;
}

/* Small messages of several senders in turn are a pattern that processors do not guess: each would wait for its lines to
 * come from the core that wrote them. Asked for some messages ahead, they are there in time (docs/decisions/0013). Only
 * what is announced: a line that is being written must be left to its writer. */
WH_HINT_INLINE void prefetch(const struct wh_sender *sender, uint32_t slot, uint64_t announced)
{
	const unsigned char *row = sender->row, *payload;

	if (announced <= WH_SLOTS_AHEAD || sender->slots.payload_stride > WH_SLOT_SMALL)
		return;
	slot = wh_slot_ahead(&sender->slots, slot);
	wh_prefetch_read(row + sender->slots.headers + (uint64_t)slot * sender->slots.header_stride);
	payload = row + wh_slot_payload(&sender->slots, slot);
	wh_prefetch_read(payload);
	wh_prefetch_read(payload + WH_CACHE_LINE);
	for (uint32_t at = 2 * WH_CACHE_LINE; at < sender->slots.payload_stride; at += WH_CACHE_LINE)
		wh_prefetch_read(payload + at);
}

/* Reads the header of the next slot of `sender`, once, if it is announced. */
static inline void look_ahead(struct wh_sender *sender)
{
	if (sender->next == sender->announced) {
		sender->ahead.round = WH_NO_ROUND;
		return;
	}
	prefetch(sender, sender->next_slot, sender->announced - sender->next);
	sender->ahead = wh_slot_read(&sender->slots, sender->row, sender->next_slot);
}

/* The parts of a large message of `sender`, which begins with its next slot, hold together: all are announced, of one round, and full but
 * for the last that has anything. Each header is read once; *bytes: of all. */
static bool parts_hold(const struct wh_multicast *mc, const struct wh_sender *sender, uint32_t parts, uint64_t *bytes)
{
	struct wh_slot_header first = sender->ahead, header = first;
	uint32_t slot = sender->next_slot;

	*bytes = 0;
	if (parts > mc->config.parts_most || parts > sender->announced - sender->next)
		return false;
	for (uint32_t k = 0; k < parts; k++) {
		if (k > 0) {
			slot = wh_slot_next(&sender->slots, slot);
			header = wh_slot_read(&sender->slots, sender->row, slot);
		}
		if (header.round != first.round || header.aborted != first.aborted || (k > 0 && header.more != 0) ||
		    header.bytes > mc->config.message_bytes ||
		    (header.bytes > 0 && *bytes != (uint64_t)k * mc->config.message_bytes))
			return false;
		*bytes += header.bytes;
	}
	return true;
}

/* Takes all slots of a large message, as take_slot takes one. It is upcalled at once if it lies in pieces, as there is one place for where these
 * lie, or if it is so large that a run of such would take long. */
static __attribute__((noinline)) int take_parts(struct wh_multicast *mc, struct wh_sender *sender, uint64_t sequence)
{
	uint32_t parts = (uint32_t)sender->ahead.more + 1;
	bool message = !sender->ahead.aborted && sender->next >= sender->have;
	const unsigned char *data = sender->row + wh_slot_payload(&sender->slots, sender->next_slot);
	struct whorl_message *last = NULL;
	uint64_t bytes;

	if (!parts_hold(mc, sender, parts, &bytes)) {
		wh_multicast_break(mc, sender->rank, "parts of a message do not hold together");
		return -1;
	}
	if (message) {
		mc->pieces = wh_slot_pieces(&sender->slots, sender->next_slot, data, bytes);
		last = &mc->batch[mc->run++];
		*last = (struct whorl_message){
			.size = sizeof(struct whorl_message),
			.sender = sender->id,
			.data = data,
			.bytes = bytes,
			.index = sender->next,
			.view = mc->config.view,
			.sequence = sequence,
			.subgroup = mc->config.message_of,
			.incarnation = sender->incarnation,
			.parts = mc->pieces.count,
			.indexes = parts,
			.pieces = mc->pieces.count > 1 ? &mc->pieces : NULL,
		};
		mc->run_bytes += bytes;
	}
	sender->next += parts;
	sender->next_slot = wh_slot_behind(sender->next_slot, parts, sender->slots.window);
	look_ahead(sender);
	mc->run_has_parts = mc->run_has_parts || last != NULL;
	if (last != NULL && (last->pieces != NULL || bytes > WH_UPCALL_BYTES || mc->run == WH_UPCALL_RUN))
		flush_run(mc);
	return message;
}

/* What is the same in all messages of one slot is written once: they are small, and many. */
static void prepare_batch(struct wh_multicast *mc)
{
	for (uint32_t i = 0; i < WH_UPCALL_RUN; i++)
		mc->batch[i] = (struct whorl_message){.size = sizeof(struct whorl_message),
						      .view = mc->config.view,
						      .subgroup = mc->config.message_of,
						      .parts = 1,
						      .indexes = 1};
	mc->prepared = true;
}

/* Takes the next slot of `sender` as number `sequence`; its header was looked at. Returns how many messages that is:
 * 0, 1, or -1 when it makes no sense, and the sender is broken. */
static inline int take_slot(struct wh_multicast *mc, struct wh_sender *sender, uint64_t sequence)
{
	bool message = !sender->ahead.aborted && sender->next >= sender->have;

	if (__builtin_expect(sender->ahead.more != 0, 0))
		return take_parts(mc, sender, sequence);
	if (sender->ahead.bytes > mc->config.message_bytes) {
		wh_multicast_break(mc, sender->rank, "message is longer than a slot");
		return -1;
	}
	if (message) {
		struct whorl_message *next = &mc->batch[mc->run++];

		next->sender = sender->id;
		next->data = sender->row + wh_slot_payload(&sender->slots, sender->next_slot);
		next->bytes = sender->ahead.bytes;
		next->index = sender->next;
		next->sequence = sequence;
		next->incarnation = sender->incarnation;
		mc->run_bytes += sender->ahead.bytes;
	}
	sender->next++;
	sender->next_slot = wh_slot_next(&sender->slots, sender->next_slot);
	look_ahead(sender);
	if (mc->run == WH_UPCALL_RUN)
		flush_run(mc);
	return message;
}

/* Push now only if some sender may be blocked: half of its window is used up since the last push that left at once. Otherwise the
 * word may go with the acknowledgement of the next message. */
static bool is_awaited(const struct wh_multicast *mc)
{
	for (uint32_t s = 0; s < mc->config.sender_count; s++)
		if (mc->senders[s].announced - mc->senders[s].told >= mc->config.window / 2)
			return true;
	return false;
}

/* Beside received_num: no node holds one of them against the other in another node's row. */
static void tell_delivered(struct wh_multicast *mc, bool awaited)
{
	const struct wh_multicast_config *c = &mc->config;

	if (awaited)
		for (uint32_t s = 0; s < c->sender_count; s++)
			mc->senders[s].told = mc->senders[s].next;
	wh_sst_publish_advised(c->sst, c->pushes, c->columns.delivered_num, mc->delivered_num,
			       WH_PUSH_MAY_REORDER | (awaited ? 0 : WH_PUSH_MAY_DELAY), mc->peers);
	wh_note_move(mc, awaited ? 0 : WH_PUSH_MAY_DELAY);
	wh_multicast_post(mc);
}

/* Of some sender so many slots were upcalled and not told. */
static bool has_used(const struct wh_multicast *mc, uint32_t slots)
{
	for (uint32_t s = 0; s < mc->config.sender_count; s++)
		if (mc->senders[s].next - mc->senders[s].told >= slots)
			return true;
	return false;
}

/* Between two runs of upcalls, where a push is a store: a sender that is behind by much of its window need not wait for the end of the
 * delivery (docs/decisions/0075). All below `sequence` has been upcalled. */
static inline void tell_between(struct wh_multicast *mc, uint64_t sequence)
{
	if (mc->run > 0 || mc->halts || mc->cuts || mc->config.sst->image->ops->gap_bytes > 0 ||
	    !has_used(mc, mc->config.window / 4))
		return;
	mc->delivered_num = sequence;
	tell_delivered(mc, true);
}

/* ---- rounds at a time: most of what is delivered is rounds in which the same senders have a message each, in a slot each ---- */

/* For so many rounds from `round` on, at most `most`, the same senders have a slot in each, by what is known without its headers. *present:
 * how many senders. */
static uint64_t count_alike(const struct wh_multicast *mc, uint64_t round, uint64_t most, uint32_t *present)
{
	*present = 0;
	for (uint32_t s = 0; s < mc->config.sender_count && most > 0; s++) {
		const struct wh_sender *sender = &mc->senders[s];
		bool here = sender->ahead.round == round;
		uint64_t alike = here                          ? sender->announced - sender->next
				 : sender->ahead.round > round ? sender->ahead.round - round
							       : 0; /* it makes no sense: take_slot says so */

		*present += here;
		most = alike < most ? alike : most;
	}
	return most;
}

/* Of the slots of `sender` so many, at most `most`, are whole messages of one slot in one round after the other. They are put into each
 * `step`th place of the batch from `next` on, the first as number `sequence`. */
static inline uint32_t collect(const struct wh_multicast *mc, const struct wh_sender *sender, uint32_t most,
			       struct whorl_message *next, uint32_t step, uint64_t sequence)
{
	const struct wh_slots slots = sender->slots;
	const unsigned char *row = sender->row;
	struct wh_slot_header header = sender->ahead;
	uint64_t round = header.round, index = sender->next, announced = sender->announced;
	uint32_t slot = sender->next_slot, longest = mc->config.message_bytes, senders = mc->config.sender_count;
	uint32_t count = 0;

	while (header.round == round + count && wh_slot_holds_one(header, longest)) {
		next->sender = sender->id;
		next->data = row + wh_slot_payload(&slots, slot);
		next->bytes = header.bytes;
		next->index = index + count;
		next->sequence = sequence;
		next->incarnation = sender->incarnation;
		if (++count == most)
			break;
		next += step;
		sequence += senders;
		slot = wh_slot_next(&slots, slot);
		prefetch(sender, slot, announced - index - count);
		header = wh_slot_read(&slots, row, slot);
	}
	return count;
}

/* The first `rounds` rounds of what was collected are taken. */
static void take_collected(struct wh_multicast *mc, uint64_t round, uint32_t rounds, uint32_t present)
{
	for (uint32_t i = 0; i < rounds * present; i++)
		mc->run_bytes += mc->batch[mc->run + i].bytes;
	mc->run += rounds * present;
	for (uint32_t s = 0; s < mc->config.sender_count; s++) {
		struct wh_sender *sender = &mc->senders[s];

		if (sender->ahead.round != round)
			continue;
		sender->next += rounds;
		sender->next_slot = wh_slot_behind(sender->next_slot, rounds, sender->slots.window);
		look_ahead(sender);
	}
}

/* Takes rounds that are alike from `round` on, at most `most`. Returns how many: 0 where the next has anything else in it. */
static uint32_t take_rounds(struct wh_multicast *mc, uint64_t round, uint64_t most, uint64_t sequence, size_t *messages)
{
	uint32_t present, rounds, place = mc->run;
	uint64_t alike = count_alike(mc, round, most, &present);

	if (alike == 0 || present == 0 || present > WH_UPCALL_RUN - mc->run)
		return 0;
	rounds = (WH_UPCALL_RUN - mc->run) / present;
	rounds = alike < rounds ? (uint32_t)alike : rounds;
	for (uint32_t s = 0; s < mc->config.sender_count && rounds > 0; s++)
		if (mc->senders[s].ahead.round == round)
			rounds = collect(mc, &mc->senders[s], rounds, &mc->batch[place++], present, sequence + s);
	if (rounds == 0)
		return 0;
	take_collected(mc, round, rounds, present);
	*messages += (size_t)rounds * present;
	if (mc->run == WH_UPCALL_RUN)
		flush_run(mc);
	return rounds;
}

/* Delivers the sequence numbers below `limit`; without delivery batching, up to the first message; and no longer than a
 * pass may, which leaves the rest to the next pass. Returns how many messages. */
static size_t deliver_below(struct wh_multicast *mc, uint64_t limit)
{
	uint64_t until_ns = mc->run_start_ns + *mc->config.deliver_ns, sequence = mc->delivered_num, round = mc->round;
	uint64_t senders = mc->config.sender_count, rounds_end = limit / senders;
	size_t messages = 0, most = mc->config.switches.delivery_batching ? SIZE_MAX : 1;
	uint32_t rank = mc->rank;

	if (!mc->prepared)
		prepare_batch(mc);
	while (sequence < limit && messages < most && mc->run_start_ns < until_ns && !mc->halts) {
		struct wh_sender *sender = &mc->senders[rank];
		uint32_t rounds = 0;

		if (rank == 0 && round < rounds_end && most > 1)
			rounds = take_rounds(mc, round, rounds_end - round, sequence, &messages);
		if (rounds > 0) {
			sequence += rounds * senders;
			round += rounds;
			tell_between(mc, sequence);
			continue;
		}
		if (sender->ahead.round <= round) { /* else a null */
			int taken = sender->ahead.round == round ? take_slot(mc, sender, sequence) : -1;

			if (taken < 0) {
				wh_multicast_break(mc, sender->rank, "slot has a round that is over");
				break;
			}
			messages += (size_t)taken;
			tell_between(mc, sequence + 1);
		}
		sequence++;
		if (++rank == mc->config.sender_count) {
			rank = 0;
			round++;
		}
	}
	mc->delivered_num = sequence;
	mc->round = round;
	mc->rank = rank;
	return messages;
}

/* What was not taken is its senders' next again, each from its first message there on. A slot in between that holds none is passed over in
 * place of a null. Returns how many messages that are. */
static size_t step_back(struct wh_multicast *mc)
{
	uint32_t senders = mc->config.sender_count, rest = mc->rest_to - mc->rest_from;
	bool ordered = mc->config.mode == WH_MODE_ORDERED;

	for (uint32_t i = mc->rest_to; i-- > mc->rest_from;) {
		const struct whorl_message *message = &mc->batch[i];
		uint32_t rank = ordered ? (uint32_t)(message->sequence % senders) : mc->rank;
		struct wh_sender *sender = &mc->senders[rank];

		sender->next = message->index;
		sender->next_slot = (uint32_t)(message->index % mc->config.window);
		sender->ahead.round = WH_NO_ROUND;
		mc->run_bytes -= message->bytes;
	}
	if (rest > 0 && ordered) {
		mc->delivered_num = mc->batch[mc->rest_from].sequence;
		mc->round = mc->delivered_num / senders;
		mc->rank = (uint32_t)(mc->delivered_num % senders);
	}
	mc->rest_from = mc->rest_to = 0;
	mc->halts = mc->failed;
	return rest;
}

/* What has been announced since the last time. */
static void look_at_senders(struct wh_multicast *mc)
{
	for (uint32_t s = 0; s < mc->config.sender_count; s++) {
		mc->senders[s].row = mc->config.sst->image->row[mc->senders[s].rank];
		if (mc->senders[s].ahead.round == WH_NO_ROUND)
			look_ahead(&mc->senders[s]);
	}
}

/* Ordered: of my own messages all have received those that I have delivered. */
static void tell_received(const struct wh_multicast *mc)
{
	if (mc->config.ring != NULL)
		wh_frontier_move(&mc->config.ring->frontiers, WH_RECEIVED_BY_ALL, mc->senders[mc->config.me].next);
}

size_t wh_deliver(struct wh_multicast *mc)
{
	uint64_t from = mc->delivered_num, limit;
	size_t messages;

	if (mc->received_num == mc->delivered_num || mc->broken || mc->refused)
		return 0;
	limit = least_stable(mc);
	if (limit <= mc->delivered_num)
		return 0;
	if (mc->config.persist != NULL)
		wh_store_relaxed(&mc->config.persist->stable, limit);
	mc->run_start_ns = wh_env_now(mc->config.diag->env);
	look_at_senders(mc);
	messages = deliver_below(mc, limit);
	flush_run(mc);
	if (__builtin_expect(mc->halts, 0)) {
		messages -= step_back(mc);
		if (mc->failed || mc->delivered_num == from)
			return mc->delivered_num - from;
	}
	WH_CHECK(mc->config.diag, mc->delivered_num <= mc->received_num);
	wh_store_relaxed(&mc->config.stats->delivered_num, mc->delivered_num);
	tell_delivered(mc, is_awaited(mc));
	tell_received(mc);
	wh_event(mc->config.diag, "deliver", mc->config.subgroup, mc->delivered_num, messages);
	count_delivered(mc, messages);
	return mc->delivered_num - from;
}

/* No counter is published: no node looks at those of this view any more. What was taken in before a sender broke is
 * delivered as well. If that makes no sense it is said once more, and there is no end to this. What is refused is kept, and so is all that
 * follows it. */
static size_t deliver_rest(struct wh_multicast *mc, uint64_t cut, bool *done)
{
	uint64_t from = mc->delivered_num;
	size_t messages;

	mc->broken = false;
	mc->cuts = true;
	mc->run_start_ns = wh_env_now(mc->config.diag->env);
	look_at_senders(mc);
	messages = deliver_below(mc, cut);
	flush_run(mc);
	count_delivered(mc, messages);
	WH_CHECK(mc->config.diag, mc->broken || mc->delivered_num <= mc->received_num);
	if (!mc->failed)
		tell_received(mc);
	*done = mc->delivered_num >= cut && !mc->failed;
	return mc->delivered_num - from;
}

/* Delivers what one sender has announced, if the pass has time left: until then, which is 0 as long as there was nothing.
 * Returns how many slots. */
static uint64_t deliver_sender(struct wh_multicast *mc, struct wh_sender *sender, uint64_t *until_ns, size_t *messages)
{
	uint64_t from = sender->next;
	uint64_t most = mc->config.switches.delivery_batching ? UINT64_MAX : 1;
	int taken = 0;

	if (sender->next == sender->announced)
		return 0;
	if (*until_ns == 0) {
		mc->run_start_ns = wh_env_now(mc->config.diag->env);
		*until_ns = mc->run_start_ns + *mc->config.deliver_ns;
	}
	if (!mc->prepared)
		prepare_batch(mc);
	sender->row = mc->config.sst->image->row[sender->rank];
	look_ahead(sender);
	while (sender->ahead.round != WH_NO_ROUND && sender->next - from < most && mc->run_start_ns < *until_ns &&
	       !mc->halts && (taken = take_slot(mc, sender, sender->next)) >= 0)
		*messages += (size_t)taken;
	flush_run(mc);
	if (__builtin_expect(mc->halts, 0))
		*messages -= step_back(mc);
	return sender->next - from;
}

/* Unordered: what a sender has announced is delivered at once, and its count goes back to that sender alone. If the time is
 * up before all had their turn, the next pass goes on there; so does the offer, with the sender of which one was not taken. */
size_t wh_deliver_unordered(struct wh_multicast *mc)
{
	uint64_t until_ns = 0;
	size_t slots = 0, messages = 0;

	for (uint32_t i = 0; i < mc->config.sender_count && !mc->broken && !mc->failed && !mc->refused; i++) {
		uint32_t s = mc->rank;
		struct wh_sender *sender = &mc->senders[s];
		struct wh_to to = {&sender->rank, (int)s == mc->config.me ? 0 : 1};
		uint64_t delivered = deliver_sender(mc, sender, &until_ns, &messages);

		if (mc->failed || (until_ns != 0 && delivered == 0 && mc->run_start_ns >= until_ns))
			break;
		if (!mc->refused)
			mc->rank = s + 1 == mc->config.sender_count ? 0 : s + 1;
		if (delivered == 0)
			continue;
		slots += delivered;
		wh_sst_publish_array(mc->config.sst, mc->config.pushes, mc->config.columns.delivered_of, s,
				     sender->next, to);
		if (mc->config.moves != NULL && to.count > 0)
			wh_moves_say(mc->config.moves, mc->config.subgroup, false, to);
	}
	wh_pushes_post(mc->config.pushes);
	count_delivered(mc, messages);
	return slots;
}

/* Unordered: what has been taken in, for the counts in my row said so. */
static size_t deliver_taken_in(struct wh_multicast *mc, bool *done)
{
	uint64_t until_ns = 0;
	size_t slots = 0, messages = 0;

	*done = true;
	mc->cuts = true;
	for (uint32_t s = 0; s < mc->config.sender_count && !mc->broken; s++) {
		slots += deliver_sender(mc, &mc->senders[s], &until_ns, &messages);
		*done = *done && !mc->failed && mc->senders[s].next == mc->senders[s].announced;
	}
	count_delivered(mc, messages);
	return slots;
}

size_t wh_multicast_deliver_to(struct wh_multicast *mc, uint64_t cut, bool *done)
{
	return mc->config.mode == WH_MODE_ORDERED ? deliver_rest(mc, cut, done) : deliver_taken_in(mc, done);
}
