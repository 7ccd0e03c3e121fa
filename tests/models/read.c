/* read.c - all states of the worlds of read.h, by the rule and by weaker ones. One line is printed for each; the exit
 * status is 0 if there is no surprise. -v prints the shortest course to what is found; with `soak` larger worlds are
 * tried too.
 */
#include "read.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "old_book.h"

enum finding { HOLDS, STALE, STUCK };

/* ---- the search -------------------------------------------------------------------------------------------------- */

struct entry {
	struct state state;
	uint8_t kind, i;
	uint32_t before; /* its number + 1 */
};

struct search {
	struct book book;
	uint32_t looked, reads; /* states; those in which it may be read */
};

static const struct entry *entry_at(const struct search *s, uint32_t at)
{
	return &((const struct entry *)(const void *)s->book.entries)[at];
}

static void reach(struct search *s, const struct next *next, uint32_t before)
{
	struct entry entry;

	memset(&entry, 0, sizeof(entry));
	entry.state = next->state;
	entry.kind = next->kind;
	entry.i = next->i;
	entry.before = before;
	(void)book_add(&s->book, &entry);
}

static enum finding judge(struct search *s, const struct world *w, uint32_t mutations, const struct state *state)
{
	bool reads = false;

	for (int k = 0; k < w->reads; k++) {
		if (!may_read(w, mutations, state, k))
			continue;
		reads = true;
		if (is_stale(w, state, k)) {
			s->reads++;
			return STALE;
		}
	}
	s->reads += reads;
	return HOLDS;
}

/* The first thing that is wrong, at s->looked - 1; the whole of what can be reached if nothing is. */
static enum finding explore(struct search *s, const struct world *w, uint32_t mutations)
{
	enum finding found = HOLDS;
	static struct nexts nexts;
	struct next start = {.kind = STEP_KINDS};

	for (int p = 0; p == 0 || p < w->plan_count; p++) {
		begin(w, w->plans[p], &start.state);
		reach(s, &start, 0);
	}
	for (; found == HOLDS && s->looked < s->book.count; s->looked++) {
		const struct state state = entry_at(s, s->looked)->state;

		found = judge(s, w, mutations, &state);
		go_on(w, mutations, &state, &nexts);
		for (int n = 0; n < nexts.count && found == HOLDS; n++)
			reach(s, &nexts.list[n], s->looked + 1);
		if (nexts.count == 0 && found == HOLDS && is_stuck(w, &state))
			found = STUCK;
	}
	return found;
}

static void print_course(const struct search *s, uint32_t at)
{
	static const char *const words[STEP_KINDS + 1] = {
		"receives",
		"sees",
		"delivers",
		"wedges",
		"agrees",
		"installs",
		"receives in v'",
		"sees in v'",
		"delivers in v'",
		"sees the question",
		"confirms",
		"is heard to confirm",
		": this read begins",
		"raises a question",
		": this read is made",
		"applies",
		": the state is restored up to there",
		"goes away",
		"is known to be gone",
		"wedges in v'",
		"begins the view after v'",
		": those that may go on, as bits",
	};
	const struct entry *entry = entry_at(s, at);

	if (entry->before != 0)
		print_course(s, entry->before - 1);
	printf("    %d %s\n", entry->kind == STEP_KINDS ? entry->state.plan : entry->i, words[entry->kind]);
}

/* ---- what is tried ----------------------------------------------------------------------------------------------- */

#define WORLD(...)                                                                                                     \
	{                                                                                                              \
		__VA_ARGS__                                                                                            \
	}
#define M0 1
#define M1 2
#define M2 4
#define M3 8
#define M4 16

/* 2 is left out and reads. */
#define TRAVEL(messages, more)                                                                                         \
	WORLD(.count = 3, .reader = 2, .reads = 1, .plans = {M0 | M1}, .first = (messages), .second = (more),          \
	      .tie_breaker = -1, .travel = true)
static const struct world travel = TRAVEL(1, 1), travel_2 = TRAVEL(2, 0);

/* The view does not end, or ends without any one of the three. */
#define THREE(rank, messages)                                                                                          \
	WORLD(.count = 3, .reader = (rank), .reads = 2, .plans = {0, M0 | M1, M0 | M2, M1 | M2}, .plan_count = 4,      \
	      .first = (messages), .second = 1, .tie_breaker = -1)
static const struct world leader_reads = THREE(0, 1), last_reads = THREE(2, 1), last_reads_2 = THREE(2, 2);

/* A newcomer comes in; 2 is left out, or no member is, or 0. */
#define JOIN(rank, late)                                                                                               \
	WORLD(.count = 3, .newcomer = true, .reader = (rank), .reads = 1, .plans = {M0 | M1, M0 | M1 | M2, M1 | M2},   \
	      .plan_count = 3, .first = 1, .second = 1, .tie_breaker = -1, .before = 1, .lags = (late),                \
	      .stateless = (late))
static const struct world join_old_reads = JOIN(2, false), join_newcomer_reads = JOIN(3, true);

/* The reader has come into v, and has no state yet; or its program has not taken what was delivered before. */
#define KEPT_BACK(state_is_missing)                                                                                    \
	WORLD(.count = 3, .reader = 2, .reads = 1, .plans = {M0 | M1, M0 | M2}, .plan_count = 2, .first = 2,           \
	      .second = 1, .tie_breaker = -1, .before = 1, .lags = true, .stateless = (state_is_missing))
static const struct world stateless = KEPT_BACK(true), untaken = KEPT_BACK(false);

/* 0 and 1 may leave or die. */
#define GONE(tie)                                                                                                      \
	WORLD(.count = 3, .reader = 2, .reads = 1, .plans = {0, M0 | M1, M0, M0 | M2}, .plan_count = 4, .first = 1,    \
	      .second = 1, .tie_breaker = (tie), .may_go = M0 | M1)
static const struct world gone_no_tie = GONE(-1), gone_tie_0 = GONE(0), gone_tie_2 = GONE(2);
static const struct world five_gone = WORLD(.count = 5, .reader = 4, .reads = 1, .plans = {M0 | M1 | M2, M0 | M1},
					    .plan_count = 2, .first = 1, .tie_breaker = -1, .may_go = M0 | M1 | M3);

/* 1 reads. */
#define TWO(plan, tie)                                                                                                 \
	WORLD(.count = 2, .reader = 1, .reads = 2, .plans = {0, (plan)}, .plan_count = 2, .first = 2, .second = 2,     \
	      .tie_breaker = (tie))
static const struct world two_tie_0 = TWO(M0, 0), two_tie_1 = TWO(M1, 1), two_no_tie = TWO(M0 | M1, -1);
static const struct world four_tie_0 = WORLD(.count = 4, .reader = 3, .reads = 1, .plans = {M0 | M1, M0 | M3},
					     .plan_count = 2, .first = 1, .second = 1, .tie_breaker = 0);

/* The next view ends too, without the reader. */
#define AGAIN(plan, times, tie)                                                                                        \
	WORLD(.count = 3, .reader = 2, .reads = (times), .plans = {(plan)}, .first = 1, .second = 1,                   \
	      .tie_breaker = (tie), .again = true)
static const struct world again_tie_1 = AGAIN(M1 | M2, 1, 1), again_three = AGAIN(M0 | M1 | M2, 1, -1),
			  again_three_2 = AGAIN(M0 | M1 | M2, 2, -1);
static const struct world again_newcomer =
	WORLD(.count = 2, .newcomer = true, .reader = 2, .reads = 1, .plans = {M0 | M1}, .first = 1, .second = 1,
	      .tie_breaker = -1, .before = 1, .lags = true, .stateless = true, .again = true);

/* The shard has three of five members. */
static const struct world shard = WORLD(.count = 5, .reader = 4, .reads = 1, .plans = {M0 | M1 | M2}, .first = 2,
					.second = 1, .tie_breaker = -1, .shard = M2 | M3 | M4);

/* 0 sends, and goes on, or is lost. */
static const struct world unordered_stays = WORLD(.count = 3, .reader = 2, .reads = 1, .plans = {0, M0 | M1, M0 | M2},
						  .plan_count = 3, .first = 2, .tie_breaker = -1, .unordered = true);
static const struct world unordered_lost = WORLD(.count = 3, .reader = 2, .reads = 1, .plans = {M1 | M2}, .first = 2,
						 .tie_breaker = -1, .unordered = true);

static const struct trial {
	const char *group, *what;
	const struct world *world;
	uint32_t mutations;
	enum finding expected;
	bool soak;
	uint32_t states, reads; /* 0: not held against anything */
} trials[] = {
	{"words travel", "by the rule", &travel, 0, HOLDS, false, 141570, 34146},
	{"words travel", "no quorum", &travel, NO_QUORUM, STALE, false, 4130, 2119},
	{"words travel", "what is delivered is noted", &travel, DELIVERED_NOTED, STALE, false, 6514, 941},
	{"words travel", "what is seen to be stable is noted", &travel, STABLE_NOTED, STALE, false, 6702, 0},
	{"words travel", "the wedged confirm", &travel, WEDGED_CONFIRM, STALE, false, 18688, 2148},
	{"words travel", "confirms until it installs", &travel, UNTIL_INSTALLED, STALE, false, 18596, 0},
	{"words travel", "a word from before the read", &travel, EARLY, STALE, false, 30043, 2148},
	{"words travel", "the look counts, not the word", &travel, LOOK_COUNTS, HOLDS, false, 141570, 0},
	{"words travel", "confirms until it agrees", &travel, UNTIL_AGREED, HOLDS, true, 141570, 0},
	{"words travel", "by the rule, two messages", &travel_2, 0, HOLDS, true, 3857327, 0},

	{"two reads", "by the rule, the last member reads", &last_reads, 0, HOLDS, false, 100000, 0},
	{"two reads", "by the rule, the leader reads", &leader_reads, 0, HOLDS, false, 100000, 0},
	{"two reads", "by the rule, two messages", &last_reads_2, 0, HOLDS, true, 945335, 0},
	{"two reads", "the leader's word is enough", &leader_reads, LEADER_ALONE, STALE, false, 13883, 0},
	{"two reads", "a read joins a question under way", &last_reads, SHARES_UNDER_WAY, STALE, false, 11640, 0},
	{"two reads", "noted when the read begins", &last_reads, NOTED_FIRST, HOLDS, false, 112872, 0},
	{"two reads", "asked again in the next view", &last_reads, ASKED_AGAIN, HOLDS, false, 118298, 0},
	{"two reads", "confirms until it agrees", &last_reads, UNTIL_AGREED, HOLDS, false, 100000, 0},

	{"join", "by the rule, an old member reads", &join_old_reads, 0, HOLDS, false, 119151, 0},
	{"join", "by the rule, the newcomer reads", &join_newcomer_reads, 0, HOLDS, false, 92977, 0},
	{"join", "what is kept back counts", &join_newcomer_reads, KEPT_BACK_COUNTS, STALE, false, 1198, 0},
	{"join", "its state is not waited for", &join_newcomer_reads, OLD_FORGOTTEN, STALE, false, 1198, 0},

	{"kept back", "by the rule, without the state", &stateless, 0, HOLDS, false, 158617, 0},
	{"kept back", "by the rule, not taken before", &untaken, 0, HOLDS, false, 134103, 0},
	{"kept back", "what is not taken counts", &untaken, KEPT_BACK_COUNTS, STALE, false, 128, 0},
	{"kept back", "what earlier views left is forgotten", &untaken, OLD_FORGOTTEN, STALE, false, 128, 0},

	{"gone", "by the rule, no tie-breaker", &gone_no_tie, 0, HOLDS, false, 30183, 0},
	{"gone", "by the rule, tie-breaker 0", &gone_tie_0, 0, HOLDS, false, 36027, 0},
	{"gone", "by the rule, tie-breaker 2, it reads", &gone_tie_2, 0, HOLDS, false, 35497, 0},
	{"gone", "by the rule, five", &five_gone, 0, HOLDS, true, 672896, 0},
	{"gone", "the gone are not counted", &gone_no_tie, UNCOUNTED, STALE, false, 37849, 0},
	{"gone", "the same, tie-breaker 2, it reads", &gone_tie_2, UNCOUNTED, STALE, false, 25086, 0},
	{"gone", "the same, five", &five_gone, UNCOUNTED, STALE, true, 1307028, 0},
	{"gone", "not counted unless wedged", &gone_tie_0, HEEDED, HOLDS, false, 90308, 0},
	{"gone", "the same, tie-breaker 2, it reads", &gone_tie_2, HEEDED, HOLDS, false, 85459, 0},
	{"gone", "the same, five", &five_gone, HEEDED, HOLDS, true, 2338518, 0},
	{"gone", "confirms until it agrees, tie-breaker 0", &gone_tie_0, UNTIL_AGREED, HOLDS, false, 36159, 0},

	{"tie-breaker", "by the rule, two, the other reads", &two_tie_0, 0, HOLDS, false, 19154, 0},
	{"tie-breaker", "by the rule, two, it reads", &two_tie_1, 0, HOLDS, false, 31292, 0},
	{"tie-breaker", "by the rule, two, none", &two_no_tie, 0, HOLDS, false, 104667, 0},
	{"tie-breaker", "by the rule, four", &four_tie_0, 0, HOLDS, false, 24340, 0},
	{"tie-breaker", "half is enough, two", &two_tie_0, HALF, STALE, false, 712, 0},
	{"tie-breaker", "half is enough, four", &four_tie_0, HALF, STALE, false, 6017, 0},

	{"three views", "by the rule, tie-breaker 1", &again_tie_1, 0, HOLDS, false, 6837, 0},
	{"three views", "by the rule, no tie-breaker", &again_three, 0, HOLDS, false, 133258, 0},
	{"three views", "by the rule, two reads", &again_three_2, 0, HOLDS, true, 1794500, 0},
	{"three views", "by the rule, a newcomer reads", &again_newcomer, 0, HOLDS, false, 15691, 0},
	{"three views", "the change of view answers", &again_three, CHANGE_ANSWERS, STALE, false, 11519, 0},
	{"three views", "a wedged reader asks", &again_tie_1, RAISES_WEDGED, STALE, false, 1771, 0},
	{"three views", "confirms and asks until it agrees", &again_tie_1, UNTIL_AGREED, HOLDS, false, 6837, 0},

	{"shard", "by the rule", &shard, 0, HOLDS, false, 188768, 0},
	{"shard", "a quorum of the shard", &shard, OF_THE_SHARD, STALE, false, 27054, 0},

	{"unordered", "by the rule", &unordered_stays, 0, STALE, false, 129, 0},
	{"unordered", "the sender is asked too", &unordered_stays, SENDERS_ASKED, HOLDS, false, 7787, 0},
	{"unordered", "the same, and it is lost", &unordered_lost, SENDERS_ASKED, STALE, false, 2027, 0},
};

static bool try(const struct trial *t, bool verbose)
{
	static const char *const words[] = {"never stale", "STALE", "STUCK"};
	struct search s = {.book = {.state_bytes = sizeof(struct state), .entry_bytes = sizeof(struct entry)}};
	enum finding found = explore(&s, t->world, t->mutations);
	bool odd = found != t->expected || (t->states != 0 && s.looked != t->states) ||
		   (t->reads != 0 && s.reads != t->reads) || s.reads == 0;

	printf("%-12s %-38s %9u states, reads in %8u: %s%s\n", t->group, t->what, s.looked, s.reads, words[found],
	       odd ? "  <-- SURPRISE" : "");
	if (verbose && found != HOLDS)
		print_course(&s, s.looked - 1);
	fflush(stdout);
	book_close(&s.book);
	return odd;
}

int main(int argc, char **argv)
{
	bool verbose = false, soak = false;
	int surprises = 0;

	for (int a = 1; a < argc; a++) {
		verbose = verbose || strcmp(argv[a], "-v") == 0;
		soak = soak || strcmp(argv[a], "soak") == 0;
	}
	for (size_t i = 0; i < sizeof(trials) / sizeof(trials[0]); i++)
		if (soak || !trials[i].soak)
			surprises += try(&trials[i], verbose);
	return surprises == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
