/* test_ring_many.c - claims of several slots at once, and what a ring tells of its messages from view to view. test_ring.c has threads
 * that claim many at once. */
#include <stdlib.h>

#include "tests/support/ring.h"

static enum whorl_result claim_many(struct bench *b, uint32_t count, struct wh_claims *out)
{
	return wh_ring_claim_many(b->ring, count, out);
}

TEST_CASE("many", .timeout_s = 60);

/* Wherever they begin they follow each other, around the end too; each lies where a claim of its own would. */
TEST_LOOP(they_follow_each_other, 0, 2)
{
	struct bench *b = ring_make(WINDOW, BYTES, _i);
	struct wh_claims claims;
	uint64_t number = 0;

	for (uint32_t round = 0; round < 40; round++) {
		uint32_t count = 1 + round % WINDOW;

		ck_assert_int_eq(claim_many(b, count, &claims), WHORL_OK);
		for (uint32_t i = 0; i < count; i++, number++) {
			struct wh_claim c = wh_ring_claim_of(&claims, i);

			ck_assert_uint_eq(c.number, number);
			ck_assert_uint_eq(c.slot, number % WINDOW);
			ck_assert_ptr_eq(c.data, b->place.row + wh_slot_payload(&b->place.slots, c.slot));
			finish(b, &c, BYTES, i % 2);
		}
		ck_assert_uint_eq(wh_ring_claimed(b->ring), number);
		ck_assert_uint_eq(take(b->ring, true), count);
	}
	ring_discard(b);
}

TEST(all_or_none)
{
	struct bench *b = ring_make(WINDOW, BYTES, false);
	struct wh_claims claims;
	struct wh_claim first = claim(b);

	ck_assert_int_eq(claim_many(b, WINDOW, &claims), WHORL_AGAIN);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 1);
	ck_assert_int_eq(claim_many(b, WINDOW - 1, &claims), WHORL_OK);
	ck_assert_int_eq(claim_many(b, 1, &claims), WHORL_AGAIN);
	finish(b, &first, 0, false);
	take(b->ring, true);
	ck_assert_int_eq(claim_many(b, 2, &claims), WHORL_AGAIN);
	ck_assert_int_eq(claim_many(b, 1, &claims), WHORL_OK);
	ck_assert_uint_eq(claims.number, WINDOW);
	wh_ring_wedge(b->ring);
	ck_assert_int_eq(claim_many(b, 1, &claims), WHORL_AGAIN);
	wh_ring_close(b->ring);
	ck_assert_int_eq(claim_many(b, 1, &claims), WHORL_CLOSED);
	ring_discard(b);
}

/* As long as many are wanted others find no room, and do not keep the signal. */
TEST(many_are_wanted)
{
	struct bench *b = ring_make(WINDOW, BYTES, false);
	struct pollfd room = {.fd = wh_ring_window_fd(b->ring), .events = POLLIN};
	struct wh_claim c;

	for (uint32_t i = 0; i < WINDOW - 1; i++) {
		c = claim(b);
		finish(b, &c, 0, false);
	}
	ck_assert(wh_ring_want(b->ring, WINDOW));
	ck_assert(!wh_ring_want(b->ring, 2));
	ck_assert_int_eq(wh_ring_claim(b->ring, &c), WHORL_AGAIN);
	ck_assert_int_eq(wh_ring_claim_parts(b->ring, 1, false, &c), WHORL_AGAIN);
	ck_assert(!wh_ring_has_room(b->ring));
	ck_assert(!wh_ring_has_room_for(b->ring, WINDOW));
	ck_assert(!wh_ring_starve(b->ring, WINDOW));
	ck_assert_uint_eq(take(b->ring, true), WINDOW - 1);
	ck_assert_int_eq(poll(&room, 1, 0), 1);
	ck_assert(!wh_ring_starve(b->ring, 0)); /* it was not for this one */
	ck_assert_int_eq(poll(&room, 1, 0), 1);
	ck_assert(wh_ring_starve(b->ring, WINDOW));
	ck_assert_int_eq(wh_ring_claim_parts(b->ring, WINDOW, true, &c), WHORL_OK);
	wh_ring_want_no_more(b->ring);
	ck_assert(wh_ring_mark_parts(b->ring, 0, &c, WINDOW, BYTES + 1, false));
	for (uint32_t i = 0; i < WINDOW; i++) {
		uint32_t bytes;
		bool aborted;

		ck_assert(wh_ring_ready(b->ring, c.number + i, (c.slot + i) % WINDOW, &bytes, &aborted));
		ck_assert_uint_eq(bytes & WH_READY_MORE, i + 1 < WINDOW ? WH_READY_MORE : 0);
		ck_assert_uint_eq(bytes & ~WH_READY_MORE, i == 0 ? BYTES : i == 1);
	}
	take(b->ring, true);
	ck_assert_int_eq(wh_ring_claim(b->ring, &c), WHORL_OK);
	finish(b, &c, 0, false);
	take(b->ring, true);
	ring_discard(b);
}

/* ---- from view to view ------------------------------------------------------------------------------------------------- */

static uint64_t delivered(const struct bench *b)
{
	return wh_frontier_past(&b->ring->frontiers, WH_DELIVERED_BY_ALL);
}

static void send_some(struct bench *b, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct wh_claim c = claim(b);

		finish(b, &c, 0, false);
	}
	take(b->ring, false);
}

static void free_up_to(struct bench *b, uint64_t number)
{
	b->ring->freed = number;
	wh_ring_publish_limit(b->ring);
}

/* What this node had delivered, others may be at work on. */
TEST(a_new_view_tells_nothing_before_all_have_begun_it)
{
	struct bench *b = ring_make(WINDOW, BYTES, false);
	struct wh_place next;

	wh_ring_release(b->ring);
	send_some(b, 3);
	free_up_to(b, 1);
	ck_assert_uint_eq(delivered(b), 1);
	wh_ring_wedge(b->ring);
	place_make(&next, 1, WINDOW, BYTES, false);
	wh_ring_release(b->ring);
	wh_ring_enter(b->ring, &next, 2, false);
	ck_assert_uint_eq(delivered(b), 1);
	free_up_to(b, 3);
	ck_assert_uint_eq(delivered(b), 1);
	ck_assert_uint_eq(wh_load_relaxed(&b->ring->limit), 3 + WINDOW); /* the window is open all the same */
	wh_ring_release(b->ring);
	ck_assert_uint_eq(delivered(b), 3);
	wh_ring_forget(b->ring, &next);
	free(next.row);
	ring_discard(b);
}

/* What is dropped is past when the program has been told. */
TEST(dropped_messages_are_past_in_the_end)
{
	struct bench *b = ring_make(WINDOW, BYTES, false);

	wh_ring_release(b->ring);
	send_some(b, 3);
	free_up_to(b, 1);
	wh_ring_wedge(b->ring);
	wh_ring_release(b->ring);
	ck_assert_uint_eq(wh_ring_drop(b->ring, 2), 1);
	ck_assert_uint_eq(delivered(b), 1);
	wh_ring_release(b->ring);
	ck_assert_uint_eq(delivered(b), 3);
	ck_assert_uint_eq(wh_frontier_past(&b->ring->frontiers, WH_RECEIVED_BY_ALL), 3);
	wh_ring_count_dropped(b->ring);
	ring_discard(b);
}

TEST_SUITE("smc: many claims, and frontiers of a ring")
