/* traffic.h - what goes to other nodes, counted. */
#ifndef WH_DELEGATION_TRAFFIC_H
#define WH_DELEGATION_TRAFFIC_H

#include <whorl/delegate.h>

struct wh_traffic {
	uint64_t writes, bytes; /* one-sided, of all lanes, since the work was opened */
};

/* Any thread. */
struct wh_traffic wh_work_traffic(const whorl_work *work);

#endif
