/* read.c - reading and taking: see cache.h.
 *
 * Samples are picked in the order in which they are given; then, from the last to the first, it is said of each what it is, with its ranks
 * among those picked; only then states change, and samples that are taken go.
 */
#include <stdlib.h>
#include <string.h>

#include "dds/cache/cache_int.h"

struct pick {
	struct wh_dds_kept **samples;
	size_t count, room;
	uint32_t wanted; /* combinations */
	uint32_t query;  /* its bit; 0: none */
};

static bool is_wanted(const struct pick *pick, const struct wh_dds_kept *sample)
{
	return (pick->wanted >> wh_dds_combination(sample->instance, sample->read) & 1) != 0 &&
	       (pick->query == 0 || (sample->wanted_by & pick->query) != 0);
}

static void pick_from(struct pick *pick, const struct wh_dds_queue *queue, enum wh_dds_which_queue which)
{
	bool reads_again = (pick->wanted & wh_dds_combinations(WHORL_DDS_READ_SAMPLE_STATE)) != 0;
	struct wh_dds_kept *sample = reads_again ? queue->first : queue->unread;

	for (; sample != NULL && pick->count < pick->room; sample = sample->behind[which]) {
		wh_dds_prefetch(sample->copy, offsetof(struct wh_dds_copy, data) + WH_CACHE_LINE);
		if (is_wanted(pick, sample))
			pick->samples[pick->count++] = sample;
	}
}

static void pick_instance(struct pick *pick, const struct wh_dds_cached *instance)
{
	if ((pick->wanted >> wh_dds_combination(instance, true) & 1) != 0 ||
	    (pick->wanted >> wh_dds_combination(instance, false) & 1) != 0)
		pick_from(pick, &instance->samples, WH_DDS_OF_INSTANCE);
}

static void pick_all(const struct wh_dds_cache *cache, struct pick *pick)
{
	if (cache->ordered) {
		pick_from(pick, &cache->samples, WH_DDS_OF_READER);
		return;
	}
	for (const struct wh_dds_cached *it = cache->busy_first; it != NULL && pick->count < pick->room;
	     it = it->busy_behind)
		pick_instance(pick, it);
}

static whorl_dds_return pick_samples(const struct wh_dds_cache *cache, const struct wh_dds_select *select,
				     struct pick *pick)
{
	const struct wh_dds_cached *instance;

	if (select->next) {
		instance = wh_dds_instance_behind(cache, select->instance);
		for (; instance != NULL && pick->count == 0; instance = wh_dds_instance_behind(cache, instance->handle))
			pick_instance(pick, instance);
		return WHORL_DDS_RETCODE_OK;
	}
	if (select->instance == 0) {
		pick_all(cache, pick);
		return WHORL_DDS_RETCODE_OK;
	}
	instance = wh_dds_cached_find(cache, select->instance);
	if (instance == NULL || !instance->born || instance->handle != select->instance)
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	pick_instance(pick, instance);
	return WHORL_DDS_RETCODE_OK;
}

/* ---- what they are -------------------------------------------------------------------------------------------------------- */

static uint32_t generation_of(uint32_t disposed, uint32_t no_writers)
{
	return disposed + no_writers;
}

/* Those behind it in the collection have been described. */
static void describe(struct wh_dds_cache *cache, const struct wh_dds_kept *sample, whorl_dds_sample_info *info)
{
	struct wh_dds_cached *instance = sample->instance;
	const struct wh_dds_facts *facts = &sample->copy->facts;
	uint32_t generation = generation_of(sample->disposed_generation, sample->no_writers_generation);

	if (instance->pass != cache->pass) { /* it is the newest of its instance here */
		instance->pass = cache->pass;
		instance->rank = 0;
		instance->newest_generation = generation;
	}
	*info = (whorl_dds_sample_info){
		.size = sizeof(*info),
		.sample_state = sample->read ? WHORL_DDS_READ_SAMPLE_STATE : WHORL_DDS_NOT_READ_SAMPLE_STATE,
		.view_state = instance->is_new ? WHORL_DDS_NEW_VIEW_STATE : WHORL_DDS_NOT_NEW_VIEW_STATE,
		.instance_state = (uint32_t)WHORL_DDS_ALIVE_INSTANCE_STATE << instance->life,
		.valid_data = sample->has_data,
		.writer = facts->writer,
		.disposed_generation_count = sample->disposed_generation,
		.no_writers_generation_count = sample->no_writers_generation,
		.sample_rank = instance->rank++,
		.generation_rank = instance->newest_generation - generation,
		.absolute_generation_rank =
			generation_of(instance->disposed_generation, instance->no_writers_generation) - generation,
		.bytes = sample->copy->bytes,
		.source_timestamp = facts->source_time,
		.reception_timestamp = facts->reception_time,
		.instance_handle = instance->handle,
		.publication_handle = facts->publication,
		.view = facts->view,
		.sequence = facts->sequence,
		.number = facts->number,
	};
}

/* ---- what becomes of them ------------------------------------------------------------------------------------------------- */

static void mark_read(struct wh_dds_cache *cache, struct wh_dds_kept *sample)
{
	struct wh_dds_cached *instance = sample->instance;

	if (sample->read)
		return;
	wh_dds_count_fewer(cache, wh_dds_combination(instance, false), 1);
	sample->read = true;
	instance->unread_count--;
	wh_dds_count_more(cache, wh_dds_combination(instance, true), 1);
	wh_dds_queue_pass(&instance->samples, sample, WH_DDS_OF_INSTANCE);
	if (cache->ordered)
		wh_dds_queue_pass(&cache->samples, sample, WH_DDS_OF_READER);
}

/* Do those that were picked fit into the program's memory? */
static bool all_fit(const struct pick *pick, size_t bytes)
{
	for (size_t i = 0; i < pick->count; i++)
		if (pick->samples[i]->copy->bytes > bytes)
			return false;
	return true;
}

/* Gives all that were picked to the program. Loans have room. */
static void give(struct wh_dds_cache *cache, const struct wh_dds_select *select, const struct pick *pick, void **data)
{
	struct wh_dds_drops drops = {.first = NULL};

	for (size_t i = 0; i < pick->count; i++) {
		struct wh_dds_kept *sample = pick->samples[i];
		struct wh_dds_cached *instance = sample->instance;
		struct wh_dds_copy *copy = sample->copy;

		if (select->copy_bytes > 0)
			memcpy(data[i], copy->data, copy->bytes);
		if (instance->is_new && !select->peek)
			wh_dds_instance_set(cache, instance, instance->life, false);
		if (select->take) {
			(void)wh_dds_cache_remove(cache, sample);
			if (instance->sample_count == 0)
				wh_dds_cached_settle(cache, instance);
		} else if (!select->peek) {
			mark_read(cache, sample);
		}
		if (select->copy_bytes == 0) {
			wh_dds_lend(cache, copy, select->take);
			data[i] = copy->data;
		} else if (select->take) {
			wh_dds_drops_add(&drops, copy);
		}
	}
	wh_dds_drops_end(&drops);
}

static bool make_room(struct wh_dds_cache *cache, size_t count)
{
	struct wh_dds_kept **picked;

	if (count <= cache->picked_room)
		return true;
	picked = realloc(cache->picked, 2 * count * sizeof(struct wh_dds_kept *));
	if (picked == NULL)
		return false;
	cache->picked = picked;
	cache->picked_room = 2 * count;
	return true;
}

/* The program's infos may be of another version: they are as far apart, and have as many bytes, as it says. */
static void describe_all(struct wh_dds_cache *cache, const struct pick *pick, void *infos, size_t info_bytes)
{
	whorl_dds_sample_info info, *here = infos;
	size_t bytes = info_bytes < sizeof(info) ? info_bytes : sizeof(info);

	cache->pass++;
	for (size_t i = pick->count; i-- > 0;) {
		if (info_bytes == sizeof(info)) {
			describe(cache, pick->samples[i], &here[i]);
			continue;
		}
		describe(cache, pick->samples[i], &info);
		memcpy((unsigned char *)infos + i * info_bytes, &info, bytes);
	}
}

whorl_dds_return wh_dds_cache_read(struct wh_dds_cache *cache, const struct wh_dds_select *select, void **data,
				   void *infos, size_t room)
{
	struct pick pick = {.wanted = wh_dds_combinations(select->mask) & cache->present,
			    .query = select->query != NULL ? 1u << (select->query - cache->queries) : 0,
			    .room = room < cache->visible ? room : cache->visible};
	whorl_dds_return result;

	if (pick.room > INT32_MAX)
		pick.room = INT32_MAX;
	if (!make_room(cache, pick.room))
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	pick.samples = cache->picked;
	result = pick_samples(cache, select, &pick);
	if (result != WHORL_DDS_RETCODE_OK)
		return result;
	if (select->copy_bytes > 0 && !all_fit(&pick, select->copy_bytes))
		return WHORL_DDS_RETCODE_BAD_PARAMETER;
	if (select->copy_bytes == 0 && !wh_dds_loans_reserve(cache, pick.count))
		return WHORL_DDS_RETCODE_OUT_OF_RESOURCES;
	describe_all(cache, &pick, infos, select->info_bytes);
	give(cache, select, &pick, data);
	if (!select->peek)
		cache->statuses->changed &= ~(uint32_t)WHORL_DDS_DATA_AVAILABLE_STATUS;
	return (whorl_dds_return)pick.count;
}
