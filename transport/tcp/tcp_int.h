/* tcp_int.h - inside the tcp transport.
 *
 *     tcp.c          the table: doorbell, service, create and destroy
 *     tcp/wire.c     connections of the session: connecting, accepting, messages; and when they are flushed
 *     tcp/channel.c  a connection: the one place that reads and writes sockets, and where keys and TLS have their place
 *     tcp/sealed.c   with TLS: parts into records, and back
 *     tcp/shaker.c   handshakes of TLS, off the loop
 *     tcp/frame.c    frames as bytes (tcp/frame.h; docs/wire.md)
 *     tcp/in.c       what comes: received into its place in the image
 *     tcp/out.c      what leaves: frames of a batch in one gathered write
 *     tcp/queue.c    pushes that have not left yet
 *     tcp/address.c  addresses as text, and what they mean
 *     tcp/names.c    names that are looked up again, off the loop
 *     tcp/stream.c   streams, a connection each
 *     tcp/image.c    images: which rows have a place here, post and freeze
 *     tcp/remote.c   regions: what others ask is done by this loop
 *     tcp/query.c    visitors: programs that ask a node, and are no nodes
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
#include "transport/session/session.h"
#include "transport/tcp/frame.h"
#include "transport/tcp/tcp.h"
#include "transport/tcp/wire.h"

struct wh_tcp;
struct wh_tcp_image;
struct wh_tcp_conn;
struct wh_tcp_step;

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
/* A node cannot be reached, or its address is not known: it is looked up, unless that was done just now. */
void wh_tcp_names_ask(struct wh_wire *wire, uint32_t node);
void wh_tcp_names_tick(struct wh_tcp_wire *w); /* what has been found is used */

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
	int received;   /* with TLS: an enum wh_tcp_io: how the socket was left by the read that is under way */
	unsigned turns; /* what it has said, before the first frame, that I have answered: each earns it time anew */
	struct wh_secure *secure; /* what the other end has proven to be */
	struct wh_tcp_step *step; /* NULL, or where all of it is but for `turns`: tcp/shaker.c */
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
 * (wh_tcp_channel_reason) one of the two has refused the other. Any thread, one at a time. */
enum wh_tcp_io wh_tcp_channel_shake(struct wh_tcp_channel *channel, bool *writes);
/* The same, but that what has come is not taken off the socket: nothing is computed. `*hears`: there is something. */
enum wh_tcp_io wh_tcp_channel_look(struct wh_tcp_channel *channel, bool *writes, bool *hears);
/* Each reads or writes as much as goes. With WH_TCP_DONE *done is how much, >= 1. Any thread, one at a time. */
enum wh_tcp_io wh_tcp_channel_write(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				    size_t *done);
enum wh_tcp_io wh_tcp_channel_read(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				   size_t *done);
/* What is on the socket, as it is. */
enum wh_tcp_io wh_tcp_channel_receive(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				      size_t *done);
/* The last that is written, `bytes` of them. False: the socket has not taken all; true also where there is no other end any more. */
WH_MUST_CHECK bool wh_tcp_channel_write_last(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
					     size_t bytes);
/* With TLS bytes may be sealed and not sent yet: they leave with the next write, or with this. WH_TCP_DONE: there are none. */
enum wh_tcp_io wh_tcp_channel_flush(struct wh_tcp_channel *channel);
/* From now on it lasts while nothing comes through for so long; 0: for a few seconds. */
void wh_tcp_channel_hold(const struct wh_tcp_channel *channel, uint64_t ns);
/* From now on nothing that has been taken waits for a later call: for a thread that may not make one. */
void wh_tcp_channel_take_care(struct wh_tcp_channel *channel);
bool wh_tcp_channel_unsent(const struct wh_tcp_channel *channel);
/* "" where neither side has refused the other. Valid until the channel is closed. */
const char *wh_tcp_channel_reason(const struct wh_tcp_channel *channel);
/* Of one with a reason: what did not fit. */
enum wh_secure_fault wh_tcp_channel_fault(const struct wh_tcp_channel *channel);
/* The version that the other side has named; 0: none. */
uint32_t wh_tcp_channel_spoken(const struct wh_tcp_channel *channel);
/* `forked`: the other side is not told. */
void wh_tcp_channel_close(struct wh_tcp_channel *channel, bool forked);
/* The other end's address as text. */
const char *wh_tcp_channel_whence(const struct wh_tcp_channel *channel, char *text, size_t bytes);
/* Whether the other end may be believed when it says that it is that node; if not, why. */
bool wh_tcp_channel_may_be(const struct wh_tcp_channel *channel, uint32_t node, uint64_t incarnation,
			   char reason[WH_SECURE_REASON_BYTES]);

/* ---- with TLS: tcp/sealed.c --------------------------------------------------------------------------------------- */

/* As wh_tcp_channel_write and wh_tcp_channel_read. */
enum wh_tcp_io wh_tcp_sealed_write(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				   size_t *done);
enum wh_tcp_io wh_tcp_sealed_read(struct wh_tcp_channel *channel, const struct iovec *parts, size_t count,
				  size_t *done);

/* ---- handshakes off the loop: tcp/shaker.c ------------------------------------------------------------------------ */

struct wh_tcp_shaker;

struct wh_tcp_caller {          /* that has a channel which shakes hands */
	uint32_t source, index; /* of its events */
	bool first; /* it is called by this node, or from a host of the configuration: it does not wait for others */
};

/* WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM. */
enum whorl_result wh_tcp_shaker_new(const struct wh_env *env, struct wh_poll *poll, struct wh_tcp_shaker **out,
				    struct wh_error *err);
/* Waits for the step that is under way, if any. All channels that shook hands by it are closed. NULL is fine. */
void wh_tcp_shaker_free(struct wh_tcp_shaker *shaker);
/* As wh_tcp_channel_shake; the socket is in the poll. WH_TCP_LATER and channel->step: a worker has it, and the poll tells
 * nothing of it, until WH_TCP_SHAKEN does; then to be called again. `shaker` NULL: all is done here and now. */
enum wh_tcp_io wh_tcp_shaker_shake(struct wh_tcp_shaker *shaker, struct wh_tcp_channel *channel,
				   const struct wh_tcp_caller *caller, bool *writes);
/* The first that is done, and that the loop has not taken back. False: none. */
bool wh_tcp_shaker_done(struct wh_tcp_shaker *shaker, uint32_t *source, uint32_t *index);
void wh_tcp_shaker_ring(const struct wh_tcp_shaker *shaker); /* WH_TCP_SHAKEN is told. Any thread */
void wh_tcp_shaker_hush(const struct wh_tcp_shaker *shaker); /* no more */
/* Its channel is closed, as by wh_tcp_channel_close: at once, or, if it is under way, when that ends. */
void wh_tcp_step_drop(struct wh_tcp_step *step, bool forked);

/* ---- pushes that have not left: tcp/queue.c ------------------------------------------------------------------------ */

#define WH_TCP_QUEUE_MAX 65536      /* ranges, and words, that wait for one peer: beyond, it is stalled for good */
#define WH_TCP_RANGE_MAX (1u << 18) /* bytes of one range; larger ones are cut */

struct wh_tcp_range {
	struct wh_tcp_image *image;
	uint32_t owner; /* rank: of the row that it is of */
	struct wh_tcp_span span;
};

struct wh_tcp_value {
	struct wh_tcp_image *image;
	struct wh_tcp_word word;
	uint64_t behind; /* so many ranges were posted before it, ever */
	bool ends;       /* much lies before it: a frame goes no further, so that it need not wait for what follows */
};

/* First ranges, then words, in the order in which they were posted. That a range is ahead of words that were posted before
 * it does no harm: its bytes are final, and no thread looks at them before the guard that was posted later (on shared memory
 * bytes are there at once). A word never overtakes a range or a word that was posted before it. */
struct wh_tcp_queue {
	struct wh_tcp_range *ranges;
	struct wh_tcp_value *words;
	uint32_t range_count, range_room, range_at; /* those before `at` have left */
	uint32_t word_count, word_room, word_at;
	uint64_t left;  /* ranges, ever */
	uint64_t since; /* bytes of ranges since the last word that ends a frame */
	uint32_t fixed; /* ranges before this one are on their way, and do not grow any more */
	bool loud;      /* one of them ends a sleep */
};

/* False: the queue is full, or there is no memory: the peer is given up. */
WH_MUST_CHECK bool wh_tcp_queue_range(struct wh_tcp_queue *queue, struct wh_tcp_image *image, uint32_t owner,
				      uint64_t offset, uint64_t bytes);
WH_MUST_CHECK bool wh_tcp_queue_word(struct wh_tcp_queue *queue, struct wh_tcp_image *image, uint64_t offset,
				     uint64_t value);
bool wh_tcp_queue_empty(const struct wh_tcp_queue *queue);
/* The next frame: how many ranges and words it has, all of one image, the ranges of one row, at most WH_TCP_RANGES_MAX and
 * WH_TCP_WORDS_MAX, and about `bytes` bytes. Words come only with the last of the ranges that were posted before them. */
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

/* A whole frame. False: there is no room. */
bool wh_tcp_out_message(struct wh_tcp_out *out, const unsigned char *frame, size_t bytes, enum wh_wire_room room);
/* Writes until all has left, or the socket is full. */
void wh_tcp_out_flush(struct wh_tcp_conn *conn);
bool wh_tcp_out_empty(const struct wh_tcp_out *out);

/* ---- what comes: tcp/in.c ------------------------------------------------------------------------------------------ */

#define WH_TCP_IN_BYTES (64u << 10)

struct wh_tcp_in {
	unsigned char *bytes; /* read and not yet looked at: [at, count) */
	uint32_t at, count;
	/* The push that is under way. */
	bool pushing, loud;
	struct wh_tcp_image *image; /* NULL: it goes nowhere */
	unsigned char *row;         /* that its ranges are of, in it */
	unsigned char *columns;     /* the peer's row, in it */
	uint64_t *arrived;          /* of that one */
	struct wh_tcp_span spans[WH_TCP_RANGES_MAX];
	struct wh_tcp_word words[WH_TCP_WORDS_MAX];
	uint32_t span_count, span_at, word_count;
	uint32_t span_done; /* bytes of the span at span_at */
	uint64_t left;      /* bytes that are still to come */
	bool large;         /* the last one was: the next is likely to be */
	bool held;          /* a whole frame waits for room for its event */
	bool dry;           /* all that had come has been taken in */
};

/* Of a connection that has been adopted: as in struct wh_wire_ops. Takes in pushes that come before the message. */
enum wh_wire_result wh_tcp_in_receive(struct wh_tcp_conn *conn, struct wh_message *m);
/* Nothing of this image is written any more by this peer; NULL: of any. */
void wh_tcp_in_forget(struct wh_tcp_in *in, const struct wh_tcp_image *image);

/* ---- connections of the session: tcp/wire.c ------------------------------------------------------------------------ */

enum wh_tcp_stage { WH_TCP_CONNECTING, WH_TCP_SHAKING, WH_TCP_OPEN };

struct wh_tcp_link {  /* of one that is a peer's: what a stranger has no need of, and could fill a host with */
	bool dirty;   /* something waits to be flushed, ... */
	bool patient; /* ... and may wait a little longer */
	struct wh_tcp_in in;
	struct wh_tcp_out out;
};

struct wh_tcp_conn {
	struct wh_conn base;
	struct wh_tcp_wire *wire;
	struct wh_tcp_channel channel;
	enum wh_tcp_stage stage;
	bool watched, watches_write; /* in epoll */
	struct wh_tcp_link *link;    /* NULL: a stranger's */
	uint32_t first_count; /* of a stranger: bytes of its first message, which is read to its end and not a byte further: */
	unsigned char first[WH_MESSAGE_MAX]; /* what follows belongs to the peer or the stream that it becomes */
};

static inline struct wh_tcp_conn *wh_tcp_conn_of(struct wh_conn *c)
{
	return (struct wh_tcp_conn *)c;
}

struct wh_tcp_host { /* where a node is */
	struct wh_tcp_address address;
	const char *name;      /* the same as text */
	uint64_t looked_up_ns; /* when that was last looked up, after the first time; 0: not again */
};

struct wh_tcp_stream;

#define WH_TCP_STREAMS 16 /* that are being connected */

struct wh_tcp_wire {
	const struct wh_env *env;
	struct wh_poll *poll;
	struct wh_session *session;
	struct wh_transport *transport;
	struct wh_secure_ground ground; /* [const] key and tls are held */
	char group[WH_MESSAGE_GROUP_BYTES];
	uint32_t node, nodes;
	uint64_t cut_ns; /* [const] */
	int listener;
	bool forked;
	bool gathers;               /* what is posted and sent is collected until wh_tcp_wire_flush */
	struct wh_tcp_wire_use use; /* [const] */
	/* NULL, or the transport's own: */
	bool (*refill)(struct wh_tcp_wire *w,
		       uint32_t node); /* moves what waits for room to where it leaves from. False: nothing */
	uint32_t dirty_count;          /* links that are dirty */
	uint64_t kept_ns;              /* since when some have been kept so; 0: none */
	uint32_t held_count;           /* links, at most, with a frame that is held */
	size_t work;                   /* pushes that a thread may wait for, so far */
	char *names;                   /* of hosts */
	struct wh_tcp_names *lookups;
	struct wh_tcp_shaker *shaker; /* NULL: there is no TLS */
	struct wh_tcp_stream *streams[WH_TCP_STREAMS];
	struct wh_tcp_host hosts[]; /* by node id */
};

static inline struct wh_tcp_wire *wh_tcp_wire_of(struct wh_wire *w)
{
	return (struct wh_tcp_wire *)w;
}

/* The connection of a peer; NULL: none. */
static inline struct wh_tcp_conn *wh_tcp_wire_conn(const struct wh_tcp_wire *w, uint32_t node)
{
	return wh_tcp_conn_of(wh_session_peer(w->session, node)->conn);
}

/* It has something to flush. */
void wh_tcp_mark(struct wh_tcp_conn *conn, bool patient);
/* The same, and it leaves at once, or when the pass ends. */
void wh_tcp_dirty(struct wh_tcp_conn *conn);
/* Those that are; the patient ones are kept until something else goes to the same peer, but not for long. */
void wh_tcp_wire_flush_pass(struct wh_tcp_wire *w);

/* ---- streams: tcp/stream.c ----------------------------------------------------------------------------------------- */

/* As in struct wh_wire_ops. */
enum whorl_result wh_tcp_stream_open(struct wh_conn *c, const struct wh_opening *opening, struct wh_stream **out);
enum wh_wire_result wh_tcp_stream_take(struct wh_conn *c, struct wh_message *m, struct wh_stream **out);
/* One of mine that is being connected goes on. */
void wh_tcp_stream_advance(struct wh_tcp_wire *w, uint32_t i);
void wh_tcp_stream_tick(struct wh_tcp_wire *w, uint64_t now);
void wh_tcp_stream_close_all(struct wh_tcp_wire *w); /* those that are not connected yet */

/* ---- regions: tcp/remote.c ------------------------------------------------------------------------------------------ */

struct wh_tcp_remote;

extern const struct wh_remote_ops wh_tcp_remote_ops;

/* What a peer that has been met says of regions, its own or mine. False: it has no place there. */
bool wh_tcp_remote_on_message(struct wh_transport *transport, uint32_t node, struct wh_message *m);
/* Moves what waits for room to where it leaves from. False: there was nothing, or there is no room. */
bool wh_tcp_remote_refill(struct wh_tcp_wire *w, uint32_t node);
/* The connection has ended, and with it what was granted over it, either way. */
void wh_tcp_remote_end(struct wh_transport *transport, uint32_t node);
void wh_tcp_remote_free(struct wh_tcp *t);

/* ---- images: tcp/image.c ------------------------------------------------------------------------------------------- */

struct wh_tcp_image {
	struct wh_session_image base;
	bool closed;    /* kept for what is still to leave */
	uint32_t holds; /* ranges in queues */
	uint64_t own_bytes;
	int huge_pages;
	unsigned char **places; /* by rank: of the rows of others; NULL: none yet */
	unsigned char *zeros;   /* the columns of those that were frozen before it was ready */
	uint64_t *arrived;      /* by rank: bytes */
};

enum whorl_result wh_tcp_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err);
void wh_tcp_image_close(struct wh_image *base);
void wh_tcp_post(struct wh_image *base, const struct wh_push *pushes, size_t count);
void wh_tcp_freeze(struct wh_image *base, uint32_t rank);

/* Makes a place for the row that a peer has offered: as in struct wh_plane_ops. */
const unsigned char *wh_tcp_image_map(struct wh_session_image *image, uint32_t rank, const unsigned char *own,
				      size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES]);
/* The image to which that node may push, and its rank in it. NULL: none with that key. */
struct wh_tcp_image *wh_tcp_image_for(const struct wh_tcp_wire *w, uint32_t node, uint64_t key, uint32_t *rank);
/* All of the span is part of the row here. */
bool wh_tcp_row_holds(const struct wh_session_row *row, uint64_t offset, uint64_t bytes);
void wh_tcp_image_hold(struct wh_tcp_image *image);
void wh_tcp_image_let_go(struct wh_tcp_image *image);

/* ---- the transport: tcp.c ------------------------------------------------------------------------------------------ */

struct wh_tcp {
	struct wh_session_transport base;
	const struct wh_env *env;
	uint32_t node, nodes;
	uint64_t incarnation;
	uint32_t lane;          /* [const] 0: the node itself */
	struct wh_lanes *lanes; /* [const] of the node */
	int huge_pages;
	struct wh_poll poll;
	struct wh_tcp_wire *wire;
	struct wh_tcp_region *regions;
	uint32_t next_account;           /* its events of regions are looked at first */
	struct wh_tcp_remote *remotes[]; /* by node id: regions, mine for it and its for me; NULL: nothing so far */
};

static inline struct wh_tcp *wh_tcp_of(struct wh_transport *transport)
{
	return (struct wh_tcp *)transport;
}

#endif
