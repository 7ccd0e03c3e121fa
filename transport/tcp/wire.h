/* wire.h - connections over tcp, with a key or TLS or neither: the wire of the sessions of tcp and verbs.
 *
 * Each connection between two nodes carries messages of their sessions; on tcp pushes and operations on regions go between them
 * (tcp/out.c, tcp/in.c, tcp/remote.c). Streams have connections of their own. Loop thread only.
 */
#ifndef WH_TRANSPORT_TCP_WIRE_H
#define WH_TRANSPORT_TCP_WIRE_H

#include "transport/session/poll.h"
#include "transport/session/session.h"

struct sockaddr_storage;
struct wh_tcp_wire;

extern const struct wh_wire_ops wh_tcp_wire_ops;

/* Sources of events of the transport's poll. */
enum { WH_TCP_LISTENER = WH_POLL_OTHERS, WH_TCP_FROM_CONN, WH_TCP_TO_STREAM, WH_TCP_SHAKEN, WH_TCP_OTHERS };

struct wh_tcp_wire_use {  /* what a transport makes of it */
	uint32_t version; /* of its messages; transports have different ones, so that their nodes never meet */
	bool pushes;      /* tcp's own: pushes, and operations on regions, go over the same connections */
	bool is_lane;     /* of a node's: it does not listen, and its connections carry no pushes */
	bool trusts_network; /* without key or TLS addresses other than loopback are allowed too: all that reach them are trusted */
};

/* Finds where the nodes are: names are looked up, which may block. The poll is the transport's, and stays. WHORL_OK, WHORL_MEMORY,
 * WHORL_CONFIG (an address is none, or not allowed, or my own is not known). */
enum whorl_result wh_tcp_wire_open(const struct wh_transport_config *config, const struct wh_tcp_wire_use *use,
				   struct wh_poll *poll, struct wh_tcp_wire **out, struct wh_error *err);
/* At the node's address. WHORL_OK, WHORL_SYSTEM, WHORL_REFUSED (it is taken). */
enum whorl_result wh_tcp_wire_listen(struct wh_tcp_wire *w, struct wh_error *err);
void wh_tcp_wire_attach(struct wh_tcp_wire *w, struct wh_session *session);
size_t wh_tcp_wire_dispatch(struct wh_tcp_wire *w, const struct epoll_event *event); /* of one of these sources */
void wh_tcp_wire_tick(struct wh_tcp_wire *w);                                        /* the timer has run out */
/* Messages have come for the events of which there was no room, and now there is: no socket tells of them any more. */
bool wh_tcp_wire_holds(const struct wh_tcp_wire *w);
size_t wh_tcp_wire_take_held(struct wh_tcp_wire *w); /* takes them in */
void wh_tcp_wire_flush(struct wh_tcp_wire *w);       /* what waits leaves, as far as sockets take it */
void wh_tcp_wire_deafen(struct wh_tcp_wire *w);      /* no more callers */
void wh_tcp_wire_linger(struct wh_tcp_wire *w); /* the last words, where a socket was full: for a moment, and no longer */
/* The session has been freed. NULL is fine. */
void wh_tcp_wire_close(struct wh_tcp_wire *w, bool forked);
/* Where a node is; false: not known (yet). */
bool wh_tcp_wire_address(const struct wh_tcp_wire *w, uint32_t node, struct sockaddr_storage *out);
const char *wh_tcp_wire_name(const struct wh_tcp_wire *w, uint32_t node); /* the same as text. Any thread */

/* As it was opened, for a lane of the same node. Any thread. */
struct wh_tcp_wire_copy {
	struct wh_transport_config config; /* what it points to is the wire's, but for the addresses */
	const char *addresses[];
};
/* NULL: no memory. To be freed by free(). */
struct wh_tcp_wire_copy *wh_tcp_wire_copy(const struct wh_tcp_wire *w);

#endif
