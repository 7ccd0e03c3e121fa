/* work.c - the thread of a node: listeners, and what time does. See node.h. */
#include "base/backoff.h"
#include "base/env.h"
#include "base/thread.h"
#include "dds/line_int.h"

#define TICK_NS                                                                                                        \
	(20 * WH_NS_PER_MS) /* between two looks at what waits without being told: a view, the end of a writer */
#define LOOK_NS WH_NS_PER_S /* no sleep is longer */
#define SPIN_NS (30 * WH_NS_PER_US) /* behind a call, before it sleeps: what comes fast is there again */
#define TURN_NS                                                                                                        \
	WH_NS_PER_MS /* one that changes again and again is told for so long, then others, and times, have their turn */

/* ---- listeners ----------------------------------------------------------------------------------------------------------------- */

static void queue(struct wh_dds_base *base)
{
	struct wh_dds_node *node = base->node;

	if (wh_exchange(&base->queued, 1) != 0) /* partner: pop, before it looks */
		return;
	wh_dds_entity_hold(&base->entity);
	pthread_mutex_lock(&node->work_lock);
	base->queue_next = NULL;
	*node->queue_end = base;
	node->queue_end = &base->queue_next;
	wh_store_relaxed(&node->called, 1);
	pthread_cond_signal(&node->work);
	pthread_mutex_unlock(&node->work_lock);
}

static uint32_t asked_by(const struct wh_dds_base *base)
{
	return base != NULL ? (uint32_t)wh_load_relaxed(&base->asks) : 0;
}

void wh_dds_base_changed(struct wh_dds_base *base)
{
	struct wh_dds_base *group = wh_dds_parent(base);
	uint32_t asks = asked_by(base) | asked_by(group) | asked_by(wh_dds_participant_of(base));

	wh_dds_status_condition_look(&base->condition, &base->statuses);
	if ((base->statuses.changed & asks) != 0)
		queue(base);
}

/* With `work_lock`. */
static struct wh_dds_base *pop(struct wh_dds_node *node)
{
	struct wh_dds_base *base = node->queue;

	if (base == NULL)
		return NULL;
	node->queue = base->queue_next;
	if (node->queue == NULL) {
		node->queue_end = &node->queue;
		wh_store_relaxed(&node->called, 0);
	}
	(void)wh_exchange(&base->queued, 0); /* partner: queue */
	return base;
}

static const struct whorl_dds_listener *listener_of(const struct wh_dds_base *base)
{
	return base != NULL ? &base->listener : NULL;
}

/* With `listening`. */
static bool next_call(struct wh_dds_base *base, struct wh_dds_call *call)
{
	struct wh_dds_base *parent = wh_dds_parent(base), *participant = wh_dds_participant_of(base);
	const struct wh_dds_listeners listeners = {.entity = base->entity.handle,
						   .own = &base->listener,
						   .group = parent != participant ? listener_of(parent) : NULL,
						   .participant =
							   base != participant ? listener_of(participant) : NULL};
	bool some;

	wh_dds_lock_soon(&base->lock);
	some = wh_dds_listeners_next(&listeners, &base->statuses, call);
	if (some)
		wh_dds_status_condition_look(&base->condition, &base->statuses);
	pthread_mutex_unlock(&base->lock);
	return some;
}

static bool is_deleted(const struct wh_dds_base *base)
{
	struct wh_dds_entity *held = NULL;
	whorl_dds_return result = wh_dds_entity_get(base->entity.table, base->entity.handle, WH_DDS_ANY_KIND, &held);

	wh_dds_entity_put(held);
	return result != WHORL_DDS_RETCODE_OK;
}

static bool call_all(struct wh_dds_base *base)
{
	struct wh_dds_node *node = base->node;
	uint64_t until_ns = wh_dds_clock() + TURN_NS;
	struct wh_dds_call call;
	bool some = false, goes_on = true;

	pthread_mutex_lock(&node->listening);
	while (goes_on && !is_deleted(base) && next_call(base, &call)) {
		node->calling = base;
		node->caller = wh_dds_this_thread();
		pthread_mutex_unlock(&node->listening);
		wh_dds_call_make(&call);
		some = true;
		goes_on = wh_dds_clock() < until_ns;
		pthread_mutex_lock(&node->listening);
		node->calling = NULL;
		pthread_cond_broadcast(&node->listened);
	}
	pthread_mutex_unlock(&node->listening);
	if (!goes_on && !is_deleted(base))
		queue(base); /* behind the others: there may be more */
	return some;
}

static bool concerns(const struct wh_dds_base *calling, const struct wh_dds_base *base)
{
	while (calling != NULL && calling != base)
		calling = wh_dds_parent(calling);
	return calling != NULL;
}

bool wh_dds_is_listening(struct wh_dds_node *node)
{
	bool is;

	pthread_mutex_lock(&node->listening);
	is = node->calling != NULL && node->caller == wh_dds_this_thread();
	pthread_mutex_unlock(&node->listening);
	return is;
}

void wh_dds_listener_await(struct wh_dds_base *base)
{
	struct wh_dds_node *node = base->node;

	pthread_mutex_lock(&node->listening);
	while (concerns(node->calling, base) && node->caller != wh_dds_this_thread())
		(void)wh_dds_wait(&node->listened, &node->listening, WH_DDS_NEVER);
	pthread_mutex_unlock(&node->listening);
}

/* ---- time ---------------------------------------------------------------------------------------------------------------------- */

/* What this member has to say of time, if it is the lowest; what cannot be said now is kept, as the machine gives it once. Returns when to look
 * again. */
static uint64_t say_due(struct wh_dds_line *line, uint64_t now_ns)
{
	int64_t next = WHORL_DDS_INFINITY;
	bool more;

	do {
		pthread_mutex_lock(&line->lock);
		if (line->word_bytes == 0 && line->ready && line->channel != NULL && line->views == NULL &&
		    !line->broken)
			line->word_bytes = wh_dds_channel_due(line->channel, (int64_t)now_ns, line->word, &next);
		if (line->word_bytes > 0)
			wh_dds_line_wake(line);
		pthread_mutex_unlock(&line->lock);
		if (line->word_bytes > 0 &&
		    whorl_send(wh_dds_subgroup_of(line), line->word, line->word_bytes, 0, NULL) != WHORL_OK)
			return now_ns; /* there is no room, or it is no sender yet: soon */
		more = line->word_bytes > 0;
		line->word_bytes = 0;
	} while (more);
	return next == WHORL_DDS_INFINITY ? WH_DDS_NEVER : next > 0 ? (uint64_t)next : now_ns;
}

/* Readers of a line have room again; those of unordered topics may have refused what came on any stream. */
static void offer_again_on(struct wh_dds_line *line)
{
	struct wh_dds_node *node = line->node;

	if (line != node->loose) {
		(void)whorl_offer_again(wh_dds_subgroup_of(line));
		return;
	}
	pthread_mutex_lock(&node->lock);
	for (struct wh_dds_line *it = node->lines; it != NULL; it = it->next)
		if (it->stream && wh_dds_subgroup_of(it) != NULL)
			(void)whorl_offer_again(wh_dds_subgroup_of(it));
	pthread_mutex_unlock(&node->lock);
}

/* A dormant channel that this node waits in, without a call of the program that waits for it, has come back. With the lock. */
static void note_return(struct wh_dds_line *line)
{
	if (line->shape.durable && !line->control && !line->ready && wh_dds_subgroup_of(line) != NULL &&
	    wh_dds_subgroup_ready(wh_dds_subgroup_of(line), 0) == WHORL_OK)
		wh_dds_line_note_ready(line);
}

static uint64_t look_at_line(struct wh_dds_line *line, uint64_t now_ns)
{
	uint64_t next = !line->control && !line->stream ? say_due(line, now_ns) : WH_DDS_NEVER, rests;
	bool offer_again = false;

	if (line->stream)
		wh_dds_stream_work(line);
	wh_dds_line_lock(line);
	note_return(line);
	wh_dds_line_settle(line);
	if (line == line->node->loose) {
		uint64_t hushes = wh_dds_stream_hush(line, now_ns);

		next = hushes < next ? hushes : next;
	}
	for (struct wh_dds_reader_entity *reader = line->readers; reader != NULL; reader = reader->next_reader) {
		uint64_t due = wh_dds_reader_pass_time(reader, now_ns, &offer_again);

		next = due < next ? due : next;
	}
	for (struct wh_dds_writer_entity *writer = line->writers; writer != NULL; writer = writer->next_writer) {
		uint64_t due = wh_dds_writer_pass_time(writer, now_ns);

		next = due < next ? due : next;
	}
	if ((line->views != NULL || line->end_count > 0 ||
	     (line->channel != NULL && wh_dds_channel_lingering(line->channel, 0) != NULL)) &&
	    next > now_ns + TICK_NS)
		next = now_ns + TICK_NS;
	rests = line->ready ? wh_dds_line_rest(line, now_ns) : WH_DDS_NEVER;
	next = rests < next ? rests : next;
	wh_dds_line_unlock(line);
	if (offer_again)
		offer_again_on(line);
	return next;
}

static uint64_t look_at_times(struct wh_dds_node *node)
{
	uint64_t now = wh_dds_clock(), next = now + LOOK_NS, control;

	if (!wh_dds_node_call(node))
		return next;
	control = look_at_line(node->control, now);
	next = control < next ? control : next;
	for (struct wh_dds_line *line = wh_dds_node_lines(node); line != NULL; line = line->next) {
		uint64_t due = look_at_line(line, now);

		next = due < next ? due : next;
	}
	wh_dds_node_called(node);
	return next > now + WH_NS_PER_MS ? next : now + WH_NS_PER_MS;
}

/* ---- the thread ---------------------------------------------------------------------------------------------------------------- */

void wh_dds_work_due(struct wh_dds_node *node, uint64_t due_ns)
{
	if (due_ns >=
	    wh_load_relaxed(
		    &node->sleeps_ns)) /* what comes while it looks is noted, and else is seen by its next look */
		return;
	pthread_mutex_lock(&node->work_lock);
	if (due_ns < node->soon_ns) {
		node->soon_ns = due_ns;
		pthread_cond_signal(&node->work);
	}
	pthread_mutex_unlock(&node->work_lock);
}

/* With `work_lock`. */
static uint64_t sleep_until(struct wh_dds_node *node, uint64_t next_ns, uint64_t until_ns)
{
	uint64_t soon_ns =
		node->soon_ns < node->looked_ns + WH_NS_PER_MS ? node->looked_ns + WH_NS_PER_MS : node->soon_ns;

	next_ns = soon_ns < next_ns ? soon_ns : next_ns;
	next_ns = until_ns < next_ns ? until_ns : next_ns;
	wh_store_relaxed(&node->sleeps_ns, next_ns);
	return next_ns;
}

/* From here on all that comes due is noted. */
static void begin_to_look(struct wh_dds_node *node)
{
	pthread_mutex_lock(&node->work_lock);
	node->soon_ns = WH_DDS_NEVER;
	node->looked_ns = wh_dds_clock(); /* not twice within a millisecond, whatever comes */
	wh_store_relaxed(&node->sleeps_ns, WH_DDS_NEVER);
	pthread_mutex_unlock(&node->work_lock);
}

/* What is queued while no time is due: each look takes the locks of all lines, which a thread that delivers holds for long. */
static struct wh_dds_base *pop_before_times(struct wh_dds_node *node)
{
	struct wh_dds_base *base = NULL;

	pthread_mutex_lock(&node->work_lock);
	if (node->queue != NULL && wh_dds_clock() < sleep_until(node, node->next_ns, WH_DDS_NEVER))
		base = pop(node);
	pthread_mutex_unlock(&node->work_lock);
	return base;
}

/* For a moment, in which others have the processor. It is a hint: what is queued is looked at with the lock. */
static void look_for_calls(struct wh_dds_node *node)
{
	struct wh_backoff backoff = node->backoff;
	bool goes_on = !wh_dds_host()->simulated;

	while (goes_on && wh_load_relaxed(&node->called) == 0)
		goes_on = wh_backoff_wait(&backoff, wh_env_system(), SPIN_NS);
	wh_backoff_renew(&backoff);
	node->backoff = backoff;
}

/* Looks at what time does, and sleeps until something is queued or the time is over: NULL. */
static struct wh_dds_base *await_call(struct wh_dds_node *node, uint64_t until_ns)
{
	struct wh_dds_base *base;
	uint64_t next;

	begin_to_look(node);
	wh_dds_builtin_work(node);
	next = look_at_times(node);
	pthread_mutex_lock(&node->work_lock);
	node->next_ns = next;
	while ((base = pop(node)) == NULL && !node->stops &&
	       wh_dds_wait(&node->work, &node->work_lock, sleep_until(node, next, until_ns)))
		;
	pthread_mutex_unlock(&node->work_lock);
	return base;
}

bool wh_dds_work_pass(struct wh_dds_node *node, uint64_t until_ns)
{
	struct wh_dds_base *base = pop_before_times(node);
	bool some;

	if (base == NULL)
		base = await_call(node, until_ns);
	some = base != NULL && call_all(base);
	wh_dds_let_go(base);
	return some;
}

static void *work(void *ctx)
{
	struct wh_dds_node *node = ctx;
	bool stops = false;

	pthread_mutex_lock(&node->work_lock);
	node->worker = wh_dds_this_thread();
	node->begun = true;
	pthread_mutex_unlock(&node->work_lock);
	while (!stops) {
		if (wh_dds_work_pass(node, WH_DDS_NEVER))
			look_for_calls(node);
		pthread_mutex_lock(&node->work_lock);
		stops = node->stops;
		pthread_mutex_unlock(&node->work_lock);
	}
	wh_dds_node_drop(node);
	return NULL;
}

bool wh_dds_work_start(struct wh_dds_node *node)
{
	const struct wh_dds_host *host = wh_dds_host();

	wh_dds_node_hold(node);
	node->threaded = host->start(host->ctx, &node->thread, work, node);
	if (!node->threaded)
		wh_dds_node_drop(node);
	return node->threaded;
}

void wh_dds_work_stop(struct wh_dds_node *node)
{
	const struct wh_dds_host *host = wh_dds_host();
	struct wh_dds_base *base;
	bool itself;

	pthread_mutex_lock(&node->work_lock);
	node->stops = true;
	itself = node->begun && node->worker == wh_dds_this_thread();
	pthread_cond_broadcast(&node->work);
	pthread_mutex_unlock(&node->work_lock);
	if (node->threaded && itself)
		host->detach(host->ctx, &node->thread); /* a listener has deleted the last participant */
	else if (node->threaded)
		host->join(host->ctx, &node->thread);
	do {
		pthread_mutex_lock(&node->work_lock);
		base = pop(node);
		pthread_mutex_unlock(&node->work_lock);
		wh_dds_let_go(base);
	} while (base != NULL);
}
