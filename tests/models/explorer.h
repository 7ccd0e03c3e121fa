/* explorer.h - all states of a model, or random runs of it, and the ways to what is found there: one for all models.
 *
 * A model is a program. It says what its worlds and its states are, which steps lead from one state to the next, what must hold in each
 * state, and what where nothing follows any more. A state is bytes, without holes that are not set: states are compared as they lie.
 * What a world leaves out, or does otherwise than by the rules, is part of it, and with a table of worlds comes what is to be found in
 * each: nothing, where the rules hold. A line is printed for each, and the exit status is 0 if there is no surprise.
 *
 * All states are looked at breadth first, so the way to what is found is as short as can be; or, if they are very large, depth first. Or
 * runs are made, in which each step of each node has a weight of its own for a while: so some are slow, and some things happen late. In a
 * run things go wrong for so many steps, and then none does (it is *calm*) until nothing can follow. In the search for all states calm are
 * those steps by which nothing goes wrong.
 *
 * One thread, nothing is kept between searches, and an end of memory ends the program.
 */
#ifndef WH_TESTS_MODELS_EXPLORER_H
#define WH_TESTS_MODELS_EXPLORER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "book.h"

/* Each model has its own. */
struct world;
struct state;

struct step {
	uint8_t kind;  /* of the model */
	uint8_t node;  /* the node, member or thread that takes it */
	uint8_t other; /* what it is about: another node, a group, a slot */
	uint8_t more;
};

#define STEPS_MOST 1024 /* from one state */
#define NOTES 12
#define BOOKS 4

/* A search, while it goes on. */
struct search {
	const struct model *model;
	const struct world *world;
	bool verbose;
	/* All states: those that have been seen (with a `key`: what is left of them), and the number of the one that is looked at. */
	struct book seen;
	uint32_t at;
	/* A run: its steps so far. */
	uint32_t length;
	struct step *taken;
	/* The model's own: what it counts, states that it knows to end well (of `state_bytes`), what it found as text. */
	uint32_t noted[NOTES];
	struct book good[BOOKS];
	char text[400];
	/* What is wrong; NULL: nothing so far. Nothing is looked at any more when something is. */
	const char *wrong;
	uint32_t stuck;  /* states that are */
	struct way *way; /* explorer.c's */
};

/* How random runs go. */
struct gait {
	/* Steps of a run, at most: if it has not come to its end then that is a finding, unless `troubled` is 0. */
	uint32_t length;
	/* Things go wrong for less than so many steps, or, if both are not 0, than one or the other. */
	uint32_t troubled, troubled_2;
	uint32_t stretch;  /* steps for which weights stay */
	uint64_t turn;     /* what the seed of weights grows by then; 0: a large number */
	uint64_t seeds[2]; /* of the first run: usually, in a longer search */
	/* Of a step, by one of four chances; NULL: of each step these. */
	uint32_t (*weight)(struct step step, unsigned chance);
	uint16_t weights[4];
};

struct trial;

/* Which states are counted, where something is wrong: all that have been seen, without the one behind a wrong step, or those that have
 * been looked at. */
enum counts { ALL_SEEN, ALL_RIGHT, ALL_LOOKED_AT };

struct model {
	const char *what;               /* one line */
	size_t state_bytes, same_bytes; /* as in a book */
	const char *const *notes;       /* the names of what is noted; NULL behind the last */
	bool not_in_vain;               /* what holds is a surprise if the first of them was never noted */
	enum counts counts;
	uint32_t most, cut_off, runs; /* states or runs of a trial by its extent, ... */
	uint32_t to_find;             /* ... and so many times as many where something is to be found; 0: 1 */
	struct gait gait;

	/* ---- the beginning: in one state (NULL: of zeros), or in several, by reach() */
	void (*begin)(const struct world *w, struct state *s);
	void (*begins)(struct search *x);

	/* ---- steps: either all that follow from a state, by reach(), */
	void (*go_on)(struct search *x, const struct state *s);
	/* or which can be taken, or which if nothing goes wrong any more (`calm`); their number. Then what one does: NULL, or what is
	 * wrong with it. */
	int (*steps)(const struct world *w, const struct state *s, bool calm, struct step *out);
	const char *(*take)(const struct world *w, struct state *s, struct step step);
	/* Steps that come only where, in the calm, no other can be taken; or none. NULL: there are none. */
	int (*late)(const struct world *w, const struct state *s, struct step *out);
	/* One of all states that are alike; NULL: `take` makes them so. In runs it is not asked for. */
	void (*tidy)(const struct world *w, struct state *s);
	/* What tells states apart, as bytes, at most `key_bytes`; their number. For states that are too large to be kept. */
	size_t (*key)(const struct world *w, const struct state *s, uint8_t *out);
	size_t key_bytes;
	/* With a key: depth first, with so many steps in a row at most, and late steps too; 0: breadth first. */
	uint32_t depth;
	void (*copy)(struct state *to, const struct state *from);
	/* NULL: all are. */
	bool (*is_calm)(const struct world *w, const struct state *s, struct step step);

	/* ---- what must hold: each NULL, or what is wrong. In each state, and in a run behind each step; */
	const char *(*judge)(struct search *x, const struct state *s);
	/* where no calm step follows; */
	const char *(*rest)(struct search *x, const struct state *s);
	/* when all states have been seen, or as many as are looked at; */
	const char *(*conclude)(struct search *x);
	/* where, in the calm, late steps follow each other. */
	const char *(*endless)(const struct world *w, const struct state *s);
	/* From each state one of these can be reached by calm steps alone; else it is `stuck`. A run ends there. */
	bool (*is_goal)(const struct world *w, const struct state *s);
	const char *stuck;
	/* What is modelled is exhausted: nothing follows from a run that came there. */
	bool (*is_full)(const struct state *s);

	/* The steps of a timeline, which is the model's own words, at most as many as a run has; their number. */
	int (*read_timeline)(const struct trial *t, struct step *out);

	/* ---- as text: lines, but for the world, which stands before what is tried there */
	void (*print_world)(const struct world *w);
	void (*print_step)(const struct world *w, const struct state *s, struct step step);
	const char *const *names; /* of kinds of steps, where there is no print_step */
	void (*print_state)(const struct world *w, const struct state *s);
	void (*print_more)(struct search *x, const struct state *s); /* behind the way to what `judge` found */
};

/* ---- for the model ---- */

/* The next state, and the step to it. */
void reach(struct search *x, const struct state *next, struct step step);
static inline void reach_by(struct search *x, const struct state *next, int kind, unsigned node, unsigned other)
{
	reach(x, next, (struct step){(uint8_t)kind, (uint8_t)node, (uint8_t)other});
}
/* That is wrong with the next that is reached. */
void go_wrong(struct search *x, const char *wrong);
static inline const struct state *state_at(const struct search *x, uint32_t number)
{
	return book_state(&x->seen, number);
}
/* Prints the steps to a state that has been seen. */
void print_way(struct search *x, uint32_t number);

/* ---- what is tried ---- */

enum extent {
	EVERY,    /* state, or it is a surprise */
	CUT_OFF,  /* there are more states than anybody waits for */
	RANDOM,   /* runs */
	TIMELINE, /* these steps, those of them that can be taken, and then on in the calm */
	LARGE,    /* every state, and not every day */
};

struct trial {
	const char *what;
	enum extent extent;
	const char *expected; /* NULL: it holds */
	const struct world *world;
	uint32_t runs;    /* or states; 0: as the model says */
	uint32_t looked;  /* so many states or runs are looked at; 0: any number */
	uint32_t noted;   /* and so many noted first */
	bool once;        /* no longer in a longer search */
	const char *name; /* before `what` in its line, if it is not NULL */
	const char *timeline;
};

struct options {
	bool verbose;
	uint32_t times; /* random runs, and searches that are cut off, are so many times as long; above 1: what is LARGE too */
	const char *rule;      /* NULL, or words: only what has these in its line is tried */
	uint32_t states, runs; /* 0, or how many at most */
};

/* Ends the program if it asks for help, or cannot be understood. */
struct options read_options(const struct model *m, int argc, char **argv);
/* An exit status. */
int try_all(const struct model *m, const struct trial *trials, size_t count, struct options options);

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define WORLD(...)                                                                                                     \
	&(const struct world)                                                                                          \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}

#endif
