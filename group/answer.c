/* answer.c - a node looks at itself for a visitor; see status.h. Everything is read between two passes of the loop, so it is of one
 * moment. */
#include "group/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "group/node_int.h"

/* ---- the node ---------------------------------------------------------------------------------------------------------------- */

static enum whorl_standing standing_of(whorl_node *node)
{
	uint64_t gate = wh_gate_state(node->fixed.gate);

	if ((gate & WH_GATE_FAILED) != 0)
		return WHORL_HAS_FAILED;
	if (node->epochs.current == NULL && node->entry.join.state != WH_JOIN_SEEKING)
		return WHORL_IS_INVITED;
	if (node->epochs.current == NULL)
		return node->entry.roster.intro.standing == WH_FORMING ? WHORL_IS_FORMING : WHORL_IS_SEEKING;
	return wh_load_relaxed(&node->passes.wants_drain) != 0 ? WHORL_IS_LEAVING : WHORL_IS_MEMBER;
}

static void show_node(struct whorl_status *status, whorl_node *node)
{
	snprintf(status->version, sizeof(status->version), "%s", whorl_version());
	memcpy(status->group, node->fixed.config.group.name,
	       sizeof(status->group) - 1); /* no longer: it has been checked */
	status->id = node->fixed.id;
	status->pid = (uint32_t)getpid();
	status->incarnation = node->fixed.incarnation;
	status->identity = node->epochs.current != NULL ? node->epochs.current->view->group : 0;
	status->other = node->entry.roster.other;
	status->standing = standing_of(node);
	status->result = whorl_error(node, status->error, sizeof(status->error));
	whorl_progress(node, status->progress, sizeof(status->progress));
	status->ready = wh_waiting_is_ready(&node->waiting);
	status->failure_timeout_ms = (uint32_t)node->fixed.config.group.failure_timeout_ms;
	status->leader = status->tie_breaker = status->coordinator = WHORL_NOBODY;
	status->stats->size = sizeof(*status->stats);
	whorl_node_statistics(node, status->stats);
}

/* ---- its disk, and a restart ------------------------------------------------------------------------------------------------- */

static void show_disk(struct whorl_status *status, const whorl_node *node)
{
	uint64_t busy_ns, full_ns;

	if (node->disk.logs == NULL)
		return;
	status->disk_timeout_ms = (uint32_t)node->fixed.config.group.disk_timeout_ms;
	wh_logs_delays(node->disk.logs, wh_env_now(&node->fixed.env), &busy_ns, &full_ns);
	status->disk_busy_ms = busy_ns / WH_NS_PER_MS;
	status->disk_full_ms = full_ns / WH_NS_PER_MS;
}

static bool has_restart(const whorl_node *node)
{
	return node->entry.join.restart != NULL && node->epochs.current == NULL && !wh_node_has_failed(node) &&
	       wh_restart_look(&node->entry.join).goes_on;
}

static void show_missing(struct whorl_status_missing *missing, const whorl_node *node, uint32_t id)
{
	char address[WH_OPTION_TEXT_BYTES] = "";

	missing->size = sizeof(*missing);
	missing->id = id;
	if (id < wh_node_config_nodes_max(&node->fixed.config) && node->fixed.config.addresses != NULL)
		wh_node_config_address(&node->fixed.config, id, address);
	snprintf(missing->address, sizeof(missing->address), "%.*s", (int)sizeof(missing->address) - 1, address);
}

static void show_restart(struct whorl_status *status, const whorl_node *node)
{
	static const enum whorl_restart_step steps[] = {[WH_ROUND_NONE] = WHORL_RESTART_LOOKS,
							[WH_ROUND_ASKS] = WHORL_RESTART_ASKS,
							[WH_ROUND_AGREES] = WHORL_RESTART_AGREES,
							[WH_ROUND_BEGINS] = WHORL_RESTART_BEGINS};
	struct wh_restart_is is;

	if (!has_restart(node))
		return;
	is = wh_restart_look(&node->entry.join);
	status->restart = steps[is.phase];
	if (is.coordinator >= 0)
		status->coordinator = (uint32_t)is.coordinator;
	status->restart_view = is.missing->view;
	for (uint32_t i = 0; i < status->missing_count; i++)
		show_missing(&status->missing[i], node, is.missing->ids[i]);
}

/* ---- its view ---------------------------------------------------------------------------------------------------------------- */

static enum whorl_change_step change_of(const struct wh_change *change)
{
	if (change->settled)
		return WHORL_CHANGE_SETTLED;
	if (change->agreed != 0)
		return WHORL_CHANGE_DECIDED;
	if (change->wedged)
		return change->ticket != 0 && change->acknowledged == change->ticket ? WHORL_CHANGE_ACKNOWLEDGED
										     : WHORL_CHANGE_WEDGED;
	if (change->suspicion.count > 0)
		return WHORL_CHANGE_SUSPECTING;
	return change->ticket != 0 ? WHORL_CHANGE_PREPARING : WHORL_CHANGE_NONE;
}

static uint64_t ms_since(uint64_t then_ns, uint64_t now_ns)
{
	return then_ns < now_ns ? (now_ns - then_ns) / WH_NS_PER_MS : 0;
}

static void show_member(struct whorl_status_member *member, const struct wh_epoch *epoch, uint32_t rank,
			uint64_t now_ns)
{
	const struct wh_heard *heard = &epoch->heartbeat.heard[rank];

	member->size = sizeof(*member);
	member->id = epoch->view->ids[rank];
	member->incarnation = epoch->view->incarnations[rank];
	member->suspicion = (enum whorl_suspicion)epoch->change.suspicion.said[rank]; /* wh_suspected: the same four */
	if (rank == epoch->rank)
		return;
	member->heard_ms = ms_since(heard->when_ns, now_ns);
	member->overdue = heard->overdue;
}

static void show_view(struct whorl_status *status, const struct wh_epoch *epoch, uint64_t now_ns)
{
	const struct wh_change *change = &epoch->change;
	const struct wh_view *view = epoch->view;

	status->view = view->number;
	status->voters = view->voters;
	status->leader = view->ids[wh_change_leader_of(change)];
	if (change->tie_breaker >= 0)
		status->tie_breaker = view->ids[change->tie_breaker];
	status->quorum = change->suspicion.quorum;
	status->change = change_of(change);
	if (status->change != WHORL_CHANGE_NONE)
		status->change_ms = ms_since(change->began_ns != 0 ? change->began_ns : change->standing_ns, now_ns);
	for (uint32_t rank = 0; rank < view->members; rank++)
		show_member(&status->members[rank], epoch, rank, now_ns);
}

/* ---- its shards -------------------------------------------------------------------------------------------------------------- */

/* The counters of a member as they have come here. */
static void show_place(struct whorl_status_place *place, const struct wh_epoch *epoch, uint32_t g, uint32_t rank,
		       bool ordered)
{
	const struct wh_view_subgroup *layout = &epoch->view->subgroups[g];
	const struct wh_subgroup_columns *columns = &epoch->rows->subgroups[g].columns;
	const bool durable = wh_node_config_parameters(&epoch->node->fixed.config, layout).durable;

	place->size = sizeof(*place);
	place->id = epoch->view->ids[rank];
	place->sends = wh_rank_find(layout->senders, layout->sender_count, rank) >= 0;
	place->rests = wh_rank_find(layout->resting, layout->resting_count, rank) >= 0;
	if (ordered) {
		/* Delivered first: it is not more than what is received, unless both come with one write. */
		place->delivered_num = wh_sst_observe(&epoch->sst, rank, columns->delivered_num);
		if (durable)
			place->persisted_num = wh_sst_observe(&epoch->sst, rank, columns->persisted_num);
		place->received_num =
			durable ? place->persisted_num : wh_sst_observe(&epoch->sst, rank, columns->received_num);
		if (place->received_num < place->delivered_num)
			place->received_num = place->delivered_num;
		return;
	}
	for (uint32_t s = 0; s < layout->sender_count; s++)
		place->delivered_num += wh_sst_observe_array(&epoch->sst, rank, columns->delivered_of, s);
	place->received_num = place->delivered_num;
}

static void show_shard_member(struct whorl_status_shard *shard, const struct wh_epoch *epoch, uint32_t g,
			      const whorl_subgroup *subgroup)
{
	const struct wh_view_subgroup *layout = &epoch->view->subgroups[g];

	shard->condition = layout->state == WH_SHARD_ACTIVE ? WHORL_SHARD_ACTIVE : WHORL_SHARD_INACTIVE;
	shard->stats->size = sizeof(*shard->stats);
	whorl_subgroup_statistics(subgroup, shard->stats);
	if (shard->log != NULL) {
		shard->log->size = sizeof(*shard->log);
		if (whorl_log_statistics(subgroup, shard->log) != WHORL_OK) { /* nothing has been written yet */
			free(shard->log);
			shard->log = NULL;
		}
	}
	for (uint32_t i = 0; i < shard->place_count; i++)
		show_place(&shard->places[i], epoch, g, layout->members[i], shard->ordered);
}

static bool is_in_shard(const struct wh_epoch *epoch, const struct wh_view_subgroup *layout)
{
	return wh_rank_find(layout->members, layout->member_count, epoch->rank) >= 0;
}

static void show_shard(struct whorl_status_shard *shard, whorl_node *node, uint32_t g)
{
	const struct wh_epoch *epoch = node->epochs.current;
	const struct wh_view_subgroup *layout = &epoch->view->subgroups[g];
	struct wh_parameters parameters = wh_node_config_parameters(&node->fixed.config, layout);

	shard->size = sizeof(*shard);
	memcpy(shard->name, layout->name, sizeof(shard->name));
	shard->shard = layout->shard;
	shard->shards = layout->shards;
	shard->ordered = parameters.ordered;
	shard->durable = parameters.durable;
	shard->lost = layout->state == WH_SHARD_LOST;
	shard->condition = WHORL_SHARD_GONE;
	shard->members = layout->member_count;
	shard->senders = layout->sender_count;
	shard->resting = layout->resting_count;
	shard->window = parameters.window;
	shard->message_bytes = parameters.message_bytes;
	shard->large_bytes = parameters.large_bytes;
	shard->relay_bytes = wh_node_config_relay_bytes(&node->fixed.config, layout);
	if (is_in_shard(epoch, layout))
		show_shard_member(shard, epoch, g, wh_node_subgroup_of(node, layout));
}

static void show_dormant(struct whorl_status_shard *shard, const struct wh_dormant *dormant)
{
	shard->size = sizeof(*shard);
	memcpy(shard->name, dormant->name, sizeof(shard->name));
	shard->shards = 1;
	shard->ordered = shard->durable = shard->dormant = true;
	shard->condition = WHORL_SHARD_GONE;
	shard->members = dormant->member_count;
	shard->window = dormant->parameters.window;
	shard->message_bytes = dormant->parameters.message_bytes;
	shard->large_bytes = dormant->parameters.large_bytes;
	shard->last_view = dormant->last;
	for (uint32_t i = 0; i < dormant->member_count; i++)
		shard->places[i] =
			(struct whorl_status_place){.size = sizeof(*shard->places), .id = dormant->members[i].id};
}

/* ---- memory, then all of it -------------------------------------------------------------------------------------------------- */

_Static_assert(sizeof(((struct whorl_status_shard *)0)->name) == WH_NAME_BYTES, "names have room");
_Static_assert((int)WHORL_HAS_LEFT == WH_LEFT && (int)WHORL_IS_FAILED == WH_FAILED && (int)WHORL_IS_DEAD == WH_DEAD,
	       "the public names of suspicions");

static bool make_room(struct whorl_status *status, const struct wh_epoch *epoch)
{
	const struct wh_view *view = epoch->view;

	status->members = calloc(view->members, sizeof(*status->members));
	status->shards = calloc((size_t)view->subgroup_count + view->dormant_count + 1, sizeof(*status->shards));
	if (status->members == NULL || status->shards == NULL)
		return false;
	status->member_count = view->members;
	status->shard_count = view->subgroup_count + view->dormant_count;
	for (uint32_t g = 0; g < view->subgroup_count; g++) {
		const struct wh_view_subgroup *layout = &view->subgroups[g];

		if (!is_in_shard(epoch, layout))
			continue;
		status->shards[g].places = calloc(layout->member_count, sizeof(*status->shards[g].places));
		status->shards[g].stats = calloc(1, sizeof(*status->shards[g].stats));
		if (status->shards[g].places == NULL || status->shards[g].stats == NULL)
			return false;
		if (wh_node_config_parameters(&epoch->node->fixed.config, layout).durable) {
			status->shards[g].log = calloc(1, sizeof(*status->shards[g].log));
			if (status->shards[g].log == NULL)
				return false;
		}
		status->shards[g].place_count = layout->member_count;
	}
	for (uint32_t i = 0; i < view->dormant_count; i++) {
		struct whorl_status_shard *shard = &status->shards[view->subgroup_count + i];

		shard->places = calloc(view->dormant[i].member_count, sizeof(*shard->places));
		if (shard->places == NULL)
			return false;
		shard->place_count = view->dormant[i].member_count;
	}
	return true;
}

static bool make_room_for_missing(struct whorl_status *status, const whorl_node *node)
{
	uint32_t count = has_restart(node) ? wh_restart_look(&node->entry.join).missing->count : 0;

	if (count == 0)
		return true;
	status->missing = calloc(count, sizeof(*status->missing));
	status->missing_count = status->missing != NULL ? count : 0;
	return status->missing != NULL;
}

enum whorl_result wh_status_make(whorl_node *node, struct whorl_status **out)
{
	struct whorl_status *status = wh_status_new();
	const struct wh_epoch *epoch = node->epochs.current;

	*out = NULL;
	if (status == NULL || (epoch != NULL && !make_room(status, epoch)) || !make_room_for_missing(status, node) ||
	    !wh_waiting_workers(&node->waiting, &status->workers, &status->worker_count)) {
		whorl_status_free(status);
		return WHORL_MEMORY;
	}
	show_node(status, node);
	show_disk(status, node);
	show_restart(status, node);
	if (epoch != NULL)
		show_view(status, epoch, wh_env_now(&node->fixed.env));
	for (uint32_t g = 0; epoch != NULL && g < epoch->view->subgroup_count; g++)
		show_shard(&status->shards[g], node, g);
	for (uint32_t i = 0; epoch != NULL && i < epoch->view->dormant_count; i++)
		show_dormant(&status->shards[epoch->view->subgroup_count + i], &epoch->view->dormant[i]);
	*out = status;
	return WHORL_OK;
}

static void answer_in_full(whorl_node *node, uint64_t query, uint32_t version)
{
	unsigned char *bytes = malloc(WH_ANSWER_MAX);
	struct whorl_status *status = NULL;

	if (bytes != NULL && wh_status_make(node, &status) == WHORL_OK)
		node->fixed.transport->ops->answer(node->fixed.transport, query, bytes,
						   wh_status_encode(bytes, WH_ANSWER_MAX, status, version));
	whorl_status_free(status);
	free(bytes);
}

void wh_status_answer(whorl_node *node, const void *question, size_t bytes, uint64_t query)
{
	unsigned char shrug[WH_STATUS_QUESTION_BYTES];
	uint32_t version = wh_status_take_question(question, bytes);

	if (version != 0)
		answer_in_full(node, query, version);
	else
		node->fixed.transport->ops->answer(node->fixed.transport, query, shrug, wh_status_shrug(shrug));
}
