/* meet.h - how the nodes of a limit on tcp connect: one connection for each pair.
 *
 * Where all nodes are this command's workers they are on loopback, and the parent listens for all of them before it starts
 * them. Where it has one (plan->apart), that listens at the node's address; the others may come earlier or later, and find
 * something else at that address until then: the caller tries again until it is answered. The caller says a word that only
 * the nodes know, or that follows from the group's name, and which node it is; it is answered in kind. The sockets have the options
 * of those of the transport.
 */
#ifndef WH_BENCH_LIMIT_MEET_H
#define WH_BENCH_LIMIT_MEET_H

#include <stdint.h>

#include "base/error.h"
#include "bench/limit/limit.h"

#define WH_LIMIT_MEET_MS 10000 /* then the nodes that have not come do not */
#define WH_LIMIT_EVERYBODY UINT32_MAX

struct wh_limit_endpoint;

struct wh_limit_meeting {
	uint32_t nodes, number;
	uint64_t word;
	struct wh_limit_endpoint *endpoints; /* [nodes] */
};

/* Of nodes 0 to nodes - 1. Nodes that are apart meet only nodes that have opened a meeting of the same name and number.
 * WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM, WHORL_NOT_FOUND (an address). [parent] */
WH_MUST_CHECK enum whorl_result wh_limit_meeting_open(struct wh_limit_meeting *meeting,
						      const struct wh_limit_plan *plan, uint32_t nodes, uint32_t number,
						      struct wh_error *err);
void wh_limit_meeting_close(struct wh_limit_meeting *meeting);

/* Connects worker `node` with `peer`, or with WH_LIMIT_EVERYBODY, in WH_LIMIT_MEET_MS at most. The other sockets are -1. Returns 0,
 * or the errno value of what went wrong; either way wh_limit_part follows. [worker] */
WH_MUST_CHECK int wh_limit_meet(const struct wh_limit_meeting *meeting, uint32_t node, uint32_t peer, int *sockets);
/* Waits as long for the nodes that this one has met to call this as well: then all begin at the same time, but for a message's way.
 * Returns as above. */
WH_MUST_CHECK int wh_limit_together(const struct wh_limit_meeting *meeting, const int *sockets);
void wh_limit_part(const struct wh_limit_meeting *meeting, int *sockets);

#endif
