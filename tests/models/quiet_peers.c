/* quiet_peers.c - a peer that moves, and a loop that reads it. See quiet.h. */
#include <string.h>

#include "quiet.h"

#define SUBGROUPS 2
#define ON_WIRE 7
#define STRETCH 2 /* moves */
#define IDLE 1    /* so many passes without anything, and a subgroup is left out */

enum where { PASS, LOOK, AGAIN, ARM, LAST, LAST_LOOK, SLEEP, REREAD };
enum kind { NOTHING, COUNTER, WORD, BELL };

struct word {
	uint8_t moves, names;
};

struct item { /* on its way: a counter and its value, a word, a bell */
	uint8_t kind, subgroup;
	struct word word;
};

struct peers {
	uint8_t counters[SUBGROUPS], moves, now, before; /* the peer's: names of this stretch and of the one before */
	uint8_t held;                                    /* which moved, and the word does not say so yet */
	uint8_t on_wire;
	struct item wire[ON_WIRE];
	uint8_t visible[SUBGROUPS];
	struct word word; /* visible */
	uint8_t where, at, work, parked, rung;
	struct word seen;
	uint8_t hot[SUBGROUPS];                   /* 0: left out, else 1 + passes without anything */
	uint8_t taken[SUBGROUPS], got[SUBGROUPS]; /* in; and delivered, by the loop */
	uint8_t all;                              /* are stepped */
	uint8_t peer_sleeps;                      /* its loop */
};

_Static_assert(sizeof(struct peers) <= STATE_BYTES, "a state has room");

static void emit(struct nexts *out, const struct peers *p)
{
	struct state s = {{0}};

	memcpy(s.bytes, p, sizeof(*p));
	reach_by(out->search, &s, out->kind, 0, p->where);
}

/* ---- the peer ------------------------------------------------------------------------------------------------------------- */

static void put(struct peers *p, struct item item)
{
	p->wire[p->on_wire++] = item;
}

static struct item name(const struct world *w, struct peers *p, int g)
{
	struct item word = {.kind = WORD};

	if (++p->moves % STRETCH == 0) {
		p->before = p->now;
		p->now = 0;
	}
	p->now |= (uint8_t)(1 << g);
	word.word.moves = p->moves;
	word.word.names = w->rule == THIS_STRETCH_ONLY ? p->now : p->now | p->before;
	return word;
}

static void move(const struct world *w, const struct peers *before, int g, bool split, struct nexts *out)
{
	struct peers p = *before;
	struct item counter = {.kind = COUNTER, .subgroup = (uint8_t)g}, bell = {.kind = BELL};
	struct item word = name(w, &p, g);

	counter.word.moves = ++p.counters[g];
	p.held &= (uint8_t) ~(1 << g);
	put(&p, w->rule == WORD_FIRST ? word : counter);
	if ((split || w->rule == WORD_DOES_NOT_RING) && w->rule != WORD_FIRST)
		put(&p, bell);
	put(&p, w->rule == WORD_FIRST ? counter : word);
	if (w->rule != WORD_DOES_NOT_RING)
		put(&p, bell);
	emit(out, &p);
}

/* The counter now, and the word later. */
static void move_and_hold(const struct peers *before, int g, struct nexts *out)
{
	struct peers p = *before;

	put(&p, (struct item){.kind = COUNTER, .subgroup = (uint8_t)g, .word.moves = ++p.counters[g]});
	put(&p, (struct item){.kind = BELL});
	p.held |= (uint8_t)(1 << g);
	emit(out, &p);
}

static void say_held(const struct world *w, const struct peers *before, int g, struct nexts *out)
{
	struct peers p = *before;

	put(&p, name(w, &p, g));
	put(&p, (struct item){.kind = BELL});
	p.held &= (uint8_t) ~(1 << g);
	emit(out, &p);
}

static int all_moves(const struct peers *p)
{
	int sum = 0;

	for (int g = 0; g < SUBGROUPS; g++)
		sum += p->counters[g];
	return sum;
}

static void arrive(const struct peers *before, struct nexts *out)
{
	struct peers p = *before;
	struct item item = p.wire[0];

	memmove(p.wire, p.wire + 1, sizeof(p.wire) - sizeof(p.wire[0]));
	memset(&p.wire[--p.on_wire], 0, sizeof(p.wire[0]));
	if (item.kind == BELL)
		p.rung |= p.parked;
	else if (item.kind == WORD)
		p.word = item.word;
	else
		p.visible[item.subgroup] = item.word.moves;
	emit(out, &p);
}

/* ---- the reader ------------------------------------------------------------------------------------------------------------- */

static void heat(struct peers *p, uint8_t names)
{
	for (int g = 0; g < SUBGROUPS; g++)
		if (names >> g & 1)
			p->hot[g] = 1;
}

/* Which have moved since it was seen: all, if more than a stretch was missed. */
static uint8_t which(const struct world *w, const struct peers *p)
{
	int far = p->word.moves / STRETCH - (p->seen.moves + 1) / STRETCH;

	return far <= (w->rule == THREE_STRETCHES ? 2 : 1) ? p->word.names : 0xff;
}

static bool has_news(const struct peers *p)
{
	return memcmp(&p->word, &p->seen, sizeof(p->word)) != 0;
}

static struct peers go(struct peers p, enum where where, bool work)
{
	p.where = (uint8_t)where;
	p.at = 0;
	p.work = work;
	return p;
}

/* The next one, if it is active. */
static void step_one(const struct world *w, const struct peers *before, struct nexts *out)
{
	struct peers p = *before;
	uint8_t g = p.at++;
	uint8_t had = w->rule == STEP_LEAVES_WHAT_IS_TAKEN ? p.taken[g] : p.got[g];

	if (p.all && !p.hot[g])
		p.hot[g] = IDLE + 1;
	if (p.hot[g] != 0 && p.visible[g] != had) {
		p.work = 1;
		p.taken[g] = p.got[g] = p.visible[g];
		p.hot[g] = 1;
	} else if (p.hot[g] != 0) {
		p.hot[g] = p.hot[g] <= IDLE ? p.hot[g] + 1 : 0;
	}
	emit(out, &p);
}

static void wake_or_sleep(const struct peers *before, struct nexts *out)
{
	struct peers p = go(*before, before->work ? PASS : SLEEP, false);

	if (before->work)
		p.parked = 0;
	emit(out, &p);
}

/* What the word names has moved: that is work, so the loop does not sleep. */
static void look_behind(const struct world *w, const struct peers *before, struct nexts *out)
{
	struct peers p = *before;

	if (p.where == PASS && p.work) { /* not in each pass */
		p = go(p, PASS, false);
		emit(out, &p);
		p = *before;
	}
	if (p.where == LAST && w->rule == NO_LAST_LOOK) {
		wake_or_sleep(&p, out);
		return;
	}
	if (has_news(&p)) {
		heat(&p, which(w, &p));
		if (w->rule != WORD_READ_AGAIN)
			p.seen = p.word;
		p = go(p, w->rule == WORD_READ_AGAIN ? REREAD : AGAIN, true);
		emit(out, &p);
	} else if (p.where == LAST) {
		wake_or_sleep(&p, out);
	} else {
		bool work = p.work;

		p = go(p, work ? PASS : ARM, false);
		if (!work)
			p.parked = 0;
		emit(out, &p);
	}
}

static void read_behind(const struct world *w, const struct peers *before, struct nexts *out)
{
	struct peers p = *before;

	switch ((enum where)p.where) {
	case PASS:
	case LAST:
	case AGAIN:
		if (p.at < SUBGROUPS) {
			step_one(w, &p, out);
		} else if (p.where == AGAIN) {
			p = go(p, !before->parked || before->work ? PASS : SLEEP, false);
			if (before->work)
				p.parked = 0;
			emit(out, &p);
		} else {
			look_behind(w, &p, out);
		}
		return;
	case ARM:
		p = go(p, LAST, false);
		p.parked = 1;
		break;
	case REREAD:
		p = go(p, AGAIN, true);
		p.seen = p.word;
		break;
	case SLEEP:
		if (!p.rung)
			return;
		p = go(p, PASS, false);
		p.parked = p.rung = 0;
		break;
	default:
		return;
	}
	emit(out, &p);
}

/* ---- as it is built: look, then step ------------------------------------------------------------------------------------------ */

static void look_before(const struct world *w, const struct peers *before, enum where next, struct nexts *out)
{
	struct peers p = *before;

	if (p.all || (next == LAST && w->rule == NO_LAST_LOOK)) {
		p.where = (uint8_t)next;
		emit(out, &p);
		return;
	}
	heat(&p, has_news(&p) ? which(w, &p) : 0);
	if (w->rule == WORD_READ_AGAIN && has_news(&p)) {
		p.where = REREAD;
		p.work = next == LAST; /* what goes on behind it */
	} else {
		p.seen = p.word;
		p.where = (uint8_t)next;
	}
	emit(out, &p);
}

/* Where it begins: with a look, or without; and now and then it steps all from now on, or does so no more. */
static void begin_pass(const struct world *w, const struct peers *before, struct nexts *out)
{
	struct peers p = *before;

	p.where = PASS;
	emit(out, &p);
	look_before(w, before, PASS, out);
	p = *before;
	p.all = !p.all;
	if (before->all && w->rule != ALL_LEFT_COLD) /* it has looked at no word: all may have moved */
		heat(&p, 0xff);
	p.seen = before->all ? p.word : p.seen;
	p.where = PASS;
	emit(out, &p);
}

static void end_pass(const struct peers *before, struct nexts *out)
{
	struct peers p = *before;

	if (p.where == LAST) {
		p = go(p, p.work ? LOOK : SLEEP, false);
		p.parked = before->work ? 0 : p.parked;
		emit(out, &p);
		return;
	}
	p = go(p, LOOK, false);
	emit(out, &p);
	if (!before->work) {
		p.where = ARM;
		emit(out, &p);
	}
}

static void read_built(const struct world *w, const struct peers *before, struct nexts *out)
{
	struct peers p = *before;

	switch ((enum where)p.where) {
	case LOOK:
		begin_pass(w, &p, out);
		return;
	case LAST_LOOK:
		look_before(w, &p, LAST, out);
		return;
	case PASS:
	case LAST:
		if (p.at < SUBGROUPS)
			step_one(w, &p, out);
		else
			end_pass(&p, out);
		return;
	case ARM:
		p.where = LAST_LOOK;
		p.parked = 1;
		break;
	case REREAD:
		p.where = p.work ? LAST : PASS;
		p.work = 0;
		p.seen = p.word;
		break;
	case SLEEP:
		if (!p.rung)
			return;
		p = go(p, LOOK, false);
		p.parked = p.rung = 0;
		break;
	default:
		return;
	}
	emit(out, &p);
}

/* ---- both ------------------------------------------------------------------------------------------------------------------- */

static void go_on(const struct world *w, const struct state *s, struct nexts *out,
		  void (*read)(const struct world *, const struct peers *, struct nexts *))
{
	struct peers p;

	memcpy(&p, s->bytes, sizeof(p));
	out->kind = PEER;
	for (int g = 0; all_moves(&p) < w->moves && p.on_wire < 4 && g < SUBGROUPS; g++) {
		move(w, &p, g, false, out);
		move(w, &p, g, true, out);
	}
	out->kind = WIRE;
	if (p.on_wire > 0)
		arrive(&p, out);
	out->kind = LOOP;
	read(w, &p, out);
}

static void go_on_behind(const struct world *w, const struct state *s, struct nexts *out)
{
	go_on(w, s, out, read_behind);
}

/* A peer that has begun to hold the word back says it later, and before it rests. */
static void go_on_built(const struct world *w, const struct state *s, struct nexts *out)
{
	struct peers p;

	go_on(w, s, out, read_built);
	memcpy(&p, s->bytes, sizeof(p));
	out->kind = PEER;
	for (int g = 0; p.on_wire < 4 && g < SUBGROUPS; g++) {
		if (all_moves(&p) < w->moves)
			move_and_hold(&p, g, out);
		if ((p.held >> g & 1) && w->rule != HELD_FOR_EVER)
			say_held(w, &p, g, out);
	}
}

/* ---- with loops that are lent ------------------------------------------------------------------------------------------------ */

/* For the reader, which yields between two passes, or sleeps. */
static void exchange(const struct world *w, const struct peers *before, int g, struct nexts *out)
{
	struct peers p = *before;

	if (!p.hot[g] && w->rule != WAITER_EXCHANGES_WHAT_IS_COLD)
		return;
	p.taken[g] = p.visible[g];
	if (w->rule == WAITER_SEES_THE_WORD)
		p.seen = p.word;
	emit(out, &p);
}

/* For the peer, which sleeps on: all is said at once. */
static void exchange_at_peer(const struct world *w, const struct peers *p, int g, struct nexts *out)
{
	if (w->rule == WAITER_HOLDS) {
		move_and_hold(p, g, out);
		return;
	}
	move(w, p, g, false, out);
	move(w, p, g, true, out);
}

static void go_on_lent(const struct world *w, const struct state *s, struct nexts *out)
{
	struct peers p, next;
	bool moves;

	memcpy(&p, s->bytes, sizeof(p));
	next = p;
	next.peer_sleeps = !p.peer_sleeps;
	moves = all_moves(&p) < w->moves;
	out->kind = PEER;
	if (moves && p.held == 0) /* it has said all before it sleeps */
		emit(out, &next);
	out->kind = WAITER;
	for (int g = 0; g < SUBGROUPS; g++) {
		if (p.peer_sleeps && moves && p.on_wire < 4)
			exchange_at_peer(w, &p, g, out);
		if (p.where == LOOK || p.where == SLEEP)
			exchange(w, &p, g, out);
	}
	if (!p.peer_sleeps) {
		go_on_built(w, s, out);
		return;
	}
	out->kind = WIRE;
	if (p.on_wire > 0)
		arrive(&p, out);
	out->kind = LOOP;
	read_built(w, &p, out);
}

static void begin_at(struct state *s, enum where where)
{
	struct peers p = {.where = (uint8_t)where};

	memset(s, 0, sizeof(*s));
	memcpy(s->bytes, &p, sizeof(p));
}

static void begin_behind(struct state *s)
{
	begin_at(s, PASS);
}

static void begin_built(struct state *s)
{
	begin_at(s, LOOK);
}

static bool is_rest(const struct world *w, const struct state *s)
{
	struct peers p;

	memcpy(&p, s->bytes, sizeof(p));
	return p.on_wire == 0 && (p.held == 0 || p.peer_sleeps || w->rule == HELD_FOR_EVER) && p.where == SLEEP &&
	       !p.rung && all_moves(&p) == w->moves;
}

static bool has_seen_all(const struct state *s)
{
	struct peers p;

	memcpy(&p, s->bytes, sizeof(p));
	return memcmp(p.counters, p.got, sizeof(p.got)) == 0;
}

const struct half peers_behind = {begin_behind, go_on_behind, is_rest, has_seen_all};
const struct half peers_built = {begin_built, go_on_built, is_rest, has_seen_all};
const struct half peers_lent = {begin_built, go_on_lent, is_rest, has_seen_all};
