/* paths.c - a part: its queue, relaxations, and what it sends. See paths.h. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "bench/paths.h"

#define WIDTH 4 /* children of a place in the queue */
#define NOT_QUEUED UINT32_MAX
#define HUGE_PAGE ((size_t)2 << 20)
#define AHEAD 8 /* so many arcs before it is looked at, what is known of a vertex is called into the cache */

struct out { /* to another part */
	uint32_t count;
	struct wh_relaxation *list;
};

struct wh_paths {
	struct wh_paths_options options;
	struct wh_graph_plan plan;
	uint32_t begin, end;
	/* Of each vertex of the graph: its distance, if it is mine; else the least that I have told its part. One look for both: to which of them an arc
	 * leads is as good as random, and a branch on that costs more than the look. */
	uint32_t *known;
	uint32_t *distance; /* of vertex begin + i: known + begin */
	/* The queue: a heap of places, each an i; nearest[0] has the least distance. */
	uint32_t *nearest, *place, queued;
	/* Arcs of a vertex that are to be looked at next: from `arc` to `last`. */
	uint64_t arc, last;
	uint32_t reach; /* the distance of that vertex */
	struct out *outs;
	uint32_t waiting; /* relaxations in all of them */
	struct wh_paths_counts counts;
	struct wh_paths_result result;
};

/* ---- the queue ------------------------------------------------------------------------------------------------------------- */

static void put_at(struct wh_paths *paths, uint32_t place, uint32_t i)
{
	paths->nearest[place] = i;
	paths->place[i] = place;
}

static void rise(struct wh_paths *paths, uint32_t place, uint32_t i)
{
	uint32_t distance = paths->distance[i];

	while (place > 0) {
		uint32_t above = (place - 1) / WIDTH;

		if (paths->distance[paths->nearest[above]] <= distance)
			break;
		put_at(paths, place, paths->nearest[above]);
		place = above;
	}
	put_at(paths, place, i);
}

static uint32_t least_child(const struct wh_paths *paths, uint32_t first)
{
	uint32_t least = first, last = first + WIDTH < paths->queued ? first + WIDTH : paths->queued;

	for (uint32_t child = first + 1; child < last; child++)
		if (paths->distance[paths->nearest[child]] < paths->distance[paths->nearest[least]])
			least = child;
	return least;
}

static void sink(struct wh_paths *paths, uint32_t i)
{
	uint32_t place = 0, distance = paths->distance[i];

	while (place * WIDTH + 1 < paths->queued) {
		uint32_t child = least_child(paths, place * WIDTH + 1);

		if (paths->distance[paths->nearest[child]] >= distance)
			break;
		put_at(paths, place, paths->nearest[child]);
		place = child;
	}
	put_at(paths, place, i);
}

static uint32_t take_nearest(struct wh_paths *paths)
{
	uint32_t i = paths->nearest[0], other = paths->nearest[--paths->queued];

	paths->place[i] = NOT_QUEUED;
	if (paths->queued > 0)
		sink(paths, other);
	return i;
}

/* One of my vertices has got nearer. */
static void queue_vertex(struct wh_paths *paths, uint32_t i)
{
	rise(paths, paths->place[i] == NOT_QUEUED ? paths->queued++ : paths->place[i], i);
}

/* One of my vertices can be reached by so much. */
static void lower(struct wh_paths *paths, uint32_t i, uint32_t distance)
{
	if (distance >= paths->distance[i])
		return;
	paths->distance[i] = distance;
	queue_vertex(paths, i);
}

/* ---- what goes to others --------------------------------------------------------------------------------------------------- */

static bool send_out(struct wh_paths *paths, uint32_t part)
{
	struct out *out = &paths->outs[part];

	if (!paths->options.send(paths->options.ctx, part, out->list, out->count))
		return false;
	paths->counts.sent++;
	paths->result.batches++;
	paths->result.relaxations += out->count;
	paths->waiting -= out->count;
	out->count = 0;
	return true;
}

/* All that waits. False: some of it still does. */
static bool send_all(struct wh_paths *paths)
{
	bool good = true;

	for (uint32_t part = 0; part < paths->options.parts && paths->waiting > 0; part++)
		if (paths->outs[part].count > 0)
			good = send_out(paths, part) && good;
	return good;
}

/* False: it has no room, and was not told. */
static bool tell(struct wh_paths *paths, uint32_t vertex, uint32_t distance)
{
	uint32_t part = wh_paths_part_of(&paths->plan, vertex, paths->options.parts);
	struct out *out = &paths->outs[part];

	if (out->count == paths->options.batch && !send_out(paths, part))
		return false;
	paths->known[vertex] = distance;
	out->list[out->count++] = wh_relaxation_of(vertex, distance);
	paths->waiting++;
	return true;
}

/* ---- steps ----------------------------------------------------------------------------------------------------------------- */

static void look_at_nearest(struct wh_paths *paths)
{
	uint32_t i = take_nearest(paths), row = paths->begin - paths->options.graph->begin + i;

	paths->reach = paths->distance[i];
	paths->arc = paths->options.graph->first[row];
	paths->last = paths->options.graph->first[row + 1];
	paths->result.looked++;
}

/* One arc. False: what came of it has no room now. */
static inline bool relax(struct wh_paths *paths, const struct wh_graph_arc *arc)
{
	uint64_t sum = (uint64_t)paths->reach + arc->weight;
	uint32_t i = arc->to - paths->begin;

	if (__builtin_expect(sum >= paths->known[arc->to], 1)) /* so also what is WH_GRAPH_NEVER or more */
		return true;
	if (i >= paths->end - paths->begin)
		return tell(paths, arc->to, (uint32_t)sum);
	paths->distance[i] = (uint32_t)sum;
	queue_vertex(paths, i);
	return true;
}

/* Of the vertex that is being looked at. False: there was no room. */
static bool scan(struct wh_paths *paths, uint64_t most)
{
	const struct wh_graph_arc *arcs = paths->options.graph->arcs;
	uint64_t begin = paths->arc, last = paths->last - begin < most ? paths->last : begin + most;
	bool good = true;

	for (; paths->arc < last && good; paths->arc += good) {
		if (paths->arc + AHEAD < paths->last)
			__builtin_prefetch(&paths->known[arcs[paths->arc + AHEAD].to]);
		good = relax(paths, &arcs[paths->arc]);
	}
	paths->result.scanned += paths->arc - begin;
	return good;
}

bool wh_paths_step(struct wh_paths *paths, uint32_t arcs)
{
	uint64_t end = paths->result.scanned + arcs;

	while (paths->result.scanned < end) {
		if (paths->arc == paths->last && paths->queued == 0)
			break;
		if (paths->arc == paths->last)
			look_at_nearest(paths);
		if (!scan(paths, end - paths->result.scanned))
			break;
	}
	(void)send_all(paths);
	paths->counts.active = paths->queued > 0 || paths->arc < paths->last || paths->waiting > 0;
	return paths->counts.active != 0;
}

bool wh_paths_start(struct wh_paths *paths, uint32_t root)
{
	if (root < paths->begin || root >= paths->end)
		return false;
	lower(paths, root - paths->begin, 0);
	paths->counts.active = 1;
	return true;
}

bool wh_paths_receive(struct wh_paths *paths, const struct wh_relaxation *list, size_t count)
{
	for (size_t n = 0; n < count; n++)
		if (wh_relaxation_vertex(list[n]) - paths->begin >= paths->end - paths->begin)
			return false;
	for (size_t n = 0; n < count; n++)
		lower(paths, wh_relaxation_vertex(list[n]) - paths->begin, list[n].distance);
	paths->counts.received++;
	if (paths->queued > 0)
		paths->counts.active = 1;
	return true;
}

/* ---- the end --------------------------------------------------------------------------------------------------------------- */

bool wh_paths_has_ended(struct wh_paths_waves *waves, const struct wh_paths_counts *sums)
{
	bool ended = waves->quiet && waves->received == sums->sent;

	waves->quiet = sums->active == 0;
	waves->received = sums->received;
	waves->waves++;
	return ended;
}

/* ---- a part ---------------------------------------------------------------------------------------------------------------- */

uint64_t wh_paths_bytes(const struct wh_graph_plan *plan, uint32_t parts)
{
	uint64_t vertices = wh_graph_vertices(plan);

	return (vertices + 2 * (vertices / parts + 1)) * sizeof(uint32_t);
}

static void *take_memory(uint64_t bytes)
{
	size_t whole = ((size_t)bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE;
	void *memory;

	if (bytes < HUGE_PAGE)
		return malloc(bytes + 1);
	memory = aligned_alloc(HUGE_PAGE, whole);
	if (memory != NULL)
		(void)madvise(memory, whole, MADV_HUGEPAGE); /* a wish */
	return memory;
}

static bool make_outs(struct wh_paths *paths)
{
	paths->outs = calloc(paths->options.parts, sizeof(*paths->outs));
	if (paths->outs == NULL)
		return false;
	for (uint32_t part = 0; part < paths->options.parts; part++) {
		paths->outs[part].list = malloc(paths->options.batch * sizeof(struct wh_relaxation));
		if (paths->outs[part].list == NULL)
			return false;
	}
	return true;
}

struct wh_paths *wh_paths_new(const struct wh_paths_options *options)
{
	struct wh_paths *paths = calloc(1, sizeof(*paths));
	uint64_t bytes;

	if (paths == NULL)
		return NULL;
	paths->options = *options;
	paths->plan = options->graph->plan;
	paths->begin = wh_paths_begin(&paths->plan, options->part, options->parts);
	paths->end = wh_paths_begin(&paths->plan, options->part + 1, options->parts);
	bytes = (uint64_t)(paths->end - paths->begin) * sizeof(uint32_t);
	paths->known = take_memory(wh_graph_vertices(&paths->plan) * sizeof(uint32_t));
	paths->distance = paths->known + paths->begin;
	paths->nearest = take_memory(bytes);
	paths->place = take_memory(bytes);
	if (!make_outs(paths) || paths->known == NULL || paths->nearest == NULL || paths->place == NULL) {
		wh_paths_free(paths);
		return NULL;
	}
	wh_paths_reset(paths);
	return paths;
}

void wh_paths_free(struct wh_paths *paths)
{
	if (paths == NULL)
		return;
	for (uint32_t part = 0; paths->outs != NULL && part < paths->options.parts; part++)
		free(paths->outs[part].list);
	free(paths->outs);
	free(paths->known);
	free(paths->nearest);
	free(paths->place);
	free(paths);
}

void wh_paths_reset(struct wh_paths *paths)
{
	size_t bytes = (size_t)(paths->end - paths->begin) * sizeof(uint32_t);

	memset(paths->known, 0xff, wh_graph_vertices(&paths->plan) * sizeof(uint32_t));
	memset(paths->place, 0xff, bytes);
	for (uint32_t part = 0; part < paths->options.parts; part++)
		paths->outs[part].count = 0;
	paths->queued = paths->waiting = 0;
	paths->arc = paths->last = 0;
	paths->counts = (struct wh_paths_counts){0};
	paths->result = (struct wh_paths_result){0};
}

struct wh_paths_counts wh_paths_counts(const struct wh_paths *paths)
{
	return paths->counts;
}

uint64_t wh_paths_scanned(const struct wh_paths *paths)
{
	return paths->result.scanned;
}

struct wh_paths_result wh_paths_result(const struct wh_paths *paths)
{
	struct wh_paths_result result = paths->result;

	for (uint32_t i = 0; i < paths->end - paths->begin; i++)
		if (paths->distance[i] != WH_GRAPH_NEVER) {
			result.reached++;
			result.distance_sum += paths->distance[i];
			result.reached_arcs += wh_graph_degree(paths->options.graph, paths->begin + i);
		}
	return result;
}

const uint32_t *wh_paths_distances(const struct wh_paths *paths)
{
	return paths->distance;
}
