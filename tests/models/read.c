/* read.c - what is tried of reads: read.h says what the model is, and what must hold. All states of its worlds, by the rule and by weaker
 * ones.
 */
#include "read.h"

#define STALE "STALE"
#define STUCK "STUCK"

static const char *judge(struct search *x, const struct state *state)
{
	bool reads = false;

	for (int k = 0; k < x->world->reads; k++) {
		if (!may_read(x->world, state, k))
			continue;
		reads = true;
		if (is_stale(x->world, state, k)) {
			x->noted[0]++;
			return STALE;
		}
	}
	x->noted[0] += reads;
	return NULL;
}

static const char *rest(struct search *x, const struct state *state)
{
	return is_stuck(x->world, state) ? STUCK : NULL;
}

/* ---- what is tried ----------------------------------------------------------------------------------------------- */

#define M0 1
#define M1 2
#define M2 4
#define M3 8
#define M4 16

/* 2 is left out and reads. */
#define TRAVEL(messages, more)                                                                                         \
	.count = 3, .reader = 2, .reads = 1, .plans = {M0 | M1}, .first = (messages), .second = (more),                \
	.tie_breaker = -1, .travel = true

/* The view does not end, or ends without any one of the three. */
#define THREE(rank, messages)                                                                                          \
	.count = 3, .reader = (rank), .reads = 2, .plans = {0, M0 | M1, M0 | M2, M1 | M2}, .plan_count = 4,            \
	.first = (messages), .second = 1, .tie_breaker = -1

/* A newcomer comes in; 2 is left out, or no member is, or 0. */
#define JOIN(rank, late)                                                                                               \
	.count = 3, .newcomer = true, .reader = (rank), .reads = 1, .plans = {M0 | M1, M0 | M1 | M2, M1 | M2},         \
	.plan_count = 3, .first = 1, .second = 1, .tie_breaker = -1, .before = 1, .lags = (late), .stateless = (late)

/* The reader has come into v, and has no state yet; or its program has not taken what was delivered before. */
#define KEPT_BACK(state_is_missing)                                                                                    \
	.count = 3, .reader = 2, .reads = 1, .plans = {M0 | M1, M0 | M2}, .plan_count = 2, .first = 2, .second = 1,    \
	.tie_breaker = -1, .before = 1, .lags = true, .stateless = (state_is_missing)

/* 0 and 1 may leave or die. */
#define GONE(tie)                                                                                                      \
	.count = 3, .reader = 2, .reads = 1, .plans = {0, M0 | M1, M0, M0 | M2}, .plan_count = 4, .first = 1,          \
	.second = 1, .tie_breaker = (tie), .may_go = M0 | M1
#define FIVE_GONE                                                                                                      \
	.count = 5, .reader = 4, .reads = 1, .plans = {M0 | M1 | M2, M0 | M1}, .plan_count = 2, .first = 1,            \
	.tie_breaker = -1, .may_go = M0 | M1 | M3

/* 1 reads. */
#define TWO(plan, tie)                                                                                                 \
	.count = 2, .reader = 1, .reads = 2, .plans = {0, (plan)}, .plan_count = 2, .first = 2, .second = 2,           \
	.tie_breaker = (tie)
#define FOUR_TIE_0                                                                                                     \
	.count = 4, .reader = 3, .reads = 1, .plans = {M0 | M1, M0 | M3}, .plan_count = 2, .first = 1, .second = 1,    \
	.tie_breaker = 0

/* The next view ends too, without the reader. */
#define AGAIN(plan, times, tie)                                                                                        \
	.count = 3, .reader = 2, .reads = (times), .plans = {(plan)}, .first = 1, .second = 1, .tie_breaker = (tie),   \
	.again = true
#define AGAIN_NEWCOMER                                                                                                 \
	.count = 2, .newcomer = true, .reader = 2, .reads = 1, .plans = {M0 | M1}, .first = 1, .second = 1,            \
	.tie_breaker = -1, .before = 1, .lags = true, .stateless = true, .again = true

/* The shard has three of five members. */
#define SHARD                                                                                                          \
	.count = 5, .reader = 4, .reads = 1, .plans = {M0 | M1 | M2}, .first = 2, .second = 1, .tie_breaker = -1,      \
	.shard = M2 | M3 | M4

/* 0 sends, and goes on, or is lost. */
#define UNORDERED_STAYS                                                                                                \
	.count = 3, .reader = 2, .reads = 1, .plans = {0, M0 | M1, M0 | M2}, .plan_count = 3, .first = 2,              \
	.tie_breaker = -1, .unordered = true
#define UNORDERED_LOST                                                                                                 \
	.count = 3, .reader = 2, .reads = 1, .plans = {M1 | M2}, .first = 2, .tie_breaker = -1, .unordered = true

static const struct trial trials[] = {
	{"words travel: by the rule", EVERY, NULL, WORLD(TRAVEL(1, 1)), .looked = 141570, .noted = 34146},
	{"words travel: no quorum", EVERY, STALE, WORLD(TRAVEL(1, 1), .mutations = NO_QUORUM), .looked = 4130,
	 .noted = 2119},
	{"words travel: what is delivered is noted", EVERY, STALE, WORLD(TRAVEL(1, 1), .mutations = DELIVERED_NOTED),
	 .looked = 6514, .noted = 941},
	{"words travel: what is seen to be stable is noted", EVERY, STALE,
	 WORLD(TRAVEL(1, 1), .mutations = STABLE_NOTED), .looked = 6702},
	{"words travel: the wedged confirm", EVERY, STALE, WORLD(TRAVEL(1, 1), .mutations = WEDGED_CONFIRM),
	 .looked = 18688, .noted = 2148},
	{"words travel: confirms until it installs", EVERY, STALE, WORLD(TRAVEL(1, 1), .mutations = UNTIL_INSTALLED),
	 .looked = 18596},
	{"words travel: a word from before the read", EVERY, STALE, WORLD(TRAVEL(1, 1), .mutations = EARLY),
	 .looked = 30043, .noted = 2148},
	{"words travel: the look counts, not the word", EVERY, NULL, WORLD(TRAVEL(1, 1), .mutations = LOOK_COUNTS),
	 .looked = 141570},
	{"words travel: confirms until it agrees", LARGE, NULL, WORLD(TRAVEL(1, 1), .mutations = UNTIL_AGREED),
	 .looked = 141570},
	{"words travel: by the rule, two messages", LARGE, NULL, WORLD(TRAVEL(2, 0)), .looked = 3857327},

	{"two reads: by the rule, the last member reads", EVERY, NULL, WORLD(THREE(2, 1)), .looked = 100000},
	{"two reads: by the rule, the leader reads", EVERY, NULL, WORLD(THREE(0, 1)), .looked = 100000},
	{"two reads: by the rule, two messages", LARGE, NULL, WORLD(THREE(2, 2)), .looked = 945335},
	{"two reads: the leader's word is enough", EVERY, STALE, WORLD(THREE(0, 1), .mutations = LEADER_ALONE),
	 .looked = 13883},
	{"two reads: a read joins a question under way", EVERY, STALE,
	 WORLD(THREE(2, 1), .mutations = SHARES_UNDER_WAY), .looked = 11640},
	{"two reads: noted when the read begins", EVERY, NULL, WORLD(THREE(2, 1), .mutations = NOTED_FIRST),
	 .looked = 112872},
	{"two reads: asked again in the next view", EVERY, NULL, WORLD(THREE(2, 1), .mutations = ASKED_AGAIN),
	 .looked = 118298},
	{"two reads: confirms until it agrees", EVERY, NULL, WORLD(THREE(2, 1), .mutations = UNTIL_AGREED),
	 .looked = 100000},

	{"join: by the rule, an old member reads", EVERY, NULL, WORLD(JOIN(2, false)), .looked = 119151},
	{"join: by the rule, the newcomer reads", EVERY, NULL, WORLD(JOIN(3, true)), .looked = 92977},
	{"join: what is kept back counts", EVERY, STALE, WORLD(JOIN(3, true), .mutations = KEPT_BACK_COUNTS),
	 .looked = 1198},
	{"join: its state is not waited for", EVERY, STALE, WORLD(JOIN(3, true), .mutations = OLD_FORGOTTEN),
	 .looked = 1198},

	{"kept back: by the rule, without the state", EVERY, NULL, WORLD(KEPT_BACK(true)), .looked = 158617},
	{"kept back: by the rule, not taken before", EVERY, NULL, WORLD(KEPT_BACK(false)), .looked = 134103},
	{"kept back: what is not taken counts", EVERY, STALE, WORLD(KEPT_BACK(false), .mutations = KEPT_BACK_COUNTS),
	 .looked = 128},
	{"kept back: what earlier views left is forgotten", EVERY, STALE,
	 WORLD(KEPT_BACK(false), .mutations = OLD_FORGOTTEN), .looked = 128},

	{"gone: by the rule, no tie-breaker", EVERY, NULL, WORLD(GONE(-1)), .looked = 30183},
	{"gone: by the rule, tie-breaker 0", EVERY, NULL, WORLD(GONE(0)), .looked = 36027},
	{"gone: by the rule, tie-breaker 2, it reads", EVERY, NULL, WORLD(GONE(2)), .looked = 35497},
	{"gone: by the rule, five", LARGE, NULL, WORLD(FIVE_GONE), .looked = 672896},
	{"gone: the gone are not counted", EVERY, STALE, WORLD(GONE(-1), .mutations = UNCOUNTED), .looked = 37849},
	{"gone: the same, tie-breaker 2, it reads", EVERY, STALE, WORLD(GONE(2), .mutations = UNCOUNTED),
	 .looked = 25086},
	{"gone: the same, five", LARGE, STALE, WORLD(FIVE_GONE, .mutations = UNCOUNTED), .looked = 1307028},
	{"gone: not counted unless wedged", EVERY, NULL, WORLD(GONE(0), .mutations = HEEDED), .looked = 90308},
	{"gone: the same, tie-breaker 2, it reads", EVERY, NULL, WORLD(GONE(2), .mutations = HEEDED), .looked = 85459},
	{"gone: the same, five", LARGE, NULL, WORLD(FIVE_GONE, .mutations = HEEDED), .looked = 2338518},
	{"gone: confirms until it agrees, tie-breaker 0", EVERY, NULL, WORLD(GONE(0), .mutations = UNTIL_AGREED),
	 .looked = 36159},

	{"tie-breaker: by the rule, two, the other reads", EVERY, NULL, WORLD(TWO(M0, 0)), .looked = 19154},
	{"tie-breaker: by the rule, two, it reads", EVERY, NULL, WORLD(TWO(M1, 1)), .looked = 31292},
	{"tie-breaker: by the rule, two, none", EVERY, NULL, WORLD(TWO(M0 | M1, -1)), .looked = 104667},
	{"tie-breaker: by the rule, four", EVERY, NULL, WORLD(FOUR_TIE_0), .looked = 24340},
	{"tie-breaker: half is enough, two", EVERY, STALE, WORLD(TWO(M0, 0), .mutations = HALF), .looked = 712},
	{"tie-breaker: half is enough, four", EVERY, STALE, WORLD(FOUR_TIE_0, .mutations = HALF), .looked = 6017},

	{"three views: by the rule, tie-breaker 1", EVERY, NULL, WORLD(AGAIN(M1 | M2, 1, 1)), .looked = 6837},
	{"three views: by the rule, no tie-breaker", EVERY, NULL, WORLD(AGAIN(M0 | M1 | M2, 1, -1)), .looked = 133258},
	{"three views: by the rule, two reads", LARGE, NULL, WORLD(AGAIN(M0 | M1 | M2, 2, -1)), .looked = 1794500},
	{"three views: by the rule, a newcomer reads", EVERY, NULL, WORLD(AGAIN_NEWCOMER), .looked = 15691},
	{"three views: the change of view answers", EVERY, STALE,
	 WORLD(AGAIN(M0 | M1 | M2, 1, -1), .mutations = CHANGE_ANSWERS), .looked = 11519},
	{"three views: a wedged reader asks", EVERY, STALE, WORLD(AGAIN(M1 | M2, 1, 1), .mutations = RAISES_WEDGED),
	 .looked = 1771},
	{"three views: confirms and asks until it agrees", EVERY, NULL,
	 WORLD(AGAIN(M1 | M2, 1, 1), .mutations = UNTIL_AGREED), .looked = 6837},

	{"shard: by the rule", EVERY, NULL, WORLD(SHARD), .looked = 188768},
	{"shard: a quorum of the shard", EVERY, STALE, WORLD(SHARD, .mutations = OF_THE_SHARD), .looked = 27054},

	{"unordered: by the rule", EVERY, STALE, WORLD(UNORDERED_STAYS), .looked = 129},
	{"unordered: the sender is asked too", EVERY, NULL, WORLD(UNORDERED_STAYS, .mutations = SENDERS_ASKED),
	 .looked = 7787},
	{"unordered: the same, and it is lost", EVERY, STALE, WORLD(UNORDERED_LOST, .mutations = SENDERS_ASKED),
	 .looked = 2027},
};

int main(int argc, char **argv)
{
	static const char *const names[STEP_KINDS] = {
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
		"may go on, as bits",
	};
	static const char *const notes[] = {"with a read that may be made", NULL};
	static const struct model model = {
		.what = "read: reads that have all that was delivered anywhere when they began",
		.state_bytes = sizeof(struct state),
		.notes = notes,
		.not_in_vain = true,
		.counts = ALL_LOOKED_AT,
		.most = UINT32_MAX,
		.begins = begin,
		.go_on = go_on,
		.judge = judge,
		.rest = rest,
		.names = names,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
