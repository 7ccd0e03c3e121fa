/* cluster.h - the parent of a group of processes: starts them, harms some, waits for what must follow, compares the logs.
 *
 * Nothing waits by sleeping: whatever must come to pass is looked for until it is so, or until PATIENCE has run out. Any
 * surprise (a child that ends unasked, a complaint, a wait that runs out) prints where everybody stands and ends the
 * program, and the members with it.
 */
#ifndef WH_PROCESSES_CLUSTER_H
#define WH_PROCESSES_CLUSTER_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "tests/processes/board.h"

enum fate {
	FATE_LIVES,
	FATE_KILLED,
	FATE_EXITED,   /* without closing */
	FATE_STOPPED,  /* stands still */
	FATE_REMOVED,  /* ran on, and the others go on without it */
	FATE_DOUBTFUL, /* may live or be removed: both are right */
};

struct cluster_options {
	uint32_t nodes;
	uint32_t timeout_ms; /* [group] failure_timeout_ms */
	bool tie_breaker;    /* node 0 is it */
	const char *thread;  /* dedicated | caller; NULL: every second member is a caller, by `seed` */
	uint64_t seed;
};

struct child {
	pid_t pid;
	int pidfd;
	enum fate fate;
	/* Before the first fault: */
	uint32_t pace; /* messages delivered in a tenth of a second, the lower quartile */
	int descriptors, mappings;
};

struct cluster {
	struct cluster_options options;
	char name[40]; /* of the group */
	struct board *board;
	int board_fd;
	uint32_t first_slot; /* in which all ran */
	bool harmed;
	uint64_t harmed_ns; /* the last fault */
	double view_ms;     /* after it the last of those who live was in the view without its victims; 0: never */
	struct child children[MEMBERS_MAX];
};

/* Starts the group and waits until all have met. */
void cluster_start(struct cluster *c, const struct cluster_options *options);

/* Waits until each that lives has delivered so many messages more. */
void cluster_deliver(struct cluster *c, uint64_t more);
/* The same, until there is a measure of how many in a tenth of a second. */
void cluster_warm_up(struct cluster *c);

void cluster_order(struct cluster *c, uint32_t id, enum order order);

void cluster_kill(struct cluster *c, uint32_t id);
void cluster_exit(struct cluster *c, uint32_t id);
void cluster_stop(struct cluster *c, uint32_t id);                     /* SIGSTOP; returns when it stands still */
void cluster_stop_reading(struct cluster *c, uint32_t id);             /* the same, in an upcall */
void cluster_continue(struct cluster *c, uint32_t id, enum fate fate); /* SIGCONT */
void cluster_see_removed(struct cluster *c, uint32_t id);              /* waits until it knows */

/* Waits until those who live are in a view that has nobody else, deliver in it, and are as quick as before. */
void cluster_recover(struct cluster *c);
/* Waits until those who live say that they are too few. */
void cluster_see_no_quorum(struct cluster *c);

/* Ends the traffic, waits until everything is delivered everywhere, closes everybody, and compares what they have logged.
 * Not `whole`: the group cannot go on, so what is under way stays so. */
void cluster_end(struct cluster *c, bool whole);

uint64_t cluster_living(const struct cluster *c);                              /* a bit for each node id */
void cluster_write_config(const struct cluster *c);                            /* to the board */
bool cluster_takes_part(const struct cluster *c, uint32_t group, uint32_t id); /* is it in that subgroup? */
bool cluster_sends(const struct cluster *c, uint32_t group, uint32_t id);

/* ---- for waits of one's own ----------------------------------------------------------------------------------------- */

#define PATIENCE_NS UINT64_C(40000000000)

#define UNTIL(c, condition)                                                                                            \
	do {                                                                                                           \
		uint64_t deadline_ = now_ns() + PATIENCE_NS;                                                           \
		while (!(condition))                                                                                   \
			cluster_pass(c, deadline_, #condition);                                                        \
	} while (0)

void cluster_pass(struct cluster *c, uint64_t deadline, const char *what); /* a moment; fails when it is too late */
_Noreturn __attribute__((format(printf, 2, 3))) void cluster_fail(struct cluster *c, const char *format, ...);

/* Is it so of each that lives? */
typedef bool cluster_is(const struct cluster *c, uint32_t id);
bool cluster_all(const struct cluster *c, cluster_is *is);
cluster_is cluster_is_in_view; /* of those who live, and nobody else */

#endif
