/* offer.c - delivery that the program may refuse (docs/decisions/0044; tests/models/refuse.c has the rule).
 *
 * An offer of which not all is taken *refuses*: nothing more of the subgroup is offered until whorl_offer_again. Meanwhile messages wait
 *
 *     in the rings          those of this view; its multicast is held, so delivered_num says what was taken, and their senders wait
 *     in the backlog here   those of views that have ended: copies, since a view does not wait. Offered first
 *     in that of a state    those that a newcomer had kept back when it was given its state (state/keep.c). Never both
 *
 * The view that follows delivers nothing in place before the backlog is empty: so order holds, and so does the pressure on the senders.
 * A node that refuses is in the list of its refusers, which a pass looks at when it is not empty.
 */
#include <inttypes.h>

#include "base/rcu.h"
#include "group/node_int.h"
#include "group/refuse.h"

#define RUN 64                      /* messages of the backlog that are offered at a time */
#define OFFER_NS (2 * WH_NS_PER_MS) /* so long may a pass offer of one backlog */
#define RETRY_NS (1 * WH_NS_PER_MS) /* while the node drains no thread may say that it is to be offered again */

static void enlist(whorl_subgroup *subgroup)
{
	if (subgroup->offer.listed)
		return;
	subgroup->offer.listed = true;
	subgroup->node->refusing.subgroups[subgroup->node->refusing.count++] = subgroup;
}

/* It takes `taken`, and not all. */
static void begin_refusal(whorl_subgroup *subgroup, size_t taken)
{
	struct wh_offering *offer = &subgroup->offer;

	offer->refuses = true;
	if (offer->since_ns == 0 || taken > 0) {
		offer->since_ns = wh_env_now(&subgroup->node->fixed.env);
		offer->told = false;
	}
	wh_count(&subgroup->figures.refusals, 1);
	enlist(subgroup);
}

static size_t offer_run(whorl_subgroup *subgroup, const struct whorl_message *messages, size_t count)
{
	struct wh_offering *offer = &subgroup->offer;
	size_t taken;

	/* What is said from here on is said of this offer, or behind it. Taken away by an exchange, which fences: either the program sees
	 * in the upcall what its thread had done before it said so, or the word comes behind this. Partner: whorl_offer_again. */
	if (wh_load_relaxed(&offer->again) != 0)
		(void)wh_exchange(&offer->again, 0);
	taken = subgroup->program.on_offer(messages, count, subgroup->program.upcall_ctx);
	if (taken < count) {
		begin_refusal(subgroup, taken);
		return taken;
	}
	offer->since_ns = 0;
	return count;
}

size_t wh_node_offer(whorl_subgroup *subgroup, const struct whorl_message *messages, size_t count)
{
	if (subgroup->offer.refuses || subgroup->offer.backlog.messages > 0)
		return 0;
	return offer_run(subgroup, messages, count);
}

/* ---- the backlog ---------------------------------------------------------------------------------------------------------- */

static void note_kept(whorl_subgroup *subgroup)
{
	wh_store_relaxed(&subgroup->figures.kept, subgroup->offer.backlog.allocated);
}

static void fail_to_keep(const whorl_subgroup *subgroup, enum whorl_result result)
{
	if (result == WHORL_MEMORY)
		wh_node_fail(subgroup->node, WH_LOG_WARNING, WHORL_MEMORY,
			     "what was refused of %s and is kept through views outgrew backlog_max (%" PRIu64 " bytes)",
			     subgroup->fixed.name, subgroup->offer.backlog.max);
	else
		wh_node_fail(subgroup->node, WH_LOG_WARNING, WHORL_MEMORY,
			     "no memory to keep more than %" PRIu64 " bytes of %s, which were refused",
			     subgroup->offer.backlog.allocated, subgroup->fixed.name);
}

bool wh_node_keep(void *ctx, const struct whorl_message *messages, size_t count)
{
	whorl_subgroup *subgroup = ctx;
	enum whorl_result result = WHORL_OK;

	if (subgroup->state != NULL && wh_state_restores(subgroup->state)) {
		wh_state_keep_back(subgroup->state, messages, count);
		return !wh_node_has_failed(subgroup->node);
	}
	for (size_t i = 0; i < count && result == WHORL_OK; i++)
		if (subgroup->state == NULL || !wh_state_has_message(subgroup->state, &messages[i]))
			result = wh_backlog_append(&subgroup->offer.backlog, &messages[i]);
	note_kept(subgroup);
	enlist(subgroup);
	if (result != WHORL_OK)
		fail_to_keep(subgroup, result);
	return result == WHORL_OK;
}

void wh_node_hold(const whorl_subgroup *subgroup, const struct wh_shard_member *member)
{
	if (subgroup->offer.refuses || subgroup->offer.backlog.messages > 0)
		wh_multicast_hold(member->mc);
}

/* A layer has told some thread that it will hear of these. */
static void tell_missed(const whorl_subgroup *subgroup)
{
	struct wh_backlog_place place = {.walks = false};
	const struct whorl_message *message;

	if (subgroup->layer.ops == NULL)
		return;
	while ((message = wh_backlog_walk(&subgroup->offer.backlog, &place)) != NULL)
		subgroup->layer.ops->missed(subgroup->layer.ctx, message);
}

/* It is in the list still, and the next pass goes on with it. */
void wh_node_forget_refused(whorl_subgroup *subgroup)
{
	if (!subgroup->offer.listed)
		return;
	tell_missed(subgroup);
	wh_backlog_clear(&subgroup->offer.backlog);
	note_kept(subgroup);
	subgroup->offer.refuses = false;
	subgroup->offer.since_ns = 0;
}

static size_t offer_backlog(whorl_subgroup *subgroup)
{
	whorl_node *node = subgroup->node;
	struct wh_offering *offer = &subgroup->offer;
	uint64_t until_ns = node->loop.now_ns + OFFER_NS;
	struct whorl_message run[RUN];
	size_t work = 0;

	while (offer->backlog.messages > 0 && !offer->refuses && node->loop.now_ns < until_ns &&
	       !wh_node_has_failed(node)) {
		size_t count = wh_backlog_oldest(&offer->backlog, run, RUN);
		size_t taken = offer_run(subgroup, run, count);

		wh_backlog_drop(&offer->backlog, taken < count ? taken : count);
		work += taken;
		node->loop.now_ns = wh_env_now(&node->fixed.env);
	}
	note_kept(subgroup);
	return work;
}

/* ---- offering again ------------------------------------------------------------------------------------------------------- */

/* While the node drains its program may call nothing: what is refused is offered again now and then. */
static bool is_to_retry(whorl_subgroup *subgroup)
{
	whorl_node *node = subgroup->node;
	struct wh_offering *offer = &subgroup->offer;

	if (wh_load_relaxed(&node->passes.wants_drain) == 0)
		return false;
	if (node->loop.now_ns < offer->retry_ns) {
		wh_loop_at(&node->loop, offer->retry_ns);
		return false;
	}
	offer->retry_ns = node->loop.now_ns + RETRY_NS;
	wh_loop_at(&node->loop, offer->retry_ns);
	return true;
}

static void go_on_in_place(whorl_subgroup *subgroup)
{
	struct wh_epoch *epoch = subgroup->node->epochs.current;
	struct wh_shard_member *member = epoch != NULL ? wh_epoch_shard_member(epoch, subgroup) : NULL;

	if (member == NULL || member->mc == NULL)
		return;
	wh_multicast_resume(member->mc);
	wh_hot_touch(&epoch->hot, wh_epoch_index(epoch, member));
}

/* It has refused for the stated time: the program decides, or has decided by setting no function. */
static void watch_time(whorl_subgroup *subgroup)
{
	whorl_node *node = subgroup->node;
	struct wh_offering *offer = &subgroup->offer;
	uint64_t now = node->loop.now_ns, refused_ns = now > offer->since_ns ? now - offer->since_ns : 0;

	if (subgroup->fixed.refuse_max_ns == 0 || offer->told)
		return;
	if (refused_ns < subgroup->fixed.refuse_max_ns) {
		wh_loop_at(&node->loop, offer->since_ns + subgroup->fixed.refuse_max_ns);
		return;
	}
	offer->told = true;
	if (subgroup->program.on_refused == NULL ||
	    !subgroup->program.on_refused(subgroup, refused_ns / WH_NS_PER_MS, subgroup->program.on_refused_ctx))
		wh_node_fail(node, WH_LOG_WARNING, WHORL_REFUSED,
			     "this node has taken nothing of what it is offered in %s for %" PRIu64 " ms, and leaves",
			     subgroup->fixed.name, refused_ns / WH_NS_PER_MS);
}

/* Returns how much was done. It stays in the list if it refuses, or has more to offer. */
static size_t step_refuser(whorl_subgroup *subgroup)
{
	struct wh_offering *offer = &subgroup->offer;
	size_t work = 0;

	if (wh_load_relaxed(&offer->again) != 0 || is_to_retry(subgroup)) {
		(void)wh_exchange(&offer->again, 0); /* as in offer_run */
		offer->refuses = false;
		if (subgroup->state != NULL)
			wh_state_offer_again(wh_node_use_state(subgroup));
		work++; /* a pass that offers comes behind this one, though nothing else has been done */
	}
	if (!offer->refuses)
		work += offer_backlog(subgroup);
	if (offer->refuses) {
		watch_time(subgroup);
	} else if (offer->backlog.messages == 0) {
		go_on_in_place(subgroup);
		offer->listed = false;
	}
	return work;
}

size_t wh_node_step_refusers(whorl_node *node)
{
	size_t work = 0;

	for (uint32_t i = 0; i < node->refusing.count && !wh_node_has_failed(node);) {
		work += step_refuser(node->refusing.subgroups[i]);
		if (node->refusing.subgroups[i]->offer.listed)
			i++;
		else
			node->refusing.subgroups[i] = node->refusing.subgroups[--node->refusing.count];
	}
	return work;
}

enum whorl_result whorl_offer_again(whorl_subgroup *subgroup)
{
	enum whorl_result result;

	if (subgroup == NULL)
		return WH_REFUSE("no subgroup");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (subgroup->program.on_offer == NULL)
		return WH_REFUSE("the subgroup has no whorl_on_offer");
	wh_rcu_read_lock();
	result = wh_node_state(subgroup->node);
	if (result == WHORL_OK || result == WHORL_NO_QUORUM) {
		/* What this thread has done, then the word; a full fence, as the upcall may be looking. Partner: offer_run. */
		(void)wh_exchange(&subgroup->offer.again, 1);
		wh_gate_ring(subgroup->node->fixed.gate);
		result = WHORL_OK;
	}
	wh_rcu_read_unlock();
	return result;
}
