/* filter.c - see filter.h. */
#include "dds/cache/filter.h"

#include <stdlib.h>

struct wh_dds_filter *wh_dds_filter_new(whorl_dds_filter_fn *fn, void *arg, whorl_dds_release_fn *release)
{
	struct wh_dds_filter *filter = calloc(1, sizeof(*filter));

	if (filter == NULL) {
		if (release != NULL)
			release(arg);
		return NULL;
	}
	wh_store_relaxed(&filter->refs, 1);
	filter->fn = fn;
	filter->arg = arg;
	filter->release = release;
	return filter;
}

struct wh_dds_filter *wh_dds_filter_hold(struct wh_dds_filter *filter)
{
	if (filter != NULL)
		(void)wh_fetch_add(&filter->refs, 1);
	return filter;
}

void wh_dds_filter_put(struct wh_dds_filter *filter)
{
	/* What the others did with it is seen by the last one, which releases it: both are this. */
	if (filter == NULL || wh_fetch_add(&filter->refs, UINT64_MAX) != 1)
		return;
	if (filter->release != NULL)
		filter->release(filter->arg);
	free(filter);
}
