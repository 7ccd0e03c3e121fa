/* line.c - a subgroup with a machine: see node.h.
 *
 * Views and messages come to a machine in one order. A view upcall comes when it begins, but messages of views before may come behind it: what
 * was refused, and what a newcomer kept back until it had its state. So a view waits in a list until a message of it comes, or until it is
 * known that none of an earlier one will. The state that is given to a newcomer has the views that wait, too.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "base/thread.h"
#include "dds/node.h"

#define AHEAD                                                                                                          \
	4 /* messages of a batch are looked at so far ahead: of a long one the first are cold when all are there */
#define AHEAD_BYTES 192 /* of each */
#define ALONE_MS 200    /* that is waited until a channel without state has no member */

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
static bool make_machine(struct wh_dds_line *line)
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
							     .tell = wh_dds_deliver,
							     .ctx = line};

		line->channel = wh_dds_channel_new(&config);
	}
	return line->channel != NULL;
}

static void free_machine(struct wh_dds_line *line)
{
	wh_dds_registry_free(line->registry);
	wh_dds_channel_free(line->channel);
	line->registry = NULL;
	line->channel = NULL;
}

/* ---- views --------------------------------------------------------------------------------------------------------------------- */

static void free_views(struct wh_dds_line *line)
{
	for (struct wh_dds_pending_view *next; line->views != NULL; line->views = next) {
		next = line->views->next;
		free(line->views);
	}
}

/* By number; one that waits already is passed over. */
static void hang_view(struct wh_dds_line *line, struct wh_dds_pending_view *view)
{
	struct wh_dds_pending_view **at = &line->views;

	while (*at != NULL && (*at)->number < view->number)
		at = &(*at)->next;
	if (*at != NULL && (*at)->number == view->number) {
		free(view);
		return;
	}
	view->next = *at;
	*at = view;
}

static void apply_views(struct wh_dds_line *line, uint64_t up_to)
{
	if (line->views == NULL || line->views->number > up_to)
		return;
	line->room = 0;
	while (line->views != NULL && line->views->number <= up_to) {
		struct wh_dds_pending_view *view = line->views;
		enum whorl_result result = WHORL_MEMORY;

		line->views = view->next;
		if (!line->broken && make_machine(line))
			result =
				line->control
					? wh_dds_registry_view(line->registry, view->number, view->members, view->count)
					: wh_dds_channel_view(line->channel, view->number, view->members, view->count);
		line->broken = line->broken || result != WHORL_OK;
		free(view);
	}
	wh_dds_delivered(line);
}

/* Nothing of an earlier view is to come any more. */
static bool is_clear(const struct wh_dds_line *line)
{
	struct whorl_subgroup_stats stats = {.size = sizeof(stats)};

	return line->ready && !line->refused && line->subgroup != NULL &&
	       whorl_subgroup_statistics(line->subgroup, &stats) == WHORL_OK && stats.refused_kept == 0 &&
	       wh_dds_subgroup_ready(line->subgroup, 0) == WHORL_OK;
}

void wh_dds_line_settle(struct wh_dds_line *line)
{
	if (line->views == NULL || !is_clear(line))
		return;
	wh_dds_batch_begin(line);
	apply_views(line, UINT64_MAX);
	wh_dds_batch_end(line);
}

static void note_ready(struct wh_dds_line *line)
{
	pthread_mutex_lock(&line->lock);
	line->ready = true;
	wh_dds_line_settle(line);
	pthread_mutex_unlock(&line->lock);
	wh_dds_work_due(line->node, 0); /* its times are looked at from now on */
}

/* When the thread has to look, after what has come. A view that waits is looked at soon. */
static void say_due(struct wh_dds_line *line)
{
	int64_t next_ns = line->channel != NULL ? wh_dds_channel_next(line->channel) : WHORL_DDS_INFINITY;

	if (line->views != NULL)
		wh_dds_work_due(line->node, wh_dds_clock());
	if (next_ns != WHORL_DDS_INFINITY)
		wh_dds_work_due(line->node, next_ns > 0 ? (uint64_t)next_ns : 0);
}

static uint64_t incarnation_of(const struct whorl_view *view, uint32_t id)
{
	for (uint32_t i = 0; i < view->member_count; i++)
		if (view->members[i] == id)
			return view->incarnations[i];
	return 0;
}

void wh_dds_line_view(struct wh_dds_line *line, const struct whorl_view *view)
{
	uint32_t ids[WH_DDS_MEMBERS_MAX], count = WH_DDS_MEMBERS_MAX;
	struct wh_dds_pending_view *pending;
	bool mine = false;

	if (whorl_shard_members(line->node->whorl, line->name, 0, ids, &count) != WHORL_OK)
		return;
	pthread_mutex_lock(&line->lock);
	pending = malloc(sizeof(*pending) + count * sizeof(pending->members[0]));
	if (pending == NULL) {
		line->broken = true;
		pthread_mutex_unlock(&line->lock);
		return;
	}
	pending->number = view->number;
	pending->count = count;
	for (uint32_t i = 0; i < count; i++) {
		pending->members[i] =
			(struct wh_dds_member){.node = ids[i], .incarnation = incarnation_of(view, ids[i])};
		mine = mine || ids[i] == line->node->id;
	}
	if (mine)
		hang_view(line, pending);
	else
		free(pending);
	wh_dds_line_settle(line);
	say_due(line);
	pthread_mutex_unlock(&line->lock);
}

/* ---- messages ------------------------------------------------------------------------------------------------------------------ */

/* In one piece. NULL: memory is out. */
static const void *whole(struct wh_dds_line *line, const struct whorl_message *message)
{
	if (message->parts == 1)
		return message->data;
	if (line->scratch_room < message->bytes) {
		unsigned char *room = aligned_alloc(64, (message->bytes + 63) / 64 * 64);

		if (room == NULL)
			return NULL;
		free(line->scratch);
		line->scratch = room;
		line->scratch_room = message->bytes;
	}
	whorl_message_copy(message, 0, line->scratch, message->bytes);
	return line->scratch;
}

/* False: it is refused. */
static bool take_message(struct wh_dds_line *line, const struct whorl_message *message)
{
	const struct wh_dds_from from = {message->sender, message->incarnation, {message->view, message->sequence}};
	enum whorl_result result = WHORL_MEMORY;
	const void *bytes;

	apply_views(line, message->view);
	bytes = whole(line, message);
	if (bytes == NULL || line->broken || !make_machine(line)) {
		line->broken = true; /* it can no longer go with the others */
		return true;
	}
	if (line->control) {
		result = wh_dds_registry_apply(line->registry, &from, bytes, message->bytes);
	} else {
		if (wh_dds_must_wait(line, &from, bytes, message->bytes))
			return false;
		result = wh_dds_channel_apply(line->channel, &from, bytes, message->bytes, (int64_t)line->now_ns);
		wh_dds_delivered(line);
	}
	line->broken = line->broken || result != WHORL_OK;
	return true;
}

static size_t offer(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct wh_dds_line *line = ctx;
	size_t taken = 0;

	pthread_mutex_lock(&line->lock);
	if (line->subgroup == NULL) /* it comes before the thread that enters has it */
		line->subgroup = WHORL_AT(whorl_message, messages, 0)->subgroup;
	wh_dds_batch_begin(line);
	for (bool goes_on = true; goes_on && taken < count; taken += goes_on) {
		if (taken + AHEAD < count)
			wh_dds_prefetch(WHORL_AT(whorl_message, messages, taken + AHEAD)->data, AHEAD_BYTES);
		goes_on = take_message(line, WHORL_AT(whorl_message, messages, taken));
	}
	wh_dds_batch_end(line);
	line->refused = taken < count;
	say_due(line);
	pthread_mutex_unlock(&line->lock);
	return taken;
}

/* This process is no member any more: first all others end for its readers, then its own. What comes until the view without it is passed over.
 * With the lock. */
static void end_all(struct wh_dds_line *line)
{
	const struct wh_dds_member self = {.node = line->node->id,
					   .incarnation =
						   wh_load_acquire(&line->node->incarnation)}; /* partner: on_view */
	enum whorl_result result = WHORL_MEMORY;

	wh_store_release(&line->left, 1); /* partner: wh_dds_line_says */
	free_views(line);
	wh_dds_batch_begin(line);
	if (!line->broken && line->channel != NULL)
		result = wh_dds_channel_view(line->channel, UINT64_MAX - 1, &self, 1);
	if (result == WHORL_OK)
		result = wh_dds_channel_view(line->channel, UINT64_MAX, NULL, 0);
	(void)result; /* without memory some are not told, and the machine is no use either way */
	line->broken = true;
	wh_dds_delivered(line);
	wh_dds_batch_end(line);
	pthread_cond_broadcast(&line->changed);
}

/* A reader loses what it has no room for, and the others go on; or the process leaves. */
static bool refused_long(whorl_subgroup *subgroup, uint64_t refused_ms, void *ctx)
{
	struct wh_dds_line *line = ctx;
	bool leaves = line->node->settings.slow == WH_DDS_SLOW_LEAVE;

	(void)refused_ms;
	pthread_mutex_lock(&line->lock);
	if (leaves)
		end_all(line);
	else
		wh_dds_hurry(line);
	pthread_mutex_unlock(&line->lock);
	if (leaves)
		(void)whorl_subgroup_leave(subgroup, 0);
	(void)whorl_offer_again(subgroup);
	return true;
}

/* ---- state --------------------------------------------------------------------------------------------------------------------- */

struct snapshot {
	struct wh_dds_out out;
	struct wh_dds_cursor cursor;
};

static void put_views(struct wh_dds_out *out, const struct wh_dds_line *line)
{
	uint32_t count = 0;

	for (const struct wh_dds_pending_view *view = line->views; view != NULL; view = view->next)
		count++;
	wh_dds_put_number(out, count, 4);
	for (const struct wh_dds_pending_view *view = line->views; view != NULL; view = view->next) {
		wh_dds_put_number(out, view->number, 8);
		wh_dds_put_number(out, view->count, 4);
		for (uint32_t i = 0; i < view->count; i++) {
			wh_dds_put_number(out, view->members[i].node, 4);
			wh_dds_put_number(out, view->members[i].incarnation, 8);
		}
	}
}

static void *fix(const struct whorl_position *position, void *ctx)
{
	struct wh_dds_line *line = ctx;
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	(void)position;
	if (snapshot == NULL)
		return NULL;
	pthread_mutex_lock(&line->lock);
	put_views(&snapshot->out, line);
	if (line->broken || !make_machine(line))
		snapshot->out.failed = true;
	else if (line->control)
		wh_dds_registry_save(line->registry, &snapshot->out);
	else
		wh_dds_channel_save(line->channel, &snapshot->out);
	pthread_mutex_unlock(&line->lock);
	if (!snapshot->out.failed)
		return snapshot;
	wh_dds_out_free(&snapshot->out);
	free(snapshot);
	return NULL;
}

static ptrdiff_t read_state(void *of, void *bytes, size_t count, void *ctx)
{
	struct snapshot *snapshot = of;

	(void)ctx;
	return (ptrdiff_t)wh_dds_out_read(&snapshot->out, &snapshot->cursor, bytes, count);
}

static void release(void *of, void *ctx)
{
	struct snapshot *snapshot = of;

	(void)ctx;
	wh_dds_out_free(&snapshot->out);
	free(snapshot);
}

static bool take_views(struct wh_dds_line *line, struct wh_dds_in *in)
{
	uint32_t views = (uint32_t)wh_dds_take(in, 4);

	for (uint32_t v = 0; in->ok && v < views; v++) {
		uint64_t number = wh_dds_take(in, 8);
		uint32_t count = (uint32_t)wh_dds_take_within(in, 4, 0, WH_DDS_MEMBERS_MAX);
		struct wh_dds_pending_view *view = calloc(1, sizeof(*view) + count * sizeof(view->members[0]));

		if (view == NULL)
			return false;
		view->number = number;
		view->count = count;
		for (uint32_t i = 0; i < count; i++) {
			view->members[i].node = (uint32_t)wh_dds_take(in, 4);
			view->members[i].incarnation = wh_dds_take(in, 8);
		}
		hang_view(line, view);
	}
	return in->ok;
}

static bool restore_all(struct wh_dds_line *line)
{
	struct wh_dds_in in = {.at = line->restored, .left = line->restored_count, .ok = true};
	enum whorl_result result;

	free_machine(line);
	if (!make_machine(line))
		return false;
	if (line->restored_count == 0)
		return true;
	if (!take_views(line, &in))
		return false;
	result = line->control ? wh_dds_registry_restore(line->registry, in.at, in.left)
			       : wh_dds_channel_restore(line->channel, in.at, in.left, (int64_t)wh_dds_clock());
	if (result == WHORL_OK)
		wh_dds_builtin_list(line);
	return result == WHORL_OK;
}

static bool add_bytes(struct wh_dds_line *line, const void *bytes, size_t count)
{
	if (line->restored_count + count > line->restored_room) {
		size_t room = 2 * (line->restored_count + count);
		unsigned char *grown = realloc(line->restored, room);

		if (grown == NULL)
			return false;
		line->restored = grown;
		line->restored_room = room;
	}
	if (count > 0)
		memcpy(line->restored + line->restored_count, bytes, count);
	line->restored_count += count;
	line->came_count += count;
	return true;
}

static bool restore(enum whorl_restore_step step, const void *bytes, size_t count, void *ctx)
{
	struct wh_dds_line *line = ctx;
	bool ok = true;

	pthread_mutex_lock(&line->lock);
	if (step == WHORL_RESTORE_BEGIN)
		line->restored_count = 0;
	else if (step == WHORL_RESTORE_BYTES)
		ok = add_bytes(line, bytes, count);
	else
		ok = restore_all(line);
	if (step == WHORL_RESTORE_END || !ok) {
		free(line->restored);
		line->restored = NULL;
		line->restored_count = line->restored_room = 0;
	}
	if (step == WHORL_RESTORE_END)
		pthread_cond_broadcast(&line->changed);
	pthread_mutex_unlock(&line->lock);
	return ok;
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
	free_views(line);
	free_machine(line);
	wh_dds_pool_close(line->pool);
	free(line->restored);
	free(line->scratch);
	pthread_cond_destroy(&line->changed);
	pthread_mutex_destroy(&line->lock);
	free(line);
}

static enum whorl_result enter(struct wh_dds_line *line, int timeout_ms)
{
	const struct whorl_state state = {.size = sizeof(state),
					  .snapshot = fix,
					  .read = read_state,
					  .release = release,
					  .restore = restore,
					  .ctx = line};
	const struct whorl_subgroup_options options = {.size = sizeof(options),
						       .mode = WHORL_ORDERED,
						       .window = line->shape.window,
						       .message_bytes = line->shape.message_bytes,
						       .large_bytes = line->shape.large_bytes,
						       .on_offer = offer,
						       .upcall_ctx = line,
						       .on_refused = refused_long,
						       .on_refused_ctx = line,
						       .refuse_max_ms = line->node->settings.patience_ms,
						       .state = &state};
	whorl_subgroup *subgroup = NULL;
	enum whorl_result result =
		whorl_subgroup_enter(line->node->whorl, line->name, &options, wh_dds_given_ms(timeout_ms), &subgroup);

	if (subgroup == NULL)
		return result;
	pthread_mutex_lock(&line->lock);
	line->subgroup = subgroup;
	line->said_ns = wh_dds_clock();
	pthread_mutex_unlock(&line->lock);
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

/* All that had its state have gone, and with them what there was: it begins anew. */
static enum whorl_result enter_again(struct wh_dds_line *line, int timeout_ms)
{
	whorl_subgroup *subgroup;

	pthread_mutex_lock(&line->lock);
	subgroup = line->subgroup;
	line->subgroup = NULL;
	line->rests = false;
	free_views(line);
	free_machine(line);
	pthread_mutex_unlock(&line->lock);
	(void)whorl_subgroup_release(subgroup);
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
		result = wh_dds_subgroup_ready(line->subgroup, timeout_ms);
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
			result = wh_dds_subgroup_ready(line->subgroup, wh_dds_left_ms(until, timeout_ms));
	}
	if (result == WHORL_OK)
		note_ready(line);
	return result;
}

enum whorl_result wh_dds_line_enter(struct wh_dds_line *line, int timeout_ms)
{
	enum whorl_result result = enter(line, timeout_ms);

	return result == WHORL_OK && timeout_ms > 0 ? wh_dds_line_await(line, timeout_ms) : result;
}

/* ---- resting ------------------------------------------------------------------------------------------------------------------- */

uint64_t wh_dds_line_rest(struct wh_dds_line *line, uint64_t now_ns)
{
	uint64_t rest_ms = line->node->settings.rest_ms, due = line->said_ns + rest_ms * WH_NS_PER_MS;

	if (line->control || line->rests || rest_ms == 0 || line->subgroup == NULL || line->broken ||
	    line->writers != NULL || line->asked != NULL)
		return WH_DDS_NEVER;
	if (now_ns < due)
		return due;
	line->rests = whorl_pause_sending(line->subgroup, true) == WHORL_OK;
	return WH_DDS_NEVER;
}

void wh_dds_line_wake(struct wh_dds_line *line)
{
	line->said_ns = wh_dds_clock();
	if (!line->rests || line->subgroup == NULL)
		return;
	line->rests = false;
	(void)whorl_pause_sending(line->subgroup, false); /* if it cannot, claims say why */
}

static void wake(struct wh_dds_line *line)
{
	pthread_mutex_lock(&line->lock);
	wh_dds_line_wake(line);
	pthread_mutex_unlock(&line->lock);
}

/* ---- saying and asking --------------------------------------------------------------------------------------------------------- */

/* Insets are copied: messages of this kind are short. NULL: memory is out. */
static unsigned char *flatten(const struct wh_dds_out *out, size_t *count)
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
	unsigned char *bytes = flatten(out, &count);

	while (bytes != NULL) {
		wake(line);
		result = whorl_send(line->subgroup, bytes, count,
				    wh_dds_on_loop() ? 0 : wh_dds_given_ms(wh_dds_left_ms(until_ns, 100)), index);
		if ((result != WHORL_AGAIN && result != WHORL_TIMEOUT && result != WHORL_NO_QUORUM) ||
		    wh_dds_on_loop() || wh_dds_left_ms(until_ns, 1) == 0 || wh_dds_node_closes(line->node))
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
	if (wh_load_acquire(&line->left) == 0) /* partner: end_all */
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
	if (result == WHORL_DDS_RETCODE_OK && wh_load_acquire(&line->left) != 0) /* partner: end_all */
		result = wh_dds_line_says(function, line, WHORL_CLOSED);
	else if (result == WHORL_DDS_RETCODE_OK && line->broken)
		result = wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	else if (result == WHORL_DDS_RETCODE_OK && !asked->done)
		result = wh_dds_line_says(function, line, WHORL_TIMEOUT);
	pthread_mutex_unlock(&line->lock);
	return result == WHORL_DDS_RETCODE_OK ? asked->result : result;
}
