/* world_verbs.c - the RDMA transport for the conformance cases: all endpoints in this process, on one device. It needs one:
 * tests/softroce/ runs it where there is none. */
#include "tests/conformance/proofs.h"
#include "transport/tcp/tcp.h"
#include "transport/verbs/verbs.h"

#define ADDRESSES 16

struct own {
	char text[ADDRESSES][64];
	const char *list[ADDRESSES]; /* of them, as a configuration has them */
	struct proofs *proofs;
};

/* The addresses that tests/softroce/ gives the device. */
static bool find_addresses(struct wh_world *world)
{
	struct own *own = calloc(1, sizeof(*own));

	world->own = own;
	if (own == NULL || world->nodes > ADDRESSES) {
		fprintf(stderr, "no addresses for %u nodes\n", (unsigned)world->nodes);
		return false;
	}
	for (uint32_t id = 0; id < world->nodes; id++) {
		snprintf(own->text[id], sizeof(own->text[id]), "10.9.0.%u:%u", (unsigned)id + 1,
			 20000 + (unsigned)getpid() % 10000);
		own->list[id] = own->text[id];
	}
	own->proofs = proofs_make(world);
	return true;
}

static void clear(struct wh_world *world)
{
	struct own *own = world->own;

	if (own != NULL)
		proofs_free(own->proofs, world->nodes);
	free(own);
}

static void configure(const struct wh_world *world, uint32_t id, struct wh_transport_config *config)
{
	const struct own *own = world->own;

	config->addresses = own->list;
	config->key = own->proofs->key;
	config->tls = own->proofs->tls[id];
}

static enum whorl_result ask(const struct wh_world *world, uint32_t id, const void *question, size_t bytes,
			     uint64_t timeout_ns, void *answer, size_t *answer_bytes, struct wh_error *err)
{
	const struct own *own = world->own;
	const struct wh_tcp_target asked = {.address = own->text[id],
					    .group = world->group,
					    .node = id,
					    .key = own->proofs->key,
					    .tls = own->proofs->tls[id],
					    .version = WH_VERBS_VERSION};

	return wh_tcp_query(&asked, question, bytes, timeout_ns, answer, answer_bytes, err);
}

const struct wh_real wh_real = {.prepare = find_addresses,
				.clear = clear,
				.configure = configure,
				.create = wh_verbs_create,
				.kill = wh_verbs_abort,
				.end = wh_verbs_abort,
				.ask = ask};

/* No rings: a sleeper is interrupted by its own device: no other node pays for it. */
const struct wh_world_ops wh_world = {REAL_WORLD, .name = "verbs", .share = 20, .regions = true};
