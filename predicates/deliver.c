/* deliver.c - the delivery predicate: every member has received the next message (Spindle §II-D, §III-A, §III-D).
 *
 * Stability before delivery: up to the least received_num over all members, each cell read once. Messages are upcalled
 * in the order of their sequence numbers, in place in their senders' rings; a round without a slot is a null and is
 * passed over. delivered_num is pushed after the upcalls have returned, since from then on the slots may be written
 * again.
 */
#include "predicates/multicast_int.h"

/* So long may a pass deliver, by the clock that is read after each run of upcalls: between passes the node hears others
 * and is heard. Were it unbounded, upcalls that are a little slow and a window that is full would look like a death. */
#define DELIVER_NS (10 * WH_NS_PER_MS)

static uint64_t least_received(const struct wh_multicast *mc)
{
	uint64_t least = mc->received_num;

	for (uint32_t i = 0; i < mc->peers.count && least > mc->delivered_num; i++) {
		uint64_t received = wh_sst_observe(mc->config.sst, mc->peers.ranks[i], mc->config.columns.received_num);

		if (received < least)
			least = received;
	}
	return least;
}

/* Upcalls the messages collected, timed as one. */
static void flush_run(struct wh_multicast *mc)
{
	uint64_t now;

	if (mc->run == 0)
		return;
	mc->config.deliver(mc->config.ctx, mc->batch, mc->run);
	now = wh_env_now(mc->config.diag->env);
	wh_count_max(&mc->stats.upcall_longest_ns, now - mc->run_start_ns);
	mc->run_start_ns = now;
	mc->run = 0;
}

/* The header of the next slot of `sender`. False if none is announced. */
static bool next_header(const struct wh_multicast *mc, const struct wh_sender *sender, struct wh_slot_header *header)
{
	if (sender->next == sender->announced)
		return false;
	*header = wh_slot_read(&sender->slots, mc->config.sst->image->row[sender->rank], sender->next_slot);
	return true;
}

/* Delivers the next slot of `sender`, which has this header. False: it makes no sense, and the sender is broken. */
static bool take(struct wh_multicast *mc, struct wh_sender *sender, const struct wh_slot_header *header,
		 uint32_t rank, uint64_t sequence)
{
	const unsigned char *row = mc->config.sst->image->row[sender->rank];

	if (header->bytes > mc->config.message_bytes) {
		wh_multicast_break(mc, sender->rank, "message is longer than a slot");
		return false;
	}
	if (!header->aborted) {
		mc->batch[mc->run++] = (struct wh_delivery){
			.data = row + wh_slot_payload(&sender->slots, sender->next_slot),
			.bytes = header->bytes,
			.index = sender->next,
			.sequence = sequence,
			.sender = rank,
		};
		wh_count(&mc->stats.delivered_bytes, header->bytes);
	}
	sender->next++;
	sender->next_slot = wh_slot_next(&sender->slots, sender->next_slot);
	if (mc->run == WH_UPCALL_RUN)
		flush_run(mc);
	return true;
}

/* Delivers the sequence numbers below `limit`; without delivery batching, up to the first message; and no longer than
 * DELIVER_NS, which leaves the rest to the next pass. Returns how many messages. */
static size_t deliver_below(struct wh_multicast *mc, uint64_t limit)
{
	bool batching = mc->config.switches.delivery_batching;
	uint64_t until_ns = mc->run_start_ns + DELIVER_NS;
	size_t messages = 0;

	while (mc->delivered_num < limit && (batching || messages == 0) && mc->run_start_ns < until_ns) {
		struct wh_sender *sender = &mc->senders[mc->rank];
		struct wh_slot_header header;

		if (next_header(mc, sender, &header) && header.round <= mc->round) {
			if (header.round < mc->round) {
				wh_multicast_break(mc, sender->rank, "slot has a round that is over");
				break;
			}
			if (!take(mc, sender, &header, mc->rank, mc->delivered_num))
				break;
			messages += !header.aborted;
		}
		mc->delivered_num++;
		if (++mc->rank == mc->config.sender_count) {
			mc->rank = 0;
			mc->round++;
		}
	}
	return messages;
}

size_t wh_deliver(struct wh_multicast *mc)
{
	uint64_t from = mc->delivered_num, limit;
	size_t messages;

	if (mc->received_num == mc->delivered_num || mc->broken)
		return 0;
	limit = least_received(mc);
	if (limit <= mc->delivered_num)
		return 0;
	mc->run_start_ns = wh_env_now(mc->config.diag->env);
	messages = deliver_below(mc, limit);
	flush_run(mc);
	WH_CHECK(mc->config.diag, mc->delivered_num <= mc->received_num);
	wh_store_relaxed(&mc->stats.delivered_num, mc->delivered_num);
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.delivered_num, mc->delivered_num,
		       mc->peers);
	wh_pushes_post(mc->config.pushes);
	wh_event(mc->config.diag, "deliver", mc->config.subgroup, mc->delivered_num, messages);
	if (messages > 0) {
		wh_count(&mc->stats.delivered, messages);
		wh_count_batch(&mc->stats.deliver, messages);
	}
	return mc->delivered_num - from;
}

/* Unordered: what a sender has announced is delivered at once, and its count goes back to that sender alone. */
size_t wh_deliver_unordered(struct wh_multicast *mc)
{
	size_t slots = 0, messages = 0;

	mc->run_start_ns = wh_env_now(mc->config.diag->env);
	for (uint32_t s = 0; s < mc->config.sender_count && !mc->broken; s++) {
		struct wh_sender *sender = &mc->senders[s];
		bool mine = (int)s == mc->config.me;
		struct wh_to to = {&sender->rank, mine ? 0 : 1};
		struct wh_slot_header header;
		uint64_t from = sender->next, until_ns = mc->run_start_ns + DELIVER_NS;

		while ((mc->config.switches.delivery_batching || sender->next == from) &&
		       mc->run_start_ns < until_ns && next_header(mc, sender, &header) &&
		       take(mc, sender, &header, s, sender->next))
			messages += !header.aborted;
		flush_run(mc);
		if (sender->next == from)
			continue;
		slots += sender->next - from;
		wh_sst_publish_array(mc->config.sst, mc->config.pushes, mc->config.columns.delivered_of, s,
				     sender->next, to);
	}
	wh_pushes_post(mc->config.pushes);
	if (messages > 0) {
		wh_count(&mc->stats.delivered, messages);
		wh_count_batch(&mc->stats.deliver, messages);
	}
	return slots;
}
