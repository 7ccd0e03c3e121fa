/* meet_search.c - all states of the model, breadth first, and how it goes on from each. See meet.h. */
#include "meet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

/* ---- states that have been seen ------------------------------------------------------------------------------------ */

struct entry {
	struct state state;
	uint32_t parent;
	struct step step; /* the one that led here */
	uint8_t torn;     /* enum finding: by what the two are torn, if they are */
};

static const struct book empty = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)};

static const struct entry *entry_of(const struct book *b, uint32_t i)
{
	return (const struct entry *)(const void *)b->entries + i;
}

/* ---- when there are no faults any more ----------------------------------------------------------------------------- */

struct search {
	const struct world *world;
	struct book seen;
	struct book good;   /* calm states from which all courses end well */
	struct course calm; /* the one that is looked at */
};

static enum finding twice(const struct state *s)
{
	if (s->met_twice)
		return MET_TWICE;
	return s->told_twice ? TOLD_TWICE : HOLDS;
}

/* By what the two are torn behind this step, if they are. */
static enum finding torn(const struct state *before, enum finding torn_before, struct step step,
			 const struct state *behind)
{
	if (!is_torn(behind))
		return HOLDS;
	return torn_before != HOLDS ? torn_before : torn_by(before, step);
}

/* Nothing can be done any more. */
static enum finding outcome(const struct world *w, const struct state *s)
{
	if (has_met(s))
		return HOLDS;
	if (!is_foreign(w, s->nodes[B].incarnation) && !is_parted(s))
		return NEVER_MEET;
	return is_told(s) ? HOLDS : NOT_TOLD;
}

static enum finding goes_on(struct search *x, const struct state *s, enum finding torn_so_far);

static enum finding goes_on_after(struct search *x, const struct state *s, enum finding torn_so_far, struct step step)
{
	struct state next = *s;
	enum finding found;

	if (x->calm.count == COURSE)
		abort();
	x->calm.steps[x->calm.count++] = step;
	take(x->world, &next, step);
	torn_so_far = torn(s, torn_so_far, step, &next);
	found = twice(&next);
	if (found == HOLDS && is_parted(&next) && !is_parted(s))
		found = torn_so_far;
	if (found == HOLDS)
		found = goes_on(x, &next, torn_so_far);
	x->calm.count -= found == HOLDS;
	return found;
}

/* What is found on the first course from here that does not end well. */
static enum finding goes_on(struct search *x, const struct state *s, enum finding torn_so_far)
{
	struct entry e = {.state = *s};
	struct step steps[STEPS];
	enum finding found = HOLDS;
	int count;

	if (book_has(&x->good, s))
		return HOLDS;
	count = steps_from(x->world, s, true, steps);
	if (count == 0)
		found = outcome(x->world, s);
	for (int i = 0; i < count && found == HOLDS; i++)
		found = goes_on_after(x, s, torn_so_far, steps[i]);
	if (found == HOLDS)
		(void)book_add(&x->good, &e);
	return found;
}

/* ---- all states ---------------------------------------------------------------------------------------------------- */

static void keep_course(const struct search *x, uint32_t i, struct course *out)
{
	uint32_t count = 0;

	for (uint32_t at = i; at != 0; at = entry_of(&x->seen, at)->parent)
		count++;
	if (count + x->calm.count > COURSE)
		abort();
	out->calm_at = count;
	out->count = count + x->calm.count;
	memcpy(out->steps + count, x->calm.steps, x->calm.count * sizeof(*out->steps));
	for (uint32_t at = i; at != 0; at = entry_of(&x->seen, at)->parent)
		out->steps[--count] = entry_of(&x->seen, at)->step;
}

static void note(const struct search *x, uint32_t i, enum finding found, struct result *out)
{
	if (found != HOLDS && out->counts[found]++ == 0)
		keep_course(x, i, &out->courses[found]);
}

static void look(struct search *x, uint32_t i, struct result *out)
{
	const struct entry *e = entry_of(&x->seen, i);
	struct state s = e->state;

	x->calm.count = 0;
	note(x, i, twice(&s), out);
	if (is_parted(&s))
		note(x, i, (enum finding)e->torn, out);
	if (twice(&s) != HOLDS)
		return;
	calm(&s);
	note(x, i, goes_on(x, &s, (enum finding)e->torn), out);
}

static void expand(struct search *x, uint32_t i)
{
	struct step steps[STEPS];
	struct entry e = *entry_of(&x->seen, i), next;
	int count = steps_from(x->world, &e.state, false, steps);

	for (int n = 0; n < count; n++) {
		next = (struct entry){e.state, i, steps[n], HOLDS};
		take(x->world, &next.state, steps[n]);
		next.torn = (uint8_t)torn(&e.state, (enum finding)e.torn, steps[n], &next.state);
		(void)book_add(&x->seen, &next);
	}
}

void explore(const struct world *w, uint32_t limit, struct result *out)
{
	struct search x = {.world = w, .seen = empty, .good = empty};
	struct entry first = {0};
	uint32_t i;

	memset(out, 0, sizeof(*out));
	begin(w, &first.state);
	(void)book_add(&x.seen, &first);
	for (i = 0; i < x.seen.count && x.seen.count < limit; i++) {
		look(&x, i, out);
		expand(&x, i);
	}
	out->states = x.seen.count;
	out->all = i == x.seen.count;
	book_close(&x.seen);
	book_close(&x.good);
}

void print_course(const struct world *w, const struct course *c, bool verbose)
{
	struct state s;

	begin(w, &s);
	for (uint32_t i = 0; i < c->count; i++) {
		if (i == c->calm_at) {
			printf("%s", verbose ? "      no faults from here on\n" : i > 0 ? " | " : "| ");
			calm(&s);
		}
		printf("%s", verbose ? "      " : i == 0 || i == c->calm_at ? "" : ", ");
		print_step(&s, c->steps[i]);
		take(w, &s, c->steps[i]);
		if (!verbose)
			continue;
		printf("  (");
		print_nodes(&s);
		printf(")\n");
	}
	if (!verbose)
		putchar('\n');
}
