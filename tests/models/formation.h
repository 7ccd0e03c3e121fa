/* formation.h - how a group comes to be, once and only once: a model.
 *
 * Some nodes are configured; others, of higher ids, may only join. A node is down, seeks, is invited, has said *there*, is a
 * member, or is excluded: alive, while its group has gone on without it. The network is cut in two in any way and at any
 * time; nodes of one side hear each other. Any node crashes at any time and is started again, and then knows nothing but
 * its record on disk, if it keeps one. On one host there is no cut: nodes are stopped and go on.
 *
 * The record is written in one step, synced in another, and what is said because of it is a third. A crash may come between
 * any two of them: the first leaves a record that cannot be read, the second one of which no node has been told.
 *
 * How one view follows another is one step here (change.h has the steps of that): a majority of the latest view, all on one
 * side, goes on, takes in one newcomer or none, or loses one member that leaves in order. A first view is several steps.
 *
 * What must hold:
 *     never two   no two identities both have members that can deliver: living ones of its latest view that are a quorum of
 *                 it, cut off or not, for a cut may end in the next step
 *     comes back  when there are no faults any more all nodes that are up can become members of one group
 *
 * Nodes are alike but for their parts, so a state is its nodes in order, and all permutations of ids are one state. The
 * rules are in formation_rules.c, the steps in formation_steps.c, whether a group comes back in formation_back.c, what is tried in
 * formation.c.
 */
#ifndef WH_MODELS_FORMATION_H
#define WH_MODELS_FORMATION_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer.h"

#define NODES 6  /* at most */
#define GROUPS 6 /* identities that some node remembers at one time, at most */

enum form { ALL_CONFIGURED, A_MAJORITY, THE_FOUNDER };

/* When the record is on disk. */
enum record {
	NO_RECORD,
	BEFORE_THERE, /* before the node says there */
	BEFORE_BEGIN, /* before its first heartbeat as a member */
	AFTER_BEGIN,  /* written when it is a member */
	UNSYNCED,     /* written before it says there, synced some time: a crash before that loses it */
};

/* When the operator has a node form a group alone. */
enum word {
	NO_WORD,
	OTHERS_ENDED,  /* when each other node is down or seeks */
	REACHED_ENDED, /* when each other node of its side is or does: what a command can find out */
	NO_QUORUM,     /* when no group has one */
	ANY_TIME,
};

/* What is done otherwise than by the rules. */
enum mutation {
	JOINED_IDS_GO_ON = 1 << 0,      /* a view needs no configured member */
	SILENCE_TIMES_OUT = 1 << 1,     /* one host: a held name that says nothing forbids nothing */
	RECORD_FORBIDS_ALL = 1 << 2,    /* also all configured nodes together form nothing if one has a record */
	OWN_IDENTITY_ONLY = 1 << 3,     /* a node with a record joins no other group than that of its record */
	TORN_IS_NONE = 1 << 4,          /* a record that cannot be read counts as none */
	RECORD_IS_NOT_MET = 1 << 5,     /* a majority looks at its own records alone, not at those of all it meets */
	RECORD_NOT_LOOKED_AT = 1 << 6,  /* a majority forms whatever records there are */
	JOINED_NAMES_ARE_FREE = 1 << 7, /* one host: the held name of a joined id forbids nothing */
};

/* What happens to a group before the faults end. */
enum repair {
	ALL_RESTARTED = 1 << 0, /* every node crashes at once, and is started again */
	ONE_IS_GONE = 1 << 1,   /* the same, but one configured node does not return */
	RUNS_WITHOUT = 1 << 2,  /* a group lives; those down or excluded are started again, but for one */
	ROLLING = 1 << 3, /* all are members; each crashes and is started again when the one before it is a member */
};

struct world {
	uint8_t configured, joined; /* nodes */
	enum form form;
	enum record record;
	enum word word;
	uint8_t identities;   /* at one time, at most */
	uint8_t disks_lost;   /* at most */
	bool tie_breaker;     /* node 0 is one */
	bool one_host;        /* nodes are stopped, not cut off */
	bool nobody_leaves;   /* in order */
	bool written_anew;    /* also a record that says already what it is to say */
	bool all_are_members; /* in the beginning, of one group */
	uint32_t mutations;
	uint8_t repairs; /* enum repair: these bring a group back from wherever it is */
};

enum part { CONFIGURED, JOINED, FOUNDER, TIE_BREAKER };

enum status { DOWN, SEEKS, INVITED, THERE, MEMBER, EXCLUDED };

/* A node in the views of one group. */
enum place {
	FIRST = 1 << 0,    /* invited into its first view */
	LATEST = 1 << 1,   /* a member of its latest view */
	NEWCOMER = 1 << 2, /* invited into a later one */
};

#define NOTHING 0
#define TORN (GROUPS + 1) /* a record that cannot be read */

struct node {
	uint8_t part;          /* enum part */
	uint8_t side;          /* of the cut; on one host 1 is stopped */
	uint8_t status;        /* enum status */
	uint8_t group;         /* 1 + index, or NOTHING */
	uint8_t record;        /* as the disk has it: of a group, TORN or NOTHING */
	uint8_t views[GROUPS]; /* enum place */
};

struct group {
	uint8_t base;   /* of how many a quorum is taken */
	bool is_first;  /* its latest view is its first one */
	bool by_a_word; /* of the operator */
};

struct state {
	struct node nodes[NODES];
	struct group groups[GROUPS];
	uint8_t node_count, group_count, disks_lost;
};

enum step_kind {
	START,
	WRITE, /* the record is torn from here on */
	SYNC,  /* it is whole, and stays */
	SAY,   /* there */
	BEGIN, /* the first view */
	DROP,  /* the invitation, or the first view */
	FORM,  /* the seekers of one side are invited into a first view */
	ASK,   /* a seeker is invited by a group */
	GO_ON, /* a group installs its next view */
	CRASH, /* what follows happens only while there are faults */
	CROSS, /* to the other side: a cut comes or heals, a node is stopped or goes on */
	LOSE,  /* a disk */
	LEAVE, /* in order */
	SPEAK, /* the operator has a node form a group alone */
	STEP_KINDS
};

#define NOBODY                                                                                                         \
	255 /* the node of a step that is no node's; of GO_ON else the newcomer. `other` is a group, `more` a side */

/* ---- formation_rules.c: what the rules say of a state ---- */

bool has_record(const struct world *w, const struct node *n);
/* Is member `i` alive, and in the latest view of its group? */
bool is_living(const struct state *s, int i, uint8_t group);
/* Can those of `voters` (a set of places) that live decide for `group`, if `base` is what a quorum is taken of? */
bool is_quorum(const struct world *w, const struct state *s, uint8_t voters, int base);
/* The living members of a group, of one side or (NOBODY) of both. */
uint8_t living_of(const struct state *s, uint8_t group, uint8_t side);
/* How many groups can deliver; *one: one of them. */
int delivering(const struct world *w, const struct state *s, uint8_t *one);
/* The nodes of one side that may be invited into a first view. */
uint8_t first_view(const struct world *w, const struct state *s, uint8_t side);
/* May an invited node begin the first view, or drop it? */
bool may_begin(const struct world *w, const struct state *s, const struct node *n);
bool may_drop(const struct world *w, const struct state *s, const struct node *n);
/* Is the record where it has to be before the node says there, or is counted? */
bool may_say(const struct world *w, const struct node *n);
bool may_be_counted(const struct world *w, const struct node *n);
bool may_write(const struct world *w, const struct node *n);
bool may_sync(const struct world *w, const struct node *n);
/* May a seeker be asked into a group? */
bool may_be_asked(const struct world *w, const struct state *s, const struct node *n, uint8_t group);
bool may_speak(const struct world *w, const struct state *s, int i);

/* ---- formation_steps.c ---- */

void begin(const struct world *w, struct state *s);
#define STEPS 256
/* All steps that can be taken (`calm`: if there are no faults any more); their number. */
int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out);
const char *take(const struct world *w, struct state *s, struct step step); /* NULL */
/* Brings nodes and identities into order. */
void tidy(const struct world *w, struct state *s);
void print_step(const struct world *w, const struct state *s, struct step step);

/* ---- formation_back.c ---- */

#define TWO "two groups"

const char *judge(struct search *x, const struct state *s);
/* NULL: the repairs bring a group back from each state that has been seen. */
const char *look_for_return(struct search *x);

#endif
