/* topics_host.h - processes in virtual time, each with a node in the simulated network and threads that are fibers: a host for participants
 * (dds/base/host.h).
 *
 * The programs use include/whorl/dds.h as they are. One thread goes on at a time, and others do where one waits or calls the node. A thread that
 * waits is woken when its time has come, when a pass of its node has done something, and now and then. A process that has been killed makes no pass
 * any more; its threads find each wait at its end, so that they come to their own and leave nothing behind.
 */
#ifndef WH_TESTS_SIM_TOPICS_HOST_H
#define WH_TESTS_SIM_TOPICS_HOST_H

#include "base/error.h"
#include "dds/base/host.h"
#include "sim/net/sim.h"
#include "transport/dice.h"

#define TOPICS_REAL_NS (UINT64_C(1700000000) * WH_NS_PER_S) /* what the real clock says at the world's beginning */

struct topics_world;
struct topics_process;

struct topics_world_options {
	uint64_t seed;
	uint32_t founders; /* ids below: they form the group, all of them */
	uint32_t ids;
	bool one_host;      /* and deaths are proved */
	const char *topics; /* sections of the file that all participants have */
	bool disks;         /* the group has a directory; then a process that comes need not find a group */
	struct wh_sim_disk_cost cost;
	/* Of logs, as in struct wh_node_config; 0: as usual. */
	uint32_t batch_bytes;
	uint64_t log_bytes, check_ns;
	bool verbose;
};

/* While it is there participants are in it. NULL: memory is out. */
struct topics_world *topics_world_new(const struct topics_world_options *options);
/* The file that participants are to be given. */
const char *topics_file(const struct topics_world *world);
/* All processes have ended. */
void topics_world_free(struct topics_world *world);

/* One more: its first thread is `fn`; the last life of that id has ended, or was killed. It comes to a group that is there, or is one of those that
 * form it. NULL: memory is out. */
struct topics_process *topics_process_new(struct topics_world *world, uint32_t id, bool joins, void (*fn)(void *ctx),
					  void *ctx);
/* False: not now, as its node is being closed. */
bool topics_kill(struct topics_process *process);
/* The host of that id loses its power, and has it again: its process ends, and all of them on one host. Also in the midst of a close. */
void topics_cut_power(struct topics_world *world, uint32_t id);
/* For so long nothing comes through between the two nodes. False: not on one host. */
bool topics_cut(struct topics_world *world, uint32_t one, uint32_t other, uint64_t ns);
/* NULL: no process of that id has one, or lives. */
const whorl_node *topics_node(const struct topics_world *world, uint32_t id);
/* What that id has on its disk goes; its process has ended. Not on one host, where there is one disk. */
void topics_lose_disk(struct topics_world *world, uint32_t id);
/* A bit of it turns. False: of none that may. */
bool topics_rot(struct topics_world *world, uint32_t id, struct wh_dice *dice);
void topics_stall(struct topics_process *process, uint64_t ns);
bool topics_is_dead(const struct topics_process *process);
/* The number of the view in which that subgroup began that its node is in; 0: it is in none of that name. */
uint64_t topics_birth(const struct topics_process *process, const char *subgroup);
/* Its node has failed for good: it was removed, or cut off. One that was killed has, if others had removed it before, though it stood still and did
 * not see that. */
bool topics_has_failed(const struct topics_process *process);
/* None of its threads is there any more. */
bool topics_has_ended(const struct topics_process *process);

/* The next thing happens. False: nothing does before that time, or a check has failed. */
bool topics_step(struct topics_world *world, uint64_t until_ns);
uint64_t topics_now(const struct topics_world *world);
/* Of the library, and of the host: NULL, or what is broken. */
const char *topics_broken(const struct topics_world *world);

/* In a thread. */
void topics_sleep(struct topics_world *world, uint64_t ns);

#endif
