/* measure.h - what every program of bench/peers measures, and how.
 *
 * The nodes of one run are processes of one host, each with the program of the system that is measured, and share a *board*:
 * a file in memory that the collector (collect.c) makes. Each node sends until the time is up, one last message with a mark, and
 * takes in what is delivered until it has the marks of all senders. Messages have one form in all systems: a header, and a
 * payload that the sender fills and each receiver reads, every byte, with the functions that `whorl bench` uses.
 *
 * Latency is the time from just before the sender fills the message to its delivery to the program. All nodes have one clock.
 * Of a stream every 16th message is timed; of messages at intervals, all.
 *
 * Threads: one may send (peers_fill, peers_pace) while another takes in (peers_take, peers_complete).
 * Errors:  mistakes, and messages that are lost, repeated or out of their sender's order, end the program with 1 and a line on
 *          stderr. It ends by itself a minute after the run should have, whatever happens.
 */
#ifndef WH_BENCH_PEERS_MEASURE_H
#define WH_BENCH_PEERS_MEASURE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "bench/histogram.h"

#define PEERS_NODES_MAX 8
#define PEERS_BYTES_MAX (64 * 1024)

struct peers_header {
	uint64_t stamp_ns; /* when it was about to be filled; 0: it is not timed */
	uint32_t index;    /* of this sender's messages, from 0 */
	uint16_t sender;
	uint16_t kind; /* enum peers_kind */
};

enum peers_kind { PEERS_MESSAGE, PEERS_LAST, PEERS_VOID };

/* What the nodes of a run are to do: written by the collector before the nodes start. */
struct peers_plan {
	uint32_t nodes, senders; /* the senders are the nodes of the lowest ids */
	uint32_t bytes;          /* of a message, header included */
	uint32_t gap_us;         /* between messages of a sender; 0: as fast as it can */
	uint32_t duration_ms;
};

struct peers_page {
	_Alignas(64) _Atomic uint32_t ready, done; /* done: all is delivered here */
	uint64_t delivered, done_ns;               /* valid when done, as is all below */
	uint64_t cpu_ns;                           /* of all that works for the node, from the start until it is done */
	uint64_t order;                            /* digest of all messages in the order of delivery */
	uint64_t streams[PEERS_NODES_MAX];         /* digest of each sender's messages */
	struct wh_histogram remote, own;           /* latency of others' messages, and of the node's own, in ns */
};

struct peers_board {
	struct peers_plan plan;
	_Atomic uint64_t start_ns; /* 0 until all nodes are ready */
	_Atomic uint32_t over;     /* all nodes are done, or the run has failed: leave */
	struct peers_page pages[PEERS_NODES_MAX];
};

struct peers_node {
	struct peers_board *board;
	struct peers_plan plan;
	struct peers_page *page;
	uint32_t id;
	/* the sending thread's */
	uint32_t sent;
	bool sent_last;
	uint64_t end_ns, due_ns, cpu_before_ns;
	clockid_t helper; /* the CPU clock of a process that works for this one; valid if has_helper */
	bool has_helper;
	/* the receiving thread's */
	uint32_t next[PEERS_NODES_MAX];
	uint32_t lasts;
	void *scratch; /* for messages that do not lie aligned */
};

uint64_t peers_now(void);

/* Prints "PROGRAM: ..." and ends the program with 1. */
_Noreturn void peers_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Maps the board of the path argv[1] as node argv[2]. What follows belongs to the program. */
void peers_open(struct peers_node *node, int argc, char *argv[]);

/* For a program that learns its id late (MPI): the same. */
void peers_open_as(struct peers_node *node, const char *path, uint32_t id);

/* The processor time of process `pid` counts as this node's. Before peers_ready. */
void peers_count(struct peers_node *node, pid_t pid);

/* This node can send, and be reached by all. Waits until all are so far; `step`, unless NULL, is called meanwhile, about
 * every 0.1 ms, for systems that want to be driven. */
void peers_ready(struct peers_node *node, void (*step)(void *ctx), void *ctx);

/* After the last message: waits until every node has all, so that no node leaves too early. `step` as above. */
void peers_finish(struct peers_node *node, void (*step)(void *ctx), void *ctx);

/* Has this node something to send, now or later? */
static inline bool peers_sends(const struct peers_node *node)
{
	return node->id < node->plan.senders && !node->sent_last;
}

/* May the next message go now? Without intervals: always. */
bool peers_is_due(const struct peers_node *node);

/* Nanoseconds until peers_is_due; 0: it is, or there is nothing to send. */
uint64_t peers_until_due(const struct peers_node *node);

/* Sleeps until the next message is due. */
void peers_pace(const struct peers_node *node);

/* Makes the next message of plan.bytes at `data`, aligned to 8. Only while peers_sends. */
void peers_fill(struct peers_node *node, void *data);

/* Takes in a message that was delivered here, the node's own ones included. */
void peers_take(struct peers_node *node, const void *data, size_t bytes);

/* All messages of all senders have been taken in. */
static inline bool peers_complete(const struct peers_node *node)
{
	return node->lasts == node->plan.senders;
}

#endif
