/* view_int.h - what the files that make views want of each other: view.c and wire.c of layout.c. */
#ifndef WH_MEMBERSHIP_VIEW_INT_H
#define WH_MEMBERSHIP_VIEW_INT_H

#include "membership/view.h"

#define WH_NOWHERE (-1)

struct wh_places { /* of the members of a view in one configured subgroup, by rank; a member that is nowhere is nothing else */
	int shard[WH_NODES_MAX]; /* WH_NOWHERE: in none */
	bool sender[WH_NODES_MAX], entered[WH_NODES_MAX], resting[WH_NODES_MAX], ending[WH_NODES_MAX];
	bool returned[WH_NODES_MAX];
};

/* A view without members, with room for so many; `left` is the room for those that left. NULL: no memory. */
struct wh_view *wh_view_new(uint32_t members, uint32_t left);

/* One shard, all of it but what it is called: the members that have their places in it, and its state. */
WH_MUST_CHECK bool wh_shard_fill(struct wh_view_subgroup *out, const struct wh_places *places, uint32_t members,
				 uint32_t members_min, bool lost);
/* What it is called. */
void wh_shard_name(struct wh_view_subgroup *out, const struct wh_subgroup_text *text, uint32_t configured,
		   uint32_t shard);

/* What a dynamic subgroup is called, and is. */
void wh_dynamic_name(struct wh_view_subgroup *out, const char *name, uint64_t birth,
		     const struct wh_parameters *parameters);

/* All shards of all subgroups of `view`, which has its members, joined and left, and then the dynamic subgroups in which a member stays.
 * `before` and `next` NULL: it is the first view, and the lists are checked. WHORL_OK, WHORL_MEMORY, WHORL_CONFIG; on failure there is
 * nothing. */
WH_MUST_CHECK enum whorl_result wh_layout_make(struct wh_view *view, const struct wh_view *before,
					       const struct wh_next *next, const struct wh_layout_config *layout,
					       struct wh_error *err);
void wh_layout_free(struct wh_view_subgroup *subgroups, uint32_t count); /* NULL is fine */

/* That subgroup of `view`, which is its last, as it is without members. And a copy. False: no memory. */
WH_MUST_CHECK bool wh_dormant_make(struct wh_dormant *out, const struct wh_view *view,
				   const struct wh_view_subgroup *subgroup);
WH_MUST_CHECK bool wh_dormant_copy(struct wh_dormant *out, const struct wh_dormant *dormant);
bool wh_dormant_equals(const struct wh_dormant *one, const struct wh_dormant *other);
void wh_dormant_sort(struct wh_dormant *dormant, uint32_t count); /* by their seats */
void wh_dormant_free(struct wh_dormant *dormant, uint32_t count); /* NULL is fine */

#endif
