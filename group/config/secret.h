/* secret.h - the cluster key and the certificate of a node, as its configuration names them. */
#ifndef WH_GROUP_CONFIG_SECRET_H
#define WH_GROUP_CONFIG_SECRET_H

#include "group/config/config.h"
#include "transport/secure/secure.h"

struct wh_secret {
	struct wh_secure_key *key; /* NULL: none */
	struct wh_secure_tls *tls; /* NULL: off; of the key with protect = all */
};

/* Reads what [group] key_file, tls and tls_... name, for node `id`; `{node}` in a path is that id. For a visitor (WH_SECURE_VISITOR)
 * it is the word visitor, or, where there are no such files, the first id below `nodes` with files that can be read here. Blocks as
 * files do. Nothing is read for transports other than tcp and verbs. WHORL_OK, WHORL_CONFIG (a file is not as it should be: the text says
 * which and how), WHORL_MEMORY, WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_secret_load(const struct wh_group_options *group, uint32_t id, uint32_t nodes,
					       struct wh_secret *out, struct wh_error *err);
void wh_secret_free(struct wh_secret *secret); /* connections go on */

#endif
