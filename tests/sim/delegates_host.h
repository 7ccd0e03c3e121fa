/* delegates_host.h - processes in virtual time, each with a node in the simulated network and workers on lanes of it (include/whorl/delegate.h).
 *
 * Node and workers are stepped one at a time, each at its own pace; one that has nothing to do sleeps until it is rung, as its thread would,
 * and its worker is lent meanwhile. What a program does beside its workers is one more thread of it, which looks at its answers while it waits:
 * then all others go on. A process that was killed makes no pass any more.
 */
#ifndef WH_TESTS_SIM_DELEGATES_HOST_H
#define WH_TESTS_SIM_DELEGATES_HOST_H

#include <whorl/delegate.h>

#include "base/env.h"
#include "transport/dice.h"

struct delegates_world;
struct delegates_process;

struct delegates_world_options {
	uint64_t seed;
	uint32_t founders; /* ids below: they form the group, all of them */
	uint32_t ids;
	bool one_host; /* and deaths are proved */
	bool verbose;
	const char *subgroup; /* lines of the configuration for the subgroup, which is called `all`; NULL: none */
};

/* NULL: memory is out. */
struct delegates_world *delegates_world_new(const struct delegates_world_options *options);
/* All processes have ended. */
void delegates_world_free(struct delegates_world *world);

struct delegates_program { /* what a process does: all of it outside of its workers */
	struct whorl_work_options work;
	bool joins; /* a group that is there; else it is one of those that form it */
	/* NULL, or the work is opened before the node is started, and this is called between the two. */
	void (*serve)(void *ctx, whorl_work *work, whorl_node *node);
	/* Its node is a member, and its workers are there. */
	void (*begin)(void *ctx, whorl_work *work);
	/* Now and then: it may call, and wait. */
	void (*act)(void *ctx);
	void *ctx;
};

/* One more; the last life of that id has ended. NULL: memory is out. */
struct delegates_process *delegates_process_new(struct delegates_world *world, uint32_t id,
						const struct delegates_program *program);
/* False: not now, as it is being closed. */
bool delegates_kill(struct delegates_process *process);
/* Closes its work and its node, soon, and lets what it has under way end. */
void delegates_leave(struct delegates_process *process);
/* All of it stands still for so long; or one of its workers. */
void delegates_stall(struct delegates_process *process, uint64_t ns);
void delegates_stall_worker(struct delegates_process *process, uint32_t worker, uint64_t ns);
/* For so long nothing comes through between the two nodes. False: not on one host. */
bool delegates_cut(struct delegates_world *world, uint32_t one, uint32_t other, uint64_t ns);

bool delegates_is_dead(const struct delegates_process *process);
/* It was asked to leave, or has. */
bool delegates_leaves(const struct delegates_process *process);
/* Its node has failed for good: it was removed, or cut off. */
bool delegates_has_failed(const struct delegates_process *process);
bool delegates_has_ended(const struct delegates_process *process);
whorl_work *delegates_work(const struct delegates_process *process); /* NULL: not yet, or no more */

/* The next thing happens. False: nothing does before that time, or a check has failed. */
bool delegates_step(struct delegates_world *world, uint64_t until_ns);
uint64_t delegates_now(const struct delegates_world *world);
uint64_t delegates_digest(const struct delegates_world *world);
/* Of the library, and of the host: NULL, or what is broken. */
const char *delegates_broken(const struct delegates_world *world);

#endif
