/* topic_filter.c - the filter of a topic: its entry has it for the program, and whorl has it for its readers. */
#include "ddsc/entry.h"
#include "ddsc/filter.h"

static dds_return_t set(const char *function, dds_entity_t topic, const struct dds_topic_filter *what)
{
	struct wh_ddsc_filter *filter = NULL, *old;
	struct wh_ddsc_entry *entry;
	dds_return_t result = wh_ddsc_entry_typed(function, topic, &entry);

	if (result != DDS_RETCODE_OK)
		return result;
	if (entry->kind->builtin == 0 && what->mode != DDS_TOPIC_FILTER_NONE)
		filter = wh_ddsc_filter_new(entry->kind, what);
	if (filter == NULL && what->mode != DDS_TOPIC_FILTER_NONE) {
		wh_ddsc_entry_put(entry);
		return whorl_dds_refuse(function, DDS_RETCODE_OUT_OF_RESOURCES, "memory is out");
	}
	result = whorl_dds_set_topic_filter(topic, filter != NULL ? wh_ddsc_filter_wants : NULL,
					    wh_ddsc_filter_hold(filter), wh_ddsc_filter_release);
	if (result == DDS_RETCODE_OK) {
		pthread_mutex_lock(&entry->lock);
		old = entry->filter;
		entry->filter = filter;
		pthread_mutex_unlock(&entry->lock);
		filter = old;
	}
	wh_ddsc_filter_let_go(filter);
	wh_ddsc_entry_put(entry);
	return result;
}

dds_return_t dds_set_topic_filter_extended(dds_entity_t topic, const struct dds_topic_filter *filter)
{
	bool is_set;

	if (filter == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no filter");
	switch (filter->mode) {
	case DDS_TOPIC_FILTER_NONE:
		return set(__func__, topic, filter);
	case DDS_TOPIC_FILTER_SAMPLE:
	case DDS_TOPIC_FILTER_SAMPLE_ARG:
		is_set = filter->mode == DDS_TOPIC_FILTER_SAMPLE ? filter->f.sample != NULL
								 : filter->f.sample_arg != NULL;
		if (!is_set)
			return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "a filter without a function");
		return set(__func__, topic, filter);
	case DDS_TOPIC_FILTER_SAMPLEINFO_ARG:
	case DDS_TOPIC_FILTER_SAMPLE_SAMPLEINFO_ARG:
		return whorl_dds_refuse(__func__, DDS_RETCODE_UNSUPPORTED, "a filter that looks at a sample's info");
	default:
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "there is no such mode");
	}
}

dds_return_t dds_set_topic_filter_and_arg(dds_entity_t topic, dds_topic_filter_arg_fn filter, void *arg)
{
	struct dds_topic_filter what = {.mode = DDS_TOPIC_FILTER_NONE, .arg = arg};

	if (filter != NULL) {
		what.mode = DDS_TOPIC_FILTER_SAMPLE_ARG;
		what.f.sample_arg = filter;
	}
	return set(__func__, topic, &what);
}

void dds_set_topic_filter(dds_entity_t topic, dds_topic_filter_fn filter)
{
	struct dds_topic_filter what = {.mode = DDS_TOPIC_FILTER_NONE};

	if (filter != NULL) {
		what.mode = DDS_TOPIC_FILTER_SAMPLE;
		what.f.sample = filter;
	}
	(void)set(__func__, topic, &what);
}

void dds_topic_set_filter(dds_entity_t topic, dds_topic_filter_fn filter)
{
	dds_set_topic_filter(topic, filter);
}

static dds_return_t get(const char *function, dds_entity_t topic, struct dds_topic_filter *what)
{
	struct wh_ddsc_entry *entry;
	dds_return_t result = wh_ddsc_entry_typed(function, topic, &entry);

	*what = (struct dds_topic_filter){.mode = DDS_TOPIC_FILTER_NONE};
	if (result != DDS_RETCODE_OK)
		return result;
	pthread_mutex_lock(&entry->lock);
	if (entry->filter != NULL)
		*what = *wh_ddsc_filter_what(entry->filter);
	pthread_mutex_unlock(&entry->lock);
	wh_ddsc_entry_put(entry);
	return result;
}

dds_return_t dds_get_topic_filter_extended(dds_entity_t topic, struct dds_topic_filter *filter)
{
	if (filter == NULL)
		return whorl_dds_refuse(__func__, DDS_RETCODE_BAD_PARAMETER, "no memory for the filter");
	return get(__func__, topic, filter);
}

dds_return_t dds_get_topic_filter_and_arg(dds_entity_t topic, dds_topic_filter_arg_fn *filter, void **arg)
{
	struct dds_topic_filter what;
	dds_return_t result = get(__func__, topic, &what);

	if (result != DDS_RETCODE_OK)
		return result;
	if (what.mode == DDS_TOPIC_FILTER_SAMPLE)
		return whorl_dds_refuse(__func__, DDS_RETCODE_PRECONDITION_NOT_MET, "the filter has no argument");
	if (filter != NULL)
		*filter = what.mode == DDS_TOPIC_FILTER_SAMPLE_ARG ? what.f.sample_arg : NULL;
	if (arg != NULL)
		*arg = what.arg;
	return result;
}

dds_topic_filter_fn dds_get_topic_filter(dds_entity_t topic)
{
	struct dds_topic_filter what;

	return get(__func__, topic, &what) == DDS_RETCODE_OK && what.mode == DDS_TOPIC_FILTER_SAMPLE ? what.f.sample
												     : NULL;
}

dds_topic_filter_fn dds_topic_get_filter(dds_entity_t topic)
{
	return dds_get_topic_filter(topic);
}
