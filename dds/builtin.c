/* builtin.c - readers of what there is in the domain: participants and topics, as the registry has them, writers and readers, as the channels have
 * them. See node.h, and docs/decisions/0052, "What there is in the domain".
 *
 * Nothing writes these topics: each member makes samples of what its machines tell, so they come in the order of the machine that they are
 * of. A reader of endpoints is told of a channel as a whole when it first meets it, and then of what changes; so that it meets all, its process
 * enters all channels that topics are on.
 *
 * A sample points to policies, and names: they belong to its block, and go with it.
 */
#include <stdlib.h>
#include <string.h>

#include "base/env.h"
#include "dds/node.h"

#define AGAIN_NS (20 * WH_NS_PER_MS) /* after a channel could not be entered */

struct wh_dds_builtin_reader {
	struct wh_dds_reader_entity reader;
	struct wh_dds_topic_entity topic; /* has the number of the built-in one for a handle, and is in no table */
	whorl_dds_entity number;          /* [const] */
	struct wh_dds_pool *pool;         /* [the reader's lock] */
	/* [watching] */
	struct wh_dds_builtin_reader *next;
	const struct wh_dds_line **met; /* lines of which it has been told */
	size_t met_count, met_room;
};

/* ---- types --------------------------------------------------------------------------------------------------------------------- */

#define KIND_OF_SAMPLE(type_)                                                                                          \
	static const struct whorl_dds_key type_##_key = {offsetof(struct whorl_dds_##type_, handle),                   \
							 sizeof(whorl_dds_instance_handle)};                           \
	static const struct whorl_dds_type type_ = {.size = sizeof(struct whorl_dds_type),                             \
						    .name = #type_,                                                    \
						    .bytes = sizeof(struct whorl_dds_##type_),                         \
						    .align = _Alignof(struct whorl_dds_##type_),                       \
						    .key_count = 1,                                                    \
						    .keys = &type_##_key}

KIND_OF_SAMPLE(builtin_participant);
KIND_OF_SAMPLE(builtin_topic);
KIND_OF_SAMPLE(builtin_endpoint);

static const struct whorl_dds_type *type_of(whorl_dds_entity number)
{
	if (number == WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT)
		return &builtin_participant;
	return number == WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC ? &builtin_topic : &builtin_endpoint;
}

bool wh_dds_is_builtin(whorl_dds_entity topic)
{
	return topic >= WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT && topic <= WHORL_DDS_BUILTIN_TOPIC_DCPSSUBSCRIPTION;
}

static bool is_of_endpoints(whorl_dds_entity number)
{
	return number >= WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION;
}

whorl_dds_instance_handle wh_dds_builtin_handle(const struct whorl_dds_type *type, const void *sample)
{
	whorl_dds_instance_handle handle;

	memcpy(&handle, (const unsigned char *)sample + type->keys[0].offset, sizeof(handle));
	return handle;
}

static void free_qos(const whorl_dds_qos *qos)
{
	whorl_dds_delete_qos((whorl_dds_qos *)(uintptr_t)qos); /* it was made here */
}

static void release_participant(struct wh_dds_copy *copy)
{
	free_qos(((const struct whorl_dds_builtin_participant *)(const void *)copy->data)->qos);
}

static void release_topic(struct wh_dds_copy *copy)
{
	const struct whorl_dds_builtin_topic *topic = (const struct whorl_dds_builtin_topic *)(const void *)copy->data;

	free_qos(topic->qos);
	wh_dds_type_free((struct whorl_dds_type *)(uintptr_t)topic->type);
}

static void release_endpoint(struct wh_dds_copy *copy)
{
	free_qos(((const struct whorl_dds_builtin_endpoint *)(const void *)copy->data)->qos);
}

/* ---- samples ------------------------------------------------------------------------------------------------------------------- */

/* NULL: memory is out. */
static const whorl_dds_qos *copy_qos(const struct wh_dds_policies *policies, enum wh_dds_kind kind)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();

	if (qos != NULL && wh_dds_policies_copy(&qos->policies, policies) != WHORL_DDS_RETCODE_OK) {
		whorl_dds_delete_qos(qos);
		return NULL;
	}
	if (qos == NULL)
		return NULL;
	qos->policies.set |= wh_dds_policies_of(kind);
	qos->policies.lacks = 0;
	return qos;
}

/* Room for a sample, of which all is 0, and for so many bytes of names behind it. With the reader's lock. */
static struct wh_dds_copy *begin(struct wh_dds_builtin_reader *it, uint32_t node, size_t names)
{
	size_t bytes = it->topic.type->bytes;
	struct wh_dds_copy *copy = wh_dds_copy_take(it->pool, bytes + names);

	if (copy == NULL)
		return NULL;
	memset(copy->data, 0, bytes + names);
	copy->bytes = bytes;
	copy->facts = (struct wh_dds_facts){
		.source_time = whorl_dds_now(), .reception_time = whorl_dds_now(), .writer = node};
	return copy;
}

/* What was made of it goes to the reader; NULL: memory is out. With its lock. */
static void give(struct wh_dds_builtin_reader *it, struct wh_dds_copy *copy, unsigned does)
{
	struct wh_dds_cache *cache = it->reader.cache;
	struct wh_dds_arrival arrival = {.copy = copy, .does = does, .expires_ns = WH_DDS_NEVER, .last_chance = true};

	if (copy == NULL) {
		wh_dds_cache_lose(cache, 0);
	} else {
		copy->facts.instance = wh_dds_builtin_handle(it->topic.type, copy->data);
		if (wh_dds_cache_put(cache, &arrival, wh_dds_clock()) != WH_DDS_PUT_KEPT)
			wh_dds_copy_drop(copy);
	}
	wh_dds_reader_look(&it->reader);
}

static struct wh_dds_copy *drop_half_made(struct wh_dds_copy *copy)
{
	wh_dds_copy_drop(copy);
	return NULL;
}

static struct wh_dds_copy *describe_participant(struct wh_dds_builtin_reader *it, const struct wh_dds_participant *of,
						bool is_there)
{
	const struct wh_dds_endpoint_id id = {of->incarnation, of->node, 0};
	struct wh_dds_copy *copy = begin(it, of->node, 0);
	struct whorl_dds_builtin_participant *out;

	if (copy == NULL)
		return NULL;
	out = (struct whorl_dds_builtin_participant *)(void *)copy->data;
	out->handle = wh_dds_endpoint_handle(WH_DDS_PARTICIPANT, &id);
	if (!is_there)
		return copy;
	out->size = sizeof(*out);
	out->node = of->node;
	out->incarnation = of->incarnation;
	out->qos = copy_qos(&of->policies, WH_DDS_PARTICIPANT);
	return out->qos != NULL ? copy : drop_half_made(copy);
}

static struct wh_dds_copy *describe_topic(struct wh_dds_builtin_reader *it, const struct wh_dds_named_topic *of,
					  bool is_there)
{
	size_t name = strlen(of->name) + 1, channel = strlen(of->channel) + 1;
	struct wh_dds_copy *copy = begin(it, of->first, name + channel);
	struct whorl_dds_builtin_topic *out;
	struct whorl_dds_type *type = NULL;
	char *names;

	if (copy == NULL)
		return NULL;
	out = (struct whorl_dds_builtin_topic *)(void *)copy->data;
	out->handle = wh_dds_topic_handle(of->id);
	if (!is_there)
		return copy;
	names = (char *)(out + 1);
	memcpy(names, of->name, name);
	memcpy(names + name, of->channel, channel);
	out->size = sizeof(*out);
	out->consistency = wh_dds_consistency(&of->policies);
	out->name = names;
	out->channel = names + name;
	/* What a peer has described may be no type: then it has none here. */
	if (of->description != NULL &&
	    wh_dds_type_decode(&type, of->description->bytes, of->description->count, NULL) == WHORL_DDS_RETCODE_OK)
		out->type = type;
	out->qos = copy_qos(&of->policies, WH_DDS_TOPIC);
	return out->qos != NULL ? copy : drop_half_made(copy);
}

/* How far the process of an endpoint is behind; of unordered topics 0: that is not known. With the lock of the line. */
static uint64_t behind_of(const struct wh_dds_line *line, const struct wh_dds_endpoint *endpoint)
{
	struct whorl_subgroup_stats stats = {.size = sizeof(stats)};

	if (endpoint->kind != WH_DDS_READER || line->stream || line == line->node->loose ||
	    wh_dds_subgroup_of(line) == NULL || whorl_subgroup_statistics(wh_dds_subgroup_of(line), &stats) != WHORL_OK)
		return 0;
	if (endpoint->id.node == line->node->id)
		return stats.received_num > stats.delivered_num ? stats.received_num - stats.delivered_num : 0;
	return endpoint->id.node == stats.slowest_member ? stats.slowest_behind : 0;
}

/* "": this member does not have the topic in its registry yet. With the lock of the control channel, too. */
static void name_type(struct wh_dds_line *line, const struct wh_dds_endpoint *of, char name[WHORL_DDS_NAME_BYTES])
{
	const struct wh_dds_registry *registry = line->node->control->registry;
	const struct wh_dds_named_topic *topic =
		registry != NULL ? wh_dds_registry_find(registry, wh_dds_topic_name(of->topic)) : NULL;

	name[0] = '\0';
	if (topic != NULL)
		memcpy(name, topic->type, strlen(topic->type) + 1);
	line->unnamed = line->unnamed || topic == NULL;
}

bool wh_dds_describe_endpoint(const struct wh_dds_line *line, const struct wh_dds_endpoint *of, const char *type_name,
			      struct whorl_dds_builtin_endpoint *out)
{
	const struct wh_dds_endpoint_id participant = {of->id.incarnation, of->id.node, 0};
	const char *topic_name = wh_dds_topic_name(of->topic);
	char *names = (char *)(out + 1);
	size_t name = strlen(topic_name) + 1;

	memcpy(names, topic_name, name);
	memcpy(names + name, type_name, strlen(type_name) + 1);
	*out = (struct whorl_dds_builtin_endpoint){.size = sizeof(*out),
						   .node = of->id.node,
						   .handle = wh_dds_endpoint_handle(of->kind, &of->id),
						   .participant =
							   wh_dds_endpoint_handle(WH_DDS_PARTICIPANT, &participant),
						   .topic = wh_dds_topic_handle(wh_dds_topic_number(of->topic)),
						   .topic_name = names,
						   .type_name = names + name,
						   .qos = copy_qos(&of->policies, of->kind),
						   .behind = behind_of(line, of)};
	return out->qos != NULL;
}

static struct wh_dds_copy *describe_endpoint(struct wh_dds_builtin_reader *it, struct wh_dds_line *line,
					     const struct wh_dds_endpoint *of, const char *type_name, bool is_there)
{
	struct wh_dds_copy *copy = begin(it, of->id.node, strlen(wh_dds_topic_name(of->topic)) + strlen(type_name) + 2);
	struct whorl_dds_builtin_endpoint *out;

	if (copy == NULL)
		return NULL;
	out = (struct whorl_dds_builtin_endpoint *)(void *)copy->data;
	out->handle = wh_dds_endpoint_handle(of->kind, &of->id);
	return !is_there || wh_dds_describe_endpoint(line, of, type_name, out) ? copy : drop_half_made(copy);
}

/* ---- what comes and goes ------------------------------------------------------------------------------------------------------- */

static unsigned does(bool is_there)
{
	return is_there ? WH_DDS_DOES_DATA : WH_DDS_DOES_DISPOSE;
}

static void tell_participant(struct wh_dds_builtin_reader *it, const struct wh_dds_participant *of, bool is_there)
{
	pthread_mutex_lock(&it->reader.end.base.lock);
	if (it->reader.cache != NULL)
		give(it, describe_participant(it, of, is_there), does(is_there));
	pthread_mutex_unlock(&it->reader.end.base.lock);
}

static void tell_topic(struct wh_dds_builtin_reader *it, const struct wh_dds_named_topic *of, bool is_there)
{
	pthread_mutex_lock(&it->reader.end.base.lock);
	if (it->reader.cache != NULL)
		give(it, describe_topic(it, of, is_there), does(is_there));
	pthread_mutex_unlock(&it->reader.end.base.lock);
}

static void tell_endpoint(struct wh_dds_builtin_reader *it, struct wh_dds_line *line, const struct wh_dds_endpoint *of,
			  bool is_there)
{
	char type_name[WHORL_DDS_NAME_BYTES];

	if ((of->kind == WH_DDS_WRITER) != (it->number == WHORL_DDS_BUILTIN_TOPIC_DCPSPUBLICATION))
		return;
	name_type(line, of, type_name);
	pthread_mutex_lock(&it->reader.end.base.lock);
	if (it->reader.cache != NULL)
		give(it, describe_endpoint(it, line, of, type_name, is_there), does(is_there));
	pthread_mutex_unlock(&it->reader.end.base.lock);
}

static void ask_to_enter(struct wh_dds_node *node, uint64_t due_ns)
{
	wh_store_release(&node->enters, 1); /* partner: wh_dds_builtin_work */
	wh_dds_work_due(node, due_ns);
}

void wh_dds_builtin_registry(struct wh_dds_node *node, const struct wh_dds_registry_event *event)
{
	bool is_there = event->what != WH_DDS_PARTICIPANT_GONE && event->what != WH_DDS_TOPIC_GONE;

	if (event->what == WH_DDS_REGISTERED || event->what == WH_DDS_TOPIC_DIFFERS)
		return;
	if (event->what == WH_DDS_TOPIC_NEW)
		ask_to_enter(node, 0);
	pthread_mutex_lock(&node->watching);
	for (struct wh_dds_builtin_reader *it = node->builtins; it != NULL; it = it->next)
		if (event->participant != NULL && it->number == WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT)
			tell_participant(it, event->participant, is_there);
		else if (event->topic != NULL && it->number == WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC)
			tell_topic(it, event->topic, is_there);
	pthread_mutex_unlock(&node->watching);
}

static bool has_met(const struct wh_dds_builtin_reader *it, const struct wh_dds_line *line)
{
	for (size_t i = 0; i < it->met_count; i++)
		if (it->met[i] == line)
			return true;
	return false;
}

/* If there is no memory to note it, it is told again. */
static void note_met(struct wh_dds_builtin_reader *it, const struct wh_dds_line *line)
{
	if (it->met_count == it->met_room) {
		size_t room = 2 * it->met_room + 8;
		const struct wh_dds_line **met = realloc((void *)it->met, room * sizeof(*met));

		if (met == NULL)
			return;
		it->met = met;
		it->met_room = room;
	}
	it->met[it->met_count++] = line;
}

/* All of a channel. With its lock, and `watching`. */
static void tell_all(struct wh_dds_builtin_reader *it, struct wh_dds_line *line)
{
	const struct wh_dds_endpoint *of;

	if (!has_met(it, line))
		note_met(it, line);
	for (uint32_t i = 0; (of = wh_dds_channel_endpoint(line->channel, i)) != NULL; i++)
		tell_endpoint(it, line, of, true);
}

/* Names of types are the registry's. One that begins to watch meanwhile lists the line behind this: its lock is held. */
static bool begin_telling(struct wh_dds_node *node)
{
	if (wh_load_relaxed(&node->watchers) == 0)
		return false;
	pthread_mutex_lock(&node->control->lock);
	pthread_mutex_lock(&node->watching);
	return true;
}

static void end_telling(struct wh_dds_node *node)
{
	pthread_mutex_unlock(&node->watching);
	pthread_mutex_unlock(&node->control->lock);
}

/* What a log is read for again was then: what is left of it is told as a whole. */
static bool is_past(const struct wh_dds_line *line)
{
	return line->shape.durable && !line->ready;
}

void wh_dds_builtin_endpoint(struct wh_dds_line *line, const struct wh_dds_endpoint *endpoint, bool is_there)
{
	if (is_past(line) || !begin_telling(line->node))
		return;
	for (struct wh_dds_builtin_reader *it = line->node->builtins; it != NULL; it = it->next) {
		bool met = has_met(it, line);

		if (!is_of_endpoints(it->number))
			continue;
		if (!met)
			tell_all(it, line); /* of this one, too */
		if (met || !is_there)
			tell_endpoint(it, line, endpoint, is_there);
	}
	end_telling(line->node);
}

/* With the lock of the line. */
static void list(struct wh_dds_line *line, bool again)
{
	if (line->channel == NULL || is_past(line) || !begin_telling(line->node))
		return;
	for (struct wh_dds_builtin_reader *it = line->node->builtins; it != NULL; it = it->next)
		if (is_of_endpoints(it->number) && (again || !has_met(it, line)))
			tell_all(it, line);
	end_telling(line->node);
}

void wh_dds_builtin_list(struct wh_dds_line *line)
{
	list(line, false);
}

/* ---- entering ------------------------------------------------------------------------------------------------------------------ */

/* The channel of topic `at` of the registry. False: there are no more. */
bool wh_dds_channel_at(struct wh_dds_node *node, uint32_t at, char channel[WH_DDS_CHANNEL_NAME_BYTES + 1])
{
	const struct wh_dds_named_topic *topic = NULL;

	pthread_mutex_lock(&node->control->lock);
	if (node->control->registry != NULL)
		topic = wh_dds_registry_topic(node->control->registry, at);
	if (topic != NULL)
		memcpy(channel, topic->channel, strlen(topic->channel) + 1);
	pthread_mutex_unlock(&node->control->lock);
	return topic != NULL;
}

/* A channel of logged topics that nobody is in has no endpoints, and is left to lie. It is asked again with each view. */
bool wh_dds_is_dormant(struct wh_dds_node *node, const char *channel, const struct wh_dds_shape *shape)
{
	uint32_t ids[1], count = 1;

	return shape->durable && (whorl_shard_members(node->whorl, channel, 0, ids, &count) != WHORL_OK || count == 0);
}

void wh_dds_builtin_view(struct wh_dds_node *node)
{
	if (node->logs && wh_load_relaxed(&node->watchers) > 0)
		ask_to_enter(node, 0);
}

/* All channels that topics are on, as far as this version knows them. */
static whorl_dds_return enter_all(const char *function, struct wh_dds_node *node)
{
	char channel[WH_DDS_CHANNEL_NAME_BYTES + 1];
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;
	struct wh_dds_shape shape;
	struct wh_dds_line *line;

	for (uint32_t at = 0; result == WHORL_DDS_RETCODE_OK && wh_dds_channel_at(node, at, channel); at++)
		if (wh_dds_shape_of(&node->settings, channel, &shape) && !wh_dds_is_dormant(node, channel, &shape))
			result = wh_dds_node_line(function, node, channel, &line);
	return result;
}

void wh_dds_builtin_work(struct wh_dds_node *node)
{
	if (wh_load_relaxed(&node->enters) == 0 || wh_exchange(&node->enters, 0) == 0) /* partner: ask_to_enter */
		return;
	if (wh_load_relaxed(&node->watchers) == 0 || !wh_dds_node_call(node))
		return;
	if (enter_all(__func__, node) != WHORL_DDS_RETCODE_OK)
		ask_to_enter(node, wh_dds_clock() + AGAIN_NS);
	for (struct wh_dds_line *line = wh_dds_node_lines(node); line != NULL; line = line->next) {
		pthread_mutex_lock(&line->lock);
		if (line->unnamed) {
			line->unnamed = false;
			list(line, true);
		}
		pthread_mutex_unlock(&line->lock);
	}
	wh_dds_node_called(node);
}

/* ---- the reader ---------------------------------------------------------------------------------------------------------------- */

static void unlink_builtin(struct wh_dds_builtin_reader *it)
{
	struct wh_dds_node *node = it->reader.end.base.node;
	struct wh_dds_builtin_reader **at = &node->builtins;

	pthread_mutex_lock(&node->watching);
	while (*at != NULL && *at != it)
		at = &(*at)->next;
	if (*at != NULL) {
		*at = it->next;
		(void)wh_fetch_add(&node->watchers, is_of_endpoints(it->number) ? UINT64_MAX : 0);
	}
	pthread_mutex_unlock(&node->watching);
}

static void close_builtin(struct wh_dds_entity *entity)
{
	unlink_builtin((struct wh_dds_builtin_reader *)(void *)entity);
	wh_dds_reader_close(entity);
}

static void free_builtin(struct wh_dds_entity *entity)
{
	struct wh_dds_builtin_reader *it = (struct wh_dds_builtin_reader *)(void *)entity;
	struct wh_dds_pool *pool = it->pool;

	free((void *)it->met);
	pthread_mutex_destroy(&it->topic.base.lock);
	wh_dds_reader_free(entity);
	wh_dds_pool_close(pool);
}

static const struct wh_dds_entity_ops builtin_ops = {.close = close_builtin, .free = free_builtin};

/* RELIABLE, TRANSIENT_LOCAL, KEEP_LAST 1; what `qos` sets must say the same. */
static whorl_dds_return fix_policies(const char *function, const whorl_dds_qos *qos, struct wh_dds_policies *out)
{
	enum whorl_dds_policy_id id = WHORL_DDS_POLICY_INVALID;
	struct wh_dds_policies said;
	uint64_t differ = 0;

	wh_dds_policies_init(out, WH_DDS_READER);
	out->reliability.kind = WHORL_DDS_RELIABILITY_RELIABLE;
	out->durability = WHORL_DDS_DURABILITY_TRANSIENT_LOCAL;
	if (qos == NULL)
		return WHORL_DDS_RETCODE_OK;
	if (wh_dds_policies_copy(&said, &qos->policies) != WHORL_DDS_RETCODE_OK)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	said.reliability.max_blocking_ns = out->reliability.max_blocking_ns; /* it is a writer's */
	(void)wh_dds_policies_equal(&said, out, &differ);
	differ &= said.set & wh_dds_policies_of(WH_DDS_READER);
	wh_dds_policies_free(&said);
	if (differ == 0)
		return WHORL_DDS_RETCODE_OK;
	id = (enum whorl_dds_policy_id)__builtin_ctzll(differ);
	return wh_dds_say(function, WHORL_DDS_RETCODE_UNSUPPORTED,
			  "%s: readers of built-in topics are reliable, transient_local, and keep the last",
			  wh_dds_policy_name(id));
}

/* NULL: memory is out. */
static struct wh_dds_builtin_reader *new_builtin(whorl_dds_entity number, struct wh_dds_policies *policies)
{
	static void (*const releases[])(struct wh_dds_copy *) = {release_participant, release_topic, release_endpoint,
								 release_endpoint};
	struct wh_dds_builtin_reader *it = calloc(1, sizeof(*it));
	struct wh_dds_cache_options options = {.policies = policies, .keyed = true};

	if (it == NULL)
		return NULL;
	options.statuses = &it->reader.end.base.statuses;
	it->pool = wh_dds_pool_create((size_t)1 << 16);
	it->reader.cache = it->pool != NULL ? wh_dds_cache_create(&options) : NULL;
	if (it->reader.cache == NULL) {
		wh_dds_pool_close(it->pool);
		free(it);
		return NULL;
	}
	wh_dds_pool_owns(it->pool, releases[number - WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT]);
	pthread_mutex_init(&it->topic.base.lock, NULL);
	it->number = number;
	it->topic.builtin = true;
	it->topic.base.entity.handle = number;
	it->topic.type = (struct whorl_dds_type *)(uintptr_t)type_of(number);
	it->reader.end.topic = &it->topic;
	it->reader.end.base.policies = *policies;
	return it;
}

/* From here on it is told of what comes; of what is there, now. */
static void begin_watching(struct wh_dds_builtin_reader *it, struct wh_dds_node *node)
{
	const struct wh_dds_registry *registry;
	const struct wh_dds_participant *participant;
	const struct wh_dds_named_topic *topic;

	pthread_mutex_lock(&node->control->lock); /* nothing comes meanwhile */
	registry = node->control->registry;
	for (uint32_t i = 0; it->number == WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT &&
			     (participant = wh_dds_registry_participant(registry, i)) != NULL;
	     i++)
		tell_participant(it, participant, true);
	for (uint32_t i = 0;
	     it->number == WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC && (topic = wh_dds_registry_topic(registry, i)) != NULL;
	     i++)
		tell_topic(it, topic, true);
	pthread_mutex_lock(&node->watching);
	it->next = node->builtins;
	node->builtins = it;
	(void)wh_fetch_add(&node->watchers, is_of_endpoints(it->number));
	pthread_mutex_unlock(&node->watching);
	pthread_mutex_unlock(&node->control->lock);
}

static whorl_dds_return watch(const char *function, struct wh_dds_builtin_reader *it, struct wh_dds_node *node)
{
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	if (!wh_dds_node_call(node))
		return wh_dds_say(function, WHORL_DDS_RETCODE_ALREADY_DELETED, "the participant has been deleted");
	begin_watching(it, node);
	if (is_of_endpoints(it->number)) {
		result = enter_all(function, node);
		for (struct wh_dds_line *line = wh_dds_node_lines(node); line != NULL; line = line->next) {
			pthread_mutex_lock(&line->lock);
			wh_dds_builtin_list(line);
			pthread_mutex_unlock(&line->lock);
		}
	}
	wh_dds_node_called(node);
	return result;
}

static whorl_dds_return make_builtin(const char *function, struct wh_dds_base *parent, whorl_dds_entity number,
				     const whorl_dds_qos *qos, const whorl_dds_listener *listener)
{
	struct wh_dds_policies policies;
	struct wh_dds_builtin_reader *it;
	struct wh_dds_base *base;
	whorl_dds_return result = fix_policies(function, qos, &policies);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	it = new_builtin(number, &policies);
	if (it == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	base = &it->reader.end.base;
	base->number = wh_dds_node_number(parent->node);
	result = wh_dds_base_begin(function, base, WH_DDS_READER, parent->node, parent, &builtin_ops, listener);
	if (result != WHORL_DDS_RETCODE_OK) {
		free_builtin(&base->entity);
		return result;
	}
	return wh_dds_base_made(base, watch(function, it, parent->node));
}

whorl_dds_entity wh_dds_builtin_create(const char *function, whorl_dds_entity parent, whorl_dds_entity topic,
				       const whorl_dds_qos *qos, const whorl_dds_listener *listener)
{
	struct wh_dds_base *group;
	whorl_dds_return result;

	if (listener != NULL && listener->in_place != NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_UNSUPPORTED, "no reader of a built-in topic is in place");
	result = wh_dds_endpoint_parent(function, parent, WH_DDS_READER, NULL, NULL, &group);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	result = make_builtin(function, group, topic, qos, listener);
	if (result < 0 && group->alone)
		(void)wh_dds_entity_delete(&group->entity);
	wh_dds_let_go(group);
	return result;
}
