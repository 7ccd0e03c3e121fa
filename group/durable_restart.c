/* durable_restart.c - what a restart asks of a node: standings, views and logs, of its own disk and of those that it speaks for
 * (membership/restart.h).
 */
#include "group/durable.h"

#include "group/node_int.h"

static const struct wh_standing *standing_of(void *ctx, uint32_t disk)
{
	return wh_logs_standing(wh_durable_logs_of(ctx, disk));
}

/* Base is another than it was: the logs say where it begins, before the standing does. A log that has nothing of the base before that has
 * that one's beginning first. */
static bool mark_bases(whorl_node *node, struct wh_logs *logs, const struct wh_standing *now)
{
	const struct wh_standing *was = wh_logs_standing(logs);

	for (uint32_t i = 0; was->base != now->base && i < now->shard_count; i++) {
		const struct wh_shard_standing *shard = &now->shards[i];
		const struct wh_shard_standing *old = wh_standing_shard(was, shard->subgroup, shard->shard);

		if (old == NULL || shard->before != was->base ||
		    !wh_shard_is_of_file(shard)) /* a dynamic one is dormant behind it */
			continue;
		if (!wh_durable_mark_base(node, logs, was, old) || !wh_durable_mark(node, logs, now, shard))
			return false;
	}
	return true;
}

static bool keep_standing(void *ctx, uint32_t disk, const struct wh_standing *standing)
{
	const whorl_node *node = ctx;
	struct wh_logs *logs = wh_durable_logs_of(node, disk);

	if (wh_durable_copies_disk(node, disk))
		return false;
	if (wh_standing_equals(standing, wh_logs_standing(logs)))
		return wh_logs_has_standing(logs);
	if (mark_bases(ctx, logs, standing))
		(void)wh_logs_write_standing(logs, standing);
	return false;
}

static bool keep_view(void *ctx, uint32_t disk, uint64_t key, const unsigned char *bytes, size_t count)
{
	struct wh_logs *logs = wh_durable_logs_of(ctx, disk);
	uint64_t ticket = wh_logs_view_ticket(logs, key, bytes, count);

	if (ticket != 0)
		return wh_logs_has_done(logs, ticket);
	(void)wh_logs_write_view(logs, key, bytes, count);
	return false;
}

static bool view_of(void *ctx, uint32_t disk, uint64_t key, const unsigned char **bytes, size_t *count)
{
	return wh_logs_view(wh_durable_logs_of(ctx, disk), key, bytes, count);
}

static void log_of(void *ctx, uint32_t disk, uint64_t subgroup, uint32_t shard, struct wh_log_report *out)
{
	struct wh_log_is is;

	*out = (struct wh_log_report){.rotten = true};
	if (wh_logs_found(wh_durable_logs_of(ctx, disk), subgroup, shard, &is))
		*out = (struct wh_log_report){.rotten = is.rot, .extent = is.place, .frontier = is.frontier};
}

static bool is_durable(void *ctx, const struct wh_view_subgroup *subgroup)
{
	const whorl_node *node = ctx;

	return wh_node_config_parameters(&node->fixed.config, subgroup).durable;
}

/* On one host two of three dead processes are proved dead, so the third may have gone on alone: its directory has to be heard. */
static bool heard_all(void *ctx, const bool *heard)
{
	const whorl_node *node = ctx;

	for (uint32_t id = 0; id < node->entry.roster.nodes; id++)
		if (!heard[id] && wh_logs_has_disk(node->disk.logs, id))
			return false;
	return true;
}

enum whorl_result wh_durable_open_restart(whorl_node *node, struct wh_error *err)
{
	if (node->disk.logs == NULL)
		return WHORL_OK;
	node->entry.restart = (struct wh_restart){.on = {.standing = standing_of,
							 .keep_standing = keep_standing,
							 .keep_view = keep_view,
							 .view = view_of,
							 .log = log_of,
							 .is_durable = is_durable,
							 .heard_all = node->fixed.one_host ? heard_all : NULL},
						  .ctx = node,
						  .tie_breaker = wh_node_config_tie_breaker(&node->fixed.config),
						  .home = node->fixed.home};
	node->entry.join.restart = &node->entry.restart;
	return wh_restart_init(&node->entry.restart, node->fixed.id, node->entry.roster.nodes, err);
}
