/* quiet.h - subgroups in which nothing moves are not looked at: the rule, and wrong ones, in all interleavings.
 *
 * Two halves, each a little world of its own:
 *
 *     peers     a peer moves counters of some subgroups, and behind each raises one word: how many moves, and which subgroups moved in
 *               this stretch of moves or in the one before. Words become visible one by one, in the order of pushes (T2); what makes
 *               something visible rings a reader that is parked, and one post may end between counter and word. The reader steps what
 *               was lately active in each pass; looks at the word now and then, and always between parking and sleeping; what the word
 *               names becomes active. Or it steps all subgroups and looks at no word.
 *     commits   a thread commits to a ring and says so in a bit, unless it is set; its stores wait in a buffer until a fence, its own or
 *               a barrier that the loop makes on all threads. The loop takes bits away before it sleeps, or while it is busy.
 *
 * Each of them also with a loop that is *lent* while it sleeps or yields: a thread that waits for room does the exchange of a pass where
 * something is hot (docs/decisions/0075), and upcalls nothing. What it takes in or sends the loop still has to deliver. The peer's loop may
 * sleep, and be lent, as well: then its waiter moves, and no step follows.
 *
 * Property: a loop that sleeps, and that nothing is about to ring, has delivered all that there is; and from everywhere such a rest can
 * be reached.
 */
#ifndef WH_TESTS_MODELS_QUIET_H
#define WH_TESTS_MODELS_QUIET_H

#include "explorer.h"

#define STATE_BYTES 56

/* Of either half, as bytes. */
struct state {
	uint8_t bytes[STATE_BYTES];
};

struct world {
	const struct half *half;
	int rule; /* enum peers_rule, enum commits_rule */
	int moves;
};

/* What takes a step. */
enum step_kind { PEER, WIRE, THREAD, BUFFER, LOOP, WAITER, STEP_KINDS };

/* A half goes on from a state: where to. */
struct nexts {
	struct search *search;
	enum step_kind kind;
};

struct half {
	void (*begin)(struct state *s);
	void (*go_on)(const struct world *w, const struct state *s, struct nexts *out);
	bool (*is_rest)(const struct world *w, const struct state *s);
	bool (*has_seen_all)(const struct state *s);
};

enum peers_rule {
	PEERS_RIGHT,
	WORD_FIRST,
	THIS_STRETCH_ONLY,
	THREE_STRETCHES,
	NO_LAST_LOOK,
	WORD_DOES_NOT_RING,
	WORD_READ_AGAIN,
	ALL_LEFT_COLD,
	HELD_FOR_EVER,
	/* Of waiters. */
	STEP_LEAVES_WHAT_IS_TAKEN,
	WAITER_SEES_THE_WORD,
	WAITER_HOLDS,
	WAITER_EXCHANGES_WHAT_IS_COLD,
};

enum commits_rule {
	COMMITS_RIGHT,
	BIT_FIRST,
	BIT_TAKEN_AFTER_THE_LOOK,
	NO_BARRIER,
	BARRIER_FIRST,
	COMMITS_FENCE,
	COMMITS_FENCE_TOO_LATE,
	/* Of waiters. */
	PASS_LEAVES_WHAT_IS_SENT,
	WAITER_TAKES_THE_BIT,
};

/* quiet_peers.c: the reader looks at the word behind the step of what is active, as in the rule's first draft; or as it is built: before
 * it, and it may step all; and the peer may hold the word back while it moves; and the same with loops that are lent. */
extern const struct half peers_behind, peers_built, peers_lent;
/* quiet_commits.c: with a loop that is never lent, and with one that is. */
extern const struct half commits, commits_lent;

#endif
