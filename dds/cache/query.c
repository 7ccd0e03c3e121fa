/* query.c - which conditions hold: see cache.h. */
#include "dds/cache/cache_int.h"

bool wh_dds_cache_has(const struct wh_dds_cache *cache, uint32_t mask)
{
	return (cache->present & wh_dds_combinations(mask)) != 0;
}

static uint32_t bit_of(const struct wh_dds_query *query)
{
	return 1u << (query - query->cache->queries);
}

void wh_dds_query_ask(struct wh_dds_query *query, struct wh_dds_kept *sample)
{
	const struct wh_dds_copy *copy = sample->copy;

	if (sample->has_data && !query->filter(copy->data, copy->bytes, query->ctx))
		return;
	sample->wanted_by |= bit_of(query);
	query->wanted++;
}

struct wh_dds_query *wh_dds_query_create(struct wh_dds_cache *cache, whorl_dds_filter_fn *filter, void *ctx)
{
	struct wh_dds_query *query;

	if (cache->queries_used == UINT32_MAX)
		return NULL;
	query = &cache->queries[__builtin_ctz(~cache->queries_used)];
	*query = (struct wh_dds_query){.cache = cache, .filter = filter, .ctx = ctx};
	cache->queries_used |= bit_of(query);
	for (struct wh_dds_cached *it = cache->busy_first; it != NULL; it = it->busy_behind)
		for (struct wh_dds_kept *sample = it->samples.first; sample != NULL;
		     sample = sample->behind[WH_DDS_OF_INSTANCE])
			wh_dds_query_ask(query, sample);
	return query;
}

void wh_dds_query_free(struct wh_dds_query *query)
{
	struct wh_dds_cache *cache = query->cache;
	uint32_t bit = bit_of(query);

	for (struct wh_dds_cached *it = cache->busy_first; it != NULL; it = it->busy_behind)
		for (struct wh_dds_kept *sample = it->samples.first; sample != NULL;
		     sample = sample->behind[WH_DDS_OF_INSTANCE])
			sample->wanted_by &= ~bit;
	cache->queries_used &= ~bit;
	query->cache = NULL;
}

static bool instance_has(const struct wh_dds_cached *instance, uint32_t wanted, uint32_t bit)
{
	if ((wanted >> wh_dds_combination(instance, true) & 1) == 0 &&
	    (wanted >> wh_dds_combination(instance, false) & 1) == 0)
		return false;
	for (const struct wh_dds_kept *sample = instance->samples.first; sample != NULL;
	     sample = sample->behind[WH_DDS_OF_INSTANCE])
		if ((sample->wanted_by & bit) != 0 && (wanted >> wh_dds_combination(instance, sample->read) & 1) != 0)
			return true;
	return false;
}

bool wh_dds_query_has(const struct wh_dds_query *query, uint32_t mask)
{
	const struct wh_dds_cache *cache = query->cache;
	uint32_t wanted = wh_dds_combinations(mask) & cache->present;

	if (wanted == 0 || query->wanted == 0)
		return false;
	for (const struct wh_dds_cached *it = cache->busy_first; it != NULL; it = it->busy_behind)
		if (instance_has(it, wanted, bit_of(query)))
			return true;
	return false;
}
