/* lanes.h - what a node and its lanes have in common: which nodes are here, which call, which lanes are open.
 *
 * A lane is an endpoint of a node for one thread, beside its own: lane k of a node meets lane k of the others, as the same
 * incarnation. The node finds the others, lets callers in, and says which of them are here; lanes follow. A lane meets no life that its node
 * has not met, and none that has ended for its node. It calls those nodes that say they have such a lane, and no others. All callers
 * come in by the node's door, which hands their connections over.
 *
 * Any thread: all of it stands under one lock, which is held for a few loads and stores, or to ring. Lanes and node may end in any order.
 */
#ifndef WH_TRANSPORT_SESSION_LANES_H
#define WH_TRANSPORT_SESSION_LANES_H

#include "base/atomics.h"
#include "transport/session/wire.h"

struct wh_lanes;

/* Of the node's transport, which is rung when lanes are opened. NULL: no memory. */
struct wh_lanes *wh_lanes_new(struct wh_transport *node, uint32_t nodes);
struct wh_lanes *wh_lanes_hold(struct wh_lanes *lanes);
void wh_lanes_let_go(struct wh_lanes *lanes, bool forked); /* NULL is fine */

/* ---- of the node -------------------------------------------------------------------------------------------------- */

/* It ends, and all that were met have ended before: it is not rung any more. */
void wh_lanes_node_ends(struct wh_lanes *lanes, bool forked);
void wh_lanes_met(struct wh_lanes *lanes, uint32_t node, uint64_t incarnation);
void wh_lanes_ended(struct wh_lanes *lanes, uint32_t node, uint64_t incarnation, bool left);
/* It says that it has these lanes open: bit k - 1 is lane k. */
void wh_lanes_of_peer(struct wh_lanes *lanes, uint32_t node, uint64_t incarnation, uint64_t open);
void wh_lanes_hold_connections(struct wh_lanes *lanes); /* through a cut, as the node does from now on */
uint64_t wh_lanes_open_here(const struct wh_lanes *lanes);
/* A caller of that lane, which has been found to be that node, and has said a first message. One of the same node that waits is given back
 * in *older: a node calls anew when it has given up. False: the lane is not open, and the connection stays the caller's. */
WH_MUST_CHECK bool wh_lanes_hand_over(struct wh_lanes *lanes, uint32_t lane, uint32_t node, struct wh_conn *c,
				      struct wh_conn **older);

/* WHORL_OK, WHORL_INVALID: there is no lane of that number. */
enum whorl_result wh_lanes_check(uint32_t lane, struct wh_error *err);

/* ---- of a lane ---------------------------------------------------------------------------------------------------- */

/* WHORL_OK; WHORL_INVALID: it has been open already; WHORL_MEMBER_GONE: the node has ended;
 * WHORL_MEMORY. */
enum whorl_result wh_lanes_open(struct wh_lanes *lanes, uint32_t lane, struct wh_transport *transport,
				struct wh_error *err);
void wh_lanes_close(struct wh_lanes *lanes, uint32_t lane,
		    bool forked); /* nothing rings it any more. Callers that wait are still to be taken */
uint64_t wh_lanes_changes(const struct wh_lanes *lanes); /* so far: what follows is the same while this is */
bool wh_lanes_hold_through_cuts(const struct wh_lanes *lanes);

struct wh_lanes_peer {
	uint64_t incarnation; /* that is here; 0: none */
	uint64_t open;        /* its lanes */
	uint64_t left;        /* the last that has left in order; 0: none */
};

struct wh_lanes_peer wh_lanes_peer(struct wh_lanes *lanes, uint32_t node);
/* A caller that waits; NULL: none. */
struct wh_conn *wh_lanes_take_caller(struct wh_lanes *lanes, uint32_t lane, bool forked);

#endif
