/* topics_ls.c - `whorl dds ls`: participants, topics, writers and readers of a domain, of what the four built-in topics tell. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tools/topics.h"

#define ROOM_FIRST 256
#define HISTORY (INT64_C(10) * 1000000000)

struct list {        /* of one built-in topic */
	void **data; /* [count], lent */
	size_t count;
};

enum { PARTICIPANTS, TOPICS, WRITERS, READERS, LISTS };

static const char *const keys[] = {"participants", "topics", "writers", "readers"};

/* Reads what there is now, as much as there is room for; *more: there may be more. What has ended is left out. */
static enum wh_exit read_into(whorl_dds_entity reader, struct list *list, size_t room, bool *more)
{
	struct whorl_dds_sample_info *infos = calloc(room, sizeof *infos);
	void **data = calloc(room, sizeof *data);
	whorl_dds_return got;

	free(list->data);
	*list = (struct list){.data = data};
	if (infos == NULL || data == NULL) {
		free(infos);
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
		return WH_EXIT_FAILED;
	}
	infos[0].size = sizeof infos[0];
	got = whorl_dds_read(reader, data, infos, room);
	for (whorl_dds_return i = 0; i < got; i++)
		if (infos[i].valid_data && infos[i].instance_state == WHORL_DDS_ALIVE_INSTANCE_STATE)
			data[list->count++] = data[i];
	free(infos);
	*more = got == (whorl_dds_return)room;
	return got < 0 ? wh_topics_refused(got) : WH_EXIT_GOOD;
}

/* All in one read, so that each is there once, as it is at one time: if there may be more it is read again, with more room. */
static enum wh_exit read_list(whorl_dds_entity participant, whorl_dds_entity topic, struct list *list)
{
	whorl_dds_entity reader = whorl_dds_create_reader(participant, topic, NULL, NULL);
	whorl_dds_return result = reader < 0 ? reader : whorl_dds_wait_for_historical_data(reader, HISTORY);
	enum wh_exit status = WH_EXIT_GOOD;
	bool more = true;

	if (result < 0)
		return wh_topics_refused(result);
	for (size_t room = ROOM_FIRST; more && status == WH_EXIT_GOOD; room *= 2)
		status = read_into(reader, list, room, &more);
	return status;
}

/* All of it, to be freed; NULL: memory is out. */
static char *text_of(const whorl_dds_qos *policies)
{
	whorl_dds_return length = policies != NULL ? whorl_dds_qos_text(policies, NULL, 0) : 0;
	char *text = length >= 0 ? calloc(1, (size_t)length + 1) : NULL;

	if (text != NULL && length > 0)
		(void)whorl_dds_qos_text(policies, text, (size_t)length + 1);
	return text;
}

/* ---- for people ------------------------------------------------------------------------------------------------------------- */

static void print_policies(const whorl_dds_qos *policies)
{
	char *text = text_of(policies);

	if (text != NULL && text[0] != '\0')
		printf("    %s\n", text);
	free(text);
}

static void print_endpoint(const struct whorl_dds_builtin_endpoint *endpoint, const char *kind)
{
	printf("  %s at node %" PRIu32, kind, endpoint->node);
	if (endpoint->behind > 0)
		printf(", %" PRIu64 " messages behind", endpoint->behind);
	printf("\n");
	print_policies(endpoint->qos);
}

static void print_topic(const struct list *lists, const struct whorl_dds_builtin_topic *topic)
{
	static const char *const consistencies[] = {"unordered", "atomic", "stored", "logged"};

	printf("topic %s, %s, in channel %s%s%s\n", topic->name,
	       topic->consistency < 4 ? consistencies[topic->consistency] : "?", topic->channel,
	       topic->type != NULL && topic->type->name[0] != '\0' ? ", type " : "",
	       topic->type != NULL ? topic->type->name : "");
	print_policies(topic->qos);
	for (int kind = WRITERS; kind <= READERS; kind++)
		for (size_t i = 0; i < lists[kind].count; i++) {
			const struct whorl_dds_builtin_endpoint *endpoint = lists[kind].data[i];

			if (strcmp(endpoint->topic_name, topic->name) == 0)
				print_endpoint(endpoint, kind == WRITERS ? "writer" : "reader");
		}
}

static void print_all(const struct list *lists)
{
	for (size_t i = 0; i < lists[PARTICIPANTS].count; i++) {
		const struct whorl_dds_builtin_participant *participant = lists[PARTICIPANTS].data[i];

		printf("participant at node %" PRIu32 ", incarnation %016" PRIx64 "\n", participant->node,
		       participant->incarnation);
	}
	for (size_t i = 0; i < lists[TOPICS].count; i++)
		print_topic(lists, lists[TOPICS].data[i]);
}

/* ---- for programs ----------------------------------------------------------------------------------------------------------- */

/* Numbers of 64 bits that are names: more than many readers of JSON have. */
static json_t *name_of(uint64_t name)
{
	char text[24];

	snprintf(text, sizeof text, "%016" PRIx64, name);
	return json_string(text);
}

static json_t *policies_json(const whorl_dds_qos *policies)
{
	char *text = text_of(policies);
	json_t *string = json_string(text);

	free(text);
	return string;
}

/* jansson takes a value over, and refuses one that is NULL: when memory is out a key is missing. */
static json_t *participant_json(const struct whorl_dds_builtin_participant *participant)
{
	json_t *object = json_pack("{s:I}", "node", (json_int_t)participant->node);

	json_object_set_new(object, "handle", name_of(participant->handle));
	json_object_set_new(object, "incarnation", name_of(participant->incarnation));
	json_object_set_new(object, "qos", policies_json(participant->qos));
	return object;
}

static json_t *topic_json(const struct whorl_dds_builtin_topic *topic)
{
	json_t *object = json_pack("{s:s, s:s, s:I}", "name", topic->name, "channel", topic->channel, "consistency",
				   (json_int_t)topic->consistency);

	json_object_set_new(object, "handle", name_of(topic->handle));
	json_object_set_new(object, "type", json_string(topic->type != NULL ? topic->type->name : ""));
	json_object_set_new(object, "bytes", json_integer(topic->type != NULL ? topic->type->bytes : 0));
	json_object_set_new(object, "qos", policies_json(topic->qos));
	return object;
}

static json_t *endpoint_json(const struct whorl_dds_builtin_endpoint *endpoint)
{
	json_t *object = json_pack("{s:s, s:s, s:I, s:I}", "topic", endpoint->topic_name, "type", endpoint->type_name,
				   "node", (json_int_t)endpoint->node, "behind", (json_int_t)endpoint->behind);

	json_object_set_new(object, "handle", name_of(endpoint->handle));
	json_object_set_new(object, "participant", name_of(endpoint->participant));
	json_object_set_new(object, "qos", policies_json(endpoint->qos));
	return object;
}

static bool print_json(const struct list *lists)
{
	json_t *all = json_object();
	bool good;

	for (int kind = 0; kind < LISTS; kind++) {
		json_t *array = json_array();

		for (size_t i = 0; i < lists[kind].count; i++)
			json_array_append_new(array, kind == PARTICIPANTS ? participant_json(lists[kind].data[i])
						     : kind == TOPICS     ? topic_json(lists[kind].data[i])
									  : endpoint_json(lists[kind].data[i]));
		json_object_set_new(all, keys[kind], array);
	}
	good = json_dumpf(all, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER) == 0;
	json_decref(all);
	fputs("\n", stdout);
	return good;
}

enum wh_exit wh_topics_ls(struct wh_topics *topics)
{
	struct list lists[LISTS] = {{NULL, 0}};
	enum wh_exit status = WH_EXIT_GOOD;

	for (int kind = 0; status == WH_EXIT_GOOD && kind < LISTS; kind++)
		status = read_list(topics->participant, WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT + kind, &lists[kind]);
	if (status == WH_EXIT_GOOD && topics->json && !print_json(lists))
		status = WH_EXIT_FAILED;
	else if (status == WH_EXIT_GOOD && !topics->json)
		print_all(lists);
	for (int kind = 0; kind < LISTS; kind++)
		free(lists[kind].data); /* what was lent goes with the participant */
	return status;
}
