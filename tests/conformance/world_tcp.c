/* world_tcp.c - the tcp transport for the conformance cases: all endpoints in this process, on the loopback interface. */
#include "tests/conformance/proofs.h"
#include "tests/sanitizer.h"
#include "transport/tcp/tcp.h"

/* What the nodes prove to each other: the program's variants. */
static bool arm_nodes(struct wh_world *world)
{
	world->own = proofs_make(world);
	return true;
}

static void disarm_nodes(struct wh_world *world)
{
	proofs_free(world->own, world->nodes);
}

static void configure(const struct wh_world *world, uint32_t id, struct wh_transport_config *config)
{
	const struct proofs *proofs = world->own;

	config->key = proofs->key;
	config->tls = proofs->tls[id];
}

static enum whorl_result ask(const struct wh_world *world, uint32_t id, const void *question, size_t bytes,
			     uint64_t timeout_ns, void *answer, size_t *answer_bytes, struct wh_error *err)
{
	const struct proofs *proofs = world->own;
	char address[WH_TCP_ADDRESS_BYTES];
	const struct wh_tcp_target asked = {
		.address = address, .group = world->group, .node = id, .key = proofs->key, .tls = proofs->tls[id]};

	wh_tcp_address_default(world->group, id, address);
	return wh_tcp_query(&asked, question, bytes, timeout_ns, answer, answer_bytes, err);
}

const struct wh_real wh_real = {.prepare = arm_nodes,
				.clear = disarm_nodes,
				.configure = configure,
				.create = wh_tcp_create,
				.kill = real_let_go,
				.end = real_destroy,
				.ask = ask};

const struct wh_world_ops wh_world = {REAL_WORLD, .name = "tcp",
				      .share = WITH_TLS || WITH_ALL || WITH_SANITIZER ? 20 : 8, .regions = true,
				      .relays = true};
