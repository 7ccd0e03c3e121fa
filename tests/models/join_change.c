/* join_change.c - from suspicion, or an invitation, to the next view, at one member. See join.h; the same rules as in
 * change_rules.c, which breaks them one by one, and what 0016 adds to them. */
#include "join.h"

#include <stddef.h>

static const struct image *image_of(const struct state *s, int i)
{
	return image_at(s, i, 0);
}

static ranks everybody(const struct state *s, int i)
{
	return (ranks)((1 << image_of(s, i)->count) - 1);
}

static int me(const struct state *s, int i)
{
	return rank_of(image_of(s, i), i);
}

static const struct row *row(const struct state *s, int i, int of)
{
	return &s->a[i].rows[0][of];
}

static const struct row *mine(const struct state *s, int i)
{
	return row(s, i, me(s, i));
}

ranks unsuspected(const struct state *s, int i)
{
	return everybody(s, i) & (ranks) ~(mine(s, i)->failed | mine(s, i)->left);
}

/* The members that it reads: those that left in order have said their last word, and it counts. */
static ranks readable(const struct state *s, int i)
{
	return everybody(s, i) & (ranks)~s->a[i].frozen[0];
}

int leader(const struct state *s, int i)
{
	return __builtin_ctz(unsuspected(s, i));
}

static bool leads(const struct state *s, int i)
{
	return leader(s, i) == me(s, i);
}

bool quorum(const struct world *w, const struct image *image, ranks votes, ranks left)
{
	int voters = does(w, VOTERS_ARE_MEMBERS) ? image->count : image->voters, all = voters - size_of(left);

	if (2 * size_of(votes) == all)
		for (int r = 0; r < image->count; r++)
			if (has(votes, r) && id_of(w, image->member[r]) == w->tie_breaker - 1)
				return true;
	return 2 * size_of(votes) > all;
}

static ranks hearsay(const struct state *s, int i)
{
	ranks set = 0;

	for (int r = 0; r < image_of(s, i)->count; r++)
		if (r != me(s, i) && has(readable(s, i), r))
			set |= row(s, i, r)->failed;
	return set;
}

static bool left_in_order(const struct state *s, int i, int r)
{
	return row(s, i, r)->gone && row(s, i, r)->failed == 0;
}

/* Whatever others say, it does not say that r failed. */
static bool spares(const struct state *s, int i, int r)
{
	return row(s, i, r)->installed || left_in_order(s, i, r) || has(mine(s, i)->left, r);
}

/* It suspects all that the members it trusts suspect, none of those suspects it, and it has said which members left. */
bool heedful(const struct world *w, const struct state *s, int i)
{
	ranks more = hearsay(s, i) & (ranks)~mine(s, i)->failed;

	(void)w;
	for (int r = 0; r < image_of(s, i)->count; r++) {
		if (spares(s, i, r))
			more &= (ranks)~only(r);
		if (has(unsuspected(s, i), r) && row(s, i, r)->gone && !row(s, i, r)->installed)
			more |= only(r);
	}
	return more == 0;
}

static bool barrier(const struct state *s, int i)
{
	ranks lower = (ranks)(only(me(s, i)) - 1);

	for (int r = 0; r < image_of(s, i)->count; r++)
		if (has(unsuspected(s, i), r) && (lower & ~(row(s, i, r)->failed | row(s, i, r)->left)) != 0)
			return false;
	return true;
}

/* The rank with the decision to adopt in its row, -1: there is none. */
static int found(const struct state *s, int i)
{
	int best = -1;

	for (int r = 0; r < image_of(s, i)->count; r++)
		if (has(readable(s, i), r) && row(s, i, r)->agreed > 0 &&
		    (best < 0 || row(s, i, r)->agreed > row(s, i, best)->agreed))
			best = r;
	return best;
}

/* The rank of a member that has installed, or -1. Nothing is said of it here, whatever becomes of it. */
static int short_cut(const struct state *s, int i)
{
	for (int r = 0; r < image_of(s, i)->count; r++)
		if (has(unsuspected(s, i), r) && row(s, i, r)->installed && row(s, i, r)->agreed > 0)
			return r;
	return -1;
}

/* That is the view that has the memory which it has acknowledged, and so final for it, whatever members accuse others. */
static bool is_final(const struct state *s, int i)
{
	int ahead = short_cut(s, i);
	const struct image *image = image_of(s, i);

	return ahead >= 0 && s->a[i].at[1] >= 0 && mine(s, i)->acknowledged == s->a[i].opened &&
	       image->decided[row(s, i, ahead)->decider - 1] == s->a[i].at[1];
}

static bool same_decision(const struct image *image, uint8_t a, uint8_t b)
{
	return image->decided[a - 1] == image->decided[b - 1] && image->decided_cut[a - 1] == image->decided_cut[b - 1];
}

/* It has agreed to a view in which a member beats that has begun it, or settled the one before: that is final. That member may
 * be gone, and the quorum with it. */
static bool is_next_beaten(const struct world *w, const struct state *s, int i)
{
	if (mine(s, i)->agreed == 0)
		return false;
	for (int r = 0; s->a[i].at[1] >= 0 && r < image_at(s, i, 1)->count; r++)
		if (image_at(s, i, 1)->member[r] != i && s->a[i].rows[1][r].beat > 1)
			return !does(w, BEATEN_UNHEARD);
	return false;
}

static bool all_equal(const struct state *s, int i)
{
	const struct row *own = mine(s, i);

	if (own->agreed == 0)
		return false;
	for (int r = 0; r < image_of(s, i)->count; r++)
		if (has(unsuspected(s, i), r) &&
		    (row(s, i, r)->agreed != own->agreed || row(s, i, r)->decider != own->decider))
			return false;
	return true;
}

/* ---- what a member does -------------------------------------------------------------------------------------------- */

uint8_t delivered(const struct state *s, int i)
{
	uint8_t least = UINT8_MAX;

	if (s->a[i].stopped)
		return s->a[i].delivered;
	for (int r = 0; r < image_of(s, i)->count; r++)
		if (row(s, i, r)->received < least)
			least = row(s, i, r)->received;
	return least;
}

void stop(struct state *s, int i)
{
	s->a[i].delivered = delivered(s, i);
	s->a[i].stopped = true;
}

/* The image that a member's proposal is about. */
static int proposed_by(const struct state *s, int i, int rank)
{
	return image_of(s, i)->proposals[rank][row(s, i, rank)->attempt];
}

static uint8_t ticket(int rank, int attempt)
{
	return (uint8_t)((rank + 1) << 4 | attempt);
}

void propose(const struct world *w, struct state *s, int i, actors newcomers, bool renews)
{
	const struct image *old = image_of(s, i);
	int attempt = mine(s, i)->attempt + 1, before = proposed_by(s, i, me(s, i)), next = NOTHING;
	actors invited = 0;

	for (int r = 0; before != NOTHING && r < s->image[before].count; r++)
		if (has(s->image[before].fresh, r))
			invited |= (actors)(1 << s->image[before].member[r]);
	if (newcomers != 0 || renews || unsuspected(s, i) != everybody(s, i)) {
		if ((next = new_image(s)) < 0)
			return;
		s->image[next].number = old->number + 1;
		s->image[next].base = s->a[i].at[0];
		s->image[next].proposer = (int8_t)me(s, i);
		s->image[next].attempt = (uint8_t)attempt;
		for (int r = 0; r < old->count; r++)
			if (has(unsuspected(s, i), r))
				s->image[next].member[s->image[next].count++] = old->member[r];
		for (int p = 0; p < ACTORS; p++)
			if (has(newcomers, p)) {
				s->image[next].fresh |= only(s->image[next].count);
				s->image[next].member[s->image[next].count++] = (uint8_t)p;
			}
		s->image[next].voters = s->image[next].count;
	}
	s->image[s->a[i].at[0]].proposals[me(s, i)][attempt] = (int8_t)next;
	publish(s, i, 0, PROPOSED, attempt, 0);
	for (int p = 0; p < ACTORS; p++) {
		if (has(newcomers, p))
			send(s, i, p, VIEW, next, 0);
		else if (has(invited, p) && !does(w, SILENT_WITHDRAWAL))
			send(s, i, p, WITHDRAWN, before, 0);
	}
}

/* Of those that it suspects, as the ranks of the image at[1]. */
static ranks carried(const struct state *s, int i, ranks set)
{
	ranks out = 0;

	for (int r = 0; r < image_of(s, i)->count; r++) {
		int rank = rank_of(image_at(s, i, 1), image_of(s, i)->member[r]);

		if (has(set, r) && rank >= 0)
			out |= only(rank);
	}
	return out;
}

static void follow(struct state *s, int i)
{
	int lead = leader(s, i), next = proposed_by(s, i, lead);

	close_image(s, i);
	s->a[i].opened = ticket(lead, row(s, i, lead)->attempt);
	if (next == NOTHING)
		return;
	open_image(s, i, next);
	s->a[i].frozen[1] = carried(s, i, s->a[i].frozen[0]);
}

static const char *agree(struct state *s, int i, int agreed, uint8_t decider)
{
	if (mine(s, i)->agreed > 0 && !same_decision(image_of(s, i), mine(s, i)->decider, decider))
		return "a row is to change the values that it has agreed to";
	if (s->a[i].at[1] != image_of(s, i)->decided[decider - 1])
		return "a member is to agree to a view and has not its memory";
	publish(s, i, 0, AGREED, agreed, decider);
	return NULL;
}

static const char *decide(struct state *s, int i)
{
	struct image *image = &s->image[s->a[i].at[0]];
	uint8_t cut = UINT8_MAX;
	int rank = me(s, i);

	for (int r = 0; r < image->count; r++)
		if (has(unsuspected(s, i), r) && row(s, i, r)->received < cut)
			cut = row(s, i, r)->received;
	image->decided[rank] = (int8_t)proposed_by(s, i, rank);
	for (int r = 0; r < s->image[image->decided[rank]].count; r++) {
		const struct image *next = &s->image[image->decided[rank]];

		if (has(next->fresh, r) && !has(next->there, next->member[r]))
			return "a view is decided with a newcomer that has not come";
	}
	if (s->image[image->decided[rank]].fresh != 0 && unsuspected(s, i) != everybody(s, i))
		return "a failed member waits for a newcomer";
	image->decided_cut[rank] = cut;
	return agree(s, i, rank + 1, (uint8_t)(rank + 1));
}

/* The decision is final, as far as it can see. */
static const char *settle(const struct world *w, struct state *s, int i)
{
	int ahead = short_cut(s, i);
	uint8_t decider = ahead >= 0 ? row(s, i, ahead)->decider : mine(s, i)->decider;
	struct image *image = &s->image[s->a[i].at[0]];
	int next = image->decided[decider - 1];

	if (ahead >= 0 && mine(s, i)->agreed > 0 && !same_decision(image, decider, mine(s, i)->decider))
		return "a member that has agreed to one decision sees another installed";
	if (image->next >= 0 && (image->next != next || image->cut != image->decided_cut[decider - 1]))
		return "two decisions are installed";
	if (rank_of(&s->image[next], i) < 0)
		return "somebody installs a view that it is not in";
	if (s->a[i].at[1] != next)
		return "somebody has not the memory of the view that it installs";
	if (mine(s, i)->received < image->decided_cut[decider - 1])
		return "somebody has not received what it is to deliver";
	image->next = (int8_t)next;
	image->cut = image->decided_cut[decider - 1];
	if (mine(s, i)->agreed == 0)
		publish(s, i, 0, AGREED, row(s, i, ahead)->agreed, decider);
	s->a[i].settled = true;
	if (!does(w, NO_BEAT) && s->a[i].rows[1][rank_of(&s->image[next], i)].beat < 2)
		publish(s, i, 1, BEAT, 2, 0);
	return use(w, s, next);
}

/* Members that were suspected, and those that it has heard have gone, are suspected in the next view from the start. */
static void install(const struct world *w, struct state *s, int i)
{
	struct actor *a = &s->a[i];
	ranks known = carried(s, i, a->frozen[0] | a->known[0]);
	int next = a->at[1], old = a->at[0];

	publish(s, i, 0, INSTALLED, 0, 0);
	s->image[old].ahead |= only(me(s, i));
	a->known[1] |= known;
	a->at[0] = (int8_t)next;
	for (int r = 0; r < MEMBERS; r++) {
		a->rows[0][r] = a->rows[1][r];
		a->seen[0][r] = a->seen[1][r];
	}
	a->frozen[0] = a->frozen[1];
	a->known[0] = a->known[1];
	close_image(s, i);
	a->settled = a->stopped = false;
	a->delivered = 0;
	a->opened = 0;
	for (int r = 0; r < s->image[next].count; r++)
		a->wants &= (actors) ~(1 << s->image[next].member[r]);
	if (a->rows[0][me(s, i)].beat < 2)
		publish(s, i, 0, BEAT, 2, 0);
	s->image[next].begun |= (actors)(1 << i);
	tell_all(w, s, i);
}

const char *take_change(const struct world *w, struct state *s, struct step step)
{
	int i = step.node, p = step.other, lead;
	struct actor *a = &s->a[i];

	switch ((enum step_kind)step.kind) {
	case SUSPECT:
		a->frozen[0] |= only(p);
		if (a->at[1] >= 0)
			a->frozen[1] = carried(s, i, a->frozen[0]);
		publish(s, i, 0, FAILED, p, 0);
		break;
	case MARK:
		publish(s, i, 0, LEFT, p, 0);
		break;
	case OUT:
		stop(s, i);
		a->status = REMOVED;
		break;
	case WEDGE:
		stop(s, i);
		publish(s, i, 0, WEDGED, 0, 0);
		break;
	case PROPOSE:
		propose(w, s, i, 0, false);
		break;
	case OPEN:
		follow(s, i);
		break;
	case ACKNOWLEDGE:
		publish(s, i, 0, ACKNOWLEDGED, a->opened, 0);
		if (does(w, BEAT_EARLY))
			publish(s, i, 1, BEAT, 2, 0);
		break;
	case DECIDE:
		return decide(s, i);
	case ADOPT:
		return agree(s, i, me(s, i) + 1, row(s, i, found(s, i))->decider);
	case ECHO:
		lead = leader(s, i);
		return agree(s, i, lead + 1, row(s, i, lead)->decider);
	case SETTLE:
		return settle(w, s, i);
	case INSTALL:
		install(w, s, i);
		break;
	default: /* RECEIVE */
		publish(s, i, 0, RECEIVED, 1, 0);
		break;
	}
	return NULL;
}

/* ---- when it does it ----------------------------------------------------------------------------------------------- */

/* It is heard no more in that image: it has ended, or has nothing to do with it. */
static bool is_silent(const struct state *s, const struct image *image, int p)
{
	const struct actor *a = &s->a[p];

	if (!alive(s, p))
		return a->status != AWAY;
	return (a->at[0] < 0 || image_at(s, p, 0) != image) && (a->at[1] < 0 || image_at(s, p, 1) != image);
}

static bool can_suspect(const struct world *w, const struct state *s, int i, int r, enum mood mood)
{
	const struct image *image = image_of(s, i);
	int p = r < image->count ? image->member[r] : i;
	ranks rest = unsuspected(s, i) & (ranks)~only(r);

	if (p == i || has(mine(s, i)->failed, r) || spares(s, i, r) ||
	    !quorum(w, image, rest, mine(s, i)->left & (ranks)~only(r)))
		return false;
	if (has(hearsay(s, i) | s->a[i].known[0], r))
		return true;
	if (row(s, i, r)->gone)
		return !left_in_order(s, i, r);
	if (has(s->a[i].gone, p) && s->a[p].status != AWAY)
		return true;
	if (is_silent(s, image, p) && !has(image->ahead, r))
		return true;
	return mood == ANY && has(w->doubters, id_of(w, i)) && has(w->doubted, id_of(w, p));
}

static bool can_mark(const struct world *w, const struct state *s, int i, int r)
{
	return r < image_of(s, i)->count && r != me(s, i) && !has(mine(s, i)->failed | mine(s, i)->left, r) &&
	       !row(s, i, r)->installed && left_in_order(s, i, r) &&
	       quorum(w, image_of(s, i), unsuspected(s, i) & (ranks)~only(r), mine(s, i)->left | only(r));
}

static bool somebody_is_suspected(const struct state *s, int i)
{
	return (mine(s, i)->failed | mine(s, i)->left) != 0;
}

static bool all_have_acknowledged(const struct state *s, int i)
{
	for (int r = 0; r < image_of(s, i)->count; r++)
		if (has(unsuspected(s, i), r) && row(s, i, r)->acknowledged != ticket(me(s, i), mine(s, i)->attempt))
			return false;
	return true;
}

static bool all_are_there(const struct world *w, const struct state *s, int i)
{
	int next = proposed_by(s, i, me(s, i));

	for (int r = 0; r < s->image[next].count; r++) {
		int p = s->image[next].member[r];

		if (has(s->image[next].fresh, r) &&
		    (does(w, THERE_NOT_KEYED) ? s->a[i].there[p] < 0 : s->a[i].there[p] != next))
			return false;
	}
	return true;
}

static bool can_wedge(const struct world *w, const struct state *s, int i)
{
	int lead = leader(s, i);

	if (mine(s, i)->wedged)
		return false;
	if (somebody_is_suspected(s, i))
		return true;
	if (lead != me(s, i))
		return row(s, i, lead)->wedged;
	return mine(s, i)->attempt > 0 && proposed_by(s, i, lead) != NOTHING &&
	       (does(w, WEDGE_BEFORE_ACK) || all_have_acknowledged(s, i)) &&
	       (does(w, WEDGE_BEFORE_THERE) || all_are_there(w, s, i)) && (does(w, HEEDLESS_WEDGE) || heedful(w, s, i));
}

/* The members that its last attempt has, as ranks of the view. */
static ranks attempted(const struct state *s, int i)
{
	int next = proposed_by(s, i, me(s, i));
	ranks set = 0;

	if (mine(s, i)->attempt == 0 || next == NOTHING)
		return everybody(s, i);
	for (int r = 0; r < image_of(s, i)->count; r++)
		if (rank_of(&s->image[next], image_of(s, i)->member[r]) >= 0)
			set |= only(r);
	return set;
}

static bool can_propose(const struct state *s, int i)
{
	return leads(s, i) && somebody_is_suspected(s, i) && barrier(s, i) && found(s, i) < 0 && short_cut(s, i) < 0 &&
	       attempted(s, i) != unsuspected(s, i) && mine(s, i)->attempt + 1 < ATTEMPTS;
}

/* What its leader proposes, if it has not acknowledged that yet; else 0. */
static uint8_t proposal(const struct state *s, int i)
{
	int lead = leader(s, i);
	uint8_t word = ticket(lead, row(s, i, lead)->attempt);

	if (row(s, i, lead)->attempt == 0 || mine(s, i)->agreed > 0 || word <= mine(s, i)->acknowledged ||
	    (lead == me(s, i) && found(s, i) >= 0))
		return 0;
	return word;
}

static bool can_decide(const struct world *w, const struct state *s, int i)
{
	if (!leads(s, i) || mine(s, i)->attempt == 0 || !barrier(s, i) || found(s, i) >= 0 ||
	    proposed_by(s, i, me(s, i)) == NOTHING || !quorum(w, image_of(s, i), unsuspected(s, i), mine(s, i)->left))
		return false;
	for (int r = 0; r < image_of(s, i)->count; r++)
		if (has(unsuspected(s, i), r) && !row(s, i, r)->wedged)
			return false;
	return attempted(s, i) == unsuspected(s, i) && all_have_acknowledged(s, i) && heedful(w, s, i);
}

bool can_change(const struct world *w, const struct state *s, struct step step, enum mood mood)
{
	int i = step.node, p = step.other, lead;
	const struct actor *a = &s->a[i];

	if (a->status != MEMBER)
		return false;
	if (a->settled) /* nothing is left but to go on */
		return step.kind == INSTALL;
	switch ((enum step_kind)step.kind) {
	case SUSPECT:
		return can_suspect(w, s, i, p, mood);
	case MARK:
		return can_mark(w, s, i, p);
	case OUT:
		return has(hearsay(s, i), me(s, i));
	case WEDGE:
		return can_wedge(w, s, i);
	case PROPOSE:
		return can_propose(s, i);
	case OPEN:
		return proposal(s, i) > 0 && a->opened != proposal(s, i) && heedful(w, s, i);
	case ACKNOWLEDGE:
		return proposal(s, i) > 0 && a->opened == proposal(s, i) && a->at[1] >= 0 && a->ready &&
		       heedful(w, s, i);
	case DECIDE:
		return can_decide(w, s, i);
	case ADOPT:
		return leads(s, i) && mine(s, i)->agreed < me(s, i) + 1 && barrier(s, i) && found(s, i) >= 0 &&
		       heedful(w, s, i);
	case ECHO:
		lead = leader(s, i);
		return lead != me(s, i) && mine(s, i)->agreed < lead + 1 && row(s, i, lead)->agreed == lead + 1 &&
		       heedful(w, s, i);
	case SETTLE:
		return is_final(s, i) || is_next_beaten(w, s, i) ||
		       (((all_equal(s, i) && quorum(w, image_of(s, i), unsuspected(s, i), mine(s, i)->left)) ||
			 short_cut(s, i) >= 0) &&
			heedful(w, s, i));
	case RECEIVE:
		return mood == ANY && w->traffic && mine(s, i)->received == 0 && !mine(s, i)->wedged;
	default:
		return false;
	}
}

/* All members that `i` does not suspect are there, none of them suspects another, and all know that they are a quorum. */
bool united(const struct world *w, const struct state *s, int i)
{
	const struct image *image = image_of(s, i);
	ranks all = unsuspected(s, i);

	for (int r = 0; r < image->count; r++) {
		int p = image->member[r];

		if (!has(all, r))
			continue;
		if (s->a[p].status != MEMBER || s->a[p].at[0] != s->a[i].at[0])
			return false;
		if (((mine(s, p)->failed | mine(s, p)->left) & all) != 0 || !quorum(w, image, all, mine(s, p)->left))
			return false;
	}
	return true;
}
