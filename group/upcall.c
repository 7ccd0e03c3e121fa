/* upcall.c - from the delivery predicate to the application. */
#include "group/node_int.h"

static struct whorl_message message_of(whorl_subgroup *subgroup, const struct wh_delivery *delivery)
{
	return (struct whorl_message){
		.data = delivery->data,
		.bytes = delivery->bytes,
		.sender = subgroup->node->view->ids[subgroup->layout->senders[delivery->sender]],
		.index = delivery->index,
		.sequence = delivery->sequence,
		.subgroup = subgroup,
	};
}

static void upcall_messages(void *ctx, const struct wh_delivery *deliveries, size_t count)
{
	whorl_subgroup *subgroup = ctx;

	for (size_t i = 0; i < count; i++) {
		struct whorl_message message = message_of(subgroup, &deliveries[i]);

		subgroup->on_message(&message, subgroup->upcall_ctx);
	}
}

static void upcall_batch(void *ctx, const struct wh_delivery *deliveries, size_t count)
{
	whorl_subgroup *subgroup = ctx;
	struct whorl_message *messages = subgroup->node->messages;

	for (size_t i = 0; i < count; i++)
		messages[i] = message_of(subgroup, &deliveries[i]);
	subgroup->on_batch(messages, count, subgroup->upcall_ctx);
}

void wh_node_deliver(void *ctx, const struct wh_delivery *deliveries, size_t count)
{
	whorl_subgroup *subgroup = ctx;

	if (subgroup->on_batch != NULL)
		upcall_batch(subgroup, deliveries, count);
	else if (subgroup->on_message != NULL)
		upcall_messages(subgroup, deliveries, count);
	else
		return;
	/* Upcalls take what time they like, and the heartbeats go by this clock. */
	subgroup->node->loop.now_ns = wh_env_now(&subgroup->node->env);
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
