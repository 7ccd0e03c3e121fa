/* dormant_rules.c - what the rules say: which holdings count, what the next view is, what a disk keeps. See dormant.h. */
#include "dormant.h"

#include <string.h>

bool is_active(const struct view *view)
{
	return view->sub.members != 0 && view->sub.last == view->number;
}

uint8_t all_of(const struct world *w)
{
	return (uint8_t)((1 << w->nodes) - 1);
}

uint8_t members_now(const struct state *s)
{
	return is_active(&s->now) ? s->now.sub.members : 0;
}

uint8_t whole_of(const struct state *s, uint8_t set)
{
	uint8_t whole = 0;

	for (int i = 0; i < NODES; i++)
		if (has(set, i) && s->nodes[i].whole)
			whole |= only(i);
	return whole;
}

uint8_t up_of(const struct state *s, uint8_t set)
{
	uint8_t up = 0;

	for (int i = 0; i < NODES; i++)
		if (has(set, i) && s->nodes[i].status == IN)
			up |= only(i);
	return up;
}

/* ---- disks --------------------------------------------------------------------------------------------------------- */

/* A member of the first view, if that is the last as well, which has never begun it has all there was. That its disk stands on an earlier view
 * proves that it is not another disk. */
static void found_nothing(const struct world *w, struct disk *d, uint8_t stood, const struct subgroup *sub, int i)
{
	bool is_proved = stood != 0 ? stood < sub->birth : breaks(w, BLANK_FOUNDER);

	bool has_another = d->entry.birth != 0 && d->entry.whole && breaks(w, BIRTH_UNASKED);

	if (d->entry.birth != sub->birth && !has_another && has(sub->members, i) && sub->last == sub->birth &&
	    is_proved && !breaks(w, FOUNDER_IS_MUTE))
		d->entry = (struct entry){.birth = sub->birth, .whole = 1};
}

static bool keeps_entry(const struct world *w, const struct disk *d, const struct view *view, int i)
{
	if (breaks(w, STALE_IS_KEPT))
		return true;
	if (is_active(view) && !has(view->sub.members, i))
		return false;
	return d->entry.birth == view->sub.birth || breaks(w, BIRTH_UNASKED);
}

void stand_on(const struct world *w, struct disk *d, const struct view *view, int i)
{
	const struct subgroup *sub = &view->sub;
	uint8_t stood = d->base;

	if (stood == view->number)
		return;
	d->base = view->number;
	if (!keeps_entry(w, d, view, i))
		memset(&d->entry, 0, sizeof(d->entry));
	found_nothing(w, d, stood, sub, i);
}

void begin_on(const struct world *w, const struct state *s, struct disk *d, int i)
{
	const struct view *view = &s->now;
	struct entry *e = &d->entry;

	if (d->base == view->number)
		return;
	if (!has(members_now(s), i)) {
		stand_on(w, d, view, i);
		return;
	}
	d->base = view->number;
	if (has(view->sub.entered, i))
		*e = (struct entry){.birth = view->sub.birth, .whole = view->sub.birth == view->number};
	e->end = view->number;
	e->cut = e->frontier = 0;
	for (int at = view->start; at < LENGTH; at++)
		e->log[at] = 0;
	e->length = view->start;
}

/* ---- holdings ------------------------------------------------------------------------------------------------------ */

static uint8_t place_of(const struct world *w, const struct entry *e)
{
	return e->cut != 0 && !breaks(w, CUT_UNKNOWN) ? (uint8_t)(e->cut - 1) : e->length;
}

/* In the last view; or in the one before it in that log, which its member had not entered since. A founder's is in none. */
static bool ends_well(const struct world *w, const struct subgroup *sub, uint8_t end, int i)
{
	if (end == sub->last || (sub->last == sub->birth && end == 0))
		return true;
	if (end != (sub->back != 0 ? sub->from : sub->last - 1))
		return false;
	return !has(sub->entered, i) || breaks(w, ENTERED_COUNTS);
}

static bool may_count(const struct world *w, const struct state *s, int i)
{
	const struct subgroup *sub = &s->now.sub;
	const struct entry *e = &s->nodes[i].disk.entry;

	return (e->birth == sub->birth || (e->birth != 0 && breaks(w, BIRTH_UNASKED))) &&
	       (has(sub->members, i) || breaks(w, ANYBODY_COUNTS)) && (e->whole || breaks(w, WHOLE_UNASKED)) &&
	       ends_well(w, sub, e->end, i);
}

/* The end of that log is below what another one that ends in the same view says that all had. */
static bool is_rot(const struct state *s, uint8_t set, int i)
{
	const struct entry *e = &s->nodes[i].disk.entry;

	if (e->cut > e->length + 1)
		return true;
	for (int k = 0; k < NODES; k++)
		if (has(set, k) && s->nodes[k].disk.entry.end == e->end && s->nodes[k].disk.entry.frontier > e->length)
			return true;
	return false;
}

/* Those of `wishers` with holdings that count. A log of which the end has rotted, and of which no other says so, is left out of the model. */
static uint8_t find_counting(const struct world *w, const struct state *s, uint8_t wishers)
{
	uint8_t set = 0, rot = 0;

	for (int i = 0; i < NODES; i++)
		if (has(wishers, i) && may_count(w, s, i))
			set |= only(i);
	for (int i = 0; i < NODES; i++)
		if (has(set, i) && (is_rot(s, set, i) ? !breaks(w, FRONTIER_UNREAD) : s->nodes[i].disk.entry.rotten))
			rot |= only(i);
	return set & (uint8_t)~rot;
}

const char *check_start(const struct state *s, const uint8_t *log, uint8_t start)
{
	for (uint8_t at = 0; at < start; at++)
		if (log[at] != 0 && log[at] <= s->given_up)
			return GIVEN_UP;
	if (start < s->count)
		return LOST;
	return memcmp(log, s->delivered, s->count) != 0 ? OTHERWISE : NULL;
}

/* All logs that come back have what lies before the view, and the same. */
static const char *check_back(const struct state *s, const struct view *next, const uint8_t *log)
{
	const char *wrong = check_start(s, log, next->start);

	for (int i = 0; i < NODES && wrong == NULL; i++) {
		const struct entry *e = &s->nodes[i].disk.entry;

		if (!has(next->sub.back, i))
			continue;
		if (e->length < next->start)
			wrong = LOST;
		else if (memcmp(e->log, log, next->start) != 0)
			wrong = OTHERWISE;
	}
	return wrong;
}

/* ---- the next view ------------------------------------------------------------------------------------------------- */

/* The one now, with its subgroup as it was last. */
static void begin_next(const struct state *s, struct view *next, uint8_t group)
{
	*next = s->now;
	next->number = (uint8_t)(s->now.number + 1);
	next->group = group;
	next->start = 0;
}

/* The least that those of the shard that take part in the decision say to have on disk. */
static uint8_t find_cut(const struct state *s, uint8_t survivors)
{
	uint8_t cut = LENGTH;

	for (int i = 0; i < NODES; i++)
		if (has(survivors, i) && s->nodes[i].said < cut)
			cut = s->nodes[i].said;
	return survivors != 0 ? (uint8_t)(cut + 1) : 0;
}

/* It has members and goes on, with those that stay, and those that enter. */
static void go_on(struct state *s, struct view *next, uint8_t stay, uint8_t entering)
{
	if (stay == 0)
		return;
	next->sub.last = next->number;
	next->sub.members = stay | entering;
	next->sub.back = next->sub.from = 0;
	next->sub.entered = entering;
	next->start = (uint8_t)(s->cut - 1);
	memcpy(s->log, s->order, next->start);
}

bool compose_without(const struct world *w, struct state *s, uint8_t failed, uint8_t leavers)
{
	uint8_t members = members_now(s), survivors = members & (uint8_t)~failed, stay = survivors & (uint8_t)~leavers;
	struct view next;

	begin_next(s, &next, s->now.group & (uint8_t)~failed);
	s->cut = find_cut(s, survivors);
	if (stay != 0 && whole_of(s, stay) == 0 && !breaks(w, NONE_IS_WHOLE)) {
		if (!w->drops)
			return false;
		stay = 0;
		if (!breaks(w, DROPPED_DELIVER)) /* they have kept back what was delivered, and upcall none of it */
			s->cut = 0;
	}
	if (members != 0)
		go_on(s, &next, stay, 0);
	s->next = next;
	return true;
}

/* Each waits for a whole log of another, as long as there is another. */
static bool may_leave(const struct world *w, const struct state *s, uint8_t members, uint8_t leavers)
{
	if (leavers == 0 || breaks(w, LEAVER_GOES))
		return true;
	for (int i = 0; i < NODES; i++) {
		uint8_t others = members & (uint8_t)~only(i);

		if (has(leavers, i) && others != 0 && whole_of(s, others) == 0)
			return false;
	}
	return leavers == members || whole_of(s, members & (uint8_t)~leavers) != 0;
}

static bool meet_active(const struct world *w, struct state *s, struct view *next, uint8_t wishers)
{
	uint8_t members = members_now(s), stay = members & wishers, leavers = members & (uint8_t)~wishers,
		entering = wishers & (uint8_t)~members;

	if (leavers != 0 && (!w->leaves || !may_leave(w, s, members, leavers)))
		return false;
	if (stay == 0 && entering != 0)
		return false; /* they are met by a view after, as of one that is dormant */
	s->cut = find_cut(s, members);
	go_on(s, next, stay, entering);
	return true;
}

static void be_born(struct view *next, uint8_t wishers)
{
	memset(&next->sub, 0, sizeof(next->sub));
	next->sub.birth = next->sub.last = next->number;
	next->sub.members = next->sub.entered = wishers;
}

static void come_back(const struct world *w, struct state *s, struct view *next, uint8_t wishers, uint8_t counting)
{
	struct subgroup *sub = &next->sub;
	int shown = -1;

	sub->from = sub->back = 0;
	for (int i = 0; i < NODES; i++)
		if (has(counting, i) && s->nodes[i].disk.entry.end > sub->from)
			sub->from = s->nodes[i].disk.entry.end;
	for (int i = 0; i < NODES; i++) {
		const struct entry *e = &s->nodes[i].disk.entry;
		uint8_t place = place_of(w, e);

		if (!has(counting, i) || (e->end != sub->from && !breaks(w, ALL_COME_BACK)))
			continue;
		sub->back |= only(i);
		if (shown < 0 || (breaks(w, CUT_IS_MOST) ? place > next->start : place < next->start)) {
			next->start = place;
			shown = i;
		}
	}
	memcpy(s->log, s->nodes[shown].disk.entry.log, LENGTH);
	memset(s->log + next->start, 0, (size_t)(LENGTH - next->start));
	sub->last = next->number;
	sub->members = wishers;
	sub->entered = wishers & (uint8_t)~sub->back;
}

bool compose_wishes(const struct world *w, struct state *s, uint8_t newcomers, uint8_t wishers, bool anew,
		    const char **wrong)
{
	struct view next;
	uint8_t counting = 0;

	begin_next(s, &next, s->now.group | newcomers);
	s->cut = 0;
	if (members_now(s) != 0) {
		if (anew || !meet_active(w, s, &next, wishers))
			return false;
	} else if (wishers != 0) {
		counting = next.sub.birth != 0 ? find_counting(w, s, wishers) : 0;
		if (next.sub.birth == 0 ? anew : anew && (counting != 0 || s->births > w->anew))
			return false;
		if (counting != 0) {
			come_back(w, s, &next, wishers, counting);
			*wrong = check_back(s, &next, s->log);
		} else if (next.sub.birth == 0 || anew) {
			be_born(&next, wishers);
		} else if (breaks(w, BEGINS_EMPTY)) {
			next.sub.last = next.number;
			next.sub.members = next.sub.back = wishers;
			next.sub.entered = 0;
			*wrong = check_start(s, s->log, 0);
		} else if (newcomers == 0) {
			return false; /* refused */
		}
	} else if (anew) {
		return false;
	}
	if (newcomers == 0 && next.sub.members == s->now.sub.members &&
	    next.sub.last == s->now.sub.last + (members_now(s) != 0))
		return false; /* nothing changes */
	s->next = next;
	return true;
}
