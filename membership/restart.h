/* restart.h - how a durable group comes back when all of its members have ended: rounds in which disks promise, report and agree
 * (docs/decisions/0058).
 *
 *     restart.c        the round: what is said and heard, at the node that coordinates it and at those that answer
 *     restart_find.c   what a round decides, of what was reported
 *     reports.c        what is said, as bytes
 *
 * A round has a ballot, greater than all before it. The coordinator, the node with the lowest id of those of the group that seek and have
 * something on disk, asks; disks promise to agree to no lower ballot, and report; from the reports it finds the newest view that was
 * decided, and either takes up what some disk has agreed to after it, or decides the next view, of its members that are there; the disks
 * agree; and the view begins when all have, and all of its members are in it, or lost since. From when all have agreed it is not given up, as long
 * as those that are left are enough for it.
 *
 * What lies on disk is a participant's matter: this module asks it to write, and says nothing before that is written.
 *
 * Threads: the loop's. Memory: wh_restart_init allocates; rounds allocate what they report and agree to.
 */
#ifndef WH_MEMBERSHIP_RESTART_H
#define WH_MEMBERSHIP_RESTART_H

#include "membership/reports.h"
#include "membership/roster.h"

struct wh_join;

/* What a restart asks of the node; group/ fills it in. `disk`: the id of the node that has that disk, this one, or another's on this host that it
 * speaks for. */
struct wh_restarter {
	/* What was handed over last, on disk or not yet; at first what the disk says. Lasts until the next call of one of these functions; group
	 * 0: it is blank. */
	const struct wh_standing *(*standing)(void *ctx, uint32_t disk);
	/* Is that on the disk? Begins to write it if it is not; asked again in each pass, of the same or, if that one came to nothing, another.
	 * What is written last counts. With another base than before, what the logs have from where it begins on is void, and they say so
	 * before. */
	bool (*keep_standing)(void *ctx, uint32_t disk, const struct wh_standing *standing);
	/* The same of a view as bytes, which a standing is to name. */
	bool (*keep_view)(void *ctx, uint32_t disk, uint64_t key, const unsigned char *bytes, size_t count);
	/* The bytes of a view that it names; they last until the next call. False: they are not there, or damaged. */
	bool (*view)(void *ctx, uint32_t disk, uint64_t key, const unsigned char **bytes, size_t *count);
	/* The log of a shard that the standing has: what was found in it, when this life began. */
	void (*log)(void *ctx, uint32_t disk, uint64_t subgroup, uint32_t shard, struct wh_log_report *out);
	/* Is that subgroup durable? */
	bool (*is_durable)(void *ctx, const struct wh_view_subgroup *subgroup);
	/* On one host: has each directory that has a standing been reported? `heard`: by id. NULL: other hosts are not known. */
	bool (*heard_all)(void *ctx, const bool *heard);
};

struct wh_voice { /* a disk that this node speaks for */
	uint32_t disk;
	uint64_t asked; /* a promise that is being written; 0: none */
	uint32_t asked_by;
	uint64_t follows;      /* the last that it has promised, in this life, */
	uint32_t by;           /* and to which node */
	unsigned char *report; /* that is being sent; NULL: none */
	uint32_t report_bytes, report_sent;
	bool has_agreement;            /* what it is to agree to has come: */
	struct wh_agreement agreement; /* at ballot `follows` */
	unsigned char *views[2];       /* base and next, as bytes */
	size_t view_bytes[2];
	int written;     /* how far that is */
	uint64_t agreed; /* the ballot; it is on disk */
	bool told;       /* the coordinator was, of that */
};

enum wh_round_phase { WH_ROUND_NONE, WH_ROUND_ASKS, WH_ROUND_AGREES, WH_ROUND_BEGINS };

struct wh_asked_node {        /* another node, in a round that this one coordinates */
	uint64_t incarnation; /* that was asked; 0: it was not */
	uint64_t ns;          /* and when */
	bool begin_told;
};

struct wh_heard_disk { /* a disk in it */
	bool is_heard, votes, agreed;
	bool lends; /* what was decided has a shard of which it has a whole log: it agrees before those that have none */
	uint32_t by; /* the node that speaks for it */
	uint64_t incarnation;
	struct wh_report report;
	unsigned char *agreement; /* to be sent, as bytes; NULL: none */
	uint32_t bytes, sent;
};

struct wh_round { /* that this node coordinates */
	enum wh_round_phase phase;
	uint64_t ballot;
	uint64_t asked_ns; /* and, when it has decided, since when it waits for the others */
	uint64_t until_ns; /* then it asks anew, if that has no end */
	uint64_t known;    /* number of the newest view that was known to be decided when it asked */
	bool news;         /* something was heard since it looked last */
	bool refused;      /* some disk has promised as much or more already */
	bool lacks_log;    /* it waits for the log of some shard: what was heard is not enough */
	bool taken_up;     /* it does not decide, but takes up what was decided */
	bool invited;
	struct wh_view *next;        /* what it has decided; NULL: nothing */
	struct wh_asked_node *asked; /* by node */
	struct wh_heard_disk *heard; /* by disk */
};

struct wh_restart_missing { /* what a round has not heard of, for people */
	uint64_t view;      /* the number of that which the group goes on from */
	uint32_t count;     /* 0: of none that is known */
	uint32_t ids[WH_NODES_MAX];
};

struct wh_restart { /* the fields up to `ctx` are set by the caller */
	struct wh_restarter on;
	void *ctx;
	int tie_breaker; /* id of a node, -1: none */
	uint32_t home;   /* a quorum needs one with an id below (0032); UINT32_MAX: there is no such rule */

	struct wh_voice *voices; /* the first is this node's own */
	uint32_t voice_count;
	struct wh_view_parts *parts; /* by node: what comes from it */
	uint32_t nodes;
	struct wh_round round;
	uint64_t known;    /* number of the newest view that is known to be decided */
	uint64_t highest;  /* ballot that was heard of */
	uint64_t again_ns; /* no round begins before */
	uint32_t failures; /* rounds that came to nothing, one after the other, as another was promised more */
	uint64_t begun;    /* ballot of the round of which all disks have agreed */
	char waits[512];   /* what its round waits for, for people; "": it has none */
	struct wh_restart_missing missing;
};

/* Of a node with that id, ids being below `nodes`. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_restart_init(struct wh_restart *restart, uint32_t id, uint32_t nodes,
						struct wh_error *err);
void wh_restart_close(struct wh_restart *restart);

/* On one host: this node speaks for that disk from now on, or does not any more. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_restart_speak(struct wh_restart *restart, uint32_t disk);
void wh_restart_hush(struct wh_restart *restart, uint32_t disk);

/* This node coordinates, and waits for a log that no member which is up has. It may copy one from a disk that it speaks for. */
bool wh_restart_lacks_log(const struct wh_join *join);
/* What its own disk has is more than it has said: it says it again, in the same round, if it has agreed to nothing. */
void wh_restart_report_again(struct wh_join *join);

/* What this node has on its own disk. */
enum wh_disk_is wh_restart_disk(const struct wh_restart *restart);
/* May this node form a group by itself, as its founder? Nothing lies on its disk, nor on any other of this host: else it is to be gone on with
 * that. */
bool wh_restart_may_found(const struct wh_restart *restart);
/* The greatest key of a first view, or ballot, that the disk has: no other has it again. */
uint64_t wh_restart_floor(const struct wh_restart *restart);
/* An ASK, STANDING, HIGHER, AGREE, AGREED or BEGIN. False: it is not what a node can say: it is broken. */
bool wh_restart_on_message(struct wh_join *join, uint32_t node, const struct wh_wire *message);
/* One pass, while this node is no member. Returns how much it did. */
size_t wh_restart_step(struct wh_join *join);
/* This node follows an invitation that has nothing to do with a restart, or is a member: what it has promised in this life is nothing any
 * more. */
void wh_restart_forget(struct wh_join *join);

/* May an invitation of that key come from that node: has it asked this one to agree to a view that it is in? */
bool wh_restart_expects(const struct wh_join *join, uint32_t from, uint64_t key);
/* And is it this view? */
bool wh_restart_invites(const struct wh_join *join, const struct wh_view *view, uint64_t key);
/* Has this node agreed to the view of that key, on disk? It is there only then. */
bool wh_restart_has_agreed(const struct wh_restart *restart, uint64_t key);
/* The members of that view of a round that are not lost are a quorum of it, and have a whole log of each durable shard. So it begins without the
 * others, which have agreed to it as well: it may have begun elsewhere, and its members need this node. */
bool wh_restart_is_enough(const struct wh_join *join, const struct wh_view *view, uint64_t key);
/* Have all disks agreed that were to, as far as is known here? Then the view begins when all its members are there, or lost. */
bool wh_restart_may_begin(const struct wh_restart *restart, uint64_t key);

/* This node has invited others into a view that its round has decided. */
static inline bool wh_restart_invites_others(const struct wh_restart *restart)
{
	return restart != NULL && restart->round.invited;
}

/* Where it stands, for people. */
struct wh_restart_is {
	bool goes_on;                             /* else there is none */
	enum wh_round_phase phase;                /* of the round that this node coordinates */
	int coordinator;                          /* node id, -1: none is known */
	const struct wh_restart_missing *missing; /* lasts until the next pass */
};

struct wh_restart_is wh_restart_look(const struct wh_join *join);
/* What it waits for, for people. False: there is no restart. */
bool wh_restart_explain(const struct wh_join *join, char *text, size_t bytes);

#endif
