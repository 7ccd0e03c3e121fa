/* newcomers.h - for tests of views: the nodes that come into one. */
#ifndef WH_TESTS_SUPPORT_NEWCOMERS_H
#define WH_TESTS_SUPPORT_NEWCOMERS_H

#include <ctype.h>
#include <stdlib.h>

#include "membership/view.h"

/* The incarnation of a node that has been opened so many times before. */
uint64_t incarnation_of(uint32_t id, uint32_t before);

/* The nodes of "3,0,7", in that order, in their first incarnations, up to whatever is no number. Returns how many. */
uint32_t newcomers_of(const char *ids, struct wh_newcomer out[WH_NODES_MAX]);

/* The first view of the nodes 0 to count-1, of which a quorum is taken. */
enum whorl_result view_of_all(struct wh_view **out, uint32_t count, const struct wh_layout_config *layout,
			      struct wh_error *err);

#endif
