/* close.c - draining and leaving. See whorl_close in whorl.h. */
#include "base/rcu.h"
#include "group/durable.h"
#include "group/node_int.h"
#include "group/refuse.h"

/* After the node has failed what is outstanding will never come. Passes that find nothing to do for so long, and
 * that is it; as long as there is work, as messages that are stable, it goes on. */
#define GIVE_UP_MS 20

struct seen { /* of the loop, at some time */
	uint64_t when_ns, steps, busy;
};

/* Waits a millisecond or until the loop says something; with thread = caller, by making passes. */
static void wait_a_little(whorl_node *node)
{
	if (!node->fixed.caller)
		wh_waiting_nap(&node->waiting, 1);
	else if (whorl_step(node) == 0)
		wh_node_nap(node);
}

/* With thread = caller it is these passes that let time go by in the node's world, which may have a clock of its own. */
static uint64_t now_ns(const whorl_node *node)
{
	return node->fixed.caller ? wh_env_now(&node->fixed.env) : wh_monotonic_ns();
}

static struct seen look_at_loop(const whorl_node *node)
{
	uint64_t idle = wh_load_relaxed(&node->loop.stats.idle_steps), steps = wh_load_relaxed(&node->loop.stats.steps);

	return (struct seen){.when_ns = now_ns(node), .steps = steps, .busy = steps - idle};
}

/* Nothing was done since then, though the loop has come round: a pass that was under way, one that finds what others have
 * delivered, one that sees that all is drained. A loop that waits for a processor has not, however long it takes. */
static bool stands_still(const struct seen *then, const struct seen *now)
{
	return now->when_ns - then->when_ns > GIVE_UP_MS * WH_NS_PER_MS && now->busy == then->busy &&
	       now->steps >= then->steps + 3;
}

static enum whorl_result drain_node(whorl_node *node, int timeout_ms)
{
	struct seen now = look_at_loop(node), then = now;
	uint64_t deadline = now.when_ns + (uint64_t)timeout_ms * WH_NS_PER_MS;
	enum whorl_result failed;
	bool drained;

	wh_store_release(&node->passes.wants_drain, 1);
	wh_gate_ring(node->fixed.gate);
	while (!wh_waiting_may_leave(&node->waiting, &drained, &failed)) {
		now = look_at_loop(node);
		if (failed == WHORL_OK || failed == WHORL_NO_QUORUM || now.busy != then.busy)
			then = now;
		if (stands_still(&then, &now))
			return failed;
		if (now.when_ns >= deadline)
			return drained ? WHORL_OK : failed == WHORL_NO_QUORUM ? failed : WHORL_TIMEOUT;
		if (failed != WHORL_OK)
			wh_gate_ring(node->fixed.gate); /* a loop that sleeps comes round */
		wait_a_little(node);
	}
	return WHORL_OK;
}

static uint64_t open_claims(const whorl_node *node)
{
	uint64_t open = 0;
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;) {
		if (subgroup->ring == NULL)
			continue;
		wh_ring_count_dropped(subgroup->ring);
		open += wh_ring_open_claims(subgroup->ring);
	}
	return open;
}

static bool all_finished(const whorl_node *node)
{
	const whorl_subgroup *subgroup;

	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->ring != NULL && wh_ring_settled(subgroup->ring) != wh_ring_claimed(subgroup->ring))
			return false;
	return true;
}

/* Jobs wait for readers, and readers never wait for anything. In simulation they are events: they come while time passes. */
static void await_jobs(whorl_node *node)
{
	while (wh_load_acquire(&node->uses.jobs) > 0) {
		node->fixed.transport->ops->service(node->fixed.transport);
		node->fixed.transport->ops->wait(node->fixed.transport, WH_NS_PER_MS);
	}
}

/* Claims get WHORL_CLOSED from here on, and no stay begins any more. */
static void close_rings(whorl_node *node)
{
	struct wh_held held = wh_waiting_enter(&node->waiting);
	const whorl_subgroup *subgroup;

	wh_waiting_note_closes(held);
	for (uint32_t at = 0; (subgroup = wh_node_next_subgroup(node, &at)) != NULL;)
		if (subgroup->ring != NULL)
			wh_ring_close(subgroup->ring);
	wh_waiting_leave(held);
}

enum whorl_result whorl_close(whorl_node *node, int timeout_ms)
{
	enum whorl_result result = WHORL_OK;
	uint64_t open;

	if (node == NULL)
		return WH_REFUSE("no node");
	if (wh_node_state(node) == WHORL_FORKED) {
		wh_node_free(node, true, false);
		return WHORL_OK;
	}
	if (timeout_ms < 0)
		return WH_REFUSE("a time-out below 0; the node is still open");
	if (wh_node_in_upcall(node))
		return WHORL_WOULD_DEADLOCK;
	close_rings(node);
	if (timeout_ms > 0 && wh_load_relaxed(&node->passes.started) != 0 && (node->fixed.caller || node->loop.running))
		result = drain_node(node, timeout_ms);
	/* From here on a commit is refused; those under way are waited for, so the ones that were accepted are counted. */
	wh_fetch_or(&node->fixed.gate->state, WH_GATE_CLOSED);
	wh_rcu_synchronize();
	wh_node_await_waits(node);
	wh_loop_stop(&node->loop);
	wh_node_end_layers(node);
	wh_node_stop_states(node); /* the program's snapshots are released before this returns */
	wh_store_relaxed(&node->passes.stepper, 0);
	if (result == WHORL_OK && !all_finished(node))
		result = WHORL_TIMEOUT;
	wh_logs_stop(node->disk.logs);
	if (wh_durable_may_say_left(node)) /* else it goes as one that has failed */
		node->fixed.transport->ops->leave(
			node->fixed.transport); /* before the program's functions are waited for */
	await_jobs(node);
	wh_durable_hush(node);
	wh_logs_end(node->disk.logs); /* also where claims keep the memory */
	open = open_claims(node);
	/* Claims that are still open keep the memory that their holders write to; the last one frees it (send.c). */
	if (wh_fetch_add(&node->uses.orphans, open) + open == 0)
		wh_node_free(node, false, true);
	return result;
}
