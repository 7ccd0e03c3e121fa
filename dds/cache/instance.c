/* instance.c - instances, how they are found, and what states they are in: see cache_int.h. */
#include <stdlib.h>

#include "dds/cache/cache_int.h"

/* ---- by handle, in their order -------------------------------------------------------------------------------------------- */

/* Those below the handle, and the others. */
static void split(struct wh_dds_cached *root, whorl_dds_instance_handle handle, struct wh_dds_cached **below,
		  struct wh_dds_cached **others)
{
	while (root != NULL) {
		if (root->handle < handle) {
			*below = root;
			below = &root->right;
			root = *below;
		} else {
			*others = root;
			others = &root->left;
			root = *others;
		}
	}
	*below = *others = NULL;
}

static void hang(struct wh_dds_cache *cache, struct wh_dds_cached *instance)
{
	struct wh_dds_cached **at = &cache->by_handle;

	while (*at != NULL && (*at)->link.number >= instance->link.number)
		at = instance->handle < (*at)->handle ? &(*at)->left : &(*at)->right;
	split(*at, instance->handle, &instance->left, &instance->right);
	*at = instance;
}

static void unhang(struct wh_dds_cache *cache, struct wh_dds_cached *instance)
{
	struct wh_dds_cached **at = &cache->by_handle, *left = instance->left, *right = instance->right;

	while (*at != instance)
		at = instance->handle < (*at)->handle ? &(*at)->left : &(*at)->right;
	while (left != NULL && right != NULL) {
		if (left->link.number >= right->link.number) {
			*at = left;
			at = &left->right;
			left = *at;
		} else {
			*at = right;
			at = &right->left;
			right = *at;
		}
	}
	*at = left != NULL ? left : right;
}

struct wh_dds_cached *wh_dds_instance_behind(const struct wh_dds_cache *cache, whorl_dds_instance_handle handle)
{
	struct wh_dds_cached *at = cache->by_handle, *behind = NULL;

	if (!cache->keyed)
		return cache->only != NULL && cache->only->handle > handle ? cache->only : NULL;
	while (at != NULL) {
		if (at->handle > handle) {
			behind = at;
			at = at->left;
		} else {
			at = at->right;
		}
	}
	return behind;
}

/* ---- making and finding --------------------------------------------------------------------------------------------------- */

struct wh_dds_cached *wh_dds_cached_find(const struct wh_dds_cache *cache, whorl_dds_instance_handle handle)
{
	if (!cache->keyed)
		return cache->only;
	/* The link is the first member, and the number is as good as the handle. */
	return (struct wh_dds_cached *)(void *)wh_dds_index_find(&cache->index, wh_dds_spread(handle));
}

struct wh_dds_cached *wh_dds_instance_make(struct wh_dds_cache *cache, whorl_dds_instance_handle handle)
{
	struct wh_dds_cached *instance = cache->free_instances;

	if (instance != NULL)
		cache->free_instances = instance->busy_behind;
	else
		instance = malloc(sizeof(*instance));
	if (instance == NULL)
		return NULL;
	*instance = (struct wh_dds_cached){.handle = handle, .life = WH_DDS_IS_ALIVE, .is_new = true};
	instance->deadline.kind = WH_DDS_TIMER_DEADLINE;
	instance->purge.kind = WH_DDS_TIMER_PURGE;
	instance->release.kind = WH_DDS_TIMER_RELEASE;
	if (!cache->keyed) {
		cache->only = instance;
	} else if (wh_dds_index_add(&cache->index, &instance->link, wh_dds_spread(handle))) {
		hang(cache, instance);
	} else {
		free(instance);
		return NULL;
	}
	cache->instance_count++;
	return instance;
}

static void drop_instance(struct wh_dds_cache *cache, struct wh_dds_cached *instance)
{
	wh_dds_timer_clear(&cache->timers, &instance->deadline);
	wh_dds_timer_clear(&cache->timers, &instance->purge);
	wh_dds_timer_clear(&cache->timers, &instance->release);
	if (cache->keyed) {
		unhang(cache, instance);
		wh_dds_index_remove(&cache->index, &instance->link);
	} else {
		cache->only = NULL;
	}
	cache->instance_count--;
	instance->busy_behind = cache->free_instances;
	cache->free_instances = instance;
}

void wh_dds_cached_settle(struct wh_dds_cache *cache, struct wh_dds_cached *instance)
{
	bool is_over = !instance->born || (instance->writers_gone && instance->life != WH_DDS_IS_ALIVE);

	if (is_over && instance->sample_count == 0 && instance->pending_count == 0 && instance->asked == 0 &&
	    instance->withheld == NULL)
		drop_instance(cache, instance);
}

void wh_dds_instances_free(struct wh_dds_cache *cache)
{
	struct wh_dds_cached *next;

	for (struct wh_dds_cached *it = wh_dds_instance_behind(cache, 0); it != NULL; it = next) {
		next = wh_dds_instance_behind(cache, it->handle);
		while (it->samples.first != NULL)
			wh_dds_copy_drop(wh_dds_cache_remove(cache, it->samples.first));
		if (it->withheld != NULL)
			wh_dds_copy_drop(it->withheld);
		drop_instance(cache, it);
	}
	for (; cache->free_instances != NULL; cache->free_instances = next) {
		next = cache->free_instances->busy_behind;
		free(cache->free_instances);
	}
	wh_dds_index_free(&cache->index);
}

/* ---- states --------------------------------------------------------------------------------------------------------------- */

/* All its samples go from one combination to another. */
static void move(struct wh_dds_cache *cache, struct wh_dds_cached *instance, unsigned from, bool read, uint32_t count)
{
	unsigned to = wh_dds_combination(instance, read);

	if (from == to || count == 0)
		return;
	wh_dds_count_fewer(cache, from, count);
	wh_dds_count_more(cache, to, count);
}

void wh_dds_instance_set(struct wh_dds_cache *cache, struct wh_dds_cached *instance, enum wh_dds_life life, bool is_new)
{
	unsigned read = wh_dds_combination(instance, true), unread = wh_dds_combination(instance, false);

	instance->life = life;
	instance->is_new = is_new;
	move(cache, instance, read, true, instance->sample_count - instance->unread_count);
	move(cache, instance, unread, false, instance->unread_count);
}

uint32_t wh_dds_cache_state(const struct wh_dds_cache *cache, whorl_dds_instance_handle handle)
{
	const struct wh_dds_cached *instance = wh_dds_cached_find(cache, handle);

	if (instance == NULL || !instance->born)
		return 0;
	return (uint32_t)WHORL_DDS_ALIVE_INSTANCE_STATE << instance->life;
}
