/* set.c - coherent sets, which become visible as a whole or not at all: see cache.h. */
#include <stdlib.h>

#include "dds/cache/cache_int.h"

static struct wh_dds_kept_set **find(struct wh_dds_cache *cache, uint64_t number)
{
	struct wh_dds_kept_set **at = &cache->sets;

	while (*at != NULL && (*at)->number != number)
		at = &(*at)->next;
	return at;
}

struct wh_dds_kept_set *wh_dds_set_get(struct wh_dds_cache *cache, uint64_t number)
{
	struct wh_dds_kept_set *set = *find(cache, number);

	if (set != NULL)
		return set;
	set = cache->free_sets;
	if (set != NULL)
		cache->free_sets = set->next;
	else
		set = malloc(sizeof(*set));
	if (set == NULL)
		return NULL;
	*set = (struct wh_dds_kept_set){.number = number, .next = cache->sets};
	cache->sets = set;
	return set;
}

void wh_dds_kept_set_add(struct wh_dds_kept_set *set, struct wh_dds_kept *sample)
{
	sample->behind[WH_DDS_OF_INSTANCE] = NULL;
	if (set->last != NULL)
		set->last->behind[WH_DDS_OF_INSTANCE] = sample;
	else
		set->first = sample;
	set->last = sample;
}

/* The sample is of the set no more. */
static struct wh_dds_kept *pick(struct wh_dds_cache *cache, struct wh_dds_kept_set *set)
{
	struct wh_dds_kept *sample = set->first;

	set->first = sample->behind[WH_DDS_OF_INSTANCE];
	sample->instance->pending_count--;
	cache->held--;
	return sample;
}

static void drop(struct wh_dds_cache *cache, struct wh_dds_kept *sample)
{
	struct wh_dds_cached *instance = sample->instance;

	wh_dds_copy_drop(sample->copy);
	wh_dds_kept_free(cache, sample);
	wh_dds_cached_settle(cache, instance);
}

static void empty(struct wh_dds_cache *cache, struct wh_dds_kept_set *set)
{
	while (set->first != NULL)
		drop(cache, pick(cache, set));
	set->last = NULL;
}

/* One that nothing was kept of is to be known as broken as well. Without memory for that it ends without anything, or with what comes
 * later: then a limit was met before, and no memory besides. */
void wh_dds_set_break(struct wh_dds_cache *cache, uint64_t number)
{
	struct wh_dds_kept_set *set = wh_dds_set_get(cache, number);

	if (set == NULL)
		return;
	set->broken = true;
	empty(cache, set);
}

size_t wh_dds_cache_end_set(struct wh_dds_cache *cache, uint64_t number, bool whole, uint64_t now_ns)
{
	struct wh_dds_kept_set **at = find(cache, number), *set = *at;
	size_t count = 0;

	if (set == NULL)
		return 0;
	if (!whole)
		empty(cache, set);
	while (set->first != NULL)
		count += wh_dds_cache_show(cache, pick(cache, set), now_ns);
	*at = set->next;
	set->next = cache->free_sets;
	cache->free_sets = set;
	return count;
}

void wh_dds_sets_free(struct wh_dds_cache *cache)
{
	for (struct wh_dds_kept_set *next; cache->sets != NULL; cache->sets = next) {
		next = cache->sets->next;
		empty(cache, cache->sets);
		free(cache->sets);
	}
	for (struct wh_dds_kept_set *next; cache->free_sets != NULL; cache->free_sets = next) {
		next = cache->free_sets->next;
		free(cache->free_sets);
	}
}
