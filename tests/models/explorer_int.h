/* explorer_int.h - what the parts of the explorer share: all states (explorer.c), random runs (runs.c), what is tried (trials.c). */
#ifndef WH_TESTS_MODELS_EXPLORER_INT_H
#define WH_TESTS_MODELS_EXPLORER_INT_H

#include "explorer.h"

#define PATIENCE 12 /* late steps, one after the other, lead somewhere */

/* Calm steps: those from state i end before ends[i + 1]. */
struct edges {
	uint32_t *to, *ends;
	uint32_t count, room, ends_room;
};

struct way {
	struct edges calm;
	/* With a key: the states themselves, of those that are looked at now, from number `first` on, and of those that are next. */
	unsigned char *now, *next;
	uint32_t first, now_count, next_count, now_room, next_room;
	uint8_t *key;
	struct state *from, *to; /* the state that is looked at, and one that follows */
	struct step steps[STEPS_MOST];
	struct step last; /* the one that was wrong */
	const char *pending;
	bool by_step, calm_follows;
};

/* ---- explorer.c ---- */

void *resize(void *old, size_t count, size_t bytes);
void open_way(struct search *x);
void close_way(struct search *x);
void set_out(const struct search *x, struct state *s);
void show_step(const struct search *x, const struct state *s, struct step step);
void show_state(const struct search *x, const struct state *s);
/* All states. False: it has stopped at so many, or where there is no room for more. What is wrong is printed if it is to be. */
bool explore(struct search *x, uint32_t most);

/* ---- runs.c ---- */

/* Random runs, until something is wrong; their number. The same. */
uint32_t wander(struct search *x, uint32_t runs, uint64_t seed);
/* Those of the steps that can be taken; and then, if nothing is wrong, it may go on to the end. What is wrong, or NULL. */
const char *play(struct search *x, const struct step *taken, uint32_t count, bool to_the_end, bool print);
/* The steps that have been taken. */
void print_run(struct search *x);

#endif
