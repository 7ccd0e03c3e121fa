/* restart_search.c - all states of the model, breadth first, or random runs, and whether all come back from them. See restart.h. */
#include "restart.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

/* ---- do all come back? --------------------------------------------------------------------------------------------- */

#define CALM_STEPS 200

/* Then the first thing that can be done is done, until nothing can be. NULL: all have come back. */
static const char *calm_down(const struct world *w, struct state s, bool verbose)
{
	struct step steps[STEPS];
	const char *wrong = NULL;

	for (int n = 0; n < CALM_STEPS && wrong == NULL; n++) {
		int count = steps_from(w, &s, true, steps), best = 0;

		if (is_whole(w, &s))
			return NULL;
		for (int k = 1; k < count; k++)
			if (steps[k].kind < steps[best].kind)
				best = k;
		if (count == 0)
			return STUCK;
		if (verbose)
			print_step(w, &s, steps[best]);
		wrong = take(w, &s, steps[best]);
	}
	return wrong != NULL ? wrong : STUCK;
}

static const struct book no_states = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct state)};

/* `good`: states from which all come back. */
static const char *come_back(const struct world *w, struct book *good, const struct state *from)
{
	const char *wrong;
	struct state s;

	if (from->lost > 0 || from->rot > 0)
		return NULL; /* it may have to wait for an operator */
	s = *from;
	lose_power(w, &s);
	if (book_has(good, &s))
		return NULL;
	wrong = calm_down(w, s, false);
	if (wrong == NULL)
		(void)book_add(good, &s);
	return wrong;
}

static void print_calm(const struct world *w, const struct state *from)
{
	struct state s = *from;

	lose_power(w, &s);
	print_state(w, from);
	printf("      --- the power goes, and comes again\n");
	(void)calm_down(w, s, true);
}

/* ---- all states ---------------------------------------------------------------------------------------------------- */

struct entry {
	struct state state;
	uint32_t parent;
	struct step step; /* the one that led here */
};

static const struct book no_entries = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)};

static const struct entry *entry_of(const struct book *b, uint32_t i)
{
	return (const struct entry *)(const void *)b->entries + i;
}

static void print_trace(const struct book *b, const struct world *w, uint32_t i)
{
	const struct entry *e = entry_of(b, i);

	if (i == 0)
		return;
	print_trace(b, w, e->parent);
	print_step(w, &entry_of(b, e->parent)->state, e->step);
}

static const char *expand(struct book *b, const struct world *w, uint32_t i, bool verbose)
{
	struct step steps[STEPS];
	int count = steps_from(w, &entry_of(b, i)->state, false, steps);
	const char *wrong = NULL;

	for (int n = 0; n < count && wrong == NULL; n++) {
		struct entry next;

		memset(&next, 0, sizeof(next));
		next.state = entry_of(b, i)->state;
		next.parent = i;
		next.step = steps[n];
		wrong = take(w, &next.state, steps[n]);
		if (wrong == NULL) {
			(void)book_add(b, &next);
		} else if (verbose) {
			print_trace(b, w, i);
			print_state(w, &entry_of(b, i)->state);
			print_step(w, &entry_of(b, i)->state, steps[n]);
			print_state(w, &next.state);
		}
	}
	return wrong;
}

struct finding explore(const struct world *w, uint32_t limit, bool verbose)
{
	struct book b = no_entries, good = no_states;
	struct finding found = {0};
	struct entry first;
	uint32_t i;

	memset(&first, 0, sizeof(first));
	begin_world(w, &first.state);
	(void)book_add(&b, &first);
	for (i = 0; i < b.count && b.count < limit && found.wrong == NULL; i++) {
		found.wrong = come_back(w, &good, &entry_of(&b, i)->state);
		if (found.wrong == NULL) {
			found.wrong = expand(&b, w, i, verbose);
		} else if (verbose) {
			print_trace(&b, w, i);
			print_calm(w, &entry_of(&b, i)->state);
		}
	}
	found.all = i == b.count;
	found.looked = b.count;
	found.returns = good.count;
	book_close(&b);
	book_close(&good);
	return found;
}

/* ---- random runs --------------------------------------------------------------------------------------------------- */

#define RUN 120

static uint32_t roll(uint64_t *dice)
{
	*dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*dice >> 33);
}

/* In each run each step of each node has a weight of its own: so some are slow, some things happen late. */
static uint32_t weight_of(uint64_t seed, struct step step)
{
	static const uint32_t weights[] = {1, 8, 64, 256};
	uint64_t h = (seed ^ (uint64_t)(step.kind << 16 | step.node << 8 | step.other)) * UINT64_C(0xff51afd7ed558ccd);

	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return weights[h >> 40 & 3];
}

static int pick(uint64_t seed, uint64_t *dice, const struct step *steps, int count)
{
	uint32_t sum = 0, at;
	int n = 0;

	for (int k = 0; k < count; k++)
		sum += weight_of(seed, steps[k]);
	at = sum > 0 ? roll(dice) % sum : 0;
	while (n < count - 1 && at >= weight_of(seed, steps[n]))
		at -= weight_of(seed, steps[n++]);
	return n;
}

/* One run; its steps go to `taken`. */
static const char *run(const struct world *w, struct book *good, uint64_t seed, struct step *taken, int *length)
{
	uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	const char *wrong = NULL;
	struct state s;

	begin_world(w, &s);
	for (*length = 0; *length < RUN && wrong == NULL;) {
		struct step steps[STEPS];
		int count = steps_from(w, &s, false, steps);

		if (count == 0)
			break;
		taken[*length] =
			steps[pick(seed + (uint64_t)(*length / 12) * UINT64_C(0x9e3779b97f4a7c15), &dice, steps, count)];
		wrong = take(w, &s, taken[(*length)++]);
		if (wrong == NULL && *length % 8 == 0)
			wrong = come_back(w, good, &s);
	}
	return wrong;
}

static void print_run(const struct world *w, const struct step *taken, int length)
{
	struct state s;

	begin_world(w, &s);
	for (int n = 0; n < length; n++) {
		print_step(w, &s, taken[n]);
		print_state(w, &s);
		(void)take(w, &s, taken[n]);
	}
	print_calm(w, &s);
}

struct finding wander(const struct world *w, uint32_t runs, bool verbose)
{
	struct finding found = {0};
	struct book good = no_states;
	struct step taken[RUN];
	int length = 0;

	while (found.looked < runs && found.wrong == NULL)
		found.wrong = run(w, &good, found.looked++, taken, &length);
	if (found.wrong != NULL && verbose)
		print_run(w, taken, length);
	found.returns = good.count;
	book_close(&good);
	return found;
}
