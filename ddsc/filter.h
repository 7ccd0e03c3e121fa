/* filter.h - a program's function that says which samples it wants: of a topic, or of a query condition. It is given whorl's sample as the struct
 * that the program knows. Counted, as whorl has it until the last reader that was created with a topic's filter, or the condition, has gone.
 */
#ifndef WH_DDSC_FILTER_H
#define WH_DDSC_FILTER_H

#include <dds/dds.h>

#include "ddsc/kind.h"

struct wh_ddsc_filter;

/* Of mode SAMPLE or SAMPLE_ARG. NULL when memory is out. */
struct wh_ddsc_filter *wh_ddsc_filter_new(struct wh_ddsc_kind *kind, const struct dds_topic_filter *what);
struct wh_ddsc_filter *wh_ddsc_filter_hold(struct wh_ddsc_filter *filter); /* NULL is nothing */
void wh_ddsc_filter_let_go(struct wh_ddsc_filter *filter);

const struct dds_topic_filter *wh_ddsc_filter_what(const struct wh_ddsc_filter *filter);

/* whorl's functions, with a filter as their argument, which is held for it. */
bool wh_ddsc_filter_wants(const void *data, size_t bytes, void *arg);
void wh_ddsc_filter_release(void *arg);

#endif
