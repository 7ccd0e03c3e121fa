/* join.c - views that follow each other, with nodes that come in, and the first one: what is tried. join.h says what the model is,
 * docs/decisions/0016 the rules.
 *
 * As in change.c the rules must hold, in all states of the smallest worlds and in random runs of larger ones; then they are broken
 * one at a time, and each time what follows must be found in the world that is named. What is covered twice is said to hold all the
 * same, and why.
 *
 *     join [-v] [runs]
 *
 * One line for each; exit status 0 if there is no surprise. -v adds a trace of each finding; `runs` makes the random part of what
 * goes by the rules as many times as long, with other seeds.
 */
#include "join.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATES 1000000
#define ALL 0xff

/* Nodes are named by their ids; ids below `first` are members in the beginning, and 0 leads. */
enum name {
	ALONE,
	PAIR,
	GROWN,
	HEIR,
	TRIO,
	LEADER,
	REBORN,
	FLAPPING,
	DECIMATED,
	MIXED,
	DOUBTED,
	LEAVING,
	CUT_OFF,
	TWO,
	THREE,
	RUSHED,
	RUSHED_DEATH,
	THREE_AGAIN,
	THREE_CUT,
	FOUR,
	FOUR_DOUBTED,
	FIVE,
	LATE_FIVE,
	RUSHED_FIVE,
	FIVE_CUT,
	SOME,
	COUPLE,
	ONE,
	WORLDS
};

static const struct {
	const char *what;
	struct world w;
} worlds[WORLDS] = {
	[ALONE] = {"1, and 1 comes; all acquainted",
		   {.ids = 2, .how = GROUP, .first = 1, .acquainted = true, .crashes = 1, .returns = 1, .timeouts = 1}},
	[PAIR] = {"2, and 1 comes; all acquainted",
		  {.ids = 3, .how = GROUP, .first = 2, .acquainted = true, .crashes = 1}},
	[GROWN] = {"1, and 2 come; all acquainted; 0 may die",
		   {.ids = 3, .how = GROUP, .first = 1, .acquainted = true, .crashes = 1, .mortal = 1}},
	[TRIO] = {"3, and 1 comes", {.ids = 4, .how = GROUP, .first = 3, .crashes = 1, .timeouts = 1}},
	[LEADER] = {"3, and 2 come; 0 may die",
		    {.ids = 5, .how = GROUP, .first = 3, .crashes = 1, .mortal = 1, .timeouts = 1}},
	[REBORN] = {"3, and 1 comes; it may die twice",
		    {.ids = 4, .how = GROUP, .first = 3, .crashes = 2, .returns = 2, .mortal = 8, .timeouts = 1}},
	[FLAPPING] = {"3, and 1 comes again and again; 1 or 2 may die",
		      {.ids = 4, .how = GROUP, .first = 3, .crashes = 1, .mortal = 6, .timeouts = 14}},
	[DECIMATED] = {"3, and 2 come; all acquainted; 0 and 2 may die",
		       {.ids = 5, .how = GROUP, .first = 3, .acquainted = true, .crashes = 2, .mortal = 5}},
	[MIXED] = {"3, and 2 come; traffic",
		   {.ids = 5, .how = GROUP, .first = 3, .crashes = 2, .returns = 1, .traffic = true, .timeouts = 2}},
	[DOUBTED] = {"3, and 2 come; traffic, mistakes",
		     {.ids = 5,
		      .how = GROUP,
		      .first = 3,
		      .tie_breaker = 2,
		      .crashes = 1,
		      .traffic = true,
		      .doubters = ALL,
		      .doubted = ALL,
		      .mistakes = 2,
		      .timeouts = 2}},
	[LEAVING] = {"3, and 2 come; some leave",
		     {.ids = 5,
		      .how = GROUP,
		      .first = 3,
		      .tie_breaker = 1,
		      .crashes = 1,
		      .returns = 1,
		      .leavers = ALL,
		      .leaves = 2,
		      .timeouts = 2}},
	[CUT_OFF] = {"3, and 2 come; some are cut off; traffic, mistakes",
		     {.ids = 5,
		      .how = GROUP,
		      .first = 3,
		      .tie_breaker = 2,
		      .crashes = 2,
		      .returns = 2,
		      .cuts = 3,
		      .traffic = true,
		      .doubters = ALL,
		      .doubted = ALL,
		      .mistakes = 1,
		      .timeouts = 4}},
	[TWO] = {"2 form", {.ids = 2, .configured = 2, .how = MAJORITY, .crashes = 1, .returns = 1}},
	[THREE] = {"3 form; all acquainted",
		   {.ids = 3, .configured = 3, .how = MAJORITY, .acquainted = true, .crashes = 1}},
	[RUSHED] = {"3 form; all acquainted, some is late",
		    {.ids = 3, .configured = 3, .how = MAJORITY, .acquainted = true, .timeouts = 2}},
	[RUSHED_DEATH] = {"3 form; all acquainted, some is late, one may die",
			  {.ids = 3, .configured = 3, .how = MAJORITY, .acquainted = true, .crashes = 1, .timeouts = 1}},
	[THREE_AGAIN] = {"3 form; traffic",
			 {.ids = 3,
			  .configured = 3,
			  .how = MAJORITY,
			  .crashes = 1,
			  .returns = 1,
			  .traffic = true,
			  .timeouts = 2}},
	[THREE_CUT] = {"3 form, one comes back, some are cut off; traffic",
		       {.ids = 3,
			.configured = 3,
			.how = MAJORITY,
			.crashes = 1,
			.returns = 1,
			.cuts = 2,
			.traffic = true,
			.timeouts = 4}},
	[FOUR] = {"4 form; traffic",
		  {.ids = 4,
		   .configured = 4,
		   .how = MAJORITY,
		   .crashes = 1,
		   .returns = 1,
		   .traffic = true,
		   .timeouts = 2}},
	[FOUR_DOUBTED] = {"4 form; traffic, mistakes",
			  {.ids = 4,
			   .configured = 4,
			   .how = MAJORITY,
			   .tie_breaker = 2,
			   .crashes = 1,
			   .returns = 1,
			   .traffic = true,
			   .doubters = ALL,
			   .doubted = ALL,
			   .mistakes = 2,
			   .timeouts = 3}},
	[FIVE] = {"5 form; traffic",
		  {.ids = 5,
		   .configured = 5,
		   .how = MAJORITY,
		   .crashes = 2,
		   .returns = 2,
		   .traffic = true,
		   .timeouts = 2}},
	[LATE_FIVE] = {"5 form; traffic, much is late",
		       {.ids = 5,
			.configured = 5,
			.how = MAJORITY,
			.crashes = 1,
			.returns = 1,
			.traffic = true,
			.timeouts = 6}},
	[RUSHED_FIVE] = {"5 form; all acquainted, some is late",
			 {.ids = 5, .configured = 5, .how = MAJORITY, .acquainted = true, .timeouts = 3}},
	[FIVE_CUT] =
		{"5 form, some are cut off; traffic",
		 {.ids = 5, .configured = 5, .how = MAJORITY, .crashes = 1, .cuts = 5, .traffic = true, .timeouts = 4}},
	[SOME] = {"3 of 5 form, and 2 come; traffic",
		  {.ids = 5,
		   .configured = 5,
		   .absent = 0x18,
		   .how = MAJORITY,
		   .crashes = 1,
		   .returns = 1,
		   .traffic = true,
		   .timeouts = 1}},
	[HEIR] = {"1, and 1 comes; all acquainted; 0 may leave",
		  {.ids = 2, .how = GROUP, .first = 1, .acquainted = true, .leavers = 1, .leaves = 1}},
	[COUPLE] = {"1 founds, 1 comes", {.ids = 2, .configured = 2, .how = FOUNDER, .crashes = 1, .returns = 1}},
	[ONE] = {"1 founds, 3 come; traffic",
		 {.ids = 4, .configured = 4, .how = FOUNDER, .crashes = 2, .returns = 2, .traffic = true, .timeouts = 2}},
};

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

static const struct scenario {
	const char *what;
	enum name world;
	uint64_t mutations;
	uint32_t runs; /* 0: all states */
	const char *expected;
} scenarios[] = {
	{"by the rules", ALONE, 0, 0, NULL},
	{"by the rules", PAIR, 0, 0, NULL},
	{"by the rules", GROWN, 0, 0, NULL},
	{"by the rules", HEIR, 0, 0, NULL},
	{"by the rules", TWO, 0, 0, NULL},
	{"by the rules", THREE, 0, 0, NULL},
	{"by the rules", COUPLE, 0, 0, NULL},
	{"by the rules", TRIO, 0, 500, NULL},
	{"by the rules", LEADER, 0, 500, NULL},
	{"by the rules", REBORN, 0, 500, NULL},
	{"by the rules", FLAPPING, 0, 300, NULL},
	{"by the rules", DECIMATED, 0, 500, NULL},
	{"by the rules", MIXED, 0, 1000, NULL},
	{"by the rules", DOUBTED, 0, 1000, NULL},
	{"by the rules", LEAVING, 0, 1000, NULL},
	{"by the rules", CUT_OFF, 0, 500, NULL},
	{"by the rules", RUSHED, 0, 1000, NULL},
	{"by the rules", RUSHED_DEATH, 0, 1000, NULL},
	{"by the rules", THREE_AGAIN, 0, 1000, NULL},
	{"by the rules", FOUR, 0, 500, NULL},
	{"by the rules", FOUR_DOUBTED, 0, 500, NULL},
	{"by the rules", FIVE, 0, 500, NULL},
	{"by the rules", LATE_FIVE, 0, 500, NULL},
	{"by the rules", RUSHED_FIVE, 0, 500, NULL},
	{"by the rules", FIVE_CUT, 0, 500, NULL},
	{"by the rules", SOME, 0, 500, NULL},
	{"by the rules", ONE, 0, 500, NULL},
	{"by the rules: what start = join is for", THREE_CUT, 0, 4000, TWO_GROUPS},

	{"enters unbidden", ALONE, M(ENTER_UNBIDDEN), 0, UNDECIDED},
	{"enters when another newcomer is there", LEADER, M(ENTER_BY_NEWCOMER), 1000, UNDECIDED},
	{"members beat in a view that is not decided", PAIR, M(BEAT_EARLY), 0, UNDECIDED},
	{"the leader stops before all are there", ALONE, M(WEDGE_BEFORE_THERE), 0, ABSENT},
	{"the leader stops before all have acknowledged", ALONE, M(WEDGE_BEFORE_ACK), 0, STILL},
	{"there is not keyed", REBORN, M(THERE_NOT_KEYED), 4000, ABSENT},
	{"a newcomer that does not come is waited for", ALONE, M(NEVER_LEFT_OUT), 0, SHUT_OUT},
	{"newcomers, although somebody has failed", PAIR, M(NEWCOMERS_WITH_SUSPECTS), 0, STILL},
	{"newcomers take all attempts", FLAPPING, M(NO_RESERVE), 1000, STUCK},
	{"more newcomers than members", GROWN, M(TOO_MANY), 0, DROPPED},
	{"a next view that has begun is not looked at", DECIMATED, M(BEATEN_UNHEARD), 4000, UNENDED},
	{"void when only the leader is gone", PAIR, M(DROP_WITH_LEADER), 0, DROPPED},
	{"void before rows are looked at", HEIR, M(DROP_UNLOOKED), 0, DROPPED},
	{"a node that says that it is no member is believed at once", GROWN, M(HASTY_DROP), 0, DROPPED},
	{"a node that says that it is no member is never believed", RUSHED_DEATH, M(SEEKERS_ARE_MEMBERS), 4000,
	 NONE_FORMED},
	{"an intro's view number is ignored", ALONE, M(INTRO_NUMBER_IGNORED), 0, UNENDED},
	{"tells what it is before it looks", COUPLE, M(TELL_UNLOOKED), 0, TWO_GROUPS},
	{"forms before it knows which nodes are there", COUPLE, M(FORM_RASHLY), 0, TWO_GROUPS},
	{"forms beside a member", COUPLE, M(FORM_BESIDE), 0, TWO_GROUPS},
	{"an incarnation is not told from another", TWO, M(GONE_BY_ID), 0, ENDLESS},
	{"void when the coordinator is gone", THREE, M(DROP_WITH_COORDINATOR), 0, NEVER},
	{"a promise is broken", THREE, M(PROMISE_BROKEN), 0, NEVER},
	{"a node that is there follows another invitation", RUSHED, M(REINVITED_WHEN_THERE), 0, NEVER},
	{"a node that drops a first view does not say so", THREE, M(SILENT_DROP), 0, ENDLESS},
	{"of what others drop the last is remembered", LATE_FIVE, M(LAST_DROP_COUNTS), 4000, ENDLESS},
	{"begins without a majority", THREE_AGAIN, M(BEGUN_WITHOUT_MAJORITY), 1000, NEVER},
	{"a first view of some is not renewed", SOME, M(NEVER_RENEWED), 100, FOREIGN},

	/* Covered twice. Where no reason stands nothing was found, which is no proof. */
	{"a lower key is followed (intros end it)", DOUBTED, M(LOWER_KEY), 500, NULL},
	{"taken in while it is in the view (a dead member acknowledges nothing)", REBORN, M(OLD_AND_NEW), 500, NULL},
	{"intros do not end an invitation (it is invited again)", DOUBTED, M(NEVER_VOID), 500, NULL},
	{"a node that is left out is not told (the same)", REBORN, M(SILENT_WITHDRAWAL), 500, NULL},
	{"beats in the next view when it is installed (which comes)", PAIR, M(NO_BEAT), 0, NULL},
	{"withdrawn is not keyed (queues are in order; one run in ten thousand)", SOME, M(WITHDRAWN_NOT_KEYED), 500,
	 NULL},
	{"the leader stops unheeding (it decides heeding)", DOUBTED, M(HEEDLESS_WEDGE), 500, NULL},
	{"a node that sees that another has begun waits for all (a while)", THREE, M(BEGUN_ALONE), 0, NULL},
	{"a coordinator meets a lower one and stays (a while)", FOUR, M(COORDINATORS_STAY), 500, NULL},
	{"a node that has dropped a first view is not told (it invites in vain)", FOUR_DOUBTED, M(UNTOLD), 500, NULL},
	{"the quorum of a first view is of its members (a majority is there)", FIVE_CUT, M(VOTERS_ARE_MEMBERS), 500,
	 NULL},
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static struct world world_of(const struct scenario *sc)
{
	struct world w = worlds[sc->world].w;

	if (w.mortal == 0)
		w.mortal = ALL;
	w.tie_breaker--; /* in the table an id + 1 */
	w.keeps = true;
	w.mutations = sc->mutations;
	return w;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	long asked = argc > 1 + verbose ? strtol(argv[1 + verbose], NULL, 10) : 1;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		const struct scenario *sc = &scenarios[i];
		struct world w = world_of(sc);
		uint32_t times = sc->mutations == 0 && asked > 1 ? (uint32_t)asked : 1;
		struct finding found =
			sc->runs > 0 ? wander(&w, sc->runs * times, times * 7, verbose) : explore(&w, STATES, verbose);
		bool expected =
			same_text(found.wrong, sc->expected) && (found.all || sc->runs > 0 || sc->expected != NULL);

		printf("%-48s %-68s %7u %s: %s%s\n", worlds[sc->world].what, sc->what, found.looked,
		       sc->runs > 0 ? "runs" : "states", found.wrong != NULL ? found.wrong : "holds",
		       expected ? "" : "  <-- SURPRISE");
		fflush(stdout);
		surprises += !expected;
	}
	if (surprises > 0)
		printf("%d surprises\n", surprises);
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
