/* inspect.c - see inspect.h. */
#include "sim/inspect.h"

#include "group/node_int.h"
#include "predicates/multicast_int.h"

const struct wh_view *wh_inspect_view(const whorl_node *node)
{
	return wh_load_relaxed(&node->epochs.begun) > 0 ? node->epochs.current->view : NULL;
}

uint64_t wh_inspect_key(const whorl_node *node)
{
	return node->epochs.current->image->key;
}

uint64_t wh_inspect_proposed_key(const whorl_node *node)
{
	return node->epochs.proposed != NULL ? node->epochs.proposed->image->key : 0;
}

struct wh_view *wh_inspect_decode(const whorl_node *node, const void *bytes, size_t count)
{
	struct wh_view *view = NULL;
	struct wh_error err;

	if (wh_view_decode(&view, bytes, count, &node->fixed.layout_config, node->entry.roster.nodes, &err) != WHORL_OK)
		return NULL;
	return view;
}

uint64_t wh_inspect_incarnation(const whorl_node *node)
{
	return node->fixed.incarnation;
}

bool wh_inspect_dropped(const whorl_node *node, uint64_t key)
{
	return wh_is_first_view(key) && node->epochs.current == NULL && node->entry.join.floor >= key;
}

bool wh_inspect_comes_to(const whorl_node *node, uint32_t id, uint64_t incarnation)
{
	const struct wh_view *view = node->epochs.current == NULL ? node->entry.join.view : NULL;

	return view != NULL && view->number > 0 && wh_view_rank_of(view, id, incarnation) >= 0;
}

bool wh_inspect_has_let_go(const whorl_node *node, uint64_t key)
{
	return !wh_is_first_view(key) && node->epochs.current == NULL && node->entry.join.state == WH_JOIN_SEEKING &&
	       node->entry.join.key == key;
}

uint64_t wh_inspect_counted(const whorl_node *node)
{
	if (node->epochs.current != NULL)
		return node->epochs.current->view->group;
	return node->entry.join.state == WH_JOIN_THERE ? node->entry.join.view->group : 0;
}

bool wh_inspect_may_be_in(const whorl_node *node, uint64_t group)
{
	uint64_t counted = wh_inspect_counted(node);

	return counted == 0 || counted == group;
}

bool wh_inspect_has_row(const whorl_node *node, uint32_t id, uint64_t incarnation)
{
	const struct wh_epoch *epoch = node->epochs.current;
	int rank = epoch != NULL ? wh_view_rank_of(epoch->view, id, incarnation) : -1;

	return rank >= 0 && epoch->image->ready && epoch->image->row[rank] != NULL;
}

bool wh_inspect_has_promised(const whorl_node *node)
{
	return node->entry.join.there_ns != 0;
}

/* A stay that is over may be there still, beside the one that has come after it. */
static const whorl_subgroup *subgroup_of(const whorl_node *node, uint32_t g, uint64_t birth)
{
	whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (birth != 0 ? subgroup->stay.birth == birth &&
					 wh_epoch_shard_member(node->epochs.current, subgroup) != NULL
			       : subgroup->fixed.index == g)
			return subgroup;
	return NULL;
}

bool wh_inspect_restores(const whorl_node *node, uint32_t g, uint64_t birth)
{
	const whorl_subgroup *subgroup = subgroup_of(node, g, birth);

	return subgroup != NULL && subgroup->state != NULL && wh_state_restores(subgroup->state);
}

bool wh_inspect_asks(const whorl_node *node, uint32_t id, uint64_t incarnation)
{
	const struct wh_known_node *known = &node->entry.roster.known_nodes[id];

	return node->epochs.current == NULL && known->incarnation == incarnation && known->introduced &&
	       known->standing == WH_MEMBER_OF;
}

uint64_t wh_inspect_taken(const whorl_node *node, uint32_t g, uint64_t birth)
{
	const whorl_subgroup *subgroup = subgroup_of(node, g, birth);

	return subgroup != NULL && subgroup->state != NULL
		       ? wh_load_relaxed(&wh_state_statistics(subgroup->state)->taken)
		       : 0;
}

bool wh_inspect_keeps(const whorl_node *node, uint32_t g, uint64_t birth)
{
	const whorl_subgroup *subgroup = subgroup_of(node, g, birth);

	return subgroup != NULL && subgroup->state != NULL && wh_state_keeps(subgroup->state);
}

bool wh_inspect_refused(const whorl_node *node, uint32_t g, uint64_t birth)
{
	const whorl_subgroup *subgroup = subgroup_of(node, g, birth);

	return subgroup != NULL && subgroup->offer.backlog.messages > 0;
}

uint64_t wh_inspect_claimed(const whorl_subgroup *subgroup)
{
	return wh_ring_claimed(subgroup->ring);
}

bool wh_inspect_has_left(const whorl_subgroup *subgroup)
{
	return subgroup->told.stage == WH_STAGE_LEFT || subgroup->told.stage == WH_STAGE_REFUSED;
}

bool wh_inspect_was_refused(const whorl_subgroup *subgroup)
{
	return subgroup->told.stage == WH_STAGE_REFUSED;
}

bool wh_inspect_has_ended(const whorl_node *node, uint32_t shard)
{
	for (uint32_t i = 0; i < node->epochs.current->shard_member_count; i++) {
		const struct wh_shard_member *member = &node->epochs.current->shard_members[i];

		if (member->layout == &node->epochs.current->view->subgroups[shard])
			return member->ends &&
			       wh_ring_settled(member->subgroup->ring) == wh_ring_claimed(member->subgroup->ring);
	}
	return false;
}

bool wh_inspect_replays(const whorl_node *node, uint32_t g, uint32_t *shard)
{
	const struct wh_epoch *epoch = node->epochs.proposed;

	for (uint32_t i = 0;
	     node->epochs.current == NULL && epoch != NULL && node->entry.replays && i < epoch->shard_member_count;
	     i++) {
		const struct wh_shard_member *member = &epoch->shard_members[i];

		*shard = member->layout->shard;
		if (member->subgroup->fixed.index == g && member->subgroup->fixed.durable &&
		    wh_rank_find(member->layout->entered, member->layout->entered_count, epoch->rank) < 0)
			return true;
	}
	return false;
}

bool wh_inspect_restarts(const whorl_node *node)
{
	return node->epochs.current->view->number > 0 && wh_is_first_view(node->epochs.current->image->key);
}

bool wh_inspect_is_whole(const whorl_node *node, uint32_t shard)
{
	for (uint32_t i = 0; node->epochs.current != NULL && i < node->epochs.current->shard_member_count; i++) {
		const struct wh_shard_member *member = &node->epochs.current->shard_members[i];

		if (member->layout == &node->epochs.current->view->subgroups[shard])
			return wh_load_relaxed(&member->subgroup->figures.log_whole) != 0;
	}
	return false;
}

bool wh_inspect_has_rot(const whorl_node *node)
{
	for (uint32_t i = 0; node->epochs.current != NULL && i < node->epochs.current->shard_member_count; i++) {
		const struct wh_shard_member *member = &node->epochs.current->shard_members[i];

		if (node->disk.logs != NULL &&
		    wh_logs_has_rot(node->disk.logs, wh_subgroup_number(member->layout), member->layout->shard))
			return true;
	}
	return false;
}

bool wh_inspect_wedged(const whorl_node *node)
{
	return node->epochs.current != NULL && node->epochs.current->change.wedged;
}

uint64_t wh_inspect_suspects(const whorl_node *node)
{
	const struct wh_epoch *epoch = node->epochs.current;
	uint64_t suspects = 0;

	for (uint32_t rank = 0; epoch != NULL && rank < epoch->view->members; rank++)
		if (!wh_change_trusts(&epoch->change, rank))
			suspects |= UINT64_C(1) << epoch->view->ids[rank];
	return suspects;
}

uint64_t wh_inspect_left(const whorl_node *node)
{
	const struct wh_epoch *epoch = node->epochs.current;
	uint64_t left = 0;

	for (uint32_t rank = 0; epoch != NULL && rank < epoch->view->members; rank++)
		if (epoch->change.suspicion.known[rank] == WH_LEFT)
			left |= UINT64_C(1) << epoch->view->ids[rank];
	return left;
}

uint64_t wh_inspect_says_left(const whorl_node *node)
{
	const struct wh_epoch *epoch = node->epochs.current;
	uint64_t left = wh_inspect_left(node);

	for (uint32_t rank = 0; epoch != NULL && rank < epoch->view->members; rank++)
		if (epoch->change.suspicion.said[rank] >= WH_FAILED)
			left &= ~(UINT64_C(1) << epoch->view->ids[rank]);
	return left;
}

bool wh_inspect_saw_leave(const whorl_node *node, uint32_t id, uint64_t incarnation)
{
	for (const struct wh_epoch *epoch = node->epochs.current; epoch != NULL; epoch = epoch->older) {
		int rank = wh_view_rank_of(epoch->view, id, incarnation);

		if (rank >= 0 && epoch->change.suspicion.known[rank] == WH_LEFT)
			return true;
	}
	return false;
}

uint64_t wh_inspect_distrusts(const whorl_node *node)
{
	const struct wh_epoch *epoch = node->epochs.current;
	uint64_t distrusts = wh_inspect_suspects(node);

	for (uint32_t rank = 0; epoch != NULL && rank < epoch->view->members; rank++)
		if (epoch->change.suspicion.known[rank] != WH_TRUSTED)
			distrusts |= UINT64_C(1) << epoch->view->ids[rank];
	return distrusts;
}

uint64_t wh_inspect_unfrozen(const whorl_node *node)
{
	const struct wh_epoch *epoch = node->epochs.current;
	const struct wh_image *image = epoch != NULL ? epoch->image : NULL;
	uint64_t unfrozen = 0;

	for (uint32_t rank = 0; image != NULL && image->ready && rank < epoch->view->members; rank++)
		if (epoch->change.suspicion.said[rank] == WH_FAILED && epoch->change.suspicion.known[rank] != WH_DEAD &&
		    image->row[rank] != NULL && image->control[rank] == image->row[rank])
			unfrozen |= UINT64_C(1) << epoch->view->ids[rank];
	return unfrozen;
}

static const struct wh_epoch *epoch_of(const whorl_node *node, uint64_t key)
{
	const struct wh_epoch *epoch = node->epochs.current;

	while (epoch != NULL && epoch->image->key != key)
		epoch = epoch->older;
	return epoch;
}

bool wh_inspect_has_image(const whorl_node *node, uint64_t key)
{
	return epoch_of(node, key) != NULL;
}

uint64_t wh_inspect_beat(const whorl_node *node, uint32_t id, bool *overdue)
{
	const struct wh_epoch *epoch = node->epochs.current;
	int rank = epoch != NULL ? wh_view_rank(epoch->view, id) : -1;

	*overdue = false;
	if (rank < 0 || (uint32_t)rank == epoch->rank)
		return 0;
	*overdue = wh_heartbeat_overdue(&epoch->heartbeat, (uint32_t)rank);
	return wh_sst_observe(&epoch->sst, (uint32_t)rank, epoch->rows->node.heartbeat);
}

uint64_t wh_inspect_next_ns(const whorl_node *node)
{
	return node->loop.next_ns;
}

uint64_t wh_inspect_jobs(const whorl_node *node)
{
	return wh_load_relaxed(&node->uses.jobs);
}

void wh_inspect_wake(whorl_node *node)
{
	node->fixed.transport->ops->wake(node->fixed.transport);
}

void wh_inspect_dump(whorl_node *node)
{
	wh_diag_dump(&node->diag);
}

enum wh_moment wh_inspect_step(const whorl_node *node, uint64_t key, const struct wh_push *push)
{
	const struct wh_epoch *epoch = epoch_of(node, key);
	const struct wh_node_columns *columns;

	if (epoch == NULL || push->kind != WH_PUSH_WORD)
		return WH_MOMENT_TIME;
	columns = &epoch->rows->node;
	if (push->offset == columns->suspicions.offset)
		return WH_MOMENT_SUSPECT;
	if (push->offset == columns->wedged.offset)
		return WH_MOMENT_WEDGE;
	if (push->offset == columns->proposed.offset)
		return WH_MOMENT_PROPOSE;
	if (push->offset == columns->acknowledged.offset)
		return WH_MOMENT_ACKNOWLEDGE;
	if (push->offset == columns->agreed.offset)
		return push->value == (uint64_t)epoch->rank + 1 ? WH_MOMENT_DECIDE : WH_MOMENT_ECHO;
	if (push->offset == columns->installed.offset)
		return WH_MOMENT_INSTALL;
	return WH_MOMENT_TIME;
}

/* ---- a member in a shard of its view ------------------------------------------------------------------------------------ */

static const struct wh_multicast *multicast_of(const whorl_node *node, uint32_t shard)
{
	const struct wh_epoch *epoch = node->epochs.current;

	for (uint32_t i = 0; i < epoch->shard_member_count; i++)
		if (epoch->shard_members[i].layout == &epoch->view->subgroups[shard])
			return epoch->shard_members[i].mc;
	return NULL;
}

static uint64_t own_word(const whorl_node *node, uint32_t offset)
{
	return wh_load_relaxed((const wh_word *)(const void *)(node->epochs.current->image->own + offset));
}

bool wh_inspect_member(const whorl_node *node, uint32_t shard, struct wh_inspect_member *out)
{
	const struct wh_multicast *mc = wh_load_relaxed(&node->epochs.begun) > 0 ? multicast_of(node, shard) : NULL;
	const struct wh_subgroup_columns *columns;
	const struct wh_ring *ring;

	if (mc == NULL)
		return false;
	columns = &mc->config.columns;
	ring = mc->config.ring;
	*out = (struct wh_inspect_member){
		.broken = mc->broken,
		.me = mc->config.me,
		.covered = mc->covered,
		.announced = mc->announced,
		.received_num = mc->received_num,
		.delivered_num = mc->delivered_num,
		.durable = mc->config.persist != NULL,
		.persisted_num = mc->persisted_num,
		.said = {own_word(node, columns->guard.offset), own_word(node, columns->received_num.offset),
			 own_word(node, columns->delivered_num.offset),
			 mc->config.persist != NULL ? own_word(node, columns->persisted_num.offset) : 0},
		.window = mc->config.window};
	if (ring != NULL) {
		out->sent = ring->sent;
		out->freed = ring->freed;
		out->limit = wh_load_relaxed(&ring->limit);
	}
	return true;
}

struct wh_inspect_sender wh_inspect_sender(const whorl_node *node, uint32_t shard, uint32_t s)
{
	const struct wh_multicast *mc = multicast_of(node, shard);
	const struct wh_sender *sender = &mc->senders[s];
	uint64_t said = sender->next;

	if (mc->config.mode == WH_MODE_UNORDERED) {
		said = own_word(node, mc->config.columns.delivered_of.offset + 8 * s);
		if (said == 0 && sender->first != WH_UNKNOWN) /* before the first delivery in a view 0 means the first */
			said = sender->first;
	}
	return (struct wh_inspect_sender){.covered = sender->covered,
					  .announced = sender->announced,
					  .next = sender->next,
					  .told = sender->told,
					  .said_next = said};
}

struct wh_slot_header wh_inspect_slot(const whorl_node *node, uint32_t shard, uint32_t s, uint64_t number,
				      const unsigned char **payload)
{
	const struct wh_multicast *mc = multicast_of(node, shard);
	const struct wh_slots *slots = &mc->config.slots[s];
	const unsigned char *row = node->epochs.current->image->row[mc->config.senders[s]];
	uint32_t slot = (uint32_t)(number % slots->window);

	*payload = row + wh_slot_payload(slots, slot);
	return wh_slot_read(slots, row, slot);
}
