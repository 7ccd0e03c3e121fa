#include "tests/support/ring.h"

static void wake(void *ctx)
{
	struct bench *b = ctx;

	wh_fetch_add(&b->wakes, 1);
}

void place_make(struct wh_place *place, uint32_t view, uint32_t window, uint32_t message_bytes, bool apart)
{
	uint64_t bytes;

	*place = (struct wh_place){.home = view, .end = UINT64_MAX};
	bytes = wh_slots_lay(&place->slots, 64, window, message_bytes, apart);
	place->row = aligned_alloc(64, (64 + bytes + 63) / 64 * 64);
	ck_assert_ptr_nonnull(place->row);
}

struct bench *make_bare(uint32_t window, uint32_t message_bytes, bool apart)
{
	struct bench *b = calloc(1, sizeof(*b));
	struct wh_error err;

	ck_assert_ptr_nonnull(b);
	fake_env_init(&b->env);
	place_make(&b->place, 0, window, message_bytes, apart);
	ck_assert_int_eq(wh_gate_create(&b->gate, wake, b, &err), WHORL_OK);
	ck_assert_int_eq(wh_ring_create(&b->ring, b->gate, &b->env.diag, window, message_bytes, &err), WHORL_OK);
	return b;
}

struct bench *make_idle(uint32_t window, uint32_t message_bytes, bool apart)
{
	struct bench *b = make_bare(window, message_bytes, apart);

	ck_assert_int_ge(wh_ring_window_fd(b->ring), 0); /* so that nothing that is said is missed */
	return b;
}

/* Takes back what the ring has told the callers that wait. */
static void hush(struct wh_ring *ring)
{
	uint64_t count;

	ck_assert_int_eq(read(wh_ring_window_fd(ring), &count, sizeof(count)), sizeof(count));
}

struct bench *ring_make(uint32_t window, uint32_t message_bytes, bool apart)
{
	struct bench *b = make_idle(window, message_bytes, apart);

	wh_ring_enter(b->ring, &b->place, 0, false);
	hush(b->ring);
	return b;
}

void ring_discard(struct bench *b)
{
	ck_assert_int_eq(b->env.fatal, 0);
	wh_ring_free(b->ring);
	wh_gate_free(b->gate);
	free(b->place.row);
	free(b);
}

struct wh_claim claim(struct bench *b)
{
	struct wh_claim out;

	ck_assert_int_eq(wh_ring_claim(b->ring, &out), WHORL_OK);
	return out;
}

bool finish_and_tell(struct wh_ring *ring, const struct wh_claim *c, uint32_t bytes, bool aborted)
{
	bool taken = wh_ring_mark(ring, wh_ring_dropped(ring), c, bytes, aborted);

	if (taken)
		wh_ring_tell(ring);
	return taken;
}

void finish(struct bench *b, const struct wh_claim *c, uint32_t bytes, bool aborted)
{
	ck_assert(finish_and_tell(b->ring, c, bytes, aborted));
}

uint64_t take(struct wh_ring *ring, bool frees)
{
	uint64_t before = ring->sent;
	uint32_t bytes;
	bool aborted;

	while (wh_ring_ready(ring, ring->sent, ring->sent_slot, &bytes, &aborted)) {
		ring->sent++;
		ring->sent_slot = ring->sent_slot + 1 == ring->window ? 0 : ring->sent_slot + 1;
	}
	if (frees && ring->freed != ring->sent) {
		ring->freed = ring->sent;
		ring->freed_slot = ring->sent_slot;
		wh_ring_publish_limit(ring);
	}
	return ring->sent - before;
}

bool is_readable(struct wh_ring *ring, int timeout_ms)
{
	struct pollfd room = {.fd = wh_ring_window_fd(ring), .events = POLLIN};

	return poll(&room, 1, timeout_ms) == 1;
}
