/* change_rules.c - the steps of a member, and what must be true after each. See change.h. */
#include "change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sets.h"

static members everybody(const struct world *w)
{
	return (members)((1 << w->count) - 1);
}

/* ---- what a member knows ------------------------------------------------------------------------------------------- */

static const struct row *row(const struct state *s, int i, int of)
{
	return &s->m[i].rows[of];
}

static members unsuspected(const struct world *w, const struct state *s, int i)
{
	return everybody(w) & (members) ~(s->m[i].frozen | row(s, i, i)->left);
}

/* The members that it reads: those that left in order have said their last word, and it counts. */
static members readable(const struct world *w, const struct state *s, int i)
{
	return everybody(w) & (members)~s->m[i].frozen;
}

static int leader(const struct world *w, const struct state *s, int i)
{
	return __builtin_ctz(unsuspected(w, s, i));
}

static bool quorum(const struct world *w, members votes, members left)
{
	int all = size_of(everybody(w) & (members)~left);

	if (2 * size_of(votes) == all)
		return w->tie_breaker >= 0 && has(votes, w->tie_breaker);
	return 2 * size_of(votes) > all;
}

/* The members with suspicions that it shares. */
static members trusted(const struct world *w, const struct state *s, int i)
{
	if (w->mutations & SUSPECTS_ARE_READ)
		return everybody(w);
	return w->mutations & LEFT_NOT_HEARD ? unsuspected(w, s, i) : readable(w, s, i);
}

static members hearsay(const struct world *w, const struct state *s, int i)
{
	members set = 0;

	for (int j = 0; j < w->count; j++)
		if (j != i && has(trusted(w, s, i), j))
			set |= row(s, i, j)->failed;
	return set;
}

/* It has read all of p's words, which name no member. */
static bool left_in_order(const struct world *w, const struct state *s, int i, int p)
{
	return row(s, i, p)->gone && (row(s, i, p)->failed == 0 || (w->mutations & LEFT_THOUGH_SUSPECTING));
}

/* Whatever others say, it does not say that p failed: p has installed, and whatever happened to it later is of the next view;
 * or p left in order. */
static bool spares(const struct world *w, const struct state *s, int i, int p)
{
	return (row(s, i, p)->installed && !(w->mutations & INSTALLED_SUSPECTED)) ||
	       ((left_in_order(w, s, i, p) || has(row(s, i, i)->left, p)) && !(w->mutations & LEFT_MADE_FAILED));
}

/* It suspects all that the members it trusts suspect, none of those suspects it, and it has said which members left. */
static bool heedful(const struct world *w, const struct state *s, int i, uint32_t unless)
{
	members more = hearsay(w, s, i) & (members)~s->m[i].frozen;

	for (int p = 0; p < w->count; p++) {
		const struct row *r = row(s, i, p);

		if (spares(w, s, i, p))
			more &= (members)~only(p);
		if (has(unsuspected(w, s, i), p) && r->gone && (!r->installed || (w->mutations & INSTALLED_SUSPECTED)))
			more |= only(p);
	}
	if (has(more, i) && !(w->mutations & unless & REMOVED_NOT_LOOKED))
		return false;
	return (more & (members)~only(i)) == 0 || (w->mutations & unless & HEEDLESS);
}

static bool barrier(const struct world *w, const struct state *s, int i)
{
	members lower = only(i) - 1;

	if (w->mutations & NO_BARRIER)
		return true;
	for (int j = 0; j < w->count; j++)
		if (has(unsuspected(w, s, i), j) && (lower & ~(row(s, i, j)->failed | row(s, i, j)->left)) != 0)
			return false;
	return true;
}

/* The member with the decision to adopt in its row, -1: there is none. */
static int found(const struct world *w, const struct state *s, int i)
{
	members look = w->mutations & LEFT_NOT_ADOPTED ? unsuspected(w, s, i) : readable(w, s, i);
	int best = -1;

	if (w->mutations & ALWAYS_AFRESH)
		return row(s, i, i)->agreed > 0 ? i : -1;
	for (int j = 0; j < w->count; j++) {
		if (!has(look, j) || row(s, i, j)->agreed == 0)
			continue;
		if (best < 0 || ((w->mutations & LOWEST_ADOPTED) ? row(s, i, j)->agreed < row(s, i, best)->agreed
								 : row(s, i, j)->agreed > row(s, i, best)->agreed))
			best = j;
	}
	return best;
}

/* A member that has installed, or -1. Nothing is said of it here, whatever becomes of it, so it is among these. */
static int short_cut(const struct world *w, const struct state *s, int i)
{
	if (w->mutations & NO_SHORT_CUT)
		return -1;
	for (int j = 0; j < w->count; j++)
		if (has(unsuspected(w, s, i), j) && row(s, i, j)->installed && row(s, i, j)->agreed > 0)
			return j;
	return -1;
}

static bool all_equal(const struct world *w, const struct state *s, int i)
{
	const struct row *mine = row(s, i, i);

	if (mine->agreed == 0)
		return false;
	for (int j = 0; j < w->count; j++) {
		const struct row *r = row(s, i, j);

		if (!has(unsuspected(w, s, i), j))
			continue;
		if (r->agreed == 0)
			return false;
		if (w->mutations & ECHO_IS_A_FLAG)
			continue;
		if (r->decider != mine->decider)
			return false;
		if (r->agreed != mine->agreed && !(w->mutations & RANKS_MAY_DIFFER))
			return false;
	}
	return true;
}

/* ---- what a member does -------------------------------------------------------------------------------------------- */

static void apply(struct row *r, struct message message)
{
	switch ((enum what)message.what) {
	case RECEIVED:
		r->received++;
		break;
	case FAILED:
		r->failed |= only(message.a);
		break;
	case LEFT:
		r->left |= only(message.a);
		break;
	case WEDGED:
		r->wedged = true;
		break;
	case PROPOSED:
		r->attempt = message.a;
		break;
	case ACKNOWLEDGED:
		r->acknowledged = message.a;
		break;
	case AGREED:
		r->agreed = message.a;
		r->decider = message.b;
		break;
	case INSTALLED:
		r->installed = true;
		break;
	default: /* GONE */
		r->gone = true;
		break;
	}
}

static void publish(struct state *s, int i, enum what what, int a, int b)
{
	struct member *m = &s->m[i];
	struct message message = {(uint8_t)what, (uint8_t)a, (uint8_t)b};

	if (m->published == LOG)
		abort();
	m->log[m->published++] = message;
	apply(&m->rows[i], message);
}

/* Up to where it may have delivered in the old view. */
static uint8_t delivered(const struct world *w, const struct state *s, int i)
{
	uint8_t least = UINT8_MAX;

	if (s->m[i].stopped)
		return s->m[i].delivered;
	for (int j = 0; j < w->count; j++)
		if (row(s, i, j)->received < least)
			least = row(s, i, j)->received;
	return least;
}

static void stop(const struct world *w, struct state *s, int i)
{
	s->m[i].delivered = delivered(w, s, i);
	s->m[i].stopped = true;
}

static bool same_decision(const struct state *s, uint8_t a, uint8_t b)
{
	const struct member *x = &s->m[a - 1], *y = &s->m[b - 1];

	return x->decision_members == y->decision_members && x->decision_cut == y->decision_cut &&
	       x->decision_image == y->decision_image && x->decision_serves == y->decision_serves;
}

static const char *agree(struct state *s, int i, int agreed, uint8_t decider)
{
	const struct row *mine = row(s, i, i);

	if (mine->agreed > 0 && !same_decision(s, mine->decider, decider))
		return "a row is to change the values that it has agreed to";
	if (s->m[i].opened != s->m[decider - 1].decision_image)
		return "a member is to agree to a view and has not its memory";
	publish(s, i, AGREED, agreed, decider);
	return wrong_to_follow(s, i, decider - 1);
}

static void decide(const struct world *w, struct state *s, int i)
{
	struct member *m = &s->m[i];
	uint8_t cut = UINT8_MAX;

	for (int j = 0; j < w->count; j++)
		if (has(unsuspected(w, s, i), j) && row(s, i, j)->received < cut)
			cut = row(s, i, j)->received;
	m->decision_members = m->proposals[row(s, i, i)->attempt];
	m->decision_cut = cut;
	m->decision_serves = m->proposal_serves[row(s, i, i)->attempt];
	m->decision_image = (uint8_t)((i + 1) << 4 | row(s, i, i)->attempt);
	publish(s, i, AGREED, i + 1, i + 1);
}

static const char *install(const struct world *w, struct state *s, int i)
{
	int ahead = short_cut(w, s, i);
	uint8_t decider = ahead >= 0 ? row(s, i, ahead)->decider : row(s, i, i)->decider;
	const struct member *d = &s->m[decider - 1];

	if (ahead >= 0 && row(s, i, i)->agreed > 0 && !same_decision(s, decider, row(s, i, i)->decider))
		return "a member that has agreed to one decision sees another installed";
	if (s->installed > 0 && !same_decision(s, s->installed, decider))
		return "two decisions are installed";
	if (!has(d->decision_members, i))
		return "somebody installs a view that it is not in";
	if (ahead < 0 && !quorum(w, unsuspected(w, s, i), row(s, i, i)->left))
		return "somebody installs without a quorum";
	if (s->m[i].opened != d->decision_image)
		return "somebody has not the memory of the view that it installs";
	if (row(s, i, i)->received < d->decision_cut)
		return "somebody has not received what it is to deliver";
	if (wrong_to_follow(s, i, decider - 1) != NULL)
		return wrong_to_follow(s, i, decider - 1);
	s->installed = decider;
	if (row(s, i, i)->agreed == 0 && !(w->mutations & SILENT_SHORT_CUT))
		publish(s, i, AGREED, row(s, i, ahead)->agreed, decider);
	publish(s, i, INSTALLED, 0, 0);
	s->m[i].status = DONE;
	stop(w, s, i);
	return NULL;
}

/* Failures first: what leaves a member out carries no wishes. */
static served serves_next(const struct world *w, const struct state *s, int i)
{
	if (unsuspected(w, s, i) != everybody(w) && !(w->wish_mutations & LEAVES_OUT))
		return 0;
	return wishes_known(w, s, i);
}

const char *take(const struct world *w, struct state *s, struct step step)
{
	int i = step.node, p = step.other, lead, from;
	struct member *m = &s->m[i];
	const char *wrong = NULL;

	switch ((enum step_kind)step.kind) {
	case ARRIVE:
		apply(&m->rows[p], s->m[p].log[m->seen[p]++]);
		break;
	case SUSPECT:
		if (!(w->mutations & FREEZE_LATE))
			m->frozen |= only(p);
		publish(s, i, FAILED, p, 0);
		break;
	case FREEZE:
		m->frozen |= only(p);
		break;
	case MARK:
		publish(s, i, LEFT, p, 0);
		break;
	case OUT:
		stop(w, s, i);
		m->status = REMOVED;
		break;
	case WEDGE:
		stop(w, s, i);
		publish(s, i, WEDGED, 0, 0);
		break;
	case HEAR:
		m->sets[p] = s->m[p].wished;
		break;
	case GET:
		m->come[p] = next_view(s, i, p);
		break;
	case CHANGE:
		m->wished = m->sets[i] = 2;
		break;
	case PROPOSE:
		m->proposals[row(s, i, i)->attempt + 1] = unsuspected(w, s, i);
		m->proposal_serves[row(s, i, i)->attempt + 1] = serves_next(w, s, i);
		publish(s, i, PROPOSED, row(s, i, i)->attempt + 1, 0);
		break;
	case OPEN:
		lead = leader(w, s, i);
		m->opened = (uint8_t)((lead + 1) << 4 | row(s, i, lead)->attempt);
		break;
	case ACKNOWLEDGE:
		m->placed_by = s->m[i].wished;
		publish(s, i, ACKNOWLEDGED, m->opened, 0);
		break;
	case DECIDE:
		decide(w, s, i);
		break;
	case ADOPT:
		from = found(w, s, i);
		wrong = agree(s, i, i + 1, row(s, i, from)->decider);
		break;
	case ECHO:
		lead = leader(w, s, i);
		wrong = agree(s, i, lead + 1, row(s, i, lead)->decider);
		break;
	case INSTALL:
		wrong = install(w, s, i);
		break;
	case RECEIVE:
		publish(s, i, RECEIVED, 0, 0);
		break;
	case LEAVE:
		stop(w, s, i);
		publish(s, i, GONE, 0, 0);
		m->status = AWAY;
		break;
	default: /* CRASH */
		stop(w, s, i);
		s->crashed++;
		m->status = DEAD;
		break;
	}
	for (int j = 0; j < w->count && wrong == NULL && s->installed > 0; j++)
		if (delivered(w, s, j) > s->m[s->installed - 1].decision_cut)
			wrong = "somebody has delivered what lies behind the cut";
	return wrong;
}

/* ---- when it does it ----------------------------------------------------------------------------------------------- */

static bool can_suspect(const struct world *w, const struct state *s, int i, int p, bool calm)
{
	const struct row *mine = row(s, i, i);
	members rest = unsuspected(w, s, i) & (members)~only(p);

	if (p == i || has(mine->failed, p) || spares(w, s, i, p))
		return false;
	if (!(w->mutations & UNGATED) && !quorum(w, rest, mine->left & (members)~only(p)))
		return false;
	if (has(hearsay(w, s, i), p) || has_lied(w, s, i, p))
		return true;
	if (row(s, i, p)->gone)
		return !left_in_order(w, s, i, p);
	return s->m[p].status == DEAD || s->m[p].status == REMOVED ||
	       (!calm && has(w->doubters, i) && has(w->doubted, p));
}

static bool can_mark(const struct world *w, const struct state *s, int i, int p)
{
	const struct row *mine = row(s, i, i);
	bool known = left_in_order(w, s, i, p);

	if (p == i || has(mine->failed | mine->left, p) ||
	    (row(s, i, p)->installed && !(w->mutations & INSTALLED_SUSPECTED)))
		return false;
	for (int j = 0; j < w->count && (w->mutations & LEFT_BY_HEARSAY); j++)
		known = known || (has(trusted(w, s, i), j) && has(row(s, i, j)->left, p));
	return known &&
	       ((w->mutations & UNGATED) || quorum(w, unsuspected(w, s, i) & (members)~only(p), mine->left | only(p)));
}

/* Nobody has failed: the leader serves the wishes that it knows, until it has wedged. */
static bool can_propose_wishes(const struct world *w, const struct state *s, int i)
{
	const struct row *mine = row(s, i, i);
	served known = wishes_known(w, s, i);

	if (mine->attempt > 0 && (w->wish_mutations & PROPOSED_ONCE))
		return false;
	return leader(w, s, i) == i && !mine->wedged && mine->agreed == 0 && known != 0 &&
	       s->m[i].proposal_serves[mine->attempt] != known && heedful(w, s, i, 0);
}

static bool can_propose(const struct world *w, const struct state *s, int i)
{
	const struct row *mine = row(s, i, i);

	if ((mine->failed | mine->left) == 0)
		return can_propose_wishes(w, s, i);
	return leader(w, s, i) == i && (mine->failed | mine->left) != 0 && barrier(w, s, i) && found(w, s, i) < 0 &&
	       short_cut(w, s, i) < 0 && s->m[i].proposals[mine->attempt] != unsuspected(w, s, i);
}

/* What its leader proposes, if it has not acknowledged that yet; else 0. */
static uint8_t proposal(const struct world *w, const struct state *s, int i)
{
	int lead = leader(w, s, i);
	uint8_t attempt = row(s, i, lead)->attempt, word = (uint8_t)((lead + 1) << 4 | attempt);

	if (attempt == 0 || row(s, i, i)->agreed > 0 || word <= row(s, i, i)->acknowledged ||
	    (lead == i && found(w, s, i) >= 0))
		return 0;
	return word;
}

static bool can_open(const struct world *w, const struct state *s, int i)
{
	uint8_t word = proposal(w, s, i);

	return word > 0 && s->m[i].opened != word && may_follow(w, s, i, leader(w, s, i), word & 15) &&
	       heedful(w, s, i, HEEDLESS_OPEN);
}

static bool can_acknowledge(const struct world *w, const struct state *s, int i)
{
	uint8_t word = proposal(w, s, i);

	return word > 0 && s->m[i].opened == word && may_follow(w, s, i, leader(w, s, i), word & 15) &&
	       heedful(w, s, i, HEEDLESS_ACKNOWLEDGE);
}

/* Nobody has failed: for wishes the leader wedges when all have acknowledged its last attempt, the others when it has. */
static bool can_wedge(const struct world *w, const struct state *s, int i)
{
	const struct row *mine = row(s, i, i);
	uint8_t word = (uint8_t)((i + 1) << 4 | mine->attempt);

	if (mine->wedged)
		return false;
	if ((mine->failed | mine->left) != 0)
		return true;
	if (leader(w, s, i) != i)
		return w->wishers != 0 && row(s, i, leader(w, s, i))->wedged;
	for (int j = 0; j < w->count; j++)
		if (mine->attempt == 0 || row(s, i, j)->acknowledged != word)
			return false;
	return heedful(w, s, i, 0);
}

static bool can_decide(const struct world *w, const struct state *s, int i)
{
	const struct row *mine = row(s, i, i);
	members all = unsuspected(w, s, i);
	uint8_t word = (uint8_t)((i + 1) << 4 | mine->attempt);

	if (leader(w, s, i) != i || mine->attempt == 0 || !barrier(w, s, i) || found(w, s, i) >= 0)
		return false;
	if (!(w->mutations & NO_QUORUM_TO_DECIDE) && !quorum(w, all, mine->left))
		return false;
	for (int j = 0; j < w->count; j++) {
		if (!has(all, j))
			continue;
		if (!(w->mutations & DECIDED_UNWEDGED) && !row(s, i, j)->wedged)
			return false;
		if (!(w->mutations & DECIDED_UNACKNOWLEDGED) && row(s, i, j)->acknowledged != word)
			return false;
	}
	return heedful(w, s, i, HEEDLESS_DECIDE);
}

static bool can_adopt(const struct world *w, const struct state *s, int i)
{
	return leader(w, s, i) == i && row(s, i, i)->agreed < i + 1 && barrier(w, s, i) && found(w, s, i) >= 0 &&
	       heedful(w, s, i, HEEDLESS_ADOPT);
}

static bool can_echo(const struct world *w, const struct state *s, int i)
{
	int lead = leader(w, s, i);
	const struct row *mine = row(s, i, i);

	if ((w->mutations & ECHO_OF_LOWER) ? mine->agreed == lead + 1 : mine->agreed >= lead + 1)
		return false;
	return lead != i && row(s, i, lead)->agreed == lead + 1 && heedful(w, s, i, HEEDLESS_ECHO | REMOVED_NOT_LOOKED);
}

/* A member has installed the view that has the memory which it has acknowledged: that is final, whatever members accuse others. */
static bool is_final(const struct world *w, const struct state *s, int i)
{
	int ahead = short_cut(w, s, i);

	return ahead >= 0 && !(w->mutations & INSTALLED_HEEDED) &&
	       s->m[row(s, i, ahead)->decider - 1].decision_image == row(s, i, i)->acknowledged;
}

static bool can_install(const struct world *w, const struct state *s, int i)
{
	bool equal = all_equal(w, s, i) &&
		     ((w->mutations & NO_QUORUM_TO_INSTALL) || quorum(w, unsuspected(w, s, i), row(s, i, i)->left));

	return is_final(w, s, i) || ((equal || short_cut(w, s, i) >= 0) && heedful(w, s, i, HEEDLESS_INSTALL));
}

static bool can_be_out(const struct world *w, const struct state *s, int i)
{
	int lead = leader(w, s, i);
	uint8_t attempt = row(s, i, lead)->attempt;

	return has(hearsay(w, s, i), i) || (attempt > 0 && !has(s->m[lead].proposals[attempt], i));
}

/* received_num in the beginning. */
static uint8_t received_first(const struct world *w, int i)
{
	return (uint8_t)(w->level ? 10 : 10 + (3 * i + 1) % w->count);
}

static bool can_run(const struct world *w, const struct state *s, struct step step, bool calm)
{
	int i = step.node, p = step.other;
	const struct member *m = &s->m[i];

	switch ((enum step_kind)step.kind) {
	case ARRIVE:
		return p != i && m->seen[p] < s->m[p].published &&
		       (!has(m->frozen, p) || (w->mutations & SUSPECTS_ARE_READ));
	case SUSPECT:
		return can_suspect(w, s, i, p, calm);
	case FREEZE:
		return has(row(s, i, i)->failed & (members)~m->frozen, p);
	case MARK:
		return can_mark(w, s, i, p);
	case OUT:
		return can_be_out(w, s, i);
	case HEAR:
		return p != i && m->sets[p] < s->m[p].wished && !has(m->frozen, p) && leader(w, s, i) == i;
	case GET:
		return p != i && next_view(s, i, p) > 0 && !has(m->frozen, p) && !(calm && w->held_up);
	case CHANGE:
		return !calm && has(w->changers, i) && s->m[i].wished == 1;
	case WEDGE:
		return can_wedge(w, s, i);
	case PROPOSE:
		return can_propose(w, s, i);
	case OPEN:
		return can_open(w, s, i);
	case ACKNOWLEDGE:
		return can_acknowledge(w, s, i);
	case DECIDE:
		return can_decide(w, s, i);
	case ADOPT:
		return can_adopt(w, s, i);
	case ECHO:
		return can_echo(w, s, i);
	case INSTALL:
		return can_install(w, s, i);
	default: /* RECEIVE */
		return !calm && w->level && row(s, i, i)->received == received_first(w, i) &&
		       (!row(s, i, i)->wedged || (w->mutations & WEDGED_NOT_DEAF));
	}
}

bool can(const struct world *w, const struct state *s, struct step step, bool calm)
{
	const struct member *m = &s->m[step.node];

	if (!takes_two(step.kind) && step.other > 0)
		return false;
	if (step.kind == CRASH)
		return !calm && s->crashed < w->crashes && (m->status == RUNNING || m->status == DONE);
	if (step.kind == LEAVE)
		return !calm && has(w->leavers, step.node) && (m->status == RUNNING || m->status == DONE);
	return m->status == RUNNING && can_run(w, s, step, calm);
}

int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out)
{
	int count = 0;

	for (uint8_t kind = 0; kind < STEP_KINDS; kind++)
		for (uint8_t i = 0; i < w->count; i++)
			for (uint8_t p = 0; p < (takes_two(kind) ? w->count : 1); p++)
				if (can(w, s, (struct step){kind, i, p}, calm))
					out[count++] = (struct step){kind, i, p};
	return count;
}

/* ---- the end ------------------------------------------------------------------------------------------------------- */

/* All members that `i` does not suspect are there, none of them suspects another, and all know that they are a quorum. */
static bool united(const struct world *w, const struct state *s, int i)
{
	members all = unsuspected(w, s, i);

	for (int j = 0; j < w->count; j++) {
		if (!has(all, j))
			continue;
		if (s->m[j].status != RUNNING && s->m[j].status != DONE)
			return false;
		if (((row(s, j, j)->failed | row(s, j, j)->left) & all) != 0 || !quorum(w, all, row(s, j, j)->left))
			return false;
	}
	return true;
}

const char *ended(struct search *x, const struct state *s)
{
	const struct world *w = x->world;

	for (int i = 0; i < w->count; i++) {
		const struct row *mine = row(s, i, i);

		if (s->m[i].status == RUNNING && (mine->failed | mine->left) != 0 && united(w, s, i))
			return "a quorum without suspicions among its members does not go on";
		for (int j = 0; j < w->count && w->follows && s->m[i].status == RUNNING; j++)
			if (row(s, i, j)->installed && row(s, i, j)->gone)
				return "a member that could have followed does not";
	}
	return is_unserved(w, s) ? "a wish is not served" : NULL;
}

void begin(const struct world *w, struct state *s)
{
	memset(s, 0, sizeof(*s));
	for (int i = 0; i < w->count; i++)
		for (int j = 0; j < w->count; j++)
			s->m[i].rows[j].received = received_first(w, j);
	for (int i = 0; i < w->count; i++)
		s->m[i].wished = s->m[i].sets[i] = s->m[0].sets[i] = has(w->wishers, i);
}

/* ---- telling states apart ------------------------------------------------------------------------------------------ */

static uint8_t *put_row(uint8_t *at, const struct row *r, bool received)
{
	*at++ = received ? r->received : 0;
	*at++ = r->failed;
	*at++ = r->left;
	*at++ = r->attempt;
	*at++ = r->acknowledged;
	*at++ = (uint8_t)(r->agreed << 4 | r->decider);
	*at++ = (uint8_t)(r->wedged | r->installed << 1 | r->gone << 2);
	return at;
}

/* What a member knows of wishes. */
static uint8_t *put_wishes(uint8_t *at, const struct world *w, const struct member *m)
{
	*at++ = (uint8_t)m->decision_serves;
	*at++ = (uint8_t)(m->decision_serves >> 8);
	*at++ = (uint8_t)(m->placed_by << 4 | m->wished);
	for (int k = 1; k < ATTEMPTS && m->proposals[k] != 0; k++) {
		*at++ = (uint8_t)m->proposal_serves[k];
		*at++ = (uint8_t)(m->proposal_serves[k] >> 8);
	}
	for (int j = 0; j < w->count; j++)
		*at++ = (uint8_t)(m->sets[j] << 4 | m->come[j]);
	return at;
}

/* What will not be looked at any more is left out. */
size_t key_of(const struct world *w, const struct state *s, uint8_t *out)
{
	uint8_t *at = out;

	*at++ = s->crashed;
	*at++ = s->installed;
	for (int i = 0; i < w->count; i++) {
		const struct member *m = &s->m[i];
		members read = w->mutations & SUSPECTS_ARE_READ ? everybody(w) : readable(w, s, i);

		*at++ = (uint8_t)(m->status << 1 | m->stopped);
		*at++ = m->delivered;
		*at++ = m->decision_members;
		*at++ = m->decision_cut;
		*at++ = m->decision_image;
		for (int k = 1; k < ATTEMPTS && m->proposals[k] != 0; k++)
			*at++ = m->proposals[k];
		*at++ = 0;
		if (w->wishers != 0)
			at = put_wishes(at, w, m);
		if (m->status == RUNNING || m->status == DONE)
			at = put_row(at, row(s, i, i), true);
		if (m->status != RUNNING)
			continue;
		*at++ = m->opened;
		*at++ = m->frozen;
		for (int j = 0; j < w->count; j++) {
			if (j == i)
				continue;
			if (!has(read, j)) {
				*at++ = m->stopped ? 0 : row(s, i, j)->received;
				continue;
			}
			at = put_row(at, row(s, i, j), !m->stopped || has(unsuspected(w, s, i), j));
			for (int k = m->seen[j]; k < s->m[j].published; k++) {
				*at++ = (uint8_t)(s->m[j].log[k].what + 1);
				*at++ = s->m[j].log[k].a;
				*at++ = s->m[j].log[k].b;
			}
			*at++ = 0;
		}
	}
	return (size_t)(at - out);
}

/* ---- as text ------------------------------------------------------------------------------------------------------- */

void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const names[STEP_KINDS] = {
		"takes in",     "suspects",     "freezes",         "knows that has left",
		"is removed",   "wedges",       "proposes",        "opens what is proposed",
		"acknowledges", "decides",      "adopts",          "echoes",
		"installs",     "receives",     "leaves",          "crashes",
		"hears set of", "gets view of", "changes its set",
	};
	static const char *const words[] = {"received",     "failed", "left",      "wedged", "proposed",
					    "acknowledged", "agreed", "installed", "gone"};

	(void)w;
	printf("      %d %s", step.node, names[step.kind]);
	if (takes_two(step.kind))
		printf(" %d", step.other);
	if (step.kind == ARRIVE) {
		struct message m = s->m[step.other].log[s->m[step.node].seen[step.other]];

		printf(": %s %x %x", words[m.what], m.a, m.b);
	}
	putchar('\n');
}
