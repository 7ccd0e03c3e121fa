/* cert.c - certificates: their files, and which nodes they are for.
 *
 * A certificate is for node 3 of the group demo if it has the subjectAltName URI:whorl://demo/3; for a visitor of that group
 * if it has whorl://demo/visitor, or that of any node. Names of hosts and the common name say nothing here. Nor does the system's list
 * of authorities: only those in the file that the configuration names may sign.
 */
#include "transport/secure/secure_int.h"

#include <errno.h>
#include <inttypes.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PRIVATE_KEY_LEAST 32
#define PRIVATE_KEY_MOST 65536
#define CERTIFICATES_MOST 16384 /* bytes that a peer may send of them: a chain of a few */
#define SCHEME "whorl://"
#define URI_BYTES (sizeof(SCHEME) + WH_SECURE_GROUP_BYTES + sizeof("4294967295"))

/* ---- names ------------------------------------------------------------------------------------------------------------- */

typedef bool uri_test(const char *uri, size_t bytes, const void *with);

/* The first URI among its names that passes; copied to `out` if that is not NULL. */
static bool find_uri(X509 *certificate, uri_test *test, const void *with, char *out, size_t out_bytes)
{
	GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
	bool found = false;

	for (int i = 0; !found && i < sk_GENERAL_NAME_num(names); i++) {
		const GENERAL_NAME *name = sk_GENERAL_NAME_value(names, i);
		const char *uri;
		size_t bytes;

		if (name->type != GEN_URI)
			continue;
		uri = (const char *)ASN1_STRING_get0_data(name->d.uniformResourceIdentifier);
		bytes = (size_t)ASN1_STRING_length(name->d.uniformResourceIdentifier);
		found = test(uri, bytes, with);
		if (found && out != NULL)
			snprintf(out, out_bytes, "%.*s", (int)bytes, uri);
	}
	GENERAL_NAMES_free(names);
	return found;
}

static bool is_whole(const char *uri, size_t bytes, const void *with)
{
	return bytes == strlen(with) && memcmp(uri, with, bytes) == 0; /* a zero within it is not its end */
}

/* In the group `with`: for any of its nodes, or a visitor. */
static bool is_in(const char *uri, size_t bytes, const void *with)
{
	return bytes > strlen(with) && memcmp(uri, with, strlen(with)) == 0;
}

bool wh_secure_cert_is_for(X509 *certificate, const char *group, uint32_t node)
{
	char uri[URI_BYTES];

	if (node == WH_SECURE_VISITOR) {
		snprintf(uri, sizeof(uri), SCHEME "%.*s/", WH_SECURE_GROUP_BYTES - 1, group);
		return find_uri(certificate, is_in, uri, NULL, 0);
	}
	snprintf(uri, sizeof(uri), SCHEME "%.*s/%" PRIu32, WH_SECURE_GROUP_BYTES - 1, group, node);
	return find_uri(certificate, is_whole, uri, NULL, 0);
}

void wh_secure_cert_name(X509 *certificate, char *out, size_t bytes)
{
	if (!find_uri(certificate, is_in, SCHEME, out, bytes)) {
		snprintf(out, bytes, "no name that begins with %s", SCHEME);
		return;
	}
	for (; *out != '\0'; out++)
		if (*out <= ' ' || *out > '~')
			*out = '?';
}

/* ---- files ------------------------------------------------------------------------------------------------------------- */

/* What OpenSSL complains of first; the queue of the thread is empty then. */
static const char *take_complaint(void)
{
	unsigned long number = ERR_peek_error();
	const char *text =
		ERR_SYSTEM_ERROR(number) ? strerror(ERR_GET_REASON(number)) : ERR_reason_error_string(number);

	ERR_clear_error();
	return text != NULL ? text : "it cannot be read";
}

/* OpenSSL would wait for a writer if the path is a pipe, and says little of what is no file. */
static enum whorl_result check_file(const char *what, const char *path, struct wh_error *err)
{
	struct stat file;

	if (stat(path, &file) != 0)
		return wh_error_set(err, WHORL_CONFIG, "%s: %s: %s", what, path, strerror(errno));
	if (!S_ISREG(file.st_mode))
		return wh_error_set(err, WHORL_CONFIG, "%s: %s is not a regular file", what, path);
	return WHORL_OK;
}

/* OpenSSL would ask at the terminal. */
static int no_pass_phrase(char *buffer, int bytes, int writing, void *ctx)
{
	(void)buffer;
	(void)bytes;
	(void)writing;
	(void)ctx;
	return -1;
}

static enum whorl_result load_private_key(SSL_CTX *ctx, const char *path, struct wh_error *err)
{
	unsigned char *bytes;
	size_t count;
	EVP_PKEY *key = NULL;
	BIO *bio;
	enum whorl_result result =
		wh_secure_file_read("tls_key_file", path, PRIVATE_KEY_LEAST, PRIVATE_KEY_MOST, &bytes, &count, err);

	if (result != WHORL_OK)
		return result;
	bio = BIO_new_mem_buf(bytes, (int)count);
	if (bio != NULL)
		key = PEM_read_bio_PrivateKey(bio, NULL, no_pass_phrase, NULL);
	BIO_free(bio);
	wh_secure_wipe(bytes, count);
	if (key == NULL)
		return wh_error_set(err, WHORL_CONFIG,
				    "tls_key_file: %s: %s (expected a PEM file without a pass phrase)", path,
				    take_complaint());
	if (SSL_CTX_use_PrivateKey(ctx, key) != 1 || SSL_CTX_check_private_key(ctx) != 1)
		result = wh_error_set(err, WHORL_CONFIG, "tls_key_file: %s is not the key of the certificate: %s", path,
				      take_complaint());
	EVP_PKEY_free(key);
	return result;
}

/* A node that would not accept its own certificate has the wrong one, or the wrong authority: that is said when it starts,
 * and not by others when it calls them. Visitors may have an authority of their own. */
static enum whorl_result check_certificate(SSL_CTX *ctx, const struct wh_secure_files *files, struct wh_error *err)
{
	X509_STORE_CTX *check = X509_STORE_CTX_new();
	STACK_OF(X509) *chain = NULL;
	enum whorl_result result = WHORL_OK;
	int verdict;

	(void)SSL_CTX_get0_chain_certs(ctx, &chain);
	if (check == NULL ||
	    X509_STORE_CTX_init(check, SSL_CTX_get_cert_store(ctx), SSL_CTX_get0_certificate(ctx), chain) != 1) {
		X509_STORE_CTX_free(check);
		return wh_error_set(err, WHORL_MEMORY, "tls_certificate_file: no memory for %s", files->certificate);
	}
	if (X509_verify_cert(check) != 1) {
		verdict = X509_STORE_CTX_get_error(check);
		result = wh_error_set(
			err, WHORL_CONFIG,
			"tls_certificate_file: %s is not accepted by nodes that have tls_authority_file %s: %s",
			files->certificate, files->authority, X509_verify_cert_error_string(verdict));
	}
	X509_STORE_CTX_free(check);
	ERR_clear_error();
	return result;
}

static enum whorl_result load_certificate(SSL_CTX *ctx, const struct wh_secure_files *files, const char *group,
					  uint32_t node, struct wh_error *err)
{
	enum whorl_result result = check_file("tls_certificate_file", files->certificate, err);
	char name[128];
	X509 *mine;

	if (result != WHORL_OK)
		return result;
	if (SSL_CTX_use_certificate_chain_file(ctx, files->certificate) != 1)
		return wh_error_set(err, WHORL_CONFIG, "tls_certificate_file: %s: %s", files->certificate,
				    take_complaint());
	mine = SSL_CTX_get0_certificate(ctx);
	if (!wh_secure_cert_is_for(mine, group, node)) {
		wh_secure_cert_name(mine, name, sizeof(name));
		if (node == WH_SECURE_VISITOR)
			return wh_error_set(err, WHORL_CONFIG,
					    "tls_certificate_file: %s has %s, expected whorl://%s/ and anyone in it",
					    files->certificate, name, group);
		return wh_error_set(err, WHORL_CONFIG, "tls_certificate_file: %s has %s, expected whorl://%s/%" PRIu32,
				    files->certificate, name, group, node);
	}
	return WHORL_OK;
}

static enum whorl_result load_files(SSL_CTX *ctx, const struct wh_secure_files *files, const char *group, uint32_t node,
				    struct wh_error *err)
{
	enum whorl_result result = load_certificate(ctx, files, group, node, err);

	if (result == WHORL_OK)
		result = check_file("tls_authority_file", files->authority, err);
	if (result != WHORL_OK)
		return result;
	if (SSL_CTX_load_verify_file(ctx, files->authority) != 1)
		return wh_error_set(err, WHORL_CONFIG, "tls_authority_file: %s: %s", files->authority,
				    take_complaint());
	result = load_private_key(ctx, files->key, err);
	if (result == WHORL_OK && node != WH_SECURE_VISITOR)
		result = check_certificate(ctx, files, err);
	return result;
}

/* TLS 1.3 and no other; both sides show a certificate; no session is taken up again, so each connection proves itself. */
static bool set_rules(SSL_CTX *ctx)
{
	SSL_CTX_set_verify(ctx, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
	SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_OFF);
	SSL_CTX_set_options(ctx, SSL_OP_NO_TICKET);
	SSL_CTX_set_mode(ctx, SSL_MODE_RELEASE_BUFFERS);
	SSL_CTX_set_max_cert_list(ctx, CERTIFICATES_MOST);
	SSL_CTX_set_default_passwd_cb(ctx, no_pass_phrase);
	return SSL_CTX_set_min_proto_version(ctx, TLS1_3_VERSION) == 1 && SSL_CTX_set_num_tickets(ctx, 0) == 1;
}

enum whorl_result wh_secure_tls_load(const struct wh_secure_files *files, const char *group, uint32_t node,
				     struct wh_secure_tls **out, struct wh_error *err)
{
	struct wh_secure_tls *tls = calloc(1, sizeof(*tls));
	enum whorl_result result;

	*out = NULL;
	if (tls == NULL)
		return wh_error_set(err, WHORL_MEMORY, "tls: no memory");
	ERR_clear_error();
	wh_store_relaxed(&tls->holders, 1);
	tls->ctx = SSL_CTX_new(TLS_method());
	tls->pipe = wh_secure_pipe_new();
	if (tls->ctx == NULL || tls->pipe == NULL || !set_rules(tls->ctx))
		result = wh_error_set(err, WHORL_SYSTEM, "tls: OpenSSL cannot do TLS 1.3: %s", take_complaint());
	else
		result = load_files(tls->ctx, files, group, node, err);
	if (result != WHORL_OK)
		wh_secure_tls_free(tls);
	else
		*out = tls;
	return result;
}

/* A holder gives it to others, so none frees it meanwhile. Acquire and release are for the last one, which must see all that
 * the others have done with it before it frees it (wh_fetch_add has both). */
struct wh_secure_tls *wh_secure_tls_hold(struct wh_secure_tls *tls)
{
	if (tls != NULL)
		(void)wh_fetch_add(&tls->holders, 1);
	return tls;
}

void wh_secure_tls_free(struct wh_secure_tls *tls)
{
	if (tls == NULL || wh_fetch_add(&tls->holders, (uint64_t)-1) > 1)
		return;
	SSL_CTX_free(tls->ctx);
	BIO_meth_free(tls->pipe);
	wh_secure_cleanse(tls->psk, sizeof(tls->psk));
	free(tls);
}
