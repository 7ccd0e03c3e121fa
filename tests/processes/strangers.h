/* strangers.h - connections to the sockets of a group's nodes that come from no node. */
#ifndef WH_PROCESSES_STRANGERS_H
#define WH_PROCESSES_STRANGERS_H

#include "tests/processes/cluster.h"

#define STRANGERS_MAX 64

struct strangers {
	int sockets[STRANGERS_MAX];
	uint32_t count;
};

/* Connects so often to each socket on which a node of the group listens, and says nothing, or (`bytes` > 0) something that makes no
 * sense. */
void strangers_come(struct strangers *strangers, struct cluster *c, uint32_t often, size_t bytes);
void strangers_go(struct strangers *strangers);

#endif
