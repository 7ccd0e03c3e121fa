/* join.c - views that follow each other, with nodes that come in, and the first one: what is tried. join.h says what the model is,
 * docs/decisions/0016 the rules.
 *
 * As in change.c the rules must hold, in all states of the smallest worlds and in random runs of larger ones; then they are broken
 * one at a time, and each time what follows must be found in the world that is named. What is covered twice is said to hold all the
 * same, and why.
 */
#include "join.h"

#include <stdio.h>

#define ALL 0xff

/* Nodes are named by their ids; ids below `first` are members in the beginning, and 0 leads. `tie_breaker` is 1 + an id. */
#define ALONE                                                                                                          \
	.what = "1, and 1 comes; all acquainted", .ids = 2, .how = GROUP, .first = 1, .acquainted = true,              \
	.crashes = 1, .returns = 1, .timeouts = 1
#define PAIR                                                                                                           \
	.what = "2, and 1 comes; all acquainted", .ids = 3, .how = GROUP, .first = 2, .acquainted = true, .crashes = 1
#define GROWN                                                                                                          \
	.what = "1, and 2 come; all acquainted; 0 may die", .ids = 3, .how = GROUP, .first = 1, .acquainted = true,    \
	.crashes = 1, .mortal = 1
#define TRIO .what = "3, and 1 comes", .ids = 4, .how = GROUP, .first = 3, .crashes = 1, .timeouts = 1
#define LEADER                                                                                                         \
	.what = "3, and 2 come; 0 may die", .ids = 5, .how = GROUP, .first = 3, .crashes = 1, .mortal = 1, .timeouts = 1
#define REBORN                                                                                                         \
	.what = "3, and 1 comes; it may die twice", .ids = 4, .how = GROUP, .first = 3, .crashes = 2, .returns = 2,    \
	.mortal = 8, .timeouts = 1
#define FLAPPING                                                                                                       \
	.what = "3, and 1 comes again and again; 1 or 2 may die", .ids = 4, .how = GROUP, .first = 3, .crashes = 1,    \
	.mortal = 6, .timeouts = 14
#define DECIMATED                                                                                                      \
	.what = "3, and 2 come; all acquainted; 0 and 2 may die", .ids = 5, .how = GROUP, .first = 3,                  \
	.acquainted = true, .crashes = 2, .mortal = 5
#define MIXED                                                                                                          \
	.what = "3, and 2 come; traffic", .ids = 5, .how = GROUP, .first = 3, .crashes = 2, .returns = 1,              \
	.traffic = true, .timeouts = 2
#define DOUBTED                                                                                                        \
	.what = "3, and 2 come; traffic, mistakes", .ids = 5, .how = GROUP, .first = 3, .tie_breaker = 2,              \
	.crashes = 1, .traffic = true, .doubters = ALL, .doubted = ALL, .mistakes = 2, .timeouts = 2
#define LEAVING                                                                                                        \
	.what = "3, and 2 come; some leave", .ids = 5, .how = GROUP, .first = 3, .tie_breaker = 1, .crashes = 1,       \
	.returns = 1, .leavers = ALL, .leaves = 2, .timeouts = 2
#define PARTED                                                                                                         \
	.what = "3, and 2 come; some are cut off; traffic, mistakes", .ids = 5, .how = GROUP, .first = 3,              \
	.tie_breaker = 2, .crashes = 2, .returns = 2, .cuts = 3, .traffic = true, .doubters = ALL, .doubted = ALL,     \
	.mistakes = 1, .timeouts = 4
#define TWO .what = "2 form", .ids = 2, .configured = 2, .how = MAJORITY, .crashes = 1, .returns = 1
#define THREE                                                                                                          \
	.what = "3 form; all acquainted", .ids = 3, .configured = 3, .how = MAJORITY, .acquainted = true, .crashes = 1
#define RUSHED                                                                                                         \
	.what = "3 form; all acquainted, some is late", .ids = 3, .configured = 3, .how = MAJORITY,                    \
	.acquainted = true, .timeouts = 2
#define RUSHED_DEATH                                                                                                   \
	.what = "3 form; all acquainted, some is late, one may die", .ids = 3, .configured = 3, .how = MAJORITY,       \
	.acquainted = true, .crashes = 1, .timeouts = 1
#define THREE_AGAIN                                                                                                    \
	.what = "3 form; traffic", .ids = 3, .configured = 3, .how = MAJORITY, .crashes = 1, .returns = 1,             \
	.traffic = true, .timeouts = 2
#define THREE_CUT                                                                                                      \
	.what = "3 form, one comes back, some are cut off; traffic", .ids = 3, .configured = 3, .how = MAJORITY,       \
	.crashes = 1, .returns = 1, .cuts = 2, .traffic = true, .timeouts = 4
#define FOUR                                                                                                           \
	.what = "4 form; traffic", .ids = 4, .configured = 4, .how = MAJORITY, .crashes = 1, .returns = 1,             \
	.traffic = true, .timeouts = 2
#define FOUR_DOUBTED                                                                                                   \
	.what = "4 form; traffic, mistakes", .ids = 4, .configured = 4, .how = MAJORITY, .tie_breaker = 2,             \
	.crashes = 1, .returns = 1, .traffic = true, .doubters = ALL, .doubted = ALL, .mistakes = 2, .timeouts = 3
#define FIVE                                                                                                           \
	.what = "5 form; traffic", .ids = 5, .configured = 5, .how = MAJORITY, .crashes = 2, .returns = 2,             \
	.traffic = true, .timeouts = 2
#define LATE_FIVE                                                                                                      \
	.what = "5 form; traffic, much is late", .ids = 5, .configured = 5, .how = MAJORITY, .crashes = 1,             \
	.returns = 1, .traffic = true, .timeouts = 6
#define RUSHED_FIVE                                                                                                    \
	.what = "5 form; all acquainted, some is late", .ids = 5, .configured = 5, .how = MAJORITY,                    \
	.acquainted = true, .timeouts = 3
#define FIVE_CUT                                                                                                       \
	.what = "5 form, some are cut off; traffic", .ids = 5, .configured = 5, .how = MAJORITY, .crashes = 1,         \
	.cuts = 5, .traffic = true, .timeouts = 4
#define SOME                                                                                                           \
	.what = "3 of 5 form, and 2 come; traffic", .ids = 5, .configured = 5, .absent = 0x18, .how = MAJORITY,        \
	.crashes = 1, .returns = 1, .traffic = true, .timeouts = 1
#define HEIR                                                                                                           \
	.what = "1, and 1 comes; all acquainted; 0 may leave", .ids = 2, .how = GROUP, .first = 1, .acquainted = true, \
	.leavers = 1, .leaves = 1
#define COUPLE .what = "1 founds, 1 comes", .ids = 2, .configured = 2, .how = FOUNDER, .crashes = 1, .returns = 1
#define ONE                                                                                                            \
	.what = "1 founds, 3 come; traffic", .ids = 4, .configured = 4, .how = FOUNDER, .crashes = 2, .returns = 2,    \
	.traffic = true, .timeouts = 2

#define UNDECIDED "somebody enters a view that was not decided"
#define ABSENT "a view is decided with a newcomer that has not come"
#define STILL "a view stands still"
#define WAITS "a failed member waits for a newcomer"
#define DROPPED "somebody drops a view that has been decided with it"
#define SHUT_OUT "no member lets a seeking node in"
#define NONE_FORMED "a majority forms no group"
#define NEVER "a first view that can never be holds up all"
#define STUCK "a quorum without suspicions among its members does not go on"
#define UNENDED "a quorum does not go on"
#define FOREIGN "a view goes on with a quorum that is not its own"
#define ENDLESS "time-outs follow each other without end"
#define TWO_GROUPS "there are two groups"

static const struct trial trials[] = {
	{"by the rules", EVERY, NULL, WORLD(ALONE)},
	{"by the rules", EVERY, NULL, WORLD(PAIR)},
	{"by the rules", EVERY, NULL, WORLD(GROWN)},
	{"by the rules", EVERY, NULL, WORLD(HEIR)},
	{"by the rules", EVERY, NULL, WORLD(TWO)},
	{"by the rules", EVERY, NULL, WORLD(THREE)},
	{"by the rules", EVERY, NULL, WORLD(COUPLE)},
	{"by the rules", RANDOM, NULL, WORLD(TRIO)},
	{"by the rules", RANDOM, NULL, WORLD(LEADER)},
	{"by the rules", RANDOM, NULL, WORLD(REBORN)},
	{"by the rules", RANDOM, NULL, WORLD(FLAPPING), .runs = 300},
	{"by the rules", RANDOM, NULL, WORLD(DECIMATED)},
	{"by the rules", RANDOM, NULL, WORLD(MIXED), .runs = 1000},
	{"by the rules", RANDOM, NULL, WORLD(DOUBTED), .runs = 1000},
	{"by the rules", RANDOM, NULL, WORLD(LEAVING), .runs = 1000},
	{"by the rules", RANDOM, NULL, WORLD(PARTED)},
	{"by the rules", RANDOM, NULL, WORLD(RUSHED), .runs = 1000},
	{"by the rules", RANDOM, NULL, WORLD(RUSHED_DEATH), .runs = 1000},
	{"by the rules", RANDOM, NULL, WORLD(THREE_AGAIN), .runs = 1000},
	{"by the rules", RANDOM, NULL, WORLD(FOUR)},
	{"by the rules", RANDOM, NULL, WORLD(FOUR_DOUBTED)},
	{"by the rules", RANDOM, NULL, WORLD(FIVE)},
	{"by the rules", RANDOM, NULL, WORLD(LATE_FIVE)},
	{"by the rules", RANDOM, NULL, WORLD(RUSHED_FIVE)},
	{"by the rules", RANDOM, NULL, WORLD(FIVE_CUT)},
	{"by the rules", RANDOM, NULL, WORLD(SOME)},
	{"by the rules", RANDOM, NULL, WORLD(ONE)},
	{"by the rules: what start = join is for", RANDOM, TWO_GROUPS, WORLD(THREE_CUT), .runs = 4000},

	{"enters unbidden", EVERY, UNDECIDED, WORLD(ALONE, .mutations = M(ENTER_UNBIDDEN))},
	{"enters when another newcomer is there", RANDOM, UNDECIDED, WORLD(LEADER, .mutations = M(ENTER_BY_NEWCOMER)),
	 .runs = 1000, .once = true},
	{"members beat in a view that is not decided", EVERY, UNDECIDED, WORLD(PAIR, .mutations = M(BEAT_EARLY))},
	{"the leader stops before all are there", EVERY, ABSENT, WORLD(ALONE, .mutations = M(WEDGE_BEFORE_THERE))},
	{"the leader stops before all have acknowledged", EVERY, STILL, WORLD(ALONE, .mutations = M(WEDGE_BEFORE_ACK))},
	{"there is not keyed", RANDOM, ABSENT, WORLD(REBORN, .mutations = M(THERE_NOT_KEYED)), .runs = 4000,
	 .once = true},
	{"a newcomer that does not come is waited for", EVERY, SHUT_OUT, WORLD(ALONE, .mutations = M(NEVER_LEFT_OUT))},
	{"newcomers, although somebody has failed", EVERY, STILL, WORLD(PAIR, .mutations = M(NEWCOMERS_WITH_SUSPECTS))},
	{"newcomers take all attempts", RANDOM, STUCK, WORLD(FLAPPING, .mutations = M(NO_RESERVE)), .runs = 1000,
	 .once = true},
	{"more newcomers than members", EVERY, DROPPED, WORLD(GROWN, .mutations = M(TOO_MANY))},
	{"a next view that has begun is not looked at", RANDOM, UNENDED,
	 WORLD(DECIMATED, .mutations = M(BEATEN_UNHEARD)), .runs = 4000, .once = true},
	{"void when only the leader is gone", EVERY, DROPPED, WORLD(PAIR, .mutations = M(DROP_WITH_LEADER))},
	{"void before rows are looked at", EVERY, DROPPED, WORLD(HEIR, .mutations = M(DROP_UNLOOKED))},
	{"a node that says that it is no member is believed at once", EVERY, DROPPED,
	 WORLD(GROWN, .mutations = M(HASTY_DROP))},
	{"a node that says that it is no member is never believed", RANDOM, NONE_FORMED,
	 WORLD(RUSHED_DEATH, .mutations = M(SEEKERS_ARE_MEMBERS)), .runs = 4000, .once = true},
	{"an intro's view number is ignored", EVERY, UNENDED, WORLD(ALONE, .mutations = M(INTRO_NUMBER_IGNORED))},
	{"tells what it is before it looks", EVERY, TWO_GROUPS, WORLD(COUPLE, .mutations = M(TELL_UNLOOKED))},
	{"forms before it knows which nodes are there", EVERY, TWO_GROUPS, WORLD(COUPLE, .mutations = M(FORM_RASHLY))},
	{"forms beside a member", EVERY, TWO_GROUPS, WORLD(COUPLE, .mutations = M(FORM_BESIDE))},
	{"an incarnation is not told from another", EVERY, ENDLESS, WORLD(TWO, .mutations = M(GONE_BY_ID))},
	{"void when the coordinator is gone", EVERY, NEVER, WORLD(THREE, .mutations = M(DROP_WITH_COORDINATOR))},
	{"a promise is broken", EVERY, NEVER, WORLD(THREE, .mutations = M(PROMISE_BROKEN))},
	{"a node that is there follows another invitation", EVERY, NEVER,
	 WORLD(RUSHED, .mutations = M(REINVITED_WHEN_THERE))},
	{"a node that drops a first view does not say so", EVERY, ENDLESS, WORLD(THREE, .mutations = M(SILENT_DROP))},
	{"of what others drop the last is remembered", RANDOM, ENDLESS,
	 WORLD(LATE_FIVE, .mutations = M(LAST_DROP_COUNTS)), .runs = 4000, .once = true},
	{"begins without a majority", RANDOM, NEVER, WORLD(THREE_AGAIN, .mutations = M(BEGUN_WITHOUT_MAJORITY)),
	 .runs = 1000, .once = true},
	{"a first view of some is not renewed", RANDOM, FOREIGN, WORLD(SOME, .mutations = M(NEVER_RENEWED)),
	 .runs = 100, .once = true},

	/* Covered twice. Where no reason stands nothing was found, which is no proof. */
	{"a lower key is followed (intros end it)", RANDOM, NULL, WORLD(DOUBTED, .mutations = M(LOWER_KEY)),
	 .once = true},
	{"taken in while it is in the view (a dead member acknowledges nothing)", RANDOM, NULL,
	 WORLD(REBORN, .mutations = M(OLD_AND_NEW)), .once = true},
	{"intros do not end an invitation (it is invited again)", RANDOM, NULL,
	 WORLD(DOUBTED, .mutations = M(NEVER_VOID)), .once = true},
	{"a node that is left out is not told (the same)", RANDOM, NULL,
	 WORLD(REBORN, .mutations = M(SILENT_WITHDRAWAL)), .once = true},
	{"beats in the next view when it is installed (which comes)", EVERY, NULL, WORLD(PAIR, .mutations = M(NO_BEAT))},
	{"withdrawn is not keyed (queues are in order; one run in ten thousand)", RANDOM, NULL,
	 WORLD(SOME, .mutations = M(WITHDRAWN_NOT_KEYED)), .once = true},
	{"the leader stops unheeding (it decides heeding)", RANDOM, NULL,
	 WORLD(DOUBTED, .mutations = M(HEEDLESS_WEDGE)), .once = true},
	{"a node that sees that another has begun waits for all (a while)", EVERY, NULL,
	 WORLD(THREE, .mutations = M(BEGUN_ALONE))},
	{"a coordinator meets a lower one and stays (a while)", RANDOM, NULL,
	 WORLD(FOUR, .mutations = M(COORDINATORS_STAY)), .once = true},
	{"a node that has dropped a first view is not told (it invites in vain)", RANDOM, NULL,
	 WORLD(FOUR_DOUBTED, .mutations = M(UNTOLD)), .once = true},
	{"the quorum of a first view is of its members (a majority is there)", RANDOM, NULL,
	 WORLD(FIVE_CUT, .mutations = M(VOTERS_ARE_MEMBERS)), .once = true},
};

static bool is_calm(const struct world *w, const struct state *s, struct step step)
{
	return can(w, s, step, CALM);
}

static const char *endless(const struct world *w, const struct state *s)
{
	(void)w;
	return s->cuts > 0 ? NULL : ENDLESS;
}

static bool is_full(const struct state *s)
{
	return s->full;
}

/* What goes wrong is rare. */
static uint32_t weight(struct step step, unsigned chance)
{
	static const uint32_t weights[] = {1, 20, 400, 400}, rare[] = {0, 1, 2, 10};

	return step.kind >= LEAVE || step.kind == VOID || step.kind == LEAVE_OUT ? rare[chance] : weights[chance];
}

static void print_world(const struct world *w)
{
	printf("%-50s  ", w->what);
}

int main(int argc, char **argv)
{
	static const struct model model = {
		.what = "join: views that follow each other, with nodes that come in, and the first one",
		.state_bytes = sizeof(struct state),
		.counts = ALL_RIGHT,
		.most = 1000000,
		.runs = 500,
		.gait = {.length = 4000,
			 .troubled = 400,
			 .troubled_2 = 120,
			 .stretch = 32,
			 .seeds = {7, 280},
			 .weight = weight},
		.begin = begin,
		.steps = steps_from,
		.take = take,
		.late = late_steps,
		.key = key_of,
		.key_bytes = KEY,
		.depth = 600,
		.copy = copy,
		.is_calm = is_calm,
		.rest = ended,
		.endless = endless,
		.is_full = is_full,
		.print_world = print_world,
		.print_step = print_step,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
