/* frontier.c - the program asks what has become of its messages: reads it, waits for it, is told by a descriptor. See smc/frontier.h.
 *
 * whorl_close may come while threads wait here: they are counted, and it waits until they have left.
 */
#include "group/node_int.h"
#include "group/refuse.h"

#include <sched.h>

#include "base/backoff.h"
#include "base/rcu.h"

_Static_assert((int)WHORL_RECEIVED_BY_ALL == (int)WH_RECEIVED_BY_ALL &&
		       (int)WHORL_DELIVERED_BY_ALL == (int)WH_DELIVERED_BY_ALL,
	       "the interface's numbers are those of smc/frontier.h");

static bool is_frontier(enum whorl_frontier which)
{
	return which == WHORL_RECEIVED_BY_ALL || which == WHORL_DELIVERED_BY_ALL;
}

static enum wh_frontier inner(enum whorl_frontier which)
{
	return which == WHORL_RECEIVED_BY_ALL ? WH_RECEIVED_BY_ALL : WH_DELIVERED_BY_ALL;
}

static bool is_past(const whorl_subgroup *subgroup, enum whorl_frontier which, uint64_t index)
{
	return wh_frontier_past(&subgroup->ring->frontiers, inner(which)) > index;
}

/* WHORL_AGAIN: it may come. What is past is so whatever has become of the node. */
static enum whorl_result look(const whorl_subgroup *subgroup, enum whorl_frontier which, uint64_t index)
{
	enum whorl_result state = wh_node_state(subgroup->node);

	if (state == WHORL_FORKED || is_past(subgroup, which, index))
		return state == WHORL_FORKED ? state : WHORL_OK;
	return state == WHORL_OK || state == WHORL_NO_QUORUM ? WHORL_AGAIN : state;
}

uint64_t whorl_frontier_get(const whorl_subgroup *subgroup, enum whorl_frontier which)
{
	if (subgroup == NULL || !is_frontier(which))
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no such frontier"), 0;
	if (wh_node_state(subgroup->node) == WHORL_FORKED || subgroup->ring == NULL)
		return 0;
	return wh_frontier_past(&subgroup->ring->frontiers, inner(which));
}

/* ---- waiting ------------------------------------------------------------------------------------------------------------ */

bool wh_node_begin_wait(whorl_node *node)
{
	bool entered;

	wh_rcu_read_lock(); /* whorl_close closes the gate, waits for readers, and then for those that are counted */
	entered = wh_node_state(node) != WHORL_CLOSED;
	if (entered)
		wh_fetch_add(&node->uses.waits, 1);
	wh_rcu_read_unlock();
	return entered;
}

void wh_node_end_wait(whorl_node *node)
{
	wh_fetch_add(&node->uses.waits,
		     UINT64_MAX); /* from here on the node may be freed. Partner: wh_node_await_waits */
}

void wh_node_wake_waits(whorl_node *node)
{
	const whorl_subgroup *subgroup;

	wh_rcu_read_lock(); /* the loop may free stays, when it is whorl_close that wakes */
	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		if (subgroup->ring != NULL)
			wh_frontiers_wake(&subgroup->ring->frontiers);
		if (subgroup->layer.ops != NULL)
			subgroup->layer.ops->wake(subgroup->layer.ctx);
	}
	wh_rcu_read_unlock();
}

void wh_node_await_waits(whorl_node *node)
{
	struct wh_backoff backoff = {0};

	/* Each that sleeps is in a list, or looks at the gate before it does. */
	while (wh_load_acquire(&node->uses.waits) > 0) {
		wh_node_wake_waits(node);
		if (!wh_backoff_wait(&backoff, wh_env_system(), WH_NS_PER_MS))
			sched_yield();
	}
}

static void sleep_until(const whorl_subgroup *subgroup, enum whorl_frontier which, uint64_t index, uint64_t deadline_ns)
{
	struct wh_frontiers *frontiers = &subgroup->ring->frontiers;
	struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / WH_NS_PER_S),
				    .tv_nsec = (long)(deadline_ns % WH_NS_PER_S)};
	struct wh_frontier_wait wait;

	if (!wh_frontier_enlist(frontiers, &wait, inner(which), index))
		return;
	if (look(subgroup, which, index) == WHORL_AGAIN) /* else it was told before it was there */
		wh_frontier_sleep(frontiers, &wait, &deadline);
	wh_frontier_delist(frontiers, &wait);
}

/* True if this thread has made a pass of the loop. */
static bool wait_once(whorl_subgroup *subgroup, enum whorl_frontier which, uint64_t index, uint64_t deadline_ns,
		      struct wh_backoff *backoff)
{
	whorl_node *node = subgroup->node;
	uint64_t soon_ns;
	size_t work;

	if (node->fixed.caller && wh_node_try_step(node, &work)) {
		if (work > 0)
			wh_backoff_renew(backoff);
		else if (look(subgroup, which, index) == WHORL_AGAIN && !wh_node_wait_a_little(subgroup, backoff))
			wh_node_nap(node);
		return true;
	}
	if (wh_node_wait_a_little(subgroup, backoff))
		return false;
	soon_ns = wh_monotonic_ns() + WH_TURN_NS;
	sleep_until(subgroup, which, index, node->fixed.caller && soon_ns < deadline_ns ? soon_ns : deadline_ns);
	return false;
}

static enum whorl_result wait_for(whorl_subgroup *subgroup, enum whorl_frontier which, uint64_t index, int timeout_ms)
{
	uint64_t deadline_ns = wh_monotonic_ns() + (uint64_t)timeout_ms * WH_NS_PER_MS;
	struct wh_backoff backoff = {0};
	enum whorl_result result;
	bool drove = false;

	while ((result = look(subgroup, which, index)) == WHORL_AGAIN && wh_monotonic_ns() < deadline_ns)
		drove |= wait_once(subgroup, which, index, deadline_ns, &backoff);
	if (drove)
		wh_node_hand_back(subgroup->node);
	return result;
}

enum whorl_result whorl_frontier_wait(whorl_subgroup *subgroup, enum whorl_frontier which, uint64_t index,
				      int timeout_ms)
{
	enum whorl_result result;

	if (subgroup == NULL || !is_frontier(which))
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no such frontier");
	if (timeout_ms < 0)
		return WH_REFUSE("a time-out below 0");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (timeout_ms > 0 && wh_node_in_upcall(subgroup->node))
		return WHORL_WOULD_DEADLOCK;
	if (subgroup->ring == NULL)
		return WHORL_NOT_SENDER;
	if (!wh_node_begin_wait(subgroup->node))
		return WHORL_CLOSED;
	result = wait_for(subgroup, which, index, timeout_ms);
	if (result == WHORL_AGAIN)
		result = wh_node_state(subgroup->node) == WHORL_NO_QUORUM ? WHORL_NO_QUORUM : WHORL_TIMEOUT;
	wh_node_end_wait(subgroup->node);
	return result;
}

/* ---- the descriptor ------------------------------------------------------------------------------------------------------- */

int whorl_frontier_fd(whorl_subgroup *subgroup)
{
	if (subgroup == NULL)
		return WH_REFUSE("no subgroup"), -1;
	if (wh_node_state(subgroup->node) == WHORL_FORKED || subgroup->ring == NULL)
		return -1;
	return wh_frontiers_fd(&subgroup->ring->frontiers);
}

enum whorl_result whorl_frontier_arm(whorl_subgroup *subgroup, enum whorl_frontier which, uint64_t index)
{
	enum whorl_result result;

	if (subgroup == NULL || !is_frontier(which))
		return WH_REFUSE(subgroup == NULL ? "no subgroup" : "no such frontier");
	if (wh_node_state(subgroup->node) == WHORL_FORKED)
		return WHORL_FORKED; /* the descriptor is the parent's, too */
	if (subgroup->ring == NULL)
		return WHORL_NOT_SENDER;
	result = look(subgroup, which, index);
	if (result != WHORL_AGAIN)
		return result;
	if (!wh_frontier_arm(&subgroup->ring->frontiers, inner(which), index))
		return WHORL_SYSTEM;
	result = look(subgroup, which, index);
	/* An arm that has been told is not taken back: a thread that reads it finds that it is past. */
	return result == WHORL_AGAIN || wh_frontier_disarm(&subgroup->ring->frontiers, inner(which)) ? result
												     : WHORL_AGAIN;
}
