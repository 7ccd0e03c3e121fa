/* machine.h - a made-up machine with store buffers, on which programs run in all interleavings.
 *
 * The machine is weaker than x86: a thread's stores go through a buffer, from which they reach memory at any later
 * moment and in any order, save that a release store leaves after all before it. Loads are made in program order. The
 * bell is what threads sleep on, or a word of memory (a futex); ringing and waking order nothing.
 *
 * There may be a property: what requests are run on, one word. Requests of each client are numbered from 1.
 *
 * What must hold of programs: there is no state in which nothing moves any more and a thread is still asleep (or stuck);
 * no ring for a thread that is awake; one ring for one parking. Requests are run one at a time, each once, those of a client in their
 * order, and each finds the property as the one before has left it; of each client that ends all have been run.
 */
#ifndef WH_MODELS_MACHINE_H
#define WH_MODELS_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer.h"

#define THREADS 3
#define WORDS 10       /* of memory */
#define REGISTERS 5    /* of a thread */
#define BUFFER 4       /* stores of a thread that are not in memory yet */
#define CODE 192       /* instructions of a thread */
#define CLIENTS 2      /* threads that have requests run: the first ones */
#define FALSE_ALARMS 1 /* times in a run that a wait ends for no reason: time-out, signal, socket */

enum op {
	LOAD,     /* register a := word b */
	STORE,    /* word a := register b, some time */
	RELEASE,  /* the same, after all stores before it */
	EXCHANGE, /* register a <-> word b, at once; a full fence as well */
	SWAP_IF, /* word b := target's low half if it is the high half, at once, after my stores; register a: was it? */
	AWAIT,   /* until word b is not register a */
	FENCE,   /* until my stores are in memory */
	BARRIER, /* until each thread had, at some moment since I began, its stores in memory */
	/* Registers only: */
	SET,      /* register a := b */
	COPY,     /* register a := register b */
	ADD,      /* register a += b */
	IF_SAME,  /* register a equals register b: go to target */
	IF_OTHER, /* it does not: go to target */
	IF_IS,    /* register a is b: go to target */
	IF_NOT,   /* it is not: go to target */
	IF_EVEN,  /* register a is even: go to target */
	GO,       /* to target */
	/* The bell: */
	RING,      /* the bell rings, and goes on ringing; register a says for which parking (NONE: not counted) */
	RING_ONCE, /* the bell rings for the threads that are asleep now; nothing is kept */
	CLEAR,     /* the bell stops */
	WAIT,      /* until the bell rings */
	/* Words that threads sleep on: */
	SLEEP, /* if word b is a, until a WAKE */
	WAKE,  /* the threads that sleep on word b go on */
	/* The property, which is the last word: */
	ENTER, /* begins to run the request of client b with the number in register a */
	LEAVE, /* has run it; a store */
	CHECK, /* registers a and b are the same */
	END,
};

#define NONE 255 /* no register, no jump */

struct instruction {
	uint8_t op, a, b, target;
};

struct program {
	struct instruction code[CODE];
	uint8_t count;
};

struct world {
	struct program threads[THREADS];
	uint8_t thread_count;
	bool serves;               /* the last thread never ends: it is to sleep when the others have ended */
	uint8_t requests[CLIENTS]; /* to be run, in the end */
};

#define SWAP(from, to) ((from) << 4 | (to)) /* the target of SWAP_IF */

/* Appends an instruction; its place. */
uint8_t emit(struct program *p, enum op op, uint8_t a, uint8_t b);
/* The same, with its target. */
void emit_to(struct program *p, enum op op, uint8_t a, uint8_t b, uint8_t target);
/* The jump at place `jump` leads to what is emitted next. */
void land(struct program *p, uint8_t jump);

#define ASLEEP "asleep for ever"
#define AWAKE "rings a thread that is awake"
#define TWICE "rings twice for one parking"
#define OVERLAP "two requests at a time"
#define STALE "does not see what was done before"
#define AGAIN "a request runs twice"
#define SKIPPED "a request is passed over"
#define UNRUN "a request is never run"
#define WRONG "reads what was not meant for it"

struct scenario {
	const char *protocol;
	void (*make)(struct world *w, int variant);
	int variant;
	const char *what;
	const char *expected; /* NULL: it holds, else one of these */
	bool large;           /* not every day */
};

/* All interleavings of each; an exit status. `model`: one line of what they are. */
int try_machines(const char *model, const struct scenario *scenarios, size_t count, int argc, char **argv);

#endif
