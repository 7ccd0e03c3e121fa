/* relay.c - members pass the large slots of a sender on to each other (docs/decisions/0074).
 *
 * The members of a subgroup are a ring, and the chain of a sender is that ring from the sender on. A sender pushes to all members the headers
 * of its slots, and the whole of those that are small; the payload of the others goes to the next in its chain alone, and from there on,
 * each time behind the guard, and with a word behind it that counts slots. So what a guard announces need not be here yet: a member
 * takes in those messages of which all slots are, and nothing else of the protocol knows of relays.
 *
 * A payload is read from the copy of its sender's row that this member has, now or later. It stays as it is until all have delivered it, the
 * next in the chain too; and that one takes it in only behind the word that follows this push.
 */
#include "predicates/multicast_int.h"

#include <stdlib.h>

static uint32_t place_of(const struct wh_multicast_config *c, uint32_t rank)
{
	uint32_t place = 0;

	while (c->members[place] != rank)
		place++;
	return place;
}

enum whorl_result wh_relays_create(struct wh_multicast *mc, struct wh_error *err)
{
	const struct wh_multicast_config *c = &mc->config;
	uint32_t me = place_of(c, c->sst->image->my_rank);

	if (c->relay_bytes == 0)
		return WHORL_OK;
	mc->relays = calloc(c->sender_count, sizeof(*mc->relays));
	if (mc->relays == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u senders", c->sender_count);
	for (uint32_t s = 0; s < c->sender_count; s++) {
		mc->relays[s].before = c->members[(me + c->member_count - 1) % c->member_count];
		mc->relays[s].next = c->members[(me + 1) % c->member_count];
		mc->relays[s].ends = mc->relays[s].next == c->senders[s];
	}
	return WHORL_OK;
}

void wh_relay_begin(struct wh_multicast *mc, uint32_t sender, uint64_t first)
{
	if (mc->relays != NULL)
		mc->relays[sender].here = mc->relays[sender].passed = first;
}

static struct wh_slot_header header_of(const struct wh_multicast *mc, const struct wh_sender *sender, uint64_t number)
{
	return wh_slot_read(&sender->slots, mc->config.sst->image->row[sender->rank],
			    (uint32_t)(number % mc->config.window));
}

/* The first slot that is announced and not here: what is whole lies before the message that it is a part of. */
static bool stop_before(struct wh_multicast *mc, struct wh_sender *sender, uint64_t missing, uint64_t *covered,
			uint64_t *announced)
{
	uint64_t round = header_of(mc, sender, missing).round, begin = missing;

	while (begin > sender->announced && header_of(mc, sender, begin - 1).round == round)
		begin--;
	if (round < sender->covered || round >= *covered ||
	    begin - sender->announced > (round - sender->covered) * mc->config.parts_most) {
		wh_multicast_break(mc, sender->rank, "a relayed slot has a round that cannot be");
		return false;
	}
	*covered = round;
	*announced = begin;
	return true;
}

bool wh_relay_limit(struct wh_multicast *mc, struct wh_sender *sender, uint64_t *covered, uint64_t *announced)
{
	uint32_t s = (uint32_t)(sender - mc->senders);
	struct wh_relay *relay = &mc->relays[s];
	/* Acquire, in observe: the payloads that the word counts. Partner: the push of the word in pass_on. */
	uint64_t held = wh_sst_observe_array(mc->config.sst, relay->before, mc->config.columns.relayed, s);

	if (held > sender->next + mc->config.window) {
		wh_multicast_break(mc, relay->before, "has relayed what cannot have been sent");
		return false;
	}
	while (relay->here < *announced &&
	       (relay->here < held || !wh_is_relayed(&mc->config, header_of(mc, sender, relay->here))))
		relay->here++;
	return relay->here == *announced || stop_before(mc, sender, relay->here, covered, announced);
}

/* One payload, and that it is there: the word leaves in a later push (T2). */
static void pass_on(struct wh_multicast *mc, uint32_t s, uint64_t number, uint32_t bytes)
{
	const struct wh_multicast_config *c = &mc->config;
	const struct wh_sender *sender = &mc->senders[s];
	const struct wh_to next = {&mc->relays[s].next, 1};
	uint64_t offset = wh_slot_payload(&sender->slots, (uint32_t)(number % c->window));

	if ((int)s == c->me)
		wh_push_bytes(c->pushes, offset, bytes, next.ranks, next.count);
	else
		wh_push_relayed(c->pushes, sender->rank, offset, bytes, next.ranks, next.count);
	wh_sst_publish_array(c->sst, c->pushes, c->columns.relayed, s, number + 1, next);
}

static size_t relay_sender(struct wh_multicast *mc, uint32_t s)
{
	struct wh_relay *relay = &mc->relays[s];
	uint64_t here = (int)s == mc->config.me ? mc->announced : relay->here, bytes = 0;
	size_t slots = 0;

	for (; relay->passed < here; relay->passed++) {
		struct wh_slot_header header = header_of(mc, &mc->senders[s], relay->passed);

		if (!wh_is_relayed(&mc->config, header))
			continue;
		pass_on(mc, s, relay->passed, header.bytes);
		bytes += header.bytes;
		slots++;
	}
	if (slots > 0)
		wh_count(&mc->config.stats->relayed_bytes, bytes);
	return slots;
}

size_t wh_relay_slots(struct wh_multicast *mc)
{
	size_t slots = 0;

	for (uint32_t s = 0; s < mc->config.sender_count; s++)
		if (!mc->relays[s].ends)
			slots += relay_sender(mc, s);
	if (slots == 0)
		return 0;
	wh_count(&mc->config.stats->relayed, slots);
	wh_event(mc->config.diag, "relay", mc->config.subgroup, slots, 0);
	wh_note_move(mc, 0);
	return slots;
}
