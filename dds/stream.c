/* stream.c - subgroups that carry samples of unordered topics. What they mean is known to the machine of the line `loose`, which the control
 * channel feeds: docs/decisions/0052. See node.h.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dds/line_int.h"

#define END_NS INT64_C(1000000000) /* how long the end of a writer waits for room on its stream */

/* ---- ends ---------------------------------------------------------------------------------------------------------------------- */

void wh_dds_stream_members(struct wh_dds_line *stream, const struct wh_dds_pending_view *view)
{
	struct wh_dds_member *members = malloc((view->count + 1) * sizeof(*members));

	if (members == NULL) {
		stream->broken = true; /* ends of writers are not known any more */
		return;
	}
	memcpy(members, view->members, view->count * sizeof(*members));
	free(stream->members);
	stream->members = members;
	stream->member_count = view->count;
}

/* Nothing more comes of a process that is no member, once all was taken that had been refused. With the lock of `loose`. */
static bool is_silent(struct wh_dds_line *stream, const struct wh_dds_endpoint_id *id)
{
	struct whorl_subgroup_stats stats = {.size = sizeof(stats)};
	bool silent;

	if (wh_dds_line_is_left(stream))
		return true;
	pthread_mutex_lock(&stream->lock);
	silent = !stream->refused && wh_dds_subgroup_of(stream) != NULL &&
		 whorl_subgroup_statistics(wh_dds_subgroup_of(stream), &stats) == WHORL_OK && stats.refused_kept == 0;
	for (uint32_t i = 0; silent && i < stream->member_count; i++)
		silent = stream->members[i].node != id->node || stream->members[i].incarnation != id->incarnation;
	pthread_mutex_unlock(&stream->lock);
	return silent;
}

/* Of a writer that has ended. One that has not said so on its stream may have died, or may have had no room for it. */
static bool is_over(const struct wh_dds_endpoint *writer)
{
	for (uint32_t i = 0; i < writer->matches.count; i++) {
		const struct wh_dds_reader_entity *reader = writer->matches.all[i]->user;

		if (reader != NULL)
			return is_silent(reader->end.stream, &writer->id);
	}
	return true; /* its readers are closed, and are told nothing */
}

void wh_dds_stream_settle(struct wh_dds_line *loose)
{
	struct wh_dds_endpoint *writer;
	enum whorl_result result = WHORL_OK;
	uint32_t at = 0;

	if (loose->broken || loose->channel == NULL || wh_dds_channel_lingering(loose->channel, 0) == NULL)
		return;
	wh_dds_batch_begin(loose);
	while (!loose->broken && (writer = wh_dds_channel_lingering(loose->channel, at)) != NULL) {
		if (!is_over(writer)) {
			at++;
			continue;
		}
		result = wh_dds_channel_finish(loose->channel, writer, (int64_t)loose->now_ns);
		loose->broken = result != WHORL_OK;
		wh_dds_delivered(loose);
	}
	wh_dds_batch_end(loose);
}

uint64_t wh_dds_stream_hush(struct wh_dds_line *loose, uint64_t now_ns)
{
	int64_t next_ns;

	if (loose->broken || loose->channel == NULL)
		return WH_DDS_NEVER;
	next_ns = wh_dds_channel_hushes(loose->channel);
	if (next_ns <= (int64_t)now_ns) {
		wh_dds_batch_begin(loose);
		next_ns = wh_dds_channel_hush(loose->channel, (int64_t)now_ns);
		wh_dds_delivered(loose);
		wh_dds_batch_end(loose);
	}
	return next_ns != WHORL_DDS_INFINITY ? (uint64_t)next_ns : WH_DDS_NEVER;
}

static void put_end(struct wh_dds_out *out, enum wh_dds_kind kind, uint32_t number)
{
	struct wh_dds_message message;

	memset(&message, 0, sizeof(message));
	message.kind = WH_DDS_SAY_END;
	message.what = kind;
	message.number = number;
	wh_dds_put_message(out, &message);
}

/* If there is no memory the end is said by the view without this process. */
static void put_off(struct wh_dds_line *stream, uint32_t writer)
{
	uint32_t *ends;

	wh_dds_line_lock(stream);
	ends = wh_dds_list_room(stream->ends, stream->end_count, &stream->end_room, sizeof(*ends));
	if (ends != NULL) {
		stream->ends = ends;
		ends[stream->end_count++] = writer;
	}
	wh_dds_line_unlock(stream);
	wh_dds_work_due(stream->node, wh_dds_clock());
}

void wh_dds_stream_end(const char *function, struct wh_dds_line *stream, uint32_t writer)
{
	struct wh_dds_out out = {.bytes = NULL};

	put_end(&out, WH_DDS_WRITER, writer);
	if (wh_dds_line_send(function, stream, &out, wh_dds_until(END_NS), NULL) != WHORL_DDS_RETCODE_OK &&
	    !wh_dds_line_is_left(stream))
		put_off(stream, writer);
}

/* The next endpoint here of a stream that was left, of which the end was not said. With the lock of `loose`. */
static struct wh_dds_endpoint_entity *next_to_part(const struct wh_dds_line *stream)
{
	const struct wh_dds_line *loose = stream->node->loose;

	for (struct wh_dds_reader_entity *it = loose->readers; it != NULL; it = it->next_reader)
		if (it->end.stream == stream && !it->end.parted)
			return &it->end;
	for (struct wh_dds_writer_entity *it = loose->writers; it != NULL; it = it->next_writer)
		if (it->end.stream == stream && !it->end.parted)
			return &it->end;
	return NULL;
}

/* The line of that name that was not left; NULL: there is none. */
static struct wh_dds_line *entered_again(const struct wh_dds_line *stream)
{
	struct wh_dds_line *line;

	pthread_mutex_lock(&stream->node->lock);
	line = wh_dds_node_find_line(stream->node, stream->name);
	pthread_mutex_unlock(&stream->node->lock);
	return line;
}

/* Of what this process had on a stream that it has left, others hear in the control channel; and on the stream, if it is there again, since then
 * they do not know of its writers that nothing more comes. */
static void say_parted(struct wh_dds_line *stream)
{
	struct wh_dds_line *loose = stream->node->loose, *again = entered_again(stream);
	struct wh_dds_endpoint_entity *end;
	struct wh_dds_out out;

	wh_dds_line_lock(stream);
	while ((end = next_to_part(stream)) != NULL) {
		out = (struct wh_dds_out){.bytes = NULL};
		put_end(&out, end->base.entity.kind, end->base.number);
		if (wh_dds_line_send(__func__, loose, &out, 0, NULL) != WHORL_DDS_RETCODE_OK)
			break; /* soon */
		end->parted = true;
		if (again != NULL && end->base.entity.kind == WH_DDS_WRITER)
			put_off(again, end->base.number);
	}
	wh_dds_line_unlock(stream);
}

void wh_dds_stream_work(struct wh_dds_line *stream)
{
	struct wh_dds_out out;

	if (wh_dds_line_is_left(stream)) {
		say_parted(stream);
		return;
	}
	wh_dds_line_lock(stream);
	while (stream->end_count > 0) {
		out = (struct wh_dds_out){.bytes = NULL};
		put_end(&out, WH_DDS_WRITER, stream->ends[stream->end_count - 1]);
		if (wh_dds_line_send(__func__, stream, &out, 0, NULL) != WHORL_DDS_RETCODE_OK)
			break; /* soon */
		stream->end_count--;
	}
	wh_dds_line_unlock(stream);
}

/* ---- what is heard ------------------------------------------------------------------------------------------------------------- */

/* Of a stream. False: it is refused. With the lock of `loose`. */
static bool hear_message(struct wh_dds_line *stream, const struct whorl_message *message)
{
	const struct wh_dds_from from = {message->sender, message->incarnation, {0, 0}};
	struct wh_dds_line *loose = stream->node->loose;
	enum whorl_result result = WHORL_MEMORY;
	const void *bytes = wh_dds_line_whole(stream, message);

	if (bytes == NULL || loose->broken || !wh_dds_line_machine(loose)) {
		loose->broken = true;
		return true;
	}
	if (wh_dds_must_wait(loose, &from, bytes, message->bytes))
		return false;
	result = wh_dds_channel_hear(loose->channel, &from, bytes, message->bytes, (int64_t)loose->now_ns);
	loose->broken = result != WHORL_OK;
	wh_dds_delivered(loose);
	return true;
}

size_t wh_dds_stream_offer(const struct whorl_message *messages, size_t count, void *ctx)
{
	struct wh_dds_line *stream = ctx, *loose = stream->node->loose;
	size_t taken = 0;

	pthread_mutex_lock(&loose->lock);
	wh_dds_batch_begin(loose);
	while (taken < count && hear_message(stream, WHORL_AT(whorl_message, messages, taken)))
		taken++;
	wh_dds_batch_end(loose);
	pthread_mutex_lock(&stream->lock);
	stream->refused = taken < count;
	pthread_mutex_unlock(&stream->lock);
	wh_dds_stream_settle(loose);
	wh_dds_line_due(stream);
	pthread_mutex_unlock(&loose->lock);
	return taken;
}

/* A reader was too slow: all readers of the stream hear nothing any more, and others are told (say_parted). With the lock of `loose`. */
void wh_dds_stream_leave(struct wh_dds_line *stream)
{
	struct wh_dds_line *loose = stream->node->loose;
	enum whorl_result result = WHORL_OK;

	wh_store_release(&stream->left, 1); /* partner: wh_dds_line_is_left */
	wh_dds_batch_begin(loose);
	for (struct wh_dds_reader_entity *it = loose->readers; it != NULL && result == WHORL_OK; it = it->next_reader) {
		struct wh_dds_endpoint *reader = it->end.stream == stream ? wh_dds_machine_of(&it->end) : NULL;

		if (reader != NULL)
			result = wh_dds_channel_part(loose->channel, reader);
		wh_dds_delivered(loose);
	}
	loose->broken = loose->broken || result != WHORL_OK;
	wh_dds_batch_end(loose);
	wh_dds_stream_settle(loose);
	wh_dds_work_due(loose->node, wh_dds_clock());
}
