/* formation_back.c - whether a group comes back from a state, by each way in which it is mended. See formation.h. */
#include "formation.h"

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

/* A search for all states again, of calm steps alone. */
static bool comes_back(struct search *x, struct state s)
{
	struct book seen = {.state_bytes = sizeof(s)};
	struct world calm = *x->world;
	struct step steps[STEPS];
	bool found = false;

	calm.identities = GROUPS;
	tidy(&calm, &s);
	if (book_has(&x->good[0], &s))
		return true;
	(void)book_add(&seen, &s, NULL, NULL);
	for (uint32_t i = 0; i < seen.count && !found; i++) {
		const struct state from = *(const struct state *)book_state(&seen, i);
		int count = steps_from(&calm, &from, true, steps);

		found = is_whole(&calm, &from);
		for (int n = 0; n < count && !found; n++) {
			struct state next = from;

			(void)take(&calm, &next, steps[n]);
			(void)book_add(&seen, &next, NULL, NULL);
		}
	}
	book_close(&seen);
	if (found)
		(void)book_add(&x->good[0], &s, NULL, NULL);
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

static bool without_one(struct search *x, const struct state *from, uint8_t ended)
{
	for (uint8_t i = 0; i < from->node_count; i++) {
		const struct node *n = &from->nodes[i];
		bool is_out = n->status == DOWN || n->status == EXCLUDED;

		if (n->part == JOINED || (ended == 0 && !is_out))
			continue;
		if (!comes_back(x, mended(from, ended, (uint8_t)(1 << i))))
			return false;
	}
	return true;
}

static bool rolls(struct search *x, const struct state *from)
{
	uint8_t group;

	for (int i = 0; i < from->node_count; i++)
		if (!is_living(from, i, 1))
			return true;
	for (int i = 0; i < from->node_count; i++)
		if (delivering(x->world, from, &group) == 1 && !comes_back(x, mended(from, (uint8_t)(1 << i), 0)))
			return false;
	return true;
}

/* NULL: all of the repairs bring a group back from there. */
static const char *stays_away(struct search *x, const struct state *from)
{
	uint8_t repairs = x->world->repairs;
	uint8_t group;

	if ((repairs & ALL_RESTARTED) != 0 && !comes_back(x, mended(from, EVERYBODY, 0)))
		return "all are started again, and no group comes back";
	if ((repairs & ONE_IS_GONE) != 0 && !without_one(x, from, EVERYBODY))
		return "all but one are started again, and no group comes back";
	if ((repairs & RUNS_WITHOUT) != 0 && delivering(x->world, from, &group) > 0 && !without_one(x, from, 0))
		return "a group runs, and some never get into it";
	if ((repairs & ROLLING) != 0 && !rolls(x, from))
		return "one is started again, and does not get into the group";
	return NULL;
}

const char *look_for_return(struct search *x)
{
	const char *wrong = NULL;

	for (uint32_t i = 0; i < x->seen.count && wrong == NULL && x->world->repairs != 0; i++) {
		wrong = stays_away(x, state_at(x, i));
		if (wrong != NULL && x->verbose)
			print_way(x, i);
	}
	return wrong;
}

const char *judge(struct search *x, const struct state *s)
{
	uint8_t group;

	return delivering(x->world, s, &group) > 1 ? TWO : NULL;
}
