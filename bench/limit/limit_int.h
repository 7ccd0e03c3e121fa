/* limit_int.h - what the files of the limit share.
 *
 *     limit.c      the measurement: which program, how long, and what it says
 *     rings.c      shm: single-writer rings
 *     sockets.c    tcp: one connection for each pair of nodes
 *     seal.c       tcp: such a connection through OpenSSL
 *     verbs.c      verbs: one-sided writes; verbs_read.c: their readers; verbs_link.c: the queue pairs for them
 *     disk.c       durable subgroups: files that are written and synced in step
 *     trips.c      there and back between two nodes; verbs_trip.c: by one-sided writes
 *     pattern.c    one message to all, acknowledged by all to all
 *     meet.c       how the nodes of sockets.c, trips.c and pattern.c connect
 *
 * A measurement is a crew of workers, one for each node, and memory that they share with the parent: the parent sets
 * the phase and samples what the workers have read so far.
 */
#ifndef WH_BENCH_LIMIT_LIMIT_INT_H
#define WH_BENCH_LIMIT_LIMIT_INT_H

#include "bench/limit/limit.h"

#define WH_LIMIT_EMPTY_PASSES 8 /* before a thread yields */

/* Where nodes are apart one goes on, when it has measured, until all have: WH_LIMIT_OTHERS. */
enum { WH_LIMIT_START, WH_LIMIT_RUN, WH_LIMIT_OTHERS, WH_LIMIT_STOP };

/* What one thread has read so far. */
struct wh_limit_count {
	_Alignas(WH_CACHE_LINE) wh_word messages; /* [that thread writes], as the others */
	wh_word bytes;
	wh_word digest; /* so that the reading cannot be left out */
};

/* The beginning of the memory that parent and workers share. */
struct wh_limit_shared {
	struct wh_phase phase;
	wh_word publish_every; /* [parent] rings.c */
	wh_word prefetches;    /* [parent] rings.c: 0 or 1 */
	wh_word ready;         /* [workers] threads that are ready */
	wh_word parted;        /* [the worker] apart: 1 all others have measured too, 2 one has not said so */
	uint32_t count_count;  /* [const] */
	struct wh_limit_count counts[];
};

struct wh_limit_run {
	const struct wh_limit_plan *plan;
	struct wh_limit_shared *shared;
	size_t bytes; /* of the shared memory */
	struct wh_crew crew;
};

static inline size_t wh_limit_round_up(size_t bytes, size_t to)
{
	return (bytes + to - 1) / to * to;
}

/* A message where it is filled and read: whole words, and at least one. */
static inline size_t wh_limit_slot(uint32_t bytes)
{
	return bytes == 0 ? 8 : wh_limit_round_up(bytes, 8);
}

static inline size_t wh_limit_shared_bytes(uint32_t counts)
{
	return sizeof(struct wh_limit_shared) + counts * sizeof(struct wh_limit_count);
}

/* More has been read. [its thread] */
static inline void wh_limit_add(struct wh_limit_count *count, uint64_t messages, uint64_t bytes, uint64_t digest)
{
	wh_store_relaxed(&count->digest, wh_load_relaxed(&count->digest) + digest);
	wh_store_relaxed(&count->messages, wh_load_relaxed(&count->messages) + messages);
	wh_store_relaxed(&count->bytes, wh_load_relaxed(&count->bytes) + bytes);
}

/* Of so many times in nanoseconds, which it sorts, in microseconds; 0: there are none. */
double wh_limit_median_us(uint64_t *ns, size_t count);

/* Are there messages of several sizes? */
bool wh_limit_is_mixed(const struct wh_limit_plan *plan);

/* Then a writer fills no ring much further than its others. `least`: what the one has that it has filled least. How many of `most`
 * messages may follow `count` in a ring of that window. */
static inline uint64_t wh_limit_in_step(uint64_t most, uint64_t count, uint64_t least, uint32_t window)
{
	uint64_t ahead = count - least;

	return ahead >= window ? 0 : most < window - ahead ? most : window - ahead;
}

/* The nodes that this command runs. */
static inline uint32_t wh_limit_here(const struct wh_limit_plan *plan)
{
	return plan->apart ? 1 : plan->nodes;
}

/* The threads of all nodes that are here: one for each, and one more to fill where there is something to fill. */
uint32_t wh_limit_threads(const struct wh_limit_plan *plan);

/* A worker's thread says that it is ready, and waits for the start. */
void wh_limit_ready(struct wh_limit_shared *shared);

/* Shared memory of `bytes`, which begins with that of `counts` counts. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_limit_open(struct wh_limit_run *run, const struct wh_limit_plan *plan, size_t bytes,
					      uint32_t counts, struct wh_error *err);

/* Starts one worker for each of `nodes` nodes, and waits until `threads` threads are ready. Whatever it returns,
 * wh_limit_close follows. Results as of wh_limit_measure. */
WH_MUST_CHECK enum whorl_result wh_limit_start(struct wh_limit_run *run, struct wh_watch *watch, uint32_t nodes,
					       uint32_t threads, wh_crew_fn *fn, void *ctx, struct wh_error *err);

/* Lets the workers go on for `ms`. */
WH_MUST_CHECK enum whorl_result wh_limit_pass(struct wh_limit_run *run, uint32_t ms, struct wh_error *err);

/* Warms up for a moment, then measures what the workers read in measure_ms. */
WH_MUST_CHECK enum whorl_result wh_limit_rate(struct wh_limit_run *run, struct wh_limit_rate *rate,
					      struct wh_error *err);

/* Stops the workers and frees the memory. `result` is what is known so far, and is returned, unless a thread does not
 * end. */
WH_MUST_CHECK enum whorl_result wh_limit_close(struct wh_limit_run *run, enum whorl_result result,
					       struct wh_error *err);

/* The programs. Results as of wh_limit_measure. */
WH_MUST_CHECK enum whorl_result wh_limit_rings(const struct wh_limit_plan *plan, struct wh_watch *watch,
					       struct wh_limit_result *result, struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_limit_sockets(const struct wh_limit_plan *plan, struct wh_watch *watch,
						 struct wh_limit_result *result, struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_limit_verbs(const struct wh_limit_plan *plan, struct wh_watch *watch,
					       struct wh_limit_result *result, struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_limit_disk(const struct wh_limit_plan *plan, struct wh_watch *watch,
					      struct wh_limit_result *result, struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_limit_trips(const struct wh_limit_plan *plan, struct wh_watch *watch,
					       struct wh_limit_result *result, struct wh_error *err);
WH_MUST_CHECK enum whorl_result wh_limit_pattern(const struct wh_limit_plan *plan, struct wh_watch *watch,
						 struct wh_limit_result *result, struct wh_error *err);

uint64_t wh_limit_rings_memory(const struct wh_limit_plan *plan);
uint64_t wh_limit_sockets_memory(const struct wh_limit_plan *plan);
uint64_t wh_limit_verbs_memory(const struct wh_limit_plan *plan);
uint64_t wh_limit_disk_memory(const struct wh_limit_plan *plan);

#endif
