/* durable_state.h - what the files of the states of durable subgroups share: durable_state.c, which puts states into logs, and durable_log.c, where
 * the log is the state.
 */
#ifndef WH_GROUP_DURABLE_STATE_H
#define WH_GROUP_DURABLE_STATE_H

#include "base/atomics.h"
#include "group/logs.h"
#include "group/state_place.h"

#define WH_UPCALL_HISTORY_NS (2 * WH_NS_PER_MS) /* so long may a pass upcall what was given */

struct wh_durable_state {
	struct whorl_state program; /* [const] */
	whorl_subgroup *subgroup;   /* [const] */
	bool is_log; /* [const after start] the program has no functions: these are those of durable_log.c */
	struct wh_replay
		*history; /* [loop] of such a log, as it was given; NULL: nothing of it is to be upcalled, or not yet */
	/* What comes of a state that is given. [the job that restores; then the loop] */
	unsigned char place[WH_STATE_PLACE_BYTES_MAX];
	size_t held;
	bool begun; /* its place is known, and a checkpoint is written */
	struct writing {
		uint32_t shard;
		uint64_t checkpoint; /* its number */
	} writing;
	/* A checkpoint of this node's own. */
	wh_word busy;  /* 1: a job reads it. [loop sets, the job clears] */
	wh_word asked; /* 1: one is to be made. [any sets, loop clears] */
	uint64_t ends; /* ticket of the end of the last. [the job, until busy is 0] */
	bool lies;     /* the last has come to its end, on disk or not, and */
	uint64_t left; /* so much lies in the log that it has left there. [loop] */
};

#endif
