/* quiet_commits.c - a thread that commits, and the loop of its node. See quiet.h. */
#include <string.h>

#include "quiet.h"

enum at { IDLE, FIRST, TEST, SET, RING };
enum where { PASS, CLEAR, BARRIER, PARK, LAST, SLEEP };

struct commits {
	uint8_t visible, buffered,
		made;    /* the ring's mark: what others see, what lies in the buffer yet, and how many there are */
	uint8_t at, saw; /* of the thread; the bit as it saw it */
	uint8_t bit, parked, rung;
	uint8_t where, hot, idle; /* of the loop */
	uint8_t sent, got;        /* of what is visible; and delivered, by the loop */
};

_Static_assert(sizeof(struct commits) <= STATE_BYTES, "a state has room");

static void emit(struct nexts *out, struct commits c)
{
	struct state s = {{0}};

	memcpy(s.bytes, &c, sizeof(c));
	reach_by(out->search, &s, out->kind, 0, c.where);
}

static struct commits fenced(struct commits c)
{
	c.visible = c.made;
	c.buffered = 0;
	return c;
}

/* ---- the thread ------------------------------------------------------------------------------------------------------------- */

static struct commits store_mark(struct commits c, enum at next)
{
	c.buffered = 1;
	c.made++;
	c.at = (uint8_t)next;
	return c;
}

static void commit(const struct world *w, struct commits c, struct nexts *out)
{
	bool fences = w->rule == COMMITS_FENCE || w->rule == COMMITS_FENCE_TOO_LATE;

	switch ((enum at)c.at) {
	case IDLE:
		if (c.made >= w->moves || c.buffered)
			return;
		if (w->rule == BIT_FIRST) {
			c.at = FIRST;
			c.saw = c.bit;
			emit(out, c);
		} else {
			c.saw = 0;
			emit(out, store_mark(c, TEST));
		}
		return;
	case FIRST:
		c = store_mark(c, c.saw ? RING : SET);
		c.saw = 0;
		break;
	case TEST:
		if (w->rule == COMMITS_FENCE && c.buffered)
			return;
		c.at = c.bit ? RING : SET;
		break;
	case SET: /* a read-modify-write is a fence */
		c = fenced(c);
		c.bit = 1;
		c.at = RING;
		break;
	case RING:
		if (fences && c.buffered)
			return;
		c.rung |= c.parked;
		c.parked = 0;
		c.at = IDLE;
		break;
	}
	emit(out, c);
}

/* ---- the loop ----------------------------------------------------------------------------------------------------------------- */

/* Busy with something else, and this ring would be left out but for its bit. */
static void take_bit(const struct world *w, struct commits c, struct nexts *out)
{
	if (w->rule == BARRIER_FIRST) {
		c = fenced(c);
		c.where = CLEAR;
		c.idle = 1;
	} else {
		c.bit = c.idle = 0;
		c.where = w->rule == NO_BARRIER ? PASS : BARRIER;
	}
	emit(out, c);
}

static void park(const struct world *w, struct commits c, struct nexts *out)
{
	c.hot = c.hot || c.bit;
	if (w->rule != BIT_TAKEN_AFTER_THE_LOOK)
		c.bit = 0;
	c.parked = 1;
	c.where = PARK;
	c.idle = 0;
	emit(out, c);
}

static void pass(const struct world *w, struct commits c, struct nexts *out)
{
	uint8_t had = w->rule == PASS_LEAVES_WHAT_IS_SENT ? c.sent : c.got;
	bool found = c.hot && c.visible != had, last = c.where == LAST;
	struct commits next = c;

	if (found) {
		next.parked = last ? 0 : c.parked;
		next.where = PASS;
		next.hot = 1;
		next.idle = 0;
		next.sent = next.got = c.visible;
		emit(out, next);
	} else if (c.hot && c.idle < 1) {
		next.idle++;
		emit(out, next);
	} else if (c.hot && !c.bit) {
		next.hot = next.idle = 0;
		emit(out, next);
	} else if (c.hot && !last) {
		take_bit(w, c, out);
	}
	next = c;
	if (c.bit && !c.hot && (!last || !found)) {
		next.hot = 1;
		next.idle = 0;
		emit(out, next);
		return;
	}
	if (!last && c.visible == had)
		park(w, c, out);
	if (last && !found) {
		next.bit = w->rule == BIT_TAKEN_AFTER_THE_LOOK ? 0 : c.bit;
		next.where = SLEEP;
		emit(out, next);
	}
}

static void run_loop(const struct world *w, struct commits c, struct nexts *out)
{
	bool by_barrier = w->rule != COMMITS_FENCE && w->rule != COMMITS_FENCE_TOO_LATE;

	switch ((enum where)c.where) {
	case PASS:
	case LAST:
		pass(w, c, out);
		return;
	case CLEAR:
		c.bit = c.idle = 0;
		c.where = PASS;
		break;
	case BARRIER:
	case PARK:
		c.where = c.where == BARRIER ? PASS : LAST;
		if (by_barrier)
			c = fenced(c);
		break;
	case SLEEP:
		if (!c.rung)
			return;
		c.parked = c.rung = 0;
		c.where = PASS;
		break;
	}
	emit(out, c);
}

/* ---- a thread that waits for room, while the loop yields or sleeps ------------------------------------------------------------------ */

static void exchange(const struct world *w, struct commits c, struct nexts *out)
{
	if ((c.where != PASS && c.where != SLEEP) || (!c.hot && !c.bit))
		return;
	c.sent = c.visible;
	if (w->rule == WAITER_TAKES_THE_BIT)
		c.bit = 0;
	emit(out, c);
}

/* ---- the world ------------------------------------------------------------------------------------------------------------------ */

static void begin(struct state *s)
{
	memset(s, 0, sizeof(*s));
}

static void go_on(const struct world *w, const struct state *s, struct nexts *out)
{
	struct commits c;

	memcpy(&c, s->bytes, sizeof(c));
	out->kind = BUFFER;
	if (c.buffered)
		emit(out, fenced(c));
	out->kind = THREAD;
	commit(w, c, out);
	out->kind = LOOP;
	run_loop(w, c, out);
}

static bool is_rest(const struct world *w, const struct state *s)
{
	struct commits c;

	memcpy(&c, s->bytes, sizeof(c));
	return c.made == w->moves && c.at == IDLE && !c.buffered && c.where == SLEEP && !c.rung;
}

static bool has_seen_all(const struct state *s)
{
	struct commits c;

	memcpy(&c, s->bytes, sizeof(c));
	return c.got == c.made;
}

static void go_on_lent(const struct world *w, const struct state *s, struct nexts *out)
{
	struct commits c;

	memcpy(&c, s->bytes, sizeof(c));
	go_on(w, s, out);
	out->kind = WAITER;
	exchange(w, c, out);
}

const struct half commits = {begin, go_on, is_rest, has_seen_all};
const struct half commits_lent = {begin, go_on_lent, is_rest, has_seen_all};
