/* read_rules.c - what each member may do, and when it may be read. See read.h. */
#include "read.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "sets.h"

#define NEXT_MAX 96

static members all_of(const struct world *w)
{
	return (members)(only(w->count) - 1);
}

static members of_next(const struct world *w, const struct state *s)
{
	return s->plan | (w->newcomer ? only(w->count) : 0);
}

static int slots(const struct world *w)
{
	return w->count + w->newcomer;
}

static bool in_shard(const struct world *w, int i)
{
	return w->shard == 0 || has(w->shard, i);
}

static bool is_quorum(const struct world *w, bool half, members votes, members voters)
{
	int for_it = 2 * size_of(votes & voters), all = size_of(voters);

	if (for_it == all && !half)
		return w->tie_breaker >= 0 && has(votes & voters, w->tie_breaker);
	return for_it >= all;
}

/* All of these say so, by the byte at `offset` of a member. */
#define ALL_SAY(s, set, word) all_say((s), (set), offsetof(struct member, word))

static bool all_say(const struct state *s, members set, size_t offset)
{
	for (int i = 0; i < MEMBERS; i++)
		if (has(set, i) && ((const uint8_t *)&s->m[i])[offset] == 0)
			return false;
	return true;
}

/* The least of a word among those of the set that are in the shard. */
#define LEAST(w, s, set, word) least((w), (s), (set), offsetof(struct member, word))

static uint8_t least(const struct world *w, const struct state *s, members set, size_t offset)
{
	uint8_t least = UINT8_MAX;

	for (int i = 0; i < MEMBERS; i++) {
		uint8_t word = ((const uint8_t *)&s->m[i])[offset];

		if (has(set, i) && in_shard(w, i) && word < least)
			least = word;
	}
	return least;
}

/* ---- how far members are: places in the order of all views ------------------------------------------------------- */

/* Where the view begins in which this member is. */
static uint8_t start_of(const struct world *w, const struct state *s, int i)
{
	return s->m[i].installed ? (uint8_t)(w->before + LEAST(w, s, s->plan, received)) : w->before;
}

static uint8_t delivered_at(const struct world *w, const struct state *s, int i)
{
	const struct member *m = &s->m[i];

	if (!in_shard(w, i) || (i == w->count && !m->installed))
		return 0;
	if (w->unordered || !m->installed)
		return (uint8_t)(w->before + m->delivered);
	return (uint8_t)(start_of(w, s, i) + m->delivered_next + m->beyond);
}

static uint8_t received_at(const struct world *w, const struct state *s, int i)
{
	const struct member *m = &s->m[i];

	return w->unordered || !m->installed ? (uint8_t)(w->before + m->received)
					     : (uint8_t)(start_of(w, s, i) + m->received_next);
}

static uint8_t delivered_anywhere(const struct world *w, const struct state *s)
{
	uint8_t most = 0;

	for (int i = 0; i < slots(w); i++)
		if (delivered_at(w, s, i) > most)
			most = delivered_at(w, s, i);
	return most;
}

static uint8_t applied_at(const struct world *w, const struct state *s)
{
	return w->lags ? s->applied : delivered_at(w, s, w->reader);
}

/* What the reader sees that all have received, its own number with it. */
static uint8_t seen_stable(const struct world *w, const struct state *s)
{
	const struct member *m = &s->m[w->reader];
	uint8_t stable = m->received;

	if (!w->travel)
		return LEAST(w, s, all_of(w), received);
	for (int j = 0; j < w->count; j++)
		if (j != w->reader && s->seen[w->reader][j] < stable)
			stable = s->seen[w->reader][j];
	return stable;
}

static uint8_t to_note(const struct world *w, const struct state *s)
{
	if ((w->mutations & DELIVERED_NOTED) != 0)
		return delivered_at(w, s, w->reader);
	if ((w->mutations & STABLE_NOTED) != 0 && !s->m[w->reader].installed)
		return (uint8_t)(w->before + seen_stable(w, s));
	return received_at(w, s, w->reader);
}

/* ---- when a read may be made ------------------------------------------------------------------------------------- */

static members voters_of(const struct world *w, const struct state *s, bool next)
{
	members voters = next ? of_next(w, s) : all_of(w);

	if ((w->mutations & OF_THE_SHARD) != 0 && w->shard != 0)
		voters &= w->shard;
	if ((w->mutations & UNCOUNTED) != 0)
		voters &= (members)~s->known;
	for (int i = 0; i < slots(w) && (w->mutations & HEEDED) != 0; i++)
		if (has(s->known, i) && !(next ? s->m[i].wedged_next : s->m[i].wedged))
			voters &= (members)~only(i);
	return voters;
}

static bool has_quorum(const struct world *w, const struct state *s, const struct read *read)
{
	bool next = read->phase == ASKS_NEXT;
	members yes = only(w->reader);

	for (int i = 0; i < slots(w); i++)
		if ((next ? s->m[i].confirmed_next : s->m[i].heard) >= read->question)
			yes |= only(i);
	if ((w->mutations & NO_QUORUM) != 0)
		return true;
	if ((w->mutations & LEADER_ALONE) != 0)
		return has(yes, lowest(next ? of_next(w, s) : all_of(w)));
	if ((w->mutations & SENDERS_ASKED) != 0 && has(next ? of_next(w, s) : all_of(w), 0) && !has(yes, 0))
		return false;
	return is_quorum(w, (w->mutations & HALF) != 0, yes, voters_of(w, s, next));
}

bool may_read(const struct world *w, const struct state *s, int number)
{
	const struct read *read = &s->reads[number];
	uint8_t have = (w->mutations & KEPT_BACK_COUNTS) != 0 ? delivered_at(w, s, w->reader) : applied_at(w, s);

	if (read->phase < ASKS || read->phase == DONE)
		return false;
	if (read->phase != CONFIRMED && !has_quorum(w, s, read))
		return false;
	if ((w->mutations & OLD_FORGOTTEN) != 0 && read->noted == start_of(w, s, w->reader))
		return true;
	return have >= read->noted;
}

bool is_stale(const struct world *w, const struct state *s, int read)
{
	return applied_at(w, s) < s->reads[read].due;
}

bool is_stuck(const struct world *w, const struct state *s)
{
	if (w->travel || (s->plan != 0 && (!has(of_next(w, s), w->reader) || w->again)))
		return false;
	for (int i = 0; i < slots(w); i++)
		if (s->m[i].gone)
			return false;
	for (int i = 0; i < w->reads; i++)
		if (s->reads[i].phase != DONE)
			return true;
	return false;
}

/* ---- steps ------------------------------------------------------------------------------------------------------- */

/* How a state goes on. */
struct nexts {
	struct next {
		struct state state;
		struct step step;
	} list[NEXT_MAX];
	int count;
};

struct from {
	const struct world *w;
	const struct state *s;
	struct nexts *out;
};

static struct state *emit(const struct from *f, enum step_kind kind, int i)
{
	struct next *next = &f->out->list[f->out->count++];

	if (f->out->count > NEXT_MAX)
		abort();
	next->state = *f->s;
	next->step = (struct step){(uint8_t)kind, (uint8_t)i};
	return &next->state;
}

static bool may_receive(const struct from *f, int i)
{
	const struct world *w = f->w;
	const struct member *m = &f->s->m[i];

	if (!in_shard(w, i) || m->received >= w->first)
		return false;
	if (!w->unordered)
		return !m->wedged;
	/* What a sender that goes on has sent it sends again. */
	if (m->wedged && !(m->installed && has(f->s->plan, 0)))
		return false;
	return i == 0 || m->received < f->s->m[0].received;
}

static void receive(const struct from *f, int i)
{
	const struct member *m = &f->s->m[i];
	struct state *to;

	if (may_receive(f, i)) {
		to = emit(f, RECEIVE, i);
		to->m[i].received++;
		to->m[i].delivered += f->w->unordered;
	}
	for (int j = 0; f->w->travel && j < f->w->count; j++)
		if (i != j && f->s->seen[i][j] < f->s->m[j].received && !m->wedged)
			emit(f, SEE, i)->seen[i][j]++;
}

static void deliver(const struct from *f, int i)
{
	const struct world *w = f->w;
	const struct member *m = &f->s->m[i];
	uint8_t stable = m->received;

	if (m->wedged || w->unordered || !in_shard(w, i))
		return;
	if (!w->travel)
		stable = LEAST(w, f->s, all_of(w), received);
	for (int j = 0; w->travel && j < w->count; j++)
		if (j != i && f->s->seen[i][j] < stable)
			stable = f->s->seen[i][j];
	if (m->delivered < stable)
		emit(f, DELIVER, i)->m[i].delivered++;
}

/* A new view begins at the reader. What a read with a quorum must have lies below the cut. */
static void carry_reads(const struct from *f, struct state *to)
{
	uint8_t start = start_of(f->w, to, f->w->reader);

	for (int k = 0; k < f->w->reads; k++) {
		struct read *read = &to->reads[k];
		bool confirmed = read->phase == ASKS && has_quorum(f->w, f->s, read);

		if (read->phase != ASKS && read->phase != WAITS)
			continue;
		if ((confirmed && (f->w->mutations & ASKED_AGAIN) == 0) || (f->w->mutations & CHANGE_ANSWERS) != 0) {
			read->phase = CONFIRMED;
			if (!f->w->unordered && read->noted > start)
				read->noted = start;
		} else {
			read->phase = WAITS;
			read->noted = UNKNOWN;
		}
		read->question = 0;
	}
}

/* The decision is final for some member: those that have agreed are a quorum, and it may suspect the others by now. */
static bool may_install(const struct from *f)
{
	members voters = 0, agreed = 0;

	for (int i = 0; i < f->w->count; i++) {
		agreed |= f->s->m[i].agreed ? only(i) : 0;
		voters |= f->s->m[i].agreed || !f->s->m[i].gone ? only(i) : 0;
	}
	return is_quorum(f->w, false, agreed, voters);
}

static void change(const struct from *f, int i)
{
	const struct member *m = &f->s->m[i];
	struct state *to;

	if (has(f->s->plan, i) && !m->wedged)
		emit(f, WEDGE, i)->m[i].wedged = 1;
	if (has(f->s->plan, i) && ALL_SAY(f->s, f->s->plan, wedged) && !m->agreed)
		emit(f, AGREE, i)->m[i].agreed = 1;
	if (!has(of_next(f->w, f->s), i) || m->installed || !may_install(f))
		return;
	to = emit(f, INSTALL, i);
	to->m[i].installed = 1;
	if (!f->w->unordered && in_shard(f->w, i) && i < f->w->count)
		to->m[i].delivered = LEAST(f->w, f->s, f->s->plan, received);
	if (i == f->w->reader)
		carry_reads(f, to);
}

static void go_on_in_next(const struct from *f, int i)
{
	const struct world *w = f->w;
	const struct member *m = &f->s->m[i];
	members next = of_next(w, f->s), without = next & (members)~only(w->reader);
	bool has_shard = in_shard(w, i), sees_all;
	struct state *to;

	if (!m->installed)
		return;
	if (has_shard && !m->wedged_next && m->received_next < w->second)
		emit(f, RECEIVE_NEXT, i)->m[i].received_next++;
	if (w->travel && f->s->seen_next[i] < f->s->m[1 - i].received_next)
		emit(f, SEE_NEXT, i)->seen_next[i]++;
	sees_all = w->travel ? m->delivered_next < m->received_next && m->delivered_next < f->s->seen_next[i]
			     : m->delivered_next < LEAST(w, f->s, next, received_next);
	if (has_shard && !m->wedged_next && sees_all)
		emit(f, DELIVER_NEXT, i)->m[i].delivered_next++;
	if (!w->again || i == w->reader || !has(next, w->reader) || !is_quorum(w, false, without, next))
		return;
	if (!m->wedged_next)
		emit(f, WEDGE_NEXT, i)->m[i].wedged_next = 1;
	if (has_shard && ALL_SAY(f->s, without, wedged_next) && !m->beyond) {
		to = emit(f, GO_BEYOND, i);
		to->m[i].delivered_next = LEAST(w, f->s, without, received_next);
		to->m[i].beyond = 1;
	}
}

/* ---- the question ------------------------------------------------------------------------------------------------ */

static bool confirms(const struct from *f, int i)
{
	const struct member *m = &f->s->m[i];

	if ((f->w->mutations & WEDGED_CONFIRM) != 0)
		return true;
	if ((f->w->mutations & UNTIL_INSTALLED) != 0)
		return !m->installed;
	return (f->w->mutations & UNTIL_AGREED) != 0 ? !m->agreed : !m->wedged;
}

/* The sender's word comes behind what it had announced (T2). */
static void note_announced(const struct from *f, struct state *to, int i)
{
	for (int k = 0; (f->w->mutations & SENDERS_ASKED) != 0 && i == 0 && k < f->w->reads; k++)
		if (to->reads[k].phase == ASKS || to->reads[k].phase == ASKS_NEXT)
			to->reads[k].noted = to->m[0].received;
}

static void answer(const struct from *f, int i)
{
	const struct member *m = &f->s->m[i];
	uint8_t asked = f->s->asked == 0 && (f->w->mutations & EARLY) != 0 ? 1 : f->s->asked;
	struct state *to;

	if (i == f->w->reader)
		return;
	if (f->w->travel) {
		if (m->saw < asked && confirms(f, i))
			emit(f, SEE_QUESTION, i)->m[i].saw = asked;
		if (m->confirmed < m->saw && (confirms(f, i) || (f->w->mutations & LOOK_COUNTS) != 0))
			emit(f, CONFIRM, i)->m[i].confirmed = m->saw;
		if (m->heard < m->confirmed)
			emit(f, HEAR_CONFIRM, i)->m[i].heard = m->confirmed;
		return;
	}
	if (i < f->w->count && m->confirmed < asked && confirms(f, i) && !f->s->m[f->w->reader].installed) {
		to = emit(f, CONFIRM, i);
		to->m[i].confirmed = to->m[i].heard = asked;
		note_announced(f, to, i);
	}
	if (m->installed && m->confirmed_next < f->s->asked_next &&
	    (!m->wedged_next || (f->w->mutations & WEDGED_CONFIRM))) {
		to = emit(f, CONFIRM, i);
		to->m[i].confirmed_next = f->s->asked_next;
		note_announced(f, to, i);
	}
}

/* One question for all reads that wait. */
static void raise_question(const struct from *f, struct state *to)
{
	bool next = to->m[f->w->reader].installed;
	uint8_t question = next ? ++to->asked_next : ++to->asked;

	for (int k = 0; k < f->w->reads; k++)
		if (to->reads[k].phase == WAITS) {
			to->reads[k].phase = next ? ASKS_NEXT : ASKS;
			to->reads[k].question = question;
			if ((f->w->mutations & NOTED_FIRST) == 0 || to->reads[k].noted == UNKNOWN)
				to->reads[k].noted = to_note(f->w, to);
		}
}

static void begin_read(const struct from *f, int k)
{
	const struct member *m = &f->s->m[f->w->reader];
	struct state *to = emit(f, BEGIN, k);
	struct read *read = &to->reads[k];
	uint8_t asked = m->installed ? f->s->asked_next : f->s->asked;

	read->phase = WAITS;
	read->due = delivered_anywhere(f->w, f->s);
	read->noted = (f->w->mutations & NOTED_FIRST) != 0 ? to_note(f->w, f->s) : UNKNOWN;
	if (f->w->travel)
		raise_question(f, to);
	if ((f->w->mutations & SHARES_UNDER_WAY) == 0 || asked == 0)
		return;
	read->phase = m->installed ? ASKS_NEXT : ASKS;
	read->noted = to_note(f->w, f->s);
	read->question = asked;
}

static void ask(const struct from *f)
{
	const struct world *w = f->w;
	const struct member *m = &f->s->m[w->reader];
	bool stops = (f->w->mutations & UNTIL_AGREED) != 0 ? m->agreed : m->wedged;
	bool waits = false, may_ask = !stops || m->installed || (f->w->mutations & RAISES_WEDGED) != 0;

	if (w->reader == w->count && !m->installed)
		return;
	for (int k = 0; k < w->reads; k++) {
		waits = waits || f->s->reads[k].phase == WAITS;
		if (f->s->reads[k].phase == NOT_BEGUN && (k == 0 || f->s->reads[k - 1].phase != NOT_BEGUN))
			begin_read(f, k);
		if (!w->travel && may_read(w, f->s, k))
			emit(f, READ, k)->reads[k] = (struct read){.phase = DONE};
	}
	if (waits && may_ask)
		raise_question(f, emit(f, RAISE, w->reader));
}

static void apply(const struct from *f)
{
	const struct world *w = f->w;
	struct state *to;

	if (!w->lags)
		return;
	if (f->s->restored && f->s->applied < delivered_at(w, f->s, w->reader))
		emit(f, APPLY, w->reader)->applied++;
	if (f->s->restored || (w->reader == w->count && !f->s->m[w->reader].installed))
		return;
	for (uint8_t at = start_of(w, f->s, w->reader); at <= delivered_anywhere(w, f->s); at++) {
		to = emit(f, RESTORE, at);
		to->restored = 1;
		to->applied = at;
	}
}

void go_on(struct search *x, const struct state *s)
{
	static struct nexts nexts;
	const struct world *w = x->world;
	const struct from f = {.w = w, .s = s, .out = &nexts};

	nexts.count = 0;
	for (int i = 0; i < w->count; i++)
		if (!s->m[i].gone) {
			receive(&f, i);
			deliver(&f, i);
		}
	for (int i = 0; i < slots(w); i++) {
		if (s->m[i].gone)
			continue;
		change(&f, i);
		go_on_in_next(&f, i);
		answer(&f, i);
	}
	ask(&f);
	apply(&f);
	for (int i = 0; i < slots(w); i++) {
		if (has(w->may_go, i) && !s->m[i].gone)
			emit(&f, GO_AWAY, i)->m[i].gone = 1;
		if (s->m[i].gone && !has(s->known, i) && (w->mutations & (UNCOUNTED | HEEDED)) != 0)
			emit(&f, KNOW, i)->known |= only(i);
	}
	for (int n = 0; n < nexts.count; n++)
		reach(x, &nexts.list[n].state, nexts.list[n].step);
}

void begin(struct search *x)
{
	const struct world *w = x->world;

	for (int p = 0; p == 0 || p < w->plan_count; p++) {
		struct state s;

		memset(&s, 0, sizeof(s));
		s.plan = w->plans[p];
		s.restored = !w->stateless;
		reach_by(x, &s, BEGINNING, s.plan, 0);
	}
}
