/* heartbeat.h - I am here, and who is not.
 *
 * The loop, and only the loop, pushes heartbeats, every quarter of the failure time-out: a helper thread would vouch for
 * a loop that is stuck. They never ring. A member is overdue only after a look made later than its deadline, and only
 * if this loop was not late itself; if it was (it had been stopped, or an upcall was long), all deadlines start again.
 */
#ifndef WH_MEMBERSHIP_HEARTBEAT_H
#define WH_MEMBERSHIP_HEARTBEAT_H

#include "predicates/loop.h"
#include "sst/columns.h"
#include "sst/sst.h"

/* The member of `rank` has not been heard for `silence_ns`. Once per member. */
typedef void wh_overdue_fn(void *ctx, uint32_t rank, uint64_t silence_ns);

struct wh_heartbeat {
	struct wh_loop *loop;
	struct wh_sst *sst;
	struct wh_pushes *pushes;
	struct wh_counter_col column;
	uint64_t timeout_ns;
	wh_overdue_fn *overdue;
	void *ctx;
	wh_word pushed; /* statistics */

	struct wh_to peers;
	uint32_t *peer_ranks;
	uint64_t next_push_ns, looked_ns;
	struct wh_heard {
		uint64_t value, when_ns;
		bool ignored; /* reported, or gone in order */
	} * heard;            /* by rank */
};

/* The fields up to `ctx` are set by the caller. WHORL_OK, WHORL_MEMORY. */
WH_MUST_CHECK enum whorl_result wh_heartbeat_init(struct wh_heartbeat *heartbeat, struct wh_error *err);
void wh_heartbeat_close(struct wh_heartbeat *heartbeat);

/* A wh_predicate. */
size_t wh_heartbeat_step(void *heartbeat);

/* That member is known to be gone. */
void wh_heartbeat_ignore(struct wh_heartbeat *heartbeat, uint32_t rank);

#endif
