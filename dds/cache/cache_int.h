/* cache_int.h - what the files of the cache share: see cache.h.
 *
 *     cache.c           what comes: limits, history, the filters
 *     cache/instance.c  instances, how they are found, and what states they are in
 *     cache/read.c      reading and taking
 *     cache/loan.c      what is lent
 *     cache/set.c       coherent sets
 *     cache/time.c      what the clock does
 *     cache/query.c     conditions
 */
#ifndef WH_DDS_CACHE_INT_H
#define WH_DDS_CACHE_INT_H

#include "dds/base/index.h"
#include "dds/cache/cache.h"

#define WH_DDS_QUERIES 32

enum wh_dds_which_queue { WH_DDS_OF_INSTANCE, WH_DDS_OF_READER, WH_DDS_QUEUES };
enum wh_dds_life { WH_DDS_IS_ALIVE, WH_DDS_IS_DISPOSED, WH_DDS_IS_LEFT, WH_DDS_LIVES };
enum wh_dds_timer_kind { WH_DDS_TIMER_EXPIRY, WH_DDS_TIMER_DEADLINE, WH_DDS_TIMER_PURGE, WH_DDS_TIMER_RELEASE };

#define WH_DDS_COMBINATIONS (4 * WH_DDS_LIVES)

struct wh_dds_kept {
	struct wh_dds_kept *before[WH_DDS_QUEUES], *behind[WH_DDS_QUEUES];
	struct wh_dds_cached *instance;
	struct wh_dds_copy *copy; /* held */
	uint32_t disposed_generation, no_writers_generation;
	uint32_t wanted_by; /* queries, as bits */
	bool read;
	bool has_data;
	unsigned char does; /* of a set that has not ended: the arrival's */
	struct wh_dds_timer expiry;
};

/* Oldest first. */
struct wh_dds_queue {
	struct wh_dds_kept *first, *last;
	struct wh_dds_kept *unread; /* the first that is not read; NULL: none */
};

struct wh_dds_cached {
	struct wh_dds_link link; /* in cache->index; its number is the handle, spread */
	whorl_dds_instance_handle handle;
	struct wh_dds_queue samples;
	uint32_t sample_count, unread_count; /* visible ones */
	uint32_t data_count;                 /* of these with data */
	uint32_t pending_count;              /* of sets that have not ended */
	uint32_t asked;                      /* wh_dds_cache_ask: of this instance */
	struct wh_dds_cached *asked_behind;
	uint32_t disposed_generation, no_writers_generation;
	enum wh_dds_life life;
	bool is_new;                  /* its view state */
	bool born;                    /* something of it has been visible */
	bool writers_gone;            /* since its last sample */
	struct wh_dds_kept *dataless; /* KEEP_LAST: the one without data */
	struct wh_dds_cached *busy_before,
		*busy_behind;               /* of those that have samples, in the order in which they got some */
	struct wh_dds_cached *left, *right; /* by handle: a treap by the spread handles */
	/* While samples are read. */
	uint64_t pass;
	uint32_t rank, newest_generation;
	/* Time. */
	uint64_t heard_ns;            /* DEADLINE counts from here */
	uint64_t accept_ns;           /* TIME_BASED_FILTER: from then on */
	struct wh_dds_copy *withheld; /* the newest that came too early, held; NULL: none */
	uint64_t withheld_expires_ns;
	struct wh_dds_timer deadline, purge, release;
};

struct wh_dds_loan {
	struct wh_dds_link link;  /* in cache->loans, by the address of the copy */
	struct wh_dds_copy *copy; /* held once */
	uint32_t times;
	bool taken; /* it lies in the cache no more, and counts against the limits */
	struct wh_dds_loan *next_free;
};

struct wh_dds_kept_set { /* a coherent set that has not ended */
	struct wh_dds_kept_set *next;
	uint64_t number;
	struct wh_dds_kept *first, *last; /* in order, by behind[WH_DDS_OF_INSTANCE] */
	bool broken;
};

struct wh_dds_query {
	struct wh_dds_cache *cache; /* NULL: unused */
	whorl_dds_filter_fn *filter;
	void *ctx;
	size_t wanted; /* samples in the cache that it wants */
};

struct wh_dds_cache {
	bool keyed, keeps_all, reliable;
	bool ordered; /* across instances: only with keys */
	uint32_t depth, samples_most, instances_most, samples_per_instance_most;
	uint64_t deadline_ns, separation_ns, purge_ns[WH_DDS_LIVES]; /* WH_DDS_NEVER */
	whorl_dds_filter_fn *filter;
	void *filter_ctx;
	struct wh_dds_copy *(*key_of)(void *ctx, const struct wh_dds_copy *sample);
	void *key_ctx;
	struct wh_dds_statuses *statuses;

	uint32_t held; /* against the limit of samples: visible ones but those that KEEP_LAST has without data, of sets, taken and lent */
	uint32_t asked; /* for which there is room, and that may come: wh_dds_cache_ask */
	bool hopeless;  /* of those, the set that they are of will not be whole */
	struct wh_dds_cached *asked_first;
	uint32_t visible;
	uint32_t present;                     /* bit of each combination that some sample is in */
	uint32_t counts[WH_DDS_COMBINATIONS]; /* samples in each combination of states */
	struct wh_dds_queue samples;          /* of all instances: only if `ordered` */
	struct wh_dds_cached *only;           /* without keys, once there was a sample */
	struct wh_dds_index index;            /* with keys */
	struct wh_dds_cached *by_handle;
	struct wh_dds_cached *busy_first, *busy_last;
	uint32_t instance_count;
	struct wh_dds_timers timers;
	struct wh_dds_kept_set *sets, *free_sets;

	struct wh_dds_index loans;
	size_t loan_count;

	uint64_t pass;
	struct wh_dds_kept **picked; /* by the read that goes on */
	size_t picked_room;

	struct wh_dds_kept *free_samples;     /* by behind[WH_DDS_OF_INSTANCE] */
	struct wh_dds_cached *free_instances; /* by busy_behind */
	struct wh_dds_loan *free_loans;
	size_t free_loan_count;

	uint32_t queries_used; /* as bits */
	struct wh_dds_query queries[WH_DDS_QUERIES];
};

/* ---- cache.c ------------------------------------------------------------------------------------------------------------- */

/* It is visible no more. Returns its copy, held. The instance stays, until wh_dds_cached_settle. */
struct wh_dds_copy *wh_dds_cache_remove(struct wh_dds_cache *cache, struct wh_dds_kept *sample);
/* The same for one that expires or is purged; all that is to do. */
void wh_dds_cache_discard(struct wh_dds_cache *cache, struct wh_dds_kept *sample);

/* One of a set that has ended, with its hold. False: it has expired, or changes nothing, and is no more. */
bool wh_dds_cache_show(struct wh_dds_cache *cache, struct wh_dds_kept *sample, uint64_t now_ns);

/* What came too early may come now. Returns whether it is visible. */
bool wh_dds_cache_release(struct wh_dds_cache *cache, struct wh_dds_cached *instance, uint64_t now_ns);

struct wh_dds_kept *wh_dds_kept_make(struct wh_dds_cache *cache);
void wh_dds_kept_free(struct wh_dds_cache *cache, struct wh_dds_kept *sample);

/* ---- cache/instance.c ---------------------------------------------------------------------------------------------------- */

struct wh_dds_cached *wh_dds_cached_find(const struct wh_dds_cache *cache, whorl_dds_instance_handle handle);
/* The one with the least handle above this one; NULL. */
struct wh_dds_cached *wh_dds_instance_behind(const struct wh_dds_cache *cache, whorl_dds_instance_handle handle);
/* NULL: memory is out. */
struct wh_dds_cached *wh_dds_instance_make(struct wh_dds_cache *cache, whorl_dds_instance_handle handle);
/* Frees it if nothing is left to know. */
void wh_dds_cached_settle(struct wh_dds_cache *cache, struct wh_dds_cached *instance);
void wh_dds_instance_set(struct wh_dds_cache *cache, struct wh_dds_cached *instance, enum wh_dds_life life,
			 bool is_new);
void wh_dds_instances_free(struct wh_dds_cache *cache);

/* ---- cache/time.c -------------------------------------------------------------------------------------------------------- */

/* The durations are others. */
void wh_dds_cache_renew_timers(struct wh_dds_cache *cache, uint64_t now_ns);

/* ---- cache/query.c ------------------------------------------------------------------------------------------------------- */

/* Asks about a sample that it was not asked about yet. */
void wh_dds_query_ask(struct wh_dds_query *query, struct wh_dds_kept *sample);

/* ---- cache/set.c --------------------------------------------------------------------------------------------------------- */

/* NULL: memory is out. */
struct wh_dds_kept_set *wh_dds_set_get(struct wh_dds_cache *cache, uint64_t number);
void wh_dds_kept_set_add(struct wh_dds_kept_set *set, struct wh_dds_kept *sample);
void wh_dds_set_break(struct wh_dds_cache *cache, uint64_t number);
void wh_dds_sets_free(struct wh_dds_cache *cache);

/* ---- cache/loan.c -------------------------------------------------------------------------------------------------------- */

/* Room for so many more loans. False: memory is out. */
bool wh_dds_loans_reserve(struct wh_dds_cache *cache, size_t count);
/* Lends a copy, and takes the caller's hold if it was taken. */
void wh_dds_lend(struct wh_dds_cache *cache, struct wh_dds_copy *copy, bool taken);
void wh_dds_loans_free(struct wh_dds_cache *cache);

/* ---- states -------------------------------------------------------------------------------------------------------------- */

static inline unsigned wh_dds_combination(const struct wh_dds_cached *instance, bool read)
{
	return 4 * (unsigned)instance->life + (instance->is_new ? 0 : 2) + (read ? 1 : 0);
}

/* The combinations that a mask wants, as bits: without a bit of a kind, any of the kind. */
static inline uint32_t wh_dds_combinations(uint32_t mask)
{
	uint32_t read = (mask & WHORL_DDS_READ_SAMPLE_STATE ? 0xaaau : 0) |
			(mask & WHORL_DDS_NOT_READ_SAMPLE_STATE ? 0x555u : 0);
	uint32_t view =
		(mask & WHORL_DDS_NOT_NEW_VIEW_STATE ? 0xcccu : 0) | (mask & WHORL_DDS_NEW_VIEW_STATE ? 0x333u : 0);
	uint32_t life = (mask & WHORL_DDS_ALIVE_INSTANCE_STATE ? 0x00fu : 0) |
			(mask & WHORL_DDS_NOT_ALIVE_DISPOSED_INSTANCE_STATE ? 0x0f0u : 0) |
			(mask & WHORL_DDS_NOT_ALIVE_NO_WRITERS_INSTANCE_STATE ? 0xf00u : 0);

	return (read != 0 ? read : 0xfffu) & (view != 0 ? view : 0xfffu) & (life != 0 ? life : 0xfffu);
}

static inline void wh_dds_count_more(struct wh_dds_cache *cache, unsigned combination, uint32_t more)
{
	if (more == 0)
		return;
	cache->counts[combination] += more;
	cache->present |= 1u << combination;
}

static inline void wh_dds_count_fewer(struct wh_dds_cache *cache, unsigned combination, uint32_t fewer)
{
	cache->counts[combination] -= fewer;
	if (cache->counts[combination] == 0)
		cache->present &= ~(1u << combination);
}

/* ---- queues -------------------------------------------------------------------------------------------------------------- */

static inline void wh_dds_queue_push(struct wh_dds_queue *queue, struct wh_dds_kept *sample,
				     enum wh_dds_which_queue which)
{
	sample->before[which] = queue->last;
	sample->behind[which] = NULL;
	if (queue->last != NULL)
		queue->last->behind[which] = sample;
	else
		queue->first = sample;
	queue->last = sample;
	if (queue->unread == NULL)
		queue->unread = sample;
}

/* It is read now, or it goes: the first that is not read may be another one. */
static inline void wh_dds_queue_pass(struct wh_dds_queue *queue, struct wh_dds_kept *sample,
				     enum wh_dds_which_queue which)
{
	if (queue->unread != sample)
		return;
	do
		sample = sample->behind[which];
	while (sample != NULL && sample->read);
	queue->unread = sample;
}

static inline void wh_dds_queue_remove(struct wh_dds_queue *queue, struct wh_dds_kept *sample,
				       enum wh_dds_which_queue which)
{
	struct wh_dds_kept *before = sample->before[which], *behind = sample->behind[which];

	wh_dds_queue_pass(queue, sample, which);
	if (before != NULL)
		before->behind[which] = behind;
	else
		queue->first = behind;
	if (behind != NULL)
		behind->before[which] = before;
	else
		queue->last = before;
}

static inline uint64_t wh_dds_later(uint64_t now_ns, uint64_t by_ns)
{
	return by_ns >= WH_DDS_NEVER - now_ns ? WH_DDS_NEVER : now_ns + by_ns;
}

#endif
