/* death.h - one change of view on one host, where the kernel proves of a process that it has ended: a model.
 *
 * Memory is shared: a word is seen by all as soon as it is written, and outlives its process. A process runs, or is
 * stopped, which is to take no step for a while, or was killed, which may come between any two steps. Each other learns
 * of that at a time of its own, or never, if it is *blind* to that process. A process that runs may be suspected
 * falsely, or leave in order.
 *
 * A row says of another member that it has *failed*, which needs a quorum, or that it is *dead*, which needs a proof. A
 * proof makes a failed member a dead one. No quorum is taken of the dead, and their rows are read: what stands there is
 * final. Of a decision in such a row that is not of the memory that I have: if the row accuses me as well, its owner may
 * have gone on without me, and I am removed; else it has waited for my word in vain, and it is nothing to me. The same if it is not of
 * the memory of another that I trust, which the row does not accuse.
 *
 * All that a member does in a change is two steps: it looks, and makes a plan of what it has read; then it looks once
 * more at what the others accuse, and acts. Others take any steps in between. To install is a third: a member has
 * *settled* on a view when it knows that it is final, and delivers; later its row says so.
 *
 * What must hold:
 *     one view    no two views are settled, by the living or the dead: what the dead have delivered has been seen
 *     quorum      a view that is settled has more than half of the members that have neither been killed nor left, or
 *                 half of them with the tie-breaker: no member that lives is left out by fewer
 *     memory      a member that agrees to a view has acknowledged it, and nothing after it: its memory is open there
 *     goes on     from each state, if nothing goes wrong any more: members that run, trust each other and are a quorum
 *                 of those not proved dead, come to install, each of them. It is asked of each state and not of the ends
 *                 of courses: members that look again and again and do nothing are found
 *
 * Not in it: what a cut is made of (change.h has that), newcomers and first views (join.h). Every member hears every other at all
 * times but for false suspicions, so no quorum is missed for long; of those that were killed a world says whether they are still
 * heard when their end is not known yet.
 *
 * The rules are in death_rules.c, what is tried in death.c.
 */
#ifndef WH_MODELS_DEATH_H
#define WH_MODELS_DEATH_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer.h"

#define MEMBERS 5 /* at most */

typedef uint8_t members; /* a set of ranks */

/* What is done otherwise than by the rules. */
enum mutation {
	THE_DEAD_COUNT = 1 << 0,   /* a quorum is taken of them too */
	ROWS_UNREAD = 1 << 1,      /* the row of a dead member is not read, from the proof on */
	ROWS_STAY_FROZEN = 1 << 2, /* nor that of one that was said to have failed before the proof came */
	FAILED_STAYS = 1 << 3,     /* a proof changes nothing where a member is said to have failed */
	ACCUSERS_FAILED = 1 << 4,  /* a dead member that accuses another is one that failed, as if it had left */
	ACCUSERS_OF_MINE = 1 << 5, /* the same, if it accuses me or a member that I trust */
	CLOSED_IS_PROOF = 1 << 6,  /* a closed connection proves an end */
	FIRST_HAND = 1 << 7,       /* that a member is dead is not taken from other rows */
	PROOFS_UNHEEDED = 1 << 8,  /* a step does not wait until my row has the dead of the rows that I trust */
	PROOFS_BETWEEN = 1 << 9,   /* that a member is dead is also said between look and act */
	ALL_ADOPTED = 1 << 10,     /* a decision in the row of a dead member counts, whatever memory I have */
	STAYS_ACCUSED =
		1 << 11, /* a dead member that has agreed to what is not mine, and accuses me, is nothing to me */
	SUSPECTED_AT_WILL = 1 << 12, /* without a quorum */
	SETTLED_AT_WILL = 1 << 13,   /* the same */
	/* Other rules that do: */
	THE_DEAD_ACCUSE = 1 << 14, /* what the row of a dead member says of others is heeded, as that of a living one */
	LEFT_OUT_IS_READ = 1 << 15, /* of a decision in the row of a dead member it is read whether it leaves me out */
	PROOFS_WAIT = 1 << 16,      /* that a member is dead is said only while I trust a quorum */
	INSTALLED_FOLLOWED = 1 << 17, /* `installed` is looked for in the rows of the dead, too */
	/* Does not, with five: */
	ADOPTED_ALONE = 1 << 18, /* a decision of a dead member counts though another that I trust cannot follow it */
};

struct world {
	uint8_t count;           /* of members */
	int8_t tie_breaker;      /* a rank, -1: none */
	uint8_t kills;           /* at most */
	members leavers;         /* may leave in order */
	members doubts[MEMBERS]; /* the members that each may suspect though they run */
	members blind[MEMBERS];  /* the members of which each gets no proof */
	members mortals;         /* those that may be killed; 0: all */
	bool unheard; /* a word is said with a quorum of those that are heard, and what was killed is not, trusted or not */
	uint32_t mutations;
};

struct view {
	uint8_t maker; /* the rank of the leader that has proposed it, + 1; 0: none */
	members without;
};

enum process { RUNS, AWAY /* left in order */, REMOVED, KILLED };

enum plan {
	NO_PLAN,
	PROPOSE,
	ACKNOWLEDGE,
	AGREE,  /* decide, adopt, echo */
	SETTLE, /* all that I trust have agreed as I have */
	FOLLOW, /* a member has installed */
	PLANS
};

struct member {
	uint8_t process;            /* enum process */
	uint8_t gone;               /* boolean, as its row says: it has left in order */
	members left, failed, dead; /* the same, of others */
	struct view acknowledged;   /* of a leader also what it proposes */
	uint8_t agreed;             /* the rank of the leader, + 1 */
	struct view decision;       /* with `agreed`: to what */
	uint8_t settled, installed; /* booleans */
	uint8_t plan, planned_rank; /* enum plan; as in `agreed` */
	struct view planned;
};

struct state {
	uint8_t killed;
	struct member m[MEMBERS];
};

enum step_kind {
	KILL, /* what happens or does not: these, up to CLOSE, */
	LEAVE,
	DOUBT, /* i says that p has failed, which runs, */
	CLOSE, /* with CLOSED_IS_PROOF: i takes p for dead, which runs */
	PROVE, /* i has the proof that p is dead */
	HEAR,  /* i reads that p is dead */
	MARK,  /* i sees that p has left */
	SUSPECT,
	REMOVE, /* i reads that others go on without it */
	LOOK,   /* i plans p, enum plan */
	ACT,
	INSTALL,
	STEP_KINDS
};

#define STUCK "stuck"
#define TWO_VIEWS "two views"
#define NO_QUORUM "the living are left out without a quorum"
#define NO_MEMORY "no memory"
#define TWO_DECISIONS "two decisions" /* a member is to agree to another view than it has agreed to */

/* All steps that can be taken, or those of them by which nothing goes wrong; their number. */
int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out);
/* Takes it: what is wrong with that. */
const char *take(const struct world *w, struct state *s, struct step step);
/* Have all installed that must, or is there none? */
bool is_through(const struct world *w, const struct state *s);
/* Some member is not killed, and none of these has installed or is to. */
bool is_lost(const struct world *w, const struct state *s);
void print_step(const struct world *w, const struct state *s, struct step step);

#endif
