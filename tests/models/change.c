/* change.c - the change of one view: what is tried of it. change.h says what the model is, docs/decisions/0014 the rules.
 *
 * The rules must hold in all states of three members and in random runs of more, with crashes, false suspicions and
 * members that leave. Then they are broken, one or a few at a time, and each time what follows must be found: in all states, in
 * random runs, or on a timeline where luck does not get there. What is covered twice is said to hold all the same, and why: a
 * rule that nothing here needs is either a second line or wants a better model.
 *
 *     change [-v] [runs]
 *
 * One line for each; exit status 0 if there is no surprise. -v adds a trace of each finding; `runs` makes the random part as
 * many times as long, with other seeds.
 */
#include "change.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATES 1000000
#define EVERYBODY 0x7f

#define MEMORY "a member is to agree to a view and has not its memory"
#define MEMORY_LATE "somebody has not the memory of the view that it installs"
#define BEHIND "somebody has delivered what lies behind the cut"
#define TWO "two decisions are installed"
#define STUCK "a quorum without suspicions among its members does not go on"
#define STAYS_BEHIND "a member that could have followed does not"
#define NO_QUORUM "somebody installs without a quorum"
#define UNREADABLE "a member goes along with a view that it cannot read"
#define NEVER_WISHED "a member is placed as it never wished"
#define REPLACED "a member is placed by a set that it had replaced"
#define UNSERVED "a wish is not served"

/* Steps of a timeline: a letter and one or two ranks. Those that cannot be taken are left out; the end is calm.
 *
 *     A takes in all of   S suspects   M knows that has left   W wedges   P proposes   O opens   K acknowledges
 *     D decides   T adopts   E echoes   I installs   L leaves   C crashes   *: all members take in all
 */
static const char letters[] = "ASFMoWPOKDTEIRLC";

#define WITHOUT_4 "C4 S04 S14 S24 S34 W0 W1 W2 W3 * P0 * O0 O1 O2 O3 K0 K1 K2 K3 * D0 "
/* 0 installs with 2 and 3, and has suspected 1. No other member knows that, and 0 dies. */
#define ONE_AHEAD WITHOUT_4 "A20 E2 A30 E3 A02 A03 S01 I0 C0 S10 S20 S30"
/* 2 installs what 0 decided; the others are led by 1 before they can. */
#define TWO_AHEAD WITHOUT_4 "A10 E1 A20 E2 A30 E3 C0 S10 S20 S30 A21 A23 I2 A12 A13 T1"
/* 4 has left. 0 and 2 are half of the rest, with the tie-breaker: 0 installs. Then 2 leaves, and 1 and 3 are two of three. */
#define HALF_AHEAD                                                                                                     \
	"L4 A04 A14 A24 A34 M04 M14 M24 M34 W0 W1 W2 W3 * P0 * O0 O1 O2 O3 K0 K1 K2 K3 A01 A02 A03 D0 A20 E2 A02 S01 " \
	"S03 I0 A32 L2 A32 S30 M32 A13 S10 "
#define THE_REST_GOES_ON "M12 A31 P1 A31 O1 O3 K1 K3 A13 D1 A31 E3 A13 I1"

/* 3 alone echoes 0. 1 suspects 3 and proposes anew; only 4 hears of it. Then 2 adopts what 3 has. */
#define ONE_HEARD                                                                                                      \
	"C6 S06 S16 S26 S36 S46 S56 W0 W1 W2 W3 W4 W5 * P0 * O0 O1 O2 O3 O4 O5 K0 K1 K2 K3 K4 K5 * D0 A30 E3 C0 "      \
	"S10 S20 S30 S40 S50 S13 A12 A14 A15 P1 A41 O4 C1 S41 S21 S31 S51 A23 A24 A25 T2 A42 E4"

static const struct scenario {
	const char *what;
	uint8_t count;
	int8_t tie_breaker;
	uint8_t crashes;
	members leavers, doubters, doubted; /* each of the doubters may think any of the doubted dead */
	bool level;                         /* all have received the same; and more may come before the wedge */
	bool follows;
	uint32_t mutations;
	uint32_t runs;        /* 0: all states, or the timeline */
	const char *timeline; /* NULL: there is none */
	const char *expected; /* NULL: it holds */
} scenarios[] = {
	{"by the rules, no tie-breaker", 3, -1, 1, 0, 7, 7, false, false, 0, 0, NULL, NULL},
	{"by the rules, any member may leave", 3, -1, 1, 7, 7, 7, false, false, 0, 0, NULL, NULL},
	{"by the rules, any member may leave, tie-breaker 0", 3, 0, 1, 7, 7, 7, false, false, 0, 0, NULL, NULL},
	{"by the rules, any member may leave, tie-breaker 1", 3, 1, 1, 7, 7, 7, false, false, 0, 0, NULL, NULL},
	{"by the rules, any member may leave, tie-breaker 2", 3, 2, 1, 7, 7, 7, false, false, 0, 0, NULL, NULL},
	{"by the rules, one more message comes", 3, -1, 0, 0, 3, 4, true, false, 0, 0, NULL, NULL},
	{"by the rules, nobody is left behind", 3, -1, 1, 7, 0, 0, false, true, 0, 0, NULL, NULL},
	{"by the rules", 4, -1, 2, 0, EVERYBODY, EVERYBODY, false, false, 0, 2000, NULL, NULL},
	{"by the rules, tie-breaker 2, leavers", 4, 2, 2, EVERYBODY, EVERYBODY, EVERYBODY, false, false, 0, 2000, NULL,
	 NULL},
	{"by the rules, tie-breaker 0, leavers", 5, 0, 2, EVERYBODY, EVERYBODY, EVERYBODY, false, false, 0, 2000, NULL,
	 NULL},
	{"by the rules, a row of leaders falls", 5, 0, 2, EVERYBODY, EVERYBODY, 3, false, false, 0, 2000, NULL, NULL},
	{"by the rules, tie-breaker 1, leavers", 6, 1, 2, EVERYBODY, EVERYBODY, EVERYBODY, false, false, 0, 1000, NULL,
	 NULL},
	{"by the rules, leavers", 7, -1, 3, EVERYBODY, EVERYBODY, EVERYBODY, false, false, 0, 1000, NULL, NULL},
	{"by the rules, one installs ahead", 5, -1, 2, 0, 1, 2, false, false, 0, 0, ONE_AHEAD, NULL},
	{"by the rules, a follower installs ahead", 5, -1, 2, 0, 0, 0, false, false, 0, 0, TWO_AHEAD, NULL},
	{"by the rules, a member that echoed has left", 5, 0, 0, 0x14, 0xb, 0xb, false, false, 0, 0,
	 HALF_AHEAD "A12 " THE_REST_GOES_ON, NULL},

	{"by the rules, one is heard by one", 7, -1, 3, 0, 2, 8, false, false, 0, 0, ONE_HEARD, NULL},

	{"removed is not looked at before the echo", 3, -1, 1, 0, 7, 7, false, false, REMOVED_NOT_LOOKED, 0, NULL,
	 MEMORY},
	{"nobody heeds", 5, 0, 1, 31, EVERYBODY, 3, false, false, HEEDLESS | REMOVED_NOT_LOOKED, 40000, NULL, MEMORY},
	{"a member that opens does not heed", 7, -1, 3, 0, 2, 8, false, false, HEEDLESS_OPEN, 0, ONE_HEARD, MEMORY},
	{"decided before all have acknowledged", 3, -1, 1, 0, 7, 7, false, false, DECIDED_UNACKNOWLEDGED, 0, NULL,
	 MEMORY},
	{"decided before all have wedged", 3, -1, 0, 0, 3, 4, true, false, DECIDED_UNWEDGED, 0, NULL, BEHIND},
	{"received_num moves after the wedge", 3, -1, 0, 0, 3, 4, true, false, WEDGED_NOT_DEAF, 0, NULL, BEHIND},
	{"suspected without a quorum, installed without", 4, 0, 1, 0, EVERYBODY, 1, false, false,
	 UNGATED | NO_QUORUM_TO_INSTALL, 40000, NULL, NO_QUORUM},
	{"a member that left is one that failed if others say so", 4, 2, 2, EVERYBODY, EVERYBODY, EVERYBODY, false,
	 false, LEFT_MADE_FAILED, 20000, NULL, STUCK},
	{"a member that left suspecting others is not one that failed", 4, 2, 2, EVERYBODY, EVERYBODY, EVERYBODY, false,
	 false, LEFT_THOUGH_SUSPECTING, 20000, NULL, STUCK},
	{"a member that installed and left is suspected, and that is heeded", 3, -1, 1, 7, 0, 0, false, true,
	 INSTALLED_SUSPECTED | INSTALLED_HEEDED, 0, NULL, STAYS_BEHIND},
	{"that a member left is known by hearsay", 5, 0, 0, 0x14, 0xb, 0xb, false, false, LEFT_BY_HEARSAY, 0,
	 HALF_AHEAD THE_REST_GOES_ON, TWO},
	{"what a member that left has echoed is overlooked", 5, 0, 0, 0x14, 0xb, 0xb, false, false, LEFT_NOT_ADOPTED, 0,
	 HALF_AHEAD "A12 " THE_REST_GOES_ON, TWO},
	{"a new leader adopts nothing", 5, -1, 2, 0, 1, 2, false, false, ALWAYS_AFRESH, 0, ONE_AHEAD, STUCK},
	{"installed means nothing", 5, -1, 2, 0, 0, 0, false, false, NO_SHORT_CUT, 0, TWO_AHEAD, STUCK},

	/* Covered twice: a member that has agreed acknowledges nothing any more, and a member that acknowledges a leader suspects
	 * all before it. So there are never two decisions of which each can become final. Heed at one step is made up for by heed
	 * at the others. Where no reason stands nothing was found, which is no proof. */
	{"no barrier (all must acknowledge)", 3, 0, 1, 0, 7, 7, false, false, NO_BARRIER, 0, NULL, NULL},
	{"an echo is a flag (no two decisions)", 3, 0, 1, 0, 7, 7, false, false, ECHO_IS_A_FLAG, 0, NULL, NULL},
	{"the ranks of echoes may differ (the same)", 3, 0, 1, 0, 7, 7, false, false, RANKS_MAY_DIFFER, 0, NULL, NULL},
	{"the lowest is adopted (the same)", 3, 0, 1, 0, 7, 7, false, false, LOWEST_ADOPTED, 0, NULL, NULL},
	{"echoes of lower ranks (leaders' ranks only rise)", 3, 0, 1, 0, 7, 7, false, false, ECHO_OF_LOWER, 0, NULL,
	 NULL},
	{"no quorum to decide (it is asked for at the end)", 3, 0, 1, 0, 7, 7, false, false, NO_QUORUM_TO_DECIDE, 0,
	 NULL, NULL},
	{"no quorum to install (a member that suspects hears one)", 3, 0, 1, 0, 7, 7, false, false,
	 NO_QUORUM_TO_INSTALL, 0, NULL, NULL},
	{"a member that installed and left is suspected (it is final)", 3, -1, 1, 7, 0, 0, false, true,
	 INSTALLED_SUSPECTED, 0, NULL, NULL},
	{"installed has to be heeded (a quorum is heard)", 3, -1, 1, 7, 0, 0, false, true, INSTALLED_HEEDED, 0, NULL,
	 NULL},
	{"suspicions of members that left (they have none)", 3, 0, 1, 7, 7, 7, false, false, LEFT_NOT_HEARD, 0, NULL,
	 NULL},
	{"a member that acknowledges does not heed (the others do)", 5, 0, 1, 31, EVERYBODY, 3, false, false,
	 HEEDLESS_ACKNOWLEDGE, 1000, NULL, NULL},
	{"a leader that decides does not heed (the others do)", 5, 0, 1, 31, EVERYBODY, 3, false, false,
	 HEEDLESS_DECIDE, 1000, NULL, NULL},
	{"a leader that adopts does not heed (the others do)", 5, 0, 1, 31, EVERYBODY, 3, false, false, HEEDLESS_ADOPT,
	 1000, NULL, NULL},
	{"a member that echoes does not heed (the others do)", 5, 0, 1, 31, EVERYBODY, 3, false, false, HEEDLESS_ECHO,
	 1000, NULL, NULL},
	{"a member that installs does not heed (the others do)", 5, 0, 1, 31, EVERYBODY, 3, false, false,
	 HEEDLESS_INSTALL, 1000, NULL, NULL},
	{"members heed only when they open or install (an accused one looks)", 3, -1, 1, 0, 7, 7, false, false,
	 HEEDLESS_ACKNOWLEDGE | HEEDLESS_DECIDE | HEEDLESS_ADOPT | HEEDLESS_ECHO, 0, NULL, NULL},
	{"members heed only when they open or install (the same)", 5, 0, 1, 31, EVERYBODY, 3, false, false,
	 HEEDLESS_ACKNOWLEDGE | HEEDLESS_DECIDE | HEEDLESS_ADOPT | HEEDLESS_ECHO, 2000, NULL, NULL},
	{"members heed only when they open or install, and none looks", 3, -1, 1, 0, 7, 7, false, false,
	 HEEDLESS_ACKNOWLEDGE | HEEDLESS_DECIDE | HEEDLESS_ADOPT | HEEDLESS_ECHO | REMOVED_NOT_LOOKED, 0, NULL, MEMORY},
	{"the row of a suspect is read on", 5, 0, 1, 31, EVERYBODY, 3, false, false, SUSPECTS_ARE_READ, 1000, NULL,
	 NULL},
	{"a member that takes the short cut copies nothing", 5, 0, 1, 31, EVERYBODY, 3, false, false, SILENT_SHORT_CUT,
	 1000, NULL, NULL},
	{"frozen after it is said (its word is out)", 5, 0, 2, 0, EVERYBODY, 3, false, false, FREEZE_LATE, 2000, NULL,
	 NULL},
};

/* Views that serve wishes (docs/decisions/0046): what is not said here is as in the worlds before. */
static const struct wishing {
	struct scenario base;
	members wishers, changers, liars;
	bool held_up;
	uint32_t mutations;
} wishing[] = {
	{{"wishes, nobody fails", 3, -1, 0, 0, 0, 0, false, false, 0, 0, NULL, NULL}, 6, 2, 0, false, 0},
	{{"wishes, a member crashes", 3, -1, 1, 0, 0, 0, false, false, 0, 0, NULL, NULL}, 2, 0, 0, false, 0},
	{{"wishes, the leader may leave", 3, -1, 0, 1, 0, 0, false, false, 0, 0, NULL, NULL}, 6, 2, 0, false, 0},
	{{"wishes, and what comes is no successor", 3, -1, 0, 0, 0, 0, false, false, 0, 0, NULL, NULL},
	 6,
	 2,
	 1,
	 false,
	 0},
	{{"wishes, views are held up", 3, -1, 1, 0, 0, 0, false, false, 0, 0, NULL, NULL}, 2, 0, 0, true, 0},
	{{"wishes", 3, -1, 1, 7, 7, 7, true, false, 0, 10000, NULL, NULL}, 7, 7, 0, false, 0},
	{{"wishes", 5, 0, 2, EVERYBODY, EVERYBODY, EVERYBODY, false, false, 0, 2000, NULL, NULL},
	 EVERYBODY,
	 6,
	 0,
	 false,
	 0},
	{{"wishes, views are held up", 7, -1, 3, EVERYBODY, EVERYBODY, 3, false, false, 0, 1000, NULL, NULL},
	 EVERYBODY,
	 EVERYBODY,
	 0,
	 true,
	 0},

	{{"a member that cannot read a view acknowledges it", 3, -1, 0, 0, 0, 0, false, false, 0, 0, NULL, UNREADABLE},
	 6,
	 0,
	 0,
	 false,
	 UNREAD},
	{{"what leaves a member out carries wishes", 3, -1, 1, 0, 0, 0, false, false, 0, 0, NULL, STUCK},
	 6,
	 0,
	 0,
	 true,
	 LEAVES_OUT},
	{{"what is no successor is acknowledged", 3, -1, 0, 0, 0, 0, false, false, 0, 0, NULL, NEVER_WISHED},
	 6,
	 0,
	 1,
	 false,
	 UNCHECKED},
	{{"what serves a set that was replaced is acknowledged", 3, -1, 0, 0, 0, 0, false, false, 0, 0, NULL, REPLACED},
	 6,
	 2,
	 0,
	 false,
	 REPLACED_SET},
	{{"a leader proposes once, whatever comes", 3, -1, 0, 0, 0, 0, false, false, 0, 0, NULL, UNSERVED},
	 6,
	 2,
	 0,
	 false,
	 PROPOSED_ONCE},
};

static struct world world_of(const struct scenario *sc)
{
	struct world w = {.count = sc->count,
			  .tie_breaker = sc->tie_breaker,
			  .crashes = sc->crashes,
			  .leavers = sc->leavers,
			  .receivers = sc->level ? EVERYBODY : 0,
			  .follows = sc->follows,
			  .mutations = sc->mutations};

	for (int i = 0; i < sc->count; i++) {
		w.doubts[i] = sc->doubters >> i & 1 ? sc->doubted : 0;
		w.received[i] = (uint8_t)(sc->level ? 10 : 10 + (3 * i + 1) % sc->count);
	}
	return w;
}

/* At most so many messages of one member: what is not there is left out. */
static int append_arrivals(struct step *steps, int count, int i, int p)
{
	for (int n = 0; n < 8 && count < RUN; n++)
		steps[count++] = (struct step){ARRIVE, (uint8_t)i, (uint8_t)p};
	return count;
}

static struct finding follow(const struct scenario *sc, bool verbose)
{
	struct world w = world_of(sc);
	struct step steps[RUN];
	int count = 0;

	for (const char *at = sc->timeline; *at != '\0';) {
		const char *letter = strchr(letters, *at);

		if (*at == '*') {
			for (int n = 0; n < sc->count * sc->count; n++)
				count = append_arrivals(steps, count, n / sc->count, n % sc->count);
		} else if (*at == 'A') {
			count = append_arrivals(steps, count, at[1] - '0', at[2] - '0');
		} else if (*at != ' ' && letter != NULL) {
			int p = at[2] >= '0' && at[2] <= '9' ? at[2] - '0' : 0;

			steps[count++] = (struct step){(uint8_t)(letter - letters), (uint8_t)(at[1] - '0'), (uint8_t)p};
		}
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return (struct finding){.wrong = replay(&w, steps, count, verbose), .looked = 1, .all = true};
}

static struct finding search(const struct scenario *sc, const struct world *w, uint32_t times, bool verbose)
{
	if (sc->timeline != NULL)
		return follow(sc, verbose);
	if (sc->runs > 0)
		return wander(w, sc->runs * times, times * 7, verbose);
	return explore(w, STATES, verbose);
}

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

/* True: it is as expected. */
static bool try_one(const struct scenario *sc, const struct world *w, uint32_t times, bool verbose)
{
	struct finding found = search(sc, w, times, verbose);
	bool expected = same_text(found.wrong, sc->expected) && (found.all || sc->runs > 0 || sc->expected != NULL);

	printf("%u  %-50s %8u %s: %s%s\n", sc->count, sc->what, found.looked,
	       sc->timeline != NULL ? "timeline"
	       : sc->runs > 0       ? "runs"
				    : "states",
	       found.wrong != NULL ? found.wrong : "holds", expected ? "" : "  <-- SURPRISE");
	fflush(stdout);
	return expected;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	long asked = argc > 1 + verbose ? strtol(argv[1 + verbose], NULL, 10) : 1;
	uint32_t times = asked > 0 ? (uint32_t)asked : 1;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++) {
		struct world w = world_of(&scenarios[i]);

		surprises += !try_one(&scenarios[i], &w, times, verbose);
	}
	for (size_t i = 0; i < sizeof(wishing) / sizeof(wishing[0]); i++) {
		const struct wishing *it = &wishing[i];
		struct world w = world_of(&it->base);

		w.wishers = it->wishers;
		w.changers = it->changers;
		w.liars = it->liars;
		w.held_up = it->held_up;
		w.wish_mutations = it->mutations;
		surprises += !try_one(&it->base, &w, times, verbose);
	}
	if (surprises > 0)
		printf("%d surprises\n", surprises);
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
