/* test_secure_tls.c - certificates, TLS, and the cluster key inside TLS. */
#include <openssl/ssl.h>

#include "tests/support/certificates.h"
#include "tests/support/secure_lab.h"
#include "transport/secure/secure_int.h"

static struct lab lab;
static struct authority authority, strangers; /* an authority of their own */

static const struct certificate_wish node_1 = {.names = "URI:whorl://g/1", .from_s = -60, .until_s = 3600};
static const struct certificate_wish node_2 = {.names = "URI:whorl://g/2", .from_s = -60, .until_s = 3600};

struct paths {
	char certificate[LAB_PATH_BYTES], key[LAB_PATH_BYTES], authority[LAB_PATH_BYTES];
	struct wh_secure_files files;
};

static void write_files(const struct authority *signer, const struct certificate_wish *wish, struct paths *out)
{
	lab_path(&lab, "certificate", out->certificate);
	lab_path(&lab, "private", out->key);
	lab_path(&lab, "authority", out->authority);
	certificate_make(signer, wish, out->certificate, out->key);
	out->files =
		(struct wh_secure_files){.certificate = out->certificate, .key = out->key, .authority = out->authority};
}

static void equip(int end, const struct authority *signer, const struct certificate_wish *wish, uint32_t node)
{
	struct wh_secure_tls *tls;
	struct paths paths;
	struct wh_error err;

	wh_secure_tls_free(lab.ground[end].tls);
	write_files(signer, wish, &paths);
	ck_assert_msg(wh_secure_tls_load(&paths.files, lab.ground[end].group, node, &tls, &err) == WHORL_OK, "%s",
		      err.text);
	lab.ground[end].tls = tls;
}

/* The same with a certificate that no node would start with: it is put in the place of a good one. */
static void equip_wrongly(int end, const struct authority *signer, const struct certificate_wish *wish, uint32_t node)
{
	const struct certificate_wish good = {.names = wish->names, .from_s = -60, .until_s = 3600};
	struct paths paths;
	SSL_CTX *ctx;

	equip(end, &authority, &good, node);
	write_files(signer, wish, &paths);
	ctx = lab.ground[end].tls->ctx;
	ck_assert_int_eq(SSL_CTX_use_certificate_file(ctx, paths.certificate, SSL_FILETYPE_PEM), 1);
	ck_assert_int_eq(SSL_CTX_use_PrivateKey_file(ctx, paths.key, SSL_FILETYPE_PEM), 1);
}

static void begin(void)
{
	char path[LAB_PATH_BYTES];

	secure_lab_begin(&lab);
	lab_path(&lab, "strangers", path);
	authority_make(&strangers, "strangers", path);
	lab_path(&lab, "authority", path);
	authority_make(&authority, "authority", path);
	equip(CALLER, &authority, &node_1, 1);
	equip(ANSWERER, &authority, &node_2, 2);
}

static void end(void)
{
	secure_lab_end(&lab);
	authority_free(&authority);
	authority_free(&strangers);
}

static void give_keys(const char *caller, const char *answerer)
{
	lab.ground[CALLER].key = secure_lab_key(&lab, caller);
	lab.ground[ANSWERER].key = secure_lab_key(&lab, answerer);
}

/* ---- good ---------------------------------------------------------------------------------------------------------------- */

/* Sends through the channel what fits the log, and takes it out at the other end. */
static void talk(int from, size_t count)
{
	unsigned char *text = malloc(count), *heard = calloc(1, count);
	size_t sent = 0, had = 0;
	ptrdiff_t now;

	ck_assert(text != NULL && heard != NULL);
	for (size_t i = 0; i < count; i++)
		text[i] = (unsigned char)(i * 7 + i / 251);
	while (had < count) {
		size_t length, fed = 0;
		const unsigned char *bytes;

		now = wh_secure_seal(lab.end[from], text + sent, count - sent);
		ck_assert_int_ge(now, 0);
		sent += (size_t)now;
		bytes = wh_secure_pending(lab.end[from], &length);
		while (fed < length) {
			fed += wh_secure_feed(lab.end[!from], bytes + fed, length - fed);
			while ((now = wh_secure_open(lab.end[!from], heard + had, count - had)) > 0)
				had += (size_t)now;
			ck_assert_int_eq(now, 0);
		}
		wh_secure_sent(lab.end[from], length);
	}
	ck_assert_int_eq(memcmp(text, heard, count), 0);
	free(text);
	free(heard);
}

TEST_CASE("good", .setup = begin, .teardown = end);

TEST(certificates_prove_which_node_it_is)
{
	char reason[WH_SECURE_REASON_BYTES];

	lab_meet(&lab); /* byte by byte: not one of them sooner */
	expect_both(&lab, WH_SECURE_PROVEN);
	ck_assert(wh_secure_wraps(lab.end[CALLER]) && wh_secure_wraps(lab.end[ANSWERER]));
	ck_assert_uint_eq(wh_secure_peer(lab.end[ANSWERER]).node, 1);
	ck_assert(wh_secure_admits(lab.end[ANSWERER], 1, 0x1111222233334444, reason));
	ck_assert(!wh_secure_admits(lab.end[ANSWERER], 3, 0x1111222233334444, reason));
	talk(CALLER, 1);
	talk(ANSWERER, 300000);
	talk(CALLER, 300000);
}

TEST(application_bytes_cannot_be_read)
{
	static const char text[] = "a message that nobody else must read";
	const unsigned char *bytes;
	size_t count;

	lab_meet(&lab);
	ck_assert_int_eq(wh_secure_seal(lab.end[CALLER], text, sizeof(text)), sizeof(text));
	bytes = wh_secure_pending(lab.end[CALLER], &count);
	ck_assert_ptr_null(memmem(bytes, count, "message", 7));
	ck_assert_ptr_null(memmem(lab.said[CALLER].bytes, lab.said[CALLER].count, "g\0\0\0\0", 5)); /* nor the group */
}

TEST(a_channel_outlives_what_it_was_made_of)
{
	char group[] = "g";

	give_keys("sixteen bytes of a key", "sixteen bytes of a key");
	lab.ground[ANSWERER].group = group;
	lab_connect(&lab);
	for (int i = 0; i < 2; i++) {
		wh_secure_key_free(lab.ground[i].key);
		wh_secure_tls_free(lab.ground[i].tls);
		lab.ground[i] = (struct wh_secure_ground){.group = NULL};
	}
	group[0] = 'h';
	lab_run(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
	talk(CALLER, 20000);
}

TEST(what_waits_to_be_sent_is_bounded)
{
	static unsigned char bytes[WH_SECURE_PENDING_MAX];
	size_t count;

	lab_meet(&lab);
	while (wh_secure_seal(lab.end[CALLER], bytes, sizeof(bytes)) > 0)
		continue;
	ck_assert_int_eq(wh_secure_seal(lab.end[CALLER], bytes, sizeof(bytes)), 0);
	wh_secure_pending(lab.end[CALLER], &count);
	ck_assert_uint_ge(count, WH_SECURE_PENDING_MAX);
	ck_assert_uint_lt(count, WH_SECURE_PENDING_MAX + WH_SECURE_PENDING_MAX / 16);
	wh_secure_sent(lab.end[CALLER], count);
	ck_assert_int_gt(wh_secure_seal(lab.end[CALLER], bytes, 10), 0);
}

TEST(the_key_is_changed_in_time)
{
	lab.ground[CALLER].rekey_bytes = 1000;
	lab.ground[ANSWERER].rekey_bytes = 1000;
	lab_meet(&lab);
	for (int i = 0; i < 200; i++) {
		talk(CALLER, 1500);
		talk(ANSWERER, 999);
	}
}

TEST(a_byte_changed_on_its_way_ends_it)
{
	for (size_t place = 0; place < 29; place += place < 6 ? 1 : 4) {
		unsigned char bytes[256], out[64];
		const void *pending;
		size_t count;

		lab_meet(&lab);
		ck_assert_int_eq(wh_secure_seal(lab.end[CALLER], "counter", 7), 7);
		pending = wh_secure_pending(lab.end[CALLER], &count);
		ck_assert_uint_lt(place, count);
		memcpy(bytes, pending, count);
		bytes[place] ^= 1;
		wh_secure_feed(lab.end[ANSWERER], bytes, count);
		/* One that makes the record longer waits for the rest of it. */
		ck_assert_int_le(wh_secure_open(lab.end[ANSWERER], out, sizeof(out)), 0);
		ck_assert_int_le(wh_secure_open(lab.end[ANSWERER], out, sizeof(out)), 0);
		ck_assert(place == 3 || place == 4 || lab_is(&lab, ANSWERER, WH_SECURE_REFUSED));
	}
}

/* What is said of that is not that bytes were changed. */
TEST(an_end_in_order_changes_nothing)
{
	unsigned char out[64];
	const void *pending;
	size_t count;

	lab_meet(&lab);
	ck_assert_int_eq(SSL_shutdown(lab.end[CALLER]->tunnel.ssl), 0); /* it has said so, and the other end has not */
	pending = wh_secure_pending(lab.end[CALLER], &count);
	wh_secure_feed(lab.end[ANSWERER], pending, count);
	ck_assert_int_eq(wh_secure_open(lab.end[ANSWERER], out, sizeof(out)), -1);
	ck_assert(lab_is(&lab, ANSWERER, WH_SECURE_REFUSED));
	ck_assert_int_eq(wh_secure_fault(lab.end[ANSWERER]), WH_SECURE_OVER);
	lab_meet(&lab);
	wh_secure_feed(lab.end[ANSWERER], (const unsigned char *)"not a record at all", 19);
	ck_assert_int_eq(wh_secure_open(lab.end[ANSWERER], out, sizeof(out)), -1);
	ck_assert_int_eq(wh_secure_fault(lab.end[ANSWERER]), WH_SECURE_UNPROVEN);
}

TEST(queries_and_nodes_of_several_names)
{
	static const struct certificate_wish query = {.names = "URI:whorl://g/visitor", .from_s = -60, .until_s = 3600};
	static const struct certificate_wish several = {
		.names = "DNS:host,URI:whorl://h/1,URI:whorl://g/4,URI:whorl://g/1", .from_s = -60, .until_s = 3600};

	equip(CALLER, &authority, &several, 1);
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
	equip(CALLER, &authority, &query, WH_SECURE_VISITOR);
	expect_refusal(&lab, "node 2 refuses: the certificate of node 1 has whorl://g/visitor, expected whorl://g/1",
		       "the certificate of node 1 has whorl://g/visitor, expected whorl://g/1");
	lab.ground[CALLER].node = WH_SECURE_VISITOR;
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
	equip(CALLER, &authority, &node_1, WH_SECURE_VISITOR); /* a node may visit too */
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
}

/* ---- refused ------------------------------------------------------------------------------------------------------------- */

TEST_CASE("refused", .setup = begin, .teardown = end);

TEST(one_with_tls_one_without)
{
	struct wh_secure_tls *tls = lab.ground[ANSWERER].tls;

	lab.ground[ANSWERER].tls = NULL;
	expect_refusal(&lab, "node 2 has tls = off, node 1 has tls = on",
		       "the caller has tls = on, node 2 has tls = off");
	lab.ground[ANSWERER].tls = tls;
	tls = lab.ground[CALLER].tls;
	lab.ground[CALLER].tls = NULL;
	expect_refusal(&lab, "node 2 has tls = on, node 1 has tls = off",
		       "the caller has tls = off, node 2 has tls = on");
	lab.ground[CALLER].tls = tls;
}

TEST(the_caller_is_of_another_authority)
{
	equip_wrongly(CALLER, &strangers, &node_1, 1);
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_REFUSED);
	ck_assert_str_eq(wh_secure_reason(lab.end[CALLER]),
			 "node 2 does not accept this end, or its certificate: tlsv1 alert unknown ca");
	ck_assert_ptr_nonnull(
		strstr(wh_secure_reason(lab.end[ANSWERER]), "the certificate of the caller is not accepted: "));
}

TEST(the_answerer_is_of_another_authority)
{
	equip_wrongly(ANSWERER, &strangers, &node_2, 2);
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_REFUSED);
	ck_assert_ptr_nonnull(strstr(wh_secure_reason(lab.end[CALLER]), "the certificate of node 2 is not accepted: "));
	ck_assert_str_eq(wh_secure_reason(lab.end[ANSWERER]),
			 "the caller does not accept this end, or its certificate: tlsv1 alert unknown ca");
}

TEST(certificates_have_their_time)
{
	static const struct certificate_wish past = {.names = "URI:whorl://g/1", .from_s = -3600, .until_s = -60};
	static const struct certificate_wish future = {.names = "URI:whorl://g/1", .from_s = 600, .until_s = 3600};

	equip_wrongly(CALLER, &authority, &past, 1);
	expect_refusal(&lab, "node 2 does not accept this end, or its certificate: sslv3 alert certificate expired",
		       "the certificate of the caller is not accepted: certificate has expired");
	equip_wrongly(CALLER, &authority, &future, 1);
	expect_refusal(&lab, "node 2 does not accept this end, or its certificate: sslv3 alert bad certificate",
		       "the certificate of the caller is not accepted: certificate is not yet valid");
}

/* A test of the check that binds an identity to a certificate: taken out, this fails. */
TEST(a_certificate_is_for_one_node)
{
	lab.ground[CALLER].node = 3; /* with the certificate of node 1 */
	expect_refusal(&lab, "node 2 refuses: the certificate of node 3 has whorl://g/1, expected whorl://g/3",
		       "the certificate of node 3 has whorl://g/1, expected whorl://g/3");
	lab.ground[CALLER].node = 1;
	equip(ANSWERER, &authority, &node_1, 1); /* the answerer for node 2 has the certificate of node 1 */
	expect_refusal(&lab, "the certificate of node 2 has whorl://g/1, expected whorl://g/2",
		       "the caller refuses: the certificate of node 2 has whorl://g/1, expected whorl://g/2");
}

TEST(a_certificate_is_for_one_group)
{
	static const struct certificate_wish names[] = {
		{.names = "URI:whorl://h/1", .from_s = -60, .until_s = 3600},
		{.names = "URI:whorl://g/11", .from_s = -60, .until_s = 3600},
		{.names = "URI:whorl://g/1/2", .from_s = -60, .until_s = 3600},
		{.names = "DNS:whorl.g.1", .from_s = -60, .until_s = 3600},
		{.names = NULL, .from_s = -60, .until_s = 3600},
	};
	struct wh_secure_tls *tls;
	struct paths paths;
	struct wh_error err;

	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		write_files(&authority, &names[i], &paths);
		ck_assert_int_eq(wh_secure_tls_load(&paths.files, "g", 1, &tls, &err), WHORL_CONFIG);
		ck_assert_ptr_nonnull(strstr(err.text, "expected whorl://g/1"));
		ck_assert_ptr_null(tls);
	}
	ck_assert_ptr_nonnull(strstr(err.text, "no name that begins with whorl://"));
	lab.ground[CALLER].group = "h";
	equip(CALLER, &authority, &names[0], 1);
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_REFUSED);
	ck_assert_str_eq(wh_secure_reason(lab.end[CALLER]),
			 "the certificate of node 2 has whorl://g/2, expected whorl://h/2");
}

TEST(files_that_do_not_fit)
{
	static const struct certificate_wish with_phrase = {
		.names = "URI:whorl://g/1", .from_s = -60, .until_s = 3600, .phrase = "secret"};
	struct wh_secure_tls *tls;
	struct paths paths;
	struct wh_error err;
	char other[LAB_PATH_BYTES];

	write_files(&authority, &with_phrase, &paths);
	ck_assert_int_eq(wh_secure_tls_load(&paths.files, "g", 1, &tls, &err), WHORL_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "without a pass phrase"));

	write_files(&authority, &node_1, &paths);
	ck_assert_int_eq(chmod(paths.key, 0640), 0);
	ck_assert_int_eq(wh_secure_tls_load(&paths.files, "g", 1, &tls, &err), WHORL_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "tls_key_file: "));
	ck_assert_ptr_nonnull(strstr(err.text, "may be used by others"));

	lab_path(&lab, "other", other);
	write_private_key(other, authority.key, NULL);
	paths.files.key = other;
	ck_assert_int_eq(wh_secure_tls_load(&paths.files, "g", 1, &tls, &err), WHORL_CONFIG);
	ck_assert_ptr_nonnull(strstr(err.text, "is not the key of the certificate"));

	ck_assert_int_eq(chmod(paths.key, 0600), 0);
	paths.files.key = paths.key;
	paths.files.authority = paths.key;
	ck_assert_int_eq(wh_secure_tls_load(&paths.files, "g", 1, &tls, &err), WHORL_CONFIG);
	ck_assert_int_eq(strncmp(err.text, "tls_authority_file: ", 20), 0);
	paths.files.certificate = "/nowhere";
	ck_assert_int_eq(wh_secure_tls_load(&paths.files, "g", 1, &tls, &err), WHORL_CONFIG);
	ck_assert_int_eq(strncmp(err.text, "tls_certificate_file: /nowhere: ", 32), 0);
}

/* ---- strangers ----------------------------------------------------------------------------------------------------------- */

/* A hello that promises more and more: it is not read for ever, and what it takes is bounded. */
TEST(a_hello_that_does_not_end_is_refused)
{
	unsigned char record[5 + 4096] = {22, 3, 1, 16, 0, 1, 1, 255, 0};
	size_t count, taken = 0;

	lab_connect(&lab);
	lab_carry(&lab, CALLER);
	while (wh_secure_wants(lab.end[ANSWERER]) > 0) {
		taken += wh_secure_feed(lab.end[ANSWERER], record, sizeof(record));
		memset(record + 5, 0, 4);
		ck_assert_uint_le(taken, WH_SECURE_UNPROVEN_MAX);
	}
	ck_assert(lab_is(&lab, ANSWERER, WH_SECURE_REFUSED));
	ck_assert_str_ne(wh_secure_reason(lab.end[ANSWERER]), "");
	wh_secure_pending(lab.end[ANSWERER], &count);
	ck_assert_uint_lt(count, 100);
}

/* A client of OpenSSL's own, with rules of its own, between the preambles and its end. True: TLS would have it. */
static bool shake_hands(SSL_CTX *rules)
{
	struct wh_secure_tls mine = {.ctx = rules, .pipe = lab.ground[CALLER].tls->pipe};
	struct wh_secure_bytes in = {.at = NULL}, out = {.at = NULL};
	struct wh_secure_tunnel tunnel;
	char reason[WH_SECURE_REASON_BYTES];
	int done = 0;

	lab_connect(&lab);
	lab_carry(&lab, CALLER); /* the preamble */
	ck_assert(wh_secure_tunnel_begin(&tunnel, &mine, true, &in, &out));
	for (int i = 0; i < 4 && done >= 0; i++) {
		size_t count;
		const void *bytes;

		done = wh_secure_tunnel_shake(&tunnel, "it", reason);
		wh_secure_feed(lab.end[ANSWERER], out.at + out.begin, wh_secure_bytes_count(&out));
		wh_secure_bytes_take(&out, NULL, wh_secure_bytes_count(&out));
		bytes = wh_secure_pending(lab.end[ANSWERER], &count);
		count -= i == 0 ? 8 : 0; /* its preamble */
		ck_assert(count == 0 || wh_secure_bytes_put(&in, (const char *)bytes + (i == 0 ? 8 : 0), count));
		wh_secure_sent(lab.end[ANSWERER], count + (i == 0 ? 8 : 0));
	}
	wh_secure_tunnel_end(&tunnel);
	wh_secure_bytes_free(&in);
	wh_secure_bytes_free(&out);
	return lab_is(&lab, ANSWERER, WH_SECURE_GOING_ON);
}

TEST(neither_old_versions_nor_nobody)
{
	struct paths paths;
	SSL_CTX *rules = SSL_CTX_new(TLS_method());

	write_files(&authority, &node_1, &paths);
	ck_assert(!shake_hands(rules)); /* without a certificate */
	ck_assert_ptr_nonnull(strstr(wh_secure_reason(lab.end[ANSWERER]), "did not return a certificate"));
	ck_assert_int_eq(SSL_CTX_use_certificate_file(rules, paths.certificate, SSL_FILETYPE_PEM), 1);
	ck_assert_int_eq(SSL_CTX_use_PrivateKey_file(rules, paths.key, SSL_FILETYPE_PEM), 1);
	ck_assert(shake_hands(rules));
	ck_assert_int_eq(SSL_CTX_set_max_proto_version(rules, TLS1_2_VERSION), 1);
	ck_assert(!shake_hands(rules));
	ck_assert_ptr_nonnull(strstr(wh_secure_reason(lab.end[ANSWERER]), "unsupported protocol"));
	SSL_CTX_free(rules);
}

/* ---- both ---------------------------------------------------------------------------------------------------------------- */

TEST_CASE("both", .setup = begin, .teardown = end);

TEST(key_and_certificate)
{
	give_keys("sixteen bytes of a key", "sixteen bytes of a key");
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
	talk(CALLER, 5000);
}

TEST(a_certificate_alone_is_not_enough)
{
	give_keys("sixteen bytes of a key", "sixteen bytes of a kez");
	expect_refusal(&lab, "node 2 refuses: node 1 and node 2 have different cluster keys (key_file)",
		       "node 1 and node 2 have different cluster keys (key_file)");
}

/* One end of what somebody in the middle has to each of the two. */
struct leg {
	struct wh_secure_bytes in, out;
	struct wh_secure_tunnel tunnel;
	bool shaken;
};

/* Moves bytes between the leg and an end until both rest. */
static void settle(struct leg *leg, int end, size_t skip)
{
	char reason[WH_SECURE_REASON_BYTES];

	for (int i = 0; i < 4; i++) {
		size_t count;
		const char *bytes = wh_secure_pending(lab.end[end], &count);

		ck_assert(count <= skip || wh_secure_bytes_put(&leg->in, bytes + skip, count - skip));
		wh_secure_sent(lab.end[end], count);
		skip = 0;
		leg->shaken = leg->shaken || wh_secure_tunnel_shake(&leg->tunnel, "it", reason) == 1;
		wh_secure_feed(lab.end[end], leg->out.at + leg->out.begin, wh_secure_bytes_count(&leg->out));
		wh_secure_bytes_take(&leg->out, NULL, wh_secure_bytes_count(&leg->out));
	}
}

static size_t pass_on(struct leg *from, int from_end, struct leg *to, int to_end)
{
	char bytes[1024], reason[WH_SECURE_REASON_BYTES];
	ptrdiff_t got;
	size_t all = 0;

	settle(from, from_end, 0);
	while ((got = wh_secure_tunnel_read(&from->tunnel, bytes, sizeof(bytes), "it", reason)) > 0) {
		ck_assert_int_eq(wh_secure_tunnel_write(&to->tunnel, bytes, (size_t)got), got);
		all += (size_t)got;
	}
	settle(to, to_end, 0);
	return all;
}

/* Somebody has stolen the certificates of both, but not the key, sits between them, and passes on what each says to the other. The
 * proof of the key is about the TLS connection that it goes through, so it is none on the other. */
TEST(nobody_in_the_middle)
{
	struct leg legs[2] = {0};

	give_keys("sixteen bytes of a key", "sixteen bytes of a key");
	lab_connect(&lab);
	lab_carry(&lab, CALLER);
	lab_carry(&lab, ANSWERER); /* the preambles */
	/* To the caller it is node 2, to the answerer node 1. */
	ck_assert(wh_secure_tunnel_begin(&legs[CALLER].tunnel, lab.ground[ANSWERER].tls, false, &legs[CALLER].in,
					 &legs[CALLER].out));
	ck_assert(wh_secure_tunnel_begin(&legs[ANSWERER].tunnel, lab.ground[CALLER].tls, true, &legs[ANSWERER].in,
					 &legs[ANSWERER].out));
	settle(&legs[CALLER], CALLER, 0);
	settle(&legs[ANSWERER], ANSWERER, 0);
	ck_assert(legs[CALLER].shaken && legs[ANSWERER].shaken);
	ck_assert_uint_eq(pass_on(&legs[CALLER], CALLER, &legs[ANSWERER], ANSWERER), 116); /* CALL */
	ck_assert_uint_eq(pass_on(&legs[ANSWERER], ANSWERER, &legs[CALLER], CALLER), 116); /* ANSWER */
	ck_assert_uint_eq(pass_on(&legs[CALLER], CALLER, &legs[ANSWERER], ANSWERER), 36);  /* PROOF */
	ck_assert(lab_is(&lab, ANSWERER, WH_SECURE_REFUSED));
	ck_assert_str_eq(wh_secure_reason(lab.end[ANSWERER]),
			 "node 1 and node 2 have different cluster keys (key_file)");
	for (int i = 0; i < 2; i++) {
		wh_secure_tunnel_end(&legs[i].tunnel);
		wh_secure_bytes_free(&legs[i].in);
		wh_secure_bytes_free(&legs[i].out);
	}
}

TEST_SUITE("secure_tls")
