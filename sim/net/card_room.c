/* card_room.c - what there is only so much of around a network card in the simulator.
 *
 *     memory       What the card fetches before it sends, what it writes for others and what processors copy goes through the memory of
 *                  the host, one after the other. A link that is faster than that waits for it, on both sides.
 *     connections  The card knows those that it used last. What it needs to know of another it fetches first, to send and to take in.
 *     the switch   It keeps so many bytes for one receiver. When these are there a card that would send to it waits, with all that it has for
 *                  others: so a receiver to which many send at once slows down what goes elsewhere, as on a network that loses nothing.
 *     lines        Those that a card has written are in no processor's cache. They are counted here; what it costs to read them is
 *                  the machine's matter (sim/machine.c).
 */
#include "sim/net/sim_int.h"

#include <stdlib.h>

uint64_t wh_sim_memory_move(struct wh_sim *sim, uint32_t node, uint64_t bytes)
{
	uint64_t rate = sim->options.card.memory_bytes_per_s;
	struct sim_host *host = &sim->hosts[node];

	if (rate == 0)
		return sim->now_ns;
	host->memory_free_ns =
		wh_sim_later(host->memory_free_ns, sim->now_ns) + (bytes * WH_NS_PER_S + rate - 1) / rate;
	return host->memory_free_ns;
}

bool wh_sim_pairs_begin(struct sim_host *host)
{
	const struct wh_sim_options *options = &host->sim->options;

	if (options->card.queue_pairs == 0)
		return true;
	host->pair_used = calloc(options->nodes, sizeof(*host->pair_used));
	return host->pair_used != NULL;
}

/* Since it was used last, fewer others have been than the card has room for. */
static bool knows_pair(const struct sim_host *host, uint32_t peer)
{
	uint64_t since = 0;

	if (host->pair_used[peer] == 0)
		return false;
	for (uint32_t id = 0; id < host->sim->options.nodes; id++)
		since += host->pair_used[id] > host->pair_used[peer];
	return since < host->sim->options.card.queue_pairs;
}

uint64_t wh_sim_pair_ns(struct sim_host *host, uint32_t peer)
{
	bool known;

	if (host->pair_used == NULL)
		return 0;
	known = knows_pair(host, peer);
	host->pair_used[peer] = ++host->pair_uses;
	return known ? 0 : host->sim->options.card.queue_pair_ns;
}

uint64_t wh_sim_port_opens_ns(const struct sim_host *host)
{
	const struct wh_sim_card *card = &host->sim->options.card;
	uint64_t full_ns = card->port_bytes * WH_NS_PER_S / card->bytes_per_s;

	return card->port_bytes > 0 && host->port_free_ns > full_ns ? host->port_free_ns - full_ns : 0;
}

/* A line that is written again before it is read is one. Beyond SIM_LINES of a peer each write counts. */
void wh_sim_line_written(struct sim_link *link, const struct sim_flight *flight)
{
	struct sim_host *host = link->to->host;
	struct sim_lines *lines = &link->lines;
	uint64_t line = flight->key << 32 ^ flight->offset / 64;

	if (lines->looks != host->looks)
		*lines = (struct sim_lines){.looks = host->looks};
	for (uint32_t i = 0; i < lines->count; i++)
		if (lines->line[i] == line)
			return;
	if (lines->count < SIM_LINES)
		lines->line[lines->count++] = line;
	host->lines++;
}

uint64_t wh_sim_lines_read(struct wh_sim *sim, uint32_t node)
{
	struct sim_host *host = &sim->hosts[node];
	uint64_t lines = host->lines;

	host->lines = 0;
	host->looks++;
	return lines;
}
