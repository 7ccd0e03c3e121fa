/* reports.h - what the rounds of a restart say (docs/decisions/0058): what a disk has, and what its node is to agree to; as bytes.
 *
 * What comes is checked in full, and a report or an agreement hangs together: its views are of one group, follow each other, and have the
 * shards that are spoken of. It is said by another node all the same: what is believed is in restart.c.
 *
 * Threads: any; nothing here has a state.
 */
#ifndef WH_MEMBERSHIP_REPORTS_H
#define WH_MEMBERSHIP_REPORTS_H

#include "membership/wire.h"
#include "persistence/standing.h"

struct wh_log_report {     /* of a shard of the standing */
	bool rotten;       /* something is missing of what it says that it has */
	uint64_t extent;   /* it has what was sent in `base` below; 0: nothing of that view */
	uint64_t frontier; /* and says that all members of `base` had on disk what was sent below */
};

struct wh_report {     /* of one disk */
	uint32_t disk; /* id of its node */
	struct wh_standing standing;
	struct wh_log_report *logs;  /* by shard of the standing */
	struct wh_view *base, *next; /* NULL: it has not its bytes; and where nothing was agreed to there is no next */
};

struct wh_agreement {
	uint32_t disk;       /* the node's that is to agree */
	bool taken_up;       /* what follows base had been agreed to before, and is again; no round has made it */
	uint64_t base, next; /* keys */
	uint32_t begin_count;
	struct wh_shard_begin *begins; /* of the durable shards of base, ascending by subgroup and shard */
	uint32_t cut_count;
	uint64_t *cuts; /* by subgroup of base */
	struct wh_view *base_view, *next_view;
};

/* Allocates *out. The views are encoded. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_report_encode(unsigned char **out, size_t *bytes, const struct wh_report *report);
/* WHORL_OK, WHORL_MEMORY, WHORL_INVALID (text says what is wrong). *out is freed by wh_report_free, and empty if it is not WHORL_OK. */
WH_MUST_CHECK enum whorl_result wh_report_decode(struct wh_report *out, const void *bytes, size_t count,
						 const struct wh_layout_config *layout, uint32_t nodes_max,
						 struct wh_error *err);
void wh_report_free(struct wh_report *report);

WH_MUST_CHECK enum whorl_result wh_agreement_encode(unsigned char **out, size_t *bytes,
						    const struct wh_agreement *agreement);
WH_MUST_CHECK enum whorl_result wh_agreement_decode(struct wh_agreement *out, const void *bytes, size_t count,
						    const struct wh_layout_config *layout, uint32_t nodes_max,
						    struct wh_error *err);
void wh_agreement_free(struct wh_agreement *agreement);

/* The number by which nodes name that subgroup of a view to each other, and disks do: as configured, or its birth. */
static inline uint64_t wh_subgroup_number(const struct wh_view_subgroup *subgroup)
{
	return subgroup->birth != 0 ? subgroup->birth : subgroup->configured;
}

/* Which of the view's subgroups (shards) that is; -1: none. */
int wh_subgroup_index(const struct wh_view *view, uint64_t number, uint32_t shard);

/* NULL: it is not among them. */
const struct wh_shard_begin *wh_begin_of(const struct wh_shard_begin *begins, uint32_t count, uint64_t subgroup,
					 uint32_t shard);

#endif
