/* world_verbs.c - the RDMA transport for the conformance cases: all endpoints in this process, on one device. It needs one:
 * tests/softroce/ runs it where there is none. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/conformance/real.h"
#include "transport/verbs/verbs.h"

#define ADDRESSES 16

struct addresses {
	char text[ADDRESSES][64];
	const char *list[ADDRESSES]; /* of them, as a configuration has them */
};

/* The addresses that tests/softroce/ gives the device. */
static bool find_addresses(struct wh_world *world)
{
	struct addresses *addresses = calloc(1, sizeof(*addresses));

	world->own = addresses;
	if (addresses == NULL || world->nodes > ADDRESSES) {
		fprintf(stderr, "no addresses for %u nodes\n", (unsigned)world->nodes);
		return false;
	}
	for (uint32_t id = 0; id < world->nodes; id++) {
		snprintf(addresses->text[id], sizeof(addresses->text[id]), "10.9.0.%u:%u", (unsigned)id + 1,
			 20000 + (unsigned)getpid() % 10000);
		addresses->list[id] = addresses->text[id];
	}
	return true;
}

static void free_addresses(struct wh_world *world)
{
	free(world->own);
}

static void configure(const struct wh_world *world, uint32_t id, struct wh_transport_config *config)
{
	const struct addresses *addresses = world->own;

	(void)id;
	config->addresses = addresses->list;
}

static enum whorl_result ask(const struct wh_world *world, uint32_t id, const void *question, size_t bytes,
			     uint64_t timeout_ns, void *answer, size_t *answer_bytes, struct wh_error *err)
{
	const struct addresses *addresses = world->own;

	return wh_verbs_query(addresses->text[id], question, bytes, timeout_ns, answer, answer_bytes, err);
}

const struct wh_real wh_real = {.prepare = find_addresses,
				.clear = free_addresses,
				.configure = configure,
				.create = wh_verbs_create,
				.kill = wh_verbs_abort,
				.end = wh_verbs_abort,
				.ask = ask};

/* No rings: a sleeper is interrupted by its own device: no other node pays for it. */
const struct wh_world_ops wh_world = {REAL_WORLD, .name = "verbs", .share = 20, .regions = true};
