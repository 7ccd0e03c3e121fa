/* peer_sssp.c - `whorl delegate sssp` over MPI: the same graph, the same parts (bench/paths.h), a rank for each; relaxations are messages.
 *
 *     mpirun -n 2 ... peer-sssp SCALE DEGREE SEED RUNS [BATCH [ARCS]]
 *
 * A rank makes a step, takes in what has come, and goes on. What it sends is copied, and sent without waiting (MPI_Isend). When it has nothing to
 * do it takes part in a wave (MPI_Iallreduce), and goes on receiving until that is over. Prints {"teps": [...], "seconds": [...], "reached": [...],
 * "scanned": [...], "distance_sum": [...]}, a value for each run; scanned: how often an arc was looked at.
 */
#include <inttypes.h>
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench/graph.h"
#include "bench/paths.h"
#include "bench/peers/measure.h"

#define RUNS_MOST 1000
#define TAG 1

struct flight { /* a message on its way */
	MPI_Request request;
	bool busy;
	struct wh_relaxation *list;
};

#define FLIGHTS 256

struct rank {
	int rank, ranks;
	uint32_t batch, arcs;
	struct wh_graph_plan plan;
	struct wh_graph graph;
	struct wh_paths *paths;
	struct flight flights[FLIGHTS];
	uint32_t next; /* flight that is looked at first */
	struct wh_relaxation *room;
};

static bool send_relaxations(void *ctx, uint32_t part, const struct wh_relaxation *list, uint32_t count)
{
	struct rank *r = ctx;
	struct flight *flight = &r->flights[r->next % FLIGHTS];
	int done = 1;

	if (flight->busy)
		MPI_Test(&flight->request, &done, MPI_STATUS_IGNORE);
	if (!done)
		return false;
	memcpy(flight->list, list, count * sizeof(*list));
	MPI_Isend(flight->list, (int)(count * sizeof(*list)), MPI_BYTE, (int)part, TAG, MPI_COMM_WORLD,
		  &flight->request);
	flight->busy = true;
	r->next++;
	return true;
}

static bool receive_all(struct rank *r)
{
	bool some = false;

	for (;;) {
		MPI_Message message;
		MPI_Status status;
		int there, bytes;

		MPI_Improbe(MPI_ANY_SOURCE, TAG, MPI_COMM_WORLD, &there, &message, &status);
		if (!there)
			return some;
		MPI_Get_count(&status, MPI_BYTE, &bytes);
		MPI_Mrecv(r->room, bytes, MPI_BYTE, &message, &status);
		if (!wh_paths_receive(r->paths, r->room, (size_t)bytes / sizeof(*r->room)))
			peers_fail("a message is for others");
		some = true;
	}
}

static void run_once(struct rank *r, uint32_t root)
{
	struct wh_paths_waves waves = {0};
	struct wh_paths_counts mine, sums;
	MPI_Request wave = MPI_REQUEST_NULL;
	bool flies = false;

	(void)wh_paths_start(r->paths, root);
	for (;;) {
		int done = 0;
		bool some = receive_all(r), more = wh_paths_step(r->paths, r->arcs);

		if (flies)
			MPI_Test(&wave, &done, MPI_STATUS_IGNORE);
		if (done) {
			flies = false;
			if (wh_paths_has_ended(&waves, &sums))
				return;
		}
		if (more)
			continue;
		if (!flies) {
			mine = wh_paths_counts(r->paths);
			MPI_Iallreduce(&mine, &sums, 3, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD, &wave);
			flies = true;
		} else if (!some) {
			sched_yield(); /* another rank, if there is no other processor */
		}
	}
}

/* Of the whole graph; so that all ranks have those of one program. */
static uint32_t root_of(const struct rank *r, uint32_t run)
{
	struct wh_graph whole;
	uint32_t root;

	if (!wh_graph_make(&whole, &r->plan, 0, wh_graph_vertices(&r->plan), NULL, NULL))
		peers_fail("no memory");
	root = wh_graph_root(&whole, run);
	wh_graph_free(&whole);
	return root;
}

static void open_rank(struct rank *r, char *argv[])
{
	uint32_t parts, begin, end;

	MPI_Comm_rank(MPI_COMM_WORLD, &r->rank);
	MPI_Comm_size(MPI_COMM_WORLD, &r->ranks);
	parts = (uint32_t)r->ranks;
	r->plan = (struct wh_graph_plan){(uint32_t)atoi(argv[1]), (uint32_t)atoi(argv[2]), strtoull(argv[3], NULL, 10)};
	if (r->plan.scale < 1 || r->plan.scale > WH_GRAPH_SCALE_MOST || r->plan.degree < 1 ||
	    r->plan.degree > WH_GRAPH_DEGREE_MOST)
		peers_fail("no such graph");
	begin = wh_paths_begin(&r->plan, (uint32_t)r->rank, parts);
	end = wh_paths_begin(&r->plan, (uint32_t)r->rank + 1, parts);
	if (!wh_graph_make(&r->graph, &r->plan, begin, end, NULL, NULL))
		peers_fail("no memory");
	r->paths = wh_paths_new(&(struct wh_paths_options){.graph = &r->graph,
							   .part = (uint32_t)r->rank,
							   .parts = parts,
							   .batch = r->batch,
							   .send = send_relaxations,
							   .ctx = r});
	r->room = calloc(r->batch, sizeof(*r->room));
	for (int i = 0; i < FLIGHTS; i++)
		r->flights[i].list = calloc(r->batch, sizeof(struct wh_relaxation));
	if (r->paths == NULL || r->room == NULL || r->flights[FLIGHTS - 1].list == NULL)
		peers_fail("no memory");
}

static void print_list(const char *name, const double *values, uint32_t count, const char *format, const char *end)
{
	printf("\"%s\": [", name);
	for (uint32_t i = 0; i < count; i++) {
		printf("%s", i > 0 ? ", " : "");
		printf(format, values[i]);
	}
	printf("]%s", end);
}

static void run_all(struct rank *r, uint32_t runs)
{
	static double teps[RUNS_MOST], seconds[RUNS_MOST], reached[RUNS_MOST], sums[RUNS_MOST], scanned[RUNS_MOST];

	for (uint32_t run = 0; run < runs; run++) {
		uint32_t root = r->rank == 0 ? root_of(r, run) : 0;
		struct wh_paths_result mine;
		uint64_t of_mine[4], all[4] = {0}, begun;

		MPI_Bcast(&root, 1, MPI_UINT32_T, 0, MPI_COMM_WORLD);
		wh_paths_reset(r->paths);
		MPI_Barrier(MPI_COMM_WORLD);
		begun = peers_now();
		run_once(r, root);
		seconds[run] = (double)(peers_now() - begun) / 1e9;
		mine = wh_paths_result(r->paths);
		of_mine[0] = mine.reached;
		of_mine[1] = mine.reached_arcs;
		of_mine[2] = mine.distance_sum;
		of_mine[3] = mine.scanned;
		MPI_Allreduce(of_mine, all, 4, MPI_UINT64_T, MPI_SUM, MPI_COMM_WORLD);
		reached[run] = (double)all[0];
		sums[run] = (double)all[2];
		scanned[run] = (double)all[3] / (double)all[1];
		teps[run] = (double)all[1] / 2 / seconds[run];
	}
	if (r->rank != 0)
		return;
	printf("{");
	print_list("teps", teps, runs, "%.0f", ", ");
	print_list("seconds", seconds, runs, "%.6f", ", ");
	print_list("reached", reached, runs, "%.0f", ", ");
	print_list("scanned", scanned, runs, "%.3f", ", ");
	print_list("distance_sum", sums, runs, "%.0f", "}\n");
}

int main(int argc, char *argv[])
{
	static struct rank r;
	uint32_t runs;

	MPI_Init(&argc, &argv);
	if (argc < 5 || argc > 7)
		peers_fail("usage: %s SCALE DEGREE SEED RUNS [BATCH [ARCS]]", argv[0]);
	runs = (uint32_t)atoi(argv[4]);
	r.batch = argc > 5 ? (uint32_t)atoi(argv[5]) : 500;
	r.arcs = argc > 6 ? (uint32_t)atoi(argv[6]) : 4096;
	if (runs < 1 || runs > RUNS_MOST || r.batch < 1 || r.arcs < 1)
		peers_fail("no such run");
	open_rank(&r, argv);
	run_all(&r, runs);
	MPI_Finalize();
	wh_paths_free(r.paths);
	wh_graph_free(&r.graph);
	return 0;
}
