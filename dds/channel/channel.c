/* channel.c - what comes into a channel's machine: views, and messages in their order. See channel.h. */
#include "dds/channel/channel_int.h"

#include <stdlib.h>
#include <string.h>

struct wh_dds_channel *wh_dds_channel_new(const struct wh_dds_channel_config *config)
{
	struct wh_dds_channel *channel = calloc(1, sizeof(*channel));

	if (channel == NULL)
		return NULL;
	channel->config = *config;
	channel->hush_ns = WHORL_DDS_INFINITY;
	if (config->unordered)
		channel->gone = calloc(WH_DDS_GONE_MAX, sizeof(*channel->gone));
	if (!config->unordered || channel->gone != NULL)
		return channel;
	free(channel);
	return NULL;
}

static void free_topic(struct wh_dds_topic *topic)
{
	for (struct wh_dds_entry *entry = topic->entries, *next; entry != NULL; entry = next) {
		next = entry->next;
		wh_dds_block_drop(entry->sample.block);
		free(entry);
	}
	for (struct wh_dds_instance *instance = topic->instances, *next; instance != NULL; instance = next) {
		next = instance->next;
		for (struct wh_dds_claim *claim = instance->claims, *behind; claim != NULL; claim = behind) {
			behind = claim->next;
			free(claim);
		}
		free(instance);
	}
	free(topic->readers.all);
	free(topic->writers.all);
	free(topic->name);
	free(topic);
}

static void free_endpoints(struct wh_dds_endpoints *list)
{
	for (uint32_t i = 0; i < list->count; i++)
		wh_dds_endpoint_free(list->all[i]);
	free(list->all);
}

void wh_dds_channel_free(struct wh_dds_channel *channel)
{
	if (channel == NULL)
		return;
	for (struct wh_dds_topic *topic = channel->topics, *next; topic != NULL; topic = next) {
		next = topic->next;
		free_topic(topic);
	}
	for (struct wh_dds_set *set = channel->sets, *next; set != NULL; set = next) {
		next = set->next;
		wh_dds_set_free(set);
	}
	free_endpoints(&channel->endpoints);
	free_endpoints(&channel->ended);
	wh_dds_strays_free(channel);
	free(channel->gone);
	wh_dds_index_free(&channel->endpoint_index);
	wh_dds_index_free(&channel->instance_index);
	free(channel->members);
	free(channel);
}

void wh_dds_tell_event(const struct wh_dds_channel *channel, const struct wh_dds_event *event)
{
	if (channel->config.tell != NULL)
		channel->config.tell(channel->config.ctx, event);
}

bool wh_dds_is_member(const struct wh_dds_endpoint_id *id, uint32_t node, uint64_t incarnation)
{
	return id->node == node && id->incarnation == incarnation;
}

int wh_dds_id_compare(const struct wh_dds_endpoint_id *one, const struct wh_dds_endpoint_id *other)
{
	if (one->node != other->node)
		return one->node < other->node ? -1 : 1;
	if (one->incarnation != other->incarnation)
		return one->incarnation < other->incarnation ? -1 : 1;
	return one->number == other->number ? 0 : one->number < other->number ? -1 : 1;
}

struct wh_dds_member *wh_dds_members_find(struct wh_dds_member *members, uint32_t count, uint32_t node,
					  uint64_t incarnation)
{
	for (uint32_t i = 0; i < count; i++)
		if (members[i].node == node && members[i].incarnation == incarnation)
			return &members[i];
	return NULL;
}

struct wh_dds_member *wh_dds_member_find(const struct wh_dds_channel *channel, uint32_t node, uint64_t incarnation)
{
	return wh_dds_members_find(channel->members, channel->member_count, node, incarnation);
}

struct wh_dds_topic *wh_dds_topic_find(const struct wh_dds_channel *channel, uint64_t id)
{
	struct wh_dds_topic *topic = channel->topics;

	while (topic != NULL && topic->id < id)
		topic = topic->next;
	return topic != NULL && topic->id == id ? topic : NULL;
}

void wh_dds_topic_settle(struct wh_dds_channel *channel, struct wh_dds_topic *topic)
{
	struct wh_dds_topic **at = &channel->topics;

	if (topic->readers.count > 0 || topic->writers.count > 0 || topic->entries != NULL)
		return;
	while (*at != topic)
		at = &(*at)->next;
	*at = topic->next;
	free_topic(topic);
}

/* ---- views ---------------------------------------------------------------------------------------------------------------- */

/* In the order in which they were announced. */
static bool end_member(struct wh_dds_channel *channel, const struct wh_dds_member *member)
{
	wh_dds_set_forget_member(channel, member->node, member->incarnation);
	wh_dds_strays_forget(channel, member->node, member->incarnation);
	for (uint32_t i = 0; i < channel->endpoints.count;) {
		struct wh_dds_endpoint *endpoint = channel->endpoints.all[i];

		if (!wh_dds_is_member(&endpoint->id, member->node, member->incarnation))
			i++;
		else if (!wh_dds_endpoint_end(channel, endpoint, true))
			return false;
	}
	return true;
}

enum whorl_result wh_dds_channel_view(struct wh_dds_channel *channel, uint64_t number,
				      const struct wh_dds_member *members, uint32_t count)
{
	struct wh_dds_member *next;

	if (channel->began && number <= channel->view)
		return WHORL_OK;
	next = calloc(count > 0 ? count : 1, sizeof(*next));
	if (next == NULL)
		return WHORL_MEMORY;
	channel->began = true;
	channel->view = number;
	channel->next_sequence = 0;
	if (!channel->config.unordered) /* there its samples have none */
		channel->place = (struct wh_dds_place){number, 0};
	channel->look_ns = INT64_MIN; /* it may be the lowest now */
	for (uint32_t i = 0; i < count; i++) {
		struct wh_dds_member *was = wh_dds_member_find(channel, members[i].node, members[i].incarnation);

		next[i] = (struct wh_dds_member){.node = members[i].node,
						 .incarnation = members[i].incarnation,
						 .activity = was != NULL ? was->activity : 0,
						 .heard_ns = was != NULL ? was->heard_ns : channel->now_ns};
	}
	for (uint32_t i = 0; i < channel->member_count; i++) {
		const struct wh_dds_member *was = &channel->members[i];

		if (wh_dds_members_find(next, count, was->node, was->incarnation) == NULL && !end_member(channel, was)) {
			free(next);
			return WHORL_MEMORY;
		}
	}
	free(channel->members);
	channel->members = next;
	channel->member_count = count;
	return WHORL_OK;
}

/* ---- messages ------------------------------------------------------------------------------------------------------------- */

bool wh_dds_read_sample(const struct wh_dds_endpoint *writer, const struct wh_dds_from *from,
			const struct wh_dds_said *said, struct wh_dds_sample *sample)
{
	if (said->keyed != writer->topic->terms.keyed)
		return false;
	*sample = (struct wh_dds_sample){.place = from->place,
					 .number = writer->samples + 1,
					 .change = said->change,
					 .source_ns = said->source_ns,
					 .bytes = said->bytes,
					 .count = said->count};
	memcpy(sample->key, said->key, WH_DDS_KEY_BYTES);
	return true;
}

/* NULL: its writer is not there, or has other keys. If it is there, so is its sender. */
static struct wh_dds_endpoint *read_sample(struct wh_dds_channel *channel, const struct wh_dds_from *from,
					   const struct wh_dds_said *said, struct wh_dds_sample *sample)
{
	struct wh_dds_endpoint_id id = {from->incarnation, from->node, said->number};
	struct wh_dds_endpoint *writer = channel->recent;

	if (writer == NULL || wh_dds_id_compare(&writer->id, &id) != 0)
		writer = wh_dds_writer_of(channel, &id);
	channel->recent = writer;
	return writer != NULL && wh_dds_read_sample(writer, from, said, sample) ? writer : NULL;
}

static enum whorl_result apply_sample(struct wh_dds_channel *channel, const struct wh_dds_from *from,
				      const struct wh_dds_said *said)
{
	struct wh_dds_sample sample;
	struct wh_dds_endpoint *writer = read_sample(channel, from, said, &sample);
	struct wh_dds_set *set;

	if (writer == NULL)
		return wh_dds_void(channel);
	writer->samples++;
	wh_dds_writer_heard(channel, writer);
	set = channel->sets != NULL ? wh_dds_set_of(channel, writer) : NULL;
	if (set != NULL)
		return wh_dds_set_add(channel, set, writer, &sample) ? WHORL_OK : WHORL_MEMORY;
	return wh_dds_take_effect(channel, writer, &sample) ? WHORL_OK : WHORL_MEMORY;
}

/* A writer that ends disposes of what it has, if it autodisposes: all of it in one place. */
static bool ask_end(const struct wh_dds_channel *channel, const struct wh_dds_question *question,
		    const struct wh_dds_endpoint *endpoint, const struct wh_dds_place *place)
{
	struct wh_dds_sample sample = {.place = *place, .change = WH_DDS_UNREGISTER};

	for (const struct wh_dds_claim *claim = endpoint->claims; claim != NULL; claim = claim->writer_next) {
		memcpy(sample.key, claim->instance->key, WH_DDS_KEY_BYTES);
		if (!wh_dds_ask_now(channel, question, claim->writer, &sample))
			return false;
	}
	return true;
}

bool wh_dds_channel_ask(struct wh_dds_channel *channel, const struct wh_dds_from *from, const void *bytes, size_t count,
			wh_dds_ask *ask, void *ctx)
{
	struct wh_dds_endpoint_id id = {from->incarnation, from->node, 0};
	struct wh_dds_question question = {ask, ctx};
	struct wh_dds_endpoint *endpoint = NULL;
	struct wh_dds_sample sample;
	struct wh_dds_said said;
	struct wh_dds_message message;
	unsigned char kind = count > 0 ? *(const unsigned char *)bytes : 0;
	bool roomy = true;

	if (wh_dds_take_sample(&said, bytes, count)) {
		endpoint = read_sample(channel, from, &said, &sample);
		return endpoint == NULL || wh_dds_set_of(channel, endpoint) != NULL ||
		       wh_dds_ask_now(channel, &question, endpoint, &sample);
	}
	if ((kind != WH_DDS_SAY_SET && kind != WH_DDS_SAY_END) ||
	    wh_dds_take_message(&message, bytes, count) != WHORL_OK)
		return true;
	id.number = message.number;
	if (kind == WH_DDS_SAY_SET)
		roomy = wh_dds_set_ask(channel, &question, &id);
	else if (message.what == WH_DDS_WRITER && (endpoint = wh_dds_writer_of(channel, &id)) != NULL)
		roomy = ask_end(channel, &question, endpoint, &from->place);
	wh_dds_message_free(&message);
	return roomy;
}

static enum whorl_result apply_end(struct wh_dds_channel *channel, const struct wh_dds_from *from,
				   const struct wh_dds_message *message)
{
	struct wh_dds_endpoint_id id = {from->incarnation, from->node, message->number};
	struct wh_dds_endpoint *endpoint = wh_dds_channel_find(channel, message->what, &id);

	if (endpoint == NULL)
		return wh_dds_void(channel);
	return wh_dds_endpoint_end(channel, endpoint, false) ? WHORL_OK : WHORL_MEMORY;
}

static enum whorl_result apply_message(struct wh_dds_channel *channel, const struct wh_dds_from *from,
				       struct wh_dds_message *message)
{
	if (wh_dds_member_find(channel, from->node, from->incarnation) == NULL)
		return wh_dds_void(channel);
	switch (message->kind) {
	case WH_DDS_SAY_NEW:
		return wh_dds_announce(channel, from, message);
	case WH_DDS_SAY_CHANGE:
		return wh_dds_change_policies(channel, from, message);
	case WH_DDS_SAY_END:
		return apply_end(channel, from, message);
	case WH_DDS_SAY_BEGIN:
		return wh_dds_set_begin(channel, from, message->number);
	case WH_DDS_SAY_SET:
		return wh_dds_set_end(channel, from, message->number);
	case WH_DDS_SAY_ASSERT:
		return wh_dds_assert(channel, from, message->number);
	case WH_DDS_SAY_LOST:
	case WH_DDS_SAY_LATE:
	case WH_DDS_SAY_CLEAN:
		return wh_dds_apply_word(channel, from, message);
	case WH_DDS_SAY_SAMPLE:
	case WH_DDS_SAY_KINDS:
		break;
	}
	return WHORL_OK;
}

static enum whorl_result apply_other(struct wh_dds_channel *channel, const struct wh_dds_from *from, const void *bytes,
				     size_t count)
{
	struct wh_dds_message message;
	enum whorl_result result = wh_dds_take_message(&message, bytes, count);

	if (result == WHORL_INVALID) {
		channel->counts.garbage++;
		return WHORL_OK;
	}
	if (result != WHORL_OK)
		return result;
	result = apply_message(channel, from, &message);
	wh_dds_message_free(&message);
	return result;
}

enum whorl_result wh_dds_channel_apply(struct wh_dds_channel *channel, const struct wh_dds_from *from,
				       const void *bytes, size_t count, int64_t now_ns)
{
	struct wh_dds_said said;

	if (!channel->began || from->place.view != channel->view || from->place.sequence < channel->next_sequence)
		return WHORL_INVALID;
	channel->next_sequence = from->place.sequence + 1;
	if (!channel->config.unordered)
		channel->place.sequence = from->place.sequence; /* the view is that of the channel */
	channel->now_ns = now_ns;
	if (wh_dds_take_sample(&said, bytes, count))
		return channel->config.unordered ? wh_dds_void(channel) : apply_sample(channel, from, &said);
	return apply_other(channel, from, bytes, count);
}

/* ---- what is there -------------------------------------------------------------------------------------------------------- */

struct wh_dds_endpoint *wh_dds_endpoint_find(const struct wh_dds_channel *channel, enum wh_dds_kind kind,
					     const struct wh_dds_endpoint_id *id, bool ended)
{
	uint64_t number = wh_dds_endpoint_number(kind, id);
	struct wh_dds_link *link = wh_dds_index_find(&channel->endpoint_index, number);

	for (; link != NULL; link = wh_dds_index_next(link->next, number)) {
		struct wh_dds_endpoint *endpoint = (struct wh_dds_endpoint *)link;

		if (endpoint->kind == kind && endpoint->ended == ended && wh_dds_id_compare(&endpoint->id, id) == 0)
			return endpoint;
	}
	return NULL;
}

struct wh_dds_endpoint *wh_dds_channel_find(const struct wh_dds_channel *channel, enum wh_dds_kind kind,
					    const struct wh_dds_endpoint_id *id)
{
	return wh_dds_endpoint_find(channel, kind, id, false);
}

void wh_dds_channel_counts(const struct wh_dds_channel *channel, struct wh_dds_channel_counts *counts)
{
	*counts = channel->counts;
	counts->endpoints = channel->endpoints.count;
	counts->instances = channel->instance_index.count;
	counts->topics = counts->entries = 0;
	for (const struct wh_dds_topic *topic = channel->topics; topic != NULL; topic = topic->next) {
		counts->topics++;
		for (const struct wh_dds_entry *entry = topic->entries; entry != NULL; entry = entry->next)
			counts->entries++;
	}
}
