/* durable.c - see durable.h. */
#include "group/durable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "group/node_int.h"

/* A subgroup of the file, as its logs need it. */
static bool describe(void *ctx, uint64_t number, struct wh_log_source_config *out)
{
	const whorl_node *node = ctx;
	const struct wh_node_subgroup *subgroup;

	if (number >= node->config.subgroup_count || node->config.subgroups[number].options.mode != WH_SUBGROUP_DURABLE)
		return false;
	subgroup = &node->config.subgroups[number];
	out->name = subgroup->name;
	out->parts_most = wh_subgroup_parts_most(&subgroup->options);
	out->message_bytes = (uint32_t)subgroup->options.message_bytes;
	out->log_bytes = (uint64_t)subgroup->options.log_bytes;
	return true;
}

static void wake_loop(void *ctx)
{
	whorl_node *node = ctx;

	wh_gate_ring(node->gate);
}

enum whorl_result wh_durable_open(whorl_node *node, struct wh_error *err)
{
	if (!wh_node_config_is_durable(&node->config))
		return WHORL_OK;
	return wh_logs_open(&node->logs,
			    &(struct wh_logs_config){.env = &node->env,
						     .path = node->config.group.log_dir,
						     .group = node->config.group.name,
						     .node = node->id,
						     .timeout_ns = (uint64_t)node->config.group.disk_timeout_ms *
								   WH_NS_PER_MS,
						     .describe = describe,
						     .wake = wake_loop,
						     .ctx = node},
			    err);
}

static void fail_for_memory(whorl_node *node)
{
	wh_node_fail(node, WH_LOG_ERROR, WHORL_MEMORY, "no memory for what is to go to disk");
}

void wh_durable_look(whorl_node *node)
{
	struct wh_error err;

	if (node->logs != NULL && !wh_node_has_failed(node) && !wh_logs_look(node->logs, node->loop.now_ns, &err))
		wh_node_fail(node, WH_LOG_ERROR, WHORL_DISK, "this node leaves: %s", err.text);
}

/* ---- views -------------------------------------------------------------------------------------------------------------- */

static bool write_view(whorl_node *node, struct wh_epoch *epoch)
{
	unsigned char *bytes;
	size_t count;

	if (wh_view_encode(&bytes, &count, epoch->view) != WHORL_OK)
		return false;
	epoch->view_ticket = wh_logs_write_view(node->logs, epoch->image->key, bytes, count);
	free(bytes);
	return epoch->view_ticket != 0;
}

bool wh_durable_is_prepared(struct wh_epoch *epoch)
{
	whorl_node *node = epoch->node;

	if (node->logs == NULL)
		return true;
	if (epoch->view_ticket == 0 && !write_view(node, epoch))
		return false; /* in the next pass */
	return wh_logs_has_done(node->logs, epoch->view_ticket);
}

/* ---- standings ---------------------------------------------------------------------------------------------------------- */

/* What it says of this node's shards in that view. False: no memory. */
static bool fill_shards(struct wh_standing *out, const struct wh_epoch *epoch, const struct wh_epoch *before)
{
	const struct wh_standing *was = wh_logs_standing(epoch->node->logs);

	out->shards = calloc(epoch->shard_member_count + 1, sizeof(*out->shards));
	for (uint32_t i = 0; out->shards != NULL && i < epoch->shard_member_count; i++) {
		const struct wh_shard_member *member = &epoch->shard_members[i];
		const whorl_subgroup *subgroup = member->subgroup;
		uint64_t number = wh_node_number_of(subgroup);
		const struct wh_shard_standing *old = wh_standing_shard(was, number, member->layout->shard);
		struct wh_shard_member *there = before != NULL ? wh_epoch_shard_member(before, subgroup) : NULL;
		struct wh_shard_standing shard = {.subgroup = number, .shard = member->layout->shard};
		bool stays = there != NULL && there->layout->shard == member->layout->shard && old != NULL;

		if (!subgroup->durable)
			continue;
		if (stays) {
			shard.before = before->image->key;
			shard.begins = before->change.cuts[there->layout - before->view->subgroups];
			shard.whole = old->whole;
		} else {
			shard.whole = !wh_node_begins(subgroup, member, epoch->rank) || member->layout->entered_count ==
				      member->layout->member_count;
		}
		out->shards[out->shard_count++] = shard;
	}
	return out->shards != NULL;
}

/* Hands it over, and frees it. */
static uint64_t write_standing(whorl_node *node, struct wh_standing *standing)
{
	uint64_t ticket = wh_logs_write_standing(node->logs, standing);

	wh_standing_free(standing);
	return ticket;
}

/* The view that takes this node in: the one before that which it is invited into. It counts as a member of the latter with any standing
 * at all; so the former is what it says. */
static void base_of_newcomer(const whorl_node *node, struct wh_standing *out)
{
	const struct wh_known_node *inviter = &node->roster.known_nodes[node->join.by];

	out->base = inviter->key;
	out->number = node->proposed->view->number - 1;
}

/* A first view: base, whole, first. Else the view that takes it in, not whole. */
static bool write_entry(whorl_node *node)
{
	struct wh_epoch *epoch = node->proposed;
	struct wh_standing standing = {.group = epoch->view->group, .base = epoch->image->key, .first = true};

	if (epoch->view->number > 0) {
		standing.first = false;
		base_of_newcomer(node, &standing);
	} else if (!fill_shards(&standing, epoch, NULL)) {
		return false;
	}
	epoch->entry_ticket = write_standing(node, &standing);
	return epoch->entry_ticket != 0;
}

bool wh_durable_has_entered(whorl_node *node)
{
	struct wh_epoch *epoch = node->proposed;

	if (node->logs == NULL)
		return true;
	if (!wh_durable_is_prepared(epoch) || (epoch->entry_ticket == 0 && !write_entry(node)))
		return false;
	return wh_logs_has_done(node->logs, epoch->entry_ticket);
}

static bool is_kept(const struct wh_epoch *epoch, uint64_t key, uint64_t ballot, const uint64_t *cuts)
{
	const struct wh_standing *standing = wh_logs_standing(epoch->node->logs);

	return epoch->kept_ticket != 0 && standing->ballot == ballot && standing->next == key &&
	       standing->cut_count == epoch->view->subgroup_count &&
	       memcmp(standing->cuts, cuts, standing->cut_count * sizeof(*cuts)) == 0;
}

bool wh_durable_keep(struct wh_epoch *epoch, uint64_t key, uint64_t ballot, const uint64_t *cuts)
{
	whorl_node *node = epoch->node;
	uint32_t count = epoch->view->subgroup_count;
	struct wh_standing standing;

	if (node->logs == NULL)
		return true;
	if (is_kept(epoch, key, ballot, cuts))
		return wh_logs_has_done(node->logs, epoch->kept_ticket);
	if (wh_standing_copy(&standing, wh_logs_standing(node->logs)) != WHORL_OK)
		return false; /* in the next pass */
	free(standing.cuts);
	standing.cuts = malloc((count + 1) * sizeof(*cuts));
	if (standing.cuts == NULL) {
		wh_standing_free(&standing);
		return false;
	}
	memcpy(standing.cuts, cuts, count * sizeof(*cuts));
	standing.cut_count = count;
	standing.ballot = ballot;
	standing.next = key;
	standing.first = false;
	epoch->kept_ticket = write_standing(node, &standing);
	return false;
}

/* ---- a view begins ------------------------------------------------------------------------------------------------------ */

static void begin_sources(struct wh_epoch *epoch, const struct wh_epoch *before)
{
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		struct wh_shard_member *member = &epoch->shard_members[i];
		struct wh_shard_member *there =
			before != NULL ? wh_epoch_shard_member(before, member->subgroup) : NULL;
		bool stays = there != NULL && there->layout->shard == member->layout->shard;
		uint64_t cut = stays ? before->change.cuts[there->layout - before->view->subgroups] : 0;

		if (member->source != NULL && !wh_log_source_begin(member->source, cut))
			fail_for_memory(epoch->node);
	}
}

/* Says in my row of which shards my log has all. What it says is on disk: of the view before, or as it was agreed to or entered. */
static void tell_whole(struct wh_epoch *epoch)
{
	const struct wh_standing *standing = wh_logs_standing(epoch->node->logs);

	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		const struct wh_shard_member *member = &epoch->shard_members[i];
		const struct wh_shard_standing *shard =
			wh_standing_shard(standing, wh_node_number_of(member->subgroup), member->layout->shard);

		if (member->source != NULL && shard != NULL && shard->whole)
			wh_sst_publish_array(&epoch->sst, &epoch->pushes, epoch->rows->node.whole,
					     (uint32_t)(member->layout - epoch->view->subgroups), 1, epoch->heartbeat.peers);
	}
	wh_pushes_post(&epoch->pushes);
}

void wh_durable_begin(struct wh_epoch *epoch, const struct wh_epoch *before)
{
	whorl_node *node = epoch->node;
	struct wh_standing standing = {
		.group = epoch->view->group, .base = epoch->image->key, .number = epoch->view->number};

	if (node->logs == NULL)
		return;
	if (!fill_shards(&standing, epoch, before) || write_standing(node, &standing) == 0) {
		fail_for_memory(node);
		return;
	}
	begin_sources(epoch, before);
	tell_whole(epoch);
}

enum whorl_result wh_durable_source(struct wh_epoch *epoch, struct wh_shard_member *member, uint32_t index,
				    struct wh_error *err)
{
	const struct wh_view_subgroup *layout = member->layout;
	const whorl_subgroup *subgroup = member->subgroup;
	struct wh_log_source_config config;

	member->sender_incarnations = calloc(layout->sender_count + 1, sizeof(*member->sender_incarnations));
	if (member->sender_incarnations == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u senders", layout->sender_count);
	for (uint32_t s = 0; s < layout->sender_count; s++)
		member->sender_incarnations[s] = epoch->view->incarnations[layout->senders[s]];
	config = (struct wh_log_source_config){.subgroup = wh_node_number_of(subgroup),
						      .shard = layout->shard,
						      .view = epoch->view->number,
						      .key = epoch->image->key,
						      .sender_ids = member->sender_ids,
						      .sender_incarnations = member->sender_incarnations,
						      .sender_count = layout->sender_count,
						      .slots = epoch->rows->subgroups[index].slots};
	if (!describe(epoch->node, config.subgroup, &config))
		return wh_error_set(err, WHORL_SYSTEM, "%s is durable, and not of the file", layout->name);
	return wh_log_source_create(&member->source, epoch->node->logs, &config, err);
}
