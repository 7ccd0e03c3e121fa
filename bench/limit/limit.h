/* limit.h - what the machine can do: the plainest program that moves the same bytes the same way, without any protocol.
 *
 * The same nodes (as processes or threads) with the same number of threads each; the same functions fill and read every
 * byte (payload.h). The nodes agree on nothing: no order over senders, no stability, no failures.
 *
 * On shm: for each sender of each subgroup one bare single-writer ring in shared memory, of the same window, a slot
 * being just the bytes of a message. A writer publishes how far it has filled, every 1, 8 or 64 messages, or, where the benchmark claims a
 * batch at a time, every batch, for all of which there must be room; a reader reads
 * all that is there and then publishes how far it has read; a slot is used again when all readers are past it.
 *
 * On tcp: one connection for each pair of nodes on loopback, with the options of the transport. A writer fills a message
 * in its row and sends it to each reader, with one write for each message (per_message); or it fills and sends 64 KB at
 * a time (best_write); or it does that through OpenSSL (sealed_write), where the group has TLS. A reader reads all that is there into a row of the same size. When nothing can be done, a thread
 * sleeps until a socket is ready (with `spin` it does not).
 *
 * On verbs: each node has memory of its own, and one thread. A writer fills a ring of the same window and writes, every 1, 8
 * or 64 messages, what is new to each reader, and behind it how far it has filled: one chain of one-sided writes with one
 * doorbell, few of which report themselves. A reader reads what is there, and writes to the writer how far it has read. Stable (stable_write), each
 * node also writes to all how far it has received, and reads what all readers have received: the second trip of a message that is delivered when
 * all have it.
 *
 * Of durable subgroups, on whichever transport: as many programs as nodes, which send each other nothing. Each appends what can be in
 * flight to it, the windows of all senders, to a file of its own that was given its room before, and syncs it; when all have, they do it
 * again. Or a half of that, a quarter, an eighth at a time; then one may be ahead of the others by what the windows leave. Beside that: the same
 * to a file that was written before, so that the file system has nothing to note of its own; and how long it takes with one message.
 *
 * Where messages of rings differ in size, a writer sends as many in each of its rings as in the others: but for a window on shm and
 * verbs. (Of durable subgroups a step has as many of each.)
 *
 * Else also what a message takes from one node to another and back, alone, one of the first ring: where both look all the time, and where
 * both sleep until it is there.
 *
 * And, among all nodes, what one message at a time takes that all acknowledge to all, once in a millisecond: pattern.c.
 *
 * On tcp the nodes may be apart: each command runs one of them, at the addresses of the file, and has the figures of that one.
 * They meet for each part of the measurement, and begin it together; then each has its own clock.
 *
 * A figure of whorl stands beside this one, measured just before and just after it (docs/benchmark.md).
 */
#ifndef WH_BENCH_LIMIT_LIMIT_H
#define WH_BENCH_LIMIT_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "command/crew.h"

/* Where one thread fills and reads in turn: how many messages it fills at a time. A quarter of the window, and no more
 * than `most` bytes of them, but one at least. Batches are filled whole, so it may be more where they are larger. */
static inline uint32_t wh_limit_burst_within(uint32_t window, uint32_t bytes, uint32_t most)
{
	uint32_t quarter = (window + 3) / 4, count = most / (bytes > 0 ? bytes : 1);

	return count == 0 ? 1 : quarter < count ? quarter : count;
}

/* That of the limit: no more than stay in the cache until they are read. */
static inline uint32_t wh_limit_burst(uint32_t window, uint32_t bytes)
{
	return wh_limit_burst_within(window, bytes, 65536);
}

struct wh_limit_ring {
	uint32_t writer;
	const uint32_t *readers; /* the members of the subgroup, the writer included; not owned */
	uint32_t reader_count;
	uint32_t window; /* slots */
	uint32_t bytes;  /* of each message */
	/* shm: more than 1: they are filled and published so many at a time, all or none; 0, 1: as many as there is room for. */
	uint32_t batch;
};

enum wh_limit_kind { WH_LIMIT_SHM, WH_LIMIT_TCP, WH_LIMIT_VERBS, WH_LIMIT_DISK };

struct wh_limit_plan {
	enum wh_limit_kind kind;
	uint32_t nodes;
	const struct wh_limit_ring *rings;
	size_t ring_count;
	bool processes;  /* each node a process, else all are threads of this one */
	bool tls;        /* tcp: the group has it */
	bool caller;     /* one thread per node fills and reads in turn; else one fills and one reads */
	bool paced;      /* shm, tcp: messages come one at a time, from threads that sleep in between */
	bool spin;       /* never yield */
	bool huge;       /* the rings on huge pages, if there are any */
	const int *cpus; /* for each node the CPU that its reading thread is pinned to, -1: none; NULL: none for all */
	const char *const *
		addresses; /* verbs: of each node, its device has it; NULL: whichever the devices have. Apart: host:port */
	const char *directory; /* disk: where the files are made, and removed again */
	uint32_t measure_ms;   /* for each way of publishing, or of writing; trips get a fifth of it */
	/* tcp: only node `here` is run; the same plan, but for `here`, is measured elsewhere at the same time, under the same name. */
	bool apart;
	uint32_t here;
	const char *group;
};

struct wh_limit_rate {
	double messages_per_s, bytes_per_s; /* read by a node, the mean over the nodes that are here */
};

#define WH_LIMIT_PEERS 256 /* nodes that can be apart */

enum wh_limit_trip { WH_LIMIT_POLLING, WH_LIMIT_SLEEPING };

struct wh_limit_result {
	struct wh_limit_rate rate; /* shm, verbs, disk: of the best way; tcp: per message */
	/* shm, verbs */
	uint32_t publish_every; /* that way; shm: the batch of the first ring, where all have one */
	/* shm */
	/* The same program with one trick of the library's, that a plain one does not have: it prefetches small messages
	 * (docs/decisions/0013). 0 where none is small. */
	double prefetched_bytes_per_s;
	/* tcp */
	struct wh_limit_rate best_write;
	struct wh_limit_rate sealed_write; /* 0 without TLS */
	/* disk: `rate` is of steps of what can be in flight over this, 1 to 8, */
	uint32_t sync_share;
	bool sync_direct;           /* it was best past the page cache */
	double written_bytes_per_s; /* and this of such in a file that was written before */
	double sync_us[2]; /* a step of one message, the median: appended, and to a file that was written before */
	/* verbs: of publishing every message; and of the best way where a message is read when all readers have it */
	struct wh_limit_rate per_message, stable_write;
	/* From node 0 to node 1 and back, of each enum wh_limit_trip: the median. 0: there is but one node. Apart: from
	 * this node to the farthest of the others. */
	double round_trip_us[2];
	/* shm, tcp: one message to all, and the acknowledgements of all to all, likewise. 0: there is but one node, or more than 16, or they are apart. */
	double pattern_us[2];
	double sent_apart_us[2]; /* paced, and not `caller`: the same, sent by a thread beside those that wait; else 0 */
	struct wh_limit_trips_to {
		double us[2];
	} peers[WH_LIMIT_PEERS]; /* apart: to each node; 0 to itself */
};

/* Memory that a measurement needs, in bytes. */
uint64_t wh_limit_memory(const struct wh_limit_plan *plan);

/* WHORL_OK; WHORL_AGAIN: interrupted (watch->interrupted), no result; WHORL_MEMORY, WHORL_SYSTEM; WHORL_TIMEOUT: a
 * worker was not ready in time; WHORL_MEMBER_GONE: a worker died. */
WH_MUST_CHECK enum whorl_result wh_limit_measure(const struct wh_limit_plan *plan, struct wh_watch *watch,
						 struct wh_limit_result *result, struct wh_error *err);

/* Is there any RDMA device? Opens none. */
bool wh_limit_has_devices(void);

#endif
