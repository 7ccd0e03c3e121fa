/* machine.h - a cluster in virtual time: nodes with processors and network cards that cost what a model says.
 *
 * What a schedule of `whorl sim` draws at random is counted here: how long each thing takes. Each node is the library, in the
 * transport of the simulator with the card of `[nic]` (sim/net/card.c). A node has processors: one makes passes of its loop,
 * others are threads of its application, all of them fibers. Time passes for a processor where it works (`[cpu]`) and where it posts, in the
 * middle of a pass too; all others go on meanwhile, and see the memory that they share as it is by then. A processor that waits
 * polls, at no cost to others. So nothing is drawn but `jitter`, and the same seed gives the same run.
 *
 * Threads: all of it is for one thread.
 */
#ifndef WH_SIM_MACHINE_H
#define WH_SIM_MACHINE_H

#include <whorl/whorl.h>

#include "base/env.h"
#include "base/option.h"
#include "conf/conf.h"
#include "group/config/config.h"
#include "sim/disk.h"

struct wh_nic_options { /* [nic] */
	int64_t link_mb_per_s, latency_ns, latency_4k_ns, inline_bytes;
	int64_t post_ns, write_ns, card_ns, turn_bytes;
	int64_t memory_mb_per_s, queue_pairs, queue_pair_ns, port_bytes;
};

enum wh_cpu_preset { WH_CPU_LIBRARY, WH_CPU_PAPER };

struct wh_cpu_options { /* [cpu] */
	int preset;     /* enum wh_cpu_preset */
	bool lock;
	int64_t pass_ns, trigger_ns, subgroup_ns, member_ns, miss_ns;
	int64_t message_ns, deliver_ns, upcall_ns, send_ns;
	int64_t copy_mb_per_s;
	int64_t jitter;
};

extern const struct wh_option_table wh_nic_table, wh_cpu_table;

/* [cpu] of that variant: what the file does not say is what its preset does. */
void wh_cpu_bind(const struct wh_conf *conf, size_t variant, struct wh_cpu_options *out);

struct wh_machine_config {
	uint32_t nodes;
	uint64_t seed;
	struct wh_nic_options nic;
	struct wh_cpu_options cpu;
	bool disks; /* each node has one, empty at first, with the directory "disk" */
	struct wh_sim_disk_cost
		disk; /* what its operations take; the thread that waits for them takes nothing of a processor */
	void (*log)(void *ctx, uint32_t node, enum wh_log_level level, const char *line); /* NULL: none */
	void *log_ctx;
};

struct wh_machine;

/* WHORL_OK, WHORL_MEMORY, WHORL_INVALID. */
WH_MUST_CHECK enum whorl_result wh_machine_new(struct wh_machine **out, const struct wh_machine_config *config,
					       struct wh_error *err);
/* All nodes have been closed. Processors that have not ended are given up. */
void wh_machine_free(struct wh_machine *machine);

/* A clock that is the same for all nodes: now_ns only. Lives as long as the machine. */
const struct wh_env *wh_machine_clock(const struct wh_machine *machine);

/* A node. Its passes are made here whatever engine.thread says. The results of whorl_open. */
WH_MUST_CHECK enum whorl_result wh_machine_open(struct wh_machine *machine, const struct wh_node_config *config,
						uint32_t id, const struct whorl_open_options *options,
						whorl_node **node, struct wh_error *err);

/* What a processor of node `id` does; it has ended when fn returns. WHORL_OK, WHORL_MEMORY. */
typedef void wh_machine_fn(void *ctx);
WH_MUST_CHECK enum whorl_result wh_machine_thread(struct wh_machine *machine, uint32_t id, wh_machine_fn *fn,
						  void *ctx);
/* One that makes passes of the loop, and before each calls `before` (NULL: nothing), until wh_machine_stop. The node has been
 * started. */
WH_MUST_CHECK enum whorl_result wh_machine_loop(struct wh_machine *machine, uint32_t id, wh_machine_fn *before,
						void *ctx);
/* Before nodes are closed: lets loops end after the pass that they are in, and other processors come to where they end or wait. They never
 * go on from there. */
void wh_machine_stop(struct wh_machine *machine);

/* Makes the next thing happen. False: nothing will, before that time. */
bool wh_machine_step(struct wh_machine *machine, uint64_t until_ns);
/* What an invariant of a node has to say; NULL: nothing. */
const char *wh_machine_verdict(const struct wh_machine *machine);
/* How long the processors of a node have worked: not with passes that found nothing, nor waiting. */
uint64_t wh_machine_worked_ns(const struct wh_machine *machine, uint32_t id);

/* ---- from a processor: what it does takes its time. Elsewhere they do nothing. ---- */

void wh_machine_send(struct wh_machine *machine, size_t copied); /* a message; so many bytes are copied into it */
void wh_machine_upcall(struct wh_machine *machine, size_t messages, size_t copied); /* out of them */
/* Until the loop of its node has gone on. */
void wh_machine_await_pass(struct wh_machine *machine);
void wh_machine_sleep_until(struct wh_machine *machine, uint64_t when_ns);

#endif
