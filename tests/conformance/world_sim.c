/* world_sim.c - the simulator, for the conformance cases: a network, or (WITH_PROOFS) processes of one host; nodes, or (ON_LANE) lanes of
 * that number. */
#include "tests/conformance/world.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/net/sim.h"
#include "transport/dice.h"

#define LATENCY_MAX_NS 20000
#define PASS_NS (100 * LATENCY_MAX_NS)
#define QUERIES_MAX 64

#ifndef ON_LANE
#define ON_LANE 0
#endif

struct query {
	uint32_t id;
	enum whorl_result result;
	size_t bytes;
	unsigned char answer[WH_ANSWER_MAX];
};

struct wh_world {
	uint32_t nodes;
	struct wh_sim *sim;
	struct wh_dice dice;
	struct {
		struct wh_transport *node; /* NULL, or `transport` is a lane of it */
		struct wh_transport *transport;
		uint64_t incarnation;
	} * endpoints;
	struct query *queries[QUERIES_MAX];
	uint32_t query_count;
};

static void free_world(struct wh_world *world)
{
	const char *verdict = world->sim != NULL ? wh_sim_verdict(world->sim) : NULL;

	if (verdict != NULL) { /* the case itself broke the contract, or the simulator did */
		fprintf(stderr, "%s\n", verdict);
		abort();
	}
	for (uint32_t id = 0; world->endpoints != NULL && id < world->nodes; id++) {
		if (world->endpoints[id].transport != NULL)
			world->endpoints[id].transport->ops->destroy(world->endpoints[id].transport, false);
		if (world->endpoints[id].node != NULL)
			world->endpoints[id].node->ops->destroy(world->endpoints[id].node, false);
	}
	wh_sim_free(world->sim);
	for (uint32_t i = 0; i < world->query_count; i++)
		free(world->queries[i]);
	free(world->endpoints);
	free(world);
}

static void log_line(void *ctx, uint32_t node, enum wh_log_level level, const char *line)
{
	(void)ctx;
	if (level == WH_LOG_ERROR)
		fprintf(stderr, "endpoint %u: %s\n", node, line);
}

/* Each of them half of the time. */
static void draw_costs(struct wh_dice *dice, struct wh_sim_options *options)
{
	if (wh_dice_one_in(dice, 2))
		options->ring_max_ns = LATENCY_MAX_NS;
	if (wh_dice_one_in(dice, 2))
		options->notice_max_ns = LATENCY_MAX_NS;
	if (wh_dice_one_in(dice, 2))
		options->bytes_per_s = WH_NS_PER_S; /* a byte in a nanosecond */
	if (wh_dice_one_in(dice, 2))
		options->node_cost = (struct wh_sim_node_cost){50, 100, 2 * WH_NS_PER_S};
}

static bool start(struct wh_world *world, uint32_t id)
{
	const struct wh_transport_config config = {.env = wh_sim_env(world->sim, id),
						   .group = "conformance",
						   .node = id,
						   .nodes = world->nodes,
						   .incarnation = wh_dice_roll(&world->dice) | 1,
						   .patience_ns = WH_NS_PER_S};
	struct wh_transport **node = ON_LANE > 0 ? &world->endpoints[id].node : &world->endpoints[id].transport;
	struct wh_error err;

	world->endpoints[id].incarnation = config.incarnation;
	if (wh_sim_create(&config, world->sim, node, &err) == WHORL_OK &&
	    (ON_LANE == 0 || (*node)->ops->lane_open(*node, ON_LANE, &world->endpoints[id].transport, &err) == WHORL_OK))
		return true;
	fprintf(stderr, "%s\n", err.text);
	return false;
}

static struct wh_world *make(uint32_t nodes, uint64_t seed)
{
	struct wh_dice dice = wh_dice_split(seed, 1);
	struct wh_sim_options options = {
		.nodes = nodes,
		.seed = seed,
		.latency_min_ns = 100,
		.latency_max_ns = LATENCY_MAX_NS,
		.pieces = (uint32_t)wh_dice_between(&dice, 1, WH_SIM_PIECES_MAX),
		.one_host = WITH_PROOFS,
		.proofs = WITH_PROOFS,
		.log = log_line,
	};
	struct wh_world *world = calloc(1, sizeof(*world));
	struct wh_error err = {.text = "no memory"};

	if (world == NULL)
		return NULL;
	draw_costs(&dice, &options);
	world->nodes = nodes;
	world->endpoints = calloc(nodes, sizeof(*world->endpoints));
	if (world->endpoints == NULL || wh_sim_new(&world->sim, &options, &err) != WHORL_OK) {
		fprintf(stderr, "%s\n", err.text);
		goto out_free;
	}
	world->dice = wh_dice_split(seed, 2);
	for (uint32_t id = 0; id < nodes; id++)
		if (!start(world, id))
			goto out_free;
	return world;

out_free:
	free_world(world);
	return NULL;
}

static struct wh_transport *node_of(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id].node;
}

static struct wh_transport *endpoint(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id].transport;
}

static uint64_t incarnation(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id].incarnation;
}

static void end(struct wh_world *world, uint32_t id, bool in_order)
{
	struct wh_transport *all[] = {world->endpoints[id].transport, world->endpoints[id].node};

	world->endpoints[id].transport = world->endpoints[id].node = NULL;
	for (size_t i = 0; i < 2 && all[i] != NULL; i++) {
		if (in_order)
			all[i]->ops->leave(all[i]);
		all[i]->ops->destroy(all[i], false);
	}
	for (uint32_t i = 0; i < world->query_count; i++)
		if (world->queries[i]->id == id && world->queries[i]->result == WHORL_AGAIN)
			world->queries[i]->result = WHORL_NOT_FOUND;
}

static void kill_endpoint(struct wh_world *world, uint32_t id)
{
	if (WITH_PROOFS) /* it is a process that ends */
		wh_sim_crash(world->sim, id);
	end(world, id, false);
}

static void close_endpoint(struct wh_world *world, uint32_t id)
{
	end(world, id, true);
}

/* As the loop of the node of a lane. */
static void drive(struct wh_transport *transport)
{
	struct wh_transport_event event;

	(void)transport->ops->service(transport);
	while (transport->ops->next_event(transport, &event))
		;
}

static void pass(struct wh_world *world)
{
	uint64_t until = wh_sim_now(world->sim) + PASS_NS;

	for (uint32_t id = 0; id < world->nodes; id++)
		if (world->endpoints[id].node != NULL)
			drive(world->endpoints[id].node);
	while (wh_sim_step(world->sim, until))
		;
}

static bool wait_endpoint(struct wh_world *world, uint32_t id, uint64_t timeout_ns)
{
	uint64_t until = wh_sim_now(world->sim) + timeout_ns;
	struct wh_transport *transport = world->endpoints[id].transport;

	transport->ops->wait(transport, timeout_ns);
	return wh_sim_now(world->sim) < until;
}

static void hear(void *ctx, const void *bytes, size_t count)
{
	struct query *query = ctx;

	memcpy(query->answer, bytes, count);
	query->bytes = count;
	query->result = WHORL_OK;
}

static uint32_t ask(struct wh_world *world, uint32_t id, const void *question, size_t bytes)
{
	struct query *query = calloc(1, sizeof(*query));

	if (query == NULL || world->query_count == QUERIES_MAX)
		abort();
	query->id = id;
	query->result = WHORL_AGAIN;
	if (!wh_sim_query(world->sim, id, question, bytes, hear, query))
		query->result = WHORL_NOT_FOUND;
	world->queries[world->query_count] = query;
	return world->query_count++;
}

static enum whorl_result answered(struct wh_world *world, uint32_t number, void *answer, size_t *bytes)
{
	const struct query *query = world->queries[number];

	if (query->result == WHORL_OK) {
		memcpy(answer, query->answer, query->bytes);
		*bytes = query->bytes;
	}
	return query->result;
}

const struct wh_world_ops wh_world = {
	.name = "sim",
	.threads = false,
	.regions = true,
	.relays = !WITH_PROOFS,
	.proofs = WITH_PROOFS,
	.apart = WITH_PROOFS,
	.node = ON_LANE > 0 ? node_of : NULL,
	.make = make,
	.free = free_world,
	.endpoint = endpoint,
	.incarnation = incarnation,
	.kill = kill_endpoint,
	.close = close_endpoint,
	.restart = start,
	.pass = pass,
	.wait = wait_endpoint,
	.ask = ask,
	.answered = answered,
	.rings = NULL, /* what arrives wakes by itself */
};
