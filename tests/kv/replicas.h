/* replicas.h - the replicas of a server, as processes to which something is done, on one host or on hosts of their own. */
#ifndef WH_TESTS_KV_REPLICAS_H
#define WH_TESTS_KV_REPLICAS_H

#include <sys/types.h>

#include "tests/kv/load.h"

struct replicas_options {
	const char *program;
	const char *transport;
	uint32_t nodes;
	uint32_t failure_ms;
	bool hosts;   /* replica K is on host K of tests/network/hosts.sh */
	bool durable; /* what is written is on disks, and is there again after the end of all */
};

enum fate { FATE_GONE, FATE_LIVES, FATE_STOPPED };

struct replica {
	pid_t pid;
	enum fate fate;
	bool may_be_removed;   /* the others have had reason to go on without it */
	uint32_t starts, vain; /* vain: since all were ready */
};

struct replicas {
	struct replicas_options options;
	struct load_options *clients; /* where its servers are, and the password */
	char directory[128];
	struct replica all[LOAD_SERVERS];
	uint32_t kills, stops, cuts, removed, unasked; /* unasked: removed, though nothing was done to it */
	uint64_t begin_ns;
};

/* What is wrong, and what the replicas have said; all are killed, and the program ends. */
__attribute__((noreturn, format(printf, 2, 3))) void replicas_fail(struct replicas *replicas, const char *format, ...);
/* Something that is done; printed if WHORL_NOTES is set. */
__attribute__((format(printf, 2, 3))) void replicas_note(const struct replicas *replicas, const char *format, ...);

/* Starts all; `clients` is told where they are. */
void replicas_begin(struct replicas *replicas, const struct replicas_options *options, struct load_options *clients);
/* Ends all in order. */
void replicas_end(struct replicas *replicas);

void replicas_start(struct replicas *replicas, uint32_t id);
void replicas_kill(struct replicas *replicas, uint32_t id);
void replicas_stop(struct replicas *replicas, uint32_t id, bool may_be_removed);
void replicas_continue(struct replicas *replicas, uint32_t id);
/* Hosts only, and nobody is told. Each of the first set (a bit for each id) and each of the second do not hear each other; clients hear all. */
void replicas_cut(struct replicas *replicas, uint32_t some, uint32_t others);
/* What it says is lost but for what is hardly more than an acknowledgement, so it hears the others still: as where packets of some size
 * do not get through, until it is cut off. */
void replicas_muffle(struct replicas *replicas, uint32_t id);
void replicas_heal(struct replicas *replicas);

/* Looks which have ended. It is a failure if one has for another reason than that it was removed. */
void replicas_see_ends(struct replicas *replicas);
/* Each that is gone is started, and waited for until all are members. One that was cut off and does not come back is started again, as an
 * operator does. */
void replicas_settle(struct replicas *replicas);
/* Replica `id` says that it has no quorum, to reads and to writes, in its time from `from_ns` on. Returns when it did, for a read. */
uint64_t replicas_await_down(struct replicas *replicas, uint32_t id, uint64_t from_ns);
/* Replica `id` says that it does not have the state. */
void replicas_await_loading(struct replicas *replicas, uint32_t id);
/* All say that they have the same. Returns the number of the view. */
uint64_t replicas_compare(struct replicas *replicas);

#endif
