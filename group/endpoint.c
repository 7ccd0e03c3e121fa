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
	pthread_mutex_lock(&node->waiting.lock);
	if (node->waiting.shown.count == 0)
		node->waiting.shown = *shown;
	pthread_mutex_unlock(&node->waiting.lock);
}

void wh_node_hide_workers(whorl_node *node, const void *ctx)
{
	pthread_mutex_lock(&node->waiting.lock);
	if (node->waiting.shown.ctx == ctx)
		node->waiting.shown = (struct wh_shown){0};
	pthread_mutex_unlock(&node->waiting.lock);
}
