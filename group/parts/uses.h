/* uses.h - what still uses a node that is being closed: until these are 0 it is not freed.
 *
 * Threads: any, by atomics. whorl_close waits for the first two (group/close.c).
 */
#ifndef WH_GROUP_PARTS_USES_H
#define WH_GROUP_PARTS_USES_H

#include "base/atomics.h"

struct wh_node_uses {
	wh_word jobs;    /* submitted, and not done */
	wh_word waits;   /* threads in whorl_frontier_wait */
	wh_word orphans; /* after close: claims still open; the last one to be finished frees the node */
};

#endif
