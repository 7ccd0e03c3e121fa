/* stats.c - what a node tells about itself. Every figure is a word with one writer, read while it is written. */
#include "base/rcu.h"
#include "group/durable.h"
#include "group/node_int.h"
#include "group/refuse.h"

#include <stdio.h>
#include <string.h>

#define VERSION_TEXT_OF(major, minor, patch) #major "." #minor "." #patch
#define VERSION_TEXT(major, minor, patch) VERSION_TEXT_OF(major, minor, patch)

const char *whorl_version(void)
{
	return VERSION_TEXT(WHORL_VERSION_MAJOR, WHORL_VERSION_MINOR, WHORL_VERSION_PATCH);
}

const char *whorl_result_text(enum whorl_result result)
{
	return wh_result_text(result);
}

enum whorl_result whorl_error(const whorl_node *node, char *text, size_t bytes)
{
	if (node == NULL) {
		if (text != NULL && bytes > 0)
			snprintf(text, bytes, "no node");
		return WH_REFUSE("no node");
	}
	if (wh_node_state(node) == WHORL_FORKED) {
		if (text != NULL && bytes > 0) {
			strncpy(text, wh_result_text(WHORL_FORKED), bytes - 1);
			text[bytes - 1] = '\0';
		}
		return WHORL_FORKED;
	}
	return wh_waiting_error(&node->waiting, text, bytes);
}

uint32_t whorl_node_id(const whorl_node *node)
{
	return node != NULL ? node->fixed.id : (WH_REFUSE("no node"), 0);
}

uint32_t whorl_node_count(const whorl_node *node)
{
	const struct wh_epoch *epoch;
	uint32_t members;

	if (node == NULL)
		return WH_REFUSE("no node"), 0;
	if (wh_node_state(node) == WHORL_FORKED)
		return 0;
	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(node->epochs.current);
	members = epoch != NULL ? epoch->view->members : 0;
	wh_rcu_read_unlock();
	return members;
}

whorl_subgroup *whorl_subgroup_find(whorl_node *node, const char *name)
{
	if (node == NULL || name == NULL)
		return WH_REFUSE(node == NULL ? "no node" : "no name"), NULL;
	for (uint32_t i = 0; i < node->fixed.config.subgroup_count; i++)
		if (strcmp(node->list.subgroups[i]->fixed.name, name) == 0)
			return node->list.subgroups[i]->fixed.mine ? node->list.subgroups[i] : NULL;
	return NULL;
}

whorl_subgroup *whorl_subgroup_at(whorl_node *node, size_t index)
{
	if (node == NULL)
		return WH_REFUSE("no node"), NULL;
	for (uint32_t i = 0; i < node->fixed.config.subgroup_count; i++)
		if (node->list.subgroups[i]->fixed.mine && index-- == 0)
			return node->list.subgroups[i];
	return NULL;
}

static void copy_batch(struct whorl_batch_stats *out, const struct wh_batch_counter *counter)
{
	_Static_assert(sizeof(out->histogram) / sizeof(out->histogram[0]) == WH_BATCH_BUCKETS, "the public histogram");
	out->batches = wh_load_relaxed(&counter->batches);
	out->events = wh_load_relaxed(&counter->events);
	for (int i = 0; i < WH_BATCH_BUCKETS; i++)
		out->histogram[i] = wh_load_relaxed(&counter->bucket[i]);
}

_Static_assert((int)WHORL_COMPLAINTS == WH_COMPLAINTS && (int)WHORL_COMPLAINTS <= WHORL_COMPLAINTS_MAX,
	       "complaints have room");
_Static_assert((int)WHORL_COMPLAINT_UNPROVEN == WH_COMPLAINT_UNPROVEN &&
		       (int)WHORL_COMPLAINT_FOREIGN == WH_COMPLAINT_FOREIGN &&
		       (int)WHORL_COMPLAINT_GARBLED == WH_COMPLAINT_GARBLED &&
		       (int)WHORL_COMPLAINT_SILENT == WH_COMPLAINT_SILENT &&
		       (int)WHORL_COMPLAINT_CROWDED == WH_COMPLAINT_CROWDED &&
		       (int)WHORL_COMPLAINT_REFUSED == WH_COMPLAINT_REFUSED &&
		       (int)WHORL_COMPLAINT_UNREACHED == WH_COMPLAINT_UNREACHED &&
		       (int)WHORL_COMPLAINT_STARVED == WH_COMPLAINT_STARVED,
	       "the public names of complaints");
_Static_assert((int)WHORL_STAGES <= WHORL_STAGES_MAX && (int)WHORL_ENTRIES <= WHORL_STAGES_MAX, "stages have room");

/* What is asked, and a struct for the answer. */
static enum whorl_result check_question(const char *function, const void *whom, const size_t *size)
{
	if (whom == NULL)
		return wh_refuse(function, "nothing to ask: no node, or no subgroup");
	if (size == NULL || *size < sizeof(size_t))
		return wh_refuse(function, size == NULL ? "no place for the answer" : "`size` is not set");
	return WHORL_OK;
}

/* Gives the caller as much of the struct as it knows. */
static enum whorl_result give_answer(void *out, size_t size, void *full, size_t full_size)
{
	memcpy((char *)out + sizeof(size_t), (char *)full + sizeof(size_t),
	       (size < full_size ? size : full_size) - sizeof(size_t));
	return WHORL_OK;
}

static void add_states(struct whorl_node_stats *out, const whorl_node *node)
{
	const whorl_subgroup *subgroup;

	wh_rcu_read_lock();
	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		const struct wh_state_stats *stats;

		if (subgroup->state == NULL)
			continue;
		stats = wh_state_statistics(subgroup->state);
		out->state_given += wh_load_relaxed(&stats->given);
		out->state_taken += wh_load_relaxed(&stats->taken);
		out->state_kept += wh_load_relaxed(&stats->kept);
		out->gives += wh_load_relaxed(&stats->gives);
		out->takes += wh_load_relaxed(&stats->takes);
	}
	wh_rcu_read_unlock();
}

static struct whorl_node_stats stats_of_node(const whorl_node *node)
{
	const struct wh_loop_stats *loop = &node->loop.stats;
	const struct wh_push_stats *push = &node->epochs.push_stats;
	const struct wh_transport_ops *ops = node->fixed.transport->ops;
	struct whorl_node_stats full = {
		.steps = wh_load_relaxed(&loop->steps),
		.idle_steps = wh_load_relaxed(&loop->idle_steps),
		.yields = wh_load_relaxed(&loop->yields),
		.sleeps = wh_load_relaxed(&loop->sleeps),
		.pushes = wh_load_relaxed(&push->pushes),
		.writes = ops->writes != NULL ? ops->writes(node->fixed.transport) : wh_load_relaxed(&push->writes),
		.bytes_pushed = wh_load_relaxed(&push->bytes),
		.posts = wh_load_relaxed(&push->posts),
		.post_ns = wh_load_relaxed(&push->post_ns),
		.heartbeats = wh_load_relaxed(&node->epochs.heartbeats),
		.memory_bytes = node->fixed.memory_bytes + wh_load_relaxed(&node->list.bytes),
		.views = wh_load_relaxed(&node->epochs.begun),
	};

	for (int step = 0; step < WHORL_ENTRIES; step++)
		full.entry_ns[step] = wh_load_relaxed(&node->entry.took_ns[step]);
	add_states(&full, node);
	if (ops->complaints != NULL)
		ops->complaints(node->fixed.transport, full.complaints);
	for (int stage = 0; stage < WHORL_STAGES; stage++)
		full.change_ns[stage] = wh_load_relaxed(&node->epochs.change_ns[stage]);
	return full;
}

enum whorl_result whorl_node_statistics(const whorl_node *node, struct whorl_node_stats *out)
{
	struct whorl_node_stats full;

	if (check_question(__func__, node, out != NULL ? &out->size : NULL) != WHORL_OK)
		return WHORL_INVALID;
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	full = stats_of_node(node);
	return give_answer(out, out->size, &full, sizeof(full));
}

static struct whorl_subgroup_stats stats_of_subgroup(const whorl_subgroup *subgroup)
{
	const struct wh_multicast_stats *stats = &subgroup->figures.stats;
	const struct wh_ring *ring = subgroup->ring;
	struct whorl_subgroup_stats full = {
		.claimed = ring != NULL ? wh_ring_claimed(ring) : 0,
		.sent = wh_load_relaxed(&stats->sent),
		.aborted = wh_load_relaxed(&stats->aborted),
		.resent = wh_load_relaxed(&stats->resent),
		.dropped = wh_load_relaxed(&subgroup->figures.dropped),
		.in_doubt = wh_load_relaxed(&subgroup->figures.in_doubt),
		.open_claim = wh_load_relaxed(&stats->open_claim),
		.delivered = wh_load_relaxed(&stats->delivered),
		.delivered_bytes = wh_load_relaxed(&stats->delivered_bytes),
		.nulls = wh_load_relaxed(&stats->nulls),
		.received_num = wh_load_relaxed(&stats->received_num),
		.delivered_num = wh_load_relaxed(&stats->delivered_num),
		.window_full = ring != NULL ? wh_load_relaxed(&ring->window_full) : 0,
		.window_wait_ns = ring != NULL ? wh_load_relaxed(&ring->window_wait_ns) : 0,
		.upcall_longest_ns = wh_load_relaxed(&stats->upcall_longest_ns),
		.slowest_member = (uint32_t)wh_load_relaxed(&stats->slowest_id),
		.slowest_behind = wh_load_relaxed(&stats->slowest_behind),
		.refusals = wh_load_relaxed(&subgroup->figures.refusals),
		.refused_kept = wh_load_relaxed(&subgroup->figures.kept),
		.relayed = wh_load_relaxed(&stats->relayed),
		.relayed_bytes = wh_load_relaxed(&stats->relayed_bytes),
	};

	copy_batch(&full.send, &stats->send);
	copy_batch(&full.receive, &stats->receive);
	copy_batch(&full.deliver, &stats->deliver);
	return full;
}

enum whorl_result whorl_subgroup_statistics(const whorl_subgroup *subgroup, struct whorl_subgroup_stats *out)
{
	struct whorl_subgroup_stats full;

	if (check_question(__func__, subgroup, out != NULL ? &out->size : NULL) != WHORL_OK)
		return WHORL_INVALID;
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	full = stats_of_subgroup(subgroup);
	return give_answer(out, out->size, &full, sizeof(full));
}

/* ---- logs ---------------------------------------------------------------------------------------------------------------- */

/* With the RCU lock. The loop keeps these words; of another thread they are a moment old. */
static void look_at_persisted(const whorl_subgroup *subgroup, struct whorl_log_stats *out)
{
	const struct wh_epoch *epoch = wh_rcu_dereference(subgroup->node->epochs.current);
	const struct wh_shard_member *member = epoch != NULL ? wh_epoch_shard_member(epoch, subgroup) : NULL;
	const struct wh_persist *persist;

	if (member == NULL || member->source == NULL)
		return;
	persist = wh_log_source_persist(member->source);
	out->persisted = wh_load_relaxed(&persist->persisted);
	out->persisted_by_all = wh_load_relaxed(&persist->stable);
}

enum whorl_result whorl_log_statistics(const whorl_subgroup *subgroup, struct whorl_log_stats *out)
{
	struct whorl_log_stats full = {.slowest_member = UINT32_MAX};
	struct wh_log_figures figures;

	if (check_question(__func__, subgroup, out != NULL ? &out->size : NULL) != WHORL_OK)
		return WHORL_INVALID;
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (!subgroup->fixed.durable ||
	    !wh_logs_figures(subgroup->node->disk.logs, wh_node_number_of(subgroup),
			     (uint32_t)wh_load_relaxed(&subgroup->figures.log_shard), &figures))
		return WHORL_NOT_FOUND;
	full.segments = figures.segments;
	full.bytes = figures.bytes;
	full.used_bytes = figures.used;
	full.batches = figures.batches;
	full.syncs = figures.syncs;
	full.longest_sync_ns = figures.longest_sync_ns;
	full.checkpoints = figures.checkpoints;
	full.written_batches = figures.written_batches;
	full.written_messages = figures.written_messages;
	full.written_bytes = figures.written_bytes;
	full.whole = wh_load_relaxed(&subgroup->figures.log_whole) != 0 && !figures.rot;
	full.rot = figures.rot;
	full.checks = figures.checks;
	if (wh_load_relaxed(&subgroup->figures.disk_behind) > 0) {
		full.slowest_member = (uint32_t)wh_load_relaxed(&subgroup->figures.disk_slowest);
		full.slowest_behind = wh_load_relaxed(&subgroup->figures.disk_behind);
	}
	wh_rcu_read_lock();
	look_at_persisted(subgroup, &full);
	wh_rcu_read_unlock();
	return give_answer(out, out->size, &full, sizeof(full));
}

enum whorl_result whorl_checkpoint(whorl_subgroup *subgroup)
{
	enum whorl_result result;

	if (subgroup == NULL)
		return WH_REFUSE("no subgroup");
	result = wh_node_state(subgroup->node);
	if (result == WHORL_FORKED)
		return result;
	if (!subgroup->fixed.durable)
		return WHORL_NOT_FOUND;
	if (wh_durable_program_state(subgroup) == NULL)
		return WHORL_UNSUPPORTED;
	if (result != WHORL_OK && result != WHORL_NO_QUORUM && result != WHORL_PENDING)
		return result;
	wh_durable_ask_checkpoint(subgroup);
	return WHORL_OK;
}

static void describe_shard_member(struct whorl_subgroup_info *info, const struct wh_epoch *epoch,
				  const struct wh_shard_member *member)
{
	const struct wh_view_subgroup *layout = member->layout;

	info->members = layout->member_count;
	info->senders = layout->sender_count;
	info->sender = wh_rank_find(layout->senders, layout->sender_count, epoch->rank);
	info->shard = layout->shard;
	info->shards = layout->shards;
	info->condition = layout->state == WH_SHARD_ACTIVE ? WHORL_SHARD_ACTIVE : WHORL_SHARD_INACTIVE;
}

enum whorl_result whorl_subgroup_describe(const whorl_subgroup *subgroup, struct whorl_subgroup_info *out)
{
	struct whorl_subgroup_info full;
	const struct wh_epoch *epoch;
	const struct wh_shard_member *member;

	if (check_question(__func__, subgroup, out != NULL ? &out->size : NULL) != WHORL_OK)
		return WHORL_INVALID;
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	full = (struct whorl_subgroup_info){
		.name = subgroup->fixed.name,
		.window = subgroup->fixed.window,
		.message_bytes = subgroup->fixed.message_bytes,
		.sender = -1,
		.shards =
			wh_node_is_dynamic(subgroup)
				? 1
				: (uint32_t)subgroup->node->fixed.config.subgroups[subgroup->fixed.index].options.shards,
		.condition = WHORL_SHARD_GONE,
		.large_bytes = subgroup->fixed.large_bytes,
		.relay_bytes = wh_node_is_dynamic(subgroup)
				       ? 0
				       : (uint64_t)subgroup->node->fixed.config.subgroups[subgroup->fixed.index]
						 .options.relay_bytes,
	};
	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(subgroup->node->epochs.current);
	member = epoch != NULL ? wh_epoch_shard_member(epoch, subgroup) : NULL;
	if (member != NULL)
		describe_shard_member(&full, epoch, member);
	wh_rcu_read_unlock();
	return give_answer(out, out->size, &full, sizeof(full));
}

enum whorl_result whorl_shard_members(const whorl_node *node, const char *subgroup, uint32_t shard, uint32_t *ids,
				      uint32_t *count)
{
	enum whorl_result result = WHORL_AGAIN;
	const struct wh_epoch *epoch;
	const struct wh_view *view;
	uint32_t room;

	if (node == NULL || subgroup == NULL || count == NULL)
		return WH_REFUSE(node == NULL ? "no node" : subgroup == NULL ? "no subgroup" : "no count");
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	room = *count;
	*count = 0;
	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(node->epochs.current);
	view = epoch != NULL ? epoch->view : NULL;
	if (view != NULL)
		result = WHORL_NOT_FOUND;
	for (uint32_t g = 0; view != NULL && g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *layout = &view->subgroups[g];

		if (strcmp(layout->name, subgroup) != 0 || layout->shard != shard)
			continue;
		for (uint32_t i = 0; ids != NULL && i < layout->member_count && i < room; i++)
			ids[i] = view->ids[layout->members[i]];
		*count = layout->member_count;
		result = WHORL_OK;
	}
	wh_rcu_read_unlock();
	return result;
}

enum whorl_result whorl_shard_state(const whorl_node *node, const char *subgroup, uint32_t shard)
{
	static const enum whorl_result results[] = {
		[WH_SHARD_ACTIVE] = WHORL_OK, [WH_SHARD_INACTIVE] = WHORL_AGAIN, [WH_SHARD_LOST] = WHORL_SHARD_LOST};
	enum whorl_result result = WHORL_NOT_FOUND;
	const struct wh_epoch *epoch;
	const struct wh_view *view;

	if (node == NULL || subgroup == NULL)
		return WH_REFUSE(node == NULL ? "no node" : "no subgroup");
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	for (uint32_t i = 0; i < node->fixed.layout_config.count; i++)
		if (strcmp(node->fixed.texts[i].name, subgroup) == 0 && shard < node->fixed.texts[i].shards)
			result = WHORL_AGAIN; /* until there is a view that says more */
	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(node->epochs.current);
	view = epoch != NULL ? epoch->view : NULL;
	for (uint32_t g = 0; view != NULL && g < view->subgroup_count; g++)
		if (strcmp(view->subgroups[g].name, subgroup) == 0 && view->subgroups[g].shard == shard)
			result = results[view->subgroups[g].state];
	wh_rcu_read_unlock();
	return result;
}
