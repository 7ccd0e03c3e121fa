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
 * the writer goes. Each rule is then replaced by a wrong one: the search must find what breaks. -v prints the shortest course to it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

#define WINDOW 3
#define READERS 2
#define MESSAGES 6

static const uint8_t parts_of[MESSAGES] = {1, 3, 2, 2, 3, 1};

enum rule {
	RIGHT,
	ANNOUNCED_IN_PART, /* the guard announces each slot when it is filled, and covers the round with the first */
	CUT_WITHIN,        /* a round for each part: received, and cut, part by part */
	FREED_BY_SLOT,     /* one slot is freed for each round that is delivered */
	GUARD_FIRST,       /* the guard leaves before the last slot */
	WINDOW_BY_MESSAGE, /* the window counts messages, and a message may take more slots than there are */
	RULES
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

struct entry {
	struct state state;
	uint32_t before; /* its number + 1 */
	char step[20];
};

struct search {
	enum rule rule;
	uint32_t at;
	struct book book;
	const char *broken;
	bool all; /* everything has been delivered, in some course */
	bool moved;
};

static void reach(struct search *s, const struct state *to, const char *step, uint32_t which)
{
	struct entry entry;

	memset(&entry, 0, sizeof(entry));
	entry.state = *to;
	entry.before = s->at + 1;
	snprintf(entry.step, sizeof(entry.step), "%s %u", step, (unsigned)which);
	s->moved = true;
	(void)book_add(&s->book, &entry);
}

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

static void free_slots(struct search *s, struct state st)
{
	uint8_t least = least_delivered(&st), rounds = 0, slots = 0;

	for (uint8_t m = 0; m < MESSAGES; m++) {
		rounds = (uint8_t)(rounds + rounds_of(s->rule, m));
		if (rounds <= least)
			slots = (uint8_t)(slots + parts_of[m]);
	}
	if (s->rule == FREED_BY_SLOT)
		slots = least;
	if (slots <= st.freed)
		return;
	st.freed = slots;
	reach(s, &st, "free", slots);
}

static bool has_room(const struct search *s, const struct state *st)
{
	uint8_t needs = st->part == 0 ? parts_of[st->message] : 1;

	if (s->rule == WINDOW_BY_MESSAGE)
		return st->part > 0 || st->message < least_delivered(st) + WINDOW;
	return st->part > 0 || st->filled + needs <= st->freed + WINDOW;
}

static void announce(struct search *s, struct state *st, bool whole)
{
	if (s->rule == ANNOUNCED_IN_PART) {
		st->covered = (uint8_t)(st->message + 1);
		st->announced = st->filled;
	} else if (s->rule == CUT_WITHIN) {
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
static void fill(struct search *s, struct state st)
{
	uint8_t slot = st.filled % WINDOW;
	bool last = st.part + 1 == parts_of[st.message];
	struct cell cell = {(uint8_t)(st.message + 1), (uint8_t)(st.part + 1)};

	if (!has_room(s, &st))
		return;
	st.slots[slot] = cell;
	st.filled++;
	if (s->rule == GUARD_FIRST && last) {
		announce(s, &st, true);
		push(&st, 0, slot, cell.message, cell.part);
	} else {
		push(&st, 0, slot, cell.message, cell.part);
		announce(s, &st, last);
	}
	st.part = last ? 0 : (uint8_t)(st.part + 1);
	st.message = (uint8_t)(st.message + last);
	reach(s, &st, "fill", slot);
}

/* ---- readers ---------------------------------------------------------------------------------------------------------- */

static void see(struct search *s, struct state st, uint32_t r)
{
	struct copy *copy = &st.readers[r];
	const struct push *next = &st.log[copy->seen++];

	if (next->guard) {
		copy->covered = next->a;
		copy->announced = next->b;
	} else {
		copy->slots[next->a] = (struct cell){next->b, next->c};
	}
	reach(s, &st, "see", r);
}

static void receive(struct search *s, struct state st, uint32_t r)
{
	struct copy *copy = &st.readers[r];

	copy->received = copy->covered;
	copy->taken = copy->announced;
	reach(s, &st, "receive", r);
}

/* The next message, as it lies there; or, with a wrong rule, a part of one. */
static void deliver(struct search *s, struct state st, uint32_t r)
{
	struct copy *copy = &st.readers[r];
	uint8_t m = 0, first = 0;

	if (s->rule == CUT_WITHIN) {
		for (first = 0; first + parts_of[m] <= copy->delivered; m++)
			first = (uint8_t)(first + parts_of[m]);
		copy->half = (uint8_t)((copy->delivered - first + 1) % parts_of[m]);
		if (copy->slots[copy->slot].message != m + 1)
			s->broken = "a part of another message is delivered";
		copy->slot = (uint8_t)((copy->slot + 1) % WINDOW);
	} else {
		m = copy->delivered;
		for (uint8_t i = 0; i < m; i++)
			first = (uint8_t)(first + parts_of[i]);
		if (first + parts_of[m] > copy->taken)
			s->broken = "a part of a message is delivered";
		for (uint8_t k = 0; k < parts_of[m]; k++) {
			const struct cell *cell = &copy->slots[(first + k) % WINDOW];

			if (cell->message != m + 1 || cell->part != k + 1)
				s->broken = "a message is delivered with what is not its own";
		}
	}
	copy->delivered++;
	reach(s, &st, "deliver", r);
}

static uint8_t stable(const struct state *st)
{
	uint8_t a = st->readers[0].received, b = st->readers[1].received;

	if (st->gone)
		return st->cut;
	return a < b ? a : b;
}

/* It is removed: what it has pushed and is not visible is lost, and what both have received is delivered. */
static void go(struct search *s, struct state st)
{
	st.cut = stable(&st);
	st.gone = 1;
	reach(s, &st, "gone", st.cut);
}

/* ---- the search ------------------------------------------------------------------------------------------------------- */

static uint8_t all_rounds(enum rule rule)
{
	uint8_t rounds = 0;

	for (uint8_t m = 0; m < MESSAGES; m++)
		rounds = (uint8_t)(rounds + rounds_of(rule, m));
	return rounds;
}

static void step(struct search *s, const struct state *st)
{
	if (!st->gone && st->message < MESSAGES)
		fill(s, *st);
	if (!st->gone)
		free_slots(s, *st);
	for (uint32_t r = 0; r < READERS && s->broken == NULL; r++) {
		const struct copy *copy = &st->readers[r];

		if (!st->gone && copy->seen < st->pushes)
			see(s, *st, r);
		if (!st->gone && (copy->received < copy->covered || copy->taken < copy->announced))
			receive(s, *st, r);
		if (copy->delivered < stable(st))
			deliver(s, *st, r);
	}
	if (!st->gone && s->broken == NULL)
		go(s, *st);
}

/* Nothing but a removal is left to happen. */
static void check_rest(struct search *s, const struct state *st, bool moves)
{
	uint8_t all = all_rounds(s->rule);

	if (st->readers[0].delivered == all && st->readers[1].delivered == all)
		s->all = true;
	else if (!moves && !st->gone)
		s->broken = "it stands still";
	if (st->gone && !moves && (st->readers[0].half != 0 || st->readers[1].half != 0))
		s->broken = "half of a message is all that there will be";
}

/* Does anything but a removal go on from here? */
static bool can_move(struct search *s, const struct state *st)
{
	struct search probe = {.rule = s->rule,
			       .book = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)}};
	uint32_t steps;

	probe.at = 0;
	step(&probe, st);
	steps = probe.book.count + (probe.broken != NULL);
	book_close(&probe.book);
	return steps > (st->gone ? 0u : 1u);
}

static bool explore(struct search *s)
{
	struct state start;

	memset(&start, 0, sizeof(start));
	s->at = UINT32_MAX; /* + 1: none */
	reach(s, &start, "begin", 0);
	for (s->at = 0; s->at < s->book.count; s->at++) {
		const struct entry entry = ((const struct entry *)(const void *)s->book.entries)[s->at];

		check_rest(s, &entry.state, can_move(s, &entry.state));
		if (s->broken != NULL)
			return true;
		step(s, &entry.state);
		if (s->broken != NULL)
			return true;
	}
	return false;
}

static void print_course(const struct search *s, uint32_t at)
{
	const struct entry *entry = &((const struct entry *)(const void *)s->book.entries)[at];

	if (entry->before != 0)
		print_course(s, entry->before - 1);
	printf(" %s", entry->step);
}

static const char *const names[RULES] = {
	"all rules",
	"the guard announces a part of a round",
	"a round for each part, and a cut within",
	"one slot is freed for each round",
	"the guard leaves before the last slot",
	"the window counts messages",
};

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	int surprises = 0;

	for (int rule = 0; rule < RULES; rule++) {
		struct search s = {.rule = (enum rule)rule,
				   .book = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)}};
		bool broken = explore(&s), expected = broken == (rule != RIGHT) && (broken || s.all);

		printf("%-42s %8u states  %s%s%s\n", names[rule], (unsigned)s.book.count, broken ? "broken: " : "holds",
		       broken ? s.broken : "", expected ? "" : "  <-- SURPRISE");
		if (broken && verbose) {
			print_course(&s, s.at);
			printf("\n");
		}
		surprises += !expected;
		book_close(&s.book);
	}
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
