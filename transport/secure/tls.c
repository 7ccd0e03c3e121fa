/* tls.c - OpenSSL over the two buffers of a channel. It never sees a socket.
 *
 * OpenSSL keeps a queue of errors for each thread; it is emptied before each call, or an old one would be taken for a new one.
 */
#include "transport/secure/secure_int.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdio.h>
#include <string.h>

#define EXPORT_LABEL "EXPORTER-whorl-channel"

/* ---- the pipe ---------------------------------------------------------------------------------------------------------- */

static int pipe_write(BIO *bio, const char *bytes, int count)
{
	struct wh_secure_tunnel *t = BIO_get_data(bio);

	return count > 0 && wh_secure_bytes_put(t->out, bytes, (size_t)count) ? count : -1;
}

static int pipe_read(BIO *bio, char *bytes, int count)
{
	struct wh_secure_tunnel *t = BIO_get_data(bio);
	int got = count > 0 ? (int)wh_secure_bytes_take(t->in, bytes, (size_t)count) : 0;

	if (got == 0 && count > 0 && t->fetch != NULL)
		got = (int)t->fetch(t->from, bytes, (size_t)count);
	BIO_clear_retry_flags(bio);
	if (got > 0)
		return got;
	BIO_set_retry_read(bio);
	return -1;
}

static long pipe_control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio;
	(void)number;
	(void)pointer;
	return command == BIO_CTRL_FLUSH;
}

BIO_METHOD *wh_secure_pipe_new(void)
{
	BIO_METHOD *pipe = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "whorl channel");

	if (pipe == NULL)
		return NULL;
	if (BIO_meth_set_write(pipe, pipe_write) == 1 && BIO_meth_set_read(pipe, pipe_read) == 1 &&
	    BIO_meth_set_ctrl(pipe, pipe_control) == 1)
		return pipe;
	BIO_meth_free(pipe);
	return NULL;
}

/* ---- the handshake ----------------------------------------------------------------------------------------------------- */

bool wh_secure_tunnel_begin(struct wh_secure_tunnel *t, const struct wh_secure_tls *tls, bool connects,
			    struct wh_secure_bytes *in, struct wh_secure_bytes *out)
{
	BIO *bio = BIO_new(tls->pipe);

	*t = (struct wh_secure_tunnel){.ssl = SSL_new(tls->ctx), .in = in, .out = out};
	if (bio == NULL || t->ssl == NULL) {
		BIO_free(bio);
		SSL_free(t->ssl);
		t->ssl = NULL;
		return false;
	}
	BIO_set_data(bio, t);
	BIO_set_init(bio, 1);
	SSL_set_bio(t->ssl, bio, bio);
	SSL_set_read_ahead(t->ssl, 1); /* a record is asked for in one piece, not its head and then the rest */
	if (connects)
		SSL_set_connect_state(t->ssl);
	else
		SSL_set_accept_state(t->ssl);
	return true;
}

/* Not so where TLS begins from the key: what is said of a certificate there is about none. */
static bool has_certificates(const struct wh_secure_tunnel *t)
{
	return SSL_CTX_get_app_data(SSL_get_SSL_CTX(t->ssl)) == NULL;
}

static bool is_alert(unsigned long number)
{
	int reason = ERR_GET_REASON(number);

	return ERR_GET_LIB(number) == ERR_LIB_SSL && reason >= SSL_AD_REASON_OFFSET &&
	       reason < SSL_AD_REASON_OFFSET + 256; /* those of all libraries, as that memory is out, lie above */
}

/* What a handshake comes to with an end that has another key, or a certificate in its place: it does not verify, or the other end says so. */
static bool is_of_key(unsigned long number)
{
	if (ERR_GET_LIB(number) != ERR_LIB_SSL)
		return false;
	switch (ERR_GET_REASON(number)) {
	case SSL_R_BINDER_DOES_NOT_VERIFY:
	case SSL_R_CERTIFICATE_VERIFY_FAILED:
	case SSL_R_NO_SUITABLE_SIGNATURE_ALGORITHM:
	case SSL_R_NO_SHARED_CIPHER:
	case SSL_R_SSLV3_ALERT_ILLEGAL_PARAMETER:
	case SSL_R_SSLV3_ALERT_HANDSHAKE_FAILURE:
	case SSL_R_TLSV1_ALERT_DECRYPT_ERROR:
	case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
		return true;
	default:
		return false;
	}
}

static enum wh_secure_failure failure_of(const struct wh_secure_tunnel *t, unsigned long number)
{
	int reason = ERR_GET_REASON(number);

	if (reason == ERR_R_MALLOC_FAILURE || reason == ERR_R_INTERNAL_ERROR || reason == ERR_R_INIT_FAIL)
		return WH_SECURE_OF_SYSTEM;
	return !has_certificates(t) && is_of_key(number) ? WH_SECURE_OF_KEY : WH_SECURE_OF_TLS;
}

/* Why a call has failed for good. */
static void explain_failure(struct wh_secure_tunnel *t, const char *who, char reason[WH_SECURE_REASON_BYTES])
{
	long verdict = has_certificates(t) ? SSL_get_verify_result(t->ssl) : X509_V_OK;
	unsigned long number = ERR_peek_error();
	const char *text = ERR_reason_error_string(number);

	t->failure = failure_of(t, number);
	if (verdict != X509_V_OK)
		snprintf(reason, WH_SECURE_REASON_BYTES, "the certificate of %s is not accepted: %s", who,
			 X509_verify_cert_error_string(verdict));
	else if (is_alert(number))
		snprintf(reason, WH_SECURE_REASON_BYTES, "%s does not accept this end%s: %s", who,
			 has_certificates(t) ? ", or its certificate" : "", text != NULL ? text : "an unknown alert");
	else
		snprintf(reason, WH_SECURE_REASON_BYTES, "TLS with %s has failed: %s", who,
			 text != NULL ? text : "it ended early");
	ERR_clear_error();
}

int wh_secure_tunnel_shake(struct wh_secure_tunnel *t, const char *who, char reason[WH_SECURE_REASON_BYTES])
{
	int done;

	ERR_clear_error();
	done = SSL_do_handshake(t->ssl);
	if (done == 1)
		return 1;
	if (SSL_get_error(t->ssl, done) == SSL_ERROR_WANT_READ)
		return 0;
	explain_failure(t, who, reason);
	return -1;
}

bool wh_secure_tunnel_secret(struct wh_secure_tunnel *t, unsigned char out[32])
{
	ERR_clear_error();
	return SSL_export_keying_material(t->ssl, out, 32, EXPORT_LABEL, strlen(EXPORT_LABEL), NULL, 0, 0) == 1;
}

bool wh_secure_tunnel_is_for(struct wh_secure_tunnel *t, const char *group, uint32_t node,
			     char reason[WH_SECURE_REASON_BYTES])
{
	X509 *certificate = SSL_get0_peer_certificate(t->ssl);
	char name[128] = "nothing";

	if (certificate != NULL && SSL_get_verify_result(t->ssl) == X509_V_OK &&
	    wh_secure_cert_is_for(certificate, group, node))
		return true;
	if (certificate != NULL)
		wh_secure_cert_name(certificate, name, sizeof(name));
	if (node == WH_SECURE_VISITOR)
		snprintf(reason, WH_SECURE_REASON_BYTES,
			 "the certificate of a query has %s, expected one of whorl://%s/", name, group);
	else
		snprintf(reason, WH_SECURE_REASON_BYTES, "the certificate of node %u has %s, expected whorl://%s/%u",
			 node, name, group, node);
	return false;
}

/* ---- bytes ------------------------------------------------------------------------------------------------------------- */

ptrdiff_t wh_secure_tunnel_write(struct wh_secure_tunnel *t, const void *bytes, size_t count)
{
	size_t written = 0;

	if (count == 0)
		return 0;
	ERR_clear_error();
	if (SSL_write_ex(t->ssl, bytes, count, &written) != 1) { /* the pipe takes all, or memory has run out */
		ERR_clear_error();
		return -1;
	}
	t->sealed += written;
	return (ptrdiff_t)written;
}

ptrdiff_t wh_secure_tunnel_read(struct wh_secure_tunnel *t, void *bytes, size_t count, const char *who,
				char reason[WH_SECURE_REASON_BYTES])
{
	size_t got = 0;
	int error;

	if (count == 0)
		return 0;
	ERR_clear_error();
	if (SSL_read_ex(t->ssl, bytes, count, &got) == 1)
		return (ptrdiff_t)got;
	error = SSL_get_error(t->ssl, 0);
	if (error == SSL_ERROR_WANT_READ)
		return 0;
	if (error == SSL_ERROR_ZERO_RETURN) {
		t->failure = WH_SECURE_OF_END;
		snprintf(reason, WH_SECURE_REASON_BYTES, "%s has ended TLS", who);
	} else {
		explain_failure(t, who, reason);
	}
	return -1;
}

bool wh_secure_tunnel_rekey(struct wh_secure_tunnel *t)
{
	t->sealed = 0;
	ERR_clear_error();
	return SSL_key_update(t->ssl, SSL_KEY_UPDATE_NOT_REQUESTED) == 1; /* goes out before the next bytes */
}

void wh_secure_tunnel_end(struct wh_secure_tunnel *t)
{
	SSL_free(t->ssl);
	t->ssl = NULL;
}

/* ---- threads ----------------------------------------------------------------------------------------------------------- */

void wh_secure_thread_ends(void)
{
	OPENSSL_thread_stop();
}
