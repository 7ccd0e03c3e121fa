/* upcall.c - from the delivery predicate to the application. */
#include <string.h>

#include "base/rcu.h"
#include "group/node_int.h"

void wh_node_deliver(void *ctx, const struct whorl_message *messages, size_t count)
{
	whorl_subgroup *subgroup = ctx;
	whorl_node *node = subgroup->node;

	if (__builtin_expect(node->awaits_delivery, 0)) {
		node->awaits_delivery = false;
		wh_store_relaxed(&node->change_ns[WHORL_STAGE_DELIVERED],
				 wh_env_now(&node->env) - node->change_began_ns);
	}
	if (__builtin_expect(subgroup->state != NULL && wh_state_keeps(subgroup->state), 0))
		wh_state_keep(subgroup->state, messages, count);
	else
		wh_node_upcall(subgroup, messages, count);
}

void wh_node_upcall(whorl_subgroup *subgroup, const struct whorl_message *messages, size_t count)
{
	if (subgroup->on_batch != NULL)
		subgroup->on_batch(messages, count, subgroup->upcall_ctx);
	else if (subgroup->on_message != NULL)
		for (size_t i = 0; i < count; i++)
			subgroup->on_message(&messages[i], subgroup->upcall_ctx);
}

static enum whorl_result set_upcall(whorl_subgroup *subgroup, whorl_message_fn *on_message, whorl_batch_fn *on_batch,
				    void *ctx)
{
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_load_relaxed(&subgroup->node->started) != 0)
		return WHORL_INVALID;
	subgroup->on_message = on_message;
	subgroup->on_batch = on_batch;
	subgroup->upcall_ctx = ctx;
	return WHORL_OK;
}

enum whorl_result whorl_on_message(whorl_subgroup *subgroup, whorl_message_fn *fn, void *ctx)
{
	return set_upcall(subgroup, fn, NULL, ctx);
}

enum whorl_result whorl_on_state(whorl_subgroup *subgroup, const struct whorl_state *functions)
{
	struct wh_error err;

	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_load_relaxed(&subgroup->node->started) != 0 || functions->size < sizeof(*functions) ||
	    functions->snapshot == NULL || functions->read == NULL || functions->release == NULL ||
	    functions->restore == NULL)
		return WHORL_INVALID;
	return wh_node_open_state(subgroup, functions, &err);
}

enum whorl_result whorl_on_batch(whorl_subgroup *subgroup, whorl_batch_fn *fn, void *ctx)
{
	return set_upcall(subgroup, NULL, fn, ctx);
}

/* ---- views ---------------------------------------------------------------------------------------------------------- */

struct whorl_view wh_node_show_view(const struct wh_view *view, uint32_t rank)
{
	return (struct whorl_view){.number = view->number,
				   .members = view->ids,
				   .joined = view->joined,
				   .left = view->left,
				   .member_count = view->members,
				   .joined_count = view->joined_count,
				   .left_count = view->left_count,
				   .rank = rank};
}

void wh_node_tell_view(whorl_node *node)
{
	struct whorl_view view = wh_node_show_view(node->epoch->view, node->epoch->rank);

	if (node->on_view != NULL)
		node->on_view(&view, node->on_view_ctx);
}

enum whorl_result whorl_on_view(whorl_node *node, whorl_view_fn *fn, void *ctx)
{
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_load_relaxed(&node->started) != 0)
		return WHORL_INVALID;
	node->on_view = fn;
	node->on_view_ctx = ctx;
	return WHORL_OK;
}

enum whorl_result whorl_view_members(const whorl_node *node, uint64_t *number, uint32_t *ids, uint32_t *count)
{
	const struct wh_epoch *epoch;
	const struct wh_view *view;

	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(node->epoch);
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
