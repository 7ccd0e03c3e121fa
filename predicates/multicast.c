/* multicast.c - one subgroup's multicast: its state, and one pass over its predicates. See multicast.h. */
#include "predicates/multicast_int.h"

#include <stdlib.h>

#define HELD_MAX 8                           /* posts in which it is not said that something moved */
#define ROUNDS_EXHAUSTED (UINT64_C(1) << 47) /* a guard has 48 bits for them */

uint64_t wh_multicast_estimate(uint32_t member_count, uint32_t sender_count)
{
	return sizeof(struct wh_multicast) + (uint64_t)member_count * sizeof(uint32_t) +
	       (uint64_t)sender_count * (sizeof(struct wh_sender) + sizeof(struct wh_relay));
}

enum whorl_result wh_multicast_create(struct wh_multicast **out, const struct wh_multicast_config *config,
				      struct wh_error *err)
{
	uint32_t my_rank = config->sst->image->my_rank;
	struct wh_multicast *mc = calloc(1, sizeof(*mc));

	if (mc == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a subgroup");
	mc->config = *config;
	mc->peer_ranks = calloc(config->member_count, sizeof(*mc->peer_ranks));
	mc->senders = calloc(config->sender_count, sizeof(*mc->senders));
	if (mc->peer_ranks == NULL || mc->senders == NULL) {
		wh_multicast_free(mc);
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u members", config->member_count);
	}
	for (uint32_t i = 0; i < config->member_count; i++)
		if (config->members[i] != my_rank)
			mc->peer_ranks[mc->peers.count++] = config->members[i];
	mc->peers.ranks = mc->peer_ranks;
	mc->held_max = config->sst->image->ops->poll_costs_syscall ? 1 : HELD_MAX;
	for (uint32_t s = 0; s < config->sender_count; s++) {
		mc->senders[s].rank = config->senders[s];
		mc->senders[s].id = config->sender_ids[s];
		mc->senders[s].incarnation = config->incarnations[config->senders[s]];
		mc->senders[s].ahead.round = WH_NO_ROUND;
		mc->senders[s].slots = config->slots[s];
		mc->senders[s].first = WH_UNKNOWN;
	}
	if (wh_relays_create(mc, err) != WHORL_OK) {
		wh_multicast_free(mc);
		return WHORL_MEMORY;
	}
	*out = mc;
	return WHORL_OK;
}

void wh_multicast_begin(struct wh_multicast *mc, uint64_t first)
{
	int me = mc->config.me;

	for (uint32_t s = 0; s < mc->config.sender_count; s++)
		if (mc->config.had[mc->senders[s].id] != WH_UNKNOWN)
			mc->senders[s].have = mc->config.had[mc->senders[s].id];
	mc->runs = true;
	wh_store_relaxed(&mc->config.stats->received_num, 0);
	wh_store_relaxed(&mc->config.stats->delivered_num, 0);
	if (me < 0)
		return;
	mc->announced = first;
	mc->guard = wh_guard_make(0, first);
	mc->senders[me].first = mc->senders[me].announced = mc->senders[me].next = mc->senders[me].told = first;
	mc->senders[me].next_slot = (uint32_t)(first % mc->config.window);
	wh_relay_begin(mc, (uint32_t)me, first);
	mc->least_delivered = mc->config.mode == WH_MODE_ORDERED ? 0 : first;
	if (first == 0)
		return;
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.first, first, mc->peers);
}

void wh_multicast_wedge(struct wh_multicast *mc, struct wh_to everyone)
{
	mc->runs = false;
	if (mc->config.mode != WH_MODE_ORDERED)
		return;
	wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.received_num, mc->received_num, everyone);
	if (mc->config.persist == NULL)
		return;
	wh_persist_judge(mc);
	if (wh_persist_tell(mc, everyone) == 0) /* what comes to disk later does not count in this view (0058) */
		wh_sst_publish(mc->config.sst, mc->config.pushes, mc->config.columns.persisted_num, mc->persisted_num,
			       everyone);
}

/* Unordered: the least that a member which stays has delivered of mine. Its row says 0 before its first delivery in a view;
 * but what is free all have had. */
static uint64_t least_had(const struct wh_multicast *mc, const bool *leaves)
{
	const struct wh_multicast_config *c = &mc->config;
	uint64_t freed = c->ring->freed, least = mc->senders[c->me].next;

	for (uint32_t i = 0; i < mc->peers.count; i++) {
		uint64_t had =
			wh_sst_observe_array(c->sst, mc->peers.ranks[i], c->columns.delivered_of, (uint32_t)c->me);

		if (!leaves[mc->peers.ranks[i]] && had < least)
			least = had > freed ? had : freed;
	}
	return wh_whole_below(mc, least);
}

uint64_t wh_multicast_end(const struct wh_multicast *mc, const bool *leaves)
{
	const struct wh_multicast_config *c = &mc->config;

	for (uint32_t s = 0; s < c->sender_count; s++) {
		const struct wh_sender *sender = &mc->senders[s];
		uint64_t *had = &c->had[sender->id];

		if (sender->first != WH_UNKNOWN && (*had == WH_UNKNOWN || sender->next > *had))
			*had = sender->next;
	}
	if (c->me < 0)
		return 0;
	return c->mode == WH_MODE_ORDERED ? mc->senders[c->me].next : least_had(mc, leaves);
}

uint64_t wh_multicast_next(const struct wh_multicast *mc, uint32_t rank)
{
	const struct wh_sender *sender = &mc->senders[rank];
	uint64_t had = mc->config.had[sender->id];

	if (sender->first == WH_UNKNOWN)
		return had;
	return had != WH_UNKNOWN && had > sender->next ? had : sender->next;
}

uint64_t wh_multicast_sequence(const struct wh_multicast *mc)
{
	return mc->delivered_num;
}

void wh_multicast_free(struct wh_multicast *mc)
{
	if (mc == NULL)
		return;
	free(mc->peer_ranks);
	free(mc->senders);
	free(mc->relays);
	free(mc);
}

void wh_multicast_hold(struct wh_multicast *mc)
{
	mc->refused = true;
}

void wh_multicast_resume(struct wh_multicast *mc)
{
	mc->refused = false;
}

/* Behind the counters that were published: something moved here. */
static void say_moved(struct wh_multicast *mc)
{
	if (mc->moved && mc->config.moves != NULL && mc->peers.count > 0)
		wh_moves_say(mc->config.moves, mc->config.subgroup, !mc->hurries, mc->peers);
	mc->moved = mc->hurries = false;
}

/* That something moves is said at once where nothing did before, since others may not look here. While it goes on they do, and it is
 * said now and then; where a post is a system call, and a word more in it is next to nothing, in each: the one at the end is saved. */
void wh_multicast_post(struct wh_multicast *mc)
{
	if (mc->news && (mc->held == 0 || mc->held >= mc->held_max)) {
		say_moved(mc);
		mc->held = 1;
	} else if (mc->news) {
		mc->held++;
	}
	mc->news = false;
	wh_pushes_post(mc->config.pushes);
}

/* And when it ends: in the first step that finds nothing. There is one before the loop sleeps. */
static void end_moves(struct wh_multicast *mc)
{
	mc->held = 0;
	if (!mc->moved)
		return;
	say_moved(mc);
	wh_pushes_post(mc->config.pushes);
}

/* What send, null and receive have to say goes to the same peers, in this order, and nothing that takes long lies between:
 * slots, guard and acknowledgement are posted together. Delivery takes long; it comes after that. */
static size_t exchange(struct wh_multicast *mc)
{
	size_t work = wh_send(mc);
	size_t taken = wh_receive(mc);

	if (mc->config.switches.null_sends)
		work += wh_null(mc);
	wh_announce(mc);
	if (work + taken > 0)
		wh_acknowledge(mc, taken);
	if (mc->config.persist != NULL) {
		wh_persist_judge(mc);
		work += wh_persist_tell(mc, mc->peers);
	}
	if (mc->relays != NULL)
		work += wh_relay_slots(mc);
	return work + taken;
}

static size_t step_ordered(struct wh_multicast *mc)
{
	size_t work = exchange(mc);

	wh_multicast_post(mc);
	wh_persist_wake(mc);
	return work + wh_deliver(mc);
}

static size_t step_unordered(struct wh_multicast *mc)
{
	size_t work = wh_send(mc);

	wh_announce(mc);
	wh_multicast_post(mc);
	work += wh_receive(mc);
	return work + wh_deliver_unordered(mc);
}

size_t wh_multicast_step(void *ctx)
{
	struct wh_multicast *mc = ctx;
	size_t work;

	if (!mc->runs)
		return 0;
	if (wh_gather(mc))
		return 1; /* a step comes soon */
	work = mc->config.mode == WH_MODE_ORDERED ? step_ordered(mc) : step_unordered(mc);
	if (work == 0 && mc->held > 0)
		end_moves(mc);
	return work;
}

void wh_multicast_send(struct wh_multicast *mc)
{
	size_t work;

	if (!mc->runs)
		return;
	mc->gathered = 0;
	work = wh_send(mc);
	if (work > 0) {
		wh_announce(mc);
		if (mc->config.mode == WH_MODE_ORDERED)
			wh_acknowledge(mc, 0); /* the others wait for what I have received, and be it my own */
	}
	if (mc->config.persist != NULL)
		work += wh_persist_tell(mc, mc->peers);
	if (mc->relays != NULL)
		work += wh_relay_slots(mc);
	if (work == 0)
		return;
	mc->held = 0; /* no step follows here */
	wh_multicast_post(mc);
	wh_persist_wake(mc);
}

void wh_multicast_exchange(struct wh_multicast *mc)
{
	if (mc->config.mode != WH_MODE_ORDERED) {
		wh_multicast_send(mc);
		return;
	}
	if (!mc->runs || exchange(mc) == 0)
		return;
	mc->held = 0; /* as in wh_multicast_send */
	wh_multicast_post(mc);
	wh_persist_wake(mc);
}

bool wh_multicast_has_sent_all(struct wh_multicast *mc)
{
	const struct wh_ring *ring = mc->config.ring;

	if (ring == NULL)
		return true;
	/* Wedged: what others have said before may not have been seen. Before the view begins there is nothing to see. */
	if (!mc->runs && mc->senders[mc->config.me].first != WH_UNKNOWN)
		wh_free_slots(mc);
	return ring->freed == ring->sent && wh_ring_claimed(ring) == ring->sent;
}

bool wh_multicast_drained(struct wh_multicast *mc)
{
	return wh_multicast_has_sent_all(mc) && mc->delivered_num == mc->received_num && !mc->refused;
}

uint64_t wh_multicast_undelivered(const struct wh_multicast *mc)
{
	/* Unordered: that I have delivered my own says nothing of the others. */
	return mc->announced -
	       (mc->config.mode == WH_MODE_ORDERED ? mc->senders[mc->config.me].next : mc->config.ring->freed);
}

/* What a member has delivered: of everything, or in unordered mode of my own messages. */
static uint64_t delivered_by(const struct wh_multicast *mc, uint32_t rank)
{
	const struct wh_multicast_config *c = &mc->config;

	if (c->mode == WH_MODE_ORDERED)
		return wh_sst_observe(c->sst, rank, c->columns.delivered_num);
	return c->me >= 0 ? wh_sst_observe_array(c->sst, rank, c->columns.delivered_of, (uint32_t)c->me) : 0;
}

static void find_slowest(struct wh_multicast *mc)
{
	bool ordered = mc->config.mode == WH_MODE_ORDERED;
	uint64_t mine = ordered ? mc->received_num : mc->announced;
	uint64_t least = ordered ? mc->delivered_num : mc->announced;
	uint32_t slowest = mc->config.sst->image->my_rank;

	for (uint32_t i = 0; i < mc->peers.count; i++) {
		uint64_t delivered = delivered_by(mc, mc->peers.ranks[i]);

		if (delivered < least) {
			least = delivered;
			slowest = mc->peers.ranks[i];
		}
	}
	wh_store_relaxed(&mc->config.stats->slowest_id, mc->config.ids[slowest]);
	wh_store_relaxed(&mc->config.stats->slowest_behind, mine - least);
}

void wh_multicast_survey(struct wh_multicast *mc)
{
	const struct wh_ring *ring = mc->config.ring;
	uint64_t open_claim = 0;
	uint32_t bytes;
	bool aborted;

	find_slowest(mc);
	if (ring != NULL && wh_ring_claimed(ring) > ring->sent &&
	    !wh_ring_ready(ring, ring->sent, ring->sent_slot, &bytes, &aborted))
		open_claim = ring->sent + 1;
	wh_store_relaxed(&mc->config.stats->open_claim, open_claim);
}

bool wh_multicast_ids_exhausted(const struct wh_multicast *mc)
{
	for (uint32_t s = 0; s < mc->config.sender_count; s++)
		if (mc->senders[s].covered >= ROUNDS_EXHAUSTED)
			return true;
	return mc->config.moves != NULL && wh_moves_exhausted(mc->config.moves, mc->config.subgroup);
}

uint64_t wh_multicast_received(const struct wh_multicast *mc)
{
	return mc->received_num;
}
