/* shm_int.h - inside the shared memory transport.
 *
 *     shm.c         the table: doorbell, events, service, create and destroy
 *     shm/image.c   images: offering my row, mapping those of the others, post and freeze
 *     shm/meet.c    how peers find each other
 *     shm/peer.c    what becomes of a connection: messages, its end, leaving
 *     shm/stream.c  streams between peers
 *     shm/query.c   questions of visitors, which are no nodes
 *     shm/remote.c  regions that peers may write to
 *     shm/wire.c    messages on a socket, what is believed of those that come, and the names of sockets
 *     shm/memory.c  sealed memory files
 *     shm/jobs.c    what takes long and is done off the loop
 *
 * docs/decisions/0001-shm-rendezvous.md tells why it is done so. Everything here belongs to the loop, save what is
 * marked otherwise.
 */
#ifndef WH_TRANSPORT_SHM_SHM_INT_H
#define WH_TRANSPORT_SHM_SHM_INT_H

#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/atomics.h"
#include "transport/session/dial.h"
#include "transport/session/event_queue.h"
#include "transport/session/exchange.h"
#include "transport/session/known_incarnations.h"
#include "transport/shm/shm.h"
#include "transport/transport.h"

struct wh_shm;

/* ---- memory: shm/memory.c ----------------------------------------------------------------------------------------- */

/* A memory file of my own, mapped and present: touching it never fails. Writable here and nowhere else. */
struct wh_shm_memory {
	unsigned char *base;
	uint64_t bytes; /* of the file: a multiple of `page` */
	uint64_t page;
	int fd; /* to be sent to peers; -1 when it has been let go of */
	struct wh_shm_share *share;
};

/* A peer's memory as it is seen here: the ranges that were asked for are readable, all else of it faults. */
struct wh_shm_view {
	const unsigned char *base; /* NULL: not mapped */
	void *map;
	uint64_t map_bytes;
	struct wh_shm_share *share;
};

/* What a peer says about a memory file that it sends. */
struct wh_shm_claim {
	uint64_t bytes; /* that are used; the file has as many or more, in whole pages */
	uint64_t page;
	uint64_t share; /* see WH_TSAN in shm/memory.c */
};

struct wh_shm_wish {
	const char *name; /* seen in /proc alone */
	uint64_t bytes;
	int huge_pages;
	bool shared;         /* peers may write to it */
	const wh_word *stop; /* NULL, or: it is given up once this is not 0 [any thread] */
};

/* WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM; on failure nothing is left. Any thread. */
enum whorl_result wh_shm_memory_make(struct wh_shm_memory *m, const struct wh_shm_wish *wish, struct wh_error *err);
void wh_shm_memory_let_go(struct wh_shm_memory *m); /* of the descriptor */
void wh_shm_memory_free(struct wh_shm_memory *m);
/* What the machine has left, as the kernel would rather kill a process than refuse. UINT64_MAX if it does not say. */
uint64_t wh_shm_memory_available(void);

/* What I say about it to a peer, which is in my process or not. */
struct wh_shm_claim wh_shm_memory_claim(struct wh_shm_memory *m, uint64_t bytes, bool same_process);

/* Maps those parts of a peer's file; what it says is checked first. The descriptor stays the caller's. WHORL_OK,
 * WHORL_REFUSED (the file is not what it should be), WHORL_SYSTEM. */
enum whorl_result wh_shm_view_map(struct wh_shm_view *v, int fd, const struct wh_shm_claim *claim,
				  const struct wh_row_part *parts, size_t part_count, bool same_process,
				  struct wh_error *err);
/* Maps all of a file that both may write to: `base` can be written through. The same results. */
enum whorl_result wh_shm_view_map_shared(struct wh_shm_view *v, int fd, const struct wh_shm_claim *claim,
					 bool same_process, struct wh_error *err);
void wh_shm_view_unmap(struct wh_shm_view *v);
/* For a claim that will not be mapped. */
void wh_shm_claim_drop(const struct wh_shm_claim *claim, bool same_process);

/* ---- off the loop: shm/jobs.c ------------------------------------------------------------------------------------- */

enum wh_shm_spare_state { WH_SHM_SPARE_NONE, WH_SHM_SPARE_IN_WORK, WH_SHM_SPARE_MADE };

/* What jobs work on. Counted, so that one that hangs does not hold up the end of its transport. */
struct wh_shm_jobs {
	wh_word users; /* the transport, and each job that has not ended */
	wh_word stop;  /* 1: what is still being made is not wanted any more */
	wh_word spare; /* enum wh_shm_spare_state. What follows is the job's while it is IN_WORK, else the loop's */
	struct wh_shm_memory memory;
	struct wh_shm_wish wish;
	pid_t pid; /* the process that the threads of the jobs belong to */
};

struct wh_shm_jobs *wh_shm_jobs_new(int huge_pages); /* NULL: no memory */
/* Waits until the jobs have ended, for some seconds at most. In a forked child there are none. */
void wh_shm_jobs_free(const struct wh_env *env, struct wh_shm_jobs *jobs);

/* My next row is prepared once nothing has happened to images for a while. */
void wh_shm_spare_later(struct wh_shm *t);
void wh_shm_spare_tick(struct wh_shm *t); /* the timer has run out */
bool wh_shm_spare_comes(const struct wh_shm *t);
/* False: there is none of about that size. */
bool wh_shm_spare_take(struct wh_shm *t, uint64_t bytes, struct wh_shm_memory *out);

struct wh_shm_image;
void wh_shm_image_discard(struct wh_shm *t, struct wh_shm_image *image); /* frees it; a large one off the loop */

/* ---- messages: shm/wire.c ----------------------------------------------------------------------------------------- */

#define WH_SHM_MAGIC UINT64_C(0x6d68732d6c726877) /* "whrl-shm" */
#define WH_SHM_VERSION 3
#define WH_SHM_GROUP_BYTES 64 /* of a group's name, with the zero: what fits into the name of a socket */
#define WH_SHM_REASON_BYTES 512

enum wh_shm_kind {
	WH_SHM_HELLO = 1, /* my identity; with my doorbell and my status page */
	WH_SHM_OFFER,     /* my row of a view; with its memory file */
	WH_SHM_MAPPED,    /* I have mapped your row of that view */
	WH_SHM_CONTROL,
	WH_SHM_REFUSED, /* the last message: why I close */
	WH_SHM_STREAM,  /* a stream to you; with its other end */
	WH_SHM_QUERY,   /* a visitor's question; nothing but the answer follows */
	WH_SHM_ANSWER,
	WH_SHM_TAKEN,     /* I have taken your hello, which answered mine: we have met */
	WH_SHM_MAILBOX,   /* where you may put immediates for me; with its memory file. Before the first grant */
	WH_SHM_GRANT,     /* a region of mine; with its memory file */
	WH_SHM_WITHDRAWN, /* a region of mine that I had granted is closed */
	WH_SHM_KINDS
};

struct wh_shm_head {
	uint64_t magic;
	uint32_t version;
	uint32_t kind;
};

/* All versions from 2 on begin a hello with head, node, nodes and incarnation, have the same WH_SHM_REFUSED, and begin a
 * WH_SHM_ASK with head. */
struct wh_shm_hello {
	struct wh_shm_head head;
	uint32_t node, nodes;
	uint64_t incarnation;
	struct wh_shm_claim status;
	char group[WH_SHM_GROUP_BYTES];
};

struct wh_shm_offer {
	struct wh_shm_head head;
	uint64_t key, layout_digest;
	uint32_t members, rank;
	struct wh_shm_claim row;
};

struct wh_shm_mapped {
	struct wh_shm_head head;
	uint64_t key;
};

struct wh_shm_control { /* WH_SHM_ASK as well */
	struct wh_shm_head head;
	unsigned char bytes[WH_CONTROL_MAX];
};

struct wh_shm_refused {
	struct wh_shm_head head;
	uint64_t incarnation; /* of the node that refuses */
	char reason[WH_SHM_REASON_BYTES];
};

struct wh_shm_opened {
	struct wh_shm_head head;
	uint64_t tag;
};

struct wh_shm_region_message { /* WH_SHM_MAILBOX, WH_SHM_GRANT, WH_SHM_WITHDRAWN */
	struct wh_shm_head head;
	uint64_t name;
	struct wh_shm_claim memory;
};

#define WH_SHM_FDS 2 /* at most, with a message */

struct wh_shm_packet {
	union {
		struct wh_shm_head head;
		struct wh_shm_hello hello;
		struct wh_shm_offer offer;
		struct wh_shm_mapped mapped;
		struct wh_shm_control control;
		struct wh_shm_refused refused;
		struct wh_shm_opened opened;
		struct wh_shm_region_message region;
	};
	size_t bytes;
	int fds[WH_SHM_FDS]; /* -1: none */
};

enum wh_shm_received { WH_SHM_NOTHING, WH_SHM_PACKET, WH_SHM_HUNG_UP, WH_SHM_GARBAGE };

struct wh_shm_head wh_shm_head(enum wh_shm_kind kind);
/* Takes the next packet. What comes as WH_SHM_PACKET has the size and the descriptors of its kind, and its text ends; of
 * a hello of another version only what all versions have may be looked at, and so of a question. Nothing of any other
 * message is kept. */
enum wh_shm_received wh_shm_receive(int socket, struct wh_shm_packet *packet);
void wh_shm_packet_close(struct wh_shm_packet *packet); /* the descriptors that have not been taken out of it */
/* 0, or the errno value: EAGAIN when the queue is full. */
int wh_shm_send(int socket, const void *bytes, size_t count, const int *fds, size_t fd_count);
void wh_shm_send_refusal(int socket, uint64_t incarnation, const char *reason);
/* The name of the socket of a node; returns its size. */
socklen_t wh_shm_name(struct sockaddr_un *name, uid_t user, const char *group, uint32_t node);
bool wh_shm_who(int socket, struct ucred *who); /* is at the other end, as the kernel has it */

/* ---- meeting: shm/meet.c ------------------------------------------------------------------------------------------ */

/* What a node shows to all others; they can only read it. */
struct wh_shm_status {
	wh_word parked; /* odd: the loop sleeps, or is about to; each parking has a number of its own */
	unsigned char pad[WH_CACHE_LINE - sizeof(wh_word)];
	wh_word left; /* 1: leave() was called, so the end of my connections is no death */
};

#define WH_SHM_STATUS_BYTES 4096

/* A newcomer calls all others once: those that are there answer, those that are not will call when they come. Of two
 * calls that cross, that of the higher id counts, and the other is hung up.
 *
 *     ABSENT   -> GREETING   I have connected to it and sent my hello
 *     GREETING -> MET        its hello has come, and I have said so
 *     any      -> ANSWERED   it has called, its hello was good, mine is sent
 *     ANSWERED -> MET        it has taken mine
 *     GREETING, ANSWERED -> ABSENT   it hung up: it will be called again
 *     MET      -> ABSENT     it left, died, or broke the protocol
 *     any      -> REJECTED   one has refused the other: it is not called any more, but may call as another incarnation
 *
 * An incarnation is met once: what has ended or been refused is not met again, whichever side calls.
 */
enum wh_shm_peer_state { WH_SHM_SELF, WH_SHM_ABSENT, WH_SHM_GREETING, WH_SHM_ANSWERED, WH_SHM_MET, WH_SHM_REJECTED };

struct wh_shm_pending { /* an offer for a view that is not open here yet */
	bool there;
	int fd;
	struct wh_shm_offer offer;
};

#define WH_SHM_PENDING 4 /* offers kept of one peer; beyond, the one of the lowest key is dropped */

struct wh_shm_peer {
	enum wh_shm_peer_state state;
	int doorbell;                       /* its eventfd, since its hello was good; else -1 */
	const struct wh_shm_status *status; /* its page; else NULL */
	uint64_t rung;                      /* the parking that I have rung for */
	uint64_t incarnation;               /* since its hello was good; else 0 */
	struct wh_known_incarnations ended; /* it is not met again as one of those */
	uint32_t node;
	int socket;
	pid_t pid;        /* as the kernel has it */
	pid_t holder;     /* of its id, when it was looked for last while there was no connection; */
	uint64_t held_ns; /* and when that was. 0: never, or no process held it */
	struct wh_dial_peer redial;
	struct wh_shm_view view;
	struct wh_shm_pending pending[WH_SHM_PENDING];
	struct wh_shm_lane *lane; /* what it has granted me; NULL: nothing so far */
	struct wh_shm_mail *mail; /* its immediates for me; NULL: none can come */
};

struct wh_shm_stranger { /* has connected to me, and said nothing yet, or has asked a question */
	int socket;      /* -1: this place is free */
	pid_t pid;
	uint64_t query; /* the number of its question; 0: it has not asked */
	uint64_t deadline_ns;
};

#define WH_SHM_STRANGERS 16
#define WH_SHM_STRANGER_NS WH_NS_PER_S

enum whorl_result wh_shm_meet_open(struct wh_shm *t, struct wh_error *err);
void wh_shm_meet_accept(struct wh_shm *t);               /* the listener is readable */
void wh_shm_meet_stranger(struct wh_shm *t, uint32_t i); /* stranger i is readable */
void wh_shm_meet_tick(struct wh_shm *t);                 /* the timer has run out */
/* The hello with which it answers my call has come. */
void wh_shm_on_answer(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_shm_packet *packet);
void wh_shm_meet(struct wh_shm *t, struct wh_shm_peer *peer); /* both hellos have been taken */
bool wh_shm_searching(struct wh_transport *transport);
int wh_shm_holder(struct wh_transport *transport, uint32_t node);

/* ---- connections: shm/peer.c -------------------------------------------------------------------------------------- */

/* Its socket is readable. True: all that it has sent has been taken in. */
bool wh_shm_peer_read(struct wh_shm *t, struct wh_shm_peer *peer);
/* The peer is refused, and told why. */
void wh_shm_refuse(struct wh_shm *t, struct wh_shm_peer *peer, const char *format, ...) WH_PRINTF(3, 4);
/* The peer has ended: how is said in the event, unless it has left. Or it has not answered my call. */
void wh_shm_lose(struct wh_shm *t, struct wh_shm_peer *peer, const char *how);
/* What belongs to the connection goes, and the incarnation that was met has ended. */
void wh_shm_end_connection(struct wh_shm *t, struct wh_shm_peer *peer, enum wh_shm_peer_state state);
void wh_shm_hang_up(struct wh_shm *t, int *socket);
void wh_shm_past(struct wh_transport *transport, uint64_t key);
void wh_shm_close_connections(struct wh_shm *t); /* all of them, and the listener; no node is told anything */

void wh_shm_leave(struct wh_transport *transport);
enum whorl_result wh_shm_control_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count);

/* ---- streams: shm/stream.c ---------------------------------------------------------------------------------------- */

enum whorl_result wh_shm_stream_open(struct wh_transport *transport, uint32_t node, uint64_t tag,
				     struct wh_stream **out);
/* A peer has opened one: it becomes an event. False: what it has sent is no end of a stream. */
bool wh_shm_stream_take(struct wh_shm *t, const struct wh_shm_peer *peer, struct wh_shm_packet *packet);

/* ---- visitors: shm/query.c ---------------------------------------------------------------------------------------- */

/* A stranger has asked. */
void wh_shm_on_question(struct wh_shm *t, struct wh_shm_stranger *stranger, const struct wh_shm_packet *packet);
void wh_shm_answer(struct wh_transport *transport, uint64_t query, const void *bytes, size_t count);

/* ---- regions: shm/remote.c ---------------------------------------------------------------------------------------- */

extern const struct wh_remote_ops wh_shm_remote_ops;

/* A peer that has been met says something of its regions, or gives me its mailbox. False: that is not as it should be. */
bool wh_shm_remote_on_message(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_shm_packet *packet);
/* Sends what is to be said of mine. Returns how much that was. */
size_t wh_shm_remote_advance(struct wh_shm *t);
/* The connection has ended, and with it what was granted over it, either way. */
void wh_shm_remote_end(struct wh_shm_peer *peer);
void wh_shm_remote_free(struct wh_shm *t);

/* ---- images: shm/image.c ------------------------------------------------------------------------------------------ */

struct wh_shm_row {
	struct wh_shm_peer *peer; /* of its node; it may be another incarnation than the row's, or none */
	uint64_t incarnation;
	uint64_t bytes;
	struct wh_row_part *parts;
	size_t part_count;
	struct wh_shm_view view;
};

struct wh_shm_image {
	struct wh_image base;
	struct wh_shm_image *next;
	bool announced; /* the event that it is ready has been taken */
	struct wh_exchange exchange;
	uint64_t layout_digest, control_bytes;
	struct wh_shm_memory own;
	struct wh_shm_jobs *jobs;  /* that free it off the loop */
	struct wh_shm_row *rows;   /* by rank */
	struct wh_row_part *parts; /* of all rows */
	unsigned char *frozen;     /* control columns of those that are frozen, by rank */
};

enum whorl_result wh_shm_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err);
void wh_shm_image_close(struct wh_image *base);
void wh_shm_post(struct wh_image *base, const struct wh_push *pushes, size_t count);
void wh_shm_freeze(struct wh_image *base, uint32_t rank);
/* After a full fence: wakes a peer that has been met if it sleeps, or is about to. */
void wh_shm_look_at(struct wh_shm *t, struct wh_shm_peer *peer);

/* Sends and maps what can be. Returns how much that was. */
size_t wh_shm_image_advance(struct wh_shm *t, struct wh_shm_image *image);
/* It says that it has mapped my row of that view. */
void wh_shm_image_confirmed(struct wh_shm *t, const struct wh_shm_peer *peer, uint64_t key);
/* The peer's row is still to be mapped: by an image that is open, or that may be opened yet, as later ones have greater
 * keys than those that have been closed. */
bool wh_shm_image_wants(const struct wh_shm *t, const struct wh_shm_peer *peer, uint64_t key);
/* All of it, also of one that is half made. Any thread. */
void wh_shm_image_free(struct wh_shm_image *image);

/* ---- the transport: shm.c ----------------------------------------------------------------------------------------- */

/* What an epoll event is about: the kind in the upper half of its data, an index in the lower. */
enum wh_shm_source { WH_SHM_DOORBELL, WH_SHM_TIMER, WH_SHM_LISTENER, WH_SHM_STRANGER, WH_SHM_PEER };

#define WH_SHM_EVENTS 16        /* a power of two */
#define WH_SHM_EVENTS_AT_ONCE 3 /* at most so many come of what is taken in at once */

struct wh_shm {
	struct wh_transport base;
	const struct wh_env *env;
	char group[WH_SHM_GROUP_BYTES];
	uint32_t node, nodes;
	uint64_t incarnation;
	uid_t user;
	int huge_pages;

	int epoll, doorbell, listener; /* doorbell: [any thread writes it] */
	struct wh_shm_memory memory;   /* my status page */
	struct wh_shm_status *status;
	uint64_t parked; /* what status->parked holds */
	wh_word rings;   /* [loop writes, any thread reads] */

	bool left, forked, listener_rests;
	struct wh_dial redial;
	uint64_t queries; /* questions so far */
	struct wh_shm_stranger strangers[WH_SHM_STRANGERS];
	struct wh_shm_image *images; /* in the order in which they were opened */
	uint64_t past_key;           /* no image below it will be opened any more */
	struct wh_shm_jobs *jobs;
	uint64_t spare_due_ns; /* 0: no spare is wanted yet */
	uint64_t row_bytes;    /* of my last image */

	struct wh_shm_region *regions;
	bool regions_unsaid; /* something is to be sent of them */
	uint32_t next_lane;  /* its events are looked at first */

	struct wh_event_queue event_queue;
	struct wh_transport_event events[WH_SHM_EVENTS];

	struct wh_shm_peer peers[]; /* by node id */
};

static inline struct wh_shm *wh_shm_of(struct wh_transport *transport)
{
	return (struct wh_shm *)transport;
}

bool wh_shm_watch(struct wh_shm *t, int operation, int fd, enum wh_shm_source source, uint32_t index);

#endif
