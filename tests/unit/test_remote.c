/* test_remote.c - what transports with regions share: grants, the account of operations, words (transport/remote_account.h). */
#include <string.h>

#include "tests/harness.h"
#include "transport/remote_account.h"

#define ME 3
#define LIFE 99

static struct wh_remote_account account;

static void begin(void)
{
	memset(&account, 0, sizeof(account));
	account.node = ME;
}

static struct wh_remote_event take(void)
{
	struct wh_remote_event event;

	ck_assert(wh_remote_account_next(&account, &event));
	ck_assert_uint_eq(event.node, ME);
	return event;
}

static bool is_empty(void)
{
	struct wh_remote_event event;

	return !wh_remote_account_next(&account, &event);
}

/* ---- grants ------------------------------------------------------------------------------------------------------- */

TEST_CASE("remote", .setup = begin);

TEST(a_grant_is_told_once)
{
	struct wh_remote_event event;

	ck_assert_ptr_null(wh_remote_grant_find(&account, 5));
	ck_assert_ptr_nonnull(wh_remote_grant_add(&account, 5, 64, LIFE));
	ck_assert_ptr_nonnull(wh_remote_grant_find(&account, 5)); /* told or not */
	event = take();
	ck_assert_int_eq(event.kind, WH_REMOTE_GRANTED);
	ck_assert_uint_eq(event.region, 5);
	ck_assert_uint_eq(event.bytes, 64);
	ck_assert_uint_eq(event.incarnation, LIFE);
	ck_assert(is_empty());
	wh_remote_grant_withdraw(&account, wh_remote_grant_find(&account, 5));
	ck_assert_ptr_null(wh_remote_grant_find(&account, 5));
	ck_assert_ptr_null(wh_remote_grant_add(&account, 5, 64, LIFE)); /* its place is taken until that has been told */
	event = take();
	ck_assert_int_eq(event.kind, WH_REMOTE_WITHDRAWN);
	ck_assert_uint_eq(event.region, 5);
	ck_assert(is_empty());
	ck_assert_uint_eq(account.news, 0);
}

TEST(a_grant_that_nobody_heard_of_goes_in_silence)
{
	wh_remote_grant_withdraw(&account, wh_remote_grant_add(&account, 5, 64, LIFE));
	ck_assert(is_empty());
	ck_assert_uint_eq(account.news, 0);
	ck_assert_ptr_nonnull(wh_remote_grant_add(&account, 6, 64, LIFE));
	wh_remote_account_end(&account);
	ck_assert(is_empty());
	ck_assert_ptr_null(wh_remote_grant_find(&account, 6));
}

TEST(grants_are_bounded)
{
	static const uint64_t sizes[] = {0, 1, 7, 12, WH_REMOTE_REGION_MAX + 1, WH_REMOTE_REGION_MAX + 8, UINT64_MAX};

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		ck_assert_ptr_null(wh_remote_grant_add(&account, 5, sizes[i], LIFE));
	for (uint64_t name = 0; name < WH_REMOTE_REGIONS; name++)
		ck_assert_ptr_nonnull(wh_remote_grant_add(&account, name, WH_REMOTE_REGION_MAX, LIFE));
	ck_assert_ptr_null(wh_remote_grant_add(&account, WH_REMOTE_REGIONS, 8, LIFE));
	for (uint64_t name = 0; name < WH_REMOTE_REGIONS; name++)
		ck_assert_int_eq(take().kind, WH_REMOTE_GRANTED);
	wh_remote_grant_withdraw(&account, wh_remote_grant_find(&account, 9));
	ck_assert_int_eq(take().kind, WH_REMOTE_WITHDRAWN);
	ck_assert_ptr_nonnull(wh_remote_grant_add(&account, WH_REMOTE_REGIONS, 8, LIFE));
}

/* A node that takes some events and leaves others has room for all that an owner may grant; and hears of each end. */
TEST(there_is_room_for_all_that_may_be_granted)
{
	uint64_t granted = 0, withdrawn = 0, random = 1, name = 0, told = 0;
	uint64_t open[WH_REMOTE_REGIONS], count = 0;

	for (int round = 0; round < 20000; round++) {
		struct wh_remote_event event;

		random = random * UINT64_C(6364136223846793005) + 1442695040888963407u;
		if (random >> 62 == 0 && wh_remote_account_next(&account, &event)) {
			told += event.kind == WH_REMOTE_GRANTED;
			withdrawn += event.kind == WH_REMOTE_WITHDRAWN;
			ck_assert_uint_le(withdrawn, told);
		} else if (random >> 62 == 1 && count > 0) {
			uint64_t i = (random >> 32) % count;

			wh_remote_grant_withdraw(&account, wh_remote_grant_find(&account, open[i]));
			open[i] = open[--count];
		} else if (count < WH_REMOTE_REGIONS) {
			ck_assert_ptr_nonnull(wh_remote_grant_add(&account, ++name, 8, LIFE));
			open[count++] = name;
			granted++;
		}
	}
	while (count > 0)
		wh_remote_grant_withdraw(&account, wh_remote_grant_find(&account, open[--count]));
	while (!is_empty())
		withdrawn++;
	ck_assert_uint_gt(told, WH_REMOTE_REGIONS);
	ck_assert_uint_lt(told, granted);
	ck_assert_uint_eq(withdrawn, told);
	ck_assert_uint_eq(account.news, 0);
}

/* ---- the account -------------------------------------------------------------------------------------------------- */

static enum whorl_result post(uint64_t cookie)
{
	const struct wh_remote_op op = {.kind = WH_REMOTE_FETCH_ADD, .region = 5, .cookie = cookie};
	struct wh_remote_grant *grant;
	enum whorl_result result = wh_remote_judge(&account, &op, &grant);

	if (result == WHORL_OK)
		wh_remote_posted(&account, &op, grant->incarnation);
	return result;
}

TEST(so_many_are_outstanding)
{
	uint64_t posted = 0, taken = 0;

	ck_assert_int_eq(post(0), WHORL_NOT_FOUND);
	wh_remote_grant_add(&account, 5, 8, LIFE);
	(void)take();
	for (int round = 0; round < 5; round++) {
		while (post(posted) == WHORL_OK)
			posted++;
		ck_assert_uint_eq(posted - taken, WH_REMOTE_OUTSTANDING);
		ck_assert(is_empty());
		for (int k = 0; k < 40; k++) {
			ck_assert_uint_eq(wh_remote_oldest(&account)->op.cookie, taken + (uint64_t)k);
			wh_remote_complete(&account, WHORL_OK, 7 * (taken + (uint64_t)k));
		}
		ck_assert_int_eq(post(posted), WHORL_AGAIN); /* completed is not taken */
		for (int k = 0; k < 40; k++, taken++) {
			struct wh_remote_event event = take();

			ck_assert_int_eq(event.kind, WH_REMOTE_DONE);
			ck_assert_int_eq(event.result, WHORL_OK);
			ck_assert_uint_eq(event.cookie, taken);
			ck_assert_uint_eq(event.value, 7 * taken);
			ck_assert_uint_eq(event.incarnation, LIFE);
		}
		ck_assert(is_empty());
	}
}

TEST(the_end_completes_all_once)
{
	wh_remote_grant_add(&account, 5, 8, LIFE);
	for (uint64_t k = 0; k < 10; k++)
		ck_assert_int_eq(post(k), WHORL_OK);
	wh_remote_complete(&account, WHORL_OK, 1);
	wh_remote_complete(&account, WHORL_NOT_FOUND, 1);
	wh_remote_account_end(&account);
	wh_remote_account_end(&account);
	ck_assert_ptr_null(wh_remote_oldest(&account));
	ck_assert_int_eq(post(10), WHORL_NOT_FOUND);
	for (uint64_t k = 0; k < 10; k++) {
		struct wh_remote_event event = take();

		ck_assert_uint_eq(event.cookie, k);
		ck_assert_uint_eq(event.value, k == 0);
		ck_assert_int_eq(event.result, k == 0 ? WHORL_OK : k == 1 ? WHORL_NOT_FOUND : WHORL_MEMBER_GONE);
	}
	ck_assert(is_empty());
}

/* ---- soundness ---------------------------------------------------------------------------------------------------- */

#define BYTES 65536

/* By another rule than the one that is tested: each byte, by itself, lies in the region. */
static bool fits(uint64_t offset, uint64_t bytes)
{
	for (uint64_t i = 0; i < bytes; i++)
		if (offset + i >= BYTES || offset + i < offset)
			return false;
	return offset <= BYTES && offset % 8 == 0 && bytes % 8 == 0 && bytes <= WH_REMOTE_BYTES_MAX;
}

TEST(what_is_sound)
{
	static const uint64_t offsets[] = {0,
					   1,
					   4,
					   8,
					   BYTES - 8,
					   BYTES - 4096,
					   BYTES,
					   BYTES + 8,
					   BYTES - 16,
					   UINT64_MAX - 7,
					   UINT64_MAX - 4095,
					   BYTES - 4};
	static const uint64_t sizes[] = {0, 1, 8, 12, 16, 4088, 4096, 4104};

	for (size_t o = 0; o < sizeof(offsets) / sizeof(offsets[0]); o++)
		for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
			struct wh_remote_op op = {.offset = offsets[o], .bytes = sizes[s]};
			bool fitting = fits(op.offset, op.bytes);

			op.kind = WH_REMOTE_READ;
			ck_assert_int_eq(wh_remote_is_sound(&op, BYTES), fitting && op.bytes > 0);
			op.kind = WH_REMOTE_WRITE;
			ck_assert_int_eq(wh_remote_is_sound(&op, BYTES), fitting && op.bytes > 0);
			op.kind = WH_REMOTE_WRITE_IMMEDIATE;
			ck_assert_int_eq(wh_remote_is_sound(&op, BYTES), fitting);
			op.kind = WH_REMOTE_FETCH_ADD; /* whatever its size says */
			ck_assert_int_eq(wh_remote_is_sound(&op, BYTES), fits(op.offset, 8));
			op.kind = WH_REMOTE_COMPARE_SWAP;
			ck_assert_int_eq(wh_remote_is_sound(&op, BYTES), fits(op.offset, 8));
			op.kind = (enum wh_remote_kind)(WH_REMOTE_COMPARE_SWAP + 1);
			ck_assert(!wh_remote_is_sound(&op, BYTES));
		}
}

/* ---- on memory ---------------------------------------------------------------------------------------------------- */

TEST(words_are_carried)
{
	wh_word words[8];
	uint64_t from[4] = {1, 2, 3, UINT64_MAX}, into[4] = {0};
	struct wh_remote_op op = {.kind = WH_REMOTE_WRITE, .offset = 16, .bytes = 32, .from = from};

	memset(words, 0, sizeof(words));
	ck_assert_uint_eq(wh_remote_carry_out(words, &op), 0);
	for (uint64_t i = 0; i < 8; i++)
		ck_assert_uint_eq(words[i], i < 2 || i > 5 ? 0 : from[i - 2]);
	op = (struct wh_remote_op){.kind = WH_REMOTE_READ, .offset = 24, .bytes = 32, .into = into};
	ck_assert_uint_eq(wh_remote_carry_out(words, &op), 0);
	ck_assert(into[0] == 2 && into[1] == 3 && into[2] == UINT64_MAX && into[3] == 0);
	op = (struct wh_remote_op){.kind = WH_REMOTE_FETCH_ADD, .offset = 40, .add = 3};
	ck_assert_uint_eq(wh_remote_carry_out(words, &op), UINT64_MAX);
	ck_assert_uint_eq(words[5], 2);
	op = (struct wh_remote_op){.kind = WH_REMOTE_COMPARE_SWAP, .offset = 40, .expected = 3, .desired = 9};
	ck_assert_uint_eq(wh_remote_carry_out(words, &op), 2);
	ck_assert_uint_eq(words[5], 2);
	op.expected = 2;
	ck_assert_uint_eq(wh_remote_carry_out(words, &op), 2);
	ck_assert_uint_eq(words[5], 9);
	op = (struct wh_remote_op){.kind = WH_REMOTE_WRITE_IMMEDIATE, .offset = 64};
	ck_assert_uint_eq(wh_remote_carry_out(words, &op), 0);
}

TEST_SUITE("remote")
