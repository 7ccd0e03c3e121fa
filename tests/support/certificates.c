#include "tests/support/certificates.h"

static void extend(X509 *certificate, X509 *issuer, int nid, const char *value)
{
	X509_EXTENSION *extension;
	X509V3_CTX ctx;

	X509V3_set_ctx_nodb(&ctx);
	X509V3_set_ctx(&ctx, issuer, certificate, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &ctx, nid, value);
	CERTIFICATE_MUST(extension != NULL);
	CERTIFICATE_MUST(X509_add_ext(certificate, extension, -1) == 1);
	X509_EXTENSION_free(extension);
}

/* Signed by `authority`, or by itself if that is NULL. */
static X509 *certificate_sign(const struct authority *authority, EVP_PKEY *key, const char *common_name,
			      const struct certificate_wish *wish)
{
	X509 *certificate = X509_new(), *issuer;

	CERTIFICATE_MUST(certificate != NULL);
	issuer = authority != NULL ? authority->certificate : certificate;
	CERTIFICATE_MUST(X509_set_version(certificate, X509_VERSION_3) == 1);
	CERTIFICATE_MUST(ASN1_INTEGER_set(X509_get_serialNumber(certificate), authority != NULL ? 2 : 1) == 1);
	X509_gmtime_adj(X509_getm_notBefore(certificate), wish->from_s);
	X509_gmtime_adj(X509_getm_notAfter(certificate), wish->until_s);
	CERTIFICATE_MUST(X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
						    (const unsigned char *)common_name, -1, -1, 0) == 1);
	CERTIFICATE_MUST(X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) == 1);
	CERTIFICATE_MUST(X509_set_pubkey(certificate, key) == 1);
	if (authority == NULL)
		extend(certificate, issuer, NID_basic_constraints, "critical,CA:TRUE");
	if (wish->names != NULL)
		extend(certificate, issuer, NID_subject_alt_name, wish->names);
	CERTIFICATE_MUST(X509_sign(certificate, authority != NULL ? authority->key : key, EVP_sha256()) > 0);
	return certificate;
}

static void write_certificate(const char *path, X509 *certificate)
{
	FILE *file = fopen(path, "w");

	CERTIFICATE_MUST(file != NULL);
	CERTIFICATE_MUST(PEM_write_X509(file, certificate) == 1);
	CERTIFICATE_MUST(fclose(file) == 0);
}

void write_private_key(const char *path, EVP_PKEY *key, const char *phrase)
{
	FILE *file = fopen(path, "w");

	CERTIFICATE_MUST(file != NULL);
	CERTIFICATE_MUST(fchmod(fileno(file), 0600) == 0);
	CERTIFICATE_MUST(PEM_write_PrivateKey(file, key, phrase != NULL ? EVP_aes_128_cbc() : NULL,
					      (const unsigned char *)phrase, phrase != NULL ? (int)strlen(phrase) : 0,
					      NULL, NULL) == 1);
	CERTIFICATE_MUST(fclose(file) == 0);
}

void authority_make(struct authority *authority, const char *name, const char *path)
{
	const struct certificate_wish wish = {.from_s = -60, .until_s = 3600};

	authority->key = EVP_EC_gen("P-256");
	CERTIFICATE_MUST(authority->key != NULL);
	authority->certificate = certificate_sign(NULL, authority->key, name, &wish);
	write_certificate(path, authority->certificate);
}

void authority_free(struct authority *authority)
{
	X509_free(authority->certificate);
	EVP_PKEY_free(authority->key);
}

void certificate_make(const struct authority *authority, const struct certificate_wish *wish,
		      const char *certificate_path, const char *key_path)
{
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *certificate;

	CERTIFICATE_MUST(key != NULL);
	certificate = certificate_sign(authority, key, "somebody", wish);
	write_certificate(certificate_path, certificate);
	write_private_key(key_path, key, wish->phrase);
	X509_free(certificate);
	EVP_PKEY_free(key);
}
