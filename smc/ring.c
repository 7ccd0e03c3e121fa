/* ring.c - see ring.h. */
#include "smc/ring.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define CLAIM_SLOT_BITS 16
#define CLAIM_CLOSED (UINT64_C(1) << 63)

static uint64_t claim_number(uint64_t word)
{
	return (word & ~CLAIM_CLOSED) >> CLAIM_SLOT_BITS;
}

uint64_t wh_ring_estimate(uint32_t window)
{
	return sizeof(struct wh_ring) + (uint64_t)window * sizeof(struct wh_ready);
}

enum whorl_result wh_ring_create(struct wh_ring **out, struct wh_gate *gate, struct wh_diag *diag, unsigned char *row,
				 const struct wh_slots *slots, uint32_t message_bytes, struct wh_error *err)
{
	struct wh_ring *ring = aligned_alloc(WH_CACHE_LINE, sizeof(*ring));

	if (ring == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for a ring");
	*ring = (struct wh_ring){
		.gate = gate,
		.diag = diag,
		.row = row,
		.slots = *slots,
		.message_bytes = message_bytes,
		.limit = slots->window,
	};
	ring->ready = calloc(slots->window, sizeof(*ring->ready));
	if (ring->ready == NULL) {
		free(ring);
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u slots", slots->window);
	}
	ring->window_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ring->window_fd < 0) {
		enum whorl_result result = wh_error_system(err, errno, "eventfd");

		free(ring->ready);
		free(ring);
		return result;
	}
	*out = ring;
	return WHORL_OK;
}

void wh_ring_free(struct wh_ring *ring)
{
	if (ring == NULL)
		return;
	close(ring->window_fd);
	free(ring->ready);
	free(ring);
}

uint64_t wh_ring_claimed(const struct wh_ring *ring)
{
	return claim_number(wh_load_relaxed(&ring->claim));
}

void wh_ring_signal(struct wh_ring *ring)
{
	uint64_t one = 1;
	ssize_t written = write(ring->window_fd, &one, sizeof(one));

	(void)written; /* fails only when the eventfd is at its maximum, which is readable as well */
}

bool wh_ring_has_room(const struct wh_ring *ring)
{
	uint64_t word = wh_load_relaxed(&ring->claim);

	return (word & CLAIM_CLOSED) != 0 || claim_number(word) < wh_load_relaxed(&ring->limit) ||
	       !wh_gate_is_open(ring->gate);
}

bool wh_ring_starve(struct wh_ring *ring)
{
	uint64_t count;
	ssize_t drained = read(ring->window_fd, &count, sizeof(count));

	(void)drained; /* nothing to drain is fine */
	wh_store_relaxed(&ring->starved, 1);
	/* My flag, then the limit; partner: the limit, then the flag, in wh_ring_publish_limit. One of us sees the other. */
	wh_fence_full();
	if (!wh_ring_has_room(ring))
		return false;
	wh_ring_signal(ring); /* I may have drained a signal that another thread waits for */
	return true;
}

/* The lines of a slot that will be claimed soon: the readers of its last message still hold copies of them, and a fill
 * that has to take them back one by one holds up the next compare-and-swap. Only of slots that are free. */
WH_HINT_INLINE void prefetch(const struct wh_ring *ring, uint32_t slot, uint64_t room)
{
	const unsigned char *payload;

	if (room <= WH_SLOTS_AHEAD || ring->slots.payload_stride > WH_SLOT_SMALL)
		return;
	payload = ring->row + wh_slot_payload(&ring->slots, wh_slot_ahead(&ring->slots, slot));
	wh_prefetch_write(payload);
	wh_prefetch_write(payload + WH_CACHE_LINE);
}

enum whorl_result wh_ring_claim(struct wh_ring *ring, struct wh_claim *out)
{
	uint64_t word = wh_load_relaxed(&ring->claim);

	for (;;) {
		uint64_t number = claim_number(word), limit;
		uint32_t slot = (uint32_t)(word & ((1u << CLAIM_SLOT_BITS) - 1));

		if (word & CLAIM_CLOSED)
			return WHORL_CLOSED;
		/* Acquire: whoever read this slot's last message has finished with it. Partner: wh_ring_publish_limit. */
		limit = wh_load_acquire(&ring->limit);
		if (number >= limit) {
			atomic_fetch_add_explicit(&ring->window_full, 1, memory_order_relaxed);
			return WHORL_AGAIN;
		}
		if (wh_compare_swap(&ring->claim, &word,
				    (number + 1) << CLAIM_SLOT_BITS | wh_slot_next(&ring->slots, slot))) {
			prefetch(ring, slot, limit - number);
			out->number = number;
			out->slot = slot;
			out->data = ring->row + wh_slot_payload(&ring->slots, slot);
			return WHORL_OK;
		}
	}
}

void wh_ring_publish_limit(struct wh_ring *ring)
{
	/* Release: partner wh_ring_claim. */
	wh_store_release(&ring->limit, ring->freed + ring->slots.window);
	wh_fence_full(); /* partner: wh_ring_starve */
	if (wh_load_relaxed(&ring->starved) != 0 && wh_exchange(&ring->starved, 0) != 0)
		wh_ring_signal(ring);
}

void wh_ring_close(struct wh_ring *ring)
{
	wh_fetch_or(&ring->claim, CLAIM_CLOSED);
	wh_ring_signal(ring);
}

uint64_t wh_ring_open_claims(const struct wh_ring *ring)
{
	uint64_t open = 0, claimed = wh_ring_claimed(ring);
	uint32_t bytes, slot = ring->sent_slot;
	bool aborted;

	for (uint64_t number = ring->sent; number < claimed; number++) {
		open += !wh_ring_ready(ring, number, slot, &bytes, &aborted);
		slot = wh_slot_next(&ring->slots, slot);
	}
	return open;
}
