/* test_secure_memory.c - memory is out: at every allocation of TLS that begins from the key, in turn.
 * Labels: nosan
 *
 * An end that lacks memory says no more than that it cannot go on: it does not wait for words that never come, and does not say of the other that it has
 * another key.
 */
#include "tests/support/secure_lab.h"
#include "tests/unit/refuse.h"

static struct lab lab;

static void protect(int end)
{
	struct wh_error err;

	ck_assert_msg(wh_secure_tls_of_key(lab.ground[end].key, &lab.ground[end].tls, &err) == WHORL_OK, "%s",
		      err.text);
}

static void begin(void)
{
	lab_with_key(&lab);
	protect(CALLER);
	protect(ANSWERER);
	lab_meet(&lab); /* what OpenSSL makes once is there */
	expect_both(&lab, WH_SECURE_PROVEN);
}

static void end(void)
{
	secure_lab_end(&lab);
}

static long left = -1; /* allocations until one is refused */

/* All that `from` has to say. Check itself allocates: it is refused to nothing else. */
static bool carry(int from)
{
	static unsigned char bytes[LOG_MOST];
	size_t count;
	const void *said = wh_secure_pending(lab.end[from], &count);

	ck_assert_uint_le(count, sizeof(bytes));
	if (count > 0)
		memcpy(bytes, said, count);
	wh_secure_sent(lab.end[from], count);
	refuse_at = left;
	(void)wh_secure_feed(lab.end[!from], bytes, count);
	left = refuse_at;
	refuse_at = -1;
	return count > 0;
}

TEST_CASE("psk", .setup = begin, .teardown = end, .timeout_s = 120);

static bool says(int end, const char *text)
{
	return strstr(wh_secure_reason(lab.end[end]), text) != NULL;
}

/* Until neither has anything more to say. False: no allocation was refused. */
static bool meet_without(long at)
{
	lab_connect(&lab);
	left = at;
	for (bool more = true; more;) {
		more = carry(CALLER);
		more = carry(ANSWERER) || more;
	}
	return left < 0;
}

/* Of alerts that follow one or two may be those of another key, too. */
TEST(a_meeting_ends_or_is_there)
{
	long at = 0, ended = 0, blamed = 0;

	for (; meet_without(at); at++) {
		bool both_wait = lab_is(&lab, CALLER, WH_SECURE_GOING_ON) && lab_is(&lab, ANSWERER, WH_SECURE_GOING_ON);

		ck_assert_msg(!both_wait, "allocation %ld: each waits for the other", at);
		for (int i = 0; i < 2; i++) {
			ended += lab_is(&lab, i, WH_SECURE_REFUSED);
			blamed += says(i, "different cluster keys");
			ck_assert_int_eq(lab_is(&lab, i, WH_SECURE_REFUSED), wh_secure_reason(lab.end[i])[0] != '\0');
			ck_assert(!says(i, "certificate"));
			if (says(i, "malloc failure"))
				ck_assert_int_eq(wh_secure_fault(lab.end[i]), WH_SECURE_STARVED);
		}
	}
	expect_both(&lab, WH_SECURE_PROVEN);
	ck_assert_int_gt(ended, at / 2);
	ck_assert_msg(blamed * 100 < ended, "of %ld ends %ld say that there is another key", ended, blamed);
}

/* Nor is what comes later said to be changed. */
TEST(what_cannot_be_opened_was_not_changed)
{
	unsigned char bytes[256], out[64];
	const void *pending;
	size_t count;
	ptrdiff_t got;

	for (long at = 0;; at++) {
		lab_meet(&lab);
		ck_assert_int_eq(wh_secure_seal(lab.end[CALLER], "counter", 7), 7);
		pending = wh_secure_pending(lab.end[CALLER], &count);
		ck_assert_uint_le(count, sizeof(bytes));
		memcpy(bytes, pending, count);
		ck_assert_uint_eq(wh_secure_feed(lab.end[ANSWERER], bytes, count), count);
		refuse_at = at;
		got = wh_secure_open(lab.end[ANSWERER], out, sizeof(out));
		left = refuse_at;
		refuse_at = -1;
		if (left >= 0)
			break;
		ck_assert(got == -1 || got == 7);
		if (got == -1)
			ck_assert_msg(wh_secure_fault(lab.end[ANSWERER]) == WH_SECURE_STARVED, "%s",
				      wh_secure_reason(lab.end[ANSWERER]));
		ck_assert_int_lt(at, 1000);
	}
	ck_assert_int_eq(got, 7);
}

TEST_SUITE("secure: memory is out")
