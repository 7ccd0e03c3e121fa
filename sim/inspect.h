/* inspect.h - what the simulator sees inside a node: the one place that knows how a node is made.
 *
 * Read only, between the passes of a node or in its upcalls. Message numbers are those of the sender's stream: they go on
 * through all views. Rounds and sequence numbers begin anew in each.
 */
#ifndef WH_SIM_INSPECT_H
#define WH_SIM_INSPECT_H

#include <whorl/whorl.h>

#include "membership/view.h"
#include "sim/schedule.h"
#include "smc/slots.h"
#include "transport/transport.h"

/* ---- a node ------------------------------------------------------------------------------------------------------------ */

/* Its current view; NULL: it is in none. */
const struct wh_view *wh_inspect_view(const whorl_node *node);
/* The key of its image, and of the node itself. */
uint64_t wh_inspect_key(const whorl_node *node);
uint64_t wh_inspect_incarnation(const whorl_node *node);
/* That of the image of the view that is proposed; 0: none is. */
uint64_t wh_inspect_proposed_key(const whorl_node *node);
/* A view as bytes, as this node reads them; NULL: they are none. It is freed by the caller. */
struct wh_view *wh_inspect_decode(const whorl_node *node, const void *bytes, size_t count);
/* The group that it is counted in: it is a member, or has said in a view that it is there; 0: none. */
uint64_t wh_inspect_counted(const whorl_node *node);
/* It is in no group, or in that one. */
bool wh_inspect_may_be_in(const whorl_node *node, uint64_t group);
/* Has it ever been there in a first view, or on its way into another? */
bool wh_inspect_has_promised(const whorl_node *node);
/* The row of that life in its view has come to it: it can be read when its owner is proved dead. */
bool wh_inspect_has_row(const whorl_node *node, uint32_t id, uint64_t incarnation);
/* Has it no part in the first view of that key any more? */
bool wh_inspect_dropped(const whorl_node *node, uint64_t key);

/* It is on its way into a later view of which that life is a member. */
bool wh_inspect_comes_to(const whorl_node *node, uint32_t id, uint64_t incarnation);
/* A newcomer of a later view, invited by that key, has let go of it: it comes in only when it is invited again. */
bool wh_inspect_has_let_go(const whorl_node *node, uint64_t key);
/* Has it not restored its state yet, or not upcalled what was kept back meanwhile? */
bool wh_inspect_restores(const whorl_node *node, uint32_t g, uint64_t birth);
/* It is in no view, has met that life, and takes it for a member of a group that it can be let into. */
bool wh_inspect_asks(const whorl_node *node, uint32_t id, uint64_t incarnation);
/* So many bytes of states have come to it there. */
uint64_t wh_inspect_taken(const whorl_node *node, uint32_t g, uint64_t birth);
/* Does it keep back what is delivered in that subgroup of the configuration, or in the dynamic one of that birth? */
bool wh_inspect_keeps(const whorl_node *node, uint32_t g, uint64_t birth);
/* Something that the application has refused is kept for it, of views before. */
bool wh_inspect_refused(const whorl_node *node, uint32_t g, uint64_t birth);
/* How many messages it has claimed there. */
uint64_t wh_inspect_claimed(const whorl_subgroup *subgroup);
/* Is the stay of that handle, which has not been released, over? */
bool wh_inspect_has_left(const whorl_subgroup *subgroup);
bool wh_inspect_was_refused(const whorl_subgroup *subgroup);
/* Is it a sender of that shard (index in the view) that is to end, and has nothing left to send? */
bool wh_inspect_has_ended(const whorl_node *node, uint32_t shard);
/* Does it read what its log has of that subgroup of the configuration, before a view that restarts the group begins? Of which shard. */
bool wh_inspect_replays(const whorl_node *node, uint32_t g, uint32_t *shard);
/* Its view restarts the group. */
bool wh_inspect_restarts(const whorl_node *node);
/* Does this member of a durable shard (index in the view) say that its log has all of it? */
bool wh_inspect_is_whole(const whorl_node *node, uint32_t shard);
/* Rot was found in a log of it, of a shard that it is in, and is not mended yet. */
bool wh_inspect_has_rot(const whorl_node *node);
/* Has it stopped in its view: it neither sends nor receives there any more? */
bool wh_inspect_wedged(const whorl_node *node);
/* The nodes that it suspects in its view: bit i is node i. */
uint64_t wh_inspect_suspects(const whorl_node *node);
/* The nodes that it knows to have left, said or not. */
uint64_t wh_inspect_left(const whorl_node *node);
/* Of these those of which it has said nothing worse. */
uint64_t wh_inspect_says_left(const whorl_node *node);
/* In this view, or one before that is not forgotten yet, it has taken that incarnation as one that has left in order. */
bool wh_inspect_saw_leave(const whorl_node *node, uint32_t id, uint64_t incarnation);
/* And the nodes that it would suspect if it heard a quorum. */
uint64_t wh_inspect_distrusts(const whorl_node *node);
/* Of the nodes that it suspects, those with rows that it would still see change, although they have failed for it (T9). */
uint64_t wh_inspect_unfrozen(const whorl_node *node);
/* Has it the memory of the view with that image still, its own rows and those of the others? */
bool wh_inspect_has_image(const whorl_node *node, uint64_t key);
/* The heartbeat of that member as it is in its memory now; 0: none yet, or it is no member. *overdue: it is taken to be late. */
uint64_t wh_inspect_beat(const whorl_node *node, uint32_t id, bool *overdue);
/* When its loop wants to be called again, by its own clock. */
uint64_t wh_inspect_next_ns(const whorl_node *node);
/* Work that it has submitted and that is not done. */
uint64_t wh_inspect_jobs(const whorl_node *node);
void wh_inspect_wake(whorl_node *node);
/* Its last events, to its log. */
void wh_inspect_dump(whorl_node *node);
/* Which step this push of it is; WH_MOMENT_TIME: none. */
enum wh_moment wh_inspect_step(const whorl_node *node, uint64_t key, const struct wh_push *push);

/* ---- a member in a shard of its view ------------------------------------------------------------------------------------ */

struct wh_inspect_said { /* of a member, in its row, for all others to see */
	uint64_t guard, received_num, delivered_num, persisted_num;
};

struct wh_inspect_member {
	bool broken;                          /* it has found another member's memory to make no sense */
	int me;                               /* its sender rank, -1: none */
	uint64_t covered, announced;          /* its own rounds; its messages below have one */
	uint64_t received_num, delivered_num; /* ordered */
	bool durable;
	uint64_t persisted_num; /* durable */
	struct wh_inspect_said said;
	uint64_t sent, freed, limit; /* of its ring, if it is a sender */
	uint32_t window;
};

struct wh_inspect_sender { /* what a member has taken in of a sender */
	uint64_t covered;  /* rounds */
	uint64_t announced, next;
	uint64_t told; /* ordered: up to which it has told that it has delivered, when that mattered last; also within a delivery */
	uint64_t said_next; /* unordered: what its row says of `next` */
};

/* False: it is no member of that shard (index in the view), or the shard does not work. */
bool wh_inspect_member(const whorl_node *node, uint32_t shard, struct wh_inspect_member *out);
/* By sender rank. */
struct wh_inspect_sender wh_inspect_sender(const whorl_node *node, uint32_t shard, uint32_t s);
/* The slot of message `number` of that sender in this node's own copy of the sender's row. */
struct wh_slot_header wh_inspect_slot(const whorl_node *node, uint32_t shard, uint32_t s, uint64_t number,
				      const unsigned char **payload);

#endif
