/* endpoint.c - see endpoint.h. */
#include "group/endpoint.h"

#include "group/node_int.h"

struct wh_endpoint wh_node_endpoint(const whorl_node *node)
{
	return (struct wh_endpoint){.transport = node->transport,
				    .node = node->id,
				    .nodes = wh_node_config_nodes_max(&node->config),
				    .incarnation = node->incarnation};
}
