/* world_shm.c - the shared memory transport for the conformance cases: all endpoints in this process. What takes several
 * processes is in shm_processes.c. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/env.h"
#include "tests/conformance/world.h"
#include "transport/shm.h"

struct wh_world {
	uint32_t nodes;
	struct wh_transport *endpoints[];
};

static void free_world(struct wh_world *world)
{
	for (uint32_t id = 0; id < world->nodes; id++)
		if (world->endpoints[id] != NULL)
			world->endpoints[id]->ops->destroy(world->endpoints[id], false);
	free(world);
}

static struct wh_world *make(uint32_t nodes, uint64_t seed)
{
	const struct wh_env *env = wh_env_system();
	struct wh_world *world = calloc(1, sizeof(*world) + nodes * sizeof(world->endpoints[0]));
	char group[40];

	if (world == NULL)
		return NULL;
	world->nodes = nodes;
	snprintf(group, sizeof(group), "conformance-%016llx", (unsigned long long)(env->random_u64(env->ctx) ^ seed));
	for (uint32_t id = 0; id < nodes; id++) {
		const struct wh_transport_config config = {.env = env, .group = group, .node = id, .nodes = nodes};
		struct wh_error err;

		if (wh_shm_create(&config, NULL, &world->endpoints[id], &err) == WHORL_OK)
			continue;
		fprintf(stderr, "%s\n", err.text);
		free_world(world);
		return NULL;
	}
	return world;
}

static struct wh_transport *endpoint(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id];
}

/* What a forked child does when it lets go is what the kernel does with a killed process: descriptors are closed and
 * maps go, nothing is said. */
static void kill_endpoint(struct wh_world *world, uint32_t id)
{
	world->endpoints[id]->ops->destroy(world->endpoints[id], true);
	world->endpoints[id] = NULL;
}

static void close_endpoint(struct wh_world *world, uint32_t id)
{
	world->endpoints[id]->ops->leave(world->endpoints[id]);
	world->endpoints[id]->ops->destroy(world->endpoints[id], false);
	world->endpoints[id] = NULL;
}

static void pass(struct wh_world *world)
{
	(void)world;
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

static bool wait_for(struct wh_world *world, uint32_t id, uint64_t timeout_ns)
{
	const struct wh_env *env = wh_env_system();
	uint64_t deadline = wh_env_now(env) + timeout_ns;

	world->endpoints[id]->ops->wait(world->endpoints[id], timeout_ns);
	return wh_env_now(env) < deadline;
}

static uint64_t rings(struct wh_world *world, uint32_t id)
{
	return wh_shm_rings(world->endpoints[id]);
}

const struct wh_world_ops wh_world = {
	.name = "shm",
	.threads = true,
	.whole_rows = WH_TSAN,
	.make = make,
	.free = free_world,
	.endpoint = endpoint,
	.kill = kill_endpoint,
	.close = close_endpoint,
	.pass = pass,
	.wait = wait_for,
	.rings = rings,
};
