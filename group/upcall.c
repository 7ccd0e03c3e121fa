/* upcall.c - from the delivery predicate to the application. */
#include <string.h>

#include "base/rcu.h"
#include "group/node_int.h"
#include "group/refuse.h"

size_t wh_node_deliver(void *ctx, const struct whorl_message *messages, size_t count)
{
	whorl_subgroup *subgroup = ctx;
	whorl_node *node = subgroup->node;
	size_t taken;

	if (__builtin_expect(node->epochs.awaits_delivery, 0)) {
		node->epochs.awaits_delivery = false;
		wh_store_relaxed(&node->epochs.change_ns[WHORL_STAGE_DELIVERED],
				 wh_env_now(&node->fixed.env) - node->epochs.change_began_ns);
	}
	if (__builtin_expect(subgroup->state != NULL && wh_state_keeps(subgroup->state), 0))
		taken = wh_state_keep(subgroup->state, messages, count);
	else
		taken = wh_node_upcall(subgroup, messages, count);
	return __builtin_expect(wh_node_has_failed(node), 0) ? WH_DELIVERY_FAILED : taken;
}

size_t wh_node_upcall(whorl_subgroup *subgroup, const struct whorl_message *messages, size_t count)
{
	if (__builtin_expect(wh_node_has_failed(subgroup->node), 0)) /* one of its subgroups, in this pass */
		return count;
	if (subgroup->program.on_batch != NULL)
		subgroup->program.on_batch(messages, count, subgroup->program.upcall_ctx);
	else if (subgroup->program.on_message != NULL)
		for (size_t i = 0; i < count; i++)
			subgroup->program.on_message(&messages[i], subgroup->program.upcall_ctx);
	else if (subgroup->program.on_offer != NULL)
		return wh_node_offer(subgroup, messages, count);
	else if (subgroup->layer.ops != NULL)
		return subgroup->layer.ops->deliver(subgroup->layer.ctx, messages, count);
	return count;
}

#define TOO_LATE "after whorl_start"

/* WHORL_OK: an upcall may be set, the one of its kind. */
static enum whorl_result may_set(const char *function, const whorl_subgroup *subgroup, bool has_other)
{
	if (subgroup == NULL)
		return wh_refuse(function, "no subgroup");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_load_relaxed(&subgroup->node->passes.started) != 0)
		return wh_refuse(function, TOO_LATE);
	if (!has_other && subgroup->layer.ops == NULL)
		return WHORL_OK;
	/* A program that does not look at the result would wait for upcalls that never come. */
	wh_log(&subgroup->node->diag, WH_LOG_WARNING,
	       "%s is refused: %s has another upcall, for messages, batches, offers or calls", function,
	       subgroup->fixed.name);
	return wh_refuse(function, "another upcall is set: a subgroup has whorl_on_message, whorl_on_batch, "
				   "whorl_on_offer or whorl_on_calls");
}

enum whorl_result whorl_on_message(whorl_subgroup *subgroup, whorl_message_fn *fn, void *ctx)
{
	enum whorl_result result =
		may_set(__func__, subgroup,
			subgroup != NULL && (subgroup->program.on_batch != NULL || subgroup->program.on_offer != NULL));

	if (result != WHORL_OK)
		return result;
	wh_program_write(&subgroup->program)->on_message = fn;
	wh_program_write(&subgroup->program)->upcall_ctx = ctx;
	return WHORL_OK;
}

enum whorl_result whorl_on_batch(whorl_subgroup *subgroup, whorl_batch_fn *fn, void *ctx)
{
	enum whorl_result result = may_set(
		__func__, subgroup,
		subgroup != NULL && (subgroup->program.on_message != NULL || subgroup->program.on_offer != NULL));

	if (result != WHORL_OK)
		return result;
	wh_program_write(&subgroup->program)->on_batch = fn;
	wh_program_write(&subgroup->program)->upcall_ctx = ctx;
	return WHORL_OK;
}

enum whorl_result whorl_on_offer(whorl_subgroup *subgroup, whorl_offer_fn *fn, void *ctx)
{
	enum whorl_result result = may_set(
		__func__, subgroup,
		subgroup != NULL && (subgroup->program.on_message != NULL || subgroup->program.on_batch != NULL));

	if (result != WHORL_OK)
		return result;
	wh_program_write(&subgroup->program)->on_offer = fn;
	wh_program_write(&subgroup->program)->upcall_ctx = ctx;
	return WHORL_OK;
}

enum whorl_result whorl_on_refused(whorl_subgroup *subgroup, whorl_refused_fn *fn, void *ctx)
{
	enum whorl_result result = may_set(__func__, subgroup, false);

	if (result != WHORL_OK)
		return result;
	wh_program_write(&subgroup->program)->on_refused = fn;
	wh_program_write(&subgroup->program)->on_refused_ctx = ctx;
	return WHORL_OK;
}

enum whorl_result whorl_on_state(whorl_subgroup *subgroup, const struct whorl_state *functions)
{
	struct wh_error err;

	if (subgroup == NULL || functions == NULL)
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no functions");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_load_relaxed(&subgroup->node->passes.started) != 0)
		return WH_REFUSE(TOO_LATE);
	if (wh_node_is_dynamic(subgroup)) /* all its members agree whether it has one */
		return WH_REFUSE("the functions for the state of a subgroup that is entered are among its options");
	if (!wh_node_state_holds(functions))
		return WH_REFUSE("whorl_state.size is not set, or one of the functions is missing");
	return wh_node_open_state(subgroup, functions, &err);
}

/* ---- views ---------------------------------------------------------------------------------------------------------- */

struct whorl_view wh_node_show_view(const struct wh_view *view, uint32_t rank)
{
	return (struct whorl_view){.size = sizeof(struct whorl_view),
				   .number = view->number,
				   .members = view->ids,
				   .joined = view->joined,
				   .left = view->left,
				   .member_count = view->members,
				   .joined_count = view->joined_count,
				   .left_count = view->left_count,
				   .rank = rank,
				   .incarnations = view->incarnations};
}

void wh_node_tell_view(whorl_node *node)
{
	struct whorl_view view = wh_node_show_view(node->epochs.current->view, node->epochs.current->rank);

	if (node->epochs.on_view != NULL && !wh_node_has_failed(node))
		node->epochs.on_view(&view, node->epochs.on_view_ctx);
}

void wh_node_tell_gone(whorl_node *node)
{
	whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		uint64_t from = subgroup->gone_from, count = subgroup->gone_count;

		subgroup->gone_count = 0;
		if (count == 0 || wh_node_has_failed(node))
			continue;
		if (subgroup->layer.ops != NULL) {
			/* What was dropped, then what threads have left; it comes as good as never. Partner: wh_layer_fence. */
			(void)wh_gate_barrier(node->fixed.gate);
			subgroup->layer.ops->gone(subgroup->layer.ctx, from, from + count);
		}
		if (subgroup->program.on_gone != NULL)
			subgroup->program.on_gone(subgroup, from, from + count, subgroup->program.on_gone_ctx);
	}
}

enum whorl_result whorl_on_gone(whorl_subgroup *subgroup, whorl_gone_fn *fn, void *ctx)
{
	if (subgroup == NULL)
		return WH_REFUSE("no subgroup");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_load_relaxed(&subgroup->node->passes.started) != 0)
		return WH_REFUSE("after whorl_start");
	wh_program_write(&subgroup->program)->on_gone = fn;
	wh_program_write(&subgroup->program)->on_gone_ctx = ctx;
	return WHORL_OK;
}

enum whorl_result whorl_on_view(whorl_node *node, whorl_view_fn *fn, void *ctx)
{
	if (node == NULL)
		return WH_REFUSE("no node");
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_load_relaxed(&node->passes.started) != 0)
		return WH_REFUSE(TOO_LATE);
	node->epochs.on_view = fn;
	node->epochs.on_view_ctx = ctx;
	return WHORL_OK;
}

enum whorl_result whorl_view_members(const whorl_node *node, uint64_t *number, uint32_t *ids, uint32_t *count)
{
	const struct wh_epoch *epoch;
	const struct wh_view *view;

	if (node == NULL || count == NULL)
		return WH_REFUSE(node == NULL ? "no node" : "no count");
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(node->epochs.current);
	if (epoch == NULL) {
		wh_rcu_read_unlock();
		return WHORL_AGAIN;
	}
	view = epoch->view;
	if (number != NULL)
		*number = view->number;
	if (ids != NULL)
		memcpy(ids, view->ids, (*count < view->members ? *count : view->members) * sizeof(*ids));
	*count = view->members;
	wh_rcu_read_unlock();
	return WHORL_OK;
}
