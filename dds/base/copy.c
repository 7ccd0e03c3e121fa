/* copy.c - see copy.h. */
#include "dds/base/copy.h"

#include <stdlib.h>

/* Four classes for each doubling, so that at most a fifth of a block is idle: class 4k + q is of blocks of (5 + q) << (4 + k) bytes, with
 * their heads. */
#define CLASS_BITS 6 /* of the least: 64 bytes are less than any block */
#define CLASS_COUNT (4 * (40 - CLASS_BITS))

#define PREFETCH_MOST 256 /* larger ones come in by themselves while they are written */
#define CLOSED 1          /* in place of a stack of blocks: the pool has no thread any more */

_Static_assert(offsetof(struct wh_dds_copy, data) == 2 * WH_CACHE_LINE, "a block's head has two lines");

struct wh_dds_class {
	_Alignas(WH_CACHE_LINE) wh_word returned; /* [any thread] the block given back last; all are taken at once */
	_Alignas(WH_CACHE_LINE) struct wh_dds_copy *idle; /* [the pool's thread] */
};

struct wh_dds_pool {
	size_t keep_bytes;                         /* [const] */
	struct wh_dds_pool_counts counts;          /* [the pool's thread] */
	void (*release)(struct wh_dds_copy *copy); /* [const] NULL: samples own nothing */
	wh_word left; /* [any thread, once it is closed] blocks that are not back, and one while it is being closed */
	struct wh_dds_class classes[CLASS_COUNT];
};

static uint32_t class_of(size_t bytes)
{
	size_t last = bytes + offsetof(struct wh_dds_copy, data) - 1;
	uint32_t bits = 63 - (uint32_t)__builtin_clzl(last);

	return 4 * (bits - CLASS_BITS) + (uint32_t)(last >> (bits - 2) & 3);
}

static size_t class_bytes(uint32_t size_class)
{
	size_t bytes = (size_t)(5 + size_class % 4) << (CLASS_BITS - 2 + size_class / 4);

	return (bytes + WH_CACHE_LINE - 1) / WH_CACHE_LINE * WH_CACHE_LINE;
}

struct wh_dds_pool *wh_dds_pool_create(size_t keep_bytes)
{
	struct wh_dds_pool *pool = aligned_alloc(WH_CACHE_LINE, sizeof(*pool));

	if (pool == NULL)
		return NULL;
	*pool = (struct wh_dds_pool){.keep_bytes = keep_bytes};
	return pool;
}

void wh_dds_pool_owns(struct wh_dds_pool *pool, void (*release)(struct wh_dds_copy *copy))
{
	pool->release = release;
}

static void let_go(struct wh_dds_pool *pool, struct wh_dds_copy *copy)
{
	pool->counts.blocks--;
	pool->counts.bytes -= class_bytes(copy->size_class);
	free(copy);
}

/* What lies idle beyond what the pool keeps is let go. Each block that comes back is looked at once, and only in a large pool. */
static void trim(struct wh_dds_pool *pool, struct wh_dds_copy *idle)
{
	size_t bytes = class_bytes(idle->size_class), kept = bytes;
	struct wh_dds_copy *rest;

	for (; idle->next != NULL && kept + bytes <= pool->keep_bytes; idle = idle->next)
		kept += bytes;
	rest = idle->next;
	idle->next = NULL;
	while (rest != NULL) {
		struct wh_dds_copy *next = rest->next;

		let_go(pool, rest);
		rest = next;
	}
}

static struct wh_dds_copy *take_back(struct wh_dds_class *class)
{
	return (struct wh_dds_copy *)(uintptr_t)wh_exchange(&class->returned, 0); /* partner: wh_dds_copy_free */
}

static struct wh_dds_copy *make(struct wh_dds_pool *pool, uint32_t size_class)
{
	size_t bytes = class_bytes(size_class);
	struct wh_dds_copy *copy = aligned_alloc(WH_CACHE_LINE, bytes);

	if (copy == NULL)
		return NULL;
	*copy = (struct wh_dds_copy){.pool = pool, .size_class = size_class};
	pool->counts.made++;
	pool->counts.blocks++;
	pool->counts.bytes += bytes;
	return copy;
}

struct wh_dds_copy *wh_dds_copy_take(struct wh_dds_pool *pool, size_t bytes)
{
	uint32_t size_class = class_of(bytes);
	struct wh_dds_class *class = &pool->classes[size_class];
	struct wh_dds_copy *copy = class->idle;

	if (copy == NULL && wh_load_relaxed(&class->returned) != 0) {
		copy = take_back(class);
		if (pool->counts.bytes > pool->keep_bytes)
			trim(pool, copy);
	}
	if (copy != NULL) {
		class->idle = copy->next;
		wh_dds_prefetch_to_write(copy->next, offsetof(struct wh_dds_copy, data) +
							     (bytes < PREFETCH_MOST ? bytes : PREFETCH_MOST));
	} else {
		copy = make(pool, size_class);
	}
	if (copy == NULL)
		return NULL;
	copy->bytes = bytes;
	wh_store_relaxed(&copy->held, 1);
	return copy;
}

static uint64_t free_all(struct wh_dds_copy *copy)
{
	uint64_t count = 0;

	for (struct wh_dds_copy *next; copy != NULL; copy = next, count++) {
		next = copy->next;
		free(copy);
	}
	return count;
}

/* So many blocks fewer are out, and the pool has no thread any more: the last one takes it along. */
static void come_back(struct wh_dds_pool *pool, uint64_t count)
{
	if (wh_fetch_add(&pool->left, -count) == count)
		free(pool);
}

static void release_all(const struct wh_dds_pool *pool, struct wh_dds_copy *first, struct wh_dds_copy *last)
{
	pool->release(last);
	for (struct wh_dds_copy *copy = first; copy != last; copy = copy->next)
		pool->release(copy);
}

void wh_dds_copy_free(struct wh_dds_copy *first, struct wh_dds_copy *last)
{
	struct wh_dds_pool *pool = first->pool;
	wh_word *returned = &pool->classes[first->size_class].returned;
	uint64_t top = wh_load_acquire(returned); /* partner: wh_dds_pool_close */

	if (pool->release != NULL)
		release_all(pool, first, last);
	do {
		last->next = top == CLOSED ? NULL : (struct wh_dds_copy *)(uintptr_t)top;
		if (top == CLOSED) {
			come_back(pool, free_all(first));
			return;
		}
	} while (!wh_compare_swap(returned, &top, (uint64_t)(uintptr_t)first)); /* partner: take_back */
}

void wh_dds_pool_close(struct wh_dds_pool *pool)
{
	uint64_t back = 1;

	if (pool == NULL)
		return;
	wh_store_relaxed(&pool->left, pool->counts.blocks + 1);
	for (uint32_t i = 0; i < CLASS_COUNT; i++) {
		back += free_all(pool->classes[i].idle);
		/* Partner: wh_dds_copy_free, which sees what is left. */
		back += free_all((struct wh_dds_copy *)(uintptr_t)wh_exchange(&pool->classes[i].returned, CLOSED));
	}
	come_back(pool, back);
}

struct wh_dds_pool_counts wh_dds_pool_count(const struct wh_dds_pool *pool)
{
	return pool->counts;
}
