/* shm_int.h - inside the shared memory transport.
 *
 *     shm.c         the table: doorbell, events, service, create and destroy
 *     shm_image.c   images: offering my row, mapping those of the others, post and freeze
 *     shm_meet.c    how peers find each other
 *     shm_peer.c    what becomes of a connection: messages, its end, leaving
 *     shm_wire.c    messages on a socket, and what is believed of those that come
 *     shm_memory.c  sealed memory files
 *     shm_jobs.c    what takes long and is done off the loop
 *
 * docs/decisions/0001-shm-rendezvous.md tells why it is done so. Everything here belongs to the loop, save what is
 * marked otherwise.
 */
#ifndef WH_TRANSPORT_SHM_INT_H
#define WH_TRANSPORT_SHM_INT_H

#include <stdint.h>
#include <sys/types.h>

#include "base/atomics.h"
#include "transport/shm.h"
#include "transport/transport.h"

struct wh_shm;

/* ---- memory: shm_memory.c ----------------------------------------------------------------------------------------- */

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
	uint64_t share; /* see WH_TSAN in shm_memory.c */
};

struct wh_shm_wish {
	const char *name; /* seen in /proc alone */
	uint64_t bytes;
	int huge_pages;
	const wh_word *stop; /* NULL, or: it is given up once this is not 0 [any thread] */
};

/* WHORL_OK, WHORL_MEMORY, WHORL_SYSTEM; on failure nothing is left. Any thread. */
enum whorl_result wh_shm_memory_make(struct wh_shm_memory *m, const struct wh_shm_wish *wish, struct wh_error *err);
void wh_shm_memory_let_go(struct wh_shm_memory *m); /* of the descriptor */
void wh_shm_memory_free(struct wh_shm_memory *m);
/* What the machine has left, as the kernel would rather kill somebody than refuse. UINT64_MAX if it does not say. */
uint64_t wh_shm_memory_available(void);

/* What I say about it to a peer, which is in my process or not. */
struct wh_shm_claim wh_shm_memory_claim(struct wh_shm_memory *m, uint64_t bytes, bool same_process);

/* Maps those parts of a peer's file; what it says is checked first. The descriptor stays the caller's. WHORL_OK,
 * WHORL_REFUSED (the file is not what it should be), WHORL_SYSTEM. */
enum whorl_result wh_shm_view_map(struct wh_shm_view *v, int fd, const struct wh_shm_claim *claim,
				  const struct wh_row_part *parts, size_t part_count, bool same_process,
				  struct wh_error *err);
void wh_shm_view_unmap(struct wh_shm_view *v);
/* For a claim that will not be mapped. */
void wh_shm_claim_drop(const struct wh_shm_claim *claim, bool same_process);

/* ---- off the loop: shm_jobs.c ------------------------------------------------------------------------------------- */

enum wh_shm_spare_state { WH_SHM_SPARE_NONE, WH_SHM_SPARE_IN_WORK, WH_SHM_SPARE_MADE };

/* What jobs work on. Counted, so that one that hangs does not hold up the end of its transport. */
struct wh_shm_jobs {
	wh_word users; /* the transport, and each job that has not ended */
	wh_word stop;  /* 1: what is still being made is not wanted any more */
	wh_word spare; /* enum wh_shm_spare_state. What follows is the job's while it is IN_WORK, else the loop's */
	struct wh_shm_memory memory;
	struct wh_shm_wish wish;
	pid_t pid; /* whose threads the jobs are */
};

struct wh_shm_jobs *wh_shm_jobs_new(int huge_pages); /* NULL: no memory */
/* Waits until the jobs have ended, for some seconds at most. In a forked child there are none. */
void wh_shm_jobs_free(const struct wh_env *env, struct wh_shm_jobs *jobs);

/* My next row is prepared once nothing has happened to images for a while. */
void wh_shm_spare_later(struct wh_shm *t);
void wh_shm_spare_tick(struct wh_shm *t); /* the timer has run out */
/* False: there is none of that size. */
bool wh_shm_spare_take(struct wh_shm *t, uint64_t bytes, struct wh_shm_memory *out);

struct wh_shm_image;
void wh_shm_image_discard(struct wh_shm *t, struct wh_shm_image *image); /* frees it; a large one off the loop */

/* ---- messages: shm_wire.c ----------------------------------------------------------------------------------------- */

#define WH_SHM_MAGIC UINT64_C(0x6d68732d6c726877) /* "whrl-shm" */
#define WH_SHM_VERSION 1
#define WH_SHM_GROUP_BYTES 64 /* of a group's name, with the zero: what fits into the name of a socket */
#define WH_SHM_REASON_BYTES 512

enum wh_shm_kind {
	WH_SHM_HELLO = 1, /* who I am; with my doorbell and my status page */
	WH_SHM_OFFER,     /* my row of a view; with its memory file */
	WH_SHM_MAPPED,    /* I have mapped your row of that view */
	WH_SHM_CONTROL,
	WH_SHM_REFUSED, /* the last message: why I close */
	WH_SHM_KINDS
};

struct wh_shm_head {
	uint64_t magic;
	uint32_t version;
	uint32_t kind;
};

/* All versions begin a hello with head, node and nodes, and have the same WH_SHM_REFUSED. */
struct wh_shm_hello {
	struct wh_shm_head head;
	uint32_t node, nodes;
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

struct wh_shm_control {
	struct wh_shm_head head;
	unsigned char bytes[WH_CONTROL_MAX];
};

struct wh_shm_refused {
	struct wh_shm_head head;
	char reason[WH_SHM_REASON_BYTES];
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
	};
	size_t bytes;
	int fds[WH_SHM_FDS]; /* -1: none */
};

enum wh_shm_received { WH_SHM_NOTHING, WH_SHM_PACKET, WH_SHM_HUNG_UP, WH_SHM_GARBAGE };

struct wh_shm_head wh_shm_head(enum wh_shm_kind kind);
/* Takes the next packet. What comes as WH_SHM_PACKET has the size and the descriptors of its kind, and its text ends; of
 * a hello of another version only head, node and nodes may be looked at. Nothing of any other is kept. */
enum wh_shm_received wh_shm_receive(int socket, struct wh_shm_packet *packet);
void wh_shm_packet_close(struct wh_shm_packet *packet); /* the descriptors that nobody has taken out of it */
/* 0, or the errno value: EAGAIN when the queue is full. */
int wh_shm_send(int socket, const void *bytes, size_t count, const int *fds, size_t fd_count);
void wh_shm_send_refusal(int socket, const char *reason);

/* ---- meeting: shm_meet.c ------------------------------------------------------------------------------------------ */

/* What a node shows to all others; they can only read it. */
struct wh_shm_status {
	wh_word parked; /* odd: the loop sleeps, or is about to; each parking has a number of its own */
	unsigned char pad[WH_CACHE_LINE - sizeof(wh_word)];
	wh_word left; /* 1: leave() was called, so the end of my connections is no death */
};

#define WH_SHM_STATUS_BYTES 4096

/* Of each pair the node with the higher id calls the other.
 *
 *     ABSENT -> CALLED   I have connected to it and sent my hello (I am the higher)
 *     CALLED -> ABSENT   it hung up without an answer: it will be called again
 *     CALLED -> MET      its hello has come
 *     ABSENT -> MET      it has called, its hello was good, mine is sent (I am the lower)
 *     any    -> GONE     it left, died, broke the protocol, or one refused the other: for good
 */
enum wh_shm_peer_state { WH_SHM_SELF, WH_SHM_ABSENT, WH_SHM_CALLED, WH_SHM_MET, WH_SHM_GONE };

struct wh_shm_pending { /* an offer for a view that is not open here yet */
	bool there;
	int fd;
	struct wh_shm_offer offer;
};

#define WH_SHM_PENDING 4 /* offers kept of one peer; beyond, the one of the lowest key is dropped */

struct wh_shm_peer {
	enum wh_shm_peer_state state;
	int doorbell;                       /* WH_SHM_MET: its eventfd */
	const struct wh_shm_status *status; /* WH_SHM_MET: its page */
	uint64_t rung;                      /* the parking that I have rung for */
	uint32_t node;
	int socket;
	pid_t pid; /* as the kernel has it */
	struct wh_shm_view view;
	struct wh_shm_pending pending[WH_SHM_PENDING];
};

struct wh_shm_stranger { /* has connected to me, and not said its hello yet */
	int socket;      /* -1: this place is free */
	pid_t pid;
	uint64_t deadline_ns;
};

#define WH_SHM_STRANGERS 8
#define WH_SHM_STRANGER_NS WH_NS_PER_S

enum whorl_result wh_shm_meet_open(struct wh_shm *t, struct wh_error *err);
void wh_shm_meet_accept(struct wh_shm *t);                 /* the listener is readable */
void wh_shm_meet_stranger(struct wh_shm *t, uint32_t i);   /* stranger i is readable */
void wh_shm_meet_tick(struct wh_shm *t);                   /* the timer has run out */
void wh_shm_timer_start(struct wh_shm *t, uint64_t in_ns); /* unless it runs out earlier */
/* The peer's hello has come: judged, and what came with it taken over. False: it has been refused. */
bool wh_shm_welcome(struct wh_shm *t, struct wh_shm_peer *peer, struct wh_shm_packet *packet);

/* ---- connections: shm_peer.c -------------------------------------------------------------------------------------- */

void wh_shm_peer_read(struct wh_shm *t, struct wh_shm_peer *peer); /* its socket is readable */
/* The peer is refused, and told why. */
void wh_shm_refuse(struct wh_shm *t, struct wh_shm_peer *peer, const char *format, ...) WH_PRINTF(3, 4);
void wh_shm_end_connection(struct wh_shm *t, struct wh_shm_peer *peer, enum wh_shm_peer_state state);
void wh_shm_hang_up(struct wh_shm *t, int *socket);
/* Offers that no image wants any more are dropped. */
void wh_shm_forget_offers(struct wh_shm *t);
void wh_shm_close_connections(struct wh_shm *t); /* all of them, and the listener; nothing is told to anyone */

void wh_shm_leave(struct wh_transport *transport);
enum whorl_result wh_shm_control_send(struct wh_transport *transport, uint32_t node, const void *bytes, size_t count);

/* ---- images: shm_image.c ------------------------------------------------------------------------------------------ */

struct wh_shm_row {
	struct wh_shm_peer *peer;
	uint32_t node;
	uint64_t bytes;
	struct wh_row_part *parts;
	size_t part_count;
	struct wh_shm_view view;
	bool offered;   /* it has been sent my row */
	bool mapped;    /* I have mapped its row */
	bool told;      /* and told it so */
	bool confirmed; /* it has told me that it mapped mine */
	bool frozen;
};

struct wh_shm_image {
	struct wh_image base;
	struct wh_shm_image *next;
	bool announced; /* the event that it is ready has been taken */
	bool settled;   /* nothing is left to be sent or to be waited for */
	uint64_t layout_digest, control_bytes;
	struct wh_shm_memory own;
	struct wh_shm_jobs *jobs;  /* of whoever frees it off the loop */
	struct wh_shm_row *rows;   /* by rank */
	struct wh_row_part *parts; /* of all rows */
	unsigned char *frozen;     /* control columns of those that are frozen, by rank */
	const unsigned char **control, **row;
};

enum whorl_result wh_shm_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err);
void wh_shm_image_close(struct wh_image *base);
void wh_shm_post(struct wh_image *base, const struct wh_push *pushes, size_t count);
void wh_shm_freeze(struct wh_image *base, uint32_t rank);

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

#define WH_SHM_EVENTS 16 /* a power of two */

struct wh_shm {
	struct wh_transport base;
	const struct wh_env *env;
	char group[WH_SHM_GROUP_BYTES];
	uint32_t node, nodes;
	uid_t user;
	int huge_pages;

	int epoll, doorbell, timer, listener; /* doorbell: [any thread writes it] */
	struct wh_shm_memory memory;          /* my status page */
	struct wh_shm_status *status;
	uint64_t parked; /* what status->parked holds */
	bool no_pwait2;  /* this kernel has none */
	wh_word rings;   /* [loop writes, anyone reads] */

	bool left, forked, listener_rests;
	uint64_t timer_ns;   /* when it runs out, 0: it does not run */
	uint64_t retry_ns;   /* until the next calls */
	uint64_t complaints; /* strangers turned away, calls that the system refused */
	struct wh_shm_stranger strangers[WH_SHM_STRANGERS];
	struct wh_shm_image *images; /* in the order in which they were opened */
	uint64_t past_key;           /* the greatest of an image that has been closed */
	struct wh_shm_jobs *jobs;
	uint64_t spare_due_ns; /* 0: no spare is wanted yet */
	uint64_t row_bytes;    /* of my last image */

	uint64_t events_in, events_out;
	struct wh_transport_event events[WH_SHM_EVENTS];

	struct wh_shm_peer peers[]; /* by node id */
};

static inline struct wh_shm *wh_shm_of(struct wh_transport *transport)
{
	return (struct wh_shm *)transport;
}

bool wh_shm_watch(struct wh_shm *t, int operation, int fd, enum wh_shm_source source, uint32_t index);
/* Whatever may make an event is taken in only while there is room for one: nothing is lost, senders wait instead. */
bool wh_shm_events_full(const struct wh_shm *t);
void wh_shm_event(struct wh_shm *t, enum wh_transport_event_kind kind, uint32_t node, const void *text, size_t bytes);
void wh_shm_event_text(struct wh_shm *t, enum wh_transport_event_kind kind, uint32_t node, const char *format, ...)
	WH_PRINTF(4, 5);
void wh_shm_log(const struct wh_shm *t, enum wh_log_level level, const char *format, ...) WH_PRINTF(3, 4);
/* For what may happen again and again by somebody else's doing: the 1st, 2nd, 4th, 8th time ... is logged. */
void wh_shm_complain(struct wh_shm *t, const char *format, ...) WH_PRINTF(2, 3);

#endif
