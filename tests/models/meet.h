/* meet.h - how two nodes meet, and that they do, whatever becomes of their connections: a model.
 *
 * Node A has the lower id, node B the higher; each calls the other. A connection carries HELLO of the caller, HELLO
 * of the called node, TAKEN of the caller, or REFUSED of either, and its end, in this order. Connections have no
 * order among each other: each is greeted (the called node can read what the caller has said) at any time, even when
 * the caller has given it up, has called again or has ended.
 *
 * The caller counts the other as met when it has its HELLO, the called node when it has TAKEN. An incarnation is met
 * once: one that was met and has ended, or was refused, is refused when it calls again, and is not met when it
 * answers.
 *
 * Faults: a node gives up a call that is not answered in time; a connection breaks, and what is under way on it is
 * lost or is not; a node ends, and is started again as another incarnation; B's first life has another configuration;
 * B's calls do not get through, for a while or for good. Each scenario has so many of each.
 *
 * What must hold:
 *     once   no incarnation is met twice, and no node is told twice that it and an incarnation have refused each other
 *     meets  when there are no faults any more the two meet, in whatever order their connections are then heard: unless
 *            they are parted (one has counted the other's present incarnation as met, and that connection has ended),
 *            or have two configurations
 *     told   then each of them has been told: that it has lost the other, or that they have refused each other
 *
 * A break parts two that live: that is the price of meeting once. Nothing else may, and so what has parted them is
 * found out: each cause is a finding of its own.
 *
 * The rules are in meet_rules.c, how it goes on without faults in meet_calm.c, what is tried in meet.c.
 */
#ifndef WH_MODELS_MEET_H
#define WH_MODELS_MEET_H

#include <stdbool.h>
#include <stdint.h>

#include "explorer.h"

enum { A, B, NODES };

/* What can be left out. */
enum rule {
	NUMBERS = 1 << 0, /* calls have numbers: an older call that comes later is not answered */
	KEEP = 1 << 1,    /* the node that has answered a call does not give it up */
	GUARD = 1 << 2,  /* nor puts it aside for a call of another incarnation: its connection must have ended first */
	REDIAL = 1 << 3, /* a peer that has been refused, or has refused, is called again */
	ONCE = 1 << 4,   /* what is refused again is not told again */
	REPLY = 1 << 5,  /* a caller that is answered by an incarnation that it does not meet again says REFUSED */
	CROSSED = 1 << 6, /* of two calls that cross the one of the higher id counts, ... */
	GREETED = 1 << 7, /* ... if it is greeted */
	LIVES = 1 << 8,   /* an incarnation is met once */
};

struct world {
	uint8_t breaks, time_outs; /* at most */
	uint8_t restarts;          /* of B, ... */
	uint8_t restarts_of_a;     /* ... and of A, at most */
	uint8_t calls;             /* of each life, at most, while there are faults */
	bool foreign;              /* B's first life has another configuration */
	bool blocked;              /* B's calls do not get through */
	uint32_t without;          /* enum rule */
};

enum node_state { ABSENT, CALLED, ANSWERED, MET, REJECTED };

/* A's incarnations are 1, 3 and on, B's 2, 4 and on; 0 is none. A set has a bit for each. */
#define INCARNATION_MOST 7

struct node {
	uint8_t incarnation;
	uint8_t state;                 /* enum node_state: what the other is to it */
	uint8_t other;                 /* which incarnation that is, since its HELLO was good; else 0 */
	uint8_t calls, calls_left;     /* that this life has made, and may still make */
	uint8_t caller, caller_number; /* the call that was answered last: of which incarnation, and its number */
	uint8_t met;                   /* sets of incarnations: counted as met, ... */
	uint8_t ended;                 /* ... met and ended, or refused, ... */
	uint8_t lost;                  /* ... those that it was told it has lost, ... */
	uint8_t told;                  /* ... and those that it was told were refused, or have refused it */
};

enum message { NOTHING, HELLO, TAKEN, REFUSED, END };

/* What a connection is to the node at one of its ends. */
enum end {
	CLOSED,
	STRANGER, /* the called node has not heard HELLO yet */
	LINK,     /* a node has one of those, or none */
};

enum side { CALLER, CALLEE };

struct connection {
	uint8_t ids[2]; /* the incarnations at its ends; 0: there is no such connection */
	uint8_t number; /* of the call */
	bool greeted;
	uint8_t ends[2];   /* enum end */
	uint16_t heard[2]; /* what is under way to each side: enum message, four bits each, the next one lowest */
};

#define CONNECTIONS 12 /* at one time, at most */

struct state {
	struct node nodes[NODES];
	uint8_t breaks, time_outs, restarts[NODES]; /* that may still come */
	bool blocked, met_twice, told_twice, unused;
	struct connection connections[CONNECTIONS]; /* by ids and number; those that are not come last */
	/* States that differ in it alone are one: enum finding, by what the two are torn, if they are. */
	uint16_t torn;
};

enum step_kind {
	GREET,
	HEAR,
	GIVE_UP, /* a call: a fault, if it is not blocked */
	CALL,
	BREAK, /* what follows happens only while there are faults */
	CUT,   /* a break, and what is under way is lost */
	RESTART,
	UNBLOCK, /* B's calls get through from here on */
	STEP_KINDS
};

/* `other` of a step is the index of a connection, `more` of HEAR the side that does. */

enum finding {
	HOLDS,
	/* Two that live are parted. Their connection has ended */
	BREAK_BEFORE_TAKEN, /* in a break between the called node's HELLO and TAKEN, */
	BREAK_AFTER_TAKEN,  /* in a break when both had met, */
	GAVE_UP,            /* because the node that had answered it gave it up, */
	OLDER_CALL,         /* or put it aside for an older call, */
	OTHER_LIFE,         /* or for a call of another incarnation */
	PARTED_OTHERWISE,
	NEVER_MEET, /* they are not parted, and do not meet */
	NOT_TOLD,   /* they cannot meet, and one of them is not told */
	MET_TWICE,
	TOLD_TWICE,
	FINDINGS
};

#define PARTED_BEFORE_TAKEN "parted by a break between HELLO and TAKEN"
#define PARTED_AFTER_TAKEN "parted by a break after TAKEN"
#define PARTED_BY_GIVING_UP "parted when the node that had answered gave up"
#define PARTED_BY_OLDER_CALL "parted by an older call"
#define PARTED_BY_OTHER_LIFE "parted by a call of another incarnation"
#define APART "not parted, and never meet"
#define UNTOLD "one is not told"
#define TWICE_MET "met twice"
#define AND "; "

/* ---- meet_rules.c -------------------------------------------------------------------------------------------------- */

#define STEPS 64 /* from one state, at most */

void begin(const struct world *w, struct state *s);
/* There are no faults from here on. */
void calm(struct state *s);
/* All steps that can be taken; their number. `is_calm`: no faults, and a node calls when nothing is left to hear,
 * because to call again takes longer than to hear. Calls that crossed each time could keep two nodes apart for ever,
 * with all rules: B hangs up its own call, which is not greeted yet, to answer A's; then HELLO of it is heard, and A
 * hangs up its own to answer that. */
int steps_from(const struct world *w, const struct state *s, bool is_calm, struct step *out);
void do_step(const struct world *w, struct state *s, struct step step);

bool is_foreign(const struct world *w, uint8_t incarnation);
bool has_met(const struct state *s);
bool is_parted(const struct state *s);
/* Parted, or about to be: on a connection that has ended the HELLO is under way with which one node counts the other as
 * met. */
bool is_torn(const struct state *s);
/* What has torn two that were not before this step, and are behind it. */
enum finding torn_by(const struct state *before, struct step step);
/* Has each been told that it has lost the other, or that they have refused each other? */
bool is_told(const struct state *s);

void print_step(const struct world *w, const struct state *s, struct step step);
void print_nodes(const struct state *s);

/* ---- meet_calm.c --------------------------------------------------------------------------------------------------- */

/* As do_step; and notes by what two are torn. NULL. */
const char *take(const struct world *w, struct state *s, struct step step);
/* Notes what is wrong with that state, and with the courses from it without any more faults. NULL. */
const char *look(struct search *x, const struct state *s);
/* What was found: names with AND between them; NULL: nothing. */
const char *conclude(struct search *x);
/* Names, by enum finding - 1; behind the last is NULL. */
extern const char *const findings[FINDINGS];

#endif
