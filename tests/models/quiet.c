/* quiet.c - all states of the two worlds of quiet.h, by the rule and by wrong ones. */
#include "quiet.h"

#include <stdio.h>

#define MISSED "something is missed"
#define NO_REST "no rest can be reached"

static void begin(const struct world *w, struct state *s)
{
	w->half->begin(s);
}

static void go_on(struct search *x, const struct state *s)
{
	const struct half *half = x->world->half;

	half->go_on(x->world, s, &(struct nexts){.search = x});
	if (half->is_rest(x->world, s) && !half->has_seen_all(s))
		x->wrong = MISSED;
}

static bool is_rest(const struct world *w, const struct state *s)
{
	return w->half->is_rest(w, s);
}

static void print_step(const struct world *w, const struct state *s, struct step step)
{
	static const char *const names[STEP_KINDS] = {"the peer moves",     "what the peer said arrives",
						      "the thread goes on", "the buffer is emptied",
						      "the loop goes on",   "a waiter exchanges"};

	(void)w;
	(void)s;
	printf("      %s (the loop is at %u)\n", names[step.kind], step.other);
}

/* With so many moves, and with one more. */
#define BOTH(what, expected, half, rule, moves, states)                                                                \
	{what, EVERY, expected, WORLD(&(half), rule, moves), .looked = (states)},                                      \
	{                                                                                                              \
		what ", one more move", LARGE, expected, WORLD(&(half), rule, (moves) + 1)                             \
	}

static const struct trial trials[] = {
	BOTH("peers: by the rule, the look behind the step", NULL, peers_behind, PEERS_RIGHT, 4, 61792),
	BOTH("peers: the word is pushed before the counter", MISSED, peers_behind, WORD_FIRST, 4, 42465),
	BOTH("peers: the word names those of this stretch alone", MISSED, peers_behind, THIS_STRETCH_ONLY, 4, 64196),
	BOTH("peers: a reader that missed two stretches trusts the names", MISSED, peers_behind, THREE_STRETCHES, 4,
	     54917),
	BOTH("peers: the look after arm leaves the word out", MISSED, peers_behind, NO_LAST_LOOK, 4, 21737),
	BOTH("peers: the word's own post does not ring", MISSED, peers_behind, WORD_DOES_NOT_RING, 4, 27123),
	BOTH("peers: seen is the word as read behind the names", MISSED, peers_behind, WORD_READ_AGAIN, 4, 66175),

	BOTH("built: as built: look, then step; words held back; all stepped", NULL, peers_built, PEERS_RIGHT, 3, 0),
	BOTH("built: the word is pushed before the counter", MISSED, peers_built, WORD_FIRST, 3, 0),
	BOTH("built: the word names those of this stretch alone", MISSED, peers_built, THIS_STRETCH_ONLY, 3, 0),
	BOTH("built: the look after arm leaves the word out", MISSED, peers_built, NO_LAST_LOOK, 3, 0),
	BOTH("built: the word's own post does not ring", MISSED, peers_built, WORD_DOES_NOT_RING, 3, 0),
	BOTH("built: seen is the word as read behind the names", MISSED, peers_built, WORD_READ_AGAIN, 3, 0),
	BOTH("built: when no longer all are stepped the word counts as seen", MISSED, peers_built, ALL_LEFT_COLD, 3, 0),
	BOTH("built: a word that was held back is never said", MISSED, peers_built, HELD_FOR_EVER, 3, 0),

	BOTH("peers, lent: by the rule: a waiter exchanges what is hot", NULL, peers_lent, PEERS_RIGHT, 3, 0),
	BOTH("peers, lent: a step delivers what it has taken in itself", MISSED, peers_lent, STEP_LEAVES_WHAT_IS_TAKEN,
	     3, 0),
	BOTH("peers, lent: a waiter's look counts as the loop's", MISSED, peers_lent, WAITER_SEES_THE_WORD, 3, 0),
	BOTH("peers, lent: a waiter holds the word back", MISSED, peers_lent, WAITER_HOLDS, 3, 0),
	BOTH("peers, lent: a waiter exchanges what is cold too", NULL, peers_lent, WAITER_EXCHANGES_WHAT_IS_COLD, 3, 0),

	BOTH("commits: by the rule", NULL, commits, COMMITS_RIGHT, 3, 1076),
	BOTH("commits: the bit is tested before the mark is stored", MISSED, commits, BIT_FIRST, 3, 1108),
	BOTH("commits: the bit is taken away after the last look", MISSED, commits, BIT_TAKEN_AFTER_THE_LOOK, 3, 1281),
	BOTH("commits: the bit is taken away without a barrier", MISSED, commits, NO_BARRIER, 3, 1116),
	BOTH("commits: the barrier comes before the bit is taken away", MISSED, commits, BARRIER_FIRST, 3, 1175),
	BOTH("commits: no barrier: commits fence before they test the bit", NULL, commits, COMMITS_FENCE, 3, 0),
	BOTH("commits: no barrier: commits fence behind that test", NO_REST, commits, COMMITS_FENCE_TOO_LATE, 3, 0),

	BOTH("commits, lent: by the rule: a waiter sends what is hot or marked", NULL, commits_lent, COMMITS_RIGHT, 3,
	     0),
	BOTH("commits, lent: a pass delivers what it has sent itself", MISSED, commits_lent, PASS_LEAVES_WHAT_IS_SENT,
	     3, 0),
	BOTH("commits, lent: a waiter takes the bit away", MISSED, commits_lent, WAITER_TAKES_THE_BIT, 3, 0),
	BOTH("commits, lent: the bit is taken away after the last look", MISSED, commits_lent, BIT_TAKEN_AFTER_THE_LOOK,
	     3, 0),
	BOTH("commits, lent: the bit is taken away without a barrier", MISSED, commits_lent, NO_BARRIER, 3, 0),
};

int main(int argc, char **argv)
{
	static const struct model model = {
		.what = "quiet: subgroups in which nothing moves are not looked at",
		.state_bytes = sizeof(struct state),
		.most = UINT32_MAX,
		.begin = begin,
		.go_on = go_on,
		.is_goal = is_rest,
		.stuck = NO_REST,
		.print_step = print_step,
	};

	return try_all(&model, trials, COUNT_OF(trials), read_options(&model, argc, argv));
}
