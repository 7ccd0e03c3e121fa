/* formation.c - that a group is formed once: what is tried of it. formation.h says what the model is, and what must hold.
 *
 * The rules must hold in all states of few nodes, or in all that are reached first. Then they are taken out, one or a few at
 * a time, and each time two groups must be found, or a group that does not come back.
 */
#include "formation.h"

#include <stdio.h>

#define GONE_FOR_GOOD "all are started again, and no group comes back"
#define KEPT_OUT "a group runs, and some never get into it"
#define USUAL (ALL_RESTARTED | RUNS_WITHOUT | ROLLING)

#define BY_MAJORITY .form = A_MAJORITY, .record = BEFORE_THERE, .identities = 2

static const struct trial trials[] = {
	/* Networks, no disk: a first view needs all configured nodes. */
	{"all configured", EVERY, NULL,
	 WORLD(.configured = 2, .identities = 3, .repairs = ALL_RESTARTED | RUNS_WITHOUT)},
	{"all configured", EVERY, NULL, WORLD(.configured = 3, .identities = 3, .repairs = USUAL)},
	{"all configured, tie-breaker", EVERY, NULL,
	 WORLD(.configured = 3, .identities = 3, .tie_breaker = true, .repairs = USUAL)},
	{"all configured", EVERY, NULL, WORLD(.configured = 4, .identities = 3, .repairs = USUAL)},
	{"all configured", LARGE, NULL, WORLD(.configured = 5, .identities = 2, .repairs = USUAL)},
	{"all configured, one may join", EVERY, NULL,
	 WORLD(.configured = 2, .joined = 1, .identities = 3, .repairs = ALL_RESTARTED | ROLLING)},
	{"all configured, one may join", CUT_OFF, NULL,
	 WORLD(.configured = 3, .joined = 1, .identities = 2, .repairs = ALL_RESTARTED)},
	{"all configured, the operator's word when others are ended or seek", EVERY, NULL,
	 WORLD(.configured = 3, .word = OTHERS_ENDED, .identities = 3, .repairs = USUAL)},
	{"all configured, and every disk may be lost", EVERY, NULL,
	 WORLD(.configured = 3, .record = BEFORE_THERE, .disks_lost = 3, .identities = 2, .repairs = USUAL)},
	/* With a record: a majority. */
	{"majority, record", EVERY, NULL, WORLD(.configured = 3, BY_MAJORITY, .repairs = USUAL)},
	{"majority, record, tie-breaker", CUT_OFF, NULL,
	 WORLD(.configured = 3, BY_MAJORITY, .tie_breaker = true, .repairs = USUAL)},
	{"majority, record", CUT_OFF, NULL, WORLD(.configured = 4, BY_MAJORITY, .repairs = ALL_RESTARTED)},
	{"majority, record, one may join", CUT_OFF, NULL,
	 WORLD(.configured = 3, .joined = 1, BY_MAJORITY, .repairs = ALL_RESTARTED)},
	{"majority, record written anew each time", EVERY, NULL,
	 WORLD(.configured = 3, BY_MAJORITY, .written_anew = true, .repairs = USUAL)},
	{"majority, record before the first heartbeat", EVERY, NULL,
	 WORLD(.configured = 3, .form = A_MAJORITY, .record = BEFORE_BEGIN, .identities = 2,
	       .repairs = ALL_RESTARTED | ROLLING)},
	{"majority, record, all have been members, a disk is lost", EVERY, NULL,
	 WORLD(.configured = 3, BY_MAJORITY, .disks_lost = 1, .all_are_members = true, .repairs = USUAL)},
	{"founder, record", EVERY, NULL,
	 WORLD(.configured = 3, .form = THE_FOUNDER, .record = BEFORE_THERE, .identities = 2, .repairs = RUNS_WITHOUT)},
	/* One host: a majority, and a name that is held forbids. */
	{"one host, a silent name forbids", EVERY, NULL,
	 WORLD(.configured = 3, .form = A_MAJORITY, .one_host = true, .identities = 3, .repairs = USUAL | ONE_IS_GONE)},
	{"one host, a silent name forbids", CUT_OFF, NULL,
	 WORLD(.configured = 4, .form = A_MAJORITY, .one_host = true, .identities = 2, .repairs = USUAL)},
	{"one host, a silent name forbids", CUT_OFF, NULL,
	 WORLD(.configured = 5, .form = A_MAJORITY, .one_host = true, .identities = 2, .repairs = USUAL)},
	/* There a view needs no configured member. */
	{"one host, a silent name forbids, one may join", EVERY, NULL,
	 WORLD(.configured = 2, .joined = 1, .form = A_MAJORITY, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON, .repairs = USUAL)},
	{"one host, a silent name forbids, one may join", CUT_OFF, NULL,
	 WORLD(.configured = 3, .joined = 1, .form = A_MAJORITY, .one_host = true, .identities = 2,
	       .mutations = JOINED_IDS_GO_ON, .repairs = USUAL)},
	/* One host, and the founder needs no record: whatever group it has founded before holds names. Where no node is named all but the
	 * first are joined ids. */
	{"one host, the founder, a silent name forbids", EVERY, NULL,
	 WORLD(.configured = 3, .form = THE_FOUNDER, .one_host = true, .identities = 3, .repairs = USUAL)},
	{"one host, no node is named, the first process forms", EVERY, NULL,
	 WORLD(.configured = 1, .joined = 2, .form = THE_FOUNDER, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON, .repairs = USUAL)},
	{"one host, no node is named, the first process forms", CUT_OFF, NULL,
	 WORLD(.configured = 1, .joined = 3, .form = THE_FOUNDER, .one_host = true, .identities = 2,
	       .mutations = JOINED_IDS_GO_ON, .repairs = USUAL)},
	{"one host, no node is named, the names of the others are free", EVERY, TWO,
	 WORLD(.configured = 1, .joined = 2, .form = THE_FOUNDER, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON | JOINED_NAMES_ARE_FREE)},
	{"one host, no node is named, a silent name forbids for a while", EVERY, TWO,
	 WORLD(.configured = 1, .joined = 2, .form = THE_FOUNDER, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON | SILENCE_TIMES_OUT)},
	/* Each rule taken out. */
	{"rule 1: a majority is enough", EVERY, TWO, WORLD(.configured = 3, .form = A_MAJORITY, .identities = 3)},
	{"rule 1, nobody leaves, tie-breaker", EVERY, TWO,
	 WORLD(.configured = 3, .form = A_MAJORITY, .identities = 3, .tie_breaker = true, .nobody_leaves = true)},
	{"rule 1, nobody leaves, a group of five", EVERY, TWO,
	 WORLD(.configured = 5, .form = A_MAJORITY, .identities = 2, .nobody_leaves = true, .all_are_members = true)},
	{"rule 1: a founder without a record", EVERY, TWO, WORLD(.configured = 3, .form = THE_FOUNDER, .identities = 3)},
	{"rule 2: joined ids go on alone", EVERY, TWO,
	 WORLD(.configured = 2, .joined = 1, .identities = 3, .mutations = JOINED_IDS_GO_ON)},
	{"rule 2, majority, record", LARGE, TWO,
	 WORLD(.configured = 3, .joined = 1, BY_MAJORITY, .mutations = JOINED_IDS_GO_ON)},
	{"rule 4: the operator's word when no group has a quorum", EVERY, TWO,
	 WORLD(.configured = 3, .word = NO_QUORUM, .identities = 3)},
	{"rule 4: ... when those on its side are ended or seek", EVERY, TWO,
	 WORLD(.configured = 3, .word = REACHED_ENDED, .identities = 3)},
	{"rule 4: the operator's word at any time", EVERY, TWO,
	 WORLD(.configured = 3, .word = ANY_TIME, .identities = 3)},
	{"rule 5: a silent name forbids for a while", EVERY, TWO,
	 WORLD(.configured = 5, .form = A_MAJORITY, .one_host = true, .identities = 2, .nobody_leaves = true,
	       .all_are_members = true, .mutations = SILENCE_TIMES_OUT)},
	{"rule 5: the silent name of a joined id forbids nothing", EVERY, TWO,
	 WORLD(.configured = 2, .joined = 1, .form = A_MAJORITY, .one_host = true, .identities = 3,
	       .mutations = JOINED_IDS_GO_ON | JOINED_NAMES_ARE_FREE)},
	/* A first view that one member alone has begun may be left behind by another group: it has no quorum, and stands. */
	{"rule 7: the record is not there before there", EVERY, KEPT_OUT,
	 WORLD(.configured = 3, .form = A_MAJORITY, .record = BEFORE_BEGIN, .identities = 2, .repairs = RUNS_WITHOUT)},
	{"rule 7: the record is written after begin", EVERY, TWO,
	 WORLD(.configured = 3, .form = A_MAJORITY, .record = AFTER_BEGIN, .identities = 2)},
	{"rule 7: the record is synced some time", EVERY, TWO,
	 WORLD(.configured = 3, .form = A_MAJORITY, .record = UNSYNCED, .identities = 2)},
	{"rule 7: the founder's is synced some time", EVERY, TWO,
	 WORLD(.configured = 3, .form = THE_FOUNDER, .record = UNSYNCED, .identities = 2)},
	{"rule 8: records are not looked at", EVERY, TWO,
	 WORLD(.configured = 3, BY_MAJORITY, .mutations = RECORD_NOT_LOOKED_AT)},
	{"rule 8: a record forbids all to form again", EVERY, GONE_FOR_GOOD,
	 WORLD(.configured = 3, BY_MAJORITY, .mutations = RECORD_FORBIDS_ALL, .repairs = ALL_RESTARTED)},
	{"rule 9: it joins only the group of its record", EVERY, KEPT_OUT,
	 WORLD(.configured = 3, BY_MAJORITY, .mutations = OWN_IDENTITY_ONLY, .repairs = RUNS_WITHOUT)},
	{"rule 10: the operator's word beside nodes without a record", EVERY, TWO,
	 WORLD(.configured = 3, BY_MAJORITY, .word = OTHERS_ENDED)},
	/* Nothing was found of these: a second line, or one that wants a larger model. */
	{"rule 8: records of nodes that do not seek are not looked at", EVERY, NULL,
	 WORLD(.configured = 3, BY_MAJORITY, .mutations = RECORD_IS_NOT_MET)},
	{"torn records count as none", EVERY, NULL, WORLD(.configured = 3, BY_MAJORITY, .mutations = TORN_IS_NONE)},
	{"torn records count as none, and are written anew", EVERY, TWO,
	 WORLD(.configured = 3, BY_MAJORITY, .written_anew = true, .mutations = TORN_IS_NONE)},
	{"a disk is lost, one was never a member", EVERY, TWO, WORLD(.configured = 3, BY_MAJORITY, .disks_lost = 1)},
	{"two disks are lost", EVERY, TWO,
	 WORLD(.configured = 3, BY_MAJORITY, .disks_lost = 2, .all_are_members = true)},
	{"the founder's disk is lost", EVERY, TWO,
	 WORLD(.configured = 3, .form = THE_FOUNDER, .record = BEFORE_THERE, .disks_lost = 1, .identities = 2)},
};

static void print_world(const struct world *w)
{
	printf("%u+%u  ", w->configured, w->joined);
}

int main(int argc, char **argv)
{
	static const struct model model = {
		.what = "formation: that a group is formed once",
		.state_bytes = sizeof(struct state),
		.most = 4000000,
		.cut_off = 80000,
		.begin = begin,
		.steps = steps_from,
		.take = take,
		.judge = judge,
		.conclude = look_for_return,
		.print_world = print_world,
		.print_step = print_step,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
