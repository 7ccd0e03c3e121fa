/* real.c - see real.h. */
#include "tests/conformance/real.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/atomics.h"
#include "base/env.h"

struct real_query { /* a thread that asks */
	pthread_t thread;
	const struct wh_world *world;
	uint32_t node;
	unsigned char question[WH_CONTROL_MAX], answer[WH_ANSWER_MAX];
	size_t question_bytes, answer_bytes;
	enum whorl_result result;
	wh_word ended;
};

/* ---- endpoints ---------------------------------------------------------------------------------------------------- */

void real_let_go(struct wh_transport *transport)
{
	transport->ops->destroy(transport, true);
}

void real_destroy(struct wh_transport *transport)
{
	transport->ops->destroy(transport, false);
}

void real_free(struct wh_world *world)
{
	for (uint32_t id = 0; id < world->nodes; id++) {
		if (world->endpoints[id].transport != NULL)
			wh_real.end(world->endpoints[id].transport);
		if (world->endpoints[id].node != NULL)
			wh_real.end(world->endpoints[id].node);
	}
	for (uint32_t i = 0; i < world->query_count; i++)
		if (world->queries[i] != NULL) {
			pthread_join(world->queries[i]->thread, NULL);
			free(world->queries[i]);
		}
	if (wh_real.clear != NULL)
		wh_real.clear(world);
	free(world);
}

static bool open_lane(struct real_node *node)
{
	struct wh_error err;

	node->node = node->transport;
	if (node->node->ops->lane_open(node->node, ON_LANE, &node->transport, &err) == WHORL_OK)
		return true;
	fprintf(stderr, "%s\n", err.text);
	return false;
}

bool real_start(struct wh_world *world, uint32_t id)
{
	struct real_node *node = &world->endpoints[id];
	struct wh_transport_config config = {.env = wh_env_system(),
					     .group = world->group,
					     .node = id,
					     .nodes = world->nodes,
					     .incarnation = node->incarnation + 1000 + id,
					     .patience_ns = WH_NS_PER_S};
	struct wh_error err;

	if (wh_real.configure != NULL)
		wh_real.configure(world, id, &config);
	if (wh_real.create(&config, NULL, &node->transport, &err) != WHORL_OK) {
		fprintf(stderr, "%s\n", err.text);
		return false;
	}
	node->incarnation = config.incarnation;
	return ON_LANE == 0 || open_lane(node);
}

struct wh_world *real_make(uint32_t nodes, uint64_t seed)
{
	const struct wh_env *env = wh_env_system();
	struct wh_world *world = calloc(1, sizeof(*world) + nodes * sizeof(world->endpoints[0]));
	bool made;

	if (world == NULL)
		return NULL;
	world->nodes = nodes;
	snprintf(world->group, sizeof(world->group), "conformance-%016llx",
		 (unsigned long long)(env->random_u64(env->ctx) ^ seed));
	made = wh_real.prepare == NULL || wh_real.prepare(world);
	for (uint32_t id = 0; id < nodes && made; id++)
		made = real_start(world, id);
	if (made)
		return world;
	real_free(world);
	return NULL;
}

struct wh_transport *real_node(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id].node;
}

struct wh_transport *real_endpoint(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id].transport;
}

uint64_t real_incarnation(struct wh_world *world, uint32_t id)
{
	return world->endpoints[id].incarnation;
}

void real_kill(struct wh_world *world, uint32_t id)
{
	wh_real.kill(world->endpoints[id].transport);
	if (world->endpoints[id].node != NULL)
		wh_real.kill(world->endpoints[id].node);
	world->endpoints[id].transport = world->endpoints[id].node = NULL;
}

static void close_one(struct wh_transport *transport)
{
	transport->ops->leave(transport);
	transport->ops->destroy(transport, false);
}

void real_close(struct wh_world *world, uint32_t id)
{
	close_one(world->endpoints[id].transport);
	if (world->endpoints[id].node != NULL)
		close_one(world->endpoints[id].node);
	world->endpoints[id].transport = world->endpoints[id].node = NULL;
}

/* ---- time --------------------------------------------------------------------------------------------------------- */

/* As the loop of the node of a lane. */
static void drive(struct wh_transport *transport)
{
	struct wh_transport_event event;

	if (transport->ops->take != NULL)
		(void)transport->ops->take(transport);
	if (transport->ops->flush != NULL)
		transport->ops->flush(transport);
	(void)transport->ops->service(transport);
	while (transport->ops->next_event(transport, &event))
		;
}

void real_pass(struct wh_world *world)
{
	for (uint32_t id = 0; id < world->nodes; id++)
		if (world->endpoints[id].node != NULL)
			drive(world->endpoints[id].node);
	nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
}

bool real_wait(struct wh_world *world, uint32_t id, uint64_t timeout_ns)
{
	const struct wh_env *env = wh_env_system();
	uint64_t deadline = wh_env_now(env) + timeout_ns;

	world->endpoints[id].transport->ops->wait(world->endpoints[id].transport, timeout_ns);
	return wh_env_now(env) < deadline;
}

/* ---- visitors ----------------------------------------------------------------------------------------------------- */

static void *query_thread(void *ctx)
{
	struct real_query *query = ctx;
	struct wh_error err;

	query->result = wh_real.ask(query->world, query->node, query->question, query->question_bytes, 5 * WH_NS_PER_S,
				    query->answer, &query->answer_bytes, &err);
	wh_store_release(&query->ended, 1); /* what it has found, then that it has. Partner: real_answered */
	return NULL;
}

uint32_t real_ask(struct wh_world *world, uint32_t id, const void *question, size_t bytes)
{
	struct real_query *query = calloc(1, sizeof(*query));

	if (query == NULL || world->query_count == REAL_QUERIES_MAX || bytes > sizeof(query->question))
		abort();
	query->world = world;
	query->node = id;
	memcpy(query->question, question, bytes);
	query->question_bytes = bytes;
	if (pthread_create(&query->thread, NULL, query_thread, query) != 0)
		abort();
	world->queries[world->query_count] = query;
	return world->query_count++;
}

enum whorl_result real_answered(struct wh_world *world, uint32_t number, void *answer, size_t *bytes)
{
	struct real_query *query = world->queries[number];
	enum whorl_result result;

	if (wh_load_acquire(&query->ended) == 0)
		return WHORL_AGAIN;
	pthread_join(query->thread, NULL);
	result = query->result;
	if (result == WHORL_OK) {
		memcpy(answer, query->answer, query->answer_bytes);
		*bytes = query->answer_bytes;
	}
	free(query);
	world->queries[number] = NULL;
	return result;
}
