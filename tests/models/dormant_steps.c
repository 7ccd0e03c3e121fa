/* dormant_steps.c - the steps of the model, and one order for states that are alike. See dormant.h. */
#include "dormant.h"

#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(struct entry) == 7 + LENGTH, "states are compared as they lie");
_Static_assert(sizeof(struct node) == 4 + sizeof(struct disk), "as are nodes");
_Static_assert(sizeof(struct view) == 3 + 6, "as are views");

/* ---- one order ----------------------------------------------------------------------------------------------------- */

static uint8_t moved(uint8_t set, const uint8_t *to)
{
	uint8_t out = 0;

	for (int i = 0; i < NODES; i++)
		if (has(set, i))
			out |= only(to[i]);
	return out;
}

static void move_view(struct view *view, const uint8_t *to)
{
	struct subgroup *sub = &view->sub;

	view->group = moved(view->group, to);
	sub->members = moved(sub->members, to);
	sub->entered = moved(sub->entered, to);
	sub->back = moved(sub->back, to);
}

static struct state renamed(const struct state *s, const uint8_t *to)
{
	struct state out = *s;

	for (int i = 0; i < NODES; i++)
		out.nodes[to[i]] = s->nodes[i];
	move_view(&out.now, to);
	move_view(&out.next, to);
	return out;
}

/* Those that are not there stay where they are. */
static bool moves_others(const struct world *w, const uint8_t *to)
{
	for (int i = w->nodes; i < NODES; i++)
		if (to[i] != i)
			return true;
	return false;
}

void tidy(const struct world *w, struct state *s)
{
	static const uint8_t orders[][NODES] = {{0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
	struct state best = *s;

	for (size_t k = 0; k < sizeof(orders) / sizeof(orders[0]); k++) {
		struct state other = renamed(s, orders[k]);

		if (!moves_others(w, orders[k]) && memcmp(&other, &best, sizeof(best)) < 0)
			best = other;
	}
	*s = best;
}

void begin_world(const struct world *w, struct state *s)
{
	memset(s, 0, sizeof(*s));
	s->now = (struct view){.number = 1, .group = all_of(w)};
	for (int i = 0; i < w->nodes; i++) {
		s->nodes[i].status = IN;
		s->nodes[i].disk.base = 1;
	}
}

/* ---- which can be taken -------------------------------------------------------------------------------------------- */

struct steps {
	struct step *out;
	int count;
};

static void append(struct steps *steps, bool can, enum step_kind kind, int node, int other, bool anew)
{
	if (can && steps->count < STEPS)
		steps->out[steps->count++] = (struct step){(uint8_t)kind, (uint8_t)node, (uint8_t)other, anew};
}

static bool is_decided(const struct state *s)
{
	return s->next.number != 0;
}

/* A member of this view that goes on in the next, and has not agreed to it. */
static bool may_agree(const struct state *s, int i)
{
	return is_decided(s) && s->nodes[i].status == IN && has(s->now.group & s->next.group, i) && !s->nodes[i].agreed;
}

static bool may_install(const struct state *s)
{
	for (int i = 0; i < NODES; i++)
		if (may_agree(s, i))
			return false;
	return is_decided(s) && !s->dark;
}

static bool has_begun(const struct state *s, int i)
{
	return s->nodes[i].disk.base == s->now.number;
}

static bool is_member(const struct state *s, int i)
{
	return s->nodes[i].status == IN && has(members_now(s), i);
}

/* The members that are not up. */
static uint8_t failed_of(const struct state *s)
{
	return s->now.group & (uint8_t)~up_of(s, s->now.group);
}

static bool may_give(const struct state *s, int i)
{
	return is_member(s, i) && !s->nodes[i].whole && !is_decided(s) &&
	       whole_of(s, up_of(s, members_now(s)) & (uint8_t)~only(i)) != 0;
}

static void append_own(const struct world *w, const struct state *s, int i, struct steps *steps)
{
	const struct node *n = &s->nodes[i];
	const struct entry *e = &n->disk.entry;
	bool comes = n->status == UP && !has(s->next.group, i) && !s->dark;

	append(steps, may_give(s, i), GIVE, i, 0, false);
	append(steps, n->status == IN && !has_begun(s, i), WRITE, i, 0, false);
	append(steps, is_member(s, i) && has_begun(s, i) && e->length < s->sent, SYNC, i, 0, false);
	append(steps, w->rot > 0 && is_member(s, i) && has_begun(s, i) && e->frontier < s->count, CAP, i, 0, false);
	append(steps, comes && !has_begun(s, i), COME, i, 0, false);
	append(steps, may_agree(s, i), AGREE, i, 0, false);
	append(steps, n->status == DOWN && !has(s->now.group | s->next.group, i) && !s->dark, START, i, 0, false);
	append(steps, s->crashes < w->crashes && n->status != DOWN, CRASH, i, 0, false);
	append(steps, s->lost < w->lost && n->status == DOWN && n->disk.base != 0, LOSE, i, 0, false);
}

/* There is another log that says that all have had what goes here. */
static bool may_rot(const struct state *s, int i)
{
	const struct entry *e = &s->nodes[i].disk.entry;

	if (s->nodes[i].status == IN || e->length == 0)
		return false;
	for (int k = 0; k < NODES; k++) {
		const struct entry *other = &s->nodes[k].disk.entry;

		if (k != i && other->birth == e->birth && other->end == e->end && other->frontier >= e->length)
			return true;
	}
	return false;
}

static void append_wishes(const struct world *w, const struct state *s, struct steps *steps)
{
	uint8_t there = 0;

	for (int i = 0; i < NODES; i++)
		if (s->nodes[i].status == UP && has_begun(s, i) && !has(s->now.group, i))
			there |= only(i);
	for (uint8_t newcomers = 0; newcomers <= ALL; newcomers++)
		for (uint8_t wishers = 0; wishers <= ALL && (newcomers & ~there) == 0; wishers++)
			for (int anew = 0;
			     anew <= (w->anew > 0 ? 1 : 0) && (wishers & ~(s->now.group | newcomers)) == 0; anew++) {
				struct state copy = *s;
				const char *wrong = NULL;

				append(steps, compose_wishes(w, &copy, newcomers, wishers, anew != 0, &wrong), WISH,
				       newcomers, wishers, anew != 0);
			}
}

/* Those that may be members of the view after a restart. */
static uint8_t may_restart(const struct state *s)
{
	uint8_t set = 0;

	for (int i = 0; i < NODES; i++)
		if (has(s->now.group, i) && s->nodes[i].disk.base != 0)
			set |= only(i);
	return set;
}

/* A member acknowledges a view when what it says of the one before is on its disk: one is written behind the other. */
static bool have_all_begun(const struct state *s)
{
	for (int i = 0; i < NODES; i++)
		if (has(s->now.group, i) && s->nodes[i].status == IN && !has_begun(s, i))
			return false;
	return true;
}

static void append_changes(const struct world *w, const struct state *s, struct steps *steps)
{
	uint8_t failed = failed_of(s);
	struct state copy = *s;

	if (s->dark) {
		for (uint8_t set = 0; set <= ALL; set++)
			append(steps, (set & (uint8_t)~may_restart(s)) == 0, RESTART, set, 0, false);
		return;
	}
	append(steps, may_install(s), INSTALL, 0, 0, false);
	append(steps, s->powers < w->powers, POWER, 0, 0, false);
	append(steps, s->powers < w->powers && is_decided(s), POWER, 0, 1, false);
	if (is_decided(s) || s->now.number >= w->views || (!have_all_begun(s) && !breaks(w, BEGUN_LATE)))
		return;
	append(steps, failed != 0 && compose_without(w, &copy, failed, 0), FAIL, failed, 0, false);
	for (uint8_t set = 1; set <= ALL && failed != 0 && breaks(w, FAILURES_SERVE); set++) {
		copy = *s;
		append(steps,
		       (set & (uint8_t) ~(members_now(s) & ~failed)) == 0 && compose_without(w, &copy, failed, set),
		       FAIL, failed, set, false);
	}
	if (failed == 0)
		append_wishes(w, s, steps);
}

int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out)
{
	struct steps steps = {out, 0};
	struct world without = *w;

	if (calm) {
		without.views = UINT8_MAX;
		without.messages = without.anew = without.crashes = without.powers = without.lost = without.rot = 0;
		w = &without;
	}
	for (int i = 0; i < w->nodes; i++) {
		append_own(w, s, i, &steps);
		append(&steps, s->rot < w->rot && may_rot(s, i), ROT, i, 0, false);
	}
	append(&steps,
	       up_of(s, members_now(s)) != 0 && !is_decided(s) && !s->dark && s->messages < w->messages &&
		       s->sent < LENGTH,
	       SEND, 0, 0, false);
	append_changes(w, s, &steps);
	return steps.count;
}

/* ---- what they do -------------------------------------------------------------------------------------------------- */

static void end_life(struct state *s, int i)
{
	struct node *n = &s->nodes[i];

	n->status = DOWN;
	n->whole = n->agreed = 0;
	if (!has(members_now(s), i))
		n->said = 0;
}

/* What all members say to have on disk is delivered. */
static const char *deliver(struct state *s, uint8_t to)
{
	for (uint8_t at = 0; at < to; at++) {
		if (at < s->count && s->delivered[at] != s->order[at])
			return OTHERWISE;
		s->delivered[at] = s->order[at];
	}
	s->count = to > s->count ? to : s->count;
	return NULL;
}

static const char *deliver_what_may_be(struct state *s)
{
	uint8_t members = members_now(s), least = LENGTH;

	for (int i = 0; i < NODES; i++)
		if (has(members, i) && s->nodes[i].said < least)
			least = s->nodes[i].said;
	return members != 0 ? deliver(s, least) : NULL;
}

static void enter_next(struct state *s, int i)
{
	struct node *n = &s->nodes[i];
	const struct subgroup *sub = &s->now.sub;
	bool is_in = has(members_now(s), i);

	n->agreed = 0;
	n->said = is_in ? s->now.start : 0;
	if (n->status == UP && has(s->now.group, i))
		n->status = IN;
	if (!is_in || (has(sub->entered, i) && sub->birth != s->now.number))
		n->whole = 0;
	else if (n->status == IN && (has(sub->back, i) || has(sub->entered, i)))
		n->whole = 1;
}

/* Those that go on deliver what lies below the cut, and begin the next view. */
static const char *install(struct state *s)
{
	const char *wrong = s->cut != 0 ? deliver(s, (uint8_t)(s->cut - 1)) : NULL;

	s->now = s->next;
	memset(&s->next, 0, sizeof(s->next));
	s->cut = 0;
	memset(s->order, 0, sizeof(s->order));
	s->sent = 0;
	if (s->now.sub.birth == s->now.number) { /* what the one before had is given up */
		s->births++;
		s->given_up = s->messages;
		s->count = 0;
		memset(s->delivered, 0, sizeof(s->delivered));
	}
	if (members_now(s) != 0) {
		if (wrong == NULL)
			wrong = check_start(s, s->log, s->now.start);
		memcpy(s->order, s->log, s->now.start);
		s->sent = s->now.start;
	}
	memset(s->log, 0, sizeof(s->log));
	for (int i = 0; i < NODES; i++)
		enter_next(s, i);
	return wrong;
}

static void agree(const struct world *w, struct state *s, int i)
{
	struct node *n = &s->nodes[i];

	begin_on(w, s, &n->disk, i);
	n->agreed = 1;
	if (has(members_now(s), i))
		n->disk.entry.cut = s->cut;
}

static void give(const struct world *w, struct state *s, int i)
{
	struct node *n = &s->nodes[i];

	begin_on(w, s, &n->disk, i);
	memcpy(n->disk.entry.log, s->order, s->now.start);
	n->whole = n->disk.entry.whole = 1;
}

static void sync_one(struct state *s, int i)
{
	struct node *n = &s->nodes[i];
	struct entry *e = &n->disk.entry;

	e->log[e->length] = s->order[e->length];
	e->length++;
	if (!is_decided(s))
		n->said = e->length;
}

static const char *lose_power(struct state *s, bool taken_up)
{
	const char *wrong = NULL;

	for (int i = 0; i < NODES; i++)
		end_life(s, i);
	if (is_decided(s) && taken_up)
		wrong = install(s);
	memset(&s->next, 0, sizeof(s->next));
	memset(s->log, 0, sizeof(s->log));
	s->cut = 0;
	s->dark = 1;
	return wrong;
}

/* Another view follows the last, of some of its members. */
static void restart(const struct world *w, struct state *s, uint8_t set)
{
	for (int i = 0; i < NODES; i++)
		if (has(set, i)) {
			stand_on(w, &s->nodes[i].disk, &s->now, i);
			s->nodes[i].status = IN;
		}
	s->now.number++;
	s->now.group = set;
	s->now.start = s->sent = s->dark = 0;
	memset(s->order, 0, sizeof(s->order));
	for (int i = 0; i < NODES; i++)
		s->nodes[i].said = 0;
}

static void come(const struct world *w, struct state *s, int i)
{
	struct disk *d = &s->nodes[i].disk;

	if (breaks(w, NEWCOMER_FORGETS))
		memset(&d->entry, 0, sizeof(d->entry));
	stand_on(w, d, &s->now, i);
}

static void rot(struct state *s, int i)
{
	struct entry *e = &s->nodes[i].disk.entry;

	s->rot++;
	e->log[--e->length] = 0;
	e->rotten = 1;
}

static void take_fault(struct state *s, struct step step)
{
	switch ((enum step_kind)step.kind) {
	case CRASH:
		s->crashes++;
		end_life(s, step.node);
		break;
	case LOSE:
		s->lost++;
		memset(&s->nodes[step.node].disk, 0, sizeof(s->nodes[step.node].disk));
		break;
	default: /* ROT */
		rot(s, step.node);
		break;
	}
}

static const char *take_change(const struct world *w, struct state *s, struct step step)
{
	const char *wrong = NULL;

	switch ((enum step_kind)step.kind) {
	case FAIL:
		(void)compose_without(w, s, step.node, step.other);
		break;
	case WISH:
		(void)compose_wishes(w, s, step.node, step.other, step.more != 0, &wrong);
		break;
	case INSTALL:
		wrong = install(s);
		break;
	case POWER:
		s->powers++;
		wrong = lose_power(s, step.other != 0);
		break;
	default: /* RESTART */
		restart(w, s, step.node);
		break;
	}
	return wrong;
}

static void take_own(const struct world *w, struct state *s, struct step step)
{
	struct node *n = &s->nodes[step.node];

	switch ((enum step_kind)step.kind) {
	case GIVE:
		give(w, s, step.node);
		break;
	case SEND:
		s->order[s->sent++] = ++s->messages;
		break;
	case WRITE:
		begin_on(w, s, &n->disk, step.node);
		break;
	case SYNC:
		sync_one(s, step.node);
		break;
	case CAP:
		n->disk.entry.frontier = s->count;
		break;
	case COME:
		come(w, s, step.node);
		break;
	case AGREE:
		agree(w, s, step.node);
		break;
	default: /* START */
		n->status = UP;
		break;
	}
}

const char *take(const struct world *w, struct state *s, struct step step)
{
	const char *wrong = NULL;

	switch ((enum step_kind)step.kind) {
	case FAIL:
	case WISH:
	case INSTALL:
	case POWER:
	case RESTART:
		wrong = take_change(w, s, step);
		break;
	case CRASH:
	case LOSE:
	case ROT:
		take_fault(s, step);
		break;
	default:
		take_own(w, s, step);
		break;
	}
	return wrong != NULL ? wrong : deliver_what_may_be(s);
}
