/* world_tcp.c - the tcp transport for the conformance cases: all endpoints in this process, on the loopback interface. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/atomics.h"
#include "base/env.h"
#include "tests/conformance/world.h"
#include "tests/sanitizer.h"
#include "tests/unit/certificates.h"
#include "transport/tcp.h"

#define VISITS_MAX 64
#ifndef WITH_KEY /* of the programs conformance-tcp-key, -tls and -both */
#define WITH_KEY false
#define WITH_TLS false
#endif

struct visit { /* a thread that asks */
	pthread_t thread;
	char address[WH_TCP_ADDRESS_BYTES];
	struct wh_tcp_asked asked;
	unsigned char question[WH_CONTROL_MAX], answer[WH_ANSWER_MAX];
	size_t question_bytes, answer_bytes;
	enum whorl_result result;
	wh_word ended;
};

struct wh_world {
	char group[40];
	uint32_t nodes, visit_count;
	struct wh_secure_key *key; /* NULL but in conformance-tcp-key and -both */
	struct visit *visits[VISITS_MAX];
	struct node {
		struct wh_transport *transport;
		struct wh_secure_tls *tls; /* NULL but in conformance-tcp-tls and -both */
		uint64_t incarnation;
	} endpoints[];
};

static void free_world(struct wh_world *world)
{
	for (uint32_t id = 0; id < world->nodes; id++)
		if (world->endpoints[id].transport != NULL)
			world->endpoints[id].transport->ops->destroy(world->endpoints[id].transport, false);
	for (uint32_t i = 0; i < world->visit_count; i++)
		if (world->visits[i] != NULL) {
			pthread_join(world->visits[i]->thread, NULL);
			free(world->visits[i]);
		}
	for (uint32_t id = 0; id < world->nodes; id++)
		wh_secure_tls_free(world->endpoints[id].tls);
	wh_secure_key_free(world->key);
	free(world);
}

/* What the nodes prove to each other: the program's variants. */
static void arm_nodes(struct wh_world *world)
{
	char directory[] = "/tmp/whorl-conformance-XXXXXX", paths[4][64], names[96];
	static const char *const endings[] = {"authority", "certificate", "private", "key"};
	const struct wh_secure_files files = {.authority = paths[0], .certificate = paths[1], .key = paths[2]};
	const struct certificate_wish wish = {.names = names, .from_s = -60, .until_s = 3600};
	struct authority authority;
	FILE *file;

	CERTIFICATE_MUST(mkdtemp(directory) != NULL);
	for (int i = 0; i < 4; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", directory, endings[i]);
	if (WITH_KEY) {
		file = fopen(paths[3], "w");
		CERTIFICATE_MUST(file != NULL && fputs(world->group, file) >= 0 && fchmod(fileno(file), 0600) == 0 &&
				 fclose(file) == 0);
		CERTIFICATE_MUST(wh_secure_key_load(paths[3], &world->key, NULL) == WHORL_OK);
	}
	if (WITH_TLS)
		authority_make(&authority, "authority", paths[0]);
	for (uint32_t id = 0; WITH_TLS && id < world->nodes; id++) {
		snprintf(names, sizeof(names), "URI:whorl://%s/%u", world->group, id);
		certificate_make(&authority, &wish, paths[1], paths[2]);
		CERTIFICATE_MUST(wh_secure_tls_load(&files, world->group, id, &world->endpoints[id].tls, NULL) ==
				 WHORL_OK);
	}
	if (WITH_TLS)
		authority_free(&authority);
	for (int i = 0; i < 4; i++)
		(void)unlink(paths[i]);
	CERTIFICATE_MUST(rmdir(directory) == 0);
}

static bool start(struct wh_world *world, uint32_t id)
{
	struct node *node = &world->endpoints[id];
	const struct wh_transport_config config = {.env = wh_env_system(),
						   .group = world->group,
						   .node = id,
						   .nodes = world->nodes,
						   .incarnation = node->incarnation + 1000 + id,
						   .key = world->key,
						   .tls = node->tls,
						   .patience_ns = WH_NS_PER_S};
	struct wh_error err;

	if (wh_tcp_create(&config, NULL, &node->transport, &err) != WHORL_OK) {
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

	if (world == NULL)
		return NULL;
	world->nodes = nodes;
	snprintf(world->group, sizeof(world->group), "conformance-%016llx",
		 (unsigned long long)(env->random_u64(env->ctx) ^ seed));
	arm_nodes(world);
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

/* What a forked child does when it lets go is what the kernel does with a killed process: descriptors are closed, nothing is
 * said. */
static void kill_endpoint(struct wh_world *world, uint32_t id)
{
	struct wh_transport *transport = world->endpoints[id].transport;

	transport->ops->destroy(transport, true);
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

	visit->result = wh_tcp_ask(&visit->asked, visit->question, visit->question_bytes, 5 * WH_NS_PER_S,
				   visit->answer, &visit->answer_bytes, &err);
	wh_store_release(&visit->ended, 1); /* what it has found, then that it has. Partner: answered() */
	return NULL;
}

static uint32_t ask(struct wh_world *world, uint32_t id, const void *question, size_t bytes)
{
	struct visit *visit = calloc(1, sizeof(*visit));

	if (visit == NULL || world->visit_count == VISITS_MAX || bytes > sizeof(visit->question))
		abort();
	wh_tcp_address_default(world->group, id, visit->address);
	visit->asked = (struct wh_tcp_asked){.address = visit->address,
					     .group = world->group,
					     .node = id,
					     .key = world->key,
					     .tls = world->endpoints[id].tls};
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
	.name = "tcp",
	.threads = true,
	.share = WITH_TLS || WITH_SANITIZER ? 20 : 8,
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
};
