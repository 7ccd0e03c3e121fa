/* transfer.c - where the states of a node's subgroups meet views: which node gives to which, and from where (docs/decisions/0016).
 *
 * state.h does the rest.
 */

#include "group/durable.h"
#include "group/node_int.h"

#define UPCALL_NS (2 * WH_NS_PER_MS)
#define GIVES_MAX 8 /* at once, of one node */

/* ---- hooks ----------------------------------------------------------------------------------------------------------- */

static void name_sender(struct wh_position *out, const struct wh_view *view, uint32_t rank, uint64_t next)
{
	out->of[out->count++] =
		(struct wh_position_of){.id = view->ids[rank], .next = next, .incarnation = view->incarnations[rank]};
}

/* Unordered, any node of the view may have sent, or send again, what I do not have and others do: in this view or in a later one, in
 * which it begins with what some had not delivered, wherever they are by then. So all of them are named. If I cannot say more
 * of a node, nothing of it is here but what came with the state that I was given (wh_state_raise_position). */
static void name_all(const whorl_subgroup *subgroup, const struct wh_shard_member *member, struct wh_position *out)
{
	const struct wh_view *view = subgroup->node->epochs.current->view;
	bool named[WH_STATE_SENDERS_MAX] = {false};

	for (uint32_t i = 0; i < out->count; i++)
		named[out->of[i].id] = true;
	for (uint32_t rank = 0; rank < view->members; rank++) {
		uint32_t id = view->ids[rank];
		bool sends = wh_rank_find(member->layout->senders, member->layout->sender_count, rank) >= 0;
		bool knows = !sends && subgroup->had[id] != WH_UNKNOWN;

		if (!named[id])
			name_sender(out, view, rank, knows ? subgroup->had[id] : 0);
	}
}

static bool find_position(void *ctx, struct wh_position *out, uint64_t *view, uint32_t *shard)
{
	whorl_subgroup *subgroup = ctx;
	const struct wh_epoch *epoch = subgroup->node->epochs.current;
	const struct wh_shard_member *member = epoch != NULL ? wh_epoch_shard_member(epoch, subgroup) : NULL;

	if (member == NULL)
		return false;
	*view = epoch->view->number;
	*shard = member->layout->shard;
	out->count = 0;
	out->sequence =
		subgroup->fixed.mode == WH_MODE_ORDERED && member->mc != NULL ? wh_multicast_sequence(member->mc) : 0;
	for (uint32_t s = 0; s < member->layout->sender_count; s++) {
		uint32_t id = member->sender_ids[s];
		uint64_t next = member->mc != NULL ? wh_multicast_next(member->mc, s) : subgroup->had[id];

		if (next != WH_UNKNOWN)
			name_sender(out, epoch->view, member->layout->senders[s], next);
	}
	if (subgroup->fixed.mode != WH_MODE_ORDERED)
		name_all(subgroup, member, out);
	return true;
}

static bool has_entered(const struct wh_view_subgroup *layout, uint32_t rank)
{
	return wh_rank_find(layout->entered, layout->entered_count, rank) >= 0;
}

static bool has_returned(const struct wh_view_subgroup *layout, uint32_t rank)
{
	return wh_rank_find(layout->returned, layout->returned_count, rank) >= 0;
}

/* It has entered, and not with its log. */
static bool needs_state(const struct wh_view_subgroup *layout, uint32_t rank)
{
	return has_entered(layout, rank) && !has_returned(layout, rank);
}

/* Members that have been there longer first: they are likelier to have it. */
static uint32_t find_givers(void *ctx, uint32_t *ids, uint32_t max)
{
	whorl_subgroup *subgroup = ctx;
	const struct wh_epoch *epoch = subgroup->node->epochs.current;
	const struct wh_shard_member *member = wh_epoch_shard_member(epoch, subgroup);
	uint32_t count = 0;

	for (int entered = 0; member != NULL && entered <= 1; entered++)
		for (uint32_t i = 0; i < member->layout->member_count && count < max; i++) {
			uint32_t rank = member->layout->members[i];

			if (rank != epoch->rank && needs_state(member->layout, rank) == (entered == 1) &&
			    epoch->change.suspicion.known[rank] == WH_TRUSTED)
				ids[count++] = epoch->view->ids[rank];
		}
	return count;
}

static bool hears_quorum(void *ctx)
{
	const whorl_subgroup *subgroup = ctx;
	const struct wh_epoch *epoch = subgroup->node->epochs.current;

	return epoch != NULL && epoch->change.suspicion.quorum;
}

static bool send_control(whorl_subgroup *subgroup, uint32_t node, enum wh_wire_kind kind)
{
	const struct wh_wire message = {.kind = kind, .subgroup = wh_node_number_of(subgroup)};

	return wh_roster_send(&subgroup->node->entry.roster, node, &message);
}

static bool is_with_me(const whorl_node *node, uint32_t id)
{
	return node->epochs.current != NULL &&
	       wh_view_rank_of(node->epochs.current->view, id, node->entry.roster.known_nodes[id].incarnation) >= 0;
}

static bool may_give(void *ctx, uint32_t to)
{
	const whorl_subgroup *subgroup = ctx;
	const whorl_node *node = subgroup->node;

	/* What was refused of views before is in no state, and a log has to have it: it is taken first. */
	if (subgroup->fixed.durable && subgroup->offer.backlog.messages > 0)
		return false;
	return is_with_me(node, to) && node->states.gives < GIVES_MAX;
}

static bool ask_for_state(void *ctx, uint32_t node)
{
	return send_control(ctx, node, WH_WIRE_STATE_WANTED);
}

static bool decline_to_give(void *ctx, uint32_t node)
{
	return send_control(ctx, node, WH_WIRE_NO_STATE);
}

static size_t upcall_messages(void *ctx, const struct whorl_message *messages, size_t count)
{
	return wh_node_upcall(ctx, messages, count);
}

static bool precede_messages(void *ctx, size_t *work)
{
	return wh_durable_precede(ctx, work);
}

static void note_missed(void *ctx, const struct whorl_message *message)
{
	const whorl_subgroup *subgroup = ctx;

	if (subgroup->layer.ops != NULL)
		subgroup->layer.ops->missed(subgroup->layer.ctx, message);
}

/* What the program has not taken of views before: it is in no state, and no newcomer is sent it otherwise. */
static const struct wh_backlog *find_refused(void *ctx)
{
	const whorl_subgroup *subgroup = ctx;

	return &subgroup->offer.backlog;
}

static void note_restored(void *ctx)
{
	whorl_subgroup *subgroup = ctx;

	wh_event(&subgroup->node->diag, "restored", wh_node_number_of(subgroup), 0, 0);
	wh_node_state_restored(subgroup->node);
}

static void fail_restoring(void *ctx, enum whorl_result code, const char *why)
{
	whorl_subgroup *subgroup = ctx;

	if (wh_node_is_dynamic(subgroup))
		wh_node_fail_stay(subgroup, code, why);
	else
		wh_node_fail(subgroup->node, WH_LOG_WARNING, code, "the state of %s: %s", subgroup->fixed.name, why);
}

static void job_begins(void *ctx)
{
	whorl_subgroup *subgroup = ctx;

	wh_fetch_add(&subgroup->words.jobs, 1);
	wh_fetch_add(&subgroup->node->uses.jobs, 1);
}

static void job_ends(void *ctx)
{
	whorl_subgroup *subgroup = ctx;
	whorl_node *node = subgroup->node;

	wh_fetch_add(&subgroup->words.jobs,
		     UINT64_MAX);                   /* the last that it does with this. Partner: free_it, in stay.c */
	wh_fetch_add(&node->uses.jobs, UINT64_MAX); /* and at all. Partner: await_jobs, in close.c */
}

static void log_text(void *ctx, enum wh_log_level level, const char *text)
{
	whorl_subgroup *subgroup = ctx;

	wh_log(&subgroup->node->diag, level, "%s", text);
}

bool wh_node_state_holds(const struct whorl_state *functions)
{
	return functions->size >= offsetof(struct whorl_state, ctx) + sizeof(functions->ctx) &&
	       functions->snapshot != NULL && functions->read != NULL && functions->release != NULL &&
	       functions->restore != NULL;
}

enum whorl_result wh_node_open_state(whorl_subgroup *subgroup, const struct whorl_state *functions,
				     struct wh_error *err)
{
	whorl_node *node = subgroup->node;
	const struct wh_state_hooks hooks = {
		.env = &node->fixed.env,
		.transport = node->fixed.transport,
		.backlog_max = (uint64_t)node->fixed.config.group.backlog_max,
		.share = (uint32_t)node->fixed.config.group.state_share,
		.steps = &node->loop.stats.steps,
		.idle_steps = &node->loop.stats.idle_steps,
		.subgroup = wh_node_number_of(subgroup),
		.ordered = subgroup->fixed.mode == WH_MODE_ORDERED,
		.name = subgroup->fixed.name,
		.message_of = subgroup,
		.gives = &node->states.gives,
		.now_ns = &node->loop.now_ns,
		.timeout_ns = (uint64_t)node->fixed.config.group.failure_timeout_ms * WH_NS_PER_MS,
		.upcall_ns = UPCALL_NS,
		.ctx = subgroup,
		.position = find_position,
		.givers = find_givers,
		.may_give = may_give,
		.hears_quorum = hears_quorum,
		.ask = ask_for_state,
		.decline = decline_to_give,
		.upcall = upcall_messages,
		.precede = precede_messages,
		.missed = note_missed,
		.refused = find_refused,
		.restored = note_restored,
		.failed = fail_restoring,
		.job_begins = job_begins,
		.job_ends = job_ends,
		.log = log_text,
	};
	struct wh_state *before = subgroup->state;
	struct whorl_state used = *functions;
	enum whorl_result result = WHORL_OK;

	if (subgroup->fixed.durable)
		result = wh_durable_wrap_state(subgroup, &used, err);
	if (result == WHORL_OK)
		result = wh_state_create(&subgroup->state, &used, &hooks, err);
	if (result == WHORL_OK)
		wh_state_free(before, false);
	return result;
}

/* Its state is its log (durable_log.c). */
enum whorl_result wh_node_open_log_state(whorl_subgroup *subgroup, struct wh_error *err)
{
	const struct whorl_state functions = wh_durable_log_functions(subgroup);
	enum whorl_result result = wh_node_open_state(subgroup, &functions, err);

	if (result == WHORL_OK)
		wh_durable_note_log(subgroup);
	return result;
}

enum whorl_result wh_node_open_log_states(whorl_node *node, struct wh_error *err)
{
	enum whorl_result result = WHORL_OK;

	for (uint32_t i = 0; i < node->fixed.config.subgroup_count && result == WHORL_OK; i++)
		if (node->list.subgroups[i]->fixed.durable && node->list.subgroups[i]->state == NULL)
			result = wh_node_open_log_state(node->list.subgroups[i], err);
	return result;
}

/* ---- views ---------------------------------------------------------------------------------------------------------------- */

/* The lowest rank that was in the shard before, or comes back with its log; -1: none was, and it begins with nothing. */
static int giver_of(const struct wh_view_subgroup *layout)
{
	for (uint32_t i = 0; i < layout->member_count; i++)
		if (!has_entered(layout, layout->members[i]) || has_returned(layout, layout->members[i]))
			return (int)layout->members[i];
	return -1;
}

bool wh_node_begins(const whorl_subgroup *subgroup, const struct wh_shard_member *member, uint32_t rank)
{
	return subgroup->state != NULL && has_entered(member->layout, rank);
}

static void begin_transfer(whorl_subgroup *subgroup, const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	int giver = giver_of(member->layout);

	if (!wh_node_begins(subgroup, member, epoch->rank))
		return;
	if (has_returned(member->layout, epoch->rank)) {
		wh_durable_recover(epoch, member);
		wh_state_recover(wh_node_use_state(subgroup), epoch->view->number, member->layout->shard);
	} else if (giver >= 0) {
		wh_state_await(wh_node_use_state(subgroup), epoch->view->ids[giver], epoch->view->number,
			       member->layout->shard);
	} else {
		wh_state_begin(wh_node_use_state(subgroup), epoch->view->number, member->layout->shard);
	}
}

void wh_node_state_wanted(whorl_subgroup *subgroup, uint32_t from)
{
	if (subgroup->state == NULL)
		(void)send_control(subgroup, from, WH_WIRE_NO_STATE);
	else if (is_with_me(subgroup->node, from))
		wh_state_give(wh_node_use_state(subgroup), from);
	else
		subgroup->asked_early[from] = true;
}

static void give_early(const struct wh_epoch *epoch)
{
	whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(epoch->node, &at)) != NULL;) {
		for (uint32_t rank = 0; rank < epoch->view->members; rank++) {
			uint32_t id = epoch->view->ids[rank];

			if (!subgroup->asked_early[id] || !is_with_me(epoch->node, id))
				continue;
			subgroup->asked_early[id] = false;
			wh_state_give(wh_node_use_state(subgroup), id);
		}
	}
}

/* After the view upcall, in which the program may have changed its state. */
void wh_node_give(const struct wh_epoch *epoch)
{
	for (uint32_t i = 0; i < epoch->shard_member_count; i++) {
		const struct wh_view_subgroup *layout = epoch->shard_members[i].layout;
		whorl_subgroup *subgroup = epoch->shard_members[i].subgroup;

		if (subgroup->state == NULL || giver_of(layout) != (int)epoch->rank)
			continue;
		for (uint32_t k = 0; k < layout->entered_count; k++)
			if (!has_returned(layout, layout->entered[k]))
				wh_state_give(wh_node_use_state(subgroup), epoch->view->ids[layout->entered[k]]);
		if (wh_node_is_dynamic(subgroup))
			wh_node_stay_to_give(subgroup);
	}
	give_early(epoch);
}

/* A node that enters a dynamic subgroup begins its messages at 0: that is another life of it, there. */
static void begin_stays(const whorl_subgroup *subgroup, const struct wh_view *view,
			const struct wh_view_subgroup *layout)
{
	uint32_t ids[WH_NODES_MAX], count = 0;

	for (uint32_t i = 0; i < layout->entered_count; i++)
		if (wh_rank_find(view->joined, view->joined_count, view->ids[layout->entered[i]]) < 0)
			ids[count++] = view->ids[layout->entered[i]];
	wh_state_is_born(subgroup->state, layout->birth);
	wh_state_begin_view(subgroup->state, view->number, ids, count);
}

void wh_node_transfer(whorl_node *node, const struct wh_epoch *epoch)
{
	whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		const struct wh_shard_member *member = wh_epoch_shard_member(epoch, subgroup);

		if (subgroup->state == NULL)
			continue;
		wh_state_begin_view(subgroup->state, epoch->view->number, epoch->view->joined,
				    epoch->view->joined_count);
		if (wh_node_is_dynamic(subgroup) && member != NULL)
			begin_stays(subgroup, epoch->view, member->layout);
		for (uint32_t k = 0; k < epoch->view->left_count; k++)
			wh_state_removed(wh_node_use_state(subgroup), epoch->view->left[k]);
		if (member == NULL)
			wh_state_leave(wh_node_use_state(subgroup));
		else
			begin_transfer(subgroup, epoch, member);
	}
}

/* Those of which something is under way: mostly none, and then no pass looks at any. */
static void list_busy_states(whorl_node *node)
{
	const whorl_subgroup *subgroup;

	node->states.used = false;
	node->states.busy_count = 0;
	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->state != NULL && wh_state_is_busy(subgroup->state))
			node->states.busy[node->states.busy_count++] = subgroup->state;
}

size_t wh_node_state_step(whorl_node *node)
{
	size_t work = 0;
	uint32_t busy = 0;

	if (node->states.used)
		list_busy_states(node);
	for (uint32_t i = 0; i < node->states.busy_count; i++) {
		struct wh_state *state = node->states.busy[i];

		work += wh_state_step(state);
		if (wh_state_is_busy(state))
			node->states.busy[busy++] = state;
	}
	node->states.busy_count = busy;
	if (busy > 0)
		wh_loop_at(&node->loop, node->loop.now_ns + WH_NS_PER_MS);
	return work;
}

void wh_node_stop_states(whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->state != NULL)
			wh_state_stop(subgroup->state);
}

void wh_node_state_gone(whorl_node *node, uint32_t id)
{
	whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		subgroup->asked_early[id] = false;
		if (subgroup->state != NULL)
			wh_state_gone(wh_node_use_state(subgroup), id);
	}
}
