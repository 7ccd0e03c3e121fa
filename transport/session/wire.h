/* wire.h - what a session needs of whatever carries its messages: unix sockets (shm), tcp with keys or TLS (tcp and verbs), the
 * simulator.
 *
 * A connection joins two processes. It carries whole messages, in order, until it ends; each end learns of the end after all that
 * has come before it. A wire tells its session which connection is ready (wh_session_on_ready) and that some process has
 * connected (wh_session_on_caller); the session does all else. Loop thread only.
 */
#ifndef WH_TRANSPORT_SESSION_WIRE_H
#define WH_TRANSPORT_SESSION_WIRE_H

#include <sys/uio.h>

#include "transport/session/message.h"

struct wh_wire; /* each wire's own */

#define WH_NO_NODE UINT32_MAX
#define WH_CONN_TEXT_BYTES 64
#define WH_MESSAGE_FDS 2

/* One end of a connection: the first field of each wire's own struct. Made by connect or accept, freed by close or given away. */
struct wh_conn {
	/* The wire's: set before the session sees it. */
	bool proven;             /* the other end has proven what it is, or its kernel says so */
	bool configured;         /* it calls from a host of the configuration */
	uint64_t source;         /* its host, or process: equal for what may be one and the same caller */
	bool spoke;              /* it has said something; later too */
	enum wh_complaint fault; /* of one that `greet` refuses: what kind of a complaint that is; later too */
	uint32_t words;          /* what it has said before its first message: each earns it time anew; later too */
	uint64_t working_ns; /* since when the wire works on what it has said, which is not its time; 0: it does not; later too */
	bool more;           /* there may be more, but others have their turn: it will be told of again; later too */
	char text[WH_CONN_TEXT_BYTES]; /* where it is: "127.0.0.1:4711", "pid 42" */
	/* The session's. */
	uint32_t slot;     /* its number among the connections */
	uint32_t node;     /* of the peer that has it; WH_NO_NODE: a stranger's */
	bool called;       /* by this node */
	bool greeted;      /* what comes before its first message is over; the wire sets it where nothing does */
	bool held;         /* of a stranger: its first message is kept until it can be acted on */
	uint32_t reads;    /* by the wire, since the session began to take in what has come: 0 at the beginning */
	uint64_t since_ns; /* of a stranger: since when it is waited for; */
	uint64_t query;    /* the number of its question; 0: it has not asked */
};

enum wh_wire_result {
	WH_WIRE_DONE,
	WH_WIRE_LATER,
	WH_WIRE_NOBODY, /* no process is there */
	WH_WIRE_REFUSED, /* one of the two has refused the other before anything was proven, or could not accept: `reason` */
	WH_WIRE_LEFT,    /* the other end has left in order */
	WH_WIRE_ENDED,   /* the other end is closed, or its process is no more */
	WH_WIRE_BROKEN,  /* what has come is no message */
	WH_WIRE_CHANGED, /* what has come is not what was sent: TLS says so */
};

/* How much of what may wait for one peer a message may fill. Beyond WH_WIRE_USER there is room for the session's and the transport's
 * own: that no user can take it from them. */
enum wh_wire_room { WH_WIRE_USER, WH_WIRE_OWN };

struct wh_message { /* that has come */
	struct wh_message_head head;
	const unsigned char *body; /* until the next receive on that connection, or its end */
	int fds[WH_MESSAGE_FDS];   /* descriptors that came with it; -1: none, or kept: then it is another's to close */
};

struct wh_wire_ops {
	/* How long the other end may take for its answer to a call, and for each word before. 0: as long as it likes: where a kernel
	 * tells the end of each process. */
	uint64_t answer_ns;

	/* Begins to connect to that node. DONE: it is connected, or will be: `greet` says. Else as `greet`. */
	enum wh_wire_result (*connect)(struct wh_wire *w, uint32_t node, struct wh_conn **out,
				       char reason[WH_MESSAGE_REASON_BYTES]);
	/* The next process that has connected. LATER: there is none, or none can be had now. REFUSED: one has been turned away. BROKEN:
	 * there are no descriptors or no memory left: it is tried again after a pause, and nothing may tell of callers until then
	 * (`rest`). */
	enum wh_wire_result (*accept)(struct wh_wire *w, struct wh_conn **out);
	void (*rest)(struct wh_wire *w, bool rests);
	/* It has its slot: from now on the wire tells when it is ready; or does so no more. False: it cannot. */
	bool (*watch)(struct wh_conn *c, bool on);
	/* What comes before the first message: being connected, and proofs. DONE; LATER; NOBODY; REFUSED: `reason`; ENDED; BROKEN: it
	 * cannot be reached: `reason`, or "" where nothing is to be said of it. NULL: nothing does. */
	enum wh_wire_result (*greet)(struct wh_conn *c, char reason[WH_MESSAGE_REASON_BYTES]);
	/* What has been proven lets it be that node; if not, why. NULL: any. */
	bool (*admits)(const struct wh_conn *c, uint32_t node, uint64_t incarnation,
		       char reason[WH_MESSAGE_REASON_BYTES]);
	/* Which process has the id of a node? DONE: the one at the other end; REFUSED: another; LATER: it cannot be told now. NULL: only
	 * the one that is there can say whether it is. */
	enum wh_wire_result (*holds_id)(struct wh_conn *c, uint32_t node);
	/* A stranger, of which a first message has been received, is for that lane of this node: this wire tells nothing of it any more, and what
	 * follows is done by the thread of the lane. The message is kept with its descriptors, and is received again. */
	void (*hand_over)(struct wh_conn *c, uint32_t lane, struct wh_message *m);
	/* One that was handed over is this wire's from now on. */
	void (*take_over)(struct wh_wire *w, struct wh_conn *c);
	/* From now on it is a peer's, and no stranger's. False: there is no memory. */
	bool (*adopt)(struct wh_conn *c);
	/* From now on it lasts, or does not, while nothing comes through for as long as the configuration says (cut_ns). Of a peer's; one
	 * that does not ends some seconds after the host of the other end is not heard any more, or when that has forgotten it. NULL: no
	 * connection ends for that. */
	void (*hold)(struct wh_conn *c, bool on);
	/* Queues a whole message, and descriptors that stay the caller's. LATER: there is no room; when there is, the session is told,
	 * or after a moment. ENDED: the other end takes nothing any more; what it has sent may still be read. */
	enum wh_wire_result (*send)(struct wh_conn *c, const unsigned char *message, size_t bytes, const int *fds,
				    size_t fd_count, enum wh_wire_room room);
	/* The last of this connection, behind all that is queued, as far as it goes: the session closes then. False: not all of it. */
	bool (*finish)(struct wh_conn *c, const struct iovec *parts, size_t count);
	/* The next message; of a stranger the first, which may be asked for again until the connection is adopted. `m` is NULL where there is no room for one: all else that comes, as pushes, is taken in. LATER: there is none;
	 * LEFT, ENDED, BROKEN: there will be none; they may be asked for again. */
	enum wh_wire_result (*receive)(struct wh_conn *c, struct wh_message *m);
	/* Behind all that has been posted and sent the other end learns that this one goes in order. */
	void (*leave)(struct wh_conn *c);
	/* `forked`: this is a child of the process that made it: the other end is told nothing. */
	void (*close)(struct wh_conn *c, bool forked);
	/* A stream to the node at the other end of `c`, which goes on: WHORL_OK, WHORL_AGAIN, WHORL_MEMBER_GONE, WHORL_SYSTEM,
	 * WHORL_MEMORY. `opening` says what it is. */
	enum whorl_result (*stream_open)(struct wh_conn *c, const struct wh_opening *opening, struct wh_stream **out);
	/* The same at the other end. The message has come on `c`, a peer's; or that is a stranger's, and the stream's itself, which takes
	 * all of it that is to be closed. DONE, LATER: no memory, BROKEN: it is none. */
	enum wh_wire_result (*stream_take)(struct wh_conn *c, struct wh_message *m, struct wh_stream **out);
	/* It cannot be reached: there may be another address for it. NULL: none has another. */
	void (*look_up)(struct wh_wire *w, uint32_t node);
	/* wh_session_on_timer is called then, or earlier. */
	void (*alarm)(struct wh_wire *w, uint64_t in_ns);
};

/* What a transport adds to a session. Each may be NULL. */
#define WH_OWN_HELLO_MAX 64
#define WH_OWN_OFFER_MAX (WH_BODY_MAX - WH_OFFER_BYTES)

struct wh_own {               /* what it adds to a message */
	unsigned char *bytes; /* `room` of them */
	size_t room, count;
	int fds[WH_MESSAGE_FDS]; /* stay its own; -1: none */
};

struct wh_session_image;

struct wh_plane_ops {
	/* Adds to the HELLO for that connection. */
	void (*hello)(struct wh_transport *t, struct wh_conn *c, struct wh_own *own);
	/* Judges what the other node has added: `bytes` bytes at `own`, and m->fds. False: it is refused; why. */
	bool (*welcome)(struct wh_transport *t, uint32_t node, struct wh_conn *c, struct wh_message *m,
			const unsigned char *own, size_t bytes, char reason[WH_MESSAGE_REASON_BYTES]);
	void (*met)(struct wh_transport *t, uint32_t node);
	/* The connection is gone, met or not: what belonged to it goes. */
	void (*ended)(struct wh_transport *t, uint32_t node);
	/* A message of its own kinds. False: it has no place there. */
	bool (*on_message)(struct wh_transport *t, uint32_t node, struct wh_message *m);
	/* Adds to my offer of that image: where my row is. False: not now; it is tried again in each service. */
	bool (*offer)(struct wh_session_image *image, uint32_t rank, struct wh_own *own);
	/* Maps the row that is offered; everything but what it has added has been found to fit. NULL: it is refused, and `reason`
	 * says why; or, if that is empty, not now: it is tried again in each service. */
	const unsigned char *(*map)(struct wh_session_image *image, uint32_t rank, const unsigned char *own,
				    size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES]);
	/* What came with a HELLO or an OFFER will not be used. */
	void (*discard)(struct wh_transport *t, const struct wh_conn *c, enum wh_message_kind kind,
			const unsigned char *own, size_t bytes);
};

#endif
