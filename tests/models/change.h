/* change.h - the change of one view, as rows and messages: a model.
 *
 * Each member has a row. Whatever it publishes is a message that goes to each other member through a queue of that pair;
 * there it changes that member's copy of the row. A member knows nothing but its own row and its copies, and one thing
 * happens at a time: a message is taken in, or a member takes one of the protocol's steps, or something goes wrong.
 *
 * What a decision says is looked up in a table by the rank of its maker (afresh; a leader does that once at most), and
 * so is what a proposal says: no member reads either before the word that guards it.
 *
 * What members wish of subgroups (docs/decisions/0046) does not fit in rows: sets of wishes, and views as bytes, are messages of their
 * own. They come at any time after they are sent, or, if a world says so, never. A set is known by its number; a member may
 * replace its own once. A proposal with wishes says which set of each member it serves.
 *
 * The rules are in change_rules.c, those of wishes in change_wishes.c, what is tried in change.c.
 */
#ifndef WH_MODELS_CHANGE_H
#define WH_MODELS_CHANGE_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer.h"

#define MEMBERS 7  /* at most */
#define ATTEMPTS 8 /* of one leader */
#define LOG 40     /* messages of one member */

typedef uint8_t members; /* a set of ranks */
typedef uint16_t served; /* of each rank two bits: the number of the set that a view serves, 0: none of its sets */

/* What a member may do otherwise than by the rules. */
enum mutation {
	NO_BARRIER = 1 << 0,
	ECHO_IS_A_FLAG = 1 << 1,
	NO_QUORUM_TO_INSTALL = 1 << 2,
	NO_QUORUM_TO_DECIDE = 1 << 3,
	LEFT_BY_HEARSAY = 1 << 4,      /* that a member left is known from others' rows */
	LEFT_NOT_ADOPTED = 1 << 5,     /* a decision in the row of one that left is overlooked */
	LEFT_NOT_HEARD = 1 << 6,       /* suspicions in the row of one that left are overlooked */
	REMOVED_NOT_LOOKED = 1 << 7,   /* between seeing a decision and echoing it */
	HEEDLESS_ACKNOWLEDGE = 1 << 8, /* before suspecting the members that others suspect */
	HEEDLESS_ECHO = 1 << 9,        /* the same */
	HEEDLESS_ADOPT = 1 << 10,      /* the same */
	HEEDLESS_INSTALL = 1 << 11,    /* the same */
	NO_SHORT_CUT = 1 << 12,        /* `installed` means nothing */
	SUSPECTS_ARE_READ = 1 << 13,   /* as is what they suspect */
	DECIDED_UNACKNOWLEDGED = 1 << 14,
	DECIDED_UNWEDGED = 1 << 15,
	WEDGED_NOT_DEAF = 1 << 16,
	FREEZE_LATE = 1 << 17,   /* after `suspected` */
	ECHO_OF_LOWER = 1 << 18, /* an echo may be followed by one of a lower rank */
	ALWAYS_AFRESH = 1 << 19, /* a new leader adopts nothing */
	LOWEST_ADOPTED = 1 << 20,
	RANKS_MAY_DIFFER = 1 << 21, /* echoes of the same decision by different leaders will do */
	UNGATED = 1 << 22,          /* a member suspects although it hears no quorum */
	HEEDLESS_OPEN = 1 << 23,
	HEEDLESS_DECIDE = 1 << 24,
	SILENT_SHORT_CUT = 1 << 25,       /* a member that takes the short cut does not copy the values */
	LEFT_THOUGH_SUSPECTING = 1 << 26, /* a member that left in order has left, even if it suspected another */
	INSTALLED_SUSPECTED = 1 << 27,    /* a member that has installed is suspected in the view that it left behind */
	LEFT_MADE_FAILED = 1 << 28,       /* a member that left has failed if others say so */
	INSTALLED_HEEDED = 1 << 29,       /* what a member has installed waits for heed, as all else does */
};
#define HEEDLESS                                                                                                       \
	(HEEDLESS_OPEN | HEEDLESS_ACKNOWLEDGE | HEEDLESS_ECHO | HEEDLESS_ADOPT | HEEDLESS_INSTALL | HEEDLESS_DECIDE)

/* The same, of wishes. */
enum wish_mutation {
	UNREAD = 1 << 0,        /* a member opens and acknowledges a view with wishes that it cannot read */
	LEAVES_OUT = 1 << 1,    /* an attempt that leaves a member out carries wishes */
	UNCHECKED = 1 << 2,     /* a view that is no successor is acknowledged */
	REPLACED_SET = 1 << 3,  /* and one that serves a set of mine that I have replaced */
	PROPOSED_ONCE = 1 << 4, /* a leader does not propose anew when another set has come */
};

struct world {
	uint8_t count;             /* of members */
	int8_t tie_breaker;        /* a rank, -1: none */
	uint8_t crashes;           /* at most */
	members leavers;           /* these may leave in order */
	members doubters, doubted; /* each of the doubters may wrongly think each of the doubted dead */
	bool level;                /* all have received the same; and more may come before the wedge */
	bool follows;              /* each member that reads that one has installed must */
	uint32_t mutations;
	members wishers;  /* these wish something, in a set with number 1 */
	members changers; /* these may replace it, by one with number 2 */
	members liars;    /* views with wishes that these make are no successors */
	bool held_up;     /* views as bytes may come late, or never */
	uint32_t wish_mutations;
};

struct row {
	uint8_t received;                         /* received_num */
	members failed, left;                     /* suspected[] */
	uint8_t attempt;                          /* proposed */
	uint8_t acknowledged;                     /* (rank of the leader + 1) << 4 | attempt */
	uint8_t agreed;                           /* rank of the leader + 1 */
	uint8_t decider;                          /* rank of the maker of that decision, + 1: stands for the values */
	bool wedged : 1, installed : 1, gone : 1; /* gone: PEER_LEFT, behind the last word */
};

enum what { RECEIVED, FAILED, LEFT, WEDGED, PROPOSED, ACKNOWLEDGED, AGREED, INSTALLED, GONE };

struct message {
	uint8_t what, a, b;
};

enum status { RUNNING, DONE /* installed */, DEAD, REMOVED, AWAY /* left */ };

struct member {
	struct row rows[MEMBERS]; /* its own, and its copies of the others' */
	uint8_t seen[MEMBERS];    /* messages of each that it has taken in */
	struct message log[LOG];  /* what it has published */
	uint8_t published;
	uint8_t status;    /* enum status */
	members frozen;    /* the members that it does not read any more */
	uint8_t opened;    /* the proposal with the image that it opens or has open, as `acknowledged` */
	uint8_t delivered; /* up to here, once it delivers no more in this view */
	bool stopped;
	members proposals[ATTEMPTS]; /* what it proposed, by attempt */
	members decision_members;    /* what it decided */
	uint8_t decision_cut, decision_image;
	served proposal_serves[ATTEMPTS], decision_serves;
	uint8_t wished;        /* the number of the set that it wishes; 0: none */
	uint8_t sets[MEMBERS]; /* the number of the last set of each that has come */
	uint8_t come[MEMBERS]; /* the last attempt of each of which the view has come as bytes */
	uint8_t placed_by;     /* the number of its own set when it acknowledged */
};

struct state {
	struct member m[MEMBERS];
	uint8_t crashed;
	uint8_t installed; /* the decision that a member has installed: its decider + 1 */
};

enum step_kind {
	ARRIVE,  /* i takes in a message of p */
	SUSPECT, /* i freezes p and says that it failed */
	FREEZE,  /* with FREEZE_LATE: i freezes p */
	MARK,    /* i says that p left */
	OUT,     /* i learns that it was removed */
	WEDGE,
	PROPOSE,
	OPEN,
	ACKNOWLEDGE,
	DECIDE,
	ADOPT,
	ECHO,
	INSTALL,
	RECEIVE, /* the rest may happen or not */
	LEAVE,
	CRASH,
	HEAR,   /* i takes in the set that p wishes */
	GET,    /* i takes in the next view with wishes that p proposes */
	CHANGE, /* i replaces its set: may happen or not */
	STEP_KINDS
};

/* It is a step of two, or about another. */
static inline bool takes_two(uint8_t kind)
{
	return kind <= MARK || kind == HEAR || kind == GET;
}

#define RUN 2000 /* steps of a run at most */

void begin(const struct world *w, struct state *s);
/* Can it be taken, if nothing goes wrong any more (`calm`)? */
bool can(const struct world *w, const struct state *s, struct step step, bool calm);
/* Takes it. NULL: all is well, else what is wrong. */
const char *take(const struct world *w, struct state *s, struct step step);
/* No step can be taken. NULL: it may end so. */
const char *ended(struct search *x, const struct state *s);
/* All steps that can be taken; their number. */
#define STEPS 512
int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out);
void print_step(const struct world *w, const struct state *s, struct step step);
/* What tells states apart, in few bytes; their number. */
#define KEY 1024
size_t key_of(const struct world *w, const struct state *s, uint8_t *out);

/* ---- wishes: change_wishes.c ---- */

#define NEVER_SAID 3 /* the number of no set */

static inline unsigned served_of(served serves, int rank)
{
	return serves >> 2 * rank & 3;
}

/* What member i would serve if it proposed now. */
served wishes_known(const struct world *w, const struct state *s, int i);
/* May i open what `lead` proposes by that attempt? It carries no wishes, or i can read it, it is a successor, and serves i as i wishes. */
bool may_follow(const struct world *w, const struct state *s, int i, int lead, uint8_t attempt);
/* A view has come to i from p that p cannot have made by the rules. */
bool has_lied(const struct world *w, const struct state *s, int i, int p);
/* The next attempt of p with wishes of which i has not got the view; 0: there is none. */
uint8_t next_view(const struct state *s, int i, int p);
/* NULL, or what is wrong with i going along with what that member has decided. */
const char *wrong_to_follow(const struct state *s, int i, int decider);
/* No step can be taken, and no member has failed: a wish that is not served. */
bool is_unserved(const struct world *w, const struct state *s);

#endif
