/* change.c - the change of one view: what is tried of it. change.h says what the model is, docs/decisions/0014 the rules.
 *
 * The rules must hold in all states of three members and in random runs of more, with crashes, false suspicions and
 * members that leave. Then they are broken, one or a few at a time, and each time what follows must be found: in all states, in
 * random runs, or on a timeline where luck does not get there. What is covered twice is said to hold all the same, and why: a
 * rule that nothing here needs is either a second line or wants a better model.
 */
#include "change.h"

#include <stdio.h>
#include <string.h>

#define EVERYBODY 0x7f
#define OF(members, tie) .count = (members), .tie_breaker = (tie)
#define DOUBTS(of, about) .doubters = (of), .doubted = (about)

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

static const struct trial trials[] = {
	{"by the rules, no tie-breaker", EVERY, NULL, WORLD(OF(3, -1), .crashes = 1, DOUBTS(7, 7))},
	{"by the rules, any member may leave", EVERY, NULL, WORLD(OF(3, -1), .crashes = 1, .leavers = 7, DOUBTS(7, 7))},
	{"by the rules, any member may leave, tie-breaker 0", EVERY, NULL,
	 WORLD(OF(3, 0), .crashes = 1, .leavers = 7, DOUBTS(7, 7))},
	{"by the rules, any member may leave, tie-breaker 1", EVERY, NULL,
	 WORLD(OF(3, 1), .crashes = 1, .leavers = 7, DOUBTS(7, 7))},
	{"by the rules, any member may leave, tie-breaker 2", EVERY, NULL,
	 WORLD(OF(3, 2), .crashes = 1, .leavers = 7, DOUBTS(7, 7))},
	{"by the rules, one more message comes", EVERY, NULL, WORLD(OF(3, -1), DOUBTS(3, 4), .level = true)},
	{"by the rules, nobody is left behind", EVERY, NULL,
	 WORLD(OF(3, -1), .crashes = 1, .leavers = 7, .follows = true)},
	{"by the rules", RANDOM, NULL, WORLD(OF(4, -1), .crashes = 2, DOUBTS(EVERYBODY, EVERYBODY))},
	{"by the rules, tie-breaker 2, leavers", RANDOM, NULL,
	 WORLD(OF(4, 2), .crashes = 2, .leavers = EVERYBODY, DOUBTS(EVERYBODY, EVERYBODY))},
	{"by the rules, tie-breaker 0, leavers", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 2, .leavers = EVERYBODY, DOUBTS(EVERYBODY, EVERYBODY))},
	{"by the rules, a row of leaders falls", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 2, .leavers = EVERYBODY, DOUBTS(EVERYBODY, 3))},
	{"by the rules, tie-breaker 1, leavers", RANDOM, NULL,
	 WORLD(OF(6, 1), .crashes = 2, .leavers = EVERYBODY, DOUBTS(EVERYBODY, EVERYBODY)), .runs = 1000},
	{"by the rules, leavers", RANDOM, NULL,
	 WORLD(OF(7, -1), .crashes = 3, .leavers = EVERYBODY, DOUBTS(EVERYBODY, EVERYBODY)), .runs = 1000},
	{"by the rules, one installs ahead", TIMELINE, NULL, WORLD(OF(5, -1), .crashes = 2, DOUBTS(1, 2)),
	 .timeline = ONE_AHEAD},
	{"by the rules, a follower installs ahead", TIMELINE, NULL, WORLD(OF(5, -1), .crashes = 2),
	 .timeline = TWO_AHEAD},
	{"by the rules, a member that echoed has left", TIMELINE, NULL,
	 WORLD(OF(5, 0), .leavers = 0x14, DOUBTS(0xb, 0xb)), .timeline = HALF_AHEAD "A12 " THE_REST_GOES_ON},

	{"by the rules, one is heard by one", TIMELINE, NULL, WORLD(OF(7, -1), .crashes = 3, DOUBTS(2, 8)),
	 .timeline = ONE_HEARD},

	{"removed is not looked at before the echo", EVERY, MEMORY,
	 WORLD(OF(3, -1), .crashes = 1, DOUBTS(7, 7), .mutations = REMOVED_NOT_LOOKED)},
	{"nobody heeds", RANDOM, MEMORY,
	 WORLD(OF(5, 0), .crashes = 1, .leavers = 31, DOUBTS(EVERYBODY, 3), .mutations = HEEDLESS | REMOVED_NOT_LOOKED),
	 .runs = 40000},
	{"a member that opens does not heed", TIMELINE, MEMORY,
	 WORLD(OF(7, -1), .crashes = 3, DOUBTS(2, 8), .mutations = HEEDLESS_OPEN), .timeline = ONE_HEARD},
	{"decided before all have acknowledged", EVERY, MEMORY,
	 WORLD(OF(3, -1), .crashes = 1, DOUBTS(7, 7), .mutations = DECIDED_UNACKNOWLEDGED)},
	{"decided before all have wedged", EVERY, BEHIND,
	 WORLD(OF(3, -1), DOUBTS(3, 4), .level = true, .mutations = DECIDED_UNWEDGED)},
	{"received_num moves after the wedge", EVERY, BEHIND,
	 WORLD(OF(3, -1), DOUBTS(3, 4), .level = true, .mutations = WEDGED_NOT_DEAF)},
	{"suspected without a quorum, installed without", RANDOM, NO_QUORUM,
	 WORLD(OF(4, 0), .crashes = 1, DOUBTS(EVERYBODY, 1), .mutations = UNGATED | NO_QUORUM_TO_INSTALL),
	 .runs = 40000},
	{"a member that left is one that failed if others say so", RANDOM, STUCK,
	 WORLD(OF(4, 2), .crashes = 2, .leavers = EVERYBODY, DOUBTS(EVERYBODY, EVERYBODY),
	       .mutations = LEFT_MADE_FAILED),
	 .runs = 20000},
	{"a member that left suspecting others is not one that failed", RANDOM, STUCK,
	 WORLD(OF(4, 2), .crashes = 2, .leavers = EVERYBODY, DOUBTS(EVERYBODY, EVERYBODY),
	       .mutations = LEFT_THOUGH_SUSPECTING),
	 .runs = 20000},
	{"a member that installed and left is suspected, and that is heeded", EVERY, STAYS_BEHIND,
	 WORLD(OF(3, -1), .crashes = 1, .leavers = 7, .follows = true,
	       .mutations = INSTALLED_SUSPECTED | INSTALLED_HEEDED)},
	{"that a member left is known by hearsay", TIMELINE, TWO,
	 WORLD(OF(5, 0), .leavers = 0x14, DOUBTS(0xb, 0xb), .mutations = LEFT_BY_HEARSAY),
	 .timeline = HALF_AHEAD THE_REST_GOES_ON},
	{"what a member that left has echoed is overlooked", TIMELINE, TWO,
	 WORLD(OF(5, 0), .leavers = 0x14, DOUBTS(0xb, 0xb), .mutations = LEFT_NOT_ADOPTED),
	 .timeline = HALF_AHEAD "A12 " THE_REST_GOES_ON},
	{"a new leader adopts nothing", TIMELINE, STUCK,
	 WORLD(OF(5, -1), .crashes = 2, DOUBTS(1, 2), .mutations = ALWAYS_AFRESH), .timeline = ONE_AHEAD},
	{"installed means nothing", TIMELINE, STUCK, WORLD(OF(5, -1), .crashes = 2, .mutations = NO_SHORT_CUT),
	 .timeline = TWO_AHEAD},

	/* Covered twice: a member that has agreed acknowledges nothing any more, and a member that acknowledges a leader suspects
	 * all before it. So there are never two decisions of which each can become final. Heed at one step is made up for by heed
	 * at the others. Where no reason stands nothing was found, which is no proof. */
	{"no barrier (all must acknowledge)", EVERY, NULL,
	 WORLD(OF(3, 0), .crashes = 1, DOUBTS(7, 7), .mutations = NO_BARRIER)},
	{"an echo is a flag (no two decisions)", EVERY, NULL,
	 WORLD(OF(3, 0), .crashes = 1, DOUBTS(7, 7), .mutations = ECHO_IS_A_FLAG)},
	{"the ranks of echoes may differ (the same)", EVERY, NULL,
	 WORLD(OF(3, 0), .crashes = 1, DOUBTS(7, 7), .mutations = RANKS_MAY_DIFFER)},
	{"the lowest is adopted (the same)", EVERY, NULL,
	 WORLD(OF(3, 0), .crashes = 1, DOUBTS(7, 7), .mutations = LOWEST_ADOPTED)},
	{"echoes of lower ranks (leaders' ranks only rise)", EVERY, NULL,
	 WORLD(OF(3, 0), .crashes = 1, DOUBTS(7, 7), .mutations = ECHO_OF_LOWER)},
	{"no quorum to decide (it is asked for at the end)", EVERY, NULL,
	 WORLD(OF(3, 0), .crashes = 1, DOUBTS(7, 7), .mutations = NO_QUORUM_TO_DECIDE)},
	{"no quorum to install (a member that suspects hears one)", EVERY, NULL,
	 WORLD(OF(3, 0), .crashes = 1, DOUBTS(7, 7), .mutations = NO_QUORUM_TO_INSTALL)},
	{"a member that installed and left is suspected (it is final)", EVERY, NULL,
	 WORLD(OF(3, -1), .crashes = 1, .leavers = 7, .follows = true, .mutations = INSTALLED_SUSPECTED)},
	{"installed has to be heeded (a quorum is heard)", EVERY, NULL,
	 WORLD(OF(3, -1), .crashes = 1, .leavers = 7, .follows = true, .mutations = INSTALLED_HEEDED)},
	{"suspicions of members that left (they have none)", EVERY, NULL,
	 WORLD(OF(3, 0), .crashes = 1, .leavers = 7, DOUBTS(7, 7), .mutations = LEFT_NOT_HEARD)},
	{"a member that acknowledges does not heed (the others do)", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 1, .leavers = 31, DOUBTS(EVERYBODY, 3), .mutations = HEEDLESS_ACKNOWLEDGE),
	 .runs = 1000},
	{"a leader that decides does not heed (the others do)", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 1, .leavers = 31, DOUBTS(EVERYBODY, 3), .mutations = HEEDLESS_DECIDE), .runs = 1000},
	{"a leader that adopts does not heed (the others do)", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 1, .leavers = 31, DOUBTS(EVERYBODY, 3), .mutations = HEEDLESS_ADOPT), .runs = 1000},
	{"a member that echoes does not heed (the others do)", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 1, .leavers = 31, DOUBTS(EVERYBODY, 3), .mutations = HEEDLESS_ECHO), .runs = 1000},
	{"a member that installs does not heed (the others do)", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 1, .leavers = 31, DOUBTS(EVERYBODY, 3), .mutations = HEEDLESS_INSTALL),
	 .runs = 1000},
	{"members heed only when they open or install (an accused one looks)", EVERY, NULL,
	 WORLD(OF(3, -1), .crashes = 1, DOUBTS(7, 7),
	       .mutations = HEEDLESS_ACKNOWLEDGE | HEEDLESS_DECIDE | HEEDLESS_ADOPT | HEEDLESS_ECHO)},
	{"members heed only when they open or install (the same)", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 1, .leavers = 31, DOUBTS(EVERYBODY, 3),
	       .mutations = HEEDLESS_ACKNOWLEDGE | HEEDLESS_DECIDE | HEEDLESS_ADOPT | HEEDLESS_ECHO)},
	{"members heed only when they open or install, and none looks", EVERY, MEMORY,
	 WORLD(OF(3, -1), .crashes = 1, DOUBTS(7, 7),
	       .mutations =
		       HEEDLESS_ACKNOWLEDGE | HEEDLESS_DECIDE | HEEDLESS_ADOPT | HEEDLESS_ECHO | REMOVED_NOT_LOOKED)},
	{"the row of a suspect is read on", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 1, .leavers = 31, DOUBTS(EVERYBODY, 3), .mutations = SUSPECTS_ARE_READ),
	 .runs = 1000},
	{"a member that takes the short cut copies nothing", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 1, .leavers = 31, DOUBTS(EVERYBODY, 3), .mutations = SILENT_SHORT_CUT),
	 .runs = 1000},
	{"frozen after it is said (its word is out)", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 2, DOUBTS(EVERYBODY, 3), .mutations = FREEZE_LATE)},

	/* Views that serve wishes (docs/decisions/0046): what is not said here is as in the worlds before. */
	{"wishes, nobody fails", EVERY, NULL, WORLD(OF(3, -1), .wishers = 6, .changers = 2)},
	{"wishes, a member crashes", EVERY, NULL, WORLD(OF(3, -1), .crashes = 1, .wishers = 2)},
	{"wishes, the leader may leave", EVERY, NULL, WORLD(OF(3, -1), .leavers = 1, .wishers = 6, .changers = 2)},
	{"wishes, and what comes is no successor", EVERY, NULL,
	 WORLD(OF(3, -1), .wishers = 6, .changers = 2, .liars = 1)},
	{"wishes, views are held up", EVERY, NULL, WORLD(OF(3, -1), .crashes = 1, .wishers = 2, .held_up = true)},
	{"wishes", RANDOM, NULL,
	 WORLD(OF(3, -1), .crashes = 1, .leavers = 7, DOUBTS(7, 7), .level = true, .wishers = 7, .changers = 7),
	 .runs = 10000},
	{"wishes", RANDOM, NULL,
	 WORLD(OF(5, 0), .crashes = 2, .leavers = EVERYBODY, DOUBTS(EVERYBODY, EVERYBODY), .wishers = EVERYBODY,
	       .changers = 6)},
	{"wishes, views are held up", RANDOM, NULL,
	 WORLD(OF(7, -1), .crashes = 3, .leavers = EVERYBODY, DOUBTS(EVERYBODY, 3), .wishers = EVERYBODY,
	       .changers = EVERYBODY, .held_up = true),
	 .runs = 1000},

	{"a member that cannot read a view acknowledges it", EVERY, UNREADABLE,
	 WORLD(OF(3, -1), .wishers = 6, .wish_mutations = UNREAD)},
	{"what leaves a member out carries wishes", EVERY, STUCK,
	 WORLD(OF(3, -1), .crashes = 1, .wishers = 6, .held_up = true, .wish_mutations = LEAVES_OUT)},
	{"what is no successor is acknowledged", EVERY, NEVER_WISHED,
	 WORLD(OF(3, -1), .wishers = 6, .liars = 1, .wish_mutations = UNCHECKED)},
	{"what serves a set that was replaced is acknowledged", EVERY, REPLACED,
	 WORLD(OF(3, -1), .wishers = 6, .changers = 2, .wish_mutations = REPLACED_SET)},
	{"a leader proposes once, whatever comes", EVERY, UNSERVED,
	 WORLD(OF(3, -1), .wishers = 6, .changers = 2, .wish_mutations = PROPOSED_ONCE)},
};

/* At most so many messages of one member: what is not there is left out. */
static int append_arrivals(struct step *steps, int count, int i, int p)
{
	for (int n = 0; n < 8 && count < RUN; n++)
		steps[count++] = (struct step){ARRIVE, (uint8_t)i, (uint8_t)p};
	return count;
}

static int read_timeline(const struct trial *t, struct step *steps)
{
	int count = 0, all = t->world->count;

	for (const char *at = t->timeline; *at != '\0';) {
		const char *letter = strchr(letters, *at);

		if (*at == '*') {
			for (int n = 0; n < all * all; n++)
				count = append_arrivals(steps, count, n / all, n % all);
		} else if (*at == 'A') {
			count = append_arrivals(steps, count, at[1] - '0', at[2] - '0');
		} else if (*at != ' ' && letter != NULL) {
			int p = at[2] >= '0' && at[2] <= '9' ? at[2] - '0' : 0;

			steps[count++] = (struct step){(uint8_t)(letter - letters), (uint8_t)(at[1] - '0'), (uint8_t)p};
		}
		at += strcspn(at, " ");
		at += strspn(at, " ");
	}
	return count;
}

static bool is_calm(const struct world *w, const struct state *s, struct step step)
{
	return can(w, s, step, true);
}

static void print_world(const struct world *w)
{
	printf("%u  ", w->count);
}

int main(int argc, char **argv)
{
	static const struct model model = {
		.what = "change: the change of one view, as rows and messages",
		.state_bytes = sizeof(struct state),
		.most = 1000000,
		.runs = 2000,
		.gait = {.length = RUN, .troubled = 300, .stretch = 32, .seeds = {7, 280}, .weights = {1, 20, 400, 400}},
		.begin = begin,
		.steps = steps_from,
		.take = take,
		.key = key_of,
		.key_bytes = KEY,
		.is_calm = is_calm,
		.rest = ended,
		.read_timeline = read_timeline,
		.print_world = print_world,
		.print_step = print_step,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
