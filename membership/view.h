/* view.h - who is in the group, and who is in which subgroup: immutable once made.
 *
 * A rank is a place in a view, 0 to members-1; a node id is for life. In a view the members of a subgroup stand in the
 * order of their ranks, and so do its senders; a sender's place among them is its sender rank, which the total order is
 * made of. Every node makes the same view from the same configuration.
 */
#ifndef WH_MEMBERSHIP_VIEW_H
#define WH_MEMBERSHIP_VIEW_H

#include <stdint.h>

#include "base/error.h"

#define WH_NODES_MAX 256
#define WH_NAME_BYTES 64

struct wh_view_subgroup {
	char name[WH_NAME_BYTES];
	uint32_t member_count, sender_count;
	uint32_t *members; /* ranks, ascending */
	uint32_t *senders; /* ranks, ascending, members as well; index = sender rank */
};

struct wh_view {
	uint64_t number;
	uint32_t members;
	uint32_t *ids; /* node ids by rank */
	uint32_t subgroup_count;
	struct wh_view_subgroup *subgroups;
};

struct wh_subgroup_text { /* as a configuration says it */
	const char *name;
	const char *members; /* all | 0,1,2 */
	const char *senders; /* all | half | one | 0,2: of the members; half: every second, rounded up; one: the first */
};

/* The first view: ranks are ids. WHORL_OK, WHORL_MEMORY, WHORL_CONFIG (a list is wrong; text says what is expected). */
WH_MUST_CHECK enum whorl_result wh_view_create(struct wh_view **out, uint32_t nodes,
					       const struct wh_subgroup_text *subgroups, uint32_t count,
					       struct wh_error *err);
void wh_view_free(struct wh_view *view);

/* Checks one list alone, for messages that name the key. `members` NULL: it is itself a member list. */
WH_MUST_CHECK enum whorl_result wh_view_check_list(uint32_t nodes, const char *members, const char *list,
						   struct wh_error *err);

/* The place of `rank` in ascending `ranks`, -1 if it is not there. */
int wh_rank_find(const uint32_t *ranks, uint32_t count, uint32_t rank);

#endif
