/* group.h - what the tests of the public API share: groups of nodes in this process, and a record of what each delivers.
 *
 * Only the public header is used: these tests are strangers. Nothing sleeps to wait for something: await() looks again
 * and again, and gives up after PATIENCE_MS.
 */
#ifndef WH_TESTS_SUPPORT_GROUP_H
#define WH_TESTS_SUPPORT_GROUP_H

#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <whorl/whorl.h>

#include "tests/support/await.h"

#define PATIENCE_MS ((int)test_patience(20000))
#define NODES_MAX 8
#define RECORD_MAX 20000

/* What one node delivered in one subgroup, written by its loop. */
struct record {
	atomic_ulong count; /* of entries that are complete */
	atomic_ulong upcalls;
	struct entry {
		uint64_t index, sequence;
		uint32_t sender;
		uint32_t bytes;
		uint64_t word; /* the first of the message */
	} entries[RECORD_MAX];
};

void record_one(struct record *record, const struct whorl_message *message);
void record_message(const struct whorl_message *message, void *ctx);
void record_batch(const struct whorl_message *messages, size_t count, void *ctx);
unsigned long recorded(const struct record *record);

/* Everything that two members of a subgroup delivered is the same, in the same order. */
void records_agree(const struct record *a, const struct record *b);
bool all_recorded(struct record *const *records, unsigned count, unsigned long messages);

struct cluster {
	whorl_config *config;
	unsigned count;
	bool caller;
	const struct whorl_open_options *options; /* NULL: none */
	whorl_node *nodes[NODES_MAX];             /* NULL: not open */
	struct record *records[NODES_MAX];
};

/* A name that no other test, and no other run of this one, has. */
const char *group_name(char *name, size_t bytes);

/* The configuration of `count` nodes; `group` is lines for [group], `rest` the other sections. */
void cluster_configure(struct cluster *cluster, unsigned count, const char *group, const char *rest);
void cluster_open_node(struct cluster *cluster, unsigned id);
void cluster_open(struct cluster *cluster, unsigned count, const char *group, const char *rest);
whorl_subgroup *subgroup_of(struct cluster *cluster, unsigned id, const char *name);

/* Records what each member of the subgroup delivers. */
void cluster_record(struct cluster *cluster, const char *name);

/* With thread = caller: a pass at each node. */
void cluster_step(struct cluster *cluster);

/* With thread = caller: passes until nothing is under way any more. */
void cluster_hush(struct cluster *cluster);
bool cluster_is_ready(struct cluster *cluster);
void cluster_start(struct cluster *cluster);

/* That node leaves without waiting for anything; the others see it in their next passes. */
void cluster_leave(struct cluster *cluster, unsigned id);
uint64_t view_of(whorl_node *node);
bool cluster_is_in_view(struct cluster *cluster, uint64_t number);

/* Those that are open go on to that view, and are not beyond it. */
void cluster_await_view(struct cluster *cluster, uint64_t number);

/* Abandons what is still open. */
void cluster_free(struct cluster *cluster);
struct whorl_subgroup_stats stats_of(whorl_subgroup *subgroup);

/* What an arm was told of room: true, once for each. */
bool took_room(whorl_subgroup *subgroup);

#endif
