/* columns.h - every column of whorl's shared state table: its meaning, its writer, its relation to the others.
 *
 * The writer of a column is the owner of the row, by its loop. All are counts ("the first that is not"), start at 0 and
 * only grow. Relations hold in one's own row at any time; in the copy that a peer has of it the words of one push
 * arrive in any order, so there they hold only from one push to the next.
 */
#ifndef WH_SST_COLUMNS_H
#define WH_SST_COLUMNS_H

#include "sst/layout.h"

/* One per node. */
struct wh_node_columns {
	/* Raised and pushed (quietly) every quarter of the failure time-out, whatever else is pushed. */
	struct wh_counter_col heartbeat;
};

/* One set per subgroup. `received_num` and `delivered_num` of the ordered modes count sequence numbers,
 * round x senders + rank. Spindle §II-B, II-C, with the changes of docs/protocol.md. */
struct wh_subgroup_columns {
	/* Of a sender: rounds covered << 16 | slots announced mod 2^16. Both grow; announced <= covered. Pushed after the
	 * slots that it announces (T2), as a value copied when posted (T4). */
	struct wh_counter_col guard;
	/* Ordered: all sequence numbers below have been taken in by this member. */
	struct wh_counter_col received_num;
	/* Ordered: the upcalls of all sequence numbers below have returned. delivered_num <= received_num. */
	struct wh_counter_col delivered_num;
	/* Unordered: by sender rank, how many of its messages have been delivered here. */
	struct wh_array_col delivered_of;
};

#define WH_GUARD_ANNOUNCED_BITS 16
#define WH_WINDOW_MAX 32768 /* half of what the announced bits can tell apart */

static inline uint64_t wh_guard_make(uint64_t covered, uint64_t announced)
{
	return covered << WH_GUARD_ANNOUNCED_BITS | (announced & 0xffff);
}

static inline uint64_t wh_guard_covered(uint64_t guard)
{
	return guard >> WH_GUARD_ANNOUNCED_BITS;
}

/* How many slots `guard` announces beyond the `taken` that were taken in before. */
static inline uint64_t wh_guard_news(uint64_t guard, uint64_t taken)
{
	return (guard - taken) & 0xffff;
}

#endif
