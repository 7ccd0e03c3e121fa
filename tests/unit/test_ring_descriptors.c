/* test_ring_descriptors.c - the descriptors of a ring are made when they are asked for: what was asked of it before is told on them
 * as if they had been there from the start, whatever view begins meanwhile.
 * Labels: threads
 */
#include <errno.h>
#include <sys/resource.h>

#include "tests/support/ring.h"

/* A ring with a window of one, which is claimed: it has no room. */
static struct bench *make_full(void)
{
	struct bench *b = make_bare(1, BYTES, true);

	wh_ring_enter(b->ring, &b->place, 0, false);
	(void)claim(b);
	return b;
}

static void make_room(struct bench *b)
{
	struct wh_claim c = {.number = 0, .home = b->place.home};

	finish(b, &c, 1, false);
	ck_assert_uint_eq(take(b->ring, true), 1);
}

static bool is_told(struct wh_ring *ring)
{
	uint64_t count;

	return read(wh_ring_room_fd(ring), &count, sizeof(count)) == sizeof(count) && count == 1;
}

TEST_CASE("descriptors", .timeout_s = 60);

TEST(nothing_is_made_unless_it_is_asked_for)
{
	struct bench *b = make_full();

	wh_ring_arm(b->ring);
	make_room(b);
	wh_ring_wedge(b->ring);
	wh_ring_signal(b->ring);
	wh_ring_close(b->ring);
	ck_assert_uint_eq(wh_load_relaxed(&b->ring->window_fd), 0);
	ck_assert_uint_eq(wh_load_relaxed(&b->ring->room_fd), 0);
	ring_discard(b);
}

/* When the descriptor is asked for: before the arms, in this view, while it is wedged, in the next. */
enum { AT_FIRST, ARMED, WEDGED, IN_THE_NEXT, TIMES };

TEST_LOOP(arms_are_told_however_late_the_descriptor_is, 0, TIMES)
{
	struct bench *b = make_full();
	struct wh_place next;
	struct wh_ring *ring = b->ring;

	place_make(&next, 1, 1, BYTES, true);
	if (_i == AT_FIRST)
		ck_assert(!is_told(ring));
	for (int i = 0; i < 3; i++)
		wh_ring_arm(ring);
	if (_i == ARMED)
		ck_assert(!is_told(ring));
	wh_ring_wedge(ring);
	if (_i == WEDGED)
		ck_assert(!is_told(ring));
	make_room(b); /* a wedged ring has none, whatever is free */
	if (_i == WEDGED)
		ck_assert(!is_told(ring));
	wh_ring_enter(ring, &next, 1, false);
	for (int i = 0; i < 3; i++)
		ck_assert(is_told(ring));
	ck_assert(!is_told(ring));
	ck_assert(!wh_ring_disarm(ring)); /* all have been told */
	wh_ring_forget(ring, &b->place);
	ring_discard(b);
	free(next.row);
}

TEST(what_was_taken_back_is_not_told)
{
	struct bench *b = make_full();

	wh_ring_arm(b->ring);
	wh_ring_arm(b->ring);
	ck_assert(wh_ring_disarm(b->ring));
	make_room(b);
	ck_assert(is_told(b->ring));
	ck_assert(!is_told(b->ring));
	ring_discard(b);
}

/* ---- no descriptors are left ---------------------------------------------------------------------------------------- */

TEST(without_descriptors_a_ring_waits_for_some)
{
	struct bench *b = make_full();
	struct rlimit limit, none;

	ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &limit), 0);
	none = limit;
	none.rlim_cur = 0;
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
	wh_ring_arm(b->ring);
	ck_assert(!wh_ring_starve(b->ring, 0));
	ck_assert_int_eq(wh_ring_window_fd(b->ring), -1);
	ck_assert_int_eq(errno, EMFILE);
	ck_assert_int_eq(wh_ring_room_fd(b->ring), -1);
	ck_assert_int_eq(errno, EMFILE);
	make_room(b);
	ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
	ck_assert(wh_ring_starve(b->ring, 0)); /* there is room */
	ck_assert(is_told(b->ring));
	ring_discard(b);
}

/* ---- threads -------------------------------------------------------------------------------------------------------- */

#define ROUNDS 2000

struct asker {
	struct bench *bench;
	int room_fd, window_fd;
	pthread_t thread;
	pthread_barrier_t *together;
};

static void *ask(void *ctx)
{
	struct asker *asker = ctx;

	pthread_barrier_wait(asker->together);
	wh_ring_arm(asker->bench->ring);
	asker->room_fd = wh_ring_room_fd(asker->bench->ring);
	asker->window_fd = wh_ring_window_fd(asker->bench->ring);
	return NULL;
}

/* Two threads ask at once, while there comes to be room: they get the same, and each is told once. */
TEST(threads_that_ask_at_once_get_the_same)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct bench *b = make_full();
		struct asker askers[2];
		struct pollfd room = {.events = POLLIN};
		pthread_barrier_t together;

		pthread_barrier_init(&together, NULL, 3);
		for (int i = 0; i < 2; i++) {
			askers[i] = (struct asker){.bench = b, .together = &together};
			ck_assert_int_eq(pthread_create(&askers[i].thread, NULL, ask, &askers[i]), 0);
		}
		pthread_barrier_wait(&together);
		make_room(b);
		for (int i = 0; i < 2; i++)
			ck_assert_int_eq(pthread_join(askers[i].thread, NULL), 0);
		ck_assert_int_eq(askers[0].room_fd, askers[1].room_fd);
		ck_assert_int_eq(askers[0].window_fd, askers[1].window_fd);
		wh_ring_signal(
			b->ring); /* for those that armed when there was room already: group/send.c takes that back */
		room.fd = askers[0].room_fd;
		for (int i = 0; i < 2; i++) {
			ck_assert_int_eq(poll(&room, 1, 0), 1);
			ck_assert(is_told(b->ring));
		}
		ck_assert(!is_told(b->ring));
		pthread_barrier_destroy(&together);
		ring_discard(b);
	}
}

TEST_SUITE("ring_descriptors")
