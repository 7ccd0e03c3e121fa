/* restart.h - what is on the disks of a durable group, and how all come back after none was left: a model.
 *
 * A node has a disk and, while it is up, a memory. On the disk: a *standing* (the view that is known to have begun, the agreement about
 * the one after it with its ballot, the highest ballot that was promised), and a log of one shard, of which a tail may not be synced. A
 * process that crashes leaves all that was written; a host that loses its power leaves what was synced. A disk may be lost, or its log
 * rot. Nodes are up, or seek, or form a first view, or are members. Members of a view that have been passed over go on in it without
 * knowing: nothing here knows which nodes reach each other, so any set may act that the rules allow.
 *
 * What a message does: it is sent (given its place in the order), written by each member of its shard, synced; as soon as all members
 * have said so it may have been delivered somewhere, and counts as delivered. How one view follows another is made coarse (change.h has
 * the steps of that): a decision by members that are a quorum, which adopts what one of them has agreed to; each agrees; all install.
 *
 * A restart is rounds of one ballot each: the coordinator asks; disks promise and report; it decides; they agree; the view begins.
 *
 * What must hold:
 *     nothing lost   a view begins with all that was delivered
 *     one order      and with that alone, each message once, in the order in which it was delivered
 *     one group      no two views go on at a time, none follows another twice, no second group is formed
 *     not alone      what some member of a view has begun the others do not give up, while a quorum of it is there
 *     comes back     from wherever the power goes, if no disk is lost or rots, all become members of one view, with whole logs
 *
 * The rules are in restart_rules.c, the steps in restart_steps.c, whether all come back in restart_back.c, what is tried in restart.c.
 */
#ifndef WH_MODELS_RESTART_H
#define WH_MODELS_RESTART_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer.h"

#define NODES 4
#define SHARDS 2
#define LENGTH 3 /* messages of a shard, at most */
#define ROUNDS 2 /* under way at a time */
#define PAST 8   /* views of which is known that they have been decided, at most */

/* What is done otherwise than by the rules. */
enum mutation {
	BY_THE_RULES,
	FRONTIER_BEFORE_SYNC, /* what is written counts as persisted */
	ECHO_BEFORE_RECORD,   /* an agreement is said before it is on disk */
	CUT_OF_RECEIVED,      /* the cut is made of what has been received, on disk or not */
	CUT_IS_AWAITED,       /* ... received, and a member agrees when it has that on disk */
	WEDGED_COUNTS,        /* what a member that has wedged syncs counts as persisted */
	START_SYNCS_NOT,      /* what a start finds at the end of its log counts as it is */
	IDENTITY_UNSYNCED,    /* the identity of the group is written and not synced */
	FORMS_BESIDE_LOGS,    /* all configured nodes form a group though one has a log */
	BLANK_MAJORITY_FORMS, /* blank disks form a group when they are a majority */
	FIRST_IS_A_LOG,       /* a first view that nobody is known to have begun forbids to form another */
	BLANK_VOTES,          /* a blank disk is one that has agreed to nothing */
	NO_MAJORITY,          /* a whole log is enough, however few disks are there */
	SHARDS_FORGOTTEN,     /* a majority is enough, also without a whole log of some shard */
	STALE_VIEW,           /* the coordinator takes the view of its own disk */
	AGREED_IS_BEGUN,      /* a view that one disk has agreed to counts as one that has begun */
	AGREED_IS_NOTHING,    /* an agreement is not taken up: a new view is decided beside it */
	NO_PROMISE,           /* an earlier round is still agreed to after a later one was answered */
	PROMISE_FORGOTTEN,    /* a promise is not on disk */
	BEGINS_ALONE,         /* a member begins when it has agreed itself */
	LONGEST_LOG,          /* a restart begins with the longest of the logs, which not all have */
	VOID_COUNTS,          /* what lies beyond a cut counts */
	NEWCOMER_COUNTS,      /* the log of a newcomer counts before it has the state */
	ROT_IS_CUT,           /* a log with rot is cut off there, and counts */
	THERE_UNWRITTEN,      /* a newcomer is there before its disk has the view that takes it in */
	NONE_IS_WHOLE,        /* a view may follow in which no member has a whole log of some shard */
	LEFT_VOTES,           /* a node that left in order counts in the majority */
	LEFT_BEFORE,          /* ... does not, nor in the views before the one that it left */
	LEAVES_UNMARKED,      /* it leaves, and its disk does not say so */
	LEAVES_WEDGED,        /* it leaves though it has wedged, or has agreed to what follows */
	ALL_LEFT_IS_NONE,     /* nodes that have all left in order are no members, so nobody is */
	SPEAKS_UNWRITTEN,     /* what is agreed for a disk that is spoken for is not written there */
	DIRECTORIES_UNREAD,   /* one host: a restart needs not the logs of those that are not there */
	LAYOUT_UNREAD,  /* which members have whole logs is asked of the view before, and not of the one that follows */
	SHORT_COUNTS,   /* a whole log counts in a later view, also of a node that was in no shard in one between */
	RESTART_ASKS,   /* behind a restart a layout may take a log out of its shard */
	BEGINS_TOO_FEW, /* a member begins though those that are there are no quorum of what was decided */
	LEFT_STAY_OUT,  /* those that have left in order are no voters, though all members of that view were heard */
	GIVEN_UP_LATE,  /* what may have begun elsewhere is given up for another round */
	LOGS_IN_NO_TURN, /* others may agree before those that have the whole logs */
	STALE_REPORTS    /* what was said before the newest view was known counts, though it says nothing of that */
};

struct world {
	uint8_t nodes, shards; /* all are configured */
	uint8_t messages;      /* of each shard, at most */
	uint8_t views;         /* numbers, at most */
	uint8_t rounds;        /* of restarts, at most */
	uint8_t crashes, cuts; /* of single nodes, of all at once */
	uint8_t lost, rot;     /* disks */
	uint8_t groups;        /* first views that may be tried; 0: all are members in the beginning */
	bool joins;            /* nodes that are not members may come in */
	bool leaves;           /* members may leave in order */
	bool moves;            /* a layout may take a member out of its shard, and back */
	bool tie_breaker;      /* node 0 */
	bool one_host;         /* dead members are proved to be, and logs of others may be locked and read */
	bool absent;  /* what is spoken for is of nodes that do not come back; else they get it back when they do */
	bool in_turn; /* nothing is sent while some node is not a member: fewer states */
	enum mutation mutation;
};

/* States are compared as they lie, bytes without gaps. */
struct view {
	uint8_t number; /* from 1; 0: none */
	uint8_t group;
	uint8_t members;       /* a set of nodes */
	uint8_t out;           /* of these, those that are in no shard */
	uint8_t start[SHARDS]; /* so much of each log is before it: the cut of the view before */
};

enum flags {
	WHOLE = 1 << 0,  /* the log has all of its shard, as far as it goes */
	ROTTEN = 1 << 1, /* it had, and cannot be read */
	LEFT = 1 << 2,   /* the node has left in order, in view `base` */
	FIRST = 1 << 3,  /* `base` is a first view in which nothing is known to have been done */
	LOOSE = 1 << 4,  /* IDENTITY_UNSYNCED: it would not outlast a loss of power */
};

struct disk { /* base.number 0: blank */
	struct view base, next;
	uint8_t ballot, promise; /* of `next` */
	uint8_t flags, length, synced;
	uint8_t log[LENGTH]; /* messages; 0: not here */
};

enum status { DOWN, SEEKING, FORMING, THERE, MEMBER };

struct node {
	struct disk disk;
	struct view
		view; /* THERE: the one that takes it in; MEMBER: of which; DOWN: of which it was, as others remember it */
	uint8_t status;
	uint8_t row;     /* ballot that it has said to agree to; FORMING: it is there */
	uint8_t said;    /* so much it has said to have persisted */
	uint8_t follows; /* the ballot that it has promised in this life */
	uint8_t holder;  /* 1 + the other node that has locked the directory; 0: none */
	uint8_t owes;    /* ECHO_BEFORE_RECORD: said, and not on disk */
};

enum decision { UNDECIDED, ADOPTS, DECIDES };

struct round {
	uint8_t ballot; /* 0: none */
	uint8_t owner, heard, agreed, decision;
	uint8_t known;   /* number of the newest view that its owner knew of when it asked */
	uint8_t lenders; /* those in `next` of which the logs are whole: they agree first */
	struct view base, next;
	uint8_t log[SHARDS][LENGTH]; /* what it begins with */
	struct disk reports[NODES];
};

struct state {
	struct node nodes[NODES];
	struct round rounds[ROUNDS];
	/* The change of the newest view that has begun. */
	struct view now, next;
	uint8_t ballot, trusted, wedged, left;
	struct view past[PAST]; /* what it follows from, by number */
	/* What is sent in it, from the beginning on, and what may have been delivered. */
	uint8_t order[SHARDS][LENGTH], sent[SHARDS];
	uint8_t delivered[SHARDS][LENGTH], count[SHARDS];
	uint8_t sender[SHARDS][LENGTH + 1]; /* 1 + node that could send that message again */
	uint8_t messages[SHARDS], ballots, crashes, cuts, lost, rot, groups;
};

enum step_kind {
	BEGIN_FIRST, /* what is taken first when nothing goes wrong any more comes first */
	FORM_WRITE,
	FORM,
	BEGIN,
	AGREE,
	PROMISE,
	DECIDE,
	MEND,
	LOCK,
	RELEASE,
	INSTALL,
	ENTER,
	WRITE,
	SYNC,
	ECHO,
	ECHO_LATE,
	MARK,
	COME,
	CHANGE,
	DROP,
	START,
	ASK_ANEW,
	ASK,
	SEND, /* from here on not when all is calm */
	LEAVE_MARK,
	LEAVE,
	CRASH,
	POWER,
	OFF, /* a host that is down loses what was not synced */
	LOSE,
	ROT,
	STEP_KINDS
};

#define LOST "a delivered message is lost"
#define OTHERWISE "what is delivered differs"
#define TWICE "a message is delivered twice"
#define FORK "two views go on"
#define TWO "two groups"
#define ALONE "those that have begun are left alone"
#define STUCK "all come back, and no group does"

static inline bool breaks(const struct world *w, enum mutation mutation)
{
	return w->mutation == mutation;
}

/* ---- restart_rules.c ---- */

bool in(uint8_t set, int node);
int shard_of(const struct world *w, int node);
uint8_t shard_members(const struct world *w, uint8_t members, int shard);
/* Those of that shard in the view. */
uint8_t shard_in(const struct world *w, const struct view *view, int shard);
bool is_same(const struct view *one, const struct view *other);
bool is_blank(const struct disk *d);
/* Are these votes a quorum of `members`, without those in `gone`? */
bool is_quorum(const struct world *w, uint8_t votes, uint8_t members, uint8_t gone);
/* The members of the newest view that are up in it. */
uint8_t living(const struct world *w, const struct state *s);
/* Members that are proved to have ended. */
uint8_t dead(const struct world *w, const struct state *s);
/* Which node speaks for that disk, if it is up and seeks; -1: none. */
int speaker(const struct state *s, int disk);
/* One host: is this node one of the newest view of all logs there, so that it may speak for others? */
bool may_speak(const struct world *w, const struct state *s, int i);
/* May all configured nodes form a first view? */
bool may_form(const struct world *w, const struct state *s, uint8_t *formers);
/* What the coordinator makes of what it has heard; UNDECIDED: it waits. */
enum decision decide(const struct world *w, const struct state *s, const struct round *r, struct round *out);
/* The newest view that the owner of that round knows to have been decided. */
struct view newest_heard(const struct world *w, const struct round *r);
/* Some has said nothing of that view, and has to say again what it has. */
bool hears_stale(const struct world *w, const struct round *r);
/* Which log a member without a whole one copies, of the disks that it speaks for and that stand on the same view; -1: none. */
int may_mend(const struct world *w, const struct state *s, int of);
/* Has it all that lies before `base`, if it is whole? */
bool reaches(const struct world *w, const struct disk *d, const struct view *base, int shard);
/* How far it goes, what lies beyond the cut of the view before being void. */
uint8_t extent(const struct world *w, const struct disk *d, const struct view *base, int shard);
/* The members of what that round has decided that have begun it or may begin it are a quorum. */
bool is_enough(const struct world *w, const struct state *s, const struct round *r);
/* Some member that has agreed with all others may have begun what was decided, and those that are there are enough: this one is there, too. */
bool holds_on(const struct world *w, const struct state *s, int i);
/* May node `of` begin what that round has decided? */
bool may_begin(const struct world *w, const struct state *s, const struct round *r, int of);

/* ---- restart_steps.c ---- */

void begin_world(const struct world *w, struct state *s);
#define STEPS 512
int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out);
/* NULL, or what is wrong. */
const char *take(const struct world *w, struct state *s, struct step step);
/* All go down, and all that was not synced is gone. */
void lose_power(const struct world *w, struct state *s);
/* One order for states that are alike. */
void tidy(const struct world *w, struct state *s);
void print_step(const struct world *w, const struct state *s, struct step step);
void print_state(const struct world *w, const struct state *s);
/* All are members of one view, with whole logs. */
bool is_whole(const struct world *w, const struct state *s);

/* ---- restart_back.c ---- */

/* In a run it is asked now and then. NULL, or what is wrong: all come back when the power goes there, and comes again. */
const char *look_back(struct search *x, const struct state *s);
/* The same as lines. */
void print_back(struct search *x, const struct state *s);

#endif
