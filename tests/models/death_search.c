/* death_search.c - all states of the model, breadth first, or random runs. See death.h. */
#include "death.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"

/* ---- all states ---------------------------------------------------------------------------------------------------- */

struct entry {
	struct state state;
	uint32_t parent;
	struct step step; /* the one that led here */
	bool ends_well;   /* with calm steps all that must install can */
};

/* Calm steps, as pairs of entries. */
struct edges {
	uint32_t *from, *to;
	uint32_t count, room;
};

struct search {
	const struct world *world;
	struct book seen;
	struct edges calm;
};

static const struct book empty = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)};

static struct entry *entry_of(const struct search *x, uint32_t i)
{
	return (struct entry *)(void *)x->seen.entries + i;
}

static void *resize(void *old, size_t count, size_t bytes)
{
	void *p = realloc(old, count * bytes);

	if (p == NULL)
		abort();
	return p;
}

static void add_edge(struct edges *e, uint32_t from, uint32_t to)
{
	if (e->count == e->room) {
		e->room = e->room ? 2 * e->room : 1024;
		e->from = resize(e->from, e->room, sizeof(*e->from));
		e->to = resize(e->to, e->room, sizeof(*e->to));
	}
	e->from[e->count] = from;
	e->to[e->count++] = to;
}

static void keep_course(const struct search *x, uint32_t i, struct course *out)
{
	uint32_t count = 0;

	for (uint32_t at = i; at != 0; at = entry_of(x, at)->parent)
		count++;
	if (count > COURSE)
		abort();
	out->count = count;
	for (uint32_t at = i; at != 0; at = entry_of(x, at)->parent)
		out->steps[--count] = entry_of(x, at)->step;
}

static uint32_t number_of(struct search *x, const struct entry *e)
{
	return book_add(&x->seen, e) ? x->seen.count - 1 : book_find(&x->seen, e);
}

/* What can follow that state. */
static void expand(struct search *x, uint32_t i, struct result *out)
{
	struct step steps[STEPS];
	const struct state s = entry_of(x, i)->state;
	int count = steps_from(x->world, &s, false, steps);
	bool calm = false;

	for (int n = 0; n < count && out->found == HOLDS; n++) {
		struct entry next = {.state = s, .parent = i, .step = steps[n]};
		uint32_t number;

		out->found = take(x->world, &next.state, steps[n]);
		number = number_of(x, &next);
		if (out->found != HOLDS) {
			keep_course(x, i, &out->course);
			out->course.steps[out->course.count++] = steps[n];
		} else if (is_calm(steps[n])) {
			calm = true;
			add_edge(&x->calm, i, number);
		}
	}
	out->ends += !calm;
	out->lost += !calm && is_lost(x->world, &s);
}

/* The calm steps sorted by where they lead: those to entry i begin at first[i]. */
static uint32_t *sort_edges(const struct search *x, uint32_t *first)
{
	uint32_t *from = resize(NULL, x->calm.count + 1, sizeof(*from));

	memset(first, 0, (x->seen.count + 1) * sizeof(*first));
	for (uint32_t k = 0; k < x->calm.count; k++)
		first[x->calm.to[k]]++;
	for (uint32_t i = 0; i < x->seen.count; i++)
		first[i + 1] += first[i];
	for (uint32_t k = 0; k < x->calm.count; k++)
		from[--first[x->calm.to[k]]] = x->calm.from[k];
	return from;
}

/* Marks all states from which a good end can be reached, backwards from the good ends. */
static void mark_good(const struct search *x)
{
	uint32_t *first = resize(NULL, x->seen.count + 1, sizeof(*first)), *from = sort_edges(x, first);
	uint32_t *todo = resize(NULL, x->seen.count, sizeof(*todo)), count = 0;

	for (uint32_t i = 0; i < x->seen.count; i++) {
		entry_of(x, i)->ends_well = is_through(x->world, &entry_of(x, i)->state);
		if (entry_of(x, i)->ends_well)
			todo[count++] = i;
	}
	while (count > 0) {
		uint32_t i = todo[--count];

		for (uint32_t k = first[i]; k < first[i + 1]; k++) {
			struct entry *before = entry_of(x, from[k]);

			if (before->ends_well)
				continue;
			before->ends_well = true;
			todo[count++] = from[k];
		}
	}
	free(first);
	free(from);
	free(todo);
}

static void find_stuck(const struct search *x, struct result *out)
{
	mark_good(x);
	for (uint32_t i = 0; i < x->seen.count; i++) {
		if (entry_of(x, i)->ends_well)
			continue;
		if (out->stuck++ == 0)
			keep_course(x, i, &out->course);
		out->found = STUCK;
	}
}

void explore(const struct world *w, uint32_t limit, struct result *out)
{
	struct search x = {.world = w, .seen = empty};
	struct entry first = {0};
	uint32_t i;

	memset(out, 0, sizeof(*out));
	(void)book_add(&x.seen, &first);
	for (i = 0; i < x.seen.count && x.seen.count < limit && out->found == HOLDS; i++)
		expand(&x, i, out);
	out->looked = x.seen.count;
	out->all = i == x.seen.count;
	if (out->found == HOLDS && out->all)
		find_stuck(&x, out);
	book_close(&x.seen);
	free(x.calm.from);
	free(x.calm.to);
}

/* ---- random runs --------------------------------------------------------------------------------------------------- */

static uint32_t roll(uint64_t *dice)
{
	*dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*dice >> 33);
}

/* In each run each step of each member has a weight of its own: so some members are slow, some things happen late. */
static uint32_t weight_of(uint64_t seed, struct step step)
{
	static const uint32_t weights[] = {1, 20, 400, 400};
	uint64_t h = (seed ^ (uint64_t)(step.kind << 16 | step.i << 8 | step.p)) * UINT64_C(0xff51afd7ed558ccd);

	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return weights[h >> 40 & 3] * (is_calm(step) ? 4 : 1);
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

/* One run: things go wrong for so many steps, then none does. It is stuck if it does not come to an end then. */
static enum finding run(const struct world *w, uint64_t seed, struct course *c)
{
	uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	uint32_t troubled = roll(&dice) % (COURSE / 4);
	struct state s = {0};

	for (c->count = 0; c->count < COURSE;) {
		struct step steps[STEPS];
		bool calm = c->count >= troubled;
		int count = steps_from(w, &s, calm, steps);
		enum finding found;

		if (calm && is_through(w, &s))
			return HOLDS;
		if (count == 0 && calm)
			return STUCK;
		if (count == 0) {
			troubled = 0;
			continue;
		}
		c->steps[c->count] = steps[pick(seed + c->count / 16, &dice, steps, count)];
		found = take(w, &s, c->steps[c->count++]);
		if (found != HOLDS)
			return found;
	}
	return STUCK;
}

void wander(const struct world *w, uint32_t runs, uint32_t seed, struct result *out)
{
	memset(out, 0, sizeof(*out));
	while (out->looked < runs && out->found == HOLDS)
		out->found = run(w, (uint64_t)seed << 32 | out->looked++, &out->course);
}

void print_course(const struct world *w, const struct course *c)
{
	struct state s = {0};

	for (uint32_t i = 0; i < c->count; i++) {
		printf("      ");
		print_step(&s, c->steps[i]);
		putchar('\n');
		(void)take(w, &s, c->steps[i]);
	}
}
