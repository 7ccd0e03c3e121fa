/* sound.c - for tests: what the cache counts, counted again. */
#include "dds/cache/cache_int.h"

struct tally {
	uint32_t counts[WH_DDS_COMBINATIONS];
	uint32_t visible, held, instances, busy;
	size_t wanted[WH_DDS_QUERIES];
};

static bool is_queue_sound(const struct wh_dds_queue *queue, enum wh_dds_which_queue which)
{
	const struct wh_dds_kept *before = NULL, *unread = NULL;

	for (const struct wh_dds_kept *it = queue->first; it != NULL; before = it, it = it->behind[which]) {
		if (it->before[which] != before)
			return false;
		if (unread == NULL && !it->read)
			unread = it;
	}
	return queue->last == before && queue->unread == unread;
}

static void tally_sample(const struct wh_dds_cache *cache, struct tally *tally, const struct wh_dds_kept *sample)
{
	tally->counts[wh_dds_combination(sample->instance, sample->read)]++;
	tally->visible++;
	tally->held += sample->has_data || cache->keeps_all;
	for (int i = 0; i < WH_DDS_QUERIES; i++)
		tally->wanted[i] += sample->wanted_by >> i & 1;
}

static bool tally_instance(const struct wh_dds_cache *cache, struct tally *tally, const struct wh_dds_cached *instance)
{
	uint32_t samples = 0, unread = 0, data = 0;

	for (const struct wh_dds_kept *it = instance->samples.first; it != NULL; it = it->behind[WH_DDS_OF_INSTANCE]) {
		if (it->instance != instance || (it->has_data ? 0 : !cache->keeps_all) != (it == instance->dataless))
			return false;
		samples++;
		unread += !it->read;
		data += it->has_data;
		tally_sample(cache, tally, it);
	}
	tally->held += instance->pending_count;
	tally->instances++;
	tally->busy += samples > 0;
	return samples == instance->sample_count && unread == instance->unread_count && data == instance->data_count &&
	       is_queue_sound(&instance->samples, WH_DDS_OF_INSTANCE) && data <= cache->depth;
}

static uint32_t count_taken(const struct wh_dds_cache *cache)
{
	uint32_t count = 0;

	for (size_t i = 0; i < cache->loans.slot_count; i++)
		for (const struct wh_dds_link *it = cache->loans.slots[i]; it != NULL; it = it->next)
			count += ((const struct wh_dds_loan *)(const void *)it)->taken;
	return count;
}

static bool is_order_sound(const struct wh_dds_cache *cache)
{
	uint32_t count = 0;

	if (!cache->ordered)
		return cache->samples.first == NULL;
	for (const struct wh_dds_kept *it = cache->samples.first; it != NULL; it = it->behind[WH_DDS_OF_READER])
		count++;
	return count == cache->visible && is_queue_sound(&cache->samples, WH_DDS_OF_READER);
}

bool wh_dds_cache_is_sound(const struct wh_dds_cache *cache)
{
	struct tally tally = {.visible = 0};
	uint32_t busy = 0;

	for (const struct wh_dds_cached *it = wh_dds_instance_behind(cache, 0); it != NULL;
	     it = wh_dds_instance_behind(cache, it->handle))
		if (!tally_instance(cache, &tally, it))
			return false;
	for (const struct wh_dds_cached *it = cache->busy_first; it != NULL; it = it->busy_behind)
		busy++;
	for (int i = 0; i < WH_DDS_COMBINATIONS; i++)
		if (tally.counts[i] != cache->counts[i] || (tally.counts[i] > 0) != (cache->present >> i & 1))
			return false;
	for (int i = 0; i < WH_DDS_QUERIES; i++)
		if ((cache->queries_used >> i & 1) != 0 && tally.wanted[i] != cache->queries[i].wanted)
			return false;
	return cache->asked == 0 && cache->asked_first == NULL && tally.visible == cache->visible &&
	       tally.held + count_taken(cache) == cache->held && tally.instances == cache->instance_count &&
	       tally.busy == busy && busy <= cache->instance_count && is_order_sound(cache);
}
