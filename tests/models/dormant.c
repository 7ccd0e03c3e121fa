/* dormant.c - durable subgroups made at run time, of which no member may be left: what is tried. dormant.h says what the model is, and
 * what must hold.
 *
 * The rules must hold in all states of a small world. Then they are taken out, one at a time, and each time what must not be has to be
 * found.
 *
 *     dormant [-v] [times [words]]
 *
 * One line for each; exit status 0 if there is no surprise. -v adds the way to each finding; with `times` the searches that are cut
 * off look at so many times as many states; with `words` only what has these in its line is tried.
 */
#include "dormant.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

#define STATES 60000 /* of a search that is cut off */
#define RUNS 5000
#define MOST 40000000 /* of one that has to see all */

struct entry_of_book {
	struct state state;
	uint32_t parent;
	struct step step; /* the one that led here */
};

struct search {
	const struct world *world;
	struct book book;
	struct book good[SHAKES]; /* states after which it comes back */
	const char *wrong;
	bool all, verbose;
};

static const struct entry_of_book *at(const struct search *s, uint32_t i)
{
	return (const struct entry_of_book *)(const void *)s->book.entries + i;
}

static void print_trace(const struct search *s, uint32_t i)
{
	const struct entry_of_book *e = at(s, i);

	if (i > 0)
		print_trace(s, e->parent);
	if (i > 0)
		print_step(e->step);
}

/* ---- does it come back from there? --------------------------------------------------------------------------------- */

static bool is_worth(const struct search *s, const struct state *from, enum shake how)
{
	if (from->lost > 0 || from->rot > 0)
		return false; /* it may have to wait for an operator */
	if (how == POWER_LOST_TAKEN_UP && from->next.number == 0)
		return false;
	return how != NONE_ENDS || s->world->calm;
}

static void look_back(struct search *s, uint32_t i)
{
	for (int how = 0; how < SHAKES && s->wrong == NULL; how++) {
		struct state shaken = at(s, i)->state;

		if (!is_worth(s, &shaken, (enum shake)how))
			continue;
		s->wrong = shake(s->world, &shaken, (enum shake)how);
		tidy(s->world, &shaken);
		if (s->wrong == NULL && book_has(&s->good[how], &shaken))
			continue;
		if (s->wrong == NULL)
			s->wrong = come_back_all(s->world, shaken, false);
		if (s->wrong == NULL)
			(void)book_add(&s->good[how], &shaken);
		if (s->wrong == NULL || !s->verbose)
			continue;
		print_trace(s, i);
		print_state(&at(s, i)->state);
		printf("      --- %s\n", how == THREE_END ? "the three end" : how == NONE_ENDS ? "calm" : "power");
		(void)come_back_all(s->world, shaken, true);
		print_state(&shaken);
	}
}

/* ---- all states ---------------------------------------------------------------------------------------------------- */

static void expand(struct search *s, uint32_t i)
{
	struct step steps[STEPS];
	int count = steps_from(s->world, &at(s, i)->state, steps);

	for (int n = 0; n < count && s->wrong == NULL; n++) {
		struct entry_of_book next;

		memset(&next, 0, sizeof(next));
		next.state = at(s, i)->state;
		next.parent = i;
		next.step = steps[n];
		s->wrong = take(s->world, &next.state, steps[n]);
		if (s->wrong == NULL) {
			tidy(s->world, &next.state);
			(void)book_add(&s->book, &next);
		} else if (s->verbose) {
			print_trace(s, i);
			print_state(&at(s, i)->state);
			print_step(steps[n]);
			print_state(&next.state);
		}
	}
}

static void explore(struct search *s, uint32_t limit)
{
	struct entry_of_book first;
	uint32_t i;

	memset(&first, 0, sizeof(first));
	begin_world(s->world, &first.state);
	(void)book_add(&s->book, &first);
	for (i = 0; i < s->book.count && s->book.count < limit && s->wrong == NULL; i++) {
		look_back(s, i);
		if (s->wrong == NULL)
			expand(s, i);
	}
	s->all = i == s->book.count;
}

/* ---- random runs --------------------------------------------------------------------------------------------------- */

#define RUN 120

static uint32_t roll(uint64_t *dice)
{
	*dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(*dice >> 33);
}

/* In each part of a run each step of each node has a weight of its own: so some are slow, some things happen late. */
static uint32_t weight_of(uint64_t seed, struct step step)
{
	static const uint32_t weights[] = {1, 8, 64, 256};
	uint64_t h = (seed ^ (uint64_t)(step.kind << 16 | step.node << 8 | step.other)) * UINT64_C(0xff51afd7ed558ccd);

	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return weights[h >> 40 & 3];
}

static int pick(uint64_t seed, uint64_t *dice, const struct step *steps, int count)
{
	uint32_t sum = 0, at_weight;
	int n = 0;

	for (int k = 0; k < count; k++)
		sum += weight_of(seed, steps[k]);
	at_weight = sum > 0 ? roll(dice) % sum : 0;
	while (n < count - 1 && at_weight >= weight_of(seed, steps[n]))
		at_weight -= weight_of(seed, steps[n++]);
	return n;
}

/* One run; the book has its states alone. */
static void run(struct search *s, uint64_t seed)
{
	uint64_t dice = seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
	struct entry_of_book next;

	book_close(&s->book);
	memset(&next, 0, sizeof(next));
	begin_world(s->world, &next.state);
	(void)book_add(&s->book, &next);
	for (int n = 0; n < RUN && s->wrong == NULL; n++) {
		struct step steps[STEPS];
		int count = steps_from(s->world, &next.state, steps);

		if (count == 0)
			break;
		next.parent = s->book.count > 0 ? book_find(&s->book, &next.state) : 0;
		next.step = steps[pick(seed + (uint64_t)(n / 12) * UINT64_C(0x9e3779b97f4a7c15), &dice, steps, count)];
		s->wrong = take(s->world, &next.state, next.step);
		if (s->wrong != NULL)
			break;
		if (book_add(&s->book, &next) && n % 4 == 0)
			look_back(s, s->book.count - 1);
	}
	if (s->wrong != NULL && strcmp(s->wrong, STUCK) != 0 && s->verbose) {
		print_trace(s, next.parent);
		print_state(&at(s, next.parent)->state);
		print_step(next.step);
		print_state(&next.state);
	}
}

static uint32_t wander(struct search *s, uint32_t runs)
{
	uint32_t n = 0;

	while (n < runs && s->wrong == NULL)
		run(s, n++);
	return n;
}

/* ---- what is tried ------------------------------------------------------------------------------------------------- */

#define WORLD(...)                                                                                                     \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}
#define LONG(n) .nodes = (n), .messages = 3, .views = 14, .crashes = 6, .powers = 2
#define SMALL(n, m, v, c) .nodes = (n), .messages = (m), .views = (v), .crashes = (c)
#define DROPS .drops = true, .calm = true
#define WITHOUT(rule) .mutation = (rule)

enum extent {
	EVERY,   /* state */
	CUT_OFF, /* there are more than anybody waits for */
	RANDOM,  /* runs */
};

static const struct scenario {
	const char *what;
	enum extent extent;
	const char *expected; /* NULL: it holds */
	struct world world;
} scenarios[] = {
	{"two nodes", EVERY, NULL, WORLD(SMALL(2, 1, 6, 2), .leaves = true)},
	{"two nodes, more crashes", EVERY, NULL, WORLD(SMALL(2, 1, 7, 3))},
	{"two nodes, the power goes", EVERY, NULL, WORLD(SMALL(2, 1, 5, 2), .leaves = true, .powers = 1)},
	{"two nodes, a disk is lost, a program begins anew", EVERY, NULL,
	 WORLD(SMALL(2, 1, 7, 2), .anew = 1, .lost = 1)},
	{"three nodes", EVERY, NULL, WORLD(SMALL(3, 1, 5, 2))},
	{"three nodes, the power goes", CUT_OFF, NULL, WORLD(SMALL(3, 1, 6, 2), .leaves = true, .powers = 1)},
	{"three nodes, a log rots", CUT_OFF, NULL, WORLD(SMALL(3, 2, 6, 2), .rot = 1)},
	{"those without a whole log go out", CUT_OFF, NULL, WORLD(SMALL(3, 2, 6, 3), DROPS)},
	{"random: the power goes twice", RANDOM, NULL, WORLD(LONG(3), .leaves = true)},
	{"random: a disk is lost, a program begins anew", RANDOM, NULL,
	 WORLD(LONG(3), .leaves = true, .lost = 1, .anew = 1)},
	{"random: a log rots", RANDOM, NULL, WORLD(LONG(3), .leaves = true, .rot = 1)},
	{"random: those without a whole log go out", RANDOM, NULL, WORLD(LONG(3), .leaves = true, DROPS)},
	/* Each rule taken out. */
	{"an old log counts though its member has entered since", CUT_OFF, LOST,
	 WORLD(SMALL(3, 2, 7, 3), .rot = 1, WITHOUT(ENTERED_COUNTS))},
	{"a view is decided before that before it is on disk", CUT_OFF, STUCK,
	 WORLD(SMALL(2, 1, 6, 3), WITHOUT(BEGUN_LATE))},
	{"a founder that has begun nothing is mute", CUT_OFF, STUCK, WORLD(SMALL(3, 1, 6, 2), WITHOUT(FOUNDER_IS_MUTE))},
	{"... or speaks with a blank disk", CUT_OFF, LOST, WORLD(SMALL(3, 1, 6, 2), .lost = 1, WITHOUT(BLANK_FOUNDER))},
	{"all logs that count come back", CUT_OFF, OTHERWISE, WORLD(SMALL(3, 2, 6, 3), WITHOUT(ALL_COME_BACK))},
	{"the cut is the most", CUT_OFF, LOST, WORLD(SMALL(3, 1, 5, 2), WITHOUT(CUT_IS_MOST))},
	{"a log counts that is not whole", CUT_OFF, OTHERWISE, WORLD(SMALL(3, 1, 6, 2), WITHOUT(WHOLE_UNASKED))},
	{"... of another birth", CUT_OFF, STUCK, WORLD(SMALL(2, 1, 7, 3), .anew = 1, WITHOUT(BIRTH_UNASKED))},
	{"... of a node that was no last member", CUT_OFF, LOST, WORLD(SMALL(3, 1, 6, 2), WITHOUT(ANYBODY_COUNTS))},
	{"frontiers are not read", CUT_OFF, LOST, WORLD(SMALL(2, 1, 5, 2), .rot = 1, WITHOUT(FRONTIER_UNREAD))},
	{"where no holding counts it begins with nothing", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 5, 2), WITHOUT(BEGINS_EMPTY))},
	{"a member leaves before another's log is whole", CUT_OFF, STUCK,
	 WORLD(SMALL(3, 1, 6, 1), .leaves = true, WITHOUT(LEAVER_GOES))},
	{"a view without a whole log", CUT_OFF, STUCK, WORLD(SMALL(3, 1, 6, 2), WITHOUT(NONE_IS_WHOLE))},
	{"... is waited for, and only those start that are down", CUT_OFF, STUCK,
	 WORLD(SMALL(2, 1, 6, 2), .calm = true)},
	{"those that go out deliver what is below the cut", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 6, 2), DROPS, WITHOUT(DROPPED_DELIVER))},
	{"an entry goes when its node comes in", CUT_OFF, STUCK, WORLD(SMALL(3, 1, 6, 2), WITHOUT(NEWCOMER_FORGETS))},
	{"some leave in the view that leaves out another", CUT_OFF, LOST,
	 WORLD(SMALL(3, 1, 6, 2), .leaves = true, WITHOUT(FAILURES_SERVE))},
	/* What no rule rests on. */
	{"random: an entry stays when others go on", RANDOM, NULL,
	 WORLD(LONG(3), .leaves = true, WITHOUT(STALE_IS_KEPT))},
	{"random: a holding says not the cut", RANDOM, NULL, WORLD(LONG(3), .leaves = true, WITHOUT(CUT_UNKNOWN))},
};

static bool is_expected(const struct scenario *sc, uint32_t times, bool verbose)
{
	struct search s = {.world = &sc->world,
			   .book = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry_of_book)},
			   .verbose = verbose};
	uint32_t returns = 0, looked = 0;
	bool expected;

	for (int k = 0; k < SHAKES; k++)
		s.good[k] = (struct book){.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct state)};
	if (sc->extent == RANDOM)
		looked = wander(&s, RUNS * times * (sc->expected != NULL ? 4 : 1));
	else
		explore(&s, sc->extent == EVERY ? MOST : STATES * times * (sc->expected != NULL ? 4 : 1));
	expected = s.wrong == sc->expected ||
		   (s.wrong != NULL && sc->expected != NULL && strcmp(s.wrong, sc->expected) == 0);
	if (sc->extent == EVERY && !s.all && sc->expected == NULL)
		expected = false;
	for (int k = 0; k < SHAKES; k++) {
		returns += s.good[k].count;
		book_close(&s.good[k]);
	}
	printf("%-64s %8u %s, %7u returns%s: %s%s\n", sc->what, sc->extent == RANDOM ? looked : s.book.count,
	       sc->extent == RANDOM ? "runs" : "states", returns,
	       s.all || s.wrong != NULL || sc->extent == RANDOM ? "" : ", cut off", s.wrong != NULL ? s.wrong : "holds",
	       expected ? "" : "  <-- SURPRISE");
	fflush(stdout);
	book_close(&s.book);
	return expected;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	long times = argc > 1 + verbose ? strtol(argv[1 + verbose], NULL, 10) : 1;
	const char *words = argc > 2 + verbose ? argv[2 + verbose] : NULL;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (words == NULL || strstr(scenarios[i].what, words) != NULL)
			surprises += !is_expected(&scenarios[i], times > 0 ? (uint32_t)times : 1, verbose);
	if (surprises > 0)
		printf("%d surprises\n", surprises);
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
