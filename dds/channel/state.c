/* state.c - the whole of a channel's machine as bytes, for a newcomer. See channel.h.
 *
 * "WHD", the version; the view, the next place, the counts; members; topics; endpoints, those that have ended behind the others; then of each topic its
 * instances, with their claims, and its entries; sets that are open. Endpoints, instances and topics are named by their places in these lists. Matches
 * follow from policies, owners from claims, and so are not written: what can be said in two ways could say two things.
 * Of unordered topics each member has its own instances, and its own writers that linger: none of them is in the state.
 * All lists stand in the order that they have, so there is one way to write a state, and a digest of the bytes is one of the state.
 */
#include "dds/channel/channel_int.h"

#include <stdlib.h>
#include <string.h>

#define BLOCK_MAX INT32_MAX /* bytes of a sample */

/* ---- writing -------------------------------------------------------------------------------------------------------------- */

/* Where it is in the list; those that have ended come behind. */
static uint32_t number_of(const struct wh_dds_channel *channel, const struct wh_dds_endpoint *endpoint)
{
	const struct wh_dds_endpoints *list = endpoint->ended ? &channel->ended : &channel->endpoints;

	return wh_dds_endpoints_place(list, endpoint->order) + (endpoint->ended ? channel->endpoints.count : 0);
}

static void put_place(struct wh_dds_out *out, const struct wh_dds_place *place)
{
	wh_dds_put_number(out, place->view, 8);
	wh_dds_put_number(out, place->sequence, 8);
}

static void put_head(struct wh_dds_out *out, const struct wh_dds_channel *channel)
{
	const struct wh_dds_channel_counts *counts = &channel->counts;

	wh_dds_put(out, "WHD", 3);
	wh_dds_put_number(out, WH_DDS_CHANNEL_VERSION, 1);
	wh_dds_put_number(out, channel->began, 1);
	wh_dds_put_number(out, channel->view, 8);
	wh_dds_put_number(out, channel->next_sequence, 8);
	wh_dds_put_number(out, channel->orders, 8);
	wh_dds_put_number(out, counts->garbage, 8);
	wh_dds_put_number(out, counts->voids, 8);
	wh_dds_put_number(out, counts->sets_dropped, 8);
	wh_dds_put_number(out, counts->samples_dropped, 8);
	wh_dds_put_number(out, counts->not_kept, 8);
	wh_dds_put_number(out, channel->member_count, 4);
	for (uint32_t i = 0; i < channel->member_count; i++) {
		wh_dds_put_number(out, channel->members[i].node, 4);
		wh_dds_put_number(out, channel->members[i].incarnation, 8);
		wh_dds_put_number(out, channel->members[i].activity, 8);
	}
}

static void put_topics(struct wh_dds_out *out, const struct wh_dds_channel *channel)
{
	uint32_t count = 0;

	for (const struct wh_dds_topic *topic = channel->topics; topic != NULL; topic = topic->next)
		count++;
	wh_dds_put_number(out, count, 4);
	for (const struct wh_dds_topic *topic = channel->topics; topic != NULL; topic = topic->next) {
		wh_dds_put_number(out, topic->id, 8);
		wh_dds_put_text(out, topic->name);
		wh_dds_put_terms(out, &topic->terms);
	}
}

static void put_endpoint(struct wh_dds_out *out, const struct wh_dds_endpoint *endpoint, bool unordered)
{
	wh_dds_put_id(out, &endpoint->id);
	wh_dds_put_number(out, endpoint->kind, 1);
	wh_dds_put_number(out, endpoint->group, 4);
	wh_dds_put_number(out, endpoint->order, 8);
	wh_dds_put_number(out, endpoint->topic->id, 8);
	wh_dds_put_number(out, endpoint->alive, 1);
	wh_dds_put_number(out, unordered ? 0 : endpoint->samples, 8);
	wh_dds_put_number(out, endpoint->activity, 8);
	wh_dds_put_policies(out, &endpoint->policies);
}

static void put_sample(struct wh_dds_out *out, const struct wh_dds_sample *sample)
{
	put_place(out, &sample->place);
	wh_dds_put_number(out, sample->number, 8);
	wh_dds_put_number(out, sample->change, 1);
	wh_dds_put_number(out, (uint64_t)sample->source_ns, 8);
	wh_dds_put(out, sample->key, WH_DDS_KEY_BYTES);
	wh_dds_put_number(out, sample->state, 1);
	wh_dds_put_number(out, sample->disposed_generations, 4);
	wh_dds_put_number(out, sample->no_writers_generations, 4);
	wh_dds_put_block(out, sample->block);
}

static void put_instance(struct wh_dds_out *out, const struct wh_dds_channel *channel,
			 const struct wh_dds_instance *instance)
{
	uint32_t claims = 0;

	wh_dds_put(out, instance->key, WH_DDS_KEY_BYTES);
	wh_dds_put_number(out, instance->state, 1);
	wh_dds_put_number(out, instance->disposed_generations, 4);
	wh_dds_put_number(out, instance->no_writers_generations, 4);
	wh_dds_put_number(out, instance->changes, 8);
	put_place(out, &instance->left);
	wh_dds_put_number(out, instance->timed, 1);
	wh_dds_put_number(out, (uint64_t)instance->newest_ns, 8);
	wh_dds_put_id(out, &instance->newest);
	for (const struct wh_dds_claim *claim = instance->claims; claim != NULL; claim = claim->next)
		claims++;
	wh_dds_put_number(out, claims, 4);
	for (const struct wh_dds_claim *claim = instance->claims; claim != NULL; claim = claim->next) {
		wh_dds_put_number(out, number_of(channel, claim->writer), 4);
		wh_dds_put_number(out, claim->late, 1);
		wh_dds_put_number(out, claim->number, 8);
	}
}

/* Claims of a writer have an order of their own, in which they end with it. */
static void put_claim_order(struct wh_dds_out *out, const struct wh_dds_channel *channel)
{
	for (uint32_t i = 0; i < channel->endpoints.count; i++) {
		const struct wh_dds_claim *claim = channel->config.unordered ? NULL : channel->endpoints.all[i]->claims;
		uint32_t count = 0;

		for (const struct wh_dds_claim *it = claim; it != NULL; it = it->writer_next)
			count++;
		wh_dds_put_number(out, count, 4);
		for (; claim != NULL; claim = claim->writer_next)
			wh_dds_put(out, claim->instance->key, WH_DDS_KEY_BYTES);
	}
}

static void put_history(struct wh_dds_out *out, const struct wh_dds_channel *channel, const struct wh_dds_topic *topic)
{
	const struct wh_dds_instance *first = channel->config.unordered ? NULL : topic->instances;
	uint64_t count = 0;

	for (const struct wh_dds_instance *it = first; it != NULL; it = it->next)
		count++;
	wh_dds_put_number(out, count, 8);
	for (const struct wh_dds_instance *it = first; it != NULL; it = it->next)
		put_instance(out, channel, it);
	count = 0;
	for (const struct wh_dds_entry *it = topic->entries; it != NULL; it = it->next)
		count++;
	wh_dds_put_number(out, count, 8);
	for (const struct wh_dds_entry *it = topic->entries; it != NULL; it = it->next) {
		wh_dds_put_number(out, number_of(channel, it->writer), 4);
		wh_dds_put_number(out, it->behind, 1);
		put_sample(out, &it->sample);
	}
}

static void put_sets(struct wh_dds_out *out, const struct wh_dds_channel *channel)
{
	uint32_t count = 0;

	for (const struct wh_dds_set *set = channel->sets; set != NULL; set = set->next)
		count++;
	wh_dds_put_number(out, count, 4);
	for (const struct wh_dds_set *set = channel->sets; set != NULL; set = set->next) {
		wh_dds_put_id(out, &set->publisher);
		wh_dds_put_number(out, set->broken, 1);
		wh_dds_put_number(out, set->dropped, 8);
		wh_dds_put_number(out, set->count, 4);
		for (uint32_t i = 0; i < set->count; i++) {
			wh_dds_put_number(out, number_of(channel, set->items[i].writer), 4);
			put_sample(out, &set->items[i].sample);
		}
	}
}

void wh_dds_channel_save(const struct wh_dds_channel *channel, struct wh_dds_out *out)
{
	bool unordered = channel->config.unordered;
	uint32_t ended = unordered ? 0 : channel->ended.count;

	put_head(out, channel);
	put_topics(out, channel);
	wh_dds_put_number(out, channel->endpoints.count, 4);
	wh_dds_put_number(out, ended, 4);
	for (uint32_t i = 0; i < channel->endpoints.count; i++)
		put_endpoint(out, channel->endpoints.all[i], unordered);
	for (uint32_t i = 0; i < ended; i++)
		put_endpoint(out, channel->ended.all[i], unordered);
	for (const struct wh_dds_topic *topic = channel->topics; topic != NULL; topic = topic->next)
		put_history(out, channel, topic);
	put_claim_order(out, channel);
	put_sets(out, channel);
}

uint64_t wh_dds_channel_digest(const struct wh_dds_channel *channel, bool *failed)
{
	struct wh_dds_out out = {.bytes = NULL};
	uint64_t digest;

	wh_dds_channel_save(channel, &out);
	*failed = out.failed;
	digest = wh_dds_out_digest(&out);
	wh_dds_out_free(&out);
	return digest;
}

/* ---- reading -------------------------------------------------------------------------------------------------------------- */

static void take_place(struct wh_dds_in *in, struct wh_dds_place *place)
{
	place->view = wh_dds_take(in, 8);
	place->sequence = wh_dds_take(in, 8);
}

static bool take_flag(struct wh_dds_in *in)
{
	return wh_dds_take_within(in, 1, 0, 1) == 1;
}

static void take_key(struct wh_dds_in *in, unsigned char *key)
{
	const unsigned char *at = wh_dds_take_bytes(in, WH_DDS_KEY_BYTES);

	if (at != NULL)
		memcpy(key, at, WH_DDS_KEY_BYTES);
}

/* A count of what has so many bytes each, at least: more than are left is none. */
static uint64_t take_count(struct wh_dds_in *in, unsigned bytes, size_t each)
{
	return wh_dds_take_within(in, bytes, 0, in->left / each);
}

static void take_head(struct wh_dds_in *in, struct wh_dds_channel *channel)
{
	struct wh_dds_channel_counts *counts = &channel->counts;
	uint32_t count;

	wh_dds_take_within(in, 1, 'W', 'W');
	wh_dds_take_within(in, 1, 'H', 'H');
	wh_dds_take_within(in, 1, 'D', 'D');
	wh_dds_take_within(in, 1, WH_DDS_CHANNEL_VERSION, WH_DDS_CHANNEL_VERSION);
	channel->began = take_flag(in);
	channel->view = wh_dds_take(in, 8);
	channel->next_sequence = wh_dds_take(in, 8);
	channel->orders = wh_dds_take(in, 8);
	counts->garbage = wh_dds_take(in, 8);
	counts->voids = wh_dds_take(in, 8);
	counts->sets_dropped = wh_dds_take(in, 8);
	counts->samples_dropped = wh_dds_take(in, 8);
	counts->not_kept = wh_dds_take(in, 8);
	channel->place.view = channel->config.unordered ? 0 : channel->view;
	count = (uint32_t)take_count(in, 4, 20);
	channel->members = wh_dds_take_room(in, count * sizeof(*channel->members));
	for (uint32_t i = 0; in->ok && i < count; i++) {
		struct wh_dds_member *member = &channel->members[i];

		member->node = (uint32_t)wh_dds_take(in, 4);
		member->incarnation = wh_dds_take(in, 8);
		member->activity = wh_dds_take(in, 8);
		member->heard_ns = channel->now_ns;
		channel->member_count++;
	}
}

static void take_topics(struct wh_dds_in *in, struct wh_dds_channel *channel)
{
	uint32_t count = (uint32_t)take_count(in, 4, 16);
	struct wh_dds_topic **end = &channel->topics;
	uint64_t before = 0;

	for (uint32_t i = 0; in->ok && i < count; i++) {
		struct wh_dds_topic *topic = wh_dds_take_room(in, sizeof(*topic));

		if (topic == NULL)
			return;
		*end = topic;
		end = &topic->next;
		topic->id = wh_dds_take_within(in, 8, before + 1, UINT64_MAX);
		topic->name = wh_dds_take_text(in, WH_DDS_NAME_BYTES);
		topic->terms = wh_dds_take_terms(in);
		in->ok = in->ok && topic->name != NULL && topic->id < UINT64_MAX;
		before = topic->id;
	}
}

/* The orders ascend; an ended one is a writer; each has a member if it has not ended, and a topic. */
static bool is_in_place(const struct wh_dds_channel *channel, const struct wh_dds_endpoint *endpoint)
{
	const struct wh_dds_endpoints *list = endpoint->ended ? &channel->ended : &channel->endpoints;
	uint64_t before = list->count > 0 ? list->all[list->count - 1]->order : 0;

	return endpoint->topic != NULL && endpoint->id.number > 0 && endpoint->order > before &&
	       endpoint->order <= channel->orders &&
	       (endpoint->ended ? endpoint->kind == WH_DDS_WRITER
				: wh_dds_member_find(channel, endpoint->id.node, endpoint->id.incarnation) != NULL) &&
	       wh_dds_channel_find(channel, endpoint->kind, &endpoint->id) == NULL;
}

static void take_endpoint(struct wh_dds_in *in, struct wh_dds_channel *channel, bool ended)
{
	struct wh_dds_endpoint *endpoint = wh_dds_take_room(in, sizeof(*endpoint));

	if (endpoint == NULL)
		return;
	wh_dds_take_id(in, &endpoint->id);
	endpoint->kind = (enum wh_dds_kind)wh_dds_take_within(in, 1, WH_DDS_WRITER, WH_DDS_READER);
	endpoint->group = (uint32_t)wh_dds_take(in, 4);
	endpoint->order = wh_dds_take(in, 8);
	endpoint->topic = wh_dds_topic_find(channel, wh_dds_take(in, 8));
	endpoint->alive = take_flag(in);
	endpoint->samples = wh_dds_take_within(in, 8, 0, channel->config.unordered ? 0 : UINT64_MAX);
	endpoint->activity = wh_dds_take(in, 8);
	endpoint->ended = ended;
	endpoint->heard_ns = channel->now_ns;
	if (!wh_dds_take_policies(in, &endpoint->policies, endpoint->kind) || !is_in_place(channel, endpoint)) {
		in->ok = false;
		wh_dds_endpoint_free(endpoint);
		return;
	}
	channel->dead += !endpoint->alive;
	if (!wh_dds_endpoint_hang(channel, endpoint))
		wh_dds_starve(in);
}

static void link_matches(struct wh_dds_in *in, struct wh_dds_channel *channel)
{
	for (uint32_t i = 0; in->ok && i < channel->endpoints.count; i++) {
		struct wh_dds_endpoint *reader = channel->endpoints.all[i];

		for (uint32_t k = 0; reader->kind == WH_DDS_READER && k < reader->topic->writers.count; k++) {
			struct wh_dds_endpoint *writer = reader->topic->writers.all[k];

			if (wh_dds_fits(writer, reader) && !wh_dds_link_match(writer, reader)) {
				wh_dds_starve(in);
				return;
			}
		}
	}
}

static void take_endpoints(struct wh_dds_in *in, struct wh_dds_channel *channel)
{
	uint32_t live = (uint32_t)wh_dds_take_within(in, 4, 0, WH_DDS_ENDPOINTS_MAX);
	uint32_t ended = (uint32_t)take_count(in, 4, 16);

	in->ok = in->ok && (ended == 0 || !channel->config.unordered);
	for (uint32_t i = 0; in->ok && i < live; i++)
		take_endpoint(in, channel, false);
	for (uint32_t i = 0; in->ok && i < ended; i++)
		take_endpoint(in, channel, true);
	link_matches(in, channel);
}

/* Of this topic; NULL if there is no such writer. */
static struct wh_dds_endpoint *take_writer(struct wh_dds_in *in, const struct wh_dds_channel *channel,
					   const struct wh_dds_topic *topic, bool may_have_ended)
{
	uint32_t live = channel->endpoints.count, number = (uint32_t)wh_dds_take(in, 4);
	struct wh_dds_endpoint *writer = NULL;

	if (in->ok && number < live)
		writer = channel->endpoints.all[number];
	else if (in->ok && number - live < channel->ended.count && may_have_ended)
		writer = channel->ended.all[number - live];
	if (writer == NULL || writer->kind != WH_DDS_WRITER || (topic != NULL && writer->topic != topic)) {
		in->ok = false;
		return NULL;
	}
	return writer;
}

static void take_sample(struct wh_dds_in *in, struct wh_dds_sample *sample)
{
	take_place(in, &sample->place);
	sample->number = wh_dds_take(in, 8);
	sample->change = (uint8_t)wh_dds_take_within(in, 1, 0, WH_DDS_CHANGES);
	sample->source_ns = (int64_t)wh_dds_take(in, 8);
	take_key(in, sample->key);
	sample->state = (enum wh_dds_state)wh_dds_take_within(in, 1, WH_DDS_ALIVE, WH_DDS_NO_WRITERS);
	sample->disposed_generations = (uint32_t)wh_dds_take(in, 4);
	sample->no_writers_generations = (uint32_t)wh_dds_take(in, 4);
	sample->block = wh_dds_take_block(in, BLOCK_MAX);
	if (sample->block == NULL && in->ok) {
		sample->block = wh_dds_block_new(NULL, 0);
		if (sample->block == NULL)
			wh_dds_starve(in);
	}
	if (sample->block == NULL)
		return;
	sample->bytes = sample->block->bytes;
	sample->count = sample->block->count;
}

static void take_claims(struct wh_dds_in *in, struct wh_dds_channel *channel, struct wh_dds_instance *instance)
{
	uint32_t count = (uint32_t)take_count(in, 4, 13);

	for (uint32_t i = 0; in->ok && i < count; i++) {
		struct wh_dds_endpoint *writer = take_writer(in, channel, instance->topic, false);
		bool late = take_flag(in);
		uint64_t number = wh_dds_take(in, 8);
		struct wh_dds_claim *claim;

		if (!in->ok || wh_dds_claim_find(instance, writer) != NULL) {
			in->ok = false;
			return;
		}
		claim = wh_dds_claim_add(instance, writer);
		if (claim == NULL) {
			wh_dds_starve(in);
			return;
		}
		claim->number = number;
		claim->heard_ns = channel->now_ns;
		claim->late = late;
		wh_dds_claim_weigh(channel, claim);
		in->ok = claim->next == NULL; /* the best one comes first */
	}
}

static void take_instance(struct wh_dds_in *in, struct wh_dds_channel *channel, struct wh_dds_topic *topic)
{
	unsigned char key[WH_DDS_KEY_BYTES] = {0};
	struct wh_dds_instance *instance;

	take_key(in, key);
	if (!in->ok || wh_dds_instance_find(channel, topic, key) != NULL) {
		in->ok = false;
		return;
	}
	instance = wh_dds_instance_get(channel, topic, key);
	if (instance == NULL) {
		wh_dds_starve(in);
		return;
	}
	instance->state = (enum wh_dds_state)wh_dds_take_within(in, 1, WH_DDS_ALIVE, WH_DDS_NO_WRITERS);
	instance->disposed_generations = (uint32_t)wh_dds_take(in, 4);
	instance->no_writers_generations = (uint32_t)wh_dds_take(in, 4);
	instance->changes = wh_dds_take(in, 8);
	take_place(in, &instance->left);
	instance->timed = take_flag(in);
	instance->newest_ns = (int64_t)wh_dds_take(in, 8);
	wh_dds_take_id(in, &instance->newest);
	instance->idle_ns = channel->now_ns;
	take_claims(in, channel, instance);
}

/* What is kept of an instance begins with a sample. */
static void take_entry(struct wh_dds_in *in, struct wh_dds_channel *channel, struct wh_dds_topic *topic)
{
	struct wh_dds_entry *entry = wh_dds_take_room(in, sizeof(*entry));

	if (entry == NULL)
		return;
	entry->writer = take_writer(in, channel, topic, true);
	entry->behind = take_flag(in);
	take_sample(in, &entry->sample);
	entry->sample.history = true;
	entry->instance = in->ok ? wh_dds_instance_find(channel, topic, entry->sample.key) : NULL;
	if (entry->instance == NULL ||
	    (entry->instance->entries == NULL && (entry->sample.change & WH_DDS_WRITE) == 0)) {
		in->ok = false;
		wh_dds_block_drop(entry->sample.block);
		free(entry);
		return;
	}
	wh_dds_entry_hang(entry);
}

static void take_history(struct wh_dds_in *in, struct wh_dds_channel *channel, struct wh_dds_topic *topic)
{
	uint64_t count = take_count(in, 8, 32);

	in->ok = in->ok && (count == 0 || !channel->config.unordered);
	for (uint64_t i = 0; in->ok && i < count; i++)
		take_instance(in, channel, topic);
	count = take_count(in, 8, 32);
	for (uint64_t i = 0; in->ok && i < count; i++)
		take_entry(in, channel, topic);
	for (struct wh_dds_instance *it = topic->instances; in->ok && it != NULL; it = it->next)
		in->ok = it->claims != NULL || it->entries != NULL;
	in->ok = in->ok && (topic->entries != NULL || topic->readers.count > 0 || topic->writers.count > 0);
}

/* The claims of a writer are those that its instances have said, in this order. */
static void take_claim_order(struct wh_dds_in *in, struct wh_dds_channel *channel, struct wh_dds_endpoint *writer)
{
	uint32_t count = (uint32_t)take_count(in, 4, WH_DDS_KEY_BYTES), had = 0;
	struct wh_dds_claim *last = NULL;

	for (const struct wh_dds_claim *claim = writer->claims; claim != NULL; claim = claim->writer_next)
		had++;
	in->ok = in->ok && had == count;
	for (uint32_t i = 0; in->ok && i < count; i++) {
		unsigned char key[WH_DDS_KEY_BYTES] = {0};
		struct wh_dds_instance *instance;
		struct wh_dds_claim *claim;

		take_key(in, key);
		instance = wh_dds_instance_find(channel, writer->topic, key);
		claim = instance != NULL ? wh_dds_claim_find(instance, writer) : NULL;
		if (claim == NULL || claim->told != 0) { /* twice */
			in->ok = false;
			return;
		}
		claim->told = 1;
		claim->writer_prev = last;
		*(last != NULL ? &last->writer_next : &writer->claims) = claim;
		last = claim;
	}
	if (!in->ok)
		return;
	writer->claims_end = last;
	*(last != NULL ? &last->writer_next : &writer->claims) = NULL;
	for (struct wh_dds_claim *claim = writer->claims; claim != NULL; claim = claim->writer_next)
		claim->told = 0;
}

static void take_set(struct wh_dds_in *in, struct wh_dds_channel *channel, struct wh_dds_set ***end)
{
	struct wh_dds_set *set = wh_dds_take_room(in, sizeof(*set));
	uint32_t count;

	if (set == NULL)
		return;
	**end = set;
	*end = &set->next;
	wh_dds_take_id(in, &set->publisher);
	set->broken = take_flag(in);
	set->dropped = wh_dds_take(in, 8);
	count = (uint32_t)wh_dds_take_within(in, 4, 0, set->broken ? 0 : WH_DDS_SET_SAMPLES_MAX);
	set->items = wh_dds_take_room(in, count * sizeof(*set->items));
	set->room = set->items != NULL ? count : 0;
	in->ok = in->ok && wh_dds_member_find(channel, set->publisher.node, set->publisher.incarnation) != NULL;
	for (uint32_t i = 0; in->ok && i < count; i++) {
		struct wh_dds_item *item = &set->items[set->count++];

		item->writer = take_writer(in, channel, NULL, false);
		take_sample(in, &item->sample);
		in->ok = in->ok && wh_dds_set_of(channel, item->writer) == set;
		set->bytes += item->sample.count;
	}
}

enum whorl_result wh_dds_channel_restore(struct wh_dds_channel *channel, const void *bytes, size_t count,
					 int64_t now_ns)
{
	struct wh_dds_in in = {.at = bytes, .left = count, .ok = true};
	struct wh_dds_channel_config config = channel->config;
	struct wh_dds_set **end = &channel->sets;
	uint32_t sets;

	channel->config.tell = NULL;
	channel->now_ns = now_ns;
	channel->look_ns = INT64_MIN;
	take_head(&in, channel);
	take_topics(&in, channel);
	take_endpoints(&in, channel);
	for (struct wh_dds_topic *topic = channel->topics; in.ok && topic != NULL; topic = topic->next)
		take_history(&in, channel, topic);
	for (uint32_t i = 0; in.ok && i < channel->ended.count; i++)
		in.ok = channel->ended.all[i]->entries > 0;
	for (uint32_t i = 0; in.ok && i < channel->endpoints.count; i++)
		take_claim_order(&in, channel, channel->endpoints.all[i]);
	sets = (uint32_t)take_count(&in, 4, 24);
	for (uint32_t i = 0; in.ok && i < sets; i++)
		take_set(&in, channel, &end);
	channel->config = config;
	return wh_dds_in_end(&in);
}
