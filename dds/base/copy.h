/* copy.h - samples in counted blocks of memory, which are used again while they are hot.
 *
 * A sample is copied once for each process, into a block that all readers of the process share: each holds it for as long as it is in
 * its cache, or lent to the program. A pool keeps the blocks that are free, in classes of size. One thread at a time takes blocks out of
 * it (the one that delivers); any thread gives them back: it puts them on a stack that the next block is taken from when the pool's own
 * list is empty. So a sample that is taken before the next one comes goes through the same lines of the cache again, and once it is warm
 * no sample costs an allocation. What lies idle beyond `keep_bytes` of one size goes back to the system.
 */
#ifndef WH_DDS_COPY_H
#define WH_DDS_COPY_H

#include <stddef.h>

#include <whorl/dds.h>

#include "base/atomics.h"
#include "base/error.h"

struct wh_dds_pool;

/* What is known of a sample, the same at all readers. */
struct wh_dds_facts {
	whorl_dds_instance_handle instance, publication;
	whorl_dds_time source_time, reception_time;
	uint64_t view, sequence; /* its place in the order of the channel */
	uint64_t number;         /* of this sample among its writer's */
	uint32_t writer;         /* node id */
};

/* All lines of it. Behind a long queue what was used last is cold. It is a hint: what is not there, NULL too, is not touched. */
WH_HINT_INLINE void wh_dds_prefetch(const void *bytes, size_t count)
{
	for (size_t at = 0; at < count; at += WH_CACHE_LINE)
		wh_prefetch_read((const void *)((uintptr_t)bytes + at));
}

WH_HINT_INLINE void wh_dds_prefetch_to_write(const void *bytes, size_t count)
{
	for (size_t at = 0; at < count; at += WH_CACHE_LINE)
		wh_prefetch_write((const void *)((uintptr_t)bytes + at));
}

struct wh_dds_copy {
	wh_word held;              /* [any thread] by how many; 0: it is free */
	struct wh_dds_copy *next;  /* [the pool's thread, or none] of the free ones */
	struct wh_dds_pool *pool;  /* [const] */
	size_t bytes;              /* [the pool's thread, before others have it] of the sample */
	uint32_t size_class;       /* [const] */
	struct wh_dds_facts facts; /* [the pool's thread, before others have it] */
	_Alignas(WH_CACHE_LINE) unsigned char data[];
};

/* NULL: memory is out. */
struct wh_dds_pool *wh_dds_pool_create(size_t keep_bytes);
/* What a block's sample points to is the block's: `release` lets it go, of each that comes back. Before the first is taken. */
void wh_dds_pool_owns(struct wh_dds_pool *pool, void (*release)(struct wh_dds_copy *copy));
/* It is freed when all of its blocks are back. The pool's thread, which is no more. */
void wh_dds_pool_close(struct wh_dds_pool *pool);

/* A block for so many bytes, held once; its facts are to be filled in. NULL: memory is out. The pool's thread. */
WH_MUST_CHECK struct wh_dds_copy *wh_dds_copy_take(struct wh_dds_pool *pool, size_t bytes);

/* Nobody holds these any more: of one pool and one class, linked by `next`, from the first to the last. Any thread. */
void wh_dds_copy_free(struct wh_dds_copy *first, struct wh_dds_copy *last);

/* Holds it so many times more. Its holder, which has it at least once. */
static inline void wh_dds_copy_hold(struct wh_dds_copy *copy, uint64_t times)
{
	(void)wh_fetch_add(&copy->held, times);
}

/* The same of one that no other thread has seen yet: what makes it known to others orders it. */
static inline void wh_dds_copy_hold_alone(struct wh_dds_copy *copy)
{
	wh_store_relaxed(&copy->held, wh_load_relaxed(&copy->held) + 1);
}

/* Gives one hold back. True: it was the last, and the block is to be freed. */
WH_MUST_CHECK static inline bool wh_dds_copy_release(struct wh_dds_copy *copy)
{
	/* The last one needs no atomic operation, for no other could hold the block again. Partner: the fetch_add of the others. */
	return wh_load_acquire(&copy->held) == 1 || wh_fetch_add(&copy->held, ~UINT64_C(0)) == 1;
}

/* Gives one hold back. Any thread. */
static inline void wh_dds_copy_drop(struct wh_dds_copy *copy)
{
	if (wh_dds_copy_release(copy))
		wh_dds_copy_free(copy, copy);
}

/* The same of one that no other thread has seen yet. */
static inline void wh_dds_copy_drop_alone(struct wh_dds_copy *copy)
{
	uint64_t held = wh_load_relaxed(&copy->held);

	if (held == 1)
		wh_dds_copy_free(copy, copy);
	else
		wh_store_relaxed(&copy->held, held - 1);
}

/* Many, with one step for those of a kind that follow each other. */
struct wh_dds_drops {
	struct wh_dds_copy *first, *last; /* NULL: none */
};

static inline void wh_dds_drops_end(struct wh_dds_drops *drops)
{
	if (drops->first != NULL)
		wh_dds_copy_free(drops->first, drops->last);
	drops->first = drops->last = NULL;
}

static inline void wh_dds_drops_add(struct wh_dds_drops *drops, struct wh_dds_copy *copy)
{
	if (!wh_dds_copy_release(copy))
		return;
	if (drops->last != NULL && (drops->last->pool != copy->pool || drops->last->size_class != copy->size_class))
		wh_dds_drops_end(drops);
	copy->next = drops->first;
	drops->first = copy;
	if (drops->last == NULL)
		drops->last = copy;
}

/* Whatever address a program gives back, NULL too: it is compared first, so it is calculated as a number. */
static inline struct wh_dds_copy *wh_dds_copy_of(const void *data)
{
	return (struct wh_dds_copy *)((uintptr_t)data - offsetof(struct wh_dds_copy, data));
}

struct wh_dds_pool_counts {
	uint64_t blocks; /* that there are, free or not */
	uint64_t bytes;  /* of these, with their heads */
	uint64_t made;   /* allocations ever */
};

/* The pool's thread. */
struct wh_dds_pool_counts wh_dds_pool_count(const struct wh_dds_pool *pool);

#endif
