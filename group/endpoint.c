/* endpoint.c - see endpoint.h. */
#include "group/endpoint.h"

#include "group/node_int.h"

struct wh_endpoint wh_node_endpoint(const whorl_node *node)
{
	return (struct wh_endpoint){.transport = node->transport,
				    .node = node->id,
				    .nodes = wh_node_config_nodes_max(&node->config),
				    .incarnation = node->incarnation,
				    .env = node->world_env};
}

void wh_node_show_workers(whorl_node *node, const struct wh_shown *shown)
{
	pthread_mutex_lock(&node->lock);
	if (node->shown.count == 0)
		node->shown = *shown;
	pthread_mutex_unlock(&node->lock);
}

void wh_node_hide_workers(whorl_node *node, const void *ctx)
{
	pthread_mutex_lock(&node->lock);
	if (node->shown.ctx == ctx)
		node->shown = (struct wh_shown){0};
	pthread_mutex_unlock(&node->lock);
}
