/* heard.c - samples of unordered topics, which each member hears for itself, and writers that have ended before all of theirs was heard. See
 * channel.h, and docs/decisions/0052, "Unordered topics".
 *
 * Endpoints are ordered messages here, too, and alike at all members. What samples make of them is not: instances, claims and numbers are this
 * member's, and in no state. The two ways have no order, so a sample may come before its writer is known: it waits as a *stray*. And a writer may
 * end before its last sample: it *lingers*, for the local readers that match it, until its end has come behind its samples, too.
 */
#include "dds/channel/channel_int.h"

#include <stdlib.h>
#include <string.h>

struct wh_dds_stray { /* a message of a writer that is not known yet */
	struct wh_dds_stray *next;
	struct wh_dds_from from;
	uint32_t number; /* of the writer */
	uint32_t count;
	unsigned char bytes[];
};

/* ---- writers --------------------------------------------------------------------------------------------------------------- */

struct wh_dds_endpoint *wh_dds_writer_of(const struct wh_dds_channel *channel, const struct wh_dds_endpoint_id *id)
{
	struct wh_dds_endpoint *writer = wh_dds_channel_find(channel, WH_DDS_WRITER, id);

	if (writer == NULL && channel->config.unordered)
		writer = wh_dds_endpoint_find(channel, WH_DDS_WRITER, id, true);
	return writer;
}

static bool has_local_reader(const struct wh_dds_endpoint *writer)
{
	for (uint32_t i = 0; i < writer->matches.count; i++)
		if (writer->matches.all[i]->local)
			return true;
	return false;
}

bool wh_dds_lingers(const struct wh_dds_channel *channel, const struct wh_dds_endpoint *endpoint)
{
	return channel->config.unordered && endpoint->kind == WH_DDS_WRITER && !endpoint->heard_out &&
	       has_local_reader(endpoint);
}

/* For all others it has ended. */
bool wh_dds_linger(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer, bool died)
{
	if (!wh_dds_endpoints_add(&channel->ended, writer))
		return false; /* it goes with those that have not ended */
	for (uint32_t i = 0; i < writer->matches.count;)
		if (writer->matches.all[i]->local)
			i++;
		else
			wh_dds_unmatch(channel, writer, writer->matches.all[i], WHORL_DDS_RETCODE_ALREADY_DELETED);
	channel->dead -= !writer->alive;
	wh_dds_endpoints_remove(&channel->endpoints, writer);
	wh_dds_endpoints_remove(&writer->topic->writers, writer);
	writer->ended = true;
	writer->died = died;
	writer->user = NULL; /* its entity goes */
	return true;
}

/* What comes of it yet waits for no announcement. Of very many the first are forgotten: then it waits, and is dropped later. */
void wh_dds_writer_gone(struct wh_dds_channel *channel, const struct wh_dds_endpoint *writer)
{
	if (channel->config.unordered && !writer->heard_out)
		channel->gone[channel->gone_count++ % WH_DDS_GONE_MAX] = writer->id;
}

static bool is_gone(const struct wh_dds_channel *channel, const struct wh_dds_endpoint_id *id)
{
	for (uint64_t i = 0; i < channel->gone_count && i < WH_DDS_GONE_MAX; i++)
		if (wh_dds_id_compare(&channel->gone[i], id) == 0)
			return true;
	return false;
}

static bool finish(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	struct wh_dds_topic *topic = writer->topic;

	wh_dds_writer_gone(channel, writer);
	if (!wh_dds_end_claims(channel, writer, writer->died))
		return false;
	while (writer->matches.count > 0)
		wh_dds_unmatch(channel, writer, writer->matches.all[0], WHORL_DDS_RETCODE_ALREADY_DELETED);
	wh_dds_endpoints_remove(&channel->ended, writer);
	wh_dds_index_remove(&channel->endpoint_index, &writer->link);
	channel->recent = NULL; /* it may be this one */
	wh_dds_endpoint_free(writer);
	wh_dds_topic_settle(channel, topic);
	return true;
}

bool wh_dds_linger_no_more(struct wh_dds_channel *channel)
{
	for (uint32_t i = 0; channel->config.unordered && i < channel->ended.count;)
		if (channel->ended.all[i]->matches.count > 0)
			i++;
		else if (!finish(channel, channel->ended.all[i]))
			return false;
	return true;
}

struct wh_dds_endpoint *wh_dds_channel_lingering(const struct wh_dds_channel *channel, uint32_t at)
{
	return channel->config.unordered && at < channel->ended.count ? channel->ended.all[at] : NULL;
}

enum whorl_result wh_dds_channel_finish(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer, int64_t now_ns)
{
	channel->now_ns = now_ns;
	return finish(channel, writer) ? WHORL_OK : WHORL_MEMORY;
}

enum whorl_result wh_dds_channel_part(struct wh_dds_channel *channel, struct wh_dds_endpoint *reader)
{
	while (reader->matches.count > 0)
		wh_dds_unmatch(channel, reader, reader->matches.all[0], WHORL_DDS_RETCODE_OK);
	return wh_dds_linger_no_more(channel) ? WHORL_OK : WHORL_MEMORY;
}

/* ---- strays ---------------------------------------------------------------------------------------------------------------- */

static void unlink_first(struct wh_dds_channel *channel)
{
	struct wh_dds_stray *stray = channel->strays;

	channel->strays = stray->next;
	channel->counts.strays--;
	channel->stray_bytes -= stray->count;
	free(stray);
}

void wh_dds_strays_free(struct wh_dds_channel *channel)
{
	while (channel->strays != NULL)
		unlink_first(channel);
}

/* The oldest ones make room: what never gets a writer would keep out all others for ever. */
static bool keep_stray(struct wh_dds_channel *channel, const struct wh_dds_from *from, uint32_t number,
		       const void *bytes, size_t count)
{
	struct wh_dds_stray *stray, **end = &channel->strays;

	if (count > WH_DDS_STRAY_BYTES_MAX) {
		channel->counts.unheard++;
		return true;
	}
	stray = malloc(sizeof(*stray) + count);
	if (stray == NULL)
		return false;
	*stray = (struct wh_dds_stray){.from = *from, .number = number, .count = (uint32_t)count};
	memcpy(stray->bytes, bytes, count);
	while (*end != NULL)
		end = &(*end)->next;
	*end = stray;
	channel->counts.strays++;
	channel->stray_bytes += count;
	for (; channel->counts.strays > WH_DDS_STRAYS_MAX || channel->stray_bytes > WH_DDS_STRAY_BYTES_MAX;
	     channel->counts.unheard++)
		unlink_first(channel);
	return true;
}

/* Off the list; of a writer, or (number 0) of all of a member. NULL: there is none. */
static struct wh_dds_stray *take_stray(struct wh_dds_channel *channel, const struct wh_dds_endpoint_id *id)
{
	struct wh_dds_stray **at = &channel->strays, *stray;

	while (*at != NULL && (!wh_dds_is_member(id, (*at)->from.node, (*at)->from.incarnation) ||
			       (id->number != 0 && (*at)->number != id->number)))
		at = &(*at)->next;
	stray = *at;
	if (stray == NULL)
		return NULL;
	*at = stray->next;
	channel->counts.strays--;
	channel->stray_bytes -= stray->count;
	return stray;
}

void wh_dds_strays_forget(struct wh_dds_channel *channel, uint32_t node, uint64_t incarnation)
{
	const struct wh_dds_endpoint_id id = {incarnation, node, 0};
	struct wh_dds_stray *stray;

	while ((stray = take_stray(channel, &id)) != NULL) {
		channel->counts.unheard++;
		free(stray);
	}
}

/* ---- silence --------------------------------------------------------------------------------------------------------------- */

#define SAID_NS INT64_C(1000000000) /* what says that it is alive has come by then */

static int64_t hushes_at(const struct wh_dds_endpoint *writer)
{
	int64_t lasts_ns = writer->policies.liveliness.lease_ns;

	lasts_ns = lasts_ns > SAID_NS ? lasts_ns : SAID_NS;
	return writer->heard_ns < WHORL_DDS_INFINITY - lasts_ns ? writer->heard_ns + lasts_ns : WHORL_DDS_INFINITY;
}

int64_t wh_dds_channel_hushes(const struct wh_dds_channel *channel)
{
	return channel->hush_ns;
}

/* One that lingers leaves its instances at its end. */
int64_t wh_dds_channel_hush(struct wh_dds_channel *channel, int64_t now_ns)
{
	if (now_ns < channel->hush_ns)
		return channel->hush_ns;
	channel->now_ns = now_ns;
	channel->hush_ns = WHORL_DDS_INFINITY;
	for (uint32_t i = 0; i < channel->endpoints.count; i++) {
		struct wh_dds_endpoint *it = channel->endpoints.all[i];

		if (it->kind != WH_DDS_WRITER || it->alive || it->claims == NULL)
			continue;
		if (hushes_at(it) <= now_ns)
			wh_dds_drop_claims(channel, it);
		else if (hushes_at(it) < channel->hush_ns)
			channel->hush_ns = hushes_at(it);
	}
	return channel->hush_ns;
}

/* ---- hearing --------------------------------------------------------------------------------------------------------------- */

/* Counts that all have in common do not see it. */
static bool take_effect(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer, struct wh_dds_sample *sample)
{
	uint64_t voids = channel->counts.voids;
	bool ok;

	writer->samples++;
	writer->heard_ns = channel->now_ns;
	if (!writer->alive && hushes_at(writer) < channel->hush_ns)
		channel->hush_ns = hushes_at(writer);
	ok = wh_dds_take_effect(channel, writer, sample);
	channel->counts.unheard += channel->counts.voids - voids;
	channel->counts.voids = voids;
	return ok;
}

/* All of it was heard, and it leaves its instances here, in its own order. That it matches nothing any more is said in the order of endpoints. */
static bool hear_end(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	writer->heard_out = true;
	return wh_dds_end_claims(channel, writer, false) && (!writer->ended || finish(channel, writer));
}

static bool hear(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer, const struct wh_dds_from *from,
		 const void *bytes, size_t count)
{
	struct wh_dds_sample sample;
	struct wh_dds_said said;

	if (writer->heard_out) {
		channel->counts.unheard++;
		return true;
	}
	if (!wh_dds_take_sample(&said, bytes, count))
		return hear_end(channel, writer);
	if (!wh_dds_read_sample(writer, from, &said, &sample)) {
		channel->counts.unheard++;
		return true;
	}
	return take_effect(channel, writer, &sample);
}

/* Of the writer that a message is of; 0: it is neither a sample nor the end of one. */
static enum whorl_result number_of(const void *bytes, size_t count, uint32_t *number)
{
	struct wh_dds_message message;
	struct wh_dds_said said;
	enum whorl_result result;

	*number = 0;
	if (wh_dds_take_sample(&said, bytes, count)) {
		*number = said.number;
		return WHORL_OK;
	}
	result = wh_dds_take_message(&message, bytes, count);
	if (result != WHORL_OK)
		return result == WHORL_INVALID ? WHORL_OK : result;
	if (message.kind == WH_DDS_SAY_END && message.what == WH_DDS_WRITER)
		*number = message.number;
	wh_dds_message_free(&message);
	return WHORL_OK;
}

enum whorl_result wh_dds_channel_hear(struct wh_dds_channel *channel, const struct wh_dds_from *sender,
				      const void *bytes, size_t count, int64_t now_ns)
{
	const struct wh_dds_from from = {sender->node, sender->incarnation, {0, 0}};
	struct wh_dds_endpoint_id id = {from.incarnation, from.node, 0};
	struct wh_dds_endpoint *writer;
	enum whorl_result result = number_of(bytes, count, &id.number);

	if (result != WHORL_OK)
		return result;
	channel->now_ns = now_ns;
	if (id.number == 0) {
		channel->counts.unheard++;
		return WHORL_OK;
	}
	writer = wh_dds_writer_of(channel, &id);
	if (writer == NULL && is_gone(channel, &id))
		return WHORL_OK;
	if (writer == NULL)
		return keep_stray(channel, &from, id.number, bytes, count) ? WHORL_OK : WHORL_MEMORY;
	return hear(channel, writer, &from, bytes, count) ? WHORL_OK : WHORL_MEMORY;
}

bool wh_dds_hear_strays(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	struct wh_dds_stray *stray;
	bool ok = true;

	while (ok && (stray = take_stray(channel, &writer->id)) != NULL) {
		ok = hear(channel, writer, &stray->from, stray->bytes, stray->count);
		free(stray);
	}
	return ok;
}
