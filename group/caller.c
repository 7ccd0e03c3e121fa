/* caller.c - what a thread of the program does on its node: it waits, and where it is the loop's thread (engine.thread = caller) it makes the
 * passes.
 */
#include "group/node_int.h"
#include "group/refuse.h"

#include <sched.h>

uint64_t wh_monotonic_ns(void)
{
	return wh_env_now(wh_env_system());
}

bool wh_node_in_upcall(const whorl_node *node)
{
	return wh_passes_are_mine(&node->passes);
}

enum whorl_result wh_node_shut(const whorl_node *node)
{
	uint64_t state = wh_gate_state(node->fixed.gate);

	if ((state & WH_GATE_OPEN) == 0)
		return WHORL_FORKED;
	if (state & WH_GATE_CLOSED)
		return WHORL_CLOSED;
	/* The failure was there before the bit, and never changes. */
	return state & WH_GATE_FAILED ? node->waiting.failure.code : WHORL_NO_QUORUM;
}

/* ---- passes -------------------------------------------------------------------------------------------------------------- */

static bool may_step(const whorl_node *node)
{
	uint64_t state = wh_gate_state(node->fixed.gate);

	return node->fixed.caller && wh_load_acquire(&node->passes.started) != 0 && (state & WH_GATE_OPEN) != 0 &&
	       (state & WH_GATE_CLOSED) == 0;
}

/* The program may have armed the loop (whorl_arm) and slept in its own epoll. With the token. */
static void take_bell_in(whorl_node *node)
{
	if (node->loop.armed)
		wh_loop_sleep(&node->loop, 0);
}

bool wh_node_try_step(whorl_node *node, size_t *work)
{
	*work = 0;
	if (!may_step(node) || !wh_passes_take(&node->passes))
		return false;
	take_bell_in(node);
	*work = wh_loop_step(&node->loop);
	wh_passes_give(&node->passes);
	return true;
}

bool wh_node_take_loop(whorl_node *node)
{
	return may_step(node) && wh_passes_take(&node->passes);
}

void wh_node_give_loop(whorl_node *node)
{
	bool rings = node->loop.armed; /* then what is to be done wakes the thread that armed it, if it sleeps still */

	wh_passes_give(&node->passes);
	if (!rings)
		wh_node_hand_back(node);
}

void wh_node_hand_back(whorl_node *node)
{
	wh_fence_full(); /* the token, then `away`. Partner: whorl_arm */
	if (wh_load_relaxed(&node->passes.away) != 0)
		node->fixed.transport->ops->wake(node->fixed.transport);
}

/* Arms, looks, and, if there is nothing to do, sleeps and makes a pass. With the token. */
static size_t sleep_once(whorl_node *node, uint64_t timeout_ns)
{
	size_t work = wh_loop_arm(&node->loop);

	if (work > 0)
		return work;
	wh_loop_sleep(&node->loop, timeout_ns);
	return wh_loop_step(&node->loop);
}

void wh_node_nap(whorl_node *node)
{
	if (wh_node_in_upcall(node) || !may_step(node) || !wh_passes_take(&node->passes))
		return;
	(void)sleep_once(node, WH_NS_PER_MS);
	wh_passes_give(&node->passes);
}

/* ---- waits --------------------------------------------------------------------------------------------------------------- */

#define YIELD_NS (200 * WH_NS_PER_US)

/* While the loop's thread has yielded, or sleeps, a thread that can only wait does what the others wait for in its subgroup; it makes no upcalls. */
static void help(whorl_subgroup *subgroup)
{
	whorl_node *node = subgroup->node;

	wh_rcu_read_lock(); /* or the node may be closed meanwhile */
	if (wh_gate_is_open(node->fixed.gate))
		wh_loop_help(&node->loop, subgroup);
	wh_rcu_read_unlock();
}

/* A thread waits anew in each call, but what this machine's yields cost it need not learn anew. Relaxed: it is advice, and
 * threads that write at once lose no more than the count of one of them. */
bool wh_node_wait_a_little(whorl_subgroup *subgroup, struct wh_backoff *backoff)
{
	uint64_t yields = backoff->yields;
	bool more;

	if (backoff->looks == 0) /* at first, and when other threads have run */
		help(subgroup);
	backoff->lost_ns = wh_load_relaxed(&subgroup->words.lost_ns);
	backoff->lost_at_ns = wh_load_relaxed(&subgroup->words.lost_at_ns);
	backoff->crowded_until_ns = wh_load_relaxed(&subgroup->words.crowded_until_ns);
	more = wh_backoff_wait(backoff, wh_env_system(), YIELD_NS);
	if (backoff->yields != yields) {
		wh_store_relaxed(&subgroup->words.lost_ns, backoff->lost_ns);
		wh_store_relaxed(&subgroup->words.lost_at_ns, backoff->lost_at_ns);
		wh_store_relaxed(&subgroup->words.crowded_until_ns, backoff->crowded_until_ns);
	}
	return more;
}

static enum whorl_result await_caller(whorl_node *node, int timeout_ms, wh_look_fn *look, const void *ctx)
{
	uint64_t deadline = wh_monotonic_ns() + (uint64_t)timeout_ms * WH_NS_PER_MS;
	enum whorl_result result;
	bool drove = false;
	size_t work;

	while ((result = wh_waiting_look(&node->waiting, look, ctx)) == WHORL_TIMEOUT && wh_monotonic_ns() < deadline) {
		if (!wh_node_try_step(node, &work)) {
			sched_yield(); /* another thread runs the loop, or will start the node */
			continue;
		}
		drove = true;
		if (work == 0)
			wh_node_nap(node);
	}
	if (drove)
		wh_node_hand_back(node);
	return result;
}

enum whorl_result wh_node_await(whorl_node *node, int timeout_ms, wh_look_fn *look, const void *ctx)
{
	return node->fixed.caller ? await_caller(node, timeout_ms, look, ctx)
				  : wh_waiting_await(&node->waiting, timeout_ms, look, ctx);
}

/* ---- what the program calls --------------------------------------------------------------------------------------------- */

size_t whorl_step(whorl_node *node)
{
	size_t work;

	if (node == NULL)
		return WH_REFUSE("no node"), 0;
	if (wh_load_relaxed(&node->passes.away) != 0)
		wh_store_relaxed(&node->passes.away, 0);
	return wh_node_try_step(node, &work) ? work : 0;
}

/* Without the token while it waits: another thread may make passes meanwhile, and what is learnt of waiting is lost then. */
bool whorl_yield(whorl_node *node)
{
	struct wh_backoff backoff;
	bool again;

	if (node == NULL)
		return WH_REFUSE("no node"), false;
	if (!may_step(node) || wh_node_in_upcall(node))
		return false;
	if (!wh_passes_take(&node->passes))
		return true;
	backoff = node->loop.backoff;
	wh_passes_give(&node->passes);
	again = wh_loop_idle(node->loop.idle, &backoff, node->diag.env);
	if (!wh_passes_take(&node->passes))
		return true;
	node->loop.backoff = backoff;
	wh_store_relaxed(&node->loop.stats.yields, backoff.yields);
	wh_passes_give(&node->passes);
	return again;
}

size_t whorl_arm(whorl_node *node)
{
	size_t work;

	if (node == NULL)
		return WH_REFUSE("no node"), 0;
	if (!may_step(node))
		return 0;
	wh_store_relaxed(&node->passes.away, 1);
	wh_fence_full(); /* `away`, then the token: the thread that has it sees that it must wake us. Partner: wh_node_hand_back */
	if (!wh_passes_take(&node->passes))
		return 0;
	work = wh_loop_arm(&node->loop);
	if (work == 0) /* the timer of whorl_fd follows the next time that a predicate asked for */
		wh_waiting_set_timer(&node->waiting, node->loop.now_ns, node->loop.next_ns);
	else
		wh_store_relaxed(&node->passes.away, 0);
	wh_passes_give(&node->passes);
	return work;
}

enum whorl_result whorl_wait(whorl_node *node, int timeout_ms)
{
	uint64_t now = wh_monotonic_ns(), deadline;
	size_t work;

	if (node == NULL)
		return WH_REFUSE("no node");
	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (!node->fixed.caller || timeout_ms < 0)
		return WH_REFUSE(timeout_ms < 0 ? "a time-out below 0" : "engine.thread is not caller");
	if (wh_node_in_upcall(node))
		return timeout_ms > 0 ? WHORL_WOULD_DEADLOCK : WHORL_TIMEOUT;
	if (!may_step(node))
		return WH_REFUSE("the node is not started");
	if (!wh_passes_take(&node->passes))
		return WHORL_AGAIN;
	deadline = now + (uint64_t)timeout_ms * WH_NS_PER_MS;
	take_bell_in(node);
	work = wh_loop_linger(&node->loop, deadline);
	while (work == 0) { /* a sleep also ends for the loop's own sake: a timer, a heartbeat */
		now = wh_monotonic_ns();
		work = sleep_once(node, now < deadline ? deadline - now : 0);
		if (wh_monotonic_ns() >= deadline)
			break;
	}
	wh_passes_give(&node->passes);
	return work > 0 ? WHORL_OK : WHORL_TIMEOUT;
}

int whorl_fd(whorl_node *node)
{
	if (node == NULL)
		return WH_REFUSE("no node"), -1;
	if (wh_node_state(node) == WHORL_FORKED)
		return -1;
	return wh_waiting_fd(&node->waiting, node->fixed.transport->ops->fd(node->fixed.transport));
}
