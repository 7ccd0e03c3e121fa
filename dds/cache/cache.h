/* cache.h - one reader's cache: its instances, their samples, and what the program is given of them.
 *
 * What a channel delivers to a reader is put in as copies (copy.h), each with what it does to its instance: a sample, the end of the
 * instance, or that no writer of it is left. All decisions that all readers must make alike are made before, by the channel: which
 * writer owns an instance, when the last one has gone, where a coherent set ends. Here is what is the reader's own: how much it keeps,
 * which states samples, views and instances are in, what is lent, and what its clock does (LIFESPAN, TIME_BASED_FILTER, DEADLINE,
 * READER_DATA_LIFECYCLE).
 *
 * States after DCPS 1.4, 2.2.2.5.1. All samples of an instance have its view state and its instance state; so the cache counts samples
 * by the twelve combinations of the three states, and a bit of each count tells at once which conditions hold, whatever lies in it.
 *
 * A sample without data (valid_data = false) tells that the instance has changed. With KEEP_ALL each has its place and counts against
 * the limits; with KEEP_LAST an instance has one at most, the newest, which takes no place of a sample with data.
 *
 * Threads: none of its own; the caller holds a lock of its reader. Memory: samples and instances are used again, and cost no
 * allocation once there are as many as there were before. Time is an argument, of a clock that never goes back.
 */
#ifndef WH_DDS_CACHE_H
#define WH_DDS_CACHE_H

#include "dds/base/copy.h"
#include "dds/base/timer.h"
#include "dds/policy/policy.h"
#include "dds/status/status.h"

struct wh_dds_cache;
struct wh_dds_query;

struct wh_dds_cache_options {
	const struct wh_dds_policies *policies; /* the reader's, checked; copied */
	struct wh_dds_statuses *statuses;       /* the reader's: what is lost, rejected or missed is counted there */
	bool keyed;                             /* false: one instance, whatever it is called */
	whorl_dds_filter_fn *filter;            /* NULL: all samples are wanted. Those without data are */
	void *filter_ctx;
	/* What a sample is without its data: a copy of its key, with its facts, held once. For an end of an instance that came with data which is
	 * not kept. NULL: memory is out. By the thread that puts. */
	struct wh_dds_copy *(*key_of)(void *ctx, const struct wh_dds_copy *sample);
	void *key_ctx;
};

/* NULL: memory is out. */
struct wh_dds_cache *wh_dds_cache_create(const struct wh_dds_cache_options *options);
/* What is lent is lent no more. */
void wh_dds_cache_free(struct wh_dds_cache *cache);

/* Takes over DEADLINE, TIME_BASED_FILTER and READER_DATA_LIFECYCLE. */
void wh_dds_cache_change(struct wh_dds_cache *cache, const struct wh_dds_policies *policies, uint64_t now_ns);

/* ---- what comes ---------------------------------------------------------------------------------------------------------- */

enum {                          /* what an arrival does, as bits, in this order */
       WH_DDS_DOES_DATA = 1,    /* it has data, and the instance is alive */
       WH_DDS_DOES_DISPOSE = 2, /* the instance is disposed of */
       WH_DDS_DOES_LEAVE = 4,   /* none of the writers of the instance is left */
};

struct wh_dds_arrival {
	struct wh_dds_copy *copy; /* without WH_DDS_DOES_DATA: the key, as a sample */
	unsigned does;
	uint64_t expires_ns; /* WH_DDS_NEVER */
	uint64_t set;        /* the coherent set that it belongs to; 0: none */
	bool last_chance;    /* it cannot be refused any more: what has no room is lost, and counted (SAMPLE_LOST) */
};

enum wh_dds_put_result {
	/* The cache has the caller's hold of the copy now: it is kept, or, with last_chance, the end that it brought is, and its data is counted as lost
	 * or rejected. In all other cases the caller keeps it. */
	WH_DDS_PUT_KEPT,
	WH_DDS_PUT_UNWANTED, /* filtered, expired, or it changes nothing */
	WH_DDS_PUT_REJECTED, /* a limit; it is counted (SAMPLE_REJECTED, or SAMPLE_LOST). The instance, if it is known, has changed all the same */
	WH_DDS_PUT_FULL, /* a RELIABLE reader that keeps all has no room before the program takes: refuse it for now */
	WH_DDS_PUT_NO_MEMORY,
};

enum wh_dds_put_result wh_dds_cache_put(struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival,
					uint64_t now_ns);

/* Would wh_dds_cache_put say WH_DDS_PUT_FULL? Where several readers get a copy, all are asked first. */
bool wh_dds_cache_is_full(const struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival, uint64_t now_ns);

/* The same of several that come as one, as a coherent set does: has this one no room behind those that were asked for since
 * wh_dds_cache_asked? If there can be none, whatever the program takes, it is not waited for. arrival->set: 0, or any number. */
bool wh_dds_cache_ask(struct wh_dds_cache *cache, const struct wh_dds_arrival *arrival, uint64_t now_ns);
void wh_dds_cache_asked(struct wh_dds_cache *cache);

/* For how many samples there is room, whichever they are: wh_dds_cache_is_full need not be asked of these, for which a copy must be there. */
uint32_t wh_dds_cache_room(const struct wh_dds_cache *cache);

/* One that never comes is counted (SAMPLE_LOST), and its set, if it was of one, is not whole. */
void wh_dds_cache_lose(struct wh_dds_cache *cache, uint64_t set);

/* The end of a coherent set: all of it is visible from here on, or, if it is not whole, nothing ever. Where one of its samples was
 * rejected or lost here it is not whole here. Returns how many samples became visible. */
size_t wh_dds_cache_end_set(struct wh_dds_cache *cache, uint64_t set, bool whole, uint64_t now_ns);

/* ---- time ---------------------------------------------------------------------------------------------------------------- */

/* When wh_dds_cache_pass_time has something to do; WH_DDS_NEVER. */
uint64_t wh_dds_cache_due(const struct wh_dds_cache *cache);
/* Returns whether a sample has become visible. */
bool wh_dds_cache_pass_time(struct wh_dds_cache *cache, uint64_t now_ns);

/* ---- what is given to the program ---------------------------------------------------------------------------------------- */

struct wh_dds_select {
	uint32_t mask; /* states, WHORL_DDS_*_STATE; of a kind without any: any */
	bool take;     /* or read */
	bool next;     /* of the first instance behind `instance` (0: of all) that has samples of these states */
	bool peek;     /* no state changes */
	whorl_dds_instance_handle instance; /* 0: of all */
	const struct wh_dds_query *query;   /* NULL, or only what it wants */
	size_t copy_bytes; /* 0: lend; else data[i] is the program's, of so many bytes, and gets the sample */
	size_t info_bytes; /* of the program's whorl_dds_sample_info: as far apart they lie */
};

/* Reads or takes at most `room` samples; returns how many. Lent samples are in data[i] until wh_dds_cache_return. Their order: of the
 * channel, with PRESENTATION ordered and of the whole topic; else those of an instance follow each other. Without data `data` has the
 * key. BAD_PARAMETER: there is no such instance, or a sample is larger than copy_bytes; OUT_OF_RESOURCES: memory is out. In both cases
 * nothing has changed. */
whorl_dds_return wh_dds_cache_read(struct wh_dds_cache *cache, const struct wh_dds_select *select, void **data,
				   void *infos, size_t room);

/* Gives back what was lent. WHORL_DDS_RETCODE_OK; PRECONDITION_NOT_MET: one is not lent by this cache (any more); all others
 * are given back. */
whorl_dds_return wh_dds_cache_return(struct wh_dds_cache *cache, void *const *data, size_t count);

size_t wh_dds_cache_lent(const struct wh_dds_cache *cache); /* how many are */

/* WHORL_DDS_*_INSTANCE_STATE; 0: the instance is not known. */
uint32_t wh_dds_cache_state(const struct wh_dds_cache *cache, whorl_dds_instance_handle instance);

/* ---- conditions ---------------------------------------------------------------------------------------------------------- */

/* Are there samples of these states? Costs the same whatever there is. */
bool wh_dds_cache_has(const struct wh_dds_cache *cache, uint32_t mask);

/* A question that is put to each sample once, when it comes; those without data pass. At most 32 at a time. NULL: there are as many. */
struct wh_dds_query *wh_dds_query_create(struct wh_dds_cache *cache, whorl_dds_filter_fn *filter, void *ctx);
void wh_dds_query_free(struct wh_dds_query *query);
/* Are there samples of these states that it wants? */
bool wh_dds_query_has(const struct wh_dds_query *query, uint32_t mask);

/* For tests: do the counts and lists agree? */
bool wh_dds_cache_is_sound(const struct wh_dds_cache *cache);

#endif
