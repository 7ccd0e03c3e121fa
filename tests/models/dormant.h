/* dormant.h - durable subgroups made at run time, of which no member may be left (docs/decisions/0058): a model.
 *
 * A group of three nodes and some more; those more are always in it, and have the quorum, so that some decision is always made. One of
 * them leads. The three may be members of one durable subgroup. Where none is left it is dormant: views keep which members it had last,
 * and disks keep their logs. Nodes that come in say with their wish what their disk has, a *holding*; the leader finds which of these count.
 *
 * A view is decided while the one before goes on (`next`; all members have stopped then), each member that is up agrees to it, and then
 * it is begun. Members crash at any time: also when it is decided, and they have not agreed, so that they are members of a view that their
 * disk has never heard of. All may lose power; then a view that was decided is begun or was nothing, and another one follows the last,
 * in which the subgroup is dormant, with those of its members that have come back by then.
 *
 * A message is given its place, written by each member (its log is what has been synced: what was not is as if it were not written), and said
 * to be on disk; as soon as all members have said so it counts as delivered. When its view ends what lies below the cut does.
 *
 * What must hold:
 *     nothing lost   where the subgroup begins again it has all that was delivered, and so has each log that comes back
 *     one order      and in the order in which it was delivered; logs that come back agree
 *     comes back     all power goes; or the three nodes end; or (where `drops`) only those start that are down: in the end all are
 *                    members, with whole logs, if no disk was lost or rots, and nobody has to begin anew for it
 *
 * Members that are passed over and go on without knowing it are not there: what they do to their disks they may as well have done
 * before, as nothing that they say is heard. What each message is given to, and the upcalls, are not there either.
 *
 * The rules are in dormant_rules.c, the steps in dormant_steps.c, the way back in dormant_back.c, the search and what is tried in dormant.c.
 */
#ifndef WH_MODELS_DORMANT_H
#define WH_MODELS_DORMANT_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer.h"
#include "sets.h"

#define NODES 3
#define LENGTH 3 /* messages in a log, at most */
#define ALL ((1 << NODES) - 1)

/* What is done otherwise than by the rules. */
enum mutation {
	BY_THE_RULES,
	ENTERED_COUNTS,   /* a holding counts whatever view the member entered in */
	ALL_COME_BACK,    /* so do logs that do not end in the latest of the views */
	CUT_IS_MOST,      /* the longest of those that come back */
	WHOLE_UNASKED,    /* a log counts that is not whole */
	BIRTH_UNASKED,    /* or of another birth */
	ANYBODY_COUNTS,   /* or of a node that was no last member */
	FRONTIER_UNREAD,  /* an end below what another log says that all had is no rot */
	BEGINS_EMPTY,     /* where no holding counts the subgroup begins with nothing */
	LEAVER_GOES,      /* it does not wait for another whole log, and the view after neither */
	NONE_IS_WHOLE,    /* a view without a member may leave the subgroup without a whole log */
	NEWCOMER_FORGETS, /* an entry goes when its node comes into the group */
	DROPPED_DELIVER,  /* members that go out as none of them is whole deliver what is below the cut, as others do */
	FAILURES_SERVE,   /* a view that leaves a member out lets others leave the subgroup */
	BEGUN_LATE,       /* a view is decided before that before it is on the disks of its members */
	FOUNDER_IS_MUTE,  /* one that has never begun the first view says nothing */
	BLANK_FOUNDER,    /* ... or says so with a disk that has nothing at all */
	/* These must not be found: the rules do not rest on it. */
	STALE_IS_KEPT, /* an entry does not go when the subgroup goes on without its node */
	CUT_UNKNOWN,   /* a holding says how far the log goes, though its disk knows the cut */
};

struct world {
	uint8_t nodes; /* of three, so many */
	uint8_t messages, views;
	uint8_t crashes, powers, lost, rot, anew; /* how often */
	bool leaves;                              /* members may leave the subgroup */
	bool calm;                                /* it comes back also if only those that are down are started */
	bool drops; /* of which no whole log is left in a view, its members are out of it then */
	enum mutation mutation;
};

struct entry {
	uint8_t birth; /* 0: none */
	uint8_t end;   /* number of the view that the log ends in; 0: it has begun none */
	uint8_t whole, rotten;
	uint8_t cut;      /* 1 + the cut of that view; 0: not known */
	uint8_t frontier; /* so much all are known to have had on disk */
	uint8_t length, log[LENGTH];
};

struct disk {
	uint8_t base; /* number of the view that it stands on; 0: blank */
	struct entry entry;
};

enum status { DOWN, UP, IN };

struct node {
	uint8_t status;
	uint8_t said;   /* so much to have on disk */
	uint8_t whole;  /* ... and that its log is */
	uint8_t agreed; /* to what is decided */
	struct disk disk;
};

struct subgroup {
	uint8_t birth;   /* number of its first view; 0: it was never made */
	uint8_t last;    /* number of the last view in which it has members */
	uint8_t members; /* in that: a set of nodes */
	uint8_t entered; /* of these, in that view */
	uint8_t back;    /* ... or came back in it */
	uint8_t from;    /* ... from a view of that number */
};

struct view {
	uint8_t number; /* 0: none */
	uint8_t group;
	uint8_t start; /* so much lies before it */
	struct subgroup sub;
};

struct state {
	struct node nodes[NODES];
	struct view now, next;
	uint8_t cut;         /* of what is decided: 1 + the cut of the view now; 0: no member of it goes on */
	uint8_t log[LENGTH]; /* what lies before `next` */
	uint8_t order[LENGTH], sent;
	uint8_t delivered[LENGTH], count;
	uint8_t messages, given_up; /* up to that one, with the birth before */
	uint8_t dark;               /* the power went, and nothing has begun */
	uint8_t crashes, powers, lost, rot, births;
};

enum step_kind {
	GIVE,
	SEND,
	WRITE,
	SYNC,
	CAP,
	COME,
	AGREE,
	INSTALL,
	START,
	RESTART,
	FAIL,
	WISH,
	CRASH,
	POWER,
	LOSE,
	ROT,
	STEP_KINDS
};

/* `node` of WISH are those that come in, `other` those that wish it, and `more` says whether anew. */

#define LOST "a delivered message is lost"
#define OTHERWISE "what is delivered differs"
#define GIVEN_UP "what was given up comes back"
#define STUCK "stuck"

static inline bool breaks(const struct world *w, enum mutation mutation)
{
	return w->mutation == mutation;
}

/* ---- dormant_rules.c ---- */

bool is_active(const struct view *view);
/* All nodes. */
uint8_t all_of(const struct world *w);
/* Is it asked what the last view did, beside which views logs can end in? That is only done by rules that are wrong: fewer states. */
/* The members of the subgroup in the view now; none if it is dormant. */
uint8_t members_now(const struct state *s);
/* Those of `set` that say that their log is whole. */
uint8_t whole_of(const struct state *s, uint8_t set);
/* Those of `set` that are in the group. */
uint8_t up_of(const struct state *s, uint8_t set);
/* What a disk keeps when it stands on that view; `i` is its node. */
void stand_on(const struct world *w, struct disk *d, const struct view *view, int i);
/* The view begins in the log. */
void begin_on(const struct world *w, const struct state *s, struct disk *d, int i);
/* What lies before a view must be what was delivered. NULL: so it is. */
const char *check_start(const struct state *s, const uint8_t *log, uint8_t start);
/* The next view, of these nodes, without those that have failed. False: it is none, or waits. */
bool compose_without(const struct world *w, struct state *s, uint8_t failed, uint8_t leavers);
/* ... that takes in `newcomers`, and has in the subgroup those that wish it, of which none that left has crashed. */
bool compose_wishes(const struct world *w, struct state *s, uint8_t newcomers, uint8_t wishers, bool anew,
		    const char **wrong);

/* ---- dormant_steps.c ---- */

void begin_world(const struct world *w, struct state *s);
#define STEPS 256
/* `calm`: if nothing goes wrong any more, and no member says anything. */
int steps_from(const struct world *w, const struct state *s, bool calm, struct step *out);
/* NULL, or what is wrong. */
const char *take(const struct world *w, struct state *s, struct step step);
/* One order for states that are alike. */
void tidy(const struct world *w, struct state *s);

/* ---- dormant_back.c ---- */

/* All nodes are started and wish it, and nothing goes wrong: whatever else happened just before. NULL, or what is wrong then. */
const char *look_back(struct search *x, const struct state *s);
/* The same as lines. */
void print_back(struct search *x, const struct state *s);
void print_step(const struct world *w, const struct state *s, struct step step);
void print_state(const struct world *w, const struct state *s);

#endif
