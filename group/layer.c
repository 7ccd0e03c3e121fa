/* layer.c - see layer.h. */
#include "group/layer.h"

#include "base/backoff.h"
#include "base/rcu.h"
#include "group/node_int.h"
#include "group/refuse.h"
#include "membership/confirm.h"

enum whorl_result wh_layer_attach(const char *function, whorl_subgroup *subgroup, const struct wh_layer_ops *ops,
				  void *layer)
{
	whorl_node *node = subgroup->node;

	if (wh_node_state(node) == WHORL_FORKED)
		return WHORL_FORKED;
	if (wh_load_relaxed(&node->passes.started) != 0)
		return wh_refuse(function, "after whorl_start");
	if (wh_node_is_dynamic(subgroup)) /* it comes and goes, with the upcalls that are among its options */
		return wh_refuse(function, "a subgroup that is entered has no calls");
	if (subgroup->layer.ops != NULL || subgroup->program.on_batch != NULL || subgroup->program.on_message != NULL ||
	    subgroup->program.on_offer != NULL)
		return wh_refuse(function, "another upcall is set for the messages of the subgroup");
	subgroup->layer.ops = ops;
	subgroup->layer.ctx = layer;
	node->layers.subgroups[node->layers.count++] = subgroup;
	return WHORL_OK;
}

static size_t offer(const struct whorl_message *messages, size_t count, void *ctx)
{
	const whorl_subgroup *subgroup = ctx;

	return subgroup->layer.ops->deliver(subgroup->layer.ctx, messages, count);
}

void wh_layer_may_refuse(whorl_subgroup *subgroup)
{
	wh_program_write(&subgroup->program)->on_offer = offer;
	wh_program_write(&subgroup->program)->upcall_ctx = subgroup;
}

void *wh_layer_of(const whorl_subgroup *subgroup, const struct wh_layer_ops *ops)
{
	return subgroup->layer.ops == ops ? subgroup->layer.ctx : NULL;
}

whorl_subgroup *wh_layer_claimed(const struct whorl_claim *claim)
{
	return claim->stream;
}

bool wh_layer_has_dropped(const whorl_subgroup *subgroup, const struct whorl_claim *claim)
{
	return claim->number < wh_ring_dropped(subgroup->ring);
}

/* ---- passes ------------------------------------------------------------------------------------------------------------- */

void wh_layer_ask(whorl_subgroup *subgroup)
{
	/* What this thread has stored, then the words, each by an exchange, which fences. Partner: step_layer. */
	(void)wh_exchange(&subgroup->layer.asks, 1);
	(void)wh_exchange(&subgroup->node->layers.asked, 1);
	wh_gate_ring(subgroup->node->fixed.gate);
}

void wh_layer_fence(const whorl_subgroup *subgroup)
{
	wh_gate_fence(subgroup->node->fixed.gate); /* partner: wh_node_tell_gone */
}

struct wh_layer_wants *wh_layer_wants(whorl_subgroup *subgroup)
{
	return &subgroup->layer.wants;
}

static size_t step_layer(struct wh_layer *layer)
{
	bool asked = wh_load_relaxed(&layer->asks) != 0 && wh_exchange(&layer->asks, 0) != 0;

	return asked || layer->wants.passes ? layer->ops->step(layer->ctx) : 0;
}

/* One question for all that want one. It is raised after all of them have been stepped: what they want it for came before. */
static size_t raise_question(whorl_node *node)
{
	uint64_t question = wh_confirm_ask(&node->epochs.current->change);

	for (uint32_t i = 0; question > 0 && i < node->layers.count; i++) {
		struct wh_layer *layer = &node->layers.subgroups[i]->layer;

		if (layer->wants.a_question)
			layer->ops->asked(layer->ctx, node->epochs.current->view->number, question);
	}
	return question > 0;
}

void wh_node_ask_for_layers(whorl_node *node)
{
	bool wants = false;

	if (wh_load_relaxed(&node->layers.asked) == 0 || node->epochs.current == NULL || node->waiting.may_leave ||
	    wh_node_has_failed(node))
		return;
	for (uint32_t i = 0; i < node->layers.count; i++) {
		struct wh_layer *layer = &node->layers.subgroups[i]->layer;

		if (wh_load_relaxed(&layer->asks) != 0)
			layer->ops->gather(layer->ctx);
		wants = wants || layer->wants.a_question;
	}
	if (wants)
		(void)raise_question(node);
}

static void tell_end(whorl_node *node, enum whorl_result why, const char *text)
{
	for (uint32_t i = 0; i < node->layers.count; i++)
		node->layers.subgroups[i]->layer.ops->end(node->layers.subgroups[i]->layer.ctx, why, text);
}

#define ENDS                                                                                                           \
	3 /* a thread that looked at the gate before the node failed has said all that it says by the second time */

static size_t end_failed(whorl_node *node)
{
	if (node->layers.count == 0)
		return 0;
	if (node->layers.ends < ENDS) {
		wh_loop_at(&node->loop, node->loop.now_ns + WH_NS_PER_MS);
		node->layers.ends++;
	}
	tell_end(node, node->waiting.failure.code, node->waiting.failure.text);
	return 0;
}

size_t wh_node_step_layers(whorl_node *node)
{
	bool wants = false;
	size_t work = 0;

	if (wh_node_has_failed(node))
		return end_failed(node);
	if (!wh_node_layers_ask(node))
		return 0;
	(void)wh_exchange(&node->layers.asked, 0);
	node->layers.awake = false;
	for (uint32_t i = 0; i < node->layers.count && !wh_node_has_failed(node); i++) {
		struct wh_layer *layer = &node->layers.subgroups[i]->layer;

		work += step_layer(layer);
		wants = wants || layer->wants.a_question;
		node->layers.awake = node->layers.awake || layer->wants.passes;
	}
	if (wants && node->epochs.current != NULL && !node->waiting.may_leave && !wh_node_has_failed(node))
		work += raise_question(node);
	return work;
}

void wh_node_end_layers(whorl_node *node)
{
	if (wh_node_has_failed(node))
		tell_end(node, node->waiting.failure.code, node->waiting.failure.text);
	tell_end(node, WHORL_CLOSED, "the node was closed before it knew");
}

/* ---- what it asks ------------------------------------------------------------------------------------------------------- */

enum whorl_result wh_layer_state(const whorl_subgroup *subgroup)
{
	return wh_node_state(subgroup->node);
}

enum whorl_result wh_layer_membership(const whorl_subgroup *subgroup)
{
	const struct wh_epoch *epoch;
	enum whorl_result result = WHORL_AGAIN;

	wh_rcu_read_lock();
	epoch = wh_rcu_dereference(subgroup->node->epochs.current);
	if (epoch != NULL)
		result = wh_epoch_shard_member(epoch, subgroup) != NULL ? WHORL_OK : WHORL_NOT_FOUND;
	wh_rcu_read_unlock();
	return result;
}

void wh_layer_fail(whorl_subgroup *subgroup, enum whorl_result code, const char *why)
{
	wh_node_fail(subgroup->node, WH_LOG_ERROR, code, "%s: %s", subgroup->fixed.name, why);
}

bool wh_layer_is_ordered(const whorl_subgroup *subgroup)
{
	return subgroup->fixed.mode == WH_MODE_ORDERED;
}

uint32_t wh_layer_window(const whorl_subgroup *subgroup)
{
	return subgroup->fixed.window;
}

uint64_t wh_layer_large_bytes(const whorl_subgroup *subgroup)
{
	return subgroup->fixed.large_bytes;
}

uint64_t wh_layer_most_bytes(const whorl_subgroup *subgroup)
{
	const struct wh_subgroup_fixed *fixed = &subgroup->fixed;

	return fixed->large_bytes > fixed->message_bytes ? fixed->large_bytes : fixed->message_bytes;
}

const whorl_node *wh_layer_node(const whorl_subgroup *subgroup)
{
	return subgroup->node;
}

const char *wh_layer_name(const whorl_subgroup *subgroup)
{
	return subgroup->fixed.name;
}

bool wh_layer_reads_log(const whorl_subgroup *subgroup)
{
	return subgroup->reads_log;
}

uint64_t wh_layer_incarnation(const whorl_subgroup *subgroup)
{
	return subgroup->node->fixed.incarnation;
}

static const struct wh_shard_member *member_of(const whorl_subgroup *subgroup)
{
	const struct wh_epoch *epoch = subgroup->node->epochs.current;

	return epoch != NULL ? wh_epoch_shard_member(epoch, subgroup) : NULL;
}

/* In a shard that is not active nothing is received in this view. */
bool wh_layer_received(const whorl_subgroup *subgroup, struct wh_layer_place *out)
{
	const struct wh_shard_member *member = member_of(subgroup);

	if (member == NULL)
		return false;
	*out = (struct wh_layer_place){.view = subgroup->node->epochs.current->view->number,
				       .shard = member->layout->shard,
				       .received = member->mc != NULL ? wh_multicast_received(member->mc) : 0};
	return true;
}

bool wh_layer_is_in(const whorl_subgroup *subgroup, uint32_t shard)
{
	const struct wh_shard_member *member = member_of(subgroup);

	return member != NULL && member->layout->shard == shard;
}

bool wh_layer_is_confirmed(const whorl_subgroup *subgroup, uint64_t view, uint64_t question)
{
	const struct wh_epoch *epoch = subgroup->node->epochs.current;

	return epoch->view->number == view && wh_confirm_held(&epoch->change) >= question;
}

bool wh_layer_has_applied(const whorl_subgroup *subgroup, const struct wh_layer_place *place)
{
	const struct wh_shard_member *member = member_of(subgroup);

	if (wh_layer_restores(subgroup) || subgroup->offer.backlog.messages > 0)
		return false;
	if (subgroup->node->epochs.current->view->number != place->view)
		return true; /* all below the cut was delivered before this view began */
	return member == NULL || member->mc == NULL || wh_multicast_sequence(member->mc) >= place->received;
}

bool wh_layer_restores(const whorl_subgroup *subgroup)
{
	return subgroup->state != NULL && wh_state_restores(subgroup->state);
}

/* ---- threads ------------------------------------------------------------------------------------------------------------ */

bool wh_layer_in_upcall(const whorl_subgroup *subgroup)
{
	return wh_node_in_upcall(subgroup->node);
}

bool wh_layer_take_loop(whorl_subgroup *subgroup)
{
	return wh_node_take_loop(subgroup->node);
}

void wh_layer_give_loop(whorl_subgroup *subgroup)
{
	wh_node_give_loop(subgroup->node);
}

uint64_t wh_layer_deadline(int timeout_ms)
{
	return wh_monotonic_ns() + (uint64_t)timeout_ms * WH_NS_PER_MS;
}

int wh_layer_left_ms(uint64_t deadline_ns)
{
	uint64_t now = wh_monotonic_ns();

	return now < deadline_ns ? (int)((deadline_ns - now + WH_NS_PER_MS - 1) / WH_NS_PER_MS) : 0;
}

static bool is_closed(const whorl_node *node)
{
	return wh_node_state(node) == WHORL_CLOSED;
}

static void sleep_until(whorl_node *node, const wh_word *settled, pthread_mutex_t *lock, pthread_cond_t *condition,
			uint64_t deadline_ns)
{
	const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / WH_NS_PER_S),
					  .tv_nsec = (long)(deadline_ns % WH_NS_PER_S)};

	pthread_mutex_lock(lock);
	if (wh_load_relaxed(settled) == 0 && !is_closed(node))
		pthread_cond_timedwait(condition, lock, &deadline);
	pthread_mutex_unlock(lock);
}

/* True if this thread has made a pass of the loop. */
static bool wait_once(whorl_subgroup *subgroup, const wh_word *settled, pthread_mutex_t *lock,
		      pthread_cond_t *condition, uint64_t deadline_ns, struct wh_backoff *backoff)
{
	whorl_node *node = subgroup->node;
	uint64_t turn_ns;
	size_t work;

	if (node->fixed.caller && wh_node_try_step(node, &work)) {
		if (work > 0)
			wh_backoff_renew(backoff);
		else if (wh_load_acquire(settled) == 0 && !wh_node_wait_a_little(subgroup, backoff))
			wh_node_nap(node);
		return true;
	}
	if (wh_node_wait_a_little(subgroup, backoff))
		return false;
	turn_ns = wh_monotonic_ns() + WH_TURN_NS;
	sleep_until(node, settled, lock, condition,
		    node->fixed.caller && turn_ns < deadline_ns ? turn_ns : deadline_ns);
	return false;
}

bool wh_layer_begin_wait(whorl_subgroup *subgroup)
{
	return wh_node_begin_wait(subgroup->node);
}

void wh_layer_end_wait(whorl_subgroup *subgroup)
{
	wh_node_end_wait(subgroup->node);
}

void wh_layer_wait(whorl_subgroup *subgroup, const wh_word *settled, pthread_mutex_t *lock, pthread_cond_t *condition,
		   uint64_t deadline_ns)
{
	whorl_node *node = subgroup->node;
	struct wh_backoff backoff = {0};
	bool drove = false;

	/* Acquire: what is settled, then what it says. Partner: the layer's release. */
	while (wh_load_acquire(settled) == 0 && !is_closed(node) && wh_monotonic_ns() < deadline_ns)
		drove |= wait_once(subgroup, settled, lock, condition, deadline_ns, &backoff);
	if (drove)
		wh_node_hand_back(node);
}
