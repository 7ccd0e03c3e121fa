/* plan.h - a random combination of everything that can be configured, drawn from a seed, for the tests that
 * try them.
 *
 * 1 to 16 nodes, 1 to 16 senders, 1 B to 64 KB, windows of 1 to 1000, 1 to 50 subgroups that overlap anyhow,
 * every combination of the switches; and how long it takes, held within `struct plan_limits`.
 */
#ifndef WH_TESTS_SIM_PLAN_H
#define WH_TESTS_SIM_PLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "group/config.h"

/* A failure time-out is this, so that heartbeats come in the middle of everything, or so long that none do. */
#define PLAN_SHORT_TIMEOUT_MS 40

struct plan_limits {
	uint32_t nodes;      /* at most */
	uint64_t rows_bytes; /* of all rows and copies of rows */
	uint64_t deliveries; /* messages times members, about */
	uint64_t data_bytes; /* of all these deliveries */
	bool all_progress;   /* nothing that may come to a stand by right */
};

struct plan_subgroup {
	uint64_t members, senders; /* bit i: node i */
	uint32_t member_count, sender_count;
	bool ordered;
	bool even;         /* its senders claim equally many, and all of these are finished */
	uint32_t messages; /* that a sender claims, at most */
};

struct plan {
	uint64_t seed;
	struct wh_node_config config;
	struct plan_subgroup *subgroups;
	bool headers_apart;
};

/* Never fails: exits when memory is out. */
void plan_make(struct plan *plan, uint64_t seed, const struct plan_limits *limits);
/* Nothing left to chance: one ordered subgroup "g0", all nodes are its senders and claim equally many, all
 * switches on. */
void plan_plain(struct plan *plan, uint64_t seed, uint32_t nodes, uint32_t window, uint32_t message_bytes,
		uint32_t messages);
void plan_free(struct plan *plan);
void plan_print(const struct plan *plan, FILE *out);

/* Must everything be delivered in the end? Without nulls only if all senders of the subgroup send equally. */
bool plan_progresses(const struct plan *plan, uint32_t subgroup);

/* calloc that does not fail. */
void *plan_alloc(size_t count, size_t bytes);

#endif
