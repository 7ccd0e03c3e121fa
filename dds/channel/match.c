/* match.c - endpoints come, change and end; which of them match. See channel_int.h. */
#include "dds/channel/channel_int.h"

#include <stdlib.h>
#include <string.h>

/* ---- lists ---------------------------------------------------------------------------------------------------------------- */

uint32_t wh_dds_endpoints_place(const struct wh_dds_endpoints *list, uint64_t order)
{
	uint32_t low = 0, high = list->count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (list->all[middle]->order < order)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

bool wh_dds_endpoints_add(struct wh_dds_endpoints *list, struct wh_dds_endpoint *endpoint)
{
	uint32_t at = wh_dds_endpoints_place(list, endpoint->order);
	struct wh_dds_endpoint **all =
		wh_dds_list_room(list->all, list->count, &list->room, sizeof(struct wh_dds_endpoint *));

	if (all == NULL)
		return false;
	list->all = all;
	memmove(all + at + 1, all + at, (list->count - at) * sizeof(struct wh_dds_endpoint *));
	all[at] = endpoint;
	list->count++;
	return true;
}

void wh_dds_endpoints_remove(struct wh_dds_endpoints *list, const struct wh_dds_endpoint *endpoint)
{
	uint32_t at = wh_dds_endpoints_place(list, endpoint->order);

	if (at == list->count || list->all[at] != endpoint)
		return;
	list->count--;
	memmove(list->all + at, list->all + at + 1, (list->count - at) * sizeof(struct wh_dds_endpoint *));
}

bool wh_dds_matches(const struct wh_dds_endpoint *one, const struct wh_dds_endpoint *other)
{
	uint32_t at = wh_dds_endpoints_place(&one->matches, other->order);

	return at < one->matches.count && one->matches.all[at] == other;
}

uint64_t wh_dds_endpoint_number(enum wh_dds_kind kind, const struct wh_dds_endpoint_id *id)
{
	uint64_t number = (uint64_t)id->node << 33 | (uint64_t)id->number << 1 | (kind == WH_DDS_READER);

	return wh_dds_spread(number ^ id->incarnation);
}

bool wh_dds_endpoint_hang(struct wh_dds_channel *channel, struct wh_dds_endpoint *endpoint)
{
	const struct wh_dds_channel_config *config = &channel->config;
	struct wh_dds_endpoints *of_topic =
		endpoint->kind == WH_DDS_WRITER ? &endpoint->topic->writers : &endpoint->topic->readers;

	endpoint->local = config->all || wh_dds_is_member(&endpoint->id, config->node, config->incarnation);
	if (!wh_dds_endpoints_add(endpoint->ended ? &channel->ended : &channel->endpoints, endpoint)) {
		wh_dds_endpoint_free(endpoint);
		return false;
	}
	return wh_dds_index_add(&channel->endpoint_index, &endpoint->link,
				wh_dds_endpoint_number(endpoint->kind, &endpoint->id)) &&
	       (endpoint->ended || wh_dds_endpoints_add(of_topic, endpoint));
}

void wh_dds_endpoint_free(struct wh_dds_endpoint *endpoint)
{
	wh_dds_policies_free(&endpoint->policies);
	free(endpoint->matches.all);
	free(endpoint->locals.all);
	free(endpoint);
}

void wh_dds_writer_settle(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	if (!writer->ended || writer->entries > 0)
		return;
	wh_dds_endpoints_remove(&channel->ended, writer);
	wh_dds_index_remove(&channel->endpoint_index, &writer->link);
	wh_dds_endpoint_free(writer);
}

/* ---- matching ------------------------------------------------------------------------------------------------------------- */

static void sort(struct wh_dds_endpoint *one, struct wh_dds_endpoint *other, struct wh_dds_event *event)
{
	event->writer = one->kind == WH_DDS_WRITER ? one : other;
	event->reader = one->kind == WH_DDS_WRITER ? other : one;
}

/* Have they anything to do with each other? The same for all members: of one process is what one node has announced. */
static bool meet(const struct wh_dds_endpoint *writer, const struct wh_dds_endpoint *reader)
{
	bool ignores = writer->policies.ignore_local != WHORL_DDS_IGNORE_LOCAL_NONE ||
		       reader->policies.ignore_local != WHORL_DDS_IGNORE_LOCAL_NONE;

	return !(ignores && wh_dds_is_member(&writer->id, reader->id.node, reader->id.incarnation)) &&
	       wh_dds_partitions_meet(&writer->policies, &reader->policies);
}

bool wh_dds_fits(const struct wh_dds_endpoint *writer, const struct wh_dds_endpoint *reader)
{
	return meet(writer, reader) &&
	       wh_dds_policies_match(&writer->policies, &reader->policies) == WHORL_DDS_POLICY_INVALID;
}

bool wh_dds_link_match(struct wh_dds_endpoint *one, struct wh_dds_endpoint *other)
{
	struct wh_dds_endpoint *writer = one->kind == WH_DDS_WRITER ? one : other;
	struct wh_dds_endpoint *reader = one->kind == WH_DDS_WRITER ? other : one;

	return wh_dds_endpoints_add(&one->matches, other) && wh_dds_endpoints_add(&other->matches, one) &&
	       (!reader->local || wh_dds_endpoints_add(&writer->locals, reader));
}

/* A failure to meet is none: the two have nothing to do with each other. */
static bool try_match(struct wh_dds_channel *channel, struct wh_dds_endpoint *one, struct wh_dds_endpoint *other)
{
	struct wh_dds_event event = {.what = WH_DDS_MATCH};

	sort(one, other, &event);
	if (!meet(event.writer, event.reader))
		return true;
	event.policy = wh_dds_policies_match(&event.writer->policies, &event.reader->policies);
	if (event.policy != WHORL_DDS_POLICY_INVALID)
		event.what = WH_DDS_INCOMPATIBLE;
	else if (!wh_dds_link_match(one, other))
		return false;
	if (one->local || other->local)
		wh_dds_tell_event(channel, &event);
	return true;
}

void wh_dds_unmatch(struct wh_dds_channel *channel, struct wh_dds_endpoint *one, struct wh_dds_endpoint *other,
		    whorl_dds_return why)
{
	struct wh_dds_event event = {.what = WH_DDS_UNMATCH, .result = why};

	sort(one, other, &event);
	wh_dds_endpoints_remove(&one->matches, other);
	wh_dds_endpoints_remove(&other->matches, one);
	wh_dds_endpoints_remove(&event.writer->locals, event.reader);
	if (why == WHORL_DDS_RETCODE_OK)
		wh_dds_tell_last_writers(channel, event.writer, event.reader);
	if (one->local || other->local)
		wh_dds_tell_event(channel, &event);
}

static struct wh_dds_endpoints *others_of(const struct wh_dds_endpoint *endpoint)
{
	return endpoint->kind == WH_DDS_WRITER ? &endpoint->topic->readers : &endpoint->topic->writers;
}

/* ---- coming --------------------------------------------------------------------------------------------------------------- */

static struct wh_dds_topic *add_topic(struct wh_dds_channel *channel, struct wh_dds_message *message)
{
	struct wh_dds_topic *topic = calloc(1, sizeof(*topic)), **at = &channel->topics;

	if (topic == NULL)
		return NULL;
	topic->id = message->topic;
	topic->name = message->name;
	message->name = NULL;
	topic->terms = message->terms;
	while (*at != NULL && (*at)->id < topic->id)
		at = &(*at)->next;
	topic->next = *at;
	*at = topic;
	return topic;
}

/* The registry has let a name go, and given it again: what was kept under the number before nobody will ask for. */
static void supersede(struct wh_dds_channel *channel, const struct wh_dds_topic *by)
{
	for (struct wh_dds_topic *topic = channel->topics, *next; topic != by; topic = next) {
		next = topic->next;
		if (topic->readers.count == 0 && topic->writers.count == 0 && strcmp(topic->name, by->name) == 0)
			wh_dds_forget_topic(channel, topic);
	}
}

static whorl_dds_return judge(const struct wh_dds_channel *channel, const struct wh_dds_message *message,
			      const struct wh_dds_topic *topic, enum whorl_dds_policy_id *policy)
{
	whorl_dds_return result;

	*policy = WHORL_DDS_POLICY_INVALID;
	if (channel->endpoints.count >= WH_DDS_ENDPOINTS_MAX)
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	result = wh_dds_policies_check(&message->policies, message->what, policy, NULL);
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_policies_suit(&message->policies, message->terms.consistency, policy, NULL);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (channel->config.unordered && message->terms.consistency != WHORL_DDS_CONSISTENCY_UNORDERED)
		return WHORL_DDS_RETCODE_PRECONDITION_NOT_MET; /* it lies on a channel */
	if (topic == NULL ||
	    (strcmp(topic->name, message->name) == 0 && wh_dds_terms_equal(&topic->terms, &message->terms)))
		return WHORL_DDS_RETCODE_OK;
	return WHORL_DDS_RETCODE_PRECONDITION_NOT_MET;
}

static struct wh_dds_endpoint *make_endpoint(struct wh_dds_channel *channel, const struct wh_dds_endpoint_id *id,
					     struct wh_dds_message *message, struct wh_dds_topic *topic)
{
	struct wh_dds_endpoint *endpoint = calloc(1, sizeof(*endpoint));

	if (endpoint == NULL)
		return NULL;
	endpoint->id = *id;
	endpoint->kind = message->what;
	endpoint->group = message->group;
	endpoint->order = ++channel->orders;
	endpoint->topic = topic;
	endpoint->policies = message->policies;
	memset(&message->policies, 0, sizeof(message->policies));
	endpoint->alive = true;
	endpoint->heard_ns = channel->now_ns;
	wh_dds_look_after(channel, endpoint->policies.liveliness.lease_ns);
	return endpoint;
}

static bool is_known(const struct wh_dds_channel *channel, enum wh_dds_kind kind, const struct wh_dds_endpoint_id *id)
{
	return wh_dds_endpoint_find(channel, kind, id, false) != NULL ||
	       (!channel->config.unordered && wh_dds_endpoint_find(channel, kind, id, true) != NULL);
}

static void tell_watcher(const struct wh_dds_channel *channel, enum wh_dds_event_kind what,
			 struct wh_dds_endpoint *endpoint)
{
	if (channel->config.watches)
		wh_dds_tell_event(channel, &(struct wh_dds_event){.what = what, .endpoint = endpoint});
}

const char *wh_dds_topic_name(const struct wh_dds_topic *topic)
{
	return topic->name;
}

uint64_t wh_dds_topic_number(const struct wh_dds_topic *topic)
{
	return topic->id;
}

const struct wh_dds_endpoint *wh_dds_channel_endpoint(const struct wh_dds_channel *channel, uint32_t at)
{
	return at < channel->endpoints.count ? channel->endpoints.all[at] : NULL;
}

/* The verdict comes first, so that its member knows what all else is said of. */
static bool introduce(struct wh_dds_channel *channel, struct wh_dds_endpoint *endpoint)
{
	struct wh_dds_endpoints *others = others_of(endpoint);

	if (endpoint->local)
		wh_dds_tell_event(channel, &(struct wh_dds_event){.what = WH_DDS_VERDICT,
								  .endpoint = endpoint,
								  .id = endpoint->id,
								  .kind = endpoint->kind});
	tell_watcher(channel, WH_DDS_COMES, endpoint);
	for (uint32_t i = 0; i < others->count; i++)
		if (!try_match(channel, endpoint, others->all[i]))
			return false;
	if (endpoint->kind == WH_DDS_READER && endpoint->local) {
		uint64_t count = wh_dds_replay(channel, endpoint, NULL);

		wh_dds_tell_event(channel, &(struct wh_dds_event){
						   .what = WH_DDS_HISTORY_END, .reader = endpoint, .count = count});
	}
	return endpoint->kind == WH_DDS_READER || wh_dds_hear_strays(channel, endpoint);
}

enum whorl_result wh_dds_announce(struct wh_dds_channel *channel, const struct wh_dds_from *from,
				  struct wh_dds_message *message)
{
	struct wh_dds_endpoint_id id = {from->incarnation, from->node, message->number};
	struct wh_dds_topic *topic = wh_dds_topic_find(channel, message->topic);
	struct wh_dds_event verdict = {.what = WH_DDS_VERDICT, .id = id, .kind = message->what};
	struct wh_dds_endpoint *endpoint;

	if (is_known(channel, message->what, &id))
		return wh_dds_void(channel);
	verdict.result = judge(channel, message, topic, &verdict.policy);
	if (verdict.result != WHORL_DDS_RETCODE_OK) {
		if (channel->config.all || wh_dds_is_member(&id, channel->config.node, channel->config.incarnation))
			wh_dds_tell_event(channel, &verdict);
		return WHORL_OK;
	}
	if (topic == NULL && (topic = add_topic(channel, message)) == NULL)
		return WHORL_MEMORY;
	supersede(channel, topic);
	endpoint = make_endpoint(channel, &id, message, topic);
	if (endpoint == NULL)
		return WHORL_MEMORY;
	return wh_dds_endpoint_hang(channel, endpoint) && introduce(channel, endpoint) ? WHORL_OK : WHORL_MEMORY;
}

/* ---- changing ------------------------------------------------------------------------------------------------------------- */

/* Did the two fail to match before the one changed, for the reason that they would fail now? Then it was told. */
static bool failed_alike(const struct wh_dds_endpoint *endpoint, const struct wh_dds_policies *before,
			 const struct wh_dds_endpoint *other)
{
	bool writes = endpoint->kind == WH_DDS_WRITER;
	const struct wh_dds_policies *is = &endpoint->policies, *others = &other->policies;
	enum whorl_dds_policy_id was = wh_dds_policies_match(writes ? before : others, writes ? others : before),
				 fails = wh_dds_policies_match(writes ? is : others, writes ? others : is);

	return was != WHORL_DDS_POLICY_INVALID && was == fails && wh_dds_partitions_meet(before, others);
}

static bool match_again(struct wh_dds_channel *channel, struct wh_dds_endpoint *endpoint,
			const struct wh_dds_policies *before)
{
	struct wh_dds_endpoints *others = others_of(endpoint);

	for (uint32_t i = 0; i < others->count; i++) {
		struct wh_dds_event pair = {.what = WH_DDS_MATCH};
		bool was = wh_dds_matches(endpoint, others->all[i]);

		sort(endpoint, others->all[i], &pair);
		if (was ? wh_dds_fits(pair.writer, pair.reader) : failed_alike(endpoint, before, others->all[i]))
			continue;
		if (was)
			wh_dds_unmatch(channel, endpoint, others->all[i], WHORL_DDS_RETCODE_OK);
		if (!try_match(channel, endpoint, others->all[i]))
			return false;
		if (pair.reader->local && wh_dds_matches(pair.writer, pair.reader))
			wh_dds_replay(channel, pair.reader, pair.writer);
	}
	return true;
}

/* *before: what they were; to be freed. A result of wh_dds_policies_change. */
static whorl_dds_return exchange(struct wh_dds_endpoint *endpoint, const struct wh_dds_message *message,
				 struct wh_dds_policies *before, enum whorl_dds_policy_id *policy)
{
	whorl_dds_return result = wh_dds_policies_copy(before, &endpoint->policies);

	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_policies_change(&endpoint->policies, WH_DDS_KINDS, &message->policies, policy, NULL);
	return result;
}

enum whorl_result wh_dds_change_policies(struct wh_dds_channel *channel, const struct wh_dds_from *from,
					 const struct wh_dds_message *message)
{
	struct wh_dds_endpoint_id id = {from->incarnation, from->node, message->number};
	struct wh_dds_endpoint *endpoint = wh_dds_channel_find(channel, message->what, &id);
	struct wh_dds_event event = {.what = WH_DDS_VERDICT, .endpoint = endpoint, .id = id, .kind = message->what};
	struct wh_dds_policies before;
	bool ok = true;

	if (endpoint == NULL)
		return wh_dds_void(channel);
	event.result = exchange(endpoint, message, &before, &event.policy);
	if (event.result == WHORL_DDS_RETCODE_OK) {
		event.what = WH_DDS_CHANGED;
		channel->look_ns = INT64_MIN;
		wh_dds_tell_event(channel, &event);
		wh_dds_weigh_claims(channel, endpoint);
		ok = match_again(channel, endpoint, &before);
	} else if (event.result == WHORL_DDS_RETCODE_OUT_OF_RESOURCES) {
		ok = false;
	} else {
		channel->counts.voids++;
		if (endpoint->local)
			wh_dds_tell_event(channel, &event);
	}
	wh_dds_policies_free(&before);
	return ok ? WHORL_OK : WHORL_MEMORY;
}

/* ---- ending --------------------------------------------------------------------------------------------------------------- */

bool wh_dds_end_claims(struct wh_dds_channel *channel, struct wh_dds_endpoint *writer, bool died)
{
	while (!died && writer->policies.autodispose && writer->claims != NULL) {
		struct wh_dds_sample sample = {.place = channel->place, .change = WH_DDS_UNREGISTER};

		memcpy(sample.key, writer->claims->instance->key, WH_DDS_KEY_BYTES);
		if (!wh_dds_take_effect(channel, writer, &sample))
			return false;
	}
	wh_dds_drop_claims(channel, writer);
	return true;
}

bool wh_dds_endpoint_end(struct wh_dds_channel *channel, struct wh_dds_endpoint *endpoint, bool died)
{
	struct wh_dds_topic *topic = endpoint->topic;
	bool writes = endpoint->kind == WH_DDS_WRITER, stays;

	channel->recent = NULL;
	if (wh_dds_lingers(channel, endpoint)) {
		tell_watcher(channel, WH_DDS_GOES, endpoint);
		return wh_dds_linger(channel, endpoint, died);
	}
	if (writes) {
		wh_dds_set_forget_writer(channel, endpoint);
		if (!wh_dds_end_claims(channel, endpoint, died))
			return false;
		if (endpoint->policies.durability < WHORL_DDS_DURABILITY_TRANSIENT)
			wh_dds_forget_writer(channel, endpoint);
		channel->dead -= !endpoint->alive;
		wh_dds_writer_gone(channel, endpoint);
	}
	while (endpoint->matches.count > 0)
		wh_dds_unmatch(channel, endpoint, endpoint->matches.all[0], WHORL_DDS_RETCODE_ALREADY_DELETED);
	if (!writes && !wh_dds_linger_no_more(channel))
		return false;
	stays = writes && endpoint->entries > 0;
	if (stays && !wh_dds_endpoints_add(&channel->ended, endpoint))
		return false;
	tell_watcher(channel, WH_DDS_GOES, endpoint);
	wh_dds_endpoints_remove(&channel->endpoints, endpoint);
	wh_dds_endpoints_remove(writes ? &topic->writers : &topic->readers, endpoint);
	if (stays) {
		endpoint->ended = true;
		endpoint->alive = true; /* alike, however it ended */
	} else {
		wh_dds_index_remove(&channel->endpoint_index, &endpoint->link);
		wh_dds_endpoint_free(endpoint);
	}
	wh_dds_topic_settle(channel, topic);
	return true;
}
