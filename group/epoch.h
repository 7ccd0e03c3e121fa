/* epoch.h - all that hangs off one view at one node: its memory, its part of the state table, its multicasts.
 *
 * An epoch is made when a view is proposed and begins when it is installed; meanwhile that of the view before is the
 * current one. An epoch that is over stays until its memory is not needed any more: until every member that went on has said
 * so, no claim made in it is open or unsent, and no thread looks at it (a grace period of RCU, off the loop).
 *
 *     proposed ---- discarded: the leader has proposed another
 *        |
 *     current ----- over ---- freed
 *
 * Threads: the loop's, but for what application threads read of the current epoch inside an RCU lock: view, rank, shard members.
 */
#ifndef WH_GROUP_EPOCH_H
#define WH_GROUP_EPOCH_H

#include "group/rows.h"
#include "membership/change.h"
#include "predicates/hot.h"
#include "predicates/multicast.h"

struct wh_shard_member {                       /* this node, as a member of one shard in this view */
	whorl_subgroup *subgroup;              /* [const] */
	const struct wh_view_subgroup *layout; /* [const] */
	uint32_t *sender_ids;                  /* [const] node ids by sender rank */
	struct wh_multicast *mc;               /* [const] NULL: the shard is not active */
	struct wh_log_source *source;          /* [const] of a durable one */
	struct wh_replay *replay; /* [loop] before the view begins: its log is upcalled. NULL: it is not, or has been */
	struct wh_place place;    /* of my ring, if I am a sender */
	bool sends;               /* [const] */
	bool ends;                /* [const] it sends what it has claimed, and nothing more */
	bool placed;              /* [loop] the ring knows the place */
};

struct wh_epoch {
	whorl_node *node;     /* [const] */
	struct wh_view *view; /* [const] */
	struct wh_rows *rows; /* [const] */
	uint32_t rank;        /* [const] mine */
	struct wh_image *image;
	struct wh_sst sst;
	struct wh_pushes pushes;
	struct wh_heartbeat heartbeat;
	struct wh_cut_source *cuts_from;
	struct wh_change change;
	struct wh_moves moves; /* empty column: there are so few subgroups that all are looked at anyway */
	struct wh_hot hot;     /* which of them a pass steps */
	struct wh_shard_member *shard_members; /* [const] those that this node has */
	uint32_t shard_member_count;
	uint32_t *shard_member_of; /* [const] by configured subgroup: which of these is of it, + 1; 0: none */

	/* [loop] Of what goes to disk (durable.h): its view, what this node says as it enters it, its end. 0: not yet, or nothing is durable. */
	uint64_t view_ticket, entry_ticket, kept_ticket, whole_ticket;
	bool holds; /* [loop] of what I had delivered in the view before it is not known yet that all that go on have */
	struct wh_epoch *older; /* [loop] the one before, as long as it is needed */
	wh_word grace;          /* 1: no thread looks at it any more. [a job writes] */
};

/* The memory, and everything that can fail. `key` names its image. The view becomes the epoch's, also on failure. WHORL_OK,
 * WHORL_MEMORY, WHORL_SYSTEM. */
WH_MUST_CHECK enum whorl_result wh_epoch_create(struct wh_epoch **out, whorl_node *node, struct wh_view *view,
						uint64_t key, struct wh_error *err);
/* Nothing of it is used any more. Without `close_image` the transport has closed the image already. */
void wh_epoch_free(struct wh_epoch *epoch, bool close_image);

/* Bytes that wh_epoch_create would allocate, for the given view. */
WH_MUST_CHECK enum whorl_result wh_epoch_estimate(const whorl_node *node, const struct wh_view *view, uint64_t *bytes,
						  struct wh_error *err);

/* The image is ready and the epoch the next, or this node's first: it becomes its current one. */
void wh_epoch_begin(struct wh_epoch *epoch);

/* A member that was there when this view was prepared may be gone, or have dropped it: it is suspected. */
void wh_epoch_suspect_lost(struct wh_epoch *epoch);

/* The others can go on without me as without a node that has left in order: no node that my row accuses is in the view any
 * more; all have begun it, so that none learns that I have left before it can read my row; and its quorum is one of its members,
 * not of all nodes that are configured. Without a quorum there is nothing to wait for. */
bool wh_epoch_may_leave(const struct wh_epoch *epoch);

/* A member beats in it that has begun it, or that is not new in it and so has settled the view before. */
bool wh_epoch_is_beaten(const struct wh_epoch *epoch);

/* This node rests in that subgroup, or sends again: said when it can be. False: not yet. */
bool wh_epoch_rest(struct wh_epoch *epoch, whorl_subgroup *subgroup, bool rests);

/* It is said, in this view or before. Also where this node is no member. */
bool wh_epoch_has_said_rest(const struct wh_epoch *epoch, const whorl_subgroup *subgroup);

/* If the layout ends this node's sending in that subgroup: said when all that it has claimed is delivered. False: not yet. */
bool wh_epoch_end(struct wh_epoch *epoch, whorl_subgroup *subgroup);

/* One pass over the current epoch, and over those that are over. A wh_predicate of the node. */
size_t wh_epoch_step(void *node);

/* Before the loop parks. ctx is the node. */
void wh_epoch_park(void *node);

/* What is committed is sent in the current epoch, and nothing else is done: no upcalls. For a thread that has borrowed the loop. */
void wh_epoch_send(whorl_node *node);
/* The same, and in that subgroup what the others have sent is taken in and acknowledged. */
void wh_epoch_exchange(void *node, const void *subgroup);

/* What that member has written into its row, or into its rings, no member can have written: it is suspected, and if its messages are to be
 * delivered here the node fails (fail.c). */
void wh_epoch_suspect_broken(struct wh_epoch *epoch, uint32_t rank, const char *what);
/* Which subgroup of the view it is: rows have their words of subgroups in that order. */
static inline uint32_t wh_epoch_index(const struct wh_epoch *epoch, const struct wh_shard_member *member)
{
	return (uint32_t)(member->layout - epoch->view->subgroups);
}

#endif
