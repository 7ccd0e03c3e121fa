/* columns.h - every column of whorl's shared state table: its meaning, its writer, its relation to the others.
 *
 * The writer of a column is the owner of the row, by its loop. All are counts ("the first that is not"), start at 0 and
 * only grow. Relations hold in one's own row at any time; in the copy that a peer has of it the words of one push
 * arrive in any order, so there they hold only from one push to the next.
 */
#ifndef WH_SST_COLUMNS_H
#define WH_SST_COLUMNS_H

#include "sst/layout.h"

/* One per node: what a change of view is made of (docs/decisions/0014). A word that guards others lies before them: a node
 * that copies a row from its start on (freeze) gets nothing older than its guard says. */
struct wh_node_columns {
	/* Raised and pushed (quietly) every quarter of the failure time-out, whatever else is pushed. Odd: its owner hears no
	 * quorum. */
	struct wh_counter_col heartbeat;
	/* How many entries of `suspected` are not 0, or have grown: to be looked at again when it has grown. */
	struct wh_counter_col suspicions;
	/* How many questions I have raised in this view: have you wedged? (docs/decisions/0048) */
	struct wh_counter_col asked;
	/* The subgroups have stopped: my counters in them are final. Pushed after the last of them. */
	struct wh_flag_col wedged;
	/* As leader: the number of my last attempt at a next view, from 1. Guards `left_out` and `proposal`. */
	struct wh_counter_col proposed;
	/* The memory of this attempt's view is shared with all its members: (rank of its leader + 1) << 16 | attempt. Attempt 0: none of
	 * that leader's yet, and what was acknowledged before is given up (on one host alone, 0039). */
	struct wh_counter_col acknowledged;
	/* Rank + 1 of the leader of the decision that I have made or echoed, 0: none. Guards `image` and `cut`, which never change
	 * once it is not 0. */
	struct wh_counter_col agreed;
	/* My last word in this view: I have delivered up to the cut, and go on in the next. */
	struct wh_flag_col installed;

	/* By subgroup / WH_MOVED_NAMES: how often something moved in these, and in which of them lately. Pushed behind each counter of
	 * theirs that others wait for. None where there are few subgroups (docs/decisions/0041). */
	struct wh_array_col moved;

	/* By rank: the last question of that member that I have seen while I had not wedged. Pushed to it alone. Guards nothing: it says that
	 * I had not at some moment after the question. */
	struct wh_array_col confirmed;
	struct wh_array_col suspected; /* by rank: enum wh_suspected */
	struct wh_array_col left_out;  /* by rank: number of my first attempt without that member, 0: it is in all */
	struct wh_counter_col image;   /* of the decision: the key of the next view's image */
	struct wh_array_col cut;       /* of the decision, by subgroup: its messages below are delivered in this view */
	/* By subgroup: what I wish there: 0 nothing new, odd: I rest, even: I send again. Grows. */
	struct wh_array_col wish;
	/* By subgroup: not 0: my log of it has all of its shard, so what a view goes on with is there (docs/decisions/0058). Even: rot was found in it
	 * since, so nobody leaves for its sake. Grows. None where no subgroup is durable. */
	struct wh_array_col whole;
	/* By subgroup: 1: the layout ends my sending there, and all that I have claimed is delivered. */
	struct wh_array_col ended;
	/* The number of the last set of wishes that I have sent to my leader, if this view does not serve it (docs/decisions/0046). */
	struct wh_counter_col wished;
	/* As leader: a record for each attempt, all of one length: the newcomers (two words each: node id + 1, incarnation;
	 * 0: none), then 1 if a view follows even if nothing changes, with the subgroups of which no member leaves a shard in the
	 * bits above (wh_keeps_bit, docs/decisions/0058), then the senders that rest (bits by rank, by subgroup), then those that
	 * have ended (likewise), then the digest of the next view as bytes (their length << 32 | their CRC-32C; 0: it serves no
	 * wishes, and follows from rows alone), then its seal (wh_proposal_seal). Attempt k has the k-th; there is room for two. A
	 * transport may read it when it leaves: what comes under the guard of k may be of k+2 already, or of both. It is read if
	 * its seal is that of k; if not, k+1 is coming. */
	struct wh_list_col proposal;
};

/* Left: in order, its row is final and still read. Dead: that its process has ended is proved (docs/decisions/0039), on one host alone;
 * its row is final and read, if need be again. Only grows; but what left in order does not die. */
enum wh_suspected { WH_TRUSTED, WH_LEFT, WH_FAILED, WH_DEAD };

/* One set per subgroup. `received_num` and `delivered_num` of the ordered modes count sequence numbers,
 * round x senders + rank. Spindle §II-B, II-C, with the changes of docs/protocol.md. */
struct wh_subgroup_columns {
	/* Of a sender: rounds covered << 16 | slots announced mod 2^16, where slots are counted from the sender's first
	 * message in its life. Both grow; announced - first <= covered x the slots of the largest message. Pushed after the slots that it announces (T2), as a
	 * value copied when posted (T4). */
	struct wh_counter_col guard;
	/* Of a sender: the number of its first message in this view. Pushed before the first guard. */
	struct wh_counter_col first;
	/* Ordered: all sequence numbers below have been taken in by this member. Of a durable shard it is said at the wedge alone: the others
	 * wait for persisted_num. */
	struct wh_counter_col received_num;
	/* Ordered: the upcalls of all sequence numbers below have returned. delivered_num <= what was received here. */
	struct wh_counter_col delivered_num;
	/* Durable: all sequence numbers below are on this member's disk, in its log; at the wedge it stops (docs/decisions/0058). delivered_num
	 * <= persisted_num <= what was received here. */
	struct wh_counter_col persisted_num;
	/* Where members relay, by sender rank: how many of its slots, counted from its first message ever, are at the next member of its
	 * chain, as far as they are relayed. Pushed to that one alone, behind their payloads (docs/decisions/0074). */
	struct wh_array_col relayed;
	/* Unordered: by sender rank, how many of its messages have been delivered here. */
	struct wh_array_col delivered_of;
};

/* A word of `moved`: moves, counted in this view, << 24 | the subgroups that moved in the stretch of the last of them or in the one
 * before. A stretch is WH_MOVED_STRETCH moves. It is never the same twice, so each move is seen. */
#define WH_MOVED_NAMES 24
#define WH_MOVED_STRETCH 1024
#define WH_MOVED_ALL ((UINT32_C(1) << WH_MOVED_NAMES) - 1)

static inline uint64_t wh_moved_make(uint64_t moves, uint32_t names)
{
	return moves << WH_MOVED_NAMES | names;
}

static inline uint64_t wh_moved_moves(uint64_t word)
{
	return word >> WH_MOVED_NAMES;
}

/* Which may have moved from one value of a word to a later one: if more was missed than names are kept for, all. */
static inline uint32_t wh_moved_between(uint64_t seen, uint64_t now)
{
	uint64_t missed = (wh_moved_moves(seen) + 1) / WH_MOVED_STRETCH;

	if (now == seen)
		return 0;
	return wh_moved_moves(now) / WH_MOVED_STRETCH - missed <= 1 ? (uint32_t)now & WH_MOVED_ALL : WH_MOVED_ALL;
}

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
