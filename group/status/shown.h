/* shown.h - workers of a node that a visitor is shown (status.h): what a layer that has some says of them.
 */
#ifndef WH_GROUP_STATUS_SHOWN_H
#define WH_GROUP_STATUS_SHOWN_H

#include <whorl/status.h>

#define WH_SHOWN_MAX 256 /* workers of a node that a visitor is shown */

struct wh_shown { /* workers, to a visitor that asks how the node is */
	uint32_t count;
	/* On the loop, under the node's lock: reads words that anyone may read, waits for nothing, and calls nothing of the node. `out` is all
	 * zero but for its size. */
	void (*show)(const void *ctx, uint32_t worker, struct whorl_status_worker *out);
	const void *ctx;
};

#endif
