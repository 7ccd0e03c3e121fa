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

#include "tests/patience.h"
#include "tests/processes/board.h"
#include "tests/temporary.h"

enum fate {
	FATE_LIVES,
	FATE_KILLED,
	FATE_EXITED,   /* without closing */
	FATE_STOPPED,  /* stands still */
	FATE_REMOVED,  /* ran on, and the others go on without it */
	FATE_DOUBTFUL, /* may live or be removed: both are right */
	FATE_LEAVES,   /* in order, or has left */
	FATE_REFUSED,  /* must not come in */
};

struct cluster_options {
	uint32_t nodes;      /* configured */
	uint32_t first;      /* so many of them are started at first; 0: all */
	uint32_t nodes_max;  /* not 0: the group may grow, and all are in all subgroups */
	uint32_t timeout_ms; /* [group] failure_timeout_ms */
	uint32_t start_timeout_ms;
	bool tie_breaker; /* node 0 is it */
	bool founder;     /* likewise */
	bool durable; /* the ordered subgroups are, and nodes that were killed together come back with what they had */
	uint64_t log_bytes;                 /* of these; 0: whatever is the default */
	const char *preload;                /* the library that watches what members write (power.h); NULL: none */
	bool records;                       /* on a network it takes records to begin so: a state_dir; shm needs none */
	uint32_t shards;                    /* of the first subgroup; 0: one */
	uint64_t body_bytes, backlog_bytes; /* of states; 0: none, and whatever is the default */
	unsigned state_share;               /* 0: the default */
	uint32_t body_groups;               /* the groups with a body in their states, a bit for each */
	const char *transport;              /* NULL: shm */
	const char *thread;                 /* dedicated | caller; NULL: every second member is a caller, by `seed` */
	bool death_waits;                   /* engine.death_waits */
	uint64_t ballast_bytes;             /* of each member, which takes so much longer to end */
	uint64_t seed;
};

struct child {
	pid_t pid;
	int pidfd;
	enum fate fate;
	bool closes; /* it was told to, whatever its fate */
	bool ended;  /* and has been seen to */
	/* Before the first fault: */
	uint32_t pace; /* messages delivered in a tenth of a second, the lower quartile */
};

#define NOTES 64

struct cluster {
	struct cluster_options options;
	char name[40];                 /* of the group */
	char state_dir[64];            /* "": none */
	char log_dir[TEST_PATH_BYTES]; /* likewise */
	struct board *board;
	int board_fd;
	uint32_t first_slot; /* in which all ran */
	uint32_t lives;
	uint64_t draws;
	uint32_t note_count;
	char notes[NOTES][120];
	bool harmed;
	uint64_t harmed_ns; /* the last fault */
	double view_ms;     /* after it the last living node was in the view without its victims; 0: never */
	/* Of one member before the first fault, the most: */
	int descriptors, mappings;
	uint32_t members; /* then */
	struct child children[LIVES_MAX];
};

/* Makes it all ready, and starts nobody. */
void cluster_make(struct cluster *c, const struct cluster_options *options);
/* Starts the group and waits until all have met. */
void cluster_start(struct cluster *c, const struct cluster_options *options);
/* Starts another life of that node, and returns its number. It is not waited for. `quirk` is an assignment of its
 * configuration that others do not have, NULL: none. */
uint32_t cluster_add(struct cluster *c, uint32_t id, const char *quirk);
/* Waits until all that live are in one view, and no other node is, and all are ready and deliver. */
void cluster_settle(struct cluster *c);

/* Waits until each that lives has delivered so many messages more. */
void cluster_deliver(struct cluster *c, uint64_t more);
/* The same, until there is a measure of how many in a tenth of a second. */
void cluster_warm_up(struct cluster *c);
/* A number below `below`, by the seed. */
uint64_t cluster_draw(struct cluster *c, uint64_t below);
/* Returns so long after `from`: when something befalls a group is drawn by lot. */
void cluster_at(uint64_t from_ns, uint64_t after_ns);

void cluster_order(struct cluster *c, uint32_t life, enum order order);

void cluster_kill(struct cluster *c, uint32_t life);
void cluster_exit(struct cluster *c, uint32_t life);
void cluster_stop(struct cluster *c, uint32_t life);                     /* SIGSTOP; returns when it stands still */
void cluster_stop_reading(struct cluster *c, uint32_t life);             /* the same, in an upcall */
void cluster_continue(struct cluster *c, uint32_t life, enum fate fate); /* SIGCONT */
void cluster_leave(struct cluster *c, uint32_t life);                    /* in order */
void cluster_see_removed(struct cluster *c, uint32_t life);              /* waits until it knows */
void cluster_see_refused(struct cluster *c, uint32_t life);              /* likewise; and says why */
/* Tells one that is not in the group to close. */
void cluster_close(struct cluster *c, uint32_t life);
/* Waits for the end of one that was killed, exits or closes: it is as it should be, and nothing of the process is left. */
void cluster_see_end(struct cluster *c, uint32_t life, bool whole);

/* Waits until those that live are in a view that has no other node, deliver in it, and are as quick as before. */
void cluster_recover(struct cluster *c);
/* Notes how much it has open now, and how quick it is; by itself that comes before the first fault. */
void cluster_measure(struct cluster *c);
/* Waits until nobody has more descriptors and memory open than members of such a group had before the first fault. */
void cluster_tidy(struct cluster *c);
/* Waits until those that live say that they are too few. */
void cluster_see_no_quorum(struct cluster *c);

/* The longest time since cluster_watch_gaps in which a living node, which was ready then, delivered nothing. */
void cluster_watch_gaps(struct cluster *c);
double cluster_longest_gap_ms(const struct cluster *c);

/* Ends the traffic, waits until everything is delivered everywhere, closes everybody, and compares what they have logged.
 * Not `whole`: the group cannot go on, so what is under way stays so. */
void cluster_end(struct cluster *c, bool whole);

uint64_t cluster_living(const struct cluster *c);                              /* a bit for each node id */
void cluster_write_config(const struct cluster *c);                            /* to the board */
bool cluster_takes_part(const struct cluster *c, uint32_t group, uint32_t id); /* is it in that subgroup? */
bool cluster_is_on_one_host(const struct cluster *c); /* where the kernel proves the end of a process */
bool cluster_sends(const struct cluster *c, uint32_t group, uint32_t id);

/* ---- for waits of one's own ----------------------------------------------------------------------------------------- */

#define PATIENCE_NS test_patience(UINT64_C(40000000000))

#define UNTIL(c, condition)                                                                                            \
	do {                                                                                                           \
		uint64_t deadline_ = now_ns() + PATIENCE_NS;                                                           \
		while (!(condition))                                                                                   \
			cluster_pass(c, deadline_, #condition);                                                        \
	} while (0)

void cluster_pass(struct cluster *c, uint64_t deadline, const char *what); /* a moment; fails when it is too late */
void cluster_remove_records(const struct cluster *c);
_Noreturn __attribute__((format(printf, 2, 3))) void cluster_fail(struct cluster *c, const char *format, ...);

/* What is done to the group, if there is too much of it to be seen from the scenario: the last notes are printed on failure, and
 * all at once if WHORL_NOTES is set. */
__attribute__((format(printf, 2, 3))) void cluster_note(struct cluster *c, const char *format, ...);

/* Is it so of each that lives? */
typedef bool cluster_is(const struct cluster *c, uint32_t life);
bool cluster_all(const struct cluster *c, cluster_is *is);
cluster_is cluster_is_in_view; /* of those that live, and no other */
cluster_is cluster_is_ready;

#endif
