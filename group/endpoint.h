/* endpoint.h - what a layer that has lanes of its own (transport.h, T13) asks of a node. Any thread, as long as the node is open. */
#ifndef WH_GROUP_ENDPOINT_H
#define WH_GROUP_ENDPOINT_H

#include <whorl/whorl.h>

#include "transport/transport.h"

struct wh_endpoint { /* of the node: what lanes are opened on */
	struct wh_transport *transport;
	uint32_t node, nodes; /* ids are 0 .. nodes-1 */
	uint64_t incarnation;
};

struct wh_endpoint wh_node_endpoint(const whorl_node *node);

#endif
