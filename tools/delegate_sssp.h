/* delegate_sssp.h - `whorl delegate sssp`: shortest paths over trusts.
 *
 *     delegate_sssp.c        the command line, the parent, and what came of it
 *     delegate_sssp_part.c   a node: the properties, their functions, and the fiber that looks whether it has ended
 *     delegate_sssp_sim.c    all nodes in virtual time
 *
 * Each worker of each node has a property: a part of the vertices (bench/paths.h). Relaxations go there as a function of bytes. While a part has
 * something to do it sends itself a function, so what comes from others has its turn in between; it sleeps otherwise. A fiber of worker 0
 * of node 0 begins each run, and collects the waves by which it learns that all is done.
 */
#ifndef WH_TOOLS_DELEGATE_SSSP_H
#define WH_TOOLS_DELEGATE_SSSP_H

#include <whorl/delegate.h>

#include "base/env.h"
#include "bench/graph.h"
#include "bench/paths.h"
#include "command/crew.h"
#include "command/output.h"

#define WH_SSSP_NODES 64
#define WH_SSSP_WORKERS 16
#define WH_SSSP_RUNS 1000
#define WH_SSSP_OPEN_MS 60000

struct wh_sssp_run { /* [node 0, when it is over] */
	uint32_t root;
	double seconds, sequential_s; /* sequential_s: [the parent] of one program, with --check */
	uint64_t waves;
	struct wh_paths_result result; /* of all parts */
};

struct wh_sssp { /* in memory that all processes share */
	/* [const] */
	uint32_t nodes, workers, parts, runs;
	struct wh_graph_plan plan;
	uint64_t root; /* UINT64_MAX: drawn anew for each run */
	double arc_ns; /* in simulation: what it takes to look at one, or to receive a relaxation */
	bool check;
	const char *transport, *json;
	char config[8192];
	struct wh_graph graph;
	/* Each part's handle for each node: [part * nodes + node]. [the node of the part, before it says that it is there] */
	struct whorl_trust *handles;
	uint32_t *distances; /* of the last run, with --check. [each part its own, when the run is over] */
	struct wh_watch watch;
	struct wh_phase phase;
	_Atomic uint32_t reached[WH_SSSP_NODES]; /* the phase that the node is through with */
	struct wh_sssp_run list[WH_SSSP_RUNS];
};

struct wh_sssp_player { /* a node, for itself */
	struct wh_sssp *sssp;
	const struct wh_env *clock; /* NULL: the monotonic one */
	uint32_t number;
	whorl_node *node;
	whorl_work *work;
	struct whorl_trust *trusts;               /* of all parts. [const] once they are there */
	uint32_t met;                             /* so many parts have been called */
	_Atomic uint32_t failed;                  /* relaxations did not get to where they should. Any worker */
	_Atomic uint64_t worked[WH_SSSP_WORKERS]; /* arcs and relaxations that were looked at. [the worker] */
};

/* ---- delegate_sssp_part.c ---- */

uint64_t wh_sssp_now(const struct wh_sssp_player *player);
/* The work of a node, and its parts, handles of which go to the others. Each false: it was said why. */
bool wh_sssp_open_work(struct wh_sssp_player *player);
bool wh_sssp_open_parts(struct wh_sssp_player *player);
/* Takes the others' handles, when all are there, and calls each. WHORL_OK; WHORL_AGAIN: not all nodes have met yet: again a little later; the others: it was said. */
WH_MUST_CHECK enum whorl_result wh_sssp_meet(struct wh_sssp_player *player);
/* Starts the fiber of a run, at node 0. Its result is a uint32_t: 1, all good; else it was said why. *shared is to be dropped when it has ended. */
WH_MUST_CHECK enum whorl_result wh_sssp_spawn(struct wh_sssp_player *player, uint32_t run, struct whorl_join *join,
					      whorl_shared **shared);
void wh_sssp_close(struct wh_sssp_player *player, int timeout_ms);

/* ---- delegate_sssp.c ---- */

#define WH_SSSP_END UINT32_C(100000) /* the phase in which all close */

/* Compares the distances of a run with those of one program. False: they differ, or there is no memory; it was said. */
bool wh_sssp_check(struct wh_sssp *sssp, uint32_t run);

/* ---- delegate_sssp_sim.c ---- */

/* All runs, in virtual time. WH_EXIT_GOOD: what came of it is in `sssp`. */
enum wh_exit wh_sssp_simulate(struct wh_sssp *sssp);

#endif
