/* builtin.c - see builtin.h. */
#include "ddsc/builtin.h"

#include <stdlib.h>
#include <string.h>

#include "ddsc/own.h"

void wh_ddsc_guid(uint8_t guid[16], dds_instance_handle_t handle)
{
	memset(guid, 0, 16);
	for (size_t i = 0; i < 8; i++)
		guid[i] = (uint8_t)(handle >> (56 - 8 * i));
}

size_t wh_ddsc_builtin_bytes(uint32_t topic)
{
	switch (topic) {
	case WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT:
		return sizeof(dds_builtintopic_participant_t);
	case WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC:
		return sizeof(dds_builtintopic_topic_t);
	default:
		return sizeof(dds_builtintopic_endpoint_t);
	}
}

/* ---- clearing --------------------------------------------------------------------------------------------------------------- */

static void clear_participant(dds_builtintopic_participant_t *participant)
{
	dds_delete_qos(participant->qos);
	*participant = (dds_builtintopic_participant_t){.qos = NULL};
}

static void clear_topic(dds_builtintopic_topic_t *topic)
{
	free(topic->topic_name);
	free(topic->type_name);
	dds_delete_qos(topic->qos);
	*topic = (dds_builtintopic_topic_t){.qos = NULL};
}

static void clear_endpoint(dds_builtintopic_endpoint_t *endpoint)
{
	free(endpoint->topic_name);
	free(endpoint->type_name);
	dds_delete_qos(endpoint->qos);
	*endpoint = (dds_builtintopic_endpoint_t){.qos = NULL};
}

void wh_ddsc_builtin_clear(uint32_t topic, void *sample)
{
	switch (topic) {
	case WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT:
		clear_participant(sample);
		break;
	case WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC:
		clear_topic(sample);
		break;
	default:
		clear_endpoint(sample);
	}
}

/* ---- making ----------------------------------------------------------------------------------------------------------------- */

static bool make_participant(dds_builtintopic_participant_t *to, const struct whorl_dds_builtin_participant *from,
			     bool valid)
{
	wh_ddsc_guid(to->key.v, from->handle);
	if (!valid)
		return true;
	to->qos = wh_ddsc_qos_of(from->qos);
	return to->qos != NULL;
}

static bool make_topic(dds_builtintopic_topic_t *to, const struct whorl_dds_builtin_topic *from, bool valid)
{
	wh_ddsc_guid(to->key.d, from->handle);
	if (!valid)
		return true;
	to->topic_name = strdup(from->name);
	to->type_name = strdup(from->type != NULL ? from->type->name : "");
	to->qos = wh_ddsc_qos_of(from->qos);
	return to->topic_name != NULL && to->type_name != NULL && to->qos != NULL;
}

static bool make_endpoint(dds_builtintopic_endpoint_t *to, const struct whorl_dds_builtin_endpoint *from, bool valid)
{
	wh_ddsc_guid(to->key.v, from->handle);
	if (!valid)
		return true;
	wh_ddsc_guid(to->participant_key.v, from->participant);
	to->participant_instance_handle = from->participant;
	to->topic_name = strdup(from->topic_name);
	to->type_name = strdup(from->type_name);
	to->qos = wh_ddsc_qos_of(from->qos);
	return to->topic_name != NULL && to->type_name != NULL && to->qos != NULL;
}

bool wh_ddsc_builtin_make(uint32_t topic, const void *from, bool valid, void *to)
{
	bool made;

	switch (topic) {
	case WHORL_DDS_BUILTIN_TOPIC_DCPSPARTICIPANT:
		made = make_participant(to, from, valid);
		break;
	case WHORL_DDS_BUILTIN_TOPIC_DCPSTOPIC:
		made = make_topic(to, from, valid);
		break;
	default:
		made = make_endpoint(to, from, valid);
	}
	if (!made)
		wh_ddsc_builtin_clear(topic, to);
	return made;
}

/* ---- of what an endpoint matches -------------------------------------------------------------------------------------------- */

static dds_builtintopic_endpoint_t *matched(dds_entity_t entity, dds_instance_handle_t handle)
{
	struct whorl_dds_builtin_endpoint *from = whorl_dds_get_matched_endpoint(entity, handle);
	dds_builtintopic_endpoint_t *made = from != NULL ? calloc(1, sizeof(*made)) : NULL;

	if (made != NULL && !make_endpoint(made, from, true)) {
		dds_builtintopic_free_endpoint(made);
		made = NULL;
	}
	whorl_dds_builtin_endpoint_free(from);
	return made;
}

dds_builtintopic_endpoint_t *dds_get_matched_subscription_data(dds_entity_t writer, dds_instance_handle_t reader)
{
	return whorl_dds_get_matched_subscriptions(writer, NULL, 0) >= 0 ? matched(writer, reader) : NULL;
}

dds_builtintopic_endpoint_t *dds_get_matched_publication_data(dds_entity_t reader, dds_instance_handle_t writer)
{
	return whorl_dds_get_matched_publications(reader, NULL, 0) >= 0 ? matched(reader, writer) : NULL;
}

void dds_builtintopic_free_endpoint(dds_builtintopic_endpoint_t *endpoint)
{
	if (endpoint == NULL)
		return;
	clear_endpoint(endpoint);
	free(endpoint);
}

void dds_builtintopic_free_topic(dds_builtintopic_topic_t *topic)
{
	if (topic == NULL)
		return;
	clear_topic(topic);
	free(topic);
}

void dds_builtintopic_free_participant(dds_builtintopic_participant_t *participant)
{
	if (participant == NULL)
		return;
	clear_participant(participant);
	free(participant);
}
