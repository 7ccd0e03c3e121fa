/* change_search.c - all states of a small model, or random runs of a larger one. See change.h. */
#include "change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const words[] = {"received",     "failed", "left",      "wedged", "proposed",
					    "acknowledged", "agreed", "installed", "gone"};

	printf("      %d %s", step.i, step_names[step.kind]);
	if (takes_two(step.kind))
		printf(" %d", step.p);
	if (step.kind == ARRIVE) {
		struct message m = s->m[step.p].log[s->m[step.i].seen[step.p]];

		printf(": %s %x %x", words[m.what], m.a, m.b);
	}
	putchar('\n');
	(void)w;
}

/* ---- all states, breadth first: a trace is as short as can be ------------------------------------------------------ */

struct node {
	uint64_t mark; /* of the state: states with equal marks are taken for equal; with millions of them nobody will see it */
	uint32_t parent;
	struct step step;
};

struct explorer {
	struct node *nodes;
	uint32_t *table; /* 1 + index of the node */
	struct state *now, *next;
	uint32_t count, now_count, next_count, next_room, limit, table_size;
};

static uint64_t mark_of(const struct world *w, const struct state *s)
{
	uint8_t key[KEY];
	int bytes = key_of(w, s, key);
	uint64_t h = UINT64_C(0x9e3779b97f4a7c15);

	for (int i = 0; i < bytes; i++) {
		h = (h ^ key[i]) * UINT64_C(0xff51afd7ed558ccd);
		h ^= h >> 32;
	}
	return h ^ h >> 29;
}

static void *allocate(size_t count, size_t bytes)
{
	void *p = calloc(count, bytes);

	if (p == NULL)
		abort();
	return p;
}

static bool add(struct explorer *x, const struct world *w, const struct state *s, uint32_t parent, struct step step)
{
	uint64_t mark = mark_of(w, s);
	uint32_t at = (uint32_t)mark & (x->table_size - 1);

	for (; x->table[at] != 0; at = (at + 1) & (x->table_size - 1))
		if (x->nodes[x->table[at] - 1].mark == mark)
			return true;
	if (x->count == x->limit)
		return false;
	x->nodes[x->count] = (struct node){mark, parent, step};
	x->table[at] = ++x->count;
	if (x->next_count == x->next_room) {
		x->next_room = x->next_room ? 2 * x->next_room : 1024;
		x->next = realloc(x->next, x->next_room * sizeof(*x->next));
		if (x->next == NULL)
			abort();
	}
	x->next[x->next_count++] = *s;
	return true;
}

static void trace(const struct explorer *x, const struct world *w, uint32_t node, struct state *s)
{
	if (node == 0) {
		begin(w, s);
		return;
	}
	trace(x, w, x->nodes[node].parent, s);
	print_step(w, s, x->nodes[node].step);
	take(w, s, x->nodes[node].step);
}

struct finding explore(const struct world *w, uint32_t limit, bool verbose)
{
	struct explorer x = {.limit = limit, .table_size = 1};
	struct finding found = {.all = true};
	struct state s;
	uint32_t first = 0, room = 0;

	while (x.table_size < 2 * limit)
		x.table_size *= 2;
	x.nodes = allocate(limit, sizeof(*x.nodes));
	x.table = allocate(x.table_size, sizeof(*x.table));
	begin(w, &s);
	add(&x, w, &s, 0, (struct step){0});
	while (x.next_count > 0 && found.wrong == NULL && found.all) {
		struct state *swap = x.now;
		uint32_t swap_room = room;

		x.now = x.next, x.now_count = x.next_count, room = x.next_room;
		x.next = swap, x.next_count = 0, x.next_room = swap_room;
		for (uint32_t k = 0; k < x.now_count && found.wrong == NULL && found.all; k++) {
			struct step steps[STEPS];
			int count = steps_from(w, &x.now[k], false, steps);
			bool calm = true;

			for (int n = 0; n < count && found.wrong == NULL; n++) {
				calm = calm && !can(w, &x.now[k], steps[n], true);
				s = x.now[k];
				found.wrong = take(w, &s, steps[n]);
				if (found.wrong != NULL && verbose) {
					struct state t;

					trace(&x, w, first + k, &t);
					print_step(w, &t, steps[n]);
				}
				found.all = found.all && add(&x, w, &s, first + k, steps[n]);
			}
			if (found.wrong == NULL && calm) {
				found.wrong = ended(w, &x.now[k]);
				if (found.wrong != NULL && verbose)
					trace(&x, w, first + k, &s);
			}
		}
		first += x.now_count;
	}
	found.looked = x.count;
	free(x.nodes);
	free(x.table);
	free(x.now);
	free(x.next);
	return found;
}

/* ---- random runs --------------------------------------------------------------------------------------------------- */

struct dice {
	uint64_t state;
};

static uint32_t roll(struct dice *d)
{
	d->state = d->state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(d->state >> 33);
}

/* In each run each step of each member has a weight of its own: so some members are slow, some things happen late. */
static uint32_t weight_of(uint64_t seed, struct step step)
{
	static const uint32_t weights[] = {1, 20, 400, 400};
	uint64_t h = (seed ^ (uint64_t)(step.kind << 16 | step.i << 8 | step.p)) * UINT64_C(0xff51afd7ed558ccd);

	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return weights[h >> 40 & 3];
}

static int pick(uint64_t seed, struct dice *dice, const struct step *steps, int count)
{
	uint32_t sum = 0, at;

	for (int n = 0; n < count; n++)
		sum += weight_of(seed, steps[n]);
	at = sum > 0 ? roll(dice) % sum : 0;
	for (int n = 0; n < count; n++) {
		uint32_t weight = weight_of(seed, steps[n]);

		if (at < weight)
			return n;
		at -= weight;
	}
	return 0;
}

/* One run; its steps go to `taken`. */
static const char *run(const struct world *w, uint64_t seed, struct step *taken, int *length)
{
	struct dice dice = {seed * UINT64_C(0x9e3779b97f4a7c15) + 1};
	int troubled = (int)(roll(&dice) % 300);
	struct state s;

	begin(w, &s);
	for (*length = 0; *length < RUN;) {
		struct step steps[STEPS];
		const char *wrong;
		int count = steps_from(w, &s, *length >= troubled, steps);

		if (count == 0 && *length >= troubled)
			return ended(w, &s);
		if (count == 0) {
			troubled = 0;
			continue;
		}
		taken[*length] =
			steps[pick(seed + (uint64_t)(*length / 32) * UINT64_C(0x9e3779b97f4a7c15), &dice, steps, count)];
		wrong = take(w, &s, taken[(*length)++]);
		if (wrong != NULL)
			return wrong;
	}
	return "a run does not end";
}

/* The steps that can still be taken of those, and then, if nothing is wrong, to the end. */
static const char *play(const struct world *w, const struct step *steps, int count, bool to_the_end, bool print)
{
	struct state s;
	struct step more[STEPS];
	const char *wrong = NULL;

	begin(w, &s);
	for (int n = 0; n < count && wrong == NULL; n++) {
		if (!can(w, &s, steps[n], false))
			continue;
		if (print)
			print_step(w, &s, steps[n]);
		wrong = take(w, &s, steps[n]);
	}
	if (!to_the_end)
		return wrong;
	while (wrong == NULL && steps_from(w, &s, true, more) > 0) {
		if (print)
			print_step(w, &s, more[0]);
		wrong = take(w, &s, more[0]);
	}
	return wrong != NULL ? wrong : ended(w, &s);
}

const char *replay(const struct world *w, const struct step *steps, int count, bool verbose)
{
	return play(w, steps, count, true, verbose);
}

static void print_shrunk(const struct world *w, struct step *steps, int count, const char *wrong)
{
	bool to_the_end = play(w, steps, count, false, false) == NULL;
	bool smaller = true;

	while (smaller) {
		smaller = false;
		for (int n = count - 1; n >= 0; n--) {
			struct step fewer[RUN];

			memcpy(fewer, steps, (size_t)n * sizeof(*steps));
			memcpy(fewer + n, steps + n + 1, (size_t)(count - n - 1) * sizeof(*steps));
			if (play(w, fewer, count - 1, to_the_end, false) != wrong)
				continue;
			memcpy(steps, fewer, (size_t)--count * sizeof(*steps));
			smaller = true;
		}
	}
	play(w, steps, count, to_the_end, true);
}

struct finding wander(const struct world *w, uint32_t runs, uint32_t seed, bool verbose)
{
	struct finding found = {0};
	struct step taken[RUN];
	int length;

	while (found.looked < runs && found.wrong == NULL)
		found.wrong = run(w, seed + found.looked++, taken, &length);
	if (found.wrong != NULL && verbose)
		print_shrunk(w, taken, length, found.wrong);
	return found;
}
