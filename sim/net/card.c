/* card.c - a network card and its link in the simulator.
 *
 * The card of a sender has a queue for each peer (a queue pair) and goes round those that have something: so many bytes of one, then
 * the next. While it sends, its link is taken. The bytes pass the switch without waiting and take the link of the receiver, which all
 * senders share, in the order in which they come; a write is there when its last byte has come through that. So a link carries
 * bytes_per_s each way and no more, and no sender's small writes wait behind all of another's large ones.
 *
 * What is left of the latency of a lone write is the same for all, and does not take the link: a constant part, and a part that
 * grows up to 4096 bytes for what the card fetches from memory before it sends. What is beyond that is fetched while it sends.
 *
 * What memory, a cache of connections and a switch that is full cost beside that is in card_room.c; nothing, unless it is asked for.
 *
 * Not in it: headers of packets, lost packets, completions.
 */
#include "sim/net/sim_int.h"

#define FETCH_BYTES 4096 /* of latency_4k_ns */

static uint64_t wire_ns(const struct wh_sim_card *card, uint64_t bytes)
{
	return (bytes * WH_NS_PER_S + card->bytes_per_s - 1) / card->bytes_per_s;
}

/* How long the card works on a write, or on its first turn. */
static uint64_t card_ns(const struct wh_sim_card *card, uint64_t bytes)
{
	return wh_sim_later(wire_ns(card, bytes), card->write_ns);
}

static uint64_t more_than(uint64_t a, uint64_t b)
{
	return a > b ? a - b : 0;
}

/* The part of the latency in which the link is free for others. */
static uint64_t free_latency_ns(const struct wh_sim_card *card, uint64_t bytes)
{
	uint64_t least = more_than(card->latency_ns, card_ns(card, 1));
	uint64_t most = more_than(card->latency_4k_ns, card_ns(card, FETCH_BYTES));
	uint64_t fetched = bytes < FETCH_BYTES ? bytes : FETCH_BYTES;

	return bytes <= card->inline_bytes ? least : least + more_than(most, least) * fetched / FETCH_BYTES;
}

uint64_t wh_sim_card_latency_ns(const struct wh_sim_card *card, uint64_t bytes)
{
	return card_ns(card, bytes) + free_latency_ns(card, bytes);
}

static void give_turn(struct sim_link *link)
{
	struct sim_host *host = link->from->host;

	link->has_turn = true;
	link->next_turn = NULL;
	*host->turns_tail = link;
	host->turns_tail = &link->next_turn;
}

/* NULL: nothing is to be sent. */
static struct sim_link *take_turn(struct sim_host *host)
{
	struct sim_link *link;

	while ((link = host->turns) != NULL) {
		host->turns = link->next_turn;
		if (host->turns == NULL)
			host->turns_tail = &host->turns;
		if (link->unsent != NULL)
			return link;
		link->has_turn = false; /* it has ended meanwhile */
	}
	return NULL;
}

/* The last byte of the first unsent push has left, and comes through the receiver's link at `end_ns`. */
static void finish_sending(struct sim_link *link, uint64_t end_ns)
{
	struct sim_flight *flight = link->unsent;

	flight->due_ns = end_ns + free_latency_ns(&link->sim->options.card, flight->bytes);
	link->unsent = flight->next;
	link->sent_bytes = 0;
	link->handed--;
	wh_sim_resume(link);
}

/* The receiver's link, card and memory take so many bytes that begin to come at `start_ns`. */
static void come_in(struct sim_link *link, uint64_t start_ns, uint64_t bytes)
{
	struct sim_host *receiver = link->to->host;
	uint64_t takes_ns = wire_ns(&link->sim->options.card, bytes) + wh_sim_pair_ns(receiver, link->from->id);

	receiver->port_free_ns = wh_sim_later(wh_sim_later(receiver->port_free_ns, start_ns) + takes_ns,
					      wh_sim_memory_move(link->sim, receiver->id, bytes));
}

/* When these bytes of the sender's, which go from `start_ns` on, have left its card. What a write takes along is not fetched. */
static uint64_t leave_ns(struct sim_link *link, uint64_t start_ns, uint64_t bytes)
{
	const struct wh_sim_card *card = &link->sim->options.card;
	uint64_t left_ns = start_ns + (link->sent_bytes == 0 ? card_ns(card, bytes) : wire_ns(card, bytes));

	if (link->unsent->bytes <= card->inline_bytes)
		return left_ns;
	return wh_sim_later(left_ns, wh_sim_memory_move(link->sim, link->from->id, bytes));
}

/* Sends as much as one turn allows, when the switch has room for it. Returns when the card is free again: until then all waits that it has for
 * others. */
static uint64_t send_some(struct sim_link *link)
{
	struct wh_sim *sim = link->sim;
	uint64_t left = link->unsent->bytes - link->sent_bytes, turn = sim->options.card.turn_bytes;
	uint64_t bytes = left < turn ? left : turn;
	uint64_t start_ns = wh_sim_later(sim->now_ns, wh_sim_port_opens_ns(link->to->host)), left_ns;

	start_ns += wh_sim_pair_ns(link->from->host, link->to->id);
	come_in(link, start_ns, bytes);
	left_ns = leave_ns(link, start_ns, bytes);
	link->sent_bytes += bytes;
	if (bytes == left)
		finish_sending(link, wh_sim_later(link->to->host->port_free_ns, left_ns));
	return left_ns;
}

static void send_in_turn(void *ctx, uint64_t argument)
{
	struct sim_host *host = ctx;
	struct sim_link *last = host->sending;

	(void)argument;
	if (last != NULL) {
		last->has_turn = false;
		if (last->handed > 0)
			give_turn(last);
	}
	host->sending = take_turn(host);
	if (host->sending != NULL)
		wh_sim_at(host->sim, send_some(host->sending), send_in_turn, host, 0);
}

static void hand_over(void *ctx, uint64_t argument)
{
	struct sim_link *link = ctx;
	struct sim_host *host = link->from->host;

	(void)argument;
	if (link->unsent == NULL)
		return;
	link->handed++;
	if (!link->has_turn)
		give_turn(link);
	if (host->sending == NULL)
		send_in_turn(host, 0);
}

void wh_sim_card_take(struct sim_link *link, struct sim_flight *flight, uint64_t when_ns)
{
	if (link->unsent == NULL)
		link->unsent = flight;
	wh_sim_at(link->sim, when_ns, hand_over, link, 0);
}

void wh_sim_card_drop(struct sim_link *link)
{
	link->unsent = NULL;
	link->handed = 0;
	for (struct sim_flight *flight = link->head; flight != NULL; flight = flight->next)
		if (flight->due_ns == SIM_NOT_SENT)
			flight->due_ns = link->sim->now_ns;
	if (wh_sim_has_card(link))
		wh_sim_resume(link);
}
