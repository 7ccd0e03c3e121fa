/* certificates.h - authorities and certificates made on the spot, for tests: no file with a key lies in the repository. */
#ifndef WH_TESTS_SUPPORT_CERTIFICATES_H
#define WH_TESTS_SUPPORT_CERTIFICATES_H

#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Outside of a suite too, in a fuzzer. */
#define CERTIFICATE_MUST(condition)                                                                                    \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

struct authority {
	EVP_PKEY *key;
	X509 *certificate;
};

struct certificate_wish {
	const char *names;    /* "URI:whorl://g/1,URI:..."; NULL: none */
	long from_s, until_s; /* from now */
	const char *phrase;   /* of the private key; NULL: none */
};

void write_private_key(const char *path, EVP_PKEY *key, const char *phrase);
void authority_make(struct authority *authority, const char *name, const char *path);
void authority_free(struct authority *authority);

void certificate_make(const struct authority *authority, const struct certificate_wish *wish,
		      const char *certificate_path, const char *key_path);

#endif
