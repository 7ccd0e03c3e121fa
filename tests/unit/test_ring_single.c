/* test_ring_single.c - a ring of which one thread sends (docs/decisions/0071): its claims make no locked instruction, and what a wedge counts
 * stands all the same.
 * Labels: threads
 */
#include <pthread.h>
#include <stdlib.h>

#include "base/rcu.h"
#include "tests/support/ring.h"

/* What happens between a claim's store and its look at the bits. */
static void between(const struct wh_gate *gate);
#define wh_gate_fence(gate) between(gate)
#include "smc/single.h"
#undef wh_gate_fence

static struct bench *single_make(uint32_t window)
{
	struct bench *b = make_idle(window, BYTES, true);

	wh_ring_promise_single(b->ring);
	wh_ring_enter(b->ring, &b->place, 0, false);
	return b;
}

TEST_CASE("claims", .timeout_s = 60);

/* All that is said of claims in ring.h. */
TEST(claims_as_those_of_many)
{
	struct bench *b = single_make(WINDOW);
	struct wh_claims claims;
	struct wh_claim c;

	for (uint64_t number = 0; number < 3 * WINDOW; number++) {
		c = claim(b);
		ck_assert_uint_eq(c.number, number);
		ck_assert_uint_eq(c.slot, number % WINDOW);
		ck_assert_uint_eq(wh_ring_claimed(b->ring), number + 1);
		finish(b, &c, 1, false);
		ck_assert_uint_eq(take(b->ring, true), 1);
	}
	ck_assert_int_eq(wh_ring_claim_many(b->ring, WINDOW, &claims), WHORL_OK);
	ck_assert_uint_eq(claims.number, 3 * WINDOW);
	ck_assert(!wh_ring_has_room(b->ring));
	ck_assert_int_eq(wh_ring_claim(b->ring, &c), WHORL_AGAIN);
	ck_assert_uint_eq(wh_ring_open_claims(b->ring), WINDOW);
	wh_ring_pause(b->ring, true);
	ck_assert_int_eq(wh_ring_claim(b->ring, &c), WHORL_NOT_SENDER);
	wh_ring_pause(b->ring, false);
	for (uint32_t i = 0; i < WINDOW; i++) {
		c = wh_ring_claim_of(&claims, i);
		finish(b, &c, 1, false);
	}
	ck_assert_uint_eq(take(b->ring, true), WINDOW);
	ck_assert_int_eq(wh_ring_claim_parts(b->ring, 2, false, &c), WHORL_OK);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 4 * WINDOW + 2);
	wh_ring_close(b->ring);
	ck_assert_int_eq(wh_ring_claim(b->ring, &c), WHORL_CLOSED);
	ring_discard(b);
}

/* From view to view, and dropped in the end. */
TEST(goes_from_view_to_view)
{
	struct bench *b = single_make(WINDOW);
	struct wh_place next;
	struct wh_claim c;

	place_make(&next, 1, WINDOW, BYTES, true);
	c = claim(b);
	ck_assert_uint_eq(c.home, 0);
	wh_ring_wedge(b->ring);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 1);
	ck_assert_int_eq(wh_ring_claim(b->ring, &c), WHORL_AGAIN);
	wh_ring_enter(b->ring, &next, 0, false);
	ck_assert_uint_eq(b->place.end, 1);
	c = claim(b);
	ck_assert_uint_eq(c.number, 1);
	ck_assert_uint_eq(c.home, 1);
	ck_assert_uint_eq(wh_ring_drop(b->ring, 0), 2); /* it wedges what is not */
	ck_assert_int_eq(wh_ring_claim(b->ring, &c), WHORL_NOT_SENDER);
	ring_discard(b);
	free(next.row);
}

static void *claim_elsewhere(void *ctx)
{
	struct bench *b = ctx;
	struct wh_claim c;

	return (void *)(uintptr_t)wh_ring_claim(b->ring, &c);
}

static int result_elsewhere(struct bench *b)
{
	pthread_t thread;
	void *result;

	ck_assert_int_eq(pthread_create(&thread, NULL, claim_elsewhere, b), 0);
	ck_assert_int_eq(pthread_join(thread, &result), 0);
	return (int)(uintptr_t)result;
}

/* The first that claims is the one that sends; what others get leaves no trace. */
TEST(claims_of_other_threads_are_refused)
{
	struct bench *b = single_make(WINDOW);
	struct wh_claim c = claim(b);

	ck_assert_int_eq(result_elsewhere(b), WHORL_INVALID);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 1);
	finish(b, &c, 1, false);
	c = claim(b);
	ck_assert_uint_eq(c.number, 1);
	ring_discard(b);
}

static void *want_elsewhere(void *ctx)
{
	return wh_ring_want(ctx, 2) ? ctx : NULL;
}

/* While the view changes a claim does not say that it is refused for good, and a thread that wants many slots waits: for nothing that would hold up
 * the one that sends. */
TEST(wants_of_other_threads_hold_up_nothing)
{
	struct bench *b = single_make(WINDOW);
	struct wh_claim c = claim(b);
	pthread_t thread;
	void *wanted;

	finish(b, &c, 1, false);
	ck_assert_int_eq(pthread_create(&thread, NULL, want_elsewhere, b->ring), 0);
	ck_assert_int_eq(pthread_join(thread, &wanted), 0);
	ck_assert_ptr_null(wanted);
	c = claim(b);
	finish(b, &c, 1, false);
	ck_assert(wh_ring_want(b->ring, 2));
	wh_ring_want_no_more(b->ring);
	ring_discard(b);
}

/* As long as the ring lives: another thread that begins when it has ended, and has its handle and its stack, is another. */
TEST(it_is_the_sender_when_it_has_ended)
{
	struct bench *b = single_make(WINDOW);

	ck_assert_int_eq(result_elsewhere(b), WHORL_OK);
	for (int i = 0; i < 10; i++)
		ck_assert_int_eq(result_elsewhere(b), WHORL_INVALID);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 1);
	ring_discard(b);
}

/* ---- a wedge in the middle of a claim ------------------------------------------------------------------------------------ */

static struct wh_ring *wedged_between; /* NULL: nothing happens */
static uint64_t claimed_between;

static void between(const struct wh_gate *gate)
{
	(void)gate;
	if (wedged_between == NULL)
		return;
	wh_ring_wedge(wedged_between);
	claimed_between = wh_ring_claimed(wedged_between);
}

/* The claim of one slot, in a ring of which the slots are WINDOW. */
static uint64_t move_by_one(struct wh_ring *ring)
{
	uint64_t before = wh_load_relaxed(&ring->own) & ~WH_OWN_FROZEN;

	return wh_single_move(ring, before, before + (UINT64_C(1) << ring->slot_bits) + 1);
}

/* It is counted, so it stands. */
TEST(a_claim_before_the_count_stands)
{
	struct bench *b = single_make(WINDOW);

	wedged_between = b->ring;
	ck_assert_uint_eq(move_by_one(b->ring), 0);
	wedged_between = NULL;
	ck_assert_uint_eq(claimed_between, 1);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 1);
	wh_ring_enter(b->ring, &b->place, 0, false);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 1);
	ck_assert_uint_eq(claim(b).number, 1);
	ring_discard(b);
}

/* It is not, so it is taken back; and is not counted meanwhile, nor by a second wedge. */
TEST(a_claim_behind_the_count_is_taken_back)
{
	struct bench *b = single_make(WINDOW);

	ck_assert_uint_eq(claim(b).number, 0);
	wh_ring_wedge(b->ring);
	wedged_between = b->ring;
	ck_assert_uint_ne(move_by_one(b->ring), 0);
	wedged_between = NULL;
	ck_assert_uint_eq(claimed_between, 1);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 1);
	wh_ring_enter(b->ring, &b->place, 0, false);
	ck_assert_uint_eq(wh_ring_claimed(b->ring), 1);
	ck_assert_uint_eq(claim(b).number, 1);
	ring_discard(b);
}

/* ---- a thread that claims while views change ------------------------------------------------------------------------- */

#define MOVES 1000
#define ROOM 256

struct voyage {
	struct bench *bench;
	uint64_t *first; /* [the sender] 1 + the first claim in the place of each view; 0: none */
	uint32_t home;   /* [the sender] of the last claim */
	bool at_once;    /* the next view does not wait for a claim that is under way */
	uint64_t wrong;  /* [the sender] claims that do not follow the one before, or lie in an older place */
	uint64_t count;  /* [the sender] claims */
	wh_word over;
};

static void note_claim(struct voyage *voyage, const struct wh_claim *c)
{
	voyage->wrong += c->number != voyage->count++ || c->home < voyage->home;
	if (voyage->count == 1 || c->home != voyage->home)
		voyage->first[c->home] = c->number + 1;
	voyage->home = c->home;
}

static void *sail(void *ctx)
{
	struct voyage *voyage = ctx;
	struct wh_ring *ring = voyage->bench->ring;
	enum whorl_result result;
	struct wh_claim c;

	while (wh_load_relaxed(&voyage->over) == 0) {
		wh_rcu_read_lock();
		result = wh_ring_claim(ring, &c);
		if (result == WHORL_OK) {
			note_claim(voyage, &c);
			wh_ring_mark(ring, wh_ring_dropped(ring), &c, 1, false);
		}
		wh_rcu_read_unlock();
		if (result == WHORL_AGAIN)
			sched_yield();
	}
	return NULL;
}

/* The next view, in the same memory: nothing of it is looked at. Returns how many claims the wedge has counted. */
static uint64_t move_on(struct voyage *voyage, struct wh_place *place, uint32_t view)
{
	struct wh_ring *ring = voyage->bench->ring;
	uint64_t counted, before = wh_ring_claimed(ring);

	*place = (struct wh_place){
		.row = voyage->bench->place.row, .slots = voyage->bench->place.slots, .home = view, .end = UINT64_MAX};
	do { /* the sender is at it */
		if (take(ring, true) == 0)
			sched_yield();
	} while (wh_ring_claimed(ring) < before + 1 + view % 50);
	wh_ring_wedge(ring);
	counted = wh_ring_claimed(ring);
	if (!voyage->at_once)
		wh_rcu_synchronize();
	wh_ring_enter(ring, place, ring->freed, false);
	return counted;
}

/* Each wedge counts what stands: claims below lie in a place of before, and the next one in that of the next view or of a later one. Of
 * those that are counted the last may be under way, and lie in the next view's place too, where that does not wait for it. */
TEST_LOOP(what_a_wedge_counts_stands, 0, 2)
{
	struct voyage voyage = {
		.bench = single_make(ROOM), .first = calloc(MOVES + 1, sizeof(uint64_t)), .at_once = _i == 1};
	struct wh_place *places = calloc(MOVES + 1, sizeof(*places));
	uint64_t *counted = calloc(MOVES + 1, sizeof(*counted)), next;
	pthread_t sender;

	ck_assert(voyage.first != NULL && places != NULL && counted != NULL);
	ck_assert_int_eq(pthread_create(&sender, NULL, sail, &voyage), 0);
	for (uint32_t view = 1; view <= MOVES; view++)
		counted[view] = move_on(&voyage, &places[view], view);
	wh_store_relaxed(&voyage.over, 1);
	ck_assert_int_eq(pthread_join(sender, NULL), 0);
	ck_assert_uint_eq(voyage.wrong, 0);
	ck_assert_uint_eq(wh_ring_claimed(voyage.bench->ring), voyage.count);
	next = voyage.count; /* the first claim of this view or of a later one */
	for (uint32_t view = MOVES; view > 0; view--) {
		next = voyage.first[view] != 0 ? voyage.first[view] - 1 : next;
		ck_assert_uint_ge(counted[view], next);
		ck_assert_uint_le(counted[view] - next, voyage.at_once ? 1 : 0);
	}
	ring_discard(voyage.bench);
	free(voyage.first);
	free(places);
	free(counted);
}

TEST_SUITE("smc: a ring of which one thread sends")
