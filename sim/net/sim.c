/* sim.c - the world of the simulator: events and time, hosts, the digest. See sim.h. */
#include "sim/net/sim_int.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FACTOR_MAX 64

/* ---- events ------------------------------------------------------------------------------------------------------- */

static bool is_earlier(const struct sim_event *a, const struct sim_event *b)
{
	return a->when_ns != b->when_ns ? a->when_ns < b->when_ns : a->number < b->number;
}

static bool grow_events(struct wh_sim *sim)
{
	size_t capacity = sim->event_capacity ? 2 * sim->event_capacity : 256;
	struct sim_event *events = realloc(sim->events, capacity * sizeof(*events));

	if (events == NULL)
		return false;
	sim->events = events;
	sim->event_capacity = capacity;
	return true;
}

void wh_sim_at(struct wh_sim *sim, uint64_t when_ns, wh_sim_fn *fn, void *ctx, uint64_t argument)
{
	struct sim_event event = {when_ns > sim->now_ns ? when_ns : sim->now_ns, sim->event_number++, fn, ctx,
				  argument};
	size_t at;

	if (sim->event_count == sim->event_capacity && !grow_events(sim)) {
		wh_sim_condemn(sim, 0, "no memory for an event");
		return;
	}
	for (at = sim->event_count++; at > 0; at = (at - 1) / 2) {
		if (!is_earlier(&event, &sim->events[(at - 1) / 2]))
			break;
		sim->events[at] = sim->events[(at - 1) / 2];
	}
	sim->events[at] = event;
}

static struct sim_event take_earliest(struct wh_sim *sim)
{
	struct sim_event *events = sim->events;
	struct sim_event first = events[0], last = events[--sim->event_count];
	size_t at = 0, below;

	while ((below = 2 * at + 1) < sim->event_count) {
		if (below + 1 < sim->event_count && is_earlier(&events[below + 1], &events[below]))
			below++;
		if (!is_earlier(&events[below], &last))
			break;
		events[at] = events[below];
		at = below;
	}
	events[at] = last;
	return first;
}

bool wh_sim_step(struct wh_sim *sim, uint64_t until_ns)
{
	struct sim_event event;
	struct sim_task *task;

	if (sim->event_count == 0 || sim->events[0].when_ns > until_ns) {
		if (until_ns > sim->now_ns)
			sim->now_ns = until_ns;
		return false;
	}
	event = take_earliest(sim);
	sim->now_ns = event.when_ns;
	wh_sim_note(sim, event.when_ns);
	wh_sim_note(sim, event.number);
	task = sim->task;
	sim->task = NULL; /* it may be one that steps the world itself */
	event.fn(event.ctx, event.argument);
	sim->task = task;
	return true;
}

uint64_t wh_sim_now(const struct wh_sim *sim)
{
	return sim->now_ns;
}

uint64_t wh_sim_under_way(const struct wh_sim *sim)
{
	return sim->under_way;
}

uint64_t wh_sim_delay(struct sim_link *link)
{
	return wh_dice_between(&link->sim->dice, link->path->cost.latency_min_ns, link->path->cost.latency_max_ns);
}

uint64_t wh_sim_late(const struct sim_link *link)
{
	const struct sim_flight *head = link->head;

	return head != NULL && head->due_ns < link->sim->now_ns ? link->sim->now_ns - head->due_ns : 0;
}

/* ---- the world -------------------------------------------------------------------------------------------------------- */

void wh_sim_note(struct wh_sim *sim, uint64_t value)
{
	sim->digest = wh_mix(sim->digest ^ value) + UINT64_C(0x9e3779b97f4a7c15);
}

uint64_t wh_sim_digest(const struct wh_sim *sim)
{
	return sim->digest;
}

void wh_sim_condemn(struct wh_sim *sim, uint32_t node, const char *format, ...)
{
	va_list arguments;
	int prefix;

	if (sim->verdict[0] != '\0')
		return;
	prefix = snprintf(sim->verdict, sizeof(sim->verdict), "node %u: ", node);
	va_start(arguments, format);
	vsnprintf(sim->verdict + prefix, sizeof(sim->verdict) - (size_t)prefix, format, arguments);
	va_end(arguments);
}

const char *wh_sim_verdict(const struct wh_sim *sim)
{
	return sim->verdict[0] != '\0' ? sim->verdict : NULL;
}

struct wh_sim_counts wh_sim_counts(const struct wh_sim *sim, uint32_t node)
{
	return sim->hosts[node].counts;
}

static bool is_between_the_living(const struct sim_link *link)
{
	return link->from == link->from->host->life && link->to == link->to->host->life;
}

struct wh_sim_traffic wh_sim_traffic(const struct wh_sim *sim, uint32_t from, uint32_t to)
{
	const struct sim_path *path = wh_sim_path(sim, from, to);
	struct wh_sim_traffic traffic = {.cut_off = path->cut_off, .late_ns = path->late_ns};

	for (const struct sim_link *link = path->links; link != NULL; link = link->older) {
		for (const struct sim_flight *flight = link->head; flight != NULL; flight = flight->next)
			traffic.pushes++;
		traffic.late_ns = wh_sim_later(traffic.late_ns, wh_sim_late(link));
		traffic.streams += wh_sim_streams_count(link);
		if (!is_between_the_living(link))
			continue;
		traffic.broken = link->broken;
		traffic.met = link->over || wh_sim_met(link->from, to) == link;
		traffic.gone = link->over;
	}
	traffic.messages = wh_sim_calls_messages(sim, from, to);
	return traffic;
}

/* ---- costs ------------------------------------------------------------------------------------------------------------- */

void wh_sim_link_set(struct wh_sim *sim, uint32_t from, uint32_t to, const struct wh_sim_link_cost *cost)
{
	struct sim_path *path = wh_sim_path(sim, from, to);

	path->cost = *cost;
	path->cost.latency_max_ns = wh_sim_later(cost->latency_min_ns, cost->latency_max_ns);
}

void wh_sim_node_set(struct wh_sim *sim, uint32_t node, const struct wh_sim_node_cost *cost)
{
	sim->hosts[node].cost = *cost;
}

uint64_t wh_sim_busy_until(const struct wh_sim *sim, uint32_t node)
{
	return sim->hosts[node].busy_until_ns;
}

/* Most pairs are even; one in four is slower, by any factor. */
static void init_path(struct sim_path *path, struct wh_sim *sim)
{
	const struct wh_sim_options *options = &sim->options;
	uint64_t factor = 1;

	if (options->uneven && wh_dice_one_in(&sim->dice, 4))
		factor = wh_dice_between(&sim->dice, 2, FACTOR_MAX);
	path->held.tail = &path->held.head;
	path->cost = (struct wh_sim_link_cost){factor * options->latency_min_ns, factor * options->latency_max_ns,
					       (options->bytes_per_s + factor - 1) / factor};
}

/* ---- the beginning and the end of a world ------------------------------------------------------------------------------ */

static void init_host(struct sim_host *host, struct wh_sim *sim, uint32_t id)
{
	host->sim = sim;
	host->id = id;
	host->dice = wh_dice_split(sim->options.seed, id + 1);
	host->clock_offset_ns = wh_dice_one_in(&host->dice, 4) ? 0 : wh_dice_below(&host->dice, UINT64_C(1) << 40);
	host->task_dice = wh_dice_split(sim->options.seed, (UINT64_C(1) << 32) + id);
	host->cost = sim->options.node_cost;
	host->turns_tail = &host->turns;
}

/* Hosts that are one machine have one disk. */
static enum whorl_result add_disk(struct sim_host *host, struct wh_error *err)
{
	struct wh_sim_options *options = &host->sim->options;
	struct wh_sim_disk_options own;

	if (!options->disks)
		return WHORL_OK;
	if (options->one_host && host->id > 0) {
		host->disk = host->sim->hosts[0].disk;
		return WHORL_OK;
	}
	own = options->disk;
	own.seed = wh_dice_roll(&host->task_dice);
	return wh_sim_disk_new(&host->disk, &own, err);
}

static enum whorl_result add_hosts(struct wh_sim *sim, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	for (uint32_t i = 0; i < sim->options.nodes; i++)
		init_host(&sim->hosts[i], sim, i);
	for (uint32_t i = 0; result == WHORL_OK && i < sim->options.nodes; i++) {
		result = add_disk(&sim->hosts[i], err);
		if (result == WHORL_OK && !wh_sim_pairs_begin(&sim->hosts[i]))
			result = wh_error_set(err, WHORL_MEMORY, "no memory for a simulated card");
		if (result == WHORL_OK && !wh_sim_process_begin(&sim->hosts[i]))
			result = wh_error_set(err, WHORL_MEMORY, "no memory for a simulated process");
	}
	return result;
}

enum whorl_result wh_sim_new(struct wh_sim **out, const struct wh_sim_options *options, struct wh_error *err)
{
	uint32_t nodes = options->nodes;
	enum whorl_result result;
	struct wh_sim *sim;

	*out = NULL;
	if (nodes < 1 || options->pieces < 1 || options->pieces > WH_SIM_PIECES_MAX ||
	    options->latency_min_ns > options->latency_max_ns ||
	    (options->card.bytes_per_s > 0 && (options->pieces != 1 || options->card.turn_bytes == 0)))
		return wh_error_set(err, WHORL_INVALID, "options of the simulator are out of their range");
	sim = calloc(1, sizeof(*sim));
	if (sim == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a simulated world");
	sim->options = *options;
	sim->pagemap = options->proofs ? open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC) : -1;
	sim->dice = wh_dice_split(options->seed, 0);
	sim->hosts = calloc(nodes, sizeof(*sim->hosts));
	sim->paths = calloc((size_t)nodes * nodes, sizeof(*sim->paths));
	if (sim->hosts == NULL || sim->paths == NULL) {
		wh_sim_free(sim);
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u simulated nodes", nodes);
	}
	result = add_hosts(sim, err);
	if (result != WHORL_OK) {
		wh_sim_free(sim);
		return result;
	}
	for (uint32_t i = 0; i < nodes * nodes; i++)
		init_path(&sim->paths[i], sim);
	*out = sim;
	return WHORL_OK;
}

static void free_links(struct sim_path *path)
{
	while (path->links != NULL) {
		struct sim_link *link = path->links;

		path->links = link->older;
		while (link->head != NULL)
			wh_sim_drop_flight(link);
		wh_sim_streams_free(link);
		free(link);
	}
}

static void free_host(struct sim_host *host)
{
	if (host->id == 0 || !host->sim->options.one_host)
		wh_sim_disk_free(host->disk);
	free(host->pair_used);
	while (host->life != NULL) {
		struct sim_node *node = host->life;

		host->life = node->former;
		wh_sim_free_node(node);
	}
}

/* What an event that never happens holds. */
static void drop_event(const struct sim_event *event)
{
	if (!wh_sim_drop_job(event))
		wh_sim_drop_arrival(event);
}

void wh_sim_free(struct wh_sim *sim)
{
	if (sim == NULL)
		return;
	for (uint32_t i = 0; sim->hosts != NULL && i < sim->options.nodes; i++)
		wh_sim_processes_free(&sim->hosts[i]);
	for (size_t i = 0; i < sim->event_count; i++)
		drop_event(&sim->events[i]);
	wh_sim_calls_free(sim);
	for (uint32_t i = 0; sim->paths != NULL && i < sim->options.nodes * sim->options.nodes; i++)
		free_links(&sim->paths[i]);
	for (uint32_t i = 0; sim->hosts != NULL && i < sim->options.nodes; i++)
		free_host(&sim->hosts[i]);
	free(sim->paths);
	free(sim->hosts);
	free(sim->events);
	if (sim->pagemap >= 0)
		close(sim->pagemap);
	free(sim);
}
