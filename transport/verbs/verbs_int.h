/* verbs_int.h - inside the RDMA transport.
 *
 *     verbs.c         the table: a pass, service, create and destroy
 *     verbs/doorbell.c    the doorbell
 *     verbs/device.c  the device: completions, and memory that is registered with it
 *     verbs/address.c where nodes are that are given no addresses
 *     verbs/link.c    the connection with each peer by librdmacm, which finds the path
 *     verbs/image.c   images: their memory, post and freeze
 *     verbs/rows.c    becoming ready: places of rows, queue pairs
 *     verbs/out.c     pushes: their queue to one peer, chains of writes, and how they end
 *     verbs/remote.c  regions: one-sided operations
 *     verbs/account.c    the queue pair that they go through
 *     verbs/message.h what peers say of all that, as bytes
 *     verbs/count.h   outstanding requests, counted
 *
 * Which nodes are there, messages, streams and questions are the session's (transport/session/session.h), over tcp (transport/tcp/wire.h).
 *
 * Why nothing here asks for relaxed ordering (IBV_ACCESS_RELAXED_ORDERING): all memory that a peer writes is polled. Words guard
 * bytes that were written before them, by an earlier request on the same queue pair. The device carries out the requests
 * of a queue pair in order, and the bus keeps the order of its writes to memory, unless registration allows it not to;
 * then a guard could be seen before its bytes. For the same reason a queue pair carries all of a pair's pushes to an image.
 *
 * docs/decisions/0019-verbs.md tells why it is done so. Everything here belongs to the loop, save what is marked otherwise.
 */
#ifndef WH_TRANSPORT_VERBS_VERBS_INT_H
#define WH_TRANSPORT_VERBS_VERBS_INT_H

#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/atomics.h"
#include "base/counter.h"
#include "transport/session/poll.h"
#include "transport/session/session.h"
#include "transport/tcp/wire.h"
#include "transport/verbs/count.h"
#include "transport/verbs/message.h"
#include "transport/verbs/verbs.h"

struct wh_verbs;
struct wh_verbs_image;
struct wh_verbs_account;
struct wh_verbs_region;

/* ---- the device: verbs/device.c ----------------------------------------------------------------------------------- */

/* Immediates that may have come and not been looked at: a peer that rings more waits. Queues of devices hold one less than a power
 * of two, so this is what they hold, and no more. */
#define WH_VERBS_RINGS 2047
#define WH_VERBS_INLINE 64

#define WH_VERBS_TIMEOUT_LEAST 14 /* a time-out of t is 4.096 us * 2^t: 67 ms, */
#define WH_VERBS_TIMEOUT_MOST 17  /* and 0.54 s */
#define WH_VERBS_RETRIES 7        /* the most there is; on Soft-RoCE it is for ever */
#define WH_VERBS_RNR_RETRIES 7    /* for ever: it is there, and its loop does not look */
#define WH_VERBS_RNR_TIMER 12     /* 0.64 ms */

/* What a completion in `in` is of: the upper 16 bits of its request's name; those below name an account. */
enum wh_verbs_done { WH_VERBS_DONE_RING, WH_VERBS_DONE_OPERATION, WH_VERBS_DONE_IMMEDIATE };

struct wh_verbs_device {
	struct ibv_context *context; /* librdmacm's */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *in;   /* rings, and what becomes of operations on regions; wakes by `channel` */
	uint8_t fetches;     /* reads and atomic operations of a queue pair at a time */
	struct ibv_srq *srq; /* of all queue pairs that take writes: requests for immediates, without memory */
};

/* Memory that both the device and this process see, shared with forked children, so that no page of it is ever copied. */
struct wh_verbs_memory {
	unsigned char *base; /* NULL: none */
	uint64_t bytes;
	int fd; /* -1: it is seen in one place only */
};

/* After how long a request that has not been acknowledged is sent again, as an exponent: the greatest with which that is at most
 * a third of `failure_ns`, so that one loss keeps no node silent for so long that it counts as dead. The device, which tries
 * WH_VERBS_RETRIES times more, gives up later than the heartbeat, which decides; unless that has 4.3 s and more. */
uint8_t wh_verbs_timeout(uint64_t failure_ns);

enum whorl_result wh_verbs_device_open(struct wh_verbs_device *device, struct ibv_context *context, uint32_t nodes,
				       struct wh_error *err);
/* In a forked child nothing is said to the device: it is the parent's. */
void wh_verbs_device_close(struct wh_verbs_device *device, bool forked);
bool wh_verbs_device_take_ring(struct wh_verbs_device *device); /* puts back the request that an immediate has used */
/* Makes up for those that queue pairs have taken to their end. */
void wh_verbs_device_fill(struct wh_verbs_device *device);
/* Takes what the device has completed of rings and operations. Returns how much that was. */
size_t wh_verbs_poll_in(struct wh_verbs *t);

enum whorl_result wh_verbs_memory_make(struct wh_verbs_memory *memory, const char *name, uint64_t bytes,
				       struct wh_error *err);
void wh_verbs_memory_free(struct wh_verbs_memory *memory);

/* ---- a connection by librdmacm: verbs/link.c ----------------------------------------------------------------------- */

/* Of two that have met the node of the lower id makes a token and tells it, by their session; that of the higher id connects with it.
 *
 *     APART    -> EXPECTED   (lower id) we have met: the token goes to the peer
 *     EXPECTED -> ANSWERED   its request has the token, and I have accepted
 *     ANSWERED -> OPEN       it knows
 *     ANSWERED -> EXPECTED   it does not, and tries again
 *     APART    -> CALLS      (higher id) the token has come; CALLS -> RESTS -> CALLS if nothing comes of a try, a few times
 *     CALLS    -> OPEN       it has accepted
 *     OPEN     -> BROKEN     the connection has ended: the peer is lost, if its session does not say first how it ended
 *     any      -> APART      the session's connection has ended
 */
enum wh_verbs_link_state {
	WH_VERBS_APART,
	WH_VERBS_EXPECTED,
	WH_VERBS_ANSWERED,
	WH_VERBS_CALLS,
	WH_VERBS_RESTS,
	WH_VERBS_OPEN,
	WH_VERBS_BROKEN
};

struct wh_verbs_link {
	enum wh_verbs_link_state state;
	uint32_t node;         /* [const] of the peer */
	struct rdma_cm_id *id; /* NULL: none */
	bool told;             /* EXPECTED and later: the peer has been sent the token */
	unsigned char token[WH_VERBS_TOKEN_BYTES];
	uint16_t port; /* of librdmacm, at the peer's address; 0: that of the address */
	uint32_t tries;
	uint64_t at_ns; /* CALLS: when it is given up; RESTS: when it is tried again; BROKEN: when the peer is lost */
};

/* They have met, as in struct wh_plane_ops; and the session's connection has ended. */
void wh_verbs_link_met(struct wh_transport *transport, uint32_t node);
void wh_verbs_link_close(struct wh_verbs *t, struct wh_verbs_link *link);
/* False: there is none to be told. */
bool wh_verbs_link_on_token(struct wh_verbs *t, uint32_t node, const struct wh_verbs_message *message);
/* What comes from the peer for its device: it knows of the connection, if that has been answered. Can queue pairs be connected to it? */
bool wh_verbs_link_heard(struct wh_verbs *t, uint32_t node);
/* The same, where nothing has come. */
bool wh_verbs_link_is_open(const struct wh_verbs *t, uint32_t node);
/* What goes by it fails. */
void wh_verbs_link_broke(struct wh_verbs *t, uint32_t node);
/* What librdmacm says. Returns how much that was. */
size_t wh_verbs_links_listen(struct wh_verbs *t);
void wh_verbs_links_tick(struct wh_verbs *t); /* the timer has run out */
/* Binds to my address, and opens its device; then callers are heard. */
enum whorl_result wh_verbs_links_open(struct wh_verbs *t, struct wh_error *err);
enum whorl_result wh_verbs_links_begin(struct wh_verbs *t, struct wh_error *err);
void wh_verbs_links_deafen(struct wh_verbs *t); /* no more callers */

/* A message of its own to a peer that has been met. False: there is no room; it is tried again in the next service. */
bool wh_verbs_say(struct wh_verbs *t, uint32_t node, const struct wh_verbs_message *message);

/* ---- pushes: verbs/out.c ------------------------------------------------------------------------------------------ */

#define WH_VERBS_WORDS 4

struct wh_verbs_write { /* waits to be posted */
	uint64_t offset;
	uint64_t bytes;                  /* of the row, if they are no words */
	uint32_t words;                  /* so many, neighbours; 0: bytes */
	uint64_t values[WH_VERBS_WORDS]; /* of the words */
	bool rings;
};

struct wh_verbs_place { /* where parts of my row lie at a peer */
	uint64_t offset, bytes, address;
};

/* My writes to one peer and image. */
struct wh_verbs_out {
	struct ibv_qp *qp; /* NULL: not yet, or not any more */
	struct ibv_cq *cq;
	struct wh_verbs_count count;
	struct wh_verbs_write *queue; /* number k is at k mod capacity */
	uint32_t capacity;            /* a power of two, or 0 */
	uint64_t queue_in, queue_out;
	struct wh_verbs_place *places;
	uint32_t place_count;
	uint32_t rkey;
	bool open;          /* writes can be posted */
	bool touched;       /* something was pushed that has not been flushed, */
	bool patient;       /* and all of it is patient */
	uint64_t failed_ns; /* when a write failed; 0: none has */
	char how[64];
};

struct wh_verbs_row;
/* A write waits, in order. */
void wh_verbs_out_add(struct wh_verbs *t, struct wh_verbs_row *row, const struct wh_push *push);
/* Posts what there is room for. */
void wh_verbs_out_flush(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row);
/* Takes completions, then posts. Returns how many it took. */
size_t wh_verbs_out_advance(struct wh_verbs *t, struct wh_verbs_image *image, struct wh_verbs_row *row);
/* Nothing waits, and nothing is under way; the first call of this asks the device for a last completion. */
bool wh_verbs_out_is_drained(struct wh_verbs *t, struct wh_verbs_out *out);
void wh_verbs_out_close(struct wh_verbs_out *out, bool forked);

/* ---- images: verbs/image.c ---------------------------------------------------------------------------------------- */

struct wh_verbs_row {        /* beside the session's of the same rank */
	uint64_t held;       /* bytes of all parts that are here */
	uint64_t at;         /* where they are in the image's memory */
	unsigned char *view; /* the row as it is read here: parts in their places, all else faults; NULL: not yet */
	struct ibv_mr *mr;   /* of the parts, which only this peer has the key of */
	struct ibv_qp *in;   /* takes its writes */
	uint32_t out_psn;
	struct wh_verbs_out out;
	bool shut;      /* it takes no more */
	bool tell_shut; /* I take no more, and it is still to be told */
};

struct wh_verbs_image {
	struct wh_session_image base;
	struct wh_verbs_image *next;
	bool closed; /* what was posted goes on */
	uint64_t closed_ns;
	struct wh_verbs_memory memory; /* my row, then the parts of all others */
	struct ibv_mr *mr;             /* of my row: only read, and only from here */
	struct wh_verbs_row *rows;     /* by rank */
	uint32_t *touched;             /* ranks for which something was pushed that has not been flushed */
	uint32_t touched_count;
	uint64_t kept_ns;      /* since when a patient push is kept; 0: none is */
	unsigned char *frozen; /* control columns of those that are frozen, by rank */
};

static inline struct wh_session_row *wh_verbs_state(const struct wh_verbs_image *image, const struct wh_verbs_row *row)
{
	return &image->base.rows[row - image->rows];
}

enum whorl_result wh_verbs_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				      struct wh_image **out, struct wh_error *err);
void wh_verbs_image_close(struct wh_image *base);
void wh_verbs_post(struct wh_image *base, const struct wh_push *pushes, size_t count);
/* What has been pushed goes out, to each peer as one chain. */
void wh_verbs_flush(struct wh_verbs *t, struct wh_verbs_image *image);
void wh_verbs_flush_all(struct wh_verbs *t); /* of all images */
/* The end of a pass: the same, but a peer for which all is patient is sent nothing yet, for a moment. */
void wh_verbs_flush_pass(struct wh_verbs *t, struct wh_verbs_image *image);
void wh_verbs_freeze(struct wh_image *base, uint32_t rank);
/* Its place is offered, as in struct wh_plane_ops: verbs/rows.c. */
bool wh_verbs_image_offer(struct wh_session_image *base, uint32_t rank, struct wh_own *own);
const unsigned char *wh_verbs_image_map(struct wh_session_image *base, uint32_t rank, const unsigned char *own,
					size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES]);
size_t wh_verbs_image_advance(struct wh_verbs *t, struct wh_verbs_image *image);
void wh_verbs_image_shut(struct wh_verbs *t, const struct wh_peer *peer, uint64_t key);
/* The peer has ended: no more is written to it. */
void wh_verbs_images_lose(struct wh_verbs *t, const struct wh_peer *peer);
/* Frees those that are closed and have nothing under way. Returns whether any are left. */
bool wh_verbs_images_reap(struct wh_verbs *t);
void wh_verbs_image_free(struct wh_verbs *t, struct wh_verbs_image *image, bool forked);

/* ---- regions: verbs/remote.c, verbs/account.c ------------------------------------------------------------------------ */

extern const struct wh_remote_ops wh_verbs_remote_ops;
/* False: the message breaks the protocol. */
bool wh_verbs_remote_on_message(struct wh_verbs *t, const struct wh_peer *peer, const struct wh_verbs_message *message);
size_t wh_verbs_remote_advance(struct wh_verbs *t);
void wh_verbs_remote_free(struct wh_verbs *t, bool forked); /* my regions */
/* An operation is done, or an immediate has come. */
void wh_verbs_account_complete(struct wh_verbs *t, const struct ibv_wc *done);
void wh_verbs_account_end(struct wh_verbs *t, uint32_t node); /* the peer has ended */
void wh_verbs_accounts_free(struct wh_verbs *t, bool forked);

/* ---- the doorbell: verbs/doorbell.c ----------------------------------------------------------------------------------- */

void wh_verbs_arm(struct wh_transport *transport);
void wh_verbs_disarm(struct wh_transport *transport);
void wh_verbs_wait(struct wh_transport *transport, uint64_t timeout_ns);
void wh_verbs_wake(struct wh_transport *transport); /* any thread */
void wh_verbs_drain_channel(struct wh_verbs *t);    /* of notices that have come */

/* ---- the transport: verbs.c --------------------------------------------------------------------------------------- */

/* Sources of events of the poll, beside the wire's. */
enum { WH_VERBS_MEETING = WH_TCP_OTHERS, WH_VERBS_COMPLETION };

struct wh_verbs_peer {
	struct wh_verbs_link link;
	struct wh_verbs_account *account; /* NULL: no regions yet, either way */
};

struct wh_verbs {
	struct wh_session_transport base;
	const struct wh_env *env;
	uint32_t node, nodes;
	uint64_t incarnation;
	uint32_t lane;          /* [const] 0: the node itself */
	struct wh_lanes *lanes; /* [const] of the node */
	struct wh_poll poll;
	struct wh_tcp_wire *wire;
	struct wh_verbs_device device;
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;
	struct sockaddr_storage address; /* mine */

	bool armed;
	bool notified; /* the device has been asked to tell when something comes, and has not told */
	bool rung;     /* something has come since arm() */
	bool forked;
	bool gathers;                     /* a pass is under way: what is pushed waits for its end */
	uint8_t timeout;                  /* [const] of all queue pairs */
	uint32_t serials;                 /* accounts so far */
	wh_word writes, doorbells, rings; /* [loop writes, any thread reads] */
	uint32_t posts;
	struct wh_verbs_image *images;   /* in the order in which they were opened; those that are closed as well */
	struct wh_verbs_region *regions; /* mine; those that are closed until no node uses them */
	uint32_t accounts, next_account;

	struct wh_verbs_peer peers[]; /* by node id */
};

extern const struct wh_plane_ops wh_verbs_plane_ops; /* of the session */
/* What has come by a descriptor; then whatever waits for time, or for others. Each returns how much was done. */
size_t wh_verbs_dispatch(struct wh_verbs *t, const struct epoll_event *event);
size_t wh_verbs_advance(struct wh_verbs *t);
void wh_verbs_leave(struct wh_transport *transport);

static inline struct wh_verbs *wh_verbs_of(struct wh_transport *transport)
{
	return (struct wh_verbs *)transport;
}

#endif
