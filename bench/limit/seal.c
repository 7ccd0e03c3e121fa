/* seal.c - see seal.h. */
#include "bench/limit/seal.h"

#include <errno.h>
#include <fcntl.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#define KEY_BYTES 48

struct wh_limit_seal {
	int socket;
	BIO_METHOD *way; /* to the socket and from it */
	SSL_CTX *ctx;
	SSL *ssl;
	unsigned char key[KEY_BYTES];
};

/* What send or recv returned, as a BIO has it. */
static int tell(BIO *bio, ssize_t moved, int retry)
{
	BIO_clear_retry_flags(bio);
	if (moved < 0 && (errno == EAGAIN || errno == EINTR))
		BIO_set_flags(bio, retry | BIO_FLAGS_SHOULD_RETRY);
	return (int)moved;
}

/* A BIO_s_socket writes by write, which raises SIGPIPE when the other end has gone. */
static int to_socket(BIO *bio, const char *bytes, int count)
{
	const struct wh_limit_seal *seal = BIO_get_data(bio);

	return tell(bio, send(seal->socket, bytes, (size_t)count, MSG_NOSIGNAL), BIO_FLAGS_WRITE);
}

static int from_socket(BIO *bio, char *bytes, int count)
{
	const struct wh_limit_seal *seal = BIO_get_data(bio);

	return tell(bio, recv(seal->socket, bytes, (size_t)count, 0), BIO_FLAGS_READ);
}

static long control(BIO *bio, int command, long number, void *pointer)
{
	(void)bio, (void)number, (void)pointer;
	return command == BIO_CTRL_FLUSH;
}

static bool lead_to_socket(struct wh_limit_seal *seal)
{
	BIO *bio;

	seal->way = BIO_meth_new(BIO_TYPE_SOURCE_SINK, "limit");
	if (seal->way == NULL || BIO_meth_set_write(seal->way, to_socket) != 1 ||
	    BIO_meth_set_read(seal->way, from_socket) != 1 || BIO_meth_set_ctrl(seal->way, control) != 1 ||
	    (bio = BIO_new(seal->way)) == NULL)
		return false;
	BIO_set_data(bio, seal);
	BIO_set_init(bio, 1);
	SSL_set_bio(seal->ssl, bio, bio);
	return true;
}

static SSL_SESSION *make_session(SSL *ssl, const unsigned char key[KEY_BYTES])
{
	static const unsigned char aes_256_gcm[] = {0x13, 0x02};
	const SSL_CIPHER *cipher = SSL_CIPHER_find(ssl, aes_256_gcm);
	SSL_SESSION *session = SSL_SESSION_new();

	if (session != NULL && cipher != NULL && SSL_SESSION_set1_master_key(session, key, KEY_BYTES) == 1 &&
	    SSL_SESSION_set_cipher(session, cipher) == 1 &&
	    SSL_SESSION_set_protocol_version(session, TLS1_3_VERSION) == 1)
		return session;
	SSL_SESSION_free(session);
	return NULL;
}

static int offer(SSL *ssl, const EVP_MD *hash, const unsigned char **id, size_t *bytes, SSL_SESSION **session)
{
	const struct wh_limit_seal *seal = SSL_get_app_data(ssl);

	(void)hash;
	*id = (const unsigned char *)"limit";
	*bytes = 5;
	*session = make_session(ssl, seal->key);
	return *session != NULL;
}

static int find(SSL *ssl, const unsigned char *id, size_t bytes, SSL_SESSION **session)
{
	const struct wh_limit_seal *seal = SSL_get_app_data(ssl);

	(void)id, (void)bytes;
	*session = make_session(ssl, seal->key);
	return *session != NULL;
}

static bool set_up(struct wh_limit_seal *seal)
{
	seal->ctx = SSL_CTX_new(TLS_method());
	if (seal->ctx == NULL || SSL_CTX_set_min_proto_version(seal->ctx, TLS1_3_VERSION) != 1 ||
	    SSL_CTX_set_ciphersuites(seal->ctx, "TLS_AES_256_GCM_SHA384") != 1 ||
	    SSL_CTX_set_num_tickets(seal->ctx, 0) != 1)
		return false;
	SSL_CTX_set_psk_use_session_callback(seal->ctx, offer);
	SSL_CTX_set_psk_find_session_callback(seal->ctx, find);
	SSL_CTX_set_mode(seal->ctx, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
	seal->ssl = SSL_new(seal->ctx);
	if (seal->ssl == NULL || SSL_set_app_data(seal->ssl, seal) != 1 || !lead_to_socket(seal))
		return false;
	SSL_set_read_ahead(seal->ssl, 1);
	return true;
}

int wh_limit_seal_open(struct wh_limit_seal **out, int socket, bool connects, uint64_t word)
{
	struct wh_limit_seal *seal = calloc(1, sizeof *seal);
	int flags = fcntl(socket, F_GETFL);

	*out = seal;
	if (seal == NULL)
		return ENOMEM;
	memcpy(seal->key, &word, sizeof word);
	seal->socket = socket;
	if (!set_up(seal))
		return ENOMEM;
	if ((connects ? SSL_connect(seal->ssl) : SSL_accept(seal->ssl)) != 1)
		return EPROTO;
	return flags >= 0 && fcntl(socket, F_SETFL, flags | O_NONBLOCK) == 0 ? 0 : errno;
}

void wh_limit_seal_close(struct wh_limit_seal *seal)
{
	if (seal == NULL)
		return;
	SSL_free(seal->ssl);
	SSL_CTX_free(seal->ctx);
	BIO_meth_free(seal->way);
	free(seal);
}

/* What a call that moved nothing says in the place of a socket. */
static ssize_t nothing(const struct wh_limit_seal *seal)
{
	int error = SSL_get_error(seal->ssl, 0);

	if (error == SSL_ERROR_ZERO_RETURN)
		return 0;
	errno = error == SSL_ERROR_WANT_READ || error == SSL_ERROR_WANT_WRITE ? EAGAIN : ECONNRESET;
	return -1;
}

ssize_t wh_limit_seal_send(struct wh_limit_seal *seal, const void *bytes, size_t count)
{
	size_t done;

	ERR_clear_error();
	return SSL_write_ex(seal->ssl, bytes, count, &done) == 1 ? (ssize_t)done : nothing(seal);
}

ssize_t wh_limit_seal_receive(struct wh_limit_seal *seal, void *bytes, size_t count)
{
	size_t done = 0, now;

	ERR_clear_error();
	while (done < count && SSL_read_ex(seal->ssl, (char *)bytes + done, count - done, &now) == 1)
		done += now;
	return done > 0 ? (ssize_t)done : nothing(seal);
}
