/* fuzz_handshake.c - any bytes as the greeting of a connection: nothing may break, no side without the key may be proven, and what
 * is taken of one that has proven nothing is bounded. The first byte says what the rest is:
 *
 *     bit 0   which side the bytes are for: the caller, or the answerer
 *     bit 1   that end has a cluster key
 *     bit 2   ... and TLS (strangers that begin so are tried with a certificate made at the start)
 *     bit 3   the rest is changes to a greeting of two that have the same key: which byte of which end (two bytes), and what
 *             is added to it. A side that was sent a changed byte may not be proven
 *
 *     cmake -S . -B build/fuzz -DCMAKE_C_COMPILER=clang -DWHORL_FUZZ=ON && cmake --build build/fuzz --target fuzz_handshake
 *     build/fuzz/tests/fuzz/fuzz_handshake -max_total_time=600 -max_len=2048 -dict=tests/fuzz/handshake.dict CORPUS_DIRECTORY
 */
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/support/certificates.h"
#include "tests/temporary.h"
#include "transport/secure/secure.h"

#define REQUIRE(condition)                                                                                             \
	do {                                                                                                           \
		if (!(condition))                                                                                      \
			abort();                                                                                       \
	} while (0)

enum { CALLER, ANSWERER };

static struct wh_secure_key *key;
static struct wh_secure_tls *tls;

/* The same numbers in each run: what a nonce is does not matter here. */
static bool not_random(unsigned char *bytes, size_t count)
{
	memset(bytes, 0x5a, count);
	return true;
}

static struct wh_secure_ground ground_of(int end, bool with_key, bool with_tls)
{
	return (struct wh_secure_ground){.key = with_key ? key : NULL,
					 .tls = with_tls ? tls : NULL,
					 .group = "g",
					 .version = 1,
					 .node = end == CALLER ? 1 : 2,
					 .incarnation = 7,
					 .random = not_random};
}

static void make_files(void)
{
	const struct certificate_wish wish = {
		.names = "URI:whorl://g/1,URI:whorl://g/2", .from_s = -60, .until_s = 360000};
	char directory[TEST_PATH_BYTES], names[4][TEST_PATH_BYTES + 16];
	static const char *const endings[] = {"authority", "certificate", "private", "key"};
	struct wh_secure_files files = {.authority = names[0], .certificate = names[1], .key = names[2]};
	struct authority authority;
	FILE *file;

	REQUIRE(mkdtemp(test_temporary(directory, "whorl-fuzz")) != NULL);
	for (int i = 0; i < 4; i++)
		snprintf(names[i], sizeof(names[i]), "%s/%s", directory, endings[i]);
	authority_make(&authority, "authority", names[0]);
	certificate_make(&authority, &wish, names[1], names[2]);
	authority_free(&authority);
	file = fopen(names[3], "w");
	REQUIRE(file != NULL && fputs("sixteen bytes of a key", file) >= 0 && fchmod(fileno(file), 0600) == 0 &&
		fclose(file) == 0);
	REQUIRE(wh_secure_key_load(names[3], &key, NULL) == WHORL_OK);
	REQUIRE(wh_secure_tls_load(&files, "g", 1, &tls, NULL) == WHORL_OK);
	for (int i = 0; i < 4; i++)
		REQUIRE(unlink(names[i]) == 0);
	REQUIRE(rmdir(directory) == 0);
}

/* ---- strangers --------------------------------------------------------------------------------------------------------- */

static void feed_stranger(int end, bool with_key, bool with_tls, const uint8_t *bytes, size_t count)
{
	struct wh_secure_ground ground = ground_of(end, with_key, with_tls);
	struct wh_secure *s;
	size_t taken = 0, now, pending;

	REQUIRE((end == CALLER ? wh_secure_connect(&ground, 2, &s, NULL) : wh_secure_accept(&ground, &s, NULL)) ==
		WHORL_OK);
	while (taken < count && (now = wh_secure_feed(s, bytes + taken, count - taken < 97 ? count - taken : 97)) > 0)
		taken += now;
	wh_secure_pending(s, &pending);
	REQUIRE(pending <= 8192); /* what is said to one that has proven nothing */
	REQUIRE(taken <= (with_tls ? WH_SECURE_UNPROVEN_MAX : 8 + 116 + 204));
	if (with_key || with_tls)
		REQUIRE(wh_secure_state(s) != WH_SECURE_PROVEN);
	if (wh_secure_state(s) == WH_SECURE_REFUSED)
		REQUIRE(wh_secure_reason(s)[0] != '\0' && wh_secure_wants(s) == 0);
	if (wh_secure_state(s) == WH_SECURE_GOING_ON)
		REQUIRE(taken == count && wh_secure_wants(s) > 0);
	for (const char *at = wh_secure_reason(s); *at != '\0'; at++)
		REQUIRE(*at >= ' ' && *at <= '~');
	wh_secure_free(s);
}

/* ---- changes ------------------------------------------------------------------------------------------------------------- */

struct change {
	unsigned end, place, plus;
};

/* What `from` says goes to the other; returns whether there was anything. */
static bool carry(struct wh_secure *ends[2], unsigned from, size_t *passed, const struct change *changes, size_t count,
		  bool changed[2])
{
	unsigned char bytes[1024];
	size_t length;
	const void *pending = wh_secure_pending(ends[from], &length);

	REQUIRE(length <= sizeof(bytes));
	if (length == 0)
		return false;
	memcpy(bytes, pending, length);
	wh_secure_sent(ends[from], length);
	for (size_t i = 0; i < count; i++)
		if (changes[i].end == from && changes[i].place >= *passed && changes[i].place < *passed + length) {
			bytes[changes[i].place - *passed] += (unsigned char)changes[i].plus;
			changed[!from] = changed[!from] || changes[i].plus != 0;
		}
	*passed += length;
	(void)wh_secure_feed(ends[!from], bytes, length);
	return true;
}

static void change_greeting(const uint8_t *bytes, size_t count)
{
	struct wh_secure_ground grounds[2] = {ground_of(CALLER, true, false), ground_of(ANSWERER, true, false)};
	struct change changes[8] = {{.end = 0}};
	size_t change_count = 0, passed[2] = {0};
	bool changed[2] = {false, false}, more;
	struct wh_secure *ends[2];

	for (; count >= 3 && change_count < 8; bytes += 3, count -= 3) {
		struct change next = {bytes[0] & 1, bytes[1], bytes[2]};
		bool again = false;

		for (size_t i = 0; i < change_count; i++)
			again = again || (changes[i].end == next.end && changes[i].place == next.place);
		if (!again) /* two could make up for each other */
			changes[change_count++] = next;
	}
	REQUIRE(wh_secure_connect(&grounds[CALLER], 2, &ends[CALLER], NULL) == WHORL_OK);
	REQUIRE(wh_secure_accept(&grounds[ANSWERER], &ends[ANSWERER], NULL) == WHORL_OK);
	do {
		more = carry(ends, CALLER, &passed[CALLER], changes, change_count, changed);
		more |= carry(ends, ANSWERER, &passed[ANSWERER], changes, change_count, changed);
	} while (more);
	for (int end = 0; end < 2; end++) {
		bool proven = wh_secure_state(ends[end]) == WH_SECURE_PROVEN;

		REQUIRE(!changed[end] || !proven);
		REQUIRE(changed[0] || changed[1] || proven);
	}
	wh_secure_free(ends[CALLER]);
	wh_secure_free(ends[ANSWERER]);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t count)
{
	if (key == NULL)
		make_files();
	if (count == 0)
		return 0;
	if ((bytes[0] & 8) != 0)
		change_greeting(bytes + 1, count - 1);
	else
		feed_stranger(bytes[0] & 1, (bytes[0] & 2) != 0, (bytes[0] & 4) != 0, bytes + 1, count - 1);
	return 0;
}
