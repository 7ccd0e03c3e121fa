/* world_sim.c - the simulator, for the conformance cases. */
#include "tests/conformance/world.h"

#include <stdio.h>
#include <stdlib.h>

#include "transport/dice.h"
#include "transport/sim.h"

#define LATENCY_MAX_NS 20000
#define PASS_NS (100 * LATENCY_MAX_NS)

struct wh_world {
	uint32_t nodes;
	struct wh_sim *sim;
	struct wh_transport **endpoints;
};

static void free_world(struct wh_world *world)
{
	const char *verdict = world->sim != NULL ? wh_sim_verdict(world->sim) : NULL;

	if (verdict != NULL) { /* the case itself broke the contract, or the simulator did */
		fprintf(stderr, "%s\n", verdict);
		abort();
	}
	for (uint32_t id = 0; world->endpoints != NULL && id < world->nodes; id++)
		if (world->endpoints[id] != NULL)
			world->endpoints[id]->ops->destroy(world->endpoints[id], false);
	wh_sim_free(world->sim);
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

static struct wh_world *make(uint32_t nodes, uint64_t seed)
{
	struct wh_dice dice = wh_dice_split(seed, 1);
	struct wh_sim_options options = {
		.nodes = nodes,
		.seed = seed,
		.latency_min_ns = 100,
		.latency_max_ns = LATENCY_MAX_NS,
		.pieces = (uint32_t)wh_dice_between(&dice, 1, WH_SIM_PIECES_MAX),
		.log = log_line,
	};
	struct wh_world *world = calloc(1, sizeof(*world));
	struct wh_error err = {.text = "no memory"};

	if (world == NULL)
		return NULL;
	draw_costs(&dice, &options);
	world->nodes = nodes;
	world->endpoints = calloc(nodes, sizeof(*world->endpoints));
	if (world->endpoints == NULL || wh_sim_new(&world->sim, &options, &err) != WHORL_OK)
		goto out_free;
	for (uint32_t id = 0; id < nodes; id++) {
		const struct wh_transport_config config = {
			.env = wh_sim_env(world->sim, id), .group = "conformance", .node = id, .nodes = nodes};

		if (wh_sim_create(&config, world->sim, &world->endpoints[id], &err) != WHORL_OK)
			goto out_free;
	}
	return world;

out_free:
	fprintf(stderr, "%s\n", err.text);
	free_world(world);
	return NULL;
}

static struct wh_transport *endpoint(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id];
}

static void end(struct wh_world *world, uint32_t id, bool in_order)
{
	struct wh_transport *transport = world->endpoints[id];

	world->endpoints[id] = NULL;
	if (in_order)
		transport->ops->leave(transport);
	transport->ops->destroy(transport, false);
}

static void kill_endpoint(struct wh_world *world, uint32_t id)
{
	end(world, id, false);
}

static void close_endpoint(struct wh_world *world, uint32_t id)
{
	end(world, id, true);
}

static void pass(struct wh_world *world)
{
	uint64_t until = wh_sim_now(world->sim) + PASS_NS;

	while (wh_sim_step(world->sim, until))
		;
}

static bool wait_endpoint(struct wh_world *world, uint32_t id, uint64_t timeout_ns)
{
	uint64_t until = wh_sim_now(world->sim) + timeout_ns;
	struct wh_transport *transport = world->endpoints[id];

	transport->ops->wait(transport, timeout_ns);
	return wh_sim_now(world->sim) < until;
}

const struct wh_world_ops wh_world = {
	.name = "sim",
	.threads = false,
	.make = make,
	.free = free_world,
	.endpoint = endpoint,
	.kill = kill_endpoint,
	.close = close_endpoint,
	.pass = pass,
	.wait = wait_endpoint,
	.rings = NULL, /* what arrives wakes by itself */
};
