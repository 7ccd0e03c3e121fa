/* heartbeat.h - I am here, and these members I hear.
 *
 * The loop, and only the loop, pushes heartbeats, every quarter of the failure time-out: a helper thread would vouch for
 * a loop that is stuck. They never ring. A member is overdue only after a look made later than its deadline, and only
 * if this loop was not late itself; if it was (it had been stopped, or an upcall was long), all deadlines start again,
 * and no member counts as heard before it is heard anew. Nothing here is final: an overdue member that is heard again is not
 * overdue.
 *
 * Where heartbeats wait behind bytes of their sender's (image->arrived) these speak for it as well: else a member with a link
 * slower than its window is large would be removed while what it sends arrives. They too come from the loop. What the system
 * still holds of one that stands still goes on arriving for a while, heartbeats among it; its deadline starts behind that.
 *
 * A heartbeat also says whether its sender has begun the view, and whether it hears a quorum itself. One that does not, though it is heard, receives nothing and
 * would hold up all others for ever.
 */
#ifndef WH_MEMBERSHIP_HEARTBEAT_H
#define WH_MEMBERSHIP_HEARTBEAT_H

#include "predicates/loop.h"
#include "sst/columns.h"
#include "sst/sst.h"

struct wh_heartbeat {
	struct wh_loop *loop;
	struct wh_sst *sst;
	struct wh_pushes *pushes;
	struct wh_counter_col column;
	uint64_t timeout_ns;
	wh_word *pushed; /* statistics */

	struct wh_to peers;
	uint32_t *peer_ranks;
	uint64_t next_push_ns, looked_ns;
	bool deaf;  /* I hear no quorum */
	bool begun; /* this view */
	struct wh_heard {
		uint64_t value, arrived; /* of the heartbeat, and of its row, at the last look */
		uint64_t when_ns;        /* heard last, or when its deadline started again */
		bool afresh;             /* heard since the deadlines started, and not overdue */
		bool overdue;
		uint64_t deaf_ns; /* since when its heartbeats say that it hears no quorum; 0: they do not */
	} * heard;                /* by rank */
};

/* The fields up to `pushed` are set by the caller. The members have just met, so all count as heard. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_heartbeat_init(struct wh_heartbeat *heartbeat, struct wh_error *err);
void wh_heartbeat_close(struct wh_heartbeat *heartbeat);

/* The view begins: deadlines start now, and a member that was heard until now in the view before (`heard`, of as many entries
 * as members; NULL: all, and this node has been in no view before: its next heartbeat is due at once) counts as heard. */
void wh_heartbeat_begin(struct wh_heartbeat *heartbeat, const bool *heard);

/* A member that is overdue has the whole time-out again. */
void wh_heartbeat_forgive(struct wh_heartbeat *heartbeat);

/* In a view that has not begun here: says that its memory is open here. Once. */
void wh_heartbeat_arrive(struct wh_heartbeat *heartbeat);

enum wh_beat { WH_BEAT_NONE, WH_BEAT_THERE, WH_BEAT_BEGUN };
/* What that member's row says: nothing; that it is there, or that it is a member of the view before and has settled that; that it has
 * begun the view. */
enum wh_beat wh_heartbeat_of(const struct wh_heartbeat *heartbeat, uint32_t rank);

/* Pushes a heartbeat if it is time. */
bool wh_heartbeat_beat(struct wh_heartbeat *heartbeat);
/* The same, and then looks at those of the others. True: it has looked. */
bool wh_heartbeat_step(struct wh_heartbeat *heartbeat);

static inline bool wh_heartbeat_hears(const struct wh_heartbeat *heartbeat, uint32_t rank)
{
	return heartbeat->heard[rank].afresh;
}

static inline bool wh_heartbeat_overdue(const struct wh_heartbeat *heartbeat, uint32_t rank)
{
	return heartbeat->heard[rank].overdue;
}

/* It has said for the whole time-out that it hears no quorum. */
static inline bool wh_heartbeat_is_deaf(const struct wh_heartbeat *heartbeat, uint32_t rank)
{
	uint64_t since = heartbeat->heard[rank].deaf_ns;

	return since != 0 && heartbeat->looked_ns > since + heartbeat->timeout_ns;
}

#endif
