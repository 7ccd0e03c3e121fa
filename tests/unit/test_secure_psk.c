/* test_secure_psk.c - TLS that begins from the cluster key: protect = all. */
#include "tests/support/certificates.h"
#include "tests/support/secure_lab.h"
#include "transport/secure/secure_int.h"

static struct lab lab;

/* NULL: that end has protect = meeting. */
static void protect(int end, const char *text)
{
	struct wh_error err;

	wh_secure_tls_free(lab.ground[end].tls);
	lab.ground[end].tls = NULL;
	if (text == NULL)
		return;
	wh_secure_key_free(lab.ground[end].key);
	lab.ground[end].key = secure_lab_key(&lab, text);
	ck_assert_msg(wh_secure_tls_of_key(lab.ground[end].key, &lab.ground[end].tls, &err) == WHORL_OK, "%s",
		      err.text);
}

static void begin(void)
{
	lab_with_key(&lab);
	protect(CALLER, "sixteen bytes of a key");
	protect(ANSWERER, "sixteen bytes of a key");
}

static void end(void)
{
	secure_lab_end(&lab);
}

static void seal(const void *bytes, size_t count, unsigned char *out, size_t *length)
{
	const void *pending;

	ck_assert_int_eq(wh_secure_seal(lab.end[CALLER], bytes, count), (ptrdiff_t)count);
	pending = wh_secure_pending(lab.end[CALLER], length);
	memcpy(out, pending, *length);
	wh_secure_sent(lab.end[CALLER], *length);
}

TEST_CASE("psk", .setup = begin, .teardown = end);

TEST(the_key_is_enough)
{
	unsigned char bytes[256], heard[64];
	char reason[WH_SECURE_REASON_BYTES];
	size_t count;

	lab_meet(&lab); /* byte by byte */
	expect_both(&lab, WH_SECURE_PROVEN);
	ck_assert(wh_secure_wraps(lab.end[CALLER]) && wh_secure_wraps(lab.end[ANSWERER]));
	ck_assert_uint_eq(wh_secure_peer(lab.end[ANSWERER]).node, 1);
	ck_assert(!wh_secure_admits(lab.end[ANSWERER], 3, 0x1111222233334444, reason));
	seal("a message of the group", 22, bytes, &count);
	ck_assert_ptr_null(memmem(bytes, count, "message", 7));
	ck_assert_ptr_null(memmem(lab.said[CALLER].bytes, lab.said[CALLER].count, "g\0\0\0\0", 5)); /* nor the group */
	ck_assert_uint_eq(wh_secure_feed(lab.end[ANSWERER], bytes, count), count);
	ck_assert_int_eq(wh_secure_open(lab.end[ANSWERER], heard, sizeof(heard)), 22);
	ck_assert_int_eq(memcmp(heard, "a message of the group", 22), 0);
}

TEST(a_query_comes_in)
{
	lab.ground[CALLER].node = WH_SECURE_VISITOR;
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
	ck_assert_uint_eq(wh_secure_peer(lab.end[ANSWERER]).node, WH_SECURE_VISITOR);
}

TEST(each_connection_has_a_secret_of_its_own)
{
	unsigned char bytes[2][256];
	size_t count[2];

	for (int i = 0; i < 2; i++) {
		lab_meet(&lab);
		seal("the same", 8, bytes[i], &count[i]);
	}
	ck_assert_uint_eq(count[0], count[1]);
	ck_assert_int_ne(memcmp(bytes[0], bytes[1], count[0]), 0);
	ck_assert_uint_lt(wh_secure_feed(lab.end[ANSWERER], bytes[0], count[0]), count[0] + 1);
	ck_assert_int_eq(wh_secure_open(lab.end[ANSWERER], bytes[1], 8), -1); /* of another connection */
}

TEST(another_key)
{
	protect(CALLER, "sixteen bytes of a kez");
	expect_refusal(&lab, "node 2 and node 1 have different cluster keys (key_file)",
		       "the caller and node 2 have different cluster keys (key_file)");
}

TEST(one_protects_all_and_one_the_meeting)
{
	protect(CALLER, NULL);
	expect_refusal(&lab, "node 2 has protect = all, node 1 has protect = meeting",
		       "the caller has protect = meeting, node 2 has protect = all");
	protect(CALLER, "sixteen bytes of a key");
	protect(ANSWERER, NULL);
	expect_refusal(&lab, "node 2 has protect = meeting, node 1 has protect = all",
		       "the caller has protect = all, node 2 has protect = meeting");
}

TEST(another_group)
{
	lab.ground[CALLER].group = "h";
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_REFUSED);
	ck_assert_str_eq(wh_secure_reason(lab.end[ANSWERER]), "node 1 is of group h, node 2 of group g");
}

TEST(a_byte_changed_on_its_way_ends_it)
{
	unsigned char bytes[256], out[64];
	size_t count;

	for (size_t place = 5; place < 29; place++) {
		lab_meet(&lab);
		expect_both(&lab, WH_SECURE_PROVEN);
		seal("counter", 7, bytes, &count);
		ck_assert_uint_lt(place, count);
		bytes[place] ^= 1;
		wh_secure_feed(lab.end[ANSWERER], bytes, count);
		ck_assert_int_eq(wh_secure_open(lab.end[ANSWERER], out, sizeof(out)), -1);
		ck_assert(lab_is(&lab, ANSWERER, WH_SECURE_REFUSED));
		ck_assert_msg(strncmp(wh_secure_reason(lab.end[ANSWERER]), "TLS with node 1 has failed: ", 28) == 0,
			      "%s", wh_secure_reason(lab.end[ANSWERER]));
	}
}

/* A server without the key, that has a certificate, which it has made itself, is none. */
TEST(no_certificate_stands_for_the_key)
{
	SSL_CTX *ctx = lab.ground[ANSWERER].tls->ctx;
	EVP_PKEY *pair = EVP_EC_gen("P-256");
	X509 *own = X509_new();

	ck_assert(pair != NULL && own != NULL);
	ck_assert_int_eq(X509_set_pubkey(own, pair), 1);
	ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notBefore(own), 0));
	ck_assert_ptr_nonnull(X509_gmtime_adj(X509_getm_notAfter(own), 3600));
	ck_assert_int_gt(X509_sign(own, pair, EVP_sha256()), 0);
	ck_assert_int_eq(SSL_CTX_use_certificate(ctx, own), 1);
	ck_assert_int_eq(SSL_CTX_use_PrivateKey(ctx, pair), 1);
	SSL_CTX_set_psk_find_session_callback(ctx, NULL);
	lab_meet(&lab);
	ck_assert(lab_is(&lab, CALLER, WH_SECURE_REFUSED));
	ck_assert(strstr(wh_secure_reason(lab.end[CALLER]), "different cluster keys") != NULL);
	X509_free(own);
	EVP_PKEY_free(pair);
}

TEST_SUITE("secure_psk")
