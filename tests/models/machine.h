/* machine.h - a made-up machine with store buffers, and an explorer of all interleavings of programs on it.
 *
 * The machine is weaker than x86: a thread's stores go through a buffer, from which they reach memory at any later
 * moment and in any order, save that a release store leaves after all before it. Loads are made in program order. The
 * bell is what threads sleep on; ringing it orders nothing.
 *
 * What must hold of a model: there is no state in which nothing moves any more and a thread is still asleep (or stuck);
 * no ring for a thread that is awake; one ring for one parking.
 */
#ifndef WH_MODELS_MACHINE_H
#define WH_MODELS_MACHINE_H

#include <stdbool.h>
#include <stdint.h>

#define THREADS 3
#define WORDS 4        /* of memory */
#define REGISTERS 5    /* of a thread */
#define BUFFER 4       /* stores of a thread that are not in memory yet */
#define CODE 64        /* instructions of a thread */
#define FALSE_ALARMS 1 /* times in a run that a wait ends for no reason: time-out, signal, socket */

enum op {
	LOAD,     /* register a := word b */
	STORE,    /* word a := register b, some time */
	RELEASE,  /* the same, after all stores before it */
	EXCHANGE, /* register a <-> word b, at once; a full fence as well */
	FENCE,    /* until my stores are in memory */
	BARRIER,  /* until each thread had, at some moment since I began, its stores in memory */
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

struct model {
	struct program threads[THREADS];
	uint8_t thread_count;
};

/* Appends an instruction; its place. */
uint8_t emit(struct program *p, enum op op, uint8_t a, uint8_t b);
/* The same, with its target. */
void emit_to(struct program *p, enum op op, uint8_t a, uint8_t b, uint8_t target);
/* The jump at place `jump` leads to what is emitted next. */
void land(struct program *p, uint8_t jump);

#define ASLEEP "asleep for ever"
#define AWAKE "rings a thread that is awake"
#define TWICE "rings twice for one parking"

/* NULL if all states are good, else one of the three. *states: how many were looked at. Prints a trace if `verbose`. */
const char *explore(const struct model *m, uint32_t *states, bool verbose);

#endif
