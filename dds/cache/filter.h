/* filter.h - a program's function that says which samples it wants, with its argument. Counted: a topic has it, and each reader that was
 * created with that, or a query condition. The last that gives it back releases the argument.
 *
 * Threads: any.
 */
#ifndef WH_DDS_FILTER_H
#define WH_DDS_FILTER_H

#include "base/atomics.h"
#include "whorl/dds.h"

struct wh_dds_filter {
	wh_word refs;
	whorl_dds_filter_fn *fn;       /* [const] NULL: all are wanted */
	void *arg;                     /* [const] */
	whorl_dds_release_fn *release; /* [const] NULL: the program knows when */
};

/* Held by the caller. NULL: memory is out, and the argument was released. */
struct wh_dds_filter *wh_dds_filter_new(whorl_dds_filter_fn *fn, void *arg, whorl_dds_release_fn *release);
struct wh_dds_filter *wh_dds_filter_hold(struct wh_dds_filter *filter); /* NULL is nothing */
void wh_dds_filter_put(struct wh_dds_filter *filter);                   /* NULL is nothing */

#endif
