/* delegate_sssp.c - `whorl delegate sssp`: the command line, the graph, the processes, and what came of it. See delegate_sssp.h.
 *
 * The parent makes the graph before there are processes: each reads the rows of its parts, which are the same memory. With --check the parent makes
 * each run once more, alone and one vertex after the other, and compares all distances.
 */
#include <argp.h>
#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "command/option.h"
#include "tools/delegate.h"
#include "tools/delegate_sssp.h"

#define SECOND UINT64_C(1000000000)
#define OPENED UINT32_C(1) /* phases: all parts are there; */
#define MET UINT32_C(2)    /* all nodes have met; */
#define RUN UINT32_C(4)    /* a run goes on, and then two for each: it is over */

/* ---- a process ------------------------------------------------------------------------------------------------------------------ */

static bool open_node(struct wh_sssp_player *player)
{
	whorl_config *config = whorl_config_new();
	enum whorl_result result =
		config == NULL ? WHORL_MEMORY : whorl_config_load_text(config, "sssp", player->sssp->config);

	if (result == WHORL_OK)
		result = whorl_open(config, player->number, NULL, &player->node);
	if (result != WHORL_OK)
		wh_say("sssp: node %" PRIu32 ": %s", player->number,
		       config == NULL ? "no memory" : whorl_config_error(config));
	whorl_config_free(config);
	if (result != WHORL_OK)
		return false;
	result = whorl_start(player->node);
	if (result == WHORL_OK)
		result = whorl_ready(player->node, WH_SSSP_OPEN_MS);
	if (result != WHORL_OK)
		wh_say("sssp: node %" PRIu32 ": %s", player->number, whorl_result_text(result));
	return result == WHORL_OK;
}

static void reach(struct wh_sssp_player *player, uint32_t phase)
{
	atomic_store_explicit(&player->sssp->reached[player->number], phase, memory_order_release); /* partner: await */
	wh_watch_ring(&player->sssp->watch);
}

/* Until it is that one. False: all end. */
static bool await_phase(struct wh_sssp *sssp, uint32_t phase)
{
	uint32_t now;

	while ((now = wh_phase_get(&sssp->phase)) < phase)
		(void)wh_phase_wait(&sssp->phase, now, 1000);
	return now != WH_SSSP_END;
}

static bool run_once(struct wh_sssp_player *player, uint32_t run)
{
	struct whorl_join join = {0};
	whorl_shared *shared = NULL;
	uint32_t good = 0;
	enum whorl_result result = wh_sssp_spawn(player, run, &join, &shared);

	while (result == WHORL_OK && (result = whorl_join(&join, &good, sizeof(good), 1000)) == WHORL_TIMEOUT)
		result = WHORL_OK;
	whorl_shared_drop(shared);
	if (result != WHORL_OK)
		wh_say("sssp: node 0: %s", whorl_result_text(result));
	return result == WHORL_OK && good == 1;
}

static bool meet(struct wh_sssp_player *player)
{
	uint64_t end = wh_clock_ns() + WH_SSSP_OPEN_MS * WH_NS_PER_MS;
	enum whorl_result result;

	while ((result = wh_sssp_meet(player)) == WHORL_AGAIN && wh_clock_ns() < end)
		(void)wh_phase_wait(&player->sssp->phase, MET, 1);
	if (result == WHORL_AGAIN)
		wh_say("sssp: node %" PRIu32 " does not meet all others", player->number);
	return result == WHORL_OK;
}

static bool play(struct wh_sssp_player *player)
{
	struct wh_sssp *sssp = player->sssp;

	if (!open_node(player) || !wh_sssp_open_work(player) || !wh_sssp_open_parts(player))
		return false;
	reach(player, OPENED);
	if (!await_phase(sssp, MET) || !meet(player))
		return false;
	reach(player, MET);
	for (uint32_t run = 0; run < sssp->runs && player->number == 0; run++) {
		if (!await_phase(sssp, RUN + 2 * run) || !run_once(player, run))
			return false;
		reach(player, RUN + 2 * run);
	}
	(void)await_phase(sssp, WH_SSSP_END);
	return true;
}

/* Each node has processors of its own, if there are enough for all, as mpirun gives them: the children of one process begin where it is, and the system takes
 * tenths of a second to part them. */
static void take_processors(uint32_t number, uint32_t nodes)
{
	cpu_set_t all, mine;
	uint32_t count, seen = 0;

	if (sched_getaffinity(0, sizeof(all), &all) != 0)
		return;
	count = (uint32_t)CPU_COUNT(&all);
	if (nodes > count)
		return;
	CPU_ZERO(&mine);
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &all))
			continue;
		if (seen >= number * count / nodes && seen < (number + 1) * count / nodes)
			CPU_SET(cpu, &mine);
		seen++;
	}
	(void)sched_setaffinity(0, sizeof(mine), &mine); /* a wish */
}

static int be_player(void *ctx, uint32_t number)
{
	struct wh_sssp_player *player = calloc(1, sizeof(*player));
	bool good;

	if (player == NULL)
		return 1;
	player->sssp = ctx;
	player->number = number;
	take_processors(number, player->sssp->nodes);
	good = play(player);
	wh_sssp_close(player, 10000);
	if (player->node != NULL)
		(void)whorl_close(player->node, 10000);
	free(player);
	return good ? 0 : 1;
}

/* ---- the parent ----------------------------------------------------------------------------------------------------------------- */

static void tell_end(uint32_t node, int status)
{
	if (WIFSIGNALED(status))
		wh_say("sssp: node %" PRIu32 " was killed by signal %d", node, WTERMSIG(status));
	else
		wh_say("sssp: node %" PRIu32 " has ended with status %d", node, WEXITSTATUS(status));
}

static void show(const struct wh_sssp *sssp, uint32_t phase, uint64_t since)
{
	char text[96] = "sssp: the nodes open";

	if (phase >= RUN)
		snprintf(text, sizeof(text), "sssp: run %" PRIu32 " of %" PRIu32 ": %.0f s", (phase - RUN) / 2 + 1,
			 sssp->runs, (double)(wh_clock_ns() - since) / 1e9);
	wh_progress(text);
}

/* The first nodes, so many, are through with the phase. False: one has ended, which was said, or the command is to. A run may take any time. */
static bool await(struct wh_sssp *sssp, struct wh_crew *crew, uint32_t nodes, uint32_t phase)
{
	uint64_t begun = wh_clock_ns();
	uint32_t there, worker;
	int status;

	for (;;) {
		for (there = 0; there < nodes; there++)
			if (atomic_load_explicit(&sssp->reached[there], memory_order_acquire) < phase)
				break; /* partner: reach */
		if (there == nodes)
			return true;
		if (sssp->watch.interrupted != 0)
			return false;
		if (wh_crew_reap(crew, &worker, &status)) {
			tell_end(worker, status);
			return false;
		}
		if (phase < RUN && wh_clock_ns() - begun > 2 * WH_SSSP_OPEN_MS * WH_NS_PER_MS) {
			wh_say("sssp: node %" PRIu32 " does not go on", there);
			return false;
		}
		wh_watch_wait(&sssp->watch, 100);
		if (wh_clock_ns() - begun > SECOND)
			show(sssp, phase, begun);
	}
}

bool wh_sssp_check(struct wh_sssp *sssp, uint32_t run)
{
	uint32_t vertices = wh_graph_vertices(&sssp->plan), wrong = 0, first = 0;
	uint32_t *distance = malloc(vertices * sizeof(*distance));
	uint64_t begun = wh_clock_ns();

	if (distance == NULL || !wh_graph_distances(&sssp->graph, sssp->list[run].root, distance)) {
		wh_say("sssp: no memory");
		free(distance);
		return false;
	}
	sssp->list[run].sequential_s = (double)(wh_clock_ns() - begun) / 1e9;
	for (uint32_t vertex = 0; vertex < vertices; vertex++)
		if (distance[vertex] != sssp->distances[vertex] && wrong++ == 0)
			first = vertex;
	if (wrong > 0)
		wh_say("sssp: run %" PRIu32 ", from %" PRIu32 ": %" PRIu32
		       " distances are wrong; that of vertex %" PRIu32 " is %" PRIu32 ", and should be %" PRIu32,
		       run + 1, sssp->list[run].root, wrong, first, sssp->distances[first], distance[first]);
	free(distance);
	return wrong == 0;
}

static bool run_all(struct wh_sssp *sssp, struct wh_crew *crew)
{
	if (!await(sssp, crew, sssp->nodes, OPENED))
		return false;
	wh_phase_set(&sssp->phase, MET);
	if (!await(sssp, crew, sssp->nodes, MET))
		return false;
	for (uint32_t run = 0; run < sssp->runs; run++) {
		wh_phase_set(&sssp->phase, RUN + 2 * run);
		if (!await(sssp, crew, 1, RUN + 2 * run) || (sssp->check && !wh_sssp_check(sssp, run)))
			return false;
	}
	return true;
}

/* ---- results -------------------------------------------------------------------------------------------------------------------- */

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

struct figure {
	double median, least, most;
};

/* Of all runs. */
static struct figure figure_of(const struct wh_sssp *sssp, double (*of)(const struct wh_sssp_run *run))
{
	double values[WH_SSSP_RUNS] = {0};
	uint32_t n = sssp->runs;

	for (uint32_t run = 0; run < n; run++)
		values[run] = of(&sssp->list[run]);
	qsort(values, n, sizeof(values[0]), compare);
	return (struct figure){(values[n / 2] + values[(n - 1) / 2]) / 2, values[0], values[n - 1]};
}

/* As Graph500 counts them: edges, not arcs, between vertices that were reached, once each. */
static double edges_of(const struct wh_sssp_run *run)
{
	return (double)run->result.reached_arcs / 2;
}

static double rate_of(const struct wh_sssp_run *run)
{
	return run->seconds > 0 ? edges_of(run) / run->seconds : 0;
}

static double sequential_of(const struct wh_sssp_run *run)
{
	return run->sequential_s > 0 ? edges_of(run) / run->sequential_s : 0;
}

static double seconds_of(const struct wh_sssp_run *run)
{
	return run->seconds;
}

/* How many arcs were looked at for each that there is: 1 where no vertex was looked at twice. */
static double again_of(const struct wh_sssp_run *run)
{
	return run->result.reached_arcs == 0 ? 1 : (double)run->result.scanned / (double)run->result.reached_arcs;
}

static double told_of(const struct wh_sssp_run *run)
{
	return run->result.reached_arcs == 0 ? 0 : (double)run->result.relaxations / edges_of(run);
}

static json_t *list_runs(const struct wh_sssp *sssp)
{
	json_t *list = json_array();

	for (uint32_t r = 0; r < sssp->runs; r++) {
		const struct wh_sssp_run *run = &sssp->list[r];
		json_t *one = json_pack("{s:I, s:I, s:I, s:I, s:f, s:f, s:I, s:I, s:I, s:I}", "root",
					(json_int_t)run->root, "reached", (json_int_t)run->result.reached, "edges",
					(json_int_t)(run->result.reached_arcs / 2), "distance_sum",
					(json_int_t)run->result.distance_sum, "seconds", run->seconds, "teps",
					rate_of(run), "scanned", (json_int_t)run->result.scanned, "relaxations",
					(json_int_t)run->result.relaxations, "batches", (json_int_t)run->result.batches,
					"waves", (json_int_t)run->waves);

		if (one != NULL && sssp->check)
			json_object_set_new(one, "sequential_teps", json_real(sequential_of(run)));
		json_array_append_new(list, one);
	}
	return list;
}

static json_t *json_of(struct figure figure)
{
	return json_pack("{s:f, s:f, s:f}", "median", figure.median, "least", figure.least, "most", figure.most);
}

static bool write_json(const struct wh_sssp *sssp)
{
	json_t *root =
		json_pack("{s:s, s:s, s:i, s:i, s:i, s:i, s:I, s:b, s:o, s:o, s:o}", "command", "sssp", "transport",
			  sssp->transport, "nodes", (int)sssp->nodes, "workers", (int)sssp->workers, "scale",
			  (int)sssp->plan.scale, "degree", (int)sssp->plan.degree, "seed", (json_int_t)sssp->plan.seed,
			  "checked", sssp->check, "teps", json_of(figure_of(sssp, rate_of)), "seconds",
			  json_of(figure_of(sssp, seconds_of)), "runs", list_runs(sssp));
	FILE *file;
	bool good;

	if (root != NULL && sssp->check)
		json_object_set_new(root, "sequential_teps", json_of(figure_of(sssp, sequential_of)));
	file = root == NULL ? NULL : fopen(sssp->json, "we");
	good = file != NULL &&
	       json_dumpf(root, file, JSON_INDENT(1) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(6)) == 0 &&
	       fputc('\n', file) != EOF;
	if (file != NULL)
		good = fclose(file) == 0 && good;
	if (!good)
		wh_say("%s: %s", sssp->json, strerror(errno));
	json_decref(root);
	return good;
}

static enum wh_exit tell(const struct wh_sssp *sssp)
{
	struct figure rate = figure_of(sssp, rate_of), one = figure_of(sssp, sequential_of);

	printf("scale %" PRIu32 " degree %" PRIu32 " nodes %" PRIu32 " workers %" PRIu32 " runs %" PRIu32
	       " teps %.0f (%.0f-%.0f) seconds %.6f scanned %.3f relaxations %.4f",
	       sssp->plan.scale, sssp->plan.degree, sssp->nodes, sssp->workers, sssp->runs, rate.median, rate.least,
	       rate.most, figure_of(sssp, seconds_of).median, figure_of(sssp, again_of).median,
	       figure_of(sssp, told_of).median);
	if (sssp->check)
		printf(" checked sequential_teps %.0f (%.0f-%.0f)", one.median, one.least, one.most);
	putchar('\n');
	if (!wh_flush_file(stdout, "stdout"))
		return WH_EXIT_FAILED;
	return sssp->json == NULL || write_json(sssp) ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}

/* ---- the graph ------------------------------------------------------------------------------------------------------------------ */

/* Of all processes. With --check the queue of the parent comes to it, which is at most the arcs, and seldom a tenth of them. */
static uint64_t bytes_of(const struct wh_sssp *sssp)
{
	uint64_t bytes = wh_graph_bytes(&sssp->plan) + sssp->parts * wh_paths_bytes(&sssp->plan, sssp->parts);

	if (sssp->check)
		bytes += (2 * sizeof(uint32_t) + 2 * sizeof(uint64_t)) * (uint64_t)wh_graph_vertices(&sssp->plan);
	return bytes;
}

/* Memory that the system could give now; UINT64_MAX if it does not say. */
static uint64_t available_bytes(void)
{
	FILE *file = fopen("/proc/meminfo", "re");
	uint64_t kib, found = UINT64_MAX;
	char line[256];

	if (file == NULL)
		return UINT64_MAX;
	while (fgets(line, sizeof(line), file) != NULL)
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			found = kib * 1024;
	fclose(file);
	return found;
}

static bool fits(const struct wh_sssp *sssp)
{
	uint64_t bytes = bytes_of(sssp), free_bytes = available_bytes();

	if (bytes <= free_bytes)
		return true;
	wh_say("sssp: a graph of scale %" PRIu32 " with %" PRIu32
	       " edges for each vertex takes %.1f GB here, and %.1f GB "
	       "of memory are free",
	       sssp->plan.scale, sssp->plan.degree, (double)bytes / 1e9, (double)free_bytes / 1e9);
	return false;
}

struct making {
	struct wh_sssp *sssp;
	uint64_t begun;
};

static bool show_making(void *ctx, double done)
{
	const struct making *making = ctx;
	char text[64];

	wh_watch_wait(&making->sssp->watch, 0);
	snprintf(text, sizeof(text), "sssp: the graph: %.0f %%", 100 * done);
	if (wh_clock_ns() - making->begun > SECOND)
		wh_progress(text);
	return making->sssp->watch.interrupted == 0;
}

static void choose_roots(struct wh_sssp *sssp)
{
	for (uint32_t run = 0; run < sssp->runs; run++)
		sssp->list[run].root =
			sssp->root != UINT64_MAX ? (uint32_t)sssp->root : wh_graph_root(&sssp->graph, run);
}

static enum wh_exit make_graph(struct wh_sssp *sssp)
{
	struct making making = {sssp, wh_clock_ns()};
	size_t vertices = wh_graph_vertices(&sssp->plan);

	if (!fits(sssp))
		return WH_EXIT_MACHINE;
	sssp->handles = wh_shared_alloc((size_t)sssp->parts * sssp->nodes * sizeof(*sssp->handles), false);
	if (sssp->check)
		sssp->distances = wh_shared_alloc(vertices * sizeof(*sssp->distances), false);
	if (sssp->handles == NULL || (sssp->check && sssp->distances == NULL) ||
	    !wh_graph_make(&sssp->graph, &sssp->plan, 0, (uint32_t)vertices, show_making, &making)) {
		wh_progress("");
		if (sssp->watch.interrupted != 0)
			return WH_EXIT_INTERRUPTED;
		wh_say("sssp: no memory");
		return WH_EXIT_MACHINE;
	}
	wh_progress("");
	choose_roots(sssp);
	return WH_EXIT_GOOD;
}

static void free_all(struct wh_sssp *sssp)
{
	wh_graph_free(&sssp->graph);
	wh_shared_free(sssp->handles, (size_t)sssp->parts * sssp->nodes * sizeof(*sssp->handles));
	if (sssp->distances != NULL)
		wh_shared_free(sssp->distances, wh_graph_vertices(&sssp->plan) * sizeof(*sssp->distances));
	wh_shared_free(sssp, sizeof(*sssp));
}

/* ---- the command line ------------------------------------------------------------------------------------------------------------ */

static bool find_ports(unsigned *ports, uint32_t count)
{
	int sockets[WH_SSSP_NODES];
	bool good = true;

	for (uint32_t i = 0; i < count; i++) {
		struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
		socklen_t length = sizeof(at);

		sockets[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		good = good && sockets[i] >= 0 && bind(sockets[i], (struct sockaddr *)&at, sizeof(at)) == 0 &&
		       getsockname(sockets[i], (struct sockaddr *)&at, &length) == 0;
		ports[i] = ntohs(at.sin_port);
	}
	for (uint32_t i = 0; i < count; i++)
		if (sockets[i] >= 0)
			close(sockets[i]);
	if (!good)
		wh_say("sssp: no ports: %s", strerror(errno));
	return good;
}

static bool configure(struct wh_sssp *sssp)
{
	unsigned ports[WH_SSSP_NODES];
	size_t at;

	if (!find_ports(ports, sssp->nodes))
		return false;
	at = (size_t)snprintf(sssp->config, sizeof(sssp->config),
			      "[group]\nname = sssp-%d-%u\nnodes = %" PRIu32 "\ntransport = %s\n[subgroup all]\n",
			      (int)getpid(), (unsigned)(wh_clock_ns() / 1000000), sssp->nodes, sssp->transport);
	for (uint32_t id = 0; id < sssp->nodes && strcmp(sssp->transport, "shm") != 0; id++)
		at += (size_t)snprintf(sssp->config + at, sizeof(sssp->config) - at,
				       "[node %" PRIu32 "]\naddress = 127.0.0.1:%u\n", id, ports[id]);
	return true;
}

enum {
	KEY_NODES = 256,
	KEY_WORKERS,
	KEY_SCALE,
	KEY_DEGREE,
	KEY_SEED,
	KEY_ROOT,
	KEY_RUNS,
	KEY_TRANSPORT,
	KEY_ARC,
	KEY_CHECK,
	KEY_JSON
};

static const struct argp_option options[] = {
	{"nodes", KEY_NODES, "N", 0, "Processes, 1 to 64 (2)", 0},
	{"workers", KEY_WORKERS, "N", 0, "Of each, 1 to 16 (1)", 0},
	{"scale", KEY_SCALE, "S", 0, "The graph has 2^S vertices, 1 to 30 (16)", 0},
	{"degree", KEY_DEGREE, "N", 0, "And so many times as many edges, 1 to 1024 (16)", 0},
	{"seed", KEY_SEED, "N", 0, "Of the graph, and of the vertices that runs begin with (1)", 0},
	{"root", KEY_ROOT, "V", 0, "All runs begin with this vertex (each with another one, that has edges)", 0},
	{"runs", KEY_RUNS, "N", 0, "1 to 1000 (8)", 0},
	{"transport", KEY_TRANSPORT, "T", 0,
	 "shm, tcp or verbs; or sim: in virtual time, on the machine that 'whorl bench' simulates (shm)", 0},
	{"arc-ns", KEY_ARC, "NS", 0,
	 "Of sim: how long it takes to look at an arc, or to receive a relaxation, 0 to 1000000 (10)", 0},
	{"check", KEY_CHECK, NULL, 0, "Compares all distances with those of Dijkstra's algorithm in one program", 0},
	{"json", KEY_JSON, "FILE", 0, "The results, as JSON", 0},
	{NULL, 0, NULL, 0, NULL, 0},
};

static void take_transport(struct wh_sssp *sssp, const char *name, struct argp_state *state)
{
	if (strcmp(name, "shm") != 0 && strcmp(name, "tcp") != 0 && strcmp(name, "verbs") != 0 &&
	    strcmp(name, "sim") != 0)
		argp_error(state, "--transport is \"%s\", expected shm, tcp, verbs or sim", name);
	sssp->transport = name;
}

/* What can be said of one only when all are known. */
static void take_all(struct wh_sssp *sssp, struct argp_state *state)
{
	sssp->parts = sssp->nodes * sssp->workers;
	if (sssp->root != UINT64_MAX && sssp->root >= wh_graph_vertices(&sssp->plan))
		argp_error(state,
			   "--root is %" PRIu64 ", and a graph of scale %" PRIu32 " has the vertices 0 to %" PRIu32,
			   sssp->root, sssp->plan.scale, wh_graph_vertices(&sssp->plan) - 1);
}

static error_t parse_more(int key, char *argument, struct argp_state *state)
{
	struct wh_sssp *sssp = state->input;

	switch (key) {
	case KEY_TRANSPORT:
		take_transport(sssp, argument, state);
		return 0;
	case KEY_ARC:
		sssp->arc_ns = (double)wh_option_number(state, "--arc-ns", argument, 0, 1000000);
		return 0;
	case KEY_CHECK:
		sssp->check = true;
		return 0;
	case KEY_JSON:
		sssp->json = argument;
		return 0;
	case ARGP_KEY_ARG:
		argp_error(state, "\"%s\" is one word too many", argument);
		return 0;
	case ARGP_KEY_END:
		take_all(sssp, state);
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

static error_t parse_option(int key, char *argument, struct argp_state *state)
{
	struct wh_sssp *sssp = state->input;

	switch (key) {
	case KEY_NODES:
		sssp->nodes = (uint32_t)wh_option_number(state, "--nodes", argument, 1, WH_SSSP_NODES);
		return 0;
	case KEY_WORKERS:
		sssp->workers = (uint32_t)wh_option_number(state, "--workers", argument, 1, WH_SSSP_WORKERS);
		return 0;
	case KEY_SCALE:
		sssp->plan.scale = (uint32_t)wh_option_number(state, "--scale", argument, 1, WH_GRAPH_SCALE_MOST);
		return 0;
	case KEY_DEGREE:
		sssp->plan.degree = (uint32_t)wh_option_number(state, "--degree", argument, 1, WH_GRAPH_DEGREE_MOST);
		return 0;
	case KEY_SEED:
		sssp->plan.seed = wh_option_number(state, "--seed", argument, 0, INT64_MAX);
		return 0;
	case KEY_ROOT:
		sssp->root = wh_option_number(state, "--root", argument, 0, UINT32_MAX);
		return 0;
	case KEY_RUNS:
		sssp->runs = (uint32_t)wh_option_number(state, "--runs", argument, 1, WH_SSSP_RUNS);
		return 0;
	default:
		return parse_more(key, argument, state);
	}
}

static const char doc[] =
	"Shortest paths from one vertex to all others, on a graph whose vertices are divided among the workers of all nodes.\v"
	"The graph is Graph500's: Kronecker, with weights that are all alike from 1 to 65535; the same for the same seed, whatever the number of "
	"nodes. Each worker takes the nearest of its vertices, and sends what follows for others' as functions, many in one call.\n"
	"\n"
	"One line: 'teps', traversed edges in a second, as Graph500 counts them: edges between vertices that were reached, once each; the median of "
	"all runs, the least and the most; the median time of a run; how often an arc was looked at; relaxations that were sent for each edge; "
	"with --check 'checked', and how fast Dijkstra's algorithm is in one program.\n"
	"\n"
	"Exit status: 0 good, 1 distances are wrong, a node has ended, or a file failed, 2 the command line, 3 the machine lacks something, 130 "
	"interrupted.";

static enum wh_exit run(struct wh_sssp *sssp)
{
	struct wh_crew crew;
	struct wh_error err;
	bool good;

	if (!configure(sssp))
		return WH_EXIT_MACHINE;
	if (wh_crew_start(&crew, &sssp->watch, sssp->nodes, true, be_player, sssp, &err) != WHORL_OK) {
		wh_say("%s", err.text);
		return WH_EXIT_MACHINE;
	}
	good = run_all(sssp, &crew);
	wh_progress("");
	wh_phase_set(&sssp->phase, WH_SSSP_END);
	(void)wh_crew_end(&crew, 10000);
	if (sssp->watch.interrupted != 0)
		return WH_EXIT_INTERRUPTED;
	return good ? WH_EXIT_GOOD : WH_EXIT_FAILED;
}

int wh_delegate_sssp_main(int argc, char **argv)
{
	static const struct argp argp = {options, parse_option, NULL, doc, NULL, NULL, NULL};
	struct wh_sssp *sssp = wh_shared_alloc(sizeof(*sssp), false);
	enum wh_exit status = WH_EXIT_MACHINE;
	struct wh_error err;

	if (sssp == NULL) {
		wh_say("no memory");
		return WH_EXIT_MACHINE;
	}
	sssp->nodes = 2;
	sssp->workers = 1;
	sssp->runs = 8;
	sssp->plan = (struct wh_graph_plan){.scale = 16, .degree = 16, .seed = 1};
	sssp->root = UINT64_MAX;
	sssp->arc_ns = 10;
	sssp->transport = "shm";
	argp_parse(&argp, argc, argv, 0, NULL, sssp);
	if (wh_watch_open(&sssp->watch, &err) != WHORL_OK)
		wh_say("%s", err.text);
	else
		status = make_graph(sssp);
	if (status == WH_EXIT_GOOD)
		status = strcmp(sssp->transport, "sim") == 0 ? wh_sssp_simulate(sssp) : run(sssp);
	if (status == WH_EXIT_GOOD)
		status = tell(sssp);
	free_all(sssp);
	return status;
}
