/* receive.c - the receive predicate: a sender's guard advanced (Spindle §II-D, §III-A).
 *
 * Takes in everything new from every sender. Nothing of a slot is read here: the guard says how many rounds are covered
 * and how many slots are announced, and that is all that an acknowledgement needs. received_num is the least sequence
 * number that is missing, own rounds counted as well, pushed once.
 *
 * Without receive batching one round of one sender is taken in for each firing, with all its slots, and each is acknowledged by a push.
 */
#include "predicates/multicast_int.h"

void wh_multicast_break(struct wh_multicast *mc, uint32_t rank, const char *what)
{
	if (mc->broken)
		return;
	mc->broken = true;
	wh_event(mc->config.diag, what, mc->config.subgroup, rank, 0);
	mc->config.broken(mc->config.handle, rank, what);
}

/* Where its messages begin in this view. What I have had of it in views before does not come again in ordered mode, where all
 * have had the same; there may be a gap, of messages that it dropped while it was no sender. */
static bool begin_sender(struct wh_multicast *mc, struct wh_sender *sender)
{
	uint64_t first = wh_sst_observe(mc->config.sst, sender->rank, mc->config.columns.first);

	if (first > wh_ring_numbers(mc->config.window) || (mc->config.mode == WH_MODE_ORDERED && first < sender->have))
		return false;
	sender->first = sender->announced = sender->next = sender->told = first;
	sender->next_slot = (uint32_t)(first % mc->config.window);
	wh_relay_begin(mc, (uint32_t)(sender - mc->senders), first);
	return true;
}

/* So many rounds can be covered: each has a slot of some sender (null.c), and a slot is in its sender's window until I have
 * delivered it. In unordered mode no sender covers a round without a slot. */
static uint64_t covered_most(const struct wh_multicast *mc, const struct wh_sender *sender, uint64_t announced)
{
	if (mc->config.mode == WH_MODE_UNORDERED)
		return sender->covered + (announced - sender->announced);
	return mc->round + (uint64_t)mc->config.sender_count * mc->config.window + 1;
}

/* A guard comes from another process: it is held against the rules before it is believed. All slots of a round are announced with it, so
 * none is announced beyond those of the rounds that it covers. */
static bool guard_holds(const struct wh_multicast *mc, const struct wh_sender *sender, uint64_t covered,
			uint64_t announced)
{
	return covered >= sender->covered && covered <= covered_most(mc, sender, announced) &&
	       announced - sender->announced <= (covered - sender->covered) * mc->config.parts_most &&
	       announced - sender->next <= mc->config.window;
}

/* Where one round is taken in, and `announced` is what the guard says: up to which slot is that? Its slots, if the next one is of this
 * round. UINT64_MAX: that makes no sense. */
static uint64_t announced_of_one(const struct wh_multicast *mc, const struct wh_sender *sender, uint64_t announced)
{
	uint32_t ahead = (uint32_t)(sender->announced - sender->next);
	struct wh_slot_header header;

	if (announced == sender->announced)
		return announced;
	header = wh_slot_read(&sender->slots, mc->config.sst->image->row[sender->rank],
			      (sender->next_slot + ahead) % mc->config.window);
	if (header.round > sender->covered)
		return sender->announced;
	return header.more < announced - sender->announced ? sender->announced + header.more + 1 : UINT64_MAX;
}

/* Takes in at most `most` rounds of one sender. Returns how many. */
static uint64_t take_in(struct wh_multicast *mc, struct wh_sender *sender, uint64_t most)
{
	bool mine = mc->config.me >= 0 && sender == &mc->senders[mc->config.me];
	/* Acquire, in observe: the slots that the guard announces. Partner: the push of the guard in wh_announce. */
	uint64_t guard = mine ? wh_guard_make(mc->covered, mc->announced)
			      : wh_sst_observe(mc->config.sst, sender->rank, mc->config.columns.guard);
	uint64_t covered = wh_guard_covered(guard), announced;

	if (covered == sender->covered)
		return 0;
	if (sender->first == WH_UNKNOWN && !begin_sender(mc, sender)) {
		wh_multicast_break(mc, sender->rank, "messages begin where they cannot");
		return 0;
	}
	announced = sender->announced + wh_guard_news(guard, sender->announced);
	if (!guard_holds(mc, sender, covered, announced)) {
		wh_multicast_break(mc, sender->rank, "guard is out of its rules");
		return 0;
	}
	if (mc->relays != NULL && !mine &&
	    (!wh_relay_limit(mc, sender, &covered, &announced) || covered == sender->covered))
		return 0;
	if (covered - sender->covered > most) {
		covered = sender->covered + 1;
		announced = announced_of_one(mc, sender, announced);
		if (announced == UINT64_MAX) {
			wh_multicast_break(mc, sender->rank, "a part of a message is announced");
			return 0;
		}
	}
	most = covered - sender->covered;
	sender->covered = covered;
	sender->announced = announced;
	return most;
}

size_t wh_receive(struct wh_multicast *mc)
{
	bool batching = mc->config.switches.receive_batching;
	uint32_t senders = mc->config.sender_count;
	size_t rounds = 0;

	if (mc->broken)
		return 0;
	for (uint32_t i = 0; i < senders && (batching || rounds == 0); i++) {
		rounds += take_in(mc, &mc->senders[mc->turn], batching ? UINT64_MAX : 1);
		mc->turn = mc->turn + 1 == senders ? 0 : mc->turn + 1;
	}
	if (rounds == 0)
		return 0;
	wh_event(mc->config.diag, "receive", mc->config.subgroup, rounds, mc->received_num);
	wh_count_batch(&mc->config.stats->receive, rounds);
	return rounds;
}

void wh_acknowledge(struct wh_multicast *mc, size_t taken)
{
	bool batching = mc->config.switches.receive_batching;
	uint64_t senders = mc->config.sender_count, least = UINT64_MAX;

	if (mc->config.me >= 0 && batching) { /* my own rounds of this pass, nulls too */
		mc->senders[mc->config.me].covered = mc->covered;
		mc->senders[mc->config.me].announced = mc->announced;
	}
	for (uint64_t s = 0; s < senders; s++) {
		uint64_t first_missing = mc->senders[s].covered * senders + s;

		if (first_missing < least)
			least = first_missing;
	}
	if (batching ? least == mc->received_num : taken == 0)
		return;
	mc->received_num = least;
	wh_store_relaxed(&mc->config.stats->received_num, least);
	if (mc->config.persist != NULL) { /* the others wait for what is on disk, and are told of that alone */
		wh_persist_received(mc);
		return;
	}
	/* Beside the guard: it counts my own rounds too, and a peer counts those only by the guard that it has taken in. */
	wh_sst_publish_advised(mc->config.sst, mc->config.pushes, mc->config.columns.received_num, least,
			       WH_PUSH_MAY_REORDER, mc->peers);
	wh_note_move(mc, 0);
}

/* ---- of a durable shard -------------------------------------------------------------------------------------------------------- */

void wh_persist_received(struct wh_multicast *mc)
{
	struct wh_persist *persist = mc->config.persist;

	for (uint32_t s = 0; s < mc->config.sender_count; s++) {
		const struct wh_sender *sender = &mc->senders[s];

		wh_store_relaxed(&persist->senders[s].row, (uintptr_t)mc->config.sst->image->row[sender->rank]);
		wh_store_relaxed(&persist->senders[s].first, sender->first);
		wh_store_relaxed(&persist->senders[s].announced, sender->announced);
	}
	/* Release: the words above, and the slots that they announce. Partner: what begins a walk. */
	wh_store_release(&persist->received, mc->received_num);
	mc->log_waits = true;
}

void wh_persist_wake(struct wh_multicast *mc)
{
	if (!mc->log_waits)
		return;
	mc->log_waits = false;
	mc->config.persist->wake(mc->config.persist->ctx);
}

bool wh_multicast_has_persisted(const struct wh_multicast *mc)
{
	const struct wh_persist *persist = mc->config.persist;

	return persist != NULL &&
	       (wh_load_relaxed(&persist->persisted) != mc->persisted_num || wh_load_relaxed(&persist->broken) != 0);
}

uint64_t wh_multicast_slowest_disk(const struct wh_multicast *mc, uint32_t *id)
{
	const struct wh_multicast_config *c = &mc->config;
	uint64_t least = mc->persisted_num;

	*id = c->ids[c->sst->image->my_rank];
	for (uint32_t i = 0; i < mc->peers.count; i++) {
		uint64_t persisted = wh_sst_observe(c->sst, mc->peers.ranks[i], c->columns.persisted_num);

		if (persisted >= least)
			continue;
		least = persisted;
		*id = c->ids[mc->peers.ranks[i]];
	}
	return mc->received_num - least;
}

void wh_persist_judge(struct wh_multicast *mc)
{
	uint64_t broken = wh_load_relaxed(&mc->config.persist->broken);

	if (__builtin_expect(broken != 0, 0))
		wh_multicast_break(mc, mc->senders[broken - 1].rank, "message cannot be written to the log");
}

size_t wh_persist_tell(struct wh_multicast *mc, struct wh_to to)
{
	/* Acquire: that it was synced. Partner: wh_persist_say. */
	uint64_t persisted = wh_load_acquire(&mc->config.persist->persisted);

	if (persisted == mc->persisted_num || mc->config.persist->stops)
		return 0;
	WH_CHECK(mc->config.diag, persisted > mc->persisted_num && persisted <= mc->received_num);
	mc->persisted_num = persisted;
	/* Beside received_num, as delivered_num is: a peer holds none of them against another. */
	wh_sst_publish_advised(mc->config.sst, mc->config.pushes, mc->config.columns.persisted_num, persisted,
			       WH_PUSH_MAY_REORDER, to);
	wh_note_move(mc, 0);
	return 1;
}
