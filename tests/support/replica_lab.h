/* replica_lab.h - for tests of calls and reads: a state machine on each node of a cluster, and notes of what callers and readers are told.
 *
 * A call is a word, or begins with one. The state is how many calls there were and their total, which tells their order; the answer is that
 * total, unless the test says otherwise. Newcomers are given the state.
 */
#ifndef WH_TESTS_SUPPORT_REPLICA_LAB_H
#define WH_TESTS_SUPPORT_REPLICA_LAB_H

#include <whorl/replica.h>

#include "tests/support/group.h"

#define FAR "failure_timeout_ms = 600000\n" /* no node is overdue */
#define CALLER "[engine]\nthread = caller\n"
#define LOG_MAX 4096

struct machine;

/* Instead of the usual answer, for each call, after it is in the log. What `apply` returns; false ends the run. */
typedef bool answer_fn(struct machine *machine, const struct whorl_call *call);

struct applied {
	uint64_t word, view, sequence, index;
	size_t bytes;
	uint32_t caller;
	bool awaited;
};

struct machine { /* of one node; its loop writes */
	whorl_subgroup *subgroup;
	answer_fn *answer;
	void *more; /* the test's */
	atomic_ulong count, total, runs;
	struct applied log[LOG_MAX]; /* of those that were applied here */
	unsigned long logged;        /* the rest of `count` came with the state */
	bool breaks;                 /* what it gives breaks off, when it may go on */
	bool waits;                  /* while it restores, until */
	atomic_bool may_go_on;
	atomic_uint restoring;  /* it waits so */
	unsigned long given[2]; /* while it restores */
	size_t given_bytes;
};

bool apply_calls(const struct whorl_call *calls, size_t count, void *ctx);

/* ---- its state, as given to newcomers ------------------------------------------------------------------------------------------- */

struct machine_snapshot {
	unsigned long words[2];
	bool read;
};

/* ---- the cluster ---------------------------------------------------------------------------------------------------------------- */

struct lab {
	struct cluster c;
	struct machine machines[NODES_MAX];
	const char *name; /* of the subgroup */
};

/* The upcalls of a node that is opened, if it can be in the subgroup. */
void lab_attach(struct lab *l, unsigned id, bool has_state);

/* Nodes that are opened and not started, each with its machine. The subgroup is `s`. */
struct lab *replica_lab_open(unsigned nodes, const char *group, const char *rest);
struct lab *lab_start(unsigned nodes, const char *group, const char *rest);

/* A group of `nodes` that gives its state to newcomers; there may be one more. */
struct lab *lab_with_state(unsigned nodes, const char *group, const char *rest);

/* One more node is opened and started. */
void lab_enter(struct lab *l, unsigned id);
void replica_lab_step(struct lab *l);
void replica_lab_free(struct lab *l);

/* All that are open have applied so many, the same, in the same order. */
bool lab_agrees(const struct lab *l, unsigned long count);

/* ---- what callers and readers are told ------------------------------------------------------------------------------------------- */

struct told { /* of one call */
	atomic_uint times;
	const struct machine *machine; /* [const] of the caller; NULL: not looked at */
	void *more;                    /* the test's */
	enum whorl_result result;
	uint64_t word; /* the first of the answer */
	size_t bytes;
	uint64_t view, sequence;
	char text[160];
	unsigned long order;   /* among all that were told */
	unsigned long applied; /* by the machine, by then */
};

void note_outcome(const struct whorl_outcome *outcome, void *ctx);
bool is_told(const struct told *t);
enum whorl_result call_word(struct machine *m, uint64_t word, struct told *t);

struct look { /* of one read */
	atomic_uint times;
	const struct machine *machine; /* [const] */
	enum whorl_result result;
	unsigned long count, total; /* of the machine, as it was then */
	unsigned long order;
};

void note_look(enum whorl_result result, void *ctx);
bool has_looked(const struct look *look);
enum whorl_result look_at(struct machine *m, enum whorl_freshness freshness, struct look *look);

#endif
