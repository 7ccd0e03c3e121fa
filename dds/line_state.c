/* line_state.c - the state of a line, as a newcomer is given it. See node.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/line_int.h"

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

/* How long that of the registry is stands before it; that of the endpoints of unordered topics is behind it. */
static void put_control(struct wh_dds_out *out, struct wh_dds_line *control)
{
	struct wh_dds_line *loose = control->node->loose;
	struct wh_dds_out registry = {.bytes = NULL};
	size_t count = 0;
	unsigned char *bytes;

	wh_dds_registry_save(control->registry, &registry);
	bytes = wh_dds_flatten(&registry, &count);
	wh_dds_out_free(&registry);
	if (bytes == NULL || loose->broken || !wh_dds_line_machine(loose)) {
		out->failed = true;
	} else {
		wh_dds_put_number(out, count, 8);
		wh_dds_put(out, bytes, count);
		wh_dds_channel_save(loose->channel, out);
	}
	free(bytes);
}

static void *fix(const struct whorl_position *position, void *ctx)
{
	struct wh_dds_line *line = ctx;
	struct snapshot *snapshot = calloc(1, sizeof(*snapshot));

	(void)position;
	if (snapshot == NULL)
		return NULL;
	wh_dds_line_lock(line);
	put_views(&snapshot->out, line);
	if (line->broken || !wh_dds_line_machine(line))
		snapshot->out.failed = true;
	else if (line->control)
		put_control(&snapshot->out, line);
	else
		wh_dds_channel_save(line->channel, &snapshot->out);
	wh_dds_line_unlock(line);
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
		wh_dds_line_hang_view(line, view);
	}
	return in->ok;
}

static enum whorl_result restore_control(struct wh_dds_line *control, struct wh_dds_in *in)
{
	struct wh_dds_line *loose = control->node->loose;
	size_t count = (size_t)wh_dds_take_within(in, 8, 0, in->left);
	const unsigned char *bytes = wh_dds_take_bytes(in, count);
	enum whorl_result result;

	if (bytes == NULL)
		return WHORL_INVALID;
	wh_dds_line_free_machine(loose);
	if (!wh_dds_line_machine(loose))
		return WHORL_MEMORY;
	result = wh_dds_registry_restore(control->registry, bytes, count);
	return result == WHORL_OK ? wh_dds_channel_restore(loose->channel, in->at, in->left, (int64_t)wh_dds_clock())
				  : result;
}

static bool restore_all(struct wh_dds_line *line)
{
	struct wh_dds_in in = {.at = line->restored, .left = line->restored_count, .ok = true};
	enum whorl_result result;

	wh_dds_line_free_machine(line);
	if (!wh_dds_line_machine(line))
		return false;
	if (line->restored_count == 0)
		return true;
	if (!take_views(line, &in))
		return false;
	result = line->control ? restore_control(line, &in)
			       : wh_dds_channel_restore(line->channel, in.at, in.left, (int64_t)wh_dds_clock());
	if (result == WHORL_OK)
		wh_dds_builtin_list(line->control ? line->node->loose : line);
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

	wh_dds_line_lock(line);
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
	wh_dds_line_unlock(line);
	return ok;
}

struct whorl_state wh_dds_line_state(struct wh_dds_line *line)
{
	return (struct whorl_state){.size = sizeof(struct whorl_state),
				    .snapshot = fix,
				    .read = read_state,
				    .release = release,
				    .restore = restore,
				    .ctx = line};
}
