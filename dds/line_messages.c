/* line_messages.c - messages of a line, as they are offered: taken, or refused for now. See node.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/line_int.h"

#define AHEAD                                                                                                          \
	4 /* messages of a batch are looked at so far ahead: of a long one the first are cold when all are there */
#define AHEAD_BYTES 192 /* of each */

/* In one piece. NULL: memory is out. */
const void *wh_dds_line_whole(struct wh_dds_line *line, const struct whorl_message *message)
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

/* What the control channel has for unordered topics. */
static bool is_of_endpoints(const unsigned char *bytes, size_t count)
{
	return count > 0 && bytes[0] < WH_DDS_SAY_PARTICIPANT - 1;
}

static void apply_loose(struct wh_dds_line *loose, const struct wh_dds_from *from, const void *bytes, size_t count)
{
	enum whorl_result result = WHORL_MEMORY;

	wh_dds_batch_begin(loose);
	if (!loose->broken && wh_dds_line_machine(loose))
		result = wh_dds_channel_apply(loose->channel, from, bytes, count, (int64_t)loose->now_ns);
	loose->broken = loose->broken || result != WHORL_OK;
	wh_dds_delivered(loose);
	wh_dds_batch_end(loose);
	wh_dds_stream_settle(loose);
}

/* False: it is refused. */
static bool take_message(struct wh_dds_line *line, const struct whorl_message *message)
{
	const struct wh_dds_from from = {message->sender, message->incarnation, {message->view, message->sequence}};
	enum whorl_result result = WHORL_MEMORY;
	const void *bytes;

	wh_dds_line_apply_views(line, message->view);
	bytes = wh_dds_line_whole(line, message);
	if (bytes == NULL || line->broken || !wh_dds_line_machine(line)) {
		line->broken = true; /* it can no longer go with the others */
		return true;
	}
	if (line->control && is_of_endpoints(bytes, message->bytes)) {
		pthread_mutex_unlock(&line->lock); /* as in wh_dds_line_apply_views */
		apply_loose(line->node->loose, &from, bytes, message->bytes);
		pthread_mutex_lock(&line->lock);
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

size_t wh_dds_line_offer(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct wh_dds_line *line = ctx;
	size_t taken = 0;

	wh_dds_line_lock(line);
	if (wh_dds_subgroup_of(line) == NULL) /* it is being entered */
		wh_dds_subgroup_is(line, WHORL_AT(whorl_message, messages, 0)->subgroup);
	wh_dds_batch_begin(line);
	for (bool goes_on = true; goes_on && taken < count; taken += goes_on) {
		if (taken + AHEAD < count)
			wh_dds_prefetch(WHORL_AT(whorl_message, messages, taken + AHEAD)->data, AHEAD_BYTES);
		goes_on = take_message(line, WHORL_AT(whorl_message, messages, taken));
	}
	wh_dds_batch_end(line);
	line->refused = taken < count;
	line->came_count += line->ready ? 0 : taken; /* a log that is read again may be long */
	wh_dds_line_due(line);
	wh_dds_line_unlock(line);
	return taken;
}

/* This process is no member any more: first all others end for its readers, then its own. What comes until the view without it is passed over.
 * With the lock. */
static void end_all(struct wh_dds_line *line)
{
	const struct wh_dds_member self = {
		.node = line->node->id,
		.incarnation = wh_load_acquire(&line->node->incarnation)}; /* partner: the node's first view */
	enum whorl_result result = WHORL_MEMORY;

	wh_store_release(&line->left, 1); /* partner: wh_dds_line_is_left */
	wh_dds_line_free_views(line);
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
bool wh_dds_line_refused(whorl_subgroup *subgroup, uint64_t refused_ms, void *ctx)
{
	struct wh_dds_line *line = ctx, *of = line->stream ? line->node->loose : line;
	bool leaves = line->node->settings.slow == WH_DDS_SLOW_LEAVE;

	(void)refused_ms;
	pthread_mutex_lock(&of->lock);
	if (!leaves)
		wh_dds_hurry(of, line);
	else if (line->stream)
		wh_dds_stream_leave(line);
	else
		end_all(line);
	if (leaves)
		(void)whorl_subgroup_leave(subgroup, 0); /* with the lock: partner: await_leaving */
	pthread_mutex_unlock(&of->lock);
	(void)whorl_offer_again(subgroup);
	return true;
}
