/* paths.h - shortest paths from one vertex, by parts: what a part of the vertices does. Relaxations are carried to other parts by the program that uses it.
 *
 * Part p of P has the vertices v with floor(v * P / 2^scale) = p, their rows of the graph and their distances, and a queue of those of which the arcs are
 * to be looked at, the nearest first. It takes one after the other, as Dijkstra's algorithm does, and lowers the distances of its own vertices;
 * for those of others it sends *relaxations*, many at a time. One that comes later may lower the distance of a vertex that was looked at, which then
 * goes into the queue again (label correcting). So distances only fall, and when nothing is queued or on its way they are right.
 *
 * THE END. Each part counts the batches of relaxations that it has sent and received, and is *active* while anything is queued or not
 * sent. One that is not active becomes it by receiving alone. The counts are collected in waves, each of which begins when the one before has ended,
 * each part at some moment of its own. It has ended if in some wave no part was active, and the sum of what was received there is the sum of what was
 * sent as the *next* wave found it (Mattern's four counters). For let t be a moment between the two: received in the first <= received by t <= sent by
 * t <= sent in the second. If the ends are equal, so is all: nothing is on its way at t; and nothing was received between a part's turn in the first
 * wave and t, so none has become active. Sums of one wave alone may be equal while a batch that was counted at neither end has been
 * sent and received behind and before the wave (tests/models/waves.c).
 *
 * Of others' vertices a part remembers the least that it has sent, so that the same is not said again.
 *
 * One thread at a time for a part. No function blocks.
 */
#ifndef WH_BENCH_PATHS_H
#define WH_BENCH_PATHS_H

#include "bench/graph.h"

/* A vertex can be reached by so much. Its number is marked by a bit that no vertex has: without, a few relaxations are the bytes of an address of this
 * process, and Debug builds of the library refuse arguments that hold one. */
struct wh_relaxation {
	uint32_t distance, marked;
};

#define WH_PATHS_MARK (UINT32_C(1) << 31)

static inline struct wh_relaxation wh_relaxation_of(uint32_t vertex, uint32_t distance)
{
	return (struct wh_relaxation){distance, vertex | WH_PATHS_MARK};
}

/* What is not marked is no vertex of any part. */
static inline uint32_t wh_relaxation_vertex(struct wh_relaxation relaxation)
{
	return relaxation.marked ^ WH_PATHS_MARK;
}

/* Gives relaxations, which are copied, to another part. False: not now; the same come again in a later step. */
typedef bool wh_paths_send_fn(void *ctx, uint32_t part, const struct wh_relaxation *list, uint32_t count);

struct wh_paths_options {
	const struct wh_graph *graph; /* which has the part's rows */
	uint32_t part, parts;
	uint32_t batch; /* relaxations in a batch, at most */
	wh_paths_send_fn *send;
	void *ctx;
};

struct wh_paths_counts {
	uint64_t sent, received; /* batches, since the beginning of the run */
	uint64_t active;         /* 0 or 1; in a sum: how many are */
};

struct wh_paths_result {       /* of a part, of a run */
	uint64_t reached;      /* vertices */
	uint64_t reached_arcs; /* of these: each edge between two of them counts twice */
	uint64_t distance_sum; /* of these */
	uint64_t looked;       /* vertices that were taken from the queue */
	uint64_t scanned;      /* arcs that were looked at */
	uint64_t relaxations;  /* sent to other parts */
	uint64_t batches;      /* and in how many batches */
};

struct wh_paths; /* a part */

/* Part `part` begins there, and ends where the next begins. */
static inline uint32_t wh_paths_begin(const struct wh_graph_plan *plan, uint32_t part, uint32_t parts)
{
	return (uint32_t)((((uint64_t)part << plan->scale) + parts - 1) / parts);
}

static inline uint32_t wh_paths_part_of(const struct wh_graph_plan *plan, uint32_t vertex, uint32_t parts)
{
	return (uint32_t)(((uint64_t)vertex * parts) >> plan->scale);
}

/* How many bytes a part takes, beside its rows. */
uint64_t wh_paths_bytes(const struct wh_graph_plan *plan, uint32_t parts);

/* NULL: no memory. The graph must be there until it is freed. */
struct wh_paths *wh_paths_new(const struct wh_paths_options *options);
void wh_paths_free(struct wh_paths *paths);

/* Forgets the run before: no vertex is reached. */
void wh_paths_reset(struct wh_paths *paths);
/* The run begins at one of its vertices. False: it is not. */
bool wh_paths_start(struct wh_paths *paths, uint32_t root);
/* A batch has come. False: it holds what no part can have sent, and none of it counts. */
bool wh_paths_receive(struct wh_paths *paths, const struct wh_relaxation *list, size_t count);
/* Looks at the arcs of the nearest, about so many, and sends what came of it. False: nothing is left to be done or sent, until more is received. */
bool wh_paths_step(struct wh_paths *paths, uint32_t arcs);

struct wh_paths_counts wh_paths_counts(const struct wh_paths *paths);
/* Arcs that it has looked at in this run. */
uint64_t wh_paths_scanned(const struct wh_paths *paths);
struct wh_paths_result wh_paths_result(const struct wh_paths *paths);
/* Of its vertices, from the first. */
const uint32_t *wh_paths_distances(const struct wh_paths *paths);

/* What has come of the waves so far; all zero before the first of a run. */
struct wh_paths_waves {
	bool quiet;        /* in the last one no part was active */
	uint64_t received; /* and so much had been received */
	uint64_t waves;
};

/* A wave has ended with these sums. True: so has the run. */
bool wh_paths_has_ended(struct wh_paths_waves *waves, const struct wh_paths_counts *sums);

#endif
