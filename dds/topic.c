/* topic.c - topics: see node.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

#define BYTES_MAX 500000 /* of a sample of bytes of any number: what a channel for large samples takes */

const struct whorl_dds_type *whorl_dds_bytes_type(void)
{
	static const struct whorl_dds_type type = {.size = sizeof(type),
						   .name = "bytes",
						   .align = 16,
						   .flags = WHORL_DDS_TYPE_BYTES,
						   .bytes_max = BYTES_MAX};

	return &type;
}

/* ---- ends ---------------------------------------------------------------------------------------------------------------------- */

static void say_drop(struct wh_dds_node *node, const struct wh_dds_topic_entity *topic)
{
	struct wh_dds_out out = {.bytes = NULL};

	if (!topic->registered || !wh_dds_node_call(node))
		return; /* where the node goes, its uses do */
	wh_dds_put_drop(&out, topic->id);
	(void)wh_dds_line_send(__func__, node->control, &out, wh_dds_until(1000000000), NULL);
	wh_dds_node_called(node);
}

static void free_topic(struct wh_dds_entity *entity)
{
	struct wh_dds_topic_entity *topic = (struct wh_dds_topic_entity *)(void *)entity;

	say_drop(topic->base.node, topic);
	wh_dds_type_free(topic->type);
	free(topic->name);
	wh_dds_filter_put(topic->filter);
	wh_dds_base_free(&topic->base);
	free(topic);
}

void wh_dds_topic_differs(struct wh_dds_node *node, uint64_t topic)
{
	for (struct wh_dds_topic_entity *it = node->topics; it != NULL; it = it->next_topic) {
		if (it->id != topic)
			continue;
		pthread_mutex_lock(&it->base.lock);
		wh_dds_status_inconsistent_topic(&it->base.statuses);
		wh_dds_base_changed(&it->base);
		pthread_mutex_unlock(&it->base.lock);
	}
}

/* Unless another thread has deleted it already: that takes it off the list, and it may have been there before. */
static void list_topic(struct wh_dds_node *node, struct wh_dds_topic_entity *topic)
{
	struct wh_dds_base *held;

	pthread_mutex_lock(&node->control->lock);
	if (WH_DDS_HOLD(topic->base.entity.handle, WH_DDS_KIND(WH_DDS_TOPIC), &held) == WHORL_DDS_RETCODE_OK) {
		topic->next_topic = node->topics;
		node->topics = topic;
	}
	pthread_mutex_unlock(&node->control->lock);
	wh_dds_let_go(held);
}

static void unlist_topic(struct wh_dds_node *node, const struct wh_dds_topic_entity *topic)
{
	struct wh_dds_topic_entity **at = &node->topics;

	pthread_mutex_lock(&node->control->lock);
	while (*at != NULL && *at != topic)
		at = &(*at)->next_topic;
	if (*at != NULL)
		*at = topic->next_topic;
	pthread_mutex_unlock(&node->control->lock);
}

static void close_topic(struct wh_dds_entity *entity)
{
	struct wh_dds_base *base = (struct wh_dds_base *)(void *)entity;

	unlist_topic(base->node, (struct wh_dds_topic_entity *)base);
	wh_dds_listener_await(base);
	wh_dds_condition_close(&base->condition.condition);
}

static const struct wh_dds_entity_ops topic_ops = {.close = close_topic, .free = free_topic};

/* ---- registering --------------------------------------------------------------------------------------------------------------- */

static bool is_name(const char *name)
{
	size_t length = 0;

	for (; length < WHORL_DDS_NAME_BYTES && name[length] != '\0'; length++)
		if (name[length] <= ' ' || name[length] > '~' || strchr("\"'*?[]", name[length]) != NULL)
			return false;
	return length > 0 && length < WHORL_DDS_NAME_BYTES;
}

static struct wh_dds_block *describe(const struct whorl_dds_type *type)
{
	struct wh_dds_out out = {.bytes = NULL};
	struct wh_dds_block *block = NULL;

	wh_dds_type_encode(type, &out);
	if (!out.failed && out.count <= WH_DDS_DESCRIPTION_BYTES)
		block = wh_dds_block_new(out.bytes, (uint32_t)out.count);
	wh_dds_out_free(&out);
	return block;
}

static whorl_dds_return explain(const char *function, const struct wh_dds_topic_entity *topic,
				const struct wh_dds_asked *asked, whorl_dds_return result)
{
	if (!asked->done)
		return result; /* it has its words */
	if (asked->text[0] != '\0')
		return wh_dds_say(function, result, "%s", asked->text);
	if (asked->policy != WHORL_DDS_POLICY_INVALID)
		return wh_dds_say(function, result, "topic %s: %s", topic->name, wh_dds_policy_name(asked->policy));
	return wh_dds_say(function, result, "topic %s: %s", topic->name, whorl_dds_strretcode(result));
}

/* Says that this process uses it, and waits for what it is. */
static whorl_dds_return register_topic(const char *function, struct wh_dds_node *node,
				       struct wh_dds_topic_entity *topic, const char *channel)
{
	struct wh_dds_registration registration = {.ticket = wh_dds_node_number(node),
						   .name = topic->name,
						   .channel = channel,
						   .type = topic->type->name[0] != '\0' ? topic->type->name : "?",
						   .type_hash = topic->type->hash,
						   .keyed = wh_dds_type_is_keyed(topic->type),
						   .description = describe(topic->type),
						   .policies = &topic->base.policies};
	struct wh_dds_asked asked = {.number = registration.ticket, .registration = &registration};
	struct wh_dds_out out = {.bytes = NULL};
	whorl_dds_return result;

	wh_dds_put_registration(&out, &registration);
	result = wh_dds_line_ask(function, node->control, &out, &asked);
	wh_dds_block_drop(registration.description);
	if (result == WHORL_DDS_RETCODE_OK) {
		topic->registered = true;
		topic->id = asked.topic;
		memcpy(topic->channel, asked.channel, sizeof(topic->channel));
		topic->terms = wh_dds_terms_of(&asked.policies, topic->type->hash, registration.keyed);
	} else {
		result = explain(function, topic, &asked, result);
	}
	wh_dds_policies_free(&asked.policies);
	return result;
}

static whorl_dds_return begin_topic(const char *function, struct wh_dds_topic_entity *topic, const char *channel,
				    struct wh_dds_base *participant, const whorl_dds_listener *listener)
{
	struct wh_dds_line *line = NULL;
	whorl_dds_return result;

	result = register_topic(function, participant->node, topic, channel);
	/* What is kept without its writers is kept by those that use the topic. */
	if (result == WHORL_DDS_RETCODE_OK && topic->base.policies.durability >= WHORL_DDS_DURABILITY_TRANSIENT)
		result = wh_dds_node_line(function, participant->node, topic->channel, &line);
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_base_begin(function, &topic->base, WH_DDS_TOPIC, participant->node, participant,
					   &topic_ops, listener);
	if (result == WHORL_DDS_RETCODE_OK)
		list_topic(participant->node, topic);
	return result;
}

/* As others have it, if there are others, or if they were faster. */
static whorl_dds_return begin_agreed(const char *function, struct wh_dds_topic_entity *topic, bool has_hash,
				     char *channel, struct wh_dds_base *participant, const whorl_dds_listener *listener)
{
	struct wh_dds_node *node = participant->node;
	whorl_dds_return result;

	(void)wh_dds_topic_agree(node, topic, has_hash, channel);
	result = begin_topic(function, topic, channel, participant, listener);
	if (result == WHORL_DDS_RETCODE_PRECONDITION_NOT_MET && !topic->registered &&
	    wh_dds_topic_agree(node, topic, has_hash, channel))
		result = begin_topic(function, topic, channel, participant, listener);
	return result;
}

/* Nothing of it is known to others, or what is goes. */
static void undo_topic(struct wh_dds_topic_entity *topic, struct wh_dds_node *node)
{
	say_drop(node, topic);
	wh_dds_type_free(topic->type);
	free(topic->name);
	if (topic->base.node != NULL)
		wh_dds_base_free(&topic->base);
	else
		wh_dds_policies_free(&topic->base.policies);
	free(topic);
}

static whorl_dds_return fill_topic(const char *function, struct wh_dds_topic_entity *topic,
				   const struct wh_dds_node *node, const struct whorl_dds_type *type, const char *name,
				   const whorl_dds_qos *qos, char channel[WH_DDS_CHANNEL_NAME_BYTES + 1])
{
	enum whorl_dds_consistency_kind consistency;
	struct wh_error err;
	whorl_dds_return result;

	wh_error_clear(&err);
	result = wh_dds_type_new(&topic->type, type, &err);
	if (result != WHORL_DDS_RETCODE_OK)
		return wh_dds_say(function, result, "%s", err.text);
	topic->name = strdup(name);
	if (topic->name == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	result = wh_dds_policies_begin(function, &topic->base.policies, WH_DDS_TOPIC, qos);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	consistency = wh_dds_consistency(&topic->base.policies);
	if (consistency == WHORL_DDS_CONSISTENCY_LOGGED)
		result = wh_dds_node_has_logs(function, node, "topic", name);
	return result == WHORL_DDS_RETCODE_OK
		       ? wh_dds_channel_of(function, &node->settings, name, topic->type, consistency, channel)
		       : result;
}

/* ---- finding ------------------------------------------------------------------------------------------------------------------- */

/* Copies what is registered. With the control line's lock. */
static whorl_dds_return copy_named(const char *function, struct wh_dds_topic_entity *topic,
				   const struct wh_dds_named_topic *named)
{
	struct wh_error err;

	wh_error_clear(&err);
	if (named->description == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_UNSUPPORTED, "topic %s has no type that others can read",
				  named->name);
	if (wh_dds_type_decode(&topic->type, named->description->bytes, named->description->count, &err) !=
	    WHORL_DDS_RETCODE_OK)
		return wh_dds_say(function, WHORL_DDS_RETCODE_ERROR, "topic %s: %s", named->name, err.text);
	topic->name = strdup(named->name);
	if (topic->name == NULL ||
	    wh_dds_policies_copy(&topic->base.policies, &named->policies) != WHORL_DDS_RETCODE_OK)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	return WHORL_DDS_RETCODE_OK;
}

static whorl_dds_return await_named(const char *function, struct wh_dds_node *node, struct wh_dds_topic_entity *topic,
				    const char *name, uint64_t until)
{
	struct wh_dds_line *line = node->control;
	const struct wh_dds_named_topic *named;
	whorl_dds_return result;

	pthread_mutex_lock(&line->lock);
	while ((named = wh_dds_registry_find(line->registry, name)) == NULL && !line->broken &&
	       !wh_dds_node_closes(node) && wh_dds_wait(&line->changed, &line->lock, until))
		;
	if (named != NULL)
		result = copy_named(function, topic, named);
	else
		result = wh_dds_say(function, WHORL_DDS_RETCODE_TIMEOUT, "there is no topic %s", name);
	pthread_mutex_unlock(&line->lock);
	return result;
}

/* ---- creating ------------------------------------------------------------------------------------------------------------------ */

/* type NULL: it is as it is registered, which is waited for until then. */
static whorl_dds_entity make_topic(const char *function, whorl_dds_entity entity, const struct whorl_dds_type *type,
				   const char *name, const whorl_dds_qos *qos, const whorl_dds_listener *listener,
				   uint64_t until)
{
	char channel[WH_DDS_CHANNEL_NAME_BYTES + 1] = WH_DDS_ANY_CHANNEL;
	struct wh_dds_base *participant;
	struct wh_dds_topic_entity *topic;
	struct wh_dds_node *node;
	whorl_dds_return result = wh_dds_hold(function, entity, WH_DDS_KIND(WH_DDS_PARTICIPANT), &participant);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	node = participant->node;
	topic = calloc(1, sizeof(*topic));
	if (topic == NULL) {
		result = wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	} else if (!wh_dds_node_call(node)) {
		result = wh_dds_say(function, WHORL_DDS_RETCODE_ALREADY_DELETED, "the participant has been deleted");
	} else {
		result = type != NULL ? fill_topic(function, topic, node, type, name, qos, channel)
				      : await_named(function, node, topic, name, until);
		if (result == WHORL_DDS_RETCODE_OK)
			result = begin_agreed(function, topic, type == NULL || type->hash != 0, channel, participant,
					      listener);
		wh_dds_node_called(node);
	}
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_base_made(&topic->base, result);
	else if (topic != NULL)
		undo_topic(topic, node);
	wh_dds_let_go(participant);
	return result;
}

whorl_dds_entity whorl_dds_create_topic(whorl_dds_entity entity, const struct whorl_dds_type *type, const char *name,
					const whorl_dds_qos *qos, const whorl_dds_listener *listener)
{
	if (wh_dds_on_loop())
		return WH_DDS_SAY(ILLEGAL_OPERATION, "not in an in-place listener");
	if (type == NULL || name == NULL || !is_name(name))
		return WH_DDS_SAY(BAD_PARAMETER,
				  "no type, or no name of 1 to 255 bytes without blanks, quotes or *?[]");
	return make_topic(__func__, entity, type, name, qos, listener, 0);
}

whorl_dds_entity whorl_dds_find_topic(whorl_dds_entity entity, const char *name, whorl_dds_duration timeout)
{
	if (wh_dds_on_loop())
		return WH_DDS_SAY(ILLEGAL_OPERATION, "not in an in-place listener");
	if (name == NULL || !is_name(name) || timeout < 0)
		return WH_DDS_SAY(BAD_PARAMETER, "no name of a topic, or a negative time-out");
	return make_topic(__func__, entity, NULL, name, NULL, NULL, wh_dds_until(timeout));
}

/* ---- asking -------------------------------------------------------------------------------------------------------------------- */

static whorl_dds_return give_text(const char *text, char *to, size_t bytes)
{
	size_t length = strlen(text), cut = length < bytes ? length : bytes - (bytes > 0);

	if (bytes > 0) {
		memcpy(to, text, cut);
		to[cut] = '\0';
	}
	return (whorl_dds_return)length;
}

static whorl_dds_return get_name(const char *function, whorl_dds_entity entity, char *name, size_t bytes, bool type)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (name == NULL && bytes > 0)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "no memory for the name");
	result = wh_dds_hold(function, entity, WH_DDS_KIND(WH_DDS_TOPIC), &base);
	if (result == WHORL_DDS_RETCODE_OK) {
		const struct wh_dds_topic_entity *topic = (struct wh_dds_topic_entity *)base;

		result = give_text(type ? topic->type->name : topic->name, name, bytes);
	}
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_get_name(whorl_dds_entity topic, char *name, size_t bytes)
{
	return get_name(__func__, topic, name, bytes, false);
}

whorl_dds_return whorl_dds_get_type_name(whorl_dds_entity topic, char *name, size_t bytes)
{
	return get_name(__func__, topic, name, bytes, true);
}

const struct whorl_dds_type *whorl_dds_get_type(whorl_dds_entity entity)
{
	const struct whorl_dds_type *type = NULL;
	struct wh_dds_base *base;

	if (WH_DDS_HOLD(entity, WH_DDS_KIND(WH_DDS_TOPIC), &base) == WHORL_DDS_RETCODE_OK)
		type = ((struct wh_dds_topic_entity *)base)->type;
	wh_dds_let_go(base);
	return type;
}

whorl_dds_return whorl_dds_set_topic_filter(whorl_dds_entity entity, whorl_dds_filter_fn *filter, void *arg,
					    whorl_dds_release_fn *release)
{
	struct wh_dds_filter *made = wh_dds_filter_new(filter, arg, release), *old = made;
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (made == NULL)
		return WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	result = WH_DDS_HOLD(entity, WH_DDS_KIND(WH_DDS_TOPIC), &base);
	if (result == WHORL_DDS_RETCODE_OK) {
		struct wh_dds_topic_entity *topic = (struct wh_dds_topic_entity *)base;

		pthread_mutex_lock(&base->lock);
		old = topic->filter;
		topic->filter = made;
		pthread_mutex_unlock(&base->lock);
	}
	wh_dds_let_go(base);
	wh_dds_filter_put(old);
	return result;
}
