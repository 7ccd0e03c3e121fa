/* formation_rules.c - what the rules say of a state. See formation.h. */
#include "formation.h"

#include "sets.h"

static bool breaks(const struct world *w, enum mutation mutation)
{
	return (w->mutations & (uint32_t)mutation) != 0;
}

/* ---- quorums ------------------------------------------------------------------------------------------------------- */

bool is_living(const struct state *s, int i, uint8_t group)
{
	const struct node *n = &s->nodes[i];

	return n->status == MEMBER && n->group == group && (n->views[group - 1] & LATEST) != 0;
}

uint8_t living_of(const struct state *s, uint8_t group, uint8_t side)
{
	uint8_t set = 0;

	for (int i = 0; i < s->node_count; i++)
		if (is_living(s, i, group) && (side == NOBODY || s->nodes[i].side == side))
			set |= (uint8_t)(1 << i);
	return set;
}

static bool has_part(const struct state *s, uint8_t set, enum part part, bool other)
{
	for (int i = 0; i < s->node_count; i++)
		if ((set >> i & 1) != 0 && (s->nodes[i].part == part) != other)
			return true;
	return false;
}

bool is_quorum(const struct world *w, const struct state *s, uint8_t voters, int base)
{
	int half = 2 * size_of(voters);

	if (!breaks(w, JOINED_IDS_GO_ON) && !has_part(s, voters, JOINED, true))
		return false;
	return half > base || (half == base && has_part(s, voters, TIE_BREAKER, false));
}

int delivering(const struct world *w, const struct state *s, uint8_t *one)
{
	int count = 0;

	for (uint8_t g = 1; g <= s->group_count; g++) {
		if (!is_quorum(w, s, living_of(s, g, NOBODY), s->groups[g - 1].base))
			continue;
		*one = g;
		count++;
	}
	return count;
}

/* ---- the record ---------------------------------------------------------------------------------------------------- */

bool has_record(const struct world *w, const struct node *n)
{
	return n->record != NOTHING && !(n->record == TORN && breaks(w, TORN_IS_NONE));
}

bool may_say(const struct world *w, const struct node *n)
{
	return w->record != BEFORE_THERE || n->record == n->group;
}

bool may_be_counted(const struct world *w, const struct node *n)
{
	return w->record != BEFORE_BEGIN || n->record == n->group;
}

/* Is this the moment to put the record on disk? */
static bool is_due(const struct world *w, const struct node *n)
{
	switch (w->record) {
	case BEFORE_THERE:
		return n->status == INVITED;
	case BEFORE_BEGIN:
		return n->status == THERE;
	case AFTER_BEGIN:
		return n->status == MEMBER;
	case UNSYNCED:
		return n->status == INVITED || n->status == THERE || n->status == MEMBER;
	default:
		return false;
	}
}

bool may_write(const struct world *w, const struct node *n)
{
	return w->record != UNSYNCED && is_due(w, n) && n->record != TORN && (n->record != n->group || w->written_anew);
}

/* A record that was torn before is written over as a whole. What is in the cache may reach the disk at any time. */
bool may_sync(const struct world *w, const struct node *n)
{
	return is_due(w, n) && (w->record == UNSYNCED ? n->record != n->group : n->record == TORN);
}

/* ---- first views --------------------------------------------------------------------------------------------------- */

/* On one host a name that is held and silent tells of a node that may be a member. */
static bool may_be_a_member(const struct world *w, const struct node *n)
{
	return n->side == 1 && !(n->part == JOINED && breaks(w, JOINED_NAMES_ARE_FREE));
}

static bool is_forbidden(const struct world *w, const struct state *s, uint8_t side)
{
	if (!w->one_host)
		return false;
	if (side == 1)
		return true;
	for (int i = 0; i < s->node_count && !breaks(w, SILENCE_TIMES_OUT); i++)
		if (may_be_a_member(w, &s->nodes[i]))
			return true;
	return false;
}

static uint8_t founders(const struct world *w, const struct state *s, uint8_t seekers)
{
	for (int i = 0; i < s->node_count; i++)
		if ((seekers >> i & 1) != 0 && s->nodes[i].part == FOUNDER && !has_record(w, &s->nodes[i]))
			return (uint8_t)(1 << i);
	return 0;
}

uint8_t first_view(const struct world *w, const struct state *s, uint8_t side)
{
	uint8_t seekers = 0, recorded = 0;

	if (is_forbidden(w, s, side))
		return 0;
	for (int i = 0; i < s->node_count; i++) {
		const struct node *n = &s->nodes[i];

		if (n->side != side || n->status == DOWN)
			continue;
		if (n->status == MEMBER || n->status == EXCLUDED)
			return 0; /* that one is joined */
		if (n->status == SEEKS && n->part != JOINED)
			seekers |= (uint8_t)(1 << i);
		if (has_record(w, n))
			recorded |= (uint8_t)(1 << i);
	}
	if (breaks(w, RECORD_IS_NOT_MET))
		recorded &= seekers;
	if (w->form == THE_FOUNDER)
		return founders(w, s, seekers);
	if (size_of(seekers) == w->configured && (recorded == 0 || !breaks(w, RECORD_FORBIDS_ALL)))
		return seekers;
	if (w->form == A_MAJORITY && (recorded == 0 || breaks(w, RECORD_NOT_LOOKED_AT)) &&
	    2 * size_of(seekers) > w->configured)
		return seekers;
	return 0;
}

struct muster {
	int there, invited;
	bool begun_here, begun;
};

static struct muster muster(const struct state *s, const struct node *n)
{
	struct muster m = {0};

	for (int i = 0; i < s->node_count; i++) {
		const struct node *o = &s->nodes[i];
		bool is_invited = (o->views[n->group - 1] & FIRST) != 0;

		m.invited += is_invited;
		if (o->group != n->group)
			continue;
		m.begun = m.begun || o->status == MEMBER;
		if (o->side != n->side)
			continue;
		m.begun_here = m.begun_here || o->status == MEMBER;
		m.there += is_invited && (o->status == THERE || o->status == MEMBER);
	}
	return m;
}

static bool is_newcomer(const struct node *n)
{
	return (n->views[n->group - 1] & NEWCOMER) != 0;
}

bool may_begin(const struct world *w, const struct state *s, const struct node *n)
{
	const struct group *group = &s->groups[n->group - 1];
	struct muster m = muster(s, n);
	bool majority = 2 * m.there > group->base;

	if (n->status != THERE || !group->is_first || is_newcomer(n) || !may_be_counted(w, n))
		return false;
	return m.there == m.invited || (majority && (w->form == A_MAJORITY || m.begun));
}

bool may_drop(const struct world *w, const struct state *s, const struct node *n)
{
	const struct group *group = &s->groups[n->group - 1];
	struct muster m;

	if (n->status == INVITED)
		return true;
	if (n->status != THERE)
		return false;
	if (!group->is_first || is_newcomer(n))
		return true;
	m = muster(s, n);
	return 2 * m.there <= group->base || (w->form != A_MAJORITY && m.there < m.invited && !m.begun_here);
}

/* ---- later views, and the operator --------------------------------------------------------------------------------- */

bool may_be_asked(const struct world *w, const struct state *s, const struct node *n, uint8_t group)
{
	if (n->status != SEEKS || s->groups[group - 1].is_first)
		return false;
	if (breaks(w, OWN_IDENTITY_ONLY) && n->record != NOTHING && n->record != group)
		return s->groups[group - 1].by_a_word && n->record < group;
	return is_quorum(w, s, living_of(s, group, n->side), s->groups[group - 1].base);
}

bool may_speak(const struct world *w, const struct state *s, int i)
{
	uint8_t one;

	if (s->nodes[i].status != SEEKS || s->group_count >= w->identities)
		return false;
	if (w->word == NO_QUORUM)
		return delivering(w, s, &one) == 0;
	for (int j = 0; j < s->node_count && w->word != ANY_TIME; j++) {
		bool is_asked = w->word == OTHERS_ENDED || s->nodes[j].side == s->nodes[i].side;

		if (is_asked && s->nodes[j].status != DOWN && s->nodes[j].status != SEEKS)
			return false;
	}
	return w->word != NO_WORD;
}
