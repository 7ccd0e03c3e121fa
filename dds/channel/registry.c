/* registry.c - participants and topics, by their names. See registry.h.
 *
 * A message: its kind (1), and then, in the order of these, PARTICIPANT: name, process (4), policies; TOPIC: ticket (4), name, channel, name of the
 * type, its hash (8), has it a key (1), its description (4 and so many), policies; DROP: number of the topic (8); DATA: the same, policies.
 */
#include "dds/channel/registry.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

struct wh_dds_registry {
	struct wh_dds_registry_config config;
	bool began;
	uint64_t view, next_sequence;
	struct wh_dds_member *members; /* in the order of their ranks */
	uint32_t member_count;
	struct wh_dds_participant **participants; /* in the order in which they came */
	uint32_t participant_count, participant_room;
	struct wh_dds_named_topic **topics; /* by number */
	uint32_t topic_count, topic_room;
	uint64_t numbers; /* the last one given */
	struct wh_dds_registry_counts counts;
};

struct wh_dds_registry *wh_dds_registry_new(const struct wh_dds_registry_config *config)
{
	struct wh_dds_registry *registry = calloc(1, sizeof(*registry));

	if (registry != NULL)
		registry->config = *config;
	return registry;
}

static void free_topic(struct wh_dds_named_topic *topic)
{
	free(topic->name);
	free(topic->channel);
	free(topic->type);
	wh_dds_block_drop(topic->description);
	wh_dds_policies_free(&topic->policies);
	free(topic->uses);
	free(topic);
}

static void free_participant(struct wh_dds_participant *participant)
{
	free(participant->name);
	wh_dds_policies_free(&participant->policies);
	free(participant);
}

void wh_dds_registry_free(struct wh_dds_registry *registry)
{
	if (registry == NULL)
		return;
	for (uint32_t i = 0; i < registry->topic_count; i++)
		free_topic(registry->topics[i]);
	for (uint32_t i = 0; i < registry->participant_count; i++)
		free_participant(registry->participants[i]);
	free(registry->topics);
	free(registry->participants);
	free(registry->members);
	free(registry);
}

static bool add_topic(struct wh_dds_registry *registry, struct wh_dds_named_topic *topic)
{
	struct wh_dds_named_topic **all = wh_dds_list_room(registry->topics, registry->topic_count,
							   &registry->topic_room, sizeof(struct wh_dds_named_topic *));

	if (all == NULL)
		return false;
	registry->topics = all;
	all[registry->topic_count++] = topic;
	return true;
}

static bool add_participant(struct wh_dds_registry *registry, struct wh_dds_participant *participant)
{
	struct wh_dds_participant **all =
		wh_dds_list_room(registry->participants, registry->participant_count, &registry->participant_room,
				 sizeof(struct wh_dds_participant *));

	if (all == NULL)
		return false;
	registry->participants = all;
	all[registry->participant_count++] = participant;
	return true;
}

static void tell(const struct wh_dds_registry *registry, const struct wh_dds_registry_event *event)
{
	if (registry->config.tell != NULL)
		registry->config.tell(registry->config.ctx, event);
}

static void tell_topic(const struct wh_dds_registry *registry, enum wh_dds_registry_event_kind what,
		       const struct wh_dds_named_topic *topic)
{
	tell(registry, &(struct wh_dds_registry_event){.what = what, .topic = topic});
}

static void tell_participant(const struct wh_dds_registry *registry, enum wh_dds_registry_event_kind what,
			     const struct wh_dds_participant *participant)
{
	tell(registry, &(struct wh_dds_registry_event){.what = what, .participant = participant});
}

/* ---- what is there -------------------------------------------------------------------------------------------------------- */

static struct wh_dds_named_topic *find_topic(const struct wh_dds_registry *registry, const char *name)
{
	for (uint32_t i = 0; i < registry->topic_count; i++)
		if (strcmp(registry->topics[i]->name, name) == 0)
			return registry->topics[i];
	return NULL;
}

static struct wh_dds_named_topic *topic_of(const struct wh_dds_registry *registry, uint64_t id)
{
	for (uint32_t i = 0; i < registry->topic_count; i++)
		if (registry->topics[i]->id == id)
			return registry->topics[i];
	return NULL;
}

static bool is_member(const struct wh_dds_registry *registry, uint32_t node, uint64_t incarnation)
{
	return wh_dds_members_find(registry->members, registry->member_count, node, incarnation) != NULL;
}

static struct wh_dds_participant *find_participant(const struct wh_dds_registry *registry, uint32_t node,
						   uint64_t incarnation)
{
	for (uint32_t i = 0; i < registry->participant_count; i++)
		if (registry->participants[i]->node == node && registry->participants[i]->incarnation == incarnation)
			return registry->participants[i];
	return NULL;
}

static struct wh_dds_use *find_use(const struct wh_dds_named_topic *topic, uint32_t node, uint64_t incarnation)
{
	for (uint32_t i = 0; i < topic->use_count; i++)
		if (topic->uses[i].node == node && topic->uses[i].incarnation == incarnation)
			return &topic->uses[i];
	return NULL;
}

const struct wh_dds_named_topic *wh_dds_registry_find(const struct wh_dds_registry *registry, const char *name)
{
	return registry != NULL ? find_topic(registry, name) : NULL;
}

const struct wh_dds_named_topic *wh_dds_registry_topic(const struct wh_dds_registry *registry, uint32_t at)
{
	return at < registry->topic_count ? registry->topics[at] : NULL;
}

const struct wh_dds_participant *wh_dds_registry_participant(const struct wh_dds_registry *registry, uint32_t at)
{
	return at < registry->participant_count ? registry->participants[at] : NULL;
}

void wh_dds_registry_counts(const struct wh_dds_registry *registry, struct wh_dds_registry_counts *counts)
{
	*counts = registry->counts;
}

/* ---- what differs --------------------------------------------------------------------------------------------------------- */

static bool names_agree(const char *one, const char *other)
{
	return strcmp(one, other) == 0 || strcmp(one, WH_DDS_NAMELESS) == 0 || strcmp(other, WH_DDS_NAMELESS) == 0;
}

static enum wh_dds_differs compare(const struct wh_dds_named_topic *topic,
				   const struct wh_dds_registration *registration)
{
	struct wh_dds_terms is = wh_dds_terms_of(&topic->policies, topic->type_hash, topic->keyed);
	struct wh_dds_terms said =
		wh_dds_terms_of(registration->policies, registration->type_hash, registration->keyed);

	if (!names_agree(topic->type, registration->type) || is.type_hash != said.type_hash || is.keyed != said.keyed)
		return WH_DDS_TYPE;
	if (strcmp(registration->channel, WH_DDS_ANY_CHANNEL) != 0 && strcmp(topic->channel, registration->channel) != 0)
		return WH_DDS_CHANNEL;
	if (is.consistency != said.consistency)
		return WH_DDS_CONSISTENCY;
	return wh_dds_terms_equal(&is, &said) ? WH_DDS_NOTHING : WH_DDS_KEPT;
}

static void explain_kept(char *text, size_t bytes, const struct wh_dds_terms *terms)
{
	if (terms->history.kind == WHORL_DDS_HISTORY_KEEP_ALL)
		wh_text_add(text, bytes, "all samples");
	else
		wh_text_add(text, bytes, "%" PRId32 " samples of an instance", terms->history.depth);
	wh_text_add(text, bytes,
		    " within %" PRId32 " samples, %" PRId32 " instances, %" PRId32 " of each, cleaned up after %" PRId64
		    " ns",
		    terms->limits.samples, terms->limits.instances, terms->limits.samples_per_instance,
		    terms->cleanup_ns);
}

void wh_dds_registry_explain(char *text, size_t bytes, const struct wh_dds_named_topic *topic,
			     const struct wh_dds_registration *registration)
{
	struct wh_dds_terms is = wh_dds_terms_of(&topic->policies, topic->type_hash, topic->keyed);
	struct wh_dds_terms said =
		wh_dds_terms_of(registration->policies, registration->type_hash, registration->keyed);

	text[0] = '\0';
	wh_text_add(text, bytes, "topic %s: ", topic->name);
	switch (compare(topic, registration)) {
	case WH_DDS_NOTHING:
		wh_text_add(text, bytes, "nothing differs");
		break;
	case WH_DDS_TYPE:
		wh_text_add(text, bytes,
			    "its type is %s (%s key, hash %016" PRIx64 "), here %s (%s key, hash %016" PRIx64 ")",
			    topic->type, topic->keyed ? "with a" : "no", topic->type_hash, registration->type,
			    registration->keyed ? "with a" : "no", registration->type_hash);
		break;
	case WH_DDS_CHANNEL:
		wh_text_add(text, bytes, "its channel is %s, here %s", topic->channel, registration->channel);
		break;
	case WH_DDS_CONSISTENCY:
		wh_text_add(text, bytes, "its consistency is %s, here %s", wh_dds_consistency_name(is.consistency),
			    wh_dds_consistency_name(said.consistency));
		break;
	case WH_DDS_KEPT:
		wh_text_add(text, bytes, "for late readers it keeps ");
		explain_kept(text, bytes, &is);
		wh_text_add(text, bytes, ", here ");
		explain_kept(text, bytes, &said);
		break;
	}
	wh_text_add(text, bytes, "; node %" PRIu32 " registered it first", topic->first);
}

/* ---- topics --------------------------------------------------------------------------------------------------------------- */

static void remove_topic(struct wh_dds_registry *registry, uint32_t at)
{
	struct wh_dds_named_topic *topic = registry->topics[at];

	registry->topic_count--;
	memmove(&registry->topics[at], &registry->topics[at + 1],
		(registry->topic_count - at) * sizeof(registry->topics[0]));
	tell_topic(registry, WH_DDS_TOPIC_GONE, topic);
	free_topic(topic);
}

static bool is_channel_used(const struct wh_dds_registry *registry, const char *channel)
{
	for (uint32_t i = 0; i < registry->topic_count; i++)
		if (registry->topics[i]->use_count > 0 && strcmp(registry->topics[i]->channel, channel) == 0)
			return true;
	return false;
}

static bool stays(const struct wh_dds_registry *registry, const struct wh_dds_named_topic *topic)
{
	if (topic->use_count > 0 || wh_dds_consistency(&topic->policies) == WHORL_DDS_CONSISTENCY_LOGGED)
		return true;
	return topic->policies.durability >= WHORL_DDS_DURABILITY_TRANSIENT &&
	       is_channel_used(registry, topic->channel);
}

/* Those that nothing holds any more go. */
static void settle_topics(struct wh_dds_registry *registry)
{
	for (uint32_t i = 0; i < registry->topic_count;) {
		if (stays(registry, registry->topics[i]))
			i++;
		else
			remove_topic(registry, i);
	}
}

static bool use_topic(struct wh_dds_named_topic *topic, const struct wh_dds_from *from)
{
	struct wh_dds_use *use = find_use(topic, from->node, from->incarnation);

	if (use != NULL) {
		use->count++;
		return true;
	}
	use = wh_dds_list_room(topic->uses, topic->use_count, &topic->use_room, sizeof(*use));
	if (use == NULL)
		return false;
	topic->uses = use;
	topic->uses[topic->use_count++] = (struct wh_dds_use){from->node, from->incarnation, 1};
	return true;
}

static void remove_use(struct wh_dds_named_topic *topic, const struct wh_dds_use *use)
{
	size_t at = (size_t)(use - topic->uses);

	topic->use_count--;
	memmove(&topic->uses[at], &topic->uses[at + 1], (topic->use_count - at) * sizeof(*use));
}

static bool is_channel_name(const char *name)
{
	static const char good[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-";

	return name[0] != '\0' && name[strspn(name, good)] == '\0';
}

/* ---- messages ------------------------------------------------------------------------------------------------------------- */

struct request { /* a message, read */
	enum wh_dds_registry_kind kind;
	uint32_t number;                  /* PARTICIPANT: the process; TOPIC: the ticket */
	uint64_t topic_id;                /* DROP, DATA */
	char *name;                       /* PARTICIPANT */
	struct wh_dds_named_topic *topic; /* TOPIC */
	struct wh_dds_policies policies;  /* PARTICIPANT, DATA */
};

static void free_request(struct request *request)
{
	free(request->name);
	if (request->topic != NULL)
		free_topic(request->topic);
	wh_dds_policies_free(&request->policies);
}

static void take_topic_fields(struct wh_dds_in *in, struct wh_dds_named_topic *topic)
{
	topic->name = wh_dds_take_text(in, WH_DDS_NAME_BYTES);
	topic->channel = wh_dds_take_text(in, WH_DDS_CHANNEL_NAME_BYTES);
	topic->type = wh_dds_take_text(in, WH_DDS_TYPE_NAME_BYTES);
	topic->type_hash = wh_dds_take(in, 8);
	topic->keyed = wh_dds_take_within(in, 1, 0, 1) == 1;
	topic->description = wh_dds_take_block(in, WH_DDS_DESCRIPTION_BYTES);
	wh_dds_take_policies(in, &topic->policies, WH_DDS_TOPIC);
	if (topic->channel != NULL && strcmp(topic->channel, WH_DDS_ANY_CHANNEL) != 0 &&
	    !is_channel_name(topic->channel))
		in->ok = false;
}

static enum whorl_result take_request(struct request *request, const void *bytes, size_t count)
{
	struct wh_dds_in in = {.at = bytes, .left = count, .ok = true};
	enum whorl_result result;

	memset(request, 0, sizeof(*request));
	request->kind = (enum wh_dds_registry_kind)wh_dds_take_within(&in, 1, WH_DDS_SAY_PARTICIPANT,
								      WH_DDS_REGISTRY_KINDS - 1);
	if (!in.ok)
		return WHORL_INVALID;
	if (request->kind == WH_DDS_SAY_PARTICIPANT) {
		request->name = wh_dds_take_text(&in, WH_DDS_NAME_BYTES);
		request->number = (uint32_t)wh_dds_take(&in, 4);
		wh_dds_take_policies(&in, &request->policies, WH_DDS_PARTICIPANT);
	} else if (request->kind == WH_DDS_SAY_TOPIC) {
		request->number = (uint32_t)wh_dds_take(&in, 4);
		request->topic = calloc(1, sizeof(*request->topic));
		if (request->topic == NULL)
			return WHORL_MEMORY;
		take_topic_fields(&in, request->topic);
	} else {
		request->topic_id = wh_dds_take(&in, 8);
		if (request->kind == WH_DDS_SAY_DATA)
			wh_dds_take_policies(&in, &request->policies, WH_DDS_TOPIC);
	}
	result = wh_dds_in_end(&in);
	if (result != WHORL_OK)
		free_request(request);
	return result;
}

static enum whorl_result refuse(struct wh_dds_registry *registry)
{
	registry->counts.voids++;
	return WHORL_OK;
}

static enum whorl_result apply_participant(struct wh_dds_registry *registry, const struct wh_dds_from *from,
					   struct request *request)
{
	struct wh_dds_participant *it = find_participant(registry, from->node, from->incarnation);

	if (it != NULL) {
		whorl_dds_return result =
			wh_dds_policies_change(&it->policies, WH_DDS_PARTICIPANT, &request->policies, NULL, NULL);

		if (result == WHORL_DDS_RETCODE_OUT_OF_RESOURCES)
			return WHORL_MEMORY;
		if (result != WHORL_DDS_RETCODE_OK)
			return refuse(registry);
		tell_participant(registry, WH_DDS_PARTICIPANT_CHANGED, it);
		return WHORL_OK;
	}
	it = calloc(1, sizeof(*it));
	if (it == NULL)
		return WHORL_MEMORY;
	it->node = from->node;
	it->incarnation = from->incarnation;
	it->name = request->name;
	it->process = request->number;
	it->policies = request->policies;
	request->name = NULL;
	memset(&request->policies, 0, sizeof(request->policies));
	if (!add_participant(registry, it)) {
		free_participant(it);
		return WHORL_MEMORY;
	}
	tell_participant(registry, WH_DDS_PARTICIPANT_NEW, it);
	return WHORL_OK;
}

/* What the topic says, as it was registered. */
static struct wh_dds_registration registration_of(const struct wh_dds_named_topic *topic)
{
	return (struct wh_dds_registration){.name = topic->name,
					    .channel = topic->channel,
					    .type = topic->type,
					    .type_hash = topic->type_hash,
					    .keyed = topic->keyed,
					    .description = topic->description,
					    .policies = &topic->policies};
}

/* What becomes of a registration: fills in the event. */
static void judge(const struct wh_dds_registry *registry, const struct wh_dds_named_topic *said,
		  const struct wh_dds_named_topic *is, struct wh_dds_registry_event *event)
{
	struct wh_dds_registration registration = registration_of(said);

	event->result = wh_dds_policies_check(&said->policies, WH_DDS_TOPIC, &event->policy, NULL);
	if (event->result != WHORL_DDS_RETCODE_OK)
		return;
	if (is == NULL) {
		if (strcmp(said->channel, WH_DDS_ANY_CHANNEL) == 0)
			event->result = WHORL_DDS_RETCODE_BAD_PARAMETER;
		else if (registry->topic_count >= WH_DDS_TOPICS_MAX)
			event->result = WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
		return;
	}
	event->topic = is;
	event->differs = compare(is, &registration);
	if (event->differs != WH_DDS_NOTHING)
		event->result = WHORL_DDS_RETCODE_PRECONDITION_NOT_MET;
}

static enum whorl_result apply_topic(struct wh_dds_registry *registry, const struct wh_dds_from *from,
				     struct request *request)
{
	struct wh_dds_named_topic *said = request->topic, *is = find_topic(registry, said->name);
	struct wh_dds_registry_event event = {.what = WH_DDS_REGISTERED, .ticket = request->number};

	judge(registry, said, is, &event);
	if (event.result == WHORL_DDS_RETCODE_OK && is == NULL) {
		said->id = ++registry->numbers;
		said->first = from->node;
		if (!use_topic(said, from) || !add_topic(registry, said))
			return WHORL_MEMORY;
		request->topic = NULL;
		event.topic = said;
		tell_topic(registry, WH_DDS_TOPIC_NEW, said);
	} else if (event.result == WHORL_DDS_RETCODE_OK) {
		if (!use_topic(is, from))
			return WHORL_MEMORY;
	} else {
		registry->counts.refused++;
		if (registry->config.watches && event.differs != WH_DDS_NOTHING)
			tell(registry, &(struct wh_dds_registry_event){
					       .what = WH_DDS_TOPIC_DIFFERS, .topic = is, .differs = event.differs});
	}
	if (registry->config.all ||
	    (from->node == registry->config.node && from->incarnation == registry->config.incarnation))
		tell(registry, &event);
	return WHORL_OK;
}

static enum whorl_result apply_drop(struct wh_dds_registry *registry, const struct wh_dds_from *from, uint64_t id)
{
	struct wh_dds_named_topic *topic = topic_of(registry, id);
	struct wh_dds_use *use = topic != NULL ? find_use(topic, from->node, from->incarnation) : NULL;

	if (use == NULL)
		return refuse(registry);
	if (--use->count == 0)
		remove_use(topic, use);
	settle_topics(registry);
	return WHORL_OK;
}

/* Of a participant that uses it. */
static enum whorl_result apply_data(struct wh_dds_registry *registry, const struct wh_dds_from *from,
				    const struct request *request)
{
	struct wh_dds_named_topic *topic = topic_of(registry, request->topic_id);
	whorl_dds_return result;

	if (topic == NULL || find_use(topic, from->node, from->incarnation) == NULL)
		return refuse(registry);
	result = wh_dds_policies_change(&topic->policies, WH_DDS_TOPIC, &request->policies, NULL, NULL);
	if (result == WHORL_DDS_RETCODE_OUT_OF_RESOURCES)
		return WHORL_MEMORY;
	if (result != WHORL_DDS_RETCODE_OK)
		return refuse(registry);
	tell_topic(registry, WH_DDS_TOPIC_CHANGED, topic);
	return WHORL_OK;
}

enum whorl_result wh_dds_registry_apply(struct wh_dds_registry *registry, const struct wh_dds_from *from,
					const void *bytes, size_t count)
{
	struct request request;
	enum whorl_result result;

	if (!registry->began || from->place.view != registry->view || from->place.sequence < registry->next_sequence)
		return WHORL_INVALID;
	registry->next_sequence = from->place.sequence + 1;
	result = take_request(&request, bytes, count);
	if (result == WHORL_INVALID) {
		registry->counts.garbage++;
		return WHORL_OK;
	}
	if (result != WHORL_OK)
		return result;
	if (!is_member(registry, from->node, from->incarnation))
		result = refuse(registry);
	else if (request.kind == WH_DDS_SAY_PARTICIPANT)
		result = apply_participant(registry, from, &request);
	else if (request.kind == WH_DDS_SAY_TOPIC)
		result = apply_topic(registry, from, &request);
	else if (request.kind == WH_DDS_SAY_DROP)
		result = apply_drop(registry, from, request.topic_id);
	else
		result = apply_data(registry, from, &request);
	free_request(&request);
	return result;
}

/* ---- views ---------------------------------------------------------------------------------------------------------------- */

static void end_participants(struct wh_dds_registry *registry)
{
	for (uint32_t i = 0; i < registry->participant_count;) {
		struct wh_dds_participant *it = registry->participants[i];

		if (is_member(registry, it->node, it->incarnation)) {
			i++;
			continue;
		}
		registry->participant_count--;
		memmove(&registry->participants[i], &registry->participants[i + 1],
			(registry->participant_count - i) * sizeof(registry->participants[0]));
		tell_participant(registry, WH_DDS_PARTICIPANT_GONE, it);
		free_participant(it);
	}
}

static void end_uses(struct wh_dds_registry *registry, struct wh_dds_named_topic *topic)
{
	for (uint32_t i = 0; i < topic->use_count;)
		if (is_member(registry, topic->uses[i].node, topic->uses[i].incarnation))
			i++;
		else
			remove_use(topic, &topic->uses[i]);
}

enum whorl_result wh_dds_registry_view(struct wh_dds_registry *registry, uint64_t number,
				       const struct wh_dds_member *members, uint32_t count)
{
	struct wh_dds_member *next;

	if (registry->began && number <= registry->view)
		return WHORL_OK;
	next = calloc(count > 0 ? count : 1, sizeof(*next));
	if (next == NULL)
		return WHORL_MEMORY;
	for (uint32_t i = 0; i < count; i++)
		next[i] = (struct wh_dds_member){.node = members[i].node, .incarnation = members[i].incarnation};
	free(registry->members);
	registry->members = next;
	registry->member_count = count;
	registry->began = true;
	registry->view = number;
	registry->next_sequence = 0;
	for (uint32_t i = 0; i < registry->topic_count; i++)
		end_uses(registry, registry->topics[i]);
	settle_topics(registry);
	end_participants(registry);
	return WHORL_OK;
}

/* ---- writing -------------------------------------------------------------------------------------------------------------- */

void wh_dds_put_participant(struct wh_dds_out *out, const char *name, uint32_t process,
			    const struct wh_dds_policies *policies)
{
	wh_dds_put_number(out, WH_DDS_SAY_PARTICIPANT, 1);
	wh_dds_put_text(out, name);
	wh_dds_put_number(out, process, 4);
	wh_dds_put_policies(out, policies);
}

static void put_topic_fields(struct wh_dds_out *out, const struct wh_dds_registration *topic)
{
	wh_dds_put_text(out, topic->name);
	wh_dds_put_text(out, topic->channel);
	wh_dds_put_text(out, topic->type);
	wh_dds_put_number(out, topic->type_hash, 8);
	wh_dds_put_number(out, topic->keyed, 1);
	wh_dds_put_block(out, topic->description);
	wh_dds_put_policies(out, topic->policies);
}

void wh_dds_put_registration(struct wh_dds_out *out, const struct wh_dds_registration *registration)
{
	wh_dds_put_number(out, WH_DDS_SAY_TOPIC, 1);
	wh_dds_put_number(out, registration->ticket, 4);
	put_topic_fields(out, registration);
}

void wh_dds_put_drop(struct wh_dds_out *out, uint64_t topic)
{
	wh_dds_put_number(out, WH_DDS_SAY_DROP, 1);
	wh_dds_put_number(out, topic, 8);
}

void wh_dds_put_data(struct wh_dds_out *out, uint64_t topic, const struct wh_dds_policies *policies)
{
	wh_dds_put_number(out, WH_DDS_SAY_DATA, 1);
	wh_dds_put_number(out, topic, 8);
	wh_dds_put_policies(out, policies);
}

/* ---- the state ------------------------------------------------------------------------------------------------------------ */

static void put_named_topic(struct wh_dds_out *out, const struct wh_dds_named_topic *topic)
{
	struct wh_dds_registration fields = registration_of(topic);

	wh_dds_put_number(out, topic->id, 8);
	put_topic_fields(out, &fields);
	wh_dds_put_number(out, topic->first, 4);
	wh_dds_put_number(out, topic->use_count, 4);
	for (uint32_t i = 0; i < topic->use_count; i++) {
		wh_dds_put_number(out, topic->uses[i].node, 4);
		wh_dds_put_number(out, topic->uses[i].incarnation, 8);
		wh_dds_put_number(out, topic->uses[i].count, 8);
	}
}

void wh_dds_registry_save(const struct wh_dds_registry *registry, struct wh_dds_out *out)
{
	wh_dds_put(out, "WHN", 3);
	wh_dds_put_number(out, WH_DDS_REGISTRY_VERSION, 1);
	wh_dds_put_number(out, registry->began, 1);
	wh_dds_put_number(out, registry->view, 8);
	wh_dds_put_number(out, registry->next_sequence, 8);
	wh_dds_put_number(out, registry->numbers, 8);
	wh_dds_put_number(out, registry->counts.garbage, 8);
	wh_dds_put_number(out, registry->counts.voids, 8);
	wh_dds_put_number(out, registry->counts.refused, 8);
	wh_dds_put_number(out, registry->member_count, 4);
	for (uint32_t i = 0; i < registry->member_count; i++) {
		wh_dds_put_number(out, registry->members[i].node, 4);
		wh_dds_put_number(out, registry->members[i].incarnation, 8);
	}
	wh_dds_put_number(out, registry->participant_count, 4);
	for (uint32_t i = 0; i < registry->participant_count; i++) {
		const struct wh_dds_participant *it = registry->participants[i];

		wh_dds_put_number(out, it->node, 4);
		wh_dds_put_number(out, it->incarnation, 8);
		wh_dds_put_text(out, it->name);
		wh_dds_put_number(out, it->process, 4);
		wh_dds_put_policies(out, &it->policies);
	}
	wh_dds_put_number(out, registry->topic_count, 4);
	for (uint32_t i = 0; i < registry->topic_count; i++)
		put_named_topic(out, registry->topics[i]);
}

uint64_t wh_dds_registry_digest(const struct wh_dds_registry *registry, bool *failed)
{
	struct wh_dds_out out = {.bytes = NULL};
	uint64_t digest;

	wh_dds_registry_save(registry, &out);
	*failed = out.failed;
	digest = wh_dds_out_digest(&out);
	wh_dds_out_free(&out);
	return digest;
}

static void take_members(struct wh_dds_in *in, struct wh_dds_registry *registry)
{
	uint32_t count = (uint32_t)wh_dds_take_within(in, 4, 0, in->left / 12);

	registry->members = wh_dds_take_room(in, count * sizeof(*registry->members));
	for (uint32_t i = 0; in->ok && i < count; i++) {
		registry->members[i].node = (uint32_t)wh_dds_take(in, 4);
		registry->members[i].incarnation = wh_dds_take(in, 8);
		registry->member_count++;
	}
}

static void take_participant(struct wh_dds_in *in, struct wh_dds_registry *registry)
{
	struct wh_dds_participant *it = wh_dds_take_room(in, sizeof(*it));

	if (it == NULL)
		return;
	it->node = (uint32_t)wh_dds_take(in, 4);
	it->incarnation = wh_dds_take(in, 8);
	it->name = wh_dds_take_text(in, WH_DDS_NAME_BYTES);
	it->process = (uint32_t)wh_dds_take(in, 4);
	wh_dds_take_policies(in, &it->policies, WH_DDS_PARTICIPANT);
	if (!is_member(registry, it->node, it->incarnation) ||
	    find_participant(registry, it->node, it->incarnation) != NULL)
		in->ok = false;
	if (in->ok && add_participant(registry, it))
		return;
	if (in->ok)
		wh_dds_starve(in);
	free_participant(it);
}

static void take_uses(struct wh_dds_in *in, const struct wh_dds_registry *registry, struct wh_dds_named_topic *topic)
{
	uint32_t count = (uint32_t)wh_dds_take_within(in, 4, 0, in->left / 20);

	topic->uses = wh_dds_take_room(in, count * sizeof(*topic->uses));
	topic->use_room = topic->uses != NULL ? count : 0;
	for (uint32_t i = 0; in->ok && i < count; i++) {
		struct wh_dds_use use = {.node = (uint32_t)wh_dds_take(in, 4)};

		use.incarnation = wh_dds_take(in, 8);
		use.count = wh_dds_take_within(in, 8, 1, UINT64_MAX);
		if (!is_member(registry, use.node, use.incarnation) ||
		    find_use(topic, use.node, use.incarnation) != NULL)
			in->ok = false;
		topic->uses[topic->use_count++] = use;
	}
}

static void take_topic(struct wh_dds_in *in, struct wh_dds_registry *registry)
{
	uint64_t before = registry->topic_count > 0 ? registry->topics[registry->topic_count - 1]->id : 0;
	struct wh_dds_named_topic *topic = wh_dds_take_room(in, sizeof(*topic));

	if (topic == NULL)
		return;
	topic->id = wh_dds_take(in, 8);
	take_topic_fields(in, topic);
	topic->first = (uint32_t)wh_dds_take(in, 4);
	take_uses(in, registry, topic);
	if (in->ok && (topic->id <= before || topic->id > registry->numbers || find_topic(registry, topic->name) ||
		       strcmp(topic->channel, WH_DDS_ANY_CHANNEL) == 0))
		in->ok = false;
	if (in->ok && add_topic(registry, topic))
		return;
	if (in->ok)
		wh_dds_starve(in);
	free_topic(topic);
}

enum whorl_result wh_dds_registry_restore(struct wh_dds_registry *registry, const void *bytes, size_t count)
{
	struct wh_dds_in in = {.at = bytes, .left = count, .ok = true};
	uint32_t more;

	wh_dds_take_within(&in, 1, 'W', 'W');
	wh_dds_take_within(&in, 1, 'H', 'H');
	wh_dds_take_within(&in, 1, 'N', 'N');
	wh_dds_take_within(&in, 1, WH_DDS_REGISTRY_VERSION, WH_DDS_REGISTRY_VERSION);
	registry->began = wh_dds_take_within(&in, 1, 0, 1) == 1;
	registry->view = wh_dds_take(&in, 8);
	registry->next_sequence = wh_dds_take(&in, 8);
	registry->numbers = wh_dds_take(&in, 8);
	registry->counts.garbage = wh_dds_take(&in, 8);
	registry->counts.voids = wh_dds_take(&in, 8);
	registry->counts.refused = wh_dds_take(&in, 8);
	take_members(&in, registry);
	more = (uint32_t)wh_dds_take_within(&in, 4, 0, UINT32_MAX);
	for (uint32_t i = 0; in.ok && i < more; i++)
		take_participant(&in, registry);
	more = (uint32_t)wh_dds_take_within(&in, 4, 0, WH_DDS_TOPICS_MAX);
	for (uint32_t i = 0; in.ok && i < more; i++)
		take_topic(&in, registry);
	return wh_dds_in_end(&in);
}
