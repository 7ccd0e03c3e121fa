/* tcp_int.h - inside the tcp transport.
 *
 *     tcp.c          the table: doorbell, service, create and destroy
 *     tcp/frame.c    frames as bytes (tcp/frame.h; docs/wire.md)
 *     tcp/address.c  addresses as text, and what they mean
 *     tcp/names.c    names that are looked up again, off the loop
 *     tcp/channel.c  a connection: the one place that reads and writes sockets, and where keys and TLS have their place
 *     tcp/queue.c    pushes that have not left yet
 *     tcp/out.c      what leaves: frames of a batch in one gathered write
 *     tcp/in.c       what comes: received into its place in the image
 *     tcp/meet.c     how peers find each other: the caller's side, and time
 *     tcp/accept.c     the called side: strangers, of which some become peers
 *     tcp/peer.c     what becomes of a connection between nodes: messages, its end, leaving
 *     tcp/image.c    images: which rows have a place here, post and freeze
 *     tcp/stream.c   streams, a connection each
 *     tcp/query.c    questions of visitors, which are no nodes
 *     tcp/remote.c   regions: what others ask is done by this loop
 *
 * docs/decisions/0017-tcp.md tells why it is done so. Everything here belongs to the loop, save what is marked
 * otherwise.
 */
#ifndef WH_TRANSPORT_TCP_TCP_INT_H
#define WH_TRANSPORT_TCP_TCP_INT_H

#include <netinet/in.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "base/atomics.h"
#include "transport/secure/secure.h"
#include "transport/session/event_queue.h"
#include "transport/session/exchange.h"
#include "transport/session/known_incarnations.h"
#include "transport/session/redial.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/tcp.h"
#include "transport/transport.h"

struct wh_tcp;
struct wh_tcp_image;
struct wh_tcp_peer;

/* ---- addresses: tcp/address.c ------------------------------------------------------------------------------------- */

#define WH_TCP_HOST_BYTES 160

struct wh_tcp_address {
	struct sockaddr_storage at;
	socklen_t bytes; /* 0: not known (yet) */
	bool is_name;    /* it may mean something else another time */
};

/* "host:port", "[host]:port"; the host goes to `host`. WHORL_OK, WHORL_INVALID. */
enum whorl_result wh_tcp_address_split(const char *text, char host[WH_TCP_HOST_BYTES], char port[8],
				       struct wh_error *err);
/* Looks the name up, which may block. WHORL_OK, WHORL_INVALID, WHORL_NOT_FOUND. */
enum whorl_result wh_tcp_address_find(const char *text, struct wh_tcp_address *out, struct wh_error *err);
bool wh_tcp_address_is_loopback(const struct wh_tcp_address *address);
/* Equal for addresses of one host, whatever their ports. */
uint64_t wh_tcp_address_source(const struct wh_tcp_address *address);
bool wh_tcp_address_same(const struct wh_tcp_address *a, const struct wh_tcp_address *b);

/* ---- names: tcp/names.c ------------------------------------------------------------------------------------------ */

struct wh_tcp_names;

struct wh_tcp_names *wh_tcp_names_new(void); /* NULL: no memory */
void wh_tcp_names_free(struct wh_tcp_names *names);
/* The peer cannot be reached, or its address is not known: it is looked up, unless that was done just now. */
void wh_tcp_names_ask(struct wh_tcp *t, struct wh_tcp_peer *peer);
void wh_tcp_names_tick(struct wh_tcp *t); /* what has been found is used */

/* ---- connections: tcp/channel.c ----------------------------------------------------------------------------------- */

/* A connection from its first byte on. Before the first frame both sides prove themselves (transport/secure/secure.h): that is
 * wh_tcp_channel_shake. */
struct wh_tcp_channel {
	int fd;         /* -1: none */
	bool called;    /* by me */
	bool wraps;     /* there is TLS */
	bool drained;   /* with TLS: nothing that has been received can be opened: the socket tells of more */
	bool careful;   /* with TLS: seals only what the socket has room for */
	bool looks;     /* with TLS: what has been received is opened, and no more received */
	unsigned turns; /* what it has said, before the first frame, that I have answered: each earns it time anew */
	struct wh_secure *secure; /* what the other end has proven to be */
};

#define WH_TCP_TURNS_MAX 6 /* more are not counted: there are no more but of a peer that plays for time */

/* WH_TCP_BROKEN: also by changed bytes: wh_tcp_channel_reason. */
enum wh_tcp_io { WH_TCP_DONE, WH_TCP_LATER, WH_TCP_ENDED /* closed in order */, WH_TCP_BROKEN };

#define WH_TCP_NO_CHANNEL ((struct wh_tcp_channel){.fd = -1})

/* Begins to connect to `node`. 0: it has begun, and the channel is writable when that has come to an end; or an errno value. */
int wh_tcp_channel_connect(struct wh_tcp_channel *channel, const struct wh_tcp_address *to,
			   const struct wh_secure_ground *ground, uint32_t node);
/* WH_TCP_LATER: not yet. WH_TCP_BROKEN: errno says why. */
enum wh_tcp_io wh_tcp_channel_connected(struct wh_tcp_channel *channel);
/* A caller has connected; the descriptor becomes the channel's. False: no memory; it is closed. */
bool wh_tcp_channel_accept(struct wh_tcp_channel *channel, int fd, const struct wh_secure_ground *ground);
/* What comes before the first frame. WH_TCP_LATER: `*writes` says whether it waits to write. WH_TCP_BROKEN: if there is a reason
 * (wh_tcp_channel_reason) one of the two has refused the other. */
enum wh_tcp_io wh_tcp_channel_shake(struct wh_tcp_channel *channel, bool *writes);
/* Each reads or writes as much as goes. With WH_TCP_DONE *done is how much, >= 1. Any thread, one at a time. */
enum wh_tcp_io wh_tcp_channel_write(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				    size_t *done);
enum wh_tcp_io wh_tcp_channel_read(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				   size_t *done);
/* With TLS bytes may be sealed and not sent yet: they leave with the next write, or with this. WH_TCP_DONE: there are none. */
enum wh_tcp_io wh_tcp_channel_flush(struct wh_tcp_channel *channel);
/* From now on nothing that has been taken waits for a later call: for a thread that may not make one. */
void wh_tcp_channel_take_care(struct wh_tcp_channel *channel);
bool wh_tcp_channel_unsent(const struct wh_tcp_channel *channel);
/* "" where neither side has refused the other. Valid until the channel is closed. */
const char *wh_tcp_channel_reason(const struct wh_tcp_channel *channel);
void wh_tcp_channel_finish(struct wh_tcp_channel *channel); /* nothing more will be written */
/* `forked`: the other side is not told. */
void wh_tcp_channel_close(struct wh_tcp_channel *channel, bool forked);
/* The other end's address as text. */
const char *wh_tcp_channel_whence(const struct wh_tcp_channel *channel, char *text, size_t bytes);
/* Whether the other end may be believed when it says that it is that node; if not, why. */
bool wh_tcp_channel_may_be(const struct wh_tcp_channel *channel, uint32_t node, uint64_t incarnation,
			   char reason[WH_SECURE_REASON_BYTES]);

/* ---- pushes that have not left: tcp/queue.c ------------------------------------------------------------------------ */

#define WH_TCP_QUEUE_MAX 65536      /* ranges, and words, that wait for one peer: beyond, it is stalled for good */
#define WH_TCP_RANGE_MAX (1u << 18) /* bytes of one range; larger ones are cut */

struct wh_tcp_range {
	struct wh_tcp_image *image;
	struct wh_tcp_span span;
};

struct wh_tcp_value {
	struct wh_tcp_image *image;
	struct wh_tcp_word word;
};

/* First ranges, then words, in the order in which they were posted. That a range is ahead of words that were posted before
 * it does no harm: its bytes are final, and no thread looks at them before the guard that was posted later (on shared memory
 * bytes are there at once). A word never overtakes a range or a word that was posted before it. */
struct wh_tcp_queue {
	struct wh_tcp_range *ranges;
	struct wh_tcp_value *words;
	uint32_t range_count, range_room, range_at; /* those before `at` have left */
	uint32_t word_count, word_room, word_at;
	uint32_t fixed; /* ranges before this one are on their way, and do not grow any more */
	bool loud;      /* one of them ends a sleep */
};

/* False: the queue is full, or there is no memory: the peer is given up. */
WH_MUST_CHECK bool wh_tcp_queue_range(struct wh_tcp_queue *queue, struct wh_tcp_image *image, uint64_t offset,
				      uint64_t bytes);
WH_MUST_CHECK bool wh_tcp_queue_word(struct wh_tcp_queue *queue, struct wh_tcp_image *image, uint64_t offset,
				     uint64_t value);
bool wh_tcp_queue_empty(const struct wh_tcp_queue *queue);
/* The next frame: how many ranges and words it has, all of one image, at most `ranges`, WH_TCP_WORDS_MAX, and about `bytes`
 * bytes. Words come only with the last of the ranges. */
void wh_tcp_queue_next(const struct wh_tcp_queue *queue, uint64_t bytes, uint32_t *ranges, uint32_t *words);
/* So many have left. */
void wh_tcp_queue_left(struct wh_tcp_queue *queue, uint32_t ranges, uint32_t words);
/* Images that have been closed are let go of. */
void wh_tcp_queue_drop(struct wh_tcp_queue *queue);
void wh_tcp_queue_free(struct wh_tcp_queue *queue);

/* ---- what leaves: tcp/out.c ---------------------------------------------------------------------------------------- */

#define WH_TCP_MESSAGES_BYTES (64u << 10) /* control messages that wait for one peer */
#define WH_TCP_RESERVE_BYTES (8u << 10)   /* beyond that, for messages of the transport itself */
#define WH_TCP_FRAME_BYTES (1u << 20)     /* of ranges in one frame, about */

struct wh_tcp_out {
	unsigned char *messages; /* frames that are no pushes, encoded */
	uint32_t messages_count, messages_at;
	struct wh_tcp_queue queue;
	/* The write that is under way. */
	unsigned char *table;
	struct iovec parts[WH_TCP_RANGES_MAX + 2];
	size_t part_count, part_at; /* 0 of 0: none */
	uint32_t messages_in, ranges_in;
	bool blocked; /* the socket is full */
	bool leaving; /* behind all else it is to be told that I go */
	bool dead;    /* it cannot be written to any more; what it has sent may still be read */
};

struct wh_tcp_link;
/* A whole frame. False: there is no room; `reserve`: for one of the transport's own. */
bool wh_tcp_out_message(struct wh_tcp_link *link, const unsigned char *frame, size_t bytes, bool reserve);
/* Writes until all has left, or the socket is full. */
void wh_tcp_out_flush(struct wh_tcp *t, struct wh_tcp_link *link);
bool wh_tcp_out_empty(const struct wh_tcp_out *out);

/* ---- what comes: tcp/in.c ------------------------------------------------------------------------------------------ */

#define WH_TCP_IN_BYTES (64u << 10)

struct wh_tcp_in {
	unsigned char *bytes; /* read and not yet looked at: [at, count) */
	uint32_t at, count;
	/* The push that is under way. */
	bool pushing, loud;
	struct wh_tcp_image *image; /* NULL: it goes nowhere */
	unsigned char *row;         /* the peer's, in it */
	uint64_t *arrived;          /* of that row */
	struct wh_tcp_span spans[WH_TCP_RANGES_MAX];
	struct wh_tcp_word words[WH_TCP_WORDS_MAX];
	uint32_t span_count, span_at, word_count;
	uint32_t span_done; /* bytes of the span at span_at */
	uint64_t left;      /* bytes that are still to come */
	bool large;         /* the last one was: the next is likely to be */
	bool held;          /* a whole frame waits for room for its event */
};

/* Takes in what has come. Returns how much of that a thread may wait for. */
size_t wh_tcp_in_take(struct wh_tcp *t, struct wh_tcp_peer *peer);
/* Nothing of this image is written any more by this peer; NULL: of any. */
void wh_tcp_in_forget(struct wh_tcp_in *in, const struct wh_tcp_image *image);

/* ---- meeting: tcp/meet.c and tcp/accept.c ---------------------------------------------------------------------------- */

/* A newcomer calls all others: those that are there answer, those that are not will call when they come, and are called
 * again now and then, in case they cannot call me. Of two calls that cross, that of the higher id counts, and the other is hung
 * up.
 *
 *     ABSENT   -> GREETING   I have begun to connect to it; my hello is sent
 *     GREETING -> MET        its hello has come, and I have said so
 *     any      -> ANSWERED   it has called, its hello was good, mine is sent
 *     ANSWERED -> MET        it has taken mine
 *     GREETING -> ABSENT     it hung up, or took too long: it will be called again
 *     ANSWERED -> ABSENT     it hung up. I do not: it may have met me already, and an incarnation is met once
 *     MET      -> ABSENT     it left, died, or broke the protocol
 *     any      -> REJECTED   one has refused the other: it is called again, seldom, as another incarnation may be there
 *
 * An incarnation is met once: what has ended or been refused is not met again, whichever side calls.
 */
enum wh_tcp_peer_state { WH_TCP_SELF, WH_TCP_ABSENT, WH_TCP_GREETING, WH_TCP_ANSWERED, WH_TCP_MET, WH_TCP_REJECTED };

enum wh_tcp_stage { WH_TCP_CONNECTING, WH_TCP_SHAKING, WH_TCP_OPEN };

struct wh_tcp_link { /* a connection between two nodes */
	struct wh_tcp_channel channel;
	enum wh_tcp_stage stage;
	uint32_t node;
	bool dirty;         /* something waits to be flushed, ... */
	bool patient;       /* ... and may wait a little longer */
	bool watches_write; /* in epoll */
	bool left;          /* the other side has said that it goes */
	struct wh_tcp_in in;
	struct wh_tcp_out out;
};

#define WH_TCP_OFFERS 8 /* kept of one peer; beyond, the one of the lowest key is dropped */

struct wh_tcp_peer {
	enum wh_tcp_peer_state state;
	uint32_t node;
	struct wh_tcp_link *link;
	uint64_t incarnation;               /* since its hello was good; else 0 */
	uint64_t call;                      /* the number of its call that was answered last, ... */
	uint64_t caller;                    /* ... and of which incarnation */
	struct wh_known_incarnations ended; /* it is not met again as one of those */
	bool unproven_told;                 /* that it was refused, or has refused, before anything was proven */
	struct wh_redial_peer redial; /* at_ns: ABSENT: when it is to be called; GREETING: when that is given up */
	uint64_t pinged_ns;           /* another has come in its place: is it still there? 0: not asked */
	uint64_t ponged_ns;           /* when it last said so */
	const char *doomed;           /* it will be given up at the next service: why */
	const char *name;             /* its address as text */
	uint64_t looked_up_ns;        /* when that was last looked up, after the first time; 0: not again */
	struct wh_tcp_address address;
	struct wh_tcp_offer offers[WH_TCP_OFFERS]; /* of images that are not open here yet; members 0: none */
	struct wh_tcp_remote *remote;              /* regions, mine for it and its for me; NULL: nothing so far */
};

struct wh_tcp_stranger { /* has connected to me, and said nothing yet, or has asked a question */
	struct wh_tcp_channel channel;
	bool shaken, held; /* held: what it has said is kept until it can be acted on */
	bool spoke;        /* it has said something */
	bool configured;   /* it calls from a host of the configuration */
	uint64_t source;   /* its host: wh_tcp_address_source */
	uint64_t query;    /* the number of its question; 0: it has not asked */
	uint64_t since_ns; /* since when I wait for it */
	uint32_t count;
	unsigned char bytes[WH_TCP_HEAD_BYTES + WH_TCP_BODY_MAX];
};

#define WH_TCP_STRANGERS 256           /* and two for each node, for those that call from hosts of the configuration */
#define WH_TCP_STRANGER_NS WH_NS_PER_S /* for each word that it has to say, */
#define WH_TCP_SILENT_NS (WH_NS_PER_S / 4) /* but for the first */
#define WH_TCP_CONNECT_NS WH_NS_PER_S /* so long I wait for the answer to a call, and to each word of the greeting */

enum whorl_result wh_tcp_meet_open(struct wh_tcp *t, struct wh_error *err);
void wh_tcp_meet_tick(struct wh_tcp *t); /* the timer has run out */
/* Its connection is readable, or writable, for the first time; true: frames may be read. */
bool wh_tcp_link_open(struct wh_tcp *t, struct wh_tcp_peer *peer);
/* The hello with which it answers my call. */
void wh_tcp_on_answer(struct wh_tcp *t, struct wh_tcp_peer *peer, const struct wh_tcp_hello *hello);
bool wh_tcp_say_hello(struct wh_tcp *t, struct wh_tcp_peer *peer);
/* True, and why, if its sender cannot be of our group as we know it. */
bool wh_tcp_is_foreign(const struct wh_tcp *t, const struct wh_tcp_hello *hello, char reason[WH_TCP_REASON_BYTES]);
void wh_tcp_meet(struct wh_tcp *t, struct wh_tcp_peer *peer);
bool wh_tcp_searching(struct wh_transport *transport);

void wh_tcp_accept(struct wh_tcp *t);                          /* the listener is readable */
size_t wh_tcp_accept_on_message(struct wh_tcp *t, uint32_t i); /* stranger i is readable */
void wh_tcp_accept_tick(struct wh_tcp *t, uint64_t now); /* late ones are hung up, held ones are looked at again */
void wh_tcp_accept_close(struct wh_tcp *t);
void wh_tcp_stranger_drop(struct wh_tcp *t, struct wh_tcp_stranger *stranger);

/* ---- peers: tcp/peer.c --------------------------------------------------------------------------------------------- */

struct wh_tcp_link *wh_tcp_link_new(const struct wh_tcp_channel *channel, uint32_t node); /* NULL: no memory */
/* A frame of its, that is no push, is whole. */
void wh_tcp_on_message(struct wh_tcp *t, struct wh_tcp_peer *peer, const struct wh_tcp_head *head,
		       const unsigned char *body);
void wh_tcp_refuse(struct wh_tcp *t, struct wh_tcp_peer *peer, const char *format, ...) WH_PRINTF(3, 4);
/* The peer has ended: how is said in the event, unless it has left. Or it has not answered my call. */
void wh_tcp_lose(struct wh_tcp *t, struct wh_tcp_peer *peer, const char *how);
/* What belongs to the connection goes, and the incarnation that was met has ended. */
void wh_tcp_end_connection(struct wh_tcp *t, struct wh_tcp_peer *peer, enum wh_tcp_peer_state state);
void wh_tcp_hang_up(struct wh_tcp *t, struct wh_tcp_channel *channel);
void wh_tcp_past(struct wh_transport *transport, uint64_t key);
void wh_tcp_close_connections(struct wh_tcp *t);
void wh_tcp_leave(struct wh_transport *transport);
enum whorl_result wh_tcp_control_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count);

/* ---- streams: tcp/stream.c ----------------------------------------------------------------------------------------- */

struct wh_tcp_stream;

enum whorl_result wh_tcp_stream_open(struct wh_transport *transport, uint32_t node, uint64_t tag,
				     struct wh_stream **out);
/* One of mine that is being connected goes on. */
void wh_tcp_stream_advance(struct wh_tcp *t, uint32_t i);
/* A stranger opens one. True: it has been seen to; false: later. */
bool wh_tcp_stream_take(struct wh_tcp *t, struct wh_tcp_stranger *stranger, const struct wh_tcp_opening *opening);
void wh_tcp_stream_tick(struct wh_tcp *t, uint64_t now);
void wh_tcp_stream_close_all(struct wh_tcp *t); /* those that are not connected yet */

/* ---- visitors: tcp/query.c ----------------------------------------------------------------------------------------- */

void wh_tcp_on_question(struct wh_tcp *t, struct wh_tcp_stranger *stranger, const struct wh_tcp_head *head);
void wh_tcp_answer(struct wh_transport *transport, uint64_t query, const void *bytes, size_t count);

/* ---- regions: tcp/remote.c ------------------------------------------------------------------------------------------ */

extern const struct wh_remote_ops wh_tcp_remote_ops;

/* What a peer that has been met says of regions, its own or mine. False: it has no place there. */
bool wh_tcp_remote_on_message(struct wh_tcp *t, struct wh_tcp_peer *peer, const struct wh_tcp_head *head,
			      const unsigned char *body);
/* Moves what waits for room to where it leaves from. False: there was nothing, or there is no room. */
bool wh_tcp_remote_refill(struct wh_tcp_peer *peer);
/* The connection has ended, and with it what was granted over it, either way. */
void wh_tcp_remote_end(struct wh_tcp_peer *peer);
void wh_tcp_remote_free(struct wh_tcp *t);

/* ---- images: tcp/image.c ------------------------------------------------------------------------------------------- */

struct wh_tcp_row {
	struct wh_tcp_peer *peer; /* of its node; it may be another incarnation than the row's, or none */
	uint64_t incarnation;
	uint64_t bytes;
	struct wh_row_part *parts; /* ascending, those that touch as one */
	size_t part_count;
	unsigned char *base; /* its place here; NULL: none yet */
};

struct wh_tcp_image {
	struct wh_image base;
	struct wh_tcp_image *next;
	bool announced; /* the event that it is ready has been taken */
	bool closed;    /* kept for what is still to leave */
	uint32_t holds; /* ranges in queues */
	struct wh_exchange exchange;
	uint64_t layout_digest, control_bytes, own_bytes;
	struct wh_tcp_row *rows; /* by rank */
	struct wh_row_part *parts;
	unsigned char *zeros; /* the columns of those that were frozen before it was ready */
	uint64_t *arrived;    /* by rank: bytes */
};

enum whorl_result wh_tcp_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err);
void wh_tcp_image_close(struct wh_image *base);
void wh_tcp_post(struct wh_image *base, const struct wh_push *pushes, size_t count);
void wh_tcp_freeze(struct wh_image *base, uint32_t rank);

size_t wh_tcp_image_advance(struct wh_tcp *t, struct wh_tcp_image *image);
/* It has a place for my row of that image. */
void wh_tcp_image_confirmed(struct wh_tcp *t, const struct wh_tcp_peer *peer, uint64_t key);
bool wh_tcp_image_wants(const struct wh_tcp *t, const struct wh_tcp_peer *peer, uint64_t key);
bool wh_tcp_image_is_open(const struct wh_tcp *t, uint64_t key);
/* Where what the peer pushes to that image goes; NULL: nowhere. *image is then NULL too. */
const struct wh_tcp_row *wh_tcp_image_row(const struct wh_tcp *t, const struct wh_tcp_peer *peer, uint64_t key,
					  struct wh_tcp_image **image);
/* All of the span is part of the row here. */
bool wh_tcp_row_holds(const struct wh_tcp_row *row, uint64_t offset, uint64_t bytes);
void wh_tcp_image_hold(struct wh_tcp_image *image);
void wh_tcp_image_let_go(struct wh_tcp_image *image);
void wh_tcp_image_free(struct wh_tcp_image *image);

/* ---- the transport: tcp.c ------------------------------------------------------------------------------------------ */

/* What an epoll event is about: the kind in the upper half of its data, an index in the lower. */
enum wh_tcp_source {
	WH_TCP_DOORBELL,
	WH_TCP_TIMER,
	WH_TCP_LISTENER,
	WH_TCP_FROM_STRANGER,
	WH_TCP_FROM_PEER,
	WH_TCP_TO_STREAM
};

#define WH_TCP_EVENTS 16        /* a power of two */
#define WH_TCP_EVENTS_AT_ONCE 3 /* at most so many come of what is taken in at once */
#define WH_TCP_STREAMS 16       /* that are being connected */

struct wh_tcp {
	struct wh_transport base;
	const struct wh_env *env;
	char group[WH_TCP_GROUP_BYTES];
	uint32_t node, nodes;
	uint64_t incarnation;
	int huge_pages;
	struct wh_secure_ground ground; /* [const] key and tls are held */

	int epoll, doorbell, listener; /* doorbell: [any thread writes it] */

	bool left, forked, listener_rests;
	bool gathers; /* pushes are collected until flush() */
	struct wh_redial redial;
	uint64_t queries;     /* questions so far */
	uint64_t calls;       /* so far */
	uint32_t dirty_count; /* links that are dirty */
	uint64_t kept_ns;     /* since when some have been kept so; 0: none */
	uint32_t held_count;  /* links, at most, with a frame that is held */
	struct wh_tcp_stranger *strangers;
	uint32_t stranger_count;
	struct wh_tcp_stream *streams[WH_TCP_STREAMS];
	struct wh_tcp_image *images; /* in the order in which they were opened */
	uint64_t past_key;           /* no image below it will be opened any more */

	struct wh_tcp_region *regions;
	uint32_t next_lane; /* its events of regions are looked at first */

	char *names; /* of the peers' addresses */
	struct wh_tcp_names *lookups;
	struct wh_event_queue event_queue;
	struct wh_transport_event events[WH_TCP_EVENTS];

	struct wh_tcp_peer peers[]; /* by node id */
};

static inline struct wh_tcp *wh_tcp_of(struct wh_transport *transport)
{
	return (struct wh_tcp *)transport;
}

bool wh_tcp_watch(struct wh_tcp *t, int operation, int fd, uint32_t events, enum wh_tcp_source source, uint32_t index);
/* It has something to flush. */
void wh_tcp_mark(struct wh_tcp *t, struct wh_tcp_link *link, bool patient);
/* The same, and it leaves at once, or when the pass ends. */
void wh_tcp_dirty(struct wh_tcp *t, struct wh_tcp_link *link);
void wh_tcp_flush(struct wh_tcp *t); /* all that are; nothing is gathered until the next take */

#endif
