/* waiting.c - conditions and waitsets. */
#include "ddsc/entry.h"
#include "ddsc/filter.h"

dds_entity_t dds_create_readcondition(dds_entity_t reader, uint32_t mask)
{
	return whorl_dds_create_readcondition(reader, mask);
}

/* The condition's entry has the filter, too: by that it is known to be a query. */
static dds_entity_t create_query(const char *function, struct wh_ddsc_entry *reader, uint32_t mask,
				 dds_querycondition_filter_fn function_of_program)
{
	struct dds_topic_filter what = {.mode = DDS_TOPIC_FILTER_SAMPLE, .f.sample = function_of_program};
	struct wh_ddsc_filter *filter = wh_ddsc_filter_new(reader->kind, &what);
	struct wh_ddsc_entry *entry = NULL;
	dds_entity_t condition;
	dds_return_t result;

	if (filter == NULL)
		return whorl_dds_refuse(function, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	condition = whorl_dds_create_querycondition(reader->handle, mask, wh_ddsc_filter_wants,
						    wh_ddsc_filter_hold(filter), wh_ddsc_filter_release);
	result = condition > 0 ? wh_ddsc_entry_get(function, condition, &entry) : condition;
	if (result < 0) {
		if (condition > 0)
			(void)wh_ddsc_delete(condition);
		wh_ddsc_filter_let_go(filter);
		return result;
	}
	pthread_mutex_lock(&entry->lock);
	entry->filter = filter;
	pthread_mutex_unlock(&entry->lock);
	wh_ddsc_entry_put(entry);
	return condition;
}

dds_entity_t dds_create_querycondition(dds_entity_t reader, uint32_t mask, dds_querycondition_filter_fn filter)
{
	struct wh_ddsc_entry *entry;
	dds_return_t result;

	if (filter == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no filter");
	result = wh_ddsc_entry_typed(__func__, reader, &entry);
	if (result != DDS_RETCODE_OK)
		return result;
	result = entry->kind->builtin != 0
			 ? whorl_dds_refuse(__func__, DDS_RETCODE_UNSUPPORTED, "a query of a built-in topic")
			 : create_query(__func__, entry, mask, filter);
	wh_ddsc_entry_put(entry);
	return result;
}

dds_return_t dds_get_mask(dds_entity_t condition, uint32_t *mask)
{
	return whorl_dds_get_mask(condition, mask);
}

dds_entity_t dds_create_guardcondition(dds_entity_t parent)
{
	return whorl_dds_create_guardcondition(parent);
}

dds_return_t dds_set_guardcondition(dds_entity_t condition, bool triggered)
{
	return whorl_dds_set_guardcondition(condition, triggered);
}

dds_return_t dds_read_guardcondition(dds_entity_t condition, bool *triggered)
{
	return whorl_dds_read_guardcondition(condition, triggered);
}

dds_return_t dds_take_guardcondition(dds_entity_t condition, bool *triggered)
{
	return whorl_dds_take_guardcondition(condition, triggered);
}

dds_return_t dds_triggered(dds_entity_t entity)
{
	return whorl_dds_triggered(entity);
}

dds_entity_t dds_create_waitset(dds_entity_t participant)
{
	return whorl_dds_create_waitset(participant);
}

dds_return_t dds_waitset_get_entities(dds_entity_t waitset, dds_entity_t *entities, size_t count)
{
	return whorl_dds_waitset_get_entities(waitset, entities, count);
}

dds_return_t dds_waitset_attach(dds_entity_t waitset, dds_entity_t entity, dds_attach_t cookie)
{
	return whorl_dds_waitset_attach(waitset, entity, cookie);
}

dds_return_t dds_waitset_detach(dds_entity_t waitset, dds_entity_t entity)
{
	return whorl_dds_waitset_detach(waitset, entity);
}

dds_return_t dds_waitset_set_trigger(dds_entity_t waitset, bool triggered)
{
	return whorl_dds_waitset_set_trigger(waitset, triggered);
}

dds_return_t dds_waitset_wait(dds_entity_t waitset, dds_attach_t *cookies, size_t count, dds_duration_t timeout)
{
	return whorl_dds_waitset_wait(waitset, cookies, count, timeout);
}

dds_return_t dds_waitset_wait_until(dds_entity_t waitset, dds_attach_t *cookies, size_t count, dds_time_t until)
{
	return whorl_dds_waitset_wait_until(waitset, cookies, count, until);
}
