/* endpoint.h - what a layer that has lanes of its own (transport.h, T13), and workers on them, asks of a node. Any thread, as long as the
 * node is open. */
#ifndef WH_GROUP_ENDPOINT_H
#define WH_GROUP_ENDPOINT_H

#include <whorl/status.h>
#include <whorl/whorl.h>

#include "group/status/shown.h"
#include "transport/transport.h"

struct wh_endpoint { /* of the node: what lanes are opened on */
	struct wh_transport *transport;
	uint32_t node, nodes; /* ids are 0 .. nodes-1 */
	uint64_t incarnation;
	const struct wh_env *env; /* of its world: its workers have the same clock and dice. Lives as long as the node */
};

struct wh_endpoint wh_node_endpoint(const whorl_node *node);

/* From now on these are shown, unless others are already. */
void wh_node_show_workers(whorl_node *node, const struct wh_shown *shown);
/* Those of `ctx` are not shown any more, and when this returns nobody is in `show`. */
void wh_node_hide_workers(whorl_node *node, const void *ctx);

#endif
