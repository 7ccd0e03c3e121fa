/* graph.h - a Kronecker graph, as Graph500 has it, with weights: the same for the same plan, however it is divided.
 *
 * 2^scale vertices and 2^scale times `degree` edges, which are drawn with replacement: in the matrix of all pairs an edge falls into one of four
 * quarters (A = .57, B = .19, C = .19), and then into a quarter of that, `scale` times. Vertices are then named anew, as those of few
 * bits have most edges otherwise. Each edge goes in both directions and has a weight from 1 to WH_GRAPH_WEIGHT_MOST, all alike. There may be
 * several between two vertices, and such as lead back to where they begin. All follows from the seed and the number of the edge.
 *
 * A distance is the least sum of weights; one that is WH_GRAPH_NEVER or more is as none.
 */
#ifndef WH_BENCH_GRAPH_H
#define WH_BENCH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WH_GRAPH_SCALE_MOST 30
#define WH_GRAPH_DEGREE_MOST 1024
#define WH_GRAPH_WEIGHT_MOST 65535
#define WH_GRAPH_NEVER UINT32_MAX

struct wh_graph_plan {
	uint32_t scale;  /* 1 .. WH_GRAPH_SCALE_MOST */
	uint32_t degree; /* edges for each vertex, on the average, 1 .. WH_GRAPH_DEGREE_MOST */
	uint64_t seed;
};

struct wh_graph_edge { /* of the plan */
	uint32_t from, to, weight;
};

struct wh_graph_arc { /* of a vertex */
	uint32_t to, weight;
};

struct wh_graph { /* the rows of vertices from `begin` up to `end` */
	struct wh_graph_plan plan;
	uint32_t begin, end;
	uint64_t *first;           /* arcs of vertex v: from first[v - begin] up to first[v - begin + 1] */
	struct wh_graph_arc *arcs; /* both on huge pages, if there are any */
	uint64_t arc_count;
};

static inline uint32_t wh_graph_vertices(const struct wh_graph_plan *plan)
{
	return UINT32_C(1) << plan->scale;
}

static inline uint64_t wh_graph_edges(const struct wh_graph_plan *plan)
{
	return (uint64_t)plan->degree << plan->scale;
}

/* Of the vertex's edges, both directions of one that leads back here. */
static inline uint64_t wh_graph_degree(const struct wh_graph *graph, uint32_t vertex)
{
	return graph->first[vertex - graph->begin + 1] - graph->first[vertex - graph->begin];
}

struct wh_graph_edge wh_graph_draw(const struct wh_graph_plan *plan, uint64_t edge);

/* How many bytes the whole graph takes. */
uint64_t wh_graph_bytes(const struct wh_graph_plan *plan);

/* Called now and then with the part that is done, 0 to 1. False: no more is to be done. */
typedef bool wh_graph_progress_fn(void *ctx, double done);

/* Makes these rows. `progress` may be NULL. False: there is no memory, or no more was to be done; nothing is left then. */
bool wh_graph_make(struct wh_graph *graph, const struct wh_graph_plan *plan, uint32_t begin, uint32_t end,
		   wh_graph_progress_fn *progress, void *ctx);
void wh_graph_free(struct wh_graph *graph);

/* Vertex `number` of those from which a run begins: drawn by the seed, and one that has edges, if one of many draws has. Of a whole graph. */
uint32_t wh_graph_root(const struct wh_graph *graph, uint32_t number);

/* Distances of all vertices by Dijkstra's algorithm, one after the other. Of a whole graph. False: no memory. */
bool wh_graph_distances(const struct wh_graph *graph, uint32_t root, uint32_t *distance);

#endif
