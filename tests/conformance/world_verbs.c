/* world_verbs.c - the RDMA transport for the conformance cases: all endpoints in this process, on one device. It needs one:
 * tests/softroce/ runs it where there is none. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/env.h"
#include "tests/conformance/world.h"
#include "transport/verbs.h"

#define VISITS_MAX 64
#define ADDRESSES 16

struct visit { /* a thread that asks */
	pthread_t thread;
	char address[64];
	unsigned char question[WH_CONTROL_MAX], answer[WH_ANSWER_MAX];
	size_t question_bytes, answer_bytes;
	enum whorl_result result;
	wh_word ended;
};

struct wh_world {
	char group[40];
	char text[ADDRESSES][64];
	const char *addresses[ADDRESSES];
	uint32_t nodes, visit_count;
	struct visit *visits[VISITS_MAX];
	struct node {
		struct wh_transport *transport;
		uint64_t incarnation;
	} endpoints[];
};

static void free_world(struct wh_world *world)
{
	for (uint32_t id = 0; id < world->nodes; id++)
		if (world->endpoints[id].transport != NULL)
			wh_verbs_abort(world->endpoints[id].transport);
	for (uint32_t i = 0; i < world->visit_count; i++)
		if (world->visits[i] != NULL) {
			pthread_join(world->visits[i]->thread, NULL);
			free(world->visits[i]);
		}
	free(world);
}

static bool start(struct wh_world *world, uint32_t id)
{
	struct node *node = &world->endpoints[id];
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = world->group,
						   .node = id,
						   .nodes = world->nodes,
						   .addresses = world->addresses,
						   .incarnation = node->incarnation + 1000 + id,
						   .patience_ns = WH_NS_PER_S};
	struct wh_error err;

	if (wh_verbs_create(&config, NULL, &node->transport, &err) != WHORL_OK) {
		fprintf(stderr, "%s\n", err.text);
		return false;
	}
	node->incarnation = config.incarnation;
	return true;
}

static struct wh_world *make(uint32_t nodes, uint64_t seed)
{
	const struct wh_env *env = wh_env_system();
	struct wh_world *world = calloc(1, sizeof(*world) + nodes * sizeof(world->endpoints[0]));

	if (world == NULL || nodes > ADDRESSES)
		return NULL;
	world->nodes = nodes;
	snprintf(world->group, sizeof(world->group), "conformance-%016llx",
		 (unsigned long long)(env->random_u64(env->ctx) ^ seed));
	for (uint32_t id = 0; id < nodes; id++) { /* the addresses that tests/softroce/ gives the device */
		snprintf(world->text[id], sizeof(world->text[id]), "10.9.0.%u:%u", (unsigned)id + 1,
			 20000 + (unsigned)getpid() % 10000);
		world->addresses[id] = world->text[id];
	}
	for (uint32_t id = 0; id < nodes; id++)
		if (!start(world, id)) {
			free_world(world);
			return NULL;
		}
	return world;
}

static struct wh_transport *endpoint(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id].transport;
}

static uint64_t incarnation(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id].incarnation;
}

static void kill_endpoint(struct wh_world *world, uint32_t id)
{
	wh_verbs_abort(world->endpoints[id].transport);
	world->endpoints[id].transport = NULL;
}

static void close_endpoint(struct wh_world *world, uint32_t id)
{
	struct wh_transport *transport = world->endpoints[id].transport;

	transport->ops->leave(transport);
	transport->ops->destroy(transport, false);
	world->endpoints[id].transport = NULL;
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

	world->endpoints[id].transport->ops->wait(world->endpoints[id].transport, timeout_ns);
	return wh_env_now(env) < deadline;
}

static void *visit_thread(void *ctx)
{
	struct visit *visit = ctx;
	struct wh_error err;

	visit->result = wh_verbs_ask(visit->address, visit->question, visit->question_bytes, 5 * WH_NS_PER_S,
				     visit->answer, &visit->answer_bytes, &err);
	wh_store_release(&visit->ended, 1); /* what it has found, then that it has. Partner: answered() */
	return NULL;
}

static uint32_t ask(struct wh_world *world, uint32_t id, const void *question, size_t bytes)
{
	struct visit *visit = calloc(1, sizeof(*visit));

	if (visit == NULL || world->visit_count == VISITS_MAX || bytes > sizeof(visit->question))
		abort();
	memcpy(visit->address, world->text[id], sizeof(visit->address));
	memcpy(visit->question, question, bytes);
	visit->question_bytes = bytes;
	if (pthread_create(&visit->thread, NULL, visit_thread, visit) != 0)
		abort();
	world->visits[world->visit_count] = visit;
	return world->visit_count++;
}

static enum whorl_result answered(struct wh_world *world, uint32_t number, void *answer, size_t *bytes)
{
	struct visit *visit = world->visits[number];
	enum whorl_result result;

	if (wh_load_acquire(&visit->ended) == 0)
		return WHORL_AGAIN;
	pthread_join(visit->thread, NULL);
	result = visit->result;
	if (result == WHORL_OK) {
		memcpy(answer, visit->answer, visit->answer_bytes);
		*bytes = visit->answer_bytes;
	}
	free(visit);
	world->visits[number] = NULL;
	return result;
}

const struct wh_world_ops wh_world = {
	.name = "verbs",
	.threads = true,
	.share = 20,
	.regions = true,
	.make = make,
	.free = free_world,
	.endpoint = endpoint,
	.incarnation = incarnation,
	.kill = kill_endpoint,
	.close = close_endpoint,
	.restart = start,
	.pass = pass,
	.wait = wait_for,
	.ask = ask,
	.answered = answered,
	.rings = NULL, /* the device of who sleeps interrupts him: nobody else pays for it */
};
