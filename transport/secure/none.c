/* none.c - channels of a whorl that is built without OpenSSL (WHORL_TLS off): there are no keys and no certificates, so all are
 * open, and of this host alone (secure.h). What only a key or TLS leads to is never called.
 */
#include "transport/secure/secure_int.h"

#include <string.h>
#include <sys/random.h>

#define WITHOUT                                                                                                        \
	"this whorl was built without keys and TLS (WHORL_TLS): it speaks to this host alone, with key_file = none and tls = off"

bool wh_secure_random(unsigned char *bytes, size_t count)
{
	return getrandom(bytes, count, 0) == (ssize_t)count; /* up to 256 bytes come whole */
}

bool wh_secure_same(const void *one, const void *other, size_t count)
{
	return memcmp(one, other, count) == 0;
}

void wh_secure_cleanse(void *bytes, size_t count)
{
	explicit_bzero(bytes, count);
}

/* ---- keys and certificates ----------------------------------------------------------------------------------------------- */

enum whorl_result wh_secure_key_load(const char *path, struct wh_secure_key **out, struct wh_error *err)
{
	*out = NULL;
	return wh_error_set(err, WHORL_UNSUPPORTED, "key_file: %s: " WITHOUT, path);
}

struct wh_secure_key *wh_secure_key_hold(struct wh_secure_key *key)
{
	return key;
}

void wh_secure_key_free(struct wh_secure_key *key)
{
	(void)key;
}

bool wh_secure_prove(const struct wh_secure_key *key, bool connects, const struct wh_secure_talk *talk,
		     unsigned char out[WH_SECURE_PROOF_BYTES])
{
	(void)key, (void)connects, (void)talk, (void)out;
	return false;
}

enum whorl_result wh_secure_tls_load(const struct wh_secure_files *files, const char *group, uint32_t node,
				     struct wh_secure_tls **out, struct wh_error *err)
{
	(void)files, (void)group, (void)node;
	*out = NULL;
	return wh_error_set(err, WHORL_UNSUPPORTED, "tls: " WITHOUT);
}

enum whorl_result wh_secure_tls_of_key(const struct wh_secure_key *key, struct wh_secure_tls **out,
				       struct wh_error *err)
{
	(void)key;
	*out = NULL;
	return wh_error_set(err, WHORL_UNSUPPORTED, "protect: " WITHOUT);
}

struct wh_secure_tls *wh_secure_tls_hold(struct wh_secure_tls *tls)
{
	return tls;
}

void wh_secure_tls_free(struct wh_secure_tls *tls)
{
	(void)tls;
}

/* ---- tunnels ------------------------------------------------------------------------------------------------------------- */

bool wh_secure_tunnel_begin(struct wh_secure_tunnel *t, const struct wh_secure_tls *tls, bool connects,
			    struct wh_secure_bytes *in, struct wh_secure_bytes *out)
{
	(void)t, (void)tls, (void)connects, (void)in, (void)out;
	return false;
}

int wh_secure_tunnel_shake(struct wh_secure_tunnel *t, const char *who, char reason[WH_SECURE_REASON_BYTES])
{
	(void)t, (void)who, (void)reason;
	return -1;
}

ptrdiff_t wh_secure_tunnel_write(struct wh_secure_tunnel *t, const void *bytes, size_t count)
{
	(void)t, (void)bytes, (void)count;
	return -1;
}

ptrdiff_t wh_secure_tunnel_read(struct wh_secure_tunnel *t, void *bytes, size_t count, const char *who,
				char reason[WH_SECURE_REASON_BYTES])
{
	(void)t, (void)bytes, (void)count, (void)who, (void)reason;
	return -1;
}

bool wh_secure_tunnel_rekey(struct wh_secure_tunnel *t)
{
	(void)t;
	return false;
}

bool wh_secure_tunnel_secret(struct wh_secure_tunnel *t, unsigned char out[32])
{
	(void)t, (void)out;
	return false;
}

bool wh_secure_tunnel_of_key(const struct wh_secure_tunnel *t)
{
	(void)t;
	return false;
}

bool wh_secure_tunnel_is_for(struct wh_secure_tunnel *t, const char *group, uint32_t node,
			     char reason[WH_SECURE_REASON_BYTES])
{
	(void)t, (void)group, (void)node, (void)reason;
	return false;
}

void wh_secure_tunnel_end(struct wh_secure_tunnel *t)
{
	(void)t;
}

/* ---- threads ------------------------------------------------------------------------------------------------------------- */

void wh_secure_thread_ends(void)
{
}
