/* test_paths.c - the graph of `whorl delegate sssp`, and parts of it that send each other relaxations: by messages that come in any order of their
 * senders, and are refused now and then; and when that has ended.
 *
 * Labels: random
 */
#include <check.h>
#include <stdlib.h>
#include <string.h>

#include "bench/graph.h"
#include "bench/paths.h"
#include "tests/harness.h"

static struct wh_graph make(uint32_t scale, uint32_t degree, uint64_t seed)
{
	const struct wh_graph_plan plan = {scale, degree, seed};
	struct wh_graph graph;

	ck_assert(wh_graph_make(&graph, &plan, 0, wh_graph_vertices(&plan), NULL, NULL));
	return graph;
}

static uint64_t next(uint64_t *dice)
{
	*dice = *dice * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *dice >> 33;
}

/* ---- the generator --------------------------------------------------------------------------------------------------------- */

START_TEST(an_edge_follows_from_seed_and_number)
{
	const struct wh_graph_plan plan = {12, 8, 5}, other = {12, 8, 6};
	uint32_t same = 0, least = UINT32_MAX, most = 0;
	uint64_t sum = 0, count = wh_graph_edges(&plan);

	for (uint64_t e = 0; e < count; e++) {
		struct wh_graph_edge edge = wh_graph_draw(&plan, e), again = wh_graph_draw(&plan, e);
		struct wh_graph_edge elsewhere = wh_graph_draw(&other, e);

		ck_assert_uint_eq(edge.from, again.from);
		ck_assert_uint_eq(edge.to, again.to);
		ck_assert_uint_eq(edge.weight, again.weight);
		ck_assert(edge.from < 4096 && edge.to < 4096);
		same += edge.from == elsewhere.from && edge.to == elsewhere.to;
		least = edge.weight < least ? edge.weight : least;
		most = edge.weight > most ? edge.weight : most;
		sum += edge.weight;
	}
	ck_assert_uint_lt(same, count / 20);
	ck_assert(least >= 1 && least < 20);
	ck_assert(most <= WH_GRAPH_WEIGHT_MOST && most > WH_GRAPH_WEIGHT_MOST - 20);
	ck_assert_double_eq_tol((double)sum / (double)count, WH_GRAPH_WEIGHT_MOST / 2.0, 500);
}
END_TEST

/* Of two vertices the quarters are edges: .57 and .05 lead from one to itself, .19 and .19 from one to the other. */
START_TEST(quarters_are_those_of_graph500)
{
	uint32_t quarters[2][2] = {{0}};
	const struct wh_graph_plan plan = {1, WH_GRAPH_DEGREE_MOST, 3};
	uint64_t count = 20000;

	for (uint64_t e = 0; e < count; e++) {
		struct wh_graph_edge edge = wh_graph_draw(&plan, e);

		quarters[edge.from][edge.to]++;
	}
	if (quarters[0][0] < quarters[1][1]) { /* as they were named */
		uint32_t first = quarters[0][0];

		quarters[0][0] = quarters[1][1];
		quarters[1][1] = first;
	}
	ck_assert_double_eq_tol(quarters[0][0] / (double)count, .57, .015);
	ck_assert_double_eq_tol(quarters[0][1] / (double)count, .19, .015);
	ck_assert_double_eq_tol(quarters[1][0] / (double)count, .19, .015);
	ck_assert_double_eq_tol(quarters[1][1] / (double)count, .05, .015);
}
END_TEST

/* A few vertices have most edges, and which they are is not to be seen by their numbers: each part has some. */
START_TEST(hubs_are_anywhere)
{
	uint64_t of_eighth[8] = {0}, most = 0;
	struct wh_graph graph = make(12, 16, 9);

	for (uint32_t v = 0; v < 4096; v++) {
		of_eighth[v / 512] += wh_graph_degree(&graph, v);
		if (wh_graph_degree(&graph, v) > most)
			most = wh_graph_degree(&graph, v);
	}
	ck_assert_uint_gt(most, 20 * 32);
	for (int i = 0; i < 8; i++)
		ck_assert(of_eighth[i] > graph.arc_count / 24 && of_eighth[i] < graph.arc_count / 3);
	ck_assert_uint_eq(graph.arc_count, 2 * wh_graph_edges(&graph.plan));
	wh_graph_free(&graph);
}
END_TEST

START_TEST(rows_are_those_of_the_whole)
{
	struct wh_graph whole = make(7, 5, 2), rows;

	for (uint32_t parts = 1; parts <= 9; parts++)
		for (uint32_t part = 0; part < parts; part++) {
			uint32_t begin = wh_paths_begin(&whole.plan, part, parts);
			uint32_t end = wh_paths_begin(&whole.plan, part + 1, parts);

			ck_assert(wh_graph_make(&rows, &whole.plan, begin, end, NULL, NULL));
			ck_assert_uint_eq(rows.arc_count, whole.first[end] - whole.first[begin]);
			ck_assert_mem_eq(rows.arcs, whole.arcs + whole.first[begin],
					 rows.arc_count * sizeof(*rows.arcs));
			for (uint32_t v = begin; v < end; v++)
				ck_assert_uint_eq(wh_graph_degree(&rows, v), wh_graph_degree(&whole, v));
			wh_graph_free(&rows);
		}
	wh_graph_free(&whole);
}
END_TEST

static bool stop_at_half(void *ctx, double done)
{
	*(double *)ctx = done;
	return done < .5;
}

START_TEST(making_can_be_stopped)
{
	const struct wh_graph_plan plan = {10, 4, 1};
	struct wh_graph graph;
	double done = 0;

	ck_assert(!wh_graph_make(&graph, &plan, 0, 1024, stop_at_half, &done));
	ck_assert_double_ge(done, .5);
	ck_assert_ptr_null(graph.first);
	ck_assert_ptr_null(graph.arcs);
}
END_TEST

START_TEST(roots_have_edges)
{
	struct wh_graph graph = make(10, 1, 4);
	uint32_t first = wh_graph_root(&graph, 0), others = 0;

	for (uint32_t n = 0; n < 50; n++) {
		ck_assert_uint_gt(wh_graph_degree(&graph, wh_graph_root(&graph, n)), 0);
		ck_assert_uint_eq(wh_graph_root(&graph, n), wh_graph_root(&graph, n));
		others += wh_graph_root(&graph, n) != first;
	}
	ck_assert_uint_gt(others, 40);
	wh_graph_free(&graph);
}
END_TEST

/* Against the simplest that there is: no arc can make a distance less. */
START_TEST(distances_of_one_program_are_least)
{
	struct wh_graph graph = make(8, 2, 11);
	uint32_t distance[256], least[256], root = wh_graph_root(&graph, 0);
	bool changed = true;

	ck_assert(wh_graph_distances(&graph, root, distance));
	memset(least, 0xff, sizeof(least));
	least[root] = 0;
	while (changed) {
		changed = false;
		for (uint32_t v = 0; v < 256; v++)
			for (uint64_t a = graph.first[v]; a < graph.first[v + 1] && least[v] != WH_GRAPH_NEVER; a++)
				if (least[v] + graph.arcs[a].weight < least[graph.arcs[a].to]) {
					least[graph.arcs[a].to] = least[v] + graph.arcs[a].weight;
					changed = true;
				}
	}
	ck_assert_mem_eq(distance, least, sizeof(least));
	wh_graph_free(&graph);
}
END_TEST

/* ---- parts ----------------------------------------------------------------------------------------------------------------- */

#define PARTS_MOST 7
#define FLIGHTS 4096
#define BATCH 5
#define SEEDS 1000

struct lab {
	struct wh_graph graph;
	uint32_t parts;
	uint64_t dice;
	bool refuses; /* now and then */
	struct wh_paths *list[PARTS_MOST];
	struct sender {
		struct lab *lab;
		uint32_t part;
	} senders[PARTS_MOST];
	struct flight { /* batches under way, of which any may come next */
		uint32_t to, count;
		struct wh_relaxation list[BATCH];
	} flights[FLIGHTS];
	uint32_t flying;
	uint64_t sent;
};

static bool send_on(void *ctx, uint32_t part, const struct wh_relaxation *list, uint32_t count)
{
	struct lab *lab = ((struct sender *)ctx)->lab;
	struct flight *flight = &lab->flights[lab->flying];

	ck_assert(count > 0 && count <= BATCH && part < lab->parts && part != ((struct sender *)ctx)->part);
	if (lab->flying == FLIGHTS || (lab->refuses && next(&lab->dice) % 4 == 0))
		return false;
	lab->flying++;
	lab->sent++;
	flight->to = part;
	flight->count = count;
	memcpy(flight->list, list, count * sizeof(*list));
	return true;
}

static struct lab *open_lab(uint32_t scale, uint32_t degree, uint64_t seed, uint32_t parts)
{
	struct lab *lab = calloc(1, sizeof(*lab));

	ck_assert_ptr_nonnull(lab);
	lab->graph = make(scale, degree, seed);
	lab->parts = parts;
	lab->dice = seed;
	for (uint32_t p = 0; p < parts; p++) {
		lab->senders[p] = (struct sender){lab, p};
		lab->list[p] = wh_paths_new(
			&(struct wh_paths_options){&lab->graph, p, parts, BATCH, send_on, &lab->senders[p]});
		ck_assert_ptr_nonnull(lab->list[p]);
	}
	return lab;
}

static void close_lab(struct lab *lab)
{
	for (uint32_t p = 0; p < lab->parts; p++)
		wh_paths_free(lab->list[p]);
	wh_graph_free(&lab->graph);
	free(lab);
}

static void start(struct lab *lab, uint32_t root)
{
	uint32_t part = wh_paths_part_of(&lab->graph.plan, root, lab->parts);

	for (uint32_t p = 0; p < lab->parts; p++) {
		wh_paths_reset(lab->list[p]);
		if (p != part)
			ck_assert(!wh_paths_start(lab->list[p], root));
	}
	ck_assert(wh_paths_start(lab->list[part], root));
}

static void land(struct lab *lab)
{
	uint32_t n = (uint32_t)(next(&lab->dice) % lab->flying);
	struct flight flight = lab->flights[n];

	lab->flights[n] = lab->flights[--lab->flying];
	ck_assert(wh_paths_receive(lab->list[flight.to], flight.list, flight.count));
}

/* Some part looks at a few arcs, if it is active, or some batch comes. */
static void go_on(struct lab *lab)
{
	struct wh_paths *part = lab->list[next(&lab->dice) % lab->parts];

	if (lab->flying > 0 && next(&lab->dice) % 3 != 0)
		land(lab);
	else if (wh_paths_counts(part).active != 0)
		(void)wh_paths_step(part, 1 + (uint32_t)(next(&lab->dice) % 40));
}

static bool is_over(const struct lab *lab)
{
	for (uint32_t p = 0; p < lab->parts; p++)
		if (wh_paths_counts(lab->list[p]).active != 0)
			return false;
	return lab->flying == 0;
}

static void check_distances(const struct lab *lab, uint32_t root)
{
	uint32_t *distance = malloc(wh_graph_vertices(&lab->graph.plan) * sizeof(*distance));

	ck_assert_ptr_nonnull(distance);
	ck_assert(wh_graph_distances(&lab->graph, root, distance));
	for (uint32_t p = 0; p < lab->parts; p++) {
		uint32_t begin = wh_paths_begin(&lab->graph.plan, p, lab->parts);
		uint32_t end = wh_paths_begin(&lab->graph.plan, p + 1, lab->parts);

		for (uint32_t v = begin; v < end; v++)
			ck_assert_uint_eq(wh_paths_distances(lab->list[p])[v - begin], distance[v]);
	}
	free(distance);
}

START_TEST(each_vertex_has_one_part)
{
	for (uint32_t scale = 1; scale <= 6; scale++) {
		const struct wh_graph_plan plan = {scale, 1, 1};
		uint32_t vertices = wh_graph_vertices(&plan);

		for (uint32_t parts = 1; parts <= 2 * vertices + 1; parts++) {
			ck_assert_uint_eq(wh_paths_begin(&plan, 0, parts), 0);
			ck_assert_uint_eq(wh_paths_begin(&plan, parts, parts), vertices);
			for (uint32_t v = 0; v < vertices; v++) {
				uint32_t part = wh_paths_part_of(&plan, v, parts);

				ck_assert_uint_ge(v, wh_paths_begin(&plan, part, parts));
				ck_assert_uint_lt(v, wh_paths_begin(&plan, part + 1, parts));
			}
		}
	}
}
END_TEST

/* One part alone is Dijkstra's algorithm: it looks at each vertex once. */
START_TEST(one_part_looks_at_each_vertex_once)
{
	struct lab *lab = open_lab(10, 4, (uint64_t)_i + 1, 1);
	uint32_t root = wh_graph_root(&lab->graph, 0);
	struct wh_paths_result result;

	start(lab, root);
	while (wh_paths_step(lab->list[0], 7))
		continue;
	check_distances(lab, root);
	result = wh_paths_result(lab->list[0]);
	ck_assert_uint_gt(result.reached, 100);
	ck_assert_uint_eq(result.looked, result.reached);
	ck_assert_uint_eq(result.scanned, result.reached_arcs);
	ck_assert_uint_eq(result.batches, 0);
	close_lab(lab);
}
END_TEST

/* In each turn each part is looked at once, some time; whenever that says that all is over it is. */
static uint64_t run_in_waves(struct lab *lab, uint32_t root)
{
	struct wh_paths_waves waves = {0};
	uint64_t early = 0;

	start(lab, root);
	for (;;) {
		struct wh_paths_counts sums = {0};

		for (uint32_t p = 0; p < lab->parts; p++) {
			struct wh_paths_counts counts = wh_paths_counts(lab->list[p]);

			sums.sent += counts.sent;
			sums.received += counts.received;
			sums.active += counts.active;
			for (uint64_t n = next(&lab->dice) % 4 == 0 ? next(&lab->dice) % 40 : 0; n > 0; n--)
				go_on(lab);
		}
		early += sums.sent == sums.received && sums.active == 0 && !is_over(lab);
		if (wh_paths_has_ended(&waves, &sums))
			break;
		ck_assert_uint_lt(waves.waves, 1000000);
	}
	ck_assert_msg(is_over(lab), "it has not ended: %u batches are on their way", lab->flying);
	return early;
}

START_TEST(parts_come_to_the_same_in_any_order)
{
	uint64_t first = test_seed(1) + SEEDS * (uint64_t)_i, early = 0;

	for (uint64_t seed = first; seed < first + SEEDS; seed++) {
		struct lab *lab = open_lab(1 + (uint32_t)(seed % 7), 1 + (uint32_t)(seed % 5), seed,
					   1 + (uint32_t)(seed % PARTS_MOST));

		for (uint32_t run = 0; run < 4; run++) {
			uint32_t root = run < 2 ? wh_graph_root(&lab->graph, run)
						: (uint32_t)next(&lab->dice) % wh_graph_vertices(&lab->graph.plan);

			lab->refuses = run % 2 == 1;
			early += run_in_waves(lab, root);
			check_distances(lab, root);
		}
		close_lab(lab);
	}
	ck_assert_uint_gt(early, 0); /* sums of one wave said so too early, or this tries nothing */
}
END_TEST

/* The first wave in which all is quiet, and the counts are alike, is not the end. */
START_TEST(one_wave_alone_would_be_wrong)
{
	struct wh_paths_waves waves = {0};

	ck_assert(!wh_paths_has_ended(&waves, &(struct wh_paths_counts){4, 4, 0}));
	ck_assert(!wh_paths_has_ended(&waves, &(struct wh_paths_counts){6, 5, 1}));
	ck_assert(!wh_paths_has_ended(&waves, &(struct wh_paths_counts){5, 6, 0}));
	ck_assert(!wh_paths_has_ended(&waves, &(struct wh_paths_counts){8, 7, 0}));
	ck_assert(!wh_paths_has_ended(&waves, &(struct wh_paths_counts){8, 8, 0}));
	ck_assert(wh_paths_has_ended(&waves, &(struct wh_paths_counts){8, 8, 0}));
	ck_assert_uint_eq(waves.waves, 6);
}
END_TEST

/* ---- what comes from others ------------------------------------------------------------------------------------------------ */

START_TEST(what_is_not_its_own_is_refused)
{
	struct lab *lab = open_lab(6, 2, 1, 3);
	uint32_t begin = wh_paths_begin(&lab->graph.plan, 1, 3), end = wh_paths_begin(&lab->graph.plan, 2, 3);
	const uint32_t wrong[] = {begin - 1, end, 64, UINT32_MAX, begin | WH_PATHS_MARK};

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct wh_relaxation list[] = {wh_relaxation_of(begin, 5), {5, wrong[i] ^ WH_PATHS_MARK}};

		ck_assert(!wh_paths_receive(lab->list[1], list, 2));
	}
	ck_assert_uint_eq(wh_paths_counts(lab->list[1]).received, 0);
	ck_assert_uint_eq(wh_paths_counts(lab->list[1]).active, 0);
	ck_assert_uint_eq(wh_paths_distances(lab->list[1])[0], WH_GRAPH_NEVER);
	close_lab(lab);
}
END_TEST

/* It is not as if it were near. */
START_TEST(a_sum_that_is_too_large_is_none)
{
	struct lab *lab = open_lab(6, 8, 1, 1);
	uint32_t root = wh_graph_root(&lab->graph, 0);
	struct wh_relaxation far;

	start(lab, root);
	while (wh_paths_step(lab->list[0], 100))
		continue;
	wh_paths_reset(lab->list[0]);
	far = wh_relaxation_of(root, WH_GRAPH_NEVER - 1);
	ck_assert(wh_paths_receive(lab->list[0], &far, 1));
	while (wh_paths_step(lab->list[0], 100))
		continue;
	ck_assert_uint_eq(wh_paths_result(lab->list[0]).reached, 1);
	ck_assert_uint_gt(wh_paths_result(lab->list[0]).scanned, 0);
	close_lab(lab);
}
END_TEST

static uint32_t hub_of(const struct wh_graph *graph)
{
	uint32_t hub = 0;

	for (uint32_t v = 1; v < wh_graph_vertices(&graph->plan); v++)
		if (wh_graph_degree(graph, v) > wh_graph_degree(graph, hub))
			hub = v;
	return hub;
}

/* The same, or more, is not said again. */
START_TEST(what_was_said_is_not_said_again)
{
	struct lab *lab = open_lab(8, 16, 3, 2);
	struct wh_paths_result first, again;
	uint32_t root = hub_of(&lab->graph), part = wh_paths_part_of(&lab->graph.plan, root, 2);

	start(lab, root);
	while (wh_paths_step(lab->list[part], 1000))
		continue;
	first = wh_paths_result(lab->list[part]);
	ck_assert_uint_gt(first.relaxations, 0);
	ck_assert_uint_le(first.relaxations, first.scanned / 2);
	lab->flying = 0;
	for (uint32_t v = 0; v < 128; v++) { /* all of its vertices are looked at again, not much nearer */
		uint32_t distance = wh_paths_distances(lab->list[part])[v];
		struct wh_relaxation nearer = wh_relaxation_of(v + 128 * part, distance - 1);

		if (distance > 1)
			ck_assert(wh_paths_receive(lab->list[part], &nearer, 1));
	}
	while (wh_paths_step(lab->list[part], 1000))
		continue;
	again = wh_paths_result(lab->list[part]);
	ck_assert_uint_gt(again.relaxations, first.relaxations);
	ck_assert_uint_le(again.relaxations - first.relaxations, 128);
	close_lab(lab);
}
END_TEST

Suite *suite(void)
{
	Suite *suite = suite_create("paths");
	TCase *graph = tcase_create("graph"), *parts = tcase_create("parts");

	tcase_add_test(graph, an_edge_follows_from_seed_and_number);
	tcase_add_test(graph, quarters_are_those_of_graph500);
	tcase_add_test(graph, hubs_are_anywhere);
	tcase_add_test(graph, rows_are_those_of_the_whole);
	tcase_add_test(graph, making_can_be_stopped);
	tcase_add_test(graph, roots_have_edges);
	tcase_add_test(graph, distances_of_one_program_are_least);
	suite_add_tcase(suite, graph);
	tcase_add_test(parts, each_vertex_has_one_part);
	tcase_add_loop_test(parts, one_part_looks_at_each_vertex_once, 0, 5);
	tcase_add_loop_test(parts, parts_come_to_the_same_in_any_order, 0, 2);
	tcase_add_test(parts, one_wave_alone_would_be_wrong);
	tcase_add_test(parts, what_is_not_its_own_is_refused);
	tcase_add_test(parts, a_sum_that_is_too_large_is_none);
	tcase_add_test(parts, what_was_said_is_not_said_again);
	suite_add_tcase(suite, parts);
	return suite;
}
