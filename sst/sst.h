/* sst.h - the shared state table: one row per member, one writer per row, a full copy at each member (Spindle §II-B).
 *
 * Publishing goes through a batch of pushes (transport/pushes.h): a word is kept privately and appears in the shared
 * row, here too, when the batch is posted, by a release store or the transport's equal. Observing is an acquire load:
 * whatever its writer pushed before the value that is seen can be seen as well (T2).
 *
 * Threads: the loop's. Memory: wh_sst_init allocates the private copy; nothing allocates afterwards.
 */
#ifndef WH_SST_SST_H
#define WH_SST_SST_H

#include "base/check.h"
#include "sst/layout.h"
#include "transport/pushes.h"

struct wh_sst {
	struct wh_diag *diag;
	struct wh_image *image;
	uint64_t *mine; /* my words, ahead of or equal to what has been posted */
	uint32_t words;
};

/* `layout` is complete: nothing is added to it afterwards. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_sst_init(struct wh_sst *sst, struct wh_diag *diag, struct wh_image *image,
					    const struct wh_layout *layout, struct wh_error *err);
void wh_sst_close(struct wh_sst *sst);

/* ---- observing: any row, rank by rank -------------------------------------------------------------------------- */

/* Rows change between any two looks of a pass. A pass of the simulator is one event: so a build for it has a hook here, in which what
 * is under way may arrive (tests/sim/CMakeLists.txt). */
#ifdef WHORL_LOOKS
void wh_sim_look(struct wh_transport *transport);
#define BEFORE_LOOK(sst) wh_sim_look((sst)->image->transport)
#else
#define BEFORE_LOOK(sst) ((void)0)
#endif

/* Acquire: pairs with the release of the push that made the value visible. */
static inline uint64_t wh_sst_observe_at(const struct wh_sst *sst, uint32_t rank, uint32_t offset)
{
	BEFORE_LOOK(sst);
	return wh_load_acquire((const wh_word *)(const void *)(sst->image->control[rank] + offset));
}

#undef BEFORE_LOOK

static inline uint64_t wh_sst_observe(const struct wh_sst *sst, uint32_t rank, struct wh_counter_col col)
{
	return wh_sst_observe_at(sst, rank, col.offset);
}

static inline bool wh_sst_observe_flag(const struct wh_sst *sst, uint32_t rank, struct wh_flag_col col)
{
	return wh_sst_observe_at(sst, rank, col.offset) != 0;
}

static inline uint64_t wh_sst_observe_array(const struct wh_sst *sst, uint32_t rank, struct wh_array_col col,
					    uint32_t index)
{
	return wh_sst_observe_at(sst, rank, col.offset + index * 8);
}

/* How many entries were ever appended to a list; entries [count - capacity, count) can be read after that. */
static inline uint64_t wh_sst_observe_list(const struct wh_sst *sst, uint32_t rank, struct wh_list_col col)
{
	return wh_sst_observe_at(sst, rank, col.guard);
}

static inline uint64_t wh_sst_list_entry(const struct wh_sst *sst, uint32_t rank, struct wh_list_col col, uint64_t at)
{
	return wh_sst_observe_at(sst, rank, col.entries + (uint32_t)(at % col.capacity) * 8);
}

/* My own latest value, posted or not. */
static inline uint64_t wh_sst_mine(const struct wh_sst *sst, struct wh_counter_col col)
{
	return sst->mine[col.offset / 8];
}

/* ---- publishing: my row ----------------------------------------------------------------------------------------- */

struct wh_to { /* the receivers of a push: ranks, without me; lives as long as the image */
	const uint32_t *ranks;
	uint32_t count;
};

void wh_sst_publish(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_counter_col col, uint64_t value,
		    struct wh_to to);
void wh_sst_publish_no_wake(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_counter_col col, uint64_t value,
			    struct wh_to to);
/* `advice`: of enum wh_push_advice. */
void wh_sst_publish_advised(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_counter_col col, uint64_t value,
			    unsigned advice, struct wh_to to);
void wh_sst_publish_flag(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_flag_col col, struct wh_to to);
void wh_sst_publish_array(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_array_col col, uint32_t index,
			  uint64_t value, struct wh_to to);

/* Appends: the entries first, in one or two pushes, then the guard in a later one. Entries are at absolute positions
 * modulo the capacity, never moved. Room is made by `consumed`: how many entries all readers are done with.
 * WHORL_OK; WHORL_AGAIN: they do not fit behind `consumed`, nothing was appended. */
WH_MUST_CHECK enum whorl_result wh_sst_append(struct wh_sst *sst, struct wh_pushes *pushes, struct wh_list_col col,
					      const uint64_t *entries, uint32_t count, uint64_t consumed,
					      struct wh_to to);

#endif
