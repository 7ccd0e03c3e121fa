/* count.h - the requests that a queue pair has been given and has not completed, counted here.
 *
 * A send queue has room for so many requests, and only those that are signalled say when they are done, for all before them
 * too. A device refuses what has no room; Soft-RoCE does not, so that nothing but this count keeps to the depth.
 */
#ifndef WH_TRANSPORT_VERBS_COUNT_H
#define WH_TRANSPORT_VERBS_COUNT_H

#include <stdbool.h>
#include <stdint.h>

struct wh_verbs_count {
	uint64_t posted, done; /* requests since the queue pair was made; done <= signalled <= posted <= done + depth */
	uint64_t signalled;    /* the last that was */
	uint32_t depth;
	uint32_t every; /* at most so many from one signalled request to the next; at most half the depth */
};

static inline struct wh_verbs_count wh_verbs_count(uint32_t depth)
{
	return (struct wh_verbs_count){.depth = depth, .every = depth >= 4 ? depth / 4 : 1};
}

static inline uint32_t wh_verbs_count_room(const struct wh_verbs_count *count)
{
	return count->depth - (uint32_t)(count->posted - count->done);
}

/* One more is posted; there is room. True: it is to be signalled, with the number count->posted. */
static inline bool wh_verbs_count_post(struct wh_verbs_count *count)
{
	count->posted++;
	if (count->posted - count->signalled < count->every)
		return false;
	count->signalled = count->posted;
	return true;
}

/* One more is posted, and is to be signalled whatever was before. */
static inline void wh_verbs_count_post_signalled(struct wh_verbs_count *count)
{
	count->signalled = ++count->posted;
}

/* The request with that number is done, and so are all before it. False: there is none such under way. */
static inline bool wh_verbs_count_done(struct wh_verbs_count *count, uint64_t number)
{
	if (number <= count->done || number > count->posted)
		return false;
	count->done = number;
	return true;
}

#endif
