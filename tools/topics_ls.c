/* topics_ls.c - `whorl dds ls`: participants, topics, writers and readers of a domain, of what the four built-in topics tell. */
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "tools/topics.h"

#define ENTRIES_AT_ONCE 4096
#define HISTORY (INT64_C(10) * 1000000000)

struct list { /* of one built-in topic, lent */
	whorl_dds_entity topic, reader;
	struct whorl_dds_sample_info infos[ENTRIES_AT_ONCE];
	void *data[ENTRIES_AT_ONCE];
	size_t count;
};

enum { PARTICIPANTS, TOPICS, WRITERS, READERS, LISTS };

static const char *const keys[] = {"participants", "topics", "writers", "readers"};

/* Reads what there is now. What has ended is left out. */
static whorl_dds_return read_list(whorl_dds_entity participant, struct list *list)
{
	whorl_dds_return got;
	size_t kept = 0;

	list->reader = whorl_dds_create_reader(participant, list->topic, NULL, NULL);
	if (list->reader < 0)
		return list->reader;
	got = whorl_dds_wait_for_historical_data(list->reader, HISTORY);
	if (got < 0)
		return got;
	list->infos[0].size = sizeof(list->infos[0]);
	got = whorl_dds_read(list->reader, list->data, list->infos, ENTRIES_AT_ONCE);
	if (got < 0)
		return got;
	for (size_t i = 0; i < (size_t)got; i++)
		if (list->infos[i].valid_data && list->infos[i].instance_state == WHORL_DDS_ALIVE_INSTANCE_STATE)
			list->data[kept++] = list->data[i];
	list->count = kept;
	return WHORL_DDS_RETCODE_OK;
}

/* ---- for people ------------------------------------------------------------------------------------------------------------- */

static void print_policies(const whorl_dds_qos *policies)
{
	char text[4096];

	if (policies != NULL && whorl_dds_qos_text(policies, text, sizeof text) > 0)
		printf("    %s\n", text);
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

static json_t *text_of(const whorl_dds_qos *policies)
{
	char text[4096] = "";

	if (policies != NULL)
		(void)whorl_dds_qos_text(policies, text, sizeof text);
	return json_string(text);
}

/* jansson takes a value over, and refuses one that is NULL: when memory is out a key is missing. */
static json_t *participant_json(const struct whorl_dds_builtin_participant *participant)
{
	json_t *object = json_pack("{s:I}", "node", (json_int_t)participant->node);

	json_object_set_new(object, "handle", name_of(participant->handle));
	json_object_set_new(object, "incarnation", name_of(participant->incarnation));
	json_object_set_new(object, "qos", text_of(participant->qos));
	return object;
}

static json_t *topic_json(const struct whorl_dds_builtin_topic *topic)
{
	json_t *object = json_pack("{s:s, s:s, s:I}", "name", topic->name, "channel", topic->channel, "consistency",
				   (json_int_t)topic->consistency);

	json_object_set_new(object, "handle", name_of(topic->handle));
	json_object_set_new(object, "type", json_string(topic->type != NULL ? topic->type->name : ""));
	json_object_set_new(object, "bytes", json_integer(topic->type != NULL ? topic->type->bytes : 0));
	json_object_set_new(object, "qos", text_of(topic->qos));
	return object;
}

static json_t *endpoint_json(const struct whorl_dds_builtin_endpoint *endpoint)
{
	json_t *object = json_pack("{s:s, s:s, s:I, s:I}", "topic", endpoint->topic_name, "type", endpoint->type_name,
				   "node", (json_int_t)endpoint->node, "behind", (json_int_t)endpoint->behind);

	json_object_set_new(object, "handle", name_of(endpoint->handle));
	json_object_set_new(object, "participant", name_of(endpoint->participant));
	json_object_set_new(object, "qos", text_of(endpoint->qos));
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
	struct list *lists = calloc(LISTS, sizeof(*lists));
	whorl_dds_return result = lists != NULL ? WHORL_DDS_RETCODE_OK : WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	enum wh_exit status = WH_EXIT_GOOD;

	if (lists == NULL)
		wh_say("%s", whorl_result_text(WHORL_MEMORY));
	for (int kind = 0; result == WHORL_DDS_RETCODE_OK && kind < LISTS; kind++) {
		lists[kind].topic = WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT + kind;
		result = read_list(topics->participant, &lists[kind]);
		if (result != WHORL_DDS_RETCODE_OK)
			status = wh_topics_refused(result);
	}
	if (lists == NULL)
		return WH_EXIT_FAILED;
	if (result == WHORL_DDS_RETCODE_OK && topics->json && !print_json(lists))
		status = WH_EXIT_FAILED;
	else if (result == WHORL_DDS_RETCODE_OK && !topics->json)
		print_all(lists);
	free(lists); /* what was lent goes with the participant */
	return status;
}
