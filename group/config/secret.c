/* secret.c - the cluster key and the certificate of a node. See secret.h. */
#include "group/config/secret.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define PLACE "{node}"
#define PATH_BYTES 4096
#define NAME_BYTES 16

/* False: it does not fit. */
static bool expand_path(const char *text, const char *node, char out[PATH_BYTES])
{
	size_t at = 0;

	while (*text != '\0') {
		bool place = strncmp(text, PLACE, strlen(PLACE)) == 0;
		int length = place ? snprintf(out + at, PATH_BYTES - at, "%s", node)
				   : snprintf(out + at, PATH_BYTES - at, "%c", *text);

		at += (size_t)length;
		if (at >= PATH_BYTES)
			return false;
		text += place ? strlen(PLACE) : 1;
	}
	out[at] = '\0';
	return true;
}

static bool can_read(const char *text, const char *node)
{
	char path[PATH_BYTES];

	return expand_path(text, node, path) && access(path, R_OK) == 0;
}

/* What {node} stands for. */
static void choose_name(const struct wh_group_options *group, uint32_t id, uint32_t nodes, char out[NAME_BYTES])
{
	snprintf(out, NAME_BYTES, "%" PRIu32, id);
	if (id != WH_SECURE_VISITOR)
		return;
	snprintf(out, NAME_BYTES, "visitor");
	for (uint32_t node = 0; node < nodes; node++) {
		if (can_read(group->tls_certificate_file, out) && can_read(group->tls_key_file, out))
			return;
		snprintf(out, NAME_BYTES, "%" PRIu32, node);
	}
}

static enum whorl_result load_tls(const struct wh_group_options *group, uint32_t id, const char *name,
				  struct wh_secret *out, struct wh_error *err)
{
	char certificate[PATH_BYTES], key[PATH_BYTES], authority[PATH_BYTES];
	const struct wh_secure_files files = {.certificate = certificate, .key = key, .authority = authority};

	if (!expand_path(group->tls_certificate_file, name, certificate) ||
	    !expand_path(group->tls_key_file, name, key) || !expand_path(group->tls_authority_file, name, authority))
		return wh_error_set(err, WHORL_CONFIG, "tls: a path is too long");
	return wh_secure_tls_load(&files, group->name, id, &out->tls, err);
}

enum whorl_result wh_secret_load(const struct wh_group_options *group, uint32_t id, uint32_t nodes,
				 struct wh_secret *out, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;
	char name[NAME_BYTES];

	*out = (struct wh_secret){.key = NULL};
	if (group->transport != WH_TRANSPORT_TCP && group->transport != WH_TRANSPORT_VERBS)
		return WHORL_OK;
	if (strcmp(group->key_file, "none") != 0)
		result = wh_secure_key_load(group->key_file, &out->key, err);
	if (result == WHORL_OK && group->protect == WH_PROTECT_ALL && !group->tls && out->key != NULL)
		result = wh_secure_tls_of_key(out->key, &out->tls, err);
	if (result == WHORL_OK && group->tls) {
		choose_name(group, id, nodes, name);
		result = load_tls(group, id, name, out, err);
	}
	if (result != WHORL_OK)
		wh_secret_free(out);
	return result;
}

void wh_secret_free(struct wh_secret *secret)
{
	wh_secure_key_free(secret->key);
	wh_secure_tls_free(secret->tls);
	*secret = (struct wh_secret){.key = NULL};
}
