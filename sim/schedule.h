/* schedule.h - what goes wrong in a run: a short list of faults, each of them a line that reads like a sentence.
 *
 *     crash 2 at 30 ms                       the node ends; the transport tells the others, some time later
 *     crash 2 silently at push 17            the others only find that they do not hear it any more
 *     crash 0 at decide 1                    just before the push that would say so
 *     crash 0 after decide 1                 when the pass with that push is over: it is under way
 *     stall 1 for 80 ms at 20 ms             it makes no pass, and its application does nothing
 *     stall 1 for 80 ms at upcall 5          in the middle of an upcall
 *     cut 0,1 from 2,3 for 90 ms at 20 ms    nothing that 0 and 1 send comes to 2 and 3
 *     cut 0,1 and 2,3 for 90 ms at 20 ms     nor the other way
 *     slow 0 to 3 by 16 for 50 ms at 10 ms   the link has 16 times the latency
 *     break 0,1 with 3 at 30 ms              their connections end, and each side is told that the other is down
 *     leave 3 at 40 ms                       it closes in order
 *
 * and of what is no fault, but changes which nodes are there:
 *
 *     join 5 at 12 ms                        it is not there at the beginning: it is opened then
 *     return 2 at 80 ms                      it is opened again: another life of it. If it still runs it is killed first
 *     rest 1 for 60 ms at 20 ms              it declares that it does not send, and takes that back
 *
 * and of the dynamic subgroups of the plan (docs/decisions/0046), d0, d1 and so on:
 *
 *     enter 3 in d1 at 20 ms                 it enters that one. Where it is not there yet: when it is opened, before it starts
 *     enter 3 in d1 otherwise at 20 ms       with other parameters than the plan's
 *     exit 3 from d1 at 40 ms                it leaves
 *     release 3 of d1 at 60 ms               its program has done with it, and so it leaves if it has not
 *
 * and of disks, where plans have them (docs/decisions/0058):
 *
 *     crash 2 without power at 30 ms         the host loses its power, and has it again at once: it ends silently, and its disk keeps any
 *                                            part of what was not synced
 *     power off at 40 ms                     so do all hosts
 *     return 2 without its disk at 90 ms     it comes back with a disk that is blank
 *     return 2 begun anew at 90 ms           an operator has made what its disk has a group of its own (whorl log --begin-anew)
 *     slow disk 1 by 16 for 50 ms at 10 ms   what it does takes 16 times as long
 *     hang disk 1 at 30 ms                   it does not answer any more, until the power goes
 *     hang disk 1 for 20 ms at 30 ms         it takes so long with all that it is told
 *     fail sync 1 at 30 ms                   its next sync fails
 *     fill disk 1 for 50 ms at 20 ms         there is no room on it
 *     rot disk 1 at 30 ms                    a bit is turned in what was synced, where it can be told (rots.c)
 *
 * Times count from when all nodes that are there at the beginning are members, or have been opened, as the plan says. The moment of
 * a fault of one node may also be the k-th thing of a kind that this node does, in all its lives: an upcall, a step of coming in,
 * or a step of a change of view, that is a push. "push 17" is its 17th push after any node has suspected another or proposed a
 * view; the other kinds are pushes of one column (enum wh_moment). A wish comes after a step, not in the middle of a push, as no program
 * runs there. What never comes about, as the third wedge of a node that sees
 * one change, is withdrawn when the times of all other faults are over.
 *
 * The same line is what is printed, what --fault takes, and what an ini file says: wh_fault_parse(wh_fault_print(f)) is f.
 */
#ifndef WH_SIM_SCHEDULE_H
#define WH_SIM_SCHEDULE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WH_FAULTS_MAX 32
#define WH_WISHES_DRAWN_MAX 24
#define WH_NAMES_DRAWN_MAX 4 /* of dynamic subgroups */
#define WH_SCHEDULE_MAX (WH_FAULTS_MAX + WH_WISHES_DRAWN_MAX)
#define WH_FAULT_TEXT 160 /* bytes of a line, with the zero */
#define WH_FAULT_NODES_MAX 64

#define WH_FAULT_KINDS(X)                                                                                              \
	X(CRASH, "crash")                                                                                              \
	X(STALL, "stall")                                                                                              \
	X(CUT, "cut")                                                                                                  \
	X(SLOW, "slow")                                                                                                \
	X(BREAK, "break")                                                                                              \
	X(LEAVE, "leave")                                                                                              \
	X(JOIN, "join")                                                                                                \
	X(RETURN, "return")                                                                                            \
	X(REST, "rest")                                                                                                \
	X(ENTER, "enter")                                                                                              \
	X(EXIT, "exit")                                                                                                \
	X(RELEASE, "release")                                                                                          \
	X(POWER, "power off")                                                                                          \
	X(SLOW_DISK, "slow disk")                                                                                      \
	X(HANG, "hang disk")                                                                                           \
	X(FAIL_SYNC, "fail sync")                                                                                      \
	X(FILL, "fill disk")                                                                                           \
	X(ROT, "rot disk")

enum wh_fault_kind {
#define WH_FAULT_CONSTANT(name, word) WH_FAULT_##name,
	WH_FAULT_KINDS(WH_FAULT_CONSTANT)
#undef WH_FAULT_CONSTANT
		WH_FAULT_KIND_COUNT
};

#define WH_MOMENTS(X)                                                                                                  \
	X(TIME, "")                                                                                                    \
	X(UPCALL, "upcall")           /* a message is being delivered to it */                                         \
	X(PUSH, "push")               /* any push of it after the first suspicion or proposal of the run */            \
	X(SUSPECT, "suspect")         /* it names nodes it suspects */                                                 \
	X(WEDGE, "wedge")             /* it says that it has stopped */                                                \
	X(PROPOSE, "propose")         /* it proposes a view */                                                         \
	X(ACKNOWLEDGE, "acknowledge") /* it says that the memory of a proposed view is open */                         \
	X(DECIDE, "decide")           /* it decides, or adopts a decision of a leader before it */                     \
	X(ECHO, "echo")               /* it agrees to a decision of another */                                         \
	X(INSTALL, "install")         /* its last word in a view */                                                    \
	X(MET, "met")                 /* a pass is over in which it has met the first other node, */                   \
	X(INVITED, "invited")         /* has been invited into a view, */                                              \
	X(THERE, "there")             /* has said that it is ready, */                                                 \
	X(BEGUN, "begun")             /* has become a member, */                                                       \
	X(RESTORED, "restored")       /* has the state of all its subgroups */                                         \
	X(RESTORE, "restore")         /* it begins to restore a state */                                               \
	X(GIVE, "give")               /* it fixes a state to give it */                                                \
	X(WRITE, "write")             /* its disk is told to write, */                                                 \
	X(SYNC, "sync")               /* or to sync a file or a directory */

enum wh_moment {
#define WH_MOMENT_CONSTANT(name, word) WH_MOMENT_##name,
	WH_MOMENTS(WH_MOMENT_CONSTANT)
#undef WH_MOMENT_CONSTANT
		WH_MOMENT_COUNT
};

struct wh_fault {
	enum wh_fault_kind kind;
	uint32_t node;     /* what is about one node */
	uint32_t name;     /* enter, exit, release: of which dynamic subgroup of the plan */
	bool otherwise;    /* enter: with other parameters */
	bool silently;     /* crash */
	bool powerless;    /* crash: its disk loses what was not synced */
	bool blank;        /* return: with another disk */
	bool anew;         /* return: what its disk has is begun anew before, as a group of its own */
	bool both;         /* cut: both ways */
	uint64_t from, to; /* cut, slow, break: bit i is node i */
	uint32_t factor;   /* slow, slow disk */
	uint64_t for_us;   /* what lasts; hang disk: 0: for ever */
	enum wh_moment moment;
	bool after;  /* not at a time: when the pass in which the moment has come is over */
	uint64_t at; /* microseconds, or which one of its kind, from 1 */
};

struct wh_schedule {
	struct wh_fault faults[WH_SCHEDULE_MAX];
	uint32_t count;
};

/* It is between two sets of nodes, and not about one node. */
static inline bool wh_fault_is_between(const struct wh_fault *fault)
{
	return fault->kind == WH_FAULT_CUT || fault->kind == WH_FAULT_SLOW || fault->kind == WH_FAULT_BREAK;
}

/* It lasts for a time, and then all is as it was. */
static inline bool wh_fault_lasts(const struct wh_fault *fault)
{
	return fault->kind == WH_FAULT_STALL || fault->kind == WH_FAULT_CUT || fault->kind == WH_FAULT_SLOW ||
	       fault->kind == WH_FAULT_REST || fault->kind == WH_FAULT_SLOW_DISK || fault->kind == WH_FAULT_FILL ||
	       (fault->kind == WH_FAULT_HANG && fault->for_us > 0);
}

/* A node says what it wishes of a dynamic subgroup. */
static inline bool wh_fault_is_wish(const struct wh_fault *fault)
{
	return fault->kind >= WH_FAULT_ENTER && fault->kind <= WH_FAULT_RELEASE;
}

/* It is about the disk of a host, whether a node is there or not. */
static inline bool wh_fault_is_of_disk(const struct wh_fault *fault)
{
	return fault->kind >= WH_FAULT_SLOW_DISK;
}

/* Others may think that the nodes that it touches have failed. */
static inline bool wh_fault_harms(const struct wh_fault *fault)
{
	return fault->kind < WH_FAULT_JOIN || fault->kind >= WH_FAULT_POWER;
}

/* False: `wrong` says what was expected. */
bool wh_fault_parse(struct wh_fault *fault, const char *line, char *wrong, size_t wrong_bytes);
/* The words of a kind; NULL behind the last. */
const char *wh_fault_word(enum wh_fault_kind kind);
const char *wh_moment_word(enum wh_moment moment);
/* Returns buf, WH_FAULT_TEXT bytes. */
const char *wh_fault_print(const struct wh_fault *fault, char *buf);
/* Does it make sense among so many nodes? */
bool wh_fault_fits(const struct wh_fault *fault, uint32_t nodes);
/* All nodes that it names. */
uint64_t wh_fault_touches(const struct wh_fault *fault);
/* Bit k: there is one of enum wh_fault_kind. NULL: there is none. */
uint32_t wh_schedule_kinds(const struct wh_schedule *schedule);
/* Those that are not there at the beginning. */
uint64_t wh_schedule_absent(const struct wh_schedule *schedule);

struct wh_flavour;

struct wh_schedule_limits {
	const struct wh_flavour *flavour; /* NULL: mixed */
	uint32_t nodes;                   /* that are configured */
	uint32_t ids;                     /* of nodes are below: the others join */
	int founder;                      /* -1: a majority of the configured nodes forms the group */
	uint32_t faults;                  /* at most, but for what follows from them, as returns */
	uint32_t kinds;                   /* bit k: enum wh_fault_kind */
	bool proofs;                      /* of deaths: a minority may go on */
	bool one_host;                    /* all have one disk */
	uint32_t names;                   /* of dynamic subgroups; 0: no node wishes for any */
	bool disks;                       /* they fail, and the power may go */
	uint64_t span_us;                 /* the first faults come within this time */
	uint64_t failure_timeout_us;
};

/* From the seed. Mostly a majority stays unharmed; sometimes none does. */
void wh_schedule_draw(struct wh_schedule *schedule, uint64_t seed, const struct wh_schedule_limits *limits);
/* Its second half: nodes that are not there at the beginning, come back, or rest; and what goes wrong with nodes that come. */
void wh_schedule_draw_joins(struct wh_schedule *schedule, uint64_t seed, const struct wh_schedule_limits *limits);
/* And what becomes of disks, and of the power. */
void wh_schedule_draw_disks(struct wh_schedule *schedule, uint64_t seed, const struct wh_schedule_limits *limits);
/* And its third: which nodes enter and leave dynamic subgroups, and what goes wrong then. */
void wh_schedule_draw_wishes(struct wh_schedule *schedule, uint64_t seed, const struct wh_schedule_limits *limits);

#endif
