/* remote.h - T7: one-sided operations on regions, beside the rows of images and never on them.
 *
 * A region is memory of one node, its owner, in aligned words of 8 bytes. The owner grants it to other nodes. A node that has
 * been granted it may read and write it, fetch and add, compare and swap, and write with an immediate: a number of 32 bits
 * that the owner is given, and woken for. The owner uses the same operations on its own regions, ungranted.
 *
 * R1  order       of what one node posts to one other each operation takes effect as a whole after those before it, whatever
 *                 they are and whichever regions: a read sees what was written, a node that sees a word sees all
 *                 that was written before it, an immediate is given after all data that was posted before it or with it. Their
 *                 completions come in that order. Nothing is promised between different targets, different initiators, nor
 *                 between operations and pushes, messages or streams.
 * R2  atomicity   a word never tears. The words of one read or write are read or written in any order, with anything between
 *                 them (WH_REMOTE_ASCENDING: in ascending order). Fetch-and-add and compare-and-swap are atomic among themselves,
 *                 whichever node posts them, the owner too. They are not atomic against a write, nor against the owner's own
 *                 instructions, be they atomic: it loads words, and stores to those that no node uses atomic operations on
 *                 (WH_REMOTE_CPU_ATOMICS: its atomic instructions are atomic against them as well).
 * R3  completion  what post() has taken is completed exactly once, by WH_REMOTE_DONE, however it ends, until destroy(). It has
 *                 taken effect then, if the result is WHORL_OK. Otherwise it has, wholly or in part, or has not, or will (but
 *                 nothing touches `into` any more).
 * R4  bounds      at most WH_REMOTE_OUTSTANDING operations to one node with completions that have not been taken, and at most
 *                 WH_REMOTE_IMMEDIATES to one node that it has not taken; beyond it is WHORL_AGAIN. So a node that
 *                 takes no events blocks only its own operations, and its untaken immediates their senders.
 * R5  failure     when a node has ended (WH_EVENT_PEER_DOWN, _LEFT, _REFUSED), what was granted by it is gone without a
 *                 further word, and what was posted to it is completed, with WHORL_MEMBER_GONE if it is not known to have
 *                 taken effect. Another incarnation has to be granted anew, and to grant anew. When a node ends, or
 *                 leaves, with operations outstanding, these take effect up to any point, within a write too, and
 *                 immediates may be lost.
 * R6  progress    What takes in pushes makes it, and what waits, at the initiator and at the target: take(), service(), wait(),
 *                 on some transports next() too. A target that calls none of them may complete nothing. A completion, an
 *                 immediate, a grant that comes ends a wait() as a ring does; next() belongs to the look after arm(). Other
 *                 operations need not wake their target.
 *
 * Access: only nodes of the group that have been met, of the same user where that is a matter (shm), and only those that have
 * been granted it. A grant holds for that incarnation until the region is closed; it cannot be taken back from one alone, and
 * freeze() does not touch regions: they belong to no view. To shut a node out the owner closes the region and opens
 * another for the others, as views do with images. Offsets and sizes are checked at the initiator, and where a
 * target carries operations out, by it.
 *
 * Lifetime: from region_open to region_close, or to the end of the transport. When its owner ends, the region is gone.
 *
 * Threads: the loop's, all of it. The words themselves may be loaded by any thread. Nothing here blocks.
 */
#ifndef WH_TRANSPORT_REMOTE_H
#define WH_TRANSPORT_REMOTE_H

#include "base/atomics.h"
#include "transport/transport.h"

#define WH_REMOTE_REGIONS 64              /* of one node that are open, or closed and not let go of by all */
#define WH_REMOTE_REGION_MAX (1ull << 30) /* bytes of a region */
#define WH_REMOTE_BYTES_MAX 4096          /* of one read or write */
#define WH_REMOTE_OUTSTANDING 64          /* R4 */
#define WH_REMOTE_IMMEDIATES 64           /* R4 */

/* In `capabilities` of a transport that has a table `remote`: what it has beyond reads, writes, atomic operations and
 * immediates. */
enum wh_remote_capability {
	WH_REMOTE_ASCENDING = 1,
	WH_REMOTE_CPU_ATOMICS = 2,
};

/* Of the owner. A transport embeds it as the first field of its own struct. */
struct wh_region {
	const struct wh_remote_ops *ops;
	struct wh_transport *transport;
	uint64_t name, bytes;
	wh_word *words; /* all 0 at first. What others have written is acquired */
};

enum wh_remote_kind {
	WH_REMOTE_READ,            /* `bytes` bytes at `offset` go to `into` */
	WH_REMOTE_WRITE,           /* `bytes` bytes at `from` go to `offset` */
	WH_REMOTE_WRITE_IMMEDIATE, /* the same, or nothing (bytes == 0); then the owner is given `immediate` */
	WH_REMOTE_FETCH_ADD,       /* the word at `offset` grows by `add`, modulo 2^64; its old value is given */
	WH_REMOTE_COMPARE_SWAP, /* the word at `offset`, if it is `expected`, becomes `desired`; its old value is given */
};

struct wh_remote_op {
	enum wh_remote_kind kind;
	uint32_t node;          /* the region's owner; it may be this node */
	uint64_t region;        /* its name */
	uint64_t offset, bytes; /* multiples of 8; bytes <= WH_REMOTE_BYTES_MAX, and not 0 but as said above */
	union {
		void *into;       /* the initiator's; belongs to the operation until its completion has been taken */
		const void *from; /* copied when posted */
		uint64_t add;
		struct {
			uint64_t expected, desired;
		};
	};
	uint32_t immediate;
	uint64_t cookie; /* comes back with the completion */
};

enum wh_remote_event_kind {
	WH_REMOTE_GRANTED,   /* `node` has granted me its region `region`, of `bytes` bytes */
	WH_REMOTE_WITHDRAWN, /* it has closed it */
	WH_REMOTE_DONE,      /* R3: the operation with `cookie` on a region of `node` */
	WH_REMOTE_IMMEDIATE, /* `node` has sent me `immediate` */
};

struct wh_remote_event {
	enum wh_remote_event_kind kind;
	uint32_t node;
	uint64_t incarnation; /* of `node`, which may have ended meanwhile */
	union {
		struct {
			uint64_t region, bytes; /* GRANTED, WITHDRAWN */
		};
		struct {                          /* DONE */
			enum whorl_result result; /* WHORL_OK; WHORL_MEMBER_GONE; WHORL_NOT_FOUND: it has been closed */
			uint64_t cookie;
			uint64_t value; /* the old value, of FETCH_ADD and COMPARE_SWAP with WHORL_OK; else 0 */
		};
		uint32_t immediate;
	};
};

/* `remote` of struct wh_transport_ops points to it; NULL: this transport has none of it. */
struct wh_remote_ops {
	/* A region of mine. The name is the user's: none that a region of this transport has had before. WHORL_OK;
	 * WHORL_INVALID: it is open, or `bytes` is 0, no multiple of 8, or beyond WH_REMOTE_REGION_MAX; WHORL_AGAIN:
	 * WH_REMOTE_REGIONS are open; WHORL_MEMORY; WHORL_SYSTEM. */
	enum whorl_result (*region_open)(struct wh_transport *t, uint64_t name, uint64_t bytes, struct wh_region **out,
					 struct wh_error *err);
	/* To a node that has been met, which gets WH_REMOTE_GRANTED some time later; once is enough. WHORL_OK;
	 * WHORL_INVALID: no such node, or it is my own; WHORL_MEMBER_GONE: it has not been met, or is gone; WHORL_AGAIN: too
	 * much waits to be told to it; WHORL_MEMORY. */
	enum whorl_result (*grant)(struct wh_region *region, uint32_t node);
	/* This node does not touch its words any more. What others have under way on it ends with WHORL_OK, or with
	 * WHORL_NOT_FOUND; they get WH_REMOTE_WITHDRAWN. Before none of them can reach its memory that is used for nothing
	 * else. */
	void (*region_close)(struct wh_region *region);

	/* Posts operations in order, up to the first that it cannot take; *posted is how many it has taken. WHORL_OK: all.
	 * Otherwise why not ops[*posted], of which nothing has been done:
	 * WHORL_AGAIN (R4); WHORL_MEMBER_GONE: the node has not been met, or is gone, or this one has left; WHORL_NOT_FOUND:
	 * it has not granted such a region, or has withdrawn it; WHORL_INVALID: no such node or kind, or offset and bytes are
	 * no multiples of 8, out of range or out of the region; WHORL_MEMORY. */
	enum whorl_result (*post)(struct wh_transport *t, const struct wh_remote_op *ops, size_t count, size_t *posted);
	/* Takes the next event. Completions of one target come in order (R1), immediates of one initiator too, and the end of a
	 * region before a later grant. Otherwise there is no order. */
	bool (*next)(struct wh_transport *t, struct wh_remote_event *out);
};

#endif
