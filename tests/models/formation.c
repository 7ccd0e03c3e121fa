/* formation.c - that a group is formed once: what is tried of it. formation.h says what the model is, and what must hold.
 *
 * The rules must hold in all states of few nodes, or in all that are reached first. Then they are taken out, one or a few at
 * a time, and each time two groups must be found, or a group that does not come back.
 *
 *     formation [-v] [times]
 *
 * One line for each; exit status 0 if there is no surprise. -v adds the shortest trace of each finding; with `times` the
 * searches that are cut off look at so many times as many states, and those that are too long for every day are made.
 */
#include "formation.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define STATES 80000 /* of a search that is cut off */
#define MOST 4000000 /* of one that has to see all */
#define GONE_FOR_GOOD "all are started again, and no group comes back"
#define KEPT_OUT "a group runs, and some never get into it"
#define USUAL (ALL_RESTARTED | RUNS_WITHOUT | ROLLING)

#define BY_MAJORITY .form = A_MAJORITY, .record = BEFORE_THERE, .identities = 2

#define WORLD(...)                                                                                                     \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}

enum extent {
	EVERY,   /* state */
	CUT_OFF, /* there are more than anybody waits for */
	SOAK,    /* every state, and only with `times` */
};

static const struct scenario {
	const char *what;
	enum extent extent;
	uint8_t repairs;      /* enum repair: these bring a group back from wherever it is */
	const char *expected; /* NULL: it holds */
	struct world world;
} scenarios[] = {
	/* Networks, no disk: a first view needs all configured nodes. */
	{"all configured", EVERY, ALL_RESTARTED | RUNS_WITHOUT, NULL, WORLD(.configured = 2, .identities = 3)},
	{"all configured", EVERY, USUAL, NULL, WORLD(.configured = 3, .identities = 3)},
	{"all configured, tie-breaker", EVERY, USUAL, NULL,
	 WORLD(.configured = 3, .identities = 3, .tie_breaker = true)},
	{"all configured", EVERY, USUAL, NULL, WORLD(.configured = 4, .identities = 3)},
	{"all configured", SOAK, USUAL, NULL, WORLD(.configured = 5, .identities = 2)},
	{"all configured, one may join", EVERY, ALL_RESTARTED | ROLLING, NULL,
	 WORLD(.configured = 2, .joined = 1, .identities = 3)},
	{"all configured, one may join", CUT_OFF, ALL_RESTARTED, NULL,
	 WORLD(.configured = 3, .joined = 1, .identities = 2)},
	{"all configured, the operator's word when others are ended or seek", EVERY, USUAL, NULL,
	 WORLD(.configured = 3, .word = OTHERS_ENDED, .identities = 3)},
	{"all configured, and every disk may be lost", EVERY, USUAL, NULL,
	 WORLD(.configured = 3, .record = BEFORE_THERE, .disks_lost = 3, .identities = 2)},
	/* With a record: a majority. */
	{"majority, record", EVERY, USUAL, NULL, WORLD(.configured = 3, BY_MAJORITY)},
	{"majority, record, tie-breaker", CUT_OFF, USUAL, NULL,
	 WORLD(.configured = 3, BY_MAJORITY, .tie_breaker = true)},
	{"majority, record", CUT_OFF, ALL_RESTARTED, NULL, WORLD(.configured = 4, BY_MAJORITY)},
	{"majority, record, one may join", CUT_OFF, ALL_RESTARTED, NULL,
	 WORLD(.configured = 3, .joined = 1, BY_MAJORITY)},
	{"majority, record written anew each time", EVERY, USUAL, NULL,
	 WORLD(.configured = 3, BY_MAJORITY, .written_anew = true)},
	{"majority, record before the first heartbeat", EVERY, ALL_RESTARTED | ROLLING, NULL,
	 WORLD(.configured = 3, .form = A_MAJORITY, .record = BEFORE_BEGIN, .identities = 2)},
	{"majority, record, all have been members, a disk is lost", EVERY, USUAL, NULL,
	 WORLD(.configured = 3, BY_MAJORITY, .disks_lost = 1, .all_are_members = true)},
	{"founder, record", EVERY, RUNS_WITHOUT, NULL,
	 WORLD(.configured = 3, .form = THE_FOUNDER, .record = BEFORE_THERE, .identities = 2)},
	/* One host: a majority, and a name that is held forbids. */
	{"one host, a silent name forbids", EVERY, USUAL | ONE_IS_GONE, NULL,
	 WORLD(.configured = 3, .form = A_MAJORITY, .one_host = true, .identities = 3)},
	{"one host, a silent name forbids", CUT_OFF, USUAL, NULL,
	 WORLD(.configured = 4, .form = A_MAJORITY, .one_host = true, .identities = 2)},
	{"one host, a silent name forbids", CUT_OFF, USUAL, NULL,
	 WORLD(.configured = 5, .form = A_MAJORITY, .one_host = true, .identities = 2)},
	/* There a view needs no configured member. */
	{"one host, a silent name forbids, one may join", EVERY, USUAL, NULL,
	 WORLD(.configured = 2, .joined = 1, .form = A_MAJORITY, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON)},
	{"one host, a silent name forbids, one may join", CUT_OFF, USUAL, NULL,
	 WORLD(.configured = 3, .joined = 1, .form = A_MAJORITY, .one_host = true, .identities = 2,
	       .mutations = JOINED_IDS_GO_ON)},
	/* One host, and the founder needs no record: whatever group it has founded before holds names. Where no node is named all but the
	 * first are joined ids. */
	{"one host, the founder, a silent name forbids", EVERY, USUAL, NULL,
	 WORLD(.configured = 3, .form = THE_FOUNDER, .one_host = true, .identities = 3)},
	{"one host, no node is named, the first process forms", EVERY, USUAL, NULL,
	 WORLD(.configured = 1, .joined = 2, .form = THE_FOUNDER, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON)},
	{"one host, no node is named, the first process forms", CUT_OFF, USUAL, NULL,
	 WORLD(.configured = 1, .joined = 3, .form = THE_FOUNDER, .one_host = true, .identities = 2,
	       .mutations = JOINED_IDS_GO_ON)},
	{"one host, no node is named, the names of the others are free", EVERY, 0, TWO,
	 WORLD(.configured = 1, .joined = 2, .form = THE_FOUNDER, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON | JOINED_NAMES_ARE_FREE)},
	{"one host, no node is named, a silent name forbids for a while", EVERY, 0, TWO,
	 WORLD(.configured = 1, .joined = 2, .form = THE_FOUNDER, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON | SILENCE_TIMES_OUT)},
	/* Each rule taken out. */
	{"rule 1: a majority is enough", EVERY, 0, TWO, WORLD(.configured = 3, .form = A_MAJORITY, .identities = 3)},
	{"rule 1, nobody leaves, tie-breaker", EVERY, 0, TWO,
	 WORLD(.configured = 3, .form = A_MAJORITY, .identities = 3, .tie_breaker = true, .nobody_leaves = true)},
	{"rule 1, nobody leaves, a group of five", EVERY, 0, TWO,
	 WORLD(.configured = 5, .form = A_MAJORITY, .identities = 2, .nobody_leaves = true, .all_are_members = true)},
	{"rule 1: a founder without a record", EVERY, 0, TWO,
	 WORLD(.configured = 3, .form = THE_FOUNDER, .identities = 3)},
	{"rule 2: joined ids go on alone", EVERY, 0, TWO,
	 WORLD(.configured = 2, .joined = 1, .identities = 3, .mutations = JOINED_IDS_GO_ON)},
	{"rule 2, majority, record", SOAK, 0, TWO,
	 WORLD(.configured = 3, .joined = 1, BY_MAJORITY, .mutations = JOINED_IDS_GO_ON)},
	{"rule 4: the operator's word when no group has a quorum", EVERY, 0, TWO,
	 WORLD(.configured = 3, .word = NO_QUORUM, .identities = 3)},
	{"rule 4: ... when those on its side are ended or seek", EVERY, 0, TWO,
	 WORLD(.configured = 3, .word = REACHED_ENDED, .identities = 3)},
	{"rule 4: the operator's word at any time", EVERY, 0, TWO,
	 WORLD(.configured = 3, .word = ANY_TIME, .identities = 3)},
	{"rule 5: a silent name forbids for a while", EVERY, 0, TWO,
	 WORLD(.configured = 5, .form = A_MAJORITY, .one_host = true, .identities = 2, .nobody_leaves = true,
	       .all_are_members = true, .mutations = SILENCE_TIMES_OUT)},
	{"rule 5: the silent name of a joined id forbids nothing", EVERY, 0, TWO,
	 WORLD(.configured = 2, .joined = 1, .form = A_MAJORITY, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON | JOINED_NAMES_ARE_FREE)},
	/* A first view that one member alone has begun may be left behind by another group: it has no quorum, and stands. */
	{"rule 7: the record is not there before there", EVERY, RUNS_WITHOUT, KEPT_OUT,
	 WORLD(.configured = 3, .form = A_MAJORITY, .record = BEFORE_BEGIN, .identities = 2)},
	{"rule 7: the record is written after begin", EVERY, 0, TWO,
	 WORLD(.configured = 3, .form = A_MAJORITY, .record = AFTER_BEGIN, .identities = 2)},
	{"rule 7: the record is synced some time", EVERY, 0, TWO,
	 WORLD(.configured = 3, .form = A_MAJORITY, .record = UNSYNCED, .identities = 2)},
	{"rule 7: the founder's is synced some time", EVERY, 0, TWO,
	 WORLD(.configured = 3, .form = THE_FOUNDER, .record = UNSYNCED, .identities = 2)},
	{"rule 8: records are not looked at", EVERY, 0, TWO,
	 WORLD(.configured = 3, BY_MAJORITY, .mutations = RECORD_NOT_LOOKED_AT)},
	{"rule 8: a record forbids all to form again", EVERY, ALL_RESTARTED, GONE_FOR_GOOD,
	 WORLD(.configured = 3, BY_MAJORITY, .mutations = RECORD_FORBIDS_ALL)},
	{"rule 9: it joins only the group of its record", EVERY, RUNS_WITHOUT, KEPT_OUT,
	 WORLD(.configured = 3, BY_MAJORITY, .mutations = OWN_IDENTITY_ONLY)},
	{"rule 10: the operator's word beside nodes without a record", EVERY, 0, TWO,
	 WORLD(.configured = 3, BY_MAJORITY, .word = OTHERS_ENDED)},
	/* Nothing was found of these: a second line, or one that wants a larger model. */
	{"rule 8: records of nodes that do not seek are not looked at", EVERY, 0, NULL,
	 WORLD(.configured = 3, BY_MAJORITY, .mutations = RECORD_IS_NOT_MET)},
	{"torn records count as none", EVERY, 0, NULL, WORLD(.configured = 3, BY_MAJORITY, .mutations = TORN_IS_NONE)},
	{"torn records count as none, and are written anew", EVERY, 0, TWO,
	 WORLD(.configured = 3, BY_MAJORITY, .written_anew = true, .mutations = TORN_IS_NONE)},
	{"a disk is lost, one was never a member", EVERY, 0, TWO, WORLD(.configured = 3, BY_MAJORITY, .disks_lost = 1)},
	{"two disks are lost", EVERY, 0, TWO,
	 WORLD(.configured = 3, BY_MAJORITY, .disks_lost = 2, .all_are_members = true)},
	{"the founder's disk is lost", EVERY, 0, TWO,
	 WORLD(.configured = 3, .form = THE_FOUNDER, .record = BEFORE_THERE, .disks_lost = 1, .identities = 2)},
};

static bool same_text(const char *a, const char *b)
{
	return a == b || (a != NULL && b != NULL && strcmp(a, b) == 0);
}

static bool is_expected(const struct scenario *sc, uint32_t times, bool verbose)
{
	uint32_t limit = sc->extent == CUT_OFF ? STATES * (times > 0 ? times : 1) : MOST;
	struct finding found = explore(&sc->world, limit, sc->repairs, verbose);
	bool expected =
		same_text(found.wrong, sc->expected) && (found.all || sc->extent == CUT_OFF || found.wrong != NULL);

	printf("%u+%u  %-68s %8u states%s: %s%s\n", sc->world.configured, sc->world.joined, sc->what, found.looked,
	       found.all || found.wrong != NULL ? "" : ", cut off", found.wrong != NULL ? found.wrong : "holds",
	       expected ? "" : "  <-- SURPRISE");
	fflush(stdout);
	return expected;
}

int main(int argc, char **argv)
{
	bool verbose = argc > 1 && strcmp(argv[1], "-v") == 0;
	long times = argc > 1 + verbose ? strtol(argv[1 + verbose], NULL, 10) : 0;
	int surprises = 0;

	for (size_t i = 0; i < sizeof(scenarios) / sizeof(scenarios[0]); i++)
		if (scenarios[i].extent != SOAK || times > 0)
			surprises += !is_expected(&scenarios[i], times > 0 ? (uint32_t)times : 0, verbose);
	if (surprises > 0)
		printf("%d surprises\n", surprises);
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
