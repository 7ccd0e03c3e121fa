/* line.c - a subgroup with a machine: how it is entered, and what is said there. See node.h. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/thread.h"
#include "dds/line_int.h"

#define CONTROL_LOG_BYTES (UINT64_C(16) << 20)
#define ALONE_MS 200 /* that is waited until a channel without state has no member */

/* ---- locks --------------------------------------------------------------------------------------------------------------------- */

void wh_dds_line_lock(struct wh_dds_line *line)
{
	if (line->control || line->stream)
		pthread_mutex_lock(&line->node->loose->lock);
	pthread_mutex_lock(&line->lock);
}

void wh_dds_line_unlock(struct wh_dds_line *line)
{
	pthread_mutex_unlock(&line->lock);
	if (line->control || line->stream)
		pthread_mutex_unlock(&line->node->loose->lock);
}

/* ---- the machine --------------------------------------------------------------------------------------------------------------- */

static void tell_registry(void *ctx, const struct wh_dds_registry_event *event)
{
	struct wh_dds_line *line = ctx;

	if (event->what == WH_DDS_TOPIC_NEW)
		pthread_cond_broadcast(&line->changed);
	wh_dds_builtin_registry(line->node, event);
	if (event->what == WH_DDS_TOPIC_DIFFERS)
		wh_dds_topic_differs(line->node, event->topic->id);
	if (event->what != WH_DDS_REGISTERED)
		return;
	for (struct wh_dds_asked *asked = line->asked; asked != NULL; asked = asked->next) {
		if (asked->number != event->ticket)
			continue;
		asked->done = true;
		asked->result = event->result;
		asked->policy = event->policy;
		if (event->topic != NULL && event->result == WHORL_DDS_RETCODE_OK) {
			asked->topic = event->topic->id;
			memcpy(asked->channel, event->topic->channel, strlen(event->topic->channel) + 1);
			if (wh_dds_policies_copy(&asked->policies, &event->topic->policies) != WHORL_DDS_RETCODE_OK)
				asked->result = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
		} else if (event->topic != NULL) {
			wh_dds_registry_explain(asked->text, sizeof(asked->text), event->topic, asked->registration);
		}
		pthread_cond_broadcast(&line->changed);
	}
}

/* With the lock. False: memory is out. */
bool wh_dds_line_machine(struct wh_dds_line *line)
{
	uint64_t incarnation = wh_load_acquire(&line->node->incarnation); /* partner: the node's first view */

	if (line->control) {
		const struct wh_dds_registry_config config = {.node = line->node->id,
							      .incarnation = incarnation,
							      .watches = true,
							      .tell = tell_registry,
							      .ctx = line};

		if (line->registry == NULL)
			line->registry = wh_dds_registry_new(&config);
		return line->registry != NULL;
	}
	if (line->channel == NULL) {
		const struct wh_dds_channel_config config = {.node = line->node->id,
							     .incarnation = incarnation,
							     .watches = true,
							     .unordered = line == line->node->loose,
							     .tell = wh_dds_deliver,
							     .ctx = line};

		line->channel = wh_dds_channel_new(&config);
	}
	return line->channel != NULL;
}

void wh_dds_line_free_machine(struct wh_dds_line *line)
{
	wh_dds_registry_free(line->registry);
	wh_dds_channel_free(line->channel);
	line->registry = NULL;
	line->channel = NULL;
}

/* ---- the line ------------------------------------------------------------------------------------------------------------------ */

struct wh_dds_line *wh_dds_line_new(struct wh_dds_node *node, const char *name, const struct wh_dds_shape *shape)
{
	struct wh_dds_line *line = calloc(1, sizeof(*line));
	pthread_mutexattr_t again;

	if (line == NULL)
		return NULL;
	line->pool = wh_dds_pool_create((size_t)1 << 22);
	if (line->pool == NULL) {
		free(line);
		return NULL;
	}
	line->node = node;
	line->shape = *shape;
	memcpy(line->name, name, strlen(name) + 1);
	line->control = strcmp(name, WH_DDS_CONTROL) == 0;
	line->stream = shape->unordered;
	pthread_mutexattr_init(&again);
	pthread_mutexattr_settype(&again, PTHREAD_MUTEX_RECURSIVE); /* an in-place listener may look at its reader */
	pthread_mutex_init(&line->lock, &again);
	pthread_mutexattr_destroy(&again);
	wh_thread_condition_init(&line->changed);
	return line;
}

void wh_dds_line_free(struct wh_dds_line *line)
{
	if (line == NULL)
		return;
	wh_dds_line_free_views(line);
	wh_dds_line_free_machine(line);
	wh_dds_pool_close(line->pool);
	free(line->restored);
	free(line->scratch);
	free(line->members);
	free(line->ends);
	pthread_cond_destroy(&line->changed);
	pthread_mutex_destroy(&line->lock);
	free(line);
}

static enum whorl_mode mode_of(const struct wh_dds_line *line)
{
	if (line->stream)
		return WHORL_UNORDERED;
	return line->shape.durable || (line->control && line->node->logs) ? WHORL_DURABLE : WHORL_ORDERED;
}

static enum whorl_result enter(struct wh_dds_line *line, int timeout_ms)
{
	const struct whorl_state state = wh_dds_line_state(line);
	const struct whorl_subgroup_options options = {
		.size = sizeof(options),
		.mode = mode_of(line),
		.window = line->shape.window,
		.message_bytes = line->shape.message_bytes,
		.large_bytes = line->shape.large_bytes,
		.on_offer = line->stream ? wh_dds_stream_offer : wh_dds_line_offer,
		.upcall_ctx = line,
		.on_refused = wh_dds_line_refused,
		.on_refused_ctx = line,
		.refuse_max_ms = line->node->settings.patience_ms,
		.state = line->stream ? NULL : &state,
		.log_bytes = line->control ? CONTROL_LOG_BYTES : line->node->settings.log_bytes,
		.on_past_view = wh_dds_line_past_view};
	whorl_subgroup *subgroup = NULL;
	enum whorl_result result =
		wh_dds_subgroup_enter(line->node->whorl, line->name, &options, timeout_ms, &subgroup);

	if (subgroup == NULL)
		return result;
	wh_dds_line_lock(line);
	wh_dds_subgroup_is(line, subgroup);
	if (line->control)
		wh_dds_subgroup_is(line->node->loose, subgroup);
	line->said_ns = wh_dds_clock();
	wh_dds_line_unlock(line);
	return WHORL_OK;
}

/* Others that lost its state with this node leave it, too, and as long as one of them is in it another one that enters waits in vain. So it is
 * waited for until there is none, but not for ever: then there may be one that has begun anew. */
static void await_none(const struct wh_dds_line *line)
{
	const struct wh_dds_host *host = wh_dds_host();
	uint64_t until = wh_dds_until((ALONE_MS + line->node->id % 16 * ALONE_MS / 8) * INT64_C(1000000));
	uint32_t ids[1], count;

	do {
		count = 1;
		if (whorl_shard_members(line->node->whorl, line->name, 0, ids, &count) != WHORL_OK || count == 0)
			return;
		host->pause(host->ctx);
	} while (wh_dds_left_ms(until, 1) > 0);
}

whorl_subgroup *wh_dds_line_forget(struct wh_dds_line *line)
{
	whorl_subgroup *subgroup;

	wh_dds_line_lock(line);
	subgroup = wh_dds_subgroup_of(line);
	wh_dds_subgroup_is(line, NULL);
	line->rests = false;
	wh_dds_line_free_views(line);
	wh_dds_line_free_machine(line);
	if (line->control) {
		wh_dds_subgroup_is(line->node->loose, NULL);
		wh_dds_line_free_machine(line->node->loose);
	}
	wh_dds_line_unlock(line);
	return subgroup;
}

/* All that had its state have gone, and with them what there was: it begins anew. */
static enum whorl_result enter_again(struct wh_dds_line *line, int timeout_ms)
{
	(void)whorl_subgroup_release(wh_dds_line_forget(line));
	await_none(line);
	return enter(line, timeout_ms);
}

/* Has more of its state come, since *count did? */
static bool is_coming(struct wh_dds_line *line, uint64_t *count)
{
	uint64_t before = *count;

	pthread_mutex_lock(&line->lock);
	*count = line->came_count;
	pthread_mutex_unlock(&line->lock);
	return *count != before;
}

/* A history may be long: it is waited for as long as some of it comes. */
static enum whorl_result await_state(struct wh_dds_line *line, int timeout_ms)
{
	enum whorl_result result;
	uint64_t count = 0;

	do
		result = wh_dds_subgroup_ready(wh_dds_subgroup_of(line), timeout_ms);
	while (result == WHORL_TIMEOUT && is_coming(line, &count) && !wh_dds_node_closes(line->node));
	return result;
}

enum whorl_result wh_dds_line_await(struct wh_dds_line *line, int timeout_ms)
{
	uint64_t until = wh_dds_until(timeout_ms * INT64_C(1000000));
	enum whorl_result result = await_state(line, timeout_ms);

	while (result == WHORL_SHARD_LOST && wh_dds_left_ms(until, 1) > 0) {
		result = enter_again(line, wh_dds_left_ms(until, timeout_ms));
		if (result == WHORL_OK)
			result = await_state(line, wh_dds_left_ms(until, timeout_ms));
	}
	if (result == WHORL_OK)
		wh_dds_line_note_ready(line);
	return result;
}

enum whorl_result wh_dds_line_enter(struct wh_dds_line *line, int timeout_ms)
{
	enum whorl_result result = enter(line, timeout_ms);

	return result == WHORL_OK && timeout_ms > 0 ? wh_dds_line_await(line, timeout_ms) : result;
}

/* ---- resting ------------------------------------------------------------------------------------------------------------------- */

/* Nor does a stream: without an order there are no nulls that a silent sender costs. Nor any in a durable channel: its log has the senders of each
 * view, and all members are to be among them (line_views.c). */
uint64_t wh_dds_line_rest(struct wh_dds_line *line, uint64_t now_ns)
{
	uint64_t rest_ms = line->node->settings.rest_ms, due = line->said_ns + rest_ms * WH_NS_PER_MS;

	if (line->control || line->stream || line->shape.durable || line == line->node->loose || rest_ms == 0 ||
	    wh_dds_subgroup_of(line) == NULL || line->broken || line->writers != NULL || line->asked != NULL)
		return WH_DDS_NEVER;
	if (line->channel != NULL && wh_dds_channel_next(line->channel) != WHORL_DDS_INFINITY) {
		wh_dds_line_wake(line); /* it is the lowest, and may have to say that something has run out */
		return WH_DDS_NEVER;
	}
	if (line->rests)
		return WH_DDS_NEVER;
	if (now_ns < due)
		return due;
	line->rests = whorl_pause_sending(wh_dds_subgroup_of(line), true) == WHORL_OK;
	return WH_DDS_NEVER;
}

void wh_dds_line_wake(struct wh_dds_line *line)
{
	line->said_ns = wh_dds_clock();
	if (!line->rests || wh_dds_subgroup_of(line) == NULL)
		return;
	line->rests = false;
	(void)whorl_pause_sending(wh_dds_subgroup_of(line), false); /* if it cannot, claims say why */
}

static void wake(struct wh_dds_line *line)
{
	pthread_mutex_lock(&line->lock);
	wh_dds_line_wake(line);
	pthread_mutex_unlock(&line->lock);
}

/* ---- saying and asking --------------------------------------------------------------------------------------------------------- */

unsigned char *wh_dds_flatten(const struct wh_dds_out *out, size_t *count)
{
	struct wh_dds_cursor cursor = {.at = 0};
	unsigned char *bytes;

	*count = wh_dds_out_bytes(out);
	bytes = out->failed ? NULL : malloc(*count + 1);
	if (bytes != NULL)
		for (size_t got = 0, more; (more = wh_dds_out_read(out, &cursor, bytes + got, *count - got)) > 0;)
			got += more;
	return bytes;
}

whorl_dds_return wh_dds_line_send(const char *function, struct wh_dds_line *line, struct wh_dds_out *out,
				  uint64_t until_ns, uint64_t *index)
{
	enum whorl_result result = WHORL_MEMORY;
	size_t count = 0;
	unsigned char *bytes = wh_dds_flatten(out, &count);

	while (bytes != NULL) {
		wake(line);
		result = whorl_send(wh_dds_subgroup_of(line), bytes, count,
				    wh_dds_on_loop() ? 0 : wh_dds_given_ms(wh_dds_left_ms(until_ns, 100)), index);
		if (!wh_dds_is_for_now(result) || wh_dds_on_loop() || wh_dds_left_ms(until_ns, 1) == 0 ||
		    wh_dds_node_closes(line->node))
			break;
		wh_dds_rest();
	}
	free(bytes);
	wh_dds_out_free(out);
	if (result == WHORL_OK || result == WHORL_PENDING)
		return WHORL_DDS_RETCODE_OK;
	return wh_dds_line_says(function, line, result);
}

whorl_dds_return wh_dds_line_says(const char *function, struct wh_dds_line *line, enum whorl_result result)
{
	if (!wh_dds_line_is_left(line))
		return wh_dds_node_says(function, line->node, result);
	return wh_dds_say(function, WHORL_DDS_RETCODE_ERROR,
			  "this process has left channel %s, since a reader took nothing for %" PRIu64
			  " ms (slow_reader)",
			  line->name, line->node->settings.patience_ms);
}

static void unhang(struct wh_dds_line *line, struct wh_dds_asked *asked)
{
	struct wh_dds_asked **at = &line->asked;

	while (*at != asked)
		at = &(*at)->next;
	*at = asked->next;
}

whorl_dds_return wh_dds_line_ask(const char *function, struct wh_dds_line *line, struct wh_dds_out *out,
				 struct wh_dds_asked *asked)
{
	uint64_t until = wh_dds_until(WH_DDS_WAIT_NS);
	whorl_dds_return result;

	pthread_mutex_lock(&line->lock);
	asked->next = line->asked;
	line->asked = asked;
	pthread_mutex_unlock(&line->lock);
	result = wh_dds_line_send(function, line, out, until, NULL);
	pthread_mutex_lock(&line->lock);
	while (result == WHORL_DDS_RETCODE_OK && !asked->done && !line->broken && !wh_dds_node_closes(line->node) &&
	       whorl_error(line->node->whorl, NULL, 0) == WHORL_OK)
		if (!wh_dds_wait(&line->changed, &line->lock, until))
			break;
	unhang(line, asked);
	if (result == WHORL_DDS_RETCODE_OK && wh_dds_line_is_left(line))
		result = wh_dds_line_says(function, line, WHORL_CLOSED);
	else if (result == WHORL_DDS_RETCODE_OK && line->broken)
		result = wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	else if (result == WHORL_DDS_RETCODE_OK && !asked->done)
		result = wh_dds_line_says(function, line, WHORL_TIMEOUT);
	pthread_mutex_unlock(&line->lock);
	return result == WHORL_DDS_RETCODE_OK ? asked->result : result;
}
