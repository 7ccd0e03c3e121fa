/* session.h - which nodes are there, which are let in, which are gone: for all transports, and the same code in the simulator.
 *
 * A session knows the other nodes of a group (peers), finds them, meets them, carries what they say to each other (T10), makes
 * images ready (T8), and answers visitors (T11). It sees no sockets and no memory that peers write to: connections are a wire's
 * (wire.h), images and regions the transport's own (its plane).
 *
 * A newcomer calls all others: those that are there answer, those that are not will call when they come, and are called again now
 * and then, in case they cannot call me. Of two calls that cross that of the higher id counts, and the other is hung up.
 *
 *     ABSENT   -> CALLED     I have begun to connect to it; my hello is sent
 *     CALLED   -> MET        its hello has come, and I have said so
 *     any      -> ANSWERED   it has called, its hello was good, mine is sent
 *     ANSWERED -> MET        it has taken mine
 *     CALLED   -> ABSENT     it hung up, or took too long: it will be called again
 *     ANSWERED -> ABSENT     it hung up. I do not: it may have met me already, and an incarnation is met once
 *     MET      -> ABSENT     it left, died, or broke the protocol
 *     any      -> REJECTED   one has refused the other: it is called again, seldom, as another incarnation may be there
 *
 * A connection is lost for good, so it outlasts a cut of the network between two members: the wire holds it (wire.h) for as long as the
 * configuration says. One in the place of which another incarnation calls, and which does not answer whether it is there, is not held.
 *
 * A lane has a session of its own (lanes.h): with one peer for each node, which it calls when its node has met that, and says that
 * it has the lane. All callers come in by the door of the node's own session.
 *
 * An incarnation is met once: what has ended or been refused is not met again, whichever side calls. tests/models/meet.c is the
 * model of these rules, docs/decisions/0038-one-session.md tells why they are so.
 *
 * Loop thread only.
 */
#ifndef WH_TRANSPORT_SESSION_SESSION_H
#define WH_TRANSPORT_SESSION_SESSION_H

#include "transport/session/event_queue.h"
#include "transport/session/known_incarnations.h"
#include "transport/session/lanes.h"
#include "transport/session/redial.h"
#include "transport/session/wire.h"

struct wh_session;

/* ---- peers -------------------------------------------------------------------------------------------------------- */

enum wh_peer_state { WH_PEER_SELF, WH_PEER_ABSENT, WH_PEER_CALLED, WH_PEER_ANSWERED, WH_PEER_MET, WH_PEER_REJECTED };

#define WH_SESSION_OFFERS 8 /* kept of one peer; beyond, the one of the lowest key is dropped */

struct wh_kept_offer {
	bool there;
	struct wh_offer offer;
	unsigned char *own; /* what the transport has added */
	uint32_t own_bytes;
	int fd; /* -1: none */
};

struct wh_peer {
	enum wh_peer_state state;
	uint32_t node;
	uint64_t incarnation; /* since its hello was good; else 0 */
	uint64_t known; /* which incarnation the user of the transport was told of last as met; 0: that has ended */
	struct wh_conn *conn;  /* NULL: none */
	bool left;             /* it has said that it goes */
	bool refusal_told;     /* that it was refused, or has refused, before anything was proven */
	const char *doomed;    /* it will be given up at the next service: why */
	uint64_t call, caller; /* the number of its call that was answered last, and of which incarnation that was */
	uint64_t pinged_ns;    /* another has come in its place: is it still there? 0: not asked */
	uint64_t ponged_ns;    /* when it last said so */
	uint64_t lanes_told;   /* which lanes it knows that this node has */
	uint64_t here;         /* of a lane: which incarnation of it is here for the lane's node; 0: none */
	bool has_lane;         /* of a lane: that says that it has this one */
	struct wh_redial_peer redial;       /* at_ns: ABSENT: when it is to be called; CALLED: when that is given up */
	struct wh_known_incarnations ended; /* it is not met again as one of those */
	char text[WH_CONN_TEXT_BYTES];      /* where it is, or was last */
	struct wh_kept_offer offers[WH_SESSION_OFFERS];
};

/* ---- images ------------------------------------------------------------------------------------------------------- *
 * Each pair of members exchanges two messages: "this is my row", an offer, and "I have mapped yours": its place is known here. The
 * image is ready when both have come from every member that is not frozen: none can then miss what I push, nor I what they push.
 * Images come and go while peers still have theirs open, or not yet: what they say of one that is not open here is kept or ignored,
 * and one that is closed says nothing. */

struct wh_session_row {
	struct wh_peer *peer; /* of its node; it may be another incarnation than the row's, or none */
	uint64_t incarnation;
	uint64_t bytes;
	struct wh_row_part *parts; /* that are here: ascending, those that touch as one */
	size_t part_count;
	bool offered;      /* it has been offered my row */
	bool offers_again; /* it is to be offered it again: the peer may have dropped the offer */
	bool mapped;       /* its row is mapped here */
	bool told;         /* and it knows */
	bool confirmed;    /* it has mapped mine */
	bool frozen;
};

struct wh_session_image { /* the first field of each transport's own */
	struct wh_image base;
	struct wh_session *session;
	struct wh_session_image *next;
	uint64_t layout_digest, control_bytes;
	struct wh_session_row *rows; /* by rank */
	struct wh_row_part *parts;   /* of all rows */
	struct wh_relay_spec *relays;
	size_t relay_count;
	const unsigned char **control,
		**row;  /* by rank: those of `base`, once it is ready. The transport sets control of those that it
					       * freezes before */
	bool announced; /* the event that it is ready has been taken */
	bool settled;   /* nothing is left to be sent or to be waited for */
};

/* The row's peer is there, and is the incarnation that the row belongs to: not one that has come after it. */
static inline bool wh_session_row_is_here(const struct wh_session_row *row)
{
	return row->peer->state == WH_PEER_MET && row->peer->incarnation == row->incarnation;
}

/* Fills in an image that is all zeros, as it is before it is ready. False: no memory; wh_session_image_free frees what there is. */
WH_MUST_CHECK bool wh_session_image_init(struct wh_session_image *image, struct wh_session *s,
					 struct wh_transport *transport, const struct wh_image_spec *spec);
void wh_session_image_free(struct wh_session_image *image);
/* May the member of rank `before` push these bytes of the row of `owner` here (T14)? Any numbers. */
bool wh_session_image_relays(const struct wh_session_image *image, uint32_t before, uint32_t owner, uint64_t offset,
			     uint64_t bytes);
/* From now on rows are exchanged; base.own is set. */
void wh_session_image_open(struct wh_session_image *image);
/* It is not open any more, nor will one of a lower key ever be. */
void wh_session_image_close(struct wh_session_image *image);
/* The first that is open, in the order in which they were opened. */
struct wh_session_image *wh_session_images(const struct wh_session *s);
/* The image with that key, and the rank of that peer in it. NULL: none is open, or it is not in it as this incarnation. */
struct wh_session_image *wh_session_image_of(const struct wh_session *s, const struct wh_peer *peer, uint64_t key,
					     uint32_t *rank);

/* ---- the session -------------------------------------------------------------------------------------------------- */

struct wh_session_setup {
	const struct wh_transport_config *config;
	struct wh_lanes *lanes; /* NULL: the node has none. Held by the session as long as it needs them */
	uint32_t lane;          /* 0: it is the node's own session */
	const char *name;       /* of the transport, in lines of the log */
	uint32_t version;       /* of its messages */
	const struct wh_wire_ops *wire_ops;
	struct wh_wire *wire;
	const struct wh_plane_ops *plane_ops;
	struct wh_transport *transport;
};

/* WHORL_OK, WHORL_INVALID: the group's name is too long, or there is no incarnation. */
WH_MUST_CHECK enum whorl_result wh_session_check(const struct wh_transport_config *config, struct wh_error *err);
/* Of a configuration that has been checked. WHORL_OK, WHORL_MEMORY. */
enum whorl_result wh_session_new(const struct wh_session_setup *setup, struct wh_session **out, struct wh_error *err);
/* The wire is open: peers are called, callers are heard. */
void wh_session_begin(struct wh_session *s);
/* Connections are closed; images have been freed. Events that were not taken are dropped. NULL is fine. */
void wh_session_free(struct wh_session *s, bool forked);

/* ---- what the wire tells ------------------------------------------------------------------------------------------ */

void wh_session_on_caller(struct wh_session *s);
/* The connection in that slot has something to say, or goes on with its greeting. Returns how much was done. */
size_t wh_session_on_ready(struct wh_session *s, uint32_t slot);
/* An alarm has come. True: there are events, or service has something to do. Mostly its reason is gone by then. */
bool wh_session_on_timer(struct wh_session *s);
/* NULL: there is no connection in it any more. */
struct wh_conn *wh_session_conn(const struct wh_session *s, uint32_t slot);
uint32_t wh_session_slots(const struct wh_session *s);

/* ---- what a transport does with it -------------------------------------------------------------------------------- */

/* What is not the fast path. Returns how much it did. */
size_t wh_session_service(struct wh_session *s);
bool wh_session_next_event(struct wh_session *s, struct wh_transport_event *out);
bool wh_session_is_full(const struct wh_session *s); /* there is no room for events: nothing is taken in */
struct wh_event_queue *wh_session_events(struct wh_session *s);
struct wh_peer *wh_session_peer(struct wh_session *s, uint32_t node); /* one of the group */

/* The peer has been met, and the user of the transport has taken the event that says so: of this incarnation, and of no later end. What
 * that user sends is for the life that it knows of. */
bool wh_session_knows(const struct wh_session *s, uint32_t node);

/* A message of the transport's own, to a peer that has been met. */
enum wh_wire_result wh_session_send(struct wh_session *s, uint32_t node, const unsigned char *message, size_t bytes,
				    const int *fds, size_t fd_count, enum wh_wire_room room);
/* The peer is refused, and told why; and what kind of a complaint that is. */
void wh_session_refuse(struct wh_session *s, struct wh_peer *peer, enum wh_complaint kind, const char *format, ...)
	WH_PRINTF(4, 5);
/* The peer has ended: how is said in the event, unless it has left. Or it has not answered my call. */
void wh_session_lose(struct wh_session *s, struct wh_peer *peer, const char *how);
/* The same, in the next service: for a caller that must not lose it now. `how` is constant. */
void wh_session_doom(struct wh_session *s, uint32_t node, const char *how);
/* T12: the process of that incarnation, which has been met, has ended. What has come of it before is taken in, its end is told if it
 * was not (a forked child may have its connection), then that it is dead; of one that left in order nothing. True: it is not to be
 * said again. False: there is no room for events, or more has come than is taken in at once: again later. */
WH_MUST_CHECK bool wh_session_prove_dead(struct wh_session *s, uint32_t node, uint64_t incarnation);

enum whorl_result wh_session_control_send(struct wh_session *s, uint32_t node, const void *bytes, size_t count);
enum whorl_result wh_session_stream_open(struct wh_session *s, uint32_t node, uint64_t tag, struct wh_stream **out);
bool wh_session_searching(const struct wh_session *s);
void wh_session_answer(struct wh_session *s, uint64_t query, const void *bytes, size_t count);
/* A view has begun here: no image of a lower key will be opened any more, and connections hold through a cut. Before that nothing of this
 * node's is at stake, and it waits for none that has vanished. */
void wh_session_past(struct wh_session *s, uint64_t key);
void wh_session_leave(struct wh_session *s); /* events that were not taken are dropped, and none comes any more */
bool wh_session_has_left(const struct wh_session *s);
/* Of a lane: the session has begun, and its transport can be rung: others get to know of it. As wh_lanes_open. */
enum whorl_result wh_session_open_lane(struct wh_session *s, struct wh_error *err);
/* Of the node's own session: for its lanes that incarnation has ended. */
void wh_session_lanes_part(struct wh_session *s, uint32_t node, uint64_t incarnation);
void wh_session_complaints(const struct wh_session *s, uint64_t out[WH_COMPLAINTS]); /* any thread */

/* ---- the same in a transport's table ------------------------------------------------------------------------------- */

struct wh_session_transport { /* the first field of each transport on a session */
	struct wh_transport base;
	struct wh_session *session;
};

/* Of struct wh_transport_ops: what is the session's alone. */
bool wh_session_table_next_event(struct wh_transport *t, struct wh_transport_event *out);
enum whorl_result wh_session_table_control_send(struct wh_transport *t, uint32_t node, const void *bytes, size_t count);
enum whorl_result wh_session_table_stream_open(struct wh_transport *t, uint32_t node, uint64_t tag,
					       struct wh_stream **out);
bool wh_session_table_searching(struct wh_transport *t);
void wh_session_table_answer(struct wh_transport *t, uint64_t query, const void *bytes, size_t count);
void wh_session_table_past(struct wh_transport *t, uint64_t key);
void wh_session_table_lanes_part(struct wh_transport *t, uint32_t node, uint64_t incarnation);
void wh_session_table_complaints(const struct wh_transport *t, uint64_t out[WH_COMPLAINTS]);

#endif
