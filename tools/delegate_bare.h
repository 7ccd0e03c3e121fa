/* delegate_bare.h - what `whorl delegate echo` is held against: one-sided writes (T7) between the same nodes, without anything above them.
 *
 * Node 0 writes back as much as the others have written to it. A message that is longer than a write is cut up; the last is one with an
 * immediate. All of an end is its thread's.
 */
#ifndef WH_TOOLS_DELEGATE_BARE_H
#define WH_TOOLS_DELEGATE_BARE_H

#include "group/endpoint.h"
#include "transport/remote.h"

#define WH_BARE_NODES 64
#define WH_BARE_LANE WH_LANES_MAX /* the last: workers have the first */

struct wh_bare {
	struct wh_transport *lane;
	struct wh_region *region; /* mine */
	uint32_t nodes, node;
	bool met[WH_BARE_NODES], granted[WH_BARE_NODES];
	uint64_t theirs[WH_BARE_NODES]; /* their regions; 0: none yet */
	uint64_t due[WH_BARE_NODES];    /* messages that are to be written to it */
	uint64_t answered;              /* messages that have come */
	uint32_t idle;                  /* passes that found nothing */
	struct wh_transport_event event;
};

WH_MUST_CHECK enum whorl_result wh_bare_open(struct wh_bare *bare, const struct wh_endpoint *endpoint,
					     struct wh_error *err);
void wh_bare_close(struct wh_bare *bare);
/* One pass: takes what has come, of what is due writes what can be written. `bytes` of a message. */
void wh_bare_step(struct wh_bare *bare, uint64_t bytes);
static inline bool wh_bare_is_ready(const struct wh_bare *bare, uint32_t node)
{
	return bare->theirs[node] != 0 && bare->granted[node];
}

#endif
