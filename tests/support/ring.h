/* ring.h - a ring on a bench: its place in its first view, and a test that plays the loop. */
#ifndef WH_TESTS_SUPPORT_RING_H
#define WH_TESTS_SUPPORT_RING_H

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include "smc/ring.h"
#include "tests/support/fake.h"

#define WINDOW 4
#define BYTES 100

struct bench {
	struct fake_env env;
	struct wh_gate *gate;
	struct wh_place place; /* of the first view */
	struct wh_ring *ring;
	wh_word wakes;
};

void place_make(struct wh_place *place, uint32_t view, uint32_t window, uint32_t message_bytes, bool apart);

/* A ring that was not in any view yet, and of which no thread has asked for a descriptor. */
struct bench *make_bare(uint32_t window, uint32_t message_bytes, bool apart);
struct bench *make_idle(uint32_t window, uint32_t message_bytes, bool apart);
struct bench *ring_make(uint32_t window, uint32_t message_bytes, bool apart);
void ring_discard(struct bench *b);
struct wh_claim claim(struct bench *b);

/* As a commit or an abort does. False: it had been dropped. */
bool finish_and_tell(struct wh_ring *ring, const struct wh_claim *c, uint32_t bytes, bool aborted);
void finish(struct bench *b, const struct wh_claim *c, uint32_t bytes, bool aborted);

/* What the loop does: takes the finished prefix; as if all had delivered it, if `frees`. Returns how many. */
uint64_t take(struct wh_ring *ring, bool frees);
bool is_readable(struct wh_ring *ring, int timeout_ms);

#endif
