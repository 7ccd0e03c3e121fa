/* damage.h - what befalls the log of a node that has ended, in its files. */
#ifndef WH_PROCESSES_DAMAGE_H
#define WH_PROCESSES_DAMAGE_H

#include "tests/processes/disks.h"

/* A byte of each of two places in the middle of a log: what was there, with a bit turned. */
struct damage_turned {
	char path[DISK_PATH_BYTES + 256];
	uint64_t at[2];
	unsigned char bit[2];
};

/* Turns two bits of what that subgroup's log has at that node in front of its last batch (of that one it cannot be told from a write that did
 * not end: docs/log.md), or in the head of the file if there is nothing. *turned says which, and they can be turned back. */
void damage_turn(struct cluster *c, uint32_t id, const char *subgroup, struct damage_turned *turned);
void damage_turn_back(struct cluster *c, const struct damage_turned *turned);

/* Behind the last batch of that subgroup's log lies something that is none, as after a write of which the power has left a part. */
void damage_tail(struct cluster *c, uint32_t id, const char *subgroup);
/* The file ends behind the last batch, though it was made longer. */
void damage_shorten(struct cluster *c, uint32_t id, const char *subgroup);

#endif
