/* send.c - the send predicate: the application has committed messages (Spindle §III-A).
 *
 * Gives the next rounds to the committed prefix of the ring and pushes its slots: one range, or two if the ring wraps.
 * The guard that announces them travels in a later push (wh_announce, after null has added its rounds), as a value.
 *
 * A message in several slots takes one round, the same in the headers of all of them: the guard covers it with all its slots, so no
 * member takes in a part of it, and no cut falls into it (docs/decisions/0045).
 *
 * The window: claim m may be made when every member, I too, has delivered message m - window of mine. Slots are
 * counted, not rounds: nulls take none.
 */
#include "predicates/multicast_int.h"

#include <string.h>

/* Counted over all members by what they have delivered, not received: a slot is read in place until the upcall that got
 * it has returned. */
static uint64_t least_delivered(const struct wh_multicast *mc)
{
	const struct wh_multicast_config *c = &mc->config;
	bool ordered = c->mode == WH_MODE_ORDERED;
	uint64_t least = ordered ? mc->delivered_num : mc->senders[c->me].next, first = mc->senders[c->me].first;

	for (uint32_t i = 0; i < mc->peers.count; i++) {
		uint32_t rank = mc->peers.ranks[i];
		uint64_t delivered =
			ordered ? wh_sst_observe(c->sst, rank, c->columns.delivered_num)
				: wh_sst_observe_array(c->sst, rank, c->columns.delivered_of, (uint32_t)c->me);

		if (delivered < least)
			least = delivered;
	}
	return ordered || least > first ? least : first; /* before its first delivery in this view a row says 0 */
}

uint64_t wh_whole_below(const struct wh_multicast *mc, uint64_t number)
{
	const struct wh_ring *ring = mc->config.ring;
	const struct wh_place *place = mc->config.place;
	uint64_t whole = ring->freed, parts = 1;

	if (mc->config.parts_most == 1)
		return number;
	while (whole < number && whole < ring->sent) {
		parts = wh_slot_read(&place->slots, place->row, (uint32_t)(whole % ring->window)).more + UINT64_C(1);
		if (whole + parts > number)
			break;
		whole += parts;
	}
	return whole;
}

void wh_free_slots(struct wh_multicast *mc)
{
	struct wh_ring *ring = mc->config.ring;
	const struct wh_slots *slots = &mc->config.place->slots;
	uint64_t least = least_delivered(mc), freed = ring->freed;

	if (least == mc->least_delivered)
		return;
	mc->least_delivered = least;
	if (mc->config.mode == WH_MODE_UNORDERED && least > ring->freed) /* what is free stays so, whatever a row says */
		ring->freed = wh_whole_below(mc, least);
	while (mc->config.mode == WH_MODE_ORDERED && ring->freed < ring->sent) {
		struct wh_slot_header header = wh_slot_read(slots, mc->config.place->row, ring->freed_slot);

		if (header.round * mc->config.sender_count + (uint32_t)mc->config.me >= least)
			break;
		ring->freed++;
		ring->freed_slot = wh_slot_next(slots, ring->freed_slot);
	}
	if (ring->freed != freed)
		wh_ring_publish_limit(ring);
}

/* Where what is used of a slot, header and payload, begins and ends. */
static uint64_t used_from(const struct wh_slots *slots, uint32_t slot)
{
	return slots->headers + (uint64_t)slot * slots->header_stride;
}

static uint64_t used_to(const struct wh_multicast *mc, uint32_t slot)
{
	const struct wh_place *place = mc->config.place;
	struct wh_slot_header header = wh_slot_read(&place->slots, place->row, slot);

	return wh_slot_payload(&place->slots, slot) + (wh_is_relayed(&mc->config, header) ? 0 : header.bytes);
}

/* Where bytes cost something: what is used of each slot, as one range as far as that is cheaper. */
static void push_used(struct wh_multicast *mc, uint32_t first, uint32_t count)
{
	const struct wh_slots *slots = &mc->config.place->slots;
	struct wh_pushes *pushes = mc->config.pushes;
	uint64_t begin = used_from(slots, first), end = used_to(mc, first);

	for (uint32_t slot = first + 1; slot < first + count; slot++) {
		uint64_t next = used_from(slots, slot);

		if (next - end > pushes->image->ops->gap_bytes) {
			wh_push_bytes(pushes, begin, end - begin, mc->peers.ranks, mc->peers.count);
			begin = next;
		}
		end = used_to(mc, slot);
	}
	if (end > begin)
		wh_push_bytes(pushes, begin, end - begin, mc->peers.ranks, mc->peers.count);
}

/* Headers, and behind them the payloads that are not relayed. */
static void push_apart(struct wh_multicast *mc, uint32_t first, uint32_t count)
{
	const struct wh_slots *slots = &mc->config.place->slots;

	wh_push_bytes(mc->config.pushes, used_from(slots, first), (uint64_t)count * slots->header_stride,
		      mc->peers.ranks, mc->peers.count);
	for (uint32_t slot = first; slot < first + count; slot++) {
		uint64_t begin = wh_slot_payload(slots, slot), end = used_to(mc, slot);

		if (end > begin)
			wh_push_bytes(mc->config.pushes, begin, end - begin, mc->peers.ranks, mc->peers.count);
	}
}

/* Header and payload of `count` slots from `first` on, which do not wrap; of what is relayed the header. */
static void push_range(struct wh_multicast *mc, uint32_t first, uint32_t count)
{
	const struct wh_slots *slots = &mc->config.place->slots;
	struct wh_pushes *pushes = mc->config.pushes;

	if ((pushes->image->ops->gap_bytes > 0 || mc->relays != NULL) && !slots->apart) {
		push_used(mc, first, count);
		return;
	}
	if (mc->relays != NULL) {
		push_apart(mc, first, count);
		return;
	}
	wh_push_bytes(pushes, slots->headers + (uint64_t)first * slots->header_stride,
		      (uint64_t)count * slots->header_stride, mc->peers.ranks, mc->peers.count);
	if (slots->apart)
		wh_push_bytes(pushes, wh_slot_payload(slots, first), (uint64_t)count * slots->payload_stride,
			      mc->peers.ranks, mc->peers.count);
}

static void push_slots(struct wh_multicast *mc, uint32_t first, uint32_t count)
{
	uint32_t window = mc->config.window;
	uint32_t before_wrap = count < window - first ? count : window - first;

	push_range(mc, first, before_wrap);
	if (before_wrap < count)
		push_range(mc, 0, count - before_wrap);
}

/* A message that was finished in the memory of a view before. */
static inline void bring_home(struct wh_ring *ring, const struct wh_place *place, uint32_t slot, uint32_t bytes)
{
	const unsigned char *from = wh_ring_elsewhere(ring, place, slot);

	if (from == NULL)
		return;
	memcpy(place->row + wh_slot_payload(&place->slots, slot), from, bytes);
	wh_ring_came_home(ring, slot);
}

static void count_sent(struct wh_multicast *mc, uint32_t count, uint32_t aborts)
{
	struct wh_ring *ring = mc->config.ring;
	uint64_t again = ring->sent < ring->ever_sent           ? count
			 : ring->sent - count < ring->ever_sent ? ring->ever_sent - (ring->sent - count)
								: 0;

	wh_count(&mc->config.stats->resent, again);
	wh_count(&mc->config.stats->sent, count - again);
	wh_count(&mc->config.stats->aborted, aborts);
	if (ring->sent > ring->ever_sent)
		ring->ever_sent = ring->sent;
}

/* How many slots the message has that is to be sent next. */
static uint32_t count_parts(const struct wh_ring *ring)
{
	uint32_t parts = 1, slot = ring->sent_slot;

	for (; (ring->ready[slot].bytes & WH_READY_MORE) != 0; parts++)
		slot = wh_slot_after(slot, ring->window);
	return parts;
}

/* A large message: all its slots in one round. Returns how many. */
static __attribute__((noinline)) uint32_t send_parts(struct wh_multicast *mc, bool aborted)
{
	struct wh_ring *ring = mc->config.ring;
	const struct wh_place *place = mc->config.place;
	uint32_t parts = count_parts(ring);

	for (uint32_t k = 0; k < parts; k++) {
		uint32_t bytes = ring->ready[ring->sent_slot].bytes & ~WH_READY_MORE;

		bring_home(ring, place, ring->sent_slot, bytes);
		wh_slot_write(&place->slots, place->row, ring->sent_slot,
			      (struct wh_slot_header){.round = mc->covered,
						      .bytes = bytes,
						      .aborted = aborted,
						      .more = (uint16_t)(k == 0 ? parts - 1 : 0)});
		ring->sent++;
		ring->sent_slot = wh_slot_next(&place->slots, ring->sent_slot);
	}
	mc->covered++;
	return parts;
}

size_t wh_send(struct wh_multicast *mc)
{
	struct wh_ring *ring = mc->config.ring;
	const struct wh_place *place = mc->config.place;
	uint32_t first, bytes, count = 0, aborts = 0, most;
	bool aborted;

	if (ring == NULL)
		return 0;
	wh_free_slots(mc);
	first = ring->sent_slot;
	most = mc->config.switches.send_batching ? mc->config.window : 1;
	while (count < most && wh_ring_ready(ring, ring->sent, ring->sent_slot, &bytes, &aborted)) {
		if (__builtin_expect((bytes & WH_READY_MORE) != 0, 0)) {
			bool again = ring->sent < ring->ever_sent;
			uint32_t parts = send_parts(mc, aborted);

			aborts += aborted && !again ? parts : 0;
			count += parts;
			continue;
		}
		bring_home(ring, place, ring->sent_slot, bytes);
		wh_slot_write(&place->slots, place->row, ring->sent_slot,
			      (struct wh_slot_header){.round = mc->covered++, .bytes = bytes, .aborted = aborted});
		aborts += aborted && ring->sent >= ring->ever_sent;
		ring->sent++;
		ring->sent_slot = wh_slot_next(&place->slots, ring->sent_slot);
		count++;
	}
	if (count == 0)
		return 0;
	/* The ring's own test keeps slots from being overrun; here its result is held against the rule. */
	WH_CHECK(mc->config.diag, ring->sent - ring->freed <= mc->config.window);
	mc->announced = ring->sent;
	push_slots(mc, first, count);
	wh_event(mc->config.diag, "send", mc->config.subgroup, mc->covered, mc->announced);
	count_sent(mc, count, aborts);
	wh_count_batch(&mc->config.stats->send, count);
	return count;
}

void wh_announce(struct wh_multicast *mc)
{
	uint64_t guard = wh_guard_make(mc->covered, mc->announced);

	if (guard == mc->guard)
		return;
	mc->guard = guard;
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.guard, guard, mc->peers);
	wh_note_move(mc, 0);
}
