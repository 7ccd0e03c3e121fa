/* endpoint.c - what writers and readers have in common: their announcement and its verdict, their end, their matches. See node.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/node.h"

#define END_NS INT64_C(1000000000) /* how long an end is waited for */

static struct wh_dds_endpoint_id id_of(const struct wh_dds_endpoint_entity *end)
{
	return (struct wh_dds_endpoint_id){wh_load_acquire(&end->base.node->incarnation), /* partner: on_view */
					   end->base.node->id, end->base.number};
}

struct wh_dds_endpoint *wh_dds_machine_of(const struct wh_dds_endpoint_entity *end)
{
	struct wh_dds_endpoint_id id = id_of(end);

	return end->line->channel != NULL ? wh_dds_channel_find(end->line->channel, end->base.entity.kind, &id) : NULL;
}

/* ---- beginning ----------------------------------------------------------------------------------------------------------------- */

whorl_dds_return wh_dds_endpoint_parent(const char *function, whorl_dds_entity handle, enum wh_dds_kind kind,
					struct wh_dds_topic_entity *topic, const whorl_dds_qos *qos,
					struct wh_dds_base **out)
{
	enum wh_dds_kind group = kind == WH_DDS_WRITER ? WH_DDS_PUBLISHER : WH_DDS_SUBSCRIBER;
	struct wh_dds_base *participant;
	whorl_dds_return result =
		wh_dds_hold(function, handle, WH_DDS_KIND(group) | WH_DDS_KIND(WH_DDS_PARTICIPANT), out);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	participant = wh_dds_participant_of(*out);
	if (topic != NULL && participant != wh_dds_participant_of(&topic->base)) {
		wh_dds_let_go(*out);
		return wh_dds_say(function, WHORL_DDS_RETCODE_PRECONDITION_NOT_MET,
				  "the topic is of another participant");
	}
	if (participant != *out)
		return result;
	result = wh_dds_group_make(function, group, participant, qos, NULL, true, out);
	if (result == WHORL_DDS_RETCODE_OK)
		wh_dds_entity_made(&(*out)->entity);
	wh_dds_let_go(participant);
	return result;
}

static whorl_dds_return copy_policies(struct wh_dds_base *base, struct wh_dds_policies *to)
{
	whorl_dds_return result;

	pthread_mutex_lock(&base->lock);
	result = wh_dds_policies_copy(to, &base->policies);
	pthread_mutex_unlock(&base->lock);
	return result;
}

static whorl_dds_return merge_from(struct wh_dds_policies *to, enum wh_dds_kind kind, struct wh_dds_base *from)
{
	struct wh_dds_policies copy;
	whorl_dds_return result = copy_policies(from, &copy);

	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	result = wh_dds_policies_merge(to, kind, &copy, from->entity.kind);
	wh_dds_policies_free(&copy);
	return result;
}

/* Its own, its parent's, its topic's, checked. */
static whorl_dds_return new_policies(const char *function, enum wh_dds_kind kind, struct wh_dds_base *parent,
				     struct wh_dds_topic_entity *topic, const whorl_dds_qos *qos,
				     struct wh_dds_policies *out)
{
	struct wh_error err;
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;

	wh_error_clear(&err);
	wh_dds_policies_init(out, kind);
	if (qos != NULL)
		result = wh_dds_policies_merge(out, kind, &qos->policies, WH_DDS_KINDS);
	if (result == WHORL_DDS_RETCODE_OK)
		result = merge_from(out, kind, parent);
	if (result == WHORL_DDS_RETCODE_OK)
		result = merge_from(out, kind, &topic->base);
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_policies_check(out, kind, NULL, &err);
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_policies_suit(out, topic->terms.consistency, NULL, &err);
	if (result == WHORL_DDS_RETCODE_OK)
		return result;
	wh_dds_policies_free(out);
	return wh_dds_say(function, result, "%s", err.text[0] != '\0' ? err.text : "memory is out");
}

static whorl_dds_return choose_line(const char *function, struct wh_dds_topic_entity *topic,
				    struct wh_dds_endpoint_entity *end)
{
	bool unordered = topic->terms.consistency == WHORL_DDS_CONSISTENCY_UNORDERED;
	struct wh_dds_node *node = topic->base.node;
	whorl_dds_return result;

	if (!wh_dds_node_call(node))
		return wh_dds_say(function, WHORL_DDS_RETCODE_ALREADY_DELETED, "the participant has been deleted");
	result = wh_dds_node_line(function, node, topic->channel, &end->stream);
	if (result == WHORL_DDS_RETCODE_OK && end->stream->stream != unordered)
		result = wh_dds_say(function, WHORL_DDS_RETCODE_ERROR, "topic %s: channel %s is %s", topic->name,
				    topic->channel, unordered ? "ordered" : "unordered");
	end->line = unordered ? node->loose : end->stream;
	wh_dds_node_called(node);
	return result;
}

static void fill_message(struct wh_dds_message *message, const struct wh_dds_endpoint_entity *end,
			 enum wh_dds_message_kind kind)
{
	memset(message, 0, sizeof(*message));
	message->kind = kind;
	message->what = end->base.entity.kind;
	message->number = end->base.number;
	message->group = wh_dds_parent(&end->base)->number;
	message->topic = end->topic->id;
	message->name = end->topic->name;
	message->terms = end->topic->terms;
}

static whorl_dds_return ask(const char *function, struct wh_dds_endpoint_entity *end, enum wh_dds_message_kind kind,
			    const struct wh_dds_policies *policies)
{
	struct wh_dds_asked asked = {.number = end->base.number, .kind = end->base.entity.kind, .user = &end->base};
	struct wh_dds_out out = {.bytes = NULL};
	struct wh_dds_message message;
	whorl_dds_return result;

	fill_message(&message, end, kind);
	message.policies = *policies;
	wh_dds_put_message(&out, &message);
	result = wh_dds_line_ask(function, end->line, &out, &asked);
	if (result == WHORL_DDS_RETCODE_OK || !asked.done)
		return result;
	if (asked.policy != WHORL_DDS_POLICY_INVALID)
		return wh_dds_say(function, result, "topic %s: %s: %s", end->topic->name,
				  wh_dds_policy_name(asked.policy), whorl_dds_strretcode(result));
	return wh_dds_say(function, result, "topic %s: %s", end->topic->name,
			  result == WHORL_DDS_RETCODE_PRECONDITION_NOT_MET ? "others have it otherwise"
									   : whorl_dds_strretcode(result));
}

/* And waits for the verdict. */
static whorl_dds_return announce(const char *function, struct wh_dds_endpoint_entity *end)
{
	whorl_dds_return result;

	if (!wh_dds_node_call(end->base.node))
		return wh_dds_say(function, WHORL_DDS_RETCODE_ALREADY_DELETED, "the participant has been deleted");
	end->announced = true; /* it may come, whatever is answered in time */
	result = ask(function, end, WH_DDS_SAY_NEW, &end->base.policies);
	wh_dds_node_called(end->base.node);
	return result;
}

/* ---- groups -------------------------------------------------------------------------------------------------------------------- */

/* Channels have no order among each other, so what is presented together is on one. */
static whorl_dds_return join_group(const char *function, struct wh_dds_endpoint_entity *end)
{
	struct wh_dds_base *group = wh_dds_parent(&end->base);
	bool joins;

	if (end->base.policies.presentation.scope != WHORL_DDS_PRESENTATION_GROUP ||
	    (!end->base.policies.presentation.coherent && !end->base.policies.presentation.ordered))
		return WHORL_DDS_RETCODE_OK;
	pthread_mutex_lock(&group->lock);
	joins = group->grouped == 0 || group->line == end->line;
	if (joins) {
		group->grouped++;
		group->line = end->line;
	}
	pthread_mutex_unlock(&group->lock);
	end->grouped = joins;
	return joins ? WHORL_DDS_RETCODE_OK
		     : wh_dds_say(function, WHORL_DDS_RETCODE_UNSUPPORTED,
				  "presentation: its scope is the group, which has topics on another channel than %s",
				  end->topic->channel);
}

static void leave_group(struct wh_dds_endpoint_entity *end)
{
	struct wh_dds_base *group = wh_dds_parent(&end->base);

	if (!end->grouped)
		return;
	pthread_mutex_lock(&group->lock);
	group->grouped--;
	pthread_mutex_unlock(&group->lock);
}

/* ---- creating ------------------------------------------------------------------------------------------------------------------ */

/* NULL: it is not, and *result says why. Its policies are its own, and it has a line; what else it is, it is not yet. */
static struct wh_dds_endpoint_entity *new_endpoint(const char *function, const struct wh_dds_endpoint_class *of,
						   struct wh_dds_base *parent, struct wh_dds_topic_entity *topic,
						   const whorl_dds_qos *qos, const whorl_dds_listener *listener,
						   whorl_dds_return *result)
{
	struct wh_dds_endpoint_entity *end = calloc(1, of->bytes);

	if (end == NULL) {
		*result = wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
		return NULL;
	}
	*result = new_policies(function, of->kind, parent, topic, qos, &end->base.policies);
	if (*result == WHORL_DDS_RETCODE_OK)
		*result = choose_line(function, topic, end);
	if (*result == WHORL_DDS_RETCODE_OK && of->prepare != NULL)
		*result = of->prepare(function, end, topic, listener);
	if (*result == WHORL_DDS_RETCODE_OK)
		return end;
	wh_dds_policies_free(&end->base.policies);
	free(end);
	return NULL;
}

/* The parent and the topic are held. */
static whorl_dds_return make(const char *function, const struct wh_dds_endpoint_class *of, struct wh_dds_base *parent,
			     struct wh_dds_topic_entity *topic, const whorl_dds_qos *qos,
			     const whorl_dds_listener *listener)
{
	whorl_dds_return result;
	struct wh_dds_endpoint_entity *end = new_endpoint(function, of, parent, topic, qos, listener, &result);
	struct wh_dds_base *base;

	if (end == NULL)
		return result;
	base = &end->base;
	end->topic = topic;
	wh_dds_entity_hold(&topic->base.entity);
	base->number = wh_dds_node_number(parent->node);
	result = wh_dds_base_begin(function, base, of->kind, parent->node, parent, of->ops, listener);
	if (result != WHORL_DDS_RETCODE_OK) {
		of->ops->free(&base->entity);
		return result;
	}
	result = join_group(function, end);
	return wh_dds_base_made(base, result == WHORL_DDS_RETCODE_OK ? announce(function, end) : result);
}

whorl_dds_entity wh_dds_endpoint_create(const char *function, const struct wh_dds_endpoint_class *of,
					whorl_dds_entity parent, whorl_dds_entity topic, const whorl_dds_qos *qos,
					const whorl_dds_listener *listener)
{
	struct wh_dds_base *group, *base;
	struct wh_dds_topic_entity *held;
	whorl_dds_return result;

	if (wh_dds_on_loop())
		return wh_dds_say(function, WHORL_DDS_RETCODE_ILLEGAL_OPERATION, "not in an in-place listener");
	if (wh_dds_is_builtin(topic))
		return of->kind == WH_DDS_READER ? wh_dds_builtin_create(function, parent, topic, qos, listener)
						 : wh_dds_say(function, WHORL_DDS_RETCODE_ILLEGAL_OPERATION,
							      "built-in topics are not written by programs");
	result = wh_dds_hold(function, topic, WH_DDS_KIND(WH_DDS_TOPIC), &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	held = (struct wh_dds_topic_entity *)base;
	result = wh_dds_endpoint_parent(function, parent, of->kind, held, qos, &group);
	if (result == WHORL_DDS_RETCODE_OK) {
		result = make(function, of, group, held, qos, listener);
		if (result < 0 && group->alone)
			(void)wh_dds_entity_delete(&group->entity);
		wh_dds_let_go(group);
	}
	wh_dds_let_go(base);
	return result;
}

/* ---- changing ------------------------------------------------------------------------------------------------------------------ */

/* wanted: of an endpoint's own, or its publisher's or subscriber's. */
static whorl_dds_return change_endpoint(const char *function, struct wh_dds_endpoint_entity *end,
					const struct wh_dds_policies *wanted)
{
	struct wh_dds_policies next;
	struct wh_error err;
	whorl_dds_return result;

	if (end->line == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_IMMUTABLE_POLICY,
				  "those of readers of built-in topics are fixed");
	wh_error_clear(&err);
	result = copy_policies(&end->base, &next);
	if (result == WHORL_DDS_RETCODE_OK)
		result = wh_dds_policies_change(&next, WH_DDS_KINDS, wanted, NULL, &err);
	if (result != WHORL_DDS_RETCODE_OK) {
		wh_dds_policies_free(&next);
		return wh_dds_say(function, result, "%s", err.text[0] != '\0' ? err.text : "memory is out");
	}
	if (end->base.entity.kind == WH_DDS_READER && ((struct wh_dds_reader_entity *)end)->in_place != NULL)
		result = wh_dds_suit_in_place(function, &next);
	if (result == WHORL_DDS_RETCODE_OK)
		result = ask(function, end, WH_DDS_SAY_CHANGE, &next);
	if (result != WHORL_DDS_RETCODE_OK) {
		wh_dds_policies_free(&next);
		return result;
	}
	pthread_mutex_lock(&end->base.lock);
	wh_dds_policies_free(&end->base.policies);
	end->base.policies = next;
	if (end->base.entity.kind == WH_DDS_WRITER)
		wh_dds_writer_changed((struct wh_dds_writer_entity *)end);
	pthread_mutex_unlock(&end->base.lock);
	return result;
}

/* Of a publisher or subscriber: then of all that are below it. */
static whorl_dds_return change_children(const char *function, struct wh_dds_base *group,
					const struct wh_dds_policies *wanted)
{
	uint32_t count = wh_dds_entity_children(group->entity.table, &group->entity, NULL, 0);
	whorl_dds_entity *handles = calloc(count + 1, sizeof(*handles));
	whorl_dds_return result = WHORL_DDS_RETCODE_OK;
	struct wh_dds_base *child;

	if (handles == NULL)
		return wh_dds_say(function, WHORL_DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	(void)wh_dds_entity_children(group->entity.table, &group->entity, handles, count);
	for (uint32_t i = 0; i < count && result == WHORL_DDS_RETCODE_OK; i++) {
		if (handles[i] == 0 ||
		    wh_dds_hold(function, handles[i], WH_DDS_ENDPOINTS, &child) != WHORL_DDS_RETCODE_OK)
			continue; /* it went meanwhile, or is a condition */
		result = change_endpoint(function, (struct wh_dds_endpoint_entity *)child, wanted);
		wh_dds_let_go(child);
	}
	free(handles);
	return result;
}

/* What others must know of a topic, or a participant, is said in the control channel. */
static whorl_dds_return say_changed(const char *function, struct wh_dds_base *base)
{
	struct wh_dds_out out = {.bytes = NULL};

	if (base->entity.kind == WH_DDS_PARTICIPANT)
		return wh_dds_participant_say(function, base->node, &base->policies);
	wh_dds_put_data(&out, ((struct wh_dds_topic_entity *)base)->id, &base->policies);
	return wh_dds_line_send(function, base->node->control, &out, wh_dds_until(WH_DDS_WAIT_NS), NULL);
}

static whorl_dds_return change(const char *function, struct wh_dds_base *base, const struct wh_dds_policies *wanted)
{
	enum wh_dds_kind kind = base->entity.kind;
	struct wh_error err;
	whorl_dds_return result;

	if (kind == WH_DDS_WRITER || kind == WH_DDS_READER)
		return change_endpoint(function, (struct wh_dds_endpoint_entity *)base, wanted);
	wh_error_clear(&err);
	pthread_mutex_lock(&base->lock);
	result = wh_dds_policies_change(&base->policies, kind, wanted, NULL, &err);
	pthread_mutex_unlock(&base->lock);
	if (result != WHORL_DDS_RETCODE_OK)
		return wh_dds_say(function, result, "%s", err.text[0] != '\0' ? err.text : "memory is out");
	if (kind == WH_DDS_PUBLISHER || kind == WH_DDS_SUBSCRIBER)
		return change_children(function, base, wanted);
	return say_changed(function, base);
}

whorl_dds_return whorl_dds_set_qos(whorl_dds_entity entity, const whorl_dds_qos *qos)
{
	struct wh_dds_policies wanted;
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (wh_dds_on_loop())
		return WH_DDS_SAY(ILLEGAL_OPERATION, "not in an in-place listener");
	if (qos == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no object");
	result = WH_DDS_HOLD(entity, WH_DDS_WITH_POLICIES, &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (wh_dds_policies_copy(&wanted, &qos->policies) != WHORL_DDS_RETCODE_OK) {
		result = WH_DDS_SAY(OUT_OF_RESOURCES, "memory is out");
	} else {
		wanted.set &= wh_dds_policies_of(base->entity.kind);
		if (!wh_dds_node_call(base->node)) {
			result = WH_DDS_SAY(ALREADY_DELETED, "the participant has been deleted");
		} else {
			result = change(__func__, base, &wanted);
			wh_dds_node_called(base->node);
		}
		wh_dds_policies_free(&wanted);
	}
	wh_dds_let_go(base);
	return result;
}

/* ---- ending -------------------------------------------------------------------------------------------------------------------- */

static void say_end(struct wh_dds_endpoint_entity *end)
{
	struct wh_dds_out out = {.bytes = NULL};
	struct wh_dds_message message;
	uint64_t index = 0;

	if (!end->announced || !wh_dds_node_call(end->base.node))
		return;
	if (end->stream != end->line && end->base.entity.kind == WH_DDS_WRITER)
		wh_dds_stream_end(__func__, end->stream, end->base.number);
	fill_message(&message, end, WH_DDS_SAY_END);
	wh_dds_put_message(&out, &message);
	if (wh_dds_line_send(__func__, end->line, &out, wh_dds_until(END_NS), &index) == WHORL_DDS_RETCODE_OK)
		if (wh_dds_frontier_wait(wh_dds_subgroup_of(end->line), WHORL_RECEIVED_BY_ALL, index,
					 END_NS / 1000000) != WHORL_OK)
			(void)wh_dds_say(__func__, WHORL_DDS_RETCODE_TIMEOUT, "its end is yet to come");
	wh_dds_node_called(end->base.node);
}

static void unlist(struct wh_dds_line *line, struct wh_dds_reader_entity *reader)
{
	struct wh_dds_reader_entity **at = &line->readers;

	while (*at != NULL && *at != reader)
		at = &(*at)->next_reader;
	if (*at == NULL)
		return;
	*at = reader->next_reader;
	line->patient -= reader->patient;
}

static void unlist_writer(struct wh_dds_line *line, const struct wh_dds_writer_entity *writer)
{
	struct wh_dds_writer_entity **at = &line->writers;

	while (*at != NULL && *at != writer)
		at = &(*at)->next_writer;
	if (*at != NULL)
		*at = writer->next_writer;
}

void wh_dds_endpoint_close(struct wh_dds_endpoint_entity *end)
{
	struct wh_dds_endpoint *machine;

	wh_dds_listener_await(&end->base);
	if (end->line == NULL) {
		wh_dds_condition_close(&end->base.condition.condition);
		return;
	}
	say_end(end);
	leave_group(end);
	pthread_mutex_lock(&end->line->lock);
	machine = wh_dds_machine_of(end);
	if (machine != NULL)
		machine->user = NULL; /* its end has not come yet, and nothing more is told */
	if (end->base.entity.kind == WH_DDS_READER)
		unlist(end->line, (struct wh_dds_reader_entity *)end);
	else
		unlist_writer(end->line, (struct wh_dds_writer_entity *)end);
	pthread_mutex_unlock(&end->line->lock);
	wh_dds_condition_close(&end->base.condition.condition);
}

void wh_dds_endpoint_put(struct wh_dds_endpoint_entity *end)
{
	struct wh_dds_topic_entity *topic = end->topic;

	wh_dds_base_free(&end->base);
	wh_dds_let_go(topic != NULL && !topic->builtin ? &topic->base : NULL);
}

/* ---- asking -------------------------------------------------------------------------------------------------------------------- */

whorl_dds_return whorl_dds_get_instance_handle(whorl_dds_entity entity, whorl_dds_instance_handle *handle)
{
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (handle == NULL)
		return WH_DDS_SAY(BAD_PARAMETER, "no memory for the handle");
	result = WH_DDS_HOLD(entity, WH_DDS_ENDPOINTS | WH_DDS_KIND(WH_DDS_PARTICIPANT), &base);
	if (result == WHORL_DDS_RETCODE_OK) {
		struct wh_dds_endpoint_id id = {wh_load_acquire(&base->node->incarnation), base->node->id,
						base->number};

		*handle = wh_dds_endpoint_handle(base->entity.kind, &id);
	}
	wh_dds_let_go(base);
	return result;
}

static whorl_dds_return matched(const char *function, whorl_dds_entity entity, enum wh_dds_kind kind,
				whorl_dds_instance_handle *handles, size_t count)
{
	const struct wh_dds_endpoint *machine;
	struct wh_dds_endpoint_entity *end;
	struct wh_dds_base *base;
	whorl_dds_return result;

	if (handles == NULL && count > 0)
		return wh_dds_say(function, WHORL_DDS_RETCODE_BAD_PARAMETER, "no memory for the handles");
	result = wh_dds_hold(function, entity, WH_DDS_KIND(kind), &base);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	end = (struct wh_dds_endpoint_entity *)base;
	if (end->line == NULL) {
		wh_dds_let_go(base);
		return 0; /* nothing matches what nothing writes */
	}
	pthread_mutex_lock(&end->line->lock);
	machine = wh_dds_machine_of(end);
	for (uint32_t i = 0; machine != NULL && i < machine->matches.count && i < count; i++)
		handles[i] = wh_dds_endpoint_handle(machine->matches.all[i]->kind, &machine->matches.all[i]->id);
	result = machine != NULL ? (whorl_dds_return)machine->matches.count : 0;
	pthread_mutex_unlock(&end->line->lock);
	wh_dds_let_go(base);
	return result;
}

whorl_dds_return whorl_dds_get_matched_subscriptions(whorl_dds_entity writer, whorl_dds_instance_handle *handles,
						     size_t count)
{
	return matched(__func__, writer, WH_DDS_WRITER, handles, count);
}

whorl_dds_return whorl_dds_get_matched_publications(whorl_dds_entity reader, whorl_dds_instance_handle *handles,
						    size_t count)
{
	return matched(__func__, reader, WH_DDS_READER, handles, count);
}

/* What is known of it, as a block that its program frees. NULL: memory is out. */
static struct whorl_dds_builtin_endpoint *describe(const struct wh_dds_endpoint_entity *end,
						   const struct wh_dds_endpoint *other)
{
	const char *type = end->topic->type->name;
	struct whorl_dds_builtin_endpoint *it = calloc(1, sizeof(*it) + strlen(end->topic->name) + strlen(type) + 2);

	if (it != NULL && wh_dds_describe_endpoint(end->line, other, type, it))
		return it;
	free(it);
	return NULL;
}

static struct whorl_dds_builtin_endpoint *find_matched(struct wh_dds_endpoint_entity *end,
						       whorl_dds_instance_handle handle)
{
	struct whorl_dds_builtin_endpoint *found = NULL;
	const struct wh_dds_endpoint *machine;

	pthread_mutex_lock(&end->line->lock);
	machine = wh_dds_machine_of(end);
	for (uint32_t i = 0; machine != NULL && found == NULL && i < machine->matches.count; i++) {
		const struct wh_dds_endpoint *other = machine->matches.all[i];

		if (wh_dds_endpoint_handle(other->kind, &other->id) == handle)
			found = describe(end, other);
	}
	pthread_mutex_unlock(&end->line->lock);
	return found;
}

struct whorl_dds_builtin_endpoint *whorl_dds_get_matched_endpoint(whorl_dds_entity entity,
								  whorl_dds_instance_handle handle)
{
	struct whorl_dds_builtin_endpoint *found = NULL;
	struct wh_dds_endpoint_entity *end;
	struct wh_dds_base *base;

	if (WH_DDS_HOLD(entity, WH_DDS_ENDPOINTS, &base) != WHORL_DDS_RETCODE_OK)
		return NULL;
	end = (struct wh_dds_endpoint_entity *)base;
	if (end->line != NULL)
		found = find_matched(end, handle);
	if (found == NULL)
		(void)WH_DDS_SAY(BAD_PARAMETER, "it does not match, or memory is out");
	wh_dds_let_go(base);
	return found;
}

void whorl_dds_builtin_endpoint_free(struct whorl_dds_builtin_endpoint *endpoint)
{
	if (endpoint == NULL)
		return;
	whorl_dds_delete_qos((whorl_dds_qos *)(uintptr_t)endpoint->qos);
	free(endpoint);
}
