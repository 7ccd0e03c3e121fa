/* restart_int.h - what the files of a restart share. */
#ifndef WH_MEMBERSHIP_RESTART_INT_H
#define WH_MEMBERSHIP_RESTART_INT_H

#include <stdlib.h>

#include "membership/join_int.h"
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
	uint64_t known;               /* number of the newest view that was known to be decided when they were asked */
	const uint64_t *incarnations; /* by id: of nodes that are up and speak for their own disks; of others 0 */
};

struct wh_finding {
	enum wh_verdict verdict;
	char why[512];
	uint64_t number; /* of base */
	bool stale; /* it waits, as some member of base has said nothing of that: all have to be asked again, now that base is known */
	bool lacks_log; /* it waits, as no member that is up has all of the log of some shard */
	bool all_heard; /* no member of base is missing */
	struct wh_restart_missing missing;
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

/* ---- restart_voice.c ---- */

void wh_voice_reset(struct wh_voice *voice);
/* That node asks it to promise. */
void wh_voice_ask(struct wh_join *join, struct wh_voice *voice, uint32_t by, uint64_t ballot);
/* Its promise is as it was: it says what the disk has. */
void wh_voice_report(struct wh_join *join, struct wh_voice *voice);
/* What that node asks a disk to agree to, as bytes. False: no node says that. */
bool wh_voice_take_agreement(struct wh_join *join, uint32_t from, const unsigned char *bytes, size_t count);
/* One pass. Returns how much it did. */
size_t wh_voice_step(struct wh_join *join, struct wh_voice *voice);

/* ---- restart_round.c ---- */

/* There is no round; nobody is told. */
void wh_round_forget(struct wh_restart *restart);
/* Nodes that have been told of what came to nothing are told so; not when it has begun. */
void wh_round_end(struct wh_join *join);
/* A report that has come, and that a disk has agreed. */
void wh_round_hear_report(struct wh_join *join, uint32_t node, const unsigned char *bytes, size_t count);
void wh_round_hear_agreed(struct wh_join *join, uint32_t node, uint32_t disk, uint64_t ballot);
/* One pass: coordinates, if that is for this node to do. Returns how much it did. */
size_t wh_round_step(struct wh_join *join);

/* ---- restart.c ---- */

/* The coordinator of the round that this node follows is there no more, or silent. When this node is there, that is
 * so a start time-out later: others may have begun what was decided, and say so. */
bool wh_restart_is_deserted(const struct wh_join *join);
/* What the disk has promised, and no ballot names a view that has the same key as one that it knows of. */
uint64_t wh_restart_floor_of(const struct wh_standing *standing);

/* ---- looking ---- */

static inline void wh_restart_drop_bytes(unsigned char **bytes)
{
	unsigned char *old = *bytes;

	*bytes = NULL; /* first: a fork may come in between */
	free(old);
}

static inline const struct wh_standing *wh_restart_standing(const struct wh_restart *restart, uint32_t disk)
{
	return restart->on.standing(restart->ctx, disk);
}

static inline bool wh_restart_is_durable(const struct wh_restart *restart, const struct wh_view_subgroup *shard)
{
	return restart->on.is_durable(restart->ctx, shard);
}

/* By disk: has it been heard? Of all that must have been, where it is known which these are. */
static inline bool wh_restart_has_heard_all(const struct wh_restart *restart, const bool *heard)
{
	return restart->on.heard_all == NULL || restart->on.heard_all(restart->ctx, heard);
}

static inline uint64_t wh_restart_group(const struct wh_restart *restart)
{
	return wh_restart_standing(restart, restart->voices[0].disk)->group;
}

/* The view that is followed is one that a round has decided. */
static inline bool wh_restart_follows_round(const struct wh_join *join)
{
	return (join->state == WH_JOIN_INVITED || join->state == WH_JOIN_THERE) && wh_is_first_view(join->key) &&
	       join->view->number > 0;
}

/* A node that comes into another view has no part in a restart. */
static inline bool wh_restart_may_take_part(const struct wh_join *join)
{
	return join->state == WH_JOIN_SEEKING || wh_restart_follows_round(join);
}

/* A view of a round that has begun already is begun, and not dropped. */
static inline bool wh_restart_has_begun(const struct wh_join *join)
{
	return join->state == WH_JOIN_THERE && wh_join_has_begun(join, false);
}

static inline bool wh_restart_send(const struct wh_join *join, uint32_t node, enum wh_wire_kind kind, uint64_t number,
				   uint32_t disk)
{
	const struct wh_wire message = {.kind = kind, .key = number, .node = disk};

	return wh_roster_send(join->roster, node, &message);
}

#endif
