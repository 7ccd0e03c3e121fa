/* test_ring_views.c - how a ring goes from view to view: wedged, moved, at rest, dropped, and a sender again.
 * Labels: random threads
 */
#include "base/rcu.h"
#include "tests/support/ring.h"
#include "transport/dice.h"

/* ---- from view to view --------------------------------------------------------------------------------------------------- */

/* A ring in the middle of its first view: of four messages 0 is delivered by all, 1 is sent, 2 is finished, 3 is open. */
struct stream {
	struct bench *bench;
	struct wh_ring *ring;
	struct wh_place next, last;
	struct wh_claim claims[WINDOW];
};

static void fill(struct wh_claim *c, uint64_t word)
{
	memcpy(c->data, &word, sizeof(word));
}

static struct stream stream_make(void)
{
	struct stream s = {.bench = ring_make(WINDOW, BYTES, true)};

	s.ring = s.bench->ring;
	place_make(&s.next, 1, WINDOW, BYTES, true);
	place_make(&s.last, 2, WINDOW, BYTES, true);
	for (uint64_t i = 0; i < WINDOW; i++) {
		s.claims[i] = claim(s.bench);
		ck_assert_uint_eq(s.claims[i].home, 0);
		fill(&s.claims[i], 100 + i);
		if (i < 3)
			finish(s.bench, &s.claims[i], (uint32_t)(10 + i), false);
		if (i < 2)
			ck_assert_uint_eq(take(s.ring, i == 0), 1);
	}
	return s;
}

static void stream_discard(struct stream *s)
{
	free(s->next.row);
	free(s->last.row);
	ring_discard(s->bench);
}

/* That claim is finished and lies in that place, with what was written to it. */
static void lies_in(const struct stream *s, uint64_t number, const struct wh_place *place)
{
	uint32_t bytes, slot = (uint32_t)(number % WINDOW);
	const unsigned char *data = wh_ring_elsewhere(s->ring, s->ring->place, slot);
	uint64_t word;
	bool aborted;

	ck_assert(wh_ring_ready(s->ring, number, slot, &bytes, &aborted));
	ck_assert_uint_eq(bytes, 10 + number);
	ck_assert(!aborted);
	if (place == s->ring->place)
		ck_assert_ptr_null(data);
	else
		ck_assert_ptr_eq(data, place->row + wh_slot_payload(&place->slots, slot));
	memcpy(&word, place->row + wh_slot_payload(&place->slots, slot), sizeof(word));
	ck_assert_uint_eq(word, 100 + number);
}

TEST_CASE("views");

/* Before its first view claims wait; in those in which it is no sender's they do not. */
TEST(a_ring_without_a_view_takes_no_claims)
{
	struct bench *b = make_idle(WINDOW, BYTES, true);
	struct wh_claim out;

	ck_assert_int_eq(wh_ring_claim(b->ring, &out), WHORL_AGAIN); /* it is not known yet */
	ck_assert(!wh_ring_has_room(b->ring));
	ck_assert_uint_eq(wh_ring_open_claims(b->ring), 0);
	ck_assert_uint_eq(wh_ring_drop(b->ring, 0), 0);
	ck_assert_int_eq(wh_ring_claim(b->ring, &out), WHORL_NOT_SENDER);
	wh_ring_rest(b->ring, 0, false);
	ck_assert_int_eq(wh_ring_claim(b->ring, &out), WHORL_AGAIN);
	wh_ring_enter(b->ring, &b->place, 0, false);
	ck_assert_uint_eq(claim(b).number, 0);
	ring_discard(b);
}

TEST(a_wedged_ring_says_again)
{
	struct stream s = stream_make();
	struct wh_claim out;

	ck_assert_uint_eq(take(s.ring, true), 1); /* 2 */
	ck_assert(wh_ring_has_room(s.ring));
	wh_ring_wedge(s.ring);
	ck_assert(!wh_ring_has_room(s.ring));
	ck_assert_int_eq(wh_ring_claim(s.ring, &out), WHORL_AGAIN);
	ck_assert_uint_eq(wh_load_relaxed(&s.ring->window_full), 0); /* it is not */
	ck_assert(!wh_ring_starve(s.ring, 0));
	ck_assert(!is_readable(s.ring, 0));
	finish(s.bench, &s.claims[3], 13, false); /* made before: may be finished */
	ck_assert_uint_eq(take(s.ring, true), 1);
	ck_assert_int_eq(wh_ring_claim(s.ring, &out), WHORL_AGAIN);
	wh_ring_enter(s.ring, &s.next, 4, false);
	ck_assert(is_readable(s.ring, 0));
	ck_assert_uint_eq(claim(s.bench).number, 4);
	wh_ring_wedge(s.ring);
	wh_ring_close(s.ring);
	ck_assert_int_eq(wh_ring_claim(s.ring, &out), WHORL_CLOSED);
	stream_discard(&s);
}

/* Numbers and slots go on, what was sent is sent again, and each message is found where it was written. */
TEST(a_new_view_goes_on_where_the_old_one_stopped)
{
	struct stream s = stream_make();
	struct wh_claim out;

	wh_ring_wedge(s.ring);
	wh_ring_enter(s.ring, &s.next, 1, false);
	ck_assert_uint_eq(s.ring->sent, 1);
	ck_assert_uint_eq(s.ring->freed, 1);
	ck_assert_uint_eq(s.ring->sent_slot, 1);
	lies_in(&s, 1, &s.bench->place);
	lies_in(&s, 2, &s.bench->place);
	ck_assert_uint_eq(take(s.ring, false), 2); /* 1 again, and 2; 3 is open */
	ck_assert_uint_eq(wh_ring_open_claims(s.ring), 1);
	out = claim(s.bench);
	ck_assert_uint_eq(out.number, 4);
	ck_assert_uint_eq(out.slot, 0);
	ck_assert_uint_eq(out.home, 1);
	ck_assert_ptr_eq(out.data, s.next.row + wh_slot_payload(&s.next.slots, 0));
	ck_assert_int_eq(wh_ring_claim(s.ring, &(struct wh_claim){0}), WHORL_AGAIN); /* 1 is not delivered */
	fill(&out, 104);
	finish(s.bench, &out, 14, false);
	ck_assert_uint_eq(take(s.ring, false), 0);
	finish(s.bench, &s.claims[3], 13, false); /* made in the old view, finished in the new one */
	lies_in(&s, 3, &s.bench->place);
	lies_in(&s, 4, &s.next);
	ck_assert_uint_eq(take(s.ring, true), 2);
	ck_assert_uint_eq(claim(s.bench).number, 5);
	stream_discard(&s);
}

TEST(a_claim_may_be_finished_two_views_later)
{
	struct stream s = stream_make();
	struct wh_claim out;

	wh_ring_wedge(s.ring);
	wh_ring_enter(s.ring, &s.next, 3, false); /* 1 and 2 were below the cut */
	out = claim(s.bench);
	ck_assert_uint_eq(out.number, 4);
	fill(&out, 104);
	finish(s.bench, &out, 14, false);
	wh_ring_wedge(s.ring);
	wh_ring_enter(s.ring, &s.last, 3, false);
	ck_assert_uint_eq(take(s.ring, false), 0);
	finish(s.bench, &s.claims[3], 13, false);
	lies_in(&s, 3, &s.bench->place);
	lies_in(&s, 4, &s.next);
	ck_assert_uint_eq(take(s.ring, true), 2);
	stream_discard(&s);
}

/* A message that was brought home lies in the view that brought it, and the older memory may go. */
TEST(a_message_that_was_brought_home_is_found_there)
{
	struct stream s = stream_make();

	finish(s.bench, &s.claims[3], 13, false);
	wh_ring_wedge(s.ring);
	wh_ring_enter(s.ring, &s.next, 1, false);
	for (uint32_t slot = 1; slot < WINDOW; slot++) {
		memcpy(s.next.row + wh_slot_payload(&s.next.slots, slot),
		       wh_ring_elsewhere(s.ring, s.ring->place, slot), 8);
		wh_ring_came_home(s.ring, slot);
	}
	ck_assert_uint_eq(take(s.ring, false), 3);
	ck_assert(wh_ring_is_done_with(s.ring, &s.bench->place));
	wh_ring_forget(s.ring, &s.bench->place);
	wh_ring_wedge(s.ring);
	wh_ring_enter(s.ring, &s.last, 2, false);
	lies_in(&s, 2, &s.next);
	lies_in(&s, 3, &s.next);
	ck_assert_uint_eq(take(s.ring, true), 2);
	stream_discard(&s);
}

/* An older place is needed as long as one of its claims is open or unsent; the current one always is. */
TEST(a_place_is_forgotten_when_nothing_of_it_is_left)
{
	struct stream s = stream_make();
	struct wh_claim out;

	ck_assert(!wh_ring_is_done_with(s.ring, &s.bench->place));
	wh_ring_wedge(s.ring);
	wh_ring_enter(s.ring, &s.next, 1, false);
	out = claim(s.bench);
	ck_assert(!wh_ring_is_done_with(s.ring, &s.bench->place)); /* 1 to 3 are not sent */
	take(s.ring, false);
	ck_assert(!wh_ring_is_done_with(s.ring, &s.bench->place)); /* 3 is open */
	finish(s.bench, &s.claims[3], 13, true);
	ck_assert(!wh_ring_is_done_with(s.ring, &s.bench->place)); /* and unsent */
	ck_assert_uint_eq(take(s.ring, true), 1);
	ck_assert(wh_ring_is_done_with(s.ring, &s.bench->place));
	ck_assert(!wh_ring_is_done_with(s.ring, &s.next));
	wh_ring_wedge(s.ring);
	wh_ring_enter(s.ring, &s.last, 4, false);
	ck_assert(!wh_ring_is_done_with(s.ring, &s.next)); /* 4 is open */
	finish(s.bench, &out, 14, false);
	take(s.ring, true);
	ck_assert(wh_ring_is_done_with(s.ring, &s.next));
	wh_ring_forget(s.ring, &s.next); /* out of the middle */
	ck_assert_ptr_eq(s.ring->place, &s.last);
	ck_assert_ptr_eq(s.last.older, &s.bench->place);
	wh_ring_forget(s.ring, &s.bench->place);
	ck_assert_ptr_null(s.last.older);
	stream_discard(&s);
}

/* In a view in which no member sends everything waits where it is. */
TEST(a_ring_at_rest_keeps_its_messages)
{
	struct stream s = stream_make();
	struct wh_claim out;

	wh_ring_wedge(s.ring);
	wh_ring_rest(s.ring, 1, false);
	ck_assert_int_eq(wh_ring_claim(s.ring, &out), WHORL_AGAIN);
	ck_assert(!wh_ring_has_room(s.ring));
	ck_assert(!wh_ring_is_done_with(s.ring, &s.bench->place));
	finish(s.bench, &s.claims[3], 13, false);
	ck_assert_uint_eq(wh_ring_settled(s.ring), 1);
	wh_ring_rest(s.ring, wh_ring_settled(s.ring), false); /* and another */
	wh_ring_enter(s.ring, &s.last, wh_ring_settled(s.ring), false);
	for (uint64_t number = 1; number < WINDOW; number++)
		lies_in(&s, number, &s.bench->place);
	ck_assert_uint_eq(take(s.ring, true), 3);
	ck_assert_uint_eq(claim(s.bench).number, 4);
	stream_discard(&s);
}

/* In a view in which this node is no sender what was not delivered is dropped; a thread that finishes it later learns it. */
TEST_LOOP(a_dropped_ring_refuses_what_comes_late, 0, 2)
{
	struct stream s = stream_make();
	struct wh_claim out;

	wh_ring_wedge(s.ring);
	ck_assert_uint_eq(wh_ring_drop(s.ring, 1), 3);
	ck_assert_int_eq(wh_ring_claim(s.ring, &out), WHORL_NOT_SENDER);
	ck_assert(wh_ring_has_room(s.ring));
	ck_assert(is_readable(s.ring, 0)); /* a thread that waits for room learns it */
	ck_assert_uint_eq(wh_ring_settled(s.ring), 4);
	ck_assert_uint_eq(wh_ring_drop(s.ring, 4), 0);             /* the next view, still none */
	ck_assert(!wh_ring_is_done_with(s.ring, &s.bench->place)); /* 3 is open, and not counted */
	wh_ring_count_dropped(s.ring);
	ck_assert_uint_eq(wh_ring_open_claims(s.ring), 1);
	ck_assert(!wh_ring_is_done_with(s.ring, &s.bench->place));
	fill(&s.claims[3], 103); /* its memory is there */
	ck_assert(!finish_and_tell(s.ring, &s.claims[3], 13, _i));
	wh_ring_count_dropped(s.ring);
	ck_assert_uint_eq(wh_ring_open_claims(s.ring), 0);
	ck_assert(wh_ring_is_done_with(s.ring, &s.bench->place));
	wh_ring_forget(s.ring, &s.bench->place);
	ck_assert_ptr_null(s.ring->place);
	stream_discard(&s);
}

/* Dropped twice: a claim of the second time that is finished before any thread has counted is not taken for the one of the first
 * time: the memory of that one must stay. */
TEST(an_open_claim_of_an_earlier_drop_keeps_its_memory)
{
	struct stream s = stream_make();
	struct wh_claim out;

	wh_ring_wedge(s.ring);
	ck_assert_uint_eq(wh_ring_drop(s.ring, 1), 3);
	wh_ring_count_dropped(s.ring); /* 3 is open */
	wh_ring_enter(s.ring, &s.next, 4, false);
	out = claim(s.bench);
	wh_ring_wedge(s.ring);
	ck_assert_uint_eq(wh_ring_drop(s.ring, 4), 1);
	ck_assert(!finish_and_tell(s.ring, &out, 14, false));
	ck_assert(!wh_ring_is_done_with(s.ring, &s.bench->place));
	wh_ring_count_dropped(s.ring);
	ck_assert(!wh_ring_is_done_with(s.ring, &s.bench->place));
	ck_assert(!finish_and_tell(s.ring, &s.claims[3], 13, false));
	ck_assert(wh_ring_is_done_with(s.ring, &s.bench->place));
	ck_assert(wh_ring_is_done_with(s.ring, &s.next));
	stream_discard(&s);
}

/* A sender again. What was dropped stays dropped, though it is finished only now, and though no thread has counted it before
 * (_i). */
TEST_LOOP(a_dropped_ring_sends_again, 0, 2)
{
	struct stream s = stream_make();
	struct wh_claim out;

	wh_ring_wedge(s.ring);
	ck_assert_uint_eq(wh_ring_drop(s.ring, 1), 3);
	if (_i == 0)
		wh_ring_count_dropped(s.ring);
	wh_ring_enter(s.ring, &s.next, wh_ring_settled(s.ring), false);
	ck_assert_uint_eq(wh_ring_open_claims(s.ring), 1);
	for (uint64_t number = 4; number < 4 + WINDOW; number++) {
		out = claim(s.bench);
		ck_assert_uint_eq(out.number, number);
		ck_assert_uint_eq(out.slot, number % WINDOW);
		ck_assert_uint_eq(out.home, 1);
		if (number == 6)
			ck_assert(!finish_and_tell(s.ring, &s.claims[3], 13, false));
		fill(&out, 100 + number);
		finish(s.bench, &out, (uint32_t)(10 + number), false);
		lies_in(&s, number, &s.next);
	}
	ck_assert_uint_eq(take(s.ring, true), WINDOW);
	ck_assert_uint_eq(wh_ring_open_claims(s.ring), 0);
	ck_assert(wh_ring_is_done_with(s.ring, &s.bench->place));
	ck_assert_uint_eq(claim(s.bench).number, 8);
	stream_discard(&s);
}

/* Counting what was dropped has no part in a ring of which nothing was. */
TEST(nothing_dropped_nothing_counted)
{
	struct stream s = stream_make();

	wh_ring_count_dropped(s.ring);
	ck_assert_uint_eq(s.ring->sent, 2);
	ck_assert_uint_eq(s.ring->freed, 1);
	ck_assert_uint_eq(wh_ring_open_claims(s.ring), 1);
	stream_discard(&s);
}

/* ---- many threads, many views ------------------------------------------------------------------------------------------ */

#define THREADS 4
#define WAIT_MS 20000
#define WORDS 8 /* in a message */
#define MESSAGES 8000
#define MOVES_MAX 8000

struct caravan {
	struct bench *bench;
	struct wh_place *places[MOVES_MAX]; /* by view; NULL: forgotten */
	uint32_t view, oldest;
	struct wh_dice dice;
	uint64_t taken;           /* messages below were sent, once at least, or dropped */
	wh_word lost;             /* waits that ended with nothing */
	wh_word claimed, refused; /* by all threads: claims made, and refused when they were finished */
	wh_word gone[MESSAGES];   /* 1: it was refused */
	bool sent[MESSAGES], dropped[MESSAGES];
};

struct rider {
	struct caravan *caravan;
	uint64_t id;
	pthread_t thread;
};

/* As whorl_claim does. */
static enum whorl_result claim_in_lock(struct wh_ring *ring, struct wh_claim *out)
{
	enum whorl_result result;

	wh_rcu_read_lock();
	result = wh_ring_claim(ring, out);
	wh_rcu_read_unlock();
	return result;
}

static bool claim_in_some_view(struct caravan *caravan, struct wh_claim *out)
{
	struct wh_ring *ring = caravan->bench->ring;
	enum whorl_result result;

	while ((result = claim_in_lock(ring, out)) != WHORL_OK)
		if (result == WHORL_NOT_SENDER)
			sched_yield();
		else if (!wh_ring_starve(ring, 0) && !is_readable(ring, WAIT_MS))
			return false;
	return true;
}

static void finish_in_lock(struct caravan *caravan, const struct wh_claim *c)
{
	wh_rcu_read_lock();
	if (!finish_and_tell(caravan->bench->ring, c, WORDS * 8, false)) {
		wh_fetch_add(&caravan->refused, 1);
		wh_store_relaxed(&caravan->gone[c->number], 1);
	}
	wh_rcu_read_unlock();
}

static void *ride(void *ctx)
{
	struct rider *rider = ctx;
	struct caravan *caravan = rider->caravan;
	struct wh_claim c;

	while (wh_fetch_add(&caravan->claimed, 1) < MESSAGES) {
		if (!claim_in_some_view(caravan, &c)) {
			wh_fetch_add(&caravan->lost, 1);
			return NULL;
		}
		for (uint64_t word = 0; word < WORDS; word++) {
			uint64_t content = c.number << 8 | word;

			memcpy(c.data + 8 * word, &content, 8);
			if (word == 3 && (c.number + rider->id) % 5 == 0)
				sched_yield(); /* views change in the middle of it */
		}
		finish_in_lock(caravan, &c);
	}
	return NULL;
}

static struct wh_place *pitch(struct caravan *caravan)
{
	struct wh_place *place = malloc(sizeof(*place));
	struct wh_ring *ring = caravan->bench->ring;

	ck_assert_ptr_nonnull(place);
	ck_assert_uint_lt(caravan->view + 1, MOVES_MAX);
	place_make(place, ++caravan->view, ring->window, ring->message_bytes, true);
	caravan->places[caravan->view] = place;
	return place;
}

/* What the send predicate does. */
static void send_one(struct caravan *caravan)
{
	struct wh_ring *ring = caravan->bench->ring;
	unsigned char *home = ring->place->row + wh_slot_payload(&ring->place->slots, ring->sent_slot);
	const unsigned char *elsewhere = wh_ring_elsewhere(ring, ring->place, ring->sent_slot);

	if (elsewhere != NULL) {
		memcpy(home, elsewhere, WORDS * 8);
		wh_ring_came_home(ring, ring->sent_slot);
	}
	for (uint64_t word = 0; word < WORDS; word++) {
		uint64_t content;

		memcpy(&content, home + 8 * word, 8);
		ck_assert_uint_eq(content, ring->sent << 8 | word);
	}
	caravan->sent[ring->sent] = true;
	ring->sent++;
	ring->sent_slot = ring->sent_slot + 1 == ring->window ? 0 : ring->sent_slot + 1;
	if (ring->sent > caravan->taken)
		caravan->taken = ring->sent;
}

static void deliver_some(struct caravan *caravan)
{
	struct wh_ring *ring = caravan->bench->ring;

	ring->freed += wh_dice_below(&caravan->dice, ring->sent - ring->freed + 1);
	ring->freed_slot = (uint32_t)(ring->freed % ring->window);
	wh_ring_publish_limit(ring);
}

/* The next view: some of what was sent is delivered at its beginning, the rest is sent again; or all is dropped. */
static void move(struct caravan *caravan, bool drops)
{
	struct wh_ring *ring = caravan->bench->ring;
	uint64_t first = ring->freed + wh_dice_below(&caravan->dice, ring->sent - ring->freed + 1);

	wh_ring_wedge(ring);
	if (drops && wh_dice_one_in(&caravan->dice, 4)) {
		uint64_t dropped = wh_ring_drop(ring, first);

		for (uint64_t number = first; number < first + dropped; number++)
			caravan->dropped[number] = true;
		if (wh_dice_one_in(&caravan->dice, 2)) {
			wh_rcu_synchronize();
			wh_ring_count_dropped(ring);
		}
		first = wh_ring_settled(ring);
		caravan->taken = first;
	}
	wh_ring_enter(ring, pitch(caravan), first, false);
}

static void forget_some(struct caravan *caravan)
{
	struct wh_ring *ring = caravan->bench->ring;
	bool synchronized = false;

	for (uint32_t view = caravan->oldest; view < caravan->view; view++) {
		struct wh_place *place = caravan->places[view];

		if (place == NULL || !wh_ring_is_done_with(ring, place))
			continue;
		if (!synchronized)
			wh_rcu_synchronize();
		synchronized = true;
		wh_ring_forget(ring, place);
		if (place != &caravan->bench->place) {
			free(place->row);
			free(place);
		}
		caravan->places[view] = NULL;
	}
	while (caravan->oldest < caravan->view && caravan->places[caravan->oldest] == NULL)
		caravan->oldest++;
}

TEST_CASE("threads", .timeout_s = 60);

/* Threads claim, fill and finish without ever knowing in which view they are, while the ring goes from place to place.
 * Every message is found whole, in order, in whichever memory it was written to; and that memory goes when it may (the
 * sanitizers, and the allocator, would tell). */
TEST_LOOP(threads_send_through_many_views, 0, 2)
{
	struct caravan *caravan = calloc(1, sizeof(*caravan));
	struct rider riders[THREADS];
	struct wh_ring *ring;
	uint32_t bytes;
	bool aborted;

	ck_assert_ptr_nonnull(caravan);
	caravan->bench = ring_make(5, WORDS * 8, true);
	caravan->places[0] = &caravan->bench->place;
	caravan->dice = wh_dice_split(test_seed(1), (uint64_t)_i);
	ring = caravan->bench->ring;
	for (uint64_t i = 0; i < THREADS; i++) {
		riders[i] = (struct rider){.caravan = caravan, .id = i};
		ck_assert_int_eq(pthread_create(&riders[i].thread, NULL, ride, &riders[i]), 0);
	}
	while (caravan->taken < MESSAGES && wh_load_relaxed(&caravan->lost) == 0) {
		if (wh_ring_ready(ring, ring->sent, ring->sent_slot, &bytes, &aborted))
			send_one(caravan);
		else
			sched_yield();
		if (wh_dice_one_in(&caravan->dice, 3))
			deliver_some(caravan);
		if (wh_dice_one_in(&caravan->dice, 8) && caravan->view + 2 < MOVES_MAX)
			move(caravan, _i == 1);
		if (wh_dice_one_in(&caravan->dice, 32))
			forget_some(caravan);
	}
	for (int i = 0; i < THREADS; i++)
		ck_assert_int_eq(pthread_join(riders[i].thread, NULL), 0);
	ck_assert_uint_eq(wh_load_relaxed(&caravan->lost), 0);
	move(caravan, false); /* all is finished: nothing of the older places is needed */
	while (ring->sent < MESSAGES)
		send_one(caravan);
	ck_assert_uint_eq(wh_ring_claimed(ring), MESSAGES);
	ck_assert_uint_eq(wh_ring_open_claims(ring), 0);
	forget_some(caravan);
	ck_assert_uint_eq(caravan->oldest, caravan->view);
	ck_assert_uint_gt(caravan->view, 100);
	for (uint64_t number = 0; number < MESSAGES; number++) {
		ck_assert(caravan->sent[number] || caravan->dropped[number]);
		if (wh_load_relaxed(&caravan->gone[number]) != 0)
			ck_assert(caravan->dropped[number] && !caravan->sent[number]);
	}
	ck_assert_int_eq(wh_load_relaxed(&caravan->refused) > 0, _i);
	free(caravan->places[caravan->view]->row);
	free(caravan->places[caravan->view]);
	ring_discard(caravan->bench);
	free(caravan);
}

TEST_SUITE("ring: views")
