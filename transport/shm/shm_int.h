/* shm_int.h - inside the shared memory transport. Meeting, messages and what becomes of peers are transport/session's.
 *
 *     shm.c           the table: doorbell, service, create and destroy
 *     shm/wire.c      connections of the session
 *     shm/datagram.c  datagrams on a socket, with descriptors
 *     shm/name.c      the names of sockets, and which process has one
 *     shm/proof.c     the processes of nodes that have been met, and their end
 *     shm/vouch.c     the mark that a process leaves when it is killed, long before its end
 *     shm/older.c     what is said to nodes of versions before these messages
 *     shm/status.c    the doorbell and the status page, which go with a hello
 *     shm/image.c     images: my row, maps of those of the others, post and freeze
 *     shm/stream.c    streams between peers
 *     shm/query.c     a program that is no node asks one
 *     shm/remote.c    regions that peers may write to
 *     shm/memory.c    sealed memory files
 *     shm/jobs.c      what takes long and is done off the loop
 *     shm/returns.c   rows that no node reads any more, which are used again
 *
 * docs/decisions/0001-shm-rendezvous.md tells why it is done so. Everything here belongs to the loop, save what is
 * marked otherwise.
 */
#ifndef WH_TRANSPORT_SHM_SHM_INT_H
#define WH_TRANSPORT_SHM_SHM_INT_H

#include <pthread.h>
#include <stdint.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/un.h>

#include "base/atomics.h"
#include "transport/session/poll.h"
#include "transport/session/session.h"
#include "transport/shm/shm.h"

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
	void *map;                 /* addresses of its own; NULL: it is in a room */
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

/* Addresses for the rows of an image, taken and given back at once: to give back each row by itself costs as much as all else of a view, where there
 * are many. False: there are none. Any thread. */
struct wh_shm_room {
	unsigned char *base; /* NULL: none */
	uint64_t bytes;
};
bool wh_shm_room_take(struct wh_shm_room *room, uint64_t bytes);
void wh_shm_room_free(struct wh_shm_room *room);
uint64_t wh_shm_room_for(uint64_t row_bytes); /* so much of it a row has */

struct wh_shm_parts { /* of a row that are mapped */
	const struct wh_row_part *of;
	size_t count;
	uint64_t soon;       /* the first so many bytes are read at once */
	unsigned char *room; /* for the row; NULL: it takes addresses of its own. So do rows of huge pages */
};

/* Maps those parts of a peer's file; what it says is checked first. The
 * descriptor stays the caller's. WHORL_OK, WHORL_REFUSED (the file is not what it should be), WHORL_SYSTEM. */
enum whorl_result wh_shm_view_map(struct wh_shm_view *v, int fd, const struct wh_shm_claim *claim,
				  const struct wh_shm_parts *parts, bool same_process, struct wh_error *err);
/* Maps all of a file that both may write to: `base` can be written through. The same results. */
enum whorl_result wh_shm_view_map_shared(struct wh_shm_view *v, int fd, const struct wh_shm_claim *claim,
					 bool same_process, struct wh_error *err);
void wh_shm_view_unmap(struct wh_shm_view *v);
/* For a claim that will not be mapped. */
void wh_shm_claim_drop(const struct wh_shm_claim *claim, bool same_process);

#define WH_SHM_CLAIM_BYTES 24 /* as it is sent */

void wh_shm_claim_put(unsigned char bytes[WH_SHM_CLAIM_BYTES], const struct wh_shm_claim *claim);
struct wh_shm_claim wh_shm_claim_take(const unsigned char bytes[WH_SHM_CLAIM_BYTES]);

/* ---- off the loop: shm/jobs.c ------------------------------------------------------------------------------------- */

#define WH_SHM_LARGE (UINT64_C(1) << 20) /* bytes of a row: to make so many takes the loop too long */

enum wh_shm_spare_state { WH_SHM_SPARE_NONE, WH_SHM_SPARE_IN_WORK, WH_SHM_SPARE_MADE };

/* What jobs work on. Counted, so that one that hangs does not hold up the end of its transport. */
struct wh_shm_jobs {
	wh_word users; /* the transport, and each job that has not ended */
	wh_word stop;  /* 1: what is still being made is not wanted any more */
	wh_word spare; /* enum wh_shm_spare_state. What follows is the job's while it is IN_WORK, else the loop's */
	struct wh_shm_memory memory, returned;
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
/* How many bytes a row of so many is made of. */
uint64_t wh_shm_spare_room(uint64_t bytes);
/* Takes memory that no node reads any more: zeroed it is the spare, unless there is one. */
void wh_shm_spare_give(struct wh_shm *t, struct wh_shm_memory *memory);
/* Frees it, off the loop if it is large. */
void wh_shm_memory_discard(struct wh_shm *t, struct wh_shm_memory *memory);

struct wh_shm_image;
void wh_shm_image_discard(struct wh_shm *t, struct wh_shm_image *image); /* frees it; a large one off the loop */

/* ---- messages ----------------------------------------------------------------------------------------------------- */

#define WH_SHM_VERSION 6 /* of the messages; before 4 they were others: shm/older.c */

enum wh_shm_kind {
	WH_SHM_MAILBOX =
		WH_MESSAGE_OWN, /* where you may put immediates for me: a claim, and its memory file. Before a grant */
	WH_SHM_GRANT,           /* my region `number`: a claim, and its memory file */
	WH_SHM_WITHDRAWN,       /* my region `number`, which I had granted, is closed */
	WH_SHM_LET_GO,          /* I read no more of your row of the image `number`: shm/returns.c */
};

/* ---- datagrams: shm/datagram.c ------------------------------------------------------------------------------------ */

struct wh_shm_datagram { /* that has come */
	unsigned char bytes[WH_MESSAGE_MAX];
	size_t count;
	int fds[WH_MESSAGE_FDS]; /* -1: none; others that came with it have been closed */
	size_t fd_count;         /* that came with it */
	bool cut, fds_cut;       /* there was more than there is room for */
	pid_t sender;            /* where the socket asks for it (SO_PASSCRED): the kernel's word; else -1 */
};

/* The next: DONE; LATER; ENDED. */
enum wh_wire_result wh_shm_datagram_receive(int socket, struct wh_shm_datagram *d);
void wh_shm_datagram_close_fds(struct wh_shm_datagram *d);
/* DONE; LATER: the queue is full; ENDED. */
enum wh_wire_result wh_shm_datagram_send(int socket, const struct iovec *parts, size_t part_count, const int *fds,
					 size_t fd_count);

/* ---- names of sockets: shm/name.c --------------------------------------------------------------------------------- */

/* The name of the socket of a node; returns its size. */
socklen_t wh_shm_name(struct sockaddr_un *name, uid_t user, const char *group, uint32_t node);
bool wh_shm_other_end(int socket, struct ucred *process); /* as the kernel has it; or none, with errno */
/* The process that listens where that node should; -1: not known, errno says why: ECONNREFUSED: there is none. */
pid_t wh_shm_name_holder(uid_t me, const char *group, uint32_t node, uid_t *user);
void wh_shm_name_explain(char reason[WH_MESSAGE_REASON_BYTES], const char *group, uint32_t node, pid_t holder,
			 uid_t user); /* that another user's process has it */
/* Takes the name of a node, and listens. The socket is the caller's to close, also when it fails; -1: none. WHORL_OK,
 * WHORL_REFUSED (a process has it), WHORL_SYSTEM. */
enum whorl_result wh_shm_name_listen(uid_t user, const char *group, uint32_t node, int *listener, struct wh_error *err);
int wh_shm_holder(struct wh_transport *transport, uint32_t node);

/* ---- connections of the session: shm/wire.c ------------------------------------------------------------------------ */

/* What a node shows to all others; they can only read it. */
struct wh_shm_status {
	wh_word parked; /* odd: the loop sleeps, or is about to; each parking has a number of its own */
	unsigned char pad[WH_CACHE_LINE - sizeof(wh_word)];
	wh_word left; /* 1: leave() was called, so the end of my connections is no death */
	wh_word word_at; /* the byte of this page from which the kernel's word of `voucher` lies; 0: it is not known, or none vouches */
	_Alignas(WH_CACHE_LINE) pthread_mutex_t voucher; /* shm/vouch.c; for others memory that is no mutex */
};

#define WH_SHM_STATUS_BYTES 4096

enum { WH_SHM_LISTENER = WH_POLL_OTHERS, WH_SHM_CONN, WH_SHM_PROCESS }; /* sources of events */

struct wh_shm_wire {
	struct wh_poll *poll;
	struct wh_session *session;
	char group[WH_MESSAGE_GROUP_BYTES];
	uid_t user;
	int listener; /* -1: none */
	int unused; /* a socket that is not connected, -1: none: calls that reach no process go through the same one */
	bool is_lane;   /* its node looks after proofs */
	bool proofless; /* it has been said that there is no proof of the end of a process */
	uint32_t lacks; /* for tests: what this kernel is taken not to have */
};

struct wh_shm_conn {
	struct wh_conn base;
	struct wh_shm_wire *wire;
	int socket;
	pid_t pid;    /* at the other end, as the kernel has it */
	bool again;   /* the last datagram is to be received again: it was handed over with it */
	bool older;   /* it speaks as versions before this one did */
	bool doubted; /* it is not known yet whether pidfd is of the process at the other end: its next message tells */
	int pidfd;    /* of its process, before the two have met; -1: none */
	const struct wh_shm_status *status; /* of the peer; NULL: its hello has not been taken */
	struct wh_shm_datagram last;        /* that has come */
};

static inline struct wh_shm_conn *wh_shm_conn_of(struct wh_conn *c)
{
	return (struct wh_shm_conn *)c;
}

extern const struct wh_wire_ops wh_shm_wire_ops;

void wh_shm_wire_tidy(struct wh_shm_wire *w);                /* after calls have been made */
void wh_shm_wire_deafen(struct wh_shm_wire *w, bool forked); /* no more callers */

/* ---- proofs of death: shm/proof.c ----------------------------------------------------------------------------------- */

enum { WH_SHM_LACKS_PEERPIDFD = 1, WH_SHM_LACKS_PIDFD_OPEN = 2 };

/* Before anything that the process at the other end must answer is sent. */
void wh_shm_proof_ask(struct wh_shm_conn *conn);
void wh_shm_proof_on_answer(struct wh_shm_conn *conn, pid_t sender); /* of one that is doubted: the answer */
void wh_shm_proof_drop(struct wh_shm_conn *conn);

#define WH_SHM_LIVES 4 /* that are watched of one node. Beyond, there will be no proof of that which was met first */

/* A process that was met as a node, and has not left: its end is yet to come. */
struct wh_shm_life {
	int pidfd; /* -1: none */
	uint64_t incarnation, number;
};

void wh_shm_proof_met(struct wh_transport *transport, uint32_t node); /* as in struct wh_plane_ops */
size_t wh_shm_proof_on_ready(struct wh_shm *t, uint32_t index);       /* a process seems to have ended */
void wh_shm_proof_forget_all(struct wh_shm *t, bool forked);

/* ---- vouching for a process: shm/vouch.c ------------------------------------------------------------------------ */

void wh_shm_vouch_init(struct wh_shm *t);                   /* before others see the page */
void wh_shm_vouch(struct wh_transport *transport, bool on); /* as in struct wh_transport_ops */
/* Its process is at its end, or calls exec, or the thread that vouched for it has ended: no proof. */
bool wh_shm_is_forsaken(const struct wh_shm_status *status);
size_t wh_shm_vouch_look(struct wh_transport *transport); /* at one peer, in turn */

/* ---- versions before this one: shm/older.c -------------------------------------------------------------------------- */

/* What has come of a stranger is a hello or a question of such a version: it becomes one of these messages, of that version. */
bool wh_shm_older_take(struct wh_shm_datagram *d);
/* A refusal, as they know it. */
enum wh_wire_result wh_shm_older_refuse(int socket, const struct iovec *refused);

/* ---- doorbell and status page: shm/status.c ------------------------------------------------------------------------- */

/* What only shared memory has of a peer. */
struct wh_shm_peer {
	const struct wh_shm_status *status; /* its page, since its hello was good; else NULL */
	uint64_t rung;                      /* the parking that I have rung for */
	int doorbell;                       /* its eventfd, since its hello was good; else -1 */
	struct wh_shm_view view;            /* of the page */
	struct wh_shm_account *account;     /* what it has granted me; NULL: nothing so far */
	struct wh_shm_mail *mail;           /* its immediates for me; NULL: none can come */
	pid_t holder;                       /* of its id, when it was looked for last while there was no connection; */
	uint64_t held_ns;                   /* and when that was. 0: never, or no process held it */
	bool holds_row;                     /* it may still read the row that is to come back: shm/returns.c */
	struct wh_shm_life lives[WH_SHM_LIVES];
};

/* As in struct wh_plane_ops. */
void wh_shm_status_hello(struct wh_transport *transport, struct wh_conn *c, struct wh_own *own);
bool wh_shm_status_welcome(struct wh_transport *transport, uint32_t node, struct wh_conn *c, struct wh_message *m,
			   const unsigned char *own, size_t bytes, char reason[WH_MESSAGE_REASON_BYTES]);
void wh_shm_status_ended(struct wh_transport *transport, uint32_t node);
void wh_shm_status_discard(struct wh_transport *transport, const struct wh_conn *c, enum wh_message_kind kind,
			   const unsigned char *own, size_t bytes);

/* ---- streams: shm/stream.c ---------------------------------------------------------------------------------------- */

/* As in struct wh_wire_ops. */
enum whorl_result wh_shm_stream_open(struct wh_conn *c, const struct wh_opening *opening, struct wh_stream **out);
enum wh_wire_result wh_shm_stream_take(struct wh_conn *c, struct wh_message *m, struct wh_stream **out);

/* ---- regions: shm/remote.c ---------------------------------------------------------------------------------------- */

extern const struct wh_remote_ops wh_shm_remote_ops;

/* A peer that has been met says something of its regions, or gives me its mailbox. False: that is not as it should be. */
bool wh_shm_remote_on_message(struct wh_transport *transport, uint32_t node, struct wh_message *m);
/* Sends what is to be said of mine. Returns how much that was. */
size_t wh_shm_remote_advance(struct wh_shm *t);
/* The connection has ended, and with it what was granted over it, either way. */
void wh_shm_remote_end(struct wh_shm_peer *peer);
void wh_shm_remote_free(struct wh_shm *t);

/* ---- images: shm/image.c ------------------------------------------------------------------------------------------ */

struct wh_shm_image {
	struct wh_session_image base;
	struct wh_shm_memory own;
	struct wh_shm_jobs *jobs;  /* that free it off the loop */
	struct wh_shm_view *views; /* by rank: of the rows of others, */
	struct wh_shm_room room;   /* and where they are mapped, one behind the other; */
	uint64_t *places;          /* from this byte of it on */
	unsigned char *frozen;     /* control columns of those that are frozen, by rank */
	bool *let_go;              /* by rank: it reads no more of my row */
	bool seen_ready;           /* a spare is made for the next */
};

enum whorl_result wh_shm_image_open(struct wh_transport *transport, const struct wh_image_spec *spec,
				    struct wh_image **out, struct wh_error *err);
void wh_shm_image_close(struct wh_image *base);
void wh_shm_post(struct wh_image *base, const struct wh_push *pushes, size_t count);
void wh_shm_freeze(struct wh_image *base, uint32_t rank);
bool wh_shm_thaw(struct wh_image *base, uint32_t rank);
/* After a full fence: wakes a peer that has been met if it sleeps, or is about to. */
void wh_shm_look_at(struct wh_shm *t, struct wh_shm_peer *peer);

/* As in struct wh_plane_ops. */
bool wh_shm_image_offer(struct wh_session_image *image, uint32_t rank, struct wh_own *own);
const unsigned char *wh_shm_image_map(struct wh_session_image *image, uint32_t rank, const unsigned char *own,
				      size_t bytes, int *fd, char reason[WH_MESSAGE_REASON_BYTES]);
/* What follows from what has become of them. */
void wh_shm_image_look(struct wh_shm *t);
/* All of it, also of one that is half made. Any thread. */
void wh_shm_image_free(struct wh_shm_image *image);

/* ---- rows that are used again: shm/returns.c ------------------------------------------------------------------------ */

#define WH_SHM_RETURNS WH_SHM_LARGE /* bytes: smaller rows are made anew */

/* My row of the last image that I have closed, until all that it was offered to have let go of it. */
struct wh_shm_returning {
	struct wh_shm_memory memory; /* base NULL: there is none */
	uint64_t key;
	uint32_t holders; /* peers with holds_row */
};

/* The image is being closed: what I have mapped of it I read no more, and say so. */
void wh_shm_row_let_go(struct wh_shm *t, struct wh_shm_image *image);
/* After it: takes its memory if that can come back. */
void wh_shm_row_await(struct wh_shm *t, struct wh_shm_image *image);
void wh_shm_row_on_let_go(struct wh_shm *t, uint32_t node, uint64_t key);
void wh_shm_row_on_end(struct wh_shm *t, uint32_t node); /* that peer says nothing more */
/* My row of an older image may be back soon. */
bool wh_shm_row_comes(const struct wh_shm *t);
void wh_shm_row_give_up(struct wh_shm *t);

/* ---- the transport: shm.c ----------------------------------------------------------------------------------------- */

struct wh_shm {
	struct wh_session_transport base;
	const struct wh_env *env;
	uint32_t node, nodes;
	uint64_t incarnation;
	uint32_t lane;          /* [const] 0: the node itself */
	struct wh_lanes *lanes; /* [const] of the node */
	int huge_pages;

	struct wh_poll poll;
	struct wh_shm_wire wire;
	struct wh_shm_memory memory; /* my status page */
	struct wh_shm_status *status;
	bool may_vouch; /* the mutex of the page is one */
	bool vouches;   /* a thread has it: */
	pthread_t vouching;
	bool death_waits;     /* [const] while a thread vouches: */
	unsigned long hold;   /* a context of asynchronous I/O; 0: there is none */
	uint32_t next_looked; /* the node of which the mark is looked for in the next pass */
	uint64_t parked;      /* what status->parked holds */
	wh_word rings;        /* [loop writes, any thread reads] */

	struct wh_shm_jobs *jobs;
	uint64_t spare_due_ns;  /* 0: no spare is wanted yet */
	uint64_t spare_last_ns; /* so long it is waited for a row that comes back */
	uint64_t row_bytes;     /* of my last image */
	uint64_t row_bytes_before;
	struct wh_shm_returning returning;

	struct wh_shm_region *regions;
	bool regions_unsaid;   /* something is to be sent of them */
	uint32_t next_account; /* its events are looked at first */
	uint64_t lives_met;    /* so far */

	struct wh_shm_peer peers[]; /* by node id */
};

static inline struct wh_shm *wh_shm_of(struct wh_transport *transport)
{
	return (struct wh_shm *)transport;
}

/* The connection of a peer; NULL: none. */
static inline struct wh_shm_conn *wh_shm_peer_conn(const struct wh_shm *t, uint32_t node)
{
	return wh_shm_conn_of(wh_session_peer(t->base.session, node)->conn);
}

#endif
