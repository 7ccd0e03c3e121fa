/* durable_disk.c - what a node's logs know of its configuration, and how they ring its loop. */
#include "group/durable.h"

#include "group/node_int.h"

/* A subgroup of the file, as its logs need it. */
static bool describe(const void *ctx, uint64_t number, struct wh_log_source_config *out)
{
	const struct wh_node_config *config = ctx;
	const struct wh_node_subgroup *subgroup;

	if (number >= config->subgroup_count || config->subgroups[number].options.mode != WH_SUBGROUP_DURABLE)
		return false;
	subgroup = &config->subgroups[number];
	out->name = subgroup->name;
	out->parts_most = wh_subgroup_parts_most(&subgroup->options);
	out->message_bytes = (uint32_t)subgroup->options.message_bytes;
	out->log_bytes = (uint64_t)subgroup->options.log_bytes;
	return true;
}

void wh_durable_wake(void *ctx)
{
	whorl_node *node = ctx;

	wh_gate_ring(node->fixed.gate);
}

void wh_durable_logs_config(struct wh_logs_config *out, const struct wh_node_config *config, const struct wh_env *env,
			    uint32_t id)
{
	const uint64_t day_ns = 86400 * WH_NS_PER_S;

	*out = (struct wh_logs_config){.env = env,
				       .path = config->group.log_dir,
				       .group = config->group.name,
				       .node = id,
				       .timeout_ns = (uint64_t)config->group.disk_timeout_ms * WH_NS_PER_MS,
				       .batch_bytes = config->batch_bytes,
				       .check_ns = config->check_ns,
				       .describe = describe,
				       .describe_ctx = config};
	if (config->check_ns == 0 && env->nap == NULL)
		out->check_ns = (uint64_t)config->group.log_check_days * day_ns;
}
