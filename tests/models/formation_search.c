/* formation_search.c - all states of the model, breadth first, and whether a group comes back from them. See formation.h. */
#include "formation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "book.h"

/* ---- states that have been seen ------------------------------------------------------------------------------------ */

struct entry {
	struct state state;
	uint32_t parent;
	struct step step; /* the one that led here */
};

static const struct book empty = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)};

static const struct entry *entry_of(const struct book *b, uint32_t i)
{
	return (const struct entry *)(const void *)b->entries + i;
}

static void add(struct book *b, const struct state *s, uint32_t parent, struct step step)
{
	struct entry e;

	memset(&e, 0, sizeof(e));
	memcpy(&e.state, s, sizeof(*s));
	e.parent = parent;
	e.step = step;
	(void)book_add(b, &e);
}

static void expand(struct book *b, const struct world *w, uint32_t i, bool calm)
{
	struct step steps[STEPS];
	int count = steps_from(w, &entry_of(b, i)->state, calm, steps);

	for (int n = 0; n < count; n++) {
		struct state next = entry_of(b, i)->state;

		take(w, &next, steps[n]);
		add(b, &next, i, steps[n]);
	}
}

static void print_trace(const struct book *b, const struct world *w, uint32_t i)
{
	const struct entry *e = entry_of(b, i);

	if (i == 0)
		return;
	print_trace(b, w, e->parent);
	print_step(w, &entry_of(b, e->parent)->state, e->step);
}

/* ---- does it come back? -------------------------------------------------------------------------------------------- */

/* All that are up are members of one group that can deliver. */
static bool is_whole(const struct world *w, const struct state *s)
{
	uint8_t group = NOTHING;

	if (delivering(w, s, &group) != 1)
		return false;
	for (int i = 0; i < s->node_count; i++)
		if (s->nodes[i].status != DOWN && !is_living(s, i, group))
			return false;
	return true;
}

struct search {
	struct world world;
	struct book good; /* states from which a group comes back */
	const struct state *from;
};

static bool comes_back(struct search *x, struct state s)
{
	struct book seen = empty;
	bool found = false;

	tidy(&x->world, &s);
	if (book_has(&x->good, &s))
		return true;
	add(&seen, &s, 0, (struct step){0});
	for (uint32_t i = 0; i < seen.count && !found; i++) {
		found = is_whole(&x->world, &entry_of(&seen, i)->state);
		if (!found)
			expand(&seen, &x->world, i, true);
	}
	book_close(&seen);
	if (found)
		add(&x->good, &s, 0, (struct step){0});
	return found;
}

/* The network is whole; those in `ended` crash, and all that are down are started again, but for `gone` (sets of places). */
static struct state mended(const struct state *from, uint8_t ended, uint8_t gone)
{
	struct state s = *from;

	for (int i = 0; i < s.node_count; i++) {
		struct node *n = &s.nodes[i];
		bool is_gone = (gone >> i & 1) != 0;

		n->side = 0;
		if (!is_gone && n->status != DOWN && n->status != EXCLUDED && (ended >> i & 1) == 0)
			continue;
		n->status = is_gone ? DOWN : SEEKS;
		n->group = NOTHING;
		for (int g = 0; g < GROUPS; g++)
			n->views[g] &= (uint8_t)~NEWCOMER;
	}
	return s;
}

#define EVERYBODY 0xff

static bool without_one(struct search *x, uint8_t ended)
{
	for (uint8_t i = 0; i < x->from->node_count; i++) {
		const struct node *n = &x->from->nodes[i];
		bool is_out = n->status == DOWN || n->status == EXCLUDED;

		if (n->part == JOINED || (ended == 0 && !is_out))
			continue;
		if (!comes_back(x, mended(x->from, ended, (uint8_t)(1 << i))))
			return false;
	}
	return true;
}

static bool rolls(struct search *x)
{
	uint8_t group;

	for (int i = 0; i < x->from->node_count; i++)
		if (!is_living(x->from, i, 1))
			return true;
	for (int i = 0; i < x->from->node_count; i++)
		if (delivering(&x->world, x->from, &group) == 1 && !comes_back(x, mended(x->from, (uint8_t)(1 << i), 0)))
			return false;
	return true;
}

/* NULL: all of the repairs bring a group back from there. */
static const char *stays_away(struct search *x, uint8_t repairs)
{
	uint8_t group;

	if ((repairs & ALL_RESTARTED) != 0 && !comes_back(x, mended(x->from, EVERYBODY, 0)))
		return "all are started again, and no group comes back";
	if ((repairs & ONE_IS_GONE) != 0 && !without_one(x, EVERYBODY))
		return "all but one are started again, and no group comes back";
	if ((repairs & RUNS_WITHOUT) != 0 && delivering(&x->world, x->from, &group) > 0 && !without_one(x, 0))
		return "a group runs, and some never get into it";
	if ((repairs & ROLLING) != 0 && !rolls(x))
		return "one is started again, and does not get into the group";
	return NULL;
}

static const char *look_for_return(const struct world *w, const struct book *b, uint8_t repairs, bool verbose)
{
	struct search x = {.world = *w, .good = empty};
	const char *wrong = NULL;

	x.world.identities = GROUPS;
	for (uint32_t i = 0; i < b->count && wrong == NULL; i++) {
		x.from = &entry_of(b, i)->state;
		wrong = stays_away(&x, repairs);
		if (wrong != NULL && verbose)
			print_trace(b, w, i);
	}
	book_close(&x.good);
	return wrong;
}

/* ---- all states ---------------------------------------------------------------------------------------------------- */

struct finding explore(const struct world *w, uint32_t limit, uint8_t repairs, bool verbose)
{
	struct book b = empty;
	struct finding found = {0};
	struct state first;
	uint32_t i;
	uint8_t group;

	begin(w, &first);
	add(&b, &first, 0, (struct step){0});
	for (i = 0; i < b.count && b.count < limit && found.wrong == NULL; i++) {
		if (delivering(w, &entry_of(&b, i)->state, &group) > 1)
			found.wrong = TWO;
		else
			expand(&b, w, i, false);
	}
	found.all = i == b.count;
	if (found.wrong != NULL && verbose)
		print_trace(&b, w, i - 1);
	if (found.wrong == NULL && repairs != 0)
		found.wrong = look_for_return(w, &b, repairs, verbose);
	found.looked = b.count;
	book_close(&b);
	return found;
}
