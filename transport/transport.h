/* transport.h - the contract between the protocol and whatever moves bytes.
 *
 * A node exposes, per view, one *image*: the rows of all members. Row r is written by the member of rank r alone; what
 * the others see of it is what that member has pushed. A row is the control columns (sst/), then the rings of the
 * subgroups that its owner sends in (smc/). Where a range of a row lies follows from the view, by the same arithmetic
 * on every node (sst/layout.h).
 *
 * T1  push        the bytes of a range of my row appear at their place in the images of the peers it is pushed to.
 * T2  order       to one peer, the bytes of an earlier push are visible before any byte of a later one.
 * T3  atomicity   an aligned 8-byte word never tears. Nothing else is promised within one push: its words may become
 *                 visible in any order. A counter that guards data travels in a later push than the data.
 * T4  no time travel   a push that leaves late carries no counter newer than the data pushed before it. Words that
 *                 guard are therefore values, copied when posted (WH_PUSH_WORD); only bytes that are final until every
 *                 peer has used them are read from the row, now or later (WH_PUSH_BYTES).
 * T5  failure     a peer that is broken, stalled or gone is reported once, as an event; pushes to it are then dropped.
 *                 post() never blocks, never retries for ever, and one peer's full queue never stalls the others.
 * T6  doorbell    a peer that pushed before wait() slept, and was not seen by the whole look that was taken after arm(),
 *                 wakes it. A peer that is not armed costs no system call. Quiet pushes (heartbeats) never ring.
 * T7  extras      read, write, fetch-and-add, compare-and-swap, write with immediate, on regions of their own and never on
 *                 rows: transport/remote.h. What goes beyond that is asked for in `capabilities`, not assumed.
 * T8  images      a push belongs to one image: it lands there or nowhere. An image has a key that its members agree on
 *                 and that no other image of these nodes ever has; images of successive views are disjoint memory, and what
 *                 some node may still read is part of no other image. A node may have several open: the one in use, older
 *                 ones that others still read, a next one that may never be.
 * T9  freeze(p)   from now on no thread of this node sees what p writes to its columns, although p may be alive. An image
 *                 that is not ready yet does not wait for p any more; p's columns then read as zeros for ever. What
 *                 is kept of columns that p is writing at the time may mix older words and newer; of two words the one at
 *                 the higher offset was read later, so a word that guards others must lie before them.
 * T10 control     nodes of a group meet, whether they are in an image or not, as soon as both are there, and again when one
 *                 of them has ended and a new one has taken its place (another incarnation). Nodes that have met may send bounded
 *                 messages, in order, with WHORL_AGAIN as back-pressure, and streams of any length. Never blocks the loop.
 * T11 visitors    a process that is no node may ask a node a question, and gets one answer.
 * T12 proof of death   where one kernel runs all nodes (shm), it says of a node that has been met when its process has ended. Then all
 *                 that it ever wrote to its rows is seen, and thaw(p) lets its columns be read again though p was frozen. Of a node
 *                 that has closed its connections and runs, is stopped, or shares this node's process, nothing of the kind is
 *                 said; nor where the kernel does not give a proof. So it may never come.
 * T13 lanes       a node has endpoints beside its own, each for one thread (lane_open): lane k of a node meets lane k of the others,
 *                 under the address, the key and the incarnation of the node, for T7 and its doorbell and nothing else. A lane
 *                 meets no life of a node that its own node has not met. What ends for that ends for the lane (PEER_LEFT, PEER_DOWN); and
 *                 a lane's connection may end by itself (PEER_DOWN): then these two lanes do not meet again.
 * T14 relays     where the table says so, a push of bytes may be of a range of another member's row, behind its columns: what
 *                 this node has there appears at its place in the images of peers that do not own that row. T2 and T4 hold among the pushes
 *                 of the node that makes it. An image says which ranges of which rows which member may push so (struct wh_relay_spec): all
 *                 else of that kind is of a node that has broken the protocol.
 *
 * Threads: all functions are the loop's (one thread at a time; of post() during wait() see `helper_may_post`, wait_lending), except wake() and lane_open(),
 * which any thread of the process may call, and the functions of a stream, which belongs to one thread at a time, whichever. A lane
 * has a loop of its own.
 * The conformance suite in tests/conformance/ states T1-T14 once and runs on every transport.
 */
#ifndef WH_TRANSPORT_TRANSPORT_H
#define WH_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/env.h"
#include "base/error.h"

struct wh_transport;
struct wh_image;
struct wh_secure_key;
struct wh_secure_tls;
struct wh_remote_ops;

/* ---- pushes (T1-T4) -------------------------------------------------------------------------------------------- */

enum wh_push_kind {
	WH_PUSH_BYTES, /* the range of my row, read when it leaves: final until all that need it have used it */
	WH_PUSH_WORD,  /* the aligned word at `offset` takes `value`, copied when posted */
};

struct wh_push {
	enum wh_push_kind kind;
	bool no_wake; /* does not ring (T6) */
	bool may_delay; /* advice: it may leave a moment later, together with what else goes to that peer, or when I arm */
	/* Advice, of a word: it and the word posted just before it may become visible in either order (not T2). Words that are
	 * neighbours in the row, each beside the one before, may then go as one range. */
	bool may_reorder;
	uint32_t to_count;
	uint32_t relayed;   /* T14, of bytes: 1 + the rank of the owner of the row, to which it does not go; 0: mine */
	const uint32_t *to; /* ranks, me not among them; must live as long as the image */
	uint64_t offset;    /* in the row; of a word: a multiple of 8 */
	union {
		uint64_t bytes;
		uint64_t value;
	};
};

/* ---- images (T8, T9) ------------------------------------------------------------------------------------------- */

#define WH_ROW_ALIGN 4096 /* control columns and each ring start at a multiple of this */

struct wh_row_part { /* a range of a peer's row that this node reads; offset and bytes are multiples of WH_ROW_ALIGN */
	uint64_t offset, bytes;
};

struct wh_row_spec {
	uint32_t node;                   /* node id of the member with this rank */
	uint64_t incarnation;            /* and which: no other has a part in this image, ever */
	uint64_t bytes;                  /* of its whole row, a multiple of WH_ROW_ALIGN */
	const struct wh_row_part *parts; /* what of it this node's image holds, the control columns first */
	size_t part_count;
};

struct wh_relay_spec { /* T14: of the row of `owner`, member `before` may push here what lies in one of `count` ranges of `bytes` bytes */
	uint32_t owner, before;  /* ranks: neither is mine, and they are two */
	uint64_t offset, stride; /* of the first; from each to the next */
	uint64_t bytes, count;
};

struct wh_image_spec {          /* copied by image_open */
	uint64_t key;           /* T8 */
	uint64_t layout_digest; /* of all that the arithmetic of rows depends on; peers must agree, or are refused */
	uint32_t members, my_rank;
	uint64_t control_bytes;         /* a multiple of WH_ROW_ALIGN; the columns lie at the start of each row */
	const struct wh_row_spec *rows; /* by rank */
	const struct wh_relay_spec *relays;
	size_t relay_count;
};

/* The part of an image that the protocol reads directly. A transport embeds it as the first field of its own struct. */
struct wh_image {
	const struct wh_transport_ops *ops;
	struct wh_transport *transport;
	uint32_t members, my_rank;
	uint64_t key;
	/* My row. The loop and claim holders write ring slots here in place; column words change by post() alone, entries
	 * of lists and arrays are stored here and pushed as bytes. All zero when the image opens. */
	unsigned char *own;
	/* By rank: where to read columns, and where to read ring bytes (row + offset). control[p] == row[p] until p is
	 * frozen; then control[p] is a private copy that never changes again, unless p is thawed, and row[p] stays
	 * readable for the slots that were taken in before. Both are NULL before the image is ready. [loop] */
	const unsigned char **control;
	const unsigned char **row;
	/* By rank, or NULL: grows with what arrives of that row, before the whole of a push is there. For transports where words,
	 * heartbeats too, wait behind bytes that were posted earlier, and so may be late without any fault of their sender. [loop] */
	const uint64_t *arrived;
	bool ready; /* the row of every member that is not frozen can be read, and each of them can read mine */
};

/* What that member pushes from now on is not seen here, unless it is thawed. Of a ready image. [loop] */
static inline bool wh_image_is_frozen(const struct wh_image *image, uint32_t rank)
{
	return image->control[rank] != image->row[rank];
}

/* ---- events (T5, T8, T10) -------------------------------------------------------------------------------------- */

#define WH_CONTROL_MAX 4096 /* bytes in a control message, and in a question */

enum wh_transport_event_kind {
	WH_EVENT_IMAGE_READY, /* `image` */
	WH_EVENT_PEER_MET, /* `node` is there, as `incarnation`: control messages can be sent to it. Before all else of it */
	WH_EVENT_PEER_LEFT, /* `node`, which was met, left in order (leave()) */
	WH_EVENT_PEER_DOWN, /* `node`, which was met, died or broke; `text` says how it was noticed */
	WH_EVENT_REFUSED, /* `node` and this one do not go together (version, group, layout of an image, the user of its
			       * process): one has refused the other; `text` says which and why. If it had been met that
			       * is its end: no other event follows but PEER_DEAD */
	WH_EVENT_PEER_DEAD, /* the process of `node`, which was met, has ended (T12): once, if at all */
	WH_EVENT_CONTROL,   /* a message from `node`: `text` holds `bytes` bytes */
	WH_EVENT_STREAM,    /* `node` has opened `stream`, with `tag`; it belongs to the thread that takes this event */
	WH_EVENT_QUERY,     /* a visitor asks: `text` holds `bytes` bytes. `query` is for answer() */
};

/* Of PEER_MET, PEER_LEFT, PEER_DOWN and REFUSED those of one incarnation come in this order: met, then at most one of the
 * others. The end of one comes before the meeting of the next. PEER_DEAD comes behind the end of the same incarnation, if at all, and
 * may come behind the meeting of the next. */
struct wh_transport_event {
	enum wh_transport_event_kind kind;
	uint32_t node;
	uint64_t incarnation; /* of `node`; 0: not known (REFUSED before it was met) */
	union {
		struct wh_image *image;
		struct wh_stream *stream;
		uint64_t query;
	};
	uint64_t tag;
	size_t bytes;
	char text[WH_CONTROL_MAX];
};

/* ---- complaints ------------------------------------------------------------------------------------------------ */

/* What others can make happen again and again, of which each kind is counted by itself: noise of one kind hides no other. What each
 * means stands in whorl/whorl.h (enum whorl_complaint). */
enum wh_complaint {
	WH_COMPLAINT_UNPROVEN,
	WH_COMPLAINT_FOREIGN,
	WH_COMPLAINT_GARBLED,
	WH_COMPLAINT_SILENT,
	WH_COMPLAINT_CROWDED,
	WH_COMPLAINT_REFUSED,
	WH_COMPLAINT_UNREACHED,
	WH_COMPLAINT_STARVED,
	WH_COMPLAINTS
};

/* ---- streams (T10) --------------------------------------------------------------------------------------------- */

/* One end of a stream of bytes from the node that opened it to the one that took it. None of these blocks, but wait(). */
struct wh_stream {
	const struct wh_stream_ops *ops;
};

struct wh_stream_ops {
	/* How many bytes were taken, >= 1; 0: none now; -1: the other end is closed, or its node is gone: for good. */
	ptrdiff_t (*write)(struct wh_stream *stream, const void *bytes, size_t count);
	/* How many bytes have come, >= 1; 0: none yet; -1: there will be none any more: all that was written has been read and the
	 * other end is closed, or its node is gone (what had been written may then be lost). */
	ptrdiff_t (*read)(struct wh_stream *stream, void *bytes, size_t count);
	/* Blocks until write (or read) would not return 0, or the time-out; it may return early. False: here nothing can
	 * block (simulation): come again later. */
	bool (*wait)(struct wh_stream *stream, bool to_write, uint64_t timeout_ns);
	/* What has been written is still read by the other end. Frees the stream; it may outlive its transport. */
	void (*close)(struct wh_stream *stream);
};

#define WH_ANSWER_MAX 65536 /* bytes in an answer to a visitor */

/* ---- lanes (T13) ------------------------------------------------------------------------------------------------ */

#define WH_LANES_MAX 64 /* of one node; they have the numbers 1 to that, 0 is the node itself */

/* ---- the table ------------------------------------------------------------------------------------------------- */

struct wh_transport_config {
	const struct wh_env *env;
	const char *group;    /* name; nodes of other groups are never met */
	uint32_t node;        /* my id */
	uint32_t nodes;       /* ids are 0 .. nodes-1; a node with another number of them is refused */
	uint64_t incarnation; /* mine: a random number, not 0 */
	/* "host:port" of each node, by id; NULL, or one that is NULL: the transport's own choice. For those of networks. */
	const char *const *addresses;
	/* For those of networks: which nodes are let in (transport/secure/secure.h). NULL, both: any process on this host. Held by
	 * the transport as long as it needs them. */
	struct wh_secure_key *key;
	struct wh_secure_tls *tls;
	/* shm: NULL, or a descriptor that holds the id already (wh_shm_take_id): it becomes the transport's, and is -1 here. */
	int *held;
	uint64_t patience_ns; /* a node that is there and does not answer for so long counts as not there: searching() */
	uint64_t failure_ns;  /* a node that is silent for so long counts as dead for the group; 0: a second */
	/* For those of networks: so long a connection holds over which nothing comes through; 0: as long as one of a node that is no member
	 * (session/session.h). */
	uint64_t cut_ns;
	enum { WH_HUGE_OFF, WH_HUGE_TRY, WH_HUGE_REQUIRE } huge_pages;
	bool death_waits; /* of processes of one host, which may have it or not (docs/decisions/0076) */
};

/* How a wait lends the loop of its thread, and takes it back (base/gate.h): before and behind each sleep. */
struct wh_lending {
	void (*lend)(void *loop);
	void (*take_back)(void *loop); /* may wait, shortly */
	void *loop;
};

struct wh_transport_ops {
	const char *name;
	uint32_t capabilities;              /* T7: of enum wh_remote_capability */
	const struct wh_remote_ops *remote; /* T7: NULL: none of it */
	uint32_t gap_bytes; /* so many bytes cost as much as one range more in a push; 0: bytes cost nothing */
	bool helper_may_post; /* while the loop's thread is in wait, one that has borrowed the loop may post (base/gate.h) */
	bool relays;          /* T14 */
	bool poll_costs_syscall; /* a pass that finds nothing has made a system call (base/backoff.h) */

	/* Makes my row and starts to exchange rows with the other members; never waits for them. The image is ready when
	 * WH_EVENT_IMAGE_READY comes; nothing may be posted before. Several images (views) may be open at once.
	 * WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM. */
	enum whorl_result (*image_open)(struct wh_transport *t, const struct wh_image_spec *spec, struct wh_image **out,
					struct wh_error *err);
	/* For a while true: memory is being made ready off the loop that the next image_open would take long to make on it. A
	 * caller that is not pressed waits. NULL: never. */
	bool (*prepares)(struct wh_transport *t);
	/* Nothing of this image is read or written by this node afterwards. Also for one that never became ready; others may
	 * have it open still, and what this node has posted before goes on to them. */
	void (*image_close)(struct wh_image *image);
	/* No image with a key below this will be opened here any more: what others have offered for such is let go of, and will be
	 * when it comes. Those that are open go on. */
	void (*past)(struct wh_transport *t, uint64_t key);

	/* Posts `count` pushes in order. Once per batch, not once per push, it looks whether a peer must be woken. */
	void (*post)(struct wh_image *image, const struct wh_push *pushes, size_t count);

	/* T9. Also drops all later pushes to that rank; those posted before still go out. At any time after image_open. */
	void (*freeze)(struct wh_image *image, uint32_t rank);
	/* T12. The process of that member has ended, as PEER_DEAD says here, or a member's row that sees the same memory. Frozen or not,
	 * its columns are read from its row from now on, as they are for ever, and `row` can be read. All else is as for one that is
	 * frozen: nothing is pushed to it, and an image that is not ready yet does not wait for it. False, and nothing has changed: its
	 * row has not come here, so what it has said in this image, if it went on without this node, is not known. NULL where there is no
	 * proof of death. */
	bool (*thaw)(struct wh_image *image, uint32_t rank);

	/* Around each pass of a loop: takes in pushes that have come, and returns how much of that is loud; and what is posted
	 * from then on may wait until flush, which sends it together. Without a pass it leaves when it is posted. flush NULL: pushes
	 * land by themselves; take NULL: there is nothing to be looked at. */
	size_t (*take)(struct wh_transport *t);
	void (*flush)(struct wh_transport *t);

	/* The calling thread makes passes from now on, or makes no more: while it does its end is the node's, and peers may be told so
	 * before this process has ended. Not `on`: the thread that was told so last. NULL: nothing comes of it. */
	void (*vouch)(struct wh_transport *t, bool on);

	/* Set-up, control messages, deaths of peers: whatever is not the fast path. Never blocks. The loop calls it every
	 * few milliseconds, and after each wait. Returns how much it did. */
	size_t (*service)(struct wh_transport *t);
	/* Takes the oldest event. */
	bool (*next_event)(struct wh_transport *t, struct wh_transport_event *out);

	/* T6: arm, look at everything once more, then wait or disarm. wait returns after a ring, when service has
	 * something to do, or at the time-out; it disarms. A ring is sticky: one that came before wait ends it at once. */
	void (*arm)(struct wh_transport *t);
	void (*disarm)(struct wh_transport *t);
	void (*wait)(struct wh_transport *t, uint64_t timeout_ns);
	/* As wait, where a helper may post while the thread sleeps, and not in the rest of it. NULL: see helper_may_post. */
	void (*wait_lending)(struct wh_transport *t, uint64_t timeout_ns, const struct wh_lending *lending);
	void (*wake)(struct wh_transport *t); /* any thread: rings my own doorbell, armed or not */
	int (*fd)(struct wh_transport *t);    /* readable when wait would return; -1 where there is no such thing */

	/* T10. WHORL_OK; WHORL_AGAIN the queue to that node is full; WHORL_MEMBER_GONE: it has not been met, or is gone, or the event that
	 * says so of this incarnation has not been taken: what is sent is for the one that the caller knows of. */
	enum whorl_result (*control_send)(struct wh_transport *t, uint32_t node, const void *bytes, size_t count);
	/* Opens a stream to a node that has been met. WHORL_OK, WHORL_AGAIN, WHORL_MEMBER_GONE, WHORL_SYSTEM, WHORL_MEMORY. */
	enum whorl_result (*stream_open)(struct wh_transport *t, uint32_t node, uint64_t tag, struct wh_stream **out);
	/* True until every other node of the group that is there has been met, or has refused, as far as can be known by now: a
	 * node that has not been met then is not there, or comes later. It becomes false within `patience_ns`, whatever
	 * others do. */
	bool (*searching)(struct wh_transport *t);
	/* Where all nodes are processes of one host (NULL elsewhere): the process that holds the id of another node, whether it speaks or
	 * not; 0: none does; -1: one does, it is not known which. */
	int (*holder)(struct wh_transport *t, uint32_t node);
	/* T11. The answer to a question, at most WH_ANSWER_MAX bytes. A visitor that has gone meanwhile does not get it. */
	void (*answer)(struct wh_transport *t, uint64_t query, const void *bytes, size_t count);

	/* How many writes to peers the pushes have become so far; NULL: each is one to each of its peers. Any thread. */
	uint64_t (*writes)(const struct wh_transport *t);

	/* How many complaints there have been of each kind. NULL: none are counted. Any thread. */
	void (*complaints)(const struct wh_transport *t, uint64_t out[WH_COMPLAINTS]);

	/* Tells all peers that this node goes in order. They see what it has pushed before that, if it takes no longer than a moment to
	 * get there: so it may block for that moment. */
	void (*leave)(struct wh_transport *t);
	/* T13. Opens a lane of this node, which is no lane itself: 1 <= lane <= WH_LANES_MAX, each once in the life of a node. Of the table of
	 * a lane these are there: `remote`, take and flush (or NULL), service, next_event, arm, disarm, wait, wake, fd, complaints,
	 * leave, destroy; all others are NULL. Its events are PEER_MET, PEER_LEFT, PEER_DOWN and REFUSED. Any thread; names may be looked up, which blocks. The
	 * node must not be destroyed meanwhile; afterwards the two may go in any order. WHORL_OK, WHORL_INVALID (no such number, or it
	 * has been opened before), WHORL_MEMORY, WHORL_SYSTEM. NULL: this transport has none. */
	enum whorl_result (*lane_open)(struct wh_transport *t, uint32_t lane, struct wh_transport **out,
				       struct wh_error *err);
	/* The group goes on without that life of a node, which may be there: it ends for all lanes of this node. */
	void (*lanes_part)(struct wh_transport *t, uint32_t node, uint64_t incarnation);

	/* Closes all images and frees everything. In a forked child (`forked`) it only lets go of memory and descriptors. */
	void (*destroy)(struct wh_transport *t, bool forked);
};

struct wh_transport {
	const struct wh_transport_ops *ops;
};

/* What group/ is given to make its transport; `ctx` is the world of the simulator, NULL elsewhere. */
typedef enum whorl_result wh_transport_create(const struct wh_transport_config *config, void *ctx,
					      struct wh_transport **out, struct wh_error *err);

#endif
