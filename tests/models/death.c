/* death.c - the change of one view where the kernel proves deaths: what is tried of it. death.h says what the model is, and what must
 * hold; docs/decisions/0039 why the rules are as they are.
 *
 * The rules must hold in all states of small groups, whichever member is killed or falsely suspected and when, and in random runs of
 * larger ones. So must rules that would do as well. Then the rules are weakened, one at a time, and what follows must be found.
 *
 *     death [-v] [soak]
 *
 * One line for each; `ends` are the states in which nothing follows any more, and of those the ones in which the group has ended
 * although one of its processes runs: none of them is wrong, but of two rules that hold the one with fewer is better. Exit
 * status 0 if there is no surprise. -v adds a course to each finding; with `soak` what is too large for every day is tried too.
 */
#include "death.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 6000000 /* states of a world */
#define SOAK_TIMES 30

#define ALL 0x1f
#define EVERYBODY                                                                                                      \
	{                                                                                                              \
		ALL, ALL, ALL, ALL, ALL                                                                                \
	}
/* 2 is in another pid namespace than 0 and 1. */
#define ONE_IS_BLIND                                                                                                   \
	{                                                                                                              \
		0, 0, 0x3, 0, 0                                                                                        \
	}

#define WORLD(...)                                                                                                     \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}
#define TWO_KILLED(tie, mutation)                                                                                      \
	WORLD(.count = 3, .kills = 2, .tie_breaker = (tie), .doubts = EVERYBODY, .mutations = (mutation))
#define ALL_KILLED(mutation) WORLD(.count = 3, .kills = 3, .tie_breaker = -1, .mutations = (mutation))
#define FOUR_KILLED(mutation) WORLD(.count = 4, .kills = 3, .tie_breaker = -1, .mutations = (mutation))
#define FOUR_BLIND(mutation)                                                                                           \
	WORLD(.count = 4, .kills = 2, .tie_breaker = -1, .blind = ONE_IS_BLIND, .mutations = (mutation))
#define LARGE(members, kill, tie, mutation)                                                                            \
	WORLD(.count = (members), .kills = (kill), .tie_breaker = (tie), .doubts = EVERYBODY, .mutations = (mutation))
#define LEAVERS(members, kill, tie, mutation)                                                                          \
	WORLD(.count = (members), .kills = (kill), .tie_breaker = (tie), .leavers = ALL, .doubts = EVERYBODY,          \
	      .mutations = (mutation))

/* Three of five are killed, and not heard from then on. Of the two that are left one has no proof but of 2, the other but of 3. */
#define FIVE_UNHEARD(mutation)                                                                                         \
	WORLD(.count = 5, .kills = 3, .tie_breaker = -1, .mortals = 0x1c, .unheard = true,                             \
	      .blind = {0x18, 0x14, 0, 0, 0}, .mutations = (mutation))
/* 4, and two leaders one after the other. */
#define FIVE_LED(mutation) WORLD(.count = 5, .kills = 3, .tie_breaker = -1, .mortals = 0x13, .mutations = (mutation))

/* The same, and 2 alone has proofs: of the two leaders. */
#define FIVE_ALONE(mutation)                                                                                           \
	WORLD(.count = 5, .kills = 3, .tie_breaker = -1, .mortals = 0x13, .blind = {ALL, ALL, 0x10, ALL, ALL},         \
	      .mutations = (mutation))

enum extent { EVERY_DAY, SOAK };

static const struct scenario {
	const char *what;
	enum extent extent;
	uint32_t runs; /* 0: all states */
	enum finding expected;
	struct world world;
} scenarios[] = {
	{"by the rules, one is killed", EVERY_DAY, 0, HOLDS, WORLD(.count = 2, .kills = 1, .tie_breaker = -1)},
	{"by the rules, false suspicions", EVERY_DAY, 0, HOLDS, LARGE(2, 2, -1, 0)},
	{"by the rules, tie-breaker 0", EVERY_DAY, 0, HOLDS, LARGE(2, 2, 0, 0)},
	{"by the rules, tie-breaker 0, leavers", EVERY_DAY, 0, HOLDS, LEAVERS(2, 2, 0, 0)},
	{"by the rules, all may be killed", EVERY_DAY, 0, HOLDS, ALL_KILLED(0)},
	{"by the rules, no tie-breaker", EVERY_DAY, 0, HOLDS, TWO_KILLED(-1, 0)},
	{"by the rules, tie-breaker 0", EVERY_DAY, 0, HOLDS, TWO_KILLED(0, 0)},
	{"by the rules, tie-breaker 1", EVERY_DAY, 0, HOLDS, TWO_KILLED(1, 0)},
	{"by the rules, tie-breaker 2", EVERY_DAY, 0, HOLDS, TWO_KILLED(2, 0)},
	{"by the rules, leavers", EVERY_DAY, 0, HOLDS, LEAVERS(3, 2, -1, 0)},
	{"by the rules, tie-breaker 0, leavers", EVERY_DAY, 0, HOLDS, LEAVERS(3, 2, 0, 0)},
	{"by the rules, tie-breaker 1, leavers", SOAK, 0, HOLDS, LEAVERS(3, 3, 1, 0)},
	{"by the rules, tie-breaker 2, leavers", SOAK, 0, HOLDS, LEAVERS(3, 3, 2, 0)},
	{"by the rules, three are killed", EVERY_DAY, 0, HOLDS, FOUR_KILLED(0)},
	{"by the rules, one has no proofs", EVERY_DAY, 0, HOLDS, FOUR_BLIND(0)},
	{"by the rules, one has no proofs, false suspicions", EVERY_DAY, 0, HOLDS,
	 WORLD(.count = 3, .kills = 2, .tie_breaker = -1, .doubts = EVERYBODY, .blind = ONE_IS_BLIND)},
	{"by the rules, one has no proofs, tie-breaker 2", EVERY_DAY, 0, HOLDS,
	 WORLD(.count = 3, .kills = 2, .tie_breaker = 2, .doubts = EVERYBODY, .blind = ONE_IS_BLIND)},
	{"by the rules, no member has a proof, tie-breaker 0", EVERY_DAY, 0, HOLDS,
	 WORLD(.count = 3, .kills = 2, .tie_breaker = 0, .doubts = EVERYBODY, .blind = EVERYBODY)},
	{"some hear of proofs and some do not", EVERY_DAY, 0, HOLDS,
	 WORLD(.count = 3, .kills = 2, .tie_breaker = 0, .doubts = EVERYBODY, .blind = ONE_IS_BLIND,
	       .mutations = FIRST_HAND)},
	{"by the rules, false suspicions", SOAK, 0, HOLDS, LARGE(4, 2, -1, 0)},
	{"by the rules, tie-breaker 0, one is killed", SOAK, 0, HOLDS, LARGE(4, 1, 0, 0)},
	{"by the rules, tie-breaker 2", EVERY_DAY, 5000, HOLDS, LARGE(4, 3, 2, 0)},
	{"by the rules, leavers", EVERY_DAY, 5000, HOLDS, LEAVERS(4, 3, -1, 0)},
	{"by the rules", EVERY_DAY, 5000, HOLDS, LARGE(5, 4, -1, 0)},
	{"by the rules, tie-breaker 0", EVERY_DAY, 5000, HOLDS, LARGE(5, 4, 0, 0)},
	{"by the rules, tie-breaker 2, leavers", EVERY_DAY, 5000, HOLDS, LEAVERS(5, 4, 2, 0)},
	{"by the rules, three are not heard any more", EVERY_DAY, 5000, HOLDS, FIVE_UNHEARD(0)},
	{"by the rules, three are not heard any more", SOAK, 0, HOLDS, FIVE_UNHEARD(0)},
	{"by the rules, two leaders are killed", EVERY_DAY, 0, HOLDS, FIVE_ALONE(0)},
	{"by the rules, two leaders are killed", SOAK, 0, HOLDS, FIVE_LED(0)},

	/* They hold as well. */
	{"the dead are heeded, all may be killed", EVERY_DAY, 0, HOLDS, ALL_KILLED(THE_DEAD_ACCUSE)},
	{"the dead are heeded, no tie-breaker", EVERY_DAY, 0, HOLDS, TWO_KILLED(-1, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 0", EVERY_DAY, 0, HOLDS, TWO_KILLED(0, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 1", EVERY_DAY, 0, HOLDS, TWO_KILLED(1, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 2", EVERY_DAY, 0, HOLDS, TWO_KILLED(2, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 0, leavers", EVERY_DAY, 0, HOLDS, LEAVERS(3, 2, 0, THE_DEAD_ACCUSE)},
	{"the dead are heeded, three are killed", EVERY_DAY, 0, HOLDS, FOUR_KILLED(THE_DEAD_ACCUSE)},
	{"the dead are heeded, one has no proofs", EVERY_DAY, 0, HOLDS, FOUR_BLIND(THE_DEAD_ACCUSE)},
	{"the dead are heeded, false suspicions", SOAK, 0, HOLDS, LARGE(4, 2, -1, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 0", EVERY_DAY, 5000, HOLDS, LARGE(5, 4, 0, THE_DEAD_ACCUSE)},
	{"a proof is said when a quorum is trusted, no tie-breaker", EVERY_DAY, 0, HOLDS, TWO_KILLED(-1, PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted, tie-breaker 1", EVERY_DAY, 0, HOLDS, TWO_KILLED(1, PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted, leavers", EVERY_DAY, 0, HOLDS, LEAVERS(3, 2, 0, PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted", EVERY_DAY, 0, HOLDS, FOUR_KILLED(PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted", EVERY_DAY, 0, HOLDS, FOUR_BLIND(PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted", EVERY_DAY, 5000, HOLDS, LARGE(5, 4, 0, PROOFS_WAIT)},
	{"a dead member's decision is asked, not its accusation", EVERY_DAY, 0, HOLDS, TWO_KILLED(1, LEFT_OUT_IS_READ)},
	{"installed in the rows of the dead is followed", EVERY_DAY, 0, HOLDS, TWO_KILLED(1, INSTALLED_FOLLOWED)},
	{"heed without the dead (they are taken over anyway)", EVERY_DAY, 0, HOLDS, TWO_KILLED(0, PROOFS_UNHEEDED)},
	{"heed without the dead (the same)", EVERY_DAY, 0, HOLDS, FOUR_KILLED(PROOFS_UNHEEDED)},
	{"proofs of one's own alone, all have them", EVERY_DAY, 0, HOLDS, TWO_KILLED(1, FIRST_HAND)},
	{"suspected without a quorum (it is asked for later)", EVERY_DAY, 0, HOLDS, TWO_KILLED(0, SUSPECTED_AT_WILL)},
	{"accused by the dead (they are heeded)", EVERY_DAY, 0, HOLDS, TWO_KILLED(0, STAYS_ACCUSED | THE_DEAD_ACCUSE)},
	{"no quorum to settle (the dead are heeded)", EVERY_DAY, 0, HOLDS,
	 TWO_KILLED(0, SETTLED_AT_WILL | THE_DEAD_ACCUSE)},

	/* They do not. */
	{"the dead count", EVERY_DAY, 0, STUCK,
	 WORLD(.count = 2, .kills = 1, .tie_breaker = -1, .mutations = THE_DEAD_COUNT)},
	{"the dead count", EVERY_DAY, 0, STUCK, TWO_KILLED(-1, THE_DEAD_COUNT)},
	{"rows of the dead are not read", EVERY_DAY, 0, TWO_VIEWS, TWO_KILLED(-1, ROWS_UNREAD)},
	{"rows of the dead are not read, they are heeded", EVERY_DAY, 0, TWO_VIEWS,
	 TWO_KILLED(1, ROWS_UNREAD | THE_DEAD_ACCUSE)},
	{"failed before dead, its row stays frozen", EVERY_DAY, 0, TWO_VIEWS, TWO_KILLED(1, ROWS_STAY_FROZEN)},
	{"a failed member never becomes a dead one", EVERY_DAY, 0, STUCK, TWO_KILLED(-1, FAILED_STAYS)},
	{"a dead member that accuses another has failed", EVERY_DAY, 0, STUCK, ALL_KILLED(ACCUSERS_FAILED)},
	{"a dead member that accuses one I trust has failed", EVERY_DAY, 0, STUCK, TWO_KILLED(-1, ACCUSERS_OF_MINE)},
	{"a closed connection is a proof", EVERY_DAY, 0, NO_QUORUM, LARGE(2, 2, -1, CLOSED_IS_PROOF)},
	{"a closed connection is a proof", EVERY_DAY, 0, NO_QUORUM, TWO_KILLED(-1, CLOSED_IS_PROOF)},
	{"proofs of one's own alone, one has none", EVERY_DAY, 0, STUCK, FOUR_BLIND(FIRST_HAND)},
	{"what a dead member decided without me is nothing", EVERY_DAY, 0, TWO_VIEWS, TWO_KILLED(0, STAYS_ACCUSED)},
	{"a dead member's decision is adopted without memory", EVERY_DAY, 0, NO_MEMORY, TWO_KILLED(1, ALL_ADOPTED)},
	{"the same, the dead are heeded", EVERY_DAY, 0, NO_MEMORY, TWO_KILLED(1, ALL_ADOPTED | THE_DEAD_ACCUSE)},
	{"a proof is said between look and act", EVERY_DAY, 0, NO_MEMORY, FOUR_KILLED(PROOFS_BETWEEN)},
	{"no quorum to settle", EVERY_DAY, 0, TWO_VIEWS, TWO_KILLED(0, SETTLED_AT_WILL)},
	{"a proof is said when a quorum is heard", EVERY_DAY, 5000, STUCK, FIVE_UNHEARD(PROOFS_WAIT)},
	{"a proof is said when a quorum is heard", SOAK, 0, STUCK, FIVE_UNHEARD(PROOFS_WAIT)},
	{"a dead member's decision that another cannot follow", EVERY_DAY, 0, NO_MEMORY, FIVE_ALONE(ADOPTED_ALONE)},
	{"a dead member's decision that another cannot follow", SOAK, 0, NO_MEMORY, FIVE_LED(ADOPTED_ALONE)},
};

static const char *const texts[FINDINGS] = {
	"holds", "stuck", "two views", "the living are left out without a quorum", "no memory", "two decisions",
};

static bool is_expected(const struct scenario *sc, bool soak, bool verbose)
{
	const struct world *w = &sc->world;
	struct result r;
	bool expected;

	if (sc->runs > 0)
		wander(w, sc->runs * (soak ? SOAK_TIMES : 1), soak ? 2 : 1, &r);
	else
		explore(w, MOST, &r);
	expected = r.found == sc->expected && (r.all || sc->runs > 0 || sc->expected != HOLDS);
	printf("%d  %-58s %8u %s  %s", w->count, sc->what, r.looked, sc->runs > 0 ? "runs  " : "states",
	       texts[r.found]);
	if (r.stuck > 0)
		printf(" (%u)", r.stuck);
	if (r.found == HOLDS && sc->runs == 0)
		printf("; %u ends, %u without a group", r.ends, r.lost);
	printf("%s\n", expected ? "" : "  <-- SURPRISE");
	if (verbose && r.found != HOLDS)
		print_course(w, &r.course);
	fflush(stdout);
	return expected;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	bool soak = argc > 1 + verbose && strcmp(argv[1 + verbose], "soak") == 0;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (soak || scenarios[i].extent == EVERY_DAY)
			surprises += !is_expected(&scenarios[i], soak, verbose);
	if (surprises > 0)
		printf("%d surprises\n", surprises);
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
