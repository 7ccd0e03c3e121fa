/* restart_rules.c - what the rules say of a state. See restart.h. */
#include "restart.h"

#include <string.h>

bool in(uint8_t set, int node)
{
	return (set >> node & 1) != 0;
}

int shard_of(const struct world *w, int node)
{
	return node % w->shards;
}

uint8_t shard_members(const struct world *w, uint8_t members, int shard)
{
	uint8_t set = 0;

	for (int i = 0; i < w->nodes; i++)
		if (in(members, i) && shard_of(w, i) == shard)
			set |= (uint8_t)(1 << i);
	return set;
}

uint8_t shard_in(const struct world *w, const struct view *view, int shard)
{
	return shard_members(w, view->members & (uint8_t)~view->out, shard);
}

bool is_same(const struct view *one, const struct view *other)
{
	return memcmp(one, other, sizeof(*one)) == 0;
}

bool is_blank(const struct disk *d)
{
	return d->base.number == 0;
}

static int count_of(uint8_t set)
{
	return __builtin_popcount(set);
}

bool is_quorum(const struct world *w, uint8_t votes, uint8_t members, uint8_t gone)
{
	uint8_t base = members & (uint8_t)~gone, yes = votes & base;

	return 2 * count_of(yes) > count_of(base) ||
	       (2 * count_of(yes) == count_of(base) && w->tie_breaker && in(yes, 0));
}

uint8_t living(const struct world *w, const struct state *s)
{
	uint8_t set = 0;

	for (int i = 0; i < w->nodes; i++)
		if (in(s->now.members, i) && s->nodes[i].status == MEMBER && is_same(&s->nodes[i].view, &s->now))
			set |= (uint8_t)(1 << i);
	return set;
}

uint8_t dead(const struct world *w, const struct state *s)
{
	uint8_t set = 0;

	for (int i = 0; w->one_host && i < w->nodes; i++)
		if (in(s->now.members, i) && (s->nodes[i].status != MEMBER || !is_same(&s->nodes[i].view, &s->now)))
			set |= (uint8_t)(1 << i);
	return set;
}

int speaker(const struct state *s, int disk)
{
	int holder = s->nodes[disk].holder != 0 ? s->nodes[disk].holder - 1 : disk;

	return s->nodes[holder].status == SEEKING ? holder : -1;
}

/* ---- a first view --------------------------------------------------------------------------------------------------- */

bool may_form(const struct world *w, const struct state *s, uint8_t *formers)
{
	int there = 0, blank = 0;

	*formers = 0;
	for (int i = 0; i < w->nodes; i++) {
		const struct node *n = &s->nodes[i];
		bool is_free = is_blank(&n->disk) || ((n->disk.flags & FIRST) != 0 && !breaks(w, FIRST_IS_A_LOG));

		if (n->status != SEEKING || n->holder != 0)
			continue;
		there++;
		if (!is_free && !breaks(w, FORMS_BESIDE_LOGS))
			continue;
		blank++;
		*formers |= (uint8_t)(1 << i);
	}
	if (breaks(w, BLANK_MAJORITY_FORMS))
		return 2 * blank > w->nodes;
	return there == w->nodes && blank == w->nodes;
}

/* ---- a restart ------------------------------------------------------------------------------------------------------ */

/* The disks that were heard and belong to that group. */
static uint8_t heard_of(const struct world *w, const struct round *r, uint8_t group)
{
	uint8_t set = 0;

	for (int i = 0; i < w->nodes; i++)
		if (in(r->heard, i) && (r->reports[i].base.group == group || is_blank(&r->reports[i])))
			set |= (uint8_t)(1 << i);
	return set;
}

/* A first view that nobody is known to have begun is nothing beside another group. */
static uint8_t group_of(const struct world *w, const struct round *r)
{
	uint8_t group = r->reports[r->owner].base.group;

	for (int i = 0; i < w->nodes; i++)
		if (in(r->heard, i) && !is_blank(&r->reports[i]) && (r->reports[i].flags & FIRST) == 0)
			group = r->reports[i].base.group;
	return group;
}

static uint8_t gone_from(const struct world *w, const struct round *r, uint8_t set, const struct view *base)
{
	uint8_t gone = 0;

	for (int i = 0; i < w->nodes; i++)
		if (in(set & base->members, i) && (r->reports[i].flags & LEFT) != 0 && !breaks(w, LEFT_VOTES) &&
		    (is_same(&r->reports[i].base, base) || breaks(w, LEFT_BEFORE)))
			gone |= (uint8_t)(1 << i);
	if (gone == base->members && !breaks(w, ALL_LEFT_IS_NONE))
		return 0; /* nobody has gone on */
	return gone;
}

/* Those of `set` that have agreed to what `by` has, at its ballot. */
static uint8_t agreed_with(const struct world *w, const struct round *r, uint8_t set, int by)
{
	const struct disk *d = &r->reports[by];
	uint8_t votes = 0;

	for (int i = 0; i < w->nodes; i++)
		if (in(set & d->base.members, i) && is_same(&r->reports[i].base, &d->base) &&
		    r->reports[i].next.number != 0 && r->reports[i].ballot == d->ballot)
			votes |= (uint8_t)(1 << i);
	return votes;
}

/* Is it known from what was heard that what that disk has agreed to was decided? */
static bool is_decided(const struct world *w, const struct round *r, uint8_t set, int by)
{
	const struct disk *d = &r->reports[by];

	if (d->next.number == 0)
		return false;
	return breaks(w, AGREED_IS_BEGUN) ||
	       is_quorum(w, agreed_with(w, r, set, by), d->base.members, gone_from(w, r, set, &d->base));
}

/* The newest view that is known to have been decided. */
static struct view newest(const struct world *w, const struct round *r, uint8_t set)
{
	struct view base = r->reports[r->owner].base;

	for (int i = 0; i < w->nodes; i++) {
		const struct disk *d = &r->reports[i];

		if (!in(set, i) || is_blank(d) || (breaks(w, STALE_VIEW) && i != r->owner))
			continue;
		if (d->base.number > base.number || base.group != d->base.group)
			base = d->base;
		if (is_decided(w, r, set, i) && d->next.number > base.number)
			base = d->next;
	}
	return base;
}

/* The voter that has agreed to something after `base`, at the highest ballot; -1: none. */
static int agreement(const struct world *w, const struct round *r, uint8_t voters, const struct view *base)
{
	int best = -1;

	for (int i = 0; i < w->nodes; i++) {
		const struct disk *d = &r->reports[i];

		if (in(voters, i) && is_same(&d->base, base) && d->next.number != 0 &&
		    (best < 0 || d->ballot > r->reports[best].ballot))
			best = i;
	}
	return breaks(w, AGREED_IS_NOTHING) ? -1 : best;
}

/* A disk that stands on an earlier view may have been in no shard in one between, and has nothing of that. (Else a member of `base` has all that
 * lies before it.) */
bool reaches(const struct world *w, const struct disk *d, const struct view *base, int shard)
{
	if (!w->moves || is_same(&d->base, base))
		return true;
	if (d->base.number + 1 == base->number)
		return d->synced >= base->start[shard];
	return d->next.number != 0 && d->next.number + 1 == base->number && d->next.start[shard] == base->start[shard];
}

/* Has this disk all of its shard? A member of a view has what lies before it, unless it has come in with it. */
static bool is_lender(const struct world *w, const struct round *r, uint8_t set, const struct view *base, int node,
		      int shard)
{
	const struct disk *d = &r->reports[node];
	bool is_whole = (d->flags & WHOLE) != 0 && ((d->flags & ROTTEN) == 0 || breaks(w, ROT_IS_CUT)) &&
			(reaches(w, d, base, shard) || breaks(w, SHORT_COUNTS));

	return in(set, node) && !is_blank(d) && shard_of(w, node) == shard && (is_whole || breaks(w, NEWCOMER_COUNTS));
}

/* How far it goes, what lies beyond the cut of the view before being void. */
uint8_t extent(const struct world *w, const struct disk *d, const struct view *base, int shard)
{
	uint8_t length = breaks(w, START_SYNCS_NOT) ? d->length : d->synced;

	if ((d->flags & ROTTEN) != 0)
		return (uint8_t)(length > 0 ? length - 1 : 0);
	return is_same(&d->base, base) ? length : base->start[shard];
}

/* The shortest of the whole logs there, which has all that was delivered; -1: there is none. */
static int find_lender(const struct world *w, const struct round *r, uint8_t set, const struct view *base, int shard)
{
	int best = -1;

	for (int i = 0; i < w->nodes; i++) {
		int more = best < 0
				   ? 0
				   : extent(w, &r->reports[i], base, shard) - extent(w, &r->reports[best], base, shard);

		if (is_lender(w, r, set, base, i, shard) && (best < 0 || (breaks(w, LONGEST_LOG) ? more > 0 : more < 0)))
			best = i;
	}
	return best;
}

/* Where the shard begins in the view after: in that some member has all of it. */
static bool begin_shard(const struct world *w, const struct round *r, int shard, struct round *out)
{
	uint8_t members = shard_in(w, &out->base, shard) & out->next.members;
	int lender = find_lender(w, r, members, &out->base, shard);

	for (int i = 0; i < w->nodes; i++)
		if (is_lender(w, r, members, &out->base, i, shard))
			out->lenders |= (uint8_t)(1 << i);
	if (lender < 0)
		return shard_in(w, &out->base, shard) == 0 || breaks(w, SHARDS_FORGOTTEN);
	out->next.start[shard] = extent(w, &r->reports[lender], &out->base, shard);
	memcpy(out->log[shard], r->reports[lender].log, out->next.start[shard]);
	return true;
}

/* The view after `base`, of its members that are there. */
static enum decision decide_anew(const struct world *w, const struct state *s, const struct round *r, struct round *out)
{
	for (int i = 0; i < w->nodes; i++)
		if (in(out->heard, i) && speaker(s, i) == i)
			out->next.members |= (uint8_t)(1 << i);
	out->next.number = (uint8_t)(out->base.number + 1);
	out->next.group = out->base.group;
	for (int k = 0; k < w->shards; k++)
		if (!begin_shard(w, r, k, out))
			return UNDECIDED;
	out->next.out = out->base.out & out->next.members;
	if (breaks(w, RESTART_ASKS)) /* the first of the shard */
		out->next.out |= shard_in(w, &out->next, 0) & (uint8_t)-shard_in(w, &out->next, 0);
	return out->next.members != 0 ? DECIDES : UNDECIDED;
}

bool may_speak(const struct world *w, const struct state *s, int i)
{
	struct round all = {.owner = (uint8_t)i};
	struct view view;

	for (int k = 0; k < w->nodes; k++)
		if (!is_blank(&s->nodes[k].disk)) {
			all.heard |= (uint8_t)(1 << k);
			all.reports[k] = s->nodes[k].disk;
		}
	view = newest(w, &all, heard_of(w, &all, group_of(w, &all)));
	return in(view.members, i);
}

/* One host: every directory belongs to a node that is there or is spoken for, and no process is a member. */
static bool has_all_directories(const struct world *w, const struct state *s, const struct round *r)
{
	for (int i = 0; i < w->nodes && !breaks(w, DIRECTORIES_UNREAD); i++)
		if (!is_blank(&s->nodes[i].disk) && !in(r->heard, i))
			return false;
	for (int i = 0; i < w->nodes; i++)
		if (s->nodes[i].status == MEMBER || s->nodes[i].status == THERE)
			return false;
	return true;
}

struct view newest_heard(const struct world *w, const struct round *r)
{
	return newest(w, r, heard_of(w, r, group_of(w, r)));
}

/* A node that says nothing of the newest view may have come into it later, in that life or another, and have ended since: it has to say again what
 * it has, now that the view is known. */
static bool is_stale(const struct world *w, const struct round *r, int i, const struct view *base)
{
	const struct disk *d = &r->reports[i];

	return i != r->owner && !is_same(&d->base, base) && !is_same(&d->next, base) && r->known < base->number &&
	       !breaks(w, STALE_REPORTS);
}

bool hears_stale(const struct world *w, const struct round *r)
{
	struct view base = newest_heard(w, r);

	for (int i = 0; i < w->nodes; i++)
		if (in(heard_of(w, r, group_of(w, r)) & base.members, i) && is_stale(w, r, i, &base))
			return true;
	return false;
}

/* The newest view, and those of its members that were heard and count; false: they are no majority of it. */
static bool find_base(const struct world *w, const struct state *s, const struct round *r, uint8_t *set,
		      struct round *out)
{
	uint8_t gone;

	*set = heard_of(w, r, group_of(w, r));
	*out = *r;
	memset(&out->next, 0, sizeof(out->next));
	memset(out->log, 0, sizeof(out->log));
	memset(out->reports, 0, sizeof(out->reports));
	out->lenders = 0;
	if (w->one_host && !has_all_directories(w, s, r))
		return false;
	out->base = newest(w, r, *set);
	gone = gone_from(w, r, *set, &out->base);
	if ((out->base.members & (uint8_t) ~*set) == 0 && !breaks(w, LEFT_STAY_OUT) && !breaks(w, ALL_LEFT_IS_NONE))
		gone = 0; /* all were heard: none has gone on without others but as they say */
	out->heard = *set & out->base.members & (uint8_t)~gone;
	if (hears_stale(w, r))
		return false;
	return is_quorum(w, out->heard, out->base.members, gone) || (breaks(w, NO_MAJORITY) && out->heard != 0);
}

enum decision decide(const struct world *w, const struct state *s, const struct round *r, struct round *out)
{
	uint8_t set;
	int by;

	if (!find_base(w, s, r, &set, out))
		return UNDECIDED;
	by = agreement(w, r, out->heard, &out->base);
	if (by < 0)
		return decide_anew(w, s, r, out);
	out->next = r->reports[by].next;
	return ADOPTS;
}

int may_mend(const struct world *w, const struct state *s, int of)
{
	const struct node *n = &s->nodes[of];
	const struct view *base = &n->disk.base;
	int best = -1;

	if (n->status != SEEKING || n->holder != 0 || n->row != 0 || is_blank(&n->disk) ||
	    (n->disk.flags & (WHOLE | ROTTEN)) == WHOLE || (n->disk.flags & LEFT) != 0 ||
	    !in(base->members & (uint8_t)~base->out, of))
		return -1;
	for (int i = 0; i < w->nodes; i++) {
		const struct disk *d = &s->nodes[i].disk;

		if (s->nodes[i].holder == of + 1 && is_same(&d->base, base) &&
		    in(shard_in(w, base, shard_of(w, of)), i) && (d->flags & (WHOLE | ROTTEN)) == WHOLE &&
		    (best < 0 || d->synced > s->nodes[best].disk.synced))
			best = i;
	}
	return best;
}

bool is_enough(const struct world *w, const struct state *s, const struct round *r)
{
	uint8_t going = 0, gone = 0;

	for (int i = 0; i < w->nodes; i++) {
		const struct node *n = &s->nodes[i];

		if (!in(r->next.members, i))
			continue;
		if (n->status == MEMBER ? is_same(&n->view, &r->next) : n->status == SEEKING && n->row == r->ballot)
			going |= (uint8_t)(1 << i);
		if (w->one_host && n->status == DOWN)
			gone |= (uint8_t)(1 << i);
	}
	return is_quorum(w, going, r->next.members, gone);
}

static bool have_all_agreed(const struct round *r)
{
	return r->decision == DECIDES && (r->heard & (uint8_t)~r->agreed) == 0;
}

bool holds_on(const struct world *w, const struct state *s, int i)
{
	for (int k = 0; k < ROUNDS; k++) {
		const struct round *r = &s->rounds[k];

		if (r->ballot != 0 && have_all_agreed(r) && in(r->next.members, i) && s->nodes[i].row == r->ballot &&
		    is_enough(w, s, r))
			return !breaks(w, GIVEN_UP_LATE);
	}
	return false;
}

bool may_begin(const struct world *w, const struct state *s, const struct round *r, int of)
{
	const struct node *n = &s->nodes[of];

	if (r->decision != DECIDES || n->status != SEEKING || n->row != r->ballot || !in(r->next.members, of))
		return false;
	if (r->next.number < s->now.number && is_same(&s->past[r->next.number % PAST], &r->next))
		return false; /* the others have gone on without it: it comes in later */
	if (breaks(w, BEGINS_ALONE))
		return true;
	/* All that decided it, and all that are in it, have agreed; some of these may have ended. */
	return have_all_agreed(r) && (is_same(&s->now, &r->next) || is_enough(w, s, r) || breaks(w, BEGINS_TOO_FEW));
}
