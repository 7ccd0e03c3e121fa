/* test_ring.c - rings of slots: claims from any thread, finished in any order, the window, closing, waiting
 * for room. test_ring_views.c has how a ring goes from view to view.
 * Labels: threads
 */
#include "tests/support/ring.h"

/* ---- slots -------------------------------------------------------------------------------------------------------------- */

START_TEST(slots_do_not_overlap)
{
	static const uint32_t sizes[] = {0, 1, 15, 16, 17, 100, 10240, 65536};

	for (size_t k = 0; k < sizeof(sizes) / sizeof(sizes[0]); k++)
		for (int apart = 0; apart < 2; apart++) {
			struct wh_slots slots;
			uint64_t bytes = wh_slots_lay(&slots, 128, 7, sizes[k], apart), end = 128 + bytes;

			for (uint32_t slot = 0; slot < 7; slot++) {
				uint64_t header = slots.headers + (uint64_t)slot * slots.header_stride;
				uint64_t payload = wh_slot_payload(&slots, slot);

				ck_assert_uint_eq(header % 16, 0);
				ck_assert_uint_eq(payload % 16, 0);
				ck_assert_uint_ge(slots.payload_stride, sizes[k]);
				ck_assert_uint_le(payload + sizes[k], end);
				if (slot == 0)
					ck_assert_uint_ge(header, 128);
				if (!apart)
					ck_assert_uint_eq(payload, header + 16);
				else
					ck_assert_uint_ge(payload, slots.headers + 7 * 16);
				if (slot < 6)
					ck_assert_uint_le(payload + sizes[k], wh_slot_payload(&slots, slot + 1));
			}
			ck_assert_uint_eq(wh_slot_next(&slots, 5), 6);
			ck_assert_uint_eq(wh_slot_next(&slots, 6), 0);
		}
}
END_TEST

/* ---- claims ------------------------------------------------------------------------------------------------------------- */

START_TEST(claims_are_numbered_and_placed)
{
	struct bench *b = ring_make(WINDOW, BYTES, _i);

	for (uint64_t number = 0; number < 3 * WINDOW; number++) {
		struct wh_claim c = claim(b);

		ck_assert_uint_eq(c.number, number);
		ck_assert_uint_eq(c.slot, number % WINDOW);
		ck_assert_ptr_eq(c.data, b->place.row + wh_slot_payload(&b->place.slots, c.slot));
		ck_assert_uint_eq((uintptr_t)c.data % 16, 0);
		memset(c.data, 1, BYTES);
		ck_assert_uint_eq(wh_ring_claimed(b->ring), number + 1);
		finish(b, &c, BYTES, false);
		ck_assert_uint_eq(take(b->ring, true), 1);
	}
	ring_discard(b);
}
END_TEST

START_TEST(a_full_window_says_again)
{
	struct bench *b = ring_make(WINDOW, BYTES, true);
	struct wh_claim claims[WINDOW], more;

	for (int i = 0; i < WINDOW; i++) {
		ck_assert(wh_ring_has_room(b->ring));
		claims[i] = claim(b);
	}
	ck_assert(!wh_ring_has_room(b->ring));
	ck_assert_int_eq(wh_ring_claim(b->ring, &more), WHORL_AGAIN);
	ck_assert_int_eq(wh_ring_claim(b->ring, &more), WHORL_AGAIN);
	ck_assert_uint_eq(wh_load_relaxed(&b->ring->window_full), 2);
	finish(b, &claims[0], 1, false);
	take(b->ring, false);
	ck_assert_int_eq(wh_ring_claim(b->ring, &more), WHORL_AGAIN); /* sent is not delivered */
	take(b->ring, true);
	ck_assert_uint_eq(claim(b).number, WINDOW);
	ck_assert_int_eq(wh_ring_claim(b->ring, &more), WHORL_AGAIN);
	ring_discard(b);
}
END_TEST

START_TEST(only_the_finished_prefix_leaves)
{
	struct bench *b = ring_make(WINDOW, BYTES, true);
	struct wh_claim c[WINDOW];
	uint32_t bytes;
	bool aborted;

	for (int i = 0; i < WINDOW; i++)
		c[i] = claim(b);
	ck_assert_uint_eq(take(b->ring, false), 0);
	finish(b, &c[2], 33, false);
	finish(b, &c[1], 0, true);
	ck_assert_uint_eq(take(b->ring, false), 0);
	ck_assert_uint_eq(wh_ring_open_claims(b->ring), 2);
	finish(b, &c[0], BYTES, false);
	ck_assert(wh_ring_ready(b->ring, 0, c[0].slot, &bytes, &aborted) && bytes == BYTES && !aborted);
	ck_assert(wh_ring_ready(b->ring, 1, c[1].slot, &bytes, &aborted) && aborted);
	ck_assert(wh_ring_ready(b->ring, 2, c[2].slot, &bytes, &aborted) && bytes == 33 && !aborted);
	ck_assert_uint_eq(take(b->ring, false), 3);
	ck_assert_uint_eq(wh_ring_open_claims(b->ring), 1);
	finish(b, &c[3], 1, false);
	ck_assert_uint_eq(take(b->ring, true), 1);
	ck_assert_uint_eq(wh_ring_open_claims(b->ring), 0);
	ring_discard(b);
}
END_TEST

/* What is left of a slot's last message does not make its next claim a finished one. */
START_TEST(a_slot_forgets_its_last_message)
{
	struct bench *b = ring_make(1, BYTES, true);

	for (uint64_t number = 0; number < 5; number++) {
		struct wh_claim c = claim(b);

		ck_assert_uint_eq(take(b->ring, true), 0);
		finish(b, &c, 1, number % 2);
		ck_assert_uint_eq(take(b->ring, true), 1);
		ck_assert_uint_eq(take(b->ring, true), 0);
	}
	ring_discard(b);
}
END_TEST

START_TEST(the_largest_window)
{
	struct bench *b = ring_make(32768, 1, true);

	for (uint64_t number = 0; number < 3 * 32768; number++) {
		struct wh_claim c = claim(b);

		ck_assert_uint_eq(c.slot, number % 32768);
		finish(b, &c, 1, false);
		if (number % 1000 == 0)
			take(b->ring, true);
	}
	ring_discard(b);
}
END_TEST

/* Then there is no room, for good. */
START_TEST(numbers_come_to_an_end)
{
	static const uint32_t windows[] = {1, 2, 3, 100, 32768};
	static const uint32_t bits[] = {0, 1, 2, 7, 15};
	struct bench *b = make_idle(windows[_i], 1, true);
	uint64_t end = (UINT64_C(1) << (60 - bits[_i])) - 1, first = end - 1;
	struct wh_claim c;

	ck_assert_uint_eq(b->ring->slot_bits, bits[_i]);
	wh_store_relaxed(&b->ring->claim, UINT64_C(1) << 62 | first << bits[_i] | first % windows[_i]);
	wh_ring_enter(b->ring, &b->place, first, false);
	ck_assert(!wh_ring_ids_exhausted(b->ring));
	c = claim(b);
	ck_assert_uint_eq(c.number, first);
	ck_assert_uint_eq(c.slot, first % windows[_i]);
	ck_assert_int_eq(wh_ring_claim(b->ring, &c), WHORL_AGAIN);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), end);
	ck_assert(!wh_ring_ids_exhausted(b->ring));
	b->ring->freed = end; /* all have delivered it */
	ck_assert(wh_ring_ids_exhausted(b->ring));
	ring_discard(b);
}
END_TEST

/* ---- the gate ------------------------------------------------------------------------------------------------------------ */

START_TEST(a_commit_rings_a_loop_that_sleeps)
{
	struct bench *b = ring_make(WINDOW, BYTES, true);
	struct wh_claim one = claim(b), other = claim(b), third = claim(b);

	finish(b, &one, 1, false);
	ck_assert_uint_eq(wh_load_relaxed(&b->wakes), 0);
	wh_gate_park(b->gate);
	finish(b, &other, 1, true);
	ck_assert_uint_eq(wh_load_relaxed(&b->wakes), 1);
	wh_gate_unpark(b->gate);
	finish(b, &third, 1, false);
	ck_assert_uint_eq(wh_load_relaxed(&b->wakes), 1);
	ring_discard(b);
}
END_TEST

START_TEST(a_loop_is_lent_to_one)
{
	struct bench *b = ring_make(WINDOW, BYTES, true);

	ck_assert(!wh_gate_borrow(b->gate)); /* it runs */
	for (int sleeps = 0; sleeps < 2; sleeps++) {
		wh_gate_lend(b->gate);
		while (!wh_gate_borrow(b->gate))
			;
		ck_assert(!wh_gate_borrow(b->gate));
		ck_assert(!wh_gate_take_back(b->gate));
		wh_gate_give_back(b->gate);
		while (!wh_gate_take_back(b->gate))
			;
		ck_assert(!wh_gate_borrow(b->gate));
	}
	ring_discard(b);
}
END_TEST

/* ---- closing ------------------------------------------------------------------------------------------------------------ */

START_TEST(a_closed_ring_takes_no_claims)
{
	struct bench *b = ring_make(WINDOW, BYTES, true);
	struct wh_claim open = claim(b), more;

	wh_ring_close(b->ring);
	ck_assert_int_eq(wh_ring_claim(b->ring, &more), WHORL_CLOSED);
	ck_assert(wh_ring_has_room(b->ring)); /* no thread waits for what will not come */
	ck_assert(wh_ring_starve(b->ring, 0));
	ck_assert(is_readable(b->ring, 0));
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 1);
	ck_assert_uint_eq(wh_ring_open_claims(b->ring), 1);
	finish(b, &open, 1, false); /* made before: may be finished */
	ck_assert_uint_eq(wh_ring_open_claims(b->ring), 0);
	ck_assert_uint_eq(take(b->ring, true), 1);
	wh_ring_close(b->ring);
	ck_assert_int_eq(wh_ring_claim(b->ring, &more), WHORL_CLOSED);
	ring_discard(b);
}
END_TEST

START_TEST(a_full_ring_that_closes_says_closed)
{
	struct bench *b = ring_make(1, BYTES, true);
	struct wh_claim more;

	claim(b);
	ck_assert(!wh_ring_starve(b->ring, 0));
	ck_assert(!is_readable(b->ring, 0));
	wh_ring_close(b->ring);
	ck_assert(is_readable(b->ring, 0));
	ck_assert_int_eq(wh_ring_claim(b->ring, &more), WHORL_CLOSED);
	ring_discard(b);
}
END_TEST

/* ---- waiting for room ---------------------------------------------------------------------------------------------------- */

START_TEST(room_is_told_to_a_thread_that_asked)
{
	struct bench *b = ring_make(1, BYTES, true);
	struct wh_claim c = claim(b);

	ck_assert(!wh_ring_starve(b->ring, 0));
	ck_assert(!is_readable(b->ring, 0));
	finish(b, &c, 1, false);
	take(b->ring, false);
	ck_assert(!is_readable(b->ring, 0));
	take(b->ring, true);
	ck_assert(is_readable(b->ring, 0));
	ck_assert(is_readable(b->ring, 0)); /* until a thread asks anew */
	ck_assert(wh_ring_starve(b->ring, 0));
	c = claim(b);
	ck_assert(!wh_ring_starve(b->ring, 0));
	ck_assert(!is_readable(b->ring, 0));
	ring_discard(b);
}
END_TEST

START_TEST(room_costs_nothing_when_nobody_asked)
{
	struct bench *b = ring_make(1, BYTES, true);

	for (int k = 0; k < 10; k++) {
		struct wh_claim c = claim(b);

		finish(b, &c, 1, false);
		take(b->ring, true);
		ck_assert(!is_readable(b->ring, 0));
	}
	ring_discard(b);
}
END_TEST

/* ---- many threads --------------------------------------------------------------------------------------------------------- */

#define THREADS 4
#define EACH 5000
#define WAIT_MS 20000

struct crowd {
	struct bench *bench;
	wh_word claimed_by[THREADS * EACH]; /* 1 + the thread */
	wh_word lost;                       /* waits that ended with nothing */
};

struct worker {
	struct crowd *crowd;
	uint64_t id;
	pthread_t thread;
};

static bool claim_patiently(struct crowd *crowd, struct wh_claim *out)
{
	struct wh_ring *ring = crowd->bench->ring;

	while (wh_ring_claim(ring, out) != WHORL_OK)
		if (!wh_ring_starve(ring, 0) && !is_readable(ring, WAIT_MS))
			return false;
	return true;
}

static void *work(void *ctx)
{
	struct worker *worker = ctx;
	struct crowd *crowd = worker->crowd;
	struct wh_claim c[3];

	for (uint64_t k = 0; k < EACH;) {
		uint64_t most = 1 + k % 3, count = 0;

		while (count < most && k + count < EACH) {
			if (count > 0 && wh_ring_claim(crowd->bench->ring, &c[count]) != WHORL_OK)
				break; /* a thread that holds one does not wait for another */
			if (count == 0 && !claim_patiently(crowd, &c[count])) {
				wh_fetch_add(&crowd->lost, 1);
				return NULL;
			}
			count++;
		}
		k += count;
		for (; count > 0; count--) { /* backwards */
			struct wh_claim *last = &c[count - 1];
			uint64_t content[2] = {last->number, worker->id};

			wh_fetch_add(&crowd->claimed_by[last->number], 1 + worker->id);
			memcpy(last->data, content, sizeof(content));
			(void)finish_and_tell(crowd->bench->ring, last, (uint32_t)(last->number % BYTES),
					      last->number % 7 == 0);
		}
	}
	return NULL;
}

/* Every number is claimed once, leaves in order, and holds what its thread put there; no thread waits for ever. */
START_TEST(threads_share_a_ring)
{
	struct crowd *crowd = calloc(1, sizeof(*crowd));
	struct bench *b = ring_make(_i, BYTES, true);
	struct worker workers[THREADS];
	struct wh_ring *ring = b->ring;

	ck_assert_ptr_nonnull(crowd);
	crowd->bench = b;
	for (uint64_t i = 0; i < THREADS; i++) {
		workers[i] = (struct worker){.crowd = crowd, .id = i};
		ck_assert_int_eq(pthread_create(&workers[i].thread, NULL, work, &workers[i]), 0);
	}
	while (ring->sent < THREADS * EACH && wh_load_relaxed(&crowd->lost) == 0) {
		uint64_t content[2], number = ring->sent;
		const unsigned char *data = b->place.row + wh_slot_payload(&b->place.slots, ring->sent_slot);
		uint32_t bytes;
		bool aborted;

		if (!wh_ring_ready(ring, number, ring->sent_slot, &bytes, &aborted)) {
			sched_yield();
			continue;
		}
		memcpy(content, data, sizeof(content));
		ck_assert_uint_eq(content[0], number);
		ck_assert_uint_eq(wh_load_relaxed(&crowd->claimed_by[number]), 1 + content[1]);
		ck_assert_uint_eq(bytes, number % BYTES);
		ck_assert_int_eq(aborted, number % 7 == 0);
		ring->sent++;
		ring->sent_slot = ring->sent_slot + 1 == ring->window ? 0 : ring->sent_slot + 1;
		ck_assert_uint_le(wh_ring_claimed(ring), ring->freed + (uint64_t)_i);
		if (number % 3 == 0 || !wh_ring_has_room(ring)) {
			ring->freed = ring->sent;
			wh_ring_publish_limit(ring);
		}
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(workers[i].thread, NULL), 0);
	ck_assert_uint_eq(wh_load_relaxed(&crowd->lost), 0);
	ck_assert_uint_eq(wh_ring_claimed(ring), THREADS * EACH);
	ck_assert_uint_eq(wh_ring_open_claims(ring), 0);
	ring_discard(b);
	free(crowd);
}
END_TEST

/* ---- threads that claim many at once ------------------------------------------------------------------------------------ */

#define CLAIMERS 3
#define CLAIMS 6000 /* of each, at least */

struct claimer {
	struct bench *bench;
	uint32_t seed;
	wh_word done;
	pthread_t thread;
};

static void *claim_all_the_time(void *ctx)
{
	struct claimer *claimer = ctx;
	struct bench *b = claimer->bench;
	uint32_t x = claimer->seed;

	for (uint32_t made = 0; made < CLAIMS;) {
		uint32_t count = 1 + (x = x * 1103515245 + 12345) / 65536 % WINDOW;
		struct wh_claims claims;

		if (wh_ring_claim_many(b->ring, count, &claims) != WHORL_OK) {
			sched_yield();
			continue;
		}
		for (uint32_t i = count; i-- > 0;) { /* no other thread has it, or it would be overwritten */
			struct wh_claim c = wh_ring_claim_of(&claims, i);

			memcpy(c.data, &c.number, sizeof(c.number));
		}
		for (uint32_t i = count; i-- > 0;) {
			struct wh_claim c = wh_ring_claim_of(&claims, i);

			ck_assert_mem_eq(c.data, &c.number, sizeof(c.number));
			finish(b, &c, sizeof(c.number), (x >> i & 7) == 0);
		}
		made += count;
	}
	wh_store_release(&claimer->done, 1);
	return NULL;
}

START_TEST(threads_claim_many_at_once)
{
	struct bench *b = ring_make(WINDOW, BYTES, false);
	struct claimer claimers[CLAIMERS];
	uint64_t number = 0;
	bool over;

	for (uint32_t i = 0; i < CLAIMERS; i++) {
		claimers[i] = (struct claimer){.bench = b, .seed = 77 + i};
		pthread_create(&claimers[i].thread, NULL, claim_all_the_time, &claimers[i]);
	}
	do {
		over = true;
		for (uint32_t i = 0; i < CLAIMERS; i++)
			over &= wh_load_acquire(&claimers[i].done) != 0;
		for (uint64_t end = number + take(b->ring, false); number < end; number++) {
			const unsigned char *data =
				b->place.row + wh_slot_payload(&b->place.slots, (uint32_t)(number % WINDOW));

			ck_assert_mem_eq(data, &number, sizeof(number));
		}
		if (b->ring->freed != number) { /* looked at: they may be overwritten */
			b->ring->freed = number;
			wh_ring_publish_limit(b->ring);
		}
		sched_yield();
	} while (!over || number < wh_ring_claimed(b->ring));
	for (uint32_t i = 0; i < CLAIMERS; i++)
		pthread_join(claimers[i].thread, NULL);
	ck_assert_uint_eq(number, wh_ring_claimed(b->ring));
	ring_discard(b);
}
END_TEST

/* ---- the bit of a ring ---------------------------------------------------------------------------------------------------- */

START_TEST(a_commit_sets_its_bit_and_no_other)
{
	struct bench *b = ring_make(WINDOW, BYTES, false);
	wh_word words[2] = {5, 1};
	struct wh_claim c;

	wh_ring_use_bit(b->ring, words, 64 + 7);
	ck_assert(!wh_ring_has_committed(b->ring));
	c = claim(b);
	ck_assert(!wh_ring_has_committed(b->ring));
	finish(b, &c, 1, false);
	ck_assert(wh_ring_has_committed(b->ring));
	ck_assert_uint_eq(words[0], 5);
	ck_assert_uint_eq(words[1], 1 | 1 << 7);
	wh_ring_set_committed(b->ring, false);
	ck_assert_uint_eq(words[1], 1);
	c = claim(b);
	finish(b, &c, 0, true); /* an abort is to be sent as well */
	ck_assert_uint_eq(words[1], 1 | 1 << 7);
	ring_discard(b);
}
END_TEST

Suite *suite(void)
{
	Suite *all = suite_create("ring");
	TCase *cases = tcase_create("ring"), *threads = tcase_create("threads");

	tcase_add_test(cases, slots_do_not_overlap);
	tcase_add_loop_test(cases, claims_are_numbered_and_placed, 0, 2);
	tcase_add_test(cases, a_full_window_says_again);
	tcase_add_test(cases, only_the_finished_prefix_leaves);
	tcase_add_test(cases, a_slot_forgets_its_last_message);
	tcase_add_test(cases, the_largest_window);
	tcase_add_loop_test(cases, numbers_come_to_an_end, 0, 5);
	tcase_add_test(cases, a_commit_rings_a_loop_that_sleeps);
	tcase_add_test(cases, a_loop_is_lent_to_one);
	tcase_add_test(cases, a_closed_ring_takes_no_claims);
	tcase_add_test(cases, a_full_ring_that_closes_says_closed);
	tcase_add_test(cases, room_is_told_to_a_thread_that_asked);
	tcase_add_test(cases, room_costs_nothing_when_nobody_asked);
	tcase_add_test(cases, a_commit_sets_its_bit_and_no_other);
	suite_add_tcase(all, cases);
	tcase_set_timeout(threads, 60);
	tcase_add_loop_test(threads, threads_share_a_ring, 1, 6);
	tcase_add_test(threads, threads_claim_many_at_once);
	suite_add_tcase(all, threads);
	return all;
}
