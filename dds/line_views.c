/* line_views.c - views come to a machine in one order with messages. See node.h.
 *
 * A view upcall comes when it begins, but messages of views before may come behind that: what was refused, and what a newcomer kept back until
 * it had its state. So a view waits in a list until a message of it comes, or until it is known that none of an earlier one will. The state
 * that is given to a newcomer has the views that wait, too.
 *
 * A log that is read again has the views of then, with their senders: in a durable channel these are all its members, as none rests there.
 */
#include <stdlib.h>
#include <string.h>

#include "dds/line_int.h"

void wh_dds_line_free_views(struct wh_dds_line *line)
{
	for (struct wh_dds_pending_view *next; line->views != NULL; line->views = next) {
		next = line->views->next;
		free(line->views);
	}
}

/* By number; one that waits already is passed over. */
void wh_dds_line_hang_view(struct wh_dds_line *line, struct wh_dds_pending_view *view)
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

static void apply_view(struct wh_dds_line *line, const struct wh_dds_pending_view *view)
{
	enum whorl_result result = WHORL_MEMORY;

	if (!line->broken && wh_dds_line_machine(line))
		result = line->control ? wh_dds_registry_view(line->registry, view->number, view->members, view->count)
				       : wh_dds_channel_view(line->channel, view->number, view->members, view->count);
	line->broken = line->broken || result != WHORL_OK;
	wh_dds_delivered(line);
}

void wh_dds_line_apply_views(struct wh_dds_line *line, uint64_t up_to)
{
	struct wh_dds_line *loose = line->node->loose;

	if (line->views == NULL || line->views->number > up_to)
		return;
	line->room = 0;
	while (line->views != NULL && line->views->number <= up_to) {
		struct wh_dds_pending_view *view = line->views;

		line->views = view->next;
		apply_view(line, view);
		if (line->control) {
			pthread_mutex_unlock(&line->lock); /* a listener in place may want that of another line */
			wh_dds_batch_begin(loose);
			apply_view(loose, view);
			wh_dds_batch_end(loose);
			wh_dds_stream_settle(loose);
			pthread_mutex_lock(&line->lock);
		}
		free(view);
	}
}

/* Nothing of an earlier view is to come any more. */
static bool is_clear(const struct wh_dds_line *line)
{
	struct whorl_subgroup_stats stats = {.size = sizeof(stats)};

	return line->ready && !line->refused && wh_dds_subgroup_of(line) != NULL &&
	       whorl_subgroup_statistics(wh_dds_subgroup_of(line), &stats) == WHORL_OK && stats.refused_kept == 0 &&
	       wh_dds_subgroup_ready(wh_dds_subgroup_of(line), 0) == WHORL_OK;
}

void wh_dds_line_settle(struct wh_dds_line *line)
{
	if (line == line->node->loose)
		wh_dds_stream_settle(line); /* it has no views of its own */
	if (line->views == NULL || !is_clear(line))
		return;
	wh_dds_batch_begin(line);
	wh_dds_line_apply_views(line, UINT64_MAX);
	wh_dds_batch_end(line);
}

void wh_dds_line_note_ready(struct wh_dds_line *line)
{
	wh_dds_line_lock(line);
	line->ready = true;
	if (line->control)
		line->node->loose->ready = true;
	wh_dds_line_settle(line);
	if (line->shape.durable)
		wh_dds_builtin_list(line);
	wh_dds_line_unlock(line);
	wh_dds_work_due(line->node, 0); /* its times are looked at from now on */
}

/* When the thread has to look, after what has come. A view that waits is looked at soon. */
void wh_dds_line_due(struct wh_dds_line *line)
{
	const struct wh_dds_channel *channel =
		line->control || line->stream ? line->node->loose->channel : line->channel;
	int64_t next_ns = channel != NULL ? wh_dds_channel_next(channel) : WHORL_DDS_INFINITY;
	int64_t hush_ns = channel != NULL ? wh_dds_channel_hushes(channel) : WHORL_DDS_INFINITY;

	if (line->views != NULL || (channel != NULL && wh_dds_channel_lingering(channel, 0) != NULL))
		wh_dds_work_due(line->node, wh_dds_clock());
	next_ns = hush_ns < next_ns ? hush_ns : next_ns;
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

/* NULL: memory is out. */
static struct wh_dds_pending_view *make_view(const struct whorl_view *view, const uint32_t *ids, uint32_t count)
{
	struct wh_dds_pending_view *pending = malloc(sizeof(*pending) + count * sizeof(pending->members[0]));

	if (pending == NULL)
		return NULL;
	pending->number = view->number;
	pending->count = count;
	for (uint32_t i = 0; i < count; i++)
		pending->members[i] =
			(struct wh_dds_member){.node = ids[i], .incarnation = incarnation_of(view, ids[i])};
	return pending;
}

void wh_dds_line_past_view(const struct whorl_view *view, void *ctx)
{
	struct wh_dds_line *line = ctx;
	struct wh_dds_pending_view *pending;

	wh_dds_line_lock(line);
	pending = make_view(view, view->members, view->member_count);
	if (pending != NULL)
		wh_dds_line_hang_view(line, pending);
	else
		line->broken = true;
	wh_dds_line_unlock(line);
}

static bool is_of(const struct wh_dds_pending_view *view, uint32_t id)
{
	for (uint32_t i = 0; i < view->count; i++)
		if (view->members[i].node == id)
			return true;
	return false;
}

void wh_dds_line_view(struct wh_dds_line *line, const struct whorl_view *view)
{
	uint32_t ids[WH_DDS_MEMBERS_MAX], count = WH_DDS_MEMBERS_MAX;
	struct wh_dds_pending_view *pending;

	if (line == line->node->loose || /* it has those of the control channel */
	    whorl_shard_members(line->node->whorl, line->name, 0, ids, &count) != WHORL_OK)
		return;
	wh_dds_line_lock(line);
	pending = make_view(view, ids, count);
	if (pending == NULL) {
		line->broken = true;
	} else if (line->stream) {
		wh_dds_stream_members(line, pending);
		free(pending);
		pthread_mutex_unlock(&line->lock); /* as in wh_dds_line_apply_views */
		wh_dds_stream_settle(line->node->loose);
		pthread_mutex_lock(&line->lock);
	} else if (is_of(pending, line->node->id)) {
		wh_dds_line_hang_view(line, pending);
	} else {
		free(pending);
	}
	wh_dds_line_settle(line);
	wh_dds_line_due(line);
	wh_dds_line_unlock(line);
}
