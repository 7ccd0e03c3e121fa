/* shm_play.h - one run of a plan on shared memory, with real threads and processes.
 *
 *     shm_play.c    the nodes of a run, and the threads that step them and send
 *     shm_random.c  the stage that a run's processes share, and the check of what they recorded
 */
#ifndef WH_TESTS_SIM_SHM_PLAY_H
#define WH_TESTS_SIM_SHM_PLAY_H

#include "base/atomics.h"
#include "sim/plan.h"

#define PATIENCE_MS 60000

struct sent { /* a message, as its sender made it */
	uint32_t bytes;
	bool aborted;
};

struct stream { /* what one sender sends in one subgroup; shared */
	uint32_t quota;
	wh_word tickets; /* claims that somebody is about to make, or has made */
	wh_word finished;
	struct sent *sent; /* by number */
};

struct delivery {
	uint64_t index, sequence;
	uint32_t sender, bytes; /* sender: rank, UINT32_MAX: none */
	bool whole;
};

struct record { /* what one member delivers in one subgroup; shared, written by its loop */
	wh_word count;
	uint64_t capacity;
	struct delivery *deliveries;
};

struct subgroup {               /* one subgroup; shared */
	struct stream *streams; /* by sender rank */
	struct record *records; /* by place among the members */
};

struct stage { /* shared by all processes of a run */
	const struct wh_plan *plan;
	struct subgroup *subgroups;
	uint32_t processes;
	wh_word complete; /* nodes that have delivered everything */
	wh_word failed;
	char verdict[512];     /* of the first to fail */
	unsigned char *memory; /* all of the above */
	size_t used, bytes;
};

/* Something is broken; the first words stay. Any thread. */
void shm_fail(struct stage *stage, const char *format, ...) __attribute__((format(printf, 2, 3)));

static inline bool shm_failed(const struct stage *stage)
{
	return wh_load_acquire(&stage->failed) > 0;
}

static inline uint32_t node_count(const struct stage *stage)
{
	return (uint32_t)stage->plan->config.group.nodes;
}

/* All nodes of the run, in its processes, from their beginning to their end. */
void shm_perform(struct stage *stage);

#endif
