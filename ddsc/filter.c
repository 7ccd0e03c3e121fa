/* filter.c - see filter.h. */
#include "ddsc/filter.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/atomics.h"

struct wh_ddsc_filter {
	wh_word refs;
	struct wh_ddsc_kind *kind;
	struct dds_topic_filter what;
	pthread_mutex_t lock;
	void *sample; /* that the last one was read into; with the lock */
};

struct wh_ddsc_filter *wh_ddsc_filter_new(struct wh_ddsc_kind *kind, const struct dds_topic_filter *what)
{
	struct wh_ddsc_filter *filter = calloc(1, sizeof(*filter));

	if (filter == NULL)
		return NULL;
	filter->sample = calloc(1, kind->sample_bytes);
	if (filter->sample == NULL) {
		free(filter);
		return NULL;
	}
	wh_store_relaxed(&filter->refs, 1);
	filter->kind = wh_ddsc_kind_hold(kind);
	filter->what = *what;
	pthread_mutex_init(&filter->lock, NULL);
	return filter;
}

struct wh_ddsc_filter *wh_ddsc_filter_hold(struct wh_ddsc_filter *filter)
{
	if (filter != NULL)
		(void)wh_fetch_add(&filter->refs, 1);
	return filter;
}

void wh_ddsc_filter_let_go(struct wh_ddsc_filter *filter)
{
	if (filter == NULL || wh_fetch_add(&filter->refs, UINT64_MAX) != 1)
		return;
	wh_ddsc_kind_clear(filter->kind, filter->sample);
	free(filter->sample);
	wh_ddsc_kind_let_go(filter->kind);
	pthread_mutex_destroy(&filter->lock);
	free(filter);
}

const struct dds_topic_filter *wh_ddsc_filter_what(const struct wh_ddsc_filter *filter)
{
	return &filter->what;
}

static bool ask(const struct dds_topic_filter *what, const void *sample)
{
	return what->mode == DDS_TOPIC_FILTER_SAMPLE ? what->f.sample(sample) : what->f.sample_arg(sample, what->arg);
}

void wh_ddsc_filter_release(void *arg)
{
	wh_ddsc_filter_let_go(arg);
}

/* What is no sample is wanted by nobody. */
bool wh_ddsc_filter_wants(const void *data, size_t bytes, void *arg)
{
	struct wh_ddsc_filter *filter = arg;
	bool wanted;

	if (filter->kind->is_plain)
		return ask(&filter->what, data);
	pthread_mutex_lock(&filter->lock);
	wanted = wh_ddsc_kind_unpack(filter->kind, data, bytes, true, filter->sample) &&
		 ask(&filter->what, filter->sample);
	pthread_mutex_unlock(&filter->lock);
	return wanted;
}
