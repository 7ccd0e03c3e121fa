/* test_secure.c - two ends prove to each other that they have the cluster key; every way in which they must not succeed. */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "tests/support/secure_lab.h"

static struct lab lab;

static void open_lab(void)
{
	secure_lab_begin(&lab);
}

static void key_lab(void)
{
	lab_with_key(&lab);
}

static void end(void)
{
	secure_lab_end(&lab);
}

/* ---- open mode --------------------------------------------------------------------------------------------------------- */

START_TEST(open_mode_is_eight_bytes)
{
	char reason[WH_SECURE_REASON_BYTES];

	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
	ck_assert_uint_eq(lab.said[CALLER].count, 8);
	ck_assert_uint_eq(lab.said[ANSWERER].count, 8);
	ck_assert(!wh_secure_wraps(lab.end[CALLER]));
	ck_assert_uint_eq(wh_secure_wants(lab.end[CALLER]), 0);
	ck_assert_uint_eq(wh_secure_peer(lab.end[ANSWERER]).node, WH_SECURE_VISITOR);
	ck_assert(wh_secure_admits(lab.end[ANSWERER], 5, 99, reason));
}
END_TEST

START_TEST(versions_must_be_the_same)
{
	lab.ground[ANSWERER].version = 0x108;
	expect_refusal(&lab, "node 2 speaks version 264 of the protocol, node 1 version 7",
		       "the caller speaks version 7 of the protocol, node 2 version 264");
	expect_faults(&lab, WH_SECURE_FOREIGN, WH_SECURE_FOREIGN);
	ck_assert_uint_eq(wh_secure_spoken(lab.end[CALLER]), 264);
	ck_assert_uint_eq(wh_secure_spoken(lab.end[ANSWERER]), 7);
}
END_TEST

START_TEST(one_with_a_key_one_without)
{
	lab.ground[CALLER].key = secure_lab_key(&lab, "sixteen bytes of a key");
	expect_refusal(&lab, "node 2 has no cluster key (key_file), node 1 has one",
		       "the caller has a cluster key (key_file), node 2 has none");
	lab.ground[ANSWERER].key = lab.ground[CALLER].key;
	lab.ground[CALLER].key = NULL;
	expect_refusal(&lab, "node 2 has a cluster key (key_file), node 1 has none",
		       "the caller has no cluster key (key_file), node 2 has one");
	expect_faults(&lab, WH_SECURE_UNPROVEN, WH_SECURE_UNPROVEN);
}
END_TEST

START_TEST(a_caller_that_says_something_else_is_refused)
{
	static const char *const strangers[] = {"GET / HTTP/1.1\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01", "whorm\0\0\0",
						"whorl\xff\x07"};
	size_t count;

	for (size_t i = 0; i < sizeof(strangers) / sizeof(strangers[0]); i++) {
		lab_connect(&lab);
		ck_assert_uint_eq(wh_secure_feed(lab.end[ANSWERER], strangers[i], 8), 8);
		ck_assert(lab_is(&lab, ANSWERER, WH_SECURE_REFUSED));
		wh_secure_pending(lab.end[ANSWERER], &count);
		ck_assert_uint_eq(count, i < 3 ? 0 : 8); /* a stranger is not answered */
		ck_assert_int_eq(wh_secure_fault(lab.end[ANSWERER]), i < 3 ? WH_SECURE_GARBLED : WH_SECURE_UNPROVEN);
		ck_assert_uint_eq(wh_secure_spoken(lab.end[ANSWERER]), i < 3 ? 0 : 7);
		ck_assert_uint_eq(wh_secure_feed(lab.end[ANSWERER], "more", 4), 0);
	}
	ck_assert_ptr_nonnull(strstr(wh_secure_reason(lab.end[ANSWERER]), "key"));
}
END_TEST

START_TEST(only_this_host_is_loopback)
{
	static const struct {
		const char *address;
		bool is;
	} them[] = {{"127.0.0.1", true},
		    {"127.255.0.9", true},
		    {"128.0.0.1", false},
		    {"10.0.0.1", false},
		    {"0.0.0.0", false},
		    {"::1", true},
		    {"::", false},
		    {"::2", false},
		    {"fe80::1", false},
		    {"::ffff:127.0.0.1", true},
		    {"::ffff:10.0.0.1", false}};

	for (size_t i = 0; i < sizeof(them) / sizeof(them[0]); i++) {
		struct sockaddr_in v4 = {.sin_family = AF_INET};
		struct sockaddr_in6 v6 = {.sin6_family = AF_INET6};
		const struct sockaddr *address = (const struct sockaddr *)&v4;

		if (inet_pton(AF_INET, them[i].address, &v4.sin_addr) != 1) {
			ck_assert_int_eq(inet_pton(AF_INET6, them[i].address, &v6.sin6_addr), 1);
			address = (const struct sockaddr *)&v6;
		}
		ck_assert_msg(wh_secure_is_loopback(address) == them[i].is, "%s", them[i].address);
	}
	ck_assert(!wh_secure_is_loopback(&(struct sockaddr){.sa_family = AF_UNIX}));
}
END_TEST

/* ---- the key ----------------------------------------------------------------------------------------------------------- */

START_TEST(with_the_same_key_both_are_proven)
{
	struct wh_secure_peer peer;

	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
	peer = wh_secure_peer(lab.end[ANSWERER]);
	ck_assert_uint_eq(peer.node, 1);
	ck_assert_uint_eq(peer.incarnation, 0x1111222233334444);
	peer = wh_secure_peer(lab.end[CALLER]);
	ck_assert_uint_eq(peer.node, 2);
	ck_assert_uint_eq(peer.incarnation, 0x5555666677778888);
	ck_assert(!wh_secure_wraps(lab.end[CALLER]));
	ck_assert_int_eq(wh_secure_seal(lab.end[CALLER], "x", 1), -1);
	ck_assert_str_eq(wh_secure_reason(lab.end[CALLER]), "");
}
END_TEST

/* A test of the check that binds what a hello says to what was proven: taken out, this fails. */
START_TEST(a_hello_must_say_what_was_proven)
{
	char reason[WH_SECURE_REASON_BYTES];
	struct wh_secure *s;

	lab_meet(&lab);
	s = lab.end[ANSWERER];
	ck_assert(wh_secure_admits(s, 1, 0x1111222233334444, reason));
	ck_assert(!wh_secure_admits(s, 3, 0x1111222233334444, reason));
	ck_assert_str_eq(reason, "node 1 (1111222233334444) says that it is node 3 (1111222233334444)");
	ck_assert(!wh_secure_admits(s, 1, 0x1111222233334445, reason));
	ck_assert_str_eq(reason, "node 1 (1111222233334444) says that it is node 1 (1111222233334445)");
	ck_assert(!wh_secure_admits(s, WH_SECURE_VISITOR, 0, reason));
	lab_connect(&lab);
	ck_assert(!wh_secure_admits(lab.end[ANSWERER], WH_SECURE_VISITOR, 0, reason)); /* nothing is proven yet */
}
END_TEST

START_TEST(a_query_is_no_node)
{
	char reason[WH_SECURE_REASON_BYTES];

	lab.ground[CALLER].node = WH_SECURE_VISITOR;
	lab.ground[CALLER].incarnation = 0;
	lab_meet(&lab);
	expect_both(&lab, WH_SECURE_PROVEN);
	ck_assert_uint_eq(wh_secure_peer(lab.end[ANSWERER]).node, WH_SECURE_VISITOR);
	ck_assert(wh_secure_admits(lab.end[ANSWERER], WH_SECURE_VISITOR, 0, reason));
	ck_assert(!wh_secure_admits(lab.end[ANSWERER], 1, 0, reason));
	ck_assert_str_eq(reason, "a query (0000000000000000) says that it is node 1 (0000000000000000)");
}
END_TEST

START_TEST(another_key)
{
	wh_secure_key_free(lab.ground[CALLER].key);
	lab.ground[CALLER].key = secure_lab_key(&lab, "sixteen bytes of a kez");
	expect_refusal(&lab, "node 2 refuses: node 1 and node 2 have different cluster keys (key_file)",
		       "node 1 and node 2 have different cluster keys (key_file)");
	expect_faults(&lab, WH_SECURE_TURNED_DOWN, WH_SECURE_UNPROVEN);
}
END_TEST

START_TEST(another_group)
{
	lab.ground[CALLER].group = "ga";
	expect_refusal(&lab, "node 2 refuses: node 1 is of group ga, node 2 of group g",
		       "node 1 is of group ga, node 2 of group g");
	expect_faults(&lab, WH_SECURE_TURNED_DOWN, WH_SECURE_FOREIGN);
}
END_TEST

START_TEST(another_node_than_the_one_called)
{
	lab.ground[ANSWERER].node = 3;
	expect_refusal(&lab, "node 2 refuses: node 1 calls node 2, and this is node 3",
		       "node 1 calls node 2, and this is node 3");
	expect_faults(&lab, WH_SECURE_TURNED_DOWN, WH_SECURE_FOREIGN);
}
END_TEST

START_TEST(two_of_one_id)
{
	lab.ground[CALLER].node = 2;
	expect_refusal(&lab, "node 2 refuses: there are two nodes with the id 2", "there are two nodes with the id 2");
	expect_faults(&lab, WH_SECURE_TURNED_DOWN, WH_SECURE_FOREIGN);
}
END_TEST

/* ---- bytes that were changed, cut off, repeated, sent back -------------------------------------------------------------- */

/* An end that has not got the last byte of the other is not proven, however many it has. Only the caller's proof comes before the
 * answerer's last message, so the answerer may be proven already when the caller is not. */
START_TEST(cut_off_after_each_byte)
{
	size_t total[2];

	lab_meet(&lab);
	for (int from = 0; from < 2; from++)
		total[from] = lab.said[from].count;
	for (int from = 0; from < 2; from++) {
		for (size_t cut = 0; cut < total[from]; cut++) {
			size_t passed = 0, count, at;

			lab_connect(&lab);
			do {
				lab_carry(&lab, !from);
				at = lab_listen(&lab, from, &count);
				for (size_t i = 0; i < count && passed < cut; i++, passed++)
					wh_secure_feed(lab.end[!from], lab.said[from].bytes + at + i, 1);
			} while (count > 0);
			ck_assert_uint_eq(passed, cut);
			ck_assert_msg(lab_is(&lab, !from, WH_SECURE_GOING_ON), "%zu of %zu", cut, total[from]);
			ck_assert_uint_gt(wh_secure_wants(lab.end[!from]), 0);
		}
	}
}
END_TEST

/* Carries all, with `flip` changed in byte `place` of what `from` says. */
static void run_with_a_change(int from, size_t place, unsigned char flip)
{
	size_t count, at;

	lab_connect(&lab);
	do {
		lab_carry(&lab, !from);
		at = lab_listen(&lab, from, &count);
		for (size_t i = 0; i < count; i++) {
			unsigned char byte = lab.said[from].bytes[at + i];

			byte ^= at + i == place ? flip : 0;
			wh_secure_feed(lab.end[!from], &byte, 1);
		}
	} while (count > 0);
}

START_TEST(each_byte_changed)
{
	size_t total[2];

	lab_meet(&lab);
	for (int from = 0; from < 2; from++)
		total[from] = lab.said[from].count;
	for (int from = 0; from < 2; from++)
		for (size_t place = 0; place < total[from]; place++)
			for (unsigned flip = 1; flip < 256; flip *= 2) {
				run_with_a_change(from, place, (unsigned char)flip);
				ck_assert_msg(!lab_is(&lab, !from, WH_SECURE_PROVEN), "bit %x of byte %zu", flip,
					      place);
			}
	run_with_a_change(CALLER, 0, 0);
	expect_both(&lab, WH_SECURE_PROVEN);
}
END_TEST

START_TEST(what_was_said_before_is_no_proof)
{
	for (int from = 0; from < 2; from++) {
		unsigned char record[1024];
		size_t count, fed;

		lab_meet(&lab);
		expect_both(&lab, WH_SECURE_PROVEN);
		count = lab.said[from].count;
		ck_assert_uint_le(count, sizeof(record));
		memcpy(record, lab.said[from].bytes, count);
		lab_connect(&lab);
		fed = wh_secure_feed(lab.end[!from], record, count);
		ck_assert_uint_eq(fed, count);
		ck_assert(lab_is(&lab, !from, WH_SECURE_REFUSED));
		ck_assert_str_eq(wh_secure_reason(lab.end[!from]),
				 from == CALLER ? "node 1 and node 2 have different cluster keys (key_file)"
						: "node 2 and node 1 have different cluster keys (key_file)");
	}
}
END_TEST

/* Somebody without the key answers the caller with its own words: as far as they can be made to fit. */
START_TEST(its_own_words_are_no_proof)
{
	unsigned char message[256];
	size_t count, at;

	lab_connect(&lab);
	at = lab_listen(&lab, CALLER, &count);
	wh_secure_feed(lab.end[CALLER], lab.said[CALLER].bytes + at, count); /* the preamble */
	at = lab_listen(&lab, CALLER, &count);
	memcpy(message, lab.said[CALLER].bytes + at, count);
	ck_assert_uint_eq(message[0], 1);
	message[0] = 2; /* its CALL as an ANSWER, from node 2 to node 1 */
	message[4] = 2;
	message[8] = 1;
	ck_assert_uint_eq(wh_secure_feed(lab.end[CALLER], message, count), count);
	at = lab_listen(&lab, CALLER, &count);
	ck_assert(lab_is(&lab, CALLER, WH_SECURE_GOING_ON));
	ck_assert_uint_eq(lab.said[CALLER].bytes[at], 3);
	lab.said[CALLER].bytes[at] = 4; /* its PROOF as a DONE */
	ck_assert_uint_eq(wh_secure_feed(lab.end[CALLER], lab.said[CALLER].bytes + at, count), count);
	ck_assert(lab_is(&lab, CALLER, WH_SECURE_REFUSED));
}
END_TEST

/* ---- what no node says -------------------------------------------------------------------------------------------------- */

/* Feeds the answerer the preamble, and then this; returns how much of it was taken. */
static size_t say_to_answerer(const void *bytes, size_t count)
{
	size_t length, at;

	lab_connect(&lab);
	at = lab_listen(&lab, CALLER, &length);
	ck_assert_uint_eq(wh_secure_feed(lab.end[ANSWERER], lab.said[CALLER].bytes + at, length), length);
	return wh_secure_feed(lab.end[ANSWERER], bytes, count);
}

START_TEST(lengths_that_no_message_has)
{
	static const unsigned char heads[][4] = {{1, 0, 0, 0},   {1, 0, 111, 0},      {1, 0, 113, 0}, {1, 0, 112, 1},
						 {1, 1, 112, 0}, {1, 0, 255, 255},    {2, 0, 112, 0}, {3, 0, 32, 0},
						 {4, 0, 32, 0},  {5, 0, 0, 0},        {5, 0, 201, 0}, {0, 0, 112, 0},
						 {6, 0, 10, 0},  {255, 255, 255, 255}};

	for (size_t i = 0; i < sizeof(heads) / sizeof(heads[0]); i++) {
		unsigned char bytes[300] = {0};

		memcpy(bytes, heads[i], 4);
		ck_assert_uint_eq(say_to_answerer(bytes, sizeof(bytes)), 4); /* and not a byte more */
		ck_assert(lab_is(&lab, ANSWERER, WH_SECURE_REFUSED));
		ck_assert_str_eq(wh_secure_reason(lab.end[ANSWERER]), "the caller says what no node says");
		ck_assert_int_eq(wh_secure_fault(lab.end[ANSWERER]), WH_SECURE_GARBLED);
		ck_assert_uint_eq(wh_secure_wants(lab.end[ANSWERER]), 0);
	}
}
END_TEST

START_TEST(calls_that_no_node_makes)
{
	unsigned char good[116], bad[116];
	size_t count, at;

	ck_assert_uint_eq(say_to_answerer("", 0), 0);
	lab_carry(&lab, ANSWERER);
	at = lab_listen(&lab, CALLER, &count);
	ck_assert_uint_eq(count, sizeof(good));
	memcpy(good, lab.said[CALLER].bytes + at, count);
	ck_assert_uint_eq(say_to_answerer(good, sizeof(good)), sizeof(good));
	ck_assert(lab_is(&lab, ANSWERER, WH_SECURE_GOING_ON));
	for (int i = 0; i < 4; i++) {
		memcpy(bad, good, sizeof(bad));
		if (i == 0)
			memset(bad + 12, 0, 8); /* no incarnation */
		else if (i == 1)
			memset(bad + 52, 0, 64); /* no group */
		else if (i == 2)
			memset(bad + 52, 'g', 64); /* a group without end */
		else
			bad[115] = 1; /* something behind it */
		ck_assert_uint_eq(say_to_answerer(bad, sizeof(bad)), sizeof(bad));
		ck_assert_msg(lab_is(&lab, ANSWERER, WH_SECURE_REFUSED), "%d", i);
		ck_assert_str_eq(wh_secure_reason(lab.end[ANSWERER]), "the caller says what no node says");
		ck_assert_int_eq(wh_secure_fault(lab.end[ANSWERER]), WH_SECURE_GARBLED);
	}
}
END_TEST

START_TEST(a_reason_cannot_harm_a_terminal)
{
	unsigned char message[204] = {5, 0, 200, 0};

	memset(message + 4, '\x1b', 200);
	memcpy(message + 4, "no\n\xc3", 4);
	ck_assert_uint_eq(say_to_answerer(message, sizeof(message)), sizeof(message));
	ck_assert(lab_is(&lab, ANSWERER, WH_SECURE_REFUSED));
	ck_assert_int_eq(strncmp(wh_secure_reason(lab.end[ANSWERER]), "the caller refuses: no????", 26), 0);
	ck_assert_int_eq(wh_secure_fault(lab.end[ANSWERER]), WH_SECURE_TURNED_DOWN);
}
END_TEST

/* What comes right behind the proof stays with the caller of the channel. */
START_TEST(application_bytes_are_not_taken)
{
	size_t count, at;
	unsigned char together[64] = {0};

	lab_connect(&lab);
	for (int i = 0; i < 2; i++) {
		lab_carry(&lab, CALLER);
		lab_carry(&lab, ANSWERER);
	}
	at = lab_listen(&lab, CALLER, &count);
	ck_assert_uint_eq(count, 36);
	memcpy(together, lab.said[CALLER].bytes + at, count);
	ck_assert_uint_eq(wh_secure_wants(lab.end[ANSWERER]), 4);
	ck_assert_uint_eq(wh_secure_feed(lab.end[ANSWERER], together, sizeof(together)), 36);
	ck_assert(lab_is(&lab, ANSWERER, WH_SECURE_PROVEN));
}
END_TEST

static bool no_random(unsigned char *bytes, size_t count)
{
	(void)bytes;
	(void)count;
	return false;
}

START_TEST(without_random_numbers_there_is_no_channel)
{
	struct wh_secure *s;
	struct wh_error err;

	lab.ground[CALLER].random = no_random;
	ck_assert_int_eq(wh_secure_connect(&lab.ground[CALLER], 2, &s, &err), WHORL_SYSTEM);
	ck_assert_ptr_null(s);
}
END_TEST

Suite *suite(void)
{
	Suite *suite = suite_create("secure");
	TCase *open = tcase_create("open"), *key = tcase_create("key"), *bytes = tcase_create("bytes");

	tcase_add_checked_fixture(open, open_lab, end);
	tcase_add_test(open, open_mode_is_eight_bytes);
	tcase_add_test(open, versions_must_be_the_same);
	tcase_add_test(open, one_with_a_key_one_without);
	tcase_add_test(open, a_caller_that_says_something_else_is_refused);
	tcase_add_test(open, only_this_host_is_loopback);
	suite_add_tcase(suite, open);

	tcase_add_checked_fixture(key, key_lab, end);
	tcase_add_test(key, with_the_same_key_both_are_proven);
	tcase_add_test(key, a_hello_must_say_what_was_proven);
	tcase_add_test(key, a_query_is_no_node);
	tcase_add_test(key, another_key);
	tcase_add_test(key, another_group);
	tcase_add_test(key, another_node_than_the_one_called);
	tcase_add_test(key, two_of_one_id);
	tcase_add_test(key, without_random_numbers_there_is_no_channel);
	suite_add_tcase(suite, key);

	tcase_add_checked_fixture(bytes, key_lab, end);
	tcase_add_test(bytes, cut_off_after_each_byte);
	tcase_add_test(bytes, each_byte_changed);
	tcase_add_test(bytes, what_was_said_before_is_no_proof);
	tcase_add_test(bytes, its_own_words_are_no_proof);
	tcase_add_test(bytes, lengths_that_no_message_has);
	tcase_add_test(bytes, calls_that_no_node_makes);
	tcase_add_test(bytes, a_reason_cannot_harm_a_terminal);
	tcase_add_test(bytes, application_bytes_are_not_taken);
	suite_add_tcase(suite, bytes);
	return suite;
}
