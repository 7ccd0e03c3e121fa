/* endpoint.c - see endpoint.h. */
#include "group/endpoint.h"

#include "group/node_int.h"

struct wh_endpoint wh_node_endpoint(const whorl_node *node)
{
	return (struct wh_endpoint){.transport = node->fixed.transport,
				    .node = node->fixed.id,
				    .nodes = wh_node_config_nodes_max(&node->fixed.config),
				    .incarnation = node->fixed.incarnation,
				    .env = node->fixed.world_env};
}

void wh_node_show_workers(whorl_node *node, const struct wh_shown *shown)
{
	wh_waiting_show(&node->waiting, shown);
}

void wh_node_hide_workers(whorl_node *node, const void *ctx)
{
	wh_waiting_hide(&node->waiting, ctx);
}
