/* subgroup.h - the parts of a subgroup, each with the threads that may touch it, as those of a node.
 */
#ifndef WH_GROUP_PARTS_SUBGROUP_H
#define WH_GROUP_PARTS_SUBGROUP_H

#include "group/parts/waiting.h"

enum wh_stage {
	WH_STAGE_CONFIGURED, /* it is one of the file: it has no stay */
	WH_STAGE_ENTERING,
	WH_STAGE_IN,
	WH_STAGE_LEAVING, /* it is in a view still */
	WH_STAGE_LEFT,    /* for good, or it never came in */
	WH_STAGE_REFUSED, /* likewise */
};

/* Where it stands, for threads that wait for that. The subgroup has it as const: it is written by wh_told_write alone. */
struct wh_subgroup_told {
	bool is_member, ready;   /* in this view; and its state is restored */
	enum wh_stage stage;     /* [the loop writes, once it is in the list, and reads without the lock] */
	struct wh_error failure; /* why it was refused, or why it leaves though the program has not said so */
};

/* With the lock. */
static inline struct wh_subgroup_told *wh_told_write(struct wh_held held, const struct wh_subgroup_told *told)
{
	(void)held;
	return (struct wh_subgroup_told *)told;
}

/* Before it is in the list of its node: no other thread knows of it. */
static inline struct wh_subgroup_told *wh_told_begin(const struct wh_subgroup_told *told)
{
	return (struct wh_subgroup_told *)told;
}

#endif
