/* fake_wire.h - a wire in memory, for tests of the session alone: connections are two queues of messages, time is that of fake.h, and
 * nothing happens before fake_pump. Some nodes of the network have a session; the others are the test's: it calls, listens, speaks and
 * hangs up in their names.
 *
 * Descriptors come with a message as over a unix socket: the receiver gets copies.
 */
#ifndef WH_TESTS_SUPPORT_FAKE_WIRE_H
#define WH_TESTS_SUPPORT_FAKE_WIRE_H

#include <fcntl.h>
#include <unistd.h>

#include "tests/support/fake.h"
#include "transport/session/session_int.h"

#define FAKE_NODES 3
#define FAKE_VERSION 7
#define FAKE_USER_ROOM 6 /* messages that may wait for one end, and more that are not a user's: */
#define FAKE_OWN_ROOM 12
#define FAKE_BACKLOG 600
#define FAKE_KINDS (WH_EVENT_QUERY + 1)
#define FAKE_OWN_KIND (WH_MESSAGE_OWN + 1)

struct fake_message {
	struct fake_message *next;
	int fds[WH_MESSAGE_FDS];
	size_t bytes;
	unsigned char all[]; /* head and body */
};

struct fake_net;

/* One end of a connection. */
struct fake_end {
	struct wh_conn base;
	struct fake_net *net;
	uint32_t owner;                /* the node it is of */
	struct fake_end *other;        /* NULL: that is closed */
	struct fake_message *in;       /* that have come, in their order */
	struct fake_message *current;  /* the one that was received last */
	bool ready;                    /* there is something new */
	bool watched, adopted, broken; /* broken: what comes next is no message */
	bool leaves;                   /* the other end has left in order */
	bool deaf;                     /* it takes nothing: each send and finish finds it full */
	enum wh_wire_result greets;    /* what `greet` finds */
	bool says_word;                /* the next `greet` finds one more */
	bool works;                    /* `greet` finds it at work on what has come */
	const char *reason;
	bool holds;               /* it outlasts a cut */
	struct wh_wire *taken_by; /* it was handed over; NULL: it was not */
	bool *closed;             /* NULL, or it is set when this end is closed by its session */
};

struct wh_wire {
	struct fake_net *net;
	uint32_t node;
	bool listens, rests;
	enum wh_wire_result greets, holder; /* of new ends; what holds_id says */
	enum wh_complaint fault;            /* of those that greet refuses */
	const char *reason;                 /* of greets */
	bool is_broken;                     /* nothing can be accepted */
	uint64_t alarm_ns;                  /* 0: none */
	uint32_t waiting, accepted, connects, looked_up[FAKE_NODES];
	struct fake_end *backlog[FAKE_BACKLOG];
};

struct fake_node {
	struct wh_transport transport; /* first: planes get it */
	struct wh_wire wire;
	struct wh_wire_ops wire_ops;
	struct wh_plane_ops plane_ops;
	struct wh_session *session; /* NULL: the test's */
	struct wh_lanes *lanes;     /* of it; NULL: it has none */
	uint32_t woken;
	/* Of its plane. */
	size_t own_hello, own_offer; /* so many bytes it adds */
	int own_fd;                  /* and this; -1: none */
	bool unwelcome, offers_later, keeps_fd;
	enum { MAPS, MAPS_LATER, MAPS_NEVER } maps;
	uint32_t met, ended, discarded, mapped, taken_streams, closed_streams;
	int kept_fd;
	_Alignas(64) unsigned char row[64];
	/* What was told, and the last of each kind. */
	uint32_t events[FAKE_KINDS];
	uint64_t incarnations[FAKE_KINDS];
	uint64_t query, tag;
	char texts[FAKE_KINDS][256];
};

struct fake_net {
	struct fake_env fake;
	struct fake_node node[FAKE_NODES];
};

struct fake_end *fake_of(const struct wh_conn *c);

/* ---- connections --------------------------------------------------------------------------------------------------- */

uint32_t fake_waiting(const struct fake_end *end);
void fake_push(struct fake_end *to, const void *bytes, size_t count, const int *fds, size_t fd_count);
void fake_close_end(struct fake_end *end);

/* The caller's end; the other waits to be accepted. */
struct fake_end *fake_call(struct fake_net *net, uint32_t from, uint32_t to);

/* The next caller of a node of the test. NULL: none. */
struct fake_end *fake_accept(struct fake_net *net, uint32_t node);

/* ---- the wire ------------------------------------------------------------------------------------------------------- */

enum wh_wire_result fake_wire_holds_id(struct wh_conn *c, uint32_t node);
enum wh_wire_result fake_wire_receive(struct wh_conn *c, struct wh_message *m);

struct fake_stream {
	struct wh_stream base;
	struct fake_node *node;
};

/* ---- the network ---------------------------------------------------------------------------------------------------- */

void fake_net_init(struct fake_net *net);

/* The incarnation of a node's first session. */
uint64_t fake_life(uint32_t node);
struct fake_node *fake_open(struct fake_net *net, uint32_t id, uint64_t incarnation);

/* It is no more: a process that was killed. */
void fake_kill(struct fake_net *net, uint32_t id);
void fake_net_free(struct fake_net *net);
void fake_take_event(struct fake_node *n, const struct wh_transport_event *event);
void fake_take_events(struct fake_net *net);
void fake_hear_one(struct fake_node *n);

/* What has come is taken in; events are not. */
void fake_hear(struct fake_net *net);
void fake_pump(struct fake_net *net);

/* Time goes on, from alarm to alarm. */
void fake_advance(struct fake_net *net, uint64_t ns);

/* ---- what the test says in the name of a node ----------------------------------------------------------------------- */

void fake_say(struct fake_end *end, const unsigned char *message, size_t bytes);
void fake_say_plain(struct fake_end *end, uint8_t kind, uint64_t number);
struct wh_hello fake_hello(uint32_t node, uint64_t incarnation, uint64_t call);

/* A hello with so many bytes of the plane's, and a descriptor; -1: none. */
void fake_say_hello_with(struct fake_end *end, const struct wh_hello *hello, size_t own, int fd);
void fake_say_hello(struct fake_end *end, uint32_t node, uint64_t incarnation, uint64_t call);

/* The kind of the next message that has come to an end of the test's; 0: none. */
int fake_next(struct fake_end *end, struct wh_message *m);
void fake_expect(struct fake_end *end, int kind);
void fake_expect_refused(struct fake_end *end, const char *part);

/* How many messages of that kind wait for it, which are all taken. */
uint32_t fake_count(struct fake_end *end, int kind);

/* The session of `to` meets that node, which calls it. The first number of a call is taken. */
struct fake_end *fake_meet(struct fake_net *net, uint32_t node, uint64_t incarnation, uint64_t call, uint32_t to);

enum wh_peer_state fake_state(const struct fake_net *net, uint32_t node, uint32_t of);

#endif
