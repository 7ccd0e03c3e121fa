/* rest.c - a sender rests, or sends again: what the program asks, and what the loop makes of it (docs/decisions/0046). */
#include "base/rcu.h"
#include "group/node_int.h"
#include "group/refuse.h"

/* With `leaves` for good. False: it leaves already. */
static bool ask_to_rest(whorl_subgroup *subgroup, bool pauses, bool leaves)
{
	whorl_node *node = subgroup->node;
	struct wh_held held = wh_waiting_enter(&node->waiting);
	bool is_taken;

	/* Of two threads that disagree the later one, but for one that leaves. */
	is_taken = leaves || wh_load_relaxed(&subgroup->words.leaves) == 0;
	if (is_taken && (pauses || wh_load_relaxed(&subgroup->words.rests) == WH_RESTS))
		wh_store_relaxed(&subgroup->words.returns, !pauses);
	if (is_taken)
		wh_store_relaxed(&subgroup->words.rests, pauses ? WH_RESTS : WH_SENDS_AGAIN);
	if (leaves)
		wh_store_relaxed(&subgroup->words.leaves, 1);
	if (is_taken && subgroup->ring != NULL && pauses) /* the loop takes it back when it may */
		wh_ring_pause(subgroup->ring, true);
	wh_waiting_leave(held);
	if (!is_taken)
		return false;
	/* Release: what is asked, and that the ring is paused. Partner: watch_roles, in run.c. */
	wh_store_release(&node->rests.asked, 1);
	wh_gate_ring(node->fixed.gate);
	return true;
}

void wh_node_begin_to_leave(whorl_subgroup *subgroup)
{
	(void)ask_to_rest(subgroup, true, true);
}

enum whorl_result whorl_pause_sending(whorl_subgroup *subgroup, bool pauses)
{
	enum whorl_result result;

	if (subgroup == NULL)
		return WH_REFUSE("no subgroup");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	wh_rcu_read_lock();
	result = wh_node_state(subgroup->node);
	if (result == WHORL_OK || result == WHORL_NO_QUORUM)
		result = ask_to_rest(subgroup, pauses, false) ? WHORL_OK : WHORL_CLOSED;
	wh_rcu_read_unlock();
	return result;
}

/* What was asked last may be another thing than the loop has read before. To rest, or to leave: then the ring stays paused. Or to send
 * again, when the loop still says that this node rests: then claims go on waiting, as the ring is paused, and its next pass opens it. In the
 * lock, so that nothing is asked between the ring and the word. Partner: ask_to_rest. */
void wh_node_settle_rest(whorl_subgroup *subgroup, bool rests, bool resting)
{
	struct wh_held held = wh_waiting_enter(&subgroup->node->waiting);
	bool may_send, told;

	may_send = !rests && wh_load_relaxed(&subgroup->words.rests) != WH_RESTS;
	if (subgroup->ring != NULL && (rests || may_send))
		wh_ring_pause(subgroup->ring, rests);
	told = may_send && !resting && wh_load_relaxed(&subgroup->words.returns) != 0;
	if (told) /* release: the ring is open, if this node is a sender, and then the word. Partner: may_return */
		wh_store_release(&subgroup->words.returns, 0);
	wh_waiting_leave(held);
	if (!told)
		return;
	wh_fence_full(); /* the word, then the descriptors. Partners: is_to_return, whorl_window_arm */
	if (subgroup->ring != NULL)
		wh_ring_signal(subgroup->ring);
}

static bool is_in(const whorl_subgroup *subgroup)
{
	struct wh_held held = wh_waiting_enter(&subgroup->node->waiting);
	bool is = subgroup->told.is_member;

	wh_waiting_leave(held);
	return is;
}

enum whorl_result whorl_request_pause(whorl_subgroup *subgroup, uint32_t id, bool pauses)
{
	const struct wh_epoch *epoch;
	enum whorl_result result;
	uint64_t none = 0;
	whorl_node *node;

	if (subgroup == NULL)
		return WH_REFUSE("no subgroup");
	node = subgroup->node;
	result = wh_node_state(node);
	if (result != WHORL_OK)
		return result;
	if (id == node->fixed.id)
		return whorl_pause_sending(subgroup, pauses);
	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(node->epochs.current);
	result = epoch == NULL ? WHORL_AGAIN : wh_view_rank(epoch->view, id) >= 0 ? WHORL_OK : WHORL_NOT_FOUND;
	wh_rcu_read_unlock();
	if (result == WHORL_OK && wh_node_is_dynamic(subgroup) && !is_in(subgroup)) /* no node knows its number */
		result = WHORL_AGAIN;
	/* One at a time: the loop says it. */
	if (result == WHORL_OK && !wh_compare_swap(&subgroup->words.asks, &none, (uint64_t)id << 2 | pauses << 1 | 1))
		result = WHORL_AGAIN;
	if (result == WHORL_OK) {
		wh_store_release(&node->rests.asked, 1);
		wh_gate_ring(node->fixed.gate);
	}
	return result;
}
