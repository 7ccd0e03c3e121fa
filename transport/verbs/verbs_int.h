/* verbs_int.h - inside the RDMA transport.
 *
 *     verbs.c         the table: events, service, create and destroy
 *     verbs/doorbell.c    the doorbell
 *     verbs/device.c  the device: completions, and memory that is registered with it
 *     verbs/address.c addresses as text, and those of nodes that are given none
 *     verbs/meet.c    how peers find each other: librdmacm
 *     verbs/answer.c  callers, and what comes of their calls
 *     verbs/link.c    a connection: its buffers, credits, and completions
 *     verbs/peer.c    what a peer says, its end, leaving
 *     verbs/image.c   images: their memory, post and freeze
 *     verbs/rows.c    becoming ready: places of rows, queue pairs
 *     verbs/out.c     pushes: their queue to one peer, chains of writes, and how they end
 *     verbs/stream.c  streams between peers
 *     verbs/remote.c  regions: one-sided operations
 *     verbs/lane.c    the queue pair that they go through
 *     verbs/query.c   questions of visitors, which are no nodes
 *     verbs/wire.h    messages, and what is believed of them
 *     verbs/count.h   outstanding requests, counted
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
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdint.h>
#include <sys/socket.h>

#include "base/atomics.h"
#include "base/counter.h"
#include "transport/session/dial.h"
#include "transport/session/event_queue.h"
#include "transport/session/exchange.h"
#include "transport/session/known_incarnations.h"
#include "transport/transport.h"
#include "transport/verbs/count.h"
#include "transport/verbs/verbs.h"
#include "transport/verbs/wire.h"

struct wh_verbs;
struct wh_verbs_peer;
struct wh_verbs_link;
struct wh_verbs_image;
struct wh_verbs_stream;
struct wh_verbs_lane;
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

/* What a completion in `in` is of: the upper 16 bits of its request's name; those below name a buffer and a link, or a lane. */
enum wh_verbs_done {
	WH_VERBS_DONE_RING,
	WH_VERBS_DONE_HEARD,
	WH_VERBS_DONE_SENT,
	WH_VERBS_DONE_OPERATION,
	WH_VERBS_DONE_IMMEDIATE
};

struct wh_verbs_device {
	struct ibv_context *context; /* librdmacm's */
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *in;   /* whatever comes, and messages that have gone; wakes by `channel` */
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

enum whorl_result wh_verbs_memory_make(struct wh_verbs_memory *memory, const char *name, uint64_t bytes,
				       struct wh_error *err);
void wh_verbs_memory_free(struct wh_verbs_memory *memory);

/* ---- a connection: verbs/link.c ----------------------------------------------------------------------------------- *
 * Each side has WH_VERBS_BUFFERS buffers for what comes, and knows from the heads of messages how many of the other side's are
 * free: neither sends what there is no buffer for. */

#define WH_VERBS_BUFFERS 40

/* How many buffers of the peer must be left when such a message has gone. The last are for what gives buffers back. */
enum wh_verbs_reserve {
	WH_VERBS_FOR_USERS = 10,
	WH_VERBS_FOR_IMAGES = 4,
	WH_VERBS_FOR_LAST = 2,
	WH_VERBS_FOR_CREDIT = 0
};

struct wh_verbs_link {
	struct wh_verbs_link *next;
	uint32_t serial; /* none has had it before */
	struct rdma_cm_id *id;
	struct wh_verbs_peer *peer; /* NULL: it only lingers until what was sent has gone */
	uint64_t deadline_ns;       /* GREETING: when it is given up; lingering as well */
	uint64_t begun_ns;
	bool called; /* by me */
	bool ended;  /* there will be nothing more on it */
	bool left;   /* the peer has said goodbye */
	char how[96];
	struct wh_verbs_memory memory; /* buffers for what comes, then for what goes */
	struct ibv_mr *mr;
	struct { /* has come, not been heard */
		uint16_t buffer;
		uint32_t bytes;
	} heard[WH_VERBS_BUFFERS];
	uint32_t heard_in, heard_out;
	uint32_t freed, freed_told; /* my buffers, given back */
	uint32_t sent, allowed;     /* messages of mine, and how many there may be; modulo 2^32 */
	uint32_t slots_free;
	uint16_t slots[WH_VERBS_BUFFERS]; /* buffers for what goes that are free */
	uint32_t streams_opened;
};

struct wh_verbs_link *wh_verbs_link_new(struct wh_verbs *t, struct wh_verbs_peer *peer, bool called);
/* Buffers and queue pair, when its device is known. False, with the reason in link->how. */
bool wh_verbs_link_prepare(struct wh_verbs *t, struct wh_verbs_link *link);
void wh_verbs_link_free(struct wh_verbs *t, struct wh_verbs_link *link);
/* The peer has no link any more. What was sent may go yet for a while. */
void wh_verbs_link_release(struct wh_verbs *t, struct wh_verbs_link *link);
/* `head` has the kind; its other fields are filled in. False: no room. */
bool wh_verbs_link_send(struct wh_verbs *t, struct wh_verbs_link *link, enum wh_verbs_reserve reserve,
			struct wh_verbs_head *head, size_t head_bytes, const void *bytes, size_t count);
bool wh_verbs_link_can_send(const struct wh_verbs_link *link, enum wh_verbs_reserve reserve);
/* The oldest message that has not been heard, whatever it is; NULL: none. It stays until it is dropped. */
union wh_verbs_message *wh_verbs_link_peek(struct wh_verbs_link *link, size_t *bytes);
void wh_verbs_link_drop(struct wh_verbs *t, struct wh_verbs_link *link);
bool wh_verbs_link_is_idle(const struct wh_verbs_link *link); /* all that was sent has arrived */
/* Gives back buffers, if many are owed; lets go of those that linger and are done. */
size_t wh_verbs_links_advance(struct wh_verbs *t);
/* Takes what the device has completed of messages and rings. Returns how much that was. */
size_t wh_verbs_poll_in(struct wh_verbs *t);

/* ---- meeting: verbs/meet.c ---------------------------------------------------------------------------------------- */

/* A newcomer calls all others once, as on shm (shm_int.h): of two calls that cross, that of the higher id counts.
 *
 *     ABSENT   -> GREETING   librdmacm is looking for it, or connects
 *     GREETING -> MET        it has accepted, and what it says of itself is good
 *     any      -> ANSWERED   it has called, what it says of itself is good, and I have accepted
 *     ANSWERED -> MET        it knows
 *     GREETING -> ABSENT     nothing came of it: it will be called again
 *     ANSWERED -> ABSENT     it hung up, or librdmacm gives it up, after a minute or so. I do not: it may have met me already, and
 *                            an incarnation is met once. If it calls again, that call takes the place of this one
 *     MET      -> ABSENT     it left, died, or broke the protocol
 *     any      -> REJECTED   one has refused the other: it is not called any more, but may call as another incarnation
 */
enum wh_verbs_peer_state {
	WH_VERBS_SELF,
	WH_VERBS_ABSENT,
	WH_VERBS_GREETING,
	WH_VERBS_ANSWERED,
	WH_VERBS_MET,
	WH_VERBS_REJECTED
};

#define WH_VERBS_PENDING 4 /* offers kept of one peer; beyond, the one of the lowest key is dropped */

struct wh_verbs_peer {
	enum wh_verbs_peer_state state;
	uint32_t node;
	uint64_t incarnation;               /* since it is known; else 0 */
	struct wh_known_incarnations ended; /* it is not met again as one of those */
	struct wh_verbs_link *link;
	struct wh_verbs_lane *lane; /* NULL: no regions yet, either way */
	struct sockaddr_storage address;
	struct wh_dial_peer redial;
	uint64_t rival; /* another incarnation that has called while this one was here; 0: none */
	uint64_t rival_ns;
	struct wh_verbs_offer *pending[WH_VERBS_PENDING]; /* for images that are not open here yet; NULL: none */
};

enum whorl_result wh_verbs_meet_open(struct wh_verbs *t, const struct wh_transport_config *config,
				     struct wh_error *err);
/* "host:port" or "[address]:port"; names are looked up, which may block. Any thread. WHORL_OK, WHORL_CONFIG. */
enum whorl_result wh_verbs_find_address(const char *text, struct sockaddr_storage *out, socklen_t *bytes,
					struct wh_error *err);
void wh_verbs_meet_close(struct wh_verbs *t); /* the listener */
size_t wh_verbs_meet_events(struct wh_verbs *t);
void wh_verbs_meet_tick(struct wh_verbs *t);
void wh_verbs_meet(struct wh_verbs *t, struct wh_verbs_peer *peer);
/* Nothing comes of the call that is under way, mine or its own. */
void wh_verbs_give_up(struct wh_verbs *t, struct wh_verbs_peer *peer, bool is_there);
struct wh_verbs_hello wh_verbs_my_hello(const struct wh_verbs *t);
/* True, and why, if its sender cannot be of our group as we know it. */
bool wh_verbs_is_foreign(const struct wh_verbs *t, const struct wh_verbs_hello *hello,
			 char reason[WH_VERBS_REFUSAL_BYTES]);
/* A request to connect, with its private data. The id is taken over. */
void wh_verbs_on_connect(struct wh_verbs *t, struct rdma_cm_id *id, const void *bytes, size_t count);
/* Before it connects or accepts: librdmacm's own choice for what goes out by it is 2.1 s. */
void wh_verbs_set_timeout(const struct wh_verbs *t, struct rdma_cm_id *id);
bool wh_verbs_searching(struct wh_transport *transport);

/* ---- peers: verbs/peer.c ------------------------------------------------------------------------------------------ */

/* Hears what has come, as far as there is room for events; then the end of links. */
size_t wh_verbs_peers_advance(struct wh_verbs *t);
void wh_verbs_refuse(struct wh_verbs *t, struct wh_verbs_peer *peer, const char *format, ...) WH_PRINTF(3, 4);
/* `incarnation` has refused me. */
void wh_verbs_be_refused(struct wh_verbs *t, struct wh_verbs_peer *peer, uint64_t incarnation, const char *reason);
/* The peer has ended: how is said in the event, unless it has left. Or it has not answered my call. */
void wh_verbs_lose(struct wh_verbs *t, struct wh_verbs_peer *peer, const char *how);
void wh_verbs_end_connection(struct wh_verbs *t, struct wh_verbs_peer *peer, enum wh_verbs_peer_state state);
void wh_verbs_past(struct wh_transport *transport, uint64_t key);
void wh_verbs_leave(struct wh_transport *transport);
enum whorl_result wh_verbs_control_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count);

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

struct wh_verbs_row {
	struct wh_verbs_peer *peer; /* of its node; it may be another incarnation than the row's, or none */
	uint64_t incarnation;
	uint64_t bytes;
	struct wh_row_part *parts; /* that are here; neighbours are one */
	uint32_t part_count;
	uint64_t held;       /* bytes of all parts */
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
	struct wh_image base;
	struct wh_verbs_image *next;
	bool announced; /* the event that it is ready has been taken */
	bool closed;    /* what was posted goes on */
	uint64_t closed_ns;
	uint64_t layout_digest, control_bytes;
	struct wh_verbs_memory memory; /* my row, then the parts of all others */
	struct ibv_mr *mr;             /* of my row: only read, and only from here */
	struct wh_verbs_row *rows;     /* by rank */
	struct wh_row_part *parts;     /* of all rows */
	uint32_t *touched;             /* ranks for which something was pushed that has not been flushed */
	uint32_t touched_count;
	uint64_t kept_ns;      /* since when a patient push is kept; 0: none is */
	unsigned char *frozen; /* control columns of those that are frozen, by rank */
	struct wh_exchange exchange;
};

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
/* Of one that is being made. False: no memory. verbs/rows.c */
bool wh_verbs_exchange_open(struct wh_verbs_image *image, uint32_t members);
size_t wh_verbs_image_advance(struct wh_verbs *t, struct wh_verbs_image *image);
void wh_verbs_image_confirmed(struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key);
void wh_verbs_image_shut(struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key);
bool wh_verbs_image_wants(const struct wh_verbs *t, const struct wh_verbs_peer *peer, uint64_t key);
/* The peer has ended: no more is written to it. */
void wh_verbs_images_lose(struct wh_verbs *t, const struct wh_verbs_peer *peer);
/* Frees those that are closed and have nothing under way. Returns whether any are left. */
bool wh_verbs_images_reap(struct wh_verbs *t);
void wh_verbs_image_free(struct wh_verbs *t, struct wh_verbs_image *image, bool forked);
bool wh_verbs_row_is_here(const struct wh_verbs_row *row);

/* ---- streams: verbs/stream.c -------------------------------------------------------------------------------------- */

enum whorl_result wh_verbs_stream_open(struct wh_transport *transport, uint32_t node, uint64_t tag,
				       struct wh_stream **out);
/* False: the message breaks the protocol. */
bool wh_verbs_stream_on_message(struct wh_verbs *t, struct wh_verbs_peer *peer,
				const struct wh_verbs_stream_message *message);
size_t wh_verbs_streams_advance(struct wh_verbs *t);
/* Those of that link have ended; NULL: all have. In a forked child they are left to their users. */
void wh_verbs_streams_end(struct wh_verbs *t, const struct wh_verbs_link *link);
bool wh_verbs_streams_are_sent(struct wh_verbs *t); /* all that was written before streams were closed */

/* ---- regions: verbs/remote.c, verbs/lane.c ------------------------------------------------------------------------ */

extern const struct wh_remote_ops wh_verbs_remote_ops;
/* False: the message breaks the protocol. */
bool wh_verbs_remote_on_message(struct wh_verbs *t, struct wh_verbs_peer *peer,
				const struct wh_verbs_region_message *message);
size_t wh_verbs_remote_advance(struct wh_verbs *t);
void wh_verbs_remote_free(struct wh_verbs *t, bool forked); /* my regions */
/* An operation is done, or an immediate has come. */
void wh_verbs_lane_complete(struct wh_verbs *t, const struct ibv_wc *done);
void wh_verbs_lane_end(struct wh_verbs_peer *peer); /* the peer has ended */
void wh_verbs_lanes_free(struct wh_verbs *t, bool forked);

/* ---- visitors: verbs/query.c -------------------------------------------------------------------------------------- */

#define WH_VERBS_STRANGERS 16
#define WH_VERBS_STRANGER_NS WH_NS_PER_S

struct wh_verbs_question { /* what a visitor sends first; `bytes` more follow. The head of the answer is the same */
	uint64_t magic;
	uint32_t version;
	uint32_t bytes;
};

struct wh_verbs_stranger {
	int socket;     /* -1: this place is free */
	uint64_t query; /* the number of its question; 0: it has not asked */
	uint64_t deadline_ns;
	size_t got, sent, answer_bytes;
	unsigned char *answer; /* NULL: none yet */
	struct {
		struct wh_verbs_question head;
		unsigned char bytes[WH_CONTROL_MAX];
	} question;
};

enum whorl_result wh_verbs_query_open(struct wh_verbs *t, const struct sockaddr *address, socklen_t bytes,
				      struct wh_error *err);
void wh_verbs_query_accept(struct wh_verbs *t);
void wh_verbs_query_on_message(struct wh_verbs *t, uint32_t i);
void wh_verbs_query_tick(struct wh_verbs *t, uint64_t now);
void wh_verbs_query_close(struct wh_verbs *t);
void wh_verbs_answer(struct wh_transport *transport, uint64_t query, const void *bytes, size_t count);

/* ---- the doorbell: verbs/doorbell.c ----------------------------------------------------------------------------------- */

void wh_verbs_arm(struct wh_transport *transport);
void wh_verbs_disarm(struct wh_transport *transport);
void wh_verbs_wait(struct wh_transport *transport, uint64_t timeout_ns);
void wh_verbs_wake(struct wh_transport *transport); /* any thread */
void wh_verbs_drain_channel(struct wh_verbs *t);    /* of notices that have come */

/* ---- the transport: verbs.c --------------------------------------------------------------------------------------- */

enum wh_verbs_source {
	WH_VERBS_DOORBELL,
	WH_VERBS_TIMER,
	WH_VERBS_MEETING,
	WH_VERBS_COMPLETION,
	WH_VERBS_LISTENER,
	WH_VERBS_STRANGER
};

#define WH_VERBS_EVENTS 32        /* a power of two */
#define WH_VERBS_EVENTS_AT_ONCE 8 /* at most so many come of what is taken in at once */

struct wh_verbs {
	struct wh_transport base;
	const struct wh_env *env;
	char group[WH_VERBS_GROUP_BYTES];
	uint32_t node, nodes;
	uint64_t incarnation;
	struct wh_verbs_device device;
	struct rdma_event_channel *cm;
	struct rdma_cm_id *listener;

	int epoll, doorbell, query_listener; /* doorbell: [any thread writes it] */
	bool armed;
	bool notified; /* the device has been asked to tell when something comes, and has not told */
	bool rung;     /* something has come since arm() */
	bool left, forked, query_listener_rests;
	bool gathers;    /* a pass is under way: what is pushed waits for its end */
	uint8_t timeout; /* [const] of all queue pairs */
	struct wh_dial redial;
	uint64_t queries;                 /* questions so far */
	uint32_t serials;                 /* links so far */
	wh_word writes, doorbells, rings; /* [loop writes, any thread reads] */
	uint32_t posts;
	struct wh_verbs_link *links;
	struct wh_verbs_image *images; /* in the order in which they were opened; those that are closed as well */
	uint64_t past_key;             /* no image below it will be opened any more */
	struct wh_verbs_stream *streams;
	struct wh_verbs_region *regions; /* mine; those that are closed until no node uses them */
	uint32_t lanes, next_lane;
	struct wh_verbs_stranger strangers[WH_VERBS_STRANGERS];

	struct wh_event_queue event_queue;
	struct wh_transport_event events[WH_VERBS_EVENTS];

	struct wh_verbs_peer peers[]; /* by node id */
};

static inline struct wh_verbs *wh_verbs_of(struct wh_transport *transport)
{
	return (struct wh_verbs *)transport;
}

bool wh_verbs_watch(struct wh_verbs *t, int fd, enum wh_verbs_source source, uint32_t index, uint32_t events);

#endif
