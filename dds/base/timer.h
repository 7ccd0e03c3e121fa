/* timer.h - what is due when, in the structs that it is about: a heap that allocates nothing.
 *
 * A pairing heap (Fredman and others, 1986): to insert is a comparison, to remove costs the logarithm of what there is, in the mean.
 * Timers of a heap that are due at the same time come in any order.
 */
#ifndef WH_DDS_TIMER_H
#define WH_DDS_TIMER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WH_DDS_NEVER UINT64_MAX

struct wh_dds_timer {
	uint64_t due_ns;
	struct wh_dds_timer *child, *next; /* the first child; the next one of the same parent */
	struct wh_dds_timer
		*before; /* the sibling before it, of a first child the parent; itself: it is the root; NULL: unset */
	int kind;        /* whatever its owner says */
};

struct wh_dds_timers {
	struct wh_dds_timer *root; /* due first; NULL: none */
};

static inline bool wh_dds_timer_is_set(const struct wh_dds_timer *timer)
{
	return timer->before != NULL;
}

/* When the first is due; WH_DDS_NEVER. */
static inline uint64_t wh_dds_timers_next(const struct wh_dds_timers *timers)
{
	return timers->root != NULL ? timers->root->due_ns : WH_DDS_NEVER;
}

/* Sets one that is not set. Nothing is done for WH_DDS_NEVER. */
void wh_dds_timer_set(struct wh_dds_timers *timers, struct wh_dds_timer *timer, uint64_t due_ns);

/* Nothing is done if it is not set. */
void wh_dds_timer_clear(struct wh_dds_timers *timers, struct wh_dds_timer *timer);

/* Removes the first and returns it, if it is due by `now`. NULL: none is. */
struct wh_dds_timer *wh_dds_timers_pop(struct wh_dds_timers *timers, uint64_t now_ns);

#endif
