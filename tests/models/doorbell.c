/* doorbell.c - the doorbell (T6) and its three relatives inside a process, explored exhaustively.
 *
 * Four little protocols of one kind: one side stores and then looks whether the other sleeps, the other says that it is
 * going to sleep and then looks at what was stored. Each side's store must be visible before its own look is made, or
 * both look past each other and one of them sleeps for ever.
 *
 *     doorbell   between processes: a pusher (post) and a loop (arm, a whole look, wait)
 *     commit     application threads hold back nothing but the compiler; the loop, before its last look, makes a barrier
 *                on all threads
 *     window     a claimer that found the window full, and the loop that moves the limit
 *     late       a program that arms, and asks for the descriptor that tells it later, and the loop that moves the limit
 *
 * Each is tried as built, and then again and again with one thing wrong in it: each time the explorer must find what
 * breaks.
 */
#include "machine.h"

/* ---- the doorbell between processes: transport/shm/shm.c -------------------------------------------------------------- */

/* What is done otherwise than in the code; the first is the code. */
enum doorbell_variant {
	DOORBELL,
	PUSHER_NO_FENCE,
	PUSHER_LOOKS_FIRST,
	SLEEPER_NO_FENCE,
	SLEEPER_LOOKS_FIRST,
	SLEEPER_LOOKS_AT_HALF,
	BELL_NOT_STICKY,
	BELL_CLEARED_AFTER_LOOK,
	PARKED_NO_EPOCH,
	RINGS_UNCOUNTED,
	PARITY_IGNORED,
};

#define PUSHES 2

/* Pusher p pushes word p. */
enum { PARKED = 2 };

static void write_pusher(struct program *p, uint8_t word, enum doorbell_variant variant)
{
	enum { VALUE, SAW, RUNG };

	for (int k = 1; k <= PUSHES; k++) {
		uint8_t awake = NONE, rung;

		emit(p, ADD, VALUE, 1);
		if (variant == PUSHER_LOOKS_FIRST)
			emit(p, LOAD, SAW, PARKED);
		emit(p, RELEASE, word, VALUE);
		if (variant != PUSHER_NO_FENCE)
			emit(p, FENCE, 0, 0);
		if (variant != PUSHER_LOOKS_FIRST)
			emit(p, LOAD, SAW, PARKED);
		if (variant != PARITY_IGNORED)
			awake = emit(p, IF_EVEN, SAW, 0);
		rung = emit(p, IF_SAME, SAW, RUNG);
		if (variant != RINGS_UNCOUNTED)
			emit(p, COPY, RUNG, SAW);
		emit(p, variant == BELL_NOT_STICKY ? RING_ONCE : RING, SAW, 0);
		if (awake != NONE)
			land(p, awake);
		land(p, rung);
	}
	emit(p, END, 0, 0);
}

static void write_parked(struct program *p, bool parked, uint8_t epoch, enum doorbell_variant variant)
{
	if (variant == PARKED_NO_EPOCH)
		emit(p, SET, epoch, parked);
	else
		emit(p, ADD, epoch, 1);
	emit(p, STORE, PARKED, epoch);
}

static void write_sleeper(struct program *p, enum doorbell_variant variant)
{
	enum { SEEN_0, SEEN_1, EPOCH, NEW_0, NEW_1 };
	uint8_t unseen_0, unseen_1, found_0, found_1 = NONE;

	emit(p, LOAD, SEEN_0, 0); /* a pass of the loop */
	emit(p, LOAD, SEEN_1, 1);
	unseen_0 = emit(p, IF_NOT, SEEN_0, PUSHES);
	unseen_1 = emit(p, IF_NOT, SEEN_1, PUSHES);
	emit(p, END, 0, 0);
	land(p, unseen_0);
	land(p, unseen_1);

	if (variant != SLEEPER_LOOKS_FIRST) { /* arm */
		write_parked(p, true, EPOCH, variant);
		if (variant != SLEEPER_NO_FENCE)
			emit(p, FENCE, 0, 0);
	}
	emit(p, LOAD, NEW_0, 0); /* the whole look */
	emit(p, LOAD, NEW_1, 1);
	if (variant == SLEEPER_LOOKS_FIRST) {
		write_parked(p, true, EPOCH, variant);
		emit(p, FENCE, 0, 0);
	}
	found_0 = emit(p, IF_OTHER, NEW_0, SEEN_0);
	if (variant != SLEEPER_LOOKS_AT_HALF)
		found_1 = emit(p, IF_OTHER, NEW_1, SEEN_1);

	if (variant == BELL_CLEARED_AFTER_LOOK)
		emit(p, CLEAR, 0, 0);
	emit(p, WAIT, 0, 0); /* wait: the bell is cleared when it is no longer parked */
	write_parked(p, false, EPOCH, variant);
	emit(p, CLEAR, 0, 0);
	emit_to(p, GO, 0, 0, 0);

	land(p, found_0); /* disarm: a ring that came all the same ends the next wait */
	if (found_1 != NONE)
		land(p, found_1);
	write_parked(p, false, EPOCH, variant);
	emit_to(p, GO, 0, 0, 0);
}

static void make_doorbell(struct world *w, int variant)
{
	w->thread_count = 3;
	write_pusher(&w->threads[0], 0, (enum doorbell_variant)variant);
	write_pusher(&w->threads[1], 1, (enum doorbell_variant)variant);
	write_sleeper(&w->threads[2], (enum doorbell_variant)variant);
}

/* ---- application threads and the loop of one process: base/gate.h ------------------------------------------------- */

enum commit_variant {
	COMMIT,
	COMMIT_HEAVY,
	NO_BARRIER,
	LOOP_FENCE_ONLY,
	BARRIER_BEFORE_PARKED,
	BARRIER_AFTER_LOOK,
	COMMITTER_LOOKS_FIRST,
	PARKED_TAKEN_BY_STORE,
	TAKER_DOES_NOT_RING,
};

#define COMMITS 2

static void write_committer(struct program *p, uint8_t word, enum commit_variant variant)
{
	enum { VALUE, SAW };

	for (int k = 1; k <= COMMITS; k++) {
		uint8_t awake, taken = NONE;

		emit(p, ADD, VALUE, 1);
		if (variant == COMMITTER_LOOKS_FIRST)
			emit(p, LOAD, SAW, PARKED);
		emit(p, RELEASE, word, VALUE);
		if (variant == COMMIT_HEAVY)
			emit(p, FENCE, 0, 0);
		if (variant != COMMITTER_LOOKS_FIRST)
			emit(p, LOAD, SAW, PARKED);
		awake = emit(p, IF_IS, SAW, 0);
		emit(p, SET, SAW, 0); /* the thread that takes the mark away rings */
		if (variant == PARKED_TAKEN_BY_STORE) {
			emit(p, STORE, PARKED, SAW);
		} else {
			emit(p, EXCHANGE, SAW, PARKED);
			taken = emit(p, IF_IS, SAW, 0);
		}
		if (variant != TAKER_DOES_NOT_RING)
			emit(p, RING, NONE, 0);
		if (taken != NONE)
			land(p, taken);
		land(p, awake);
	}
	emit(p, END, 0, 0);
}

static void write_loop(struct program *p, enum commit_variant variant)
{
	enum { SEEN_0, SEEN_1, FLAG, NEW_0, NEW_1 };
	uint8_t unseen_0, unseen_1, found_0, found_1;

	emit(p, LOAD, SEEN_0, 0);
	emit(p, LOAD, SEEN_1, 1);
	unseen_0 = emit(p, IF_NOT, SEEN_0, COMMITS);
	unseen_1 = emit(p, IF_NOT, SEEN_1, COMMITS);
	emit(p, END, 0, 0);
	land(p, unseen_0);
	land(p, unseen_1);

	if (variant == BARRIER_BEFORE_PARKED)
		emit(p, BARRIER, 0, 0);
	emit(p, SET, FLAG, 1);
	emit(p, STORE, PARKED, FLAG);
	if (variant == LOOP_FENCE_ONLY || variant == COMMIT_HEAVY)
		emit(p, FENCE, 0, 0);
	else if (variant != NO_BARRIER && variant != BARRIER_BEFORE_PARKED && variant != BARRIER_AFTER_LOOK)
		emit(p, BARRIER, 0, 0);
	emit(p, LOAD, NEW_0, 0);
	emit(p, LOAD, NEW_1, 1);
	if (variant == BARRIER_AFTER_LOOK)
		emit(p, BARRIER, 0, 0);
	found_0 = emit(p, IF_OTHER, NEW_0, SEEN_0);
	found_1 = emit(p, IF_OTHER, NEW_1, SEEN_1);
	emit(p, WAIT, 0, 0);
	emit(p, SET, FLAG, 0);
	emit(p, STORE, PARKED, FLAG);
	emit(p, CLEAR, 0, 0);
	emit_to(p, GO, 0, 0, 0);
	land(p, found_0);
	land(p, found_1);
	emit(p, SET, FLAG, 0);
	emit(p, STORE, PARKED, FLAG);
	emit_to(p, GO, 0, 0, 0);
}

static void make_commit(struct world *w, int variant)
{
	w->thread_count = 3;
	write_committer(&w->threads[0], 0, (enum commit_variant)variant);
	write_committer(&w->threads[1], 1, (enum commit_variant)variant);
	write_loop(&w->threads[2], (enum commit_variant)variant);
}

/* ---- a claimer that finds the window full ------------------------------------------------------------------------- */

enum window_variant {
	WINDOW,
	CLAIMER_NO_FENCE,
	CLAIMER_NO_SECOND_LOOK,
	CLAIMER_LOOKS_FIRST,
	CLAIMER_CLEARS_LATE,
	MOVER_NO_FENCE,
	MOVER_LOOKS_FIRST,
	MARK_TAKEN_BY_STORE,
	WINDOW_BELL_NOT_STICKY,
};

#define CLAIMS 3

enum { LIMIT, STARVED };

/* Claims CLAIMS slots, one by one, as the limit allows. */
static void write_claimer(struct program *p, enum window_variant variant)
{
	enum { CLAIMED, ROOM, FLAG };
	uint8_t full, claimed;

	emit(p, LOAD, ROOM, LIMIT);
	full = emit(p, IF_SAME, CLAIMED, ROOM);
	emit(p, ADD, CLAIMED, 1);
	claimed = emit(p, IF_IS, CLAIMED, CLAIMS);
	emit_to(p, GO, 0, 0, 0);

	land(p, full);
	if (variant == CLAIMER_LOOKS_FIRST) {
		emit(p, LOAD, ROOM, LIMIT);
		emit_to(p, IF_OTHER, CLAIMED, ROOM, 0);
	}
	emit(p, SET, FLAG, 1);
	emit(p, STORE, STARVED, FLAG);
	if (variant != CLAIMER_NO_FENCE)
		emit(p, FENCE, 0, 0);
	if (variant != CLAIMER_LOOKS_FIRST && variant != CLAIMER_NO_SECOND_LOOK) {
		emit(p, LOAD, ROOM, LIMIT);
		emit_to(p, IF_OTHER, CLAIMED, ROOM, 0);
	}
	if (variant == CLAIMER_CLEARS_LATE)
		emit(p, CLEAR, 0, 0);
	emit(p, WAIT, 0, 0);
	if (variant != CLAIMER_CLEARS_LATE)
		emit(p, CLEAR, 0, 0);
	emit_to(p, GO, 0, 0, 0);

	land(p, claimed);
	emit(p, END, 0, 0);
}

/* The loop, moving the limit. */
static void write_mover(struct program *p, enum window_variant variant)
{
	enum { VALUE, FLAG, ZERO };

	for (int k = 1; k <= CLAIMS; k++) {
		uint8_t nobody;

		emit(p, ADD, VALUE, 1);
		if (variant == MOVER_LOOKS_FIRST)
			emit(p, LOAD, FLAG, STARVED);
		emit(p, RELEASE, LIMIT, VALUE);
		if (variant != MOVER_NO_FENCE)
			emit(p, FENCE, 0, 0);
		if (variant != MOVER_LOOKS_FIRST)
			emit(p, LOAD, FLAG, STARVED);
		nobody = emit(p, IF_IS, FLAG, 0);
		emit(p, SET, FLAG, 0);
		if (variant == MARK_TAKEN_BY_STORE)
			emit(p, STORE, STARVED, FLAG);
		else
			emit(p, EXCHANGE, FLAG, STARVED);
		emit(p, variant == WINDOW_BELL_NOT_STICKY ? RING_ONCE : RING, NONE, 0);
		land(p, nobody);
	}
	emit(p, END, 0, 0);
}

static void make_window(struct world *w, int variant)
{
	w->thread_count = 2;
	write_claimer(&w->threads[0], (enum window_variant)variant);
	write_mover(&w->threads[1], (enum window_variant)variant);
}

/* ---- a descriptor that is made late: wh_ring_room_fd in smc/ring.c ------------------------------------------------ */

enum late_variant {
	LATE,
	MAKER_DOES_NOT_LOOK,
	MAKER_NO_FENCE,
	MAKER_LOOKS_FIRST,
	LATE_MOVER_NO_FENCE,
	LATE_MOVER_LOOKS_FIRST,
	ARMS_TAKEN_WITHOUT_IT,
};

enum { MADE = 2 };

/* Arms; if there is no room makes the descriptor, tells itself if it must, and waits. */
static void write_maker(struct program *p, enum late_variant variant)
{
	enum { FLAG, ROOM, ARMED, HERE };
	uint8_t room, told = NONE, full = NONE, taken = NONE;

	emit(p, SET, FLAG, 1);
	emit(p, EXCHANGE, FLAG, STARVED);
	emit(p, LOAD, ROOM, LIMIT);
	room = emit(p, IF_NOT, ROOM, 0);
	emit(p, SET, HERE, 1);
	if (variant != MAKER_LOOKS_FIRST)
		emit(p, STORE, MADE, HERE);
	if (variant != MAKER_NO_FENCE)
		emit(p, FENCE, 0, 0);
	if (variant != MAKER_DOES_NOT_LOOK) {
		emit(p, LOAD, ARMED, STARVED);
		told = emit(p, IF_IS, ARMED, 0);
		emit(p, LOAD, ROOM, LIMIT);
		full = emit(p, IF_IS, ROOM, 0);
		emit(p, SET, ARMED, 0);
		emit(p, EXCHANGE, ARMED, STARVED);
		taken = emit(p, IF_IS, ARMED, 0);
		emit(p, RING, NONE, 0);
		land(p, told);
		land(p, full);
		land(p, taken);
	}
	if (variant == MAKER_LOOKS_FIRST)
		emit(p, STORE, MADE, HERE);
	emit(p, WAIT, 0, 0);
	land(p, room);
	emit(p, END, 0, 0);
}

static void write_late_mover(struct program *p, enum late_variant variant)
{
	enum { VALUE, HERE, ARMED };
	uint8_t missing = NONE, nobody, taken, nowhere = NONE;

	emit(p, SET, VALUE, 1);
	if (variant == LATE_MOVER_LOOKS_FIRST)
		emit(p, LOAD, HERE, MADE);
	emit(p, RELEASE, LIMIT, VALUE);
	if (variant != LATE_MOVER_NO_FENCE)
		emit(p, FENCE, 0, 0);
	if (variant != LATE_MOVER_LOOKS_FIRST)
		emit(p, LOAD, HERE, MADE);
	if (variant != ARMS_TAKEN_WITHOUT_IT)
		missing = emit(p, IF_IS, HERE, 0);
	emit(p, LOAD, ARMED, STARVED);
	nobody = emit(p, IF_IS, ARMED, 0);
	emit(p, SET, ARMED, 0);
	emit(p, EXCHANGE, ARMED, STARVED);
	taken = emit(p, IF_IS, ARMED, 0);
	if (variant == ARMS_TAKEN_WITHOUT_IT)
		nowhere = emit(p, IF_IS, HERE, 0);
	emit(p, RING, NONE, 0);
	if (missing != NONE)
		land(p, missing);
	land(p, nobody);
	land(p, taken);
	if (nowhere != NONE)
		land(p, nowhere);
	emit(p, END, 0, 0);
}

static void make_late(struct world *w, int variant)
{
	w->thread_count = 2;
	write_maker(&w->threads[0], (enum late_variant)variant);
	write_late_mover(&w->threads[1], (enum late_variant)variant);
}

/* ---- all of them -------------------------------------------------------------------------------------------------- */

static const struct scenario scenarios[] = {
	{"doorbell", make_doorbell, DOORBELL, "as built", NULL},
	{"doorbell", make_doorbell, PUSHER_NO_FENCE, "the pusher has no fence", ASLEEP},
	{"doorbell", make_doorbell, PUSHER_LOOKS_FIRST, "the pusher looks at parked, then pushes", ASLEEP},
	{"doorbell", make_doorbell, SLEEPER_NO_FENCE, "the sleeper has no fence", ASLEEP},
	{"doorbell", make_doorbell, SLEEPER_LOOKS_FIRST, "the sleeper looks, then parks", ASLEEP},
	{"doorbell", make_doorbell, SLEEPER_LOOKS_AT_HALF, "the last look leaves a pusher out", ASLEEP},
	{"doorbell", make_doorbell, BELL_NOT_STICKY, "a ring is lost on a sleeper that is not asleep yet", ASLEEP},
	{"doorbell", make_doorbell, BELL_CLEARED_AFTER_LOOK, "the bell is cleared after the last look", ASLEEP},
	{"doorbell", make_doorbell, PARKED_NO_EPOCH, "parked is a flag: one parking looks like the next", ASLEEP},
	{"doorbell", make_doorbell, RINGS_UNCOUNTED, "the pusher forgets that it rang", TWICE},
	{"doorbell", make_doorbell, PARITY_IGNORED, "the pusher rings whatever parked says", AWAKE},

	{"commit", make_commit, COMMIT, "as built", NULL},
	{"commit", make_commit, COMMIT_HEAVY, "as built where there is no barrier: fences on both sides", NULL},
	{"commit", make_commit, NO_BARRIER, "neither fence nor barrier", ASLEEP},
	{"commit", make_commit, LOOP_FENCE_ONLY, "a fence of the loop's own instead of the barrier", ASLEEP},
	{"commit", make_commit, BARRIER_BEFORE_PARKED, "the barrier comes before parked", ASLEEP},
	{"commit", make_commit, BARRIER_AFTER_LOOK, "the barrier comes after the last look", ASLEEP},
	{"commit", make_commit, COMMITTER_LOOKS_FIRST, "the compiler moves the look before the commit", ASLEEP},
	{"commit", make_commit, PARKED_TAKEN_BY_STORE, "parked is taken away by a store that lingers", ASLEEP},
	{"commit", make_commit, TAKER_DOES_NOT_RING, "a thread that takes parked away does not ring", ASLEEP},

	{"window", make_window, WINDOW, "as built", NULL},
	{"window", make_window, CLAIMER_NO_FENCE, "the claimer has no fence", ASLEEP},
	{"window", make_window, CLAIMER_NO_SECOND_LOOK, "the claimer does not look again", ASLEEP},
	{"window", make_window, CLAIMER_LOOKS_FIRST, "the claimer looks again, then marks itself", ASLEEP},
	{"window", make_window, CLAIMER_CLEARS_LATE, "the claimer clears the bell before it waits", ASLEEP},
	{"window", make_window, MOVER_NO_FENCE, "the loop has no fence", ASLEEP},
	{"window", make_window, MOVER_LOOKS_FIRST, "the loop looks for the mark, then moves the limit", ASLEEP},
	{"window", make_window, MARK_TAKEN_BY_STORE, "the mark is taken off by a store that lingers", ASLEEP},
	{"window", make_window, WINDOW_BELL_NOT_STICKY, "a ring is lost on a claimer that is not asleep yet", ASLEEP},

	{"late", make_late, LATE, "as built", NULL},
	{"late", make_late, MAKER_DOES_NOT_LOOK, "the maker does not look for what was said before", ASLEEP},
	{"late", make_late, MAKER_NO_FENCE, "the maker has no fence", ASLEEP},
	{"late", make_late, MAKER_LOOKS_FIRST, "the maker looks, then makes it", ASLEEP},
	{"late", make_late, LATE_MOVER_NO_FENCE, "the loop has no fence", ASLEEP},
	{"late", make_late, LATE_MOVER_LOOKS_FIRST, "the loop looks for it, then moves the limit", ASLEEP},
	{"late", make_late, ARMS_TAKEN_WITHOUT_IT, "arms are taken though there is nothing to tell them on", ASLEEP},
};

int main(int argc, char **argv)
{
	return try_machines("doorbell: the doorbell between processes, and its relatives inside of one", scenarios,
			    COUNT_OF(scenarios), argc, argv);
}
