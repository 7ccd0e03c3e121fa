/* dormant_host.h - processes in virtual time, each with a node and a disk, for programs that enter durable subgroups while the group runs.
 *
 * A node is stepped at a pace of its own; one that has nothing to do sleeps until it is rung. What a program does besides are events that do not
 * wait. A process that was killed makes no pass any more; one that has lost its power has of its disk what was synced, and any part of the rest.
 */
#ifndef WH_TESTS_SIM_DORMANT_HOST_H
#define WH_TESTS_SIM_DORMANT_HOST_H

#include <whorl/whorl.h>

#include "base/env.h"
#include "sim/net/sim.h"
#include "transport/dice.h"

#define DORMANT_LOG_DIR "disk"

struct dormant_world;
struct dormant_process;

struct dormant_world_options {
	uint64_t seed;
	uint32_t founders; /* ids below: they form the group, all of them */
	uint32_t ids;
	bool one_host;         /* with one disk; and deaths are proved */
	const char *subgroups; /* sections of the file */
	uint32_t batch_bytes;  /* of logs; 0: as in programs */
	struct wh_sim_disk_cost cost;
	bool verbose;
};

/* NULL: memory is out. */
struct dormant_world *dormant_world_new(const struct dormant_world_options *options);
/* All processes have ended. */
void dormant_world_free(struct dormant_world *world);

struct dormant_program {                             /* what a process does */
	void (*opened)(void *ctx, whorl_node *node); /* before it is started */
	void (*passed)(void *ctx);                   /* after each pass */
	void *ctx;
};

/* One more; the last life of that id has ended. NULL: its node does not open: dormant_broken says why; or, on one host, not now. */
struct dormant_process *dormant_process_new(struct dormant_world *world, uint32_t id,
					    const struct dormant_program *program);
/* Its program has failed; its host goes on. */
void dormant_kill(struct dormant_process *process);
/* The host of that node, on one host that of all, loses its power, and has it again at once. */
void dormant_cut_power(struct dormant_world *world, uint32_t id);
/* That happens in the operation of its disk which comes so much later; 0: none. */
void dormant_cut_power_at(struct dormant_process *process, uint64_t operations);
/* Soon, in order, within that time. */
void dormant_close(struct dormant_process *process, int timeout_ms);
void dormant_stall(struct dormant_process *process, uint64_t ns);
/* For so long nothing comes through between the two nodes. Not on one host. */
void dormant_cut(struct dormant_world *world, uint32_t one, uint32_t other, uint64_t ns);
/* Another disk, an empty one. Its process has ended. */
void dormant_replace_disk(struct dormant_world *world, uint32_t id);
/* Of a job of its program: time passes. */
void dormant_nap(struct dormant_process *process, uint64_t ns);

/* NULL: it is closed, or is being closed, or was killed. */
whorl_node *dormant_node(const struct dormant_process *process);
/* The same, also while it is being closed. */
whorl_node *dormant_node_until_closed(const struct dormant_process *process);
bool dormant_is_dead(const struct dormant_process *process);
bool dormant_has_ended(const struct dormant_process *process);
/* What whorl_close has said, if it was closed in order. */
enum whorl_result dormant_close_result(const struct dormant_process *process);

/* The next thing happens. False: nothing does before that time, or a check has failed. */
bool dormant_step(struct dormant_world *world, uint64_t until_ns);
/* fn(ctx, argument) is called so much later. */
void dormant_after(struct dormant_world *world, uint64_t ns, wh_sim_fn *fn, void *ctx, uint64_t argument);
uint64_t dormant_now(const struct dormant_world *world);
uint64_t dormant_digest(const struct dormant_world *world);
struct wh_sim_disk *dormant_disk(const struct dormant_world *world, uint32_t id);
/* Of the library, and of the host: NULL, or what is broken. */
const char *dormant_broken(const struct dormant_world *world);

#endif
