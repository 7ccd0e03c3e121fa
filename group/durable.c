/* durable.c - see durable.h. */
#include "group/durable.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "group/node_int.h"

#define RESTART_BALLOTS 257 /* those of changes of a view are a rank + 1 */

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
			    &(struct wh_logs_config){.env = node->world_env,
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

/* Says in my row of which shards my log has all. What it says is on disk: of the view before, or as it was agreed to or entered. */
static void tell_whole(struct wh_epoch *epoch)
{
	const struct wh_standing *standing = wh_logs_standing(epoch->node->logs);

	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		const struct wh_shard_member *member = &epoch->shard_members[i];
		const struct wh_shard_standing *shard =
			wh_standing_shard(standing, wh_node_number_of(member->subgroup), member->layout->shard);

		if (member->source != NULL)
			wh_store_relaxed(&member->subgroup->log_whole, shard != NULL && shard->whole);
		if (member->source != NULL && shard != NULL && shard->whole)
			wh_sst_publish_array(&epoch->sst, &epoch->pushes, epoch->rows->node.whole,
					     (uint32_t)(member->layout - epoch->view->subgroups), 1, epoch->heartbeat.peers);
	}
	wh_pushes_post(&epoch->pushes);
}

/* The state that this node was given, or made, is on its disk: its log is whole, and says so. False: not yet. */
static bool note_whole(struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	struct wh_logs *logs = epoch->node->logs;
	uint64_t number = wh_node_number_of(member->subgroup);
	uint32_t shard = member->layout->shard;
	const struct wh_shard_standing *is = wh_standing_shard(wh_logs_standing(logs), number, shard);
	struct wh_standing standing;

	if (is == NULL || is->whole || wh_logs_checkpoints(logs, number, shard) == member->subgroup->checkpoints)
		return is == NULL || is->whole;
	if (wh_standing_copy(&standing, wh_logs_standing(logs)) != WHORL_OK)
		return false;
	wh_standing_shard(&standing, number, shard)->whole = true;
	epoch->whole_ticket = wh_logs_write_standing(logs, &standing);
	wh_standing_free(&standing);
	return false;
}

static void look_at_shards(struct wh_epoch *epoch)
{
	bool whole = true;

	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		const struct wh_shard_member *member = &epoch->shard_members[i];
		struct wh_log_source_config config;

		if (member->source == NULL)
			continue;
		whole = note_whole(epoch, member) && whole;
		if (describe(epoch->node, wh_node_number_of(member->subgroup), &config))
			wh_durable_step_state(member->subgroup, config.log_bytes);
	}
	if (whole && epoch->whole_ticket != 0 && wh_logs_has_done(epoch->node->logs, epoch->whole_ticket)) {
		epoch->whole_ticket = 0;
		tell_whole(epoch);
	}
}

void wh_durable_look(whorl_node *node)
{
	struct wh_error err;

	if (node->logs == NULL || wh_node_has_failed(node))
		return;
	if (!wh_logs_look(node->logs, node->loop.now_ns, &err))
		wh_node_fail(node, WH_LOG_ERROR, err.code, "this node leaves: %s", err.text);
	else if (node->epoch != NULL && !node->epoch->change.wedged)
		look_at_shards(node->epoch);
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

/* The view of that epoch follows the standing's base, by a round of a restart: this node has agreed to it. */
static bool is_restart(const struct wh_epoch *epoch)
{
	const struct wh_standing *standing = wh_logs_standing(epoch->node->logs);

	return standing->ballot >= RESTART_BALLOTS && standing->next == epoch->image->key;
}

static bool enters(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	return wh_rank_find(member->layout->entered, member->layout->entered_count, epoch->rank) >= 0;
}

static uint64_t cut_of_base(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	const struct wh_standing *standing = wh_logs_standing(epoch->node->logs);
	uint32_t index = (uint32_t)(member->layout - epoch->view->subgroups);

	return index < standing->cut_count ? standing->cuts[index] : 0;
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
		if (before == NULL && is_restart(epoch) && old != NULL && !enters(epoch, member)) {
			shard.before = was->base;
			shard.begins = cut_of_base(epoch, member);
			shard.whole = old->whole;
		} else if (stays) {
			shard.before = before->image->key;
			shard.begins = before->change.cuts[there->layout - before->view->subgroups];
			shard.whole = old->whole;
		} else {
			shard.whole = member->layout->entered_count == member->layout->member_count;
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

	if (is_restart(epoch)) { /* it has agreed to it */
		epoch->entry_ticket = epoch->view_ticket;
		return true;
	}
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

/* ---- a restart: what is in the logs is upcalled ------------------------------------------------------------------------- */

/* Up to the cut of the base; where that has not begun in the log, up to where it begins. */
static bool begin_replay(struct wh_epoch *epoch, struct wh_shard_member *member, struct wh_error *err)
{
	whorl_node *node = epoch->node;
	whorl_subgroup *subgroup = member->subgroup;
	const struct wh_standing *standing = wh_logs_standing(node->logs);
	uint64_t number = wh_node_number_of(subgroup);
	const struct wh_shard_standing *shard = wh_standing_shard(standing, number, member->layout->shard);
	struct wh_log_place until = {standing->base, standing->number, cut_of_base(epoch, member)};
	struct wh_log_is found;

	if (shard == NULL || !wh_logs_found(node->logs, number, member->layout->shard, &found) || !found.whole) {
		wh_error_set(err, WHORL_SYSTEM, "the log of %s is not whole, and this node has not entered it",
			     subgroup->name);
		return false;
	}
	if (!found.has_base && shard->before == 0)
		return true;
	if (!found.has_base)
		until = (struct wh_log_place){shard->before, standing->number - 1, shard->begins};
	return wh_replay_create(&member->replay, node->logs, number, member->layout->shard, &until,
				wh_durable_program_state(subgroup), subgroup,
				err) == WHORL_OK;
}

bool wh_durable_begins_replay(whorl_node *node)
{
	struct wh_epoch *epoch = node->proposed;
	struct wh_error err;

	if (node->logs == NULL || !is_restart(epoch))
		return false;
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		struct wh_shard_member *member = &epoch->shard_members[i];

		if (member->source == NULL || enters(epoch, member) || begin_replay(epoch, member, &err))
			continue;
		wh_node_fail(node, WH_LOG_ERROR, err.code, "the log of %s cannot be read: %s", member->subgroup->name,
			     err.text);
	}
	return true;
}

#define REPLAY_NS (10 * WH_NS_PER_MS) /* so long may a pass upcall */

/* What of it is there. The program may refuse some; then it is offered again in a later pass. */
static size_t replay_log(whorl_node *node, struct wh_shard_member *member, uint64_t until_ns)
{
	const struct whorl_message *messages;
	struct wh_error err;
	size_t count, taken, work = 0;
	enum wh_replay_is is;

	while ((is = wh_replay_look(member->replay, &messages, &count, &err)) == WH_REPLAY_HAS &&
	       node->loop.now_ns < until_ns) {
		taken = wh_node_upcall(member->subgroup, messages, count);
		wh_replay_take(member->replay, taken < count ? taken : count);
		work += taken;
		node->loop.now_ns = wh_env_now(&node->env);
		if (taken < count || wh_node_has_failed(node))
			return work;
	}
	if (is == WH_REPLAY_FAILED)
		wh_node_fail(node, WH_LOG_ERROR, err.code, "the log of %s cannot be read: %s", member->subgroup->name,
			     err.text);
	if (is == WH_REPLAY_ENDED) {
		wh_replay_free(member->replay);
		member->replay = NULL;
	}
	return work;
}

size_t wh_durable_replay(whorl_node *node, bool *done)
{
	struct wh_epoch *epoch = node->proposed;
	uint64_t until_ns = node->loop.now_ns + REPLAY_NS;
	size_t work = 0;

	/* Members that are done hear me in the view already. */
	wh_heartbeat_beat(&epoch->heartbeat);
	*done = true;
	for (uint32_t i = 0; i < epoch->shard_member_count && !wh_node_has_failed(node); i++) {
		struct wh_shard_member *member = &epoch->shard_members[i];

		if (member->replay != NULL)
			work += replay_log(node, member, until_ns);
		*done = *done && member->replay == NULL;
	}
	if (!*done && node->refuser_count > 0)
		work += wh_node_step_refusers(node);
	*done = *done && !wh_node_has_failed(node);
	return work;
}

/* ---- a view begins ------------------------------------------------------------------------------------------------------ */

/* Behind a restart: the base has its beginning in the log, where it has not begun there. Returns the cut of the base. */
static uint64_t mark_base(const struct wh_epoch *epoch, const struct wh_shard_member *member,
			  const struct wh_standing *was)
{
	whorl_node *node = epoch->node;
	uint64_t number = wh_node_number_of(member->subgroup);
	const struct wh_shard_standing *shard = wh_standing_shard(was, number, member->layout->shard);
	uint32_t index = (uint32_t)(member->layout - epoch->view->subgroups);
	struct wh_log_source_config config;
	struct wh_log_is found;

	if (shard != NULL && wh_logs_found(node->logs, number, member->layout->shard, &found) && !found.has_base) {
		config = (struct wh_log_source_config){
			.subgroup = number, .shard = shard->shard, .view = was->number, .key = was->base};
		if (!describe(node, number, &config) || !wh_logs_mark(node->logs, &config, shard->begins))
			fail_for_memory(node);
	}
	return index < was->cut_count ? was->cuts[index] : 0;
}

/* `was`: what the standing was before; restarts: the view follows it by a round of a restart. */
static void begin_sources(struct wh_epoch *epoch, const struct wh_epoch *before, const struct wh_standing *was,
			  bool restarts)
{
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		struct wh_shard_member *member = &epoch->shard_members[i];
		struct wh_shard_member *there =
			before != NULL ? wh_epoch_shard_member(before, member->subgroup) : NULL;
		bool stays = there != NULL && there->layout->shard == member->layout->shard;
		uint64_t cut = stays ? before->change.cuts[there->layout - before->view->subgroups] : 0;

		wh_store_relaxed(&member->subgroup->log_shard, member->layout->shard);
		if (member->source != NULL && enters(epoch, member))
			member->subgroup->checkpoints = wh_logs_checkpoints(
				epoch->node->logs, wh_node_number_of(member->subgroup), member->layout->shard);
		if (member->source != NULL && restarts && !enters(epoch, member))
			cut = mark_base(epoch, member, was);
		if (member->source != NULL && !wh_log_source_begin(member->source, cut))
			fail_for_memory(epoch->node);
	}
}

void wh_durable_begin(struct wh_epoch *epoch, const struct wh_epoch *before)
{
	whorl_node *node = epoch->node;
	struct wh_standing standing = {
		.group = epoch->view->group, .base = epoch->image->key, .number = epoch->view->number};
	struct wh_standing was;
	bool restarts;

	if (node->logs == NULL)
		return;
	restarts = before == NULL && is_restart(epoch);
	if (wh_standing_copy(&was, wh_logs_standing(node->logs)) != WHORL_OK || !fill_shards(&standing, epoch, before) ||
	    write_standing(node, &standing) == 0) {
		fail_for_memory(node);
		wh_standing_free(&was);
		return;
	}
	begin_sources(epoch, before, &was, restarts);
	wh_standing_free(&was);
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
