/* host.h - what the worlds of processes in virtual time share: a simulated network, nodes that are opened in it, and the passes of their loops.
 *
 * A loop, or a worker, is stepped at a pace of its own; one that has nothing to do sleeps until it is rung, as its thread would. What a process
 * does besides is the matter of its world (topics_host.h, delegates_host.h, dormant_host.h), of which a `struct host` is the first field.
 */
#ifndef WH_TESTS_SIM_HOST_H
#define WH_TESTS_SIM_HOST_H

#include <whorl/whorl.h>

#include "base/env.h"
#include "group/node.h"
#include "sim/net/sim.h"
#include "transport/dice.h"

struct host_options {
	uint64_t seed, steps_max;
	uint32_t ids;
	bool one_host;       /* and deaths are proved */
	const char *log_dir; /* on each disk; NULL: there are no disks */
	struct wh_sim_disk_cost cost;
	bool verbose;
	enum wh_log_level level; /* what is printed if it is */
};

struct host {
	struct host_options options;
	struct wh_sim *sim;
	struct wh_dice dice;
	uint64_t steps, numbers;
	bool closing; /* a node is being closed: one at a time */
	char broken[256];
};

/* `net` has the callbacks of the world and, as `ctx`, the world. False: memory is out; host_close is called in any case. */
bool host_open(struct host *host, const struct host_options *options, struct wh_sim_options net);
void host_close(struct host *host);

/* The next thing happens. False: nothing does before that time, or a check has failed. */
bool host_step(struct host *host, uint64_t until_ns);
uint64_t host_now(const struct host *host);
/* The first that is said counts. */
void host_fail(struct host *host, const char *what);
/* Of the library, and of the host: NULL, or what is broken. */
const char *host_broken(const struct host *host);
/* For so long nothing comes through between the two nodes. False: not on one host, or the two are one. */
bool host_cut(struct host *host, uint32_t one, uint32_t other, uint64_t ns);
/* Dice of the next process. */
struct wh_dice host_dice(struct host *host);

/* ---- nodes ----------------------------------------------------------------------------------------------------------------------- */

struct wh_world host_world(const struct host *host, uint32_t id);
/* In a group that `text` configures. `joins`: one that is there. */
enum whorl_result host_open_node(struct host *host, uint32_t id, const char *text, bool joins, uint32_t batch_bytes,
				 whorl_node **out, struct wh_error *err);
/* Others go on meanwhile; `closing` is not set. `dead`: its process was killed, and what is left of it is freed. */
enum whorl_result host_close_node(struct host *host, uint32_t id, whorl_node *node, bool dead, int timeout_ms);

/* ---- passes ---------------------------------------------------------------------------------------------------------------------- */

struct host_thread { /* a thread of the library: a node's, or a worker's; the fields up to `ctx` are set by the caller */
	struct host *host;
	const struct host_passes *passes;
	struct wh_dice *dice;
	uint32_t id, lane;
	void *ctx;
	uint64_t pace_ns, turn;
	uint32_t idle;
	bool asleep;
};

struct host_passes {
	bool (*is_there)(const void *ctx);
	uint64_t (*stalled_until_ns)(const void *ctx);
	uint64_t (*next_ns)(const void *ctx); /* by its own clock; UINT64_MAX: it waits for a ring alone */
	size_t (*make)(void *ctx, bool last_look);
};

uint64_t host_pace(struct wh_dice *dice);
/* Its next pass comes soon. `pace_ns` is set. */
void host_turn_soon(struct host_thread *thread);
/* NULL is fine. */
void host_rung(struct host_thread *thread);

#endif
