/* session_int.h - inside the session.
 *
 *     session.c  the table: events, service, control messages, leaving
 *     call.c     the caller's side: when peers are called, and what comes of it
 *     door.c     the called side: strangers, of which some become peers, and visitors
 *     peer.c     what becomes of a connection between nodes: messages, its end
 *     image.c    how images become ready
 *     message.c  messages as bytes
 *     lane.c     a node's session tells of its lanes; that of a lane follows its node's
 *     lanes.c    what they have in common
 *     table.c    what is the session's alone in the table of a transport
 *
 *     redial.c, event_queue.c, known_incarnations.h  when a peer is called again; what is told; which lives have ended
 *     query.c    the asking side of a query, which needs no session
 *     poll.c     descriptors and the timer of transports that sleep on them
 */
#ifndef WH_TRANSPORT_SESSION_SESSION_INT_H
#define WH_TRANSPORT_SESSION_SESSION_INT_H

#include "transport/session/session.h"

#define WH_SESSION_EVENTS 16        /* a power of two */
#define WH_SESSION_EVENTS_AT_ONCE 3 /* at most so many come of what is taken in at once */

#define WH_SESSION_STRANGERS 256 /* and two for each node, for those that call from hosts of the configuration */
#define WH_SESSION_STRANGER_NS WH_NS_PER_S     /* for each word that it has to say, */
#define WH_SESSION_SILENT_NS (WH_NS_PER_S / 4) /* but for the first */

struct wh_session {
	const struct wh_env *env;
	const struct wh_wire_ops *wire_ops;
	struct wh_wire *wire;
	const struct wh_plane_ops *plane_ops;
	struct wh_transport *transport;
	char group[WH_MESSAGE_GROUP_BYTES];
	uint32_t node, nodes, version;
	uint64_t incarnation;

	struct wh_lanes *lanes; /* [const] NULL: the node has none */
	uint32_t lane;          /* [const] 0: this is the node's own session */
	bool lane_open;         /* others know of it */
	uint64_t lanes_seen;    /* of a lane: how many changes it has followed */
	uint64_t lanes_said;    /* of a node: all peers that are met have been told of these lanes, but if */
	bool lanes_unsaid;      /* one has not: there was no room, or it has just been met */

	bool left, forked;
	bool holds;              /* a view has begun here: connections hold through a cut */
	uint64_t rests_until_ns; /* nothing is accepted before; 0: callers are heard */
	struct wh_redial redial;
	uint64_t queries, calls;         /* so far */
	uint32_t slot_count, places;     /* connections there may be; and of strangers */
	struct wh_conn **slots;          /* NULL: free */
	uint32_t held_count;             /* strangers that are held, at most */
	struct wh_session_image *images; /* in the order in which they were opened */
	uint64_t past_key;               /* no image below it will be opened any more */

	struct wh_event_queue event_queue;
	struct wh_transport_event events[WH_SESSION_EVENTS];

	struct wh_peer peers[]; /* by node id */
};

static inline void wh_session_alarm(struct wh_session *s, uint64_t in_ns)
{
	s->wire_ops->alarm(s->wire, in_ns);
}

/* ---- connections: session.c ---------------------------------------------------------------------------------------- */

/* False: there is no slot. */
bool wh_session_add_conn(struct wh_session *s, struct wh_conn *c, uint32_t node);
/* It is the session's no more. */
void wh_session_drop_conn(struct wh_session *s, struct wh_conn *c);
void wh_session_close_conn(struct wh_session *s, struct wh_conn *c); /* the same, and it is closed */
void wh_message_close_fds(struct wh_message *m);

/* ---- calling: call.c ------------------------------------------------------------------------------------------------ */

void wh_session_call_absent(struct wh_session *s, uint64_t now);
/* What comes before the first message. True: that is over. The connection may be gone. */
bool wh_session_greet_peer(struct wh_session *s, struct wh_peer *peer);
/* False: it is gone. */
bool wh_session_say_hello(struct wh_session *s, struct wh_peer *peer);
/* True, and why, if its sender cannot be of our group as we know it. */
bool wh_session_is_foreign(const struct wh_session *s, const struct wh_hello *hello,
			   char reason[WH_MESSAGE_REASON_BYTES]);
/* What the transport has added to a hello will not even be judged by it. */
void wh_session_discard_hello(struct wh_session *s, const struct wh_conn *c, const struct wh_message *m);
/* What the transport has added to a hello is judged by it. False: the peer has been refused. */
bool wh_session_welcome(struct wh_session *s, struct wh_peer *peer, struct wh_message *m);
void wh_session_on_answer(struct wh_session *s, struct wh_peer *peer, const struct wh_hello *hello,
			  struct wh_message *m);
void wh_session_meet(struct wh_session *s, struct wh_peer *peer);

/* ---- lanes: lane.c -------------------------------------------------------------------------------------------------- */

/* Of a node: tells peers which lanes it has; of a lane: follows what its node says. Returns how much that was. */
size_t wh_session_look_at_lanes(struct wh_session *s);
void wh_session_end_lanes(struct wh_session *s);        /* the session does */
bool wh_session_lanes_want(const struct wh_session *s); /* there is something for it to do */
/* It is away: is it one that may be called? */
bool wh_session_may_call(const struct wh_session *s, const struct wh_peer *peer);
/* A stranger has called one of this node's lanes. */
void wh_session_lead_to_lane(struct wh_session *s, struct wh_conn *c, const struct wh_hello *hello,
			     struct wh_message *m);

/* ---- callers: door.c ------------------------------------------------------------------------------------------------ */

size_t wh_session_hear_stranger(struct wh_session *s, struct wh_conn *c);
void wh_session_take_caller(struct wh_session *s, struct wh_conn *c);
/* A stranger that does not belong here, and without which the group can form: it is told why, and forgotten. */
void wh_session_turn_away(struct wh_session *s, struct wh_conn *c, enum wh_complaint kind, const char *reason);
void wh_session_door_tick(struct wh_session *s, uint64_t now);
void wh_session_look_at_held(struct wh_session *s);

/* ---- peers: peer.c -------------------------------------------------------------------------------------------------- */

/* Takes in what has come, as far as there is room. Returns how much that was; *dry: there is no more. */
size_t wh_session_read(struct wh_session *s, struct wh_peer *peer, bool *dry);
/* What belongs to the connection goes, and the incarnation that was met has ended. */
void wh_session_end_connection(struct wh_session *s, struct wh_peer *peer, enum wh_peer_state state);
/* Tells the wire whether the peer's connection outlasts a cut: from the first view here on, but not while another life calls in its place
 * and it has not said that it is there. After each change of one of these. */
void wh_session_hold(const struct wh_session *s, const struct wh_peer *peer);
bool wh_session_say_plain(struct wh_session *s, struct wh_peer *peer, uint8_t kind, uint64_t number);

/* ---- images: image.c ------------------------------------------------------------------------------------------------ */

size_t wh_session_advance_images(struct wh_session *s);
/* False: it is none. */
bool wh_session_on_offer(struct wh_session *s, struct wh_peer *peer, struct wh_message *m);
void wh_session_on_mapped(struct wh_session *s, const struct wh_peer *peer, uint64_t key);
void wh_session_drop_offers(struct wh_session *s, struct wh_peer *peer);

#endif
