/* psk.c - TLS from the cluster key alone: [group] protect = all. TLS 1.3 with a key that both ends have before (RFC 8446 §2.2), and a fresh
 * secret of each connection beside it: what was recorded cannot be read by a finder of the key. There are no certificates: an end without
 * the key gets no further than its first words. Inside, the key is proven as without TLS, for this connection.
 */
#include "transport/secure/secure_int.h"

#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>

#define IDENTITY "whorl cluster key"
#define SUITE "TLS_AES_256_GCM_SHA384"

static SSL_SESSION *make_session(SSL *ssl)
{
	static const unsigned char suite[] = {0x13, 0x02};
	const struct wh_secure_tls *tls = SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl));
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, suite);
	SSL_SESSION *session = SSL_SESSION_new();

	if (session != NULL && cipher != NULL &&
	    SSL_SESSION_set1_master_key(session, tls->psk, sizeof(tls->psk)) == 1 &&
	    SSL_SESSION_set_cipher(session, cipher) == 1 &&
	    SSL_SESSION_set1_id_context(session, (const unsigned char *)IDENTITY, sizeof(IDENTITY) - 1) == 1 &&
	    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
		return session;
	SSL_SESSION_free(session);
	return NULL;
}

static int offer_key(SSL *ssl, const EVP_MD *hash, const unsigned char **id, size_t *bytes, SSL_SESSION **session)
{
	(void)hash; /* of the one suite there is */
	*id = (const unsigned char *)IDENTITY;
	*bytes = strlen(IDENTITY);
	*session = make_session(ssl);
	return *session != NULL;
}

static int find_key(SSL *ssl, const unsigned char *id, size_t bytes, SSL_SESSION **session)
{
	*session = NULL; /* of another name: none, and the handshake fails */
	if (bytes != strlen(IDENTITY) || memcmp(id, IDENTITY, bytes) != 0)
		return 1;
	*session = make_session(ssl);
	return *session != NULL;
}

/* A certificate in the place of the key is not accepted, as there is no authority. */
static bool set_rules(SSL_CTX *ctx, struct wh_secure_tls *tls)
{
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_psk_use_session_callback(ctx, offer_key);
	SSL_CTX_set_psk_find_session_callback(ctx, find_key);
	/* Where certificates are asked for OpenSSL wants sessions to have a name, also of one that begins from a key. */
	return SSL_CTX_set_session_id_context(ctx, (const unsigned char *)IDENTITY, sizeof(IDENTITY) - 1) == 1 &&
	       SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 && SSL_CTX_set_ciphersuites(ctx, SUITE) == 1 &&
	       SSL_CTX_set_num_tickets(ctx, 0) == 1 && SSL_CTX_set_app_data(ctx, tls) == 1;
}

enum whorl_result wh_secure_tls_of_key(const struct wh_secure_key *key, struct wh_secure_tls **out,
				       struct wh_error *err)
{
	struct wh_secure_tls *tls = calloc(1, sizeof(*tls));

	*out = NULL;
	if (tls == NULL)
		return wh_error_set(err, WHORL_MEMORY, "protect: no memory");
	ERR_clear_error();
	wh_store_relaxed(&tls->holders, 1);
	tls->of_key = true;
	tls->ctx = SSL_CTX_new(TLS_method());
	tls->pipe = wh_secure_pipe_new();
	if (tls->ctx != NULL && tls->pipe != NULL && wh_secure_key_derive(key, tls->psk) && set_rules(tls->ctx, tls)) {
		*out = tls;
		return WHORL_OK;
	}
	ERR_clear_error();
	wh_secure_tls_free(tls);
	return wh_error_set(err, WHORL_SYSTEM, "protect: OpenSSL cannot do TLS 1.3 with a key");
}

bool wh_secure_tunnel_of_key(const struct wh_secure_tunnel *t)
{
	const struct wh_secure_tls *tls = SSL_CTX_get_app_data(SSL_get_SSL_CTX(t->ssl));

	return tls != NULL && SSL_session_reused(t->ssl) == 1; /* OpenSSL's word for: begun from a key */
}
