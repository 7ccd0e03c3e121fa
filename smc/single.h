/* single.h - a claim of the one thread that sends, without a locked instruction (docs/decisions/0071). ring.h says what a claim is.
 *
 * Two words. The sending thread alone moves its number, `own`; others raise and take away the bits of the claim word. The thread stores
 * its number and then looks at the bits; the loop raises a bit, makes a barrier on all threads, and then *freezes* the number
 * (wh_ring_wedge). So the claim is counted, or the thread sees the bit. If it sees one, that may have come before or behind the count: the
 * frozen bit in its own word says which. tests/models/single.c has all interleavings.
 */
#ifndef WH_SMC_SINGLE_H
#define WH_SMC_SINGLE_H

#include "base/thread.h"
#include "smc/ring.h"

#define WH_CLAIM_BITS (UINT64_C(15) << 60) /* of the claim word: why none can be made */
#define WH_OWN_FROZEN (UINT64_C(1) << 63)

/* This thread is the one that sends: no other is, or was. */
static inline bool wh_single_is_sender(struct wh_ring *ring)
{
	uint64_t me = wh_thread_number(), sender = wh_load_relaxed(&ring->sender);

	if (__builtin_expect(sender == me, 1))
		return true;
	while (sender == 0)
		if (wh_compare_swap(&ring->sender, &sender, me))
			return true;
	return false;
}

/* It is, or would be: no thread has claimed yet. */
static inline bool wh_single_may_send(const struct wh_ring *ring)
{
	/* Relaxed: of what this thread has written, or another, for good. */
	uint64_t sender = wh_load_relaxed(&ring->sender);

	return sender == 0 || sender == wh_thread_number();
}

/* A bit came up behind my claim: it is made all the same if the loop has counted it, and else given back. Of my exchange and the loop's
 * in freeze, one is first: either it does not count what I take back, or I do not take back what it has counted. */
static inline bool wh_single_takes_back(struct wh_ring *ring, uint64_t before, uint64_t after)
{
	uint64_t own = after;

	while (own == after)
		if (wh_compare_swap(&ring->own, &own, before))
			return true;
	return false;
}

/* Moves my number. 0: the claim is made; else it is not, for these bits. */
static inline uint64_t wh_single_move(struct wh_ring *ring, uint64_t before, uint64_t after)
{
	uint64_t bits;

	/* Relaxed: it hands nothing over. It may take the frozen bit away: then the count was before it. */
	wh_store_relaxed(&ring->own, after);
	wh_gate_fence(ring->gate); /* my number, then the bits. Partner: freeze, in smc/ring.c */
	/* Acquire: if there is no bit, the place of the view that took it away, or of a later one. Partner: begin_role. */
	bits = wh_load_acquire(&ring->claim) & WH_CLAIM_BITS;
	return __builtin_expect(bits != 0, 0) && wh_single_takes_back(ring, before, after) ? bits : 0;
}

#endif
