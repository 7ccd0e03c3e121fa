/* death_rules.c - what a member may do in a change of view, and what must hold. See death.h. */
#include "death.h"

#include <stdio.h>
#include <string.h>

#include "sets.h"

static bool does(const struct world *w, enum mutation mutation)
{
	return (w->mutations & (uint32_t)mutation) != 0;
}

static bool same_view(struct view a, struct view b)
{
	return a.maker == b.maker && a.without == b.without;
}

static members all_of(const struct world *w)
{
	return below(w->count);
}

static members in_process(const struct world *w, const struct state *s, enum process process)
{
	members set = 0;

	for (int p = 0; p < w->count; p++)
		if (s->m[p].process == process)
			set |= only(p);
	return set;
}

/* More than half of so many, or half with the tie-breaker. */
static bool are_quorum(const struct world *w, members votes, int of)
{
	return 2 * size_of(votes) > of ||
	       (2 * size_of(votes) == of && w->tie_breaker >= 0 && has(votes, w->tie_breaker));
}

/* ---- how one member sees the others -------------------------------------------------------------------------------- */

static members trusted_by(const struct world *w, const struct member *m)
{
	return all_of(w) & (members) ~(m->left | m->failed | m->dead);
}

/* Those of which its row says that they are dead, and of which no quorum is taken. */
static members dead_to(const struct world *w, const struct state *s, const struct member *m)
{
	members dead = 0;

	if (does(w, THE_DEAD_COUNT))
		return 0;
	for (int p = 0; p < w->count; p++) {
		members accused = s->m[p].failed;

		if (has(m->dead, p) && !(does(w, ACCUSERS_FAILED) && accused != 0) &&
		    !(does(w, ACCUSERS_OF_MINE) && (accused & trusted_by(w, m)) != 0))
			dead |= only(p);
	}
	return dead;
}

static members read_by(const struct world *w, const struct state *s, const struct member *m)
{
	members dead = dead_to(w, s, m) & (members)~m->failed; /* of both with ROWS_STAY_FROZEN alone */

	return trusted_by(w, m) | m->left | (does(w, ROWS_UNREAD) ? 0 : dead);
}

/* The members to which i listens when they accuse others. */
static members heard_by(const struct world *w, const struct state *s, int i)
{
	const struct member *m = &s->m[i];
	members dead = does(w, THE_DEAD_ACCUSE) ? read_by(w, s, m) & m->dead : 0;

	return (trusted_by(w, m) | dead) & (members)~only(i);
}

static bool trusts_quorum(const struct world *w, const struct state *s, const struct member *m)
{
	return are_quorum(w, trusted_by(w, m), w->count - size_of(m->left | dead_to(w, s, m)));
}

/* The same of those that are heard: the end of one that was killed is seen at once, though it is trusted until its row is said to be final,
 * or it to have failed. */
static bool hears_quorum(const struct world *w, const struct state *s, const struct member *m)
{
	members unheard = w->unheard ? in_process(w, s, KILLED) : 0;

	return are_quorum(w, trusted_by(w, m) & (members)~unheard, w->count - size_of(m->left | dead_to(w, s, m)));
}

/* Nothing is said any more of a member that is trusted and has installed. */
static bool is_spared(const struct world *w, const struct state *s, int i, int p)
{
	return has(trusted_by(w, &s->m[i]), p) && s->m[p].installed;
}

/* The view that it has agreed to, or else the one of which it has the memory. */
static bool is_mine(const struct member *m, struct view view)
{
	return same_view(m->agreed != 0 ? m->decision : m->acknowledged, view);
}

static bool is_accused(const struct world *w, const struct state *s, int i)
{
	members heard = heard_by(w, s, i);

	for (int p = 0; p < w->count; p++)
		if (has(heard, p) && has(s->m[p].failed | s->m[p].dead, i))
			return true;
	return false;
}

/* A dead member has agreed to a decision that i cannot follow, and may have gone on without i. A decision that i cannot follow and
 * by which it is not accused has waited for its word in vain: that is nothing to it. */
static bool is_left_behind(const struct world *w, const struct state *s, int i)
{
	const struct member *m = &s->m[i];
	members dead = read_by(w, s, m) & m->dead;

	for (int p = 0; p < w->count; p++) {
		struct view decision = s->m[p].decision;
		members out = does(w, LEFT_OUT_IS_READ) ? decision.without : s->m[p].failed | s->m[p].dead;

		if (has(dead, p) && s->m[p].agreed != 0 && !is_mine(m, decision) && has(out, i))
			return true;
	}
	return false;
}

static bool is_out(const struct world *w, const struct state *s, int i)
{
	return is_accused(w, s, i) || (!does(w, STAYS_ACCUSED) && is_left_behind(w, s, i));
}

/* Has the row of i all that the rows have which it listens to, and does none of them accuse i? */
static bool heeds(const struct world *w, const struct state *s, int i)
{
	members heard = heard_by(w, s, i), trusted = trusted_by(w, &s->m[i]);

	if (is_out(w, s, i))
		return false;
	for (int from = 0; from < w->count; from++) {
		members says = s->m[from].failed;

		if (!has(heard, from))
			continue;
		if (!does(w, PROOFS_UNHEEDED) && has(trusted, from))
			says |= s->m[from].dead;
		for (int p = 0; p < w->count; p++)
			if (has(says & trusted, p) && p != from && !is_spared(w, s, i, p))
				return false;
	}
	return true;
}

/* ---- suspicions ---------------------------------------------------------------------------------------------------- */

/* What its row would say, and whether it may: a word that is no proof wants a quorum without the suspect. */
static struct member with_word(const struct world *w, const struct state *s, int i, int p, bool dead)
{
	struct member m = s->m[i];

	if (!dead) {
		m.failed |= only(p);
	} else {
		m.dead |= only(p);
		if (!does(w, ROWS_STAY_FROZEN))
			m.failed &= (members)~only(p);
	}
	return m;
}

static bool may_say(const struct world *w, const struct state *s, int i, int p, bool dead)
{
	const struct member *m = &s->m[i];
	struct member then = with_word(w, s, i, p, dead);

	if (p == i || m->installed || is_spared(w, s, i, p) || has(m->dead | m->left, p))
		return false;
	if (dead)
		return !(has(m->failed, p) && does(w, FAILED_STAYS)) &&
		       (!does(w, PROOFS_WAIT) || hears_quorum(w, s, &then));
	return !has(m->failed, p) && (does(w, SUSPECTED_AT_WILL) || hears_quorum(w, s, &then));
}

/* A member that leaves while it accuses another counts as one that failed. */
static bool may_mark(const struct world *w, const struct state *s, int i, int p)
{
	return has(trusted_by(w, &s->m[i]), p) && !s->m[i].installed && !is_spared(w, s, i, p) && s->m[p].gone &&
	       s->m[p].failed == 0;
}

static bool hears_of(const struct world *w, const struct state *s, int i, int p, bool dead)
{
	members from = dead ? trusted_by(w, &s->m[i]) & (members)~only(i) : heard_by(w, s, i);

	for (int q = 0; q < w->count; q++)
		if (q != p && has(from, q) && has(dead ? s->m[q].dead : s->m[q].failed, p))
			return true;
	return false;
}

/* ---- plans: what is read ------------------------------------------------------------------------------------------- */

static int leader_of(const struct world *w, const struct member *m)
{
	return lowest(trusted_by(w, m));
}

/* Each row that i trusts suspects all before i. */
static bool is_past_barrier(const struct world *w, const struct state *s, int i)
{
	members trusted = trusted_by(w, &s->m[i]);

	for (int p = 0; p < w->count; p++)
		if (has(trusted, p) && (below(i) & trusted_by(w, &s->m[p])) != 0)
			return false;
	return true;
}

/* i can follow a decision of p, which is dead, and no other that it trusts and p has not accused has given up that memory. */
static bool is_common(const struct world *w, const struct state *s, int i, int p)
{
	const struct member *m = &s->m[i], *dead = &s->m[p];
	members trusted = trusted_by(w, m) & (members)~only(i) & (members) ~(dead->failed | dead->dead | dead->left);

	if (!is_mine(m, dead->decision))
		return false;
	for (int q = 0; q < w->count && !does(w, ADOPTED_ALONE); q++)
		if (has(trusted, q) && !same_view(s->m[q].acknowledged, m->acknowledged))
			return false;
	return true;
}

/* The readable row with the decision of the highest rank; -1: there is none. */
static int decided_row(const struct world *w, const struct state *s, int i)
{
	members readable = read_by(w, s, &s->m[i]), trusted = trusted_by(w, &s->m[i]);
	int best = -1;

	for (int p = 0; p < w->count; p++)
		if (has(readable, p) && s->m[p].agreed > (best < 0 ? 0 : s->m[best].agreed) &&
		    (has(trusted, p) || does(w, ALL_ADOPTED) || is_common(w, s, i, p)))
			best = p;
	return best;
}

static struct view own_view(const struct world *w, const struct member *m, int i)
{
	return (struct view){(uint8_t)(i + 1), all_of(w) & (members)~trusted_by(w, m)};
}

static bool all_have_acknowledged(const struct world *w, const struct state *s, int i)
{
	members trusted = trusted_by(w, &s->m[i]);

	for (int p = 0; p < w->count; p++)
		if (has(trusted, p) && !same_view(s->m[p].acknowledged, own_view(w, &s->m[i], i)))
			return false;
	return trusts_quorum(w, s, &s->m[i]);
}

static bool plans_to_propose(const struct world *w, const struct state *s, int i, struct member *m)
{
	m->planned = own_view(w, m, i);
	return leader_of(w, m) == i && m->agreed == 0 && m->planned.without != 0 &&
	       !same_view(m->acknowledged, m->planned) && is_past_barrier(w, s, i) && decided_row(w, s, i) < 0;
}

static bool plans_to_acknowledge(const struct world *w, const struct state *s, int i, struct member *m)
{
	int lead = leader_of(w, m);

	m->planned = s->m[lead].acknowledged;
	return lead != i && m->agreed == 0 && m->planned.maker == lead + 1 && m->acknowledged.maker <= lead + 1 &&
	       !same_view(m->acknowledged, m->planned) && !has(m->planned.without, i) && heeds(w, s, i);
}

static bool plans_to_agree(const struct world *w, const struct state *s, int i, struct member *m)
{
	int lead = leader_of(w, m), from = lead;

	m->planned_rank = (uint8_t)(lead + 1);
	if (lead == i) {
		if (m->agreed == i + 1 || !is_past_barrier(w, s, i))
			return false;
		from = decided_row(w, s, i);
		m->planned = from >= 0 ? s->m[from].decision : own_view(w, m, i);
		return from >= 0 || (m->planned.without != 0 && all_have_acknowledged(w, s, i));
	}
	m->planned = s->m[lead].decision;
	return s->m[lead].agreed == lead + 1 && s->m[lead].agreed > m->agreed;
}

static bool plans_to_settle(const struct world *w, const struct state *s, struct member *m)
{
	members trusted = trusted_by(w, m);

	m->planned = m->decision;
	m->planned_rank = m->agreed;
	for (int p = 0; p < w->count; p++)
		if (has(trusted, p) && (s->m[p].agreed != m->agreed || !same_view(s->m[p].decision, m->decision)))
			return false;
	return m->agreed != 0 && (does(w, SETTLED_AT_WILL) || trusts_quorum(w, s, m));
}

static bool plans_to_follow(const struct world *w, const struct state *s, int i, struct member *m)
{
	members readable = does(w, INSTALLED_FOLLOWED) ? read_by(w, s, m) : trusted_by(w, m);

	for (int p = 0; p < w->count; p++) {
		if (!has(readable, p) || p == i || !s->m[p].installed)
			continue;
		m->planned = s->m[p].decision;
		m->planned_rank = s->m[p].agreed;
		return true;
	}
	return false;
}

/* Is it time for that? Then the plan is in `m`, which is member i. */
static bool plans(const struct world *w, const struct state *s, int i, enum plan plan, struct member *m)
{
	bool is_time = false;

	*m = s->m[i];
	if (plan == PROPOSE)
		is_time = plans_to_propose(w, s, i, m);
	else if (plan == ACKNOWLEDGE)
		is_time = plans_to_acknowledge(w, s, i, m);
	else if (plan == AGREE)
		is_time = plans_to_agree(w, s, i, m);
	else if (plan == SETTLE)
		is_time = plans_to_settle(w, s, m);
	else
		is_time = plans_to_follow(w, s, i, m);
	m->plan = (uint8_t)plan;
	return is_time;
}

/* ---- acts ---------------------------------------------------------------------------------------------------------- */

static void drop_plan(struct member *m)
{
	m->plan = m->planned_rank = 0;
	m->planned = (struct view){0};
}

static void take_out(struct member *m, enum process process)
{
	m->process = (uint8_t)process;
	drop_plan(m);
}

static const char *agree(struct member *m, uint8_t rank, struct view decision)
{
	if (m->agreed != 0 && !same_view(m->decision, decision))
		return TWO_DECISIONS;
	if (m->agreed == 0 && !same_view(m->acknowledged, decision))
		return NO_MEMORY;
	m->agreed = rank;
	m->decision = decision;
	return NULL;
}

static const char *act(const struct world *w, struct state *s, int i)
{
	struct member *m = &s->m[i];
	enum plan plan = (enum plan)m->plan;
	struct view planned = m->planned;
	uint8_t rank = m->planned_rank;

	drop_plan(m);
	if (plan != PROPOSE && !(plan == FOLLOW && is_mine(m, planned)) && !heeds(w, s, i))
		return NULL;
	if (plan == PROPOSE || plan == ACKNOWLEDGE) {
		m->acknowledged = planned;
		return NULL;
	}
	m->settled = plan == SETTLE || plan == FOLLOW;
	if (plan == SETTLE || (plan == FOLLOW && m->agreed != 0 && same_view(m->decision, planned)))
		return NULL;
	return agree(m, rank, planned);
}

/* ---- what must hold ------------------------------------------------------------------------------------------------ */

static const char *judge(const struct world *w, const struct state *s)
{
	members out = in_process(w, s, KILLED);
	const struct view *settled = NULL;

	for (int p = 0; p < w->count; p++)
		out |= s->m[p].gone ? only(p) : 0;
	for (int p = 0; p < w->count; p++) {
		const struct view *view = &s->m[p].decision;

		if (!s->m[p].settled)
			continue;
		if (settled != NULL && !same_view(*settled, *view))
			return TWO_VIEWS;
		settled = view;
		if (!are_quorum(w, all_of(w) & (members)~view->without, w->count - size_of(out)))
			return NO_QUORUM;
	}
	return NULL;
}

/* They run, accuse none of each other, something has happened, and they are a quorum of those that are not proved dead. */
static bool must_go_on(const struct world *w, const struct state *s, members set)
{
	members proved = 0, left = 0, said = 0, failed = 0, killed = in_process(w, s, KILLED);

	for (int p = 0; p < w->count; p++) {
		if (s->m[p].gone && s->m[p].failed == 0)
			left |= only(p);
		if (!has(set, p))
			continue;
		failed |= s->m[p].failed;
		if (s->m[p].process != RUNS || ((s->m[p].failed | s->m[p].dead) & set) != 0)
			return false;
		proved |= killed & (members)~w->blind[p];
		said |= s->m[p].failed | s->m[p].dead;
	}
	left &= (members)~failed;
	return (killed | left | said) != 0 && are_quorum(w, set, w->count - size_of(proved | left));
}

bool is_through(const struct world *w, const struct state *s)
{
	members installed = 0;

	for (int p = 0; p < w->count; p++)
		if (s->m[p].installed)
			installed |= only(p);
	for (members set = 1; set <= all_of(w); set++)
		if ((set & ~installed) != 0 && must_go_on(w, s, set))
			return false;
	return true;
}

bool is_lost(const struct world *w, const struct state *s)
{
	members over = in_process(w, s, KILLED) | in_process(w, s, AWAY), removed = in_process(w, s, REMOVED);

	return removed != 0 && (over | removed) == all_of(w);
}

/* ---- steps --------------------------------------------------------------------------------------------------------- */

struct list {
	struct step *steps;
	int count;
	bool calm;
};

static void add(struct list *list, bool can, enum step_kind kind, int i, int p)
{
	struct step step = {(uint8_t)kind, (uint8_t)i, (uint8_t)p};

	if (can && (!list->calm || kind > CLOSE))
		list->steps[list->count++] = step;
}

static void add_words(const struct world *w, const struct state *s, int i, struct list *list)
{
	bool is_idle = s->m[i].plan == NO_PLAN;

	for (int p = 0; p < w->count; p++) {
		bool killed = s->m[p].process == KILLED, runs = s->m[p].process == RUNS;
		bool told = hears_of(w, s, i, p, false), doubted = has(w->doubts[i], p);

		if (is_idle || does(w, PROOFS_BETWEEN)) {
			bool may = may_say(w, s, i, p, true), sees = killed && !has(w->blind[i], p);

			add(list, may && sees, PROVE, i, p);
			add(list, may && !sees && !does(w, FIRST_HAND) && hears_of(w, s, i, p, true), HEAR, i, p);
			add(list, may && !killed && doubted && does(w, CLOSED_IS_PROOF), CLOSE, i, p);
		}
		if (is_idle && may_say(w, s, i, p, false)) {
			add(list, told || !runs, SUSPECT, i, p);
			add(list, !told && runs && doubted, DOUBT, i, p);
		}
		add(list, is_idle && may_mark(w, s, i, p), MARK, i, p);
	}
}

int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out)
{
	struct list list = {.steps = out, .calm = calm};
	struct member m;

	for (int i = 0; i < w->count; i++) {
		add(&list, s->m[i].process != KILLED && s->killed < w->kills && (w->mortals == 0 || has(w->mortals, i)),
		    KILL, i, 0);
		if (s->m[i].process != RUNS || s->m[i].installed)
			continue;
		add(&list, has(w->leavers, i), LEAVE, i, 0);
		add(&list, is_out(w, s, i), REMOVE, i, 0);
		add_words(w, s, i, &list);
		add(&list, s->m[i].plan != NO_PLAN, ACT, i, 0);
		add(&list, s->m[i].settled, INSTALL, i, 0);
		for (int plan = PROPOSE; plan < PLANS && s->m[i].plan == NO_PLAN && !s->m[i].settled; plan++)
			add(&list, plans(w, s, i, (enum plan)plan, &m), LOOK, i, plan);
	}
	return list.count;
}

const char *take(const struct world *w, struct state *s, struct step step)
{
	struct member *m = &s->m[step.node], planning;
	const char *wrong = NULL;

	switch ((enum step_kind)step.kind) {
	case KILL:
		take_out(m, KILLED);
		s->killed++;
		break;
	case LEAVE:
		take_out(m, AWAY);
		m->gone = true;
		break;
	case MARK:
		m->left |= only(step.other);
		break;
	case CLOSE:
	case PROVE:
	case HEAR:
		*m = with_word(w, s, step.node, step.other, true);
		break;
	case DOUBT:
	case SUSPECT:
		*m = with_word(w, s, step.node, step.other, false);
		break;
	case REMOVE:
		take_out(m, REMOVED);
		break;
	case LOOK:
		(void)plans(w, s, step.node, (enum plan)step.other, &planning);
		*m = planning;
		break;
	case ACT:
		wrong = act(w, s, step.node);
		break;
	default: /* INSTALL */
		m->installed = true;
		break;
	}
	return wrong != NULL ? wrong : judge(w, s);
}

/* ---- as text ------------------------------------------------------------------------------------------------------- */

static void print_view(struct view view)
{
	printf(" %d's view without", view.maker - 1);
	for (int p = 0; p < MEMBERS; p++)
		if (has(view.without, p))
			printf(" %d", p);
}

void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const texts[STEP_KINDS] = {
		" is killed",
		" leaves",
		" suspects, falsely,",
		" takes, by a closed connection, for dead",
		" has the proof that it is dead, of",
		" reads that it is dead, of",
		" sees that it has left, of",
		" suspects",
		" is removed",
		" looks, and is to",
		" acts:",
		" installs",
	};
	static const char *const plans_as_text[PLANS] = {"",          " propose",   " acknowledge",
							 " agree to", " settle on", " follow"};

	(void)w;
	printf("      %d%s", step.node, texts[step.kind]);
	if (step.kind >= DOUBT && step.kind <= SUSPECT)
		printf(" %d", step.other);
	if (step.kind == LOOK)
		printf("%s", plans_as_text[step.other]);
	if (step.kind == ACT) {
		printf("%s", plans_as_text[s->m[step.node].plan]);
		print_view(s->m[step.node].planned);
	}
	putchar('\n');
}
