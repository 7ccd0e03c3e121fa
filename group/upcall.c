/* upcall.c - from the delivery predicate to the application. */
#include "group/node_int.h"

void wh_node_deliver(void *ctx, const struct whorl_message *messages, size_t count)
{
	whorl_subgroup *subgroup = ctx;

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
	if (subgroup->node->started)
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

enum whorl_result whorl_on_batch(whorl_subgroup *subgroup, whorl_batch_fn *fn, void *ctx)
{
	return set_upcall(subgroup, NULL, fn, ctx);
}
