/* epoch.c - making, stepping and freeing epochs. See epoch.h; install.c has the change from one to the next. */
#include "group/epoch.h"

#include <stdlib.h>

#include "group/durable.h"
#include "group/node_int.h"

/* My row of this view, and that of the next, which is prepared in advance (transport/shm/shm.h). For a while after a change there
 * is that of the view before, too. */
#define ROWS 2

#define DELIVER_NS (10 * WH_NS_PER_MS) /* so long may a pass deliver, if the failure time-out is not very short */

/* ---- making ------------------------------------------------------------------------------------------------------- */

static void member_broken(void *ctx, uint32_t rank, const char *what)
{
	struct wh_shard_member *member = ctx;

	wh_epoch_suspect_broken(member->subgroup->node->epochs.current, rank, what);
}

static size_t deliver_messages(void *ctx, const struct whorl_message *messages, size_t count)
{
	struct wh_shard_member *member = ctx;

	return wh_node_deliver(member->subgroup, messages, count);
}

static bool keep_messages(void *ctx, const struct whorl_message *messages, size_t count)
{
	struct wh_shard_member *member = ctx;

	return wh_node_keep(member->subgroup, messages, count);
}

static enum whorl_result open_image(struct wh_epoch *epoch, uint64_t key, struct wh_error *err)
{
	const struct wh_image_spec spec = {
		.key = key,
		.layout_digest = epoch->rows->digest,
		.members = epoch->view->members,
		.my_rank = epoch->rank,
		.control_bytes = epoch->rows->control_bytes,
		.rows = epoch->rows->specs,
		.relays = epoch->rows->relays,
		.relay_count = epoch->rows->relay_count,
	};

	return epoch->node->fixed.transport->ops->image_open(epoch->node->fixed.transport, &spec, &epoch->image, err);
}

/* Between passes a node hears others and is heard: were they unbounded, upcalls that are a little slow and a window that is
 * full would look like a death. All subgroups that a pass steps have this time together. */
static uint64_t deliver_ns(const whorl_node *node)
{
	uint64_t timeout_ns = (uint64_t)node->fixed.config.group.failure_timeout_ms * WH_NS_PER_MS;

	return timeout_ns / 8 < DELIVER_NS ? timeout_ns / 8 : DELIVER_NS;
}

static enum whorl_result open_multicast(struct wh_epoch *epoch, struct wh_shard_member *member, uint32_t index,
					struct wh_error *err)
{
	const struct wh_view_subgroup *layout = member->layout;
	const struct wh_engine_options *engine = &epoch->node->fixed.config.engine;
	struct wh_rows_subgroup *rows = &epoch->rows->subgroups[index];
	whorl_subgroup *subgroup = member->subgroup;
	/* A thread of its own gathers without: messages are committed during a pass, and not between two. */
	bool gathers = epoch->node->fixed.caller && engine->send_batching &&
		       epoch->node->fixed.transport->ops->poll_costs_syscall;

	return wh_multicast_create(
		&member->mc,
		&(struct wh_multicast_config){
			.diag = &epoch->node->diag,
			.sst = &epoch->sst,
			.pushes = &epoch->pushes,
			.columns = rows->columns,
			.subgroup = index,
			.mode = subgroup->fixed.mode,
			.switches = {engine->send_batching, engine->receive_batching, engine->delivery_batching,
				     engine->null_sends, engine->deferred_push},
			.window = subgroup->fixed.window,
			.message_bytes = subgroup->fixed.message_bytes,
			.parts_most = subgroup->fixed.parts_most,
			.relay_bytes = (uint32_t)wh_node_config_relay_bytes(&epoch->node->fixed.config, layout),
			.view = epoch->view->number,
			.ids = epoch->view->ids,
			.incarnations = epoch->view->incarnations,
			.members = layout->members,
			.member_count = layout->member_count,
			.senders = layout->senders,
			.sender_ids = member->sender_ids,
			.sender_count = layout->sender_count,
			.me = wh_rank_find(layout->senders, layout->sender_count, epoch->rank),
			.slots = rows->slots,
			.ring = member->sends ? subgroup->ring : NULL,
			.place = &member->place,
			.had = subgroup->had,
			.stats = &subgroup->figures.stats,
			.persist = member->source != NULL ? wh_log_source_persist(member->source) : NULL,
			.moves = epoch->moves.column.count > 0 ? &epoch->moves : NULL,
			.deliver_ns = &epoch->hot.share_ns,
			.now_ns = &epoch->node->loop.now_ns,
			.gathers = gathers ? &epoch->node->loop.gathers : NULL,
			.message_of = subgroup,
			.handle = member,
			.deliver = deliver_messages,
			.keep = keep_messages,
			.broken = member_broken,
		},
		err);
}

static enum whorl_result open_shard_member(struct wh_epoch *epoch, struct wh_shard_member *member, uint32_t index,
					   struct wh_error *err)
{
	const struct wh_view_subgroup *layout = &epoch->view->subgroups[index];
	int me = wh_rank_find(layout->senders, layout->sender_count, epoch->rank);
	enum whorl_result result = WHORL_OK;

	*member =
		(struct wh_shard_member){.subgroup = wh_node_subgroup_of(epoch->node, layout),
					 .layout = layout,
					 .sends = me >= 0,
					 .ends = wh_rank_find(layout->ending, layout->ending_count, epoch->rank) >= 0};
	if (member->subgroup == NULL)
		return wh_error_set(err, WHORL_SYSTEM, "it has this node in %s, which it has not wished", layout->name);
	member->sender_ids = calloc(layout->sender_count + 1, sizeof(*member->sender_ids));
	if (member->sender_ids == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u senders", layout->sender_count);
	for (uint32_t s = 0; s < layout->sender_count; s++)
		member->sender_ids[s] = epoch->view->ids[layout->senders[s]];
	if (member->sends)
		member->place = (struct wh_place){.row = epoch->image->own,
						  .slots = epoch->rows->subgroups[index].slots[me],
						  .home = (uint32_t)epoch->view->number,
						  .end = UINT64_MAX};
	if (member->subgroup->fixed.durable && layout->state == WH_SHARD_ACTIVE)
		result = wh_durable_source(epoch, member, index, err);
	if (result == WHORL_OK && layout->state == WH_SHARD_ACTIVE)
		result = open_multicast(epoch, member, index, err);
	if (result == WHORL_OK && member->mc != NULL)
		wh_hot_add(&epoch->hot, member->mc, index, member->sends ? member->subgroup->ring : NULL,
			   member->subgroup->fixed.index);
	if (result == WHORL_OK && member->source != NULL && member->mc != NULL)
		wh_hot_watch_disk(&epoch->hot, index);
	return result;
}

static enum whorl_result open_hot(struct wh_epoch *epoch, struct wh_error *err)
{
	whorl_node *node = epoch->node;
	struct wh_array_col moved = epoch->rows->node.moved;
	enum whorl_result result = WHORL_OK;

	if (moved.count > 0)
		result = wh_moves_init(&epoch->moves, &epoch->sst, &epoch->pushes, moved, err);
	if (result != WHORL_OK)
		return result;
	return wh_hot_init(
		&epoch->hot,
		&(struct wh_hot_config){.loop = &node->loop,
					.sst = &epoch->sst,
					.moved = moved,
					.committed = node->list.committed,
					.committed_words = moved.count > 0 ? node->list.committed_words : 0,
					.subgroups = epoch->view->subgroup_count,
					.most = epoch->view->subgroup_count,
					.cools = node->fixed.config.cools > 0 ? node->fixed.config.cools : WH_HOT_COOLS,
					.deliver_ns = deliver_ns(node),
					.looks = &node->epochs.looks},
		err);
}

static enum whorl_result open_shard_members(struct wh_epoch *epoch, struct wh_error *err)
{
	const struct wh_view *view = epoch->view;

	epoch->shard_members = calloc(view->subgroup_count + 1, sizeof(*epoch->shard_members));
	epoch->cuts_from = calloc(view->subgroup_count + 1, sizeof(*epoch->cuts_from));
	epoch->shard_member_of = calloc(epoch->node->list.room + 1, sizeof(*epoch->shard_member_of));
	if (epoch->shard_members == NULL || epoch->cuts_from == NULL || epoch->shard_member_of == NULL)
		return wh_error_set(err, WHORL_MEMORY, "no memory for %u subgroups", view->subgroup_count);
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *layout = &view->subgroups[g];
		struct wh_parameters parameters = wh_node_config_parameters(&epoch->node->fixed.config, layout);
		struct wh_shard_member *member = &epoch->shard_members[epoch->shard_member_count];
		enum whorl_result result;

		if (layout->state == WH_SHARD_ACTIVE && parameters.ordered)
			epoch->cuts_from[g] = (struct wh_cut_source){
				.members = layout->members,
				.count = layout->member_count,
				.stable_num = parameters.durable ? epoch->rows->subgroups[g].columns.persisted_num
								 : epoch->rows->subgroups[g].columns.received_num,
				.delivered_num = epoch->rows->subgroups[g].columns.delivered_num,
				.durable = parameters.durable};
		else if (layout->state == WH_SHARD_INACTIVE) /* nothing to cut, but its logs are to stay */
			epoch->cuts_from[g].durable = parameters.durable;
		if (wh_rank_find(layout->members, layout->member_count, epoch->rank) < 0)
			continue;
		epoch->shard_member_count++;
		result = open_shard_member(epoch, member, g, err);
		if (result != WHORL_OK)
			return result;
		epoch->shard_member_of[member->subgroup->fixed.index] = epoch->shard_member_count;
	}
	return WHORL_OK;
}

static enum whorl_result open_membership(struct wh_epoch *epoch, struct wh_error *err)
{
	whorl_node *node = epoch->node;
	int tie_breaker = wh_node_config_tie_breaker(&node->fixed.config);
	enum whorl_result result;

	epoch->heartbeat = (struct wh_heartbeat){
		.loop = &node->loop,
		.sst = &epoch->sst,
		.pushes = &epoch->pushes,
		.column = epoch->rows->node.heartbeat,
		.timeout_ns = (uint64_t)node->fixed.config.group.failure_timeout_ms * WH_NS_PER_MS,
		.pushed = &node->epochs.heartbeats,
	};
	result = wh_heartbeat_init(&epoch->heartbeat, err);
	if (result != WHORL_OK)
		return result;
	epoch->change = (struct wh_change){
		.diag = &node->diag,
		.loop = &node->loop,
		.sst = &epoch->sst,
		.pushes = &epoch->pushes,
		.heartbeat = &epoch->heartbeat,
		.view = epoch->view,
		.columns = epoch->rows->node,
		.nodes = node->entry.roster.nodes,
		.home = node->fixed.home,
		.give_up_ns = (uint64_t)node->fixed.config.group.cut_max_ms * WH_NS_PER_MS,
		.tie_breaker = tie_breaker < 0 ? -1 : wh_view_rank(epoch->view, (uint32_t)tie_breaker),
		.cuts_from = epoch->cuts_from,
		.requests = &node->entry.requests,
		.serving = node->entry.serving,
		.on = node->entry.join.on,
		.ctx = node,
	};
	return wh_change_init(&epoch->change, err);
}

enum whorl_result wh_epoch_create(struct wh_epoch **out, whorl_node *node, struct wh_view *view, uint64_t key,
				  struct wh_error *err)
{
	struct wh_epoch *epoch = calloc(1, sizeof(*epoch));
	enum whorl_result result;

	if (epoch == NULL) {
		wh_view_free(view);
		return wh_error_set(err, WHORL_MEMORY, "no memory for a view");
	}
	epoch->node = node;
	epoch->view = view;
	epoch->rank = (uint32_t)wh_view_rank(view, node->fixed.id);
	result = wh_rows_create(&epoch->rows, view, &node->fixed.config, epoch->rank, node->fixed.headers_apart, err);
	if (result == WHORL_OK)
		result = open_image(epoch, key, err);
	if (result == WHORL_OK)
		result = wh_sst_init(&epoch->sst, &node->diag, epoch->image, &epoch->rows->layout, err);
	wh_pushes_init(&epoch->pushes, &node->fixed.env, &node->epochs.push_stats,
		       node->fixed.config.engine.deferred_push);
	epoch->pushes.image = epoch->image;
	if (result == WHORL_OK)
		result = open_hot(epoch, err);
	if (result == WHORL_OK)
		result = open_shard_members(epoch, err);
	if (result == WHORL_OK)
		result = open_membership(epoch, err);
	if (result != WHORL_OK) {
		wh_epoch_free(epoch, true);
		return result;
	}
	*out = epoch;
	return WHORL_OK;
}

/* The image first: pushes of it point at what the others own. */
void wh_epoch_free(struct wh_epoch *epoch, bool close_image)
{
	if (epoch == NULL)
		return;
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) { /* before the memory that they read goes */
		wh_replay_free(epoch->shard_members[i].replay);
		wh_log_source_free(epoch->shard_members[i].source);
		epoch->shard_members[i].source = NULL;
	}
	if (close_image && epoch->image != NULL)
		epoch->node->fixed.transport->ops->image_close(epoch->image);
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		wh_multicast_free(epoch->shard_members[i].mc);
		free(epoch->shard_members[i].sender_ids);
	}
	free(epoch->shard_members);
	free(epoch->cuts_from);
	free(epoch->shard_member_of);
	wh_change_close(&epoch->change);
	wh_heartbeat_close(&epoch->heartbeat);
	wh_hot_close(&epoch->hot);
	wh_moves_close(&epoch->moves);
	wh_sst_close(&epoch->sst);
	wh_rows_free(epoch->rows);
	wh_view_free(epoch->view);
	free(epoch);
}

enum whorl_result wh_epoch_estimate(const whorl_node *node, const struct wh_view *view, uint64_t *bytes,
				    struct wh_error *err)
{
	uint32_t rank = (uint32_t)wh_view_rank(view, node->fixed.id);
	struct wh_rows *rows;
	enum whorl_result result =
		wh_rows_create(&rows, view, &node->fixed.config, rank, node->fixed.headers_apart, err);

	if (result != WHORL_OK)
		return result;
	*bytes = sizeof(struct wh_epoch) + ROWS * rows->specs[rank].bytes + rows->layout.bytes +
		 wh_hot_estimate(view->members, rows->node.moved.count, view->subgroup_count);
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *layout = &view->subgroups[g];

		if (wh_rank_find(layout->members, layout->member_count, rank) < 0)
			continue;
		*bytes += wh_multicast_estimate(layout->member_count, layout->sender_count);
	}
	wh_rows_free(rows);
	return WHORL_OK;
}

/* ---- the end of an epoch that is over ------------------------------------------------------------------------------- */

/* That member of the view before, which is `now` in the current one, has said its last word there, behind all that it has delivered. A
 * row that was frozen before that never shows it: this node and that member had not met by the time that the memory was there, or one has
 * suspected the other; then the member has begun the current view, which comes later. */
static bool has_gone_on(const struct wh_epoch *before, uint32_t rank, const struct wh_epoch *current, uint32_t now)
{
	return wh_sst_observe_flag(&before->sst, rank, before->rows->node.installed) ||
	       (wh_image_is_frozen(before->image, rank) && wh_heartbeat_of(&current->heartbeat, now) == WH_BEAT_BEGUN);
}

/* Every member that went on needs nothing of it any more. */
static bool all_have_gone_on(const struct wh_epoch *epoch, const struct wh_epoch *current)
{
	for (uint32_t rank = 0; rank < epoch->view->members; rank++) {
		int now = wh_view_rank_of(current->view, epoch->view->ids[rank], epoch->view->incarnations[rank]);

		if (rank == epoch->rank || now < 0 || !wh_change_trusts(&epoch->change, rank) ||
		    !wh_change_trusts(&current->change, (uint32_t)now))
			continue;
		if (!has_gone_on(epoch, rank, current, (uint32_t)now))
			return false;
	}
	return true;
}

/* Each member of that shard of the view before that is in the current one has delivered all that was to be delivered there. Whether I
 * suspect it does not matter: it is a member until a view begins without it. */
static bool all_have_delivered(const struct wh_epoch *before, const struct wh_shard_member *member,
			       const struct wh_epoch *current)
{
	for (uint32_t i = 0; i < member->layout->member_count; i++) {
		uint32_t rank = member->layout->members[i];
		int now = wh_view_rank_of(current->view, before->view->ids[rank], before->view->incarnations[rank]);

		if (rank != before->rank && now >= 0 && !has_gone_on(before, rank, current, (uint32_t)now))
			return false;
	}
	return true;
}

/* What I had delivered when the current view began, in each shard: others may have been at work on it still. If the view before is not
 * there any more, because this node suspects those that have not gone on, the next view settles it (move_subgroup, in install.c). */
static void release_rings(struct wh_epoch *current)
{
	const struct wh_epoch *before = current->older;
	bool holds = false;

	if (before->view->number + 1 != current->view->number)
		return;
	for (uint32_t i = 0; i < before->shard_member_count; i++) {
		const struct wh_shard_member *member = &before->shard_members[i];
		struct wh_ring *ring = member->subgroup->ring;

		if (ring == NULL || !ring->held)
			continue;
		if (all_have_delivered(before, member, current))
			wh_ring_release(ring);
		else
			holds = true;
	}
	current->holds = holds;
}

static bool rings_are_done(const struct wh_epoch *epoch)
{
	for (uint32_t i = 0; i < epoch->shard_member_count; i++)
		if (epoch->shard_members[i].placed &&
		    !wh_ring_is_done_with(epoch->shard_members[i].subgroup->ring, &epoch->shard_members[i].place))
			return false;
	return true;
}

/* A round of a restart has decided it: nobody has been in the view before in this life. */
static bool is_behind_restart(const struct wh_epoch *epoch)
{
	return epoch->view->number > 0 && wh_is_first_view(epoch->image->key);
}

/* It has begun the view; or it is not new in it, and beats there: so it has settled the view before. */
static bool has_settled(const struct wh_epoch *epoch, uint32_t rank)
{
	const struct wh_view *view = epoch->view;
	enum wh_beat beat = wh_heartbeat_of(&epoch->heartbeat, rank);

	return beat == WH_BEAT_BEGUN || (beat == WH_BEAT_THERE && !is_behind_restart(epoch) &&
					 wh_rank_find(view->joined, view->joined_count, view->ids[rank]) < 0);
}

bool wh_epoch_is_beaten(const struct wh_epoch *epoch)
{
	for (uint32_t rank = 0; rank < epoch->view->members; rank++)
		if (rank != epoch->rank && has_settled(epoch, rank))
			return true;
	return false;
}

bool wh_epoch_may_leave(const struct wh_epoch *epoch)
{
	const struct wh_change *change = &epoch->change;

	if (!change->suspicion.quorum)
		return true;
	if (epoch->view->voters > epoch->view->members)
		return false;
	for (uint32_t rank = 0; rank < epoch->view->members; rank++)
		if (change->suspicion.said[rank] == WH_FAILED ||
		    (change->suspicion.said[rank] == WH_TRUSTED && rank != epoch->rank && !has_settled(epoch, rank)))
			return false;
	return true;
}

/* All that this node has claimed there is delivered. */
static bool has_sent_all(const struct wh_shard_member *member)
{
	const struct wh_ring *ring = member->subgroup->ring;

	return member->mc != NULL ? wh_multicast_has_sent_all(member->mc)
				  : wh_ring_settled(ring) == wh_ring_claimed(ring);
}

bool wh_epoch_end(struct wh_epoch *epoch, whorl_subgroup *subgroup)
{
	const struct wh_shard_member *member = wh_epoch_shard_member(epoch, subgroup);

	if (member == NULL || !member->ends || epoch->change.wedged)
		return true; /* in the next view */
	if (!has_sent_all(member))
		return false;
	if (wh_change_end(&epoch->change, wh_epoch_index(epoch, member)))
		wh_node_ask_leader(epoch->node);
	return true;
}

bool wh_epoch_rest(struct wh_epoch *epoch, whorl_subgroup *subgroup, bool rests)
{
	const struct wh_shard_member *member = wh_epoch_shard_member(epoch, subgroup);
	struct wh_ring *ring = subgroup->ring;
	uint32_t index;
	bool resting, said;

	if (member == NULL)
		wh_node_settle_rest(subgroup, rests, false);
	if (member == NULL || epoch->change.wedged)
		return true; /* in the next view */
	index = wh_epoch_index(epoch, member);
	said = wh_sst_mine(&epoch->sst, wh_array_at(epoch->change.columns.wish, index)) != 0;
	resting = wh_rank_find(member->layout->resting, member->layout->resting_count, epoch->rank) >= 0;
	/* What was said in this view may be in a proposal already: a node that has taken it back waits for the next. */
	if (!said)
		wh_node_settle_rest(subgroup, rests, resting);
	/* No thread claims any more: what has been claimed is delivered first. */
	if (rests && ring != NULL && !has_sent_all(member))
		return false;
	if ((rests != resting || said) && wh_change_wish(&epoch->change, index, rests))
		wh_node_ask_leader(epoch->node);
	return true;
}

bool wh_epoch_has_said_rest(const struct wh_epoch *epoch, const whorl_subgroup *subgroup)
{
	const struct wh_shard_member *member = wh_epoch_shard_member(epoch, subgroup);
	uint32_t index;

	if (member == NULL || wh_rank_find(member->layout->resting, member->layout->resting_count, epoch->rank) >= 0)
		return true;
	index = wh_epoch_index(epoch, member);
	return wh_sst_mine(&epoch->sst, wh_array_at(epoch->change.columns.wish, index)) != 0;
}

static size_t retire_epoch(struct wh_epoch **at, struct wh_epoch *current)
{
	struct wh_epoch *epoch = *at;
	bool over = wh_load_acquire(&epoch->grace) != 0 && rings_are_done(epoch) && all_have_gone_on(epoch, current);

	/* After that look: what a member has said before it, this sees, too; that view is not looked at again. */
	if (current->holds && epoch == current->older)
		release_rings(current);
	if (!over)
		return 0;
	for (uint32_t i = 0; i < epoch->shard_member_count; i++)
		if (epoch->shard_members[i].placed)
			wh_ring_forget(epoch->shard_members[i].subgroup->ring, &epoch->shard_members[i].place);
	*at = epoch->older;
	wh_event(&epoch->node->diag, "close view", epoch->view->number, 0, 0);
	wh_epoch_free(epoch, true);
	return 1;
}

/* Since the last view began a grace period has passed: a thread that finished a claim that was dropped then has said so. */
static void count_dropped(whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->ring != NULL)
			wh_ring_count_dropped(subgroup->ring);
}

/* It has failed, or leaves: its row says nothing more. */
static bool is_silent(const whorl_node *node)
{
	return wh_node_has_failed(node) || node->waiting.may_leave;
}

void wh_epoch_send(whorl_node *node)
{
	if (node->epochs.current == NULL || is_silent(node))
		return;
	wh_hot_send(&node->epochs.current->hot);
}

void wh_epoch_exchange(void *ctx, const void *subgroup)
{
	whorl_node *node = ctx;
	struct wh_epoch *epoch = node->epochs.current;
	const struct wh_shard_member *member =
		epoch != NULL && !is_silent(node) ? wh_epoch_shard_member(epoch, subgroup) : NULL;

	if (member != NULL)
		wh_hot_exchange(&epoch->hot, wh_epoch_index(epoch, member));
}

void wh_epoch_park(void *ctx)
{
	whorl_node *node = ctx;

	if (node->epochs.current != NULL)
		wh_hot_park(&node->epochs.current->hot);
}

/* Returns how much was done. A subgroup in which nothing moves is left out. */
static size_t step_subgroups(struct wh_epoch *epoch)
{
	struct wh_multicast *mc;
	size_t work = 0;

	wh_hot_begin(&epoch->hot);
	while ((mc = wh_hot_next(&epoch->hot)) != NULL) {
		if (__builtin_expect(is_silent(epoch->node), 0)) /* just now: removed, or in a delivery */
			return work;
		work += wh_hot_note(&epoch->hot, wh_multicast_step(mc));
	}
	return work;
}

size_t wh_epoch_step(void *ctx)
{
	whorl_node *node = ctx;
	struct wh_epoch *epoch = node->epochs.current;
	size_t work;

	if (__builtin_expect(is_silent(node), 0))
		return wh_node_step_layers(node);
	work = wh_change_step(&epoch->change);
	epoch = node->epochs.current; /* which may be the next */
	if (__builtin_expect(node->refusing.count > 0, 0))
		work += wh_node_step_refusers(node);
	work += step_subgroups(epoch);
	if (__builtin_expect(wh_node_layers_ask(node), 0))
		work += wh_node_step_layers(node);
	if (__builtin_expect(is_silent(node), 0))
		return work;
	if (__builtin_expect(epoch->older != NULL, 0) && wh_load_acquire(&epoch->older->grace) != 0)
		count_dropped(node);
	for (struct wh_epoch **at = &epoch->older; *at != NULL;) {
		size_t gone = retire_epoch(at, epoch);

		work += gone;
		if (gone == 0)
			at = &(*at)->older;
	}
	return work;
}
