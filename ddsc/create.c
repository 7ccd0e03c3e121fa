/* create.c - entities: creating and deleting, their policies and listeners. */
#include <stdlib.h>

#include "ddsc/domain.h"
#include "ddsc/entry.h"
#include "ddsc/filter.h"
#include "ddsc/kept.h"

/* ---- creating --------------------------------------------------------------------------------------------------------------- */

/* What an entity is created with. The listener is a copy, which the entry gets: whorl calls it with that. */
struct with {
	const char *function;
	const whorl_dds_qos *qos;
	const dds_qos_t *given;
	dds_listener_t *copy;
	whorl_dds_listener *listener;
};

static dds_return_t begin(struct with *with, const char *function, const dds_qos_t *qos, const dds_listener_t *listener)
{
	dds_return_t result;

	*with = (struct with){.function = function, .given = qos};
	with->qos = wh_ddsc_qos_whorl(function, qos, &result);
	if (result != DDS_RETCODE_OK || listener == NULL)
		return result;
	with->copy = wh_ddsc_listener_copy(listener);
	with->listener = with->copy != NULL ? wh_ddsc_listener_whorl(with->copy) : NULL;
	if (with->listener != NULL)
		return result;
	dds_delete_listener(with->copy);
	return whorl_dds_refuse(function, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
}

/* Gives the entry what is the entity's own. `kind`: of a topic; else NULL. An entity without an entry is none. */
static dds_entity_t end(struct with *with, dds_entity_t entity, struct wh_ddsc_kind *kind)
{
	struct wh_ddsc_entry *entry = NULL;
	dds_return_t result = entity;

	whorl_dds_delete_listener(with->listener);
	if (entity > 0)
		result = wh_ddsc_entry_of(with->function, entity, kind, &entry);
	if (result >= 0 && entry != NULL) {
		pthread_mutex_lock(&entry->lock);
		entry->listener = with->copy;
		with->copy = NULL;
		if (with->given != NULL && !wh_ddsc_own_merge(&entry->own, &with->given->own))
			result = whorl_dds_refuse(with->function, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
		pthread_mutex_unlock(&entry->lock);
	}
	wh_ddsc_entry_put(entry);
	if (result < 0 && entity > 0)
		(void)wh_ddsc_delete(entity);
	dds_delete_listener(with->copy);
	return result < 0 ? result : entity;
}

/* A function of whorl's that creates an entity, between the two. */
#define CREATE(qos, listener, call)                                                                                    \
	do {                                                                                                           \
		struct with with;                                                                                      \
		dds_return_t result = begin(&with, __func__, qos, listener);                                           \
                                                                                                                       \
		return result == DDS_RETCODE_OK ? end(&with, call, NULL) : result;                                     \
	} while (0)

dds_entity_t dds_create_participant(const dds_domainid_t domain, const dds_qos_t *qos, const dds_listener_t *listener)
{
	uint32_t number;

	if (!wh_ddsc_domain(domain, &number))
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER,
					"WHORL_DDS_DOMAIN is no number of a domain");
	CREATE(qos, listener, whorl_dds_create_participant(number, with.qos, with.listener));
}

dds_entity_t dds_create_publisher(dds_entity_t participant, const dds_qos_t *qos, const dds_listener_t *listener)
{
	CREATE(qos, listener, whorl_dds_create_publisher(participant, with.qos, with.listener));
}

dds_entity_t dds_create_subscriber(dds_entity_t participant, const dds_qos_t *qos, const dds_listener_t *listener)
{
	CREATE(qos, listener, whorl_dds_create_subscriber(participant, with.qos, with.listener));
}

dds_entity_t dds_create_writer(dds_entity_t parent, dds_entity_t topic, const dds_qos_t *qos,
			       const dds_listener_t *listener)
{
	CREATE(qos, listener, whorl_dds_create_writer(parent, topic, with.qos, with.listener));
}

dds_entity_t dds_create_reader(dds_entity_t parent, dds_entity_t topic, const dds_qos_t *qos,
			       const dds_listener_t *listener)
{
	CREATE(qos, listener, whorl_dds_create_reader(parent, topic, with.qos, with.listener));
}

/* Others may have registered it between the look and the call. */
static dds_entity_t register_topic(const struct with *with, dds_entity_t participant, const struct wh_ddsc_kind *kind,
				   const char *name)
{
	dds_entity_t topic = DDS_RETCODE_PRECONDITION_NOT_MET;

	for (int i = 0; i < 2 && topic == DDS_RETCODE_PRECONDITION_NOT_MET; i++) {
		whorl_dds_qos *qos = wh_ddsc_kept(participant, name, with->qos);

		topic = qos != NULL ? whorl_dds_create_topic(participant, &kind->whorl, name, qos, with->listener)
				    : whorl_dds_refuse(with->function, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
		whorl_dds_delete_qos(qos);
	}
	return topic;
}

dds_entity_t dds_create_topic(dds_entity_t participant, const dds_topic_descriptor_t *descriptor, const char *name,
			      const dds_qos_t *qos, const dds_listener_t *listener)
{
	struct wh_ddsc_kind *kind;
	struct wh_error err = {.text = ""};
	struct with with;
	dds_return_t result;
	dds_entity_t topic;

	if (descriptor == NULL || name == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no descriptor, or no name");
	result = wh_ddsc_kind_new(&kind, (const struct wh_ddsc_descriptor *)(const void *)descriptor, &err);
	if (result != DDS_RETCODE_OK)
		return whorl_dds_refuse(__func__, result, err.text);
	result = begin(&with, __func__, qos, listener);
	topic = result != DDS_RETCODE_OK ? result : end(&with, register_topic(&with, participant, kind, name), kind);
	wh_ddsc_kind_let_go(kind);
	return topic;
}

static dds_entity_t find_topic(const char *function, dds_entity_t participant, const char *name, dds_duration_t timeout)
{
	struct wh_ddsc_entry *entry;
	dds_entity_t topic = whorl_dds_find_topic(participant, name, timeout);
	dds_return_t result;

	if (topic < 0)
		return topic;
	result = wh_ddsc_entry_typed(function, topic, &entry);
	if (result == DDS_RETCODE_OK) {
		wh_ddsc_entry_put(entry);
		return topic;
	}
	(void)wh_ddsc_delete(topic);
	return whorl_dds_refuse(function, DDS_RETCODE_UNSUPPORTED,
				"the samples are encoded, and no topic of this process has their type");
}

dds_entity_t dds_find_topic(dds_find_scope_t scope, dds_entity_t participant, const char *name,
			    const dds_typeinfo_t *information, dds_duration_t timeout)
{
	(void)information;
	if ((unsigned)scope > DDS_FIND_SCOPE_PARTICIPANT)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "there is no such scope");
	return find_topic(__func__, participant, name, timeout);
}

dds_entity_t dds_find_topic_scoped(dds_find_scope_t scope, dds_entity_t participant, const char *name,
				   dds_duration_t timeout)
{
	return dds_find_topic(scope, participant, name, NULL, timeout);
}

dds_entity_t dds_create_domain(const dds_domainid_t domain, const char *configuration)
{
	(void)domain;
	(void)configuration;
	return whorl_dds_refuse(__func__, DDS_RETCODE_UNSUPPORTED,
				"a domain is configured by the file that WHORL_DDS names");
}

dds_return_t dds_delete(dds_entity_t entity)
{
	return wh_ddsc_delete(entity);
}

dds_return_t dds_enable(dds_entity_t entity)
{
	return whorl_dds_enable(entity);
}

/* ---- policies and listeners ------------------------------------------------------------------------------------------------- */

dds_return_t dds_get_qos(dds_entity_t entity, dds_qos_t *qos)
{
	struct wh_ddsc_entry *entry;
	dds_return_t result;

	if (qos == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no policies");
	result = wh_ddsc_entry_get(__func__, entity, &entry);
	if (result != DDS_RETCODE_OK)
		return result;
	dds_reset_qos(qos);
	result = whorl_dds_get_qos(entity, qos->whorl);
	pthread_mutex_lock(&entry->lock);
	if (result == DDS_RETCODE_OK && !wh_ddsc_own_merge(&qos->own, &entry->own))
		result = whorl_dds_refuse(__func__, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	pthread_mutex_unlock(&entry->lock);
	wh_ddsc_entry_put(entry);
	return result;
}

/* The policies that whorl does not have are those of the time at which the entity was created. */
dds_return_t dds_set_qos(dds_entity_t entity, const dds_qos_t *qos)
{
	dds_return_t result;
	const whorl_dds_qos *whorl = wh_ddsc_qos_whorl(__func__, qos, &result);

	if (result != DDS_RETCODE_OK)
		return result;
	if (qos == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no policies");
	return whorl_dds_set_qos(entity, whorl);
}

dds_return_t dds_get_listener(dds_entity_t entity, dds_listener_t *listener)
{
	struct wh_ddsc_entry *entry;
	dds_return_t result;

	if (listener == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no listener");
	result = wh_ddsc_entry_get(__func__, entity, &entry);
	if (result != DDS_RETCODE_OK)
		return result;
	pthread_mutex_lock(&entry->lock);
	dds_reset_listener(listener);
	dds_copy_listener(listener, entry->listener);
	pthread_mutex_unlock(&entry->lock);
	wh_ddsc_entry_put(entry);
	return result;
}

/* The old one is freed when whorl calls it no more. */
dds_return_t dds_set_listener(dds_entity_t entity, const dds_listener_t *listener)
{
	struct wh_ddsc_entry *entry;
	struct with with;
	dds_return_t result = begin(&with, __func__, NULL, listener);

	if (result != DDS_RETCODE_OK)
		return result;
	result = wh_ddsc_entry_get(__func__, entity, &entry);
	if (result == DDS_RETCODE_OK)
		result = whorl_dds_set_listener(entity, with.listener);
	if (result == DDS_RETCODE_OK) {
		dds_listener_t *old;

		pthread_mutex_lock(&entry->lock);
		old = entry->listener;
		entry->listener = with.copy;
		with.copy = old;
		pthread_mutex_unlock(&entry->lock);
	}
	whorl_dds_delete_listener(with.listener);
	dds_delete_listener(with.copy);
	wh_ddsc_entry_put(entry);
	return result;
}
