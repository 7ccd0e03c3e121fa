/* topics.c - the topics that the bridge knows, with their types. See bridge.h. */
#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "bridge/bridge.h"

#define LOOKUP (INT64_C(20) * 1000000) /* for a type of another process: what is passed waits meanwhile */
#define ASKS_MAX 250                   /* times, one in a look at what there is */

/* The one type that both have. */
_Static_assert(sizeof(struct wh_ddsc_descriptor) == sizeof(dds_topic_descriptor_t), "a layout differs");
_Static_assert(offsetof(struct wh_ddsc_descriptor, ops) == offsetof(dds_topic_descriptor_t, m_ops), "a layout differs");
_Static_assert(offsetof(struct wh_ddsc_descriptor, information) == offsetof(dds_topic_descriptor_t, type_information),
	       "a layout differs");

bool wh_bridge_wants(const struct wh_bridge *bridge, const char *topic)
{
	for (size_t i = 0; i < bridge->pattern_count; i++)
		if (fnmatch(bridge->patterns[i], topic, 0) == 0)
			return true;
	return false;
}

static struct wh_bridge_topic *find(struct wh_bridge *bridge, const char *name)
{
	struct wh_bridge_topic *topic = bridge->topics;

	while (topic != NULL && strcmp(topic->name, name) != 0)
		topic = topic->next;
	return topic;
}

struct wh_bridge_topic *wh_bridge_topic_find(struct wh_bridge *bridge, const char *name)
{
	struct wh_bridge_topic *topic;

	pthread_mutex_lock(&bridge->lock);
	topic = find(bridge, name);
	if (topic != NULL && topic->asks > 0)
		topic = NULL;
	pthread_mutex_unlock(&bridge->lock);
	return topic;
}

static struct wh_bridge_topic *add(struct wh_bridge *bridge, const char *name)
{
	struct wh_bridge_topic *topic = calloc(1, sizeof(*topic)), **end = &bridge->topics;

	if (topic == NULL || (topic->name = strdup(name)) == NULL) {
		free(topic);
		return NULL;
	}
	while (*end != NULL)
		end = &(*end)->next;
	*end = topic;
	return topic;
}

static void refuse(struct wh_bridge *bridge, struct wh_bridge_topic *topic, const char *why)
{
	wh_bridge_says(bridge, "refused", NULL, topic->name, 0, why);
	wh_ddsc_kind_let_go(topic->kind);
	topic->kind = NULL;
}

/* What an endpoint says of its type. NULL: nothing, which some implementations do. */
static dds_typeinfo_t *information_of(const dds_builtintopic_endpoint_t *endpoint)
{
	const dds_typeinfo_t *information = NULL;

	/* It belongs to the endpoint. */
	if (dds_builtintopic_get_endpoint_type_info((dds_builtintopic_endpoint_t *)(uintptr_t)endpoint, &information) !=
	    DDS_RETCODE_OK)
		return NULL;
	return (dds_typeinfo_t *)(uintptr_t)information;
}

/* Asks once. False: the answer is still on its way. Else *out is what is known, or NULL. */
static bool ask(struct wh_bridge *bridge, const dds_builtintopic_endpoint_t *endpoint, dds_topic_descriptor_t **out)
{
	const dds_typeinfo_t *information = information_of(endpoint);
	dds_return_t result;

	*out = NULL;
	if (information == NULL)
		return true;
	result = dds_create_topic_descriptor(DDS_FIND_SCOPE_GLOBAL, bridge->rtps, information, LOOKUP, out);
	if (result != DDS_RETCODE_OK)
		*out = NULL;
	return result != DDS_RETCODE_TIMEOUT;
}

static void learn(struct wh_bridge *bridge, struct wh_bridge_topic *topic, const dds_builtintopic_endpoint_t *endpoint)
{
	struct wh_error err = {.text = ""};

	if (!ask(bridge, endpoint, &topic->descriptor) && topic->asks < ASKS_MAX) {
		topic->asks++;
		return;
	}
	topic->asks = 0;
	if (topic->descriptor == NULL)
		refuse(bridge, topic, "no endpoint on RTPS says what its type is (XTypes)");
	else if (wh_ddsc_kind_new(&topic->kind, (const struct wh_ddsc_descriptor *)(const void *)topic->descriptor,
				  &err) != WHORL_DDS_RETCODE_OK)
		refuse(bridge, topic, err.text[0] != '\0' ? err.text : "memory is out");
	(void)wh_fetch_add(&bridge->topic_count, 1);
}

struct wh_bridge_topic *wh_bridge_topic_learn(struct wh_bridge *bridge, const dds_builtintopic_endpoint_t *endpoint)
{
	struct wh_bridge_topic *topic;
	bool is_new;

	pthread_mutex_lock(&bridge->lock);
	topic = find(bridge, endpoint->topic_name);
	is_new = topic == NULL;
	if (is_new)
		topic = add(bridge, endpoint->topic_name);
	if (topic != NULL && (is_new || topic->asks > 0))
		learn(bridge, topic, endpoint);
	if (topic != NULL && topic->asks > 0)
		topic = NULL;
	pthread_mutex_unlock(&bridge->lock);
	return topic;
}

/* What a topic is registered with that whorl's side does not have yet: as libwhorl_ddsc does it, and how much is kept for readers that come. */
static whorl_dds_qos *topic_policies(const whorl_dds_qos *offer)
{
	whorl_dds_qos *qos = whorl_dds_create_qos();
	enum whorl_dds_history_kind kind;
	whorl_dds_duration cleanup;
	int32_t depth, samples, instances, each;

	if (qos == NULL)
		return qos;
	(void)whorl_dds_qset_consistency(qos, WHORL_DDS_CONSISTENCY_STORED);
	if (!wh_bridge_is_durable(offer))
		return qos;
	(void)whorl_dds_qset_durability(qos, WHORL_DDS_DURABILITY_TRANSIENT);
	if (whorl_dds_qget_durability_service(offer, &cleanup, &kind, &depth, &samples, &instances, &each))
		(void)whorl_dds_qset_durability_service(qos, cleanup, kind, depth, samples, instances, each);
	return qos;
}

/* With the policies that it has, if others have registered it: whether the type is the same is seen then. */
static whorl_dds_entity register_topic(struct wh_bridge *bridge, const struct wh_bridge_topic *topic,
				       const whorl_dds_qos *offer)
{
	whorl_dds_entity there = whorl_dds_find_topic(bridge->whorl, topic->name, 0), registered;
	whorl_dds_qos *qos = topic_policies(offer);

	if (there > 0)
		(void)whorl_dds_get_qos(there, qos);
	registered = whorl_dds_create_topic(bridge->whorl, &topic->kind->whorl, topic->name, qos, NULL);
	if (there > 0)
		(void)whorl_dds_delete(there);
	whorl_dds_delete_qos(qos);
	return registered;
}

bool wh_bridge_topic_open(struct wh_bridge *bridge, struct wh_bridge_topic *topic, const whorl_dds_qos *offer)
{
	pthread_mutex_lock(&bridge->lock);
	if (topic->kind != NULL && topic->rtps == 0) {
		topic->rtps = dds_create_topic(bridge->rtps, topic->descriptor, topic->name, NULL, NULL);
		if (topic->rtps < 0) {
			refuse(bridge, topic, dds_strretcode(topic->rtps));
			topic->rtps = 0;
		}
	}
	if (topic->kind != NULL && topic->whorl == 0) {
		topic->whorl = register_topic(bridge, topic, offer);
		if (topic->whorl < 0) {
			refuse(bridge, topic, whorl_dds_text());
			topic->whorl = 0;
		}
	}
	pthread_mutex_unlock(&bridge->lock);
	return topic->kind != NULL;
}

void wh_bridge_topics_free(struct wh_bridge *bridge)
{
	struct wh_bridge_topic *topic;

	while ((topic = bridge->topics) != NULL) {
		bridge->topics = topic->next;
		wh_ddsc_kind_let_go(topic->kind);
		if (topic->descriptor != NULL)
			dds_delete_topic_descriptor(topic->descriptor);
		free(topic->name);
		free(topic);
	}
}

void wh_bridge_topic_rejects(struct wh_bridge *bridge, struct wh_bridge_topic *topic, const char *why)
{
	(void)wh_fetch_add(&topic->rejected, 1);
	if (wh_exchange(&topic->has_said_rejection, 1) == 0)
		wh_bridge_says(bridge, "rejects", NULL, topic->name, 0, why);
}
