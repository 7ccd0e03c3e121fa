/* parts.c - messages in several slots (docs/decisions/0045), in all interleavings: a writer, a reader, and a removal of the writer.
 *
 * The writer has a ring of some slots. Its messages have one to three parts; a message takes as many slots, and one round. It fills a slot,
 * pushes it at once, before there is a guard, and then announces the message by its guard: rounds covered, slots announced, in one
 * word. What it pushes becomes visible at a reader in the order of the pushes (T2), some time; or never, when the writer is gone. Two readers
 * take in what a guard says, deliver what both have received, and say so; the writer frees what both have delivered, and fills it again.
 * At any moment the writer may go: then a cut is made of what both have received, and both deliver up to it.
 *
 * What must hold: a reader delivers whole messages, with the parts that were filled for them; both readers have delivered the same in the
 * end; a slot is not filled again before both have delivered its message; and nothing comes to a stand before all are delivered, unless
 * the writer goes. Each rule is then replaced by a wrong one: the search must find what breaks.
 */
#include "explorer.h"

#define WINDOW 3
#define READERS 2
#define MESSAGES 6
#define STEPS 16

static const uint8_t parts_of[MESSAGES] = {1, 3, 2, 2, 3, 1};

enum rule {
	RIGHT,
	ANNOUNCED_IN_PART, /* the guard announces each slot when it is filled, and covers the round with the first */
	CUT_WITHIN,        /* a round for each part: received, and cut, part by part */
	FREED_BY_SLOT,     /* one slot is freed for each round that is delivered */
	GUARD_FIRST,       /* the guard leaves before the last slot */
	WINDOW_BY_MESSAGE, /* the window counts messages, and a message may take more slots than there are */
};

struct cell { /* of a ring: which part of which message, + 1; 0: nothing */
	uint8_t message, part;
};

struct copy { /* what a reader sees, and what it has done */
	struct cell slots[WINDOW];
	uint8_t covered, announced; /* of the guard: rounds, slots */
	uint8_t seen;               /* pushes that are visible */
	uint8_t received;           /* rounds */
	uint8_t taken;              /* slots that go with them */
	uint8_t delivered;          /* rounds */
	uint8_t slot;               /* of the next */
	uint8_t half;               /* CUT_WITHIN: parts of a message that it has had */
};

struct state {
	struct cell slots[WINDOW]; /* the writer's */
	uint8_t message, part;     /* what is filled next */
	uint8_t filled, covered, announced, freed;
	uint8_t pushes; /* so far */
	uint8_t gone, cut;
	struct copy readers[READERS];
	struct push {
		uint8_t guard; /* else a slot */
		uint8_t a, b, c;
	} log[24]; /* all that was pushed; a slot and a guard for each part, at most */
};

struct world {
	enum rule rule;
};

enum step_kind { FILL, FREE, SEE, RECEIVE, DELIVER, REMOVE, STEP_KINDS };

#define MIXED "a message is delivered with what is not its own"
#define HALF "half of a message is all that there will be"
#define STILL "it stands still"

static void push(struct state *st, uint8_t guard, uint8_t a, uint8_t b, uint8_t c)
{
	st->log[st->pushes++] = (struct push){guard, a, b, c};
}

/* ---- the writer ------------------------------------------------------------------------------------------------------- */

static uint8_t least_delivered(const struct state *st)
{
	uint8_t least = st->readers[0].delivered;

	return st->readers[1].delivered < least ? st->readers[1].delivered : least;
}

/* Rounds that message `m` takes. */
static uint8_t rounds_of(enum rule rule, uint8_t m)
{
	return rule == CUT_WITHIN ? parts_of[m] : 1;
}

/* Of what both have delivered. */
static uint8_t free_slots(const struct world *w, const struct state *st)
{
	uint8_t least = least_delivered(st), rounds = 0, slots = 0;

	for (uint8_t m = 0; m < MESSAGES; m++) {
		rounds = (uint8_t)(rounds + rounds_of(w->rule, m));
		if (rounds <= least)
			slots = (uint8_t)(slots + parts_of[m]);
	}
	return w->rule == FREED_BY_SLOT ? least : slots;
}

static bool has_room(const struct world *w, const struct state *st)
{
	if (w->rule == WINDOW_BY_MESSAGE)
		return st->part > 0 || st->message < least_delivered(st) + WINDOW;
	return st->part > 0 || st->filled + parts_of[st->message] <= st->freed + WINDOW;
}

static void announce(const struct world *w, struct state *st, bool whole)
{
	if (w->rule == ANNOUNCED_IN_PART) {
		st->covered = (uint8_t)(st->message + 1);
		st->announced = st->filled;
	} else if (w->rule == CUT_WITHIN) {
		st->covered = st->announced = st->filled;
	} else if (whole) {
		st->covered = (uint8_t)(st->message + 1);
		st->announced = st->filled;
	} else {
		return;
	}
	push(st, 1, st->covered, st->announced, 0);
}

/* Fills one slot and pushes it; behind the last of a message its guard. */
static void fill(const struct world *w, struct state *st)
{
	uint8_t slot = st->filled % WINDOW;
	bool last = st->part + 1 == parts_of[st->message];
	struct cell cell = {(uint8_t)(st->message + 1), (uint8_t)(st->part + 1)};

	st->slots[slot] = cell;
	st->filled++;
	if (w->rule == GUARD_FIRST && last)
		announce(w, st, true);
	push(st, 0, slot, cell.message, cell.part);
	if (w->rule != GUARD_FIRST || !last)
		announce(w, st, last);
	st->part = last ? 0 : (uint8_t)(st->part + 1);
	st->message = (uint8_t)(st->message + last);
}

/* ---- readers ---------------------------------------------------------------------------------------------------------- */

static void see(const struct state *st, struct copy *copy)
{
	const struct push *next = &st->log[copy->seen++];

	if (next->guard) {
		copy->covered = next->a;
		copy->announced = next->b;
	} else {
		copy->slots[next->a] = (struct cell){next->b, next->c};
	}
}

/* With the wrong rule: the next part, as it lies there. */
static const char *deliver_part(struct copy *copy)
{
	uint8_t m = 0, first = 0;
	bool is_own;

	for (; first + parts_of[m] <= copy->delivered; m++)
		first = (uint8_t)(first + parts_of[m]);
	copy->half = (uint8_t)((copy->delivered - first + 1) % parts_of[m]);
	is_own = copy->slots[copy->slot].message == m + 1;
	copy->slot = (uint8_t)((copy->slot + 1) % WINDOW);
	copy->delivered++;
	return is_own ? NULL : "a part of another message is delivered";
}

/* The next message, as it lies there. */
static const char *deliver(struct copy *copy)
{
	uint8_t m = copy->delivered++, first = 0;
	const char *wrong = NULL;

	for (uint8_t i = 0; i < m; i++)
		first = (uint8_t)(first + parts_of[i]);
	if (first + parts_of[m] > copy->taken)
		wrong = "a part of a message is delivered";
	for (uint8_t k = 0; k < parts_of[m]; k++) {
		const struct cell *cell = &copy->slots[(first + k) % WINDOW];

		if (cell->message != m + 1 || cell->part != k + 1)
			wrong = MIXED;
	}
	return wrong;
}

static uint8_t stable(const struct state *st)
{
	uint8_t a = st->readers[0].received, b = st->readers[1].received;

	if (st->gone)
		return st->cut;
	return a < b ? a : b;
}

/* ---- all of it ---------------------------------------------------------------------------------------------------- */

static uint8_t all_rounds(enum rule rule)
{
	uint8_t rounds = 0;

	for (uint8_t m = 0; m < MESSAGES; m++)
		rounds = (uint8_t)(rounds + rounds_of(rule, m));
	return rounds;
}

static int steps_from(const struct world *w, const struct state *st, bool calm, struct step *out)
{
	int count = 0;

	if (!st->gone && st->message < MESSAGES && has_room(w, st))
		out[count++] = (struct step){FILL, 0, st->filled % WINDOW};
	if (!st->gone && free_slots(w, st) > st->freed)
		out[count++] = (struct step){FREE, 0, free_slots(w, st)};
	for (uint8_t r = 0; r < READERS; r++) {
		const struct copy *copy = &st->readers[r];

		if (!st->gone && copy->seen < st->pushes)
			out[count++] = (struct step){SEE, r};
		if (!st->gone && (copy->received < copy->covered || copy->taken < copy->announced))
			out[count++] = (struct step){RECEIVE, r};
		if (copy->delivered < stable(st))
			out[count++] = (struct step){DELIVER, r, copy->delivered};
	}
	if (!st->gone && !calm)
		out[count++] = (struct step){REMOVE, 0, stable(st)};
	return count;
}

static const char *take(const struct world *w, struct state *st, struct step step)
{
	struct copy *copy = &st->readers[step.node];

	switch ((enum step_kind)step.kind) {
	case FILL:
		fill(w, st);
		return NULL;
	case FREE:
		st->freed = step.other;
		return NULL;
	case SEE:
		see(st, copy);
		return NULL;
	case RECEIVE:
		copy->received = copy->covered;
		copy->taken = copy->announced;
		return NULL;
	case DELIVER:
		return w->rule == CUT_WITHIN ? deliver_part(copy) : deliver(copy);
	default: /* REMOVE: what was pushed and is not visible is lost, and what both have received is delivered */
		st->cut = step.other;
		st->gone = 1;
		return NULL;
	}
}

static const char *judge(struct search *x, const struct state *st)
{
	uint8_t all = all_rounds(x->world->rule);
	struct step steps[STEPS];
	bool moves = steps_from(x->world, st, true, steps) > 0;

	if (st->readers[0].delivered == all && st->readers[1].delivered == all)
		x->noted[0]++;
	else if (!moves && !st->gone)
		return STILL;
	return st->gone && !moves && (st->readers[0].half != 0 || st->readers[1].half != 0) ? HALF : NULL;
}

static const struct trial trials[] = {
	{"all rules", EVERY, NULL, WORLD(RIGHT)},
	{"the guard announces a part of a round", EVERY, MIXED, WORLD(ANNOUNCED_IN_PART)},
	{"a round for each part, and a cut within", EVERY, HALF, WORLD(CUT_WITHIN)},
	{"one slot is freed for each round", EVERY, STILL, WORLD(FREED_BY_SLOT)},
	{"the guard leaves before the last slot", EVERY, MIXED, WORLD(GUARD_FIRST)},
	{"the window counts messages", EVERY, MIXED, WORLD(WINDOW_BY_MESSAGE)},
};

int main(int argc, char **argv)
{
	static const char *const names[STEP_KINDS] = {"fills slot", "has freed slots:", "sees a push",
						      "receives",   "delivers",         "is removed, with a cut of"};
	static const char *const notes[] = {"with all delivered", NULL};
	static const struct model model = {
		.what = "parts: messages in several slots",
		.state_bytes = sizeof(struct state),
		.notes = notes,
		.not_in_vain = true,
		.most = UINT32_MAX,
		.steps = steps_from,
		.take = take,
		.judge = judge,
		.names = names,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
