/* limit.h - what the machine can do: the plainest program that moves the same bytes the same way, without any protocol.
 *
 * On shm: the same nodes (as processes or threads) with the same number of threads each; for each sender of each
 * subgroup one bare single-writer ring in shared memory, of the same window, a slot being just the bytes of a message;
 * the same functions fill and read every byte (payload.h). A writer publishes how far it has filled, every 1, 8 or 64
 * messages; a reader reads all that is there and then publishes how far it has read; a slot is used again when all
 * readers are past it. Nobody agrees on anything: no order over senders, no stability, no failures.
 *
 * A figure of whorl stands beside this one, measured just before and just after it (docs/benchmark.md).
 */
#ifndef WH_TOOLS_LIMIT_LIMIT_H
#define WH_TOOLS_LIMIT_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tools/limit/crew.h"

/* Where one thread fills and reads in turn: how many messages it fills at a time. A quarter of the window, and no more
 * than stay in the cache until they are read. The nodes of a benchmark do the same. */
static inline uint32_t wh_limit_burst(uint32_t window, uint32_t bytes)
{
	uint32_t quarter = (window + 3) / 4, cached = 65536 / (bytes > 0 ? bytes : 1);

	return cached == 0 ? 1 : quarter < cached ? quarter : cached;
}

struct wh_limit_ring {
	uint32_t writer;
	const uint32_t *readers; /* the members of the subgroup, the writer included; not owned */
	uint32_t reader_count;
	uint32_t window; /* slots */
	uint32_t bytes;  /* of each message */
};

struct wh_limit_plan {
	uint32_t nodes;
	const struct wh_limit_ring *rings;
	size_t ring_count;
	bool processes;  /* each node a process, else all are threads of this one */
	bool caller;     /* one thread per node fills and reads in turn; else one fills and one reads */
	bool spin;       /* never yield */
	bool huge;       /* the rings on huge pages, if there are any */
	const int *cpus; /* for each node the CPU that its reading thread is pinned to, -1: none; NULL: none for all */
	uint32_t measure_ms; /* for each way of publishing */
};

struct wh_limit_result {
	double messages_per_s, bytes_per_s; /* read by a node, the mean over the nodes; of the best way of publishing */
	uint32_t publish_every;             /* that way */
	/* The same program with one trick of the library's, that a plain one does not have: it prefetches small messages
	 * (docs/decisions/0013). 0 where none is small. */
	double prefetched_bytes_per_s;
};

/* Memory that a measurement needs, in bytes. */
uint64_t wh_limit_memory(const struct wh_limit_plan *plan);

/* WHORL_OK; WHORL_AGAIN: interrupted (watch->interrupted), no result; WHORL_MEMORY, WHORL_SYSTEM; WHORL_TIMEOUT: a
 * worker was not ready in time; WHORL_MEMBER_GONE: a worker died. */
WH_MUST_CHECK enum whorl_result wh_limit_measure(const struct wh_limit_plan *plan, struct wh_watch *watch,
						 struct wh_limit_result *result, struct wh_error *err);

#endif
