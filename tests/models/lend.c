/* lend.c - how requests get to a trustee of this process: slots, sleep, and an idle trustee that is lent; in all interleavings.
 *
 * For each pair of a client thread and a trustee there are a request slot, which the client writes, and an answer slot. Words:
 *
 *     sent      of the request slot: the number of the request (of the batch) that is in it. The client's
 *     done      of the answer slot: the number of the last request that was answered. The holder's of the trustee's loan
 *     waits     the client sleeps on it, or is about to: 1. The client's; the thread that answers takes it away
 *     parked    the trustee sleeps on it, or is about to: 1. The trustee's; a client that rings takes it away
 *     loan      kept, lent or borrowed, as in base/gate.h. The trustee keeps it while it is awake. The holder, which is the trustee
 *               while it is kept and the borrower while it is borrowed, may run requests; no other thread may
 *
 * Slots:
 *  S1 The client writes the request, then `sent` (release). The holder reads `sent` (acquire), then the request.
 *  S2 The holder writes the answer, then `done` (release). The client reads `done` (acquire), then the answer.
 *  S3 A slot is filled again only when the client has seen its last number in `done`: also if the client has stopped waiting for it.
 *  S4 What waits is what `sent` says and `done` does not, both as they stand in memory: the trustee keeps no number of its own of what
 *     was answered, since a borrower may have answered it.
 * A client sleeps:
 *  C1 `waits` := 1, then a barrier on all threads (or a full fence, if C2 has one too), then it looks at `done` once more, then it sleeps
 *     while `waits` is 1.
 *  C2 The holder, trustee or borrower alike: `done`, then it looks at `waits` (only the compiler is held; or a full fence, for a whole
 *     pass if it likes); if it is 1 takes it away by an exchange, and wakes the client. Which is still so when it was the last request.
 *  C3 A client that wakes begins with C1 again if its number is not there: a late answer's wake may hit the next wait.
 * A trustee sleeps:
 *  T1 `parked` := 1, then a barrier on all threads, then it looks at all slots once more; if one waits `parked` := 0 and it serves.
 *  T2 Else `loan` := lent (release), and it sleeps while `parked` is 1.
 *  T3 When it wakes, for whatever reason, it first takes the loan back, from lent to kept by a compare-and-swap (acquire); while it
 *     is borrowed it waits. Then `parked` := 0, and it looks at all slots.
 *  R1 A client that has filled a slot then looks at `parked` (only the compiler is held), before it waits for anything; if it is 1 takes
 *     it away by an exchange; the client that gets the 1 wakes the trustee. It is rung though the trustee may be lent just now.
 *     Between the two it may spin for a while, and try to borrow: C1 comes after R1, no more.
 * Borrowing:
 *  B1 `loan` from lent to borrowed by a compare-and-swap (acquire). No client waits for this: if it fails, R1.
 *  B2 A borrower first runs what its own slot has, if it waits: a client's requests run in the order in which they were made. Then the
 *     request that it came for, without a slot.
 *  B3 It may then serve the other slots, as the trustee would: `done`, and C2. It need not: R1 holds for them.
 *  B4 It gives back: `loan` := lent (release), all stores of what it ran, and `done`, before it. No fence, no second look: those that
 *     came meanwhile have rung (R1), or will before they sleep.
 * Asking, where clients have all processors, and a trustee that wakes takes one from them: instead of R1 and B3,
 *  A1 A client that has filled its slot does not ring. Before it sleeps `asked` := 1 (release), before the barrier of C1; behind that it looks at
 *     `loan`, and rings as in R1 unless it is borrowed.
 *  A2 A borrower looks at `asked` when it has given back (only the compiler is held). If it is 1 it tries to borrow again, and serves all;
 *     if that fails it rings as in R1, unless it is borrowed: then that client looks.
 *  A3 A borrower that finds `asked` 1 when it has borrowed takes it away by an exchange, before it looks at the slots, and serves all.
 *
 * What must hold stands in machine.h: among others, each request runs once, one at a time, seeing all that was done before; each client
 * ends; only the trustee sleeps then. Each rule is then left out: the search must find what breaks.
 *
 *     slots     one client, and a trustee that never sleeps: three requests that are not waited for, and their answers
 *     sleep     two clients and a trustee that sleep; nothing is lent
 *     lend      the whole: client 0 makes a request that it does not wait for, and one that it does; client 1 one
 *     ask       the same, and clients ask; each borrower serves itself alone if no client has asked
 */
#include "machine.h"

/* ---- slots -------------------------------------------------------------------------------------------------------- */

/* What is done otherwise than by the rules; the first is the rules. */
enum slots_variant {
	SLOTS,
	SENT_FIRST,    /* not S1 */
	SENT_PLAIN,    /* the same: no release */
	DONE_FIRST,    /* not S2 */
	DONE_PLAIN,    /* the same */
	FILLED_UNREAD, /* not S3 */
};

#define SENDS 3

enum slots_word { REQUEST, SENT, ANSWER, DONE };

static void put_pair(struct program *p, uint8_t data, uint8_t guard, uint8_t value, bool guard_first, bool plain)
{
	if (guard_first)
		emit(p, RELEASE, guard, value);
	emit(p, STORE, data, value);
	if (!guard_first)
		emit(p, plain ? STORE : RELEASE, guard, value);
}

static void write_sender(struct program *p, enum slots_variant variant)
{
	enum { NUMBER, BEFORE, GOT };

	for (int k = 1; k <= SENDS; k++) {
		if (k > 1 && variant != FILLED_UNREAD) {
			emit(p, SET, BEFORE, (uint8_t)(k - 2));
			emit(p, AWAIT, BEFORE, DONE);
			emit(p, LOAD, GOT, ANSWER);
			emit(p, CHECK, GOT, NUMBER);
		}
		emit(p, ADD, NUMBER, 1);
		put_pair(p, REQUEST, SENT, NUMBER, variant == SENT_FIRST, variant == SENT_PLAIN);
	}
	emit(p, END, 0, 0);
}

static void write_server(struct program *p, enum slots_variant variant)
{
	enum { SEEN, NUMBER, GOT };

	emit(p, AWAIT, SEEN, SENT);
	emit(p, LOAD, NUMBER, SENT);
	emit(p, LOAD, GOT, REQUEST);
	emit(p, CHECK, GOT, NUMBER);
	emit(p, ENTER, NUMBER, 0);
	emit(p, LEAVE, 0, 0);
	put_pair(p, ANSWER, DONE, NUMBER, variant == DONE_FIRST, variant == DONE_PLAIN);
	emit(p, COPY, SEEN, NUMBER);
	emit_to(p, GO, 0, 0, 0);
}

static void make_slots(struct world *w, int variant)
{
	w->thread_count = 2;
	w->serves = true;
	w->requests[0] = SENDS;
	write_sender(&w->threads[0], (enum slots_variant)variant);
	write_server(&w->threads[1], (enum slots_variant)variant);
}

/* ---- sleep, and lend ---------------------------------------------------------------------------------------------- */

enum variant {
	RULES,
	ANSWERER_FENCES,        /* as good: C1 and C2 have a full fence each, no barrier */
	SERVES_ITSELF_ALONE,    /* as good: not B3 */
	LENT_PLAIN,             /* as good: T2 is no release, since nothing is stored between T1's barrier and it */
	DOES_NOT_TRY_AGAIN,     /* as good: a client that has filled its slot does not try to borrow */
	WAITER_NO_BARRIER,      /* C1: neither barrier nor fence */
	WAITER_LOOKS_FIRST,     /* C1: looks, then marks itself */
	WAITER_NO_LOOK,         /* C1: does not look once more */
	WAKE_IS_ANSWER,         /* not C3 */
	ANSWERER_LOOKS_FIRST,   /* C2: looks at `waits`, then stores `done` */
	BORROWER_DOES_NOT_WAKE, /* C2 holds for the trustee alone */
	MARK_NOT_TAKEN,         /* C2: wakes without taking `waits` away */
	TRUSTEE_NO_BARRIER,     /* T1 */
	TRUSTEE_LOOKS_FIRST,    /* T1 */
	TRUSTEE_LOOKS_AT_HALF,  /* T1 */
	NOT_TAKEN_BACK,         /* not T3: it serves at once */
	TAKEN_BY_STORE,         /* T3: looks that it is not borrowed, and stores */
	NOT_RUNG,               /* not R1 */
	NOT_RUNG_IF_LENT,       /* R1: not rung while the loan is borrowed */
	RUNG_FIRST,             /* R1: looks at `parked`, then fills the slot */
	PARKED_NOT_TAKEN,       /* R1: `parked` is left, and the trustee woken */
	BORROWED_BY_STORE,      /* B1: looks, then stores */
	OWN_SLOT_LATER,         /* not B2 */
	ANSWERED_UNMARKED,      /* B3: runs what waits, and leaves `done` */
	GIVEN_BACK_PLAIN,       /* B4: no release */
	GIVEN_BACK_EARLY,       /* B4: before it serves the others */
	KEPT_NUMBERS,           /* not S4 */
	FILLED_AGAIN,           /* not S3 */
	LENT_IN_BARRIER, /* as good: T1's barrier is made while it is lent, and the loan taken back before the look */
	ASKED_LATE,      /* A1: behind the barrier */
	ASKED_AND_NOT_RUNG,   /* A1: it never rings */
	NOT_SEEN,             /* not A2 */
	SEEN_AND_LEFT,        /* as good, if a swap fails for no other reason: A2 without the ring */
	ASKED_TAKEN_LATE,     /* A3: takes it away when it has looked at the slots */
	ASKED_TAKEN_BY_STORE, /* A3 */
};

enum word { SENT_0, SENT_1, DONE_0, DONE_1, WAITS_0, WAITS_1, PARKED, LOAN, ASKED };
enum loan { KEPT, LENT, BORROWED };

struct lending {
	enum variant variant;
	bool lends, asks;
};

/* A mark is taken away by an exchange; the thread that gets it wakes. */
static void write_wake(struct program *p, uint8_t mark, bool left)
{
	enum { SAW };
	uint8_t unmarked, taken = NONE;

	emit(p, LOAD, SAW, mark);
	unmarked = emit(p, IF_IS, SAW, 0);
	if (!left) {
		emit(p, SET, SAW, 0);
		emit(p, EXCHANGE, SAW, mark);
		taken = emit(p, IF_IS, SAW, 0);
	}
	emit(p, WAKE, 0, mark);
	land(p, unmarked);
	if (taken != NONE)
		land(p, taken);
}

/* What a holder does for the slot of client c. `kept`: a register with the number that it believes answered, or NONE. */
static void write_serve(struct program *p, const struct lending *l, uint8_t c, bool trustee, uint8_t kept)
{
	enum { SAW, NUMBER, ANSWERED };
	enum variant v = l->variant;
	bool wakes = trustee || v != BORROWER_DOES_NOT_WAKE;
	uint8_t idle, unmarked = NONE;

	emit(p, LOAD, NUMBER, SENT_0 + c);
	if (kept == NONE)
		emit(p, LOAD, ANSWERED, DONE_0 + c);
	idle = emit(p, IF_SAME, NUMBER, kept == NONE ? (uint8_t)ANSWERED : kept);
	emit(p, ENTER, NUMBER, c);
	emit(p, LEAVE, 0, 0);
	if (kept != NONE)
		emit(p, COPY, kept, NUMBER);
	if (v == ANSWERER_LOOKS_FIRST) {
		emit(p, LOAD, SAW, WAITS_0 + c);
		unmarked = emit(p, IF_IS, SAW, 0);
	}
	if (v == ANSWERED_UNMARKED && !trustee) {
		land(p, idle);
		return;
	}
	emit(p, RELEASE, DONE_0 + c, NUMBER);
	if (v == ANSWERER_FENCES)
		emit(p, FENCE, 0, 0);
	if (wakes)
		write_wake(p, WAITS_0 + c, v == MARK_NOT_TAKEN);
	if (unmarked != NONE) {
		uint8_t over = emit(p, GO, 0, 0);

		land(p, unmarked);
		emit(p, RELEASE, DONE_0 + c, NUMBER);
		land(p, over);
	}
	land(p, idle);
}

/* ---- the trustee */

static void write_look(struct program *p, uint8_t c, uint8_t *found)
{
	enum { SAW, NUMBER, ANSWERED };

	emit(p, LOAD, NUMBER, SENT_0 + c);
	emit(p, LOAD, ANSWERED, DONE_0 + c);
	*found = emit(p, IF_OTHER, NUMBER, ANSWERED);
}

static void write_parked(struct program *p, uint8_t value)
{
	enum { SAW };

	emit(p, SET, SAW, value);
	emit(p, STORE, PARKED, SAW);
}

static void write_take_back(struct program *p, enum variant v)
{
	enum { SAW };
	uint8_t again = p->count, taken;

	if (v == NOT_TAKEN_BACK)
		return;
	if (v == TAKEN_BY_STORE) {
		emit(p, SET, SAW, BORROWED);
		emit(p, AWAIT, SAW, LOAN);
		emit(p, SET, SAW, KEPT);
		emit(p, RELEASE, LOAN, SAW);
		return;
	}
	emit(p, SWAP_IF, SAW, LOAN);
	p->code[p->count - 1].target = SWAP(LENT, KEPT);
	taken = emit(p, IF_IS, SAW, 1);
	emit(p, SET, SAW, BORROWED);
	emit(p, AWAIT, SAW, LOAN);
	emit_to(p, GO, 0, 0, again);
	land(p, taken);
}

/* `parked`, and the barrier. */
static void write_park(struct program *p, enum variant v)
{
	enum { SAW };

	if (v == LENT_IN_BARRIER) {
		emit(p, SET, SAW, LENT);
		emit(p, RELEASE, LOAN, SAW);
	}
	write_parked(p, 1);
	if (v != TRUSTEE_NO_BARRIER)
		emit(p, BARRIER, 0, 0);
	if (v == LENT_IN_BARRIER)
		write_take_back(p, v);
}

static void write_trustee(struct program *p, const struct lending *l)
{
	enum { SAW, NUMBER, ANSWERED, KEPT_0, KEPT_1 };
	enum variant v = l->variant;
	uint8_t found_0, found_1 = NONE;

	for (uint8_t c = 0; c < CLIENTS; c++)
		write_serve(p, l, c, true, v == KEPT_NUMBERS ? (uint8_t)(KEPT_0 + c) : NONE);
	if (v != TRUSTEE_LOOKS_FIRST)
		write_park(p, v);
	write_look(p, 0, &found_0);
	if (v != TRUSTEE_LOOKS_AT_HALF)
		write_look(p, 1, &found_1);
	if (v == TRUSTEE_LOOKS_FIRST) {
		write_parked(p, 1);
		emit(p, BARRIER, 0, 0);
	}
	if (l->lends) {
		emit(p, SET, SAW, LENT);
		emit(p, v == LENT_PLAIN ? STORE : RELEASE, LOAN, SAW);
	}
	emit(p, SLEEP, 1, PARKED);
	if (l->lends)
		write_take_back(p, v);
	land(p, found_0);
	if (found_1 != NONE)
		land(p, found_1);
	write_parked(p, 0);
	emit_to(p, GO, 0, 0, 0);
}

/* ---- a client: register NUMBER has the number of its request */

enum { C_SAW, C_NUMBER, C_ANSWERED, MINE };

static void write_ring_unless_borrowed(struct program *p)
{
	uint8_t borrowed;

	emit(p, LOAD, C_SAW, LOAN);
	borrowed = emit(p, IF_IS, C_SAW, BORROWED);
	write_wake(p, PARKED, false);
	land(p, borrowed);
}

static void write_fill(struct program *p, const struct lending *l, uint8_t c)
{
	enum variant v = l->variant;

	if (v == RUNG_FIRST)
		write_wake(p, PARKED, false);
	emit(p, RELEASE, SENT_0 + c, MINE);
	if (l->asks)
		return;
	if (v == NOT_RUNG_IF_LENT) {
		write_ring_unless_borrowed(p);
	} else if (v != NOT_RUNG && v != RUNG_FIRST) {
		write_wake(p, PARKED, v == PARKED_NOT_TAKEN);
	}
}

static void write_mark(struct program *p, uint8_t c, uint8_t value)
{
	emit(p, SET, C_SAW, value);
	emit(p, STORE, WAITS_0 + c, C_SAW);
}

static void write_ask(struct program *p)
{
	emit(p, SET, C_SAW, 1);
	emit(p, RELEASE, ASKED, C_SAW);
}

/* Until `done` is the number. */
static void write_wait(struct program *p, const struct lending *l, uint8_t c)
{
	enum variant v = l->variant;
	uint8_t begin = p->count, there, there_now = NONE;

	emit(p, LOAD, C_ANSWERED, DONE_0 + c);
	there = emit(p, IF_SAME, C_ANSWERED, MINE);
	if (v == WAITER_LOOKS_FIRST) {
		emit(p, LOAD, C_ANSWERED, DONE_0 + c);
		there_now = emit(p, IF_SAME, C_ANSWERED, MINE);
	}
	if (l->asks && v != ASKED_LATE)
		write_ask(p);
	write_mark(p, c, 1);
	if (v == ANSWERER_FENCES)
		emit(p, FENCE, 0, 0);
	else if (v != WAITER_NO_BARRIER)
		emit(p, BARRIER, 0, 0);
	if (v == ASKED_LATE)
		write_ask(p);
	if (v != WAITER_LOOKS_FIRST && v != WAITER_NO_LOOK) {
		emit(p, LOAD, C_ANSWERED, DONE_0 + c);
		there_now = emit(p, IF_SAME, C_ANSWERED, MINE);
	}
	if (l->asks && v != ASKED_AND_NOT_RUNG)
		write_ring_unless_borrowed(p);
	emit(p, SLEEP, 1, WAITS_0 + c);
	if (v == WAKE_IS_ANSWER)
		emit(p, CHECK, C_ANSWERED, MINE);
	else
		emit_to(p, GO, 0, 0, begin);
	if (there_now != NONE)
		land(p, there_now);
	write_mark(p, c, 0);
	land(p, there);
}

/* The jump that is taken if it could not be borrowed. */
static uint8_t write_borrow(struct program *p, enum variant v)
{
	uint8_t not_lent;

	if (v != BORROWED_BY_STORE) {
		emit(p, SWAP_IF, C_SAW, LOAN);
		p->code[p->count - 1].target = SWAP(LENT, BORROWED);
		return emit(p, IF_IS, C_SAW, 0);
	}
	emit(p, LOAD, C_SAW, LOAN);
	not_lent = emit(p, IF_NOT, C_SAW, LENT);
	emit(p, SET, C_SAW, BORROWED);
	emit(p, RELEASE, LOAN, C_SAW);
	return not_lent;
}

/* A3: it has borrowed. */
static void write_serve_if_asked(struct program *p, const struct lending *l, uint8_t c)
{
	enum variant v = l->variant;
	uint8_t not_asked;

	emit(p, LOAD, C_SAW, ASKED);
	not_asked = emit(p, IF_IS, C_SAW, 0);
	if (v == ASKED_TAKEN_LATE)
		write_serve(p, l, !c, false, NONE);
	emit(p, SET, C_SAW, 0);
	if (v == ASKED_TAKEN_BY_STORE)
		emit(p, STORE, ASKED, C_SAW);
	else
		emit(p, EXCHANGE, C_SAW, ASKED);
	if (v != ASKED_TAKEN_LATE)
		write_serve(p, l, !c, false, NONE);
	land(p, not_asked);
}

/* B4, and A2: where it begins again if it could borrow again. */
static void write_give_back(struct program *p, const struct lending *l, uint8_t again)
{
	uint8_t not_asked, kept;

	emit(p, SET, C_SAW, LENT);
	emit(p, l->variant == GIVEN_BACK_PLAIN ? STORE : RELEASE, LOAN, C_SAW);
	if (!l->asks || l->variant == NOT_SEEN)
		return;
	emit(p, LOAD, C_SAW, ASKED);
	not_asked = emit(p, IF_IS, C_SAW, 0);
	kept = write_borrow(p, l->variant);
	emit_to(p, GO, 0, 0, again);
	land(p, kept);
	if (l->variant != SEEN_AND_LEFT)
		write_ring_unless_borrowed(p);
	land(p, not_asked);
}

/* As a borrower: what waits in its own slot, the request that it came for (if it is not in the slot), and the others. */
static void write_run(struct program *p, const struct lending *l, uint8_t c, bool in_slot)
{
	enum variant v = l->variant;
	bool early = v == GIVEN_BACK_EARLY;
	uint8_t again;

	if (v != OWN_SLOT_LATER || in_slot)
		write_serve(p, l, c, false, NONE);
	if (!in_slot) {
		emit(p, ENTER, MINE, c);
		emit(p, LEAVE, 0, 0);
	}
	again = p->count;
	if (l->asks)
		write_serve_if_asked(p, l, c);
	else if (!early && v != SERVES_ITSELF_ALONE)
		write_serve(p, l, !c, false, NONE);
	write_give_back(p, l, again);
	if (early)
		write_serve(p, l, !c, false, NONE);
}

/* A request that is waited for. */
static void write_call(struct program *p, const struct lending *l, uint8_t c)
{
	enum variant v = l->variant;
	uint8_t kept = NONE, kept_on = NONE, over = NONE;

	if (l->lends) {
		kept = write_borrow(p, v);
		write_run(p, l, c, false);
		over = emit(p, GO, 0, 0);
		land(p, kept);
	}
	if (c == 0 && v != FILLED_AGAIN) { /* its slot has what it did not wait for */
		emit(p, ADD, MINE, 255);
		write_wait(p, l, c);
		emit(p, ADD, MINE, 1);
	}
	write_fill(p, l, c);
	if (l->lends && c == 1 && v != DOES_NOT_TRY_AGAIN) {
		kept_on = write_borrow(p, v);
		write_run(p, l, c, true);
		land(p, kept_on);
	}
	write_wait(p, l, c);
	if (over != NONE)
		land(p, over);
}

static void write_client(struct program *p, const struct lending *l, uint8_t c)
{
	emit(p, SET, MINE, 1);
	if (c == 0) {
		write_fill(p, l, c);
		emit(p, ADD, MINE, 1);
	}
	write_call(p, l, c);
	emit(p, END, 0, 0);
}

static void make(struct world *w, const struct lending *l)
{
	w->thread_count = 3;
	w->serves = true;
	w->requests[0] = 2;
	w->requests[1] = 1;
	for (uint8_t c = 0; c < CLIENTS; c++)
		write_client(&w->threads[c], l, c);
	write_trustee(&w->threads[2], l);
}

static void make_sleep(struct world *w, int variant)
{
	make(w, &(struct lending){(enum variant)variant, false, false});
}

static void make_lend(struct world *w, int variant)
{
	make(w, &(struct lending){(enum variant)variant, true, false});
}

static void make_ask(struct world *w, int variant)
{
	make(w, &(struct lending){(enum variant)variant, true, true});
}

/* ---- what is tried ------------------------------------------------------------------------------------------------ */

static const struct scenario scenarios[] = {
	{"slots", make_slots, SLOTS, "by the rules", NULL},
	{"slots", make_slots, SENT_FIRST, "`sent` is stored before the request", WRONG},
	{"slots", make_slots, SENT_PLAIN, "`sent` is no release", WRONG},
	{"slots", make_slots, DONE_FIRST, "`done` is stored before the answer", WRONG},
	{"slots", make_slots, DONE_PLAIN, "`done` is no release", WRONG},
	{"slots", make_slots, FILLED_UNREAD, "a slot is filled again before it was answered", WRONG},

	{"sleep", make_sleep, RULES, "by the rules", NULL},
	{"sleep", make_sleep, ANSWERER_FENCES, "a client that waits and one that answers have a fence each", NULL},
	{"sleep", make_sleep, WAITER_NO_BARRIER, "a client that waits has no barrier", ASLEEP},
	{"sleep", make_sleep, WAITER_LOOKS_FIRST, "a client looks, then marks itself", ASLEEP},
	{"sleep", make_sleep, WAITER_NO_LOOK, "a client does not look again", ASLEEP},
	{"sleep", make_sleep, WAKE_IS_ANSWER, "a client takes a wake for its answer", WRONG},
	{"sleep", make_sleep, ANSWERER_LOOKS_FIRST, "`waits` is looked at before `done` is stored", ASLEEP},
	{"sleep", make_sleep, MARK_NOT_TAKEN, "`waits` is left as it is", ASLEEP},
	{"sleep", make_sleep, TRUSTEE_NO_BARRIER, "the trustee makes no barrier", ASLEEP},
	{"sleep", make_sleep, TRUSTEE_LOOKS_FIRST, "the trustee looks, then parks", ASLEEP},
	{"sleep", make_sleep, TRUSTEE_LOOKS_AT_HALF, "the trustee looks at one slot", ASLEEP},
	{"sleep", make_sleep, NOT_RUNG, "a client does not ring", ASLEEP},
	{"sleep", make_sleep, RUNG_FIRST, "a client rings, then fills its slot", ASLEEP},
	{"sleep", make_sleep, PARKED_NOT_TAKEN, "`parked` is left as it is", ASLEEP},

	{"lend", make_lend, RULES, "by the rules", NULL},
	{"lend", make_lend, SERVES_ITSELF_ALONE, "a borrower serves its own client alone", NULL, true},
	{"lend", make_lend, DOES_NOT_TRY_AGAIN, "a client that has filled its slot does not try to borrow", NULL, true},
	{"lend", make_lend, LENT_PLAIN, "the trustee's lending is no release", NULL, true},
	{"lend", make_lend, LENT_IN_BARRIER, "the trustee is lent while it makes its barrier", NULL, true},
	{"lend", make_lend, BORROWER_DOES_NOT_WAKE, "a borrower does not wake the clients that it has served", ASLEEP},
	{"lend", make_lend, NOT_TAKEN_BACK, "the trustee does not take the loan back", OVERLAP},
	{"lend", make_lend, TAKEN_BY_STORE, "the trustee takes the loan back by a store", OVERLAP},
	{"lend", make_lend, NOT_RUNG_IF_LENT, "a client does not ring while the loan is borrowed", ASLEEP},
	{"lend", make_lend, RUNG_FIRST, "a client rings, then fills its slot", ASLEEP},
	{"lend", make_lend, TRUSTEE_NO_BARRIER, "the trustee makes no barrier", ASLEEP},
	{"lend", make_lend, WAITER_NO_BARRIER, "a client that waits has no barrier", ASLEEP},
	{"lend", make_lend, BORROWED_BY_STORE, "the loan is borrowed by a store", OVERLAP},
	{"lend", make_lend, OWN_SLOT_LATER, "a borrower's request runs before those that it made earlier", SKIPPED},
	{"lend", make_lend, ANSWERED_UNMARKED, "a borrower runs what waits, and does not say so in `done`", AGAIN},
	{"lend", make_lend, GIVEN_BACK_PLAIN, "giving back is no release", STALE},
	{"lend", make_lend, GIVEN_BACK_EARLY, "a borrower serves the others when it has given back", OVERLAP},
	{"lend", make_lend, KEPT_NUMBERS, "the trustee goes by numbers of its own", AGAIN},
	{"lend", make_lend, FILLED_AGAIN, "a slot is filled again before it was answered", SKIPPED},

	{"ask", make_ask, RULES, "by the rules", NULL},
	{"ask", make_ask, LENT_IN_BARRIER, "the trustee is lent while it makes its barrier", NULL, true},
	{"ask", make_ask, SEEN_AND_LEFT, "a borrower that was asked and cannot borrow again leaves it", NULL, true},
	{"ask", make_ask, ASKED_LATE, "a client asks behind its barrier", ASLEEP},
	{"ask", make_ask, ASKED_AND_NOT_RUNG, "a client that has asked never rings", ASLEEP},
	{"ask", make_ask, NOT_SEEN, "a borrower does not look whether it was asked", ASLEEP},
	{"ask", make_ask, ASKED_TAKEN_LATE, "a borrower looks at the slots, then takes `asked` away", ASLEEP},
	{"ask", make_ask, ASKED_TAKEN_BY_STORE, "`asked` is taken away by a store", ASLEEP},
};

int main(int argc, char **argv)
{
	return try_machines("lend: how requests get to a trustee of this process", scenarios, COUNT_OF(scenarios), argc,
			    argv);
}
