/* world_tcp.c - the tcp transport for the conformance cases: all endpoints in this process, on the loopback interface. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/conformance/real.h"
#include "tests/sanitizer.h"
#include "tests/temporary.h"
#include "tests/unit/certificates.h"
#include "transport/tcp/tcp.h"

#ifndef WITH_KEY /* of the programs conformance-tcp-key, -tls and -both */
#define WITH_KEY false
#define WITH_TLS false
#endif

struct proofs {
	struct wh_secure_key *key;   /* NULL but in conformance-tcp-key and -both */
	struct wh_secure_tls *tls[]; /* by node; NULL but in conformance-tcp-tls and -both */
};

/* What the nodes prove to each other: the program's variants. */
static bool arm_nodes(struct wh_world *world)
{
	char directory[TEST_PATH_BYTES], paths[4][TEST_PATH_BYTES + 16], names[96];
	static const char *const endings[] = {"authority", "certificate", "private", "key"};
	const struct wh_secure_files files = {.authority = paths[0], .certificate = paths[1], .key = paths[2]};
	const struct certificate_wish wish = {.names = names, .from_s = -60, .until_s = 3600};
	struct proofs *proofs = calloc(1, sizeof(*proofs) + world->nodes * sizeof(proofs->tls[0]));
	struct authority authority;
	FILE *file;

	CERTIFICATE_MUST(proofs != NULL && mkdtemp(test_temporary(directory, "whorl-conformance")) != NULL);
	world->own = proofs;
	for (int i = 0; i < 4; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", directory, endings[i]);
	if (WITH_KEY) {
		file = fopen(paths[3], "w");
		CERTIFICATE_MUST(file != NULL && fputs(world->group, file) >= 0 && fchmod(fileno(file), 0600) == 0 &&
				 fclose(file) == 0);
		CERTIFICATE_MUST(wh_secure_key_load(paths[3], &proofs->key, NULL) == WHORL_OK);
	}
	if (WITH_TLS)
		authority_make(&authority, "authority", paths[0]);
	for (uint32_t id = 0; WITH_TLS && id < world->nodes; id++) {
		snprintf(names, sizeof(names), "URI:whorl://%s/%u", world->group, id);
		certificate_make(&authority, &wish, paths[1], paths[2]);
		CERTIFICATE_MUST(wh_secure_tls_load(&files, world->group, id, &proofs->tls[id], NULL) == WHORL_OK);
	}
	if (WITH_TLS)
		authority_free(&authority);
	for (int i = 0; i < 4; i++)
		(void)unlink(paths[i]);
	CERTIFICATE_MUST(rmdir(directory) == 0);
	return true;
}

static void disarm_nodes(struct wh_world *world)
{
	struct proofs *proofs = world->own;

	for (uint32_t id = 0; proofs != NULL && id < world->nodes; id++)
		wh_secure_tls_free(proofs->tls[id]);
	if (proofs != NULL)
		wh_secure_key_free(proofs->key);
	free(proofs);
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

const struct wh_world_ops wh_world = {REAL_WORLD, .name = "tcp", .share = WITH_TLS || WITH_SANITIZER ? 20 : 8,
				      .regions = true};
