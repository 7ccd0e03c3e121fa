/* cache.c - what comes to a reader: limits, history, the filters. See cache.h. */
#include <stdlib.h>
#include <string.h>

#include "dds/cache/cache_int.h"

/* ---- the cache itself ----------------------------------------------------------------------------------------------------- */

static uint64_t duration(int64_t ns)
{
	return ns == WHORL_DDS_INFINITY ? WH_DDS_NEVER : (uint64_t)ns;
}

static uint32_t limit(int32_t most)
{
	return most == WHORL_DDS_UNLIMITED ? UINT32_MAX : (uint32_t)most;
}

static void set_times(struct wh_dds_cache *cache, const struct wh_dds_policies *policies)
{
	cache->deadline_ns = duration(policies->deadline_ns);
	cache->separation_ns = duration(policies->separation_ns);
	cache->purge_ns[WH_DDS_IS_ALIVE] = WH_DDS_NEVER;
	cache->purge_ns[WH_DDS_IS_DISPOSED] = duration(policies->purge.disposed_ns);
	cache->purge_ns[WH_DDS_IS_LEFT] = duration(policies->purge.no_writers_ns);
}

struct wh_dds_cache *wh_dds_cache_create(const struct wh_dds_cache_options *options)
{
	const struct wh_dds_policies *policies = options->policies;
	struct wh_dds_cache *cache = calloc(1, sizeof(*cache));

	if (cache == NULL)
		return NULL;
	cache->keyed = options->keyed;
	cache->ordered = cache->keyed && policies->presentation.ordered &&
			 policies->presentation.scope != WHORL_DDS_PRESENTATION_INSTANCE;
	cache->keeps_all = policies->history.kind == WHORL_DDS_HISTORY_KEEP_ALL;
	cache->reliable = policies->reliability.kind == WHORL_DDS_RELIABILITY_RELIABLE;
	cache->depth = cache->keeps_all ? UINT32_MAX : (uint32_t)policies->history.depth;
	cache->samples_most = limit(policies->limits.samples);
	cache->instances_most = limit(policies->limits.instances);
	cache->samples_per_instance_most = limit(policies->limits.samples_per_instance);
	cache->filter = options->filter;
	cache->filter_ctx = options->filter_ctx;
	cache->key_of = options->key_of;
	cache->key_ctx = options->key_ctx;
	cache->statuses = options->statuses;
	set_times(cache, policies);
	return cache;
}

void wh_dds_cache_free(struct wh_dds_cache *cache)
{
	if (cache == NULL)
		return;
	wh_dds_sets_free(cache);
	wh_dds_instances_free(cache);
	wh_dds_loans_free(cache);
	for (struct wh_dds_kept *next; cache->free_samples != NULL; cache->free_samples = next) {
		next = cache->free_samples->behind[WH_DDS_OF_INSTANCE];
		free(cache->free_samples);
	}
	free(cache->picked);
	free(cache);
}

void wh_dds_cache_change(struct wh_dds_cache *cache, const struct wh_dds_policies *policies, uint64_t now_ns)
{
	set_times(cache, policies);
	wh_dds_cache_renew_timers(cache, now_ns);
}

/* ---- samples -------------------------------------------------------------------------------------------------------------- */

struct wh_dds_kept *wh_dds_kept_make(struct wh_dds_cache *cache)
{
	struct wh_dds_kept *sample = cache->free_samples;

	if (sample != NULL) {
		cache->free_samples = sample->behind[WH_DDS_OF_INSTANCE];
		wh_dds_prefetch_to_write(cache->free_samples,
					 sizeof(*sample)); /* the next one, behind a long queue, is cold */
		return sample;
	}
	sample = malloc(sizeof(*sample));
	if (sample != NULL)
		sample->expiry = (struct wh_dds_timer){.kind = WH_DDS_TIMER_EXPIRY};
	return sample;
}

void wh_dds_kept_free(struct wh_dds_cache *cache, struct wh_dds_kept *sample)
{
	sample->behind[WH_DDS_OF_INSTANCE] = cache->free_samples;
	cache->free_samples = sample;
}

/* With KEEP_LAST what has no data is there once for each instance, beside the history and the limits. */
static bool counts_against_limits(const struct wh_dds_cache *cache, bool has_data)
{
	return has_data || cache->keeps_all;
}

static void join_busy(struct wh_dds_cache *cache, struct wh_dds_cached *instance)
{
	instance->busy_before = cache->busy_last;
	instance->busy_behind = NULL;
	if (cache->busy_last != NULL)
		cache->busy_last->busy_behind = instance;
	else
		cache->busy_first = instance;
	cache->busy_last = instance;
}

static void leave_busy(struct wh_dds_cache *cache, struct wh_dds_cached *instance)
{
	if (instance->busy_before != NULL)
		instance->busy_before->busy_behind = instance->busy_behind;
	else
		cache->busy_first = instance->busy_behind;
	if (instance->busy_behind != NULL)
		instance->busy_behind->busy_before = instance->busy_before;
	else
		cache->busy_last = instance->busy_before;
}

static void ask_queries(struct wh_dds_cache *cache, struct wh_dds_kept *sample)
{
	sample->wanted_by = 0;
	for (uint32_t left = cache->queries_used; left != 0; left &= left - 1) {
		int i = __builtin_ctz(left);

		wh_dds_query_ask(&cache->queries[i], sample);
	}
}

static void forget_queries(struct wh_dds_cache *cache, const struct wh_dds_kept *sample)
{
	for (uint32_t left = sample->wanted_by; left != 0; left &= left - 1)
		cache->queries[__builtin_ctz(left)].wanted--;
}

struct wh_dds_copy *wh_dds_cache_remove(struct wh_dds_cache *cache, struct wh_dds_kept *sample)
{
	struct wh_dds_cached *instance = sample->instance;
	struct wh_dds_copy *copy = sample->copy;

	wh_dds_count_fewer(cache, wh_dds_combination(instance, sample->read), 1);
	wh_dds_queue_remove(&instance->samples, sample, WH_DDS_OF_INSTANCE);
	if (cache->ordered)
		wh_dds_queue_remove(&cache->samples, sample, WH_DDS_OF_READER);
	forget_queries(cache, sample);
	if (wh_dds_timer_is_set(&sample->expiry))
		wh_dds_timer_clear(&cache->timers, &sample->expiry);
	if (counts_against_limits(cache, sample->has_data))
		cache->held--;
	else
		instance->dataless = NULL;
	cache->visible--;
	instance->data_count -= sample->has_data;
	instance->unread_count -= !sample->read;
	if (--instance->sample_count == 0)
		leave_busy(cache, instance);
	wh_dds_kept_free(cache, sample);
	return copy;
}

void wh_dds_cache_discard(struct wh_dds_cache *cache, struct wh_dds_kept *sample)
{
	wh_dds_copy_drop(wh_dds_cache_remove(cache, sample));
}

/* Behind all others of its instance, which has the states that it will be seen with. */
static void add(struct wh_dds_cache *cache, struct wh_dds_cached *instance, struct wh_dds_kept *sample,
		uint64_t expires_ns)
{
	sample->instance = instance;
	sample->read = false;
	sample->disposed_generation = instance->disposed_generation;
	sample->no_writers_generation = instance->no_writers_generation;
	wh_dds_queue_push(&instance->samples, sample, WH_DDS_OF_INSTANCE);
	if (cache->ordered)
		wh_dds_queue_push(&cache->samples, sample, WH_DDS_OF_READER);
	wh_dds_count_more(cache, wh_dds_combination(instance, false), 1);
	ask_queries(cache, sample);
	if (expires_ns != WH_DDS_NEVER)
		wh_dds_timer_set(&cache->timers, &sample->expiry, expires_ns);
	if (counts_against_limits(cache, sample->has_data))
		cache->held++;
	else
		instance->dataless = sample;
	cache->visible++;
	instance->data_count += sample->has_data;
	instance->unread_count++;
	if (instance->sample_count++ == 0)
		join_busy(cache, instance);
	instance->born = true;
	wh_dds_status_data(cache->statuses, WHORL_DDS_DATA_AVAILABLE_STATUS);
}

/* ---- states of the instance ----------------------------------------------------------------------------------------------- */

/* It has data: it is alive, if need be once more. */
static void revive(struct wh_dds_cache *cache, struct wh_dds_cached *instance, uint64_t now_ns)
{
	instance->writers_gone = false;
	instance->heard_ns = now_ns;
	if (instance->life != WH_DDS_IS_ALIVE) {
		if (instance->life == WH_DDS_IS_DISPOSED)
			instance->disposed_generation++;
		else
			instance->no_writers_generation++;
		wh_dds_timer_clear(&cache->timers, &instance->purge);
		wh_dds_instance_set(cache, instance, WH_DDS_IS_ALIVE, true);
	}
	if (cache->deadline_ns != WH_DDS_NEVER && !wh_dds_timer_is_set(&instance->deadline))
		wh_dds_timer_set(&cache->timers, &instance->deadline, wh_dds_later(now_ns, cache->deadline_ns));
}

/* What it becomes by what is not data. */
static enum wh_dds_life life_after(const struct wh_dds_cached *instance, unsigned does)
{
	if (does & WH_DDS_DOES_DISPOSE)
		return WH_DDS_IS_DISPOSED;
	return (does & WH_DDS_DOES_LEAVE) && instance->life == WH_DDS_IS_ALIVE ? WH_DDS_IS_LEFT : instance->life;
}

static void end_life(struct wh_dds_cache *cache, struct wh_dds_cached *instance, unsigned does, uint64_t now_ns)
{
	enum wh_dds_life life = life_after(instance, does);

	instance->writers_gone = instance->writers_gone || (does & WH_DDS_DOES_LEAVE) != 0;
	if (life == instance->life)
		return;
	wh_dds_instance_set(cache, instance, life, instance->is_new);
	wh_dds_timer_clear(&cache->timers, &instance->purge);
	wh_dds_timer_set(&cache->timers, &instance->purge, wh_dds_later(now_ns, cache->purge_ns[life]));
}

/* ---- history -------------------------------------------------------------------------------------------------------------- */

/* With data. */
static struct wh_dds_kept *oldest(const struct wh_dds_cached *instance)
{
	struct wh_dds_kept *sample = instance->samples.first;

	return sample->has_data ? sample : sample->behind[WH_DDS_OF_INSTANCE];
}

/* Lets it be visible, with its hold. There is room. */
static void insert(struct wh_dds_cache *cache, struct wh_dds_cached *instance, struct wh_dds_kept *sample,
		   unsigned does, uint64_t expires_ns, uint64_t now_ns)
{
	sample->has_data = (does & WH_DDS_DOES_DATA) != 0;
	if (sample->has_data) {
		revive(cache, instance, now_ns);
		while (instance->data_count >= cache->depth)
			wh_dds_cache_discard(cache, oldest(instance));
	} else if (instance->dataless != NULL) {
		wh_dds_cache_discard(cache, instance->dataless);
	}
	add(cache, instance, sample, sample->has_data ? expires_ns : WH_DDS_NEVER);
	if (does != WH_DDS_DOES_DATA)
		end_life(cache, instance, does, now_ns);
}

/* The limit that has no room for one sample more, or with `before` for two. In a set none makes room for another. */
static enum whorl_dds_rejected_kind limit_met(const struct wh_dds_cache *cache, const struct wh_dds_cached *instance,
					      const struct wh_dds_arrival *arrival, uint32_t before)
{
	bool has_data = (arrival->does & WH_DDS_DOES_DATA) != 0;
	uint32_t kept;

	if (instance == NULL && cache->instance_count >= cache->instances_most)
		return WHORL_DDS_REJECTED_BY_INSTANCES_LIMIT;
	if (!counts_against_limits(cache, has_data))
		return WHORL_DDS_NOT_REJECTED;
	if (instance != NULL && instance->data_count >= cache->depth && arrival->set == 0)
		return WHORL_DDS_NOT_REJECTED;
	if (cache->held + cache->asked + before >= cache->samples_most)
		return WHORL_DDS_REJECTED_BY_SAMPLES_LIMIT;
	if (instance == NULL)
		return WHORL_DDS_NOT_REJECTED;
	kept = cache->keeps_all ? instance->sample_count : instance->data_count;
	kept += instance->pending_count + instance->asked;
	if (kept + before >= cache->samples_per_instance_most)
		return WHORL_DDS_REJECTED_BY_SAMPLES_PER_INSTANCE_LIMIT;
	return WHORL_DDS_NOT_REJECTED;
}

static bool is_waited_for(const struct wh_dds_cache *cache, enum whorl_dds_rejected_kind limit)
{
	return cache->keeps_all && cache->reliable && limit != WHORL_DDS_REJECTED_BY_INSTANCES_LIMIT;
}

/* ---- what comes ----------------------------------------------------------------------------------------------------------- */

enum verdict { INSERT, IGNORE, WITHHOLD, REFUSE };

/* Without data it is something only if the instance changes by it. Of a set that is known at the end. */
static enum verdict judge_change(const struct wh_dds_cached *instance, const struct wh_dds_arrival *arrival)
{
	bool is_known = instance != NULL && instance->born;

	if (arrival->set != 0)
		return INSERT;
	if (!is_known)
		return arrival->does & WH_DDS_DOES_DISPOSE ? INSERT : IGNORE;
	return life_after(instance, arrival->does) != instance->life ? INSERT : IGNORE;
}

static enum verdict judge_data(const struct wh_dds_cache *cache, const struct wh_dds_cached *instance,
			       const struct wh_dds_arrival *arrival, uint64_t now_ns)
{
	const struct wh_dds_copy *copy = arrival->copy;

	if (arrival->expires_ns <= now_ns)
		return IGNORE;
	if (cache->filter != NULL && !cache->filter(copy->data, copy->bytes, cache->filter_ctx))
		return IGNORE;
	if (arrival->set != 0 || instance == NULL || instance->life != WH_DDS_IS_ALIVE ||
	    now_ns >= instance->accept_ns || arrival->does != WH_DDS_DOES_DATA)
		return INSERT;
	return cache->reliable ? WITHHOLD : IGNORE;
}

/* That an instance has ended, where it cannot be refused (a view has taken its writers), is kept beyond the limits. */
static bool is_kept_anyway(const struct wh_dds_cached *instance, const struct wh_dds_arrival *arrival)
{
	return arrival->last_chance && (arrival->does & WH_DDS_DOES_DATA) == 0 && arrival->set == 0 &&
	       instance != NULL && instance->born;
}

/* The last that the program will get of the instance has no data, and will have the state that the instance has then: so one more beyond the limits
 * would say nothing, and there is one at most, however often it lives again by samples that are lost. */
static bool tells_end(const struct wh_dds_cached *instance)
{
	const struct wh_dds_kept *last = instance->samples.last;

	return last != NULL && !last->has_data && !last->read && instance->withheld == NULL;
}

/* What is to be done with it; *limit: why it has no room. */
static enum verdict judge(const struct wh_dds_cache *cache, const struct wh_dds_cached *instance,
			  const struct wh_dds_arrival *arrival, uint64_t now_ns, enum whorl_dds_rejected_kind *limit)
{
	bool has_data = (arrival->does & WH_DDS_DOES_DATA) != 0;
	bool flushes = !has_data && instance != NULL && instance->withheld != NULL;
	enum verdict verdict =
		has_data ? judge_data(cache, instance, arrival, now_ns) : judge_change(instance, arrival);

	*limit = WHORL_DDS_NOT_REJECTED;
	if (verdict == INSERT)
		*limit = limit_met(cache, instance, arrival, flushes ? 1 : 0);
	if (*limit != WHORL_DDS_NOT_REJECTED && is_kept_anyway(instance, arrival)) {
		*limit = WHORL_DDS_NOT_REJECTED;
		verdict = tells_end(instance) ? IGNORE : INSERT;
	}
	return *limit == WHORL_DDS_NOT_REJECTED ? verdict : REFUSE;
}

static void withhold(struct wh_dds_cached *instance, const struct wh_dds_arrival *arrival)
{
	if (instance->withheld != NULL)
		wh_dds_copy_drop(instance->withheld);
	instance->withheld = arrival->copy;
	instance->withheld_expires_ns = arrival->expires_ns;
}

static enum wh_dds_put_result hold_back(struct wh_dds_cache *cache, struct wh_dds_cached *instance,
					const struct wh_dds_arrival *arrival, uint64_t now_ns)
{
	instance->heard_ns = now_ns;
	withhold(instance, arrival);
	if (!wh_dds_timer_is_set(&instance->release))
		wh_dds_timer_set(&cache->timers, &instance->release, instance->accept_ns);
	return WH_DDS_PUT_KEPT;
}

/* It has been looked at, and is not kept. Its instance changes all the same. */
static enum wh_dds_put_result ignore(struct wh_dds_cache *cache, struct wh_dds_cached *instance,
				     const struct wh_dds_arrival *arrival, uint64_t now_ns)
{
	if (instance == NULL || !instance->born)
		return WH_DDS_PUT_UNWANTED;
	if (arrival->does & WH_DDS_DOES_DATA)
		instance->heard_ns = now_ns;
	else
		end_life(cache, instance, arrival->does, now_ns);
	wh_dds_cached_settle(cache, instance);
	return WH_DDS_PUT_UNWANTED;
}

/* What was withheld comes now, or is nothing any more. The sample is for it, and may be NULL if it is nothing. */
static void end_withheld(struct wh_dds_cache *cache, struct wh_dds_cached *instance, struct wh_dds_kept *sample,
			 uint64_t now_ns)
{
	struct wh_dds_copy *copy = instance->withheld;

	instance->withheld = NULL;
	wh_dds_timer_clear(&cache->timers, &instance->release);
	if (sample == NULL) {
		wh_dds_copy_drop(copy);
		return;
	}
	sample->copy = copy;
	insert(cache, instance, sample, WH_DDS_DOES_DATA, instance->withheld_expires_ns, now_ns);
	instance->accept_ns = wh_dds_later(now_ns, cache->separation_ns);
}

bool wh_dds_cache_release(struct wh_dds_cache *cache, struct wh_dds_cached *instance, uint64_t now_ns)
{
	const struct wh_dds_arrival arrival = {.copy = instance->withheld, .does = WH_DDS_DOES_DATA};
	enum whorl_dds_rejected_kind limit = limit_met(cache, instance, &arrival, 0);
	struct wh_dds_kept *sample = NULL;

	if (instance->withheld_expires_ns > now_ns && limit == WHORL_DDS_NOT_REJECTED) {
		sample = wh_dds_kept_make(cache);
		if (sample == NULL)
			limit = WHORL_DDS_REJECTED_BY_SAMPLES_LIMIT;
	}
	if (limit != WHORL_DDS_NOT_REJECTED && is_waited_for(cache, limit)) {
		wh_dds_timer_set(&cache->timers, &instance->release, wh_dds_later(now_ns, cache->separation_ns));
		return false;
	}
	if (limit != WHORL_DDS_NOT_REJECTED)
		wh_dds_status_rejected(cache->statuses, limit, instance->handle);
	end_withheld(cache, instance, sample, now_ns);
	wh_dds_cached_settle(cache, instance);
	return sample != NULL;
}

/* What it does is done at the end of the set. */
static void put_in_set(struct wh_dds_cache *cache, struct wh_dds_kept_set *set, struct wh_dds_cached *instance,
		       struct wh_dds_kept *sample, const struct wh_dds_arrival *arrival)
{
	sample->instance = instance;
	sample->does = (unsigned char)arrival->does;
	sample->expiry.due_ns = arrival->expires_ns;
	wh_dds_kept_set_add(set, sample);
	instance->pending_count++;
	cache->held++;
}

/* Something comes: what was withheld is put before what ends the instance, and is nothing any more behind newer data. */
static void precede(struct wh_dds_cache *cache, struct wh_dds_cached *instance, unsigned does, uint64_t now_ns)
{
	const struct wh_dds_arrival arrival = {.copy = instance->withheld, .does = WH_DDS_DOES_DATA};
	struct wh_dds_kept *sample = NULL;

	if (instance->withheld == NULL)
		return;
	if (!(does & WH_DDS_DOES_DATA) && instance->withheld_expires_ns > now_ns) {
		if (limit_met(cache, instance, &arrival, 0) == WHORL_DDS_NOT_REJECTED)
			sample = wh_dds_kept_make(cache);
		if (sample == NULL)
			wh_dds_status_lost(cache->statuses, 1);
	}
	end_withheld(cache, instance, sample, now_ns);
}

static void put_alone(struct wh_dds_cache *cache, struct wh_dds_cached *instance, struct wh_dds_kept *sample,
		      const struct wh_dds_arrival *arrival, uint64_t now_ns)
{
	precede(cache, instance, arrival->does, now_ns);
	insert(cache, instance, sample, arrival->does, arrival->expires_ns, now_ns);
	if (cache->separation_ns != 0 && sample->has_data)
		instance->accept_ns = wh_dds_later(now_ns, cache->separation_ns);
}

/* Data that is not wanted may end its instance all the same: then that is told without data. False: it does nothing else. */
static bool leave_data_out(struct wh_dds_arrival *end, const struct wh_dds_arrival *arrival)
{
	*end = *arrival;
	end->does &= ~(unsigned)WH_DDS_DOES_DATA;
	return end->does != 0 && end->does != arrival->does;
}

/* The key in its place, which is all that is told. False: memory is out, and it is as it was. */
static bool leave_key(const struct wh_dds_cache *cache, struct wh_dds_copy **copy)
{
	struct wh_dds_copy *key = cache->key_of(cache->key_ctx, *copy);

	if (key == NULL)
		return false;
	wh_dds_copy_drop(*copy);
	*copy = key;
	return true;
}

/* The data is lost, or rejected; that its instance has ended by it is not. False: nothing is to be told. */
static bool keep_end(struct wh_dds_cache *cache, struct wh_dds_cached *instance, const struct wh_dds_arrival *arrival,
		     uint64_t now_ns)
{
	struct wh_dds_kept *sample = NULL;
	struct wh_dds_arrival end;

	if (leave_data_out(&end, arrival) && is_kept_anyway(instance, &end) && !tells_end(instance))
		sample = wh_dds_kept_make(cache);
	if (sample == NULL)
		return false;
	sample->copy = arrival->copy;
	if (!leave_key(cache, &sample->copy)) {
		wh_dds_kept_free(cache, sample);
		return false;
	}
	put_alone(cache, instance, sample, &end, now_ns);
	return true;
}

static enum wh_dds_put_result refuse(struct wh_dds_cache *cache, struct wh_dds_cached *instance,
				     const struct wh_dds_arrival *arrival, uint64_t now_ns,
				     enum whorl_dds_rejected_kind limit)
{
	bool waits = is_waited_for(cache, limit);

	if (waits && !arrival->last_chance)
		return WH_DDS_PUT_FULL;
	if (waits)
		wh_dds_status_lost(cache->statuses, 1);
	else
		wh_dds_status_rejected(cache->statuses, limit, arrival->copy->facts.instance);
	if (arrival->set != 0) {
		wh_dds_set_break(cache, arrival->set);
	} else if (instance != NULL && instance->born) {
		if (arrival->does & WH_DDS_DOES_DATA)
			revive(cache, instance, now_ns);
		if (keep_end(cache, instance, arrival, now_ns))
			return WH_DDS_PUT_KEPT;
		end_life(cache, instance, arrival->does, now_ns);
		wh_dds_cached_settle(cache, instance);
	}
	return WH_DDS_PUT_REJECTED;
}

bool wh_dds_cache_show(struct wh_dds_cache *cache, struct wh_dds_kept *sample, uint64_t now_ns)
{
	struct wh_dds_cached *instance = sample->instance;
	struct wh_dds_arrival arrival = {
		.copy = sample->copy, .does = sample->does, .expires_ns = sample->expiry.due_ns};
	bool has_expired = (arrival.does & WH_DDS_DOES_DATA) != 0 && arrival.expires_ns <= now_ns;

	if (has_expired)
		arrival.does &= ~(unsigned)WH_DDS_DOES_DATA;
	if (((arrival.does & WH_DDS_DOES_DATA) || judge_change(instance, &arrival) == INSERT) &&
	    (!has_expired || leave_key(cache, &sample->copy))) {
		put_alone(cache, instance, sample, &arrival, now_ns);
		return true;
	}
	wh_dds_copy_drop(sample->copy);
	wh_dds_kept_free(cache, sample);
	if (instance->born)
		end_life(cache, instance, arrival.does, now_ns);
	wh_dds_cached_settle(cache, instance);
	return false;
}

static enum wh_dds_put_result keep(struct wh_dds_cache *cache, struct wh_dds_cached *instance,
				   const struct wh_dds_arrival *arrival, uint64_t now_ns)
{
	struct wh_dds_kept *sample = wh_dds_kept_make(cache);
	struct wh_dds_kept_set *set = NULL;

	if (sample == NULL)
		return WH_DDS_PUT_NO_MEMORY;
	if (arrival->set != 0) {
		set = wh_dds_set_get(cache, arrival->set);
		if (set != NULL && set->broken) {
			wh_dds_kept_free(cache, sample);
			return WH_DDS_PUT_UNWANTED;
		}
	}
	if (instance == NULL && (arrival->set == 0 || set != NULL))
		instance = wh_dds_instance_make(cache, arrival->copy->facts.instance);
	if (instance == NULL || (arrival->set != 0 && set == NULL)) {
		wh_dds_kept_free(cache, sample);
		return WH_DDS_PUT_NO_MEMORY;
	}
	sample->copy = arrival->copy;
	if (set != NULL)
		put_in_set(cache, set, instance, sample, arrival);
	else
		put_alone(cache, instance, sample, arrival, now_ns);
	return WH_DDS_PUT_KEPT;
}

static enum wh_dds_put_result put(struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival, uint64_t now_ns)
{
	struct wh_dds_cached *instance = wh_dds_cached_find(cache, arrival->copy->facts.instance);
	enum whorl_dds_rejected_kind limit;

	switch (judge(cache, instance, arrival, now_ns, &limit)) {
	case INSERT:
		return keep(cache, instance, arrival, now_ns);
	case WITHHOLD:
		return hold_back(cache, instance, arrival, now_ns);
	case REFUSE:
		return refuse(cache, instance, arrival, now_ns, limit);
	default:
		return ignore(cache, instance, arrival, now_ns);
	}
}

enum wh_dds_put_result wh_dds_cache_put(struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival,
					uint64_t now_ns)
{
	enum wh_dds_put_result result = put(cache, arrival, now_ns);
	struct wh_dds_arrival end;

	if (result != WH_DDS_PUT_UNWANTED || !leave_data_out(&end, arrival))
		return result;
	end.copy = cache->key_of(cache->key_ctx, arrival->copy);
	if (end.copy == NULL)
		return WH_DDS_PUT_NO_MEMORY;
	result = put(cache, &end, now_ns);
	wh_dds_copy_drop(result == WH_DDS_PUT_KEPT ? arrival->copy : end.copy);
	return result;
}

/* What is to be done with what is put: if its data is ignored, of the end that it brings all the same. */
static enum verdict judge_whole(const struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival, uint64_t now_ns,
				enum whorl_dds_rejected_kind *limit)
{
	const struct wh_dds_cached *instance = wh_dds_cached_find(cache, arrival->copy->facts.instance);
	enum verdict verdict = judge(cache, instance, arrival, now_ns, limit);
	struct wh_dds_arrival end;

	if (verdict == IGNORE && leave_data_out(&end, arrival))
		verdict = judge(cache, instance, &end, now_ns, limit);
	return verdict;
}

bool wh_dds_cache_is_full(const struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival, uint64_t now_ns)
{
	enum whorl_dds_rejected_kind limit;

	return judge_whole(cache, arrival, now_ns, &limit) == REFUSE && is_waited_for(cache, limit);
}

/* It may come, before others. */
static void note_asked(struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival)
{
	struct wh_dds_cached *instance = wh_dds_cached_find(cache, arrival->copy->facts.instance);

	if (instance == NULL)
		instance = wh_dds_instance_make(cache, arrival->copy->facts.instance);
	cache->asked++;
	if (instance == NULL)
		return; /* without memory it is counted for the reader alone */
	if (instance->asked++ == 0) {
		instance->asked_behind = cache->asked_first;
		cache->asked_first = instance;
	}
}

/* The limit is met by what comes as one alone. */
static bool is_too_much(const struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival,
			enum whorl_dds_rejected_kind limit)
{
	const struct wh_dds_cached *instance = wh_dds_cached_find(cache, arrival->copy->facts.instance);

	if (limit == WHORL_DDS_REJECTED_BY_SAMPLES_LIMIT)
		return cache->asked >= cache->samples_most;
	return instance != NULL && instance->asked >= cache->samples_per_instance_most;
}

bool wh_dds_cache_ask(struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival, uint64_t now_ns)
{
	enum whorl_dds_rejected_kind limit;
	enum verdict verdict = judge_whole(cache, arrival, now_ns, &limit);

	if (cache->hopeless || verdict == IGNORE || verdict == WITHHOLD)
		return false;
	if (verdict == INSERT)
		note_asked(cache, arrival);
	else if (is_waited_for(cache, limit) && !is_too_much(cache, arrival, limit))
		return true;
	else
		cache->hopeless = arrival->set != 0;
	return false;
}

void wh_dds_cache_asked(struct wh_dds_cache *cache)
{
	cache->asked = 0;
	cache->hopeless = false;
	while (cache->asked_first != NULL) {
		struct wh_dds_cached *instance = cache->asked_first;

		cache->asked_first = instance->asked_behind;
		instance->asked = 0;
		wh_dds_cached_settle(cache, instance);
	}
}

uint32_t wh_dds_cache_room(const struct wh_dds_cache *cache)
{
	/* No instance has more than are held. */
	uint32_t most = cache->samples_most < cache->samples_per_instance_most ? cache->samples_most
									       : cache->samples_per_instance_most;

	if (!cache->keeps_all || !cache->reliable)
		return UINT32_MAX;
	if (cache->held >= most)
		return 0;
	most -= cache->held;
	if (cache->separation_ns != 0) /* what was withheld may come with each, or by itself at any time */
		return most >= 2 ? 1 : 0;
	return most;
}

void wh_dds_cache_lose(struct wh_dds_cache *cache, uint64_t set)
{
	wh_dds_status_lost(cache->statuses, 1);
	if (set != 0)
		wh_dds_set_break(cache, set);
}
