/* change_wishes.c - views that serve wishes: what travels beside the rows, and what a member checks of it. See change.h. */
#include <string.h>

#include "change.h"

served wishes_known(const struct world *w, const struct state *s, int i)
{
	served serves = 0;

	for (int p = 0; p < w->count; p++) {
		bool lies = w->liars >> i & 1 && s->m[i].sets[p] > 0;

		serves |= (served)((lies ? NEVER_SAID : s->m[i].sets[p]) << 2 * p);
	}
	return serves;
}

uint8_t next_view(const struct state *s, int i, int p)
{
	for (uint8_t attempt = s->m[i].come[p] + 1; attempt <= s->m[p].rows[p].attempt; attempt++)
		if (s->m[p].proposal_serves[attempt] != 0)
			return attempt;
	return 0;
}

static bool is_successor(const struct world *w, served serves)
{
	for (int p = 0; p < w->count; p++)
		if (served_of(serves, p) == NEVER_SAID)
			return false;
	return true;
}

bool may_follow(const struct world *w, const struct state *s, int i, int lead, uint8_t attempt)
{
	served serves = s->m[lead].proposal_serves[attempt];
	unsigned mine;

	if (serves == 0)
		return true;
	if (i == lead) /* it may have replaced its set since */
		return serves == wishes_known(w, s, i) || (w->wish_mutations & REPLACED_SET);
	if (s->m[i].come[lead] < attempt)
		return w->wish_mutations & UNREAD;
	if (!is_successor(w, serves))
		return w->wish_mutations & UNCHECKED;
	mine = served_of(serves, i);
	return mine == 0 || mine == s->m[i].wished || (w->wish_mutations & REPLACED_SET);
}

bool has_lied(const struct world *w, const struct state *s, int i, int p)
{
	uint8_t last = s->m[i].come[p];

	return last > 0 && !is_successor(w, s->m[p].proposal_serves[last]) && !(w->wish_mutations & UNCHECKED);
}

const char *wrong_to_follow(const struct state *s, int i, int decider)
{
	const struct member *d = &s->m[decider];
	unsigned mine = served_of(d->decision_serves, i);

	if (d->decision_serves == 0 || i == decider)
		return NULL;
	if (s->m[i].come[decider] < (d->decision_image & 15))
		return "a member goes along with a view that it cannot read";
	if (mine == NEVER_SAID)
		return "a member is placed as it never wished";
	if (mine != 0 && mine != s->m[i].placed_by)
		return "a member is placed by a set that it had replaced";
	return NULL;
}

bool is_unserved(const struct world *w, const struct state *s)
{
	if (w->wishers == 0 || w->held_up || w->liars != 0)
		return false;
	for (int i = 0; i < w->count; i++)
		if (s->m[i].status != RUNNING || (s->m[i].rows[i].failed | s->m[i].rows[i].left) != 0)
			return false;
	return true;
}
