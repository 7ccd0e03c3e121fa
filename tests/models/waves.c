/* waves.c - when shortest paths by parts have ended (bench/paths.h): sent and received are counted in waves; in all interleavings.
 *
 * Parts send each other batches, which arrive in any order. A part is *active* while it has something to do, or to send; only an active one
 * sends, and one that is not becomes active by receiving alone. Each counts what it has sent and received. A wave looks at each part once,
 * at some moment, in any order. The rules:
 *  W1 A wave begins when the one before has ended.
 *  W2 It has ended if what was received, as one wave found it, is what was sent, as the next one found it,
 *  W3 and in the first of the two no part was active. (Or in the second: that holds as well.)
 *  W4 What is sent is counted before the part rests; what is received, not before the part is active.
 * What must hold: when the rules say so nothing is active or on its way; and from wherever it is they can come to say so. Each rule is then left
 * out: the search must find what breaks.
 */
#include <string.h>

#include "explorer.h"

#define PARTS 3

enum variant {
	RULES,
	QUIET_IN_SECOND, /* W3, of the second wave */
	ONE_WAVE,        /* not W2: of one and the same */
	UNCHANGED,       /* not W2: two waves find the same, whatever it is */
	ANY_ACTIVE,      /* not W3 */
	OVERLAPPING,     /* not W1 */
	COUNTED_LATE,    /* not W4: what is sent is counted when the part is looked at next */
	EARLY_RECEIVED,  /* not W4: a batch is counted when it has come, and makes the part active later */
	TOO_STRICT, /* W2, of the sums of one part alone that is looked at: it never sends as much as it receives */
};

struct world {
	uint8_t variant, sends; /* batches in all */
};

struct sums {
	uint8_t sent, received, active;
};

struct state {
	uint8_t flight[PARTS][PARTS]; /* from, to: on their way */
	uint8_t active[PARTS], sent[PARTS], received[PARTS];
	uint8_t uncounted[PARTS]; /* sent, or received, and not counted yet, or not acted upon */
	uint8_t asked;            /* parts that the wave has looked at: a set */
	uint8_t early;            /* and those that the next one has, where they overlap */
	struct sums now, ahead, last;
	uint8_t waves; /* 0, 1, or 2: more */
	uint8_t ended;
};

enum step_kind { SENDS, RECEIVES, ACTS, RESTS, IS_LOOKED_AT, IS_LOOKED_AT_AHEAD, STEP_KINDS };

#define EARLY "it is said to have ended, and something goes on"
#define ENDLESS "its end is never found"

/* ---- parts ----------------------------------------------------------------------------------------------------------------- */

static unsigned sent_by(const struct state *st)
{
	unsigned sum = 0;

	for (int p = 0; p < PARTS; p++)
		sum += st->sent[p];
	return sum;
}

static void send_batch(struct search *x, struct state st, unsigned p, unsigned to)
{
	unsigned all = sent_by(&st);

	for (int q = 0; q < PARTS && x->world->variant == COUNTED_LATE; q++)
		all += st.uncounted[q];
	if (!st.active[p] || all >= x->world->sends)
		return;
	if (x->world->variant == COUNTED_LATE)
		st.uncounted[p]++;
	else
		st.sent[p]++;
	st.flight[p][to]++;
	reach_by(x, &st, SENDS, p, to);
}

static void receive_batch(struct search *x, struct state st, unsigned p, unsigned from)
{
	if (st.flight[from][p] == 0)
		return;
	st.flight[from][p]--;
	st.received[p]++;
	if (x->world->variant == EARLY_RECEIVED)
		st.uncounted[p]++;
	else
		st.active[p] = 1;
	reach_by(x, &st, RECEIVES, p, from);
}

static void act(struct search *x, struct state st, unsigned p)
{
	if (x->world->variant != EARLY_RECEIVED || st.uncounted[p] == 0)
		return;
	st.uncounted[p]--;
	st.active[p] = 1;
	reach_by(x, &st, ACTS, p, 0);
}

static void rest(struct search *x, struct state st, unsigned p)
{
	if (!st.active[p])
		return;
	st.active[p] = 0;
	reach_by(x, &st, RESTS, p, 0);
}

/* ---- waves ----------------------------------------------------------------------------------------------------------------- */

static void add_part(struct state *st, struct sums *sums, unsigned p)
{
	sums->sent += st->sent[p];
	sums->received += st->received[p];
	sums->active |= st->active[p];
}

static bool says_end(const struct world *w, const struct state *st)
{
	const struct sums *first = &st->last, *second = &st->now;
	bool quiet = first->active == 0;

	if (w->variant == ONE_WAVE)
		return second->active == 0 && second->received == second->sent;
	if (st->waves == 0)
		return false;
	if (w->variant == UNCHANGED)
		return quiet && second->active == 0 && first->received == second->received &&
		       first->sent == second->sent;
	if (w->variant == ANY_ACTIVE)
		quiet = true;
	if (w->variant == QUIET_IN_SECOND)
		quiet = second->active == 0;
	if (w->variant == TOO_STRICT)
		return quiet && first->received == second->sent && st->sent[0] == st->received[0];
	return quiet && first->received == second->sent;
}

static void end_wave(const struct world *w, struct state *st)
{
	st->ended = says_end(w, st);
	st->last = st->now;
	st->now = st->ahead;
	st->asked = st->early;
	st->early = 0;
	memset(&st->ahead, 0, sizeof(st->ahead));
	if (st->waves < 2)
		st->waves++;
}

static void look_at(struct search *x, struct state st, unsigned p)
{
	if ((st.asked >> p & 1) != 0) {
		if (x->world->variant != OVERLAPPING || (st.early >> p & 1) != 0)
			return;
		st.early |= (uint8_t)(1 << p);
		add_part(&st, &st.ahead, p);
		reach_by(x, &st, IS_LOOKED_AT_AHEAD, p, 0);
		return;
	}
	st.asked |= (uint8_t)(1 << p);
	add_part(&st, &st.now, p);
	if (x->world->variant == COUNTED_LATE) {
		st.sent[p] += st.uncounted[p];
		st.uncounted[p] = 0;
	}
	if (st.asked == (1 << PARTS) - 1)
		end_wave(x->world, &st);
	reach_by(x, &st, IS_LOOKED_AT, p, 0);
}

static void go_on(struct search *x, const struct state *st)
{
	if (st->ended)
		return;
	for (unsigned p = 0; p < PARTS; p++) {
		for (unsigned q = 0; q < PARTS; q++)
			if (q != p) {
				send_batch(x, *st, p, q);
				receive_batch(x, *st, p, q);
			}
		act(x, *st, p);
		rest(x, *st, p);
		look_at(x, *st, p);
	}
}

/* ---- what must hold -------------------------------------------------------------------------------------------------------- */

static const char *judge(struct search *x, const struct state *st)
{
	bool goes_on = false;

	for (int p = 0; p < PARTS; p++) {
		goes_on |= st->active[p] != 0 || (x->world->variant == EARLY_RECEIVED && st->uncounted[p] != 0);
		for (int q = 0; q < PARTS; q++)
			goes_on |= st->flight[p][q] != 0;
	}
	x->noted[0] += st->ended && sent_by(st) == x->world->sends;
	return st->ended && goes_on ? EARLY : NULL;
}

static bool has_ended(const struct world *w, const struct state *st)
{
	(void)w;
	return st->ended;
}

static void begin(const struct world *w, struct state *st)
{
	(void)w;
	st->active[0] = 1; /* it has the root */
}

static const struct trial trials[] = {
	{"three parts, four batches", EVERY, NULL, WORLD(RULES, 4)},
	{"active ones count in the second wave", EVERY, NULL, WORLD(QUIET_IN_SECOND, 4)},
	{"the sums of one wave are compared", EVERY, EARLY, WORLD(ONE_WAVE, 4)},
	{"two waves find the same sums", EVERY, EARLY, WORLD(UNCHANGED, 4)},
	{"parts may be active", EVERY, EARLY, WORLD(ANY_ACTIVE, 4)},
	{"a wave begins before the other has ended", EVERY, EARLY, WORLD(OVERLAPPING, 4)},
	{"what is sent is counted when the part was looked at", EVERY, EARLY, WORLD(COUNTED_LATE, 4)},
	{"a part is active some time after it has received", EVERY, EARLY, WORLD(EARLY_RECEIVED, 4)},
	{"a part must have sent what it has received", EVERY, ENDLESS, WORLD(TOO_STRICT, 4)},
};

int main(int argc, char **argv)
{
	static const char *const names[STEP_KINDS] = {"sends to", "receives from", "acts on that",
						      "rests",    "is looked at",  "is looked at by the next wave"};
	static const char *const notes[] = {"with the end, behind all batches", NULL};
	static const struct model model = {
		.what = "waves: when all that is sent has been received, and nothing goes on",
		.state_bytes = sizeof(struct state),
		.notes = notes,
		.not_in_vain = true,
		.most = UINT32_MAX,
		.begin = begin,
		.go_on = go_on,
		.judge = judge,
		.is_goal = has_ended,
		.stuck = ENDLESS,
		.names = names,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
