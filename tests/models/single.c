/* single.c - the claims of a single sender (smc/ring.c, docs/decisions/0071), explored exhaustively.
 *
 * The sending thread moves its number by a store that may linger, holds back nothing but the compiler, and looks at the bit; if that is
 * up it takes its claim back by an exchange, unless the number is frozen. The loop raises the bit, makes a barrier on all threads,
 * freezes the number and counts what it says; then it makes the next view: the place, and the bit goes. Later it looks at the number
 * once more, when the sender has ended.
 *
 * What must hold: what the loop has counted stands; a claim that it has not counted lies in the new place; and in the end there are
 * as many claims as stand.
 */
#include "machine.h"

enum single_variant {
	SINGLE,
	SINGLE_HEAVY,
	NO_BARRIER,
	BARRIER_FIRST,
	NO_FREEZE,
	SENDER_LOOKS_FIRST,
	TAKEN_BACK_BY_STORE,
	NEVER_TAKEN_BACK,
	PLACE_FIRST,
	BIT_GOES_FIRST,
};

enum { OWN, BIT, PLACE, STANDS, IN_OLD, ENDED };
enum { FROZEN = 8, ATTEMPTS = 2 };

/* Registers. Of OWN the lower part is the number. */
enum { NUMBER, AFTER, SAW, WHERE, OLD };

/* What stands: NUMBER := k, and where it lies. */
static void write_stands(struct program *p, uint8_t k, enum single_variant variant)
{
	uint8_t is_new;

	if (variant != PLACE_FIRST)
		emit(p, LOAD, WHERE, PLACE);
	is_new = emit(p, IF_NOT, WHERE, 0);
	emit(p, SET, OLD, k);
	land(p, is_new);
	emit(p, SET, NUMBER, k);
}

/* The bit is up behind claim k. It falls through where the claim is taken back; returns the jump where it stands. */
static uint8_t write_take_back(struct program *p, uint8_t k, enum single_variant variant)
{
	uint8_t taken, stands;

	if (variant == NEVER_TAKEN_BACK)
		return emit(p, GO, 0, 0);
	if (variant == TAKEN_BACK_BY_STORE) {
		emit(p, SET, AFTER, (uint8_t)(k - 1));
		emit(p, STORE, OWN, AFTER);
		return NONE;
	}
	emit_to(p, SWAP_IF, SAW, OWN, SWAP(k, k - 1));
	taken = emit(p, IF_IS, SAW, 1);
	stands = emit(p, GO, 0, 0);
	land(p, taken);
	return stands;
}

/* Tries to claim number k; the registers say how it went. Where it is refused it goes on behind it. */
static void write_claim(struct program *p, uint8_t k, enum single_variant variant)
{
	uint8_t refused, clear = NONE, stands, over;

	emit(p, LOAD, SAW, BIT);
	refused = emit(p, IF_NOT, SAW, 0);
	if (variant == PLACE_FIRST)
		emit(p, LOAD, WHERE, PLACE);
	emit(p, SET, AFTER, k);
	emit(p, STORE, OWN, AFTER);
	if (variant == SINGLE_HEAVY)
		emit(p, FENCE, 0, 0);
	if (variant != SENDER_LOOKS_FIRST) {
		emit(p, LOAD, SAW, BIT);
		clear = emit(p, IF_IS, SAW, 0);
		stands = write_take_back(p, k, variant);
		over = emit(p, GO, 0, 0);
		land(p, clear);
		if (stands != NONE)
			land(p, stands);
		write_stands(p, k, variant);
		land(p, over);
	} else {
		write_stands(p, k, variant);
	}
	land(p, refused);
}

/* Each attempt is for the number behind what stands. */
static void write_sender(struct program *p, enum single_variant variant)
{
	for (int attempt = 0; attempt < ATTEMPTS; attempt++) {
		uint8_t done[ATTEMPTS];

		for (uint8_t k = 1; k <= ATTEMPTS; k++) {
			uint8_t other = emit(p, IF_NOT, NUMBER, (uint8_t)(k - 1));

			write_claim(p, k, variant);
			done[k - 1] = emit(p, GO, 0, 0);
			land(p, other);
		}
		for (int k = 0; k < ATTEMPTS; k++)
			land(p, done[k]);
	}
	emit(p, STORE, STANDS, NUMBER);
	emit(p, STORE, IN_OLD, OLD);
	emit(p, SET, SAW, 1);
	emit(p, RELEASE, ENDED, SAW);
	emit(p, FENCE, 0, 0);
	emit(p, END, 0, 0);
}

enum { COUNTED, REG, ZERO, LEAST, MOST };

/* wh_fetch_or: of the values that the word can have; and again, as it may change in between. */
static void write_freeze(struct program *p)
{
	uint8_t again = p->count, frozen[ATTEMPTS + 1];

	for (uint8_t v = 0; v <= ATTEMPTS; v++) {
		emit(p, SET, COUNTED, v);
		emit_to(p, SWAP_IF, REG, OWN, SWAP(v, v | FROZEN));
		frozen[v] = emit(p, IF_IS, REG, 1);
	}
	emit_to(p, GO, 0, 0, again);
	for (uint8_t v = 0; v <= ATTEMPTS; v++)
		land(p, frozen[v]);
}

/* Register `less` is no more than `more`, or something is wrong. */
static void write_at_most(struct program *p, uint8_t less, uint8_t more)
{
	for (uint8_t v = 1; v <= ATTEMPTS; v++) { /* less >= v and more < v */
		uint8_t small = emit(p, IF_IS, less, 0), smaller = NONE, good[ATTEMPTS + 1];

		if (v == 2)
			smaller = emit(p, IF_IS, less, 1);
		for (uint8_t k = v; k <= ATTEMPTS; k++)
			good[k] = emit(p, IF_IS, more, k);
		emit(p, SET, ZERO, NONE);
		emit(p, CHECK, ZERO, more);
		for (uint8_t k = v; k <= ATTEMPTS; k++)
			land(p, good[k]);
		land(p, small);
		if (smaller != NONE)
			land(p, smaller);
	}
}

static void write_view(struct program *p, enum single_variant variant)
{
	emit(p, SET, REG, 1);
	if (variant == BARRIER_FIRST)
		emit(p, BARRIER, 0, 0);
	emit(p, EXCHANGE, REG, BIT);
	if (variant == SINGLE_HEAVY)
		emit(p, FENCE, 0, 0);
	else if (variant != NO_BARRIER && variant != BARRIER_FIRST)
		emit(p, BARRIER, 0, 0);
	if (variant == NO_FREEZE)
		emit(p, LOAD, COUNTED, OWN);
	else
		write_freeze(p);
	emit(p, SET, REG, 0);
	if (variant == BIT_GOES_FIRST)
		emit(p, EXCHANGE, REG, BIT);
	emit(p, SET, REG, 1);
	emit(p, STORE, PLACE, REG);
	emit(p, SET, REG, 0);
	if (variant != BIT_GOES_FIRST)
		emit(p, EXCHANGE, REG, BIT);
}

static void write_loop(struct program *p, enum single_variant variant)
{
	uint8_t plain[ATTEMPTS + 1];

	write_view(p, variant);
	emit(p, SET, REG, 0);
	emit(p, AWAIT, REG, ENDED);
	emit(p, LOAD, LEAST, STANDS);
	emit(p, LOAD, MOST, IN_OLD);
	write_at_most(p, COUNTED, LEAST);
	write_at_most(p, MOST, COUNTED);
	emit(p, LOAD, REG, OWN);
	for (uint8_t v = 0; v <= ATTEMPTS; v++) {
		plain[v] = emit(p, IF_NOT, REG, v | FROZEN);
		emit(p, SET, REG, v);
		land(p, plain[v]);
	}
	emit(p, CHECK, REG, LEAST);
	emit(p, END, 0, 0);
}

static void make_single(struct world *w, int variant)
{
	w->thread_count = 2;
	write_sender(&w->threads[0], (enum single_variant)variant);
	write_loop(&w->threads[1], (enum single_variant)variant);
}

static const struct scenario scenarios[] = {
	{"single", make_single, SINGLE, "as built", NULL, false},
	{"single", make_single, SINGLE_HEAVY, "as built where there is no barrier: fences on both sides", NULL, false},
	{"single", make_single, NO_BARRIER, "neither fence nor barrier", WRONG, false},
	{"single", make_single, BARRIER_FIRST, "the barrier comes before the bit", WRONG, false},
	{"single", make_single, NO_FREEZE, "the number is looked at, and not frozen", WRONG, false},
	{"single", make_single, SENDER_LOOKS_FIRST, "the compiler moves the look before the claim", WRONG, false},
	{"single", make_single, TAKEN_BACK_BY_STORE, "a claim is taken back by a store, whether it was counted or not",
	 WRONG, false},
	{"single", make_single, NEVER_TAKEN_BACK, "a claim behind the bit stands whether it was counted or not", WRONG,
	 false},
	{"single", make_single, PLACE_FIRST, "the place is looked at before the bit", WRONG, false},
	{"single", make_single, BIT_GOES_FIRST, "the bit goes before the place is there", WRONG, false},
};

int main(int argc, char **argv)
{
	return try_machines("single: a claim without a locked instruction, and the end of a view", scenarios,
			    sizeof(scenarios) / sizeof(scenarios[0]), argc, argv);
}
