/* restart_int.h - what restart.c and restart_find.c share. */
#ifndef WH_MEMBERSHIP_RESTART_INT_H
#define WH_MEMBERSHIP_RESTART_INT_H

#include "membership/restart.h"

enum wh_verdict {
	WH_VERDICT_WAITS,    /* for what `why` says */
	WH_VERDICT_TAKES_UP, /* what a disk has agreed to after base */
	WH_VERDICT_DECIDES   /* a view after base */
};

struct wh_seekers { /* nodes with reports, and what they may make */
	const struct wh_restart *restart;
	const struct wh_layout_config *layout;
	uint64_t group;               /* of no other is anything counted */
	uint64_t ballot;              /* the key of what is decided */
	const uint64_t *incarnations; /* by id: of nodes that are up and speak for their own disks; of others 0 */
};

struct wh_finding {
	enum wh_verdict verdict;
	char why[512];
	bool all_heard;                /* no member of base is missing */
	bool votes[WH_NODES_MAX];      /* by id: the disks that are to agree */
	struct wh_agreement agreement; /* but for `disk`; its views are the reports', but for `made` */
	struct wh_view *made;          /* the view that was decided; NULL: none was */
};

/* WHORL_OK, WHORL_MEMORY. *out is freed by wh_finding_free, before the reports. */
WH_MUST_CHECK enum whorl_result wh_restart_find(struct wh_finding *out, const struct wh_seekers *seekers);
void wh_finding_free(struct wh_finding *finding);

/* Has the log of that shard all that comes before `base`, and of base what it says? `begin`: where base begins; NULL: that is not known. */
bool wh_log_counts(const struct wh_standing *standing, const struct wh_shard_standing *shard,
		   const struct wh_log_report *log, uint64_t base, const struct wh_shard_begin *begin);

#endif
