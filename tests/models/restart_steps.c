/* restart_steps.c - the steps of the model, and one order for states that are alike. See restart.h. */
#include "restart.h"

#include <stdio.h>
#include <string.h>

#define FIRST_RESTART 16 /* ballots of changes of a view are lower */

_Static_assert(sizeof(struct disk) == 2 * sizeof(struct view) + 5 + LENGTH, "states are compared as they lie");
_Static_assert(sizeof(struct node) == sizeof(struct disk) + sizeof(struct view) + 6, "as are nodes");
_Static_assert(sizeof(struct view) == 4 + SHARDS, "as are views");

/* ---- one order ----------------------------------------------------------------------------------------------------- */

/* A round that no node follows any more comes to nothing. */
static bool is_over(const struct world *w, const struct state *s, const struct round *r)
{
	if (r->decision == UNDECIDED && s->nodes[r->owner].status != SEEKING)
		return true;
	for (int i = 0; i < w->nodes; i++)
		if (s->nodes[i].status == SEEKING &&
		    (s->nodes[i].follows == r->ballot || (breaks(w, NO_PROMISE) && in(r->heard, i))))
			return false;
	return true;
}

static void forget_rounds(const struct world *w, struct state *s)
{
	for (int k = 0; k < ROUNDS; k++)
		if (s->rounds[k].ballot != 0 && is_over(w, s, &s->rounds[k]))
			memset(&s->rounds[k], 0, sizeof(s->rounds[k]));
	if (s->rounds[0].ballot > s->rounds[1].ballot) {
		struct round r = s->rounds[0];

		s->rounds[0] = s->rounds[1];
		s->rounds[1] = r;
	}
}

#define KEY 80

static void put_set(uint8_t *key, int *at, uint8_t set, int node)
{
	key[(*at)++] = (uint8_t)(__builtin_popcount(set) << 1 | in(set, node));
}

/* What can be said of a node without naming others. */
static void describe(const struct state *s, int i, uint8_t key[KEY])
{
	struct node n = s->nodes[i];
	int at = 0;

	memset(key, 0, KEY);
	put_set(key, &at, n.disk.base.members, i);
	put_set(key, &at, n.disk.next.members, i);
	put_set(key, &at, n.view.members, i);
	put_set(key, &at, n.disk.base.out, i);
	put_set(key, &at, n.disk.next.out, i);
	put_set(key, &at, n.view.out, i);
	put_set(key, &at, s->now.out, i);
	put_set(key, &at, s->next.out, i);
	put_set(key, &at, s->now.members, i);
	put_set(key, &at, s->next.members, i);
	put_set(key, &at, s->trusted, i);
	put_set(key, &at, s->wedged, i);
	put_set(key, &at, s->left, i);
	for (int k = 0; k < ROUNDS; k++) {
		put_set(key, &at, s->rounds[k].heard, i);
		put_set(key, &at, s->rounds[k].agreed, i);
		put_set(key, &at, s->rounds[k].lenders, i);
		put_set(key, &at, s->rounds[k].next.members, i);
		key[at++] = s->rounds[k].ballot != 0 && s->rounds[k].owner == i;
	}
	for (int m = 1; m <= LENGTH; m++)
		key[at++] = s->sender[0][m] == i + 1;
	n.disk.base.members = n.disk.next.members = n.view.members = 0;
	n.disk.base.out = n.disk.next.out = n.view.out = 0;
	n.holder = n.holder != 0;
	memcpy(key + at, &n, sizeof(n));
}

static uint8_t moved(uint8_t set, const uint8_t *to)
{
	uint8_t out = 0;

	for (int i = 0; i < NODES; i++)
		if (in(set, i))
			out |= (uint8_t)(1 << to[i]);
	return out;
}

static void move_view(struct view *view, const uint8_t *to)
{
	view->members = moved(view->members, to);
	view->out = moved(view->out, to);
}

static void move_disk(struct disk *d, const uint8_t *to)
{
	move_view(&d->base, to);
	move_view(&d->next, to);
}

static void move_round(struct round *r, const uint8_t *to)
{
	struct round old = *r;

	if (r->ballot == 0)
		return;
	r->owner = to[old.owner];
	r->heard = moved(old.heard, to);
	r->agreed = moved(old.agreed, to);
	r->lenders = moved(old.lenders, to);
	move_view(&r->base, to);
	move_view(&r->next, to);
	for (int i = 0; i < NODES; i++) {
		r->reports[to[i]] = old.reports[i];
		move_disk(&r->reports[to[i]], to);
	}
}

static void rename_nodes(struct state *s, const uint8_t *to)
{
	struct state old = *s;

	for (int i = 0; i < NODES; i++) {
		struct node *n = &s->nodes[to[i]];

		*n = old.nodes[i];
		move_disk(&n->disk, to);
		move_view(&n->view, to);
		if (n->holder != 0)
			n->holder = (uint8_t)(1 + to[n->holder - 1]);
	}
	for (int k = 0; k < ROUNDS; k++)
		move_round(&s->rounds[k], to);
	move_view(&s->now, to);
	move_view(&s->next, to);
	s->trusted = moved(s->trusted, to);
	s->wedged = moved(s->wedged, to);
	for (int k = 0; k < PAST; k++)
		move_view(&s->past[k], to);
	s->left = moved(s->left, to);
	for (int m = 1; m <= LENGTH; m++)
		if (s->sender[0][m] != 0)
			s->sender[0][m] = (uint8_t)(1 + to[s->sender[0][m] - 1]);
}

static void sort_nodes(const struct world *w, struct state *s)
{
	uint8_t keys[NODES][KEY], place[NODES], to[NODES];
	int from = w->tie_breaker ? 1 : 0;

	for (int i = 0; i < NODES; i++)
		place[i] = to[i] = (uint8_t)i;
	for (int i = from; i < w->nodes; i++)
		describe(s, i, keys[i]);
	for (int i = from + 1; i < w->nodes; i++)
		for (int k = i; k > from && memcmp(keys[place[k - 1]], keys[place[k]], KEY) > 0; k--) {
			uint8_t swap = place[k];

			place[k] = place[k - 1];
			place[k - 1] = swap;
		}
	for (int i = 0; i < NODES; i++)
		to[place[i]] = (uint8_t)i;
	rename_nodes(s, to);
}

void tidy(const struct world *w, struct state *s)
{
	forget_rounds(w, s);
	if (w->shards == 1)
		sort_nodes(w, s);
}

void begin_world(const struct world *w, struct state *s)
{
	memset(s, 0, sizeof(*s));
	if (w->groups != 0)
		return;
	s->groups = 1;
	s->now = (struct view){.number = 1, .group = 1, .members = (uint8_t)((1 << w->nodes) - 1)};
	for (int i = 0; i < w->nodes; i++) {
		struct node *n = &s->nodes[i];

		n->disk.base = n->view = s->now;
		n->disk.flags = WHOLE;
		n->status = MEMBER;
	}
}

/* ---- logs ---------------------------------------------------------------------------------------------------------- */

/* The disk is told that this view has begun: what lies beyond the cut of the one before is void. */
static void enter_view(const struct world *w, struct disk *d, const struct view *view, int i)
{
	uint8_t start = view->start[shard_of(w, i)];

	if (is_same(&d->base, view))
		return;
	if (d->length < start || !breaks(w, VOID_COUNTS)) {
		for (int at = start; at < LENGTH; at++)
			d->log[at] = 0;
		if (d->synced > start || d->synced == d->length)
			d->synced = start;
		d->length = start;
	}
	d->base = *view;
	memset(&d->next, 0, sizeof(d->next));
	d->ballot = 0;
	d->flags &= (uint8_t) ~(FIRST | LEFT | (in(view->out, i) ? WHOLE : 0));
}

static void lose_tail(struct disk *d)
{
	for (int at = d->synced; at < LENGTH; at++)
		d->log[at] = 0;
	d->length = d->synced;
}

static uint8_t received(const struct world *w, const struct node *n, int i)
{
	return is_same(&n->disk.base, &n->view) ? n->disk.length : n->view.start[shard_of(w, i)];
}

static uint8_t persisted(const struct world *w, const struct node *n, int i)
{
	return is_same(&n->disk.base, &n->view) ? n->disk.synced : n->view.start[shard_of(w, i)];
}

/* ---- what is delivered --------------------------------------------------------------------------------------------- */

static const char *deliver(struct state *s, int shard, uint8_t to)
{
	for (uint8_t at = s->count[shard]; at < to; at++) {
		for (uint8_t k = 0; k < at; k++)
			if (s->delivered[shard][k] == s->order[shard][at])
				return TWICE;
		s->delivered[shard][at] = s->order[shard][at];
		s->count[shard] = (uint8_t)(at + 1);
	}
	return NULL;
}

/* What all members of a shard say that they have persisted may have been delivered. */
static const char *deliver_what_may_be(const struct world *w, struct state *s)
{
	const char *wrong = NULL;

	for (int k = 0; k < w->shards && wrong == NULL; k++) {
		uint8_t set = shard_in(w, &s->now, k), least = LENGTH;

		for (int i = 0; i < w->nodes; i++) {
			const struct node *n = &s->nodes[i];
			uint8_t said = is_same(&n->view, &s->now) && (n->status == MEMBER || n->status == DOWN)
					       ? n->said
					       : s->now.start[k];

			if (in(set, i) && said < least)
				least = said;
		}
		if (set != 0)
			wrong = deliver(s, k, least);
	}
	return wrong;
}

/* False: another view of that number has been decided. */
static bool note(struct state *s, const struct view *view)
{
	struct view *past = &s->past[view->number % PAST];

	if (view->number == 0 || view->number >= PAST)
		return true;
	if (past->number != 0 && !is_same(past, view))
		return false;
	*past = *view;
	return true;
}

/* The first member begins that view, which follows `base`, and has `log` before it. */
static const char *begin_view(const struct world *w, struct state *s, const struct view *base, const struct view *view,
			      uint8_t log[SHARDS][LENGTH])
{
	const char *wrong = NULL;

	if (s->now.number != 0 && view->group < s->now.group)
		return TWO;
	if (s->now.number != 0 && view->group == s->now.group && view->number <= s->now.number)
		return FORK;
	if (view->group != s->now.group)
		memset(s->past, 0, sizeof(s->past));
	if (!note(s, base) || !note(s, view))
		return FORK;
	for (int k = 0; k < w->shards && wrong == NULL; k++) {
		uint8_t start = view->start[k];

		if (view->group != s->now.group && s->count[k] > 0)
			return LOST;
		if (start < s->count[k] && shard_in(w, view, k) != 0)
			return LOST;
		if (memcmp(log[k], s->delivered[k], s->count[k] < start ? s->count[k] : start) != 0)
			return OTHERWISE;
		memset(s->order[k], 0, sizeof(s->order[k]));
		memcpy(s->order[k], log[k], start);
		s->sent[k] = start;
		wrong = deliver(s, k, start);
	}
	s->now = *view;
	memset(&s->next, 0, sizeof(s->next));
	s->ballot = s->trusted = s->wedged = s->left = 0;
	return wrong;
}

/* This member begins the newest view: its program is upcalled for what lies before. */
static const char *enter(const struct world *w, struct state *s, int i)
{
	struct node *n = &s->nodes[i];
	int shard = shard_of(w, i);

	n->status = MEMBER;
	n->view = s->now;
	n->row = n->follows = n->owes = 0;
	n->said = s->now.start[shard];
	for (int k = 0; k < w->nodes; k++)
		if (s->nodes[k].holder == i + 1)
			s->nodes[k].holder = 0;
	if ((n->disk.flags & WHOLE) != 0 && memcmp(n->disk.log, s->order[shard], s->now.start[shard]) != 0)
		return OTHERWISE;
	return NULL;
}

/* ---- which can be taken -------------------------------------------------------------------------------------------- */

struct steps {
	struct step *out;
	int count;
};

static void append(struct steps *steps, bool can, enum step_kind kind, int node, int other)
{
	if (can && steps->count < STEPS)
		steps->out[steps->count++] = (struct step){(uint8_t)kind, (uint8_t)node, (uint8_t)other};
}

static bool is_up_to_date(const struct state *s, int i)
{
	return s->nodes[i].status == MEMBER && is_same(&s->nodes[i].view, &s->now);
}

static bool has_begun(const struct state *s, const struct view *view)
{
	for (int i = 0; i < NODES; i++)
		if (s->nodes[i].status == MEMBER && is_same(&s->nodes[i].view, view))
			return true;
	return false;
}

static bool all_formed(const struct state *s, const struct view *view)
{
	for (int i = 0; i < NODES; i++)
		if (in(view->members, i) &&
		    (s->nodes[i].status != FORMING || !is_same(&s->nodes[i].view, view) || s->nodes[i].row == 0))
			return false;
	return true;
}

static bool is_formation_over(const struct state *s, const struct view *view)
{
	for (int i = 0; i < NODES; i++)
		if (in(view->members, i) && (s->nodes[i].status != FORMING || !is_same(&s->nodes[i].view, view)))
			return !has_begun(s, view);
	return false;
}

static bool all_agree(const struct world *w, const struct state *s)
{
	for (int i = 0; i < w->nodes; i++)
		if (in(s->trusted, i) && s->nodes[i].row != s->ballot)
			return false;
	return s->trusted != 0;
}

static bool may_install(const struct world *w, const struct state *s, int i)
{
	const struct node *n = &s->nodes[i];

	if (n->status != MEMBER || n->row == 0)
		return false;
	if (is_up_to_date(s, i))
		return in(s->next.members & s->trusted, i) && all_agree(w, s);
	return n->view.group == s->now.group && n->view.number + 1 == s->now.number && in(s->now.members, i);
}

static bool may_echo(const struct world *w, const struct state *s, int i)
{
	const struct node *n = &s->nodes[i];
	uint8_t has = breaks(w, CUT_IS_AWAITED) ? persisted(w, n, i) : LENGTH;

	return is_up_to_date(s, i) && in(s->trusted, i) && n->row < s->ballot && (n->disk.flags & LEFT) == 0 &&
	       has >= s->next.start[shard_of(w, i)];
}

static bool may_write(const struct world *w, const struct state *s, int i)
{
	return is_up_to_date(s, i) && !in(s->wedged | s->now.out, i) && (s->nodes[i].disk.flags & LEFT) == 0 &&
	       received(w, &s->nodes[i], i) < s->sent[shard_of(w, i)];
}

static bool may_send(const struct world *w, const struct state *s, int i)
{
	int k = shard_of(w, i);

	if (!is_up_to_date(s, i) || in(s->now.out, i) || s->trusted != 0 || s->messages[k] >= w->messages ||
	    s->sent[k] >= LENGTH)
		return false;
	return !w->in_turn || living(w, s) == s->now.members;
}

static bool has_whole_log(const struct world *w, const struct state *s, uint8_t set)
{
	for (int i = 0; i < w->nodes; i++)
		if (in(set, i) && (s->nodes[i].disk.flags & WHOLE) != 0)
			return true;
	return false;
}

/* No view follows in which no member that stays in some shard has all of it: `out` are in none there. (A shard that loses all its members
 * while the group goes on is another matter, and left out.) */
static bool keeps_shards(const struct world *w, const struct state *s, uint8_t set, uint8_t out)
{
	for (int k = 0; k < w->shards; k++) {
		uint8_t now = shard_in(w, &s->now, k), staying = now & set & (uint8_t)~out,
			members = breaks(w, LAYOUT_UNREAD) ? now & set : staying;

		if (now != 0 && (staying == 0 || !(has_whole_log(w, s, members) || breaks(w, NONE_IS_WHOLE))))
			return false;
	}
	return true;
}

/* What a layout may make of those that are out: one more, or none any more. In `other`, above the newcomer, which is 1 + a node. */
static void append_moves(const struct world *w, const struct state *s, uint8_t set, bool calm, struct steps *steps)
{
	for (int i = 0; i < w->nodes && w->moves && !calm; i++)
		append(steps,
		       in(set & (uint8_t)~s->now.out, i) && keeps_shards(w, s, set, s->now.out | (uint8_t)(1 << i)),
		       CHANGE, set, (s->now.out | 1 << i) << 3);
	append(steps, s->now.out != 0 && keeps_shards(w, s, set, 0), CHANGE, set, 1 << 7);
}

/* Which members go on, and which node comes in. */
static void append_changes(const struct world *w, const struct state *s, bool calm, struct steps *steps)
{
	uint8_t all = living(w, s), gone = s->left | dead(w, s);

	if (s->now.number == 0 || s->now.number >= w->views + (calm ? 2 * NODES : 0))
		return;
	for (int i = 0; i < w->nodes && all == s->now.members && s->trusted == 0; i++)
		append(steps, s->nodes[i].status == THERE && is_same(&s->nodes[i].view, &s->now), CHANGE, all, i + 1);
	for (uint8_t set = all; set != 0; set = (uint8_t)((set - 1) & all)) {
		bool is_news = set != (s->trusted != 0 ? s->trusted : s->now.members);

		if (is_news && (s->trusted == 0 || (set & (uint8_t)~s->trusted) == 0) &&
		    is_quorum(w, set, s->now.members, gone))
			append(steps, keeps_shards(w, s, set, s->now.out), CHANGE, set, 0);
		if (s->trusted == 0 && is_quorum(w, set, s->now.members, gone))
			append_moves(w, s, set, calm, steps);
		if (calm)
			break;
	}
}

static bool may_come(const struct world *w, const struct state *s, int i, bool calm)
{
	const struct disk *d = &s->nodes[i].disk;

	if (!(w->joins || calm) || s->nodes[i].status != SEEKING || s->nodes[i].holder != 0)
		return false;
	if (in(s->now.members, i) || living(w, s) == 0)
		return false;
	return is_blank(d) || d->base.group == s->now.group || (d->flags & FIRST) != 0;
}

static bool may_mark(const struct world *w, const struct state *s, int i)
{
	uint8_t set = living(w, s);

	if (!in(set & (uint8_t)~s->now.out, i) || (s->nodes[i].disk.flags & (WHOLE | LEFT)) != 0)
		return false;
	for (int k = 0; k < w->nodes; k++)
		if (in(set & (uint8_t)~s->now.out, k) && shard_of(w, k) == shard_of(w, i) &&
		    (s->nodes[k].disk.flags & WHOLE) != 0)
			return true;
	return false;
}

static bool may_drop(const struct world *w, const struct state *s, int i)
{
	const struct node *n = &s->nodes[i];

	if (n->status == FORMING)
		return is_formation_over(s, &n->view);
	if (n->status != THERE || is_same(&n->view, &s->now))
		return n->status == THERE && living(w, s) == 0;
	return !(in(s->now.members, i) && n->view.number + 1 == s->now.number);
}

static bool may_promise(const struct world *w, const struct state *s, const struct round *r, int i)
{
	const struct disk *d = &s->nodes[i].disk;

	return r->ballot != 0 && r->decision == UNDECIDED && speaker(s, i) >= 0 && !holds_on(w, s, speaker(s, i)) &&
	       !in(r->heard, i) && d->promise < r->ballot && (!is_blank(d) || breaks(w, BLANK_VOTES));
}

static bool may_agree(const struct world *w, const struct state *s, const struct round *r, int i)
{
	int by = speaker(s, i);

	if (r->decision == UNDECIDED || by < 0 || !in(r->heard, i) || in(r->agreed, i))
		return false;
	/* Else a quorum decides views that a whole log knows nothing of, one after the other, and it counts no more. */
	if (!in(r->lenders, i) && (r->lenders & (uint8_t)~r->agreed) != 0 && !breaks(w, LOGS_IN_NO_TURN))
		return false;
	if (breaks(w, NO_PROMISE))
		return s->nodes[i].disk.ballot < r->ballot;
	return s->nodes[i].disk.promise == r->ballot && s->nodes[by].follows == r->ballot;
}

static bool may_ask(const struct world *w, const struct state *s, int i, bool calm)
{
	const struct node *n = &s->nodes[i];
	bool has_room = s->rounds[0].ballot == 0; /* they are in the order of ballots */

	for (int k = 0; k < ROUNDS; k++)
		has_room = has_room || (s->rounds[k].ballot != 0 && s->rounds[k].owner == i);
	return n->status == SEEKING && n->holder == 0 && !is_blank(&n->disk) && has_room && !holds_on(w, s, i) &&
	       s->ballots < w->rounds + (calm ? 4 * NODES : 0);
}

static void append_locks(const struct world *w, const struct state *s, int i, struct steps *steps)
{
	bool may = !is_blank(&s->nodes[i].disk) && may_speak(w, s, i);

	for (int k = 0; k < w->nodes; k++) {
		const struct node *n = &s->nodes[k];

		append(steps, may && n->status == DOWN && n->holder == 0 && !is_blank(&n->disk), LOCK, i, k);
		append(steps, !may && n->holder == i + 1, RELEASE, i, k);
	}
}

static void append_restart(const struct world *w, const struct state *s, bool calm, struct steps *steps)
{
	struct round out;

	for (int k = 0; k < ROUNDS; k++) {
		const struct round *r = &s->rounds[k];

		for (int i = 0; i < w->nodes && r->ballot != 0; i++) {
			append(steps, may_promise(w, s, r, i), PROMISE, i, k);
			append(steps, may_agree(w, s, r, i), AGREE, i, k);
			append(steps, may_begin(w, s, r, i), BEGIN, i, k);
		}
		append(steps,
		       r->ballot != 0 && r->decision == UNDECIDED && hears_stale(w, r) && may_ask(w, s, r->owner, calm),
		       ASK_ANEW, r->owner, 0);
		append(steps, r->ballot != 0 && r->decision == UNDECIDED && decide(w, s, r, &out) != UNDECIDED, DECIDE,
		       r->owner, k);
	}
	for (int i = 0; i < w->nodes; i++) {
		append(steps, may_ask(w, s, i, calm), ASK, i, 0);
		append(steps, may_mend(w, s, i) >= 0, MEND, i, 0);
		if (w->one_host && s->nodes[i].status == SEEKING && s->nodes[i].holder == 0)
			append_locks(w, s, i, steps);
	}
}

/* It gives what it has before it goes. */
static bool leaves_a_log(const struct world *w, const struct state *s, int i)
{
	uint8_t others = shard_members(w, living(w, s), shard_of(w, i)) & (uint8_t) ~(1 << i);

	return has_whole_log(w, s, others);
}

static void append_faults(const struct world *w, const struct state *s, int i, struct steps *steps)
{
	const struct node *n = &s->nodes[i];
	const struct disk *d = &n->disk;
	bool is_down = n->status == DOWN, may_leave = w->leaves && is_up_to_date(s, i) && s->now.members != 1 << i;

	append(steps, !is_down && s->crashes < w->crashes, CRASH, i, 0);
	append(steps, is_down && n->holder == 0 && (d->length > d->synced || (d->flags & LOOSE) != 0), OFF, i, 0);
	append(steps, is_down && n->holder == 0 && !is_blank(d) && s->lost < w->lost, LOSE, i, 0);
	append(steps, is_down && n->holder == 0 && d->length > 0 && (d->flags & ROTTEN) == 0 && s->rot < w->rot, ROT, i,
	       0);
	append(steps,
	       may_leave && (!in(s->wedged, i) || breaks(w, LEAVES_WEDGED)) && (d->flags & LEFT) == 0 &&
		       leaves_a_log(w, s, i) && !breaks(w, LEAVES_UNMARKED),
	       LEAVE_MARK, i, 0);
	append(steps, may_leave && ((d->flags & LEFT) != 0 || breaks(w, LEAVES_UNMARKED)), LEAVE, i, 0);
	append(steps, may_send(w, s, i), SEND, i, 0);
}

static void append_own(const struct world *w, const struct state *s, int i, bool calm, struct steps *steps)
{
	const struct node *n = &s->nodes[i];

	append(steps, n->status == DOWN && (n->holder == 0 || !w->absent), START, i, 0);
	append(steps, n->status == FORMING && n->row == 0, FORM_WRITE, i, 0);
	append(steps,
	       n->status == FORMING && n->row != 0 && s->now.group <= n->view.group &&
		       (s->now.group < n->view.group || s->now.number == 1) &&
		       (all_formed(s, &n->view) || has_begun(s, &n->view)),
	       BEGIN_FIRST, i, 0);
	append(steps, may_drop(w, s, i), DROP, i, 0);
	append(steps, may_come(w, s, i, calm), COME, i, 0);
	append(steps,
	       n->status == THERE && in(s->now.members, i) && n->view.number + 1 == s->now.number && living(w, s) != 0,
	       ENTER, i, 0);
	append(steps, may_write(w, s, i), WRITE, i, 0);
	append(steps, n->status == MEMBER && n->disk.synced < n->disk.length, SYNC, i, 0);
	append(steps, may_echo(w, s, i), ECHO, i, 0);
	append(steps, n->owes != 0 && is_up_to_date(s, i), ECHO_LATE, i, 0);
	append(steps, may_install(w, s, i), INSTALL, i, 0);
	append(steps, may_mark(w, s, i), MARK, i, 0);
}

int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out)
{
	struct steps steps = {out, 0};
	uint8_t formers;
	bool is_up = false;

	append(&steps, s->groups < w->groups + (calm ? 2 : 0) && may_form(w, s, &formers), FORM, 0, 0);
	for (int i = 0; i < w->nodes; i++) {
		append_own(w, s, i, calm, &steps);
		is_up = is_up || s->nodes[i].status != DOWN;
	}
	append_restart(w, s, calm, &steps);
	append_changes(w, s, calm, &steps);
	if (calm)
		return steps.count;
	for (int i = 0; i < w->nodes; i++)
		append_faults(w, s, i, &steps);
	append(&steps, is_up && s->cuts < w->cuts, POWER, 0, 0);
	return steps.count;
}

/* ---- what each does ------------------------------------------------------------------------------------------------ */

static void end_life(const struct world *w, struct state *s, int i, bool is_remembered)
{
	struct node *n = &s->nodes[i];

	if (!is_remembered) {
		memset(&n->view, 0, sizeof(n->view));
		n->row = n->said = 0;
	}
	if (n->status != MEMBER)
		memset(&n->view, 0, sizeof(n->view));
	n->status = DOWN;
	n->follows = n->owes = 0;
	for (int k = 0; k < w->nodes; k++)
		if (s->nodes[k].holder == i + 1)
			s->nodes[k].holder = 0;
	for (int k = 0; k < w->shards; k++)
		for (int m = 1; m <= LENGTH; m++)
			if (s->sender[k][m] == i + 1)
				s->sender[k][m] = 0;
}

static void sync_log(const struct world *w, struct disk *d)
{
	if (!breaks(w, START_SYNCS_NOT))
		d->synced = d->length;
}

static void start(const struct world *w, struct state *s, int i)
{
	struct node *n = &s->nodes[i];

	memset(&n->view, 0, sizeof(n->view));
	n->row = n->said = 0;
	n->status = SEEKING;
	n->holder = 0;
	sync_log(w, &n->disk);
	if (breaks(w, PROMISE_FORGOTTEN))
		n->disk.promise = n->disk.ballot >= FIRST_RESTART ? n->disk.ballot : 0;
}

static void form(const struct world *w, struct state *s)
{
	struct view view = {.number = 1, .group = ++s->groups};

	(void)may_form(w, s, &view.members);
	for (int i = 0; i < w->nodes; i++)
		if (in(view.members, i)) {
			s->nodes[i].status = FORMING;
			s->nodes[i].view = view;
			s->nodes[i].row = s->nodes[i].follows = 0;
		}
}

static void form_write(const struct world *w, struct node *n)
{
	memset(&n->disk, 0, sizeof(n->disk));
	n->disk.base = n->view;
	n->disk.flags = WHOLE | FIRST | (breaks(w, IDENTITY_UNSYNCED) ? LOOSE : 0);
	n->row = 1;
}

static const char *begin_first(const struct world *w, struct state *s, int i)
{
	uint8_t nothing[SHARDS][LENGTH] = {{0}};
	const struct view view = s->nodes[i].view;
	const char *wrong = is_same(&s->now, &view) ? NULL : begin_view(w, s, &view, &view, nothing);

	return wrong != NULL ? wrong : enter(w, s, i);
}

static void send(const struct world *w, struct state *s, int i)
{
	int k = shard_of(w, i);
	uint8_t message = ++s->messages[k];

	s->order[k][s->sent[k]++] = message;
	s->sender[k][message] = (uint8_t)(i + 1);
}

static void say_persisted(const struct world *w, struct node *n, int i)
{
	n->said = breaks(w, FRONTIER_BEFORE_SYNC) ? received(w, n, i) : persisted(w, n, i);
}

static void write_log(const struct world *w, struct state *s, int i)
{
	struct node *n = &s->nodes[i];
	int k = shard_of(w, i);

	enter_view(w, &n->disk, &s->now, i);
	n->disk.flags &= (uint8_t)~FIRST;
	n->disk.log[n->disk.length] = s->order[k][n->disk.length];
	n->disk.length++;
	say_persisted(w, n, i);
}

/* No member can have delivered more than the least that its survivors have persisted, and all of them have that on disk already. */
static uint8_t has_for_cut(const struct world *w, const struct node *n, int i)
{
	return breaks(w, CUT_OF_RECEIVED) || breaks(w, CUT_IS_AWAITED) ? received(w, n, i) : n->said;
}

static void change(const struct world *w, struct state *s, uint8_t set, int other)
{
	int newcomer = other & 7;
	uint8_t out = (uint8_t)(other >> 3 & 15);
	bool is_agreed = false;

	for (int i = 0; i < w->nodes; i++)
		if (in(set | (dead(w, s) & s->trusted), i) && is_same(&s->nodes[i].view, &s->now) &&
		    s->nodes[i].row != 0)
			is_agreed = true;
	s->trusted = set;
	s->wedged |= set; /* for good */
	s->ballot++;
	if (is_agreed)
		return; /* it is adopted */
	s->next = (struct view){.number = (uint8_t)(s->now.number + 1), .group = s->now.group, .members = set};
	if (newcomer > 0)
		s->next.members |= (uint8_t)(1 << (newcomer - 1));
	s->next.out = (other >> 7 != 0 ? 0 : out != 0 ? out : s->now.out) & set;
	for (int k = 0; k < w->shards; k++) {
		uint8_t cut = LENGTH, members = shard_in(w, &s->now, k) & set;

		for (int i = 0; i < w->nodes; i++)
			if (in(members, i) && has_for_cut(w, &s->nodes[i], i) < cut)
				cut = has_for_cut(w, &s->nodes[i], i);
		s->next.start[k] = members != 0 ? cut : s->now.start[k];
	}
}

static void record_echo(const struct world *w, struct state *s, int i)
{
	struct node *n = &s->nodes[i];

	enter_view(w, &n->disk, &s->now, i);
	n->disk.flags &= (uint8_t)~FIRST;
	n->disk.next = s->next;
	n->disk.ballot = s->ballot;
	n->owes = 0;
}

static void echo(const struct world *w, struct state *s, int i)
{
	s->nodes[i].owes = breaks(w, ECHO_BEFORE_RECORD);
	if (!breaks(w, ECHO_BEFORE_RECORD))
		record_echo(w, s, i);
	s->nodes[i].row = s->ballot;
}

/* What lies behind the cut is sent again by those that have sent it. */
static void send_again(const struct world *w, struct state *s, const struct state *before)
{
	for (int k = 0; k < w->shards; k++)
		for (int at = s->now.start[k]; at < before->sent[k]; at++) {
			uint8_t sender = before->sender[k][before->order[k][at]];

			if (sender != 0 && in(s->now.members, sender - 1) && s->nodes[sender - 1].status == MEMBER)
				s->order[k][s->sent[k]++] = before->order[k][at];
		}
}

static const char *install(const struct world *w, struct state *s, int i)
{
	const char *wrong = NULL;

	if (is_up_to_date(s, i)) {
		struct state before = *s;

		wrong = begin_view(w, s, &before.now, &before.next, before.order);
		send_again(w, s, &before);
	}
	return wrong != NULL ? wrong : enter(w, s, i);
}

static void come(const struct world *w, struct state *s, int i)
{
	struct node *n = &s->nodes[i];

	n->status = THERE;
	n->view = s->now;
	n->follows = n->row = 0;
	if (breaks(w, THERE_UNWRITTEN))
		return;
	n->disk.base = s->now;
	memset(&n->disk.next, 0, sizeof(n->disk.next));
	n->disk.ballot = 0;
	n->disk.flags &= (uint8_t) ~(WHOLE | FIRST | LEFT);
}

static void mark(const struct world *w, struct state *s, int i)
{
	struct disk *d = &s->nodes[i].disk;
	int k = shard_of(w, i);
	uint8_t start = s->now.start[k];

	enter_view(w, d, &s->now, i);
	memcpy(d->log, s->order[k], start);
	d->synced = d->synced < start ? start : d->synced;
	d->flags = (uint8_t)((d->flags | WHOLE) & ~ROTTEN);
}

static void leave(const struct world *w, struct state *s, int i)
{
	end_life(w, s, i, true);
	s->left |= (uint8_t)(1 << i);
}

static void mark_leave(const struct world *w, struct state *s, int i)
{
	struct node *n = &s->nodes[i];

	enter_view(w, &n->disk, &s->now, i);
	n->disk.synced = n->disk.length;
	say_persisted(w, n, i);
	n->disk.flags = (uint8_t)((n->disk.flags | LEFT) & ~FIRST);
}

static void promise(struct state *s, struct round *r, int i)
{
	int by = speaker(s, i);

	s->nodes[i].disk.promise = r->ballot;
	s->nodes[by].follows = r->ballot;
	s->nodes[i].row = 0;
	r->heard |= (uint8_t)(1 << i);
	r->reports[i] = s->nodes[i].disk;
}

/* Its own disk is the first that answers. */
static void ask(const struct world *w, struct state *s, int i)
{
	uint8_t known = s->nodes[i].disk.base.number;
	int slot = 0;

	for (int k = 0; k < ROUNDS; k++)
		if (s->rounds[k].ballot != 0 && s->rounds[k].owner == i)
			slot = k;
	if (s->rounds[slot].ballot != 0 && s->rounds[slot].decision == UNDECIDED)
		known = newest_heard(w, &s->rounds[slot]).number;
	memset(&s->rounds[slot], 0, sizeof(s->rounds[slot]));
	s->rounds[slot].known = known;
	s->rounds[slot].ballot = (uint8_t)(FIRST_RESTART + s->ballots++);
	s->rounds[slot].owner = (uint8_t)i;
	promise(s, &s->rounds[slot], i);
}

/* What the disk says from then on, of a view that has been decided and the one after. */
static void record_agreement(const struct world *w, struct disk *d, const struct round *r, int i)
{
	bool is_whole = (d->flags & WHOLE) != 0 && in(r->base.members & (uint8_t)~r->base.out, i) &&
			(reaches(w, d, &r->base, shard_of(w, i)) || breaks(w, SHORT_COUNTS));
	uint8_t left = is_same(&d->base, &r->base) ? d->flags & LEFT : 0;

	enter_view(w, d, &r->base, i);
	d->next = r->next;
	d->ballot = r->ballot;
	d->flags = (uint8_t)((is_whole ? WHOLE : 0) | (d->flags & (ROTTEN | LOOSE)) | left);
}

static void agree(const struct world *w, struct state *s, struct round *r, int i)
{
	struct node *n = &s->nodes[i];
	struct disk *d = &n->disk;

	r->agreed |= (uint8_t)(1 << i);
	n->row = n->holder != 0 ? 0 : r->ballot;
	if (n->holder != 0 && breaks(w, SPEAKS_UNWRITTEN))
		return;
	record_agreement(w, d, r, i);
	if (r->decision != DECIDES || !in(r->next.members, i))
		return;
	d->flags &= (uint8_t)~LEFT;
	if ((d->flags & ROTTEN) != 0)
		d->flags &= (uint8_t) ~(WHOLE | ROTTEN); /* it is given the state as a newcomer is */
}

/* It copies that log; and only then it says what its disk has, again in a round that it has promised to. */
static void mend(const struct world *w, struct state *s, int i)
{
	struct disk *d = &s->nodes[i].disk;
	const struct disk *from = &s->nodes[may_mend(w, s, i)].disk;

	memcpy(d->log, from->log, sizeof(d->log));
	d->length = d->synced = from->synced;
	d->flags = (uint8_t)((d->flags | WHOLE) & ~(ROTTEN | FIRST));
	for (int k = 0; k < ROUNDS; k++)
		if (s->rounds[k].ballot != 0 && s->rounds[k].decision == UNDECIDED && in(s->rounds[k].heard, i) &&
		    d->promise == s->rounds[k].ballot)
			s->rounds[k].reports[i] = *d;
}

static const char *begin_again(const struct world *w, struct state *s, struct round *r, int i)
{
	const char *wrong = NULL;
	struct view next = r->next, base = r->base;

	if (!is_same(&s->now, &next)) {
		if (!is_enough(w, s, r) && !breaks(w, BEGINS_ALONE))
			return ALONE;
		if (s->now.number != 0 && is_quorum(w, living(w, s), s->now.members, s->left | dead(w, s)) &&
		    living(w, s) != 0)
			return FORK;
		wrong = begin_view(w, s, &base, &next, r->log);
	}
	return wrong != NULL ? wrong : enter(w, s, i);
}

void lose_power(const struct world *w, struct state *s)
{
	for (int i = 0; i < w->nodes; i++) {
		end_life(w, s, i, false);
		lose_tail(&s->nodes[i].disk);
		if ((s->nodes[i].disk.flags & LOOSE) != 0)
			memset(&s->nodes[i].disk, 0, sizeof(s->nodes[i].disk));
	}
	tidy(w, s);
}

static void take_fault(const struct world *w, struct state *s, struct step step)
{
	struct node *n = &s->nodes[step.node];

	switch ((enum step_kind)step.kind) {
	case CRASH:
		s->crashes++;
		end_life(w, s, step.node, true);
		break;
	case POWER:
		s->cuts++;
		for (int i = 0; i < w->nodes; i++)
			end_life(w, s, i, false);
		break;
	case OFF:
		lose_tail(&n->disk);
		if ((n->disk.flags & LOOSE) != 0)
			memset(&n->disk, 0, sizeof(n->disk));
		break;
	case LOSE:
		s->lost++;
		memset(&n->disk, 0, sizeof(n->disk));
		break;
	default: /* ROT */
		s->rot++;
		n->disk.flags |= ROTTEN;
		break;
	}
}

/* What some member has begun may lose its quorum to a crash, not to another round. (Where a round is broken otherwise worse is looked for.) */
static bool is_left_alone(const struct world *w, const struct state *before, const struct state *after)
{
	if (breaks(w, NO_PROMISE) || breaks(w, PROMISE_FORGOTTEN) || breaks(w, BEGINS_ALONE))
		return false;
	for (int k = 0; k < ROUNDS; k++) {
		const struct round *r = &before->rounds[k];

		/* What a round has taken up begins by no round: it has begun as members install a view. */
		if (r->decision == DECIDES && is_same(&r->next, &before->now) && has_begun(before, &r->next) &&
		    is_enough(w, before, r) && !is_enough(w, after, r))
			return true;
	}
	return false;
}

/* What a restart does; of a round. */
static const char *take_round(const struct world *w, struct state *s, struct step step)
{
	struct round *r = &s->rounds[step.other % ROUNDS], out;
	const struct state before = *s;
	const char *wrong = NULL;

	switch ((enum step_kind)step.kind) {
	case PROMISE:
		promise(s, r, step.node);
		break;
	case DECIDE:
		out.decision = (uint8_t)decide(w, s, r, &out);
		*r = out;
		break;
	case AGREE:
		agree(w, s, r, step.node);
		break;
	case MEND:
		mend(w, s, step.node);
		break;
	case ASK_ANEW:
	case ASK:
		ask(w, s, step.node);
		break;
	case LOCK:
		s->nodes[step.other].holder = (uint8_t)(step.node + 1);
		sync_log(w, &s->nodes[step.other].disk);
		break;
	case RELEASE:
		s->nodes[step.other].holder = 0;
		break;
	default: /* BEGIN */
		wrong = begin_again(w, s, r, step.node);
		break;
	}
	return wrong == NULL && is_left_alone(w, &before, s) ? ALONE : wrong;
}

static const char *take_own(const struct world *w, struct state *s, struct step step)
{
	struct node *n = &s->nodes[step.node];
	const char *wrong = NULL;

	switch ((enum step_kind)step.kind) {
	case BEGIN_FIRST:
		wrong = begin_first(w, s, step.node);
		break;
	case FORM_WRITE:
		form_write(w, n);
		break;
	case FORM:
		form(w, s);
		break;
	case INSTALL:
		wrong = install(w, s, step.node);
		break;
	case ENTER:
		wrong = enter(w, s, step.node);
		break;
	case WRITE:
		write_log(w, s, step.node);
		break;
	case SYNC:
		n->disk.synced = n->disk.length;
		if (!in(s->wedged, step.node) || breaks(w, WEDGED_COUNTS))
			say_persisted(w, n, step.node);
		break;
	case ECHO:
		echo(w, s, step.node);
		break;
	case ECHO_LATE:
		record_echo(w, s, step.node);
		break;
	case MARK:
		mark(w, s, step.node);
		break;
	case COME:
		come(w, s, step.node);
		break;
	case DROP:
		n->status = SEEKING;
		memset(&n->view, 0, sizeof(n->view));
		n->row = 0;
		break;
	case START:
		start(w, s, step.node);
		break;
	case SEND:
		send(w, s, step.node);
		break;
	case LEAVE_MARK:
		mark_leave(w, s, step.node);
		break;
	default: /* LEAVE */
		leave(w, s, step.node);
		break;
	}
	return wrong;
}

const char *take(const struct world *w, struct state *s, struct step step)
{
	const char *wrong = NULL;

	switch ((enum step_kind)step.kind) {
	case CRASH:
	case POWER:
	case OFF:
	case LOSE:
	case ROT:
		take_fault(w, s, step);
		break;
	case PROMISE:
	case DECIDE:
	case AGREE:
	case ASK_ANEW:
	case ASK:
	case LOCK:
	case RELEASE:
	case MEND:
	case BEGIN:
		wrong = take_round(w, s, step);
		break;
	case CHANGE:
		change(w, s, step.node, step.other);
		break;
	default:
		wrong = take_own(w, s, step);
		break;
	}
	if (wrong == NULL)
		wrong = deliver_what_may_be(w, s);
	tidy(w, s);
	return wrong;
}

bool is_whole(const struct world *w, const struct state *s)
{
	uint8_t all = (uint8_t)((1 << w->nodes) - 1);

	if (s->now.members != all || s->now.out != 0 || living(w, s) != all || s->trusted != 0)
		return false;
	for (int i = 0; i < w->nodes; i++)
		if ((s->nodes[i].disk.flags & WHOLE) == 0)
			return false;
	return true;
}

/* ---- as text ------------------------------------------------------------------------------------------------------- */

static void print_view(const struct view *v)
{
	if (v->number == 0)
		printf("-");
	else
		printf("%d.%d{%x-%x}@%d,%d", v->group, v->number, v->members, v->out, v->start[0], v->start[1]);
}

void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const names[STEP_KINDS] = {
		"begins the first view",
		"has the first view on disk, and is there",
		"form a group",
		"begins what the round decided",
		"agrees to what the round decided",
		"promises, and reports",
		"decides the round",
		"copies a whole log",
		"locks the log of",
		"lets go of the log of",
		"installs",
		"enters",
		"writes",
		"syncs",
		"agrees",
		"has on disk what it has agreed to",
		"has the state, and marks its log whole",
		"is there to come in",
		"a change of the view by",
		"drops it",
		"is started",
		"asks anew",
		"asks",
		"sends",
		"marks its log as left",
		"leaves",
		"crashes",
		"the power goes",
		"its host loses what was not synced",
		"loses its disk",
		"its log rots",
	};

	printf("      %d %s", step.node, names[step.kind]);
	if (step.kind == CHANGE || step.kind == LOCK || step.kind == RELEASE || step.kind == PROMISE ||
	    step.kind == AGREE)
		printf(" %d", step.other);
	printf("\n");
	(void)w;
	(void)s;
}

void print_state(const struct world *w, const struct state *s)
{
	static const char *const statuses[] = {"down", "seeks", "forms", "there", "member"};

	printf("        now ");
	print_view(&s->now);
	printf(" next ");
	print_view(&s->next);
	printf(" sent %d delivered %d\n", s->sent[0], s->count[0]);
	for (int i = 0; i < w->nodes; i++) {
		const struct node *n = &s->nodes[i];

		printf("        %d %s in ", i, statuses[n->status]);
		print_view(&n->view);
		printf(" row %d follows %d; base ", n->row, n->follows);
		print_view(&n->disk.base);
		printf(" next ");
		print_view(&n->disk.next);
		printf(" ballot %d promise %d flags %x log %d/%d: %d%d%d\n", n->disk.ballot, n->disk.promise,
		       n->disk.flags, n->disk.synced, n->disk.length, n->disk.log[0], n->disk.log[1], n->disk.log[2]);
	}
}
