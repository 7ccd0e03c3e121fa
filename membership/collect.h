/* collect.h - at a leader: the sets of wishes that nodes have sent to it, and when they are to be met (docs/decisions/0046).
 *
 * A set comes in pieces, and replaces the one before of that incarnation. A set that the view does not serve yet is *outstanding*. They are
 * met together: when none has come for a while, or when the first of them has waited long enough. How long that is follows from how long the
 * last change for wishes took: where many nodes share few processors it is the changes that keep the other wishes from coming.
 *
 * Threads: the loop's. Memory: a set that is served is freed, or that is of a node that is gone.
 */
#ifndef WH_MEMBERSHIP_COLLECT_H
#define WH_MEMBERSHIP_COLLECT_H

#include "membership/wire.h"

#define WH_COLLECT_QUIET_NS UINT64_C(2000000)
#define WH_COLLECT_MOST_NS UINT64_C(20000000)
#define WH_COLLECT_COST_NS UINT64_C(1000000000) /* more is taken for so much: something had gone wrong */
#define WH_COLLECT_QUIET_PART 8 /* of what the last change took it is quiet for so much, if that is longer */

struct wh_collected { /* of a node, by id */
	uint64_t incarnation;
	struct wh_view_parts parts;
	struct wh_wish_set *set; /* the last that has come whole; NULL: none */
	uint64_t considered;     /* the number of a set that changed nothing when it was composed; 0: none */
};

struct wh_collect {
	uint32_t nodes; /* ids are below */
	struct wh_collected *of;
	uint64_t first_ns,
		last_ns; /* when the first of those that are outstanding was noticed, and when one came last; 0: none is */
	uint64_t composed_ns; /* when those were composed that the next view is to serve; 0: none were */
	uint64_t cost_ns;     /* from there to that view, the last time */
};

/* WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_collect_init(struct wh_collect *collect, uint32_t nodes);
void wh_collect_close(struct wh_collect *collect);

/* A WH_WIRE_WISHES of that incarnation of `node`. WHORL_OK: a set has come that is newer than the last; WHORL_AGAIN: more is to come, or it
 * is no newer; WHORL_INVALID: its sender is broken; WHORL_MEMORY: it is to be said again. */
WH_MUST_CHECK enum whorl_result wh_collect_take(struct wh_collect *collect, uint32_t node, uint64_t incarnation,
						const struct wh_wire *message, uint64_t now_ns);
/* What this node itself says. True: it is newer than the last. If there is no memory, it is to be said again. */
bool wh_collect_mine(struct wh_collect *collect, uint32_t node, uint64_t incarnation, const struct wh_wish_set *set,
		     uint64_t now_ns);
/* That node has been told that a wish of its set of that number is refused. */
void wh_collect_refused(struct wh_collect *collect, uint32_t node, uint64_t number, uint32_t wish);
/* Has any set come that no view serves? */
bool wh_collect_any(const struct wh_collect *collect);
/* That node is gone. */
void wh_collect_gone(struct wh_collect *collect, uint32_t node);
/* They are composed, for a view that serves them. */
void wh_collect_composed(struct wh_collect *collect, uint64_t now_ns);
/* That view has begun: what it serves is not wanted any more. */
void wh_collect_settle(struct wh_collect *collect, const struct wh_view *view, uint64_t now_ns);

/* The sets that are outstanding, by rank of the next view, which has the members of `view`, or some of them, and newcomers. They stay the
 * collector's, until another comes or a view begins. Returns how many. */
uint32_t wh_collect_sets(const struct wh_collect *collect, const struct wh_view *view,
			 const struct wh_wish_set *sets[WH_NODES_MAX]);
/* These have been composed, and changed nothing: it is not time because of them before another view. (If there is a view for another reason
 * they are in it: what stood in their way may have gone.) */
void wh_collect_considered(struct wh_collect *collect, const struct wh_view *view,
			   const struct wh_wish_set *const *sets);

/* Is it time to compose? `wished`: by rank of `view`, the number of the set that the row of that member says: one that has not come yet is
 * waited for. If not, *again_ns says when to look again; 0: when something comes. */
bool wh_collect_is_due(struct wh_collect *collect, const struct wh_view *view, const uint64_t *wished, uint64_t now_ns,
		       uint64_t *again_ns);

#endif
