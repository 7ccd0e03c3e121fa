/* meet_calm.c - how it goes on from each state when there are no faults any more, and what is found on the way. See meet.h. */
#include "meet.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define COURSE 96 /* steps, at most */

struct course {
	struct search *search;
	struct step steps[COURSE];
	uint32_t count;
};

static enum finding twice(const struct state *s)
{
	if (s->met_twice)
		return MET_TWICE;
	return s->told_twice ? TOLD_TWICE : HOLDS;
}

const char *take(const struct world *w, struct state *s, struct step step)
{
	const struct state before = *s;

	do_step(w, s, step);
	if (!is_torn(s))
		s->torn = HOLDS;
	else if (s->torn == HOLDS)
		s->torn = (uint8_t)torn_by(&before, step);
	return NULL;
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

static enum finding goes_on(struct course *c, const struct state *s);

static enum finding goes_on_after(struct course *c, const struct state *s, struct step step)
{
	struct state next = *s;
	enum finding found;

	if (c->count == COURSE)
		abort();
	c->steps[c->count++] = step;
	(void)take(c->search->world, &next, step);
	found = twice(&next);
	if (found == HOLDS && is_parted(&next) && !is_parted(s))
		found = (enum finding)next.torn;
	if (found == HOLDS)
		found = goes_on(c, &next);
	c->count -= found == HOLDS;
	return found;
}

/* What is found on the first course from here that does not end well. */
static enum finding goes_on(struct course *c, const struct state *s)
{
	const struct world *w = c->search->world;
	struct book *good = &c->search->good[0];
	struct step steps[STEPS];
	enum finding found = HOLDS;
	int count;

	if (book_has(good, s))
		return HOLDS;
	count = steps_from(w, s, true, steps);
	if (count == 0)
		found = outcome(w, s);
	for (int i = 0; i < count && found == HOLDS; i++)
		found = goes_on_after(c, s, steps[i]);
	if (found == HOLDS)
		(void)book_add(good, s, NULL, NULL);
	return found;
}

/* ---- what is found ------------------------------------------------------------------------------------------------- */

const char *const findings[FINDINGS] = {
	PARTED_BEFORE_TAKEN,
	PARTED_AFTER_TAKEN,
	PARTED_BY_GIVING_UP,
	PARTED_BY_OLDER_CALL,
	PARTED_BY_OTHER_LIFE,
	"parted otherwise",
	APART,
	UNTOLD,
	TWICE_MET,
	"told twice",
	NULL,
};

/* Of each finding the first course is the shortest while there are faults. */
static void note(const struct course *c, const struct state *s, enum finding found)
{
	struct search *x = c->search;
	struct state next = *s;

	if (found == HOLDS || x->noted[found - 1]++ > 0 || !x->verbose)
		return;
	printf("    %s:\n", findings[found - 1]);
	print_way(x, x->at);
	printf("      no faults from here on\n");
	calm(&next);
	for (uint32_t n = 0; n < c->count; n++) {
		print_step(x->world, &next, c->steps[n]);
		(void)take(x->world, &next, c->steps[n]);
	}
	printf("      (");
	print_nodes(&next);
	printf(")\n");
}

const char *look(struct search *x, const struct state *s)
{
	struct course c = {.search = x};
	struct state without = *s;

	note(&c, s, twice(s));
	if (is_parted(s))
		note(&c, s, (enum finding)s->torn);
	if (twice(s) != HOLDS)
		return NULL;
	calm(&without);
	note(&c, s, goes_on(&c, &without));
	return NULL;
}

const char *conclude(struct search *x)
{
	size_t length = 0;

	for (int f = 0; findings[f] != NULL; f++)
		if (x->noted[f] > 0)
			length += (size_t)snprintf(x->text + length, sizeof(x->text) - length, "%s%s",
						   length > 0 ? AND : "", findings[f]);
	return length > 0 ? x->text : NULL;
}
