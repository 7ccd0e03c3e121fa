/* death.c - the change of one view where the kernel proves deaths: what is tried of it. death.h says what the model is, and what must
 * hold; docs/decisions/0039 why the rules are as they are.
 *
 * The rules must hold in all states of small groups, whichever member is killed or falsely suspected and when, and in random runs of
 * larger ones. So must rules that would do as well. Then the rules are weakened, one at a time, and what follows must be found.
 *
 * `ends` are the states in which nothing follows any more, and of those the ones without a group those in which it has ended although
 * one of its processes runs: none of them is wrong, but of two rules that hold the one with fewer is better.
 */
#include "death.h"

#include <stdio.h>

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

#define TWO_KILLED(tie, mutation)                                                                                      \
	WORLD(.count = 3, .kills = 2, .tie_breaker = (tie), .doubts = EVERYBODY, .mutations = (mutation))
#define ALL_KILLED(mutation) WORLD(.count = 3, .kills = 3, .tie_breaker = -1, .mutations = (mutation))
#define FOUR_KILLED(mutation) WORLD(.count = 4, .kills = 3, .tie_breaker = -1, .mutations = (mutation))
#define FOUR_BLIND(mutation)                                                                                           \
	WORLD(.count = 4, .kills = 2, .tie_breaker = -1, .blind = ONE_IS_BLIND, .mutations = (mutation))
#define SUSPICIOUS(members, kill, tie, mutation)                                                                       \
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

static const struct trial trials[] = {
	{"by the rules, one is killed", EVERY, NULL, WORLD(.count = 2, .kills = 1, .tie_breaker = -1)},
	{"by the rules, false suspicions", EVERY, NULL, SUSPICIOUS(2, 2, -1, 0)},
	{"by the rules, tie-breaker 0", EVERY, NULL, SUSPICIOUS(2, 2, 0, 0)},
	{"by the rules, tie-breaker 0, leavers", EVERY, NULL, LEAVERS(2, 2, 0, 0)},
	{"by the rules, all may be killed", EVERY, NULL, ALL_KILLED(0)},
	{"by the rules, no tie-breaker", EVERY, NULL, TWO_KILLED(-1, 0)},
	{"by the rules, tie-breaker 0", EVERY, NULL, TWO_KILLED(0, 0)},
	{"by the rules, tie-breaker 1", EVERY, NULL, TWO_KILLED(1, 0)},
	{"by the rules, tie-breaker 2", EVERY, NULL, TWO_KILLED(2, 0)},
	{"by the rules, leavers", EVERY, NULL, LEAVERS(3, 2, -1, 0)},
	{"by the rules, tie-breaker 0, leavers", EVERY, NULL, LEAVERS(3, 2, 0, 0)},
	{"by the rules, tie-breaker 1, leavers", LARGE, NULL, LEAVERS(3, 3, 1, 0)},
	{"by the rules, tie-breaker 2, leavers", LARGE, NULL, LEAVERS(3, 3, 2, 0)},
	{"by the rules, three are killed", EVERY, NULL, FOUR_KILLED(0)},
	{"by the rules, one has no proofs", EVERY, NULL, FOUR_BLIND(0)},
	{"by the rules, one has no proofs, false suspicions", EVERY, NULL,
	 WORLD(.count = 3, .kills = 2, .tie_breaker = -1, .doubts = EVERYBODY, .blind = ONE_IS_BLIND)},
	{"by the rules, one has no proofs, tie-breaker 2", EVERY, NULL,
	 WORLD(.count = 3, .kills = 2, .tie_breaker = 2, .doubts = EVERYBODY, .blind = ONE_IS_BLIND)},
	{"by the rules, no member has a proof, tie-breaker 0", EVERY, NULL,
	 WORLD(.count = 3, .kills = 2, .tie_breaker = 0, .doubts = EVERYBODY, .blind = EVERYBODY)},
	{"some hear of proofs and some do not", EVERY, NULL,
	 WORLD(.count = 3, .kills = 2, .tie_breaker = 0, .doubts = EVERYBODY, .blind = ONE_IS_BLIND,
	       .mutations = FIRST_HAND)},
	{"by the rules, false suspicions", LARGE, NULL, SUSPICIOUS(4, 2, -1, 0)},
	{"by the rules, tie-breaker 0, one is killed", LARGE, NULL, SUSPICIOUS(4, 1, 0, 0)},
	{"by the rules, tie-breaker 2", RANDOM, NULL, SUSPICIOUS(4, 3, 2, 0)},
	{"by the rules, leavers", RANDOM, NULL, LEAVERS(4, 3, -1, 0)},
	{"by the rules", RANDOM, NULL, SUSPICIOUS(5, 4, -1, 0)},
	{"by the rules, tie-breaker 0", RANDOM, NULL, SUSPICIOUS(5, 4, 0, 0)},
	{"by the rules, tie-breaker 2, leavers", RANDOM, NULL, LEAVERS(5, 4, 2, 0)},
	{"by the rules, three are not heard any more", RANDOM, NULL, FIVE_UNHEARD(0)},
	{"by the rules, three are not heard any more", LARGE, NULL, FIVE_UNHEARD(0)},
	{"by the rules, two leaders are killed", EVERY, NULL, FIVE_ALONE(0)},
	{"by the rules, two leaders are killed", LARGE, NULL, FIVE_LED(0)},

	/* They hold as well. */
	{"the dead are heeded, all may be killed", EVERY, NULL, ALL_KILLED(THE_DEAD_ACCUSE)},
	{"the dead are heeded, no tie-breaker", EVERY, NULL, TWO_KILLED(-1, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 0", EVERY, NULL, TWO_KILLED(0, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 1", EVERY, NULL, TWO_KILLED(1, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 2", EVERY, NULL, TWO_KILLED(2, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 0, leavers", EVERY, NULL, LEAVERS(3, 2, 0, THE_DEAD_ACCUSE)},
	{"the dead are heeded, three are killed", EVERY, NULL, FOUR_KILLED(THE_DEAD_ACCUSE)},
	{"the dead are heeded, one has no proofs", EVERY, NULL, FOUR_BLIND(THE_DEAD_ACCUSE)},
	{"the dead are heeded, false suspicions", LARGE, NULL, SUSPICIOUS(4, 2, -1, THE_DEAD_ACCUSE)},
	{"the dead are heeded, tie-breaker 0", RANDOM, NULL, SUSPICIOUS(5, 4, 0, THE_DEAD_ACCUSE)},
	{"a proof is said when a quorum is trusted, no tie-breaker", EVERY, NULL, TWO_KILLED(-1, PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted, tie-breaker 1", EVERY, NULL, TWO_KILLED(1, PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted, leavers", EVERY, NULL, LEAVERS(3, 2, 0, PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted", EVERY, NULL, FOUR_KILLED(PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted", EVERY, NULL, FOUR_BLIND(PROOFS_WAIT)},
	{"a proof is said when a quorum is trusted", RANDOM, NULL, SUSPICIOUS(5, 4, 0, PROOFS_WAIT)},
	{"a dead member's decision is asked, not its accusation", EVERY, NULL, TWO_KILLED(1, LEFT_OUT_IS_READ)},
	{"installed in the rows of the dead is followed", EVERY, NULL, TWO_KILLED(1, INSTALLED_FOLLOWED)},
	{"heed without the dead (they are taken over anyway)", EVERY, NULL, TWO_KILLED(0, PROOFS_UNHEEDED)},
	{"heed without the dead (the same)", EVERY, NULL, FOUR_KILLED(PROOFS_UNHEEDED)},
	{"proofs of one's own alone, all have them", EVERY, NULL, TWO_KILLED(1, FIRST_HAND)},
	{"suspected without a quorum (it is asked for later)", EVERY, NULL, TWO_KILLED(0, SUSPECTED_AT_WILL)},
	{"accused by the dead (they are heeded)", EVERY, NULL, TWO_KILLED(0, STAYS_ACCUSED | THE_DEAD_ACCUSE)},
	{"no quorum to settle (the dead are heeded)", EVERY, NULL, TWO_KILLED(0, SETTLED_AT_WILL | THE_DEAD_ACCUSE)},

	/* They do not. */
	{"the dead count", EVERY, STUCK, WORLD(.count = 2, .kills = 1, .tie_breaker = -1, .mutations = THE_DEAD_COUNT)},
	{"the dead count", EVERY, STUCK, TWO_KILLED(-1, THE_DEAD_COUNT)},
	{"rows of the dead are not read", EVERY, TWO_VIEWS, TWO_KILLED(-1, ROWS_UNREAD)},
	{"rows of the dead are not read, they are heeded", EVERY, TWO_VIEWS,
	 TWO_KILLED(1, ROWS_UNREAD | THE_DEAD_ACCUSE)},
	{"failed before dead, its row stays frozen", EVERY, TWO_VIEWS, TWO_KILLED(1, ROWS_STAY_FROZEN)},
	{"a failed member never becomes a dead one", EVERY, STUCK, TWO_KILLED(-1, FAILED_STAYS)},
	{"a dead member that accuses another has failed", EVERY, STUCK, ALL_KILLED(ACCUSERS_FAILED)},
	{"a dead member that accuses one I trust has failed", EVERY, STUCK, TWO_KILLED(-1, ACCUSERS_OF_MINE)},
	{"a closed connection is a proof", EVERY, NO_QUORUM, SUSPICIOUS(2, 2, -1, CLOSED_IS_PROOF)},
	{"a closed connection is a proof", EVERY, NO_QUORUM, TWO_KILLED(-1, CLOSED_IS_PROOF)},
	{"proofs of one's own alone, one has none", EVERY, STUCK, FOUR_BLIND(FIRST_HAND)},
	{"what a dead member decided without me is nothing", EVERY, TWO_VIEWS, TWO_KILLED(0, STAYS_ACCUSED)},
	{"a dead member's decision is adopted without memory", EVERY, NO_MEMORY, TWO_KILLED(1, ALL_ADOPTED)},
	{"the same, the dead are heeded", EVERY, NO_MEMORY, TWO_KILLED(1, ALL_ADOPTED | THE_DEAD_ACCUSE)},
	{"a proof is said between look and act", EVERY, NO_MEMORY, FOUR_KILLED(PROOFS_BETWEEN)},
	{"no quorum to settle", EVERY, TWO_VIEWS, TWO_KILLED(0, SETTLED_AT_WILL)},
	{"a proof is said when a quorum is heard", RANDOM, STUCK, FIVE_UNHEARD(PROOFS_WAIT)},
	{"a proof is said when a quorum is heard", LARGE, STUCK, FIVE_UNHEARD(PROOFS_WAIT)},
	{"a dead member's decision that another cannot follow", EVERY, NO_MEMORY, FIVE_ALONE(ADOPTED_ALONE)},
	{"a dead member's decision that another cannot follow", LARGE, NO_MEMORY, FIVE_LED(ADOPTED_ALONE)},
};

static bool is_calm(const struct world *w, const struct state *s, struct step step)
{
	(void)w;
	(void)s;
	return step.kind > CLOSE;
}

enum { ENDS, LOST };

static const char *note_end(struct search *x, const struct state *s)
{
	x->noted[ENDS]++;
	x->noted[LOST] += is_lost(x->world, s);
	return NULL;
}

/* So some members are slow, some things happen late, and less goes wrong than is done. */
static uint32_t weight(struct step step, unsigned chance)
{
	static const uint32_t weights[] = {1, 20, 400, 400};

	return weights[chance] * (step.kind > CLOSE ? 4 : 1);
}

static void print_world(const struct world *w)
{
	printf("%d  ", w->count);
}

int main(int argc, char **argv)
{
	static const char *const notes[] = {[ENDS] = "ends", [LOST] = "of them without a group", NULL};
	static const struct model model = {
		.what = "death: the change of one view where the kernel proves deaths",
		.state_bytes = sizeof(struct state),
		.notes = notes,
		.most = 6000000,
		.runs = 5000,
		.gait = {.length = 400,
			 .troubled = 100,
			 .stretch = 16,
			 .turn = 1,
			 .seeds = {1ULL << 32, 2ULL << 32},
			 .weight = weight},
		.steps = steps_from,
		.take = take,
		.is_calm = is_calm,
		.rest = note_end,
		.is_goal = is_through,
		.stuck = STUCK,
		.print_world = print_world,
		.print_step = print_step,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
