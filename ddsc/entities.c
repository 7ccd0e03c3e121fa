/* entities.c - what entities are called, and what belongs to what. Handles are whorl's. */
#include <stdlib.h>
#include <string.h>

#include "ddsc/builtin.h"
#include "ddsc/domain.h"

/* What a program calls the default is said from outside. */
bool wh_ddsc_domain(dds_domainid_t domain, uint32_t *number)
{
	const char *text = getenv("WHORL_DDS_DOMAIN");
	char *rest = NULL;
	unsigned long long value;

	*number = domain == DDS_DOMAIN_DEFAULT ? 0 : domain;
	if (domain != DDS_DOMAIN_DEFAULT || text == NULL || *text == '\0')
		return true;
	value = strtoull(text, &rest, 10);
	*number = (uint32_t)value;
	return *rest == '\0' && value <= 65535;
}

dds_entity_t dds_get_parent(dds_entity_t entity)
{
	return whorl_dds_get_parent(entity);
}

dds_entity_t dds_get_participant(dds_entity_t entity)
{
	return whorl_dds_get_participant(entity);
}

/* A condition or reader has a topic and no publisher, a writer no subscriber: what has matches is of one of the kinds. */
static bool is_writer(dds_entity_t entity)
{
	return whorl_dds_get_matched_subscriptions(entity, NULL, 0) >= 0;
}

dds_entity_t dds_get_publisher(dds_entity_t writer)
{
	dds_entity_t parent = whorl_dds_get_parent(writer);

	if (parent < 0 || is_writer(writer))
		return parent;
	return whorl_dds_refuse(__func__, DDS_RETCODE_ILLEGAL_OPERATION, "the entity is no writer");
}

dds_entity_t dds_get_subscriber(dds_entity_t entity)
{
	dds_entity_t reader = whorl_dds_get_datareader(entity);
	dds_entity_t topic;

	if (reader <= 0)
		reader = entity;
	topic = whorl_dds_get_topic(reader);
	if (topic < 0)
		return topic;
	if (is_writer(reader))
		return whorl_dds_refuse(__func__, DDS_RETCODE_ILLEGAL_OPERATION, "the entity is no reader");
	return whorl_dds_get_parent(reader);
}

dds_entity_t dds_get_datareader(dds_entity_t condition)
{
	return whorl_dds_get_datareader(condition);
}

dds_entity_t dds_get_topic(dds_entity_t entity)
{
	return whorl_dds_get_topic(entity);
}

dds_return_t dds_get_children(dds_entity_t entity, dds_entity_t *children, size_t count)
{
	return whorl_dds_get_children(entity, children, count);
}

dds_return_t dds_lookup_participant(dds_domainid_t domain, dds_entity_t *participants, size_t count)
{
	uint32_t number;

	if (!wh_ddsc_domain(domain, &number))
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER,
					"WHORL_DDS_DOMAIN is no number of a domain");
	return whorl_dds_lookup_participant(number, participants, count);
}

dds_return_t dds_get_domainid(dds_entity_t entity, dds_domainid_t *domain)
{
	return whorl_dds_get_domainid(entity, domain);
}

dds_return_t dds_get_name(dds_entity_t topic, char *name, size_t bytes)
{
	return whorl_dds_get_name(topic, name, bytes);
}

dds_return_t dds_get_type_name(dds_entity_t topic, char *name, size_t bytes)
{
	return whorl_dds_get_type_name(topic, name, bytes);
}

dds_return_t dds_get_instance_handle(dds_entity_t entity, dds_instance_handle_t *handle)
{
	return whorl_dds_get_instance_handle(entity, handle);
}

dds_return_t dds_get_guid(dds_entity_t entity, dds_guid_t *guid)
{
	dds_instance_handle_t handle;
	dds_return_t result;

	if (guid == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no memory for the GUID");
	result = whorl_dds_get_instance_handle(entity, &handle);
	if (result == DDS_RETCODE_OK)
		wh_ddsc_guid(guid->v, handle);
	return result;
}

dds_return_t dds_assert_liveliness(dds_entity_t entity)
{
	return whorl_dds_assert_liveliness(entity);
}

dds_return_t dds_reader_wait_for_historical_data(dds_entity_t reader, dds_duration_t timeout)
{
	return whorl_dds_wait_for_historical_data(reader, timeout);
}

dds_return_t dds_get_matched_subscriptions(dds_entity_t writer, dds_instance_handle_t *readers, size_t count)
{
	return whorl_dds_get_matched_subscriptions(writer, readers, count);
}

dds_return_t dds_get_matched_publications(dds_entity_t reader, dds_instance_handle_t *writers, size_t count)
{
	return whorl_dds_get_matched_publications(reader, writers, count);
}

dds_return_t dds_notify_readers(dds_entity_t subscriber)
{
	(void)subscriber;
	return whorl_dds_refuse(__func__, DDS_RETCODE_UNSUPPORTED, "notify_readers");
}
