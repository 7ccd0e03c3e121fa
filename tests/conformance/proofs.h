/* proofs.h - the cluster key and the certificates of the worlds of tcp and verbs: WITH_KEY and WITH_TLS say which there are, by the
 * variant of the program (conformance-tcp-key, -tls, -both, -all, conformance-verbs-both); else there are neither.
 */
#ifndef WH_CONFORMANCE_PROOFS_H
#define WH_CONFORMANCE_PROOFS_H

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/conformance/real.h"
#include "tests/support/certificates.h"
#include "tests/temporary.h"
#include "transport/secure/secure.h"

#ifndef WITH_KEY
#define WITH_KEY false
#define WITH_TLS false
#endif
#ifndef WITH_ALL /* protect = all */
#define WITH_ALL false
#endif

struct proofs {
	struct wh_secure_key *key;   /* NULL: none */
	struct wh_secure_tls *tls[]; /* by node; NULL: none */
};

static inline struct proofs *proofs_make(const struct wh_world *world)
{
	char directory[TEST_PATH_BYTES], paths[4][TEST_PATH_BYTES + 16], names[96];
	static const char *const endings[] = {"authority", "certificate", "private", "key"};
	const struct wh_secure_files files = {.authority = paths[0], .certificate = paths[1], .key = paths[2]};
	const struct certificate_wish wish = {.names = names, .from_s = -60, .until_s = 3600};
	struct proofs *proofs = calloc(1, sizeof(*proofs) + world->nodes * sizeof(proofs->tls[0]));
	struct authority authority;
	FILE *file;

	CERTIFICATE_MUST(proofs != NULL && mkdtemp(test_temporary(directory, "whorl-conformance")) != NULL);
	for (int i = 0; i < 4; i++)
		snprintf(paths[i], sizeof(paths[i]), "%s/%s", directory, endings[i]);
	if (WITH_KEY) {
		file = fopen(paths[3], "w");
		CERTIFICATE_MUST(file != NULL && fputs(world->group, file) >= 0 && fchmod(fileno(file), 0600) == 0 &&
				 fclose(file) == 0);
		CERTIFICATE_MUST(wh_secure_key_load(paths[3], &proofs->key, NULL) == WHORL_OK);
	}
	for (uint32_t id = 0; WITH_ALL && id < world->nodes; id++)
		CERTIFICATE_MUST(wh_secure_tls_of_key(proofs->key, &proofs->tls[id], NULL) == WHORL_OK);
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
	return proofs;
}

static inline void proofs_free(struct proofs *proofs, uint32_t nodes)
{
	for (uint32_t id = 0; proofs != NULL && id < nodes; id++)
		wh_secure_tls_free(proofs->tls[id]);
	if (proofs != NULL)
		wh_secure_key_free(proofs->key);
	free(proofs);
}

#endif
