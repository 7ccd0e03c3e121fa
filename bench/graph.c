/* graph.c - the generator, rows of arcs, and distances of one program. See graph.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/graph.h"

#define HUGE_PAGE ((size_t)2 << 20)
#define STRIDE (1u << 18) /* edges between two calls of `progress` */

/* Of a number of 16 bits, up to where a quarter goes: A, then B, then C. */
#define QUARTER_A 37356u
#define QUARTER_B 49807u
#define QUARTER_C 62259u
#define LEVELS 4 /* that one draw of 64 bits is enough for */

/* ---- the generator --------------------------------------------------------------------------------------------------------- */

/* A one-to-one mapping of 64 bits that leaves nothing alike (the end of splitmix64). */
static uint64_t mix(uint64_t x)
{
	x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
	return x ^ (x >> 31);
}

static uint64_t draw(uint64_t *state)
{
	*state += UINT64_C(0x9e3779b97f4a7c15);
	return mix(*state);
}

/* The vertex's name: one-to-one on `scale` bits. */
static uint32_t rename_vertex(const struct wh_graph_plan *plan, uint64_t key, uint32_t vertex)
{
	uint32_t mask = wh_graph_vertices(plan) - 1, shift = (plan->scale + 1) / 2;

	for (int round = 0; round < 3; round++) {
		vertex = (vertex * ((uint32_t)key | 1) + (uint32_t)(key >> 32)) & mask;
		vertex ^= vertex >> shift;
		key = mix(key + 1);
	}
	return vertex;
}

struct wh_graph_edge wh_graph_draw(const struct wh_graph_plan *plan, uint64_t edge)
{
	uint64_t key = mix(plan->seed + UINT64_C(0x9e3779b97f4a7c15)), state = key ^ mix(edge + 1), bits = 0;
	struct wh_graph_edge drawn = {0, 0, 0};

	for (uint32_t level = 0; level < plan->scale; level++) {
		uint32_t dice;

		bits = level % LEVELS == 0 ? draw(&state) : bits >> 16;
		dice = (uint32_t)bits & 0xffff;
		drawn.from = 2 * drawn.from + (dice >= QUARTER_B);
		drawn.to = 2 * drawn.to + ((dice >= QUARTER_A && dice < QUARTER_B) || dice >= QUARTER_C);
	}
	drawn.from = rename_vertex(plan, key, drawn.from);
	drawn.to = rename_vertex(plan, key, drawn.to);
	drawn.weight = 1 + (uint32_t)(((draw(&state) >> 32) * WH_GRAPH_WEIGHT_MOST) >> 32);
	return drawn;
}

/* ---- rows ------------------------------------------------------------------------------------------------------------------ */

uint64_t wh_graph_bytes(const struct wh_graph_plan *plan)
{
	return (wh_graph_vertices(plan) + UINT64_C(1)) * sizeof(uint64_t) +
	       2 * wh_graph_edges(plan) * sizeof(struct wh_graph_arc);
}

/* On huge pages, if there are any: what is looked at lies anywhere. */
static void *take_memory(uint64_t bytes)
{
	size_t whole = ((size_t)bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *memory = whole < HUGE_PAGE ? NULL : aligned_alloc(HUGE_PAGE, whole);

	if (memory != NULL)
		(void)madvise(memory, whole, MADV_HUGEPAGE); /* a wish */
	return memory;
}

static bool is_mine(const struct wh_graph *graph, uint32_t vertex)
{
	return vertex >= graph->begin && vertex < graph->end;
}

static void count_edge(struct wh_graph *graph, struct wh_graph_edge edge)
{
	if (is_mine(graph, edge.from))
		graph->first[edge.from - graph->begin + 1]++;
	if (is_mine(graph, edge.to))
		graph->first[edge.to - graph->begin + 1]++;
}

/* first[v] is where the next of v's arcs goes; when all are there it is where those of v + 1 begin. */
static void put_edge(struct wh_graph *graph, struct wh_graph_edge edge)
{
	if (is_mine(graph, edge.from))
		graph->arcs[graph->first[edge.from - graph->begin]++] = (struct wh_graph_arc){edge.to, edge.weight};
	if (is_mine(graph, edge.to))
		graph->arcs[graph->first[edge.to - graph->begin]++] = (struct wh_graph_arc){edge.from, edge.weight};
}

/* `half`: 0 or 1, of what is to be done. */
static bool for_all(struct wh_graph *graph, void (*fn)(struct wh_graph *graph, struct wh_graph_edge edge), int half,
		    wh_graph_progress_fn *progress, void *ctx)
{
	uint64_t count = wh_graph_edges(&graph->plan);

	for (uint64_t edge = 0; edge < count; edge++) {
		if (edge % STRIDE == 0 && progress != NULL && !progress(ctx, (half + (double)edge / (double)count) / 2))
			return false;
		fn(graph, wh_graph_draw(&graph->plan, edge));
	}
	return true;
}

static bool make_rows(struct wh_graph *graph, wh_graph_progress_fn *progress, void *ctx)
{
	uint32_t rows = graph->end - graph->begin;

	graph->first = take_memory((rows + UINT64_C(1)) * sizeof(*graph->first));
	if (graph->first == NULL)
		return false;
	memset(graph->first, 0, (rows + UINT64_C(1)) * sizeof(*graph->first));
	if (!for_all(graph, count_edge, 0, progress, ctx))
		return false;
	for (uint32_t row = 0; row < rows; row++)
		graph->first[row + 1] += graph->first[row];
	graph->arc_count = graph->first[rows];
	graph->arcs = take_memory((graph->arc_count + 1) * sizeof(*graph->arcs));
	if (graph->arcs == NULL || !for_all(graph, put_edge, 1, progress, ctx))
		return false;
	memmove(graph->first + 1, graph->first, rows * sizeof(*graph->first));
	graph->first[0] = 0;
	return true;
}

bool wh_graph_make(struct wh_graph *graph, const struct wh_graph_plan *plan, uint32_t begin, uint32_t end,
		   wh_graph_progress_fn *progress, void *ctx)
{
	bool made;

	*graph = (struct wh_graph){.plan = *plan, .begin = begin, .end = end};
	made = make_rows(graph, progress, ctx);
	if (!made)
		wh_graph_free(graph);
	return made;
}

void wh_graph_free(struct wh_graph *graph)
{
	free(graph->first);
	free(graph->arcs);
	graph->first = NULL;
	graph->arcs = NULL;
}

uint32_t wh_graph_root(const struct wh_graph *graph, uint32_t number)
{
	uint64_t state = mix(graph->plan.seed ^ UINT64_C(0x726f6f7473)) + ((uint64_t)number << 32);
	uint32_t mask = wh_graph_vertices(&graph->plan) - 1, vertex = 0;

	for (int i = 0; i < 1000; i++) {
		vertex = (uint32_t)draw(&state) & mask;
		if (wh_graph_degree(graph, vertex) > 0)
			break;
	}
	return vertex;
}

/* ---- distances ------------------------------------------------------------------------------------------------------------- */

struct heap { /* of distance << 32 | vertex, the least first; a vertex may stand there several times */
	uint64_t *list;
	size_t count, capacity;
};

static bool heap_add(struct heap *heap, uint64_t item)
{
	size_t at = heap->count;

	if (at == heap->capacity) {
		size_t capacity = at == 0 ? 1024 : 2 * at;
		uint64_t *list = realloc(heap->list, capacity * sizeof(*list));

		if (list == NULL)
			return false;
		heap->list = list;
		heap->capacity = capacity;
	}
	heap->count++;
	for (; at > 0 && heap->list[(at - 1) / 2] > item; at = (at - 1) / 2)
		heap->list[at] = heap->list[(at - 1) / 2];
	heap->list[at] = item;
	return true;
}

static uint64_t heap_take(struct heap *heap)
{
	uint64_t least = heap->list[0], item = heap->list[--heap->count];
	size_t at = 0;

	for (;;) {
		size_t child = 2 * at + 1;

		if (child >= heap->count)
			break;
		if (child + 1 < heap->count && heap->list[child + 1] < heap->list[child])
			child++;
		if (heap->list[child] >= item)
			break;
		heap->list[at] = heap->list[child];
		at = child;
	}
	heap->list[at] = item;
	return least;
}

static bool settle(const struct wh_graph *graph, struct heap *heap, uint32_t vertex, uint32_t *distance)
{
	for (uint64_t a = graph->first[vertex]; a < graph->first[vertex + 1]; a++) {
		const struct wh_graph_arc *arc = &graph->arcs[a];
		uint64_t sum = (uint64_t)distance[vertex] + arc->weight;

		if (sum >= distance[arc->to])
			continue;
		distance[arc->to] = (uint32_t)sum;
		if (!heap_add(heap, sum << 32 | arc->to))
			return false;
	}
	return true;
}

bool wh_graph_distances(const struct wh_graph *graph, uint32_t root, uint32_t *distance)
{
	struct heap heap = {0};
	bool good;

	memset(distance, 0xff, wh_graph_vertices(&graph->plan) * sizeof(*distance));
	distance[root] = 0;
	good = heap_add(&heap, root);
	while (good && heap.count > 0) {
		uint64_t item = heap_take(&heap);

		if (distance[(uint32_t)item] == item >> 32) /* else it was found nearer meanwhile */
			good = settle(graph, &heap, (uint32_t)item, distance);
	}
	free(heap.list);
	return good;
}
