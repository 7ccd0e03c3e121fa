/* program.c - what a program hangs on its node and subgroups before it starts, and how it looks at the view. */
#include <string.h>

#include "base/rcu.h"
#include "group/node_int.h"
#include "group/refuse.h"

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
