/* time.c - what the clock does to a reader: see cache.h. */
#include "dds/cache/cache_int.h"

#define INSTANCE_OF(timer, member)                                                                                     \
	((struct wh_dds_cached *)(void *)((char *)(timer)-offsetof(struct wh_dds_cached, member)))

uint64_t wh_dds_cache_due(const struct wh_dds_cache *cache)
{
	return wh_dds_timers_next(&cache->timers);
}

static void expire(struct wh_dds_cache *cache, struct wh_dds_kept *sample)
{
	struct wh_dds_cached *instance = sample->instance;

	wh_dds_cache_discard(cache, sample);
	wh_dds_cached_settle(cache, instance);
}

/* The timer stands where the deadline was when it was set: samples have moved it since. */
static void look_at_deadline(struct wh_dds_cache *cache, struct wh_dds_cached *instance, uint64_t now_ns)
{
	uint64_t due_ns = wh_dds_later(instance->heard_ns, cache->deadline_ns);

	if (instance->life != WH_DDS_IS_ALIVE || cache->deadline_ns == WH_DDS_NEVER)
		return;
	if (due_ns <= now_ns) {
		uint64_t times = 1 + (now_ns - due_ns) / cache->deadline_ns;

		wh_dds_status_deadline_missed(cache->statuses, WHORL_DDS_REQUESTED_DEADLINE_MISSED_STATUS,
					      instance->handle, (uint32_t)times);
		instance->heard_ns += times * cache->deadline_ns;
		due_ns = wh_dds_later(instance->heard_ns, cache->deadline_ns);
	}
	wh_dds_timer_set(&cache->timers, &instance->deadline, due_ns);
}

static void purge(struct wh_dds_cache *cache, struct wh_dds_cached *instance)
{
	while (instance->samples.first != NULL)
		wh_dds_cache_discard(cache, instance->samples.first);
	wh_dds_cached_settle(cache, instance);
}

bool wh_dds_cache_pass_time(struct wh_dds_cache *cache, uint64_t now_ns)
{
	struct wh_dds_timer *timer;
	bool shows = false;

	while ((timer = wh_dds_timers_pop(&cache->timers, now_ns)) != NULL) {
		switch (timer->kind) {
		case WH_DDS_TIMER_EXPIRY:
			expire(cache,
			       (struct wh_dds_kept *)(void *)((char *)timer - offsetof(struct wh_dds_kept, expiry)));
			break;
		case WH_DDS_TIMER_DEADLINE:
			look_at_deadline(cache, INSTANCE_OF(timer, deadline), now_ns);
			break;
		case WH_DDS_TIMER_PURGE:
			purge(cache, INSTANCE_OF(timer, purge));
			break;
		default:
			shows = wh_dds_cache_release(cache, INSTANCE_OF(timer, release), now_ns) || shows;
			break;
		}
	}
	return shows;
}

static uint64_t sooner(uint64_t one, uint64_t other)
{
	return one < other ? one : other;
}

static void renew(struct wh_dds_cache *cache, struct wh_dds_cached *instance, uint64_t now_ns)
{
	struct wh_dds_timers *timers = &cache->timers;

	wh_dds_timer_clear(timers, &instance->deadline);
	wh_dds_timer_clear(timers, &instance->purge);
	wh_dds_timer_clear(timers, &instance->release);
	instance->heard_ns = now_ns;
	instance->accept_ns = sooner(instance->accept_ns, wh_dds_later(now_ns, cache->separation_ns));
	if (instance->life == WH_DDS_IS_ALIVE && instance->born)
		wh_dds_timer_set(timers, &instance->deadline, wh_dds_later(now_ns, cache->deadline_ns));
	wh_dds_timer_set(timers, &instance->purge, wh_dds_later(now_ns, cache->purge_ns[instance->life]));
	if (instance->withheld != NULL)
		wh_dds_timer_set(timers, &instance->release, instance->accept_ns);
}

void wh_dds_cache_renew_timers(struct wh_dds_cache *cache, uint64_t now_ns)
{
	for (struct wh_dds_cached *it = wh_dds_instance_behind(cache, 0); it != NULL;
	     it = wh_dds_instance_behind(cache, it->handle))
		renew(cache, it, now_ns);
}
