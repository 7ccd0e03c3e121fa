/* ring.h - the sender's side of small-message multicast: claim, fill in place, commit or abort (Spindle §II-C, §III-A).
 *
 * Any number of application threads claim and finish slots at once, without a lock, in any order; the loop sends the
 * committed prefix. A claim's number m never changes; its slot is m mod window.
 *
 *   claim     compare-and-swap of the claim word from m to m+1, if m < limit
 *   finish    a release store of m+1 in the private ready array; nothing that is pushed is touched
 *   send      (loop) takes the ready prefix, writes headers, pushes; see predicates/send.c
 *   free      (loop) raises the limit when all members have delivered a slot's message
 *
 * Invariants: freed <= sent <= claimed <= limit == freed + window. A slot is written only between its claim and its
 * commit by its holder, and by the loop (header) between commit and push.
 */
#ifndef WH_SMC_RING_H
#define WH_SMC_RING_H

#include <stdalign.h>

#include "base/check.h"
#include "base/gate.h"
#include "smc/slots.h"

struct wh_ready {       /* one per slot, private to the process */
	wh_word mark;   /* [claim holder; loop reads] (m + 1) << 1 | aborted, once claim m is finished */
	uint32_t bytes; /* [claim holder] written before the mark */
};

struct wh_claim {
	unsigned char *data;
	uint64_t number;
	uint32_t slot;
};

struct wh_ring {
	struct wh_gate *gate;   /* [const] */
	struct wh_diag *diag;   /* [const] */
	unsigned char *row;     /* [const] my row */
	struct wh_slots slots;  /* [const] */
	uint32_t message_bytes; /* [const] */
	int window_fd;          /* [const] an eventfd: there is room, after wh_ring_starve */
	struct wh_ready *ready; /* [const pointer] */

	/* closed << 63 | number << 16 | slot of the next claim. [application threads; the loop sets `closed`] */
	alignas(WH_CACHE_LINE) wh_word claim;

	/* [loop writes, application threads read] claims below it may be made */
	alignas(WH_CACHE_LINE) wh_word limit;
	wh_word starved; /* somebody wants to be told when there is room. [both] */

	/* Statistics, off the line that claims look at: claimers that spin at a full window write here. */
	alignas(WH_CACHE_LINE) wh_word window_full; /* statistics: claims that found none. [application threads] */
	wh_word window_wait_ns;                     /* statistics: time spent waiting for it. [application threads] */

	/* [loop] */
	alignas(WH_CACHE_LINE) uint64_t sent; /* claims that have a round */
	uint64_t freed;                       /* of these, delivered by all: their slots may be claimed again */
	uint32_t sent_slot, freed_slot;       /* sent, freed modulo window */
};

/* Allocates. `row` holds slots laid out as `slots` says. WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_ring_create(struct wh_ring **out, struct wh_gate *gate, struct wh_diag *diag,
					       unsigned char *row, const struct wh_slots *slots, uint32_t message_bytes,
					       struct wh_error *err);
void wh_ring_free(struct wh_ring *ring);

/* What wh_ring_create allocates, in bytes. */
uint64_t wh_ring_estimate(uint32_t window);

/* ---- application threads; the caller holds an RCU read lock so that the ring stays ------------------------------- */

/* WHORL_OK, WHORL_AGAIN (the window is full), WHORL_CLOSED. No system call. */
WH_MUST_CHECK enum whorl_result wh_ring_claim(struct wh_ring *ring, struct wh_claim *out);

/* Is it worth to claim? A hint, without a trace. True when there is room, and when there will never be any: the ring is
 * closed, or the group has failed. (A waiter that took in the signal of a failure would otherwise sleep.) */
bool wh_ring_has_room(const struct wh_ring *ring);

/* Asks to be told about room. False: window_fd becomes readable when there is some. True: do not wait, but claim. */
bool wh_ring_starve(struct wh_ring *ring);

/* The claim is final, or given back. Never fails. */
static inline void wh_ring_finish(struct wh_ring *ring, uint64_t number, uint32_t slot, uint32_t bytes, bool aborted)
{
	struct wh_ready *ready = &ring->ready[slot];

	ready->bytes = bytes;
	/* Release: the payload and its length before the mark. Partner: wh_ring_ready. */
	wh_store_release(&ready->mark, (number + 1) << 1 | aborted);
	wh_gate_ring(ring->gate);
}

/* ---- the loop ------------------------------------------------------------------------------------------------------ */

/* Is claim `number`, which has `slot`, finished? Acquire: its payload and length are visible then. */
static inline bool wh_ring_ready(const struct wh_ring *ring, uint64_t number, uint32_t slot, uint32_t *bytes,
				 bool *aborted)
{
	uint64_t mark = wh_load_acquire(&ring->ready[slot].mark);

	if (mark >> 1 != number + 1)
		return false;
	*aborted = mark & 1;
	*bytes = ring->ready[slot].bytes;
	return true;
}

uint64_t wh_ring_claimed(const struct wh_ring *ring);

/* Raises the limit by what `freed` has grown to, and tells those who wait. */
void wh_ring_publish_limit(struct wh_ring *ring);

/* Wakes those who wait for the window, whatever the reason. Any thread. */
void wh_ring_signal(struct wh_ring *ring);

/* No more claims: later ones get WHORL_CLOSED. Claims made before may still be finished. */
void wh_ring_close(struct wh_ring *ring);

/* Open claims: made and not finished. Exact once the ring is closed and readers have passed (RCU). */
uint64_t wh_ring_open_claims(const struct wh_ring *ring);

#endif
