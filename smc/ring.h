/* ring.h - the sender's side of small-message multicast: claim, fill in place, commit or abort (Spindle §II-C, §III-A).
 *
 * Any number of application threads claim and finish slots at once, without a lock, in any order; the loop sends the
 * committed prefix. A claim's number m never changes; its slot is m mod window.
 *
 *   claim     compare-and-swap of the claim word from m to m+n, if m+n <= limit; mostly of one. Several are those of as many messages,
 *             or hold the parts of one (docs/decisions/0045)
 *             Where the program promises one sending thread the number is in a word of that thread's, and is moved by a store: see below
 *   finish    a release store of m+1 in the private ready array; nothing that is pushed is touched. Where a loop does not look at all
 *             rings in each pass (docs/decisions/0041) a bit says that it must look at this one
 *   send      (loop) takes the ready prefix, writes headers, pushes; see predicates/send.c
 *   free      (loop) raises the limit when all members have delivered a slot's message
 *
 * A ring is a sender's stream of messages through all views; where its slots lie is its *place*, another in each view
 * (docs/decisions/0014). In a new view everything that was not delivered in the old one is sent again, from the same slot
 * number in the new place: what is finished already is copied there when its turn comes.
 *
 * Invariants: freed <= sent <= claimed <= limit == freed + window (or the last number there is). A slot is written only between its
 * claim and its commit by its holder, and by the loop (header, or copying) between commit and push.
 */
#ifndef WH_SMC_RING_H
#define WH_SMC_RING_H

#include <stdalign.h>

#include "base/check.h"
#include "base/gate.h"
#include "smc/frontier.h"
#include "smc/slots.h"

#define WH_COMMITTED_BITS 64 /* in a word of bits of rings: wh_ring_use_bit */

#define WH_READY_MORE (UINT32_C(1) << 31)

struct wh_ready {     /* one per slot, private to the process */
	wh_word mark; /* [claim holder; loop reads] (m + 1) << 1 | aborted, once claim m is finished */
	uint32_t bytes; /* [claim holder] written before the mark; with WH_READY_MORE if the next slot is of the same message */
	uint32_t home; /* [claim holder] written before the mark: of the place that holds the message */
};

struct wh_place {               /* where the slots of a ring lie in one view */
	unsigned char *row;     /* [const] my row of that view */
	struct wh_slots slots;  /* [const] */
	uint32_t home;          /* [const] the view's number, its lower half: it tells places apart that are in use */
	struct wh_place *older; /* [loop] of a view before, as long as it is needed */
	uint64_t end;           /* [loop] an older place: all claims made in it are below */
};

struct wh_claim {
	unsigned char *data;
	uint64_t number;
	uint32_t slot, home;
};

struct wh_claims { /* that follow each other, of one compare-and-swap */
	const struct wh_place *place;
	uint64_t number; /* of the first; so is */
	uint32_t slot;
};

struct wh_ring {
	struct wh_gate *gate;   /* [const] */
	struct wh_diag *diag;   /* [const] */
	uint32_t window;        /* [const] */
	uint32_t slot_bits;     /* [const] of the claim word: as many as the window needs */
	uint32_t message_bytes; /* [const] */
	/* Eventfds, + 1; 0: no thread has asked for it yet: with many subgroups most never need one. [any thread, once] */
	wh_word window_fd;      /* there is room, after wh_ring_starve. Of threads that wait in a call */
	wh_word room_fd;        /* it counts: there is room, once for each wh_ring_arm. The program's */
	struct wh_ready *ready; /* [const pointer] */
	struct wh_place *place; /* [loop writes; RCU] of the current view, or the last in which I was a sender */
	wh_word dropped; /* [loop writes] claims below it, if not sent, belong to no sender: I was none any more */
	wh_word late;    /* [claim holders] claims that were finished after they had been dropped */
	wh_word *committed; /* [const; NULL: there is none] the word that has my bit. [claim holders set it, the loop takes it away] */
	uint64_t committed_bit; /* [const] */
	uint64_t dropped_open;  /* [loop] claims that were open when they were dropped, over all */

	/* closed << 63 | wedged << 62 | away << 61 | paused << 60 | number << slot_bits | slot of the next claim. [application
	 * threads; the bits are set by the loop and whorl_close, taken away by the loop] */
	alignas(WH_CACHE_LINE) wh_word claim;

	/* Where `single` (docs/decisions/0071): frozen << 63 | number << slot_bits | slot of the next claim; of the claim word only the bits
	 * count. [the sending thread; the loop freezes it, when it has wedged the ring] */
	wh_word own;
	wh_word sender; /* that thread's number; 0: none has claimed yet. [the first thread that claims, once] */
	wh_word at_wedge; /* [loop] its number when the ring was wedged last: as long as it is, this is how many are claimed */
	bool single; /* [const] one thread sends */

	/* [loop writes, application threads read] claims below it may be made */
	alignas(WH_CACHE_LINE) wh_word limit;
	wh_word wanted; /* so many slots at once are wanted by a thread that waits; 0: none does. Claims of others find no room. [threads] */
	wh_word starved; /* 2 x arms that have not been told of room yet, + 1 if a thread waits in a call. [both] */

	/* Statistics, off the line that claims look at: claimers that spin at a full window write here. */
	alignas(WH_CACHE_LINE) wh_word window_full; /* statistics: claims that found none. [application threads] */
	wh_word window_wait_ns;                     /* statistics: time spent waiting for it. [application threads] */

	/* [loop] */
	alignas(WH_CACHE_LINE) uint64_t sent; /* claims that have a round */
	uint64_t freed;                       /* of these, delivered by all: their slots may be claimed again */
	uint32_t sent_slot, freed_slot;       /* sent, freed modulo window */
	uint64_t ever_sent;                   /* the greatest that `sent` has been: beyond it nothing is sent again */
	bool ends;                            /* in this view I send what I have claimed, and am away for claims */
	bool held; /* `freed` is what I have delivered: of the others it is not known yet, see wh_ring_release */

	/* [loop writes `past`, application threads read] what all have received and delivered of what was sent */
	alignas(WH_CACHE_LINE) struct wh_frontiers frontiers;
};

/* Allocates. No claim can be made before the first wh_ring_enter: until it is known whether I send they get WHORL_AGAIN. WHORL_OK,
 * WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_ring_create(struct wh_ring **out, struct wh_gate *gate, struct wh_diag *diag,
					       uint32_t window, uint32_t message_bytes, struct wh_error *err);
void wh_ring_free(struct wh_ring *ring);

/* Before the first claim: one thread sends, the first that claims; it makes no locked instruction. Claims of others get WHORL_INVALID. */
void wh_ring_promise_single(struct wh_ring *ring);

/* What wh_ring_create allocates, in bytes. */
uint64_t wh_ring_estimate(uint32_t window);

/* ---- application threads; the caller holds an RCU read lock so that the ring stays ------------------------------- */

/* WHORL_OK, WHORL_AGAIN (the window is full, or the view changes), WHORL_NOT_SENDER (in this view), WHORL_CLOSED, WHORL_INVALID (not the one
 * thread that sends). No system call. */
WH_MUST_CHECK enum whorl_result wh_ring_claim(struct wh_ring *ring, struct wh_claim *out);

/* The same for `count` at once, all or none. 1 <= count <= window. The claims are valid inside of the RCU lock. */
WH_MUST_CHECK enum whorl_result wh_ring_claim_many(struct wh_ring *ring, uint32_t count, struct wh_claims *out);

/* Number i of those. */
static inline struct wh_claim wh_ring_claim_of(const struct wh_claims *claims, uint32_t i)
{
	const struct wh_slots *slots = &claims->place->slots;
	uint32_t slot = wh_slot_behind(claims->slot, i, slots->window);

	return (struct wh_claim){.data = claims->place->row + wh_slot_payload(slots, slot),
				 .number = claims->number + i,
				 .slot = slot,
				 .home = claims->place->home};
}

/* Slots that follow each other, for the parts of one message, as wh_ring_claim_many. `wanted`: by the thread for which they are wanted. */
WH_MUST_CHECK enum whorl_result wh_ring_claim_parts(struct wh_ring *ring, uint32_t count, bool wanted,
						    struct wh_claim *out);

/* Wants `count` slots at once, until they are not wanted any more: until then claims of others find no room, so that what becomes free
 * comes together. One thread at a time. False: another does, and as if the window were full; or another thread is the one that sends
 * (wh_ring_promise_single), which is not held up. */
WH_MUST_CHECK bool wh_ring_want(struct wh_ring *ring, uint32_t count);
/* They have been claimed, or are given up. */
void wh_ring_want_no_more(struct wh_ring *ring);

/* Is it worth to claim? A hint, without a trace. True when there is room, and when there will never be any: the ring is
 * closed, or the group has failed. (A waiter that took in the signal of a failure would otherwise sleep.) */
bool wh_ring_has_room(const struct wh_ring *ring);
/* The same for the thread that wants so many; 0: of one that wants one. */
bool wh_ring_has_room_for(const struct wh_ring *ring, uint32_t wanted);

/* The descriptor on which threads that wait in a call are told of room; made when it is first asked for, and the ring's from then
 * on. -1: none can be made (errno): then wait a little, and ask again. */
int wh_ring_window_fd(struct wh_ring *ring);
/* Takes in what it says, and makes it if it was not there: what is said later is said on it. */
void wh_ring_drain_window(struct wh_ring *ring);

/* Asks to be told about room; `wanted` as above. False: window_fd becomes readable when there is some. True: do not wait, but claim. */
bool wh_ring_starve(struct wh_ring *ring, uint32_t wanted);

/* One more is to be told of room, on room_fd: once, when there is some, unless it is taken back before. */
void wh_ring_arm(struct wh_ring *ring);
/* Takes one arm back. False: all have been told, so room_fd is readable, or is about to be. */
WH_MUST_CHECK bool wh_ring_disarm(struct wh_ring *ring);
/* The descriptor on which threads that arm are told; made when it is first asked for: those that armed before are told on it as
 * well. -1: none can be made (errno). */
int wh_ring_room_fd(struct wh_ring *ring);

/* Behind a mark: there is something in this ring. The bit is mostly set, and then only looked at. */
static inline void wh_ring_say_committed(const struct wh_ring *ring)
{
	if (ring->committed == NULL)
		return;
	/* The mark, then the bit. The loop takes the bit away, then makes its barrier, then looks for marks (predicates/hot.c): so
	 * either it sees my mark, or I see that the bit is gone. */
	wh_gate_fence(ring->gate);
	if ((wh_load_relaxed(ring->committed) & ring->committed_bit) == 0)
		wh_fetch_or(ring->committed, ring->committed_bit);
}

/* Behind the marks of one claim, or of many: the loop is told. */
static inline void wh_ring_tell(struct wh_ring *ring)
{
	wh_ring_say_committed(ring);
	wh_gate_ring(ring->gate);
}

/* The claim is final, or given back. False: it had been dropped. `dropped` is the ring's, read in this RCU lock; then the gate is rung. */
static inline bool wh_ring_mark(struct wh_ring *ring, uint64_t dropped, const struct wh_claim *claim, uint32_t bytes,
				bool aborted)
{
	struct wh_ready *ready = &ring->ready[claim->slot];
	uint64_t number = claim->number;

	if (__builtin_expect(number < dropped, 0)) {
		wh_fetch_add(&ring->late, 1);
		return false;
	}
	ready->bytes = bytes;
	ready->home = claim->home;
	/* Release: the payload and its length before the mark. Partner: wh_ring_ready. */
	wh_store_release(&ready->mark, (number + 1) << 1 | aborted);
	return true;
}

/* The same for all parts of one message of `bytes`, from the last to the first: the loop finds all of them or none. */
bool wh_ring_mark_parts(struct wh_ring *ring, uint64_t dropped, const struct wh_claim *claim, uint32_t parts,
			uint64_t bytes, bool aborted);

static inline uint64_t wh_ring_dropped(const struct wh_ring *ring)
{
	/* Acquire, and in the RCU lock: the thread that drops sees either the mark or, after a grace period, that it is missing. */
	return wh_load_acquire(&ring->dropped);
}

/* ---- the loop ------------------------------------------------------------------------------------------------------ */

/* Is claim `number`, which has `slot`, finished? Acquire: its payload and length are visible then. If *bytes has WH_READY_MORE the
 * next one holds the next part of its message, and is finished as well. */
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

/* It has bit number `bit` of these words from now on, which outlive it. Before any claim. */
static inline void wh_ring_use_bit(struct wh_ring *ring, wh_word *words, uint32_t bit)
{
	ring->committed = &words[bit / WH_COMMITTED_BITS];
	ring->committed_bit = UINT64_C(1) << bit % WH_COMMITTED_BITS;
}

/* It may have been committed to since its bit was taken away. A hint; after wh_gate_barrier what it does not show will set it. */
static inline bool wh_ring_has_committed(const struct wh_ring *ring)
{
	return ring->committed != NULL && (wh_load_relaxed(ring->committed) & ring->committed_bit) != 0;
}

/* Its bit goes, or comes back. When it is gone wh_gate_barrier comes, then a look at the ring: docs/decisions/0041. */
static inline void wh_ring_set_committed(struct wh_ring *ring, bool set)
{
	if (ring->committed != NULL && set)
		wh_fetch_or(ring->committed, ring->committed_bit);
	else if (wh_ring_has_committed(ring))
		wh_fetch_and(ring->committed, ~ring->committed_bit);
}

/* Where the finished claim that has `slot` lies, if that is not the current place, which is `place`; NULL: it is. */
static inline const unsigned char *wh_ring_elsewhere(const struct wh_ring *ring, const struct wh_place *place,
						     uint32_t slot)
{
	uint32_t home = ring->ready[slot].home;

	if (__builtin_expect(home == place->home, 1))
		return NULL;
	while (place->home != home)
		place = place->older;
	return place->row + wh_slot_payload(&place->slots, slot);
}

/* It has been copied to the current place, and is of that from now on. */
static inline void wh_ring_came_home(struct wh_ring *ring, uint32_t slot)
{
	ring->ready[slot].home = ring->place->home;
}

/* What is below needs nothing more: delivered in an earlier view, or dropped. */
static inline uint64_t wh_ring_settled(const struct wh_ring *ring)
{
	uint64_t dropped = wh_load_relaxed(&ring->dropped);

	return ring->freed > dropped ? ring->freed : dropped;
}

/* It is known that nothing may be claimed in this view: I do not send, or only what I have claimed before. Any thread. */
bool wh_ring_is_away(const struct wh_ring *ring);
/* I send in this view, and claims are not paused. Any thread. */
bool wh_ring_is_open(const struct wh_ring *ring);

/* No claims, whatever the view, until it is taken back: they get WHORL_NOT_SENDER. Any thread. */
void wh_ring_pause(struct wh_ring *ring, bool paused);

/* No claims until the next wh_ring_enter: they get WHORL_AGAIN. */
void wh_ring_wedge(struct wh_ring *ring);

/* A view begins in which I send, from message `first` on: all before it are delivered, all that come after it are sent
 * again. `ends`: claims get WHORL_NOT_SENDER, as I am one only until they are delivered. `place` lives until wh_ring_forget. */
void wh_ring_enter(struct wh_ring *ring, struct wh_place *place, uint64_t first, bool ends);

/* A view begins in which no member sends, for now: claims still get WHORL_AGAIN (or, if that ends, WHORL_NOT_SENDER), and what is
 * not delivered, from `first` on, waits where it is. */
void wh_ring_rest(struct wh_ring *ring, uint64_t first, bool ends);

/* A view begins in which I do not send: claims get WHORL_NOT_SENDER, and what is not delivered, all from `first` on, never
 * will be. Returns how many messages that are. What is open is counted after a grace period, by wh_ring_count_dropped. */
uint64_t wh_ring_drop(struct wh_ring *ring, uint64_t first);
void wh_ring_count_dropped(struct wh_ring *ring);

/* Is nothing of that older place needed any more: no claim made in it is open, or finished and not sent? */
bool wh_ring_is_done_with(const struct wh_ring *ring, const struct wh_place *place);
/* It is taken out of the chain, and may be freed after a grace period. The current one as well, if I do not send. */
void wh_ring_forget(struct wh_ring *ring, struct wh_place *place);

/* A claim's number with so large a window is at most this: 2^45 - 1 with the largest, 2^53 - 1 with one of 100. */
uint64_t wh_ring_numbers(uint32_t window);
/* All numbers of claims have been given out, and no message that has one is waited for any more. [loop] */
bool wh_ring_ids_exhausted(const struct wh_ring *ring);

/* Raises the limit by what `freed` has grown to, and tells the threads that wait. */
void wh_ring_publish_limit(struct wh_ring *ring);

/* A view has begun with what I have delivered, and others that go on with me may still be at work on that: until they have begun it,
 * all that all have delivered is what all had delivered before. Now they have begun it, or what I had not delivered was nothing. */
void wh_ring_release(struct wh_ring *ring);

/* Wakes threads that wait for the window, whatever the reason; threads that armed, if it is worth to claim now. Any thread. */
void wh_ring_signal(struct wh_ring *ring);

/* No more claims: later ones get WHORL_CLOSED. Claims made before may still be finished. */
void wh_ring_close(struct wh_ring *ring);

/* Open claims: made and not finished. Exact once the ring is closed and readers have passed (RCU). */
uint64_t wh_ring_open_claims(const struct wh_ring *ring);

#endif
