/* upcall.c - from the delivery predicate to the application. */
#include "group/node_int.h"

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
