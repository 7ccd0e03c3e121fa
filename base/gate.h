/* gate.h - the word that application threads look at when they touch a node.
 *
 * It tells whether the node is open, and whether its loop sleeps. It lies on a page that fork() wipes, so a child reads
 * 0 and knows that the node is not its own. In normal work it is only read: its line stays shared by all cores.
 *
 * The doorbell between a committing thread and its own loop is asymmetric: the thread stores what it has to say, then
 * looks at the gate with only the compiler held back; the loop sets WH_GATE_PARKED, makes a barrier on all threads of
 * the process (wh_barrier_all_threads), looks once more, and only then sleeps. Where the kernel has no such barrier
 * `heavy` is set and the thread pays with a full fence. Of the threads that find the loop parked the one that takes the bit away
 * rings, so a parking costs one ring, however many commits come before the loop runs. tests/models/doorbell.c has all
 * interleavings.
 *
 * While the loop's thread sleeps, or has yielded its processor, its loop is *lent*: a thread that is about to ring, or waits for room, may
 * borrow it and do what will not wait until that thread runs (docs/decisions/0028, 0075). One word says how the loan stands; only `lent` can
 * be borrowed, by one:
 *
 *     kept  <--- lend, take back --->  lent  <--- borrow, give back --->  borrowed
 */
#ifndef WH_BASE_GATE_H
#define WH_BASE_GATE_H

#include "base/atomics.h"
#include "base/error.h"

enum {
	WH_GATE_OPEN = 1,      /* absent: this process is a fork */
	WH_GATE_PARKED = 2,    /* the loop sleeps, or is about to, and no thread has rung yet */
	WH_GATE_CLOSED = 4,    /* the loop has stopped for good */
	WH_GATE_FAILED = 8,    /* the node cannot go on; see its error */
	WH_GATE_MINORITY = 16, /* too few members are heard; for now */
};

enum { WH_GATE_KEPT, WH_GATE_LENT, WH_GATE_BORROWED };

struct wh_gate {
	wh_word state;           /* [loop, close, and a thread that rings write; anyone reads] WH_GATE_* */
	bool heavy;              /* [const] */
	void (*wake)(void *ctx); /* [const] rings the loop's doorbell; any thread */
	void *ctx;
	/* [loop, and a thread that rings] kept (0, in a fork too), lent, or borrowed. Far from the state, which all threads read all the time. */
	_Alignas(128) wh_word loan;
};

/* A gate on a page of its own. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_gate_create(struct wh_gate **out, void (*wake)(void *ctx), void *ctx,
					       struct wh_error *err);
void wh_gate_free(struct wh_gate *gate);

static inline uint64_t wh_gate_state(const struct wh_gate *gate)
{
	return wh_load_acquire(&gate->state);
}

/* In normal work: neither closed nor failed, not in a minority, and no fork. Whether the loop sleeps does not matter. */
static inline bool wh_gate_is_open(const struct wh_gate *gate)
{
	return (wh_gate_state(gate) & ~(uint64_t)WH_GATE_PARKED) == WH_GATE_OPEN;
}

/* What this thread has stored, then what it looks at: in that order for a loop that has made wh_gate_barrier. */
static inline void wh_gate_fence(const struct wh_gate *gate)
{
	if (gate->heavy)
		wh_fence_full();
	else
		wh_fence_compiler();
}

/* After a release store that the loop must not miss. */
static inline void wh_gate_ring(struct wh_gate *gate)
{
	wh_gate_fence(gate); /* partner: wh_gate_park */
	if (__builtin_expect((wh_load_relaxed(&gate->state) & WH_GATE_PARKED) != 0, 0) &&
	    (wh_fetch_and(&gate->state, ~(uint64_t)WH_GATE_PARKED) & WH_GATE_PARKED) != 0)
		gate->wake(gate->ctx);
}

/* Loop: the other side of wh_gate_fence. What it stored before, then what it looks at. Costs a system call. False: nothing is in order,
 * as the barrier has been forbidden since it was registered. */
bool wh_gate_barrier(const struct wh_gate *gate);

/* Loop: before the last look. Costs a system call. False: the barrier has been forbidden since it was registered, so a
 * thread may not see that the loop is parked, which must not sleep for long. */
bool wh_gate_park(struct wh_gate *gate);
void wh_gate_unpark(struct wh_gate *gate);

/* Loop: its thread touches nothing of it from here on, until wh_gate_take_back says true. False: it is borrowed; ask again. */
void wh_gate_lend(struct wh_gate *gate);
WH_MUST_CHECK bool wh_gate_take_back(struct wh_gate *gate);

/* A hint: it may be worth to borrow. A look, so that the loop's next loan does not have to fetch the line anew. */
static inline bool wh_gate_is_lent(const struct wh_gate *gate)
{
	return wh_load_relaxed(&gate->loan) == WH_GATE_LENT;
}

/* Any thread. True: all that is the loop's is this thread's, until it gives it back, soon: the loop may be waiting. False: the
 * loop runs, another thread has borrowed it, or the processor would rather not say: never wait for this. */
static inline bool wh_gate_borrow(struct wh_gate *gate)
{
	uint64_t lent = WH_GATE_LENT;

	return wh_compare_swap(&gate->loan, &lent, WH_GATE_BORROWED);
}

static inline void wh_gate_give_back(struct wh_gate *gate)
{
	wh_store_release(&gate->loan, WH_GATE_LENT);
}

#endif
