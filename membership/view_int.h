/* view_int.h - what view.c wants of layout.c. */
#ifndef WH_MEMBERSHIP_VIEW_INT_H
#define WH_MEMBERSHIP_VIEW_INT_H

#include "membership/view.h"

/* All shards of all subgroups of `view`, which has its members, joined and left. `before` NULL: it is the first view, whose
 * ids are its ranks, and the lists are checked. WHORL_OK, WHORL_MEMORY, WHORL_CONFIG; on failure there is nothing. */
WH_MUST_CHECK enum whorl_result wh_layout_make(struct wh_view_subgroup **out, uint32_t *out_count,
					       const struct wh_view *view, const struct wh_view *before,
					       const struct wh_layout_config *layout, struct wh_error *err);
void wh_layout_free(struct wh_view_subgroup *subgroups, uint32_t count); /* NULL is fine */

#endif
